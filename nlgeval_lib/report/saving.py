"""Writing results: all files of an output or none, and nothing that has not changed."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from nlgeval_lib import files, paths

TOLERANCE = 1e-6  # absolute for values up to 1, relative above
VOLATILE = ("date", "library", "git", "wall_seconds", "hardware", "python", "packages")  # differ without a new result
_SVG_TOLERANCE = 0.02  # points; far below what an eye sees
_CLIP = re.compile(r'(?<=[#"])p[0-9a-f]{10}\b')  # matplotlib names a clip path after its coordinates, noise included
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")


def read_json(name: str) -> dict[str, Any] | None:
    """The provenance saved under this name; None where there is none.

    Raises: ValueError naming the file where it is not JSON.
    """
    path = paths.located(name)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError(f"{type(found).__name__} where an object is needed")
        return found
    except (FileNotFoundError, NotADirectoryError):  # the latter is told when it comes to writing
        return None
    except ValueError as error:
        raise ValueError(f"{name} is damaged ({error}); delete it or restore it, then run again") from None


def csv_text(frame) -> str:
    """A frame as CSV: ten significant digits, Unix line ends, no index."""
    return frame.to_csv(index=False, float_format="%.10g", lineterminator="\n")


def json_text(value: Mapping[str, Any]) -> str:
    """A record as indented JSON."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def same_value(old: Any, new: Any, tolerance: float = TOLERANCE) -> bool:
    """Are two JSON-like values or CSV cells equal, numbers within the tolerance?"""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return old.keys() == new.keys() and all(same_value(old[key], new[key], tolerance) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(same_value(a, b, tolerance) for a, b in zip(old, new, strict=True))
    if old == new:
        return True
    if isinstance(old, bool) or isinstance(new, bool):
        return False
    first, second = _number(old), _number(new)
    if first is None or second is None:
        return False
    if math.isnan(first) or math.isnan(second):
        return math.isnan(first) and math.isnan(second)
    return abs(first - second) <= tolerance * max(1.0, abs(first), abs(second))


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def same_csv(old: str, new: str, tolerance: float = TOLERANCE) -> bool:
    """Do two CSV texts hold the same table, numbers within the tolerance?"""
    return not csv_differences(old, new, tolerance, limit=1)


def csv_differences(old: str, new: str, tolerance: float = TOLERANCE, limit: int = 20) -> list[str]:
    """Where two CSV texts differ, in words; at most `limit` places."""
    first, second = (list(csv.reader(io.StringIO(text))) for text in (old, new))
    if not first or not second or first[0] != second[0]:
        return [] if first == second else [f"columns {first[:1]} became {second[:1]}"]
    if len(first) != len(second):
        return [f"{len(first) - 1} rows became {len(second) - 1}"]
    found = []
    for number, (before, after) in enumerate(zip(first[1:], second[1:], strict=True), 1):
        for column, a, b in itertools.zip_longest(first[0], before, after, fillvalue=""):
            if not same_value(a, b, tolerance):
                found.append(f"row {number}, {column}: {a!r} became {b!r}")
                if len(found) == limit:
                    return found
    return found


def same_svg(old: bytes, new: bytes) -> bool:
    """Do two SVG files draw the same, apart from rounding?"""
    if old == new:
        return True
    first, second = (_CLIP.sub("clip", svg.decode("utf-8", "replace")) for svg in (old, new))
    if _NUMBER.sub("#", first) != _NUMBER.sub("#", second):
        return False
    pairs = zip(_NUMBER.findall(first), _NUMBER.findall(second), strict=True)
    return all(a == b or abs(float(a) - float(b)) <= _SVG_TOLERANCE for a, b in pairs)


def same_file(name: str, content: bytes, contents: Mapping[str, bytes]) -> bool:
    """Does the file of this name already hold `content`, apart from rounding? `contents`: all that is to be saved."""
    try:
        there = paths.located(name).read_bytes()
    except OSError:
        return False
    drawing = name.removesuffix(".png") + ".svg"
    if name.endswith(".csv"):
        return same_csv(there.decode("utf-8", "replace"), content.decode())
    if name.endswith(".svg"):
        return same_svg(there, content)
    if name.endswith(".png") and drawing in contents:  # pixels hang on the machine; a drawing is judged by its SVG
        return same_file(drawing, contents[drawing], contents)
    return there == content


def same_record(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Do two provenance records say the same about the result, whenever and wherever it was made?"""
    stable = [{key: value for key, value in record.items() if key not in VOLATILE} for record in (old, new)]
    return same_value(*(json.loads(json.dumps(part)) for part in stable))


def write(contents: Mapping[str, bytes], obsolete: tuple[str, ...] = ()) -> None:
    """Write all files, or none: each goes to a temporary name, and only when all are written are they renamed.

    The first of `contents` is renamed last. Files named in `obsolete` are removed at the end.
    Raises: OSError naming the file and the way out.
    """
    try:
        with contextlib.ExitStack() as stack:
            for name, content in contents.items():
                stack.enter_context(files.replacing(paths.located(name))).write_bytes(content)
        for name in obsolete:
            paths.located(name).unlink(missing_ok=True)
    except OSError as error:
        raise OSError(
            error.errno,
            f"{error.strerror or error}; nothing was saved. Free the disk, make the folder writable, or set "
            "NLGEVAL_RESULTS and NLGEVAL_FIGURES to other folders",
        ) from error
