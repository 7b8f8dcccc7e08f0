"""Evaluators over anyone's own rows: read a file, score it through the store, correlate
the scores with ratings.

    rows = scoring.chosen_rows("my.jsonl")
    job = scoring.prepared(rows, "bleu", (), scoring.EngineChoice())
    scores = job.score(scoring.ProgressBar())  # or part by part: job.parts

The path of one row: `table_files.TableFile` reads it from the file with its place
("line 7"); `rows.Parts` puts its cells under our column names and checks each by a
function of `cells`; `job.Job` finds what the evaluator needs of it, or the reason why
it cannot be scored; a metric scores it, or a judge makes requests of it, which
`asking.ask` sends to the engine, or answers from the store; `score_files.ScoreFile`
keeps its score beside the output until all rows are there, and writes it behind the
row's own columns; `tally.Tally` counts it; `provenance` records where the scores come
from. `correlations` measures such scores against ratings.

Names and settings become objects in `named` (evaluator, engine, store) and `settings`
(typed arguments); `parsing` runs a parser over texts that are there already. What the
subcommands `score`, `completions`, `meta` and `parse` do.
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
