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


# name -> where the evaluator is defined, and the class or where to import it from
_registry: dict[str, tuple[str, str | Callable[..., Any]]] = {}


def register(name: str, target: str | Callable[..., Any] | None = None) -> Any:
    """Make an evaluator known by `name`; also a decorator. Raises: ValueError if the
    name is another evaluator's.

    target: a class with `name`, `signature()` and `score(frame)`, or
    `"package.module:Class"`, imported when asked for.
    """
    if target is None:
        return lambda cls: register(name, cls)
    if isinstance(target, str):
        place = target
    else:
        place = f"{target.__module__}:{target.__qualname__}"
    registered, _ = _registry.get(name, (place, target))
    if registered != place:
        raise ValueError(
            f"evaluator {name!r} is {registered} already; choose another name"
        )
    # A cell that is run again brings a newer class of the same name.
    _registry[name] = (place, target)
    return target


def get(name: str) -> Callable[..., Any]:
    """The class registered as `name`; call it with its options.

    Raises: ValueError with the nearest names.
    """
    if name not in _registry:
        nearest = meant(name, _registry, ".", n=3)
        raise ValueError(f"no evaluator {name!r}{nearest} Known: {', '.join(names())}")
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
    for setting, value in settings.items():
        if value is None:
            continue
        text = str(value)
        if isinstance(value, bool):
            text = "yes" if value else "no"
        if "|" in text or "\n" in text:
            raise ValueError(
                f"signature: {setting} is {text!r}; "
                "'|' and line breaks cannot be in a part"
            )
        parts.append(f"{setting}:{text}")
    return "|".join(parts)


ALIKE = 0.7  # of short words, a choice less like the value is not suggested


class NotAllowed(ValueError):
    """A setting has none of the values that it may have; the message lists them.

    also: in words, what else it may be.
    """

    def __init__(
        self, setting: str, value: Any, allowed: Sequence[Any], also: str = ""
    ) -> None:
        self.setting = setting
        self.texts = [text for text in allowed if isinstance(text, str)]
        if also:
            self.texts.append(also)
        options = ", ".join(map(repr, allowed))
        if also:
            options = f"{options}, {also}"
        hint = meant(value, self.texts, cutoff=ALIKE)
        super().__init__(f"{setting} is {value!r}{hint} allowed: {options}")


def choose(setting: str, value: Any, allowed: Iterable[Any]) -> Any:
    """The value of a setting if it is one of `allowed`. Raises: NotAllowed."""
    allowed = tuple(allowed)
    if value not in allowed:
        raise NotAllowed(setting, value, allowed)
    return value


def named_texts(setting: str, given: Any) -> dict[str, str]:
    """Names with a text each, such as aspects with their definitions.

    Raises: ValueError naming the setting where it is something else.
    """
    texts: dict[str, str] = {}
    if isinstance(given, Mapping):
        texts.update(given)
    written = (*texts, *texts.values())
    all_texts = all(isinstance(text, str) for text in written)
    if not isinstance(given, Mapping) or not all_texts:
        raise ValueError(
            f"{setting} is {str(given)[:60]}; names with a text each are needed, "
            'such as {"Truth": "Is it true?"}'
        )
    return texts


# field of a sample -> the columns it is read from, the first that the frame has
FIELDS: dict[str, tuple[str, ...]] = {
    "output": ("output",),
    "instruction": ("instruction",),
    "context": ("context",),
    "rubric": ("rubric",),
    "aspect": ("aspect",),
    "source": ("source", "input"),
    "references": ("references", "reference"),
}


