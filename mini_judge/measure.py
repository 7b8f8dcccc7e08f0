"""What does the judge say of the held-out set? The evaluators ask it in every form;
what they read stands beside the gold.

`judge` asks, `write` keeps it beside the checkpoint; how good it is, `quality` says.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from mini_judge import heldout
from mini_judge.answers import grade, kind_of
from mini_judge.criteria import CRITERIA
from mini_judge.prompts import GRADED
from mini_judge.quality import NEW
from nlgeval_lib import datasets, files
from nlgeval_lib.datasets.mini_judge import ANALYSES, JUDGMENTS
from nlgeval_lib.engines import Engine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.coascore import CoAScore
from nlgeval_lib.evaluators.geval import GEval
from nlgeval_lib.evaluators.hdeval import HDEval
from nlgeval_lib.evaluators.llmscore import LLMScore
from nlgeval_lib.evaluators.prometheus import Prometheus
from nlgeval_lib.evaluators.tigerscore import TigerScore
from nlgeval_lib.records import Judgment, Status
from reproduction.training.mini import settings

# of a judgment
COLUMNS = ["form", "aspect", "input_id", "system_id", "gold", "value", "status"]
ANALYSIS = "error analysis"
LISTED = 10  # aspects that stage I of CoAScore lists for the overall quality
# engine and store, as every evaluator's `judge` takes them
CallSettings = Mapping[str, Any]
# a form's name and its judgments
FormTable = tuple[str, pd.DataFrame]


def judge(
    engine: Engine,
    frame: pd.DataFrame | None = None,
    store: Store | None = None,
    say: Callable[[str], None] = print,
) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """One row a judgment (`COLUMNS`) of every form, and the error analyses as they were
    read.

    Gold is by construction: minus the sum of penalties for the error analysis, 1 to 5
    for the rest.

    frame: the held-out set, or some of its inputs; then texts of new sentences are not
        asked about.
    store: where completions are kept; none are by default.
    say: what tells how far it is, once a form.
    Returns: the judgments; and a record an analysis, as `_analysis` has it.
    """
    if frame is None:
        frame = datasets.load("mini_judge")
    call = {"engine": engine, "store": store}
    analyses: list[dict[str, Any]] = []
    tables = _forms(frame, analyses, call)
    n_inputs = datasets.spec("mini_judge").n_inputs
    if frame["input_id"].nunique() == n_inputs:
        tables = itertools.chain(tables, _new(call))
    judgments = []
    for form, table in tables:
        judgments.append(table)
        parsed = (table["status"] == "ok").mean()
        say(f"{form}: {len(table)} judgments, {parsed:.1%} parsed")
    return pd.concat(judgments, ignore_index=True)[COLUMNS], analyses


def _forms(
    frame: pd.DataFrame, analyses: list[dict[str, Any]], call: CallSettings
) -> Iterator[FormTable]:
    """Each form and its judgments; the error analyses are put into `analyses`."""
    outputs = _outputs(frame)
    judged = TigerScore(**settings("tigerscore")).judge(outputs, **call)
    for output, judgment in zip(outputs.itertuples(), judged, strict=True):
        analyses.append(_analysis(output, judgment))
    yield ANALYSIS, _rows(ANALYSIS, _with_penalties(outputs), judged)
    yield from _graded(frame, outputs, call)
    yield "criterion score", _criteria(outputs, call)
    judged = LLMScore(**settings("llmscore")).judge(frame, **call)
    yield "plain score", _rows("plain score", frame, judged)
    yield "aspect scores", _aspects(outputs, call)
    judged = CoAScore(**settings("coascore")).judge(frame, **call)
    yield "chained score", _rows("chained score", frame, judged)
    judged = GEval(**settings("geval")).judge(outputs, **call)
    yield "quality", _rows("quality", _with_qualities(outputs), judged)


def _new(call: CallSettings) -> Iterator[FormTable]:
    """The error analysis and the plain score of texts whose sentences are in no
    training text.
    """
    analysis_form, score_form = NEW
    frame = heldout.frame("new")
    outputs = _outputs(frame)
    judged = TigerScore(**settings("tigerscore")).judge(outputs, **call)
    yield analysis_form, _rows(analysis_form, _with_penalties(outputs), judged)
    judged = LLMScore(**settings("llmscore")).judge(frame, **call)
    yield score_form, _rows(score_form, frame, judged)


# -- questions and their gold


def _outputs(frame: pd.DataFrame) -> pd.DataFrame:
    """One row an output, with the gold of the overall quality."""
    return frame[frame["aspect"] == "overall"].reset_index(drop=True)


def _with_penalties(outputs: pd.DataFrame) -> pd.DataFrame:
    """Outputs with the gold of an error analysis: minus the sum of penalties."""
    return outputs.assign(human=-outputs["penalty"])


def _with_qualities(outputs: pd.DataFrame) -> pd.DataFrame:
    """Outputs with SemScore's quality as gold, turned round: more is better."""
    qualities = []
    for overall in outputs["human"]:
        qualities.append(5.0 - grade(overall))
    return outputs.assign(human=qualities)


