"""What is scored: the kinds of error with their penalties, and the criteria, each
lowered by a fixed set of kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from nlgeval_lib.training import mini
from nlgeval_lib.training.mini import HIGH, LOW


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of error: its penalty, its severity, and its aspect among TIGERScore's
    for data-to-text (Table 10).
    """

    name: str
    penalty: int
    severity: str
    aspect: str


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Kind("wrong_value", 3, "Major", "Accuracy"),
            Kind("arithmetic", 3, "Major", "Accuracy"),
            Kind("invention", 2, "Major", "Accuracy"),
            Kind("omission", 2, "Major", "Accuracy"),
            Kind("repetition", 1, "Minor", "Logical Coherence"),
            Kind("grammar", 1, "Minor", "Fluency"),
            Kind("off_topic", 5, "Major", "Accuracy"),
        )
    }
)


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion with the kinds of error that lower it, its parent among the
    aspects, and a rubric's sentences.
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
        """
        penalty = sum(KINDS[kind].penalty for kind in kinds if kind in self.kinds)
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
ASPECTS = {
    key: Criterion(name, text, _LOWERED[key], rubric=_rubric(name.lower()))
    for key, (name, text) in mini.ASPECTS.items()
}
FINER = {
    key: Criterion(name, text, _LOWERED[key], of)
    for key, (of, name, text) in mini.FINER.items()
}
CRITERIA: Mapping[str, Criterion] = MappingProxyType(
    {"overall": OVERALL, **ASPECTS, **FINER}
)


def relevant(target: str) -> tuple[Criterion, ...]:
    """The other criteria for a target, those that share the most kinds of error with
    it first.
    """
    kinds = {*CRITERIA[target].kinds}
    candidates = dict(CRITERIA)
    del candidates["overall"]
    candidates.pop(target, None)

    def unlike(criterion: Criterion) -> float:
        shared = kinds & {*criterion.kinds}
        return -len(shared) / len(kinds | {*criterion.kinds})

    return tuple(sorted(candidates.values(), key=unlike))
