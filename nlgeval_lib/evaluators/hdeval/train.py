"""Iterative alignment training: decompose, score, aggregate, attribute, prune, layer by layer.

Source: HD-Eval, section 2.4, Algorithm 1; settings: appendix C.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from nlgeval_lib.evaluators.hdeval import attribution, decompose
from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator
from nlgeval_lib.evaluators.hdeval.criteria import CriteriaTree
from nlgeval_lib.evaluators.hdeval.scoring import CriteriaScores
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.schema import Sample

if TYPE_CHECKING:
    from nlgeval_lib.evaluators.hdeval.evaluator import HDEval


@dataclass(frozen=True)
class Growth:
    """How the tree grows. layers: how many at most. children: new criteria below one at most. keep: how many criteria
    of a layer are decomposed further; layer 1 is decomposed whole. saliency: what they are chosen by.

    Source: HD-Eval, appendix C.2 (3 layers, 4 children); 4 criteria of layer 2 are decomposed in Figure 3.
    Raises: ValueError for numbers below 1 or an unknown saliency.
    """

    layers: int = 3
    children: int = 4
    keep: int = 4
    saliency: str = "permutation"

    def __post_init__(self) -> None:
        for name in ("layers", "children", "keep"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} is {value!r}; a whole number of at least 1 is needed")
        if self.saliency not in attribution.SALIENCY:
            raise ValueError(f"saliency is {self.saliency!r}; allowed: {', '.join(attribution.SALIENCY)}")


@dataclass(frozen=True)
class Layer:
    """What one iteration did: which criteria it decomposed and into what, why some gave nothing, what matters since."""

    layer: int
    criteria: tuple[str, ...]
    decomposed: Mapping[str, tuple[str, ...]]
    failed: Mapping[str, str]
    kept: tuple[str, ...]
    importance: pd.DataFrame | None

    def to_json(self) -> dict[str, Any]:
        """The iteration as JSON values."""
        return {
            "layer": self.layer,
            "criteria": list(self.criteria),
            "decomposed": {key: list(value) for key, value in self.decomposed.items()},
            "failed": dict(self.failed),
            "kept": list(self.kept),
            "importance": None if self.importance is None else self.importance.to_dict(orient="split", index=True),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Layer:
        """The iteration of `to_json`."""
        split = data["importance"]
        table = split and pd.DataFrame(split["data"], index=split["index"], columns=split["columns"], dtype=float)
        return cls(
            int(data["layer"]),
            tuple(data["criteria"]),
            {key: tuple(value) for key, value in data["decomposed"].items()},
            dict(data["failed"]),
            tuple(data["kept"]),
            None if split is None else table.rename_axis("criterion"),
        )


@dataclass(frozen=True)
class Trained:
    """The finished tree and aggregator, what each iteration did, and the scores of the training outputs."""

    tree: CriteriaTree
    aggregator: Aggregator
    history: tuple[Layer, ...]
    scores: CriteriaScores


def train(judge: HDEval, outputs: Sequence[Sample], human: pd.DataFrame, growth: Growth) -> Stages[Trained]:
    """Algorithm 1 on the training outputs and their ratings [outputs, targets], as stages to be asked.

    Starts from the tree's first layer (the aspects that the experts rated). Ends early where no criterion could be
    decomposed; `history` says why.
    """
    tree = judge.tree.up_to(1)
    history: list[Layer] = []
    aggregator, scores = judge.new_aggregator(tree, human.columns), CriteriaScores.none(len(outputs))
    decomposed: dict[str, tuple[str, ...]] = {}
    failed: dict[str, str] = {}
    for number in range(1, growth.layers + 1):
        if number > 1:
            chosen = _chosen(tree, history[-1])
            answers = yield _stage(judge, tree, chosen, growth, number)
            found = [
                decompose.read(draws[0], tree.node(id).criterion, growth.children)
                for id, draws in zip(chosen, answers, strict=True)
            ]
            before = {node.id for node in tree.walk()}
            for one in found:
                tree = tree.with_children(one.parent, one.children)
            decomposed = {d.parent: _below(tree, d.parent) for d in found if d.children}
            failed = {d.parent: d.reason for d in found if not d.children}
            if before == {node.id for node in tree.walk()}:
                history.append(Layer(number, (), {}, failed, (), None))
                break
        nodes = tree.nodes([number])
        new = yield from judge.criteria_stages(outputs, nodes, f"layer {number}")
        scores = scores + new
        X = scores.frame()
        aggregator = judge.new_aggregator(tree, human.columns).fit(X, human)
        importance: pd.DataFrame | None = None
        kept: tuple[str, ...] = ()
        if number < growth.layers:
            importance = attribution.saliency(aggregator, X, human, by=growth.saliency, seed=judge.seed)
            ids = [node.id for node in nodes]
            kept = tuple(ids) if number == 1 else tuple(attribution.top(importance, ids, min(growth.keep, len(ids))))
        history.append(Layer(number, tuple(node.id for node in nodes), decomposed, failed, kept, importance))
    return Trained(tree, aggregator, tuple(history), scores)


def _chosen(tree: CriteriaTree, last: Layer) -> list[str]:
    """The criteria to decompose next, in the order of the tree."""
    return [node.id for node in tree.nodes([last.layer]) if node.id in last.kept]


def _below(tree: CriteriaTree, id: str) -> tuple[str, ...]:
    return tuple(child.id for child in tree.node(id).criterion.children)


def _stage(judge: HDEval, tree: CriteriaTree, chosen: Sequence[str], growth: Growth, number: int) -> Stage:
    requests = [
        judge.chat.request(decompose.prompt(judge.task, tree.node(id).criterion, growth.children), f"decompose {id}")
        for id in chosen
    ]
    sampling = judge.shaped("decompose", judge.decompose_sampling)
    return Stage(f"decompose into layer {number}", requests, sampling, decompose.STAND_IN)
