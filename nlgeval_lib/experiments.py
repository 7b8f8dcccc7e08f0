"""Tables of correlations with intervals: what most notebooks compute, in the keys of the printed tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets, meta, papers, parsers

FEW_SYSTEMS = 5  # below this many systems, resampling them says nothing
_NAMES = {"kendall-a": "kendall", "kendall-b": "kendall", "kendall-c": "kendall"}

Scores = Sequence[float] | np.ndarray | pd.Series


class Grid:
    """Places the values of `items` in `X[system, input]`, in order of first appearance.

    items: a frame with `input_id` and `system_id`, a row an output. A system with several outputs for one input gets
    one row an occurrence (`repeated` is then true): inputs can still be resampled, systems cannot.
    """

    def __init__(self, items: pd.DataFrame) -> None:
        occurrence = items.groupby(["system_id", "input_id"], sort=False).cumcount().to_numpy()
        self.n = len(items)
        self._labels = items.index
        self.repeated = bool(occurrence.any())
        keys = list(zip(items["system_id"], occurrence, strict=True))
        self._row, self.systems = pd.factorize(pd.Series(keys, dtype=object))
        self._column, self.inputs = pd.factorize(items["input_id"])
        self.n_systems = items["system_id"].nunique()
        self.n_holes = len(self.systems) * len(self.inputs) - self.n

    @classmethod
    def at(cls, items: pd.DataFrame, level: str) -> Grid:
        """The grid for a level: at system level a further output for one input is an input of its own."""
        grid = cls(items)
        if level != "system" or not grid.repeated:
            return grid
        turn = items.groupby(["system_id", "input_id"], sort=False).cumcount()
        return cls(items.assign(input_id=list(zip(items["input_id"], turn, strict=True))))

    def _turned(self, labels: pd.Index) -> bool:
        """Whether labels are those of the items, but not in their order."""
        mine = self._labels
        both = len(labels) == len(mine) and labels.is_unique and mine.is_unique
        return both and not labels.equals(mine) and bool(labels.isin(mine).all())

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
        out = np.full((len(self.systems), len(self.inputs)), np.nan)
        out[self._row, self._column] = flat
        return out

    @property
    def place(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each item is in the matrix."""
        return self._row, self._column

    def interval(self, ci: str | None) -> str | None:
        """The interval to use for "auto": both units, or inputs alone where systems are too few or repeated."""
        if ci != "auto":
            return ci
        return "boot-inputs" if self.repeated or self.n_systems < FEW_SYSTEMS else "boot-both"


