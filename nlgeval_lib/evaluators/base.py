"""What an evaluator is, how it is found by name, and the frame that it returns."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.names import meant
from nlgeval_lib.records import Judgment, Status

COLUMNS = ["value", "status", "reason"]


class Unavailable(RuntimeError):
    """What an evaluator needs (a model, a word list, a package) is not on this machine; the message says what to do."""


@runtime_checkable
class Evaluator(Protocol):
    """Anything that gives each output of a frame a score, or a reason why there is none."""

    name: str

    def signature(self) -> str:
        """Everything that determines a score but the texts, as `name|key:value|...`."""
        ...

    def score(self, frame: pd.DataFrame) -> pd.DataFrame:
        """`value, status, reason` for each row of `frame`, with the same index."""
        ...


# -- by name -----------------------------------------------------------------------------------------------------------

_registry: dict[str, str | Callable[..., Any]] = {}


def register(name: str, target: str | Callable[..., Any] | None = None) -> Any:
    """Make an evaluator known by `name`; also a decorator.

    target: a class, or `"package.module:Class"`, imported when it is asked for.

    Raises: ValueError if the name is taken by another evaluator.
    """
    if target is None:
        return lambda cls: (register(name, cls), cls)[1]
    known = _registry.get(name)
    if known is not None and _address(known) != _address(target):
        raise ValueError(f"evaluator {name!r} is {_address(known)} already; choose another name")
    _registry[name] = target
    return target


def get(name: str) -> Callable[..., Any]:
    """The class registered as `name`; call it with its options. Raises: ValueError with the nearest names."""
    try:
        target = _registry[name]
    except KeyError:
        hint = meant(name, _registry, ".", n=3)
        raise ValueError(f"no evaluator {name!r}{hint} Known: {', '.join(names())}") from None
    if isinstance(target, str):
        module, _, attribute = target.partition(":")
        target = getattr(importlib.import_module(module), attribute)
    return target


def names() -> list[str]:
    """The names of all registered evaluators, sorted."""
    return sorted(_registry)


def _address(target: str | Callable[..., Any]) -> str:
    return target if isinstance(target, str) else f"{target.__module__}:{target.__qualname__}"


def signature(name: str, **settings: Any) -> str:
    """`name|key:value|...` in the order given; booleans read yes and no, numbers as short as they are exact.

    Raises: ValueError where a value holds the separator.
    """
    parts = [name]
    for setting, value in settings.items():
        text = ("no", "yes")[value] if isinstance(value, bool) else str(value)
        if "|" in text or "\n" in text:
            raise ValueError(
                f"signature: {setting} is {text!r}; '|' and line breaks separate parts and cannot be in one"
            )
        parts.append(f"{setting}:{text}")
    return "|".join(parts)


# -- the score frame ---------------------------------------------------------------------------------------------------


def score_frame(
    index: pd.Index, judgments: Iterable[Judgment], signature: str = "", details: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """The frame `value, status, reason` of one judgment a row; `attrs` carry the signature and what else was counted.

    Raises: ValueError if there are not as many judgments as rows, or a value is infinite.
    """
    judgments = list(judgments)
    if len(judgments) != len(index):
        raise ValueError(f"{len(judgments)} judgments for {len(index)} rows; give one a row")
    for label, judgment in zip(index, judgments, strict=True):
        if math.isinf(judgment.value):
            raise ValueError(f"row {label!r}: value {judgment.value}; a score is a number, or NaN with a reason")
        if judgment.status is not Status.OK and not judgment.reason:
            raise ValueError(f"row {label!r}: status {judgment.status.value!r} without a reason")
    frame = pd.DataFrame(
        {
            "value": np.array([j.value for j in judgments], dtype=np.float64),
            "status": [j.status.value for j in judgments],
            "reason": [files.whole(j.reason) for j in judgments],
        },
        index=index,
        columns=COLUMNS,
    )
    frame.attrs.update(signature=signature, details=dict(details or {}))
    return frame
