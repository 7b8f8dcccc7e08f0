"""Notebooks executed side by side: a thread each in this process, a kernel each beside it."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlgeval_lib import files

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_FOLDERS = ("NLGEVAL_ROOT", "NLGEVAL_RESULTS", "NLGEVAL_FIGURES", "NLGEVAL_STATE", "NLGEVAL_DATA_MIRROR")
_PATIENCE = 8.0  # seconds for threads to notice that their kernels were ended


@dataclass(frozen=True, slots=True)
class Job:
    """One notebook to execute."""

    name: str
    source: Path
    target: Path
    parameters: Mapping[str, Any]
    environment: Mapping[str, str]
    timeout: int | None = None  # seconds a cell may take


def cpus() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def execute(job: Job, environment: Mapping[str, str]) -> dict[str, Any]:
    """Run one notebook to `job.target`; the answer says `ok`, or which cell failed and how."""
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from traitlets.config import Config

    from nlgeval_lib.runner import kernels

    try:
        papermill.execute_notebook(
            str(job.source),
            str(job.target),
            parameters=dict(job.parameters),
            kernel_name=kernels.NAME,
            language="python",
            progress_bar=False,
            start_timeout=120,
            execution_timeout=job.timeout,
            kernel_manager_class=kernels.manager({**environment, **job.environment}),
            resources={"metadata": {"path": str(job.source.parent)}},  # papermill's own `cwd` moves all threads
            config=Config({"KernelManager": {"shutdown_wait_time": 2.0}}),
        )
    except papermill.PapermillExecutionError as error:
        return {
            "ok": False,
            "cell": error.exec_count,
            "source": error.source,
            "error": f"{error.ename}: {error.evalue}",
            "traceback": "\n".join(error.traceback),
        }
    except CellTimeoutError:
        return {"ok": False, "error": f"a cell took longer than {job.timeout} s (--timeout)"}
    except DeadKernelError:
        return {"ok": False, "error": "the kernel died (out of memory, or killed)"}
    except Exception as error:
        if isinstance(error, OSError) and error.errno in files.NO_ROOM:
            where = job.target.parent
            return {"ok": False, "error": f"cannot write the executed copy in {where}: {files.way_out(error)}"}
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}
    return {"ok": True}


class Pool:
    """`jobs` threads. `submit` a job whenever `free`; `next` waits for one to be done."""

    def __init__(self, jobs: int) -> None:
        from nlgeval_lib.runner import kernels

        self.jobs = jobs
        self.running: dict[str, float] = {}  # name -> started, by time.monotonic()
        self._environment = _environment(jobs)
        self._done: queue.SimpleQueue[tuple[Job, dict[str, Any], float]] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._template = kernels.TEMPLATE
        if kernels.wanted():
            self._template.start(self._environment)

    @property
    def free(self) -> bool:
        """Is a thread without work?"""
        return len(self.running) < self.jobs

    def submit(self, job: Job) -> None:
        """Begin `job` at once."""
        self.running[job.name] = time.monotonic()
        self._threads = [one for one in self._threads if one.is_alive()]
        self._threads.append(threading.Thread(target=self._work, args=(job,), daemon=True))
        self._threads[-1].start()

    def next(self, timeout: float | None = None) -> tuple[Job, dict[str, Any], float] | None:
        """The next finished job, its answer and its seconds; None where none finished within `timeout` seconds."""
        try:
            job, answer, seconds = self._done.get(timeout=timeout)
        except queue.Empty:
            return None
        del self.running[job.name]
        return job, answer, seconds

    def close(self) -> None:
        """End the kernels, those at work too, and wait for what their threads still write."""
        self._template.stop()
        until = time.monotonic() + _PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _work(self, job: Job) -> None:
        began = time.monotonic()
        answer = execute(job, self._environment)
        self._done.put((job, answer, time.monotonic() - began))


def _environment(jobs: int) -> dict[str, str]:
    """What kernels run with: few threads, the folders that this process uses, nothing of the user's own IPython."""
    threads = str(max(1, cpus() // jobs))
    return {
        # a kernel's working folder is its notebook's, so what was given relative to ours must not stay so
        **{name: str(Path(os.environ[name]).expanduser().resolve()) for name in _FOLDERS if os.environ.get(name)},
        **{name: os.environ.get(name) or threads for name in _THREADS},
        "IPYTHONDIR": str(files.state("ipython").resolve()),
        "PYTHONHASHSEED": "0",
        "TOKENIZERS_PARALLELISM": "false",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
