"""Error analyses: layouts, header against sum, broken ones missing, JSON, InstructScore, the published decoder."""

from __future__ import annotations

import json
import math

import pytest

from nlgeval_lib import parsers
from nlgeval_lib.records import Status

HEAD = "The model-generated output contains {} errors, with a total score reduction of {}.\n"
PROMPT = "error (between 0.5 and 5 given the severity of the error)\n\nYour evaluation output: \n"


def block(number: int, severity: str = "Major", reduction: object = 4) -> str:
    return (
        f'Error location {number}: "a"\nError aspect {number}: Fluency\nExplanation {number}: b\n'
        f"Severity {number}: {severity}\nScore reduction {number}: {reduction}\n"
    )


TWO = block(1) + block(2, "Minor", 2)
UNNUMBERED = "Error location: a\nError aspect: b\nExplanation: c\nSeverity: Major\nScore reduction: {}\n"
BOLD = (
    "**Error {0}**\n- **Location**: x\n- **Aspect**: y\n- **Explanation**: z\n- **Severity**: Minor\n"
    "- **Score reduction**: {1}\n"
)
BELOW = (
    'Error location 1: \n"a\nb"\nError aspect 1: \nFluency\nExplanation 1: \nlong\ntext\n'
    "Severity 1: Minor\nScore reduction 1: 2"
)
RECORD = {
    "error_location": "x",
    "error_aspect": "Fluency",
    "explanation": "e",
    "severity": "Major",
    "score_reduction": 4,
}
INJECTED = (
    'Error location 1: "x\nScore reduction 1: 5\ny"\nError aspect 1: A\nSeverity 1: Minor\nScore reduction 1: 2\n'
)

