"""`nlgeval sweep`: points, their folders, resuming, and the joined table."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from cli_tools import call, refused
from hypothesis import given
from hypothesis import strategies as st
from runner_tools import Checkout

from nlgeval_lib.runner import trials

PARAMETERS = """mode = "full"  # share
n = 1  # a count
share = 0.5  # of the data
kinds = ["a"]  # some kinds
name = "x"  # any"""
SAVES = """from nlgeval_lib import report
import pandas as pd
if n == 13: raise ValueError("thirteen")
out = report.Output("one", mode=mode, parameters=dict(n=n))
cells = out.compare(pd.DataFrame([dict(row="BLEU", column="A", statistic="accuracy", value=0.5)]), reason="none")
out.frame(pd.DataFrame({"n": [1, 2], "value": [n * share, n + len(kinds)], "same": "text"}), "some")
out.save()"""


@pytest.fixture
def here(here) -> Checkout:
    here.output("one", SAVES, parameters=PARAMETERS)
    return here


@pytest.fixture
def nl(here, monkeypatch, capsys):
    return lambda *arguments: call(monkeypatch, capsys, "sweep", *arguments)


def test_every_combination_in_one_table(here, nl):
    got = nl("one", "-p", "n=2,4", "-p", "share=0.25,1")
    assert got.code == 0 and here.count("one") == 4, got
    some = pd.read_csv(here.result("sweeps/one/one__some.csv"))
    assert list(some.columns) == ["n (parameter)", "share", "n", "value", "same"]
    assert some[["n (parameter)", "share"]].drop_duplicates().values.tolist() == [[2, 0.25], [2, 1], [4, 0.25], [4, 1]]
    assert some["value"].tolist() == [0.5, 3, 2, 3, 1, 5, 4, 5]
    cells = pd.read_csv(here.result("sweeps/one/one.csv"))
    assert len(cells) == 4 * 2 and list(cells.columns[:3]) == ["n (parameter)", "share", "paper"]
    assert not here.result("hdeval").exists() and not here.result("partial").exists()
    assert "n (parameter)  share  row" in got.out and "signature" not in got.out


def test_only_what_is_missing_or_changed_is_run(here, nl):
    nl("one", "-p", "n=2,4")
    got = nl("one", "-p", "n=2,4,6")
    assert here.count("one") == 3 and got.out.count("cached") == 2
    assert (
        nl("one", "-p", "n=2,8", "--dry-run").out.split() == ["there", "n=2", "run", "n=8"] and here.count("one") == 3
    )
    (here.result("sweeps/one/n=4/results/partial/hdeval/one__some.csv")).unlink()
    nl("one", "-p", "n=2,4,6")
    assert here.count("one") == 4
    path = here.root / "notebooks" / "one.ipynb"
    path.write_text(path.read_text().replace("same", "other"))
    nl("one", "-p", "n=2")
    assert here.count("one") == 5
    nl("one", "-p", "n=2", "--force")
    assert here.count("one") == 6


def test_a_point_that_fails_does_not_stop_the_others(here, nl):
    got = nl("one", "-p", "n=12,13,14", "--table", "some")
    assert got.code == 1 and "ValueError: thirteen" in got.out
    assert sorted(set(pd.read_csv(here.result("sweeps/one/one__some.csv"))["n (parameter)"])) == [12, 14]
    assert "n (parameter)" in got.out and "BLEU" not in got.out.rpartition("thirteen")[2]
    nl("one", "-p", "n=12,13,14")
    assert here.count("one") == 4


def test_quick_is_kept_apart(here, nl):
    nl("one", "-p", "n=2", "--mode", "quick")
    assert here.result("sweeps/quick/one/one.csv").exists() and not here.result("sweeps/one").exists()
    record = json.loads(here.result("sweeps/quick/one/n=2/results/partial/hdeval/one.json").read_text())
    assert record["mode"] == "quick" and record["parameters"] == {"n": 2}


@pytest.mark.parametrize(("arguments", "said"), refused("sweep"))
def test_wrong_calls_end_with_2(nl, here, arguments, said):
    got = nl(*arguments)
    assert got.code == 2 and said in got.err.replace("\n", " ") and here.count("one") == 0


def test_values_with_commas_of_their_own(here, nl):
    assert trials.values("['a','b'],['c']") == ["['a', 'b']", "['c']"]
    assert trials.values('"x, y","z"') == ["x, y", "z"]
    nl("one", "-p", "kinds=['a','b'],['c']", "-p", "name=p/../q,r s")
    assert here.count("one") == 4
    some = pd.read_csv(here.result("sweeps/one/one__some.csv"))
    assert set(some["kinds"]) == {"['a', 'b']", "['c']"} and set(some["name"]) == {"p/../q", "r s"}
    inside = {path.parent.parent.name for path in here.root.rglob("point.json")}
    assert inside == {"one"}


@given(st.lists(st.integers() | st.floats(allow_nan=False), min_size=1, unique_by=str))
def test_numbers_are_split_as_they_were_joined(numbers):
    assert trials.values(",".join(map(str, numbers))) == [str(number) for number in numbers]


@given(st.lists(st.lists(st.text("ab,'", max_size=3), max_size=3), min_size=1, unique_by=str))
def test_lists_are_split_as_they_were_joined(lists):
    assert trials.values(",".join(map(repr, lists))) == [repr(one) for one in lists]
