"""What no engine is asked: prompts that cannot be written, settings that no backend can honour."""

from __future__ import annotations

import os
import warnings

import pytest
from engine_fixtures import CACHE, no_vllm

from nlgeval_lib.engines import (
    EngineError,
    Progress,
    Request,
    Sampling,
    ScriptedEngine,
    UnsupportedSetting,
    complete,
    make,
)
from nlgeval_lib.engines.store import Store

HALF = "a\ud800b"


def test_half_a_character_fails_its_own_request_only(tmp_path):
    engine, seen = ScriptedEngine(lambda request, draw: "4"), []
    requests = [Request(HALF, id="odd"), Request("fine é"), Request.chat(HALF), Request("emoji 😀")]
    with Store(tmp_path) as store:
        answers = complete(engine, requests, Sampling(), store, lambda state, batch: seen.append(state))
        assert len(store) == 2
    assert [one.finish_reason for one in answers.flat] == ["error", "stop", "error", "stop"]
    assert [failure.id for failure in answers.failed] == ["odd", "#2"] and "half a character" in answers.failed[
        0
    ].reason
    assert isinstance(seen[-1], Progress) and (seen[-1].done, seen[-1].failed, seen[-1].left) == (2, 2, 0)


def test_half_a_character_does_not_stop_a_model(tiny_transformers):
    answers = complete(tiny_transformers, [HALF, "fine"], Sampling(max_tokens=2))
    assert [one.finish_reason for one in answers.flat] == ["error", "length"]


@pytest.mark.parametrize("regex", ["([a-z", "(a", "a)", "*a", "", 5, "(" * 5000 + ")" * 5000])
def test_a_pattern_that_nobody_can_read_is_refused_before_a_model_is_loaded(regex):
    with pytest.raises(ValueError, match="regex="):
        Sampling(regex=regex)


@pytest.mark.parametrize("regex", [r"\p{L}+", "(?<name>a)", "[1-5]", "[[:alpha:]]"])
def test_a_pattern_of_another_dialect_is_left_to_the_backend(regex):
    with warnings.catch_warnings(action="error"):
        assert Sampling(regex=regex).regex == regex


@pytest.mark.parametrize(
    ("schema", "says"),
    [({"type": "nonsense"}, "json_schema at type: 'nonsense'"), ({"minimum": "1"}, "at minimum"), ("[1]", "object")],
)
def test_a_schema_that_is_none_is_refused_before_a_model_is_loaded(schema, says):
    with pytest.raises(ValueError, match=says):
        Sampling(json_schema=schema)


@pytest.mark.parametrize(
    "settings", [{"regex": r"(a)\1"}, {"json_schema": {"$ref": "#/nowhere"}}, {"logprobs": 10**6}, {"temperature": 1e9}]
)
def test_vllm_refuses_settings_before_the_first_prompt(tiny_vllm, settings):
    with pytest.raises(UnsupportedSetting, match="vLLM refuses the settings"):
        complete(tiny_vllm, ["a"], Sampling(max_tokens=2, **settings))
    assert complete(tiny_vllm, ["a"], Sampling(max_tokens=2)).flat[0].finish_reason == "length"


def test_the_environment_does_not_overrule_an_engine_argument(tiny_folder, monkeypatch):
    if no_vllm():
        pytest.skip(no_vllm())
    import vllm

    seen = []

    def load(**options):
        seen.append((options.get("kv_cache_memory_bytes"), os.environ.get("VLLM_CPU_KVCACHE_SPACE")))
        raise ValueError("only looked at")

    monkeypatch.setattr(vllm, "LLM", load)
    monkeypatch.setattr("nlgeval_lib.engines.vllm.has_gpu", lambda: False)
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    for space, options in (("", {}), ("2", {}), ("2", {"kv_cache_memory_bytes": CACHE})):
        monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", space)
        with pytest.raises(EngineError, match="only looked at"):
            make("vllm", model=str(tiny_folder), **options)
        assert os.environ["VLLM_CPU_KVCACHE_SPACE"] == space
    assert seen == [(1 << 30, None), (None, "2"), (CACHE, None)]
