"""Scores of a file against its human ratings: coefficients with intervals, and which score follows them better."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import meta
from nlgeval_lib.names import meant
from nlgeval_lib.scoring import output, rows
from nlgeval_lib.scoring.grid import Grid
from nlgeval_lib.scoring.readers import InputError, is_missing
from nlgeval_lib.scoring.rows import Rows

NAN = float("nan")
CEILING = "raters, leave-one-out (ceiling)"
_VALUE = {"value": "value", "ci_low": "low", "ci_high": "high", "n": "n"}
_DIFFERENCE = {"value_first": "first", "value_second": "second", "difference": "difference", "p": "p", "n": "n"}
NO_IDS = "without input_id and system_id only the dataset level is there, and rows are resampled one by one"
SHARED = "{} outputs share system and input with another; at system level each is an input of its own"
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
    correct: str = "holm"
    compare: bool = True
    baselines: bool = True
    raters: str = "rater_"  # how the columns of single raters begin, for the ceiling

    def __post_init__(self) -> None:
        from nlgeval_lib.meta.multiplicity import METHODS

        for given, allowed, name in (
            (self.levels, meta.LEVELS, "level"),
            (self.coefs, ("kendall", *meta.COEFFICIENTS), "coef"),
            ((self.nan,), meta.POLICIES, "nan"),
            ((self.correct,), METHODS, "correct"),
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
class _Part:
    """The rows of one group on one level: where each value goes, and the values."""

    group: str
    level: str
    grid: Grid
    human: np.ndarray
    scores: Mapping[str, pd.Series]
    baselines: frozenset[str]
    raters: tuple[np.ndarray, ...]
    notes: tuple[str, ...]


def score_columns(data: Rows, asked: Sequence[str], path: str = "") -> list[str]:
    """The columns with scores: those asked for; else those recorded beside the file, or that have a status beside them.

    Raises: InputError for a column that is not there, or where none can be told.
    """
    there = [str(name) for name in data.frame.columns]
    for name in asked:
        if name not in there:
            raise InputError(f"--score {data.lacks(name)}")
    known = list(dict.fromkeys(asked))
    if not known:
        known = [name for name in output.record_of(path).get("scores", {}) if name in there] if path else []
        known += [n for n in there if n not in known and output.names(n)[1] in there and n != "status"]
    if not known and "value" in there:
        known = ["value"]
    if not known:
        raise InputError(f"{data.name}: which column has the scores? Give --score; columns: {', '.join(there)}")
    return known


def correlate(data: Rows, scores: Sequence[str], settings: Settings | None = None, by: str | None = None) -> Result:
    """How well each score follows the ratings in `human`, group by group; and every two scores compared.

    by: the column whose values are groups of their own; None: `aspect` where there are several, "": one group.
    Raises: InputError naming the row and column of what is no number, or where no row has a rating.
    """
    settings = settings or Settings()
    if rows.RATING not in data.frame.columns:
        raise InputError(
            f"{data.name} has no column 'human'; say which has the ratings: --human COLUMN. "
            f"Its columns: {', '.join(data.columns)}"
        )
    if not data.frame[rows.RATING].notna().any():
        raise InputError(f"{data.name}: no row has a rating in {data.theirs.get('human', 'human')!r}")
    values = {name: rows.numbers(data, name) for name in scores}
    found: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    notes: dict[str, None] = {}
    for part in _parts(data, values, settings, by):
        notes |= dict.fromkeys(part.notes)
        for coef in settings.coefs:
            found += [_one(part, name, coef, settings) for name in part.scores]
            if settings.baselines and len(part.raters) > 1:
                found.append(_ceiling(part, coef, settings))
            if settings.compare:
                pairs += _pairs(part, coef, settings)
    table, differences = pd.DataFrame(found), pd.DataFrame(pairs)
    if pairs:
        differences = _corrected(differences, settings)
        table = _ranked(table, differences)
    return Result(_tidy(table), _tidy(differences), tuple(notes))


# -- what is compared --------------------------------------------------------------------------------------------------


def _parts(data: Rows, values: Mapping[str, np.ndarray], settings: Settings, by: str | None) -> Iterator[_Part]:
    """Every group on every level. Raises: InputError for a column that is not there."""
    frame = data.frame
    if by is None and "aspect" in frame.columns and frame["aspect"].nunique() > 1:
        by = "aspect"
    if by and by not in frame.columns:
        raise InputError(f"--by {data.lacks(by)}")
    labels = ["" if not by or is_missing(label) else str(label) for label in (frame[by] if by else [""] * len(frame))]
    free = {}
    if settings.baselines and "output" in frame.columns:
        texts: list[Any] = [None if is_missing(text) else text for text in frame["output"]]
        free["output length (baseline)"] = meta.baselines.length(texts)
    if settings.baselines:
        free["random (baseline)"] = meta.baselines.uniform((len(frame),), settings.seed)
    raters = [name for name in frame.columns if settings.raters and _rated(frame, str(name), settings)]
    flat = not any(key in frame.columns for key in rows.IDS)
    ids = pd.DataFrame({"system_id": ["one"] * len(frame), "input_id": range(len(frame))}, frame.index, dtype=object)
    ids = ids.assign(**{key: frame[key] for key in rows.IDS if key in frame.columns})
    for group in dict.fromkeys(labels):
        mine = np.flatnonzero([label == group for label in labels])
        for level in settings.levels:
            if flat and (level != "dataset" or settings.ci.endswith(("inputs", "systems", "both"))):
                asked = f"--level {level}" if level != "dataset" else f"--ci {settings.ci}"
                raise InputError(f"{asked} needs the columns input_id and system_id (--map input_id=YOURS)")
            grid = Grid(ids.iloc[mine], flat=True) if flat else Grid.at(ids.iloc[mine], level)
            doubled = int(ids.iloc[mine].duplicated().sum())
            notes = [NO_IDS] if flat else [SHARED.format(doubled)] if doubled and level == "system" else []
            yield _Part(
                group,
                level,
                grid,
                frame[rows.RATING].to_numpy(dtype=float)[mine],
                {name: pd.Series(each[mine], name=name) for name, each in {**values, **free}.items()},
                frozenset(free),
                tuple(frame[name].to_numpy(dtype=float)[mine] for name in raters),
                tuple(notes),
            )


def _rated(frame: pd.DataFrame, name: str, settings: Settings) -> bool:
    """Whether a column has a rater's ratings."""
    return (
        name.startswith(settings.raters)
        and name not in (rows.RATING, *rows.IDS)
        and pd.api.types.is_numeric_dtype(frame[name])
        and bool(frame[name].notna().any())
    )


