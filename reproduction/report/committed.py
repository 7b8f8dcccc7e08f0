"""A notebook as it is committed: with the outputs of the catalogue's parameters, and
the same bytes wherever it was run.

Run as a file it is git's filter for notebooks, or its text of one for `git diff`
(`.gitattributes`; `make setup` tells git): so it needs nothing but Python.

    python committed.py < NOTEBOOK       as it is committed
    python committed.py --text NOTEBOOK  its prose and code alone
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# What editors and runs write into a cell's metadata.
WRITTEN = (
    "ExecuteTime",
    "collapsed",
    "execution",
    "jupyter",
    "papermill",
    "scrolled",
    "trusted",
)
# What every notebook has as its own, whichever kernel it was opened with.
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
# What a reader may be shown; scripts and widgets are none of it.
FORMS = ("text/html", "image/png", "text/markdown", "text/latex", "text/plain")
OWN = "nlgeval"  # what a private notebook's metadata say of its output
WIDGET = "application/vnd.jupyter.widget-view+json"  # of no use without its kernel
OTHERS = "texts-of-others"  # the tag of a cell that shows what is not ours to commit
NOT_OURS = "This cell shows texts of others: run the notebook to see them.\n"
INJECTED = "injected-parameters"  # papermill's tag of the cell that it adds
# What stands in the place of what a cell above shows already.
FIGURE_ABOVE = "The figure at the top."
TABLE_ABOVE = "The same table as above."
SHORTEST = 120  # letters of a table that is not shown twice
LONGEST = 700  # letters of a table as text, where HTML shows all of it
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
# What a table folds away, and what a cell says when it is pointed at: a page has it,
# and the CSV.
_ASIDE = re.compile(
    r'<div class="nlgeval-notes"><details>.*?</details></div>|(?<=") title="[^"]*"',
    re.DOTALL,
)


def cleaned(text: str) -> str:
    """The notebook without times, counts of a session, warnings and what an editor
    notes; a file that is none as it is.
    """
    try:
        notebook = json.loads(text)
        cells = notebook["cells"]
        _clean(cells)
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
    entry = notebook.get("metadata", {}).get(OWN)
    notebook["metadata"] = METADATA | ({OWN: entry} if entry else {})
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _clean(cells: list[dict[str, Any]]) -> None:
    """Clean the cells in their place; those that ran are counted from the top."""
    seen: set[str] = set()  # style sheets, pictures, tables
    number = 0
    has_run = any(cell.get("outputs") for cell in cells)
    for cell in cells:
        for key in WRITTEN:
            cell["metadata"].pop(key, None)
        if cell["cell_type"] != "code":
            continue
        count = None
        if has_run and "".join(cell["source"]).strip():
            number += 1
            count = number
        if cell["outputs"] and OTHERS in cell["metadata"].get("tags", ()):
            note = {"name": "stdout", "output_type": "stream", "text": [NOT_OURS]}
            cell["outputs"] = [note]
        outputs = [_output(output, count, seen) for output in _joined(cell["outputs"])]
        cell["execution_count"] = count
        cell["outputs"] = [output for output in outputs if output]


def _joined(outputs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outputs without warnings; what was printed in several pieces is one."""
    joined: list[dict[str, Any]] = []
    for output in outputs:
        if output["output_type"] != "stream":
            joined.append(output)
            continue
        if output["name"] == "stderr":
            continue
        text = "".join(output["text"])
        if joined and joined[-1]["output_type"] == "stream":
            text = "".join(joined.pop()["text"]) + text
        joined.append({"name": "stdout", "output_type": "stream", "text": text})
    return joined


def _output(
    output: dict[str, Any], count: int | None, seen: set[str]
) -> dict[str, Any] | None:
    """One output with what a reader is shown of it; None where that is nothing."""
    kind = output["output_type"]
    if kind == "stream":
        return output | {"text": _lines("".join(output["text"]))}
    if kind == "error":
        return output
    if WIDGET in output["data"]:  # a bar of progress
        return None
    data: dict[str, Any] = {}
    for form in FORMS:
        if form not in output["data"]:
            continue
        content = "".join(output["data"][form])
        if form == "image/png":
            data[form] = "".join(content.split())
        else:
            data[form] = _lines(_without_repeats(content, seen))
    if not data:
        return None
    note = _shown_above(data, seen)
    if note:
        data = {"text/plain": [note]}
    elif "text/html" in data:
        data["text/plain"] = _lines(shortened("".join(data.get("text/plain", []))))
    metadata = {}
    for form in data:
        if form in output["metadata"]:
            metadata[form] = output["metadata"][form]
    kept: dict[str, Any] = {"data": data, "metadata": metadata, "output_type": kind}
    if kind == "execute_result":
        kept["execution_count"] = count
    return kept


