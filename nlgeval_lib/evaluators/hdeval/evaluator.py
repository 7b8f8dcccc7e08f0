"""Iterative alignment training (Algorithm 1), and the evaluator itself."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import pandas as pd

from nlgeval_lib import files, prompts
from nlgeval_lib.engines import Sampling
from nlgeval_lib.evaluators import schemas
from nlgeval_lib.evaluators.hdeval import attribution
from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator
from nlgeval_lib.evaluators.hdeval.criteria import (
    DECOMPOSE,
    CriteriaTree,
    Criterion,
    Node,
    Task,
    finer,
    values,
)
from nlgeval_lib.evaluators.judge import ChatFormat, Judge, most_frequent, numbers
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.parsers.ratings import rating
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Judgment, Sample, Status

# The scale of a criterion's score, as the prompts print it.
LOW = 1
HIGH = 5
FORMAT = "nlgeval hdeval 3"  # of a saved evaluator
# How a command line gives criteria that no paper has.
_OWN_CRITERIA = (
    "-s criteria=@FILE, JSON of names and questions such as "
    '{"Truth": "Is it true?", "Use": "Does it help?"}'
)
# Settings that are saved as they are, being values of JSON.
_PLAIN = ("layers", "seed", "structured", "missing")
# What a plan takes for the answer to a decomposition prompt.
_STAND_IN = "\n".join(
    f"{number}. Finer criterion {number}: how well the text does in part {number}."
    for number in range(1, 5)
)


@dataclass(frozen=True)
class Growth:
    """How the tree grows: the most layers, the most new criteria below one
    (`children`), and how many of a layer are decomposed further (`keep`).

    Raises: ValueError for a number below 1.
    Source: HD-Eval, appendix C.2 (3 layers, 4 children), Figure 3 (4 criteria).
    """

    layers: int = 3
    children: int = 4
    keep: int = 4

    def __post_init__(self) -> None:
        if min(self.layers, self.children, self.keep) < 1:
            raise ValueError(f"{self}: whole numbers of at least 1 are needed")


@dataclass(frozen=True)
class Layer:
    """What one iteration of Algorithm 1 did: the layer's number and its criteria's ids.

    decomposed: id of a criterion of the layer above -> ids of those below it.
    failed: id of a criterion that gave nothing -> the reason.
    kept: ids of this layer's criteria that are decomposed in the next iteration.
    importance: [criteria so far, targets], by permutation; None after the last one.
    """

    layer: int
    criteria: tuple[str, ...]
    decomposed: Mapping[str, tuple[str, ...]]
    failed: Mapping[str, str]
    kept: tuple[str, ...]
    importance: pd.DataFrame | None


@dataclass(frozen=True)
class Trained:
    """What training gave: the criteria, the aggregator fitted on them, a `Layer` an
    iteration, and criterion's id -> a judgment for each training output.
    """

    tree: CriteriaTree
    aggregator: Aggregator
    history: tuple[Layer, ...]
    scores: Mapping[str, Sequence[Judgment]]


class HDEval(Judge):
    """Ratings as experts would give them, for each aspect of the training ratings.

    task: summary, dialogue, data_to_text or general.
    criteria: a published decomposition (summeval, topical_chat, data_to_text; default:
    the task's), a `CriteriaTree`, or names (with definitions) to grow a tree from.
    aggregator: lr, ridge, dt, rf, mlp, average, criterion; or an `Aggregator`.
    layers: only the criteria of these are used ((1, 2) is Table 4's "w/o Layer 3"; 0 is
    the overall criterion).
    seed: of the aggregator and the importance.
    impute, groups: settings of `Aggregator`, where `aggregator` is a name.
    decompose_sampling: sampling settings of decomposition prompts.
    judge: the settings of `Judge`.

    After `fit` or `train`, `score` rates a long frame's rows. An output that it was
    fitted on is marked in its details (`seen_in_training`): its score is no evidence.
    Details: `target`; `criteria`, id -> score (NaN for none); `n_criteria`,
    `n_missing_criteria`.

    Raises: ValueError for settings that contradict each other, or unknown criteria.
    Source: HD-Eval, section 2; sampling of appendix C.3.

    Example:
    >>> from nlgeval_lib.engines import ScriptedEngine
    >>> frame = pd.DataFrame({"output": ["A bus left."], "aspect": ["wit"]})
    >>> tree = {"Timing": "Is it in time?", "Kindness": "Is it kind?"}
    >>> script = ScriptedEngine(["Score: 4", "Score: 2"])
    >>> judge = HDEval("general", criteria=tree, aggregator="average", engine=script)
    >>> judge.score(frame)["value"].item()
    3.0
    """

    name = "hdeval"
    defaults: Mapping[str, Any] = MappingProxyType(
        {"temperature": 0.0, "top_p": 1.0, "max_tokens": 32}
    )
    choices = numbers(LOW, HIGH)
    lists = ("decompose",)
    grown = False  # whether a model decomposed the criteria
    # Hashes of the outputs that the aggregator was fitted on.
    seen: frozenset[str] = frozenset()
    fitted_on = ""  # how many outputs those are, and a hash of them and their ratings

    def __init__(
        self,
        task: str = "summary",
        criteria: str | CriteriaTree | Mapping[str, str] | Iterable[str] | None = None,
        aggregator: str | Aggregator = "mlp",
        *,
        layers: Sequence[int] | None = None,
        seed: int = 0,
        impute: str = "drop",
        groups: Sequence[Sequence[str]] | None = None,
        decompose_sampling: Sampling | Mapping[str, Any] | None = None,
        **judge: Any,
    ) -> None:
        super().__init__(**judge)
        self.task = Task.named(task)
        self.needs = ("output", *self.task.needs)
        self.tree = _criteria_tree(self.task, criteria)
        self.layers = None if layers is None else tuple(sorted(set(layers)))
        self.seed = seed
        if isinstance(aggregator, str):
            aggregator = Aggregator(aggregator, seed=seed, impute=impute, groups=groups)
        elif (impute, groups) != ("drop", None):
            raise ValueError(
                "impute and groups belong to the Aggregator that was given"
            )
        self.aggregator = aggregator
        defaults = {"temperature": 0.0, "max_tokens": 1024}
        self.decompose_sampling = self.sampling_of(defaults, decompose_sampling)
        self.used()  # criteria that are not there are refused now

    @property
    def advice(self) -> str:
        """What else must be given, for the message that rows lack a column."""
        sentences = []
        if self.task.name != "general":
            sentences.append(
                f"for outputs of another kind, -s task=general and {_OWN_CRITERIA}"
            )
        if self.aggregator.needs_ratings and not self.aggregator.fitted:
            sentences.append(
                f"and the aggregator {self.aggregator.kind!r} is fitted on ratings: "
                "--fit FILE or --cross-fit 5, or -s aggregator=average without any"
            )
        return "; ".join(sentences)

    # -- criteria

    def used(self) -> list[Node]:
        """The criteria that are scored. Raises: ValueError for unknown layers."""
        nodes = self.tree.nodes(self.layers)
        layers = self.layers
        existing = {node.layer for node in nodes}
        if layers is not None and (not layers or existing != set(layers)):
            raise ValueError(
                f"no criteria in layers {layers}: "
                f"the tree has layers 0 to {self.tree.depth}"
            )
        return nodes

    def features(self, data: Any, **asking: Any) -> dict[str, list[Judgment]]:
        """Criterion's id -> its judgment of each row or sample, not aggregated."""
        stages = self.criteria_stages(self.given(data), self.used())
        return self.run(stages, **asking)

    def criteria_stages(
        self,
        samples: Sequence[Sample],
        nodes: Sequence[Node],
        name: str = "criteria",
        last: bool = True,
    ) -> Stages[dict[str, list[Judgment]]]:
        """Every sample on every criterion of `nodes`, a stage of that name; samples
        that look alike are asked once. Returns: criterion's id -> judgments.

        Source: HD-Eval, Algorithm 1, lines 7 to 13.
        """
        texts = [self.task.show(sample) for sample in samples]
        # Each different text -> the first row that has it, which names its requests.
        first_rows: dict[str, int] = {}
        for row in reversed(range(len(texts))):
            first_rows[texts[row]] = row
        requests = []
        for node in nodes:
            for text, row in first_rows.items():
                prompt = self.task.scoring_prompt(node, text)
                name_of_request = f"{samples[row].id}#{node.id}"
                requests.append(self.chat.request(prompt, name_of_request))
        sampling = self.shaped()
        answers = yield Stage(name, requests, sampling, self.stand_in, last=last)
        draws = iter(answers)
        scores = {}
        for node in nodes:
            judgments = {text: self.judged(next(draws)) for text in first_rows}
            scores[node.id] = [judgments[text] for text in texts]
        return scores

    def reader(self, sample: Sample | None = None) -> Callable[[str], Parsed]:
        return functools.partial(rating, low=LOW, high=HIGH)

    def schema(self, stage: str = "score") -> Mapping[str, Any]:
        if stage == "decompose":
            room = self.decompose_sampling.max_tokens
            return schemas.named_texts("criteria", 2, 4, room)
        return super().schema(stage)

    # -- learning

    def fit(self, data: pd.DataFrame, **asking: Any) -> Self:
        """Score the criteria of the training outputs and fit the aggregator on ratings.

        data: a long frame with `aspect` and `human`, a row for each output and aspect.
        asking: engine, store and progress, as for `judge`.
        Raises: ValueError where there is nothing to learn from.
        """
        outputs, human = self.training_data(data)
        aggregator = self.new_aggregator(self.tree, human.columns)
        nodes = self._read_by(aggregator, human.columns)
        stages = self.criteria_stages(outputs, nodes)
        scores = self.run(stages, **asking)
        self.aggregator = aggregator.fit(values(scores), human)
        self._note_training(outputs, human)
        return self

    def train(
        self, data: pd.DataFrame, *, growth: Growth | None = None, **asking: Any
    ) -> Trained:
        """Grow the tree and fit the aggregator, layer by layer; growth: None for the
        paper's numbers; else as for `fit`.

        Raises: ValueError where there is nothing to learn from, or `layers` are set.
        Source: HD-Eval, section 2.4, Algorithm 1.
        """
        if self.layers is not None:
            raise ValueError(
                "training grows the whole tree: leave out layers, and set "
                "Growth(layers=...)"
            )
        outputs, human = self.training_data(data)
        stages = self.growing(outputs, human, growth or Growth())
        trained = self.run(stages, **asking)
        self.tree = trained.tree
        self.aggregator = trained.aggregator
        self.grown = True
        self._note_training(outputs, human)
        return trained

    def growing(
        self, outputs: Sequence[Sample], human: pd.DataFrame, growth: Growth
    ) -> Stages[Trained]:
        """Algorithm 1 (whose lines the comments name) on training outputs and their
        ratings [outputs, targets]; ends early where nothing could be decomposed.
        """
        tree = self.tree.first_layer()
        history: list[Layer] = []
        scores: dict[str, list[Judgment]] = {}
        aggregator = self.new_aggregator(tree, human.columns)
        for number in range(1, growth.layers + 1):
            decomposed: dict[str, tuple[str, ...]] = {}
            failed: dict[str, str] = {}
            if number > 1:
                # Criteria decomposition (lines 3 to 6).
                upper = tree.nodes([number - 1])
                parents = [n.criterion for n in upper if n.id in history[-1].kept]
                name = f"decompose into layer {number}"
                decomposing = self._decompositions(parents, growth.children, name)
                children, failed = yield from decomposing
                if not children:
                    history.append(Layer(number, (), {}, failed, (), None))
                    break
                for id, definitions in children.items():
                    tree = tree.with_children(id, definitions)
                    added = tree.node(id).criterion.children
                    decomposed[id] = tuple(child.id for child in added)
            # Fine-grained evaluation (lines 7 to 13).
            nodes = tree.nodes([number])
            layer = f"layer {number}"
            scoring = self.criteria_stages(outputs, nodes, layer, last=False)
            scores |= yield from scoring
            # Aggregation (line 15): on all criteria so far.
            X = values(scores)
            aggregator = self.new_aggregator(tree, human.columns).fit(X, human)
            names = tuple(node.id for node in nodes)
            chosen: tuple[str, ...] = ()
            importance = None
            if number < growth.layers:
                # Attribution pruning (line 17).
                importance = attribution.permutation_importance(
                    aggregator, X, human, seed=self.seed
                )
                chosen = names
                if number > 1:
                    chosen = tuple(attribution.top(importance, names, growth.keep))
            history.append(Layer(number, names, decomposed, failed, chosen, importance))
        return Trained(tree, aggregator, tuple(history), scores)

    def _decompositions(
        self, parents: Sequence[Criterion], most: int, name: str
    ) -> Stages[tuple[dict[str, list[tuple[str, str]]], dict[str, str]]]:
        """Parent's id -> its finer criteria (equation 1), or -> why there are none."""
        requests = []
        for parent in parents:
            prompt = self.task.decomposition_prompt(parent, most)
            requests.append(self.chat.request(prompt, f"decompose {parent.id}"))
        sampling = self.shaped("decompose", self.decompose_sampling)
        answers = yield Stage(name, requests, sampling, _STAND_IN)
        children = {}
        failed = {}
        for parent, draws in zip(parents, answers, strict=True):
            listed, reason = finer(draws[0], parent, most)
            if reason:
                failed[parent.id] = reason
            else:
                children[parent.id] = listed
        return children, failed

    def _note_training(self, outputs: Sequence[Sample], human: pd.DataFrame) -> None:
        """Keep hashes of what was learnt from."""
        if self.aggregator.needs_ratings:
            hashes = [_hash(self.task.show(output)) for output in outputs]
            digest = _hash([*hashes, human.to_csv(index=False)])
            self.seen = frozenset(hashes)
            self.fitted_on = f"{len(hashes)}#{digest[:8]}"

    def new_aggregator(self, tree: CriteriaTree, targets: Iterable[str]) -> Aggregator:
        """One with this evaluator's settings, not fitted. The kind `criterion` takes
        for each target that of its options, the only one, or that name's.
        """
        if self.aggregator.kind != "criterion":
            return self.aggregator.fresh()
        nodes = self.used()
        only = nodes[0].id if len(nodes) == 1 else None
        criterion_of = {}
        for target in targets:
            chosen = self.aggregator.options.get(target) or only
            criterion_of[target] = chosen or tree.of_target(target) or target
        return self.aggregator.fresh(**criterion_of)

    def _read_by(self, aggregator: Aggregator, targets: Iterable[str]) -> list[Node]:
        """The criteria in use that the aggregator reads, all where it reads none."""
        names: set[str] = set()
        for target in targets:
            names.update(aggregator.behind(target))
        return [node for node in self.used() if node.id in names] or self.used()

    def training_data(self, frame: pd.DataFrame) -> tuple[list[Sample], pd.DataFrame]:
        """The outputs of a rated frame (samples without an aspect), and their ratings
        [outputs, targets], NaN where one is not rated. Rows with the same ids and text
        are one output; where one has an aspect again, it is another output.

        Raises: ValueError where the frame has no ratings; ModuleNotFoundError.
        """
        if self.aggregator.needs_ratings:
            # Not after hours of asking: without scikit-learn nothing can be fitted.
            importlib.import_module("sklearn")
        samples = self.given(frame)
        aspects = [sample.aspect for sample in samples]
        if "human" not in frame.columns or not any(aspects):
            raise ValueError(
                "no ratings to learn from: columns 'aspect' and 'human' are needed "
                "(--fill aspect=overall)"
            )
        keys: list[Any] = []
        for column in ("input_id", "system_id"):
            if column in frame.columns:
                keys.append(frame[column].astype(str))
        keys.append([self.task.show(sample) for sample in samples])
        human = pd.to_numeric(frame["human"]).to_numpy(float)
        rows = pd.DataFrame(
            {"output": list(zip(*keys, strict=True)), "aspect": aspects, "human": human}
        )
        # An aspect that an output has again is of its next turn; each (output, turn)
        # has a place, which is its row in the ratings.
        rows["turn"] = rows.groupby(["output", "aspect"]).cumcount()
        rows["place"] = rows.groupby(["output", "turn"], sort=False).ngroup()
        outputs = []
        for row in rows.drop_duplicates("place").index:
            outputs.append(dataclasses.replace(samples[row], aspect=""))
        ratings = rows.pivot(index="place", columns="aspect", values="human")
        ratings = ratings[list(dict.fromkeys(aspects))]
        return outputs, ratings.reset_index(drop=True)

    # -- scoring

    def stages(self, samples: Sequence[Sample]) -> Stages[list[Judgment]]:
        """The criteria of every different output, then each sample's rating. Raises:
        ValueError for an aspect that the aggregator was not fitted for.
        """
        aggregator = self._ready_aggregator(samples)
        targets = [_target(sample, aggregator.targets) for sample in samples]
        nodes = [self.tree.node(id) for id in aggregator.criteria]
        scores = yield from self.criteria_stages(samples, nodes)
        predicted = aggregator.predict(values(scores))
        ratings = {target: predicted[target].to_numpy(float) for target in predicted}
        judgments = []
        for row, target in enumerate(targets):
            behind = {name: scores[name][row] for name in aggregator.behind(target)}
            value = float(ratings[target][row])
            judgments.append(self._rated(samples[row], target, value, behind))
        return judgments

    def _ready_aggregator(self, samples: Sequence[Sample]) -> Aggregator:
        """The fitted aggregator, or one that needs no fitting. Raises: ValueError."""
        aggregator = self.aggregator
        if aggregator.fitted:
            return aggregator
        if aggregator.needs_ratings:
            raise ValueError(
                f"hdeval: the aggregator {aggregator.kind!r} is not fitted: fit it on "
                "rated rows (--fit FILE, or --cross-fit 5), give a fitted one "
                "(--load FILE), or take the mean of the criteria "
                "(-s aggregator=average)"
            )
        targets = list(dict.fromkeys(sample.aspect for sample in samples)) or [""]
        aggregator = self.new_aggregator(self.tree, targets)
        criteria = [node.id for node in self._read_by(aggregator, targets)]
        return aggregator.unfitted(criteria, targets)

    def _rated(
        self, sample: Sample, target: str, value: float, behind: Mapping[str, Judgment]
    ) -> Judgment:
        """A predicted rating with the criteria behind it; for NaN why there is none."""
        missing = [name for name in behind if behind[name].status is not Status.OK]
        details: dict[str, Any] = {
            "target": target,
            "criteria": {name: score.value for name, score in behind.items()},
            "n_criteria": len(behind),
            "n_missing_criteria": len(missing),
        }
        if self.seen and _hash(self.task.show(sample)) in self.seen:
            details["seen_in_training"] = True
        if not math.isnan(value):
            return Judgment(value, details=details)
        status, reason = most_frequent([behind[name] for name in missing])
        listed = ", ".join(missing[:4])
        if len(missing) > 4:
            listed += ", ..."
        reason = (
            f"{len(missing)} of {len(behind)} criteria without a score "
            f"({listed}; impute {self.aggregator.impute}): {reason}"
        )
        return Judgment.missing(status, reason, **details)

    # -- who said it, keeping

    def settings(self) -> dict[str, Any]:
        criteria = []
        for node in self.used():
            criterion = node.criterion
            parent = node.parent and node.parent.name
            criteria.append((node.id, criterion.name, criterion.definition, parent))
        return {
            "task": self.task.name,
            "criteria": f"{len(criteria)}#{_hash(criteria)[:6]}",
            "layers": "all" if self.layers is None else "+".join(map(str, self.layers)),
            **self.aggregator.signature(),
            "fitted_on": self.fitted_on or None,
        }

    def templates(self) -> tuple[Template, ...]:
        names = (self.task.evaluate, DECOMPOSE) if self.grown else (self.task.evaluate,)
        return tuple(map(prompts.template, names))

    def save(self, path: Path | str) -> None:
        """Write criteria, aggregator and settings to a JSON file, or nothing."""
        data = {
            "format": FORMAT,
            "signature": self.signature(),
            "task": self.task.name,
            "tree": dataclasses.asdict(self.tree),
            **{name: getattr(self, name) for name in _PLAIN},
            "sampling": dataclasses.asdict(self.sampling),
            "decompose_sampling": dataclasses.asdict(self.decompose_sampling),
            "chat": dataclasses.asdict(self.chat),
            "grown": self.grown,
            "fitted_on": self.fitted_on,
            "seen": sorted(self.seen),
            "aggregator": self.aggregator.to_json(),
        }
        text = json.dumps(
            data, allow_nan=False, ensure_ascii=False, separators=(",", ":")
        )
        files.write_text(path, text + "\n")

    @classmethod
    def load(cls, path: Path | str, **judge: Any) -> HDEval:
        """The evaluator of a file, in which nothing is run; `judge` replaces settings
        of `Judge`. Raises: ValueError where it is no saved evaluator.
        """
        try:
            data = files.from_json(Path(path).read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                raise ValueError(f"format {data['format']!r}, needed is {FORMAT!r}")
            names = (*_PLAIN, "sampling", "decompose_sampling")
            settings = {name: data[name] for name in names}
            settings["chat"] = ChatFormat(**data["chat"])
            settings["aggregator"] = Aggregator.from_json(data["aggregator"])
            tree = CriteriaTree.from_json(data["tree"])
            self = cls(data["task"], tree, **{**settings, **judge})
            self.grown = bool(data["grown"])
            self.fitted_on = data.get("fitted_on", "")
            self.seen = frozenset(data.get("seen", ()))
            for name in self.aggregator.criteria:
                self.tree.node(name)
        except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(
                f"{path} is no saved HD-Eval evaluator: {type(error).__name__}: {error}"
            ) from None
        return self


def _criteria_tree(
    task: Task, criteria: str | CriteriaTree | Mapping[str, str] | Iterable[str] | None
) -> CriteriaTree:
    """The tree that a setting means. Raises: ValueError where there is none."""
    if criteria is None:
        criteria = task.criteria
    if not criteria:
        raise ValueError(
            f"task {task.name!r} has no published criteria: "
            f"give criteria of your own, {_OWN_CRITERIA}"
        )
    if isinstance(criteria, str):
        return CriteriaTree.published(criteria)
    if isinstance(criteria, CriteriaTree):
        return criteria
    return CriteriaTree.from_criteria(criteria)


def _target(sample: Sample, targets: Sequence[str]) -> str:
    """The target that a sample asks for. Raises: ValueError naming the sample."""
    # Without ratings, "" is a target: it stands for a sample's overall quality.
    if sample.aspect in targets:
        return sample.aspect
    if not sample.aspect and len(targets) == 1:
        return targets[0]
    raise ValueError(
        f"sample {sample.id!r}: aspect {sample.aspect!r} is none of the targets "
        f"{', '.join(targets)}; name one of them"
    )


def _hash(value: Any) -> str:
    """16 hexadecimal digits that stand for a JSON value."""
    text = json.dumps(value, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
