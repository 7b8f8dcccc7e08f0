"""How an evaluator is found by name, the samples that it is given, its signature,
and the frame that it returns.
"""

from __future__ import annotations

import math
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.datasets.numbers import HashedText
from nlgeval_lib.names import meant
from nlgeval_lib.records import Judgment, Sample, Status


class Unavailable(RuntimeError):
    """What an evaluator needs (a model, a word list, a package) is not on this
    machine; the message says what to do.
    """


_registry: dict[
    str, tuple[str, str | Callable[..., Any]]
] = {}  # name -> its place, and what is there


def register(name: str, target: str | Callable[..., Any] | None = None) -> Any:
    """Make an evaluator known by `name`; also a decorator. Raises: ValueError if the
    name is another evaluator's.

    target: a class with `name`, `signature()` and `score(frame)`, or
    `"package.module:Class"`, imported when asked for.
    """
    if target is None:
        return lambda cls: register(name, cls)
    place = (
        target
        if isinstance(target, str)
        else f"{target.__module__}:{target.__qualname__}"
    )
    known, _ = _registry.setdefault(name, (place, target))
    if known != place:
        raise ValueError(f"evaluator {name!r} is {known} already; choose another name")
    _registry[name] = (
        place,
        target,
    )  # a cell that is run again brings a newer class of the same name
    return target


def get(name: str) -> Callable[..., Any]:
    """The class registered as `name`; call it with its options.

    Raises: ValueError with the nearest names.
    """
    if name not in _registry:
        raise ValueError(
            f"no evaluator {name!r}{meant(name, _registry, '.', n=3)} Known: {', '.join(names())}"
        )
    _, target = _registry[name]
    return pkgutil.resolve_name(target) if isinstance(target, str) else target


def names() -> list[str]:
    """The names of all registered evaluators, sorted."""
    return sorted(_registry)


def signature(name: str, **settings: Any) -> str:
    """`name|key:value|...` in the order given, without what is None; booleans read yes
    and no.

    Raises: ValueError where a value holds the separator.
    """
    parts = [name]
    for setting, value in (
        (key, value) for key, value in settings.items() if value is not None
    ):
        text = ("no", "yes")[value] if isinstance(value, bool) else str(value)
        if "|" in text or "\n" in text:
            raise ValueError(
                f"signature: {setting} is {text!r}; '|' and line breaks cannot be in a part"
            )
        parts.append(f"{setting}:{text}")
    return "|".join(parts)


def choose(what: str, given: Any, allowed: Iterable[Any]) -> Any:
    """`given` if it is one of `allowed`. Raises: ValueError that lists them."""
    if given not in (known := tuple(allowed)):
        raise ValueError(f"{what} is {given!r}; allowed: {', '.join(map(repr, known))}")
    return given


# field of a sample -> the columns it is read from, the first that the frame has
FIELDS = {
    **{
        field: (field,)
        for field in ("output", "instruction", "context", "rubric", "aspect")
    },
    "source": ("source", "input"),
    "references": ("references", "reference"),
}


def samples(
    data: Any, needs: Iterable[str] = (), name: str = "the evaluator"
) -> list[Sample]:
    """One sample a row of a frame, in its order; or a list of samples as it is.

    needs: the fields that must hold text (`output` may be empty); others than a
    sample's go into `extra`. name: for errors. Raises: ValueError naming a missing
    column, or the first row or sample without a text that is needed.
    """
    needs = ("output", *needs)
    given = (
        _of_frame(data, needs, name) if isinstance(data, pd.DataFrame) else list(data)
    )
    for position, sample in enumerate(given):
        for field in needs:
            if field != "output" and not (
                getattr(sample, field) if field in FIELDS else sample.extra.get(field)
            ):
                which = (
                    row_name(position, data.index)
                    if isinstance(data, pd.DataFrame)
                    else f"sample {sample.id!r}"
                )
                raise ValueError(f"{which}: {field} is empty; {name} needs it")
    return given


