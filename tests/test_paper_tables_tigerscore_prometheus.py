"""The printed numbers of TIGERScore and Prometheus are transcribed whole and exactly."""

from __future__ import annotations

import pytest

from nlgeval_lib import papers

# paper, table: cells, numeric cells, rows, columns, statistics
SHAPES = {
    ("tigerscore", "table_02"): (17, 17, 6, 3, {"count"}),
    ("tigerscore", "table_03"): (21, 21, 7, 3, {"count"}),
    ("tigerscore", "table_04"): (168, 168, 21, 8, {"kendall", "difference"}),
    ("tigerscore", "table_05"): (128, 128, 8, 16, {"count"}),
    ("tigerscore", "table_06"): (32, 32, 4, 8, {"percent"}),
    ("tigerscore", "table_07"): (8, 8, 1, 8, {"accuracy"}),
    ("tigerscore", "table_08"): (21, 21, 3, 7, {"spearman", "gain_percent"}),
    ("tigerscore", "figure_03"): (21, 21, 3, 7, {"spearman"}),
    ("tigerscore", "table_23"): (4, 4, 3, 3, {"count", "score_reduction"}),
    ("tigerscore", "table_25"): (168, 168, 21, 8, {"pearson", "difference"}),
    ("tigerscore", "table_26"): (168, 168, 21, 8, {"spearman", "difference"}),
    ("prometheus", "table_01"): (6, 6, 1, 3, {"count", "count_per_rubric", "count_per_instruction", "count_per_score"}),
    ("prometheus", "table_02"): (60, 60, 10, 2, {"pearson", "kendall", "spearman"}),
    ("prometheus", "table_03"): (90, 90, 10, 3, {"pearson", "kendall", "spearman"}),
    ("prometheus", "table_04"): (66, 66, 11, 6, {"accuracy"}),
    ("prometheus", "table_05"): (7, 7, 4, 5, {"count"}),
    ("prometheus", "table_06"): (21, 21, 7, 3, {"pearson"}),
    ("prometheus", "table_07"): (10, 10, 5, 2, {"ratio"}),
    ("prometheus", "table_08"): (6, 6, 2, 3, {"setting"}),
    ("prometheus", "table_09"): (28, 26, 7, 4, {"setting"}),
    ("prometheus", "figure_04"): (3, 3, 3, 1, {"pearson"}),
    ("prometheus", "figure_05"): (2, 2, 2, 1, {"percent"}),
    ("prometheus", "figure_16"): (2, 2, 2, 1, {"score"}),
    ("prometheus", "figure_17"): (2, 2, 2, 1, {"score"}),
    ("prometheus", "figure_18"): (2, 2, 2, 1, {"score"}),
    ("prometheus", "figure_19"): (7, 7, 3, 5, {"score"}),
}

