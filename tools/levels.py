"""Level, coverage and power of the tests and intervals of `statistics` in simulated worlds
with a known truth: the long run, `make levels`.

    python -m tools.levels [--only WORLD ...] [--sims 600] [--seed 0]

Writes data/simulated/meta_inference.csv (worlds by a normal law) and data_worlds.csv
(worlds drawn from rated data sets, heavy tails, broken systems, families, topics; half
as many simulations), cell by cell; cells that are there are not made again, so a run
that was cut off goes on. About 20 minutes of one core. Everything follows from the
seed; rows of another seed are added to those that are there (data_worlds.csv has 0 and
1).

The worlds and their measures are in `notebooks.meta.simulated` and `data_worlds`; this
file says which cells there are and keeps the tables.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pandas as pd

from nlgeval_lib import files
from notebooks.meta import data_worlds, simulated

# systems x inputs of a cell
SIZES = ("16x100", "12x100", "6x60", "8x200")
HALF = ("8x200",)  # the slowest: half as many simulations
COEFS = ("pearson", "kendall-b")
# tests, then intervals, where systems and inputs both can be drawn
TWO_WAY = (("auto", "perm-both", "perm-systems", "jack-systems"), ("auto", "boot-both"))
# level -> tests, intervals; at system level the default test is the jackknife over
# systems
METHODS = {
    "dataset": TWO_WAY,
    "system": (("auto", "perm-both", "exact-systems"), ("auto", "boot-both")),
    "input": TWO_WAY,
}
# the same for a list of one system, where only its rows can
ROWS = (("auto", "perm-rows"), ("auto", "boot-rows", "fisher"))


class Cell(NamedTuple):
    """A row of systems and inputs, and what is tried on it.

    size: "16x100" for systems x inputs, or the number of inputs of one system.
    level: dataset, system or input.
    coef: the coefficient.
    tests, cis: the methods of tests and of intervals, by their names in `statistics`.
    """

    size: str
    level: str
    coef: str
    tests: tuple[str, ...]
    cis: tuple[str, ...]


def _cells() -> Iterator[Cell]:
    """All cells of a normal world: lists of one system first, then those of several."""
    for size, coef in itertools.product(("60", "200"), COEFS):
        yield Cell(size, "dataset", coef, *ROWS)
    for size, level, coef in itertools.product(SIZES, METHODS, COEFS):
        yield Cell(size, level, coef, *METHODS[level])


def main(argv: Sequence[str] | None = None) -> None:
    """Measure the cells of both files that are not there yet."""
    options = _options(argv)
    _by_a_normal_law(options)
    _from_data(options)


def _by_a_normal_law(options: argparse.Namespace) -> None:
    """Measure the cells of `simulated` that are not there yet."""
    worlds = [world for world in simulated.WORLDS if world in options.only]
    table = _Table("meta_inference.csv", simulated.COLUMNS)
    for cell, world in itertools.product(_cells(), worlds):
        size, level, coef, tests, cis = cell
        sims = options.sims
        if size in HALF:
            sims = sims // 2
        # Williams' test is one of Pearson's coefficients of plain lists
        if coef == "pearson" and (level == "system" or tests == ROWS[0]):
            tests = (*tests, "williams")
        key = {
            "world": world,
            "size": size,
            "level": level,
            "coef": coef,
            "sims": sims,
            "seed": options.seed,
        }
        arguments = (world, size, level, coef, tests, cis, sims, options.seed)
        table.add(key, simulated.measure, arguments)


def _from_data(options: argparse.Namespace) -> None:
    """Measure the cells of `data_worlds` that are not there yet, with half as many
    simulations.
    """
    worlds = [world for world in data_worlds.WORLDS if world in options.only]
    table = _Table("data_worlds.csv", data_worlds.COLUMNS)
    sims = options.sims // 2
    for level, coef, world in itertools.product(METHODS, COEFS, worlds):
        systems, *_ = data_worlds.WORLDS[world].size
        if systems == 2 and level != "dataset":
            continue
        key = {
            "world": world,
            "level": level,
            "coef": coef,
            "sims": sims,
            "seed": options.seed,
        }
        arguments = (world, level, coef, sims, options.seed)
        table.add(key, data_worlds.measure, arguments)


class _Table:
    """The rows of a file below data/simulated, written after each cell.

    name: of the file.
    columns: of a new file.
    """

    def __init__(self, name: str, columns: Sequence[str]) -> None:
        self.path = files.data() / "simulated" / name
        self.rows = pd.DataFrame(columns=columns)
        if self.path.exists():
            self.rows = pd.read_csv(self.path, dtype={"size": str})

    def add(
        self, key: dict[str, Any], measure: Callable[..., Any], arguments: Sequence[Any]
    ) -> None:
        """Measure a cell that is not there yet, add its rows and write the file.

        key: the columns that a cell is known by, and their values; printed when it is
            done.
        arguments: of `measure`.
        """
        is_cell = self.rows[list(key)] == pd.Series(key)
        if is_cell.all(axis=1).any():
            return
        start = time.monotonic()
        measured = measure(*arguments)
        added = pd.DataFrame(measured).round(4)
        if len(self.rows):
            added = pd.concat([self.rows, added], ignore_index=True)
        self.rows = added
        files.write_text(self.path, self.rows.to_csv(index=False))
        seconds = f"{time.monotonic() - start:.1f} s"
        print(*key.values(), seconds, file=sys.stderr, flush=True)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    worlds = [*simulated.WORLDS, *data_worlds.WORLDS]
    parser.add_argument("--only", nargs="*", default=worlds, choices=worlds)
    parser.add_argument("--sims", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