def _of_frame(frame: pd.DataFrame, needs: Iterable[str], name: str) -> list[Sample]:
    held: dict[str, list[Any]] = {}
    for field in dict.fromkeys((*FIELDS, *needs)):
        columns = FIELDS.get(field, (field,))
        if field in needs or any(column in frame.columns for column in columns):
            texts = cells(frame, columns, name, gaps=field != "output")
            # a single empty text is no reference
            held[field] = (
                [t if any(t) else () for t in texts]
                if field == "references"
                else [t[0] if t else "" for t in texts]
            )
    keys = [
        frame[key].astype(str).tolist()
        for key in ("input_id", "system_id")
        if key in frame.columns
    ]
    keys += [held["aspect"]] if keys and "aspect" in held else []
    ids = (
        ["/".join(parts) for parts in zip(*keys, strict=True)]
        if keys
        else list(map(str, frame.index))
    )
    fields, extra = (
        [field for field in held if (field in FIELDS) is own] for own in (True, False)
    )
    return [
        Sample(
            id=id,
            extra={key: held[key][row] for key in extra},
            **{key: held[key][row] for key in fields},
        )
        for row, id in enumerate(ids)
    ]


def cells(
    frame: pd.DataFrame, columns: Sequence[str], name: str, gaps: bool = False
) -> list[tuple[str, ...]]:
    """Each row's text, of references all texts, in the first of `columns` that the
    frame has; () for a gap.

    Raises: ValueError naming a missing column, or the first row with anything but
    texts, or with a gap unless `gaps`.
    """
    column = next((one for one in columns if one in frame.columns), None)
    if column is None:
        there = ", ".join(map(str, frame.columns)) or "none"
        raise ValueError(
            f"{name} needs a column {' or '.join(map(repr, columns))}; the frame has {there}"
        )
    if isinstance(frame[column], pd.DataFrame):
        raise ValueError(f"the frame has column {column} more than once")
    found = []
    for position, value in enumerate(frame[column]):
        listed = column in FIELDS["references"] and isinstance(
            value, Sequence | np.ndarray
        )
        texts = (
            tuple(value) if listed and not isinstance(value, str | bytes) else (value,)
        )
        if gaps and pd.api.types.is_scalar(value) and pd.isna(value):
            texts = ()
        for text in texts:
            if not isinstance(text, str | HashedText):
                what = f"{type(text).__name__} {str(text)[:40]!r}"
                which = row_name(position, frame.index)
                raise ValueError(
                    f"{which}: {column} is {what}; a text is needed ('' if there is none)"
                )
        found.append(texts)
    return found


def field_of(sample: Sample, field: str) -> str:
    """A field of a sample, or an entry of its `extra`, as one text; of several
    references the first.
    """
    if field in FIELDS["references"]:
        return sample.references[0] if sample.references else ""
    return str(
        getattr(sample, field) if field in FIELDS else sample.extra.get(field, "")
    )


def row_name(position: int, index: pd.Index) -> str:
    """How an error names a row: its position, and its index label where that
    differs.
    """
    label = index.tolist()[position]
    return (
        f"row {position}" if label == position else f"row {position} (index {label!r})"
    )


def score_frame(
    index: pd.Index,
    judgments: Iterable[Judgment],
    signature: str = "",
    details: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """The frame `value, status, reason` of one judgment a row; `attrs` carry the
    signature and what else was counted.

    Raises: ValueError if there are not as many judgments as rows, or a value is
    infinite.
    """
    judgments = list(judgments)
    if len(judgments) != len(index):
        raise ValueError(
            f"{len(judgments)} judgments for {len(index)} rows; give one a row"
        )
    for label, judgment in zip(index, judgments, strict=True):
        if math.isinf(judgment.value):
            raise ValueError(
                f"row {label!r}: value {judgment.value}; a score is a number, or NaN with a reason"
            )
        if judgment.status is not Status.OK and not judgment.reason:
            raise ValueError(
                f"row {label!r}: status {judgment.status.value!r} without a reason"
            )
    frame = pd.DataFrame(
        {
            "value": np.array([j.value for j in judgments], dtype=np.float64),
            "status": [j.status.value for j in judgments],
            "reason": [files.whole(j.reason) for j in judgments],
        },
        index=index,
    )
    frame.attrs.update(signature=signature, details=dict(details or {}))
    return frame
