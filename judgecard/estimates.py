"""The mean human rating of each system, and differences of systems, from a judge's
scores on everything and human ratings of some.

Labels are those outputs that people rated. Which are labelled must not depend on what
the rating would be: drawn at random by output, or by input for all systems at once. The
judge must not have seen the labels: one that was fitted on them makes the interval
narrow and wrong. Where its scores spread otherwise on labelled outputs than on all, the
result says so; a judge that hides it better is not seen. Raters are taken as they are:
the interval holds for the mean of such raters' ratings, not for other raters.
Measured (`python -m tools.estimate_coverage`): coverage of 95 % intervals .93 to .97 in
all worlds with 30 labels a system or more, drawn by a law or from rated data; .92 with
15 labels of which 8 in 10 have the highest rating.

`estimate` gives `Estimates`, with an `Estimated` for each mean and each difference.
`_of_systems` makes means and their errors from the data (`_Contrasts`), `_Tuned` finds
the judge's weight and the variance, and gives the estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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

# labels of a system, below which an interval is wide by necessity
FEW_LABELS = 10
# groups of inputs (topics) with labels, below which an interval is wide by necessity
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
    name: of the system, or "first - second".
    labels_alone: what the ratings alone give.
    low_alone, high_alone: interval of the labels alone.
    judge_alone: what the scores alone give, in their own units.
    n: labels; of a difference the fewer of both systems.
    total: outputs with a score; of a difference the fewer of both systems.
    worth: labels that would be needed without the judge for the same interval, a label.
    weight: of the judge.
    interval: its ends are `low` and `high`; NaN with a reason where there is none.
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

    names: of the systems.
    means: one a system, in order of the data.
    differences: one a pair, the earlier system less the later; empty for one system.
    worth_means, worth_differences: labels that would be needed without the judge, a
    label there is, over all systems.
    n: labels.
    n_without_score: ratings of outputs without a score, which stay out.
    inputs: how many the data have.
    confidence: of the intervals.
    contrasts: what means and differences were made from, by `KINDS`.
    reason: what speaks against the estimates as a whole, "" for nothing.
    n_groups: groups of inputs, 0 where there are none.
    """

    names: tuple[str, ...]
    means: tuple[Estimated, ...]
    differences: tuple[Estimated, ...]
    worth_means: float
    worth_differences: float
    n: int
    n_without_score: int
    inputs: int
    confidence: float
    contrasts: dict[str, _Tuned]
    reason: str = ""
    n_groups: int = 0

    def difference(self, first: str, second: str) -> Estimated:
        """The difference of two systems by name, first less second.

        Raises: ValueError for an unknown name, one name twice, and a pair that is
        listed the other way round.
        """
        for name in (first, second):
            arrays.choice(name, self.names, "system")
        for pair in self.differences:
            if pair.name == f"{first} - {second}":
                return pair
        raise ValueError(f"ask for {second!r} less {first!r}, which is listed")

    def to_frame(self) -> pd.DataFrame:
        """A table of the means, a row a system."""
        return self._table(self.means)

    def differences_frame(self) -> pd.DataFrame:
        """A table of the differences, a row a pair, p as it is (not corrected)."""
        return self._table(self.differences)

    def _table(self, estimates: Sequence[Estimated]) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame([estimate.row() for estimate in estimates])

    def answer(self) -> dict[str, Any]:
        """How many systems and labels there are, and what the judge is worth."""
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
        seed: of the correction of p, as in `corrected`.
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
        """How many inputs must people rate until an interval is as narrow?

        Reckoned from the spread of these labels.
        width: from end to end, in units of the ratings, on average over systems (or
        pairs).
        of: "means" or "differences".
        Raises: ValueError for a width that is not above 0, another `of`, and inputs
        with groups: more labels of the same topics say less than those of others.
        """
        arrays.choice(of, KINDS, "of")
        if self.n_groups:
            raise ValueError(
                "labels_needed: inputs have groups, and how many labels are needed "
                "depends on how many groups they are drawn from; estimate without them"
            )
        tuned = self.contrasts[of]
        residual, shared = tuned.by_labels()
        return fewest_labels(
            width,
            residual=residual,
            shared=shared,
            alone=tuned.alone_by_labels(),
            inputs=self.inputs,
            confidence=self.confidence,
        )

    def signature(self) -> str:
        weights = [f"{tuned.weight:.3g}" for tuned in self.contrasts.values()]
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
    """What is each system's mean rating, and which systems differ, when people rated
    some outputs and a judge scored all?

    A mean is that of the labels, less weight times how much higher the judge scored the
    labelled outputs than all; the weight is the one that makes the variance least
    (power tuning), one for all means and one for all differences. The variance takes
    inputs as units, each with the weight that the others give (cross-fitted); t with
    labels - 1 degrees of freedom (groups with labels - 1). It holds for inputs like
    these and for these systems, so families of systems are not asked for.

    judge: scores `X[system, input]` (or flat: one system), on any scale.
    human: ratings of the same shape, NaN where nobody rated.
    names: of the systems; None for numbers from 1.
    confidence: of the intervals, in (0, 1).
    input_groups: a label an input (its topic): groups are the units then, and it holds
    for other topics like these.
    chances: by which each output was drawn, in (0, 1], of the scores' shape.
    Raises: ValueError for bad arrays, names or groups that do not match, no rating at
    all, a label without a chance, and a confidence outside (0, 1).
    Source: Angelopoulos, Duchi and Zrnic 2023 (PPI++), equations 3 and 6; the same as
    the regression estimator of double sampling (Cochran 1977, section 12.6).
    """
    arrays.share(confidence, "confidence")
    x, y = arrays.alike(judge=judge, human=human)
    x = np.atleast_2d(x)
    y = np.atleast_2d(y)
    labels = _names(names, len(x))
    labelled = ~np.isnan(x) & ~np.isnan(y)
    if not labelled.any():
        raise ValueError("human: no output has both a rating and a score")
    codes = groups.encode_groups(x.shape, None, input_groups).get("inputs")
    weights = _weights(chances, labelled)
    systems = _of_systems(x, np.where(labelled, y, np.nan), codes, weights)
    counts = {
        "n": int(labelled.sum()),
        "n_without_score": int((~np.isnan(y) & np.isnan(x)).sum()),
        "inputs": x.shape[1],
    }
    if codes is not None:
        counts["n_groups"] = int(codes.max()) + 1
    doubts = _doubts(systems, x, y, weights)
    return _estimates(systems, labels, confidence, doubts, counts)


