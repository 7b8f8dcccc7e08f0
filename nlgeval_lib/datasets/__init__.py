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
from nlgeval_lib.datasets import fetch, frame, recordings, registry
from nlgeval_lib.datasets.frame import Spec, items, quick
from nlgeval_lib.datasets.registry import ChecksumError, DataError, DataUnavailable, UnknownName

__all__ = ["ChecksumError", "DataError", "DataUnavailable", "Spec", "UnknownName", "frame", "items", "load", "quick"]

NAMES = tuple(frame.TABLE.index)


def _of(name: str) -> tuple[Spec, Callable[..., pd.DataFrame]]:
    """A data set's spec and loader. A module that reads several sets has SPECS and load(name), else SPEC and load()."""
    if name not in NAMES:
        raise registry.unknown(name, NAMES, "data set")
    module = importlib.import_module(f"nlgeval_lib.datasets.{frame.TABLE['module'][name]}")
    if hasattr(module, "SPECS"):
        return module.SPECS[name], functools.partial(module.load, name)
    return module.SPEC, module.load


def spec(name: str) -> Spec:
    """What is known about a data set without its files. Raises: UnknownName with the nearest names."""
    return _of(name)[0]


def load(name: str, **options: Any) -> pd.DataFrame:
    """The long frame of a data set, its counts checked; `options` are those of its loader.

    Raises: UnknownName; DataUnavailable or ChecksumError where a file cannot be used; ValueError where a count is not
    as expected.
    """
    return _of(name)[1](**options)


def groups() -> tuple[str, ...]:
    """Every name that `files` and `available` know: data sets, then recordings."""
    return (*NAMES, *recordings.NAMES)


def files(name: str) -> list[str]:
    """The registry paths that a data set or recording needs. Raises: UnknownName with the nearest names."""
    if name not in groups():
        raise registry.unknown(name, groups(), "data set or recording")
    known = recordings.spec(name) if name in recordings.NAMES else spec(name)
    return list(dict.fromkeys(known.files))


def available(name: str) -> tuple[bool, str]:
    """Is a data set or recording on this machine, and if not, why not (one line)? Never uses the network."""
    try:
        for relpath in () if name in recordings.NAMES else spec(name).embedded:
            if not (places.data() / relpath).is_file():
                return False, f"data/{relpath} is not in this checkout"
        for relpath in files(name):
            if fetch.local(relpath) is None:
                return False, f"{relpath} is not in data/raw nor in a mirror; run `make data`"
    except DataError as error:
        return False, str(error)
    return True, "here"


def describe() -> pd.DataFrame:
    """One row a data set: counts, aspects, scale, licence, and whether it is here. Needs no data file."""
    rows = {}
    for name in NAMES:
        known, (here, reason) = spec(name), available(name)
        rows[name] = {
            "title": known.title,
            "rows": known.n_items * len(known.scale),
            "outputs": known.n_items,
            "inputs": known.n_inputs,
            "systems": known.n_systems,
            "aspects": ", ".join(known.scale),
            "scale": "; ".join(sorted({f"{low:g} to {high:g}" for low, high in known.scale.values()})),
            "licence": known.licence,
            "here": here,
            "reason": "" if here else reason,
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("dataset")
