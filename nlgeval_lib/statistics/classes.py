"""A judge's verdicts against people's, class by class: accuracy, macro-F1, true
positive and negative rates, beside what the commonest verdict alone would reach.

`class_agreement` gives a `ClassAgreement`, which holds an `Agreement` for each measure.
The measures are functions of how often each item counts (`_Table`), so that
`agreement.interval_of` gives their intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arrays, groups
from .agreement import Agreement, interval_of
from .result import NAN, Floats, Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class ClassAgreement(Result):
    """How a judge's classes fit the human ones; several measures, each an `Agreement`.

    measures: accuracy and macro-f1, and those that a tie or a positive class adds.
    constant: accuracy of a judge that always gives `commonest`.
    commonest: the commonest human class.
    n: items with both classes.
    n_missing: the other items.
    classes: how many classes either side gives.
    reason: says so where the judge is no better than that constant; else "".
    """

    measures: tuple[Agreement, ...]
    constant: float
    commonest: float
    n: int
    n_missing: int
    classes: int
    reason: str = ""

    def __getitem__(self, name: str) -> Agreement:
        """A measure by its name: accuracy, macro-f1, accuracy without ties, tpr, tnr.

        Raises: ValueError for a name that is none of the measures'.
        """
        for measure in self.measures:
            if measure.name == name:
                return measure
        names = [measure.name for measure in self.measures]
        raise KeyError(arrays.choice(name, names, "measure"))

    def to_frame(self) -> pd.DataFrame:
        """A row a measure."""
        import pandas as pd

        return pd.DataFrame([measure.row() for measure in self.measures])

    def answer(self) -> dict[str, Any]:
        """The measures, the constant's accuracy and n."""
        values = {measure.name: measure.value for measure in self.measures}
        return {**values, "constant": self.constant, "n": self.n}

    def signature(self) -> str:
        missing = f"nan:drop({self.n_missing}/{self.n + self.n_missing})"
        interval = self.measures[0].interval.signature()
        return f"classes:{self.classes}|{missing}{interval}"


def class_agreement(
    judge: Any,
    human: Any,
    tie: float | None = None,
    positive: float | None = None,
    ci: str | bool | None = None,
    n_boot: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
    system_groups: Any = None,
    input_groups: Any = None,
) -> ClassAgreement:
    """How often does a judge give the class that people gave?

    judge, human: flat or `[system, input]`, classes as numbers, NaN missing.
    tie: the class that says neither. It counts as a class of its own in accuracy and
    macro-F1; "accuracy without ties" is that of items where neither side says it.
    positive: the class that true positive and negative rates (tpr, tnr) are about.
    ci, n_boot, seed, confidence: as `intervals.compute_interval`, of each measure.
    system_groups, input_groups: families and topics, as in `correlate`.
    Returns: measures in [0, 1], NaN where no item is of the kind that one is about.
    macro-F1 is the mean over the classes that either side gives.
    Raises: ValueError for unequal shapes, no common item, a class that does not occur,
    an unknown interval, and labels of groups that do not fit.
    Source: Zheng et al. 2023, section 4.1, for accuracy with and without ties.

    Example:
        >>> class_agreement([1, 1, 0, 1], [1, 0, 0, 1], positive=1)["tnr"].value
        0.5
    """
    x, y = arrays.alike(judge=judge, human=human)
    present = ~(np.isnan(x) | np.isnan(y))
    if not present.any():
        raise ValueError(f"got no common item of {x.size}; at least one is needed")
    both = np.stack([x[present], y[present]])
    classes = np.unique(both)
    _check_classes(classes, tie=tie, positive=positive)
    n = both.shape[1]
    n_missing = x.size - n
    grouped = groups.encode_groups(x.shape, system_groups, input_groups)
    settings = (ci, n_boot, seed, confidence, grouped)
    results = []
    for name, measure in _measures(both, classes, tie, positive).items():
        value = measure(np.ones(n))
        ends = interval_of(measure, present, value, *settings)
        reason = ends.reason
        if np.isnan(value):
            reason = "no item that it is about"
        results.append(Agreement(value, name, n, 2, n_missing, ends, reason))
    return _beside_the_constant(results, both[1], n_missing, len(classes))


