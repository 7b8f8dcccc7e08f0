"""One item on its way through a judge's method, told from recorded answers."""

from __future__ import annotations

import pytest
from public_data import needs

from nlgeval_lib import datasets, files
from nlgeval_lib.engines.store import Store
from reproduction.report import shared_run
from reproduction.study import walk

SHARED = f"{shared_run.PLACE}/{walk.OPEN_MODEL}.zip"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory):
    """A state folder whose store has the shared completions."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NLGEVAL_HOME", str(folder))
        with Store(files.state("completions")) as completions:
            shared_run.take_in(files.located(SHARED), completions)
        yield folder


def test_a_chain_is_told_in_its_stages_without_the_texts_of_the_data(store) -> None:
    needs("topical_chat")
    name = "CoAScore (n=5), topical_chat"
    aspects = ["understandability"]
    told = walk.one_item(
        "coascore_tables_04_13", name, walk.OPEN_MODEL, aspects=aspects, item=7
    )
    stages = ["-- 1. aspects --", "-- 2. aspect scores --", "-- 3. score --"]
    places = [told.index(stage) for stage in stages]
    assert places == sorted(places)
    assert told.endswith("Score of coascore: 3")
    rows = datasets.load("topical_chat")
    for column in ("source", "output", "context"):
        for text in rows[column].unique():
            if len(text) >= walk.SHORTEST:
                assert text.strip() not in told
        assert f"{{{column}}}" in told


def test_criteria_are_told_with_the_scores_that_are_joined(store) -> None:
    needs("topical_chat")
    told = walk.one_item(
        "hdeval_table_02",
        "topical_chat",
        walk.OPEN_MODEL,
        settings=["aggregator=average"],
    )
    _, _, scores = told.partition("What is read, criteria:\n")
    listed, _, score = scores.partition("\n\nScore of hdeval: ")
    parts = " ".join(listed.split()).split(", ")
    values = [float(part.split()[-1]) for part in parts]
    assert len(values) == 31
    assert sum(values) / len(values) == pytest.approx(float(score), abs=1e-4)


def test_an_item_whose_texts_are_not_here_is_told(store) -> None:
    told = walk.one_item("hdeval_table_02", "topical_chat", walk.OPEN_MODEL)
    assert told.startswith("This item cannot be shown here: ")


def test_a_store_without_such_answers_is_told(tmp_path, monkeypatch) -> None:
    needs("topical_chat")
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path))
    told = walk.one_item("hdeval_table_02", "topical_chat", walk.OPEN_MODEL)
    assert told.startswith("This item cannot be shown here: ")
