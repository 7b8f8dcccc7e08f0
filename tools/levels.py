"""Level, coverage and power of the tests and intervals of `meta` in simulated worlds
with a known truth: the long run.

    python tools/levels.py [--only WORLD ...] [--sims 600] [--seed 0]

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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only",
        nargs="*",
        default=list(simulated.WORLDS),
        choices=list(simulated.WORLDS),
    )
    parser.add_argument("--sims", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(argv)
    path = files.data() / "simulated" / "meta_inference.csv"
    rows = (
        simulated.committed()
        if path.exists()
        else pd.DataFrame(columns=simulated.COLUMNS)
    )
    for (size, level, coef, tests, cis), world in itertools.product(CELLS, asked.only):
        sims = asked.sims // 2 if size in HALF else asked.sims
        key = {
            "world": world,
            "size": size,
            "level": level,
            "coef": coef,
            "sims": sims,
            "seed": asked.seed,
        }
        if (rows[list(key)] == pd.Series(key)).all(axis=1).any():
            continue
        start = time.monotonic()
        tests = (
            (*tests, "williams")
            if coef == "pearson" and (level == "system" or tests == ROWS[0])
            else tests
        )
        made = pd.DataFrame(
            simulated.measure(world, size, level, coef, tests, cis, sims, asked.seed)
        )
        rows = (
            pd.concat([rows, made.round(4)], ignore_index=True)
            if len(rows)
            else made.round(4)
        )
        files.write_text(path, rows.to_csv(index=False))
        print(
            *key.values(),
            f"{time.monotonic() - start:.1f} s",
            file=sys.stderr,
            flush=True,
        )


if __name__ == "__main__":
    main()
