"""The judgments of a judge of the catalogue, to look at one by one."""

from __future__ import annotations

from typing import Any

from judgecard import explorer
from judgecard.explorer import Explorer
from nlgeval_lib import files
from reproduction.study import catalogue, judges
from reproduction.study.judges import EngineOptions
from reproduction.study.questions import judge_scores


def of_question(
    output: str, name: str, *, mode: str = "full", **options: Any
) -> Explorer:
    """The judgments of the judge that a catalogue's output reads as `name`.

    output: the id of an output in the catalogue.
    name: the judge's name there.
    mode: "full" or "quick".
    options: as `study.judge_scores` takes them.
    Raises: Unavailable where the store lacks some; what `study.judge_scores` raises.
    """
    question = catalogue.load().question(output, name)
    scores = judge_scores(output, name, mode=mode, **options)
    if not scores.available:
        raise judges.Unavailable(scores.why)
    # The scores are there; the same answers are read once more for their turns.
    engine_options = EngineOptions(
        "replay",
        options.get("model", ""),
        scores.revision,
        store=files.state("completions"),
        mode=mode,
    )
    job = judges.job(question, engine_options, aspects=options.get("aspects", ()))
    engine = job.engine
    # What a server refused to answer is shown with the reason that was noted.
    engine.refused = judges.refusals(job.store.folder, engine.model, engine.revision)
    _, turns = explorer.answered(job.evaluator, scores.frame, engine, job.store)
    judge = f"{question.judge.evaluator} ({name}), {scores.model}"
    title = f"{judge} on {job.data.name}, route {scores.route}"
    return Explorer(title, explorer.framed(scores.frame, turns))
