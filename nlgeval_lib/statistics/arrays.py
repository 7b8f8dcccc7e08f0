"""What callers pass, made clean or refused: `floats`, `alike` and others check arrays
and labels, `choice`, `whole`, `number` and others settings; and what becomes of items
without a score (`fill`, `common`, `mean_of_samples`).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nlgeval_lib.errors import Refused, Told

from .result import Floats, Result

# what becomes of an item without a score or a rating, by the name of the policy
POLICIES: dict[str, str] = {
    "drop": "items that lack a score on either side are left out",
    "error": "a missing score on either side is an error",
    "zero": "a missing judge score counts as 0",
    "mean": "a missing judge score counts as the mean of the judge's other scores",
    "min": "a missing judge score counts as the judge's lowest score",
    "max": "a missing judge score counts as the judge's highest score",
}
# policies that put a number in the place of a missing score, from the judge's scores
FILLS: dict[str, Callable[[Floats], Any]] = {
    "zero": lambda x: 0.0,
    "mean": np.nanmean,
    "min": np.nanmin,
    "max": np.nanmax,
}
# how several draws of a judge become one score
SAMPLE_RULES: dict[str, str] = {
    "nan-mean": "mean of the draws that gave a score; NaN where none did",
    "zero": "a failed draw counts as 0",
    "all": "NaN unless every draw gave a score",
    "first": "the first draw that gave a score; NaN where none did",
}


class TooFew(Told, ValueError):
    """Fewer items, or systems, than a coefficient needs have a score and a rating."""


def floats(values: Any, name: str, *forms: str) -> Floats:
    """Values as a fresh float64 array; None, masked entries and pandas' NA become NaN.

    name: of the argument, for errors.
    forms: names of the axes, "item" or "system, input", where only these will do.
    Raises: ValueError for another form, infinity, an empty array, and what is no
    rectangular array of numbers.
    """
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(float), np.nan)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"{name}: got nested values of unequal length; pass one rectangular array"
        ) from error
    if array.dtype == object:
        array = _numbers(array, name)
    if array.dtype.kind not in "fiub":
        raise ValueError(
            f"{name}: got values of type {array.dtype}; "
            "pass numbers, with NaN for missing"
        )
    out = array.astype(np.float64)
    infinite = int(np.isinf(out).sum())
    if infinite:
        raise ValueError(
            f"{name}: got {infinite} infinite values; replace them or mark them as NaN"
        )
    if out.size == 0:
        raise ValueError(
            f"{name}: got an empty array of shape {out.shape}; "
            "at least 3 common items are needed"
        )
    dimensions = [form.count(",") + 1 for form in forms]
    if forms and out.ndim not in dimensions:
        allowed = " or ".join(f"{name}[{form}]" for form in forms)
        raise ValueError(
            f"{name}: got {out.ndim} dimension(s), shape {out.shape}; pass {allowed}"
        )
    return out


def _numbers(array: npt.NDArray[Any], name: str) -> Floats:
    """An array of objects as floats. Raises: ValueError for what is no number."""
    out = np.full(array.size, np.nan)
    for place, value in enumerate(array.flat):
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            continue
        if not isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
            raise ValueError(
                f"{name}: got {value!r} ({type(value).__name__}); "
                "pass numbers, with NaN for missing"
            )
        out[place] = value
    return out.reshape(array.shape)


def alike(**values: Any) -> list[Floats]:
    """Arrays of one shape, flat or `[system, input]`, by the names for errors.

    Raises: ValueError for unequal shapes or pandas labels, and as `floats`.
    """
    same_labels(**values)
    arrays = {}
    for name, value in values.items():
        arrays[name] = floats(value, name, "item", "system, input")
    if len({array.shape for array in arrays.values()}) > 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(
            f"got unequal shapes: {shapes}; "
            "scores and ratings must cover the same items in one order"
        )
    return list(arrays.values())


def ratings_by_rater(ratings: Any) -> Floats:
    """Ratings, `[rater, item]` or `[rater, system, input]`. Raises: as `floats`."""
    return floats(ratings, "ratings", "rater, item", "rater, system, input")


def same_labels(**values: Any) -> None:
    """Raises: ValueError for pandas objects of one length that differ in labels."""
    # From the last axis, as a flat object may stand beside a table: inputs are last.
    for axis in (-1, -2):
        labels_by_name = {}
        for name, value in values.items():
            if hasattr(value, "axes") and len(value.axes) >= -axis:
                labels_by_name[name] = value.axes[axis]
        for name, labels in labels_by_name.items():
            first = next(iter(labels_by_name))
            expected = labels_by_name[first]
            if len(labels) == len(expected) and not labels.equals(expected):
                raise ValueError(
                    f"{first} and {name} carry different labels; align them first, "
                    "or pass .to_numpy() where the order is known to be the same"
                )


def all_labelled(labels: Sequence[Any], name: str, advice: str) -> None:
    """Raises: ValueError, with advice, where a label is None or NaN."""
    # NaN differs from itself.
    missing = sum(label is None or label != label for label in labels)
    if missing:
        raise ValueError(
            f"{name}: {missing} of {len(labels)} labels are missing; {advice}"
        )


def choice(value: Any, allowed: Iterable[str], name: str) -> str:
    """The value when it is allowed. Raises: ValueError naming the nearest word."""
    allowed = tuple(allowed)
    if isinstance(value, str) and value in allowed:
        return value
    hint = ""
    near = difflib.get_close_matches(str(value), allowed, n=1)
    if near:
        hint = f"; did you mean {near[0]!r}?"
    raise Refused(f"{name}: got {value!r}; allowed are {', '.join(allowed)}{hint}")


def whole(value: Any, name: str, low: int = 1) -> int:
    """The value as an int of at least `low`. Raises: ValueError for anything else."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < low:
        raise ValueError(
            f"{name}: got {value!r}; pass a whole number of at least {low}"
        )
    return int(value)


