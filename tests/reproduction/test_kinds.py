"""Every printed number has one kind and is one sort of evidence; reasons for missing
ones are separate.
"""

from __future__ import annotations

from collections import Counter

import pandas as pd
import pytest

from reproduction import papers
from reproduction.papers import gaps, kinds


@pytest.fixture(scope="module")
def printed() -> pd.DataFrame:
    return papers.printed_cells()


def test_every_printed_number_has_a_kind_and_the_kinds_add_up(printed):
    assert set(printed["kind"]) == set(papers.ROW_KINDS)
    assert set(printed["evidence"]) == set(papers.EVIDENCE)
    assert (printed["method"] != "").all()
    assert len(printed) == papers.index()["cells"].sum()
    assert printed["kind"].value_counts().sum() == len(printed)
    own = Counter(printed.loc[printed["kind"] == papers.OWN, "paper"])
    assert set(own) == set(papers.PAPERS)


def test_every_line_of_the_kinds_decides_some_cell(printed):
    """A pattern that fits nothing, or that an earlier line hides, is a slip."""
    lines = kinds.declared("kinds.csv", kinds._KIND_COLUMNS)
    used = set()
    for paper, table, row, column in printed[
        ["paper", "table", "row", "column"]
    ].itertuples(index=False, name=None):
        for position, (*patterns, _, _) in enumerate(lines):
            if kinds.fits((paper, table, row, column), patterns):
                used.add(position)
                break
    texts = [position for position, line in enumerate(lines) if "text_claims" in line]
    assert used | set(texts) == set(range(len(lines)))


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        (("hdeval", "table_02", "50% data | HD-Eval-NN", "coherence"), "own method"),
        (("hdeval", "table_05", "50% data | HD-Eval-RF", "SFHOT"), "ablation"),
        (("hdeval", "table_07", "20% data | Llama2-70B-Chat", "fluency"), "LLM judge"),
        (("semscore", "table_02", "GPT-4", "SemScore"), "own method"),
        (("semscore", "table_06", "example 1", "ROUGE-L"), "lexical metric"),
        (("semscore", "table_04", "SemScore_DeBERTa-CLS", "all tasks"), "ablation"),
        (("tigerscore", "table_04", "COMET-22", "Summ"), "learned metric"),
        (("prometheus", "table_03", "GPT-4-0613", "MT BENCH"), "LLM judge"),
        (("coascore", "table_07", "Overall Quality", "Human"), "human"),
    ],
)
def test_kinds_of_rows_that_could_be_mistaken(place, kind):
    assert kinds.kind_of(*place)[0] == kind


def test_a_row_without_a_kind_is_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"table_01.*no kind; add a line to .*kinds"):
        kinds.kind_of("hdeval", "table_01", "MoverScore", "coherence")


@pytest.mark.parametrize(
    ("place", "sort"),
    [
        (("coascore", "table_12", "BLEU", "coherence", "spearman"), "reprint"),
        (("coascore", "table_03", "BLEU", "coherence", "spearman"), "distinct"),
        (("coascore", "table_03", "BLEU", "average", "spearman"), "average"),
        (("tigerscore", "figure_03", "Mix", "Summ", "spearman"), "reprint"),
        (
            ("hdeval", "table_04", "50% data | HD-Eval-NN", "SFHOT", "pearson"),
            "reprint",
        ),
        (("coascore", "table_01", "BAGEL", "size", "count"), "size"),
        (
            ("semscore", "table_06", "example 1", "ROUGE-L", "score"),
            "single example",
        ),
        (
            (
                "hdeval",
                "table_06",
                "50% data | Llama2-7B-Chat | Gain (%)",
                "coherence",
                "gain_percent_pearson",
            ),
            "difference",
        ),
    ],
)
def test_what_an_equal_number_is_evidence_of(place, sort):
    assert kinds.evidence_of(*place) == sort


def test_four_kinds_of_gaps_are_told_apart():
    for kind in gaps.GAPS:
        assert papers.gap_of(papers.gap(kind, "no matter what")) == kind
    assert papers.gap_of("the store has no completions of m") == papers.NEEDS_RUN
    assert papers.gap_of("its ratings were not published") == papers.NOT_PUBLISHED
    assert papers.gap_of("no evaluator here runs its model") == "other"
    with pytest.raises(ValueError, match="one of not published, published elsewhere"):
        papers.gap("lost", "x")


def test_the_first_words_name_the_own_method_and_what_would_test_it():
    empty = pd.DataFrame(columns=["row", "column", "statistic", "value"])
    words = papers.in_words(papers.compare("hdeval", "table_02", empty))
    assert words.startswith(
        "HD-Eval's own rows: not tested (0 of 20; needs gpt-4-32k through its API)."
    )
    assert "equal" not in words


def test_a_count_that_shuffled_numbers_reach_is_no_support():
    found = {"recomputed": 4, "recomputed_equal": 4, "recomputed_shuffled": 2.0}
    assert papers.outcome(found, "recomputed").endswith(papers.counting.UNTOLD)
    found["recomputed_shuffled"] = 0.4
    assert papers.outcome(found, "recomputed") == "4 of 4 equal (chance: 0.4)"
