"""What each judge of the catalogue asks about the first input of each output's rows:
the same completions as ever.
"""

from __future__ import annotations

import csv
import hashlib
import re
from pathlib import Path

import pandas as pd
import pytest

from nlgeval_lib import datasets
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.scoring import ProgressBar
from reproduction.papers import gaps
from reproduction.report import scoreboard
from reproduction.study import EngineOptions, catalogue, judges, question_rows

LISTED = catalogue.load()
ROOT = Path(__file__).parents[2]
LISTS = {
    "filled": ROOT / "data" / "judged_cells.csv",
    "empty": ROOT / "tests" / "cases" / "rehearsal.csv",
}
# a row a question: rows of the first input, completions, and a hash over their keys
# (model at revision "r1")
with open(
    Path(__file__).parents[1] / "cases" / "judges.csv", encoding="utf-8", newline=""
) as file:
    KEPT = {(row["output"], row["name"]): row for row in csv.DictReader(file)}


def answer(request, draw):
    text = request.text()
    if "Your task is to list" in text:
        return "\n".join(f"Aspect {k}: is it of kind {k}?" for k in range(1, 21))
    if "in JSON format" in text:
        return "{" + ", ".join(f'"Aspect {k}": {k % 5 + 1}' for k in range(1, 21)) + "}"
    return f"{1 + len(text) % 5} [RESULT] 3"


def test_every_judge_is_declared_once_and_every_question_is_kept():
    asked = [
        (one.evaluator, one.data, one.model, one.settings) for one in LISTED.judges
    ]
    assert len(asked) == len(set(asked)) == 138
    kept = [
        (one.output, one.name)
        for one in LISTED.questions
        if one.judge.data not in datasets.OPTIONAL
    ]
    assert kept == list(KEPT)


DATA = sorted({judge.data for judge in LISTED.judges} - {*datasets.OPTIONAL})


@pytest.mark.parametrize("data", DATA)
def test_the_completions_that_are_asked_for(data, needs, tmp_path, monkeypatch):
    needs(data)
    monkeypatch.setattr(question_rows, "QUICK_INPUTS", 1)
    loaded: dict = {}  # rows are read once, as `nlgeval completions` reads them
    questions = [one for one in LISTED.questions if one.judge.data == data]
    for number, (asked, question) in enumerate(
        {one.asked: one for one in questions}.items()
    ):
        engine = ScriptedEngine(answer, model=question.judge.model, revision="r1")
        options = EngineOptions("vllm", store=tmp_path / str(number), mode="quick")
        job = judges.job(question, options, engine, loaded=loaded)
        job.fill(ProgressBar(quiet=True))
        job.store.close()
        keys = sorted(ask.key for ask in engine.asked)
        found = [
            str(len(job.data)),
            str(len(keys)),
            hashlib.sha256(" ".join(keys).encode()).hexdigest()[:16],
        ]
        for one in questions:
            if one.asked == asked:
                kept = KEPT[one.output, one.name]
                assert [kept["rows"], kept["completions"], kept["keys"]] == found, (
                    one.output,
                    one.name,
                )


MODEL = re.compile(
    r"gpt|llama|tigerscore|prometheus|hd-?eval|coascore|llmscore|vicuna|instructscore",
    re.IGNORECASE,
)
# tables whose rows name a model and that read no judge: what it would be asked about is
# not public
NO_DATA = {
    ("prometheus", "table_02"): "Feedback Bench",
    ("hdeval", "table_09"): "GPT-4's scores",
    **{("prometheus", f"figure_{number}"): "one draw" for number in (16, 17, 18, 19)},
}


def test_an_open_row_that_names_a_model_has_a_judge_or_a_reason():
    """A row of a table that judges fill (data/judged_cells.csv) is filled in the
    rehearsal, or its list says why.
    """
    data = {name: pd.read_csv(path) for name, path in LISTS.items()}
    filled = set(data["filled"][["paper", "table"]].itertuples(index=False, name=None))
    told = set(
        data["empty"][["paper", "table", "row"]].itertuples(index=False, name=None)
    )
    stated = {(one.paper, one.id) for one in LISTED.rows}
    cells = scoreboard.cells()
    gone = cells[(cells["verdict"] == "missing") & cells["row"].str.contains(MODEL)]
    silent = [
        (one.paper, one.table, one.row, one.reason)
        for one in gone.itertuples()
        if (one.paper, one.table) not in filled | stated
        and (one.paper, one.table, one.row) not in told
        and NO_DATA.get((one.paper, one.table), "none") not in one.reason
        and gaps.gap_of(one.reason) not in (gaps.ELSEWHERE, gaps.NOT_PUBLISHED)
    ]
    assert len(gone) > 500 and not silent, silent[:5]
