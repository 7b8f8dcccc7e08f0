"""The mean human rating of each system, and differences of systems, from a judge's
scores on everything and human ratings of some.

Labels are those outputs that people rated. Which are labelled must not depend on what
the rating would be: drawn at random by output, or by input for all systems at once. The
judge must not have seen the labels: one that was fitted on them makes the interval
narrow and wrong. Where its scores spread otherwise on labelled outputs than on all, the
result says so; a judge that hides it better is not seen. Raters are taken as they are:
the interval holds for the mean of such raters' ratings, not for other raters.
`python -m tools.estimate_coverage` measures the intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from judgecard.label_plans import LabelPlan, fewest_labels
from nlgeval_lib.statistics import arrays, groups
from nlgeval_lib.statistics.classical import special
from nlgeval_lib.statistics.draws import Ints
from nlgeval_lib.statistics.ranks import RankSets, rank_sets, stepdown_p
from nlgeval_lib.statistics.result import NAN, Floats, Interval, Measured, Result

if TYPE_CHECKING:
    import pandas as pd

# labels of a system, and groups of inputs (topics) with labels, below which an interval
# is wide by necessity
FEW_LABELS = 10
FEW_GROUPS = 5
# skewness of labels, from which fewer than 25 times its square are few
SKEWED = 1.0
# standard errors between the judge's mean score, or its spread, of labelled and of all
# outputs
UNLIKELY = 3.5
# what `Estimates` has, and `labels_needed` may be asked of
KINDS = ("means", "differences")


@dataclass(frozen=True, repr=False)
class Estimated(Measured):
    """A system's mean rating, or the difference of two systems' ("first - second").

    value: in units of the ratings; NaN with a reason for fewer than 2 labels (or
    groups with labels).
    labels_alone, low_alone, high_alone: what the ratings alone give.
    judge_alone: what the scores alone give, in their own units.
    n, total: labels, and outputs with a score; of a difference the fewer of both.
    worth: labels that would be needed without the judge for the same interval, a label.
    weight: of the judge.
    p: that a difference is 0, two-sided; NaN of a mean.
    reason: why there is no interval, or what to doubt; "" for nothing.
    """

    value: float
    name: str
    labels_alone: float
    low_alone: float
    high_alone: float
    judge_alone: float
    n: int
    total: int
    worth: float
    weight: float
    interval: Interval
    p: float = NAN
    reason: str = ""

    def signature(self) -> str:
        counts = f"labels:{self.n}/{self.total}"
        method = f"mean:ppi++|weight:{self.weight:.3g}|{counts}"
        return method + self.interval.signature()


@dataclass(frozen=True, repr=False)
class Estimates(Result):
    """The mean rating of each system and the differences of all pairs.

    n: labels. inputs: how many the data have.
    contrasts: what means and differences are made from, by `KINDS`.
    reason: what speaks against the estimates as a whole, "" for nothing.
    """

    names: tuple[str, ...]
    n: int
    inputs: int
    confidence: float
    contrasts: dict[str, _Contrasts]
    reason: str = ""

    @property
    def n_groups(self) -> int:
        """Groups of inputs, 0 where there are none."""
        means = self.contrasts["means"]
        return means.parts.shape[1] if means.grouped else 0

    @cached_property
    def means(self) -> tuple[Estimated, ...]:
        """One a system, in order of the data."""
        return self.contrasts["means"].estimates(self.names, self.confidence)

    @cached_property
    def differences(self) -> tuple[Estimated, ...]:
        """One a pair, the earlier system less the later; none for one system."""
        if "differences" not in self.contrasts:
            return ()
        pairs = combinations(self.names, 2)
        names = [f"{first} - {second}" for first, second in pairs]
        return self.contrasts["differences"].estimates(names, self.confidence)

    @property
    def worth_means(self) -> float:
        """Labels that would be needed without the judge, a label, over all systems."""
        return self.contrasts["means"].worth()

    @property
    def worth_differences(self) -> float:
        """The same for the differences; NaN for one system."""
        if "differences" not in self.contrasts:
            return NAN
        return self.contrasts["differences"].worth()

    def difference(self, first: str, second: str) -> Estimated:
        """The difference of two systems by name, as it is listed."""
        by_name = {pair.name: pair for pair in self.differences}
        return by_name[f"{first} - {second}"]

    def to_frame(self) -> pd.DataFrame:
        """A table of the means, a row a system."""
        import pandas as pd

        return pd.DataFrame([mean.row() for mean in self.means])

    def differences_frame(self) -> pd.DataFrame:
        """A table of the differences, a row a pair, p as it is (not corrected)."""
        import pandas as pd

        return pd.DataFrame([pair.row() for pair in self.differences])

    def answer(self) -> dict[str, Any]:
        return {
            "systems": len(self.names),
            "labels": self.n,
            "worth_means": self.worth_means,
            "worth_differences": self.worth_differences,
        }

    def corrected(self, n_draws: int = 10_000, seed: int = 0) -> Floats:
        """p of each difference, corrected over all of them as `stepdown_p` does:
        (pairs,).
        """
        p = [difference.p for difference in self.differences]
        return stepdown_p(p, self.contrasts["differences"].parts, n_draws, seed)

    def rank_sets(self, alpha: float = 0.05, seed: int = 0) -> RankSets:
        """The ranks that each system can have, for all systems at once.

        alpha: the chance, in (0, 1), that a true rank lies outside its set.
        Raises: ValueError for a single system, and an alpha outside (0, 1).
        """
        if not self.differences:
            raise ValueError("rank sets need at least 2 systems")
        systems = len(self.names)
        p = np.full((systems, systems), np.nan)
        first, second = np.triu_indices(systems, 1)
        adjusted = self.corrected(seed=seed)
        p[first, second] = adjusted
        p[second, first] = adjusted
        values = [mean.value for mean in self.means]
        return rank_sets(values, p, alpha, self.names)

    def labels_needed(self, width: float, of: str = "means") -> LabelPlan:
        """How many inputs must people rate until an interval is as narrow, by the
        spread of these labels?

        width: from end to end, in units of the ratings, on average over systems (or
        pairs).
        of: one of `KINDS`.
        Raises: ValueError for a width that is not above 0, another `of`, and inputs
        with groups: more labels of the same topics say less than those of others.
        """
        arrays.choice(of, KINDS, "of")
        if self.n_groups:
            raise ValueError(
                "labels_needed: inputs have groups, and how many labels are needed "
                "depends on how many groups they are drawn from; estimate without them"
            )
        residual, shared, alone = self.contrasts[of].by_labels()
        return fewest_labels(
            width,
            residual=residual,
            shared=shared,
            alone=alone,
            inputs=self.inputs,
            confidence=self.confidence,
        )

    def signature(self) -> str:
        weights = [f"{contrasts.weight:.3g}" for contrasts in self.contrasts.values()]
        data = f"systems:{len(self.names)}|inputs:{self.inputs}|labels:{self.n}"
        confidence = arrays.exactly(self.confidence)
        if self.n_groups:
            data = f"{data}|groups:inputs({self.n_groups})"
        return f"mean:ppi++|{data}|weights:{'/'.join(weights)}|conf:{confidence}"


def estimate(
    judge: Any,
    human: Any,
    names: Sequence[Any] | None = None,
    confidence: float = 0.95,
    input_groups: Any = None,
    chances: Any = None,
) -> Estimates:
    """What is each system's mean rating, and which differ, when people rated some
    outputs and a judge scored all?

    A mean is that of the labels, less weight times how much higher the judge scored the
    labelled outputs than all; the weight is the one that makes the variance least
    (power tuning), one for all means and one for all differences. The variance takes
    inputs like these as units, each with the weight of the others (cross-fitted); t with
    labels - 1 degrees of freedom (groups with labels - 1).

    judge: scores `X[system, input]` (or flat: one system), on any scale.
    human: ratings of the same shape, NaN where nobody rated.
    names: of the systems; None for numbers from 1. confidence: in (0, 1).
    input_groups: a label an input (its topic): groups are the units then, and it holds
    for other topics like these.
    chances: by which each output was drawn, in (0, 1], of the scores' shape.
    Raises: ValueError for bad arrays, names or groups that do not match, no rating at
    all, a label without a chance, and a confidence outside (0, 1).
    Source: Angelopoulos, Duchi and Zrnic 2023 (PPI++), equations 3 and 6; the same as
    the regression estimator of double sampling (Cochran 1977, section 12.6).
    """
    arrays.share(confidence, "confidence")
    x, y = map(np.atleast_2d, arrays.alike(judge=judge, human=human))
    labels = arrays.unit_names(names, len(x), "systems")
    if len(set(labels)) < len(x):
        raise ValueError(f"names: a system is there twice in {labels}; one for each")
    labelled = ~np.isnan(x) & ~np.isnan(y)
    if not labelled.any():
        raise ValueError("human: no output has both a rating and a score")
    codes = groups.encode_groups(x.shape, None, input_groups).get("inputs")
    weights = _weights(chances, labelled)
    means = _of_systems(x, np.where(labelled, y, np.nan), codes, weights)
    contrasts = {"means": means}
    if len(labels) > 1:
        contrasts["differences"] = means.differences()
    return Estimates(
        names=labels,
        n=int(labelled.sum()),
        inputs=x.shape[1],
        confidence=confidence,
        contrasts=contrasts,
        reason=_doubts(means, x, labelled, weights),
    )


def _weights(chances: Any, labelled: np.ndarray) -> Floats:
    """How many outputs each label counts for. Raises: ValueError."""
    if chances is None:
        return np.ones(labelled.shape)
    weights = 1 / np.atleast_2d(np.asarray(chances, dtype=float))
    if not (weights[labelled] >= 1).all():
        raise ValueError("chances: each label needs one in (0, 1]")
    return weights


class _Counts(NamedTuple):
    """What is counted of each system, or of each pair the fewer of both: (contrast,).

    n: labels. total: outputs with a score. off_mode: labels that are not the commonest
    one. units: labels, or groups with labels.
    """

    n: Floats
    total: Floats
    off_mode: Floats
    units: Floats


class _Contrasts:
    """Means of systems, or differences of them, with the weight of the judge that makes
    their variance least.

    values: `[quantity, contrast]`, the mean rating of the labels, the judge's mean of
    the labelled outputs, and that of all outputs.
    errors: `[quantity, contrast, input]`, what each input contributes to the error of
    each of the three; where inputs have groups, each is a group's.
    skew: skewness of the labels; None of differences, in which it cancels mostly.
    weight: one for all contrasts; 0 where the judge would make the interval wider.
    parts: contributions to the error, `[contrast, input]`, each input's with the weight
    that the other inputs give (cross-fitting).
    variance, variance_alone: squared standard error with and without the judge.
    """

    def __init__(
        self,
        values: Floats,
        errors: Floats,
        counts: _Counts,
        grouped: bool,
        skew: Floats | None,
    ) -> None:
        self.values = values
        self.errors = errors
        self.counts = counts
        self.grouped = grouped
        self.skew = skew
        of_ratings, of_labelled, of_all = errors
        control = of_labelled - of_all
        # The slope of the ratings' errors on the judge's, from sums by input; and of
        # each input's errors that of all other inputs.
        products = (of_ratings * control).sum(axis=0)
        squares = (control**2).sum(axis=0)
        self.weight = float(_ratio(products.sum(), squares.sum()))
        of_others = _ratio(products.sum() - products, squares.sum() - squares)
        self.parts = of_ratings - of_others * control
        # Few wild scores can make a judge worse than none on inputs it was not tuned on.
        if np.nansum(self.parts**2) > np.nansum(of_ratings**2):
            self.weight = 0.0
            self.parts = of_ratings
        self.variance = (self.parts**2).sum(axis=1)
        self.variance_alone = (of_ratings**2).sum(axis=1)
        self.defined = ~np.isnan(values[0])

    @property
    def shift(self) -> Floats:
        """How much higher the judge scored labelled outputs than all: (contrast,)."""
        return np.asarray(self.values[1] - self.values[2])

    def differences(self) -> _Contrasts:
        """The difference of each pair of systems, the earlier less the later."""
        first, second = np.triu_indices(len(self.defined), 1)
        counts = [np.minimum(count[first], count[second]) for count in self.counts]
        return _Contrasts(
            self.values[:, first] - self.values[:, second],
            self.errors[:, first] - self.errors[:, second],
            _Counts(*counts),
            self.grouped,
            None,
        )

    def worth(self) -> float:
        """Labels that would be needed without the judge, a label there is; NaN without
        a variance.
        """
        with_judge = self.variance[self.defined].sum()
        if with_judge > 0:
            return float(self.variance_alone[self.defined].sum() / with_judge)
        return NAN

    def by_labels(self) -> tuple[float, float, float]:
        """What the variance is made of, on average: a part that goes with 1 over the
        number of labels, for one label; one that stays; and without the judge, for one
        label.
        """
        of_ratings, of_labelled, of_all = self.errors
        residual = of_ratings - self.weight * of_labelled
        shared = self.weight * of_all
        # (residual + shared)^2 = residual^2 + (2 residual + shared) shared.
        for_one = (residual**2).sum(axis=1) * self.counts.n
        stays = ((2 * residual + shared) * shared).sum(axis=1)
        alone = self.variance_alone * self.counts.n
        parts = np.stack([for_one, stays, alone])[:, self.defined]
        mean_for_one, mean_that_stays, mean_alone = parts.mean(axis=1).tolist()
        return mean_for_one, mean_that_stays, mean_alone

    def estimates(
        self, names: Sequence[str], confidence: float
    ) -> tuple[Estimated, ...]:
        """One a contrast, in the order of their names; differences with their p."""
        estimates = []
        for row, name in enumerate(names):
            estimates.append(self._estimate(row, name, confidence))
        return tuple(estimates)

    def _estimate(self, row: int, name: str, confidence: float) -> Estimated:
        """The contrast of a row."""
        n, total, off_mode, units = np.array(self.counts)[:, row].astype(int).tolist()
        alone, _, judge_alone = self.values[:, row].tolist()
        value = float(alone - self.weight * self.shift[row])
        variance = float(self.variance[row])
        variance_alone = float(self.variance_alone[row])
        reasons = [_few_labels(n, off_mode)]
        settings = f"|df:{units - 1}"
        if self.grouped:
            reasons.insert(0, _few_groups(units))
            settings += f"|groups:inputs({units})"
        if self.skew is not None:
            reasons.append(_skewed(n, float(self.skew[row])))
        reason = "; ".join(filter(None, reasons))
        if confidence != 0.95:
            settings += f"|conf:{arrays.exactly(confidence)}"
        low, high = _ends(value, variance, units, confidence)
        low_alone, high_alone = _ends(alone, variance_alone, units, confidence)
        p = worth = NAN
        if variance > 0:
            worth = variance_alone / variance
        if self.skew is None and variance > 0:
            p = float(2 * special.stdtr(units - 1, -abs(value) / np.sqrt(variance)))
        return Estimated(
            value=value,
            name=name,
            labels_alone=alone,
            low_alone=low_alone,
            high_alone=high_alone,
            judge_alone=judge_alone,
            n=n,
            total=total,
            worth=worth,
            weight=self.weight,
            interval=Interval(low, high, "jack-inputs", settings, reason=reason),
            p=p,
            reason=reason,
        )


def _of_systems(
    x: Floats, y: Floats, codes: Ints | None, weights: Floats
) -> _Contrasts:
    """The means of systems, and what their errors are made of."""
    labelled = ~np.isnan(y)
    scored = ~np.isnan(x)
    sides = (
        _mean_and_parts(y, codes, weights),
        _mean_and_parts(np.where(labelled, x, np.nan), codes, weights),
        _mean_and_parts(x, codes, np.ones(x.shape)),
    )
    labels = [row[~np.isnan(row)] for row in y]
    counts = _Counts(
        n=labelled.sum(axis=1).astype(float),
        total=scored.sum(axis=1).astype(float),
        off_mode=np.array([_off_mode(ratings) for ratings in labels], dtype=float),
        units=(_by_group(labelled, codes) > 0).sum(axis=1).astype(float),
    )
    return _Contrasts(
        np.stack([means for means, _ in sides]),
        np.stack([parts for _, parts in sides]),
        counts,
        codes is not None,
        np.array([_skewness(ratings) for ratings in labels]),
    )


def _by_group(values: Any, codes: Ints | None) -> Floats:
    """The sum of each row over the inputs of each group: `[row, group]`; without groups
    the values themselves.
    """
    if codes is None:
        return values.astype(float)
    member = codes[:, None] == np.arange(codes.max() + 1)
    return values.astype(float) @ member.astype(float)


def _mean_and_parts(
    values: Floats, codes: Ints | None, weights: Floats
) -> tuple[Floats, Floats]:
    """The mean of each row, (rows,), and what each input (or group) contributes to its
    error: the squares add up to the squared standard error. NaN, and 0, for a row of
    fewer than 2.

    Source: the ratio estimator of cluster sampling (Cochran 1977, section 9A.2).
    """
    present = ~np.isnan(values)
    counted = np.where(present, weights, 0.0)
    size = counted.sum(axis=1, keepdims=True)
    units = (_by_group(present, codes) > 0).sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.where(present, counted * values, 0).sum(axis=1, keepdims=True)
        means = total / size
        gaps = np.where(present, counted * (values - means), 0) / size
        parts = _by_group(gaps, codes) * np.sqrt(units / (units - 1.0))
    enough = units >= 2
    return np.where(enough, means, np.nan)[:, 0], np.where(enough, parts, 0)


def _off_mode(ratings: Floats) -> int:
    """How many ratings, of (labels,), are not the commonest one."""
    counts = np.unique(ratings, return_counts=True)[1]
    return len(ratings) - int(counts.max(initial=0))


def _skewness(ratings: Floats) -> float:
    """The third standardized moment of ratings, of (labels,); 0 without a spread."""
    gaps = ratings - (ratings.mean() if len(ratings) else 0)
    variance = float((gaps**2).mean()) if len(ratings) else 0.0
    if not variance > 0:
        return 0.0
    return float((gaps**3).mean() / variance**1.5)


def _ratio(products: Any, squares: Any) -> Any:
    """The weight; 0 where the judge's scores do not vary, or all is labelled."""
    varies = np.asarray(squares) > 1e-24
    divisor = np.where(varies, squares, 1)
    weight = np.where(varies, products / divisor, 0.0)
    # A number for numbers, and not an array of no dimension.
    return weight[()]


