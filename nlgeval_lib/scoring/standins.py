"""Tiny models that stand in for real ones, to exercise a whole run: their completions never get among real ones.

A folder of weights may be run under a model's id (`--model-path ID=FOLDER`). Where the weights are far too small to be
that model, the store must be one for stand-ins: it is marked, it is not the checkout's own, and what is read from it
has the route `mini`.
"""

from __future__ import annotations

import json
from pathlib import Path

from nlgeval_lib import files, paths
from nlgeval_lib.engines import Engine
from nlgeval_lib.scoring.table import InputError
from nlgeval_lib.store import Store

SMALL = 500_000_000  # bytes of weights; every model that a paper here asked is larger
MARK = "stand-ins.json"
_WEIGHTS = ("*.safetensors", "*.bin", "*.gguf")


def check(engine: Engine, model: str, store: Store, planning: bool = False) -> None:
    """`guard` for an engine that runs a folder under another name; a store of stand-ins takes nothing else.

    planning: nothing is asked, so nothing is marked. Raises: InputError.
    """
    if engine.name == "replay":
        return
    folder = Path(model)
    if folder.is_dir() and engine.model != folder.resolve().name:
        if not planning:
            guard(folder, engine.model, engine.revision, store)
    elif not folder.is_dir():
        unmarked(store, engine.model)


def guard(folder: Path, label: str, revision: str, store: Store) -> None:
    """Passes where the completions of the weights in `folder`, labelled `label`, may go into the store; marks it.

    Raises: InputError for a stand-in in a store of real completions, and for a real model in one of stand-ins.
    """
    weights = sum(path.stat().st_size for pattern in _WEIGHTS for path in folder.glob(pattern))
    known = marked(store.folder)
    if weights >= SMALL:
        unmarked(store, label)
        return
    who = f"{folder} has {weights / 1e6:,.0f} MB of weights: it stands in for {label}"
    if store.folder.resolve() == (paths.root() / ".nlgeval" / "completions").resolve():
        raise InputError(f"{who}, and the checkout's own store is for real completions; give another with --store")
    if len(store) and not known:
        raise InputError(f"{who}, and {store.folder} holds other completions; give a new folder with --store")
    files.write_text(store.folder / MARK, json.dumps({**known, label: revision}, indent=1) + "\n")


def unmarked(store: Store, label: str) -> None:
    """Raises: InputError where the store is one for stand-ins."""
    if known := marked(store.folder):
        raise InputError(
            f"{store.folder} holds completions of stand-ins ({', '.join(known)}), {label} needs a real store"
        )


def marked(store: Path) -> dict[str, str]:
    """The stand-ins of a store: label -> revision; empty for a store of real completions."""
    try:
        found = json.loads((store / MARK).read_text(encoding="utf-8"))
        return dict(found)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError):
        return {"unknown": ""}  # a mark that cannot be read is a mark
