"""One item on its way through a judge's method: what is asked, what a model answered,
what is read of it, and the score that becomes of it.

`one_item` tells it in words, from the completions in the store. The item's own texts
are others' and do not stand in a committed notebook: the names of their places do.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nlgeval_lib import files
from nlgeval_lib.datasets import DataError
from nlgeval_lib.engines import Request, complete
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import Unavailable
from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.stages import Draws, Stage
from nlgeval_lib.records import Status
from nlgeval_lib.scoring import InputError
from reproduction.study import catalogue, judges
from reproduction.study.judges import EngineOptions
from reproduction.study.questions import with_settings

# The open model whose recorded answers travel with the checkout.
OPEN_MODEL = "qwen2.5-coder-1.5b-instruct"
WIDTH = 88
SHORTEST = 20  # letters of a text that is the item's own; shorter ones are words
# The columns of a row that say which item it is.
_NAMED = ("dataset", "input_id", "system_id", "aspect")
# What a judgment's details say of the way to its score.
_ON_THE_WAY = ("aspect_scores", "criteria", "features", "values")
_PROMPT = "prompt"  # a column with the whole of another judge's question


def one_item(
    output: str,
    name: str,
    model: str,
    *,
    aspects: Sequence[str] = (),
    settings: Sequence[str] = (),
    item: int = 0,
) -> str:
    """The steps of a judge's method on one row, as a text.

    output, name: the judge as an output of the catalogue reads it.
    model: who answered; its completions are read from the store.
    item: the row's place among those of the aspects, from 0.
    Returns: the steps, or a sentence that says what is not here.
    """
    question = with_settings(catalogue.load().question(output, name), settings)
    folder = files.state("completions")
    options = EngineOptions("replay", model, "", store=folder)
    try:
        [revision, *_] = judges.stored_revisions(question, options)
        job = judges.job(question, replace(options, revision=revision), aspects=aspects)
    except (DataError, Unavailable, InputError) as error:
        return f"This item cannot be shown here: {error}"
    row = job.data.frame.iloc[[item]]
    placeholders = dict(_own_texts(row.iloc[0].to_dict()))
    parts = [f"Item: {', '.join(str(row.iloc[0][column]) for column in _NAMED)}."]

    def answer(stage: Stage) -> Sequence[Draws]:
        with Store(folder) as store:
            draws = complete(job.engine, stage.requests, stage.sampling, store, None)
        number = len(parts)
        parts.append(_told(number, stage, draws[0], placeholders))
        return draws

    evaluator = job.evaluator.for_engine(job.engine)
    [judgment] = staged.drive(evaluator.stages(evaluator.given(row)), answer)
    parts += _on_the_way(judgment.details)
    result = f"none: {judgment.reason}"
    if judgment.status == Status.OK:
        result = f"{judgment.value:g}"
    parts.append(f"Score of {evaluator.name}: {result}")
    return "\n\n".join(parts)


def _on_the_way(details: Mapping[str, Any]) -> list[str]:
    """What was read on the way to a score: the scores of aspects, criteria or draws."""
    lines = []
    for name in _ON_THE_WAY:
        value = details.get(name)
        if isinstance(value, Mapping):
            value = ", ".join(f"{key} {score:g}" for key, score in value.items())
        elif value:
            value = ", ".join(f"{score:g}" for score in value)
        if value:
            lines.append(f"What is read, {name.replace('_', ' ')}:\n{_folded(value)}")
    return lines


def _told(
    number: int, stage: Stage, draws: Draws, placeholders: Mapping[str, str]
) -> str:
    """One stage in words: the first of its questions and the first answer."""
    question = _without_texts(stage.requests[0], placeholders)
    more = ""
    if len(stage.requests) > 1:
        more = f", the first of {len(stage.requests)} questions"
    answers = f"answer 1 of {len(draws)}" if len(draws) > 1 else "answer"
    return "\n".join(
        [
            f"-- {number}. {stage.name}{more} --",
            _folded(question),
            f"-- {answers} --",
            _folded(draws[0].text.strip()),
        ]
    )


def _without_texts(request: Request, placeholders: Mapping[str, str]) -> str:
    """What is asked, with the names of the places for the item's own texts."""
    text = request.text()
    # A long text may hold a short one.
    for own in sorted(placeholders, key=len, reverse=True):
        text = text.replace(own, placeholders[own])
    return text.strip()


def _own_texts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The texts of a row, each with its place's name: (text, "{column}")."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in (*_NAMED, _PROMPT):
                yield from _own_texts(inner, name or str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _own_texts(inner, name)
    elif isinstance(value, str):
        for text in (value, value.strip()):
            if len(text) >= SHORTEST:
                yield text, f"{{{name}}}"


def _folded(text: str) -> str:
    """The text in lines of at most WIDTH letters, indented."""
    lines = []
    for line in text.splitlines():
        lines += textwrap.wrap(line, WIDTH - 2) or [""]
    return textwrap.indent("\n".join(lines), "  ")
