"""Criteria that a judge decomposed a task into: names with definitions, nested where the text nests them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nlgeval_lib.parsers.aspects import aspects
from nlgeval_lib.parsers.base import Parsed, check_text
from nlgeval_lib.parsers.outline import Entry, by_lines, entries
from nlgeval_lib.records import Status


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion, its definition (empty where none is given) and the criteria under it."""

    name: str
    definition: str = ""
    children: tuple[Criterion, ...] = ()


@dataclass(frozen=True, slots=True)
class CriteriaList(Parsed):
    """Criteria in the order of the text: `value` is the tuple of those at the top, None without any."""

    def leaves(self) -> tuple[Criterion, ...]:
        """The criteria that have none under them, in order."""
        return tuple(_leaves(self.value or ()))

    @property
    def count(self) -> int:
        """How many criteria there are, at all levels."""
        return sum(1 for _ in _all(self.value or ()))


def criteria(text: str | None) -> CriteriaList:
    """The criteria that a text lists, nested by indentation, numbering (1.2) and headings.

    Takes every form that `aspects` takes; JSON and running text give a flat list. A name that comes again under the
    same parent counts once. A heading that only introduces the whole list is no criterion.
    Raises: TypeError where `text` is neither str nor None.
    Source: HD-Eval, section 3.2 and Figure 10 (hierarchical criteria decomposition).
    """
    content = check_text(text, "criteria")
    if content is None:
        return CriteriaList(None, Status.EMPTY, "no text", "empty")
    flat = aspects(content)
    if flat.rule != "list":
        value = tuple(Criterion(aspect.name, aspect.definition) for aspect in flat.value or ()) or None
        return CriteriaList(value, flat.status, flat.reason, flat.rule)
    roots = entries(by_lines(content))
    while len(roots) == 1 and len(roots[0].children) > 1 and roots[0].level < 0:
        roots = roots[0].children  # "Criteria:" above them all
    return CriteriaList(tuple(_unique(roots)), Status.OK, "", "list")


def _unique(found: Sequence[Entry]) -> Iterator[Criterion]:
    seen = set()
    for entry in found:
        key = entry.name.casefold()
        if key not in seen:
            seen.add(key)
            yield Criterion(entry.name, entry.text, tuple(_unique(entry.children)))


def _leaves(found: Sequence[Criterion]) -> Iterator[Criterion]:
    for criterion in found:
        if criterion.children:
            yield from _leaves(criterion.children)
        else:
            yield criterion


def _all(found: Sequence[Criterion]) -> Iterator[Criterion]:
    for criterion in found:
        yield criterion
        yield from _all(criterion.children)
