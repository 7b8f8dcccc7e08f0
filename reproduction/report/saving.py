"""Writing results: all files of an output or none, nothing that has not changed, and
never less over more (`others`, `lesser`, `lost`).
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
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
from reproduction.report import notebook
from reproduction.study.catalogue import PRIVATE, RESERVED, TOLERANCE, Entry

# The way out that errors about a damaged result name.
AGAIN = "delete it or restore it, then run again"
# What of a record differs without a new result.
VOLATILE = ("date", "library", "git", "wall_seconds", "hardware", "python", "packages")
_SVG_TOLERANCE = 0.02  # points; far below what an eye sees
# matplotlib names a clip path after its coordinates, noise included.
_CLIP = re.compile(r'(?<=[#"])p[0-9a-f]{10}\b')
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
# matplotlib draws letters as paths, and names the text before them.
_TEXT = re.compile(r"<!-- ([^\d<>]{2,}) -->")


def folder(mode: str, route: str, entry: Entry | None = None) -> str:
    """The folder below results/ of a mode and route; empty for full results."""
    if mode == "quick":
        return "quick"
    if entry is not None and entry.is_private:
        return PRIVATE
    return "mini" if route == "mini" else ""


def read_json(name: str) -> dict[str, Any] | None:
    """The provenance saved under this name; None where there is none. Raises:
    ValueError naming a damaged file.
    """
    try:
        record = json.loads(files.located(name).read_text(encoding="utf-8"))
        if not isinstance(record, dict):
            raise ValueError(f"{type(record).__name__} where an object is needed")
        return record
    except (FileNotFoundError, NotADirectoryError):
        # A file where a folder is needed is reported when results are written.
        return None
    except ValueError as error:
        raise ValueError(f"{name} is damaged ({error}); {AGAIN}") from None


def csv_text(frame) -> str:
    """A frame as CSV: ten significant digits, Unix line ends, no index.

    Example:
    >>> import pandas as pd
    >>> csv_text(pd.DataFrame({"r": [1 / 3]})).split()
    ['r', '0.3333333333']
    """
    return frame.to_csv(index=False, float_format="%.10g", lineterminator="\n")


def same_value(first: Any, second: Any, tolerance: float | None = TOLERANCE) -> bool:
    """Are two JSON-like values or CSV cells equal, numbers (and texts of numbers)
    within the tolerance? 1 and 1.0 are equal, 1 and True are not, NaN and NaN are.

    tolerance: absolute for values up to 1, relative above. None: exactly equal, and a
    text is no number.

    Example:
    >>> same_value("0.5000000001", 0.5)
    True
    >>> same_value("0.5", 0.5, tolerance=None)
    False
    """
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        if first.keys() != second.keys():
            return False
        return all(same_value(first[key], second[key], tolerance) for key in first)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        if len(first) != len(second):
            return False
        pairs = zip(first, second, strict=True)
        return all(same_value(*pair, tolerance) for pair in pairs)
    # To Python True equals 1.
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if tolerance is None or first == second:
        return bool(first == second)
    x = _number(first)
    y = _number(second)
    if x is None or y is None:
        return False
    if math.isnan(x) and math.isnan(y):
        return True
    scale = max(1.0, abs(x), abs(y))
    return abs(x - y) <= tolerance * scale


def _number(value: Any) -> float | None:
    """A number, or a text of one, as a float; None for anything else."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def csv_differences(
    first_text: str, second_text: str, limit: int = 20, tolerance: float = TOLERANCE
) -> list[str]:
    r"""Where two CSV texts differ, numbers by more than the tolerance: a line a place;
    where columns or the number of rows differ, that alone.

    tolerance: absolute for values up to 1, relative above.

    Example:
    >>> csv_differences("name,r\na,.5\n", "name,r\na,.6\n")
    ["row 1, r: '.5' became '.6'"]
    """
    first = list(csv.reader(io.StringIO(first_text)))
    second = list(csv.reader(io.StringIO(second_text)))
    if first == second:
        return []
    if first[:1] != second[:1]:
        return [f"columns {first[:1]} became {second[:1]}"]
    if len(first) != len(second):
        return [f"{len(first) - 1} rows became {len(second) - 1}"]
    differences = []
    header = first[0]
    pairs_of_rows = zip(first[1:], second[1:], strict=True)
    for number, rows in enumerate(pairs_of_rows, 1):
        # A row may be shorter than the head, or longer.
        for name, a, b in itertools.zip_longest(header, *rows, fillvalue=""):
            if not same_value(a, b, tolerance):
                differences.append(f"row {number}, {name}: {a!r} became {b!r}")
    return differences[:limit]


def same_svg(first_svg: bytes, second_svg: bytes) -> bool:
    """Do two SVG files draw the same? All but the numbers in them must be equal, and
    each pair of numbers within 0.02.
    """
    first = _CLIP.sub("clip", first_svg.decode("utf-8", "replace"))
    second = _CLIP.sub("clip", second_svg.decode("utf-8", "replace"))
    if _NUMBER.sub("#", first) != _NUMBER.sub("#", second):
        return False
    first_numbers = map(float, _NUMBER.findall(first))
    second_numbers = map(float, _NUMBER.findall(second))
    pairs = zip(first_numbers, second_numbers, strict=True)
    return all(abs(a - b) <= _SVG_TOLERANCE for a, b in pairs)


