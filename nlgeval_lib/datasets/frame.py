"""The long frame: one row an output and aspect; how it is built, checked, cut and turned into a matrix."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import registry
from nlgeval_lib.datasets.specs import Spec, expect

KEYS = ("dataset", "input_id", "system_id", "aspect", "human")
TEXTS = ("source", "reference", "references", "output", "context", "instruction", "rubric")
_PER_ASPECT = re.compile(r"rater_\w+")


def build(
    spec: Spec,
    items: Mapping[str, Sequence],
    human: Mapping[str, Sequence[float]],
    raters: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
    per_aspect: Mapping[str, Mapping[str, Sequence]] | None = None,
    files: Sequence[str] = (),
    notes: Sequence[str] = (),
    counts: tuple[int, int, int] | None = None,
) -> pd.DataFrame:
    """The long frame of `spec` from one value an item in `items` and one rating an item in each aspect.

    `items` must have input_id, system_id and output; its further columns are repeated for each aspect. `raters` and
    `per_aspect` map a column to {aspect: values}; an aspect left out is NaN there. `counts` (items, inputs, systems)
    overrides what the spec promises, for a variant of the data set.

    Raises: ValueError where a count or a rating is not what the spec says.
    """
    n = len(items["output"])
    n_items, n_inputs, n_systems = counts or (spec.n_items, spec.n_inputs, spec.n_systems)
    expect(spec.name, "outputs", n, n_items)
    expect(spec.name, "inputs", len(set(items["input_id"])), n_inputs)
    expect(spec.name, "systems", len(set(items["system_id"])), n_systems)
    for column, values in items.items():
        expect(spec.name, f"values in column {column}", len(values), n)
    aspects = spec.aspects
    repeat = np.repeat(np.arange(n), len(aspects))
    columns: dict[str, Any] = {"dataset": np.full(n * len(aspects), spec.name, dtype=object)}
    for column in ("input_id", "system_id"):
        columns[column] = _column(items[column]).take(repeat)
    columns["aspect"] = np.tile(np.array(aspects, dtype=object), n)
    columns["human"] = _interleave(spec, "human", human, n)
    _hold_scale(spec, columns["human"])
    for name, values in (raters or {}).items():
        columns[name] = _interleave(spec, name, values, n)
    ordered = [c for c in TEXTS if c in items] + [c for c in items if c not in TEXTS and c not in KEYS]
    for column in ordered:
        columns[column] = _column(items[column]).take(repeat)
    for name, values in (per_aspect or {}).items():
        columns[name] = _interleave(spec, name, values, n)
    frame = pd.DataFrame({name: _typed(values) for name, values in columns.items()})
    frame.attrs = {
        "name": spec.name,
        "title": spec.title,
        "scale": dict(spec.scale),
        "sha256": {path: registry.entry(path).sha256 for path in files},
        "licence": spec.licence,
        "source": spec.source,
        "n_items": n,
        "n_inputs": n_inputs,
        "n_systems": n_systems,
        "aspects": aspects,
        "notes": (*spec.notes, *notes),
    }
    return check(frame)


def _column(values: Sequence) -> np.ndarray:
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values
    column = np.empty(len(values), dtype=object)
    column[:] = list(values)
    return column


def _typed(values: np.ndarray) -> np.ndarray | pd.Series:
    return pd.Series(values).infer_objects() if values.dtype == object else values


def _interleave(spec: Spec, name: str, values: Mapping[str, Sequence], n: int) -> np.ndarray:
    unknown = set(values) - set(spec.aspects)
    if unknown:
        raise ValueError(f"{spec.name}: {name} has unknown aspects {sorted(unknown)}; known: {', '.join(spec.aspects)}")
    for aspect, ratings in values.items():
        expect(spec.name, f"values of {name} for {aspect}", len(ratings), n)
    numeric = all(isinstance(next(iter(v), 0.0), (int, float, np.number)) for v in values.values())
    if numeric:
        blank = np.full(n, np.nan)
        parts = [np.asarray(values[a], dtype=float) if a in values else blank for a in spec.aspects]
    else:
        parts = [_column(values[a]) if a in values else np.full(n, "", dtype=object) for a in spec.aspects]
    return np.stack(parts, axis=1).ravel()


def _hold_scale(spec: Spec, human: np.ndarray) -> None:
    ratings = human.reshape(-1, len(spec.aspects))
    for number, (aspect, (low, high)) in enumerate(spec.scale.items()):
        bad = ratings[(ratings[:, number] < low - 1e-9) | (ratings[:, number] > high + 1e-9), number]
        if len(bad):
            raise ValueError(f"{spec.name}: {len(bad)} ratings of {aspect} outside {low}..{high}, e.g. {bad[0]}")


def check(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame itself, if it is a long frame.

    Raises: TypeError for anything but a DataFrame; ValueError naming missing columns, a column of the wrong
    type or a key column without a value, or columns that do not begin in the frame's order.
    """
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"expected a pandas DataFrame, got {type(frame).__name__}")
    need = (*KEYS, "output")
    missing = [column for column in need if column not in frame.columns]
    if missing:
        got = ", ".join(map(str, frame.columns)) or "none"
        raise ValueError(f"not a long frame: missing column {', '.join(missing)}; got {got}; needed {', '.join(need)}")
    doubled = frame.columns[frame.columns.duplicated()].unique().tolist()
    if doubled:
        raise ValueError(f"not a long frame: column {', '.join(map(str, doubled))} is there more than once")
    if tuple(frame.columns[: len(KEYS)]) != KEYS:
        raise ValueError(
            f"not a long frame: it must begin with {', '.join(KEYS)}; got {', '.join(map(str, frame.columns[:5]))}"
        )
    for column in ("human", *(c for c in frame.columns if _PER_ASPECT.fullmatch(str(c)))):
        if not pd.api.types.is_numeric_dtype(frame[column]):
            raise ValueError(f"not a long frame: column {column} holds {frame[column].dtype}, expected numbers")
        if np.isinf(frame[column].to_numpy(dtype=float)).any():
            raise ValueError(f"not a long frame: column {column} holds infinity; a missing rating is NaN")
    for column in ("input_id", "system_id", "aspect"):
        if frame[column].isna().any():
            raise ValueError(f"not a long frame: column {column} has {int(frame[column].isna().sum())} missing values")
    return frame


