"""Somebody's own rows, part by part: under the project's column names, every cell that
is used is checked, once.

`Parts` is a file or a data set that is read a part at a time, as often as wanted; each
part comes as `Rows`, which are in memory. `chosen_rows` makes one of what a user names,
`of_frame` of a frame, `read` reads a file as it is. Which of the user's columns becomes
which of ours is decided once, as a `columns.Plan`. `incomplete` says which rows an
evaluator cannot be shown, and why; `repeated` which rows are there twice.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
from nlgeval_lib.scoring.table_files import Dialect, TableFile

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
class Parts:
    """The rows of a file or a data set, each part read and checked as it is needed, as
    often as wanted.

    name: the file as the user named it, or the data set; messages begin with it.
    columns: the names as they were written, in order.
    rows: how many.
    frames: gives the parts of these columns as they were written; the index has each
    row's place, such as "line 7".
    sha256: of the file's bytes; "" for a data set.
    earlier: what was recorded beside the file, where it is a file of scores.
    plan: what is taken for what.
    missing_values: what stands in the file where a rating or score is missing.
    words: what words stand for as numbers (`cells.words_for`).
    unfit: our column of ids that was not taken -> the cell that speaks against it.
    remarks: what else is to be told of how the file was read.

    Iterating gives `Rows`; it raises InputError naming row and column for a cell that
    will not do.
    """

    name: str
    columns: Sequence[str]
    rows: int
    frames: Callable[[list[str]], Iterable[pd.DataFrame]]
    sha256: str = ""
    earlier: Mapping[str, Any] = field(default_factory=dict)
    plan: Plan = field(default_factory=Plan)
    missing_values: Sequence[str] = ()
    words: Sequence[Any] = ()
    unfit: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        names = []
        for ours, name in self.theirs.items():
            names.append(ours if ours == name else f"{ours} = {name}")
        columns_read = ", ".join(names)
        return f"{type(self).__name__}({self.name}: {len(self):,} rows; {columns_read})"

    def __iter__(self) -> Iterator[Rows]:
        """The parts in order, each checked; no row is given beyond the first `rows`."""
        remaining = self.rows
        for frame in self.frames([*self.columns]):
            raw = _plain(frame.iloc[:remaining])
            fields = {**vars(self), "rows": len(raw)}
            yield Rows(**fields, given=raw, frame=self._checked(raw))
            remaining -= len(raw)
            if not remaining:
                return

    def _checked(self, raw: pd.DataFrame) -> pd.DataFrame:
        """Rows as they were written under our names, each cell with a meaning checked."""
        read = {}
        for ours in (*self.plan.sources, *self.plan.filled):
            names = self.plan.sources.get(ours, ())
            if len(names) == 1 and not _reader(ours):
                read[ours] = raw[names[0]]  # what has no meaning here stays as it is
            else:
                read[ours] = self.cells(raw, ours)
        return pd.DataFrame(read, raw.index)

    def whole(self) -> Rows:
        """All rows at once, in one `Rows`.

        Raises: InputError naming the row and the column.
        """
        parts = list(self)
        if len(parts) == 1:
            return parts[0]
        raw = pd.concat([part.given for part in parts])
        frame = pd.concat([part.frame for part in parts])
        return replace(parts[0], rows=len(raw), given=raw, frame=frame)

    def only(self, choose: Callable[[str], bool]) -> Parts:
        """The same rows with those of our columns that `choose` chooses; no other cell
        is read.
        """
        plan = self.plan.only(choose)
        needed = {column for names in plan.sources.values() for column in names}
        read = self.frames
        return replace(
            self,
            plan=plan,
            frames=lambda names: read([name for name in names if name in needed]),
        )

    def check_ids(self) -> None:
        """Pass where no usual column of ids was left out: whether rows are independent
        hangs on them.

        Raises: InputError naming the cell.
        """
        for ours, problem in self.unfit.items():
            column = self.plan.left_out[problem]
            raise InputError(
                f"{column}; fill it, name another (--map {ours}=COLUMN), or leave the "
                f"column out (--without {problem!r})"
            )

    @property
    def theirs(self) -> dict[str, str]:
        """Our column -> how a message calls it: the user's name; " + " between them
        where several became one; "--fill OURS" for a text of the user's.
        """
        made = {ours: " + ".join(names) for ours, names in self.plan.sources.items()}
        return made | {ours: f"--fill {ours}" for ours in self.plan.filled}

    def told(self) -> str:
        """What was taken for what and what follows, in one line; "" where there is
        nothing to say.
        """
        sentences = []
        if self.sha256:
            said = "; ".join(self.plan.told())
            sentences.append(f"{self.name} is read with {said}")
        raters = self.plan.sources.get(RATING, ())
        if len(raters) > 1:
            sentences.append(
                f"{RATING} is the mean of {len(raters)} columns: {', '.join(raters)}"
            )
        if self.missing_values:
            marks = ", ".join(self.missing_values)
            sentences.append(f"of ratings and scores {marks} stand for none")
        return "; ".join([*sentences, *self.remarks])

    def ours(self, column: str) -> str:
        """The name that a column of the user's has here, as `Plan.ours`."""
        return self.plan.ours(column)

    def lacks(self, column: str) -> str:
        """That there is no such column, with the nearest name: a message."""
        return columns.lacks(self.name, self.columns, column)

    def place(self, row: str, column: str = "") -> str:
        """How a message names a row by its label, such as "line 7", or a cell of it.

        column: one of ours, for a cell; the message has the user's name of it first.
        """
        if not column:
            return f"{self.name}, {row}"
        name = self.theirs.get(column, column)
        ours = f" ({column})" if name != column else ""
        return f"{self.name}, {row}, column {name!r}{ours}"

    def cells(self, raw: pd.DataFrame, ours: str) -> Any:
        """One of our columns of the plan, each cell of `raw` checked.

        Returns: a series of texts or ids, an array of numbers; of several ratings their
        mean, NaN for a row without any.
        Raises: InputError naming the row and the column.
        """
        if ours in self.plan.filled:
            return self.read([self.plan.filled[ours]] * len(raw), ours, raw.index)
        names = list(self.plan.sources[ours])
        if len(names) == 1:
            return self.read(raw[names[0]].tolist(), ours, raw.index)
        if ours != RATING:
            return self.read(raw[names].to_numpy().tolist(), ours, raw.index)
        ratings = {}
        for column in names:
            values = raw[column].tolist()
            ratings[column] = self.read(values, column, raw.index, as_number)
        return pd.DataFrame(ratings).mean(axis=1).to_numpy()

    def has_number(self, column: pd.Series) -> bool:
        """Whether any cell of a column is a number, as ratings are."""
        for value in column.dropna().unique():
            try:
                read = self.read([value], RATING, pd.Index(["row"]), as_number)
            except InputError:
                continue
            if not np.isnan(read).any():
                return True
        return False

    def read(
        self, values: Iterable[Any], ours: str, places: pd.Index, reader: Any = None
    ) -> Any:
        """The values of a column as they are used.

        values: the cells as they were written. places: the rows' labels.
        ours: the column, for the message and for what it holds.
        reader: a function of `cells`; None for that of our column.
        Returns: float64 of `as_number`, else a series.
        Raises: InputError naming the first that cannot be used.
        """
        reader = reader or _reader(ours)
        if reader is as_number and self.words:
            values = cells.with_words(values, self.words)
        if reader is as_number and self.missing_values:
            values = cells.without(values, self.missing_values)
        cells_read: list[Any] = []
        try:
            for value in values:
                cells_read.append(reader(value) if reader else value)
        except ValueError as error:
            place = self.place(places[len(cells_read)], ours)
            words = ""
            if reader is as_number:
                words = cells.words_in(values)
            raise InputError(f"{place}{error}{words}") from None
        if reader is as_number:
            return np.array(cells_read, dtype=float)
        return pd.Series(cells_read, places, dtype=object)


