"""Which items each resample holds: counts, left-out units, swap masks.

In chunks, which do not change what is drawn.
"""

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
    """How often each unit enters, for b resamples; None means each once. An item enters
    as often as the product says.

    systems: (systems, b). inputs: (inputs, b). rows: (items, b), items in row-major
    order of `X[system, input]`.
    """

    systems: Weights | None = None
    inputs: Weights | None = None
    rows: Weights | None = None

    def __len__(self) -> int:
        return self._first(self.systems, self.inputs, self.rows).shape[1]

    @staticmethod
    def _first(*weights: Weights | None) -> Weights:
        """The first that is not None."""
        return next(array for array in weights if array is not None)

    def factors(self, places: Ints, inputs: int) -> tuple[Ints, Weights, Ints, Weights]:
        """Rows and weights of both factors of the weights of items, by their places
        in row-major order.
        """
        kind = self._first(self.rows, self.systems, self.inputs).dtype
        once = np.ones((1, len(self)), dtype=kind)
        nowhere = np.zeros_like(places)
        if self.rows is not None:
            return places, self.rows, nowhere, once
        rows_a = nowhere
        rows_b = nowhere
        a: Weights = once
        b: Weights = once
        if self.systems is not None:
            rows_a = places // inputs
            a = self.systems
        if self.inputs is not None:
            rows_b = places % inputs
            b = self.inputs
        return rows_a, a, rows_b, b


def check_units(units: str, shape: tuple[int, ...], name: str = "units") -> None:
    """Refuse units that the data do not have.

    Raises: ValueError for an unknown word, or for anything but "rows" on flat data.
    """
    arrays.choice(units, UNITS, name)
    if len(shape) == 1 and units != "rows":
        raise ValueError(
            f"{name}: got {units!r} for a flat vector; pass x[system, input], "
            "or choose 'rows'"
        )


def exact(bound: int) -> type[np.floating]:
    """The narrowest type in which twice a sum of weights up to `bound` is exact:
    narrow types are fast.
    """
    if bound < 2**23:
        return np.float32
    return np.float64


def chunk_size(items: int) -> int:
    """Resamples per chunk, so that one array of a chunk has some million entries."""
    return int(np.clip(2**22 // max(items, 1), 4, 1024))


def resamples(
    shape: tuple[int, ...],
    units: str,
    n: int,
    seed: int,
    swap: bool = False,
) -> Iterator[Draws]:
    """Bootstrap counts for n resamples, chunk by chunk: units drawn with replacement,
    as many as there are.

    swap: masks of permutations in their place (1: exchange the two judges' scores
    here), each with probability 1/2.
    """
    items = int(np.prod(shape))
    stream = 0
    if swap:
        items = 2 * items
        stream = 4
    step = chunk_size(items)
    if swap:
        # numpy takes four coins from one random number, and drops the coins that are
        # left over at the end of a chunk.
        step = max(4, step // 4 * 4)
    kind = exact(items)
    sizes = _sizes(shape, units)
    rng = {}
    for unit in sizes:
        rng[unit] = np.random.default_rng([seed, UNITS.index(unit) + stream])
    for start in range(0, n, step):
        b = min(step, n - start)
        drawn = {}
        for unit, size in sizes.items():
            if swap:
                weights: Ints = rng[unit].integers(0, 2, (b, size), dtype=np.int8)
            else:
                weights = _counts(rng[unit], b, size)
            drawn[unit] = np.ascontiguousarray(weights.T, dtype=kind)
        yield Draws(**drawn)


def every_pattern(present: npt.NDArray[np.bool_], most: int) -> Weights | None:
    """All ways to exchange some systems' scores but for mirror images, none first:
    (systems, patterns); None where there are more than `most`.
    """
    exchanged = np.flatnonzero(present.any(axis=1))[1:]
    number = 2 ** len(exchanged)
    if number > most:
        return None
    kind = exact(2 * present.size)
    patterns = np.zeros((len(present), number), dtype=kind)
    bit = np.arange(len(exchanged))[:, None]
    patterns[exchanged] = np.arange(number) >> bit & 1
    return patterns


def left_out(shape: tuple[int, ...], unit: str) -> Iterator[Draws]:
    """Every sample with one unit left out, rows, inputs or systems: the jackknife."""
    items = int(np.prod(shape))
    size = _sizes(shape, unit)[unit]
    step = chunk_size(items)
    for start in range(0, size, step):
        out = np.arange(start, min(start + step, size))
        counts = np.ones((size, len(out)), dtype=exact(items))
        counts[out, np.arange(len(out))] = 0
        yield Draws(**{unit: counts})


def everything(shape: tuple[int, ...]) -> Draws:
    """The data themselves as one resample."""
    units = "both"
    if len(shape) == 1:
        units = "rows"
    kind = exact(int(np.prod(shape)))
    ones = {}
    for unit, size in _sizes(shape, units).items():
        ones[unit] = np.ones((size, 1), kind)
    return Draws(**ones)


def _sizes(shape: tuple[int, ...], units: str) -> dict[str, int]:
    """How many units of each kind are drawn."""
    if units == "rows":
        return {"rows": int(np.prod(shape))}
    sizes = {"systems": shape[0], "inputs": shape[1]}
    if units == "both":
        return sizes
    return {units: sizes[units]}


def _counts(rng: np.random.Generator, b: int, size: int) -> Ints:
    """Counts of `size` draws with replacement, b times: (b, size).

    A few rows at a time, so that no row needs fresh memory.
    """
    kind = np.int16 if size < 2**15 else np.int64
    out = np.empty((b, size), dtype=kind)
    step = max(1, 2**13 // size)
    for start in range(0, b, step):
        rows = out[start : start + step]
        drawn = rng.integers(0, size, rows.shape)
        drawn += size * np.arange(len(rows))[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows.size)
        rows[:] = counts.reshape(-1, size)
    return out
