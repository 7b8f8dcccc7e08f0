"""Tables of correlations with intervals, in the keys of the printed tables; outputs
placed in `X[system, input]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from nlgeval_lib import meta, papers

FEWEST = 3  # outputs with a score and a rating, for a correlation
KEY = ["row", "column", "statistic"]
Scores: TypeAlias = Sequence[float] | np.ndarray | pd.Series


class Grid:
    """Places the values of `items` in `X[system, input]`, in order of first appearance,
    and measures there.

    items: a frame with `input_id` and `system_id`, a row an output. A system with
    several outputs for one input gets one row an occurrence (`repeated` is then true):
    inputs can still be resampled, systems cannot; at level "system" a further output is
    an input of its own instead. flat: inputs and systems are not known: values stay one
    row.
    """

    def __init__(
        self, items: pd.DataFrame, level: str = "dataset", flat: bool = False
    ) -> None:
        self._labels, self._places = (
            items.index,
            pd.MultiIndex.from_frame(items[["system_id", "input_id"]]),
        )
        turn = (
            items.groupby(["system_id", "input_id"], sort=False).cumcount().to_numpy()
        )
        if level == "system" and turn.any():
            items = items.assign(
                input_id=list(zip(items["input_id"], turn, strict=True))
            )
            turn = turn * 0
        self.repeated = bool(turn.any())
        keys = list(zip(items["system_id"], turn, strict=True))
        self._row, self.systems = pd.factorize(pd.Series(keys, dtype=object))
        self._column, self.inputs = pd.factorize(items["input_id"])
        self.n, self.flat = len(items), flat
        self.n_systems = items["system_id"].nunique()
        self.n_holes = 0 if flat else len(self.systems) * len(self.inputs) - self.n

    def matrix(self, values: Scores) -> np.ndarray:
        """`values` (one a row of the items) as `X[system, input]`, NaN where there is
        no output.

        Raises: ValueError where there are not as many values as items, or a series has
        their labels in another order.
        """
        if isinstance(values, pd.Series):
            theirs = values.index
            mine = self._labels
            told = "items.index"
            if set(theirs.names) == set(self._places.names):
                mine = self._places.reorder_levels(theirs.names)
                told = f"pd.MultiIndex.from_frame(items[{list(theirs.names)}])"
            if (
                not theirs.equals(mine)
                and mine.is_unique
                and len(theirs) == len(mine)
                and set(theirs) == set(mine)
            ):
                raise ValueError(
                    f"the values have the items' labels in another order; align them (values.reindex({told})), "
                    "or pass .to_numpy() where the order is known to be the same"
                )
        flat = np.asarray(values, dtype=float)
        if flat.shape != (self.n,):
            raise ValueError(
                f"got {flat.shape} values for {self.n} items; give one a row"
            )
        if self.flat:
            return flat
        out = np.full((len(self.systems), len(self.inputs)), np.nan)
        out[self._row, self._column] = flat
        return out

    def interval(self, ci: str | None = "auto") -> str | None:
        """The interval, and the test, for "auto": the default, or over inputs alone
        where systems are repeated.
        """
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
    ) -> tuple[meta.Correlation, Any]:
        """The coefficient with its interval, and what the interval of a mean of several
        is made from.

        Raises: ValueError where policy "error" is asked for and a rated item has no
        score; and what `meta` refuses.
        """
        policy = self._policy(nan, human, scores)
        interval = self.interval(ci)
        settings: dict[str, Any] = {"ci": interval, "n_boot": n_boot, "seed": seed}
        found = meta.correlate(
            self.matrix(scores), self.matrix(human), coef, level, nan=policy, **settings
        )
        made = len(found.replicates) > 0 and not np.isnan(found.value)
        return self._counted(found, nan), found.replicates if made else None

    def compare(
        self,
        first: Scores,
        second: Scores,
        human: Scores,
        *,
        nan: str = "drop",
        **settings: Any,
    ) -> Any:
        """The paired test of two scores on the items that both have.

        settings, Raises: those of `meta.compare`.
        """
        policy = self._policy(nan, human, first, second)
        x, y, rated = (self.matrix(values) for values in (first, second, human))
        settings = {"units": self.interval(), **settings}
        return self._counted(meta.compare(x, y, rated, nan=policy, **settings), nan)

    def ceiling(
        self,
        raters: Sequence[Scores],
        coef: str,
        level: str,
        ci: str | None,
        n_boot: int,
        seed: int,
    ) -> Any:
        """How well each rater follows the mean of the others: what a judge can be
        expected to reach.
        """
        ratings = np.stack([self.matrix(rater) for rater in raters])
        found = meta.human_ceiling(
            ratings, coef, level, self.interval(ci), n_boot, seed
        )
        return replace(found, total=self.n)

    def _policy(self, nan: str, human: Scores, *scores: Scores) -> str:
        if nan != "error":
            return nan
        rated = ~np.isnan(np.asarray(human, dtype=float))
        for values in scores:
            if gaps := int(np.isnan(np.asarray(values, dtype=float)[rated]).sum()):
                name = getattr(values, "name", None) or "score"
                raise ValueError(
                    f"{gaps} rated rows have no {name}, and missing scores are an error here"
                )
        return "drop"

    def _counted(self, result: Any, nan: str) -> Any:
        """The result with the items counted: places of the grid without an output
        are not missing scores.
        """
        return replace(
            result, n_missing=result.n_missing - self.n_holes, total=self.n, nan=nan
        )


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
    """How well each judge follows each human rating: one row a cell, ready for
    `papers.compare`.

    items: a row an output, with `input_id` and `system_id`.
    scores: {row label: scores}, or {row label: {column label: scores}} for a judge with
    a score an aspect.
    human: {column label: ratings, or the name of a column of `items`}.
    average: label of one more column, the mean of a judge's coefficients over the
    columns (see `averaged`).
    nan: the policy for missing scores. scale: factor on value and interval; some papers
    print correlations times 100.

    Returns `row, column, statistic, value, n, ci_low, ci_high, signature, reason`, and
    the `replicates`. Where fewer than three outputs have both a score and a rating the
    value is NaN, and the reason says so.
    Raises: ValueError for unknown columns, unequal lengths, and what `meta.correlate`
    refuses.
    """
    grid = Grid(items, level)
    for name in [values for values in human.values() if isinstance(values, str)]:
        if name not in items.columns:
            raise ValueError(
                f"no column {name!r}; columns: {', '.join(map(str, items.columns))}"
            )
    ratings = {
        label: items[values] if isinstance(values, str) else values
        for label, values in human.items()
    }
    found = []
    for row, given in scores.items():
        per_column = (
            given if isinstance(given, Mapping) else dict.fromkeys(human, given)
        )
        if unknown := set(per_column) - set(human):
            raise ValueError(
                f"{row}: scores for {sorted(unknown)}, but ratings are of {', '.join(human)}"
            )
        for coef in coefs:
            for label, values in per_column.items():
                statistic = "kendall" if coef.startswith("kendall") else coef
                sides = np.array(
                    [grid.matrix(side).ravel() for side in (values, ratings[label])]
                )
                usable = int((~np.isnan(sides)).all(axis=0).sum())
                cell: dict[str, Any] = {
                    "row": row,
                    "column": label,
                    "statistic": statistic,
                }
                if (
                    nan == "drop" and usable < FEWEST
                ):  # of one cell: the others of the table stand
                    why = f"{usable} of {grid.n:,} outputs have a score and a rating; {FEWEST} are needed"
                    cell |= {
                        "value": np.nan,
                        "n": usable,
                        "ci_low": np.nan,
                        "ci_high": np.nan,
                    }
                    found.append(cell | {"signature": "", "reason": why})
                    continue
                one, drawn = grid.correlate(
                    values, ratings[label], coef, level, nan, ci, n_boot, seed
                )
                cell |= {
                    "value": one.value * scale,
                    "n": one.n,
                    "ci_low": one.low * scale,
                    "ci_high": one.high * scale,
                }
                cell |= {"signature": one.signature(), "reason": one.reason}
                found.append(
                    cell
                    if drawn is None
                    else cell | {"replicates": meta.intervals.times(drawn, scale)}
                )
    made = pd.DataFrame(found)
    return (
        pd.concat([made, averaged(made, average)], ignore_index=True)
        if average
        else made
    )


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
    """The coefficient of a table's column as a function of the scores alone, without
    an interval.

    items, coefs, level, nan, scale: as for `table`; its other options change nothing.
    statistic: the table's name of the coefficient.
    """
    named = {"kendall" if one.startswith("kendall") else one: one for one in coefs}
    grid = Grid(items, level)

    def measured(scores: np.ndarray) -> float:
        found, _ = grid.correlate(
            scores, ratings, named[statistic], level, nan, ci=None
        )
        return float(found.value * scale)

    return measured


def averaged(
    made: pd.DataFrame, label: str, over: str = "column", digits: int | None = None
) -> pd.DataFrame:
    """The mean of coefficients over the columns of a table, or over its rows: a new
    column, or row, named `label`.

    digits: each coefficient is rounded to so many before, and the signature says so.
    The interval is that of the mean of the replicates, or of the mean without each
    unit: cells on the same items share their resamples (same seed); for columns from
    different data sets pass different seeds to `table`. `own_sd`, where the cells have
    it, is that of a mean of cells whose draws are independent.
    """
    kept = {"column": "row", "row": "column"}[over]
    made = made if digits is None else made.assign(value=made["value"].round(digits))
    rounded = "" if digits is None else f"|aspects:rounded({digits})"
    rows = []
    for (key, statistic), part in made.groupby([kept, "statistic"], sort=False):
        value = float(part["value"].mean(skipna=False))
        stated, *judge = part["signature"].iat[0].partition("|judge:")
        first, asked, drawn = stated.partition("|ci:")
        made_of = part["replicates"].tolist() if "replicates" in part else [None]
        ends = meta.intervals.of_mean(made_of if asked else [], value)
        reasons = [*part.loc[part["value"].isna(), "reason"], ends.reason]
        spread: dict[str, Any] = {}
        if "own_sd" in part:
            squares = (part["own_sd"] ** 2).sum(skipna=False)
            spread = {"own_sd": np.sqrt(squares) / len(part)}
            spread["draws"] = part["draws"].min()
        cell = {
            kept: key,
            over: label,
            "statistic": statistic,
            "value": value,
            "n": part["n"].min(),
        }
        interval = ends.signature() or (f"|ci:{drawn}" if ends.low == ends.low else "")
        signature = f"mean-of:{len(part)}|{first}{interval}{''.join(judge)}{rounded}"
        cell |= {"ci_low": ends.low, "ci_high": ends.high, "signature": signature}
        cell |= spread
        rows.append(cell | {"reason": "; ".join(dict.fromkeys(filter(None, reasons)))})
    return pd.DataFrame(rows)


# -- beside the printed ones


def noted(made: pd.DataFrame, notes: Mapping[tuple[str, str], str]) -> pd.DataFrame:
    """The same correlations, the reason of a cell beginning with what `notes` say of
    its (row, column).
    """
    said = pd.Series(
        [notes.get(key, "") for key in zip(made["row"], made["column"], strict=True)],
        made.index,
    )
    return made.assign(reason=(said + "; " + made["reason"]).str.strip("; "))


def cells(*tables: pd.DataFrame, extra: Sequence[str] = ()) -> pd.DataFrame:
    """Tables of correlations as one frame for `report.Output.compare`; rows named in
    `extra` have no printed one.
    """
    joined = pd.concat(tables, ignore_index=True).drop(
        columns=["replicates", "part"], errors="ignore"
    )
    return joined.assign(extra=joined["row"].isin(list(extra)))


def printed_averages(
    paper: str, table: str, ours: pd.DataFrame, label: str = "average"
) -> pd.DataFrame:
    """The printed averages that `ours` does not have but from a run, as they follow
    from their rows' printed cells.

    Route `published`; a row that does not print all the table's columns is left out.
    Join the result to `ours`.
    Raises: ValueError for a table without a column `label`.
    """
    printed = papers.load(paper, table).query("number.notna()")
    averages = printed[printed["column"] == label]
    parts = printed[printed["column"] != label]
    if averages.empty:
        raise ValueError(
            f"{paper} {table} prints no column {label!r}; it has {sorted(set(printed['column']))}"
        )
    found = (
        parts.groupby(["row", "statistic"], sort=False)["number"]
        .agg(value="mean", cells="size")
        .reset_index()
    )
    there = pd.MultiIndex.from_frame(
        (ours[ours["route"] != "run"] if "route" in ours else ours)[KEY]
    )
    lacking = averages.loc[~pd.MultiIndex.from_frame(averages[KEY]).isin(there), KEY]
    made = lacking.merge(found, on=["row", "statistic"])
    made = made[made["cells"] == parts["column"].nunique()].drop(columns="cells")
    return made.assign(
        route="published", reason="the mean of the row's printed cells"
    ).reset_index(drop=True)
