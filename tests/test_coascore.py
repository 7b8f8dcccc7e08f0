"""CoAScore: tasks, chains of aspects, seeds, plans, forms; what it makes of answers is in `test_judge_answers`."""

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
from nlgeval_lib.evaluators.llmscore import Aspect, RatingTask
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
SCORED = json.dumps({"Relevance": 5, "Coherence": 5, "Completeness": 4, "Accuracy": 5, "Naturalness": 3})


def stage_of(text: str) -> str:
    """Which of the prompts a text is."""
    if "Your task is to list" in text:
        return "list"
    return "scores" if "in JSON format" in text else "target"


def answer(request, draw) -> str:
    return {"list": LISTED, "scores": SCORED, "target": "5.0"}[stage_of(request.text())]


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


def test_aspects_are_listed_once_a_target_and_a_plan_counts_every_stage(tmp_path):
    rows = [{"source": f"talk {i}", "context": FACT, "output": f"answer {i}"} for i in range(4)]
    frame = pd.DataFrame([{**row, "aspect": aspect} for row in rows for aspect in ("overall", "natural")])
    engine, store = ScriptedEngine(answer), Store(tmp_path)
    judge = CoAScore("dialogue", n=5, engine=engine, store=store)
    planned = [(stage.name, stage.completions, stage.exact) for stage in judge.plan(frame)]
    assert planned == [("aspects", 2, True), ("aspect scores", 8, False), ("score", 8, False)] and not engine.asked
    scores = judge.score(frame)
    kinds = [stage_of(ask.request.text()) for ask in engine.asked]
    assert kinds == ["list"] * 2 + ["scores"] * 4 + ["target"] * 8  # the same chain is scored once an output
    judge.score(frame.head(2))
    assert len(engine.asked) == 14 and scores["value"].notna().all()
    assert all(stage.exact for stage in judge.plan(frame))


def test_random_scores_are_seeded_and_on_the_scale():
    def drawn(seed, sample=TALK):
        judge = CoAScore("dialogue", n=5, variant="random", seed=seed, engine=ScriptedEngine(answer))
        return tuple(judge.score([sample])["details"].iloc[0]["aspect_scores"].values())

    assert drawn(1) == drawn(1) and len({drawn(seed) for seed in range(20)}) > 10
    assert {value for seed in range(20) for value in drawn(seed)} == {1, 2, 3, 4, 5}
    other = Sample("t2", TALK.output, source=TALK.source, context=FACT, aspect="overall")
    assert any(drawn(seed) != drawn(seed, other) for seed in range(5))


@given(st.text())
def test_no_text_breaks_a_stage(text):
    judge = CoAScore("dialogue", n=3)
    completion = Completion("k", text)
    chain = judge.read_chain(completion)
    assert chain.missing is not None or len(chain.aspects) == 3
    read = judge.read_scores([completion], [Aspect("Wit", "w"), Aspect("Brevity", "b")])
    assert set(read) == {"Wit", "Brevity"}
    assert all(np.isnan(j.value) or 1 <= j.value <= 5 for j in [*read.values(), judge.read(completion, TALK)])


def test_structured_stages_hold_the_judge_to_the_aspects_names():
    patterns = []

    class Held(ScriptedEngine):
        def generate(self, asks, sampling):
            patterns.append((sampling.regex, sampling.choice))
            return super().generate(asks, sampling)

    engine = Held(answer)
    scores = CoAScore("dialogue", n=5, engine=engine, structured=True).score([TALK])
    assert scores["value"].tolist() == [5]
    lines, numbers, last = patterns
    assert re.fullmatch(lines[0], "Wits: Is it witty or dull.\n" * 5)
    assert re.fullmatch(numbers[0], SCORED) and not re.fullmatch(numbers[0], SCORED.replace("4", "6"))
    assert last[1] == ("1", "2", "3", "4", "5")
