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
    frame = datasets.load("mini_judge") if frame is None else frame
    ways: dict[str, Any] = {"engine": engine, "store": store}
    parts: list[pd.DataFrame] = []
    outputs = frame[frame["aspect"] == "overall"].reset_index(drop=True)
    analyses: list[dict[str, Any]] = []
    whole = frame["input_id"].nunique() == datasets.spec("mini_judge").n_inputs
    for name, made in itertools.chain(
        _forms(frame, outputs, ways, analyses), _new(ways) if whole else ()
    ):
        parts.append(made)
        share = (made["status"] == "ok").mean()
        say(f"{name}: {len(made)} judgments, {share:.1%} parsed")
    return pd.concat(parts, ignore_index=True)[COLUMNS], analyses


def _forms(
    frame: pd.DataFrame,
    outputs: pd.DataFrame,
    ways: Mapping[str, Any],
    analyses: list[dict[str, Any]],
) -> Iterator[tuple[str, pd.DataFrame]]:
    judged = TigerScore(**settings("tigerscore")).judge(outputs, **ways)
    analyses += [
        {
            "input_id": row.input_id,
            "system_id": row.system_id,
            "status": one.status.value,
            "errors": [_error(error) for error in one.details["errors"]],
            "header": one.details["header_total"],
        }
        for row, one in zip(outputs.itertuples(), judged, strict=True)
    ]
    yield ANALYSIS, _rows(ANALYSIS, outputs.assign(human=-outputs["penalty"]), judged)
    greedy = settings("prometheus")
    for form, (_, (reference, rubric, feedback)) in sorted(
        GRADED.items(), key=lambda one: one[1][1], reverse=True
    ):
        asked = frame if rubric else outputs
        judge = Prometheus(
            reference=reference, rubric=rubric, feedback=feedback, **greedy
        )
        yield form, _rows(form, asked, judge.judge(asked, **ways))
    yield "criterion score", _criteria(outputs, ways)
    yield (
        "plain score",
        _rows(
            "plain score", frame, LLMScore(**settings("llmscore")).judge(frame, **ways)
        ),
    )
    yield "aspect scores", _aspects(outputs, ways)
    chain = CoAScore(**settings("coascore"))
    yield "chained score", _rows("chained score", frame, chain.judge(frame, **ways))
    flipped = outputs.assign(human=[5.0 - grade(score) for score in outputs["human"]])
    yield (
        "quality",
        _rows("quality", flipped, GEval(**settings("geval")).judge(outputs, **ways)),
    )


def _new(ways: Mapping[str, Any]) -> Iterator[tuple[str, pd.DataFrame]]:
    """The error analysis and the plain score of texts whose sentences are in no
    training text.
    """
    frame = heldout.frame("new")
    outputs = frame[frame["aspect"] == "overall"].reset_index(drop=True)
    judged = TigerScore(**settings("tigerscore")).judge(outputs, **ways)
    yield NEW[0], _rows(NEW[0], outputs.assign(human=-outputs["penalty"]), judged)
    yield (
        NEW[1],
        _rows(NEW[1], frame, LLMScore(**settings("llmscore")).judge(frame, **ways)),
    )


def _rows(form: str, asked: pd.DataFrame, judged: list[Judgment]) -> pd.DataFrame:
    rows = asked[["aspect", "input_id", "system_id"]].assign(
        form=form, gold=asked["human"]
    )
    return rows.assign(
        value=[one.value for one in judged], status=[one.status.value for one in judged]
    )


def _criteria(outputs: pd.DataFrame, ways: Mapping[str, Any]) -> pd.DataFrame:
    """HD-Eval's scores of all criteria of the hierarchy, the root included."""
    judge = HDEval(**settings("hdeval"), aggregator="average", layers=(0, 1, 2))
    scores = judge.features(outputs, **ways)
    made = []
    for key, column in scores.items():
        gold = [float(CRITERIA[key].score(kinds)) for kinds in outputs["kinds"]]
        made.append(
            _rows("criterion score", outputs.assign(aspect=key, human=gold), column)
        )
    return pd.concat(made, ignore_index=True)


def _aspects(outputs: pd.DataFrame, ways: Mapping[str, Any]) -> pd.DataFrame:
    """CoAScore's stage II on all ten aspects that stage I lists for the overall
    quality.
    """
    judge = CoAScore(**{**settings("coascore"), "n": 10, "variant": "average"})
    judged = judge.judge(outputs, **ways)
    keys = {criterion.name: key for key, criterion in CRITERIA.items()}
    rows = []
    for row, one in zip(outputs.itertuples(), judged, strict=True):
        found = one.details.get("aspect_scores", {})
        for name in one.details.get(
            "aspects", [c.name for k, c in CRITERIA.items() if k != "overall"][:10]
        ):
            value = found.get(name, float("nan"))
            status = Status.OK if value == value else Status.UNPARSED
            gold = (
                float(CRITERIA[keys[name]].score(row.kinds))
                if name in keys
                else float("nan")
            )
            rows.append(
                (
                    "aspect scores",
                    keys.get(name, name),
                    row.input_id,
                    row.system_id,
                    gold,
                    value,
                    status.value,
                )
            )
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
    files.write_text(
        folder / JUDGMENTS,
        judgments.to_csv(index=False, lineterminator="\n", float_format="%g"),
    )
    files.write_text(
        folder / ANALYSES, "\n".join(json.dumps(one) for one in analyses) + "\n"
    )
