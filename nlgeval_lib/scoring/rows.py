"""Somebody's own rows under the project's column names, every cell that is used
checked, once. Which column becomes which is decided once, as a `columns.Plan`.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets
from nlgeval_lib.scoring import cells, columns, logs, provenance
from nlgeval_lib.scoring.cells import InputError, as_number, is_missing
from nlgeval_lib.scoring.columns import (
    IDS,
    RATER,
    RATING,
    RATINGS,
    REFERENCES,
    TEXTS,
    Plan,
)
from nlgeval_lib.scoring.settings import pairs
from nlgeval_lib.scoring.table_files import Dialect, read_table

# our column -> the function of `cells` that checks a cell of it
_READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(TEXTS, cells.as_text),
    **dict.fromkeys(IDS, cells.as_id),
    RATER: cells.as_rater,
    "reference": functools.partial(cells.as_references, packed=False),
    "references": cells.as_references,
    RATING: as_number,
}


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of a file or a data set, and what is taken for what in them.

    given: the columns as written, None for a missing value; the index has each row's
    place, such as "line 7".
    checked: the columns under the project's names, where they were made already.
    sha256: of the file's bytes; "" for a data set.
    earlier: what was recorded beside a file of scores.
    missing_values, words: what stands in the file for a missing number, and what words
    stand for (`cells.words_for`).
    unfit: our column of ids that was not taken -> the column that it was to be.
    remarks: what else is to be told of how the file was read.
    """

    name: str
    given: pd.DataFrame
    plan: Plan = field(default_factory=Plan)
    checked: pd.DataFrame | None = None
    sha256: str = ""
    earlier: Mapping[str, Any] = field(default_factory=dict)
    missing_values: Sequence[str] = ()
    words: Sequence[Any] = ()
    unfit: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.given)

    def __repr__(self) -> str:
        names = []
        for ours, name in self.theirs.items():
            names.append(ours if ours == name else f"{ours} = {name}")
        return f"Rows({self.name}: {len(self):,} rows; {', '.join(names)})"

    @functools.cached_property
    def frame(self) -> pd.DataFrame:
        """The columns under our names, every cell that has a meaning checked."""
        if self.checked is not None:
            return self.checked
        by_our_name = {}
        for ours in (*self.plan.sources, *self.plan.filled):
            names = self.plan.sources.get(ours, ())
            if len(names) == 1 and not _reader(ours):
                by_our_name[ours] = self.given[names[0]]
            else:
                by_our_name[ours] = self.cells(ours)
        return pd.DataFrame(by_our_name, self.given.index)

    def only(self, choose: Callable[[str], bool]) -> Rows:
        """The same rows with those of our columns that `choose` chooses."""
        return replace(self, plan=self.plan.only(choose))

    def take(self, rows: slice | np.ndarray) -> Rows:
        """Some rows of these: a slice, their positions, or a mask of all rows."""
        return replace(self, given=self.given.iloc[rows], checked=self.frame.iloc[rows])

    @property
    def columns(self) -> list[str]:
        """The names as they were written, in order."""
        return list(self.given.columns)

    @property
    def theirs(self) -> dict[str, str]:
        """Our column -> how a message calls it: the user's names, or "--fill OURS"."""
        names = {
            ours: " + ".join(sources) for ours, sources in self.plan.sources.items()
        }
        return names | {ours: f"--fill {ours}" for ours in self.plan.filled}

    def ours(self, column: str) -> str:
        """The name that a column of the user's has here, as `Plan.ours`."""
        return self.plan.ours(column)

    def check_ids(self) -> None:
        """Raise an InputError where a usual column of ids was left out: rows may depend
        on it.
        """
        for ours, column in self.unfit.items():
            raise InputError(
                f"{self.plan.left_out[column]}; fill it, name another "
                f"(--map {ours}=COLUMN), or leave the column out "
                f"(--without {column!r})"
            )

    def in_words(self) -> str:
        """What was taken for what and what follows, in one line."""
        sentences = []
        if self.sha256:
            clauses = "; ".join(self.plan.in_words())
            sentences.append(f"{self.name} is read with {clauses}")
        raters = self.plan.sources.get(RATING, ())
        if len(raters) > 1:
            sentences.append(
                f"{RATING} is the mean of {len(raters)} columns: {', '.join(raters)}"
            )
        if self.missing_values:
            marks = ", ".join(self.missing_values)
            sentences.append(f"of ratings and scores {marks} stand for none")
        return "; ".join([*sentences, *self.remarks])

    def lacks(self, column: str) -> str:
        """That there is no such column, with the nearest name: a message."""
        return columns.lacks(self.name, self.columns, column)

    def place(self, row: str, column: str = "") -> str:
        """How a message names a row by its label, or the cell of a column of ours."""
        if not column:
            return f"{self.name}, {row}"
        name = self.theirs.get(column, column)
        ours = f" ({column})" if name != column else ""
        return f"{self.name}, {row}, column {name!r}{ours}"

    def cells(self, ours: str) -> Any:
        """One of our columns, each cell checked: a series of texts or ids, or an array
        of numbers (of several ratings the mean, NaN for a row without any).
        """
        if ours in self.plan.filled:
            return self.read([self.plan.filled[ours]] * len(self), ours)
        names = list(self.plan.sources[ours])
        if len(names) == 1:
            return self.read(self.given[names[0]].tolist(), ours)
        if ours != RATING:
            return self.read(self.given[names].to_numpy().tolist(), ours)
        ratings = {}
        for column in names:
            values = self.given[column].tolist()
            ratings[column] = self.read(values, column, as_number)
        return pd.DataFrame(ratings).mean(axis=1).to_numpy()

    def read(self, values: Iterable[Any], ours: str, reader: Any = None) -> Any:
        """The cells of a column of ours, one a row, as they are used: float64 for
        numbers, else a series. reader: a function of `cells`; None for that of the
        column.
        """
        reader = reader or _reader(ours)
        if reader is as_number:
            values = cells.with_words(values, self.words)
            values = cells.without(values, self.missing_values)
        if not reader:
            return pd.Series(list(values), self.given.index, dtype=object)
        cells_read: list[Any] = []
        texts_read: dict[str, Any] = {}  # a text stands in many rows
        try:
            for value in values:
                if type(value) is not str:
                    cells_read.append(reader(value))
                    continue
                if value not in texts_read:
                    texts_read[value] = reader(value)
                cells_read.append(texts_read[value])
        except ValueError as error:
            place = self.place(self.given.index[len(cells_read)], ours)
            words = cells.words_in(values) if reader is as_number else ""
            raise InputError(f"{place}{error}{words}") from None
        if reader is as_number:
            return np.array(cells_read, dtype=float)
        return pd.Series(cells_read, self.given.index, dtype=object)

    def unused_marks(self, marks: Iterable[str]) -> str:
        """That marks of a missing number stand in no rating or score; "" where all do."""
        present: list[Any] = []
        for ours, names in self.plan.sources.items():
            if ours not in (*TEXTS, *REFERENCES, *IDS):
                present += self.given[list(names)].to_numpy().ravel().tolist()
        present = [value for value in present if value is not None]
        unused = [mark for mark in marks if None not in cells.without(present, [mark])]
        if not unused:
            return ""
        return (
            f"{self.name} has no rating or score {' or '.join(unused)}; is it another "
            "mark that stands for none?"
        )

    def numbers(self, column: str) -> np.ndarray:
        """A column, ours or a further one, as float64, NaN where it is empty."""
        values = self.frame[column]
        if pd.api.types.is_float_dtype(values):
            return values.to_numpy(copy=True)  # read already
        return np.asarray(self.read(values.tolist(), column, as_number))


