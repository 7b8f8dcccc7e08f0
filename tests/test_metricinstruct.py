"""MetricInstruct end to end with a scripted teacher, and each filter with what it must remove and must keep."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import TigerScore, base
from nlgeval_lib.parsers.errors import ErrorItem, error_analysis
from nlgeval_lib.records import Completion, Judgment
from nlgeval_lib.training import metricinstruct as questions
from nlgeval_lib.training import metricinstruct_candidates as rules
from nlgeval_lib.training.metricinstruct import MetricInstruct, least_likely
from nlgeval_lib.training.metricinstruct import sample_outputs as sample
from nlgeval_lib.training.metricinstruct_candidates import Candidate, analysis, read_analysis, read_spoiled
from nlgeval_lib.training.pipeline import load
from notebooks.meta import scripted_teachers as scripted

ERROR = ErrorItem("red bus", "Fluency", "A bus cannot sing; write 'bell'.", "Major", 4.0)
GOOD = Candidate(
    "real/x#0", "real", "two-step", "Summ", "mini", "s", "Summarise.", "A bell rang.", "A bell rang.",
    output="The red bus sang.", errors=(ERROR,),
)  # fmt: skip


# what a rule removes or must keep: GOOD with other fields, its `errors` ERROR with others; [text, n] is repeated
CASES = [json.loads(line) for line in (Path(__file__).parent / "cases" / "metricinstruct_rules.jsonl").open()]


def repeated(fields: dict) -> dict:
    return {name: value[0] * value[1] if isinstance(value, list) else value for name, value in fields.items()}


def rule(name: str, **limits: object) -> rules.Rule:
    return {one.name: one for one in rules.heuristic_rules(**limits)}[name]


@pytest.mark.parametrize("case", CASES, ids=lambda case: json.dumps(case)[:80])
def test_each_rule_removes_what_it_must_and_keeps_the_rest(case: dict) -> None:
    changes = {name: value for name, value in case.items() if name not in ("rule", "removed")}
    if "errors" in changes:
        changes["errors"] = (*(replace(ERROR, **repeated(error)) for error in changes["errors"]),)
    candidate = replace(GOOD, **(changes if "errors" in changes else repeated(changes)))
    assert bool(rule(case["rule"]).why(candidate)) == case["removed"]


def test_every_rule_has_its_case_and_a_good_candidate_passes_all() -> None:
    names = [one.name for one in rules.heuristic_rules()]
    assert set(names) == {*(case["rule"] for case in CASES), "failed", "malformed", "duplicate"}
    assert all(one.why(GOOD) == "" for one in rules.heuristic_rules())


FIELD = st.text(min_size=1, max_size=40).filter(lambda text: text.strip())
ERRORS = st.builds(
    ErrorItem, FIELD, FIELD, FIELD, st.sampled_from(["Major", "Minor"]), st.sampled_from([0.5, 1.0, 2.5, 4.0, 5.0])
)


@settings(deadline=None, max_examples=50)
@given(st.lists(ERRORS, max_size=4))
def test_what_passes_is_read_back_with_its_score(errors: list[ErrorItem]) -> None:
    candidate = replace(GOOD, errors=tuple(errors))
    read = error_analysis(analysis(errors))
    if rule("unreadable").why(candidate) == "":
        assert read.value == -sum(error.reduction for error in errors) and read.agrees


# -- reading the teacher -----------------------------------------------------------------------------------------------


def read(candidate: Candidate, text: str, how=read_analysis, **more: object) -> Candidate:
    return candidate.filled(Completion(key="k", text=text, **more), how)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"errors": {"error_1": {"error_location": "red', "cut off"),
        ("There are two errors.", "2 errors are announced"),
        ("The model-generated output contains 0 errors.", "not as JSON"),
        ('{"errors": {"error_1": {"error_location": "red bus", "severity": "Major"}}}', "score reduction"),
    ],
)
def test_text_that_is_not_the_json_asked_for_is_a_problem(text: str, problem: str) -> None:
    found = read(GOOD, text)
    assert found.problem and not found.failure
    assert problem in found.problem


def test_json_is_read_with_the_papers_aspects() -> None:
    text = '```json\n{"errors": {"error_1": {"error_location": "red bus", "error_aspect": "fluency", '
    text += '"explanation": "e", "severity": "major", "score_reduction": 2.5}}}\n```'
    [error] = read(GOOD, text).errors
    assert (error.aspect, error.severity, error.reduction) == ("Fluency", "Major", 2.5)
    assert read(GOOD, '{"errors": {}}').errors == ()
    assert read(GOOD, "", error="gone").failure == "gone"


SPOILED = """Possible aspects: A, B

