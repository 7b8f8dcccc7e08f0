"""Settings from the command line: `name=value` texts, typed and checked by the signature of what they are for."""

from __future__ import annotations

import collections.abc
import inspect
import json
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nlgeval_lib.names import meant
from nlgeval_lib.scoring.columns import text_or_file
from nlgeval_lib.scoring.table import InputError

HELD = ("engine", "store", "progress", "text")  # what the command itself gives
_TRUE, _FALSE = ("yes", "true", "on"), ("no", "false", "off")
_LISTS = (list, tuple, collections.abc.Sequence, collections.abc.Iterable)
_MAPS = (dict, collections.abc.Mapping)
_SIMPLE = {bool: "yes or no", int: "a whole number", float: "a number", str: "a text"}


class _Unreadable(ValueError):
    """A value that has none of the types that an option takes."""


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
        said = [_SIMPLE[kind] for kind in self.takes if kind in _SIMPLE]
        said += ["a list" for kind in self.takes if _origin(kind) in _LISTS][:1]
        said += ["a JSON object" for kind in self.takes if _origin(kind) in _MAPS][:1]
        said += ["none" for kind in self.takes if kind is type(None)]
        return ", ".join(said) or "anything"


def of(target: Any) -> dict[str, Option]:
    """The settings of a class or function that can be written as text, its bases' included where it passes them on.

    Arguments that are sampling settings give one option a setting: `temperature` for `sampling`, or `sampling.n` and
    `list_sampling.n` where the plain name is taken.
    """
    own: dict[str, Option] = {}
    samplings: list[str] = []
    for name, parameter, hint in _parameters(target):
        if name in HELD or name in own:
            continue
        if name == "sampling" or name.endswith("_sampling"):
            samplings.append(name)
            continue
        takes = tuple(
            kind for kind in _members(hint) if kind is Any or kind in (*_SIMPLE, type(None)) or _container(kind)
        )
        if any(kind is not type(None) for kind in takes):
            own[name] = Option(name, takes, parameter.default)
    found = dict(own)
    for holder in samplings:
        for setting, option in _sampling_options(holder).items():
            found[f"{holder}.{setting}"] = option
            if holder == "sampling" and setting not in own:
                found[setting] = option
    return found


def open_ended(target: Any) -> bool:
    """Whether the target takes settings that its signature does not name."""
    function = target.__init__ if isinstance(target, type) else target
    return any(p.kind is inspect.Parameter.VAR_KEYWORD for p in inspect.signature(function).parameters.values())


def parse(
    target: Any, settings: Iterable[str], who: str, flag: str = "--set", passes_on: bool = False
) -> dict[str, Any]:
    """Keyword arguments for `target` from `name=value` texts.

    passes_on: unknown names are passed too, as numbers, yes/no or text by their look. `@file` reads a text from a file.
    Raises: InputError naming the setting, what it takes, and for an unknown one the nearest.
    """
    known = of(target)
    found: dict[str, Any] = {}
    for text in settings:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise InputError(f"{flag} {name[:60]!r}; the form is name=value")
        option = known.get(name)
        if option is None and not passes_on:
            raise InputError(f"{flag} {name}: {who} has no option {name!r}{_nearest(name, known)}")
        taken = option.takes if option else (Any,)
        try:
            given = _read(text_or_file(value), taken)
        except _Unreadable:
            raise InputError(f"{flag} {name}={value[:60]}: {option.words if option else ''} is needed") from None
        holder = found.setdefault(option.part_of, {}) if option and option.part_of else found
        short = name.rpartition(".")[2] if option and option.part_of else name
        if short in holder:
            raise InputError(f"{flag} {name} is given twice")
        holder[short] = given
    return found


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


def _parameters(target: Any) -> Iterable[tuple[str, inspect.Parameter, Any]]:
    """Name, parameter and evaluated type of each argument, of the class and of the bases that get its keywords."""
    classes = [cls for cls in target.__mro__ if "__init__" in vars(cls)] if isinstance(target, type) else [None]
    for cls in classes:
        function = target if cls is None else cls.__init__
        if not inspect.isfunction(function):
            return
        passes = False
        for number, (name, parameter) in enumerate(inspect.signature(function).parameters.items()):
            if number == 0 and cls is not None:
                continue
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                passes = True
            elif parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
                yield name, parameter, _hint(parameter, function)
        if not passes:
            return


