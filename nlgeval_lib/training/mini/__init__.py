"""The miniature judge: data written by rule, a small Llama trained on them, its measured quality.

`settings("coascore")` are the options that set an evaluator for the judge and its held-out set,
`datasets.load("mini_judge")`. `python -m nlgeval_lib.training.mini` trains it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nlgeval_lib import paths


def folder() -> Path:
    """Where the checkpoint lies: a model id for any engine."""
    return paths.data() / "mini" / "judge"


def settings(evaluator: str) -> dict[str, Any]:
    """The options of an evaluator's class for the miniature judge and its held-out set, by the evaluator's name.

    Raises: ValueError for an evaluator that it was not trained for.
    """
    from nlgeval_lib.training.mini import prompts

    return prompts.settings(evaluator)
