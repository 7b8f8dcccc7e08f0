"""The miniature judge in a paper's notebook: the notebook's question, put to a made-up
world and kept apart.

With `model="mini"` a notebook asks the miniature judge about its own held-out texts.
What it gives is shown under this module's heading only, with route `mini`, and never
enters a comparison with printed numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd
from scipy import stats

from nlgeval_lib.evaluators.tigerscore import gold_shares
from nlgeval_lib.report import Output
from nlgeval_lib.study import variant_tests
from nlgeval_lib.study.judges import JudgeScores, checkpoint

WHAT = "the miniature judge or a stand-in was asked"
NOTE = (
    "Route mini: a model of a few million weights, on made-up texts with errors put in. For exercise; "
    "it says nothing about the paper's judge."
)
STAND_IN = "Route mini: a tiny model stands in for the judge, to exercise the run. Its scores mean nothing."
RULES = {
    "zero": "no error at all (score 0)",
    "above_minus_2": "next to none (score above -2)",
}


def was_asked(made: Mapping[str, JudgeScores] | JudgeScores) -> bool:
    """Whether a judge's scores, or any of several, have the route `mini`: of the
    miniature judge or a stand-in.
    """
    several = [made] if isinstance(made, JudgeScores) else made.values()
    return any(one.available and one.route == "mini" for one in several)


def show(
    out: Output,
    made: Mapping[str, JudgeScores],
    base: str = "",
    *,
    coef: str = "kendall-b",
    name: str = "mini",
) -> bool:
    """Show and save what the miniature judge gave as each variant; False, and nothing,
    where it was not asked.

    A row a variant (one for all that ask the very same): the correlation with the
    ratings, n, interval, signature. With two rows or more, paired tests against `base`
    (else the first), Holm, and a figure. The run is saved apart.
    """
    from IPython.display import display

    mini = {variant: one for variant, one in made.items() if was_asked(one)}
    if not mini:
        return False
    set_apart(out, mini)
    groups: dict[
        str, list[str]
        # one variant for all that asked the same: they would repeat each other's rows
    ] = {}
    for variant, one in mini.items():
        groups.setdefault(one.signature, []).append(variant)
    alike = {
        names[0]: f" (and {len(names) - 1} asked alike)" if names[1:] else ""
        for names in groups.values()
    }
    found = variant_tests.on_shared_items(
        {variant + more: mini[variant] for variant, more in alike.items()}
    )
    for variant, why in found.lacking.items():
        out.missing(f"miniature judge, {variant}", why)
    if not found.scores:
        return True
    first = next(
        (label for label in found.scores if label.split(" (and ")[0] == base),
        next(iter(found.scores)),
    )
    table, tests = variant_tests.compare(found.items, found.scores, first, coef=coef)
    table = table.assign(scored=table["variant"].map(found.coverage), route="mini")
    title = f"The miniature judge on its own texts: {coef} with the ratings that they were made with"
    display(out.frame(table, name, title))
    if len(tests):
        display(
            out.frame(
                tests.assign(route="mini"),
                f"{name}_tests",
                f"Each against {first}, paired, Holm",
            )
        )
        out.figure(
            variant_tests.figure(table, tests, "The miniature judge (mini)"), name
        )
    out.record(signatures=list(found.signatures.values()))
    return True


def set_apart(
    out: Output, made: Mapping[str, JudgeScores] | JudgeScores, instead: bool = False
) -> None:
    """Say that what follows is the miniature judge's, and save the run apart.

    instead: it stands in the place of what the notebook shows otherwise, so that the
    whole run has the route `mini`.
    """
    several = [made] if isinstance(made, JudgeScores) else made.values()
    own = any(
        set(one.frame.get("dataset", ())) == {"mini_judge"}
        for one in several
        if one.available
    )
    note = NOTE if own else STAND_IN
    out.aside(WHAT)
    out.note(note)
    if instead:
        out.route = "mini"
    more = (
        " It stands below in the place of recorded scores, which the text at the end is about."
        if instead
        else ""
    )
    print(note + more)


def perfect_shares(made: JudgeScores, confidence: float = 0.95) -> pd.DataFrame:
    """How many texts an error-listing judge finds perfect, or nearly so, each text
    once: Table 6's two shares.

    made: `judge_scores` of tigerscore. Columns: `rule, percent, ci_low, ci_high`
    (Wilson's interval), `n`, `unscored`, `route, signature`. Source: TIGERScore,
    section 4.5, Table 6.
    """
    found = gold_shares(
        made.frame.drop_duplicates(
            [name for name in ("input_id", "output") if name in made.frame]
        )
    )
    n = int(found["n"])
    rows = []
    for key, rule in RULES.items():
        row: dict[str, Any] = {
            "rule": rule,
            "percent": found[key],
            "ci_low": float("nan"),
            "ci_high": float("nan"),
        }
        if n:
            ends = stats.binomtest(round(found[key] * n / 100), n).proportion_ci(
                confidence, method="wilson"
            )
            row |= {"ci_low": 100 * ends.low, "ci_high": 100 * ends.high}
        rows.append(
            row | {"n": n, "unscored": int(found["n_missing"]), "route": made.route}
        )
    return pd.DataFrame(rows).assign(signature=made.signature)


def measured_scores(form: str, like: JudgeScores) -> JudgeScores:
    """What the miniature judge said of its held-out outputs when it was measured, read
    and not asked again.

    form: one of its card's, such as "error analysis". like: scores just asked for; the same inputs, model and revision
    are taken. Raises: Unavailable without its checkpoint; ValueError for another form.
    """
    from nlgeval_lib.training import mini

    if not like.available:
        return like
    judgments, _ = mini.read(checkpoint())
    found = judgments[
        (judgments["form"] == form)
        & judgments["input_id"].isin(set(like.frame["input_id"]))
    ]
    if found.empty:
        raise ValueError(
            f"no judgments of the form {form!r}; forms: {', '.join(judgments['form'].unique())}"
        )
    found = found.assign(output=found["system_id"]).reset_index(drop=True)
    count = int((found["status"] == "ok").sum())
    return replace(
        like,
        frame=found,
        coverage=f"{count:,} of {len(found):,}",
        signature=f"{like.signature}|measured",
    )
