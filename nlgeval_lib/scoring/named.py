"""An evaluator, an engine and a store from names and settings as a command line has
them.
"""

from __future__ import annotations

import errno
import functools
import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nlgeval_lib import engines, evaluators, files
from nlgeval_lib.engines import Engine, EngineError, Request, models
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.names import meant
from nlgeval_lib.scoring.cells import InputError
from nlgeval_lib.scoring.settings import parameters, parsed

# the engines' classes by name; an engine's module is loaded when it is first started
_CLASSES = {
    "openai": "OpenAIEngine",
    "vllm": "VLLMEngine",
    "transformers": "TransformersEngine",
}
ENGINES = (*_CLASSES, "replay")
SMALL = 500_000_000  # bytes of weights; every model that a paper here asked is larger
STAND_INS = "stand-ins.json"  # in a store: the tiny models whose completions it holds


@dataclass(frozen=True)
class EngineChoice:
    """Who is asked: an engine by its short name, the model, and how.

    settings: `name=value` texts. store: the completions' folder, "" for the checkout's
    own. planning: a stand-in is started that loads no weights; it counts tokens where
    the model's tokenizer, or this `tokenizer`, is here.
    ask_again: which stored completions are asked again, "empty" or "unparsed" ones
    ("failed" are not stored). on: "ray" for `replicas` on the GPUs of this machine,
    "ray=ADDRESS" on those of a cluster. shard: part i of n by key.
    """

    engine: str = ""
    model: str = ""
    revision: str = ""
    base_url: str = ""
    settings: Sequence[str] = ()
    store: str | Path = ""
    tokenizer: str = ""
    planning: bool = False
    ask_again: str = ""
    on: str = ""
    replicas: int = 1
    shard: tuple[int, int] = (1, 1)

    def start(self, kept: Store | None = None) -> Any:
        """The engine. kept: the store that `replay` answers from.

        Raises: InputError naming the setting; EngineError where the engine cannot
        start.
        """
        name = self.engine
        if name not in ENGINES:
            raise InputError(
                f"engine {name!r}{meant(name, ENGINES)} allowed: {', '.join(ENGINES)}"
            )
        if not self.model:
            raise InputError(f"engine {name} needs a model: --model")
        address = urlsplit(self.base_url)
        plain = (
            address.scheme in ("http", "https")
            and address.hostname
            and "@" not in address.netloc
        )
        if self.base_url and (name != "openai" or not plain or address.query):
            raise InputError(
                "--base-url is an address such as http://host:8000/v1 for --engine openai, without a user name or key "
                "in it; keys come from the environment"
            )
        where, _, cluster = self.on.partition("=")
        if where not in ("", "ray") or (
            self.on and name not in ("vllm", "transformers")
        ):
            raise InputError(
                f"--on {self.on}: ray or ray=ADDRESS, for --engine vllm or transformers; servers are in docs/scale.md"
            )
        given = {
            one: value
            for one in ("model", "base_url", "revision")
            if (value := getattr(self, one))
        }
        if name == "replay":
            if self.settings:
                raise InputError("--engine-set: a replay has no options")
            return engines.ReplayEngine(kept if kept is not None else store(), **given)
        kind = getattr(engines, _CLASSES[name])
        arguments = parsed(kind, self.settings, f"engine {name}", "--engine-set", given)
        local = name != "openai"
        try:
            if self.planning and local:
                made: Any = self._stand_in(arguments)
            elif self.on:
                gpus = arguments.get("tensor_parallel_size", 1) * arguments.get(
                    "pipeline_parallel_size", 1
                )
                make = functools.partial(kind, **arguments)
                made = engines.RayEngine(
                    make, replicas=self.replicas, address=cluster, gpus=gpus
                )
            else:
                made = kind(**arguments)
        except (ValueError, TypeError) as error:
            raise InputError(f"engine {name}: {error}") from error
        if self.planning and not local:
            try:
                _ = made.revision
            # a plan needs no server; whose answers are stored is known from it alone
            except EngineError as error:
                warnings.warn(
                    f"planned as if nothing were stored: {error}", stacklevel=2
                )
                made.revision, made.dialect = (
                    self.revision or None,
                    "vllm",
                )  # nothing is refused that it may take
        if self.planning and (local or self.tokenizer):
            made.count_tokens = self._counter(needed=not local)
        made.shard = self.shard
        return made

    def _stand_in(self, options: Mapping[str, Any]) -> Engine:
        called, found = models.identify(
            self.model, self.revision or None, options.get("name")
        )
        known = (
            found or models.hub_revision(self.model, self.revision or None)
        ) + models.quantised(options)
        made = engines.ScriptedEngine((), model=called, revision=known)
        made.name = self.engine
        return made

    def _counter(self, needed: bool) -> Callable[[Sequence[Request]], list[int] | None]:
        """What counts prompt tokens, those of a chat's template included; None of a
        model without a tokenizer here.
        """
        from transformers import AutoTokenizer

        revision = None if self.tokenizer else self.revision or None
        try:
            one = AutoTokenizer.from_pretrained(
                self.tokenizer or self.model, revision=revision, local_files_only=True
            )
        except (OSError, ValueError, KeyError, ImportError):
            if needed:
                raise InputError(
                    f"no tokenizer {self.tokenizer}; give a folder that has one"
                ) from None
            return lambda requests: None
        if getattr(one, "chat_template", None) is None:
            return lambda requests: [
                len(one(request.text()).input_ids) for request in requests
            ]
        return lambda requests: [
            len(models.token_ids(one, request, None, "the model"))
            for request in requests
        ]


