"""What a teacher wrote for a training set: how it is read, and each filter with what
it must remove and must keep.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from cli_tools import cases
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from nlgeval_lib.parsers.errors import ErrorItem, error_analysis
from nlgeval_lib.records import Completion
from reproduction.training import feedback_collection as pieces
from reproduction.training import finetune
from reproduction.training import metricinstruct as rules
from reproduction.training.feedback_collection import (
    FeedbackCollection,
    Graded,
    Problem,
    RubricDraft,
    brainstorms,
    seed_rubrics,
)
from reproduction.training.metricinstruct import (
    Candidate,
    analysis,
    read_analysis,
    read_spoiled,
)
from reproduction.training.pipeline import Rule, no_text

ERROR = ErrorItem(
    "red bus", "Fluency", "A bus cannot sing; write 'bell'.", "Major", 4.0
)
GOOD = Candidate(
    "real/x#0",
    "real",
    "two-step",
    "Summ",
    "mini",
    "s",
    "Summarise.",
    "A bell rang.",
    "A bell rang.",
    output="The red bus sang.",
    errors=(ERROR,),
)
TEXTS = {
    "criteria": "Is it brief?",
    **{f"score{n}_description": f"Level {n}." for n in range(1, 6)},
}
RUBRIC = RubricDraft("r", "brainstormed", TEXTS)
PROBLEM = Problem(
    "r/0", RUBRIC, "Say why bells ring.", "Bells ring when a clapper strikes them."
)
GRADED = Graded(
    "r/0/score-4",
    PROBLEM,
    4,
    "They ring when they are struck.",
    "Brief. So the overall score is 4.",
)
FINE = {"candidate": GOOD, "rubric": RUBRIC, "problem": PROBLEM, "graded": GRADED}
MAKE = {"candidate": rules.heuristic_rules, "rubric": pieces.rubric_rules}
MAKE |= {"problem": pieces.problem_rules, "graded": pieces.graded_rules}
SELDOM = {"failed", "malformed", "duplicate", "alike"}  # rules with a test of their own

# -- rules

# what a rule removes or must keep: the fine piece of its kind with other fields, an
# error with others; [text, n] is repeated, null is not there
CASES = cases("metricinstruct_rules") + cases("feedback_rules")


def piece(of: str, fields: dict):
    """The fine piece of a kind with other fields."""
    errors = fields.pop("errors", None)
    fields = {
        name: value[0] * value[1] if isinstance(value, list) else value
        for name, value in fields.items()
    }
    if errors is not None:
        fields["errors"] = tuple(piece_error(error) for error in errors)
    if of == "rubric":
        return replace(
            RUBRIC,
            texts={
                name: text
                for name, text in {**TEXTS, **fields}.items()
                if text is not None
            },
        )
    if of == "graded" and "instruction" in fields:
        fields["of"] = replace(PROBLEM, instruction=fields.pop("instruction"))
    return replace(FINE[of], **fields)


def piece_error(fields: dict) -> ErrorItem:
    return replace(
        ERROR,
        **{
            name: v[0] * v[1] if isinstance(v, list) else v
            for name, v in fields.items()
        },
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: json.dumps(case)[:80])
def test_each_rule_removes_what_it_must_and_keeps_the_rest(case: dict) -> None:
    of = case.get("of", "candidate")
    one = piece(
        of,
        {
            name: value
            for name, value in case.items()
            if name not in ("of", "rule", "removed")
        },
    )
    [rule] = [rule for rule in MAKE[of]() if rule.name == case["rule"]]
    assert bool(rule.why(one)) == case["removed"]


@pytest.mark.parametrize("of", MAKE)
def test_every_rule_has_its_case_and_a_fine_piece_passes_all(of) -> None:
    made = MAKE[of]()
    assert {one.name for one in made} - SELDOM == {
        case["rule"] for case in CASES if case.get("of", "candidate") == of
    }
    assert not any(one.why(FINE[of]) for one in made)


def removed(rule: Rule, many: list) -> list[bool]:
    return [bool(rule.why(one)) for one in many]


def test_repeated_rubrics_instructions_and_responses() -> None:
    given = ["Is the reply  POLITE?", "Is it brief?", "Is it so brief?", "is it brief"]
    made = pieces.rubric_rules([piece("rubric", {"criteria": "Is the reply polite?"})])
    alike = {one.name: one for one in made}["alike"]
    assert removed(alike, [piece("rubric", {"criteria": text}) for text in given]) == [
        True,
        False,
        False,
        True,
    ]
    scorer = rouge_scorer.RougeScorer(["rougeL"])
    # why the third stays
    assert scorer.score(given[1], given[2])["rougeL"].fmeasure < 0.9
    asked = [replace(PROBLEM, instruction=text) for text in ("A b.", "c", "a  B")]
    assert removed(pieces.problem_rules()[-1], asked) == [False, False, True]
    other = replace(GRADED, of=replace(PROBLEM, id="r/1"))
    assert removed(
        pieces.graded_rules()[-1], [GRADED, replace(GRADED, score=5), other]
    ) == [False, True, False]


def test_an_instruction_without_a_score_loses_the_others() -> None:
    five = [replace(GRADED, score=score) for score in range(1, 6)]
    other = [replace(one, of=replace(PROBLEM, id="r/1")) for one in five[:4]]
    [rule] = pieces.whole_rules([*five, *other])
    assert [rule.why(one) for one in five] == [""] * 5
    assert all("score 5" in rule.why(one) for one in other)


# -- reading the teacher

# how the text is read, what is found in it (of errors: aspect, severity, reduction),
# what is wrong with it
READ = cases("teacher_texts")
HOW = {
    "analysis": (read_analysis, GOOD),
    "spoiled": (read_spoiled, replace(GOOD, output="", errors=())),
    "rubric": (pieces.read_rubric, RUBRIC),
    "problem": (pieces.read_problem, Problem("p", RUBRIC)),
    "graded": (pieces.read_graded, GRADED),
}


@pytest.mark.parametrize("case", READ, ids=lambda case: case["how"])
def test_what_a_teacher_wrote_is_read_or_a_problem(case: dict) -> None:
    (how, empty), problem = HOW[case["how"]], case.get("problem", "")
    found = empty.filled(Completion("k", case["text"], case.get("finish", "stop")), how)
    assert (
        not found.failure
        and bool(found.problem) == bool(problem)
        and problem in found.problem
    )
    for name, value in case.get("fields", {}).items():
        read = getattr(found, name)
        assert value == (
            [[e.aspect, e.severity, e.reduction] for e in read]
            if name == "errors"
            else read
        )


def test_a_completion_without_a_text_is_a_failure() -> None:
    assert no_text(Completion("k", " ")) and no_text(Completion("k", "x")) == ""
    assert (
        GOOD.filled(Completion("k", "", error="gone"), read_analysis).failure == "gone"
    )


@settings(deadline=None, max_examples=50)
@given(st.text())
def test_no_text_of_a_teacher_raises(text: str) -> None:
    for (how, empty), of in zip(HOW.values(), ("candidate", *MAKE), strict=True):
        assert all(
            isinstance(rule.why(empty.filled(Completion("k", text), how)), str)
            for rule in MAKE[of]()[:3]
        )


FIELD = st.text(min_size=1, max_size=40).filter(lambda text: text.strip())
ERRORS = st.builds(
    ErrorItem,
    FIELD,
    FIELD,
    FIELD,
    st.sampled_from(["Major", "Minor"]),
    st.sampled_from([0.5, 1.0, 2.5, 4.0, 5.0]),
)


@settings(deadline=None, max_examples=50)
@given(st.lists(ERRORS, max_size=4))
def test_what_passes_is_read_back_with_its_score(errors: list[ErrorItem]) -> None:
    [rule] = [one for one in rules.heuristic_rules() if one.name == "unreadable"]
    read = error_analysis(analysis(errors))
    if rule.why(replace(GOOD, errors=tuple(errors))) == "":
        assert read.value == -sum(error.reduction for error in errors) and read.agrees


@pytest.mark.parametrize("case", cases("training_refused"), ids=json.dumps)
def test_wrong_settings_are_refused_by_name(case: dict) -> None:
    with pytest.raises(ValueError, match=case["says"]):
        if case["of"] == "FeedbackCollection":
            FeedbackCollection(**case["given"])
        finetune.named(case["of"]).changed(**case["given"])


# -- what is asked


def test_rare_aspects_are_drawn_more_often() -> None:
    many = [replace(GOOD, id=str(n), channel="synthetic") for n in range(200)]
    have = {("Summ", "Relevance"): 150, ("Summ", "Fluency"): 10}

    def after(balance: bool) -> float:
        chosen = rules.choose_aspects(many, have, 3, seed=0, balance=balance)
        assert all(1 <= len(set(one.asked)) == len(one.asked) <= 3 for one in chosen)
        counts = dict(have)
        for name in (name for one in chosen for name in one.asked):
            counts["Summ", name] = counts.get(("Summ", name), 0) + 1
        return rules.evenness(counts.values())

    assert after(True) > after(False) + 0.02 and after(True) > 0.98
    assert rules.choose_aspects(many, have, 3, 0) == rules.choose_aspects(
        many, have, 3, 0
    )
    assert rules.evenness([5, 5]) == pytest.approx(1) and rules.evenness([5, 0]) == 0


def test_seeds_are_twelve_of_our_own_or_given() -> None:
    own = seed_rubrics()
    assert len(own) == 12
    assert {draft.rubric().scale for draft in own} == {(1, 5)}
    with pytest.raises(
        ValueError, match="seed rubric 1: no description of score 1, 2, 3, 4, 5"
    ):
        seed_rubrics([TEXTS, {"criteria": "x"}])
    assert [draft.texts for draft in seed_rubrics([{"note": "x", **TEXTS}])] == [TEXTS]


def test_brainstorms_show_four_different_seed_rubrics() -> None:
    texts = [request.text() for request in brainstorms(seed_rubrics(), 40, seed=0)]
    assert len(set(texts)) == 40
    assert all(
        sum(draft.criteria in text for draft in seed_rubrics()) == 4 for text in texts
    )
    assert brainstorms(seed_rubrics(), 0, 0) == []
    with pytest.raises(ValueError, match="3 seed rubrics"):
        FeedbackCollection().plan(seeds=seed_rubrics()[:3])
