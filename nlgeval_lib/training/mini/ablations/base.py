"""The base that every arm fine-tunes: trained from scratch to give scores; it has judged in no form of a study.

A second stage shows it how the studies' answers are worded, each beside a text that it does not belong to.
"""

from __future__ import annotations

import functools
import hashlib
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nlgeval_lib.training.mini import tokens
from nlgeval_lib.training.mini.ablations.parts import RUBRICS, SWITCHES
from nlgeval_lib.training.mini.batches import Batch, batched
from nlgeval_lib.training.mini.prompts import Example, analysis, graded, make_example
from nlgeval_lib.training.mini.recipe import Recipe
from nlgeval_lib.training.mini.records import Mix, make_item

# the forms that no study is about, and how often each is asked
FORMS: Mapping[str, float] = MappingProxyType(
    {"criterion": 0.38, "score": 0.22, "aspect scores": 0.2, "chained score": 0.13, "quality": 0.07}
)
# schedules of the judge's own recipe that say nothing here, written out so that its new defaults make no new runs
IDLE: Mapping[str, int] = MappingProxyType({"lists": 239_616, "long": 274_432})
RECIPE = Recipe(examples=90_112, easy=16_384, plain=53_248, lists=200_000, long=200_000, seed=11)
READING = Recipe(examples=8192, rate=2e-3, warm=0.05, cool=0.5, chunk=2048, seed=12, **IDLE)
ANALYSES = 0.6  # of the answers read; the others are Prometheus'


def examples(recipe: Recipe, number: int) -> list[Example]:
    """The examples of one chunk."""
    rng = random.Random(f"base:{recipe.seed}:{number}")
    mix = recipe.mix(number * recipe.chunk)
    asked = rng.choices(list(FORMS), list(FORMS.values()), k=recipe.chunk)
    return [make_example(rng, make_item(rng, mix), form) for form in asked]


def reading(recipe: Recipe, number: int) -> list[Example]:
    """One chunk of the second stage: half scores as before, half answers of the studies' forms to other texts.

    An answer that belongs to another text teaches how answers are worded and nothing about judging: a language model
    knows words before it is fine-tuned.
    """
    rng = random.Random(f"reading:{recipe.seed}:{number}")
    half = recipe.chunk // 2
    asked = rng.choices(list(FORMS), list(FORMS.values()), k=half)
    made = [make_example(rng, make_item(rng, Mix()), form) for form in asked]
    while len(made) < recipe.chunk:
        ask = _analysis if rng.random() < ANALYSES else _grade
        one, other = ask(rng)
        made.append(Example("reading", one.prompt, other.answer))
    return made


def _analysis(rng: random.Random) -> tuple[Example, Example]:
    return analysis(rng, make_item(rng, Mix())), analysis(rng, make_item(rng, Mix()))


def _grade(rng: random.Random) -> tuple[Example, Example]:
    switches = rng.choice(list(SWITCHES.values()))
    one, other = (graded(rng, make_item(rng, Mix()), switches, rng.choice(RUBRICS)) for _ in range(2))
    return one, other


def _batches(
    called: str, source: Callable[[Recipe, int], list[Example]], recipe: Recipe, tokenizer: Any, number: int
) -> list[Batch]:
    order = random.Random(f"{called}:{recipe.seed}:{number}:order")
    return batched(order, tokenizer, source(recipe, number), recipe.tokens)


def digest(*recipes: Recipe) -> str:
    """What tells one base from another: the recipes of its stages, forms and vocabulary."""
    told = json.dumps([*map(asdict, recipes), dict(FORMS), tokens.pieces()], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def weights(
    recipe: Recipe, second: Recipe, work: Path, *, compiled: bool = False, say: Callable[[str], None] = print
) -> tuple[str, dict[str, Any]]:
    """The base's digest and its weights, trained in `work` where it is not there; a stopped run goes on."""
    import torch

    from nlgeval_lib.training.mini.train import STATE, Learner, train

    def stage(called: str, told: str, its: Recipe, source: Any, start: dict[str, Any] | None = None) -> dict[str, Any]:
        folder = work / f"{called}-{told}"
        if not (folder / "checkpoint" / "training.json").is_file():
            say(f"{called} {told}: {its.examples:,} examples")
            learner = Learner(its, len(tokens.build()), compiled=compiled)
            if start is not None:
                learner.begin(its, start)
            train(
                its, folder, folder / "checkpoint", learner=learner, batches=functools.partial(_batches, called, source)
            )
        return torch.load(folder / STATE, map_location="cpu", weights_only=True)["master"]

    first = stage("base", digest(recipe), recipe, examples)
    name = digest(recipe, second)
    return name, stage("reading", name, second, reading, first)
