"""Our numbers beside the printed ones, a paper's rounding habits, and the three counts of what was compared.

A habit is a named property of a paper with its evidence, where it does not round once to the printed digits
(`data/paper_tables/rounding.csv`). The counts are never added up. *Recomputed*: from public data, also the authors', or
by running the judge (routes `public` and `run`). *Consistent*: follows from other printed numbers (route `published`).
*For orientation*: outputs of another judge, prompt or run (route `recorded`). A cell that is equal by construction,
whatever was measured, is named in `data/paper_tables/by_construction.csv` with its reason and counted in none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.papers.numbers import TOLERANCE, agrees, difference, exact, parse
from nlgeval_lib.papers.tables import KEY, folder, keys_in_words, load, nearest, strings

Key = tuple[str, ...]  # row, column, statistic
OPTIONAL = ("route", "reason", "n", "ci_low", "ci_high", "signature")
RESULT = ("paper", "table", *KEY, "printed", "ours", "difference", "verdict", *OPTIONAL)
COMPARED = ("equal", "within", "outside", "differs")
VERDICTS = (*COMPARED, "orientation", "construction", "missing", "extra")
COEFFICIENTS = ("pearson", "spearman", "kendall")
AVERAGE = "average"
TWICE = "rounded to one decimal more, then to the printed ones, half up"
MEAN = "an average is the mean of rounded cells"
SAMPLED = ("recorded", "run")  # routes of which another draw gives another number
_ROUTES = {"recomputed": ("public", "run"), "consistent": ("published",), "orientation": ("recorded",)}
COUNTS = (
    "printed", "recomputed", "recomputed_equal", "recomputed_within", "consistent", "consistent_equal",
    "orientation", "orientation_within", "construction", "missing",
)  # fmt: skip


def compare(
    paper: str,
    table: str,
    ours: pd.DataFrame,
    *,
    reason: str = "not computed",
    lacking: Mapping[Any, str] | None = None,
    route: str = "",
) -> pd.DataFrame:
    """Our numbers beside the printed ones, a row a printed number and route, in the printed order; extras at the end.

    `ours` has the columns `row, column, statistic, value` in printed units (percent where percent is printed), and
    where wanted `n, ci_low, ci_high, signature, route, reason` and `extra` (bool: a row that has no printed
    counterpart and is meant so). `route` stands for numbers that name none. Verdicts: `equal` (within 0.51 steps of the
    last printed digit, or by a rounding habit of the paper, which the reason then names); else, of routes run and
    recorded with an interval, `within` (the printed number lies in it) or `outside`; `differs`, or `orientation` where
    a recorded number has no interval; `construction` (equal whatever was measured; the reason says why), `missing`
    (no value of any route; the reason says why), `extra`. Where ours has no such row, the reason is what `lacking` has
    under (row, column), the column or the row, in this order, else `reason`. Cells without a number take no part.
    Raises: ValueError for unknown or repeated keys, unknown columns, infinite or non-numeric values.
    """
    printed = load(paper, table)
    texts: dict[Key, str] = printed.set_index([*KEY])["printed"].to_dict()
    numeric = {key: text for key, text in texts.items() if parse(text).value is not None}
    rows: dict[Key, list[dict[str, Any]]] = {}
    values: dict[str, dict[Key, Decimal]] = {}
    for mine in _checked(ours, paper, table).to_dict("records"):
        key = tuple(mine[name] for name in KEY)
        rows.setdefault(key, []).append(mine)
        if mine["value"] is not None:
            mine["route"] = mine["route"] or route
            values.setdefault(mine["route"], {})[key] = mine["value"]
    told = lacking or {}
    _fits(paper, table, printed, texts, rows, told)
    constructed, known = by_construction(), habits_of(paper)
    out = []
    for key, text in numeric.items():
        why = next((told[one] for one in (key[:2], key[1], key[0]) if one in told), reason)
        absent = dict(zip(KEY, key, strict=True)) | {"value": None, "route": "", "signature": "", "reason": why}
        beside = rows.get(key, [absent])
        there = [mine for mine in beside if mine["value"] is not None]
        for mine in sorted(there, key=lambda one: one["route"] == "run") or beside[:1]:
            gap, why = difference(mine["value"], text), mine["reason"]
            equal = agrees(mine["value"], text)
            if gap is None:
                verdict, why = "missing", why or "the value is NaN and no reason was given"
            elif equal and (fixed := constructed.get((paper, table, *key, mine["route"]))):
                verdict, why = "construction", f"by construction: {fixed}"
            elif not equal and (habit := explains(known, values[mine["route"]], key, text)):
                verdict, why = "equal", f"equal by the paper's rounding: {habit}"
            else:
                verdict = "equal" if equal else _unequal(mine, text)
            out.append(mine | {"printed": text, "difference": gap, "verdict": verdict, "reason": why})
    for key in [key for key in rows if key not in numeric]:
        why = f"the printed cell holds no number: {texts[key]!r}" if key in texts else ""
        said = {"printed": texts.get(key, ""), "verdict": "extra"}
        out += [mine | said | {"reason": mine["reason"] or why} for mine in rows[key]]
    frame = pd.DataFrame(out, columns=[*KEY, "value", "printed", "difference", "verdict", *OPTIONAL])
    frame = frame.assign(paper=paper, table=table, ours=frame["value"].astype(float))
    frame["n"] = frame["n"].astype(object).where(frame["n"].notna(), pd.NA)
    return frame[list(RESULT)].astype(dict.fromkeys(("difference", "ci_low", "ci_high"), float) | {"n": "Int64"})


def _fits(
    paper: str,
    table: str,
    printed: pd.DataFrame,
    texts: Mapping[Key, str],
    rows: Mapping[Key, Any],
    lacking: Mapping[Any, str],
) -> None:
    """Refuse what speaks of cells that are not printed, and extras that are."""
    places = {place for row, column, _ in texts for place in ((row, column), row, column)}
    if unprinted := sorted({*lacking} - places, key=str):
        raise ValueError(f"{paper} {table} prints no row or column {unprinted}")
    if unknown := [key for key in rows if key not in texts and not rows[key][0]["extra"]]:
        hints = [
            f"{name} {bad!r} (nearest: {nearest(bad, printed[name].unique())})"
            for name, names in zip(KEY, zip(*unknown, strict=True), strict=True)
            for bad in sorted(set(names) - set(printed[name]))
        ]
        raise ValueError(
            f"{paper} {table} prints no such cell: {keys_in_words(unknown)}. "
            f"{'; '.join(hints[:8])}{'. ' if hints else ''}Mark rows that are meant to be extra with extra=True."
        )
    if clash := [key for key in rows if parse(texts.get(key, "")).value is not None and rows[key][0]["extra"]]:
        raise ValueError(f"{paper} {table} prints these cells, yet they are marked extra: {keys_in_words(clash)}")


def _unequal(mine: Mapping[str, Any], printed: str) -> str:
    """The verdict on a number that is not the printed one: by its interval where another draw would give another."""
    low, high = (exact(mine[name]) for name in ("ci_low", "ci_high"))
    if mine["route"] not in SAMPLED or low is None or high is None:
        return "orientation" if mine["route"] == "recorded" else "differs"
    number = parse(printed)
    room = TOLERANCE * number.unit
    return "within" if low - room <= (number.value or 0) <= high + room else "outside"


def _checked(ours: pd.DataFrame, paper: str, table: str) -> pd.DataFrame:
    """`ours` with all columns: exact values (None: missing), texts instead of gaps, and a boolean `extra`."""
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
    if (double := ours.duplicated([*KEY, *({"route"} & {*ours.columns})])).any():
        keys = ours.loc[double, list(KEY)].to_numpy().tolist()
        raise ValueError(f"ours for {paper} {table} has keys twice: {keys_in_words(keys)}")
    values = []
    for *key, value in ours[needed].itertuples(index=False, name=None):
        try:
            values.append(exact(value))
        except ValueError as error:
            raise ValueError(f"ours for {paper} {table}, {keys_in_words([key])}: {error}") from None
    ours = ours.reindex(columns=[*needed, *OPTIONAL, "extra"])
    texts = {name: ours[name].astype(object).where(ours[name].notna(), "") for name in ("reason", "route", "signature")}
    exacts = pd.Series(values, ours.index, dtype=object)
    return ours.assign(value=exacts, extra=ours["extra"].fillna(False).astype(bool), **texts)


def by_construction() -> dict[tuple[str, ...], str]:
    """Why a cell is equal whatever was measured, by (paper, table, row, column, statistic, route)."""
    rows = strings(folder() / "by_construction.csv", ("paper", "table", *KEY, "route", "why"))
    return {tuple(row[:-1]): row[-1] for row in rows.itertuples(index=False, name=None)}


def habits() -> pd.DataFrame:
    """The rounding habits of the papers: `paper, habit, evidence`, a row a habit."""
    return strings(folder() / "rounding.csv", ("paper", "habit", "evidence"))


def habits_of(paper: str) -> set[str]:
    """The habits of one paper."""
    return set(habits().query("paper == @paper")["habit"])


def rounded(value: Any, printed: str, times: int = 1) -> Decimal:
    """`value` rounded half up to the digits of a printed number; `times` 2: first to one digit more."""
    unit, number = parse(printed).unit, exact(value) or Decimal(0)
    for step in range(times - 1, -1, -1):
        number = number.quantize(unit.scaleb(-step), ROUND_HALF_UP)
    return number


def _agreeing_mean(values: Collection[Any], printed: str, times: int) -> bool:
    """Whether a printed number is the mean of these, rounded to its digits before."""
    parts = [rounded(value, printed, times) for value in values]
    return bool(parts) and agrees(sum(parts, Decimal(0)) / len(parts), printed)


def explains(known: set[str], rows: Mapping[Key, Any], key: Key, printed: str) -> str:
    """By which of a paper's known habits the value at `key` is the printed number, in words; empty where by none.

    rows: the values by (row, column, statistic); an average needs the other columns of its row and statistic.
    """
    times = 2 if TWICE in known else 1
    if key[2] not in COEFFICIENTS:
        return ""
    if key[1] != AVERAGE:
        return TWICE if times == 2 and rounded(rows[key], printed, 2) == parse(printed).value else ""
    parts = [value for (row, column, kind), value in rows.items() if (row, kind) == key[::2] and column != AVERAGE]
    if MEAN not in known or not _agreeing_mean(parts, printed, times):
        return ""
    return MEAN + (", each rounded twice" if times == 2 else "")


def tried(cells: pd.DataFrame) -> pd.DataFrame:
    """Which habit fits which paper: a row a paper, counts of its coefficients that were computed from public data.

    cells: as `compare` returns them, of any tables. `once`, `twice`: coefficients, averages aside, that are the printed
    number when rounded half up once, or twice; `lost`, `won`: those that rounding twice would take away, and give.
    `mean of values`, `mean of rounded`: averages (of one table's row) that are the printed number by either reading.
    """
    cells = cells[(cells["route"] == "public") & cells["statistic"].isin(COEFFICIENTS) & cells["ours"].notna()]
    out = []
    for paper, part in cells[cells["printed"] != ""].groupby("paper", sort=False):
        whole, averages = part[part["column"] != AVERAGE], part[part["column"] == AVERAGE]
        pairs, times = list(zip(whole["ours"], whole["printed"], strict=True)), 2 if TWICE in habits_of(paper) else 1
        once, twice = (np.array([rounded(a, b, n) == parse(b).value for a, b in pairs], dtype=bool) for n in (1, 2))
        lines = whole.groupby(["table", "row", "statistic"])["ours"].agg(list).to_dict()
        of_rounded = [
            _agreeing_mean(lines.get((one.table, one.row, one.statistic), ()), one.printed, times)
            for one in averages.itertuples()
        ]
        plain = [agrees(*pair) for pair in zip(averages["ours"], averages["printed"], strict=True)]
        row = {"paper": paper, "coefficients": len(whole), "once": once.sum(), "twice": twice.sum()}
        row |= {"lost": (once & ~twice).sum(), "won": (~once & twice).sum(), "averages": len(averages)}
        out.append(row | {"mean of values": sum(plain), "mean of rounded": sum(of_rounded)})
    return pd.DataFrame(out)


def counts(cells: pd.DataFrame) -> dict[str, int]:
    """What became of printed cells, as `compare` returns them: the cells of each count, how many of them are equal, and
    of how many others the printed number lies within our interval (for orientation, where none counts as equal, of how
    many in all). A cell of two routes is in the count of each; of public data and a run of ours, the former counts.

    Keys: COUNTS.
    """
    keys = ["paper", "table", *KEY]
    cells = cells[cells["verdict"] != "extra"].sort_values("route", kind="stable")  # public stands before run
    found = {"printed": len(cells[keys].drop_duplicates())}
    for name, routes in _ROUTES.items():
        here = cells[cells["route"].isin(routes) & cells["verdict"].isin((*COMPARED, "orientation"))]
        verdicts = here.drop_duplicates(keys)["verdict"]
        equal, within = (int((verdicts == verdict).sum()) for verdict in ("equal", "within"))
        within += equal if name == "orientation" else 0
        found |= {name: len(verdicts), f"{name}_equal": equal, f"{name}_within": within}
    found |= {name: int((cells["verdict"] == name).sum()) for name in ("construction", "missing")}
    return {name: found[name] for name in COUNTS}


def in_words(found: Mapping[str, int]) -> str:
    """The counts as a reader meets them: `recomputed: 30 of 40 equal, 5 within our interval; for orientation: 86`."""
    said = []
    for name in [name for name in _ROUTES if found[name]]:
        equal = "" if name == "orientation" else f"{found[f'{name}_equal']:,} of "
        told = f"{name}: {equal}{found[name]:,} equal" if equal else f"for orientation: {found[name]:,}"
        within = found.get(f"{name}_within", 0)
        said.append(told + (f", {within:,} within our interval" if within else ""))
    said += [f"equal by construction: {found['construction']:,}"] if found["construction"] else []
    return "; ".join(said) or "none of them is compared"
