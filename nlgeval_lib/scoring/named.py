"""An evaluator, an engine and a store from names and settings of a command line."""

from __future__ import annotations

import errno
import functools
import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nlgeval_lib import engines, evaluators, files, weights
from nlgeval_lib.engines import Engine, EngineError, models
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.names import extra, meant
from nlgeval_lib.scoring.cells import InputError
from nlgeval_lib.scoring.settings import parameters, parsed

ENGINES = ("openai", "vllm", "transformers", "replay")
# Fewer bytes of weights are a stand-in's; each model that a paper here asked has more.
SMALL = 500_000_000
STAND_INS = "stand-ins.json"  # in a store: the tiny models whose completions it holds


@dataclass(frozen=True)
class EngineChoice:
    """Which model is asked, by which engine, and with which options.

    engine: one of ENGINES; "" for none. model: as the engine takes it.
    settings: `name=value` texts, options of the engine.
    store: the completions' folder, "" for the checkout's own.
    planning: a stand-in is started that loads no weights.
    ask_again: which stored completions are asked again, "empty" or "unparsed" ones.
    on: "ray" for `replicas` on the GPUs here, "ray=ADDRESS" for those of a cluster.
    shard: part i of n by key, (i, n) from 1; the engine asks only for its part.
    """

    engine: str = ""
    model: str = ""
    revision: str = ""
    base_url: str = ""
    settings: Sequence[str] = ()
    store: str | Path = ""
    planning: bool = False
    ask_again: str = ""
    on: str = ""
    replicas: int = 1
    shard: tuple[int, int] = (1, 1)

    def start(self, recorded: Store | None = None) -> Any:
        """The engine, ready to be asked; recorded: the store that `replay` answers
        from.
        """
        self._check()
        name = self.engine
        common: dict[str, Any] = {"model": self.model}
        if self.base_url:
            common["base_url"] = self.base_url
        if self.revision:
            common["revision"] = self.revision
        if name == "replay":
            if self.settings:
                raise InputError("--engine-set: a replay has no options")
            recorded = store() if recorded is None else recorded
            return engines.ReplayEngine(recorded, **common)
        # `engines` loads the module of a class when it is asked for.
        kind = getattr(engines, engines.CLASSES[name])
        subject = f"engine {name}"
        arguments = parsed(kind, self.settings, subject, "--engine-set", common)
        local = name != "openai"
        make = functools.partial(kind, **arguments)
        try:
            if self.planning and local:
                engine: Any = self._stand_in(arguments)
            elif self.on:
                # one engine's arguments say how many GPUs it takes
                gpus = arguments.get("tensor_parallel_size", 1)
                gpus *= arguments.get("pipeline_parallel_size", 1)
                engine = engines.RayEngine(
                    make,
                    replicas=self.replicas,
                    address=self.on.partition("=")[2],
                    gpus=gpus,
                )
            else:
                engine = make()
        except (ValueError, TypeError) as error:
            raise InputError(f"engine {name}: {error}") from error
        if self.planning and not local:
            self._plan_without_server(engine)
        engine.shard = self.shard
        return engine

    def _check(self) -> None:
        name = self.engine
        if name not in ENGINES:
            raise InputError(
                f"engine {name!r}{meant(name, ENGINES)} allowed: {', '.join(ENGINES)}"
            )
        if not self.model:
            raise InputError(f"engine {name} needs a model: --model")
        takes_url = name == "openai" and _is_plain_address(self.base_url)
        if self.base_url and not takes_url:
            raise InputError(
                "--base-url is an address such as http://host:8000/v1 for --engine "
                "openai, without a user name or key in it; keys come from the "
                "environment"
            )
        scheduler = self.on.partition("=")[0]
        local = name in ("vllm", "transformers")
        if self.on and (scheduler not in ("", "ray") or not local):
            raise InputError(
                f"--on {self.on}: ray or ray=ADDRESS, for --engine vllm or "
                "transformers; servers are in docs/scale.md"
            )

    def _stand_in(self, options: Mapping[str, Any]) -> Engine:
        """An engine that loads no weights; what is stored of the model counts."""
        revision = self.revision or None
        label, identity = models.identify(self.model, revision, options.get("name"))
        if not identity:
            identity = models.hub_revision(self.model, revision)
        identity += models.quantised(options)
        engine = engines.ScriptedEngine((), model=label, revision=identity)
        engine.name = self.engine
        return engine

    def _plan_without_server(self, engine: Any) -> None:
        """Let a plan go on, with a warning, where no server says what it serves."""
        try:
            _ = engine.revision
        except EngineError as error:
            warnings.warn(f"planned as if nothing were stored: {error}", stacklevel=3)
            engine.revision = self.revision or None
            # With this dialect the plan refuses nothing that the server may take.
            engine.dialect = "vllm"


