"""One coefficient of many lists of items under many sets of weights: the loops, compiled by numba on first use.

A resample is written as whole-number weights: how often each item was drawn. A pair of copies of one item is tied on
both sides, which is what the resampled data themselves would say. The weight of an item is `base` plus the product of
its rows in `a` and `b`, as `draws.Draws` says. Each step works on a row of resamples side by side. Sums of whole
numbers are exact. One thread.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    import numba
except ModuleNotFoundError:
    numba = None

PEARSON, SPEARMAN, KENDALL_A, KENDALL_B, KENDALL_C, ACC_EQ = range(6)
LOST = 1e-6  # a centred sum of squares that is less than this of the raw one has lost digits
NEARLY_CONSTANT = 1e-13  # spread below this share of the mean is rounding error (scipy warns at 2e-12)
SLOW = 3.0  # seconds in loops that are not compiled, after which it is said
SAID = "package numba is not installed, so intervals and tests are slow: pip install 'nlgeval-lib[stats]' brings it"
taken = 0.0

inner = numba.njit(error_model="numpy") if numba else lambda function: function


def kept(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiled once a machine and kept, where that can be written; without numba as it stands, to the same numbers."""
    if numba is None:

        def plain(*args: Any) -> None:
            global taken
            taken -= time.perf_counter()
            with np.errstate(all="ignore"):
                function(*args)
            taken += time.perf_counter()
            if taken > SLOW:
                warnings.warn(SAID, stacklevel=1)

        return plain
    try:
        return numba.njit(cache=True, error_model="numpy")(function)
    except RuntimeError:
        return inner(function)


@inner
def add(to, row):
    for j in range(len(to)):
        to[j] += row[j]


@inner
def add_product(to, a, b):
    kind = to.dtype.type
    for j in range(len(to)):
        to[j] += kind(a[j]) * kind(b[j])


@inner
def add_present(to, row):
    for j in range(len(to)):
        to[j] += row[j] > 0


@inner
def from_pairs(coef, n, agree, differ_x, differ_y, differ_both, classes):
    """A Kendall coefficient or acc_eq from counts of pairs; NaN where not defined.

    agree: concordant minus discordant pairs; differ: pairs that differ in x, in y, in both; classes: the smaller number
    of distinct values. Source: Kendall 1945, Stuart 1953 (tau-c), Deutsch, Foster and Freitag 2023 (acc_eq).
    """
    total = n * (n - 1) / 2
    if coef == ACC_EQ:
        return ((differ_both + agree) / 2 + total - differ_x - differ_y + differ_both) / total if total > 0 else np.nan
    if coef == KENDALL_A:
        value = agree / total
    elif coef == KENDALL_B:
        value = agree / np.sqrt(differ_x) / np.sqrt(differ_y)
    else:
        value = 2 * agree / (n * n * (classes - 1) / classes)
    return min(max(value, -1.0), 1.0) if differ_x > 0 and differ_y > 0 else np.nan


@inner
def from_moments(cross, square_x, square_y):
    return min(max(cross / np.sqrt(square_x) / np.sqrt(square_y), -1.0), 1.0)


@inner
def careful_pearson(x, y, w):
    """In two passes, the accurate way. x, y, w: (items,)."""
    n = mean_x = mean_y = 0.0
    low_x, low_y, high_x, high_y = np.inf, np.inf, -np.inf, -np.inf
    for i in range(len(x)):
        if w[i] > 0:
            n += w[i]
            mean_x += w[i] * x[i]
            mean_y += w[i] * y[i]
            low_x, low_y, high_x, high_y = min(low_x, x[i]), min(low_y, y[i]), max(high_x, x[i]), max(high_y, y[i])
    if not (n >= 2 and high_x > low_x and high_y > low_y):
        return np.nan
    mean_x, mean_y = mean_x / n, mean_y / n
    square_x = square_y = cross = 0.0
    for i in range(len(x)):
        if w[i] > 0:
            square_x += w[i] * (x[i] - mean_x) ** 2
            square_y += w[i] * (y[i] - mean_y) ** 2
            cross += w[i] * (x[i] - mean_x) * (y[i] - mean_y)
    least_x, least_y = NEARLY_CONSTANT * abs(mean_x), NEARLY_CONSTANT * abs(mean_y)
    if np.sqrt(square_x) < least_x or np.sqrt(square_y) < least_y:
        return np.nan
    return from_moments(cross, square_x, square_y)


