"""HD-Eval: a hierarchy of criteria, each scored by a language model, joined by an aggregator fitted on human ratings.

Source: HD-Eval (Liu et al. 2024), section 2.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.engines import Sampling
from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.hdeval import ratings, saving
from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator
from nlgeval_lib.evaluators.hdeval.criteria import CriteriaTree, Node
from nlgeval_lib.evaluators.hdeval.decompose import TEMPLATE, Growth, Trained, train
from nlgeval_lib.evaluators.hdeval.scoring import HIGH, LOW, CriteriaScores, Task, missing_row
from nlgeval_lib.evaluators.judge import Judge, combine, make_sampling
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.parsers.ratings import rating
from nlgeval_lib.prompts import Template, template
from nlgeval_lib.records import Completion, Judgment, Sample, Status


class HDEval(Judge):
    """Ratings as experts would give them, for each aspect that the training ratings have.

    task: summary, dialogue, data_to_text, general, or a `Task`. criteria: a published decomposition (summeval,
    topical_chat, data_to_text), a `CriteriaTree`, or names of aspects (with definitions) to grow a tree from; the
    default is the task's published one. aggregator: lr, ridge, dt, rf, mlp, or without fitting average and criterion;
    or an `Aggregator` with settings of its own. seed: of everything random here. impute, max_missing, groups: see
    `Aggregator`.

    Ablations: `layers` uses the criteria of some layers only ((1, 2) is Table 4's "w/o Layer 3"; 0 is the overall
    criterion), `use` some criteria only (Figure 5), `fit(share=...)` part of the training data (Figure 4).

        judge = HDEval(task="summary", aggregator="mlp", engine=engine, store=store)
        judge.fit(train_frame)            # or judge.train(train_frame), which also grows the criteria
        scores = judge.score(test_frame)  # a long frame: one row an output and aspect

    Source: HD-Eval, section 2; sampling of appendix C.3.
    """

    name = "hdeval"
    defaults: Mapping[str, Any] = MappingProxyType({"temperature": 0.0, "top_p": 1.0, "max_tokens": 32})
    decompose_defaults: Mapping[str, Any] = MappingProxyType({"temperature": 0.0, "max_tokens": 1024})

    def __init__(
        self,
        task: str | Task = "summary",
        criteria: str | CriteriaTree | Mapping[str, str] | Iterable[str] | None = None,
        aggregator: str | Aggregator = "mlp",
        *,
        layers: Sequence[int] | None = None,
        use: Sequence[str] | None = None,
        seed: int = 0,
        impute: str = "drop",
        max_missing: float = 0.5,
        groups: Sequence[Sequence[str]] | None = None,
        decompose_sampling: Sampling | Mapping[str, Any] | None = None,
        **judge: Any,
    ) -> None:
        super().__init__(**judge)
        self.task = Task.named(task)
        self.needs = ("output", *self.task.needs)
        self.tree = _tree(criteria, self.task)
        self.layers = None if layers is None else tuple(sorted(set(layers)))
        self.use = None if use is None else tuple(use)
        self.seed = seed
        if isinstance(aggregator, str):
            aggregator = Aggregator(aggregator, seed=seed, impute=impute, max_missing=max_missing, groups=groups)
        elif impute != "drop" or max_missing != 0.5 or groups is not None:
            raise ValueError("impute, max_missing and groups belong to the Aggregator that was given")
        if self.use is not None and self.layers is not None:
            raise ValueError("layers and use both say which criteria are scored; give one of them")
        self.aggregator = aggregator
        self.decompose_sampling = make_sampling(self.decompose_defaults, decompose_sampling)
        self.grown = False  # whether a model decomposed the criteria
        self.used()

    # -- criteria -------------------------------------------------------------------------------------------------

    def used(self) -> list[Node]:
        """The criteria that are scored, in the tree's order. Raises: ValueError for those that it does not have."""
        if self.use is not None:
            wanted = [self.tree.node(id).id for id in self.use]
            if not wanted:
                raise ValueError("use is empty: name at least one criterion")
            return [node for node in self.tree.walk() if node.id in wanted]
        depth = self.tree.depth
        if self.layers is not None and not (self.layers and set(self.layers) <= set(range(depth + 1))):
            raise ValueError(f"no criteria in layers {self.layers}: the tree has layers 0 to {depth}")
        return self.tree.nodes(self.layers)

    def features(self, data: Any, **ways: Any) -> CriteriaScores:
        """The scores of each row or sample on the criteria in use. `ways`: engine, store, progress."""
        return staged.run(self.criteria_stages(self.given(data), self.used()), self.ask(**ways))

    def criteria_stages(
        self, samples: Sequence[Sample], nodes: Sequence[Node], name: str = "criteria"
    ) -> Stages[CriteriaScores]:
        """Every sample on every criterion; samples that look alike are asked once, whatever their aspects.

        Requests of one criterion stand together, as their prompts begin alike.
        """
        shown = [self.task.show(sample) for sample in samples]
        first = {text: row for row, text in reversed(list(enumerate(shown)))}
        place = {text: number for number, text in enumerate(first)}
        requests = [
            self.chat.request(self.task.prompt(node, text), f"{samples[row].id}#{node.id}")
            for node in nodes
            for text, row in first.items()
        ]
        answers = yield Stage(name, requests, self.shaped(), self.stand_in)
        judged = [combine([self.read(completion) for completion in draws], self.missing) for draws in answers]
        rows = [tuple(judged[number :: len(first)]) for number in range(len(first))]
        return CriteriaScores(tuple(node.id for node in nodes), tuple(rows[place[text]] for text in shown))

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """The score of one criterion, 1 to 5, at the beginning of its completion."""
        return rating(completion.text, LOW, HIGH).judgment()

    def form(self, stage: str = "score") -> dict[str, Any]:
        """A whole number from 1 to 5, or for the stage "decompose" a short list of names with definitions."""
        if stage == "decompose":
            return {"regex": r"(- [A-Z][a-z]{3,12}: [A-Z][a-z ]{8,40}[.]\n){2,4}"}
        return {"choice": tuple(map(str, range(LOW, HIGH + 1)))}

    # -- learning -------------------------------------------------------------------------------------------------

    def fit(self, data: Any, human: Any = None, *, share: float = 1.0, **ways: Any) -> HDEval:
        """Score the criteria of the training outputs and fit the aggregator on their ratings.

        data: a long frame with `aspect` and `human`, an items frame with `human_<target>`, or samples with `human`
        ([samples, targets]). share: the random part of the outputs that is used. `ways`: engine, store, progress.

        Raises: ValueError where there is nothing to learn from.
        """
        outputs, rated = self._training(data, human, share)
        aggregator = self.new_aggregator(self.tree, rated.columns)
        scores = staged.run(self.criteria_stages(outputs, self._needed(aggregator, rated.columns)), self.ask(**ways))
        self.aggregator = aggregator.fit(scores.frame(), rated)
        return self

    def train(
        self, data: Any, human: Any = None, *, growth: Growth | None = None, share: float = 1.0, **ways: Any
    ) -> Trained:
        """Algorithm 1: grow the tree from its first layer and fit the aggregator, layer by layer.

        Afterwards this evaluator has the finished tree and aggregator; `history` says what each iteration did.
        Raises: ValueError where there is nothing to learn from, or only some criteria are to be used.
        """
        trained = staged.run(self.training_stages(data, human, growth=growth, share=share), self.ask(**ways))
        self.tree, self.aggregator, self.grown = trained.tree, trained.aggregator, True
        return trained

    def training_stages(
        self, data: Any, human: Any = None, *, growth: Growth | None = None, share: float = 1.0
    ) -> Stages[Trained]:
        """The stages of `train`, for an engine or a plan."""
        if self.layers is not None or self.use is not None:
            raise ValueError("training grows the whole tree: leave out layers and use, and set Growth(layers=...)")
        return train(self, *self._training(data, human, share), growth or Growth())

    def new_aggregator(self, tree: CriteriaTree, targets: Iterable[str]) -> Aggregator:
        """An aggregator with this evaluator's settings, not fitted yet; `criterion` knows each target's criterion."""
        if self.aggregator.kind != "criterion":
            return self.aggregator.fresh()
        given, used = self.aggregator.options, self.used()
        alone = used[0].id if len(used) == 1 else None
        return self.aggregator.fresh(**{t: given.get(t) or alone or tree.of_target(t) or t for t in targets})

    def _needed(self, aggregator: Aggregator, targets: Iterable[str]) -> list[Node]:
        """The criteria in use that the aggregator reads."""
        if aggregator.kind != "criterion":
            return self.used()
        picked = {aggregator.options[target] for target in targets}
        return [node for node in self.used() if node.id in picked] or self.used()

    def _training(self, data: Any, human: Any, share: float) -> tuple[tuple[Sample, ...], pd.DataFrame]:
        given = tuple(self.given(data))
        if human is not None:
            samples, rated = given, ratings.of_columns(human, len(given))
        elif isinstance(data, pd.DataFrame):
            samples, rated = ratings.of_frame(data, given, [self.task.show(sample) for sample in given])
        else:
            raise ValueError("samples without ratings: give human, a frame with a row a sample and a column a target")
        chosen = ratings.training_share(len(samples), share, self.seed)
        return tuple(samples[i] for i in chosen), rated.iloc[chosen].reset_index(drop=True)

    # -- scoring --------------------------------------------------------------------------------------------------

    def stages(self, samples: Sequence[Sample]) -> Stages[list[Judgment]]:
        """The criteria of every different output, then for each sample the rating of its aspect."""
        aggregator = self._ready(samples)
        columns = [self._target(sample, aggregator) for sample in samples]
        scores = yield from self.criteria_stages(samples, self._of_aggregator(aggregator))
        predicted = aggregator.predict(scores.frame()).to_numpy()
        return [
            self._judgment(scores.judgments[row], aggregator, float(predicted[row, column]), aggregator.targets[column])
            for row, column in enumerate(columns)
        ]

    def _of_aggregator(self, aggregator: Aggregator) -> list[Node]:
        """The criteria that a fitted aggregator reads, in its order. Raises: ValueError for one the tree lacks."""
        return [self.tree.node(id) for id in aggregator.criteria]

    def _judgment(self, row: Sequence[Judgment], aggregator: Aggregator, value: float, target: str) -> Judgment:
        names = aggregator.criteria
        if aggregator.kind == "criterion":
            place = names.index(aggregator.own(target))
            names, row = (names[place],), (row[place],)
        details = {
            "target": target,
            "criteria": {name: judgment.value for name, judgment in zip(names, row, strict=True)},
            "n_criteria": len(row),
            "n_missing_criteria": sum(judgment.status is not Status.OK for judgment in row),
        }
        if np.isnan(value):
            return missing_row(row, names, aggregator.impute, details)
        return Judgment(value, Status.OK, "", details)

    def _ready(self, samples: Sequence[Sample]) -> Aggregator:
        """The aggregator; one that needs no ratings is made ready for the aspects of the samples."""
        if self.aggregator.fitted:
            return self.aggregator
        if self.aggregator.needs_ratings:
            raise ValueError(f"hdeval: the aggregator {self.aggregator.kind!r} is not fitted; call fit, train or load")
        targets = list(dict.fromkeys(sample.aspect for sample in samples)) or [""]
        aggregator = self.new_aggregator(self.tree, targets)
        return aggregator.unfitted([node.id for node in self._needed(aggregator, targets)], targets)

    def _target(self, sample: Sample, aggregator: Aggregator) -> int:
        if sample.aspect in aggregator.targets:  # without ratings, "" stands for a sample's overall quality
            return aggregator.targets.index(sample.aspect)
        if not sample.aspect and len(aggregator.targets) == 1:
            return 0
        raise ValueError(
            f"sample {sample.id!r}: aspect {sample.aspect!r} is none of the targets {', '.join(aggregator.targets)}; "
            "give a column 'aspect' that names one"
        )

    # -- who said it, keeping -------------------------------------------------------------------------------------

    def settings(self) -> dict[str, Any]:
        """Task, criteria and aggregator."""
        return {
            "task": self.task.name,
            "criteria": f"{len(self.used())}#{_digest(self.used())}",
            "layers": "all" if self.layers is None else "+".join(map(str, self.layers)),
            **self.aggregator.signature(),
        }

    def templates(self) -> tuple[Template, ...]:
        """The scoring prompt, and the decomposition prompt where the tree was grown."""
        return (self.task.evaluate, *([template(TEMPLATE)] if self.grown else []))

    def save(self, path: Any) -> None:
        """Write criteria, aggregator and settings to a JSON file (whole or not at all)."""
        saving.save(self, path)

    @classmethod
    def load(cls, path: Any, **judge: Any) -> HDEval:
        """The evaluator of a file, with an engine, store and other settings of a judge.

        Nothing in the file is run. Raises: ValueError where it is no saved evaluator; OSError.
        """
        return saving.load(cls, path, **judge)


def _digest(nodes: Sequence[Node]) -> str:
    """Six hexadecimal digits that change with the criteria's ids, names, definitions and parents."""
    words = [(n.id, n.criterion.name, n.criterion.definition, n.parent and n.parent.name) for n in nodes]
    return hashlib.sha256(json.dumps(words, ensure_ascii=True).encode()).hexdigest()[:6]


def _tree(criteria: Any, task: Task) -> CriteriaTree:
    if isinstance(criteria, CriteriaTree):
        return criteria
    if criteria is None:
        if not task.criteria:
            raise ValueError(f"task {task.name!r} has no published criteria: give names of aspects, or a CriteriaTree")
        criteria = task.criteria
    if isinstance(criteria, str):
        return CriteriaTree.published(criteria)
    return CriteriaTree.of(criteria)
