"""Fetching: order of origins, checksums, the state of verification, and what each
bad answer of a server gives.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import threading
from collections import Counter
from pathlib import Path

import pytest
from loopback import LoopbackServer, QuietHandler

from nlgeval_lib import datasets, files
from nlgeval_lib.datasets import (
    ChecksumError,
    DataUnavailable,
    UnknownName,
    fetch,
    registry,
    unreachable,
)

GOOD = b'{"text": "the right file"}\n' * 4000
OTHER = b'{"text": "another file!!!"}\n' * 4000
HTML = b"<!DOCTYPE html><html><body>please log in</body></html>"


# the last part of an address -> what the server answers: first, and from the second
# time on where that differs
ANSWERS: dict[str, list[tuple[int, bytes]]] = {
    "good": [(200, GOOD)],
    "flaky": [(500, b"oops"), (200, GOOD)],
    "wrong": [(200, OTHER[: len(GOOD)].ljust(len(GOOD), b"\n"))],
    "longer": [(200, GOOD + b"more")],
    "cut": [(200, GOOD[:1000])],
    "cut-once": [(200, GOOD[:1000]), (200, GOOD)],
    "short": [(200, GOOD[:1000])],
    "html": [(200, HTML)],
    "html-same-size": [(200, HTML.ljust(len(GOOD)))],
    "broken": [(500, b"oops")],
    "busy": [(429, b"slow down")],
    "missing": [(404, b"no such file")],
    "redirect": [(302, b"")],
    "hang": [(200, b"")],
}


class _Handler(QuietHandler):
    """Answers by path; `server.hits` counts requests."""

    def do_GET(self):
        name = self.path.strip("/")
        self.server.hits[name] += 1
        if name == "hang":
            self.server.over.wait(20)
            return
        code, body = ANSWERS[name][min(self.server.hits[name], len(ANSWERS[name])) - 1]
        cut = name.startswith("cut") and body != GOOD
        self.send_response(code)
        if name == "redirect":
            self.send_header("Location", "/good")
        self.send_header("Content-Length", str(len(GOOD) if cut else len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = cut


@pytest.fixture
def server():
    """A real server on the loopback interface."""
    running = LoopbackServer(_Handler)
    running.hits = Counter()
    yield running
    running.stop()


def _row(path: str, url: str, content: bytes = GOOD) -> str:
    return f"{path},{url},{hashlib.sha256(content).hexdigest()},{len(content)},MIT,someone/something,abc\n"


def _write_registry(root: Path, rows: list[str]) -> None:
    (root / "data").mkdir(exist_ok=True)
    header = "path,url,sha256,bytes,licence,repository,commit\n"
    (root / "data" / "registry.csv").write_text(
        header + "".join(rows), encoding="utf-8"
    )


@pytest.fixture
def checkout(tmp_path, monkeypatch, server):
    """An empty checkout whose registry names the server's files as `set/<answer>`."""
    address = f"http://127.0.0.1:{server.server_address[1]}"
    _write_registry(
        tmp_path, [_row(f"set/{name}", f"{address}/{name}") for name in ANSWERS]
    )
    for name in (
        "NLGEVAL_DATA_MIRROR",
        "NLGEVAL_OFFLINE",
        "http_proxy",
        "HTTP_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NLGEVAL_ROOT", str(tmp_path))
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(fetch, "TIMEOUT", (20.0, 20.0))
    monkeypatch.setattr(fetch, "BACKOFF", 0.0)
    unreachable.forget()
    return tmp_path


def _left(checkout: Path) -> list[str]:
    raw = checkout / "data" / "raw"
    return (
        sorted(str(path.relative_to(raw)) for path in raw.rglob("*") if path.is_file())
        if raw.exists()
        else []
    )


@pytest.mark.parametrize(
    ("name", "hits"), [("good", 1), ("redirect", 1), ("flaky", 2), ("cut-once", 2)]
)
def test_a_good_file_is_downloaded_once_and_kept_under_its_path(
    checkout, server, name, hits
):
    """What fails in passing is tried again."""
    path = fetch.path(f"set/{name}")
    assert (
        path == checkout / "data" / "raw" / "set" / name and path.read_bytes() == GOOD
    )
    assert fetch.path(f"set/{name}") == path
    assert server.hits[name] == hits and _left(checkout) == [f"set/{name}"]


