"""The process that kernels are forked from: what every notebook imports is imported once, not once a notebook.

Started by `kernels.Template` as `python -m nlgeval_lib.runner.template`: a JSON request a line in, a JSON answer out.
It imports, and computes nothing: no thread of Python's, no event loop, no socket and no cached value passes into a
kernel (what OpenBLAS and Arrow start when they are imported, they end and start again around a fork by themselves).
Each kernel is a process of its own, in its own session, with the environment and working folder of its request.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

# What nearly every notebook imports by itself. What only some of them use stays out: a result's provenance names the
# packages that its kernel has imported, and its record the modules of ours, any of which makes it stale when edited.
PRELOADED = (
    "ipykernel.ipkernel",
    "ipykernel.kernelapp",
    "numpy",
    "pandas",
    "pandas.io.formats.style",
    "scipy.stats",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "nlgeval_lib.figures",
    "nlgeval_lib.report",
)
INLINE = "module://matplotlib_inline.backend_inline"  # ipykernel's choice, which matplotlib reads when it is imported


def preload() -> None:
    """Import what is shared; a package that is not here is left to the notebook that wants it."""
    os.environ.setdefault("MPLBACKEND", INLINE)
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a collection in a kernel need not touch, and so copy, what all of them share


def serve() -> Mapping[str, Any] | None:
    """Answer requests until standard input ends; in a forked child, return the request that it is to become."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library or a kernel prints goes nowhere, and not between the answers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    here = os.getpid()
    children: dict[int, int | None] = {}  # pid -> exit code, once it has one
    for line in sys.stdin:
        request = json.loads(line)
        if "poll" in request:
            answer = {"code": _ended(children, request["poll"])}
        else:
            pid = os.fork()
            if pid == 0:
                answers.close()
                return {**request, "template": here}
            children[pid] = None
            answer = {"pid": pid}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    for pid in children:  # the runner is gone, so nobody will read what they make
        if _ended(children, pid) is None:
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
    return None


def _ended(children: dict[int, int | None], pid: int) -> int | None:
    if pid not in children:  # of a template that ended before this one was started, and so did its kernels
        return -signal.SIGKILL
    if children[pid] is None:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            children[pid] = os.waitstatus_to_exitcode(status)
    return children[pid]


def become(request: Mapping[str, Any]) -> None:
    """Be the kernel that `request` asks for, until it is shut down."""
    os.setsid()
    _die_with(request["template"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with open(os.devnull, encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    # ipykernel reads JPY_PARENT_PID when it is imported, which here was before there was a kernel
    sys.argv = ["ipykernel_launcher", *request["arguments"], f"--IPKernelApp.parent_handle={request['template']}"]
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()  # numpy's global state is drawn anew in each process, as python's is

    from ipykernel import kernelapp

    kernelapp.launch_new_instance()


def _die_with(template: int) -> None:
    """Where the system can do it: a kernel ends when its template does, however that happens."""
    with contextlib.suppress(Exception):
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != template:  # it ended before that was set
        os._exit(1)


if __name__ == "__main__":
    if sys.path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]  # as ipykernel_launcher does: a notebook's own folder comes first, set by the kernel
    preload()
    wanted = serve()
    if wanted is not None:
        become(wanted)
