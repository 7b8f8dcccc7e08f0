"""What a table used of a judge, given to a stranger who has neither GPU nor key."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from cli_tools import KEY
from runner_tools import Checkout

from nlgeval_lib.engines.store import Store
from reproduction import study
from reproduction.report import shared_run, verify
from reproduction.runner import stale
from reproduction.study import judges

MODEL = "some/judge-7b"
SETTINGS = """
[output.judges]
terse = {{ judge = "terse", fill = ["aspect=coherence"], where = ["system_id=off_topic"] }}
{more}
[[judge]]
id = "terse"
evaluator = "llmscore"
data = "mini"
model = "{model}"
settings = ["task=summary", "low=1", "high=5"]
"""
NOTEBOOK = """
from reproduction import report, study
import pandas as pd
out = report.Output("one", mode=mode, parameters=dict(seed=seed))
scores = study.judge_scores("one", "terse", mode=mode)
value = scores.frame["value"].mean() if scores.available else float("nan")
row = dict(row="BLEU", column="A", statistic="accuracy", value=value)
out.compare(pd.DataFrame([row]), reason="needs a judge")
out.save()
"""
RESULT = "results/hdeval/one.csv"


def furnished(checkout: Checkout, more: str = "") -> Checkout:
    """A checkout with one output that asks one judge."""
    checkout.data("mini/mini.jsonl")
    settings = SETTINGS.format(model=MODEL, more=more)
    checkout.output("one", NOTEBOOK, more=settings)
    return checkout


@pytest.fixture
def first(here: Checkout, judge, nl, monkeypatch):
    """The checkout in which a server was asked and the table was made."""
    monkeypatch.setenv("NLGEVAL_HOME", str(here.root / ".nlgeval"))
    furnished(here)
    server = judge(lambda prompt: str(1 + len(prompt) % 5))
    asked = study.judge_scores("one", "terse", engine="openai", base_url=server.url)
    assert asked.available and server.bodies
    judges._held.clear()
    stale.forget()
    assert nl("run", "one").code == 0
    yield here, server
    judges._held.clear()
    stale.forget()


@pytest.fixture
def elsewhere(first, tmp_path_factory, monkeypatch) -> Checkout:
    """Another checkout of the same commit, with an empty store and no key."""
    place = Checkout(tmp_path_factory.mktemp("elsewhere"))
    furnished(place)
    return place


def enter(place: Checkout, monkeypatch) -> None:
    monkeypatch.setenv("NLGEVAL_ROOT", str(place.root))
    monkeypatch.setenv("NLGEVAL_HOME", str(place.root / ".nlgeval"))
    monkeypatch.setattr(stale, "ROOT", place.root / "library")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    judges._held.clear()
    stale.forget()


def exported(nl, place: Path) -> Path:
    path = place / "one.zip"
    done = nl("store", "export", path, "--output", "one")
    assert done.code == 0, done.err
    return path


def test_a_stranger_replays_the_table_to_the_same_numbers(
    first, elsewhere: Checkout, nl, tmp_path: Path, monkeypatch
) -> None:
    """`nlgeval run` takes the file in by itself, and nothing is asked."""
    made_here, server = first
    path = exported(nl, tmp_path)
    count = len(server.bodies)
    numbers = (made_here.root / RESULT).read_text()
    assert "nan" not in numbers
    enter(elsewhere, monkeypatch)
    assert not study.judge_scores("one", "terse").available
    place = elsewhere.root / "data/completions"
    place.mkdir()
    shutil.copy(path, place)
    done = nl("run", "one")
    assert done.code == 0 and "data/completions/one.zip: " in done.out + done.err
    assert (elsewhere.root / RESULT).read_text() == numbers
    assert len(server.bodies) == count
    # the second run has nothing to take in
    assert "data/completions" not in nl("run", "one").out


def test_import_by_hand_gives_the_same_scores(
    first, elsewhere: Checkout, nl, tmp_path: Path, monkeypatch
) -> None:
    before = study.judge_scores("one", "terse")
    path = exported(nl, tmp_path)
    enter(elsewhere, monkeypatch)
    done = nl("store", "import", path)
    assert done.code == 0 and "to replay: nlgeval run one" in done.out
    after = study.judge_scores("one", "terse")
    assert after.frame["value"].tolist() == before.frame["value"].tolist()
    assert (after.signature, after.identity) == (before.signature, before.identity)
    assert "0 new records" in nl("store", "import", path).out


def test_it_holds_what_was_used_and_nothing_that_tells_more(
    first, nl, tmp_path: Path
) -> None:
    """Completions that the table did not read, prompts and the key stay at home; of
    the server stands what its identity needs.
    """
    here, server = first
    other = study.judge_scores(
        "one", "terse", engine="openai", model="another/judge", base_url=server.url
    )
    assert other.available
    path = exported(nl, tmp_path)
    with zipfile.ZipFile(path) as bundle:
        members = {name: bundle.read(name).decode() for name in bundle.namelist()}
    text = "\n".join(members.values())
    assert "another/judge" not in text and KEY not in text
    assert str(here.root) not in text
    lines = [json.loads(line) for line in members["completions.jsonl"].splitlines()]
    with Store(here.root / ".nlgeval/completions") as store:
        used = {key for key in store.keys(MODEL)}
    assert {line["key"] for line in lines} == used
    assert not any("request" in line for line in lines)
    revisions = {line["revision"] for line in lines}
    manifest = json.loads(members["manifest.json"])
    assert {judged["revision"] for judged in manifest["judges"]} == revisions
    for revision in revisions:
        text = text.replace(revision, "")
    assert "127.0.0.1" not in text
    assert {RESULT, "results/hdeval/one.json"} < set(manifest["files"])
    # whoever writes it, and whenever: the same bytes
    again = exported(nl, tmp_path / "again")
    assert again.read_bytes() == path.read_bytes()


def with_member(path: Path, name: str, content: bytes) -> None:
    """Another content of a member, the others as they are."""
    with zipfile.ZipFile(path) as bundle:
        members = {each: bundle.read(each) for each in bundle.namelist()}
    members[name] = content
    with zipfile.ZipFile(path, "w") as bundle:
        for each, value in members.items():
            bundle.writestr(each, value)


PARTS = ("outputs", "judges", "files", "model", "revision", "refused")
VALUES = (None, 1, ["a"], "a")
# of a manifest, the parts that may hold such a value
TAKEN = [("outputs", ["a"]), ("outputs", "a"), ("model", "a"), ("revision", "a")]


def test_a_manifest_with_another_part_is_refused_or_taken(
    first, nl, tmp_path: Path
) -> None:
    path = exported(nl, tmp_path)
    with zipfile.ZipFile(path) as bundle:
        whole = bundle.read("manifest.json")
    for number, case in enumerate(itertools.product(PARTS, VALUES)):
        part, value = case
        manifest = json.loads(whole)
        holder = manifest if part in manifest else manifest["judges"][0]
        holder[part] = value
        with_member(path, "manifest.json", json.dumps(manifest).encode())
        fresh = tmp_path / f"fresh-{number}"
        done = nl("store", "import", path, "--store", fresh)
        if case in TAKEN:
            assert done.code == 0, case
        else:
            assert done.code == 2 and "is no shared run" in done.err, case


CHANGED = [
    ("completions.jsonl", b"{}\n", "completions.jsonl is not what was shared"),
    ("results/hdeval/one.csv", b"a,b\n", "one.csv is not what was shared"),
    ("../../evil.py", b"x = 1\n", "other files than its manifest names"),
    ("manifest.json", b"[]", "is no shared run"),
    ("manifest.json", b'{"format": 9}', "is of format 9"),
    ("manifest.json", b"[" * 100_000, "is no shared run: its JSON is nested"),
    ("manifest.json", b'{"format": 2, "files": {}}', "is no shared run"),
]
# a byte of a member's headers, and what it says with this value
HEADERS = {"is encrypted": (6, 1), "is compressed otherwise": (8, 99)}


def test_a_file_that_was_changed_is_refused(first, nl, tmp_path: Path) -> None:
    path = exported(nl, tmp_path)
    whole = path.read_bytes()
    local = whole.index(b"PK\x03\x04")
    central = whole.index(b"PK\x01\x02")

    def refused(said: str) -> None:
        done = nl("store", "import", path, "--store", tmp_path / "fresh")
        assert done.code == 2 and said in done.err, (said, done.err)
        assert not (tmp_path / "fresh").exists(), said

    for name, content, said in CHANGED:
        path.write_bytes(whole)
        with_member(path, name, content)
        refused(said)
    for offset, value in HEADERS.values():
        broken = bytearray(whole)
        broken[local + offset] = broken[central + offset + 2] = value
        path.write_bytes(broken)
        refused("is no shared run")


def test_verify_holds_shared_runs_against_the_results(
    first, nl, tmp_path: Path
) -> None:
    here, _ = first
    place = here.root / "data/completions"
    place.mkdir()
    path = exported(nl, place)
    name = "data/completions/one.zip"
    assert shared_run.differences(name) == []
    faults = [str(fault) for fault in verify.manifest_faults() if fault.file == name]
    assert any("is not in the manifest" in fault for fault in faults)
    assert nl("verify", "--adopt", name).out.startswith(f"taken in: {name}\n")
    result = here.root / RESULT
    result.write_text(result.read_text().replace("0.5", "0.6"))
    [message] = [fault.message for fault in verify.shared_faults()]
    assert message == f"holds another {RESULT} than this checkout"
    with_member(path, RESULT, result.read_bytes())
    checks = verify.manifest_faults, verify.shared_faults
    faults = [str(fault) for check in checks for fault in check() if fault.file == name]
    assert any("was edited after it was made" in fault for fault in faults)
    assert any("one.csv is not what was shared" in fault for fault in faults)
    assert {*checks} <= {*verify.CHECKS}


def test_what_cannot_be_shared_is_said(here: Checkout, nl, tmp_path: Path) -> None:
    furnished(here)
    done = nl("store", "export", tmp_path / "one.zip", "--output", "one")
    assert done.code == 2 and f"no completions of {MODEL}" in done.err
    store = tmp_path / "stand-ins"
    store.mkdir()
    (store / "stand-ins.json").write_text('{"tiny": "1"}')
    done = nl(
        "store", "export", tmp_path / "one.zip", "--output", "one", "--store", store
    )
    assert done.code == 2 and "completions of stand-ins, of no judge" in done.err
    here.output("two")
    done = nl("store", "export", tmp_path / "two.zip", "--output", "two")
    assert done.code == 2 and "two asks no judge" in done.err
    assert not list(tmp_path.glob("*.zip"))


def bomb(path: Path, members: dict[str, bytes], completions: int = 1) -> Path:
    """A shared file whose manifest agrees with what is in it."""
    hashes = {name: hashlib.sha256(text).hexdigest() for name, text in members.items()}
    manifest = {
        "format": shared_run.FORMAT,
        "outputs": ["x"],
        "judges": [],
        "lacking": [],
        "completions": completions,
        "files": hashes,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr(shared_run.MANIFEST, json.dumps(manifest))
        for name, text in members.items():
            bundle.writestr(name, text)
    return path


@pytest.mark.parametrize(
    "members, says",
    [
        ({}, "would unpack to 3,0"),
        ({f"{i}.csv": b"" for i in range(1000)}, "has 1,002 members, at most 1,000"),
        ({shared_run.COMPLETIONS: b"\n" * 30}, "30 lines .* says that it has 1"),
    ],
    ids=["bytes", "members", "lines"],
)
def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path, members, says) -> None:
    """Before anything of it is unpacked, or is in the store."""
    members = {shared_run.COMPLETIONS: b"\0" * 3_000_000, **members}
    path = bomb(tmp_path / "bomb.zip", members)
    with (
        Store(tmp_path / "store") as store,
        pytest.raises(shared_run.SharedRunError, match=says),
    ):
        shared_run.take_in(path, store)
    assert not (tmp_path / "store").exists()
