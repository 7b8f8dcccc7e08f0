"""The command `nlgeval`. The modules of `houses.COMMANDS` add their subcommands; each
must import fast: what a subcommand needs is imported when it runs.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.metadata
import os
import shlex
import signal
import sys
import warnings
from typing import Annotated, Any

import typer

from nlgeval_lib import houses
from nlgeval_lib.cli._options import app, option
from nlgeval_lib.files import printable
from nlgeval_lib.names import STOPPED, extra

# Commands of the reproduction, which say so where it is not here.
OF_THE_REPOSITORY = (
    *("run", "sweep", "verify", "scoreboard", "report", "new-ablation"),
    *("completions", "finetune", "build"),
)


def _needs_the_repository(name: str) -> None:
    anything = {"allow_extra_args": True, "ignore_unknown_options": True}

    @app.command(name, help="(In the repository alone.)", context_settings=anything)
    def elsewhere() -> None:
        raise ValueError(
            f"{name}: this needs the repository: run it in a clone, after `make setup`"
        )


for _name in houses.COMMANDS:
    if houses.is_here(_name):
        importlib.import_module(_name)
if not houses.is_here("reproduction"):
    for _name in OF_THE_REPOSITORY:
        _needs_the_repository(_name)


def _show_version(asked: bool) -> None:
    if asked:
        try:
            number = importlib.metadata.version("nlgeval-lib")
        except importlib.metadata.PackageNotFoundError:
            number = "(a checkout that is not installed)"
        typer.echo(f"nlgeval {number}")
        raise typer.Exit()


_VERSION = option(
    "--version", help="Print the version.", is_eager=True, callback=_show_version
)


@app.callback()
def _options(version: Annotated[bool, _VERSION] = False) -> None:
    """Take the options that belong to no command."""


# built once a process, as its 23 commands take typer .05 s
_command = functools.cache(functools.partial(typer.main.get_command, app))


def main() -> None:
    """Run the command line; errors that a user can mend are one message."""
    _prepare_streams()
    warnings.showwarning = _print_warning
    # the commands say which encoder a metric takes (`Job.notice`)
    warnings.filterwarnings("ignore", message=".*no encoder is named")
    with contextlib.suppress(ValueError):  # raised outside the main thread
        # they end a run as Ctrl-C does; a hang-up that nohup holds off stays held off
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        _command()(prog_name="nlgeval")
    except SystemExit as end:
        if end.code == 130:
            print(STOPPED, file=sys.stderr)
        raise
    except KeyboardInterrupt:  # a second Ctrl-C, while the first one is dealt with
        print(STOPPED, file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        message = _message(error)
        if message is None:
            raise
        print(f"error: {message}", file=sys.stderr)
        if without := getattr(error, "without", ()):
            whole = shlex.join(["nlgeval", *sys.argv[1:], *without])
            print(f"the whole command: {whole}", file=sys.stderr)
        sys.exit(2 if isinstance(error, (ValueError, FileNotFoundError)) else 1)


def _message(error: Exception) -> str | None:
    """What to print of an error that a user can mend; None for every other error."""
    from nlgeval_lib.datasets import DataError
    from nlgeval_lib.engines import EngineError
    from nlgeval_lib.evaluators import Unavailable

    if isinstance(error, ModuleNotFoundError):
        module = error.name or "nlgeval_lib"
        if not module.startswith("nlgeval_lib"):
            return f"package {module} is not installed; {extra(module)}"
    if isinstance(error, OSError) and error.strerror:
        if error.filename is None:  # the library's own errors name the file themselves
            return error.strerror
        return f"{error.filename}: {error.strerror}"
    mendable = (ValueError, OSError, EngineError, Unavailable, DataError)
    return str(error) if isinstance(error, mendable) else None


def _print_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"note: {message}", file=sys.stderr)


def _prepare_streams() -> None:
    """Give every output somewhere to go, whatever is closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started this
            # it stays open as long as the process runs
            sink = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, sink)
            continue
        strict = stream.errors in ("strict", "surrogateescape")
        if strict and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
        if not isinstance(stream, _Printable):
            setattr(sys, name, _Printable(stream))


class _Printable:
    """A stream on which control characters from data or servers are spelt out; a
    progress bar may return to its line's beginning.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text; how many characters were written."""
        back = "\r" if text.startswith("\r") else ""
        lines = text.removeprefix(back).replace("\r\n", "\n")
        return int(self._stream.write(back + printable(lines, keep="\n\t")))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
