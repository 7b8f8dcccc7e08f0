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

GOOD_NOISE = (0.25, 0.5, 0.75, 1.0)  # in standard deviations of the ratings
_NOISE = 0.5  # of a judge with a fault
Random = np.random.Generator
Values = np.ndarray
Judge = Callable[[pd.DataFrame, Random], Values]


@dataclass(frozen=True)
class Fault:
    """A judge with a fault.

    rules: of the card; one of them has to hold.
    scores: a score a row of a set with one scale, `attrs["scale"]`.
    """

    rules: tuple[str, ...]
    scores: Judge


def _ends(frame: pd.DataFrame) -> tuple[float, float]:
    """The lowest and the highest rating that can be given."""
    [scale] = set(frame.attrs["scale"].values())
    low, high = scale
    return float(low), float(high)


def _on_scale(frame: pd.DataFrame, values: Values) -> Values:
    """Whole scores within the scale."""
    return np.clip(np.round(values), *_ends(frame))


def _noisy(frame: pd.DataFrame, rng: Random, noise: float = _NOISE) -> Values:
    """The mean ratings and noise, in standard deviations of the ratings."""
    human = frame["human"].to_numpy()
    return np.asarray(human + rng.normal(0, noise * human.std(), len(human)))


def good(frame: pd.DataFrame, rng: Random, noise: float) -> Values:
    """A judge without a fault. noise: in standard deviations of the ratings."""
    return _on_scale(frame, _noisy(frame, rng, noise))


def _turned(frame: pd.DataFrame, rng: Random) -> Values:
    """Takes the lowest score for the best."""
    return sum(_ends(frame)) - _on_scale(frame, _noisy(frame, rng))


def _added(systems: int, share: float) -> Judge:
    """A judge that adds a share of the scale to the scores of some systems."""

    def judge(frame: pd.DataFrame, rng: Random) -> Values:
        low, high = _ends(frame)
        means = frame.groupby("system_id", sort=False)["human"].mean()
        # a system at the top of the scale cannot be favoured so much
        has_room = means <= max(high - share * (high - low), means.nsmallest(3).max())
        chosen = rng.choice(means.index[has_room], systems, replace=False)
        more = frame["system_id"].isin(chosen).to_numpy() * share * (high - low)
        return _on_scale(frame, _noisy(frame, rng) + more)

    return judge


def _halo(frame: pd.DataFrame, rng: Random) -> Values:
    """Gives every aspect of an output the same opinion, but for little noise."""
    noisy = pd.Series(_noisy(frame, rng), index=frame.index)
    opinion = noisy.groupby([frame["input_id"], frame["system_id"]]).transform("mean")
    return _on_scale(frame, opinion + rng.normal(0, 0.1 * noisy.std(), len(frame)))


def _standard(values: Values) -> Values:
    """With mean 0 and standard deviation 1."""
    return np.asarray((values - values.mean()) / values.std())


def _length(frame: pd.DataFrame) -> Values:
    """The lengths of the outputs, standardized."""
    return _standard(statistics.baselines.length(frame["output"].tolist()))


def _half_length(frame: pd.DataFrame, rng: Random) -> Values:
    """Half of it is length, half what people say."""
    human = frame["human"].to_numpy()
    half = (_standard(human) + _length(frame)) / np.sqrt(2)
    return _on_scale(frame, human.mean() + human.std() * half)


def _longer(frame: pd.DataFrame, rng: Random) -> Values:
    """Adds .9 standard deviations of quality for one of length."""
    more = 0.9 * frame["human"].std() * _length(frame)
    return _on_scale(frame, _noisy(frame, rng) + more)


def _gaps(frame: pd.DataFrame, rng: Random) -> Values:
    """Mostly says nothing of the outputs that people rate lowest."""
    lowest = frame["human"].rank(pct=True).to_numpy() < 0.2
    silent = lowest & (rng.random(len(frame)) < 0.6)
    return np.where(silent, np.nan, _on_scale(frame, _noisy(frame, rng)))


def _mostly_top(frame: pd.DataFrame, rng: Random) -> Values:
    """Gives 85 % of the outputs the highest score, the others one in their order."""
    noisy = _noisy(frame, rng)
    top = pd.Series(noisy).rank(pct=True).to_numpy() > 0.15
    low, high = _ends(frame)
    return np.where(top, high, np.clip(np.round(noisy), low, high - 1))


