"""Settings as a command line has them: `name=value` texts, typed and checked by the
signature of what they are for.
"""

from __future__ import annotations

import collections.abc
import contextlib
import inspect
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nlgeval_lib.engines import Sampling
from nlgeval_lib.evaluators.base import NotAllowed
from nlgeval_lib.names import meant, pair
from nlgeval_lib.scoring.cells import InputError

# The arguments that the command itself gives.
_OF_COMMAND = ("engine", "store", "progress", "text")
# words that stand for a value, where a setting takes that value
_WORDS = {
    **dict.fromkeys(("yes", "true", "on"), True),
    **dict.fromkeys(("no", "false", "off"), False),
    **dict.fromkeys(("none", "null"), None),
}
# the hints that are read as a list, and as a mapping
_LISTS = (list, tuple, collections.abc.Sequence, collections.abc.Iterable)
_MAPS = (dict, collections.abc.Mapping)
# what a type is called in messages, in the order of the words
_IN_WORDS = {
    bool: "yes or no",
    int: "a whole number",
    float: "a number",
    str: "a text",
    tuple: "a list",
    dict: "a JSON object",
    type(None): "none",
}
_NEEDED = inspect.Parameter.empty  # the default of an argument that has none
_LONGEST = 10_000_000  # characters of a setting's file
_NO_CHOICE = "\0"  # a text that no setting takes


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, as `parameters` gives it; part_of: the argument that it is a part of
    (`sampling`), "" for one of its own.
    """

    name: str
    takes: tuple[Any, ...]
    default: Any = _NEEDED
    part_of: str = ""

    def in_words(self, texts: Sequence[str] = ()) -> str:
        """What it takes, such as "a number, none". texts: the only ones it may be."""
        kinds = {typing.get_origin(kind) or kind for kind in self.takes}
        words: list[str] = []
        for kind, text in _IN_WORDS.items():
            if kind is str and texts:
                words.extend(texts)
            elif kind in kinds:
                words.append(text)
        return ", ".join(words) or "anything"


def pairs(
    texts: Iterable[str] | None, flag: str, form: str = "name=value"
) -> Iterator[tuple[str, str]]:
    """The two sides of each text of a repeatable option, such as ("n", "1") of "n=1";
    flag, form: for the message.
    """
    for text in texts or ():
        try:
            yield pair(text, form)
        except ValueError as error:
            raise InputError(f"{flag} {error}") from None


def text_or_file(value: str) -> str:
    """The value itself, or for `@path` the text of that file without its last line
    feed; `@@...` begins with one @.
    """
    if value.startswith("@@"):
        return value[1:]
    if not value.startswith("@"):
        return value
    try:
        with open(value[1:], encoding="utf-8-sig") as file:
            text = file.read(_LONGEST + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {value[1:]}: {error}") from None
    if len(text) > _LONGEST:
        raise InputError(f"{value[1:]} has more than {_LONGEST:,} characters")
    return text.removesuffix("\n")


def settings_of(target: Any) -> dict[str, Setting]:
    """The settings of a class or function that can be written as text, by name. Those
    of `sampling` have their plain names (or `sampling.n` beside an own `n`), those of
    another stage are `list_sampling.n`.
    """
    settings: dict[str, Setting] = {}
    samplings: list[str] = []
    for name, default, takes in parameters(target):
        if name == "sampling" or name.endswith("_sampling"):
            samplings.append(name)
        elif name not in _OF_COMMAND and set(takes) - {type(None)}:
            settings.setdefault(name, Setting(name, takes, default))
    for sampling in samplings:
        for name, default, takes in parameters(Sampling):
            is_plain = sampling == "sampling" and name not in settings
            key = name if is_plain else f"{sampling}.{name}"
            settings[key] = Setting(name, takes, default, sampling)
    return settings


def parsed(
    target: Any,
    settings: Iterable[str],
    subject: str,
    flag: str = "--set",
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Keyword arguments for `target` from `name=value` texts; `@file` reads a value.

    subject, flag: what the settings are of, and their option, for the messages. An
    engine's ("--engine-set") that its signature does not name is read by its look.
    given: arguments that are there already; unless None, every needed one must be.
    Returns: given and read arguments; the settings of a sampling are one mapping.
    """
    by_name = settings_of(target)
    arguments = dict[str, Any]()
    passes_on = flag == "--engine-set" and _takes_any_keyword(target)
    for name, value in pairs(settings, flag):
        setting = by_name.get(name)
        if setting is None:
            if not passes_on:
                raise InputError(_unknown(name, by_name, subject, flag))
            setting = Setting(name, (Any,))
        holder = arguments
        if setting.part_of:  # such as `sampling`, which is one mapping
            holder = arguments.setdefault(setting.part_of, {})
        try:
            read = _read(text_or_file(value), setting.takes)
        except TypeError:
            problem = f"{name}={value[:60]}: {setting.in_words()} is needed"
            raise InputError(f"{flag} {problem}") from None
        if given and name in given and not setting.part_of:
            both = f"{name} and --{name.replace('_', '-')}"
            raise InputError(f"{flag} {both} say the same; give one of them")
        if setting.name in holder:
            raise InputError(f"{flag} {name} is given twice")
        holder[setting.name] = read
    if given is None:
        return arguments
    arguments = {**given, **arguments}
    needed = [name for name in by_name if by_name[name].default is _NEEDED]
    missing = [f"{flag} {name}=..." for name in needed if name not in arguments]
    if missing:
        raise InputError(f"{subject} needs {', '.join(missing)}")
    return arguments