@kept
def ranked(coef, left, right, cell, bounds, x, y, turned, a, b, base, scratch, out):
    """Any coefficient of ranks of each list: (lists, b), as `lists.Lists` prepares it.

    Cells hold the items that are tied on both sides. Where `base` is one half, an item is in or out, and a second row
    of results, (2 * lists, b), is that of all that the first leaves out.
    """
    m, kind = a.shape[1], a.dtype.type
    most, values = (bounds[1:] - bounds[:-1]).max(), y.max() + 1
    cells = scratch[: most * m].reshape(most, m)  # given, as fresh memory costs more than the arithmetic on it
    held = scratch[most * m : (most + values) * m].reshape(values, m)
    tree = scratch[(most + values) * m :].reshape(-1, m)
    counts, sums, cubes = np.empty((3, m), a.dtype), np.empty((6, m)), np.empty(m)
    for one in range(len(bounds) - 1):
        start, stop = bounds[one], bounds[one + 1]
        own_x, own_y = x[start:stop], y[start:stop]
        for c in range(start, stop):
            weight, i = cells[c - start], cell[c]
            row_a, row_b, rest = a[left[i]], b[right[i]], kind(base * (cell[c + 1] - i))
            for j in range(m):
                weight[j] = rest + row_a[j] * row_b[j]
            for i in range(cell[c] + 1, cell[c + 1]):
                add_product(weight, a[left[i]], b[right[i]])
        for half in range(1 if base == 0 else 2):
            if half:
                for c in range(start, stop):
                    weight, size = cells[c - start], kind(cell[c + 1] - cell[c])
                    for j in range(m):
                        weight[j] = size - weight[j]
            row = out[half * (len(bounds) - 1) + one]
            if coef != SPEARMAN:
                kendall(coef, own_x, own_y, cells, held, tree, counts, sums, turned, row)
                continue
            if not half:  # what judges exchange are scores: the ratings' ranks stay, those of half the pool
                held[:] = 0
                for c in range(stop - start):
                    rank, weight, size = held[own_y[c]], cells[c], cell[start + c + 1] - cell[start + c]
                    for j in range(m):
                        rank[j] += weight[j] if base == 0 else kind(base * size)
                doubled(held, counts, cubes)
            spearman(own_x, own_y, cells, tree, held, counts, sums, cubes, row)


@inner
def doubled(held, counts, cubes):
    """From the weight of each value to twice its mid-rank; the sum of all, and of the third powers, into the last."""
    counts[:] = 0
    cubes[:] = 0
    below = counts[0]
    for k in range(len(held)):
        rank = held[k]
        for j in range(len(rank)):
            count = rank[j]
            cubes[j] += np.float64(count) * count * count
            rank[j] = below[j] + below[j] + count
            below[j] += count


