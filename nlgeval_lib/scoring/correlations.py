"""Tables of correlations with intervals, in the keys of the printed tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from nlgeval_lib import progress, statistics

FEWEST = 3  # outputs with a score and a rating, for a correlation
KEY = ["row", "column", "statistic"]  # what names a cell, here and in printed tables
# one value an output, in the order of the items
Scores: TypeAlias = Sequence[float] | np.ndarray | pd.Series


class Grid:
    """Places the values of `items` in `X[system, input]`, and measures there.

    items: a frame with `input_id` and `system_id`, a row an output.
    level: of the correlations: "dataset", "input" or "system".
    flat: inputs and systems are not known: values stay one row.
    families, topics: labels of the items' systems and inputs; alike ones are resampled
    together.

    A system with several outputs for one input gets a row of the matrix each
    (`repeated`): inputs can still be resampled, systems cannot. At level "system" a
    further output is an input of its own instead.
    """

    def __init__(
        self,
        items: pd.DataFrame,
        level: str = "dataset",
        flat: bool = False,
        families: Scores | None = None,
        topics: Scores | None = None,
    ) -> None:
        # `turn` is 0 for a system's first output for an input, 1 for its second.
        output_key = ["system_id", "input_id"]
        self._labels = items.index
        self._places = pd.MultiIndex.from_frame(items[output_key])
        turn = items.groupby(output_key, sort=False).cumcount().to_numpy()
        if level == "system" and turn.any():
            inputs = list(zip(items["input_id"], turn, strict=True))
            items = items.assign(input_id=inputs)
            turn = turn * 0
        self.repeated = bool(turn.any())
        # Row and column of each output, and the names that they stand for.
        systems = list(zip(items["system_id"], turn, strict=True))
        self._row, self.systems = pd.factorize(pd.Series(systems, dtype=object))
        self._column, self.inputs = pd.factorize(items["input_id"])
        self.n = len(items)
        self.level = level
        self.flat = flat
        self.n_systems = items["system_id"].nunique()
        # what `statistics` resamples together: a label a row, and a label a column
        self.together: dict[str, Any] = {}
        labels = {
            "system_groups": (families, self._row),
            "input_groups": (topics, self._column),
        }
        for name, (groups, places) in labels.items():
            if groups is not None and not flat:
                _, first = np.unique(places, return_index=True)
                self.together[name] = np.asarray(groups, dtype=object)[first]
        # places of the matrix without an output
        self.n_holes = 0
        if not flat:
            self.n_holes = len(self.systems) * len(self.inputs) - self.n

    def __repr__(self) -> str:
        size = f"{self.n_systems} systems x {len(self.inputs)} inputs"
        return f"Grid({size}, {self.n:,} outputs, level {self.level})"

    def matrix(self, values: Scores) -> np.ndarray:
        """Values, one a row of the items, as `X[system, input]`, NaN where there is no
        output; of a flat grid, as they are.
        """
        if isinstance(values, pd.Series):
            self._check_order(values.index)
        flat = np.asarray(values, dtype=float)
        if flat.shape != (self.n,):
            raise ValueError(
                f"got {flat.shape} values for {self.n} items; give one a row"
            )
        if self.flat:
            return flat
        matrix = np.full((len(self.systems), len(self.inputs)), np.nan)
        matrix[self._row, self._column] = flat
        return matrix

    def _named(self, values: Scores) -> Any:
        """The matrix of values with the names of systems and inputs."""
        matrix = self.matrix(values)
        if self.flat:
            return matrix
        names = []
        for system, turn in self.systems:
            names.append(f"{system} ({turn + 1})" if turn else str(system))
        return pd.DataFrame(matrix, names, list(self.inputs))

    def _check_order(self, labels: pd.Index) -> None:
        """Raise a ValueError where a series has the items' labels in another order."""
        expected = self._labels
        code = "items.index"
        if set(labels.names) == set(self._places.names):
            expected = self._places.reorder_levels(labels.names)
            code = f"pd.MultiIndex.from_frame(items[{list(labels.names)}])"
        if labels.equals(expected) or len(labels) != len(expected):
            return
        if expected.is_unique and set(labels) == set(expected):
            raise ValueError(
                "the values have the items' labels in another order; align them "
                f"(values.reindex({code})), or pass .to_numpy() where the order is "
                "known to be the same"
            )

    def interval(self, ci: str | None = "auto") -> str | None:
        """The interval for "auto": over inputs alone where systems are repeated."""
        return "jack-inputs" if ci == "auto" and self.repeated else ci

    def correlate(
        self,
        scores: Scores,
        human: Scores,
        coef: str,
        level: str = "dataset",
        nan: str = "drop",
        ci: str | None = "auto",
        n_boot: int = 1000,
        seed: int = 0,
    ) -> tuple[statistics.Correlation, Any]:
        """The coefficient with its interval, and the replicates from which the interval
        of a mean is made (None where there are none).

        scores, human: one value a row of the items, NaN where there is none.
        ci: "auto" as `interval` has it, None for none; the others as `statistics` has
        them.
        Where too few items have both, the value is NaN and the reason says so; policy
        "error" refuses a rated item without a score.
        """
        policy = self._policy(nan, human, scores)
        sides = (self.matrix(scores), self._named(human), coef, level)
        settings: Any = {"ci": self.interval(ci), "n_boot": n_boot, "seed": seed}
        try:
            result = statistics.correlate(
                *sides, nan=policy, **settings, **self.together
            )
        except statistics.TooFew as error:
            result = statistics.uncorrelated(*sides, str(error), policy)
        replicates = None
        if len(result.replicates) > 0 and not np.isnan(result.value):
            replicates = result.replicates
        return self._counted(result, nan), replicates

    def compare(
        self,
        first: Scores,
        second: Scores,
        human: Scores,
        *,
        nan: str = "drop",
        **settings: Any,
    ) -> Any:
        """The paired test of two scores on the items that both have, by
        `statistics.compare`; where too few have all three, there is none, and the
        reason says so.
        """
        policy = self._policy(nan, human, first, second)
        usual = {"coef": "kendall-b", "level": "dataset", "units": self.interval()}
        settings = usual | settings
        sides = (self.matrix(first), self.matrix(second), self._named(human))
        try:
            result = statistics.compare(*sides, nan=policy, **settings, **self.together)
        except statistics.TooFew as error:
            coef = settings["coef"]
            level = settings["level"]
            result = statistics.untested(*sides, coef, level, str(error), policy)
        return self._counted(result, nan)

    def rank_judges(
        self, judges: Mapping[str, Scores], human: Scores, coef: str
    ) -> statistics.RankSets:
        """The ranks that each of many judges (name -> scores) can have on the items
        that all scored.
        """
        scores = {name: self.matrix(values) for name, values in judges.items()}
        units = "inputs" if self.repeated else None
        return statistics.rank_judges(
            scores, self.matrix(human), coef, units=units, **self.together
        )

    def ceiling(
        self,
        raters: Sequence[Scores],
        coef: str,
        level: str,
        ci: str | None,
        n_boot: int,
        seed: int,
    ) -> Any:
        """How well each rater (one value a row of the items) follows the mean of the
        others.
        """
        ratings = np.stack([self.matrix(rater) for rater in raters])
        interval = self.interval(ci)
        result = statistics.human_ceiling(
            ratings, coef, level, interval, n_boot, seed, **self.together
        )
        if self.flat:
            return replace(result, total=self.n)
        matrix = self._named(raters[0])
        names = statistics.groups.names(matrix.shape, matrix, **self.together)
        return replace(result, total=self.n, basis=replace(result.basis, names=names))

    def other_raters(
        self, correlation: Any, scores: Scores, raters: Sequence[Scores]
    ) -> statistics.Interval:
        """The interval of a correlation with the raters' mean, for other raters."""
        ratings = np.stack([self.matrix(rater) for rater in raters])
        return statistics.other_raters(correlation, self.matrix(scores), ratings)

    def _policy(self, nan: str, human: Scores, *scores: Scores) -> str:
        """The policy for `statistics`; "error" is checked here, as holes are no missing
        scores.
        """
        if nan != "error":
            return nan
        rated = ~np.isnan(np.asarray(human, dtype=float))
        for values in scores:
            missing = np.isnan(np.asarray(values, dtype=float)[rated])
            if missing.any():
                name = getattr(values, "name", None) or "score"
                raise ValueError(
                    f"{missing.sum()} rated rows have no {name}, which is an error here"
                )
        return "drop"

    def _counted(self, result: Any, nan: str) -> Any:
        """The result without the holes of the grid among the missing scores."""
        n_missing = result.n_missing - self.n_holes
        return replace(result, n_missing=n_missing, total=self.n, nan=nan)


