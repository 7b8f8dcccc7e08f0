"""Judges of pairs: how often they choose what people choose, and what the order of
showing does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from judgecard import judged, pair_judges, recordings
from judgecard.cells import (
    Numbers,
    difference_interval,
    interval,
    mean_interval,
    value_or_reason,
)
from judgecard.pair_judges import ORDERS
from nlgeval_lib import datasets, statistics
from nlgeval_lib.datasets import pairs
from nlgeval_lib.scoring.cells import InputError, as_text
from nlgeval_lib.scoring.columns import IDS, TEXTS
from nlgeval_lib.scoring.rows import Rows

FEWEST_PAIRS = 10  # that people prefer the longer, or the shorter, output of


@dataclass(frozen=True)
class Paired:
    """The verdicts of a judge on the pairs of a set.

    name: of the set, as it stands in paths and file names.
    title: of the set, as it stands in texts.
    frame: pairs as `datasets.pairs` has them, with the columns `given` and `swapped`: 1
        or 2 for an output whatever the order of showing, 0 a tie, NaN none.
    other_judges: name -> verdicts of another judge, (order, pair).
    facts: who answered, and what it took.
    sample: how the pairs were chosen, in words.
    both_orders: whether the judge saw each pair in both; else it scored the outputs one
        by one.
    """

    name: str
    title: str
    frame: pd.DataFrame
    other_judges: Mapping[str, np.ndarray] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    sample: str = "all pairs"
    both_orders: bool = True

    @property
    def preference(self) -> np.ndarray:
        """The option that people prefer, of each pair: 1, 2, or 0 for a tie."""
        return self.frame["preference"].to_numpy(dtype=float)

    @property
    def groups(self) -> np.ndarray:
        """The input of each pair: pairs of one input are not independent."""
        return self.frame["input_id"].to_numpy()

    def verdicts(self) -> np.ndarray:
        """The judge's verdicts, (order, pair): 1, 2, 0 for a tie, NaN for none."""
        return _by_order(self.frame)

    def accuracy(self, verdicts: np.ndarray) -> Numbers:
        """How often are verdicts, (order, pair), those of people? With its interval
        over inputs. Raises: ValueError for bad verdicts.
        """
        return interval(
            statistics.pair_accuracy(verdicts, self.preference, self.groups)
        )

    def right(self, verdicts: np.ndarray) -> np.ndarray:
        """The share of orders in which each pair is judged as people do, (pair,): 0,
        0.5 or 1; NaN without a verdict. verdicts: (order, pair).
        """
        right = (verdicts == self.preference).astype(float)
        right[np.isnan(verdicts)] = np.nan
        return _mean_over_orders(right)

    def mean(self, values: np.ndarray) -> Numbers:
        """A mean over pairs, (pair,), its interval over inputs; NaN is left out."""
        return mean_interval(values, self.groups)

    def rows(self) -> pd.DataFrame:
        """A row a verdict: `input_id, system_id, aspect, human, value`; the pair stands
        as `system_id`, the order of showing as `aspect`.
        """
        tables = []
        for order in ORDERS:
            columns = {
                "input_id": self.frame["input_id"],
                "system_id": self.frame["pair_id"],
                "aspect": order,
                "human": self.frame["preference"],
                "value": self.frame[order],
            }
            tables.append(pd.DataFrame(columns))
        return pd.concat(tables, ignore_index=True)


def _by_order(frame: pd.DataFrame) -> np.ndarray:
    """A column an order, and a row a pair, as (order, pair)."""
    columns = frame[list(ORDERS)]
    return columns.to_numpy(dtype=float).T


def is_pairs(data: Any) -> bool:
    """Whether a data set's name, or a frame, is one of pairs.

    data: a frame of pairs has `preference`, `output_1` and `output_2`; a name that is
        not known is none of pairs.
    """
    if isinstance(data, str):
        return datasets.has(data) and datasets.kind(data) == "pairs"
    return {"preference", "output_1", "output_2"}.issubset(data.columns)


def load_paired(data: str | pd.DataFrame) -> Paired:
    """A set of pairs that is not judged yet.

    Raises: UnknownName; DataUnavailable.
    """
    if isinstance(data, str):
        return Paired(
            name=data,
            title=datasets.spec(data).title,
            frame=datasets.load_pairs(data),
        )
    name = str(data.attrs.get("name", "own"))
    frame = data.reset_index(drop=True).copy()
    for column in ("pair_id", "input_id"):
        if column not in frame:
            frame[column] = [str(number) for number in range(len(frame))]
    frame["preference"] = frame["preference"].astype(float)
    return Paired(name=name, title=name, frame=frame)


