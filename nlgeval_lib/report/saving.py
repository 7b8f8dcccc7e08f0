"""Writing results: all files of an output or none, nothing that has not changed, and
never less over more.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from nlgeval_lib import files
from nlgeval_lib.report import notebook
from nlgeval_lib.study.catalogue import RESERVED, Entry

AGAIN = "delete it or restore it, then run again"
TOLERANCE = 1e-6  # absolute for values up to 1, relative above
VOLATILE = (
    "date",
    "library",
    "git",
    "wall_seconds",
    "hardware",
    "python",
    "packages",
)  # differ without a new result
_SVG_TOLERANCE = 0.02  # points; far below what an eye sees
_CLIP = re.compile(
    r'(?<=[#"])p[0-9a-f]{10}\b'
)  # matplotlib names a clip path after its coordinates, noise included
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_TEXT = re.compile(
    r"<!-- ([^\d<>]{2,}) -->"
)  # matplotlib draws letters as paths, and names the text before them


def read_json(name: str) -> dict[str, Any] | None:
    """The provenance saved under this name; None where there is none.

    Raises: ValueError naming a damaged file.
    """
    try:
        found = json.loads(files.located(name).read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError(f"{type(found).__name__} where an object is needed")
        return found
    except (
        FileNotFoundError,
        NotADirectoryError,
    ):  # the latter is told when it comes to writing
        return None
    except ValueError as error:
        raise ValueError(f"{name} is damaged ({error}); {AGAIN}") from None


def csv_text(frame) -> str:
    """A frame as CSV: ten significant digits, Unix line ends, no index."""
    return frame.to_csv(index=False, float_format="%.10g", lineterminator="\n")


def same_value(old: Any, new: Any, exact: bool = False) -> bool:
    """Are two JSON-like values or CSV cells equal, numbers (and texts of numbers)
    within the tolerance?

    exact: without a tolerance, and a text is no number. 1 and 1.0 are equal, 1 and True
    are not.
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return old.keys() == new.keys() and all(
            same_value(old[key], new[key], exact) for key in old
        )
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return len(old) == len(new) and all(
            same_value(*pair, exact) for pair in zip(old, new, strict=True)
        )
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if exact or old == new:
        return bool(old == new)
    first = _number(old)
    second = _number(new)
    if first is None or second is None:
        return False
    return abs(first - second) <= TOLERANCE * max(1.0, abs(first), abs(second)) or (
        first != first and second != second
    )


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def csv_differences(old: str, new: str, limit: int = 20) -> list[str]:
    """Where two CSV texts differ, numbers by more than the tolerance, in words; at
    most `limit` places.
    """
    first, second = (list(csv.reader(io.StringIO(text))) for text in (old, new))
    if first[:1] != second[:1] or not first:
        return [] if first == second else [f"columns {first[:1]} became {second[:1]}"]
    if len(first) != len(second):
        return [f"{len(first) - 1} rows became {len(second) - 1}"]
    found = []
    for number, lines in enumerate(zip(first[1:], second[1:], strict=True), 1):
        cells = itertools.zip_longest(first[0], *lines, fillvalue="")
        found += [
            f"row {number}, {name}: {a!r} became {b!r}"
            for name, a, b in cells
            if not same_value(a, b)
        ]
    return found[:limit]


def same_svg(old: bytes, new: bytes) -> bool:
    """Do two SVG files draw the same, apart from rounding?"""
    texts = [_CLIP.sub("clip", svg.decode("utf-8", "replace")) for svg in (old, new)]
    if len({_NUMBER.sub("#", text) for text in texts}) > 1:
        return False
    pairs = zip(*map(_NUMBER.findall, texts), strict=True)
    return all(a == b or abs(float(a) - float(b)) <= _SVG_TOLERANCE for a, b in pairs)


def same_file(name: str, content: bytes, contents: Mapping[str, bytes]) -> bool:
    """Does the file of this name already hold `content`, apart from rounding?
    `contents`: all that is to be saved.
    """
    try:
        there = files.located(name).read_bytes()
    except OSError:
        return False
    drawing = name.removesuffix(".png") + ".svg"
    if (
        name.endswith(".png") and drawing in contents
    ):  # pixels hang on the machine; a drawing is judged by its SVG
        return same_file(drawing, contents[drawing], contents)
    if name.endswith(".csv"):
        return not csv_differences(there.decode("utf-8", "replace"), content.decode())
    return there == content or (name.endswith(".svg") and same_svg(there, content))


