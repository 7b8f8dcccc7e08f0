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


@dataclass(frozen=True)
class Sample:
    """What a planted judge scores, and the chance that it goes by.

    frame: a row an output of a set with one scale, `attrs["scale"]`; or a row a pair.
    """

    frame: pd.DataFrame
    rng: Random

    def by_chance(self, share: float) -> Values:
        """Is a row among those of a share that chance takes? A flag a row."""
        return self.rng.random(len(self.frame)) < share

    def human(self) -> Values:
        """The mean ratings."""
        return self.frame["human"].to_numpy()

    def noisy(self, noise: float = _NOISE) -> Values:
        """The mean ratings and noise, in standard deviations of the ratings."""
        human = self.human()
        spread = noise * human.std()
        errors = self.rng.normal(0, spread, len(human))
        return np.asarray(human + errors)

    def noisy_rows(self) -> pd.Series:
        """`noisy`, by the index of the rows, to be grouped."""
        noisy = self.noisy()
        return pd.Series(noisy, index=self.frame.index)

    def lengths(self) -> Values:
        """The lengths of the outputs, standardized."""
        outputs = self.frame["output"].tolist()
        lengths = statistics.baselines.length(outputs)
        return _standard(lengths)

    def ends(self) -> tuple[float, float]:
        """The lowest and the highest rating that can be given."""
        [scale] = set(self.frame.attrs["scale"].values())
        low, high = scale
        return float(low), float(high)

    def points(self, share: float) -> float:
        """A share of the scale, in points of it."""
        low, high = self.ends()
        return share * (high - low)

    def on_scale(self, values: Values) -> Values:
        """Whole scores within the scale."""
        low, high = self.ends()
        rounded = np.round(values)
        return np.clip(rounded, low, high)


# from a set, a score a row; from pairs, verdicts as (order, pair)
Judge = Callable[[Sample], Values]


@dataclass(frozen=True)
class Fault:
    """A judge with a fault.

    rules: of the card; one of them has to hold.
    """

    rules: tuple[str, ...]
    judge: Judge

    def scores(self, frame: pd.DataFrame, rng: Random) -> Values:
        """What the judge says of a set, or of pairs."""
        return self.judge(Sample(frame, rng))


def _standard(values: Values) -> Values:
    """With mean 0 and standard deviation 1."""
    centred = values - values.mean()
    return np.asarray(centred / values.std())


def _ranks(values: Values) -> Values:
    """Of each value, the share of all values that are not above it."""
    return pd.Series(values).rank(pct=True).to_numpy()


def good(frame: pd.DataFrame, rng: Random, noise: float) -> Values:
    """A judge without a fault.

    noise: in standard deviations of the ratings.
    """
    sample = Sample(frame, rng)
    noisy = sample.noisy(noise)
    return sample.on_scale(noisy)


def _turned(sample: Sample) -> Values:
    """Takes the lowest score for the best."""
    low, high = sample.ends()
    noisy = sample.noisy()
    return low + high - sample.on_scale(noisy)


def _added(systems: int, share: float) -> Judge:
    """A judge that adds a share of the scale to the scores of some systems."""

    def judge(sample: Sample) -> Values:
        _, high = sample.ends()
        bonus = sample.points(share)
        frame = sample.frame
        by_system = frame.groupby("system_id", sort=False)
        means = by_system["human"].mean()
        # a system at the top of the scale cannot be favoured so much
        third_lowest = means.nsmallest(3).max()
        most = max(high - bonus, third_lowest)
        candidates = means.index[means <= most]
        favoured = sample.rng.choice(candidates, systems, replace=False)
        is_favoured = frame["system_id"].isin(favoured)
        added = bonus * is_favoured.to_numpy()
        noisy = sample.noisy()
        return sample.on_scale(noisy + added)

    return judge


def _halo(sample: Sample) -> Values:
    """Gives every aspect of an output the same opinion, but for little noise."""
    frame = sample.frame
    noisy = sample.noisy_rows()
    outputs = [frame["input_id"], frame["system_id"]]
    opinion = noisy.groupby(outputs).transform("mean")
    spread = 0.1 * noisy.std()
    noise = sample.rng.normal(0, spread, len(frame))
    return sample.on_scale(opinion + noise)