# -- coefficients: a row of a table, of one that cannot be had the reason ----------------------------------------------


def _one(part: _Part, name: str, coef: str, settings: Settings) -> dict[str, Any]:
    """How one score follows the ratings."""
    scores, rated = part.scores[name], ~np.isnan(part.human)
    scored = scores.notna().to_numpy()
    row = _row(part, coef, score=name) | dict.fromkeys(_VALUE, NAN) | {"n": int((rated & scored).sum())}
    row["coverage"] = float(scored[rated].mean()) if rated.any() else NAN
    ways: dict[str, Any] = {
        "ci": _interval(settings),
        "n_boot": settings.n_boot,
        "seed": settings.seed,
        "nan": settings.nan,
    }
    made = _had(lambda: part.grid.correlate(scores, part.human, coef=coef, level=part.level, **ways)[0], _VALUE)
    return row | made | {"baseline": name in part.baselines}


def _ceiling(part: _Part, coef: str, settings: Settings) -> dict[str, Any]:
    """How well each rater follows the mean of the others."""
    ways = (coef, part.level, _interval(settings), settings.n_boot, settings.seed)
    made = _had(lambda: part.grid.ceiling(part.raters, *ways), _VALUE)
    return (
        _row(part, coef, score=CEILING) | dict.fromkeys(("value", "ci_low", "ci_high"), NAN) | made | {"baseline": True}
    )


def _pairs(part: _Part, coef: str, settings: Settings) -> Iterator[dict[str, Any]]:
    """Every two scores on the rows that both have; baselines are not compared."""
    ways: dict[str, Any] = {
        "coef": "kendall-b" if coef == "kendall" else coef,
        "level": part.level,
        "nan": settings.nan,
    }
    ways |= {"n_perm": settings.n_perm, "seed": settings.seed}
    for first, second in combinations([name for name in part.scores if name not in part.baselines], 2):
        both = part.scores[first], part.scores[second]
        made = _had(lambda both=both: part.grid.compare(both[0], both[1], part.human, **ways), _DIFFERENCE)  # type: ignore[misc]
        without = {} if "p" in made else {"difference": NAN, "p": NAN}
        yield _row(part, coef, first=first, second=second) | without | made


def _row(part: _Part, coef: str, **names: str) -> dict[str, Any]:
    return {"group": part.group, "level": part.level, "coef": coef, **names}


def _interval(settings: Settings) -> str | None:
    return None if settings.ci == "none" else settings.ci


def _had(make: Callable[[], Any], numbers: Mapping[str, str]) -> dict[str, Any]:
    """The numbers of a result (column: attribute), its reason and signature; the reason alone where `meta` refuses."""
    try:
        found = make()
    except ValueError as error:
        return {"reason": str(error), "signature": ""}
    values = {column: getattr(found, attribute) for column, attribute in numbers.items()}
    return {**values, "reason": found.reason, "signature": found.signature()}


def _corrected(pairs: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The pairs with p-values corrected over all tests of one level and coefficient, whatever the group."""
    families = [f"{level} {coef}" for level, coef in zip(pairs["level"], pairs["coef"], strict=True)]
    corrected = meta.correct(pairs["p"].tolist(), settings.correct, families)
    pairs.insert(pairs.columns.get_loc("p") + 1, "p_adjusted", corrected.adjusted)
    sizes = pairs.assign(family=families).groupby("family")["p"].transform("count")
    pairs["signature"] = [
        f"{text}|correct:{settings.correct}({size})" if text else ""
        for text, size in zip(pairs["signature"], sizes, strict=True)
    ]
    return pairs


def _ranked(table: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """The table with ranks: scores that no test tells apart share one. By the corrected p-values."""
    ranks = pd.Series(pd.NA, index=table.index, dtype="Int64")
    keys = ["group", "level", "coef"]
    tests = dict(iter(pairs.groupby(keys, sort=False)))
    for key, part in table[~table["baseline"]].groupby(keys, sort=False):
        names = part["score"].tolist()
        p = pd.DataFrame(NAN, names, names)
        for test in tests[key].itertuples(index=False) if key in tests else ():
            p.loc[test.first, test.second] = p.loc[test.second, test.first] = test.p_adjusted
        ranks.loc[part.index] = meta.rank_clusters(part["value"].to_numpy(), p.to_numpy())
    table.insert(table.columns.get_loc("n"), "rank", ranks)
    return table


def _tidy(table: pd.DataFrame) -> pd.DataFrame:
    """Without the columns that say nothing here."""
    if table.empty:
        return table
    table = table.drop(columns="baseline", errors="ignore")
    idle = [name for name in ("group", "reason") if name in table and not table[name].astype(bool).any()]
    return table.drop(columns=idle)
