"""Ask a judge about rows: stage by stage, with progress, and with everything that happened kept."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.engines import Engine, Failure, Progress, Request, Sampling, complete
from nlgeval_lib.evaluators import score_frame
from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.judge import Judge, counts
from nlgeval_lib.evaluators.stages import Draws, Stage, Stages
from nlgeval_lib.schema import Completion, Sample, Status
from nlgeval_lib.scoring.interrupt import gentle
from nlgeval_lib.scoring.progress import ProgressBar
from nlgeval_lib.store import Store

# stages whose completions `Judge.parse` reads; in others a judge writes lists, analyses and the like
PARSED = ("score", "criteria", "format")


@dataclass
class Run:
    """What one run over a store came to: a `Progress` a stage, the failures, and the raw completions if asked for."""

    stages: dict[str, Progress] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    raw: list[dict[str, Any]] | None = None
    seconds: float = 0.0

    def total(self, name: str) -> int:
        """The sum over the stages of one of `Progress`' counts."""
        return sum(getattr(progress, name) for progress in self.stages.values())

    def summary(self) -> str:
        """What was asked and had, in one line."""
        said = f"{self.total('total'):,} completions: {self.total('stored'):,} stored, {self.total('done'):,} made"
        if self.total("failed"):
            said += f", {self.total('failed'):,} failed"
        if self.total("done"):
            said += f"; {self.total('prompt_tokens'):,} prompt and {self.total('completion_tokens'):,} new tokens"
        return said


def bound(judge: Judge, engine: Engine) -> Any:
    """The judge as it asks this engine: Prometheus chooses its wrapping by the checkpoint."""
    return judge.for_engine(engine) if hasattr(judge, "for_engine") else judge


def score(
    judge: Any, frame: pd.DataFrame, engine: Engine, store: Store | None, bar: ProgressBar, run: Run
) -> pd.DataFrame:
    """The score frame of a judge as its own `score` gives it; `run` tells on the way what happened.

    Raises: what the judge and the engine raise; KeyboardInterrupt with everything finished stored.
    """
    judge = bound(judge, engine)
    given = judge.given(frame)
    judgments = ask(judge.stages(given), judge, given, engine, store, bar, run)
    scored = score_frame(frame.index, judgments, judge.signature(engine), counts(judgments))
    details = np.empty(len(judgments), dtype=object)
    details[:] = [dict(judgment.details) for judgment in judgments]
    return scored.assign(details=details)


def ask(
    stages: Stages[Any],
    judge: Judge,
    samples: Sequence[Sample],
    engine: Engine,
    store: Store | None,
    bar: ProgressBar,
    run: Run,
) -> Any:
    """The result of a generator of stages, each asked through the store with progress and noted in `run`."""
    began = time.monotonic()

    def answer(stage: Stage) -> Sequence[Draws]:
        if not stage.requests:
            return []
        bar.start(f"{judge.name} {stage.name}", _reader(judge, stage, samples, engine))
        try:
            with gentle(engine) as asked:
                answers = complete(asked, stage.requests, stage.sampling, store, bar.until(lambda: asked.pending))
        finally:
            bar.close()
            if bar.last is not None:
                run.stages[stage.name] = _joined(run.stages.get(stage.name), bar.last)
                run.seconds = time.monotonic() - began
        run.failures += answers.failed
        if run.raw is not None:
            run.raw += _records(stage, answers)
        return answers

    return staged.drive(stages, answer)


def _joined(before: Progress | None, after: Progress) -> Progress:
    """The counts of two stages of one name."""
    if before is None:
        return after
    names = [f.name for f in dataclasses.fields(Progress)]
    return Progress(**{name: getattr(before, name) + getattr(after, name) for name in names})


def _reader(
    judge: Judge, stage: Stage, samples: Sequence[Sample], engine: Engine
) -> Callable[[Completion], bool] | None:
    """Whether a completion of the stage can be read, for the parse rate; None where `parse` is not for it.

    A completion has only its key: the sample that it is about is found by the keys of its request's draws.
    """
    if stage.name not in PARSED:
        return None
    by_id: dict[str, Sample] = {}
    for sample in samples:
        by_id.setdefault(sample.id, sample)
    about: dict[str, Sample | None] = {}

    def fill() -> None:
        for request in stage.requests:
            for key in _keys(request, engine, stage.sampling):
                about.setdefault(key, by_id.get(request.id))

    def reads(completion: Completion) -> bool:
        if not about:
            fill()
        return judge.read(completion, about.get(completion.key)).status is Status.OK

    return reads


def _keys(request: Request, engine: Engine, sampling: Sampling) -> list[str]:
    from nlgeval_lib.store import draw_keys

    return draw_keys(request.body(engine, sampling), range(sampling.n))


def _records(stage: Stage, answers: Sequence[Draws]) -> list[dict[str, Any]]:
    return [
        {
            "id": request.id,
            "stage": stage.name,
            "draw": draw,
            "text": completion.text,
            "finish_reason": completion.finish_reason,
            "prompt_tokens": completion.prompt_tokens,
            "completion_tokens": completion.completion_tokens,
            **({"error": completion.error} if completion.error else {}),
            "key": completion.key,
        }
        for request, draws in zip(stage.requests, answers, strict=True)
        for draw, completion in enumerate(draws)
    ]