def of_rows(rows: Rows) -> Paired:
    """Somebody's own pairs; their name is that of the file. Pairs of which nobody says
    what is preferred are left out.

    Raises: InputError for a column that is not there, a cell that is no text or no
    verdict, and fewer than three pairs.
    """
    for column in pair_judges.NEEDED:
        if column not in rows.theirs:
            raise InputError(
                f"pairs need output_1, output_2 and preference (A, B or tie), and "
                f"{rows.name} has no {column}: --map {column}=COLUMN. Its columns: "
                f"{', '.join(rows.columns)}"
            )
    data = rows.only(lambda name: name in (*pair_judges.NEEDED, *TEXTS, *IDS))
    columns = {"preference": pair_judges.verdicts_in(data, "preference")}
    for name in pair_judges.OUTPUTS:
        columns[name] = data.read(data.frame[name], name, as_text)
    frame = data.frame.assign(**columns).dropna(subset=list(pair_judges.NEEDED))
    if len(frame) < 3:
        raise InputError(f"{rows.name}: fewer than 3 pairs have a preference")
    frame.attrs["name"] = judged.name_of(rows)
    return load_paired(frame)


def sampled(paired: Paired, items: int | None, seed: int = 0) -> Paired:
    """About so many pairs, in the shares of the set's subsets, the same for all judges.

    items: pairs that are wanted; None: all.
    Returns: the set itself where all pairs are taken; else a copy that says in `sample`
    how it was chosen.
    """
    frame = paired.frame
    if items is None or items >= len(frame):
        return paired
    ordered = frame
    if "subset" in frame:
        ordered = frame.sort_values("subset", kind="stable")
    # sorted by subset and cut into as many strata as pairs are wanted, one pair of
    # each: so each subset has its share
    strata = np.array_split(ordered.index.to_numpy(), items)
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(stratum) for stratum in strata]
    chosen.sort()
    rows = frame.loc[chosen].reset_index(drop=True)
    sample = f"{items} of {len(frame)} pairs, subsets in their shares, seed {seed}"
    return replace(paired, frame=rows, sample=sample)


def as_rows(paired: Paired) -> pd.DataFrame:
    """Both outputs of each pair as rows, for a judge that scores one at a time.

    Returns: first all outputs 1, then all outputs 2, each in the order of the pairs;
    the pair's name is the input, the option ("1" or "2") the system.
    """
    of_pairs = ["output_1", "output_2", "preference", "system_1", "system_2", *ORDERS]
    texts = paired.frame.drop(columns=of_pairs, errors="ignore")
    tables = []
    for option in ("1", "2"):
        rows = texts.assign(
            output=paired.frame[f"output_{option}"],
            system_id=option,
            input_id=paired.frame["pair_id"],
        )
        tables.append(rows)
    return pd.concat(tables, ignore_index=True)


def from_scores(paired: Paired, scores: pd.DataFrame) -> Paired:
    """The verdicts of a judge that scored the rows of `as_rows`: the higher score is
    preferred, equal ones are a tie.
    """
    values = scores["value"].to_numpy(dtype=float)
    first, second = values.reshape(2, -1)
    verdicts = pairs.higher(first, second)
    # no order was shown: the verdict is the same in both
    frame = paired.frame.assign(given=verdicts, swapped=verdicts)
    return replace(paired, frame=frame, both_orders=False)


def recorded(dataset: str, recording: str, judge: str, form: str) -> Paired:
    """The verdicts that somebody's judge gave, the other judges of this form beside.

    Raises: InputError for a judge without verdicts in both orders; UnknownName;
    DataUnavailable.
    """
    frame = datasets.load_pairs(dataset)
    table = recordings.load(recording)
    table = table[table["prompt_form"] == form]
    verdicts = {}
    for name, rows in table.groupby("judge", sort=False):
        by_pair = rows.pivot(index="pair_id", columns="order", values="value")
        if set(ORDERS).issubset(by_pair.columns):
            by_pair = by_pair.reindex(frame["pair_id"])
            verdicts[str(name)] = _by_order(by_pair)
    if judge not in verdicts:
        judges = ", ".join(verdicts) or "none"
        raise InputError(
            f"{recording} has no judge {judge!r} of form {form!r} in both orders; "
            f"of that form it has {judges}"
        )
    in_given, in_swapped = verdicts.pop(judge)
    facts = {
        "model": judge,
        "prompt form": form,
        "engine": "recorded",
        "source": recordings.spec(recording).source,
    }
    return Paired(
        name=dataset,
        title=datasets.spec(dataset).title,
        frame=frame.assign(given=in_given, swapped=in_swapped),
        other_judges=verdicts,
        facts=facts,
    )


