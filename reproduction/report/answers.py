"""The answer of an output on one page: claim, verdict, printed beside ours, figure,
reading, what is missing.

An `Answer` holds the notebook's own words and the saved result; `markdown` makes the
page of it. Of a reading only what saved results bear out is shown:
`notebooks/readings.csv` has a line for each of its numbers and comparisons:

- `said`: words of the section Reading;
- `value`: the number as it is written, a bound (`>0`, `<=.05`) or a text, nothing where
  no result is needed;
- `file`: a result;
- `where` and `take`: which of its rows and what of them, in pandas' query language;
- `of`: how several rows become one value.
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

from judgecard import web
from nlgeval_lib import files, tables
from reproduction import papers
from reproduction.report import (
    claims_page,
    comparisons,
    first_screen,
    gaps,
    replicated,
    saving,
    sentences,
    tested,
)
from reproduction.study.catalogue import META, Entry

_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
CLAIMS = "meta_claims"  # the output whose page is one of claims
APART = "partial"  # the folder below results/ of runs that are set apart
# Rows of a table that a page shows open, and of one that it folds.
MOST_OPEN = 24
MOST_ROWS = 60
# A page that is longer folds shorter tables, the longest of these that make it short.
MOST_LINES = 300
FOLDED_ROWS = (MOST_ROWS, 24, 12, 6, 3)
# Columns without which a file of compared cells is damaged.
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
# The columns of compared cells that hold numbers; all others are texts.
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
    `results/[quick|mini|private/]<paper>/<id>`.
    """
    folder = saving.folder(mode, entry.route, entry)
    return "/".join(filter(None, ["results", folder, entry.paper, entry.id]))


