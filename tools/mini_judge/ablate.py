"""`python -m tools.mini_judge.ablate`: train the base once, fine-tune every arm from
it, judge, keep the judgments.

Runs that are kept under data/mini/ablations and match the recipe are not made again; a
stopped one goes on where it last saved.
"""

from __future__ import annotations

import argparse
import functools
import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import datasets, engines, files
from nlgeval_lib.datasets import mini_judge
from nlgeval_lib.engines import Engine
from nlgeval_lib.evaluators.prometheus import Prometheus
from nlgeval_lib.evaluators.tigerscore import TigerScore
from nlgeval_lib.records import Judgment
from nlgeval_lib.training.mini import settings
from notebooks.ablations import training_arms as ablations
from notebooks.ablations.training_arms import KEYS, NEW_RUBRIC
from tools.mini_judge import studies, tokens
from tools.mini_judge.answers import kind_of
from tools.mini_judge.batches import Batch, batched
from tools.mini_judge.prompts import Example
from tools.mini_judge.recipe import Recipe
from tools.mini_judge.studies import RUBRICS, STUDIES, Arm, Scale

Run = tuple[Arm, int]
LONGEST = 160  # tokens; no right answer is as long
COLUMNS = [*KEYS, "value", "status", "told"]


def planned(
    scale: Scale, names: Iterable[str] = (), only: Iterable[str] = (), seeds: int = 0
) -> list[Run]:
    """The runs asked for, study by study and seed by seed, so that a stop leaves a
    study's arms with as many.

    names, only: of studies and arms, by default all; seeds: how many, by default as the
    scale says.
    Raises: ValueError for an arm that there is not.
    """
    names = list(names) or list(STUDIES)
    only = set(only)
    arms = [arm.name for name in names for arm in STUDIES[name]]
    if unknown := only - set(arms):
        raise ValueError(
            f"no arm {', '.join(sorted(unknown))}; there are {'; '.join(arms)}"
        )
    return [
        (arm, seed)
        for name in names
        for seed in range(seeds or scale.seeds[name])
        for arm in STUDIES[name]
        if not only or arm.name in only
    ]


def run(
    runs: Sequence[Run],
    scale: Scale,
    *,
    work: Path,
    out: Path,
    compiled: bool = False,
    frame: pd.DataFrame | None = None,
    every: float = 30.0,
    say: Callable[[str], None] = print,
) -> int:
    """Make the runs that are not there yet; how many were made. A stopped run goes on
    from its last save.

    frame: the held-out set, or some of its inputs; every: seconds between two saves.
    """
    todo = [
        (arm, seed)
        for arm, seed in runs
        if not done(arm, seed, scale.digest(arm, seed), out)
    ]
    say(f"{len(runs)} runs, {len(runs) - len(todo)} of them there")
    if not todo:
        return 0
    from tools.mini_judge.train import Learner

    name, weights = base(scale, work, compiled=compiled, say=say)
    learner = Learner(scale.base, len(tokens.build()), compiled=compiled)
    begun = time.monotonic()
    for number, (arm, seed) in enumerate(todo):
        left = (
            (time.monotonic() - begun) / number * (len(todo) - number) / 60
            if number
            else 0.0
        )
        rest = f", about {left:.0f} min left" if number else ""
        say(f"[{number + 1}/{len(todo)}] {arm.study}: {arm.name}, seed {seed}{rest}")
        learner.begin(scale.tune, weights)
        folder = work / f"run-{scale.digest(arm, seed)}"
        told = _tune(learner, scale, arm, seed, folder, every)
        with engines.make(
            "transformers", model=str(folder / "checkpoint"), batch_size=300
        ) as engine:
            rows = ask(engine, arm, frame)
        keep(
            arm,
            seed,
            rows,
            {**told, "base": name, "digest": scale.digest(arm, seed)},
            out,
        )
        shutil.rmtree(folder, ignore_errors=True)
        say(f"    {len(rows)} judgments, {(rows['status'] == 'ok').mean():.1%} parsed")
    return len(todo)


# -- training


