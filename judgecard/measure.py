"""The numbers of graded scores: each is one call of `statistics` on scores and ratings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from judgecard import closeness, faults, label_sheets, reliability
from judgecard.aspect import Aspect
from judgecard.cells import Numbers, interval, value_or_reason, without_sign
from judgecard.judged import KEYS, Judged
from judgecard.rated_columns import rater_kinds
from nlgeval_lib import statistics

# Name in a card -> coefficient of `statistics`.
COEFS = {"pearson": "pearson", "spearman": "spearman", "kendall": "kendall-b"}
WORST = 20  # so many disagreements are listed
_SELF = "this judge"
_RANDOM = "random"
_DRAWS = 200  # of random scores


def graded(judged: Judged) -> Numbers:
    """Everything that is measured of graded scores, as `card.json` has it."""
    frame = judged.frame
    coverage = {
        "value": float(frame["value"].notna().mean()),
        "n": len(frame),
        "statuses": frame["status"].value_counts().to_dict(),
    }
    aspects = {}
    for name, rows in frame.groupby("aspect", sort=False):
        aspects[str(name)] = Aspect(judged, str(name), rows)
    numbers_by_aspect = {name: _numbers(aspect) for name, aspect in aspects.items()}
    draws = [aspect.draws() for aspect in aspects.values()]
    repeated = [of_aspect for of_aspect in draws if len(of_aspect) > 1]
    if repeated:
        # a mean of draws has a value where one of them has
        asked = sum(of_aspect.size for of_aspect in repeated)
        read = sum(int((~np.isnan(of_aspect)).sum()) for of_aspect in repeated)
        coverage["draws"] = {"value": read / asked, "n": asked}
    numbers: Numbers = {
        "kind": "graded",
        "title": judged.title,
        "sample": judged.sample,
        "outputs": int(len(frame) / frame["aspect"].nunique()),
        "inputs": int(frame["input_id"].nunique()),
        "systems": int(frame["system_id"].nunique()),
        "coverage": coverage,
        "facts": dict(judged.facts),
        "halo": value_or_reason(faults.halo, aspects),
        "aspects": numbers_by_aspect,
        "worst": _worst(frame),
    }
    if drawn := label_sheets.unequal(frame):
        numbers["drawn"] = drawn
    return numbers


def _numbers(aspect: Aspect) -> Numbers:
    """What is measured of an aspect, by name; what cannot be has a `reason`."""
    numbers: Numbers = {"n": int(aspect.present.sum())}
    for level in aspect.levels:
        numbers[level] = {}
        for name, coef in COEFS.items():
            numbers[level][name] = value_or_reason(coefficient, aspect, coef, level)
    numbers["use"] = use(aspect)
    numbers["length"] = length(aspect)
    numbers["faults"] = faults.of_aspect(aspect)
    numbers["raters"] = reliability.raters(aspect)
    numbers["beside"] = value_or_reason(_beside, aspect)
    numbers["closeness"] = value_or_reason(closeness.measure_closeness, aspect)
    numbers["strata"] = closeness.strata(aspect)
    numbers["variance"] = value_or_reason(reliability.variance, aspect)
    numbers["worth"] = value_or_reason(reliability.worth, aspect)
    if "details" in aspect.rows:
        numbers["repeats"] = value_or_reason(reliability.repeats, aspect)
    return numbers


def coefficient(aspect: Aspect, coef: str, level: str) -> Numbers:
    """A coefficient with its intervals.

    `low` and `high` are for other systems and inputs like these, `low_these` and
    `high_these` for these systems alone, `low_families` and `high_families` for other
    families of systems, `low_raters` and `high_raters` for other raters as well; each
    where it can be told.
    """
    values = aspect.values
    human = aspect.human
    result, _ = aspect.grid.correlate(values, human, coef, level)
    cell = interval(result)
    these = result.these_systems
    if these is not None:
        cell["low_these"] = these.low
        cell["high_these"] = these.high
    if aspect.by_family is not None:
        of_families, _ = aspect.by_family.correlate(values, human, coef, level)
        cell["low_families"] = of_families.low
        cell["high_families"] = of_families.high
        cell["families"] = len(set(aspect.families))
    return cell | _of_other_raters(aspect, result)


def _of_other_raters(aspect: Aspect, correlation: Any) -> Numbers:
    """The interval of a correlation for other raters, and how many there are; nothing
    where the mean rating is not that of at least two raters of each output.
    """
    for names in rater_kinds(aspect.rows).values():
        ratings = aspect.rows[names].to_numpy(dtype=float).T
        number = (~np.isnan(ratings)).sum(axis=0)
        if number[aspect.present].min(initial=2) < 2:
            continue
        try:
            ends = aspect.grid.other_raters(correlation, aspect.values, ratings)
        except ValueError:  # people's rating is not their mean
            continue
        if not np.isnan(ends.low):
            return {
                "low_raters": ends.low,
                "high_raters": ends.high,
                "raters": len(names),
            }
    return {}


def use(aspect: Aspect) -> Numbers:
    """How the scale is used; without a known scale its ends are the lowest and the
    highest score.
    """
    values = aspect.values[~np.isnan(aspect.values)]
    human = aspect.human[~np.isnan(aspect.human)]
    if len(values) < 2:
        return {"reason": "fewer than 2 scores"}
    shares: Numbers = {
        "mode_share": _mode_share(values),
        "human_mode_share": _mode_share(human),
    }
    low = values.min()
    high = values.max()
    if aspect.scale is not None:
        low, high = aspect.scale
    # `statistics.scale_use` refuses a scale without length
    if low == high:
        return shares | {"distinct": 1, "mean": float(low), "sd": 0.0, "ties": 1.0}
    scale_use = statistics.scale_use(values, low, high)
    for name in ("distinct", "mean", "sd", "ties", "floor", "ceiling"):
        shares[name] = getattr(scale_use, name)
    return shares


def _mode_share(values: np.ndarray) -> float:
    """How often the most frequent value comes, as a share; NaN without values."""
    if not len(values):
        return float("nan")
    _, counts = np.unique(values, return_counts=True)
    return float(counts.max() / len(values))


def length(aspect: Aspect) -> Numbers:
    """How does the judge stand to output length, by Kendall's tau-b over all outputs?

    Returns: `kendall`, score with length, and its `strength` without the sign;
    `versus`: how much better the scores follow the ratings than length does, for these
    systems alone, too; `closer`: how much closer they follow length, in either
    direction, than the ratings; `rating` with length.
    """
    if not aspect.has_length():
        return {"reason": "no output texts or lengths"}
    values = aspect.values
    human = aspect.human
    lengths = aspect.length
    with_length = value_or_reason(aspect.kendall, values, lengths)
    # a judge that prefers short outputs follows the length with the other sign
    direction = np.sign(with_length.get("value") or 1)
    signed_length = direction * lengths
    return {
        "kendall": with_length,
        "strength": without_sign(with_length),
        "versus": value_or_reason(_above_length, aspect),
        "closer": value_or_reason(aspect.versus, signed_length, human, values),
        "rating": value_or_reason(aspect.kendall, lengths, human),
    }


def _above_length(aspect: Aspect) -> Numbers:
    """How much better do the scores follow the ratings than length does?

    `low_these` and `high_these` are for these systems alone.
    """
    sides = (aspect.values, aspect.length, aspect.human)
    cell = aspect.versus(*sides)
    if not aspect.flat:
        these = aspect.versus(*sides, ci="jack-inputs")
        cell["low_these"] = these["low"]
        cell["high_these"] = these["high"]
    return cell


# -- among other judges


def _beside(aspect: Aspect) -> list[Numbers]:
    """The judge among recorded judges and baselines."""
    human = aspect.matrix(aspect.human)
    judges = _correlated(aspect, human)
    # Adding NaN leaves the ratings of the rows that all judges have.
    of_all = human + 0 * sum(judges.values())
    judges[_RANDOM], by_chance = _by_chance(of_all)
    league = statistics.league(judges, human, units=aspect.ci, ci=aspect.ci)
    possible_ranks = league.rank_sets()
    rows: dict[str, Numbers] = {}
    for name, result in zip(league.names, league.correlations, strict=True):
        ranks = possible_ranks[name]
        rows[name] = {
            "name": name,
            "rank": ranks[0],
            "rank_worst": ranks[-1],
            "kendall": interval(result),
        }
    tests = (league.corrected.names, league.corrected.adjusted)
    for comparison, (first, second), p in zip(league.comparisons, *tests, strict=True):
        if first == _SELF:
            row = rows[second]
            row["judge_minus_it"] = comparison.difference
            row["p"] = p
    # A typical draw takes part in the tests; what is shown is what all of them reach.
    rows[_RANDOM]["kendall"] |= by_chance
    own = rows[_SELF]["kendall"]["value"]
    rows[_RANDOM]["judge_minus_it"] = own - by_chance["value"]
    return sorted(rows.values(), key=lambda row: -row["kendall"]["value"])


def _by_chance(human: np.ndarray) -> tuple[np.ndarray, Numbers]:
    """Scores of the random judge that is the middle one of `_DRAWS`."""
    uniform = statistics.baselines.uniform
    draws = np.stack([uniform(human.shape, seed) for seed in range(_DRAWS)])
    values = statistics.coefficients(draws, human)
    low, high = map(float, np.quantile(values, (0.025, 0.975)))
    middle = np.argsort(values, kind="stable")[_DRAWS // 2]
    return draws[middle], {
        "value": float(values.mean()),
        "low": low,
        "high": high,
        "signature": f"level:dataset|coef:kendall-b|draws:{_DRAWS}",
    }


def _correlated(aspect: Aspect, human: np.ndarray) -> dict[str, np.ndarray]:
    """`_matrices` without the judges that have no correlation."""
    judges = {}
    for name, matrix in _matrices(aspect).items():
        present = ~np.isnan(matrix + human)
        if present.sum() >= 3 and np.ptp(matrix[present]) > 0:
            judges[name] = matrix
    if _SELF not in judges:
        raise ValueError("a constant score has no place among others")
    return judges


def _matrices(aspect: Aspect) -> dict[str, np.ndarray]:
    """Name -> scores of this judge and others, and lengths, as (system, input)."""
    matrices = {_SELF: aspect.matrix(aspect.values)}
    for name, values in aspect.other_judges.items():
        matrices[name] = aspect.matrix(values)
    if aspect.has_length():
        matrices["output length"] = aspect.matrix(aspect.length)
    return matrices


# -- single outputs


def _worst(frame: pd.DataFrame) -> list[Numbers]:
    """The outputs whose ranks by judge and by raters, in their aspect, lie farthest
    apart.
    """
    both = frame.dropna(subset=["value", "human"])
    by_aspect = both.groupby("aspect")
    ranks = by_aspect[["value", "human"]].rank(pct=True)
    gaps = (ranks["value"] - ranks["human"]).abs()
    gaps = gaps.sort_values(ascending=False, kind="stable")
    rows = []
    for position in gaps.index[:WORST]:
        output = both.loc[position]
        row: Numbers = {"row": int(position)}
        for key in KEYS:
            row[key] = str(output[key])
        row["human"] = output["human"]
        row["value"] = output["value"]
        row["gap"] = gaps[position]
        rows.append(row)
    return rows
