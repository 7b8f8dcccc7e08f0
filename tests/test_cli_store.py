"""`nlgeval store`: what is kept can be checked, carried to another machine, and asked again."""

from __future__ import annotations

import functools
import sqlite3

import pytest
from cli_tools import call

from nlgeval_lib.engines import Sampling, ScriptedEngine, complete
from nlgeval_lib.engines.store import FILE, Store


def test_a_store_goes_out_and_comes_in_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    nl = functools.partial(call, monkeypatch, capsys, "store")
    with Store("one") as store:
        for model in ("a", "b"):
            complete(ScriptedEngine(lambda r, d: "4", model=model), list("xyz"), Sampling(), store)
    assert nl("export", "all.jsonl", "--store", "one").out == "12 records\n"
    assert nl("merge", "all.jsonl", "one", "--store", "two").out == "all.jsonl: 12 new records\none: 0 new records\n"
    got = nl("verify", "--store", "two")
    assert got.code == 0 and got.out.splitlines()[-1] == "6 completions, 0 damaged records" and "3  a@0" in got.out
    assert nl("forget", "-m", "a", "--revision", "1", "--store", "two").out == "0 completions forgotten\n"
    assert nl("forget", "-m", "a", "--store", "two").out == "3 completions forgotten\n"
    assert Store("two").census() == {("b", "0"): 3}


@pytest.mark.parametrize("what", ["merge", "verify"])
def test_what_cannot_be_read_is_named(tmp_path, monkeypatch, capsys, what):
    monkeypatch.chdir(tmp_path)
    (tmp_path / FILE).write_bytes(b"no database " * 99)
    got = call(monkeypatch, capsys, "store", what, *(["none.jsonl"] if what == "merge" else []), "--store", ".")
    assert (
        got.code == (2 if what == "merge" else 1)
        and ("none.jsonl" in got.err or FILE in got.err)
        and "Traceback" not in got.err
    )


def test_a_damaged_record_is_told_by_its_key(tmp_path, monkeypatch, capsys):
    with Store(tmp_path) as store:
        [[made]] = complete(ScriptedEngine(["4"]), ["x"], Sampling(), store)
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("UPDATE records SET crc = crc + 1 WHERE model IS NOT NULL")
    database.close()
    got = call(monkeypatch, capsys, "store", "verify", "--store", str(tmp_path))
    assert got.code == 1 and f"damaged: {made.key}" in got.out and "1 completions, 1 damaged records" in got.out