@dataclass(frozen=True, kw_only=True, repr=False)
class Rows(Parts):
    """Rows in memory: one part of `Parts`, or all.

    given: the columns as they were written, a missing value as None; the index names
    each row's place.
    frame: the columns under the project's names, checked; of `read` the same as
    `given`.
    """

    given: pd.DataFrame
    frame: pd.DataFrame

    def __len__(self) -> int:
        return len(self.given)

    def __iter__(self) -> Iterator[Rows]:
        """The rows themselves, as the one part."""
        yield self

    def take(self, rows: slice | np.ndarray) -> Rows:
        """Some rows of these: a slice, their positions, or a mask of all rows."""
        return replace(self, given=self.given.iloc[rows], frame=self.frame.iloc[rows])

    def unused_marks(self, marks: Iterable[str]) -> str:
        """Which of these marks of a missing number (`missing_values`) stand in no
        rating or score, in words; "" where all do.

        A mark that stands nowhere is likely a slip of the user's.
        """
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
        """A column as float64, NaN where it is empty or says so (nan, null, none, na).

        column: one of our names, or of the user's further columns.
        Raises: InputError naming the cell that is no finite number.
        """
        if pd.api.types.is_float_dtype(self.frame[column]):
            return self.frame[column].to_numpy(copy=True)  # read already
        values = self.frame[column].tolist()
        return np.asarray(self.read(values, column, self.given.index, as_number))


