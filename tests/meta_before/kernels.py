"""Arithmetic that the flat and the column kernels share: exact counts in, coefficients out.

A resample is written as whole-number weights: how often each item was drawn. A pair of copies of one item is tied on
both sides, which is what the resampled data themselves would say.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from . import checks
from .checks import Floats

KENDALL = ("kendall-a", "kendall-b", "kendall-c")
COEFFICIENTS = ("pearson", "spearman", *KENDALL, "acc-eq")

Ints = npt.NDArray[np.integer]


def named(coef: str) -> str:
    """The coefficient's full name; "kendall" alone is kendall-b.

    Raises: ValueError for an unknown coefficient.
    """
    return checks.choice("kendall-b" if coef == "kendall" else coef, COEFFICIENTS, "coef")


def counting_type(bound: int) -> type[np.signedinteger]:
    """The narrowest integer type in which sums of two counts up to `bound` are exact: narrow types are fast."""
    return np.int16 if bound < 2**14 else np.int32 if bound < 2**30 else np.int64


def codes(values: Floats) -> tuple[Ints, int]:
    """Dense ranks from 0 of a flat array, and how many distinct values there are."""
    distinct, code = np.unique(values, return_inverse=True)
    return code.reshape(values.shape), len(distinct)


def finer_first(x: Floats, y: Floats) -> tuple[tuple[Ints, int], tuple[Ints, int], bool]:
    """`codes` of both sides, that with more distinct values first, and whether they changed places for it."""
    sides = codes(x), codes(y)
    turned = sides[0][1] < sides[1][1]
    return (*(reversed(sides) if turned else sides), turned)


class Workspace:
    """Named scratch arrays that are kept between chunks: fresh memory costs more here than the arithmetic on it."""

    def __init__(self) -> None:
        self._buffers: dict[str, npt.NDArray[np.uint8]] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """An array with arbitrary content; the next call with the same name overwrites it."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if name not in self._buffers or len(self._buffers[name]) < size:
            self._buffers[name] = np.empty(size, dtype=np.uint8)
        return self._buffers[name][:size].view(dtype).reshape(shape)

    def take(self, name: str, rows: npt.NDArray[Any], places: Ints) -> npt.NDArray[Any]:
        """The named rows of a 2-D array, in order."""
        out = self.array(name, (len(places), rows.shape[1]), rows.dtype)
        return rows.take(places, axis=0, out=out, mode="clip")

    def wide(self, name: str, rows: npt.NDArray[Any]) -> Floats:
        """A float64 copy."""
        out = self.array(name, rows.shape, np.float64)
        np.copyto(out, rows)
        return out

    def dot(self, *factors: npt.NDArray[Any]) -> Floats:
        """Sum down the rows of the product of two or three arrays of one shape (m, b), in float64: (b,)."""
        total = np.zeros(factors[0].shape[1])
        for rows in blocks(*factors[0].shape):
            wide: list[Floats] = []
            for number, factor in enumerate(factors):
                again = number > 0 and factor is factors[number - 1]
                wide.append(wide[-1] if again else self.wide(f"wide {number}", factor[rows]))
            first, *others = wide
            if len(others) == 2:  # einsum is quick for two factors only
                first = np.multiply(first, others.pop(0), out=self.array("product", first.shape, np.float64))
            total += np.einsum("ij,ij->j", first, others[0])
        return total

    def project(self, fixed: Floats, rows: npt.NDArray[Any]) -> Floats:
        """The product fixed @ rows of (..., m) and (m, b), in float64: (..., b)."""
        total = np.zeros((*fixed.shape[:-1], rows.shape[1]))
        for part in blocks(*rows.shape):
            total += fixed[..., part] @ self.wide("wide 0", rows[part])
        return total


