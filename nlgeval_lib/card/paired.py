"""Judges of pairs: how often they choose what people choose, and what the order does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets, meta
from nlgeval_lib.card.measure import Numbers, interval, mean_interval
from nlgeval_lib.datasets import recordings
from nlgeval_lib.scoring.cells import InputError

ORDERS = ("given", "swapped")


@dataclass(frozen=True)
class Paired:
    """The verdicts of a judge on the pairs of a set.

    frame: pairs as `datasets.pairs` has them, with the columns `given` and `swapped`:
    1 or 2 for an output whatever the order of showing, 0 a tie, NaN none. beside: name
    -> verdicts of another judge, (order, pair). both_orders: whether the judge saw each
    pair in both; else it scored the outputs one by one.
    """

    name: str
    title: str
    frame: pd.DataFrame
    beside: Mapping[str, np.ndarray] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    sample: str = "all pairs"
    both_orders: bool = True

    def verdicts(self) -> np.ndarray:
        """(order, pair)."""
        return self.frame[list(ORDERS)].to_numpy(dtype=float).T

    def by_order(self) -> pd.DataFrame:
        """A row a verdict: the pair as `system_id`, the order as `aspect`."""
        parts = []
        for order in ORDERS:
            columns = {
                "input_id": self.frame["input_id"],
                "system_id": self.frame["pair_id"],
                "aspect": order,
                "human": self.frame["preference"],
                "value": self.frame[order],
            }
            parts.append(pd.DataFrame(columns))
        return pd.concat(parts, ignore_index=True)


def is_pairs(data: Any) -> bool:
    """Whether a data set's name, or a frame, is one of pairs."""
    if isinstance(data, str):
        return datasets.has(data) and datasets.kind(data) == "pairs"
    return {"preference", "output_1", "output_2"} <= {*data.columns}


def of(data: str | pd.DataFrame) -> Paired:
    """A set of pairs that is not judged yet. Raises: UnknownName; DataUnavailable."""
    if isinstance(data, str):
        frame = datasets.load_pairs(data)
        return Paired(data, datasets.spec(data).title, frame)
    name = str(data.attrs.get("name", "own"))
    frame = data.reset_index(drop=True).copy()
    for column in ("pair_id", "input_id"):
        if column not in frame:
            frame[column] = [str(number) for number in range(len(frame))]
    frame["preference"] = frame["preference"].astype(float)
    return Paired(name, name, frame)


def sampled(paired: Paired, items: int | None, seed: int = 0) -> Paired:
    """About so many pairs, in the shares of the set's subsets, the same for all
    judges.
    """
    frame = paired.frame
    if items is None or items >= len(frame):
        return paired
    order = frame.index.to_numpy()
    if "subset" in frame:
        order = frame["subset"].sort_values(kind="stable").index.to_numpy()
    rng = np.random.default_rng(seed)
    chosen = sorted(rng.choice(part) for part in np.array_split(order, items))
    rows = frame.loc[chosen].reset_index(drop=True)
    sample = f"{items} of {len(frame)} pairs, subsets in their shares, seed {seed}"
    return replace(paired, frame=rows, sample=sample)


def as_rows(paired: Paired) -> pd.DataFrame:
    """Both outputs of each pair as rows, for a judge that scores one at a time."""
    texts = paired.frame.drop(
        columns=["output_1", "output_2", "preference", *ORDERS, "system_1", "system_2"],
        errors="ignore",
    )
    parts = []
    for option in ("1", "2"):
        output = paired.frame[f"output_{option}"]
        ids = paired.frame["pair_id"]
        parts.append(texts.assign(output=output, system_id=option, input_id=ids))
    return pd.concat(parts, ignore_index=True)


def from_scores(paired: Paired, scores: pd.DataFrame) -> Paired:
    """The verdicts of a judge that scored the rows of `as_rows`: the higher score is
    preferred, equal ones are a tie.
    """
    first, second = scores["value"].to_numpy(dtype=float).reshape(2, -1)
    verdict = np.where(first > second, 1.0, np.where(second > first, 2.0, 0.0))
    verdict = np.where(np.isnan(first + second), np.nan, verdict)
    frame = paired.frame.assign(given=verdict, swapped=verdict)
    return replace(paired, frame=frame, both_orders=False)


def recorded(dataset: str, recording: str, judge: str, form: str) -> Paired:
    """The verdicts that somebody's judge gave, the other judges of this form beside.

    Raises: InputError; UnknownName; DataUnavailable.
    """
    frame = datasets.load_pairs(dataset)
    table = recordings.load(recording)
    verdicts = {}
    for (name, prompt), rows in table.groupby(["judge", "prompt_form"], sort=False):
        if prompt == form:
            wide = rows.pivot(index="pair_id", columns="order", values="value")
            if {*ORDERS} <= {*wide.columns}:
                ordered = wide.reindex(frame["pair_id"])[list(ORDERS)]
                verdicts[str(name)] = ordered.to_numpy(dtype=float).T
    if judge not in verdicts:
        raise InputError(
            f"{recording} has no judge {judge!r} of form {form!r} in both orders; "
            f"of that form it has {', '.join(verdicts) or 'none'}"
        )
    given, swapped = verdicts.pop(judge)
    facts = {
        "model": judge,
        "prompt form": form,
        "engine": "recorded",
        "source": recordings.spec(recording).source,
    }
    title = datasets.spec(dataset).title
    own = frame.assign(given=given, swapped=swapped)
    return Paired(dataset, title, own, verdicts, facts)


