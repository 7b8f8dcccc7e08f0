"""Two processes on one store, killed at any moment: nothing is lost, nothing stored is asked again, one truth."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from nlgeval_lib.engines import OpenAIEngine, Request, Sampling, complete
from nlgeval_lib.engines.store import Store


def run(url: str, folder: Path, prompts: list[str], name: str) -> None:
    """One process: all prompts through the store, and the answers as a table."""
    os.environ["OPENAI_API_KEY"] = "none"
    engine = OpenAIEngine("judge", base_url=url, concurrency=4)
    answers = complete(engine, [Request.chat(prompt) for prompt in prompts], Sampling(), Store(folder / "store"))
    (folder / f"{name}.json").write_text(json.dumps([one.text for one in answers.flat]))


@pytest.mark.parametrize("kills", [pytest.param(3, id="3"), pytest.param(20, id="20", marks=pytest.mark.slow)])
def test_kill_9_with_two_processes_on_one_store(judge, tmp_path, kills):
    turn = itertools.count()
    server = judge(lambda prompt: f"{prompt}: {next(turn)}")  # asked again, it answers otherwise
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["nlgeval_lib.engines", "openai", "httpx2", "tenacity"])
    prompts, names = [f"prompt {i}" for i in range(60 * kills)], itertools.count()

    def start() -> multiprocessing.Process:
        one = forks.Process(target=run, args=(server.url, tmp_path, prompts, str(next(names))))
        one.start()
        return one

    def stored() -> set[str]:
        with Store(tmp_path / "store") as store:
            return {text.partition(":")[0] for text in (one.text for one in store.get_many(store).values())}

    running, kept, marks = [start(), start()], set(), []
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
    assert len(tables) == 3 and tables[0] == tables[1] == tables[2], "one truth, and a re-run gives it again"
    assert stored() == set(prompts)
    assert not any(now & set(server.prompts[place:]) for place, now in marks), "what is stored is not asked again"
    assert len(server.bodies) < 1.5 * len(prompts), "what was in flight is"