@dataclass(frozen=True)
class Answer:
    """What one saved output says.

    record: its provenance, as `saving.read_json` gives it.
    folder: below `results/`, where it is saved; None for where its mode and route
    belong.
    """

    entry: Entry
    record: Mapping[str, Any]
    folder: str | None = None

    @property
    def base(self) -> str:
        """The name under which it is saved, without an ending."""
        if self.folder:
            return f"results/{self.folder}/{self.entry.paper}/{self.entry.id}"
        return base(self.entry, self.record.get("mode", "full"))

    @cached_property
    def _sections(self) -> dict[str, str]:
        """The notebook's own words by heading, those before the first one under "";
        code and tables aside.
        """
        document = json.loads(self.entry.path.read_text(encoding="utf-8"))
        texts: dict[str, list[str]] = {}
        name = ""
        for cell in document["cells"]:
            if cell["cell_type"] != "markdown":
                continue
            text = "".join(cell["source"])
            heading = _HEADING.match(text)
            if heading:
                text = text[heading.end() :].strip()
                if texts:  # the first heading is the title
                    name = heading[1]
            texts.setdefault(name, []).append(text)
        sections = {}
        for name, paragraphs in texts.items():
            sections[name] = "\n\n".join(filter(None, paragraphs))
        return sections

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
        text = ""
        # What the notebook says is of the official result, not of a trial.
        if self.folder != APART:
            text = self._sections.get("Reading", "")
            mode = self.record.get("mode", "full")
            text = backed(text, self.entry.notebook, mode)
        return "\n\n".join(filter(None, [_bullets(self.tested), text]))

    @cached_property
    def tested(self) -> list[str]:
        """What the saved tests of variants allow to say, in sentences; nothing of an
        output that compares printed numbers.
        """
        if self.cells is not None:
            return []
        lines = []
        # What the miniature judge gave stands after what others recorded.
        names = sorted(self._files("tests.csv"), key=lambda name: "mini_tests" in name)
        for name in names:
            lines += tested.sentences(_table_of(name))
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
        """The names of its tables, as records give them; one that only holds a sentence
        is none.
        """
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

        Raises: ValueError naming a damaged file.
        """
        names = self._files(f"/{self.entry.id}.csv")
        return saved_cells(names[0]) if names else None

    @cached_property
    def verdict(self) -> str:
        """Was the paper's own method tested? Of an output that compares nothing
        printed, the answer to its question; empty where none is declared or follows
        from its tests.
        """
        if self.cells is not None:
            return first_screen.tested(self.cells)
        try:
            answer = sentences.sentence(self.entry.id, self.base)
        except ValueError:
            # A run that is set apart may lack the sentence's rows: it had fewer data,
            # or a judge whose answers nobody could read.
            if self.folder != APART:
                raise
            answer = ""
        return answer or " ".join(self.tested[:2])

    @cached_property
    def lines(self) -> list[tuple[str, str]]:
        """The sentences of the first screen, each with what it is about: (question,
        answer) pairs, questions such as "Was the method tested?" or a word such as
        "Answer".
        """
        lines = []
        if self.cells is not None:
            lines = first_screen.lines(self.cells)
            return lines + self._with_another_judge
        if self.verdict:
            lines.append(("Answer", self.verdict))
        route = self.record.get("route")
        # A page of one of the five papers says whether the paper's own judge was run.
        if self.entry.paper in papers.PAPERS and route != "run":
            untested = first_screen.not_run(self.entry.paper, self.entry.covers)
            lines.append(("Was the method tested?", untested))
        elif route in JUDGED_BY:
            lines.append(("Who judged?", JUDGED_BY[route]))
        return lines + self._with_another_judge

    @property
    def _with_another_judge(self) -> list[tuple[str, str]]:
        """Whether its claims hold with another judge; nothing of a run on a share of
        the data, or one that is set apart.
        """
        if self.folder or self.record.get("mode") != "full":
            return []
        text = replicated.sentence(self.entry)
        return [("With another judge", text)] if text else []

    @cached_property
    def kinds(self) -> tables.Table | None:
        """How many numbers of each kind were tested; None where nothing is printed."""
        return None if self.cells is None else first_screen.by_kind(self.cells)

    @cached_property
    def shown(self) -> list[tables.Table]:
        """Printed beside ours; where nothing is compared, every table that was saved:
        the first result, what could be read, tests, others.

        Raises: ValueError naming a damaged file.
        """
        if self.cells is not None:
            return [comparisons.comparison(self.cells)]
        if self.entry.id == CLAIMS:
            return claims_page.shown(self._saved("by_paper"), self._saved("claims"))
        return [self.table(name) for name in self._in_order]

    @property
    def _in_order(self) -> list[str]:
        """The names of its tables in the order of a page."""
        return sorted(self.numbers, key=_place_on_page)

    def table(self, name: str, rows: int = MOST_ROWS) -> tables.Table:
        """A saved table as it is shown, `meta_levels__by_level.csv` as "By level".

        name: as records give it. rows: at most so many are shown.
        """
        label = posixpath.basename(name).removesuffix(".csv")
        label = label.removeprefix(f"{self.entry.id}__")
        caption = label.replace("_", " ").capitalize()
        return _saved_table(_table_of(name), caption, rows)

    @property
    def parted(self) -> tuple[list[tables.Table], list[tuple[str, tables.Table]]]:
        """The tables that a page shows open: the first one, and those of tests; and
        those that it folds, each with the name of its file.
        """
        if self.cells is not None:
            return self.shown, []
        if self.entry.id == CLAIMS:
            return self.shown[:1], []
        leading = []
        folded = []
        tables_by_name = zip(self._in_order, self.shown, strict=True)
        for number, (name, table) in enumerate(tables_by_name):
            if _stands_open(number, table):
                leading.append(table)
            else:
                folded.append((name, table))
        return leading, folded

    def _saved(self, part: str) -> pd.DataFrame:
        """One of its saved tables: `<id>__<part>.csv`."""
        return _table_of(f"{self.base}__{part}.csv")

    @property
    def missing(self) -> list[str]:
        """What is not there, each with its reason, and what makes it where something
        does: a line a reason.
        """
        return gaps.lines(self.record.get("missing", ()), self.cells)


def _place_on_page(name: str) -> int:
    """Where a saved table stands: results (0), what could be read (1), tests (2)."""
    if name.endswith("__variants.csv"):
        return 1
    return 2 if name.endswith(("tests.csv", "__tests_of_pairs.csv")) else 0


def _stands_open(number: int, table: tables.Table) -> bool:
    """Whether a table is shown unfolded: the first one, coverage, and tests, unless it
    is long.
    """
    label = table.caption.lower().split(" (")[0]
    is_open = number == 0 or label.endswith(("variants", "tests", "tests of pairs"))
    return is_open and table.lines <= MOST_OPEN


def _saved_table(
    frame: pd.DataFrame, caption: str, rows: int = MOST_ROWS
) -> tables.Table:
    """A saved table: words that are the same in every row stand above it once, an
    interval is one column, and signatures are details.
    """
    frame = frame.copy()  # the same file is shown short and long
    signatures: list[str] = []
    for name in [name for name in frame if _are_signatures(frame[name])]:
        signatures += frame.pop(name).dropna().unique().tolist()
    if "route" in frame:
        frame = frame.replace({"route": ORIGINS})
    frame = _with_intervals(frame)
    frame, same = _without_repeats(frame)
    notes = []
    words = []
    for name, value in same.items():
        if pd.isna(value):
            continue
        if name == "reason":
            notes.append(comparisons.plain_reason(str(value)))
        else:
            words.append(str(value))
    if "reason" in frame:
        frame["reason"] = frame["reason"].map(
            comparisons.plain_reason, na_action="ignore"
        )
    if words:
        caption = f"{caption} ({', '.join(words)})"
    frame = frame.rename(columns={"route": "origin"})
    table = tables.show(frame, caption, notes=notes, rows=rows)
    return dataclasses.replace(table, details=tuple(signatures))


def _without_repeats(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The frame without columns that say the same in every row, and what they say, by
    column.
    """
    same: dict[str, Any] = {}
    if len(frame) <= 1:
        return frame, same
    for name in frame:
        if name in _KEPT:
            continue
        values = frame[name]
        has_one_value = values.nunique(dropna=False) == 1
        is_text = not pd.api.types.is_numeric_dtype(values)
        if has_one_value and (is_text or values.isna().all()):
            same[name] = values.iat[0]
    return frame.drop(columns=list(same)), same


