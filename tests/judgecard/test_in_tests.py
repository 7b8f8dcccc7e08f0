"""The plug-in for pytest and the answers behind it, on a card of the tests' own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from judgecard import Card, told
from judgecard.in_tests import assert_card

pytest_plugins = ["pytester"]


def cell(value: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    """A number of a card, with the intervals for other systems and for these."""
    return {
        "value": value,
        "low": low,
        "high": high,
        "low_these": low,
        "high_these": high,
        "n": 400,
    }


def numbers(**more: Any) -> dict[str, Any]:
    """What card.json has, of one set of 10 systems and 40 inputs, and further sets."""
    levels = {"kendall": cell(0.5, 0.1, 0.7), "pearson": {"reason": "constant"}}
    graded = {
        "kind": "graded",
        "title": "Own",
        "inputs": 40,
        "systems": 10,
        "outputs": 400,
        "aspects": {"coherence": {"n": 400, "dataset": levels, "input": levels}},
    }
    flat = {**graded, "aspects": {"wit": {"n": 400, "dataset": levels}}}
    pairs = {"kind": "pairs", "pairs": 50, "accuracy": cell(0.8, 0.6, 0.9)}
    sets = {"own": graded, "flat": flat, "pairs": pairs}
    return {"title": "A judge", "sets": {"own": sets["own"]}, **more} | {
        "all": sets,
    }


def of_all() -> dict[str, Any]:
    found = numbers()
    found["sets"] = found.pop("all")
    return found


@pytest.mark.parametrize(
    ("text", "outcome", "words"),
    [
        ("coherence.kendall.low >= .1", told.HOLDS, "it is 0.1"),
        (
            "coherence.kendall.low >= .3",
            told.UNTOLD,
            "about 40 systems and 160 inputs would tell, instead of 10 systems and ",
        ),
        (
            "coherence.kendall.low_these >= .3",
            told.UNTOLD,
            "about 160 inputs would tell, instead of 40 inputs",
        ),
        ("coherence.kendall.low >= .71", told.PROVED, "[0.100, 0.700]"),
        ("coherence.kendall >= .6", told.UNTOLD, "wrong side of the bar"),
        ("coherence.kendall.high <= .6", told.UNTOLD, "about 40 systems"),
        ("coherence.kendall.high < .05", told.PROVED, "more labels do not help"),
        ("own.coherence.input.kendall.low > 0", told.HOLDS, "it is 0.1"),
        ("coherence.pearson.low > 0", told.MISSING, "there is no number: constant"),
        ("coherence.n >= 401", told.FAILS, "it is 400"),
        ("coherence.kendall.n >= 400", told.HOLDS, "it is 400"),
    ],
)
def test_what_a_card_says_of_a_condition(text: str, outcome: str, words: str) -> None:
    found = told.tell(text, numbers())
    assert found.outcome == outcome
    assert words in found.words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("flat.wit.kendall.low >= .3", "about 1,600 outputs would tell"),
        ("pairs.accuracy.low >= .7", "about 200 pairs would tell"),
    ],
)
def test_what_must_be_more_is_what_the_set_has(text: str, words: str) -> None:
    assert words in told.tell(text, of_all()).words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("coherance.kendall.low >= .3", "did you mean 'coherence'"),
        ("coherence.kendal.low >= .3", "did you mean 'kendall'"),
        ("coherence.kendall.lower >= .3", "did you mean 'low'"),
        ("__import__('os') >= 1", "has no \"__import__('os')\""),
        ("coherence.kendall.low", "is no condition"),
        ("coherence.kendall.low >= 3 + 1", "is no condition"),
    ],
)
def test_a_condition_that_cannot_be_asked(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        told.tell(text, numbers())
    assert message in str(caught.value)


def test_with_several_sets_the_set_is_asked_for() -> None:
    with pytest.raises(ValueError, match=r"Write pairs\.accuracy\.low"):
        told.tell("accuracy.low >= .3", of_all())


def test_all_failing_conditions_are_told_together() -> None:
    conditions = ["coherence.kendall.low >= .3", "coherence.n >= 1000"]
    with pytest.raises(AssertionError) as caught:
        assert_card(Card(numbers()), "coherence.n >= 1", *conditions)
    lines = str(caught.value).splitlines()
    assert lines[0] == "A judge"
    assert lines[1].startswith("own.coherence.kendall.low >= 0.3 cannot be told")
    assert lines[-1] == "own.coherence.n >= 1000 does not hold: it is 400"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["summeval", "coherence.n >= 1"], "is no condition"),
        ([], "is no condition"),
        (["coherence"], "is no condition"),
    ],
)
def test_a_card_is_asked_conditions_alone(asked: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        assert_card(Card(numbers()), *asked)


# -- as pytest runs it

SUITE = """
import pytest
from judgecard.in_tests import assert_card

def test_asked():
    assert_card("card", "coherence.kendall.low >= .3")

def test_misspelt():
    assert_card("card", "coherance.kendall.low >= .3")

@pytest.mark.judge_card("card", "coherence.kendall.low >= .1")
def test_marked(card):
    assert card.numbers["title"] == "A judge"

@pytest.mark.judge_card("card/card.json", "coherence.kendall.low >= .8")
def test_marked_too_high():
    raise OSError("a condition that fails comes first")

def test_without_a_marker(card):
    pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a card and tests that ask it."""
    monkeypatch.setattr("judgecard.cards.shape.check", lambda numbers: None)
    folder = pytester.mkdir("card")
    content = json.dumps({"schema": "nlgeval-card/1", **numbers()})
    folder.joinpath("card.json").write_text(content)
    pytester.makeini("[pytest]\naddopts = --strict-markers -p no:cacheprovider")
    pytester.makepyfile(SUITE)
    return Path(pytester.path)


def test_a_suite_that_names_the_plug_in(suite: Path, pytester: pytest.Pytester) -> None:
    ran = pytester.runpytest_inprocess(
        "-p", "judgecard.in_tests", "-p", "no:xdist", "--junitxml=found.xml"
    )
    ran.assert_outcomes(passed=1, failed=3, errors=1)
    ran.stdout.fnmatch_lines(
        [
            "*A judge",
            "*own.coherence.kendall.low >= 0.3 cannot be told: it is 0.1, *",
            "*about 40 systems and 160 inputs would tell*",
        ]
    )
    ran.stdout.fnmatch_lines(["*>= 0.8 proved not to hold: it is 0.1, *"])
    ran.stdout.fnmatch_lines(["*needs a marker*judge_card*"])
    ran.stdout.fnmatch_lines(["*has no 'coherance'; did you mean 'coherence'*"])
    ran.stdout.no_fnmatch_line("*conditions.py*")
    found = ElementTree.parse(suite / "found.xml").iter("property")
    properties = {row.attrib["name"]: row.attrib["value"] for row in found}
    assert properties == {
        "own.coherence.kendall.low >= 0.3": (
            "0.1, cannot be told, interval 0.1 to 0.7"
        ),
        "own.coherence.kendall.low >= 0.1": "0.1, holds, interval 0.1 to 0.7",
        "own.coherence.kendall.low >= 0.8": (
            "0.1, proved not to hold, interval 0.1 to 0.7"
        ),
    }


def test_a_suite_that_does_not_name_it_has_none_of_it(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\naddopts = --strict-markers")
    plain = pytester.runpytest_inprocess("--markers").stdout.str()
    named = pytester.runpytest_inprocess("--markers", "-p", "judgecard.in_tests")
    assert "judge_card(" in named.stdout.str()
    assert "judge_card(" not in plain