def number(value: Any, name: str, low: float = -np.inf, high: float = np.inf) -> float:
    """The value as a finite float from `low` to `high`. Raises: ValueError for others."""
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    is_number = is_number and not isinstance(value, bool)
    if not (is_number and np.isfinite(value) and low <= value <= high):
        raise ValueError(
            f"{name}: got {value!r}; pass a finite number from {low:g} to {high:g}"
        )
    return float(value)


def share(value: Any, name: str) -> float:
    """The value, strictly between 0 and 1. Raises: ValueError for anything else."""
    return number(value, name, np.nextafter(0, 1), np.nextafter(1, 0))


def scale(low: Any, high: Any) -> tuple[float, float]:
    """The two ends of a scale. Raises: ValueError unless low is below high."""
    bottom = number(low, "low end of the scale")
    top = number(high, "high end of the scale")
    if not bottom < top:
        raise ValueError(
            f"got a scale from {low!r} to {high!r}; low must be below high"
        )
    return bottom, top


def rescaled(values: Floats, axis: int | None = None) -> Floats:
    """Values divided by a power of two near their largest, so that squares neither
    overflow nor vanish.

    axis: along which each slice has its own power; None for one of all.
    """
    with np.errstate(invalid="ignore"):
        largest = np.fmax.reduce(
            np.abs(values), axis=axis, keepdims=axis is not None, initial=0.0
        )
    exponent = np.frexp(largest)[1]
    return np.ldexp(values, -exponent)


def exactly(value: float) -> str:
    """The shortest text that tells a number from every other one."""
    short = f"{value:g}"
    if float(short) == value:
        return short
    return repr(float(value))


def confidence_setting(confidence: float) -> str:
    """What a signature says of a confidence; "" for .95."""
    if confidence == 0.95:
        return ""
    return f"|conf:{exactly(confidence)}"


def unit_names(names: Sequence[Any] | None, number: int, unit: str) -> tuple[str, ...]:
    """A name for each; numbers from 1 where None.

    unit: what is named, for errors.
    Raises: ValueError for another number of names.
    """
    if names is None:
        names = range(1, number + 1)
    if len(names) != number:
        raise ValueError(f"names: got {len(names)} for {number} {unit}")
    return tuple(map(str, names))


def symmetric(p: Any, number: int, axes: str) -> Floats:
    """The p-values of all pairs, `[each, each]`.

    axes: their names, for errors, such as "judge, judge".
    Raises: ValueError for another shape or p that is not symmetric.
    """
    p = floats(p, "p", axes)
    if p.shape != (number, number) or not np.array_equal(p, p.T, equal_nan=True):
        raise ValueError(
            f"p: got shape {p.shape} for {number} values; "
            f"pass p[{axes}], alike both ways"
        )
    return p


