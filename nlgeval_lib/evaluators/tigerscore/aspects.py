"""The tasks of TIGERScore and the aspects that an error of each can belong to."""

from __future__ import annotations

from dataclasses import dataclass

from nlgeval_lib import prompts
from nlgeval_lib.names import meant


@dataclass(frozen=True, slots=True)
class Task:
    """A task: its label in the paper's tables, its name in prompts, and its aspects, name -> definition.

    Source: TIGERScore, Table 10.
    """

    label: str
    name: str
    aspects: dict[str, str]

    @property
    def aspects_list(self) -> str:
        """The aspects' names, as a prompt lists them."""
        return ", ".join(self.aspects)

    @property
    def aspects_descriptions(self) -> str:
        """One line an aspect: `name: definition`."""
        return "\n".join(f"{name}: {definition}" for name, definition in self.aspects.items())

    def aspect(self, written: str) -> str:
        """The aspect that a judge wrote, as the paper spells it; empty where it is none of this task.

        Case, blanks and hyphens do not matter.
        """
        return {_plain(name): name for name in self.aspects}.get(_plain(written), "")


def tasks() -> dict[str, Task]:
    """Every task with aspects by its label: Summ, Trans, D2T, LF-QA, MathQA, Instruct."""
    found = prompts.load_definitions("tigerscore_aspects")["tasks"]
    return {
        label: Task(label, entry["name"], {one["name"]: one["definition"] for one in entry["aspects"]})
        for label, entry in found.items()
    }


def find_task(given: str | Task) -> Task:
    """A task by its label or its name in prompts. Raises: ValueError with the labels there are."""
    if isinstance(given, Task):
        return given
    known = tasks()
    for one in known.values():
        if _plain(given) in (_plain(one.label), _plain(one.name)):
            return one
    hint = meant(given, known, ".")
    raise ValueError(f"no aspects for task {given!r}{hint} Tasks with aspects: {', '.join(known)}; or give a Task")


def _plain(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
