"""Judges of the catalogue: what is read from a store, what is said where it lacks
something, what makes stale.
"""

from __future__ import annotations

import dataclasses
import itertools
import subprocess
import sys

import numpy as np
import pytest
from cli_tools import cases
from runner_tools import Checkout

from nlgeval_lib import datasets, files
from nlgeval_lib.engines import Failure, Sampling, ScriptedEngine, complete
from nlgeval_lib.engines.store import Store
from nlgeval_lib.records import Completion
from nlgeval_lib.scoring import EngineChoice, ProgressBar
from reproduction import study
from reproduction.runner import stale
from reproduction.study import catalogue, judges

MODEL = "some/judge-7b"
ENTRY = f"""
[[output]]
id = "one"
paper = "hdeval"
notebook = "one.ipynb"
route = "run"
[output.judges]
terse = {{ judge = "terse", fill = ["aspect=coherence"] }}
chain = {{ judge = "chain", fill = ["aspect=coherence"] }}
tree = {{ judge = "tree" }}

[[judge]]
id = "terse"
evaluator = "llmscore"
data = "mini"
model = "{MODEL}"
settings = ["task=summary", "low=1", "high=5"]

[[judge]]
id = "chain"
evaluator = "coascore"
data = "mini"
model = "{MODEL}"
settings = ["task=summary", "n=2"]

[[judge]]
id = "tree"
evaluator = "hdeval"
data = "mini"
model = "{MODEL}"
settings = ["task=summary", "layers=[1]"]
"""


@pytest.fixture
def here(here) -> Checkout:
    here.data("mini/mini.jsonl")
    here.notebook("one", "x = 1")
    here.catalogue(ENTRY)
    yield here
    judges._held.clear()
    stale.forget()


@pytest.fixture
def engine(monkeypatch):
    """The engine that every name gives: it rates by the length of the prompt."""

    def answer(request, draw):
        text = request.text()
        if "Your task is to list" in text:
            return "Clarity: is it clear?\nTruth: is it true?"
        if "in JSON format" in text:
            return '{"Clarity": 3, "Truth": 4}'
        return str(1 + len(text) % 5)

    scripted = ScriptedEngine(answer, model=MODEL, revision="r1")
    real = EngineChoice.start
    monkeypatch.setattr(
        EngineChoice,
        "start",
        lambda self, *a: real(self, *a) if self.engine == "replay" else scripted,
    )
    return scripted


def filled(name: str, engine: ScriptedEngine, **ways) -> int:
    """The completions of a judge put into the checkout's store; how many were asked."""
    before = len(engine.asked)
    question = catalogue.load().question("one", name)
    judges.job(question, judges.EngineOptions("vllm", **ways), ready=engine).fill(
        ProgressBar(quiet=True)
    )
    return len(engine.asked) - before


def test_an_empty_store_says_what_would_fill_it(here):
    made = study.judge_scores("one", "terse")
    assert not made.available and made.frame.empty
    assert f"no completions of {MODEL} for llmscore on mini (terse)" in made.why
    assert "nlgeval completions --output one --engine vllm" in made.why


@pytest.mark.parametrize("name", ["terse", "chain"])
def test_what_is_stored_is_read_and_equal_to_the_run(here, engine, name):
    ran = study.judge_scores("one", name, engine="vllm", mode="quick")
    asked = len(engine.asked)
    read = study.judge_scores("one", name, mode="quick")
    assert asked > 0 and len(engine.asked) == asked
    assert (
        ran.available
        and read.available
        and (read.route, read.model, read.revision) == ("run", MODEL, "r1")
    )
    np.testing.assert_array_equal(read.frame["value"], ran.frame["value"])
    mini = datasets.quick(datasets.load("mini"), 20)
    assert read.frame["input_id"].tolist() == mini["input_id"].tolist()
    assert read.frame["output"].tolist() == mini["output"].tolist()
    np.testing.assert_allclose(read.frame["human"].astype(float), mini["human"])
    assert read.frame["value"].between(1, 5).all() and read.frame["value"].nunique() > 1
    assert (
        read.coverage == f"{len(mini)} of {len(mini)}"
        and "engine:replay|model:some/judge-7b@r1" in read.signature
    )