def _check_classes(classes: Floats, **values: float | None) -> None:
    """Raises: ValueError for a value that is none of the classes."""
    for name, value in values.items():
        if value is not None and value not in classes:
            allowed = ", ".join(f"{label:g}" for label in classes)
            raise ValueError(f"{name}: got {value:g}; the classes are {allowed}")


def _measures(
    both: Floats, classes: Floats, tie: float | None, positive: float | None
) -> dict[str, Callable[[Floats], float]]:
    """The measures by name, each a function of how often each item counts, (items,)."""
    table = _Table(both, classes)
    measures: dict[str, Callable[[Floats], float]] = {
        "accuracy": table.accuracy,
        "macro-f1": table.macro_f1,
    }
    if tie is not None:
        measures["accuracy without ties"] = table.without(tie).accuracy
    if positive is not None:
        measures["tpr"] = table.rate_within(classes == positive)
        measures["tnr"] = table.rate_within(classes != positive)
    return measures


def _beside_the_constant(
    measures: list[Agreement], human: Floats, n_missing: int, classes: int
) -> ClassAgreement:
    """The measures, and the accuracy of a judge that always gives one class.

    measures: accuracy first. human: classes, (items,).
    """
    values, counts = np.unique(human, return_counts=True)
    commonest = float(values[counts.argmax()])
    constant = float(counts.max() / counts.sum())
    reason = ""
    if constant >= measures[0].value:
        reason = (
            f"always {commonest:g} is right in {constant:.3f}: "
            "the judge is no better than a constant"
        )
        measures[0] = replace(measures[0], reason=reason)
    return ClassAgreement(
        measures=tuple(measures),
        constant=constant,
        commonest=commonest,
        n=len(human),
        n_missing=n_missing,
        classes=classes,
        reason=reason,
    )


class _Table:
    """Counts of a judge's classes by the human ones, as functions of how often each
    item counts.

    both: judge and human, `[side, item]`.
    classes: all that occur, in ascending order.
    chosen: 1 for items that count at all, 0 for others, (items,); None for all.
    """

    def __init__(
        self, both: Floats, classes: Floats, chosen: Floats | None = None
    ) -> None:
        self.both = both
        self.classes = classes
        self.chosen = np.ones(both.shape[1])
        if chosen is not None:
            self.chosen = chosen
        # Each item's cell of the table, in row-major order.
        judge, human = np.searchsorted(classes, both)
        self.cell = judge * len(classes) + human

    def without(self, tie: float) -> _Table:
        """The table of those items where neither side gives this class."""
        neither = (self.both != tie).all(axis=0)
        return _Table(self.both, self.classes, neither.astype(float))

    def counts(self, weights: Floats) -> Floats:
        """How many items have each pair of classes: `[judge, human]`.

        weights: how often each item counts, (items,).
        """
        size = len(self.classes)
        cells = np.bincount(self.cell, weights * self.chosen, size**2)
        return cells.reshape(size, size).astype(float)

    def accuracy(self, weights: Floats) -> float:
        """The share of items that have the same class on both sides."""
        table = self.counts(weights)
        return _share(np.trace(table), table.sum())

    def macro_f1(self, weights: Floats) -> float:
        """The mean of each class's F1, 2 TP / (2 TP + FP + FN), over classes that
        occur on either side.
        """
        table = self.counts(weights)
        of_either = table.sum(axis=0) + table.sum(axis=1)
        occurring = of_either > 0
        if not occurring.any():
            return NAN
        true_positives = np.diag(table)[occurring]
        scores = 2 * true_positives / of_either[occurring]
        return float(scores.mean())

    def rate_within(self, chosen: Any) -> Callable[[Floats], float]:
        """The share of items whose human class is chosen that have a chosen one from
        the judge, too: true positives of one class, true negatives of all others.

        chosen: which classes are, (classes,).
        """

        def rate(weights: Floats) -> float:
            table = self.counts(weights)[:, chosen]
            return _share(table[chosen].sum(), table.sum())

        return rate


def _share(part: float, total: float) -> float:
    """NaN for a part of nothing."""
    if total > 0:
        return float(part / total)
    return NAN
