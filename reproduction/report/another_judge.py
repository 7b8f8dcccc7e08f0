"""What another model says when it is asked as the paper's judge was: a table of its own
on the paper's page, never in the paper's rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from reproduction.report import Output
from reproduction.study import replication, saved_judges
from reproduction.study.catalogue import JUDGED_BY

NAME = "another_judge"  # of the saved table
_KEY = ["row", "column", "statistic"]
_CELL = ["value", "ci_low", "ci_high", "n", "signature", "reason"]


def _titled(models: Sequence[str]) -> str:
    """What stands above the table."""
    names = " and ".join(models)
    return f"The same method, judged by {names} in the place of the paper's judge"


def cells(out: Output, ask: Callable[..., Any], printed: pd.DataFrame) -> pd.DataFrame:
    """Show and save what each model gives in the table's rows.

    ask: takes `engine` and `model`; gives tables of cells in `tables`, as
    `judged_rows.asked` does.
    printed: cells with `row, column, statistic, printed`.
    Returns: the table; empty where no model was asked this.
    """
    from IPython.display import display

    tables = []
    for model in saved_judges.models():
        for table in ask(engine="saved", model=model.name).tables:
            answered = table["signature"].str.contains(JUDGED_BY, regex=False)
            if answered.any():
                tables.append(table[answered].assign(judge=model.label))
    if not tables:
        return pd.DataFrame()
    frame = pd.concat(tables, ignore_index=True)
    beside = printed[[*_KEY, "printed"]].drop_duplicates(_KEY)
    frame = frame.merge(beside, how="left", on=_KEY)
    frame = frame[["judge", *_KEY, "printed", *_CELL]]
    title = _titled(list(frame["judge"].unique()))
    display(out.frame(frame.assign(route="run"), NAME, title))
    return frame


def variants(
    out: Output,
    base: str,
    aspects: Sequence[str],
    *,
    coef: str = "spearman",
    mode: str = "full",
) -> pd.DataFrame:
    """Show and save how each variant of a judge follows the ratings, and its difference
    from `base` on the outputs that both scored.

    out: the output, whose judges in the catalogue are the variants.
    base: the name of one of them. aspects: a row for each.
    coef: the coefficient, at dataset level. mode: "quick" takes 20 inputs.
    Returns: the table; empty where no model was asked this.
    """
    from IPython.display import display

    rows = []
    for model in saved_judges.models():
        arms = replication.of_questions(out.id, model.name, mode)
        # A judge that was asked for one variant alone compares nothing.
        if not arms.asked(base) or len(arms.scores) == 1:
            continue
        for aspect in aspects:
            for name in (*arms.scores, *arms.why):
                rows.append(_variant(model.label, arms, name, base, aspect, coef))
    if not rows:
        return pd.DataFrame()
    frame = pd.DataFrame(rows)
    title = _titled(list(frame["judge"].unique()))
    title += f"; {coef} of each variant (first) and of {base} (second)"
    display(out.frame(frame.assign(route="run"), NAME, title))
    return frame


def _variant(
    judge: str, arms: replication.Arms, name: str, base: str, aspect: str, coef: str
) -> dict[str, Any]:
    """One row of `variants`."""
    against = replication.compare(arms, name, base, [aspect], coef)
    row = {
        "judge": judge,
        "aspect": aspect,
        "variant": name,
        "scored": f"{against.n:,} of {against.n_all:,}",
        "first": against.first,
    }
    if name == base:
        return row | {"scored": "", "reason": ""}
    return row | {
        "second": against.second,
        "difference": against.difference,
        "ci_low": against.low,
        "ci_high": against.high,
        "other low": against.low_both,
        "other high": against.high_both,
        "signature": against.signature,
        "reason": against.reason,
    }
