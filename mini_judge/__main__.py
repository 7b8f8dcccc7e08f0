"""`python -m mini_judge`: train the miniature judge, measure it on its held-out
set, write its card (`make mini-judge`).

A run that was stopped goes on where it last saved. The same recipe gives a judge of the
same quality on any machine. Checkpoint, judgments, tables of quality and the card
(README.md) go to --out.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import os
import shutil
from pathlib import Path
from typing import Any

from mini_judge.recipe import Recipe
from nlgeval_lib import files
from nlgeval_lib.datasets import mini_judge

STEPS = ("train", "measure", "card")


def main() -> None:
    """The command line: the three steps in their order, or those of --only."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    options = _arguments()
    steps = options.only or list(STEPS)
    if "train" in steps:
        _train(options)
    if "measure" in steps:
        measure(options.out, options.engine)
    if "card" in steps:
        from mini_judge import card

        card.write(options.out)
        print(f"wrote {_near(options.out / card.CARD)}")


def _train(options: argparse.Namespace) -> None:
    """Train by the recipe of the command line, or go on with a run that was stopped."""
    import torch

    from mini_judge.train import train

    torch.set_num_threads(options.threads)
    # every field of the recipe has an option of its name
    settings = {}
    for field in dataclasses.fields(Recipe):
        settings[field.name] = getattr(options, field.name)
    learner = train(
        Recipe(**settings),
        options.work,
        options.out,
        device=options.device,
        compiled=options.compile,
        notes=options.note,
    )
    print(
        f"trained: {learner.step} steps, {learner.tokens:,} tokens; "
        f"checkpoint in {_near(options.out)}"
    )


def measure(folder: Path, engine: str) -> None:
    """Judge the held-out set in every form; keep the judgments beside the checkpoint
    and print what came out.
    """
    from mini_judge import heldout, quality
    from mini_judge import measure as measuring
    from nlgeval_lib import engines

    heldout.write(folder)
    options: dict[str, Any] = {"batch_size": 64}
    if engine == "vllm":
        options = {"max_model_len": 512}
    with engines.make(engine, model=str(folder), **options) as judge:
        judgments, analyses = measuring.judge(judge)
    measuring.write(folder, judgments, analyses)
    table = quality.headline(judgments, quality.taus(judgments))
    table = table.drop(columns="signature")
    print(table.to_string(index=False, float_format="{:.3f}".format))


def _near(path: Path) -> str:
    """A path as it is shown: from the checkout where it lies inside, else whole."""
    try:
        return str(path.resolve().relative_to(files.root()))
    except ValueError:
        return str(path)


def _arguments() -> argparse.Namespace:
    """The options of the command; those of the recipe are made of its fields."""
    parser = argparse.ArgumentParser(
        prog="python -m mini_judge",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=STEPS,
        help="one step (may be given again); default: all",
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=files.state("mini-judge"),
        help="where a run is kept",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=mini_judge.folder(),
        help="where the checkpoint goes",
    )
    parser.add_argument("--device", default=_device(), help="cuda or cpu")
    parser.add_argument("--threads", type=int, default=cores(), help="of the CPU")
    parser.add_argument(
        "--compile",
        action=argparse.BooleanOptionalAction,
        default=compiler(),
        help="compile the model first: twice as fast on a CPU; "
        "default: where there is a C++ compiler",
    )
    parser.add_argument(
        "--note", action="append", default=[], help="a remark on the run, for the card"
    )
    parser.add_argument(
        "--engine",
        default=_engine(),
        choices=("transformers", "vllm"),
        help="what measures",
    )
    recipe = parser.add_argument_group("recipe")
    for field in dataclasses.fields(Recipe):
        recipe.add_argument(
            f"--{field.name}",
            type=type(field.default),
            default=field.default,
            help=f"default {field.default}",
        )
    return parser.parse_args()


def _device() -> str:
    """Where the training runs by default."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _engine() -> str:
    """What measures by default: vLLM where it is installed."""
    return "vllm" if importlib.util.find_spec("vllm") else "transformers"


def compiler() -> bool:
    """Whether there is a C++ compiler."""
    return any(map(shutil.which, ("c++", "g++", "clang++")))


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    main()
