"""`python -m nlgeval_lib.training.mini.ablations`: train the base once, fine-tune every arm from it, judge, keep.

Runs that are kept under data/mini/ablations and match the recipe are not made again; a stopped one goes on where it
last saved.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
from pathlib import Path

from nlgeval_lib import paths
from nlgeval_lib.training.mini import ablations
from nlgeval_lib.training.mini.ablations import kept, running
from nlgeval_lib.training.mini.ablations.studies import STUDIES, Scale


def main() -> None:
    """The command line."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    given = _arguments()
    scale = Scale()
    try:
        runs = running.planned(scale, given.study, given.only, given.seeds)
    except ValueError as error:
        sys.exit(str(error))
    if given.list:
        for arm, seed in runs:
            there = "kept" if kept.done(arm, seed, scale.digest(arm, seed), given.out) else "to do"
            parts = ", ".join(f"{count} {part}" for part, count in arm.counts(scale.sizes[arm.study]).items())
            print(f"{there:5} | {arm.study} | {arm.name} | seed {seed} | {parts}")
        return
    import torch

    torch.set_num_threads(given.threads)
    try:
        running.run(runs, scale, work=given.work, out=given.out, compiled=given.compile)
    except KeyboardInterrupt:
        sys.exit(130)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m nlgeval_lib.training.mini.ablations", description=__doc__)
    parser.add_argument("--study", action="append", default=[], choices=list(STUDIES), help="may be given again")
    parser.add_argument("--only", action="append", default=[], metavar="ARM", help="an arm by its name; again for more")
    parser.add_argument("--seeds", type=int, default=0, help="how many an arm; default 3")
    parser.add_argument("--list", action="store_true", help="name the runs and what is kept of them, run nothing")
    parser.add_argument("--work", type=Path, default=paths.state("mini-ablations"), help="where base and runs are kept")
    parser.add_argument("--out", type=Path, default=ablations.folder(), help="where the judgments go")
    parser.add_argument("--threads", type=int, default=_cores(), help="of the CPU")
    compiler = any(map(shutil.which, ("c++", "g++", "clang++"))) and importlib.util.find_spec("torch") is not None
    parser.add_argument(
        "--compile",
        action=argparse.BooleanOptionalAction,
        default=compiler,
        help="compile the model first: twice as fast on a CPU, needs a C++ compiler (default: where there is one)",
    )
    return parser.parse_args()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if __name__ == "__main__":
    main()
