"""Compare every printed prompt with its template, and keep what was found.

It needs the papers' texts, beside the checkout in `shared/papers` or in the folder that
is given: python tools/printed_prompts.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

from nlgeval_lib import files
from nlgeval_lib.prompts import printed


def main(arguments: list[str]) -> None:
    """Write the two kept tables, and say how many prompts are equal."""
    folder = Path(arguments[0]) if arguments else None
    compared, differing = printed.compare(folder)
    for name, frame in ((printed.COMPARED, compared), (printed.DIFFERENCES, differing)):
        text = frame.to_csv(index=False, lineterminator="\n")
        files.write_text(files.data() / name, text)
    equal = (compared["differences"] == "0").sum()
    print(f"{equal} of {len(compared)} printed prompts are equal to their templates")


if __name__ == "__main__":
    main(sys.argv[1:])
