"""What the committed results of Prometheus say, recomputed from the raw files in
plain loops.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nlgeval_lib import files
from nlgeval_lib.scoring import named
from reproduction import papers
from reproduction.study import catalogue

RESPONSE = re.compile(
    r"###Response to evaluate:\n(.*?)\n\n?###(?:Reference|Score Rubrics)", re.DOTALL
)

# sets whose responses come with a reference answer
WITH_REFERENCES = (
    "vicuna_bench",
    "mt_bench",
    "flask_eval",
    "feedback_bench_seen",
    "feedback_bench_unseen",
)


def committed(name: str) -> pd.DataFrame:
    """A committed result file; skips where it is not in this checkout."""
    path = files.results() / "prometheus" / f"{name}.csv"
    if not path.exists():
        pytest.skip(
            f"{path.name} is not in this checkout: nlgeval run {name.partition('__')[0]}"
        )
    return pd.read_csv(path)


def raw(mirror: Path, name: str) -> list[dict]:
    path = mirror / "prometheus" / f"{name}.json"
    if not path.is_file():
        pytest.skip(f"{path.name} is not here")
    return json.loads(path.read_text(encoding="utf-8"))


def response(prompt: str) -> str:
    return RESPONSE.search(prompt)[1].strip()


@pytest.mark.parametrize(
    ("bench", "name", "r"),
    [("Vicuna Bench", "vicuna", 0.295), ("MT Bench", "mt_bench", 0.287)],
)
def test_length_follows_gpt4s_scores(mirror, bench, name, r):
    records = raw(mirror, f"{name}_eval")
    words = [len(response(record["instruction"]).split()) for record in records]
    scores = [np.mean(record["gpt4_score"]) for record in records]
    measured = np.corrcoef(words, scores)[0, 1]
    table = committed("prometheus_figures_13_15__correlations")
    where = (table["test set"] == bench) & (table["compared"] == "over all responses")
    assert table[where & (table["statistic"] == "pearson")][
        "value"
    ].item() == pytest.approx(measured, abs=2e-3)
    assert round(measured, 3) == pytest.approx(r, abs=2e-3)
    sizes = (
        committed("prometheus_figures_13_15__lengths")
        .query("`test set` == @bench")
        .set_index("score")["n"]
    )
    assert sizes.to_dict() == Counter(
        sorted(record["gpt4_score"])[1] for record in records
    )


def test_figure_19_shows_another_models_response(mirror):
    """The feedback that the figure prints is one of three on a response of
    Llama-2-Chat, scored 2 each time.
    """
    hits = [
        (record["response_source"], record["gpt4_score"])
        for record in raw(mirror, "vicuna_eval")
        if any(
            "The condition in the while loop, 'in >> word'" in text
            for text in record["gpt4_feedback"]
        )
    ]
    assert hits == [("llama-2-chat", [2, 2, 2])]
    found = committed("prometheus_figures_16_19__looked_up").set_index("figure")
    assert found["score, recorded"].to_dict() == {
        "figure_16": 3,
        "figure_17": 4,
        "figure_19": 2,
    }
    assert found.loc[
        "figure_19", ["response by, printed", "response by, recorded"]
    ].tolist() == [
        "wizard",
        "llama-2-chat",
    ]
    assert papers.cell("prometheus", "figure_19", "GPT-4", "final score", "score") == 3


def test_the_longer_response_on_hhh(mirror):
    pairs = raw(mirror, "hhh_alignment_eval")
    points: dict[str, list[Fraction]] = defaultdict(list)
    for pair in pairs:
        gap = len(response(pair["chosen_instruction"])) - len(
            response(pair["rejected_instruction"])
        )
        points[pair["source"]].append(Fraction((gap > 0) - (gap < 0) + 1, 2))
    table = committed("prometheus_table_04")
    table = table[table["row"] == "Longer response (characters)"].set_index("column")[
        "ours"
    ]
    columns = {
        "helpful": "Help.",
        "harmless": "Harm.",
        "honest": "Hon.",
        "other": "Other",
    }
    for category, name in columns.items():
        share = 100 * sum(points[category]) / len(points[category])
        assert table[f"HHH ALIGNMENT | {name}"] == pytest.approx(
            float(share), abs=2.0
        ), category
    every = [point for held in points.values() for point in held]
    assert table["HHH ALIGNMENT | Total Avg."] == pytest.approx(
        float(100 * sum(every) / 221), abs=0.5
    )
    prompts = {
        pair[f"{side}_instruction"] for pair in pairs for side in ("chosen", "rejected")
    }
    assert (len(pairs), len(prompts)) == (221, 258)


def test_totals_of_table_4_are_counts_of_pairs():
    table = committed("prometheus_table_04")
    totals = table[
        (table["route"] == "published") & table["column"].str.endswith("Total Avg.")
    ].set_index("row")
    assert len(totals) == 10
    assert (
        np.abs(totals["ours"] * 221 / 100 - (totals["ours"] * 221 / 100).round()) < 1e-6
    ).all()
    assert totals.index[totals["verdict"] == "differs"].tolist() == [
        "LLAMA2-CHAT 13B + COARSE."
    ]


def test_counts_that_the_win_rates_can_be():
    shares = committed("prometheus_human_study__shares")
    for what, part in shares.groupby("what"):
        printed = part["printed"].iloc[0]
        shares_of = {
            n: {round(float(Fraction(100 * k, n)), 2) for k in range(n + 1)}
            for n in range(10, 136)
        }
        fits = {n for n, some in shares_of.items() if printed in some}
        assert set(part["votes"]) == fits, what
    over_gpt4 = shares[shares["what"].str.contains("caption")]
    assert (over_gpt4["p against one half"] > 0.05).all() and len(over_gpt4) == 4


def test_every_judge_is_asked_with_the_settings_of_table_9():
    printed = papers.load("prometheus", "table_09").pivot(
        index="row", columns="column", values="number"
    )
    rows = {"prometheus": "PROMETHEUS 7B", "llama-2": "Llama-2-Chat-7B", "gpt": "GPT-4"}
    asked = [
        one
        for one in catalogue.load().questions
        if one.output.startswith("prometheus_")
    ]
    judges = list({one.judge.id: one.judge for one in asked}.values())
    families = [
        next((name for name in rows if name in one.model.casefold()), "")
        for one in judges
    ]
    assert sum(map(bool, families)) >= 20
    for one, family in zip(judges, families, strict=True):
        if not family:
            continue
        wanted = printed.loc[rows[family]]
        sampling = named.evaluator(one.evaluator, one.settings).sampling
        assert (sampling.temperature, sampling.top_p) == (
            wanted["Temperature"],
            wanted["Top-p"],
        ), one
        assert sampling.max_tokens == wanted["Max Output Length"], one
        assert sampling.repetition_penalty == (
            1 if family == "gpt" else wanted["Repetition Penalty"]
        ), one
        assert one.api == (family == "gpt"), one
        assert one.data in WITH_REFERENCES or "reference=no" in one.settings, one
