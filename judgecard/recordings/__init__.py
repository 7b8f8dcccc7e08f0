"""Other people's judge outputs, kept raw and aligned by ids with the data sets' frames.

    forms = ("rate_explain",)
    raw = recordings.load("acloserlook", aspects=("coherence",), prompt_forms=forms)

`recordings.csv` says of each recording what `Recording` has, and the module here that
reads it. Such a module has FILES (registry paths), READERS (functions that give the
frame; their arguments are the options of `load`) and perhaps PROMPTS. `load` gives the
raw outputs, `prompts` what was sent.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from nlgeval_lib.datasets import fetch, numbers, registry
from nlgeval_lib.datasets import frame as long_frame

__all__ = [
    "KEYS",
    "NAMES",
    "OPTIONAL",
    "PAIR_KEYS",
    "Recording",
    "has",
    "keys",
    "load",
    "load_numbers",
    "prompts",
    "spec",
]
# the columns that name one output of a judge
KEYS = ("dataset", "input_id", "system_id", "aspect", "judge", "prompt_form", "draw")
# of a judge of pairs; `order` says how it saw the two outputs
PAIR_KEYS = ("dataset", "input_id", "pair_id", "judge", "prompt_form", "order", "draw")

# a row a recording: what `Recording` says of it
_TABLE = pd.read_csv(
    Path(__file__).with_name("recordings.csv"), index_col="name", keep_default_na=False
)
NAMES = tuple(_TABLE.index[_TABLE["optional"] == ""])
OPTIONAL = tuple(_TABLE.index[_TABLE["optional"] != ""])


@dataclass(frozen=True)
class Recording:
    """One published set of judge outputs.

    dataset: the data set whose ids it has; several with commas between them.
    files: registry paths.
    n_rows: with the default options; 0 where that is not known before.
    kept: what its publisher kept: "text", "value" or "text, value".
    licence: of the files, as their publishers state it.
    """

    title: str
    dataset: str
    files: tuple[str, ...]
    n_rows: int
    kept: str
    licence: str
    source: str


def has(name: str) -> bool:
    """Whether there is a recording of this name, by default or optional."""
    return name in NAMES or name in OPTIONAL


def keys(name: str) -> tuple[str, ...]:
    """The columns that name a row of a recording: `KEYS` for judges of outputs,
    `PAIR_KEYS` for judges of pairs.
    """
    return PAIR_KEYS if _TABLE["kind"][name] == "pairs" else KEYS


def spec(name: str) -> Recording:
    """What is known about a recording without its files.

    Raises: UnknownName with the nearest names.
    """
    if not has(name):
        raise registry.unknown(name, (*NAMES, *OPTIONAL), "recording")
    about = _TABLE.loc[name].drop(["module", "optional", "kind"]).to_dict()
    return Recording(files=_module(name).FILES[name], **about)


def _module(name: str) -> ModuleType:
    """The module that reads a recording."""
    return importlib.import_module(f"{__name__}.{_TABLE['module'][name]}")


def load(name: str, **options: Any) -> pd.DataFrame:
    """A recording as a tidy frame: one row a judge output.

    options: those of its reader that choose rows, such as `aspects`, `judges` and
    `prompt_forms`, each a list of names; None for all.
    Returns: columns `keys(name)`, then `text` (raw) and/or `value` (float), then what
    else was kept; `frame.attrs` has its name. Where the files are not here and the
    numbers are, each text is a `numbers.HashedText`.
    Raises: UnknownName; DataUnavailable or ChecksumError; ValueError where the files do
    not fit together.
    """
    about = spec(name)  # raises for an unknown one
    if not options:
        fetch.together(name, about.files)
    try:
        frame = _module(name).READERS[name](**options)
    except registry.DataUnavailable:
        if not numbers.has(name):
            raise
        return load_numbers(name, **options)
    leading = list(keys(name))
    frame = frame[[*leading, *frame.columns.drop(leading)]]
    frame.attrs = {"name": name}
    return frame


# option of a reader -> the column whose values it names
_CHOSEN_BY = {
    "aspects": "aspect",
    "prompt_forms": "prompt_form",
    "judges": "judge",
}


def load_numbers(name: str, **options: Any) -> pd.DataFrame:
    """The same frame from `data/numbers`, whether its files are here or not.
    Raises: UnknownName; FileNotFoundError where the recording is not among the numbers.
    """
    frame = numbers.rows(name)
    for option, column in _CHOSEN_BY.items():
        if options.get(option) is not None:
            allowed = tuple(frame[column].unique())
            kind = column.replace("_", " ")
            chosen = registry.choose(options[option], allowed, kind)
            frame = frame[frame[column].isin(chosen)]
    if options.get("rated"):
        frame = frame[frame["system_id"].isin(long_frame.systems("wmt22_zhen"))]
    frame = frame.reset_index(drop=True)
    frame.attrs = {"name": name}
    return frame


def prompts(name: str, **options: Any) -> pd.DataFrame:
    """The prompts that were sent: the recording's keys without `draw`, and `prompt`.
    Raises: ValueError where the publisher kept no prompts; otherwise as `load`.
    """
    spec(name)  # raises for an unknown one
    prompts_of = getattr(_module(name), "PROMPTS", {})
    if name not in prompts_of:
        raise ValueError(f"{name}: its publisher kept no prompts")
    return prompts_of[name](**options)[[*KEYS[:-1], "prompt"]]


def __dir__() -> list[str]:
    return __all__
