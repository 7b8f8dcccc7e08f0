"""Ask a language model stage by stage, with progress, and with everything that happened kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from nlgeval_lib.engines import Engine, Failure, Progress, complete
from nlgeval_lib.engines.store import Store, draw_keys
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.evaluators.stages import Draws, Stage, Stages, drive
from nlgeval_lib.records import Completion, Sample, Status
from nlgeval_lib.scoring.interrupt import gentle
from nlgeval_lib.scoring.progress import ProgressBar

# stages whose completions `Judge.parse` reads; in others a judge writes lists, analyses and the like
PARSED = ("score", "criteria", "format")


@dataclass
class Run:
    """What one run over a store came to: a `Progress` a stage, the failures, and the raw completions if asked for."""

    stages: dict[str, Progress] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    raw: list[dict[str, Any]] | None = None

    def total(self, name: str) -> int:
        """The sum over the stages of one of `Progress`' counts."""
        return sum(getattr(progress, name) for progress in self.stages.values())

    def note(self, stage: str, progress: Progress) -> None:
        """Add the counts of a stage to those of its name."""
        before = self.stages.get(stage, Progress(0, 0))
        fields = [f.name for f in dataclasses.fields(Progress)]
        self.stages[stage] = Progress(**{name: getattr(before, name) + getattr(progress, name) for name in fields})

    def summary(self) -> str:
        """What was asked and had, in one line."""
        said = f"{self.total('total'):,} completions: {self.total('stored'):,} stored, {self.total('done'):,} made"
        if self.total("failed"):
            said += f", {self.total('failed'):,} failed"
        if self.total("done"):
            said += f"; {self.total('prompt_tokens'):,} prompt and {self.total('completion_tokens'):,} new tokens"
        return said


def ask(
    stages: Stages[Any],
    name: str,
    engine: Engine,
    store: Store | None,
    bar: ProgressBar,
    run: Run,
    reads: Callable[[Stage], Callable[[Completion], bool] | None] = lambda stage: None,
) -> Any:
    """The result of a generator of stages, each asked through the store with progress and noted in `run`.

    name: whose stages these are, for the progress. reads: what says whether a completion of a stage can be read.
    """

    def answer(stage: Stage) -> Sequence[Draws]:
        if not stage.requests:
            return []
        bar.start(f"{name} {stage.name}", reads(stage))
        try:
            with gentle(engine) as asked:
                shown = bar.until(lambda: asked.pending)
                answers = complete(asked, stage.requests, stage.sampling, store, shown)
        finally:
            bar.close()
            if bar.last is not None:
                run.note(stage.name, bar.last)
        run.failures += answers.failed
        if run.raw is not None:
            run.raw += _records(stage, answers)
        return answers

    return drive(stages, answer)


def readable(
    judge: Judge, stage: Stage, samples: Sequence[Sample], engine: Engine
) -> Callable[[Completion], bool] | None:
    """Whether a completion of the stage can be read, for the parse rate; None where `parse` is not for it.

    A completion has only its key: the sample that it is about is found by the keys of its request's draws.
    """
    if stage.name not in PARSED:
        return None
    by_id = {sample.id: sample for sample in reversed(samples)}
    about: dict[str, Sample | None] = {}

    def reads(completion: Completion) -> bool:
        if not about:
            for request in reversed(stage.requests):
                keys = draw_keys(request.body(engine, stage.sampling), range(stage.sampling.n))
                about.update(dict.fromkeys(keys, by_id.get(request.id)))
        return judge.read(completion, about.get(completion.key)).status is Status.OK

    return reads


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
