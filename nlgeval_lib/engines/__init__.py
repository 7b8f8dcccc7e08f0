"""Engines complete prompts: vLLM, transformers, replicas of these, a server, a recording, a script.

engine = engines.make("vllm", model="...")
answers = engines.complete(engine, requests, engines.Sampling(temperature=1.0, n=3), store)
"""

from __future__ import annotations

from typing import Any

from nlgeval_lib.engines.base import Ask, Engine, EngineError, Request, Sampling, UnsupportedSetting
from nlgeval_lib.engines.completion import Answers, Failure, Progress, complete
from nlgeval_lib.engines.openai_compatible import OpenAIEngine
from nlgeval_lib.engines.ray import RayEngine
from nlgeval_lib.engines.replay import ReplayEngine, ScriptedEngine
from nlgeval_lib.engines.transformers import TransformersEngine
from nlgeval_lib.engines.vllm import VLLMEngine
from nlgeval_lib.names import meant as _meant

_ENGINES = {one.name: one for one in (VLLMEngine, TransformersEngine, OpenAIEngine, ReplayEngine, ScriptedEngine)}

__all__ = [
    "Answers",
    "Ask",
    "Engine",
    "EngineError",
    "Failure",
    "OpenAIEngine",
    "Progress",
    "RayEngine",
    "ReplayEngine",
]
__all__ += [
    "Request",
    "Sampling",
    "ScriptedEngine",
    "TransformersEngine",
    "UnsupportedSetting",
    "VLLMEngine",
    "complete",
]


def make(name: str, /, **options: Any) -> Engine:
    """The engine of a short name (vllm, transformers, openai, replay, scripted), with its options.

    Raises: ValueError for an unknown name; TypeError for an unknown option; EngineError where it cannot start.
    """
    if name not in _ENGINES:
        raise ValueError(f"engine {name!r}: known are {', '.join(_ENGINES)}{_meant(name, _ENGINES, '')}")
    return _ENGINES[name](**options)
