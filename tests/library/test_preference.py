"""The judge of pairs: what it asks, how its answers are read, and what two orders come
to; with scripted judges whose habits are known.
"""

from __future__ import annotations

import pandas as pd
import pytest

from nlgeval_lib import parsers, statistics
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.evaluators.preference import Preference, read_verdict

PROMPT = "Which text is longer?\nA: {output_1}\nB: {output_2}\nAnswer A or B."
FRAME = pd.DataFrame(
    {
        "pair_id": ["x", "y", "z"],
        "input_id": ["1", "1", "2"],
        "output_1": ["long text", "a", "same"],
        "output_2": ["short", "longer text", "four"],
        "preference": [1.0, 2.0, 0.0],
    },
    index=[7, 8, 9],
)


def shown(request) -> tuple[str, str]:
    """The two texts of a request, in the order of showing."""
    lines = request.messages[-1]["content"].split("\n")
    return lines[1].removeprefix("A: "), lines[2].removeprefix("B: ")


def longer(request, draw: int) -> str:
    first, second = map(len, shown(request))
    if first == second:
        return "Neither is better; it is a tie."
    return "Output (a)" if first > second else "Output (b)"


def judged(script, **options) -> pd.DataFrame:
    engine = ScriptedEngine(script)
    return Preference(PROMPT, engine=engine, **options).score(FRAME)


def order_effect(scores: pd.DataFrame, groups=None):
    table = pd.DataFrame(scores["details"].tolist())
    return statistics.order_effect(table["given"], table["swapped"], groups)


def test_a_fair_judge_says_the_same_in_both_orders():
    scores = judged(longer)
    assert scores["value"].tolist() == FRAME["preference"].tolist()
    assert list(scores.index) == [7, 8, 9]
    effect = order_effect(scores, FRAME["input_id"])
    assert effect.value == 1 and effect.bias == 0 and effect.n == 3


RULES = {"agree": [0, 0, 0], "first": [1, 1, 1], "mean": [0, 0, 0]}


@pytest.mark.parametrize("rule", RULES)
def test_a_judge_that_takes_the_first_is_found_out(rule):
    scores = judged(lambda request, draw: "A", rule=rule)
    assert scores["value"].tolist() == RULES[rule]
    assert [details["swapped"] for details in scores["details"]] == [2, 2, 2]
    effect = order_effect(scores)
    assert effect.value == 0 and effect.bias == 1
    assert f"rule:{rule}|orders:both" in scores.attrs["signature"]


def test_a_pair_without_a_verdict_has_a_reason():
    scores = judged(lambda request, draw: "Hm." if "x" in shown(request)[0] else "A")
    assert scores["value"].isna().tolist() == [True, True, False]
    assert scores.loc[7, "status"] == "unparsed" and scores.loc[7, "reason"]
    assert order_effect(scores).n_unread == 2


def test_of_several_draws_most_votes_count():
    def habit(request, draw: int) -> str:
        first, second = map(len, shown(request))
        fair = "A" if first > second else "B"
        return "A" if draw == 0 else fair

    scores = judged(habit, sampling={"n": 3, "temperature": 1.0, "seed": 1})
    assert scores["value"].tolist()[:2] == [1, 2]


READ = {
    "Output (a)": "A",
    "Output (b)": "B",
    " (b).": "B",
    "2": "B",
    "[[A]]": "A",
    "Therefore, Output (b) is better.": "B",
    "Output (a) is better at length. Therefore, Output (b) is better.": "B",
    "Therefore, neither Output (a) nor Output (b) is better.": None,
    "first": "A",
    "both": "TIE",
}


@pytest.mark.parametrize("text", READ)
def test_answers_are_read(text):
    assert read_verdict(text, ("first", "second", "both")).value == READ[text]


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(ValueError, match="rates one output"):
        Preference("{output}")
    with pytest.raises(ValueError, match="rule is 'no'"):
        Preference(PROMPT, rule="no")
    with pytest.raises(ValueError, match="two or three different words"):
        Preference(PROMPT, labels=("A", "A"))
    with pytest.raises(ValueError, match="needs a column 'output_1'"):
        Preference(PROMPT).given(pd.DataFrame({"output": ["x"]}))


def test_structured_holds_the_answer_to_the_labels():
    judge = Preference(PROMPT, structured=True, labels=("A", "B", "tie"))
    assert judge.shaped("verdict").choice == ("A", "B", "tie")
    [stage] = judge.plan(FRAME)
    assert len(stage.requests) == 6


ALONE = {"Output (a)": "A", " (b).": "B", "2": "B", "[[A]]": "A", "Option [b]": "B"}


@pytest.mark.parametrize("text", ALONE)
def test_the_parser_reads_an_answer_that_names_an_output_alone(text):
    assert parsers.preference(text).value == ALONE[text]


@pytest.mark.parametrize("text", ["(" * 100_000, "Output", "(c)", "3.", ""])
def test_what_names_no_output_is_not_read(text):
    assert parsers.preference(text).value is None
