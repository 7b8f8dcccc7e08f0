"""An evaluator, an engine and a store from names and settings as a command line has them."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nlgeval_lib import engines, evaluators, files
from nlgeval_lib.engines import Engine, Request, models
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.names import meant
from nlgeval_lib.scoring.settings import check_needed, parameters, parsed
from nlgeval_lib.scoring.table_files import InputError

_CLASSES = {"openai": "OpenAIEngine", "vllm": "VLLMEngine", "transformers": "TransformersEngine"}
ENGINES = (*_CLASSES, "replay")
SMALL = 500_000_000  # bytes of weights; every model that a paper here asked is larger
STAND_INS = "stand-ins.json"  # in a store: the tiny models whose completions it holds


@dataclass(frozen=True)
class EngineChoice:
    """Who is asked: an engine by its short name, the model, and how. planning: no weights are loaded.

    settings: `name=value` texts. store: the completions' folder, "" for the checkout's own. tokenizer: another one than
    the model's, for a plan to count with.
    """

    engine: str = ""
    model: str = ""
    revision: str = ""
    base_url: str = ""
    settings: Sequence[str] = ()
    store: str | Path = ""
    tokenizer: str = ""
    planning: bool = False

    def start(self, kept: Store | None = None) -> Any:
        """The engine. Raises: as `engine`."""
        how: dict[str, Any] = {"base_url": self.base_url, "revision": self.revision, "settings": self.settings}
        return engine(self.engine, self.model, kept=kept, unloaded=self.planning, tokenizer=self.tokenizer, **how)


def store(folder: str | Path | None = None) -> Store:
    """The store of a folder; the checkout's own without one."""
    return Store(Path(folder) if folder else files.state("completions"))


def plugin(path: str) -> None:
    """Run a Python file, so that the evaluators that it registers are known. Raises: InputError naming the file."""
    found = importlib.util.spec_from_file_location(f"nlgeval_plugin_{Path(path).stem}", path)
    if not Path(path).is_file() or found is None or found.loader is None:
        raise InputError(f"plugin {path}: no such file")
    module = sys.modules[found.name] = importlib.util.module_from_spec(found)
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
    given: Mapping[str, Any] | None = None,
) -> Any:
    """An evaluator by its name, with its settings as `name=value` texts.

    engine: for those that ask a language model, or score with one. model: for those that load a model of their own.
    load: a file of the evaluator's own `save`. given: further arguments as they are.
    Raises: InputError naming the setting; Unavailable from evaluators that cannot work here.
    """
    cls = evaluator_class(name)
    arguments = parsed(cls, settings, name) | dict(given or {})
    names = [parameter for parameter, _, _ in parameters(cls)]
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
    check_needed(cls, arguments, name)
    if load and not hasattr(cls, "load"):
        raise InputError(f"{name}: {name} is not kept in files; leave --load out")
    try:
        return cls.load(load, **arguments) if load else cls(**arguments)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name}: {error}") from error


# -- engines -----------------------------------------------------------------------------------------------------------


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
    address = urlsplit(base_url)
    plain = address.scheme in ("http", "https") and address.hostname and "@" not in address.netloc and not address.query
    if base_url and (name != "openai" or not plain):
        raise InputError(
            "--base-url is an address such as http://host:8000/v1 for --engine openai, without a user name or key in "
            "it; keys come from the environment"
        )
    arguments: dict[str, Any] = {}
    if name != "replay":
        arguments = parsed(getattr(engines, _CLASSES[name]), settings, f"engine {name}", "--engine-set")
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
        if not (unloaded and local):
            made: Any = engines.make(name, **arguments)
        else:
            called, found = models.identify(model, revision or None, arguments.get("name"))
            known = found or models.hub_revision(model, revision or None)
            made = engines.ScriptedEngine((), model=called, revision=known)
            made.name = name
    except (ValueError, TypeError) as error:
        raise InputError(f"engine {name}: {error}") from error
    if unloaded and (local or tokenizer):
        counter = _tokenizer(tokenizer or model, None if tokenizer else revision or None)
        if counter is None and not local:
            raise InputError(f"no tokenizer {tokenizer}; give a folder that has one")
        made.count_tokens = lambda requests: _count(counter, requests)
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
    if tokenizer is None:
        return None
    if getattr(tokenizer, "chat_template", None) is None:
        return [len(tokenizer(request.text()).input_ids) for request in requests]
    return [len(models.token_ids(tokenizer, request, None, "the model")) for request in requests]


def check_stand_in(engine: Engine, model: str, store: Store, planning: bool = False) -> None:
    """Passes where what this engine writes may go into the store: completions of stand-ins never get among real ones.

    A folder of weights far too small to be the model that it is named after stands in for it, to exercise a run. The
    store must then be one for stand-ins, which is marked for the first; what is read from it has the route `mini`.
    Raises: InputError for a stand-in in a store of real completions, and for a real model in one of stand-ins.
    """
    folder, known, label = Path(model), stand_ins(store.folder), engine.model
    renamed = folder.is_dir() and label != folder.resolve().name
    if engine.name == "replay" or (folder.is_dir() and (planning or not renamed)):
        return
    kinds = ("*.safetensors", "*.bin", "*.gguf")
    weights = sum(path.stat().st_size for kind in kinds for path in folder.glob(kind)) if renamed else SMALL
    if weights >= SMALL:
        if known:
            held = f"{store.folder} holds completions of stand-ins ({', '.join(known)})"
            raise InputError(f"{held}, {label} needs a real store")
        return
    who = f"{folder} has {weights / 1e6:,.0f} MB of weights: it stands in for {label}"
    if store.folder.resolve() == (files.root() / ".nlgeval" / "completions").resolve():
        raise InputError(f"{who}, and the checkout's own store is for real completions; give another with --store")
    if len(store) and not known:
        raise InputError(f"{who}, and {store.folder} holds other completions; give a new folder with --store")
    files.write_text(store.folder / STAND_INS, json.dumps({**known, label: engine.revision}, indent=1) + "\n")


def stand_ins(store: Path) -> dict[str, str]:
    """The stand-ins of a store: label -> revision; empty for a store of real completions."""
    try:
        return dict(json.loads((store / STAND_INS).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError):
        return {"unknown": ""}  # a mark that cannot be read is a mark
