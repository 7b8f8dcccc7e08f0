"""Prometheus' feedback and score: both modes, the last verdict, the feedback that is kept."""

from __future__ import annotations

import pytest

from nlgeval_lib import parsers
from nlgeval_lib.records import Status

FORMAT_LINE = 'as follows: "Feedback: (write a feedback) [RESULT] (an integer number between 1 and 5)"\n###Feedback: '
RUN_ON = "Feedback: fine. [RESULT] 3\n\n###Feedback: another text [RESULT] 5"

# id, text, verbaliser, strict
CASES = [
    ("the format", "Feedback: The response is good. [RESULT] 4", 4, 4),
    ("its other case", "good [Result] 5", 5, 5),
    ("brackets round the score", "good [RESULT] (4)", 4, 4),
    ("n out of 5", "fine. [RESULT] 4 out of 5", 4, None),
    ("score in brackets", "good [Score 5]", 5, None),
    ("capitals in brackets", "good [SCORE 5]", 5, None),
    ("result in brackets", "good [RESULT: 4]", 4, None),
    ("label", "good. Score: 4 out of 5", 4, None),
    ("result label", "good. Result: 3", 3, None),
    ("score after the mark", "bad [RESULT] Score: 1.", 1, None),
    ("word", "good [RESULT] four", 4, None),
    ("bold", "good [RESULT] **4**", 4, None),
    ("bold mark", "good **[RESULT] 4**", 4, None),
    ("half point", "good [RESULT] 3.5", 3.5, None),
    ("end token", "good [RESULT]4</s>", 4, 4),
    ("closing phrase", "So the overall score is 3.", 3, None),
    ("closing phrase out of", "The final score is 4 out of 5.", 4, None),
    ("numbers in the feedback", "They won 3-1 in 2014 and paid $5. [RESULT] 2", 2, 2),
    ("higher score before", "It would be a 5 if it had sources. [RESULT] 3", 3, 3),
    ("higher score after", "[RESULT] 4\nExplanation: it could be a 5.", 4, 4),
    ("another scale before", "Accuracy 8/10. [RESULT] 4", 4, 4),
    ("two marks", "[RESULT] 3 and then [RESULT] 4", 4, 4),
    ("two labels", "Score: 3. On reflection, Score: 4", 4, None),
    ("quoted mark before", 'The response says "[RESULT] 5". [RESULT] 1', 1, 1),
    ("format line repeated", FORMAT_LINE + "fine [RESULT] 4", 4, 4),
    ("format line only", FORMAT_LINE + "fine", None, None),
    ("next prompt begun", RUN_ON, 3, 3),
    ("json", '{"feedback": "ok, 5 facts", "score": 3}', 3, None),
    ("off the scale", "good [RESULT] 9", "out_of_range", "out_of_range"),
    ("cut after the mark", "good [RESULT]", "truncated", "truncated"),
    ("cut before the mark", "The response is fine but lacks", "truncated", "truncated"),
    ("range", "good [RESULT] 3-4", None, None),
    ("other scale", "good [RESULT] 8/10", None, None),
    ("not applicable", "good [RESULT] N/A", None, None),
    ("counts only", "I think it has 3 errors and 2 typos.", None, None),
    ("number alone", "4", None, None),
    ("number at the end", "Good. 4", None, None),
    ("sub-scores only", "Grammar: 3\nStyle: 5", None, None),
    ("refusal", "As an AI language model, I cannot rate this.", "refused", "refused"),
    ("sign after the mark", "good [RESULT]: 4", 4, None),
    ("dash after the mark", "good [RESULT] - 4", 4, None),
    ("bold after a sign", "good [Result]: **4**", 4, None),
    ("scale after the mark", "good [RESULT] (1-5): 4", 4, None),
    ("article after the mark", "good [RESULT] a solid 3", 3, None),
    ("minus after the mark", "good [RESULT]: -4", "out_of_range", None),
    ("arrow", "good [RESULT] 3→4", None, None),
    ("in question", "good [RESULT] 4?", None, None),
    ("quoted mark only", "The student wrote '[RESULT] 5' in the answer.", None, None),
    ("quoted mark, then a label", "It says '[RESULT] 5' and so on. Score: 1", 1, None),
    ("quoted verdict at the end", 'ok. "[RESULT] 4"', 4, None),
    ("unfit and fit", "A score of 4 cannot be given; a 3 is warranted.", 3, None),
    ("reasoning in tags", "<think>[RESULT] 3? Or 4.</think>\nGood. [RESULT] 4", 4, 4),
    ("begun again", "good [RESULT] 4\n\n[RESULT]", 4, "truncated"),
    ("reasoning only", "<think>I'd write [RESULT] 3", "truncated", "truncated"),
    ("half point in words", "good [RESULT] three and a half", 3.5, None),
    ("a scale in a row", "good [RESULT] 1 2 3 4 5", None, None),
    ("counted after the mark", "bad [RESULT] 3 errors", None, None),
    ("empty", "", "empty", "empty"),
    ("none", None, "empty", "empty"),
]


@pytest.mark.parametrize("mode", ["verbalizer", "strict"])
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_verdict(case, mode):
    _, text, loose, strict = case
    expected = loose if mode == "verbalizer" else strict
    read = parsers.feedback(text, 1, 5, mode)
    assert read.mode == mode
    if isinstance(expected, str):
        assert read.status == Status(expected), read
    elif expected is None:
        assert not read.ok, read
    else:
        assert read.value == expected, read


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Feedback: The response is good. [RESULT] 4", "The response is good."),
        ("###Feedback:\nGood job.\n[RESULT] 4\n", "Good job."),
        (FORMAT_LINE + "fine [RESULT] 4", "fine"),
        (RUN_ON, "fine."),
        ("[RESULT] 4\nFeedback: good", "good"),
        ("Good but long. Score: 4", "Good but long. Score: 4"),
        ('{"feedback": "ok, 5 facts", "score": 3}', "ok, 5 facts"),
        ("It is fine. [RESULT]", "It is fine."),
    ],
)
def test_feedback_is_kept(text, kept):
    assert parsers.feedback(text).feedback == kept


@pytest.mark.parametrize(("low", "high"), [(1, 10), (0, 100), (0, 1), (-2, 2)])
def test_any_scale(low, high):
    for score in range(low, min(high, low + 12) + 1):
        if score >= 0:
            assert parsers.feedback(f"x [RESULT] {score}", low, high, "strict").value == score
            assert parsers.feedback(f"x [RESULT] {score}", low, high).value == score
    assert parsers.feedback(f"x [RESULT] {high + 1}", low, high).status is Status.OUT_OF_RANGE


def test_bad_arguments():
    with pytest.raises(ValueError, match="strict"):
        parsers.feedback("x", mode="loose")
    with pytest.raises(ValueError, match="low < high"):
        parsers.feedback("x", 5, 1)
    with pytest.raises(TypeError, match="int"):
        parsers.feedback(5)