def read(path: str | os.PathLike[str], format: str = "", delimiter: str = "") -> Rows:
    """The rows of a file, or of standard input for "-", as they are written there: no
    column is renamed, no cell checked.

    format: one of `table_files.FORMATS`; "" for what the name says.
    delimiter: what separates the fields of CSV, where it is not a comma.
    Raises: InputError naming the file and the line for what cannot be read, and for a
    file without rows.
    """
    parts = _of_file(str(path), format, delimiter, Dialect())
    raw = _plain(pd.concat(list(parts.frames([*parts.columns]))))
    return Rows(**vars(parts), given=raw, frame=raw)


def chosen_rows(
    input: str = "",
    data: str = "",
    format: str = "",
    delimiter: str = "",
    mapping: Iterable[str] = (),
    fill: Iterable[str] = (),
    limit: int | None = None,
    missing_values: Sequence[str] = (),
    without: Iterable[str] = (),
    values: Iterable[str] = (),
    named: Collection[str] = (),
    dialect: Dialect | None = None,
) -> Parts:
    """The rows of a file or of a data set, under our column names.

    input, data: one of them: the file, "-" for standard input; or a data set's name.
    format, delimiter: as `read` has them.
    mapping: `ours=theirs`, such as `output=response`. `references` may be given several
    times; `human=rating_*` is the mean of all such columns, `rater_*=rating_*` names
    each of them.
    fill: `column=text`, one text for all rows, or `@file`.
    limit: only the first so many rows; None for all.
    missing_values: what stands where a rating or score is missing, such as 99.
    values, without, named: what words stand for (`cells.words_for`), columns for
    nothing, and those that the user names for another use.
    dialect: how the file is written, where its name does not say.

    What a file of scores was made with holds on, where no word here says otherwise.
    Texts may be missing; ratings become numbers, NaN where missing; ids become text.
    Raises: as `read`; InputError for names and cells that do not fit; UnknownName and
    DataUnavailable where a data set is not available.
    """
    if bool(input) == bool(data):
        raise InputError("give either a file (--input) or a data set (--data)")
    if data and not datasets.has(data) and Path(data).is_file():
        input = data
    if not input:
        rows = of_frame(datasets.load(data), data, mapping, fill)
        return replace(rows, rows=min(rows.rows, limit or rows.rows))
    rows = _of_file(input, format, delimiter, dialect or Dialect())
    marks = tuple(missing_values) or _recorded_marks(rows.earlier)
    words = [*cells.words_for(values), *rows.words]
    length = min(rows.rows, limit or rows.rows)
    rows = replace(rows, rows=length, missing_values=marks, words=words)
    rows = _with_paths(rows, mapping := [*mapping])
    words_of_user = (mapping, fill, without, named)
    plan = columns.decided(rows.name, rows.columns, rows.earlier, *words_of_user)
    return _fitting(replace(rows, plan=plan))


