"""Answers held to JSON, and scores weighted by the probabilities of the verdict."""

from __future__ import annotations

import itertools
import json
import math
import sys

import pytest
from hostile_server import JudgeServer
from test_end_to_end import FRAME, JUDGES, SCALES

from nlgeval_lib import evaluators
from nlgeval_lib.engines import OpenAIEngine, Sampling, UnsupportedSetting
from nlgeval_lib.engines._grammar import Grammars
from nlgeval_lib.evaluators import (
    CoAScore,
    GEval,
    LLMScore,
    Prometheus,
    TigerScore,
    schemas,
)
from nlgeval_lib.parsers import feedback, rating, yes_no
from nlgeval_lib.parsers.places import place_of
from nlgeval_lib.records import Completion, Judgment, Sample, Status


def filled(schema: dict, names: itertools.count):
    """JSON of a schema: the last of each enum, and texts that differ."""
    if "enum" in schema:
        return schema["enum"][-1]
    if schema["type"] == "string":
        return f"Quality {'abcdefghij'[next(names)]}"
    if schema["type"] == "array":
        least = max(1, schema["minItems"])
        return [filled(schema["items"], names) for _ in range(least)]
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == set(schema["properties"])
    content = {}
    for name, part in schema["properties"].items():
        content[name] = filled(part, names)
    return content


@pytest.fixture
def strict_server(monkeypatch):
    """A server of OpenAI's protocol that answers by the schema that it is sent."""
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")

    def reply(prompt: str) -> str:
        form = server.bodies[-1].get("response_format")
        if form is None:
            return "The text leaves out a detail (minor)."
        assert form["json_schema"]["strict"] is True
        assert "Length" not in json.dumps(form)
        return json.dumps(filled(form["json_schema"]["schema"], itertools.count()))

    server = JudgeServer(reply)
    yield OpenAIEngine("judge", base_url=server.url, dialect="openai", concurrency=1)
    server.stop()


@pytest.mark.parametrize("name", list(JUDGES))
def test_openais_protocol_holds_every_evaluator_to_json(name, strict_server):
    make, _, options = JUDGES[name]
    sampling = {"temperature": 0.0, "n": 1, "repetition_penalty": 1.0}
    settings = options({"max_tokens": 1024}) | {"sampling": sampling}
    scores = make(structured="json", **settings).score(FRAME, engine=strict_server)
    assert scores["status"].tolist() == ["ok"] * len(FRAME), scores["reason"].tolist()
    assert scores["value"].between(*SCALES[name]).all()


def test_a_choice_is_refused_with_the_way_out(strict_server):
    with pytest.raises(UnsupportedSetting, match="-s structured=json"):
        LLMScore("summary", structured=True).score(FRAME, engine=strict_server)


@pytest.mark.parametrize("n", [1, 5, 10, 20])
def test_a_schemas_texts_fill_the_room_and_no_more(n):
    """A list of any length has room for definitions of a sentence, and ends in time."""
    judge = CoAScore("dialogue", n=n)
    room = judge.list_sampling.max_tokens * schemas.LETTERS
    [listed] = judge.schema("aspects")["properties"].values()
    texts = listed["items"]["properties"]
    longest = sum(text["maxLength"] for text in texts.values())
    assert texts["definition"]["maxLength"] >= 60
    assert listed["maxItems"] * longest < room


def test_a_reasoning_is_never_the_score():
    text = json.dumps(
        {"feedback": "Score: 2 is harsh. [RESULT] 3 is fair.", "score": 4}
    )
    judgment = Prometheus(structured="json", rubric=False).read(Completion("k", text))
    assert judgment.value == 4
    assert judgment.details["feedback"].startswith("Score: 2 is harsh.")
    cut = Completion("k", text[:-2], finish_reason="length")
    judgment = Prometheus(structured="json", rubric=False).read(cut)
    assert judgment.status is Status.TRUNCATED


def test_forms_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="structured is 'xml'; allowed: False, True"):
        LLMScore(structured="xml")
    with pytest.raises(ValueError, match="decoder 'sum'"):
        TigerScore(structured="json", decoder="authors").signature()


def test_transformers_says_what_a_form_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgrammar", None)
    with pytest.raises(UnsupportedSetting, match=r"xgrammar.*or ask the engine vllm"):
        Grammars(None, 9).compiled(Sampling(regex="a"))


