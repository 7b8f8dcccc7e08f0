"""Notebooks executed side by side: a thread each in this process, a kernel each beside
it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlgeval_lib import files

# Variables that limit the threads of numpy's and other libraries.
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
# Variables that name folders of this library.
_FOLDERS = (
    "NLGEVAL_ROOT",
    "NLGEVAL_RESULTS",
    "NLGEVAL_FIGURES",
    "NLGEVAL_HOME",
    "NLGEVAL_DATA_MIRROR",
)


@dataclass(frozen=True, slots=True)
class Job:
    """One notebook to execute for an output; target: where the executed copy goes;
    environment: variables beside those of every kernel.
    """

    name: str
    source: Path
    target: Path
    parameters: Mapping[str, Any]
    environment: Mapping[str, str]


def cpus() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def executed(
    jobs: int, following: Callable[[], Job | None]
) -> Iterator[tuple[Job, dict[str, Any], float]]:
    """Run what `following` gives, `jobs` at a time, until it gives None and nothing
    runs.

    following: the next job, None for none now; it is asked again when one has ended.
    Yields: job, answer (see `execute`) and seconds of each that ended.
    """
    job = following()
    if job is None:
        return
    from reproduction.runner import kernels

    environment = _environment(jobs)
    running: dict[Future[dict[str, Any]], tuple[Job, float]] = {}
    with ThreadPoolExecutor(jobs) as threads, kernels.template():
        while job or running:
            while job:
                future = threads.submit(execute, job, environment)
                running[future] = (job, time.monotonic())
                job = following() if len(running) < jobs else None
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                ended, start = running.pop(future)
                yield ended, future.result(), time.monotonic() - start
            job = following() if len(running) < jobs else None


def _environment(jobs: int) -> dict[str, str]:
    """What kernels run with: few threads, this process's folders, no IPython profile."""
    environment = {}
    for name in _FOLDERS:
        folder = os.environ.get(name)
        if folder:
            # A kernel's working folder is its notebook's: relative paths would be
            # read from there.
            environment[name] = str(Path(folder).expanduser().resolve())
    threads = str(max(1, cpus() // jobs))
    for name in _THREADS:
        environment[name] = os.environ.get(name) or threads
    return {
        **environment,
        "IPYTHONDIR": str(files.state("ipython").resolve()),
        "PYTHONHASHSEED": "0",
        "TOKENIZERS_PARALLELISM": "false",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


def execute(job: Job, environment: Mapping[str, str]) -> dict[str, Any]:
    """Run one notebook to `job.target`.

    Returns: {"ok": True}; or `ok` False with `error`, and for an error in a cell also
    `cell` (its number), `source` and `traceback`.
    """
    import papermill
    from nbclient.exceptions import DeadKernelError
    from traitlets.config import Config

    from reproduction.runner import kernels

    try:
        papermill.execute_notebook(
            str(job.source),
            str(job.target),
            parameters=dict(job.parameters),
            kernel_name=kernels.NAME,
            language="python",
            progress_bar=False,
            start_timeout=120,
            kernel_manager_class=kernels.manager({**environment, **job.environment}),
            # papermill's own argument, `cwd`, moves all threads to that folder
            resources={"metadata": {"path": str(job.source.parent)}},
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
    except DeadKernelError:
        problem = "the kernel died (out of memory, or killed)"
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        if isinstance(error, OSError) and error.errno in files.NO_ROOM:
            advice = files.way_out(error)
            problem = f"cannot write the executed copy in {job.target.parent}: {advice}"
    else:
        return {"ok": True}
    return {"ok": False, "error": problem}
