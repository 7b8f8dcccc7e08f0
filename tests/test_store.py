"""The completion store: what is put stays, whatever happens to the process or the disk."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from nlgeval_lib import store as stores
from nlgeval_lib.schema import Completion
from nlgeval_lib.store import Store, StoreError, segment

MODEL = {"model": "m", "revision": "r"}


def sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def done(name: str, text: str | None = None) -> Completion:
    return Completion(key=sha(name), text=f"text of {name}" if text is None else text, prompt_tokens=3, **MODEL)


def python(code: str, *args: str, **options) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", code, *args], stdout=subprocess.PIPE, text=True, **options)


# -- keys -------------------------------------------------------------------------------------------------------------


def key(**changes):
    asked = {"model": "m", "revision": "r", "prompt": "Rate this.", "sampling": {"temperature": 1.0}, "draw": 0}
    return stores.completion_key(**{**asked, **changes})


def test_key_is_the_sha256_of_canonical_json():
    asked = {"model": "m", "revision": "r", "prompt": "é", "sampling": {"top_p": 1.0, "a": None}, "draw": 3}
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    assert stores.completion_key(**asked) == hashlib.sha256(text.encode()).hexdigest()


def test_key_changes_with_all_that_determines_a_completion():
    messages = [{"role": "user", "content": "Rate this."}]
    keys = [
        key(),
        key(model="n"),
        key(revision="s"),
        key(prompt="Rate this. "),
        key(prompt=None, messages=messages),
        key(sampling={"temperature": 1.1}),
        key(sampling={}),
        key(draw=1),
    ]
    assert len(set(keys)) == len(keys)
    assert key(sampling={"b": 1, "a": 2}) == key(sampling={"a": 2, "b": 1})


def test_draw_keys_agree_with_single_keys():
    body = stores.request_body(model="m", revision="r", prompt="p", sampling={})
    assert stores.draw_keys(body, [0, 7]) == [
        stores.completion_key(model="m", revision="r", prompt="p", sampling={}, draw=draw) for draw in (0, 7)
    ]


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"messages": [{"role": "user", "content": "x"}]}, "not both"),
        ({"prompt": None}, "not neither"),
        ({"sampling": {"temperature": math.nan}}, "NaN|JSON"),
        ({"draw": -1}, "0 or more"),
    ],
)
def test_bad_keys_are_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        key(**changes)


# -- records ----------------------------------------------------------------------------------------------------------

texts = st.text(st.characters(), max_size=60) | st.sampled_from(["", "\n", "\r\n\x85\u2028", "\ud800", '"}\\', "\x00"])
logprobs = st.none() | st.lists(st.dictionaries(texts, st.floats(max_value=0), max_size=3), max_size=3).map(tuple)
completions = st.builds(
    Completion,
    key=texts.map(sha),
    text=texts,
    finish_reason=st.sampled_from(["stop", "length"]),
    prompt_tokens=st.integers(0, 10**9),
    completion_tokens=st.integers(0, 10**9),
    logprobs=logprobs,
    model=texts,
    revision=texts,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(completions, max_size=8))
def test_what_is_put_comes_back(many):
    with tempfile.TemporaryDirectory() as folder:
        first: dict[str, Completion] = {}
        for c in many:
            first.setdefault(c.key, c)
        with Store(folder) as store:
            assert store.put_many(many) == len(first)
            assert store.get_many(first) == first
        again = Store(folder)
        assert {k: again.get(k) for k in again} == first
        assert stores.verify(again).ok
        again.close()


def test_the_first_completion_of_a_key_stays(tmp_path):
    store = Store(tmp_path)
    assert store.put(done("a", "first")) and not store.put(done("a", "second"))
    assert store.get(sha("a")).text == "first" == Store(tmp_path).get(sha("a")).text


def test_a_store_knows_what_was_asked(tmp_path):
    body = stores.request_body(model="m", revision="r", prompt="Rate: {x}", sampling={"top_k": 3})
    store = Store(tmp_path)
    assert store.put_many([done("a")], [body, body]) == 1
    store.put_many([], [body])
    assert list(Store(tmp_path).requests()) == [(stores.request_key(body), body)]
    assert Store(tmp_path).request(stores.request_key(body)) == body
    assert len(store) == 1 and list(store.keys()) == [sha("a")]
    assert (tmp_path / "0000.jsonl").read_text().count("\n") == 2


def test_lines_are_json_that_others_can_read(tmp_path):
    Store(tmp_path).put(done("a", "naïve 中文 \n end"))
    record = json.loads((tmp_path / "0000.jsonl").read_text(encoding="utf-8"))
    assert record["text"] == "naïve 中文 \n end" and record["key"] == sha("a")
    assert "中文" in (tmp_path / "0000.jsonl").read_text(encoding="utf-8")


def test_an_error_is_not_a_finished_completion(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(ValueError, match="only finished"):
        store.put(Completion(key=sha("a"), text="", finish_reason="error", error="timeout"))
    with pytest.raises(ValueError, match="64 lower-case hex"):
        store.put(Completion(key="a/../b", text=""))
    assert len(store) == 0 and not list(tmp_path.iterdir())


def test_a_missing_folder_is_an_empty_store(tmp_path):
    store = Store(tmp_path / "a" / "b")
    assert len(store) == 0 and store.get(sha("x")) is None and sha("x") not in store
    assert not (tmp_path / "a").exists()
    assert store.put(done("x")) and store.has(sha("x"))


def test_a_closed_store_does_not_claim_to_be_empty(tmp_path):
    store = Store(tmp_path)
    store.put(done("x"))
    store.close()
    for use in (
        lambda: store.get(sha("x")),
        lambda: len(store),
        lambda: store.put(done("y")),
        lambda: sha("x") in store,
    ):
        with pytest.raises(ValueError, match="closed"):
            use()
    assert "closed" in repr(store)
    store.refresh()
    assert len(store) == 1


class StoreMachine(RuleBasedStateMachine):
    """Two stores on one folder, crashes, truncation and damage, against a dictionary."""

    names = st.integers(0, 40).map(str)

    @initialize()
    def start(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.stores = [Store(self.path), Store(self.path)]
        self.kept: dict[str, Completion] = {}

    @rule(which=st.integers(0, 1), some=st.lists(names, max_size=5), extra=texts)
    def put(self, which, some, extra):
        made = [done(name, f"{name}{extra}") for name in some]
        self.stores[which].put_many(made)
        for c in made:
            if c.key not in self.kept:
                self.kept[c.key] = self.stores[which].get(c.key)
                assert self.kept[c.key] is not None

    @rule(which=st.integers(0, 1))
    def refresh(self, which):
        self.stores[which].refresh()
        assert set(self.stores[which].keys()) == set(self.kept)

    @rule(which=st.integers(0, 1))
    def crash(self, which):
        self.stores[which].close()
        self.stores[which] = Store(self.path)

    @rule(which=st.integers(0, 1), junk=st.binary(min_size=1, max_size=200))
    def die_while_writing(self, which, junk):
        """The writer is gone, and its segment ends with part of a line."""
        self.stores[which].close()
        for path in self.path.glob("*.jsonl"):
            with open(path, "rb+") as file:
                if segment.try_lock(file.fileno()):
                    file.seek(0, os.SEEK_END)
                    file.write(junk.replace(b"\n", b"x"))
        self.stores[which] = Store(self.path)

    @rule(which=st.integers(0, 1))
    def compact(self, which):
        report = stores.compact(self.stores[which])
        assert report.ok and report.completions == len(self.kept)

    @rule(which=st.integers(0, 1), name=names)
    def look_up(self, which, name):
        got = self.stores[which].get(sha(name))
        assert got is None or sha(name) in self.kept

    @invariant()
    def nothing_is_lost(self):
        if hasattr(self, "kept"):
            fresh = Store(self.path)
            assert set(fresh.keys()) == set(self.kept)
            fresh.close()

    def teardown(self):
        if hasattr(self, "stores"):
            for store in self.stores:
                store.close()
            self.folder.cleanup()


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)

# -- crashes ----------------------------------------------------------------------------------------------------------

WRITER = """
import hashlib, os, sys
from nlgeval_lib.schema import Completion
from nlgeval_lib.store import Store
folder, name, count, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
store = Store(folder)
for i in range(count):
    key = hashlib.sha256(f"{name}{i}".encode()).hexdigest()
    if store.put(Completion(key=key, text=f"{name}{i} " + "word " * (size * (i % 7)))):
        os.write(1, b"%d\\n" % i)
