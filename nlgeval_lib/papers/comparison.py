"""Our numbers beside the printed ones, the verdict on each, and a paper's rounding
habits.

A habit is a named property of a paper with its evidence, where it does not round once
to the printed digits (`data/paper_tables/rounding.csv`). A
cell that is equal by construction, whatever was measured, is named in
`data/paper_tables/by_construction.csv` with its reason. What is counted is in
`counting`, how far a judge's own draws move a number in `spread`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.papers import published
from nlgeval_lib.papers.differing import explained
from nlgeval_lib.papers.gaps import gap_of
from nlgeval_lib.papers.kinds import with_kinds
from nlgeval_lib.papers.numbers import TOLERANCE, agrees, difference, exact, parse
from nlgeval_lib.papers.spread import reach
from nlgeval_lib.papers.tables import KEY, folder, keys_in_words, load, nearest, strings

Key = tuple[str, ...]  # row, column, statistic
OPTIONAL = ("route", "reason", "n", "ci_low", "ci_high", "signature")
OWN_SPREAD = ("own_sd", "draws")  # of the judge's draws; missing where not known
RESULT = (
    "paper",
    "table",
    *KEY,
    "printed",
    "ours",
    "difference",
    "verdict",
    *OPTIONAL,
    "kind",
    "method",
    "evidence",
    "habit",
    *OWN_SPREAD,
    "gap",
)
EQUAL = "equal"
SPREAD = "within the judge's own spread"
APART = "apart"
DIFFERS = "differs"
UNKNOWN = "spread unknown"
ORIENTATION = "orientation"
CONSTRUCTION = "construction"
MISSING = "missing"
EXTRA = "extra"
COMPARED = (EQUAL, SPREAD, APART, DIFFERS, UNKNOWN)
VERDICTS = (*COMPARED, ORIENTATION, CONSTRUCTION, MISSING, EXTRA)
_DECIDED = (EQUAL, CONSTRUCTION, MISSING, EXTRA)  # of a run: needs no spread
NOT_COMPUTED = "not computed"
NO_REASON = "the value is NaN and no reason was given"
NO_SPREAD = "how far the judge's own draws move this number is not known: repeat it"
COEFFICIENTS = ("pearson", "spearman", "kendall")
AVERAGE = "average"
BY_HABIT = "equal by the paper's rounding: "
TWICE = "rounded to one decimal more, then to the printed ones, half up"
MEAN_HABIT = "an average is the mean of rounded cells"


def compare(
    paper: str,
    table: str,
    ours: pd.DataFrame,
    *,
    reason: str = NOT_COMPUTED,
    lacking: Mapping[Any, str] | None = None,
    route: str = "",
) -> pd.DataFrame:
    """Our numbers beside the printed ones, a row a printed number and route, in the
    printed order; extras at the end.

    `ours` has the columns `row, column, statistic, value` in printed units (percent
    where percent is printed), and where wanted `n, ci_low, ci_high, signature, route,
    reason`, of a judge's run `own_sd` and `draws` (`spread.own_sd`), and `extra` (bool:
    a row that has no printed counterpart and is meant so). `route` stands for numbers
    that name none. The verdicts are those of `verdict`; `extra` is a row without a
    printed number. Where ours has no such row, the reason is what `lacking` has under
    (row, column), the column or the row, in this order, else `reason`; what
    `data/published.csv` knows of the cell stands before it; `gap` is the kind of this
    reason. Cells without a number take no part.
    Raises: ValueError for unknown or repeated keys, unknown columns, infinite or
    non-numeric values, a printed cell without a kind.
    """
    printed = load(paper, table)
    texts: dict[Key, str] = printed.set_index([*KEY])["printed"].to_dict()
    numeric = {
        key: text for key, text in texts.items() if parse(text).value is not None
    }
    rows: dict[Key, list[dict[str, Any]]] = {}
    values: dict[str, dict[Key, Decimal]] = {}
    for mine in _checked(ours, paper, table).to_dict("records"):
        key = tuple(mine[name] for name in KEY)
        rows.setdefault(key, []).append(mine)
        if mine["value"] is not None:
            mine["route"] = mine["route"] or route
            values.setdefault(mine["route"], {})[key] = mine["value"]
    reasons = lacking or {}
    _fits(paper, table, printed, texts, rows, reasons)
    constructed = by_construction()
    habits = habits_of(paper)
    out: list[dict[str, Any]] = []
    for key, text in numeric.items():
        for mine in _beside(rows.get(key, []), key, reasons, reason):
            habit = ""
            if mine["value"] is not None and not agrees(mine["value"], text):
                habit = explains(habits, values[mine["route"]], key, text)
            fixed = constructed.get((paper, table, *key, mine["route"]), "")
            cell = _judged(mine, text, habit, fixed)
            if cell["verdict"] == DIFFERS:
                cell["reason"] = explained((paper, table, *key), cell["reason"])
            elif cell["verdict"] == MISSING:
                fact = published.fact(paper, table, key[0], key[1])
                cell["reason"] = _why_missing(fact, cell["reason"])
            out.append(cell)
    for key in [key for key in rows if key not in numeric]:
        out += [_extra(mine, texts.get(key, "")) for mine in rows[key]]
    return _framed(out, paper, table)


def verdict(
    ours: Any,
    printed: str,
    route: str,
    *,
    own_sd: Any = None,
    habit: str = "",
    constructed: bool = False,
) -> str:
    """The verdict on one number: what a saved row says can be worked out again by it.

    `missing`: there is no number. `orientation`: another judge, prompt or run (route
    recorded); its distance is shown, and no verdict. `equal`: within 0.51 steps of the
    last printed digit, or by a rounding `habit` of the paper; `construction` where it
    is so whatever was measured. Else `differs`; of a run of the paper's judge, `within
    the judge's own spread` where the two numbers are no farther apart than two runs of
    one judge (`spread.reach`) and half a step of the last printed digit, else `apart`;
    `spread unknown` where `own_sd` is missing.
    """
    gap = difference(ours, printed)
    if gap is None:
        return MISSING
    if route == "recorded":
        return ORIENTATION
    if habit or agrees(ours, printed):
        return CONSTRUCTION if constructed else EQUAL
    if route != "run":
        return DIFFERS
    sd = exact(own_sd)
    if sd is None:
        return UNKNOWN
    room = reach(float(sd)) + float(TOLERANCE * parse(printed).unit)
    return SPREAD if abs(float(gap)) <= room else APART


def described(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells that were saved before rows had kinds, with the columns and verdicts of
    today.
    """
    habit = cells["reason"].str.extract(f"{BY_HABIT}(.*)$", expand=False).fillna("")
    cells = cells.assign(habit=habit, own_sd=np.nan, draws=pd.NA)
    recorded = cells["route"].eq("recorded") & cells["verdict"].ne(EXTRA)
    cells.loc[recorded, "verdict"] = ORIENTATION
    unequal_run = cells["route"].eq("run") & ~cells["verdict"].isin(_DECIDED)
    cells.loc[unequal_run, "verdict"] = UNKNOWN
    return _with_gaps(with_kinds(cells))


