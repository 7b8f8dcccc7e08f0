"""Loopback servers that speak OpenAI's protocol: one that misbehaves as the prompt
tells it to, and a judge.
"""

from __future__ import annotations

import base64
import json
import socket
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from loopback import LoopbackServer, QuietHandler

BIG = 2_000_000
SERVED_KEY = "sk-Ab3dE-f6hIjK_lmN0pQ9rStUvWxYz01234-Qq7"
# how a server may repeat a key: name -> what it makes of it
KEY_FORMS: dict[str, Callable[[str], str]] = {
    "as it is": lambda key: key,
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
    "base64 of the header": lambda key: base64.b64encode(
        f"Bearer {key}".encode()
    ).decode(),
    "base64 within more": lambda key: base64.urlsafe_b64encode(
        f"k={key};".encode()
    ).decode(),
    "hex": lambda key: key.encode().hex(),
    "hex in capitals": lambda key: key.encode().hex(" ").upper(),
    "reversed": lambda key: key[::-1],
    "in capitals": str.upper,
    "percent-encoded": lambda key: "".join(f"%{ord(sign):02X}" for sign in key),
    "its dashes percent-encoded": lambda key: key.replace("-", "%2d"),
    "escaped": lambda key: "".join(f"\\u{ord(sign):04x}" for sign in key),
    "as HTML": lambda key: "".join(f"&#x{ord(sign):x};" for sign in key),
    "in two lines": lambda key: f"{key[:30]}\n{key[30:]}",
    "letter by letter": " ".join,
    "without its end": lambda key: key[:-1],
    "without its beginning": lambda key: key[1:],
    "a part": lambda key: key[21:36],
}


class HostileServer(LoopbackServer):
    """A prompt `<what> <times>: ...` is met with `what` the first `times` times it is
    asked, then answered.

    `what`: one of the methods `do_<what>` of the handler, or an HTTP status. Any other
    prompt is answered at once.
    """

    def __init__(self, headers: dict[str, str] | None = None) -> None:
        self.headers = headers or {}
        self.asked: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.sent_keys: set[str] = set()
        self.most_at_once = self.at_once = 0
        self.lock = threading.Lock()
        self.models: dict[str, Any] = {}  # what `/v1/models` tells
        # called where it falls silent within an answer, or before one
        self.falls_silent: Callable[[], None] = lambda: None
        self.mute = False  # it takes what is asked, and is silent
        self.drips = False  # a GET is answered by headers without end, a byte at a time
        self.says: tuple[int, bytes] | None = (
            None  # status and body of every answer, whatever is asked
        )
        super().__init__(Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


class Handler(QuietHandler):
    protocol_version = "HTTP/1.1"
    server: HostileServer

    def taken(self) -> tuple[dict[str, Any], str, int]:
        """What is asked, its prompt, and the how-manieth time; noted."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt = prompt_of(body)
        server = self.server
        with server.lock:
            server.asked[prompt] += 1
            server.bodies.append(body)
            server.sent_keys.add(self.headers["authorization"])
            return body, prompt, server.asked[prompt]

    def do_POST(self) -> None:
        body, prompt, count = self.taken()
        server = self.server
        with server.lock:
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
        try:
            if server.mute:
                server.over.wait()
            if server.says:
                self.send(*server.says, server.headers)
                return
            what, _, times = prompt.partition(":")[0].partition(" ")
            if times.isdigit() and count <= int(times):
                getattr(self, f"do_{what}", self.do_status)(body, what)
            else:
                self.send(200, answer(body, prompt))
        finally:
            with server.lock:
                server.at_once -= 1

    def do_GET(self) -> None:
        if self.server.mute:
            self.server.over.wait()
        if self.server.drips:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
            while not self.server.over.wait(0.02):
                self.wfile.write(b"x")
                self.wfile.flush()
            return
        told = {"/v1/models": self.server.models, "/version": {"version": "1.2.3"}}.get(
            self.path
        )
        self.send(200, told) if told else self.send(404, {})

    def send(
        self, status: int, content: Any, headers: dict[str, str] | None = None
    ) -> None:
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def do_status(self, body: dict, what: str) -> None:
        key = self.headers["authorization"]
        self.send(
            int(what),
            {"error": {"message": f"no luck with {key}", "code": None}},
            self.server.headers,
        )

    def do_hang(self, body: dict, what: str) -> None:
        self.server.falls_silent()
        self.server.over.wait()

    def do_drip(self, body: dict, what: str) -> None:
        """An answer that never ends, a byte at a time: no single read takes long."""
        self.send_response(200)
        self.end_headers()
        self.server.falls_silent()
        while not self.server.over.wait(0.02):
            self.wfile.write(b" ")
            self.wfile.flush()

    def do_drop(self, body: dict, what: str) -> None:
        """Half an answer, then the connection is gone."""
        self.send_response(200)
        self.send_header("content-length", "1000")
        self.end_headers()
        self.wfile.write(b'{"choices": [')
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def do_twice(self, body: dict, what: str) -> None:
        """Two whole answers in one piece, the second to nobody's question."""
        self._beyond(body, self._message(answer(body, "smuggled")))

    def do_chunked(self, body: dict, what: str) -> None:
        """The same where the first one does not say its length before its end."""
        said = json.dumps(answer(body, prompt_of(body))).encode()
        first = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        first += b"%x\r\n%b\r\n0\r\n\r\n" % (len(said), said)
        self.wfile.write(first + self._message(answer(body, "smuggled")))

    def do_short(self, body: dict, what: str) -> None:
        """An answer that says it is shorter than it is."""
        self._beyond(body, b"\n" * 7)

    def _beyond(self, body: dict, surplus: bytes) -> None:
        """A proper answer with more after its end, in one piece."""
        self.wfile.write(self._message(answer(body, prompt_of(body))) + surplus)

    @staticmethod
    def _message(content: Any) -> bytes:
        """An answer as a connection has it."""
        raw = json.dumps(content).encode()
        return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(raw), raw)

    def do_huge(self, body: dict, what: str) -> None:
        self.send(200, answer(body, "x" * BIG))

    def do_flood(self, body: dict, what: str) -> None:
        """2 MB without saying how much it will be."""
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(b'{"choices": [{"text": "' + b"x" * BIG + b'"}]}')
        self.close_connection = True

    def do_bad(self, body: dict, what: str) -> None:
        """One of the answers that are no completion, by the prompt's text after the
        colon.
        """
        self.send(200, BAD[prompt_of(body).split(": ", 1)[1]])


