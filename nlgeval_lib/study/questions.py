"""The scores of a judge in the catalogue: from the store, or asked for.

Where the store has nothing of the model, no engine and no evaluator is loaded: a result
does not depend on what its notebook did not use.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nlgeval_lib import files
from nlgeval_lib.engines import census
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
    judge = question.judge
    asks = engine != "replay" or model == MINI
    if not asks and not census.has_model(folder, model or judge.model):
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
