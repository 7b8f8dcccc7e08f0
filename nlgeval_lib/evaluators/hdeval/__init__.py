"""HD-Eval: criteria in a hierarchy, scored by a language model, aggregated by what
experts prefer.

2.1  decomposition, hierarchy-aware prompts (equation 1): `criteria`
2.2  aggregation of the scores (equation 2): `aggregator`, `regressors`
2.3  attribution pruning (equation 3): `attribution`
2.4  iterative alignment training (Algorithm 1): `evaluator`, with `HDEval` itself
"""

from __future__ import annotations

from nlgeval_lib.on_use import loaded_on_use

_MODULES = {
    "aggregator": ("Aggregator", "TooFewRows", "register"),
    "attribution": ("overall", "permutation_importance", "top"),
    "criteria": ("CriteriaTree", "values"),
    "evaluator": ("Growth", "HDEval"),
}
__all__ = sorted(name for names in _MODULES.values() for name in names)
# Scores that are aggregated again need neither the judge nor an engine.
__getattr__ = loaded_on_use(__name__, _MODULES)


def __dir__() -> list[str]:
    return __all__
