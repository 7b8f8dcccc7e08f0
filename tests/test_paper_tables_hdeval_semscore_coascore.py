"""HD-Eval's, SemScore's and CoAScore's printed tables are transcribed whole and digit by digit."""

from __future__ import annotations

import pytest

from nlgeval_lib import papers

# rows, columns, statistics, cells
SHAPES = {
    ("hdeval", "table_01"): (11, 5, 2, 110),
    ("hdeval", "table_02"): (11, 5, 2, 110),
    ("hdeval", "table_03"): (11, 3, 2, 66),
    ("hdeval", "table_04"): (5, 3, 2, 30),
    ("hdeval", "table_05"): (8, 3, 2, 48),
    ("hdeval", "table_06"): (16, 4, 4, 128),
    ("hdeval", "table_07"): (24, 4, 4, 192),
    ("hdeval", "table_08"): (7, 3, 2, 42),
    ("hdeval", "table_09"): (6, 4, 2, 48),
    ("semscore", "table_01"): (1, 3, 2, 3),
    ("semscore", "table_02"): (12, 10, 1, 120),
    ("semscore", "table_03"): (11, 1, 2, 22),
    ("semscore", "table_04"): (4, 1, 2, 8),
    ("semscore", "table_05"): (9, 15, 1, 135),
    ("semscore", "table_06"): (5, 5, 2, 25),
    ("coascore", "table_01"): (5, 2, 2, 10),
    ("coascore", "table_02"): (10, 4, 3, 120),
    ("coascore", "table_03"): (9, 5, 1, 45),
    ("coascore", "table_04"): (9, 5, 1, 45),
    ("coascore", "table_05"): (5, 5, 1, 25),
    ("coascore", "table_06"): (6, 1, 3, 18),
    ("coascore", "table_07"): (6, 4, 1, 8),
    ("coascore", "table_12"): (9, 4, 3, 108),
    ("coascore", "table_13"): (9, 4, 3, 108),
    ("coascore", "table_14"): (6, 4, 1, 8),
    ("coascore", "table_15"): (6, 4, 1, 8),
}

