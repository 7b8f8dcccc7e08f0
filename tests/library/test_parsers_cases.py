"""The parsers on tables of cases (`cases/rating.jsonl`, `parsers.jsonl`), their
contract, and texts that explode.
"""

from __future__ import annotations

import dataclasses
import json
import math
import operator
import re
from pathlib import Path

import pytest

from nlgeval_lib import parsers
from nlgeval_lib.parsers.normalise import Record, objects
from nlgeval_lib.records import Judgment, Status

FOLDER = Path(__file__).parents[1] / "cases"


def cases(name: str) -> list[dict]:
    return [
        json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()
    ]


RATINGS = cases("rating.jsonl")
OTHERS = cases("parsers.jsonl")


def right(read, expected) -> bool:
    """Whether a reading is the expected value, status, or (None) missing with a
    reason.
    """
    if isinstance(expected, str) and expected in set(Status):
        return read.status == Status(expected)
    if expected is None:
        return not read.ok and bool(read.reason)
    return read.ok and (
        read.value == expected
        if isinstance(expected, str)
        else math.isclose(read.value, expected)
    )


def test_ratings_are_read_and_never_wrong():
    """No case may read as another number; few may be missing."""
    assert len({case["id"] for case in RATINGS}) == len(RATINGS) >= 2800
    reads = [
        parsers.rating(case["text"], case["low"], case["high"], case.get("label"))
        for case in RATINGS
    ]
    pairs = [
        (case, read, right(read, case["expect"]))
        for case, read in zip(RATINGS, reads, strict=True)
    ]
    # a known limit stands in the table until it is gone
    assert not [
        (case["id"], read)
        for case, read, fine in pairs
        if (fine or not read.ok) == ("limit" in case)
    ]
    assert sum(fine for *_, fine in pairs) / len(RATINGS) >= 0.965


@pytest.mark.parametrize("parser", sorted({case["parser"] for case in OTHERS}))
def test_cases_of_the_other_parsers(parser):
    """One test a parser: two thousand would take a minute more."""
    wrong = []
    for case in OTHERS:
        try:
            if case["parser"] == parser:
                check(case)
        except AssertionError as error:
            wrong.append(f"{case['id']}: {error}")
    assert not wrong, "\n".join(wrong)


def check(case):
    read = operator.attrgetter(case["parser"])(parsers)(
        case["text"], **case.get("options", {})
    )
    if "expect" in case:
        assert right(read, case["expect"]) != ("limit" in case), read
    if (
        "agrees" in case
        and not isinstance(case["expect"], str)
        and case["expect"] is not None
    ):
        assert read.agrees is case["agrees"]
        assert math.copysign(1.0, read.value) == (1.0 if case["expect"] == 0 else -1.0)
    if "feedback" in case:
        assert read.feedback == case["feedback"]
    if "names" in case:
        names = case["names"]
        assert read.names == tuple(names)
        assert (
            not isinstance(names, dict)
            or {one.name: one.definition for one in read.value} == names
        )
    if "tree" in case:
        assert {
            top.name: [child.name for child in top.children] for top in read.value
        } == case["tree"]
    if "scores" in case:
        assert {
            name: None if math.isnan(score) else score
            for name, score in read.scores.items()
        } == case["scores"]
        assert read.status == Status(case.get("status", "ok")), read
        assert set(read.reasons) == {
            name for name, score in case["scores"].items() if score is None
        }
    if "choice" in case:
        assert (read.choice or None) == case["choice"], read
        assert read.ok or read.reason


def test_result_says_what_was_read_and_how():
    read = parsers.rating("Good flow. **Score:** 4/5", 1, 5)
    assert (read.value, read.status) == (4.0, Status.OK)
    assert (read.reason, read.rule) == ("", "label")
    assert "4/5" in read.matched
    with pytest.raises(dataclasses.FrozenInstanceError):
        read.value = 5.0
    judgment = parsers.rating("Score: 4", 1, 5).judgment(feedback="fine")
    assert judgment == Judgment(
        4.0, Status.OK, "", {"rule": "label", "feedback": "fine"}
    )
    missing = parsers.rating("N/A", 1, 5).judgment()
    assert math.isnan(missing.value) and missing.status is Status.REFUSED


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Score: 9", "9 is outside 1 to 5"),
        ("Score: 3-4", "more than one number"),
        ("Score: 8/10", "scale up to 10"),
        ("Score: 4\nScore: 3", "different verdicts: 3, 4"),
        ("Grammar: 3\nStyle: 5", "several labels and none overall: grammar 3, style 5"),
        ("I would have given it a 5.", "hypothetical"),
        ("I do not rate it a 5.", "negated"),
        ("The text says that they won.", "no number is presented"),
    ],
)
def test_reason_names_the_trap(text, reason):
    assert reason in parsers.rating(text, 1, 5).reason


