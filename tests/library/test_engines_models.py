"""vLLM, transformers and vLLM's server on one tiny model: the same texts, the same
counts, every setting honoured.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import tiny_model
from engine_fixtures import CONTEXT, no_vllm, told

from nlgeval_lib import engines
from nlgeval_lib.engines import (
    EngineError,
    Request,
    Sampling,
    UnsupportedSetting,
    models,
)
from nlgeval_lib.engines.store import Store

PROMPTS = [
    f"Rate response {i}: it is {'very ' * (i % 5)}good. Score:" for i in range(10)
]
CHATS = [
    Request.chat(f"Is this coherent? {'yes ' * i}", "You are a judge.")
    for i in range(4)
]
BATCH = [*PROMPTS, *CHATS]
GREEDY = Sampling(max_tokens=24)
LONG = Request(prompt="word " * 1200, id="long")

pytestmark = pytest.mark.vllm


@pytest.fixture(scope="module", autouse=True)
def _early(request):
    """The server's process, started first: it gets ready while the engines in this
    process are tested.
    """
    if not no_vllm() and any(
        "tiny_served" in one.name for one in request.session.items
    ):
        request.getfixturevalue("tiny_serving")


@pytest.fixture(scope="module")
def greedy(tiny_transformers):
    return engines.complete(tiny_transformers, BATCH, GREEDY)


def texts(answers):
    return [[one.text for one in draws] for draws in answers]


# -- transformers


def test_a_batch_gives_what_single_prompts_give(tiny_folder, greedy):
    with engines.make(
        "transformers", model=str(tiny_folder), batch_size=1, device="cpu"
    ) as single:
        assert told(engines.complete(single, BATCH, GREEDY)) == told(greedy)


def test_greedy_is_the_largest_logit_step_by_step(tiny_transformers, greedy):
    """Against a loop of forward passes without cache, padding or generate()."""
    import torch

    prompt = models.token_ids(
        tiny_transformers._tokenizer, Request(prompt=PROMPTS[1]), "tiny"
    )
    ids = list(prompt)
    with torch.no_grad():
        while len(ids) < len(prompt) + 24 and (len(ids) == len(prompt) or ids[-1] != 2):
            ids.append(
                int(
                    tiny_transformers._model(torch.tensor([ids])).logits[0, -1].argmax()
                )
            )
    assert greedy[1][0].text == tiny_transformers._tokenizer.decode(
        ids[len(prompt) :], skip_special_tokens=True
    )
    assert greedy[1][0].completion_tokens == len(ids) - len(prompt)


def test_draws_follow_the_softmax(tiny_transformers, monkeypatch):
    """2000 draws of one token against the probabilities of the shaped distribution."""
    import torch

    sampling = Sampling(
        temperature=0.7, top_k=12, top_p=0.8, max_tokens=1, n=2000, logprobs=0
    )
    monkeypatch.setattr(tiny_transformers, "batch_size", 500)
    [draws] = engines.complete(tiny_transformers, [PROMPTS[0]], sampling)
    ids = models.token_ids(
        tiny_transformers._tokenizer, Request(prompt=PROMPTS[0]), "tiny"
    )
    with torch.no_grad():
        logits = (
            tiny_transformers._model(torch.tensor([ids])).logits[0, -1].double().numpy()
        )
    order = np.argsort(-logits)[:12]
    p = np.exp(logits[order] / 0.7)
    p /= p.sum()
    kept = np.searchsorted(np.cumsum(p), 0.8) + 1
    p = p[:kept] / p[:kept].sum()
    names = [tiny_transformers._tokenizer.decode([i]) for i in order[:kept]]
    drawn = [next(iter(c.logprobs[0])) for c in draws]
    assert set(drawn) <= set(names)
    expected = p * 2000
    seen = np.array([drawn.count(name) for name in names])
    assert np.sum((seen - expected) ** 2 / expected) < kept + 5 * math.sqrt(2 * kept)


def test_what_does_not_fit_is_halved_then_named(tiny_transformers, monkeypatch, greedy):
    import torch

    real = tiny_transformers._run

    def small(batch, sampling, room):
        if len(batch) > 2 or any(
            "response 3:" in ask.request.text() for ask, _ in batch
        ):
            raise torch.OutOfMemoryError("pretended")
        return real(batch, sampling, room)

    monkeypatch.setattr(tiny_transformers, "_run", small)
    answers = engines.complete(
        tiny_transformers,
        [Request(prompt=p, id=str(i)) for i, p in enumerate(PROMPTS)],
        GREEDY,
    )
    [failure] = answers.failed
    assert failure.id == "3" and "out of memory" in failure.reason
    rest = [i for i in range(len(PROMPTS)) if i != 3]
    assert [answers[i][0].text for i in rest] == [greedy[i][0].text for i in rest]


def test_a_model_without_a_chat_template_says_so(tiny_transformers, monkeypatch):
    monkeypatch.setattr(tiny_transformers._tokenizer, "chat_template", None)
    with pytest.raises(EngineError, match="no chat template"):
        engines.complete(tiny_transformers, CHATS[:1], GREEDY)
    monkeypatch.setattr(
        tiny_transformers._tokenizer, "chat_template", tiny_model.TEMPLATE
    )
    assert engines.complete(tiny_transformers, CHATS[:1], GREEDY).failed == ()


@pytest.mark.parametrize(
    "name",
    [
        "transformers",
        pytest.param(
            "vllm", marks=pytest.mark.skipif(bool(no_vllm()), reason=no_vllm())
        ),
    ],
)
def test_a_model_that_is_not_there(name, tmp_path):
    with pytest.raises(EngineError, match="no model at"):
        engines.make(name, model=str(tmp_path / "nothing"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(EngineError, match="cannot load"):
        engines.make(name, model=str(tmp_path / "empty"))


def test_a_folder_is_known_by_its_contents(tiny_folder, tmp_path):
    copy = tmp_path / "tiny"
    copy.mkdir()
    for path in tiny_folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    assert models.identify(str(copy), None, None) == models.identify(
        str(tiny_folder), None, None
    )
    assert models.identify(str(copy), "v2", "judge") == ("judge", "v2")
    (copy / "config.json").write_text((copy / "config.json").read_text() + " ")
    assert models.identify(str(copy), None, None) != models.identify(
        str(tiny_folder), None, None
    )
    assert models.identify("some/model", None, None) == ("some/model", None)


# -- log-likelihoods


def test_loglikelihood_is_the_sum_of_next_token_log_probabilities(tiny_transformers):
    import torch

    prompts = [PROMPTS[0], PROMPTS[4], "Score"]
    texts = [
        " 5 out of 5",
        " bad",
        "d: the",
    ]  # the last shares a token with its prompt's end, or not: both must add up
    for prompt, text, got in zip(
        prompts, texts, tiny_transformers.loglikelihood(prompts, texts), strict=True
    ):
        ids = tiny_transformers._tokenizer(prompt + text).input_ids
        with torch.no_grad():
            table = (
                tiny_transformers._model(torch.tensor([ids])).logits[0].log_softmax(-1)
            )
        scored = [
            float(table[i - 1, ids[i]])
            for i in range(len(ids) - len(got.tokens), len(ids))
        ]
        assert got.tokens == pytest.approx(scored, abs=1e-4)
        assert got.mean == pytest.approx(np.mean(scored), abs=1e-3)
        assert tiny_transformers._tokenizer.decode(
            ids[len(ids) - len(got.tokens) :]
        ).endswith(text.strip())


def test_a_seq2seq_model_scores_and_writes(tmp_path):
    """Scores against the model's own loss; texts against its own greedy generate()."""
    import torch

    with engines.make(
        "transformers",
        model=str(tiny_model.build_seq2seq(tmp_path / "bart")),
        device="cpu",
    ) as engine:
        sources = ["the article is long", "a"]
        targets = ["coherent", "the score is 4 out of 5"]
        for source, target, got in zip(
            sources, targets, engine.loglikelihood(sources, targets), strict=True
        ):
            ids, labels = (
                torch.tensor([engine._tokenizer(text).input_ids])
                for text in (source, target)
            )
            with torch.no_grad():
                loss = engine._model(input_ids=ids, labels=labels).loss
            assert got.mean == pytest.approx(-float(loss), abs=1e-4)
        answers = engines.complete(engine, sources, Sampling(max_tokens=6))
        ids = torch.tensor([engine._tokenizer(sources[0]).input_ids])
        made = engine._model.generate(input_ids=ids, max_new_tokens=6, do_sample=False)
        assert answers[0][0].text == engine._tokenizer.decode(
            made[0, 1:], skip_special_tokens=True
        )