def test_the_mirror_is_found_beside_the_checkout_named_or_put_aside(
    tmp_path, monkeypatch
):
    root = tmp_path / "checkout"
    beside = tmp_path / "shared" / "data"
    root.mkdir()
    monkeypatch.setenv("NLGEVAL_ROOT", str(root))
    monkeypatch.delenv("NLGEVAL_DATA_MIRROR", raising=False)
    assert fetch.mirror() is None and fetch.mirror_line().startswith(
        "data mirror: none (no NLGEVAL_DATA_MIRROR"
    )
    beside.mkdir(parents=True)
    assert fetch.mirror() == beside
    assert (
        fetch.mirror_line()
        == f"data mirror: {beside} (beside the checkout; NLGEVAL_DATA_MIRROR= for none)"
    )
    for empty in ("", "  "):
        monkeypatch.setenv("NLGEVAL_DATA_MIRROR", empty)
        assert fetch.mirror() is None
        assert fetch.mirror_line() == "data mirror: none (NLGEVAL_DATA_MIRROR is empty)"
    monkeypatch.setenv("NLGEVAL_DATA_MIRROR", str(root))
    assert (
        fetch.mirror() == root
        and fetch.mirror_line() == f"data mirror: {root} (NLGEVAL_DATA_MIRROR)"
    )


@pytest.mark.parametrize(
    ("name", "error", "said", "requests"),
    [
        ("missing", DataUnavailable, "404", 1),
        ("broken", DataUnavailable, "500", 3),
        ("busy", DataUnavailable, "429", 3),
        ("wrong", ChecksumError, "sha256 is", 1),
        ("longer", ChecksumError, "sha256 is", 1),
        ("cut", DataUnavailable, "IncompleteRead", 3),
        ("short", DataUnavailable, "truncated download: 1,000 of", 3),
        ("html", DataUnavailable, "looks like an HTML page", 1),
        ("html-same-size", DataUnavailable, "looks like an HTML page", 1),
        ("hang", DataUnavailable, "ReadTimeout", 3),
    ],
)
def test_a_bad_answer_is_named_and_leaves_nothing(
    checkout, server, monkeypatch, name, error, said, requests
):
    if name == "hang":
        monkeypatch.setattr(fetch, "TIMEOUT", (2.0, 0.2))
    with pytest.raises(error) as raised:
        fetch.path(f"set/{name}")
    message = str(raised.value)
    assert said in message and name in message and "\n" not in message
    # a request that times out on a busy machine may end before the server has counted
    # it
    assert server.hits[name] == requests or (
        name == "hang" and 1 <= server.hits[name] <= requests
    )
    assert _left(checkout) == []


def test_what_was_tried_and_the_way_out_are_said(checkout, tmp_path, monkeypatch):
    with pytest.raises(
        DataUnavailable,
        match=r"set/missing.*not in data/raw, no mirror set.*404.*make data",
    ):
        fetch.path("set/missing")
    monkeypatch.setenv("NLGEVAL_DATA_MIRROR", str(tmp_path / "elsewhere"))
    with pytest.raises(DataUnavailable, match=r"not in the mirror .*elsewhere; http"):
        fetch.path("set/missing")


def test_a_host_that_cannot_be_reached_is_asked_once(checkout, monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    _write_registry(
        checkout, [_row(f"set/{n}", f"http://127.0.0.1:{port}/{n}") for n in "ab"]
    )
    with pytest.raises(DataUnavailable, match=r"unreachable.*Connection"):
        fetch.path("set/a")
    monkeypatch.setattr(
        "pooch.HTTPDownloader.__call__",
        lambda *a: pytest.fail("the host was asked again"),
    )
    with pytest.raises(DataUnavailable, match=rf"127.0.0.1:{port} is unreachable"):
        fetch.path("set/b")


def test_offline_and_with_a_mirror_nobody_is_asked(
    checkout, server, tmp_path, monkeypatch
):
    monkeypatch.setenv("NLGEVAL_OFFLINE", "1")
    with pytest.raises(DataUnavailable, match="downloads are off"):
        fetch.path("set/good")
    monkeypatch.delenv("NLGEVAL_OFFLINE")
    mirror = tmp_path / "mirror"
    (mirror / "set").mkdir(parents=True)
    (mirror / "set" / "good").write_bytes(GOOD)
    monkeypatch.setenv("NLGEVAL_DATA_MIRROR", str(mirror))
    assert fetch.path("set/good") == mirror / "set" / "good"
    assert server.hits == {} and _left(checkout) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (GOOD.replace(b"right", b"wrong", 1), "sha256 is"),
        (GOOD[:-1], f"{len(GOOD) - 1:,} bytes where {len(GOOD):,} are"),
    ],
)
def test_a_wrong_local_file_is_never_used(checkout, server, content, said):
    path = checkout / "data" / "raw" / "set" / "good"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(ChecksumError, match="delete it and fetch again") as raised:
        fetch.path("set/good")
    assert said in str(raised.value) and str(path) in str(raised.value)
    assert path.read_bytes() == content and server.hits == {}


