"""The completion store: what is put stays, whatever happens to the process, the disk
or the file.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import random
import resource
import sqlite3
import tempfile
import zlib
from concurrent import futures
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from nlgeval_lib.engines.base import request_key
from nlgeval_lib.engines.store import FILE, Store, StoreError
from nlgeval_lib.records import Completion

MODEL = {"model": "m", "revision": "r"}
FORK = multiprocessing.get_context("fork")


def sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def done(name: str, text: str | None = None) -> Completion:
    return Completion(
        key=sha(name),
        text=f"text of {name}" if text is None else text,
        prompt_tokens=3,
        **MODEL,
    )


def forked(work, *args: object):
    child = FORK.Process(target=work, args=args)
    child.start()
    return child


def everything(folder: Path) -> dict[str, str]:
    with Store(folder) as store:
        return {
            key: completion.text for key, completion in store.get_many(store).items()
        }


def asked(store: Store) -> list[dict]:
    """What was asked, as the file has it."""
    with sqlite3.connect(store.path) as database:
        rows = database.execute(
            "SELECT record FROM records WHERE model IS NULL"
        ).fetchall()
    database.close()
    return [json.loads(record)["request"] for (record,) in rows]


# -- records

texts = st.text(st.characters(), max_size=60) | st.sampled_from(
    ["", "\n", "\r\n\x85\u2028", "\ud800", '"}\\', "\x00"]
)
completions = st.builds(
    Completion,
    key=texts.map(sha),
    text=texts,
    finish_reason=st.sampled_from(["stop", "length"]),
    prompt_tokens=st.integers(0, 10**9),
    completion_tokens=st.integers(0, 10**9),
    logprobs=st.none()
    | st.lists(
        st.dictionaries(texts, st.floats(max_value=0), max_size=3), max_size=3
    ).map(tuple),
    model=texts,
    revision=texts,
)


@settings(max_examples=12, deadline=None)
@given(st.lists(completions, max_size=8))
def test_what_is_put_comes_back_exported_and_merged_too(many):
    first: dict[str, Completion] = {}
    for one in many:
        first.setdefault(one.key, one)
    with (
        tempfile.TemporaryDirectory() as folder,
        Store(f"{folder}/a") as store,
        Store(f"{folder}/b") as other,
    ):
        assert store.put_many(many, [{"prompt": "\ud800"}]) == len(first)
        assert store.get_many(first) == first and list(store) == list(first)
        assert (
            store.export(f"{folder}/all.jsonl")
            == len(first) + 1
            == other.merge(f"{folder}/all.jsonl")
        )
        assert other.get_many(reversed(first)) == first and asked(other) == [
            {"prompt": "\ud800"}
        ]
        assert other.merge(store.folder) == 0 and other.verify() == store.verify() == []


def test_what_was_asked_is_kept_once_until_it_is_forgotten(tmp_path):
    body = {
        "model": "m",
        "revision": "r",
        "prompt": "Rate: {x}",
        "sampling": {"top_k": 3},
    }
    with Store(tmp_path) as store:
        assert (
            store.put_many([done("a")], [body, body]) == 1
            and store.put_many([], [dict(body)]) == 0
        )
        assert asked(store) == [body] and store.census() == {("m", "r"): 1}
        assert (
            store.forget([request_key(body)]) == 1
            and not asked(store)
            and sha("a") in store
        )


@pytest.mark.parametrize(
    "wrong, said",
    [
        (
            Completion(key=sha("a"), text="", finish_reason="error", error="timeout"),
            "only finished",
        ),
        (Completion(key="a/../b", text=""), "64 lower-case hex"),
    ],
)
def test_what_is_no_finished_completion_is_refused(tmp_path, wrong, said):
    with pytest.raises(ValueError, match=said):
        Store(tmp_path).put_many([done("b"), wrong])
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_an_empty_store_and_a_made_one_is_its_owners(tmp_path):
    store = Store(tmp_path / "a" / "b")
    assert (
        len(store) == 0
        and store.get(sha("x")) is None
        and sha("x") not in store
        and store.census() == {}
    )
    assert not (tmp_path / "a").exists()
    assert store.put(done("x"))
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in store.folder.iterdir()} == {0o600}
    store.close()
    assert store.get(sha("x")) == done("x"), "a closed store opens again"


class StoreMachine(RuleBasedStateMachine):
    """Two stores on one folder, reopened and forgetting, against a dictionary."""

    names = st.integers(0, 40).map(str)

    @initialize()
    def start(self):
        self.folder = tempfile.TemporaryDirectory()
        self.stores = [Store(self.folder.name), Store(self.folder.name)]
        self.kept: dict[str, Completion] = {}

    @rule(which=st.integers(0, 1), some=st.lists(names, max_size=5), extra=texts)
    def put(self, which, some, extra):
        made = [done(name, f"{name}{extra}") for name in some]
        new = {one.key: one for one in reversed(made) if one.key not in self.kept}
        assert self.stores[which].put_many(made) == len(new)
        self.kept |= new

    @rule(which=st.integers(0, 1))
    def reopen(self, which):
        self.stores[which].sync()
        self.stores[which].close()

    @rule(which=st.integers(0, 1), some=st.lists(names, max_size=2, unique=True))
    def forget(self, which, some):
        assert self.stores[which].forget(map(sha, some)) == sum(
            sha(name) in self.kept for name in some
        )
        for name in some:
            self.kept.pop(sha(name), None)

    @invariant()
    def both_have_everything(self):
        for store in getattr(self, "stores", ()):
            assert store.get_many([*self.kept, sha("never")]) == self.kept and len(
                store
            ) == len(self.kept)

    def teardown(self):
        if hasattr(self, "stores"):
            for store in self.stores:
                store.close()
            self.folder.cleanup()


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(
    max_examples=15,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

# -- processes


def write(folder: Path, name: str, count: int) -> None:
    with Store(folder) as store:
        for i in range(count):
            one = done(f"{name}{i}", f"{name}{i} " + "word " * (20 * (i % 7)))
            store.put_many([one], [{"prompt": i}])


def test_many_processes_lose_nothing(tmp_path):
    """Six writers that all find no file at first, some of their keys the same,
    beside a reader in this process.
    """
    names = ("both", "both", "both", "x", "y", "z")
    writers = [forked(write, tmp_path / "new", name, 200) for name in names]
    while any(writer.is_alive() for writer in writers):
        assert Store(tmp_path / "new").verify() == []
    assert [writer.exitcode for writer in writers] == [0] * len(writers)
    found = everything(tmp_path / "new")
    assert found.keys() == {
        sha(f"{name}{i}") for name in set(names) for i in range(200)
    }
    assert all(found[sha(f"both{i}")].startswith(f"both{i} ") for i in range(200))
    assert all(path.name.startswith(FILE) for path in (tmp_path / "new").iterdir()), (
        "no temporary file is left"
    )


def test_threads_share_a_store_and_a_forked_child_has_its_own_connection(tmp_path):
    store = Store(tmp_path)
    with futures.ThreadPoolExecutor(4) as threads:
        assert all(threads.map(lambda i: store.put(done(f"thread {i}")), range(400)))
    child = forked(lambda: [store.put(done(f"child {i}")) for i in range(50)])
    assert all(store.put(done(f"parent {i}")) for i in range(50))
    child.join()
    assert child.exitcode == 0
    store.sync()
    assert len(store) == 500 and store.verify() == []


def claim_and_die(folder: Path, keys: list[str], said) -> None:
    store = Store(folder)
    with store.claimant() as name:
        said.send(len(store.claim(name, keys)))
        os.kill(os.getpid(), 9)


def test_a_key_is_one_claimants_until_it_ends(tmp_path):
    one = Store(tmp_path)
    two = Store(tmp_path)
    keys = [sha(str(i)) for i in range(4)]
    one.put(done("0"))
    with two.claimant() as b:
        with one.claimant() as a:
            assert one.claim(a, keys[:3]) == set(keys[1:3]), (
                "what is stored is nobody's to ask"
            )
            assert two.claim(b, keys) == {keys[3]} and one.claim(a, keys) == set(
                keys[1:3]
            )
        assert two.claim(b, keys) == set(keys[1:])
        other = [sha("x"), sha("y"), keys[1]]
        heard, said = FORK.Pipe(duplex=False)
        killed = forked(claim_and_die, tmp_path, other, said)
        killed.join()
        assert heard.recv() == 2 and killed.exitcode == -9
        assert two.claim(b, other) == set(other), (
            "the claims of a process that is gone are anybody's"
        )
    assert not list(tmp_path.glob("*.claims"))


# -- damage, no room, no permission


def damage(folder: Path, change: str, *values: object) -> None:
    with sqlite3.connect(folder / FILE) as database:
        database.create_function("whole", 3, lambda *_: 0)
        database.execute(
            f"UPDATE records SET {change} WHERE key = ?",
            (*values, bytes.fromhex(sha("1"))),
        )
    database.close()


@pytest.mark.parametrize(
    "change, values",
    [
        ("record = replace(record, 'text of', 'test of')", ()),
        ("record = (SELECT record FROM records WHERE id = 3)", ()),
        ("(crc, record) = (SELECT crc, record FROM records WHERE id = 3)", ()),
        ("record = ?", ("",)),
        ("record = CAST(? AS TEXT)", (b'{"key":"\xff\xfe',)),
        ("crc = ?", (0,)),
    ],
)
def test_a_damaged_record_is_told_and_asked_again_and_never_anothers(
    tmp_path, change, values
):
    with Store(tmp_path) as store:
        store.put_many(done(str(i)) for i in range(3))
    damage(tmp_path, change, *values)
    with Store(tmp_path) as store:
        assert store.verify() == [sha("1")] and len(store) == 3
        with pytest.warns(
            UserWarning,
            match=f"1 stored answers cannot be used .*such as {sha('1')[:12]}",
        ):
            assert store.get_many(map(sha, "012")).keys() == {sha("0"), sha("2")}
        assert store.export(tmp_path / "whole.jsonl") == 2
        assert (
            store.put_many(done(str(i), "new") for i in range(3)) == 1
            and store.verify() == []
        )
        assert [store.get(sha(i)).text for i in "012"] == [
            "text of 0",
            "new",
            "text of 2",
        ]


@pytest.mark.parametrize(
    "record",
    [
        b'{"key":"%s","text":1}' % sha("1").encode(),
        b'{"key":"%s","text":"a","served":{}}' % sha("1").encode(),
        b'{"key":' + b"[" * 100_000,
    ],
    ids=["a number", "an object", "nested too deep"],
)
def test_a_record_with_a_right_checksum_is_read_with_care(tmp_path, record):
    with Store(tmp_path) as store:
        store.put_many(done(str(i)) for i in range(3))
    damage(tmp_path, "record = ?, crc = ?", record, zlib.crc32(record[1:]))
    with Store(tmp_path) as store, pytest.warns(UserWarning, match="1 stored answers"):
        assert store.get_many(map(sha, "012")).keys() == {sha("0"), sha("2")}


@pytest.mark.filterwarnings("ignore:.*failed their checksum")
def test_a_flipped_bit_anywhere_costs_at_most_what_it_hit(tmp_path):
    made = {one.key: one for one in (done(str(i), f"{i} " * 900) for i in range(20))}
    with Store(tmp_path) as store:
        store.put_many(made.values())
    whole = (tmp_path / FILE).read_bytes()
    draw = random.Random(1)
    hit = 0
    refused = 0
    for _ in range(80):
        broken = bytearray(whole)
        broken[draw.randrange(len(whole))] ^= 1 << draw.randrange(8)
        (tmp_path / FILE).write_bytes(broken)
        with Store(tmp_path) as store:
            try:
                found = store.get_many(made)
                assert found == {key: made[key] for key in found} and len(found) >= 19
                hit += len(found) == 19
                assert (
                    store.put_many(made.values()) == 20 - len(found)
                    and store.get_many(made) == made
                )
            except StoreError as error:
                refused += 1
                assert FILE in str(error)
    assert hit > 12 and refused < 16


def test_a_newer_versions_file_is_not_misread(tmp_path):
    with Store(tmp_path) as store:
        store.put(done("1"))
    with sqlite3.connect(tmp_path / FILE) as database:
        database.execute("PRAGMA user_version = 9")
    database.close()
    with (
        Store(tmp_path) as store,
        pytest.raises(StoreError, match=r"no store of version 1 \(it says 9\): update"),
    ):
        store.put(done("2"))


FOREIGN = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases/foreign_records.jsonl").open()
]


def foreign(case: dict) -> str:
    """A record with a right key and checksum that this version would not write."""
    return json.dumps({"key": sha("1")} | case["fields"], separators=(",", ":"))


@pytest.mark.parametrize("case", FOREIGN, ids=lambda case: case["name"])
def test_a_foreign_record_is_not_merged(tmp_path, case):
    record = foreign(case)
    crc = zlib.crc32(record[1:].encode())
    line = f'{{"crc":"{crc:08x}",{record[1:]}\n'
    with Store(tmp_path / "other") as store:
        store.put(done("2"))
        store.export(tmp_path / "all.jsonl")
    with (tmp_path / "all.jsonl").open("a") as file:
        file.write(line)
    with Store(tmp_path) as store:
        with pytest.warns(UserWarning, match=f"1 damaged lines .*{case['says']}"):
            assert store.merge(tmp_path / "all.jsonl") == 1
        assert store.get_many(map(sha, "12")).keys() == {sha("2")}


@pytest.mark.parametrize("case", FOREIGN, ids=lambda case: case["name"])
def test_a_foreign_record_that_is_stored_is_told_and_asked_again(tmp_path, case):
    """One that a version before took in blocks nothing: neither its block of the
    store, nor the claims of who asks for it.
    """
    with Store(tmp_path) as store:
        store.put_many(done(str(i)) for i in range(3))
    record = foreign(case)
    damage(tmp_path, "record = ?, crc = ?", record, zlib.crc32(record[1:].encode()))
    with Store(tmp_path) as store, store.claimant() as name:
        assert store.verify() == [sha("1")]
        with pytest.warns(UserWarning, match=f"1 stored answers .*{case['says']}"):
            assert store.get_many(map(sha, "012")).keys() == {sha("0"), sha("2")}
        assert store.claim(name, map(sha, "012")) == {sha("1")}
        assert store.put(done("1")) and store.verify() == []


def test_what_is_no_store_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(StoreError, match="a part of its path is a file"):
        Store(tmp_path / "file" / "store").put(done("a"))
    for place, problem in {"file": "Not a directory", "loop": "symbolic links"}.items():
        for use in (Store.census, Store.sync, lambda store: store.put(done("a"))):
            with pytest.raises(StoreError, match=f"cannot use .*{place}.*{problem}"):
                use(Store(tmp_path / place))
    with pytest.raises(StoreError, match=f"is no store: it has no {FILE}"):
        Store(tmp_path / "new").merge(tmp_path)
    (tmp_path / FILE).touch()
    with pytest.raises(StoreError, match=f"{FILE} is no store of version"):
        len(Store(tmp_path))
    (tmp_path / FILE).write_bytes(b"no database " * 100)
    with pytest.raises(
        StoreError, match=rf"{FILE} is damaged: file is not a database; .*recover"
    ):
        len(Store(tmp_path))


def test_a_store_that_may_only_be_read_is_read(tmp_path, monkeypatch):
    with Store(tmp_path) as store:
        store.put(done("a"))
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with Store(tmp_path) as store:
        assert store.get(sha("a")) == done("a") and sorted(tmp_path.iterdir()) == before
        with pytest.raises(
            StoreError,
            match="readonly database; free the disk, make the folder writable",
        ):
            store.put(done("b"))


def killed_run(folder: Path, name: str) -> None:
    """Puts one completion and ends without closing the file."""
    store = Store(folder)
    store.put(done(name))
    os._exit(9)


@pytest.fixture
def left_by_a_killed_run(tmp_path) -> Path:
    """A store whose one record is in SQLite's write-ahead log."""
    folder = tmp_path / "killed"
    forked(killed_run, folder, "a").join()
    assert (folder / f"{FILE}-wal").stat().st_size
    return folder


