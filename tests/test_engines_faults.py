"""What a failed attempt means: the key in no reason and no store, nothing tried again in vain, bounded memory."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest
from hostile_server import Handler, HostileServer
from hypothesis import given
from hypothesis import strategies as st

from nlgeval_lib.engines import EngineError, OpenAIEngine, Request, Sampling, _attempts, _http, _protocol, complete
from nlgeval_lib.engines.store import Store

KEY = "sk-proj-" + "".join(chr(97 + i * 7 % 26) for i in range(150))


def faults(key: str = KEY) -> _attempts.Faults:
    return _attempts.Faults(key, "THE_VARIABLE", 20.0, 60.0, _attempts.Clock())


class Says(HostileServer):
    """Answers every request with these bytes under these headers."""

    def __init__(self, status: int, content: bytes, **headers: str) -> None:
        super().__init__({name.replace("_", "-"): value for name, value in headers.items()})
        self.said, self.count, self.RequestHandlerClass = (status, content), 0, Saying


class Saying(Handler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.count += 1
        self.server.sent_keys.add(self.headers["authorization"])
        self.send(*self.server.said, self.server.headers)


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """`ask(status, content)`: what one prompt comes to at a server that says this; and the server."""
    monkeypatch.setenv("THE_VARIABLE", KEY)
    made = []

    def start(status: int, content: bytes, prompt: str = "p", **headers: str):
        server = Says(status, content, **headers)
        made.append(server)
        engine = OpenAIEngine("m", base_url=server.url, api_key_env="THE_VARIABLE", max_retries=1, max_bytes=1 << 20)
        with Store(tmp_path / "store") as store:
            [[one]] = complete(engine, [Request(prompt=prompt)], Sampling(max_tokens=4), store)
        return one, server

    yield start
    for one in made:
        one.stop()


def text(said: str, **more: object) -> bytes:
    return json.dumps({"choices": [{"text": said, "finish_reason": "stop", **more}]}).encode()


@pytest.mark.parametrize(
    "content",
    [
        b"<html>" + KEY.encode(),
        json.dumps({"error": "x" * 100 + KEY}).encode(),
        text(f"you sent {KEY}"),
        text("4", finish_reason=[KEY]),
    ],
    ids=["page", "error", "text", "reason"],
)
def test_an_answer_with_the_key_in_it_is_kept_nowhere(ask, content, tmp_path):
    one, server = ask(200, content)
    assert one.error == "the answer repeats the API key; nothing of it is kept" and server.count == 1
    assert not any(b"sk-proj-" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@given(st.text(), st.integers(12, len(KEY)), st.text())
def test_no_reason_has_the_key_or_its_beginning(before, cut, after):
    assert KEY[:12] not in faults().clean(before + KEY[:cut] + after + KEY)


def test_a_word_for_a_server_without_keys_is_no_secret():
    faults("EMPTY").refuse_key(text("EMPTY"))
    with pytest.raises(_attempts.KeySentBack):
        faults().refuse_key(text(KEY))


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_named_by_its_variable(ask, status):
    one, server = ask(status, json.dumps({"error": {"message": f"bad key {KEY}"}}).encode())
    assert one.error.endswith("bad key [key]; the key is that of THE_VARIABLE") and server.count == 1


def test_without_a_key_the_variable_is_named(ask, monkeypatch):
    monkeypatch.delenv("THE_VARIABLE")
    assert ask(401, b'{"error": {"message": "who?"}}')[0].error.endswith("no key was sent: set THE_VARIABLE")


def test_a_line_break_after_the_key_is_not_sent(ask, monkeypatch):
    monkeypatch.setenv("THE_VARIABLE", f" {KEY}\r\n")
    one, server = ask(200, text("4"))
    assert one.text == "4" and server.sent_keys == {f"Bearer {KEY}"}


@pytest.mark.parametrize("odd", ["\n", "\x01", "“"])
def test_a_key_that_no_header_can_hold_is_refused_unsaid(ask, monkeypatch, odd):
    monkeypatch.setenv("THE_VARIABLE", KEY[:20] + odd + KEY[20:])
    with pytest.raises(EngineError, match="the key in THE_VARIABLE has a character") as caught:
        ask(200, text("4"))
    assert KEY[:12] not in str(caught.value)


@pytest.mark.parametrize(("form", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_a_packed_answer_is_read_up_to_the_limit(ask, form, pack):
    one, _ = ask(200, pack(text("4" * 200_000)), content_encoding=form)
    assert one.text == "4" * 200_000
    one, server = ask(200, pack(text("4" * 30_000_000)), prompt="q", content_encoding=form)
    assert "longer than 1048576 bytes" in one.error and server.count == 1


def test_a_packing_that_was_not_asked_for_is_named(ask):
    assert "packed ('br')" in ask(200, b"...", content_encoding="br")[0].error


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "model_length"])
def test_a_cut_answer_is_cut_by_any_name(reason):
    read = _protocol.read(text("4", finish_reason=reason), chat=False, count=1, sampling=Sampling())
    assert read.choices[0].finish_reason == "length"


@pytest.mark.parametrize("reason", ["abort", "error", "cancelled", "ABORTED"])
def test_an_answer_that_was_broken_off_is_none(reason):
    with pytest.raises(_protocol.BadAnswer, match=reason):
        _protocol.read(text("4", finish_reason=reason), chat=False, count=1, sampling=Sampling())


def test_a_log_probability_that_is_no_number_is_none():
    odd = text("4", logprobs={"tokens": ["4"], "token_logprobs": [float("nan")], "top_logprobs": None})
    with pytest.raises(_protocol.BadAnswer, match="no log-probabilities"):
        _protocol.read(odd, chat=False, count=1, sampling=Sampling(logprobs=1))


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://h/v1", "http://", "http://h:99999/v1", "http://[::1/v1"])
def test_an_address_that_cannot_be_asked_is_refused_at_once(url):
    with pytest.raises(ValueError, match=r"base_url .* is needed"):
        OpenAIEngine("m", base_url=url)
    with pytest.raises(ValueError) as caught:
        _http.check_address(f"ftp://me:{KEY}@{url}")
    assert KEY not in str(caught.value)
