"""Scores of a file against its human ratings: coefficients with intervals, and which
score follows them better.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
        "these do; the careful ones are for systems unlike all of these, too "
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

    levels: of aggregation, of `statistics.LEVELS`: dataset, input, system.
    coefs: names of `statistics.COEFFICIENTS`, or kendall.
    nan: the policy for a rated output without a score, one of `statistics.POLICIES`.
    ci: "auto" (`statistics.intervals`), "none", or a name of `statistics`'s.
    n_boot: resamples of an interval by bootstrap.
    n_perm: resamples of a permutation test.
    seed: of resamples, and of the random baseline.
    correct: the correction of p-values, one of `statistics`'s.
    compare: whether every two scores are compared.
    baselines: whether what costs nothing and the raters' ceiling stand in the table.
    raters: how the columns of single raters begin, for the ceiling; "" for none.
    family: the column of the systems' families; None takes `system_family` where it is
    there, "" takes none.
    topic: the column of the inputs' topics; None takes `topic` where it is there, ""
    none.
    Raises: InputError for a word that is not allowed, naming the option.
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
    raters: str = "rater_"
    family: str | None = None
    topic: str | None = None

    def __post_init__(self) -> None:
        from nlgeval_lib.statistics.multiplicity import METHODS

        intervals = [name for name in statistics.intervals.NAMES if name != "auto"]
        options = {
            "level": (self.levels, statistics.LEVELS),
            "coef": (self.coefs, ("kendall", *statistics.COEFFICIENTS)),
            "nan": ((self.nan,), statistics.POLICIES),
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
    """Two tables, and notes that belong to both.

    correlations: a row a group, level, coefficient and score.
    differences: a row a pair of scores, group, level and coefficient.
    notes: sentences about the data and about what the intervals rest on.
    """

    correlations: pd.DataFrame
    differences: pd.DataFrame
    notes: tuple[str, ...] = ()


def score_columns(data: Rows, asked: Sequence[str]) -> list[str]:
    """The columns with scores: those asked for; else those recorded beside the file, or
    that have a status beside them; else `value`.

    Returns: the project's names of the columns, each once.
    Raises: InputError for a column that is not there, or where none can be recognised.
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
    """A test for the columns that take part in `correlate`: of a large file no other
    one is read.

    Returns: a function that says of a column's name whether it takes part.
    """
    columns = {*scores, *map(training_column, scores), rows.RATER, "output"}
    columns.add(PROBABILITY)
    columns |= {rows.RATING, *rows.IDS, by or "aspect", "dataset"}
    columns |= {settings.family or rated_columns.FAMILY}
    columns |= {settings.topic or rated_columns.TOPIC}
    raters = settings.raters if settings.baselines else ""
    return lambda name: name in columns or bool(raters and name.startswith(raters))


def correlate(
    data: Rows,
    scores: Sequence[str],
    settings: Settings | None = None,
    by: str | None = None,
) -> Result:
    """How well does each score follow the ratings in `human`, group by group? And which
    of every two scores follows them better?

    settings: what is computed; None: the defaults.
    by: the column whose values are groups of their own; None: `aspect` where there are
    several, "": one group.
    Raises: InputError naming the row and column of what is no number; for an unknown
    column; where no row has a rating, or a score was fitted on every row; and where
    `settings` need inputs and systems that the file does not name.
    """
    settings = settings or Settings()
    notes: list[str] = []
    if rows.RATING not in data.frame.columns:
        likely = nearest(data.plan, data.columns, rows.RATING) or "COLUMN"
        raise InputError(
            f"{data.name} has no column 'human'; say which has the ratings: "
            f"--human {likely}. Its columns: {', '.join(data.columns)}"
        )
    if not data.frame[rows.RATING].notna().any():
        column = data.theirs.get("human", "human")
        raise InputError(f"{data.name}: no row has a rating in {column!r}")
    # Where the file gives no families, the note names the column that would.
    if note := rated_columns.related_systems(data.frame):
        has_families = rated_columns.FAMILY in data.frame.columns
        if not has_families and settings.family is None:
            notes.append(note)
    tables = _Tables(settings, notes)
    for group in _groups(data, scores, settings, by):
        tables.add_group(group)
    return tables.result()


