"""The miniature judge in a paper's notebook: the notebook's question, put to a made-up
world and kept apart.

With `model="mini"` a notebook asks the miniature judge about its own held-out texts.
What it gives has the route `mini`, and never enters a comparison with printed numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
from scipy import stats

from reproduction.report import Output
from reproduction.study.scores import JudgeScores

# Why a run is set apart, as the line that saves it says after "because".
WHAT = "the miniature judge or a stand-in was asked"
NOTE = (
    "Route mini: a model of a few million weights, on made-up texts with errors put "
    "in. For exercise; it says nothing about the paper's judge."
)
STAND_IN = (
    "Route mini: a tiny model stands in for the judge, to exercise the run. Its scores "
    "mean nothing."
)
# The keys of `gold_shares`, and what a reader meets.
RULES = {
    "zero": "no error at all (score 0)",
    "above_minus_2": "next to none (score above -2)",
}


def was_asked(judged: Mapping[str, JudgeScores] | JudgeScores) -> bool:
    """Whether a judge's scores, or any of several, are the miniature judge's or a
    stand-in's.
    """
    return any(scores.route == "mini" for scores in _available(judged))


def _available(judged: Mapping[str, JudgeScores] | JudgeScores) -> list[JudgeScores]:
    """The scores that there are, of one judge or of several."""
    judges = [judged] if isinstance(judged, JudgeScores) else judged.values()
    return [scores for scores in judges if scores.available]


def show(
    out: Output,
    judged: Mapping[str, JudgeScores],
    base: str = "",
    *,
    coef: str = "kendall-b",
    name: str = "mini",
) -> bool:
    """Show and save what the miniature judge gave as each variant; False, and nothing,
    where it was not asked.

    A row a variant (one for all that ask the very same): the correlation with the
    ratings, n, interval, signature. With two rows or more, paired tests, Holm, and a
    figure. The run is saved apart.

    base: the variant that the others are tested against; "" for the first.
    name: of the saved table; that of the tests is `<name>_tests`.
    """
    from IPython.display import display

    mini = {variant: scores for variant, scores in judged.items() if was_asked(scores)}
    if not mini:
        return False
    from reproduction.study import variant_tests

    set_apart(out, mini)
    # Variants are compared on the items that all of them scored.
    shared = variant_tests.on_shared_items(_asked_alike(mini))
    for variant, reason in shared.lacking.items():
        out.missing(f"miniature judge, {variant}", reason)
    if not shared.scores:
        return True
    # The base may have got a longer label, as one of several that asked alike.
    first = next(iter(shared.scores))
    for label in shared.scores:
        if label.partition(" (and ")[0] == base:
            first = label
    table, tests = variant_tests.compare(shared.items, shared.scores, first, coef=coef)
    scored = table["variant"].map(shared.coverage)
    table = table.assign(scored=scored, route="mini")
    title = f"The miniature judge on its own texts: {coef} with the ratings that they "
    display(out.frame(table, name, title + "were made with"))
    if len(tests):
        _show_tests(out, table, tests, first, name)
    out.record(signatures=list(shared.signatures.values()))
    return True


def _show_tests(
    out: Output, table: pd.DataFrame, tests: pd.DataFrame, base: str, name: str
) -> None:
    """Show and save the paired tests of variants against `base`, and their figure."""
    from IPython.display import display

    from reproduction.study import variant_tests

    title = f"Each against {base}, paired, Holm"
    display(out.frame(tests.assign(route="mini"), f"{name}_tests", title))
    title = "The miniature judge (mini)"
    out.figure(variant_tests.figure(table, tests, title), name)


def _asked_alike(mini: Mapping[str, JudgeScores]) -> dict[str, JudgeScores]:
    """One variant for all that asked the same: they would repeat each other's rows."""
    variants: dict[str, list[str]] = {}
    for variant, scores in mini.items():
        variants.setdefault(scores.signature, []).append(variant)
    alike = {}
    for first, *further in variants.values():
        label = first
        if further:
            label += f" (and {len(further)} asked alike)"
        alike[label] = mini[first]
    return alike


def set_apart(
    out: Output, judged: Mapping[str, JudgeScores] | JudgeScores, instead: bool = False
) -> None:
    """Say that what follows is the miniature judge's, and save the run apart.

    instead: it stands in the place of what the notebook shows otherwise, so that the
    whole run has the route `mini`.
    """
    note = STAND_IN
    for scores in _available(judged):
        if set(scores.frame.get("dataset", ())) == {"mini_judge"}:
            note = NOTE
    out.aside(WHAT)
    out.note(note)
    if instead:
        out.route = "mini"
        note += (
            " It stands below in the place of recorded scores, which the text at the "
            "end is about."
        )
    print(note)


def perfect_shares(judged: JudgeScores, confidence: float = 0.95) -> pd.DataFrame:
    """How many texts an error-listing judge finds perfect, or nearly so, each text
    once: Table 6's two shares.

    Returns: a row a rule: `rule`, `percent`, `ci_low, ci_high` (Wilson's interval, in
    per cent; NaN without a scored text), `n`, `unscored`, `route, signature`.
    Source: TIGERScore, section 4.5, Table 6.
    """
    from nlgeval_lib.evaluators.tigerscore import gold_shares

    text = [name for name in ("input_id", "output") if name in judged.frame]
    shares = gold_shares(judged.frame.drop_duplicates(text))
    n = int(shares["n"])
    rows = []
    for key, rule in RULES.items():
        percent = shares[key]
        low = math.nan
        high = math.nan
        if n:
            count = round(percent * n / 100)
            test = stats.binomtest(count, n)
            interval = test.proportion_ci(confidence, method="wilson")
            low = 100 * interval.low
            high = 100 * interval.high
        rows.append((rule, percent, low, high, n))
    frame = pd.DataFrame(rows, columns=["rule", "percent", "ci_low", "ci_high", "n"])
    unscored = int(shares["n_missing"])
    return frame.assign(
        unscored=unscored, route=judged.route, signature=judged.signature
    )


def measured_scores(form: str, like: JudgeScores) -> JudgeScores:
    """What the miniature judge said of its held-out outputs when it was measured, read
    and not asked again.

    form: one of its card's, such as "error analysis".
    like: scores just asked for; where they are not there, they are returned.
    Raises: Unavailable without its checkpoint; ValueError for another form.
    """
    if not like.available:
        return like
    from nlgeval_lib.datasets import mini_judge
    from reproduction.study.judges import checkpoint

    judgments, _ = mini_judge.judgments(checkpoint())
    same_inputs = judgments["input_id"].isin(set(like.frame["input_id"]))
    measured = judgments[same_inputs & (judgments["form"] == form)]
    if measured.empty:
        forms = ", ".join(judgments["form"].unique())
        raise ValueError(f"no judgments of the form {form!r}; forms: {forms}")
    frame = measured.assign(output=measured["system_id"]).reset_index(drop=True)
    count = int((frame["status"] == "ok").sum())
    return replace(
        like,
        frame=frame,
        coverage=f"{count:,} of {len(frame):,}",
        signature=f"{like.signature}|measured",
    )