def _ends(
    value: float, variance: float, units: int, confidence: float
) -> tuple[float, float]:
    """Value -+ t standard errors, with units - 1 degrees of freedom."""
    if units < 2 or not variance > 0:
        return NAN, NAN
    quantile = special.stdtrit(units - 1, (1 + confidence) / 2)
    reach = quantile * np.sqrt(variance)
    return float(value - reach), float(value + reach)


def _few_labels(n: int, off_mode: int) -> str:
    """What few labels, or labels that hardly vary, mean, in words; "" for enough."""
    if n < 2:
        return f"no estimate: {n} label(s); at least 2 are needed"
    if off_mode == 0:
        return f"no interval: all {n} ratings are equal"
    if n < FEW_LABELS:
        return f"{n} labels: wide by necessity"
    if off_mode < 5:
        return (
            f"{off_mode} of {n} ratings differ from the commonest: "
            "the interval is likely too narrow"
        )
    return ""


def _skewed(n: int, skew: float) -> str:
    """What skewed labels mean, in words; "" for labels that are enough.

    Source: Cochran 1977, section 2.15: n above 25 times the squared skewness. Of few
    normal labels the skewness is often somewhat off 0, so up to 1 it is let pass.
    """
    if n < 3 or abs(skew) < SKEWED or n > 25 * skew**2:
        return ""
    return (
        f"the ratings are skewed ({skew:+.1f}), and {n} labels are few for that: the "
        "interval is likely too narrow"
    )


