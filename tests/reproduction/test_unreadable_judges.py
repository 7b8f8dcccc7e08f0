"""Every notebook that asks judges, where a third of the answers cannot be read and one
of its judges said nothing that can.
"""

from __future__ import annotations

import json

import notebook_cells
import public_data
import pytest
import thorough

from nlgeval_lib import datasets
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.scoring import ProgressBar
from nlgeval_lib.scoring.cells import InputError
from reproduction.study import catalogue, judges, question_rows
from tools import rehearsal

LISTED = catalogue.load()
# Two notebooks are that of tigerscore_table_04 with another coefficient.
ALIKE = {"tigerscore_table_25", "tigerscore_table_26"}
# Every other output that asks judges.
OUTPUTS = sorted({question.output for question in LISTED.questions} - ALIKE)
OF_EACH_PAPER = (
    "ablation_aspect_count",
    "coascore_figure_04",
    "hdeval_table_02",
    "prometheus_table_04",
    "tigerscore_gold_references",
)
UNREADABLE = "I have no opinion on this."


def says_nothing(judge: catalogue.Judge) -> ScriptedEngine:
    """An engine with the judge's name, of which no answer can be read."""
    revision = judge.revision or "scripted"
    return ScriptedEngine(
        lambda request, draw: UNREADABLE, model=judge.model, revision=revision
    )


def fill(output, store, silent):
    """Answer the questions of an output by a script.

    silent: the name of the question whose answers cannot be read. It comes first,
    because questions that share a prompt share the answer.
    """
    options = judges.EngineOptions("vllm", store=store, mode="quick")
    questions = [one for one in LISTED.questions if one.output == output]
    questions.sort(key=lambda question: question.name != silent)
    loaded = {}
    n_asked = 0
    for question in questions:
        engine = rehearsal.scripted(question.judge)
        if question.name == silent:
            engine = says_nothing(question.judge)
        try:
            job = judges.job(question, options, engine, loaded=loaded)
            job.fill(ProgressBar(question.name, quiet=True))
        except (datasets.DataError, InputError):  # its texts are not here
            continue
        n_asked += len(engine.asked)
    if not n_asked:
        pytest.skip("the texts of none of its questions are here")


@pytest.mark.parametrize("output", thorough.but(OF_EACH_PAPER, OUTPUTS))
def test_a_notebook_runs_where_answers_cannot_be_read(tmp_path, monkeypatch, output):
    entry = LISTED[output]
    public_data.needs(*(name for name in entry.inputs if name in datasets.NAMES))
    for name in ("NLGEVAL_TRIAL", "NLGEVAL_RECORD"):
        monkeypatch.delenv(name, raising=False)
    for name in ("RESULTS", "FIGURES", "HOME"):
        monkeypatch.setenv(f"NLGEVAL_{name}", str(tmp_path / name.lower()))
    monkeypatch.setattr(question_rows, "QUICK_INPUTS", 6)
    monkeypatch.setattr(rehearsal, "MALFORMED", 1 / 3)
    fill(output, tmp_path / "home" / "completions", silent=list(entry.judges)[-1])
    given = {"mode": "quick", "engine": "replay", "model": ""}
    notebook_cells.run(entry.path, **{**entry.parameters, **given})
    [saved] = tmp_path.glob(f"results/*/{entry.paper}/{output}.json")
    assert json.loads(saved.read_text(encoding="utf-8"))["mode"] == "quick"