def table(
    items: pd.DataFrame,
    scores: Mapping[str, Scores | Mapping[str, Scores]],
    human: Mapping[str, Scores | str],
    *,
    coefs: Sequence[str] = ("pearson", "spearman"),
    level: str = "dataset",
    nan: str = "drop",
    ci: str | None = "auto",
    n_boot: int = 1000,
    seed: int = 0,
    average: str = "",
    scale: float = 1.0,
) -> pd.DataFrame:
    """How well each judge follows each human rating: one row a cell.

    items: a row an output, with `input_id` and `system_id`.
    scores: {row label: scores}, or {row label: {column label: scores}}.
    human: {column label: ratings, or the name of a column of `items`}.
    coefs: the coefficients, each a `statistic` of the table.
    level, nan, ci, n_boot, seed: as `Grid.correlate` has them.
    average: label of one more column, the mean over the columns (`averaged`), or "".
    scale: factor on value and interval, such as 100.
    Returns: `row, column, statistic, value, n, ci_low, ci_high, signature, reason`, and
    the `replicates`. Under three outputs with score and rating the value is NaN.
    """
    options = {"level": level, "nan": nan, "ci": ci, "n_boot": n_boot, "seed": seed}
    grid = Grid(items, level)
    ratings: dict[str, Scores] = {}
    for column, values in human.items():
        if isinstance(values, str) and values not in items.columns:
            names = ", ".join(map(str, items.columns))
            raise ValueError(f"no column {values!r}; columns: {names}")
        ratings[column] = items[values] if isinstance(values, str) else values
    cells = []
    for row, row_scores in progress.bar(scores.items(), desc="correlations"):
        per_column = _per_column(row, row_scores, ratings)
        for coef in coefs:
            for column, values in per_column.items():
                measured = grid.correlate(values, ratings[column], coef, **options)  # type: ignore[arg-type]
                place = {"row": row, "column": column, "statistic": _statistic(coef)}
                cells.append(place | _cell(*measured, scale))
    frame = pd.DataFrame(cells)
    if average:
        frame = pd.concat([frame, averaged(frame, average)], ignore_index=True)
    return frame


