"""The catalogue: what is read, and what each fault is told as."""

from __future__ import annotations

import pytest
from cli_tools import cases
from runner_tools import Checkout

from reproduction.study import catalogue

GOOD = """
[[output]]
id = "one"
paper = "hdeval"
covers = ["table_01", "figure_01"]
notebook = "one.ipynb"
route = "public"
inputs = ["summeval"]
parameters = {seed = 3}
title = "First"
after = ["two"]

[[output]]
id = "two"
paper = "meta"
notebook = "one.ipynb"
route = "mini"

[[row]]
paper = "hdeval"
id = "table_02"
status = "needs GPU"
reason = "model X on data Y: nlgeval completions"
"""


@pytest.fixture
def here(here) -> Checkout:
    here.notebook("one", "x = 1")
    return here


def test_what_is_read(here):
    here.catalogue(GOOD)
    listed = catalogue.load()
    one, two = listed.outputs
    assert (one.covers, one.inputs, dict(one.parameters)) == (
        ("table_01", "figure_01"),
        ("summeval",),
        {"seed": 3},
    )
    assert (one.route, one.title, one.after, one.saves) == (
        "public",
        "First",
        ("two",),
        True,
    )
    assert two.paper == "meta" and two.covers == ()
    assert listed.rows == (
        catalogue.Row(
            "hdeval", "table_02", "needs GPU", "model X on data Y: nlgeval completions"
        ),
    )
    assert listed["one"].path == here.root / "notebooks" / "one.ipynb"


@pytest.mark.parametrize("case", cases("catalogue_faults"), ids=str)
def test_faults_are_told(here, case):
    assert case["old"] in GOOD
    here.catalogue(GOOD.replace(case["old"], case["new"], 1))
    with pytest.raises(catalogue.CatalogueError) as caught:
        catalogue.load()
    assert case["said"] in str(caught.value)


def test_who_only_asks_judges_needs_no_notebook(here):
    here.catalogue(GOOD)
    whole = catalogue.load()
    for entry in whole.outputs:
        entry.path.unlink(missing_ok=True)
    assert catalogue.load(notebooks=False) == whole
    with pytest.raises(catalogue.CatalogueError, match=r"no notebooks/one\.ipynb"):
        catalogue.load()


def test_all_faults_at_once(here):
    here.catalogue(
        GOOD.replace('"public"', '"x"')
        .replace('"First"', "7")
        .replace('"needs GPU"', '"y"')
    )
    with pytest.raises(
        catalogue.CatalogueError,
        match=r"(?s)3 fault\(s\).*route: Input.*title: Input.*status: Input",
    ):
        catalogue.load()


def test_selecting(here):
    here.catalogue(GOOD)
    listed = catalogue.load()
    assert [entry.id for entry in listed.select()] == ["one", "two"]
    assert [entry.id for entry in listed.select(["two"])] == ["two"]
    assert [entry.id for entry in listed.select([], ["hdeval"])] == ["one"]
    assert [entry.id for entry in listed.select(["two"], ["hdeval"])] == ["one", "two"]
    assert listed.select(["scoreboard"]) == ()
    with pytest.raises(
        catalogue.CatalogueError, match=r"no output 'tow'.*did you mean 'two'"
    ):
        listed.select(["tow"])
    with pytest.raises(catalogue.CatalogueError, match="unknown paper 'bleu'"):
        listed.select([], ["bleu"])


def test_the_real_catalogue_holds(monkeypatch):
    """Every entry of this checkout: its notebook reads strictly, takes its
    parameters, and has known inputs.
    """
    monkeypatch.delenv("NLGEVAL_ROOT", raising=False)
    from reproduction.report import notebook
    from reproduction.runner import stale

    listed = catalogue.load()
    for entry in listed.outputs:
        source = notebook.read(entry.path)
        assert "mode" in source.parameters, entry.id
        source.resolve(entry.parameters, {"mode": "full"})
        stale.parts(entry, listed, "full")