def test_an_unchanged_file_is_hashed_once(checkout, monkeypatch):
    path = fetch.path("set/good")
    fetch.path("set/good")
    hashed: list[Path] = []
    real = files.sha256
    monkeypatch.setattr(files, "sha256", lambda path: hashed.append(path) or real(path))
    fetch.path("set/good")
    assert hashed == []
    content = bytearray(path.read_bytes())
    content[7] ^= 1
    stat = path.stat()
    path.write_bytes(bytes(content))
    # same size, same time of change
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(ChecksumError, match="sha256 is"):
        fetch.path("set/good")


def test_unknown_paths_give_the_nearest(checkout):
    with pytest.raises(
        UnknownName, match=r"unknown data file 'set/god'; nearest: set/good"
    ):
        fetch.path("set/god")
    with pytest.raises(UnknownName):
        fetch.path("../../etc/passwd")


def test_all_reports_each_data_set_and_goes_on(checkout, monkeypatch):
    groups = {
        "one": ["set/good", "set/flaky"],
        "two": ["set/good", "set/missing"],
        "three": [],
    }
    monkeypatch.setattr(datasets, "groups", lambda: tuple(groups))
    monkeypatch.setattr(datasets, "files", groups.__getitem__)
    lines: list[str] = []
    one, two, three = fetch.all(say=lines.append)
    assert one.ok and (one.here, len(one.files)) == (2, 2)
    assert not two.ok and two.here == 1 and "404" in two.reason
    assert three.ok
    assert [line.split()[0] for line in lines[:3]] == ["one", "two", "three"]
    assert lines[3].startswith("2 of 3 data sets ready (3 files") and lines[3].endswith(
        "unavailable: two"
    )


class _InPairs(QuietHandler):
    """Answers only where two requests are waiting at once, but for the first one."""

    def do_GET(self):
        name = self.path.strip("/")
        self.server.hits[name] += 1
        if name != "part-0":
            self.server.two.wait(20)
        body = OTHER if name == "part-4" else GOOD
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def parts(checkout):
    """Seven files of one set whose server answers two requests at a time."""
    running = LoopbackServer(_InPairs)
    running.hits = Counter()
    running.two = threading.Barrier(2)
    address = f"http://127.0.0.1:{running.server_address[1]}"
    names = [f"part-{number}" for number in range(7)]
    rows = [_row(f"set/{name}", f"{address}/{name}") for name in names]
    _write_registry(checkout, rows)
    yield running
    running.stop()


def test_many_files_are_fetched_several_at_once_each_checked(checkout, parts):
    """A server that answers two at a time, never one, is enough; a file that is another
    one is not kept; what lies there is not asked for.
    """
    relpaths = [f"set/part-{number}" for number in range(7)]
    fetch.together("set", relpaths)
    assert [parts.hits[f"part-{number}"] for number in range(7)] == [1] * 7
    assert _left(checkout) == sorted({*relpaths} - {"set/part-4"})
    for relpath in _left(checkout):
        assert fetch.path(relpath).read_bytes() == GOOD
    fetch.together("set", _left(checkout))
    assert parts.hits.total() == 7


def test_where_the_first_cannot_be_had_nobody_is_asked_for_the_rest(checkout, server):
    fetch.together("set", ["set/missing", "set/good", "set/flaky"])
    assert server.hits == Counter(missing=1)
    assert _left(checkout) == []


def test_a_recording_asks_for_the_files_of_its_options_alone(
    checkout, server, monkeypatch
):
    """LLMBar's 330 files: one judge and prompt are five of them."""
    from judgecard.recordings import pair_verdicts

    asked = []
    monkeypatch.setattr(
        fetch, "together", lambda name, relpaths: asked.extend(relpaths)
    )
    with pytest.raises(UnknownName):  # the checkout's registry does not know them
        pair_verdicts.load_llmbar(judges=("GPT-4",), prompt_forms=("Vanilla",))
    assert len(asked) == 5 and all("GPT-4/Vanilla/" in relpath for relpath in asked)


