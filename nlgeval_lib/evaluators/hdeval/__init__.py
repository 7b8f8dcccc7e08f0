"""HD-Eval: criteria in a hierarchy, scored by a language model, aggregated by what experts prefer. See `HDEval`."""

from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator, register
from nlgeval_lib.evaluators.hdeval.attribution import overall, permutation_importance, shap_values, top, weights
from nlgeval_lib.evaluators.hdeval.criteria import CriteriaScores, CriteriaTree, Criterion, Task
from nlgeval_lib.evaluators.hdeval.evaluator import HDEval
from nlgeval_lib.evaluators.hdeval.growth import Growth
from nlgeval_lib.evaluators.hdeval.sweeps import by_aggregator, by_criteria, by_share

__all__ = [
    "Aggregator", "CriteriaScores", "CriteriaTree", "Criterion", "Growth", "HDEval", "Task", "by_aggregator",
    "by_criteria", "by_share", "overall", "permutation_importance", "register", "shap_values", "top", "weights",
]  # fmt: skip
