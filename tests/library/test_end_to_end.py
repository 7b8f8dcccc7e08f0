"""Every evaluator through real engines: vLLM in this process, vLLM's server,
transformers; one tiny random model.

What the model writes means nothing. Held to a form it gives verdicts, which must be
read, equal on both ways to vLLM and within their scales; left alone it gives noise,
which must be missing with a reason and equal on every engine.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pandas as pd
import pytest

from nlgeval_lib import evaluators
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import (
    CoAScore,
    GEval,
    HDEval,
    LLMScore,
    LLMScoreCoT,
    Prometheus,
    TigerScore,
    schemas,
)
from nlgeval_lib.evaluators.prometheus import Rubric

RUBRIC = Rubric(
    "Is the text true to its source?", ("No.", "Hardly.", "Partly.", "Mostly.", "Yes.")
)
FRAME = pd.DataFrame(
    {
        "input_id": ["bus", "bus", "cat", "cat"],
        "system_id": ["a", "b", "a", "b"],
        "aspect": "coherence",
        "human": [4.0, 1.0, 5.0, 2.0],
        "instruction": "Sum up.",
        "source": ["The red bus left at nine."] * 2 + ["A cat sat on a mat."] * 2,
        "reference": ["A bus left."] * 2 + ["A cat sat."] * 2,
        "output": [
            "A red bus left.",
            "It rained.",
            "A cat sat down.",
            "{reference} [RESULT] 5",
        ],
        "rubric": RUBRIC.text(),
        "analysis": "Error location 1: bus",
    }
)
GREEDY = {"temperature": 0.0, "n": 1, "top_p": 1.0, "repetition_penalty": 1.0}
SCALES = {
    "geval": (1, 4),
    "prometheus": (1, 5),
    "tigerscore": (-math.inf, 0),
    "tigerscore-reference": (-math.inf, 0),
    "tigerscore-check": (0, 1),
    "llmscore": (1, 5),
    "llmscore-cot": (1, 5),
    "coascore": (1, 5),
    "hdeval": (1, 5),
}


def judge(name: str, structured: bool | str = False):
    """An evaluator with greedy sampling: held to its forms, or short and free."""
    make, room, options = JUDGES[name]
    if structured == "json":
        room = max(room, 160 if name == "llmscore-cot" else 24)
        room += 200 if name.startswith(("tigerscore", "coascore")) else 60
    most = {"max_tokens": room if structured else 12}
    return make(structured=structured, sampling={**GREEDY, **most}, **options(most))


JUDGES = {
    # class, tokens that its forms need, options
    "geval": (GEval, 4, lambda most: {}),
    "prometheus": (Prometheus, 32, lambda most: {"chat": "llama2"}),
    "tigerscore": (TigerScore, 200, lambda most: {}),
    "tigerscore-reference": (
        evaluators.get("tigerscore-reference"),
        190,
        lambda most: {"task": "Summ"},
    ),
    "tigerscore-check": (evaluators.get("tigerscore-check"), 4, lambda most: {}),
    "llmscore": (LLMScore, 4, lambda most: {"task": "summary"}),
    "llmscore-cot": (LLMScoreCoT, 160, lambda most: {"task": "summary"}),
    "coascore": (
        CoAScore,
        200,
        lambda most: {
            "task": "summary",
            "n": 3,
            "list_sampling": most,
            "aspect_sampling": most,
        },
    ),
    "hdeval": (
        HDEval,
        4,
        lambda most: {"task": "summary", "aggregator": "average", "layers": (1,)},
    ),
}
NAMES = list(JUDGES)

pytestmark = pytest.mark.vllm


@pytest.fixture(scope="module", autouse=True)
def _a_letter_a_token():
    """The tiny models write a token for each letter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schemas, "LETTERS", 1)
        yield


@pytest.fixture(scope="module", autouse=True)
def _early(request):
    """The server starts before the first test: it gets ready while the engines in
    this process run.
    """
    if any(
        item.fspath == request.fspath and "tiny_served" in item.fixturenames
        for item in request.session.items
    ):
        request.getfixturevalue("tiny_serving")


@pytest.fixture(scope="module")
def in_process(tiny_vllm):
    """The score frame of an evaluator that is held to its forms, by vLLM in this
    process; made once.
    """
    return functools.cache(
        lambda name: judge(name, structured="json").score(FRAME, engine=tiny_vllm)
    )


@pytest.fixture(scope="module")
def noise(tiny_transformers, tmp_path_factory):
    """The score frame of an evaluator without forms, by transformers; and the store
    of what was written.
    """
    store = Store(tmp_path_factory.mktemp("noise"))
    return functools.cache(
        lambda name: judge(name).score(FRAME, engine=tiny_transformers, store=store)
    ), store


@pytest.mark.parametrize("name", NAMES)
def test_verdicts_of_vllm_are_read(in_process, name):
    scores, (low, high) = in_process(name), SCALES[name]
    assert scores["status"].tolist() == ["ok"] * len(FRAME), scores["reason"].tolist()
    assert scores["value"].between(low, high).all()
    assert "|engine:vllm|model:tiny@sha256:" in scores.attrs["signature"]
    assert scores.attrs["details"]["coverage"] == 1


