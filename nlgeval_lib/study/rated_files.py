"""Scores of a file against its human ratings: coefficients with intervals, and which
score follows them better.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import meta
from nlgeval_lib.names import meant
from nlgeval_lib.scoring import rows, score_files
from nlgeval_lib.scoring.cells import InputError, is_missing
from nlgeval_lib.scoring.correlations import Grid
from nlgeval_lib.scoring.rows import Parts, Rows

NAN = float("nan")
# the column of an evaluator that was fitted, as `Judgment.details` have it
SEEN = "seen_in_training"
CEILING = "raters, leave-one-out (ceiling)"
NO_IDS = "without input_id and system_id only the dataset level is there"
SHARED = "{} outputs share system and input with another; at system level each is an input of its own"
FEW = "{} of {} systems have fewer than half of the {} inputs (fewest: {}, {}): their scores also say which they have"
_RESTS = {
    "rows": "{n} rows, taken one by one",
    "inputs": "{inputs} inputs, and hold for others like them, judged on these systems",
    "systems": "{systems} systems, and hold for others like them on these inputs",
    "both": "{systems} systems and {inputs} inputs, and hold for others like them",
    "fisher": "{systems} systems, by a formula",
}
_VALUE = {"value": "value", "ci_low": "low", "ci_high": "high", "n": "n"}
_DIFFERENCE = {
    "value_first": "first",
    "value_second": "second",
    "difference": "difference",
    "p": "p",
    "n": "n",
}
_KEYS = ["group", "level", "coef"]


@dataclass(frozen=True)
class Settings:
    """What is computed. ci: "auto" (`meta.intervals`), "none", or a name of
    `meta`'s.
    """

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
            (
                (self.ci,),
                (
                    "auto",
                    "none",
                    *(name for name in meta.intervals.NAMES if name != "auto"),
                ),
                "ci",
            ),
        ):
            for one in given:
                if one not in allowed:
                    raise InputError(
                        f"--{name} {one!r}{meant(one, allowed)} allowed: {', '.join(allowed)}"
                    )


@dataclass(frozen=True)
class Result:
    """Two tables, and notes that belong to both.

    correlations: a row a group, level, coefficient and score; differences: a row a pair
    of scores.
    """

    correlations: pd.DataFrame
    differences: pd.DataFrame
    notes: tuple[str, ...] = ()


def score_columns(data: Rows | Parts, asked: Sequence[str]) -> list[str]:
    """The columns with scores: those asked for; else those recorded beside the file, or
    that have a status beside them.

    Raises: InputError for a column that is not there, or where none can be told.
    """
    there = list(data.theirs)
    for name in asked:
        if name not in there:
            raise InputError(f"--score {data.lacks(name)}")
    if asked:
        return list(dict.fromkeys(asked))
    known = [name for name in data.earlier.get("scores", {}) if name in there]
    known += [
        n
        for n in there
        if n not in known and score_files.score_columns(n)[1] in there and n != "status"
    ]
    if not known and "value" not in there:
        raise InputError(
            f"{data.name}: which column has the scores? Give --score; columns: {', '.join(there)}"
        )
    return known or ["value"]


def needed(
    scores: Sequence[str], settings: Settings, by: str | None = None
) -> Callable[[str], bool]:
    """Whether a column takes part in `correlate`: of a large file no other one is
    read.
    """
    fixed = {*scores, *map(_seen, scores), rows.RATING, *rows.IDS, by or "aspect"}
    fixed |= {"output"} if settings.baselines else set()
    raters = settings.raters if settings.baselines else ""
    return lambda name: name in fixed or bool(raters and name.startswith(raters))


def _seen(score: str) -> str:
    """The column that says whether a score was fitted on a row."""
    return SEEN if score == "value" else f"{score}_{SEEN}"


def correlate(
    data: Rows,
    scores: Sequence[str],
    settings: Settings | None = None,
    by: str | None = None,
) -> Result:
    """How well each score follows the ratings in `human`, group by group; and every two
    scores compared.

    by: the column whose values are groups of their own; None: `aspect` where there are
    several, "": one group.
    Raises: InputError naming the row and column of what is no number, or where no row
    has a rating.
    """
    settings = settings or Settings()
    data, left_out = _unseen(data, scores)
    frame = data.frame
    if rows.RATING not in frame.columns:
        said = f"say which has the ratings: --human {rows.nearest(data, rows.RATING) or 'COLUMN'}"
        raise InputError(
            f"{data.name} has no column 'human'; {said}. Its columns: {', '.join(data.columns)}"
        )
    if not frame[rows.RATING].notna().any():
        raise InputError(
            f"{data.name}: no row has a rating in {data.theirs.get('human', 'human')!r}"
        )
    if by is None and "aspect" in frame.columns and frame["aspect"].nunique() > 1:
        by = "aspect"
    if by and by not in frame.columns:
        raise InputError(f"--by {data.lacks(by)}")
    values = {name: data.numbers(name) for name in scores}
    free = _baselines(frame, settings)
    raters = [
        str(name)
        for name in frame.columns
        if settings.baselines and _rated(frame, str(name), settings)
    ]
    labels = [
        "" if not by or is_missing(label) else str(label)
        for label in (frame[by] if by else [""] * len(frame))
    ]
    flat = not any(key in frame.columns for key in rows.IDS)
    ids = pd.DataFrame(
        {"system_id": ["one"] * len(frame), "input_id": range(len(frame))},
        frame.index,
        dtype=object,
    )
    ids = ids.assign(**{key: frame[key] for key in rows.IDS if key in frame.columns})
    drawn = {
        "ci": None if settings.ci == "none" else settings.ci,
        "n_boot": settings.n_boot,
        "seed": settings.seed,
    }
    tested: dict[str, Any] = {
        "nan": settings.nan,
        "n_perm": settings.n_perm,
        "seed": settings.seed,
    }
    found: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    notes = dict.fromkeys(left_out)
    rests = dict[str, None]()
    for group in dict.fromkeys(labels):
        mine = np.flatnonzero([label == group for label in labels])
        human = frame[rows.RATING].to_numpy(dtype=float)[mine]
        places = ids.iloc[mine]
        rated = int((~np.isnan(human)).sum())
        own, base = (
            {name: pd.Series(each[mine], name=name) for name, each in part.items()}
            for part in (values, free)
        )
        there = {
            name: one.notna().to_numpy() & ~np.isnan(human)
            for name, one in {**own, **base}.items()
        }
        notes |= (
            {}
            if flat
            else dict.fromkeys(
                _few(places[np.logical_or.reduce([there[name] for name in own])])
            )
        )
        for level in settings.levels:
            if flat and (
                level != "dataset"
                or settings.ci.endswith(("inputs", "systems", "both"))
            ):
                asked = (
                    f"--level {level}" if level != "dataset" else f"--ci {settings.ci}"
                )
                raise InputError(
                    f"{asked} needs the columns input_id and system_id (--map input_id=YOURS)"
                )
            grid = Grid(places, level, flat)
            doubled = int(places.duplicated().sum())
            notes |= (
                {NO_IDS: None}
                if flat
                else {SHARED.format(doubled): None}
                if doubled and level == "system"
                else {}
            )
            for coef in settings.coefs:
                key = dict(zip(_KEYS, (group, level, coef), strict=True))
                for name, one in {**own, **base}.items():
                    n = int(there[name].sum())
                    row = dict.fromkeys(_VALUE, NAN) | {
                        "n": n,
                        "coverage": n / rated if rated else NAN,
                    }
                    made = _had(
                        _VALUE,
                        grid.correlate,
                        one,
                        human,
                        coef,
                        level,
                        nan=settings.nan,
                        **drawn,
                    )
                    found.append(
                        {**key, "score": name, **row, **made, "baseline": name in base}
                    )
                    rests |= dict.fromkeys(
                        _rest(made["signature"], grid, level) if name in own else ()
                    )
                if len(raters) > 1:
                    ratings = [
                        frame[name].to_numpy(dtype=float)[mine] for name in raters
                    ]
                    made = _had(_VALUE, grid.ceiling, ratings, coef, level, **drawn)
                    found.append({**key, "score": CEILING, **made, "baseline": True})
                for first, second in combinations(own, 2) if settings.compare else ():
                    tested |= {
                        "coef": "kendall-b" if coef == "kendall" else coef,
                        "level": level,
                    }
                    made = _had(
                        _DIFFERENCE,
                        grid.compare,
                        own[first],
                        own[second],
                        human,
                        **tested,
                    )
                    none = {} if "p" in made else {"difference": NAN, "p": NAN}
                    pairs.append(
                        {**key, "first": first, "second": second, **none, **made}
                    )
    table = pd.DataFrame(found)
    differences = pd.DataFrame(pairs)
    if pairs:
        differences = _corrected(differences, settings)
        table = _ranked(table, differences)
    return Result(_tidy(table), _tidy(differences), (*notes, *rests))


def _unseen(data: Rows, scores: Sequence[str]) -> tuple[Rows, list[str]]:
    """The rows that no score was fitted on, and what to say of the others.

    Raises: InputError where there are none.
    """
    columns = [name for name in map(_seen, scores) if name in data.frame]
    seen = [
        data.frame[name].astype(str).str.lower().isin(("true", "1", "1.0"))
        for name in columns
    ]
    mask = np.logical_or.reduce(seen) if seen else np.zeros(len(data), dtype=bool)
    if len(data) and mask.all():
        raise InputError(
            f"{data.name}: a score was fitted on every row; rate others, or use score --cross-fit"
        )
    return data.take(~mask), [
        f"{int(mask.sum()):,} rows that a score was fitted on are left out"
    ] if mask.any() else []


def _few(ids: pd.DataFrame) -> Iterator[str]:
    """What is to be said where systems have few of the inputs."""
    inputs = ids["input_id"].nunique()
    systems = ids.groupby("system_id", sort=False)["input_id"].nunique()
    if few := int((2 * systems < inputs).sum()):
        yield FEW.format(few, len(systems), inputs, systems.idxmin(), systems.min())


def _rest(signature: str, grid: Grid, level: str) -> Iterator[str]:
    """What an interval rests on."""
    for name in re.findall(r"ci:(?:\w+-)?(\w+)", signature):
        kind = "rows" if name == "fisher" and level != "system" else name
        yield "intervals rest on " + _RESTS[kind].format(
            n=grid.n, systems=grid.n_systems, inputs=len(grid.inputs)
        )


def _baselines(frame: pd.DataFrame, settings: Settings) -> dict[str, np.ndarray]:
    """What costs nothing, beside the scores."""
    if not settings.baselines:
        return {}
    texts = [None if is_missing(text) else text for text in frame.get("output", ())]
    free = {"output length (baseline)": meta.baselines.length(texts)} if texts else {}
    return {
        **free,
        "random (baseline)": meta.baselines.uniform((len(frame),), settings.seed),
    }


def _rated(frame: pd.DataFrame, name: str, settings: Settings) -> bool:
    """Whether a column has a rater's ratings."""
    named = (
        bool(settings.raters)
        and name.startswith(settings.raters)
        and name not in (rows.RATING, *rows.IDS)
    )
    return (
        named
        and pd.api.types.is_numeric_dtype(frame[name])
        and bool(frame[name].notna().any())
    )