def _per_column(
    row: str, scores: Scores | Mapping[str, Scores], ratings: Mapping[str, Scores]
) -> Mapping[str, Scores]:
    """The scores of a judge for each column that it is compared with."""
    if not isinstance(scores, Mapping):
        return dict.fromkeys(ratings, scores)
    unknown = set(scores) - set(ratings)
    if unknown:
        raise ValueError(
            f"{row}: scores for {sorted(unknown)}, but ratings are of "
            f"{', '.join(ratings)}"
        )
    return scores


def _cell(
    correlation: statistics.Correlation, replicates: Any, scale: float
) -> dict[str, Any]:
    """One cell with its interval, or the reason that it has none."""
    cell = {
        "value": correlation.value * scale,
        "n": correlation.n,
        "ci_low": correlation.low * scale,
        "ci_high": correlation.high * scale,
        "signature": correlation.signature(),
        "reason": correlation.reason,
    }
    if replicates is not None:
        cell["replicates"] = statistics.intervals.times(replicates, scale)
    return cell


def _statistic(coef: str) -> str:
    """A coefficient in the printed tables: "kendall" for each of its forms."""
    return "kendall" if coef.startswith("kendall") else coef


def coefficient(
    items: pd.DataFrame,
    ratings: Scores,
    statistic: str,
    *,
    coefs: Sequence[str] = ("pearson", "spearman"),
    level: str = "dataset",
    nan: str = "drop",
    scale: float = 1.0,
    **_: Any,
) -> Callable[[np.ndarray], float]:
    """The coefficient of a table's cell as a function from scores to the value; the
    options are those of `table`.
    """
    coef_of = {_statistic(coef): coef for coef in coefs}
    grid = Grid(items, level)

    def measure(scores: np.ndarray) -> float:
        coef = coef_of[statistic]
        correlation, _ = grid.correlate(scores, ratings, coef, level, nan, ci=None)
        return float(correlation.value * scale)

    return measure