def _recorded_marks(earlier: Mapping[str, Any]) -> tuple[str, ...]:
    """What stood for a missing number when a file of scores was made."""
    marks: dict[str, None] = {}
    for run in provenance.runs(earlier):
        marks |= dict.fromkeys(map(str, run.get("missing_values") or ()))
    return tuple(marks)


def of_frame(
    frame: pd.DataFrame,
    name: str,
    mapping: Iterable[str] = (),
    fill: Iterable[str] = (),
) -> Parts:
    """The rows of a frame that is here already, such as a data set's.

    name: what messages call it. Rows are "row 1" and on.
    mapping, fill: as `chosen_rows` has them.
    Raises: InputError for names that do not fit, and from the parts as `chosen_rows`.
    """
    places = [f"row {number}" for number in range(1, len(frame) + 1)]
    raw = _plain(frame.set_axis(places))

    def frames(wanted: list[str]) -> Iterator[pd.DataFrame]:
        for start in range(0, len(raw), cells.ROWS):
            yield raw[wanted].iloc[start : start + cells.ROWS]

    names = list(raw.columns)
    plan = columns.decided(name, names, {}, mapping, fill, usual=False)
    return Parts(name=name, columns=names, rows=len(raw), frames=frames, plan=plan)


def _of_file(path: str, format: str, delimiter: str, dialect: Dialect) -> Parts:
    """The rows of a file with no column of ours yet."""
    file = TableFile(path, format, delimiter, dialect)
    return Parts(
        name=file.name,
        columns=file.columns,
        rows=file.rows,
        frames=file.parts,
        sha256=file.sha256,
        remarks=file.remarks,
        earlier=provenance.record_of(path, file.sha256),
        words=cells.words_for(map("<".join, file.orders.values()), dialect.decimal),
    )


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with texts as its columns' names, and None for every missing value."""
    plain_frame = frame.rename(columns=str).astype(object)
    return plain_frame.where(plain_frame.notna(), None)


def _reader(ours: str) -> Callable[[Any], Any] | None:
    """The function that checks a cell of one of our columns; None for one without a
    meaning.
    """
    return as_number if ours.startswith(RATINGS) else _READERS.get(ours)


# -- under our names


def _with_paths(rows: Parts, mapping: Iterable[str]) -> Parts:
    """The rows with a column for each path into another one that is mapped, such as
    `doc.answer`.

    Raises: InputError where a path leads to nothing in any row.
    """
    paths = {}
    for _, path in pairs(mapping, "map", "ours=theirs"):
        root, dot, inner = path.partition(".")
        if dot and path not in rows.columns and root in rows.columns:
            for whole in _members(rows, root, inner) if "*" in inner else [inner]:
                paths[f"{root}.{whole}"] = (root, whole)
    if not paths:
        return rows
    read = rows.frames

    def frames(wanted: list[str]) -> Iterator[pd.DataFrame]:
        roots = [paths.get(name, (name, ""))[0] for name in wanted]
        for frame in read([*dict.fromkeys(roots)]):
            part = frame[roots].set_axis(wanted, axis=1)
            for path in paths.keys() & {*wanted}:
                inside = [logs.at(cell, paths[path][1]) for cell in part[path]]
                part[path] = pd.Series(inside, part.index, dtype=object)
            yield part

    for path in paths:
        if not any(part[path].notna().any() for part in frames([path])):
            raise InputError(f"map: {rows.name} has nothing at {path!r} in any row")
    return replace(rows, columns=[*rows.columns, *paths], frames=frames)