# read off the papers: row; column; statistics; values
SPOTS = {
    ("hdeval", "table_01"): """
        ROUGE-1; coherence; pearson spearman; 0.178 0.168
        ROUGE-2; fluency; pearson spearman; 0.029 -0.006
        CTC; relevance; pearson spearman; 0.259 0.127
        GPT-4 Eval; average; pearson spearman; 0.538 0.513
        25% data | HD-Eval-NN; consistency; pearson spearman; 0.573 0.457
        50% data | HD-Eval-NN; consistency; pearson spearman; 0.604 0.451
        50% data | HD-Eval-NN; average; pearson spearman; 0.617 0.535""",
    ("hdeval", "table_02"): """
        ROUGE-1; naturalness; pearson spearman; 0.158 0.143
        PRISM; naturalness; pearson spearman; 0.040 -0.010
        BartScore; groundedness; pearson spearman; -0.217 -0.197
        UniEval; engagingness; pearson spearman; 0.573 0.615
        25% data | HD-Eval-NN; groundedness; pearson spearman; 0.471 0.498
        50% data | HD-Eval-NN; average; pearson spearman; 0.616 0.638""",
    ("hdeval", "table_03"): """
        ROUGE-1; SFRES; pearson spearman; 0.074 0.092
        ROUGE-L; average; pearson spearman; 0.063 0.043
        BartScore; SFHOT; pearson spearman; 0.133 0.095
        CTC; SFHOT; pearson spearman; 0.181 0.160
        25% data | HD-Eval-NN; SFRES; pearson spearman; 0.453 0.363
        50% data | HD-Eval-NN; average; pearson spearman; 0.490 0.411""",
    ("hdeval", "table_04"): """
        50% data | HD-Eval-NN; SFHOT; pearson spearman; 0.510 0.432
        50% data | w/o Layer 3; TopicalChat; pearson spearman; 0.600 0.624
        50% data | w/o Layer 2,3; SummEval; pearson spearman; 0.576 0.516
        50% data | w/o Layer 1,2,3; TopicalChat; pearson spearman; 0.567 0.590
        50% data | w/o Aggregator; SFHOT; pearson spearman; 0.406 0.313""",
    ("hdeval", "table_05"): """
        25% data | HD-Eval-LR; SummEval; pearson spearman; 0.568 0.521
        25% data | HD-Eval-NN; TopicalChat; pearson spearman; 0.591 0.621
        50% data | HD-Eval-LR; SFHOT; pearson spearman; 0.512 0.443
        50% data | HD-Eval-DT; SFHOT; pearson spearman; 0.330 0.274
        50% data | HD-Eval-RF; TopicalChat; pearson spearman; 0.615 0.626""",
    ("hdeval", "table_06"): """
        50% data | Llama2-7B-Chat; naturalness; pearson spearman; 0.078 0.233
        50% data | Llama2-7B-Chat | Gain (%); naturalness; gain_percent_pearson gain_percent_spearman; 355.1 61.8
        50% data | Llama2-13B-Chat | +HD-Eval-RF; engagingness; pearson spearman; 0.528 0.524
        80% data | Llama2-7B-Chat; groundedness; pearson spearman; 0.105 0.073
        80% data | Llama2-7B-Chat | Gain (%); naturalness; gain_percent_pearson gain_percent_spearman; 2233.3 149.7
        80% data | Llama2-13B-Chat | +HD-Eval-NN; coherence; pearson spearman; 0.470 0.505
        80% data | Llama2-13B-Chat | Gain (%); groundedness; gain_percent_pearson gain_percent_spearman; 10.3 -1.6""",
    ("hdeval", "table_07"): """
        20% data | Llama2-7B-Chat; consistency; pearson spearman; 0.008 0.005
        20% data | Llama2-7B-Chat | Gain (%); consistency; gain_percent_pearson gain_percent_spearman; 1525.0 1120.0
        20% data | Llama2-70B-Chat | +HD-Eval-NN; relevance; pearson spearman; 0.451 0.421
        50% data | Llama2-7B-Chat; fluency; pearson spearman; 0.001 0.032
        50% data | Llama2-7B-Chat | Gain (%); fluency; gain_percent_pearson gain_percent_spearman; 6100.0 71.9
        50% data | Llama2-13B-Chat | +HD-Eval-RF; coherence; pearson spearman; 0.296 0.230
        50% data | Llama2-70B-Chat | Gain (%); relevance; gain_percent_pearson gain_percent_spearman; 70.5 84.6""",
    ("hdeval", "table_08"): """
        summary 1; Human; score rank; 2.33 4
        summary 3; GPT-4; score rank; 2.0 3
        summary 4; HD-Eval; score rank; 3.34 1
        summary 6; HD-Eval; score rank; 3.89 0
        summary 7; Human; score rank; 1.00 6""",
    ("hdeval", "table_09"): """
        HD-Eval (Ours) - Average of Human; consistency; pearson spearman; 0.604 0.457
        Expert1-Expert2; coherence; pearson spearman; 0.737 0.725
        Expert2-Expert3; relevance; pearson spearman; 0.501 0.473
        Average Human-Human corr.; fluency; pearson spearman; 0.720 0.580
        Average MTurk-Expert corr.; consistency; pearson spearman; -0.005 -0.025
        Average MTurk-Expert corr.; relevance; pearson spearman; 0.065 0.090""",
    ("semscore", "table_01"): """
        example; ROUGE-L; score; 0.143
        example; BLEU; score; 6.57""",
    ("semscore", "table_02"): """
        GPT-4; BLEU; rank; 6
        gpt-3.5-turbo; SemScore; rank; 4
        Alpaca; G-Eval-4; rank; 11
        Alpaca; DiscoScore; rank; 1
        GPT-3+T0; BARTScore_para; rank; 12
        Vanilla GPT-3; BLEURT; rank; 1
        LLaMA; Human; rank; 12""",
    ("semscore", "table_03"): """
        SemScore; all tasks; kendall pearson; 0.879 0.970
        G-Eval-4; all tasks; kendall pearson; 0.855 0.863
        G-Eval-3.5-instruct; all tasks; kendall pearson; 0.840 0.911
        BARTScore; all tasks; kendall pearson; 0.788 0.621
        DiscoScore; all tasks; kendall pearson; 0.364 0.583""",
    ("semscore", "table_04"): """
        SemScore_DeBERTa-Mean; all tasks; kendall pearson; 0.870 0.929
        BERTScore; all tasks; kendall pearson; 0.848 0.944
        SemScore_DeBERTa-CLS; all tasks; kendall pearson; 0.756 0.892""",
    ("semscore", "table_05"): """
        SemScore; Grammarly; kendall; 0.548
        SemScore; Overleaf; kendall; 0.333
        G-Eval-4; Messenger; kendall; 0.816
        ROUGE-L; LeetCode; kendall; 0.183
        DiscoScore; StackOverflow; kendall; 0.913
        DiscoScore; Twitter; kendall; 0.333""",
    ("semscore", "table_06"): """
        example 1; SemScore; score; 0.722
        example 2; ROUGE-L; score; 0.222
        example 3; SemScore; score; 0.49
        example 4; G-Eval-4; score; 4
        example 4; ROUGE-L; score; 0
        example 5; BERTScore; score; 0.855""",
    ("coascore", "table_01"): """
        SummEval; size; count; 1,600
        TopicalChat; size; count; 300
        OpenMEVA; size; count; 1,000
        BAGEL; size; count; 404
        IWSLT14; size; count; 1,000""",
    ("coascore", "table_02"): """
        BLEU; OpenMEVA; pearson spearman kendall; -0.006 -0.012 -0.009
        METEOR; TopicalChat; pearson spearman kendall; 0.364 0.367 0.257
        BARTScore; BAGEL; pearson spearman kendall; 0.045 0.010 0.007
        LLMScore_CoT; IWSLT14; pearson spearman kendall; 0.564 0.566 0.446
        CoAScore (n=5); BAGEL; pearson spearman kendall; 0.409 0.347 0.272
        CoAScore (n=20); TopicalChat; pearson spearman kendall; 0.634 0.641 0.479""",
    ("coascore", "table_03"): """
        BLEU; coherence; spearman; 0.110
        BERTScore; relevance; spearman; 0.361
        LLMScore; consistency; spearman; 0.366
        CoAScore (n=5); average; spearman; 0.413
        CoAScore (n=10); coherence; spearman; 0.541
        CoAScore (n=20); fluency; spearman; 0.308""",
    ("coascore", "table_04"): """
        BLEU; natural; spearman; 0.171
        METEOR; interest; spearman; 0.406
        LLMScore; interest; spearman; 0.549
        CoAScore (n=5); average; spearman; 0.552
        CoAScore (n=20); context; spearman; 0.553""",
    ("coascore", "table_05"): """
        LLMScore; overall; spearman; 0.592
        CoAScore_inter; natural; spearman; 0.494
        CoAScore_inter; context; spearman; 0.399
        CoAScore (n=10); interest; spearman; 0.507
        CoAScore (n=20); overall; spearman; 0.641""",
    ("coascore", "table_06"): """
        CoAScore_average (n=5); OpenMEVA; pearson spearman kendall; 0.316 0.315 0.238
        CoAScore (n=5); OpenMEVA; pearson spearman kendall; 0.295 0.316 0.237
        CoAScore_average (n=20); OpenMEVA; pearson spearman kendall; 0.402 0.401 0.288""",
    ("coascore", "table_07"): """
        Relevance; relevant aspect; score; 5.0
        Completeness; relevant aspect; score; 4.0
        Overall Quality; LLMScore; score; 3.0
        Overall Quality; CoAScore; score; 5.0
        Overall Quality; Human; score; 5.0""",
    ("coascore", "table_12"): """
        BLEU; coherence; pearson spearman kendall; 0.115 0.110 0.077
        METEOR; relevance; pearson spearman kendall; 0.305 0.290 0.209
        BERTScore; relevance; pearson spearman kendall; 0.370 0.362 0.261
        LLMScore; fluency; pearson spearman kendall; 0.480 0.362 0.338
        CoAScore (n=20); consistency; pearson spearman kendall; 0.462 0.340 0.297""",
    ("coascore", "table_13"): """
        ROUGE; natural; pearson spearman kendall; 0.170 0.145 0.103
        BARTScore; interest; pearson spearman kendall; 0.412 0.436 0.308
        LLMScore; understandable; pearson spearman kendall; 0.387 0.410 0.367
        CoAScore (n=10); interest; pearson spearman kendall; 0.432 0.507 0.420
        CoAScore (n=20); context; pearson spearman kendall; 0.539 0.553 0.441""",
    ("coascore", "table_14"): """
        Accuracy; relevant aspect; score; 5.0
        Completeness; relevant aspect; score; 4.0
        Overall Quality; LLMScore; score; 3.0
        Overall Quality; CoAScore; score; 5.0
        Overall Quality; Human; score; 5.0""",
    ("coascore", "table_15"): """
        Logical flow; relevant aspect; score; 4.0
        Cohesive devices; relevant aspect; score; 3.0
        Overall Quality; LLMScore; score; 2.0
        Overall Quality; CoAScore; score; 4.0
        Overall Quality; Human; score; 5.0""",
}