def _beside(
    mine: list[dict[str, Any]],
    key: Key,
    reasons: Mapping[Any, str],
    reason: str,
) -> list[dict[str, Any]]:
    """What we have for a printed number, a run last; else one row without a value."""
    valued = [one for one in mine if one["value"] is not None]
    if valued:
        return sorted(valued, key=lambda one: one["route"] == "run")
    if mine:
        return mine[:1]
    for place in (key[:2], key[1], key[0]):
        if place in reasons:
            reason = reasons[place]
            break
    empty = {"value": None, "route": "", "signature": "", "reason": reason}
    return [dict(zip(KEY, key, strict=True)) | empty]


def _judged(
    mine: dict[str, Any], printed: str, habit: str, fixed: str
) -> dict[str, Any]:
    """One of our numbers with the printed one, its verdict and why."""
    found = verdict(
        mine["value"],
        printed,
        mine["route"],
        own_sd=mine.get("own_sd"),
        habit=habit,
        constructed=bool(fixed),
    )
    why = mine["reason"]
    if found == MISSING:
        why = why or NO_REASON
    elif found == CONSTRUCTION:
        why = f"by construction: {fixed}"
    elif found == EQUAL and habit:
        why = f"{BY_HABIT}{habit}"
    elif found == UNKNOWN:
        why = "; ".join(filter(None, [why, NO_SPREAD]))
    return mine | {
        "printed": printed,
        "difference": difference(mine["value"], printed),
        "verdict": found,
        "reason": why,
        "habit": habit if found == EQUAL else "",
    }


def _why_missing(fact: published.Fact | None, reason: str) -> str:
    """The reason for an empty cell, with what is known of where its number is."""
    if fact is not None and reason in (NOT_COMPUTED, NO_REASON):
        reason = ""
    return published.explained(fact, reason) or NO_REASON


