"""Which systems of a data set are of one family, and which column has the topics of its
inputs: what belongs together is no independent evidence.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import pandas as pd


@functools.cache
def table() -> pd.DataFrame:
    """Everything that is known: dataset, kind (family or topic), name (of a system, or
    of the column), group, why.
    """
    path = Path(__file__).with_name("families.csv")
    return pd.read_csv(path, keep_default_na=False)


def of_systems(name: str, systems: Sequence[str]) -> list[str]:
    """The family of each system of a data set; one of no known family is its own."""
    known = table()
    known = known[(known["dataset"] == name) & (known["kind"] == "family")]
    by_system = dict(zip(known["name"], known["group"], strict=True))
    return [by_system.get(system, system) for system in systems]


def topic_column(name: str) -> str:
    """The column of a data set's frame with the topics of its inputs; "" for none."""
    known = table()
    columns = known["name"][(known["dataset"] == name) & (known["kind"] == "topic")]
    return next(iter(columns), "")