def test_trace_tells_each_number_and_why():
    told = "\n".join(
        parsers.trace("I do not rate it a 5. They won 3-1.\nScore: 4/5", 1, 5)
    )
    assert "phrase (rate it); the number is negated" in told
    assert "label (label); won" in told
    assert told.endswith("verdict  4: label")
    assert parsers.trace("", 1, 5) == ["verdict  empty: no text"]


SCALES = [(5, 1), (1, 1), (True, 5), (1, True), (1, math.nan), (-math.inf, 1), ("1", 5)]
WRONG_CALLS = [
    *(("rating", (text, 1, 5), TypeError, type(text).__name__) for text in (4, b"4")),
    *(("rating", ("4", *scale), ValueError, "low|high") for scale in SCALES),
    ("rating", ("4", 1, None), ValueError, "high"),
    *(("rating", ("4", 1, 5, label), ValueError, "label") for label in ("", "  ", 3)),
    ("feedback", ("x", 1, 5, "loose"), ValueError, "strict"),
    ("feedback", (5,), TypeError, "int"),
    ("error_analysis", ([],), TypeError, "list"),
    ("preference", (3,), TypeError, "preference"),
    ("yes_no", (b"yes",), TypeError, "yes_no"),
    ("aspect_scores", ("x", [], 1, 5), ValueError, "aspect"),
    ("aspect_scores", ("x", ["A", "a"], 1, 5), ValueError, "aspect"),
    ("aspect_scores", ("x", [""], 1, 5), ValueError, "aspect"),
    ("aspect_scores", ("x", "Relevance", 1, 5), TypeError, "aspect"),
    ("multiple_choice", ("A", "AB"), TypeError, "choice"),
    ("multiple_choice", ("A", ("A",)), ValueError, "choice"),
    ("multiple_choice", ("A", ("A", "a")), ValueError, "choice"),
    ("multiple_choice", ("A", {"A": 1, "B": math.nan}), ValueError, "choice"),
    ("naive.authors_llm_summeval", ("4", "star"), ValueError, "rts, stareval, mcq"),
    ("nothing", (), AttributeError, "rating"),
]


@pytest.mark.parametrize(("parser", "given", "error", "says"), WRONG_CALLS)
def test_a_wrong_call_says_so(parser, given, error, says):
    with pytest.raises(error, match=says):
        operator.attrgetter(parser)(parsers)(*given)


HEAD = "The model-generated output contains {} errors, with a total score reduction of {}.\n"
ERROR = (
    'Error location {0}: "a"\nError aspect {0}: Fluency\nExplanation {0}: b\nSeverity {0}: {1}\n'
    "Score reduction {0}: {2}\n"
)


def test_errors_keep_their_fields():
    read = parsers.error_analysis(
        HEAD.format(2, 9) + ERROR.format(1, "Major", 4) + ERROR.format(2, "Minor", 2)
    )
    first, second = read.errors
    assert (first.location, first.aspect) == ('"a"', "Fluency")
    assert (first.explanation, first.severity) == ("b", "Major")
    assert (first.reduction, first.penalty, first.number) == (4.0, -4.0, 1)
    assert second.severity == "Minor"
    assert (read.header_errors, read.header_total, read.agrees) == (2, 9.0, False)
    broken = parsers.error_analysis(HEAD.format(3, 12) + ERROR.format(1, "Major", 4))
    assert [error.penalty for error in broken.errors] == [-4.0]
    assert broken.reason == "3 errors are announced, 1 are listed"
    odd = (
        HEAD.format(1, 1)
        + "Error location 1: „Ein – Kind“ ４\nSeverity 1: Minor\nScore reduction 1: 1\n"
    )
    assert parsers.error_analysis(odd).errors[0].location == "„Ein – Kind“ ４"