def fill(x: Floats, y: Floats, policy: str = "drop") -> tuple[Floats, Floats, int]:
    """Scores and ratings after a missing policy, NaN in both where an item takes no
    part; and how many items lacked either at first.

    x, y: judge scores and human ratings, which are never invented.
    policy: one of `POLICIES`.
    Raises: ValueError for an unknown policy, for missing values under "error", and when
    nothing is there to fill from.
    """
    choice(policy, POLICIES, "nan")
    no_score = np.isnan(x)
    no_rating = np.isnan(y)
    n_missing = int((no_score | no_rating).sum())
    if policy == "error" and n_missing:
        raise ValueError(
            f"nan='error': {int(no_score.sum())} scores and {int(no_rating.sum())} "
            f"ratings of {x.size} are missing; "
            f"find out why, or name a policy: {', '.join(POLICIES)}"
        )
    if not n_missing:
        return x, y, 0
    needs_fill = no_score & ~no_rating
    if policy in FILLS and needs_fill.any():
        if policy != "zero" and no_score.all():
            raise TooFew(
                f"nan={policy!r}: all {x.size} scores are missing, "
                "there is nothing to fill from"
            )
        score = FILLS[policy](x)
        x = np.where(no_score, score, x)
    absent = np.isnan(x) | no_rating
    scores = np.where(absent, np.nan, x)
    ratings = np.where(absent, np.nan, y)
    return scores, ratings, n_missing


def common(*sides: Floats) -> tuple[Floats, ...]:
    """The arrays, of one shape, with NaN in all of them wherever any has it.

    Raises: TooFew when fewer than 3 items are left.
    """
    absent = np.isnan(sides).any(axis=0)
    n = absent.size - int(absent.sum())
    if n < 3:
        raise TooFew(f"got {n} common item(s) of {absent.size}; at least 3 are needed")
    return tuple(np.where(absent, np.nan, side) for side in sides)


@dataclass(frozen=True, repr=False)
class Samples(Result):
    """Scores from several draws an item, NaN where the rule gives none.

    counts: draws that gave a score, of each item.
    rule: one of `SAMPLE_RULES`.
    n_draws, n_failed, n_empty: draws of each item; draws without a score, over all
    items; items of which no draw gave a score.
    """

    scores: Floats
    counts: Floats
    rule: str
    n_draws: int
    n_failed: int
    n_empty: int

    def answer(self) -> dict[str, Any]:
        """The mean over items that have a score, and counts."""
        scored = self.scores[self.counts > 0]
        mean = float(scored.mean()) if scored.size else float("nan")
        return {"mean": mean, "n": self.counts.size, "n_empty": self.n_empty}

    def signature(self) -> str:
        total = self.n_draws * self.counts.size
        failed = f"{self.n_failed}/{total} failed"
        return f"samples:{self.rule}({failed}, {self.n_empty} empty)"


def mean_of_samples(samples: Any, rule: str = "nan-mean") -> Samples:
    """What score does an item have by several draws, some of which failed?

    samples: `S[draw, ...]`, NaN for a draw without a score.
    rule: one of `SAMPLE_RULES`.
    Raises: ValueError for bad arrays or an unknown rule.
    """
    choice(rule, SAMPLE_RULES, "rule")
    draws = floats(samples, "samples")
    if draws.ndim < 2:
        raise ValueError(
            f"samples: got shape {draws.shape}; "
            "pass S[draw, item] or S[draw, system, input]"
        )
    present = ~np.isnan(draws)
    counts = present.sum(axis=0)
    if rule == "first":
        place = present.argmax(axis=0)[None]
        scores = np.take_along_axis(draws, place, axis=0)[0]
    else:
        least = {"zero": 0, "nan-mean": 1, "all": len(draws)}[rule]
        number = len(draws) if rule == "zero" else counts
        divisor = np.where(counts >= least, number, np.nan)
        total = np.where(present, draws, 0.0).sum(axis=0)
        scores = total / divisor
    return Samples(
        scores=scores,
        counts=counts.astype(float),
        rule=rule,
        n_draws=len(draws),
        n_failed=int((~present).sum()),
        n_empty=int((counts == 0).sum()),
    )
