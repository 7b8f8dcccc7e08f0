"""Engines complete prompts: vLLM, transformers, replicas of these, a server, a
recording, a script.

    engine = engines.make("vllm", model="...")
    sampling = engines.Sampling(temperature=1.0, n=3)
    answers = engines.complete(engine, requests, sampling, store)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nlgeval_lib.on_use import loaded_on_use

if TYPE_CHECKING:
    from nlgeval_lib.engines.base import (
        Ask,
        Engine,
        EngineError,
        Request,
        Sampling,
        UnsupportedSetting,
    )
    from nlgeval_lib.engines.completion import Answers, Failure, Progress, complete
    from nlgeval_lib.engines.openai_compatible import OpenAIEngine
    from nlgeval_lib.engines.ray import RayEngine
    from nlgeval_lib.engines.replay import ReplayEngine, ScriptedEngine
    from nlgeval_lib.engines.transformers import TransformersEngine
    from nlgeval_lib.engines.vllm import VLLMEngine

__all__ = ["Answers", "Ask", "Engine", "EngineError", "Failure", "OpenAIEngine"]
__all__ += ["Progress", "RayEngine", "ReplayEngine", "Request", "Sampling"]
__all__ += ["ScriptedEngine", "TransformersEngine", "UnsupportedSetting", "VLLMEngine"]
__all__ += ["complete", "make"]
_MODULES = {
    "base": (
        "Ask",
        "Engine",
        "EngineError",
        "Request",
        "Sampling",
        "UnsupportedSetting",
    ),
    "completion": ("Answers", "Failure", "Progress", "complete"),
    "openai_compatible": ("OpenAIEngine",),
    "ray": ("RayEngine",),
    "replay": ("ReplayEngine", "ScriptedEngine"),
    "transformers": ("TransformersEngine",),
    "vllm": ("VLLMEngine",),
}
CLASSES = {
    "vllm": "VLLMEngine",
    "transformers": "TransformersEngine",
    "openai": "OpenAIEngine",
    "replay": "ReplayEngine",
    "scripted": "ScriptedEngine",
}


__getattr__ = loaded_on_use(__name__, _MODULES)


def make(name: str, /, **options: Any) -> Engine:
    """The engine of a short name (vllm, transformers, openai, replay or scripted), with
    its class's options; model="mini" is the miniature judge of the repository.
    """
    if name not in CLASSES:
        from nlgeval_lib.names import meant

        suggestion = meant(name, CLASSES, "")
        raise ValueError(f"engine {name!r}: known are {', '.join(CLASSES)}{suggestion}")
    if options.get("model") == "mini" and name in ("vllm", "transformers"):
        from nlgeval_lib.engines.models import miniature

        options["model"] = str(miniature())
    engine: Engine = __getattr__(CLASSES[name])(**options)
    return engine


def __dir__() -> list[str]:
    return __all__
