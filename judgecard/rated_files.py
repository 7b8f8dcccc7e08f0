"""Scores of a file against its human ratings: coefficients with intervals, and which
score follows them better.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from judgecard import rated_columns
from judgecard.label_sheets import PROBABILITY
from judgecard.rated_rows import training_column
from nlgeval_lib import statistics
from nlgeval_lib.names import meant
from nlgeval_lib.scoring import rows
from nlgeval_lib.scoring.cells import InputError
from nlgeval_lib.scoring.columns import OTHER, nearest
from nlgeval_lib.scoring.correlations import Grid
from nlgeval_lib.scoring.rows import Rows
from nlgeval_lib.statistics.comparison import following
from nlgeval_lib.statistics.questions import Answer

NAN = float("nan")
# The names of rows and the notes, with what is filled in.
CEILING = "{kind}raters ({n}), leave-one-out (ceiling)"
NO_IDS = "without input_id and system_id only the dataset level is there"
SHARED = (
    "{} outputs share system and input with another; "
    "at system level each is an input of its own"
)
FEW = (
    "{} of {} systems have fewer than half of the {} inputs (fewest: {}, {}): "
    "their scores also say which they have"
)
OTHER_RATERS = (
    "intervals for other raters like these are right if each column of raters is one "
    "person"
)
# What an interval or test generalises over, by the unit in its signature.
_RESTS = {
    "rows": "{n} rows, taken one by one",
    "inputs": "{inputs} inputs, and hold for others like them, judged on these systems",
    "systems": "{systems} systems, and hold for others like them on these inputs",
    "both": (
        "{systems} systems and {inputs} inputs, and hold for others that spread as "
        "these do, if all families of systems are named (system_family); "
        "the careful ones are for systems unlike all of these, too "
        "(docs/statistics.md says what holds where)"
    ),
    "fisher": "{systems} systems, by a formula",
}
# Column of the table of correlations -> attribute of `statistics`'s result.
_VALUE = {"value": "value", "ci_low": "low", "ci_high": "high", "n": "n"}
REVERSED = (
    "{score} falls where the ratings rise ({coef}, {level} level: {value:.3f}); where "
    "less is better in it, --reverse {score} turns its sign"
)
BELOW = "{} follows the ratings as well as {} ({}, {} level)"
# Column of the table of differences -> attribute of `statistics`'s result.
_DIFFERENCE = {
    "value_first": "first",
    "value_second": "second",
    "difference": "difference",
    "ci_low": "low",
    "ci_high": "high",
    "p": "p",
    "n": "n",
}
# Corrections under which hardly any rejection is false, so that ranks are sure.
SURE = ("holm", "bonferroni")
# What is compared stands within one of these.
_KEYS = ["group", "level", "coef"]
# Columns that answer the second question (other systems, or these alone?). Those that
# are empty throughout are left out of a table.
FURTHER = (
    "careful_low",
    "careful_high",
    "these_low",
    "these_high",
    "raters_low",
    "raters_high",
    "p_these",
    "detectable",
    "detectable_these",
)


@dataclass(frozen=True)
class Settings:
    """What is computed.

    ci: "auto" (`statistics.intervals`), "none", or a name of `statistics`'s.
    n_boot, n_perm: resamples of an interval by bootstrap, of a permutation test.
    seed: of resamples, and of the random baseline.
    baselines: whether what costs nothing and the raters' ceiling stand in the table.
    family, topic: the columns of the systems' families and the inputs' topics; None
    takes `system_family` and `topic` where they are there, "" takes none.
    Raises: InputError for a word that is not allowed, naming the option.
    """

    levels: Sequence[str] = ("dataset",)
    coefs: Sequence[str] = ("pearson", "spearman", "kendall-b")
    ci: str = "auto"
    n_boot: int = 1000
    n_perm: int = 1000
    seed: int = 0
    correct: str = "holm"
    compare: bool = True
    baselines: bool = True
    family: str | None = None
    topic: str | None = None

    def __post_init__(self) -> None:
        from nlgeval_lib.statistics.multiplicity import METHODS

        intervals = [name for name in statistics.intervals.NAMES if name != "auto"]
        options = {
            "level": (self.levels, statistics.LEVELS),
            "coef": (self.coefs, ("kendall", *statistics.COEFFICIENTS)),
            "correct": ((self.correct,), METHODS),
            "ci": ((self.ci,), ("auto", "none", *intervals)),
        }
        for option, (choices, allowed) in options.items():
            for choice in choices:
                if choice not in allowed:
                    hint = meant(choice, allowed)
                    raise InputError(
                        f"--{option} {choice!r}{hint} allowed: {', '.join(allowed)}"
                    )


@dataclass(frozen=True)
class Result:
    """Two tables, of a row a group, level, coefficient and score (or pair of scores),
    and notes that belong to both.
    """

    correlations: pd.DataFrame
    differences: pd.DataFrame
    notes: tuple[str, ...] = ()


def score_columns(data: Rows, asked: Sequence[str]) -> list[str]:
    """Our names of the columns with scores: those asked for; else those recorded beside
    the file, or that have a status beside them; else `value`.
    """
    columns = list(data.theirs)
    asked = [data.ours(name) for name in asked]
    for name in asked:
        if name not in columns:
            raise InputError(f"--score {data.lacks(name)}")
    if asked:
        return list(dict.fromkeys(asked))
    scores = rated_columns.recorded_scores(data, columns)
    if not scores and "value" not in columns:
        raise InputError(
            f"{data.name}: which column has the scores? Give --score; "
            f"columns: {', '.join(columns)}"
        )
    return scores or ["value"]


def needed(
    scores: Sequence[str], settings: Settings, by: str | None = None
) -> Callable[[str], bool]:
    """What says whether a column takes part in `correlate`: no other one is read."""
    columns = {*scores, *map(training_column, scores), rows.RATER, "output"}
    columns |= {PROBABILITY, rows.RATING, *rows.IDS, by or "aspect"}
    columns |= {settings.family or rated_columns.FAMILY}
    columns |= {settings.topic or rated_columns.TOPIC}
    return lambda name: (
        name in columns or (settings.baselines and name.startswith("rater_"))
    )


def correlate(
    data: Rows,
    scores: Sequence[str],
    settings: Settings | None = None,
    by: str | None = None,
) -> Result:
    """How well does each score follow the ratings in `human`, group by group? And which
    of every two scores follows them better?

    by: the column whose values are groups of their own; None: `aspect` where there are
    several, "": one group.
    """
    settings = settings or Settings()
    if rows.RATING not in data.frame.columns:
        likely = nearest(data.plan, data.columns, rows.RATING) or "COLUMN"
        raise InputError(
            f"{data.name} has no column 'human'; say which has the ratings: "
            f"--human {likely}. Its columns: {', '.join(data.columns)}"
        )
    if not data.frame[rows.RATING].notna().any():
        column = data.theirs.get("human", "human")
        raise InputError(f"{data.name}: no row has a rating in {column!r}")
    tables = _Tables(settings)
    for group in _groups(data, scores, settings, by):
        tables.add_group(group)
    return tables.result()


@dataclass(frozen=True)
class _Group:
    """The rows of one group, in arrays of their length; label: "" for the only one.

    flat: the file has neither `system_id` nor `input_id`.
    raters: the ratings of each single rater, by their kind.
    """

    label: str
    places: pd.DataFrame
    flat: bool
    human: np.ndarray
    scores: Mapping[str, np.ndarray]
    baselines: Mapping[str, np.ndarray]
    raters: Mapping[str, Sequence[np.ndarray]]
    families: np.ndarray | None = None
    topics: np.ndarray | None = None

    def has_both(self, values: np.ndarray) -> np.ndarray:
        """Which rows have a rating and one of these values."""
        return ~np.isnan(values + self.human)


def _refuse_flat(settings: Settings) -> None:
    """Refuse settings that need systems and inputs. Raises: InputError."""
    needing = [f"--level {level}" for level in settings.levels if level != "dataset"]
    if settings.ci.endswith(("inputs", "systems", "both")):
        needing.append(f"--ci {settings.ci}")
    if needing:
        raise InputError(
            f"{needing[0]} needs the columns input_id and system_id "
            "(--map input_id=YOURS)"
        )


def _groups(
    data: Rows, scores: Sequence[str], settings: Settings, by: str | None
) -> Iterator[_Group]:
    frame = data.frame
    if by is None and "aspect" in frame.columns and frame["aspect"].nunique() < 2:
        by = ""
    values = {name.removeprefix(OTHER): data.numbers(name) for name in scores}
    baselines = {}
    raters: dict[str, list[np.ndarray]] = {}
    if settings.baselines:
        # A judge that always says the same has a value for acc-eq alone.
        constant = "acc-eq" in settings.coefs
        baselines = rated_columns.baselines(frame, settings.seed, constant)
        for kind, names in rated_columns.rater_kinds(frame).items():
            columns = [data.numbers(name) for name in names]
            present = [column for column in columns if not np.isnan(column).all()]
            if len(present) > 1:
                raters[kind] = present
    families = rated_columns.groups(
        frame, settings.family, rated_columns.FAMILY, "system_id", data.name
    )
    topics = rated_columns.groups(
        frame, settings.topic, rated_columns.TOPIC, "input_id", data.name
    )
    flat = not any(key in frame.columns for key in rows.IDS)
    if flat:
        _refuse_flat(settings)
    places = rated_columns.places(frame)
    human = frame[rows.RATING].to_numpy(dtype=float)
    for label, members in rated_columns.grouped(data, by):
        ratings = {}
        for kind, of_kind in raters.items():
            ratings[kind] = [column[members] for column in of_kind]
        yield _Group(
            label,
            places.iloc[members],
            flat,
            human[members],
            {name: column[members] for name, column in values.items()},
            {name: column[members] for name, column in baselines.items()},
            ratings,
            None if families is None else families[members],
            None if topics is None else topics[members],
        )


class _Tables:
    """The rows of both tables and their notes; `rests` (on what) ends the notes."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.correlations: list[dict[str, Any]] = []
        self.differences: list[dict[str, Any]] = []
        self.notes: dict[str, None] = {}
        self.rests: dict[str, None] = {}
        self.interval: dict[str, Any] = {
            "ci": None if settings.ci == "none" else settings.ci,
            "n_boot": settings.n_boot,
            "seed": settings.seed,
        }

    def note(self, text: str) -> None:
        """Put a sentence among the notes, once."""
        self.notes[text] = None

    def add_group(self, group: _Group) -> None:
        """Both tables' rows of a group, at every level and for every coefficient."""
        doubled = int(group.places.duplicated().sum())
        if group.flat:
            self.note(NO_IDS)
        else:
            self._note_incomplete_systems(group)
        for level in self.settings.levels:
            grid = Grid(group.places, level, group.flat, group.families, group.topics)
            if doubled and level == "system" and not group.flat:
                self.note(SHARED.format(doubled))
            for coef in self.settings.coefs:
                key = {"group": group.label, "level": level, "coef": coef}
                self._add_correlations(group, grid, key)
                self._add_ceilings(group, grid, key)
                if self.settings.compare:
                    self._add_differences(group, grid, key)

    def _note_incomplete_systems(self, group: _Group) -> None:
        """Note where systems have fewer than half of the inputs."""
        scored = [group.has_both(values) for values in group.scores.values()]
        places = group.places[np.logical_or.reduce(scored)]
        inputs = places["input_id"].nunique()
        by_system = places.groupby("system_id", sort=False)["input_id"]
        systems = by_system.nunique()
        incomplete = int((2 * systems < inputs).sum())
        if incomplete:
            fewest = (systems.idxmin(), systems.min())
            self.note(FEW.format(incomplete, len(systems), inputs, *fewest))

    def _add_correlations(
        self, group: _Group, grid: Grid, key: Mapping[str, str]
    ) -> None:
        coef = key["coef"]
        level = key["level"]
        rated = int((~np.isnan(group.human)).sum())
        for name, values in {**group.scores, **group.baselines}.items():
            if name == rated_columns.CONSTANT and coef != "acc-eq":
                continue
            # Where `statistics` refuses, the row keeps these NaN.
            row: dict[str, Any] = {**key, "score": name, **dict.fromkeys(_VALUE, NAN)}
            n = int(group.has_both(values).sum())
            row["n"] = n
            row["coverage"] = n / rated if rated else NAN
            try:
                result, _ = grid.correlate(
                    values, group.human, coef, level, **self.interval
                )
            except ValueError as error:
                row |= {"reason": str(error), "signature": ""}
            else:
                is_score = name in group.scores
                row |= self._numbers(_VALUE, result)
                if is_score and not math.isnan(result.low):
                    row |= self._for_other_raters(group, grid, values, result)
                row |= _words(result)
            row["baseline"] = name in group.baselines
            self.correlations.append(row)
            if name in group.scores:
                self._note_rests(row["signature"], grid, level)

    def _for_other_raters(
        self, group: _Group, grid: Grid, values: np.ndarray, correlation: Any
    ) -> dict[str, Any]:
        """The interval of a correlation for other raters, where `human` is a kind's
        mean.
        """
        for ratings in group.raters.values():
            try:
                ends = grid.other_raters(correlation, values, ratings)
            except ValueError:
                continue
            self.rests[OTHER_RATERS] = None
            return {"raters_low": ends.low, "raters_high": ends.high}
        return {}

    def _note_rests(self, signature: str, grid: Grid, level: str) -> None:
        """Note what an interval rests on, as its signature says."""
        for name in re.findall(r"ci:(?:\w+-)?(\w+)", signature):
            # Fisher's formula is about the points that are correlated: rows, or
            # systems' means.
            kind = "rows" if name == "fisher" and level != "system" else name
            counts: dict[str, Any] = {
                "n": grid.n,
                "systems": grid.n_systems,
                "inputs": len(grid.inputs),
            }
            # Where families or topics are the units, the signature counts them.
            for unit, number in re.findall(r"(systems|inputs)\((\d+)\)", signature):
                counts[unit] = f"{number} groups of {counts[unit]}"
            units = _RESTS[kind].format(**counts)
            self.rests[f"intervals rest on {units}"] = None

    def _add_ceilings(self, group: _Group, grid: Grid, key: Mapping[str, str]) -> None:
        """How well a rater of each kind follows the others of that kind."""
        for kind, ratings in group.raters.items():
            kind_before = f"{kind} " if kind else ""
            label = CEILING.format(kind=kind_before, n=len(ratings))
            sides = (ratings, key["coef"], key["level"])
            measure = functools.partial(grid.ceiling, *sides, **self.interval)
            row = {**key, "score": label, **self._measured(_VALUE, measure)}
            self.correlations.append({**row, "baseline": True})

    def _measured(
        self, columns: Mapping[str, str], measure: Callable[[], Any], **empty: float
    ) -> dict[str, Any]:
        """Numbers and words of a result; where `statistics` refuses, `empty` and why."""
        try:
            result = measure()
        except ValueError as error:
            return {**empty, "reason": str(error), "signature": ""}
        return self._numbers(columns, result) | _words(result)

    def _add_differences(
        self, group: _Group, grid: Grid, key: Mapping[str, str]
    ) -> None:
        """A row for every two scores; one that `statistics` refuses has the reason."""
        coef = key["coef"]
        ci = self.settings.ci
        # The test is about the same population as the interval.
        options: dict[str, Any] = {
            "n_perm": self.settings.n_perm,
            "seed": self.settings.seed,
            "coef": "kendall-b" if coef == "kendall" else coef,
            "level": key["level"],
            "units": grid.interval(following(ci)),
        }
        if ci not in ("none", "fisher"):
            options |= {"ci": grid.interval(ci), "n_boot": self.settings.n_boot}
        for first, second in combinations(group.scores, 2):
            sides = (group.scores[first], group.scores[second], group.human)
            measure = functools.partial(grid.compare, *sides, **options)
            measured = self._measured(_DIFFERENCE, measure, difference=NAN, p=NAN)
            self.differences.append(
                {**key, "first": first, "second": second} | measured
            )

    def _numbers(self, columns: Mapping[str, str], result: Any) -> dict[str, Any]:
        """The numbers of a result; by default also those for these systems, and other
        ones.
        """
        row = {column: getattr(result, name) for column, name in columns.items()}
        if self.settings.ci != "auto":
            return row
        is_difference = "difference" in columns
        these = result.these_systems or Answer()
        others = result.other_systems
        if math.isnan(row["difference" if is_difference else "value"]):
            # Without a value there is no answer about any systems.
            these = others = Answer()
        row["careful_low"] = others.careful_low
        row["careful_high"] = others.careful_high
        row["these_low"] = these.low
        row["these_high"] = these.high
        if is_difference:
            row["p_these"] = these.p
            row["detectable"] = others.detectable
            row["detectable_these"] = these.detectable
        return row

    def result(self) -> Result:
        """Both tables with ranks and corrected p-values, and the notes."""
        correlations = pd.DataFrame(self.correlations)
        differences = pd.DataFrame(self.differences)
        for row in self.correlations:
            # a value of -1 has no interval
            if not row["baseline"] and row["value"] < 0 and not row["ci_high"] >= 0:
                self.note(REVERSED.format(**row))
        for (_, level, coef), cells in correlations.groupby(_KEYS, sort=False):
            # The ceiling costs ratings, so it is no baseline here.
            is_baseline = cells["score"].str.endswith("(baseline)")
            is_score = ~cells["baseline"].astype(bool)
            for baseline in cells[is_baseline].itertuples():
                for score in cells[is_score].itertuples():
                    if baseline.value >= score.value:
                        names = (baseline.score, score.score)
                        self.note(BELOW.format(*names, coef, level))
        if len(differences):
            differences = _corrected(differences, self.settings)
            sure = self.settings.correct in SURE
            correlations = _ranked(correlations, differences, sure)
        notes = (*self.notes, *self.rests)
        return Result(_tidy(correlations), _tidy(differences), notes)


