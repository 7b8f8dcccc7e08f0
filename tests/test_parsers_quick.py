"""The quick checks of the parsers: whatever a rule matches passes the check before it, and a short cut ends alike."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nlgeval_lib import parsers
from nlgeval_lib.parsers import cues, doubt_cues, error_fields, mentions, quick, scales, silence, standing, text
from nlgeval_lib.parsers.ratings import _decide, prepare
from nlgeval_lib.records import Status

few = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
many = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

GATED = {
    f"{module.__name__.rpartition('.')[2]}.{name}{place}": one
    for module in (cues, doubt_cues, scales, silence)
    for name, value in vars(module).items()
    for place, one in enumerate(value if isinstance(value, tuple) else [value])
    if isinstance(one, quick.Gated)
}
# a pattern for what stands before a number, and the check that decides whether it is tried
CHECKED = {
    "link": (cues.NOUN_LINK, lambda core: cues.before_fill(core)[0].endswith(cues.LINKS)),
    "direct": (cues.NOUN_DIRECT, lambda core: core.rstrip().endswith(cues.NOUNS)),
    "verb": (cues.VERB, lambda core: cues.before_fill(core)[1] or cues.before_fill(core)[0] in cues.VERB_ENDS),
    "verb direct": (cues.VERB_DIRECT, lambda core: cues.before_fill(core)[0].endswith(cues.VERB_DIRECT_ENDS)),
    "verb bare": (cues.VERB_BARE, lambda core: cues.before_fill(core)[0].endswith(cues.VERB_BARE_ENDS)),
    "copula": (cues.COPULA, lambda core: cues.before_fill(core)[1]),
    "quality": (cues.QUALITY, lambda core: cues.before_fill(core)[0].endswith(cues.QUALITY_ENDS)),
    "bracket": (cues.QUALITY_BRACKET, lambda core: core.rstrip().endswith("(")),
    "no label's end": (doubt_cues.BOUND.pattern, lambda core: core.rstrip()[-1] not in ":="),
    "no label's end, negated": (doubt_cues.NEGATED.pattern, lambda core: core.rstrip()[-1] not in ":="),
    "value words": (standing._VALUE_WORDS, lambda core: core.rstrip()[-1] in "(-"),
    "scale": (scales._SCALE, scales._SCALE_AHEAD.search),
    "scale behind": (scales._SUFFIX, scales._suffixed),
    "points": (scales._POINT, scales._POINT_AHEAD.search),
    "at a cue": (
        silence._AT_CUE,
        lambda tail: tail.rstrip()[-1:].isalnum() or tail.rstrip()[-1:] in silence._OPEN_SIGNS,
    ),
    "open end": (
        silence._OPEN_END,
        lambda tail: tail.rstrip()[-1:].isalnum() or tail.rstrip()[-1:] in silence._OPEN_SIGNS,
    ),
}


def test_the_tables_are_not_empty():
    assert len(GATED) >= 12
    assert len({id(pattern) for pattern, _ in CHECKED.values()}) >= 14


@pytest.mark.parametrize("gated", GATED.values(), ids=GATED)
def test_every_match_holds_a_needed_word(gated):
    @few
    @given(st.from_regex(gated.pattern))
    def check(found):
        assert gated.search(found), found
        assert gated.search(found, text.words_of(found)), found

    check()


@pytest.mark.parametrize(("pattern", "check"), CHECKED.values(), ids=CHECKED)
def test_every_match_passes_its_check(pattern, check):
    @few
    @given(st.from_regex(pattern))
    def passes(found):
        assert check(found), found

    passes()


WORDS = ["i", "we", "from", "afrom", "to", "score", "escore", "é", "_", " ", "1", "-", "between", "."]


@many
@given(st.lists(st.sampled_from(WORDS), max_size=12).map("".join))
def test_starting_is_a_word_boundary(mixed):
    for words in (("i", "we"), ("from", "between"), ("score",)):
        plain = re.finditer(rf"\b(?:{'|'.join(words)})", mixed)
        assert [m.span() for m in re.finditer(quick.starting(*words), mixed)] == [m.span() for m in plain]


def test_any_case_knows_every_letter_that_ignorecase_takes_for_another():
    letters = re.findall("[a-z]", "".join(map(chr, range(0x110000))), re.IGNORECASE)
    assert len(letters) == 52 + len(quick._SAME_LETTER)
    for letter in letters:
        same = quick.any_case(letter)
        assert same in string.ascii_lowercase
        assert re.fullmatch(same, letter, re.IGNORECASE)


NUMBERS = st.one_of(
    st.sampled_from([*text.WORDS, "hundred", "a hundred", "twenty-one", "tone", "often", "someone", "fifth", "height"]),
    st.sampled_from(["4", "3.5", "1,000", "٤", " ", " ", "-", "\n", ".", "é", "_", "x"]),
)


@many
@given(st.lists(NUMBERS, max_size=12).map("".join))
def test_numbers_are_those_of_the_full_pattern(mixed):
    full = mentions._NUMBER.finditer(mixed)
    assert [m.span() for m in mentions.numbers(mixed, text.words_of(mixed))] == [m.span() for m in full]


# fmt: off
LINES = ["Error location 1: ", "**Severity 2:** ", "1) Aspect： x", "Error 3", "error #2: ", "Reason:** y", "a: b",
         "ſeverity: ", "- Score reduction: 4", "Type of error:", "\n", "\n", "\n", " ", "x" * 70, ":", "："]
# fmt: on


@many
@given(st.lists(st.sampled_from(LINES), max_size=14).map("".join))
def test_labels_are_those_of_the_full_patterns(body):
    full = [(m.start(), int(m["number"]) if m["number"] else None) for m in error_fields.LABEL.finditer(body)]
    full += [(m.start(), int(m["number"])) for m in error_fields.ERROR_HEAD.finditer(body)]
    assert [(start, number) for start, _, _, number in error_fields.labels(body)] == sorted(full, key=lambda at: at[0])


def test_a_label_with_a_letter_that_only_looks_unlike_is_read():
    read = parsers.error_analysis("Error location: x\nſeverity: Major\nScore reduction: 2")
    assert (read.value, read.errors[0].severity) == (-2.0, "Major")


@many
@given(st.text(st.sampled_from("a*`_ \n\t\r-=.\x00\x0b\x7f\\né"), max_size=60), st.booleans())
def test_text_is_made_readable_as_by_the_plain_rules(mixed, long):
    mixed += "x" * 1000 * long + mixed
    plain = mixed if not mixed.isascii() else re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", " ", mixed)
    plain = plain if mixed.isascii() else plain.translate(text._TABLE)
    plain = re.sub(r"\\n(?![a-z])", "\n", plain.replace("\r\n", "\n").replace("\r", "\n"))
    if len(plain) > 1000:
        plain = re.sub(r"\s{9,}", lambda run: "\n\n" if "\n" in run.group() else "  ", plain)
        plain = re.sub(r"([^\w\s])\1{9,}", r"\1\1\1", plain)
    assert text.readable(mixed) == plain
    assert text.without_markup(plain) == re.sub(r"[*`]+|(?<!\w)_{1,3}|_{1,3}(?!\w)", " ", plain)


PIECES = [
    "Score: 4",
    "4/5",
    " stars",
    "not a ",
    "I rate it 3. ",
    "\n",
    "2",
    "Overall: ",
    "7 of 10",
    " - ",
    "1. ",
    "(3)",
    "no, ",
]


@many
@given(st.lists(st.sampled_from(PIECES), max_size=5).map("".join))
def test_one_verdict_counts_as_the_same_one_twice(mixed):
    body = prepare(mixed, 1, 5)[1]
    for mention in mentions.find(body, 1, 5):
        once = _decide([mention], body, 1, 5, "")
        twice = _decide([mention, mention], body, 1, 5, "")
        assert repr(once) == repr(twice)


def test_a_reason_does_not_depend_on_where_nan_lies_in_memory():
    for said in ("'a few': 5, 'some': '4/9'", "'some': '4/9', 'a few': 5"):
        assert parsers.rating(f"{{{said}}}", 1, 10).reason.endswith("none overall: [5.0, nan]")


def test_a_remembered_short_text_is_read_like_a_long_one():
    for said in ("Score: 4", "Score: 9", "It is fine."):
        short, long = (parsers.rating(said + blanks, 1, 5) for blanks in ("", " " * 300))
        assert repr(short) == repr(parsers.rating(said, 1, 5)) == repr(long)
    assert parsers.rating("Score: 9", 1, 5).status is Status.OUT_OF_RANGE
