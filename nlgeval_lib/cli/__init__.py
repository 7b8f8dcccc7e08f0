"""The command `nlgeval`. Each module of this package adds its subcommands with `register(app)`, by rising `ORDER`.

A module must import fast: what a subcommand needs is imported when it runs.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pkgutil
import re
import signal
import sys

import typer

EPILOG = """
Exit codes: 0 all is well (data that cannot be had is no failure); 1 something failed, and was named;
2 the call or the catalogue is wrong; 130 stopped by Ctrl-C.
"""
app = typer.Typer(
    name="nlgeval",
    help="Reproduce five papers on evaluating generated text, table by table.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    rich_markup_mode=None,
)


@app.callback()
def _root() -> None:
    """Keeps `nlgeval` a group of subcommands, however many there are."""


def _register_all() -> None:
    names = [found.name for found in pkgutil.iter_modules(__path__) if not found.name.startswith("_")]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    for module in sorted(modules, key=lambda module: (module.ORDER, module.__name__)):
        module.register(app)


_register_all()


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


def main() -> None:
    """Run the command line; errors that a user can mend are one message, not a traceback."""
    _streams()
    with contextlib.suppress(ValueError):  # raised outside the main thread
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does
    try:
        app()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
    except ModuleNotFoundError as error:
        if (error.name or "nlgeval_lib").startswith("nlgeval_lib"):
            raise
        print(f"error: package {error.name} is not installed; {_extra(error.name or '')}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        said = error.strerror if error.strerror and error.filename is None else str(error)  # ours name the file
        print(f"error: {said}", file=sys.stderr)
        sys.exit(1)
    except ValueError as error:
        from nlgeval_lib.study.catalogue import CatalogueError

        print(f"error: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, CatalogueError) else 1)
