"""The three counts of printed numbers that stand beside ours; they are never added up.

- *recomputed*: from public data, or by running the judge (routes `public` and `run`). What the paper's own authors
  published of their judge's outputs is public data, too.
- *consistent*: follows from other printed numbers (route `published`).
- *for orientation*: outputs of another judge, prompt or run (route `recorded`); shown, never compared.

A cell that is equal by construction, whatever was measured, is named in `data/paper_tables/by_construction.csv` with
its reason and counted in none.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from nlgeval_lib.papers.tables import KEY, folder, strings

VERDICTS = ("equal", "differs", "orientation", "construction", "missing", "extra")
_ROUTES = {"recomputed": ("run", "public"), "consistent": ("published",)}
_COLUMNS = ("paper", "table", *KEY, "route", "why")


def by_construction() -> dict[tuple[str, ...], str]:
    """Why a cell is equal whatever was measured, by (paper, table, row, column, statistic, route)."""
    path = folder() / "by_construction.csv"
    return _read(path, path.stat().st_mtime_ns) if path.exists() else {}


@functools.lru_cache(maxsize=8)
def _read(path: Path, modified: int) -> dict[tuple[str, ...], str]:
    return {tuple(row[:-1]): row[-1] for row in strings(path, _COLUMNS).itertuples(index=False, name=None)}


def counts(cells: pd.DataFrame) -> dict[str, int]:
    """What became of printed cells, as `compare` returns them: the cells of each count, and how many of them are equal.

    Keys: printed, recomputed, recomputed_equal, consistent, consistent_equal, orientation, construction, missing.
    """
    verdicts = cells["verdict"]
    found = {"printed": int((verdicts != "extra").sum())}
    for name, routes in _ROUTES.items():
        here = verdicts[cells["route"].isin(routes)]
        found[name] = int(here.isin(("equal", "differs")).sum())
        found[f"{name}_equal"] = int((here == "equal").sum())
    return found | {name: int((verdicts == name).sum()) for name in ("orientation", "construction", "missing")}


def in_words(found: Mapping[str, int]) -> str:
    """The counts as a reader meets them: `recomputed: 30 of 40 equal; consistent: 14 of 14 equal; ...`."""
    said = [f"{name}: {found[f'{name}_equal']:,} of {found[name]:,} equal" for name in _ROUTES if found[name]]
    said += [f"for orientation: {found['orientation']:,}"] if found["orientation"] else []
    said += [f"equal by construction: {found['construction']:,}"] if found["construction"] else []
    return "; ".join(said) or "none of them is compared"
