"""Lists of aspects and criteria, scores by aspect, chosen options, and the loose JSON they share."""

from __future__ import annotations

import json
import math

import pytest

from nlgeval_lib import parsers
from nlgeval_lib.parsers.loose_json import Record, objects
from nlgeval_lib.records import Status

INLINE = "Relevance: Is it so? A good one is. Coherence: Does it flow? It should. Accuracy: Is it right?"

XY = {"Relevance": "x", "Coherence": "y"}
BARE = {"Relevance": "", "Coherence": ""}
RECORDS = '{"aspects": [{"name": "Relevance", "definition": "x"}, {"name": "Coherence", "description": "y"}]}'

ASPECTS = [
    ("numbered", "1. Relevance: x\n2. Coherence: y", XY),
    ("paragraphs", "Relevance: x\n\nCoherence: y", XY),
    ("bold bullets", "- **Relevance**: x\n- **Coherence**: y", XY),
    ("bold with colon inside", "* **Relevance:** x\n* **Coherence:** y", XY),
    ("dashes", "1) Relevance - x\n2) Coherence – y", XY),
    ("brackets", "- Relevance (x)\n- Coherence (y)", XY),
    ("lead-in and closing", "Here are two aspects:\n\n1. Relevance: x\n2. Coherence: y\n\nThese aspects can help.", XY),
    ("names only", "Sure! Here are the aspects:\n1. Relevance\n2. Coherence", BARE),
    ("scale after the name", "1. Relevance (1-5): x\n2. Coherence (1-5): y", XY),
    ("definition below", "1. Relevance\n   Definition: x\n2. Coherence\n   Definition: y", XY),
    ("headings", "## Aspects\n### Relevance\nx\n### Coherence\ny", XY),
    ("one line numbered", "Aspects: 1) Relevance: x 2) Coherence: y", XY),
    ("json names", '["Relevance", "Coherence"]', BARE),
    ("json object", '{"Relevance": "x", "Coherence": "y"}', XY),
    ("json records", RECORDS, XY),
    ("json in a fence", '```json\n[{"aspect": "Relevance"}, {"aspect": "Coherence"}]\n```', BARE),
    ("numbered as aspects", "Aspect 1: Relevance: x\nCriterion 2 - Coherence: y", XY),
    ("dashes only", "Relevance — x\nCoherence — y", XY),
    ("table", "| # | Aspect | Definition |\n|---|---|---|\n| 1 | Relevance | x |\n| 2 | **Coherence** | y |", XY),
    ("json by numbers", '{"1": "Relevance", "2": "Coherence"}', BARE),
    ("commas after a lead-in", "The aspects are: Relevance and Coherence.", BARE),
    ("commas", "Relevance, coherence, and grammar.", {"Relevance": "", "coherence": "", "grammar": ""}),
]


@pytest.mark.parametrize("case", ASPECTS, ids=[case[0] for case in ASPECTS])
def test_aspects(case):
    _, text, expected = case
    read = parsers.aspects(text)
    assert {aspect.name: aspect.definition for aspect in read.value} == expected
    assert read.names == tuple(expected)
    assert read.count == len(expected)


@pytest.mark.parametrize(
    "text",
    [
        "**Aspect 1: Relevance**\nHow relevant.\n\n**Aspect 2: Coherence**\nHow coherent.",
        '{"1": {"name": "Relevance", "definition": "a"}, "2": {"name": "Coherence", "definition": "b"}}',
        "<aspect>Relevance: how relevant</aspect>\n<aspect>Coherence: how coherent</aspect>",
        "1、Relevance: a\n2、Coherence: b",
        "2 aspects:\n1. Relevance: a\n2. Coherence: b",
        "<think>1. Humour: a</think>\n1. Relevance: a\n2. Coherence: b",
        "- Relevance (is it on topic?)\n- Coherence (does it flow?)",
    ],
)
def test_names_in_many_dresses(text):
    assert parsers.aspects(text).names == ("Relevance", "Coherence")


def test_names_in_a_sentence():
    assert parsers.aspects("The aspects are relevance, style, and accuracy.").names == (
        "relevance",
        "style",
        "accuracy",
    )
    assert parsers.aspects("<think>1. Relevance: a\n2. Coherence: b").status is Status.TRUNCATED


def test_aspects_in_running_text():
    read = parsers.aspects(INLINE)
    assert read.names == ("Relevance", "Coherence", "Accuracy")
    assert read.value[0].definition == "Is it so? A good one is."


def test_a_repeated_aspect_counts_once():
    read = parsers.aspects("1. Relevance: a\n2. Coherence: b\n3. relevance: c")
    assert read.names == ("Relevance", "Coherence")
    assert read.duplicates == 1


@pytest.mark.parametrize(
    ("text", "status"),
    [("", "empty"), (None, "empty"), ("I'm sorry, I cannot help.", "refused"), ("The response is good.", "unparsed")],
)
def test_no_aspects(text, status):
    read = parsers.aspects(text)
    assert read.status == Status(status)
    assert read.value is None
    assert read.count == 0


