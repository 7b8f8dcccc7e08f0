"""Faults that were planted into scores of public sets are named by the card, and good
judges are not accused; `data/simulated/planted_faults.csv` has the long run.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import judgecard as card
from judgecard import cells, conditions, faults, glance, judged, looked_for, verdict
from judgecard.aspect import Aspect
from tools import fault_table

MADE_AGAIN = ("6 systems", "8 systems", *fault_table.PAIRS)
CASES = [
    (where, judge) for where in MADE_AGAIN for judge in fault_table.faults_of(where)
]
COMMITTED = pd.read_csv(fault_table.PATH)


@pytest.mark.parametrize(("where", "judge"), CASES)
def test_a_planted_fault_is_found_and_said(where: str, judge: str) -> None:
    assert fault_table.one_draw(where, judge, seed=101) == (True, True)


@pytest.mark.parametrize("where", MADE_AGAIN)
@pytest.mark.parametrize("seed", [100, 101, 102, 103])
def test_a_good_judge_is_not_accused(where: str, seed: int) -> None:
    assert fault_table.one_draw(where, fault_table.GOOD, seed) == (False, False)


def test_the_long_run_finds_nine_of_ten_and_accuses_one_of_twenty_at_most() -> None:
    of_good = COMMITTED["judge"] == fault_table.GOOD
    planted = COMMITTED[~of_good]
    listed = {tuple(row) for row in planted[["set", "judge"]].to_numpy()}
    places = [*fault_table.SETS, *fault_table.PAIRS]
    expected = {
        (where, name) for where in places for name in fault_table.faults_of(where)
    }
    assert listed == expected
    assert (planted["found"] >= 0.9 * planted["draws"]).all()
    good = COMMITTED[of_good]
    assert set(good["set"]) == set(places)
    assert (good["draws"] >= 20).all()
    assert (good["found"] <= 1).all()


# -- one output an input


def of_three_models(noise: float, seed: int = 0) -> pd.DataFrame:
    """300 items, each answered by one of three models, and a judge's scores."""
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, 300).astype(float)
    value = np.clip(np.round(human + rng.normal(0, noise, 300)), 1, 5)
    return pd.DataFrame(
        {
            "input_id": [f"i{place}" for place in range(300)],
            "system_id": [f"m{place % 3}" for place in range(300)],
            "output": ["a" * int(number) for number in rng.integers(20, 400, 300)],
            "human": human,
            "value": value,
        }
    )


@pytest.mark.parametrize(
    ("noise", "says"),
    [
        (0.3, "order of outputs by overall agrees with people's"),
        (1.0, "order of outputs by overall agrees with people's"),
        (40.0, "outputs instead of 300 would tell) these data cannot tell whether"),
    ],
)
def test_one_output_an_input_is_judged_alike_with_and_without_systems(
    noise: float, says: str
) -> None:
    frame = of_three_models(noise)
    scores = frame["value"].to_numpy()
    verdicts = []
    for columns in (["input_id", "system_id"], ["system_id"], ["input_id"], []):
        rated = judged.rated(frame[[*columns, "output", "human"]], "own")
        numbers = card.cards.of_sets("own", {}, [judged.with_values(rated, scores)])
        verdicts.append(numbers.verdict)
    assert len(set(verdicts)) == 1
    assert says in verdicts[0]


# -- the verdict


@pytest.mark.parametrize("systems", [3, 12])
def test_a_perfect_judge_is_praised(systems: int) -> None:
    rng = np.random.default_rng(0)
    rows = [
        {"system_id": f"s{system}", "input_id": f"i{place}", "output": "a" * length}
        for system in range(systems)
        for place, length in enumerate(rng.integers(20, 400, 30))
    ]
    frame = pd.DataFrame(rows)
    human = np.clip(np.round(rng.normal(3, 1, len(frame))), 1, 5)
    frame = frame.assign(human=human)
    made = card.of_scores(frame.assign(value=human), frame)
    assert "order of single outputs by overall agrees" in made.verdict


def test_what_was_found_is_said_before_what_cannot_be_told() -> None:
    found = {"set": "s", "of": "aspect", "more": "systems", "when": "x.low <= 0"}
    rules = [
        found | {"aspect": "a", "rule": "u", "kind": "unproven", "words": "unknown"},
        found | {"aspect": "a", "rule": "l", "kind": "limits", "words": "a limit"},
        found | {"aspect": "b", "rule": "f", "kind": "fails", "words": "a fault"},
        found | {"aspect": "b", "rule": "l", "kind": "limits", "words": "a limit"},
    ]
    measured = {"x": {"value": -1.0, "low": -2.0}, "raters": {}, "beside": []}
    numbers = {"title": "T", "kind": "graded", "systems": 3}
    numbers["aspects"] = {"a": measured, "b": measured}
    sentence = verdict.sentence({"s": numbers}, rules)
    places = [sentence.index(words) for words in ("a fault", "a limit", "unknown")]
    assert places == sorted(places)
    # who must not be used for an aspect needs no further limits of it
    assert "a limit (a)" in sentence


