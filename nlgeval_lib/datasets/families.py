"""Which systems of a data set are of one family, and which column has the topics of its
inputs.

Systems of one family (decodings of one model, say) and inputs of one topic are no
independent evidence: a resampling that takes them together asks here.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import pandas as pd


@functools.cache
def table() -> pd.DataFrame:
    """Everything that is known, from `families.csv`.

    Returns: a row a system with a family, and a row a column of topics: `dataset`,
    `kind` (family or topic), `name` (of the system, or of the column), `group` (the
    family; empty for a topic), `why`.
    """
    path = Path(__file__).with_name("families.csv")
    return pd.read_csv(path, keep_default_na=False)


def of_systems(name: str, systems: Sequence[str]) -> list[str]:
    """The family of each system of a data set; a system of no known family is its own.

    name: the data set; of one that the table does not know, every system is its own
    family.
    systems: names as in the frame's `system_id`.
    Returns: one family a system, in the order of `systems`.

    Example:
        >>> of_systems("openmeva", ["gpt", "gpt_kg", "fusion"])
        ['GPT-2', 'GPT-2', 'fusion']
    """
    rows = _rows(name, "family")
    by_system = dict(zip(rows["name"], rows["group"], strict=True))
    return [by_system.get(system, system) for system in systems]


def topic_column(name: str) -> str:
    """The column of a data set's frame that has the topics of its inputs; "" for none.

    Example:
        >>> topic_column("webnlg2020")
        'category'
    """
    columns = _rows(name, "topic")["name"]
    return next(iter(columns), "")


def _rows(name: str, kind: str) -> pd.DataFrame:
    """The rows of the table about a data set, of one kind."""
    families = table()
    of_set = families["dataset"] == name
    of_kind = families["kind"] == kind
    return families[of_set & of_kind]
