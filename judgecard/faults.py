"""Faults that a judge may have beside a fair order: each is a number with its interval
that a rule of `rules.csv` reads.

`of_aspect` measures what one aspect shows, `halo` what several do. A number that cannot
be measured has its reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from judgecard.aspect import Aspect
from judgecard.cells import (
    Numbers,
    difference_interval,
    interval,
    interval_by_moves,
    mean_interval,
    value_or_reason,
    without_sign,
)
from judgecard.rated_columns import rater_kinds
from nlgeval_lib import statistics

_FEWEST_SYSTEMS = 4  # of which one may be told to stand apart
_FEWEST_OUTPUTS = 10
_USUAL = 1.48  # median distances from the median, up to which systems differ


def of_aspect(aspect: Aspect) -> Numbers:
    """What faults do the scores of an aspect show?

    Returns: by name, a cell each:
    - one_score_a_system: the share of outputs that have their system's usual score;
        `people` is that of the ratings.
    - same_score: how much more often the usual score comes than people's does.
    - favours: how far the most favoured system's scores lie above its ratings, beside
        the other systems, as a share of the scale; `system` is its name.
    - length: partial Spearman of score and length given the rating, without its sign.
    - gaps: rating of outputs with a score less that of those without, in standard
        deviations of the ratings.
    - spread: standard deviation of the scores by that of the ratings.
    - level: score less rating, as a share of the scale.
    - copy: how often the scores are those of one rater, less how often two raters agree.
    """
    measures = {
        "one_score_a_system": _one_score_a_system,
        "same_score": _same_score,
        "favours": _favours,
        "length": _length,
        "gaps": _gaps,
        "spread": _spread,
        "level": _level,
        "copy": _copy,
    }
    return {name: value_or_reason(of, aspect) for name, of in measures.items()}


def _one_score_a_system(aspect: Aspect) -> Numbers:
    """The share of outputs that have their system's most frequent score."""
    rows = aspect.rows[aspect.present]
    systems = rows["system_id"]
    number = systems.nunique()
    if number < 2 or len(rows) < 3 * number:
        raise ValueError("no several outputs of several systems")
    shares = {}
    for name, column in (("value", "value"), ("people", "human")):
        counts = rows.groupby([systems, rows[column]]).size()
        shares[name] = float(counts.groupby(level=0).max().sum() / len(rows))
    return {**shares, "n": len(rows)}


def _same_score(aspect: Aspect) -> Numbers:
    """How much more often the most frequent score comes than people's most frequent."""
    present = _present(aspect)
    values = aspect.values
    human = aspect.human
    if (values[present] % 1 == 0).all():
        # a mean of raters has more values than the judge can say
        human = np.round(human)
    most = _most_frequent(values[present])
    most_by_people = _most_frequent(human[present])
    gap = (values == most).astype(float) - (human == most_by_people)
    return aspect.mean(np.where(aspect.present, gap, np.nan))


def _present(aspect: Aspect) -> np.ndarray:
    """Which rows have a score and a rating."""
    if aspect.present.sum() < _FEWEST_OUTPUTS:
        raise ValueError(f"fewer than {_FEWEST_OUTPUTS} outputs with score and rating")
    return aspect.present


def _most_frequent(values: np.ndarray) -> float:
    """The value that comes most often; of several, the lowest."""
    each, counts = np.unique(values, return_counts=True)
    return float(each[counts.argmax()])


def _shares(aspect: Aspect) -> tuple[np.ndarray, np.ndarray]:
    """Scores and ratings as shares of their scales, NaN where either is missing."""
    present = _present(aspect)
    sides = []
    for values, scale in (
        (aspect.values, aspect.scale),
        (aspect.human, aspect.rated_on),
    ):
        if scale is None or not np.isfinite(scale).all():
            raise ValueError(aspect.why_no_scale())
        low, high = scale
        share = (values - low) / (high - low)
        sides.append(np.where(present, share, np.nan))
    return sides[0], sides[1]


