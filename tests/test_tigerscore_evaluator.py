"""TIGERScore: prompt, error analyses, references, checks, and the two turns of the reference-based baseline."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pandas as pd
import pytest

from nlgeval_lib import prompts
from nlgeval_lib.engines import Sampling, ScriptedEngine
from nlgeval_lib.evaluators import TigerScore, TigerScoreReferenceBased
from nlgeval_lib.evaluators.tigerscore import PERFECT, analysis_form, find_task, gold_shares, tasks
from nlgeval_lib.records import Completion, Sample, Status

SAMPLE = Sample(
    "s1", "Der Hund schläft.", instruction="Translate.", source="The cat sleeps.", references=("Die Katze schläft.",)
)
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


def scripted(text: str) -> ScriptedEngine:
    return ScriptedEngine(lambda request, draw: text)


# --- 502 outputs of TIGERScore-7B


@pytest.fixture(scope="module")
def outputs(needs):
    from nlgeval_lib import datasets

    needs("tigerscore_outputs")
    return datasets.recordings.load("tigerscore_outputs")


def test_the_authors_decoder_agrees_with_their_published_scores(outputs):
    judge = TigerScore(decoder="authors")
    ours = np.array([judge.parse(Completion("k", text)).value for text in outputs["text"]])
    theirs = outputs["value"].to_numpy()
    there = ~np.isnan(theirs)
    assert there.sum() == 496 and (ours[there] == theirs[there]).all()


# --- the prompt


def test_one_instruction_for_rows_that_have_none():
    with pytest.raises(ValueError, match="tigerscore needs a column 'instruction'"):
        TigerScore(engine=scripted(PERFECT)).score(pd.DataFrame({"source": ["a text"], "output": ["a summary"]}))
    signatures = [TigerScore(instruction=text).signature() for text in ("Sum up.", "Shorten.", "")]
    assert len(set(signatures)) == 3


# --- tasks and aspects


def test_tasks_are_known_by_label_and_name():
    assert list(tasks()) == ["Summ", "Trans", "D2T", "LF-QA", "MathQA", "Instruct"]
    for label, one in tasks().items():
        assert find_task(label) == find_task(one.name) == find_task(label.lower()) == one
    assert find_task("D2T").aspect("logical-coherence ") == "Logical Coherence"
    assert find_task("D2T").aspect("Terminology") == ""


# --- references as outputs


def test_the_shares_of_table_6():
    shares = gold_shares([0, 0, -0.5, -1.5, -2, -7, math.nan])
    assert shares == {"zero": pytest.approx(100 / 3), "above_minus_2": pytest.approx(400 / 6), "n": 6, "n_missing": 1}
    assert math.isnan(gold_shares([])["zero"])


# --- two turns, with a reference


def as_json(*errors: tuple[str, float]) -> str:
    table = {
        f"error_{i}": {
            "error_location": "x", "error_aspect": aspect, "explanation": "y", "severity": "Major",
            "score_reduction": score,
        }
        for i, (aspect, score) in enumerate(errors, 1)
    }  # fmt: skip
    return json.dumps({"errors": table}, indent=1)


@pytest.mark.parametrize("name", ["Summ", "Trans", "D2T", "LF-QA", "MathQA", "Instruct"])
def test_both_turns_of_every_task(name):
    of = find_task(name)
    [aspect, *_] = of.aspects
    second = as_json((aspect, 2.5), (aspect, 1))
    engine = ScriptedEngine(lambda request, draw: second if len(request.messages) == 3 else "There is one error.")
    judge = TigerScoreReferenceBased(task=name, engine=engine)
    [judgment] = judge.judge([SAMPLE])
    assert judgment.value == -3.5 and judgment.details["analysis"] == "There is one error."
    assert judgment.details["aspects"][aspect] == -3.5
    first, second = (ask.request.messages for ask in engine.asked)
    text = first[0]["content"]
    assert text.count("Die Katze schläft.") == 1 and text.count("Der Hund schläft.") == 1
    label = {"Summ": "Reference: Die", "MathQA": "The correct solution is:\nDie"}.get(name, "\nReference: Die")
    assert label in text
    assert second[0] == first[0] and second[1] == {"role": "assistant", "content": "There is one error."}
    assert second[2]["content"] == prompts.render("tigerscore/format_json", aspects_list=", ".join(of.aspects))
    if name in ("Summ", "LF-QA", "Instruct"):
        assert all(f"{key}: {definition}" in text for key, definition in of.aspects.items())


def test_what_goes_wrong_in_either_turn():
    def script(request, draw):
        if "fails" in request.messages[0]["content"]:
            raise RuntimeError("no")
        if len(request.messages) == 1:
            return "" if "silent" in request.messages[0]["content"] else "an error"
        return "I cannot do that." if "refused" in request.messages[0]["content"] else as_json()

    engine = ScriptedEngine(script)
    items = [Sample(n, n, instruction="i", references=("r",)) for n in ("fails", "silent", "refused", "fine")]
    statuses = [j.status for j in TigerScoreReferenceBased(task="Trans", engine=engine).judge(items)]
    assert statuses[0] is Status.FAILED and statuses[1] is Status.EMPTY
    assert statuses[2] not in (Status.OK, Status.FAILED) and statuses[3] is Status.OK
    assert sum(len(ask.request.messages) == 3 for ask in engine.asked) == 2


def test_draws_of_the_first_turn_are_formatted_one_by_one():
    engine = ScriptedEngine(
        lambda request, draw: (
            as_json(("Accuracy", float(request.messages[1]["content"])))
            if len(request.messages) == 3
            else str(draw + 1)
        )
    )
    judge = TigerScoreReferenceBased(task="Trans", engine=engine, sampling=Sampling(temperature=1.0, n=3))
    [judgment] = judge.judge([SAMPLE])
    assert judgment.value == -2 and judgment.details["n"] == 3
    assert [stage.name for stage in judge.plan([SAMPLE])] == ["analyse", "format"]
    assert [stage.exact for stage in judge.plan([SAMPLE])] == [True, False]


# --- forms


def test_what_the_forms_allow_is_read():
    assert re.fullmatch(analysis_form(100), PERFECT) and re.fullmatch(analysis_form(1024), PERFECT)
    short = TWO.replace('"cat" is "Katze", not "Hund".', "wrong").replace("A more literary verb would fit.", "plain")
    assert re.fullmatch(analysis_form(1024), short.replace("style-matching", "Style"))
    assert not re.fullmatch(analysis_form(250), short)  # one error is what fits
    judge = TigerScoreReferenceBased(task="Trans", structured=True)
    form = judge.form("format")["regex"]
    assert re.fullmatch(form, '{"errors": {}}')
    one = json.dumps(json.loads(as_json(("Fluency", 0.5))))
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
