"""The frame of pairs: one row two outputs for one input, and which of them is
preferred: FIRST (1), SECOND (2), TIE (0), or NaN where nobody said.

`frame.attrs` has name, kind "pairs", ties (whether 0 may stand), n_items (pairs),
n_inputs and n_systems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.datasets.frame import Spec, expect

# what a preference may be
FIRST = 1
SECOND = 2
TIE = 0
# the columns that a frame of pairs begins with; those of raters follow `preference`
_IDS = ("dataset", "input_id", "pair_id", "system_1", "system_2", "preference")
KEYS = (*_IDS, "output_1", "output_2")


def build(spec: Spec, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The frame of `spec` from one row a pair, in file order.

    rows: mappings with the columns of `KEYS` but `dataset`; `rater_...` are those of
    single raters; further columns stay behind them.
    Raises: ValueError where a count or a preference is not as the spec says, and where
    a pair_id is there twice.
    """
    frame = pd.DataFrame(rows)
    frame.insert(0, "dataset", spec.name)
    raters = [name for name in frame if str(name).startswith("rater_")]
    frame = frame[list(dict.fromkeys([*_IDS, *raters, *KEYS, *frame]))]
    frame = frame.astype(dict.fromkeys(("preference", *raters), float))
    if spec.n_items:
        sizes = (len(frame), frame["input_id"].nunique(), len(systems(frame)))
        expected = (spec.n_items, spec.n_inputs, spec.n_systems)
        expect(spec.name, "pairs, inputs, systems", sizes, expected)
    return counted(frame, spec.name, ties=spec.scale["preference"][0] == TIE)


def counted(frame: pd.DataFrame, name: str, ties: bool) -> pd.DataFrame:
    """The frame itself, with what it is about and its sizes in its `attrs`; `ties`:
    whether 0 is a preference of this set. Raises: as `check`.
    """
    check(frame, ties)
    frame.attrs = {
        "name": name,
        "kind": "pairs",
        "ties": ties,
        "n_items": len(frame),
        "n_inputs": frame["input_id"].nunique(),
        "n_systems": len(systems(frame)),
    }
    return frame


def check(frame: pd.DataFrame, ties: bool = True) -> None:
    """Hold the form of a frame of pairs: columns, preferences and ids. Raises:
    ValueError.
    """
    for column in ("pair_id", "preference"):
        if column not in frame:
            raise ValueError(
                f"a frame of pairs has no column {column!r}; "
                f"it has {', '.join(map(str, frame.columns))}"
            )
    allowed = (TIE, FIRST, SECOND) if ties else (FIRST, SECOND)
    preferences = frame["preference"]
    wrong = preferences.notna() & ~preferences.isin(allowed)
    if wrong.any():
        pair = frame[wrong].iloc[0]
        words = "1, 2 or 0 for a tie" if ties else "1 or 2"
        raise ValueError(
            f"pair {pair['pair_id']}: preference {pair['preference']} is not {words}"
        )
    repeated = frame["pair_id"].duplicated()
    if repeated.any():
        pair_id = frame.loc[repeated, "pair_id"].iloc[0]
        raise ValueError(f"pair {pair_id} is there more than once; pair_id is unique")


def systems(frame: pd.DataFrame) -> list[str]:
    """The systems of both sides, each once, in their order; "" is no system."""
    names = [*frame["system_1"], *frame["system_2"]]
    return [name for name in dict.fromkeys(names) if name]


def flipped(verdicts: Any) -> np.ndarray:
    """The same verdicts about the pair in the other order: 1 and 2 change places."""
    values = np.asarray(verdicts, dtype=float)
    return np.where((values == FIRST) | (values == SECOND), 3 - values, values)


def swapped(frame: pd.DataFrame) -> pd.DataFrame:
    """The same pairs in the other order: outputs, systems and preferences change
    places; the columns stay in order.
    """
    names = {}
    for column in frame.columns:
        # rater_1 and rater_2 are two raters, not two sides
        if str(column).endswith(("_1", "_2")) and not _is_verdict(column):
            end = "2" if str(column).endswith("1") else "1"
            names[column] = f"{str(column)[:-1]}{end}"
    turned = frame.rename(columns=names)[list(frame.columns)]
    for column in filter(_is_verdict, frame.columns):
        turned[column] = flipped(frame[column])
    turned.attrs = dict(frame.attrs)
    return turned


