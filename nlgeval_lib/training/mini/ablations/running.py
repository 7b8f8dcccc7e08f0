"""Runs: fine-tune the base for an arm and a seed, judge the held-out set, keep the judgments; what is there stays."""

from __future__ import annotations

import functools
import random
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import engines, paths
from nlgeval_lib.training.mini import tokens
from nlgeval_lib.training.mini.ablations import base, judging, kept
from nlgeval_lib.training.mini.ablations.studies import STUDIES, Arm, Scale
from nlgeval_lib.training.mini.batches import Batch, batched
from nlgeval_lib.training.mini.prompts import Example
from nlgeval_lib.training.mini.recipe import Recipe

Run = tuple[Arm, int]


def planned(scale: Scale, studies: Iterable[str] = (), only: Iterable[str] = (), seeds: int = 0) -> list[Run]:
    """The runs asked for, study by study and seed by seed, so that a stop leaves a study's arms with as many.

    studies, only: names of studies and arms, by default all; seeds: how many, by default as the scale says.
    Raises: ValueError for a name that is none.
    """
    studies, only = list(studies) or list(STUDIES), set(only)
    for name in studies:
        if name not in STUDIES:
            raise ValueError(f"study {name!r}; there are {', '.join(STUDIES)}")
    arms = [arm for name in studies for arm in STUDIES[name]]
    unknown = only - {arm.name for arm in arms}
    if unknown:
        raise ValueError(f"no arm {', '.join(sorted(unknown))}; there are {'; '.join(arm.name for arm in arms)}")
    return [
        (arm, seed)
        for name in studies
        for seed in range(seeds or scale.seeds[name])
        for arm in STUDIES[name]
        if not only or arm.name in only
    ]


def run(
    runs: Sequence[Run],
    scale: Scale,
    *,
    work: Path | None = None,
    out: Path | None = None,
    compiled: bool = False,
    frame: pd.DataFrame | None = None,
    every: float = 30.0,
    say: Callable[[str], None] = print,
) -> int:
    """Make the runs that are not there yet; how many were made. A stopped run goes on from its last save.

    frame: the held-out set, or some of its inputs; every: seconds between two saves.
    """
    work = work or paths.state("mini-ablations")
    todo = [(arm, seed) for arm, seed in runs if not kept.done(arm, seed, scale.digest(arm, seed), out)]
    say(f"{len(runs)} runs, {len(runs) - len(todo)} of them there")
    if not todo:
        return 0
    name, weights = base.weights(scale.base, scale.reading, work, compiled=compiled, say=say)
    from nlgeval_lib.training.mini.train import Learner

    learner = Learner(scale.base, len(tokens.build()), compiled=compiled)
    begun = time.monotonic()
    for number, (arm, seed) in enumerate(todo):
        left = (time.monotonic() - begun) / number * (len(todo) - number) / 60 if number else 0.0
        rest = f", about {left:.0f} min left" if number else ""
        say(f"[{number + 1}/{len(todo)}] {arm.study}: {arm.name}, seed {seed}{rest}")
        learner.begin(scale.tune, weights)
        folder = work / f"run-{scale.digest(arm, seed)}"
        told = tune(learner, scale, arm, seed, folder, every)
        rows = judge(folder / "checkpoint", arm, frame)
        kept.keep(arm, seed, rows, {**told, "base": name, "digest": scale.digest(arm, seed)}, out)
        shutil.rmtree(folder, ignore_errors=True)
        say(f"    {len(rows)} judgments, {(rows['status'] == 'ok').mean():.1%} parsed")
    return len(todo)


def tune(learner: Any, scale: Scale, arm: Arm, seed: int, folder: Path, every: float = 30.0) -> dict[str, Any]:
    """Fine-tune a learner that holds the base into a checkpoint in `folder`; examples, tokens, steps, seconds."""
    from nlgeval_lib.training.mini.train import train

    examples = arm.examples(seed, scale.sizes[arm.study])
    learner.recipe = recipe = replace(scale.tune, examples=len(examples), seed=seed)
    source = functools.partial(_batches, examples)
    train(recipe, folder, folder / "checkpoint", learner=learner, batches=source, every=every)
    seconds = round(learner.seconds, 1)
    return {"examples": len(examples), "tokens": learner.tokens, "steps": learner.step, "seconds": seconds}


def judge(checkpoint: Path, arm: Arm, frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """The judgments of a checkpoint, greedy."""
    with engines.make("transformers", model=str(checkpoint), batch_size=300) as engine:
        return judging.ask(engine, arm, frame)


def _batches(examples: Sequence[Example], recipe: Recipe, tokenizer: Any, number: int) -> list[Batch]:
    mine = examples[number * recipe.chunk : (number + 1) * recipe.chunk]
    return batched(random.Random(f"tune:{recipe.seed}:{number}"), tokenizer, mine, recipe.tokens)
