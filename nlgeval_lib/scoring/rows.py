"""Somebody's own rows, part by part: under the project's column names, every cell that
is used is checked, once.

`Parts` is a file or a data set that is read a part at a time, as often as wanted; each
part comes as `Rows`, which are in memory. `chosen_rows` makes one of what a user names,
`of_frame` of a frame, `read` reads a file as it is. Which of the user's columns becomes
which of ours is decided once (`_named`): by the user's words, by the record of an
earlier run, by our own names, by usual names. `incomplete` says which rows an evaluator
cannot be shown, and why; `repeated` which rows are there twice.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets
from nlgeval_lib.names import meant, near, plain
from nlgeval_lib.scoring import cells, provenance
from nlgeval_lib.scoring.cells import (
    InputError,
    as_id,
    as_number,
    as_references,
    as_text,
    is_missing,
)
from nlgeval_lib.scoring.settings import pairs, text_or_file

# our columns, by what their cells hold
TEXTS = ("instruction", "source", "context", "output", "rubric", "aspect")
REFERENCES = ("references", "reference")
IDS = ("input_id", "system_id")
RATING = "human"
RATINGS = ("human_", "rater_")  # how columns with further ratings begin
_SEVERAL = ("references", RATING)  # what may be made of several columns
KNOWN = (*TEXTS, *REFERENCES, *IDS, RATING)
_ALIAS = {"input": "source"}  # a further name of our own for a column
# What files call our columns, the most telling name first: `answer` is the output only
# where no other column is. Ratings have to be named by the user; their names here only
# help to ask for them.
_OTHERS = {
    "output": ("prediction", "hypothesis", "candidate", "response", "answer"),
    "reference": ("target", "gold", "reference_answer", "gold_answer"),
    "instruction": ("question", "prompt"),
    "source": ("input", "document"),
    "input_id": ("doc_id", "id"),
    "system_id": ("model", "system"),
    RATING: ("rating", "human_score", "score", "label"),
}
# what files in other languages call them: only for a message's suggestion
_ELSEWHERE = {
    "output": ("antwort", "ausgabe", "respuesta", "réponse"),
    "reference": ("referenz", "musterantwort", "referencia", "référence"),
    "instruction": ("frage", "aufgabe", "anweisung", "pregunta", "consigne"),
    "source": ("quelle", "eingabe", "entrada", "fuente", "entrée"),
}
_ALIKE = 0.7  # a name less like a usual one is not suggested
# our column -> the function of `cells` that checks a cell of it
_READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(TEXTS, as_text),
    **dict.fromkeys(IDS, as_id),
    "reference": functools.partial(as_references, packed=False),
    "references": as_references,
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
    sources: our column -> the columns it is made of; several become references or a
    mean rating.
    filled: our column -> one text for all rows.
    read_as: our column -> the user's, where no word of the user says so.
    missing_values: what stands in the file where a rating or score is missing.

    Iterating gives `Rows`; it raises InputError naming row and column for a cell that
    will not do.
    """

    name: str
    columns: Sequence[str]
    rows: int
    frames: Callable[[list[str]], Iterable[pd.DataFrame]]
    sha256: str = ""
    earlier: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)
    filled: Mapping[str, str] = field(default_factory=dict)
    read_as: Mapping[str, str] = field(default_factory=dict)
    missing_values: Sequence[str] = ()

    def __len__(self) -> int:
        return self.rows

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
        """Rows as they were written under our names, each cell with a meaning checked.

        Raises: InputError naming the row and the column.
        """
        columns = {}
        # What has no meaning here is taken as it was written, all columns at once.
        unread: dict[str, str] = {}
        for ours in (*self.sources, *self.filled):
            names = self.sources.get(ours, ())
            if len(names) == 1 and not _is_read(ours):
                unread[ours] = names[0]
            else:
                columns[ours] = self.cells(raw, ours)
        checked = pd.DataFrame(columns, raw.index)
        if unread:
            as_written = raw[list(unread.values())].set_axis(list(unread), axis=1)
            checked = pd.concat([checked, as_written], axis=1)
            checked = checked[[*self.sources, *self.filled]]
        return checked

    def whole(self) -> Rows:
        """All rows at once, in one `Rows`.

        Raises: InputError naming the row and the column.
        """
        parts = list(self)
        if len(parts) == 1:
            return parts[0]
        raw = pd.concat([part.given for part in parts])
        frame = pd.concat([part.frame for part in parts])
        return dataclasses.replace(parts[0], rows=len(raw), given=raw, frame=frame)

    def only(self, choose: Callable[[str], bool]) -> Parts:
        """The same rows with those of our columns that `choose` chooses; no other cell
        is read.

        choose: says of a name of ours whether it is wanted.
        """

        def chosen(by_column: Mapping[str, Any]) -> dict[str, Any]:
            return {ours: by_column[ours] for ours in by_column if choose(ours)}

        sources = chosen(self.sources)
        needed = _flat(sources)
        read = self.frames
        return dataclasses.replace(
            self,
            sources=sources,
            filled=chosen(self.filled),
            read_as=chosen(self.read_as),
            frames=lambda names: read([name for name in names if name in needed]),
        )

    @property
    def theirs(self) -> dict[str, str]:
        """Our column -> how a message calls it.

        It is the user's name; " + " between them where several became one; "--fill
        OURS" for a text of the user's.
        """
        columns = {ours: " + ".join(names) for ours, names in self.sources.items()}
        return columns | {ours: f"--fill {ours}" for ours in self.filled}

    def told(self) -> str:
        """What was done without a word of the user, in one line; "" where there is
        nothing.

        It says what was taken for our columns, which ratings are averaged, and what
        stands for no rating.
        """
        sentences = []
        if self.read_as:
            names = [f"{ours} = {column}" for ours, column in self.read_as.items()]
            sentences.append(
                f"{self.name} is read with {', '.join(names)} "
                "(--map OURS=COLUMN for another)"
            )
        raters = self.sources.get(RATING, ())
        if len(raters) > 1:
            sentences.append(
                f"{RATING} is the mean of {len(raters)} columns: {', '.join(raters)}"
            )
        if self.missing_values:
            marks = ", ".join(self.missing_values)
            sentences.append(f"of ratings and scores {marks} stand for none")
        return "; ".join(sentences)

    def ours(self, column: str) -> str:
        """The name that a column of the user's has here; its own where none is
        mapped.
        """
        if column in self.theirs:
            return column
        for ours, names in self.sources.items():
            if list(names) == [column]:
                return ours
        return column

    def lacks(self, column: str) -> str:
        """That there is no such column, with the nearest name and all there are: a
        message.
        """
        advice = meant(column, self.columns, ".")
        return (
            f"{self.name} has no column {column!r}{advice} Its columns: "
            f"{', '.join(self.columns)}"
        )

    def place(self, row: str, column: str = "") -> str:
        """How a message names a row, or a cell of it.

        row: its label, such as "line 7".
        column: one of our columns, for a cell; the message has the user's name of it,
        and ours behind it.
        """
        if not column:
            return f"{self.name}, {row}"
        name = self.theirs.get(column, column)
        ours = f" ({column})" if name != column else ""
        return f"{self.name}, {row}, column {name!r}{ours}"

    def cells(self, raw: pd.DataFrame, ours: str) -> Any:
        """One of our columns, each cell checked.

        raw: rows as they were written.
        ours: a name in `sources` or `filled`.
        Returns: a series of texts or ids, an array of numbers.
        Raises: InputError naming the row and the column.
        """
        if ours in self.filled:
            values = [self.filled[ours]] * len(raw)
        else:
            names = list(self.sources[ours])
            if ours == RATING and len(names) > 1:
                return self._mean_rating(raw, names)
            columns = raw[names if len(names) > 1 else names[0]]
            values = columns.to_numpy().tolist()
        return self.read(values, ours, raw.index)

    def _mean_rating(self, raw: pd.DataFrame, columns: Sequence[str]) -> np.ndarray:
        """The mean of the ratings that each row has; NaN for a row without any.

        Raises: InputError naming the row and the column.
        """
        ratings = {}
        for column in columns:
            values = raw[column].tolist()
            ratings[column] = self.read(values, column, raw.index, as_number)
        return pd.DataFrame(ratings).mean(axis=1).to_numpy()

    def read(
        self,
        values: Iterable[Any],
        ours: str,
        places: pd.Index,
        reader: Any = None,
    ) -> Any:
        """The values of a column as they are used.

        values: the cells as they were written.
        ours: the column, for the message and for what it holds.
        places: the rows' labels.
        reader: a function of `cells`; None for that of our column.
        Returns: float64 of `as_number`, else a series.
        Raises: InputError naming the first that cannot be used.
        """
        if reader is None:
            reader = _reader(ours)
        if reader is as_number and self.missing_values:
            values = cells.without(values, self.missing_values)
        cells_read: list[Any] = []
        try:
            for value in values:
                cells_read.append(reader(value))
        except ValueError as error:
            place = self.place(places[len(cells_read)], ours)
            raise InputError(f"{place}{error}") from None
        if reader is as_number:
            return np.array(cells_read, dtype=float)
        return pd.Series(cells_read, places, dtype=object)


