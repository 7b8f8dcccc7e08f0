"""Running sums down the rows of many columns at once: the step that every rank under weights is made of."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from . import kernels
from .kernels import Ints


class Running:
    """Cumulative sums of rows taken in one fixed order.

    The rows are cut into blocks of about the square root of their number. The first rows of all blocks lie together,
    then the second ones, and so on: each step adds one long piece of memory to the next, for all blocks at once.
    numpy's own cumsum walks each column by itself and is ten times slower here.

    at: (m + 1,) row of the sums that holds the sum of the first k. rows: which row of the weights lies where.
    """

    def __init__(self, name: str, order: Ints) -> None:
        m = len(order)
        self.name = name
        self.steps = max(1, round(m**0.5))
        self.blocks = max(1, -(-m // self.steps))
        k = np.arange(m)
        self.at = np.concatenate([[0], 1 + k % self.steps * self.blocks + k // self.steps])
        self.rows = np.zeros(self.steps * self.blocks, dtype=np.intp)
        self.rows[self.at[1:] - 1] = order
        self.full = m - (self.blocks - 1) * self.steps  # rows of the last block that are none of the filling

    def sums(self, weights: Ints) -> tuple[Ints, Ints]:
        """The weights as they lie here, filled up with zeros: (m', b). Their sums below a row of zeros: (m' + 1, b)."""
        taken = kernels.workspace().take(f"{self.name} taken", weights, self.rows)
        return taken, self.below(taken)

    def below(self, taken: Ints) -> Ints:
        """The sums of `sums`, of weights that lie in the order of `rows` already; what fills them up is made zero."""
        space = kernels.workspace()
        b = taken.shape[1]
        shape = (self.steps, self.blocks, b)
        steps = taken.reshape(shape)
        steps[self.full :, -1] = 0
        out = space.array(f"{self.name} sums", (1 + len(self.rows), b), taken.dtype)
        out[0] = 0
        body = out[1:].reshape(shape)
        body[0] = steps[0]
        for before, new, place in zip(body[:-1], steps[1:], body[1:], strict=True):
            np.add(before, new, out=place)
        below = space.array("blocks below", (self.blocks, b), taken.dtype)
        below[0] = 0
        for (before, place), block in zip(pairwise(below), body[-1], strict=False):
            np.add(before, block, out=place)
        body += below
        return out