def store(folder: str | Path | None = None) -> Store:
    """The store of a folder; the checkout's own without one."""
    return Store(Path(folder) if folder else files.state("completions"))


def check_store(kept: Store) -> None:
    """Passes where completions can be written; a folder that is not there is not made
    yet.

    Raises: InputError.
    """
    folder = next(
        (one for one in (kept.folder, *kept.folder.parents) if one.exists()),
        kept.folder,
    )
    try:
        files.check(folder / kept.path.name)
        if kept.path.exists() and not os.access(kept.path, os.W_OK):
            raise PermissionError(
                errno.EACCES, f"cannot write {kept.path}: {os.strerror(errno.EACCES)}"
            )
    except OSError as error:
        raise InputError(
            f"{error.strerror}; --engine replay answers from what is stored"
        ) from None


def plugin(path: str) -> None:
    """Run a Python file, so that the evaluators that it registers are known.

    Raises: InputError naming the file.
    """
    found = importlib.util.spec_from_file_location(
        f"nlgeval_plugin_{Path(path).stem}", path
    )
    if not Path(path).is_file() or found is None or found.loader is None:
        raise InputError(f"plugin {path}: no such file")
    module = sys.modules[found.name] = importlib.util.module_from_spec(found)
    try:
        found.loader.exec_module(module)
    except (
        Exception,
        SystemExit,
    ) as error:  # a script that ends itself would end this run, and with 0
        raise InputError(f"plugin {path}: {type(error).__name__}: {error}") from error


def asks(name: str) -> bool:
    """Whether an evaluator of this name asks a language model.

    Raises: ValueError with the nearest names.
    """
    cls = evaluators.get(name)
    return isinstance(cls, type) and issubclass(cls, Judge)


def evaluator(
    name: str, settings: Iterable[str] = (), load: str = "", **given: Any
) -> Any:
    """An evaluator by its name, with its settings as `name=value` texts.

    load: a file of the evaluator's own `save`. given: further arguments as they are,
    such as `engine` or `model`.
    Raises: InputError naming the setting; Unavailable from evaluators that cannot work
    here.
    """
    cls: Any = evaluators.get(name)
    names = [parameter for parameter, _, _ in parameters(cls)]
    for one, said in {
        "engine": "asks no language model; leave the engine out",
        "model": f"takes no model of its own; which engine is to run {given.get('model')}? Give --engine",
        "rubric": "grades by no rubric; leave --rubric out",
    }.items():
        if one in given and one not in names:
            raise InputError(f"{name} {said}")
    arguments = parsed(cls, settings, name, given=given)
    if load and not hasattr(cls, "load"):
        raise InputError(f"{name}: {name} is not kept in files; leave --load out")
    try:
        return cls.load(load, **arguments) if load else cls(**arguments)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name}: {error}") from error


def check_stand_in(
    engine: Engine, model: str, store: Store, planning: bool = False
) -> None:
    """Passes where what this engine writes may go into the store: completions of
    stand-ins never get among real ones.

    A folder of weights far too small to be the model that it is named after stands in
    for it, to exercise a run. The store must then be one for stand-ins, which is marked
    for the first; what is read from it has the route `mini`.
    Raises: InputError for a stand-in in a store of real completions, and for a real
    model in one of stand-ins.
    """
    folder = Path(model)
    known = stand_ins(store.folder)
    label = engine.model
    renamed = folder.is_dir() and label != folder.resolve().name
    if engine.name == "replay" or (folder.is_dir() and (planning or not renamed)):
        return
    kinds = ("*.safetensors", "*.bin", "*.gguf")
    weights = (
        sum(path.stat().st_size for kind in kinds for path in folder.glob(kind))
        if renamed
        else SMALL
    )
    if weights >= SMALL:
        if known:
            held = f"{store.folder} holds completions of stand-ins ({', '.join(known)})"
            raise InputError(f"{held}, {label} needs a real store")
        return
    who = f"{folder} has {weights / 1e6:,.0f} MB of weights: it stands in for {label}"
    if store.folder.resolve() == (files.root() / ".nlgeval" / "completions").resolve():
        raise InputError(
            f"{who}, and the checkout's own store is for real completions; give another with --store"
        )
    if len(store) and not known:
        raise InputError(
            f"{who}, and {store.folder} holds other completions; give a new folder with --store"
        )
    files.write_text(
        store.folder / STAND_INS,
        json.dumps({**known, label: engine.revision}, indent=1) + "\n",
    )


def stand_ins(store: Path) -> dict[str, str]:
    """The stand-ins of a store: label -> revision; empty for a store of real
    completions.
    """
    try:
        return dict(json.loads((store / STAND_INS).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError):
        return {"unknown": ""}  # a mark that cannot be read is a mark