def read(
    path: str | os.PathLike[str], format: str = "", dialect: Dialect | None = None
) -> Rows:
    """The rows of a file as they are written there: no column is renamed or checked."""
    dialect = dialect or Dialect()
    file = read_table(str(path), format, dialect)
    given = _plain(file.frame)
    return Rows(
        name=file.name,
        given=given,
        checked=given,
        sha256=file.sha256,
        remarks=file.remarks,
        earlier=provenance.record_of(str(path), file.sha256),
        words=cells.words_for(file.orders, dialect.decimal),
    )


def _recorded_missing(rows: Rows) -> tuple[str, ...]:
    """What stood for no score when the scores of a file were made, each once."""
    found: dict[str, None] = {}
    for run in provenance.runs(rows.earlier):
        found |= dict.fromkeys(map(str, run.get("missing_values") or ()))
    return tuple(found)


def chosen_rows(
    input: str | Rows = "",
    data: str = "",
    format: str = "",
    mapping: Iterable[str] = (),
    fill: Iterable[str] = (),
    limit: int | None = None,
    missing_values: Sequence[str] = (),
    without: Iterable[str] = (),
    values: Iterable[str] = (),
    named: Collection[str] = (),
    dialect: Dialect | None = None,
) -> Rows:
    """The rows of a file or of a data set, under our column names.

    input, data: one of them: the file, "-" for standard input, or what `read` gives of
    it; or a data set's name.
    mapping: `ours=theirs`, such as `output=response`; `human=rating_*` is the mean of
    all such columns, `rater_*=rating_*` names each of them.
    fill: `column=text`, one text for all rows, or `@file`.
    limit: only the first so many rows; None for all.
    missing_values: what stands for a missing rating or score, such as 99.
    without, values, named: columns for nothing, what words stand for
    (`cells.words_for`), and columns that the user names for another use.

    What a file of scores was made with holds on, where no word here says otherwise.
    Raises: InputError naming the file and the line; UnknownName, DataUnavailable.
    """
    if bool(input) == bool(data):
        raise InputError("give either a file (--input) or a data set (--data)")
    if data and not datasets.has(data) and Path(data).is_file():
        input = data
    if not input:
        frame = datasets.load(data).iloc[:limit]
        return of_frame(frame, data, mapping, fill)
    rows = input if isinstance(input, Rows) else read(input, format, dialect)
    rows = replace(
        rows,
        given=rows.given.iloc[:limit],
        checked=None,
        missing_values=tuple(missing_values) or _recorded_missing(rows),
        words=[*cells.words_for(values), *rows.words],
    )
    mapping = [*mapping]
    rows = _with_paths(rows, mapping)
    given = rows.name, rows.columns, rows.earlier
    plan = columns.decided(*given, mapping, fill, without, named)
    return _fitting(replace(rows, plan=plan))


