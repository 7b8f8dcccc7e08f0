"""Arrays in: what callers pass, made clean floats or refused; and what becomes of items without a score, by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .result import Floats, Result

POLICIES: dict[str, str] = {
    "drop": "items that lack a score on either side are left out",
    "error": "a missing score on either side is an error",
    "zero": "a missing judge score counts as 0",
    "mean": "a missing judge score counts as the mean of the judge's other scores",
    "min": "a missing judge score counts as the judge's lowest score",
    "max": "a missing judge score counts as the judge's highest score",
    "constant-zero": "as drop; an input with a constant side counts as 0, and so does kendall-a of constant scores",
}
FILLS: dict[str, Callable[[Floats], Any]] = {
    "zero": lambda x: 0.0,
    "mean": np.nanmean,
    "min": np.nanmin,
    "max": np.nanmax,
}
SAMPLE_RULES: dict[str, str] = {
    "nan-mean": "mean of the draws that gave a score; NaN where none did",
    "zero": "a failed draw counts as 0",
    "all": "NaN unless every draw gave a score",
    "first": "the first draw that gave a score; NaN where none did",
}


def floats(values: Any, name: str, *forms: str) -> Floats:
    """Values as a fresh float64 array with at least one entry; None, masked entries and pandas' NA become NaN.

    forms: names of the axes, "item" or "system, input", where only these numbers of dimensions will do.
    Raises: ValueError for another form, text, complex numbers, dates, infinity, ragged nesting and an empty array.
    """
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(float), np.nan)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name}: got nested values of unequal length; pass one rectangular array") from error
    if array.dtype == object:
        gone = np.array([one is None or type(one).__name__ in ("NAType", "NaTType") for one in array.flat], dtype=bool)
        odd = [one for one in array.flat[~gone] if not isinstance(one, (int, float, np.integer, np.floating, np.bool_))]
        if odd:
            raise ValueError(f"{name}: got {odd[0]!r} ({type(odd[0]).__name__}); pass numbers, with NaN for missing")
        array = np.where(gone.reshape(array.shape), np.nan, array).astype(float)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name}: got values of type {array.dtype}; pass numbers, with NaN for missing")
    out = array.astype(np.float64)
    if np.isinf(out).any():
        raise ValueError(f"{name}: got {int(np.isinf(out).sum())} infinite values; replace them or mark them as NaN")
    if out.size == 0:
        raise ValueError(f"{name}: got an empty array of shape {out.shape}; at least 3 common items are needed")
    if forms and out.ndim not in [form.count(",") + 1 for form in forms]:
        told = " or ".join(f"{name}[{form}]" for form in forms)
        raise ValueError(f"{name}: got {out.ndim} dimension(s), shape {out.shape}; pass {told}")
    return out


def alike(**values: Any) -> list[Floats]:
    """Arrays of one shape, flat or `[system, input]`, in the order given.

    Raises: ValueError for unequal shapes, more than two dimensions, and pandas labels that differ.
    """
    same_labels(**values)
    arrays = {name: floats(value, name, "item", "system, input") for name, value in values.items()}
    if len({array.shape for array in arrays.values()}) > 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"got unequal shapes: {shapes}; scores and ratings must cover the same items in one order")
    return list(arrays.values())


def same_labels(**values: Any) -> None:
    """Raises: ValueError for pandas objects of one length that differ in labels, which would pair the wrong items."""
    for axis in (-1, -2):
        given = {n: v.axes[axis] for n, v in values.items() if hasattr(v, "axes") and len(v.axes) >= -axis}
        for name, labels in given.items():
            first = next(iter(given))
            if len(labels) == len(given[first]) and not labels.equals(given[first]):
                raise ValueError(
                    f"{first} and {name} carry different labels; align them first, "
                    "or pass .to_numpy() where the order is known to be the same"
                )


def choice(value: Any, allowed: Iterable[str], name: str) -> str:
    """The value itself when it is one of the allowed words. Raises: ValueError naming them and the nearest."""
    allowed = tuple(allowed)
    if isinstance(value, str) and value in allowed:
        return value
    near = difflib.get_close_matches(str(value), allowed, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{name}: got {value!r}; allowed are {', '.join(allowed)}{hint}")


def whole(value: Any, name: str, low: int = 1) -> int:
    """The value as an int of at least `low`. Raises: ValueError for anything else, bool included."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
        raise ValueError(f"{name}: got {value!r}; pass a whole number of at least {low}")
    return int(value)


