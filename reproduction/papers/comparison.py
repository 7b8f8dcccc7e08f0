"""Our numbers beside the printed ones, the verdict on each, and a paper's rounding
habits.

`compare` is what notebooks call: it makes one row of a printed number and each route by
which we have it. `verdict` judges a single number and can be asked again of a saved
row. A habit is a named property of a paper with its evidence, where it does not round
once to the printed digits (`data/paper_tables/rounding.csv`); `explains` says whether a
number is equal by one, `tried` how the habits were found. A cell that is equal by
construction, whatever was measured, is named in `data/paper_tables/by_construction.csv`
with its reason.

What is counted is in `counting`, how far a judge's own draws move a number in `spread`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pandas as pd

from reproduction.papers import published
from reproduction.papers.differing import explained
from reproduction.papers.gaps import gap_of
from reproduction.papers.kinds import with_kinds
from reproduction.papers.numbers import TOLERANCE, agrees, difference, exact, parse
from reproduction.papers.printed_tables import (
    KEY,
    folder,
    keys_in_words,
    load,
    nearest,
    strings,
)
from reproduction.papers.spread import reach

Key = tuple[str, ...]  # row, column, statistic
OPTIONAL = ("route", "reason", "n", "ci_low", "ci_high", "signature")  # columns of ours
OWN_SPREAD = ("own_sd", "draws")  # of the judge's draws; missing where not known
# columns of what `compare` returns
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
# verdicts; `verdict` says when each is given
EQUAL = "equal"
SPREAD = "within the judge's own spread"
APART = "apart"
DIFFERS = "differs"
UNKNOWN = "spread unknown"
ORIENTATION = "orientation"
CONSTRUCTION = "construction"
MISSING = "missing"
EXTRA = "extra"
COMPARED = (EQUAL, SPREAD, APART, DIFFERS, UNKNOWN)  # of numbers that can be equal
VERDICTS = (*COMPARED, ORIENTATION, CONSTRUCTION, MISSING, EXTRA)
# reasons that the comparison itself gives
NOT_COMPUTED = "not computed"
NO_REASON = "the value is NaN and no reason was given"
NO_SPREAD = "how far the judge's own draws move this number is not known: repeat it"
COEFFICIENTS = ("pearson", "spearman", "kendall")  # statistics that habits are about
AVERAGE = "average"  # the column that is the mean of its row's others
BY_HABIT = "equal by the paper's rounding: "
# the habits that there are
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
    """Our numbers beside the printed ones, a row a printed number and route.

    ours: the columns `row, column, statistic, value` in printed units (percent where
    percent is printed); where wanted `n, ci_low, ci_high, signature, route, reason`; of
    a judge's run `own_sd` and `draws` (`spread.own_sd`); and `extra` (bool: a row that
    has no printed counterpart and is meant so).
    reason: why a cell is empty where nothing better is known.
    lacking: reasons under (row, column), the column or the row, in this order.
    route: stands for numbers that name none.
    Returns: columns `RESULT`, in the printed order; extras, verdict `extra`, at the
    end. Verdicts are those of `verdict`. What `data/published.csv` knows of an empty
    cell stands before its reason; `gap` is the kind of this reason. Printed cells
    without a number take no part.
    Raises: ValueError for unknown or repeated keys, unknown columns, infinite or
    non-numeric values, a printed cell without a kind.
    """
    texts = load(paper, table).set_index([*KEY])["printed"].to_dict()
    rows = _by_key(_checked(ours, paper, table), route)
    reasons = lacking or {}
    _refuse_misfits(f"{paper} {table}", texts, rows, reasons)
    # Every printed number has a row, whether we have one or not.
    beside = {}
    for key, text in texts.items():
        if parse(text).value is not None:
            beside[key] = _beside(rows.get(key, []), key, reasons, reason)
    # An average is judged by the other values of its own route.
    values = _values_by_route(rows)
    cells = _judged_cells(paper, table, texts, beside, values)
    # What we have beside the printed numbers stands at the end.
    for key, rows_of_cell in rows.items():
        text = texts.get(key, "")
        if parse(text).value is None:
            cells += [_extra(row, text) for row in rows_of_cell]
    return _framed(cells, paper, table)


def _judged_cells(
    paper: str,
    table: str,
    texts: Mapping[Key, str],
    beside: Mapping[Key, list[dict[str, Any]]],
    values: Mapping[str, Mapping[Key, Decimal]],
) -> list[dict[str, Any]]:
    """Each row beside its printed number, with verdict and reason."""
    constructed = by_construction()
    habits = habits_of(paper)
    cells = []
    for key, rows_of_cell in beside.items():
        text = texts[key]
        place = (paper, table, *key)
        for row in rows_of_cell:
            habit = ""
            if row["value"] is not None and not agrees(row["value"], text):
                habit = explains(habits, values[row["route"]], key, text)
            fixed = constructed.get((*place, row["route"]), "")
            judged = _judged(row, text, habit, fixed)
            cells.append(_with_reason(place, judged))
    return cells


def _by_key(ours: pd.DataFrame, route: str) -> dict[Key, list[dict[str, Any]]]:
    """Our rows by the cell they are of; `route`: of numbers that name none."""
    rows: dict[Key, list[dict[str, Any]]] = {}
    for row in ours.to_dict("records"):
        if row["value"] is not None:
            row["route"] = row["route"] or route
        key = tuple(row[name] for name in KEY)
        rows.setdefault(key, []).append(row)
    return rows


def _values_by_route(
    rows: Mapping[Key, list[dict[str, Any]]],
) -> dict[str, dict[Key, Decimal]]:
    """Our values, route -> (row, column, statistic) -> value."""
    values: dict[str, dict[Key, Decimal]] = {}
    for key, rows_of_cell in rows.items():
        for row in rows_of_cell:
            if row["value"] is not None:
                values.setdefault(row["route"], {})[key] = row["value"]
    return values


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

    - `missing`: there is no number.
    - `orientation`: another judge, prompt or run (route recorded); its distance is
    shown, and no verdict.
    - `equal`: within 0.51 steps of the last printed digit, or by a rounding habit of
    the paper.
    - `construction`: the same, where it is so whatever was measured.
    - `within the judge's own spread`: a run of the paper's judge, where the two numbers
    are no farther apart than two runs of one judge (`spread.reach`) and half a step of
    the last printed digit.
    - `apart`: such a run, and they are farther apart.
    - `spread unknown`: such a run, and `own_sd` is missing.
    - `differs`: none of these.

    ours: a number, missing as for `numbers.exact`.
    printed: a cell as printed.
    route: published, public, recorded or run.
    own_sd: of a run, as `spread.own_sd` gives it.
    habit: by which the number is the printed one; empty for none.
    constructed: whether `by_construction` names the cell.
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
    # Two runs of one judge differ by their draws, and the printed one was rounded.
    rounding = float(TOLERANCE * parse(printed).unit)
    room = reach(float(sd)) + rounding
    return SPREAD if abs(float(gap)) <= room else APART


def _beside(
    rows: list[dict[str, Any]], key: Key, reasons: Mapping[Any, str], reason: str
) -> list[dict[str, Any]]:
    """Our rows for a printed number, a run last; else one row without a value."""
    with_value = [row for row in rows if row["value"] is not None]
    if with_value:
        return sorted(with_value, key=lambda row: row["route"] == "run")
    if rows:
        return rows[:1]
    # The narrowest reason holds: of the cell, of its column, of its row.
    for place in (key[:2], key[1], key[0]):
        if place in reasons:
            reason = reasons[place]
            break
    empty = {"value": None, "route": "", "signature": "", "reason": reason}
    return [dict(zip(KEY, key, strict=True)) | empty]


def _judged(
    row: dict[str, Any], printed: str, habit: str, fixed: str
) -> dict[str, Any]:
    """One of our numbers with the printed one, its verdict and why."""
    judged = verdict(
        row["value"],
        printed,
        row["route"],
        own_sd=row.get("own_sd"),
        habit=habit,
        constructed=bool(fixed),
    )
    reason = row["reason"]
    if judged == MISSING:
        reason = reason or NO_REASON
    elif judged == CONSTRUCTION:
        reason = f"by construction: {fixed}"
    elif judged == EQUAL and habit:
        reason = f"{BY_HABIT}{habit}"
    elif judged == UNKNOWN:
        reason = f"{reason}; {NO_SPREAD}" if reason else NO_SPREAD
    return row | {
        "printed": printed,
        "difference": difference(row["value"], printed),
        "verdict": judged,
        "reason": reason,
        "habit": habit if judged == EQUAL else "",
    }


def _with_reason(place: Key, cell: dict[str, Any]) -> dict[str, Any]:
    """A cell with what is stated of it where its number differs or is missing."""
    reason = cell["reason"]
    if cell["verdict"] == DIFFERS:
        reason = explained(place, reason)
    elif cell["verdict"] == MISSING:
        reason = _why_missing(published.fact(*place[:4]), reason)
    return cell | {"reason": reason}


def _why_missing(fact: published.Fact | None, reason: str) -> str:
    """The reason for an empty cell, with what is known of where its number is."""
    if fact is not None and reason in (NOT_COMPUTED, NO_REASON):
        reason = ""
    return published.explained(fact, reason) or NO_REASON


def _extra(row: dict[str, Any], printed: str) -> dict[str, Any]:
    """One of our numbers that has no printed number."""
    reason = row["reason"]
    if not reason and printed:
        reason = f"the printed cell holds no number: {printed!r}"
    return row | {"printed": printed, "verdict": EXTRA, "reason": reason, "habit": ""}


def _framed(rows: list[dict[str, Any]], paper: str, table: str) -> pd.DataFrame:
    """The compared rows as a frame with the columns RESULT."""
    columns = [*KEY, "value", "printed", "difference", "verdict", *OPTIONAL]
    frame = pd.DataFrame(rows, columns=[*columns, "habit", *OWN_SPREAD])
    frame = frame.assign(paper=paper, table=table, ours=frame["value"].astype(float))
    # Counts with gaps are whole numbers all the same (Int64, below).
    for name in ("n", "draws"):
        counts = frame[name].astype(object)
        frame[name] = counts.where(frame[name].notna(), pd.NA)
    frame = _with_gaps(with_kinds(frame))[list(RESULT)]
    numbers = dict.fromkeys(("difference", "ci_low", "ci_high", "own_sd"), float)
    return frame.astype(numbers | {"n": "Int64", "draws": "Int64"})


def _with_gaps(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells with the kind of each missing one's reason."""
    gaps = []
    for reason, cell_verdict in zip(cells["reason"], cells["verdict"], strict=True):
        gap = ""
        if cell_verdict == MISSING:
            gap = gap_of(reason)
        gaps.append(gap)
    return cells.assign(gap=gaps)


