"""Scores of a file against its human ratings: coefficients with intervals, and which
score follows them better.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import meta
from nlgeval_lib.meta.comparison import following
from nlgeval_lib.meta.questions import Answer
from nlgeval_lib.names import meant
from nlgeval_lib.scoring import rows, score_files
from nlgeval_lib.scoring.cells import InputError, is_missing
from nlgeval_lib.scoring.correlations import Grid
from nlgeval_lib.scoring.rows import Parts, Rows
from nlgeval_lib.study import rated_columns

NAN = float("nan")
# The column that a fitted evaluator adds, as `Judgment.details` have it.
SEEN = "seen_in_training"
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
_VALUE = {"value": "value", "ci_low": "low", "ci_high": "high", "n": "n"}
BELOW = "{} follows the ratings as well as {} ({}, {} level)"
_DIFFERENCE = {
    "value_first": "first",
    "value_second": "second",
    "difference": "difference",
    "ci_low": "low",
    "ci_high": "high",
    "p": "p",
    "n": "n",
}
# corrections under which hardly any rejection is false, so that ranks are sure
SURE = ("holm", "bonferroni")
_KEYS = ["group", "level", "coef"]
# of the second question, where it was asked
FURTHER = (
    "careful_low",
    "careful_high",
    "these_low",
    "these_high",
    "p_these",
    "detectable",
    "detectable_these",
)


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
    # how the columns of single raters begin, for the ceiling, and whose kind is said
    raters: str = "rater_"
    rater_kinds: Sequence[str] = ()
    # columns: None for system_family and topic where they are, "" for none
    family: str | None = None
    topic: str | None = None

    def __post_init__(self) -> None:
        from nlgeval_lib.meta.multiplicity import METHODS

        intervals = [name for name in meta.intervals.NAMES if name != "auto"]
        options = {
            "level": (self.levels, meta.LEVELS),
            "coef": (self.coefs, ("kendall", *meta.COEFFICIENTS)),
            "nan": ((self.nan,), meta.POLICIES),
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
    columns = list(data.theirs)
    asked = [data.ours(name) for name in asked]
    for name in asked:
        if name not in columns:
            raise InputError(f"--score {data.lacks(name)}")
    if asked:
        return list(dict.fromkeys(asked))
    scores = [name for name in data.earlier.get("scores", {}) if name in columns]
    for name in columns:
        has_status = score_files.score_columns(name)[1] in columns
        if has_status and name not in scores and name != "status":
            scores.append(name)
    if not scores and "value" not in columns:
        raise InputError(
            f"{data.name}: which column has the scores? Give --score; "
            f"columns: {', '.join(columns)}"
        )
    return scores or ["value"]


def declared(data: Parts, kinds: Sequence[str]) -> tuple[str, ...]:
    """The declarations KIND=COLUMN,COLUMN with the names that the columns have here."""
    declarations = []
    for declaration in kinds:
        kind, equals, names = declaration.partition("=")
        ours = [data.ours(name.strip()) for name in names.split(",")]
        declarations.append(f"{kind}{equals}{','.join(ours)}")
    return tuple(declarations)


def _declared_columns(kinds: Sequence[str]) -> set[str]:
    """The columns of all declarations KIND=COLUMN,COLUMN."""
    columns: set[str] = set()
    for declaration in kinds:
        columns.update(declaration.partition("=")[2].split(","))
    return columns


def needed(
    scores: Sequence[str], settings: Settings, by: str | None = None
) -> Callable[[str], bool]:
    """Whether a column takes part in `correlate`: of a large file no other one is
    read.
    """
    columns = {*scores, *map(_training_column, scores)}
    columns |= {rows.RATING, *rows.IDS, by or "aspect", "dataset"}
    columns |= {settings.family or rated_columns.FAMILY}
    columns |= {settings.topic or rated_columns.TOPIC}
    raters = ""
    if settings.baselines:
        columns.add("output")
        raters = settings.raters
        columns |= _declared_columns(settings.rater_kinds)

    def takes_part(name: str) -> bool:
        return name in columns or bool(raters and name.startswith(raters))

    return takes_part


def _training_column(score: str) -> str:
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
    data, notes = _without_training_rows(data, scores)
    _check_ratings(data)
    if note := rated_columns.related_systems(data.frame):
        has_families = rated_columns.FAMILY in data.frame.columns
        if not has_families and settings.family is None:
            notes.append(note)
    tables = _Tables(settings, notes)
    for group in _groups(data, scores, settings, by):
        tables.add_group(group)
    return tables.result()


def _without_training_rows(data: Rows, scores: Sequence[str]) -> tuple[Rows, list[str]]:
    """The rows that no score was fitted on, and a note on how many are left out.

    Raises: InputError where there are none.
    """
    fitted_on = np.zeros(len(data), dtype=bool)
    for column in map(_training_column, scores):
        if column in data.frame:
            marks = data.frame[column].astype(str).str.lower()
            fitted_on |= marks.isin(("true", "1", "1.0")).to_numpy()
    if not fitted_on.any():
        return data.take(~fitted_on), []
    if fitted_on.all():
        raise InputError(
            f"{data.name}: a score was fitted on every row; rate others, "
            "or use score --cross-fit"
        )
    count = int(fitted_on.sum())
    return data.take(~fitted_on), [
        f"{count:,} rows that a score was fitted on are left out"
    ]


def _check_ratings(data: Rows) -> None:
    """Raises: InputError where no row has a rating."""
    if rows.RATING not in data.frame.columns:
        likely = rows.nearest(data, rows.RATING) or "COLUMN"
        raise InputError(
            f"{data.name} has no column 'human'; say which has the ratings: "
            f"--human {likely}. Its columns: {', '.join(data.columns)}"
        )
    if not data.frame[rows.RATING].notna().any():
        column = data.theirs.get("human", "human")
        raise InputError(f"{data.name}: no row has a rating in {column!r}")


@dataclass(frozen=True)
class _Group:
    """The rows of one group, in columns of their length.

    places: `system_id` and `input_id`; flat: the file has neither of them. raters: the
    ratings of each single rater, by their kind. families, topics: a label a row.
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
    """The groups of rows, in the order in which they appear.

    Raises: InputError for an unknown column, for what is no number, and where settings
    need inputs and systems that the file does not name.
    """
    frame = data.frame
    if by is None and "aspect" in frame.columns and frame["aspect"].nunique() > 1:
        by = "aspect"
    if by and by not in frame.columns:
        raise InputError(f"--by {data.lacks(by)}")
    values = {name: data.numbers(name) for name in scores}
    baselines = {}
    raters = {}
    if settings.baselines:
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
    places = _places(frame)
    labels = _group_labels(frame, by)
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
    """The ratings of each single rater, by their kind.

    Raises: InputError naming the cell that is no number.
    """
    prefix = settings.raters
    own_kind = _declared_columns(settings.rater_kinds)
    frame = data.frame
    for name in frame.columns:
        is_rater = name in own_kind or bool(prefix and name.startswith(prefix))
        if is_rater and name not in (rows.RATING, *rows.IDS):
            frame = frame.assign(**{name: data.numbers(name)})
    kinds = rated_columns.numeric_raters(frame, prefix, settings.rater_kinds)
    by_kind = {}
    for kind, names in kinds.items():
        by_kind[kind] = [frame[name].to_numpy(dtype=float) for name in names]
    return by_kind