def _members(rows: Parts, root: str, path: str) -> list[str]:
    """The paths that one with a star stands for, such as `0.value` and `1.value`: one
    for each member of the list or object there, in any row.
    """
    before, _, after = path.partition("*")
    names: dict[str, None] = {}
    for frame in rows.frames([root]):
        for cell in frame[root]:
            inside = logs.opened(logs.at(cell, before[:-1]) if before else cell)
            if isinstance(inside, list):
                inside = map(str, range(len(inside)))
            names |= dict.fromkeys(inside if isinstance(inside, Iterable) else ())
    return [f"{before}{name}{after}" for name in names]


def _fitting(rows: Parts) -> Parts:
    """The rows without what was taken by its name alone and has cells that will not do:
    usual names, and columns of words that begin as ratings do.

    A rating with a slip, one cell among numbers, stays: it is named when it is read.
    """
    plan = rows.plan
    taken = {}  # our column, by its name alone -> the user's
    for ours, names in plan.sources.items():
        by_name = plan.why[ours] != "said"
        if by_name and (ours in plan.guessed or ours.startswith(RATINGS)):
            taken[ours] = list(names)
    if not taken:
        return rows
    problems: dict[str, str] = {}
    sensible = set()  # of ratings those with a number, of ids those with a name
    raters = {ours: names for ours, names in taken.items() if ours.startswith("rater_")}
    compared = raters if RATING in plan.sources else {}
    ranges = Ranges()
    needed = {name for names in taken.values() for name in names}
    if compared:
        needed |= {*plan.sources[RATING]}
    for raw in map(_plain, rows.frames([n for n in rows.columns if n in needed])):
        for ours in (RATING, *compared) if compared else ():
            with contextlib.suppress(InputError):
                ranges.add(ours, rows.cells(raw, ours))
        for ours, names in taken.items():
            column = raw[names[0]]
            if ours.startswith(RATINGS) and rows.has_number(column):
                sensible.add(ours)
            if ours in IDS and column.map(_may_be_id).any():
                sensible.add(ours)
            if ours not in problems:
                try:
                    rows.cells(raw, ours)
                except InputError as error:
                    problems[ours] = str(error)
    unfit = {}
    for ours, problem in problems.items():
        if not ours.startswith(RATINGS):
            plan = plan.without(ours, f"not taken for {ours}, as {problem}")
            if ours in sensible:  # without any, the column holds something else
                unfit[ours] = " + ".join(taken[ours])
        elif ours not in sensible:
            problem = "words, so no rating (--values 'no=0,yes=1' reads words)"
            plan = plan.without(ours, problem)
    for ours in compared.keys() & plan.sources.keys():
        if problem := ranges.far(ours, RATING):
            plan = plan.without(ours, problem)
    return replace(rows, plan=plan, unfit=unfit)


class Ranges:
    """The least and the largest number of columns."""

    def __init__(self) -> None:
        self.ends: dict[str, tuple[float, float]] = {}

    def add(self, name: str, values: np.ndarray) -> None:
        """Count the numbers of a part of a column; NaN is none."""
        present = values[~np.isnan(values)]
        if len(present):
            low, high = self.ends.get(name, (math.inf, -math.inf))
            self.ends[name] = min(low, present.min()), max(high, present.max())

    def far(self, name: str, rating: str) -> str:
        """Why a column is no rating beside another one: its numbers are all farther
        from those than these are apart; "" where they are not.
        """
        if not {name, rating} <= self.ends.keys():
            return ""
        (low, high), (least, most) = self.ends[name], self.ends[rating]
        spread = most - least
        if not spread or (high >= least - spread and low <= most + spread):
            return ""
        return (
            f"from {low:g} to {high:g}, so no rating beside {least:g} to {most:g} "
            f"(--map {name}={name} takes it)"
        )


