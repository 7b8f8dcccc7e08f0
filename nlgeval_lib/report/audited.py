"""What the consistency audit finds in the printed tables that an output covers."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from nlgeval_lib.report import tables


@functools.lru_cache(maxsize=4)
def public(name: str, **options: Any) -> pd.DataFrame | None:
    """A public data set for the audit's counts; None where its files are not at hand."""
    from nlgeval_lib import datasets

    try:
        return datasets.load(name, **options)
    except datasets.DataError:
        return None


def of(paper: str, names: Sequence[str], title: str = "") -> tuple[tables.Table, dict[str, Any]]:
    """The contradictions of these tables as a table to show, and {table: what was checked and found} to save."""
    from nlgeval_lib import papers
    from nlgeval_lib.papers.audit import CONTRADICTS, UNTOLD

    found = papers.audit(paper, tables=names, data=public)
    facts, said, rows = {}, [], []
    for name in names:
        part = found[found["table"] == name]
        wrong, untold = (part[part["verdict"] == verdict] for verdict in (CONTRADICTS, UNTOLD))
        several = f"{name}: " if len(names) > 1 else ""
        if part.empty:
            said.append(f"{several}no relation among its printed numbers is known to check")
        else:
            what = f"{len(wrong)} contradict" if len(wrong) else "nothing found"
            said.append(f"{several}{what}: {len(part)} relations among the printed numbers checked")
        said += [
            f"{several}cannot be told: {one.place}: {one.relation} ({one.note})"
            for one in untold.itertuples(index=False)
        ]
        rows += [_row(one) for one in wrong.itertuples(index=False)]
        facts[name] = {"checked": len(part), "contradictions": [_sentence(row) for row in rows if row["table"] == name]}
        if len(untold):
            facts[name]["untold"] = len(untold)
    if not rows:
        return tables.lines(said), facts
    frame = pd.DataFrame(rows)
    shown = frame.drop(columns=["table"] * (len(names) == 1) + ["note"] * (not frame["note"].any()))
    return tables.show(shown, title or "Printed numbers that contradict each other", notes=said), facts


def _row(one: Any) -> dict[str, str]:
    low, high = _number(one.allowed_low), _number(one.allowed_high)
    return {
        "table": one.table,
        "place": one.place,
        "relation": one.relation,
        "printed": one.printed,
        "recomputed": _number(one.recomputed),
        "rounding allows": low if low == high else f"{low} to {high}",
        "note": one.note,
    }


def _sentence(row: dict[str, str]) -> str:
    note = f" ({row['note']})" if row["note"] else ""
    recomputed = f", recomputed {row['recomputed']}" if row["recomputed"] else ""
    return f"{row['place']}: {row['relation']}: printed {row['printed']}{recomputed}{note}"


def _number(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{value:,.10g}" if abs(value) >= 1000 else f"{value:.6g}"
