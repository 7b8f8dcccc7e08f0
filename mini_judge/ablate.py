"""`python -m mini_judge.ablate`: train the base once, fine-tune every arm from
it, judge, keep the judgments (`make mini-ablations`).

Runs that are kept under data/mini/ablations and match the recipe are not made again; a
stopped one goes on where it last saved. The arms are those of `studies`;
`notebooks.ablations.training_arms` reads what is kept.
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

from mini_judge import studies, tokens
from mini_judge.answers import kind_of
from mini_judge.batches import Batch, batched
from mini_judge.prompts import Example, Switches
from mini_judge.recipe import Recipe
from mini_judge.studies import RUBRICS, STUDIES, Arm, Scale
from nlgeval_lib import datasets, engines, files
from nlgeval_lib.datasets import mini_judge
from nlgeval_lib.engines import Engine
from nlgeval_lib.evaluators.prometheus import Prometheus
from nlgeval_lib.evaluators.tigerscore import TigerScore
from nlgeval_lib.records import Judgment
from notebooks.ablations import training_arms as ablations
from notebooks.ablations.training_arms import KEYS, NEW_RUBRIC
from reproduction.training.mini import settings

# an arm and a seed
Run = tuple[Arm, int]
LONGEST = 160  # tokens; no right answer is as long
# of a run's judgments
COLUMNS = [*KEYS, "value", "status", "told"]


def planned(
    scale: Scale, names: Iterable[str] = (), only: Iterable[str] = (), seeds: int = 0
) -> list[Run]:
    """The runs asked for, study by study and seed by seed, so that a stop leaves a
    study's arms with as many.

    only: names of arms, by default all of these studies.
    Raises: ValueError for an arm that there is not.
    """
    names = list(names) or list(STUDIES)
    chosen = set(only)
    _refuse_unknown(chosen, names)
    runs = []
    for name in names:
        n_seeds = seeds or scale.seeds[name]
        for seed in range(n_seeds):
            for arm in STUDIES[name]:
                if not chosen or arm.name in chosen:
                    runs.append((arm, seed))
    return runs


def _refuse_unknown(chosen: set[str], studies_asked_for: Iterable[str]) -> None:
    """Raises: ValueError where a chosen arm is in none of the studies."""
    arms: list[str] = []
    for study in studies_asked_for:
        arms += [arm.name for arm in STUDIES[study]]
    unknown = sorted(chosen.difference(arms))
    if unknown:
        known = "; ".join(arms)
        raise ValueError(f"no arm {', '.join(unknown)}; there are {known}")


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
    """Make the runs that are not there yet. A stopped run goes on from its last save.

    work: where the base and a run that is not finished are.
    frame: the held-out set, or some of its inputs; None for the whole set.
    Returns: how many runs were made.
    """
    todo = _missing(runs, scale, out)
    n_kept = len(runs) - len(todo)
    say(f"{len(runs)} runs, {n_kept} of them there")
    if not todo:
        return 0
    from mini_judge.train import Learner

    name_of_base, weights = base(scale, work, compiled=compiled, say=say)
    vocabulary = len(tokens.build())
    # One learner for all runs, so that a compiled model is compiled once.
    learner = Learner(scale.base, vocabulary, compiled=compiled)
    begun = time.monotonic()
    for number, (arm, seed) in enumerate(todo):
        estimate = _time_left(begun, number, len(todo))
        say(
            f"[{number + 1}/{len(todo)}] {arm.study}: {arm.name}, seed {seed}{estimate}"
        )
        learner.begin(scale.tune, weights)
        digest = scale.digest(arm, seed)
        folder = work / f"run-{digest}"
        line = _tune(learner, scale, arm, seed, folder, every)
        line |= {"base": name_of_base, "digest": digest}
        rows = _judged(folder / "checkpoint", arm, frame)
        # Only what is kept counts as made; the folder of the run is then of no use.
        keep(arm, seed, rows, line, out)
        shutil.rmtree(folder, ignore_errors=True)
        parsed = (rows["status"] == "ok").mean()
        say(f"    {len(rows)} judgments, {parsed:.1%} parsed")
    return len(todo)


def _missing(runs: Iterable[Run], scale: Scale, out: Path) -> list[Run]:
    """The runs that are not kept, or were made by another recipe."""
    missing = []
    for arm, seed in runs:
        digest = scale.digest(arm, seed)
        if not done(arm, seed, digest, out):
            missing.append((arm, seed))
    return missing


def _time_left(begun: float, n_made: int, n_runs: int) -> str:
    """How long the runs that are still to be made will take, as those before them took;
    empty before the first.
    """
    if not n_made:
        return ""
    seconds_per_run = (time.monotonic() - begun) / n_made
    minutes = seconds_per_run * (n_runs - n_made) / 60
    return f", about {minutes:.0f} min left"


def _judged(checkpoint: Path, arm: Arm, frame: pd.DataFrame | None) -> pd.DataFrame:
    """What a fine-tuned checkpoint says, as `ask`; transformers run it."""
    with engines.make("transformers", model=str(checkpoint), batch_size=300) as engine:
        return ask(engine, arm, frame)


# -- training


def base(
    scale: Scale, work: Path, *, compiled: bool, say: Callable[[str], None]
) -> tuple[str, dict[str, Any]]:
    """The base's digest and its weights, trained in `work` where it is not there; a
    stopped run goes on.

    It was trained from scratch to give scores and has judged in no form of a study; a
    second stage shows it how the studies' answers are worded, each beside a text that
    it does not belong to.

    Returns: the digest of both stages, and the weights of the second, in full
        precision.
    """
    import torch

    from mini_judge.train import STATE, Learner, train

    stages = (
        ("base", scale.base, studies.base_examples),
        ("reading", scale.reading, studies.reading),
    )
    digest = ""
    weights: dict[str, Any] = {}
    recipes = []
    for stage, recipe, source in stages:
        # A stage is named by its own recipe and those before it.
        recipes.append(recipe)
        digest = studies.digest(*recipes)
        folder = work / f"{stage}-{digest}"
        checkpoint = folder / "checkpoint"
        if not (checkpoint / "training.json").is_file():
            say(f"{stage} {digest}: {recipe.examples:,} examples")
            learner = Learner(recipe, len(tokens.build()), compiled=compiled)
            if weights:
                learner.begin(recipe, weights)
            batches = functools.partial(_base_batches, stage, source)
            train(recipe, folder, checkpoint, learner=learner, batches=batches)
        state = torch.load(folder / STATE, map_location="cpu", weights_only=True)
        weights = state["master"]
    return digest, weights


def _base_batches(
    stage: str,
    source: Callable[[Recipe, int], list[Example]],
    recipe: Recipe,
    tokenizer: Any,
    number: int,
) -> list[Batch]:
    """The batches of a chunk of one of the base's stages, always the same for the same
    recipe and number.
    """
    order = random.Random(f"{stage}:{recipe.seed}:{number}:order")
    examples = source(recipe, number)
    return batched(order, tokenizer, examples, recipe.tokens)


def _tune(
    learner: Any, scale: Scale, arm: Arm, seed: int, folder: Path, every: float
) -> dict[str, Any]:
    """Fine-tune a learner that holds the base into a checkpoint in `folder`."""
    from mini_judge.train import train

    examples = arm.examples(seed, scale.sizes[arm.study])
    recipe = replace(scale.tune, examples=len(examples), seed=seed)
    learner.recipe = recipe
    batches = functools.partial(_tuning_batches, examples)
    train(
        recipe,
        folder,
        folder / "checkpoint",
        learner=learner,
        batches=batches,
        every=every,
    )
    return {
        "examples": len(examples),
        "tokens": learner.tokens,
        "steps": learner.step,
        "seconds": round(learner.seconds, 1),
    }


def _tuning_batches(
    examples: Sequence[Example], recipe: Recipe, tokenizer: Any, number: int
) -> list[Batch]:
    """The batches of a chunk of an arm's examples, always the same for the same seed
    and number.
    """
    order = random.Random(f"tune:{recipe.seed}:{number}")
    start = number * recipe.chunk
    chunk = examples[start : start + recipe.chunk]
    return batched(order, tokenizer, chunk, recipe.tokens)


# -- judging


def ask(engine: Engine, arm: Arm, frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """What a fine-tuned judge says of the held-out set in the form that its study asks
    for, greedy.

    arm: of which the judge is; one of a single task is asked about its domain alone.
    frame: the held-out set, or some of its inputs; None for the whole set.
    Returns: a row a judgment, with `COLUMNS`; `told` has the kinds of error that an
        analysis tells of, joined by blanks, and is empty for grades.
    """
    if frame is None:
        frame = datasets.load("mini_judge")
    if arm.switches is not None:
        return _grades(engine, arm.switches, frame)
    outputs = _outputs(frame)
    if arm.domain:
        in_domain = outputs["domain"] == arm.domain
        outputs = outputs[in_domain].reset_index(drop=True)
    judge = TigerScore(**settings("tigerscore"), sampling={"max_tokens": LONGEST})
    judged = judge.judge(outputs, engine=engine)
    kinds_by_output = []
    for judgment in judged:
        errors = judgment.details["errors"]
        kinds = [kind_of(error.explanation) for error in errors]
        kinds_by_output.append(" ".join(kinds))
    rows = _rows(outputs, judged)
    return rows.assign(told=kinds_by_output)[COLUMNS]


def _outputs(frame: pd.DataFrame) -> pd.DataFrame:
    """One row an output, whichever aspect it is asked for."""
    return frame[frame["aspect"] == "overall"].reset_index(drop=True)


def questions(frame: pd.DataFrame) -> pd.DataFrame:
    """Two of the set's five questions an output: one of the learnt rubrics in turn, and
    the new one.

    frame: the held-out set, a row an output and aspect, or some of it.
    """
    number_of: dict[tuple[str, str], int] = {}
    n_systems = frame["system_id"].nunique()
    in_turn = []
    for output in zip(frame["input_id"], frame["system_id"], strict=True):
        number = number_of.setdefault(output, len(number_of))
        # one further from input to input, else a system would meet few of the rubrics
        turn = number + number // n_systems
        in_turn.append(RUBRICS[turn % len(RUBRICS)])
    is_in_turn = frame["aspect"] == in_turn
    is_new = frame["aspect"] == NEW_RUBRIC
    return frame[is_in_turn | is_new].reset_index(drop=True)


def _grades(engine: Engine, switches: Switches, frame: pd.DataFrame) -> pd.DataFrame:
    """Grades of the `questions`, in the form of a study's arm: a row a judgment, with
    `COLUMNS`.
    """
    reference, rubric, feedback = switches
    sampling = {**settings("prometheus")["sampling"], "max_tokens": LONGEST}
    judge = Prometheus(
        reference=reference, rubric=rubric, feedback=feedback, sampling=sampling
    )
    asked_of = questions(frame)
    if rubric:
        judged = judge.judge(asked_of, engine=engine)
        grades = _rows(asked_of, judged)
    else:
        # No prompt says which aspect, so an output is asked once for all of them.
        outputs = _outputs(frame)
        judged = judge.judge(outputs, engine=engine)
        of_outputs = _rows(outputs, judged).drop(columns="aspect")
        grades = asked_of[KEYS].merge(of_outputs, on=KEYS[:2], how="left")
    return grades.assign(told="")[COLUMNS]


def _rows(outputs: pd.DataFrame, judged: list[Judgment]) -> pd.DataFrame:
    """What was judged beside the keys of what was asked of: `KEYS`, value, status."""
    values = []
    states = []
    for judgment in judged:
        values.append(judgment.value)
        states.append(judgment.status.value)
    return outputs[KEYS].assign(value=values, status=states)


# -- keeping


def done(arm: Arm, seed: int, digest: str, out: Path) -> bool:
    """Whether a run of just this kind is there, with the judgments that it wrote.

    digest: of the arm and seed, as `Scale.digest` gives it.
    """
    file = ablations.path(arm.study, arm.name, seed, out)
    table = ablations.runs(out)
    is_run = (
        (table["study"] == arm.study)
        & (table["arm"] == arm.name)
        & (table["seed"] == seed)
    )
    if not is_run.any() or not file.is_file():
        return False
    line = table[is_run].iloc[0]
    expected = {"digest": digest, **_hashes(file)}
    return all(line[column] == value for column, value in expected.items())


def _hashes(judgments: Path) -> dict[str, str]:
    """What a run's judgments were made of, and what they are: the hashes of the
    held-out set and of their file.
    """
    return {
        "heldout": ablations.sha(mini_judge.path()),
        "judgments": ablations.sha(judgments),
    }


def keep(
    arm: Arm, seed: int, rows: pd.DataFrame, told: Mapping[str, Any], out: Path
) -> None:
    """Write a run's judgments, then its line, in the order of studies and arms: a run
    without a line is made again.

    rows: of `ask`.
    """
    file = ablations.path(arm.study, arm.name, seed, out)
    text = rows[COLUMNS].to_csv(index=False, lineterminator="\n", float_format="%g")
    files.write_text(file, text)
    new_line = {
        "study": arm.study,
        "arm": arm.name,
        "seed": seed,
        **told,
        **_hashes(file),
    }
    # A run that is made again replaces its line.
    lines = {}
    for line in [*ablations.runs(out).to_dict("records"), new_line]:
        key = (line["study"], line["arm"], line["seed"])
        lines[key] = line
    ordered = [lines[key] for key in sorted(lines, key=_place)]
    table = pd.DataFrame(ordered)[ablations.LINE]
    text = table.to_csv(index=False, lineterminator="\n")
    files.write_text(out / ablations.RUNS, text)


def _place(key: tuple[str, str, int]) -> tuple[int, int]:
    """Where a run's line stands: its arm among those of all studies, its seed."""
    study, name, seed = key
    arms = []
    for members in STUDIES.values():
        arms += [(arm.study, arm.name) for arm in members]
    return arms.index((study, name)), seed


