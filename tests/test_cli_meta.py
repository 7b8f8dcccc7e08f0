"""`nlgeval meta`: the numbers are those of scipy and of `meta`, and every gap is
counted.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nlgeval_lib import meta


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
    wanted = meta.correct([pair["p"] for pair in pairs], "holm").adjusted
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
        (): "6 systems and 12 inputs, and hold for others like them",
        (
            "--ci",
            "jack-inputs",
        ): "12 inputs, and hold for others like them, judged on these systems",
        ("--level", "system"): "6 systems, by a formula",
        ("--ci", "fisher"): "72 rows, taken one by one",
        (
            "--ci",
            "boot-systems",
        ): "6 systems, and hold for others like them on these inputs",
    }
    for more, rest in said.items():
        out = nl("meta", "all.csv", *one, *more).out
        assert (
            out.endswith(f"note: intervals rest on {rest}\n")
            and "fewer than half" not in out
        )
    out = nl("meta", "few.csv", *one, "--level", "system").out
    assert (
        "note: 1 of 6 systems have fewer than half of the 12 inputs (fewest: s3, 2)"
        in out
    )
