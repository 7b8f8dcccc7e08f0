"""Ctrl-C at any moment: what an engine has finished is stored, and the handlers are as they were."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cli_tools import KEY, asks, jsonl, rows

from nlgeval_lib.engines import Request, Sampling, ScriptedEngine, complete
from nlgeval_lib.engines.store import Store
from nlgeval_lib.scoring.asking import Gentle


class Stopping(ScriptedEngine):
    """Batches of 2 as if from another thread: told to stop, it hands over one more batch, and ends."""

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
def test_an_interrupt_at_any_moment_loses_nothing_that_is_finished(kind, moment, tmp_path):
    def progress(state, batch):
        if state.done == {"storing": 4, "at the end": 14}.get(moment):
            signal.raise_signal(signal.SIGINT)

    made = kind(lambda request, draw: "4", batch_size=2)
    made.between = lambda: signal.raise_signal(signal.SIGINT) if moment == "waiting" else None
    store, before = Store(tmp_path), signal.getsignal(signal.SIGINT)
    requests = [Request(prompt=str(i)) for i in range(14)]
    with pytest.raises(KeyboardInterrupt), Gentle(made) as engine:
        complete(engine, requests, Sampling(), store, progress)
    assert signal.getsignal(signal.SIGINT) is before
    assert len(store) == len(made.asked)
    assert (len(store) == 14) == (moment == "at the end")


def test_a_second_signal_ends_a_run_whose_server_hangs(judge, tmp_path):
    server = judge(lambda prompt: server.over.wait() and "4")
    jsonl(tmp_path / "in.jsonl", rows(6, aspect="overall", source="s"))
    command = [sys.executable, "-m", "nlgeval_lib.cli", "score", "-e", "geval", "-i", "in.jsonl", "-o", "out.csv"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), "OPENAI_API_KEY": KEY}
    with subprocess.Popen([*command, *asks(server, "--store", "s")], cwd=tmp_path, env=environment) as run:
        while len(server.bodies) < 6:
            assert run.poll() is None
            server.over.wait(0.01)
        run.send_signal(signal.SIGTERM)
        run.send_signal(signal.SIGTERM)
        assert run.wait(60) in (130, -signal.SIGTERM)
