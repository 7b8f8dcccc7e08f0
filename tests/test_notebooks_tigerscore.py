"""The recipe behind the rows of BLEU and ROUGE-2f in TIGERScore's Tables 4, 25 and 26."""

from __future__ import annotations

import pandas as pd
import pytest

from nlgeval_lib import datasets, papers
from nlgeval_lib.evaluators import Bleu, Rouge
from nlgeval_lib.scoring import correlations
from nlgeval_lib.study import judged_rows

TABLES = {"pearson": "table_25", "spearman": "table_26", "kendall": "table_04"}
CRITERIA = ["correctness", "data_coverage", "fluency", "relevance", "text_structure"]


def measured(items: pd.DataFrame, scores: dict[str, pd.Series], aspects: list[str], task: str) -> pd.DataFrame:
    parts = {task: judged_rows.Part.of(task, items, aspects, digits=2)}
    how = dict(coefs=("pearson", "spearman", "kendall-b"), ci=None, scale=100)
    return judged_rows.averaged(parts, judged_rows.correlated(parts, {task: scores}, **how))


def compared(cells: pd.DataFrame) -> pd.DataFrame:
    cells = correlations.cells(cells)
    frames = [papers.compare("tigerscore", TABLES[name], part) for name, part in cells.groupby("statistic")]
    joined = pd.concat(frames)
    return joined[joined["ours"].notna()]


def test_data_to_text_takes_all_references_and_averages_coefficients(data, tmp_path) -> None:
    items = datasets.items(data("webnlg2020"))
    cache = tmp_path / "scores.sqlite"
    scores = {
        "BLEU": Bleu(multi="joint", empty="zero", cache=cache).score(items)["value"],
        "ROUGE-2f": Rouge("rouge2", stemmer=True, multi="max", empty="zero", cache=cache).score(items)["value"],
    }
    cells = compared(measured(items, scores, CRITERIA, "D2T"))
    assert len(cells) == 6 and set(cells["verdict"]) == {"equal"}
    dropped = {name: values.mask(items["output"].str.strip() == "") for name, values in scores.items()}
    cells = compared(measured(items, dropped, CRITERIA, "D2T"))
    assert set(cells["verdict"]) == {"differs"}, "the one empty output decides"


def test_stories_have_one_reference_and_one_rating(data, tmp_path) -> None:
    items = datasets.items(data("openmeva"))
    cache = tmp_path / "scores.sqlite"
    scores = {
        "BLEU": Bleu(cache=cache).score(items)["value"],
        "ROUGE-2f": Rouge("rouge2", stemmer=True, cache=cache).score(items)["value"],
    }
    cells = compared(measured(items, scores, ["overall"], "Story-Gen"))
    assert len(cells) == 6 and set(cells["verdict"]) == {"equal"}


@pytest.mark.slow
def test_translations_are_fourteen_systems_and_an_empty_one_scores_zero(data, tmp_path) -> None:
    items = datasets.items(data("wmt22_zhen"))
    scores = {
        "ROUGE-2f": Rouge("rouge2", stemmer=True, empty="zero", cache=tmp_path / "s.sqlite").score(items)["value"]
    }
    cells = compared(measured(items, scores, ["mqm"], "Trans"))
    assert len(cells) == 3 and set(cells["verdict"]) == {"equal"}