def _refuse_misfits(
    title: str,
    texts: Mapping[Key, str],
    rows: Mapping[Key, list[dict[str, Any]]],
    lacking: Mapping[Any, str],
) -> None:
    """Refuse what speaks of cells that are not printed, and extras that are."""
    # A reason may be about a cell, a row or a column.
    places: set[Any] = set()
    for row, column, _ in texts:
        places |= {(row, column), row, column}
    unprinted = sorted({*lacking} - places, key=str)
    if unprinted:
        raise ValueError(f"{title} prints no row or column {unprinted}")
    unknown = []
    clash = []
    for key, rows_of_cell in rows.items():
        extra = rows_of_cell[0]["extra"]
        if key not in texts and not extra:
            unknown.append(key)
        if extra and parse(texts.get(key, "")).value is not None:
            clash.append(key)
    if unknown:
        raise ValueError(
            f"{title} prints no such cell: {keys_in_words(unknown)}. "
            f"{_nearest_names(unknown, texts)}"
            "Mark rows that are meant to be extra with extra=True."
        )
    if clash:
        raise ValueError(
            f"{title} prints these cells, yet they are marked extra: "
            f"{keys_in_words(clash)}"
        )


def _nearest_names(unknown: list[Key], printed: Iterable[Key]) -> str:
    """The unknown names of rows, columns and statistics, and the nearest printed ones,
    as a sentence; empty where each name is known by itself.
    """
    hints = []
    unknown_by_axis = zip(*unknown, strict=True)
    printed_by_axis = zip(*printed, strict=True)
    axes = zip(KEY, unknown_by_axis, printed_by_axis, strict=True)
    for axis, names, printed_names in axes:
        allowed = dict.fromkeys(printed_names)
        for name in sorted(set(names) - set(allowed)):
            hints.append(f"{axis} {name!r} (nearest: {nearest(name, allowed)})")
    if not hints:
        return ""
    return f"{'; '.join(hints[:8])}. "