def test_errors_by_severity_and_the_published_decoder():
    assert parsers.instructscore(ERROR.format(1, "Major", "?")).value == -5.0
    assert not parsers.instructscore(ERROR.format(1, "Major or Minor", 2)).ok
    half = parsers.tigerscore_authors(
        HEAD.format(1, 4.5) + ERROR.format(1, "Major", 4.5)
    )
    assert (half.value, half.header_total) == (-4.0, 4.5)
    below = parsers.tigerscore_authors(
        HEAD.format(1, 4) + ERROR.format(1, "Major", 4).replace(": b", ": \nb")
    )
    assert below.reason == "a field's content is not on its label's line"
    assert not parsers.tigerscore_authors(ERROR.format(1, "Major", 4)).ok


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1, "b": [1, "x", None, {"c": True}]},
        [],
        {},
        {"a": 'it\'s "so"\n'},
        [[[1.5]]],
        {"é": "ü"},
    ],
)
def test_loose_json_reads_what_json_reads(value):
    assert [read for read, _, _ in objects(json.dumps(value))] == [value]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 'x', 'b': 2,}", {"a": "x", "b": 2}),
        ('{a: 1, "b": None}', {"a": 1, "b": None}),
        ('{"a": 1 "b": 2}', {"a": 1, "b": 2}),
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
    assert isinstance(read, Record) and read.clashes == {"a"}
    assert next(objects('{"a": 1, "b": '))[0].cut


def test_a_verdict_at_either_end_of_ten_million_characters():
    filler = "lorem ipsum " * 850_000
    assert parsers.rating(f"Score: 4\n{filler}", 1, 5).value == 4.0
    assert parsers.rating(f"{filler}\nScore: 4", 1, 5).value == 4.0


# what regular expressions stumble over: 100 kB of each once took ten seconds and more

UNITS = [
    "(1-5) ",
    "1. ",
    " ",
    "[",
    "(",
    "|",
    "| ",
    "1",
    "1 ",
    "Score: ",
    "not a ",
    '"',
    "{",
    '{"a":',
    "\n- ",
    "--|",
    "on a scale of 1 to 5 ",
    "Error location 1: x\n",
    "score: 1+",
    "a ",
    "A: b. ",
    "<score>",
    "out of 5 ",
    "if ",
    "the score of ",
    "1/5 ",
    "wait, 4 ",
    "no errors ",
    "rate it ",
    "[[a]] ",
    "from 1 to 5 ",
    ". ",
    ".\n\n",
    "# a\n",
    "it gets a a, ",
    "score: 4. ",
    "fluency of the ",
    "? no. ",
    ": a\n",
    "> ",
    '"a is better" ',
    "response 1 ",
    "gives ",
    "I. ",
    "wait, " + "no thing is long " * 60,
]

READERS = {
    "rating": lambda text: parsers.rating(text, 1, 5),
    "rating, label": lambda text: parsers.rating(text, 1, 5, "Coherence"),
    "feedback": parsers.feedback,
    "feedback, strict": lambda text: parsers.feedback(text, 1, 5, "strict"),
    "error_analysis": parsers.error_analysis,
    "tigerscore_authors": parsers.tigerscore_authors,
    "criteria": parsers.criteria,
    "aspect_scores": lambda text: parsers.aspect_scores(text, ["Coherence"], 1, 5),
    "preference": parsers.preference,
    "yes_no": parsers.yes_no,
    "multiple_choice": lambda text: parsers.multiple_choice(text, ("A", "B")),
}


@pytest.mark.timeout(30)
@pytest.mark.parametrize("unit", UNITS)
def test_a_long_text_is_read_to_its_end(unit):
    """Twenty kilobytes of what a pattern could try in many ways: a parser that did
    would not come back in time.
    """
    body = unit * (20_000 // len(unit))
    for text in (body, f"Score {body}: 4"):
        for name, read in READERS.items():
            assert isinstance(read(text).status, Status), name


def test_no_pattern_is_of_a_form_that_python_3_11_2_matches_wrongly():
    """Groups repeated possessively, `(...)*+`: an atomic group says the same."""
    possessive = re.compile(r"\)[*+?]\+")
    for path in sorted(Path(parsers.__file__).parent.rglob("*.py")):
        assert not possessive.search(path.read_text(encoding="utf-8")), path.name
