"""Another paper's published tables, from its published scores: UniEval on dialogue and data-to-text.

Source of the cases: maszhongming/UniEval, reproduce/README.md (Zhong et al. 2022), all outputs in one list.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from nlgeval_lib import datasets
from nlgeval_lib.scoring import correlations

TABLES = pd.read_csv(Path(__file__).parent / "cases" / "unieval.csv")


@pytest.mark.parametrize("name", TABLES["dataset"].unique())
def test_the_published_tables_come_out_to_the_last_of_six_digits(name, needs):
    needs(name)
    table = TABLES[TABLES["dataset"] == name]
    items = datasets.items(datasets.load(name))
    for aspect in table["aspect"]:
        scores, ratings = {"UniEval": items[f"unieval_{aspect}"]}, {aspect: f"human_{aspect}"}
        ours = correlations.table(items, scores, ratings, coefs=["pearson", "spearman", "kendall-b"])
        printed = table[table["aspect"] == aspect].iloc[0, 2:].astype(float)
        assert ours["value"].tolist() == pytest.approx(printed.tolist(), abs=6e-7)