def base(
    scale: Scale, work: Path, *, compiled: bool, say: Callable[[str], None]
) -> tuple[str, dict[str, Any]]:
    """The base's digest and its weights, trained in `work` where it is not there; a
    stopped run goes on.

    It was trained from scratch to give scores and has judged in no form of a study; a
    second stage shows it how the studies' answers are worded, each beside a text that
    it does not belong to.
    """
    import torch

    from tools.mini_judge.train import STATE, Learner, train

    stages = (
        ("base", scale.base, studies.base_examples),
        ("reading", scale.reading, studies.reading),
    )
    name = ""
    weights = {}
    for place, (called, recipe, source) in enumerate(stages):
        name = studies.digest(*(one for _, one, _ in stages[: place + 1]))
        folder = work / f"{called}-{name}"
        if not (folder / "checkpoint" / "training.json").is_file():
            say(f"{called} {name}: {recipe.examples:,} examples")
            learner = Learner(recipe, len(tokens.build()), compiled=compiled)
            if weights:
                learner.begin(recipe, weights)
            batches = functools.partial(_base_batches, called, source)
            train(
                recipe, folder, folder / "checkpoint", learner=learner, batches=batches
            )
        weights = torch.load(folder / STATE, map_location="cpu", weights_only=True)[
            "master"
        ]
    return name, weights


def _base_batches(
    called: str,
    source: Callable[[Recipe, int], list[Example]],
    recipe: Recipe,
    tokenizer: Any,
    number: int,
) -> list[Batch]:
    order = random.Random(f"{called}:{recipe.seed}:{number}:order")
    return batched(order, tokenizer, source(recipe, number), recipe.tokens)


def _tune(
    learner: Any, scale: Scale, arm: Arm, seed: int, folder: Path, every: float
) -> dict[str, Any]:
    """Fine-tune a learner that holds the base into a checkpoint in `folder`;
    examples, tokens, steps, seconds.
    """
    from tools.mini_judge.train import train

    examples = arm.examples(seed, scale.sizes[arm.study])
    learner.recipe = recipe = replace(scale.tune, examples=len(examples), seed=seed)
    batches = functools.partial(_tuning_batches, examples)
    train(
        recipe,
        folder,
        folder / "checkpoint",
        learner=learner,
        batches=batches,
        every=every,
    )
    seconds = round(learner.seconds, 1)
    return {
        "examples": len(examples),
        "tokens": learner.tokens,
        "steps": learner.step,
        "seconds": seconds,
    }


def _tuning_batches(
    examples: Sequence[Example], recipe: Recipe, tokenizer: Any, number: int
) -> list[Batch]:
    mine = examples[number * recipe.chunk : (number + 1) * recipe.chunk]
    return batched(
        random.Random(f"tune:{recipe.seed}:{number}"), tokenizer, mine, recipe.tokens
    )


# -- judging


