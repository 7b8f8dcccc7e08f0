"""The readers on a held-out sample of a run of a real judge, beside a careful reading.

`cases/own_run_reading.csv` has 200 answers of Qwen2.5-Coder-1.5B-Instruct by the keys
of their completions. A language model, not a person, read each raw text before it saw
what the parser makes of it: column `read`, empty where the text gives no score. They
were drawn by a hash of the key, by evaluator, after the parsers had been changed and
without the answers that had been looked at for that. `parsed` is what is read unasked,
`verbalizer` and `brackets` what Prometheus' other readers make of it.

The texts are in `data/completions`; a test of them runs where they are.
"""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from nlgeval_lib.evaluators import CoAScore, HDEval, LLMScore, Prometheus
from nlgeval_lib.evaluators.judge import answered
from nlgeval_lib.evaluators.llmscore import Aspect
from nlgeval_lib.parsers.ratings import rating
from nlgeval_lib.records import Completion

ROOT = Path(__file__).parents[2]
READ = pd.read_csv(
    ROOT / "tests" / "cases" / "own_run_reading.csv", dtype=str, keep_default_na=False
)
OF_PROMETHEUS = READ["evaluator"].str.startswith("prometheus")


def stored() -> dict[str, Completion]:
    """The completions of the sample that are here, by key."""
    wanted = set(READ["key"])
    found = {}
    for path in sorted((ROOT / "data" / "completions").glob("*.zip")):
        with zipfile.ZipFile(path) as shared:
            for line in shared.read("completions.jsonl").decode().splitlines():
                record = json.loads(line)
                if record.get("key") in wanted and "text" in record:
                    found[record["key"]] = Completion(
                        record["key"],
                        record["text"],
                        finish_reason=record["finish_reason"],
                        completion_tokens=record["completion_tokens"],
                    )
    return found


def written(value: float) -> str:
    return "" if math.isnan(value) else f"{value:g}"


def parsed(evaluator: str, completion: Completion) -> str:
    """What the evaluator's reader makes of an answer, written as in the table."""
    if evaluator == "coascore aspects":
        # The judge was asked about these aspects, and names each.
        scores = json.loads(completion.text.strip("`json \n"))
        aspects = [Aspect(name, "") for name in scores]
        read = CoAScore("dialogue").read_scores([completion], aspects)
        return " ".join(written(read[name].value) for name in scores)
    if evaluator == "geval":
        return written(rating(answered(completion).text, 1, 5).value)
    judges = {
        "llmscore": LLMScore,
        "coascore score": CoAScore,
        "hdeval": HDEval,
    }
    return written(judges[evaluator]("dialogue").read(completion).value)


def by_prometheus(completion: Completion, reader: bool | str) -> str:
    judge = Prometheus(rubric=False, reference=False, verbalizer=reader)
    return written(judge.read(completion).value)


@pytest.mark.parametrize(
    ("column", "right", "missed"),
    [("parsed", 15, 34), ("verbalizer", 37, 12), ("brackets", 47, 2)],
)
def test_how_much_each_reader_of_prometheus_reads(column, right, missed):
    """Of 60 draws 49 have a score; no reader takes a wrong one."""
    table = READ[OF_PROMETHEUS]
    has_score = table["read"] != ""
    is_read = table[column] != ""
    assert len(table) == 60 and has_score.sum() == 49
    assert (table["read"] == table[column])[is_read].all()
    assert (is_read.sum(), (has_score & ~is_read).sum()) == (right, missed)


def test_all_others_are_read_and_right():
    table = READ[~OF_PROMETHEUS]
    assert len(table) == 140 and (table["parsed"] == table["read"]).all()
    assert (table["read"] != "").all() and READ["key"].is_unique


def test_the_parsers_still_read_them_so():
    completions = stored()
    if not completions:
        pytest.skip("the completions of the run are not in data/completions")
    differing = []
    for row in READ.itertuples():
        completion = completions.get(row.key)
        if completion is None:
            continue
        if row.evaluator.startswith("prometheus"):
            readers = {"parsed": False, "verbalizer": True, "brackets": "brackets"}
            for column, reader in readers.items():
                if by_prometheus(completion, reader) != getattr(row, column):
                    differing.append(f"{row.key[:12]} {column}")
        elif parsed(row.evaluator, completion) != row.parsed:
            differing.append(f"{row.key[:12]} {row.evaluator}")
    assert not differing