def test_a_store_with_some_of_them_is_said_with_counts(here, engine):
    asked = filled("terse", engine, mode="quick")
    made = study.judge_scores("one", "terse")
    assert (
        not made.available
        and f"the store has {asked} of " in made.why
        and made.frame.empty
    )
    assert int(made.why.split(" of ")[1].split()[0]) > asked
    assert study.judge_scores("one", "terse", mode="quick").available


def test_refused_prompts_are_failed_rows_and_not_a_gap(here, engine, monkeypatch):
    usual = engine._answers
    longest = max(len(text) for text in datasets.load("mini")["source"])

    def refusing(request, draw):
        if longest - 3 < max(len(part) for part in request.text().split("\n")):
            raise ValueError("the prompt has 9000 tokens")
        return usual(request, draw)

    monkeypatch.setattr(engine, "_answers", refusing)
    ran = study.judge_scores("one", "terse", engine="transformers")
    read = study.judge_scores("one", "terse")
    lost = read.frame[read.frame["status"] == "failed"]
    assert (
        read.available and len(lost) == int((ran.frame["status"] == "failed").sum()) > 0
    )
    assert (
        lost["value"].isna().all() and lost["reason"].str.contains("9000 tokens").all()
    )
    assert read.coverage == f"{len(read.frame) - len(lost)} of {len(read.frame)}"


def test_a_lost_connection_is_no_refusal(here, engine):
    folder = files.state("completions")
    key = "ab" * 32
    lost, refused = (
        Failure("one", 0, key, why, passing)
        for why, passing in (("gone", True), ("too long", False))
    )
    judges.note_refusals(folder, engine, [lost])
    assert judges.refusals(folder, MODEL, "r1") == {}
    judges.note_refusals(folder, engine, [lost, refused])
    assert judges.refusals(folder, MODEL, "r1") == {key: "too long"}
    judges.forget_refusals(folder, engine)
    assert judges.refusals(folder, MODEL, "r1") == {}


def test_too_many_refusals_are_no_scores(here, engine, monkeypatch):
    usual = engine._answers
    turns = itertools.count()

    def every_fifth(request, draw):
        if next(turns) % 5 == 0:
            raise ValueError("no room")
        return usual(request, draw)

    monkeypatch.setattr(engine, "_answers", every_fifth)
    study.judge_scores("one", "terse", engine="vllm", mode="quick")
    made = study.judge_scores("one", "terse", mode="quick")
    assert (
        not made.available
        and "could not be made, such as: ValueError: no room" in made.why
    )


def test_criteria_of_an_hd_eval_that_is_not_fitted(here, engine):
    made = study.judge_scores("one", "tree", engine="vllm", mode="quick")
    assert made.available and len(made.criteria) > 1 and "value" not in made.frame
    assert made.frame[list(made.criteria)].stack().between(1, 5).all()
    again = study.judge_scores("one", "tree", mode="quick")
    assert again.criteria == made.criteria and again.coverage == made.coverage


def test_several_revisions_stand_side_by_side(here, engine):
    filled("terse", engine, mode="quick")
    for revision, answer in (("r2", "3"), ("at:lab:8000+owner:me", "4")):
        another = ScriptedEngine(
            lambda *ask, text=answer: text, model=MODEL, revision=revision
        )
        filled("terse", another, mode="quick")
    scores = study.judge_scores("one", "terse", mode="quick")
    assert scores.available and scores.papers_own and scores.revision == "r1"
    second, third = scores.others
    assert second.revision == "r2" and second.frame["value"].eq(3).all()
    assert third.frame["value"].eq(4).all() and third.identity == "another model"
    for other in scores.others:
        who = f"{MODEL}@{other.revision}"
        assert other.signature.endswith(f"|judged-by:{who}") and not other.papers_own
    assert (
        study.judge_scores("one", "terse", revision="r2", mode="quick")
        .frame["value"]
        .eq(3)
        .all()
    )
    assert "no completions" in study.judge_scores("one", "terse", revision="r3").why


