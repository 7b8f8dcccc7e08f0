"""What a fine-tuned judge says of the held-out set, in the form that its study asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from nlgeval_lib import datasets
from nlgeval_lib.engines import Engine
from nlgeval_lib.evaluators.prometheus import Prometheus
from nlgeval_lib.evaluators.tigerscore import TigerScore
from nlgeval_lib.schema import Judgment
from nlgeval_lib.training.mini.ablations.parts import NEW_RUBRIC, RUBRICS
from nlgeval_lib.training.mini.ablations.studies import Arm
from nlgeval_lib.training.mini.evaluate import kind_of
from nlgeval_lib.training.mini.prompts import settings

KEYS = ["input_id", "system_id", "aspect"]
LONGEST = 160  # tokens; no right answer is as long
COLUMNS = [*KEYS, "value", "status", "told"]


def ask(engine: Engine, arm: Arm, frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """One row a judgment: `COLUMNS`; `told` has the kinds of error that an analysis tells of, joined by blanks."""
    frame = datasets.load("mini_judge") if frame is None else frame
    if arm.switches is not None:
        return _grades(engine, arm.switches, frame)
    outputs = frame[frame["aspect"] == "overall"].reset_index(drop=True)
    if arm.domain:
        outputs = outputs[outputs["domain"] == arm.domain].reset_index(drop=True)
    judged = TigerScore(**settings("tigerscore"), sampling={"max_tokens": LONGEST}).judge(outputs, engine=engine)
    told = [" ".join(kind_of(error.explanation) for error in one.details["errors"]) for one in judged]
    return _rows(outputs, judged).assign(told=told)[COLUMNS]


def questions(frame: pd.DataFrame) -> pd.DataFrame:
    """Two of the set's five questions an output: one of the learnt rubrics in turn, and the new one."""
    order = {
        key: place for place, key in enumerate(dict.fromkeys(zip(frame["input_id"], frame["system_id"], strict=True)))
    }
    systems = frame["system_id"].nunique()
    turn = [
        RUBRICS[(order[key] + order[key] // systems) % len(RUBRICS)]
        for key in zip(frame["input_id"], frame["system_id"], strict=True)
    ]
    return frame[(frame["aspect"] == turn) | (frame["aspect"] == NEW_RUBRIC)].reset_index(drop=True)


def _grades(engine: Engine, switches: tuple[bool, bool, bool], frame: pd.DataFrame) -> pd.DataFrame:
    reference, rubric, feedback = switches
    asked = questions(frame)
    sampling = {**settings("prometheus")["sampling"], "max_tokens": LONGEST}
    judge = Prometheus(reference=reference, rubric=rubric, feedback=feedback, sampling=sampling)
    if rubric:
        return _rows(asked, judge.judge(asked, engine=engine)).assign(told="")[COLUMNS]
    outputs = frame[frame["aspect"] == "overall"].reset_index(drop=True)  # no prompt says which aspect is meant
    once = _rows(outputs, judge.judge(outputs, engine=engine)).drop(columns="aspect")
    return asked[KEYS].merge(once, on=KEYS[:2], how="left").assign(told="")[COLUMNS]


def _rows(asked: pd.DataFrame, judged: list[Judgment]) -> pd.DataFrame:
    return asked[KEYS].assign(value=[one.value for one in judged], status=[one.status.value for one in judged])


def gold(arm_rows: pd.DataFrame, study: str, frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """The rows with `gold` by construction, `domain` and `kinds`: minus the sum of penalties, or the aspect's score."""
    frame = datasets.load("mini_judge") if frame is None else frame
    known: Mapping[str, Any] = {**{key: frame[key] for key in KEYS}, "domain": frame["domain"], "kinds": frame["kinds"]}
    right = pd.DataFrame(known).assign(gold=frame["human"] if study == "grading" else -frame["penalty"])
    return arm_rows.merge(right, on=KEYS, how="left", validate="many_to_one")
