"""A judge by a prompt of one's own: what is asked is the file's text with the row's
texts in it, what a set lacks is said before anything is asked, and how the answer is
read.
"""

from __future__ import annotations

import json
import warnings

import pandas as pd
import pytest
from cli_tools import asks, jsonl

from nlgeval_lib import evaluators
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.prompts import prompt_files

ROWS = pd.DataFrame(
    {
        "output": ["A bus {source} left.", "Six.\n{output}"],
        "source": ["The {aspect} bus left.", "{{reference}}"],
        "reference": [["The bus left.", "It left."], ["Sunrise was at six."]],
        "aspect": ["coherence", "fluency"],
    }
)
ALL = "\n".join(f"{name}: {{{name}}}" for name in prompt_files.PLACEHOLDERS)


def mine(prompt, answers=("Score: 4", "2"), **settings):
    engine = ScriptedEngine(list(answers), model="mine")
    return evaluators.PromptedJudge(str(prompt), engine=engine, **settings)


def asked(evaluator, rows=ROWS):
    [stage] = evaluator.plan(rows)
    return stage.requests


def test_the_prompt_is_the_files_text_with_the_rows_texts(tmp_path):
    path = tmp_path / "mine.txt"
    text = 'S {source}\r\nR {reference}\nO {output}\nJSON: {"score": 1} {} { x } {1}\n'
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    with pytest.warns(UserWarning, match=r"\{x\} is no placeholder"):
        requests = asked(mine(path))
    # data that look like a placeholder stay data
    assert [request.text() for request in requests] == [
        "S The {aspect} bus left.\nR The bus left.\nO A bus {source} left.\n"
        'JSON: {"score": 1} {} { x } {1}',
        "S {{reference}}\nR Sunrise was at six.\nO Six.\n{output}\n"
        'JSON: {"score": 1} {} { x } {1}',
    ]


def test_a_system_text_is_filled_too():
    first, _ = asked(mine("[system]\nYou rate {aspect}.\n[user]\nText: {output}"))
    assert [(turn["role"], turn["content"]) for turn in first.messages] == [
        ("system", "You rate coherence."),
        ("user", "Text: A bus {source} left."),
    ]


def test_definitions_come_from_column_setting_or_task():
    prompt = "{aspect}: {definition}\n{output}"
    column = ROWS.assign(definition=["Does it hang together?", "Is it good English?"])
    [first, _] = asked(mine(prompt), column)
    assert first.text().startswith("coherence: Does it hang together?\n")
    own = {"coherence": "Is there a thread?", "fluency": "Does it read well?"}
    [_, second] = asked(mine(prompt, definitions=own))
    assert second.text().startswith("fluency: Does it read well?\n")
    task = evaluators.LLMScore("summary").task
    of_task = mine(prompt, task="summary")
    assert (of_task.low, of_task.high) == (task.low, task.high)
    [first, _] = asked(of_task)
    assert task.target("coherence").definition in first.text()
    with pytest.raises(ValueError, match="has no aspect 'coherence'"):
        asked(mine(prompt, definitions={"wit": "Is it funny?"}))


@pytest.mark.parametrize(
    ("prompt", "problem"),
    [
        ("nowhere.txt", "no such file"),
        ("Rate {source} and {{output}}", "two ways; write {output}"),
        ("[system]\nBe fair. {output}", r"a line \[user\]"),
        ("Which is better? {output_1} {output_2}", "compares two outputs"),
        ("Which is better? {output_1}", "output_1} and {output_2}"),
    ],
)
def test_prompts_that_cannot_be_asked_are_refused(prompt, problem):
    with pytest.raises(ValueError, match=problem):
        mine(prompt)


def test_a_file_without_an_output_is_refused(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("Is it good? {source}")
    with pytest.raises(ValueError, match="shows no output"):
        mine(path)
    with pytest.raises(ValueError, match="cannot read"):
        mine(tmp_path)


def test_a_word_in_braces_that_may_be_meant_is_told():
    with pytest.warns(UserWarning, match=r"Did you mean \{source\}"):
        mine("{sourse} {output}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mine(ALL + '\n{"score": 3} {a b} {0}')


def test_what_a_set_lacks_is_told_before_anything_is_asked():
    evaluator = mine(ALL)
    assert set(evaluator.needs) == {
        *prompt_files.PLACEHOLDERS,
        "references",
    } - {"reference"}
    with pytest.raises(ValueError, match="needs a column 'instruction'"):
        evaluator.score(ROWS)
    assert evaluator.engine.asked == []


@pytest.mark.parametrize(
    ("settings", "answers", "values"),
    [
        ({}, ["Score: 4", "Good, 2/5"], [4, 2]),
        ({"low": 0, "high": 10}, ["9", "Score: 12"], [9, None]),
        ({"label": "Overall"}, ["Style: 2\nOverall: 3", "Style: 2"], [3, None]),
        ({"field": "score"}, ['{"score": 4}', "Score: 4"], [4, None]),
        (
            {"field": "score", "low": 0.0, "high": 1.0},
            ['```json\n{"why": "x", "Score": "0.5"}\n```', '{"score": 5}'],
            [0.5, None],
        ),
    ],
)
def test_how_the_answer_is_read(settings, answers, values):
    scored = mine("{output}", answers, **settings).score(ROWS)
    got = [None if pd.isna(value) else value for value in scored["value"]]
    assert got == values
    assert (scored["reason"] != "").tolist() == [value is None for value in values]


def test_the_score_is_that_of_the_aspect_that_the_prompt_names():
    answers = ["Fluency: 1\nCoherence: 5", "Coherence: 5\nFluency: 2"]
    scored = mine("Rate {aspect}. {output}", answers).score(ROWS)
    assert scored["value"].tolist() == [5, 2]


def test_structured_answers_are_held_to_the_scale():
    shaped = mine("{output}", structured=True, low=1, high=3).shaped()
    assert tuple(shaped.choice) == ("1", "2", "3")
    shaped = mine("{output}", structured=True, field="score").shaped()
    schema = json.loads(shaped.json_schema)
    assert schema["properties"]["score"]["maximum"] == 5
    with pytest.raises(ValueError, match="scale of whole numbers"):
        mine("{output}", structured=True, low=0.5).shaped()


def test_the_signature_tells_prompts_apart():
    texts = ["{output}", "Rate: {output}", "[system]\nBe fair.\n[user]\n{output}"]
    signatures = {mine(text).signature() for text in texts}
    signatures.add(mine("{output}", high=10).signature())
    signatures.add(mine("{output}", field="score").signature())
    signatures.add(mine("{output}", definitions={"a": "b"}).signature())
    assert len(signatures) == 6


def test_from_the_command_line(nl, judge, tmp_path):
    server = judge(lambda prompt: "Score: 4" if "bus" in prompt else "Score: 1")
    rows = [{"output": "The bus left.", "id": 1}, {"output": "Six.", "id": 2}]
    jsonl(tmp_path / "my.jsonl", rows)
    (tmp_path / "mine.txt").write_text("Is this good, 1 to 5?\n{output}")
    words = ("-e", "prompted", "--set", "prompt=mine.txt", "-i", "my.jsonl")
    words += asks(server)
    got = nl("score", *words, "-o", "s.csv")
    assert got.code == 0, got.err
    assert pd.read_csv("s.csv")["value"].tolist() == [4, 1]
    (tmp_path / "mine.txt").write_text("{source}\n{output}")
    server.bodies.clear()
    got = nl("score", *words, "-o", "t.csv")
    assert got.code == 2 and "needs a column 'source'" in got.err, got.err
    assert not server.bodies
