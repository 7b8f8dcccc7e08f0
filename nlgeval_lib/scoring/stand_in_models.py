"""Tiny models that stand in for real ones, to exercise a whole run: their completions never get among real ones.

A folder of weights may be run under a model's id (`--model-path ID=FOLDER`). Where the weights are far too small to be
that model, the store must be one for stand-ins: it is marked, it is not the checkout's own, and what is read from it
has the route `mini`.
"""

from __future__ import annotations

import json
from pathlib import Path

from nlgeval_lib import files
from nlgeval_lib.engines import Engine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.scoring.readers import InputError

SMALL = 500_000_000  # bytes of weights; every model that a paper here asked is larger
MARK = "stand-ins.json"
_WEIGHTS = ("*.safetensors", "*.bin", "*.gguf")


def check(engine: Engine, model: str, store: Store, planning: bool = False) -> None:
    """Passes where what this engine writes may go into the store, which is marked for the first stand-in.

    planning: nothing is asked, so nothing is marked.
    Raises: InputError for a stand-in in a store of real completions, and for a real model in one of stand-ins.
    """
    folder, known, label = Path(model), marked(store.folder), engine.model
    renamed = folder.is_dir() and label != folder.resolve().name
    if engine.name == "replay" or (folder.is_dir() and (planning or not renamed)):
        return
    weights = sum(path.stat().st_size for pattern in _WEIGHTS for path in folder.glob(pattern)) if renamed else SMALL
    if weights >= SMALL:
        if known:
            raise InputError(
                f"{store.folder} holds completions of stand-ins ({', '.join(known)}), {label} needs a real store"
            )
        return
    who = f"{folder} has {weights / 1e6:,.0f} MB of weights: it stands in for {label}"
    if store.folder.resolve() == (files.root() / ".nlgeval" / "completions").resolve():
        raise InputError(f"{who}, and the checkout's own store is for real completions; give another with --store")
    if len(store) and not known:
        raise InputError(f"{who}, and {store.folder} holds other completions; give a new folder with --store")
    files.write_text(store.folder / MARK, json.dumps({**known, label: engine.revision}, indent=1) + "\n")


def marked(store: Path) -> dict[str, str]:
    """The stand-ins of a store: label -> revision; empty for a store of real completions."""
    try:
        found = json.loads((store / MARK).read_text(encoding="utf-8"))
        return dict(found)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError):
        return {"unknown": ""}  # a mark that cannot be read is a mark