@pytest.mark.parametrize(
    ("served", "grade", "who"),
    [
        ([f"{MODEL}-2024"], "the same name at another date", f"{MODEL}-2024"),
        (
            ["", f"{MODEL}-2024"],
            "the same name at another date",
            f"{MODEL} and {MODEL}-2024",
        ),
        (["mixtral"], "another model", "mixtral"),
    ],
)
def test_who_answered_under_the_asked_name_is_named(here, engine, served, grade, who):
    """Another model behind the name, for all answers or for some: no paper's row."""
    turns = itertools.cycle(served)
    another = ScriptedEngine(
        lambda *ask: Completion("", "3", served=next(turns)), model=MODEL, revision="r1"
    )
    filled("terse", another, mode="quick")
    scores = study.judge_scores("one", "terse", mode="quick")
    assert scores.available and scores.identity == grade and not scores.papers_own
    assert scores.signature.endswith(f"|judged-by:{who}@r1 (asked as {MODEL})")


def test_the_miniature_judge_without_a_checkpoint(here):
    for name in ("replay", "transformers"):
        made = study.judge_scores("one", "terse", engine=name, model="mini")
        assert not made.available and made.route == "mini"
        assert made.why == "no checkpoint in data/mini/judge; make mini-judge"


def test_unknown_names(here):
    with pytest.raises(
        catalogue.CatalogueError,
        match="reads no judge as 'tense'; it has terse, chain, tree",
    ):
        study.judge_scores("one", "tense")
    with pytest.raises(
        ValueError, match="engine 'repaly'; allowed: replay, saved, vllm"
    ):
        study.judge_scores("one", "terse", engine="repaly")


@pytest.mark.parametrize("case", cases("judge_faults"), ids=str)
def test_faults_of_the_catalogue(here, case):
    here.catalogue(ENTRY.replace(case["old"], case["new"], 1))
    with pytest.raises(catalogue.CatalogueError) as caught:
        catalogue.load()
    assert case["said"] in str(caught.value)


def test_an_output_is_stale_when_its_models_completions_came_and_not_otherwise(here):
    listed = catalogue.load()

    def answers(n: int, model: str) -> None:
        with Store(files.state("completions")) as kept:
            complete(
                ScriptedEngine(["4"] * n, model=model, revision="r1"),
                list("ab")[:n],
                Sampling(),
                kept,
            )

    def parts(questions=listed.questions):
        stale.forget()
        return stale.parts(
            listed["one"], dataclasses.replace(listed, questions=questions), "full"
        )

    before = parts()
    plain = parts(())
    answers(2, "somebody-elses")
    assert parts() == before
    answers(1, MODEL)
    assert dict(parts().items() ^ before.items()).keys() == {"completions"}
    assert parts(()) == plain and parts(listed.questions_of("one")[:1]) != before


def test_the_rows_that_the_catalogue_names_are_asked_about(here, engine):
    systems = datasets.load("mini")["system_id"].value_counts()
    kept, dropped = systems.index[:2]
    narrowed = ENTRY.replace(
        'fill = ["aspect=coherence"]',
        f'where = ["system_id={kept}"], fill = ["aspect=coherence"]',
    )
    here.catalogue(narrowed)
    made = study.judge_scores("one", "terse", engine="vllm")
    assert set(made.frame["system_id"]) == {kept} and len(made.frame) == systems[
        kept
    ] == len(engine.asked)
    here.catalogue(narrowed.replace(f"system_id={kept}", f"system_id!={dropped}"))
    assert set(
        study.judge_scores("one", "terse", engine="vllm").frame["system_id"]
    ) == set(systems.index) - {dropped}
    for wrong, message in (
        ("nothing=1", "where names 'nothing'"),
        ("system_id=nobody", "no row of mini has"),
    ):
        here.catalogue(narrowed.replace(f"system_id={kept}", wrong))
        with pytest.raises(ValueError, match=message):
            study.judge_scores("one", "terse", engine="vllm")


def test_a_judge_that_was_never_asked_loads_no_engine(tmp_path):
    """The store has another model's completions; its code is not needed to say so."""
    answers = ScriptedEngine(lambda request, draw: "4", model="another")
    with Store(tmp_path) as store:
        complete(answers, ["a prompt"], Sampling(), store)
    code = (
        "import sys\nfrom reproduction import study\n"
        "scores = study.judge_scores('coascore_figure_04', 'n=10', "
        f"store={str(tmp_path)!r})\n"
        "print(scores.why)\n"
        "print([name for name in sys.modules if name in ("
        "'nlgeval_lib.engines.base', 'nlgeval_lib.evaluators.judge')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    why, loaded = done.stdout.splitlines()
    assert why.startswith("the store has no completions of gpt-3.5-turbo")
    assert loaded == "[]"
