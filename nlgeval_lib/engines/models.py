"""Which model it is: a name and a revision that mean the same on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlgeval_lib import files, hub
from nlgeval_lib.engines.base import EngineError, Request

# folders up to this size are hashed completely, larger files by their ends
_HASHED_COMPLETELY = 1 << 31
_END = 1 << 20
# options that make weights coarser
QUANTISING = ("quantization", "load_in_4bit", "load_in_8bit")
_PATTERNS = ("*.json", "*.jinja", "*.model", "*.txt", "*.safetensors", "*.bin")


def miniature() -> Path:
    """The folder of the miniature judge. Raises: EngineError where it is not there."""
    folder = files.data() / "mini" / "judge"
    if not (folder / "config.json").is_file():
        raise EngineError(f"no miniature judge in {folder}; `make mini-judge` makes it")
    return folder


def identify(
    model: str, revision: str | None, name: str | None
) -> tuple[str, str | None]:
    """The name and revision under which a model's completions are stored.

    A local folder is called `name` or by the folder's own name, not by its path, and
    its revision is a hash of its files.

    model: a folder or a hub id.
    revision: of the model; None where the caller names none.
    name: in place of the model's own; None for that.

    Returns: name and revision; the revision is None for a hub model whose revision is
    not known yet.

    Raises: EngineError where a path is given and nothing is there.
    """
    folder = Path(model)
    if folder.is_dir():
        label = name or folder.resolve().name
        return label, revision or f"sha256:{folder_hash(folder)[:16]}"
    if model.startswith((".", "/", "~")):
        raise EngineError(
            f"no model at {model}: give a folder with config.json and weights, "
            "or a hub id"
        )
    return name or model, revision


def may_be_here(model: str) -> bool:
    """Whether a model is a folder or has anything in the hub's cache; a quick look that
    loads nothing.

    model: a folder or a hub id.
    """
    from huggingface_hub import constants

    if Path(model).is_dir():
        return True
    name_in_cache = f"models--{model.replace('/', '--')}"
    return Path(constants.HF_HUB_CACHE, name_in_cache).is_dir()


def reach_hub(model: str) -> None:
    """Pass where a model is here, or could be fetched.

    model: a folder or a hub id.

    Raises: OSError where the hub cannot be reached.
    """
    if not may_be_here(model):
        hub.reach()


def folder_hash(folder: Path) -> str:
    """The sha256 over names and contents of a model's files, as hex digits.

    Of more than 2 GiB in all, it covers the names, the sizes and the ends of the files.
    """
    paths: set[Path] = set()
    for pattern in _PATTERNS:
        paths.update(folder.glob(pattern))
    files = sorted(paths)
    completely = sum(path.stat().st_size for path in files) <= _HASHED_COMPLETELY
    digest = hashlib.sha256()
    for path in files:
        size = path.stat().st_size
        digest.update(f"{path.name}:{size}:".encode())
        with open(path, "rb") as file:
            if not completely and size > 2 * _END:
                digest.update(file.read(_END))
                file.seek(-_END, 2)
            while block := file.read(_END):
                digest.update(block)
    return digest.hexdigest()


def hub_revision(model: str, revision: str | None) -> str:
    """The commit of a hub model that was just loaded, by the local cache.

    revision: under which it was loaded; it is given back, or "main", where the cache
        does not have the commit.
    """
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(model, "config.json", revision=revision)
    if isinstance(path, str):
        return Path(path).parent.name
    return revision or "main"


def quantised(options: Mapping[str, Any]) -> str:
    """What a revision says of coarser weights, such as `+quantization=fp8`.

    options: with which the model is loaded.

    Returns: "" where they leave the weights as they are.

    Example:
        >>> quantised({"load_in_4bit": True, "max_model_len": 4096})
        '+load_in_4bit=True'
    """
    marks = ""
    for name in QUANTISING:
        if options.get(name):
            marks += f"+{name}={options[name]}"
    return marks


def token_ids(
    tokenizer: Any, request: Request, chat_template: str | None, model: str
) -> list[int]:
    """The tokens of a text with the special ones, or of messages by the chat template.

    tokenizer: of the model.
    chat_template: in place of the tokenizer's own; None for that.
    model: its name, for the message.

    Raises: EngineError for messages where the model has no chat template.
    """
    if request.messages is None:
        return list(tokenizer(request.prompt).input_ids)
    if chat_template is None and getattr(tokenizer, "chat_template", None) is None:
        raise EngineError(
            f"{model} has no chat template: give raw prompts in the model's own "
            "format, or the option chat_template"
        )
    encoding = tokenizer.apply_chat_template(
        [dict(message) for message in request.messages],
        chat_template=chat_template,
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
    )
    return list(encoding["input_ids"])
