"""The table of recorded judges: cells by hand, with scipy, scikit-learn and plain loops,
from the sets' frames.
"""

from __future__ import annotations

import leaderboard
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from judgecard import recordings
from nlgeval_lib import datasets

COEFS = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall-b": stats.kendalltau,
}


@pytest.fixture(scope="module")
def rated() -> pd.DataFrame:
    """Two of the rated sets, from the numbers in the checkout."""
    return leaderboard.rated(("sfres", "alttest"))


def cell(table: pd.DataFrame, **place: str) -> pd.Series:
    for column, value in place.items():
        table = table[table[column] == value]
    [(_, row)] = table.iterrows()
    return row


@pytest.mark.parametrize("coef", COEFS)
def test_unieval_on_sfres_by_scipy(rated, coef):
    frame = datasets.load("sfres")
    rows = frame[frame["aspect"] == "naturalness"]
    place = {"set": "sfres", "aspect": "naturalness", "level": "dataset"}
    row = cell(rated, **place, coef=coef, judge="UniEval")
    assert row["value"] == pytest.approx(COEFS[coef](rows["unieval"], rows["human"])[0])
    assert row["ci_low"] < row["value"] < row["ci_high"] and row["n"] == 1181
    assert row["signature"].startswith(f"level:dataset|coef:{coef}")


@pytest.mark.parametrize("coef", COEFS)
def test_a_judge_of_stars_by_scipy(rated, coef):
    frame = datasets.load("alttest_cebab_stars").set_index("input_id")
    said = recordings.load("alttest_judges")
    said = said[
        (said["dataset"] == "alttest_cebab_stars") & (said["judge"] == "gpt-4o")
    ]
    stars = said.set_index("input_id")["value"]
    columns = [name for name in frame if name.startswith("rater_")]
    means = {
        item: np.mean([value for value in frame.loc[item, columns] if value == value])
        for item in frame.index
    }
    expected = COEFS[coef](stars, [means[item] for item in stars.index])[0]
    place = {"set": "alttest_cebab_stars", "level": "dataset", "judge": "gpt-4o"}
    assert cell(rated, **place, coef=coef)["value"] == pytest.approx(expected)


def test_ranks_and_baselines_stand_beside_the_judges(rated):
    stars = rated[
        (rated["set"] == "alttest_cebab_stars") & (rated["coef"] == "kendall-b")
    ]
    names = set(stars.loc[stars["baseline"].astype(bool), "judge"])
    assert names == {"constant", "random", leaderboard.CEILING}
    judges = stars[~stars["baseline"].astype(bool)]
    assert (judges["best rank"] <= judges["worst rank"]).all()
    assert cell(stars, judge="constant")["reason"].startswith("constant scores")
    assert cell(stars, judge="gpt-4o")["best rank"] == 1


def test_labels_by_scikit_learn():
    table = leaderboard.labels()
    row = cell(table, set="alttest_wax", judge="gpt-4o")
    frame = datasets.load("alttest_wax").set_index("input_id")["human"].dropna()
    said = recordings.load("alttest_judges")
    said = said[(said["dataset"] == "alttest_wax") & (said["judge"] == "gpt-4o")]
    words = said.set_index("input_id")["value"][frame.index]
    assert row["accuracy"] == pytest.approx(np.mean(words == frame))
    assert row["kappa"] == pytest.approx(cohen_kappa_score(words, frame))
    assert row["passed"] and row["n"] == len(frame)


def test_pairs_by_counting():
    table = leaderboard.paired()
    frame = datasets.load("llmbar").set_index("pair_id")["preference"]
    said = recordings.load("llmbar_judges")
    said = said[(said["judge"] == "GPT-4") & (said["prompt_form"] == "Vanilla")]
    by_pair: dict[str, dict[str, float]] = {}
    for answer in said.itertuples():
        by_pair.setdefault(answer.pair_id, {})[answer.order] = answer.value
    right = sum(
        verdict == frame[pair]
        for pair, orders in by_pair.items()
        for verdict in orders.values()
    )
    same = sum(orders["given"] == orders["swapped"] for orders in by_pair.values())
    firsts = sum(orders["given"] == 1 for orders in by_pair.values())
    firsts += sum(orders["swapped"] == 2 for orders in by_pair.values())
    row = cell(table, set="llmbar", subset="all", judge="GPT-4, Vanilla")
    assert row["coverage"] == 1
    assert row["accuracy"] == pytest.approx(right / 838)
    assert row["consistency"] == pytest.approx(same / 419)
    assert row["bias"] == pytest.approx(2 * firsts / 838 - 1)
    panda = cell(table, set="pandalm", judge="PandaLM-7B")
    assert round(100 * panda["accuracy"], 2) == 66.77
    assert table["signature"].notna().all()
