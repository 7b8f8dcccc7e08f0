"""HD-Eval, Tables 6 and 7: Llama-2 judges with and without aggregation.

The notebooks `table_06_small_judges_topical_chat` and `table_07_small_judges_summeval`
beside this call it, step by step:

1. `gains` takes the printed rows of gains from the audit: what follows from printed
numbers alone.
2. `asked_rows` makes the rows of a run, where Llama-2's answers are kept here or it is
asked: the judge alone, and its scores of the criteria aggregated. `reason` says what is
missing where it was not.
3. `of_miniature` shows the miniature judge's own table, set apart, where that was asked
instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from nlgeval_lib.tables import Table
from reproduction import papers, report, study
from reproduction.report import miniature
from reproduction.study import criteria_scores, judged_rows


def gains(table: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What follows from printed numbers: the rows of gains, and which aggregator they
    are of.

    table: "table_06" or "table_07".
    Returns: for `out.compare`, `row, column, statistic, value, route`; and for the
    page, a row a block: which aggregator its gains are over, the means of both, and
    whether it is the better.
    Source: HD-Eval, captions of Tables 6 and 7.
    """
    findings = papers.audit("hdeval", tables=table).query("rule == 'percent change'")
    rows = []
    chosen = []
    for finding in findings.itertuples():
        # One finding of a block says which row its gains are of; the others are gains.
        if finding.relation == "of the best overall row":
            block = finding.place.removesuffix(" | Gain (%)")
            _, _, aggregator = finding.printed.rpartition("+")
            chosen.append(
                {
                    "block": block,
                    "gains are over": aggregator,
                    "mean of both": finding.note.removeprefix("means "),
                    "the better": finding.verdict,
                }
            )
            continue
        row, column, statistic = finding.place.split(" / ")
        rows.append(
            {
                "row": row,
                "column": column,
                "statistic": statistic,
                "value": finding.recomputed,
                "route": "published",
            }
        )
    return pd.DataFrame(rows), pd.DataFrame(chosen)


def asked_rows(
    out: report.Output,
    names: Sequence[str],
    data: str,
    shares: Sequence[float],
    seed: int,
    **judge: Any,
) -> tuple[list[pd.DataFrame], dict[str, Any]]:
    """The rows of the judges that were asked, alone and aggregated; what is missing is
    noted.

    out: the notebook's output.
    names: the judges, as the table prints them.
    data: "topical_chat" or "summeval".
    shares: how much of the data each block fits on.
    seed: of the split into training and test rows.
    judge: who is asked: engine, model, revision, mode, as for `study.judge_scores`.
    Returns: a frame a block, for `out.compare`; and judge -> scores of the miniature
    judge, where that was asked instead.
    """
    rows = []
    mini = {}
    for name in names:
        judged = study.judge_scores(out.id, name, **judge)
        if not judged.available:
            out.missing(f"criteria scores of {name}", judged.why)
            continue
        if miniature.was_asked(judged):
            mini[name] = judged
            continue
        criteria = criteria_scores.of_judge(data, judged)
        coverage = f"{judged.coverage} scores of {len(judged.criteria)} criteria"
        out.note(f"{name}: {coverage}, {judged.signature}")
        # The judge alone, asked once for the aspect: the first row of a block.
        plain = judged_rows.judged_rows(
            out.id, criteria.items, {name: f"{name}, alone"}, **judge
        )
        for reason in plain.lacking.values():
            out.missing(f"{name} alone", reason)
        alone = plain.scores.get(name)
        # A block a share: its rows with each aggregator.
        for share in shares:
            block = f"{share:.0%} data | {name}"
            table = criteria_scores.tables_6_and_7(
                criteria, block, share, seed=seed, alone=alone
            )
            rows.append(judged.signed(table))
    return rows, mini


def reason(output: str) -> str:
    """Why the printed rows are empty without a run, and the command that makes it.

    output: the notebook's output, by its id.
    """
    return (
        "needs a run: Llama-2-chat's scores of HD-Eval's criteria; with a GPU: "
        f"nlgeval completions --output {output} --engine vllm"
    )


def of_miniature(
    out: report.Output, mini: dict[str, Any], data: str, seed: int
) -> Table | None:
    """The miniature judge's own table, set apart; None where it was not asked.

    out: the notebook's output.
    mini: what `asked_rows` gives second.
    data: the data set in whose place it was asked.
    seed: of the split into training and test rows.
    """
    if not mini:
        return None
    miniature.set_apart(out, mini)
    # Every name was answered by one and the same miniature judge.
    last_scores = next(reversed(mini.values()))
    criteria = criteria_scores.of_judge(data, last_scores)
    frame = criteria_scores.tables_6_and_7(
        criteria, "50% data | miniature judge", 0.5, seed=seed
    )
    caption = "The miniature judge on its own texts: its scores of criteria, aggregated"
    return out.frame(frame.assign(route="mini"), "mini", caption)
