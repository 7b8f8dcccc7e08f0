"""Level, coverage and power of the tests and intervals of `meta` in simulated worlds
with a known truth: the long run.

    python -m tools.levels [--only WORLD ...] [--sims 600] [--seed 0]

Writes data/simulated/meta_inference.csv cell by cell; cells that are there are not made
again, so a run that was cut off goes on. About 20 minutes of one core. Everything
follows from the seed.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Sequence

import pandas as pd

from nlgeval_lib import files
from notebooks.meta import simulated

SIZES = ("16x100", "12x100", "6x60", "8x200")
HALF = ("8x200",)  # the slowest: half as many simulations
COEFS = ("pearson", "kendall-b")
TWO_WAY = (("auto", "perm-both", "perm-systems", "jack-systems"), ("auto", "boot-both"))
# level -> tests, intervals; at system level the default test is the permutation of
# systems
METHODS = {
    "dataset": TWO_WAY,
    "system": (("auto", "perm-both", "jack-systems"), ("auto", "boot-both")),
    "input": TWO_WAY,
}
ROWS = (("auto", "perm-rows"), ("auto", "boot-rows", "fisher"))
CELLS = [
    (size, "dataset", coef, *ROWS)
    for size, coef in itertools.product(("60", "200"), COEFS)
]
CELLS += [
    (size, level, coef, *METHODS[level])
    for size, level, coef in itertools.product(SIZES, METHODS, COEFS)
]


def main(argv: Sequence[str] | None = None) -> None:
    options = _options(argv)
    path = files.data() / "simulated" / "meta_inference.csv"
    rows = pd.DataFrame(columns=simulated.COLUMNS)
    if path.exists():
        rows = simulated.committed()
    for cell, world in itertools.product(CELLS, options.only):
        size, level, coef, tests, cis = cell
        sims = options.sims
        if size in HALF:
            sims = sims // 2
        key = {
            "world": world,
            "size": size,
            "level": level,
            "coef": coef,
            "sims": sims,
            "seed": options.seed,
        }
        is_cell = rows[list(key)] == pd.Series(key)
        if is_cell.all(axis=1).any():
            continue
        start = time.monotonic()
        if coef == "pearson" and (level == "system" or tests == ROWS[0]):
            tests = (*tests, "williams")
        measured = simulated.measure(
            world, size, level, coef, tests, cis, sims, options.seed
        )
        added = pd.DataFrame(measured).round(4)
        if len(rows):
            added = pd.concat([rows, added], ignore_index=True)
        rows = added
        files.write_text(path, rows.to_csv(index=False))
        seconds = f"{time.monotonic() - start:.1f} s"
        print(*key.values(), seconds, file=sys.stderr, flush=True)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    worlds = list(simulated.WORLDS)
    parser.add_argument("--only", nargs="*", default=worlds, choices=worlds)
    parser.add_argument("--sims", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
