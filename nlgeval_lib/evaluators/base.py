"""What all evaluators share: found by name, given samples, a signature, a frame of
scores.

An evaluator is a class with `name`, `signature()` and `score(frame)`. `samples` turns a
frame into a list of `Sample`; `score_frame` turns judgments into the frame of scores,
one row for each.
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
from nlgeval_lib.errors import Told
from nlgeval_lib.names import meant
from nlgeval_lib.records import Judgment, Sample, Status


class Unavailable(Told, RuntimeError):
    """What an evaluator needs (a model, a package) is not on this machine; the message
    says what to do.
    """


# name -> where the evaluator is defined, and the class or where to import it from
_registry: dict[str, tuple[str, str | Callable[..., Any]]] = {}


def register(name: str, target: str | Callable[..., Any] | None = None) -> Any:
    """Make an evaluator known by `name`; also a decorator.

    target: a class, or `"package.module:Class"`, imported when it is first asked for;
    None as `@register("name")`.

    Raises: ValueError if the name is another evaluator's; a class of the same module
    and name replaces the earlier one.
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
    """The class registered as `name`. Raises: ValueError for an unknown name, with the
    nearest and all known.
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
    """One line that names an evaluator and its settings; None is left out, booleans
    read yes and no.

    Raises: ValueError where a value holds `|` or a line break.

    Example:
    >>> signature("bleu", smooth="exp", lowercase=False, limit=None)
    'bleu|smooth:exp|lowercase:no'
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


# How alike (0 to 1) a value and a choice must be for the choice to be suggested. The
# choices are short words, of which many are half alike.
ALIKE = 0.7


class NotAllowed(Told, ValueError):
    """A setting has none of the values that it may have; the message lists them, and
    names the nearest.

    also: in words, what else it may be. `.setting` and `.texts` (the allowed texts, and
    `also`) are kept.
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
    """Names with a text each, such as aspects with their definitions, checked and
    copied. Raises: ValueError naming the setting where it is anything else.
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


# Field of a sample -> the columns it may be read from; the first that the frame has is
# read. Data sets call the same thing `source` or `input`, and have one reference or
# several.
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
    data: Any, needs: Iterable[str] = (), name: str = "the evaluator"
) -> list[Sample]:
    """The samples that an evaluator judges: one a row of a frame, in its order; a list
    of samples is only checked.

    needs: the fields that must hold text (`output` may be empty); a name that is no
    field of `Sample` is a column that goes into `extra`.
    name: how errors call the evaluator.

    A sample's id is made of the columns `input_id`, `system_id` and the aspect, else of
    the frame's index.
    Raises: ValueError naming a missing column, or the first row or sample without a
    needed text, or with anything but texts.
    """
    is_frame = isinstance(data, pd.DataFrame)
    needs = tuple(needs)
    listed = _of_frame(data, ("output", *needs), name) if is_frame else list(data)
    for position, sample in enumerate(listed):
        for field in needs:
            if field in FIELDS:
                text = getattr(sample, field)
            else:
                text = sample.extra.get(field)
            # An output may be empty: a system wrote nothing.
            if not text and field != "output":
                place = f"sample {sample.id!r}"
                if is_frame:
                    place = row_name(position, data.index)
                raise ValueError(f"{place}: {field} is empty; {name} needs it")
    return listed


def _of_frame(frame: pd.DataFrame, needs: Sequence[str], name: str) -> list[Sample]:
    """One sample a row, with the fields that the frame has or must have; columns that
    are no field go into `extra`.
    """
    # Column by column: what each field holds in every row.
    texts: dict[str, list[Any]] = {}
    for field in dict.fromkeys((*FIELDS, *needs)):
        columns = FIELDS.get(field, (field,))
        if field not in needs and not any(column in frame for column in columns):
            continue
        groups = cells(frame, columns, name, gaps=field != "output")
        if field == "references":
            # A single empty text is no reference.
            texts[field] = [group if any(group) else () for group in groups]
        else:
            texts[field] = [next(iter(group), "") for group in groups]
    # The id of a row, by which errors and requests name it.
    present = [column for column in ("input_id", "system_id") if column in frame]
    keys = [frame[column].astype(str).tolist() for column in present]
    if keys and "aspect" in texts:
        keys.append(texts["aspect"])
    ids = map("/".join, zip(*keys, strict=True)) if keys else map(str, frame.index)
    # Row by row: the columns' texts as samples.
    rows = []
    for row, id in enumerate(ids):
        fields = {field: column[row] for field, column in texts.items()}
        extra = {field: fields.pop(field) for field in texts if field not in FIELDS}
        rows.append(Sample(id=id, extra=extra, **fields))
    return rows


def cells(
    frame: pd.DataFrame, columns: Sequence[str], name: str, gaps: bool = False
) -> list[tuple[str, ...]]:
    """The texts of each row in the first of `columns` that the frame has: a tuple a
    row, of a column of references all of them.

    name: how errors call the evaluator.
    gaps: allow missing values; each is an empty tuple then.

    Raises: ValueError naming a missing or repeated column, or the first row that holds
    anything but texts.
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
    """Whether a cell holds several texts: a list, tuple or array, no text."""
    if isinstance(value, str | bytes):
        return False
    return isinstance(value, Sequence | np.ndarray)


def field_of(sample: Sample, field: str) -> str:
    """A field of a sample (also `reference`, the first), or a key of its `extra`, as
    one text; "" where there is nothing.
    """
    if field in FIELDS["references"]:
        return sample.references[0] if sample.references else ""
    if field in FIELDS:
        return str(getattr(sample, field))
    return str(sample.extra.get(field, ""))


def row_name(position: int, index: pd.Index) -> str:
    """How an error names a row: its position, and its index label where that differs."""
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
    """The frame that every evaluator returns: `value` (float64, NaN unless ok),
    `status, reason`, one judgment a row.

    signature, details: go into `attrs`.

    Raises: ValueError if there are not as many judgments as rows, a value is infinite,
    or a missing score has no reason.
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
