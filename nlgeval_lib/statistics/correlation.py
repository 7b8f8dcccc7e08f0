"""How well scores follow human ratings: over all items, by input, over systems, by
stratum; what gaps could change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import arrays, groups, intervals, levels
from .cautions import about_systems, cautions, nearly_perfect
from .draws import everything
from .questions import Basis, Questioned
from .result import NAN, NO_INTERVAL, Floats, Interval, Result, together


@dataclass(frozen=True, repr=False)
class Correlation(Questioned):
    """One correlation and all that is needed to know what it is; NaN with a reason
    where the coefficient is not defined.

    coef, level, nan: as in `correlate`.
    n, total: items that took part, of how many.
    n_units: what the coefficient ran over: items, inputs averaged, or systems.
    n_missing: items that lacked a score or a rating.
    n_skipped: inputs without a defined coefficient (input level) or systems without a
        common item (system level).
    """

    value: float
    coef: str
    level: str
    n: int
    n_units: int
    n_missing: int
    n_skipped: int
    total: int
    nan: str = "drop"
    interval: Interval = NO_INTERVAL
    reason: str = ""
    basis: Basis | None = field(default=None, repr=False, compare=False)

    def signature(self) -> str:
        missing = f"nan:{self.nan}({self.n_missing}/{self.total})"
        signature = f"level:{self.level}|coef:{self.coef}|{missing}"
        if self.level == "input" or self.n_skipped:
            signature += f"|skipped:{self.n_skipped}"
        return signature + self.interval.signature()


def correlate(
    x: Any,
    y: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    nan: str = "drop",
    ci: str | bool | None = None,
    n_boot: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    system_groups: Any = None,
    input_groups: Any = None,
) -> Correlation:
    """How strongly do judge scores x follow human ratings y?

    x, y: one shape, flat (dataset level only) or `X[system, input]`; NaN is missing.
    coef: pearson, spearman, kendall-a, kendall-b, kendall-c ("kendall" is kendall-b),
        in [-1, 1]; or acc-eq, the share of pairs ordered or tied alike, in [0, 1].
    level: dataset, one list of items; input, one coefficient an input, averaged over
        the inputs where it is defined (grouped by system instead: pass x.T and y.T);
        system, over the systems' means.
    nan: a policy of `POLICIES`.
    ci, n_boot, seed, confidence: the interval, as `intervals.compute_interval` says.
    system_groups, input_groups: a label each (the family of a system, the topic of an
        input; of flat data, `input_groups` a row): what is left out or drawn anew as a
        whole.
    Returns: NaN with a reason where a side is constant.
    Raises: ValueError for bad arrays, fewer than 3 common items (or systems, at system
        level), fewer than 2 systems at input level, and unknown words.
    Source: levels and resampling units as in Deutsch, Dror and Roth 2021.
    """
    coef = levels.named(coef, level)
    a, b = arrays.alike(x=x, y=y)
    a, b, n_missing = arrays.fill(a, b, nan)
    levels.check(a, level)
    families = groups.encode_groups(a.shape, system_groups, input_groups)
    plan = levels.plan(a, b, coef, level, families)
    names = groups.names(a.shape, y, system_groups, input_groups)
    basis = Basis(plan, plan.value, level, coef, names)
    ends = intervals.compute_interval(
        plan, basis.value, ci, level, coef, n_boot, seed, confidence
    )
    n_units, n_skipped = _units(plan)
    return Correlation(
        value=basis.value,
        coef=coef,
        level=level,
        n=int(plan.present.sum()),
        n_units=n_units,
        n_missing=n_missing,
        n_skipped=n_skipped,
        total=a.size,
        nan=nan,
        interval=ends,
        reason=_reason(plan, basis, ends, (a, b)),
        basis=basis,
    )


def uncorrelated(
    x: Any, y: Any, coef: str, level: str, reason: str, nan: str = "drop"
) -> Correlation:
    """What stands for data on which `correlate` finds too few items? NaN, and why.

    x, y, coef, level, nan: as in `correlate`.
    reason: what it said.
    """
    sides = arrays.alike(x=x, y=y)
    total = sides[0].size
    n_missing = int(np.isnan(sides).any(axis=0).sum())
    coef = levels.named(coef, level)
    counts = total - n_missing, 0, n_missing, 0, total
    return Correlation(NAN, coef, level, *counts, nan, reason=reason)


def _units(plan: levels.Listed | levels.Systems) -> tuple[int, int]:
    """`n_units` and `n_skipped` of `Correlation`."""
    present = plan.present
    if isinstance(plan, levels.Systems):
        units = int(present.any(axis=1).sum())
        return units, len(present) - units
    if plan.level == "input":
        by_input = plan.by_list(everything(present.shape))
        skipped = int(np.isnan(by_input).sum())
        return len(by_input) - skipped, skipped
    return int(present.sum()), 0


def _reason(
    plan: levels.Listed | levels.Systems,
    basis: Basis,
    ends: Interval,
    sides: tuple[Floats, Floats],
) -> str:
    """Why a coefficient is not defined; else what its interval has to say, what one or
    two units change, if that is much, and what in the data speaks against it.
    """
    if not np.isnan(basis.value):
        influence = None if np.isnan(ends.low) else basis.influence(ends)
        warning = influence.warning if influence else ""
        said = [warning, ends.reason]
        level = basis.level
        if about_systems(ends.name, level) and not np.isnan(ends.low):
            x, y = sides
            about = level, basis.coef
            said.append(cautions(ends.name, plan, [x], y, *about, basis.names))
            if about == ("system", "pearson"):
                said.append(nearly_perfect(basis.value, plan))
        return together(*said)
    if isinstance(plan, levels.Systems):
        mean_x, mean_y, _ = plan.means(everything(plan.present.shape))
        return _constant_sides(mean_x, mean_y, "mean ")
    if plan.level == "input":
        return (
            f"none of {plan.present.shape[1]} inputs has two systems "
            "that differ in scores and in ratings"
        )
    return _constant_sides(*sides)


def coefficients(
    x: Any, y: Any, coef: str = "kendall-b", level: str = "dataset", nan: str = "drop"
) -> Floats:
    """How strongly does each of many judges follow the same ratings? Numbers only;
    `correlate` explains one.

    x: `X[judge, item]` or `X[judge, system, input]`.
    y: ratings, of one judge's shape.
    coef, level, nan: as in `correlate`.
    Returns: (judges,), equal to `correlate` of each; NaN where a coefficient is not
        defined or a judge has fewer than 3 common items (systems at system level).
    Raises: ValueError for bad arrays, shapes that do not fit, unknown words.
    """
    coef = levels.named(coef, level)
    if np.ndim(y) == 1:
        arrays.same_labels(x=x, y=y)
    stack = arrays.floats(x, "x")
    ratings = arrays.floats(y, "y")
    dims = (1, 2) if level == "dataset" else (2,)
    if stack.shape[1:] != ratings.shape or ratings.ndim not in dims:
        raise ValueError(
            f"level={level!r}: got x {stack.shape} and y {ratings.shape}; "
            "pass X[judge, system, input], or X[judge, item] at dataset level"
        )
    pairs = [arrays.fill(scores, ratings, nan)[:2] for scores in stack]
    a, b = np.stack(pairs, axis=1)
    present = ~np.isnan(a)
    lacks_items = present.reshape(len(a), -1).sum(axis=1) < 3
    if level == "system":
        lacks_items |= present.any(axis=2).sum(axis=1) < 3
    values = levels.stacked(a, b, coef, level)
    return np.where(lacks_items, np.nan, values)


def _constant_sides(x: Floats, y: Floats, prefix: str = "") -> str:
    """Why a coefficient is not defined: which side, by its name, is constant."""
    sides = []
    for name, side in {f"{prefix}scores": x, f"{prefix}ratings": y}.items():
        low = np.nanmin(side)
        high = np.nanmax(side)
        if low == high:
            sides.append(f"constant {name} (all {low:g})")
        elif high - low <= 1e-12 * max(abs(low), abs(high)):
            sides.append(f"{name} constant but for rounding (all near {low:g})")
    cause = " and ".join(sides) or "constant ranks"
    return f"{cause}: the coefficient is not defined"


def by_stratum(
    x: Any,
    y: Any,
    strata: Any,
    coef: str = "kendall-b",
    level: str = "dataset",
    ci: str | bool | None = None,
) -> dict[Any, Correlation]:
    """How well does the judge follow the ratings within each kind of item?

    x, y, coef, level, ci: as in `correlate`.
    strata: a label for each item (shaped like x) or for each input of `X[system,
        input]`.
    Returns: a correlation by label, in order of first appearance. A stratum with too
        few items has NaN and says so.
    Raises: ValueError as `correlate`, for labels that do not fit, and for missing ones.
    """
    a, b = arrays.alike(x=x, y=y)
    arrays.same_labels(x=x, strata=strata)
    labels = np.asarray(strata)
    if a.ndim == 2 and labels.shape == (a.shape[1],):
        labels = np.broadcast_to(labels, a.shape)
    if labels.shape != a.shape:
        raise ValueError(
            f"strata: got shape {labels.shape} for items {a.shape}; "
            "pass a label for each item or input"
        )
    advice = "name them, or leave those items out"
    arrays.all_labelled(labels.ravel().tolist(), "strata", advice)
    by_label: dict[Any, Correlation] = {}
    for label in dict.fromkeys(labels.ravel().tolist()):
        inside = labels == label
        # Only inputs with an item of this kind: the others would count as skipped.
        columns = inside.any(axis=0) if a.ndim == 2 else inside
        scores = np.where(inside, a, np.nan)[..., columns]
        ratings = np.where(inside, b, np.nan)[..., columns]
        try:
            correlation = correlate(scores, ratings, coef, level, ci=ci)
        except arrays.TooFew as error:
            correlation = uncorrelated(scores, ratings, coef, level, str(error))
        # Items of other strata are no missing ones of this.
        n_missing = int((inside & (np.isnan(a) | np.isnan(b))).sum())
        total = int(inside.sum())
        by_label[label] = replace(correlation, n_missing=n_missing, total=total)
    return by_label


@dataclass(frozen=True, repr=False)
class Bounds(Result):
    """How low and how high the correlation gets when missing scores may be anything on
    the scale.

    low, high: the extremes over the `n_fills` fills tried, so the truth may lie further
        out, never further in; for Pearson at dataset level, low is exact where it is at
        least 0.
    value: the correlation without the missing items.
    n_missing, total: rated items without a score, of how many items.
    scale: the ends of the judge's scale.
    """

    low: float
    high: float
    value: float
    coef: str
    level: str
    n_missing: int
    total: int
    n_fills: int
    scale: tuple[float, float]

    def signature(self) -> str:
        low, high = self.scale
        missing = f"nan:worst-case({self.n_missing}/{self.total})"
        fills = f"scale:{low:g}-{high:g}|fills:{self.n_fills}"
        return f"level:{self.level}|coef:{self.coef}|{missing}|{fills}"


def bounds(
    x: Any,
    y: Any,
    low: float,
    high: float,
    coef: str = "kendall-b",
    level: str = "dataset",
) -> Bounds:
    """Between what limits could the correlation lie if the judge had given the missing
    scores?

    Fills tried: at every cut between ratings, one end of the scale below it and the
    other above, and the same with the scores at each end slightly spread in the order
    of the ratings, or against it.

    x, y, coef, level: as in `correlate`; items without a rating are left out.
    low, high: ends of the judge's scale.
    Raises: ValueError as `correlate`, for low >= high, and for scores off the scale.
    """
    low, high = arrays.scale(low, high)
    a, b = arrays.alike(x=x, y=y)
    off = a[(a < low) | (a > high)]
    if len(off):
        raise ValueError(f"x: got {off[0]:g} on a scale from {low:g} to {high:g}")
    point = correlate(a, b, coef, level)
    gap = np.isnan(a) & ~np.isnan(b)
    values = [point.value]
    if gap.any():
        for scores in _fills(b[gap], low, high):
            a[gap] = scores
            sides = arrays.fill(a, b)[:2]
            values.append(levels.plan(*sides, point.coef, level).value)
    return Bounds(
        low=float(np.fmin.reduce(values)),
        high=float(np.fmax.reduce(values)),
        value=point.value,
        coef=point.coef,
        level=level,
        n_missing=int(gap.sum()),
        total=a.size,
        n_fills=len(values) - 1,
        scale=(low, high),
    )


def _fills(
    ratings: Floats, low: float, high: float, most_cuts: int = 60
) -> Iterator[Floats]:
    """Scores for the missing items, (missing,): two-valued by a cut in their ratings (of
    many, by so many quantiles), and the same with a slight order within.
    """
    distinct = np.unique(ratings)
    cuts = distinct
    if len(cuts) > most_cuts:
        shares = np.linspace(0, 1, most_cuts)
        cuts = np.unique(np.quantile(ratings, shares, method="nearest"))
    # A millionth of the scale orders the scores and hardly moves them.
    most = (high - low) * 1e-6
    slight = most * (np.searchsorted(distinct, ratings) / len(distinct))
    # The last cut has all ratings below it.
    for edge in (*cuts, np.inf):
        above = ratings >= edge
        yield np.where(above, high, low)
        yield np.where(above, low, high)
        yield np.where(above, high - most + slight, low + slight)
        yield np.where(above, low + most - slight, high - slight)
