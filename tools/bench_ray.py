"""Replicas beside one process, and a million prompts through `complete`; write
results/ray.json. `make bench-ray`.

python tools/bench_ray.py                       every section
python tools/bench_ray.py --only sleeping vllm million fleet pace
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # Ray gives a replica of one CPU one thread; a fair rival has one too

from nlgeval_lib import engines  # noqa: E402
from nlgeval_lib.engines import Request, Sampling, ScriptedEngine  # noqa: E402
from nlgeval_lib.engines.ray import RayEngine  # noqa: E402
from nlgeval_lib.engines.store import Store  # noqa: E402

ANSWER = "Feedback: it answers what was asked. [RESULT] 4"


class Sleeping(ScriptedEngine):
    """Sleeps so many seconds for each prompt, as a model on a GPU of its own would
    keep it busy.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(
            lambda request, draw: (time.sleep(seconds), ANSWER)[1],
            model="sleeping",
            batch_size=8,
        )


def asked(
    engine: Any, prompts: list[str], sampling: Sampling
) -> tuple[float, engines.Answers]:
    """Seconds for these prompts through a store of their own, and the answers."""
    with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
        began = time.perf_counter()
        answers = engines.complete(engine, prompts, sampling, store)
        return time.perf_counter() - began, answers


def sleeping(seconds: float = 0.02, each: int = 750) -> dict[str, Any]:
    """Share of the ideal with 1, 2, 4, 8 replicas of a sleeping engine: `each`
    prompts a replica.
    """
    alone, _ = asked(Sleeping(seconds), [f"alone {i}" for i in range(each)], Sampling())
    found: dict[str, Any] = {
        "seconds a prompt": seconds,
        "prompts a replica": each,
        "one process": round(alone, 2),
    }
    for count in (1, 2, 4, 8):
        with RayEngine(functools.partial(Sleeping, seconds), replicas=count) as engine:
            engine.ready(count)
            took, _ = asked(
                engine, [f"{count} {i}" for i in range(count * each)], Sampling()
            )
        found[f"{count} replicas"] = {
            "seconds": round(took, 2),
            "share of ideal": round(alone / took, 3),
        }
    return found


def vllm(prompts: int = 1600, tokens: int = 32, rounds: int = 4) -> dict[str, Any]:
    """One replica against one process, with vLLM on a small random Llama: seconds in
    turn; equal texts?
    """
    from tools import bench_engines

    with tempfile.TemporaryDirectory() as folder:
        model = str(bench_engines._model(Path(folder) / "small"))
        make = functools.partial(engines.make, "vllm", model=model, max_model_len=2048)
        sides: tuple[list[float], list[float]] = ([], [])
        equal = True
        with make() as alone, RayEngine(make) as replica:
            for number in range(-1, rounds):  # the first warms up
                chosen = [
                    f"{number} rate the response {i} from one to five: it is fine."
                    for i in range(prompts)
                ]
                turn = 1 if number % 2 else -1  # who begins
                pair = [
                    asked(each, chosen, Sampling(max_tokens=tokens))
                    for each in (alone, replica)[::turn]
                ][::turn]
                equal &= [one.text for one in pair[0][1].flat] == [
                    one.text for one in pair[1][1].flat
                ]
                for side, (took, _) in zip(sides, pair, strict=True):
                    side += [took] * (number >= 0)
    ratios = [two / one for one, two in zip(*sides, strict=True)]
    return {
        "prompts": prompts,
        "tokens each": tokens,
        "one process, seconds": round(statistics.median(sides[0]), 2),
        "one replica, seconds": round(statistics.median(sides[1]), 2),
        "replica / process, all rounds": [round(one, 3) for one in ratios],
        "texts equal": equal,
    }


def million(prompts: int = 1_000_000) -> dict[str, Any]:
    """Time and memory of a million prompts of a scripted engine through a store, in
    a process of its own.
    """
    done = subprocess.run(
        [sys.executable, __file__, "--million", str(prompts)],
        capture_output=True,
        text=True,
    )
    return (
        json.loads(done.stdout)
        if done.returncode == 0
        else {"failed": done.stderr[-500:]}
    )


def pace(prompts: int = 4000) -> dict[str, Any]:
    """Requests a second of a loopback server that takes .5 or .05 s: 16 at a time,
    and as many as it takes.
    """
    from tools import bench_engines

    found = {}
    for delay in (0.5, 0.05):
        bench_engines.DELAY = delay
        here, there = multiprocessing.Pipe()
        server = multiprocessing.get_context("fork").Process(
            target=bench_engines._serve, args=(there,), daemon=True
        )
        server.start()
        how: dict[str, Any] = {
            "model": "slow",
            "base_url": f"http://127.0.0.1:{here.recv()}/v1",
        }
        for most, count in ((16, int(16 * 10 / delay / 2)), (256, prompts)):
            engine = engines.make("openai", concurrency=most, **how)
            began = time.perf_counter()
            engines.complete(
                engine,
                [f"{most} {i}" for i in range(min(count, prompts))],
                Sampling(max_tokens=8),
            )
            found[f"{delay} s, at most {most} at a time"] = round(
                min(count, prompts) / (time.perf_counter() - began)
            )
        server.terminate()
    return found


