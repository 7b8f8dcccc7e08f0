"""Settings as a command line has them: `name=value` texts, typed and checked by the
signature of what they are for.
"""

from __future__ import annotations

import collections.abc
import contextlib
import inspect
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlgeval_lib.engines import Sampling
from nlgeval_lib.names import meant, pair
from nlgeval_lib.scoring.cells import InputError

_HELD = (
    "engine",
    "store",
    "progress",
    "text",
)  # arguments that the command itself gives
_WORDS = {
    "yes": True,
    "true": True,
    "on": True,
    "no": False,
    "false": False,
    "off": False,
    "none": None,
    "null": None,
}
_LISTS = (list, tuple, collections.abc.Sequence, collections.abc.Iterable)
_MAPS = (dict, collections.abc.Mapping)
_SAID = {
    bool: "yes or no",
    int: "a whole number",
    float: "a number",
    str: "a text",
    tuple: "a list",
}
_SAID |= {dict: "a JSON object", type(None): "none"}
_MUST = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: what it takes (types), its default, and the argument that it is
    part of (`sampling`, or "").
    """

    name: str
    takes: tuple[Any, ...]
    default: Any = _MUST
    part_of: str = ""

    @property
    def words(self) -> str:
        """What it takes, in words."""
        kinds = {typing.get_origin(kind) or kind for kind in self.takes}
        return (
            ", ".join(said for kind, said in _SAID.items() if kind in kinds)
            or "anything"
        )


def pairs(
    texts: Iterable[str] | None, flag: str, form: str = "name=value"
) -> Iterator[tuple[str, str]]:
    """The two sides of each text of a repeatable option. Raises: InputError."""
    for given in texts or ():
        try:
            yield pair(given, form)
        except ValueError as error:
            raise InputError(f"{flag} {error}") from None


def text_or_file(value: str) -> str:
    """The value itself, or for `@path` the text of that file; `@@...` begins with one
    @.

    Raises: InputError.
    """
    if not value.startswith("@") or value.startswith("@@"):
        return value[value.startswith("@@") :]
    try:
        return Path(value[1:]).read_text(encoding="utf-8-sig").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {value[1:]}: {error}") from None


def settings_of(target: Any) -> dict[str, Setting]:
    """The settings of a class or function that can be written as text, its bases'
    included where it passes them on.

    Those of `sampling` have their plain names, or `sampling.n` where that is taken;
    others `list_sampling.n`.
    """
    found: dict[str, Setting] = {}
    samplings: list[str] = []
    for name, default, takes in parameters(target):
        if name == "sampling" or name.endswith("_sampling"):
            samplings.append(name)
        elif name not in _HELD and set(takes) - {type(None)}:
            found.setdefault(name, Setting(name, takes, default))
    own = {*found}
    for holder in samplings:
        for name, default, takes in parameters(Sampling):
            one = found[f"{holder}.{name}"] = Setting(name, takes, default, holder)
            if holder == "sampling" and name not in own:
                found[name] = one
    return found


def parsed(
    target: Any,
    settings: Iterable[str],
    who: str,
    flag: str = "--set",
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Keyword arguments for `target` from `name=value` texts; `@file` reads a text from
    a file.

    What an engine takes beyond its signature is a number, yes/no or text by its look.
    given: arguments that are there already; with them, every argument that the target
    needs must be there.
    Raises: InputError naming the setting, what it takes, and for an unknown one the
    nearest; or what is needed still.
    """
    known = settings_of(target)
    found = dict[str, Any]()
    parameters = inspect.signature(target).parameters.values()
    passes_on = flag == "--engine-set" and any(
        one.kind is one.VAR_KEYWORD for one in parameters
    )
    for name, value in pairs(settings, flag):
        setting = known.get(name) or (Setting(name, (Any,)) if passes_on else None)
        if setting is None:
            plain = ", ".join(key for key in known if "." not in key) or "none"
            raise InputError(
                f"{flag} {name}: {who} has no option {name!r}{meant(name, known, '')} Options: {plain}"
            )
        holder = found.setdefault(setting.part_of, {}) if setting.part_of else found
        try:
            read = _read(text_or_file(value), setting.takes)
        except TypeError:
            raise InputError(
                f"{flag} {name}={value[:60]}: {setting.words} is needed"
            ) from None
        if name in (given or {}) and not setting.part_of:
            raise InputError(
                f"{flag} {name} and --{name.replace('_', '-')} say the same; give one of them"
            )
        if setting.name in holder:
            raise InputError(f"{flag} {name} is given twice")
        holder[setting.name] = read
    if given is None:
        return found
    found = {**given, **found}
    if gone := [
        name
        for name, one in known.items()
        if one.default is _MUST and name not in found
    ]:
        raise InputError(
            f"{who} needs {', '.join(f'{flag} {name}=...' for name in gone)}"
        )
    return found


