"""Which model it is: a name and a revision that mean the same on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlgeval_lib.engines.base import EngineError, Request

_WHOLE = 1 << 31  # folders up to this size are hashed whole, larger files by their ends
_END = 1 << 20
QUANTISING = ("quantization", "load_in_4bit", "load_in_8bit")  # options that make weights coarser
_PATTERNS = ("*.json", "*.jinja", "*.model", "*.txt", "*.safetensors", "*.bin")


def identify(model: str, revision: str | None, name: str | None) -> tuple[str, str | None]:
    """The name and revision under which a model's completions are stored; revision None is one of a hub, still open.

    A local folder is named by `name` or by itself, not by its path, and its revision is a hash of what is in it.
    Raises: EngineError where a path is given and nothing is there.
    """
    folder = Path(model)
    if folder.is_dir():
        return name or folder.resolve().name, revision or f"sha256:{folder_hash(folder)[:16]}"
    if model.startswith((".", "/", "~")):
        raise EngineError(f"no model at {model}: give a folder with config.json and weights, or a hub id")
    return name or model, revision


def folder_hash(folder: Path) -> str:
    """The sha256 over names and contents of a model's files; of large models, names, sizes and the files' ends."""
    files = sorted({path for pattern in _PATTERNS for path in folder.glob(pattern)})
    whole = sum(path.stat().st_size for path in files) <= _WHOLE
    digest = hashlib.sha256()
    for path in files:
        size = path.stat().st_size
        digest.update(f"{path.name}:{size}:".encode())
        with open(path, "rb") as file:
            if not whole and size > 2 * _END:
                digest.update(file.read(_END))
                file.seek(-_END, 2)
            while block := file.read(_END):
                digest.update(block)
    return digest.hexdigest()


def hub_revision(model: str, revision: str | None) -> str:
    """The commit of a hub model that was just loaded, from the local cache; "main" where it is not to be found."""
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(model, "config.json", revision=revision)
    return Path(path).parent.name if isinstance(path, str) else revision or "main"


def quantised(options: Mapping[str, Any]) -> str:
    """What a revision says of weights that are made coarser: `+quantization=fp8`; empty without."""
    return "".join(f"+{name}={options[name]}" for name in QUANTISING if options.get(name))


def token_ids(tokenizer: Any, request: Request, chat_template: str | None, model: str) -> list[int]:
    """The tokens of a text with the special ones, or of messages by the chat template. Raises: EngineError without."""
    if request.messages is None:
        return list(tokenizer(request.prompt).input_ids)
    if chat_template is None and getattr(tokenizer, "chat_template", None) is None:
        raise EngineError(
            f"{model} has no chat template: give raw prompts in the model's own format, or the option chat_template"
        )
    messages = [dict(message) for message in request.messages]
    how = {"add_generation_prompt": True, "tokenize": True, "return_dict": True}
    return list(tokenizer.apply_chat_template(messages, chat_template=chat_template, **how)["input_ids"])
