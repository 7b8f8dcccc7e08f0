"""Outputs placed in `X[system, input]`, and what is measured there: places without an output are no missing scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from nlgeval_lib import meta

FEW_SYSTEMS = 5  # below this many systems, resampling them says nothing

Scores: TypeAlias = Sequence[float] | np.ndarray | pd.Series


class Grid:
    """Places the values of `items` in `X[system, input]`, in order of first appearance.

    items: a frame with `input_id` and `system_id`, a row an output. A system with several outputs for one input gets
    one row an occurrence (`repeated` is then true): inputs can still be resampled, systems cannot. flat: what is which
    input and system is not known: values stay one row, and rows are resampled.
    """

    def __init__(self, items: pd.DataFrame, flat: bool = False) -> None:
        occurrence = items.groupby(["system_id", "input_id"], sort=False).cumcount().to_numpy()
        self.n, self.flat = len(items), flat
        self._labels = items.index
        self.repeated = bool(occurrence.any())
        keys = list(zip(items["system_id"], occurrence, strict=True))
        self._row, self.systems = pd.factorize(pd.Series(keys, dtype=object))
        self._column, self.inputs = pd.factorize(items["input_id"])
        self.n_systems = items["system_id"].nunique()
        self.n_holes = 0 if flat else len(self.systems) * len(self.inputs) - self.n

    @classmethod
    def at(cls, items: pd.DataFrame, level: str) -> Grid:
        """The grid for a level: at system level a further output for one input is an input of its own."""
        grid = cls(items)
        if level != "system" or not grid.repeated:
            return grid
        turn = items.groupby(["system_id", "input_id"], sort=False).cumcount()
        return cls(items.assign(input_id=list(zip(items["input_id"], turn, strict=True))))

    def matrix(self, values: Scores) -> np.ndarray:
        """`values` (one a row of the items) as `X[system, input]`, NaN where there is no output.

        Raises: ValueError where there are not as many values as items, or a series has their labels in another order.
        """
        if isinstance(values, pd.Series) and self._turned(values.index):
            raise ValueError(
                "the values have the items' labels in another order; align them (values.reindex(items.index)), "
                "or pass .to_numpy() where the order is known to be the same"
            )
        flat = np.asarray(values, dtype=float)
        if flat.shape != (self.n,):
            raise ValueError(f"got {flat.shape} values for {self.n} items; give one a row")
        if self.flat:
            return flat
        out = np.full((len(self.systems), len(self.inputs)), np.nan)
        out[self._row, self._column] = flat
        return out

    def _turned(self, labels: pd.Index) -> bool:
        """Whether labels are those of the items, but not in their order."""
        mine = self._labels
        both = len(labels) == len(mine) and labels.is_unique and mine.is_unique
        return both and not labels.equals(mine) and bool(labels.isin(mine).all())

    def interval(self, ci: str | None) -> str | None:
        """The interval to use for "auto": both units, or inputs alone where systems are too few or repeated."""
        if ci != "auto":
            return ci
        if self.flat:
            return "boot-rows"
        return "boot-inputs" if self.repeated or self.n_systems < FEW_SYSTEMS else "boot-both"

    def correlate(
        self, scores: Scores, human: Scores, *, coef: str, level: str, nan: str, ci: str | None, n_boot: int, seed: int
    ) -> tuple[meta.Correlation, np.ndarray | None]:
        """The coefficient with its interval, and the replicates behind a percentile interval: one bootstrap for both.

        Raises: ValueError where policy "error" is asked for and a rated item has no score; and what `meta` refuses.
        """
        policy, interval = self._policy(nan, human, scores), self.interval(ci)
        settings: dict[str, Any] = {"coef": coef, "level": level, "ci": interval, "n_boot": n_boot, "seed": seed}
        found = meta.correlate(self.matrix(scores), self.matrix(human), nan=policy, **settings)
        percentile = interval is not None and interval.startswith("boot-") and found.value == found.value
        return self._counted(found, nan), found.replicates if percentile else None

    def compare(self, first: Scores, second: Scores, human: Scores, *, nan: str, **settings: Any) -> Any:
        """The paired test of two scores on the items that both have. settings, Raises: those of `meta.compare`."""
        policy = self._policy(nan, human, first, second)
        units = (self.interval("auto") or "").removeprefix("boot-")
        x, y, rated = (self.matrix(values) for values in (first, second, human))
        return self._counted(meta.compare(x, y, rated, units=units, nan=policy, **settings), nan)

    def ceiling(self, raters: Sequence[Scores], coef: str, level: str, ci: str | None, n_boot: int, seed: int) -> Any:
        """How well each rater follows the mean of the others: what a judge can be expected to reach."""
        ratings = np.stack([self.matrix(rater) for rater in raters])
        found = meta.human_ceiling(ratings, coef, level, self.interval(ci), n_boot, seed)
        return replace(found, total=self.n)

    def _policy(self, nan: str, human: Scores, *scores: Scores) -> str:
        """What `meta` is told of missing scores: "error" looks at items, not at places without one."""
        if nan != "error":
            return nan
        rated = ~np.isnan(np.asarray(human, dtype=float))
        for values in scores:
            if gaps := int(np.isnan(np.asarray(values, dtype=float)[rated]).sum()):
                raise ValueError(f"--nan error: {gaps} rated rows have no {getattr(values, 'name', None) or 'score'}")
        return "drop"

    def _counted(self, result: Any, nan: str) -> Any:
        """The result with the items counted: places of the grid without an output are not missing scores."""
        return replace(result, n_missing=result.n_missing - self.n_holes, total=self.n, nan=nan)