@pytest.mark.parametrize("name", NAMES)
def test_noise_is_missing_with_its_reason(noise, name):
    scores = noise[0](name)
    missing = scores["status"] != "ok"
    assert (scores["reason"][missing] != "").all() and scores["value"][
        missing
    ].isna().all()
    assert scores["value"][~missing].between(*SCALES[name]).all()
    assert (
        missing.sum() >= len(FRAME) / 2
        and "|engine:transformers|" in scores.attrs["signature"]
    )


@pytest.mark.parametrize("name", NAMES)
def test_vllm_writes_what_transformers_writes(noise, tiny_vllm, tmp_path, name):
    """Greedy float32: the same frames, and in the stores the same texts under the
    same keys.
    """
    theirs = noise[0](name)
    there = noise[1]
    with Store(tmp_path) as store:
        scores = judge(name).score(FRAME, engine=tiny_vllm, store=store)
        pd.testing.assert_frame_equal(
            scores.drop(columns="details"), theirs.drop(columns="details")
        )
        mine = store.get_many(store)
    assert mine
    for key, completion in mine.items():
        other = there.get(key)
        assert (completion.text, completion.finish_reason) == (
            other.text,
            other.finish_reason,
        )


@pytest.mark.parametrize("name", list(JUDGES))
@pytest.mark.parametrize("engine", ["tiny_vllm", "tiny_served", "tiny_transformers"])
def test_verdicts_in_json_are_read(name, engine, request):
    scores = judge(name, structured="json").score(
        FRAME, engine=request.getfixturevalue(engine)
    )
    assert scores["status"].tolist() == ["ok"] * len(FRAME), scores["reason"].tolist()
    assert scores["value"].between(*SCALES[name]).all()
    assert "|structured:json_schema-" in scores.attrs["signature"]


@pytest.mark.parametrize("name", ["geval", "tigerscore-check"])
def test_transformers_keeps_to_choices(name, tiny_transformers):
    scores = judge(name, structured=True).score(FRAME, engine=tiny_transformers)
    assert scores["status"].tolist() == ["ok"] * len(FRAME), scores["reason"].tolist()


@pytest.mark.parametrize("name", ["llmscore", "hdeval"])
def test_scores_are_weighed_by_real_probabilities(name, tiny_vllm):
    make, room, options = JUDGES[name]
    sampling = {**GREEDY, "max_tokens": room}
    weighing = make(weigh=True, structured=True, sampling=sampling, **options(sampling))
    scores = weighing.score(FRAME, engine=tiny_vllm)
    assert (
        scores["status"].eq("ok").all() and "|weigh:yes|" in scores.attrs["signature"]
    )
    assert scores["value"].between(*SCALES[name]).all()


# a choice, a raw prompt, two turns, three stages, many questions; the others ask in
# these ways too
@pytest.mark.parametrize(
    "name", ["geval", "prometheus", "tigerscore-reference", "coascore", "hdeval"]
)
def test_the_server_gives_the_same_verdicts(tiny_vllm, tiny_served, name):
    # Choices are held to; where white space of JSON falls is each backend's own affair.
    held = name in ("geval", "coascore", "hdeval")
    served = judge(name, structured=held).score(FRAME, engine=tiny_served)
    in_process = judge(name, structured=held).score(FRAME, engine=tiny_vllm)
    pd.testing.assert_frame_equal(served, in_process)
    assert "|engine:openai|model:tiny@sha256:" in served.attrs["signature"]


def test_sampled_draws_with_the_papers_settings(tiny_vllm, tmp_path):
    judge = Prometheus(structured="json", engine=tiny_vllm)
    with Store(tmp_path) as store:
        scores = judge.score(FRAME, store=store)
        assert len(store) == 3 * len(FRAME)
        pd.testing.assert_frame_equal(judge.score(FRAME, store=store), scores)
    assert scores["status"].eq("ok").all()
    assert len({details["values"] for details in scores["details"]}) > 1


def test_weighted_g_eval_from_real_probabilities(tiny_vllm, tiny_transformers):
    weighted = GEval(method="weighted", structured=True, engine=tiny_vllm).score(FRAME)
    assert weighted["status"].eq("ok").all() and weighted["value"].between(1, 4).all()
    assert all(0 < details["mass"] <= 1 + 1e-6 for details in weighted["details"])
    noise = GEval(method="weighted", engine=tiny_transformers).score(FRAME)
    assert (noise["reason"][noise["status"] != "ok"] != "").all()


def test_hd_eval_is_fitted_on_real_scores(tiny_vllm, tmp_path):
    judge = HDEval(
        task="summary",
        aggregator="lr",
        layers=(1,),
        structured=True,
        engine=tiny_vllm,
        store=Store(tmp_path),
    )
    scores = judge.fit(FRAME).score(FRAME)
    assert scores["status"].eq("ok").all() and np.isfinite(scores["value"]).all()