def _hint(parameter: inspect.Parameter, function: Any) -> Any:
    """The argument's type; Any where it cannot be had, as for a type that is only imported for type checkers."""
    hint = parameter.annotation
    if hint is inspect.Parameter.empty:
        return Any
    if not isinstance(hint, str):
        return hint
    parts = []
    for part in _split(hint):
        try:
            parts.append(eval(part, vars(typing) | function.__globals__))
        except NameError:
            continue
    return typing.Union[tuple(parts)] if parts else None  # noqa: UP007 - built from parts


def _split(hint: str) -> list[str]:
    """The members of a union as it is written: "bool | Mapping[str, int | None]" has two."""
    parts, depth = [""], 0
    for sign in hint:
        depth += (sign in "[(") - (sign in "])")
        if sign == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def _members(hint: Any) -> tuple[Any, ...]:
    if _origin(hint) in (typing.Union, types.UnionType):
        return tuple(member for each in typing.get_args(hint) for member in _members(each))
    return (type(None),) if hint is None else (hint,)


def _origin(hint: Any) -> Any:
    return typing.get_origin(hint) or hint


def _container(hint: Any) -> bool:
    origin = _origin(hint)
    return origin in _LISTS or origin in _MAPS


def _sampling_options(holder: str) -> dict[str, Option]:
    from nlgeval_lib.engines import Sampling

    fields = _parameters(Sampling)
    made = {}
    for name, parameter, hint in fields:
        takes = tuple(kind for kind in _members(hint) if kind in (*_SIMPLE, type(None)) or _container(kind))
        made[name] = Option(name, takes, parameter.default, holder)
    return made


# -- values ------------------------------------------------------------------------------------------------------------


def _read(text: str, takes: tuple[Any, ...]) -> Any:
    """The text as the first of the types that it fits. Raises: _Unreadable."""
    word = text.strip().lower()
    if Any in takes:
        return _guess(text)
    if type(None) in takes and word in ("none", "null"):
        return None
    if bool in takes and word in (*_TRUE, *_FALSE):
        return word in _TRUE
    for kind in (int, float):
        if kind in takes:
            try:
                return kind(word)
            except ValueError:
                pass
    containers = [kind for kind in takes if _container(kind)]
    if containers and word[:1] in ("[", "{"):
        found = _json(text)
        if isinstance(found, dict) and any(_origin(kind) in _MAPS for kind in containers):
            return found
        if isinstance(found, list) and any(_origin(kind) in _LISTS for kind in containers):
            return _as_list(found, containers)
    if str in takes:
        return text
    lists = [kind for kind in containers if _origin(kind) in _LISTS]
    if lists:
        return _as_list(text.split(",") if _item(lists[0]) in (int, float) else [text], lists)
    raise _Unreadable


def _as_list(values: list[Any], kinds: list[Any]) -> tuple[Any, ...]:
    item = _item(next(kind for kind in kinds if _origin(kind) in _LISTS))
    try:
        return tuple(item(value) for value in values) if item in (int, float) else tuple(values)
    except (TypeError, ValueError):
        raise _Unreadable from None


def _item(kind: Any) -> Any:
    arguments = [each for each in typing.get_args(kind) if each is not Ellipsis]
    return arguments[0] if arguments else Any


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _guess(text: str) -> Any:
    """A value by its look: yes/no, none, a number, JSON, else the text."""
    word = text.strip().lower()
    if word in (*_TRUE, *_FALSE):
        return word in _TRUE
    if word in ("none", "null"):
        return None
    found = _json(text)
    return text if found is None or isinstance(found, str) else found


def _nearest(name: str, known: Mapping[str, Option]) -> str:
    return f"{meant(name, known, '')} Options: {', '.join(key for key in known if '.' not in key) or 'none'}"
