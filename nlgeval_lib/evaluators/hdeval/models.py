"""The fitted aggregators as plain numbers: read from scikit-learn, kept as JSON, predicting with numpy alone.

Nothing here can run code that comes with a file: a model is lists of numbers, checked when they are read.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True)
class Linear:
    """`X @ coef.T + intercept`; coef [targets, features]. Linear regression and ridge regression."""

    coef: np.ndarray
    intercept: np.ndarray
    kind: ClassVar[str] = "linear"

    def predict(self, X: np.ndarray) -> np.ndarray:
        """[rows, targets] from [rows, features]."""
        return X @ self.coef.T + self.intercept

    def to_json(self) -> dict[str, Any]:
        """The model as JSON values."""
        return {"model": self.kind, "coef": self.coef.tolist(), "intercept": self.intercept.tolist()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], features: int, targets: int) -> Linear:
        """Raises: ValueError where the numbers do not fit the features and targets."""
        return cls(_array(data, "coef", (targets, features)), _array(data, "intercept", (targets,)))


@dataclass(frozen=True)
class Perceptron:
    """Layers of weights with ReLU between them and a linear output; weights [inputs, outputs] each."""

    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]
    kind: ClassVar[str] = "perceptron"

    def predict(self, X: np.ndarray) -> np.ndarray:
        """[rows, targets] from [rows, features]."""
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            X = X @ weight + bias
            if layer < last:
                X = np.maximum(X, 0.0)
        return X

    def to_json(self) -> dict[str, Any]:
        """The model as JSON values."""
        return {
            "model": self.kind,
            "weights": [weight.tolist() for weight in self.weights],
            "biases": [bias.tolist() for bias in self.biases],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], features: int, targets: int) -> Perceptron:
        """Raises: ValueError where the layers do not fit each other, the features or the targets."""
        weights, biases = data.get("weights"), data.get("biases")
        if not isinstance(weights, list) or not isinstance(biases, list) or len(weights) != len(biases) or not weights:
            raise ValueError("perceptron: as many weights as biases are needed, one of each a layer")
        widths = [features, *(len(bias) if isinstance(bias, list) else 0 for bias in biases)]
        if widths[-1] != targets:
            raise ValueError(f"perceptron: {widths[-1]} outputs for {targets} targets")
        return cls(
            tuple(_numbers(w, "weights", (widths[i], widths[i + 1])) for i, w in enumerate(weights)),
            tuple(_numbers(b, "biases", (widths[i + 1],)) for i, b in enumerate(biases)),
        )


@dataclass(frozen=True)
class Tree:
    """One regression tree. Node 0 is the root; children have greater numbers than their parent.

    left, right [nodes]: the children, -1 in a leaf; feature, threshold [nodes]: go left where the feature, rounded to
    32 bits as scikit-learn does, is at most the threshold; value [nodes, targets], used in leaves.
    """

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    value: np.ndarray

    def predict(self, X: np.ndarray) -> np.ndarray:
        """[rows, targets] from [rows, features] of 32-bit floats."""
        return self.value[self.leaves(X, np.zeros(len(X), dtype=np.intp), np.arange(len(X)))]

    def leaves(self, X: np.ndarray, node: np.ndarray, row: np.ndarray) -> np.ndarray:
        """The leaf that each walk ends in; a walk starts at `node` with the features of `row`."""
        going = np.flatnonzero(self.left[node] >= 0)
        while len(going):
            at = node[going]
            goes_left = X[row[going], self.feature[at]] <= self.threshold[at]
            node[going] = np.where(goes_left, self.left[at], self.right[at])
            going = going[self.left[node[going]] >= 0]
        return node


_AT_ONCE = 1 << 20  # walks down a tree, so that memory stays small


@dataclass(frozen=True)
class Trees:
    """The mean of regression trees; importances [features] are the impurity decreases, which sum to 1 (or 0)."""

    trees: tuple[Tree, ...]
    importances: np.ndarray
    kind: ClassVar[str] = "trees"

    def predict(self, X: np.ndarray) -> np.ndarray:
        """[rows, targets] from [rows, features]."""
        X = np.asarray(X, dtype=np.float32)
        most = max(1, _AT_ONCE // len(self.trees))
        if len(X) > most:
            return np.concatenate([self.predict(X[start : start + most]) for start in range(0, len(X), most)])
        roots, joined = self._joined
        leaves = joined.leaves(X, np.repeat(roots, len(X)), np.tile(np.arange(len(X)), len(roots)))
        values = joined.value[leaves].reshape(len(roots), len(X), -1)
        total = values[0].copy()
        for value in values[1:]:  # one after the other: a sum in another order has other last digits
            total += value
        return total / len(self.trees)

    @functools.cached_property
    def _joined(self) -> tuple[np.ndarray, Tree]:
        """The roots, and all trees as one set of nodes: a step down is then one step for every row of every tree."""
        sizes = [len(tree.left) for tree in self.trees]
        roots = np.cumsum([0, *sizes[:-1]])

        def shifted(side: str) -> np.ndarray:
            moved = [np.where(one >= 0, one + root, -1) for one, root in zip(children(side), roots, strict=True)]
            return np.concatenate(moved)

        def children(side: str) -> list[np.ndarray]:
            return [getattr(tree, side) for tree in self.trees]

        rest = (np.concatenate(children(name)) for name in ("feature", "threshold", "value"))
        return roots, Tree(shifted("left"), shifted("right"), *rest)

    def to_json(self) -> dict[str, Any]:
        """The model as JSON values; the values of inner nodes, which nothing reads, are left out."""
        trees = [
            {
                "left": tree.left.tolist(),
                "right": tree.right.tolist(),
                "feature": tree.feature.tolist(),
                "threshold": tree.threshold.tolist(),
                "leaves": tree.value[tree.left < 0].tolist(),
            }
            for tree in self.trees
        ]
        return {"model": self.kind, "importances": self.importances.tolist(), "trees": trees}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], features: int, targets: int) -> Trees:
        """Raises: ValueError where a tree is none: lists of other lengths, a child before its parent."""
        trees = data.get("trees")
        if not isinstance(trees, list) or not trees:
            raise ValueError("trees: at least one tree is needed")
        return cls(
            tuple(_tree(tree, number, features, targets) for number, tree in enumerate(trees)),
            _array(data, "importances", (features,)),
        )


def _tree(data: Mapping[str, Any], number: int, features: int, targets: int) -> Tree:
    if not isinstance(data, Mapping) or not isinstance(data.get("left"), list) or not data["left"]:
        raise ValueError(f"tree {number}: a list `left` with one entry a node is needed")
    nodes = len(data["left"])
    left, right, feature = (_integers(data, name, nodes, number) for name in ("left", "right", "feature"))
    inner, here = left >= 0, np.arange(nodes)
    if not (inner == (right >= 0)).all():
        raise ValueError(f"tree {number}: a node with one child")
    for child in (left, right):
        if (child[inner] <= here[inner]).any() or (child >= nodes).any():
            raise ValueError(f"tree {number}: a child that is not a later node of the tree")
    if (feature[inner] < 0).any() or (feature[inner] >= features).any():
        raise ValueError(f"tree {number}: a feature outside 0..{features - 1}")
    value = np.zeros((nodes, targets))
    value[~inner] = _array(data, "leaves", (int((~inner).sum()), targets))
    return Tree(left, right, feature, _array(data, "threshold", (nodes,)), value)


@dataclass(frozen=True)
class Average:
    """The mean of all features, for every target: what is left without an aggregator."""

    targets: int
    kind: ClassVar[str] = "average"

    def predict(self, X: np.ndarray) -> np.ndarray:
        """[rows, targets] from [rows, features]."""
        return np.repeat(X.mean(axis=1, keepdims=True), self.targets, axis=1)

    def to_json(self) -> dict[str, Any]:
        """The model as JSON values."""
        return {"model": self.kind}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], features: int, targets: int) -> Average:
        """The same for every file."""
        return cls(targets)


@dataclass(frozen=True)
class Pick:
    """One feature for each target, as it is: the judge's own score of the target."""

    columns: np.ndarray
    kind: ClassVar[str] = "pick"

    def predict(self, X: np.ndarray) -> np.ndarray:
        """[rows, targets] from [rows, features]."""
        return X[:, self.columns]

    def to_json(self) -> dict[str, Any]:
        """The model as JSON values."""
        return {"model": self.kind, "columns": self.columns.tolist()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], features: int, targets: int) -> Pick:
        """Raises: ValueError for a column that is no feature."""
        columns = _integers(data, "columns", targets, 0)
        if (columns < 0).any() or (columns >= features).any():
            raise ValueError(f"pick: a column outside 0..{features - 1}")
        return cls(columns)


