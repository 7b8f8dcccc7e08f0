"""A loopback server that speaks OpenAI's protocol and answers as a function of the prompt: a judge for tests."""

from __future__ import annotations

from collections.abc import Callable

from hostile_server import Handler, HostileServer, choice, prompt_of

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
        return list(map(prompt_of, self.bodies))


class JudgeHandler(Handler):
    server: JudgeServer

    def do_POST(self) -> None:
        body, prompt, _ = self.taken()
        said = self.server.reply(prompt)
        if isinstance(said, int):
            self.send(said, {"error": {"message": f"refused for {self.headers['authorization']}", "code": None}})
            return
        usage = {"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14}
        self.send(200, {"id": "1", "model": "judge-served", "choices": [choice(body, said)], "usage": usage})
        with self.server.lock:
            self.server.answered.append(prompt)
