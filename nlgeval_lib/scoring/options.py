"""Settings from the command line: `name=value` texts, typed and checked by the signature of what they are for."""

from __future__ import annotations

import builtins
import collections.abc
import inspect
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlgeval_lib import names
from nlgeval_lib.scoring.readers import InputError

HELD = ("engine", "store", "progress", "text")  # what the command itself gives
_WORDS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False, "none": None, "null": None}
_LISTS = (list, tuple, collections.abc.Sequence, collections.abc.Iterable)
_MAPS = (dict, collections.abc.Mapping)
_SAID = {bool: "yes or no", int: "a whole number", float: "a number", str: "a text", tuple: "a list"}
_SAID |= {dict: "a JSON object", type(None): "none"}


@dataclass(frozen=True, slots=True)
class Option:
    """One setting: what it takes (types), its default, and the argument that it is part of (`sampling`, or "")."""

    name: str
    takes: tuple[Any, ...]
    default: Any = inspect.Parameter.empty
    part_of: str = ""

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is inspect.Parameter.empty

    @property
    def words(self) -> str:
        """What it takes, in words."""
        kinds = {typing.get_origin(kind) or kind for kind in self.takes}
        return ", ".join(said for kind, said in _SAID.items() if kind in kinds) or "anything"


def of(target: Any) -> dict[str, Option]:
    """The settings of a class or function that can be written as text, its bases' included where it passes them on.

    Arguments that are sampling settings give one option a setting: `temperature` for `sampling`, or `sampling.n` and
    `list_sampling.n` where the plain name is taken.
    """
    from nlgeval_lib.engines import Sampling

    found: dict[str, Option] = {}
    samplings: list[str] = []
    for name, parameter, takes in parameters(target):
        if name == "sampling" or name.endswith("_sampling"):
            samplings.append(name)
        elif name not in HELD and name not in found and set(takes) - {type(None)}:
            found[name] = Option(name, takes, parameter.default)
    own = {*found}
    for holder in samplings:
        for setting, parameter, takes in parameters(Sampling):
            option = Option(setting, takes, parameter.default, holder)
            found[f"{holder}.{setting}"] = option
            if holder == "sampling" and setting not in own:
                found[setting] = option
    return found


def parse(
    target: Any, settings: Iterable[str], who: str, flag: str = "--set", passes_on: bool = False
) -> dict[str, Any]:
    """Keyword arguments for `target` from `name=value` texts.

    passes_on: unknown names are passed too, as numbers, yes/no or text by their look. `@file` reads a text from a file.
    Raises: InputError naming the setting, what it takes, and for an unknown one the nearest.
    """
    known = of(target)
    found: dict[str, Any] = {}
    for name, value in pairs(settings, flag):
        option = known.get(name)
        if option is None and not passes_on:
            plain = ", ".join(key for key in known if "." not in key) or "none"
            meant = names.meant(name, known, "")
            raise InputError(f"{flag} {name}: {who} has no option {name!r}{meant} Options: {plain}")
        holder = found.setdefault(option.part_of, {}) if option and option.part_of else found
        short = name.rpartition(".")[2] if option and option.part_of else name
        try:
            given = read(text_or_file(value), option.takes if option else (Any,))
        except TypeError:
            raise InputError(f"{flag} {name}={value[:60]}: {option.words if option else ''} is needed") from None
        if short in holder:
            raise InputError(f"{flag} {name} is given twice")
        holder[short] = given
    return found


def pairs(texts: Iterable[str] | None, flag: str, form: str = "name=value") -> Iterator[tuple[str, str]]:
    """The two sides of each text of a repeatable option. Raises: InputError."""
    for text in texts or ():
        try:
            yield names.pair(text, form)
        except ValueError as error:
            raise InputError(f"{flag} {error}") from None


def text_or_file(value: str) -> str:
    """The value itself, or for `@path` the text of that file; `@@...` is a text that begins with one @.

    Raises: InputError for a file that cannot be read.
    """
    if not value.startswith("@"):
        return value
    if value.startswith("@@"):
        return value[1:]
    try:
        return Path(value[1:]).read_text(encoding="utf-8-sig").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {value[1:]}: {error}") from None


