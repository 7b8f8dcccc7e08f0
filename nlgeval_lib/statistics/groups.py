"""Which systems, inputs or rows belong together (families of one model, topics), and
what they are called.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import arrays
from .draws import Groups, Ints

# "systems" or "inputs" -> what each unit, or each group of them, is called
Names = dict[str, tuple[str, ...]]
# what a unit is called where nobody named it
SINGLE = {"systems": "system", "inputs": "input", "rows": "row"}


def encode_groups(
    shape: tuple[int, ...], system_groups: Any = None, input_groups: Any = None
) -> Groups:
    """By the kind of unit, the number of each unit's group, in order of appearance.

    shape: of the data, (items,) or (systems, inputs).
    system_groups, input_groups: a label for each; None for no groups. Of flat data
        `input_groups` has a label a row. Labels that all differ are no groups.
    Raises: ValueError for labels that are missing, or are not one a unit, and for
        system_groups of flat data.
    """
    groups = {}
    for unit, labels in {"systems": system_groups, "inputs": input_groups}.items():
        if labels is None:
            continue
        name = f"{SINGLE[unit]}_groups"
        if unit == "systems" and len(shape) == 1:
            raise ValueError(f"{name}: got flat data; pass x[system, input]")
        size = shape[0] if unit == "systems" else shape[-1]
        codes = _codes(labels, size, name)
        if len(np.unique(codes)) == size:
            continue
        groups[unit] = codes
        # In flat data, and with one system, each row is an input.
        if unit == "inputs" and (len(shape) == 1 or shape[0] == 1):
            groups["rows"] = codes
    return groups


def _codes(labels: Any, size: int, name: str) -> Ints:
    """Labels as numbers from 0, in order of first appearance: (size,)."""
    listed = np.asarray(labels, dtype=object).tolist()
    if len(listed) != size:
        raise ValueError(f"{name}: got {len(listed)} labels for {size}; pass one each")
    arrays.all_labelled(listed, name, "give what belongs to no group its own name")
    codes = {label: number for number, label in enumerate(dict.fromkeys(listed))}
    return np.array([codes[label] for label in listed])


def names(
    shape: tuple[int, ...],
    values: Any,
    system_groups: Any = None,
    input_groups: Any = None,
) -> Names:
    """What systems, and groups of inputs, are called; empty for flat data.

    shape, system_groups, input_groups: as `encode_groups`.
    values: the data, whose labels serve where it is a `DataFrame`.
    """
    names_by_unit: Names = {}
    labels_by_unit = {"systems": system_groups, "inputs": input_groups}
    for axis, (unit, labels) in enumerate(labels_by_unit.items()):
        # Single inputs are many, and none of them is ever named.
        if len(shape) < 2 or (labels is None and unit == "inputs"):
            continue
        if labels is None and hasattr(values, "axes"):
            labels = values.axes[axis]
        if labels is None or len(set(labels)) < 2:
            labels = [f"{SINGLE[unit]} {number}" for number in range(shape[axis])]
        names_by_unit[unit] = tuple(map(str, dict.fromkeys(labels)))
    return names_by_unit
