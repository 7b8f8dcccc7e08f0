"""Metrics of the catalogue that a model's weights give: made where the weights are,
read from the cache anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets, files
from nlgeval_lib.datasets import DataError
from nlgeval_lib.evaluators import Unavailable, encoders
from nlgeval_lib.records import Status
from nlgeval_lib.scoring import named
from nlgeval_lib.study.catalogue import JUDGED_BY, Catalogue, Entry, Metric
from nlgeval_lib.study.judges import QUICK_INPUTS


def scores(
    metrics: Sequence[Metric], items: pd.DataFrame, make: bool = False
) -> tuple[np.ndarray, str]:
    """The mean of what metrics say of each output (NaN where one says nothing), and
    their signature.

    make: compute what the cache lacks; else it is read alone, and no weights are needed. The signature names the small
    folder that stood in for a metric's model as `report.Output.compare` reads it.
    Raises: Unavailable, with what to do.
    """
    found = []
    signatures = []
    who = ""
    for metric in metrics:
        evaluator = _evaluator(metric)
        note = _note(metric, evaluator) if make else _notes().get(metric.id)
        if note is None:
            raise Unavailable(f"nothing was computed with {metric.model} here")
        if not make:
            evaluator.recall(note["settings"])
        scored = evaluator.score(items)
        if (lost := scored["status"] == Status.UNAVAILABLE.value).any():
            raise Unavailable(f"{metric.id}: {scored.loc[lost, 'reason'].iloc[0]}")
        found.append(scored["value"].to_numpy(float))
        signatures.append(str(scored.attrs["signature"]))
        who = note["stand_in"] and f"{JUDGED_BY}{note['stand_in']}"
    return np.mean(found, axis=0), "+".join(dict.fromkeys(signatures)) + who


def asked(
    catalogue: Catalogue, entries: Iterable[Entry], models: Sequence[str] = ()
) -> dict[Metric, list[str]]:
    """The metrics that outputs read, each with the data sets that these are about;
    of these models, where named.
    """
    found: dict[Metric, dict[str, None]] = {}
    for entry in entries:
        data = dict.fromkeys(name for name in entry.inputs if name in datasets.NAMES)
        for name in entry.metric_ids:
            if not models or catalogue.metrics[name].model in models:
                found.setdefault(catalogue.metrics[name], {}).update(data)
    return {metric: [*data] for metric, data in found.items()}


def make(
    todo: dict[Metric, list[str]],
    say: Callable[[str], None],
    mode: str = "full",
    dry: bool = False,
) -> None:
    """Compute and keep what metrics give to all outputs of their data sets; a line
    each, with what is lacking.

    dry: say only whether the weights are here. mode "quick": the first 20 inputs.
    """
    for number, (metric, data) in enumerate(todo.items(), 1):
        head = f"[metric {number}/{len(todo)}] {metric.id}"
        try:
            evaluator = _evaluator(metric)
            note = _note(metric, evaluator)
            who = note["settings"]["model"] + (
                " (a stand-in)" if note["stand_in"] else ""
            )
            said = (
                data
                if dry
                else [f"{name} {_made(metric, evaluator, name, mode)}" for name in data]
            )
            say(f"{head} by {who}: {(', ' if dry else '; ').join(said)}")
        except (Unavailable, DataError, ValueError) as error:
            say(f"{head}: not here: {error}")


def way(output: str, model: str) -> str:
    """How to make what an output reads of a metric with this model."""
    places = f"the weights of {model} from the model hub, its cache, or --model-path {model}=FOLDER"
    return f"nlgeval completions --output {output} --engine transformers ({places})"


def place(model: str, folder: str | Path) -> None:
    """Link a folder as the place of a model's weights.

    Raises: OSError where that cannot be done.
    """
    link = files.state("models", model)
    link.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        link.unlink()
    link.symlink_to(Path(folder).resolve(), target_is_directory=True)


def _made(metric: Metric, evaluator: Any, name: str, mode: str) -> str:
    """Score a data set's outputs and note how many have a score; what came of it, in
    words.
    """
    frame = datasets.load(name)
    items = datasets.items(
        datasets.quick(frame, QUICK_INPUTS) if mode == "quick" else frame
    )
    scored = evaluator.score(items)
    lost = scored.loc[scored["status"] != "ok", "reason"]
    note = _note(metric, evaluator, {name: len(items) - len(lost)})
    files.write_text(_path(), json.dumps(_notes() | {metric.id: note}, indent=1))
    return f"{len(items) - len(lost):,} of {len(items):,}" + (
        f" (first: {lost.iloc[0]})" if len(lost) else ""
    )


def _evaluator(metric: Metric) -> Any:
    return named.evaluator(metric.evaluator, metric.settings, model=metric.model)


def _notes() -> dict[str, Any]:
    """Of each metric by id: the settings that its values were stored under, who stood
    in for its model, and outputs with a score by data set.
    """
    try:
        return dict(json.loads(_path().read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _note(
    metric: Metric, evaluator: Any, done: dict[str, int] | None = None
) -> dict[str, Any]:
    """The note of a metric whose weights are here.

    Raises: Unavailable where they are not.
    """
    settings = evaluator.settings()
    located = encoders.Located(encoders.placed(metric.model), settings["model"])
    note = {"settings": settings, "stand_in": located.label if located.small else ""}
    before = _notes().get(metric.id, {})
    same = before.get("settings") == settings
    return note | {"scored": (before["scored"] if same else {}) | (done or {})}


def _path() -> Path:
    return files.state("metrics", "made.json")