def _words(result: Any) -> dict[str, str]:
    influence = result.influence
    is_notable = influence is not None and influence.is_notable
    return {
        "influence": str(influence) if is_notable else "",
        "reason": result.reason,
        "signature": result.signature(),
    }


def _corrected(pairs: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The pairs with p-values corrected over all tests of one level and coefficient."""
    family = pairs["level"] + " " + pairs["coef"]
    corrected = statistics.correct(
        pairs["p"].tolist(), settings.correct, family.tolist()
    )
    after_p = pairs.columns.get_loc("p") + 1
    pairs.insert(after_p, "p_adjusted", corrected.adjusted)
    tests_of_family = pairs["p"].groupby(family).transform("count")
    sizes = tests_of_family.astype(int).astype(str)
    tested = pairs["signature"]
    signature = tested + f"|correct:{settings.correct}(" + sizes + ")"
    # A pair that was not tested has no signature.
    signature = signature.where(tested != "", "")
    return pairs.assign(signature=signature)


def _ranked(table: pd.DataFrame, pairs: pd.DataFrame, sure: bool) -> pd.DataFrame:
    """The table with ranks: scores that no test tells apart share one."""
    ranks = pd.Series(pd.NA, index=table.index, dtype="Int64")
    possible = pd.Series("", index=table.index)
    tests = dict(iter(pairs.groupby(_KEYS, sort=False)))
    scores = table[~table["baseline"]]
    for key, cells in scores.groupby(_KEYS, sort=False):
        names = cells["score"].tolist()
        # Pairs without a test keep NaN, which counts as no difference.
        p = pd.DataFrame(NAN, names, names)
        if key in tests:
            for test in tests[key].itertuples(index=False):
                p.loc[test.first, test.second] = test.p_adjusted
                p.loc[test.second, test.first] = test.p_adjusted
        values = cells["value"].to_numpy()
        ranks.loc[cells.index] = statistics.rank_clusters(values, p.to_numpy())
        sets = statistics.rank_sets(values, p.to_numpy(), names=names)
        possible.loc[cells.index] = [sets.in_words(name) for name in names]
    before_n = table.columns.get_loc("n")
    table.insert(before_n, "rank", ranks)
    if sure:
        table.insert(before_n + 1, "possible_ranks", possible)
    return table


def _tidy(table: pd.DataFrame) -> pd.DataFrame:
    """The table without the columns that say nothing here."""
    if table.empty:
        return table
    table = table.drop(columns="baseline", errors="ignore")
    for name in FURTHER:
        if name in table and table[name].isna().all():
            table = table.drop(columns=name)
    for name in ("group", "reason", "influence"):
        if name not in table:
            continue
        has_text = table[name].fillna("").astype(bool)
        if not has_text.any():
            table = table.drop(columns=name)
    return table