@dataclass(frozen=True, kw_only=True)
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
        """Some rows of these.

        rows: a slice, their positions, or a mask of all rows.
        """
        return dataclasses.replace(
            self,
            given=self.given.iloc[rows],
            frame=self.frame.iloc[rows],
        )

    def unused_marks(self, marks: Iterable[str]) -> str:
        """Which of these marks of a missing number stand in no rating or score, in
        words; "" where all do.

        A mark that stands nowhere is likely a slip of the user's. marks: as
        `missing_values` has them.
        """
        columns = set[str]()
        for ours, names in self.sources.items():
            if ours not in (*TEXTS, *REFERENCES, *IDS):
                columns.update(names)
        unused = []
        for mark in marks:
            if not any(self._has_mark(column, mark) for column in columns):
                unused.append(mark)
        if not unused:
            return ""
        return (
            f"{self.name} has no rating or score {' or '.join(unused)}; is it another "
            "mark that stands for none?"
        )

    def _has_mark(self, column: str, mark: str) -> bool:
        """Whether a mark of a missing number stands in a column of the user's."""
        values = self.given[column].tolist()
        return cells.without(values, [mark]).count(None) > values.count(None)

    def numbers(self, column: str) -> np.ndarray:
        """A column as float64, NaN where it is empty or says so (nan, null, none, na).

        column: one of our names, or of the user's further columns.
        Raises: InputError naming the cell that is no finite number.
        """
        if pd.api.types.is_float_dtype(self.frame[column]):
            return self.frame[column].to_numpy(copy=True)  # read already
        values = self.frame[column].tolist()
        return np.asarray(self.read(values, column, self.given.index, as_number))