def _half_length(sample: Sample) -> Values:
    """Half of it is length, half what people say."""
    human = sample.human()
    both = _standard(human) + sample.lengths()
    opinion = both / np.sqrt(2)
    deviations = human.std() * opinion
    return sample.on_scale(human.mean() + deviations)


def _longer(sample: Sample) -> Values:
    """Adds .9 standard deviations of quality for one of length."""
    spread = sample.frame["human"].std()
    bonus = 0.9 * spread * sample.lengths()
    noisy = sample.noisy()
    return sample.on_scale(noisy + bonus)


def _gaps(sample: Sample) -> Values:
    """Mostly says nothing of the outputs that people rate lowest."""
    is_low = _ranks(sample.human()) < 0.2
    is_silent = is_low & sample.by_chance(0.6)
    noisy = sample.noisy()
    scores = sample.on_scale(noisy)
    return np.where(is_silent, np.nan, scores)


def _mostly_top(sample: Sample) -> Values:
    """Gives 85 % of the outputs the highest score, the others one in their order."""
    noisy = sample.noisy()
    low, high = sample.ends()
    rounded = np.round(noisy)
    below_top = np.clip(rounded, low, high - 1)
    is_top = _ranks(noisy) > 0.15
    return np.where(is_top, high, below_top)


def _nearly_constant(sample: Sample) -> Values:
    """Gives 97 % of the outputs one score, whatever they are."""
    _, high = sample.ends()
    usual = high - 1
    is_usual = sample.by_chance(0.97)
    noisy = sample.noisy()
    scores = sample.on_scale(noisy)
    return np.where(is_usual, usual, scores)


def _copy(sample: Sample) -> Values:
    """Says what one of the raters said."""
    frame = sample.frame
    raters = [name for name in frame if str(name).startswith("rater_")]
    copied = frame[raters[0]]
    return copied.to_numpy(dtype=float)


def _of_system(sample: Sample) -> Values:
    """Gives every output of a system the same score, the mean of what it said."""
    systems = sample.frame["system_id"]
    by_system = sample.noisy_rows().groupby(systems)
    return by_system.transform("mean").to_numpy()


def _halved(sample: Sample) -> Values:
    """Halves the deviations from the mean."""
    noisy = sample.noisy(noise=0.25)
    doubled = noisy + noisy.mean()
    return np.asarray(doubled / 2)


def _lenient(sample: Sample) -> Values:
    """Adds .3 of the scale: 1.2 points of one from 1 to 5."""
    noisy = sample.noisy()
    bonus = sample.points(0.3)
    return sample.on_scale(noisy + bonus)


FAULTS: Mapping[str, Fault] = {
    "takes the lowest score for the best": Fault(("reversed",), _turned),
    "+2 for two systems": Fault(("favours",), _added(systems=2, share=0.5)),
    "+1 for its own model": Fault(("favours",), _added(systems=1, share=0.25)),
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


def _better(sample: Sample, noise: float = _NOISE) -> Values:
    """Takes the better output, in both orders; often the worse where noise is large."""
    is_wrong = sample.by_chance(noise / 4)
    better = sample.frame["preference"].to_numpy()
    worse = 3 - better
    verdicts = np.where(is_wrong, worse, better)
    return np.stack([verdicts, verdicts])


def good_of_pairs(frame: pd.DataFrame, rng: Random, noise: float) -> Values:
    """A judge of pairs without a fault.

    noise: four times the share of pairs of which it takes the worse output.
    """
    sample = Sample(frame, rng)
    return _better(sample, noise)


def _in_orders(share: float, forms: Values) -> Judge:
    """A judge that answers by the order of showing in a share of the pairs."""

    def judge(sample: Sample) -> Values:
        verdicts = _better(sample)
        is_by_order = sample.by_chance(share)
        pairs = len(sample.frame)
        rows = sample.rng.integers(0, len(forms), pairs)
        by_order = forms[rows].T
        return np.where(is_by_order, by_order, verdicts)

    return judge


def _takes_longer(sample: Sample) -> Values:
    """Takes the longer output."""
    length_1 = sample.frame["output_1"].str.len()
    length_2 = sample.frame["output_2"].str.len()
    is_first = length_1 >= length_2
    verdicts = np.where(is_first, 1.0, 2.0)
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
