"""A notebook as it is committed, from standard input to output: what a run or an editor
writes into it is left out.

`make setup` makes it git's filter for notebooks (`.gitattributes`), so that running one
changes nothing for git; the file itself keeps its outputs. Needs nothing but Python:
git calls it for every notebook that was touched.
"""

from __future__ import annotations

import json
import sys

# what editors and runs write into a cell's metadata
WRITTEN = (
    "ExecuteTime",
    "collapsed",
    "execution",
    "jupyter",
    "papermill",
    "scrolled",
    "trusted",
)
# what every notebook has as its own, whichever kernel it was opened with
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def cleaned(text: str) -> str:
    """The notebook without outputs, counts and what an editor notes.

    text: the file. One that is no notebook comes back as it is.
    """
    try:
        notebook = json.loads(text)
        cells = notebook["cells"]
    except (ValueError, KeyError, TypeError):
        return text
    for cell in cells:
        for key in WRITTEN:
            cell["metadata"].pop(key, None)
        if cell["cell_type"] == "code":
            cell |= {"execution_count": None, "outputs": []}
    notebook["metadata"] = METADATA
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    # the same bytes on every system: UTF-8, and line ends as they are
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(  # type: ignore[union-attr]
            encoding="utf-8", newline=""
        )
    sys.stdout.write(cleaned(sys.stdin.read()))
