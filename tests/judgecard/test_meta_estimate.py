"""Estimates from a judge's scores and some ratings: coverage in worlds with a known
truth, and the formulas of others.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import thorough
from scipy import stats

from judgecard.estimates import estimate
from judgecard.label_plans import plan_labels
from judgecard.pass_rates import pass_rates
from tools import estimate_coverage as coverage

CASES = Path(__file__).parents[1] / "cases"


def rated(labels=30, inputs=200, systems=3, seed=0, noise=1.0):
    """A judge's scores, and ratings of the first inputs."""
    rng = np.random.default_rng(seed)
    ratings = rng.normal(size=(systems, inputs)) + np.arange(systems)[:, None]
    scores = ratings + noise * rng.normal(size=ratings.shape)
    ratings[:, labels:] = np.nan
    return scores, ratings


BY_A_LAW = [
    name for name, world in coverage.WORLDS.items() if isinstance(world, coverage.World)
]
FROM_DATA = [name for name in coverage.WORLDS if name not in BY_A_LAW]


@pytest.mark.parametrize("world", thorough.but(FROM_DATA[:2], FROM_DATA))
def test_the_intervals_hold_the_truth_of_rated_data(world):
    held = coverage.measure(world, "input", labels=30, inputs=150, sims=80, seed=2)
    assert 0.90 <= held["means"] <= 0.99, held
    assert 0.90 <= held["differences"] <= 0.99, held
    assert held["judge alone"] < 0.5
    assert 0.93 < held["worth of means"] < 3


@pytest.mark.parametrize("world", thorough.but(BY_A_LAW[:2], BY_A_LAW))
def test_the_intervals_hold_the_truth(world):
    by = "output" if world in ("normal", "heavy tails") else "input"
    held = coverage.measure(world, by, labels=30, inputs=150, sims=150, seed=0)
    if coverage.WORLDS[world].topics:
        assert held["means"] < 0.9  # topics that nobody names
        held = {**held, "means": held["means by topic"]}
        held["differences"] = held["differences by topic"]
    assert 0.92 <= held["means"] <= 0.98, held
    assert 0.92 <= held["differences"] <= 0.98, held
    gains = 1 < held["worth of means"] < 3
    assert gains or world == "knows nothing"
    assert held["worth of means"] > 0.93