# -- vLLM, and its server

SEEDED = Sampling(temperature=1.0, top_p=0.9, top_k=20, n=3, max_tokens=10)


SCHEMA = {
    "type": "object",
    "properties": {"s": {"enum": [1, 2]}},
    "required": ["s"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("engine", ["tiny_vllm", "tiny_served"])
@pytest.mark.parametrize(
    "sampling, like, form",
    [
        (GREEDY, "tiny_transformers", ".*"),
        (Sampling(max_tokens=24, repetition_penalty=1.3), "tiny_transformers", ".*"),
        (Sampling(max_tokens=40, stop=("e", "co")), "tiny_transformers", "[^e]*"),
        (Sampling(max_tokens=8, logprobs=3), "tiny_transformers", ".*"),
        (SEEDED, "tiny_vllm", ".*"),
        (
            replace(SEEDED, n=1, choice=("good", "very bad")),
            "tiny_vllm",
            "good|very bad",
        ),
        (
            replace(SEEDED, n=1, max_tokens=20, regex=r"Score: [1-5]/5"),
            "tiny_vllm",
            r"Score: [1-5]/5",
        ),
        (
            replace(SEEDED, n=1, max_tokens=60, json_schema=SCHEMA),
            "tiny_vllm",
            r'\{\s*"s"\s*:\s*[12]\s*\}',
        ),
    ],
    ids=["greedy", "penalty", "stop", "logprobs", "seeded", "choice", "regex", "json"],
)
def test_settings_mean_the_same_in_all(request, engine, sampling, like, form):
    one, two = (
        engines.complete(request.getfixturevalue(name), BATCH, sampling)
        for name in (engine, like)
    )
    # a server puts blanks into JSON, the engine in this process asks for none
    if engine != "tiny_served" or sampling.json_schema is None:
        assert told(one) == told(two)
    assert [c.key for c in one.flat] == [c.key for c in two.flat], (
        "one model, one key, whatever ran it"
    )
    ended = [c.text for c in one.flat if c.finish_reason == "stop"]
    assert len(ended) > len(one.flat) / 4 or form == ".*"
    assert all(re.fullmatch(form, text, re.DOTALL) for text in ended), ended
    for a, b in zip(one.flat, two.flat, strict=True):
        assert (
            (a.logprobs is None) == (b.logprobs is None) == (sampling.logprobs is None)
        )
        # a server's text completion names no token that ends the text
        left_out = len(b.logprobs or ()) - len(a.logprobs or ())
        assert left_out == 0 or (engine == "tiny_served" and left_out > 0)
        for left, right in zip(a.logprobs or (), b.logprobs or (), strict=False):
            shared = left.keys() & right.keys()
            assert shared and all(
                left[token] == pytest.approx(right[token], abs=1e-4) for token in shared
            )
            if engine == "tiny_vllm":
                assert (
                    next(iter(left)) == next(iter(right))
                    and left.keys() == right.keys()
                )
                assert len(left) in (3, 4) and max(left.values()) <= 0


@pytest.mark.parametrize("name", ["tiny_transformers", "tiny_vllm"])
def test_a_draw_depends_on_its_seed_alone(request, monkeypatch, tmp_path, name):
    """In any order, in batches of any size, in a run that goes on from another's."""
    engine = request.getfixturevalue(name)
    store = Store(tmp_path)
    sampling = Sampling(temperature=1.0, top_p=0.95, top_k=50, n=5, max_tokens=12)
    one = engines.complete(engine, PROMPTS[:6], sampling)
    assert len({c.text for c in one.flat}) > 20
    monkeypatch.setattr(engine, "batch_size", 2, raising=False)
    assert texts(one) == texts(engines.complete(engine, PROMPTS[5::-1], sampling))[::-1]
    engines.complete(engine, PROMPTS[:3], replace(sampling, n=2), store)
    resumed = engines.complete(engine, PROMPTS[:6], sampling, store)
    assert texts(resumed) == texts(one) and resumed.progress.stored == 6
    assert texts(
        engines.complete(engine, PROMPTS[:6], replace(sampling, seed=1))
    ) != texts(one)


@pytest.mark.parametrize(
    "engine, said",
    [
        ("tiny_vllm", "maximum model length"),
        ("tiny_served", "HTTP 400"),
        ("tiny_transformers", f"the model takes 1 to {CONTEXT}"),
    ],
)
def test_a_prompt_that_is_too_long_is_named_and_the_rest_is_done(
    request, greedy, engine, said
):
    answers = engines.complete(
        request.getfixturevalue(engine), [LONG, PROMPTS[0]], GREEDY
    )
    assert [failure.id for failure in answers.failed] == [
        "long"
    ] and said in answers.failed[0].reason
    assert answers[1][0].text == greedy[0][0].text


REFUSED = [
    ("tiny_vllm", {"regex": r"(a)\1"}),
    ("tiny_vllm", {"json_schema": {"$ref": "#/nowhere"}}),
    ("tiny_vllm", {"logprobs": 10**6}),
    ("tiny_vllm", {"temperature": 1e9}),
]


@pytest.mark.parametrize("name, settings", REFUSED)
def test_settings_are_refused_before_the_first_prompt(request, name, settings):
    engine = request.getfixturevalue(name)
    with pytest.raises(UnsupportedSetting, match="vLLM refuses the settings"):
        engines.complete(engine, ["a"], Sampling(max_tokens=2, **settings))
    assert (
        engines.complete(engine, ["a"], Sampling(max_tokens=2)).flat[0].finish_reason
        == "length"
    )


def test_a_full_context_ends_the_text(tiny_vllm, tiny_transformers):
    near = ["word " * 1010, "fine"]
    one, two = (
        engines.complete(engine, near, Sampling(max_tokens=100))
        for engine in (tiny_vllm, tiny_transformers)
    )
    assert told(one) == told(two)
    [full] = one[0]
    assert (
        full.finish_reason == "length"
        and CONTEXT <= full.prompt_tokens + full.completion_tokens <= CONTEXT + 1
    )


def test_an_interrupted_vllm_run_leaves_the_engine_usable(tiny_vllm, tmp_path, greedy):
    def report(progress, batch):
        if progress.done:
            raise KeyboardInterrupt

    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        engines.complete(tiny_vllm, BATCH, GREEDY, store, report)
    kept = len(store)
    assert (
        0 < kept < len(BATCH)
        and not tiny_vllm._llm.llm_engine.has_unfinished_requests()
    )
    answers = engines.complete(tiny_vllm, BATCH, GREEDY, store)
    assert told(answers) == told(greedy)
    assert answers.progress.stored == kept
