"""Signatures, store keys and scores of the evaluators stay what they were:
`tests/cases/evaluators.jsonl`.

And wrong options are refused in words: `tests/cases/options_refused.jsonl`.

A changed signature or key means that stored completions and published scores no longer
belong to the evaluator: what changes on purpose is written anew with `python
tests/library/test_evaluator_signatures.py` and named in CHANGELOG.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from nlgeval_lib import datasets, evaluators
from nlgeval_lib.engines import ScriptedEngine, complete
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import hdeval
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.evaluators.metric import Metric
from nlgeval_lib.evaluators.stages import drive
from nlgeval_lib.scoring.settings import parameters as settings

TABLE = Path(__file__).parents[1] / "cases" / "evaluators.jsonl"
CASES = (
    [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
    if TABLE.is_file()
    else []
)
_VERSIONS = re.compile(
    r"\|((?:sacrebleu|rouge|rouge_score|nltk|transformers|sentence-transformers|bert-score)):[^|]+"
)
JSON_ERRORS = (
    '{"errors": {"error_1": {"error_location": "a", "error_aspect": "Accuracy", "explanation": "b", '
    '"severity": "Minor", "score_reduction": 0.5}}}'
)
ANALYSIS = (
    "The model-generated output contains 1 errors, with a total score reduction of 2.\nError location 1: a\n"
    "Error aspect 1: Accuracy\nExplanation 1: b\nSeverity 1: Major\nScore reduction 1: 2"
)
NAMES = [
    "Wit",
    "Tone",
    "Tact",
    "Pace",
    "Form",
    "Aim",
    "Depth",
    "Range",
    "Voice",
    "Order",
    "Detail",
    "Clarity",
]
RATED = [
    "Naturalness",
    "Understandability",
    "Maintains Context",
    "Interest",
]  # CoAScore's aspects of a dialogue
ASPECTS = "\n".join(
    f"Aspect {n}: {name}: how much {name.lower()} it has."
    for n, name in enumerate(NAMES, 1)
)
PERFECT = (
    "The model-generated output contains 0 errors, with a total score reduction of 0."
)
LISTED = "- Order: whether it is in order.\n- Length: whether it is long enough."


def rows() -> pd.DataFrame:
    """Four inputs of the miniature judge's embedded set, an aspect more than
    overall, a context.
    """
    frame = datasets.load("mini_judge")
    kept = frame["input_id"].isin(frame["input_id"].unique()[:4]) & frame[
        "aspect"
    ].isin(["overall", "relevance"])
    frame = frame[kept].reset_index(drop=True)
    return frame.assign(
        context=frame["source"], analysis="The output contains 1 error."
    )


def scripted(evaluator: str) -> ScriptedEngine:
    """An engine whose answer depends on prompt and draw alone; one in eleven cannot
    be read.
    """

    def answer(request: Any, draw: int) -> str:
        prompt = request.text()
        number = int(hashlib.sha256(f"{prompt}{draw}".encode()).hexdigest()[:8], 16)
        score = number % 5 + 1
        if number % 11 == 0 and "aspects" not in request.id:
            return "I would rather not say."
        if "error_location" in prompt:
            return JSON_ERRORS if score > 2 else '{"errors": {}}'
        if "[RESULT]" in prompt:
            return f"Feedback: it is so. [RESULT] {score}"
        if evaluator == "tigerscore":
            return ANALYSIS if score > 2 else PERFECT
        if evaluator == "tigerscore-check":
            return (
                "Yes",
                "No",
                "There are no hallucinations.",
                "It contains factual errors.",
                "Perhaps",
            )[score - 1]
        if request.id.startswith("decompose"):
            return LISTED
        if request.id.startswith("aspects of"):
            return ASPECTS
        if request.id.endswith("#aspects"):
            return json.dumps(
                {name: (number >> n) % 5 + 1 for n, name in enumerate(NAMES + RATED)}
            )
        return f"Score: {score}"

    return ScriptedEngine(answer, model="golden", revision="1")


def observed(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What the evaluator of a case says of itself, asks, and gives."""
    frame = rows()
    cls = evaluators.get(case["evaluator"])
    evaluator = cls(**case.get("options", {}))
    if not hasattr(evaluator, "stages"):
        scored = evaluator.score(frame)
        return {
            "signature": plain(evaluator.signature()),
            **shown(scored["value"], scored["status"]),
        }
    engine = scripted(case["evaluator"])
    store = Store(folder)
    stages = []

    def answer(stage: Any) -> Any:
        answers = complete(engine, stage.requests, stage.sampling, store)
        keys = "".join(completion.key for draws in answers for completion in draws)
        digest = hashlib.sha256(keys.encode()).hexdigest()[:12]
        stages.append([stage.name, len(stage.requests), stage.sampling.n, digest])
        return answers

    found: dict[str, Any] = {}
    if case.get("way") == "fit":
        evaluator.fit(frame, engine=engine, store=store)
    if case.get("way") == "train":
        growth = hdeval.Growth(layers=3, children=2, keep=2)
        trained = evaluator.train(frame, growth=growth, engine=engine, store=store)
        found["tree"] = [node.id for node in trained.tree.walk()]
        found["kept"] = [list(layer.kept) for layer in trained.history]
        importance = trained.history[0].importance
        found["importance"] = {
            name: [round(v, 9) for v in importance[name]] for name in importance
        }
    bound = evaluator.for_engine(engine)
    judgments = drive(bound.stages(bound.given(frame)), answer)
    found |= shown(
        [one.value for one in judgments], [one.status.value for one in judgments]
    )
    return {
        "signature": evaluator.signature(engine),
        "unbound": repr(evaluator),
        "stages": stages,
        **found,
    }