# read off the papers by eye: table | row | column | statistic | as printed
SPOTS = """
tigerscore figure_03 | Real-World | LF-QA | spearman | 7.53
tigerscore figure_03 | Mix | Story-Gen | spearman | 39.26
tigerscore table_02 | Summ | Real-World (training set) | Output Source | count | 27
tigerscore table_02 | Trans | Real-World (training set) | # Sample | count | 5507
tigerscore table_02 | D2T | Synthetic (training set) | # Sample | count | 160
tigerscore table_02 | MathQA | Real-World (training set) | # Sample | count | 4529
tigerscore table_02 | Instruct | Synthetic (training set) | # Sample | count | 3014
tigerscore table_03 | Summ | Output Source | count | 16
tigerscore table_03 | Trans | # Samples | count | 33750
tigerscore table_03 | D2T | # Inputs | count | 179
tigerscore table_03 | MathQA | # Samples | count | 2638
tigerscore table_03 | Instruct | Output Source | count | 9
tigerscore table_03 | Story-Gen | # Inputs | count | 200
tigerscore table_04 | GPT-3.5-turbo (zero-shot) | Summ | kendall | 30.45
tigerscore table_04 | BLEU | Story-Gen | kendall | -0.89
tigerscore table_04 | UniEval (summ) | Average | kendall | 24.17
tigerscore table_04 | COMETKiwi | MathQA | kendall | -9.38
tigerscore table_04 | TIGERScore-7B | LF-QA | kendall | 33.93
tigerscore table_04 | TIGERScore-13B | Average | kendall | 33.73
tigerscore table_04 | delta (ours - best reference-based) | Instruct | difference | +5
tigerscore table_05 | Summ | Explanation Error? | No | count | 70
tigerscore table_05 | Trans | Overlooked Errors | 4 | count | 22
tigerscore table_05 | D2T | Revision Suggestions | 1 | count | 11
tigerscore table_05 | Instruct | Overall Rating | 5 | count | 27
tigerscore table_05 | Total | Revision Suggestions | 3 | count | 99
tigerscore table_05 | Total | Overall Rating | 5 | count | 120
tigerscore table_06 | Gold reference's score = 0 | TIGERScore-7B | Trans | percent | 3.57
tigerscore table_06 | Gold reference's score = 0 | TIGERScore-13B | LF-QA | percent | 94.50
tigerscore table_06 | Gold reference's score > -2 | TIGERScore-7B | Average | percent | 66.39
tigerscore table_06 | Gold reference's score > -2 | TIGERScore-13B | Story-Gen | percent | 49.00
tigerscore table_06 | Gold reference's score > -2 | TIGERScore-13B | Summ | percent | 97.00
tigerscore table_07 | Accuracy | Summ | accuracy | 95.00
tigerscore table_07 | Accuracy | D2T | accuracy | 90.00
tigerscore table_07 | Accuracy | LF-QA | accuracy | 85.00
tigerscore table_07 | Accuracy | Instruct | accuracy | 75.00
tigerscore table_07 | Accuracy | Total | accuracy | 89.28
tigerscore table_08 | Single Task | MathQA | spearman | 26.75
tigerscore table_08 | Single Task | Average | spearman | 37.75
tigerscore table_08 | Multi Task | D2T | spearman | 45.88
tigerscore table_08 | delta (%) | MathQA | gain_percent | -12.83
tigerscore table_08 | delta (%) | Summ | gain_percent | 3.56
tigerscore table_23 | header | number of errors | count | 2
tigerscore table_23 | header | total score reduction | score_reduction | 6
tigerscore table_23 | error 1 | score reduction | score_reduction | 4
tigerscore table_23 | error 2 | score reduction | score_reduction | 2
tigerscore table_25 | BLEU | Summ | pearson | 11.66
tigerscore table_25 | InstructScore | Trans | pearson | 51.55
tigerscore table_25 | COMET-22 | MathQA | pearson | -5.58
tigerscore table_25 | TIGERScore-7B | LF-QA | pearson | 46.10
tigerscore table_25 | TIGERScore-13B | Average | pearson | 43.28
tigerscore table_25 | delta (ours - best reference-free) | Instruct | difference | +20
tigerscore table_26 | BLEU | Instruct | spearman | 46.61
tigerscore table_26 | BARTScore-cnn (hypo-ref) | Trans | spearman | 28.53
tigerscore table_26 | COMETKiwi | Trans | spearman | 48.48
tigerscore table_26 | GPT-4 (zero-shot) | Average | spearman | 45.15
tigerscore table_26 | TIGERScore-13B | Story-Gen | spearman | 46.36
tigerscore table_26 | delta (ours - best reference-based) | MathQA | difference | -0
prometheus table_01 | FEEDBACK COLLECTION | # Score Rubrics | count | 1K
prometheus table_01 | FEEDBACK COLLECTION | # Instructions & Reference Answer | count | 20K
prometheus table_01 | FEEDBACK COLLECTION | # Instructions & Reference Answer | count_per_rubric | 20
prometheus table_01 | FEEDBACK COLLECTION | # Responses & Feedback | count | 100K
prometheus table_01 | FEEDBACK COLLECTION | # Responses & Feedback | count_per_score | 20K
prometheus table_02 | LLAMA2-CHAT 7B | SEEN CUSTOMIZED RUBRICS | kendall | 0.422
prometheus table_02 | PROMETHEUS 7B | UNSEEN CUSTOMIZED RUBRIC | spearman | 0.849
prometheus table_02 | PROMETHEUS 13B | SEEN CUSTOMIZED RUBRICS | pearson | 0.861
prometheus table_02 | GPT-3.5-TURBO-0613 | UNSEEN CUSTOMIZED RUBRIC | kendall | 0.453
prometheus table_02 | GPT-4 (RECENT) | UNSEEN CUSTOMIZED RUBRIC | spearman | 0.728
prometheus table_03 | LLAMA2-CHAT 13B | MT BENCH | pearson | -0.020
prometheus table_03 | LLAMA2-CHAT 13B + COARSE. | FLASK EVAL | pearson | 0.517
prometheus table_03 | PROMETHEUS 7B | VICUNA BENCH | kendall | 0.365
prometheus table_03 | PROMETHEUS 13B | FLASK EVAL | spearman | 0.455
prometheus table_03 | GPT-4-0613 | MT BENCH | pearson | 0.952
prometheus table_03 | GPT-4 (RECENT) | FLASK EVAL | spearman | 0.794
prometheus table_04 | RANDOM | MT BENCH HUMAN JUDG. | Human Preference | accuracy | 34.26
prometheus table_04 | ALMOST REWARD MODEL | HHH ALIGNMENT | Hon. | accuracy | 78.69
prometheus table_04 | LLAMA2-CHAT 13B + COARSE. | HHH ALIGNMENT | Help. | accuracy | 68.74
prometheus table_04 | PROMETHEUS 7B | HHH ALIGNMENT | Other | accuracy | 90.70
prometheus table_04 | GPT-4-0613 | HHH ALIGNMENT | Total Avg. | accuracy | 88.69
prometheus table_05 | FEEDBACK BENCH (Seen Rubric) | Source / Types of Score Rubric | count | 1K
prometheus table_05 | FEEDBACK BENCH (Unseen Rubric) | Source / Types of Score Rubric | count | 50
prometheus table_05 | Vicuna Bench, MT Bench | Source / Types of Score Rubric | count | 80
prometheus table_05 | Flask Eval | Source / Types of Score Rubric | Logical Thinking | count | 3
prometheus table_05 | Flask Eval | Source / Types of Score Rubric | Problem Handling | count | 4
prometheus table_06 | PROMETHEUS 7B | VICUNA BENCH | pearson | 0.457
prometheus table_06 | Training Ablation | W/O SCORE RUBRIC | VICUNA BENCH | pearson | 0.355
prometheus table_06 | PROMETHEUS 7B | FEEDBACK COLLECTION TEST SET | Seen Score Rubric | pearson | 0.860
prometheus table_06 | Model Ablation | CODE-LLAMA 7B BASELINE | VICUNA BENCH | pearson | 0.470
prometheus table_06 | Training Ablation | W/O REFERENCE ANSWER | VICUNA BENCH | pearson | 0.349
prometheus table_06 | Model Ablation | VICUNA-V1.5 7B BASELINE | VICUNA BENCH | pearson | 0.430
prometheus table_07 | Instruction | Bigram Diversity Ratio | ratio | 0.43
prometheus table_07 | Reference | Trigram Diversity Ratio | ratio | 0.82
prometheus table_07 | Score Rubric | Bigram Diversity Ratio | ratio | 0.60
prometheus table_07 | Responses | Trigram Diversity Ratio | ratio | 0.77
prometheus table_07 | Feedback | Bigram Diversity Ratio | ratio | 0.26
prometheus table_08 | PROMETHEUS 7B | Batch size | setting | 28
prometheus table_08 | PROMETHEUS 13B | Batch size | setting | 20
prometheus table_08 | PROMETHEUS 7B | LR | setting | 1e-5
prometheus table_08 | PROMETHEUS 13B | LR | setting | 1e-5
prometheus table_08 | PROMETHEUS 13B | Max Length (Input & Output) | setting | 4096
prometheus table_09 | Llama-2-Chat-70B | Repetition Penalty | setting | 1.03
prometheus table_09 | PROMETHEUS 13B | Temperature | setting | 1.0
prometheus table_09 | PROMETHEUS 7B | Top-p | setting | 0.9
prometheus table_09 | GPT-4 | Repetition Penalty | setting | -
prometheus table_09 | GPT-3.5-Turbo | Max Output Length | setting | 256
prometheus figure_04 | PROMETHEUS | 45 customized score rubrics | pearson | 0.897
prometheus figure_04 | GPT-4 | 45 customized score rubrics | pearson | 0.882
prometheus figure_04 | GPT-3.5-Turbo | 45 customized score rubrics | pearson | 0.392
prometheus figure_05 | PROMETHEUS over GPT-4 | win rate | percent | 58.62%
prometheus figure_05 | PROMETHEUS over GPT-3.5-Turbo | win rate | percent | 79.57%
prometheus figure_16 | PROMETHEUS | final score | score | 1
prometheus figure_17 | GPT-4 | final score | score | 4
prometheus figure_18 | PROMETHEUS | final score | score | 3
prometheus figure_19 | PROMETHEUS | final score | score | 5
prometheus figure_19 | Code-Llama | score of a criterion | Documentation | score | 2
"""


