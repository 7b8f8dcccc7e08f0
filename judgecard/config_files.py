"""All that a card takes in one file, `card.toml`: written beside each card, read by
`nlgeval card card.toml`.
"""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlgeval_lib import files
from nlgeval_lib.names import meant
from nlgeval_lib.scoring.cells import InputError
from nlgeval_lib.scoring.provenance import clean

NAME = "card.toml"
_NAMES = {"log": "from"}  # fields whose option has another name
# what says how a run goes, and nothing of the card
_OF_THE_RUN = ("config", "matrix", "dry_run", "quiet", "rate")
_LEFT_OUT = clean("any", "secret")
_HEAD = """\
# nlgeval card card.toml makes this card again, from the folder where it was made;
# an option on the command line counts more. What was asked is stored and not paid twice.
"""


def key_of(field: str) -> str:
    """How the file calls an option."""
    return _NAMES.get(field, field.replace("_", "-"))


def as_text(options_said: Mapping[str, Any]) -> str:
    """The file that says these options, field -> value; keys and passwords among
    settings are left out.
    """
    lines = [_HEAD]
    for field, value in options_said.items():
        if field in _OF_THE_RUN:
            continue
        if isinstance(value, list | tuple):
            texts = list(itertools.filterfalse(_is_secret, value))
            if len(texts) < len(value):
                lines.append(f"# a secret of {key_of(field)} is not written")
            value = texts
        # texts, numbers and lists of them are written in TOML as in JSON
        lines.append(f"{key_of(field)} = {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def _is_secret(text: str) -> bool:
    """Whether a setting is one that is never written."""
    name, _, value = text.partition("=")
    is_variable = name.endswith("_env")
    return bool(value) and not is_variable and clean(value, name) == _LEFT_OUT


def read(path: str, fields: Collection[str]) -> dict[str, Any]:
    """The options that a file says, by their fields. Raises: InputError for what is no
    such file, an unknown option, and a value of a kind that no option has; OSError.
    """
    return _options(path, _toml(path), fields)


def _toml(path: str) -> dict[str, Any]:
    """What a TOML file says. Raises: InputError; OSError."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no TOML: {error}") from None


def _options(
    path: str, options_said: Mapping[str, Any], fields: Collection[str]
) -> dict[str, Any]:
    """The options of a file, by their fields. Raises: InputError."""
    by_key = {key_of(name): name for name in fields if name not in _OF_THE_RUN}
    options = {}
    for key, value in options_said.items():
        if key not in by_key:
            raise InputError(
                f"{path}: no option of card is called {key!r}{meant(key, by_key, '.')}"
            )
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(part, str | int | float) for part in values):
            raise InputError(f"{path}: {key} needs a text, a number or a list of texts")
        options[by_key[key]] = value
    return options


@dataclass(frozen=True)
class Plan:
    """Which judges a plan has: files of prompts, and the options of each model, by
    their fields. budget: money for all; None for no bound.
    """

    prompts: Sequence[str]
    models: Sequence[Mapping[str, Any]]
    budget: float | None


def read_plan(path: str, fields: Collection[str]) -> tuple[dict[str, Any], Plan]:
    """The options that all judges of a plan share, and what makes them differ.

    `prompts` are files, `models` names or tables of options; all other keys are those
    of `card.toml`, and `budget`.

    Raises: InputError for a plan that names no judge, and as `read`; OSError.
    """
    options_said = _toml(path)
    prompts = options_said.pop("prompts", [])
    models = []
    for model in options_said.pop("models", []):
        model_options = model
        if not isinstance(model, dict):
            model_options = {"model": model}
        models.append(_options(path, model_options, fields))
    budget = options_said.pop("budget", None)
    if not isinstance(prompts, list) or not prompts or not models:
        raise InputError(f"{path} needs prompts = [files] and models = [names]")
    if not all("model" in model for model in models):
        raise InputError(f"{path}: a table of models needs model = 'NAME'")
    if budget is not None and not isinstance(budget, int | float):
        raise InputError(f"{path}: budget is a sum of money, such as 2.5")
    return _options(path, options_said, fields), Plan(prompts, models, budget)


def write(folder: str | Path, options_said: Mapping[str, Any]) -> Path:
    """Write the file into the folder of a card. Raises: OSError."""
    path = Path(folder, NAME)
    files.write_text(path, as_text(options_said))
    return path
