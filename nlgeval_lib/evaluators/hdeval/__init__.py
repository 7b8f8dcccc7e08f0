"""HD-Eval: criteria in a hierarchy, scored by a language model, aggregated by what
experts prefer.

See `HDEval`.
"""

from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator, register
from nlgeval_lib.evaluators.hdeval.attribution import (
    overall,
    permutation_importance,
    predictions,
    shap_values,
    weights,
)
from nlgeval_lib.evaluators.hdeval.criteria import CriteriaTree, values
from nlgeval_lib.evaluators.hdeval.evaluator import Growth, HDEval

__all__ = [
    "Aggregator",
    "CriteriaTree",
    "Growth",
    "HDEval",
    "overall",
    "permutation_importance",
    "predictions",
    "register",
    "shap_values",
    "values",
    "weights",
]
