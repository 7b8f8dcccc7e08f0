"""Which items each resample holds: counts, left-out units, swap masks. In chunks, which do not change what is drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from . import arrays

UNITS = ("rows", "inputs", "systems", "both")

Weights = npt.NDArray[np.floating]
Ints = npt.NDArray[np.integer]


@dataclass(frozen=True)
class Draws:
    """How often each unit enters, for b resamples; None means each once. An item enters as often as the product says.

    systems: (systems, b). inputs: (inputs, b). rows: (items, b), items in row-major order of `X[system, input]`.
    """

    systems: Weights | None = None
    inputs: Weights | None = None
    rows: Weights | None = None

    def __len__(self) -> int:
        return next(a.shape[1] for a in (self.systems, self.inputs, self.rows) if a is not None)

    def factors(self, places: Ints, inputs: int) -> tuple[Ints, Weights, Ints, Weights]:
        """Rows and weights of both factors of the weights of items, by their places in row-major order."""
        given = next(a for a in (self.rows, self.systems, self.inputs) if a is not None)
        alone = np.zeros_like(places), np.ones((1, len(self)), dtype=given.dtype)
        if self.rows is not None:
            return places, self.rows, *alone
        left = alone if self.systems is None else (places // inputs, self.systems)
        return *left, *(alone if self.inputs is None else (places % inputs, self.inputs))


def check_units(units: str, shape: tuple[int, ...], name: str = "units") -> None:
    """Raises: ValueError for an unknown word, or for anything but "rows" on flat data."""
    arrays.choice(units, UNITS, name)
    if len(shape) == 1 and units != "rows":
        raise ValueError(f"{name}: got {units!r} for a flat vector; pass x[system, input], or choose 'rows'")


def exact(bound: int) -> type[np.floating]:
    """The narrowest type in which twice a sum of weights up to `bound` is exact: narrow types are fast."""
    return np.float32 if bound < 2**23 else np.float64


def chunk_size(items: int) -> int:
    """Resamples per chunk, so that one array of a chunk has some million entries."""
    return int(np.clip(2**22 // max(items, 1), 4, 1024))


def resamples(shape: tuple[int, ...], units: str, n: int, seed: int, swap: bool = False) -> Iterator[Draws]:
    """Bootstrap counts for n resamples, chunk by chunk: units drawn with replacement, as many as there are.

    swap: masks of permutations in their place (1: exchange the two judges' scores here), each with probability 1/2.
    """
    items = int(np.prod(shape)) * (2 if swap else 1)
    # numpy takes four coins from one random number, and drops those left over at the end of a chunk
    step, kind = max(4, chunk_size(items) // 4 * 4) if swap else chunk_size(items), exact(items)
    sizes = _sizes(shape, units)
    rng = {unit: np.random.default_rng([seed, UNITS.index(unit) + (4 if swap else 0)]) for unit in sizes}
    for start in range(0, n, step):
        b, drawn = min(step, n - start), {}
        for unit, size in sizes.items():
            made = rng[unit].integers(0, 2, (b, size), dtype=np.int8) if swap else _counts(rng[unit], b, size)
            drawn[unit] = np.ascontiguousarray(made.T, dtype=kind)
        yield Draws(**drawn)


def every_pattern(here: npt.NDArray[np.bool_], most: int) -> Weights | None:
    """All ways to exchange some systems' scores but for mirror images, none first: (systems, patterns), if few."""
    there = np.flatnonzero(here.any(axis=1))[1:]
    if 2 ** len(there) > most:
        return None
    patterns = np.zeros((len(here), 2 ** len(there)), dtype=exact(2 * here.size))
    patterns[there] = np.arange(2 ** len(there)) >> np.arange(len(there))[:, None] & 1
    return patterns


def left_out(shape: tuple[int, ...], unit: str) -> Iterator[Draws]:
    """Every sample with one unit left out, rows, inputs or systems: the jackknife."""
    items, size = int(np.prod(shape)), _sizes(shape, unit)[unit]
    for start in range(0, size, chunk_size(items)):
        out = np.arange(start, min(start + chunk_size(items), size))
        counts = np.ones((size, len(out)), dtype=exact(items))
        counts[out, np.arange(len(out))] = 0
        yield Draws(**{unit: counts})


def everything(shape: tuple[int, ...]) -> Draws:
    """The data themselves as one resample."""
    units = "rows" if len(shape) == 1 else "both"
    ones = {unit: np.ones((size, 1), exact(int(np.prod(shape)))) for unit, size in _sizes(shape, units).items()}
    return Draws(**ones)


def _sizes(shape: tuple[int, ...], units: str) -> dict[str, int]:
    if units == "rows":
        return {"rows": int(np.prod(shape))}
    named = {"systems": shape[0], "inputs": shape[1]}
    return named if units == "both" else {units: named[units]}


def _counts(rng: np.random.Generator, b: int, size: int) -> Ints:
    """Counts of `size` draws with replacement, b times: (b, size). In pieces that need no fresh memory each."""
    out = np.empty((b, size), dtype=np.int16 if size < 2**15 else np.int64)
    step = max(1, 2**13 // size)
    for start in range(0, b, step):
        rows = out[start : start + step]
        drawn = rng.integers(0, size, rows.shape)
        drawn += size * np.arange(len(rows))[:, None]
        rows[:] = np.bincount(drawn.ravel(), minlength=rows.size).reshape(-1, size)
    return out
