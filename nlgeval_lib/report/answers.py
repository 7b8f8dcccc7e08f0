"""The answer of an output on one page: claim, verdict, printed beside ours, figure,
reading, what is missing.

A page is made of the notebook's own words and the saved result. Of a reading only what
saved results bear out is shown: `notebooks/readings.csv` has a line for each number and
comparison. `said`: words of the section Reading; `value`: the number as it is written,
a bound (`>0`, `<=.05`) or a text, nothing where no result is needed; `file`: a result;
`where` and `take`: which of its rows and what of them, in pandas' query language; `of`:
how several rows become one value.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import operator
import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files, papers
from nlgeval_lib.report import (
    claims_page,
    first_screen,
    gaps,
    saving,
    sentences,
    tables,
    tested,
)
from nlgeval_lib.study.catalogue import Entry

_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
CLAIMS = "meta_claims"  # the output whose page is one of claims
# Rows of a table that a page shows open, and of one that it folds.
MOST_OPEN = 24
MOST_ROWS = 60
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
# Columns that stand in a table even where they hold one value, or none.
_KEPT = ("value", "n", "ci_low", "ci_high", "difference", "p", "p_holm", "scored")
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
    folder = saving.folder(mode, entry.route)
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
        sections: dict[str, list[str]] = {}
        name = ""
        for cell in cells:
            if cell["cell_type"] != "markdown":
                continue
            text = "".join(cell["source"])
            heading = _HEADING.match(text)
            if heading:
                text = text[heading.end() :].strip()
                if sections:  # the first heading is the title
                    name = heading[1]
            sections.setdefault(name, []).append(text)
        return {
            name: "\n\n".join(filter(None, texts)) for name, texts in sections.items()
        }

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
        text = self._sections.get("Reading", "")
        text = backed(text, self.entry.notebook, self.record.get("mode", "full"))
        return "\n\n".join(filter(None, [_bullets(self.tested), text]))

    @cached_property
    def tested(self) -> list[str]:
        """What the saved tests of variants allow to say, in sentences."""
        if self.cells is not None:
            return []
        lines = []
        # what the miniature judge gave stands after what others recorded
        names = sorted(self._files("tests.csv"), key=lambda name: "mini_tests" in name)
        for name in names:
            lines += tested.sentences(_read(files.located(name)))
        return lines

    def _files(self, end: str) -> list[str]:
        """The files of the record with this ending that are there."""
        names = []
        for name in self.record.get("files", ()):
            if name.endswith(end) and files.located(name).is_file():
                names.append(name)
        return names

    @property
    def numbers(self) -> list[str]:
        """The names of its tables; one that only holds a sentence is none."""
        names = self._files(".csv")
        return [name for name in names if not name.endswith("__in_words.csv")]

    @property
    def figures(self) -> list[str]:
        """The names of its pictures, as records give them."""
        return self._files(".png")

    @cached_property
    def cells(self) -> pd.DataFrame | None:
        """The compared cells as `papers.compare` gave them; None where nothing is
        printed.
        """
        names = self._files(f"/{self.entry.id}.csv")
        return saved_cells(names[0]) if names else None

    @cached_property
    def verdict(self) -> str:
        """Was the paper's own method tested? Of an output that compares nothing
        printed, the answer to its question.
        """
        if self.cells is not None:
            return first_screen.tested(self.cells)
        mode = self.record.get("mode", "full")
        answer = sentences.sentence(self.entry.id, base(self.entry, mode))
        return answer or " ".join(self.tested[:2])

    @cached_property
    def lines(self) -> list[tuple[str, str]]:
        """The sentences of the first screen, each with what it is about."""
        if self.cells is not None:
            return first_screen.lines(self.cells)
        lines = [("Answer", self.verdict)] if self.verdict else []
        if self.entry.paper in papers.PAPERS and self.record.get("route") != "run":
            untested = first_screen.not_run(self.entry.paper, self.entry.covers)
            lines.append(("Was the method tested?", untested))
        elif self.record.get("route") in JUDGED_BY:
            lines.append(("Who judged?", JUDGED_BY[self.record["route"]]))
        return lines

    @cached_property
    def kinds(self) -> tables.Table | None:
        """How many numbers of each kind were tested; None where nothing is printed."""
        return None if self.cells is None else first_screen.by_kind(self.cells)

    @cached_property
    def shown(self) -> list[tables.Table]:
        """Printed beside ours; where nothing is compared, every table that was saved:
        the first result, what could be read, tests, others.
        """
        if self.cells is not None:
            return [tables.comparison(self.cells)]
        if self.entry.id == CLAIMS:
            return claims_page.shown(self._saved("by_paper"), self._saved("claims"))
        saved_tables = []
        for name in sorted(self.numbers, key=_place_on_page):
            label = posixpath.basename(name).removesuffix(".csv")
            label = label.removeprefix(f"{self.entry.id}__")
            caption = label.replace("_", " ").capitalize()
            saved_tables.append(_saved_table(_read(files.located(name)), caption))
        return saved_tables

    def _saved(self, part: str) -> pd.DataFrame:
        """One of its saved tables."""
        mode = self.record.get("mode", "full")
        return _read(files.located(f"{base(self.entry, mode)}__{part}.csv"))

    @property
    def missing(self) -> list[str]:
        """What is not there, each with its reason, and what makes it where something
        does.
        """
        return gaps.lines(self.record.get("missing", ()), self.cells)


def _place_on_page(name: str) -> int:
    """Where a saved table stands: results, what could be read, tests."""
    if name.endswith("__variants.csv"):
        return 1
    return 2 if name.endswith("tests.csv") else 0


def _stands_open(number: int, table: tables.Table) -> bool:
    """Whether a table is shown unfolded: the first one, coverage, and tests, unless it
    is long.
    """
    label = table.caption.lower().split(" (")[0]
    is_open = number == 0 or label == "variants" or label.endswith("tests")
    return is_open and table.lines <= MOST_OPEN


def _saved_table(
    frame: pd.DataFrame, caption: str, rows: int = MOST_ROWS
) -> tables.Table:
    """A saved table: words that are the same in every row stand above it once, an
    interval is one column, and signatures are details.
    """
    signatures: list[str] = []
    for name in [name for name in frame if _are_signatures(frame[name])]:
        signatures += frame.pop(name).dropna().unique().tolist()
    frame = _with_intervals(frame.replace({"route": ORIGINS}))
    same = {}
    for name in frame if len(frame) > 1 else ():
        values = frame[name]
        if name in _KEPT:
            continue
        is_text = not pd.api.types.is_numeric_dtype(values)
        if values.nunique(dropna=False) == 1 and (is_text or values.isna().all()):
            same[name] = frame[name].iat[0]
            frame = frame.drop(columns=name)
    notes = []
    words = []
    for name, value in same.items():
        if pd.isna(value):
            continue
        if name == "reason":
            notes.append(tables.plain_reason(str(value)))
        else:
            words.append(str(value))
    if "reason" in frame:
        frame["reason"] = frame["reason"].map(tables.plain_reason, na_action="ignore")
    if words:
        caption = f"{caption} ({', '.join(words)})"
    frame = frame.rename(columns={"route": "origin"})
    table = tables.show(
        frame,
        caption,
        notes=notes,
        rows=rows,
    )
    return dataclasses.replace(table, details=tuple(signatures))


def _are_signatures(values: pd.Series) -> bool:
    """Whether a column says how each number was computed, for machines."""
    texts = values.dropna().astype(str)
    return values.name == "signature" or bool(
        len(texts) and texts.str.contains("coef:", regex=False).all()
    )


def _with_intervals(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with one column for the two ends of an interval."""
    for low in [name for name in frame if str(name).endswith("_low")]:
        stem = low.removesuffix("_low")
        high = f"{stem}_high"
        if high not in frame or not pd.api.types.is_numeric_dtype(frame[low]):
            continue
        intervals = []
        for ends in zip(frame[low], frame[high], strict=True):
            known = not any(map(pd.isna, ends))
            intervals.append("[{:.3f}, {:.3f}]".format(*ends) if known else None)
        name = "95 % interval" if stem == "ci" else f"{stem}, range".replace("_", " ")
        frame = frame.drop(columns=high).rename(columns={low: name})
        frame[name] = intervals
    return frame


