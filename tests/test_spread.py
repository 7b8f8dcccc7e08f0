"""A yardstick that can say no: two runs of one judge pass, another judge's numbers
and shuffled ones do not.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nlgeval_lib import datasets, papers
from nlgeval_lib.papers.comparison import APART, EQUAL, SPREAD
from nlgeval_lib.study import judged_rows
from nlgeval_lib.study.scores import JudgeScores

ITEMS = 300
DRAWS = 3
GOOD = (EQUAL, SPREAD)


def judge(rng, human: np.ndarray, skill: float) -> np.ndarray:
    """What a judge thinks of each item, as far as it follows the raters."""
    return skill * human + np.sqrt(1 - skill**2) * rng.normal(size=len(human))


def run(rng, opinion: np.ndarray) -> np.ndarray:
    """The draws of one run: `[draw, item]`."""
    return opinion + 0.5 * rng.normal(size=(DRAWS, len(opinion)))


def pearson(human: np.ndarray):
    return lambda scores: float(np.corrcoef(scores, human)[0, 1])


@pytest.fixture(scope="module")
def simulated() -> list[tuple[float, float, float]]:
    """Ours, the spread, and what another run of the same judge printed: 60 judges."""
    rng = np.random.default_rng(7)
    human = rng.normal(size=ITEMS)
    cells = []
    for skill in np.linspace(0.05, 0.9, 60):
        opinion = judge(rng, human, skill)
        first = run(rng, opinion)
        second = run(rng, opinion)
        measure = pearson(human)
        spread = papers.own_sd(first, measure, resamples=100)
        cells.append((measure(first.mean(0)), spread, measure(second.mean(0))))
    return cells


def rate(cells, printed) -> float:
    verdicts = []
    for (ours, spread, _), text in zip(cells, printed, strict=True):
        verdicts.append(papers.verdict(ours, text, "run", own_sd=spread))
    return float(np.mean([found in GOOD for found in verdicts]))


def test_another_run_of_the_same_judge_passes(simulated):
    assert rate(simulated, [f"{one[2]:.3f}" for one in simulated]) >= 0.9


def test_shuffled_numbers_pass_no_more_often_than_chance_says(simulated):
    """Chance: the share of all printed numbers that each cell would take."""
    texts = [f"{one[2]:.3f}" for one in simulated]
    chance = np.mean([rate(simulated, [text] * len(texts)) for text in texts])
    rng = np.random.default_rng(1)
    rates = [rate(simulated, rng.permutation(texts)) for _ in range(50)]
    assert np.mean(rates) == pytest.approx(chance, abs=0.02)
    assert chance < 0.3, "the yardstick refuses most numbers that are not its own"


def test_the_spread_is_that_of_repeated_runs():
    """Against a judge that is run 400 times."""
    rng = np.random.default_rng(3)
    human = rng.normal(size=ITEMS)
    opinion = judge(rng, human, 0.5)
    measure = pearson(human)
    runs = [measure(run(rng, opinion).mean(0)) for _ in range(400)]
    spreads = [papers.own_sd(run(rng, opinion), measure) for _ in range(10)]
    assert np.mean(spreads) == pytest.approx(np.std(runs), rel=0.2)
    lone = [measure(run(rng, opinion)[0]) for _ in range(400)]
    spreads = [papers.own_sd(run(rng, opinion), measure, averaged=1) for _ in range(10)]
    assert np.mean(spreads) == pytest.approx(np.std(lone), rel=0.3)


def test_what_has_no_spread():
    same = np.tile(np.arange(5.0), (3, 1))
    assert papers.own_sd(same, np.mean) == 0
    assert np.isnan(papers.own_sd(same[:1], np.mean))
    with pytest.raises(ValueError, match=r"\[draw, item\]"):
        papers.own_sd(same[0], np.mean)
    with pytest.raises(ValueError, match="at least one draw"):
        papers.own_sd(same, np.mean, averaged=0)


def test_a_metric_has_no_draws_and_so_no_room():
    assert papers.verdict(0.51, "0.50", "run", own_sd=0) == APART
    assert papers.verdict(0.5051, "0.50", "run", own_sd=0) == EQUAL


def test_what_shuffling_would_reach_is_what_shuffling_reaches():
    """The exact rate against printed numbers that are dealt out anew 300 times."""
    printed = papers.load("hdeval", "table_02")
    rouge = printed["row"].str.startswith("ROUGE")
    plain = printed[rouge & (printed["column"] != "average")]
    keys = ["row", "column", "statistic"]
    ours = plain[keys].assign(value=plain["number"])
    cells = papers.compare("hdeval", "table_02", ours, route="public")
    cells = cells[cells["ours"].notna()]
    expected = papers.shuffled(cells).sum()
    pool = printed[printed["column"] != "average"]
    rng = np.random.default_rng(0)
    reached = []
    for _ in range(300):
        dealt = pool.groupby("statistic")["printed"].transform(rng.permutation)
        texts = dealt[plain.index]
        hits = map(papers.agrees, plain["number"], texts)
        reached.append(sum(hits))
    assert np.mean(reached) == pytest.approx(expected, rel=0.25)


def test_a_judges_draws_reach_the_cell(monkeypatch):
    """From judgments with several draws to the spread in the table."""
    items = datasets.items(datasets.load("mini"))
    rng = np.random.default_rng(0)
    rated = rng.normal(size=len(items))
    draws = rated + rng.normal(size=(3, len(items)))
    details = [{"values": tuple(values)} for values in draws.T]
    frame = items.assign(aspect="overall", value=draws.mean(0), details=details)
    given = {
        "several": JudgeScores(True, frame=frame, signature="J"),
        "one": JudgeScores(True, frame=frame.assign(details=[{}] * len(frame))),
    }
    monkeypatch.setattr(
        "nlgeval_lib.study.judged_rows.judge_scores",
        lambda output, name, **_: given[name],
    )
    names = {"Judge": "several", "Once": "one"}
    rows = judged_rows.judged_rows("coascore_table_05", items, names)
    table = rows.table({"x": "overall"}, {"x": rated}, coefs=["pearson"])
    cells = table.set_index("row")
    measured = papers.own_sd(draws, pearson(rated))
    assert cells.loc["Judge", "own_sd"] == pytest.approx(measured)
    assert cells.loc["Judge", "draws"] == 3
    assert pd.isna(cells.loc["Once", "own_sd"])
