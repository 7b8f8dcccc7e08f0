"""Completions that were asked for and could not be had, such as those of prompts that a model has no room for.

A store keeps finished completions only. This note beside it lets a replay tell "refused" from "never asked".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from nlgeval_lib import files
from nlgeval_lib.engines import Engine, Failure

MOST = 0.05  # a run with a larger share of refusals is not to be read as that model's scores


def read(folder: Path, model: str, revision: str) -> dict[str, str]:
    """Why each completion (by key) of a model could not be had; nothing where nothing was noted."""
    try:
        return dict(json.loads(_path(folder, model, revision).read_text(encoding="utf-8"))["refused"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def note(folder: Path, engine: Engine, failures: Iterable[Failure]) -> None:
    """Add what an engine could not give. Raises: OSError where the store's folder cannot be written."""
    refused = read(folder, engine.model, engine.revision)
    refused |= {failure.key: failure.reason for failure in failures}
    text = json.dumps({"model": engine.model, "revision": engine.revision, "refused": refused}, indent=0)
    files.write_text(_path(folder, engine.model, engine.revision), text)


def _path(folder: Path, model: str, revision: str) -> Path:
    return folder / "refused" / f"{hashlib.sha256(f'{model}@{revision}'.encode()).hexdigest()[:16]}.json"