# -- rows of judgments


def _rows(form: str, questions: pd.DataFrame, judged: list[Judgment]) -> pd.DataFrame:
    """The judgments of one form beside their questions; gold is the questions' column
    `human`.
    """
    values = []
    states = []
    for judgment in judged:
        values.append(judgment.value)
        states.append(judgment.status.value)
    rows = questions[["aspect", "input_id", "system_id"]]
    return rows.assign(
        form=form,
        gold=questions["human"],
        value=values,
        status=states,
    )


def _graded(
    frame: pd.DataFrame, outputs: pd.DataFrame, call: CallSettings
) -> Iterator[FormTable]:
    """Prometheus' forms, eight of them. A prompt without a rubric does not name the
    aspect, so there an output is asked once.
    """
    by_switches = {switches: form for form, (_, switches) in GRADED.items()}
    for switches in sorted(by_switches, reverse=True):
        reference, rubric, feedback = switches
        prometheus = Prometheus(
            reference=reference,
            rubric=rubric,
            feedback=feedback,
            **settings("prometheus"),
        )
        questions = frame if rubric else outputs
        judged = prometheus.judge(questions, **call)
        form = by_switches[switches]
        yield form, _rows(form, questions, judged)


def _criteria(outputs: pd.DataFrame, call: CallSettings) -> pd.DataFrame:
    """HD-Eval's scores of all criteria of the hierarchy, the root included, as rows of
    judgments.
    """
    hdeval = HDEval(**settings("hdeval"), aggregator="average", layers=(0, 1, 2))
    features = hdeval.features(outputs, **call)
    tables = []
    for key, judged in features.items():
        gold = []
        for kinds in outputs["kinds"]:
            gold.append(float(CRITERIA[key].score(kinds)))
        questions = outputs.assign(aspect=key, human=gold)
        tables.append(_rows("criterion score", questions, judged))
    return pd.concat(tables, ignore_index=True)


def _aspects(outputs: pd.DataFrame, call: CallSettings) -> pd.DataFrame:
    """CoAScore's stage II on all aspects that stage I lists for the overall quality, as
    rows of judgments.
    """
    stage_two = {**settings("coascore"), "n": LISTED, "variant": "average"}
    judged = CoAScore(**stage_two).judge(outputs, **call)
    keys = {criterion.name: key for key, criterion in CRITERIA.items()}
    rows = []
    for output, judgment in zip(outputs.itertuples(), judged, strict=True):
        scores = judgment.details.get("aspect_scores", {})
        for name in judgment.details.get("aspects", _expected_aspects()):
            value = scores.get(name, float("nan"))
            # NaN, of a score that was not read, is not equal to itself
            is_parsed = value == value
            status = Status.OK if is_parsed else Status.UNPARSED
            row = {
                "form": "aspect scores",
                "aspect": keys.get(name, name),
                "input_id": output.input_id,
                "system_id": output.system_id,
                "gold": _gold(keys.get(name), output.kinds),
                "value": value,
                "status": status.value,
            }
            rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def _expected_aspects() -> list[str]:
    """The names of the aspects that are asked for where stage I was not read."""
    names = []
    for key, criterion in CRITERIA.items():
        if key != "overall":
            names.append(criterion.name)
    return names[:LISTED]


def _gold(key: str | None, kinds: Iterable[str]) -> float:
    """The score of a text with these kinds of error; NaN for an aspect that the judge
    made up.
    """
    if key is None:
        return float("nan")
    return float(CRITERIA[key].score(kinds))


# -- what is kept


def _analysis(output: Any, judgment: Judgment) -> dict[str, Any]:
    """An error analysis as it was read: a record with the kind, location and penalty of
    each error, and the total that its first line gives (`header`).
    """
    errors = []
    for error in judgment.details["errors"]:
        errors.append(
            {
                "kind": kind_of(error.explanation),
                "location": error.location,
                "penalty": error.reduction,
            }
        )
    return {
        "input_id": output.input_id,
        "system_id": output.system_id,
        "status": judgment.status.value,
        "errors": errors,
        "header": judgment.details["header_total"],
    }


def write(
    folder: Path, judgments: pd.DataFrame, analyses: list[dict[str, Any]]
) -> None:
    """Keep what was judged beside the checkpoint.

    folder: of the checkpoint; `mini_judge.JUDGMENTS` and `mini_judge.ANALYSES` name the files.
    """
    table = judgments.to_csv(index=False, lineterminator="\n", float_format="%g")
    files.write_text(folder / JUDGMENTS, table)
    lines = ""
    for analysis in analyses:
        lines += json.dumps(analysis) + "\n"
    files.write_text(folder / ANALYSES, lines)
