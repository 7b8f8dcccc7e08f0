"""What all evaluators share: found by name, given samples, a signature, a frame of
scores. An evaluator is a class with `name`, `signature()` and `score(frame)`.
"""

from __future__ import annotations

import inspect
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
    """What an evaluator needs (a model, a package) is not here, and what to do."""


# name -> where the evaluator is defined, and the class or where to import it from
_registry: dict[str, tuple[str, str | Callable[..., Any]]] = {}


def register(name: str, target: str | Callable[..., Any] | None = None) -> Any:
    """Make an evaluator known by `name`; also a decorator, `@register("name")`.

    target: a class, or `"package.module:Class"`, imported when it is first asked for.
    Raises: ValueError if the name is another evaluator's (a cell may run again).
    """
    if target is None:
        return lambda cls: register(name, cls)
    place = target
    if not isinstance(target, str):
        place = f"{target.__module__}:{target.__qualname__}"
    registered, _ = _registry.get(name, (place, target))
    if registered != place:
        raise ValueError(
            f"evaluator {name!r} is {registered} already; choose another name"
        )
    _registry[name] = (str(place), target)
    return target


def get(name: str) -> Callable[..., Any]:
    """The class registered as `name`. Raises: ValueError naming the nearest and all."""
    if name not in _registry:
        nearest = meant(name, _registry, ".", n=3)
        raise ValueError(f"no evaluator {name!r}{nearest} Known: {', '.join(names())}")
    _, target = _registry[name]
    return pkgutil.resolve_name(target) if isinstance(target, str) else target


def names() -> list[str]:
    """The names of all registered evaluators, sorted."""
    return sorted(_registry)


def name_all_settings(cls: type) -> None:
    """Let `inspect.signature(cls)` name the settings behind `**keywords` too."""
    own, *of_bases = [
        list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
        for base in cls.__mro__
        if inspect.isfunction(vars(base).get("__init__"))
    ]
    settings = {parameter.name: parameter for parameter in own}
    for inherited in of_bases:
        keywords = [one for one in settings.values() if one.kind is one.VAR_KEYWORD]
        if not keywords:
            break
        del settings[keywords[0].name]
        for parameter in inherited:
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                parameter = parameter.replace(kind=parameter.KEYWORD_ONLY)
            settings.setdefault(parameter.name, parameter)
    in_order = sorted(settings.values(), key=lambda parameter: parameter.kind)
    cls.__signature__ = inspect.Signature(in_order)  # type: ignore[attr-defined]


def signature(name: str, **settings: Any) -> str:
    """One line that names an evaluator and its settings; None is left out, booleans
    read yes and no. Raises: ValueError where a value holds `|` or a line break.

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


class NotAllowed(Told, ValueError):
    """A setting has none of its allowed values, which the message lists. `also`: in
    words, what else it may be; `.texts`: the allowed texts, and `also`.
    """

    def __init__(
        self, setting: str, value: Any, allowed: Sequence[Any], also: str = ""
    ) -> None:
        self.setting = setting
        self.texts = [text for text in allowed if isinstance(text, str)]
        options = ", ".join(map(repr, allowed))
        if also:
            self.texts.append(also)
            options = f"{options}, {also}"
        # The choices are short words, of which many are half alike.
        hint = meant(value, self.texts, cutoff=0.7)
        super().__init__(f"{setting} is {value!r}{hint} allowed: {options}")


def choose(setting: str, value: Any, allowed: Iterable[Any]) -> Any:
    """The value of a setting if it is one of `allowed`. Raises: NotAllowed."""
    allowed = tuple(allowed)
    if value not in allowed:
        raise NotAllowed(setting, value, allowed)
    return value


def named_texts(setting: str, given: Any) -> dict[str, str]:
    """Names with a text each, such as aspects with definitions, checked and copied.
    Raises: ValueError naming the setting.
    """
    if isinstance(given, Mapping):
        texts = dict(given)
        if all(isinstance(text, str) for text in (*texts, *texts.values())):
            return texts
    raise ValueError(
        f"{setting} is {str(given)[:60]}; names with a text each are needed, "
        'such as {"Truth": "Is it true?"}'
    )


# Field of a sample -> the columns it may be read from; the first that the frame has is
# read.
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
    Raises: ValueError naming a column that is not there, or a row without needed text.
    """
    is_frame = isinstance(data, pd.DataFrame)
    needs = tuple(needs)
    listed = _of_frame(data, ("output", *needs), name) if is_frame else list(data)
    for position, sample in enumerate(listed):
        for field in needs:
            text = sample.extra.get(field)
            if field in FIELDS:
                text = getattr(sample, field)
            # An output may be empty: a system wrote nothing.
            if text or field == "output":
                continue
            place = f"sample {sample.id!r}"
            if is_frame:
                place = row_name(position, data.index)
            raise ValueError(f"{place}: {field} is empty; {name} needs it")
    return listed


def _of_frame(frame: pd.DataFrame, needs: Sequence[str], name: str) -> list[Sample]:
    """One sample a row; its id: `input_id`, `system_id`, aspect, else the index."""
    texts: dict[str, list[Any]] = {}  # field -> what it holds in every row
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
    present = [column for column in ("input_id", "system_id") if column in frame]
    keys = [frame[column].astype(str).tolist() for column in present]
    if keys and "aspect" in texts:
        keys.append(texts["aspect"])
    ids = map("/".join, zip(*keys, strict=True)) if keys else map(str, frame.index)
    listed = []
    for row, id in enumerate(ids):
        fields = {field: column[row] for field, column in texts.items()}
        extra = {field: fields.pop(field) for field in texts if field not in FIELDS}
        listed.append(Sample(id=id, extra=extra, **fields))
    return listed


def cells(
    frame: pd.DataFrame, columns: Sequence[str], name: str, gaps: bool = False
) -> list[tuple[str, ...]]:
    """The texts of each row in the first of `columns` that the frame has: a tuple a
    row, of a column of references all of them; with `gaps`, an empty one for none.

    Raises: ValueError naming a missing or repeated column, or the row without texts.
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
        is_list = isinstance(value, Sequence | np.ndarray)
        if is_list and not isinstance(value, str | bytes):
            if column in FIELDS["references"]:
                texts = tuple(value)
        elif gaps and pd.isna(value):
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


def field_of(sample: Sample, field: str) -> str:
    """A field of a sample (`reference` is the first), or of `extra`, as a text."""
    if field in FIELDS["references"]:
        return sample.references[0] if sample.references else ""
    if field in FIELDS:
        return str(getattr(sample, field))
    return str(sample.extra.get(field, ""))


def row_name(position: int, index: pd.Index) -> str:
    """How an error names a row: its position, and its index label where it differs."""
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
    `status, reason`, one judgment a row; `attrs` have the signature and the details.

    Raises: ValueError for too few judgments, an infinite value, or no reason.
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
