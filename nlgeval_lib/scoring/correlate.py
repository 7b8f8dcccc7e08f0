"""Scores of a file against its human ratings: coefficients with intervals, and which score follows them better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import meta
from nlgeval_lib.experiments import Grid
from nlgeval_lib.names import meant
from nlgeval_lib.scoring import columns, output
from nlgeval_lib.scoring.columns import Data
from nlgeval_lib.scoring.table import InputError, is_missing

NAN = float("nan")
_INTERVALS = [f"{method}-{units}" for method in ("boot", "bca") for units in ("rows", "inputs", "systems", "both")]


@dataclass(frozen=True)
class Settings:
    """What is computed. ci: "auto" (both units, or inputs where systems are few), "none", or a name of `meta`'s."""

    levels: Sequence[str] = ("dataset",)
    coefs: Sequence[str] = ("pearson", "spearman", "kendall-b")
    nan: str = "drop"
    ci: str = "auto"
    n_boot: int = 1000
    n_perm: int = 1000
    seed: int = 0
    correction: str = "holm"
    compare: bool = True
    baselines: bool = True
    raters: str = "rater_"  # how the columns of single raters begin, for the ceiling

    def __post_init__(self) -> None:
        from nlgeval_lib.meta.multiplicity import METHODS

        for given, allowed, name in (
            (self.levels, meta.LEVELS, "level"),
            (self.coefs, ("kendall", *meta.COEFFICIENTS), "coef"),
            ((self.nan,), meta.POLICIES, "nan"),
            ((self.correction,), METHODS, "correct"),
            ((self.ci,), ("auto", "none", *_INTERVALS), "ci"),
        ):
            for one in given:
                if one not in allowed:
                    raise InputError(f"--{name} {one!r}{meant(one, allowed)} allowed: {', '.join(allowed)}")


@dataclass(frozen=True)
class Result:
    """Two tables, and notes that belong to both.

    correlations: a row a group, level, coefficient and score; differences: a row a pair of scores.
    """

    correlations: pd.DataFrame
    differences: pd.DataFrame
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Block:
    """The rows of one group on one level: where each value goes."""

    group: str
    level: str
    rows: np.ndarray
    grid: Grid | None
    human: np.ndarray
    scores: Mapping[str, np.ndarray]
    free: frozenset[str] = frozenset()  # scores that are baselines
    raters: tuple[np.ndarray, ...] = ()

    def shaped(self, values: np.ndarray) -> np.ndarray:
        return values if self.grid is None else self.grid.matrix(values)

    @property
    def holes(self) -> int:
        return 0 if self.grid is None else self.grid.n_holes


def score_columns(data: Data, asked: Sequence[str], path: str = "") -> list[str]:
    """The columns with scores: those asked for; else those recorded beside the file, or that have a status beside them.

    Raises: InputError for a column that is not there, or where none can be told.
    """
    if asked:
        for name in asked:
            if name not in data.frame.columns:
                raise InputError(f"--score {columns.lacks(data.table, name)}")
        return list(dict.fromkeys(asked))
    there = [str(name) for name in data.frame.columns]
    known = [name for name in output.record_of(path).get("scores", {}) if name in there] if path else []
    known += [name for name in there if name not in known and output.names(name)[1] in there and name != "status"]
    known += ["value"] if "value" in there and not known else []
    if not known:
        raise InputError(f"{data.table.name}: which column has the scores? Give --score; columns: {', '.join(there)}")
    return known


def correlate(data: Data, scores: Sequence[str], settings: Settings | None = None, by: str | None = None) -> Result:
    """How well each score follows the ratings in `human`, group by group; and every two scores compared.

    by: the column whose values are groups of their own; None: `aspect` where there are several, "": one group.
    Raises: InputError naming the row and column of what is no number, or where no row has a rating.
    """
    settings = settings or Settings()
    if columns.RATING not in data.frame.columns:
        raise InputError(
            f"{data.table.name} has no column 'human'; say which has the ratings: --human COLUMN. "
            f"Its columns: {', '.join(map(str, data.table.frame.columns))}"
        )
    if not data.frame[columns.RATING].notna().any():
        raise InputError(f"{data.table.name}: no row has a rating in {data.theirs.get('human', 'human')!r}")
    values = {name: columns.numbers(data, name) for name in scores}
    found: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    notes: list[str] = []
    for block in _blocks(data, values, settings, by, notes):
        for coef in settings.coefs:
            found += [_one(block, name, coef, settings) for name in block.scores]
            if settings.baselines and len(block.raters) > 1:
                found.append(_ceiling(block, coef, settings))
            if settings.compare:
                pairs += _pairs(block, coef, settings)
    table = pd.DataFrame(found)
    differences = _corrected(pd.DataFrame(pairs), settings) if pairs else pd.DataFrame()
    if not differences.empty:
        table = _ranked(table, differences)
    return Result(_tidy(table), _tidy(differences), tuple(dict.fromkeys(notes)))


