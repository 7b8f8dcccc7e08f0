"""Which items each resample holds: bootstrap counts, left-out units, swap masks. All from a seed, in chunks.

The numbers drawn do not depend on how they are cut into chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import arrays

UNITS = ("rows", "inputs", "systems", "both")

Weights = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Draws:
    """How often each unit enters, for b resamples; None means each once. An item enters as often as the product says.

    systems: (systems, b). inputs: (inputs, b). rows: (items, b), items in row-major order of `X[system, input]`.
    base: 0, or one half where the numbers are coins of one half up or down: an item is in (1) or out (0).
    """

    systems: Weights | None = None
    inputs: Weights | None = None
    rows: Weights | None = None
    base: float = 0.0

    def __len__(self) -> int:
        return next(a.shape[1] for a in (self.systems, self.inputs, self.rows) if a is not None)


def check_units(units: str, shape: tuple[int, ...], name: str = "units") -> str:
    """The units themselves when data of this shape have them.

    Raises: ValueError for an unknown word, or for anything but "rows" on flat data.
    """
    arrays.choice(units, UNITS, name)
    if len(shape) == 1 and units != "rows":
        raise ValueError(f"{name}: got {units!r} for a flat vector; pass x[system, input], or choose 'rows'")
    return units


def exact(bound: int) -> type[np.floating]:
    """The narrowest type in which twice a sum of weights up to `bound` is exact: narrow types are fast."""
    return np.float32 if bound < 2**23 else np.float64


def chunk_size(items: int) -> int:
    """Resamples per chunk, so that one array of a chunk has some million entries."""
    return int(np.clip(2**22 // max(items, 1), 4, 1024))


def bootstrap(shape: tuple[int, ...], units: str, n: int, seed: int) -> Iterator[Draws]:
    """Bootstrap counts for n resamples, chunk by chunk: units drawn with replacement, as many as there are."""
    rng = {unit: np.random.default_rng([seed, number]) for number, unit in enumerate(UNITS)}
    sizes, kind = _sizes(shape, units), exact(int(np.prod(shape)))
    step = chunk_size(int(np.prod(shape)))
    for start in range(0, n, step):
        b = min(step, n - start)
        drawn: dict[str, Any] = {unit: _draw_counts(rng[unit], b, size, kind) for unit, size in sizes.items()}
        yield Draws(**drawn)


def swaps(shape: tuple[int, ...], units: str, n: int, seed: int) -> Iterator[Draws]:
    """Swap masks (1: exchange the two judges' scores here) for n permutations, each unit with probability 1/2."""
    rng = {unit: np.random.default_rng([seed, 4 + number]) for number, unit in enumerate(UNITS)}
    sizes, kind = _sizes(shape, units), exact(2 * int(np.prod(shape)))
    # numpy takes four coins from one random number, and drops those left over at the end of a chunk
    step = max(4, chunk_size(2 * int(np.prod(shape))) // 4 * 4)
    for start in range(0, n, step):
        b = min(step, n - start)
        masks: dict[str, Any] = {}
        for unit, size in sizes.items():
            coins = rng[unit].integers(0, 2, (b, size), dtype=np.int8)
            masks[unit] = np.ascontiguousarray(coins.T, dtype=kind)
        yield Draws(**masks)


def every_pattern(here: npt.NDArray[np.bool_], most: int) -> Weights | None:
    """All ways to exchange the scores of some systems with items, but for mirror images: (systems, patterns).

    here: `[system, input]`. The first such system keeps its own; pattern 0 exchanges nothing. None: more than `most`.
    """
    there = np.flatnonzero(here.any(axis=1))[1:]
    if 2 ** len(there) > most:
        return None
    patterns = np.zeros((len(here), 2 ** len(there)), dtype=exact(2 * here.size))
    patterns[there] = np.arange(2 ** len(there)) >> np.arange(len(there))[:, None] & 1
    return patterns


def in_chunks(patterns: Weights, here: npt.NDArray[np.bool_]) -> Iterator[Draws]:
    """The patterns of exchanged systems as masks, chunk by chunk."""
    step = chunk_size(2 * here.size)
    for start in range(0, patterns.shape[1], step):
        yield Draws(systems=np.ascontiguousarray(patterns[:, start : start + step]))


def left_out(shape: tuple[int, ...], unit: str) -> Iterator[Draws]:
    """Every sample with one unit left out, rows, inputs or systems: the jackknife."""
    step, kind, size = chunk_size(int(np.prod(shape))), exact(int(np.prod(shape))), _sizes(shape, unit)[unit]
    for start in range(0, size, step):
        out = np.arange(start, min(start + step, size))
        counts: Any = np.ones((size, len(out)), dtype=kind)
        counts[out, np.arange(len(out))] = 0
        yield Draws(**{unit: counts})


def everything(shape: tuple[int, ...]) -> Draws:
    """The data themselves as one resample."""
    kind = exact(int(np.prod(shape)))
    if len(shape) == 1:
        return Draws(rows=np.ones((shape[0], 1), dtype=kind))
    return Draws(systems=np.ones((shape[0], 1), dtype=kind), inputs=np.ones((shape[1], 1), dtype=kind))


def _sizes(shape: tuple[int, ...], units: str) -> dict[str, int]:
    check_units(units, shape)
    if units == "rows":
        return {"rows": int(np.prod(shape))}
    named = {"systems": shape[0], "inputs": shape[1]}
    return named if units == "both" else {units: named[units]}


def _draw_counts(rng: np.random.Generator, b: int, size: int, kind: type[np.floating]) -> Weights:
    """Counts of `size` draws with replacement, b times: (size, b). In pieces that need no fresh memory each."""
    out = np.empty((b, size), dtype=np.int16 if size < 2**15 else np.int64)
    step = max(1, 2**13 // size)
    for start in range(0, b, step):
        rows = out[start : start + step]
        drawn = rng.integers(0, size, rows.shape)
        drawn += size * np.arange(len(rows))[:, None]
        rows[:] = np.bincount(drawn.ravel(), minlength=rows.size).reshape(-1, size)
    return np.ascontiguousarray(out.T, dtype=kind)
