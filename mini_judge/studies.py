"""The ablations' studies: what each arm is fine-tuned on, and what the base that all
begin from has learnt before.

A source gives endless examples, `PARTS` names them. An `Arm` mixes parts, `STUDIES`
lists the arms of each study, a `Scale` says how large everything is. `base_examples`
and `reading` are the base's two stages.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any

from mini_judge import heldout, tokens
from mini_judge.criteria import KINDS
from mini_judge.domains import DOMAINS
from mini_judge.prompts import Example, Switches, analysis, graded, make_example
from mini_judge.recipe import BASE, READING, TUNE, Recipe
from mini_judge.records import Item, Mix, make_item, make_output, make_record, realise
from notebooks.ablations.training_arms import KNOWN, NEW_RUBRIC
from reproduction.training.mini import RATED

RUBRICS = tuple(key for key in RATED if key != NEW_RUBRIC)  # that grading arms learn
# Prometheus' reference, rubric and feedback
SWITCHES: Mapping[str, Switches] = MappingProxyType(
    {
        "full": (True, True, True),
        "without rubric": (True, False, True),
        "without reference": (False, True, True),
        "without feedback": (True, True, False),
    }
)
# endless examples from a generator of random numbers
Source = Callable[[random.Random], Iterator[Example]]
# the forms that no study is about, and how often each is asked
BASE_FORMS: Mapping[str, float] = MappingProxyType(
    {
        "criterion": 0.38,
        "score": 0.22,
        "aspect scores": 0.2,
        "chained score": 0.13,
        "quality": 0.07,
    }
)
ANALYSES = 0.6  # of the answers read; the others are Prometheus'


# -- what arms are fine-tuned on: endless sources of examples


def real(rng: random.Random) -> Iterator[Example]:
    """Error analyses of what four of the held-out set's six systems write, of training
    values and wordings.

    Errors come at the rates of those systems; some kinds are rare, off-topic texts
    never occur.
    Source of the idea: TIGERScore, section 3.2, the real-world channel.
    """
    while True:
        system = rng.choice(KNOWN)
        mix = replace(heldout.SYSTEMS[system], held_out=False)
        domain, values = make_record(rng, mix)
        item = heldout.written(rng, mix, domain, values)
        yield analysis(rng, item)


def synthetic(rng: random.Random) -> Iterator[Example]:
    """Error analyses of right texts into which errors were put, each kind as often as
    any other, none without one.

    Source of the idea: TIGERScore, section 3.2, the synthetic channel, where randomly
    chosen aspects are put in.
    """
    while True:
        for kinds in _dealt(rng):
            item = with_errors(rng, kinds)
            yield analysis(rng, item)


def _dealt(rng: random.Random) -> list[Sequence[str]]:
    """All kinds of error once, in groups of one to three; a text that is off topic has
    no other error.
    """
    kinds = list(KINDS)
    kinds.remove("off_topic")
    rng.shuffle(kinds)
    groups: list[Sequence[str]] = [("off_topic",)]
    while kinds:
        size = rng.randint(1, 3)
        groups.append(kinds[:size])
        kinds = kinds[size:]
    rng.shuffle(groups)
    return groups


def with_errors(rng: random.Random, kinds: Sequence[str]) -> Item:
    """A text with exactly these kinds of error, each as often as it is named."""
    within = [kind for kind in kinds if kind != "off_topic"]
    mix = Mix(
        counts=(0.0,) * len(within) + (1.0,),
        kinds=dict.fromkeys(within, 1.0),
        off_topic=float("off_topic" in kinds),
    )
    while True:
        domain, values = make_record(rng, mix)
        clean = realise(rng, domain, values, mix)
        if "arithmetic" in kinds and not heldout.has_sum(clean):
            continue
        # a record may not allow them all: then another one is drawn
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


def grades(rng: random.Random, switches: Switches) -> Iterator[Example]:
    """Absolute grades; whatever is left out of the prompt or the answer, the questions
    are the same for a seed.

    switches: whether there is a reference, a rubric, a feedback.
    """
    while True:
        item = make_item(rng, Mix())
        rubric = rng.choice(RUBRICS)
        yield graded(rng, item, switches, rubric)


def _parts() -> dict[str, tuple[str, Source]]:
    """What arms are made of, by name. Prometheus' parts draw the same random numbers,
    so that they ask the same questions.
    """
    parts: dict[str, tuple[str, Source]] = {
        "real": ("real", real),
        "synthetic": ("synthetic", synthetic),
    }
    for domain in DOMAINS:
        source = functools.partial(of_domain, domain=domain)
        parts[domain] = (domain, source)
    for name, switches in SWITCHES.items():
        source = functools.partial(grades, switches=switches)
        parts[name] = ("grades", source)
    return parts


# name -> what its random numbers are called, and the source
PARTS: Mapping[str, tuple[str, Source]] = MappingProxyType(_parts())


def draw(part: str, seed: int, count: int) -> list[Example]:
    """The first examples of a part; fewer are the beginning of more.

    part: a key of `PARTS`.
    """
    name, source = PARTS[part]
    rng = random.Random(f"ablation:{name}:{seed}")
    return list(itertools.islice(source(rng), count))


# -- arms and their scale


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to fine-tune.

    study: a key of `STUDIES`.
    shares: how much of which part, in units of the study's size.
    domain: the only task that it is tested on; empty for all.
    switches: Prometheus' reference, rubric and feedback; None where it writes error
        analyses.
    """

    study: str
    name: str
    shares: Mapping[str, float]
    domain: str = ""
    switches: Switches | None = None

    def counts(self, size: int) -> dict[str, int]:
        """How many examples of each part, for a study of this size."""
        counts = {}
        for part, share in self.shares.items():
            counts[part] = round(share * size)
        return counts

    def examples(self, seed: int, size: int) -> list[Example]:
        """All examples of a seed in the order in which they are learnt.

        Arms that share a part share its examples.
        """
        examples = []
        for part, count in self.counts(size).items():
            examples += draw(part, seed, count)
        order = random.Random(f"order:{self.study}:{seed}")
        order.shuffle(examples)
        return examples