def read(
    path: str | os.PathLike[str],
    format: str = "",
    delimiter: str = "",
) -> Rows:
    """The rows of a file, or of standard input for "-", as they are written there: no
    column is renamed, no cell checked.

    format: one of `table_files.FORMATS`; "" for what the name says.
    delimiter: what separates the fields of CSV, where it is not a comma.
    Raises: InputError naming the file and the line for what cannot be read, and for a
    file without rows.
    """
    parts = _of_file(str(path), format, delimiter)
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
) -> Parts:
    """The rows of a file or of a data set, under our column names.

    input: the file, "-" for standard input. One of `input` and `data` is given.
    data: a data set's name; a file that lies here is taken too.
    format, delimiter: as `read` has them.
    mapping: `ours=theirs`, such as `output=response`. `references` may be given several
    times, and has then as many references a row. `human=rating_*` is the mean of all
    columns so named, and `rater_*=rating_*` names each of them.
    fill: `column=text`, one text for all rows; `@file` in place of the text reads it
    from a file.
    limit: only the first so many rows; None for all.
    missing_values: what stands where a rating or score is missing, such as 99; texts
    are left as they are.

    What a file of scores was made with holds on, where no word here says otherwise;
    other columns of a file are known by usual names too, in small or large letters
    (`read_as`), as far as their cells will do.
    Texts may be missing here (an evaluator says what it needs); ratings become numbers,
    NaN where missing; identifiers become text. In CSV, `references` may hold a JSON
    list of texts.
    Raises: as `read`; InputError for names that do not fit, and from the parts, naming
    row and column, for a cell that will not do; UnknownName and DataUnavailable where a
    data set is not available.
    """
    if bool(input) == bool(data):
        raise InputError("give either a file (--input) or a data set (--data)")
    path = input
    if data and not datasets.has(data) and Path(data).is_file():
        path = data
    if path:
        rows = _of_file(path, format, delimiter)
        earlier = provenance.record_of(path, rows.sha256)
        marks = tuple(missing_values) or _recorded_marks(earlier)
        rows = dataclasses.replace(rows, earlier=earlier, missing_values=marks)
        rows = _named(rows, mapping, fill)
    else:
        rows = of_frame(datasets.load(data), data, mapping, fill)
    return dataclasses.replace(rows, rows=min(rows.rows, limit or rows.rows))


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

    def frames(columns: list[str]) -> Iterator[pd.DataFrame]:
        for start in range(0, len(raw), cells.ROWS):
            yield raw[columns].iloc[start : start + cells.ROWS]

    rows = Parts(name=name, columns=list(raw.columns), rows=len(raw), frames=frames)
    return _named(rows, mapping, fill)


