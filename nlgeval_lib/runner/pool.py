"""A few worker processes and the queue before them. A worker that dies costs its notebook and is replaced."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlgeval_lib import paths
from nlgeval_lib.runner.worker import kernel_folder

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_FOLDERS = ("NLGEVAL_ROOT", "NLGEVAL_RESULTS", "NLGEVAL_FIGURES", "NLGEVAL_STATE", "NLGEVAL_DATA_MIRROR")


@dataclass(frozen=True, slots=True)
class Job:
    """One notebook to execute."""

    name: str
    source: Path
    target: Path
    parameters: Mapping[str, Any]
    environment: Mapping[str, str]
    timeout: int | None = None

    def request(self) -> str:
        """The line that a worker reads."""
        return json.dumps(
            {
                "source": str(self.source),
                "target": str(self.target),
                "folder": str(self.source.parent),
                "parameters": dict(self.parameters),
                "environment": dict(self.environment),
                "timeout": self.timeout,
            }
        )


def cpus() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Worker:
    """One process that executes notebooks, one after the other."""

    def __init__(self, number: int, environment: Mapping[str, str]) -> None:
        self._log = paths.state("logs", f"worker-{os.getpid()}-{number}.log")
        self._environment = dict(environment)
        self._process: subprocess.Popen[str] | None = None

    def execute(self, job: Job) -> dict[str, Any]:
        """The worker's answer; a worker that ends without one is an answer too."""
        process = self._running()
        try:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(job.request() + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        if line:
            return json.loads(line)
        code = process.wait()
        return {
            "ok": False,
            "error": f"the worker process ended (exit {code}: killed, or out of memory?)\n{self._tail()}",
        }

    def stop(self, grace: float = 0.0) -> None:
        """End the process: at once when idle, else interrupted and, after `grace` seconds, killed."""
        process = self._process
        if process is None:
            return
        with contextlib.suppress(OSError):
            if grace:
                process.send_signal(signal.SIGTERM)
            else:
                assert process.stdin is not None
                process.stdin.close()
        try:
            process.wait(timeout=grace or 5.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._log.unlink(missing_ok=True)

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with open(self._log, "w", encoding="utf-8") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "nlgeval_lib.runner.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    encoding="utf-8",
                    env={**os.environ, **self._environment},
                    start_new_session=True,  # the terminal's Ctrl-C reaches the runner only, which stops the workers
                )
        return self._process

    def _tail(self) -> str:
        with contextlib.suppress(OSError):
            return self._log.read_text(encoding="utf-8", errors="replace")[-2000:].strip()
        return ""


class Pool:
    """`jobs` workers. `submit` a job whenever `free`; `next` waits for one to be done."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._environment = _environment(jobs)
        self._todo: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Job, dict[str, Any], float]] = queue.SimpleQueue()
        self._workers: list[Worker] = []
        self.running: dict[str, float] = {}  # name -> started, by time.monotonic()

    @property
    def free(self) -> bool:
        """Is a worker without work?"""
        return len(self.running) < self.jobs

    def submit(self, job: Job) -> None:
        """Give `job` to the next idle worker."""
        self.running[job.name] = time.monotonic()
        if len(self._workers) < min(self.jobs, len(self.running)):
            worker = Worker(len(self._workers), self._environment)
            self._workers.append(worker)
            threading.Thread(target=self._serve, args=(worker,), daemon=True).start()
        self._todo.put(job)

    def next(self, timeout: float | None = None) -> tuple[Job, dict[str, Any], float] | None:
        """The next finished job, its answer and its seconds; None where none finished within `timeout` seconds."""
        try:
            job, answer, seconds = self._done.get(timeout=timeout)
        except queue.Empty:
            return None
        del self.running[job.name]
        return job, answer, seconds

    def close(self, interrupted: bool = False) -> None:
        """End all workers; when `interrupted`, those at work too."""
        for _ in self._workers:
            self._todo.put(None)
        stops = [
            threading.Thread(target=worker.stop, kwargs={"grace": 8.0 if interrupted else 0.0})
            for worker in self._workers
        ]
        for thread in stops:
            thread.start()
        for thread in stops:
            thread.join()

    def _serve(self, worker: Worker) -> None:
        while (job := self._todo.get()) is not None:
            began = time.monotonic()
            try:
                answer = worker.execute(job)
            except Exception as error:
                answer = {"ok": False, "error": f"the worker could not be used: {type(error).__name__}: {error}"}
            self._done.put((job, answer, time.monotonic() - began))


def _environment(jobs: int) -> dict[str, str]:
    """What workers and their kernels run with: this Python, few threads, nothing of the user's own Jupyter set-up."""
    threads = str(max(1, cpus() // jobs))
    search = [str(kernel_folder(paths.state()).resolve()), *filter(None, [os.environ.get("JUPYTER_PATH")])]
    return {
        # a kernel's working folder is its notebook's, so what was given relative to ours must not stay so
        **{name: str(Path(os.environ[name]).expanduser().resolve()) for name in _FOLDERS if os.environ.get(name)},
        **{name: os.environ.get(name) or threads for name in _THREADS},
        "JUPYTER_PATH": os.pathsep.join(search),
        "IPYTHONDIR": str(paths.state("ipython").resolve()),
        "PYTHONHASHSEED": "0",
        "TOKENIZERS_PARALLELISM": "false",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