def block_rows(b: int) -> int:
    """How many rows of b columns stay in the processor's cache, in float64."""
    return max(1, 2**15 // max(b, 1))


def blocks(m: int, b: int) -> Iterator[slice]:
    """Slices of rows whose float64 copies stay in the processor's cache."""
    step = block_rows(b)
    for start in range(0, m, step):
        yield slice(start, min(start + step, m))


_threads = threading.local()


def workspace() -> Workspace:
    """This thread's scratch arrays, shared by all kernels: none keeps anything there from one call to the next."""
    if not hasattr(_threads, "space"):
        _threads.space = Workspace()
    return _threads.space


def from_pairs(
    coef: str,
    n: Floats,
    agree: Floats,
    differ_x: Floats,
    differ_y: Floats,
    differ_both: Floats | None = None,
    classes: Floats | None = None,
) -> Floats:
    """A Kendall coefficient or acc_eq from counts of pairs.

    n: items; agree: concordant minus discordant pairs; differ_x, differ_y, differ_both: pairs that differ in x, in y,
    in both; classes: the smaller number of distinct values (tau-c). NaN where the coefficient is not defined.
    Source: Kendall 1945 (tau-a, tau-b), Stuart 1953 (tau-c), Deutsch, Foster and Freitag 2023 (acc_eq).
    """
    n = np.asarray(n, dtype=float)
    total = n * (n - 1) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        if coef == "acc-eq":
            concordant = (differ_both + agree) / 2
            value = (concordant + total - differ_x - differ_y + differ_both) / total
            return np.where(total > 0, value, np.nan)
        if coef == "kendall-a":
            value = agree / total
        elif coef == "kendall-b":
            value = agree / np.sqrt(differ_x) / np.sqrt(differ_y)
        else:
            value = 2 * agree / (n**2 * (classes - 1) / classes)
    value = np.clip(value, -1.0, 1.0)
    return np.where((differ_x > 0) & (differ_y > 0), value, np.nan)


def from_moments(cross: Floats, square_x: Floats, square_y: Floats, defined: npt.NDArray[np.bool_]) -> Floats:
    """A product-moment coefficient from centred sums; NaN where not defined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = cross / np.sqrt(square_x) / np.sqrt(square_y)
    return np.where(defined, np.clip(value, -1.0, 1.0), np.nan)


def rescaled(values: Floats, axis: int | None = None) -> Floats:
    """Values divided by a power of two near their largest magnitude: squares neither overflow nor vanish, no rounding.

    NaN is left alone.
    """
    with np.errstate(invalid="ignore"):
        largest = np.fmax.reduce(np.abs(values), axis=axis, keepdims=axis is not None, initial=0.0)
    return np.ldexp(values, -np.frexp(largest)[1])


# spread below this share of the mean is rounding error, not information (scipy warns at 2e-12)
NEARLY_CONSTANT = 1e-13


def pearson(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Weighted Pearson correlation down each column in two passes, the accurate way: (n, b) three times to (b,)."""
    here = weights > 0
    n = weights.sum(axis=0, dtype=float)
    squares = []
    deviations = []
    defined = n >= 2
    for values in (x, y):
        values = rescaled(np.where(here, values, np.nan), axis=0)
        values = np.where(here, values, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (weights * values).sum(axis=0) / n
        deviation = np.where(here, values - mean, 0.0)
        square = (weights * deviation**2).sum(axis=0)
        low = np.where(here, values, np.inf).min(axis=0, initial=np.inf)
        high = np.where(here, values, -np.inf).max(axis=0, initial=-np.inf)
        with np.errstate(invalid="ignore"):
            defined &= (high > low) & (np.sqrt(square) >= NEARLY_CONSTANT * np.abs(mean))
        squares.append(square)
        deviations.append(deviation)
    cross = (weights * deviations[0] * deviations[1]).sum(axis=0)
    return from_moments(cross, squares[0], squares[1], defined)


def digits_lost(square: Floats, raw: Floats, mean: Floats) -> np.ndarray:
    """Where a centred sum of squares, taken as raw sum minus correction, is too small a rest to be trusted."""
    with np.errstate(invalid="ignore"):
        return ~((square > 1e-6 * raw) & (np.sqrt(np.maximum(square, 0.0)) > 1e-12 * np.abs(mean)))
