"""No score is read from what a judge thinks aloud, nor from the end of a cut text."""

from __future__ import annotations

import json
import random
import re

import public_data
import pytest
from cli_tools import cases

from judgecard import recordings
from nlgeval_lib import parsers
from nlgeval_lib.engines import Ask, Request, _server
from nlgeval_lib.engines.reasoning import ReasoningReader
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import LLMScore, TigerScore
from nlgeval_lib.parsers.reasoning import apart, split
from nlgeval_lib.parsers.text import finished
from nlgeval_lib.records import Completion, Judgment, Status
from nlgeval_lib.scoring.tally import Tally

TOKEN = re.compile(r"\s*(?:\w+|[^\w\s])|\s+")


def read(text: str, finish: str = "stop", **fields) -> Judgment:
    completion = Completion("k", text, finish_reason=finish, **fields)
    return LLMScore(low=1, high=5).read(completion)


@pytest.mark.parametrize("case", cases("reasoning"), ids=lambda case: case["id"])
def test_scores_come_from_the_answer_alone(case):
    judgment = read(case["text"], case.get("finish", "stop"))
    value = judgment.value if judgment.status is Status.OK else None
    assert value == case["expect"]
    assert parsers.rating(split(case["text"])[1], 1, 5).ok or case["expect"] is None


def test_reasoning_that_the_limit_ends_is_told():
    judgment = read("<think>Score: 3", "length")
    assert judgment.status is Status.TRUNCATED
    assert "reasoning alone" in judgment.reason and "room" in judgment.reason
    judgment = read("", reasoning="Score: 3")
    assert judgment.status is Status.EMPTY


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
@pytest.mark.parametrize("content, reason", [("Score: 4", "stop"), (None, "stop")])
def test_servers_tell_reasoning_apart(name, content, reason):
    message = {"content": content, name: "Score: 2 perhaps."}
    answer = {
        "choices": [{"message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": 3,
            "completion_tokens": 9,
            "completion_tokens_details": {"reasoning_tokens": 5},
        },
    }
    ask = Ask(Request.chat("a"), 0, "0" * 64, None)
    completion, _ = _server.read(json.dumps(answer).encode(), ask, False)
    assert completion.reasoning == "Score: 2 perhaps."
    assert (completion.completion_tokens, completion.reasoning_tokens) == (9, 5)
    judgment = LLMScore(low=1, high=5).read(completion)
    assert judgment.status is (Status.OK if content else Status.EMPTY)


@pytest.mark.parametrize("count", [True, -1, 10**400, "5", None])
def test_a_count_that_is_none_is_not_taken(count):
    usage = {
        "completion_tokens": count,
        "completion_tokens_details": {"reasoning_tokens": count},
    }
    answer = {"choices": [{"text": "4", "finish_reason": "stop"}], "usage": usage}
    ask = Ask(Request("a"), 0, "0" * 64, None)
    completion, _ = _server.read(json.dumps(answer).encode(), ask, False)
    assert (completion.completion_tokens, completion.reasoning_tokens) == (0, 0)


def test_the_store_keeps_reasoning(tmp_path):
    completion = Completion("0" * 64, "4", reasoning="Hm.", reasoning_tokens=2)
    with Store(tmp_path) as store:
        store.put(completion)
        assert store.get(completion.key) == completion


def test_apart_is_done_once():
    whole = Completion("k", "<think>Hm.</think>4")
    completion = apart(whole)
    assert (completion.text.strip(), completion.reasoning) == ("4", "Hm.")
    assert apart(completion) is completion


class Marks:
    """A tokenizer of words, among whose special tokens are [THINK] and [/THINK]."""

    all_special_tokens = ("[THINK]", "[/THINK]", "<s>")

    def get_vocab(self):
        return {"[THINK]": 0}

    def __call__(self, text, **_):
        return type("Encoding", (), {"input_ids": text.split()})

    def decode(self, tokens, **_):
        return " ".join(tokens)


def test_special_tokens_tell_reasoning_apart():
    reader = ReasoningReader(Marks())
    assert reader.keeps_special
    parts = reader.parts([], "[THINK] Score: 2? [/THINK] Score: 4 <s>")
    assert parts["text"].strip() == "Score: 4"
    assert (parts["reasoning"], parts["reasoning_tokens"]) == ("Score: 2?", 2)
    assert reader.parts([], "Score: 4")["text"] == "Score: 4"


def test_a_prompt_can_open_the_reasoning():
    reader = ReasoningReader(Marks())
    reader.keeps_special = False
    cut = reader.parts(["Rate it.", "<think>\n"], "Score: 2, or")
    assert cut["text"] == "" and cut["reasoning"] == "Score: 2, or"
    plain = reader.parts(["Rate <think> it."], "Score: 2")
    assert plain == {"text": "Score: 2"}


@pytest.mark.parametrize(
    "text, whole",
    [
        ("Score: 4", "Score: "),
        ("Score: 4\n", "Score: 4\n"),
        ("Fluency: fine.\n3", "Fluency: fine.\n"),
        ("Fluency: fine.\n3. ", "Fluency: fine.\n"),
        ("Fluency: fine.\n- 3.\n", "Fluency: fine.\n"),
        ("Score: 4. The sum", "Score: 4. The "),
        ("It has scored four go", "It has scored "),
        ("[RESULT] 1 2 3", "[RESULT] "),
    ],
)
def test_the_unfinished_end_is_left_out(text, whole):
    assert finished(text) == whole


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("acloserlook", {"prompt_forms": ("rate_explain",)}),
        ("llm_summeval", {"judges": ("llama-2-70b-chat-hf",)}),
    ],
)
def test_no_beginning_of_a_recorded_text_reads_otherwise_than_the_whole(name, options):
    """Cut at every token, a text gives the score of the whole text, or none."""
    public_data.needs(name)
    texts = recordings.load(name, **options)["text"].unique()
    for text in random.Random(32).sample(list(texts), 60):
        whole = parsers.rating(text, 1, 5)
        for token in TOKEN.finditer(text):
            if token.end() == len(text):
                break
            judgment = read(text[: token.end()], "length")
            if judgment.status is Status.OK:
                assert judgment.value == whole.value, text[: token.end()]


def test_no_cut_error_analysis_reads_otherwise_than_the_whole():
    public_data.needs("tigerscore_outputs")
    texts = recordings.load("tigerscore_outputs")["text"].unique()
    judge = TigerScore(instruction="Sum up.")
    for text in random.Random(32).sample(list(texts), 12):
        whole = judge.read(Completion("k", text))
        for token in TOKEN.finditer(text):
            beginning = text[: token.end()]
            judgment = judge.read(Completion("k", beginning, finish_reason="length"))
            if judgment.status is Status.OK:
                assert judgment.value == whole.value, beginning


def test_a_run_says_what_became_of_its_draws():
    judge = LLMScore(low=1, high=5)
    answers = [
        ("Score: 4", "stop"),
        ("Score: 4\n\nIt is", "length"),
        ("The text is", "length"),
        ("I cannot rate this.", "stop"),
    ]
    draws = []
    for text, finish in answers:
        draws.append(Completion("k", text, finish_reason=finish))
    draws.append(Completion("k", "", finish_reason="error", error="gone"))
    judgment = judge.judged(draws)
    assert (judgment.value, judgment.reason) == (4, "mean of 2 of 5 draws")
    tally = Tally(judge.framed([0], [judgment]))
    assert tally.draws_line() == (
        "5 draws: 2 read (40.0%), 1 cut before the score, 1 refused, 1 lost; "
        "2 ended at the token limit, 1 of them after their score; "
        "rows on fewer draws than were asked for: 1"
    )
