"""Which systems, inputs or rows belong together (families of one model, topics), and
what they are called.

`of` gives the groups as numbers, for `draws`; `names` what to call them in words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .draws import Groups

# "systems" or "inputs" -> what each unit, or each group of them, is called
Names = dict[str, tuple[str, ...]]
# what a unit is called where nobody named it
SINGLE = {"systems": "system", "inputs": "input", "rows": "row"}


def encode_groups(
    shape: tuple[int, ...], system_groups: Any = None, input_groups: Any = None
) -> Groups:
    """The groups of systems and of inputs: by the kind of unit, the number of each
    unit's group, from 0 in order of first appearance.

    shape: of the data, (items,) or (systems, inputs).
    system_groups, input_groups: a label for each; None for no groups. Of flat data
    `input_groups` has a label a row, and they are groups of rows. Labels that all
    differ are no groups.
    Raises: ValueError for labels that are missing, or are not one a unit, and for
    system_groups of flat data.

    Example:
        >>> encode_groups((3, 2), ["gpt", "llama", "gpt"])
        {'systems': array([0, 1, 0])}
    """
    labels_by_unit = {"systems": system_groups, "inputs": input_groups}
    groups = {}
    for unit, labels in labels_by_unit.items():
        if labels is None:
            continue
        name = f"{SINGLE[unit]}_groups"
        size = shape[0] if unit == "systems" else shape[-1]
        if unit == "systems" and len(shape) == 1:
            raise ValueError(f"{name}: got flat data; pass x[system, input]")
        codes = _codes(labels, size, name)
        if len(np.unique(codes)) == size:
            continue
        groups[unit] = codes
        # In flat data, and with one system, each row is an input.
        if unit == "inputs" and (len(shape) == 1 or shape[0] == 1):
            groups["rows"] = codes
    return groups


def _codes(labels: Any, size: int, name: str) -> Any:
    """Labels as numbers from 0, in order of first appearance: (size,).

    Raises: ValueError for another number of labels, and for missing ones.
    """
    listed = np.asarray(labels, dtype=object).tolist()
    if len(listed) != size:
        raise ValueError(f"{name}: got {len(listed)} labels for {size}; pass one each")
    # NaN differs from itself.
    missing = sum(label is None or label != label for label in listed)
    if missing:
        raise ValueError(
            f"{name}: {missing} of {size} labels are missing; "
            "give what belongs to no group its own name"
        )
    distinct = dict.fromkeys(listed)
    codes = {label: number for number, label in enumerate(distinct)}
    return np.array([codes[label] for label in listed])


def names(
    shape: tuple[int, ...],
    values: Any,
    system_groups: Any = None,
    input_groups: Any = None,
) -> Names:
    """What the systems, and groups of inputs, are called: by the groups' labels, the
    labels of a `DataFrame`, or their numbers. Empty for flat data.

    shape, system_groups, input_groups: as `of`.
    values: the data, which may be a `DataFrame`.

    Example:
        >>> names((2, 3), None, input_groups=["news", "sport", "news"])
        {'systems': ('system 0', 'system 1'), 'inputs': ('news', 'sport')}
    """
    labels_by_unit = {"systems": system_groups, "inputs": input_groups}
    names_by_unit: Names = {}
    for axis, unit in enumerate(labels_by_unit):
        if len(shape) < 2:
            continue
        labels = labels_by_unit[unit]
        if labels is None and unit == "inputs":
            # Single inputs are many, and none of them is ever named.
            continue
        if labels is None and hasattr(values, "axes"):
            labels = values.axes[axis]
        if labels is None or len(set(labels)) < 2:
            labels = [f"{SINGLE[unit]} {number}" for number in range(shape[axis])]
        distinct = dict.fromkeys(labels)
        names_by_unit[unit] = tuple(map(str, distinct))
    return names_by_unit