def _may_be_id(value: Any) -> bool:
    """Whether a cell can name an input or a system."""
    return isinstance(value, str | int) and bool(str(value).strip())


# -- before the first row is scored


def incomplete(
    rows: Rows,
    needs: Iterable[str],
    evaluator: str,
    empty_is_missing: bool = True,
    advice: str = "",
) -> dict[int, str]:
    """Position -> why a row cannot be shown to an evaluator that needs these columns.

    needs: our columns; of `reference` and `references` either will do.
    evaluator: its name, for the messages.
    empty_is_missing: whether an empty text is as good as none; the output may always be
    empty.
    advice: what else helps where a column is not there.
    Raises: InputError for a column that is not there at all.
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
    named = []
    maps = []
    fills = []
    suggested: list[str] = []
    for need in needs:
        column = columns.nearest(rows.plan, rows.columns, need, suggested)
        suggested.append(column)
        named.append("a column " + " or ".join(map(repr, columns.choices(need))))
        maps.append(f"--map {need}={column or 'COLUMN'}")
        rubric = "--rubric FILE, or -s rubric=no"
        fills.append(rubric if need == "rubric" else f"--fill {need}=TEXT")
    present = ", ".join(rows.columns) or "none"
    return (
        f"{evaluator} needs {' and '.join(named)}, and {rows.name} has {present}; "
        f"say which it is ({' '.join(maps)}), or give one text for all rows "
        f"({' '.join(fills)})"
    )


def _key_columns(part: Rows) -> list[str]:
    """The columns that tell a row; none where input or system has no column."""
    keys = [name for name in (*IDS, "aspect") if name in part.frame.columns]
    return keys if {*keys} >= {*IDS} else []


def keys_of(part: Rows) -> np.ndarray:
    """Of each row 8 bytes that tell its input, system and aspect; nothing where input
    or system has no column.

    Returns: uint64, one a row. A run over millions of rows keeps these alone.
    """
    keys = _key_columns(part)
    if not keys:
        return np.empty(0)
    return pd.util.hash_pandas_object(part.frame[keys], index=False).to_numpy()


def repeated(rows: Parts, keys: Sequence[np.ndarray]) -> str:
    """Which rows have the input, system and aspect of an earlier one, in words; ""
    where none has.

    rows: all parts. keys: `keys_of` each part, in order.
    """
    all_keys = np.concatenate(keys)
    repeats = np.flatnonzero(pd.Series(all_keys).duplicated())
    if not len(repeats):
        return ""
    original = _row_at(rows, int(np.argmax(all_keys == all_keys[repeats[0]])))
    repeat = _row_at(rows, int(repeats[0]))
    values = []
    for column in _key_columns(repeat):
        values.append(f"{rows.theirs[column]} {repeat.frame[column].iloc[0]!r}")
    return (
        f"{len(repeats)} rows have the {', '.join(_key_columns(repeat))} of an earlier "
        f"one, first {repeat.place(repeat.given.index[0])}: {', '.join(values)} as in "
        f"{original.given.index[0]}"
    )


def _row_at(rows: Parts, position: int) -> Rows:
    """The row at a position; the parts are read again up to it."""
    for part in rows:
        if position < len(part):
            return part.take(slice(position, position + 1))
        position -= len(part)
    raise IndexError(position)


def lists_as_text(part: Rows) -> dict[str, int]:
    """How many cells that are read as one text look like several, by column."""
    counts = {}
    for ours in ("output", "reference", "references"):
        texts = part.frame.get(ours, ())
        number = sum(
            isinstance(text, str) and cells.looks_packed(text) for text in texts
        )
        if number:
            counts[ours] = number
    return counts
