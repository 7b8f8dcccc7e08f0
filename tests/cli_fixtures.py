"""Fixtures of the command line's tests; `conftest` hands them out."""

from __future__ import annotations

import pytest
from cli_tools import KEY, call
from judge_server import JudgeServer


@pytest.fixture
def nl(tmp_path, monkeypatch, capsys):
    """`nl("score", ...)` calls the command line in an empty folder, with a state folder of its own and a key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return lambda *arguments: call(monkeypatch, capsys, *arguments)


@pytest.fixture
def judge():
    """`judge(reply)` starts a judge server whose answers are `reply(prompt)`."""
    made = []

    def start(reply):
        made.append(JudgeServer(reply))
        return made[-1]

    yield start
    for one in made:
        one.stop()
