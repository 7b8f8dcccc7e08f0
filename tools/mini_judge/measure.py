"""What the judge says of the held-out set: the evaluators ask it in every form; what
they read beside the gold.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import datasets, files
from nlgeval_lib.engines import Engine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.coascore import CoAScore
from nlgeval_lib.evaluators.geval import GEval
from nlgeval_lib.evaluators.hdeval import HDEval
from nlgeval_lib.evaluators.llmscore import LLMScore
from nlgeval_lib.evaluators.prometheus import Prometheus
from nlgeval_lib.evaluators.tigerscore import TigerScore
from nlgeval_lib.records import Judgment, Status
from nlgeval_lib.training.mini import ANALYSES, JUDGMENTS, settings
from tools.mini_judge import heldout
from tools.mini_judge.answers import grade, kind_of
from tools.mini_judge.criteria import CRITERIA
from tools.mini_judge.prompts import GRADED
from tools.mini_judge.quality import NEW

COLUMNS = ["form", "aspect", "input_id", "system_id", "gold", "value", "status"]
ANALYSIS = "error analysis"


def judge(
    engine: Engine,
    frame: pd.DataFrame | None = None,
    store: Store | None = None,
    say: Callable[[str], None] = print,
) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """One row a judgment (`COLUMNS`) of every form, and the error analyses as they were
    read.

    frame: the held-out set or some of its inputs. Gold is by construction: minus the
    sum of penalties for the error analysis, 1 to 5 for the rest.
    """
    if frame is None:
        frame = datasets.load("mini_judge")
    settings_of_call: dict[str, Any] = {"engine": engine, "store": store}
    outputs = frame[frame["aspect"] == "overall"].reset_index(drop=True)
    analyses: list[dict[str, Any]] = []
    tables = _forms(frame, outputs, settings_of_call, analyses)
    if frame["input_id"].nunique() == datasets.spec("mini_judge").n_inputs:
        tables = itertools.chain(tables, _new(settings_of_call))
    judgments = []
    for name, table in tables:
        judgments.append(table)
        share = (table["status"] == "ok").mean()
        say(f"{name}: {len(table)} judgments, {share:.1%} parsed")
    return pd.concat(judgments, ignore_index=True)[COLUMNS], analyses


def _forms(
    frame: pd.DataFrame,
    outputs: pd.DataFrame,
    settings_of_call: Mapping[str, Any],
    analyses: list[dict[str, Any]],
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each form and its judgments; the error analyses are put into `analyses`."""
    judged = TigerScore(**settings("tigerscore")).judge(outputs, **settings_of_call)
    for row, judgment in zip(outputs.itertuples(), judged, strict=True):
        analyses.append(
            {
                "input_id": row.input_id,
                "system_id": row.system_id,
                "status": judgment.status.value,
                "errors": [_error(error) for error in judgment.details["errors"]],
                "header": judgment.details["header_total"],
            }
        )
    yield ANALYSIS, _rows(ANALYSIS, outputs.assign(human=-outputs["penalty"]), judged)
    by_switches = {switches: form for form, (_, switches) in GRADED.items()}
    for switches in sorted(by_switches, reverse=True):
        reference, rubric, feedback = switches
        questions = frame if rubric else outputs
        prometheus = Prometheus(
            reference=reference,
            rubric=rubric,
            feedback=feedback,
            **settings("prometheus"),
        )
        form = by_switches[switches]
        judged = prometheus.judge(questions, **settings_of_call)
        yield form, _rows(form, questions, judged)
    yield "criterion score", _criteria(outputs, settings_of_call)
    judged = LLMScore(**settings("llmscore")).judge(frame, **settings_of_call)
    yield "plain score", _rows("plain score", frame, judged)
    yield "aspect scores", _aspects(outputs, settings_of_call)
    judged = CoAScore(**settings("coascore")).judge(frame, **settings_of_call)
    yield "chained score", _rows("chained score", frame, judged)
    flipped = outputs.assign(human=[5.0 - grade(score) for score in outputs["human"]])
    judged = GEval(**settings("geval")).judge(outputs, **settings_of_call)
    yield "quality", _rows("quality", flipped, judged)


def _new(
    settings_of_call: Mapping[str, Any],
) -> Iterator[tuple[str, pd.DataFrame]]:
    """The error analysis and the plain score of texts whose sentences are in no
    training text.
    """
    analysis, score = NEW
    frame = heldout.frame("new")
    outputs = frame[frame["aspect"] == "overall"].reset_index(drop=True)
    judged = TigerScore(**settings("tigerscore")).judge(outputs, **settings_of_call)
    yield analysis, _rows(analysis, outputs.assign(human=-outputs["penalty"]), judged)
    judged = LLMScore(**settings("llmscore")).judge(frame, **settings_of_call)
    yield score, _rows(score, frame, judged)


def _rows(form: str, questions: pd.DataFrame, judged: list[Judgment]) -> pd.DataFrame:
    """The judgments of one form beside their questions; gold is the column `human`."""
    rows = questions[["aspect", "input_id", "system_id"]]
    return rows.assign(
        form=form,
        gold=questions["human"],
        value=[judgment.value for judgment in judged],
        status=[judgment.status.value for judgment in judged],
    )


def _criteria(
    outputs: pd.DataFrame, settings_of_call: Mapping[str, Any]
) -> pd.DataFrame:
    """HD-Eval's scores of all criteria of the hierarchy, the root included."""
    hdeval = HDEval(**settings("hdeval"), aggregator="average", layers=(0, 1, 2))
    tables = []
    for key, judged in hdeval.features(outputs, **settings_of_call).items():
        criterion = CRITERIA[key]
        gold = [float(criterion.score(kinds)) for kinds in outputs["kinds"]]
        questions = outputs.assign(aspect=key, human=gold)
        tables.append(_rows("criterion score", questions, judged))
    return pd.concat(tables, ignore_index=True)


def _aspects(
    outputs: pd.DataFrame, settings_of_call: Mapping[str, Any]
) -> pd.DataFrame:
    """CoAScore's stage II on all ten aspects that stage I lists for the overall
    quality.
    """
    coascore = CoAScore(**{**settings("coascore"), "n": 10, "variant": "average"})
    judged = coascore.judge(outputs, **settings_of_call)
    keys = {criterion.name: key for key, criterion in CRITERIA.items()}
    expected = [name for name, key in keys.items() if key != "overall"][:10]
    rows = []
    for output, judgment in zip(outputs.itertuples(), judged, strict=True):
        scores = judgment.details.get("aspect_scores", {})
        for name in judgment.details.get("aspects", expected):
            value = scores.get(name, float("nan"))
            status = Status.OK if value == value else Status.UNPARSED
            key = name
            gold = float("nan")
            if name in keys:
                key = keys[name]
                gold = float(CRITERIA[key].score(output.kinds))
            ids = (output.input_id, output.system_id)
            rows.append(("aspect scores", key, *ids, gold, value, status.value))
    return pd.DataFrame(rows, columns=COLUMNS)


def _error(error: Any) -> dict[str, Any]:
    return {
        "kind": kind_of(error.explanation),
        "location": error.location,
        "penalty": error.reduction,
    }


def write(
    folder: Path, judgments: pd.DataFrame, analyses: list[dict[str, Any]]
) -> None:
    """Keep what was judged beside the checkpoint."""
    table = judgments.to_csv(index=False, lineterminator="\n", float_format="%g")
    files.write_text(folder / JUDGMENTS, table)
    lines = [json.dumps(analysis) for analysis in analyses]
    files.write_text(folder / ANALYSES, "\n".join(lines) + "\n")
