"""Files of rows with scores: the scores of each part are kept beside the file until all
are there; it is written whole or not at all.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.scoring.cells import InputError, is_missing
from nlgeval_lib.scoring.rows import IDS, RATING, REFERENCES, TEXTS, Rows
from nlgeval_lib.scoring.table_files import format_of

_SCORED = ("value", "status", "reason")
_NOTHING: tuple[Any, ...] = (None, "", [], {})
_LISTS = (list, tuple)
_KINDS = (str, bool, int, float, *_LISTS)


def score_columns(column: str) -> tuple[str, ...]:
    """The columns that a run adds: value, status, reason, details; or NAME,
    NAME_status, NAME_reason, NAME_details.
    """
    return (
        column,
        *(
            (part if column == "value" else f"{column}_{part}")
            for part in ("status", "reason", "details")
        ),
    )


class ScoreFile:
    """A file of rows with their scores, made part by part.

    The scores of each part are kept in a folder beside the file until all are there; a
    run of the same `key` that was stopped goes on from there. Added are value, status,
    reason; from the details, what is one text or number; `details`, JSON of the rest;
    and, where they were mapped or filled, which row it is. only_scores: without the
    texts.
    """

    def __init__(
        self, path: str, column: str = "value", only_scores: bool = False, key: str = ""
    ) -> None:
        self.path, self.column, self.only_scores, self.resumes = (
            Path(path),
            column,
            only_scores,
            bool(key),
        )
        mark = hashlib.sha256((key or os.urandom(8).hex()).encode()).hexdigest()[:12]
        self._folder = self.path.with_name(f".{self.path.name[:100]}.{mark}.parts")
        self._kinds = defaultdict[str, set[type]](
            set
        )  # of all columns but those of details
        self._details = defaultdict[str, set[type]](set)
        self._told: set[str] = set()  # details that say something, for some row

    def scores(
        self, number: int, part: Rows, make: Callable[[], pd.DataFrame]
    ) -> pd.DataFrame:
        """The scores of a part that an earlier run has made; else those of `make`,
        which are kept.

        Raises: OSError.
        """
        place = self._folder / f"{number}.json"
        if place.exists():
            cells, signature = json.loads(place.read_text(encoding="utf-8"))
            scored = pd.DataFrame(cells, part.given.index, dtype=object).astype(
                {"value": float}
            )
            scored.attrs["signature"] = signature
        else:
            scored = make()
            cells = {
                name: files.plain(scored[name].tolist()) for name in scored.columns
            }
            files.write_text(
                place, json.dumps([cells, scored.attrs.get("signature", "")])
            )
        for name, values in self._own(part, cells).items():
            self._kinds[name] |= kinds(values)
        for name, value in (
            cell for row in cells.get("details", ()) for cell in row.items()
        ):
            self._details[name] |= kinds((value,))
            if value not in _NOTHING:
                self._told.add(name)
        return scored

    def write(self, data: Iterable[Rows], path: str = "") -> None:
        """The file, or in its place another one: rows and scores of every part.

        Raises: OSError.
        """
        rest = score_columns(self.column)[-1]
        columns = dict(self._kinds)
        single: dict[str, str] = {}  # of details that are a column: its name
        for name in filter(self._told.__contains__, self._details):
            own = name if self.column == "value" else f"{self.column}_{name}"
            if own not in columns and self._details[name] <= {str, bool, int, float}:
                columns[own], single[name] = self._details[name], own
        if self._told - {*single}:
            columns[rest] = {object}
        with writing(path or str(self.path), columns) as add:
            for number, part in enumerate(data):
                cells, _ = json.loads(
                    (self._folder / f"{number}.json").read_text(encoding="utf-8")
                )
                cells["value"] = np.array(cells["value"], dtype=float)
                kept = self._own(part, cells)
                details = cells.get("details", ())
                kept |= {
                    own: [row.get(name) for row in details]
                    for name, own in single.items()
                }
                if rest in columns:
                    kept[rest] = [
                        {
                            name: value
                            for name, value in row.items()
                            if name not in single and value not in _NOTHING
                        }
                        for row in details
                    ]
                add(
                    pd.DataFrame(
                        {
                            name: pd.Series(values, dtype=object)
                            for name, values in kept.items()
                        }
                    )
                )

    def __enter__(self) -> ScoreFile:
        return self

    def __exit__(
        self, kind: object, *_: object
    ) -> None:  # who did not come to the end can go on from what was kept
        if kind is None or not self.resumes:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _own(self, part: Rows, cells: Mapping[str, Any]) -> dict[str, Any]:
        texts = {
            part.theirs.get(name, name)
            for name in (*TEXTS, *REFERENCES)
            if name != "aspect" and self.only_scores
        }
        kept: dict[str, Any] = {
            name: part.given[name].tolist()
            for name in part.given.columns
            if name not in texts
        }
        for name in (*IDS, "aspect", RATING):
            if (
                name in part.frame.columns
                and part.theirs.get(name) != name
                and name not in (*kept, *part.read_as)
            ):
                kept[name] = [
                    None if is_missing(value) else value for value in part.frame[name]
                ]
        return kept | dict(
            zip(
                score_columns(self.column),
                (cells[one] for one in _SCORED),
                strict=False,
            )
        )


# -- writing


def check_output(path: str, *inputs: str, why: str = "", rows: str = "") -> None:
    """Passes where a file can be written and is none of the inputs: better known now
    than when the work is done.

    rows: what its rows are, where it is to be a table; else it is a text. Raises:
    InputError.
    """
    if rows and format_of(path) == "json":
        raise InputError(f"{path}: {rows} are written as jsonl, csv, tsv or parquet")
    for one in filter(None, inputs):
        same = os.path.realpath(path) == os.path.realpath(one)
        if same or (
            os.path.exists(path) and os.path.exists(one) and os.path.samefile(path, one)
        ):
            raise InputError(
                f"{path} is the input itself{why}; name another file to write to"
            )
    try:
        files.check(path)
    except OSError as error:
        raise InputError(error.strerror or str(error)) from None


def write(frame: pd.DataFrame, path: str) -> None:
    """The frame as a file of the format that its name says; what is no text or number
    is JSON.

    Raises: OSError.
    """
    with writing(path, {name: kinds(frame[name]) for name in frame.columns}) as add:
        add(frame)


@contextlib.contextmanager
def writing(
    path: str, columns: Mapping[str, set[type]]
) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Yields what adds frames of these columns (the `kinds` of each) to a file that
    is whole or not there at all.
    """
    kind = format_of(path)
    names = [files.whole(str(column)) for column in columns]
    with files.replacing(path) as tmp, contextlib.ExitStack() as stack:
        if kind == "parquet":
            import pyarrow
            import pyarrow.parquet

            types = [_arrow(found) for found in columns.values()]
            schema = pyarrow.schema(list(zip(names, types, strict=True)))
            parquet = stack.enter_context(pyarrow.parquet.ParquetWriter(tmp, schema))

            def add(frame: pd.DataFrame) -> None:
                cells = [_of_type(frame[own], found) for own, found in columns.items()]
                parquet.write_table(
                    pyarrow.table(dict(zip(names, cells, strict=True)), schema)
                )
        else:
            out = stack.enter_context(open(tmp, "w", encoding="utf-8", newline=""))
            fields = csv.writer(
                out, delimiter="\t" if kind == "tsv" else ",", lineterminator="\n"
            )
            if kind != "jsonl":
                fields.writerow(names)

            def add(frame: pd.DataFrame) -> None:
                rows = frame.itertuples(index=False, name=None)
                if kind == "jsonl":
                    out.writelines(
                        files.json_lines(
                            dict(zip(names, row, strict=True)) for row in rows
                        )
                    )
                else:
                    fields.writerows([_field(value) for value in row] for row in rows)

        yield add