def described(target: Any) -> list[tuple[str, str, str]]:
    """Name, what it takes and default of every setting, a line each; of sampling
    settings each name once.
    """
    rows = []
    known = settings_of(target)
    defaults = getattr(target, "defaults", {})
    for name, one in known.items():
        if "." in name and (one.part_of != "sampling" or known[one.name].part_of != ""):
            continue
        default = (
            defaults.get(one.name, one.default)
            if one.part_of == "sampling"
            else one.default
        )
        rows.append(
            (name, one.words, "needed" if one.default is _MUST else repr(default))
        )
    others = dict.fromkeys(
        one.part_of for one in known.values() if one.part_of not in ("", "sampling")
    )
    return [
        *rows,
        *(
            (f"{holder}.NAME", "the sampling settings of another stage", "its own")
            for holder in others
        ),
    ]


def parameters(target: Any) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Each argument of a function, or of a class and the bases that get its keywords:
    name, default, what it takes.

    Types that can be written as text, plainly: `tuple[item, ...]` for a list,
    `dict[str, Any]` for a mapping.
    """
    classes = (
        [cls for cls in target.__mro__ if "__init__" in vars(cls)]
        if isinstance(target, type)
        else [None]
    )
    for cls in classes:
        function = target if cls is None else vars(cls)["__init__"]
        if not inspect.isfunction(function):
            return
        hints = typing.get_type_hints(function)
        known = list(inspect.signature(function).parameters.values())[cls is not None :]
        for one in known:
            if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL):
                yield (
                    one.name,
                    one.default,
                    tuple(dict.fromkeys(_takes(hints.get(one.name, Any)))),
                )
        if not any(one.kind is one.VAR_KEYWORD for one in known):
            return


def _takes(hint: Any) -> Iterator[Any]:
    origin = typing.get_origin(hint) or hint
    if origin in (typing.Union, types.UnionType):
        for member in typing.get_args(hint):
            yield from _takes(member)
    elif origin in _LISTS:
        item = next(iter(typing.get_args(hint)), Any)
        yield types.GenericAlias(tuple, (item if item in (int, float) else Any, ...))
    elif origin in _MAPS:
        yield dict[str, Any]
    elif hint in (bool, int, float, str, type(None), Any):
        yield hint


def _read(text: str, takes: tuple[Any, ...]) -> Any:
    """The text as one of the types: a word for yes, no or none; else JSON; else as it
    is, or its parts at commas.

    Raises: TypeError where it is none of them.
    """
    from pydantic import TypeAdapter, ValidationError

    word = text.strip().lower()
    if word in _WORDS and (Any in takes or type(_WORDS[word]) in takes):
        return _WORDS[word]
    union: Any = typing.Union  # made from parts
    kind: TypeAdapter[Any] = TypeAdapter(union[takes])
    with contextlib.suppress(ValidationError):
        found = kind.validate_json(text, strict=True)
        if not isinstance(found, str):
            return found
    numbers = tuple[int, ...] in takes or tuple[float, ...] in takes
    for given in (text, tuple(text.split(",")) if numbers else (text,)):
        with contextlib.suppress(ValidationError):
            return kind.validate_python(given)
    raise TypeError(f"{text[:60]!r} is none of {takes}")
