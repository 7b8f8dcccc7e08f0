"""Iterative alignment training: decompose criteria into finer ones, score, aggregate, attribute, prune, layer by layer.

Source: HD-Eval, section 2.4, Algorithm 1; appendix C.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from nlgeval_lib.evaluators.hdeval import attribution
from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator
from nlgeval_lib.evaluators.hdeval.criteria import CriteriaTree, finer, values
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.records import Judgment, Sample

STAND_IN = "\n".join(f"{n}. Finer criterion {n}: how well the text does in part {n}." for n in range(1, 5))


@dataclass(frozen=True)
class Growth:
    """How the tree grows. layers: how many at most. children: new criteria below one at most. keep: how many criteria
    of a layer, the most important by permutation, are decomposed further; layer 1 is decomposed whole.

    Source: HD-Eval, appendix C.2 (3 layers, 4 children); 4 criteria of layer 2 are decomposed in Figure 3.
    Raises: ValueError for numbers below 1.
    """

    layers: int = 3
    children: int = 4
    keep: int = 4

    def __post_init__(self) -> None:
        if min(self.layers, self.children, self.keep) < 1:
            raise ValueError(f"{self}: whole numbers of at least 1 are needed")


@dataclass(frozen=True)
class Layer:
    """What one iteration did: which criteria it decomposed and into what, why some gave nothing, what matters since."""

    layer: int
    criteria: tuple[str, ...]
    decomposed: Mapping[str, tuple[str, ...]]
    failed: Mapping[str, str]
    kept: tuple[str, ...]
    importance: pd.DataFrame | None


@dataclass(frozen=True)
class Trained:
    """The finished tree and aggregator, what each iteration did, and the scores of the training outputs: criterion ->
    a judgment an output.
    """

    tree: CriteriaTree
    aggregator: Aggregator
    history: tuple[Layer, ...]
    scores: Mapping[str, Sequence[Judgment]]


def grow(judge: Any, outputs: Sequence[Sample], human: pd.DataFrame, growth: Growth) -> Stages[Trained]:
    """Algorithm 1 on the training outputs and their ratings [outputs, targets], as stages to be asked.

    judge: the `HDEval` whose tree's first layer (the aspects that the experts rated) is the beginning. Ends early where
    no criterion could be decomposed; `history` says why.
    """
    tree = judge.tree.up_to(1)
    history: list[Layer] = []
    aggregator = judge.new_aggregator(tree, human.columns)
    scores: dict[str, list[Judgment]] = {}
    decomposed: dict[str, tuple[str, ...]] = {}
    failed: dict[str, str] = {}
    for number in range(1, growth.layers + 1):
        if number > 1:
            chosen = [node.criterion for node in tree.nodes([number - 1]) if node.id in history[-1].kept]
            asked = [(judge.task.decomposition_prompt(one, growth.children), f"decompose {one.id}") for one in chosen]
            requests = [judge.chat.request(*one) for one in asked]
            sampling = judge.shaped("decompose", judge.decompose_sampling)
            answers = yield Stage(f"decompose into layer {number}", requests, sampling, STAND_IN)
            decomposed, failed = {}, {}
            for parent, draws in zip(chosen, answers, strict=True):
                children, why = finer(draws[0], parent, growth.children)
                if why:
                    failed[parent.id] = why
                else:
                    tree = tree.with_children(parent.id, children)
                    decomposed[parent.id] = tuple(child.id for child in tree.node(parent.id).criterion.children)
            if not decomposed:
                history.append(Layer(number, (), {}, failed, (), None))
                break
        nodes = tree.nodes([number])
        scores |= yield from judge.criteria_stages(outputs, nodes, f"layer {number}")
        X = values(scores)
        aggregator = judge.new_aggregator(tree, human.columns).fit(X, human)
        names = tuple(node.id for node in nodes)
        kept: tuple[str, ...] = ()
        importance: pd.DataFrame | None = None
        if number < growth.layers:
            importance = attribution.permutation_importance(aggregator, X, human, seed=judge.seed)
            kept = names if number == 1 else tuple(attribution.top(importance, names, growth.keep))
        history.append(Layer(number, names, decomposed, failed, kept, importance))
    return Trained(tree, aggregator, tuple(history), scores)