# Where the numbers of an output come from, for readers.
ORIGINS = {
    "public": "computed from public data",
    "published": "computed from the paper's own printed numbers",
    "recorded": "from judgments that others published",
    "run": "from runs of the judge itself",
    "mini": "from the miniature judge, for exercise only",
}
# Who judged, of an output that compares nothing printed in the five papers.
JUDGED_BY = {
    "recorded": "Judges that others ran and whose judgments they published. None was "
    "asked here.",
    "mini": "The miniature judge, a small model that was trained here for exercise. It "
    "says nothing of the papers' judges.",
}
_MODES = {"full": "", "quick": "a small share of the data"}


def markdown(answer: Answer) -> str:
    """The answer as a page for a code host, beside the result."""
    entry = answer.entry
    folder = posixpath.dirname(base(entry))

    def link(name: str, text: str) -> str:
        return f"[{text}]({posixpath.relpath(name, folder)})"

    parts = [f"# {answer.title}"]
    for number, (question, text) in enumerate(answer.lines):
        mark = "" if question.endswith("?") else "."
        parts.append(f"**{question}{mark}** {tables.for_markdown(text)}")
        if number == 0 and answer.kinds:
            parts.append(answer.kinds.markdown)
    parts.append(_links(answer, link))
    parts.append(answer.claim)
    parts += _tables_first(answer)
    if answer.entry.id == CLAIMS:
        parts += claims_page.grouped(answer.shown[1:])
    for name in answer.figures:
        parts.append("!" + link(name, _about_figure(answer, name)))
    if answer.reading:
        parts += ["## Reading", answer.reading]
    if answer.entry.id != CLAIMS:
        parts += _tables_below(answer)
    if answer.missing:
        parts += ["## What is missing", _bullets(answer.missing[: tables.MOST_NOTES])]
        further = answer.missing[tables.MOST_NOTES :]
        parts.append(folded(f"{len(further)} further reasons", _bullets(further)))
    parts += ["## How it was made", _making(answer, link)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _about_figure(answer: Answer, name: str) -> str:
    """What a figure shows, for those who do not see it."""
    stem = posixpath.basename(name).removesuffix(".png")
    suffix = stem.removeprefix(answer.entry.id).strip("_").replace("_", " ")
    return ": ".join(filter(None, [answer.title, suffix]))


def _leading(answer: Answer) -> list[tables.Table]:
    """The tables that a page shows open: the first one, and those of tests; a long
    one is folded below the figure.
    """
    if answer.entry.id == CLAIMS:
        return answer.shown[:1]
    leading = []
    for number, table in enumerate(answer.shown):
        if answer.cells is not None or _stands_open(number, table):
            leading.append(table)
    return leading


def _tables_first(answer: Answer) -> list[str]:
    """The open tables, each with its notes and what is folded below it."""
    parts = []
    for table in _leading(answer):
        parts += [table.markdown, _bullets(table.notes)]
        parts.append(folded(tables.DETAILS, _bullets(table.details)))
    return parts


def _tables_below(answer: Answer) -> list[str]:
    """The further tables, folded."""
    leading = _leading(answer)
    parts = []
    for table in answer.shown:
        if not any(table is other for other in leading):
            text = "\n\n".join(filter(None, [table.markdown, _bullets(table.notes)]))
            parts.append(folded(table.caption or "Table", text))
    return parts


def _making(answer: Answer, link: Callable[[str, str], str]) -> str:
    """Where the numbers come from, and how to make them again."""
    entry = answer.entry
    record = answer.record
    folder = posixpath.dirname(base(entry))
    sources = [
        link(record["notebook"], "notebook"),
        f"again by `nlgeval run {entry.id} --force`",
    ]
    for name in [f"{folder}/{entry.id}.json", *record["files"]]:
        if name.endswith((".json", ".csv")):
            sources.append(link(name, posixpath.basename(name)))
    origin = ORIGINS.get(record["route"], record["route"])
    origin = ", ".join(filter(None, [origin, _MODES.get(record["mode"], "")]))
    return f"Numbers {origin}; {', '.join(sources)}."


def _links(answer: Answer, link: Callable[[str, str], str]) -> str:
    """Where the numbers are, why some are missing, and what would make them."""
    links = [link(answer.record["notebook"], "notebook")]
    if answer.numbers:
        links.insert(0, link(answer.numbers[0], "the numbers"))
    if answer.missing:
        links.append("[why some numbers are missing](#what-is-missing)")
    if answer.entry.judges:
        command = f"`nlgeval completions --output {answer.entry.id} --dry-run`"
        hours = link("docs/gpu.md", "hours and prices")
        links.append(f"cost of asking its judges: {command} ({hours})")
    return " · ".join(links)


def _bullets(lines: Iterable[str]) -> str:
    """A list in Markdown."""
    return "\n".join(f"- {tables.for_markdown(line)}" for line in lines)


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
        for column in _CELL:
            if column not in cells:
                raise ValueError(f"no column {column!r}")
        if "kind" not in cells:
            cells = papers.described(cells)
        unknown = cells.loc[~cells["verdict"].isin(papers.VERDICTS), "verdict"]
        for row, verdict in unknown.items():
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
    if not text:
        return ""
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def pages(entries: Iterable[Entry]) -> dict[str, bytes]:
    """The page of every saved output by its name beside the result:
    `results/<paper>/<id>.md`.
    """
    contents = {}
    for entry in entries:
        record = saving.read_json(f"{base(entry)}.json")
        if record:
            page = markdown(Answer(entry, record))
            contents[f"{base(entry)}.md"] = page.encode()
    return contents


# -- what backs a reading

# Signs of two characters come first: the first that a value begins with is its own.
_BOUNDS = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_ONE: dict[str, Callable[[pd.Series], Any]] = {
    "": lambda values: values.item(),
    "count": len,
    "distinct": lambda values: values.nunique(),
    # The first row less the last.
    "gap": lambda values: values.iloc[0] - values.iloc[-1],
    **{name: operator.methodcaller(name) for name in ("min", "max", "mean", "sum")},
}


def backing(notebook: str = "") -> list[dict[str, str]]:
    """What backs the reading of a notebook (its path below `notebooks/`), or of all."""
    lines = _lines(files.notebooks() / "readings.csv")
    return [line for line in lines if notebook in ("", line["notebook"])]


@functools.lru_cache(maxsize=2)
def _lines(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    return pd.read_csv(
        path,
        dtype=str,
        keep_default_na=False,
    ).to_dict("records")


def holds(line: Mapping[str, str], frame: pd.DataFrame) -> bool:
    """Whether these rows give what `line` says of them, to the digits that it says."""
    values: Any = frame
    try:
        if line["where"]:
            values = values.query(
                line["where"],
                engine="python",
                local_dict={},
            )
        if line["take"]:
            values = values.eval(
                line["take"],
                engine="python",
                local_dict={},
            )
        value = _ONE[line["of"]](values)
    except (ValueError, IndexError):  # no such row, or several
        return False
    if isinstance(value, str):
        return value == line["value"]
    for sign, holds_for in _BOUNDS.items():
        if line["value"].startswith(sign):
            return bool(holds_for(value, float(line["value"].removeprefix(sign))))
    return papers.agrees(value, line["value"])


def backed(text: str, notebook: str, mode: str = "full") -> str:
    """The sentences of a reading that the saved results back; how many others there
    are is said at the end.
    """
    points = text.split("\n- ")
    lines = [line for line in backing(notebook) if line["value"]]
    backed_points = []
    for point in points:
        claims = [line for line in lines if line["said"] in point]
        if all(_saved(line, mode) for line in claims):
            backed_points.append(point)
    backed_text = "\n- ".join(backed_points)
    omitted = len(points) - len(backed_points)
    if omitted:
        backed_text += (
            f"\n\n({omitted} further points are left out: the saved numbers do not "
            "bear them out.)"
        )
    return backed_text


def _saved(line: Mapping[str, str], mode: str) -> bool:
    """Whether the saved result gives what a line of `readings.csv` says of it."""
    name = line["file"]
    if mode == "quick":
        name = name.replace(
            "results/",
            "results/quick/",
            1,
        )
    path = files.located(name)
    return path.is_file() and holds(line, saved_table(name, path.stat().st_mtime_ns))


@functools.lru_cache(maxsize=256)
def saved_table(name: str, modified: int) -> pd.DataFrame:
    """A saved table by the name that records give it; `modified`: read again where
    this is another.
    """
    return _read(files.located(name))


def _read(path: Path) -> pd.DataFrame:
    return pd.read_csv(
        path,
        keep_default_na=False,
        na_values=[""],
    )