def _weights(chances: Any, labelled: np.ndarray) -> Floats:
    """How many outputs each label counts for. Raises: ValueError."""
    if chances is None:
        return np.ones(labelled.shape)
    weights = 1 / np.atleast_2d(np.asarray(chances, dtype=float))
    if not (weights[labelled] >= 1).all():
        raise ValueError("chances: each label needs one in (0, 1]")
    return weights


def _estimates(
    systems: _Contrasts,
    labels: tuple[str, ...],
    confidence: float,
    reason: str,
    counts: dict[str, int],
) -> Estimates:
    """The estimates of all systems and of all pairs."""
    means = _Tuned(systems)
    contrasts = {"means": means}
    differences: tuple[Estimated, ...] = ()
    worth_differences = NAN
    pairs = list(combinations(range(len(labels)), 2))
    if pairs:
        names = [f"{labels[first]} - {labels[second]}" for first, second in pairs]
        tuned = _Tuned(systems.differences(pairs))
        contrasts["differences"] = tuned
        differences = tuned.estimates(names, confidence, tested=True)
        worth_differences = tuned.worth()
    return Estimates(
        names=labels,
        means=means.estimates(labels, confidence),
        differences=differences,
        worth_means=means.worth(),
        worth_differences=worth_differences,
        confidence=confidence,
        contrasts=contrasts,
        reason=reason,
        **counts,
    )


def _names(names: Sequence[Any] | None, systems: int) -> tuple[str, ...]:
    """The systems' names as text; numbers from 1 where there are none."""
    if names is None:
        return tuple(str(place + 1) for place in range(systems))
    labels = tuple(map(str, names))
    if len(labels) != systems or len(set(labels)) != systems:
        raise ValueError(
            f"names: got {len(labels)} ({len(set(labels))} different) "
            f"for {systems} systems; pass one for each"
        )
    return labels