Model = Linear | Perceptron | Trees | Average | Pick
_MODELS = {cls.kind: cls for cls in (Linear, Perceptron, Trees, Average, Pick)}


def from_json(data: Mapping[str, Any], features: int, targets: int) -> Model:
    """The model of a file. Raises: ValueError for an unknown kind or numbers that do not fit."""
    kind = data.get("model") if isinstance(data, Mapping) else None
    if kind not in _MODELS:
        raise ValueError(f"model {kind!r}; known: {', '.join(_MODELS)}")
    return _MODELS[kind].from_json(data, features, targets)


def of_estimator(estimator: Any) -> Model:
    """The numbers of a fitted scikit-learn estimator.

    Raises: TypeError for an estimator that is none of linear, tree, forest and perceptron with ReLU.
    """
    if hasattr(estimator, "coefs_"):
        if estimator.activation != "relu" or estimator.out_activation_ != "identity":
            raise TypeError(f"a perceptron with {estimator.activation}: only relu with a linear output is kept")
        return Perceptron(tuple(map(_copy, estimator.coefs_)), tuple(map(_copy, estimator.intercepts_)))
    if hasattr(estimator, "coef_"):
        coef = np.atleast_2d(_copy(estimator.coef_))
        return Linear(coef, np.broadcast_to(_copy(estimator.intercept_), (len(coef),)).copy())
    if hasattr(estimator, "estimators_") or hasattr(estimator, "tree_"):
        members: Sequence[Any] = getattr(estimator, "estimators_", [estimator])
        return Trees(tuple(_of_tree(member.tree_) for member in members), _copy(estimator.feature_importances_))
    raise TypeError(f"{type(estimator).__name__} is no estimator that can be kept as numbers")


def _of_tree(tree: Any) -> Tree:
    return Tree(
        tree.children_left.astype(np.intp),
        tree.children_right.astype(np.intp),
        tree.feature.astype(np.intp),
        _copy(tree.threshold),
        _copy(tree.value[:, :, 0]),
    )


def _copy(values: Any) -> np.ndarray:
    return np.array(values, dtype=np.float64, order="C")  # one layout: bit-equal predictions before and after saving


def _array(data: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> np.ndarray:
    if name not in data:
        raise ValueError(f"the model has no {name!r}")
    return _numbers(data[name], name, shape)


def _numbers(values: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: numbers of shape {list(shape)} are needed") from None
    if array.size == 0 and 0 in shape:
        array = array.reshape(shape)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"{name}: finite numbers of shape {list(shape)} are needed, got shape {list(array.shape)}")
    return array


def _integers(data: Mapping[str, Any], name: str, length: int, number: int) -> np.ndarray:
    array = _array(data, name, (length,))
    if not (array == np.floor(array)).all():
        raise ValueError(f"{name} of model or tree {number}: whole numbers are needed")
    return array.astype(np.intp)