def _of_file(
    path: str,
    format: str,
    delimiter: str,
) -> Parts:
    """The rows of a file with no column of ours yet. Raises: as `read`."""
    from nlgeval_lib.scoring.table_files import TableFile

    file = TableFile(path, format, delimiter)
    return Parts(
        name=file.name,
        columns=file.columns,
        rows=file.rows,
        frames=file.parts,
        sha256=file.sha256,
    )


def known(name: str) -> bool:
    """Whether it is the name of a column that has a meaning here: one of KNOWN, or of
    further ratings.
    """
    return name in KNOWN or name.startswith(RATINGS)


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with texts as its columns' names, and None for every missing value."""
    plain_frame = frame.rename(columns=str).astype(object)
    return plain_frame.where(plain_frame.notna(), None)


def _reader(ours: str) -> Callable[[Any], Any]:
    """The function that checks a cell of one of our columns."""
    if ours.startswith(RATINGS):
        return as_number
    return _READERS.get(ours, lambda cell: cell)


def _is_read(ours: str) -> bool:
    """Whether the cells of one of our columns are checked."""
    return ours in _READERS or ours.startswith(RATINGS)


def _flat(sources: Mapping[str, Sequence[str]]) -> set[str]:
    """The user's columns that ours are made of."""
    return {column for names in sources.values() for column in names}


# -- under our names


def _named(
    rows: Parts,
    mapping: Iterable[str],
    fill: Iterable[str],
) -> Parts:
    """The rows with what our columns are made of.

    The user's words count first, then those that a file of scores was made with, then
    our own names, then for a file the usual names.
    Raises: InputError.
    """
    columns = rows.columns
    sources = _mapped(rows, mapping)
    filled = _filled(sources, fill)
    mapped = _flat(sources)
    read_as = _as_recorded(rows, {*sources, *filled})
    for ours, column in read_as.items():
        sources[ours] = column.split(" + ")
    # Our own names, and every further column under its own.
    for column in columns:
        ours = _ALIAS.get(column, column)
        if column in mapped or ours in sources or ours in filled:
            continue
        if ours == column or ours not in columns:
            sources[ours] = [column]
    if rows.sha256:
        for ours, column in _usual(columns, {*sources, *filled}, mapped).items():
            read_as[ours] = column
            sources[ours] = [column]
    result = dataclasses.replace(rows, sources=sources, filled=filled, read_as=read_as)
    if read_as:
        _drop_unfit(result, read_as, sources)
    return result


def _drop_unfit(
    rows: Parts, read_as: dict[str, str], sources: dict[str, list[str]]
) -> None:
    """Take back what was read as a column of ours and has cells that will not do.

    read_as, sources: the mappings of `rows` themselves, which are changed. No word of
    the user stands behind the names in `read_as`.
    """
    needed = [column for ours in read_as for column in sources[ours]]
    for raw in rows.frames(needed):
        for ours in [*read_as]:
            try:
                rows.cells(raw, ours)
            except InputError:
                # Its name alone spoke for this column, and its cells speak against.
                del read_as[ours], sources[ours]


def _mapped(rows: Parts, mapping: Iterable[str]) -> dict[str, list[str]]:
    """Our column -> those that the user named for it.

    mapping: as `chosen_rows` has it. Raises: InputError naming the text and what is
    wrong.
    """
    sources: dict[str, list[str]] = {}
    for ours, column in pairs(mapping, "map", "ours=theirs, such as output=response"):
        ours = _ALIAS.get(ours, ours)
        matching = columns_like(column, rows.columns)
        problem = _why_unmapped(rows, ours, column, matching, sources)
        if problem:
            raise InputError(f"map {f'{ours}={column}'!r}: {problem}")
        if "*" not in ours:
            sources.setdefault(ours, []).extend(matching)
            continue
        # A pattern on both sides gives each matching column a name of its own.
        for name, expanded in _expanded(ours, column, matching).items():
            if expanded in sources or (expanded in rows.columns and expanded != name):
                raise InputError(
                    f"map {f'{ours}={column}'!r}: {name} would be {expanded}, which "
                    "another column is already"
                )
            sources[expanded] = [name]
    return sources


