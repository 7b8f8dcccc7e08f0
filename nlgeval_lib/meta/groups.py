"""Which systems, inputs or rows belong together (families of one model, topics), and
what they are called.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .draws import Groups

Names = dict[str, tuple[str, ...]]
# what a unit is called where nobody named it
SINGLE = {"systems": "system", "inputs": "input", "rows": "row"}


def of(
    shape: tuple[int, ...], system_groups: Any = None, input_groups: Any = None
) -> Groups:
    """The groups of systems and of inputs, as codes; of flat data `input_groups` has a
    label a row, and they are groups of rows.

    Labels that all differ are no groups.
    Raises: ValueError for labels that are missing, or are not one a unit.
    """
    given = {"systems": system_groups, "inputs": input_groups}
    groups = {}
    for unit, labels in given.items():
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
        if unit == "inputs" and (len(shape) == 1 or shape[0] == 1):
            groups["rows"] = codes
    return groups


def _codes(labels: Any, size: int, name: str) -> Any:
    """Labels as numbers from 0, in order of first appearance.

    Raises: ValueError.
    """
    listed = np.asarray(labels, dtype=object).tolist()
    if len(listed) != size:
        raise ValueError(f"{name}: got {len(listed)} labels for {size}; pass one each")
    missing = sum(label is None or label != label for label in listed)
    if missing:
        raise ValueError(
            f"{name}: {missing} of {size} labels are missing; "
            "give what belongs to no group its own name"
        )
    order = {label: number for number, label in enumerate(dict.fromkeys(listed))}
    return np.array([order[label] for label in listed])


def names(
    shape: tuple[int, ...],
    values: Any,
    system_groups: Any = None,
    input_groups: Any = None,
) -> Names:
    """What the systems, and groups of inputs, are called: by the groups' labels, the
    labels of a `DataFrame`, or their numbers.
    """
    labels = {"systems": system_groups, "inputs": input_groups}
    named: Names = {}
    for axis, unit in enumerate(labels):
        if len(shape) < 2:
            continue
        given = labels[unit]
        if given is None and unit == "inputs":
            # Single inputs are many, and none of them is ever named.
            continue
        if given is None and hasattr(values, "axes"):
            given = values.axes[axis]
        if given is None or len(set(given)) < 2:
            given = [f"{SINGLE[unit]} {number}" for number in range(shape[axis])]
        named[unit] = tuple(map(str, dict.fromkeys(given)))
    return named