def _bad(case: dict[str, Any]) -> Any:
    return (
        (case["raw"] * case.get("times", 1)).encode("latin-1")
        if "raw" in case
        else case["answer"]
    )


# what is no completion: as it is sent, or as JSON
CASES = Path(__file__).parent / "cases" / "bad_answers.jsonl"
BAD = {case["name"]: _bad(case) for case in map(json.loads, CASES.open())}


def prompt_of(body: dict[str, Any]) -> str:
    return body["messages"][-1]["content"] if "messages" in body else body["prompt"]


def choice(body: dict[str, Any], said: str) -> dict[str, Any]:
    """One choice that says so, with log-probabilities where they are asked."""
    likely = {"4": -0.1, "5": -2}
    rows = [{"token": token, "logprob": value} for token, value in likely.items()]
    if "messages" in body:
        one: dict[str, Any] = {"message": {"role": "assistant", "content": said}}
        table: dict[str, Any] = {"content": [{**rows[0], "top_logprobs": rows}]}
    else:
        one = {"text": said}
        table = {"tokens": ["4"], "token_logprobs": [-0.1], "top_logprobs": [likely]}
    return {
        "index": 0,
        "finish_reason": "stop",
        **one,
        **({"logprobs": table} if "logprobs" in body else {}),
    }


def answer(body: dict[str, Any], text: str) -> dict[str, Any]:
    """A proper answer that echoes the prompt."""
    n = body.get("n", 1)
    choices = [
        choice(body, f"{text} -> {i}" if n > 1 else f"echo of {text}") for i in range(n)
    ]
    usage: dict[str, Any] = {
        "prompt_tokens": 7,
        "completion_tokens": 5,
        "total_tokens": 12,
    }
    if "miscounted" in text:
        usage = {"prompt_tokens": -3, "completion_tokens": "many"}
    return {"id": "1", "model": "served-name", "choices": choices, "usage": usage}


class JudgeServer(HostileServer):
    """`reply(prompt)` gives the text, or an HTTP status; a failure's message repeats
    the key that it was sent. named: which model an answer says that it is of. repeated:
    what a failure makes of the key.
    """

    def __init__(self, reply: Callable[[str], str | int]) -> None:
        self.reply = reply
        self.named: Callable[[], str] = lambda: "judge-served"
        self.repeated: Callable[[str], str] = str
        self.answered: list[str] = []
        super().__init__()
        self.RequestHandlerClass = JudgeHandler

    @property
    def prompts(self) -> list[str]:
        """Every prompt that was asked, in order."""
        return list(map(prompt_of, self.bodies))


class JudgeHandler(Handler):
    server: JudgeServer

    def repeated(self) -> str:
        return self.server.repeated(self.headers["authorization"])

    def do_POST(self) -> None:
        body, prompt, _ = self.taken()
        said = self.server.reply(prompt)
        if isinstance(said, int):
            self.send(
                said,
                {
                    "error": {
                        "message": f"refused for {self.repeated()}",
                        "code": None,
                    }
                },
            )
            return
        usage = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}
        self.send(
            200,
            {
                "id": "1",
                "model": self.server.named(),
                "choices": [choice(body, said)],
                "usage": usage,
            },
        )
        with self.server.lock:
            self.server.answered.append(prompt)
