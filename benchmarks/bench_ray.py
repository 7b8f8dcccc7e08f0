"""What do replicas on Ray gain beside one process, and what does a million prompts
through `complete` take? `make bench-ray` writes results/ray.json.

python benchmarks/bench_ray.py                       every section
python benchmarks/bench_ray.py --only sleeping vllm million fleet pace

sleeping: 1 to 8 replicas of an engine that sleeps, as a share of the ideal.
vllm: one replica beside one process, on a small random Llama.
million: time and memory of a million prompts, of a scripted engine.
fleet: two vLLM servers behind vLLM's router, one of them killed; the router is
    installed into .nlgeval/router where it is not there.
pace: requests a second of a loopback server, 16 at a time and as many as it takes.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
# Ray gives a replica of one CPU one thread; a fair rival has one too
os.environ.setdefault("OMP_NUM_THREADS", "1")

from nlgeval_lib import engines  # noqa: E402
from nlgeval_lib.engines import Request, Sampling, ScriptedEngine  # noqa: E402
from nlgeval_lib.engines.ray import RayEngine  # noqa: E402
from nlgeval_lib.engines.store import Store  # noqa: E402

# by title: a number, or more of the same
Results = dict[str, Any]
# what every scripted engine says
ANSWER = "Feedback: it answers what was asked. [RESULT] 4"


class Sleeping(ScriptedEngine):
    """Sleeps so many seconds for each prompt, as a model on a GPU of its own would keep
    it busy.

    seconds: of sleep for each prompt.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

        def answer(request: Request, draw: int) -> str:
            time.sleep(seconds)
            return ANSWER

        super().__init__(answer, model="sleeping", batch_size=8)


def asked(
    engine: Any,
    prompts: list[str],
    sampling: Sampling,
) -> tuple[float, engines.Answers]:
    """Wall seconds for these prompts through a new, temporary store; the answers."""
    with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
        began = time.perf_counter()
        answers = engines.complete(engine, prompts, sampling, store)
        return time.perf_counter() - began, answers


def _texts(answers: engines.Answers) -> list[str]:
    """The texts of all answers, in the order of the prompts."""
    return [completion.text for completion in answers.flat]


def sleeping(seconds: float = 0.02, each: int = 750) -> Results:
    """Share of the ideal with 1, 2, 4, 8 replicas of a sleeping engine.

    each: prompts a replica, so that the ideal takes as long as one process does with so
        many.
    """
    prompts = [f"alone {number}" for number in range(each)]
    alone, _ = asked(Sleeping(seconds), prompts, Sampling())
    results: Results = {
        "seconds a prompt": seconds,
        "prompts a replica": each,
        "one process": round(alone, 2),
    }
    make = functools.partial(Sleeping, seconds)
    for count in (1, 2, 4, 8):
        prompts = [f"{count} {number}" for number in range(count * each)]
        engine = RayEngine(make, replicas=count)
        with engine:
            # The time to start the replicas does not count.
            engine.ready(count)
            elapsed, _ = asked(engine, prompts, Sampling())
        results[f"{count} replicas"] = {
            "seconds": round(elapsed, 2),
            "share of ideal": round(alone / elapsed, 3),
        }
    return results


def vllm(
    prompts: int = 1600,
    tokens: int = 32,
    rounds: int = 4,
) -> Results:
    """One replica against one process, with vLLM on a small random Llama: seconds of
    both, the ratio of every round, and whether their texts are equal.

    rounds: that count; one more warms up.
    """
    from benchmarks import bench_engines

    sampling = Sampling(max_tokens=tokens)
    seconds: dict[str, list[float]] = {"process": [], "replica": []}
    equal = True
    with tempfile.TemporaryDirectory() as folder:
        model = str(bench_engines._model(Path(folder) / "small"))
        make = functools.partial(engines.make, "vllm", model=model, max_model_len=2048)
        with make() as alone, RayEngine(make) as replica:
            order = {"replica": replica, "process": alone}
            for number in range(-1, rounds):  # the first warms up
                # they take turns in who begins
                order = dict(reversed(order.items()))
                questions = _questions(number, prompts)
                texts = {}
                for name, engine in order.items():
                    elapsed, answers = asked(engine, questions, sampling)
                    texts[name] = _texts(answers)
                    if number >= 0:
                        seconds[name].append(elapsed)
                equal &= texts["process"] == texts["replica"]
    ratios = []
    for of_process, of_replica in zip(*seconds.values(), strict=True):
        ratios.append(of_replica / of_process)
    return {
        "prompts": prompts,
        "tokens each": tokens,
        "one process, seconds": round(statistics.median(seconds["process"]), 2),
        "one replica, seconds": round(statistics.median(seconds["replica"]), 2),
        "replica / process, all rounds": [round(ratio, 3) for ratio in ratios],
        "texts equal": equal,
    }


