"""The scores of a judge in the catalogue: from the store, or asked for.

Where the store is empty nothing of engines and evaluators is loaded: what a notebook
did not use, its result does not hang on.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nlgeval_lib import files
from nlgeval_lib.study import catalogue
from nlgeval_lib.study.scores import MINI, JudgeScores, nothing_stored

ENGINES = ("replay", "vllm", "transformers", "openai")


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
) -> JudgeScores:
    """The scores of the judge that a catalogue's output reads as `name`, on the
    output's rows.

    engine: "replay" reads the store and asks nothing; vllm, transformers and openai
    first ask what it lacks. model: "" is the catalogue's, "mini" the miniature judge on
    its own held-out data. mode "quick": 20 inputs.
    aspects: only the rows of these.
    Raises: CatalogueError for an unknown output or judge; ValueError for an unknown
    engine; what the engine raises.
    """
    question = catalogue.load().question(output, name)
    if engine not in ENGINES:
        raise ValueError(f"engine {engine!r}; allowed: {', '.join(ENGINES)}")
    folder = Path(store) if store else files.state("completions")
    if engine == "replay" and model != MINI and _is_empty(folder):
        judge = question.judge
        if not revision and model in ("", judge.model):
            revision = judge.revision
        label = f"{model or judge.model}@{revision}".removesuffix("@")
        return JudgeScores(False, nothing_stored(question, label, model))
    from nlgeval_lib.study import judges

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


def _is_empty(store: Path) -> bool:
    return not store.is_dir() or not any(store.iterdir())