def _nearly_constant(frame: pd.DataFrame, rng: Random) -> Values:
    """Gives 97 % of the outputs one score, whatever they are."""
    usual = _ends(frame)[1] - 1
    return np.where(
        rng.random(len(frame)) < 0.97, usual, _on_scale(frame, _noisy(frame, rng))
    )


def _copy(frame: pd.DataFrame, rng: Random) -> Values:
    """Says what one of the raters said."""
    raters = [name for name in frame if str(name).startswith("rater_")]
    return frame[raters[0]].to_numpy(dtype=float)


def _of_system(frame: pd.DataFrame, rng: Random) -> Values:
    """Gives every output of a system the same score, the mean of what it said."""
    noisy = pd.Series(_noisy(frame, rng), index=frame.index)
    return noisy.groupby(frame["system_id"]).transform("mean").to_numpy()


def _halved(frame: pd.DataFrame, rng: Random) -> Values:
    """Halves the deviations from the mean."""
    noisy = _noisy(frame, rng, 0.25)
    return np.asarray((noisy + noisy.mean()) / 2)


def _lenient(frame: pd.DataFrame, rng: Random) -> Values:
    """Adds .3 of the scale: 1.2 points of one from 1 to 5."""
    low, high = _ends(frame)
    return _on_scale(frame, _noisy(frame, rng) + 0.3 * (high - low))


FAULTS: Mapping[str, Fault] = {
    "takes the lowest score for the best": Fault(("reversed",), _turned),
    "+2 for two systems": Fault(("favours",), _added(2, 0.5)),
    "+1 for its own model": Fault(("favours",), _added(1, 0.25)),
    "halo over several aspects": Fault(("halo",), _halo),
    "half length, half what people say": Fault(
        ("length", "length at a rating"), _half_length
    ),
    "length, .9 SD given quality": Fault(("length", "length at a rating"), _longer),
    "silent where ratings are low": Fault(("gaps where low",), _gaps),
    "85 % at the top": Fault(("one score",), _mostly_top),
    "97 % one score": Fault(("one score", "constant"), _nearly_constant),
    "a copy of one rater": Fault(("copy",), _copy),
    "one score a system": Fault(("one score a system",), _of_system),
    "deviations halved": Fault(("narrow",), _halved),
    "+1.2 for all": Fault(("lenient",), _lenient),
}


# -- pairs: verdicts as (order, pair)


def _better(frame: pd.DataFrame, rng: Random, noise: float = _NOISE) -> Values:
    """Takes the better output, in both orders; often the worse where noise is large."""
    wrong = rng.random(len(frame)) < noise / 4
    preference = frame["preference"].to_numpy()
    verdicts = np.where(wrong, 3 - preference, preference)
    return np.stack([verdicts, verdicts])


good_of_pairs = _better


def _in_orders(share: float, forms: Values) -> Judge:
    """A judge that answers by the order of showing in a share of the pairs.

    forms: verdict as given and swapped, a row a form, of which one is drawn.
    """

    def judge(frame: pd.DataFrame, rng: Random) -> Values:
        verdicts = _better(frame, rng)
        moved = rng.random(len(frame)) < share
        drawn = forms[rng.integers(0, len(forms), len(frame))].T
        return np.where(moved, drawn, verdicts)

    return judge


def _takes_longer(frame: pd.DataFrame, rng: Random) -> Values:
    """Takes the longer output."""
    first, second = (frame[name].str.len() for name in ("output_1", "output_2"))
    verdicts = np.where(first >= second, 1.0, 2.0)
    return np.stack([verdicts, verdicts])


_FIRST = np.array([[1.0, 2.0]])
_EITHER = np.array([[1.0, 2.0], [2.0, 1.0]])
PAIR_FAULTS: Mapping[str, Fault] = {
    "flips 33 % on a swap": Fault(("swap",), _in_orders(0.33, _EITHER)),
    "takes the first in 10 %": Fault(
        ("leans to first", "prefers first"), _in_orders(0.1, _FIRST)
    ),
    "takes the first": Fault(("prefers first",), _in_orders(1.0, _FIRST)),
    "takes the longer": Fault(("longer",), _takes_longer),
}