class _Contrasts(NamedTuple):
    """Means of systems, or differences of them: (contrast,), and what each input
    contributes to their errors: `[contrast, input]`.

    ratings: mean rating of the labels.
    shift: the judge's mean of the labelled outputs less that of all.
    scores: the judge's mean of all outputs.
    rating_parts, labelled_parts, score_parts: contributions to the errors of the
    ratings' mean and of the judge's means of labelled and of all outputs. Where inputs
    have groups, each is a group's.
    n: labels. total: outputs with a score.
    off_mode: labels that are not the commonest one.
    units: labels, or groups with labels.
    skew: skewness of the labels; 0 of a difference, in which it cancels mostly.
    grouped: inputs have groups.
    """

    ratings: Floats
    shift: Floats
    scores: Floats
    rating_parts: Floats
    labelled_parts: Floats
    score_parts: Floats
    n: Floats
    total: Floats
    off_mode: Floats
    units: Floats
    skew: Floats
    grouped: bool

    @property
    def control_parts(self) -> Floats:
        """Contributions to the error of the shift: `[contrast, input]`."""
        return self.labelled_parts - self.score_parts

    def differences(self, pairs: Sequence[tuple[int, int]]) -> _Contrasts:
        """The difference of each pair of rows, the first less the second.

        Counts are those of the system that has fewer.
        """
        first, second = np.array(pairs).T
        *columns, _, grouped = self
        differences = [column[first] - column[second] for column in columns[:6]]
        counts = [np.minimum(count[first], count[second]) for count in columns[6:]]
        no_skew = np.zeros(len(first))
        return _Contrasts._make([*differences, *counts, no_skew, grouped])


def _of_systems(
    x: Floats, y: Floats, codes: Ints | None, weights: Floats
) -> _Contrasts:
    """The means of systems, and what their errors are made of."""
    labelled = ~np.isnan(y)
    x_labelled = np.where(labelled, x, np.nan)
    ratings, rating_parts = _mean_and_parts(y, codes, weights)
    of_labelled, labelled_parts = _mean_and_parts(x_labelled, codes, weights)
    scores, score_parts = _mean_and_parts(x, codes)
    units = _by_group(labelled, codes) > 0
    off_mode = [_off_mode(row[~np.isnan(row)]) for row in y]
    return _Contrasts(
        ratings=ratings,
        shift=of_labelled - scores,
        scores=scores,
        rating_parts=rating_parts,
        labelled_parts=labelled_parts,
        score_parts=score_parts,
        n=labelled.sum(axis=1).astype(float),
        total=(~np.isnan(x)).sum(axis=1).astype(float),
        off_mode=np.array(off_mode, dtype=float),
        units=units.sum(axis=1).astype(float),
        skew=np.array([_skewness(row[~np.isnan(row)]) for row in y]),
        grouped=codes is not None,
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
    values: Floats, codes: Ints | None = None, weights: Floats | None = None
) -> tuple[Floats, Floats]:
    """The mean of each row and what each value contributes to its error: the squares
    add up to the squared standard error. NaN, and 0, for a row of fewer than 2.

    values: `[row, input]`, NaN missing. weights: of their shape; None for the same.
    codes: the group of each input, which contributes as a whole then.
    Returns: means (rows,); contributions `[row, input]`, or `[row, group]`.
    Source: the ratio estimator of cluster sampling (Cochran 1977, section 9A.2).
    """
    present = ~np.isnan(values)
    counted = present.astype(float)
    if weights is not None:
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
    if not len(ratings):
        return 0
    counts = np.unique(ratings, return_counts=True)[1]
    return len(ratings) - int(counts.max())


def _skewness(ratings: Floats) -> float:
    """The third standardized moment of ratings, of (labels,); 0 without a spread."""
    gaps = ratings - (ratings.mean() if len(ratings) else 0)
    variance = float((gaps**2).mean()) if len(ratings) else 0.0
    if not variance > 0:
        return 0.0
    return float((gaps**3).mean() / variance**1.5)


