"""Data sets by name: each a long frame with its counts checked, from verified files.

frame = datasets.load("summeval")
items = datasets.items(frame)
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import pandas as pd

from nlgeval_lib import files as places
from nlgeval_lib.datasets import frame, registry
from nlgeval_lib.datasets.frame import Spec, first_inputs, items, quick
from nlgeval_lib.datasets.registry import (
    ChecksumError,
    DataError,
    DataUnavailable,
    UnknownName,
)
from nlgeval_lib.on_use import loaded_on_use

__all__ = [
    "ChecksumError",
    "DataError",
    "DataUnavailable",
    "Spec",
    "UnknownName",
    "first_inputs",
    "frame",
    "items",
    "kind",
    "load",
    "load_pairs",
    "of_numbers",
    "quick",
]
# modules of the package that are loaded when they are first used
_MODULES = {
    "fetch": (),
    "numbers": (),
    "pairs": (),
    "recordings": (),
    "unreachable": (),
}

# what is fetched by default, and what only when asked for
NAMES = tuple(frame.TABLE.index[frame.TABLE["optional"] == ""])
OPTIONAL = tuple(frame.TABLE.index[frame.TABLE["optional"] != ""])


def has(name: str) -> bool:
    """Whether there is a data set of this name, by default or optional."""
    return name in NAMES or name in OPTIONAL


def _of(name: str) -> tuple[Spec, Callable[..., pd.DataFrame]]:
    """A data set's spec and loader.

    A module that reads several sets has SPECS and load(name), else SPEC and load().
    """
    if not has(name):
        raise registry.unknown(name, (*NAMES, *OPTIONAL), "data set")
    module = importlib.import_module(
        f"nlgeval_lib.datasets.{frame.TABLE['module'][name]}"
    )
    if hasattr(module, "SPECS"):
        return module.SPECS[name], functools.partial(module.load, name)
    return module.SPEC, module.load


def spec(name: str) -> Spec:
    """What is known about a data set without its files.

    Raises: UnknownName with the nearest names.
    """
    return _of(name)[0]


def load(name: str, **options: Any) -> pd.DataFrame:
    """The long frame of a data set, its counts checked; `options` are those of its
    loader. Where its files are not here and its numbers are (`data/numbers`), each text
    is a `numbers.HashedText`.

    Raises: UnknownName; DataUnavailable or ChecksumError where a file cannot be used;
    ValueError where a count is not as expected.
    """
    about, loader = _of(name)
    if not options:
        from nlgeval_lib.datasets import fetch

        fetch.together(name, about.files)
    try:
        return loader(**options)
    except DataUnavailable:
        from nlgeval_lib.datasets import numbers

        if not numbers.has(name):
            raise
        return of_numbers(name, **options)


def kind(name: str) -> str:
    """What a row of the set's frame is: `ratings` (an output and aspect), `labels` (the
    same without a text: `datasets.labelled`) or `pairs`.

    Raises: UnknownName with the nearest names.
    """
    if not has(name):
        raise registry.unknown(name, (*NAMES, *OPTIONAL), "data set")
    return str(frame.TABLE["kind"][name]) or "ratings"


def load_pairs(
    name: str, aspect: str | None = None, margin: float = 0.0, **options: Any
) -> pd.DataFrame:
    """The frame of pairs of a data set: its own, or every two rated outputs of an
    input, the higher rating preferred and ratings within `margin` of each other tied.

    Raises: as `load`; ValueError where a rated set has several aspects and none is
    named.
    """
    from nlgeval_lib.datasets import pairs

    rows = load(name, **options)
    if kind(name) == "pairs":
        return rows
    return pairs.from_ratings(rows, aspect, margin)


def of_numbers(name: str, **options: Any) -> pd.DataFrame:
    """The same frame from `data/numbers`, whether its files are here or not.

    Raises: FileNotFoundError where the set is not among the numbers.
    """
    scale = spec(name).scale
    from nlgeval_lib.datasets import numbers

    rows = numbers.rows(name)
    if kind(name) == "pairs":
        from nlgeval_lib.datasets import pairs

        return pairs.counted(rows, name, ties=scale["preference"][0] == pairs.TIE)
    if name == "topical_chat" and not options.get("ground_truth", True):
        rows = rows[rows["system_id"] != "Original Ground Truth"]
    elif name == "wmt22_zhen" and options.get("systems", "mt") == "mt":
        rows = rows[rows["system_id"] != "refB"]
    elif name == "self_instruct" and not options.get("stand_ins", False):
        rows = rows[~rows["stand_in"]]
    about = {"name": name, "scale": dict(scale), "aspects": tuple(scale)}
    return frame.counted(rows.reset_index(drop=True), about)


def groups() -> tuple[str, ...]:
    """The names that are fetched by default: data sets, then recordings. `files` and
    `available` know those of OPTIONAL, too.
    """
    from nlgeval_lib.datasets import recordings

    return (*NAMES, *recordings.NAMES)


def files(name: str) -> list[str]:
    """The registry paths that a data set or recording needs.

    Raises: UnknownName with the nearest names.
    """
    from nlgeval_lib.datasets import recordings

    every = (*groups(), *OPTIONAL, *recordings.OPTIONAL)
    if name not in every:
        raise registry.unknown(name, every, "data set or recording")
    about = recordings.spec(name) if recordings.has(name) else spec(name)
    return list(dict.fromkeys(about.files))


def available(name: str) -> tuple[bool, str]:
    """Is a data set or recording on this machine, and if not, why not (one line)?
    Never uses the network.
    """
    from nlgeval_lib.datasets import fetch, recordings

    try:
        embedded = () if recordings.has(name) else spec(name).embedded
        for relpath in embedded:
            if not (places.data() / relpath).is_file():
                return False, f"data/{relpath} is not in this checkout"
        for relpath in files(name):
            if fetch.local(relpath) is not None:
                continue
            entry = registry.entry(relpath)
            if entry.optional:
                return False, fetch.elsewhere(entry)
            missing = f"{relpath} is not in data/raw nor in a mirror"
            return False, f"{missing}; run `make data`"
    except DataError as error:
        return False, str(error)
    return True, "here"


def describe() -> pd.DataFrame:
    """One row a data set: counts, aspects, scale, licence, and whether it is here.

    Needs no data file.
    """
    rows = {}
    for name in NAMES:
        about = spec(name)
        is_here, reason = available(name)
        scales = {f"{low:g} to {high:g}" for low, high in about.scale.values()}
        rows[name] = {
            "title": about.title,
            "kind": kind(name),
            "rows": about.n_items * len(about.scale),
            "outputs": about.n_items,
            "inputs": about.n_inputs,
            "systems": about.n_systems,
            "aspects": ", ".join(about.scale),
            "scale": "; ".join(sorted(scales)),
            "licence": about.licence,
            "here": is_here,
            "reason": "" if is_here else reason,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("dataset")


__getattr__ = loaded_on_use(__name__, _MODULES)