def test_cut_list_is_marked():
    assert parsers.aspects("1. Relevance: is it related\n2. Coherence: does it flow and").truncated


NESTED = {
    "indented numbers": "1. Coherence: c\n   1.1 Logic: a\n   1.2 Links: b\n2. Fluency: f\n   2.1 Grammar: g",
    "numbers by depth": "1. Coherence: c\n1.1 Logic: a\n1.2 Links: b\n2. Fluency: f\n2.1 Grammar: g",
    "indented bullets": "- Coherence: c\n  - Logic: a\n  - Links: b\n- Fluency: f\n  - Grammar: g",
    "headings": "### Coherence: c\n1. Logic: a\n2. Links: b\n### Fluency: f\n1. Grammar: g",
}


@pytest.mark.parametrize("text", NESTED.values(), ids=NESTED.keys())
def test_nested_criteria(text):
    read = parsers.criteria(text)
    assert [(top.name, top.definition, [(c.name, c.definition) for c in top.children]) for top in read.value] == [
        ("Coherence", "c", [("Logic", "a"), ("Links", "b")]),
        ("Fluency", "f", [("Grammar", "g")]),
    ]
    assert [leaf.name for leaf in read.leaves()] == ["Logic", "Links", "Grammar"]
    assert read.count == 5


def test_criteria_under_bold_lines():
    read = parsers.criteria("**Coherence**\n- Logic: a\n- Links: b\n\n**Fluency**\n- Grammar: e\n- Spelling: f")
    assert [(top.name, [child.name for child in top.children]) for top in read.value] == [
        ("Coherence", ["Logic", "Links"]),
        ("Fluency", ["Grammar", "Spelling"]),
    ]


def test_scores_after_reasoning_in_tags():
    read = parsers.aspect_scores('<think>{"Relevance": 1}</think>{"Relevance": 4}', ["Relevance"], 1, 5)
    assert read.value == 4.0


def test_criteria_under_group_lines():
    read = parsers.criteria("Coherence:\n1. Logic: a\n2. Links: b\n\nFluency:\n1. Grammar: g")
    assert [(top.name, [c.name for c in top.children]) for top in read.value] == [
        ("Coherence", ["Logic", "Links"]),
        ("Fluency", ["Grammar"]),
    ]


def test_a_title_above_all_is_no_criterion():
    assert [top.name for top in parsers.criteria("Criteria:\n- Flow: a\n- Links: b").value] == ["Flow", "Links"]


def test_flat_criteria_and_none():
    assert [top.name for top in parsers.criteria('{"Flow": "a", "Links": "b"}').value] == ["Flow", "Links"]
    assert parsers.criteria("It is good.").status is Status.UNPARSED
    assert parsers.criteria(None).status is Status.EMPTY


NAMES = ["Relevance", "Coherence", "Overall Quality"]
SCORED = {
    "json": '{"Relevance": 5.0, "Coherence": 4, "Overall Quality": 3}',
    "single quotes, other case, comma": "{'relevance': 5, 'COHERENCE': '4/5', 'overall_quality': 3,}",
    "fence and prose": 'Here:\n```json\n{"Relevance": 5, "Coherence": 4, "Overall Quality": 3}\n```\nDone.',
    "unquoted keys": "{Relevance: 5, Coherence: 4, Overall Quality: 3}",
    "nested": '{"scores": {"Relevance": {"score": 5, "why": "2"}, "Coherence": {"score": 4}, "Overall Quality": 3}}',
    "records": json.dumps([{"aspect": n, "score": s} for n, s in zip(NAMES, (5, 4, 3), strict=True)]),
    "lines": "Relevance: 5\nCoherence: 4\nOverall Quality: 3",
    "one line": "Relevance: 5.0 Coherence: 4.0 Overall Quality: 3.0",
    "bullets with scales": "- Relevance (1-5): 5\n- Coherence (1-5): 4\n- Overall Quality (1-5): 3",
    "table": "| Aspect | Score |\n|---|---|\n| Relevance | 5 |\n| Coherence | 4 |\n| Overall Quality | 3 |",
}


@pytest.mark.parametrize("text", SCORED.values(), ids=SCORED.keys())
def test_aspect_scores(text):
    read = parsers.aspect_scores(text, NAMES, 1, 5)
    assert dict(read.scores) == {"Relevance": 5.0, "Coherence": 4.0, "Overall Quality": 3.0}
    assert (read.value, read.missing) == (4.0, ())