def of_frame(
    frame: pd.DataFrame,
    name: str,
    mapping: Iterable[str] = (),
    fill: Iterable[str] = (),
) -> Rows:
    """The rows of a frame that is here already, "row 1" and on, such as a data set's;
    name: what messages call it.
    """
    places = [f"row {number}" for number in range(1, len(frame) + 1)]
    table = _plain(frame.set_axis(places))
    plan = columns.decided(name, list(table), {}, mapping, fill, usual=False)
    return Rows(name=name, given=table, plan=plan)


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with texts as its columns' names, and None for every missing value."""
    plain_frame = frame.rename(columns=str).astype(object)
    return plain_frame.where(plain_frame.notna(), None)


def _reader(ours: str) -> Callable[[Any], Any] | None:
    """What checks a cell of one of our columns; None for one without a meaning."""
    return as_number if ours.startswith(RATINGS) else _READERS.get(ours)


# -- under our names


def _with_paths(rows: Rows, mapping: Iterable[str]) -> Rows:
    """The rows with a column for each mapped path into another one, as `doc.answer`."""
    table = rows.given
    for _, path in pairs(mapping, "map", "ours=theirs"):
        root, dot, inner = path.partition(".")
        if not dot or path in rows.columns or root not in rows.columns:
            continue
        steps = [inner]
        if "*" in inner:
            steps = _members(table[root], inner)
        for step in steps:
            inside = [logs.at(cell, step) for cell in table[root]]
            column = pd.Series(inside, table.index, dtype=object)
            if not column.notna().any():
                raise InputError(
                    f"map: {rows.name} has nothing at {f'{root}.{step}'!r} in any row"
                )
            table = table.assign(**{f"{root}.{step}": column})
    return replace(rows, given=table)


def _members(column: pd.Series, path: str) -> list[str]:
    """The paths that one with a star stands for, one for each member in any row."""
    start, _, end = path.partition("*")
    names: dict[str, None] = {}
    for cell in column:
        inside = logs.opened(logs.at(cell, start[:-1]) if start else cell)
        if isinstance(inside, list):
            inside = map(str, range(len(inside)))
        names |= dict.fromkeys(inside if isinstance(inside, Iterable) else ())
    return [f"{start}{name}{end}" for name in names]


def _fitting(rows: Rows) -> Rows:
    """The rows without what was taken by its name alone and has cells that will not do."""
    plan = rows.plan
    unfit = {}
    for ours, names in rows.plan.sources.items():
        is_rating = ours.startswith(RATINGS)
        if plan.why[ours] == "said" or not (is_rating or ours in plan.guessed):
            continue
        try:
            values = rows.cells(ours)
        except InputError as error:
            if not is_rating:
                plan = plan.without(ours, f"not taken for {ours}, as {error}")
                if ours in IDS and rows.given[names[0]].map(_may_be_id).any():
                    # without any, the column holds something else
                    unfit[ours] = " + ".join(names)
            elif not _has_number(rows, names[0]):
                problem = "words, so no rating (--values 'no=0,yes=1' reads words)"
                plan = plan.without(ours, problem)
            continue
        if ours.startswith("rater_") and (far := _far(rows, ours, values)):
            plan = plan.without(ours, far)
    return replace(rows, plan=plan, unfit=unfit)


