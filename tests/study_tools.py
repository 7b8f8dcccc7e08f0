"""A small checkout with the mini set and a catalogue of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from runner_tools import Checkout

from nlgeval_lib import files

MINI = files.data() / "mini" / "mini.jsonl"


def mini_checkout(folder: Path, monkeypatch: pytest.MonkeyPatch, entries: str) -> Checkout:
    """The checkout, with a notebook "one" and these entries."""
    monkeypatch.setenv("NLGEVAL_ROOT", str(folder))
    monkeypatch.delenv("NLGEVAL_HOME", raising=False)
    checkout = Checkout(folder)
    (folder / "data" / "mini").mkdir()
    shutil.copy(MINI, folder / "data" / "mini")
    checkout.notebook("one", "x = 1")
    checkout.catalogue(entries)
    return checkout
