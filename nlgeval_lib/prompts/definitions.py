"""Aspects and criteria of the papers, as data with their source."""

from __future__ import annotations

import copy
import functools
import json
from pathlib import Path
from typing import Any

from nlgeval_lib.names import near

FOLDER = Path(__file__).parent / "definitions"


def definition_names() -> list[str]:
    """What `load_definitions` knows."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load_definitions(name: str) -> dict[str, Any]:
    """Aspects or criteria by name, as a fresh dictionary with a `source`.

    `origin` of an entry: printed (the paper's own words), inferred (a link that follows from the paper but is not
    printed), ours (written for this project where the paper gives none).
    Raises: ValueError for an unknown name.
    """
    if name not in definition_names():
        nearest = near(name, definition_names()) or definition_names()
        raise ValueError(f"unknown definitions {name!r}; nearest: {', '.join(nearest)}")
    return copy.deepcopy(_read(name))


@functools.cache
def _read(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
