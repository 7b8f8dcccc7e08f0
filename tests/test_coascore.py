"""CoAScore's three stages and variants, LLMScore with and without a chain of thought."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.coascore import CoAScore
from nlgeval_lib.evaluators.llmscore import Aspect, LLMScore, LLMScoreCoT, RatingTask
from nlgeval_lib.records import Completion, Sample

FACT = 'Bill murray thinks kung fu hustle is "the supreme achievement of the modern age in terms of comedy".'
TALK = Sample("t1", "Yeah bill murray loved it", source="A: Morning !\nB: Morning !", context=FACT, aspect="overall")
# Table 9's answer, shortened
LISTED = (
    "Relevance: Is the response directly related to the conversation?\n\n"
    "Coherence: Does the response make sense?\n\n"
    "Completeness: Does the response fully answer the question?\n\n"
    "Accuracy: Is the response factually correct?\n\n"
    "Naturalness: Does the response sound natural?"
)
NAMES = ["Relevance", "Coherence", "Completeness", "Accuracy", "Naturalness"]


def stage_of(text: str) -> str:
    """Which of the prompts a text is."""
    if "Your task is to list" in text:
        return "list"
    return "scores" if "in JSON format" in text else "target"


def scripted(**answers) -> ScriptedEngine:
    """An engine that answers by stage."""
    given = {"list": LISTED, "scores": json.dumps(dict(zip(NAMES, [5, 5, 4, 5, 3], strict=True))), "target": "5.0"}
    return ScriptedEngine(lambda request, draw: (given | answers)[stage_of(request.text())])


def asked(engine: ScriptedEngine) -> list[str]:
    return [ask.request.text() for ask in engine.asked]


# -- tasks -------------------------------------------------------------------------------------------------------------


def test_tasks_know_their_aspects_by_key_name_and_data_set():
    task = RatingTask.named("dialogue")
    assert task.target("overall").name == task.target("Overall Quality").name == task.target("").name
    assert task.target("naturalness").name == "Naturalness" and task.target("engagingness").name == "Interest"
    assert task.target("coherence").name == "Maintains Context"
    assert RatingTask.named("summary").target("coherence").name == "Coherence"
    assert RatingTask.named("data_to_text").high == 6
    with pytest.raises(ValueError, match="task 'summary' has no aspect 'overall'; it has coherence"):
        RatingTask.named("summary").target("")
    added = RatingTask.named("summary", targets={"humour": "Is it funny?"}, high=10)
    assert added.target("humour") == Aspect("Humour", "Is it funny?") and added.high == 10


# -- LLMScore ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4.0", 4), ("Overall Quality Score: 3", 3), ("4\n\nThe response is one of 3 good ones.", 4),
        ("Relevance: 2\nFluency: 5", None), ("6", None), ("", None), ("I cannot rate this.", None),
    ],
)  # fmt: skip
def test_llmscore_reads_the_targets_score_or_nothing(text, value):
    scores = LLMScore("dialogue", engine=ScriptedEngine([text])).score([TALK])
    if value is None:
        assert scores["value"].isna().all() and scores["reason"].iloc[0] and scores["status"].iloc[0] != "ok"
    else:
        assert scores["value"].tolist() == [value]


def test_llmscore_with_a_chain_of_thought():
    engine = ScriptedEngine(["The fact has 2 parts, so 4 would be too much.\nOverall Quality Score: 3"])
    judge = LLMScoreCoT("dialogue", engine=engine)
    assert judge.score([TALK])["value"].tolist() == [3]
    assert "Let's think step by step." in asked(engine)[0] and judge.sampling.max_tokens == 1024
    cut = ScriptedEngine(lambda r, d: Completion("", "The fact is used and", finish_reason="length"))
    assert LLMScoreCoT("dialogue", engine=cut).score([TALK])["status"].tolist() == ["truncated"]


# -- the three stages --------------------------------------------------------------------------------------------------


def test_the_stages_ask_as_tables_9_to_11_do():
    engine = scripted()
    scores = CoAScore("dialogue", n=5, engine=engine).score([TALK])
    assert scores["value"].tolist() == [5]
    first, second, third = asked(engine)
    assert (
        "Your task is to list five aspects that can be considered when measuring the overall quality of response."
        in first
    )
    assert "Overall Quality: How is the overall quality of the response?" in first
    assert "Aspects:\nRelevance: Is the response directly related to the conversation?\nCoherence: Does" in second
    assert "Scores for each aspect range from 1 to 5" in second and second.endswith("score as value:")
    assert "Relevance: Is the response directly related to the conversation? Score: 5.0\n" in third
    assert "Naturalness: Does the response sound natural? Score: 3.0\n" in third
    details = scores["details"].iloc[0]
    assert details["aspects"] == tuple(NAMES) and details["n_missing_aspects"] == 0
    assert details["aspect_scores"] == dict(zip(NAMES, [5, 5, 4, 5, 3], strict=True))


def test_aspects_are_listed_once_a_target(tmp_path):
    frame = pd.DataFrame(
        [
            {"source": f"talk {i}", "context": FACT, "output": f"answer {i}", "aspect": aspect}
            for i in range(4)
            for aspect in ("overall", "natural")
        ]
    )
    engine, store = scripted(), Store(tmp_path)
    judge = CoAScore("dialogue", n=5, engine=engine, store=store)
    scores = judge.score(frame)
    kinds = [stage_of(text) for text in asked(engine)]
    assert kinds == ["list"] * 2 + ["scores"] * 4 + ["target"] * 8  # the same chain is scored once an output
    judge.score(frame.head(2))
    assert len(engine.asked) == 14 and scores["value"].notna().all()


@pytest.mark.parametrize("n", [5, 10, 20])
def test_as_many_aspects_as_asked_for(n):
    listed = "\n".join(f"{i}. Aspect {chr(64 + i)}: whether it is {i}." for i in range(1, 25))
    scored = json.dumps({f"Aspect {chr(64 + i)}": 1 + i % 5 for i in range(1, 25)})
    engine = scripted(list=listed, scores=scored)
    scores = CoAScore("dialogue", n=n, engine=engine).score([TALK])
    details = scores["details"].iloc[0]
    assert details["n_aspects"] == n and details["n_listed"] == 24
    assert list(details["aspect_scores"].values()) == [1 + i % 5 for i in range(1, n + 1)]
    assert f"list {({5: 'five', 10: 'ten', 20: 'twenty'})[n]} aspects" in asked(engine)[0]


@pytest.mark.parametrize("listed", ["1. Relevance: Is it related?", "Relevance", "**Relevance.**", LISTED])
@pytest.mark.parametrize("scored", ['{"Relevance": 4}', "4", '{"score": 4}', "Relevance: 4.0"])
def test_one_aspect_may_be_named_and_scored_alone(listed, scored):
    engine = scripted(list=listed, scores=scored)
    scores = CoAScore("dialogue", n=1, engine=engine).score([TALK])
    assert scores["value"].tolist() == [5] and scores["details"].iloc[0]["aspect_scores"] == {"Relevance": 4}
    first, second, third = asked(engine)
    assert "list one aspects" in first and "\nRelevance: " in second and " Score: 4.0\n\nBased on" in third


@pytest.mark.parametrize(("listed", "scored"), [("I cannot", "4"), ("Sorry", "4"), ("Relevance", "Fluency: 3")])
def test_one_aspect_that_is_not_there_is_missing(listed, scored):
    scores = CoAScore("dialogue", n=1, engine=scripted(list=listed, scores=scored)).score([TALK])
    assert scores["value"].isna().all() and scores["reason"].iloc[0]


# -- variants ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "stages", "value"),
    [
        ("full", ["list", "scores", "target"], 5), ("inter", ["scores", "target"], 5),
        ("w/o score", ["list", "target"], 5), ("random", ["list", "target"], 5), ("average", ["list", "scores"], 4.4),
    ],
)  # fmt: skip
def test_variants_leave_stages_out(variant, stages, value):
    inter = {name: 2 for name in ("Naturalness", "Understandability", "Interest", "Maintains Context")}
    engine = scripted(**({"scores": json.dumps(inter)} if variant == "inter" else {}))
    judge = CoAScore("dialogue", n=5, variant=variant, engine=engine)
    scores = judge.score([TALK])
    assert [stage_of(text) for text in asked(engine)] == stages
    assert variant != "w/o score" or "Score: " not in asked(engine)[-1]  # its chain has none
    np.testing.assert_allclose(scores["value"], [value])
    assert len(judge.templates()) == len(stages) and f"|variant:{variant}|" in judge.signature()


def test_inter_uses_what_the_data_set_rates_beside_the_target():
    engine = scripted(scores='{"Naturalness": 1}')
    CoAScore("dialogue", variant="inter", engine=engine).score([TALK])
    assert "Aspects:\nNaturalness: " in asked(engine)[0] and "Maintains Context: " in asked(engine)[0]
    assert "Overall Quality: " not in asked(engine)[0]
    with pytest.raises(ValueError, match="no other aspects than 'Overall Quality' for 'inter'"):
        CoAScore("story", variant="inter", engine=scripted()).score([Sample("s", "o", source="b", aspect="overall")])


def test_random_scores_are_seeded_and_on_the_scale():
    def drawn(seed, sample=TALK):
        judge = CoAScore("dialogue", n=5, variant="random", seed=seed, engine=scripted())
        return tuple(judge.score([sample])["details"].iloc[0]["aspect_scores"].values())

    assert drawn(1) == drawn(1) and len({drawn(seed) for seed in range(20)}) > 10
    assert {value for seed in range(20) for value in drawn(seed)} == {1, 2, 3, 4, 5}
    other = Sample("t2", TALK.output, source=TALK.source, context=FACT, aspect="overall")
    assert any(drawn(seed) != drawn(seed, other) for seed in range(5))


def test_aspects_of_ones_own_stand_in_for_stage_one():
    engine = scripted(scores='{"Wit": 4, "Brevity": 2}')
    own = {"overall": {"Wit": "Is it witty?", "Brevity": "Is it short?"}}
    scores = CoAScore("dialogue", aspects=own, variant="average", engine=engine).score([TALK])
    assert scores["value"].tolist() == [3] and [stage_of(text) for text in asked(engine)] == ["scores"]


# -- what a judge may write --------------------------------------------------------------------------------------------


def test_a_missing_aspect_score_is_counted_and_never_a_number():
    part = '{"Relevance": 5, "Coherence": 5, "Completeness": "n/a", "Accuracy": 9}'
    for unscored, in_chain in (("omit", False), ("keep", True)):
        engine = scripted(scores=part)
        scores = CoAScore("dialogue", n=5, unscored=unscored, engine=engine).score([TALK])
        assert scores["value"].tolist() == [5] and scores["details"].iloc[0]["n_missing_aspects"] == 3
        last = asked(engine)[-1]
        assert ("Accuracy: Is the response factually correct?\n" in last) is in_chain
        assert len(re.findall(r"Score: \d", last)) == 2
    strict = CoAScore("dialogue", n=5, unscored="missing", engine=scripted(scores=part)).score([TALK])
    assert strict["value"].isna().all() and strict["reason"].iloc[0].startswith("3 of 5 aspects without a score: ")
    averaged = CoAScore("dialogue", n=5, variant="average", engine=scripted(scores=part)).score([TALK])
    assert averaged["value"].tolist() == [5]
    none = CoAScore("dialogue", n=5, engine=scripted(scores="I cannot.")).score([TALK])
    assert none["value"].isna().all() and none["reason"].iloc[0].startswith("5 of 5 aspects without a score")


def test_too_few_aspects_are_missing_unless_that_is_wanted():
    short = "1. Relevance: Is it related?\n2. Accuracy: Is it correct?"
    engine = scripted(list=short)
    scores = CoAScore("dialogue", n=5, engine=engine).score([TALK, TALK])
    assert scores["value"].isna().all() and scores["reason"].iloc[0] == "relevant aspects: 2 listed, 5 asked for"
    assert [stage_of(text) for text in asked(engine)] == ["list"]
    used = CoAScore("dialogue", n=5, few="use", engine=scripted(list=short)).score([TALK])
    assert used["value"].tolist() == [5] and used["details"].iloc[0]["n_aspects"] == 2


@given(st.text())
def test_no_text_breaks_a_stage(text):
    judge = CoAScore("dialogue", n=3)
    completion = Completion("k", text)
    chain = judge.read_chain(completion)
    assert chain.missing is not None or len(chain.aspects) == 3
    read = judge.read_scores([completion], [Aspect("Wit", "w"), Aspect("Brevity", "b")])
    assert set(read) == {"Wit", "Brevity"}
    assert all(np.isnan(j.value) or 1 <= j.value <= 5 for j in [*read.values(), judge.read(completion, TALK)])


# -- draws, plans, settings --------------------------------------------------------------------------------------------


def test_draws_of_every_stage_are_averaged():
    engine = ScriptedEngine(
        lambda r, d: {"list": LISTED, "scores": json.dumps(dict.fromkeys(NAMES, 2 + d)), "target": str(3 + d)}[
            stage_of(r.text())
        ]
    )
    judge = CoAScore(
        "dialogue", n=5, engine=engine, sampling={"temperature": 1.0, "n": 3},
        aspect_sampling={"temperature": 1.0, "n": 2},
    )  # fmt: skip
    scores = judge.score([TALK])
    assert scores["value"].tolist() == [4] and scores["details"].iloc[0]["aspect_scores"]["Accuracy"] == 2.5
    assert "Is the response factually correct? Score: 2.5\n" in asked(engine)[-1]


def test_a_plan_counts_every_stage(tmp_path):
    samples = [
        Sample(str(i), f"o{i}", source="s", context="c", aspect=a) for i in range(3) for a in ("overall", "natural")
    ]
    engine = scripted()
    judge = CoAScore("dialogue", n=5, engine=engine, store=Store(tmp_path))
    stages = judge.plan(samples)
    assert [(s.name, s.completions, s.exact) for s in stages] == [
        ("aspects", 2, True), ("aspect scores", 6, False), ("score", 6, False),
    ]  # fmt: skip
    assert not engine.asked
    judge.score(samples)
    assert all(stage.exact for stage in judge.plan(samples))
    assert [s.name for s in CoAScore("dialogue", variant="random", engine=engine).plan(samples)] == ["aspects", "score"]


def test_structured_stages_hold_the_judge_to_the_aspects_names():
    patterns = []

    class Held(ScriptedEngine):
        def generate(self, asks, sampling):
            patterns.append((sampling.regex, sampling.choice))
            return super().generate(asks, sampling)

    engine = Held(scripted()._script)
    scores = CoAScore("dialogue", n=5, engine=engine, structured=True).score([TALK])
    assert scores["value"].tolist() == [5]
    lines, numbers, last = patterns
    assert re.fullmatch(lines[0], "Wits: Is it witty or dull.\n" * 5)
    answer = json.dumps(dict(zip(NAMES, [5, 5, 4, 5, 3], strict=True)))
    assert re.fullmatch(numbers[0], answer) and not re.fullmatch(numbers[0], answer.replace("4", "6"))
    assert last[1] == ("1", "2", "3", "4", "5")
