"""Which items each resample holds: counts, left-out units, swap masks.

All come as `Draws`, in chunks, which do not change what is drawn. A unit is a row (an
item), an input or a system; units with a group are drawn, exchanged and left out by the
group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import arrays

# what may be drawn anew; both are systems and inputs at once
UNITS = ("rows", "inputs", "systems", "both")

Weights = npt.NDArray[np.floating]
Ints = npt.NDArray[np.integer]
# rows, inputs or systems -> the group of each, numbered from 0 (families, topics)
Groups = Mapping[str, Ints]
NO_GROUPS: Groups = {}


@dataclass(frozen=True)
class Draws:
    """How often each unit enters, for b resamples; None means each once. An item enters
    as often as the product says.

    systems, inputs: (systems, b), (inputs, b).
    rows: (items, b), items in row-major order of `X[system, input]`.
    """

    systems: Weights | None = None
    inputs: Weights | None = None
    rows: Weights | None = None

    def __len__(self) -> int:
        """How many resamples there are."""
        return self._any().shape[1]

    def _any(self) -> Weights:
        """The weights of one kind of unit that are not None."""
        kinds = (self.rows, self.systems, self.inputs)
        return next(weights for weights in kinds if weights is not None)

    def factors(self, places: Ints, inputs: int) -> tuple[Ints, Weights, Ints, Weights]:
        """Both factors of the weights of items: `a[rows_a] * b[rows_b]` are the
        weights, (items, b).

        places: of the items, in row-major order. inputs: how many the data have.
        Returns: rows_a, a, rows_b, b: rows (items,), factors `[row, resample]`.
        """
        once = np.ones((1, len(self)), dtype=self._any().dtype)
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

    def of_items(self, places: Ints, inputs: int) -> Weights:
        """The weights of items themselves, (items, b); arguments as `factors`."""
        rows_a, a, rows_b, b = self.factors(places, inputs)
        return np.asarray(a[rows_a] * b[rows_b])


def check_units(units: str, shape: tuple[int, ...], name: str = "units") -> None:
    """Raises: ValueError for an unknown word, or anything but "rows" on flat data."""
    arrays.choice(units, UNITS, name)
    if len(shape) == 1 and units != "rows":
        raise ValueError(
            f"{name}: got {units!r} for a flat vector; pass x[system, input], "
            "or choose 'rows'"
        )


def exact(bound: int) -> type[np.floating]:
    """The narrowest type, which is fast, in which twice a sum of weights up to `bound`
    is exact.
    """
    return np.float32 if bound < 2**23 else np.float64


def chunk_size(items: int) -> int:
    """Resamples per chunk, so that one array of a chunk has some million entries."""
    return int(np.clip(2**22 // max(items, 1), 4, 256))


def resamples(
    shape: tuple[int, ...],
    units: str,
    n: int,
    seed: int,
    swap: bool = False,
    groups: Groups = NO_GROUPS,
) -> Iterator[Draws]:
    """Bootstrap counts for n resamples, chunk by chunk: units drawn with replacement,
    as many as there are.

    shape: of the data. units: one of `UNITS`, each kind with its own random numbers.
    swap: masks of permutations in their place (1: exchange the two judges' scores
        here), each with probability 1/2.
    """
    items = int(np.prod(shape))
    stream = 0
    step = chunk_size(items)
    if swap:
        # Two judges' scores; and random numbers that no bootstrap uses.
        items = 2 * items
        stream = 4
        # numpy takes four coins from one random number, and drops the coins that are
        # left over at the end of a chunk.
        step = max(4, chunk_size(items) // 4 * 4)
    draw = _coins if swap else _counts
    sizes = _sizes(shape, units, groups)
    rng = {}
    for unit in sizes:
        rng[unit] = np.random.default_rng([seed, UNITS.index(unit) + stream])
    for start in range(0, n, step):
        b = min(step, n - start)
        drawn = {}
        for unit, size in sizes.items():
            weights = _of_members(draw(rng[unit], b, size).T, groups.get(unit))
            drawn[unit] = np.ascontiguousarray(weights, dtype=exact(items))
        yield Draws(**drawn)


def every_pattern(
    present: npt.NDArray[np.bool_], most: int, groups: Groups = NO_GROUPS
) -> Weights | None:
    """All ways to exchange some systems' (or families') scores but for mirror images,
    none first: (systems, patterns); None where there are more than `most`.

    present: which items take part, `[system, input]`.
    """
    # The first system keeps its scores: patterns in which it does not are the mirrors.
    exchanged = taking_part(present, "systems", groups)[1:]
    number = 2 ** len(exchanged)
    if number > most:
        return None
    sizes = _sizes(present.shape, "systems", groups)
    patterns = np.zeros((sizes["systems"], number), dtype=exact(2 * present.size))
    # The bits of a pattern's number say which systems are exchanged in it.
    place = np.arange(len(exchanged))[:, None]
    patterns[exchanged] = np.arange(number) >> place & 1
    return _of_members(patterns, groups.get("systems"))


def drawn_as(unit: str) -> str:
    """A cell, of a system and an input, is drawn as a row."""
    return "rows" if unit == "cells" else unit


def taking_part(
    present: npt.NDArray[np.bool_], unit: str, groups: Groups = NO_GROUPS
) -> Ints:
    """The numbers of the units, or of their groups, with an item that takes part, in
    ascending order.

    unit: rows, also called cells (numbered in row-major order), inputs or systems.
    """
    unit = drawn_as(unit)
    if unit == "rows":
        members = np.flatnonzero(present)
    else:
        axis = {"systems": 1, "inputs": 0}[unit]
        members = np.flatnonzero(present.any(axis=axis))
    if unit in groups:
        return np.unique(groups[unit][members])
    return members


def left_out(
    shape: tuple[int, ...],
    unit: str,
    groups: Groups = NO_GROUPS,
    together: Ints | None = None,
) -> Iterator[Draws]:
    """Every sample with one unit left out, or one group of them: the jackknife.

    unit: rows, also called cells, inputs or systems.
    together: (samples, units), the numbers of the units, or groups, that each sample
        lacks, in place of one alone.
    """
    unit = drawn_as(unit)
    items = int(np.prod(shape))
    size = _sizes(shape, unit, groups)[unit]
    if together is None:
        together = np.arange(size)[:, None]
    step = chunk_size(items)
    for start in range(0, len(together), step):
        batch = together[start : start + step]
        counts = np.ones((size, len(batch)), dtype=exact(items))
        np.put_along_axis(counts, batch.T, 0, axis=0)
        yield Draws(**{unit: _of_members(counts, groups.get(unit))})


def _of_members(weights: Any, codes: Ints | None) -> Any:
    """The weights of groups, (groups, b), as those of their members, (members, b)."""
    return weights if codes is None else weights[codes]


def everything(shape: tuple[int, ...]) -> Draws:
    """The data themselves as one resample, for data of this shape."""
    kind = exact(int(np.prod(shape)))
    ones = {}
    for unit, size in _sizes(shape, "rows" if len(shape) == 1 else "both").items():
        ones[unit] = np.ones((size, 1), kind)
    return Draws(**ones)


def _sizes(
    shape: tuple[int, ...], units: str, groups: Groups = NO_GROUPS
) -> dict[str, int]:
    """How many units, or groups of them, are drawn, by the kind of unit."""
    if units == "rows":
        sizes = {"rows": int(np.prod(shape))}
    else:
        sizes = {"systems": shape[0], "inputs": shape[1]}
        if units != "both":
            sizes = {units: sizes[units]}
    for unit in sizes.keys() & groups.keys():
        sizes[unit] = int(groups[unit].max()) + 1
    return sizes


def _coins(rng: np.random.Generator, b: int, size: int) -> Ints:
    """Coins of 0 or 1: (b, size)."""
    return rng.integers(0, 2, (b, size), dtype=np.int8)


def _counts(rng: np.random.Generator, b: int, size: int) -> Ints:
    """Counts of `size` draws with replacement, b times: (b, size).

    A few rows at a time, so that no row needs fresh memory.
    """
    out = np.empty((b, size), dtype=np.int16 if size < 2**15 else np.int64)
    step = max(1, 2**13 // size)
    for start in range(0, b, step):
        rows = out[start : start + step]
        drawn = rng.integers(0, size, rows.shape)
        # Each row counts in bins of its own, so that one call counts all.
        drawn += size * np.arange(len(rows))[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows.size)
        rows[:] = counts.reshape(-1, size)
    return out
