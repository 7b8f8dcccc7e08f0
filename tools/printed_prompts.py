"""Compare every printed prompt with its template, and keep what was found in the data
folder (tables `printed.COMPARED` and `printed.DIFFERENCES`).

It needs the papers' texts, beside the checkout in `shared/papers` or in the folder that
is given: python tools/printed_prompts.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from nlgeval_lib import files
from reproduction import printed_prompts as printed


def main(arguments: list[str]) -> None:
    """Write the two kept tables, and say how many prompts are equal.

    arguments: of the command line: the folder of the papers' texts, or nothing.
    """
    folder = None
    if arguments:
        folder = Path(arguments[0])
    compared, differing = printed.compare(folder)
    _write(printed.COMPARED, compared)
    _write(printed.DIFFERENCES, differing)
    equal = (compared["differences"] == "0").sum()
    print(f"{equal} of {len(compared)} printed prompts are equal to their templates")


def _write(name: str, table: pd.DataFrame) -> None:
    """Keep a table in the data folder."""
    text = table.to_csv(index=False, lineterminator="\n")
    files.write_text(files.data() / name, text)


if __name__ == "__main__":
    main(sys.argv[1:])
