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
from nlgeval_lib.evaluators import AnalysisCheck, TigerScore, TigerScoreReferenceBased
from nlgeval_lib.evaluators.tigerscore import PERFECT, analysis_form, find_task, gold_shares, read_analysis, tasks
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


# --- the score


def test_the_score_is_the_sum_of_the_penalties():
    [judgment] = TigerScore(task="Trans", engine=scripted(TWO)).judge([SAMPLE])
    assert judgment.value == -4.5
    details = judgment.details
    assert [details[name] for name in ("n_errors", "header_errors", "header_total", "agrees")] == [2, 2, 4.5, True]
    first = details["errors"][0]
    assert (first.location, first.aspect, first.severity) == ('"Der Hund"', "Accuracy", "Major")
    assert details["aspects"] == {"Accuracy": -4, "Fluency": 0, "Terminology": 0, "Style Matching": -0.5}


def test_no_errors_is_0_and_a_broken_analysis_is_missing():
    assert TigerScore(engine=scripted(PERFECT)).judge([SAMPLE])[0].value == 0
    for text in ("", "The output is poor.", TWO.replace("Score reduction 1: 4", "Score reduction 1: unclear")):
        [judgment] = TigerScore(engine=scripted(text)).judge([SAMPLE])
        assert math.isnan(judgment.value) and judgment.reason


def test_the_decoder_of_the_authors_reads_whole_numbers():
    judge = TigerScore(decoder="authors")
    assert judge.parse(Completion("k", TWO)).value == -4
    assert judge.parse(Completion("k", PERFECT)).value == 0 and "decoder:authors" in judge.signature()
    lost = judge.parse(Completion("k", TWO.split("\n", 1)[1]))
    assert lost.status is Status.UNPARSED


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
    frame = pd.DataFrame({"source": ["a text"], "output": ["a summary"]})
    with pytest.raises(ValueError, match="tigerscore needs a column 'instruction'"):
        TigerScore(engine=scripted(PERFECT)).score(frame)
    judge = TigerScore(instruction="Sum up.", engine=scripted(PERFECT))
    assert judge.score(frame)["value"].tolist() == [0]
    assert "Instruction: \nSum up.\na text\n" in judge.render(judge.given(frame)[0])
    assert judge.signature() != TigerScore(instruction="Shorten.").signature() != TigerScore().signature()
    own = judge.given(frame.assign(instruction="Shorten."))[0]
    assert "Shorten." in judge.render(own) and "Sum up." not in judge.render(own)


# --- tasks and aspects


def test_tasks_are_known_by_label_and_name():
    assert list(tasks()) == ["Summ", "Trans", "D2T", "LF-QA", "MathQA", "Instruct"]
    for label, one in tasks().items():
        assert find_task(label) == find_task(one.name) == find_task(label.lower()) == one
    assert find_task("D2T").aspect("logical-coherence ") == "Logical Coherence"
    assert find_task("D2T").aspect("Terminology") == ""


def test_aspects_of_another_task_are_counted_as_other():
    assert read_analysis(TWO, find_task("Summ")).details["aspects"] == {
        "Relevance": 0, "Fact Consistency": 0, "Coherence": 0, "Fluency": 0, "other": -4.5,
    }  # fmt: skip


# --- references as outputs


def test_the_shares_of_table_6():
    shares = gold_shares([0, 0, -0.5, -1.5, -2, -7, math.nan])
    assert shares == {"zero": pytest.approx(100 / 3), "above_minus_2": pytest.approx(400 / 6), "n": 6, "n_missing": 1}
    assert math.isnan(gold_shares([])["zero"])


# --- checks of an analysis


def check(text: str, question: str = "hallucination"):
    item = Sample(
        "s", "out", instruction="Do.", source="in", references=("ref",), extra={"analysis": "Error location 1: out"}
    )
    judge = AnalysisCheck(question, engine=scripted(text))
    return judge.judge([item])[0], judge.render(item)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("No", 1),
        ("Yes, it claims that the text names a date.", 0),
        ("No, the error analysis does not include factual errors.", 1),
        ("The error analysis does not include any factual errors or hallucinations.", 1),
        ("The analysis contains a factual error: the output does name the year.", 0),
        ("The error analysis is free of hallucinations.", 1),
    ],
)
def test_hallucination_check(text, value):
    judgment, prompt = check(text)
    assert judgment.value == value
    assert prompt == prompts.render(
        "tigerscore/check_hallucination",
        instruction="Do.", input="in", reference_output="ref", output="out", error_analysis="Error location 1: out",
    )  # fmt: skip


UNSAID = ["", "Perhaps.", "yes and no", "I cannot assess it.", "Yes, it is right: it does not contain factual errors."]


@pytest.mark.parametrize("text", [*UNSAID, "It contains factual errors. It does not contain factual errors."])
def test_a_check_without_an_answer_is_missing(text):
    judgment, _ = check(text)
    assert math.isnan(judgment.value) and judgment.reason


def test_reasonable_check():
    assert check("yes", "reasonable")[0].value == 1 and check("No.", "reasonable")[0].value == 0
    assert 'Answer me "yes" or "no" only.' in check("yes", "reasonable")[1]
    assert "ref" not in AnalysisCheck("reasonable").needs and AnalysisCheck("reasonable").form()["choice"]
    with pytest.raises(ValueError, match="analysis is empty"):
        AnalysisCheck("reasonable", engine=scripted("yes")).judge([SAMPLE])


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


def test_what_the_baseline_refuses():
    with pytest.raises(ValueError, match="references is empty"):
        TigerScoreReferenceBased(task="Trans", engine=scripted("x")).judge([Sample("s", "o", instruction="i")])
    TigerScoreReferenceBased(task="Summ", engine=scripted("x")).judge([Sample("s", "o", references=("r",))])


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
