"""Scores of a judge in the catalogue: from the store, or asked for.

Where the store is empty nothing of engines and evaluators is loaded: what a notebook
did not use, its result does not hang on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.study import catalogue
from nlgeval_lib.study.catalogue import JUDGED_BY, Question

ENGINES = ("replay", "vllm", "transformers", "openai")
MINI = "mini"  # the model name that stands for the miniature judge


@dataclass(frozen=True)
class JudgeScores:
    """What came of asking for a judge's scores.

    frame: the rows that were judged, the items' columns with `value, status, reason,
    details`; of an HD-Eval that still has to be fitted, a column for each of `criteria`
    in their place. Empty where not `available`; `why` says why.
    route: "run", or "mini" for the miniature judge and for stand-ins. coverage: rows
    with a score, such as "1,198 of 1,200". signature: with `|judged-by:MODEL@REVISION`
    where another than the catalogue's model or server answered.
    """

    available: bool
    why: str = ""
    frame: pd.DataFrame = field(default_factory=pd.DataFrame)
    route: str = "run"
    signature: str = ""
    coverage: str = ""
    model: str = ""
    revision: str = ""
    criteria: tuple[str, ...] = ()

    @property
    def papers_own(self) -> bool:
        """Whether they are of the paper's judge: no stand-in, no other model, no
        other server.
        """
        return self.route == "run" and JUDGED_BY not in self.signature

    def signed(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table of statistics of these scores, with their route and the judge in
        each signature.
        """
        signature = table["signature"] + f"|judge:{self.signature}"
        return table.assign(route=self.route, signature=signature)


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


def nothing_stored(question: Question, label: str, model: str) -> str:
    """Why a store has no scores of a question's judge, and the command that makes them.

    label: the model that was looked for, with its revision. model: as it was asked for.
    """
    subject = described(question, label, question.judge.data)
    way = how_to_make(question, model)
    return f"the store has no completions of {subject}; {way}"


def described(question: Question, model: str, data: str) -> str:
    """Which completions these are: of a model, for an evaluator, on a data set."""
    return f"{model} for {question.judge.evaluator} on {data} ({question.name})"


def how_to_make(question: Question, model: str) -> str:
    """The command that makes a question's completions."""
    if model == MINI:
        return 'run the notebook with engine="transformers"'
    return (
        f"to make them: nlgeval completions --output {question.output} "
        f"--engine {question.judge.engine}"
    )
