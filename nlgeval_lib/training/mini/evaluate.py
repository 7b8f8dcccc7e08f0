"""How good the judge is: the evaluators ask it of the held-out set in every form; what they read and the gold."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import datasets, files
from nlgeval_lib.engines import Engine
from nlgeval_lib.evaluators.coascore import CoAScore
from nlgeval_lib.evaluators.geval import GEval
from nlgeval_lib.evaluators.hdeval import HDEval
from nlgeval_lib.evaluators.llmscore import LLMScore
from nlgeval_lib.evaluators.prometheus import Prometheus
from nlgeval_lib.evaluators.tigerscore import TigerScore
from nlgeval_lib.schema import Judgment, Status
from nlgeval_lib.store import Store
from nlgeval_lib.training.mini import heldout
from nlgeval_lib.training.mini.criteria import CRITERIA, RATED
from nlgeval_lib.training.mini.prompts import settings

JUDGMENTS, ANALYSES = "judgments.csv", "analyses.jsonl"
COLUMNS = ["form", "aspect", "input_id", "system_id", "gold", "value", "status"]
ANALYSIS = "error analysis"
NEW = ("error analysis, new sentences", "plain score, new sentences")
_NAMES = ("reference", "rubric", "feedback")
_HOW = tuple(itertools.product((True, False), repeat=3))
# form -> whether Prometheus is given a reference and a rubric, and writes a feedback
SWITCHES = {
    "".join(["feedback", *(f", no {name}" for name, on in zip(_NAMES, how, strict=True) if not on)]): how
    for how in _HOW
}


def judge(
    engine: Engine, frame: pd.DataFrame | None = None, store: Store | None = None, say: Callable[[str], None] = print
) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """One row a judgment (`COLUMNS`) of every form, and the error analyses as they were read.

    frame: the held-out set or some of its inputs. Gold is by construction: minus the sum of penalties for the error
    analysis, 1 to 5 for the rest.
    """
    frame = datasets.load("mini_judge") if frame is None else frame
    ways: dict[str, Any] = {"engine": engine, "store": store}
    parts: list[pd.DataFrame] = []
    outputs = frame[frame["aspect"] == "overall"].reset_index(drop=True)
    analyses: list[dict[str, Any]] = []
    whole = frame["input_id"].nunique() == datasets.spec("mini_judge").n_inputs
    for name, made in itertools.chain(_forms(frame, outputs, ways, analyses), _new(ways) if whole else ()):
        parts.append(made)
        share = (made["status"] == "ok").mean()
        say(f"{name}: {len(made)} judgments, {share:.1%} parsed")
    return pd.concat(parts, ignore_index=True)[COLUMNS], analyses


def _forms(
    frame: pd.DataFrame, outputs: pd.DataFrame, ways: Mapping[str, Any], analyses: list[dict[str, Any]]
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
    for form, (reference, rubric, feedback) in SWITCHES.items():
        asked = frame if rubric else outputs
        how = {"reference": reference, "rubric": rubric, "feedback": feedback}
        yield form, _rows(form, asked, Prometheus(**how, **greedy).judge(asked, **ways))
    yield "criterion score", _criteria(outputs, ways)
    yield "plain score", _rows("plain score", frame, LLMScore(**settings("llmscore")).judge(frame, **ways))
    yield "aspect scores", _aspects(outputs, ways)
    chain = CoAScore(**settings("coascore"))
    yield "chained score", _rows("chained score", frame, chain.judge(frame, **ways))
    flipped = outputs.assign(human=[5.0 - quality(score) for score in outputs["human"]])
    yield "quality", _rows("quality", flipped, GEval(**settings("geval")).judge(outputs, **ways))


def _new(ways: Mapping[str, Any]) -> Iterator[tuple[str, pd.DataFrame]]:
    """The error analysis and the plain score of texts whose sentences are in no training text."""
    frame = heldout.frame("new")
    outputs = frame[frame["aspect"] == "overall"].reset_index(drop=True)
    judged = TigerScore(**settings("tigerscore")).judge(outputs, **ways)
    yield NEW[0], _rows(NEW[0], outputs.assign(human=-outputs["penalty"]), judged)
    yield NEW[1], _rows(NEW[1], frame, LLMScore(**settings("llmscore")).judge(frame, **ways))


def quality(overall: float) -> int:
    """SemScore's quality (1 best, 4 worst) of an overall score."""
    return {5: 1, 4: 2, 3: 3, 2: 3, 1: 4}[int(overall)]


def _rows(form: str, asked: pd.DataFrame, judged: list[Judgment]) -> pd.DataFrame:
    rows = asked[["aspect", "input_id", "system_id"]].assign(form=form, gold=asked["human"])
    return rows.assign(value=[one.value for one in judged], status=[one.status.value for one in judged])


