"""Ratings out of free text: a table of traps, the contract of the result, errors."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest

from nlgeval_lib import parsers
from nlgeval_lib.records import Judgment, Status

CASES = [
    json.loads(line) for line in (Path(__file__).parent / "cases" / "rating.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_trap(case):
    read = parsers.rating(case["text"], case["low"], case["high"], case.get("label"))
    expected = case["expect"]
    if isinstance(expected, str):
        assert read.status == Status(expected), read
    elif expected is None:
        assert not read.ok, read
    else:
        assert read.ok, read
        assert read.value == pytest.approx(expected)


def test_the_table_covers_every_family():
    families = {case["id"].rpartition(" ")[0] for case in CASES}
    assert len(CASES) >= 500
    assert len(families) >= 30
    assert len({case["id"] for case in CASES}) == len(CASES)


def test_result_says_what_was_read_and_how():
    read = parsers.rating("Good flow. **Score:** 4/5", 1, 5)
    assert (read.value, read.status, read.reason, read.rule) == (4.0, Status.OK, "", "label")
    assert (read.low, read.high, read.label) == (1.0, 5.0, "")
    assert "4/5" in read.matched
    with pytest.raises(dataclasses.FrozenInstanceError):
        read.value = 5.0


def test_missing_has_nan_a_status_and_a_reason():
    read = parsers.rating("Score: 9", 1, 5)
    assert math.isnan(read.value)
    assert read.status is Status.OUT_OF_RANGE
    assert read.reason == "9 is outside 1 to 5"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
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


def test_judgment_carries_value_status_and_rule():
    read = parsers.rating("Score: 4", 1, 5)
    judgment = read.judgment(feedback="fine")
    assert judgment == Judgment(4.0, Status.OK, "", {"rule": "label", "feedback": "fine"})
    missing = parsers.rating("N/A", 1, 5).judgment()
    assert math.isnan(missing.value)
    assert missing.status is Status.REFUSED


@pytest.mark.parametrize("text", [4, b"4", ["4"], 4.0])
def test_other_than_text_is_a_type_error(text):
    with pytest.raises(TypeError, match=type(text).__name__):
        parsers.rating(text, 1, 5)


@pytest.mark.parametrize(
    ("low", "high"), [(5, 1), (1, 1), (True, 5), (1, True), (1, math.nan), (-math.inf, 1), ("1", 5), (1, None)]
)
def test_a_bad_scale_is_a_value_error(low, high):
    with pytest.raises(ValueError, match=r"low|high"):
        parsers.rating("4", low, high)


@pytest.mark.parametrize("label", ["", "  ", 3])
def test_a_blank_label_is_a_value_error(label):
    with pytest.raises(ValueError, match="label"):
        parsers.rating("4", 1, 5, label)


LONG = {
    "digits": "1" * 300_000,
    "numbers": "1 " * 150_000,
    "braces": "{" * 300_000,
    "open records": '{"a":' * 60_000,
    "quotes": '"' * 300_000,
    "blanks before": " " * 300_000 + "Score: 4",
    "newlines": "\n" * 300_000,
    "negations": "not a " * 50_000,
    "scales": "on a scale of 1 to 5 " * 15_000,
    "scores": "Score: 1\n" * 30_000,
    "tags": "<score>" * 40_000,
    "latex": "\\boxed{" * 40_000,
    "corrections": "Score: 3 " + "wait, 4 " * 40_000,
    "points to be had": "total points: 5\n" * 6_000,
    "sums": "score: 1+" * 30_000,
    "reasoning": "<think>" * 40_000,
    "stars": "★★☆" * 60_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_long_hostile_text_is_read_in_bounded_work(text):
    for label in (None, "Coherence"):
        read = parsers.rating(text, 1, 5, label)
        assert read.ok or read.reason


def test_a_verdict_at_either_end_of_ten_million_characters():
    filler = "lorem ipsum " * 850_000
    assert parsers.rating(f"Score: 4\n{filler}", 1, 5).value == 4.0
    assert parsers.rating(f"{filler}\nScore: 4", 1, 5).value == 4.0