def correlations(
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
    """How well each judge follows each human rating: one row a cell, ready for `papers.compare`.

    items: a row an output, with `input_id` and `system_id`.
    scores: {row label: scores}, or {row label: {column label: scores}} for a judge with a score an aspect.
    human: {column label: ratings, or the name of a column of `items`}.
    average: label of one more column, the mean of a judge's coefficients over the columns (see `averaged`).
    scale: factor on value and interval; some papers print correlations times 100.

    Returns `row, column, statistic, value, n, ci_low, ci_high, signature, reason`.
    Raises: ValueError for unknown columns, unequal lengths, and what `meta.correlate` refuses.
    """
    grid = Grid.at(items, level)
    interval = grid.interval(ci)
    ratings = {label: grid.matrix(_column(items, values)) for label, values in human.items()}
    settings = {"level": level, "n_boot": n_boot, "seed": seed}
    cells = []
    for row, given in scores.items():
        per_column = given if isinstance(given, Mapping) else dict.fromkeys(human, given)
        unknown = set(per_column) - set(human)
        if unknown:
            raise ValueError(f"{row}: scores for {sorted(unknown)}, but ratings are of {', '.join(human)}")
        for coef in coefs:
            for label, values in per_column.items():
                x, y = grid.matrix(values), ratings[label]
                if nan == "error":  # places of the grid without an output are no missing scores
                    meta.missing.apply(np.asarray(values, dtype=float), y[grid.place], nan)
                policy = "drop" if nan == "error" else nan
                result, replicates = _measured(x, y, coef, policy, interval, settings)
                # places of the grid where the data have no output are not missing scores
                result = replace(result, n_missing=result.n_missing - grid.n_holes, total=grid.n, nan=nan)
                cell = {"row": row, "column": label, "statistic": _NAMES.get(coef, coef), **_numbers(result, scale)}
                if replicates is not None:
                    cell["replicates"] = replicates * scale
                cells.append(cell)
    table = pd.DataFrame(cells)
    if average:
        table = pd.concat([table, averaged(table, average)], ignore_index=True)
    return table


def averaged(table: pd.DataFrame, label: str, over: str = "column") -> pd.DataFrame:
    """The mean of coefficients over the columns of `table`, or over its rows: a new column, or row, named `label`.

    The interval is that of the mean of the replicates: cells on the same items share their resamples (same seed);
    for columns from different data sets pass different seeds to `correlations`.
    Raises: ValueError for another `over` than "column" and "row".
    """
    if over not in ("column", "row"):
        raise ValueError(f"over is {over!r}; allowed: 'column', 'row'")
    kept = "row" if over == "column" else "column"
    rows = []
    for (key, statistic), part in table.groupby([kept, "statistic"], sort=False):
        low, high, why = float("nan"), float("nan"), ""
        drawn = part["replicates"].tolist() if "replicates" in part else []
        if drawn and all(isinstance(one, np.ndarray) for one in drawn):
            together = np.mean(drawn, axis=0)
            low, high, *_, why = meta.intervals.interval(together, float(part["value"].mean(skipna=False)))
            why = why if np.isnan(low) else ""
        rows.append(
            {
                kept: key,
                over: label,
                "statistic": statistic,
                "value": part["value"].mean(skipna=False),
                "n": part["n"].min(),
                "ci_low": low,
                "ci_high": high,
                "signature": f"mean-of:{len(part)}|{part['signature'].iat[0]}",
                "reason": "; ".join(dict.fromkeys(text for text in (*part["reason"], why) if text)),
            }
        )
    return pd.DataFrame(rows)


def cells(*tables: pd.DataFrame, extra: Sequence[str] = ()) -> pd.DataFrame:
    """Tables of correlations as one frame for `report.Output.compare`; rows named in `extra` have no printed one."""
    joined = pd.concat(tables, ignore_index=True).drop(columns="replicates", errors="ignore")
    return joined.assign(extra=joined["row"].isin(list(extra)))


def lacking(
    paper: str,
    table: str,
    ours: pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    rows: Mapping[str, str] | None = None,
    otherwise: str = "not computed",
) -> pd.DataFrame:
    """The printed cells that `ours` does not have, each with its reason: that of its column, else that of its row.

    columns, rows: {printed label: reason}. Join the result to `ours` before `report.Output.compare`.
    Raises: ValueError for a label that the table does not print.
    """
    printed = papers.load(paper, table)
    for name, reasons in (("column", columns or {}), ("row", rows or {})):
        unknown = sorted(set(reasons) - set(printed[name]))
        if unknown:
            raise ValueError(f"{paper} {table} prints no {name} {unknown}; it has {sorted(set(printed[name]))}")
    key = ["row", "column", "statistic"]
    gaps = printed.loc[printed["number"].notna(), key]
    gaps = gaps[~pd.MultiIndex.from_frame(gaps).isin(pd.MultiIndex.from_frame(ours[key]))]
    by_column, by_row = (gaps[name].map(why or {}).astype(object) for name, why in (("column", columns), ("row", rows)))
    why = by_column.fillna(by_row).fillna(otherwise)
    return gaps.assign(value=float("nan"), reason=why).reset_index(drop=True)


def printed_averages(paper: str, table: str, ours: pd.DataFrame, label: str = "average") -> pd.DataFrame:
    """The printed averages that `ours` does not have, as they follow from the printed cells of their rows.

    An average is the mean of its row's other printed cells, statistic by statistic; route `published`. A row that does
    not print all the table's columns is left out. Join the result to `ours` before `report.Output.compare`.
    Raises: ValueError for a table without a column `label`.
    """
    printed = papers.load(paper, table)
    printed = printed[printed["number"].notna()]
    averages, parts = printed[printed["column"] == label], printed[printed["column"] != label]
    if averages.empty:
        raise ValueError(f"{paper} {table} prints no column {label!r}; it has {sorted(set(printed['column']))}")
    key = ["row", "column", "statistic"]
    averages = averages[~pd.MultiIndex.from_frame(averages[key]).isin(pd.MultiIndex.from_frame(ours[key]))]
    found = parts.groupby(["row", "statistic"], sort=False)["number"].agg(value="mean", cells="size").reset_index()
    made = averages[key].merge(found, on=["row", "statistic"])
    made = made[made["cells"] == parts["column"].nunique()].drop(columns="cells")
    return made.assign(route="published", reason="the mean of the row's printed cells").reset_index(drop=True)


def _measured(
    x: np.ndarray, y: np.ndarray, coef: str, nan: str, interval: str | None, settings: Mapping[str, Any]
) -> tuple[meta.Correlation, np.ndarray | None]:
    """The coefficient with its interval, and the replicates behind a percentile interval: one bootstrap serves both."""
    if interval is None or not interval.startswith("boot-"):
        return meta.correlate(x, y, coef=coef, nan=nan, ci=interval, **settings), None
    result = meta.correlate(x, y, coef=coef, nan=nan, level=settings["level"])
    filled = meta.missing.apply(x, y, nan)
    drawn = meta.bootstrap(filled.x, filled.y, coef=coef, units=interval.removeprefix("boot-"), **settings)
    result = replace(
        result,
        low=drawn.low,
        high=drawn.high,
        ci=interval,
        n_boot=drawn.n_boot,
        n_undefined=drawn.n_undefined,
        seed=drawn.seed,
        reason=result.reason or drawn.reason,
    )
    return result, None if np.isnan(result.value) else drawn.replicates


def _column(items: pd.DataFrame, values: Scores | str) -> Any:
    if not isinstance(values, str):
        return values
    if values not in items.columns:
        raise ValueError(f"no column {values!r}; columns: {', '.join(map(str, items.columns))}")
    return items[values]


def _numbers(result: meta.Correlation, scale: float) -> dict[str, Any]:
    return {
        "value": result.value * scale,
        "n": result.n,
        "ci_low": result.low * scale,
        "ci_high": result.high * scale,
        "signature": result.signature(),
        "reason": result.reason,
    }


def read_ratings(recorded: pd.DataFrame, scale: Mapping[str, tuple[float, float]]) -> pd.DataFrame:
    """A recording of texts with `value` and `status`: what our rating parser reads in them, NaN where it reads nothing.

    scale: {aspect: (low, high)}. Equal texts of one aspect are parsed once.
    Raises: ValueError for a frame without texts, or an aspect without a scale.
    """
    if "text" not in recorded:
        raise ValueError(f"no column 'text' to parse; columns: {', '.join(map(str, recorded.columns))}")
    unknown = sorted(set(recorded["aspect"]) - set(scale))
    if unknown:
        raise ValueError(f"no scale for the aspect {', '.join(unknown)}; scales of {', '.join(scale)}")
    known = {}
    for aspect, texts in recorded.groupby("aspect", sort=False)["text"]:
        low, high = scale[aspect]
        known |= {(aspect, text): parsers.rating(text, low, high) for text in texts.unique()}
    read = [known[key] for key in zip(recorded["aspect"], recorded["text"], strict=True)]
    return recorded.assign(value=[one.value for one in read], status=[one.status.value for one in read])


def recorded_scores(items: pd.DataFrame, name: str | pd.DataFrame, **options: Any) -> dict[str, dict[str, np.ndarray]]:
    """The scores that recorded judges gave the outputs: {judge: {aspect: a value an item}}, NaN where there is none.

    items: a row an output; name: a recording with values, e.g. "alttest_summeval", or its frame (see `read_ratings`);
    options: those of its loader.
    Raises: ValueError where the recording holds texts only, or several values for one judge, output and aspect.
    """
    recorded = datasets.recordings.load(name, **options) if isinstance(name, str) else name
    label = name if isinstance(name, str) else str(name.attrs.get("name", "the recording"))
    if "value" not in recorded or recorded["value"].isna().all():
        raise ValueError(f"{label} holds texts, not values; parse them first")
    keys = ["judge", "aspect", "input_id", "system_id"]
    double = recorded.duplicated(keys)
    if double.any():
        raise ValueError(
            f"{label}: {int(double.sum())} values beyond the first for one judge, aspect and output; "
            "choose a prompt form and reduce the draws"
        )
    wanted = pd.MultiIndex.from_frame(items[["input_id", "system_id"]])
    found: dict[str, dict[str, np.ndarray]] = {}
    for (judge, aspect), part in recorded.groupby(["judge", "aspect"], sort=False):
        values = part.set_index(["input_id", "system_id"])["value"].reindex(wanted)
        found.setdefault(str(judge), {})[str(aspect)] = values.to_numpy(dtype=float)
    return found