def _favours(aspect: Aspect) -> Numbers:
    """How far the most favoured system's scores lie above its ratings, as a share of
    the scale, beyond what is usual among the systems.

    A judge may see less of the differences between systems than people do, all of them,
    or more where people's scale ends: of the slopes of score on rating, that within
    systems, 1, and a larger one between systems, the one counts that favours less.
    Usual is a robust standard deviation of the systems (1.48 times the median distance
    from their median). The interval is over inputs, for the highest of all systems
    (Bonferroni).

    Raises: ValueError for few systems, and as `_shares`.
    """
    values, human = _shares(aspect)
    systems = aspect.rows["system_id"].astype(str)
    means = pd.DataFrame({"value": values, "human": human}).groupby(systems).mean()
    means = means.dropna()
    if len(means) < _FEWEST_SYSTEMS:
        raise ValueError(f"fewer than {_FEWEST_SYSTEMS} systems")
    # by slope: score less what the rating lets expect, and what is usual of it
    usual = {}
    beyond = {}
    for slope in (_slope_within(values, human, systems), 1.0, _slope_between(means)):
        lead = means["value"] - slope * means["human"]
        distances = (lead - lead.median()).abs()
        usual[slope] = lead.median() + _USUAL * distances.median()
        beyond[slope] = lead - usual[slope]
    system = str(pd.DataFrame(beyond).min(axis=1).idxmax())
    slope = min(beyond, key=lambda slope: beyond[slope][system])
    inside = (systems == system).to_numpy()
    above = np.where(inside, values - slope * human - usual[slope], np.nan)
    cell = mean_interval(above, aspect.rows["input_id"].to_numpy())
    return _for_the_highest(cell, len(means)) | {"system": system}


def _slope_within(values: np.ndarray, human: np.ndarray, systems: pd.Series) -> float:
    """The slope of score on rating within systems, in [0, 1]."""
    frame = pd.DataFrame({"value": values, "human": human})
    apart = frame - frame.groupby(systems).transform("mean")
    squares = float((apart["human"] ** 2).sum())
    if squares == 0:
        return 1.0
    slope = float((apart["value"] * apart["human"]).sum()) / squares
    return float(np.clip(slope, 0, 1))


def _slope_between(means: pd.DataFrame) -> float:
    """The slope of score on rating between systems, at least 1: the median of those of
    all pairs (Theil and Sen), which few favoured systems move little.
    """
    from scipy import stats

    if np.ptp(means["human"]) == 0:
        return 1.0
    slope = stats.theilslopes(means["value"], means["human"]).slope
    return float(max(slope, 1.0))


def _for_the_highest(cell: Numbers, number: int) -> Numbers:
    """A mean's cell with the interval of the highest of so many means (Bonferroni)."""
    from scipy import stats

    df = cell["n"] - 1
    if df < 1:
        return cell
    wider = stats.t.ppf(1 - 0.025 / number, df) / stats.t.ppf(0.975, df)
    reach = float(wider * (cell["high"] - cell["value"]))
    low = cell["value"] - reach
    high = cell["value"] + reach
    return cell | {"low": low, "high": high}


def _length(aspect: Aspect) -> Numbers:
    """Partial Spearman of score and length given the rating, without its sign."""
    if not aspect.has_length():
        raise ValueError("no output texts or lengths")
    sides = [aspect.matrix(side) for side in (aspect.values, aspect.human)]
    length = aspect.matrix(aspect.length)
    result = statistics.length_bias(*sides, length, ci=_over_inputs(aspect))
    return without_sign(interval(result, result.partial)) | {"n": result.n}


def _over_inputs(aspect: Aspect) -> str:
    """The interval of what is said of these systems alone."""
    return "jack-rows" if aspect.flat else "jack-inputs"


def _gaps(aspect: Aspect) -> Numbers:
    """Rating of outputs with a score less that of those without, in standard deviations
    of the ratings; its interval over inputs.
    """
    rated = ~np.isnan(aspect.human)
    scored = aspect.present[rated]
    human = aspect.human[rated]
    if min(scored.sum(), (~scored).sum()) < _FEWEST_OUTPUTS:
        raise ValueError(
            f"fewer than {_FEWEST_OUTPUTS} outputs without a score, or with one"
        )
    sd = human.std()
    if sd == 0:
        raise ValueError("all ratings are equal")
    inputs = aspect.rows["input_id"][rated]
    return difference_interval(human / sd, scored, ~scored, inputs)