def _why_unmapped(
    rows: Parts,
    ours: str,
    column: str,
    matching: Sequence[str],
    sources: Mapping[str, Sequence[str]],
) -> str:
    """Why `column`, or the columns that match it, cannot be ours; "" where they can.

    sources: what is mapped already.
    """
    if ours in sources and ours != "references":
        return f"{ours} is mapped twice; only references may have several columns"
    if not matching:
        return rows.lacks(column)
    if "*" in ours and "*" not in column:
        return f"a pattern on the left needs one on the right, such as {ours}"
    if len(matching) > 1 and "*" not in ours and ours not in _SEVERAL:
        return f"{ours} is one column, and these match: {', '.join(matching)}"
    return ""


def _expanded(ours: str, pattern: str, columns: Sequence[str]) -> dict[str, str]:
    """The user's columns that match a pattern -> our name of each: the part that its
    first star stands for, in the place of ours.

    Of `rater_*=rating_*` the column rating_anna becomes rater_anna.
    """
    start, _, end = pattern.partition("*")
    names = {}
    for column in columns:
        own_part = column.removeprefix(start).removesuffix(end)
        names[column] = ours.replace("*", own_part, 1)
    return names


def columns_like(name: str, columns: Sequence[str]) -> list[str]:
    """The columns that a name or a pattern stands for; none where there is no such
    column.

    Example:
        >>> columns_like("rating_*", ["output", "rating_1", "rating_2"])
        ['rating_1', 'rating_2']
    """
    if name in columns:
        return [name]
    if "*" not in name:
        return []
    pattern = re.compile(".*".join(map(re.escape, name.split("*"))), re.DOTALL)
    return [column for column in columns if pattern.fullmatch(column)]


def _filled(mapped: Collection[str], fill: Iterable[str]) -> dict[str, str]:
    """Our column -> the one text that all rows have in it.

    mapped: the columns that are there already. fill: as `chosen_rows` has it.
    Raises: InputError where the column is there already.
    """
    filled: dict[str, str] = {}
    for ours, text in pairs(fill, "fill", "column=text, such as aspect=coherence"):
        ours = _ALIAS.get(ours, ours)
        if ours in mapped or ours in filled:
            setting = f"{ours}={text}"[:60]
            raise InputError(f"fill {setting!r}: {ours} is mapped or filled already")
        filled[ours] = text_or_file(text)
    return filled


def _as_recorded(rows: Parts, present: set[str]) -> dict[str, str]:
    """Our column -> the user's, as the record beside a file of scores has it.

    present: our columns that are mapped or filled; they are left out, as is a name that
    the file has not.
    """
    read_as = {}
    for run in rows.earlier.get("scores", {}).values():
        recorded = run.get("columns") if isinstance(run, dict) else None
        for ours, column in dict(recorded or {}).items():
            if not isinstance(column, str):
                continue
            in_file = {*column.split(" + ")} <= {*rows.columns}
            if in_file and ours != column and ours not in present:
                read_as[ours] = column
    return read_as


def _recorded_marks(earlier: Mapping[str, Any]) -> tuple[str, ...]:
    """What stood for a missing number when a file of scores was made, of all
    its runs.
    """
    marks: dict[str, None] = {}
    for run in earlier.get("scores", {}).values():
        recorded = run.get("missing_values") if isinstance(run, dict) else None
        for mark in recorded or ():
            marks[str(mark)] = None
    return tuple(marks)


def _usual(
    columns: Sequence[str],
    present: set[str],
    mapped: set[str],
) -> dict[str, str]:
    """Our column -> the one of a file that usually has its name, for those of our
    columns that are not present.

    columns: of the file. present: our columns that are there. mapped: the file's that
    are taken.
    """
    # plain name -> column; of several alike the first one counts
    free = {}
    for name in reversed(columns):
        if name not in (*KNOWN, *_ALIAS, *mapped):
            free[plain(name)] = name
    usual = {}
    for ours in KNOWN:
        if ours in present:
            continue
        if ours in REFERENCES and present.intersection(REFERENCES):
            continue
        # A rating has to be named by the user.
        names = (ours,) if ours == RATING else (ours, *_OTHERS.get(ours, ()))
        for name in map(plain, names):
            if name in free:
                usual[ours] = free.pop(name)
                break
    return usual