@inner
def kendall(coef, x, y, cells, held, tree, counts, sums, turned, out):
    """Kendall's coefficients and acc_eq of one list of cells, in order of x: (b,).

    A Fenwick tree over the values of y tells how many came before and stand lower. Source: Knight 1966; Fenwick 1994.
    """
    top = 0
    for c in range(len(x)):
        top = max(top, y[c] + 1)
    tree[: top + 1] = 0
    held[:top] = 0
    counts[:] = 0
    sums[: 6 if coef in (KENDALL_C, ACC_EQ) else 3] = 0
    n, lead = counts[0], counts[2]
    agree, tied_x, tied_y, tied_both, classes_x, classes_y = sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]
    c = 0
    while c < len(x):
        first = c
        while c < len(x) and x[c] == x[first]:
            level = held[y[c]]
            for j in range(len(n)):  # twice those below, once those level, less all: below minus above
                lead[j] = level[j] - n[j]
            node = y[c]
            while node > 0:
                for j in range(len(n)):
                    lead[j] += tree[node, j] + tree[node, j]  # a whole number 2 would make it float64
                node &= node - 1
            add_product(agree, cells[c], lead)
            if coef == ACC_EQ:
                add_product(tied_both, cells[c], cells[c])
            c += 1
        group = cells[first]
        if c > first + 1:
            group = counts[1]
            counts[1] = 0
        for k in range(first, c):
            if c > first + 1:
                add(group, cells[k])
            add(held[y[k]], cells[k])
            node = y[k] + 1
            while node <= top:
                add(tree[node], cells[k])
                node += node & -node
        add(n, group)
        add_product(tied_x, group, group)
        if coef == KENDALL_C:
            add_present(classes_x, group)
    for k in range(top):
        add_product(tied_y, held[k], held[k])
        if coef == KENDALL_C:
            add_present(classes_y, held[k])
    for j in range(len(n)):
        size = np.float64(n[j])
        differ_x, differ_y = (size * size - tied_x[j]) / 2, (size * size - tied_y[j]) / 2
        both = (size * size - tied_x[j] - tied_y[j] + tied_both[j]) / 2
        if turned:  # in scipy's order, to the last bit
            differ_x, differ_y = differ_y, differ_x
        out[j] = from_pairs(coef, size, agree[j], differ_x, differ_y, both, min(classes_x[j], classes_y[j]))


@inner
def spearman(x, y, cells, ranks_x, ranks_y, counts, sums, cubes_y, out):
    """Spearman's coefficient of one list of cells, in order of x: (b,). Twice a mid-rank is a whole number: exact."""
    ranks_x = ranks_x[: x[-1] + 1] if len(x) else ranks_x[:0]
    ranks_x[:] = 0
    for c in range(len(x)):
        add(ranks_x[x[c]], cells[c])
    n, cross, cubes_x = counts[0], sums[0], sums[1]
    doubled(ranks_x, counts, cubes_x)
    cross[:] = 0
    for c in range(len(x)):
        own, rank_x, rank_y = cells[c], ranks_x[x[c]], ranks_y[y[c]]
        for j in range(len(n)):
            cross[j] += np.float64(own[j]) * rank_x[j] * rank_y[j]
    for j in range(len(n)):
        cube = np.float64(n[j]) * n[j] * n[j]
        square_x, square_y = (cube - cubes_x[j]) / 3, (cube - cubes_y[j]) / 3
        value = from_moments(cross[j] - cube, square_x, square_y)
        out[j] = value if square_x > 0 and square_y > 0 else np.nan


@kept
def pearson(left, right, bounds, x, y, a, b, base, out):
    """Pearson's coefficient of each list: (lists, m); again in two passes where one loses digits. As `ranked`."""
    m, kind = a.shape[1], a.dtype.type
    sums, row = np.empty((6, m)), np.empty(m, a.dtype)
    for one in range(len(bounds) - 1):
        start, stop = bounds[one], bounds[one + 1]
        own_x, own_y = x[start:stop], y[start:stop]
        middle_x, middle_y = own_x.sum() / max(len(own_x), 1), own_y.sum() / max(len(own_y), 1)
        sums[:] = 0
        whole = np.zeros(6)
        for i in range(start, stop):
            dx, dy = x[i] - middle_x, y[i] - middle_y
            moments = (1.0, dx, dy, dx * dx, dy * dy, dx * dy)
            row[:] = kind(base)
            add_product(row, a[left[i]], b[right[i]])
            for k in range(6):
                whole[k] += moments[k]
                for j in range(m):
                    sums[k, j] += row[j] * moments[k]
        for other in range(1 if base == 0 else 2):
            for j in range(m):
                if other:
                    for k in range(6):
                        sums[k, j] = whole[k] - sums[k, j]
                n, sum_x, sum_y = sums[0, j], sums[1, j], sums[2, j]
                sum_xx, sum_yy, sum_xy = sums[3, j], sums[4, j], sums[5, j]
                mean_x, mean_y = sum_x / n, sum_y / n
                square_x, square_y = sum_xx - sum_x * mean_x, sum_yy - sum_y * mean_y
                sure = square_x > LOST * sum_xx and np.sqrt(square_x) > 1e-12 * abs(mean_x + middle_x)
                if sure and square_y > LOST * sum_yy and np.sqrt(square_y) > 1e-12 * abs(mean_y + middle_y):
                    value = from_moments(sum_xy - sum_x * mean_y, square_x, square_y)
                else:
                    weight = np.empty(len(own_x))
                    for i in range(start, stop):
                        weight[i - start] = base + a[left[i], j] * b[right[i], j]
                    value = careful_pearson(own_x, own_y, 1 - weight if other else weight)
                out[other * (len(bounds) - 1) + one, j] = value


