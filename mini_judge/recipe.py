"""The settings of a training run and what follows from them as it goes on; those of the
ablations.

`Recipe()` is the judge's own; BASE, READING and TUNE are those of `studies`.
"""

from __future__ import annotations

from dataclasses import dataclass

from mini_judge.records import Mix


@dataclass(frozen=True, slots=True)
class Recipe:
    """What determines the checkpoint, apart from the machine's rounding.

    `easy`, `plain`, `lists` and `long` count examples; the judge learns the easy before
    the hard. Each field has an option of the command line of its name.
    """

    examples: int = 450_560  # how many are seen, each once
    tokens: int = 6144  # of a batch
    rate: float = 3e-3  # the highest learning rate
    # shares of the run in which the learning rate rises and falls
    warm: float = 0.02
    cool: float = 0.35
    # before this one, records are short and have few errors
    easy: int = 40_000
    # before this one, phrases are not varied by openings and endings
    plain: int = 206_848
    # from this one on, lists are asked for four times as often
    lists: int = 327_680
    # from this one on, chains of aspects are mostly long
    long: int = 378_880
    side: float = 0.5  # weight of the heads that name the errors where they stand
    # sizes of the model, as `model.Shape` has them
    width: int = 256
    layers: int = 4
    heads: int = 4
    inner: int = 640
    chunk: int = 2048  # examples that are made at a time
    seed: int = 0  # of the weights and the data

    def rate_at(self, share: float) -> float:
        """The learning rate after a share of the run, 0 to 1: up, level, down to
        nothing.
        """
        # not quite 0 at the first step
        rising = (share + 1e-4) / self.warm
        falling = max(0.0, (1.0 - share) / self.cool)
        return self.rate * min(1.0, rising, falling)

    def mix(self, n_examples: int) -> Mix:
        """How items are made after so many examples: short records with few errors
        first.
        """
        wording = "bare" if n_examples < self.plain else ""
        if n_examples < self.easy // 2:
            return Mix(attributes=(3, 4), counts=(0.3, 0.7), wording=wording)
        if n_examples < self.easy:
            return Mix(attributes=(3, 5), counts=(0.25, 0.4, 0.35), wording=wording)
        lists = 4.0 if n_examples >= self.lists else 1.0
        long = n_examples >= self.long
        return Mix(wording=wording, lists=lists, long=long)


# schedules of the judge's own recipe that say nothing to a fine-tuning, held so that
# its new defaults make no new runs
_IDLE = {"lists": 239_616, "long": 274_432}
# of the ablations: the base that every arm begins from, its second stage, and the
# fine-tuning, without heads beside the model: as in the papers, the loss is of the
# answers alone
BASE = Recipe(
    examples=90_112, easy=16_384, plain=53_248, lists=200_000, long=200_000, seed=11
)
READING = Recipe(examples=8192, rate=2e-3, warm=0.05, cool=0.5, seed=12, **_IDLE)
TUNE = Recipe(
    tokens=1536, rate=1.5e-3, warm=0.05, cool=0.6, side=0.0, chunk=512, **_IDLE
)
