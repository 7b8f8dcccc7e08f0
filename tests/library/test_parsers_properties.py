"""Properties: no parser raises or leaves the scale, no number comes from nowhere,
dress does not matter.
"""

from __future__ import annotations

import itertools
import math
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nlgeval_lib import parsers
from nlgeval_lib.records import Status

FRAGMENTS = [
    "Score: ",
    "Rating: ",
    "[RESULT] ",
    "4",
    "3.5",
    "out of 5",
    "/5",
    "/10",
    "\n",
    "- ",
    "**",
    '{"score": ',
    "}",
    "[",
    "]",
    "Overall",
    "Coherence: ",
    "would have been a ",
    "not a ",
    "5 stars",
    "1. ",
    "2) ",
    "(1-5)",
    " on a scale of 1 to 5 ",
    "four",
    "one",
    "-",
    "−",
    "４",
    "٤",
    "½",
    "²",
    "\ud800",
    "\x00",
    "\u200b",
    "I cannot rate",
    "As an AI",
    "```json",
    "'",
    "Error location 1: ",
    "Score reduction 1: ",
    "Severity 1: Major",
    '"',
    ":",
    "=",
    "|",
    "\\boxed{",
    "$",
    "%",
    "1,000",
    "contains 2 errors, with a total score reduction of 6",
    "NaN",
    "inf",
    "1e5",
    "A",
    "B",
    "Response A is better",
    "yes",
    "no",
    "Answer: ",
    "\r\n",
    "\\n",
    "💥",
    "#",
    "Fluency",
    ", definition: ",
    "if ",
]

SCALES = ((1, 5), (0, 1), (0, 100), (-5, 0), (1, 3), (1, 10))

pieces = st.lists(
    st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=12)), max_size=25
).map("".join)
texts = st.one_of(st.text(max_size=300), pieces)
many = settings(
    max_examples=400, deadline=None, suppress_health_check=list(HealthCheck)
)

NUMBER_WORD = re.compile(
    r"zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|teen|twenty|thirty|forty|fifty|sixty|seventy|"
    r"eighty|ninety|hundred",
    re.I,
)


def scored(text: str, low: float, high: float):
    """Every reading of a text that has a scale."""
    yield parsers.rating(text, low, high)
    yield parsers.rating(text, low, high, "Coherence")
    yield parsers.feedback(text, low, high)
    yield parsers.feedback(text, low, high, "strict")


@many
@given(texts)
def test_no_value_off_the_scale_and_a_reason_without_one(text):
    for low, high in SCALES:
        for read in scored(text, low, high):
            if read.ok:
                assert isinstance(read.value, float)
                assert low <= read.value <= high
                assert read.reason == ""
            else:
                assert math.isnan(read.value)
                assert read.reason
                assert isinstance(read.status, Status)


@many
@given(texts)
def test_no_parser_raises(text):
    for name in ("error_analysis", "instructscore", "tigerscore_authors"):
        read = getattr(parsers, name)(text)
        assert not read.ok or (math.isfinite(read.value) and read.value <= 0)
    for name in ("aspects", "criteria", "preference"):
        read = getattr(parsers, name)(text)
        assert read.ok == (read.value is not None)
    scores = parsers.aspect_scores(text, ["Coherence", "Overall Quality"], 1, 5)
    assert all(math.isnan(score) or 1 <= score <= 5 for score in scores.scores.values())
    picked = parsers.multiple_choice(text, {"A": 1, "B": 2})
    assert picked.value in (1, 2) or not picked.ok
    assert parsers.yes_no(text).value in (0.0, 1.0) or not parsers.yes_no(text).ok
    for name in ("first_number", "last_number", "authors_acloserlook"):
        read = getattr(parsers.naive, name)(text)
        assert read.ok or read.reason
    for form in ("rts", "stareval", "mcq"):
        read = parsers.naive.authors_llm_summeval(text, form)
        assert read.ok or read.reason


def without_numbers(text: str) -> str:
    return NUMBER_WORD.sub(
        "x", "".join(character for character in text if not character.isnumeric())
    )