@dataclass(frozen=True)
class _Group:
    """The rows of one group, in columns of their length.

    label: the group's name, "" for the only one.
    places: `system_id` and `input_id` of each row.
    flat: the file has neither of them.
    human: the ratings, NaN for none.
    scores, baselines: column -> values of what is measured, and of what costs nothing.
    raters: the ratings of each single rater, by their kind.
    families, topics: a label a row; None where there are none.
    """

    label: str
    places: pd.DataFrame
    flat: bool
    human: np.ndarray
    scores: Mapping[str, pd.Series]
    baselines: Mapping[str, pd.Series]
    raters: Mapping[str, Sequence[np.ndarray]]
    families: np.ndarray | None = None
    topics: np.ndarray | None = None

    def has_both(self, values: pd.Series) -> np.ndarray:
        """Which rows have a rating and one of these values."""
        return values.notna().to_numpy() & ~np.isnan(self.human)


def _groups(
    data: Rows, scores: Sequence[str], settings: Settings, by: str | None
) -> Iterator[_Group]:
    """The groups of rows, in the order in which they appear."""
    frame = data.frame
    if by is None and "aspect" in frame.columns and frame["aspect"].nunique() > 1:
        by = "aspect"
    if by and by not in frame.columns:
        raise InputError(f"--by {data.lacks(by)}")
    values = {name.removeprefix(OTHER): data.numbers(name) for name in scores}
    baselines = {}
    raters = {}
    if settings.baselines:
        # A judge that always says the same has a value for acc-eq alone.
        constant = "acc-eq" in settings.coefs
        baselines = rated_columns.baselines(frame, settings.seed, constant)
        raters = _raters(data, settings)
    families = rated_columns.groups(
        frame, settings.family, rated_columns.FAMILY, "system_id", data.name
    )
    topics = rated_columns.groups(
        frame, settings.topic, rated_columns.TOPIC, "input_id", data.name
    )
    flat = not any(key in frame.columns for key in rows.IDS)
    if flat:
        _check_flat(settings)
    places = rated_columns.places(frame)
    labels = rated_columns.group_labels(frame, by)
    for label in dict.fromkeys(labels):
        members = np.flatnonzero(labels == label)
        ratings = {}
        for kind, columns in raters.items():
            ratings[kind] = [column[members] for column in columns]
        yield _Group(
            label,
            places.iloc[members],
            flat,
            frame[rows.RATING].to_numpy(dtype=float)[members],
            _members(values, members),
            _members(baselines, members),
            ratings,
            None if families is None else families[members],
            None if topics is None else topics[members],
        )


def _raters(data: Rows, settings: Settings) -> dict[str, list[np.ndarray]]:
    """The ratings of each single rater, by their kind: kind -> an array a rater."""
    prefix = settings.raters
    frame = data.frame
    for name in frame.columns:
        is_rater = bool(prefix) and name.startswith(prefix)
        if is_rater and name not in (rows.RATING, *rows.IDS):
            frame = frame.assign(**{name: data.numbers(name)})
    kinds = rated_columns.numeric_raters(frame, prefix)
    by_kind = {}
    for kind, names in kinds.items():
        by_kind[kind] = [frame[name].to_numpy(dtype=float) for name in names]
    return by_kind


def _members(
    values: Mapping[str, np.ndarray], members: np.ndarray
) -> dict[str, pd.Series]:
    """The values of a group's rows, column by column; messages have their names."""
    series = {}
    for name, column in values.items():
        series[name] = pd.Series(column[members], name=name)
    return series


