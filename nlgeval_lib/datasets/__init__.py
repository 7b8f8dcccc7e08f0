"""Data sets by name: each a frame with its counts checked, from verified files.

    frame = datasets.load("summeval")  # one row an output and aspect
    items = datasets.items(frame)  # one row an output

A name leads to the module that reads the set (`datasets.csv`), which asks `fetch` for
its files. `numbers` has ratings and scores without texts, `pairs` the frame of pairs,
`families` what is no independent evidence.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import pandas as pd

from nlgeval_lib import files as places
from nlgeval_lib import houses
from nlgeval_lib.datasets import fetch, frame, numbers, pairs, registry, unreachable
from nlgeval_lib.datasets.frame import Spec, first_inputs, items, quick
from nlgeval_lib.datasets.registry import (
    ChecksumError,
    DataError,
    DataUnavailable,
    UnknownName,
)

__all__ = [
    "NAMES",
    "OPTIONAL",
    "ChecksumError",
    "DataError",
    "DataUnavailable",
    "Spec",
    "UnknownName",
    "available",
    "describe",
    "fetch",
    "files",
    "first_inputs",
    "frame",
    "groups",
    "has",
    "items",
    "kind",
    "load",
    "load_numbers",
    "load_pairs",
    "numbers",
    "pairs",
    "quick",
    "registry",
    "spec",
    "unreachable",
]
# what is fetched by default, and what only when asked for
NAMES = tuple(frame.TABLE.index[frame.TABLE["optional"] == ""])
OPTIONAL = tuple(frame.TABLE.index[frame.TABLE["optional"] != ""])


def has(name: str) -> bool:
    """Whether there is a data set of this name, by default or optional."""
    return name in frame.TABLE.index


def _about(name: str, column: str) -> str:
    """What `datasets.csv` says of a set. Raises: UnknownName with the nearest names."""
    if not has(name):
        raise registry.unknown(name, frame.TABLE.index, "data set")
    return str(frame.TABLE[column][name])


def _of(name: str) -> tuple[Spec, Callable[..., pd.DataFrame]]:
    """A data set's spec and loader: its module has SPECS and load(name), or SPEC and
    load().
    """
    module = importlib.import_module(f"nlgeval_lib.datasets.{_about(name, 'module')}")
    if hasattr(module, "SPECS"):
        return module.SPECS[name], functools.partial(module.load, name)
    return module.SPEC, module.load


def spec(name: str) -> Spec:
    """What is known about a data set without its files. Raises: UnknownName."""
    return _of(name)[0]


def kind(name: str) -> str:
    """What a row of the set's frame is: "ratings", "labels" (the same without a text:
    `labelled`) or "pairs". Raises: UnknownName.
    """
    return _about(name, "kind") or "ratings"


def load(name: str, **options: Any) -> pd.DataFrame:
    """The frame of a data set, its counts checked: rated sets in the long form, pairs
    in the form of `pairs`. Where its files are not here and its numbers are
    (`data/numbers`), each text is a `numbers.HashedText`.

    options: `ground_truth` of topical_chat, `systems` of wmt22_zhen, `stand_ins` of
    self_instruct.
    Raises: UnknownName; DataUnavailable or ChecksumError where a file cannot be used;
    ValueError where a count is not as expected.
    """
    about, loader = _of(name)
    if not options:
        fetch.together(name, about.files)
    try:
        return loader(**options)
    except DataUnavailable:
        if not numbers.has(name):
            raise
        return load_numbers(name, **options)


def load_pairs(name: str, aspect: str | None = None, **options: Any) -> pd.DataFrame:
    """The frame of pairs of a data set: its own, or every two rated outputs of an
    input (`pairs.from_ratings`). options, Raises: as these and `load`.
    """
    rows = load(name, **options)
    if kind(name) == "pairs":
        return rows
    return pairs.from_ratings(rows, aspect)


def load_numbers(name: str, **options: Any) -> pd.DataFrame:
    """The frame that `load` gives, from `data/numbers` also where the files are here;
    each text is a `numbers.HashedText`.

    Raises: UnknownName; FileNotFoundError where the set is not among the numbers.
    """
    scale = spec(name).scale
    rows = numbers.rows(name)
    if kind(name) == "pairs":
        return pairs.counted(rows, name, ties=scale["preference"][0] == pairs.TIE)
    # The bundle has the rows of all options: cut to those that the loader would give.
    if name == "topical_chat" and not options.get("ground_truth", True):
        rows = rows[rows["system_id"] != "Original Ground Truth"]
    elif name == "wmt22_zhen" and options.get("systems", "mt") == "mt":
        rows = rows[rows["system_id"] != "refB"]
    elif name == "self_instruct" and not options.get("stand_ins", False):
        rows = rows[~rows["stand_in"]]
    about = {"name": name, "scale": dict(scale), "aspects": tuple(scale)}
    return frame.counted(rows.reset_index(drop=True), about)


def groups() -> tuple[str, ...]:
    """The names that are fetched by default: data sets, then what other houses need."""
    further = [name for source in houses.sources() for name in source.NAMES]
    return (*NAMES, *further)


def _spec(name: str) -> Any:
    """The spec of a data set, or of what another house needs. Raises: UnknownName."""
    every = list(frame.TABLE.index)
    for source in houses.sources():
        if source.has(name):
            return source.spec(name)
        every += [*source.NAMES, *source.OPTIONAL]
    if not has(name):
        raise registry.unknown(name, every, "data set or recording")
    return spec(name)


def files(name: str) -> list[str]:
    """The registry paths of a data set or recording, each once. Raises: UnknownName."""
    return list(dict.fromkeys(_spec(name).files))


def available(name: str) -> tuple[bool, str]:
    """Whether a data set or recording is on this machine: (True, "here"), or (False,
    the reason and the way out). Never uses the network.
    """
    try:
        for relpath in getattr(_spec(name), "embedded", ()):
            if not (places.data() / relpath).is_file():
                return False, f"data/{relpath} is not in this checkout"
        for relpath in files(name):
            if fetch.local(relpath) is None:
                entry = registry.entry(relpath)
                if entry.optional:
                    return False, fetch.elsewhere(entry)
                missing = f"{relpath} is not in data/raw nor in a mirror"
                return False, f"{missing}; run `make data`"
    except DataError as error:
        return False, str(error)
    return True, "here"


def describe() -> pd.DataFrame:
    """One row a data set that is fetched by default: counts (`rows`: outputs times
    aspects), aspects, scale, licence, and whether it is here, or the `reason` why not.
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


def __dir__() -> list[str]:
    return __all__
