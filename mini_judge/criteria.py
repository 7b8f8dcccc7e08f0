"""What is scored: the kinds of error with their penalties, and the criteria, each
lowered by a fixed set of kinds.

A score follows from the errors that were put in: 5 minus the penalties of those that a
criterion minds, 1 at least. So the gold of every question is known by construction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from reproduction.training import mini
from reproduction.training.mini import HIGH, LOW


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of error.

    penalty: by how much it lowers a score, 1 to 5.
    severity: Major or Minor.
    aspect: its aspect among TIGERScore's for data-to-text (Table 10).
    """

    name: str
    penalty: int
    severity: str
    aspect: str


_KINDS = (
    Kind("wrong_value", 3, "Major", "Accuracy"),
    Kind("arithmetic", 3, "Major", "Accuracy"),
    Kind("invention", 2, "Major", "Accuracy"),
    Kind("omission", 2, "Major", "Accuracy"),
    Kind("repetition", 1, "Minor", "Logical Coherence"),
    Kind("grammar", 1, "Minor", "Fluency"),
    Kind("off_topic", 5, "Major", "Accuracy"),
)
KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in _KINDS})


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion of a text's quality.

    name: as prompts have it.
    definition: a sentence.
    kinds: the kinds of error that lower it.
    parent: the key of the aspect that it is a finer criterion of; empty for an aspect.
    rubric: of a rated aspect, a sentence for each score from 1 to 5.
    """

    name: str
    definition: str
    kinds: tuple[str, ...]
    parent: str = ""
    rubric: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """`Name: definition`."""
        return f"{self.name}: {self.definition}"

    def score(self, kinds: Iterable[str]) -> int:
        """5 without an error of its kinds, down to 1: 5 minus their penalties, 1 at
        least.

        kinds: of a text's errors, one an error.
        Example:
        >>> CRITERIA["accuracy"].score(["wrong_value", "grammar"])
        2
        """
        penalty = 0
        for kind in kinds:
            if kind in self.kinds:
                penalty += KINDS[kind].penalty
        return max(LOW, HIGH - penalty)


# key -> the kinds of error that lower it; names and definitions are the library's, as
# evaluators are set with them
_LOWERED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "overall": tuple(KINDS),
        "accuracy": ("wrong_value", "arithmetic", "off_topic"),
        "completeness": ("omission", "off_topic"),
        "relevance": ("invention", "off_topic"),
        "fluency": ("repetition", "grammar"),
        "values": ("wrong_value", "off_topic"),
        "sums": ("arithmetic",),
        "coverage": ("omission", "off_topic"),
        "support": ("invention",),
        "topic": ("off_topic",),
        "novelty": ("repetition",),
        "grammar": ("grammar",),
    }
)


def _rubric(fault: str) -> tuple[str, ...]:
    """The sentences of a rubric for the scores 1 to 5; `fault`: what it looks at."""
    return (
        f"The text is of no use as to {fault}.",
        f"The text has one grave fault of {fault}.",
        f"The text has one plain fault of {fault}, or two slight ones.",
        f"The text has one slight fault of {fault}.",
        f"The text has no fault of {fault}.",
    )


OVERALL = Criterion(
    "Overall Quality",
    "How is the overall quality of the sentence?",
    _LOWERED["overall"],
    rubric=_rubric("any kind"),
)


def _aspects() -> dict[str, Criterion]:
    """The rated aspects beside the overall quality, by their keys."""
    aspects = {}
    for key, (name, definition) in mini.ASPECTS.items():
        rubric = _rubric(name.lower())
        aspects[key] = Criterion(name, definition, _LOWERED[key], rubric=rubric)
    return aspects


def _finer() -> dict[str, Criterion]:
    """The criteria that the aspects are decomposed into, by their keys."""
    criteria = {}
    for key, (parent, name, definition) in mini.FINER.items():
        criteria[key] = Criterion(name, definition, _LOWERED[key], parent)
    return criteria


# the finer criteria, and all criteria, by their keys
FINER = _finer()
CRITERIA: Mapping[str, Criterion] = MappingProxyType(
    {"overall": OVERALL, **_aspects(), **FINER}
)


def relevant(target: str) -> tuple[Criterion, ...]:
    """The other criteria for a target, those that share the most kinds of error with it
    first; the overall quality is none of them.
    """
    kinds_of_target = {*CRITERIA[target].kinds}
    candidates = dict(CRITERIA)
    del candidates["overall"]
    candidates.pop(target, None)

    def unlike(criterion: Criterion) -> float:
        """Minus the share of common kinds among all kinds of both (Jaccard's index)."""
        kinds = {*criterion.kinds}
        shared = kinds & kinds_of_target
        return -len(shared) / len(kinds | kinds_of_target)

    return tuple(sorted(candidates.values(), key=unlike))
