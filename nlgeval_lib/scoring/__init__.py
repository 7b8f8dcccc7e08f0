"""Evaluators over anyone's own rows: read a file, score it through the store, correlate the scores with ratings.

    job = scoring.prepared(scoring.Source("my.jsonl"), "prometheus", engine="openai", model="...", base_url="...")
    scores = job.score(scoring.ProgressBar())

What the subcommands `score`, `completions`, `meta` and `parse` do. Names are imported when they are asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nlgeval_lib.scoring.columns import Data, prepare
    from nlgeval_lib.scoring.job import Job, Source, prepared
    from nlgeval_lib.scoring.progress import ProgressBar
    from nlgeval_lib.scoring.table import InputError, Table, of_frame, read

_WHERE = {
    "Data": "columns",
    "prepare": "columns",
    "Job": "job",
    "Source": "job",
    "prepared": "job",
    "ProgressBar": "progress",
    "InputError": "table",
    "Table": "table",
    "of_frame": "table",
    "read": "table",
}

__all__ = ["Data", "InputError", "Job", "ProgressBar", "Source", "Table", "of_frame", "prepare", "prepared", "read"]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
