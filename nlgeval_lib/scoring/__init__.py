"""Evaluators over anyone's own rows: read a file, score it through the store, correlate the scores with ratings.

    job = scoring.prepared(scoring.Source("my.jsonl"), "bleu", (), scoring.EngineChoice())
    scores = job.score(scoring.ProgressBar())

What the subcommands `score`, `completions`, `meta` and `parse` do.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nlgeval_lib.scoring.asking import ProgressBar
    from nlgeval_lib.scoring.job import Job, Source, prepared
    from nlgeval_lib.scoring.named import EngineChoice
    from nlgeval_lib.scoring.rows import Rows, checked, of_frame, read
    from nlgeval_lib.scoring.table_files import InputError

__all__ = ["EngineChoice", "InputError", "Job", "ProgressBar", "Rows", "Source"]
__all__ += ["checked", "of_frame", "prepared", "read"]


def __getattr__(name: str) -> Any:  # who wants only provenance loads no evaluator for it
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = {"ProgressBar": "asking", "EngineChoice": "named", "InputError": "table_files"}.get(name, "job")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
