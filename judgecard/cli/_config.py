"""`--config`: the options of `card` from a file, and a file of the options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from nlgeval_lib.cli._options import option


class CardGroup(TyperGroup):
    """`card`, whose first word may be a file of options in place of a subcommand."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0].endswith(".toml"):
            args = ["--config", *args]
        return super().parse_args(ctx, args)


def _take(context: typer.Context, option: typer.CallbackParam, path: str) -> str:
    """Take what a file says for the options that the command line does not name."""
    # that there is no such file, the command says when it runs
    if Path(path).is_file():
        from judgecard import config_files

        fields = [parameter.name or "" for parameter in context.command.params]
        if option.name == "matrix":
            context.default_map, _ = config_files.read_plan(path, fields)
        else:
            context.default_map = config_files.read(path, fields)
    return path


def check_files(*paths: str) -> None:
    """Raise a ValueError for a file of options that is not there."""
    for path in paths:
        if path and not Path(path).is_file():
            raise ValueError(f"{path}: there is no such file")


Config = Annotated[
    str,
    option(
        "--config",
        is_eager=True,
        callback=_take,
        help="A card.toml with these options; alone it may stand as the first word.",
    ),
]


Matrix = Annotated[
    str,
    option(
        "--matrix",
        is_eager=True,
        callback=_take,
        metavar="PLAN",
        help="A TOML file with prompts, models and the other options: each judge asked.",
    ),
]


def said(options: Any) -> dict[str, Any]:
    """The options that are not as they are by default, and where the card lies."""
    chosen = {}
    for field in get_type_hints(type(options)):
        value = getattr(options, field)
        if value and value != getattr(type(options), field, None):
            chosen[field] = value
    return {**chosen, "output": options.output}
