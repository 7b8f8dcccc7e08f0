"""Kernels of this very Python, for notebooks that are executed.

On Linux a kernel is a fork of a template process that has imported, once, what every
notebook imports. The template computes nothing: no thread, event loop, socket or cached
value passes into a kernel (OpenBLAS and Arrow start threads when they are imported, and
end and start them again around a fork by themselves). Elsewhere, with NLGEVAL_FORK=0,
or where a fork fails, kernels are started from nothing.
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

NAME = "nlgeval"  # of the kernel and its provisioner
# A module that only some notebooks import is not among them: a result's provenance
# names the packages that its kernel has imported.
PRELOADED = (
    "ipykernel.kernelapp",
    "pandas.io.formats.style",
    "scipy.stats",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_svg",
    "reproduction.report",
)
# ipykernel's choice, which matplotlib reads when it is imported
_INLINE = "module://matplotlib_inline.backend_inline"
# What starts a kernel, behind the name of this Python; no history is written.
_COMMAND = (
    "-m ipykernel_launcher -f {connection_file} --HistoryManager.hist_file=:memory:"
)


def manager(environment: Mapping[str, str]) -> type[AsyncKernelManager]:
    """The kernel manager whose kernels have `environment` besides this process's own;
    no kernelspec on disk counts.
    """
    factory = KernelProvisionerFactory.instance()
    place = f"{Forked.__module__}:Forked"
    factory.provisioners[NAME] = EntryPoint(NAME, place, factory.GROUP_NAME)
    # In these values $ would ask for a variable.
    escaped = {name: value.replace("$", "$$") for name, value in environment.items()}

    class Manager(AsyncKernelManager):
        kernel_spec = KernelSpec(
            argv=[sys.executable, *_COMMAND.split()],
            display_name=NAME,
            language="python",
            env=escaped,
            metadata={"kernel_provisioner": {"provisioner_name": NAME}},
        )

    return Manager


class Forked(LocalProvisioner):
    """A kernel is forked; one that cannot be is started as usual."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Launch the kernel; the connection information for it."""
        folder = os.path.abspath(kwargs.get("cwd") or os.getcwd())
        request = {"arguments": cmd[3:], "folder": folder, "environment": kwargs["env"]}
        try:
            process = Process(TEMPLATE.fork(request))
        except OSError as error:
            if wanted():
                print(f"a kernel is started, not forked: {error}", file=sys.stderr)
            kwargs["stdout"] = subprocess.DEVNULL
            kwargs["stderr"] = subprocess.DEVNULL
            connection = await super().launch_kernel(cmd, **kwargs)
            TEMPLATE.started.add(self)
            return connection
        self.process = cast(Any, process)
        # The kernel leads a session of its own, so its group has its number.
        self.pid = process.pid
        self.pgid = process.pid
        self.cwd = folder
        return self.connection_info


def wanted() -> bool:
    """Are kernels forked here?"""
    return sys.platform == "linux" and os.environ.get("NLGEVAL_FORK", "1") != "0"


class Process:
    """A forked kernel, with as much of `subprocess.Popen` as jupyter_client uses.

    It does not tell how the kernel ended.
    """

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        # The handle stays this process's own, even when its number is given again.
        self._handle = os.pidfd_open(pid)
        weakref.finalize(self, os.close, self._handle)

    def poll(self) -> int | None:
        """None while it runs."""
        ended, _, _ = select.select([self._handle], [], [], 0)
        return -signal.SIGKILL if ended else None

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
        # The provisioners of kernels that were started instead of forked.
        self.started: weakref.WeakSet[LocalProvisioner] = weakref.WeakSet()
        self.closed = False

    def fork(self, request: Mapping[str, Any]) -> int:
        """The process number of a new kernel; the template is started where it does not run.

        request: `arguments`, `folder` and `environment` of the kernel.
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
        for provisioner in list(self.started):
            if provisioner.process is not None:
                provisioner.process.kill()


TEMPLATE = Template()


@contextlib.contextmanager
def template() -> Iterator[None]:
    """Kernels end with this block, those at work too."""
    TEMPLATE.closed = False
    try:
        yield
    finally:
        TEMPLATE.close()


# ---- the template process: it reads a JSON request a line, and answers with the
# process number of the kernel that it forked


def main() -> None:
    """Import what is shared and answer requests until standard input ends; a forked
    child becomes its kernel.
    """
    os.environ.setdefault("MPLBACKEND", _INLINE)
    for name in PRELOADED:
        # A missing package is left to the notebook that needs it.
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    # A collection in a kernel need not touch, and so copy, what all kernels share.
    gc.freeze()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What a library or a kernel prints goes nowhere, and not between the answers.
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # No process of a kernel that ended remains.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    template_pid = os.getpid()
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            answers.close()
            become({**json.loads(line), "template": template_pid})
            return
        print(pid, file=answers, flush=True)


def become(request: Mapping[str, Any]) -> None:
    """Be the kernel that `request` asks for, as for `Template.fork`, until it is shut
    down; `template` in it is the template's process number.
    """
    os.setsid()
    # PR_SET_PDEATHSIG: the kernel ends when its template does, by whatever cause.
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    template = request["template"]
    if os.getppid() != template:
        # The template ended before that was set.
        os._exit(1)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with open(os.devnull, encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.environ.clear()
    os.environ.update(request["environment"], JPY_PARENT_PID=str(template))
    os.chdir(request["folder"])
    # ipykernel reads JPY_PARENT_PID when it is imported, which was in the template: so
    # the parent is an argument too.
    sys.argv = [
        "ipykernel_launcher",
        *request["arguments"],
        f"--IPKernelApp.parent_handle={template}",
    ]
    if "numpy" in sys.modules:
        # numpy's global state is drawn anew in each process, as python's is.
        sys.modules["numpy"].random.seed()

    from ipykernel import kernelapp

    kernelapp.launch_new_instance()


if __name__ == "__main__":
    if sys.path and sys.path[0] in ("", os.getcwd()):
        # ipykernel_launcher does so too: the kernel puts a notebook's folder first.
        del sys.path[0]
    main()