def measured(paired: Paired) -> Numbers:
    """Everything that is measured of a judge of pairs.

    Returns: what `card.json` has of the set: `accuracy` over all pairs and in
    `subsets`; `decided`, the share right of pairs that people do not call equal, where
    a tie counts half, so that a coin reaches .5; for a judge that saw both orders
    `swap` (how often it keeps its choice) and `first` (how often it takes the option
    shown first); `longer`, the accuracy of who takes the longer output, with the gap to
    it; and all judges `beside` it.
    """
    verdicts = paired.verdicts()
    present = ~np.isnan(verdicts)
    decided = _right_where_decided(paired)
    numbers: Numbers = {
        "kind": "pairs",
        "title": paired.title,
        "sample": paired.sample,
        "pairs": len(paired.frame),
        "inputs": int(paired.frame["input_id"].nunique()),
        "systems": 0,
        "coverage": {
            "value": float(present.mean()),
            "statuses": {
                "verdicts": int(present.sum()),
                "without": int((~present).sum()),
            },
        },
        "accuracy": paired.accuracy(verdicts),
        "decided": paired.mean(decided),
        "facts": dict(paired.facts),
        "subsets": _subsets(paired),
    }
    if paired.both_orders:
        effect = statistics.order_effect(*verdicts, groups=paired.groups)
        numbers["swap"] = interval(effect)
        numbers["swap"]["kappa"] = effect.kappa
        numbers["first"] = paired.mean(_shown_first(verdicts))
        numbers["first"]["ties"] = effect.ties
    longer = _longer(paired.frame)
    if longer is not None:
        # of two outputs of one length either may be taken: half right
        right = np.where(longer[0] == 0, 0.5, paired.right(longer))
        numbers["longer"] = paired.mean(right)
        numbers["longer"]["versus"] = paired.mean(decided - right)
        numbers["longer"]["pull"] = value_or_reason(_pull, paired, longer[0])
    numbers["beside"] = _beside(paired, numbers)
    return numbers


def _beside(paired: Paired, numbers: Numbers) -> list[Numbers]:
    """The judge among the recorded ones and the longer output, a row each, best first."""
    rows = [{"name": "this judge", **numbers["accuracy"]}]
    if "longer" in numbers:
        rows.append({"name": "the longer output", **numbers["longer"]})
    right = paired.right(paired.verdicts())
    for name, verdicts in paired.other_judges.items():
        gap = right - paired.right(verdicts)
        rows.append(
            {
                "name": name,
                **paired.accuracy(verdicts),
                "judge_minus_it": paired.mean(gap),
            }
        )
    return sorted(rows, key=lambda row: -row["value"])


def _right_where_decided(paired: Paired) -> np.ndarray:
    """The share of orders in which each pair is judged as people do, a tie of the judge
    counting half; NaN where people call it equal.
    """
    verdicts = paired.verdicts()
    preference = paired.preference
    right = (verdicts == preference) + (verdicts == 0) / 2
    right[np.isnan(verdicts) | ~(preference > 0)] = np.nan
    return _mean_over_orders(right)


def _shown_first(verdicts: np.ndarray) -> np.ndarray:
    """The share of orders in which the option that is shown first is chosen, of each
    pair; ties stay out.
    """
    options = np.array([[1.0], [2.0]])  # that is shown first, as given and swapped
    first = (verdicts == options).astype(float)
    first[~np.isin(verdicts, options)] = np.nan
    return _mean_over_orders(first)


def _mean_over_orders(shares: np.ndarray) -> np.ndarray:
    """The mean of each pair's orders; NaN is left out."""
    present = ~np.isnan(shares)
    number = present.sum(axis=0)
    total = np.where(present, shares, 0).sum(axis=0)
    # `np.nanmean` would warn of pairs without a verdict
    means = total / np.maximum(number, 1)
    return np.where(number > 0, means, np.nan)


def _longer(frame: pd.DataFrame) -> np.ndarray | None:
    """The verdicts of who takes the longer output, (order, pair)."""
    if "output_1" not in frame or "output_2" not in frame:
        return None
    first = statistics.baselines.length(frame["output_1"].tolist())
    second = statistics.baselines.length(frame["output_2"].tolist())
    # where an output is not there, neither is longer
    verdicts = np.nan_to_num(pairs.higher(first, second))
    return np.stack([verdicts, verdicts])


def _pull(paired: Paired, longer: np.ndarray) -> Numbers:
    """How much more often does the judge err where people prefer the shorter output
    than where they prefer the longer? 1 of a judge that takes the longer one always.
    """
    preference = paired.preference
    wrong = 1 - paired.right(paired.verdicts())
    told = (preference > 0) & (longer > 0) & ~np.isnan(wrong)
    agrees = told & (preference == longer)
    differs = told & (preference != longer)
    if min(agrees.sum(), differs.sum()) < FEWEST_PAIRS:
        raise ValueError(
            f"people prefer the longer, or the shorter, in fewer than {FEWEST_PAIRS} "
            "pairs"
        )
    return difference_interval(wrong, differs, agrees, paired.groups)


def _subsets(paired: Paired) -> list[Numbers]:
    """The accuracy in each subset, a row a subset; no rows where the set names none."""
    if "subset" not in paired.frame:
        return []
    rows = []
    for name, frame in paired.frame.groupby("subset", sort=False):
        subset = replace(paired, frame=frame)
        accuracy = subset.accuracy(subset.verdicts())
        rows.append({"subset": str(name), **accuracy})
    return rows