def _unknown(name: str, by_name: Iterable[str], subject: str, flag: str) -> str:
    names = ", ".join(key for key in by_name if "." not in key) or "none"
    return (
        f"{flag} {name}: {subject} has no option {name!r}{meant(name, by_name, '.')} "
        f"Options: {names}"
    )


def described(target: Any) -> list[tuple[str, str, str]]:
    """Every setting as (name, what it takes, default) in words."""
    rows = []
    by_name = settings_of(target)
    sampling_defaults = getattr(target, "defaults", {})
    stages: dict[str, None] = {}
    allowed = _allowed_texts(target, by_name)
    for name, setting in by_name.items():
        if setting.part_of not in ("", "sampling"):
            stages[setting.part_of] = None
            continue
        default = setting.default
        if setting.part_of:
            default = sampling_defaults.get(setting.name, default)
        text = "needed" if setting.default is _NEEDED else repr(default)
        rows.append((name, setting.in_words(allowed.get(name, ())), text))
    for stage in stages:
        words = "the sampling settings of another stage"
        rows.append((f"{stage}.NAME", words, "its own"))
    return rows


def _allowed_texts(target: Any, by_name: Mapping[str, Setting]) -> dict[str, list[str]]:
    """The texts that a setting with a fixed choice may be: name -> texts."""
    needed = [name for name in by_name if by_name[name].default is _NEEDED]
    allowed = {}
    for name, setting in by_name.items():
        if str not in setting.takes or setting.part_of:
            continue
        # the refusal lists the choice: this list and the check cannot differ
        try:
            target(**dict.fromkeys([*needed, name], _NO_CHOICE))
        except NotAllowed as refusal:
            if refusal.setting == name:
                allowed[name] = refusal.texts
        except Exception:  # it needs more than this to be made: its texts are free
            continue
    return allowed


def parameters(target: Any) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Each argument of a function, or of a class and the bases that get its keywords:
    name, default (`inspect.Parameter.empty` for none), what it takes.

    What it takes are types that can be written as text: `tuple[item, ...]` for a list,
    `dict[str, Any]` for a mapping; none where no text can be it.
    """
    functions = [target]
    if isinstance(target, type):
        # the `__init__` of the class and its bases, the class itself first
        members = [vars(cls) for cls in target.__mro__]
        functions = [names["__init__"] for names in members if "__init__" in names]
    for function in functions:
        if not inspect.isfunction(function):
            return
        hints = typing.get_type_hints(function)
        arguments = list(inspect.signature(function).parameters.values())
        if isinstance(target, type):
            del arguments[0]  # self
        for argument in arguments:
            if argument.kind not in (argument.VAR_KEYWORD, argument.VAR_POSITIONAL):
                takes = dict.fromkeys(_takes(hints.get(argument.name, Any)))
                yield argument.name, argument.default, tuple(takes)
        # Only where keywords are passed on are those of the next base settings too.
        if not _takes_any_keyword(function):
            return


def _takes_any_keyword(function: Any) -> bool:
    arguments = inspect.signature(function).parameters.values()
    return any(argument.kind is argument.VAR_KEYWORD for argument in arguments)


def _takes(hint: Any) -> Iterator[Any]:
    """The types of a hint, or of a union's members, that can be written as text."""
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
    """The text as one of the types: a word, JSON, itself, or its parts at commas."""
    from pydantic import TypeAdapter, ValidationError

    word = text.strip().lower()
    if word in _WORDS and (Any in takes or type(_WORDS[word]) in takes):
        return _WORDS[word]
    union: Any = typing.Union  # subscripted by types known only here
    adapter: TypeAdapter[Any] = TypeAdapter(union[takes])
    with contextlib.suppress(ValidationError):
        value = adapter.validate_json(text, strict=True)
        if not isinstance(value, str):
            return value
    # as one text, or as a list: of numbers parted at commas, of one text as it is
    forms: list[Any] = [text, (text,)]
    if tuple[int, ...] in takes or tuple[float, ...] in takes:
        forms = [text, tuple(text.split(","))]
    for form in forms:
        with contextlib.suppress(ValidationError):
            return adapter.validate_python(form)
    raise TypeError(f"{text[:60]!r} is none of {takes}")