def test_the_registry_is_whole_and_names_no_place_of_one_machine():
    known = registry.entries()
    fetched = {path: one for path, one in known.items() if not one.optional}
    assert (len(fetched), len(known)) == (1004, 1015)
    total = sum(entry.bytes for entry in fetched.values())
    assert total == pytest.approx(303e6, rel=0.02)
    for one in known.values():
        assert one.licence and one.repository.count("/") == 1 and ".." not in one.path
        head = f"https://raw.githubusercontent.com/{one.repository}/{one.commit}/"
        assert one.url.startswith(head)
        assert re.fullmatch(r"[0-9a-f]{64}", one.sha256) or (
            one.optional and re.fullmatch(r"[0-9a-f]{40}", one.git_blob)
        )
        assert len(set(one.places())) == len(one.places()) >= 2
    used = {path for name in datasets.groups() for path in datasets.files(name)}
    assert used <= set(fetched)


# --- optional files, further places, hosts that do not answer


def _optional_row(path: str, url: str, content: bytes = GOOD) -> str:
    """A row without sha256, as `git hash-object` gives its blob id."""
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    return f"{path},{url},,0,MIT,someone/something,abc,{blob},two texts\n"


@pytest.fixture
def optional(checkout, server):
    address = f"http://127.0.0.1:{server.server_address[1]}"
    header = "path,url,sha256,bytes,licence,repository,commit,git_blob,holds\n"
    rows = [
        _optional_row("set/good", f"{address}/good"),
        _optional_row("set/wrong", f"{address}/wrong"),
    ]
    (checkout / "data" / "registry.csv").write_text(header + "".join(rows))
    return checkout


def test_an_optional_file_is_fetched_only_when_asked_for(optional, server, monkeypatch):
    with pytest.raises(
        DataUnavailable, match=r"published at http.*/good, not here: two texts.*--fetch"
    ):
        fetch.path("set/good")
    assert server.hits == {}
    [kept_out] = fetch.all(["set/good"], say=lambda line: None)
    [fetched] = fetch.all(["set/good"], say=lambda line: None, optional=True)
    assert not kept_out.ok and fetched.ok and server.hits["good"] == 1
    assert fetch.path("set/good").read_bytes() == GOOD


def test_a_git_blob_id_verifies_where_no_sha256_is_known(optional):
    """git's own id of these bytes, by `git hash-object`."""
    path = optional / "sample"
    path.write_bytes(b"what is up, doc?")
    assert fetch.git_blob(path) == "bd9dbf5aae1a3862dd1526723246b20206e5fc37"
    with pytest.raises(ChecksumError, match="git blob id is"):
        fetch.path("set/wrong", optional=True)
    raw = optional / "data" / "raw" / "set"
    raw.mkdir(parents=True, exist_ok=True)
    (raw / "good").write_bytes(OTHER)
    with pytest.raises(ChecksumError, match="git blob id is"):
        fetch.path("set/good")


@pytest.mark.parametrize("name", ["missing", "wrong", "broken"])
def test_further_places_are_asked_in_order_and_once(checkout, server, name):
    address = f"http://127.0.0.1:{server.server_address[1]}"
    places = f"place,url\nsame,{address}/{name}\narchive,{address}/good\n"
    (checkout / "data" / "places.csv").write_text(places)
    assert fetch.path(f"set/{name}").read_bytes() == GOOD
    asked = fetch.ATTEMPTS if name == "broken" else 1
    assert server.hits == {name: asked, "good": 1}


def test_where_all_places_fail_the_message_says_what_the_file_is(checkout, server):
    address = f"http://127.0.0.1:{server.server_address[1]}"
    text = f"place,url\narchive,{address}/html\nother,{address}/short\n"
    (checkout / "data" / "places.csv").write_text(text)
    with pytest.raises(DataUnavailable) as raised:
        fetch.path("set/missing")
    message = str(raised.value)
    assert "someone/something at commit abc" in message and "\n" not in message
    assert "archives may have it" in message and f"{address}/html" in message


def test_another_process_does_not_ask_a_host_again(checkout):
    """What another process noted is read; a new run forgets it."""
    unreachable.note("one.example", "dead")
    unreachable._noted.clear()  # what another process starts with
    assert unreachable.why("one.example") == "dead"
    assert unreachable.why("other.example") == ""
    unreachable.forget()
    assert unreachable.why("one.example") == ""


def test_a_note_grows_old(checkout, monkeypatch):
    unreachable.note("one.example", "dead")
    unreachable._noted.clear()
    later = unreachable.time.time() + unreachable.FORGOTTEN_AFTER + 1
    monkeypatch.setattr(unreachable.time, "time", lambda: later)
    assert unreachable.why("one.example") == ""
