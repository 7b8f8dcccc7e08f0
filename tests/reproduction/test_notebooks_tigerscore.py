"""The recipe behind the rows of BLEU and ROUGE-2f in TIGERScore's Tables 4, 25 and
26.
"""

from __future__ import annotations

import sys

import pandas as pd
import pytest
from cli_tools import has_texts

from nlgeval_lib import datasets
from nlgeval_lib.evaluators import Bleu, Rouge
from nlgeval_lib.scoring import correlations
from reproduction import papers
from reproduction.study import judged_rows

TABLES = {"pearson": "table_25", "spearman": "table_26", "kendall": "table_04"}
HOW = dict(coefs=("pearson", "spearman", "kendall-b"), ci=None, scale=100)
BLEU = {"multi": "joint", "empty": "zero"}
ROUGE = {"type": "rouge2", "stemmer": True, "empty": "zero"}
# all references, averaged
CRITERIA = (
    "correctness",
    "data_coverage",
    "fluency",
    "relevance",
    "text_structure",
)
CASES = {
    "webnlg2020": ("D2T", CRITERIA),
    "openmeva": ("Story-Gen", ("overall",)),
    "wmt22_zhen": ("Trans", ("mqm",)),
}


@pytest.mark.parametrize(
    "name",
    ["webnlg2020", "openmeva", pytest.param("wmt22_zhen", marks=pytest.mark.slow)],
    ids=str,
)
def test_the_printed_rows_come_out(data, tmp_path, name) -> None:
    items, (task, aspects) = datasets.items(data(name)), CASES[name]
    several = {"multi": "max"} if name == "webnlg2020" else {}
    scores = {
        "ROUGE-2f": Rouge(**ROUGE, **several, cache=tmp_path / "scores.sqlite").score(
            items
        )["value"]
    }
    if name != "wmt22_zhen":
        scores["BLEU"] = Bleu(**BLEU, cache=tmp_path / "scores.sqlite").score(items)[
            "value"
        ]
    parts = {task: judged_rows.Part.from_aspects(task, items, aspects, digits=2)}

    def verdicts(scores: dict[str, pd.Series]) -> list[str]:
        cells = correlations.cells(
            judged_rows.averaged(
                parts, judged_rows.correlated(parts, {task: scores}, **HOW)
            )
        )
        frames = [
            papers.compare("tigerscore", TABLES[each], part)
            for each, part in cells.groupby("statistic")
        ]
        joined = pd.concat(frames)
        return joined.loc[joined["ours"].notna(), "verdict"].tolist()

    expected = ["equal"] * 3 * len(scores)
    sums_as_here = sys.version_info >= (3, 12) and has_texts(items)
    if name == "webnlg2020" and sums_as_here:  # saved scores are those of 3.11
        # `sum` rounds otherwise from 3.12 on: other near-ties of BLEU, 23.136 for 23.134
        expected[0] = "differs"
    assert verdicts(scores) == expected
    if name == "webnlg2020":  # the one empty output decides
        dropped = {
            row: values.mask(items["output"].str.strip() == "")
            for row, values in scores.items()
        }
        assert verdicts(dropped) == ["differs"] * 6
        # what differs by rounding errors alone is no tie in the printed numbers
        rounded = {row: values.round(9) for row, values in scores.items()}
        assert verdicts(rounded).count("equal") == 3
