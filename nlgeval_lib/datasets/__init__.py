"""Data sets by name: each a long frame with its counts checked, from verified files.

frame = datasets.load("summeval")
X, systems, inputs = datasets.pivot(frame, "coherence")
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pandas as pd

from nlgeval_lib.datasets import fetch, frame, mini, mini_judge, recordings, registry
from nlgeval_lib.datasets.errors import ChecksumError, DataError, DataUnavailable, UnknownName
from nlgeval_lib.datasets.frame import items, pivot, quick
from nlgeval_lib.datasets.specs import Spec

__all__ = [
    "NAMES",
    "ChecksumError",
    "DataError",
    "DataUnavailable",
    "Spec",
    "UnknownName",
    "available",
    "describe",
    "fetch",
    "files",
    "frame",
    "groups",
    "items",
    "load",
    "pivot",
    "quick",
    "recordings",
    "spec",
]

NAMES = (
    "summeval",
    "topical_chat",
    "sfres",
    "sfhot",
    "bagel",
    "openmeva",
    "wmt22_zhen",
    "webnlg2020",
    "gsm8k",
    "self_instruct",
    "vicuna_bench",
    "mt_bench",
    "hhh",
    "mini",
    "mini_judge",
)


def _module(name: str):
    if name not in NAMES:
        raise registry.nearest(name, NAMES, "data set")
    return importlib.import_module(f"nlgeval_lib.datasets.{name}")


def spec(name: str) -> Spec:
    """What is known about a data set without its files. Raises: UnknownName with the nearest names."""
    return _module(name).SPEC


def load(name: str, **options: Any) -> pd.DataFrame:
    """The long frame of a data set, its counts checked; `options` are those of its loader.

    Raises: UnknownName; DataUnavailable or ChecksumError where a file cannot be used; TypeError naming the options that
    the loader has; ValueError where a count is not as expected.
    """
    loader = _module(name).load
    known = inspect.signature(loader).parameters
    unknown = [option for option in options if option not in known]
    if unknown:
        raise TypeError(f"{name} has no option {', '.join(unknown)}; options: {', '.join(known) or 'none'}")
    return loader(**options)


def groups() -> tuple[str, ...]:
    """Every name that `files` and `available` know: data sets, then recordings."""
    return (*NAMES, *recordings.NAMES)


def files(name: str) -> list[str]:
    """The registry paths that a data set or recording needs. Raises: UnknownName with the nearest names."""
    if name in recordings.NAMES:
        return recordings.files(name)
    if name not in NAMES:
        raise registry.nearest(name, groups(), "data set or recording")
    return registry.match(spec(name).files)


def available(name: str, download: bool = True) -> tuple[bool, str]:
    """Can a data set or recording be loaded here, and if not, why not (one line)? `download=False` uses no network."""
    if name == "mini" and not mini.path().is_file():
        return False, f"data/{mini.FILE} is not in this checkout"
    if name == "mini_judge" and not mini_judge.path().is_file():
        return False, f"data/mini/judge/{mini_judge.FILE} is not in this checkout"
    for relpath in files(name):
        try:
            if (fetch.path if download else fetch.local)(relpath) is None:
                return False, f"{relpath} is not in data/raw nor in a mirror; run `make data`"
        except DataError as error:
            return False, str(error)
    return True, "here"


def describe() -> pd.DataFrame:
    """One row a data set: counts, aspects, scale, licence, and whether it is here. Needs no data file."""
    rows = []
    for name in NAMES:
        known = spec(name)
        here, reason = available(name, download=False)
        rows.append(
            {
                "dataset": name,
                "title": known.title,
                "rows": known.n_rows,
                "outputs": known.n_items,
                "inputs": known.n_inputs,
                "systems": known.n_systems,
                "aspects": ", ".join(known.aspects),
                "scale": "; ".join(sorted({f"{low:g} to {high:g}" for low, high in known.scale.values()})),
                "licence": known.licence,
                "here": here,
                "reason": "" if here else reason,
            }
        )
    return pd.DataFrame(rows).set_index("dataset")