def _few_groups(units: int) -> str:
    """What few groups with labels mean, in words; "" for enough."""
    if units < 2:
        return f"no estimate: {units} group(s) of inputs with labels; 2 are needed"
    if units < FEW_GROUPS:
        return f"{units} groups of inputs with labels: wide by necessity"
    return ""


def _doubts(systems: _Contrasts, x: Floats, labelled: Any, weights: Floats) -> str:
    """What speaks against the estimates as a whole, in words; "" for nothing."""
    notes = []
    no_score = int(np.isnan(x).sum())
    if no_score:
        notes.append(
            f"{no_score} of {x.size} outputs (one a system and input) have no score, or "
            "are not there, and stay out"
        )
    shift = _shift(systems)
    if abs(shift) > UNLIKELY:
        than = "higher" if shift > 0 else "lower"
        notes.append(
            f"the judge scores labelled outputs {than} than all, by more than chance: "
            "labels that were not drawn at random do not give these intervals"
        )
    if _is_told_apart(x, labelled, weights):
        notes.append(
            "the judge's scores spread otherwise on labelled outputs than on all, by "
            "more than chance: has it seen the labels? One that has (fitted on them, or "
            "shown them) makes these intervals too narrow; score --cross-fit, or label "
            "others"
        )
    return "; ".join(notes)


def _shift(systems: _Contrasts) -> float:
    """How many standard errors, with inputs as units, the judge's mean of labelled
    outputs lies above that of all, over all systems; 0 without an error.
    """
    of_inputs = (systems.errors[1] - systems.errors[2]).sum(axis=0)
    error = float(np.sqrt((of_inputs**2).sum()))
    if error > 0:
        return float(np.nansum(systems.shift)) / error
    return 0.0


def _is_told_apart(x: Floats, labelled: Any, weights: Floats) -> bool:
    """Whether the scores' distances from their system's median are other ones where
    there are labels: a judge that was fitted on labels follows them there alone.
    """
    few = labelled.sum(axis=1) < 2
    if few.all():
        return False
    x = x[~few]
    labelled = labelled[~few]
    weights = weights[~few]
    distances = np.abs(x - np.nanmedian(x, axis=1, keepdims=True))
    of_labelled = np.where(labelled, distances, np.nan)
    systems = _of_systems(distances, of_labelled, None, weights)
    return abs(_shift(systems)) > UNLIKELY
