"""A judge's verdicts against people's, class by class: accuracy, macro-F1, true
positive and negative rates, beside what the commonest verdict alone would reach.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import arrays, groups
from .agreement import Agreement, OfCounts, measured
from .result import NAN, Floats, Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class ClassAgreement(Result):
    """How a judge's classes fit the human ones.

    measures: accuracy and macro-f1, and those that a tie or a positive class adds.
    constant: accuracy of a judge that always gives `commonest`, the commonest human
        class.
    n, n_missing: items with both classes, and the others.
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
        """A measure by its name. Raises: ValueError for another name."""
        by_name = {measure.name: measure for measure in self.measures}
        return by_name[arrays.choice(name, by_name, "measure")]

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
    tie: the class that says neither, one of its own in accuracy and macro-F1; "accuracy
        without ties" is that of items where neither side says it.
    positive: the class that true positive and negative rates (tpr, tnr) are about.
    ci, n_boot, seed, confidence, system_groups, input_groups: as in `correlate`, of
        each measure.
    Returns: measures in [0, 1], NaN where no item is of the kind that one is about;
        macro-F1 is the mean over the classes that either side gives.
    Raises: ValueError for unequal shapes, no common item, a class that does not occur,
        an unknown interval, and labels of groups that do not fit.
    Source: Zheng et al. 2023, section 4.1, for accuracy with and without ties.
    """
    x, y = arrays.alike(judge=judge, human=human)
    present = ~(np.isnan(x) | np.isnan(y))
    if not present.any():
        raise ValueError(f"got no common item of {x.size}; at least one is needed")
    both = np.stack([x[present], y[present]])
    classes = np.unique(both)
    for argument, value in {"tie": tie, "positive": positive}.items():
        if value is not None and value not in classes:
            allowed = ", ".join(f"{label:g}" for label in classes)
            raise ValueError(f"{argument}: got {value:g}; the classes are {allowed}")
    grouped = groups.encode_groups(x.shape, system_groups, input_groups)
    settings = "no item that it is about", ci, n_boot, seed, confidence, grouped
    measures = []
    for name, of_counts in _measures(both, classes, tie, positive).items():
        measures.append(measured(of_counts, present, name, *settings))
    return _beside_the_constant(measures, both[1], len(classes))


def _measures(
    both: Floats, classes: Floats, tie: float | None, positive: float | None
) -> dict[str, OfCounts]:
    """The measures by name, each a function of how often each item counts."""
    table = _Table(both, classes)
    measures: dict[str, OfCounts] = {
        "accuracy": table.accuracy,
        "macro-f1": table.macro_f1,
    }
    if tie is not None:
        neither = (both != tie).all(axis=0)
        measures["accuracy without ties"] = _Table(both, classes, neither).accuracy
    if positive is not None:
        measures["tpr"] = table.rate_within(classes == positive)
        measures["tnr"] = table.rate_within(classes != positive)
    return measures


def _beside_the_constant(
    measures: list[Agreement], human: Floats, classes: int
) -> ClassAgreement:
    """The measures, accuracy first, and the accuracy of a judge that always gives one
    class.
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
    n_missing = measures[0].n_left_out
    counts_and_reason = len(human), n_missing, classes, reason
    return ClassAgreement(tuple(measures), constant, commonest, *counts_and_reason)


class _Table:
    """Counts of a judge's classes by the human ones, as functions of how often each
    item counts.

    both: judge and human, `[side, item]`.
    classes: all that occur, in ascending order.
    chosen: which items count at all, (items,).
    """

    def __init__(self, both: Floats, classes: Floats, chosen: Any = True) -> None:
        self.classes = classes
        self.chosen = np.broadcast_to(chosen, both.shape[1]).astype(float)
        # Each item's cell of the table, in row-major order.
        judge, human = np.searchsorted(classes, both)
        self.cell = judge * len(classes) + human

    def counts(self, weights: Floats) -> Floats:
        """How many items have each pair of classes: `[judge, human]`."""
        size = len(self.classes)
        cells = np.bincount(self.cell, weights * self.chosen, size**2)
        return cells.reshape(size, size).astype(float)

    def accuracy(self, weights: Floats) -> float:
        """The share of items that have the same class on both sides."""
        table = self.counts(weights)
        return _share(np.trace(table), table.sum())

    def macro_f1(self, weights: Floats) -> float:
        """The mean of 2 TP / (2 TP + FP + FN) over classes that occur."""
        table = self.counts(weights)
        of_either = table.sum(axis=0) + table.sum(axis=1)
        occurring = of_either > 0
        if not occurring.any():
            return NAN
        true_positives = np.diag(table)[occurring]
        return float((2 * true_positives / of_either[occurring]).mean())

    def rate_within(self, chosen: Any) -> OfCounts:
        """The share of items whose human class is chosen that have a chosen one from
        the judge, too; chosen: which classes are, (classes,).
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