def _members(
    values: Mapping[str, np.ndarray], members: np.ndarray
) -> dict[str, pd.Series]:
    """The values of a group's rows, column by column."""
    return {
        name: pd.Series(column[members], name=name) for name, column in values.items()
    }


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


def _places(frame: pd.DataFrame) -> pd.DataFrame:
    """System and input of each row; where they are not named, each row is an input of
    its own, and all are of one system.
    """
    defaults = {"system_id": ["one"] * len(frame), "input_id": range(len(frame))}
    places = pd.DataFrame(defaults, frame.index, dtype=object)
    id_columns = [key for key in rows.IDS if key in frame.columns]
    return places.assign(**{key: frame[key] for key in id_columns})


def _group_labels(frame: pd.DataFrame, by: str | None) -> np.ndarray:
    """The group of each row; "" for a row without one."""
    labels = [""] * len(frame)
    if by:
        labels = ["" if is_missing(label) else str(label) for label in frame[by]]
    return np.array(labels, dtype=object)


class _Tables:
    """The rows of both tables and their notes, filled group by group."""

    def __init__(self, settings: Settings, notes: Sequence[str]) -> None:
        self.settings = settings
        self.correlations: list[dict[str, Any]] = []
        self.differences: list[dict[str, Any]] = []
        self.notes = dict.fromkeys(notes)
        # What the intervals rest on; these notes end the list.
        self.rests: dict[str, None] = {}
        self.interval = {
            "ci": None if settings.ci == "none" else settings.ci,
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
        """Note where systems have few of the inputs."""
        scored = [group.has_both(values) for values in group.scores.values()]
        places = group.places[np.logical_or.reduce(scored)]
        inputs = places["input_id"].nunique()
        systems = places.groupby("system_id", sort=False)["input_id"].nunique()
        if incomplete := int((2 * systems < inputs).sum()):
            fewest = (systems.idxmin(), systems.min())
            self.notes[FEW.format(incomplete, len(systems), inputs, *fewest)] = None

    def _add_correlations(
        self, group: _Group, grid: Grid, key: Mapping[str, str]
    ) -> None:
        level = key["level"]
        options = {"nan": self.settings.nan, **self.interval}
        rated = int((~np.isnan(group.human)).sum())
        for name, values in {**group.scores, **group.baselines}.items():
            if name == rated_columns.CONSTANT and key["coef"] != "acc-eq":
                continue
            n = int(group.has_both(values).sum())
            row: dict[str, Any] = {**key, "score": name, **dict.fromkeys(_VALUE, NAN)}
            row["n"] = n
            row["coverage"] = n / rated if rated else NAN
            arguments = (values, group.human, key["coef"], level)
            row |= _numbers(_VALUE, grid.correlate, arguments, options)
            row["baseline"] = name in group.baselines
            self.correlations.append(row)
            if name in group.scores:
                self._note_rests(row["signature"], grid, level)

    def _note_rests(self, signature: str, grid: Grid, level: str) -> None:
        """Note what an interval rests on."""
        for name in re.findall(r"ci:(?:\w+-)?(\w+)", signature):
            kind = "rows" if name == "fisher" and level != "system" else name
            counts: dict[str, Any] = {
                "n": grid.n,
                "systems": grid.n_systems,
                "inputs": len(grid.inputs),
            }
            for unit, number in re.findall(r"(systems|inputs)\((\d+)\)", signature):
                counts[unit] = f"{number} groups of {counts[unit]}"
            self.rests["intervals rest on " + _RESTS[kind].format(**counts)] = None

    def _add_ceilings(self, group: _Group, grid: Grid, key: Mapping[str, str]) -> None:
        """How well a rater of each kind follows the others of that kind."""
        for kind, ratings in group.raters.items():
            arguments = (ratings, key["coef"], key["level"])
            ceiling = _numbers(_VALUE, grid.ceiling, arguments, self.interval)
            label = CEILING.format(kind=f"{kind} " if kind else "", n=len(ratings))
            row = {**key, "score": label, **ceiling, "baseline": True}
            self.correlations.append(row)

    def _note_baselines(self) -> None:
        """Note the scores that a baseline reaches."""
        table = pd.DataFrame(self.correlations)
        for key, part in table.groupby(_KEYS, sort=False):
            is_baseline = part["score"].str.endswith("(baseline)")
            for baseline in part[is_baseline].itertuples():
                for score in part[~part["baseline"].astype(bool)].itertuples():
                    if baseline.value >= score.value:
                        where = (key[2], key[1])
                        note = BELOW.format(baseline.score, score.score, *where)
                        self.notes[note] = None

    def _add_differences(
        self, group: _Group, grid: Grid, key: Mapping[str, str]
    ) -> None:
        coef = key["coef"]
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
        self._note_baselines()
        notes = (*self.notes, *self.rests)
        return Result(_tidy(correlations), _tidy(differences), notes)


def _numbers(
    columns: Mapping[str, str],
    measure: Callable[..., Any],
    arguments: Sequence[Any],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """The numbers of a result (column: attribute), its reason and signature; the
    reason alone where `meta` refuses.
    """
    try:
        result = measure(*arguments, **options)
    except ValueError as error:
        return {"reason": str(error), "signature": ""}
    if isinstance(result, tuple):
        result = result[0]
    row = {column: getattr(result, attribute) for column, attribute in columns.items()}
    if options.get("ci") == "auto":
        row |= _for_these(result, "p" in columns)
    influence = result.influence
    without = str(influence) if influence is not None and influence.told else ""
    row |= {"influence": without}
    return {**row, "reason": result.reason, "signature": result.signature()}


def _for_these(result: Any, difference: bool) -> dict[str, Any]:
    """The answer for the systems at hand, and for systems unlike these, beside that for
    others like them: interval, p, and the smallest difference that a test would find.
    """
    these = result.these_systems or Answer("")
    others = result.other_systems
    if math.isnan(result.difference if difference else result.value):
        these = others = Answer("")
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


def _corrected(pairs: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """The pairs with p-values corrected over all tests of one level and coefficient,
    whatever the group.
    """
    family = pairs["level"] + " " + pairs["coef"]
    corrected = meta.correct(pairs["p"].tolist(), settings.correct, family.tolist())
    pairs.insert(pairs.columns.get_loc("p") + 1, "p_adjusted", corrected.adjusted)
    sizes = pairs["p"].groupby(family).transform("count").astype(int).astype(str)
    tested = pairs["signature"]
    signature = tested + f"|correct:{settings.correct}(" + sizes + ")"
    return pairs.assign(signature=signature.where(tested != "", ""))


def _ranked(table: pd.DataFrame, pairs: pd.DataFrame, sure: bool) -> pd.DataFrame:
    """The table with ranks: scores that no test tells apart share one.

    By the corrected p-values. sure: with the ranks that each score can have, too, for
    all at once at .95; a correction that lets false rejections pass says none.
    """
    ranks = pd.Series(pd.NA, index=table.index, dtype="Int64")
    possible = pd.Series("", index=table.index)
    tests = dict(iter(pairs.groupby(_KEYS, sort=False)))
    for key, part in table[~table["baseline"]].groupby(_KEYS, sort=False):
        names = part["score"].tolist()
        p = pd.DataFrame(NAN, names, names)
        if key in tests:
            for test in tests[key].itertuples(index=False):
                p.loc[test.first, test.second] = test.p_adjusted
                p.loc[test.second, test.first] = test.p_adjusted
        values = part["value"].to_numpy()
        ranks.loc[part.index] = meta.rank_clusters(values, p.to_numpy())
        sets = meta.rank_sets(values, p.to_numpy(), names=names)
        possible.loc[part.index] = [sets.in_words(name) for name in names]
    table.insert(table.columns.get_loc("n"), "rank", ranks)
    if sure:
        table.insert(table.columns.get_loc("n"), "possible_ranks", possible)
    return table


def _tidy(table: pd.DataFrame) -> pd.DataFrame:
    """The table without the columns that say nothing here."""
    if table.empty:
        return table
    table = table.drop(columns="baseline", errors="ignore")
    empty = [name for name in FURTHER if name in table and table[name].isna().all()]
    table = table.drop(columns=empty)
    for name in ("group", "reason", "influence"):
        if name in table and not table[name].fillna("").astype(bool).any():
            table = table.drop(columns=name)
    return table
