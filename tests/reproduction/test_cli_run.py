"""The command line: its help, exit codes and messages."""

from __future__ import annotations

import functools
import json
import subprocess
import sys

import pandas as pd
import pytest
from cli_tools import refused
from hypothesis import given
from hypothesis import strategies as st

from reproduction.runner import trials


@pytest.mark.parametrize(("arguments", "said"), refused("run"))
def test_wrong_calls_end_with_2_and_say_why(here, command, arguments, said):
    (here.root / "data" / "registry.csv").write_text(
        "path,url,sha256,bytes,licence,repository,commit\n"
    )
    here.output("good")
    code, _, err = command(*arguments)
    assert code == 2
    assert said in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err


def test_a_bad_catalogue_ends_with_2(here, command):
    here.output("good", more='rote = "x"')
    code, _, err = command("run")
    assert code == 2 and "output 'good': rote: Unexpected keyword" in err


def test_results_that_cannot_be_written_end_with_1(here, command):
    here.output("good")
    here.result("").write_text("in the way")
    code, _, err = command("run")
    assert code == 1 and "cannot write" in err and "Traceback" not in err


def test_dry_run_and_trial(here, command):
    here.output("good")
    code, out, _ = command("run", "--dry-run")
    assert (code, out) == (0, "run      good  (never run here)\n") and not here.result(
        ""
    ).exists()
    here.output("bad", more="parameters = {sed = 1}")
    code, out, _ = command("run", "bad", "--dry-run")
    assert code == 0 and out.startswith("refused  bad") and "'sed'" in out
    code, out, _ = command("run", "good", "-p", "seed=x")
    assert code == 1 and "asks for int" in out


def test_a_result_shrinks_only_when_told_to(here, command):
    path = here.output("good")
    whole = path.read_text()
    more = "value=0.5), dict(row='ROUGE', column='A', statistic='accuracy', value=0.25)"
    path.write_text(whole.replace("value=0.5)", more))
    command("run")
    path.write_text(whole)
    code, out, _ = command("run")
    assert (
        code == 0
        and "1 cell of good.csv (ROUGE) would be lost (nlgeval run good --replace"
        in out
    )
    assert out.splitlines()[-1].startswith(
        "1 run, 0 cached, 1 cell of 1 outputs not made again, kept from earlier in"
    )
    assert pd.read_csv(here.result("hdeval/good.csv"))["ours"].notna().sum() == 2
    code, out, _ = command("run")
    assert (
        "0 run, 1 cached, 1 cell of 1 outputs" in out.splitlines()[-1]
        and "0 failed" not in out
    )
    code, out, _ = command("run", "good", "--replace")
    assert (
        code == 0
        and out.splitlines()[-1].startswith("1 run, 0 cached, 0 failed in")
        and pd.read_csv(here.result("hdeval/good.csv"))["ours"].notna().sum() == 1
    )
    assert command("run", "--replace")[0] == 2


def test_the_scoreboard_command(here, command):
    here.output("good")
    command("run")
    code, out, _ = command("scoreboard", "--paper", "hdeval")
    assert (
        code == 0
        and "1 of 1" in out
        and out.splitlines()[-1].startswith(
            "Printed numbers of the papers' own methods that were tested: 0. "
            "Computed here: lexical metrics 1 of 1 equal"
        )
    )
    assert pd.read_csv(here.result("scoreboard.csv"))["recomputed_equal"].sum() == 1


# ---- speed