def _is_verdict(column: Any) -> bool:
    """Whether a column says which output is better."""
    return column == "preference" or str(column).startswith("rater_")


def majority(ratings: Any) -> np.ndarray:
    """What most raters `R[rater, pair]` say of each pair, as float64: a tie where no
    verdict has most votes, NaN where nobody rated.

    Example:
        >>> majority([[1, 1, 0], [1, 2, 0], [2, 0, np.nan]]).tolist()
        [1.0, 0.0, 0.0]
    """
    table = np.asarray(ratings, dtype=float)
    # votes[verdict, pair]; the verdicts are their own places: 0, 1, 2
    votes = np.stack([(table == value).sum(axis=0) for value in (TIE, FIRST, SECOND)])
    most = votes.max(axis=0)
    alone = (votes == most).sum(axis=0) == 1
    preferred = np.where(alone, votes.argmax(axis=0), TIE).astype(float)
    return np.where(most == 0, np.nan, preferred)


def from_ratings(frame: pd.DataFrame, aspect: str | None = None) -> pd.DataFrame:
    """The pairs that a long frame of ratings holds: every two outputs of each input,
    input by input; the higher rating is preferred, and equal ones are a tie.

    aspect: whose ratings decide; None where the frame has one alone.
    Returns: `pair_id` is input and both systems, with | between them; raters' columns
    become preferences, too. A pair without both ratings is left out, and counted in
    `attrs["left_out"]`.
    Raises: ValueError for an aspect that is not there or not named, where no input has
    two outputs, and where a pair_id is there twice.
    """
    aspects = list(frame["aspect"].unique())
    if aspect is None and len(aspects) > 1:
        raise ValueError(f"name one aspect; there are {', '.join(aspects)}")
    aspect = aspects[0] if aspect is None else aspect
    if aspect not in aspects:
        raise ValueError(f"no aspect {aspect!r}; there are {', '.join(aspects)}")
    rated = frame[frame["aspect"] == aspect].reset_index(drop=True)
    first, second = _places(rated)
    ratings = rated["human"].to_numpy(dtype=float)
    # NaN on either side makes the difference NaN: such a pair has no preference.
    present = ~np.isnan(ratings[first] - ratings[second])
    ones = rated.iloc[first[present]].reset_index(drop=True)
    twos = rated.iloc[second[present]].reset_index(drop=True)
    names = zip(ones["input_id"], ones["system_id"], twos["system_id"], strict=True)
    columns = {
        "dataset": ones["dataset"],
        "input_id": ones["input_id"],
        "pair_id": ["|".join(map(str, parts)) for parts in names],
        "system_1": ones["system_id"],
        "system_2": twos["system_id"],
        "preference": higher(ones["human"], twos["human"]),
    }
    for column in rated:
        if str(column).startswith("rater_"):
            columns[str(column)] = higher(ones[column], twos[column])
    if "output" in rated:
        columns["output_1"] = ones["output"]
        columns["output_2"] = twos["output"]
    for column in ("source", "reference", "context", "instruction", "rubric"):
        if column in rated:
            columns[column] = ones[column]
    pairs = counted(pd.DataFrame(columns), f"{rated['dataset'].iloc[0]}", ties=True)
    pairs.attrs["aspect"] = aspect
    pairs.attrs["left_out"] = int((~present).sum())
    return pairs


def _places(rated: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the first and of the second output of each pair, input by input."""
    places: list[tuple[int, int]] = []
    for _, rows in rated.groupby("input_id", sort=False):
        places += combinations(rows.index, 2)
    if not places:
        raise ValueError("no input has two outputs; there is no pair")
    first, second = np.array(places).T
    return first, second


def higher(first: Any, second: Any) -> np.ndarray:
    """Which of two numbers is higher, pair by pair: 1 or 2, 0 for neither, NaN without
    both.
    """
    gap = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    preferred = np.where(gap > 0, FIRST, np.where(gap < 0, SECOND, TIE))
    return np.where(np.isnan(gap), np.nan, preferred)
