"""Replicas on a Ray cluster of this machine: what one process gives, whatever is lost
on the way.

`make test-ray`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from cli_tools import jsonl
from engine_fixtures import CACHE, CONTEXT, free_port, no_vllm, told

from nlgeval_lib import engines
from nlgeval_lib.engines import (
    EngineError,
    Request,
    Sampling,
    ScriptedEngine,
    UnsupportedSetting,
)
from nlgeval_lib.engines.ray import RayEngine
from nlgeval_lib.engines.store import Store

absent = (
    ""
    if importlib.util.find_spec("ray")
    else "ray is not installed: the extra `ray` brings it"
)
pytestmark = [pytest.mark.ray, pytest.mark.skipif(bool(absent), reason=absent)]
PROMPTS = [f"{i % 7} asks {i}" for i in range(600)]
DRAWS = Sampling(temperature=1.0, n=2)


class Noted(ScriptedEngine):
    """A scripted engine that notes in a folder who loaded it and what each was asked.

    After `free` answers it waits until the folder has a file `go`; it dies of `poison`,
    or refuses to go on.
    """

    def __init__(
        self,
        folder: Path,
        free: int = 10**9,
        poison: str = "",
        fatal: bool = False,
        broken: bool = False,
    ):
        if broken:
            raise EngineError("no weights here")
        super().__init__(self._said, model="noted", revision="1", batch_size=8)
        self.folder, self.free, self.poison, self.fatal = folder, free, poison, fatal
        (folder / f"loaded-{os.getpid()}").touch()

    def _said(self, request: Request, draw: int) -> str:
        if request.prompt == self.poison:
            if self.fatal:
                os._exit(1)
            raise KeyError(request.prompt)
        while len(self.asked) > self.free and not (self.folder / "go").exists():
            time.sleep(0.01)
        return f"{request.prompt} / {draw}"

    def _answer(self, ask):
        with open(self.folder / "asked", "a") as notes:
            notes.write(f"{os.getpid()} {ask.key}\n")
        if ask.request.prompt == self.poison and not self.fatal:
            raise RuntimeError("the engine is broken by this prompt")
        return super()._answer(ask)

    def check(self, sampling: Sampling) -> None:
        if sampling.regex:
            raise UnsupportedSetting("engine noted cannot honour regex")


def asked(folder: Path) -> Counter[str]:
    """How often each key was asked, whoever was."""
    return Counter(
        line.split()[1] for line in (folder / "asked").read_text().splitlines()
    )


def busy(folder: Path) -> set[str]:
    """The processes that were asked something."""
    notes = folder / "asked"
    return (
        {line.split()[0] for line in notes.read_text().splitlines()}
        if notes.exists()
        else set()
    )


def loaded(folder: Path) -> list[int]:
    """The processes that loaded the engine."""
    return [int(path.name.partition("-")[2]) for path in folder.glob("loaded-*")]


def _added(cluster, num_cpus: int):
    """One more node. With ports of ours Ray does not give up where its agents take
    long to choose theirs.
    """
    agents = (
        "metrics_agent_port",
        "metrics_export_port",
        "dashboard_agent_listen_port",
        "runtime_env_agent_port",
    )
    for _ in range(3):
        with contextlib.suppress(
            Exception
        ):  # Ray waits half a minute, which a busy machine may need
            ports = {name: free_port() for name in agents}
            return cluster.add_node(num_cpus=num_cpus, include_dashboard=False, **ports)
    pytest.fail("no node of a Ray cluster came up in three attempts")


@pytest.fixture(scope="module")
def cluster():
    """Two nodes with a slot each, and one that takes no replica."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray import cloudpickle
    from ray.cluster_utils import Cluster

    # workers do not find the tests
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    made = Cluster()
    made.add = functools.partial(_added, made)
    made.add(num_cpus=0)
    made.slots = [made.add(num_cpus=1), made.add(num_cpus=1)]
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def on(cluster, tmp_path):
    """`on(replicas=2, free=...)`: replicas of the noted engine on the cluster."""
    made = []

    def start(replicas: int = 2, **how) -> RayEngine:
        make = functools.partial(Noted, tmp_path, **how)
        made.append(
            RayEngine(make, replicas=replicas, address=cluster.address, patience=180)
        )
        return made[-1]

    yield start
    for one in made:
        one.close()


