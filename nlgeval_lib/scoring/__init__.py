"""Evaluators over anyone's own rows: read a file, score it through the store, correlate the scores with ratings.

    job = scoring.prepared(scoring.Source("my.jsonl"), "prometheus", engine="openai", model="...", base_url="...")
    scores = job.score(scoring.ProgressBar())

What the subcommands `score`, `completions`, `meta` and `parse` do. Names are imported when they are asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nlgeval_lib.scoring.job import Job, Source, prepared
    from nlgeval_lib.scoring.progress import ProgressBar
    from nlgeval_lib.scoring.readers import InputError
    from nlgeval_lib.scoring.rows import Rows, checked, of_frame, read

_WHERE = {"job": ("Job", "Source", "prepared"), "progress": ("ProgressBar",), "readers": ("InputError",)}
_WHERE["rows"] = ("Rows", "checked", "of_frame", "read")

__all__ = ["InputError", "Job", "ProgressBar", "Rows", "Source", "checked", "of_frame", "prepared", "read"]


def __getattr__(name: str) -> Any:
    for module, names in _WHERE.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
