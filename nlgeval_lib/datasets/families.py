"""Which systems of a data set are of one family: no independent evidence, so that a
resampling takes them together.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import pandas as pd


@functools.cache
def table() -> pd.DataFrame:
    """A row a system with a family: `dataset`, `kind` (family), `name`, `group` (the
    family), `why`.
    """
    path = Path(__file__).with_name("families.csv")
    return pd.read_csv(path, keep_default_na=False)


def of_systems(name: str, systems: Sequence[str]) -> list[str]:
    """The family of each system of a data set, in their order; a system of no known
    family is its own.

    Example:
        >>> of_systems("openmeva", ["gpt", "gpt_kg", "fusion"])
        ['GPT-2', 'GPT-2', 'fusion']
    """
    rows = table().query("dataset == @name and kind == 'family'")
    by_system = dict(zip(rows["name"], rows["group"], strict=True))
    return [by_system.get(system, system) for system in systems]