def _questions(number: int, count: int) -> list[str]:
    """Prompts that no other round asks: each begins with the round's number."""
    questions = []
    for response in range(count):
        task = f"rate the response {response} from one to five"
        questions.append(f"{number} {task}: it is fine.")
    return questions


def million(prompts: int = 1_000_000) -> Results:
    """Time and memory of so many prompts of a scripted engine through a store, in a
    process of its own: the peak of memory is of nothing else.
    """
    process = subprocess.run(
        [sys.executable, __file__, "--million", str(prompts)],
        capture_output=True,
        text=True,
    )
    if process.returncode != 0:
        return {"failed": process.stderr[-500:]}
    return json.loads(process.stdout)


def pace(prompts: int = 4000) -> Results:
    """Requests a second of a loopback server that takes .5 or .05 s: 16 at a time, and
    as many as it takes.

    prompts: of the second kind, and of the first at most; these are so many that 16 at
        a time take about five seconds.
    """
    from benchmarks import bench_engines

    results = {}
    for delay in (0.5, 0.05):
        five_seconds = int(16 * 10 / delay / 2)
        counts = {16: min(five_seconds, prompts), 256: prompts}
        with bench_engines.serving(delay) as url:
            for concurrency, count in counts.items():
                title = f"{delay} s, at most {concurrency} at a time"
                results[title] = _rate(url, concurrency, count)
    return results


def _rate(
    url: str,
    concurrency: int,
    count: int,
) -> int:
    """Requests a second of a server."""
    engine = engines.make("openai", model="slow", base_url=url, concurrency=concurrency)
    prompts = [f"{concurrency} {number}" for number in range(count)]
    began = time.perf_counter()
    engines.complete(engine, prompts, Sampling(max_tokens=8))
    return round(count / (time.perf_counter() - began))


class Server(NamedTuple):
    """A process that was started, and the address where it answers."""

    process: subprocess.Popen[bytes]
    url: str


def fleet(prompts: int = 600, version: str = "0.1.17") -> Results:
    """Two vLLM servers on loopback behind vLLM's router, which has an environment of
    its own; one server is killed.

    Texts are compared with those of one server asked directly. Prompts are asked once
    with both up, once with a kill half-way.
    """
    with _behind_router(_router(version)) as (first, second, router):
        asks = []
        for number in range(prompts):
            praise = "very " * (number % 5)
            asks.append(f"Rate response {number}: it is {praise}good. Score:")
        direct = _complete(first.url, asks)
        began = time.perf_counter()
        both = _complete(router.url, asks)
        elapsed = time.perf_counter() - began

        def kill(progress: engines.Progress, batch: Any) -> None:
            if progress.done > prompts // 2:
                second.process.kill()

        after_kill = _complete(router.url, asks, kill)
    texts = _texts(direct)
    return {
        "vllm-router": version,
        "completions": len(texts),
        "through the router: seconds, failed, equal to one server's": [
            round(elapsed, 1),
            len(both.failed),
            _texts(both) == texts,
        ],
        "one server killed: failed, equal": [
            len(after_kill.failed),
            _texts(after_kill) == texts,
        ],
    }


@contextlib.contextmanager
def _behind_router(program: str) -> Iterator[tuple[Server, Server, Server]]:
    """Two servers of a tiny model and the router before them, all of them answering;
    they end with the context.
    """
    sys.path.insert(0, str(ROOT / "tests"))
    import tiny_model

    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = tiny_model.build(folder / "tiny", positions=2048)
        log = stack.enter_context(open(folder / "log", "wb"))
        start = functools.partial(_start, stack, log)
        first = start(_serving(model))
        second = start(_serving(model))
        for server in (first, second):
            _answers(f"{server.url}/health")
        command = [program, "--worker-urls", first.url, second.url]
        router = start([*command, "--policy", "round_robin"])
        _answers(f"{router.url}/v1/models")
        yield first, second, router


