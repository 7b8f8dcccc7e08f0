"""One judge of the catalogue as a job of `nlgeval_lib.scoring`: its rows, evaluator, engine and store."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nlgeval_lib import datasets, paths
from nlgeval_lib.catalogue import Judged
from nlgeval_lib.engines import Engine
from nlgeval_lib.names import pair
from nlgeval_lib.scoring import Job, Rows, Source, prepared

MINI = "mini"  # the model name that stands for the miniature judge
MINI_DATA = "mini_judge"
QUICK_INPUTS = 20
# settings of an evaluator that belong to the data: for the miniature judge its own hold
_OF_DATA = ("task", "low", "high", "targets", "aspects", "criteria", "instruction", "template", "flip")
_SAMPLING = ("temperature", "top_p", "top_k", "n", "max_tokens", "repetition_penalty", "seed", "stop")


class Unready(RuntimeError):
    """What a judge needs is not here; the message says what, and how to get it."""


def job(
    judge: Judged,
    *,
    engine: str,
    model: str = "",
    revision: str = "",
    folder: str = "",
    mode: str = "full",
    store: str | Path = "",
    base_url: str = "",
    engine_settings: Sequence[str] = (),
    planning: bool = False,
    tokenizer: str = "",
    ready: Engine | None = None,
    aspects: Sequence[str] = (),
) -> Job:
    """The judge ready to be asked. model, revision: "" takes the catalogue's; "mini" is the miniature judge.

    folder: where the model's weights are; completions are stored under the model's id and a hash of these weights.
    mode "quick": the rows of the first 20 inputs. planning: no weights are loaded. ready: an engine that is loaded.
    aspects: only rows of these; the miniature judge is asked for the overall quality alone where none are named
    (hdeval, whose aggregator learns from all ratings, for all).
    Raises: Unready without the miniature judge's checkpoint; and what `scoring.prepared` raises.
    """
    mini = model == MINI
    source, settings, given = Source(data=judge.data, mapping=judge.map, fill=judge.fill), judge.settings, {}
    if mini:
        source, settings, given = _mini(judge)
    asked, version = _folder(engine) if mini else model or judge.model, revision or own_revision(judge, model)
    if folder:
        engine_settings = (*engine_settings, f"name={asked}")
        asked, version = folder, revision
    made = prepared(
        source,
        judge.evaluator,
        settings,
        engine=engine,
        model=asked,
        revision=version,
        base_url=base_url,
        engine_settings=engine_settings,
        folder=str(store),
        skip_incomplete=True,
        planning=planning,
        tokenizer=tokenizer,
        ready=ready,
        given=given,
    )
    if not mini:
        made.data = _chosen(made.data, judge)
    if mini and not aspects and judge.evaluator != "hdeval":
        aspects = ("overall",)
    if aspects:
        made.data = made.data.take(made.data.frame["aspect"].isin(list(aspects)).to_numpy())
    if mode == "quick":
        made.data = _share(made.data)
    return made


def own_revision(judge: Judged, model: str) -> str:
    """The revision that the catalogue names for the model that is asked; "" for another model."""
    return judge.revision if model in ("", judge.model) else ""


def checkpoint() -> Path:
    """The miniature judge's folder. Raises: Unready where it has no checkpoint."""
    folder = paths.data() / "mini" / "judge"
    if not (folder / "config.json").is_file():
        raise Unready("no checkpoint in data/mini/judge; make mini-judge")
    return folder


def mini_revision() -> tuple[str, str]:
    """Name and revision under which the store keeps what the miniature judge wrote. Raises: Unready."""
    from nlgeval_lib.engines import models

    name, revision = models.identify(str(checkpoint()), None, None)
    return name, revision or ""


def engine(name: str, model: str, revision: str = "", base_url: str = "") -> Engine:
    """A model to ask outside of the catalogue's judges; "mini" is the miniature one, `replay` answers from the store.

    name: replay, vllm, transformers or openai. Raises: Unready without the miniature judge; InputError; EngineError.
    """
    from nlgeval_lib.scoring import named

    if model == MINI:
        revision = mini_revision()[1] if name == "replay" else ""
        model = _folder(name)
    return named.engine(name, model, revision=revision, base_url=base_url)


def _folder(engine: str) -> str:
    return mini_revision()[0] if engine == "replay" else str(checkpoint())


def _mini(judge: Judged) -> tuple[Source, tuple[str, ...], dict[str, Any]]:
    """The miniature judge's own data; the catalogue's settings but those of its data; and its own for the rest."""
    checkpoint()
    if importlib.util.find_spec("nlgeval_lib.training.mini") is None or MINI_DATA not in datasets.NAMES:
        raise Unready(f"there is no data set {MINI_DATA} for the miniature judge; make mini-judge")
    from nlgeval_lib.training import mini

    try:
        own = dict(mini.settings(judge.evaluator))
    except ValueError as error:
        raise Unready(str(error)) from None
    names = {text: pair(text)[0] for text in judge.settings}
    kept = tuple(
        text for text, name in names.items() if name not in _OF_DATA and not ("sampling" in own and name in _SAMPLING)
    )
    taken = {names[text] for text in kept}
    source = Source(data=MINI_DATA, mapping=judge.map)
    return source, kept, {name: value for name, value in own.items() if name not in taken}


def _chosen(data: Rows, judge: Judged) -> Rows:
    """The rows that the catalogue asks about. Raises: ValueError for a column that is not there, or no row left."""
    keep = np.ones(len(data), dtype=bool)
    for text in judge.where:
        name, value = pair(text)
        column = name.removesuffix("!")
        if column not in data.frame.columns:
            raise ValueError(f"{judge.output}/{judge.name}: where names {column!r}; columns: {', '.join(data.frame)}")
        keep &= (data.frame[column].astype(str) == value).to_numpy() != name.endswith("!")
    if not keep.any():
        raise ValueError(f"{judge.output}/{judge.name}: no row of {judge.data} has {' and '.join(judge.where)}")
    return data if keep.all() else data.take(keep)


def _share(data: Rows) -> Rows:
    """The rows of the first inputs."""
    if "input_id" not in data.frame.columns:
        return data.take(slice(QUICK_INPUTS))
    first = list(dict.fromkeys(data.frame["input_id"]))[:QUICK_INPUTS]
    return data.take(data.frame["input_id"].isin(first).to_numpy())


def command(judge: Judged, **ways: Any) -> str:
    """What makes the judge's completions."""
    return f"nlgeval completions --output {judge.output} --engine {ways.get('engine') or judge.engine}"