def _checked(ours: pd.DataFrame, paper: str, table: str) -> pd.DataFrame:
    """`ours` with all columns: exact values (None: missing), texts instead of gaps, and
    a boolean `extra`.
    """
    _check_columns(ours, paper, table)
    # One cell may have a number by each route.
    identifying = [*KEY, *ours.columns.intersection(["route"])]
    repeated = ours.duplicated(identifying)
    if repeated.any():
        keys = ours.loc[repeated, list(KEY)].to_numpy().tolist()
        raise ValueError(
            f"ours for {paper} {table} has keys twice: {keys_in_words(keys)}"
        )
    values = []
    for *key, value in ours[[*KEY, "value"]].itertuples(index=False, name=None):
        try:
            values.append(exact(value))
        except ValueError as error:
            raise ValueError(
                f"ours for {paper} {table}, {keys_in_words([key])}: {error}"
            ) from None
    ours = ours.reindex(columns=[*KEY, "value", *OPTIONAL, *OWN_SPREAD, "extra"])
    ours["value"] = pd.Series(values, ours.index, dtype=object)
    ours["extra"] = ours["extra"].fillna(False).astype(bool)
    for name in ("reason", "route", "signature"):
        ours[name] = ours[name].astype(object).where(ours[name].notna(), "")
    return ours


