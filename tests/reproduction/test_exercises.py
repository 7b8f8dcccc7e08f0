"""Exercises: right and wrong answers are told apart, and none is given away."""

from __future__ import annotations

import re
import tomllib

import pandas as pd
import pytest

from nlgeval_lib import datasets, files, parsers
from nlgeval_lib.scoring import correlations
from reproduction.study import exercises

PATH = files.notebooks() / exercises.NAME
EXERCISES = tomllib.loads(PATH.read_text("utf-8"))
LESSON = (files.notebooks() / "00_start_here.ipynb").read_text("utf-8")


def answer_reader() -> int:
    """How many of the lesson's answers the first number reads wrongly."""
    listed = re.search(r'answers = \[\\n",(.*?)\]\\n"', LESSON, re.DOTALL)
    texts = re.findall(r'\\"(.+?)\\",\\n"', listed[1])
    assert len(texts) == 9
    wrong = 0
    for text in texts:
        careful = parsers.rating(text, 1, 5)
        first = parsers.naive.first_number(text)
        wrong += first.ok and careful.value != first.value
    return wrong


def answer_levels() -> float:
    """What a judge that knows systems alone comes to at the level of inputs."""
    items = datasets.items(datasets.load("mini"))
    lazy = items.groupby("system_id")["human_quality"].transform("mean")
    table = correlations.table(
        items,
        {"lazy": lazy},
        {"gold": "human_quality"},
        coefs=["kendall-b"],
        level="input",
    )
    return table["value"].item()


def test_right_answers_are_right():
    assert exercises.check("reader", answer_reader()).endswith("right.")
    assert exercises.check("levels", answer_levels()).endswith("right.")
    assert exercises.check("conclusion", " Cannot be told ").endswith("right.")


@pytest.mark.parametrize(
    ("exercise", "answer", "words"),
    [
        ("reader", None, "in the place of None"),
        ("reader", 7, "not yet"),
        ("reader", "six", "not yet"),
        ("reader", [6], "a whole number is needed"),
        ("levels", 1.0, "That is the system level"),
        ("levels", 0.5, "groupby"),
        ("levels", pd.NA, "a number is needed"),
        ("conclusion", "yes", "hold the kinds of output fixed"),
    ],
)
def test_wrong_answers_get_a_hint(exercise, answer, words):
    assert words in exercises.check(exercise, answer)


def test_an_unknown_exercise_is_named():
    with pytest.raises(ValueError, match="levels"):
        exercises.check("level", 1)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_lesson_asks_each_and_gives_none_away(exercise):
    assert f'exercises.check(\\"{exercise}\\", answer)' in LESSON
    known = EXERCISES[exercise]
    for digest in (known["right"], *known["hints"]):
        assert re.fullmatch(r"[0-9a-f]{16}", digest)
    assert known["right"] not in known["hints"]
