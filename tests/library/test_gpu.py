"""Engines on a CUDA device, with a tiny model that is built here: `make test-gpu`.

`python tests/library/test_gpu.py` runs them from a checkout alone: torch, transformers, pytest
and what the library itself needs are enough, without vLLM too.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

# as a script: the library lies beside the tests, and need not be installed
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine_fixtures import CONTEXT, tiny_folder  # noqa: F401

from nlgeval_lib import engines
from nlgeval_lib.engines import Request, Sampling
from nlgeval_lib.evaluators import LLMScore

pytestmark = pytest.mark.gpu
PROMPTS = ["The summary is coherent and", "Feedback: the response", "One two three"]


@pytest.fixture(scope="session", autouse=True)
def cuda() -> None:
    """First of all, before a model is built."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device is seen here")


@pytest.fixture(scope="module", params=["vllm", "transformers"])
def engine(request, tiny_folder):  # noqa: F811 - the fixture
    options = {"max_model_len": CONTEXT, "gpu_memory_utilization": 0.3}
    if request.param == "transformers":
        options = {"device": "cuda"}
    else:
        pytest.importorskip("vllm")
    with engines.make(request.param, model=str(tiny_folder), **options) as made:
        yield made


def texts(engine, sampling: Sampling) -> list[list[str]]:
    answers = engines.complete(engine, PROMPTS, sampling)
    assert answers.failed == ()
    return [[completion.text for completion in draws] for draws in answers]


def test_greedy_text_repeats(engine):
    greedy = Sampling(max_tokens=16)
    assert texts(engine, greedy) == texts(engine, greedy)


def test_draws_differ_and_are_counted(engine):
    sampling = Sampling(temperature=1.0, n=4, max_tokens=16, seed=3)
    for draws in texts(engine, sampling):
        assert len(draws) == 4
        assert len(set(draws)) > 1


def test_log_probabilities_are_none_above_zero(engine):
    sampling = Sampling(max_tokens=4, logprobs=3)
    for [completion] in engines.complete(engine, PROMPTS, sampling):
        assert completion.logprobs
        for step in completion.logprobs:
            assert max(step.values()) <= 0


def test_a_form_is_kept(engine):
    sampling = Sampling(max_tokens=4, choice=("1", "2", "3"))
    try:
        engine.check(sampling)
    except engines.UnsupportedSetting as refusal:
        assert "structured" in str(refusal) or "choice" in str(refusal)
        return
    for [text] in texts(engine, sampling):
        assert text in ("1", "2", "3")


def test_a_judge_scores(engine):
    judge = LLMScore("summary", low=1, high=5, engine=engine)
    request = judge.plan(judge_rows())[0].requests[0]
    assert isinstance(request, Request)
    scores = judge.score(judge_rows())
    assert scores["status"].isin(["ok", "unparsed", "out_of_range", "truncated"]).all()


def judge_rows():
    import pandas as pd

    return pd.DataFrame(
        {
            "source": ["A bus left at nine."],
            "output": ["A bus left."],
            "aspect": "fluency",
        }
    )


if __name__ == "__main__":
    # without the project's own settings, which name plugins of pytest
    settings = ("-c", os.devnull, "--noconftest", "-p", "no:cacheprovider", "-rs")
    sys.exit(pytest.main([__file__, *settings]))
