"""Llama-2 judges with and without aggregation: gains that follow from printed numbers,
rows of a run. The notebooks of HD-Eval's Tables 6 and 7 beside this call it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from nlgeval_lib import papers, report, study
from nlgeval_lib.report import miniature
from nlgeval_lib.study import criteria_scores, judged_rows


def gains(table: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What follows from printed numbers: the rows of gains, and which aggregator they
    are of.
    """
    found = papers.audit("hdeval", tables=table).query("rule == 'percent change'")
    rows = []
    chosen = []
    for relation in found.itertuples():
        if relation.relation == "of the best overall row":
            chosen.append(
                {
                    "block": relation.place.removesuffix(" | Gain (%)"),
                    "gains are over": relation.printed.rpartition("+")[2],
                    "mean of both": relation.note.removeprefix("means "),
                    "the better": relation.verdict,
                }
            )
            continue
        row, column, statistic = relation.place.split(" / ")
        line = {"row": row, "column": column, "statistic": statistic}
        rows.append(line | {"value": relation.recomputed, "route": "published"})
    return pd.DataFrame(rows), pd.DataFrame(chosen)


def asked_rows(
    out: report.Output,
    names: Sequence[str],
    data: str,
    shares: Sequence[float],
    seed: int,
    **asked: Any,
) -> tuple[list[pd.DataFrame], dict[str, Any]]:
    """The rows of the judges that were asked, alone and aggregated, and the scores of
    the miniature judge where that was asked; what is missing is noted.

    shares: how much of the data each block fits on. asked: engine, model, revision,
    mode.
    """
    rows = []
    mini = {}
    for name in names:
        made = study.judge_scores(out.id, name, **asked)
        if not made.available:
            out.missing(f"criteria scores of {name}", made.why)
            continue
        if miniature.was_asked(made):
            mini[name] = made
            continue
        own = criteria_scores.of_judge(data, made)
        criteria = f"{made.coverage} scores of {len(made.criteria)} criteria"
        out.note(f"{name}: {criteria}, {made.signature}")
        plain = judged_rows.judged_rows(
            out.id, own.items, {name: f"{name}, alone"}, **asked
        )
        for why in plain.lacking.values():
            out.missing(f"{name} alone", why)
        alone = plain.scores.get(name)
        for share in shares:
            block = f"{share:.0%} data | {name}"
            found = criteria_scores.tables_6_and_7(
                own, block, share, seed=seed, alone=alone
            )
            rows.append(made.signed(found))
    return rows, mini


def reason(output: str) -> str:
    """Why the printed rows are empty without a run."""
    return (
        "needs a run: Llama-2-chat's scores of HD-Eval's criteria; with a GPU: "
        f"nlgeval completions --output {output} --engine vllm"
    )


def of_miniature(
    out: report.Output, mini: dict[str, Any], data: str, seed: int
) -> report.Table | None:
    """The miniature judge's own table, set apart; None where it was not asked."""
    if not mini:
        return None
    miniature.set_apart(out, mini)
    own = criteria_scores.of_judge(data, next(reversed(mini.values())))
    frame = criteria_scores.tables_6_and_7(
        own, "50% data | miniature judge", 0.5, seed=seed
    )
    caption = "The miniature judge on its own texts: its scores of criteria, aggregated"
    return out.frame(
        frame.assign(route="mini"),
        "mini",
        caption,
    )
