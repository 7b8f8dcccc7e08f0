"""`nlgeval score`: anyone's rows, every evaluator, nothing asked twice, nothing
leaked.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading

import pandas as pd
import pytest
import typer
from cli_tools import KEY, asks, call, jsonl, rows
from hostile_server import KEY_FORMS, SERVED_KEY

from nlgeval_lib import cli
from nlgeval_lib.engines import Sampling, ScriptedEngine, complete
from nlgeval_lib.engines.store import FILE, Store

MAIN = "from nlgeval_lib.cli import main; main()"
ROW = (
    "-i",
    "my.csv",
    "-o",
    "s.csv",
    "--fill",
    "instruction=say it",
    "--fill",
    "source=s",
)


def grade(prompt):
    """A judge that gives `answer N` the score 1 + N % 5."""
    number = int(prompt.split("answer ")[1].split()[0])
    return f"Score: {1 + number % 5}"


def test_the_key_is_nowhere(nl, judge, tmp_path):
    server = judge(lambda prompt: 400 if "answer 1" in prompt else "Score: 3")
    jsonl(tmp_path / "my.jsonl", rows())
    said = ""
    for more in (
        ("-o", "s.csv"),
        ("-o", "s.jsonl"),
        ("--dry-run",),
        ("-o", "t.csv", "--engine-set", f"api_key={KEY}"),
    ):
        got = nl(
            "score",
            "-e",
            "llmscore",
            "-i",
            "my.jsonl",
            *asks(server, *more),
            "--raw",
            "raw.jsonl",
        )
        said += got.out + got.err
    assert f"Bearer {KEY}" in server.sent_keys, (
        "the server got it, and repeats it in its errors"
    )
    assert "refused for" in said and KEY not in said
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5 and not [
        path for path in files if KEY.encode() in path.read_bytes()
    ]


def test_the_key_is_in_no_file_in_another_form(nl, judge, tmp_path, monkeypatch):
    """In error texts of half the rows, in answers of the others."""
    monkeypatch.setenv("OPENAI_API_KEY", SERVED_KEY)
    forms = [form(SERVED_KEY) for form in KEY_FORMS.values()]

    def reply(prompt):
        number = int(prompt.split("answer ")[1].split()[0])
        server.repeated = lambda _: forms[number // 2]
        return 400 if number % 2 else f"({forms[number // 2]}) Score: 3"

    server = judge(reply)
    jsonl(tmp_path / "my.jsonl", rows(2 * len(forms)))
    said = ""
    for more in (("-o", "s.csv"), ("-o", "s.jsonl", "--raw", "raw.jsonl")):
        one_by_one = ("--engine-set", "concurrency=1")
        got = nl(
            *("score", "-e", "llmscore", "-i", "my.jsonl"),
            *asks(server, *one_by_one, *more),
        )
        said += got.out + got.err
    assert len(server.bodies) > 2 * len(forms)
    texts = [said]
    for path in tmp_path.rglob("*"):
        if path.is_file():
            texts.append(path.read_bytes().decode(errors="replace"))
    for form in forms:
        # JSON and CSV may write it in their own escapes
        written = {form, json.dumps(form)[1:-1], form.replace('"', '""')}
        assert not [text for text in texts for one in written if one in text], form


def test_interrupted_and_resumed_asks_nothing_twice(judge, tmp_path):
    enough = threading.Event()
    go_on = threading.Event()

    def reply(prompt):
        if len(server.answered) >= 15 and not go_on.is_set():
            enough.set()
            go_on.wait(60)
            return 500
        return grade(prompt)

    server = judge(reply)
    jsonl(tmp_path / "my.jsonl", rows(40))
    command = [
        sys.executable,
        "-c",
        MAIN,
        "score",
        "-e",
        "llmscore",
        "-i",
        "my.jsonl",
        "-o",
        "s.csv",
    ]
    command += [*asks(server, "--engine-set", "concurrency=3"), "--store", "kept"]
    environment = {
        **os.environ,
        "OPENAI_API_KEY": KEY,
        "NLGEVAL_HOME": str(tmp_path / "state"),
    }
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert enough.wait(120)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "the same command goes on from there" in errors
    assert "Traceback" not in errors and not (tmp_path / "s.csv").exists()
    kept = Store(tmp_path / "kept")
    with sqlite3.connect(kept.path) as database:
        asked = database.execute(
            "SELECT record FROM records WHERE model IS NULL"
        ).fetchall()
    stored = [
        json.loads(record)["request"]["messages"][-1]["content"] for (record,) in asked
    ]
    assert kept.verify() == [] and len(kept) == len(stored) >= 13, (
        "of 15 answers, two may have been on their way"
    )
    assert f"{len(stored)} completions made now are stored" in errors
    go_on.set()
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (
        done.returncode == 0
        and f"{len(stored)} stored, {40 - len(stored)} made" in done.stdout
    )
    assert [server.asked[prompt] for prompt in stored] == [1] * len(stored), (
        "what was finished is not asked again"
    )
    assert pd.read_csv(tmp_path / "s.csv")["value"].tolist() == [
        1 + i % 5 for i in range(40)
    ]


@pytest.mark.parametrize("name", typer.main.get_command(cli.app).commands)
def test_help_has_examples_and_exit_codes(nl, name):
    got = nl(name, "--help")
    assert (
        got.code == 0
        and (name == "build" or "Examples:" in got.out)
        and f"nlgeval {name}" in got.out
    )
    assert "Exit codes" in got.out or name not in (
        "score",
        "meta",
        "parse",
        "completions",
        "finetune",
    )


# -- `nlgeval store`: what is kept can be checked, carried to another machine, and asked again -------------------------


def test_a_store_goes_out_and_comes_in_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    nl = functools.partial(call, monkeypatch, capsys, "store")
    with Store("one") as store:
        for model in ("a", "b"):
            complete(
                ScriptedEngine(lambda r, d: "4", model=model),
                list("xyz"),
                Sampling(),
                store,
            )
    assert nl("export", "all.jsonl", "--store", "one").out == "12 records\n"
    assert (
        nl("merge", "all.jsonl", "one", "--store", "two").out
        == "all.jsonl: 12 new records\none: 0 new records\n"
    )
    got = nl("verify", "--store", "two")
    assert (
        got.code == 0
        and got.out.splitlines()[-1] == "6 completions, 0 damaged records"
        and "3  a@0" in got.out
    )
    assert (
        nl("forget", "-m", "a", "--revision", "1", "--store", "two").out
        == "0 completions forgotten\n"
    )
    assert nl("forget", "-m", "a", "--store", "two").out == "3 completions forgotten\n"
    assert Store("two").census() == {("b", "0"): 3}


@pytest.mark.parametrize("what", ["merge", "verify"])
def test_what_cannot_be_read_is_named(tmp_path, monkeypatch, capsys, what):
    monkeypatch.chdir(tmp_path)
    (tmp_path / FILE).write_bytes(b"no database " * 99)
    got = call(
        monkeypatch,
        capsys,
        "store",
        what,
        *(["none.jsonl"] if what == "merge" else []),
        "--store",
        ".",
    )
    assert (
        got.code == (2 if what == "merge" else 1)
        and ("none.jsonl" in got.err or FILE in got.err)
        and "Traceback" not in got.err
    )


def test_a_store_that_is_not_there_is_no_empty_one(tmp_path, monkeypatch, capsys):
    place = str(tmp_path / "missing")
    got = call(monkeypatch, capsys, "store", "verify", "--store", place)
    assert got.code == 2 and f"no store at {place}" in got.err


def test_a_damaged_record_is_told_by_its_key(tmp_path, monkeypatch, capsys):
    with Store(tmp_path) as store:
        [[made]] = complete(ScriptedEngine(["4"]), ["x"], Sampling(), store)
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("UPDATE records SET crc = crc + 1 WHERE model IS NOT NULL")
    database.close()
    got = call(monkeypatch, capsys, "store", "verify", "--store", str(tmp_path))
    assert (
        got.code == 1
        and f"damaged: {made.key}" in got.out
        and "1 completions, 1 damaged records" in got.out
    )
