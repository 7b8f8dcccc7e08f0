"""Judges with one fault each, as scores of a rated set: what a card has to name.

`FAULTS` has those of single outputs by name, `PAIR_FAULTS` those of pairs; each says
which rule of the card names it. `good` is a judge without a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from nlgeval_lib import statistics

# in standard deviations of the ratings
GOOD_NOISE = (0.25, 0.5, 0.75, 1.0)
_NOISE = 0.5  # of a judge with a fault
Frame = pd.DataFrame
Random = np.random.Generator
Values = np.ndarray
# from a set with one scale, a score a row; from pairs, verdicts as (order, pair)
Judge = Callable[[Frame, Random], Values]


@dataclass(frozen=True)
class Fault:
    """A judge with a fault.

    rules: of the card; one of them has to hold.
    scores: a score a row of a set with one scale, `attrs["scale"]`.
    """

    rules: tuple[str, ...]
    scores: Judge


def _ends(frame: Frame) -> tuple[float, float]:
    """The lowest and the highest rating that can be given."""
    [scale] = set(frame.attrs["scale"].values())
    low, high = scale
    return float(low), float(high)


def _points(frame: Frame, share: float) -> float:
    """A share of the scale, in points of it."""
    low, high = _ends(frame)
    return share * (high - low)


def _on_scale(frame: Frame, values: Values) -> Values:
    """Whole scores within the scale."""
    low, high = _ends(frame)
    rounded = np.round(values)
    return np.clip(rounded, low, high)


def _by_chance(frame: Frame, rng: Random, share: float) -> Values:
    """Is a row among those of a share that chance takes? A flag a row."""
    return rng.random(len(frame)) < share


def _ranks(values: Values) -> Values:
    """Of each value, the share of all values that are not above it."""
    return pd.Series(values).rank(pct=True).to_numpy()


def _noisy(
    frame: Frame,
    rng: Random,
    noise: float = _NOISE,
) -> Values:
    """The mean ratings and noise, in standard deviations of the ratings."""
    human = frame["human"].to_numpy()
    spread = noise * human.std()
    errors = rng.normal(0, spread, len(human))
    return np.asarray(human + errors)


def _noisy_rows(frame: Frame, rng: Random) -> pd.Series:
    """`_noisy`, by the index of the rows, to be grouped."""
    noisy = _noisy(frame, rng)
    return pd.Series(noisy, index=frame.index)


def good(frame: Frame, rng: Random, noise: float) -> Values:
    """A judge without a fault.

    noise: in standard deviations of the ratings.
    """
    noisy = _noisy(frame, rng, noise)
    return _on_scale(frame, noisy)


def _turned(frame: Frame, rng: Random) -> Values:
    """Takes the lowest score for the best."""
    low, high = _ends(frame)
    noisy = _noisy(frame, rng)
    return low + high - _on_scale(frame, noisy)


def _added(systems: int, share: float) -> Judge:
    """A judge that adds a share of the scale to the scores of some systems."""

    def judge(frame: Frame, rng: Random) -> Values:
        _, high = _ends(frame)
        bonus = _points(frame, share)
        by_system = frame.groupby("system_id", sort=False)
        means = by_system["human"].mean()
        # a system at the top of the scale cannot be favoured so much
        third_lowest = means.nsmallest(3).max()
        most = max(high - bonus, third_lowest)
        candidates = means.index[means <= most]
        favoured = rng.choice(candidates, systems, replace=False)
        is_favoured = frame["system_id"].isin(favoured)
        added = bonus * is_favoured.to_numpy()
        noisy = _noisy(frame, rng)
        return _on_scale(frame, noisy + added)

    return judge


def _halo(frame: Frame, rng: Random) -> Values:
    """Gives every aspect of an output the same opinion, but for little noise."""
    noisy = _noisy_rows(frame, rng)
    outputs = [frame["input_id"], frame["system_id"]]
    opinion = noisy.groupby(outputs).transform("mean")
    spread = 0.1 * noisy.std()
    noise = rng.normal(0, spread, len(frame))
    return _on_scale(frame, opinion + noise)


def _standard(values: Values) -> Values:
    """With mean 0 and standard deviation 1."""
    centred = values - values.mean()
    return np.asarray(centred / values.std())


def _length(frame: Frame) -> Values:
    """The lengths of the outputs, standardized."""
    outputs = frame["output"].tolist()
    lengths = statistics.baselines.length(outputs)
    return _standard(lengths)


def _half_length(frame: Frame, rng: Random) -> Values:
    """Half of it is length, half what people say."""
    human = frame["human"].to_numpy()
    both = _standard(human) + _length(frame)
    opinion = both / np.sqrt(2)
    deviations = human.std() * opinion
    return _on_scale(frame, human.mean() + deviations)


def _longer(frame: Frame, rng: Random) -> Values:
    """Adds .9 standard deviations of quality for one of length."""
    spread = frame["human"].std()
    bonus = 0.9 * spread * _length(frame)
    noisy = _noisy(frame, rng)
    return _on_scale(frame, noisy + bonus)


def _gaps(frame: Frame, rng: Random) -> Values:
    """Mostly says nothing of the outputs that people rate lowest."""
    ranks = _ranks(frame["human"].to_numpy())
    is_low = ranks < 0.2
    is_silent = is_low & _by_chance(frame, rng, 0.6)
    noisy = _noisy(frame, rng)
    scores = _on_scale(frame, noisy)
    return np.where(is_silent, np.nan, scores)


def _mostly_top(frame: Frame, rng: Random) -> Values:
    """Gives 85 % of the outputs the highest score, the others one in their order."""
    noisy = _noisy(frame, rng)
    low, high = _ends(frame)
    rounded = np.round(noisy)
    below_top = np.clip(rounded, low, high - 1)
    is_top = _ranks(noisy) > 0.15
    return np.where(is_top, high, below_top)


def _nearly_constant(frame: Frame, rng: Random) -> Values:
    """Gives 97 % of the outputs one score, whatever they are."""
    _, high = _ends(frame)
    usual = high - 1
    is_usual = _by_chance(frame, rng, 0.97)
    noisy = _noisy(frame, rng)
    scores = _on_scale(frame, noisy)
    return np.where(is_usual, usual, scores)


def _copy(frame: Frame, rng: Random) -> Values:
    """Says what one of the raters said."""
    raters = [name for name in frame if str(name).startswith("rater_")]
    copied = frame[raters[0]]
    return copied.to_numpy(dtype=float)


def _of_system(frame: Frame, rng: Random) -> Values:
    """Gives every output of a system the same score, the mean of what it said."""
    noisy = _noisy_rows(frame, rng)
    by_system = noisy.groupby(frame["system_id"])
    return by_system.transform("mean").to_numpy()


def _halved(frame: Frame, rng: Random) -> Values:
    """Halves the deviations from the mean."""
    noisy = _noisy(frame, rng, noise=0.25)
    doubled = noisy + noisy.mean()
    return np.asarray(doubled / 2)


def _lenient(frame: Frame, rng: Random) -> Values:
    """Adds .3 of the scale: 1.2 points of one from 1 to 5."""
    noisy = _noisy(frame, rng)
    bonus = _points(frame, 0.3)
    return _on_scale(frame, noisy + bonus)


FAULTS: Mapping[str, Fault] = {
    "takes the lowest score for the best": Fault(
        rules=("reversed",),
        scores=_turned,
    ),
    "+2 for two systems": Fault(
        rules=("favours",),
        scores=_added(systems=2, share=0.5),
    ),
    "+1 for its own model": Fault(
        rules=("favours",),
        scores=_added(systems=1, share=0.25),
    ),
    "halo over several aspects": Fault(
        rules=("halo",),
        scores=_halo,
    ),
    "half length, half what people say": Fault(
        rules=("length", "length at a rating"),
        scores=_half_length,
    ),
    "length, .9 SD given quality": Fault(
        rules=("length", "length at a rating"),
        scores=_longer,
    ),
    "silent where ratings are low": Fault(
        rules=("gaps where low",),
        scores=_gaps,
    ),
    "85 % at the top": Fault(
        rules=("one score",),
        scores=_mostly_top,
    ),
    "97 % one score": Fault(
        rules=("one score", "constant"),
        scores=_nearly_constant,
    ),
    "a copy of one rater": Fault(
        rules=("copy",),
        scores=_copy,
    ),
    "one score a system": Fault(
        rules=("one score a system",),
        scores=_of_system,
    ),
    "deviations halved": Fault(
        rules=("narrow",),
        scores=_halved,
    ),
    "+1.2 for all": Fault(
        rules=("lenient",),
        scores=_lenient,
    ),
}


# -- pairs: verdicts as (order, pair)


def _better(
    frame: Frame,
    rng: Random,
    noise: float = _NOISE,
) -> Values:
    """Takes the better output, in both orders; often the worse where noise is large."""
    is_wrong = _by_chance(frame, rng, noise / 4)
    better = frame["preference"].to_numpy()
    worse = 3 - better
    verdicts = np.where(is_wrong, worse, better)
    return np.stack([verdicts, verdicts])


good_of_pairs = _better


def _in_orders(share: float, forms: Values) -> Judge:
    """A judge that answers by the order of showing in a share of the pairs.

    forms: verdict as given and swapped, a row a form, of which one is drawn.
    """

    def judge(frame: Frame, rng: Random) -> Values:
        verdicts = _better(frame, rng)
        is_by_order = _by_chance(frame, rng, share)
        rows = rng.integers(0, len(forms), len(frame))
        by_order = forms[rows].T
        return np.where(is_by_order, by_order, verdicts)

    return judge


def _takes_longer(frame: Frame, rng: Random) -> Values:
    """Takes the longer output."""
    length_1 = frame["output_1"].str.len()
    length_2 = frame["output_2"].str.len()
    is_first = length_1 >= length_2
    verdicts = np.where(is_first, 1.0, 2.0)
    return np.stack([verdicts, verdicts])


_FIRST = np.array([[1.0, 2.0]])
_EITHER = np.array([[1.0, 2.0], [2.0, 1.0]])
PAIR_FAULTS: Mapping[str, Fault] = {
    "flips 33 % on a swap": Fault(
        rules=("swap",),
        scores=_in_orders(0.33, _EITHER),
    ),
    "takes the first in 10 %": Fault(
        rules=("leans to first", "prefers first"),
        scores=_in_orders(0.1, _FIRST),
    ),
    "takes the first": Fault(
        rules=("prefers first",),
        scores=_in_orders(1.0, _FIRST),
    ),
    "takes the longer": Fault(
        rules=("longer",),
        scores=_takes_longer,
    ),
}
