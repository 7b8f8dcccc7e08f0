"""The frame of pairs: one row two outputs for one input, and which of them is preferred.

frame = datasets.load_pairs("llmbar")
frame = datasets.load_pairs("summeval", aspect="fluency")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.datasets.frame import Spec, expect

FIRST = 1
SECOND = 2
TIE = 0
KEYS = (
    "dataset",
    "input_id",
    "pair_id",
    "system_1",
    "system_2",
    "preference",
    "output_1",
    "output_2",
)


def build(spec: Spec, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """The frame of `spec` from one row a pair, in file order.

    A row has the columns of `KEYS` but `dataset`; `rater_...` are those of single
    raters. A preference is 1 or 2 for the output that is better, 0 for a tie, NaN where
    nobody said.

    Raises: ValueError where a count or a preference is not as the spec says.
    """
    frame = pd.DataFrame(rows)
    frame.insert(0, "dataset", spec.name)
    raters = [name for name in frame if str(name).startswith("rater_")]
    order = dict.fromkeys([*KEYS[:6], *raters, *KEYS[6:], *frame])
    frame = frame[list(order)]
    for column in ("preference", *raters):
        frame[column] = frame[column].astype(float)
    if spec.n_items:
        sizes = (len(frame), frame["input_id"].nunique(), len(systems(frame)))
        expected = (spec.n_items, spec.n_inputs, spec.n_systems)
        expect(
            spec.name,
            "pairs, inputs, systems",
            sizes,
            expected,
        )
    return counted(frame, spec.name, _ties_allowed(spec))


def _ties_allowed(spec: Spec) -> bool:
    lowest, _ = spec.scale["preference"]
    return lowest == TIE


def counted(
    frame: pd.DataFrame,
    name: str,
    ties: bool,
) -> pd.DataFrame:
    """The frame, with what it is about in its `attrs`.

    Raises: ValueError for a preference that is none of 1, 2 and (with ties) 0.
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
    """Hold the form of a frame of pairs.

    Raises: ValueError naming the column, or the pair and what it has.
    """
    lacking = [column for column in ("pair_id", "preference") if column not in frame]
    if lacking:
        raise ValueError(
            f"a frame of pairs has no column {lacking[0]!r}; "
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
    """The systems of both sides, in the order in which they come; "" is no system."""
    names = [*frame["system_1"], *frame["system_2"]]
    return [name for name in dict.fromkeys(names) if name]


def flipped(verdicts: Any) -> np.ndarray:
    """The same verdicts said of the pair in the other order: 1 and 2 change places."""
    values = np.asarray(verdicts, dtype=float)
    return np.where((values == FIRST) | (values == SECOND), 3 - values, values)


def swapped(frame: pd.DataFrame) -> pd.DataFrame:
    """The same pairs in the other order: outputs, systems and preferences."""
    names = {}
    for column in frame.columns:
        if str(column).endswith(("_1", "_2")) and not _said(column):
            end = "2" if str(column).endswith("1") else "1"
            names[column] = f"{str(column)[:-1]}{end}"
    other = frame.rename(columns=names)[list(frame.columns)]
    for column in filter(_said, frame.columns):
        other[column] = flipped(frame[column])
    other.attrs = dict(frame.attrs)
    return other


def _said(column: Any) -> bool:
    """Whether a column says which output is better."""
    return column == "preference" or str(column).startswith("rater_")


def majority(ratings: Any) -> np.ndarray:
    """What most raters say of each pair; a tie where no verdict has most votes.

    ratings: `R[rater, pair]`, each 1, 2, 0 or NaN; NaN where nobody rated.
    """
    table = np.asarray(ratings, dtype=float)
    votes = np.stack([(table == value).sum(axis=0) for value in (TIE, FIRST, SECOND)])
    most = votes.max(axis=0)
    alone = (votes == most).sum(axis=0) == 1
    preferred = np.where(alone, votes.argmax(axis=0), TIE).astype(float)
    return np.where(most == 0, np.nan, preferred)


def from_ratings(
    frame: pd.DataFrame,
    aspect: str | None = None,
    margin: float = 0.0,
) -> pd.DataFrame:
    """The pairs that a long frame of ratings holds: every two systems of each input.

    The output with the higher rating is preferred; ratings at most `margin` apart are a
    tie. A pair without both ratings is left out, and counted in `attrs["left_out"]`.
    The rater columns become preferences of the same kind.

    Raises: ValueError where the frame has several aspects and none is named.
    """
    aspects = list(frame["aspect"].unique())
    if aspect is None and len(aspects) > 1:
        raise ValueError(f"name one aspect; there are {', '.join(aspects)}")
    aspect = aspects[0] if aspect is None else aspect
    if aspect not in aspects:
        raise ValueError(f"no aspect {aspect!r}; there are {', '.join(aspects)}")
    rated = frame[frame["aspect"] == aspect].reset_index(drop=True)
    first, second = _places(rated)
    both = rated["human"].to_numpy(dtype=float)
    present = ~np.isnan(both[first] - both[second])
    ones = rated.iloc[first[present]].reset_index(drop=True)
    twos = rated.iloc[second[present]].reset_index(drop=True)
    names = [ones["input_id"], ones["system_id"], twos["system_id"]]
    columns = {
        "dataset": ones["dataset"],
        "input_id": ones["input_id"],
        "pair_id": ["|".join(map(str, parts)) for parts in zip(*names, strict=True)],
        "system_1": ones["system_id"],
        "system_2": twos["system_id"],
        "preference": _higher(ones["human"], twos["human"], margin),
    }
    for column in rated:
        if str(column).startswith("rater_"):
            columns[str(column)] = _higher(ones[column], twos[column], margin)
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
    """The rows of both outputs of each pair, input by input."""
    places: list[tuple[int, int]] = []
    for _, rows in rated.groupby("input_id", sort=False):
        places += combinations(rows.index, 2)
    if not places:
        raise ValueError("no input has two outputs; there is no pair")
    first, second = np.array(places).T
    return first, second


def _higher(
    one: pd.Series,
    two: pd.Series,
    margin: float,
) -> np.ndarray:
    """Which of two ratings is higher, 0 where they are within the margin."""
    gap = one.to_numpy(dtype=float) - two.to_numpy(dtype=float)
    preferred = np.where(gap > margin, FIRST, np.where(gap < -margin, SECOND, TIE))
    return np.where(np.isnan(gap), np.nan, preferred)


def from_halves(frame: pd.DataFrame) -> pd.DataFrame:
    """The pairs of a long frame that has the two outputs of a pair in two rows.

    Such a frame (`hhh`) has one aspect `preference`, 1 for the output that was chosen
    and 0 for the other, and one input a pair. The first row is output 1.

    Raises: ValueError where an input has not two rows.
    """
    sizes = frame.groupby("input_id", sort=False).size()
    if (sizes != 2).any():
        input_id = sizes.index[sizes != 2][0]
        raise ValueError(f"input {input_id} has {sizes[input_id]} rows, not two")
    return from_ratings(frame, "preference")
