"""The miniature judge in the papers' notebooks: shown apart, with interval and
signature, and never compared.
"""

from __future__ import annotations

import json
import warnings

import notebook_cells
import numpy as np
import pandas as pd
import public_data
import pytest
from scipy import stats

from nlgeval_lib import datasets, files
from nlgeval_lib.engines import ScriptedEngine
from reproduction import papers, report
from reproduction.papers import printed_averages
from reproduction.report import miniature, notebook
from reproduction.study import (
    JudgeScores,
    catalogue,
    criteria_scores,
    judges,
    question_rows,
)
from reproduction.training import mini

LISTED = catalogue.load()
# outputs that ask a language model, by what their notebook does with the miniature one
SHOWN = (
    "tigerscore_figure_01",
    "hdeval_tables_04_05",
    "hdeval_table_07",
    "prometheus_table_03",
    "prometheus_table_06",
    "prometheus_figures_13_15",
    "coascore_cases",
    "coascore_table_05",
    "coascore_table_06",
    "coascore_figure_02",
    "coascore_figure_04",
    "tigerscore_table_06",
)
INSTEAD = (
    "hdeval_figure_04",
    "hdeval_figure_05",
    "hdeval_figure_06",
    "hdeval_figure_08",
    "hdeval_table_08",
)
NOTHING = ("prometheus_table_04", "prometheus_figures_16_19")


@pytest.fixture
def apart(tmp_path, monkeypatch):
    """Results and figures go to a temporary folder."""
    for name in ("NLGEVAL_TRIAL", "NLGEVAL_RECORD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NLGEVAL_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NLGEVAL_FIGURES", str(tmp_path / "figures"))
    return tmp_path


def made(
    noise: float, signature: str, route: str = "mini", seed: int = 0
) -> JudgeScores:
    frame = datasets.quick(datasets.load("mini_judge"), 10)
    frame = frame[frame["aspect"] == "overall"].reset_index(drop=True)
    value = frame["human"] + np.random.default_rng(seed).normal(0, noise, len(frame))
    frame = frame.assign(value=value, status="ok", reason="", details=[{}] * len(frame))
    return JudgeScores(
        True,
        frame=frame,
        route=route,
        signature=signature,
        coverage=f"{len(frame)} of {len(frame)}",
    )


def test_variants_are_correlated_tested_and_kept_apart(apart, capsys):
    out = report.Output("coascore_figure_04", mode="quick")
    variants = {
        "base": made(1.0, "a"),
        "better": made(0.1, "b", seed=1),
        "twin": made(0.1, "b", seed=1),
    }
    assert miniature.show(out, variants, "base", coef="kendall-b")
    assert miniature.NOTE in capsys.readouterr().out
    table = out._frames["mini"].set_index("variant")
    assert (
        list(table.index) == ["base", "better (and 1 asked alike)"]
        and (table["route"] == "mini").all()
    )
    for name, one in zip(table.index, variants.values(), strict=False):
        tau = stats.kendalltau(one.frame["value"], one.frame["human"]).statistic
        assert table.loc[name, "value"] == pytest.approx(tau)
        assert (
            table.loc[name, "ci_low"] <= tau <= table.loc[name, "ci_high"]
            and table.loc[name, "n"] == 60
        )
        assert (
            "ci:jack-both|df:2.5" in table.loc[name, "signature"]
            and table.loc[name, "scored"] == "60 of 60"
        )
    tests = out._frames["mini_tests"]
    assert (
        tests["variant"].tolist() == ["better (and 1 asked alike)"]
        and tests["p_holm"].between(0, 1).all()
    )
    out.save()
    record = json.loads(
        (
            apart / "results" / "partial" / "coascore" / "coascore_figure_04.json"
        ).read_text()
    )
    assert record["route"] == "recorded" and miniature.NOTE in record["notes"]
    assert (
        not (apart / "results" / "quick").exists()
        and miniature.WHAT in capsys.readouterr().out
    )