@pytest.mark.parametrize(
    ("condition", "low", "high", "says"),
    [
        ("faults.level.low > .15", 0.2, 0.4, "found"),
        ("faults.level.low > .15", -0.1, 0.1, "not above 0.150"),
        ("faults.level.low > .15", 0.0, 0.4, "? (told where above 0.350)"),
        ("faults.spread.high < .67", 0.4, 0.6, "found"),
        ("faults.spread.high < .67", 0.9, 1.1, "not below 0.670"),
        ("faults.spread.high < .67", 0.5, 0.9, "? (told where below 0.470)"),
    ],
)
def test_a_fault_that_was_not_found_is_not_called_absent(
    condition: str, low: float, high: float, says: str
) -> None:
    size = {"value": (low + high) / 2, "low": low, "high": high}
    assert looked_for.outcome(size, conditions.Condition.read(condition)) == says


def test_each_fault_with_an_interval_is_listed_for_each_aspect() -> None:
    made = card.of_recorded(
        "topical_chat", "acloserlook", "gpt-3.5-turbo-0613", "rate_explain"
    )
    [numbers] = made.numbers["sets"].values()
    listed = pd.DataFrame(looked_for.rows(numbers))
    assert set(listed["aspect"]) == {"", *numbers["aspects"]}
    assert {"favours", "narrow", "lenient", "gaps where low"} <= set(listed["fault"])
    assert (
        listed["outcome"]
        .str.match(r"found|not (above|below) |\?|not measured: \w")
        .all()
    )
    # of two bars on one end the one that is met first, also of pairs
    assert {"halo", "leans to length"} <= set(listed["fault"])
    pairs = {"decided": {"value": 0.5, "low": 0.4, "high": 0.6}}
    pairs["first"] = {"value": 0.52, "low": 0.48, "high": 0.56}
    assert [row["outcome"] for row in looked_for.rows(pairs)] == [
        "? (told where above 0.550)",
        "? (told where below 0.450)",
        "? (told where below 0.400)",
    ]


# -- with few systems, and for other raters


def test_few_systems_are_said_to_be_the_ones_that_it_orders() -> None:
    made = card.of_recorded(
        "topical_chat", "acloserlook", "gpt-3.5-turbo-0613", "rate_explain_auto_cot"
    )
    [numbers] = made.numbers["sets"].values()
    aspects = list(numbers["aspects"])
    assert "among these systems its order of outputs by" in made.verdict
    assert all(aspect in made.verdict for aspect in aspects)
    # beyond chance for these systems, and not told of others
    coherence = numbers["aspects"]["coherence"]
    assert coherence["input"]["kendall"]["low"] < 0
    assert coherence["dataset"]["kendall"]["low_these"] > 0
    assert "order is better than chance among other systems" in made.verdict


def with_raters(number: int, seed: int = 0) -> pd.DataFrame:
    """Five systems on 40 inputs, rated by so many raters, and a judge's scores."""
    rng = np.random.default_rng(seed)
    places = range(200)
    quality = rng.normal(3, 0.8, 200) + np.repeat(rng.normal(0, 0.5, 5), 40)
    ratings = {}
    for rater in range(number):
        of_rater = quality + rng.normal(0, 0.8, 200)
        ratings[f"rater_{rater}"] = np.clip(np.round(of_rater), 1, 5)
    columns = {
        "system_id": [f"s{place // 40}" for place in places],
        "input_id": [f"i{place % 40}" for place in places],
        "value": np.clip(np.round(quality + rng.normal(0, 0.5, 200)), 1, 5),
    }
    return pd.DataFrame(columns | ratings)


def test_a_card_says_whether_its_intervals_hold_for_other_raters() -> None:
    frame = with_raters(4)
    made = card.of_scores(frame, frame)
    [numbers] = made.numbers["sets"].values()
    cell = numbers["aspects"]["overall"]["dataset"]["kendall"]
    assert cell["low_raters"] <= cell["low"] < cell["high"] <= cell["high_raters"]
    [line] = [line for line in glance.facts(made.numbers) if "raters;" in line]
    assert f"[{cell['low_raters']:.3f}, {cell['high_raters']:.3f}] in overall" in line
    assert not any("as they are" in line for line in made.numbers["cannot_tell"])


@pytest.mark.parametrize("few", ["two raters", "one rating of an output"])
def test_of_few_raters_nothing_is_said_of_others(few: str) -> None:
    frame = with_raters(2 if few == "two raters" else 3)
    if few == "one rating of an output":
        frame.loc[0, ["rater_0", "rater_1"]] = np.nan
    made = card.of_scores(frame, frame)
    assert not any("raters;" in line for line in glance.facts(made.numbers))
    assert any("as they are" in line for line in made.numbers["cannot_tell"])