def one_process(folder: Path, prompts=PROMPTS, sampling=DRAWS):
    """The same through the engine here, with the records of its store."""
    (folder / "alone").mkdir()
    with Store(folder / "alone" / "store") as store:
        answers = engines.complete(Noted(folder / "alone"), prompts, sampling, store)
        return answers, records(store)


def records(store: Store) -> list[str]:
    """Everything that a store holds, the order aside."""
    path = store.folder / "all.jsonl"
    store.export(path)
    return sorted(path.read_text().splitlines())


def test_texts_keys_and_records_are_those_of_one_process(on, tmp_path):
    alone, kept = one_process(tmp_path)
    engine = on()
    assert (engine.signature(), engine.maker()) == (
        "engine:scripted|model:noted@1",
        "scripted",
    )
    with pytest.raises(UnsupportedSetting, match="cannot honour regex"):
        engines.complete(engine, ["a"], Sampling(regex="a"))
    with Store(tmp_path / "store") as store:
        answers = engines.complete(engine, PROMPTS, DRAWS, store)
        assert answers.flat == alone.flat and records(store) == kept
    assert set(asked(tmp_path).values()) == {1} and len(asked(tmp_path)) == 2 * len(
        PROMPTS
    )


def test_two_stages_load_the_engine_once_and_resume_asks_the_rest(on, tmp_path):
    engine = on()
    with Store(tmp_path / "store") as store:
        engines.complete(engine, PROMPTS[:100], DRAWS, store)
        engines.complete(
            engine, [f"then {prompt}" for prompt in PROMPTS[:50]], DRAWS, store
        )
        assert len(loaded(tmp_path)) <= 2
        done = engines.complete(engine, PROMPTS, DRAWS, store).progress
    assert (done.stored, done.done) == (200, 1000) and set(
        asked(tmp_path).values()
    ) == {1}


def alive(pid: int) -> bool:
    """Whether a process runs (Linux): one whose node is gone may stay as a zombie."""
    with contextlib.suppress(OSError):
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


def killed_midway(engine: RayEngine, folder: Path, kill) -> None:
    """Complete all prompts, with `kill` after the first answers; none is lost, few
    are asked twice.
    """
    alone, kept = one_process(folder)

    def report(progress, batch):
        if not (folder / "go").exists() and len(busy(folder)) == len(engine._replicas):
            kill()
            while all(alive(pid) for pid in loaded(folder)):
                time.sleep(0.01)
            (folder / "go").touch()

    with (
        Store(folder / "store") as store,
        pytest.warns(UserWarning, match="a replica is lost"),
    ):
        answers = engines.complete(engine, PROMPTS, DRAWS, store, report)
        assert (
            answers.flat == alone.flat and not answers.failed and records(store) == kept
        )
    doubled = asked(folder).total() - len(asked(folder))
    assert doubled <= 4 * 128, "only what the lost one had open"


@pytest.mark.parametrize("spare", [True, False], ids=["spare", "no-spare"])
def test_an_actor_is_killed(on, tmp_path, spare):
    engine = on(replicas=1 if spare else 2, free=20)
    killed_midway(engine, tmp_path, lambda: os.kill(loaded(tmp_path)[0], 9))


@pytest.mark.parametrize("spare", [True, False], ids=["spare", "no-spare"])
def test_a_node_is_lost(on, cluster, tmp_path, spare):
    engine = on(free=20)
    engine.ready(2)
    # after the replicas, which hold the other two
    third = [cluster.add(num_cpus=1)] if spare else []
    try:
        killed_midway(
            engine,
            tmp_path,
            lambda: cluster.remove_node(cluster.slots.pop(), allow_graceful=False),
        )
    finally:
        engine.close()
        cluster.slots += third or [cluster.add(num_cpus=1)]


@pytest.mark.parametrize("fatal", [True, False], ids=["dies", "raises"])
@pytest.mark.filterwarnings("ignore:a replica is lost")
def test_a_poisoned_block_fails_by_name_after_three_attempts(on, tmp_path, fatal):
    engine = on(poison=PROMPTS[300], fatal=fatal)
    with Store(tmp_path / "store") as store:
        answers = engines.complete(engine, PROMPTS, Sampling(), store)
        names = {failure.id for failure in answers.failed}
        assert (
            "#300" in names
            and len(names) <= 2
            and len(store) == len(PROMPTS) - len(names)
        )
    assert "given up after 3 attempts" in answers.failed[0].reason
    poisoned = next(failure.key for failure in answers.failed if failure.id == "#300")
    assert asked(tmp_path)[poisoned] == 3