Generated incorrect output:
"The red bus sang."

Error location 1: red bus
Error aspect 1: Fluency
Explanation 1: A bell.
Severity 1: major
Score reduction 1: 4"""


def test_a_spoiled_output_is_read() -> None:
    how = read_spoiled
    found = read(replace(GOOD, output="", errors=()), SPOILED, how)
    assert found.output == "The red bus sang." and found.errors[0].severity == "Major" and not found.problem
    assert "no error" in read(GOOD, SPOILED.split("Error location")[0], how).problem
    assert "Generated" in read(GOOD, "I cannot do that.", how).problem
    assert "token limit" in read(GOOD, "Generated", how, finish_reason="length").problem


@settings(deadline=None, max_examples=50)
@given(st.text())
def test_no_text_of_a_teacher_raises(text: str) -> None:
    for how in (read_analysis, read_spoiled):
        found = read(GOOD, text, how)
        assert found.problem or found.failure or all(error.reduction == error.reduction for error in found.errors)


# -- which aspects -----------------------------------------------------------------------------------------------------


def test_rare_aspects_are_drawn_more_often() -> None:
    many = [replace(GOOD, id=str(n), channel="synthetic") for n in range(200)]
    have = {("Summ", "Relevance"): 150, ("Summ", "Fluency"): 10}

    def after(balance: bool) -> float:
        chosen = questions.choose_aspects(many, have, 3, seed=0, balance=balance)
        assert all(1 <= len(set(one.asked)) == len(one.asked) <= 3 for one in chosen)
        counts = dict(have)
        for one in chosen:
            for name in one.asked:
                counts["Summ", name] = counts.get(("Summ", name), 0) + 1
        return questions.evenness(counts.values())

    assert after(True) > after(False) + 0.02 and after(True) > 0.98
    assert questions.choose_aspects(many, have, 3, 0) == questions.choose_aspects(many, have, 3, 0)
    assert questions.evenness([5, 5]) == pytest.approx(1) and questions.evenness([5, 0]) == 0


# -- end to end --------------------------------------------------------------------------------------------------------

REAL = scripted.mini_inputs(60)
PLAIN = scripted.mini_inputs(systems=["clean"]).head(30)
FREE = PLAIN[PLAIN["task"] == "Instruct"].head(6).reset_index(drop=True)
if FREE.empty:
    FREE = PLAIN.head(6).assign(task="Instruct")


def teacher(**how: object) -> ScriptedEngine:
    return scripted.MiniTeacher(REAL, PLAIN, **how).engine()


def test_both_channels_leave_a_valid_set_and_count_everything(tmp_path) -> None:
    built = MetricInstruct().build(teacher(), real=REAL, synthetic=PLAIN, free=FREE)
    made = len(REAL) + len(PLAIN) + len(FREE)
    assert len(built.kept) + len(built.filters.removed) == made
    removed = built.filters.table().set_index("rule")["removed"]
    for name in ("malformed", "location", "severity", "aspect", "reference", "unreasonable"):
        assert removed[name] > 0, name
    assert removed.sum() == len(built.filters.removed) and removed["failed"] == 0
    assert {one.channel for one in built.kept} == {"real", "synthetic"} and any(one.free for one in built.kept)

    folder = built.save(tmp_path / "set")
    examples, report = load(folder)
    assert len(examples) == len(built.kept) == report["kept"]
    assert report["candidates"]["real"] == len(REAL)
    gone = [json.loads(line) for line in (folder / "removed.jsonl").read_text().splitlines()]
    assert len(gone) == len(built.filters.removed) and all(one["rule"] and one["reason"] for one in gone)
    assert set(examples["id"]).isdisjoint(one["id"] for one in gone)
    judge = TigerScore()
    for row in examples.to_dict("records"):
        read = error_analysis(row["completion"])
        assert read.agrees and read.value == row["score"]
        assert all(rules.located(error["location"], row["output"]) for error in row["errors"])
        rebuilt = pd.DataFrame([{"output": row["output"], "instruction": row["instruction"], "source": row["input"]}])
        assert judge.render(judge.given(rebuilt)[0]) == row["prompt"]  # what the evaluator will ask
    assert "| malformed | paper |" in (folder / "report.md").read_text()


def test_empty_and_repeated_inputs_are_counted_not_asked() -> None:
    rows = REAL.head(6).copy()
    rows.loc[0, "output"], rows.loc[1, "instruction"] = " ", ""
    rows = pd.concat([rows, rows.tail(1)], ignore_index=True)
    engine = scripted.MiniTeacher(rows, every=0).engine()
    built = MetricInstruct(check=False).build(engine, real=rows)
    assert built.filters.count("empty_input") == 2 and built.filters.count("duplicate") == 1
    assert len(engine.asked) == 8  # two turns for four different outputs
    with pytest.raises(ValueError, match="no column output"):
        MetricInstruct().build(engine, real=rows.drop(columns="output"))


def test_nothing_left_is_a_report_too(tmp_path) -> None:
    built = MetricInstruct().build(ScriptedEngine(lambda request, draw: "no"), real=REAL.head(4))
    assert built.kept == [] and built.filters.count("malformed") == 4
    folder = built.save(tmp_path)
    assert (folder / "train.jsonl").read_text() == "" and "4 removed" in (folder / "report.md").read_text()


def test_a_plan_asks_nothing_and_says_what_is_estimated() -> None:
    engine = teacher()
    stages = MetricInstruct().plan(engine, real=REAL, synthetic=PLAIN, free=FREE)
    assert [(one.name, one.exact) for one in stages] == [
        ("analyse", True), ("format", False), ("synthesise", False), ("check", False),
    ]  # fmt: skip
    assert stages[0].completions == len(REAL) and not engine.asked


# -- choosing outputs --------------------------------------------------------------------------------------------------


class Length:
    """A stand-in for a likelihood: longer is likelier; texts with a `?` have none."""

    def score(self, frame: pd.DataFrame) -> pd.DataFrame:
        made = [Judgment(float(len(text))) if "?" not in text else None for text in frame["output"]]
        from nlgeval_lib.records import Status

        filled = [one or Judgment.missing(Status.FAILED, "too long for the model") for one in made]
        return base.score_frame(frame.index, filled, "length", {})


def test_five_samples_of_each_system_and_the_least_likely_stays(tmp_path) -> None:
    inputs = REAL.drop_duplicates("input_id").head(3).drop(columns=["output", "system_id"])
    texts = ["aaaa", "aa", "aaa", "", "?"]
    systems = {name: ScriptedEngine(lambda request, draw: texts[draw], model=name) for name in ("x", "y")}
    sampled = sample(inputs, systems, store=Store(tmp_path))
    assert len(sampled) == 3 * 2 * 5 and sampled.loc[3, "failure"] == "the completion is empty"
    kept, filters = least_likely(sampled, Length())
    assert kept["output"].tolist() == ["aa"] * 6 and kept["likelihood"].tolist() == [2.0] * 6
    counts = filters.table().set_index("rule")["removed"].to_dict()
    assert counts == {"no_output": 6, "no_likelihood": 6, "likelier": 12}
    two, _ = least_likely(sampled, Length(), keep=2)
    assert sorted(two["output"].unique()) == ["aa", "aaa"]
    assert sample(inputs, systems, store=Store(tmp_path)).equals(sampled)
    built = MetricInstruct(check=False).plan(real=kept)
    assert built[0].completions == 6
