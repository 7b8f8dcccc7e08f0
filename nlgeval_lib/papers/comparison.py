"""Our numbers beside the printed ones."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from nlgeval_lib.papers.counts import by_construction
from nlgeval_lib.papers.habits import explains
from nlgeval_lib.papers.numbers import TOLERANCE, difference, exact, parse
from nlgeval_lib.papers.tables import KEY, keys_in_words, load, nearest

OPTIONAL = ("route", "reason", "n", "ci_low", "ci_high", "signature")
RESULT = ("paper", "table", *KEY, "printed", "ours", "difference", "verdict", *OPTIONAL)


def compare(
    paper: str, table: str, ours: pd.DataFrame, *, reason: str = "not computed", route: str = ""
) -> pd.DataFrame:
    """Our numbers beside the printed ones, a row a printed number, in the printed order; extras at the end.

    `ours` has the columns `row, column, statistic, value` in printed units (percent where percent is printed), and
    where wanted `n, ci_low, ci_high, signature, route, reason` and `extra` (bool: a row that has no printed
    counterpart and is meant so). `route` stands for numbers that name none. Verdicts: `equal` (within 0.51 steps of the
    last printed digit, or by a rounding habit of the paper, which the reason then names), `differs`, `orientation`
    (route recorded: shown, not compared), `construction` (equal whatever was measured; the reason says why), `missing`
    (no value; the reason says why, `reason` where ours has no such row), `extra`.
    Printed cells without a number take no part.
    Raises: ValueError for unknown or double keys, unknown columns, infinite or non-numeric values.
    """
    printed = load(paper, table)
    ours = _checked(ours, paper, table)
    records = printed.to_dict("records")
    numeric = {_key(record): record["printed"] for record in records if not math.isnan(record["number"])}
    wordy = {_key(record): record["printed"] for record in records if math.isnan(record["number"])}
    rows = {_key(record): record for record in ours.to_dict("records")}
    _refuse_unknown([key for key in rows if key not in numeric | wordy and not rows[key]["extra"]], printed)
    if clash := [key for key in rows if key in numeric and rows[key]["extra"]]:
        raise ValueError(f"{paper} {table} prints these cells, yet they are marked extra: {keys_in_words(clash)}")
    for mine in rows.values():
        if not mine.get("route") and exact(mine["value"]) is not None:
            mine["route"] = route
    values = {key: mine["value"] for key, mine in rows.items()}
    out = []
    for key, text in numeric.items():
        mine = rows.get(key, {"reason": reason})
        gap = difference(mine.get("value"), text)
        equal = gap is not None and abs(gap) <= TOLERANCE * parse(text).unit
        if gap is None:
            filled = {"verdict": "missing", "reason": mine.get("reason") or "the value is NaN and no reason was given"}
        elif mine.get("route") == "recorded":
            filled = {"verdict": "orientation"}
        elif equal and (why := by_construction().get((paper, table, *key, mine.get("route", "")))):
            filled = {"verdict": "construction", "reason": f"by construction: {why}"}
        elif not equal and (habit := explains(paper, values, key, text)):
            filled = {"verdict": "equal", "reason": f"equal by the paper's rounding: {habit}"}
        else:
            filled = {"verdict": "equal" if equal else "differs"}
        out.append(_row(paper, table, key, mine) | {"printed": text, "difference": _float(gap)} | filled)
    for key, mine in rows.items():
        if key in numeric:
            continue
        filled = {"verdict": "extra", "printed": wordy.get(key, "")}
        if key in wordy:
            filled["reason"] = mine.get("reason") or f"the printed cell holds no number: {wordy[key]!r}"
        out.append(_row(paper, table, key, mine) | filled)
    frame = pd.DataFrame(out, columns=list(RESULT))
    return frame.astype({"ours": float, "difference": float, "ci_low": float, "ci_high": float, "n": "Int64"})


def _key(record: dict[str, Any]) -> tuple[str, str, str]:
    return record["row"], record["column"], record["statistic"]


def _row(paper: str, table: str, key: tuple[str, str, str], mine: dict[str, Any]) -> dict[str, Any]:
    row = {"paper": paper, "table": table, **dict(zip(KEY, key, strict=True)), "ours": _float(mine.get("value"))}
    row |= dict(difference=math.nan, n=pd.NA, ci_low=math.nan, ci_high=math.nan, signature="", route="", reason="")
    return row | {name: mine[name] for name in OPTIONAL if name in mine}


def _float(value: Any) -> float:
    number = exact(value)
    return math.nan if number is None else float(number)


def _checked(ours: pd.DataFrame, paper: str, table: str) -> pd.DataFrame:
    """`ours` with its columns checked, keys as text, and a boolean `extra`."""
    needed = [*KEY, "value"]
    lacking = [name for name in needed if name not in ours.columns]
    unknown = [name for name in ours.columns if name not in (*needed, *OPTIONAL, "paper", "table", "extra")]
    if lacking or unknown:
        raise ValueError(
            f"ours for {paper} {table}: missing columns {lacking}, unknown columns {unknown}; "
            f"needed are {needed}, allowed besides {[*OPTIONAL, 'extra']}"
        )
    for name, wanted in (("paper", paper), ("table", table)):
        if name in ours.columns and (ours[name] != wanted).any():
            raise ValueError(f"ours has {name} {sorted(set(ours[name]) - {wanted})}, compared with {wanted!r}")
    ours = ours.drop(columns=["paper", "table"], errors="ignore").reset_index(drop=True)
    double = ours[ours.duplicated(list(KEY))]
    if len(double):
        raise ValueError(
            f"ours for {paper} {table} has keys twice: {keys_in_words(double[list(KEY)].to_numpy().tolist())}"
        )
    for record in ours.to_dict("records"):
        try:
            exact(record["value"])
        except ValueError as error:
            raise ValueError(
                f"ours for {paper} {table}, {keys_in_words([[record[name] for name in KEY]])}: {error}"
            ) from None
    extra = ours["extra"].fillna(False).astype(bool) if "extra" in ours.columns else False
    for name in ("reason", "route", "signature"):
        if name in ours.columns:
            ours[name] = ours[name].astype(object).where(ours[name].notna(), "")
    return ours.assign(extra=extra)


def _refuse_unknown(keys: list[tuple[str, ...]], printed: pd.DataFrame) -> None:
    if not keys:
        return
    hints = []
    for position, name in enumerate(KEY):
        allowed = printed[name].unique().tolist()
        for bad in sorted({str(key[position]) for key in keys} - set(allowed)):
            hints.append(f"{name} {bad!r} (nearest: {nearest(bad, allowed)})")
    raise ValueError(
        f"{printed['paper'].iloc[0]} {printed['table'].iloc[0]} prints no such cell: {keys_in_words(keys)}. "
        f"{'; '.join(hints[:8])}{'. ' if hints else ''}Mark rows that are meant to be extra with extra=True."
    )