def same_file(
    name: str,
    content: bytes,
    contents: Mapping[str, bytes],
    tolerance: float = TOLERANCE,
) -> bool:
    """Does the file of this name already hold `content`, apart from rounding?"""
    try:
        saved = files.located(name).read_bytes()
    except OSError:
        return False
    drawing = name.removesuffix(".png") + ".svg"
    if name.endswith(".png") and drawing in contents:
        # Pixels depend on the machine; a drawing is judged by its SVG.
        return same_file(drawing, contents[drawing], contents, tolerance)
    if name.endswith(".csv"):
        saved_text = saved.decode("utf-8", "replace")
        return not csv_differences(saved_text, content.decode(), 1, tolerance)
    if saved == content:
        return True
    return name.endswith(".svg") and same_svg(saved, content)


def changed(
    contents: Mapping[str, bytes], tolerance: float = TOLERANCE
) -> dict[str, bytes]:
    """The contents that differ from the files of their names, by more than rounding."""
    differing = {}
    for name, content in contents.items():
        if not same_file(name, content, contents, tolerance):
            differing[name] = content
    return differing


def hashes(
    contents: Mapping[str, bytes],
    changed: Mapping[str, bytes],
    saved: Mapping[str, Any] | None,
) -> dict[str, str]:
    """The sha256 of each file of a result, for its record. A file that is left alone
    keeps the hash that it has there: an edit by less than rounding is still found.
    """
    earlier = (saved or {}).get("files", {})
    by_name = {}
    for name in contents:
        if name in changed:
            by_name[name] = hashlib.sha256(changed[name]).hexdigest()
        else:
            by_name[name] = earlier.get(name) or files.sha256(files.located(name))
    return by_name


def same_record(
    first: Mapping[str, Any], second: Mapping[str, Any], tolerance: float = TOLERANCE
) -> bool:
    """Do two provenance records say the same about the result? What VOLATILE names is
    passed over.
    """
    return same_value(_stable(first), _stable(second), tolerance)