def _has_number(rows: Rows, column: str) -> bool:
    for text in dict.fromkeys(map(str, rows.given[column])):
        with contextlib.suppress(InputError):
            read = rows.read([text], RATING, as_number)
            if not np.isnan(read).any():
                return True
    return False


def _far(rows: Rows, ours: str, values: np.ndarray) -> str:
    """Why numbers are too far from the ratings to be ratings; "" where they are not."""
    if RATING not in rows.plan.sources or np.isnan(values).all():
        return ""
    try:
        ratings = rows.cells(RATING)
    except InputError:
        return ""
    if np.isnan(ratings).all():
        return ""
    least = np.nanmin(ratings)
    most = np.nanmax(ratings)
    low = np.nanmin(values)
    high = np.nanmax(values)
    spread = most - least
    if not spread or (high >= least - spread and low <= most + spread):
        return ""
    return (
        f"from {low:g} to {high:g}, so no rating beside {least:g} to {most:g} "
        f"(--map {ours}={ours} takes it)"
    )


# -- before the first row is scored


def _may_be_id(value: Any) -> bool:
    """Whether a cell can name an input or a system."""
    return isinstance(value, str | int) and bool(str(value).strip())


def incomplete(
    rows: Rows,
    needs: Iterable[str],
    evaluator: str,
    empty_is_missing: bool = True,
    advice: str = "",
) -> dict[int, str]:
    """Position -> why a row cannot be shown to an evaluator that needs these columns.

    needs: our columns; of `reference` and `references` either will do.
    empty_is_missing: whether an empty text is as good as none; the output may be empty.
    """
    serving = {}  # need -> the column that serves it
    missing = []
    for need in dict.fromkeys(needs):
        present = [name for name in columns.choices(need) if name in rows.frame.columns]
        if present:
            serving[need] = present[0]
        else:
            missing.append(need)
    if missing:
        message = _needed_columns(rows, missing, evaluator)
        raise InputError(f"{message}; {advice}" if advice else message)
    reasons: dict[int, str] = {}
    for need, column in serving.items():
        for row, value in enumerate(rows.frame[column]):
            if is_missing(value) or value == ():
                problem = "missing"
            elif empty_is_missing and need != "output" and value in ("", ("",)):
                problem = "empty"
            else:
                continue
            place = rows.place(rows.given.index[row], column)
            reasons.setdefault(row, f"{place} is {problem}; {evaluator} needs it")
    return reasons


def _needed_columns(rows: Rows, needs: Sequence[str], evaluator: str) -> str:
    """That these columns are not there, and how to give them: a message."""
    descriptions = []
    maps = []
    fills = []
    suggested: list[str] = []
    for need in needs:
        column = columns.nearest(rows.plan, rows.columns, need, suggested)
        suggested.append(column)
        descriptions.append("a column " + " or ".join(map(repr, columns.choices(need))))
        maps.append(f"--map {need}={column or 'COLUMN'}")
        rubric = "--rubric FILE, or -s rubric=no"
        fills.append(rubric if need == "rubric" else f"--fill {need}=TEXT")
    present = ", ".join(rows.columns) or "none"
    return (
        f"{evaluator} needs {' and '.join(descriptions)}, and {rows.name} has {present}; "
        f"say which it is ({' '.join(maps)}), or give one text for all rows "
        f"({' '.join(fills)})"
    )


def repeated(rows: Rows) -> str:
    """Which rows have the input, system and aspect of an earlier one; "" for none."""
    keys = [name for name in (*IDS, "aspect") if name in rows.frame.columns]
    if not {*keys} >= {*IDS}:
        return ""
    frame = rows.frame[keys]
    repeats = np.flatnonzero(frame.duplicated())
    if not len(repeats):
        return ""
    repeat = frame.iloc[repeats[0]]
    same = frame.astype(str).eq(repeat.astype(str)).all(axis=1)
    earlier = frame.index[int(np.argmax(same))]
    values = [f"{rows.theirs[name]} {repeat[name]!r}" for name in keys]
    return (
        f"{len(repeats)} rows have the {', '.join(keys)} of an earlier one, first "
        f"{rows.place(frame.index[repeats[0]])}: {', '.join(values)} as in {earlier}"
    )


def lists_as_text(rows: Rows) -> dict[str, int]:
    """How many cells that are read as one text look like several, by column."""
    counts = {}
    for ours in ("output", "reference", "references"):
        texts = [text for text in rows.frame.get(ours, ()) if isinstance(text, str)]
        number = 0
        # A text stands in several rows, one an aspect.
        for text, rows_with_it in Counter(texts).items():
            if cells.looks_packed(text):
                number += rows_with_it
        if number:
            counts[ours] = number
    return counts