def _check_flat(settings: Settings) -> None:
    """Raises: InputError where settings need to know inputs and systems."""
    over_units = settings.ci.endswith(("inputs", "systems", "both"))
    for level in settings.levels:
        if level != "dataset":
            option = f"--level {level}"
        elif over_units:
            option = f"--ci {settings.ci}"
        else:
            continue
        raise InputError(
            f"{option} needs the columns input_id and system_id (--map input_id=YOURS)"
        )


class _Tables:
    """The rows of both tables and their notes, filled group by group.

    `correlations` and `differences` collect rows, `notes` what to say, in order and
    each once. `rests` collects what the intervals rest on.
    """

    def __init__(self, settings: Settings, notes: Sequence[str]) -> None:
        self.settings = settings
        self.correlations: list[dict[str, Any]] = []
        self.differences: list[dict[str, Any]] = []
        self.notes = dict.fromkeys(notes)
        # These notes end the list.
        self.rests: dict[str, None] = {}
        ci = None if settings.ci == "none" else settings.ci
        self.interval = {
            "ci": ci,
            "n_boot": settings.n_boot,
            "seed": settings.seed,
        }

    def add_group(self, group: _Group) -> None:
        """Both tables' rows of a group, at every level and for every coefficient."""
        if not group.flat:
            self._note_incomplete_systems(group)
        for level in self.settings.levels:
            grid = Grid(group.places, level, group.flat, group.families, group.topics)
            doubled = int(group.places.duplicated().sum())
            if group.flat:
                self.notes[NO_IDS] = None
            elif doubled and level == "system":
                self.notes[SHARED.format(doubled)] = None
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
            note = FEW.format(incomplete, len(systems), inputs, *fewest)
            self.notes[note] = None

    def _add_correlations(
        self, group: _Group, grid: Grid, key: Mapping[str, str]
    ) -> None:
        """A row a score and a baseline."""
        level = key["level"]
        options = {"nan": self.settings.nan, **self.interval}
        rated = int((~np.isnan(group.human)).sum())
        for name, values in {**group.scores, **group.baselines}.items():
            if name == rated_columns.CONSTANT and key["coef"] != "acc-eq":
                continue
            # Where `statistics` refuses, the row keeps these NaN.
            empty = dict.fromkeys(_VALUE, NAN)
            n = int(group.has_both(values).sum())
            row: dict[str, Any] = {**key, "score": name, **empty}
            row["n"] = n
            row["coverage"] = n / rated if rated else NAN
            arguments = (values, group.human, key["coef"], level)
            of_raters = partial(_for_other_raters, group, grid, values)
            row |= _numbers(_VALUE, grid.correlate, arguments, options, of_raters)
            if "raters_low" in row:
                self.rests[OTHER_RATERS] = None
            row["baseline"] = name in group.baselines
            self.correlations.append(row)
            if name in group.scores:
                self._note_rests(row["signature"], grid, level)

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
            arguments = (ratings, key["coef"], key["level"])
            ceiling = _numbers(_VALUE, grid.ceiling, arguments, self.interval)
            kind_before = f"{kind} " if kind else ""
            label = CEILING.format(kind=kind_before, n=len(ratings))
            row = {**key, "score": label, **ceiling, "baseline": True}
            self.correlations.append(row)

    def _note_reversed(self) -> None:
        """Note the scores that follow the ratings the other way round."""
        for row in self.correlations:
            # a value of -1 has no interval
            if not row["baseline"] and row["value"] < 0 and not row["ci_high"] >= 0:
                self.notes[REVERSED.format(**row)] = None

    def _note_baselines(self) -> None:
        """Note the scores that a baseline reaches."""
        table = pd.DataFrame(self.correlations)
        for (_, level, coef), cells in table.groupby(_KEYS, sort=False):
            # The ceiling costs ratings, so it is no baseline here.
            is_baseline = cells["score"].str.endswith("(baseline)")
            is_score = ~cells["baseline"].astype(bool)
            for baseline in cells[is_baseline].itertuples():
                for score in cells[is_score].itertuples():
                    if baseline.value >= score.value:
                        note = BELOW.format(baseline.score, score.score, coef, level)
                        self.notes[note] = None

    def _add_differences(
        self, group: _Group, grid: Grid, key: Mapping[str, str]
    ) -> None:
        """A row for every two scores."""
        coef = key["coef"]
        # The test is about the same population as the interval.
        options = {
            "nan": self.settings.nan,
            "n_perm": self.settings.n_perm,
            "seed": self.settings.seed,
            "coef": "kendall-b" if coef == "kendall" else coef,
            "level": key["level"],
            "units": grid.interval(following(self.settings.ci)),
        }
        if self.settings.ci not in ("none", "fisher"):
            options |= {"ci": grid.interval(self.settings.ci)}
            options |= {"n_boot": self.settings.n_boot}
        for first, second in combinations(group.scores, 2):
            row: dict[str, Any] = {**key, "first": first, "second": second}
            arguments = (group.scores[first], group.scores[second], group.human)
            test = _numbers(_DIFFERENCE, grid.compare, arguments, options)
            # A pair that `statistics` refuses keeps its row, with the reason.
            if "p" not in test:
                row |= {"difference": NAN, "p": NAN}
            self.differences.append(row | test)

    def result(self) -> Result:
        """Both tables with ranks and corrected p-values, and the notes."""
        correlations = pd.DataFrame(self.correlations)
        differences = pd.DataFrame(self.differences)
        if len(differences):
            differences = _corrected(differences, self.settings)
            sure = self.settings.correct in SURE
            correlations = _ranked(correlations, differences, sure)
        self._note_reversed()
        self._note_baselines()
        notes = (*self.notes, *self.rests)
        return Result(_tidy(correlations), _tidy(differences), notes)


