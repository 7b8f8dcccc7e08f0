"""The command `nlgeval`. Each module of this package adds its subcommands to `app`, in the order of `MODULES`.

A module must import fast: what a subcommand needs is imported when it runs.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import signal
import sys
import warnings

from nlgeval_lib.cli._options import app

MODULES = ("run", "data", "score", "meta", "parse", "completions", "finetune", "build", "store")
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
            said = f"package {error.name} is not installed; {_extra(error.name or '')}"
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
        elif stream.errors in ("strict", "surrogateescape") and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _extra(module: str) -> str:
    """How to get what brings a module: by the extra of this package that asks for it, where one does."""
    from importlib import metadata

    named = re.compile(rf"{re.escape(module.partition('.')[0]).replace('_', '[-_]')}\b.*extra == .(\w+)", re.I)
    found = [match[1] for line in metadata.requires("nlgeval-lib") or () if (match := named.match(line))]
    return f"pip install 'nlgeval-lib[{found[0]}]' brings it" if found else "install it with pip"