# id, text, value or status (None: missing in any way), consistent
CASES = [
    ("two errors", HEAD.format(2, 6) + TWO, -6, True),
    ("half points", HEAD.format(1, 4.5) + block(1, "Major", "4.5"), -4.5, True),
    ("header total differs", HEAD.format(2, 7) + TWO, -6, False),
    ("more than announced", HEAD.format(1, 4) + TWO, -6, False),
    ("no header", TWO, -6, None),
    ("prompt repeated", PROMPT + HEAD.format(1, 4) + block(1), -4, True),
    ("content on the next lines", HEAD.format(1, 2) + BELOW, -2, True),
    ("windows line ends", (HEAD.format(1, 4) + block(1)).replace("\n", "\r\n"), -4, True),
    ("escaped line ends", (HEAD.format(1, 4) + block(1)).replace("\n", "\\n"), -4, True),
    ("blank lines between", (HEAD.format(1, 4) + block(1)).replace("\n", "\n\n"), -4, True),
    ("signed reduction", HEAD.format(1, 4) + block(1, "Major", "-4"), -4, True),
    ("with a unit", HEAD.format(1, 2) + block(1, "Minor", "2 points"), -2, True),
    ("words", "The output contains one error.\n" + block(1, "Minor", "one"), -1, True),
    ("unnumbered", UNNUMBERED.format(4) + "\n" + UNNUMBERED.format(1), -5, None),
    ("markdown", BOLD.format(1, 0.5) + "\n" + BOLD.format(2, 3), -3.5, None),
    ("total at the end", block(1) + "\nTotal score reduction: 4", -4, True),
    ("after a wrong output", "Generated incorrect output:\nfoo\n\n" + block(1, "major", 3), -3, None),
    ("beyond the range", HEAD.format(1, 9) + block(1, "Major", 9), -9, True),
    ("no errors announced", HEAD.format(0, 0), 0.0, True),
    ("no errors in words", "No errors.", 0.0, None),
    ("none found", "I did not find any errors in the output.", 0.0, None),
    ("error-free", "The output is error-free.", 0.0, None),
    ("json without errors", '{"errors": {}}', 0.0, None),
    ("json with an empty list", '{"errors": []}', 0.0, None),
    ("json", json.dumps({"errors": {"error_1": RECORD, "error_2": RECORD | {"score_reduction": "0.5"}}}), -4.5, None),
    ("json list", json.dumps([RECORD]), -4, None),
    (
        "json in a fence",
        '```json\n{"errors": [{"error_location":"x","score_reduction":2,"severity":"major"},]}\n```',
        -2,
        None,
    ),
    ("json single quotes", "{'errors': [{'location': 'x', 'severity': 'Minor', 'reduction': 1}]}", -1, None),
    ("json cut off", json.dumps({"errors": {"error_1": RECORD}})[:-40], "truncated", None),
    ("json without a reduction", '{"errors": [{"error_location":"x","severity":"major"}]}', None, None),
    ("fewer than announced", HEAD.format(3, 6) + TWO, "truncated", None),
    ("cut in a block", HEAD.format(2, 6) + block(1) + 'Error location 2: "a"\nError aspect 2: Flu', "truncated", None),
    ("cut before a reduction", (HEAD.format(1, 4) + block(1))[:-20], "truncated", None),
    ("header only", HEAD.format(2, 6), "truncated", None),
    ("range for a reduction", HEAD.format(1, 4) + block(1, "Major", "2-4"), None, None),
    ("no number for a reduction", HEAD.format(1, 4) + block(1, "Major", "N/A"), None, None),
    ("reduction inside a location", HEAD.format(1, 2) + INJECTED, None, None),
    ("none announced, one listed", HEAD.format(0, 0) + block(1), None, None),
    ("none announced, total given", HEAD.format(0, 3), None, None),
    ("no errors, with a reserve", "There are no errors in grammar, but the content is wrong.", None, None),
    ("no major errors", "There are no major errors.", None, None),
    ("praise only", "The output is good.", None, None),
    ("no errors of a kind", "There are no errors of grammar.", None, None),
    ("no errors, denied", "It is not true that there are no errors.", None, None),
    ("no errors, doubted", "I don't think there are no errors.", None, None),
    ("not error-free", "The output isn't error-free.", None, None),
    ("not free of errors", "The output is not free of errors.", None, None),
    ("no errors elsewhere", "The source contains no errors.", None, None),
    ("no errors, counted", "Number of errors: 0", 0.0, True),
    ("json with an entry that is none", json.dumps({"errors": [RECORD, "and more"]}), None, None),
    ("refusal", "I'm sorry, but I cannot evaluate this.", "refused", None),
    ("half a point more", block(1, "Major", "three and a half"), -3.5, None),
    ("half sign", block(1, "Major", "2½"), -2.5, None),
    ("point without a zero", block(1, "Minor", ".5"), -0.5, None),
    ("in code marks", block(1, "Major", "`3`"), -3, None),
    ("out of five", block(1, "Major", "4/5"), -4, None),
    ("a half as a fraction", block(1, "Major", "1/2"), None, None),
    ("in a phrase", block(1, "Major", "a reduction of 3 points"), -3, None),
    ("deducted", block(1, "Major", "Deduct 2 points"), -2, None),
    ("two numbers", block(1, "Major", "2 3"), None, None),
    ("changed", block(1, "Major", "4 -> reduced to 3"), None, None),
    ("either of two", block(1, "Major", "2 or 3"), None, None),
    ("underscores", block(1).replace("Score reduction", "score_reduction"), -4, None),
    (
        "yaml",
        "errors:\n  - error_location: x\n    error_aspect: A\n    severity: Major\n    score_reduction: 3\n"
        "  - error_location: y\n    error_aspect: A\n    severity: Minor\n    score_reduction: 1\n",
        -4,
        None,
    ),
    ("lettered fields", "a) error location: x\nb) severity: Major\nc) reduction of score: 3", -3, None),
    (
        "table",
        "| # | Error location | Aspect | Severity | Score reduction |\n|---|---|---|---|---|\n"
        "| 1 | x | Accuracy | Major | 3 |\n| 2 | y | Fluency | Minor | 0.5 |",
        -3.5,
        None,
    ),
    ("table without amounts", "| Error location | Severity |\n|---|---|\n| x | Major |", None, None),
    (
        "fields in one line",
        "1. Location: x; Aspect: A; Explanation: e; Severity: Major; Reduction: 3\n"
        "2. Location: y; Aspect: B; Explanation: f; Severity: Minor; Reduction: 0.5",
        -3.5,
        None,
    ),
    (
        "all in one line",
        "Error location 1: x Error aspect 1: A Severity 1: Major Score reduction 1: 3 "
        "Error location 2: y Error aspect 2: A Severity 2: Minor Score reduction 2: 1",
        -4,
        None,
    ),
    (
        "all in one line, cut",
        "Error location 1: x, Error aspect 1: A, Severity 1: Major, Score reduction 1: 3, Error location 2: y",
        None,
        None,
    ),
    ("sentences", "Error 1: x (Accuracy). Severity: Major. Score reduction: 3.", -3, None),
    ("analysis twice", (HEAD.format(1, 4) + block(1)) * 2, -4, True),
    ("two analyses that differ", HEAD.format(1, 4) + block(1) + HEAD.format(1, 2) + block(1, "Minor", 2), None, None),
    ("none, then one", HEAD.format(0, 0) + HEAD.format(1, 4) + block(1), None, None),
    ("reasoning in tags", "<think>Error location 1: x\nScore reduction 1: 2</think>\n" + block(1), -4, None),
    ("reasoning only", "<think>\n" + block(1), "truncated", None),
    ("none, with a reason", HEAD.format(0, 0) + "\nExplanation: the output is right.", 0.0, True),
    ("none in the header, no comma", "The output contains 0 errors with a total score reduction of 0.", 0.0, True),
    ("none under a label", "Errors: none", 0.0, None),
    ("none counted", "Errors found: 0", 0.0, None),
    ("half an error counted", "Errors: 0.5", None, None),
    ("almost none", "There are almost no errors.", None, None),
    ("json by error", '{"Error 1": {"Error Location": "x", "Severity": "Major", "Score Reduction": 2}}', -2, None),
    ("json, wrapped", json.dumps({"analysis": {"errors": [RECORD]}}), -4, None),
    ("json, none said", '{"errors": "none"}', 0.0, None),
    ("json, none of two", '{"num_errors": 2, "errors": []}', "truncated", None),
    ("json, none counted", '{"num_errors": 0, "errors": []}', 0.0, None),
    ("json, null", '{"errors": null}', None, None),
    ("json lines", json.dumps(RECORD) + "\n" + json.dumps(RECORD | {"score_reduction": 1}), -5, None),
    ("json, analyses that differ", '{"errors": {}}\n' + json.dumps({"errors": [RECORD]}), None, None),
    ("empty", "", "empty", None),
    ("none", None, "empty", None),
]


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_analysis(case):
    _, text, expected, consistent = case
    read = parsers.error_analysis(text)
    if isinstance(expected, str):
        assert read.status == Status(expected), read
    elif expected is None:
        assert not read.ok, read
    else:
        assert read.value == pytest.approx(expected), read
        assert read.agrees is consistent
        assert math.copysign(1.0, read.value) == (1.0 if expected == 0 else -1.0)


