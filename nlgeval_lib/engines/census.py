"""Whether a store has completions of a model: one look, without the store's own code."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

FILE = "completions.sqlite"


def has_model(store: Path, model: str) -> bool:
    """Whether the store in a folder may have completions of a model, of any revision;
    True as well where its file cannot be read: opening the store says why.
    """
    path = store / FILE
    if not path.is_file():
        return False
    address = f"{path.resolve().as_uri()}?mode=ro"
    query = "SELECT 1 FROM records WHERE model = ? LIMIT 1"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True)) as database:
            return database.execute(query, (model,)).fetchone() is not None
    except sqlite3.Error:
        return True