"""


def test_fifty_kills_lose_nothing_that_was_finished(tmp_path):
    """A forked writer is killed 50 times at random moments; resumed, it ends as an undisturbed one does."""
    count, size, draw = 6500, 60, random.Random(5)
    finished: list[int] = []
    killed = 0
    for _ in range(50):
        reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)  # 64 lines ahead at most: no writer ends before it is killed
        pid = os.fork()
        if pid == 0:
            try:
                os.close(reading)
                store = Store(tmp_path)
                for i in range(count):
                    c = done(f"w{i}", f"w{i} " + "word " * (size * (i % 7)))
                    if store.put(c):
                        os.write(writing, b"%-63d\n" % i)
            finally:
                os._exit(0)
        os.close(writing)
        stop, got = draw.randint(0, 60), b""
        with os.fdopen(reading, "rb", buffering=0) as pipe:
            while got.count(b"\n") < stop and (more := pipe.read(64)):
                got += more
            os.kill(pid, 9)
            killed += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
            while more := pipe.read(4096):
                got += more
        finished += [int(line) for line in got.split()]
        store = Store(tmp_path)
        assert all(sha(f"w{i}") in store for i in finished)
        store.close()
    assert len(finished) == len(set(finished)), "a finished completion was asked twice"
    assert killed == 50 and len(finished) > 500
    store = Store(tmp_path)
    store.put_many(done(f"w{i}", f"w{i} " + "word " * (size * (i % 7))) for i in range(count))
    report = stores.verify(store)
    assert report.ok and not report.unfinished and report.duplicates == 0 and report.segments == 1
    assert {k: store.get(k).text for k in store} == {
        sha(f"w{i}"): f"w{i} " + "word " * (size * (i % 7)) for i in range(count)
    }


def test_two_processes_lose_nothing(tmp_path):
    """Two writers at once, half of their keys the same, beside a reader in this process."""
    store = Store(tmp_path)
    writers = [python(WRITER, str(tmp_path), name, "1500", "20") for name in ("both", "both", "other")]
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    store.refresh()
    assert set(store.keys()) == {sha(f"{name}{i}") for name in ("both", "other") for i in range(1500)}
    report = stores.verify(store)
    assert report.ok and report.completions == 3000
    assert report.segments <= 3
    joined = stores.compact(store)
    assert (joined.completions, joined.duplicates, joined.segments) == (3000, 0, 1)
    assert all(store.get(sha(f"both{i}")).text.startswith(f"both{i} ") for i in range(1500))


def test_threads_share_a_store(tmp_path):
    store = Store(tmp_path)
    threads = [threading.Thread(target=lambda t=t: [store.put(done(f"{t}-{i}")) for i in range(200)]) for t in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Store(tmp_path)) == len(store) == 800 and stores.verify(store).ok


def test_a_forked_child_writes_to_a_segment_of_its_own(tmp_path):
    store = Store(tmp_path)
    store.put(done("parent"))
    pid = os.fork()
    if pid == 0:
        try:
            store.put(done("child"))
        finally:
            os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    store.put(done("parent again"))
    store.refresh()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0000.jsonl", "0001.jsonl"]
    assert all(sha(name) in store for name in ("parent", "child", "parent again"))
    assert stores.verify(store).ok


def test_every_truncation_keeps_the_whole_lines(tmp_path):
    store = Store(tmp_path / "full")
    for i in range(4):
        store.put(done(str(i)))
    whole = (tmp_path / "full" / "0000.jsonl").read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == 10]
    for cut in range(len(whole) + 1):
        folder = tmp_path / "cut"
        folder.mkdir(exist_ok=True)
        (folder / "0000.jsonl").write_bytes(whole[:cut])
        cut_store = Store(folder)
        finished = sum(end <= cut for end in ends)
        assert len(cut_store) == finished
        assert len(stores.verify(cut_store).unfinished) == (cut not in (0, *ends))
        if cut % 37 == 0:
            cut_store.put(done("new"))
            assert len(Store(folder)) == finished + 1 and stores.verify(cut_store).ok
        cut_store.close()


def test_damaged_lines_are_skipped_and_reported(tmp_path):
    store = Store(tmp_path)
    for i in range(5):
        store.put(done(str(i)))
    store.close()
    path = tmp_path / "0000.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b"text of", b"test of")
    lines[3] = b"not a record\n"
    path.write_bytes(b"".join(lines))
    store.refresh()
    assert set(store.keys()) == {sha("0"), sha("2"), sha("4")}
    report = stores.verify(store)
    assert not report.ok
    assert [(d.offset, d.problem) for d in report.damaged] == [
        (len(lines[0]), "checksum does not match"),
        (sum(map(len, lines[:3])), "not a record"),
    ]
    after = stores.compact(store)
    assert after.ok and after.completions == 3
    assert (tmp_path / "damaged.bin").read_bytes() == lines[1] + lines[3]


def test_a_record_of_a_newer_version_is_named_and_kept(tmp_path):
    from nlgeval_lib.store import compact, lines

    new = lines.encode(sha("new"), lines.of_completion(done("new")) | {"tool_calls": []})
    with Store(tmp_path) as store:
        store.put(done("old"))
        (tmp_path / "0001.jsonl").write_bytes(new)
        store.refresh()
        with pytest.raises(ValueError, match="has tool_calls, which this version does not know: a newer one wrote it"):
            store.get(sha("new"))
        assert store.get(sha("old")) == done("old")
        compact(store)
    assert new in (tmp_path / "0000.jsonl").read_bytes()


def test_a_line_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr("nlgeval_lib.store.core._BLOCK", 256)
    monkeypatch.setattr("nlgeval_lib.store.maintenance._BLOCK", 300)
    store = Store(tmp_path)
    for size in (10, 5000, 0, 700):
        store.put(done(str(size), "x" * size))
    assert {len(c.text) for c in Store(tmp_path).get_many(map(sha, ["10", "5000", "0", "700"])).values()} == {
        10,
        5000,
        0,
        700,
    }
    assert stores.verify(store).completions == 4


def test_a_compaction_elsewhere_is_noticed(tmp_path):
    one, two = Store(tmp_path), Store(tmp_path)
    one.put(done("a"))
    two.put(done("b"))
    two.refresh()
    one.close()
    two.close()
    two.refresh()
    watcher = Store(tmp_path)
    assert stores.compact(two).segments == 1
    assert watcher.get(sha("b")).text == "text of b", "an open reader still has the old files"
    two.put(done("c"))
    watcher.refresh()
    assert len(watcher) == 3 and watcher.get(sha("c")).text == "text of c"


def test_a_file_changed_under_the_store_is_an_error(tmp_path):
    store = Store(tmp_path)
    store.put(done("a"))
    (tmp_path / "0000.jsonl").write_bytes(b"")
    with pytest.raises(StoreError, match=r"0000\.jsonl.*open the store again"):
        store.get(sha("a"))


# -- no room, no permission -------------------------------------------------------------------------------------------


def test_a_full_disk_keeps_what_fits(tmp_path):
    """A file-size limit stands for the full disk; with room again, only the rest is written."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
            store = Store(tmp_path)
            many = [done(str(i), "x" * 100) for i in range(20)]
            try:
                store.put_many(many)
            except StoreError as error:
                kept = len(store)
                assert f"{kept} completions out of 20" in str(error) and "make room" in str(error), error
                assert 0 < kept < 20 and all(store.get(c.key) == c for c in many[:kept])
                assert stores.verify(store).ok and not stores.verify(store).unfinished
                try:
                    store.put(many[-1])
                except StoreError:
                    code = 0
        except BaseException as error:
            os.write(2, repr(error).encode())
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
    store = Store(tmp_path)
    before = len(store)
    assert store.put_many(done(str(i), "x" * 100) for i in range(20)) == 20 - before
    assert stores.verify(store).ok and len(store) == 20


