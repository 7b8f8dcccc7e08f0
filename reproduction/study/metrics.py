"""Metrics of the catalogue that a model's weights give: made where the weights are,
read from the cache anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets, files
from nlgeval_lib.datasets import DataError
from nlgeval_lib.evaluators import Unavailable
from nlgeval_lib.records import Status
from reproduction.study.catalogue import (
    JUDGED_BY,
    QUICK_INPUTS,
    Catalogue,
    Entry,
    Metric,
)


def scores(
    metrics: Sequence[Metric], items: pd.DataFrame, make: bool = False
) -> tuple[np.ndarray, str]:
    """The mean of what metrics say of each output, and their signature.

    metrics: those of one printed cell; often one.
    make: compute what the cache lacks; else it is read alone, and no weights are
    needed.
    Returns: (items,) values, NaN where one of the metrics says nothing; and the
    signature, which names the small folder that stood in for a metric's model as
    `report.Output.compare` reads it.
    Raises: Unavailable, with what to do.
    """
    columns = []
    signatures = []
    mark = ""
    for metric in metrics:
        note = _notes().get(metric.id, {})
        if not make and not note:
            raise Unavailable(f"nothing was computed with {metric.model} here")
        evaluator = _evaluator(metric)
        # Values are found by the evaluator's settings. Without weights here these are
        # the noted ones.
        if make:
            note = _note(metric, evaluator)
        else:
            evaluator.recall(note["settings"])
        scored = evaluator.score(items)
        unavailable = scored["status"] == Status.UNAVAILABLE.value
        if unavailable.any():
            reason = scored.loc[unavailable, "reason"].iloc[0]
            raise Unavailable(f"{metric.id}: {reason}")
        columns.append(scored["value"].to_numpy(float))
        signatures.append(str(scored.attrs["signature"]))
        mark = ""
        if note["stand_in"]:
            mark = f"{JUDGED_BY}{note['stand_in']}"
    distinct = dict.fromkeys(signatures)
    signature = "+".join(distinct) + mark
    return np.mean(columns, axis=0), signature


def asked(
    catalogue: Catalogue, entries: Iterable[Entry], models: Sequence[str] = ()
) -> dict[Metric, list[str]]:
    """The metrics that outputs read, each with the data sets that these are about.

    models: only metrics of these models; none: all.
    """
    by_metric: dict[Metric, list[str]] = {}
    for entry in entries:
        for name in entry.metric_ids:
            metric = catalogue.metrics[name]
            if models and metric.model not in models:
                continue
            data = by_metric.setdefault(metric, [])
            for dataset in entry.inputs:
                if dataset in datasets.NAMES and dataset not in data:
                    data.append(dataset)
    return by_metric


def make(
    todo: dict[Metric, list[str]],
    say: Callable[[str], None],
    mode: str = "full",
    dry: bool = False,
) -> None:
    """Compute and keep what metrics give to all outputs of their data sets; a line
    each, with what is missing. In mode "quick" the first 20 inputs.
    """
    for number, (metric, data) in enumerate(todo.items(), 1):
        head = f"[metric {number}/{len(todo)}] {metric.id}"
        try:
            evaluator = _evaluator(metric)
            note = _note(metric, evaluator)
            model = note["settings"]["model"]
            if note["stand_in"]:
                model += " (a stand-in)"
            if dry:
                result = ", ".join(data)
            else:
                counts = [_made(metric, evaluator, name, mode) for name in data]
                result = "; ".join(counts)
            say(f"{head} by {model}: {result}")
        except (Unavailable, DataError, ValueError) as error:
            say(f"{head}: not here: {error}")


def way(output: str, model: str) -> str:
    """How to make what an output reads of a metric with this model: a command, in
    words.
    """
    return (
        f"nlgeval completions --output {output} --engine transformers (the weights of "
        f"{model} from the model hub, its cache, or --model-path {model}=FOLDER)"
    )


def place(model: str, folder: str | Path) -> None:
    """Link a folder as the place of a model's weights; an earlier link is replaced.

    Raises: OSError where that cannot be done.
    """
    link = files.state("models", model)
    link.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        link.unlink()
    link.symlink_to(Path(folder).resolve(), target_is_directory=True)


def _made(metric: Metric, evaluator: Any, name: str, mode: str) -> str:
    """Score a data set's outputs and note how many have a score; the data set and that
    number, in words.
    """
    frame = datasets.load(name)
    if mode == "quick":
        frame = datasets.quick(frame, QUICK_INPUTS)
    items = datasets.items(frame)
    scored = evaluator.score(items)
    reasons = scored.loc[scored["status"] != "ok", "reason"]
    count = len(items) - len(reasons)
    note = _note(metric, evaluator, {name: count})
    notes = _notes()
    notes[metric.id] = note
    files.write_text(_path(), json.dumps(notes, indent=1))
    first = ""
    if len(reasons):
        first = f" (first: {reasons.iloc[0]})"
    return f"{name} {count:,} of {len(items):,}{first}"


def _evaluator(metric: Metric) -> Any:
    """The metric's evaluator, with the catalogue's settings."""
    from nlgeval_lib.scoring import named

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
    metric: Metric, evaluator: Any, counts: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """The note of a metric whose weights are here."""
    from nlgeval_lib.evaluators import encoders

    settings = evaluator.settings()
    place_of_weights = encoders.placed(metric.model)
    located = encoders.Located(place_of_weights, settings["model"])
    scored: dict[str, int] = {}
    earlier = _notes().get(metric.id, {})
    if earlier.get("settings") == settings:
        scored.update(earlier["scored"])
    if counts:
        scored.update(counts)
    return {
        "settings": settings,
        "stand_in": located.label if located.small else "",
        "scored": scored,
    }


def _path() -> Path:
    """The file with the notes."""
    return files.state("metrics", "made.json")
