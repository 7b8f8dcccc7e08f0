"""Tables of correlations with intervals: what most notebooks compute, in the keys of the printed tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets, meta, papers, parsers
from nlgeval_lib.scoring.grid import Grid, Scores

_NAMES = {"kendall-a": "kendall", "kendall-b": "kendall", "kendall-c": "kendall"}


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
    ratings = {label: _column(items, values) for label, values in human.items()}
    cells = []
    for row, given in scores.items():
        per_column = given if isinstance(given, Mapping) else dict.fromkeys(human, given)
        unknown = set(per_column) - set(human)
        if unknown:
            raise ValueError(f"{row}: scores for {sorted(unknown)}, but ratings are of {', '.join(human)}")
        for coef in coefs:
            for label, values in per_column.items():
                if nan == "error":  # here an item without a rating is one too
                    meta.arrays.fill(np.asarray(values, dtype=float), np.asarray(ratings[label], dtype=float), nan)
                result, replicates = grid.correlate(
                    values, ratings[label], coef=coef, level=level, nan=nan, ci=ci, n_boot=n_boot, seed=seed
                )
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
            ends = meta.intervals.interval(together, float(part["value"].mean(skipna=False)))
            low, high, why = ends.low, ends.high, ends.reason if np.isnan(ends.low) else ""
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
