"""Which items each resample holds: bootstrap counts, left-out units, swap masks. All from a seed, in chunks.

The numbers drawn do not depend on how they are cut into chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from . import checks, kernels
from .checks import Floats
from .kernels import Ints

UNITS = ("rows", "inputs", "systems", "both")


@dataclass(frozen=True)
class Draws:
    """How often each unit enters, for b resamples; None means each once.

    systems: (b, systems). inputs: (b, inputs). rows: (items, b), items in row-major order of `X[system, input]`.
    """

    systems: Ints | None = None
    inputs: Ints | None = None
    rows: Ints | None = None

    def __len__(self) -> int:
        return next(len(a) if a is not self.rows else a.shape[1] for a in self._given())

    def _given(self) -> list[Ints]:
        return [a for a in (self.systems, self.inputs, self.rows) if a is not None]

    def items(self, shape: tuple[int, ...]) -> Ints:
        """The weight of each item, in row-major order: (items, b)."""
        if self.rows is not None:
            return self.rows
        kind, b = kernels.counting_type(int(np.prod(shape))), len(self)
        systems, inputs = (
            np.ones((size, 1), dtype=kind) if counts is None else np.ascontiguousarray(counts.T, dtype=kind)
            for counts, size in zip((self.systems, self.inputs), shape, strict=True)
        )
        grid = kernels.workspace().array("grid", (*shape, b), kind)
        return np.multiply(systems[:, None], inputs[None], out=grid).reshape(-1, b)

    def power_sum(self, shape: tuple[int, ...], power: int) -> Floats | None:
        """Sum of the second or third power of all items' weights, where it follows from the units': (b,)."""
        if self.rows is not None:
            return None
        total = np.ones(len(self))
        for counts, size in zip((self.systems, self.inputs), shape, strict=True):
            if counts is None:
                total *= size
            else:
                wide = counts.astype(np.float32 if size**power < 2**24 else float)  # whole numbers, exact
                total *= np.einsum("ij,ij->i", wide if power == 2 else wide * wide, wide)
        return total


def check_units(units: str, shape: tuple[int, ...], name: str = "units") -> str:
    """The units themselves when data of this shape have them.

    Raises: ValueError for an unknown word, or for anything but "rows" on flat data.
    """
    checks.choice(units, UNITS, name)
    if len(shape) == 1 and units != "rows":
        raise ValueError(f"{name}: got {units!r} for a flat vector; pass x[system, input], or choose 'rows'")
    return units


def chunk_size(items: int) -> int:
    """Resamples per chunk, so that one array of a chunk has about a million entries."""
    return int(np.clip(2**20 // max(items, 1), 4, 1024))


def bootstrap(shape: tuple[int, ...], units: str, n: int, seed: int) -> Iterator[Draws]:
    """Bootstrap counts for n resamples, chunk by chunk: units drawn with replacement, as many as there are."""
    rng = {unit: np.random.default_rng([seed, number]) for number, unit in enumerate(UNITS)}
    sizes = _sizes(shape, units)
    step = chunk_size(int(np.prod(shape)))
    for start in range(0, n, step):
        b = min(step, n - start)
        counts = {unit: _draw_counts(rng[unit], b, size) for unit, size in sizes.items()}
        if "rows" in counts:
            kind = kernels.counting_type(sizes["rows"])
            counts["rows"] = np.ascontiguousarray(counts["rows"].T, dtype=kind)
        yield Draws(**counts)


def bootstrap_indices(shape: tuple[int, ...], units: str, n: int, seed: int) -> dict[str, Ints]:
    """The same resamples as `bootstrap`, as the drawn numbers themselves: {"systems": (n, systems), ...}."""
    sizes = _sizes(shape, units)
    return {u: np.random.default_rng([seed, UNITS.index(u)]).integers(0, m, (n, m)) for u, m in sizes.items()}


def swaps(shape: tuple[int, ...], units: str, n: int, seed: int) -> Iterator[Draws]:
    """Swap masks (1: exchange the two judges' scores here) for n permutations, each unit with probability 1/2.

    "both" swaps where exactly one of the system's and the input's coins says so.
    """
    rng = {unit: np.random.default_rng([seed, 4 + number]) for number, unit in enumerate(UNITS)}
    sizes = _sizes(shape, units)
    # numpy takes four coins from one random number, and drops those left over at the end of a chunk
    step = max(4, chunk_size(2 * int(np.prod(shape))) // 4 * 4)
    for start in range(0, n, step):
        b = min(step, n - start)
        masks = {unit: rng[unit].integers(0, 2, (b, size), dtype=np.int8) for unit, size in sizes.items()}
        if "rows" in masks:
            masks["rows"] = np.ascontiguousarray(masks["rows"].T)
        yield Draws(**masks)


def swap_masks(shape: tuple[int, ...], units: str, n: int, seed: int) -> dict[str, Ints]:
    """The same permutations as `swaps`, whole: {"systems": (n, systems), ...}, rows as (n, items)."""
    rng = {unit: np.random.default_rng([seed, 4 + number]) for number, unit in enumerate(UNITS)}
    return {u: rng[u].integers(0, 2, (n, m), dtype=np.int8) for u, m in _sizes(shape, units).items()}


def left_out(shape: tuple[int, ...], units: str) -> Iterator[tuple[str, Draws]]:
    """Every sample with one unit left out, named by the kind of unit: the jackknife."""
    step = chunk_size(int(np.prod(shape)))
    for unit, size in _sizes(shape, units).items():
        for start in range(0, size, step):
            out = np.arange(start, min(start + step, size))
            counts = np.ones((len(out), size), dtype=np.int16)
            counts[np.arange(len(out)), out] = 0
            yield unit, Draws(**{unit: np.ascontiguousarray(counts.T) if unit == "rows" else counts})


def everything(shape: tuple[int, ...]) -> Draws:
    """The data themselves as one resample."""
    if len(shape) == 1:
        return Draws(rows=np.ones((shape[0], 1), dtype=kernels.counting_type(shape[0])))
    return Draws(systems=np.ones((1, shape[0]), dtype=np.int16), inputs=np.ones((1, shape[1]), dtype=np.int16))


def _sizes(shape: tuple[int, ...], units: str) -> dict[str, int]:
    check_units(units, shape)
    if units == "rows":
        return {"rows": int(np.prod(shape))}
    named = {"systems": shape[0], "inputs": shape[1]}
    return named if units == "both" else {units: named[units]}


def _count(drawn: Ints, size: int) -> Ints:
    """How often each number was drawn in each row: (b, k) numbers below `size`, which are used up, to (b, size)."""
    drawn += size * np.arange(len(drawn))[:, None]
    return np.bincount(drawn.ravel(), minlength=len(drawn) * size).reshape(-1, size)


def _draw_counts(rng: np.random.Generator, b: int, size: int) -> Ints:
    """Counts of `size` draws with replacement, b times: (b, size). In pieces that need no fresh memory each."""
    out = np.empty((b, size), dtype=kernels.counting_type(size))
    step = max(1, 2**13 // size)
    for start in range(0, b, step):
        rows = out[start : start + step]
        rows[:] = _count(rng.integers(0, size, rows.shape), size)
    return out