def measured(paired: Paired) -> Numbers:
    """Everything that is measured of a judge of pairs."""
    frame = paired.frame
    verdicts = paired.verdicts()
    preference = frame["preference"].to_numpy(dtype=float)
    groups = frame["input_id"].to_numpy()
    longer = _longer(frame)
    right = _right(verdicts, preference)
    numbers: Numbers = {
        "kind": "pairs",
        "title": paired.title,
        "sample": paired.sample,
        "pairs": len(frame),
        "inputs": int(frame["input_id"].nunique()),
        "systems": 0,
        "coverage": {
            "value": float((~np.isnan(verdicts)).mean()),
            "statuses": {
                "verdicts": int((~np.isnan(verdicts)).sum()),
                "without": int(np.isnan(verdicts).sum()),
            },
        },
        "accuracy": _accuracy(verdicts, preference, groups),
        "facts": dict(paired.facts),
        "subsets": _subsets(frame, verdicts),
    }
    if paired.both_orders:
        effect = meta.order_effect(*verdicts, groups=groups)
        numbers["swap"] = interval(effect) | {"kappa": effect.kappa}
        first = mean_interval(_shown_first(verdicts), groups)
        numbers["first"] = first | {"ties": effect.ties}
    if longer is not None:
        gap = right - _right(longer, preference)
        share = _accuracy(longer, preference, groups)
        numbers["longer"] = share | {"versus": mean_interval(gap, groups)}
    numbers["beside"] = _beside(paired, numbers, right)
    return numbers


def _beside(paired: Paired, numbers: Numbers, right: np.ndarray) -> list[Numbers]:
    """The judge among the recorded ones and the longer output, best first.

    right: how often it is right about each pair.
    """
    preference = paired.frame["preference"].to_numpy(dtype=float)
    groups = paired.frame["input_id"].to_numpy()
    rows = [{"name": "this judge", **numbers["accuracy"]}]
    if "longer" in numbers:
        rows.append({"name": "the longer output", **numbers["longer"]})
    for name, verdicts in paired.beside.items():
        share = _accuracy(verdicts, preference, groups)
        gap = right - _right(verdicts, preference)
        minus = mean_interval(gap, groups)
        rows.append({"name": name, **share, "judge_minus_it": minus})
    return sorted(rows, key=lambda row: -row["value"])


def _accuracy(verdicts: np.ndarray, preference: np.ndarray, groups: Any) -> Numbers:
    return interval(meta.pair_accuracy(verdicts, preference, groups))


def _right(verdicts: np.ndarray, preference: np.ndarray) -> np.ndarray:
    """The share of orders in which each pair is judged as people do; NaN without a
    verdict.
    """
    right = np.where(np.isnan(verdicts), np.nan, verdicts == preference)
    present = ~np.isnan(right)
    total = np.where(present, right, 0).sum(axis=0)
    count = present.sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _shown_first(verdicts: np.ndarray) -> np.ndarray:
    """The share of orders in which the option that is shown first is chosen; ties stay
    out.
    """
    given, swapped = verdicts
    first = np.stack([_is(given, 1), _is(swapped, 2)])
    present = ~np.isnan(first)
    count = present.sum(axis=0)
    total = np.where(present, first, 0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _is(verdicts: np.ndarray, option: int) -> np.ndarray:
    chosen = np.isin(verdicts, (1.0, 2.0))
    return np.where(chosen, verdicts == option, np.nan)


def _longer(frame: pd.DataFrame) -> np.ndarray | None:
    """The verdicts of who takes the longer output, in both orders; None without
    outputs.
    """
    if not {"output_1", "output_2"} <= {*frame.columns}:
        return None
    first = meta.baselines.length(frame["output_1"].tolist())
    second = meta.baselines.length(frame["output_2"].tolist())
    verdict = np.where(first > second, 1.0, np.where(second > first, 2.0, 0.0))
    return np.stack([verdict, verdict])


def _subsets(frame: pd.DataFrame, verdicts: np.ndarray) -> list[Numbers]:
    """The accuracy in each subset, where the set has several."""
    rows: list[Numbers] = []
    if "subset" not in frame:
        return rows
    for subset in frame["subset"].unique():
        inside = (frame["subset"] == subset).to_numpy()
        part = frame[inside]
        preference = part["preference"].to_numpy(dtype=float)
        groups = part["input_id"].to_numpy()
        accuracy = _accuracy(verdicts[:, inside], preference, groups)
        rows.append({"subset": str(subset), **accuracy})
    return rows
