"""Turns what callers pass into clean float arrays, or says why it cannot."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def floats(values: Any, name: str) -> Floats:
    """Values as a fresh float64 array; None and masked entries become NaN.

    Raises: ValueError for text, complex numbers, dates, infinity, ragged nesting and numbers that float64 cannot hold.
    """
    if isinstance(values, np.ma.MaskedArray):
        values = np.where(np.ma.getmaskarray(values), None, values.data.astype(object))
    try:
        # numpy makes floats of pandas' whole numbers with gaps before they could be checked
        gaps = _is_pandas(values) and getattr(getattr(values, "dtype", None), "kind", "") in ("i", "u")
        array = np.asarray(values, dtype=object if gaps and values.isna().any() else None)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: got nested values of unequal length; pass one rectangular array") from error
    if array.dtype == object:
        array = _from_objects(array, name)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name}: got values of type {array.dtype}; pass numbers, with NaN for missing")
    if array.dtype.kind in "iu" and array.size and max(abs(int(array.min())), abs(int(array.max()))) > 2**53:
        raise ValueError(_too_large(name))
    out = array.astype(np.float64)
    if np.isinf(out).any():
        raise ValueError(f"{name}: got {int(np.isinf(out).sum())} infinite values; replace them or mark them as NaN")
    return out


def _from_objects(array: npt.NDArray[Any], name: str) -> Floats:
    out = np.empty(array.shape, dtype=float)
    for place in np.ndindex(array.shape):
        value = array[place]
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            out[place] = np.nan
        elif isinstance(value, (bool, int, float, np.number, np.bool_)) and not np.iscomplexobj(value):
            if isinstance(value, (int, np.integer)) and abs(int(value)) > 2**53:
                raise ValueError(_too_large(name))
            out[place] = float(value)
        else:
            raise ValueError(f"{name}: got {value!r} ({type(value).__name__}); pass numbers, with NaN for missing")
    return out


def _too_large(name: str) -> str:
    return f"{name}: got integers beyond 2**53, which float64 cannot tell apart; rescale them"


def matrix(values: Any, name: str) -> Floats:
    """Values as a 2-D array `X[system, input]`, at least one by one.

    Raises: ValueError for another number of dimensions or an empty array.
    """
    array = floats(values, name)
    if array.ndim != 2:
        raise ValueError(f"{name}: got {array.ndim} dimension(s), shape {array.shape}; pass {name}[system, input]")
    return nonempty(array, name)


def vector(values: Any, name: str) -> Floats:
    """Values as a 1-D array with at least one entry.

    Raises: ValueError for another number of dimensions or an empty array.
    """
    array = floats(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name}: got shape {array.shape}; pass a flat list of numbers")
    return nonempty(array, name)


def nonempty(array: Floats, name: str) -> Floats:
    """The array itself.

    Raises: ValueError when it has no entry.
    """
    if array.size == 0:
        raise ValueError(f"{name}: got an empty array of shape {array.shape}; at least 3 common items are needed")
    return array


def same_shape(**arrays: Floats) -> None:
    """Passes silently when all arrays have one shape.

    Raises: ValueError naming each array and its shape.
    """
    if len({array.shape for array in arrays.values()}) > 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"got unequal shapes: {shapes}; scores and ratings must cover the same items in one order")


def same_index(**values: Any) -> None:
    """Passes silently unless two pandas objects carry different labels, which would pair the wrong items.

    Raises: ValueError when the row or column labels differ.
    """
    for axis in ("index", "columns"):
        same_labels(axis, **{name: getattr(value, axis, None) for name, value in values.items() if _is_pandas(value)})


def same_labels(what: str, **labels: Any) -> None:
    """Passes silently unless two sets of pandas labels of one length differ; None stands for no labels.

    Raises: ValueError naming the two.
    """
    given = [(name, one) for name, one in labels.items() if one is not None]
    for name, one in given[1:]:
        if len(one) == len(given[0][1]) and not one.equals(given[0][1]):
            raise ValueError(
                f"{given[0][0]} and {name} carry different {what} labels; align them first, "
                "or pass .to_numpy() where the order is known to be the same"
            )


def items(values: Any, last: bool = False) -> Any:
    """The pandas labels of a table's rows, or of its last axis; None where it has none."""
    if not _is_pandas(values):
        return None
    index = getattr(values, "index", None)
    return getattr(values, "columns", index) if last else index


def _is_pandas(values: Any) -> bool:
    return type(values).__module__.startswith("pandas") and hasattr(values, "isna")


def pair(x: Any, y: Any, names: tuple[str, str] = ("x", "y")) -> tuple[Floats, Floats]:
    """Two arrays of one shape, 1-D or 2-D.

    Raises: ValueError as `floats`, `same_shape` and `nonempty`, and for more than two dimensions.
    """
    same_index(**{names[0]: x, names[1]: y})
    a, b = floats(x, names[0]), floats(y, names[1])
    same_shape(**{names[0]: a, names[1]: b})
    if a.ndim not in (1, 2):
        raise ValueError(f"{names[0]}: got {a.ndim} dimensions; pass a flat vector or {names[0]}[system, input]")
    return nonempty(a, names[0]), nonempty(b, names[1])


def choice(value: Any, allowed: Iterable[str], name: str) -> str:
    """The value itself when it is one of the allowed words.

    Raises: ValueError naming the allowed words and the nearest one.
    """
    allowed = tuple(allowed)
    if isinstance(value, str) and value in allowed:
        return value
    near = difflib.get_close_matches(str(value), allowed, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{name}: got {value!r}; allowed are {', '.join(allowed)}{hint}")


def whole(value: Any, name: str, low: int = 1) -> int:
    """The value as an int of at least `low`.

    Raises: ValueError for anything else, bool included.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise ValueError(f"{name}: got {value!r}; pass a whole number of at least {low}")
    return int(value)


def number(value: Any, name: str, low: float = -np.inf, high: float = np.inf) -> float:
    """The value as a finite float from `low` to `high`.

    Raises: ValueError for anything else, bool, text and NaN included.
    """
    known = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not known or not np.isfinite(value) or not low <= value <= high:
        limits = f" from {low:g} to {high:g}" if high < np.inf else f", {low:g} or more" if low > -np.inf else ""
        raise ValueError(f"{name}: got {value!r}; pass a finite number{limits}")
    return float(value)


def exactly(value: float) -> str:
    """A setting for a signature: the shortest text that tells it from every other number."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(float(value))


def unusual(confidence: float) -> str:
    """A confidence for a signature, where it is not the usual .95."""
    return "" if confidence == 0.95 else f"|conf:{exactly(confidence)}"


@contextmanager
def about(what: str) -> Iterator[None]:
    """Errors from within say what they are about.

    Raises: ValueError, the one raised within with `what` before it.
    """
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error


def scale(low: Any, high: Any) -> tuple[float, float]:
    """The two ends of a scale.

    Raises: ValueError unless both are finite numbers and low is below high.
    """
    if not (bottom := number(low, "low end of the scale")) < (top := number(high, "high end of the scale")):
        raise ValueError(f"got a scale from {low!r} to {high!r}; low must be below high")
    return bottom, top


def between(value: Any, name: str) -> float:
    """The value as a float strictly between 0 and 1.

    Raises: ValueError for anything else.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value < 1:
        raise ValueError(f"{name}: got {value!r}; pass a number between 0 and 1, both excluded")
    return float(value)
