"""Ctrl-C at any moment: what an engine has finished is stored, and the handlers are
as they were.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from cli_tools import KEY, asks, jsonl, rows

from nlgeval_lib import cli
from nlgeval_lib.engines import (
    OpenAIEngine,
    Request,
    Sampling,
    ScriptedEngine,
    complete,
)
from nlgeval_lib.engines.store import Store
from nlgeval_lib.scoring.asking import Gentle

ROOT = Path(__file__).parents[2]


class Stopping(ScriptedEngine):
    """Batches of 2 as if from another thread: told to stop, it hands over one more
    batch, and ends.
    """

    told = 0

    def stop(self):
        self.told += 1

    def generate(self, asks, sampling):
        last = False
        for batch in super().generate(asks, sampling):
            if len(self.asked) == 6:
                self.between()
            yield batch
            if last:
                return
            last = self.told > 0


class Interrupted(ScriptedEngine):
    """Batches of 2; where it waits, a Ctrl-C ends it, and it hands over what it has."""

    def generate(self, asks, sampling):
        batches = super().generate(asks, sampling)
        kept = []
        try:
            for batch in batches:
                kept = [batch]
                if len(self.asked) == 6:
                    self.between()
                kept = []
                yield batch
        except KeyboardInterrupt:
            yield from kept
            yield from itertools.islice(batches, 2)
            raise


@pytest.mark.parametrize("kind", [Stopping, Interrupted])
@pytest.mark.parametrize("moment", ["waiting", "storing", "at the end"])
def test_an_interrupt_at_any_moment_loses_nothing_that_is_finished(
    kind, moment, tmp_path
):
    def progress(state, batch):
        if state.done == {"storing": 4, "at the end": 14}.get(moment):
            signal.raise_signal(signal.SIGINT)

    made = kind(lambda request, draw: "4", batch_size=2)
    made.between = lambda: (
        signal.raise_signal(signal.SIGINT) if moment == "waiting" else None
    )
    store = Store(tmp_path)
    before = signal.getsignal(signal.SIGINT)
    requests = [Request(prompt=str(i)) for i in range(14)]
    with pytest.raises(KeyboardInterrupt), Gentle(made) as engine:
        complete(engine, requests, Sampling(), store, progress)
    assert signal.getsignal(signal.SIGINT) is before
    assert len(store) == len(made.asked)
    assert (len(store) == 14) == (moment == "at the end")


def test_a_second_signal_ends_a_run_whose_server_hangs(judge, tmp_path):
    server = judge(lambda prompt: server.over.wait() and "4")
    jsonl(tmp_path / "in.jsonl", rows(6, aspect="overall", source="s"))
    command = [
        sys.executable,
        "-m",
        "nlgeval_lib",
        "score",
        "-e",
        "geval",
        "-i",
        "in.jsonl",
        "-o",
        "out.csv",
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OPENAI_API_KEY": KEY,
    }
    with subprocess.Popen(
        [*command, *asks(server, "--store", "s")], cwd=tmp_path, env=environment
    ) as run:
        while len(server.bodies) < 6:
            assert run.poll() is None
            server.over.wait(0.01)
        run.send_signal(signal.SIGTERM)
        run.send_signal(signal.SIGTERM)
        assert run.wait(60) in (130, -signal.SIGTERM)


# -- two processes on one store, killed at any moment


def run(url: str, folder: Path, prompts: list[str], name: str) -> None:
    """One process: all prompts through the store, and the answers as a table."""
    os.environ["OPENAI_API_KEY"] = "none"
    engine = OpenAIEngine("judge", base_url=url, concurrency=4)
    answers = complete(
        engine,
        [Request.chat(prompt) for prompt in prompts],
        Sampling(),
        Store(folder / "store"),
    )
    (folder / f"{name}.json").write_text(json.dumps([one.text for one in answers.flat]))


def test_a_second_interrupt_ends_in_the_same_words(monkeypatch, capsys):
    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_command", lambda: interrupted)
    # the signals of this process stay as they are
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 130
    assert capsys.readouterr().err.startswith("stopped; the same command goes on")


def test_an_interrupt_while_modules_load_ends_in_the_same_words(tmp_path):
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt\n")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, function = project["project"]["scripts"]["nlgeval"].partition(":")
    done = subprocess.run(
        [sys.executable, "-c", f"from {module} import {function}; {function}()"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 130
    assert done.stderr == "stopped; the same command goes on from there\n"


def test_kill_9_with_two_processes_on_one_store(judge, tmp_path):
    kills = 3
    turn = itertools.count()
    # asked again, it answers otherwise
    server = judge(lambda prompt: f"{prompt}: {next(turn)}")
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["nlgeval_lib.engines", "httpx2"])
    prompts = [f"prompt {i}" for i in range(60 * kills)]
    names = itertools.count()

    def start() -> multiprocessing.Process:
        one = forks.Process(
            target=run, args=(server.url, tmp_path, prompts, str(next(names)))
        )
        one.start()
        return one

    def stored() -> set[str]:
        with Store(tmp_path / "store") as store:
            return {
                text.partition(":")[0]
                for text in (one.text for one in store.get_many(store).values())
            }

    running = [start(), start()]
    kept = set()
    marks = []
    for kill in range(kills):
        while len(server.bodies) < (kill + 0.5) * len(prompts) / kills:
            assert any(one.is_alive() for one in running)
            server.over.wait(0.001)
        oldest, other = running
        oldest.kill()
        oldest.join()
        assert oldest.exitcode == -signal.SIGKILL
        now = stored()
        assert kept <= now, "nothing that was stored is lost"
        kept = now
        marks.append((len(server.bodies), now))
        running = [other, start()]
    for one in running:
        one.join()
    again = start()
    again.join()
    assert [one.exitcode for one in (*running, again)] == [0, 0, 0]
    tables = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    assert len(tables) == 3 and tables[0] == tables[1] == tables[2], (
        "one truth, and a re-run gives it again"
    )
    assert stored() == set(prompts)
    assert not any(now & set(server.prompts[place:]) for place, now in marks), (
        "what is stored is not asked again"
    )
    assert len(server.bodies) < 1.5 * len(prompts), "what was in flight is"
