"""One coefficient of many lists of items under many sets of weights: the loops,
compiled by numba on first use, or run as plain Python where numba is not installed.

A resample is written as whole-number weights: how often each item was drawn. A pair of
copies of one item is tied on both sides. The weight of an item is the product
of its rows in `a` and `b`, as `draws.Draws` says. Each step works on a row of
resamples side by side. Sums of whole numbers are exact. One thread.

Words: a cell is the set of items of a list that are tied on both sides. A code is the
dense rank of a value within its list, from 0. m is the number of resamples.
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

# numbers of the coefficients, in the order of `lists.COEFFICIENTS`
PEARSON, SPEARMAN, KENDALL_A, KENDALL_B, KENDALL_C, ACC_EQ = range(6)
# a centred sum of squares that is less than this share of the raw one has lost digits
LOST = 1e-6
# spread below this share of the mean is rounding error (scipy warns at 2e-12)
NEARLY_CONSTANT = 1e-13
# seconds in loops that are not compiled, after which a warning says so
SLOW = 3.0
WARNING = (
    "package numba is not installed, so intervals and tests are slow: "
    "pip install 'nlgeval-lib[stats]' brings it"
)
# seconds spent so far in loops that are not compiled
seconds = 0.0


# -- compiling


def inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiled as a part of the loops that call it; without numba as it stands."""
    if numba is None:
        return function
    return numba.njit(error_model="numpy")(function)


