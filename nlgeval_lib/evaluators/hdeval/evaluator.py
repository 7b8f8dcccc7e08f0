"""HD-Eval: a hierarchy of criteria, each scored by a language model, joined by an
aggregator fitted on ratings.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import files, prompts
from nlgeval_lib.engines import Sampling
from nlgeval_lib.evaluators.hdeval import attribution
from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator
from nlgeval_lib.evaluators.hdeval.criteria import (
    DECOMPOSE,
    CriteriaTree,
    Node,
    Task,
    finer,
    values,
)
from nlgeval_lib.evaluators.judge import (
    ChatFormat,
    Judge,
    make_sampling,
    most_frequent,
    numbers,
)
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.parsers.ratings import rating
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Completion, Judgment, Sample, Status

# printed in the prompts
LOW = 1
HIGH = 5
FORMAT = "nlgeval hdeval 3"
_PLAIN = (
    "layers",
    "use",
    "seed",
    "structured",
    "missing",
)  # settings that are JSON values as they are
STAND_IN = "\n".join(
    f"{n}. Finer criterion {n}: how well the text does in part {n}."
    for n in range(1, 5)
)


@dataclass(frozen=True)
class Growth:
    """How the tree grows: layers at most; new criteria below one at most (children);
    how many criteria of a layer, the most important by permutation, are decomposed
    further (keep; layer 1 is decomposed whole).

    Source: HD-Eval, appendix C.2 (3 layers, 4 children), Figure 3 (4 criteria of layer
    2). Raises: ValueError.
    """

    layers: int = 3
    children: int = 4
    keep: int = 4

    def __post_init__(self) -> None:
        if min(self.layers, self.children, self.keep) < 1:
            raise ValueError(f"{self}: whole numbers of at least 1 are needed")


@dataclass(frozen=True)
class Layer:
    """What one iteration did: which criteria it decomposed and into what, why some
    gave nothing, what matters since.
    """

    layer: int
    criteria: tuple[str, ...]
    decomposed: Mapping[str, tuple[str, ...]]
    failed: Mapping[str, str]
    kept: tuple[str, ...]
    importance: pd.DataFrame | None


@dataclass(frozen=True)
class Trained:
    """The finished tree and aggregator, the iterations, the scores of the training
    outputs by criterion.
    """

    tree: CriteriaTree
    aggregator: Aggregator
    history: tuple[Layer, ...]
    scores: Mapping[str, Sequence[Judgment]]


class HDEval(Judge):
    """Ratings as experts would give them, for each aspect that the training ratings
    have.

    task: summary, dialogue, data_to_text or general. criteria: a published
    decomposition (summeval, topical_chat, data_to_text; default: the task's), a
    `CriteriaTree`, or names of aspects (with definitions) to grow a tree from.
    aggregator: lr, ridge, dt, rf, mlp, or without fitting average and criterion; or an
    `Aggregator`, whose settings impute, max_missing, groups are. seed: of the
    aggregator and the importance.
    layers: only the criteria of these are used ((1, 2) is Table 4's "w/o Layer 3"; 0 is
    the overall criterion); use: only these criteria. After `fit` (or `train`, which
    also grows the criteria), `score` rates a long frame's rows.

    An output that it was fitted on is marked in its details (`seen_in_training`): its
    score is no evidence.
    Source: HD-Eval, section 2; sampling of appendix C.3.
    """

    name = "hdeval"
    defaults: Mapping[str, Any] = MappingProxyType(
        {"temperature": 0.0, "top_p": 1.0, "max_tokens": 32}
    )
    choices = numbers(LOW, HIGH)

    def __init__(
        self,
        task: str = "summary",
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
        criteria = self.task.criteria if criteria is None else criteria
        if not criteria:
            raise ValueError(
                f"task {task!r} has no published criteria: give names and questions as setting criteria"
            )
        known = (
            CriteriaTree.published(criteria) if isinstance(criteria, str) else criteria
        )
        self.tree = known if isinstance(known, CriteriaTree) else CriteriaTree.of(known)
        self.layers = None if layers is None else tuple(sorted(set(layers)))
        self.use, self.seed = None if use is None else tuple(use), seed
        if isinstance(aggregator, str):
            aggregator = Aggregator(
                aggregator,
                seed=seed,
                impute=impute,
                max_missing=max_missing,
                groups=groups,
            )
        elif (impute, max_missing, groups) != ("drop", 0.5, None):
            raise ValueError(
                "impute, max_missing and groups belong to the Aggregator that was given"
            )
        if self.use is not None and self.layers is not None:
            raise ValueError(
                "layers and use both say which criteria are scored; give one of them"
            )
        self.aggregator = aggregator
        self.decompose_sampling = make_sampling(
            {"temperature": 0.0, "max_tokens": 1024}, decompose_sampling
        )
        self.grown = False  # whether a model decomposed the criteria
        self.seen: frozenset[str] = (
            frozenset()
        )  # hashes of the outputs that the aggregator was fitted on
        self.fitted_on = (
            ""  # how many outputs those are, and a hash of them and their ratings
        )
        self.used()

    # -- criteria

    def used(self) -> list[Node]:
        """The criteria that are scored, in the tree's order.

        Raises: ValueError for those that it does not have.
        """
        if self.use is not None:
            wanted = [self.tree.node(id).id for id in self.use]
            return [node for node in self.tree.walk() if node.id in wanted]
        depth = self.tree.depth
        if self.layers is not None and not (
            self.layers and set(self.layers) <= set(range(depth + 1))
        ):
            raise ValueError(
                f"no criteria in layers {self.layers}: the tree has layers 0 to {depth}"
            )
        return self.tree.nodes(self.layers)

    def features(self, data: Any, **ways: Any) -> dict[str, list[Judgment]]:
        """Each criterion in use -> its judgment of each row or sample.

        `ways`: engine, store, progress.
        """
        return self.run(self.criteria_stages(self.given(data), self.used()), **ways)

    def criteria_stages(
        self, samples: Sequence[Sample], nodes: Sequence[Node], name: str = "criteria"
    ) -> Stages[dict[str, list[Judgment]]]:
        """Every sample on every criterion; samples that look alike are asked once,
        whatever their aspects.

        Requests of one criterion stand together, as their prompts begin alike.
        """
        shown = [self.task.show(sample) for sample in samples]
        first = {text: row for row, text in reversed(list(enumerate(shown)))}
        place = {text: number for number, text in enumerate(first)}
        requests = [
            self.chat.request(
                self.task.scoring_prompt(node, text), f"{samples[row].id}#{node.id}"
            )
            for node in nodes
            for text, row in first.items()
        ]
        answers = yield Stage(name, requests, self.shaped(), self.stand_in)
        judged = iter([self.judged(draws) for draws in answers])
        found = {node.id: [next(judged) for _ in first] for node in nodes}
        return {
            name: [column[place[text]] for text in shown]
            for name, column in found.items()
        }

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """The score of one criterion, 1 to 5, at the beginning of its completion."""
        return rating(completion.text, LOW, HIGH).judgment()

    def form(self, stage: str = "score") -> Mapping[str, Any]:
        if stage == "decompose":
            return {"regex": r"(- [A-Z][a-z]{3,12}: [A-Z][a-z ]{8,40}[.]\n){2,4}"}
        return super().form(stage)

    # -- learning

    def fit(self, data: pd.DataFrame, **ways: Any) -> HDEval:
        """Score the criteria of the training outputs and fit the aggregator on their
        ratings.

        data: a long frame with `aspect` and `human`. `ways`: engine, store, progress.
        Raises: ValueError where there is nothing to learn from.
        """
        outputs, human = self.training_data(data)
        aggregator = self.new_aggregator(self.tree, human.columns)
        scores = self.run(
            self.criteria_stages(outputs, self._read_by(aggregator, human.columns)),
            **ways,
        )
        self.aggregator = aggregator.fit(values(scores), human)
        self._note_training(outputs, human)
        return self

    def train(
        self, data: pd.DataFrame, *, growth: Growth | None = None, **ways: Any
    ) -> Trained:
        """Algorithm 1: grow the tree from its first layer and fit the aggregator, layer
        by layer; `data` as for `fit`.

        Afterwards this evaluator has the finished tree and aggregator; `history` says
        what each iteration did.
        Raises: ValueError where there is nothing to learn from, or only some criteria
        are to be used.
        """
        if self.layers is not None or self.use is not None:
            raise ValueError(
                "training grows the whole tree: leave out layers and use, and set Growth(layers=...)"
            )
        outputs, human = self.training_data(data)
        trained = self.run(self.growing(outputs, human, growth or Growth()), **ways)
        self.tree, self.aggregator, self.grown = trained.tree, trained.aggregator, True
        self._note_training(outputs, human)
        return trained

    def growing(
        self, outputs: Sequence[Sample], human: pd.DataFrame, growth: Growth
    ) -> Stages[Trained]:
        """Algorithm 1 on the training outputs and their ratings [outputs, targets], as
        stages to be asked.

        Ends early where no criterion could be decomposed; `history` says why. Source:
        HD-Eval, section 2.4.
        """
        tree = self.tree.up_to(1)
        history = list[Layer]()
        scores = dict[str, list[Judgment]]()
        aggregator = self.new_aggregator(tree, human.columns)
        for number in range(1, growth.layers + 1):
            decomposed = dict[str, tuple[str, ...]]()
            failed = dict[str, str]()
            if number > 1:
                chosen = [
                    node.criterion
                    for node in tree.nodes([number - 1])
                    if node.id in history[-1].kept
                ]
                requests = [
                    self.chat.request(
                        self.task.decomposition_prompt(one, growth.children),
                        f"decompose {one.id}",
                    )
                    for one in chosen
                ]
                sampling = self.shaped("decompose", self.decompose_sampling)
                answers = yield Stage(
                    f"decompose into layer {number}", requests, sampling, STAND_IN
                )
                for parent, draws in zip(chosen, answers, strict=True):
                    children, why = finer(draws[0], parent, growth.children)
                    if why:
                        failed[parent.id] = why
                    else:
                        tree = tree.with_children(parent.id, children)
                        decomposed[parent.id] = tuple(
                            child.id
                            for child in tree.node(parent.id).criterion.children
                        )
                if not decomposed:
                    history.append(Layer(number, (), {}, failed, (), None))
                    break
            nodes = tree.nodes([number])
            scores |= yield from self.criteria_stages(outputs, nodes, f"layer {number}")
            X = values(scores)
            aggregator = self.new_aggregator(tree, human.columns).fit(X, human)
            names = tuple(node.id for node in nodes)
            kept = tuple[str, ...]()
            importance = None
            if number < growth.layers:
                importance = attribution.permutation_importance(
                    aggregator, X, human, seed=self.seed
                )
                kept = (
                    names
                    if number == 1
                    else tuple(attribution.top(importance, names, growth.keep))
                )
            history.append(Layer(number, names, decomposed, failed, kept, importance))
        return Trained(tree, aggregator, tuple(history), scores)

    def _note_training(self, outputs: Sequence[Sample], human: pd.DataFrame) -> None:
        """Keep what tells whether an output was learnt from."""
        if self.aggregator.needs_ratings:
            shown = [_hash(self.task.show(output)) for output in outputs]
            self.seen = frozenset(shown)
            self.fitted_on = (
                f"{len(shown)}#{_hash([*shown, human.to_csv(index=False)])[:8]}"
            )

    def new_aggregator(self, tree: CriteriaTree, targets: Iterable[str]) -> Aggregator:
        """An aggregator with this evaluator's settings, not fitted yet; `criterion`
        knows each target's criterion.
        """
        if self.aggregator.kind != "criterion":
            return self.aggregator.fresh()
        given = self.aggregator.options
        used = self.used()
        alone = used[0].id if len(used) == 1 else None
        return self.aggregator.fresh(
            **{t: given.get(t) or alone or tree.of_target(t) or t for t in targets}
        )

    def _read_by(self, aggregator: Aggregator, targets: Iterable[str]) -> list[Node]:
        """The criteria in use that the aggregator reads."""
        picked = {name for target in targets for name in aggregator.behind(target)}
        return [node for node in self.used() if node.id in picked] or self.used()

    def training_data(self, frame: pd.DataFrame) -> tuple[list[Sample], pd.DataFrame]:
        """The outputs of a rated frame (same ids and text; an aspect again: another),
        and ratings [outputs, targets].

        Raises: ValueError where the frame has no ratings; ModuleNotFoundError before
        anything is asked.
        """
        if self.aggregator.needs_ratings:
            importlib.import_module("sklearn")
        given = self.given(frame)
        if "human" not in frame.columns or not any(sample.aspect for sample in given):
            raise ValueError(
                "no ratings to learn from: columns 'aspect' and 'human' are needed (--fill aspect=overall)"
            )
        ids = [
            frame[column].astype(str)
            for column in ("input_id", "system_id")
            if column in frame.columns
        ]
        same = list(
            zip(*ids, [self.task.show(sample) for sample in given], strict=True)
        )
        aspects = [sample.aspect for sample in given]
        human = pd.to_numeric(frame["human"]).to_numpy(float)
        rows = pd.DataFrame({"output": same, "aspect": aspects, "human": human})
        rows["turn"] = rows.groupby(["output", "aspect"]).cumcount()
        rows["place"] = rows.groupby(["output", "turn"], sort=False).ngroup()
        outputs = [
            dataclasses.replace(given[row], aspect="")
            for row in rows.drop_duplicates("place").index
        ]
        rated = rows.pivot(index="place", columns="aspect", values="human")[
            list(dict.fromkeys(aspects))
        ]
        return outputs, rated.reset_index(drop=True)

    # -- scoring

    def stages(self, samples: Sequence[Sample]) -> Stages[list[Judgment]]:
        """The criteria of every different output, then for each sample the rating of
        its aspect.
        """
        aggregator = self.aggregator
        if not aggregator.fitted:
            if aggregator.needs_ratings:
                way = "fit it on rated rows (--fit FILE, or --cross-fit 5), or give a fitted one (--load FILE)"
                raise ValueError(
                    f"hdeval: the aggregator {aggregator.kind!r} is not fitted: {way}"
                )
            rated = list(dict.fromkeys(sample.aspect for sample in samples)) or [""]
            aggregator = self.new_aggregator(self.tree, rated)
            aggregator.unfitted(
                [node.id for node in self._read_by(aggregator, rated)], rated
            )
        targets = [_target(sample, aggregator.targets) for sample in samples]
        scores = yield from self.criteria_stages(
            samples, [self.tree.node(id) for id in aggregator.criteria]
        )
        predicted = aggregator.predict(values(scores))
        ratings = {target: predicted[target].to_numpy(float) for target in predicted}
        judged = []
        for row, (sample, target) in enumerate(zip(samples, targets, strict=True)):
            read = {name: scores[name][row] for name in aggregator.behind(target)}
            lost = {
                name: one for name, one in read.items() if one.status is not Status.OK
            }
            details: dict[str, Any] = {
                "target": target,
                "criteria": {name: one.value for name, one in read.items()},
            }
            details |= {"n_criteria": len(read), "n_missing_criteria": len(lost)}
            if self.seen and _hash(self.task.show(sample)) in self.seen:
                details["seen_in_training"] = True
            if not np.isnan(ratings[target][row]):
                judged.append(Judgment(float(ratings[target][row]), details=details))
                continue
            status, why = most_frequent(list(lost.values()))
            some = ", ".join([*lost][:4]) + (", ..." if len(lost) > 4 else "")
            why = f"{len(lost)} of {len(read)} criteria without a score ({some}; impute {aggregator.impute}): {why}"
            judged.append(Judgment.missing(status, why, **details))
        return judged

    # -- who said it, keeping

    def settings(self) -> dict[str, Any]:
        """Task, criteria (how many, and a hash of their ids, names, definitions and
        parents) and aggregator.
        """
        words = [
            (n.id, n.criterion.name, n.criterion.definition, n.parent and n.parent.name)
            for n in self.used()
        ]
        return {
            "task": self.task.name,
            "criteria": f"{len(words)}#{_hash(words)[:6]}",
            "layers": "all" if self.layers is None else "+".join(map(str, self.layers)),
            **self.aggregator.signature(),
            **({"fitted_on": self.fitted_on} if self.fitted_on else {}),
        }

    def templates(self) -> tuple[Template, ...]:
        """The scoring prompt, and the decomposition prompt where the tree was grown."""
        return tuple(
            map(
                prompts.template,
                (self.task.evaluate, *([DECOMPOSE] if self.grown else [])),
            )
        )

    def save(self, path: Path | str) -> None:
        """Write criteria, aggregator and settings to a JSON file (whole or not at
        all).
        """
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
        files.write_text(
            path,
            json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
            + "\n",
        )

    @classmethod
    def load(cls, path: Path | str, **judge: Any) -> HDEval:
        """The evaluator of a file, with an engine, store and other settings of a judge;
        nothing in the file is run.

        Raises: ValueError where it is no saved evaluator.
        """
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                raise ValueError(f"format {data['format']!r}, needed is {FORMAT!r}")
            settings = {
                name: data[name] for name in (*_PLAIN, "sampling", "decompose_sampling")
            }
            settings |= {
                "chat": ChatFormat(**data["chat"]),
                "aggregator": Aggregator.from_json(data["aggregator"]),
            }
            self = cls(
                data["task"],
                CriteriaTree.from_json(data["tree"]),
                **{**settings, **judge},
            )
            self.grown = bool(data["grown"])
            self.fitted_on, self.seen = (
                data.get("fitted_on", ""),
                frozenset(data.get("seen", ())),
            )
            for name in self.aggregator.criteria:
                self.tree.node(name)
        except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(
                f"{path} is no saved HD-Eval evaluator: {type(error).__name__}: {error}"
            ) from None
        return self


def _target(sample: Sample, targets: Sequence[str]) -> str:
    """The target that a sample asks for; without an aspect the only one."""
    if (
        sample.aspect in targets
    ):  # without ratings, "" stands for a sample's overall quality
        return sample.aspect
    if not sample.aspect and len(targets) == 1:
        return targets[0]
    known = ", ".join(targets)
    raise ValueError(
        f"sample {sample.id!r}: aspect {sample.aspect!r} is none of the targets {known}; name one of them"
    )


def _hash(value: Any) -> str:
    """16 hexadecimal digits that stand for a JSON value."""
    return hashlib.sha256(json.dumps(value, ensure_ascii=True).encode()).hexdigest()[
        :16
    ]
