"""The answer of an output on one page: claim, verdict, printed beside ours, figure,
reading, what is missing.

A page is made of the notebook's own words and the saved result. Of a reading only what
saved results bear out is shown: `notebooks/readings.csv` has a line for each number and
comparison. `said`: words of the section Reading; `value`: the number as it is written,
a bound (`>0`, `<=.05`) or a text, nothing where no result is needed; `file`: a result;
`where` and `take`: which of its rows and what of them, in pandas' query language; `of`:
what makes one of several rows.
"""

from __future__ import annotations

import functools
import json
import operator
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files, papers
from nlgeval_lib.report import saving, tables
from nlgeval_lib.study.catalogue import Entry

_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
_CELL = (
    "paper",
    "table",
    "row",
    "column",
    "statistic",
    "printed",
    "ours",
    "difference",
    "verdict",
    "route",
)
_TYPES: dict[str, type] = {
    "ours": float,
    "difference": float,
    "n": float,
    "ci_low": float,
    "ci_high": float,
    "own_sd": float,
    "draws": float,
}


def base(entry: Entry, mode: str = "full") -> str:
    """The name under which an output's result is saved, without an ending:
    `results/[quick|mini/]<paper>/<id>`.
    """
    folder = "quick" if mode == "quick" else "mini" if entry.route == "mini" else ""
    return "/".join(filter(None, ["results", folder, entry.paper, entry.id]))


@dataclass(frozen=True)
class Answer:
    """What one saved output says.

    `record`: its provenance, as `saving.read_json` gives it.
    """

    entry: Entry
    record: Mapping[str, Any]

    @cached_property
    def _sections(self) -> dict[str, str]:
        """The notebook's own words by heading, those before the first one under "";
        code and tables aside.
        """
        cells = json.loads(self.entry.path.read_text(encoding="utf-8"))["cells"]
        found: dict[str, str] = {}
        for text in (
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
        ):
            heading = _HEADING.match(text)
            name = "" if not found else heading[1] if heading else next(reversed(found))
            body = text[heading.end() :].strip() if heading else text
            found[name] = "\n\n".join(filter(None, [found.get(name, ""), body]))
        return found

    @property
    def title(self) -> str:
        """The output's name for readers."""
        return self.entry.title or self.entry.id

    @property
    def claim(self) -> str:
        """What the paper claims, or what is asked: Markdown."""
        return self._sections.get("", "")

    @cached_property
    def reading(self) -> str:
        """What the result means: Markdown, only what the saved numbers bear out."""
        said = self._sections.get("Reading", "")
        return backed(said, self.entry.notebook, self.record.get("mode", "full"))

    def _files(self, end: str) -> list[str]:
        there = (name for name in self.record.get("files", ()) if name.endswith(end))
        return [name for name in there if files.located(name).is_file()]

    @property
    def figures(self) -> list[str]:
        """The names of its pictures, as records give them."""
        return self._files(".png")

    @cached_property
    def cells(self) -> pd.DataFrame | None:
        """The compared cells as `papers.compare` gave them; None where nothing is
        printed.
        """
        return next(map(saved_cells, self._files(f"/{self.entry.id}.csv")), None)

    @property
    def verdict(self) -> str:
        """What was tested: first of the paper's own method, then of the others."""
        if self.cells is None:
            return "A question of ours: nothing printed stands beside it."
        return tables.summary(self.cells)

    @cached_property
    def shown(self) -> list[tables.Table]:
        """Printed beside ours; where nothing is compared, every table that was
        saved, without columns of one value.
        """
        if self.cells is not None:
            return [tables.comparison(self.cells)]
        made = []
        for name in self._files(".csv"):
            frame = _read(files.located(name))
            one = [
                column
                for column in frame
                if len(frame) > 1 and frame[column].nunique(dropna=False) == 1
            ]
            caption = (
                posixpath.basename(name)
                .removeprefix(f"{self.entry.id}__")
                .removesuffix(".csv")
            )
            made.append(
                tables.show(
                    frame.drop(columns=one), caption.replace("_", " ").capitalize()
                )
            )
        return made

    @property
    def missing(self) -> list[str]:
        """What is not there, each with its reason, and what makes it where something
        does.
        """
        said = [
            f"{one['what']}: {one['reason']}" for one in self.record.get("missing", ())
        ]
        if self.cells is not None:
            gaps = self.cells[self.cells["verdict"] == "missing"]
            places = r" on \S+ \(.*\)(?=; to make them)"
            reasons = gaps["reason"].str.replace(places, "", regex=True)
            counted = Counter(zip(gaps["gap"], reasons, strict=True))
            for (kind, reason), count in counted.most_common():
                name = "" if reason.startswith(kind) else f"{kind}: "
                said.append(f"{count} printed numbers: {name}{reason}")
        return list(dict.fromkeys(said))