# -- the command


def main() -> None:
    """The command line; exits with 130 where it is stopped by Ctrl-C."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    options = _options()
    scale = Scale()
    try:
        runs = planned(scale, options.study, options.only, options.seeds)
    except ValueError as error:
        sys.exit(str(error))
    if options.list:
        _list(runs, scale, options.out)
        return
    import torch

    torch.set_num_threads(options.threads)
    try:
        run(runs, scale, work=options.work, out=options.out, compiled=options.compile)
    except KeyboardInterrupt:
        sys.exit(130)


def _list(runs: Iterable[Run], scale: Scale, out: Path) -> None:
    """Name the runs, what each is made of, and whether it is kept."""
    for arm, seed in runs:
        digest = scale.digest(arm, seed)
        state = "kept" if done(arm, seed, digest, out) else "to do"
        counts = []
        for part, count in arm.counts(scale.sizes[arm.study]).items():
            counts.append(f"{count} {part}")
        parts = ", ".join(counts)
        print(f"{state:5} | {arm.study} | {arm.name} | seed {seed} | {parts}")


def _options() -> argparse.Namespace:
    """The options of the command."""
    from mini_judge.__main__ import compiler, cores

    parser = argparse.ArgumentParser(
        prog="python -m mini_judge.ablate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
        help="compile the model first: twice as fast on a CPU, needs a C++ compiler "
        "(default: where there is one)",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
