"""The papers' training ablations at miniature scale: one base, fine-tuned on other data, arm by arm and seed by seed.

`python -m nlgeval_lib.training.mini.ablations` runs what is missing and keeps each run's judgments of the held-out set
under `data/mini/ablations/`; `tables` reads them for the notebooks.
"""

from __future__ import annotations

from pathlib import Path

from nlgeval_lib import paths


def folder() -> Path:
    """Where the judgments of all runs lie."""
    return paths.data() / "mini" / "ablations"
