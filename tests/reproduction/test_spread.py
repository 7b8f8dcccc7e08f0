"""A yardstick that can say no: two runs of one judge pass, another judge's numbers
and shuffled ones do not.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from nlgeval_lib import datasets
from reproduction import papers
from reproduction.papers import comparison, shuffling
from reproduction.papers.comparison import APART, EQUAL, SPREAD
from reproduction.study import judged_rows
from reproduction.study.scores import JudgeScores

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
        verdicts.append(comparison.verdict(ours, text, "run", own_sd=spread))
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


def test_what_has_no_spread():
    same = np.tile(np.arange(5.0), (3, 1))
    assert papers.own_sd(same, np.mean) == 0
    assert np.isnan(papers.own_sd(same[:1], np.mean))
    with pytest.raises(ValueError, match=r"\[draw, item\]"):
        papers.own_sd(same[0], np.mean)


def test_a_metric_has_no_draws_and_so_no_room():
    assert comparison.verdict(0.51, "0.50", "run", own_sd=0) == APART
    assert comparison.verdict(0.5051, "0.50", "run", own_sd=0) == EQUAL


def test_what_shuffling_would_reach_is_what_shuffling_reaches():
    """The exact rate against the best of so many deals as recipes were tried, 150
    times.
    """
    printed = papers.load("hdeval", "table_02")
    rouge = printed["row"].str.startswith("ROUGE")
    plain = printed[rouge & (printed["column"] != "average")]
    keys = ["row", "column", "statistic"]
    ours = plain[keys].assign(value=plain["number"])
    cells = papers.compare("hdeval", "table_02", ours, route="public")
    cells = cells[cells["ours"].notna()]
    expected = shuffling.shuffled(cells).sum()
    place = ("hdeval", "table_02", "ROUGE-L", "coherence")
    variants, over = shuffling.tried_for(*place)
    assert (variants, over) == (4, 24) and len(cells) == over
    numbers = printed["number"].to_numpy(dtype=float)
    is_ours = printed.index.isin(plain.index)
    columns = printed.groupby(["column", "statistic"]).indices.values()
    rng = np.random.default_rng(0)
    reached = []
    for _ in range(150):
        counts = np.zeros(variants)
        for column in columns:
            for variant in range(variants):
                dealt = rng.permutation(numbers[column])
                equal = np.abs(dealt - numbers[column]) <= 0.00051
                counts[variant] += (equal & is_ours[column]).sum()
        reached.append(counts.max())
    assert np.mean(reached) == pytest.approx(expected, rel=0.1)


# rate of one recipe, recipes tried, cells that they were compared by
SEARCHES = [(0.1, 9, 9), (0.05, 24, 1), (0.2, 4, 24), (0.3, 2, 60), (1.0, 5, 3)]


@pytest.mark.parametrize(("rate", "variants", "over"), SEARCHES)
def test_the_best_of_several_recipes_reaches_what_is_reckoned(rate, variants, over):
    """Against draws; and a count that passes beside it, chance passes in at most one
    of twenty.
    """
    rng = np.random.default_rng(2)
    best = rng.binomial(over, rate, (40_000, variants)).max(axis=1)
    expected = shuffling.searched(rate, variants, over)
    assert best.mean() / over == pytest.approx(expected, abs=0.005)
    passed = [shuffling.supports(k, over * expected, over) for k in range(over + 1)]
    assert np.array(passed)[best].mean() <= 0.05


@pytest.mark.parametrize(
    ("equal", "expected", "compared", "told"),
    [
        (1, 0.09, 1, False),
        (1, 0.25, 1, False),
        (2, 0.34, 2, True),
        (7, 4.1, 13, False),
        (60, 28, 100, True),
        (60, 31, 100, False),
        (0, 0, 5, False),
    ],
)
def test_a_count_supports_only_what_chance_would_hardly_give(
    equal, expected, compared, told
):
    assert shuffling.supports(equal, expected, compared) == told


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
        "reproduction.study.judged_rows.judge_scores",
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
