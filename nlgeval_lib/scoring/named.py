"""An evaluator, an engine and a store from names and settings as a command line has them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nlgeval_lib import engines, evaluators, files
from nlgeval_lib.engines import Engine, Request
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.names import meant
from nlgeval_lib.scoring import options
from nlgeval_lib.scoring.readers import InputError

_CLASSES = {"openai": "OpenAIEngine", "vllm": "VLLMEngine", "transformers": "TransformersEngine"}
ENGINES = (*_CLASSES, "replay")


def store(folder: str | Path | None = None) -> Store:
    """The store of a folder; the checkout's own without one."""
    return Store(Path(folder) if folder else files.state("completions"))


def plugin(path: str) -> None:
    """Run a Python file, so that the evaluators that it registers are known. Raises: InputError naming the file."""
    if not Path(path).is_file():
        raise InputError(f"plugin {path}: no such file")
    name = f"nlgeval_plugin_{Path(path).stem}"
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise InputError(f"plugin {path}: not a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(found)
    try:
        found.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a script that ends itself would end this run, and with 0
        raise InputError(f"plugin {path}: {type(error).__name__}: {error}") from error


def evaluator_class(name: str) -> Any:
    """The class of an evaluator's name. Raises: InputError with the nearest names."""
    try:
        return evaluators.get(name)
    except ValueError as error:
        raise InputError(str(error)) from None


def asks(name: str) -> bool:
    """Whether an evaluator of this name asks a language model."""
    cls = evaluator_class(name)
    return isinstance(cls, type) and issubclass(cls, Judge)


def evaluator(
    name: str,
    settings: Iterable[str] = (),
    *,
    engine: Engine | None = None,
    model: str = "",
    load: str = "",
    given: dict[str, Any] | None = None,
) -> Any:
    """An evaluator by its name, with its settings as `name=value` texts.

    engine: for those that ask a language model, or score with one. model: for those that load a model of their own.
    load: a file of the evaluator's own `save`. given: further arguments as they are.
    Raises: InputError naming the setting; Unavailable from evaluators that cannot work here.
    """
    cls = evaluator_class(name)
    arguments = options.parse(cls, settings, name) | (given or {})
    names = [parameter for parameter, _, _ in options.parameters(cls)]
    if engine is not None:
        if "engine" not in names:
            raise InputError(f"{name} asks no language model; leave the engine out")
        arguments["engine"] = engine
    elif model:
        if "model" not in names:
            raise InputError(f"{name} takes no model of its own; which engine is to run {model}? Give --engine")
        if "model" in arguments:
            raise InputError(f"{name}: the model is given twice, by --model and by --set model=")
        arguments["model"] = model
    options.lacking(cls, arguments, name)
    if load and not hasattr(cls, "load"):
        raise InputError(f"{name}: {name} is not kept in files; leave --load out")
    try:
        return cls.load(load, **arguments) if load else cls(**arguments)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name}: {error}") from error


def engine(
    name: str,
    model: str,
    *,
    base_url: str = "",
    revision: str = "",
    settings: Iterable[str] = (),
    kept: Store | None = None,
    unloaded: bool = False,
    tokenizer: str = "",
) -> Any:
    """An engine by its short name, with its settings as `name=value` texts.

    kept: the store that `replay` answers from. unloaded: for planning, a stand-in that knows model and revision and
    loads no weights; it counts tokens where the model's tokenizer is here. tokenizer: another one to count with.
    Raises: InputError naming the setting; EngineError where the engine cannot start.
    """
    if name not in ENGINES:
        raise InputError(f"engine {name!r}{meant(name, ENGINES)} allowed: {', '.join(ENGINES)}")
    if not model:
        raise InputError(f"engine {name} needs a model: --model")
    if base_url and (name != "openai" or not _plain_url(base_url)):
        raise InputError(
            "--base-url is an address such as http://host:8000/v1 for --engine openai, without a user name or key in "
            "it; keys come from the environment"
        )
    arguments: dict[str, Any] = {}
    if name != "replay":
        target = getattr(engines, _CLASSES[name])
        arguments = options.parse(target, settings, f"engine {name}", "--engine-set", options.open_ended(target))
    elif list(settings):
        raise InputError("--engine-set: a replay has no options")
    for key, value in (("model", model), ("base_url", base_url), ("revision", revision)):
        if value and key in arguments:
            raise InputError(f"--engine-set {key} and --{key.replace('_', '-')} say the same; give one of them")
        if value:
            arguments[key] = value
    if name == "replay":
        return engines.ReplayEngine(kept if kept is not None else store(), **arguments)
    local = name in ("vllm", "transformers")
    try:
        made = (
            _unloaded(name, model, revision, arguments.get("name"))
            if unloaded and local
            else engines.make(name, **arguments)
        )
    except (ValueError, TypeError) as error:
        raise InputError(f"engine {name}: {error}") from error
    if unloaded and (local or tokenizer):
        counter = _tokenizer(tokenizer or model, None if tokenizer else revision or None)
        if counter is None and not local:
            raise InputError(f"no tokenizer {tokenizer}; give a folder that has one")
        made.count_tokens = lambda requests: _count(counter, requests)
    return made


def _unloaded(name: str, model: str, revision: str, label: str | None) -> Engine:
    """A model that is not loaded: an engine that can only be planned with, and knows its name and revision for keys."""
    from nlgeval_lib.engines import models

    called, found = models.identify(model, revision or None, label)
    made = engines.ScriptedEngine((), model=called, revision=found or models.hub_revision(model, revision or None))
    made.name = name
    return made


def _tokenizer(model: str, revision: str | None) -> Any:
    """The tokenizer of a folder or of a model in the local cache, None where there is none."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(model, revision=revision, local_files_only=True)
    except (OSError, ValueError, KeyError, ImportError):
        return None


def _count(tokenizer: Any, requests: Sequence[Request]) -> list[int] | None:
    """Prompt tokens, those of a chat's template included where the tokenizer has one; None without a tokenizer."""
    from nlgeval_lib.engines import models

    if tokenizer is None:
        return None
    if getattr(tokenizer, "chat_template", None) is None:
        return [len(tokenizer(request.text()).input_ids) for request in requests]
    return models.count(tokenizer, requests, None, "the model")


def _plain_url(address: str) -> bool:
    found = urlsplit(address)
    return found.scheme in ("http", "https") and bool(found.hostname) and "@" not in found.netloc and not found.query
