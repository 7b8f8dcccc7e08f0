"""Other people's judge outputs, kept raw and aligned by ids with the data sets' frames.

raw = recordings.load("acloserlook", aspects=("coherence",), prompt_forms=("rate_explain",))
frame = recordings.attach(datasets.load("topical_chat"), scored, name="judge")
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from nlgeval_lib.datasets import registry

KEYS = ("dataset", "input_id", "system_id", "aspect", "judge", "prompt_form", "draw")

# a row a recording: what `Recording` says of it, and the module here that reads it
_TABLE = pd.read_csv(Path(__file__).with_name("recordings.csv"), index_col="name", keep_default_na=False)
NAMES = tuple(_TABLE.index)


@dataclass(frozen=True)
class Recording:
    """One published set of judge outputs."""

    title: str
    dataset: str  # the data set whose ids it has
    files: tuple[str, ...]  # registry paths
    n_rows: int  # with the default options
    kept: str  # "text", "value" or "text, value"
    licence: str
    source: str


def known(name: str, *files: str) -> Recording:
    """The recording of these files: the table's row says the rest."""
    return Recording(files=files, **_TABLE.loc[name].drop("module").to_dict())


def spec(name: str) -> Recording:
    """What is known about a recording without its files. Raises: UnknownName with the nearest names."""
    return _module(name).RECORDINGS[name]


def load(name: str, **options: Any) -> pd.DataFrame:
    """A recording as a tidy frame: one row a judge output; `options` are those of its loader.

    Columns: dataset, input_id, system_id, aspect, judge, prompt_form, draw, then `text` (raw) and/or `value` (float,
    where the publisher kept a number), then what else was kept. `frame.attrs` has its name.

    Raises: UnknownName; DataUnavailable or ChecksumError; ValueError where the files do not fit together.
    """
    frame = _module(name).load(name, **options)
    frame = frame[[*KEYS, *frame.columns.drop(list(KEYS))]]
    frame.attrs = {"name": name}
    return frame


def prompts(name: str, **options: Any) -> pd.DataFrame:
    """The prompts that were sent: the recording's keys without `draw`, and `prompt`.

    Raises: ValueError where the publisher kept no prompts; otherwise as `load`.
    """
    module = _module(name)
    if not hasattr(module, "prompts"):
        raise ValueError(f"{name}: its publisher kept no prompts")
    return module.prompts(name, **options)[[*KEYS[:-1], "prompt"]]


def attach(frame: pd.DataFrame, scored: pd.DataFrame, name: str) -> pd.DataFrame:
    """The long frame with a column `name`: the judge's `value` for the same output and aspect, NaN where it has none.

    `scored` has at most one row an output and aspect: choose judge and prompt form, and reduce the draws, before.

    Raises: ValueError where `scored` or `frame` has several rows for one output and aspect.
    """
    keys = ["input_id", "system_id", "aspect"]
    column = scored[[*keys, "value"]].rename(columns={"value": name})
    return frame.merge(column, how="left", on=keys, validate="one_to_one")


def describe() -> pd.DataFrame:
    """One row a recording: data set, rows, what is kept, licence. Needs no data file."""
    table = pd.DataFrame([spec(name) for name in NAMES], index=pd.Index(NAMES, name="recording"))
    return table.rename(columns={"n_rows": "rows"})[["dataset", "title", "rows", "kept", "licence"]]


def choose(asked: Iterable[str] | None, known: Sequence[str], what: str) -> list[str]:
    """The asked names, or all known ones, in the known order. Raises: UnknownName; TypeError for a single text."""
    if isinstance(asked, str):
        raise TypeError(f"{what}s is one text {asked!r}; pass a list or tuple of names")
    asked = list(known if asked is None else asked)
    if unknown := [name for name in asked if name not in known]:
        raise registry.unknown(unknown[0], known, what)
    return [name for name in known if name in asked]


def _module(name: str) -> ModuleType:
    """The module that reads it: RECORDINGS, load(name, ...), and prompts(name, ...) where prompts are known."""
    if name not in NAMES:
        raise registry.unknown(name, NAMES, "recording")
    return importlib.import_module(f"{__name__}.{_TABLE['module'][name]}")