@many
@given(
    texts.map(without_numbers).filter(lambda text: not NUMBER_WORD.search(text)),
    st.sampled_from(SCALES),
)
def test_without_number_and_number_word_there_is_no_number(text, scale):
    """Whatever the scale: a text that names none has no use for it."""
    for read in scored(text, *scale):
        assert not read.ok


SCORES = ["1", "2", "3", "4", "5", "1.5", "2.0", "3.5", "4.25"]

DRESSES = [
    "{0}",
    "Score: {0}",
    "Score: {0}/5",
    "{0} out of 5",
    "**Score:** {0}",
    "**{0}**",
    "[[{0}]]",
    "<score>{0}</score>",
    "\\boxed{{{0}}}",
    "[RESULT] {0}",
    "Overall score: {0}.",
    "Rating: {0} - fine",
    "Score (1-5): {0}",
    "- {0}",
    "I would rate this a {0}.",
    "The score is {0}.",
    '{{"score": {0}}}',
    "{{'rating': '{0}'}}",
    "Score:\n{0}",
    "It earns a score of {0} out of 5 because it is fine.",
    "# Rating\n\n{0}",
    "{0} stars",
]


@pytest.mark.parametrize("dress", DRESSES)
def test_a_score_survives_every_dress(dress):
    for score, before, after in itertools.product(
        SCORES, ["", " ", "\n", "\r\n", "\u00a0"], ["", "\n", "  \n"]
    ):
        read = parsers.rating(before + dress.format(score) + after, 1, 5)
        assert read.value == float(score), read
    for score in SCORES:
        wide = score.translate({ord(str(digit)): 0xFF10 + digit for digit in range(10)})
        if "[[" not in dress:
            assert parsers.rating(dress.format(wide), 1, 5).value == float(score)


TRAPS = [
    "They won 3-1.",
    "On 4/5 it rained.",
    "In 2014 it cost $3 million.",
    "At 3:30 it ended.",
    "It is not a 5.",
    "It would have been a 5 with sources.",
    "To earn a 5 it needs more.",
    "It has 3 sentences and 2 errors.",
    "GPT-4 wrote it.",
    "See section 2.",
    "It covers 4 out of 5 facts.",
    "1. It is short.\n2. It is clear.",
    "That is 8/10 elsewhere.",
    "Grammar: 2\nStyle: 5",
]


@many
@given(
    st.sampled_from(SCORES),
    st.lists(st.sampled_from(TRAPS), max_size=4),
    st.lists(st.sampled_from(TRAPS), max_size=4),
)
def test_traps_around_a_verdict_change_nothing(score, before, after):
    for verdict in (
        f"Overall score: {score}",
        f"Score: {score}",
        f"I rate it a {score}.",
        f'{{"score": {score}}}',
    ):
        read = parsers.rating("\n".join([*before, verdict, *after]), 1, 5)
        assert read.value == float(score), read
        marked = parsers.feedback(
            "\n".join([*before, verdict, *after, f"[RESULT] {score}"])
        )
        assert marked.value == float(score), marked


@many
@given(
    st.lists(
        st.tuples(st.sampled_from(["Major", "Minor"]), st.integers(1, 10)), max_size=6
    ),
    st.text("abc é\"'", max_size=9),
)
def test_an_error_analysis_sums_up(errors, location):
    total = sum(half / 2 for _, half in errors)
    text = f"The model-generated output contains {len(errors)} errors, with a total score reduction of {total}.\n"
    for number, (severity, half) in enumerate(errors, 1):
        text += (
            f"Error location {number}: x{location}\nError aspect {number}: A\nExplanation {number}: b\n"
            f"Severity {number}: {severity}\nScore reduction {number}: {half / 2}\n"
        )
    read = parsers.error_analysis(text)
    assert read.value == -total
    assert read.agrees
    assert [error.severity for error in read.errors] == [
        severity for severity, _ in errors
    ]
    cut = parsers.error_analysis(
        text[: text.rfind("Score reduction")] if errors else text[:20]
    )
    assert not cut.ok