def markdown(answer: Answer) -> str:
    """The answer as a page for a code host, beside the result."""
    entry = answer.entry
    record = answer.record
    here = posixpath.dirname(base(entry))

    def link(name: str, text: str = "") -> str:
        return f"[{text or posixpath.basename(name)}]({posixpath.relpath(name, here)})"

    parts = [
        f"# {answer.title}",
        answer.claim,
        f"**Verdict.** {tables.for_markdown(answer.verdict)}",
    ]
    for table in answer.shown[:1]:
        notes = "\n".join(f"- {tables.for_markdown(note)}" for note in table.notes)
        parts += [table.markdown, folded("Signs, reasons, signatures", notes)]
    parts += [
        f"!{link(name, posixpath.basename(name).removesuffix('.png'))}"
        for name in answer.figures
    ]
    parts += ["## Reading", answer.reading] if answer.reading else []
    parts += [
        folded(table.markdown.partition("\n")[0].strip("*"), table.markdown)
        for table in answer.shown[1:]
    ]
    lines = [f"- {tables.for_markdown(line)}" for line in answer.missing]
    parts += ["## What is missing", "\n".join(lines[:12])] if lines else []
    parts.append(
        folded(f"{len(lines) - 12} further reasons", "\n".join(lines[12:]))
        if lines[12:]
        else ""
    )
    made = [
        link(record["notebook"], "notebook"),
        f"again by `nlgeval run {entry.id} --force`",
    ]
    made += [
        link(name)
        for name in [
            f"{here}/{entry.id}.json",
            *(n for n in record["files"] if n.endswith(".csv")),
        ]
    ]
    parts += [
        "## How it was made",
        f"Route {record['route']}, mode {record['mode']}; {', '.join(made)}.",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def saved_cells(name: str) -> pd.DataFrame | None:
    """The cells that an output compared; None where there is no such file.

    Raises: ValueError naming a damaged one.
    """
    path = files.located(name)
    if not path.exists():
        return None
    types = defaultdict[str, type](lambda: str, _TYPES)
    try:
        cells = pd.read_csv(
            path,
            keep_default_na=False,
            na_values=dict.fromkeys(_TYPES, ""),
            dtype=types,
        )
        if lacking := [column for column in _CELL if column not in cells.columns]:
            raise ValueError(f"no column {lacking[0]!r}")
        if "kind" not in cells:
            cells = papers.described(cells)
        for row, verdict in cells.loc[
            ~cells["verdict"].isin(papers.VERDICTS), "verdict"
        ].items():
            raise ValueError(f"row {row + 2}: verdict {verdict!r}")
    except (OSError, ValueError) as error:
        raise ValueError(f"{name} is damaged ({error}); {saving.AGAIN}") from None
    for name in ("n", "draws"):
        if name in cells:
            cells[name] = cells[name].astype("Int64")
    return cells


def folded(title: str, text: str) -> str:
    """Markdown that a code host shows when its title is clicked; nothing where there
    is no text.
    """
    return (
        f"<details><summary>{title}</summary>\n\n{text}\n\n</details>" if text else ""
    )


def pages(entries: Iterable[Entry]) -> dict[str, bytes]:
    """The page of every saved output by its name beside the result:
    `results/<paper>/<id>.md`.
    """
    told = [
        Answer(entry, record)
        for entry in entries
        if (record := saving.read_json(f"{base(entry)}.json"))
    ]
    return {f"{base(one.entry)}.md": markdown(one).encode() for one in told}


# -- what backs a reading

_SAID = re.compile(r"([<>]=?)?(.*)", re.DOTALL)
_BOUNDS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
_ONE: dict[str, Callable[[pd.Series], Any]] = {
    "": lambda values: values.item(),
    "count": len,
    "distinct": lambda values: values.nunique(),
    "gap": lambda values: (
        values.iloc[0] - values.iloc[-1]
    ),  # the first row less the last
    **{name: operator.methodcaller(name) for name in ("min", "max", "mean", "sum")},
}


def backing(notebook: str = "") -> list[dict[str, str]]:
    """What backs the reading of a notebook (its path below `notebooks/`), or of all."""
    return [
        line
        for line in _lines(files.notebooks() / "readings.csv")
        if notebook in ("", line["notebook"])
    ]


@functools.lru_cache(maxsize=2)
def _lines(path: Path) -> list[dict[str, str]]:
    return (
        pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
        if path.is_file()
        else []
    )


def holds(line: Mapping[str, str], frame: pd.DataFrame) -> bool:
    """Whether these rows give what `line` says of them, to the digits that it says."""
    try:
        rows = (
            frame.query(line["where"], engine="python", local_dict={})
            if line["where"]
            else frame
        )
        found = _ONE[line["of"]](
            rows.eval(line["take"], engine="python", local_dict={})
            if line["take"]
            else rows
        )
    except (ValueError, IndexError):  # no such row, or several
        return False
    sign, number = _SAID.fullmatch(line["value"]).groups()  # type: ignore[union-attr]  # it matches any text
    if isinstance(found, str):
        return found == line["value"]
    return (
        bool(_BOUNDS[sign](found, float(number)))
        if sign
        else papers.agrees(found, number)
    )


def backed(text: str, notebook: str, mode: str = "full") -> str:
    """The sentences of a reading that the saved results back; how many others there
    are is said at the end.
    """
    points = text.split("\n- ")
    lines = [line for line in backing(notebook) if line["value"]]
    kept = [
        part
        for part in points
        if all(_saved(line, mode) for line in lines if line["said"] in part)
    ]
    left = len(points) - len(kept)
    more = (
        f"\n\n({left} further points are left out: the saved numbers do not bear them out.)"
        if left
        else ""
    )
    return "\n- ".join(kept) + more


def _saved(line: Mapping[str, str], mode: str) -> bool:
    name = (
        line["file"].replace("results/", "results/quick/", 1)
        if mode == "quick"
        else line["file"]
    )
    return files.located(name).is_file() and holds(
        line, saved_table(name, files.located(name).stat().st_mtime_ns)
    )


@functools.lru_cache(maxsize=256)
def saved_table(name: str, modified: int) -> pd.DataFrame:
    """A saved table by the name that records give it; `modified`: read again where
    this is another.
    """
    return _read(files.located(name))


def _read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, keep_default_na=False, na_values=[""])
