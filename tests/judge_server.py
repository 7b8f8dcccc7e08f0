"""A loopback server that speaks OpenAI's protocol and answers as a function of the prompt: a judge for tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hostile_server import Handler, HostileServer

Reply = Callable[[str], str | int]  # the text of the answer, or the status of a failure


class JudgeServer(HostileServer):
    """`reply(prompt)` gives the text, or an HTTP status; a failure's message repeats the key that it was sent."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply
        self.RequestHandlerClass = JudgeHandler
        self.answered: list[str] = []

    @property
    def prompts(self) -> list[str]:
        """Every prompt that was asked, in order."""
        return [_prompt(body) for body in self.bodies]


class JudgeHandler(Handler):
    server: JudgeServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt, server = _prompt(body), self.server
        with server.lock:
            server.asked[prompt] += 1
            server.bodies.append(body)
            server.sent_keys.add(self.headers["authorization"])
        said = server.reply(prompt)
        if isinstance(said, int):
            self.send(said, {"error": {"message": f"refused for {self.headers['authorization']}", "code": None}})
            return
        choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
        choice |= {"message": {"role": "assistant", "content": said}} if "messages" in body else {"text": said}
        usage = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}
        self.send(200, {"id": "1", "model": "judge-served", "choices": [choice], "usage": usage})
        with server.lock:
            server.answered.append(prompt)


def _prompt(body: dict[str, Any]) -> str:
    return body["messages"][-1]["content"] if "messages" in body else body["prompt"]