def plain(signature: str) -> str:
    """The signature without the versions of other packages."""
    return _VERSIONS.sub(r"|\1:*", signature)


def shown(values: Any, statuses: Any) -> dict[str, Any]:
    """The values to 9 digits (None: missing), and how often each status occurs."""
    return {
        "values": [
            None if math.isnan(value) else round(float(value), 9) for value in values
        ],
        "statuses": dict(sorted(pd.Series(list(statuses)).value_counts().items())),
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_signature_keys_and_scores_are_those_of_the_table(
    case: dict[str, Any], tmp_path: Path
) -> None:
    found = json.loads(json.dumps(observed(case, tmp_path)))
    if found.get("statuses", {}).get("unavailable") and not case["expect"][
        "statuses"
    ].get("unavailable"):
        pytest.skip("what the metric needs is not on this machine")
    for name, wanted in case["expect"].items():
        if name == "importance":
            wanted = {
                target: pytest.approx(row, abs=1e-6) for target, row in wanted.items()
            }
        assert found[name] == (
            pytest.approx(wanted, abs=1e-6) if name == "values" else wanted
        ), name


REFUSED = [
    json.loads(line)
    for line in TABLE.with_name("options_refused.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize(
    "case", REFUSED, ids=lambda case: f"{case['evaluator']} {case['options']}"
)
def test_wrong_options_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=case["said"]):
        evaluators.get(case["evaluator"])(**case["options"])


def test_every_evaluator_that_can_be_made_here_has_a_case() -> None:
    assert {case["evaluator"] for case in CASES} == set(evaluators.names()) - {
        "bartscore",
        "gptscore",
        "preference",  # judges pairs: test_preference.py
        "words",
    }


@pytest.mark.parametrize("name", evaluators.names())
def test_the_signature_names_every_setting(name: str) -> None:
    """Also those that a class passes on to its bases; none hides behind `**`."""
    kind = evaluators.get(name)
    parameters = inspect.signature(kind).parameters
    assert not {one.kind for one in parameters.values()} & {
        inspect.Parameter.VAR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
    }
    if isinstance(kind, type) and issubclass(kind, Judge):
        assert {*inspect.signature(Judge).parameters} <= {*parameters}
    elif isinstance(kind, type) and issubclass(kind, Metric):
        assert "cache" in parameters
    assert [*parameters] == [*dict.fromkeys(one for one, *_ in settings(kind))]


if __name__ == "__main__":
    import tempfile

    lines = []
    for one in CASES:
        with tempfile.TemporaryDirectory() as home:
            lines.append(
                json.dumps(
                    {**one, "expect": observed(one, Path(home))}, ensure_ascii=False
                )
            )
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")
