"""The cache of metric values: what is stored is found, by anyone, whatever happened
to the one who stored it.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgeval_lib.evaluators import Bleu, Rouge
from nlgeval_lib.evaluators.score_cache import CacheError, ValueCache, key

TEXTS = st.text(st.characters(codec=None), max_size=12)  # lone surrogates too


@given(st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=4))
def test_keys_are_equal_exactly_where_the_parts_are(a: list[str], b: list[str]) -> None:
    assert (key(*a) == key(*b)) == (a == b)


def test_key_is_stable_between_versions_of_this_project() -> None:
    digests = [hashlib.sha256(part).digest() for part in (b"bleu", b"\xc3\xbc")]
    assert key("bleu", "ü") == hashlib.sha256(b"".join(digests)).digest()


WRITER = """
import sys
from nlgeval_lib.evaluators.score_cache import ValueCache, key
cache = ValueCache(sys.argv[1])
number = 0
while number < int(sys.argv[3]):
    cache.put({key(sys.argv[2], str(number), part): (float(number), 0.5) for part in "ab"})
    print(number, flush=True)
    number += 1
"""


def _run(code: str, *arguments: object) -> subprocess.Popen:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_killed_while_writing_keeps_what_was_stored_whole(tmp_path: Path) -> None:
    path = tmp_path / "scores.sqlite"
    for round_ in range(2):
        writer = _run(WRITER, path, round_, 10**6)
        assert writer.stdout is not None
        done = [int(writer.stdout.readline()) for _ in range(5 + 9 * round_)]
        os.kill(writer.pid, signal.SIGKILL)
        done += [int(line) for line in writer.stdout.read().splitlines()]
        writer.wait()
        cache = ValueCache(path)
        stored = cache.get([key(str(round_), str(i), "a") for i in done])
        assert len(stored) == len(done)
        pairs = [
            len(cache.get([key(str(round_), str(i), part) for part in "ab"]))
            for i in range(len(done) + 2)
        ]
        assert set(pairs) <= {0, 2}, "half of a pair was stored"


def test_a_damaged_file_is_named_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "scores.sqlite"
    path.write_bytes(b"<html>no database</html>" * 100)
    with pytest.raises(CacheError, match=r"scores\.sqlite is damaged.*delete it"):
        ValueCache(path).get([key("a")])
    with pytest.raises(CacheError, match="delete it"):
        Bleu(cache=path).score(["a"], ["a"])


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match=r"file.*NLGEVAL_HOME"):
        Bleu(cache=tmp_path / "file" / "scores.sqlite").score(["a"], ["a"])


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pairs each call computed."""
    calls: list[int] = []
    for cls in (Bleu, Rouge):
        real = cls.compute
        monkeypatch.setattr(
            cls,
            "compute",
            lambda self, pairs, real=real: (
                calls.append(len(pairs)),
                real(self, pairs),
            )[1],
        )
    return calls


OUTPUTS = ["the cat sat", "the cat sat", "a dog", "a dog"]
REFERENCES = ["the cat sat down", "the cat sat down", "a dog", "one dog"]


def test_equal_pairs_are_computed_once_and_a_second_run_computes_nothing(
    tmp_path: Path, counted: list[int]
) -> None:
    first = Bleu(cache=tmp_path / "c.sqlite").score(OUTPUTS, REFERENCES)["value"]
    assert counted == [3]
    metric = Bleu(cache=tmp_path / "c.sqlite")
    assert metric.score(OUTPUTS, REFERENCES)["value"].tolist() == first.tolist()
    assert counted == [3]
    assert metric.details == {"cached": 3, "computed": 0}


def test_keys_are_those_of_what_changes_a_pair(
    tmp_path: Path, counted: list[int]
) -> None:
    path = tmp_path / "c.sqlite"
    for options in (
        {},
        {"smooth": "floor"},
        {"smooth": "add-k"},
        {"lowercase": True},
    ):
        Bleu(cache=path, **options).score(OUTPUTS, REFERENCES)
    Rouge(cache=path, package="rouge").score(OUTPUTS, REFERENCES)
    Rouge(cache=path).score(OUTPUTS, REFERENCES)
    assert counted == [3] * 6
    Rouge(cache=path, value="p", empty="zero").score(OUTPUTS, REFERENCES)
    Rouge(cache=path, multi="max").score(OUTPUTS[:1], [[REFERENCES[0], " "]])
    assert counted == [3] * 6


def test_a_run_that_breaks_off_keeps_its_finished_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Bleu, "chunk", 2)
    real = Bleu.compute
    calls = []

    def compute(self, pairs):
        calls.append(len(pairs))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(self, pairs)

    monkeypatch.setattr(Bleu, "compute", compute)
    outputs = [f"word {i}" for i in range(7)]
    with pytest.raises(KeyboardInterrupt):
        Bleu(cache=tmp_path / "c.sqlite").score(outputs, outputs)
    metric = Bleu(cache=tmp_path / "c.sqlite")
    metric.score(outputs, outputs)
    assert (metric.details["cached"], metric.details["computed"]) == (4, 3)


def test_no_cache_writes_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path))
    Bleu(cache=False).score(["a"], ["a"])
    assert list(tmp_path.iterdir()) == []
    Bleu().score(["a"], ["a"])
    files = [path.name for path in (tmp_path / "metrics").iterdir()]
    assert files == ["scores.sqlite"]


def test_a_chunk_that_another_process_stored_meanwhile_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "scores.sqlite"
    texts = [f"word {i}" for i in range(10)]
    real = Bleu.compute

    def compute(self, items):
        """Another process is done with all of it while this one is at a chunk."""
        monkeypatch.setattr(Bleu, "compute", real)
        Bleu(cache=path).score(texts, texts[::-1])
        return real(self, items)

    monkeypatch.setattr(Bleu, "chunk", 4)
    monkeypatch.setattr(Bleu, "compute", compute)
    metric = Bleu(cache=path)
    scored = metric.score(texts, texts[::-1])
    assert (scored["status"] == "ok").all()
    assert (metric.details["cached"], metric.details["computed"]) == (6, 4)
