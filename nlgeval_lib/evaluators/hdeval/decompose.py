"""Iterative alignment training: decompose criteria into finer ones, score, aggregate, attribute, prune, layer by layer.

Source: HD-Eval, section 2.1, equation 1 and Figure 10 (decomposition); section 2.4, Algorithm 1; appendix C.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.evaluators.hdeval import attribution
from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator
from nlgeval_lib.evaluators.hdeval.criteria import CriteriaTree, Criterion, in_sentence
from nlgeval_lib.evaluators.hdeval.scoring import CriteriaScores, Task
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.parsers.lists import Criterion as Found
from nlgeval_lib.parsers.lists import criteria
from nlgeval_lib.records import Completion, Sample

if TYPE_CHECKING:
    from nlgeval_lib.evaluators.hdeval.evaluator import HDEval

TEMPLATE = "hdeval/decompose"
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
        for name in ("layers", "children", "keep"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} is {value!r}; a whole number of at least 1 is needed")


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
    aggregator = judge.new_aggregator(tree, human.columns)
    scores = CriteriaScores((), ((),) * len(outputs))
    decomposed: dict[str, tuple[str, ...]] = {}
    failed: dict[str, str] = {}
    for number in range(1, growth.layers + 1):
        if number > 1:
            chosen = [node.criterion for node in tree.nodes([number - 1]) if node.id in history[-1].kept]
            asked = [prompt(judge.task, criterion, growth.children) for criterion in chosen]
            ids = [f"decompose {criterion.id}" for criterion in chosen]
            requests = [judge.chat.request(*each) for each in zip(asked, ids, strict=True)]
            sampling = judge.shaped("decompose", judge.decompose_sampling)
            answers = yield Stage(f"decompose into layer {number}", requests, sampling, STAND_IN)
            decomposed, failed = {}, {}
            for parent, draws in zip(chosen, answers, strict=True):
                found = read(draws[0], parent, growth.children)
                if found.reason:
                    failed[parent.id] = found.reason
                else:
                    tree = tree.with_children(parent.id, found.children)
                    decomposed[parent.id] = tuple(child.id for child in tree.node(parent.id).criterion.children)
            if not decomposed:
                history.append(Layer(number, (), {}, failed, (), None))
                break
        nodes = tree.nodes([number])
        scores = scores + (yield from judge.criteria_stages(outputs, nodes, f"layer {number}"))
        X = scores.frame()
        aggregator = judge.new_aggregator(tree, human.columns).fit(X, human)
        names = tuple(node.id for node in nodes)
        kept: tuple[str, ...] = ()
        importance: pd.DataFrame | None = None
        if number < growth.layers:
            importance = attribution.permutation_importance(aggregator, X, human, seed=judge.seed)
            kept = names if number == 1 else tuple(attribution.top(importance, names, growth.keep))
        history.append(Layer(number, names, decomposed, failed, kept, importance))
    return Trained(tree, aggregator, tuple(history), scores)


@dataclass(frozen=True)
class Decomposition:
    """What a model proposed for one criterion: (name, definition) of each child, or the reason why there is none."""

    children: tuple[tuple[str, str], ...]
    reason: str = ""


def prompt(task: Task, criterion: Criterion, count: int) -> str:
    """The decomposition prompt for one criterion, which is named with its definition."""
    definition = re.sub(r"[\s.]+$", "", criterion.definition)
    asked = f"its {in_sentence(criterion.name)}" + (f" ({definition})" if definition else "")
    return prompts.render(TEMPLATE, task=task.task, background=task.background, criteria=asked, count=count)


def read(completion: Completion, parent: Criterion, most: int) -> Decomposition:
    """The children in a completion, at most `most`, each name once and none the parent's. Never raises on any text."""
    if completion.finish_reason == "error" or completion.error:
        return Decomposition((), completion.error or "the engine gave no completion")
    found = criteria(completion.text)
    if not found.ok:
        return Decomposition((), found.reason)
    listed, own = found.value, parent.name.casefold()
    if len(listed) == 1 and listed[0].name.casefold() == own:
        listed = listed[0].children  # the list stands under the criterion's name
    children: dict[str, tuple[str, str]] = {}
    for item in listed:
        if item.name.casefold() != own:
            children.setdefault(item.name.casefold(), (item.name, _definition(item)))
    if not children:
        return Decomposition((), "the list names nothing but the criterion itself")
    return Decomposition(tuple(children.values())[:most])


def _definition(item: Found) -> str:
    """The definition that the list gives, or the names of what stands under the item, or a bare one."""
    below = "; ".join(f"{child.name}: {child.definition}".rstrip(": ") for child in item.children)
    return item.definition or below or f"The {in_sentence(item.name)} of the text."