def test_nothing_to_do_loads_nothing_heavy(here, command):
    """What runs when everything is cached imports neither papermill nor pandas, as
    long as no data set is named.
    """
    here.output("good")
    command("run")
    code = (
        "import sys\nfrom pathlib import Path\nfrom reproduction.runner import stale\n"
        f"stale.ROOT = Path({str(here.root / 'library')!r})\n"
        "sys.argv = ['nlgeval', 'run']\nfrom nlgeval_lib import cli\n"
        "try:\n    cli.main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print([m for m in ('pandas', 'papermill', 'matplotlib', 'torch', 'nbformat') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "0 run, 1 cached, 0 failed" in done.stdout and done.stdout.endswith("[]\n")


# -- `nlgeval sweep`: points, their folders, resuming, and the joined table


SWEEP = """mode = "full"  # share
n = 1  # a count
share = 0.5  # of the data
kinds = ["a"]  # some kinds
name = "x"  # any"""
SWEPT = """from reproduction import report
import pandas as pd
if n == 13: raise ValueError("thirteen")
out = report.Output("one", mode=mode, parameters=dict(n=n))
cells = out.compare(pd.DataFrame([dict(row="BLEU", column="A", statistic="accuracy", value=0.5)]), reason="none")
out.frame(pd.DataFrame({"n": [1, 2], "value": [n * share, n + len(kinds)], "same": "text"}), "some")
out.save()"""


@pytest.fixture
def sweep(here, command):
    here.output("one", SWEPT, parameters=SWEEP)
    return functools.partial(command, "sweep")


def test_every_combination_in_one_table(here, sweep):
    got = sweep("one", "-p", "n=2,4", "-p", "share=0.25,1")
    assert got.code == 0 and here.count("one") == 4, got
    some = pd.read_csv(here.result("sweeps/one/one__some.csv"))
    assert list(some.columns) == ["n (parameter)", "share", "n", "value", "same"]
    assert some[["n (parameter)", "share"]].drop_duplicates().values.tolist() == [
        [2, 0.25],
        [2, 1],
        [4, 0.25],
        [4, 1],
    ]
    assert some["value"].tolist() == [0.5, 3, 2, 3, 1, 5, 4, 5]
    cells = pd.read_csv(here.result("sweeps/one/one.csv"))
    assert len(cells) == 4 * 2 and list(cells.columns[:3]) == [
        "n (parameter)",
        "share",
        "paper",
    ]
    assert not here.result("hdeval").exists() and not here.result("partial").exists()
    assert "n (parameter)  share  row" in got.out and "signature" not in got.out


def test_only_what_is_missing_or_changed_is_run(here, sweep):
    sweep("one", "-p", "n=2,4")
    got = sweep("one", "-p", "n=2,4,6")
    assert here.count("one") == 3 and got.out.count("cached") == 2
    planned = sweep("one", "-p", "n=2,8", "--dry-run").out.split()
    assert planned == ["there", "n=2", "run", "n=8"] and here.count("one") == 3
    (here.result("sweeps/one/n=4/results/partial/hdeval/one__some.csv")).unlink()
    sweep("one", "-p", "n=2,4,6")
    assert here.count("one") == 4
    path = here.root / "notebooks" / "one.ipynb"
    path.write_text(path.read_text().replace("same", "other"))
    sweep("one", "-p", "n=2")
    assert here.count("one") == 5


def test_a_point_that_fails_does_not_stop_the_others(here, sweep):
    got = sweep("one", "-p", "n=12,13,14", "--table", "some")
    assert got.code == 1 and "ValueError: thirteen" in got.out
    assert sorted(
        set(pd.read_csv(here.result("sweeps/one/one__some.csv"))["n (parameter)"])
    ) == [12, 14]
    assert (
        "n (parameter)" in got.out and "BLEU" not in got.out.rpartition("thirteen")[2]
    )


def test_a_quick_sweep_is_kept_apart(here, sweep):
    sweep("one", "-p", "n=2", "--mode", "quick")
    assert (
        here.result("sweeps/quick/one/one.csv").exists()
        and not here.result("sweeps/one").exists()
    )
    record = json.loads(
        here.result("sweeps/quick/one/n=2/results/partial/hdeval/one.json").read_text()
    )
    assert record["mode"] == "quick" and record["parameters"] == {"n": 2}


@pytest.mark.parametrize(("arguments", "said"), refused("sweep"))
def test_a_wrong_sweep_ends_with_2(sweep, here, arguments, said):
    got = sweep(*arguments)
    assert (
        got.code == 2 and said in got.err.replace("\n", " ") and here.count("one") == 0
    )


def test_values_with_commas_of_their_own(here, sweep):
    assert trials.values("['a','b'],['c']") == ["['a', 'b']", "['c']"]
    assert trials.values('"x, y","z"') == ["x, y", "z"]
    sweep("one", "-p", "kinds=['a','b'],['c']", "-p", "name=p/../q,r s")
    assert here.count("one") == 4
    some = pd.read_csv(here.result("sweeps/one/one__some.csv"))
    assert set(some["kinds"]) == {"['a', 'b']", "['c']"} and set(some["name"]) == {
        "p/../q",
        "r s",
    }
    inside = {path.parent.parent.name for path in here.root.rglob("saved.json")}
    assert inside == {"one"}


NUMBERS = st.integers() | st.floats(allow_nan=False)
LISTS = st.lists(st.text("ab,'", max_size=3), max_size=3)


@pytest.mark.parametrize(("values", "written"), [(NUMBERS, str), (LISTS, repr)])
@given(data=st.data())
def test_values_are_split_as_they_were_joined(values, written, data):
    given = data.draw(st.lists(values, min_size=1, unique_by=str))
    assert [written(one) for one in given] == trials.values(
        ",".join(map(written, given))
    )