def _had(
    numbers: Mapping[str, str], make: Callable[..., Any], *given: Any, **how: Any
) -> dict[str, Any]:
    """The numbers of a result (column: attribute), its reason and signature; the
    reason alone where `meta` refuses.
    """
    try:
        found = make(*given, **how)
    except ValueError as error:
        return {"reason": str(error), "signature": ""}
    found = found[0] if isinstance(found, tuple) else found
    values = {
        column: getattr(found, attribute) for column, attribute in numbers.items()
    }
    return {**values, "reason": found.reason, "signature": found.signature()}


def _corrected(pairs: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The pairs with p-values corrected over all tests of one level and coefficient,
    whatever the group.
    """
    family = pairs["level"] + " " + pairs["coef"]
    said = pairs["signature"]
    corrected = meta.correct(pairs["p"].tolist(), settings.correct, family.tolist())
    pairs.insert(pairs.columns.get_loc("p") + 1, "p_adjusted", corrected.adjusted)
    sizes = pairs["p"].groupby(family).transform("count").astype(int).astype(str)
    return pairs.assign(
        signature=(said + f"|correct:{settings.correct}(" + sizes + ")").where(
            said != "", ""
        )
    )


def _ranked(table: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """The table with ranks: scores that no test tells apart share one.

    By the corrected p-values.
    """
    ranks = pd.Series(pd.NA, index=table.index, dtype="Int64")
    tests = dict(iter(pairs.groupby(_KEYS, sort=False)))
    for key, part in table[~table["baseline"]].groupby(_KEYS, sort=False):
        names = part["score"].tolist()
        p = pd.DataFrame(NAN, names, names)
        for test in tests[key].itertuples(index=False) if key in tests else ():
            p.loc[test.first, test.second] = p.loc[test.second, test.first] = (
                test.p_adjusted
            )
        ranks.loc[part.index] = meta.rank_clusters(
            part["value"].to_numpy(), p.to_numpy()
        )
    table.insert(table.columns.get_loc("n"), "rank", ranks)
    return table


def _tidy(table: pd.DataFrame) -> pd.DataFrame:
    """Without the columns that say nothing here."""
    if table.empty:
        return table
    table = table.drop(columns="baseline", errors="ignore")
    idle = [
        name
        for name in ("group", "reason")
        if name in table and not table[name].astype(bool).any()
    ]
    return table.drop(columns=idle)