def samples(
    data: Any,
    needs: Iterable[str] = (),
    name: str = "the evaluator",
) -> list[Sample]:
    """One sample a row of a frame, in its order; or a list of samples as it is.

    needs: the fields that must hold text (`output` may be empty); others than a
    sample's go into `extra`. name: for errors. Raises: ValueError naming a missing
    column, or the first row or sample without a text that is needed.
    """
    is_frame = isinstance(data, pd.DataFrame)
    needs = tuple(needs)
    if is_frame:
        listed = _of_frame(data, ("output", *needs), name)
    else:
        listed = list(data)
    for position, sample in enumerate(listed):
        for field in needs:
            if field in FIELDS:
                text = getattr(sample, field)
            else:
                text = sample.extra.get(field)
            if not text and field != "output":
                place = f"sample {sample.id!r}"
                if is_frame:
                    place = row_name(position, data.index)
                raise ValueError(f"{place}: {field} is empty; {name} needs it")
    return listed


def _of_frame(frame: pd.DataFrame, needs: Sequence[str], name: str) -> list[Sample]:
    """One sample a row, with the fields that the frame has or must have."""
    texts: dict[str, list[Any]] = {}
    for field in dict.fromkeys((*FIELDS, *needs)):
        columns = FIELDS.get(field, (field,))
        present = any(column in frame.columns for column in columns)
        if not present and field not in needs:
            continue
        groups = cells(frame, columns, name, gaps=field != "output")
        if field == "references":
            # A single empty text is no reference.
            texts[field] = [group if any(group) else () for group in groups]
        else:
            texts[field] = [next(iter(group), "") for group in groups]
    keys = []
    for column in ("input_id", "system_id"):
        if column in frame.columns:
            keys.append(frame[column].astype(str).tolist())
    if keys and "aspect" in texts:
        keys.append(texts["aspect"])
    ids = map("/".join, zip(*keys, strict=True)) if keys else map(str, frame.index)
    extra_fields = [field for field in texts if field not in FIELDS]
    rows = []
    for row, id in enumerate(ids):
        fields = {field: column[row] for field, column in texts.items()}
        extra = {field: fields.pop(field) for field in extra_fields}
        rows.append(Sample(id=id, extra=extra, **fields))
    return rows


def cells(
    frame: pd.DataFrame,
    columns: Sequence[str],
    name: str,
    gaps: bool = False,
) -> list[tuple[str, ...]]:
    """Each row's text, of references all texts, in the first of `columns` that the
    frame has; () for a gap.

    Raises: ValueError naming a missing column, or the first row with anything but
    texts, or with a gap unless `gaps`.
    """
    present = [column for column in columns if column in frame.columns]
    if not present:
        needed = " or ".join(map(repr, columns))
        existing = ", ".join(map(str, frame.columns)) or "none"
        raise ValueError(f"{name} needs a column {needed}; the frame has {existing}")
    column = present[0]
    if isinstance(frame[column], pd.DataFrame):
        raise ValueError(f"the frame has column {column} more than once")
    groups: list[tuple[str, ...]] = []
    for position, value in enumerate(frame[column]):
        texts: tuple[Any, ...] = (value,)
        if column in FIELDS["references"] and _is_list(value):
            texts = tuple(value)
        if gaps and pd.api.types.is_scalar(value) and pd.isna(value):
            texts = ()
        for text in texts:
            if not isinstance(text, str | HashedText):
                raise ValueError(
                    f"{row_name(position, frame.index)}: {column} is "
                    f"{type(text).__name__} {str(text)[:40]!r}; "
                    "a text is needed ('' if there is none)"
                )
        groups.append(texts)
    return groups


def _is_list(value: Any) -> bool:
    if isinstance(value, str | bytes):
        return False
    return isinstance(value, Sequence | np.ndarray)


def field_of(sample: Sample, field: str) -> str:
    """A field of a sample, or an entry of its `extra`, as one text; of several
    references the first.
    """
    if field in FIELDS["references"]:
        return sample.references[0] if sample.references else ""
    if field in FIELDS:
        return str(getattr(sample, field))
    return str(sample.extra.get(field, ""))


def row_name(position: int, index: pd.Index) -> str:
    """How an error names a row: its position, and its index label where that
    differs.
    """
    label = index.tolist()[position]
    if label == position:
        return f"row {position}"
    return f"row {position} (index {label!r})"


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
                f"row {label!r}: value {judgment.value}; "
                "a score is a number, or NaN with a reason"
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
