"""Evaluators over anyone's own rows: read a file, score it through the store, correlate
the scores with ratings.

    rows = scoring.chosen_rows("my.jsonl")
    job = scoring.prepared(rows, "bleu", (), scoring.EngineChoice())
    scores = job.score(scoring.ProgressBar())
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nlgeval_lib.on_use import loaded_on_use

if TYPE_CHECKING:
    from nlgeval_lib.scoring.asking import ProgressBar
    from nlgeval_lib.scoring.cells import InputError
    from nlgeval_lib.scoring.job import Job, prepared
    from nlgeval_lib.scoring.named import EngineChoice
    from nlgeval_lib.scoring.rows import Rows, chosen_rows, of_frame, read

__all__ = ["EngineChoice", "InputError", "Job", "ProgressBar", "Rows"]
__all__ += ["chosen_rows", "of_frame", "prepared", "read"]
_MODULES = {
    "asking": ("ProgressBar",),
    "cells": ("InputError",),
    "job": ("Job", "prepared"),
    "named": ("EngineChoice",),
    "rows": ("Rows", "chosen_rows", "of_frame", "read"),
}

__getattr__ = loaded_on_use(__name__, _MODULES)


def __dir__() -> list[str]:
    return __all__
