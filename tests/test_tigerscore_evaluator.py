"""TIGERScore: tasks, shares, forms; what it and its two-turn baseline make of answers is in `test_judge_answers`."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pandas as pd
import pytest

from nlgeval_lib import datasets
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.evaluators import TigerScore, TigerScoreReferenceBased
from nlgeval_lib.evaluators.tigerscore import PERFECT, analysis_form, find_task, gold_shares, tasks
from nlgeval_lib.records import Completion, Sample, Status

TWO = """The model-generated output contains 2 errors, with a total score reduction of 4.5.
Error location 1: "Der Hund"
Error aspect 1: Accuracy
Explanation 1: "cat" is "Katze", not "Hund".
Severity 1: Major
Score reduction 1: 4
Error location 2: "schläft"
Error aspect 2: style-matching
Explanation 2: A more literary verb would fit.
Severity 2: Minor
Score reduction 2: 0.5"""


def test_the_authors_decoder_agrees_with_their_published_scores(needs):
    """502 outputs of TIGERScore-7B."""
    needs("tigerscore_outputs")
    outputs, judge = datasets.recordings.load("tigerscore_outputs"), TigerScore(decoder="authors")
    ours = np.array([judge.parse(Completion("k", text)).value for text in outputs["text"]])
    theirs = outputs["value"].to_numpy()
    there = ~np.isnan(theirs)
    assert there.sum() == 496 and (ours[there] == theirs[there]).all()


def test_one_instruction_for_rows_that_have_none():
    with pytest.raises(ValueError, match="tigerscore needs a column 'instruction'"):
        TigerScore(engine=ScriptedEngine([PERFECT])).score(pd.DataFrame({"source": ["a"], "output": ["b"]}))
    signatures = [TigerScore(instruction=text).signature() for text in ("Sum up.", "Shorten.", "")]
    assert len(set(signatures)) == 3


def test_tasks_are_known_by_label_and_name():
    assert list(tasks()) == ["Summ", "Trans", "D2T", "LF-QA", "MathQA", "Instruct"]
    for label, one in tasks().items():
        assert find_task(label) == find_task(one.name) == find_task(label.lower()) == one
    assert find_task("D2T").aspect("logical-coherence ") == "Logical Coherence"
    assert find_task("D2T").aspect("Terminology") == ""


def test_the_shares_of_table_6():
    shares = gold_shares([0, 0, -0.5, -1.5, -2, -7, math.nan])
    assert shares == {"zero": pytest.approx(100 / 3), "above_minus_2": pytest.approx(400 / 6), "n": 6, "n_missing": 1}
    assert math.isnan(gold_shares([])["zero"])


def test_a_first_turn_that_fails_is_not_formatted():
    def script(request, draw):
        raise RuntimeError("no")

    engine = ScriptedEngine(script)
    judge = TigerScoreReferenceBased(task="Trans", engine=engine)
    [judgment] = judge.judge([Sample("s", "x", instruction="i", references=("r",))])
    assert judgment.status is Status.FAILED and len(engine.asked) == 1


def as_json(aspect: str, score: float) -> str:
    fields = {"error_location": "x", "error_aspect": aspect, "explanation": "y", "severity": "Major"}
    return json.dumps({"errors": {"error_1": {**fields, "score_reduction": score}}})


def test_what_the_forms_allow_is_read():
    assert re.fullmatch(analysis_form(100), PERFECT) and re.fullmatch(analysis_form(1024), PERFECT)
    short = TWO.replace('"cat" is "Katze", not "Hund".', "wrong").replace("A more literary verb would fit.", "plain")
    assert re.fullmatch(analysis_form(1024), short.replace("style-matching", "Style"))
    assert not re.fullmatch(analysis_form(250), short)  # one error is what fits
    judge = TigerScoreReferenceBased(task="Trans", structured=True)
    form = judge.form("format")["regex"]
    assert re.fullmatch(form, '{"errors": {}}')
    one = as_json("Fluency", 0.5)
    assert re.fullmatch(form, one) and judge.parse(Completion("k", one)).value == -0.5
    assert judge.shaped("analyse").regex is None
    assert TigerScore(structured=True).shaped().regex == analysis_form(1024)


@pytest.mark.parametrize("room", [200, 250, 400, 700, 1024])
def test_the_longest_analysis_of_a_form_fits(room):
    longest = 0
    for count in range(1, 6):
        for length in range(1, room):
            free = "x" * length
            errors = "".join(
                f"\nError location {i}: {free}\nError aspect {i}: {free}\nExplanation {i}: {free}"
                f"\nSeverity {i}: Major\nScore reduction {i}: 0.5"
                for i in range(1, count + 1)
            )
            text = f"The model-generated output contains {count} errors, with a total score reduction of 9.5.{errors}"
            if re.fullmatch(analysis_form(room), text):
                longest = max(longest, len(text))
    assert 0 < longest <= room
