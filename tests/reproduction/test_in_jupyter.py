"""What a session in Jupyter meets: bars of progress that leave nothing in what is
committed, and results that say what they are.
"""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from nlgeval_lib import progress
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.scoring import chosen_rows, correlations
from reproduction import report
from reproduction.report import committed
from reproduction.study.criteria_scores import CriteriaScores
from reproduction.study.scores import JudgeScores
from reproduction.study.variant_tests import VariantScores


@pytest.fixture
def kernel(monkeypatch):
    """A notebook that somebody looks at."""
    shell = SimpleNamespace(kernel=object())
    ipython = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.delenv("NLGEVAL_RECORD", raising=False)


def test_a_bar_is_for_a_notebook_that_no_runner_executes(kernel, monkeypatch):
    assert progress.in_notebook() and progress.wanted()
    monkeypatch.setenv("NLGEVAL_RECORD", "somewhere")
    assert progress.in_notebook() and not progress.wanted()


def test_nobody_looks_at_a_pipe(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not progress.in_notebook() and not progress.wanted()
    assert [one for one in progress.bar([1, 2], desc="pairs", delay=0)] == [1, 2]
    with progress.bar(total=2, delay=0) as bar:
        bar.update(2)
    progress.in_cell("judge")(SimpleNamespace(total=2, left=0), [])
    assert capsys.readouterr().err == ""


def test_the_answers_of_a_stage_are_counted_in_a_cell(kernel, monkeypatch):
    bars = []

    def bar(**options):
        bars.append(SimpleNamespace(n=0, closed=False, **options))
        drawn = bars[-1]
        drawn.update = lambda more: setattr(drawn, "n", drawn.n + more)
        drawn.close = lambda: setattr(drawn, "closed", True)
        return drawn

    monkeypatch.setattr(progress, "bar", bar)
    report_to = progress.in_cell("judge")
    for left in (3, 1, 0):
        report_to(SimpleNamespace(total=3, left=left), [])
        assert bars[0].n == 3 - left and bars[0].closed == (left == 0)
    assert len(bars) == 1 and bars[0].desc == "judge" and bars[0].total == 3


def test_a_bar_leaves_nothing_in_a_committed_notebook():
    widget = {
        "output_type": "display_data",
        "metadata": {},
        "data": {committed.WIDGET: {"model_id": "a"}, "text/plain": ["  0%|   | 0/3"]},
    }
    kept = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"text/plain": ["3 rows"]},
    }
    cell = {
        "cell_type": "code",
        "source": ["1"],
        "metadata": {},
        "execution_count": 1,
        "outputs": [widget, kept],
    }
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    [shown] = committed.outputs(committed.cleaned(json.dumps(notebook)))
    assert [output["data"] for output in shown] == [kept["data"]]


# -- what stands in a cell that ends with a result

ITEMS = pd.DataFrame(
    {
        "input_id": ["a", "a", "b", "b"],
        "system_id": ["x", "y", "x", "y"],
        "aspect": "overall",
        "human": [1.0, 2.0, 3.0, 4.0],
    }
)
SCORES = pd.DataFrame({"one": [1.0, 2, 3, 4], "two": 1.0})
RESULTS = {
    "VariantScores(1 variants on 4 items, route run; n=1: 4 of 4; n=2: not tested)": (
        VariantScores(
            ITEMS, {"n=1": np.ones(4)}, {"n=2": "why"}, "run", {"n=1": "4 of 4"}
        )
    ),
    "JudgeScores(none: no server)": JudgeScores(False, "no server"),
    "JudgeScores(3 of 4 by judge, route run)": JudgeScores(
        True, frame=ITEMS, coverage="3 of 4", model="judge"
    ),
    "CriteriaScores(Set: two scores; 4 items, 2 scores for wit)": CriteriaScores(
        "set",
        "Set",
        ITEMS,
        SCORES,
        SCORES[["one"]].set_axis(["wit"], axis=1),
        {},
        None,
        "two scores",
    ),
    "Grid(2 systems x 2 inputs, 4 outputs, level dataset)": correlations.Grid(ITEMS),
    "ScriptedEngine(judge": ScriptedEngine(["4"], model="judge"),
}


@pytest.mark.parametrize("shown", RESULTS)
def test_a_result_says_what_it_is(shown):
    text = repr(RESULTS[shown])
    assert text.startswith(shown) and len(text) < 120 and "\n" not in text


def test_rows_say_what_is_taken_for_what(tmp_path):
    path = tmp_path / "rows.csv"
    ITEMS.rename(columns={"system_id": "model"}).to_csv(path, index=False)
    rows = chosen_rows(str(path))
    assert repr(rows).startswith("Rows(") and "system_id = model" in repr(rows)
    assert ": 4 rows; " in repr(rows)


def test_an_output_says_what_it_holds(tmp_path, monkeypatch):
    monkeypatch.setenv("NLGEVAL_RESULTS", str(tmp_path))
    out = report.Output("mine", scratch=True, route="mini")
    assert repr(out) == "Output('mine'; mode full; route mini)"
    out.frame(ITEMS, "items")
    assert repr(out) == "Output('mine'; mode full; route mini; tables: items)"
