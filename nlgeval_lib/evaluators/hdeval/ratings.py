"""From frames with ratings to training tables: an output a row, a rated target a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.records import Sample


def of_frame(
    frame: pd.DataFrame, given: Sequence[Sample], shown: Sequence[str]
) -> tuple[tuple[Sample, ...], pd.DataFrame]:
    """The outputs of a rated frame, and their ratings [outputs, targets].

    frame: long (`aspect`, `human`) or one row an output (`human_<target>`); `given` and `shown` are its rows as samples
    and as texts. In a long frame, rows with the same ids and text are one output; where an aspect comes again, it is
    another output with the same text.

    Raises: ValueError where the frame has no ratings.
    """
    if "human" in frame.columns and any(sample.aspect for sample in given):
        keys = [frame[column].astype(str).tolist() for column in ("input_id", "system_id") if column in frame.columns]
        places = _places(list(zip(*keys, shown, strict=True)), [sample.aspect for sample in given])
        outputs: dict[int, Sample] = {}
        for place, sample in zip(places, given, strict=True):
            bare = sample.id.removesuffix(f"/{sample.aspect}") if keys else sample.id
            outputs.setdefault(place, replace(sample, id=bare, aspect=""))
        targets = list(dict.fromkeys(sample.aspect for sample in given))
        table = np.full((len(outputs), len(targets)), np.nan)
        table[places, [targets.index(sample.aspect) for sample in given]] = _numbers(frame["human"], "human")
        return tuple(outputs.values()), pd.DataFrame(table, columns=targets)
    wide = [column for column in frame.columns if str(column).startswith("human_")]
    if not wide:
        raise ValueError(
            "no ratings to learn from: a long frame with 'aspect' and 'human', or columns 'human_<target>', is needed; "
            f"the frame has {', '.join(map(str, frame.columns))}"
        )
    return tuple(given), of_columns(frame[wide].rename(columns=lambda c: str(c).removeprefix("human_")), len(given))


def _places(keys: Sequence[Any], aspects: Sequence[str]) -> list[int]:
    """The number of each row's output: the first time its key is seen with as many repetitions of its aspect."""
    places: dict[Any, int] = {}
    turns: dict[Any, int] = {}
    found = []
    for key, aspect in zip(keys, aspects, strict=True):
        turn = turns[key, aspect] = turns.get((key, aspect), -1) + 1
        found.append(places.setdefault((key, turn), len(places)))
    return found


def of_columns(human: pd.DataFrame | Mapping[str, Sequence[float]], rows: int) -> pd.DataFrame:
    """Ratings [rows, targets] as numbers, columns as text, index from 0.

    Raises: ValueError for another number of rows, or ratings that are no numbers.
    """
    table = pd.DataFrame(human).reset_index(drop=True)
    if len(table) != rows:
        raise ValueError(f"{len(table)} rows of ratings for {rows} samples; one row a sample is needed")
    return pd.DataFrame({str(column): _numbers(table[column], str(column)) for column in table.columns})


def training_share(n: int, share: float, seed: int) -> np.ndarray:
    """The positions of a random share of n rows, at least 2, in their order. Source: HD-Eval, Figure 4.

    Raises: ValueError for a share outside (0, 1].
    """
    if not 0 < share <= 1:
        raise ValueError(f"share is {share!r}; a number above 0 and up to 1 is needed")
    size = min(n, max(2, round(n * share)))
    return np.sort(np.random.default_rng(seed).permutation(n)[:size])


def _numbers(column: pd.Series, name: str) -> np.ndarray:
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise ValueError(f"column {name!r} holds {column.dtype}; ratings are numbers, NaN where missing") from None