# -- what is compared --------------------------------------------------------------------------------------------------


def _blocks(
    data: Data, values: Mapping[str, np.ndarray], settings: Settings, by: str | None, notes: list[str]
) -> Iterator[_Block]:
    frame = data.frame
    group = _group(data, by)
    labels = (
        pd.Series([""] * len(frame)) if group is None else frame[group].map(lambda v: "" if is_missing(v) else str(v))
    )
    free = {}
    if settings.baselines and "output" in frame.columns:
        texts = [None if is_missing(text) else text for text in frame["output"]]
        free["output length (baseline)"] = meta.baselines.length(texts)
    if settings.baselines:
        free["random (baseline)"] = meta.baselines.uniform((len(frame),), settings.seed)
    raters = [name for name in frame.columns if settings.raters and _rated(frame, str(name), settings)]
    keyed = [key for key in columns.IDS if key in frame.columns]
    if not keyed:
        notes.append(
            "without input_id and system_id only the dataset level is there, and rows are resampled one by one"
        )
    for label in dict.fromkeys(labels):
        rows = np.flatnonzero((labels == label).to_numpy())
        ids = _ids(frame.iloc[rows])
        for level in settings.levels:
            if not keyed and (level != "dataset" or settings.ci.endswith(("inputs", "systems", "both"))):
                asked = f"--level {level}" if level != "dataset" else f"--ci {settings.ci}"
                raise InputError(f"{asked} needs the columns input_id and system_id (--map input_id=YOURS)")
            grid = _grid(ids, level, notes) if keyed else None
            yield _Block(
                label,
                level,
                rows,
                grid,
                frame[columns.RATING].to_numpy(dtype=float)[rows],
                {name: each[rows] for name, each in {**values, **free}.items()},
                frozenset(free),
                tuple(frame[name].to_numpy(dtype=float)[rows] for name in raters),
            )


def _rated(frame: pd.DataFrame, name: str, settings: Settings) -> bool:
    """Whether a column has a rater's ratings."""
    return (
        name.startswith(settings.raters)
        and name not in (columns.RATING, *columns.IDS)
        and pd.api.types.is_numeric_dtype(frame[name])
        and bool(frame[name].notna().any())
    )


def _group(data: Data, by: str | None) -> str | None:
    if by is None:
        return "aspect" if "aspect" in data.frame.columns and data.frame["aspect"].nunique() > 1 else None
    if by and by not in data.frame.columns:
        raise InputError(f"--by {columns.lacks(data.table, by)}")
    return by or None


def _ids(frame: pd.DataFrame) -> pd.DataFrame:
    """The two ids of each row: one system where none is named; an input of its own where none is named."""
    n = len(frame)
    systems = frame["system_id"].tolist() if "system_id" in frame.columns else ["one"] * n
    inputs = frame["input_id"].tolist() if "input_id" in frame.columns else list(range(n))
    return pd.DataFrame({"system_id": systems, "input_id": inputs})


def _grid(ids: pd.DataFrame, level: str, notes: list[str]) -> Grid:
    grid = Grid(ids)
    if not grid.repeated or level != "system":
        return grid
    doubled = int(ids.duplicated().sum())
    notes.append(f"{doubled} outputs share system and input with another; at system level each is an input of its own")
    return Grid.at(ids, level)


# -- coefficients ------------------------------------------------------------------------------------------------------


def _one(block: _Block, name: str, coef: str, settings: Settings) -> dict[str, Any]:
    """One row of the table of correlations; a coefficient that cannot be had is missing, with the reason."""
    scores = block.scores[name]
    rated = ~np.isnan(block.human)
    row = {
        "group": block.group,
        "level": block.level,
        "coef": coef,
        "score": name,
        "value": NAN,
        "ci_low": NAN,
        "ci_high": NAN,
        "n": int((rated & ~np.isnan(scores)).sum()),
        "coverage": float((~np.isnan(scores[rated])).mean()) if rated.any() else NAN,
        "reason": "",
        "signature": "",
        "baseline": name in block.free,
    }
    interval = _interval(block, settings.ci)
    try:
        _refuse_gaps(block, name, settings)
        policy = "drop" if settings.nan == "error" else settings.nan
        found = meta.correlate(
            block.shaped(scores),
            block.shaped(block.human),
            coef=coef,
            level=block.level,
            nan=policy,
            ci=interval,
            n_boot=settings.n_boot,
            seed=settings.seed,
        )
    except ValueError as error:
        return row | {"reason": str(error)}
    # places of the grid where the file has no row are not missing scores
    found = replace(found, n_missing=found.n_missing - block.holes, total=len(block.rows), nan=settings.nan)
    return row | {
        "value": found.value,
        "ci_low": found.low,
        "ci_high": found.high,
        "n": found.n,
        "reason": found.reason,
        "signature": found.signature(),
    }


