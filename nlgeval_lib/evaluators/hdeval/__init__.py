"""HD-Eval: criteria in a hierarchy, scored by a language model, aggregated by what experts prefer. See `HDEval`."""

from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator, register
from nlgeval_lib.evaluators.hdeval.attribution import overall, permutation_importance, shap_values, top, weights
from nlgeval_lib.evaluators.hdeval.criteria import CriteriaTree, Criterion, Task, values
from nlgeval_lib.evaluators.hdeval.evaluator import HDEval
from nlgeval_lib.evaluators.hdeval.growth import Growth
from nlgeval_lib.evaluators.hdeval.sweeps import predictions

__all__ = [
    "Aggregator", "CriteriaTree", "Criterion", "Growth", "HDEval", "Task", "overall", "permutation_importance",
    "predictions", "register", "shap_values", "top", "values", "weights",
]  # fmt: skip