def number(value: Any, name: str, low: float = -np.inf, high: float = np.inf) -> float:
    """The value as a finite float from `low` to `high`. Raises: ValueError for anything else, bool included."""
    known = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not known or not np.isfinite(value) or not low <= value <= high:
        raise ValueError(f"{name}: got {value!r}; pass a finite number from {low:g} to {high:g}")
    return float(value)


def share(value: Any, name: str) -> float:
    """The value as a float strictly between 0 and 1. Raises: ValueError for anything else."""
    return number(value, name, np.nextafter(0, 1), np.nextafter(1, 0))


def scale(low: Any, high: Any) -> tuple[float, float]:
    """The two ends of a scale. Raises: ValueError unless both are finite numbers and low is below high."""
    if not (bottom := number(low, "low end of the scale")) < (top := number(high, "high end of the scale")):
        raise ValueError(f"got a scale from {low!r} to {high!r}; low must be below high")
    return bottom, top


def rescaled(values: Floats, axis: int | None = None) -> Floats:
    """Values divided by a power of two near their largest: squares neither overflow nor vanish, nothing is rounded."""
    with np.errstate(invalid="ignore"):
        largest = np.fmax.reduce(np.abs(values), axis=axis, keepdims=axis is not None, initial=0.0)
    return np.ldexp(values, -np.frexp(largest)[1])


def exactly(value: float) -> str:
    """A setting for a signature: the shortest text that tells it from every other number."""
    return f"{value:g}" if float(f"{value:g}") == value else repr(float(value))


def fill(x: Floats, y: Floats, policy: str = "drop") -> tuple[Floats, Floats, int]:
    """Scores and ratings after a missing policy, NaN in both where an item takes no part; how many lacked one at first.

    x: judge scores, y: human ratings, one shape. Ratings are never invented: an item without one is always left out.
    Raises: ValueError for an unknown policy, for missing values under "error", and when nothing is there to fill from.
    """
    choice(policy, POLICIES, "nan")
    gone_x, gone_y = np.isnan(x), np.isnan(y)
    lacking = int((gone_x | gone_y).sum())
    if policy == "error" and lacking:
        raise ValueError(
            f"nan='error': {int(gone_x.sum())} scores and {int(gone_y.sum())} ratings of {x.size} are missing; "
            f"find out why, or name a policy: {', '.join(POLICIES)}"
        )
    if policy in FILLS and (gone_x & ~gone_y).any():
        if policy != "zero" and gone_x.all():
            raise ValueError(f"nan={policy!r}: all {x.size} scores are missing, there is nothing to fill from")
        x = np.where(gone_x, FILLS[policy](x), x)
    left = np.isnan(x) | gone_y
    return np.where(left, np.nan, x), np.where(left, np.nan, y), lacking


def common(*sides: Floats) -> tuple[Floats, ...]:
    """The arrays with NaN in all of them wherever any has it. Raises: ValueError when fewer than 3 items are left."""
    gone = np.isnan(sides).any(axis=0)
    if gone.size - gone.sum() < 3:
        raise ValueError(f"got {gone.size - int(gone.sum())} common item(s) of {gone.size}; at least 3 are needed")
    return tuple(np.where(gone, np.nan, side) for side in sides)


@dataclass(frozen=True, repr=False)
class Samples(Result):
    """Scores from several draws an item. counts: draws that gave a score, one an item; n_empty: items with none."""

    scores: Floats
    counts: Floats
    rule: str
    n_draws: int
    n_failed: int
    n_empty: int

    def signature(self) -> str:
        return f"samples:{self.rule}({self.n_failed}/{self.n_draws * self.counts.size} failed, {self.n_empty} empty)"


def mean_of_samples(samples: Any, rule: str = "nan-mean") -> Samples:
    """One score an item from several draws, with failed draws handled by a named rule.

    samples: `S[draw, ...]`, the rest any shape, NaN for a draw without a score.
    Raises: ValueError for bad arrays or an unknown rule.
    """
    choice(rule, SAMPLE_RULES, "rule")
    draws = floats(samples, "samples")
    if draws.ndim < 2:
        raise ValueError(f"samples: got shape {draws.shape}; pass S[draw, item] or S[draw, system, input]")
    here = ~np.isnan(draws)
    counts = here.sum(axis=0)
    if rule == "first":
        scores = np.take_along_axis(draws, here.argmax(axis=0)[None], axis=0)[0]
    else:
        least = {"zero": 0, "nan-mean": 1, "all": len(draws)}[rule]
        over = len(draws) if rule == "zero" else counts
        scores = np.where(here, draws, 0.0).sum(axis=0) / np.where(counts >= least, over, np.nan)
    return Samples(scores, counts.astype(float), rule, len(draws), int((~here).sum()), int((counts == 0).sum()))
