"""A question of the catalogue as a job of `nlgeval_lib.scoring`: its rows, evaluator, engine and store."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nlgeval_lib import datasets, files
from nlgeval_lib.engines import Engine
from nlgeval_lib.names import pair
from nlgeval_lib.scoring import Job, Rows, Source, prepared
from nlgeval_lib.study.catalogue import Question

MINI = "mini"  # the model name that stands for the miniature judge
MINI_DATA = "mini_judge"
QUICK_INPUTS = 20
# settings of an evaluator that belong to the data: for the miniature judge its own hold
_OF_DATA = ("task", "low", "high", "targets", "aspects", "criteria", "instruction", "template", "flip")
_SAMPLING = ("temperature", "top_p", "top_k", "n", "max_tokens", "repetition_penalty", "seed", "stop")


class JudgeUnavailable(RuntimeError):
    """What a judge needs is not here; the message says what, and how to get it."""


@dataclass(frozen=True)
class EngineOptions:
    """How models are asked: engine, address, settings, another model in place of the catalogue's, where weights are.

    model, revision: "" is the catalogue's; "mini" is the miniature judge. folders: where the weights of a model id are,
    by id; completions are stored under the id and a hash of these weights. store: the completions' folder, "" for the
    checkout's own. mode "quick": the rows of the first 20 inputs.
    """

    engine: str
    model: str = ""
    revision: str = ""
    base_url: str = ""
    engine_settings: Sequence[str] = ()
    folders: Mapping[str, str] = field(default_factory=dict)
    store: str | Path = ""
    mode: str = "full"
    tokenizer: str = ""

    def model_of(self, question: Question) -> tuple[str, str]:
        """Model and revision that are asked: the catalogue's revision is that of its own model only."""
        judge = question.judge
        return self.model or judge.model, self.revision or (judge.revision if self.model in ("", judge.model) else "")


def job(
    question: Question,
    options: EngineOptions,
    *,
    planning: bool = False,
    ready: Engine | None = None,
    aspects: Sequence[str] = (),
) -> Job:
    """The judge ready to be asked about the question's rows.

    planning: no weights are loaded. ready: an engine that is loaded. aspects: only rows of these; the miniature judge
    is asked for the overall quality alone where none are named (hdeval, whose aggregator learns from all ratings, for
    all).
    Raises: JudgeUnavailable without the miniature judge's checkpoint; and what `scoring.prepared` raises.
    """
    judge, mini = question.judge, options.model == MINI
    source, settings = Source(data=judge.data, mapping=question.map, fill=question.fill), judge.settings
    given: dict[str, Any] = {}
    model, revision = options.model_of(question)
    engine_settings = tuple(options.engine_settings)
    if mini:
        source, settings, given = _mini(question)
        model, revision = _miniature(options.engine), options.revision
    elif folder := options.folders.get(model, ""):
        engine_settings, model, revision = (*engine_settings, f"name={model}"), folder, options.revision
    elif planning and not options.revision:
        revision = _stored_elsewhere(model, revision, options)
    made = prepared(
        source,
        judge.evaluator,
        settings,
        engine=options.engine,
        model=model,
        revision=revision,
        base_url=options.base_url,
        engine_settings=engine_settings,
        folder=str(options.store),
        skip_incomplete=True,
        planning=planning,
        tokenizer=options.tokenizer,
        ready=ready,
        given=given,
    )
    if not mini:
        made.data = _chosen(made.data, question)
    if mini and not aspects and judge.evaluator != "hdeval":
        aspects = ("overall",)
    if aspects:
        made.data = made.data.take(made.data.frame["aspect"].isin(list(aspects)).to_numpy())
    if options.mode == "quick":
        made.data = _share(made.data)
    return made


def checkpoint() -> Path:
    """The miniature judge's folder. Raises: JudgeUnavailable where it has no checkpoint."""
    folder = files.data() / "mini" / "judge"
    if not (folder / "config.json").is_file():
        raise JudgeUnavailable("no checkpoint in data/mini/judge; make mini-judge")
    return folder


def mini_revision() -> tuple[str, str]:
    """Name and revision under which the store keeps what the miniature judge wrote. Raises: JudgeUnavailable."""
    from nlgeval_lib.engines import models

    name, revision = models.identify(str(checkpoint()), None, None)
    return name, revision or ""


def engine(name: str, model: str, revision: str = "", base_url: str = "") -> Engine:
    """A model to ask outside of the catalogue's judges; "mini" is the miniature one, `replay` answers from the store.

    name: replay, vllm, transformers or openai.
    Raises: JudgeUnavailable without the miniature judge; InputError; EngineError.
    """
    from nlgeval_lib.scoring import named

    if model == MINI:
        revision = mini_revision()[1] if name == "replay" else ""
        model = _miniature(name)
    return named.engine(name, model, revision=revision, base_url=base_url)


def _miniature(engine: str) -> str:
    """The miniature judge as an engine names it: a replay by its name in the store, others by its folder."""
    return mini_revision()[0] if engine == "replay" else str(checkpoint())


def _stored_elsewhere(model: str, revision: str, options: EngineOptions) -> str:
    """The revision of a store that was filled on another machine, where the weights are not on this one."""
    from nlgeval_lib.engines import models
    from nlgeval_lib.engines.store import Store

    if options.engine not in ("vllm", "transformers") or revision or Path(model).is_dir():
        return revision
    with Store(options.store or files.state("completions")) as kept:
        held = [rev for name, rev in kept.census() if name == model]
    return held[0] if len(held) == 1 and models.hub_revision(model, None) == "main" else ""


def _mini(question: Question) -> tuple[Source, tuple[str, ...], dict[str, Any]]:
    """The miniature judge's own data; the catalogue's settings but those of its data; and its own for the rest."""
    checkpoint()
    if importlib.util.find_spec("nlgeval_lib.training.mini") is None or MINI_DATA not in datasets.NAMES:
        raise JudgeUnavailable(f"there is no data set {MINI_DATA} for the miniature judge; make mini-judge")
    from nlgeval_lib.training import mini

    try:
        own = dict(mini.settings(question.judge.evaluator))
    except ValueError as error:
        raise JudgeUnavailable(str(error)) from None
    names = {text: pair(text)[0] for text in question.judge.settings}
    kept = tuple(
        text for text, name in names.items() if name not in _OF_DATA and not ("sampling" in own and name in _SAMPLING)
    )
    taken = {names[text] for text in kept}
    source = Source(data=MINI_DATA, mapping=question.map)
    return source, kept, {name: value for name, value in own.items() if name not in taken}


def _chosen(data: Rows, question: Question) -> Rows:
    """The rows that the catalogue asks about. Raises: ValueError for a column that is not there, or no row left."""
    keep = np.ones(len(data), dtype=bool)
    for text in question.where:
        name, value = pair(text)
        column = name.removesuffix("!")
        if column not in data.frame.columns:
            raise ValueError(
                f"{question.output}/{question.name}: where names {column!r}; columns: {', '.join(data.frame)}"
            )
        keep &= (data.frame[column].astype(str) == value).to_numpy() != name.endswith("!")
    if not keep.any():
        raise ValueError(
            f"{question.output}/{question.name}: no row of {question.judge.data} has {' and '.join(question.where)}"
        )
    return data if keep.all() else data.take(keep)


def _share(data: Rows) -> Rows:
    """The rows of the first inputs."""
    if "input_id" not in data.frame.columns:
        return data.take(slice(QUICK_INPUTS))
    first = list(dict.fromkeys(data.frame["input_id"]))[:QUICK_INPUTS]
    return data.take(data.frame["input_id"].isin(first).to_numpy())