def _numbers(
    columns: Mapping[str, str],
    measure: Callable[..., Any],
    arguments: Sequence[Any],
    options: Mapping[str, Any],
    further: Callable[[Any], Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """The numbers of a result, its reason and signature, and `further` ones of it."""
    try:
        result = measure(*arguments, **options)
    except ValueError as error:
        return {"reason": str(error), "signature": ""}
    # `Grid.correlate` gives the result and what a mean of several is made from.
    if isinstance(result, tuple):
        result = result[0]
    row = {}
    for column, attribute in columns.items():
        row[column] = getattr(result, attribute)
    if options.get("ci") == "auto":
        is_difference = "p" in columns
        row |= _for_these(result, is_difference)
    if further is not None:
        row |= further(result)
    row["influence"] = ""
    influence = result.influence
    if influence is not None and influence.is_notable:
        row["influence"] = str(influence)
    row["reason"] = result.reason
    row["signature"] = result.signature()
    return row


def _for_these(result: Any, difference: bool) -> dict[str, Any]:
    """The answer for the systems at hand, and for systems unlike these, beside that for
    others like them: interval, p, and the smallest difference that a test would find.
    """
    these = result.these_systems or Answer()
    others = result.other_systems
    value = result.difference if difference else result.value
    if math.isnan(value):
        # Without a value there is no answer about any systems.
        these = others = Answer()
    row = {
        "careful_low": others.careful_low,
        "careful_high": others.careful_high,
        "these_low": these.low,
        "these_high": these.high,
    }
    if difference:
        row["p_these"] = these.p
        row["detectable"] = others.detectable
        row["detectable_these"] = these.detectable
    return row


def _for_other_raters(
    group: _Group, grid: Grid, values: pd.Series, correlation: Any
) -> dict[str, Any]:
    """The interval of a correlation with the mean of the raters of a kind, where others
    like them would have rated; nothing where `human` is no such mean.
    """
    if math.isnan(correlation.low) or values.name not in group.scores:
        return {}
    for ratings in group.raters.values():
        try:
            ends = grid.other_raters(correlation, values, ratings)
        except ValueError:
            continue
        return {"raters_low": ends.low, "raters_high": ends.high}
    return {}


def _corrected(pairs: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The pairs with p-values corrected over all tests of one level and coefficient,
    whatever the group, and with the correction in their signatures.
    """
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