def aspects(frame: pd.DataFrame) -> list[str]:
    """The aspects of a long frame, in its order."""
    return list(dict.fromkeys(frame["aspect"]))


def one_aspect(frame: pd.DataFrame, aspect: str) -> pd.DataFrame:
    """The rows of one aspect, one an output, in file order, with an index from 0. Raises: UnknownName."""
    known = aspects(check(frame))
    if aspect not in known:
        raise registry.nearest(aspect, known, "aspect")
    return frame[frame["aspect"] == aspect].reset_index(drop=True)


def items(frame: pd.DataFrame) -> pd.DataFrame:
    """One row an output, in file order: ratings become columns `human_<aspect>`, `rater_..._<aspect>`.

    Columns that differ between the aspects of an output (e.g. `unieval`) become `<column>_<aspect>` too; `aspect` and
    `human` are gone, all else is as in the frame.
    """
    known = aspects(check(frame))
    parts = {aspect: one_aspect(frame, aspect) for aspect in known}
    if not known:
        return frame.drop(columns=["aspect", "human"])
    first = parts[known[0]]
    for aspect, part in parts.items():
        keys = ["input_id", "system_id"]
        if len(part) != len(first) or not (part[keys] == first[keys]).to_numpy().all():
            raise ValueError(f"the rows of aspect {aspect} are not the outputs of {known[0]} in the same order")
    wide: dict[str, Any] = {}
    for column in first.columns:
        if column == "aspect":
            continue
        varies = column == "human" or _PER_ASPECT.fullmatch(str(column)) or _varies(column, parts)
        if varies:
            wide.update({f"{column}_{aspect}": part[column] for aspect, part in parts.items()})
        else:
            wide[column] = first[column]
    result = pd.DataFrame(wide)
    result.attrs = dict(frame.attrs)
    return result


def _varies(column: str, parts: Mapping[str, pd.DataFrame]) -> bool:
    if column in (*KEYS, *TEXTS):
        return False
    first, *rest = (part[column] for part in parts.values())
    return any(not first.equals(other) for other in rest)


def pivot(
    frame: pd.DataFrame, aspect: str, column: str = "human", duplicates: str = "raise"
) -> tuple[np.ndarray, list[str], list[str]]:
    """The matrix of one aspect: `(X[system, input], systems, inputs)`, both in order of first appearance.

    X is float, NaN where a system has no output for an input. `duplicates` says what happens where a system has more
    than one output for an input: "raise", "mean" (of those that are not NaN) or "first".

    Raises: UnknownName for an aspect or column that is not there; ValueError for non-numeric columns and duplicates.
    """
    if duplicates not in ("raise", "mean", "first"):
        raise ValueError(f"duplicates is {duplicates!r}; allowed: raise, mean, first")
    rows = one_aspect(frame, aspect)
    if column not in rows.columns:
        raise registry.nearest(column, map(str, rows.columns), "column")
    if not (pd.api.types.is_numeric_dtype(rows[column]) or pd.api.types.is_bool_dtype(rows[column])):
        raise ValueError(f"column {column} holds {rows[column].dtype}, expected numbers")
    row, systems = pd.factorize(rows["system_id"])
    col, inputs = pd.factorize(rows["input_id"])
    values = rows[column].to_numpy(dtype=float)
    cell = row * len(inputs) + col
    repeated = pd.Series(cell).duplicated().to_numpy()
    if repeated.any() and duplicates == "raise":
        where = rows.loc[np.flatnonzero(repeated)[0]]
        raise ValueError(
            f"{int(repeated.sum())} outputs share system and input with another one, e.g. {where['system_id']!r} on "
            f"{where['input_id']!r}; pass duplicates='mean' or 'first'"
        )
    if duplicates == "mean":
        merged = pd.Series(values).groupby(cell).mean()
        cell, values = merged.index.to_numpy(), merged.to_numpy()
    else:
        cell, values = cell[~repeated], values[~repeated]
    matrix = np.full(len(systems) * len(inputs), np.nan)
    matrix[cell] = values
    return matrix.reshape(len(systems), len(inputs)), list(systems), list(inputs)


def quick(frame: pd.DataFrame, inputs: int = 20) -> pd.DataFrame:
    """The rows of the first `inputs` inputs, everything else as it is; attrs tell that it is a share."""
    if inputs < 1:
        raise ValueError(f"inputs is {inputs}; at least 1 is needed")
    keep = list(dict.fromkeys(check(frame)["input_id"]))[:inputs]
    part = frame[frame["input_id"].isin(keep)].reset_index(drop=True)
    part.attrs = dict(frame.attrs) | {
        "n_items": int(len(part) / max(1, part["aspect"].nunique())),
        "n_inputs": len(keep),
        "n_systems": int(part["system_id"].nunique()),
        "quick": inputs,
    }
    return part
