"""What the arms had to learn from, and which errors their analyses find."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from nlgeval_lib import datasets
from nlgeval_lib.training.mini.ablations import kept
from nlgeval_lib.training.mini.ablations.tables import arms
from nlgeval_lib.training.mini.evaluate import by_kind


def trained(study: str, folder: Path | None = None) -> pd.DataFrame:
    """What each arm of a study was fine-tuned on: examples, tokens, steps and seconds, means over seeds."""
    table = kept.runs(folder)
    table = table[table["study"] == study]
    means = table.groupby("arm", sort=False)[["examples", "tokens", "steps", "seconds"]].mean().round().astype(int)
    means.insert(0, "seeds", table.groupby("arm", sort=False).size())
    return means.reset_index()


def found_by_kind(rows: pd.DataFrame) -> pd.DataFrame:
    """What each arm's analyses found of the errors that were put in, over all its seeds: `arm, kind, errors, found,
    false, recall, precision`; only the kind is asked for, not the words.
    """
    frame = datasets.load("mini_judge")
    tables = []
    for arm in arms(rows):
        for seed, part in rows[rows["arm"] == arm].groupby("seed"):
            told = [
                {
                    "input_id": row.input_id,
                    "system_id": row.system_id,
                    "errors": [{"kind": kind, "location": ""} for kind in str(row.told).split()],
                }
                for row in part.itertuples()
            ]
            tables.append(by_kind(frame, told).assign(arm=arm, seed=seed))
    joined = pd.concat(tables).groupby(["arm", "kind"], sort=False)[["errors", "found", "false"]].sum().reset_index()
    said = joined["found"] + joined["false"]
    recall = joined["found"] / joined["errors"].where(joined["errors"] > 0)
    return joined.assign(recall=recall, precision=joined["found"] / said.where(said > 0))
