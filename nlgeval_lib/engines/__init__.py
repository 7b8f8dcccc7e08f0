"""Engines complete prompts: vLLM, transformers, a server, a recording, a script. `complete` asks only what is missing.

    engine = engines.make("vllm", model="...")
    answers = engines.complete(engine, requests, engines.Sampling(temperature=1.0, n=3), store)

An engine's own packages are imported when one is made.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from nlgeval_lib.engines.base import Ask, Engine, EngineError, Request
from nlgeval_lib.engines.completion import Answers, Failure, Progress, complete
from nlgeval_lib.engines.sampling import Sampling, UnsupportedSetting
from nlgeval_lib.names import meant as _meant

if TYPE_CHECKING:
    from nlgeval_lib.engines.openai_compatible import OpenAIEngine
    from nlgeval_lib.engines.replay import MissingCompletions, ReplayEngine
    from nlgeval_lib.engines.scripted import ScriptedEngine
    from nlgeval_lib.engines.transformers import LogLikelihood, TransformersEngine
    from nlgeval_lib.engines.vllm import VLLMEngine

_WHERE = {
    "VLLMEngine": "vllm",
    "TransformersEngine": "transformers",
    "LogLikelihood": "transformers",
    "OpenAIEngine": "openai_compatible",
    "ReplayEngine": "replay",
    "MissingCompletions": "replay",
    "ScriptedEngine": "scripted",
}
_NAMES = {
    "vllm": "VLLMEngine",
    "transformers": "TransformersEngine",
    "openai": "OpenAIEngine",
    "replay": "ReplayEngine",
    "scripted": "ScriptedEngine",
}

__all__ = [
    "Answers",
    "Ask",
    "Engine",
    "EngineError",
    "Failure",
    "LogLikelihood",
    "MissingCompletions",
    "OpenAIEngine",
    "Progress",
    "ReplayEngine",
    "Request",
    "Sampling",
    "ScriptedEngine",
    "TransformersEngine",
    "UnsupportedSetting",
    "VLLMEngine",
    "complete",
    "make",
    "names",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def names() -> list[str]:
    """The engines' short names, as `make` takes them."""
    return list(_NAMES)


def make(name: str, /, **options: Any) -> Engine:
    """The engine of a short name, with its options.

    Raises: ValueError for an unknown name; TypeError for an unknown option; EngineError where it cannot start.
    """
    if name not in _NAMES:
        raise ValueError(f"engine {name!r}: known are {', '.join(_NAMES)}{_meant(name, _NAMES, '')}")
    return __getattr__(_NAMES[name])(**options)