def local_judge(name: str) -> tuple[str, str]:
    """The engine and the model that `--judge` means: a name of `nlgeval models`, or
    mini.
    """
    if name == "mini":
        model = str(models.miniature())
    else:
        model = weights.judge(name).id
        if weights.folder(model) is None:
            raise InputError(
                f"--judge {name}: `nlgeval models --fetch {model}` brings its weights"
            )
    for engine in ("vllm", "transformers"):
        if importlib.util.find_spec(engine) is not None:
            return engine, model
    raise InputError(
        f"--judge {name}: neither vllm nor transformers is installed; {extra('torch')}"
    )


def _is_plain_address(url: str) -> bool:
    """Whether it is a server's address without a user name or a key in it."""
    try:
        address = urlsplit(url)
    except ValueError:  # of brackets that are not closed
        return False
    has_server = address.scheme in ("http", "https") and bool(address.hostname)
    return has_server and "@" not in address.netloc and not address.query


def store(folder: str | Path | None = None) -> Store:
    """The store of a folder; the checkout's own without one."""
    return Store(Path(folder) if folder else files.state("completions"))


def check_store(store: Store) -> None:
    """Raise an InputError where completions cannot be written, before a model is asked."""
    # the nearest folder that is there: it must let the others be made
    folder = store.folder
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    try:
        files.check(folder / store.path.name)
        if store.path.exists() and not os.access(store.path, os.W_OK):
            problem = f"cannot write {store.path}: {os.strerror(errno.EACCES)}"
            raise PermissionError(errno.EACCES, problem)
    except OSError as error:
        raise InputError(
            f"{error.strerror}; --engine replay answers from what is stored"
        ) from None


def plugin(path: str) -> None:
    """Run a Python file, so that the evaluators that it registers are known."""
    name = f"nlgeval_plugin_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if not Path(path).is_file():
        raise InputError(f"plugin {path}: no such file")
    if spec is None or spec.loader is None:
        raise InputError(f"plugin {path}: no Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        # A script that ends itself would end this run too, with exit code 0.
        raise InputError(f"plugin {path}: {type(error).__name__}: {error}") from error


def asks(name: str) -> bool:
    """Whether an evaluator of this name asks a language model through the store."""
    cls = evaluators.get(name)
    return isinstance(cls, type) and issubclass(cls, Judge)


def evaluator(
    name: str, settings: Iterable[str] = (), load: str = "", **fixed: Any
) -> Any:
    """An evaluator by its name, with its settings, `name=value` texts.

    load: a file of the evaluator's own `save`; "" for none.
    fixed: further arguments as they are, such as `engine` or `model`.
    """
    cls: Any = evaluators.get(name)
    names = [parameter for parameter, _, _ in parameters(cls)]
    # what an evaluator without such an argument says
    refusals = {
        "engine": "asks no language model; leave the engine out",
        "model": "takes no model of its own; which engine is to run "
        f"{fixed.get('model')}? Give --engine",
        "rubric": "grades by no rubric; leave --rubric out",
    }
    for argument, refusal in refusals.items():
        if argument in fixed and argument not in names:
            raise InputError(f"{name} {refusal}")
    arguments = parsed(cls, settings, name, given=fixed)
    if load and not hasattr(cls, "load"):
        raise InputError(f"{name}: {name} is not kept in files; leave --load out")
    try:
        return cls.load(load, **arguments) if load else cls(**arguments)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name}: {error}") from error


def check_stand_in(
    engine: Engine, model: str, store: Store, planning: bool = False
) -> None:
    """Raise an InputError where stand-ins and real models would share a store.

    A folder of weights far too small for its name stands in for that model, to exercise
    a run. Its store is marked; what is read from it has the route `mini`.
    """
    if engine.name == "replay":
        return
    folder = Path(model)
    present = stand_ins(store.folder)
    label = engine.model
    size = SMALL
    if folder.is_dir():
        if planning or label == folder.resolve().name:
            return
        size = 0
        for kind in ("*.safetensors", "*.bin", "*.gguf"):
            size += sum(path.stat().st_size for path in folder.glob(kind))
    if size >= SMALL:
        if present:
            raise InputError(
                f"{store.folder} holds completions of stand-ins ({', '.join(present)}), "
                f"{label} needs a real store"
            )
        return
    own_store = files.root() / ".nlgeval" / "completions"
    is_own = store.folder.resolve() == own_store.resolve()
    if is_own or (len(store) and not present):
        raise InputError(
            f"{folder} has {size / 1e6:,.0f} MB of weights: it stands in for {label}, "
            f"and {store.folder} is for real completions; give a new folder with --store"
        )
    marks = {**present, label: engine.revision}
    files.write_text(store.folder / STAND_INS, json.dumps(marks, indent=1) + "\n")


def stand_ins(store: Path) -> dict[str, str]:
    """The stand-ins of a store's folder: label -> revision."""
    try:
        return dict(files.from_json((store / STAND_INS).read_text("utf-8")))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError):
        # A mark that cannot be read marks the store all the same.
        return {"unknown": ""}