def averaged(
    table: pd.DataFrame, label: str, over: str = "column", digits: int | None = None
) -> pd.DataFrame:
    """The mean of coefficients over the columns ("column") of a table, or over its rows
    ("row"): a new column, or row, named `label`.

    digits: each coefficient is rounded to so many before, as some papers do.
    Returns: rows of the same form; `n` is the smallest of the cells'. The interval is
    that of the mean of the replicates: cells on the same items share their resamples
    (same seed); for columns from different data sets pass different seeds to `table`.
    """
    grouped_by = {"column": "row", "row": "column"}[over]
    rounding = ""
    if digits is not None:
        table = table.assign(value=table["value"].round(digits))
        rounding = f"|aspects:rounded({digits})"
    means = []
    for (key, statistic), cells in table.groupby([grouped_by, "statistic"], sort=False):
        place = {grouped_by: key, over: label, "statistic": statistic}
        means.append(place | _mean_cell(cells, rounding))
    return pd.DataFrame(means)


def _mean_cell(cells: pd.DataFrame, rounding: str) -> dict[str, Any]:
    value = float(cells["value"].mean(skipna=False))
    # The mean has the first cell's signature, but an interval of its own.
    stated, *judge = cells["signature"].iat[0].partition("|judge:")
    start, has_interval, interval = stated.partition("|ci:")
    replicates = list(cells.get("replicates", [None])) if has_interval else []
    ends = statistics.intervals.of_mean(replicates, value)
    ci = ends.signature()
    if not ci and not np.isnan(ends.low):
        ci = f"|ci:{interval}"
    mean = {
        "value": value,
        "n": cells["n"].min(),
        "ci_low": ends.low,
        "ci_high": ends.high,
        "signature": f"mean-of:{len(cells)}|{start}{ci}{''.join(judge)}{rounding}",
    }
    if "own_sd" in cells:
        # the spread of a mean of independent cells
        squares = (cells["own_sd"] ** 2).sum(skipna=False)
        mean["own_sd"] = np.sqrt(squares) / len(cells)
        mean["draws"] = cells["draws"].min()
    reasons = [*cells.loc[cells["value"].isna(), "reason"], ends.reason]
    mean["reason"] = "; ".join(dict.fromkeys(filter(None, reasons)))
    return mean


# -- beside the printed ones


def noted(table: pd.DataFrame, notes: Mapping[tuple[str, str], str]) -> pd.DataFrame:
    """The same table, each reason after what `notes` ((row, column) -> text) say."""
    keys = zip(table["row"], table["column"], strict=True)
    beginnings = pd.Series([notes.get(key, "") for key in keys], table.index)
    reasons = beginnings + "; " + table["reason"]
    return table.assign(reason=reasons.str.strip("; "))


def cells(*tables: pd.DataFrame, extra: Sequence[str] = ()) -> pd.DataFrame:
    """Tables as one frame to be compared; `extra`: rows without a printed one."""
    joined = pd.concat(tables, ignore_index=True)
    joined = joined.drop(columns=["replicates", "part"], errors="ignore")
    return joined.assign(extra=joined["row"].isin(list(extra)))
