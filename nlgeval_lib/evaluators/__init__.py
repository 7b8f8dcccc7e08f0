"""Everything that scores an output: metrics, and language models as judges.

Classes are imported when asked for: `from nlgeval_lib.evaluators import Rouge`, or by
name, `evaluators.get("rouge")`. A new evaluator is one module and one line in
`_BUILT_IN`, or `@evaluators.register("name")` in a notebook.
"""

from __future__ import annotations

from nlgeval_lib.evaluators.base import (
    Unavailable,
    get,
    names,
    register,
    score_frame,
    signature,
)
from nlgeval_lib.on_use import loaded_on_use

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

_MODULES: dict[str, list[str]] = {}
__all__ = ["Unavailable", "get", "names", "register", "score_frame", "signature"]

for _name, _target in _BUILT_IN.items():
    register(_name, f"{__name__}.{_target}")
    _module, _, _class = _target.partition(":")
    _MODULES.setdefault(_module, []).append(_class)
    __all__ += [_class]

__getattr__ = loaded_on_use(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
