"""The miniature training ablations: arms learn what they say, runs stop and go on,
kept judgments are what was run.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mini_judge import ablate, answers, recipe, studies
from mini_judge.criteria import CRITERIA, KINDS
from mini_judge.domains import DOMAINS
from nlgeval_lib import datasets, statistics
from notebooks.ablations import training_arms as tables
from notebooks.ablations.training_arms import KEYS, NEW_RUBRIC

SMALL = dict(width=64, layers=2, heads=2, inner=64, chunk=32, tokens=1024)
TINY = studies.Scale(
    base=replace(recipe.BASE, examples=64, easy=32, plain=32, **SMALL),
    reading=replace(recipe.READING, examples=32, **SMALL),
    tune=replace(recipe.TUNE, **SMALL),
    sizes={"channels": 64, "tasks": 32, "grading": 64},
    seeds={"channels": 1, "tasks": 1, "grading": 1},
)


def arm_of(study: str, name: str) -> studies.Arm:
    return next(one for one in studies.STUDIES[study] if one.name == name)


# -- arms learn what they say


def test_graders_learn_the_same_questions_with_a_part_left_out():
    made = {name: studies.draw(name, 2, 80) for name in studies.SWITCHES}
    for full, no_rubric, no_reference, no_feedback in zip(*made.values(), strict=True):
        item = full.item
        assert item == no_rubric.item == no_reference.item == no_feedback.item
        [key] = {k for k in studies.RUBRICS if CRITERIA[k].definition in full.prompt}
        for line in CRITERIA[key].rubric:
            assert (
                line in full.prompt
                and line not in no_rubric.prompt
                and line in no_reference.prompt
            )
        assert item.reference in full.prompt and item.reference in no_rubric.prompt
        assert (
            "Reference Answer" not in no_reference.prompt
            and "Reference Answer" in no_feedback.prompt
        )
        assert full.answer == no_rubric.answer == answers.feedback(item, CRITERIA[key])
        assert re.fullmatch(
            r"\[RESULT\] [1-5]", no_feedback.answer
        ) and full.answer.endswith(no_feedback.answer)
        assert not any(
            CRITERIA[NEW_RUBRIC].rubric[0] in one.prompt
            for one in (full, no_reference, no_feedback)
        )


# -- runs


@pytest.fixture(scope="module")
def single():
    """One output of one record, all aspects: untrained models write until their
    context ends.
    """
    frame = datasets.load("mini_judge")
    return frame[
        (frame["input_id"] == frame["input_id"].iat[0])
        & (frame["system_id"] == "careful")
    ]


@pytest.mark.slow  # trains six times
def test_a_stopped_study_goes_on_to_the_same_judgments(
    tmp_path, monkeypatch, single, one_thread
):
    from mini_judge import train as training

    runs = [(arm_of("tasks", "sale"), 0), (arm_of("grading", "without feedback"), 0)]
    single = single.assign(domain="sale")
    how = dict(frame=single, every=0, say=lambda text: None)
    assert ablate.run(runs, TINY, work=tmp_path / "a", out=tmp_path / "one", **how) == 2
    real = training.Learner.learn
    steps = []

    def stop_later(learner, batch, rate):
        steps.append(learner.recipe)
        if (
            learner.recipe.examples == 64
            and learner.recipe.side == 0
            and learner.chunk == 1
        ):
            raise KeyboardInterrupt
        return real(learner, batch, rate)

    monkeypatch.setattr(training.Learner, "learn", stop_later)
    with pytest.raises(KeyboardInterrupt):
        ablate.run(runs, TINY, work=tmp_path / "b", out=tmp_path / "two", **how)
    # the first is kept, the second has a saved state
    assert len(tables.runs(tmp_path / "two")) == 1
    monkeypatch.setattr(training.Learner, "learn", real)
    said: list[str] = []
    assert (
        ablate.run(
            runs,
            TINY,
            work=tmp_path / "b",
            out=tmp_path / "two",
            **{**how, "say": said.append},
        )
        == 1
    )
    assert (
        said[0] == "2 runs, 1 of them there"
        and "[1/1] grading: without feedback, seed 0" in said
    )
    for arm, seed in runs:
        one, two = (
            tables.path(arm.study, arm.name, seed, tmp_path / name).read_bytes()
            for name in ("one", "two")
        )
        assert one == two
    columns = ["digest", "base", "judgments", "examples", "tokens", "steps"]
    pd.testing.assert_frame_equal(
        tables.runs(tmp_path / "one")[columns], tables.runs(tmp_path / "two")[columns]
    )
    assert not list((tmp_path / "b").glob("run-*"))
    assert ablate.run(runs, TINY, work=tmp_path / "b", out=tmp_path / "two", **how) == 0


# -- what is kept


def test_judgments_of_another_run_are_not_taken_for_this_one(tmp_path):
    arm = arm_of("channels", "ReW")
    rows = pd.DataFrame(
        [["restaurant-00", "careful", "overall", -3.0, "ok", "omission"]],
        columns=ablate.COLUMNS,
    )
    told = {
        "digest": "d",
        "base": "b",
        "examples": 1,
        "tokens": 2,
        "steps": 3,
        "seconds": 0.5,
    }
    ablate.keep(arm, 0, rows, told, tmp_path)
    assert ablate.done(arm, 0, "d", tmp_path)
    assert not ablate.done(arm, 0, "e", tmp_path) and not ablate.done(
        arm, 1, "d", tmp_path
    )
    pd.testing.assert_frame_equal(
        tables.read("channels", tmp_path)[ablate.COLUMNS], rows
    )
    ablate.keep(arm, 0, rows.assign(value=-4.0), told, tmp_path)
    assert len(tables.runs(tmp_path)) == 1 and tables.read("channels", tmp_path)[
        "value"
    ].tolist() == [-4.0]
    file = tables.path(arm.study, arm.name, 0, tmp_path)
    file.write_text(file.read_text().replace("-4", "-1"))
    assert not ablate.done(arm, 0, "d", tmp_path)
    with pytest.raises(ValueError, match="is not what its run wrote"):
        tables.read("channels", tmp_path)
    with pytest.raises(FileNotFoundError, match="`make mini-ablations` runs it"):
        tables.read("tasks", tmp_path)
    (tmp_path / tables.RUNS).write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="columns a, b, not study, arm"):
        tables.runs(tmp_path)


@pytest.mark.parametrize("study", tables.runs()["study"].unique())
def test_the_committed_judgments_are_whole(study):
    frame = datasets.load("mini_judge")
    rows = tables.read(study)
    lines = tables.runs()
    scale = studies.Scale()
    for arm in studies.STUDIES[study]:
        seeds = sorted(
            lines.loc[(lines["study"] == study) & (lines["arm"] == arm.name), "seed"]
        )
        assert len(seeds) >= 3
        for seed in seeds:
            told = f"{arm.name}, seed {seed}: not of this recipe"
            assert ablate.done(arm, seed, scale.digest(arm, seed), tables.folder()), (
                told
            )
            mine = rows[(rows["arm"] == arm.name) & (rows["seed"] == seed)]
            wanted = (
                ablate.questions(frame)
                if study == "grading"
                else frame[frame["aspect"] == "overall"]
            )
            wanted = wanted[wanted["domain"] == arm.domain] if arm.domain else wanted
            assert (
                mine[KEYS].to_records(index=False).tolist()
                == wanted[KEYS].to_records(index=False).tolist()
            )
    assert rows["value"].notna().equals(rows["status"] == "ok")
    low, high = (1, 5) if study == "grading" else (-60, 0)
    assert rows["value"].dropna().between(low, high).all()
    assert not {kind for told in rows["told"] for kind in told.split()} - {
        *KINDS,
        "other",
    }
    assert sum(file.stat().st_size for file in tables.folder().rglob("*.csv")) < 1e6


# -- tables


def made(noise: dict[str, float], seeds: int = 3) -> pd.DataFrame:
    """Judgments of make-believe arms: gold and some noise."""
    frame = datasets.load("mini_judge")
    outputs = frame[frame["aspect"] == "overall"]
    parts = []
    for arm, seed in itertools.product(noise, range(seeds)):
        drawn = (
            np.random.default_rng([seed, len(arm)])
            .normal(0, noise[arm], len(outputs))
            .round()
        )
        parts.append(
            outputs[KEYS].assign(
                value=-outputs["penalty"] + drawn,
                status="ok",
                told="",
                arm=arm,
                seed=seed,
            )
        )
    return tables.with_gold(pd.concat(parts, ignore_index=True), "channels")


def test_values_are_scipys_and_seeds_are_told_apart():
    rows = made({"ReW": 1.0, "Syn": 4.0})
    rows.loc[rows.index[:7], ["value", "status"]] = [np.nan, "unparsed"]
    table, drawn, points = tables.correlations(rows, "spearman", n_boot=80)
    for line in table.itertuples():
        mine = rows[rows["arm"] == line.variant].dropna(subset="value")
        by_seed = [
            stats.spearmanr(part["value"], part["gold"])[0]
            for _, part in mine.groupby("seed")
        ]
        np.testing.assert_allclose(points[line.variant], by_seed)
        assert line.value == pytest.approx(
            np.mean(by_seed)
        ) and line.seed_sd == pytest.approx(np.std(by_seed, ddof=1))
        assert (
            line.ci_low < line.value < line.ci_high
            and line.seeds == 3
            and line.n == 300
        )
    assert (
        table["parsed"].tolist() == [1 - 7 / 900, 1.0]
        and "nan:drop(7/900)" in table["signature"][0]
    )
    assert {len(one) for one in drawn.values()} == {80}


def test_a_difference_needs_records_and_seeds():
    rows = made({"ReW": 1.0, "Syn": 4.0, "Mix": 1.0})
    tests = tables.against(rows, [("Syn", "Mix"), ("ReW", "Mix")], n_boot=80, n_perm=99)
    _, drawn, points = tables.correlations(rows, n_boot=80)
    clear, none = tests.to_dict("records")
    assert (
        clear["holds"] and not none["holds"] and clear["p"] == 0.01 and none["p"] > 0.05
    )
    assert tests["p_holm"].tolist() == list(
        statistics.correct(tests["p"].tolist(), "holm").adjusted
    )
    gaps = np.subtract(points["Syn"], points["Mix"])
    assert (
        clear["difference"]
        == pytest.approx(gaps.mean())
        == pytest.approx(clear["first"] - clear["second"])
    )
    low, high = stats.t.interval(0.95, 2, gaps.mean(), stats.sem(gaps))
    assert (clear["seeds_low"], clear["seeds_high"]) == (
        pytest.approx(low),
        pytest.approx(high),
    )
    ends = np.quantile(drawn["Syn"] - drawn["Mix"], [0.025, 0.975])
    np.testing.assert_allclose([clear["ci_low"], clear["ci_high"]], ends)


def test_groups_have_their_own_arm_and_a_mean():
    single = [
        own[own["domain"] == domain]
        for domain in DOMAINS
        for own in [made({domain: 3.0})]
    ]
    rows = pd.concat([*single, made({"all tasks": 2.0})], ignore_index=True)
    pairs = [("all tasks", tables.ONE_TASK)]
    values, tests, points = tables.by_group(rows, "domain", pairs, n_boot=60, n_perm=49)
    assert set(values["group"]) == {*DOMAINS, tables.MEAN}
    assert list(values["variant"]) == [tables.ONE_TASK, "all tasks"] * 5
    mean = values[values["group"] == tables.MEAN].set_index("variant")
    others = values[values["group"] != tables.MEAN].groupby("variant")["value"].mean()
    np.testing.assert_allclose(mean["value"], others[mean.index])
    assert (mean["n"] == 300).all() and points[("sale", tables.ONE_TASK)] != points[
        ("sale", "all tasks")
    ]
    last = tests.iloc[-1]
    assert last["group"] == tables.MEAN and np.isnan(last["p"])
    assert last["difference"] == pytest.approx(tests["difference"].iloc[:-1].mean())


def test_an_arm_that_wrote_nothing_readable_has_no_value():
    rows = made({"ReW": 1.0, "Mix": 1.0})
    rows.loc[rows["arm"] == "ReW", ["value", "status"]] = [np.nan, "unparsed"]
    table, _, _ = tables.correlations(rows, n_boot=20)
    assert (
        np.isnan(table["value"][0])
        and "could be read" in table["reason"][0]
        and table["parsed"][0] == 0
    )
    [line] = tables.against(rows, [("ReW", "Mix")], n_boot=20, n_perm=19).to_dict(
        "records"
    )
    assert (
        np.isnan(line["difference"]) and np.isnan(line["p_holm"]) and not line["holds"]
    )


def test_kinds_are_counted_over_seeds():
    rows = made({"ReW": 1.0}, seeds=2)
    rows["told"] = [" ".join(kinds) for kinds in rows["kinds"]]
    rows.loc[rows["seed"] == 1, "told"] = ""
    found = tables.found_by_kind(rows).set_index("kind")
    assert (
        (found["recall"] == 0.5).all()
        and (found["precision"] == 1).all()
        and set(found.index) == set(KINDS)
    )
    trained = tables.trained("channels")
    assert (
        trained.set_index("arm").loc["Mix", "examples"]
        == trained.set_index("arm").loc["ReW", "examples"]
    )