def kept(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiled once a machine and kept, where that can be written; without numba as
    it stands, with a warning once such loops took `SLOW` seconds.
    """
    if numba is None:

        def plain(*args: Any) -> None:
            global seconds
            start = time.perf_counter()
            # Compiled loops divide by zero in silence.
            with np.errstate(all="ignore"):
                function(*args)
            seconds += time.perf_counter() - start
            if seconds > SLOW:
                warnings.warn(WARNING, stacklevel=1)

        return plain
    try:
        return numba.njit(cache=True, error_model="numpy")(function)
    except RuntimeError:
        # There is no folder to which numba may write its cache.
        return inner(function)


# -- rows of resamples: (m,), added to in place


@inner
def add(to, row):
    """Add a row to another: (m,) each."""
    for j in range(len(to)):
        to[j] += row[j]


@inner
def add_product(to, a, b):
    """Add the product of two rows, computed in the type of `to`: (m,) each."""
    kind = to.dtype.type
    for j in range(len(to)):
        to[j] += kind(a[j]) * kind(b[j])


@inner
def add_present(to, row):
    """Add 1 wherever a weight is not 0: (m,) each."""
    for j in range(len(to)):
        to[j] += row[j] > 0


# -- a coefficient from its sums


@inner
def from_pairs(coef, n, agree, differ_x, differ_y, differ_both, classes):
    """A Kendall coefficient or acc_eq from counts of pairs; NaN where not defined.

    agree: concordant minus discordant pairs.
    differ_x, differ_y, differ_both: pairs that differ in x, in y, in both.
    classes: the smaller of the numbers of distinct values of x and of y.
    Source: Kendall 1945 (tau-a, tau-b), Stuart 1953 (tau-c), Deutsch, Foster and
    Freitag 2023 (acc_eq).
    """
    total = n * (n - 1) / 2
    if coef == ACC_EQ:
        if total <= 0:
            return np.nan
        # Pairs that differ in both are concordant or discordant.
        concordant = (differ_both + agree) / 2
        return (concordant + total - differ_x - differ_y + differ_both) / total
    if not (differ_x > 0 and differ_y > 0):
        return np.nan
    if coef == KENDALL_A:
        value = agree / total
    elif coef == KENDALL_B:
        value = agree / np.sqrt(differ_x) / np.sqrt(differ_y)
    else:
        value = 2 * agree / (n * n * (classes - 1) / classes)
    return min(max(value, -1.0), 1.0)


@inner
def from_moments(cross, square_x, square_y):
    """Pearson's coefficient from centred sums of products and squares, in [-1, 1]."""
    value = cross / np.sqrt(square_x) / np.sqrt(square_y)
    return min(max(value, -1.0), 1.0)


@inner
def careful_pearson(x, y, w):
    """Pearson's coefficient in two passes, the accurate way; NaN for fewer than two
    items, or a side that is constant but for rounding. x, y, w: (items,).
    """
    n = mean_x = mean_y = 0.0
    low_x = np.inf
    low_y = np.inf
    high_x = -np.inf
    high_y = -np.inf
    # First pass: means, and whether each side varies at all.
    for i in range(len(x)):
        if w[i] > 0:
            n += w[i]
            mean_x += w[i] * x[i]
            mean_y += w[i] * y[i]
            low_x = min(low_x, x[i])
            low_y = min(low_y, y[i])
            high_x = max(high_x, x[i])
            high_y = max(high_y, y[i])
    if not (n >= 2 and high_x > low_x and high_y > low_y):
        return np.nan
    mean_x = mean_x / n
    mean_y = mean_y / n
    # Second pass: sums about the means.
    square_x = square_y = cross = 0.0
    for i in range(len(x)):
        if w[i] > 0:
            square_x += w[i] * (x[i] - mean_x) ** 2
            square_y += w[i] * (y[i] - mean_y) ** 2
            cross += w[i] * (x[i] - mean_x) * (y[i] - mean_y)
    least_x = NEARLY_CONSTANT * abs(mean_x)
    least_y = NEARLY_CONSTANT * abs(mean_y)
    if np.sqrt(square_x) < least_x or np.sqrt(square_y) < least_y:
        return np.nan
    return from_moments(cross, square_x, square_y)


# -- coefficients of ranks, of each list


@kept
def ranked(coef, row_of_a, row_of_b, cell, bounds, x, y, a, b, out):
    """Any coefficient of ranks of each list, as `lists.Lists` prepares it.

    row_of_a, row_of_b: (items,), each item's row in `a` and in `b`, `[row, resample]`;
        items in order of their cells.
    cell, bounds: the first item of each cell, and the first cell of each list; and the
        number of all, in both.
    x, y: (cells,), codes, in order of x and then y within each list.
    out: (lists, m).
    """
    m = a.shape[1]
    longest = (bounds[1:] - bounds[:-1]).max()
    # Kendall keeps a tree over the values of y, Spearman the ranks of x.
    in_tree = x.max() + 1 if coef == SPEARMAN else y.max() + 2
    cells = np.empty((longest, m), a.dtype)
    at_value = np.empty((y.max() + 1, m), a.dtype)
    tree = np.empty((in_tree, m), a.dtype)
    counts = np.empty((3, m), a.dtype)
    sums = np.empty((6, m))
    for k in range(len(bounds) - 1):
        own_x = x[bounds[k] : bounds[k + 1]]
        own_y = y[bounds[k] : bounds[k + 1]]
        edges = cell[bounds[k] : bounds[k + 1] + 1]
        weigh(row_of_a, row_of_b, edges, a, b, cells)
        if coef == SPEARMAN:
            spearman(own_x, own_y, cells, tree, at_value, counts, sums, out[k])
            continue
        kendall(coef, own_x, own_y, cells, at_value, tree, counts, sums, out[k])


@inner
def weigh(row_of_a, row_of_b, edges, a, b, cells):
    """The weights of the cells of one list, into `cells[cell, resample]`: the sum over
    the items of each cell, whose first is in `edges`.
    """
    for c in range(len(edges) - 1):
        weight = cells[c]
        start = edges[c]
        factor_a = a[row_of_a[start]]
        factor_b = b[row_of_b[start]]
        for j in range(len(weight)):
            weight[j] = factor_a[j] * factor_b[j]
        for i in range(start + 1, edges[c + 1]):
            add_product(weight, a[row_of_a[i]], b[row_of_b[i]])


@inner
def doubled(ranks, counts, cubes):
    """From the weight of each value to twice its mid-rank less 1, in place, from the
    lowest value up: twice the weight below plus its own, a whole number, with mean n.

    counts, cubes: counts[0] becomes n, the sum of all weights, and cubes that of their
        third powers.
    """
    counts[:] = 0
    cubes[:] = 0
    lower = counts[0]
    for k in range(len(ranks)):
        rank = ranks[k]
        for j in range(len(rank)):
            count = rank[j]
            cubes[j] += np.float64(count) * count * count
            rank[j] = lower[j] + lower[j] + count
            lower[j] += count


@inner
def run_end(codes, first):
    """Where the run of equal codes that begins at `first` ends."""
    stop = first + 1
    while stop < len(codes) and codes[stop] == codes[first]:
        stop += 1
    return stop


@inner
def kendall(coef, x, y, cells, at_value, tree, counts, sums, out):
    """Kendall's coefficients and acc_eq of one list of cells, in order of x: (m,).

    A Fenwick tree over the values of y counts the earlier cells that stand lower.
    Source: Knight 1966; Fenwick 1994.
    """
    top = 0
    for c in range(len(x)):
        top = max(top, y[c] + 1)
    tree[: top + 1] = 0
    at_value[:top] = 0
    counts[:] = 0
    # Rows 3 to 5 serve acc_eq and tau-c alone.
    sums[: 6 if coef in (KENDALL_C, ACC_EQ) else 3] = 0
    n = counts[0]
    lead = counts[2]
    agree = sums[0]
    tied_x = sums[1]
    tied_both = sums[3]
    first = 0
    while first < len(x):
        stop = run_end(x, first)
        # Cells that are tied in x are compared with those of smaller x only.
        for c in range(first, stop):
            lead_over_earlier(y[c], at_value, tree, n, lead)
            add_product(agree, cells[c], lead)
            if coef == ACC_EQ:
                add_product(tied_both, cells[c], cells[c])
        group = cells[first]
        if stop > first + 1:
            group = counts[1]
            counts[1] = 0
            for c in range(first, stop):
                add(group, cells[c])
        for c in range(first, stop):
            insert(y[c], cells[c], at_value, tree, top)
        add(n, group)
        add_product(tied_x, group, group)
        if coef == KENDALL_C:
            add_present(sums[4], group)
        first = stop
    add_values_of_y(coef, at_value, top, sums)
    from_sums(coef, n, sums, out)


@inner
def add_values_of_y(coef, at_value, top, sums):
    """What the final weights of the `top` values of y say: ties (row 2 of sums) and,
    for tau-c, classes (row 5).
    """
    for k in range(top):
        add_product(sums[2], at_value[k], at_value[k])
        if coef == KENDALL_C:
            add_present(sums[5], at_value[k])


@inner
def lead_over_earlier(value, at_value, tree, n, lead):
    """The weight of the earlier cells that are lower in y than this value, less that of
    the higher ones: twice the lower, plus the equal, less all (n). Into `lead`, (m,).
    """
    equal = at_value[value]
    for j in range(len(n)):
        lead[j] = equal[j] - n[j]
    node = value
    while node > 0:
        for j in range(len(n)):
            # Two summands, as the whole number 2 would make a factor float64.
            lead[j] += tree[node, j] + tree[node, j]
        # Without its lowest bit: the node of the values before those of this node.
        node &= node - 1


@inner
def insert(value, weight, at_value, tree, top):
    """Count a cell among the earlier ones; top: the number of values of y."""
    add(at_value[value], weight)
    # Nodes are numbered from 1. Adding the lowest bit leads to the next that holds it.
    node = value + 1
    while node <= top:
        add(tree[node], weight)
        node += node & -node


@inner
def from_sums(coef, n, sums, out):
    """The coefficients from the sums that `kendall` collects: (m,).

    sums: `[6, resample]`: concordant less discordant pairs; sums of squared weights of
    the values of x, of y, and of cells; numbers of values of x and of y.
    """
    agree = sums[0]
    tied_x = sums[1]
    tied_y = sums[2]
    tied_both = sums[3]
    classes_x = sums[4]
    classes_y = sums[5]
    for j in range(len(n)):
        size = np.float64(n[j])
        square = size * size
        # Squares count each item with itself, too, which goes in the difference.
        differ_x = (square - tied_x[j]) / 2
        differ_y = (square - tied_y[j]) / 2
        both = (square - tied_x[j] - tied_y[j] + tied_both[j]) / 2
        classes = min(classes_x[j], classes_y[j])
        out[j] = from_pairs(coef, size, agree[j], differ_x, differ_y, both, classes)


@inner
def spearman(x, y, cells, ranks_x, ranks_y, counts, sums, out):
    """Spearman's coefficient of one list of cells, in order of x: (m,).

    Twice a mid-rank is a whole number, so all sums are exact. The centred sum of its
    squares is a third of n ** 3 less the third powers of the weights of tied values.
    """
    top_x = 0
    top_y = 0
    for c in range(len(x)):
        top_x = max(top_x, x[c] + 1)
        top_y = max(top_y, y[c] + 1)
    ranks_x = ranks_x[:top_x]
    ranks_y = ranks_y[:top_y]
    ranks_x[:] = 0
    ranks_y[:] = 0
    for c in range(len(x)):
        add(ranks_x[x[c]], cells[c])
        add(ranks_y[y[c]], cells[c])
    n = counts[0]
    cross = sums[0]
    cubes_x = sums[1]
    cubes_y = sums[2]
    doubled(ranks_x, counts, cubes_x)
    doubled(ranks_y, counts, cubes_y)
    cross[:] = 0
    for c in range(len(x)):
        weight = cells[c]
        rank_x = ranks_x[x[c]]
        rank_y = ranks_y[y[c]]
        for j in range(len(n)):
            cross[j] += np.float64(weight[j]) * rank_x[j] * rank_y[j]
    for j in range(len(n)):
        cube = np.float64(n[j]) * n[j] * n[j]
        square_x = (cube - cubes_x[j]) / 3
        square_y = (cube - cubes_y[j]) / 3
        out[j] = np.nan
        if square_x > 0 and square_y > 0:
            out[j] = from_moments(cross[j] - cube, square_x, square_y)


# -- Pearson's coefficient of each list


@kept
def pearson(row_of_a, row_of_b, bounds, x, y, a, b, out):
    """Pearson's coefficient of each list, in one pass; again in two passes where one
    loses digits.

    bounds: (lists + 1,), the first item of each list, and the number of items.
    x, y: (items,), values. Others as `ranked`.
    """
    m = a.shape[1]
    sums = np.empty((6, m))
    row = np.empty(m, a.dtype)
    for k in range(len(bounds) - 1):
        items = slice(bounds[k], bounds[k + 1])
        own_x = x[items]
        own_y = y[items]
        own_a = row_of_a[items]
        own_b = row_of_b[items]
        # About the middles of the list, so that the sums lose few digits.
        middle_x = own_x.sum() / max(len(own_x), 1)
        middle_y = own_y.sum() / max(len(own_y), 1)
        sum_moments(own_x - middle_x, own_y - middle_y, own_a, own_b, a, b, row, sums)
        for j in range(m):
            value = quick_pearson(sums[:, j], middle_x, middle_y)
            if np.isnan(value):
                weight = np.empty(len(own_x))
                for i in range(len(own_x)):
                    weight[i] = a[own_a[i], j] * b[own_b[i], j]
                value = careful_pearson(own_x, own_y, weight)
            out[k, j] = value


@inner
def sum_moments(x, y, row_of_a, row_of_b, a, b, row, sums):
    """Into `sums[6, resample]`, of one list: of the weights, and of these times x, y, x
    squared, y squared, x times y. row: (m,), room for an item's weights.
    """
    sums[:] = 0
    for i in range(len(x)):
        moments = (1.0, x[i], y[i], x[i] * x[i], y[i] * y[i], x[i] * y[i])
        row[:] = 0
        add_product(row, a[row_of_a[i]], b[row_of_b[i]])
        for k in range(6):
            for j in range(len(row)):
                sums[k, j] += row[j] * moments[k]


@inner
def quick_pearson(sums, middle_x, middle_y):
    """Pearson's coefficient from the six sums of `sum_moments`; NaN where too many
    digits are lost.
    """
    n, sum_x, sum_y, sum_xx, sum_yy, sum_xy = sums
    mean_x = sum_x / n
    mean_y = sum_y / n
    square_x = sum_xx - sum_x * mean_x
    square_y = sum_yy - sum_y * mean_y
    if not (square_x > LOST * sum_xx and square_y > LOST * sum_yy):
        return np.nan
    least_x = 1e-12 * abs(mean_x + middle_x)
    least_y = 1e-12 * abs(mean_y + middle_y)
    if not (np.sqrt(square_x) > least_x and np.sqrt(square_y) > least_y):
        return np.nan
    return from_moments(sum_xy - sum_x * mean_y, square_x, square_y)


# -- over systems, whose means differ by resample


@inner
def order(a, b, slack):
    """1 where a is higher, -1 where b is, 0 where they differ by no more than slack."""
    if a - b > slack:
        return 1
    if b - a > slack:
        return -1
    return 0


@kept
def across(coef, x, y, slack_x, slack_y, w, out):
    """Any coefficient of each row of x and y, which differ by resample: (m,).

    x, y, w: `[resample, system]`, means of scores and of ratings, and weights.
    slack_x, slack_y: (systems,), how far rounding alone can move a value: values no
        further apart are tied.
    """
    for j in range(len(x)):
        if coef == PEARSON:
            out[j] = careful_pearson(x[j], y[j], w[j])
        else:
            out[j] = all_pairs(coef, x[j], y[j], slack_x, slack_y, w[j])


@inner
def all_pairs(coef, x, y, slack_x, slack_y, w):
    """A coefficient of ranks of one row of systems; all pairs are looked at."""
    n = agree = differ_x = differ_y = differ_both = 0.0
    cross = square_x = square_y = 0.0
    classes_x = classes_y = 0
    for s in range(len(x)):
        if w[s] == 0:
            continue
        # Twice the rank less its mean: the weight of the lower less the higher.
        rank_x = rank_y = 0.0
        # A value counts as one more class where no earlier system has it.
        first_x = first_y = 1
        for t in range(len(x)):
            if w[t] == 0:
                continue
            most_x = max(slack_x[s], slack_x[t])
            most_y = max(slack_y[s], slack_y[t])
            up_x = order(x[s], x[t], most_x)
            up_y = order(y[s], y[t], most_y)
            rank_x += w[t] * up_x
            rank_y += w[t] * up_y
            if t < s:
                pairs = w[s] * w[t]
                agree += pairs * up_x * up_y
                differ_x += pairs * abs(up_x)
                differ_y += pairs * abs(up_y)
                differ_both += pairs * abs(up_x * up_y)
                first_x = first_x * abs(up_x)
                first_y = first_y * abs(up_y)
        n += w[s]
        classes_x += first_x
        classes_y += first_y
        cross += w[s] * rank_x * rank_y
        square_x += w[s] * rank_x * rank_x
        square_y += w[s] * rank_y * rank_y
    if coef != SPEARMAN:
        classes = min(classes_x, classes_y)
        return from_pairs(coef, n, agree, differ_x, differ_y, differ_both, classes)
    if square_x > 0 and square_y > 0:
        return from_moments(cross, square_x, square_y)
    return np.nan


# -- counts of pairs of one list


@inner
def below(tree, node):
    """The weight of the values lower than `node` in a Fenwick tree, whose first entry
    is 0.
    """
    total = tree[0]
    while node > 0:
        total += tree[node]
        node &= node - 1
    return total


@inner
def count_in(tree, code, weight):
    """Add the weight of a value to a Fenwick tree."""
    node = code + 1
    while node < len(tree):
        tree[node] += weight
        node += node & -node


@kept
def of_counts(coef, n, agree, differ_x, differ_y, differ_both, classes, out):
    """`from_pairs` of each entry; NaN below two items. All but coef: (entries,)."""
    for i in range(len(n)):
        out[i] = np.nan
        if n[i] > 1:
            differ = differ_x[i], differ_y[i], differ_both[i]
            out[i] = from_pairs(coef, n[i], agree[i], *differ, classes[i])


@kept
def agree_within(starts, x, y, out):
    """Of each group of items, its concordant less its discordant pairs.

    starts: (groups + 1,), the first item of each group, and the number of items.
    x, y: (items,), codes. out: (groups,).
    """
    for g in range(len(starts) - 1):
        for i in range(starts[g], starts[g + 1]):
            for j in range(starts[g], i):
                out[g] += order(x[j], x[i], 0) * order(y[j], y[i], 0)


@kept
def own_products(starts, x, y, rank_x, rank_y, out):
    """Of each group: the products of its items' ranks among the items of the others.

    starts: as `agree_within`. The others, (items,): codes, and twice the centred ranks
        among all items. out: (groups,).
    """
    for g in range(len(starts) - 1):
        for i in range(starts[g], starts[g + 1]):
            moved_x = rank_x[i]
            moved_y = rank_y[i]
            for j in range(starts[g], starts[g + 1]):
                moved_x -= order(x[i], x[j], 0)
                moved_y -= order(y[i], y[j], 0)
            out[g] += moved_x * moved_y


@kept
def both_moved(starts, y, rank_y, group, x_in_order, y_in_order, out):
    """Of each group, over all items: the sum of signs of the item's gaps in x to the
    group's items, times the same in y.

    starts: as `agree_within`. y, rank_y: (items,), codes and twice the centred ranks,
        group by group. group, x_in_order, y_in_order: in order of x. out: (groups,).
    """
    tree = np.zeros(y.max() + 2)
    n = 0.0
    first = 0
    while first < len(group):
        stop = run_end(x_in_order, first)
        # Of the items of lower x, then of those of the same x, too; the others are all
        # less these.
        for after in range(2):
            for i in range(first, stop):
                g = group[i]
                for j in range(starts[g], starts[g + 1]):
                    # items above this one less those below it
                    out[g] -= n - below(tree, y[j]) - below(tree, y[j] + 1)
                    if after:
                        out[g] -= rank_y[j]
            if after:
                break
            for i in range(first, stop):
                count_in(tree, y_in_order[i], 1)
            n += stop - first
        first = stop