def lacking(target: Any, given: Mapping[str, Any], who: str, flag: str = "--set") -> None:
    """Passes where every option without a default is given. Raises: InputError naming those that are not."""
    gone = [name for name, option in of(target).items() if option.required and name not in given]
    if gone:
        raise InputError(f"{who} needs {', '.join(f'{flag} {name}=...' for name in gone)}")


def described(target: Any) -> list[tuple[str, str, str]]:
    """Name, what it takes and default of every option, a line each; of sampling settings each name once."""
    rows = []
    known = of(target)
    defaults = getattr(target, "defaults", {})
    for name, option in known.items():
        short = name.rpartition(".")[2]
        if "." in name and (option.part_of != "sampling" or known[short].part_of != ""):
            continue
        default = defaults.get(short, option.default) if option.part_of == "sampling" else option.default
        rows.append((name, option.words, "needed" if option.required else repr(default)))
    others = dict.fromkeys(option.part_of for option in known.values() if option.part_of not in ("", "sampling"))
    return [*rows, *((f"{holder}.NAME", "the sampling settings of another stage", "its own") for holder in others)]


# -- signatures --------------------------------------------------------------------------------------------------------


class _Names(dict):
    """The names that a function's annotations may use; one that is imported for type checkers alone is `_Unknown`."""

    def __missing__(self, name: str) -> Any:
        return vars(builtins).get(name) or vars(typing).get(name) or _Unknown


class _Unknown:
    """In place of a type that is not there: nothing that can be written as text."""

    def __class_getitem__(cls, item: Any) -> type:
        return cls


def parameters(target: Any) -> Iterator[tuple[str, inspect.Parameter, tuple[Any, ...]]]:
    """Each argument of a function, or of a class and the bases that get its keywords: name, parameter, what it takes.

    Of the types that it takes, those that can be written as text, in their plainest form: bool, int, float, str,
    NoneType, Any, `tuple[item, ...]` for every kind of list, `dict[str, Any]` for every kind of mapping.
    """
    classes = [cls for cls in target.__mro__ if "__init__" in vars(cls)] if isinstance(target, type) else [None]
    for cls in classes:
        function = target if cls is None else vars(cls)["__init__"]
        if not inspect.isfunction(function):
            return
        hints = typing.get_type_hints(function, localns=_Names(function.__globals__))
        known = list(inspect.signature(function).parameters.values())[cls is not None :]
        for parameter in known:
            if parameter.kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL):
                yield parameter.name, parameter, tuple(dict.fromkeys(_takes(hints.get(parameter.name, Any))))
        if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in known):
            return


def open_ended(target: Any) -> bool:
    """Whether the target takes settings that its signature does not name."""
    return any(one.kind is inspect.Parameter.VAR_KEYWORD for one in inspect.signature(target).parameters.values())


def _takes(hint: Any) -> Iterator[Any]:
    origin = typing.get_origin(hint) or hint
    if origin in (typing.Union, types.UnionType):
        for member in typing.get_args(hint):
            yield from _takes(member)
    elif origin in _LISTS:
        item = next(iter(typing.get_args(hint)), Any)
        yield tuple[item if item in (int, float) else Any, ...]  # type: ignore[misc, valid-type]
    elif origin in _MAPS:
        yield dict[str, Any]
    elif hint in (bool, int, float, str, type(None), Any):
        yield hint


# -- values ------------------------------------------------------------------------------------------------------------


def read(text: str, takes: tuple[Any, ...]) -> Any:
    """The text as one of the types: a word for yes, no or none; else JSON; else as it is, or its parts at commas.

    Raises: TypeError where it is none of them.
    """
    from pydantic import TypeAdapter, ValidationError

    word = text.strip().lower()
    if word in _WORDS and (Any in takes or type(_WORDS[word]) in takes):
        return _WORDS[word]
    kind: Any = TypeAdapter(typing.Union[takes])  # type: ignore[arg-type]  # noqa: UP007 - made from parts
    try:
        found = kind.validate_json(text, strict=True)
        if not isinstance(found, str):
            return found
    except ValidationError:
        pass
    numbers = tuple[int, ...] in takes or tuple[float, ...] in takes
    for given in (text, tuple(text.split(",")) if numbers else (text,)):
        try:
            return kind.validate_python(given)
        except ValidationError:
            continue
    raise TypeError(f"{text[:60]!r} is none of {takes}")
