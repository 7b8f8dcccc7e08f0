"""What servers refuse of a request, and how they write an answer
(`cases/server_dialects.jsonl`): asked again as they say, once, or the setting is named.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from cli_tools import cases
from loopback import LoopbackServer, QuietHandler

from nlgeval_lib.engines import Sampling
from nlgeval_lib.engines.base import Ask, Request
from nlgeval_lib.engines.openai_compatible import OpenAIEngine

CASES = cases("server_dialects")


class Dialect(LoopbackServer):
    """Refuses what a case says, and answers the rest."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.case = case
        self.bodies: list[dict[str, Any]] = []
        super().__init__(Handler)


class Handler(QuietHandler):
    server: Dialect

    def do_GET(self) -> None:
        status, content = self.server.case.get("says_of_itself", [404, {}])
        self.answer(status, content)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body)
        for part, status, message in self.server.case["refuses"]:
            if is_in(part, body):
                plain = isinstance(message, str)
                content = {"error": {"message": message}} if plain else message
                return self.answer(status, content)
        message = {"role": "assistant", "content": self.server.case["content"]}
        finish = self.server.case.get("finish", "stop")
        self.answer(200, {"choices": [{"message": message, "finish_reason": finish}]})

    def answer(self, status: int, content: Any) -> None:
        raw = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


def is_in(part: str, body: dict[str, Any]) -> bool:
    """Whether a request has what the server does not take."""
    if part == "temperature":
        return body.get("temperature", 1) != 1
    if part == "any temperature":
        return "temperature" in body
    if part == "temperature and top_p":
        return {"temperature", "top_p"} <= {*body}
    if part == "system":
        return body["messages"][0]["role"] == "system"
    return body.get(part) is not None


@pytest.fixture
def server(case: dict[str, Any]) -> Iterator[Dialect]:
    started = Dialect(case)
    yield started
    started.stop()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_server_is_asked_as_it_wants(case, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    asks = dict(case["asks"])
    messages = [{"role": "user", "content": "Rate it."}]
    if system := asks.pop("system", ""):
        messages.insert(0, {"role": "system", "content": system})
    request = Request(messages=tuple(messages))
    path = case.get("path", "/v1")
    address = f"http://127.0.0.1:{server.port}{path}"
    engine = OpenAIEngine("m", base_url=address, max_retries=0)
    sampling = Sampling(**{"max_tokens": 64, "temperature": 0.0, **asks})
    numbered = [Ask(request, number, f"{number:064x}", number) for number in range(3)]
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        made = [one for batch in engine.generate(numbered, sampling) for one in batch]
        assert len(made) == 3
        if case["text"] is None:
            assert all(case["says"] in one.error for one in made)
            return
        assert [one.text for one in made] == [case["text"]] * 3, made
        assert {one.reasoning for one in made} == {case["reasoning"]}
        before = len(server.bodies)
        [_] = [
            one for batch in engine.generate(numbered[:1], sampling) for one in batch
        ]
    assert len(server.bodies) == before + 1  # what it said once is remembered
    sent = server.bodies[-1]
    assert {name: sent.get(name) for name in case["sent"]} == case["sent"]
