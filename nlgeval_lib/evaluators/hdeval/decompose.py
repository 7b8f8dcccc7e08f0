"""Finer criteria for a criterion, proposed by a language model.

Source: HD-Eval, section 2.1, equation 1; prompt: Figure 10; at most 4 children: appendix C.2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nlgeval_lib import prompts
from nlgeval_lib.evaluators.hdeval.criteria import Criterion, in_sentence
from nlgeval_lib.evaluators.hdeval.scoring import Task
from nlgeval_lib.parsers.criteria import Criterion as Found
from nlgeval_lib.parsers.criteria import criteria
from nlgeval_lib.schema import Completion

TEMPLATE = "hdeval/decompose"
STAND_IN = "\n".join(f"{n}. Finer criterion {n}: how well the text does in part {n}." for n in range(1, 5))


@dataclass(frozen=True)
class Decomposition:
    """What a model proposed for one criterion: (name, definition) of each child, or the reason why there is none."""

    parent: str
    children: tuple[tuple[str, str], ...]
    reason: str = ""
    listed: int = 0  # how many were in the list; those beyond the limit are left out


def prompt(task: Task, criterion: Criterion, count: int) -> str:
    """The decomposition prompt for one criterion, which is named with its definition."""
    definition = re.sub(r"[\s.]+$", "", criterion.definition)
    asked = f"its {in_sentence(criterion.name)}" + (f" ({definition})" if definition else "")
    return prompts.render(TEMPLATE, task=task.task, background=task.background, criteria=asked, count=count)


def read(completion: Completion, parent: Criterion, most: int) -> Decomposition:
    """The children in a completion, at most `most`, each name once and none the parent's. Never raises on any text."""
    if completion.finish_reason == "error" or completion.error:
        return Decomposition(parent.id, (), completion.error or "the engine gave no completion")
    found = criteria(completion.text)
    if not found.ok:
        return Decomposition(parent.id, (), found.reason)
    listed, own = found.value, parent.name.casefold()
    if len(listed) == 1 and listed[0].name.casefold() == own:
        listed = listed[0].children  # the list stands under the criterion's name
    children: dict[str, tuple[str, str]] = {}
    for item in listed:
        if item.name.casefold() != own:
            children.setdefault(item.name.casefold(), (item.name, _definition(item)))
    if not children:
        return Decomposition(parent.id, (), "the list names nothing but the criterion itself")
    return Decomposition(parent.id, tuple(children.values())[:most], listed=len(children))


def _definition(item: Found) -> str:
    """The definition that the list gives, or the names of what stands under the item, or a bare one."""
    below = "; ".join(f"{child.name}: {child.definition}".rstrip(": ") for child in item.children)
    return item.definition or below or f"The {in_sentence(item.name)} of the text."