# -- pairs


def of_pairs(right: int, wrong: int, ties: int) -> card.paired.Paired:
    """A judge of so many pairs; people prefer the first output."""
    verdicts = [1.0] * right + [2.0] * wrong + [0.0] * ties
    outputs = {"output_1": "aa", "output_2": "aa", "preference": 1}
    frame = pd.DataFrame([outputs] * len(verdicts))
    both = card.paired.load_paired(frame)
    return replace(both, frame=both.frame.assign(given=verdicts, swapped=verdicts))


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ((30, 70, 0), "takes the worse option more often than the better one"),
        ((48, 52, 0), "cannot tell whether it chooses better than a coin"),
        ((70, 30, 0), "chooses the better option more often than chance, 70%"),
        # who calls all equal is no worse than a coin
        ((20, 20, 60), "cannot tell whether it chooses better than a coin"),
    ],
)
def test_a_coin_is_beaten_or_not_or_it_cannot_be_told(
    counts: tuple[int, int, int], says: str
) -> None:
    made = card.cards.of_sets("own", {}, [of_pairs(*counts)])
    assert says in made.verdict
    assert ("better than a coin" in made.verdict) == ("better than a coin" in says)


# -- the numbers, by other code


def scored(frame: pd.DataFrame, values: np.ndarray) -> Aspect:
    of_set = judged.with_values(judged.rated(frame), values)
    return Aspect(of_set, "overall", of_set.frame)


def test_a_difference_of_means_has_the_interval_of_a_cluster_robust_regression() -> (
    None
):
    import statsmodels.api as sm
    from scipy import stats

    rng = np.random.default_rng(3)
    units = np.repeat(np.arange(20), 6)
    first = rng.random(120) < 0.4
    values = rng.normal(size=120) + rng.normal(size=20)[units] + first
    cell = cells.difference_interval(values, first, ~first, units)
    model = sm.OLS(values, sm.add_constant(first.astype(float)))
    together = {"groups": units, "use_correction": False}
    error = model.fit(cov_type="cluster", cov_kwds=together).bse[1]
    reach = stats.t.ppf(0.975, 19) * error * np.sqrt(20 / 19)
    assert cell["value"] == pytest.approx(values[first].mean() - values[~first].mean())
    assert cell["high"] - cell["value"] == pytest.approx(reach)


def test_halo_leaves_out_inputs() -> None:
    rng = np.random.default_rng(1)
    frames = []
    for name in ("a", "b"):
        human = rng.integers(1, 6, 40).astype(float)
        frames.append(
            pd.DataFrame(
                {
                    "input_id": np.repeat([f"i{place}" for place in range(10)], 4),
                    "system_id": [f"s{place}" for place in range(4)] * 10,
                    "aspect": name,
                    "human": human,
                    "value": human,
                }
            )
        )
    one, two = frames
    two["value"] = one["value"] + (np.arange(40) % 5 == 0)
    frame = pd.concat(frames, ignore_index=True)
    of_set = judged.with_values(judged.rated(frame), frame["value"].to_numpy())
    aspects = {
        name: Aspect(of_set, name, rows)
        for name, rows in of_set.frame.groupby("aspect")
    }
    cell = faults.halo(aspects)
    judge = np.corrcoef(one["value"], two["value"])[0, 1]
    people = np.corrcoef(one["human"], two["human"])[0, 1]
    assert cell["judge"] == pytest.approx(judge)
    assert cell["people"] == pytest.approx(people)
    assert cell["value"] == pytest.approx((judge - people) / (1 - people))
    reduced = []
    for place in range(10):
        rest = np.repeat(np.arange(10), 4) != place
        judge = np.corrcoef(one["value"][rest], two["value"][rest])[0, 1]
        people = np.corrcoef(one["human"][rest], two["human"][rest])[0, 1]
        reduced.append((judge - people) / (1 - people))
    error = np.sqrt(9 / 10 * np.sum((np.array(reduced) - np.mean(reduced)) ** 2))
    from scipy import stats

    reach = stats.t.ppf(0.975, 9) * error
    assert cell["high"] - cell["value"] == pytest.approx(reach)


def test_outputs_of_one_length_count_half_for_who_takes_the_longer() -> None:
    pairs = pd.DataFrame(
        {
            "output_1": ["aa", "a", "aa", "aa"],
            "output_2": ["a", "aa", "aa", "aa"],
            "preference": [1, 2, 1, 2],
        }
    )
    both = card.paired.load_paired(pairs)
    judge = card.paired.from_scores(
        both, pd.DataFrame({"value": [1.0] * 4 + [0.0] * 4})
    )
    assert card.paired.measured(judge)["longer"]["value"] == 0.75