def _are_signatures(values: pd.Series) -> bool:
    """Whether a column says how each number was computed, for machines: it is named
    `signature`, or each of its texts names a coefficient as a signature does.
    """
    if values.name == "signature":
        return True
    if pd.api.types.is_numeric_dtype(values):
        return False
    texts = [str(text) for text in values.dropna()]
    return bool(texts) and all("coef:" in text for text in texts)


def _with_intervals(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with one column for the two ends of an interval."""
    for low in [name for name in frame if str(name).endswith("_low")]:
        stem = low.removesuffix("_low")
        high = f"{stem}_high"
        if high not in frame or not pd.api.types.is_numeric_dtype(frame[low]):
            continue
        intervals: list[str | None] = []
        for ends in zip(frame[low], frame[high], strict=True):
            if any(map(pd.isna, ends)):
                intervals.append(None)
            else:
                intervals.append("[{:.3f}, {:.3f}]".format(*ends))
        if stem == "ci":
            name = "95 % interval"
        else:
            name = f"{stem}, range".replace("_", " ")
        # The interval stands where its lower end stood.
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
    "own": "computed from rows of one's own",
}
# Who judged, of an output that compares nothing printed in the five papers.
JUDGED_BY = {
    "recorded": "Judges that others ran and whose judgments they published. None was "
    "asked here.",
    "mini": "The miniature judge, a small model that was trained here for exercise. It "
    "says nothing of the papers' judges.",
}
# What a page says of a mode, after the origin of the numbers.
_MODES = {"full": "", "quick": "a small share of the data"}


def markdown(answer: Answer) -> str:
    """The answer as a page for a code host, beside the result: the answer's sentences,
    claim, open tables, figures and reading, folded tables, how it was made. Of a long
    page the folded tables show their first rows, and lead to the whole.
    """
    for rows in FOLDED_ROWS:
        page = _page(answer, rows)
        if page.count("\n") <= MOST_LINES:
            break
    return page


def _page(answer: Answer, rows: int) -> str:
    """The page, with at most so many rows in each folded table."""
    folder = posixpath.dirname(answer.base)

    def link(name: str, text: str) -> str:
        """A link in Markdown from the page to a file of the checkout."""
        return f"[{text}]({posixpath.relpath(name, folder)})"

    parts = [f"# {answer.title}"]
    for number, (question, text) in enumerate(answer.lines):
        mark = "" if question.endswith("?") else "."
        parts.append(f"**{question}{mark}** {tables.for_markdown(text)}")
        # The counts by kind stand right below the verdict on the method.
        if number == 0 and answer.kinds:
            parts.append(answer.kinds.markdown)
    parts.append(_links(answer, link))
    parts.append(answer.claim)
    leading, _ = answer.parted
    for table in leading:
        parts += [table.markdown, _bullets(table.notes)]
        parts.append(web.folded(tables.DETAILS, _bullets(table.details)))
    if answer.entry.id == CLAIMS:
        parts += claims_page.grouped(answer.shown[1:])
    for name in answer.figures:
        parts.append("!" + link(name, _about_figure(answer, name)))  # a picture
    if answer.reading:
        parts += ["## Reading", answer.reading]
    parts += _tables_below(answer, rows, link)
    if answer.missing:
        parts += [
            "## What is missing",
            _bullets(answer.missing[: comparisons.MOST_NOTES]),
        ]
        further = answer.missing[comparisons.MOST_NOTES :]
        parts.append(web.folded(f"{len(further)} further reasons", _bullets(further)))
    parts += ["## How it was made", _making(answer, link)]
    return "\n\n".join(filter(None, parts)) + "\n"


def first_screen_of(answer: Answer) -> tables.Table:
    """The answer as a notebook begins with it: where all of it is, the sentences, the
    counts by kind and the first table.
    """
    names = [f"{answer.base}.md", *answer.numbers[:1], f"{answer.base}.json"]
    printed = [
        f"data/paper_tables/{answer.entry.paper}/{table}.csv"
        for table in answer.entry.covers
    ]
    lines = []
    for question, text in answer.lines:
        mark = "" if question.endswith("?") else ":"
        lines.append(f"{question}{mark} {text}")
    lines.append(f"Page, numbers, provenance: {', '.join(names)}.")
    if printed:
        lines.append(f"As printed: {', '.join(printed)}.")
    words = tables.joined([], lines)
    root = "../" * (answer.entry.notebook.count("/") + 1)
    html = _with_links(words.html, [*names, *printed], root)
    for question, _ in answer.lines:
        begin = f"<div>{tables.esc(question)}"
        html = html.replace(begin, f"<div><b>{tables.esc(question)}</b>", 1)
    parts = [dataclasses.replace(words, html=html)]
    if answer.kinds:
        parts.append(answer.kinds)
    parts += answer.shown[:1]
    html = "".join(part.html for part in parts)
    text = "\n".join(part.text for part in parts)
    return tables.Table(html, text)


def _with_links(html: str, names: Iterable[str], root: str) -> str:
    """The markup with each name of a file as a link to it."""
    for name in names:
        link = f'<a href="{tables.esc(root + name)}">{tables.esc(name)}</a>'
        html = html.replace(tables.esc(name), link)
    return html


def _about_figure(answer: Answer, name: str) -> str:
    """What a figure shows, for those who do not see it: the output's title, and the
    figure's own name where it has one.
    """
    stem = posixpath.basename(name).removesuffix(".png")
    suffix = stem.removeprefix(answer.entry.id).strip("_")
    words = suffix.replace("_", " ")
    return ": ".join(filter(None, [answer.title, words]))


def _tables_below(
    answer: Answer, rows: int, link: Callable[[str, str], str]
) -> list[str]:
    """The further tables, folded, with at most so many rows of each."""
    parts = []
    _, folded = answer.parted
    for name, table in folded:
        if table.lines > rows:
            table = answer.table(name, rows)
        paragraphs = [table.markdown, _bullets(table.notes)]
        if table.lines >= rows:
            paragraphs.append(f"All rows: {link(name, posixpath.basename(name))}.")
        text = "\n\n".join(filter(None, paragraphs))
        parts.append(web.folded(table.caption or "Table", text))
    return parts


def _making(answer: Answer, link: Callable[[str, str], str]) -> str:
    """Where the numbers come from, and how to make them again."""
    entry = answer.entry
    record = answer.record
    sources = [
        link(record["notebook"], "notebook"),
        f"again by `nlgeval run {entry.id} --force`",
    ]
    for name in [f"{answer.base}.json", *record["files"]]:
        if name.endswith((".json", ".csv")):
            sources.append(link(name, posixpath.basename(name)))
    origin = ORIGINS.get(record["route"], record["route"])
    share = _MODES.get(record["mode"], "")
    if share:
        origin = f"{origin}, {share}"
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
    """A list in Markdown; its lines are plain text, which is escaped. Empty for no
    line.
    """
    return "\n".join(f"- {tables.for_markdown(line)}" for line in lines)


def saved_cells(name: str) -> pd.DataFrame | None:
    """The cells that an output compared, with the columns of `papers.comparison.RESULT`;
    None where there is no such file.

    name: as records give it, `results/<paper>/<id>.csv`.
    Raises: ValueError naming a damaged file.
    """
    path = files.located(name)
    if not path.exists():
        return None
    return _cells_of(name, path, path.stat().st_mtime_ns).copy()


@functools.lru_cache(maxsize=256)
def _cells_of(name: str, path: Path, modified: int) -> pd.DataFrame:
    """`saved_cells` of a file that is there, read again where it changed."""
    types = defaultdict[str, type](lambda: str, _TYPES)
    try:
        # An empty text is no gap: only in columns of numbers is it NaN.
        cells = pd.read_csv(
            path,
            keep_default_na=False,
            na_values=dict.fromkeys(_TYPES, ""),
            dtype=types,
        )
        for column in _CELL:
            if column not in cells:
                raise ValueError(f"no column {column!r}")
        unknown = cells.loc[~cells["verdict"].isin(papers.VERDICTS), "verdict"]
        # Lines of the file are counted from 1, and the first is its head.
        for row, verdict in unknown.items():
            raise ValueError(f"row {row + 2}: verdict {verdict!r}")
    except (OSError, ValueError) as error:
        raise ValueError(f"{name} is damaged ({error}); {saving.AGAIN}") from None
    for name in ("n", "draws"):
        if name in cells:
            cells[name] = cells[name].astype("Int64")
    return cells


def pages(entries: Iterable[Entry]) -> dict[str, bytes]:
    """The page of every output that saved a full result, by its name,
    `results/<paper>/<id>.md`.
    """
    contents = {}
    for entry in entries:
        answer = read_answer(entry)
        if answer:
            contents[f"{answer.base}.md"] = markdown(answer).encode()
    return contents


def read_answer(entry: Entry) -> Answer | None:
    """What the saved full result of an output says; None where there is none."""
    record = saving.read_json(f"{base(entry)}.json")
    return Answer(entry, record) if record else None


def page_of_run(entry: Entry, folder: str) -> dict[str, bytes]:
    """The page that a run writes beside its own result, in a folder below `results/`;
    empty where the scoreboard writes it for all.
    """
    is_exercise = folder == "mini" and entry.paper == META
    if folder != APART and not is_exercise and not entry.is_private:
        return {}
    name = Answer(entry, {}, folder).base
    record = saving.read_json(f"{name}.json") or {}
    return {f"{name}.md": markdown(Answer(entry, record, folder)).encode()}


# -- what backs a reading

# Signs of two characters come first: the first that a value begins with is its own.
_BOUNDS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
# How several rows become one value, by the word that `of` has for it.
_ONE: dict[str, Callable[[pd.Series], Any]] = {
    "": lambda values: values.item(),
    "count": len,
    "distinct": lambda values: values.nunique(),
    # The first row less the last.
    "gap": lambda values: values.iloc[0] - values.iloc[-1],
    **{name: operator.methodcaller(name) for name in ("min", "max", "mean", "sum")},
}


@functools.lru_cache(maxsize=2)
def _lines(path: Path) -> list[dict[str, str]]:
    """The lines of `readings.csv` by column; none where there is no such file."""
    if not path.is_file():
        return []
    return pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")


def backing(notebook: str = "") -> list[dict[str, str]]:
    """The lines of `notebooks/readings.csv` that back the reading of a notebook, by its
    path below `notebooks/`; "" for all.
    """
    lines = _lines(files.notebooks() / "readings.csv")
    return [line for line in lines if notebook in ("", line["notebook"])]


def holds(line: Mapping[str, str], frame: pd.DataFrame) -> bool:
    """Whether the rows of its file give what a line says of them, to the digits that it
    says. False, too, where no row is left, or several where one is needed.

    Example:
    >>> rows = pd.DataFrame({"level": ["input", "system"], "tau": [0.31, 0.62]})
    >>> line = {"where": "level == 'input'", "take": "tau", "of": "", "value": ".3"}
    >>> holds(line, rows)
    True
    """
    # pandas prepares each column of a frame that it is asked about.
    asked = f"{line['where']} {line['take']}"
    values: Any = frame[[name for name in frame if str(name) in asked]]
    try:
        if line["where"]:
            values = values.query(line["where"], engine="python", local_dict={})
        if line["take"] in values:
            values = values[line["take"]]
        elif line["take"]:
            values = values.eval(line["take"], engine="python", local_dict={})
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
    """The points of a reading whose lines in `readings.csv` all hold; how many others
    there are is said at the end.

    text: the section Reading, Markdown. notebook: its path below `notebooks/`.
    mode: "full" or "quick", whose results are looked at.
    """
    # a point keeps its bullet: the one before it may be left out
    points = re.split(r"\n(?=- )", text)
    lines = [line for line in backing(notebook) if line["value"]]
    backed_points = []
    for point in points:
        claims = [line for line in lines if line["said"] in point]
        if all(_saved(line, mode) for line in claims):
            backed_points.append(point)
    backed_text = "\n".join(backed_points)
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
        name = name.replace("results/", "results/quick/", 1)
    if not files.located(name).is_file():
        return False
    return holds(line, _table_of(name))


def _table_of(name: str) -> pd.DataFrame:
    """A saved table that is there, read once; nobody changes it."""
    path = files.located(name)
    return _read(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=256)
def _read(path: Path, modified: int) -> pd.DataFrame:
    """A saved table; only an empty cell is a gap, so that "NA" stays a word."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""])