@pytest.mark.parametrize(
    ("rest", "name", "reason", "status"),
    [
        ("}", "Overall Quality", "no key of that name", "unparsed"),
        (', "Overall Quality": 9}', "Overall Quality", "9 is outside 1 to 5", "out_of_range"),
        (', "Overall Quality": "N/A"}', "Overall Quality", "no single number", "unparsed"),
        (', "Overall Quality": 3, "Relevance": 3}', "Relevance", "no single number", "unparsed"),
        (', "Over', "Overall Quality", "cut off", "truncated"),
    ],
)
def test_one_aspect_missing(rest, name, reason, status):
    read = parsers.aspect_scores('{"Relevance": 5, "Coherence": 4' + rest, NAMES, 1, 5)
    assert read.missing == (name,)
    assert reason in read.reasons[name]
    assert math.isnan(read.scores[name])
    assert sum(not math.isnan(score) for score in read.scores.values()) == 2
    assert math.isnan(read.value)
    assert read.status == Status(status)


def test_a_line_missing():
    read = parsers.aspect_scores("Relevance: 5\nCoherence: 4", NAMES, 1, 5)
    assert read.missing == ("Overall Quality",)
    assert "no score labelled" in read.reasons["Overall Quality"]


def test_a_lone_number_is_nobodys_score():
    assert parsers.aspect_scores("4", NAMES, 1, 5).missing == tuple(NAMES)


def test_scored_besides():
    assert parsers.aspect_scores('{"Relevance": 5, "Tone": 2}', ["Relevance"], 1, 5).extra == ("tone",)


@pytest.mark.parametrize(
    ("names", "error"),
    [([], ValueError), (["A", "a"], ValueError), ([""], ValueError), ("Relevance", TypeError), ([3], ValueError)],
)
def test_bad_aspect_names(names, error):
    with pytest.raises(error, match="aspect"):
        parsers.aspect_scores("x", names, 1, 5)


OPTIONS = {"A": 1, "B": 2, "C": 3, "D": 4, "E": 5}


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("B", "B"),
        ("b.", "B"),
        ("(B)", "B"),
        ("**D**", "D"),
        ("Option E", "E"),
        ("Answer: B", "B"),
        ("The answer is B.", "B"),
        ("[[B]]", "B"),
        ("\\boxed{C}", "C"),
        ("B: The majority is irrelevant.", "B"),
        ("D - the majority", "D"),
        ("I choose option B because A is wrong", "B"),
        ("A: bad\nB: fine\nC: good\n\nAnswer: C", "C"),
        ('{"answer": "d"}', "D"),
        ("Not A. Answer: B", "B"),
        ("The best option is C, not D.", "C"),
        ("A good summary.\nD", "D"),
        ("A summary that is fine", None),
        ("A and B are both fine.", None),
        ("Answer: A or B", None),
        ("Answer: A\nAnswer: C", None),
        ("A: bad\nB: fine\nC: good", None),
        ("F", None),
        ("", None),
        ("I'm sorry, I cannot choose.", None),
    ],
)
def test_multiple_choice(text, choice):
    read = parsers.multiple_choice(text, OPTIONS)
    if choice is None:
        assert not read.ok, read
        assert read.reason
        assert math.isnan(read.value)
    else:
        assert (read.choice, read.value) == (choice, OPTIONS[choice])


def test_multiple_choice_by_name_gives_the_name():
    assert parsers.multiple_choice("Verdict: inconsistent", ("consistent", "inconsistent")).value == "inconsistent"
    assert parsers.multiple_choice("I cannot say", ("yes", "no")).value is None


@pytest.mark.parametrize(
    ("choices", "error"),
    [
        ("AB", TypeError),
        (("A",), ValueError),
        (("A", "a"), ValueError),
        (("A", ""), ValueError),
        ({"A": 1, "B": math.nan}, ValueError),
    ],
)
def test_bad_choices(choices, error):
    with pytest.raises(error, match="choice"):
        parsers.multiple_choice("A", choices)


@pytest.mark.parametrize(
    "value", [{"a": 1, "b": [1, "x", None, {"c": True}]}, [], {}, {"a": 'it\'s "so"\n'}, [[[1.5]]], {"é": "ü"}]
)
def test_loose_json_reads_what_json_reads(value):
    (read, _, _), *rest = objects(json.dumps(value))
    assert read == value
    assert not rest


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 'x', 'b': 2,}", {"a": "x", "b": 2}),
        ('{a: 1, "b": None}', {"a": 1, "b": None}),
        ('{"a": 1 "b": 2}', {"a": 1, "b": 2}),
        ('{"a": "x\ny"}', {"a": "x\ny"}),
        ("{'a': 'it's fine'}", {"a": "it's fine"}),
        ('{"a": 1, // note\n "b": 2}', {"a": 1, "b": 2}),
        ('{"a": 1, "b": [1, 2', {"a": 1, "b": [1, 2]}),
        ('{"a": 1, "b', {"a": 1}),
    ],
)
def test_loose_json(text, value):
    assert [read for read, _, _ in objects(f"so: {text}")] == [value]


def test_loose_json_remembers_clashes_and_cuts():
    (read, _, _), *_ = objects('{"a": 1, "a": 2, "b": 3, "b": 3}')
    assert isinstance(read, Record)
    assert read.clashes == {"a"}
    (cut, _, _), *_ = objects('{"a": 1, "b": ')
    assert cut.cut