def test_other_packages_say_the_same_of_the_same_data():
    """What they say is made by `python -m tools.estimates_beside`."""
    table = pd.read_csv(CASES / "estimates_elsewhere.csv")
    theirs = table.set_index("quantity")["value"]
    pool = coverage.pool(coverage.WORLDS["SummEval, coherence"])
    scores, ratings = (side[0] for side in pool)
    places = np.arange(100)
    some = np.where(places < 25, ratings, np.nan)
    (mean,) = estimate(scores, some).means
    (by_topic,) = estimate(scores, some, input_groups=places // 4).means
    (all_rated,) = estimate(scores, ratings).means
    passed = np.where(np.isnan(some), np.nan, some > 4.2)
    # the judge's mean of the 25 less that of the other 75
    shift = (mean.labels_alone - mean.value) / mean.weight * 100 / 75
    ours = {
        "mean at weight .25": mean.labels_alone - 0.25 * shift,
        "mean at weight 1": mean.labels_alone - shift,
        "low, labels alone": mean.low_alone,
        "high, labels alone": mean.high_alone,
        "low, labels alone, topics": by_topic.low_alone,
        "high, labels alone, topics": by_topic.high_alone,
        "pass rate": pass_rates(scores > 3, passed).rates[0].value,
        "low, all rated, from 0 to 1": (all_rated.low - 1) / 4,
        "high, all rated, from 0 to 1": (all_rated.high - 1) / 4,
    }
    assert ours == pytest.approx(theirs.to_dict(), abs=1e-10)


def test_the_judge_alone_does_not_hold_the_truth():
    held = coverage.measure("five classes", "input", 30, 150, sims=20, seed=0)
    assert held["judge alone"] < 0.6


def test_the_error_of_labels_in_topics_is_the_cluster_robust_one():
    _, ratings = rated(labels=200, systems=2)
    topics = np.random.default_rng(1).integers(0, 9, 200)
    ratings += np.random.default_rng(2).normal(size=9)[topics]
    ratings[1, topics == 4] = np.nan
    found = estimate(np.ones_like(ratings), ratings, input_groups=topics)
    for mean, row, units in zip(found.means, ratings, (9, 8), strict=True):
        known = ~np.isnan(row)
        together = {"groups": topics[known]}
        model = sm.OLS(row[known], np.ones(known.sum()))
        error = model.fit(cov_type="cluster", cov_kwds=together).bse[0]
        reach = stats.t.ppf(0.975, units - 1) * error
        assert mean.high - mean.value == pytest.approx(reach)
        assert f"df:{units - 1}|groups:inputs({units})" in mean.signature()
    assert "groups:inputs(9)" in found.signature()
    with pytest.raises(ValueError, match="groups"):
        found.labels_needed(1.0)


def test_topics_of_one_input_each_change_nothing():
    scores, ratings = rated()
    plain = estimate(scores, ratings).to_frame()
    alone = estimate(scores, ratings, input_groups=range(200)).to_frame()
    pd.testing.assert_frame_equal(plain, alone)


def test_few_topics_are_told():
    scores, ratings = rated()
    halves = np.arange(200) % 2
    assert "2 groups" in estimate(scores, ratings, input_groups=halves).means[0].reason
    (first, *_) = estimate(scores, ratings, input_groups=np.arange(200) // 100).means
    assert np.isnan(first.low) and "1 group(s)" in first.reason
    with pytest.raises(ValueError, match="labels for 200"):
        estimate(scores, ratings, input_groups=["a"])


def test_one_system_is_the_regression_estimator():
    scores, ratings = rated(systems=1)
    known = ~np.isnan(ratings[0])
    line = sm.OLS(ratings[0, known], sm.add_constant(scores[0, known])).fit()
    expected = line.predict([1, scores[0].mean()])[0]
    (mean,) = estimate(scores[0], ratings[0]).means
    # the weight makes the variance least that counts labelled outputs among all
    assert mean.value == pytest.approx(expected, abs=1e-3)
    assert mean.weight == pytest.approx(line.params[1], rel=0.02)


def test_the_variance_is_that_of_double_sampling():
    scores, ratings = rated(labels=400, inputs=2000, systems=1)
    known = ~np.isnan(ratings[0])
    r = np.corrcoef(scores[0, known], ratings[0, known])[0, 1]
    variance = np.var(ratings[0, known], ddof=1)
    error = np.sqrt(variance * ((1 - r**2) / 400 + r**2 / 2000))
    (mean,) = estimate(scores, ratings).means
    reach = stats.t.ppf(0.975, 399) * error
    assert (mean.high - mean.low) / 2 == pytest.approx(reach, rel=0.03)
    assert mean.worth == pytest.approx(variance / 400 / error**2, rel=0.06)


def test_with_all_rated_or_a_constant_judge_it_is_the_t_interval():
    scores, ratings = rated(labels=40, inputs=40)
    constant = np.ones_like(scores)
    first = ratings[0] - ratings[1]
    for judge in (scores, constant):
        result = estimate(judge, ratings)
        expected = stats.ttest_1samp(ratings[0], 0).confidence_interval()
        assert (result.means[0].low, result.means[0].high) == pytest.approx(
            tuple(expected), abs=1e-9
        )
        pair = result.difference("1", "2")
        expected = stats.ttest_1samp(first, 0)
        assert pair.p == pytest.approx(expected.pvalue, abs=1e-9)
        assert result.worth_means == pytest.approx(1)


def test_the_judges_scale_changes_nothing():
    scores, ratings = rated()
    plain = estimate(scores, ratings).means
    scaled = estimate(20 * scores - 300, ratings).means
    for first, second in zip(plain, scaled, strict=True):
        assert (second.value, second.low) == pytest.approx((first.value, first.low))


def test_doubts_are_put_into_words():
    scores, ratings = rated()
    best = scores[0] > np.quantile(scores[0], 0.85)
    full = rated(labels=200)[1]
    chosen = estimate(scores, np.where(best, full, np.nan))
    assert "labelled outputs higher than all" in chosen.reason
    assert not estimate(scores, ratings).reason
    scores[0, :3] = np.nan
    assert (
        "3 of 600 outputs (one a system and input) have no score"
        in estimate(scores, ratings).reason
    )
    few = ratings.copy()
    few[1, 5:] = np.nan
    few[2, 1:] = np.nan
    reasons = [mean.reason for mean in estimate(scores, few).means]
    assert reasons[1] == "5 labels: wide by necessity"
    assert reasons[2].startswith("no estimate: 1 label")


def test_the_plan_gives_the_width_that_was_wanted():
    scores, ratings = rated(labels=50, inputs=2000)
    result = estimate(scores, ratings)
    plan = result.labels_needed(0.3)
    _, more = rated(labels=int(plan.labels), inputs=2000)
    means = estimate(scores, more).to_frame()
    assert (means["high"] - means["low"]).mean() == pytest.approx(0.3, rel=0.15)
    assert plan.alone == pytest.approx(plan.labels * result.worth_means, rel=0.25)
    guess = plan_labels(0.3, sd=1, correlation=0.7, inputs=2000)
    assert guess.labels == pytest.approx(plan.labels, rel=0.35)
    never = plan_labels(0.1, sd=1, correlation=0.7, inputs=300)
    assert np.isnan(never.labels) and "more inputs" in never.reason


def test_a_judge_that_knows_nothing_saves_no_label():
    plan = plan_labels(0.3, sd=1, correlation=0, inputs=1000)
    t = stats.t.ppf(0.975, plan.labels - 1)
    assert plan.labels == plan.alone
    assert 2 * t / np.sqrt(plan.labels) <= 0.3 < 2 * t / np.sqrt(plan.labels - 2)


def test_pass_rates_hold_the_truth_for_a_system_without_labels():
    assert 0.93 <= coverage.measure_pass_rates(40, 200, sims=120, seed=1) <= 0.985


def test_a_pass_rate_is_rogan_and_gladens():
    passed = np.array([1] * 60 + [0] * 40, dtype=float)
    verdicts = passed.copy()
    verdicts[:6] = 0
    verdicts[60:70] = 1
    rates = pass_rates(verdicts, passed)
    assert (rates.sensitivity, rates.specificity) == (0.9, 0.75)
    assert rates.rates[0].apparent == pytest.approx(0.64)
    assert rates.rates[0].value == pytest.approx((0.64 + 0.75 - 1) / 0.65)
    blind = pass_rates(np.tile([1.0, 0.0], 50), passed)
    assert np.isnan(blind.rates[0].value) and "chance" in blind.rates[0].reason
    with pytest.raises(ValueError, match="1 for pass"):
        pass_rates([1, 0, 3], [1, 0, 1])
    with pytest.raises(ValueError, match="some of both"):
        pass_rates([1, 0, 1], [1, 1, 1])


# -- the command


@pytest.fixture
def file(tmp_path, monkeypatch):
    scores, ratings = rated(labels=40, inputs=80, systems=3)
    rows = []
    for system in range(3):
        for place in range(80):
            row = {"system_id": f"s{system}", "input_id": place}
            row |= {"judge": scores[system, place], "ann": ratings[system, place]}
            row |= {"bob": ratings[system, place] + 1}
            row |= {"verdict": int(row["judge"] > 0), "ok": float(row["ann"] > 0)}
            if place >= 40:
                row["ok"] = np.nan
            rows.append(row)
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(rows).to_csv("s.csv", index=False)
    return scores, ratings


def test_the_command_says_what_the_library_does(nl, file):
    scores, ratings = file
    humans = ("--human", "ann", "--human", "bob")
    got = nl("estimate", "s.csv", "--score", "judge", *humans, "--format", "csv")
    assert got.code == 0, got.err
    means, _, pairs = got.out.partition("\n\n")
    result = estimate(scores, ratings + 0.5, ["s0", "s1", "s2"])
    lines = means.splitlines()
    assert lines[1].startswith(f"s2,{result.means[2].value:.6f}"[:8])
    assert pairs.count("\n") == 4
    assert "labels with the judge are worth" in got.err
    rates = nl("estimate", "s.csv", "--score", "verdict", "--human", "ok")
    assert "pass rates, corrected" in rates.out and "assumed the same" in rates.err


def test_the_command_takes_topics(nl, file):
    scores, ratings = file
    table = pd.read_csv("s.csv")
    table["topic"] = [f"t{place // 8}" for place in table["input_id"]]
    table.rename(columns={"topic": "about"}).to_csv("about.csv", index=False)
    table.to_csv("topics.csv", index=False)
    options = ("--score", "judge", "--human", "ann", "--format", "jsonl")
    named = nl("estimate", "topics.csv", *options).out
    assert nl("estimate", "about.csv", *options, "--topic", "about").out == named
    plain = nl("estimate", "topics.csv", *options, "--topic", "").out
    assert plain == nl("estimate", "s.csv", *options).out
    topics = np.arange(80) // 8
    expected = estimate(scores, ratings, input_groups=topics).means[2]
    rows = pd.read_json(io.StringIO(named), lines=True)
    row = rows[rows["system"] == "s2"].iloc[0]
    assert (row["low"], row["high"]) == pytest.approx((expected.low, expected.high))
    lost = nl("estimate", "s.csv", *options, "--topic", "nowhere")
    assert lost.code == 2 and "nowhere" in lost.err


def test_the_command_plans_labels(nl, file):
    got = nl(
        "plan-labels", "s.csv", "--score", "judge", "--human", "ann", "--width", "1"
    )
    assert got.code == 0 and "inputs are to be rated for each system" in got.out
    guess = ("--sd", "1", "--correlation", "0.6", "--inputs", "500")
    assert nl("plan-labels", "--width", "0.3", *guess).out.startswith("means: ")
    bare = nl("plan-labels", "--width", "0.3")
    assert bare.code == 2 and "--correlation" in bare.err


def test_the_command_names_a_column_that_is_not_there(nl, file):
    got = nl("estimate", "s.csv", "--score", "jugde", "--human", "ann")
    assert got.code == 2 and "did you mean 'judge'" in got.err


@pytest.mark.parametrize(
    ("scores", "ratings", "names", "says"),
    [
        ([1, 2, 3], [np.nan] * 3, (), "both a rating and a score"),
        ([[1, 2, 3], [1, 2, 4]], [[1, np.nan, 3], [1, 2, 4]], "aa", "one for each"),
    ],
)
def test_what_says_nothing_of_systems_is_refused(scores, ratings, names, says):
    given = [list(names)] if names else []
    with pytest.raises(ValueError, match=says):
        estimate(scores, ratings, *given)


@pytest.mark.parametrize(
    ("width", "correlation", "says"), [(0, 0.5, "width"), (0.1, 1.5, "correlation")]
)
def test_a_plan_of_impossible_numbers_is_refused(width, correlation, says):
    with pytest.raises(ValueError, match=says):
        plan_labels(width, 1, correlation, 100)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_ratings_that_are_all_equal_leave_nothing_to_estimate(nl, tmp_path):
    lines = ["input_id,system_id,value,human"]
    for place in range(60):
        for system in "ab":
            rating = 3 if place < 30 else ""
            lines.append(f"{place},{system},{place * 7 % 5 + (system == 'a')},{rating}")
    (tmp_path / "s.csv").write_text("\n".join(lines))
    got = nl("estimate", "s.csv")
    assert "60 labels; what the judge is worth cannot be said" in got.out + got.err
    assert "nan" not in got.out + got.err


@pytest.mark.parametrize("seed", range(20))
def test_a_judge_with_wild_scores_is_left_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(3, 100))
    ratings = np.full(quality.shape, np.nan)
    ratings[:, :20] = quality[:, :20]
    scores = rng.normal(size=quality.shape)
    scores[:, 10] = 1000.0
    made = estimate(scores, ratings)
    assert made.worth_means >= 1
    assert made.worth_differences >= 1


# -- labels that the judge has seen, and labels that are skewed


@pytest.mark.parametrize("mark", ["judge_seen_in_training", "seen_in_training"])
def test_a_judge_that_was_fitted_on_all_labels_is_refused(nl, file, mark):
    table = pd.read_csv("s.csv")
    table.loc[table["input_id"] >= 30, "ann"] = np.nan
    table[mark] = table["input_id"] < 30
    table.to_csv("seen.csv", index=False)
    options = ("--score", "judge", "--human", "ann")
    got = nl("estimate", "seen.csv", *options)
    assert got.code == 2 and "every rated row" in got.err and "--cross-fit" in got.err
    table[mark] = table["input_id"] < 10
    table.to_csv("some.csv", index=False)
    got = nl("estimate", "some.csv", *options, "--format", "csv")
    assert got.code == 0 and "30 rows that a score was fitted on" in got.err
    left = table[~table[mark]].drop(columns=mark)
    left.to_csv("left.csv", index=False)
    assert nl("estimate", "left.csv", *options, "--format", "csv").out == got.out


def test_a_judge_that_says_the_labels_where_there_are_any_is_doubted():
    scores, ratings = rated(labels=80)
    assert "seen the labels" not in estimate(scores, ratings).reason
    knowing = np.where(np.isnan(ratings), scores, ratings)
    assert "seen the labels" in estimate(3 * knowing - 2 * scores, ratings).reason


def test_few_skewed_labels_are_told():
    rng = np.random.default_rng(4)
    ratings = np.full((1, 200), np.nan)
    scores = rng.normal(size=ratings.shape)
    ratings[0, :20] = np.exp(rng.normal(size=20))
    (mean,) = estimate(scores, ratings).means
    skew = stats.skew(ratings[0, :20])
    assert skew > 1 and f"skewed ({skew:+.1f})" in mean.reason
    ratings[0, :20] = np.linspace(0, 1, 20)
    (mean,) = estimate(scores, ratings).means
    assert mean.reason == ""


def test_the_estimate_is_that_of_ppi_by_its_equations():
    """Angelopoulos, Duchi and Zrnic 2023, equations 3 and 6, on unlabelled outputs apart."""
    scores, ratings = rated(labels=60, inputs=1000, systems=1)
    known = ~np.isnan(ratings[0])
    x, y, rest = scores[0, known], ratings[0, known], scores[0, ~known]
    n, more = len(x), len(rest)
    weight = np.cov(y, x)[0, 1] / ((1 + n / more) * np.var(scores[0], ddof=1))
    value = y.mean() + weight * (rest.mean() - x.mean())
    variance = np.var(y - weight * x, ddof=1) / n
    variance += weight**2 * np.var(rest, ddof=1) / more
    (mean,) = estimate(scores, ratings).means
    assert mean.value == pytest.approx(value, abs=0.1 * np.sqrt(variance))
    reach = stats.t.ppf(0.975, n - 1) * np.sqrt(variance)
    assert mean.high - mean.value == pytest.approx(reach, rel=0.08)
