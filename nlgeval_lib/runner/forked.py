"""Kernels forked from a template process instead of started from nothing; a kernel that cannot be forked is started.

`use()` makes jupyter_client ask `Forked` for every kernel of this process. Linux only: elsewhere libraries of the
system may not survive a fork. NLGEVAL_FORK=0 turns it off.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Any

from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

NAME = "nlgeval-forked"
_LAUNCHER = ["-m", "ipykernel_launcher"]


def wanted() -> bool:
    """Are kernels forked here?"""
    return sys.platform == "linux" and os.environ.get("NLGEVAL_FORK", "1") != "0"


def use() -> None:
    """From now on kernels of this process are forked, and the template begins its imports."""
    factory = KernelProvisionerFactory.instance()
    factory.provisioners[NAME] = EntryPoint(NAME, f"{__name__}:Forked", KernelProvisionerFactory.GROUP_NAME)
    factory.default_provisioner_name = NAME
    TEMPLATE.start()


class Template:
    """The template process and the talk with it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start the process where none runs. Raises: OSError where it cannot be."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "nlgeval_lib.runner.template"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
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
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise OSError(f"the template process ended (exit {process.wait()})")
        return json.loads(line)


TEMPLATE = Template()


class Process:
    """A forked kernel, with as much of `subprocess.Popen` as jupyter_client uses."""

    stdin = stdout = stderr = None

    def __init__(self, template: Template, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._template = template

    def poll(self) -> int | None:
        """Its exit code, or None while it runs. It does not outlive its template."""
        if self.returncode is None:
            try:
                self.returncode = self._template.ask({"poll": self.pid})["code"]
            except OSError:
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
    """A kernel of this very Python is forked; every other, and one that cannot be forked, is started as usual."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> dict[str, Any]:
        """Launch the kernel; the connection information for it."""
        if cmd[0] != sys.executable or cmd[1:3] != _LAUNCHER:
            return await super().launch_kernel(cmd, **kwargs)
        folder = os.path.abspath(kwargs.get("cwd") or os.getcwd())
        try:
            TEMPLATE.start()
            environment = {**kwargs["env"], "JPY_PARENT_PID": str(TEMPLATE.pid)}
            request = {"arguments": cmd[3:], "folder": folder, "environment": environment}
            pid = TEMPLATE.ask(request)["pid"]
        except OSError as error:
            print(f"a kernel is started, not forked: {error}", file=sys.stderr)
            return await super().launch_kernel(cmd, **kwargs)
        self.process = Process(TEMPLATE, pid)
        self.pid = self.pgid = pid  # a session of its own, so its group has its number
        self.cwd = folder
        return self.connection_info