def shortened(text: str) -> str:
    """The text of a table to the last line within LONGEST letters."""
    if len(text) <= LONGEST:
        return text
    lines = text[:LONGEST].splitlines()
    return "\n".join([*lines[:-1], "..."])


def _shown_above(data: dict[str, Any], seen: set[str]) -> str:
    """What stands in the place of a picture, or of a table but for its caption, that a
    cell above shows; "" where none does, and it is noted as shown.
    """
    picture = data.get("image/png")
    if picture:
        if picture in seen:
            return FIGURE_ABOVE
        seen.add(picture)
    if "text/html" in data:
        text = "".join(data.get("text/plain", []))
        body = text.partition("\n")[2]
        if len(body) >= SHORTEST and any(body in above for above in seen):
            return TABLE_ABOVE
        seen.add(text)
    return ""


def _without_repeats(content: str, seen: set[str]) -> str:
    """HTML without what is folded, and without style sheets that a cell above has."""

    def once(match: re.Match[str]) -> str:
        sheet = match[0]
        if sheet in seen:
            return ""
        seen.add(sheet)
        return sheet

    return _STYLE.sub(once, _ASIDE.sub("", content))


def _lines(text: str) -> list[str]:
    """A text as notebooks hold it, a line a member."""
    return text.splitlines(keepends=True)


def with_outputs(source: str, executed: str) -> str:
    """The source of a notebook with the outputs of its executed copy, cleaned.

    Raises: ValueError where the copy is of another source.
    """
    notebook = json.loads(source)
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    ran = []
    for cell in json.loads(executed)["cells"]:
        is_injected = INJECTED in cell["metadata"].get("tags", ())
        if cell["cell_type"] == "code" and not is_injected:
            ran.append(cell)
    if _sources(cells) != _sources(ran):
        raise ValueError("the executed copy is of another source")
    for cell, executed_cell in zip(cells, ran, strict=True):
        cell["outputs"] = executed_cell["outputs"]
    return cleaned(json.dumps(notebook))


def _sources(cells: Iterable[dict[str, Any]]) -> list[str]:
    """The sources of cells; a file has one as a text or as a list of lines."""
    return ["".join(cell["source"]) for cell in cells]


def outputs(text: str) -> list[list[dict[str, Any]]]:
    """The outputs of each code cell; nothing where no cell has any."""
    try:
        cells = json.loads(text)["cells"]
        found = [cell["outputs"] for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError):
        return []
    return found if any(found) else []


def first_answer(text: str) -> str | None:
    """What `Output.answer` shows at the top of a notebook, as text; None where it has
    no outputs, "" where it does not begin with an answer.
    """
    found = outputs(text)
    if not found:
        return None
    cells = json.loads(text)["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    for source, shown in zip(_sources(code), found, strict=True):
        if ".answer()" in source:
            for output in shown:
                if "text/html" in output.get("data", {}):
                    return "".join(output["data"]["text/plain"])
    return ""


def source_text(text: str) -> str:
    """The prose and the code of a notebook, as a text whose changes are readable; a file
    that is none as it is.
    """
    try:
        cells = json.loads(text)["cells"]
        parts = []
        for cell in cells:
            source = "".join(cell["source"])
            parts.append(f"# %% {cell['cell_type']}\n{source}\n")
    except (ValueError, KeyError, TypeError):
        return text
    return "\n".join(parts)


if __name__ == "__main__":
    # The same bytes on every system: UTF-8, and line ends as they are.
    for stream in (sys.stdin, sys.stdout):
        stream.reconfigure(  # type: ignore[union-attr]
            encoding="utf-8", newline=""
        )
    if sys.argv[1:2] == ["--text"]:
        sys.stdout.write(source_text(Path(sys.argv[2]).read_text(encoding="utf-8")))
    else:
        sys.stdout.write(cleaned(sys.stdin.read()))
