"""What a run of a judge says of itself when it ends."""

from __future__ import annotations

from collections import Counter

import pytest

from nlgeval_lib.scoring.asking import Run

MADE = Counter(total=20, stored=0, done=20, prompt_tokens=4200, completion_tokens=600)


@pytest.mark.parametrize(
    ("seconds", "rate"), [(60.0, " (70 and 10 a second)"), (0.5, "")]
)
def test_a_run_that_takes_time_says_its_rate(seconds, rate):
    run = Run(counts=MADE, seconds=seconds)
    made = "20 completions: 0 stored, 20 made; 4,200 prompt and 600 new tokens"
    assert run.summary() == made + rate
