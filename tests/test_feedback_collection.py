"""The feedback collection end to end with a scripted teacher, and each filter with what it removes and keeps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from nlgeval_lib.evaluators import Prometheus
from nlgeval_lib.parsers.ratings import feedback as read_feedback
from nlgeval_lib.records import Completion, Sample
from nlgeval_lib.training import feedback_pieces as pieces
from nlgeval_lib.training.feedback_collection import FeedbackCollection, brainstorms
from nlgeval_lib.training.feedback_pieces import Graded, Problem, RubricDraft, seeds
from nlgeval_lib.training.pipeline import load
from notebooks.meta import scripted_teachers as scripted

TEXTS = {"criteria": "Is it brief?", **{f"score{n}_description": f"Level {n}." for n in range(1, 6)}}
RUBRIC = RubricDraft("r", "brainstormed", TEXTS)
PROBLEM = Problem("r/0", RUBRIC, "Say why bells ring.", "Bells ring when a clapper strikes them.")
GRADED = Graded("r/0/score-4", PROBLEM, 4, "They ring when they are struck.", "Brief. So the overall score is 4.")


def changed(**texts: str | None) -> RubricDraft:
    return replace(RUBRIC, texts={name: text for name, text in {**TEXTS, **texts}.items() if text is not None})


# what a rule removes or must keep: the piece above with other fields; [text, n] is repeated, null is not there
CASES = [json.loads(line) for line in (Path(__file__).parent / "cases" / "feedback_rules.jsonl").open()]
MAKE = {"rubric": pieces.rubric_rules, "problem": pieces.problem_rules, "graded": pieces.graded_rules}


@pytest.mark.parametrize("case", CASES, ids=lambda case: json.dumps(case)[:80])
def test_each_rule_removes_what_it_must_and_keeps_the_rest(case: dict) -> None:
    given = {name: value for name, value in case.items() if name not in ("of", "rule", "removed")}
    fields = {name: value[0] * value[1] if isinstance(value, list) else value for name, value in given.items()}
    problem = replace(PROBLEM, instruction=fields.pop("instruction")) if "instruction" in fields else PROBLEM
    item = {
        "rubric": lambda: changed(**fields),
        "problem": lambda: replace(problem, **fields),
        "graded": lambda: replace(GRADED, of=problem, **fields),
    }[case["of"]]()
    [rule] = [one for one in MAKE[case["of"]]() if one.name == case["rule"]]
    assert bool(rule.why(item)) == case["removed"]


def test_every_rule_has_its_case_and_good_pieces_pass_all() -> None:
    for (kind, make), good in zip(MAKE.items(), (RUBRIC, PROBLEM, GRADED), strict=True):
        cases = {case["rule"] for case in CASES if case["of"] == kind}
        assert {one.name for one in make()} - {"failed", "malformed", "duplicate", "alike"} == cases
        assert not any(one.why(good) for one in make())


def test_repeated_rubrics_instructions_and_responses() -> None:
    alike = {one.name: one for one in pieces.rubric_rules(0.9, [changed(criteria="Is the reply polite?")])}["alike"]
    given = ["Is the reply  POLITE?", "Is it brief?", "Is it so brief?", "is it brief"]
    assert [bool(alike.why(changed(criteria=text))) for text in given] == [True, False, False, True]
    scorer = rouge_scorer.RougeScorer(["rougeL"])
    assert scorer.score(given[1], given[2])["rougeL"].fmeasure < 0.9  # why the third stays
    same = pieces.problem_rules()[-1]
    assert [bool(same.why(replace(PROBLEM, instruction=text))) for text in ("A b.", "c", "a  B")] == [
        False, False, True,
    ]  # fmt: skip
    same = pieces.graded_rules()[-1]
    other = replace(GRADED, of=replace(PROBLEM, id="r/1"))
    assert [bool(same.why(one)) for one in (GRADED, replace(GRADED, score=5), other)] == [False, True, False]


def test_an_instruction_without_a_score_loses_the_others() -> None:
    five = [replace(GRADED, score=score) for score in range(1, 6)]
    other = [replace(one, of=replace(PROBLEM, id="r/1")) for one in five[:4]]
    [rule] = pieces.whole_rules([*five, *other])
    assert [rule.why(one) for one in five] == [""] * 5
    assert all("score 5" in rule.why(one) for one in other)


def read(draft, text: str, how, **more: object):
    return draft.filled(Completion(key="k", text=text, **more), how)


def test_rubrics_are_read_from_what_models_write() -> None:
    plain, how = json.dumps(TEXTS), pieces.read_rubric
    prefixed = json.dumps({f"orig_{key}": text for key, text in TEXTS.items()})
    for text in (plain, f"```json\n{plain}\n```\n[END]", f"New Criteria:\n{plain} [END] {plain}", prefixed):
        assert read(RUBRIC, text, how).texts == TEXTS
    for text, problem in (
        ("None.", "no JSON"), (plain + plain, "2 JSON objects"), (plain[:40], "cut off"),
        ('{"criteria": "a", "criteria": "b"}', "criteria twice"),
    ):  # fmt: skip
        assert problem in read(RUBRIC, text, how).problem


@pytest.mark.parametrize(
    ("text", "finish", "parts", "problem"),
    [
        ("Problem: a b [NEXT] Response: c\nd [END] more", "stop", ("a b", "c\nd"), ""),
        ("**Problem:** a [NEXT]\nresponse: c", "stop", ("a", "c"), ""),
        ("a [next] c [end]", "stop", ("a", "c"), ""),
        ("Problem: a Response: c [END]", "stop", ("", ""), "no [NEXT]"),
        ("a [NEXT] b [NEXT] c", "stop", ("", ""), "[NEXT] 2 times"),
        ("a [NEXT] c", "length", ("", ""), "no [END]; it was cut at the token limit"),
        ("a [NEXT] c [END] and so", "length", ("a", "c"), ""),
    ],
)
def test_two_parts(text: str, finish: str, parts: tuple[str, str], problem: str) -> None:
    found = read(Problem("p", RUBRIC), text, pieces.read_problem, finish_reason=finish)
    assert (found.instruction, found.reference) == parts and found.problem == problem


@settings(deadline=None, max_examples=50)
@given(st.text())
def test_no_text_of_a_teacher_raises(text: str) -> None:
    how = ((RUBRIC, pieces.read_rubric), (PROBLEM, pieces.read_problem), (GRADED, pieces.read_graded))
    for (draft, reader), rule_list in zip(how, MAKE.values(), strict=True):
        assert all(isinstance(rule.why(read(draft, text, reader)), str) for rule in rule_list()[:3])


def test_seeds_are_twelve_of_our_own_or_a_file(tmp_path) -> None:
    own = seeds()
    assert len(own) == 12 and all(draft.rubric().levels.keys() == {1, 2, 3, 4, 5} for draft in own)
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps(TEXTS) + "\n" + json.dumps({"criteria": "x"}) + "\n")
    with pytest.raises(ValueError, match="seed rubric 1: no description of score 1, 2, 3, 4, 5"):
        seeds(path)
    path.write_text(json.dumps(TEXTS) + "\n")
    [draft] = seeds(path)
    assert draft.texts == TEXTS


def test_brainstorms_show_four_different_seeds() -> None:
    requests = brainstorms(seeds(), 40, seed=0)
    texts = [request.text() for request in requests]
    assert len(set(texts)) == 40
    for text in texts:
        assert sum(draft.criteria in text for draft in seeds()) == 4
    assert brainstorms(seeds(), 0, 0) == []
    with pytest.raises(ValueError, match="3 seed rubrics"):
        FeedbackCollection().plan(seeds=seeds()[:3])


# -- end to end --------------------------------------------------------------------------------------------------------

SMALL = {"rounds": 2, "per_round": 4, "instructions": 3, "use_seeds": False}


def test_a_collection_is_whole_and_valid(tmp_path) -> None:
    built = FeedbackCollection(**SMALL).build(scripted.FeedbackTeacher().engine())
    frame = built.frame()
    counts = frame["score"].value_counts()
    assert len(frame) > 40 and set(counts) == {len(frame) // 5}  # every score equally often
    removed = built.filters.table().set_index("rule")["removed"]
    for name in ("malformed", "levels", "score", "length", "incomplete"):
        assert removed[name] > 0, name
    examples, report = load(built.save(tmp_path / "set"))
    assert report["kept"] == len(examples) == len(frame) and report["teacher"] == "scripted-feedback-teacher"
    for row in examples.to_dict("records"):
        read = read_feedback(row["completion"], 1, 5, "strict")
        assert read.value == row["score"] and read.feedback == row["feedback"]
        assert all(row[name] in row["prompt"] for name in ("instruction", "response", "reference", "criteria"))
    assert built.statistics()["Balance"].loc["scores"].to_dict() == {"value": 1.0, "limit": 1.0, "ok": True}
    assert "Distinct n-grams (Table 7)" in (tmp_path / "set" / "report.md").read_text()
    gone = [json.loads(line) for line in (tmp_path / "set" / "removed.jsonl").read_text().splitlines()]
    assert len(gone) == report["removed"] and {one["kind"] for one in gone} == {"rubric", "response", "instruction"}


def test_views_are_what_the_evaluator_asks_without_a_part() -> None:
    built = FeedbackCollection(**SMALL).build(scripted.FeedbackTeacher(every=0).engine())
    row = built.frame().iloc[0]
    sample = Sample("x", row.response, row.instruction, references=(row.reference,), rubric=row.rubric)
    for view, switch in (("full", {}), ("no_rubric", {"rubric": False}), ("no_reference", {"reference": False})):
        example = built.examples(view)[0]
        assert example["prompt"] == Prometheus(chat="raw", **switch).render(sample)
        assert example["completion"] == f"{row.feedback} [RESULT] {row.score}"
    assert row.criteria not in built.examples("no_rubric")[0]["prompt"]
    assert row.reference not in built.examples("no_reference")[0]["prompt"]
    assert built.examples("no_feedback")[0]["completion"] == str(row.score)
    with pytest.raises(ValueError, match="allowed: full"):
        built.examples("none")


def test_settings_are_checked() -> None:
    for wrong, what in (({"rounds": -1}, "rounds=-1"), ({"length": 0.5}, "length=0.5"), ({"alike": 2}, "alike=2")):
        with pytest.raises(ValueError, match=what):
            FeedbackCollection(**wrong)
    with pytest.raises(ValueError, match="temperature 0"):
        FeedbackCollection(sampling={"temperature": 0.0})
    stages = FeedbackCollection(**SMALL).plan()
    assert [(one.name, one.completions, one.exact) for one in stages][:2] == [
        ("brainstorm", 8, True), ("paraphrase", 1, False),  # equal stand-ins: all but one would be alike
    ]  # fmt: skip
