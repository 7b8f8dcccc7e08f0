"""Sums over items that belong together, for many resamples at once."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from . import kernels
from .kernels import Ints


class Groups:
    """Sums of rows that share a code; a plain reordering where each row is alone.

    code: (rows,) from 0. places: which row of the weights is each one's; None where they lie in this order.
    """

    def __init__(self, name: str, code: Ints, size: int, places: Ints | None = None) -> None:
        self.name, self.code, self.size, self.places = name, code, size, places
        self.alone = size == len(code)
        self.order = np.argsort(code, kind="stable") if self.alone else None
        self.sorted = self.alone and bool((self.order == np.arange(size)).all())
        if self.alone and places is not None:
            self.order = places[self.order]
        self._sum: sparse.csr_array | None = None

    def sum(self, weights: Ints) -> Ints:
        """(any, b) to (size, b)."""
        if self.sorted and self.places is None:
            return weights
        if self.alone:
            return kernels.workspace().take(self.name + " sum", weights, self.order)
        if self._sum is None or self._sum.dtype != weights.dtype or self._sum.shape[1] != len(weights):
            ones = np.ones(len(self.code), dtype=weights.dtype)
            places = np.arange(len(self.code)) if self.places is None else self.places
            self._sum = sparse.csr_array((ones, (self.code, places)), shape=(self.size, len(weights)))
        return self._sum @ weights

    def spread(self, values: Ints) -> Ints:
        """(size, b) back to (rows, b)."""
        return values if self.sorted else kernels.workspace().take(self.name + " spread", values, self.code)
