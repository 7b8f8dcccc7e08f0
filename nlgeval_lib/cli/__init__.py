"""The command `nlgeval`. Each module of this package adds its subcommands to `app`, in the order of `MODULES`.

A module must import fast: what a subcommand needs is imported when it runs.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import warnings
from typing import Any

from nlgeval_lib.cli._options import app
from nlgeval_lib.files import printable
from nlgeval_lib.names import extra

MODULES = ("run", "new_ablation", "data", "score", "meta", "parse", "completions", "training", "store")
for _name in MODULES:
    importlib.import_module(f"{__name__}.{_name}")


def main() -> None:
    """Run the command line; errors that a user can mend are one message, not a traceback."""
    _streams()
    warnings.showwarning = lambda said, *_: print(f"note: {said}", file=sys.stderr)  # not where in the code it arose
    with contextlib.suppress(ValueError):  # raised outside the main thread
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does
    try:
        app(prog_name="nlgeval")
    except SystemExit as end:
        if end.code == 130:
            print("stopped; the same command goes on from there", file=sys.stderr)
        raise
    except Exception as error:
        from nlgeval_lib.datasets import DataError
        from nlgeval_lib.engines import EngineError
        from nlgeval_lib.evaluators import Unavailable

        said = str(error)
        if isinstance(error, ModuleNotFoundError) and not (error.name or "nlgeval_lib").startswith("nlgeval_lib"):
            said = f"package {error.name} is not installed; {extra(error.name or '')}"
        elif isinstance(error, OSError) and error.strerror and error.filename is None:  # ours name the file
            said = error.strerror
        elif not isinstance(error, (ValueError, OSError, EngineError, Unavailable, DataError)):
            raise
        print(f"error: {said}", file=sys.stderr)
        sys.exit(2 if isinstance(error, (ValueError, FileNotFoundError)) else 1)


def _streams() -> None:
    """Somewhere to write to, whatever is closed; and characters that a terminal does not know are spelt out."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started this
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - as long as the process
            continue
        if stream.errors in ("strict", "surrogateescape") and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
        if not isinstance(stream, _Shown):
            setattr(sys, name, _Shown(stream))


class _Shown:
    """A stream on which control characters from data or servers are shown, not sent: but for ends of lines, tabs, and
    the way back to a line's beginning that a progress bar starts with."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes it."""
        back = "\r" if text.startswith("\r") else ""
        lines = text.removeprefix(back).replace("\r\n", "\n")
        return int(self._stream.write(back + printable(lines, keep="\n\t")))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
