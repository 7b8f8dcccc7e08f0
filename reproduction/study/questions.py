"""The scores of a judge in the catalogue: from the store, or asked for.

Where the store has nothing of the model, no engine and no evaluator is loaded: a result
does not depend on what its notebook did not use.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nlgeval_lib import files
from reproduction.study import catalogue
from reproduction.study.catalogue import Question
from reproduction.study.scores import MINI, JudgeScores, nothing_stored

# Who can answer: the store alone, scores that travel with the checkout, weights on this
# machine, or a server.
ENGINES = ("replay", "saved", "vllm", "transformers", "openai")


def judge_scores(
    output: str,
    name: str,
    *,
    engine: str = "replay",
    model: str = "",
    revision: str = "",
    mode: str = "full",
    base_url: str = "",
    engine_settings: Sequence[str] = (),
    store: str | Path = "",
    aspects: Sequence[str] = (),
    settings: Sequence[str] = (),
) -> JudgeScores:
    """The scores of a judge of the catalogue, on its output's rows.

    output: the id of an output. name: the judge's name there.
    engine: "replay" reads the store, "saved" what an open model said once
    (`data/judged`); vllm, transformers and openai first ask what the store lacks.
    model, revision: "" is the catalogue's, and of a replay any revision that the store
    has; model "mini" is the miniature judge on its own data.
    mode: "quick" takes 20 inputs, "full" all. base_url: the address of a server.
    engine_settings, settings: further ones of engine and evaluator, `NAME=VALUE`.
    store: the folder with completions. aspects: only the rows of these; none: all.
    Raises: CatalogueError for an unknown output or judge; ValueError; what engines raise.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine {engine!r}; allowed: {', '.join(ENGINES)}")
    question = with_settings(catalogue.load().question(output, name), settings)
    if engine == "saved":
        from reproduction.study import saved_judges

        return saved_judges.scores(question, model, aspects, mode, settings)
    folder = Path(store) if store else files.state("completions")
    replayed = engine == "replay" and model != MINI
    if replayed and not has_model(folder, model or question.judge.model):
        return _without_completions(question, model, revision)
    from reproduction.study import judges

    return judges.asked_scores(
        question,
        folder,
        aspects,
        engine=engine,
        model=model,
        revision=revision,
        mode=mode,
        base_url=base_url,
        engine_settings=engine_settings,
    )


def with_settings(question: Question, settings: Sequence[str]) -> Question:
    """The question, its judge's settings followed by these."""
    judge = question.judge
    both = (*judge.settings, *settings)
    return replace(question, judge=replace(judge, settings=both))


def _without_completions(question: Question, model: str, revision: str) -> JudgeScores:
    """The answer where the store has nothing of the model."""
    judge = question.judge
    if not revision and model in ("", judge.model):
        revision = judge.revision
    label = f"{model or judge.model}@{revision}".removesuffix("@")
    return JudgeScores(False, nothing_stored(question, label, model))


def has_model(store: Path, model: str) -> bool:
    """Whether the store in a folder may have completions of a model, of any revision;
    True as well where its file cannot be read: opening the store says why.
    """
    path = store / "completions.sqlite"
    if not path.is_file():
        return False
    address = f"{path.resolve().as_uri()}?mode=ro"
    query = "SELECT 1 FROM records WHERE model = ? LIMIT 1"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True)) as database:
            return database.execute(query, (model,)).fetchone() is not None
    except sqlite3.Error:
        return True
