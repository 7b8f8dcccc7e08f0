"""Judges and metrics of a printed table: which of its rows their scores give here, and why the others are lacking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.evaluators import Unavailable
from nlgeval_lib.scoring import correlations
from nlgeval_lib.study import catalogue, judges, metrics
from nlgeval_lib.study.judges import JudgeScores

ITEM = ["input_id", "system_id", "output"]  # a system may have several outputs for one input


@dataclass
class JudgedRows:
    """Scores in the order of `items`: row -> aspect ("": every one) -> values (NaN for none).

    signatures: row -> the judge's. lacking: row -> why it has no scores here. mini: row -> scores of the miniature
    judge or of a stand-in, which never stand in a paper's row.
    """

    items: pd.DataFrame
    scores: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    lacking: dict[str, str] = field(default_factory=dict)
    mini: dict[str, JudgeScores] = field(default_factory=dict)

    def table(self, aspects: Mapping[str, str], human: Mapping[str, Any], **how: Any) -> pd.DataFrame:
        """The table of correlations (`scoring.correlations.table`), route `run`; a signature tells judge and statistic.

        aspects: the table's column -> the aspect that was judged. An empty frame where no judge has scores.
        """
        given = {
            row: {column: own[name if name in own else ""] for column, name in aspects.items()}
            for row, own in self.scores.items()
        }
        if not given:
            return pd.DataFrame()
        made = correlations.table(self.items, given, human, **how)
        return made.assign(route="run", signature=made["signature"] + "|judge:" + made["row"].map(self.signatures))


def judged_rows(output: str, items: pd.DataFrame, names: Mapping[str, str], **asked: Any) -> JudgedRows:
    """What the judges and the metrics of a catalogue's output say of `items`.

    items: the table's outputs, a row each, with `input_id` and `system_id`. names: {row of the table: the judge's name
    in the catalogue}. asked: engine, model, revision, mode ..., as `study.judge_scores` takes them; with another engine
    than replay, metrics are computed where their weights are here.
    Raises: what `study.judge_scores` raises.
    """
    found = JudgedRows(items)
    known, compute = catalogue.load(), asked.get("engine", "replay") != "replay"
    for row, by_aspect in known[output].metrics.items():
        try:
            made = {
                aspect: metrics.scores([known.metrics[one] for one in ids], items, compute)
                for aspect, ids in by_aspect.items()
            }
        except Unavailable as error:
            model = known.metrics[next(iter(by_aspect.values()))[0]].model
            found.lacking[row] = f"{error}; to compute it: {metrics.way(output, model)}"
            continue
        found.scores[row] = {aspect: one for aspect, (one, _) in made.items()}
        found.signatures[row] = next(iter(made.values()))[1]
    places = pd.MultiIndex.from_frame(items[ITEM])
    for row, name in names.items():
        own = judges.judge_scores(output, name, **asked)
        if not own.available:
            found.lacking[row] = own.why
        elif own.route != "run":
            found.mini[row] = own
        else:
            frame = own.frame.drop_duplicates([*ITEM, "aspect"])
            wide = frame.pivot(index=ITEM, columns="aspect", values="value").reindex(places)
            found.scores[row] = {str(aspect): wide[aspect].to_numpy(float) for aspect in wide}
            found.signatures[row] = own.signature
    return found