def test_where_it_was_not_asked_or_gave_nothing_nothing_is_shown_and_a_stand_in_is_called_one(
    apart, capsys
):
    out = report.Output("coascore_figure_04", mode="quick")
    variants = {
        "run": made(1.0, "a", route="run"),
        "gone": JudgeScores(False, "no completions", route="mini"),
    }
    assert (
        not miniature.was_asked(variants)
        and not miniature.show(out, variants)
        and not out._frames
    )
    assert miniature.was_asked(made(1.0, "a")) and not miniature.was_asked(
        variants["gone"]
    )

    empty = made(1.0, "c")
    empty.frame["value"] = np.nan
    assert miniature.show(out, {"one": made(1.0, "a"), "none": empty})
    assert (
        out._frames["mini"]["variant"].tolist() == ["one"]
        and "mini_tests" not in out._frames
    )
    assert any("none" in gap["what"] for gap in out._missing)

    empty.frame["dataset"] = "summeval"
    capsys.readouterr()
    miniature.set_apart(out, empty)
    assert miniature.STAND_IN in capsys.readouterr().out


def test_references_that_are_perfect_or_nearly_so():
    frame = pd.DataFrame(
        {"input_id": list("aabcd"), "output": ["x", "x", "y", "z", "w"]}
    )
    frame["value"] = [0.0, 0.0, -1.0, -5.0, np.nan]
    found = miniature.perfect_shares(
        JudgeScores(True, frame=frame, route="mini", signature="s")
    )
    assert (
        found["percent"].tolist() == pytest.approx([100 / 3, 200 / 3])
        and (found["n"] == 3).all()
    )
    assert (
        (found["unscored"] == 1).all()
        and (found["route"] == "mini").all()
        and (found["signature"] == "s").all()
    )
    ends = stats.binomtest(1, 3).proportion_ci(0.95, method="wilson")
    assert found.loc[0, ["ci_low", "ci_high"]].tolist() == pytest.approx(
        [100 * ends.low, 100 * ends.high]
    )


def test_gold_references_are_what_the_miniature_judge_is_given():
    options = judges.EngineOptions("transformers", "mini")
    ready = ScriptedEngine(["5"])
    frame = judges.job(
        LISTED.question("tigerscore_table_06", "7B, Summ"), options, ready=ready
    ).data.frame
    gold = datasets.items(datasets.load("mini_judge"))
    assert (
        set(frame["aspect"]) == {"overall"}
        and frame["output"].tolist() == gold["reference"].tolist()
    )
    whole = judges.job(
        LISTED.questions_of("hdeval_table_08")[0], options, ready=ready
    ).data.frame
    assert whole["aspect"].nunique() == 5


def test_criteria_of_the_miniature_judge_are_features_of_its_own_texts():
    frame = datasets.quick(datasets.load("mini_judge"), 4)
    names = [node.id for node in mini.tree().nodes()]
    for place, name in enumerate(names):
        frame[name] = frame.groupby(["input_id", "system_id"], sort=False).ngroup() % (
            2 + place
        )
    one = criteria_scores.of_judge(
        "topical_chat",
        JudgeScores(True, frame=frame, route="mini", criteria=tuple(names)),
    )
    assert (one.name, one.label) == (
        criteria_scores.MINI,
        criteria_scores.LABELS[criteria_scores.MINI],
    ) and len(one.X) == 24
    assert (
        list(one.Y) == list(criteria_scores.ASPECTS[criteria_scores.MINI])
        and one.groups is None
    )
    assert one.own == {name: (name,) for name in one.Y} and set(
        one.layers.values()
    ) == {1, 2}


@pytest.mark.parametrize(
    ("paper", "table", "count"),
    [
        ("hdeval", "table_01", 22),
        ("hdeval", "table_03", 22),
        ("coascore", "table_04", 9),
    ],
)
def test_printed_averages_are_the_means_of_their_rows(paper, table, count):
    printed = papers.load(paper, table)
    none = pd.DataFrame({"row": [], "column": [], "statistic": []})
    found = printed_averages.of_table(paper, table, none)
    cells = printed.set_index(["row", "column", "statistic"])["number"]
    assert len(found) == count and (found["route"] == "published").all()
    for one in found.itertuples():
        parts = [
            cells[key]
            for key in cells.index
            if (key[0], key[2]) == (one.row, one.statistic)
        ]
        assert one.value == pytest.approx(
            (np.sum(parts) - cells[one.row, "average", one.statistic])
            / (len(parts) - 1)
        )
    kept = printed_averages.of_table(paper, table, found.head(3))
    assert kept.equals(found.iloc[3:].reset_index(drop=True))
    with pytest.raises(ValueError, match="no column 'mean'"):
        printed_averages.of_table(paper, table, none, "mean")