def nearest(rows: Parts, need: str, suggested: Collection[str] = ()) -> str:
    """The column whose name is most like a usual one for ours, for a message's advice;
    "" where no name is near.

    need: our column. suggested: columns that are advised for another need already; they
    are not taken, nor those with a use.
    """
    occupied = set(suggested)
    for ours, names in rows.sources.items():
        if ours in KNOWN:
            occupied.update(names)
    free = [name for name in rows.columns if name not in occupied]
    for ours in reversed(_choices(need)):
        for usual in (ours, *_OTHERS.get(ours, ()), *_ELSEWHERE.get(ours, ())):
            for column in near(usual, free, 1, _ALIKE):
                return column
    return ""


def _choices(need: str) -> tuple[str, ...]:
    """The columns that serve a need: for references either of their two names."""
    return REFERENCES if need in REFERENCES else (need,)


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
    columns = {}  # need -> the column that serves it
    missing = []
    for need in dict.fromkeys(needs):
        present = [name for name in _choices(need) if name in rows.frame.columns]
        if present:
            columns[need] = present[0]
        else:
            missing.append(need)
    if missing:
        message = _needed_columns(rows, missing, evaluator)
        raise InputError(f"{message}; {advice}" if advice else message)
    reasons: dict[int, str] = {}
    for need, column in columns.items():
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


def _needed_columns(
    rows: Rows,
    needs: Sequence[str],
    evaluator: str,
) -> str:
    """That these columns are not there, and how to give them: a message."""
    columns = []
    maps = []
    fills = []
    suggested: list[str] = []
    for need in needs:
        column = nearest(rows, need, suggested)
        suggested.append(column)
        columns.append("a column " + " or ".join(map(repr, _choices(need))))
        maps.append(f"--map {need}={column or 'COLUMN'}")
        if need == "rubric":
            fills.append("--rubric FILE, or -s rubric=no")
        else:
            fills.append(f"--fill {need}=TEXT")
    present = ", ".join(rows.columns) or "none"
    return (
        f"{evaluator} needs {' and '.join(columns)}, and {rows.name} has {present}; "
        f"say which it is ({' '.join(maps)}), or give one text for all rows "
        f"({' '.join(fills)})"
    )


def keys_of(part: Rows) -> np.ndarray:
    """Of each row 8 bytes that tell its input, system and aspect; nothing where input
    or system has no column.

    Returns: uint64, one a row. A run over millions of rows keeps these alone.
    """
    columns = _key_columns(part)
    if not columns:
        return np.empty(0)
    return pd.util.hash_pandas_object(part.frame[columns], index=False).to_numpy()


def repeated(rows: Parts, keys: Sequence[np.ndarray]) -> str:
    """Which rows have the input, system and aspect of an earlier one, in words; ""
    where none has.

    rows: all parts. keys: `keys_of` each part, in order.
    """
    all_keys = np.concatenate(keys)
    repeats = np.flatnonzero(pd.Series(all_keys).duplicated())
    if not len(repeats):
        return ""
    repeat = int(repeats[0])
    original = int(np.argmax(all_keys == all_keys[repeat]))
    # Read the parts again up to the first repeat, to name both rows.
    start = 0
    original_row = ""
    for part in rows:
        if start <= original < start + len(part):
            original_row = part.given.index[original - start]
        if start <= repeat < start + len(part):
            break
        start += len(part)
    position = repeat - start
    columns = _key_columns(part)
    values = []
    for column in columns:
        values.append(f"{rows.theirs[column]} {part.frame[column].iloc[position]!r}")
    return (
        f"{len(repeats)} rows have the {', '.join(columns)} of an earlier one, first "
        f"{part.place(part.given.index[position])}: {', '.join(values)} as in "
        f"{original_row}"
    )


def _key_columns(part: Rows) -> list[str]:
    """The columns that tell a row; none where input or system has no column."""
    columns = [name for name in (*IDS, "aspect") if name in part.frame.columns]
    return columns if {*columns} >= {*IDS} else []