def test_records_beside_the_file_are_read_where_nothing_may_be_written(
    left_by_a_killed_run, tmp_path, monkeypatch
):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with Store(left_by_a_killed_run) as store:
        assert store.get(sha("a")) == done("a") and len(store) == 1
        assert store.export(tmp_path / "all.jsonl") == 1
    monkeypatch.undo()
    with Store(tmp_path / "merged") as store:
        assert store.merge(left_by_a_killed_run) == 1


def test_a_log_that_cannot_be_read_is_no_empty_store(left_by_a_killed_run, monkeypatch):
    """SQLite reads no log where it can neither open nor make the log's index."""
    index = left_by_a_killed_run / f"{FILE}-shm"
    index.unlink()
    index.symlink_to(index.parent / "nowhere" / "index")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    for use in (len, Store.verify, Store.census):
        with (
            Store(left_by_a_killed_run) as store,
            pytest.raises(StoreError, match="copy the folder to where it is not"),
        ):
            use(store)


def test_a_full_disk_keeps_what_was_stored(tmp_path):
    """A limit on the size of files stands for the full disk; with room again, only
    the rest is written.
    """
    with Store(tmp_path) as store:
        store.put(done("first"))
    batches = [[done(f"{i}-{j}", "x" * 1000) for j in range(10)] for i in range(100)]

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        with (
            Store(tmp_path) as store,
            pytest.raises(StoreError, match=r"cannot use the store .*free the disk"),
        ):
            for batch in batches:
                store.put_many(batch)
        assert 1 < len(store) < 1000 and len(store) % 10 == 1, len(store)

    child = forked(fill)
    child.join()
    assert child.exitcode == 0
    with Store(tmp_path) as store:
        before = len(store)
        assert before > 1 and store.verify() == []
        assert (
            store.put_many(one for batch in batches for one in batch) == 1001 - before
        )