def same_record(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Do two provenance records say the same about the result, whenever and wherever
    it was made?
    """
    stable = [
        {key: value for key, value in record.items() if key not in VOLATILE}
        for record in (old, new)
    ]
    return same_value(*(json.loads(json.dumps(part)) for part in stable))


def write(contents: Mapping[str, bytes], obsolete: Iterable[str] = ()) -> None:
    """Write all files, or none: renamed only when all are written, the first last; then
    `obsolete` ones are removed.

    Raises: OSError naming the file and the way out.
    """
    try:
        with contextlib.ExitStack() as stack:
            for name, content in contents.items():
                stack.enter_context(files.replacing(files.located(name))).write_bytes(
                    content
                )
        for name in obsolete:
            files.located(name).unlink(missing_ok=True)
    except OSError as error:
        raise OSError(
            error.errno,
            f"{error.strerror or error}; nothing was saved. Free the disk, make the folder writable, or set "
            "NLGEVAL_RESULTS and NLGEVAL_FIGURES to other folders",
        ) from error


# ---- may a run's result stand where the saved one stands? Not with other parameters, and never with less


@dataclass(frozen=True, slots=True)
class Loss:
    """What a saved file holds and a run has not.

    kind: "cells" of a comparison, "rows" of a frame, "figures".
    """

    file: str
    kind: str
    count: int
    said: str

    def __str__(self) -> str:
        return self.said


class Place(NamedTuple):
    """Where a run is saved: the folder below results/ and, where it is set apart,
    why, and what is kept since when.
    """

    folder: str
    why: str = ""
    losses: Sequence[Loss] = ()
    since: str = ""


def others(entry: Entry, parameters: Mapping[str, Any]) -> str:
    """How `parameters` differ from the catalogue's over the notebook's own, in words;
    empty where they do not.

    1 and 1.0 are the same value, 1 and True are not. `mode` is no parameter in this
    sense.
    """
    try:
        own = notebook.read(entry.path).parameters
    except notebook.NotebookRefused as error:
        return f"the catalogue's parameters cannot be read: {error}"
    wanted = {name: one.default for name, one in own.items()} | dict(entry.parameters)
    said = [
        f"{name} is not passed to Output" for name in wanted if name not in parameters
    ]
    for name, value in parameters.items():
        if name not in wanted:
            said.append(f"{name} is no parameter of {entry.notebook}")
        elif not same_value(wanted[name], value, exact=True):
            said.append(f"{name} is {value!r}, the catalogue's is {wanted[name]!r}")
    return "; ".join(
        sorted(one for one in said if one.partition(" ")[0] not in RESERVED)
    )


def lesser(
    old: Mapping[str, Any], new: Mapping[str, Any], losses: list[Loss], alone: bool
) -> str:
    """Why a result with the record `new`, lacking `losses`, must not replace that of
    `old`; empty where it may.

    alone: without the runner. An editor saves a changed parameters cell by itself: its
    defaults say nothing then.
    """
    if old.get("route") == "run" and new["route"] != "run":
        return f"the result there was made by running the judge, this one is {new['route']!r}"
    if losses:
        return f"{', '.join(map(str, losses))} would be lost (nlgeval run {new['output']} --replace lets it shrink)"
    before = old.get("parameters", {})
    moved = [
        f"{name} {before[name]!r}, here {value!r}"
        for name, value in new["parameters"].items()
        if alone and name in before and not same_value(before[name], value, exact=True)
    ]
    also = f" (nlgeval run {new['output']} publishes this one)"
    return f"the result there was made with {', '.join(moved)}{also}" if moved else ""


def lost(old: Mapping[str, Any], contents: Mapping[str, bytes]) -> list[Loss]:
    """What the files of the saved result hold that `contents` does not.

    old: the saved record. contents: what this run would write, by name. Rows are known
    by their first columns of text, as many as tell them apart. A drawing has less where
    fewer names stand in it. Other texts and values are no loss.
    """
    found = []
    for name in old.get("files", ()):
        try:
            there = files.located(name).read_bytes()
        except OSError:
            continue
        file = name.rpartition("/")[2]
        here = contents.get(name)
        texts = [text.decode("utf-8", "replace") for text in (there, here or b"")]
        if name.endswith(".csv") and (rows := _rows_lost(*texts)):
            kind = "rows" if "__" in file else "cells"
            count = sum(rows.values())
            said = f"{count} {kind if count > 1 else kind[:-1]} of {file}{_some([key for key in rows if key])}"
            found.append(Loss(file, kind, count, said))
        elif name.endswith(".svg"):
            before, now = (
                set(_TEXT.findall(text)) for text in texts
            )  # one name put for another is no loss
            if here is None:
                found.append(Loss(file, "figures", 1, file))
            elif len(before) > len(now):
                found.append(
                    Loss(file, "figures", 1, file + _some(sorted(before - now)))
                )
    return found


def _some(names: list[str], most: int = 3) -> str:
    more = "; …" if len(names) > most else ""
    return f" ({'; '.join(names[:most])}{more})" if names else ""


def _rows_lost(old: str, new: str) -> Counter[str]:
    """How often a row of this name is gone, or lacks a number."""
    before, after = (list(csv.DictReader(io.StringIO(text))) for text in (old, new))
    labels: list[
        str
        # the leading columns of text that tell rows apart; fewer where one of numbers
        # comes
        # first
    ] = []
    for column in before[0] if before else ():
        known = {tuple(row[name] for name in labels) for row in before}
        if (labels and len(known) == len(before)) or all(
            _is_number(row[column]) for row in before if row[column]
        ):
            break
        labels.append(column)
    telling = [len({row[name] for row in before}) > 1 for name in labels]
    rows: Counter[str] = Counter()
    for (key, _), count in (_tally(before, labels) - _tally(after, labels)).items():
        name = ", ".join(itertools.compress(key, telling))
        rows[name] = max(rows[name], count)
    return rows


def _tally(
    rows: list[dict[str, str]], labels: list[str]
) -> Counter[tuple[tuple[str, ...], str]]:
    """How many rows there are of each key, and how many numbers by key and column."""
    found: Counter[tuple[tuple[str, ...], str]] = Counter()
    for row in rows:
        numbers = [
            name
            for name, cell in row.items()
            if name not in labels and _is_number(cell)
        ]
        found.update(
            (tuple(row.get(name, "") for name in labels), name)
            for name in ["", *numbers]
        )
    return found


def _is_number(text: str | None) -> bool:
    found = _number(text)
    return found is not None and not math.isnan(found)
