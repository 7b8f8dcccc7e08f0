"""What a ranking is, and how often rankings agree with people."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from nlgeval_lib.schema import Sample


@dataclass(frozen=True, slots=True)
class Group:
    """The responses to one instruction: what the group is called, what each response is called, and the samples."""

    name: str
    responses: tuple[str, ...]
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The order of one group's responses.

    `ranks`: 1 is best; tied responses share the better rank; NaN for a response that got no verdict. `scores`: for
    each response what it got, draw by draw where `by` is absolute (NaN for a draw without a score), comparison by
    comparison where it is relative (1 won, .5 tied, 0 lost, NaN no verdict). `reason`: why a response has no rank.
    `agreement`: by relative grading, the share of pairs whose verdict stays when the two change places; else NaN.
    """

    group: str
    responses: tuple[str, ...]
    ranks: tuple[float, ...]
    scores: tuple[tuple[float, ...], ...]
    by: str = "absolute"
    reason: str = ""
    agreement: float = math.nan

    @property
    def winner(self) -> str | None:
        """The response that is better than all others; None where the best are tied or a response has no rank."""
        best = [name for name, rank in zip(self.responses, self.ranks, strict=True) if rank == 1]
        return best[0] if len(best) == 1 and not self.missing else None

    @property
    def ties(self) -> tuple[tuple[str, ...], ...]:
        """The responses that share a rank, group by group, the best first."""
        shared: dict[float, list[str]] = {}
        for name, rank in zip(self.responses, self.ranks, strict=True):
            if not math.isnan(rank):
                shared.setdefault(rank, []).append(name)
        return tuple(tuple(names) for _, names in sorted(shared.items()) if len(names) > 1)

    @property
    def missing(self) -> tuple[str, ...]:
        """The responses without a rank."""
        return tuple(name for name, rank in zip(self.responses, self.ranks, strict=True) if math.isnan(rank))

    @property
    def rounds(self) -> int:
        """The most verdicts that a response of the group was given."""
        return max(map(len, self.scores), default=0)


def rankings_of(
    frame: pd.DataFrame, scores: Sequence[float], *, group: str = "input_id", response: str = "system_id"
) -> list[Ranking]:
    """The rankings that one score a row gives: any metric's, or a baseline's such as the length of the output.

    Raises: ValueError unless there is one score a row.
    """
    values = np.asarray(scores, dtype=float)
    if values.shape != (len(frame),):
        raise ValueError(f"scores of shape {values.shape} for {len(frame)} rows; give one a row")
    rankings = []
    for name, rows in _groups(frame, group).items():
        mine = [float(values[row]) for row in rows]
        ranks = tuple(math.nan if math.isnan(s) else 1.0 + sum(other > s for other in mine) for s in mine)
        names = tuple(str(frame[response].iloc[row]) for row in rows)
        rankings.append(Ranking(name, names, ranks, tuple((s,) for s in mine), "scores"))
    return rankings


def agreement(
    rankings: Sequence[Ranking],
    frame: pd.DataFrame,
    *,
    human: str = "human",
    ties: str = "half",
    human_ties: str = "drop",
    category: str | None = None,
    group: str = "input_id",
    response: str = "system_id",
) -> pd.DataFrame:
    """How often the rankings prefer what people prefer, over all pairs of responses to one instruction.

    frame: the ratings, one row a response. One row a category, in order of appearance, and the row `total` over all
    pairs (the micro average); columns `pairs, right, wrong, tied, missing, accuracy`.
    Pairs without a verdict count in `missing` alone: accuracy is over the others, 0 to 1, NaN without any.
    ties: a pair that the judge ties while people do not counts `half`, as `wrong`, or is left out (`drop`).
    human_ties: pairs that people rate equal are left out (`drop`), or right where the judge ties them (`match`).

    Raises: ValueError for unknown options, or a group or response that the frame does not have.
    Source: Prometheus, appendix A.1, Table 4.
    """
    credit = {"half": 0.5, "wrong": 0.0, "drop": math.nan}
    if ties not in credit or human_ties not in ("drop", "match"):
        raise ValueError(f"ties={ties!r}, human_ties={human_ties!r}; allowed: half, wrong, drop; and drop, match")
    rows = {
        (str(name), str(who)): position
        for position, (name, who) in enumerate(zip(frame[group], frame[response], strict=True))
    }
    pairs = []
    for ranking in rankings:
        ranks = dict(zip(ranking.responses, ranking.ranks, strict=True))
        for one, other in itertools.combinations(ranking.responses, 2):
            try:
                places = rows[ranking.group, one], rows[ranking.group, other]
            except KeyError as error:
                raise ValueError(f"the frame has no row of group and response {error.args[0]}") from None
            first, second = (float(frame[human].iloc[place]) for place in places)
            label = str(frame[category].iloc[places[0]]) if category else "total"
            outcome = _outcome(ranks[one] - ranks[other], second - first, human_ties)
            if outcome:
                pairs.append((label, outcome))
    labels = list(dict.fromkeys(label for label, _ in pairs)) if category else []
    table = []
    for label in [*labels, "total"]:
        outcomes = [outcome for where, outcome in pairs if label in (where, "total")]
        count = {name: outcomes.count(name) for name in ("right", "wrong", "tied", "missing")}
        judged = count["right"] + count["wrong"] + (0 if ties == "drop" else count["tied"])
        points = count["right"] + (0 if ties == "drop" else credit[ties] * count["tied"])
        table.append({"pairs": len(outcomes), **count, "accuracy": points / judged if judged else math.nan})
    return pd.DataFrame(table, index=pd.Index([*labels, "total"], name="category"))


def _outcome(behind: float, less: float, human_ties: str) -> str:
    """right, wrong, tied or missing, '' for a pair that does not count.

    behind: how far the first is ranked after the second. less: how much less people like the first.
    """
    if math.isnan(less) or (less == 0 and human_ties == "drop"):
        return ""
    if math.isnan(behind):
        return "missing"
    if less == 0:
        return "right" if behind == 0 else "wrong"
    if behind == 0:
        return "tied"
    return "right" if (behind > 0) == (less > 0) else "wrong"


def _groups(frame: pd.DataFrame, group: str) -> dict[str, list[int]]:
    """Group name -> its rows, in the order of their first rows."""
    rows: dict[str, list[int]] = {}
    for position, name in enumerate(frame[group]):
        rows.setdefault(str(name), []).append(position)
    return rows
