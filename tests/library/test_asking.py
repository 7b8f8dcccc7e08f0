"""What a run of a judge says of itself when it ends."""

from __future__ import annotations

from collections import Counter

from nlgeval_lib.scoring.asking import Run

MADE = Counter(total=20, stored=0, done=20, prompt_tokens=4200, completion_tokens=600)


def test_a_run_says_what_it_made():
    made = "20 completions: 0 stored, 20 made; 4,200 prompt and 600 new tokens"
    assert Run(counts=MADE).summary() == made