@pytest.mark.parametrize(("paper", "table"), SHAPES, ids=["-".join(key) for key in SHAPES])
def test_shape(paper, table):
    frame = papers.load(paper, table)
    cells, numeric, rows, columns, statistics = SHAPES[paper, table]
    assert (len(frame), frame["number"].notna().sum()) == (cells, numeric)
    assert (frame["row"].nunique(), frame["column"].nunique()) == (rows, columns)
    assert set(frame["statistic"]) == statistics


def test_spot_values():
    counts = dict.fromkeys(SHAPES, 0)
    for line in SPOTS.strip().splitlines():
        place, _, rest = line.partition(" | ")
        paper, table = place.split()
        key, statistic, printed = rest.rsplit(" | ", 2)
        frame = papers.load(paper, table)
        hits = frame[(frame["row"] + " | " + frame["column"] == key) & (frame["statistic"] == statistic)]
        assert hits["printed"].tolist() == [printed], line
        counts[paper, table] += 1
    scarce = {
        key for key, count in counts.items() if count < min(5, SHAPES[key][0]) and not key[1].startswith("figure")
    }
    assert not scarce


@pytest.mark.parametrize("paper", ["tigerscore", "prometheus"])
def test_index_lists_everything_printed(paper):
    index = papers.index().query("paper == @paper").set_index("id")
    figures, tables = {"tigerscore": (4, 26), "prometheus": (20, 9)}[paper]
    assert set(index.index) == {f"figure_{k:02d}" for k in range(1, figures + 1)} | {
        f"table_{k:02d}" for k in range(1, tables + 1)
    }
    assert all(int(name[-2:]) == int(number) for name, number in index["number"].items())
    transcribed = {table: SHAPES[paper, table][1] for table in papers.tables(paper) if table != "text_claims"}
    assert {name: cells for name, cells in index["cells"].items() if cells} == transcribed
    assert (index.loc[index["kind"] == "numeric", "cells"] > 0).all()
    assert index["title"].str.len().gt(5).all() and index["place"].str.match(r"(section|appendix) \w").all()


@pytest.mark.parametrize(("paper", "count"), [("tigerscore", 76), ("prometheus", 90)])
def test_text_claims_point_at_what_they_repeat(paper, count):
    frame = papers.load(paper, "text_claims").query("statistic != 'text'")
    assert len(frame) == count and frame["number"].notna().all()
    assert set(frame["column"]) - {"none"} <= set(papers.index().query("paper == @paper")["id"])
    assert frame["row"].is_unique