# ---- the notebooks


def code(entry) -> str:
    """The code of a notebook, and of the modules beside it that it imports."""
    cells = json.loads(entry.path.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for module in entry.path.parent.glob("*.py"):
        if f"import {module.stem}" in "\n".join(texts):
            texts.append(module.read_text(encoding="utf-8"))
    return "\n".join(texts)


def test_every_notebook_that_asks_a_model_says_what_the_miniature_one_gives():
    asking = {question.output for question in LISTED.questions}
    assert asking >= {*SHOWN, *INSTEAD, *NOTHING}
    for name in sorted(asking):
        text = code(LISTED[name])
        assert "miniature." in text or "variant_tests.of_judges" in text, name
        assert {"model", "engine"} <= notebook.read(
            LISTED[name].path
        ).parameters.keys(), name


def test_every_notebook_of_a_table_with_relations_shows_its_audit():
    known = set(papers.audit()[["paper", "table"]].itertuples(index=False, name=None))
    for entry in LISTED.outputs:
        if any((entry.paper, name) in known for name in entry.covers):
            assert "out.audit(" in code(entry), entry.id


def test_the_template_of_an_ablation_runs_as_it_stands(apart):
    given = {"mode": "quick", "base": {"type": "rouge2"}}
    variants = notebook_cells.run(
        files.root() / "notebooks" / "template_ablation.ipynb", **given
    )["variants"]
    table = pd.read_csv(
        apart / "results" / "partial" / "meta" / "template_ablation__table.csv"
    ).set_index("variant")
    tests = pd.read_csv(
        apart / "results" / "partial" / "meta" / "template_ablation__tests.csv"
    )
    assert set(table.index) == set(variants.scores) and tests["variant"].tolist() == [
        "type=rouge1",
        "type=rougeL",
        "type=rougeL",
    ]
    for name, values in variants.scores.items():
        tau = stats.kendalltau(values, variants.items["human"]).statistic
        assert (
            table.loc[name, "value"] == pytest.approx(tau)
            and table.loc[name, "ci_low"] < tau
        )
    assert (
        apart / "figures" / "partial" / "meta" / "template_ablation.png"
    ).stat().st_size > 5000


@pytest.mark.slow
@pytest.mark.parametrize("output", [*SHOWN, *INSTEAD, *NOTHING])
def test_a_notebook_with_the_miniature_judge(apart, monkeypatch, capsys, output):
    """Four inputs, the real model: it says so, keeps apart, and each number has n,
    interval and signature.
    """
    monkeypatch.setattr(question_rows, "QUICK_INPUTS", 4)
    entry = LISTED[output]
    public_data.needs(*(name for name in entry.inputs if name in datasets.NAMES))
    given = dict(entry.parameters) | {
        "mode": "quick",
        "engine": "transformers",
        "model": "mini",
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        left = notebook_cells.run(entry.path, **given)
    assert not [str(one.message) for one in caught if one.category is FutureWarning]
    said = capsys.readouterr().out
    folder = apart / "results" / "partial" / entry.paper
    assert (folder / f"{output}.json").is_file() and not (
        apart / "results" / entry.paper
    ).exists()
    if output in NOTHING:
        assert "Nothing to ask the miniature judge here" in said
        return
    assert said.count(miniature.NOTE) == 1
    assert left["out"].route == ("mini" if output in INSTEAD else entry.route)
    if output in SHOWN:
        table = pd.read_csv(folder / f"{output}__mini.csv", dtype={"reason": str})
        assert (table["route"] == "mini").all() and table[
            ["n", "signature"]
        ].notna().all(axis=None)
        # few inputs: some have no interval, and say why
        ends = table[["ci_low", "ci_high"]].notna().all(axis=1)
        why = table.get("reason", pd.Series("", table.index)).str.contains(
            "no interval|not defined", na=False
        )
        assert ends.any() and (ends | why).all()