@pytest.mark.filterwarnings("ignore:a replica is lost")
def test_what_cannot_work_ends(on, tmp_path):
    with pytest.raises(EngineError, match="no weights here"):
        on(broken=True)
    engine = on(replicas=1, poison="a", fatal=True)
    prompts = [Request("a", id=str(i)) for i in range(3)] + [
        Request("a" * i) for i in range(2, 9)
    ]
    answers = engines.complete(engine, prompts, Sampling())
    assert {failure.id for failure in answers.failed} == {"0", "1", "2"}, (
        "the rest is answered"
    )


def test_an_interrupted_run_leaves_the_replicas_usable(on, tmp_path):
    engine = on(free=20)
    engine.ready(2)

    def report(progress, batch):
        if progress.done:
            raise KeyboardInterrupt

    with Store(tmp_path / "store") as store:
        with pytest.raises(KeyboardInterrupt):
            engines.complete(engine, PROMPTS, DRAWS, store, report)
        kept = len(store)
        (tmp_path / "go").touch()
        assert (
            engines.complete(engine, PROMPTS, DRAWS, store).progress.stored == kept > 0
        )
    assert len(loaded(tmp_path)) == 2


@pytest.mark.skipif(bool(no_vllm()), reason=no_vllm())
def test_two_vllm_replicas_equal_one(cluster, tiny_folder, tiny_vllm):
    prompts = [
        f"Rate response {i}: it is {'very ' * (i % 5)}good. Score:" for i in range(60)
    ]
    prompts += [Request.chat(f"Is this coherent? {'yes ' * i}") for i in range(6)]
    make = functools.partial(
        engines.make,
        "vllm",
        model=str(tiny_folder),
        max_model_len=CONTEXT,
        kv_cache_memory_bytes=CACHE,
    )
    with RayEngine(make, replicas=2, address=cluster.address, patience=300) as engine:
        for sampling in (
            Sampling(max_tokens=24),
            Sampling(temperature=1.0, n=3, max_tokens=12),
        ):
            one, many = (
                engines.complete(each, prompts, sampling)
                for each in (tiny_vllm, engine)
            )
            assert told(one) == told(many) and [c.key for c in one.flat] == [
                c.key for c in many.flat
            ]
        assert (
            engine.signature() == tiny_vllm.signature()
            and engine.maker() == tiny_vllm.maker()
        )


@pytest.mark.skipif(bool(no_vllm()), reason=no_vllm())
def test_the_command_line_fills_the_same_store(nl, cluster, tiny_folder, tmp_path):
    row = {"instruction": "say it", "source": "s", "aspect": "overall"}
    jsonl(tmp_path / "my.jsonl", [{"output": f"answer {i}", **row} for i in range(30)])
    asks = [
        "completions",
        "-e",
        "geval",
        "--data",
        "my.jsonl",
        "--engine",
        "vllm",
        "-m",
        str(tiny_folder),
    ]
    asks += [
        "--engine-set",
        f"max_model_len={CONTEXT}",
        "--engine-set",
        f"kv_cache_memory_bytes={CACHE}",
    ]
    for store, more in (
        ("alone", ()),
        ("many", ("--on", f"ray={cluster.address}", "--replicas", "2")),
    ):
        got = nl(*asks, "--store", str(tmp_path / store), *more)
        assert got.code == 0, got.err
    with Store(tmp_path / "alone") as alone, Store(tmp_path / "many") as many:
        assert records(alone) == records(many) and len(many) >= 30


def test_a_cluster_of_this_machine_listens_on_loopback_only(tmp_path):
    code = """
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.engines.ray import RayEngine
with RayEngine(lambda: ScriptedEngine(lambda request, draw: "a"), replicas=2) as engine:
    engine.ready(2)
    import psutil
    for one in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        print(*(each.laddr.ip for each in one.net_connections("inet") if each.status == "LISTEN"))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heard = done.stdout.split()
    assert len(heard) > 3 and {ip.removeprefix("::ffff:") for ip in heard} == {
        "127.0.0.1"
    }
