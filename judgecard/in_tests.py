"""A judge card in a test suite: a plug-in for pytest.

It is there for who names it, `pytest_plugins = ["judgecard.in_tests"]` in a conftest.py
or `pytest -p judgecard.in_tests`; nothing is registered otherwise.

    def test_the_judge_follows_people():
        assert_card("card/card.json", "coherence.kendall.low >= .3")

    @pytest.mark.judge_card("card/card.json", "coherence.kendall.low >= .3")
    def test_the_page(card):
        assert "do not use it" not in card.verdict

`assert_card` asks a card, or a judge whose card it makes. The marker's conditions are
asked before the test's own lines, and the fixture `card` is the marker's card. What was
asked stands in JUnit's file as properties of the test.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import judgecard
from judgecard.conditions import Condition
from judgecard.told import HOLDS, Told, tell

_MARKER = "judge_card"
_running: list[pytest.Item] = []  # the test that is run, whose properties are kept


def assert_card(
    card: Any, *asked: Any, engine: Any = None, **options: Any
) -> judgecard.Card:
    """Fail where a condition does not hold on a card.

    card: a `Card`, or the path of a card.json or its folder; else an evaluator, whose
        card is made of the sets in `asked`.
    asked: conditions, such as "coherence.kendall.low >= .3"; before them, for an
        evaluator alone, names of sets or frames with ratings.
    engine, options: of `judgecard.make_card`, for an evaluator.
    Returns: the card.
    Raises: AssertionError that says of each condition which number and which interval
    it has, whether it is proved not to hold or cannot be told, and how many labels
    would tell; ValueError for a condition that cannot be read, and for a path that
    leads nowhere, with the names near it; InputError as `judgecard.read`.
    """
    __tracebackhide__ = True
    conditions = [words for words in asked if _is_condition(words)]
    sets = [data for data in asked if not _is_condition(data)]
    if not conditions:
        # of texts that are none, this says the form
        Condition.read(str(sets[-1]) if sets else "")
    if isinstance(card, str | Path):
        card = _shortly(judgecard.read, card)
    if not isinstance(card, judgecard.Card):
        card = judgecard.make_card(card, sets, engine, **options)
    elif sets:
        Condition.read(str(sets[0]))
        raise ValueError("a card has its data; sets are for a judge that is asked")
    answers = []
    for text in conditions:
        answers.append(_shortly(tell, text, card.numbers))
    if _running:
        _running[-1].user_properties.extend(_properties(answers))
    failing = [answer.words for answer in answers if answer.outcome != HOLDS]
    if failing:
        raise AssertionError("\n".join([str(card.numbers["title"]), *failing]))
    return card


def _shortly(ask: Callable[..., Any], *values: Any) -> Any:
    """What a function says of values; an error of it shows the test's line alone."""
    __tracebackhide__ = True
    try:
        return ask(*values)
    except (ValueError, OSError) as error:
        raise error.with_traceback(None) from None


def _is_condition(words: Any) -> bool:
    """Whether it is a text with a comparison in it; no set's name has one."""
    return isinstance(words, str) and any(sign in words for sign in "<>=!")


def _properties(answers: list[Told]) -> Iterator[tuple[str, str]]:
    """What JUnit's file has of each condition: the number, interval and outcome."""
    for answer in answers:
        words = answer.outcome
        if not math.isnan(answer.number):
            words = f"{answer.number:.6g}, {words}"
        if not math.isnan(answer.low):
            words += f", interval {answer.low:.6g} to {answer.high:.6g}"
        condition = answer.condition
        yield f"{condition.path} {condition.op} {condition.number:g}", words


# -- what pytest calls


@pytest.fixture
def card(request: pytest.FixtureRequest) -> judgecard.Card:
    """The card that the test's marker `judge_card` names."""
    marker = request.node.get_closest_marker(_MARKER)
    if marker is None:
        pytest.fail(
            "the fixture card needs a marker: "
            f'@pytest.mark.{_MARKER}("card/card.json")',
            pytrace=False,
        )
    return _read(marker.args[0])


@functools.cache
def _read(path: str | Path) -> judgecard.Card:
    """A card, read once a run."""
    return judgecard.read(path)


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest of the marker."""
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(path, *conditions): conditions that hold on a judge's card",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Ask the conditions of the test's markers, then run the test."""
    __tracebackhide__ = True
    _running.append(item)
    try:
        for marker in item.iter_markers(_MARKER):
            path, *conditions = marker.args
            if conditions:
                assert_card(_read(path), *conditions)
        return (yield)
    finally:
        _running.pop()
