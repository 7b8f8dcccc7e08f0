"""Every notebook that asks judges, where a third of the answers cannot be read and one
of its judges said nothing that can.
"""

from __future__ import annotations

import difflib
import functools
import json
import sys

import notebook_cells
import public_data
import pytest
import thorough
from matplotlib.figure import Figure

from nlgeval_lib import datasets
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.evaluators.embedding_metrics import OfEncoder
from nlgeval_lib.evaluators.metric import Metric
from nlgeval_lib.names import pair
from nlgeval_lib.scoring import ProgressBar
from nlgeval_lib.scoring.cells import InputError
from reproduction import papers
from reproduction.import_graph import HOUSES
from reproduction.study import catalogue, judges, question_rows
from tools import rehearsal

LISTED = catalogue.load()
# Notebooks with hardly a line of their own -> the one whose code they have.
ALIKE = {
    "hdeval_figure_05": "hdeval_figure_04",
    "hdeval_figure_08": "hdeval_figure_06",
    "hdeval_figure_09": "hdeval_figure_07",
    "hdeval_table_03": "hdeval_table_01",
    "tigerscore_table_25": "tigerscore_table_04",
    "tigerscore_table_26": "tigerscore_table_04",
}
# Every other output that asks judges.
OUTPUTS = sorted({question.output for question in LISTED.questions} - set(ALIKE))
OF_EACH_PAPER = (
    "ablation_aspect_count",
    "coascore_figure_04",
    "hdeval_table_02",
    "prometheus_table_04",
    "tigerscore_gold_references",
)
UNREADABLE = "I have no opinion on this."
# Of each set there are its first inputs alone, and judges are asked about fewer yet.
INPUTS = 30
ASKED = 6
# but the inputs that a question names
NAMED = {
    value
    for question in LISTED.questions
    for name, value in map(pair, question.where)
    if name == "input_id"
}
_load = datasets.load
_values = Metric.values


@functools.cache
def first_rows(name, **options):
    """As `datasets.load`, of a set's first inputs alone, and those of NAMED."""
    rows = _load(name, **options)
    if "input_id" not in rows:
        return rows
    kept = {*datasets.first_inputs(rows, INPUTS), *NAMED}
    return rows[rows["input_id"].isin(kept)].reset_index(drop=True)


def lengths(metric, items):
    """In the place of a metric's values, whatever it is: what they are is no matter."""
    if metric.recalled:
        return _values(metric, items)
    return {item: (len(item[0]) / 1000,) * len(metric.parts) for item in items}


def drawn(figure, buffer, **how):
    """In the place of a figure's file; what is drawn is made all the same."""
    buffer.write(b"a picture")


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


@pytest.fixture(scope="module", autouse=True)
def _the_few_rows_are_forgotten():
    """Other tests find nothing of these in what the houses keep."""
    yield
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in HOUSES:
            for kept in vars(module).values():
                if hasattr(kept, "cache_clear"):
                    kept.cache_clear()


@pytest.mark.parametrize("output", thorough.but(OF_EACH_PAPER, OUTPUTS))
def test_a_notebook_runs_where_answers_cannot_be_read(tmp_path, monkeypatch, output):
    entry = LISTED[output]
    public_data.needs(*(name for name in entry.inputs if name in datasets.NAMES))
    for name in ("NLGEVAL_TRIAL", "NLGEVAL_RECORD"):
        monkeypatch.delenv(name, raising=False)
    for name in ("RESULTS", "FIGURES", "HOME"):
        monkeypatch.setenv(f"NLGEVAL_{name}", str(tmp_path / name.lower()))
    monkeypatch.setattr(question_rows, "QUICK_INPUTS", ASKED)
    monkeypatch.setattr(datasets, "load", lambda *a, **b: first_rows(*a, **b).copy())
    monkeypatch.setattr(Metric, "values", lengths)
    monkeypatch.setattr(OfEncoder, "remark", lambda metric, items: "")
    monkeypatch.setattr(papers, "own_sd", functools.partial(papers.own_sd, resamples=3))
    monkeypatch.setattr(Figure, "savefig", drawn)
    monkeypatch.setattr(rehearsal, "MALFORMED", 1 / 3)
    fill(output, tmp_path / "home" / "completions", silent=list(entry.judges)[-1])
    given = {"mode": "quick", "engine": "replay", "model": ""}
    notebook_cells.run(entry.path, **{**entry.parameters, **given})
    [saved] = tmp_path.glob(f"results/*/{entry.paper}/{output}.json")
    assert json.loads(saved.read_text(encoding="utf-8"))["mode"] == "quick"


@pytest.mark.parametrize(("output", "other"), ALIKE.items())
def test_a_notebook_that_is_left_out_has_the_code_of_another(output, other):
    lines = [notebook_cells.lines(LISTED[name].path) for name in (output, other)]
    assert difflib.SequenceMatcher(None, *lines).ratio() > 0.75
