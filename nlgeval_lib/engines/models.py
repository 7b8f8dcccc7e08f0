"""Which model it is: a name and a revision that mean the same on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlgeval_lib import files, hub, weights
from nlgeval_lib.engines.base import EngineError, Request


def miniature() -> Path:
    """The folder of the miniature judge. Raises: EngineError where it is not there."""
    folder = files.data() / "mini" / "judge"
    if not (folder / "config.json").is_file():
        raise EngineError(f"no miniature judge in {folder}; `make mini-judge` makes it")
    return folder


def identify(
    model: str, revision: str | None, name: str | None
) -> tuple[str, str | None]:
    """The name and revision under which a model's completions are stored; of a hub
    model the revision may be None, not known yet. A folder is called by its own
    name, not by its path; its revision is that of its weights (`weights.revision`).

    model: a folder, a name of weights that were fetched, or a hub id.
    revision, name: as the caller names them; None for the model's own.
    """
    folder = Path(placed(model))
    if folder.is_dir():
        label = name or folder.resolve().name
        return label, revision or weights.revision(folder)
    if model.startswith((".", "/", "~")):
        raise EngineError(f"no model at {model}: give a folder of weights, or a hub id")
    return name or model, revision


def placed(model: str) -> str:
    """The folder of weights that were fetched by this name; else the model as given."""
    if Path(model).is_dir():
        return model
    return str(weights.folder(model) or model)


def may_be_here(model: str) -> bool:
    """Whether a model is a folder or has anything in the hub's cache: a quick look."""
    from huggingface_hub import constants

    if Path(placed(model)).is_dir():
        return True
    name_in_cache = f"models--{model.replace('/', '--')}"
    return Path(constants.HF_HUB_CACHE, name_in_cache).is_dir()


def reach_hub(model: str) -> None:
    """Raise an OSError where a model is not here and cannot be fetched."""
    if may_be_here(model):
        return
    if model in weights.entries():
        fetch = f"nlgeval models --fetch {model}"
        raise OSError(f"its weights are not here; `{fetch}` brings them")
    hub.reach()


def hub_revision(model: str, revision: str | None) -> str:
    """The commit of a hub model that was just loaded; else "main"."""
    from huggingface_hub import try_to_load_from_cache

    path = try_to_load_from_cache(model, "config.json", revision=revision)
    if isinstance(path, str):
        return Path(path).parent.name
    return revision or "main"


def quantised(options: Mapping[str, Any]) -> str:
    """What a revision says of coarser weights, by the options of loading; else ""."""
    kind = options.get("quantization")
    return f"+quantization={kind}" if kind else ""


def token_ids(tokenizer: Any, request: Request, model: str) -> list[int]:
    """The tokens of a text, or of messages by the chat template."""
    if request.messages is None:
        return list(tokenizer(request.prompt).input_ids)
    if getattr(tokenizer, "chat_template", None) is None:
        raise EngineError(
            f"{model} has no chat template: give raw prompts in the model's own "
            "format, or lay a chat_template.jinja into its folder"
        )
    encoding = tokenizer.apply_chat_template(
        [dict(message) for message in request.messages],
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
    )
    return list(encoding["input_ids"])
