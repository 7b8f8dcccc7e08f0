"""A file with a judge's score in every row and people's ratings in some: the systems'
mean ratings, and how many more would be needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgecard import label_sheets, rated_columns
from judgecard.estimates import Estimates, estimate
from judgecard.pass_rates import PassRates, pass_rates
from judgecard.rated_rows import SEEN, training_column
from nlgeval_lib.scoring import rows
from nlgeval_lib.scoring.cells import InputError
from nlgeval_lib.scoring.correlations import Grid
from nlgeval_lib.scoring.rows import Rows

# Column of `Estimates.to_frame` -> the name that is shown.
_COLUMNS = {
    "name": "system",
    "value": "mean rating",
    "labels_alone": "labels alone",
    "judge_alone": "judge alone",
    "n": "labels",
    "total": "outputs",
    "worth": "worth",
}


@dataclass(frozen=True)
class Labelled:
    """Scores and ratings of one group of rows.

    scores, ratings: `X[system, input]`; NaN where an output has none.
    topics: a label an input; None where they have none.
    chances: by which each output was drawn to be rated; None where they are all alike.
    """

    label: str
    systems: tuple[str, ...]
    scores: np.ndarray
    ratings: np.ndarray
    topics: np.ndarray | None = None
    chances: np.ndarray | None = None

    def estimates(self, confidence: float = 0.95) -> Estimates:
        """What `estimate` says of them: mean ratings and differences."""
        return estimate(
            self.scores,
            self.ratings,
            self.systems,
            confidence,
            self.topics,
            self.chances,
        )

    def pass_rates(self, confidence: float = 0.95) -> PassRates | None:
        """The pass rates, where scores and ratings are 0 or 1 and all rows were drawn
        alike.
        """
        if self.chances is not None:
            return None
        has_score = ~np.isnan(self.scores)
        has_both = has_score & ~np.isnan(self.ratings)
        rated = self.ratings[has_both]
        verdicts = np.concatenate([rated, self.scores[has_score]])
        if set(verdicts) != {0.0, 1.0} or len(set(rated)) < 2:
            return None
        return pass_rates(self.scores, self.ratings, self.systems, confidence)


def needed(
    data: Rows,
    score: str,
    humans: Sequence[str],
    by: str | None = None,
    topic: str | None = None,
) -> Rows:
    """The columns of a file that `labelled` needs, of a large one no other is read."""
    for column in (score, *humans):
        if column not in data.theirs:
            raise InputError(data.lacks(column))
    wanted = {score, *humans, *rows.IDS, by or "aspect", rows.RATER, "output"}
    wanted |= {topic or rated_columns.TOPIC, training_column(score), SEEN}
    wanted.add(label_sheets.PROBABILITY)
    return data.only(lambda name: name in wanted)


def labelled(
    table: Rows,
    score: str,
    humans: Sequence[str],
    by: str | None = None,
    topic: str | None = None,
) -> Iterator[Labelled]:
    """The rows in groups, each with the mean of the ratings that a row has; by, topic:
    as in `rated_columns`.
    """
    scores = table.numbers(score)
    ratings = mean_rating(table, humans)
    if np.isnan(ratings).all():
        raise InputError(f"{table.name}: no row has a rating in {', '.join(humans)}")
    chances = None
    if label_sheets.unequal(table.frame):
        chances = table.numbers(label_sheets.PROBABILITY)
    places = rated_columns.places(table.frame)
    topics = rated_columns.groups(
        table.frame.assign(**places), topic, rated_columns.TOPIC, "input_id", table.name
    )
    for label, members in rated_columns.grouped(table, by):
        # At system level a further output for an input is an input of its own.
        own_topics = None
        if topics is not None:
            own_topics = topics[members]
        grid = Grid(places.iloc[members], "system", topics=own_topics)
        systems = tuple(str(system) for system, _ in grid.systems)
        yield Labelled(
            label,
            systems,
            grid.matrix(scores[members]),
            grid.matrix(ratings[members]),
            grid.together.get("input_groups"),
            None if chances is None else grid.matrix(chances[members]),
        )


def mean_rating(table: Rows, humans: Sequence[str]) -> np.ndarray:
    """The mean of the ratings that each row has; NaN for a row without any."""
    columns = {name: table.numbers(name) for name in humans}
    ratings = pd.DataFrame(columns, range(len(table)), dtype=float)
    return ratings.mean(axis=1).to_numpy()


# -- as tables


def means_table(estimates: Estimates) -> pd.DataFrame:
    """A row a system, best first: what is its mean rating?

    Returns: `mean rating` with its interval `low, high`, what `labels alone` or the
    `judge alone` would say, `worth` (how many labels a label is worth with the judge),
    `ranks` that the system can have (all systems at once, .95), and more.
    """
    table = estimates.to_frame().sort_values("value", ascending=False)
    columns = [*_COLUMNS, "low", "high", "low_alone", "high_alone"]
    means = table[columns].rename(columns=_COLUMNS)
    if estimates.differences:
        sets = estimates.rank_sets()
        means["ranks"] = [sets.in_words(name) for name in table["name"]]
    return means.assign(reason=table["reason"]).reset_index(drop=True)


def differences_table(estimates: Estimates) -> pd.DataFrame:
    """A row a pair of systems: how far apart are their mean ratings? `p_adjusted` is
    corrected over all pairs.
    """
    table = estimates.differences_frame()
    adjusted = estimates.corrected()
    columns = ["name", "value", "low", "high", "n", "worth", "p"]
    names = {"name": "systems", "value": "difference", "n": "labels"}
    differences = table[columns].rename(columns=names)
    return differences.assign(p_adjusted=adjusted, reason=table["reason"])
