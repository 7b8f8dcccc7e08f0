"""A judge's verdicts against people's, class by class: accuracy, macro-F1, true
positive and negative rates, beside what the commonest verdict alone would reach.
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

    constant: accuracy of a judge that always gives `commonest`, the commonest human
    class.
    """

    measures: tuple[Agreement, ...]
    constant: float
    commonest: float
    n: int
    n_missing: int
    classes: int
    reason: str = ""

    def __getitem__(self, name: str) -> Agreement:
        """A measure by its name: accuracy, macro-f1, accuracy without ties, tpr, tnr."""
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

    judge, human: flat or `[system, input]`, classes as numbers, NaN missing. tie: the
    class that says neither; it counts as a class of its own in accuracy and macro-F1,
    and "accuracy without ties" is that of items where neither side says it. positive:
    the class that true positive and negative rates are about. macro-F1 is the mean over
    the classes that either side gives. ci and what follows: as in `correlate`.
    Raises: ValueError for unequal shapes, no common item, a class that does not occur.
    Source: Zheng et al. 2023, section 4.1, for accuracy with and without ties.
    """
    x, y = arrays.alike(judge=judge, human=human)
    present = ~(np.isnan(x) | np.isnan(y))
    if not present.any():
        raise ValueError(f"got no common item of {x.size}; at least one is needed")
    both = np.stack([x[present], y[present]])
    classes = np.unique(both)
    _check_classes(classes, tie=tie, positive=positive)
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
    n = both.shape[1]
    grouped = groups.of(x.shape, system_groups, input_groups)
    settings = (ci, n_boot, seed, confidence, grouped)
    results = []
    for name, measure in measures.items():
        value = measure(np.ones(n))
        ends = interval_of(measure, present, value, *settings)
        reason = "no item that it is about" if np.isnan(value) else ends.reason
        results.append(
            Agreement(
                value,
                name,
                n,
                2,
                x.size - n,
                ends,
                reason,
            )
        )
    return _beside_the_constant(results, both[1], x.size - n, len(classes))


def _check_classes(classes: Floats, **values: float | None) -> None:
    """Raises: ValueError for a value that is none of the classes."""
    for name, value in values.items():
        if value is not None and value not in classes:
            given = ", ".join(f"{label:g}" for label in classes)
            raise ValueError(f"{name}: got {value:g}; the classes are {given}")


def _beside_the_constant(
    measures: list[Agreement],
    human: Floats,
    missing: int,
    classes: int,
) -> ClassAgreement:
    """The measures and the accuracy of a judge that always says the same."""
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
        n_missing=missing,
        classes=classes,
        reason=reason,
    )


class _Table:
    """Counts of a judge's classes by the human ones, as functions of how often each
    item counts.

    both: judge and human `[side, item]`. used: which items count at all.
    """

    def __init__(
        self,
        both: Floats,
        classes: Floats,
        used: Floats | None = None,
    ) -> None:
        self.both = both
        self.classes = classes
        self.used = np.ones(both.shape[1]) if used is None else used
        judge, human = np.searchsorted(classes, both)
        self.cell = judge * len(classes) + human

    def without(self, tie: float) -> _Table:
        """The same of those items where neither side gives this class."""
        neither = (self.both != tie).all(axis=0)
        return _Table(self.both, self.classes, neither.astype(float))

    def counts(self, weights: Floats) -> Floats:
        """`[judge, human]`."""
        size = len(self.classes)
        cells = np.bincount(self.cell, weights * self.used, size**2)
        return cells.reshape(size, size).astype(float)

    def accuracy(self, weights: Floats) -> float:
        table = self.counts(weights)
        return _share(np.trace(table), table.sum())

    def macro_f1(self, weights: Floats) -> float:
        table = self.counts(weights)
        given = table.sum(axis=0) + table.sum(axis=1)
        occurring = given > 0
        if not occurring.any():
            return NAN
        right = np.diag(table)[occurring]
        scores = 2 * right / given[occurring]
        return float(scores.mean())

    def rate_within(self, chosen: Any) -> Callable[[Floats], float]:
        """The share of items whose human class is chosen that have a chosen one from
        the judge, too.
        """

        def rate(weights: Floats) -> float:
            table = self.counts(weights)[:, chosen]
            return _share(table[chosen].sum(), table.sum())

        return rate


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else NAN