def _tasks() -> tuple[Arm, ...]:
    """An arm of each domain alone, and one of all."""
    arms = []
    for domain in DOMAINS:
        arms.append(Arm("tasks", domain, {domain: 1.0}, domain=domain))
    arms.append(Arm("tasks", "all tasks", dict.fromkeys(DOMAINS, 1.0)))
    return tuple(arms)


def _grading() -> tuple[Arm, ...]:
    """An arm of each form of absolute grading."""
    arms = []
    for name, switches in SWITCHES.items():
        arms.append(Arm("grading", name, {name: 1.0}, switches=switches))
    return tuple(arms)


# TIGERScore, Figure 3 (channels) and Table 8 (tasks); Prometheus, Table 6 (grading)
STUDIES: Mapping[str, tuple[Arm, ...]] = MappingProxyType(
    {
        "channels": (
            Arm("channels", "ReW", {"real": 1.0}),
            Arm("channels", "Syn", {"synthetic": 1.0}),
            Arm("channels", "Mix", {"real": 0.5, "synthetic": 0.5}),
        ),
        "tasks": _tasks(),
        "grading": _grading(),
    }
)


@dataclass(frozen=True)
class Scale:
    """How large everything is.

    base, reading: recipes of the base's two stages.
    tune: recipe of the fine-tuning.
    sizes: examples of a whole share, by study.
    seeds: runs of each arm, by study.
    """

    base: Recipe = BASE
    reading: Recipe = READING
    tune: Recipe = TUNE
    # The rule: as many as all 36 runs learn and judge in about an hour of one core, the
    # same for all arms of a study.
    # One run of Mix, with a seed and records of no study, had tau .22, .28, .30 after
    # 1024, 4096, 8192 examples. It still rises, but twice 4096 would bring no more than
    # the records can tell apart.
    sizes: Mapping[str, int] = field(
        default_factory=lambda: {"channels": 4096, "tasks": 1024, "grading": 2560}
    )
    seeds: Mapping[str, int] = field(
        default_factory=lambda: {"channels": 3, "tasks": 3, "grading": 3}
    )

    def digest(self, arm: Arm, seed: int) -> str:
        """What determines a run, apart from the machine's rounding, as twelve hex
        digits.
        """
        tune = asdict(self.tune)
        # both are known by the arm and the seed
        del tune["examples"], tune["seed"]
        settings = {
            "base": digest(self.base, self.reading),
            "tune": tune,
            "parts": arm.counts(self.sizes[arm.study]),
            "arm": arm.name,
            "seed": seed,
        }
        return _hash(settings)


# -- what the base has learnt


def base_examples(recipe: Recipe, number: int) -> list[Example]:
    """The examples of one chunk of the base's first stage, of the forms that no study
    is about.
    """
    rng = random.Random(f"base:{recipe.seed}:{number}")
    mix = recipe.mix(number * recipe.chunk)
    return _scores(rng, mix, recipe.chunk)


def _scores(rng: random.Random, mix: Mix, count: int) -> list[Example]:
    """Examples of the forms that no study is about."""
    forms = rng.choices(list(BASE_FORMS), list(BASE_FORMS.values()), k=count)
    examples = []
    for form in forms:
        item = make_item(rng, mix)
        examples.append(make_example(rng, item, form))
    return examples


def reading(recipe: Recipe, number: int) -> list[Example]:
    """One chunk of the second stage: half scores as before, half answers of the
    studies' forms to other texts.

    An answer that belongs to another text teaches how answers are worded and nothing
    about judging: a language model knows words before it is fine-tuned.
    """
    rng = random.Random(f"reading:{recipe.seed}:{number}")
    examples = _scores(rng, Mix(), recipe.chunk // 2)
    while len(examples) < recipe.chunk:
        if rng.random() < ANALYSES:
            asking, answering = _two_analyses(rng)
        else:
            asking, answering = _two_grades(rng)
        examples.append(Example("reading", asking.prompt, answering.answer))
    return examples


def _two_analyses(rng: random.Random) -> tuple[Example, Example]:
    """Error analyses of two texts."""
    first = analysis(rng, make_item(rng, Mix()))
    second = analysis(rng, make_item(rng, Mix()))
    return first, second


def _two_grades(rng: random.Random) -> tuple[Example, Example]:
    """Grades of two texts in one form."""
    switches = rng.choice(list(SWITCHES.values()))
    source = grades(rng, switches)
    return next(source), next(source)


def digest(*recipes: Recipe) -> str:
    """What tells one base from another: the recipes of its stages, forms and
    vocabulary.
    """
    stages = [asdict(recipe) for recipe in recipes]
    return _hash([*stages, dict(BASE_FORMS), tokens.pieces()])


def _hash(settings: Any) -> str:
    """Twelve hex digits of a hash of the settings, as sorted JSON."""
    text = json.dumps(settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