def _router(version: str) -> str:
    """The router's program, installed where it is not yet."""
    programs = ROOT / ".nlgeval" / "router" / "bin"
    router = programs / "vllm-router"
    if not router.is_file():
        create = [sys.executable, "-m", "venv", str(programs.parent)]
        subprocess.run(create, check=True)
        install = [str(programs / "pip"), "install", "-q", f"vllm-router=={version}"]
        subprocess.run(install, check=True)
    return str(router)


def _serving(model: Path) -> list[str]:
    """The command that serves a small model with vLLM."""
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", str(model), "--served-model-name", "tiny"]
    command += ["--dtype", "float32", "--enforce-eager"]
    command += ["--max-model-len", "2048"]
    command += ["--kv-cache-memory-bytes", str(1 << 26)]
    return command


def _start(
    stack: contextlib.ExitStack,
    log: BinaryIO,
    command: list[str],
) -> Server:
    """Start a server on a free port; it is killed where the stack ends."""
    import engine_fixtures

    port = engine_fixtures.free_port()
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)],
        stdout=log,
        stderr=log,
        env=os.environ | engine_fixtures.ENVIRONMENT,
    )
    stack.callback(process.kill)
    return Server(process, f"http://127.0.0.1:{port}")


def _complete(
    url: str,
    prompts: list[str],
    on_batch: Callable[[engines.Progress, Any], None] | None = None,
) -> engines.Answers:
    """Two answers of a server to each prompt, nothing stored."""
    engine = engines.make(
        "openai",
        model="tiny",
        base_url=f"{url}/v1",
        dialect="vllm",
        server="fleet",
        api_key_env="NO_SUCH_KEY",
    )
    sampling = Sampling(temperature=1.0, n=2, max_tokens=24)
    return engines.complete(engine, prompts, sampling, None, on_batch)


def _answers(url: str) -> None:
    """Wait until somebody answers at an address."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=5)
            return
        time.sleep(0.5)
    raise SystemExit(f"nobody answers at {url}")


class Forgetful(ScriptedEngine):
    """A scripted engine that does not keep what it was asked: its list would count as
    memory.
    """

    def generate(self, asks: Any, sampling: Sampling) -> Any:
        for batch in super().generate(asks, sampling):
            self.asked.clear()
            yield batch


def _million(count: int) -> Results:
    """What `million` measures, of this process: it is called by itself with
    `--million`.
    """
    text = "Rate the response on a scale of one to five. " * 4
    requests = []
    for number in range(count):
        requests.append(Request(prompt=f"{text}{number}: what a fine answer"))
    results: Results = {
        "prompts": count,
        "characters each": len(text) + 28,
        "MB with the prompts alone": _peak(),
    }
    engine = Forgetful(lambda *_: ANSWER, batch_size=256)
    with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
        began = time.perf_counter()
        answers = engines.complete(engine, requests, Sampling(), store)
        elapsed = time.perf_counter() - began
        results["seconds to ask and store"] = round(elapsed, 1)
        results["MB at most"] = _peak()
        began = time.perf_counter()
        n_answers = sum(len(draws) for draws in answers)
        assert n_answers == count == answers.progress.done
        elapsed = time.perf_counter() - began
        results["seconds to read all answers"] = round(elapsed, 1)
        results["MB at most, read"] = _peak()
        results["MB of store"] = round(store.path.stat().st_size / 1e6)
    return results


def _peak() -> int:
    """MB that this process held at most (Linux, where the system counts KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


SECTIONS: dict[str, Callable[[], Results]] = {
    "sleeping": sleeping,
    "vllm": vllm,
    "million": million,
    "fleet": fleet,
    "pace": pace,
}


def main() -> None:
    """Measure the sections that are asked for, print each and write it to
    results/ray.json at once.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--million", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.million:
        print(json.dumps(_million(options.million)))
        return
    path = ROOT / "results" / "ray.json"
    results = {}
    if path.is_file():
        results = json.loads(path.read_text(encoding="utf-8"))
    results["machine"] = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
    for name in options.only:
        section = SECTIONS[name]()
        load, _, _ = os.getloadavg()
        section["load of the machine at the end"] = round(load, 1)
        results[name] = section
        print(name, json.dumps(section, indent=1), flush=True)
        path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
