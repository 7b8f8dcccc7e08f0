"""Everything that scores an output: metrics against a reference, and language models as
judges.

Classes are imported when asked for: `from nlgeval_lib.evaluators import Rouge`, or by
name, `evaluators.get("rouge")`. A new evaluator is one module and one line in
`_BUILT_IN`, or `@evaluators.register("name")` in a notebook.
"""

from __future__ import annotations

from typing import Any

from nlgeval_lib.evaluators.base import (
    Unavailable,
    get,
    names,
    register,
    score_frame,
    signature,
)

# Name -> module below this package, and class.
_BUILT_IN = {
    "bleu": "reference_metrics:Bleu",
    "rouge": "reference_metrics:Rouge",
    "meteor": "meteor:Meteor",
    "bertscore": "embedding_metrics:BertScore",
    "semscore": "semscore:SemScore",
    "bartscore": "learned_metrics:BartScore",
    "gptscore": "learned_metrics:GPTScore",
    "comet": "learned_metrics:Comet",
    "bleurt": "learned_metrics:Bleurt",
    "unieval": "learned_metrics:UniEval",
    "steamshp": "learned_metrics:SteamSHP",
    "geval": "geval:GEval",
    "prometheus": "prometheus:Prometheus",
    "tigerscore": "tigerscore:TigerScore",
    "hdeval": "hdeval:HDEval",
    "coascore": "coascore:CoAScore",
    "llmscore": "llmscore:LLMScore",
    "llmscore-cot": "llmscore:LLMScoreCoT",
    "prompted": "prompted:PromptedJudge",
    "preference": "preference:Preference",
}

for _name, _target in _BUILT_IN.items():
    register(_name, f"{__name__}.{_target}")

# Class -> name, for `from nlgeval_lib.evaluators import Rouge`.
_BY_CLASS = {target.partition(":")[2]: name for name, target in _BUILT_IN.items()}

__all__ = [
    "Unavailable",
    "get",
    "names",
    "register",
    "score_frame",
    "signature",
    *_BY_CLASS,
]


def __getattr__(name: str) -> Any:
    """The class of an evaluator by its own name, imported now.

    Raises: AttributeError for another name, with those there are.
    """
    if name in _BY_CLASS:
        return get(_BY_CLASS[name])
    present = ", ".join(sorted(__all__))
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}; it has {present}"
    )


def __dir__() -> list[str]:
    return sorted(__all__)