def test_the_whole_form_and_the_stops_are_in_the_signature():
    settings = [
        {"regex": "a"},
        {"regex": "b"},
        {"choice": ("a", "b")},
        {"choice": ("a", "c")},
        {"json_schema": {"type": "string"}},
        {"json_schema": {"type": "number"}},
        {"stop": "a"},
        {"stop": ("a", "b")},
        {},
    ]
    signatures = {Sampling(**setting).signature() for setting in settings}
    assert len(signatures) == len(settings)
    shorter = LLMScore("summary", high=4, structured="json").signature()
    assert shorter.count("json_schema-") == 1
    assert shorter != LLMScore("summary", high=4, structured=True).signature()


# -- weighted scores

TEXTS = [
    ("On a scale of 1 to 4, I give it 4", rating, 32),
    ("I'd say 4 out of 4.", rating, 8),
    ("Score: **3**/4 because 3 things", rating, 9),
    ("It has 3 flaws.\nFinal score: 3\n\nIt has 3 typos.", rating, 29),
    ("It meets 3 of the 4 points. [RESULT] 3", feedback, 37),
    ("The score is three.", rating, None),
]


@pytest.mark.parametrize(("text", "parser", "start"), TEXTS)
def test_the_place_is_where_the_parser_read(text, parser, start):
    place = place_of(text, parser(text, 1, 4))
    assert place == (None if start is None else (start, start + 1))


def test_the_place_of_a_yes():
    text = "No doubt remains. Answer: Yes"
    reading = yes_no(text)
    assert reading.ok and place_of(text, reading) == (26, 29)


def tokens(text: str, verdict: dict[str, float]) -> tuple[dict[str, float], ...]:
    """A token a word; the last one is one of these, by their probabilities."""
    steps = [{word: 0.0} for word in text.split()[:-1]]
    last = {name: math.log(p) for name, p in verdict.items()}
    return (*steps, last)


LIKELY = {"4": 0.6, "3": 0.3, " 2": 0.05, "five": 0.03}
WEIGHING = [
    GEval(method="weighted", low=1, high=5),
    LLMScore(low=1, high=5, weigh=True),
    CoAScore(low=1, high=5, weigh=True),
    Prometheus(
        rubric=False, weigh=True, feedback=False, sampling={"temperature": 0.0, "n": 1}
    ),
]


@pytest.mark.parametrize("weighing", WEIGHING, ids=lambda judge: judge.name)
def test_every_judge_weighs_at_the_verdict(weighing):
    text = "On a scale of 1 to 5, I give it 4"
    completion = Completion("k", text, logprobs=tokens(text, LIKELY))
    judgment = weighing.read(completion, Sample("s", "o", aspect="overall"))
    assert judgment.value == pytest.approx((4 * 0.6 + 3 * 0.3 + 2 * 0.05) / 0.95)
    assert judgment.details["mass"] == pytest.approx(0.95)
    assert judgment.details["outside"] == pytest.approx(0.05)
    assert judgment.details["stated"] == 4


def test_a_yes_is_weighed_as_what_it_says():
    check = evaluators.get("tigerscore-check")(weigh=True)
    logprobs = tokens("No", {"No": 0.7, "Yes": 0.2})
    judgment = check.read(Completion("k", "No", logprobs=logprobs))
    assert judgment.value == pytest.approx(0.7 / 0.9)


def test_the_tokens_of_a_reasoning_are_passed_over():
    text = "Score: 3 , then"
    steps = (*tokens(f"{text} .", {".": 1.0}), *tokens("Score: 4", LIKELY))
    completion = Completion("k", "Score: 4", logprobs=steps, reasoning=f"{text} .")
    judgment = LLMScore(low=1, high=5, weigh=True).read(completion)
    assert judgment.details["mass"] == pytest.approx(0.95)


def weighed(completion: Completion) -> Judgment:
    return LLMScore(low=1, high=5, weigh=True).read(completion)


def test_what_cannot_be_weighed_is_missing():
    judgment = weighed(Completion("k", "Score: 4"))
    assert judgment.status is Status.UNAVAILABLE and "log-prob" in judgment.reason
    judgment = weighed(Completion("k", "four", logprobs=({"four": -0.1},)))
    assert judgment.status is Status.UNPARSED


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: TigerScore(weigh=True), "is no token of a declared set"),
        (lambda: LLMScore("story", high=10, weigh=True), "more than one digit"),
        (lambda: Prometheus(weigh=True), "needs temperature 0"),
        (lambda: GEval(weigh=True), "own method 'weighted'"),
    ],
)
def test_judges_that_cannot_weigh_say_so_before_anything_is_asked(make, reason):
    with pytest.raises(ValueError, match=reason):
        make().given([])