def _refuse_gaps(block: _Block, name: str, settings: Settings) -> None:
    """Raises: ValueError where policy error is asked for and a rated row has no such score."""
    gaps = int(np.isnan(block.scores[name][~np.isnan(block.human)]).sum())
    if settings.nan == "error" and gaps:
        raise ValueError(f"--nan error: {gaps} rated rows have no {name}")


def _ceiling(block: _Block, coef: str, settings: Settings) -> dict[str, Any]:
    """How well each rater follows the mean of the others: what a judge can be expected to reach."""
    row: dict[str, Any] = {
        "group": block.group,
        "level": block.level,
        "coef": coef,
        "score": "raters, leave-one-out (ceiling)",
    }
    row |= {"value": NAN, "ci_low": NAN, "ci_high": NAN, "reason": "", "signature": "", "baseline": True}
    ratings = np.stack([block.shaped(rater) for rater in block.raters])
    interval = _interval(block, settings.ci)
    try:
        found = meta.human_ceiling(ratings, coef, block.level, interval, settings.n_boot, settings.seed)
    except ValueError as error:
        return row | {"reason": str(error)}
    found = replace(found, total=len(block.rows))
    numbers = {"value": found.value, "ci_low": found.low, "ci_high": found.high, "n": found.n}
    return row | numbers | {"reason": found.reason, "signature": found.signature()}


def _interval(block: _Block, asked: str) -> str | None:
    if asked == "none":
        return None
    if asked != "auto":
        return asked
    return "boot-rows" if block.grid is None else block.grid.interval("auto")


def _pairs(block: _Block, coef: str, settings: Settings) -> list[dict[str, Any]]:
    """Every two scores on the rows that both have; baselines are not compared."""
    units = (_interval(block, "auto") or "").removeprefix("boot-")
    found = []
    for first, second in combinations([name for name in block.scores if name not in block.free], 2):
        row = {"group": block.group, "level": block.level, "coef": coef, "first": first, "second": second}
        try:
            _refuse_gaps(block, first, settings)
            _refuse_gaps(block, second, settings)
            test = meta.compare(
                block.shaped(block.scores[first]),
                block.shaped(block.scores[second]),
                block.shaped(block.human),
                coef="kendall-b" if coef == "kendall" else coef,
                level=block.level,
                units=units,
                n_perm=settings.n_perm,
                seed=settings.seed,
                nan="drop" if settings.nan == "error" else settings.nan,
            )
        except ValueError as error:
            found.append(row | {"difference": NAN, "p": NAN, "reason": str(error), "signature": ""})
            continue
        test = replace(test, n_missing=test.n_missing - block.holes, total=len(block.rows), nan=settings.nan)
        numbers = {"value_first": test.first, "value_second": test.second, "difference": test.difference, "p": test.p}
        found.append(row | numbers | {"n": test.n, "reason": test.reason, "signature": test.signature()})
    return found


def _corrected(pairs: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The pairs with p-values corrected over all tests of one level and coefficient, whatever the group."""
    families = [f"{level} {coef}" for level, coef in zip(pairs["level"], pairs["coef"], strict=True)]
    corrected = meta.correct(pairs["p"].tolist(), settings.correction, families)
    place = pairs.columns.get_loc("p") + 1
    pairs.insert(place, "p_adjusted", corrected.adjusted)
    sizes = pairs.assign(family=families).groupby("family")["p"].transform("count")
    pairs["signature"] = [
        f"{text}|correct:{settings.correction}({size})" if text else ""
        for text, size in zip(pairs["signature"], sizes, strict=True)
    ]
    return pairs


def _ranked(table: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """The table with ranks: scores that no test tells apart share one. By the corrected p-values."""
    ranks = pd.Series(pd.NA, index=table.index, dtype="Int64")
    keys = ["group", "level", "coef"]
    for key, part in table[~table["baseline"]].groupby(keys, sort=False):
        tests = pairs[(pairs[keys] == pd.Series(dict(zip(keys, key, strict=True)))).all(axis=1)]
        names = part["score"].tolist()
        p = np.full((len(names), len(names)), np.nan)
        for test in tests.itertuples(index=False):
            i, j = names.index(test.first), names.index(test.second)
            p[i, j] = p[j, i] = test.p_adjusted
        ranks.loc[part.index] = meta.rank_clusters(part["value"].to_numpy(), p)
    table.insert(table.columns.get_loc("n"), "rank", ranks)
    return table


def _tidy(table: pd.DataFrame) -> pd.DataFrame:
    """Without the columns that say nothing here."""
    if table.empty:
        return table
    table = table.drop(columns="baseline", errors="ignore")
    idle = [name for name in ("group", "reason") if name in table and not table[name].astype(bool).any()]
    return table.drop(columns=idle)