@inner
def order(a, b, slack):
    return 1 if a - b > slack else -1 if b - a > slack else 0


@kept
def across(coef, x, y, slack_x, slack_y, w, out):
    """Any coefficient of each row of x and y `[b, system]`, which differ by resample: (b,). All pairs are looked at.

    slack: (systems,) how far rounding alone can move a value: values no further apart are tied.
    """
    systems = x.shape[1]
    for j in range(len(x)):
        if coef == PEARSON:
            out[j] = careful_pearson(x[j], y[j], w[j])
            continue
        n = agree = differ_x = differ_y = differ_both = cross = square_x = square_y = 0.0
        classes_x = classes_y = 0
        for s in range(systems):
            if w[j, s] == 0:
                continue
            rank_x = rank_y = 0.0
            new_x = new_y = 1
            for t in range(systems):
                if w[j, t] == 0:
                    continue
                up_x = order(x[j, s], x[j, t], max(slack_x[s], slack_x[t]))
                up_y = order(y[j, s], y[j, t], max(slack_y[s], slack_y[t]))
                rank_x += w[j, t] * up_x
                rank_y += w[j, t] * up_y
                if t < s:
                    pairs = w[j, s] * w[j, t]
                    agree += pairs * up_x * up_y
                    differ_x += pairs * abs(up_x)
                    differ_y += pairs * abs(up_y)
                    differ_both += pairs * abs(up_x * up_y)
                    new_x, new_y = new_x * abs(up_x), new_y * abs(up_y)
            n += w[j, s]
            classes_x += new_x
            classes_y += new_y
            cross += w[j, s] * rank_x * rank_y
            square_x += w[j, s] * rank_x * rank_x
            square_y += w[j, s] * rank_y * rank_y
        if coef != SPEARMAN:
            out[j] = from_pairs(coef, n, agree, differ_x, differ_y, differ_both, min(classes_x, classes_y))
        elif square_x > 0 and square_y > 0:
            out[j] = from_moments(cross, square_x, square_y)
        else:
            out[j] = np.nan


@inner
def below(tree, node):
    """What a Fenwick tree holds of values lower than `node`."""
    total = 0.0
    while node > 0:
        total += tree[node]
        node &= node - 1
    return total


@kept
def lower_before(size, x, y, out):
    """Of each cell, in order of x: items of smaller x that are lower in y, less those that are higher."""
    tree = np.zeros(y.max() + 2)
    n, c = 0.0, 0
    while c < len(x):
        first, before = c, n
        while c < len(x) and x[c] == x[first]:
            out[c] = below(tree, y[c]) + below(tree, y[c] + 1) - before
            n += size[c]
            c += 1
        for k in range(first, c):
            node = y[k] + 1
            while node < len(tree):
                tree[node] += size[k]
                node += node & -node


@kept
def of_counts(coef, n, agree, differ_x, differ_y, differ_both, classes, out):
    """`from_pairs` of each entry; NaN below two items."""
    for i in range(len(n)):
        args = n[i], agree[i], differ_x[i], differ_y[i], differ_both[i], classes[i]
        out[i] = from_pairs(coef, *args) if n[i] > 1 else np.nan
