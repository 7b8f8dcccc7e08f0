"""The command line: its help, exit codes and messages; the check of saved results."""

from __future__ import annotations

import functools
import os
import subprocess
import sys

import pandas as pd
import pytest
from cli_tools import call, refused

from nlgeval_lib.runner import stale, trials


@pytest.mark.parametrize(("arguments", "said"), refused("run"))
def test_wrong_calls_end_with_2_and_say_why(here, monkeypatch, capsys, arguments, said):
    (here.root / "data" / "registry.csv").write_text("path,url,sha256,bytes,licence,repository,commit\n")
    here.output("good")
    code, _, err = call(monkeypatch, capsys, *arguments)
    assert code == 2
    assert said in " ".join(err.replace("│", " ").split())
    assert "Traceback" not in err


def test_a_bad_catalogue_ends_with_2(here, monkeypatch, capsys):
    here.output("good", more='rote = "x"')
    code, _, err = call(monkeypatch, capsys, "run")
    assert code == 2 and "output 'good': rote: Unexpected keyword" in err


def test_results_that_cannot_be_written_end_with_1(here, monkeypatch, capsys):
    here.output("good")
    here.result("").write_text("in the way")
    code, _, err = call(monkeypatch, capsys, "run")
    assert code == 1 and "cannot write" in err and "Traceback" not in err


def test_dry_run_and_trial(here, monkeypatch, capsys):
    here.output("good")
    code, out, _ = call(monkeypatch, capsys, "run", "--dry-run")
    assert (code, out) == (0, "run      good  (never run here)\n") and not here.result("").exists()
    here.output("bad", more="parameters = {sed = 1}")
    code, out, _ = call(monkeypatch, capsys, "run", "bad", "--dry-run")
    assert code == 0 and out.startswith("refused  bad") and "'sed'" in out
    code, out, _ = call(monkeypatch, capsys, "run", "good", "-p", "seed=x")
    assert code == 1 and "asks for int" in out


def test_a_result_shrinks_only_when_told_to(here, monkeypatch, capsys):
    path = here.output("good")
    whole = path.read_text()
    more = "value=0.5), dict(row='ROUGE', column='A', statistic='accuracy', value=0.25)"
    path.write_text(whole.replace("value=0.5)", more))
    call(monkeypatch, capsys, "run")
    path.write_text(whole)
    code, out, _ = call(monkeypatch, capsys, "run")
    assert code == 0 and "1 cell of good.csv (ROUGE) would be lost (nlgeval run good --replace" in out
    assert out.splitlines()[-1].startswith("1 run, 0 cached, 1 cell of 1 outputs not made again, kept from earlier in")
    assert pd.read_csv(here.result("hdeval/good.csv"))["ours"].notna().sum() == 2
    code, out, _ = call(monkeypatch, capsys, "run")
    assert "0 run, 1 cached, 1 cell of 1 outputs" in out.splitlines()[-1] and "0 failed" not in out
    code, out, _ = call(monkeypatch, capsys, "run", "good", "--replace")
    assert (
        code == 0
        and out.splitlines()[-1].startswith("1 run, 0 cached, 0 failed in")
        and pd.read_csv(here.result("hdeval/good.csv"))["ours"].notna().sum() == 1
    )
    assert call(monkeypatch, capsys, "run", "--replace")[0] == 2


def test_the_scoreboard_command(here, monkeypatch, capsys):
    here.output("good")
    call(monkeypatch, capsys, "run")
    code, out, _ = call(monkeypatch, capsys, "scoreboard", "--paper", "hdeval")
    assert (
        code == 0 and "1 of 1" in out and out.splitlines()[-1].startswith("3 printed numbers; recomputed: 1 of 1 equal")
    )
    assert pd.read_csv(here.result("scoreboard.csv"))["recomputed_equal"].sum() == 1


# ---- check


def test_check_compares_a_fresh_run(here, monkeypatch, capsys):
    path = here.output("one")
    here.output("two")
    call(monkeypatch, capsys, "run")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in here.root.rglob("*") if path.is_file()}
    code, out, _ = call(monkeypatch, capsys, "check")
    after = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in here.root.rglob("*") if path.is_file()}
    assert code == 0 and "2 equal" in out
    changed = {path.name for path in after if after[path] != before.get(path)}
    assert changed <= {"one.count", "two.count", "kernel.json"}, "a check leaves results, figures and records alone"
    path.write_text(path.read_text().replace("value=0.5", "value=0.50001"))
    code, out, _ = call(monkeypatch, capsys, "check", "one")
    assert code == 1 and "differs     one" in out and "row 1, ours: '0.5' became '0.50001'" in out
    assert "NLGEVAL_RESULTS" not in os.environ


def test_check_compares_tables_that_are_no_comparison():
    relations = "relation,verdict\nmean,{}\n"  # a verdict of its own kind, and no column of ours
    assert trials.compared(relations.format("holds"), relations.format("holds")) == ([], [])
    found, gaps = trials.compared(relations.format("holds"), relations.format("contradicts"))
    assert found and not gaps


def test_check_tells_what_cannot_be_had_here_from_what_differs(here, monkeypatch, capsys):
    path = here.output("one")
    whole = path.read_text()
    path.write_text(
        whole.replace("value=0.5)", "value=0.5), dict(row='ROUGE', column='A', statistic='accuracy', value=0.2)")
    )
    call(monkeypatch, capsys, "run")
    path.write_text(whole)
    code, out, _ = call(monkeypatch, capsys, "check")
    assert code == 0 and "equal, less one" in out and "1 cells cannot be had here: needs a judge" in out
    monkeypatch.setattr(stale, "checksums", functools.cache(lambda name: {"a": "1" * 64}))
    monkeypatch.setattr(stale, "missing", lambda names: {"summeval": "no network"} if list(names) else {})
    here.entries[0] += 'inputs = ["summeval"]\n'
    here.catalogue()
    code, out, _ = call(monkeypatch, capsys, "check")
    assert code == 0 and "not run     one" in out
    path.write_text(whole.replace("value=0.5", "value=1/0"))
    monkeypatch.setattr(stale, "missing", lambda names: {})
    assert call(monkeypatch, capsys, "check")[0] == 1


# ---- speed


def test_nothing_to_do_loads_nothing_heavy(here, monkeypatch, capsys):
    """What runs when everything is cached imports neither papermill nor pandas, as long as no data set is named."""
    here.output("good")
    call(monkeypatch, capsys, "run")
    code = (
        "import sys\nfrom pathlib import Path\nfrom nlgeval_lib.runner import stale\n"
        f"stale.library = lambda: Path({str(here.root / 'library')!r})\n"
        "sys.argv = ['nlgeval', 'run']\nfrom nlgeval_lib import cli\n"
        "try:\n    cli.main()\nexcept SystemExit as end:\n    assert not end.code\n"
        "print([m for m in ('pandas', 'papermill', 'matplotlib', 'torch', 'nbformat') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "0 run, 1 cached, 0 failed" in done.stdout and done.stdout.endswith("[]\n")