def fleet(prompts: int = 600, version: str = "0.1.17") -> dict[str, Any]:
    """Two vLLM servers on loopback behind vLLM's router, which has an environment of
    its own; one server is killed.

    Texts are compared with those of one server asked directly. Prompts are asked once
    with both up, once with a kill.
    """
    sys.path.insert(0, str(ROOT / "tests"))
    import engine_fixtures as fixtures
    import tiny_model

    home = ROOT / ".nlgeval" / "router"
    if not (home / "bin" / "vllm-router").is_file():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run(
            [home / "bin" / "pip", "install", "-q", f"vllm-router=={version}"],
            check=True,
        )
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        model = tiny_model.build(Path(folder) / "tiny", positions=2048)
        log = stack.enter_context(open(Path(folder) / "log", "wb"))

        def start(command: list[str], port: int) -> tuple[subprocess.Popen[bytes], str]:
            command = [*command, "--host", "127.0.0.1", "--port", str(port)]
            process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                env={**os.environ, **fixtures.ENVIRONMENT},
            )
            stack.callback(process.kill)
            return process, f"http://127.0.0.1:{port}"

        serve = [
            sys.executable,
            "-m",
            "vllm.entrypoints.openai.api_server",
            "--model",
            str(model),
        ]
        serve += [
            "--served-model-name",
            "tiny",
            "--dtype",
            "float32",
            "--enforce-eager",
            "--max-model-len",
            "2048",
        ]
        serve += ["--kv-cache-memory-bytes", str(1 << 26)]
        first, second = (start(serve, fixtures.free_port()) for _ in range(2))
        for _, url in (first, second):
            _answers(f"{url}/health")
        route = [
            str(home / "bin" / "vllm-router"),
            "--worker-urls",
            first[1],
            second[1],
            "--policy",
            "round_robin",
        ]
        _, router = start(route, fixtures.free_port())
        _answers(f"{router}/v1/models")
        how: dict[str, Any] = {
            "model": "tiny",
            "dialect": "vllm",
            "server": "fleet",
            "api_key_env": "NO_SUCH_KEY",
        }
        asks = [
            f"Rate response {i}: it is {'very ' * (i % 5)}good. Score:"
            for i in range(prompts)
        ]
        sampling = Sampling(temperature=1.0, n=2, max_tokens=24)
        direct = engines.complete(
            engines.make("openai", base_url=f"{first[1]}/v1", **how), asks, sampling
        )
        began = time.perf_counter()
        both = engines.complete(
            engines.make("openai", base_url=f"{router}/v1", **how), asks, sampling
        )
        took = time.perf_counter() - began

        def kill(progress: engines.Progress, batch: Any) -> None:
            if progress.done > prompts // 2:
                second[0].kill()

        one = engines.complete(
            engines.make("openai", base_url=f"{router}/v1", **how),
            asks,
            sampling,
            None,
            kill,
        )
        text = [
            [completion.text for completion in run.flat] for run in (direct, both, one)
        ]
        return {
            "vllm-router": version,
            "completions": len(text[0]),
            "through the router: seconds, failed, equal to one server's": [
                round(took, 1),
                len(both.failed),
                text[0] == text[1],
            ],
            "one server killed: failed, equal": [len(one.failed), text[0] == text[2]],
        }


def _answers(url: str) -> None:
    """Wait until somebody answers there."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=5)
            return
        time.sleep(0.5)
    raise SystemExit(f"nobody answers at {url}")


class Forgetful(ScriptedEngine):
    """A scripted engine that does not keep what it was asked."""

    def generate(self, asks: Any, sampling: Sampling) -> Any:
        for batch in super().generate(asks, sampling):
            self.asked.clear()
            yield batch


def _million(count: int) -> dict[str, Any]:
    import resource

    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

    text = "Rate the response on a scale of one to five. " * 4
    requests = [Request(prompt=f"{text}{i}: what a fine answer") for i in range(count)]
    found: dict[str, Any] = {
        "prompts": count,
        "characters each": len(text) + 28,
        "MB with the prompts alone": peak(),
    }
    with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
        began = time.perf_counter()
        answers = engines.complete(
            Forgetful(lambda *_: ANSWER, batch_size=256), requests, Sampling(), store
        )
        found |= {
            "seconds to ask and store": round(time.perf_counter() - began, 1),
            "MB at most": peak(),
        }
        began = time.perf_counter()
        assert sum(len(draws) for draws in answers) == count == answers.progress.done
        found |= {
            "seconds to read all answers": round(time.perf_counter() - began, 1),
            "MB at most, read": peak(),
        }
        found["MB of store"] = round(store.path.stat().st_size / 1e6)
    return found


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sections = {
        "sleeping": sleeping,
        "vllm": vllm,
        "million": million,
        "fleet": fleet,
        "pace": pace,
    }
    parser.add_argument("--only", nargs="+", choices=sections, default=list(sections))
    parser.add_argument("--million", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.million:
        print(json.dumps(_million(given.million)))
        return
    path = ROOT / "results" / "ray.json"
    found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    found["machine"] = {"cores": os.cpu_count(), "python": platform.python_version()}
    for name in given.only:
        found[name] = sections[name]() | {
            "load of the machine at the end": round(os.getloadavg()[0], 1)
        }
        print(name, json.dumps(found[name], indent=1), flush=True)
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
