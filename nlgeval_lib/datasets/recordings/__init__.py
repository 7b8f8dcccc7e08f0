"""Other people's judge outputs, kept raw and aligned by ids with the data sets' frames.

raw = recordings.load("acloserlook", aspects=("coherence",), prompt_forms=("rate_explain",))
frame = recordings.attach(datasets.load("topical_chat"), scored, name="judge")
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pandas as pd

from nlgeval_lib.datasets import registry
from nlgeval_lib.datasets.recordings._base import KEYS, Recording, attach, check

__all__ = ["KEYS", "NAMES", "Recording", "attach", "check", "describe", "files", "load", "prompts", "spec"]

# recording -> module here that reads it
_MODULES = {
    "alttest_summeval": "alttest",
    "acloserlook": "acloserlook",
    "llm_summeval": "llm_summeval",
    "tigerscore_outputs": "tigerscore_outputs",
    "instructscore_wmt22": "instructscore",
    "instructscore_webnlg": "instructscore",
    "gemba_wmt22": "gemba",
    "prometheus_gpt4": "prometheus_gpt4",
}
NAMES = tuple(_MODULES)


def _module(name: str):
    if name not in _MODULES:
        raise registry.nearest(name, NAMES, "recording")
    return importlib.import_module(f"{__name__}.{_MODULES[name]}")


def spec(name: str) -> Recording:
    """What is known about a recording without its files. Raises: UnknownName with the nearest names."""
    return _module(name).RECORDINGS[name]


def files(name: str) -> list[str]:
    """The registry paths that a recording needs."""
    return registry.match(spec(name).files)


def load(name: str, **options: Any) -> pd.DataFrame:
    """A recording as a tidy frame: one row a judge output.

    Columns: dataset, input_id, system_id, aspect, judge, prompt_form, draw, then `text` (raw) and/or `value` (float,
    where the publisher kept a number), then what else was kept. `frame.attrs` has name, notes, licence, source, sha256.

    Raises: UnknownName; DataUnavailable or ChecksumError; TypeError naming the known options; ValueError where a count
    is not as expected.
    """
    known = spec(name)
    loader = _module(name).load
    options_known = [option for option in inspect.signature(loader).parameters if option != "recording"]
    unknown = [option for option in options if option not in options_known]
    if unknown:
        raise TypeError(f"{name} has no option {', '.join(unknown)}; options: {', '.join(options_known) or 'none'}")
    frame = loader(known, **options)
    frame.attrs = {
        "name": known.name,
        "title": known.title,
        "dataset": known.dataset,
        "licence": known.licence,
        "source": known.source,
        "notes": known.notes,
        "sha256": {path: registry.entry(path).sha256 for path in files(name)},
    }
    return check(frame)


def prompts(name: str, **options: Any) -> pd.DataFrame:
    """The prompts that were sent: the recording's keys without `draw`, and `prompt`.

    Raises: ValueError where the publisher kept no prompts; otherwise as `load`.
    """
    module = _module(name)
    if not hasattr(module, "prompts"):
        raise ValueError(f"{name}: its publisher kept no prompts")
    return module.prompts(spec(name), **options)


def describe() -> pd.DataFrame:
    """One row a recording: data set, rows, what is kept, licence. Needs no data file."""
    rows = [spec(name) for name in NAMES]
    table = {
        "recording": [r.name for r in rows],
        "dataset": [r.dataset for r in rows],
        "title": [r.title for r in rows],
        "rows": [r.n_rows for r in rows],
        "kept": [r.kept for r in rows],
        "licence": [r.licence for r in rows],
    }
    return pd.DataFrame(table).set_index("recording")