class _Tuned:
    """Contrasts with the weight of the judge that makes their variance least.

    weight: one for all contrasts; 0 where the judge would make the interval wider.
    parts: contributions to the error, `[contrast, input]`, each input's with the weight
    that the other inputs give.
    variance, variance_alone: squared standard error with and without the judge.
    values: the estimates. defined: contrasts with an estimate. All (contrasts,).
    """

    def __init__(self, contrasts: _Contrasts) -> None:
        self.contrasts = contrasts
        ratings = contrasts.rating_parts
        control = contrasts.control_parts
        # The slope of the ratings' errors on the judge's, from sums by input; and of
        # each input's errors that of all other inputs (cross-fitting).
        products = (ratings * control).sum(axis=0)
        squares = (control**2).sum(axis=0)
        all_products = products.sum()
        all_squares = squares.sum()
        self.weight = _ratio(all_products, all_squares)
        of_others = _ratio(all_products - products, all_squares - squares)
        self.parts = ratings - of_others * control
        # Few wild scores can make a judge worse than none on inputs it was not tuned on.
        if np.nansum(self.parts**2) > np.nansum(ratings**2):
            self.weight = 0.0
            self.parts = ratings
        self.variance = (self.parts**2).sum(axis=1)
        self.variance_alone = (ratings**2).sum(axis=1)
        self.values = contrasts.ratings - self.weight * contrasts.shift
        self.defined = ~np.isnan(contrasts.ratings)

    def worth(self) -> float:
        """Labels that would be needed without the judge, a label there is; NaN without
        a variance.
        """
        defined = self.defined
        alone = self.variance_alone[defined].sum()
        with_judge = self.variance[defined].sum()
        if with_judge > 0:
            return float(alone / with_judge)
        return NAN

    def by_labels(self) -> tuple[float, float]:
        """What the variance is made of, on average: a part that goes with 1 over the
        number of labels, for one label; and one that stays.
        """
        contrasts = self.contrasts
        residual = contrasts.rating_parts - self.weight * contrasts.labelled_parts
        shared = self.weight * contrasts.score_parts
        # (residual + shared)^2 = residual^2 + (2 residual + shared) shared.
        for_one = (residual**2).sum(axis=1) * contrasts.n
        stays = ((2 * residual + shared) * shared).sum(axis=1)
        mean_for_one = for_one[self.defined].mean()
        mean_that_stays = stays[self.defined].mean()
        return float(mean_for_one), float(mean_that_stays)

    def alone_by_labels(self) -> float:
        """The variance of the labels' mean alone, for one label, on average."""
        for_one = self.variance_alone * self.contrasts.n
        return float(for_one[self.defined].mean())

    def estimates(
        self, names: Sequence[str], confidence: float, tested: bool = False
    ) -> tuple[Estimated, ...]:
        """One a contrast, in the order of their names.

        tested: with p that each is 0.
        """
        estimates = []
        for row, name in enumerate(names):
            estimates.append(self._estimate(row, name, confidence, tested))
        return tuple(estimates)

    def _estimate(
        self, row: int, name: str, confidence: float, tested: bool
    ) -> Estimated:
        """The contrast of a row. tested: with p that it is 0."""
        contrasts = self.contrasts
        n = int(contrasts.n[row])
        value = float(self.values[row])
        alone = float(contrasts.ratings[row])
        variance = float(self.variance[row])
        variance_alone = float(self.variance_alone[row])
        units = int(contrasts.units[row])
        reasons = [
            _few_groups(units) if contrasts.grouped else "",
            _few_labels(n, int(contrasts.off_mode[row])),
            _skewed(n, float(contrasts.skew[row])),
        ]
        reason = "; ".join(filter(None, reasons))
        low, high = _ends(value, variance, units, confidence)
        low_alone, high_alone = _ends(alone, variance_alone, units, confidence)
        p = NAN
        if tested and variance > 0:
            t = abs(value) / np.sqrt(variance)
            p = float(2 * special.stdtr(units - 1, -t))
        settings = _signature(units, contrasts.grouped, confidence)
        worth = NAN
        if variance > 0:
            worth = variance_alone / variance
        return Estimated(
            value=value,
            name=name,
            labels_alone=alone,
            low_alone=low_alone,
            high_alone=high_alone,
            judge_alone=float(contrasts.scores[row]),
            n=n,
            total=int(contrasts.total[row]),
            worth=worth,
            weight=float(self.weight),
            interval=Interval(low, high, "jack-inputs", settings, reason=reason),
            p=p,
            reason=reason,
        )


def _signature(units: int, grouped: bool, confidence: float) -> str:
    """What an interval rests on, as its signature says it."""
    settings = f"|df:{units - 1}"
    if grouped:
        settings = f"{settings}|groups:inputs({units})"
    if confidence != 0.95:
        settings = f"{settings}|conf:{arrays.exactly(confidence)}"
    return settings


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


def _doubts(systems: _Contrasts, x: Floats, y: Floats, weights: Floats) -> str:
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
    labelled = ~np.isnan(y) & ~np.isnan(x)
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
    of_inputs = systems.control_parts.sum(axis=0)
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