def _check_columns(ours: pd.DataFrame, paper: str, table: str) -> None:
    """Raises: ValueError for missing or unknown columns, or another paper or table."""
    needed = [*KEY, "value"]
    optional = [*OPTIONAL, *OWN_SPREAD, "extra"]
    allowed = {*needed, *optional, "paper", "table"}
    lacking = [name for name in needed if name not in ours.columns]
    unknown = [name for name in ours.columns if name not in allowed]
    if lacking or unknown:
        raise ValueError(
            f"ours for {paper} {table}: missing columns {lacking}, unknown columns "
            f"{unknown}; needed are {needed}, allowed besides {optional}"
        )
    for name, expected in (("paper", paper), ("table", table)):
        if name in ours.columns and (ours[name] != expected).any():
            foreign = sorted(set(ours[name]) - {expected})
            raise ValueError(f"ours has {name} {foreign}, compared with {expected!r}")


def by_construction() -> dict[tuple[str, ...], str]:
    """Why a cell is equal whatever was measured.

    Returns: (paper, table, row, column, statistic, route) -> the reason, such as a
    product of round numbers that the design sets.
    """
    columns = ("paper", "table", *KEY, "route", "why")
    rows = strings(folder() / "by_construction.csv", columns)
    return {row[:-1]: row[-1] for row in rows.itertuples(index=False, name=None)}


def habits() -> pd.DataFrame:
    """The rounding habits of the papers with their evidence, a row a habit."""
    return strings(folder() / "rounding.csv", ("paper", "habit", "evidence"))


def habits_of(paper: str) -> set[str]:
    """The habits of one paper, by name; empty where it rounds once."""
    rows = habits()
    pairs = zip(rows["paper"], rows["habit"], strict=True)
    return {habit for of_paper, habit in pairs if of_paper == paper}


def rounded(value: Any, printed: str, times: int = 1) -> Decimal:
    """A value rounded half up to the digits of a printed number; a missing one is 0.

    times: 1, or 2: first to one digit more, then to the printed ones.

    Example:
    >>> rounded(0.2845, ".28"), rounded(0.2845, ".28", times=2)
    (Decimal('0.28'), Decimal('0.29'))
    """
    unit = parse(printed).unit
    number = exact(value) or Decimal(0)
    if times == 2:
        number = number.quantize(unit.scaleb(-1), ROUND_HALF_UP)
    return number.quantize(unit, ROUND_HALF_UP)


