"""The embedded mini set: rebuilt byte for byte, and every output degraded as its
record says.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import re
from collections import defaultdict

import pytest

from nlgeval_lib import files

FOLDER = files.root() / "data" / "mini"


@pytest.fixture(scope="module")
def build():
    spec = importlib.util.spec_from_file_location("mini_build", FOLDER / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def records():
    return [
        json.loads(line)
        for line in (FOLDER / "mini.jsonl").read_text(encoding="utf-8").splitlines()
    ]


@pytest.fixture(scope="module")
def by_input(records):
    grouped = defaultdict(dict)
    for record in records:
        grouped[record["input_id"]][record["system_id"]] = record
    return grouped


def of(by_input, system):
    """(clean record, record of the system) for every source."""
    return [(systems["clean"], systems[system]) for systems in by_input.values()]


def test_rebuild_gives_the_same_bytes(build, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["build.py", "--to", str(tmp_path)])
    build.main()
    for name in ("mini.jsonl", "README.md"):
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), name
    assert "600 outputs of 75 sources" in capsys.readouterr().out


def test_gold_falls_with_every_penalty(records, by_input):
    for record in records:
        total = sum(e["penalty"] for e in record["errors"])
        assert record["severity"] == min(5, total)
        assert record["gold"] == pytest.approx(1 - min(5, total) / 5)
        assert bool(record["errors"]) == (record["system_id"] != "clean")
    for systems in by_input.values():
        mine = sorted(systems.values(), key=lambda r: r["severity"])
        assert all(a["gold"] >= b["gold"] for a, b in itertools.pairwise(mine))
        assert (mine[0]["system_id"], mine[0]["gold"]) == ("clean", 1)
        assert (mine[-1]["system_id"], mine[-1]["gold"]) == ("off_topic", 0)


def without(text, errors):
    """The words of a text that has lost the places of its errors."""
    for error in errors:
        text = text.replace(error["location"], "", 1)
    return re.findall(r"[\w']+", text)


def test_what_was_added_or_dropped_gives_the_clean_text_again(by_input):
    for clean, bad in of(by_input, "repetition"):
        [said] = {e["location"] for e in bad["errors"]}
        once = bad["output"].replace(f"{said} " * len(bad["errors"]) + said, said)
        assert once == clean["output"]
    for clean, bad in of(by_input, "dropped_fact"):
        assert all(
            e["location"] in clean["output"] and e["location"] not in bad["output"]
            for e in bad["errors"]
        )
        assert without(clean["output"], bad["errors"]) == without(bad["output"], []), (
            bad["input_id"]
        )
    for clean, bad in of(by_input, "invented_fact"):
        [e] = bad["errors"]
        assert (
            e["location"] not in clean["output"] and e["location"] not in bad["source"]
        )
        assert without(bad["output"], [e]) == without(clean["output"], [])


def test_broken_grammar(by_input):
    for clean, bad in of(by_input, "broken_grammar"):
        assert 1 <= len(bad["errors"]) <= 3 and bad["output"] != clean["output"]
        repaired = bad["output"]
        for e in reversed(
            bad["errors"]
        ):  # from the end, where each broken phrase was last put in
            head, broken, tail = repaired.rpartition(e["location"])
            assert broken, e
            repaired = head + e["correction"] + tail
        assert sorted(re.findall(r"\w+", repaired.lower())) == sorted(
            re.findall(r"\w+", clean["output"].lower())
        )


def test_wrong_value(build, by_input):
    sources = {s["input_id"]: s for s in build.sources()}
    for clean, bad in of(by_input, "wrong_value"):
        source = sources[bad["input_id"]]
        assert bad["output"] != clean["output"]
        names = [
            n
            for n, (right, wrong) in source["facts"].items()
            for e in bad["errors"]
            if [e["correction"], e["location"]] == [right, wrong]
        ]
        assert len(names) == len(bad["errors"]) >= 1
        assert bad["output"] == build.fill(build.plain(source["clean"]), source, names)
        if bad["kind"] == "arithmetic":
            answer = re.search(r"The answer is (\S+)\.$", bad["output"])[1]
            assert answer != re.search(r"The answer is (\S+)\.$", clean["output"])[1]


def test_arithmetic_is_right_where_it_should_be(by_input):
    """The clean steps are true equations, and their answer is the reference's."""
    for systems in by_input.values():
        record = systems["clean"]
        if record["kind"] != "arithmetic":
            continue
        for left, right in re.findall(
            r"(\d[\d .x/+()-]*) = ([\d.]+\d|\d)", record["output"]
        ):
            assert eval(left.replace("x", "*"), {"__builtins__": {}}) == pytest.approx(
                float(right)
            ), record["input_id"]
        assert (
            record["output"].rsplit(" ", 1)[1] == record["reference"].rsplit(" ", 1)[1]
        )
