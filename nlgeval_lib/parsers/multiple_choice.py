"""The option that a judge chose: a letter or a name out of a given few."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nlgeval_lib.parsers import silence
from nlgeval_lib.parsers.base import Parsed, check_text
from nlgeval_lib.parsers.loose_json import Record, objects
from nlgeval_lib.parsers.text import readable, without_markup, without_tex
from nlgeval_lib.records import Status


@dataclass(frozen=True, slots=True)
class Pick(Parsed):
    """A chosen option: `value` is what the option counts (NaN where missing), or the option itself (then None)."""

    choice: str = ""


_KEYS = ("answer", "choice", "option", "verdict", "result", "selection", "final_answer", "score", "rating", "grade")
_TAKEN_BACK = re.compile(
    r"\b(?:not|n't|neither|nor|rather than|instead of|unlike|if|would have|could have)\b[^.!?\n]{0,30}\Z", re.I
)


def multiple_choice(text: str | None, choices: Sequence[str] | Mapping[str, float]) -> Pick:
    """Which of the options a text chooses.

    An option counts in brackets ([[B]]), in JSON, after a label ("Answer: B"), in a phrase ("I choose option B"), or
    alone as the whole text, its first word before a mark, or its last line. In prose it counts only as it is written.
    Options that are merely repeated from the prompt do not count, two different choices make it missing.

    choices: the options' names, each a letter or some words; or names with the number that each counts.
    Returns: `Pick`; `value` is the number of the option, or with plain names the option.
    Raises: ValueError for fewer than two options, blank or equal ones; TypeError where `text` is neither str nor None
    or `choices` is a string.
    Source: Shen et al. 2023, Large Language Models are Not Yet Human-Level Evaluators (forms mcq, altmcq).
    """
    names = _checked(choices)
    none = math.nan if isinstance(choices, Mapping) else None
    content = check_text(text, "multiple_choice")
    if content is None:
        return Pick(none, Status.EMPTY, "no text", "empty")
    body = without_markup(without_tex(readable(content)))
    for rule, found in _found(body, names):
        if len(found) > 1:
            return Pick(none, Status.UNPARSED, f"different choices: {', '.join(sorted(found))}", rule)
        if found:
            choice = found.pop()
            return Pick(choices[choice] if isinstance(choices, Mapping) else choice, Status.OK, "", rule, choice)
    status, reason = silence.why(body.lower()) or (Status.UNPARSED, f"none of {', '.join(names)} is chosen")
    return Pick(none, status, reason, "none")


def _checked(choices: Sequence[str] | Mapping[str, float]) -> tuple[str, ...]:
    if isinstance(choices, str):
        raise TypeError(
            f"choices must be a sequence or a mapping, got the string {choices[:60]!r}; use tuple({choices[:60]!r})"
        )
    names = tuple(choices)
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"a choice must be a name such as 'A', got {name!r}")
    if len(names) < 2 or len({name.strip().casefold() for name in names}) < len(names):
        raise ValueError(f"choices must be two or more different names, got {list(names)!r}")
    if isinstance(choices, Mapping):
        for name, value in choices.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                raise ValueError(f"the number of choice {name!r} must be finite, got {value!r}")
    return names


@functools.lru_cache(maxsize=64)
def _patterns(names: tuple[str, ...]) -> dict[str, re.Pattern]:
    any_name = "|".join(re.escape(name.strip()) for name in sorted(names, key=len, reverse=True))
    one = rf"[\s\"'(\[<]{{0,5}}(?P<name>{any_name})(?![\w'])"
    option = r"(?:option|choice|answer|letter|category|level)"
    return {
        "tag": re.compile(rf"\[\[{one}\s{{0,5}}\]\]|\\boxed\s*\{{\s*(?P<boxed>{any_name})\s*\}}", re.I),
        "label": re.compile(
            rf"\b(?:answer|choice|option|verdict|selection|result|score|rating|grade)\b(?:\s+is)?\s{{0,5}}(?::|=|->|-)\s{{0,5}}{one}"
            r"(?![ \t]+(?:or|and)\b)",
            re.I,
        ),
        "phrase": re.compile(
            rf"\b(?i:(?:(?:final|correct|best|my)\s+)?{option}(?:\s+(?:would\s+be|is|should\s+be))?|choose|pick|select|go\s+with|"
            rf"(?:choose|pick|select)\s+{option})\s+(?:(?i:{option})\s+)?{one}(?=\s*(?:[^\w\s]|\Z|\n|(?:because|since|as|is|for|with|,)\b))"
        ),
        "alone": re.compile(rf"\W*(?:(?i:{option})\s+)?(?P<name>(?i:{any_name}))\W*"),
        "first": re.compile(rf"\W*(?P<name>{any_name})\s{{0,3}}(?:[.:,;)\]\n-]|\Z)"),
        "item": re.compile(rf"^\W*(?P<name>{any_name})\s{{0,3}}[.:)]", re.M),
    }


def _found(body: str, names: tuple[str, ...]):
    """(rule, options) in the order in which rules count."""
    proper = {name.strip().casefold(): name for name in names}
    patterns = _patterns(names)

    def options(pattern: re.Pattern) -> set[str]:
        found = set()
        for match in pattern.finditer(body):
            if not _TAKEN_BACK.search(body, max(0, match.start() - 60), match.start()):
                groups = match.groupdict()
                found.add(proper[(groups.get("name") or groups.get("boxed")).casefold()])
        return found

    if "{" in body:
        yield "json", _from_json(body, proper)
    yield "tag", options(patterns["tag"])
    whole = patterns["alone"].fullmatch(body.strip()[:200]) if len(body.strip()) <= 200 else None
    yield "alone", {proper[whole["name"].casefold()]} if whole else set()
    yield "label", options(patterns["label"])
    yield "phrase", options(patterns["phrase"])
    listed = {match["name"] for match in patterns["item"].finditer(body)}
    first = patterns["first"].match(body)
    yield "first", {proper[first["name"].casefold()]} if first and len(listed) < 2 else set()
    lines = [line for line in body.split("\n") if line.strip()]
    last = patterns["alone"].fullmatch(lines[-1][:200]) if lines and len(lines[-1]) <= 200 else None
    yield "last", {proper[last["name"].casefold()]} if last else set()


def _from_json(body: str, proper: Mapping[str, str]) -> set[str]:
    found = set()
    for item, _, _ in objects(body):
        if isinstance(item, Record):
            for key, value in item.items():
                if str(key).lower() in _KEYS and isinstance(value, str) and value.strip().casefold() in proper:
                    found.add(proper[value.strip().casefold()])
    return found
