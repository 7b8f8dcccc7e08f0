"""`nlgeval meta`: the numbers are those of scipy and of `statistics`, and every gap is
counted.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nlgeval_lib import statistics


def grid(systems=6, inputs=12, seed=0):
    """A rated row for each system and input, a good score, a poor one, and an
    output.
    """
    rng = np.random.default_rng(seed)
    human = (
        rng.integers(1, 6, size=(systems, inputs)) + np.arange(systems)[:, None] * 0.5
    )
    return pd.DataFrame(
        [
            {
                "input_id": f"i{i}",
                "system_id": f"s{s}",
                "output": "w " * int(rng.integers(1, 9)),
                "human": human[s, i],
                "good": human[s, i] + rng.normal(0, 0.5),
                "poor": human[s, i] + rng.normal(0, 4),
            }
            for i in range(inputs)
            for s in range(systems)
        ]
    )


def records(got):
    """The rows of both tables of a call with --format jsonl."""
    found = [json.loads(line) for line in got.out.splitlines()]
    return [
        [r for r in found if r["table"] == name]
        for name in ("correlations", "differences")
    ]


FAST = ("--n-boot", "50", "--n-perm", "50", "--format", "jsonl")


def test_the_numbers_are_scipys(nl):
    frame = grid()
    frame.to_csv("s.csv", index=False)
    got = nl("meta", "s.csv", "--score", "good", "--score", "poor", *FAST)
    assert got.code == 0, got.err
    rows, pairs = records(got)
    oracle = {
        "pearson": stats.pearsonr,
        "spearman": stats.spearmanr,
        "kendall-b": stats.kendalltau,
    }
    for row in rows:
        if row["score"] in ("good", "poor"):
            assert row["value"] == pytest.approx(
                oracle[row["coef"]](frame[row["score"]], frame["human"])[0]
            )
            assert (
                row["ci_low"] < row["value"] < row["ci_high"]
                and row["n"] == 72
                and row["coverage"] == 1
            )
            assert row["signature"].startswith(
                f"level:dataset|coef:{row['coef']}|nan:drop(0/72)|ci:jack-both|df:"
            )
    assert {row["score"] for row in rows} == {
        "good",
        "poor",
        "output length (baseline)",
        "random (baseline)",
    }
    assert [(row["rank"]) for row in rows if row["score"] in ("good", "poor")] == [
        1,
        2,
    ] * 3
    possible = {(row["score"], row["possible_ranks"]) for row in rows}
    assert {("good", "1"), ("poor", "2"), ("random (baseline)", "")} <= possible
    assert len(pairs) == 3 and all(
        pair["difference"] > 0 and pair["n"] == 72 for pair in pairs
    )


def test_aspects_are_groups_and_p_values_are_corrected_over_all(nl):
    parts = [
        grid(seed=seed).assign(aspect=aspect)
        for seed, aspect in enumerate(("wit", "truth"))
    ]
    pd.concat(parts).to_csv("s.csv", index=False)
    got = nl(
        "meta",
        "s.csv",
        "--score",
        "good",
        "--score",
        "poor",
        "--coef",
        "pearson",
        "--no-baselines",
        *FAST,
    )
    rows, pairs = records(got)
    assert [row["group"] for row in rows] == ["wit", "wit", "truth", "truth"]
    assert rows[2]["value"] == pytest.approx(
        stats.pearsonr(parts[1]["good"], parts[1]["human"])[0]
    )
    wanted = statistics.correct([pair["p"] for pair in pairs], "holm").adjusted
    assert [pair["p_adjusted"] for pair in pairs] == pytest.approx(list(wanted))
    assert all(pair["signature"].endswith("|correct:holm(2)") for pair in pairs)


def test_it_tells_what_intervals_rest_on_and_who_has_few_inputs(nl):
    frame = grid()
    frame.to_csv("all.csv", index=False)
    frame[(frame["system_id"] != "s3") | frame["input_id"].isin(["i1", "i2"])].to_csv(
        "few.csv", index=False
    )
    one = ("--score", "good", "--coef", "pearson", "--no-baselines")
    said = {
        (): "6 systems and 12 inputs, and hold for others that spread as these do",
        (
            "--ci",
            "jack-inputs",
        ): "12 inputs, and hold for others like them, judged on these systems",
        ("--level", "system"): "6 systems and 12 inputs, and hold for others",
        ("--level", "system", "--ci", "fisher"): "6 systems, by a formula",
        ("--ci", "fisher"): "72 rows, taken one by one",
        (
            "--ci",
            "boot-systems",
        ): "6 systems, and hold for others like them on these inputs",
    }
    for more, rest in said.items():
        out = nl("meta", "all.csv", *one, *more).out
        assert f"note: intervals rest on {rest}" in out and "fewer than half" not in out
    out = nl("meta", "few.csv", *one, "--level", "system").out
    assert (
        "note: 1 of 6 systems have fewer than half of the 12 inputs (fewest: s3, 2)"
        in out
    )


def experts_and_crowd():
    """Three experts near the ratings, three crowd workers far from them; two systems a
    family, four inputs a topic; one system far below.
    """
    frame = grid(systems=8, inputs=16)
    rng = np.random.default_rng(3)
    frame.loc[frame["system_id"] == "s2", ["human", "good"]] -= 9
    for kind, noise in (("expert", 0.3), ("crowd", 6)):
        for number in range(3):
            noisy = frame["human"] + noise * rng.normal(size=len(frame))
            frame[f"rater_{kind}_{number}"] = noisy
    number = frame["system_id"].str[1:].astype(int)
    return frame.assign(
        system_family="f" + (number // 2).astype(str),
        topic="t" + (frame["input_id"].str[1:].astype(int) % 4).astype(str),
    )


ONE = ("--score", "good", "--score", "poor", "--coef", "pearson", *FAST)


def test_raters_of_one_kind_make_a_ceiling_of_their_own(nl):
    frame = experts_and_crowd()
    frame.to_csv("s.csv", index=False)
    rows, _ = records(nl("meta", "s.csv", *ONE))
    values = {row["score"]: row["value"] for row in rows}
    expert = "expert raters (3), leave-one-out (ceiling)"
    crowd = "crowd raters (3), leave-one-out (ceiling)"
    assert values[expert] > 0.95 > 0.5 > values[crowd]


def test_families_and_topics_are_the_units(nl):
    frame = experts_and_crowd()
    frame.to_csv("s.csv", index=False)
    rows, pairs = records(nl("meta", "s.csv", *ONE, "--no-baselines"))
    assert all("|groups:systems(4)+inputs(4)" in row["signature"] for row in rows)
    assert "test:jack-both|df:1.5|groups:" in pairs[0]["signature"]
    rows, _ = records(nl("meta", "s.csv", *ONE, "--family", "", "--topic", ""))
    assert not any("groups" in row["signature"] for row in rows)
    out = nl("meta", "s.csv", "--score", "good", "--no-baselines").out
    assert "4 groups of 8 systems and 4 groups of 16 inputs" in out
    frame["system_family"] = np.arange(len(frame))
    frame.to_csv("bad.csv", index=False)
    got = nl("meta", "bad.csv", *ONE)
    assert got.code != 0 and "each has one" in got.err


def test_two_questions_and_the_systems_that_carry_the_answer(nl):
    frame = experts_and_crowd().drop(columns=["system_family", "topic"])
    frame.to_csv("s.csv", index=False)
    rows, pairs = records(nl("meta", "s.csv", *ONE, "--no-baselines"))
    good = rows[0]
    width = good["ci_high"] - good["ci_low"]
    assert 0 < good["these_high"] - good["these_low"] < width
    assert good["influence"].startswith("without s2: ")
    (pair,) = pairs
    assert pair["detectable_these"] < pair["detectable"]
    assert pair["ci_low"] < pair["difference"] < pair["ci_high"]
    assert pair["p_these"] <= pair["p"]


@pytest.mark.parametrize("ci", ["jack-inputs", "careful-both"])
def test_the_test_follows_the_interval_that_is_asked_for(nl, ci):
    grid().to_csv("s.csv", index=False)
    rows, (pair,) = records(nl("meta", "s.csv", *ONE, "--ci", ci))
    assert f"|test:{ci}|" in pair["signature"]
    assert (pair["p"] < 0.05) == (not pair["ci_low"] <= 0 <= pair["ci_high"])
    assert "these_low" not in rows[0]


def test_a_constant_judge_stands_beside_where_it_is_defined(nl):
    grid().to_csv("s.csv", index=False)
    got = nl("meta", "s.csv", "--score", "good", "--coef", "acc-eq", *FAST)
    rows, _ = records(got)
    constant = [row for row in rows if row["score"] == "constant (baseline)"]
    human = grid()["human"].to_numpy()
    first, second = np.triu_indices(len(human), 1)
    ties = np.mean(human[first] == human[second])
    assert constant[0]["value"] == pytest.approx(ties)


def test_a_baseline_that_is_as_good_is_named(nl):
    frame = grid()
    frame["output"] = ["w" * int(10 * rating) for rating in frame["human"]]
    frame.to_csv("s.csv", index=False)
    out = nl("meta", "s.csv", "--score", "poor", "--coef", "pearson").out
    assert "output length (baseline) follows the ratings as well as poor" in out


def test_p_is_never_0(nl):
    experts_and_crowd().to_csv("s.csv", index=False)
    arguments = ("--score", "good", "--score", "poor", "--coef", "pearson")
    out = nl("meta", "s.csv", *arguments, "--family", "", "--topic", "").out
    assert "< .001" in out


def three_raters():
    """Ratings by three people; 99 and a dash stand where one gave none."""
    frame = grid()
    rng = np.random.default_rng(3)
    people = {
        name: frame["human"] + rng.normal(0, 1, len(frame)) for name in ("ann", "bob")
    }
    people["cy"] = frame["human"].where(rng.random(len(frame)) > 0.2)
    written = pd.DataFrame(people).round(2)
    for name, column in written.items():
        frame[f"rating_{name}"] = column.astype(object).where(column.notna(), 99)
    frame.loc[0, "rating_ann"] = "-"
    written.loc[0, "ann"] = np.nan
    return frame.drop(columns="human"), written.mean(axis=1)


PATTERN = ("--human", "rating_*", "--missing-values", "99,-", *ONE)


def test_a_pattern_takes_the_mean_of_its_columns_and_each_as_a_rater(nl):
    frame, human = three_raters()
    frame.to_csv("s.csv", index=False)
    got = nl("meta", "s.csv", *PATTERN)
    rows, _ = records(got)
    values = {row["score"]: row["value"] for row in rows}
    assert values["good"] == pytest.approx(stats.pearsonr(frame["good"], human)[0])
    assert "raters (3), leave-one-out (ceiling)" in values
    good = rows[0]
    assert good["raters_low"] < good["ci_low"] < good["ci_high"] <= good["raters_high"]
    assert "other raters" in nl("meta", "s.csv", *PATTERN, "--format", "text").out
    columns = "rating_ann, rating_bob, rating_cy"
    assert f"human is the mean of 3 columns: {columns}" in got.err


def test_a_mark_that_stands_nowhere_is_said(nl):
    three_raters()[0].to_csv("s.csv", index=False)
    assert "is it another mark" not in nl("meta", "s.csv", *PATTERN).err
    got = nl("meta", "s.csv", *PATTERN, "--missing-values", "99,-,98")
    assert got.code == 0
    assert "note: s.csv has no rating or score 98; is it another mark" in got.err


def test_a_mark_of_a_missing_rating_is_one_in_every_format(nl):
    frame, human = three_raters()
    ratings = frame.filter(like="rating_").replace("-", np.nan).astype(float)
    frame.assign(**ratings).to_parquet("s.parquet")
    rows, _ = records(nl("meta", "s.parquet", *PATTERN))
    expected = stats.pearsonr(frame["good"], human)[0]
    assert rows[0]["value"] == pytest.approx(expected)
    without = [part for part in PATTERN if part not in ("--missing-values", "99,-")]
    rows, _ = records(nl("meta", "s.parquet", *without))
    assert abs(rows[0]["value"] - expected) > 0.1


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("human=rated_*", "has no column 'rated_*'; did you mean 'rating_"),
        ("output=rating_*", "output is one column, and these match: rating_ann"),
        ("rater_*=rating_ann", "a pattern on the left needs one on the right"),
    ],
)
def test_a_pattern_that_does_not_fit_is_refused(nl, mapping, message):
    three_raters()[0].to_csv("s.csv", index=False)
    got = nl("meta", "s.csv", "--score", "good", "--map", mapping)
    assert got.code == 2 and message in got.err


def test_two_columns_never_get_one_name(nl):
    frame = three_raters()[0].assign(rater_ann=1.0)
    frame.to_csv("s.csv", index=False)
    got = nl("meta", "s.csv", "--score", "good", "--map", "rater_*=rating_*")
    assert got.code == 2 and "rating_ann would be rater_ann" in got.err


def test_a_star_alone_stands_for_anything(nl):
    frame = grid().rename(columns={"human": "Q1[SQ1]_a"})
    frame.assign(**{"Q1S_a": 1.0}).to_csv("s.csv", index=False)
    rows, _ = records(nl("meta", "s.csv", "--human", "Q1[SQ1]_*", *ONE))
    expected = stats.pearsonr(frame["good"], frame["Q1[SQ1]_a"])[0]
    assert rows[0]["value"] == pytest.approx(expected)


def test_raters_may_have_any_name(nl):
    frame = grid()
    rng = np.random.default_rng(5)
    for name in ("ann_1", "ann_2"):
        frame[name] = frame["human"] + rng.normal(0, 1, len(frame))
    frame.to_csv("s.csv", index=False)
    rows, _ = records(nl("meta", "s.csv", "--map", "rater_*=ann_*", *ONE))
    name = "raters (2), leave-one-out (ceiling)"
    assert name in {row["score"] for row in rows}


def test_what_stood_for_a_missing_rating_is_remembered(nl):
    frame, human = three_raters()
    frame = frame.assign(reference="w w")
    frame.to_csv("in.csv", index=False)
    marks = ("--map", "human=rating_*", "--missing-values", "99,-")
    assert nl("score", "-e", "bleu", "-i", "in.csv", "-o", "s.csv", *marks).code == 0
    got = nl("meta", "s.csv", "--score", "good", "--coef", "pearson", *FAST)
    assert "99, - stand for none" in got.err
    expected = stats.pearsonr(frame["good"], human)[0]
    assert records(got)[0][0]["value"] == pytest.approx(expected)


def test_a_mean_that_equals_a_mark_is_a_rating(nl):
    frame = grid().assign(r_a=1.0, r_b=-1.0)
    frame.drop(columns="human").to_csv("s.csv", index=False)
    marks = ("--score", "good", "--missing-values", "0", "--format", "jsonl")
    got = nl("estimate", "s.csv", "--map", "human=r_*", *marks)
    means = [json.loads(line) for line in got.out.splitlines()]
    means = [row for row in means if row["table"] == "mean ratings"]
    assert [row["labels"] for row in means] == [12] * 6
    assert all(row["mean rating"] == pytest.approx(0) for row in means)


def test_what_can_be_used_comes_first_where_few_systems_leave_all_open(
    nl, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    rows = [(system, place) for system in range(5) for place in range(40)]
    frame = pd.DataFrame(rows, columns=["system_id", "input_id"])
    frame["human"] = 0.3 * frame["system_id"] + rng.normal(size=200)
    frame["value"] = frame["human"] + rng.normal(size=200)
    frame.to_csv("few.csv", index=False)
    titles = ("these systems", "95% interval")
    for level, first in (("system", titles[0]), ("dataset", titles[1])):
        got = nl("meta", "few.csv", "--level", level, "--coef", "kendall-b")
        assert got.code == 0, got.err
        [heads] = [line for line in got.out.splitlines() if line.startswith("level ")]
        assert min(titles, key=heads.index) == first
