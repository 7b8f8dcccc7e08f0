"""TIGERScore's Figures 3 and 4 from what its authors published beside the paper."""

from __future__ import annotations

import pytest

from nlgeval_lib import datasets, papers
from nlgeval_lib.datasets.recordings import tigerscore_outputs


def test_the_mixture_of_figure_3_is_table_26s_model():
    bars = papers.load("tigerscore", "figure_03").pivot(index="row", columns="column", values="number")
    table = papers.load("tigerscore", "table_26").pivot(index="row", columns="column", values="number")
    assert bars.loc["Mix"].equals(table.loc["TIGERScore-7B", bars.columns].rename("Mix"))
    gains = 100 * (bars.loc["Mix"].mean() / bars.mean(axis=1) - 1)
    assert gains.round(2).to_dict() == {"Mix": 0.0, "Real-World": 20.19, "Synthetic": 31.77}
    without = bars.drop(columns="LF-QA")
    assert 100 * (without.loc["Mix"].mean() / without.loc["Real-World"].mean() - 1) == pytest.approx(2.67, abs=0.005)


def test_figure_4s_counts():
    if datasets.fetch.local(tigerscore_outputs.COUNTS) is None:
        pytest.skip("the authors' notebook is not here")
    errors, severities = tigerscore_outputs.training_counts()
    tasks = ["Summ", "Trans", "D2T", "LF-QA", "MathQA", "Instruct"]
    assert errors.index.tolist() == severities.index.tolist() == tasks
    assert errors.sum().sum() == 48277, "what the notebook says that it reads"
    said = papers.load("tigerscore", "text_claims").set_index("row")["number"]
    assert said["authors' notebook of Figure 4: instances"] == 48277
    few = 100 * errors[[1, 2]].sum(axis=1) / errors.sum(axis=1)
    assert few.round(1).to_dict() == {
        task: said[f"authors' notebook of Figure 4: {task}, 1 or 2 errors"] for task in tasks
    }
    assert errors.columns.tolist() == list(range(9)) and errors.loc["Summ"].tolist()[-2:] == [1, 1]
    for task in tasks:  # most errors have a severity, none has two
        listed = (errors.loc[task] * errors.columns).sum()
        assert 0.98 * listed <= severities.loc[task].sum() <= 1.02 * listed
    assert 0.95 < tigerscore_outputs.share_within_context() < 0.99