def _agreeing_mean(values: Collection[Any], printed: str, times: int) -> bool:
    """Whether a printed number is the mean of these values, each rounded to its digits
    before.
    """
    parts = [rounded(value, printed, times) for value in values]
    if not parts:
        return False
    mean = sum(parts, Decimal(0)) / len(parts)
    return agrees(mean, printed)


def explains(habits: set[str], rows: Mapping[Key, Any], key: Key, printed: str) -> str:
    """By which of a paper's habits is our value the printed number?

    habits: of the paper, as `habits_of` gives them.
    rows: our values by (row, column, statistic); an average needs the other columns of
    its row and statistic.
    key: the cell in question.
    printed: its printed text.
    Returns: the habit in words; empty where by none.
    """
    row, column, statistic = key
    if statistic not in COEFFICIENTS:
        return ""
    if column != AVERAGE:
        twice = rounded(rows[key], printed, 2)
        fits = twice == parse(printed).value
        return TWICE if TWICE in habits and fits else ""
    if MEAN_HABIT not in habits:
        return ""
    parts = []
    for place, value in rows.items():
        of_row, of_column, of_statistic = place
        if (of_row, of_statistic) == (row, statistic) and of_column != AVERAGE:
            parts.append(value)
    if not _agreeing_mean(parts, printed, _times(habits)):
        return ""
    if TWICE in habits:
        return f"{MEAN_HABIT}, each rounded twice"
    return MEAN_HABIT


def _times(habits: set[str]) -> int:
    """How often a paper of these habits rounds a number."""
    return 2 if TWICE in habits else 1


def tried(cells: pd.DataFrame) -> pd.DataFrame:
    """Which habit fits which paper? A row a paper, counts of its coefficients that were
    computed from public data.

    cells: as `compare` returns them, of any tables.
    Returns: `once`, `twice`: coefficients, averages aside, that are the printed number
    when rounded half up once, or twice; `lost`, `won`: those that rounding twice would
    take away, and give; `mean of values`, `mean of rounded`: averages (of one table's
    row) that are the printed number by either reading; `coefficients`, `averages`: how
    many there are.
    """
    coefficients = cells[
        (cells["route"] == "public")
        & cells["statistic"].isin(COEFFICIENTS)
        & cells["ours"].notna()
        & (cells["printed"] != "")
    ]
    rows = []
    for paper, cells_of_paper in coefficients.groupby("paper", sort=False):
        is_average = cells_of_paper["column"] == AVERAGE
        plain = cells_of_paper[~is_average]
        averages = cells_of_paper[is_average]
        once = _rounded_to_printed(plain, 1)
        twice = _rounded_to_printed(plain, 2)
        of_values = map(agrees, averages["ours"], averages["printed"])
        times = _times(habits_of(paper))
        rows.append(
            {
                "paper": paper,
                "coefficients": len(plain),
                "once": once.sum(),
                "twice": twice.sum(),
                "lost": (once & ~twice).sum(),
                "won": (~once & twice).sum(),
                "averages": len(averages),
                "mean of values": sum(of_values),
                "mean of rounded": _means_of_rounded(plain, averages, times),
            }
        )
    return pd.DataFrame(rows)


def _means_of_rounded(plain: pd.DataFrame, averages: pd.DataFrame, times: int) -> int:
    """How many printed averages are the mean of rounded cells: those of the same
    table, row and statistic.
    """
    lines = plain.groupby(["table", "row", "statistic"])
    values_of_line = lines["ours"].agg(list).to_dict()
    fitting = 0
    for average in averages.itertuples():
        line = (average.table, average.row, average.statistic)
        values = values_of_line.get(line, [])
        fitting += _agreeing_mean(values, average.printed, times)
    return fitting


def _rounded_to_printed(cells: pd.DataFrame, times: int) -> np.ndarray:
    """Whether each of our numbers, rounded so often, is the printed one: a boolean a
    cell.
    """
    fits = []
    for ours, printed in zip(cells["ours"], cells["printed"], strict=True):
        fits.append(rounded(ours, printed, times) == parse(printed).value)
    return np.array(fits, dtype=bool)