def _criteria(outputs: pd.DataFrame, ways: Mapping[str, Any]) -> pd.DataFrame:
    """HD-Eval's scores of all criteria of the hierarchy, the root included."""
    judge = HDEval(**settings("hdeval"), aggregator="average", layers=(0, 1, 2))
    scores = judge.features(outputs, **ways)
    made = []
    for place, key in enumerate(scores.criteria):
        gold = [float(CRITERIA[key].score(kinds)) for kinds in outputs["kinds"]]
        column = [row[place] for row in scores.judgments]
        made.append(_rows("criterion score", outputs.assign(aspect=key, human=gold), column))
    return pd.concat(made, ignore_index=True)


def _aspects(outputs: pd.DataFrame, ways: Mapping[str, Any]) -> pd.DataFrame:
    """CoAScore's stage II on all ten aspects that stage I lists for the overall quality."""
    judge = CoAScore(**{**settings("coascore"), "n": 10, "variant": "average"})
    judged = judge.judge(outputs, **ways)
    keys = {criterion.name: key for key, criterion in CRITERIA.items()}
    rows = []
    for row, one in zip(outputs.itertuples(), judged, strict=True):
        found = one.details.get("aspect_scores", {})
        for name in one.details.get("aspects", [c.name for k, c in CRITERIA.items() if k != "overall"][:10]):
            value = found.get(name, float("nan"))
            status = Status.OK if value == value else Status.UNPARSED
            gold = float(CRITERIA[keys[name]].score(row.kinds)) if name in keys else float("nan")
            rows.append(("aspect scores", keys.get(name, name), row.input_id, row.system_id, gold, value, status.value))
    return pd.DataFrame(rows, columns=COLUMNS)


def _error(error: Any) -> dict[str, Any]:
    return {"kind": kind_of(error.explanation), "location": error.location, "penalty": error.reduction}


def kind_of(explanation: str) -> str:
    """The kind of error that an explanation tells of, "other" where it is none of ours."""
    for kind, sign in _SIGNS.items():
        if sign(explanation):
            return kind
    return "other"


_SIGNS: Mapping[str, Callable[[str], bool]] = {
    "invention": lambda text: text.startswith("The record gives no "),
    "wrong_value": lambda text: text.startswith("The record gives "),
    "arithmetic": lambda text: text.startswith("The sum is wrong"),
    "omission": lambda text: " is left out" in text,
    "repetition": lambda text: text.endswith(" is said before."),
    "grammar": lambda text: text.startswith("The verb should be "),
    "off_topic": lambda text: text == "The text is not about the record.",
}


# -- what was found, kind by kind --------------------------------------------------------------------------------------


def by_kind(frame: pd.DataFrame, analyses: list[dict[str, Any]]) -> pd.DataFrame:
    """What the error analyses found of the errors that were put in, a row a kind.

    errors: put in; found: of the same kind in the same output; located: found with its very words; false: told of
    and not there; `recall`, `located_share`, `precision` in [0, 1], NaN over none.
    """
    outputs = frame[frame["aspect"] == "overall"].set_index(["input_id", "system_id"])
    tally = {kind: dict.fromkeys(("errors", "found", "located", "false"), 0) for kind in _SIGNS}
    for one in analyses:
        gold = [dict(error) for error in outputs.loc[(one["input_id"], one["system_id"]), "errors"]]
        told = list(one["errors"])
        for error in gold:
            tally[error["kind"]]["errors"] += 1
        for exact in (True, False):
            for error in list(gold):
                same = [
                    t for t in told if t["kind"] == error["kind"] and (not exact or t["location"] == error["location"])
                ]
                if same:
                    told.remove(same[0])
                    gold.remove(error)
                    tally[error["kind"]]["found"] += 1
                    tally[error["kind"]]["located"] += exact
        for error in told:
            if error["kind"] in tally:
                tally[error["kind"]]["false"] += 1
    table = pd.DataFrame(tally).T.rename_axis("kind").reset_index()
    told_of = table["found"] + table["false"]
    return table.assign(
        recall=table["found"] / table["errors"].where(table["errors"] > 0),
        located_share=table["located"] / table["errors"].where(table["errors"] > 0),
        precision=table["found"] / told_of.where(told_of > 0),
    )


# -- coming and going --------------------------------------------------------------------------------------------------


def write(folder: Path, judgments: pd.DataFrame, analyses: list[dict[str, Any]]) -> None:
    """Keep what was judged beside the checkpoint."""
    files.write_text(folder / JUDGMENTS, judgments.to_csv(index=False, lineterminator="\n", float_format="%g"))
    files.write_text(folder / ANALYSES, "\n".join(json.dumps(one) for one in analyses) + "\n")


def read(folder: Path) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """What `write` kept. Raises: FileNotFoundError that names the command."""
    if not (folder / JUDGMENTS).is_file():
        raise FileNotFoundError(f"no {JUDGMENTS} in {folder}; `make mini-judge` writes it")
    lines = (folder / ANALYSES).read_text(encoding="utf-8").splitlines()
    return pd.read_csv(folder / JUDGMENTS, float_precision="round_trip"), [json.loads(line) for line in lines]


def rated(judgments: pd.DataFrame, form: str) -> list[str]:
    """The rated aspects that a form has judgments of, the overall quality first."""
    there = set(judgments.loc[judgments["form"] == form, "aspect"])
    return [key for key in RATED if key in there]
