"""Where things lie: one place that knows the checkout's folders."""

from __future__ import annotations

import os
from pathlib import Path


def root() -> Path:
    """The checkout: `NLGEVAL_ROOT` if set, else the folder that holds the package."""
    override = os.environ.get("NLGEVAL_ROOT")
    return Path(override).resolve() if override else Path(__file__).resolve().parent.parent


def data() -> Path:
    """`data/`: registry, printed tables, mini set, downloads."""
    return root() / "data"


def raw() -> Path:
    """`data/raw/`: downloads, git-ignored."""
    return data() / "raw"


def notebooks() -> Path:
    """`notebooks/`: sources and catalogue."""
    return root() / "notebooks"


def results() -> Path:
    """`results/`, or the folder named by `NLGEVAL_RESULTS`."""
    return Path(os.environ.get("NLGEVAL_RESULTS") or root() / "results")


def figures() -> Path:
    """`figures/`, or the folder named by `NLGEVAL_FIGURES`."""
    return Path(os.environ.get("NLGEVAL_FIGURES") or root() / "figures")


def state(*parts: str) -> Path:
    """`.nlgeval/` (or the folder named by `NLGEVAL_STATE`): caches, completions, runner state; git-ignored."""
    return Path(os.environ.get("NLGEVAL_STATE") or root() / ".nlgeval").joinpath(*parts)


def located(name: str) -> Path:
    """The place of a result file by the name that records give it: `results/...` or `figures/...`."""
    top, _, rest = name.partition("/")
    return {"results": results(), "figures": figures()}[top] / rest