def _extra(mine: dict[str, Any], printed: str) -> dict[str, Any]:
    """One of our numbers that has no printed number."""
    why = mine["reason"]
    if not why and printed:
        why = f"the printed cell holds no number: {printed!r}"
    return mine | {"printed": printed, "verdict": EXTRA, "reason": why, "habit": ""}


def _framed(rows: list[dict[str, Any]], paper: str, table: str) -> pd.DataFrame:
    """The compared rows as a frame with the columns RESULT."""
    columns = [*KEY, "value", "printed", "difference", "verdict", *OPTIONAL]
    frame = pd.DataFrame(rows, columns=[*columns, "habit", *OWN_SPREAD])
    frame = frame.assign(paper=paper, table=table, ours=frame["value"].astype(float))
    for name in ("n", "draws"):
        frame[name] = frame[name].astype(object).where(frame[name].notna(), pd.NA)
    frame = _with_gaps(with_kinds(frame))[list(RESULT)]
    numbers = dict.fromkeys(("difference", "ci_low", "ci_high", "own_sd"), float)
    return frame.astype(numbers | {"n": "Int64", "draws": "Int64"})


def _with_gaps(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells with the kind of each missing one's reason."""
    gaps = []
    for reason, found in zip(cells["reason"], cells["verdict"], strict=True):
        gaps.append(gap_of(reason) if found == MISSING else "")
    return cells.assign(gap=gaps)


def _fits(
    paper: str,
    table: str,
    printed: pd.DataFrame,
    texts: Mapping[Key, str],
    rows: Mapping[Key, Any],
    lacking: Mapping[Any, str],
) -> None:
    """Refuse what speaks of cells that are not printed, and extras that are."""
    places = {
        place for row, column, _ in texts for place in ((row, column), row, column)
    }
    if unprinted := sorted({*lacking} - places, key=str):
        raise ValueError(f"{paper} {table} prints no row or column {unprinted}")
    if unknown := [
        key for key in rows if key not in texts and not rows[key][0]["extra"]
    ]:
        hints = [
            f"{name} {bad!r} (nearest: {nearest(bad, printed[name].unique())})"
            for name, names in zip(KEY, zip(*unknown, strict=True), strict=True)
            for bad in sorted(set(names) - set(printed[name]))
        ]
        raise ValueError(
            f"{paper} {table} prints no such cell: {keys_in_words(unknown)}. "
            f"{'; '.join(hints[:8])}{'. ' if hints else ''}Mark rows that are meant to be extra with extra=True."
        )
    if clash := [
        key
        for key in rows
        if parse(texts.get(key, "")).value is not None and rows[key][0]["extra"]
    ]:
        raise ValueError(
            f"{paper} {table} prints these cells, yet they are marked extra: {keys_in_words(clash)}"
        )


def _checked(ours: pd.DataFrame, paper: str, table: str) -> pd.DataFrame:
    """`ours` with all columns: exact values (None: missing), texts instead of gaps,
    and a boolean `extra`.
    """
    needed = [*KEY, "value"]
    lacking = [name for name in needed if name not in ours.columns]
    unknown = [
        name
        for name in ours.columns
        if name not in (*needed, *OPTIONAL, *OWN_SPREAD, "paper", "table", "extra")
    ]
    if lacking or unknown:
        raise ValueError(
            f"ours for {paper} {table}: missing columns {lacking}, unknown columns {unknown}; "
            f"needed are {needed}, allowed besides {[*OPTIONAL, *OWN_SPREAD, 'extra']}"
        )
    for name, wanted in (("paper", paper), ("table", table)):
        if name in ours.columns and (ours[name] != wanted).any():
            raise ValueError(
                f"ours has {name} {sorted(set(ours[name]) - {wanted})}, compared with {wanted!r}"
            )
    if (double := ours.duplicated([*KEY, *({"route"} & {*ours.columns})])).any():
        keys = ours.loc[double, list(KEY)].to_numpy().tolist()
        raise ValueError(
            f"ours for {paper} {table} has keys twice: {keys_in_words(keys)}"
        )
    values = []
    for *key, value in ours[needed].itertuples(index=False, name=None):
        try:
            values.append(exact(value))
        except ValueError as error:
            raise ValueError(
                f"ours for {paper} {table}, {keys_in_words([key])}: {error}"
            ) from None
    ours = ours.reindex(columns=[*needed, *OPTIONAL, *OWN_SPREAD, "extra"])
    texts = {
        name: ours[name].astype(object).where(ours[name].notna(), "")
        for name in ("reason", "route", "signature")
    }
    exacts = pd.Series(values, ours.index, dtype=object)
    return ours.assign(
        value=exacts, extra=ours["extra"].fillna(False).astype(bool), **texts
    )


def by_construction() -> dict[tuple[str, ...], str]:
    """Why a cell is equal whatever was measured, by (paper, table, row, column,
    statistic, route).
    """
    rows = strings(
        folder() / "by_construction.csv", ("paper", "table", *KEY, "route", "why")
    )
    return {tuple(row[:-1]): row[-1] for row in rows.itertuples(index=False, name=None)}


def habits() -> pd.DataFrame:
    """The rounding habits of the papers: `paper, habit, evidence`, a row a habit."""
    return strings(folder() / "rounding.csv", ("paper", "habit", "evidence"))


def habits_of(paper: str) -> set[str]:
    """The habits of one paper."""
    return set(habits().query("paper == @paper")["habit"])


def rounded(value: Any, printed: str, times: int = 1) -> Decimal:
    """`value` rounded half up to the digits of a printed number; `times` 2: first to
    one digit more.
    """
    unit = parse(printed).unit
    number = exact(value) or Decimal(0)
    for step in range(times - 1, -1, -1):
        number = number.quantize(unit.scaleb(-step), ROUND_HALF_UP)
    return number


def _agreeing_mean(values: Collection[Any], printed: str, times: int) -> bool:
    """Whether a printed number is the mean of these, rounded to its digits before."""
    parts = [rounded(value, printed, times) for value in values]
    return bool(parts) and agrees(sum(parts, Decimal(0)) / len(parts), printed)


def explains(known: set[str], rows: Mapping[Key, Any], key: Key, printed: str) -> str:
    """By which of a paper's known habits the value at `key` is the printed number, in
    words; empty where by none.

    rows: the values by (row, column, statistic); an average needs the other columns of
    its row and statistic.
    """
    times = 2 if TWICE in known else 1
    if key[2] not in COEFFICIENTS:
        return ""
    if key[1] != AVERAGE:
        return (
            TWICE
            if times == 2 and rounded(rows[key], printed, 2) == parse(printed).value
            else ""
        )
    parts = [
        value
        for (row, column, kind), value in rows.items()
        if (row, kind) == key[::2] and column != AVERAGE
    ]
    if MEAN_HABIT not in known or not _agreeing_mean(parts, printed, times):
        return ""
    return MEAN_HABIT + (", each rounded twice" if times == 2 else "")


def tried(cells: pd.DataFrame) -> pd.DataFrame:
    """Which habit fits which paper: a row a paper, counts of its coefficients that were
    computed from public data.

    cells: as `compare` returns them, of any tables. `once`, `twice`: coefficients,
    averages aside, that are the printed number when rounded half up once, or twice;
    `lost`, `won`: those that rounding twice would take away, and give. `mean of
    values`, `mean of rounded`: averages (of one table's row) that are the printed
    number by either reading.
    """
    cells = cells[
        (cells["route"] == "public")
        & cells["statistic"].isin(COEFFICIENTS)
        & cells["ours"].notna()
    ]
    out = []
    for paper, part in cells[cells["printed"] != ""].groupby("paper", sort=False):
        whole = part[part["column"] != AVERAGE]
        averages = part[part["column"] == AVERAGE]
        pairs = list(zip(whole["ours"], whole["printed"], strict=True))
        times = 2 if TWICE in habits_of(paper) else 1
        once, twice = (
            np.array([rounded(a, b, n) == parse(b).value for a, b in pairs], dtype=bool)
            for n in (1, 2)
        )
        lines = whole.groupby(["table", "row", "statistic"])["ours"].agg(list).to_dict()
        of_rounded = [
            _agreeing_mean(
                lines.get((one.table, one.row, one.statistic), ()), one.printed, times
            )
            for one in averages.itertuples()
        ]
        plain = [
            agrees(*pair)
            for pair in zip(averages["ours"], averages["printed"], strict=True)
        ]
        row = {
            "paper": paper,
            "coefficients": len(whole),
            "once": once.sum(),
            "twice": twice.sum(),
        }
        row |= {
            "lost": (once & ~twice).sum(),
            "won": (~once & twice).sum(),
            "averages": len(averages),
        }
        out.append(
            row | {"mean of values": sum(plain), "mean of rounded": sum(of_rounded)}
        )
    return pd.DataFrame(out)