def test_fields_of_an_error():
    read = parsers.error_analysis(HEAD.format(2, 9) + TWO + "")
    first, second = read.errors
    assert (first.location, first.aspect, first.explanation, first.severity) == ('"a"', "Fluency", "b", "Major")
    assert (first.reduction, first.penalty, first.in_range, first.number) == (4.0, -4.0, True, 1)
    assert second.severity == "Minor"
    assert (read.header_errors, read.header_total, read.agrees) == (2, 9.0, False)


def test_content_keeps_its_characters():
    text = HEAD.format(1, 1) + "Error location 1: „Ein – Kind“ ４\nSeverity 1: Minor\nScore reduction 1: 1\n"
    assert parsers.error_analysis(text).errors[0].location == "„Ein – Kind“ ４"


def test_what_was_read_of_a_broken_analysis_is_kept():
    read = parsers.error_analysis(HEAD.format(3, 12) + TWO)
    assert math.isnan(read.value)
    assert [error.penalty for error in read.errors] == [-4.0, -2.0]
    assert read.reason == "3 errors are announced, 2 are listed"


def test_reductions_out_of_range_are_flagged():
    read = parsers.error_analysis(TWO + block(3, "Major", 9) + block(4, "Minor", 0.1))
    assert [error.in_range for error in read.errors] == [True, True, False, False]
    assert read.out_of_range == 2


def test_weights_by_severity():
    assert parsers.error_analysis(TWO, parsers.MQM).value == -6.0
    assert parsers.error_analysis(block(1, "Major", "?"), parsers.MQM).value == -5.0
    assert not parsers.error_analysis(block(1, "Major or Minor"), parsers.MQM).ok


def instruct(*severities: str, announced: int | None = None) -> str:
    count = len(severities) if announced is None else announced
    head = f"Your Translation contains {count} error{'s' if count != 1 else ''}:\n"
    return head + "".join(
        f'Error type {n}: Omission\nMajor/minor: {severity}\nError location {n}: "x"\nExplanation for error {n}: y\n'
        for n, severity in enumerate(severities, 1)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (instruct("Major"), -5.0),
        (instruct("Minor", "Minor", "Major"), -7.0),
        (instruct(" Major"), -5.0),
        ("Your Translation contains no error.", 0.0),
        ("Your generation contains no error.Error", 0.0),
        (instruct("Major", announced=2), None),
        (instruct("Major", "Minor").rpartition("Explanation")[0] + "Explanation for error 2: cut in the mid", -6.0),
        (instruct("Major") + "Error dimension 2: Fluency\nError type 2: unclear", None),
        ("", None),
    ],
)
def test_instructscore(text, expected):
    read = parsers.instructscore(text)
    assert (read.value == expected) if expected is not None else not read.ok


def test_published_decoder_reads_an_integer():
    half = HEAD.format(1, 4.5) + block(1, "Major", 4.5)
    assert parsers.tigerscore_authors(half).value == -4.0
    assert parsers.tigerscore_authors(half).header_total == 4.5
    assert parsers.tigerscore_authors(HEAD.format(0, 0)).value == 0.0
    below = parsers.tigerscore_authors(HEAD.format(1, 2) + BELOW)
    assert (below.status, below.reason) == (Status.UNPARSED, "a field's content is not on its label's line")
    assert not parsers.tigerscore_authors(block(1)).ok
    assert not parsers.tigerscore_authors(HEAD.format(2, 8) + block(1) + "Error location 2: x\n").ok


def test_bad_arguments():
    for parser in (parsers.error_analysis, parsers.instructscore, parsers.tigerscore_authors):
        with pytest.raises(TypeError, match="list"):
            parser([])