def _field(value: Any) -> Any:
    """The value as a field of CSV: nothing where it is missing, JSON where it is no
    text or number.
    """
    if is_missing(value):
        return ""
    held = value if isinstance(value, (int, float, np.number)) else files.plain(value)
    if isinstance(held, (str, int, float, np.number)):
        return held
    return json.dumps(held, ensure_ascii=False) if held else ""


def kinds(values: Iterable[Any]) -> set[type]:
    """What a column holds: of str, bool, int, float and list (of texts); object for
    all else; nothing where none is.
    """
    held = [value for value in values if value is not None]
    found = {
        next((one for one in _KINDS if issubclass(kind, one)), object)
        for kind in set(map(type, held))
    }
    if list in found and not all(
        isinstance(text, str)
        for each in held
        if isinstance(each, _LISTS)
        for text in each
    ):
        found.add(object)
    if int in found and not all(
        abs(each) < 1 << 63 for each in held if isinstance(each, int)
    ):
        found.add(object)
    return {list if kind is tuple else kind for kind in found}


def _arrow(found: set[type]) -> Any:
    """The type of a column of parquet: its own where it has one; else JSON text."""
    import pyarrow

    if found == {list}:
        return pyarrow.list_(pyarrow.string())
    kind = (
        float
        if found == {int, float}
        else str
        if len(found) > 1
        else next(iter(found), None)
    )
    names: dict[Any, str] = {None: "null", bool: "bool", int: "int64", float: "float64"}
    return pyarrow.type_for_alias(names.get(kind, "string"))


def _of_type(values: Iterable[Any], found: set[type]) -> list[Any]:
    held = [None if is_missing(value) else files.plain(value) for value in values]
    if found == {int, float}:
        return [None if value is None else float(value) for value in held]
    if len(found) <= 1 and object not in found:
        return held
    return [
        v if v is None or isinstance(v, str) else json.dumps(v, ensure_ascii=False)
        for v in held
    ]
