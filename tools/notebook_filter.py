"""A notebook as it is committed, from standard input to output: what a run or an editor
writes into it is left out.

`make setup` makes it git's filter for notebooks (`.gitattributes`), so that running one
changes nothing for git; the file itself keeps its outputs. Needs nothing but Python:
git calls it for every notebook that was touched.
"""

from __future__ import annotations

import json
import sys

WRITTEN = (
    "ExecuteTime",
    "collapsed",
    "execution",
    "jupyter",
    "papermill",
    "scrolled",
    "trusted",
)
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def cleaned(text: str) -> str:
    """The notebook without outputs, counts and what an editor notes; a text that is
    no notebook stays as it is.
    """
    try:
        notebook = json.loads(text)
        cells = notebook["cells"]
    except (ValueError, KeyError, TypeError):
        return text
    for cell in cells:
        cell["metadata"] = {
            key: value for key, value in cell["metadata"].items() if key not in WRITTEN
        }
        if cell["cell_type"] == "code":
            cell |= {"execution_count": None, "outputs": []}
    notebook["metadata"] = METADATA
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(encoding="utf-8", newline="")
    sys.stdout.write(cleaned(sys.stdin.read()))
