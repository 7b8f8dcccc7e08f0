"""Why cells are empty: every one has one fact, of one of four kinds."""

from __future__ import annotations

import pandas as pd
import pytest

from nlgeval_lib import files
from nlgeval_lib.datasets import registry
from reproduction import papers
from reproduction.papers import gaps, published

CELLS = [
    # paper, table, row, column, kind of reason
    ("hdeval", "table_01", "UniEval", "fluency", gaps.ELSEWHERE),
    ("hdeval", "table_01", "CTC", "fluency", gaps.NEEDS_WEIGHTS),
    ("hdeval", "table_02", "BertScore", "coherence", gaps.NEEDS_WEIGHTS),
    ("hdeval", "table_03", "PRISM", "SFHOT", gaps.ELSEWHERE),
    ("hdeval", "table_01", "50% data | HD-Eval-NN", "relevance", gaps.NEEDS_RUN),
    ("prometheus", "table_03", "PROMETHEUS 7B", "FLASK EVAL", gaps.ELSEWHERE),
    ("prometheus", "table_03", "PROMETHEUS 7B", "MT BENCH", gaps.NEEDS_RUN),
    ("prometheus", "table_03", "GPT-4-0613", "MT BENCH", gaps.NOT_PUBLISHED),
    ("tigerscore", "table_04", "BLEU", "LF-QA", gaps.ELSEWHERE),
    ("tigerscore", "table_04", "BERTScore", "Trans", gaps.NEEDS_WEIGHTS),
    ("tigerscore", "table_05", "Summ", "Overall Rating | 1", gaps.NOT_PUBLISHED),
    ("coascore", "table_02", "BLEU", "IWSLT14", gaps.NOT_PUBLISHED),
]


@pytest.mark.parametrize(("paper", "table", "row", "column", "kind"), CELLS)
def test_an_empty_cell_begins_with_its_kind_of_reason(paper, table, row, column, kind):
    nothing = pd.DataFrame(columns=["row", "column", "statistic", "value"])
    cells = papers.compare(paper, table, nothing)
    here = cells[(cells["row"] == row) & (cells["column"] == column)]
    assert len(here) and set(map(papers.gap_of, here["reason"])) == {kind}


def test_facts_are_of_printed_cells_and_registered_files():
    known = registry.entries()
    for fact in published.facts():
        printed = papers.load(fact.paper, fact.table)
        for name in ("row", "column"):
            value = getattr(fact, name)
            assert value == published.EVERY or value in set(printed[name]), fact
        for place in fact.places:
            assert place.startswith("https://") or known[place].optional, fact


def test_every_file_that_serves_a_printed_cell_is_named():
    named = {place for fact in published.facts() for place in fact.places}
    optional = {path for path, one in registry.entries().items() if one.optional}
    assert optional == {place for place in named if "://" not in place}


def test_every_empty_cell_of_the_results_has_a_fact():
    lacking = []
    for path in sorted(files.results().glob("*/*.csv")):
        if path.parent.name not in papers.PAPERS or "__" in path.stem:
            continue
        cells = pd.read_csv(path, keep_default_na=False)
        if "verdict" not in cells:
            continue
        for cell in cells[cells["verdict"] == "missing"].itertuples():
            if published.fact(cell.paper, cell.table, cell.row, cell.column) is None:
                lacking.append((cell.paper, cell.table, cell.row, cell.column))
    assert not lacking, lacking[:20]


FACT = published.Fact(
    "hdeval", "table_01", "CTC", "*", gaps.NEEDS_WEIGHTS, "CTC's models"
)


@pytest.mark.parametrize(
    ("fact", "said", "reason"),
    [
        (FACT, "", "needs weights: CTC's models"),
        (FACT, "needs weights: 2 files", "needs weights: 2 files"),
        (FACT, "needs a run: x", "needs weights: CTC's models; needs a run: x"),
        (None, "why not", "why not"),
    ],
)
def test_a_fact_stands_before_what_a_run_found(fact, said, reason):
    assert published.explained(fact, said) == reason


def test_where_a_file_is_published_is_told_by_address_and_command():
    fact = published.fact(
        "prometheus", "table_02", "PROMETHEUS 7B", "SEEN CUSTOMIZED RUBRICS"
    )
    entry = registry.entry(fact.detail)
    assert fact.text() == (
        f"published elsewhere: {entry.url}, not here; "
        f"to get it: nlgeval data --fetch {entry.path}"
    )


def test_a_fact_of_an_unknown_kind_is_refused(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    text = ",".join(published.FIELDS) + "\nhdeval,table_01,CTC,*,lost,nothing\n"
    (tmp_path / "data" / "published.csv").write_text(text)
    monkeypatch.setenv("NLGEVAL_ROOT", str(tmp_path))
    with pytest.raises(ValueError, match="a reason is one of"):
        published.facts()
