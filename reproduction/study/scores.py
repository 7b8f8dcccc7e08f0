"""What comes of asking for a judge's scores, and why there may be none."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from reproduction.study.catalogue import JUDGED_BY, Question

MINI = "mini"  # the model name that stands for the miniature judge


@dataclass(frozen=True)
class JudgeScores:
    """What came of asking for a judge's scores.

    available: whether there are scores.
    why: where there are none, the reason.
    frame: the rows that were judged, the items' columns with `value, status, reason,
    details`; of an HD-Eval that still has to be fitted, a column for each of `criteria`
    in their place. Empty where not `available`.
    route: "run", or "mini" for the miniature judge and for stand-ins.
    signature: how they were made, with `|judged-by:MODEL@REVISION` where another than
    the catalogue's model or server answered.
    coverage: rows with a score, such as "1,198 of 1,200".
    model, revision: who answered, as the store has them.
    criteria: the criteria of an HD-Eval that still has to be fitted.
    identity: how near who answered is to the catalogue's model.
    served: how servers called it.
    others: the scores of further servers or revisions that answered the same questions.
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
    identity: str = ""
    served: tuple[str, ...] = ()
    others: tuple[JudgeScores, ...] = ()

    def __repr__(self) -> str:
        if not self.available:
            return f"JudgeScores(none: {self.why})"
        criteria = f", {len(self.criteria)} criteria" if self.criteria else ""
        model = self.model or "a metric"
        return f"JudgeScores({self.coverage} by {model}{criteria}, route {self.route})"

    @property
    def papers_own(self) -> bool:
        """Whether they are of the paper's judge: no stand-in, no other model, no
        other server.
        """
        return self.route == "run" and JUDGED_BY not in self.signature

    def signed(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table of statistics of these scores, with their route, and the judge in
        each signature. table: with `signature`.
        """
        signature = table["signature"] + f"|judge:{self.signature}"
        return table.assign(route=self.route, signature=signature)


def nothing_stored(question: Question, label: str, model: str) -> str:
    """Why a store has no scores of a question's judge, and the command that makes them.

    label: the model that was looked for, with its revision. model: as it was asked for.
    """
    subject = described(question, label, question.judge.data)
    return f"the store has no completions of {subject}; {how_to_make(question, model)}"


def described(question: Question, model: str, data: str) -> str:
    """Which completions these are: of a model, for an evaluator, on a data set. data:
    the data set's name.
    """
    return f"{model} for {question.judge.evaluator} on {data} ({question.name})"


def how_to_make(question: Question, model: str) -> str:
    """The command that makes a question's completions. model: as it was asked for;
    "mini" is the miniature judge.
    """
    if model == MINI:
        return 'run the notebook with engine="transformers"'
    return (
        f"to make them: nlgeval completions --output {question.output} "
        f"--engine {question.judge.engine}"
    )
