"""Kernels of this very Python, for notebooks that are executed.

On Linux a kernel is a fork of a template process that has imported, once, what every
notebook imports. The template
computes nothing: no thread, event loop, socket or cached value passes into a kernel
(what OpenBLAS and Arrow start when they are imported, they end and start again around a
fork by themselves). Elsewhere, with NLGEVAL_FORK=0, or where a fork fails, kernels are
started from nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint
from typing import Any, cast

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

NAME = "nlgeval"
# What only some notebooks import stays out: a result's provenance names the packages
# that its kernel has imported, and
# its record the modules of ours, any of which makes it stale when edited.
PRELOADED = (
    "ipykernel.kernelapp",
    "pandas.io.formats.style",
    "scipy.stats",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "nlgeval_lib.report",
)
# ipykernel's choice, which matplotlib reads when it is imported
_INLINE = "module://matplotlib_inline.backend_inline"
_COMMAND = (
    "-m ipykernel_launcher -f {connection_file} --HistoryManager.hist_file=:memory:"
)


def manager(environment: Mapping[str, str]) -> type[AsyncKernelManager]:
    """The kernel manager whose kernels have `environment` besides this process's
    own; no kernelspec on disk counts.
    """
    place = EntryPoint(
        NAME, f"{Forked.__module__}:Forked", KernelProvisionerFactory.GROUP_NAME
    )
    KernelProvisionerFactory.instance().provisioners[NAME] = place

    class Manager(AsyncKernelManager):
        kernel_spec = KernelSpec(
            argv=[sys.executable, *_COMMAND.split()],
            display_name=NAME,
            language="python",
            env={
                name: value.replace("$", "$$") for name, value in environment.items()
            },  # $ asks for a variable there
            metadata={"kernel_provisioner": {"provisioner_name": NAME}},
        )

    return Manager


class Forked(LocalProvisioner):
    """A kernel is forked; one that cannot be is started as usual."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Launch the kernel; the connection information for it."""
        folder = os.path.abspath(kwargs.get("cwd") or os.getcwd())
        try:
            process = Process(
                TEMPLATE.fork(
                    {
                        "arguments": cmd[3:],
                        "folder": folder,
                        "environment": kwargs["env"],
                    }
                )
            )
        except OSError as error:
            if wanted():
                print(f"a kernel is started, not forked: {error}", file=sys.stderr)
            found = await super().launch_kernel(
                cmd, **kwargs | dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
            )
            TEMPLATE.started.add(self)
            return found
        self.process = cast(Any, process)
        self.pid = self.pgid = (
            process.pid
        )  # a session of its own, so its group has its number
        self.cwd = folder
        return self.connection_info


def wanted() -> bool:
    """Are kernels forked here?"""
    return sys.platform == "linux" and os.environ.get("NLGEVAL_FORK", "1") != "0"


class Process:
    """A forked kernel, with as much of `subprocess.Popen` as jupyter_client uses.

    How it ended is not told.
    """

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._handle = os.pidfd_open(
            pid
        )  # stays this process's, whoever gets its number next
        weakref.finalize(self, os.close, self._handle)

    def poll(self) -> int | None:
        """None while it runs."""
        return -signal.SIGKILL if select.select([self._handle], [], [], 0)[0] else None

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it runs."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, number)

    wait = poll  # jupyter_client calls it when poll says that it has ended
    terminate = functools.partialmethod(send_signal, signal.SIGTERM)
    kill = functools.partialmethod(send_signal, signal.SIGKILL)


class Template:
    """The process that kernels are forked from, and the talk with it; several
    threads may ask.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self.started: weakref.WeakSet[LocalProvisioner] = (
            weakref.WeakSet()
        )  # of kernels that were not forked
        self.closed = False

    def fork(self, request: Mapping[str, Any]) -> int:
        """The process number of a new kernel.

        Raises: OSError where it cannot be forked; RuntimeError when closed.
        """
        with self._lock:
            if self.closed:
                raise RuntimeError("the run is stopping")
            if not wanted():
                raise OSError("kernels are not forked here")
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", __name__],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,  # what a kernel prints past its notebook
                    text=True,
                    encoding="utf-8",
                    env=request["environment"],
                    # the terminal's Ctrl-C reaches the runner only, which stops the
                    # kernels
                    start_new_session=True,
                )
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise OSError(f"the template process ended (exit {self._process.wait()})")
        return int(line)

    def close(self) -> None:
        """End the template and every kernel that still runs."""
        with self._lock:
            self.closed = True
            if self._process is not None:
                self._process.kill()  # its kernels end with it
                self._process.communicate()
        for one in list(self.started):
            if one.process is not None:
                one.process.kill()


TEMPLATE = Template()


@contextlib.contextmanager
def template() -> Iterator[None]:
    """Kernels end with this block, those at work too."""
    TEMPLATE.closed = False
    try:
        yield
    finally:
        TEMPLATE.close()


# ---- the template process: a JSON request a line in, the process number of the kernel that it became out


def main() -> None:
    """Import what is shared and answer requests until standard input ends; a forked
    child becomes its kernel.
    """
    os.environ.setdefault("MPLBACKEND", _INLINE)
    for name in PRELOADED:
        with contextlib.suppress(
            ImportError
        ):  # a package that is not here is left to the notebook that wants it
            importlib.import_module(name)
    gc.collect()
    # a collection in a kernel need not touch, and so copy, what all of them share
    gc.freeze()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(
        2, 1
    )  # what a library or a kernel prints goes nowhere, and not between the answers
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a kernel that ends leaves nothing
    here = os.getpid()
    for line in sys.stdin:
        if (pid := os.fork()) == 0:
            answers.close()
            become({**json.loads(line), "template": here})
            return
        print(pid, file=answers, flush=True)


def become(request: Mapping[str, Any]) -> None:
    """Be the kernel that `request` asks for, until it is shut down."""
    os.setsid()
    ctypes.CDLL(None).prctl(
        1, signal.SIGKILL, 0, 0, 0
    )  # PR_SET_PDEATHSIG: it ends when its template does, however
    if os.getppid() != (
        template := request["template"]
    ):  # that ended before this was set
        os._exit(1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with open(os.devnull, encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.environ.clear()
    os.environ.update(request["environment"], JPY_PARENT_PID=str(template))
    os.chdir(request["folder"])
    # ipykernel reads JPY_PARENT_PID when it is imported, which here was before there
    # was a kernel
    sys.argv = [
        "ipykernel_launcher",
        *request["arguments"],
        f"--IPKernelApp.parent_handle={template}",
    ]
    if "numpy" in sys.modules:
        sys.modules[
            "numpy"
            # numpy's global state is drawn anew in each process, as python's is
        ].random.seed()

    from ipykernel import kernelapp

    kernelapp.launch_new_instance()


if __name__ == "__main__":
    if sys.path and sys.path[0] in ("", os.getcwd()):
        del sys.path[
            0
            # as ipykernel_launcher does: a notebook's own folder comes first, set by
            # the
            # kernel
        ]
    main()
