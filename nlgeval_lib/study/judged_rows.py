"""The judges of a printed table: which of its rows their scores give here, and why the others are lacking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.scoring import correlations
from nlgeval_lib.study import judges
from nlgeval_lib.study.judges import JudgeScores

ITEM = ["input_id", "system_id"]


@dataclass
class JudgedRows:
    """Scores of judges in the order of `items`: row -> aspect -> values (NaN for none).

    signatures: row -> the judge's. lacking: row -> why a judge has no scores here. mini: row -> scores of the miniature
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
        given = {row: {column: own[name] for column, name in aspects.items()} for row, own in self.scores.items()}
        if not given:
            return pd.DataFrame()
        made = correlations.table(self.items, given, human, **how)
        return made.assign(route="run", signature=made["signature"] + "|judge:" + made["row"].map(self.signatures))


def judged_rows(output: str, items: pd.DataFrame, names: Mapping[str, str], **asked: Any) -> JudgedRows:
    """What the judges of a catalogue's output say of `items`.

    items: the table's outputs, a row each, with `input_id` and `system_id`. names: {row of the table: the judge's name
    in the catalogue}. asked: engine, model, revision, mode ..., as `study.judge_scores` takes them.
    Raises: what `study.judge_scores` raises.
    """
    found = JudgedRows(items)
    places = pd.MultiIndex.from_frame(items[ITEM])
    for row, name in names.items():
        made = judges.judge_scores(output, name, **asked)
        if not made.available:
            found.lacking[row] = made.why
        elif made.route != "run":
            found.mini[row] = made
        else:
            wide = made.frame.pivot(index=ITEM, columns="aspect", values="value").reindex(places)
            found.scores[row] = {str(aspect): wide[aspect].to_numpy(float) for aspect in wide}
            found.signatures[row] = made.signature
    return found