@pytest.mark.parametrize("paper", ["hdeval", "semscore", "coascore"])
def test_every_table_with_numbers_is_here(paper):
    assert {(paper, table) for table in papers.tables(paper)} - {(paper, "text_claims")} == {
        key for key in SHAPES if key[0] == paper
    }


@pytest.mark.parametrize(("paper", "table"), SHAPES)
def test_no_row_column_or_cell_is_lost(paper, table):
    frame = papers.load(paper, table)
    counts = frame[["row", "column", "statistic"]].nunique()
    assert (*counts, len(frame)) == SHAPES[paper, table]


@pytest.mark.parametrize(("paper", "table"), SPOTS)
def test_spot_values_are_as_printed(paper, table):
    printed = papers.load(paper, table).set_index(["row", "column", "statistic"])["printed"]
    for line in SPOTS[paper, table].strip().splitlines():
        row, column, statistics, values = (part.strip() for part in line.split(";"))
        for statistic, value in zip(statistics.split(), values.split(), strict=True):
            assert printed[row, column, statistic] == value


def test_semscore_grades_are_kept_as_words():
    grades = papers.load("semscore", "table_06").query("statistic == 'grade'").set_index("row")["printed"]
    assert grades.to_dict() == {f"example {n + 1}": grade for n, grade in enumerate("ACADB")}
    example = papers.load("semscore", "table_01").query("statistic == 'grade'")
    assert example["printed"].tolist() == ["A (best)"]


def test_coascore_names_the_aspects_of_each_data_set():
    words = papers.load("coascore", "table_01").query("statistic == 'text'").set_index("row")["printed"]
    assert words["SummEval"] == "Coherence, Consistency, Fluency, Relevance"
    assert words["TopicalChat"].split(", ") == ["Overall", "Natural", "Context", "Understandable", "Engaging"]
    assert set(words[["OpenMEVA", "BAGEL", "IWSLT14"]]) == {"Overall"}


@pytest.mark.parametrize(
    ("paper", "row", "value"),
    [
        ("hdeval", "appendix D: rankings that HD-Eval matches exactly", 36.7),
        ("hdeval", "appendix D: rankings that GPT-4 Eval matches exactly", 24.8),
        ("hdeval", "section 3.2: Pearson gain over GPT-4 Eval, average on SummEval", 15),
        ("semscore", "appendix A.4: agreement of the raters", 0.63),
        ("semscore", "section 2: instructions", 252),
        ("coascore", "abstract: aspects", 9),
    ],
)
def test_numbers_in_the_text(paper, row, value):
    claims = papers.load(paper, "text_claims").set_index("row")["number"]
    assert claims[row] == value
