"""What arms are fine-tuned on: endless sources of examples, each a question of one study."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from nlgeval_lib.training.mini import heldout
from nlgeval_lib.training.mini.criteria import KINDS
from nlgeval_lib.training.mini.domains import DOMAINS
from nlgeval_lib.training.mini.prompts import Example, analysis, graded
from nlgeval_lib.training.mini.records import Item, Mix, make_item, make_output, make_record, realise

KNOWN = ("careful", "misread", "terse", "chatty")  # systems of the held-out set whose outputs the real channel has
RUBRICS = ("overall", "accuracy", "completeness", "fluency")  # relevance's rubric is kept for the test
NEW_RUBRIC = "relevance"
# reference, rubric, feedback
SWITCHES: Mapping[str, tuple[bool, bool, bool]] = MappingProxyType(
    {
        "full": (True, True, True),
        "without rubric": (True, False, True),
        "without reference": (False, True, True),
        "without feedback": (True, True, False),
    }
)
Source = Callable[[random.Random], Iterator[Example]]


def real(rng: random.Random) -> Iterator[Example]:
    """Error analyses of what four of the held-out set's six systems write, of training values and wordings.

    Errors come at the rates of those systems; some kinds are rare, off-topic texts never occur.
    Source of the idea: TIGERScore, section 3.2, the real-world channel.
    """
    while True:
        mix = replace(heldout.SYSTEMS[rng.choice(KNOWN)], held_out=False)
        domain, values = make_record(rng, mix)
        yield analysis(rng, heldout.written(rng, mix, domain, values))


def synthetic(rng: random.Random) -> Iterator[Example]:
    """Error analyses of right texts into which errors were put, each kind as often as any other, none without one.

    Source of the idea: TIGERScore, section 3.2, the synthetic channel, where randomly chosen aspects are put in.
    """
    while True:
        for kinds in _dealt(rng):
            yield analysis(rng, with_errors(rng, kinds))


def _dealt(rng: random.Random) -> list[Sequence[str]]:
    """All kinds once, in groups of one to three; a text that is off topic has no other error."""
    kinds = [kind for kind in KINDS if kind != "off_topic"]
    rng.shuffle(kinds)
    groups: list[Sequence[str]] = [("off_topic",)]
    while kinds:
        size = rng.randint(1, 3)
        groups.append(kinds[:size])
        kinds = kinds[size:]
    rng.shuffle(groups)
    return groups


def with_errors(rng: random.Random, kinds: Sequence[str]) -> Item:
    """A text with exactly these kinds of error."""
    wanted = [kind for kind in kinds if kind != "off_topic"]
    mix = Mix(
        counts=(0.0,) * len(wanted) + (1.0,), kinds=dict.fromkeys(wanted, 1.0), off_topic=float("off_topic" in kinds)
    )
    while True:
        domain, values = make_record(rng, mix)
        clean = realise(rng, domain, values, mix)
        if "arithmetic" in kinds and all(clause.key != "sum" for clause in clean):
            continue
        for _ in range(20):
            item = make_output(rng, mix, domain, values, clean)
            if sorted(item.kinds) == sorted(kinds):
                return item


def of_domain(rng: random.Random, domain: str) -> Iterator[Example]:
    """Error analyses of texts about one domain: a task of its own."""
    while True:
        item = make_item(rng, Mix())
        if item.domain == domain:
            yield analysis(rng, item)


def grades(rng: random.Random, switches: tuple[bool, bool, bool]) -> Iterator[Example]:
    """Absolute grades; whatever is left out of the prompt or the answer, the questions are the same for a seed."""
    while True:
        item = make_item(rng, Mix())
        yield graded(rng, item, switches, rng.choice(RUBRICS))


# name -> what its random numbers are called, and the source
PARTS: Mapping[str, tuple[str, Source]] = MappingProxyType(
    {
        "real": ("real", real),
        "synthetic": ("synthetic", synthetic),
        **{domain: (domain, functools.partial(of_domain, domain=domain)) for domain in DOMAINS},
        **{name: ("grades", functools.partial(grades, switches=switches)) for name, switches in SWITCHES.items()},
    }
)


def draw(part: str, seed: int, count: int) -> list[Example]:
    """The first examples of a part; fewer are the beginning of more."""
    called, source = PARTS[part]
    return list(itertools.islice(source(random.Random(f"ablation:{called}:{seed}")), count))
