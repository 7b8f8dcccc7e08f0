"""Outputs that cannot be written, and streams that are closed or know few
characters: told first, nothing lost.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import stat
import sys
from decimal import Decimal

import pandas as pd
import pytest
from cli_tools import RUBRIC, asks, jsonl, rows

from nlgeval_lib import cli, evaluators
from nlgeval_lib.engines.store import Store
from nlgeval_lib.records import Completion

HALF = "Feedback: half \ud800 a character. [RESULT] 4"


@pytest.fixture
def mine(nl, tmp_path):
    """`mine.jsonl`: rows with all that Prometheus and BLEU need; `taken` is a file,
    `folder.csv` a folder, `loop` a link to itself.
    """
    jsonl(tmp_path / "mine.jsonl", rows(3, reference="an answer", rubric=RUBRIC))
    (tmp_path / "taken").write_text("here")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    return nl


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_half_a_character_of_a_judge_loses_no_scores(mine, judge, tmp_path, ending):
    call = (
        "score",
        "-e",
        "prometheus",
        "-i",
        "mine.jsonl",
        "-s",
        "n=1",
        "-q",
        "--raw",
        "raw.jsonl",
    )
    got = mine(
        *call,
        *asks(judge(lambda prompt: HALF), "--engine-set", "dialect=vllm"),
        "-o",
        f"s.{ending}",
    )
    assert got.code == 0 and "3 scored (100.0%); mean 4" in got.out, got.err
    again = mine("parse", "-p", "last_number", "--column", "feedback", f"s.{ending}")
    # read back: the feedback has no number
    assert again.code == 1 and "3 texts: 3 unparsed" in again.out
    assert "half \ufffd a" in (tmp_path / "raw.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "place", ["folder.csv", "taken/s.csv", "taken/deeper/s.csv", "n" * 300 + ".csv"]
)
def test_an_output_that_cannot_be_written_is_told_before_the_work(
    mine, monkeypatch, tmp_path, place
):
    monkeypatch.setattr(
        evaluators.get("bleu"),
        "score",
        lambda *_: pytest.fail("the work was done first"),
    )
    (tmp_path / "rated.csv").write_text("value,human\n1,1\n2,3\n3,2\n")
    for call in (
        ("score", "-e", "bleu", "-i", "mine.jsonl", "-o", place),
        ("meta", "rated.csv", "-o", place),
        ("parse", "-p", "last_number", "mine.jsonl", "--column", "output", "-o", place),
    ):
        got = mine(*call)
        assert got.code == 2 and f"error: cannot write {place}: " in got.err, got.err
    assert (tmp_path / "taken").read_text() == "here" and not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    "call",
    [
        ("meta", "rated.csv", "-o"),
        ("score", "-e", "bleu", "-i", "mine.jsonl", "-o", "s.csv", "--raw"),
        ("store", "export"),
    ],
    ids=" ".join,
)
def test_an_output_that_is_a_pipe_or_a_device_is_refused(mine, tmp_path, call):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to(os.devnull)
    (tmp_path / "rated.csv").write_text("value,human\n1,1\n2,3\n3,2\n")
    for place in ("pipe", "device"):
        got = mine(*call, place)
        assert got.code == 2 and "a device or a pipe" in got.err
    assert (tmp_path / "pipe").is_fifo() and (tmp_path / "device").is_char_device()


def test_a_store_is_not_lost_to_its_own_export(mine, tmp_path):
    with Store(tmp_path / "kept") as store:
        store.put(Completion("a" * 64, "4", model="m"))
    got = mine("store", "export", str(store.path), "--store", "kept")
    assert got.code == 2 and "name another file to write to" in got.err
    assert "1 completions, 0 damaged" in mine("store", "verify", "--store", "kept").out


def test_ratings_may_be_decimals(mine, tmp_path):
    ratings = [Decimal("1.5"), Decimal("2"), None, Decimal("3.25")]
    pd.DataFrame({"value": [1, 2, 3, 4], "human": ratings}).to_parquet(
        tmp_path / "d.parquet"
    )
    got = mine(
        "meta",
        "d.parquet",
        "--coef",
        "spearman",
        "--format",
        "jsonl",
        "--no-baselines",
        "--ci",
        "none",
    )
    [one] = map(json.loads, got.out.splitlines()[:1])
    assert one["value"] == pytest.approx(1.0, abs=1e-12) and one["n"] == 3


def test_standard_input_that_is_closed_is_told(mine, monkeypatch):
    for stream in (None, open(os.devnull, encoding="utf-8")):  # noqa: SIM115 - closed below
        if stream is not None:
            stream.close()
        monkeypatch.setattr(sys, "stdin", stream)
        for call in (
            ("score", "-e", "bleu", "-i", "-", "--format", "csv", "-o", "s.csv"),
            ("parse", "-p", "feedback"),
        ):
            got = mine(*call)
            assert got.code == 2 and "standard input is closed" in got.err


def test_closed_streams_and_plain_terminals_stop_nothing(mine, monkeypatch, tmp_path):
    plain = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(
        sys,
        "argv",
        ["nlgeval", "score", "-e", "bleu", "-i", "mine.jsonl", "-o", "日本.csv"],
    )
    monkeypatch.setattr(sys, "stdout", plain)
    monkeypatch.setattr(sys, "stderr", None)
    with pytest.raises(SystemExit) as end:
        cli.main()
    plain.flush()
    assert (
        end.value.code == 0 and rb"written: \u65e5\u672c.csv" in plain.buffer.getvalue()
    )
    assert (tmp_path / "日本.csv").is_file()


# -- nothing good is overwritten, nothing is read by others


def test_a_run_without_a_score_leaves_the_file_that_is_there(mine, tmp_path):
    call = ("score", "-e", "bleu", "-i", "mine.jsonl", "-o", "s.csv")
    assert mine(*call).code == 0
    before = {
        name: (tmp_path / name).read_bytes() for name in ("s.csv", "s.csv.meta.json")
    }
    jsonl(tmp_path / "mine.jsonl", rows(3, reference=""))
    for _ in range(2):
        got = mine(*call)
        assert (
            got.code == 1
            and "written: s.unscored.csv; s.csv is as it was, as no row was scored"
            in got.out
        )
        assert {name: (tmp_path / name).read_bytes() for name in before} == before
    assert pd.read_csv(tmp_path / "s.unscored.csv")["status"].tolist() == ["empty"] * 3


@pytest.mark.parametrize("place", ["taken", "taken/store", "folder.csv", "loop"])
def test_a_store_that_cannot_be_written_is_told_before_the_first_request(
    mine, judge, tmp_path, place
):
    server = judge(lambda prompt: "4")
    if place == "folder.csv":
        (tmp_path / place / "completions.sqlite").mkdir()
    got = mine(
        "score",
        "-e",
        "geval",
        "-i",
        "mine.jsonl",
        "--fill",
        "aspect=a",
        *asks(server, "--store", place),
        *OUT,
    )
    assert (
        got.code == 2
        and "error: cannot write" in got.err
        and "--engine replay answers from what" in got.err
    )
    assert not server.bodies and not (tmp_path / "s.csv").exists()


OUT = ("-o", "s.csv", "--fill", "source=s", "--max-missing", "1", "-q")


def test_altered_answers_are_counted_aloud_and_asked_again(mine, judge, tmp_path):
    server = judge(lambda prompt: "Score: 4")
    jsonl(tmp_path / "many.jsonl", rows(40))
    call = (
        "score",
        "-e",
        "llmscore",
        "-i",
        "many.jsonl",
        *asks(server, "--store", "kept"),
        *OUT,
    )
    assert mine(*call).code == 0 and len(server.bodies) == 40
    with sqlite3.connect(tmp_path / "kept" / "completions.sqlite") as database:
        altered = "UPDATE records SET record = replace(record, 'Score: 4', 'Score: 5') WHERE model IS NOT NULL AND id % 4"
        count = database.execute(altered).rowcount
    got = mine(*call)
    assert (
        got.code == 0
        and f"{count} stored answers cannot be used and will be asked again" in got.err
    )
    assert (
        len(server.bodies) == 40 + count > 55
        and pd.read_csv(tmp_path / "s.csv")["value"].eq(4).all()
    )


def test_what_is_made_of_texts_is_for_its_owner_only(mine, judge, tmp_path):
    server = judge(lambda prompt: "Score: 4")
    before = os.umask(0)
    try:
        asked = asks(server, "--store", "new/deep/store")
        call = (
            "score",
            "-e",
            "llmscore",
            "-i",
            "mine.jsonl",
            *asked,
            "-o",
            "new/out/s.csv",
            "--raw",
            "new/raw.jsonl",
        )
        assert mine(*call).code == 0 and mine(
            "meta", "new/out/s.csv", "-o", "new/m.csv"
        ).code in (0, 1)
        assert (
            mine("store", "export", "new/all.jsonl", "--store", "new/deep/store").code
            == 0
        )
        engines_store = Store(tmp_path / "state" / "of a notebook" / "store")
        engines_store.put_many(
            Store(tmp_path / "new/deep/store")
            .get_many(Store(tmp_path / "new/deep/store"))
            .values()
        )
        made = [
            *(tmp_path / "new").rglob("*"),
            tmp_path / "new",
            *(tmp_path / "state").rglob("*.sqlite"),
        ]
        modes = {
            path.relative_to(tmp_path).as_posix(): stat.S_IMODE(path.stat().st_mode)
            for path in made
        }
    finally:
        os.umask(before)
    assert len(modes) >= 10 and {mode for mode in modes.values()} == {0o700, 0o600}, (
        modes
    )


def test_escapes_for_a_terminal_are_shown_not_sent(mine, judge, tmp_path):
    bell = "\x1b]0;mine\x07\x1b[2J\u202e\r"
    server = judge(lambda prompt: 400)
    server.says = 400, json.dumps({"error": {"message": f"no {bell}luck"}}).encode()
    jsonl(tmp_path / "odd.jsonl", rows(2, input_id=bell + "x", system_id=bell))
    for call in (
        ("score", "-e", "llmscore", "-i", "odd.jsonl", *asks(server), *OUT),
        ("meta", "odd.jsonl", "--score", bell),
        ("score", "-e", bell, "-i", "odd.jsonl", "-o", "s.csv"),
    ):
        got = mine(*call)
        assert (
            not set("\x1b\x07\u202e\r") & set(got.out + got.err)
            and "x1b]0;mine" in got.out + got.err
        ), got
