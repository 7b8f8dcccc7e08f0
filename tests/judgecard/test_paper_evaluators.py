"""Prometheus, TIGERScore, CoAScore: rubrics, prompts, tasks, chains of aspects, seeds,
plans, forms.

What they make of answers stands in `cases/judge_answers.jsonl`.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgecard import recordings
from nlgeval_lib import evaluators, prompts
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import (
    Prometheus,
    TigerScore,
)
from nlgeval_lib.evaluators.coascore import CoAScore
from nlgeval_lib.evaluators.llmscore import Aspect, RatingTask
from nlgeval_lib.evaluators.prometheus import Rubric, family
from nlgeval_lib.evaluators.tigerscore import (
    find_task,
    gold_shares,
    tasks,
)
from nlgeval_lib.records import Completion, Sample, Status

RUBRIC = Rubric("Is it polite?", ("Rude.", "Cold.", "Neutral.", "Kind.", "Warm."))

line = st.text(
    st.characters(blacklist_categories=("Cs",), blacklist_characters="\n\r"),
    max_size=20,
)


@given(
    line.filter(lambda text: "]" not in text),
    st.lists(line, min_size=2, max_size=7),
    st.integers(-3, 9),
)
def test_rubrics_survive_their_text(criteria, descriptions, low):
    rubric = Rubric(criteria, tuple(descriptions), low)
    again = Rubric.parse(rubric.text())
    assert again == rubric and again.scale == (low, low + len(descriptions) - 1)


@given(st.text(max_size=60))
def test_a_rubric_that_is_read_is_read_whole(text):
    for candidate in (
        f"[{text}]\nScore 0: {text}\nScore 1: x{text}",
        f"[c]\nScore 1: {text}\nScore 2: y",
    ):
        assert Rubric.parse(candidate).text() == candidate


def test_rubrics_that_are_none():
    with pytest.raises(ValueError, match=r"the form is '\[criteria\]'"):
        Rubric.parse("Is it polite?")
    with pytest.raises(ValueError, match="1 score descriptions"):
        Rubric.parse("[c]\nScore 1: a")


@pytest.mark.parametrize(
    ("name", "count"), [("vicuna_bench", 320), ("mt_bench", 320), ("hhh", 442)]
)
def test_prompts_equal_the_public_ones_byte_for_byte(needs, data, name, count):
    needs(name)
    frame = data(name)
    judge = Prometheus(reference=name != "hhh")
    rendered = [judge.render(one) for one in judge.given(frame)]
    assert rendered == frame["prompt"].tolist() and len(rendered) == count


@pytest.mark.parametrize(
    ("model", "start"),
    [
        (
            "prometheus-eval/prometheus-7b-v1.0",
            "[INST] <<SYS>>\nYou are a fair evaluator language model.\n<</SYS>>",
        ),
        ("kaist-ai/prometheus-13b-v1.0", "[INST] <<SYS>>\nYou are a fair evaluator"),
        ("prometheus-eval/prometheus-7b-v2.0", "[INST] ###Task Description:"),
        ("meta-llama/Llama-2-13b-chat-hf", "[INST] ###Task Description:"),
    ],
)
def test_wrapping_follows_the_checkpoint(model, start):
    engine = ScriptedEngine(["so. [RESULT] 3"] * 3, model=model)
    judge = Prometheus()
    sample = Sample(
        "s", "Hello.", instruction="Greet.", references=("Hi.",), rubric=RUBRIC.text()
    )
    judge.judge([sample], engine=engine)
    text = engine.asked[0].request.prompt
    assert text.startswith(start) and text.endswith("###Feedback:  [/INST]")
    assert (
        f"chat:{family(model).label}" in judge.signature(engine)
        and "chat:messages" in judge.signature()
    )
    assert judge.plan([sample], engine=engine)[0].requests[0].prompt == text


@pytest.mark.parametrize(
    ("text", "way_out"),
    [
        ("Nice. Score: 4", "; read with verbalizer=yes"),
        ("Nice. [4]", "; read with verbalizer=brackets"),
        ("Nice.", ""),
    ],
)
def test_the_reason_names_the_setting_that_reads_it(text, way_out):
    read = Prometheus(rubric=False).parse(Completion("k", text))
    assert read.reason == f"no [RESULT] with a score{way_out}"


def test_the_authors_decoder_agrees_with_their_published_scores(needs):
    """502 outputs of TIGERScore-7B."""
    needs("tigerscore_outputs")
    outputs = recordings.load("tigerscore_outputs")
    judge = TigerScore(decoder="authors")
    ours = np.array(
        [judge.parse(Completion("k", text)).value for text in outputs["text"]]
    )
    theirs = outputs["value"].to_numpy()
    there = ~np.isnan(theirs)
    assert there.sum() == 496 and (ours[there] == theirs[there]).all()


def test_tasks_are_known_by_label_and_name():
    assert list(tasks()) == ["Summ", "Trans", "D2T", "LF-QA", "MathQA", "Instruct"]
    for label, one in tasks().items():
        assert (
            find_task(label) == find_task(one.name) == find_task(label.lower()) == one
        )
    assert find_task("D2T").aspect("logical-coherence ") == "Logical Coherence"
    assert find_task("D2T").aspect("Terminology") == ""


def test_the_shares_of_table_6():
    shares = gold_shares([0, 0, -0.5, -1.5, -2, -7, math.nan])
    assert shares == {
        "zero": pytest.approx(100 / 3),
        "above_minus_2": pytest.approx(400 / 6),
        "n": 6,
        "n_missing": 1,
    }
    assert math.isnan(gold_shares([])["zero"])


def test_a_first_turn_that_fails_is_not_formatted():
    def script(request, draw):
        raise RuntimeError("no")

    engine = ScriptedEngine(script)
    judge = evaluators.get("tigerscore-reference")(task="Trans", engine=engine)
    [judgment] = judge.judge([Sample("s", "x", instruction="i", references=("r",))])
    assert judgment.status is Status.FAILED and len(engine.asked) == 1


FACT = 'Bill murray thinks kung fu hustle is "the supreme achievement of the modern age in terms of comedy".'
TALK = Sample(
    "t1",
    "Yeah bill murray loved it",
    source="A: Morning !\nB: Morning !",
    context=FACT,
    aspect="overall",
)
# Table 9's answer, shortened
LISTED = (
    "Relevance: Is the response directly related to the conversation?\n\n"
    "Coherence: Does the response make sense?\n\n"
    "Completeness: Does the response fully answer the question?\n\n"
    "Accuracy: Is the response factually correct?\n\n"
    "Naturalness: Does the response sound natural?"
)
SCORED = json.dumps(
    {"Relevance": 5, "Coherence": 5, "Completeness": 4, "Accuracy": 5, "Naturalness": 3}
)


def stage_of(text: str) -> str:
    """Which of the prompts a text is."""
    if "Your task is to list" in text:
        return "list"
    return "scores" if "in JSON format" in text else "target"


def answer(request, draw) -> str:
    return {"list": LISTED, "scores": SCORED, "target": "5.0"}[stage_of(request.text())]


def test_tasks_know_their_aspects_by_key_name_and_data_set():
    task = RatingTask.named("dialogue")
    assert (
        task.target("overall").name
        == task.target("Overall Quality").name
        == task.target("").name
    )
    assert (
        task.target("naturalness").name == "Naturalness"
        and task.target("engagingness").name == "Interest"
    )
    assert task.target("coherence").name == "Maintains Context"
    assert RatingTask.named("summary").target("coherence").name == "Coherence"
    assert RatingTask.named("data_to_text").high == 6
    with pytest.raises(
        ValueError, match="task 'summary' has no aspect 'overall'; it has coherence"
    ):
        RatingTask.named("summary").target("")
    added = RatingTask.named("summary", targets={"humour": "Is it funny?"}, high=10)
    assert (
        added.target("humour") == Aspect("Humour", "Is it funny?") and added.high == 10
    )


def test_aspects_are_listed_once_a_target_and_a_plan_counts_every_stage(tmp_path):
    rows = [
        {"source": f"talk {i}", "context": FACT, "output": f"answer {i}"}
        for i in range(4)
    ]
    frame = pd.DataFrame(
        [{**row, "aspect": aspect} for row in rows for aspect in ("overall", "natural")]
    )
    engine = ScriptedEngine(answer)
    store = Store(tmp_path)
    judge = CoAScore("dialogue", n=5, engine=engine, store=store)
    planned = [
        (stage.name, stage.completions, stage.exact) for stage in judge.plan(frame)
    ]
    assert (
        planned
        == [("aspects", 2, True), ("aspect scores", 8, False), ("score", 8, False)]
        and not engine.asked
    )
    scores = judge.score(frame)
    kinds = [stage_of(ask.request.text()) for ask in engine.asked]
    # the same chain is scored once an output
    assert kinds == ["list"] * 2 + ["scores"] * 4 + ["target"] * 8
    judge.score(frame.head(2))
    assert len(engine.asked) == 14 and scores["value"].notna().all()
    assert all(stage.exact for stage in judge.plan(frame))


def test_random_scores_are_seeded_and_on_the_scale():
    def drawn(seed, sample=TALK):
        judge = CoAScore(
            "dialogue", n=5, variant="random", seed=seed, engine=ScriptedEngine(answer)
        )
        return tuple(judge.score([sample])["details"].iloc[0]["aspect_scores"].values())

    assert drawn(1) == drawn(1) and len({drawn(seed) for seed in range(20)}) > 10
    assert {value for seed in range(20) for value in drawn(seed)} == {1, 2, 3, 4, 5}
    other = Sample(
        "t2", TALK.output, source=TALK.source, context=FACT, aspect="overall"
    )
    assert any(drawn(seed) != drawn(seed, other) for seed in range(5))


@given(st.text())
def test_no_text_breaks_a_stage(text):
    judge = CoAScore("dialogue", n=3)
    completion = Completion("k", text)
    chain = judge.read_chain(completion)
    assert chain.missing is not None or len(chain.aspects) == 3
    read = judge.read_scores([completion], [Aspect("Wit", "w"), Aspect("Brevity", "b")])
    assert set(read) == {"Wit", "Brevity"}
    assert all(
        np.isnan(j.value) or 1 <= j.value <= 5
        for j in [*read.values(), judge.read(completion, TALK)]
    )


def test_printed_aspects_take_the_place_of_a_list():
    judge = CoAScore("dialogue", n=5, aspects="printed")
    [asked, last] = judge.plan([TALK])
    prompt = asked.requests[0].text()
    listed = prompts.load_definitions("coascore_aspects")["lists"][0]["aspects"]
    assert [asked.name, last.name] == ["aspect scores", "score"]
    for aspect in listed:
        assert f"{aspect['name']}: {aspect['definition']}" in prompt
    with pytest.raises(ValueError, match="prints none for task 'story'"):
        CoAScore("story", aspects="printed")


def test_json_holds_the_judge_to_the_aspects_names():
    schemas = []

    class Held(ScriptedEngine):
        def generate(self, asks, sampling):
            schemas.append(sampling.json_schema)
            return super().generate(asks, sampling)

    def in_json(request, draw):
        named = {"aspects": [{"name": "Wit", "definition": "Is it witty?"}]}
        scored = {"list": named, "scores": {"Wit": 5}, "target": {"score": 5}}
        return json.dumps(scored[stage_of(request.text())])

    judge = CoAScore("dialogue", n=1, engine=Held(in_json), structured="json")
    assert judge.score([TALK])["value"].tolist() == [5]
    _, scores, _ = schemas
    assert json.loads(scores)["required"] == ["Wit"]
