"""An HD-Eval evaluator as one JSON file: criteria, aggregator, settings. No pickle: fitted estimators are lists of
numbers, checked when they are read and put back into scikit-learn's own."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nlgeval_lib import files
from nlgeval_lib.evaluators.chat import ChatFormat
from nlgeval_lib.evaluators.hdeval.aggregator import Aggregator, make_estimator
from nlgeval_lib.evaluators.hdeval.criteria import CriteriaTree
from nlgeval_lib.evaluators.hdeval.scoring import Task
from nlgeval_lib.prompts.template import Slot, Template

if TYPE_CHECKING:
    from nlgeval_lib.evaluators.hdeval.evaluator import HDEval

FORMAT = "nlgeval hdeval 2"
_PLAIN = ("layers", "use", "seed", "structured")  # settings of the evaluator that are JSON values as they are
_AGGREGATOR = ("seed", "impute", "max_missing", "groups", "options")
_NODES = ("left_child", "right_child", "feature", "threshold", "impurity", "n_node_samples", "weighted_n_node_samples")


def save(judge: HDEval, path: Path | str) -> None:
    """Write the evaluator; a failure leaves an older file as it was."""
    data = {
        "format": FORMAT,
        "signature": judge.signature(),
        "task": dataclasses.asdict(judge.task),
        "tree": dataclasses.asdict(judge.tree),
        **{name: getattr(judge, name) for name in _PLAIN},
        "sampling": dataclasses.asdict(judge.sampling),
        "decompose_sampling": dataclasses.asdict(judge.decompose_sampling),
        "chat": dataclasses.asdict(judge.chat),
        "missing": judge.missing.policy,
        "grown": judge.grown,
        "aggregator": _of_aggregator(judge.aggregator),
    }
    files.write_text(path, json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":")) + "\n")


def load(cls: type[HDEval], path: Path | str, **judge: Any) -> HDEval:
    """Read an evaluator; settings in `judge` replace those of the file."""
    path = Path(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise ValueError(f"{path} is no saved HD-Eval evaluator: its format is {found!r}, needed is {FORMAT!r}")
    try:
        settings = {name: data[name] for name in (*_PLAIN, "sampling", "decompose_sampling", "missing")}
        settings["chat"] = ChatFormat(**data["chat"])
        aggregator, tree = _aggregator(data["aggregator"]), CriteriaTree.from_json(data["tree"])
        self = cls(_task(data["task"]), tree, aggregator, **{**settings, **judge})
        self.grown = bool(data["grown"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path}: {error!r}" if isinstance(error, KeyError) else f"{path}: {error}") from None
    known = {node.id for node in self.tree.walk()}
    if lost := [name for name in self.aggregator.criteria if name not in known]:
        raise ValueError(f"{path}: the aggregator needs {', '.join(lost)}, which the saved criteria do not have")
    return self


def _task(data: dict[str, Any]) -> Task:
    prompts = {"evaluate": _template(data["evaluate"]), "sample": data["sample"] and _template(data["sample"])}
    return Task(**{**data, **prompts, "needs": tuple(data["needs"])})


def _template(data: dict[str, Any]) -> Template:
    parts = tuple(part if isinstance(part, str) else Slot(part["name"]) for part in data["parts"])
    return Template(**{**data, "parts": parts, "covers": tuple(data["covers"])})


def _of_aggregator(aggregator: Aggregator) -> dict[str, Any]:
    return {
        "kind": aggregator.kind,
        **{name: getattr(aggregator, name) for name in _AGGREGATOR},
        "criteria": aggregator.criteria,
        "targets": aggregator.targets,
        "fitted": aggregator.fitted,
        "fill": None if aggregator.fill is None else aggregator.fill.tolist(),
        "notes": aggregator.notes,
        "estimators": [_numbers_of(estimator) for _, estimator in aggregator.estimators],
    }


def _aggregator(data: Mapping[str, Any]) -> Aggregator:
    """The aggregator of `_of_aggregator`. Raises: ValueError where something does not fit; KeyError."""
    self = Aggregator(data["kind"], **{name: data[name] for name in _AGGREGATOR})
    if not data["fitted"]:
        return self
    self.name(data["criteria"], data["targets"])
    self.notes, self.fitted = dict(data["notes"]), True
    if self.impute != "drop":
        self.fill = _array(data, "fill", (len(self.criteria),))
    parts, saved = self.parts(), data["estimators"]
    if len(parts) != len(saved):
        raise ValueError(f"{len(saved)} estimators for {len(parts)} groups of targets")
    self.estimators = tuple(
        (columns, restored(make_estimator(self.kind, self.seed, self.options), one, len(self.criteria), len(columns)))
        for (_, columns), one in zip(parts, saved, strict=True)
    )
    return self


def _numbers_of(estimator: Any) -> dict[str, Any]:
    """The fitted numbers of a linear model, a perceptron, a tree or a forest as JSON values."""
    if hasattr(estimator, "coefs_"):
        weights = zip(estimator.coefs_, estimator.intercepts_, strict=True)
        return {"layers": [{"weights": weight.tolist(), "bias": bias.tolist()} for weight, bias in weights]}
    if hasattr(estimator, "coef_"):
        return {"coef": estimator.coef_.tolist(), "intercept": np.asarray(estimator.intercept_).tolist()}
    trees = [member.tree_.__getstate__() for member in getattr(estimator, "estimators_", [estimator])]
    return {
        "trees": [
            {"max_depth": one["max_depth"], "values": one["values"][:, :, 0].tolist()}
            | {name: one["nodes"][name].tolist() for name in _NODES}
            for one in trees
        ]
    }


def restored(estimator: Any, data: Mapping[str, Any], features: int, targets: int) -> Any:
    """The unfitted estimator with the numbers of `_numbers_of`. Raises: ValueError where they do not fit; KeyError."""
    estimator.n_features_in_ = features
    kind = type(estimator).__name__
    if kind == "MLPRegressor":
        widths = [features, *(len(layer["bias"]) for layer in data["layers"])]
        if widths[-1] != targets:
            raise ValueError(f"perceptron: {widths[-1]} outputs for {targets} targets")
        shapes = list(zip(widths, widths[1:], data["layers"], strict=False))
        estimator.coefs_ = [_array(layer, "weights", (above, here)) for above, here, layer in shapes]
        estimator.intercepts_ = [_array(layer, "bias", (here,)) for _, here, layer in shapes]
        estimator.n_layers_, estimator.n_outputs_, estimator.out_activation_ = len(widths), targets, "identity"
    elif kind in ("LinearRegression", "Ridge"):
        estimator.coef_ = _array(data, "coef", (features,) if targets == 1 else (targets, features))
        estimator.intercept_ = _array(data, "intercept", () if targets == 1 else (targets,))
    else:
        trees = [_tree(tree, number, features, targets) for number, tree in enumerate(data["trees"])]
        if not trees:
            raise ValueError("trees: at least one tree is needed")
        members = [estimator] if kind == "DecisionTreeRegressor" else [make_estimator("dt", 0) for _ in trees]
        for member, tree in zip(members, trees, strict=True):
            member.tree_, member.n_features_in_, member.n_outputs_ = tree, features, targets
        if members[0] is not estimator:
            estimator.estimators_, estimator.n_outputs_ = members, targets
    return estimator


def _tree(data: Mapping[str, Any], number: int, features: int, targets: int) -> Any:
    """A tree of scikit-learn. Its code follows indices unchecked, so they are checked here."""
    from sklearn.tree._tree import NODE_DTYPE, Tree

    count = len(data["left_child"])
    nodes = np.zeros(count, dtype=NODE_DTYPE)
    for name in _NODES:
        nodes[name] = _array(data, name, (count,))
    left, right, feature = (nodes[name] for name in _NODES[:3])
    inner = left >= 0
    if not count or not (inner == (right >= 0)).all():
        raise ValueError(f"tree {number}: a node with one child")
    for child in (left[inner], right[inner]):
        if (child <= np.flatnonzero(inner)).any() or (child >= count).any():
            raise ValueError(f"tree {number}: a child that is not a later node of the tree")
    if (feature[inner] < 0).any() or (feature[inner] >= features).any():
        raise ValueError(f"tree {number}: a feature outside 0..{features - 1}")
    values = _array(data, "values", (count, targets))[:, :, None]
    tree = Tree(features, np.ones(targets, dtype=np.intp), targets)
    state = {"max_depth": int(data["max_depth"]), "node_count": count, "nodes": nodes, "values": values.copy()}
    tree.__setstate__(state)
    return tree


def _array(data: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> np.ndarray:
    try:
        array = np.array(data[name], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: numbers of shape {list(shape)} are needed") from None
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"{name}: finite numbers of shape {list(shape)} are needed, got shape {list(array.shape)}")
    return array
