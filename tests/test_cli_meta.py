"""`nlgeval meta`: the numbers are those of scipy and of `meta`, and every gap is counted."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from cli_tools import call
from scipy import stats

from nlgeval_lib import meta
from nlgeval_lib.scoring import InputError, checked, correlate, of_frame


@pytest.fixture
def nl(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NLGEVAL_STATE", str(tmp_path / "state"))
    return lambda *arguments: call(monkeypatch, capsys, "meta", *arguments)


def grid(systems=6, inputs=12, seed=0):
    """A rated row for each system and input, a good score, a poor one, and an output."""
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, size=(systems, inputs)) + np.arange(systems)[:, None] * 0.5
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
    return [[r for r in found if r["table"] == name] for name in ("correlations", "differences")]


FAST = ("--n-boot", "50", "--n-perm", "50", "--format", "jsonl")


def test_the_numbers_are_scipys(nl):
    frame = grid()
    frame.to_csv("s.csv", index=False)
    got = nl("s.csv", "--score", "good", "--score", "poor", *FAST)
    assert got.code == 0, got.err
    rows, pairs = records(got)
    oracle = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall-b": stats.kendalltau}
    for row in rows:
        if row["score"] in ("good", "poor"):
            assert row["value"] == pytest.approx(oracle[row["coef"]](frame[row["score"]], frame["human"])[0])
            assert row["ci_low"] < row["value"] < row["ci_high"] and row["n"] == 72 and row["coverage"] == 1
            assert row["signature"].startswith(f"level:dataset|coef:{row['coef']}|nan:drop(0/72)|ci:boot-both/50")
    assert {row["score"] for row in rows} == {"good", "poor", "output length (baseline)", "random (baseline)"}
    assert [(row["rank"]) for row in rows if row["score"] in ("good", "poor")] == [1, 2] * 3
    assert len(pairs) == 3 and all(pair["difference"] > 0 and pair["n"] == 72 for pair in pairs)


def test_levels_are_those_of_meta(nl):
    frame = grid()
    frame.to_csv("s.csv", index=False)
    got = nl("s.csv", "--score", "good", "--level", "input", "--level", "system", "--coef", "spearman", *FAST)
    x, y = (frame.pivot(index="system_id", columns="input_id", values=name).to_numpy() for name in ("good", "human"))
    rows, pairs = records(got)
    for row in rows:
        if row["score"] == "good":
            wanted = meta.correlate(x, y, "spearman", row["level"])
            assert row["value"] == pytest.approx(wanted.value) and row["n"] == 72
    assert {row["level"] for row in rows} == {"input", "system"} and not pairs


def test_what_is_missing_stays_out_and_is_counted(nl):
    frame = grid()
    frame.loc[[3, 9, 20], "good"] = np.nan
    frame["human"] = frame["human"].astype(object)
    frame.loc[[5, 9], "human"] = ["", "n/a"]
    frame.drop(index=[0]).to_csv("s.csv", index=False)
    rows, _ = records(nl("s.csv", "--score", "good", "--coef", "pearson", "--no-baselines", *FAST))
    [row] = rows
    kept = frame.drop(index=[0, 3, 5, 9, 20])
    assert row["value"] == pytest.approx(stats.pearsonr(kept["good"], kept["human"].astype(float))[0])
    assert row["n"] == 67 and "nan:drop(4/71)" in row["signature"]
    assert row["coverage"] == pytest.approx(67 / 69), "of the rated rows"
    zero = records(nl("s.csv", "--score", "good", "--coef", "pearson", "--no-baselines", "--nan", "zero", *FAST))[0][0]
    assert zero["n"] == 69 and "nan:zero(4/71)" in zero["signature"] and zero["value"] < row["value"]
    error = records(nl("s.csv", "--score", "good", "--coef", "pearson", "--no-baselines", "--nan", "error", *FAST))[0][
        0
    ]
    assert error["value"] is None and error["reason"] == "--nan error: 2 rated rows have no good"
    both = ("--score", "good", "--score", "poor", "--coef", "pearson", "--no-baselines", *FAST)
    _, [pair] = records(nl("s.csv", *both, "--nan", "error"))
    assert pair["p"] is None and pair["reason"] == "--nan error: 2 rated rows have no good"


def test_aspects_are_groups_and_p_values_are_corrected_over_all(nl):
    parts = [grid(seed=seed).assign(aspect=aspect) for seed, aspect in enumerate(("wit", "truth"))]
    pd.concat(parts).to_csv("s.csv", index=False)
    got = nl("s.csv", "--score", "good", "--score", "poor", "--coef", "pearson", "--no-baselines", *FAST)
    rows, pairs = records(got)
    assert [row["group"] for row in rows] == ["wit", "wit", "truth", "truth"]
    assert rows[2]["value"] == pytest.approx(stats.pearsonr(parts[1]["good"], parts[1]["human"])[0])
    wanted = meta.correct([pair["p"] for pair in pairs], "holm").adjusted
    assert [pair["p_adjusted"] for pair in pairs] == pytest.approx(list(wanted))
    assert all(pair["signature"].endswith("|correct:holm(2)") for pair in pairs)
    joined = records(nl("s.csv", "--score", "good", "--by", "", "--coef", "pearson", "--no-baselines", *FAST))[0]
    assert len(joined) == 1 and joined[0]["n"] == 144
    systems = records(
        nl("s.csv", "--score", "good", "--by", "system_id", "--coef", "pearson", "--no-baselines", *FAST)
    )[0]
    assert [row["group"] for row in systems] == [f"s{i}" for i in range(6)]


def test_raters_are_the_ceiling(nl):
    frame = grid()
    rng = np.random.default_rng(1)
    for number in range(3):
        frame[f"rater_{number}"] = frame["human"] + rng.normal(0, 1, len(frame))
    frame.to_csv("s.csv", index=False)
    rows, _ = records(nl("s.csv", "--score", "good", "--coef", "pearson", *FAST))
    ratings = [frame.pivot(index="system_id", columns="input_id", values=f"rater_{i}").to_numpy() for i in range(3)]
    ceiling = next(row for row in rows if "ceiling" in row["score"])
    assert ceiling["value"] == pytest.approx(meta.human_ceiling(np.stack(ratings), "pearson").value)
    assert "raters:leave-one-out(3)" in ceiling["signature"]
    assert not any("ceiling" in r["score"] for r in records(nl("s.csv", "--score", "good", "--raters", "", *FAST))[0])


def test_without_ids_rows_stand_alone(nl):
    grid()[["human", "good", "poor"]].to_csv("s.csv", index=False)
    rows, pairs = records(nl("s.csv", "--score", "good", "--score", "poor", "--coef", "pearson", *FAST))
    assert "ci:boot-rows/50" in rows[0]["signature"] and "perm-rows" in pairs[0]["signature"]
    text = nl("s.csv", "--score", "good", "--coef", "pearson", "--n-boot", "20")
    assert "note: without input_id and system_id" in text.out
    got = nl("s.csv", "--score", "good", "--level", "system")
    assert got.code == 2 and "needs the columns input_id and system_id" in got.err


def test_outputs_that_share_system_and_input(nl):
    frame = pd.concat([grid(), grid(seed=5)])
    frame.to_csv("s.csv", index=False)
    args = ("s.csv", "--score", "good", "--coef", "pearson", "--no-baselines")
    rows, _ = records(nl(*args, "--level", "dataset", "--level", "system", *FAST))
    assert rows[0]["value"] == pytest.approx(stats.pearsonr(frame["good"], frame["human"])[0])
    assert "ci:boot-inputs" in rows[0]["signature"]
    means = frame.groupby("system_id")[["good", "human"]].mean()
    assert rows[1]["value"] == pytest.approx(stats.pearsonr(means["good"], means["human"])[0])
    assert "72 outputs share system and input" in nl(*args, "--level", "system", "--n-boot", "20").out


def test_a_score_that_never_varies_is_missing_with_a_reason(nl):
    grid().assign(flat=3).to_csv("s.csv", index=False)
    got = nl("s.csv", "--score", "flat", "--score", "good", "--coef", "pearson", *FAST)
    rows, pairs = records(got)
    assert got.code == 0 and rows[0]["value"] is None and "constant scores" in rows[0]["reason"]
    assert pairs[0]["p"] is None and "no test" in pairs[0]["reason"] and rows[0]["rank"] == 0
    alone = nl("s.csv", "--score", "flat", "--no-baselines", *FAST)
    assert alone.code == 1, "nothing could be computed"


def test_scores_are_found_by_their_status_and_their_record(nl, monkeypatch, capsys):
    call(monkeypatch, capsys, "score", "-e", "bleu", "--data", "mini", "--limit", "80", "-o", "a.csv", "--only-scores")
    more = ("-i", "a.csv", "-o", "a.csv", "--column", "twice", "--fill", "output=a b", "--fill", "reference=a b c")
    assert call(monkeypatch, capsys, "score", "-e", "bleu", *more).code == 0
    rows, _ = records(nl("a.csv", "--coef", "pearson", *FAST))
    assert [row["score"] for row in rows][:2] == ["value", "twice"]
    grid().assign(good_status="ok").to_csv("s.csv", index=False)
    rows, _ = records(nl("s.csv", "--coef", "pearson", "--no-baselines", *FAST))
    assert [row["score"] for row in rows] == ["good"]
    grid().to_csv("s.csv", index=False)
    got = nl("s.csv")
    assert got.code == 2 and "which column has the scores? Give --score" in got.err


def test_forms_of_output(nl, tmp_path):
    frame = grid()
    frame.to_csv("s.csv", index=False)
    args = ("s.csv", "--score", "good", "--score", "poor", "--coef", "pearson", "--n-boot", "20", "--n-perm", "20")
    text = nl(*args).out
    assert "Correlation with human ratings\n" in text and "95% interval" in text and "Differences\n" in text
    assert "level:dataset|coef:pearson|nan:drop(0/72)|ci:boot-both/20|seed:0" in text
    blocks = [list(csv.DictReader(io.StringIO(part))) for part in nl(*args, "--format", "csv").out.split("\n\n")]
    assert [len(block) for block in blocks] == [4, 1] and float(blocks[0][0]["value"]) == pytest.approx(
        stats.pearsonr(frame["good"], frame["human"])[0]
    )
    markdown = nl(*args, "--format", "markdown").out
    assert "| level | coef | score | value | 95% interval |" in markdown and "\\|coef:pearson" in markdown
    said = nl(*args, "--output", "table.md", "--format", "markdown").out
    assert said == "written: table.md\n" and (tmp_path / "table.md").read_text() == markdown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.csv"], "cannot read none.csv"),
        (["s.csv", "--score", "god"], "has no column 'god'; did you mean 'good'?"),
        (["s.csv", "--score", "good", "--human", "humn"], "has no column 'humn'; did you mean 'human'?"),
        (["s.csv", "--score", "output"], "s.csv, line 2, column 'output': str"),
        (["s.csv", "--score", "good", "--human", "system_id"], "s.csv, line 2, column 'system_id' (human): str 's0'"),
        (["s.csv", "--score", "good", "--level", "segment"], "allowed: dataset, input, system"),
        (["s.csv", "--score", "good", "--coef", "kendal"], "allowed: kendall, pearson"),
        (["s.csv", "--score", "good", "--nan", "skip"], "allowed: drop, error"),
        (["s.csv", "--score", "good", "--correct", "fdr"], "allowed: none, bonferroni, holm"),
        (["s.csv", "--score", "good", "--by", "color"], "has no column 'color'"),
        (["s.csv", "--score", "good", "--format", "html"], "allowed: text, csv, markdown, jsonl"),
        (["empty.csv", "--score", "good"], "no row has a rating in 'human'"),
        (["bare.csv", "--score", "good"], "has no column 'human'; say which has the ratings: --human COLUMN"),
    ],
)
def test_wrong_calls_end_with_2_and_name_the_place(nl, arguments, said):
    grid().to_csv("s.csv", index=False)
    grid().assign(human="").to_csv("empty.csv", index=False)
    grid().drop(columns="human").to_csv("bare.csv", index=False)
    got = nl(*arguments)
    assert got.code == 2 and said in got.err and "Traceback" not in got.err


def test_an_interval_that_cannot_be_had_is_refused(nl):
    grid()[["human", "good"]].to_csv("s.csv", index=False)
    got = nl("s.csv", "--score", "good", "--ci", "boot-systems")
    assert got.code == 2 and "--ci boot-systems needs the columns input_id and system_id" in got.err
    got = nl("s.csv", "--score", "good", "--ci", "bootstrap")
    assert got.code == 2 and "allowed: auto, none, boot-rows" in got.err
    [row] = records(nl("s.csv", "--score", "good", "--ci", "bca-rows", "--coef", "pearson", "--no-baselines", *FAST))[0]
    assert row["ci_low"] < row["value"] < row["ci_high"] and "ci:bca-rows/50" in row["signature"]


def test_from_python():
    data = checked(of_frame(grid(), "mine"))
    found = correlate.correlate(data, ["good"], correlate.Settings(coefs=("pearson",), ci="none", baselines=False))
    assert found.correlations["value"].iloc[0] == pytest.approx(stats.pearsonr(grid()["good"], grid()["human"])[0])
    with pytest.raises(InputError, match="level"):
        correlate.Settings(levels=("segment",))