def _spread(aspect: Aspect) -> Numbers:
    """Standard deviation of the scores by that of the ratings, as shares of their
    scales; the interval is on the log scale, by leaving out each input.
    """
    values, human = _shares(aspect)
    frame = pd.DataFrame({"value": values, "human": human}).dropna()
    inputs = aspect.rows["input_id"][frame.index]
    if (frame.std() == 0).any():
        raise ValueError("all scores, or all ratings, are equal")
    # what each row moves the log of the ratio: half its share in either variance
    squares = (frame - frame.mean()) ** 2
    moves = (squares / squares.sum()).diff(axis=1)["human"]
    by_input = -moves.groupby(inputs).sum().to_numpy() / 2
    ratio = float(np.log(frame["value"].std() / frame["human"].std()))
    cell = interval_by_moves(ratio, by_input * len(by_input))
    for name in ("value", "low", "high"):
        cell[name] = float(np.exp(cell[name]))
    return cell


def _level(aspect: Aspect) -> Numbers:
    """Score less rating, as a share of the scale."""
    if not aspect.same_scale():
        raise ValueError(aspect.why_no_scale())
    values, human = _shares(aspect)
    return aspect.mean(values - human)


def _copy(aspect: Aspect) -> Numbers:
    """How often the scores are those of one rater, less how often two raters agree, the
    most of either.
    """
    columns = [name for names in rater_kinds(aspect.rows).values() for name in names]
    ratings = [aspect.rows[name].to_numpy(dtype=float) for name in columns]
    equal = [_equal(aspect.values, rating) for rating in ratings]
    people = [_equal(first, second) for first, second in combinations(ratings, 2)]
    if np.isnan(equal).all() or np.isnan(people).all():
        raise ValueError("no two raters of the same outputs")
    own = float(np.nanmax(equal))
    value = own - float(np.nanmax(people))
    return {"value": value, "equal": own, "n": int(aspect.present.sum())}


def _equal(first: np.ndarray, second: np.ndarray) -> float:
    """How often two are equal where both are there; NaN for few such rows."""
    both = ~np.isnan(first + second)
    if both.sum() < _FEWEST_OUTPUTS:
        return np.nan
    return float((first[both] == second[both]).mean())


# -- several aspects


def halo(aspects: Mapping[str, Aspect]) -> Numbers:
    """How much more do the aspects go together in the scores than in the ratings?

    aspects: name -> an aspect of one set.
    Returns: `value`: by how much of what people leave to 1 the mean Pearson correlation
        of two aspects is higher in the scores, with its interval by leaving out each
        input; `judge` and `people`, the two means.
    Raises: ValueError for one aspect, and for few outputs with all.
    """
    if len(aspects) < 2:
        raise ValueError("one aspect")
    keys = ["input_id", "system_id"]
    sides = {}
    for side in ("value", "human"):
        columns = {}
        for name, aspect in aspects.items():
            columns[name] = aspect.rows.drop_duplicates(keys).set_index(keys)[side]
        sides[side] = pd.DataFrame(columns)
    is_whole = sides["value"].notna().all(axis=1) & sides["human"].notna().all(axis=1)
    if is_whole.sum() < _FEWEST_OUTPUTS:
        raise ValueError("few outputs have scores and ratings of all aspects")
    inputs = sides["value"].index[is_whole].get_level_values("input_id").to_numpy()
    judge = sides["value"][is_whole].to_numpy(dtype=float)
    people = sides["human"][is_whole].to_numpy(dtype=float)
    if min(np.ptp(judge, axis=0).min(), np.ptp(people, axis=0).min()) == 0:
        raise ValueError("an aspect has the same score, or rating, everywhere")
    means = {"judge": _together(judge), "people": _together(people)}
    units = np.unique(inputs)
    reduced = []
    for unit in units:
        rest = inputs != unit
        reduced.append(_closer(_together(judge[rest]), _together(people[rest])))
    moves = (len(units) - 1) * (np.mean(reduced) - np.array(reduced))
    return interval_by_moves(_closer(**means), moves) | means


def _closer(judge: float, people: float) -> float:
    """How much of the way from people's correlation to 1 the judge's lies above it."""
    return (judge - people) / max(1 - people, 1e-9)


def _together(table: np.ndarray) -> float:
    """The mean Pearson correlation of two columns."""
    matrix = np.corrcoef(table, rowvar=False)
    return float(matrix[np.triu_indices(len(matrix), 1)].mean())