@pytest.mark.parametrize("room", [0, 1, 150, 235, 236, 237, 500])
def test_short_writes_never_leave_a_broken_line(tmp_path, monkeypatch, room):
    """The disk takes `room` bytes, then none; later it takes all."""
    store, real, left = Store(tmp_path), os.write, [room]

    def write(fd, data):
        if left[0] <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = real(fd, bytes(data)[: left[0]])
        left[0] -= count
        return count

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(StoreError, match="No space left") as caught:
        store.put_many([done(str(i)) for i in range(4)])
    assert caught.value.errno == errno.ENOSPC
    left[0] = 10**9
    kept = len(store)
    assert stores.verify(store).completions == kept and not stores.verify(store).unfinished
    assert store.put_many([done(str(i)) for i in range(4)]) == 4 - kept
    assert stores.verify(store).completions == 4 and stores.verify(store).ok


def test_a_folder_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match=r"file.*Not a directory|cannot"):
        Store(tmp_path / "file" / "store").put(done("a"))


def test_without_locks_every_writer_has_its_own_file(tmp_path, monkeypatch):
    monkeypatch.setattr(segment, "fcntl", None)
    one, two = Store(tmp_path), Store(tmp_path)
    one.put(done("a"))
    two.put(done("b"))
    one.put(done("c"))
    assert len(Store(tmp_path)) == 3
    assert len([p for p in tmp_path.glob("own-*.jsonl")]) == 2
