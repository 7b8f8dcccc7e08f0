"""Kernels of this very Python: forked from a template process where that can be done, started from nothing elsewhere.

Linux only: libraries of other systems may not survive a fork. NLGEVAL_FORK=0 turns it off.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Any

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

NAME = "nlgeval"
_COMMAND = [
    sys.executable,
    "-m",
    "ipykernel_launcher",
    "-f",
    "{connection_file}",
    "--HistoryManager.hist_file=:memory:",
]


def manager(environment: Mapping[str, str]) -> type[AsyncKernelManager]:
    """The kernel manager whose kernels have `environment` besides this process's own; no kernelspec on disk counts."""
    place = EntryPoint(NAME, f"{__name__}:Forked", KernelProvisionerFactory.GROUP_NAME)
    KernelProvisionerFactory.instance().provisioners[NAME] = place

    class Manager(AsyncKernelManager):
        kernel_spec = KernelSpec(
            argv=_COMMAND,
            display_name=NAME,
            language="python",
            env={name: value.replace("$", "$$") for name, value in environment.items()},  # $ asks for a variable there
            metadata={"kernel_provisioner": {"provisioner_name": NAME}},
        )

    return Manager


class Template:
    """The process that kernels are forked from, and the talk with it; several threads may ask."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._environment: dict[str, str] = {}
        self._lock = threading.Lock()
        self._started: weakref.WeakSet[LocalProvisioner] = weakref.WeakSet()  # by us, not by the template

    def start(self, environment: Mapping[str, str] | None = None) -> None:
        """Start the process where none runs; it begins its imports. Raises: OSError where it cannot be."""
        self._environment = dict(self._environment if environment is None else environment)
        if not wanted():
            raise OSError("kernels are not forked here")
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "nlgeval_lib.runner.template"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,  # what a kernel prints past its notebook
                    text=True,
                    encoding="utf-8",
                    env={**os.environ, **self._environment},
                    start_new_session=True,  # the terminal's Ctrl-C reaches the runner only, which stops the kernels
                )

    @property
    def pid(self) -> int:
        """Of the template itself."""
        assert self._process is not None
        return self._process.pid

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The template's answer. Raises: OSError where it has ended."""
        process = self._process
        if process is None:
            raise OSError("the template was not started")
        assert process.stdin is not None and process.stdout is not None
        with self._lock:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if not line:
            raise OSError(f"the template process ended (exit {process.wait()})")
        return json.loads(line)

    def add(self, started: LocalProvisioner) -> None:
        """Remember a kernel that was started, not forked, so that `stop` ends it too."""
        self._started.add(started)

    def stop(self) -> None:
        """End the template and every kernel that still runs."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(OSError):
                assert process.stdin is not None and process.stdout is not None
                process.stdin.close()  # it ends its kernels, and then itself
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()  # its kernels end with it
                process.wait()
        for started in list(self._started):
            if started.process is not None and started.process.poll() is None:
                with contextlib.suppress(OSError):
                    os.kill(started.process.pid, signal.SIGKILL)


TEMPLATE = Template()


def wanted() -> bool:
    """Are kernels forked here?"""
    return sys.platform == "linux" and os.environ.get("NLGEVAL_FORK", "1") != "0"


class Process:
    """A forked kernel, with as much of `subprocess.Popen` as jupyter_client uses."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, or None while it runs. It does not outlive its template."""
        if self.returncode is None:
            try:
                self.returncode = TEMPLATE.ask({"poll": self.pid})["code"]
            except (OSError, ValueError, KeyError):  # gone, or another one that never had this kernel
                self.returncode = -signal.SIGKILL
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended. Raises: subprocess.TimeoutExpired."""
        began = time.monotonic()
        while (code := self.poll()) is None:
            if timeout is not None and time.monotonic() - began > timeout:
                raise subprocess.TimeoutExpired("kernel", timeout)
            time.sleep(0.02)
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


class Forked(LocalProvisioner):
    """A kernel is forked; one that cannot be is started as usual."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict[str, Any]:
        """Launch the kernel; the connection information for it."""
        folder = os.path.abspath(kwargs.get("cwd") or os.getcwd())
        try:
            TEMPLATE.start()
            environment = {**kwargs["env"], "JPY_PARENT_PID": str(TEMPLATE.pid)}
            pid = TEMPLATE.ask({"arguments": cmd[3:], "folder": folder, "environment": environment})["pid"]
        except OSError as error:
            if wanted():
                print(f"a kernel is started, not forked: {error}", file=sys.stderr)
            TEMPLATE.add(self)
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            return await super().launch_kernel(cmd, **{**kwargs, **quiet})
        self.process = Process(pid)
        self.pid = self.pgid = pid  # a session of its own, so its group has its number
        self.cwd = folder
        return self.connection_info