def _stable(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a record says of the result, as it is read back from a file."""
    stable = {key: value for key, value in record.items() if key not in VOLATILE}
    return json.loads(json.dumps(stable))


def write(contents: Mapping[str, bytes], obsolete: Iterable[str] = ()) -> None:
    """Write all files, or none: renamed only when all are written, the first last.

    obsolete: names of files that are removed afterwards, where they are there.
    Raises: OSError naming the file and the way out.
    """
    try:
        # A stack renames its files when it is left, in the reverse order.
        with contextlib.ExitStack() as stack:
            for name, content in contents.items():
                path = stack.enter_context(files.replacing(files.located(name)))
                path.write_bytes(content)
        for name in obsolete:
            files.located(name).unlink(missing_ok=True)
    except OSError as error:
        raise OSError(
            error.errno,
            f"{error.strerror or error}; nothing was saved. Free the disk, make the "
            "folder writable, or set NLGEVAL_RESULTS and NLGEVAL_FIGURES to other "
            "folders",
        ) from error


# ---- may a run's result stand where the saved one stands? Not with other parameters,
# ---- and never with less


@dataclass(frozen=True, slots=True)
class Loss:
    """What a saved file holds and a run has not: so many "cells" of a comparison, "rows"
    of a frame, or "figures"; and all of it in words.
    """

    kind: str
    count: int
    said: str

    def __str__(self) -> str:
        return self.said


class Place(NamedTuple):
    """Where a run is saved: the folder below results/, "" for full results; why it is
    set apart; what would be lost were it not; the day of the result that is kept.
    """

    folder: str
    why: str = ""
    losses: Sequence[Loss] = ()
    since: str = ""


def others(entry: Entry, parameters: Mapping[str, Any]) -> str:
    """How the parameters that a run passed to `Output` differ from the catalogue's, in
    words; empty where they do not.
    """
    try:
        defaults = notebook.read(entry.path).parameters
    except notebook.NotebookRefused as error:
        return f"the catalogue's parameters cannot be read: {error}"
    # What the catalogue says goes before the notebook's own defaults.
    expected = {name: parameter.default for name, parameter in defaults.items()}
    expected |= entry.parameters
    differences = []
    for name in {*expected, *parameters} - {*RESERVED}:
        if name not in parameters:
            differences.append(f"{name} is not passed to Output")
        elif name not in expected:
            differences.append(f"{name} is no parameter of {entry.notebook}")
        elif not same_value(expected[name], parameters[name], None):
            value = f"{parameters[name]!r}, the catalogue's is {expected[name]!r}"
            differences.append(f"{name} is {value}")
    return "; ".join(sorted(differences))


def lesser(
    saved: Mapping[str, Any], fresh: Mapping[str, Any], losses: list[Loss], alone: bool
) -> str:
    """Why a result must not replace the saved one; empty where it may.

    saved: the saved record. fresh: `output`, `route` and `parameters` of the run.
    losses: as `lost` gives them. alone: without the runner, in an editor that saves a
    changed parameters cell by itself: its defaults say nothing then.
    """
    command = f"nlgeval run {fresh['output']}"
    # What the judge itself gave goes before what others recorded or printed.
    if saved.get("route") == "run" and fresh["route"] != "run":
        reason = "the result there was made by running the judge"
        return f"{reason}, this one is {fresh['route']!r}"
    if losses:
        listed = ", ".join(map(str, losses))
        return f"{listed} would be lost ({command} --replace lets it shrink)"
    if not alone:
        return ""
    saved_values = saved.get("parameters", {})
    changes = []
    for name, value in fresh["parameters"].items():
        if name in saved_values and not same_value(saved_values[name], value, None):
            changes.append(f"{name} {saved_values[name]!r}, here {value!r}")
    if not changes:
        return ""
    reason = f"the result there was made with {', '.join(changes)}"
    return f"{reason} ({command} publishes this one)"


def lost(saved: Mapping[str, Any], contents: Mapping[str, bytes]) -> list[Loss]:
    """What the files of the saved result hold that this run's `contents` do not.

    Rows are known by their first columns of text, as many as are needed to set them
    apart. A drawing has less where fewer names stand in it.
    """
    losses = []
    for name in saved.get("files", ()):
        try:
            saved_text = files.located(name).read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        file = name.rpartition("/")[2]
        content = contents.get(name, b"").decode("utf-8", "replace")
        if name.endswith(".csv"):
            rows = _rows_lost(saved_text, content)
            if rows:
                # `<id>.csv` has compared cells, `<id>__<name>.csv` rows of a frame.
                kind = "rows" if "__" in file else "cells"
                count = sum(rows.values())
                unit = kind if count > 1 else kind.removesuffix("s")
                listed = _in_brackets(list(filter(None, rows)))
                losses.append(Loss(kind, count, f"{count} {unit} of {file}{listed}"))
        elif name.endswith(".svg") and name not in contents:
            losses.append(Loss("figures", 1, file))
        elif name.endswith(".svg"):
            saved_names = set(_TEXT.findall(saved_text))
            names = set(_TEXT.findall(content))
            if len(saved_names) > len(names):  # one name put for another is no loss
                listed = _in_brackets(sorted(saved_names - names))
                losses.append(Loss("figures", 1, file + listed))
    return losses


def _in_brackets(names: list[str]) -> str:
    """The first three of these names; nothing where there is none."""
    if not names:
        return ""
    listed = "; ".join(names[:3])
    return f" ({listed}; …)" if len(names) > 3 else f" ({listed})"


def _rows_lost(saved_text: str, text: str) -> Counter[str]:
    """How often a row of this name is gone, or lacks a number; by name, which has the
    labels that are not the same in all rows.
    """
    saved = list(csv.DictReader(io.StringIO(saved_text)))
    rows = list(csv.DictReader(io.StringIO(text)))
    labels = _label_columns(saved)
    # A label that all rows share says nothing of the one that is gone.
    varying = []
    for name in labels:
        distinct = {row[name] for row in saved}
        varying.append(len(distinct) > 1)
    losses: Counter[str] = Counter()
    # Counters subtract to what is lost alone: nothing falls below nought.
    fewer = _tally(saved, labels) - _tally(rows, labels)
    for (key, _), count in fewer.items():
        # A row that is gone lacks all its numbers, too: it counts once.
        name = ", ".join(itertools.compress(key, varying))
        losses[name] = max(losses[name], count)
    return losses


def _label_columns(rows: list[dict[str, str]]) -> list[str]:
    """The leading columns of text that set rows apart; fewer where one of numbers
    comes first.
    """
    labels: list[str] = []
    for column in rows[0] if rows else ():
        keys = {_key(row, labels) for row in rows}
        if labels and len(keys) == len(rows):
            break
        if all(_is_number(row[column]) for row in rows if row[column]):
            break
        labels.append(column)
    return labels


def _key(row: Mapping[str, str], labels: list[str]) -> tuple[str, ...]:
    """What names a row: its texts in the label columns."""
    return tuple(row.get(name, "") for name in labels)


def _tally(
    rows: list[dict[str, str]], labels: list[str]
) -> Counter[tuple[tuple[str, ...], str]]:
    """How many rows there are of each key, under (key, ""), and how many of them have a
    number in each column, under (key, column).
    """
    counts: Counter[tuple[tuple[str, ...], str]] = Counter()
    for row in rows:
        key = _key(row, labels)
        counts[key, ""] += 1
        for name, cell in row.items():
            if name not in labels and _is_number(cell):
                counts[key, name] += 1
    return counts


def _is_number(text: str | None) -> bool:
    """Whether a cell holds a number; NaN is none."""
    number = _number(text)
    return number is not None and not math.isnan(number)