def ask(engine: Engine, arm: Arm, frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """What a fine-tuned judge says of the held-out set in the form that its study asks
    for, greedy: `COLUMNS`.

    `told` has the kinds of error that an analysis tells of, joined by blanks.
    """
    frame = datasets.load("mini_judge") if frame is None else frame
    outputs = frame[frame["aspect"] == "overall"].reset_index(drop=True)
    if arm.switches is not None:
        return _grades(engine, arm.switches, frame, outputs)
    if arm.domain:
        outputs = outputs[outputs["domain"] == arm.domain].reset_index(drop=True)
    judged = TigerScore(
        **settings("tigerscore"), sampling={"max_tokens": LONGEST}
    ).judge(outputs, engine=engine)
    told = [
        " ".join(kind_of(error.explanation) for error in one.details["errors"])
        for one in judged
    ]
    return _rows(outputs, judged).assign(told=told)[COLUMNS]


def questions(frame: pd.DataFrame) -> pd.DataFrame:
    """Two of the set's five questions an output: one of the learnt rubrics in turn,
    and the new one.
    """
    outputs = list(zip(frame["input_id"], frame["system_id"], strict=True))
    order = {output: place for place, output in enumerate(dict.fromkeys(outputs))}
    systems = frame["system_id"].nunique()
    turn = [
        RUBRICS[(order[output] + order[output] // systems) % len(RUBRICS)]
        for output in outputs
    ]
    return frame[
        (frame["aspect"] == turn) | (frame["aspect"] == NEW_RUBRIC)
    ].reset_index(drop=True)


def _grades(
    engine: Engine,
    switches: tuple[bool, bool, bool],
    frame: pd.DataFrame,
    outputs: pd.DataFrame,
) -> pd.DataFrame:
    reference, rubric, feedback = switches
    asked = questions(frame)
    sampling = {**settings("prometheus")["sampling"], "max_tokens": LONGEST}
    judge = Prometheus(
        reference=reference, rubric=rubric, feedback=feedback, sampling=sampling
    )
    if rubric:
        return _rows(asked, judge.judge(asked, engine=engine)).assign(told="")[COLUMNS]
    once = _rows(outputs, judge.judge(outputs, engine=engine)).drop(
        columns="aspect"
    )  # no prompt says which aspect
    return asked[KEYS].merge(once, on=KEYS[:2], how="left").assign(told="")[COLUMNS]


def _rows(asked: pd.DataFrame, judged: list[Judgment]) -> pd.DataFrame:
    return asked[KEYS].assign(
        value=[one.value for one in judged], status=[one.status.value for one in judged]
    )


# -- keeping


def done(arm: Arm, seed: int, digest: str, out: Path) -> bool:
    """Whether a run of just this kind is there, with the judgments that it wrote."""
    file = ablations.path(arm.study, arm.name, seed, out)
    table = ablations.runs(out)
    mine = table[
        (table["study"] == arm.study)
        & (table["arm"] == arm.name)
        & (table["seed"] == seed)
    ]
    if mine.empty or not file.is_file():
        return False
    wanted = {
        "digest": digest,
        "heldout": ablations.sha(mini_judge.path()),
        "judgments": ablations.sha(file),
    }
    return all(mine.iloc[0][name] == value for name, value in wanted.items())


def keep(
    arm: Arm, seed: int, rows: pd.DataFrame, told: Mapping[str, Any], out: Path
) -> None:
    """Write a run's judgments, then its line, in the order of studies and arms: a
    run without a line is made again.
    """
    file = ablations.path(arm.study, arm.name, seed, out)
    files.write_text(
        file, rows[COLUMNS].to_csv(index=False, lineterminator="\n", float_format="%g")
    )
    line = {"study": arm.study, "arm": arm.name, "seed": seed, **told}
    line |= {
        "heldout": ablations.sha(mini_judge.path()),
        "judgments": ablations.sha(file),
    }
    lines = {
        (one["study"], one["arm"], one["seed"]): one
        for one in [*ablations.runs(out).to_dict("records"), line]
    }
    arms = [(one.study, one.name) for arms in STUDIES.values() for one in arms]
    order = sorted(lines, key=lambda key: (arms.index(key[:2]), key[2]))
    table = pd.DataFrame([lines[key] for key in order])[ablations.LINE]
    files.write_text(
        out / ablations.RUNS, table.to_csv(index=False, lineterminator="\n")
    )


# -- the command


def main() -> None:
    """The command line."""
    from tools.mini_judge.__main__ import compiler, cores

    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    parser = argparse.ArgumentParser(
        prog="python -m tools.mini_judge.ablate", description=__doc__
    )
    parser.add_argument(
        "--study",
        action="append",
        default=[],
        choices=list(STUDIES),
        help="may be given again",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="ARM",
        help="an arm by its name; again for more",
    )
    parser.add_argument(
        "--seeds", type=int, default=0, help="how many an arm; default 3"
    )
    parser.add_argument(
        "--list",
        action="store_true",
        help="name the runs and what is kept of them, run nothing",
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=files.state("mini-ablations"),
        help="where base and runs are kept",
    )
    parser.add_argument(
        "--out", type=Path, default=ablations.folder(), help="where the judgments go"
    )
    parser.add_argument("--threads", type=int, default=cores(), help="of the CPU")
    parser.add_argument(
        "--compile",
        action=argparse.BooleanOptionalAction,
        default=compiler(),
        help="compile the model first: twice as fast on a CPU, needs a C++ compiler (default: where there is one)",
    )
    given = parser.parse_args()
    scale = Scale()
    try:
        runs = planned(scale, given.study, given.only, given.seeds)
    except ValueError as error:
        sys.exit(str(error))
    if given.list:
        for arm, seed in runs:
            there = (
                "kept"
                if done(arm, seed, scale.digest(arm, seed), given.out)
                else "to do"
            )
            parts = ", ".join(
                f"{count} {part}"
                for part, count in arm.counts(scale.sizes[arm.study]).items()
            )
            print(f"{there:5} | {arm.study} | {arm.name} | seed {seed} | {parts}")
        return
    import torch

    torch.set_num_threads(given.threads)
    try:
        run(runs, scale, work=given.work, out=given.out, compiled=given.compile)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
