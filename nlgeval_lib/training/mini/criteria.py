"""What is scored: the kinds of error with their penalties, and the criteria, each lowered by a fixed set of kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

LOW, HIGH = 1, 5


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of error: its penalty, its severity, and its aspect among TIGERScore's for data-to-text (Table 10)."""

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
    """A criterion with the kinds of error that lower it, its parent among the aspects, and a rubric's sentences."""

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
        """5 without an error of its kinds, down to 1: 5 minus their penalties, 1 at least."""
        return max(LOW, HIGH - sum(KINDS[kind].penalty for kind in kinds if kind in self.kinds))


def _rubric(what: str) -> tuple[str, ...]:
    return (
        f"The text is of no use as to {what}.",
        f"The text has one grave fault of {what}.",
        f"The text has one plain fault of {what}, or two slight ones.",
        f"The text has one slight fault of {what}.",
        f"The text has no fault of {what}.",
    )


OVERALL = Criterion(
    "Overall Quality", "How is the overall quality of the sentence?", tuple(KINDS), rubric=_rubric("any kind")
)
ASPECTS: Mapping[str, Criterion] = MappingProxyType(
    {
        "accuracy": Criterion(
            "Accuracy",
            "Are the values and sums in the text right?",
            ("wrong_value", "arithmetic", "off_topic"),
            rubric=_rubric("accuracy"),
        ),
        "completeness": Criterion(
            "Completeness",
            "Does the text say all that the record says?",
            ("omission", "off_topic"),
            rubric=_rubric("completeness"),
        ),
        "relevance": Criterion(
            "Relevance",
            "Does the text keep to the record?",
            ("invention", "off_topic"),
            rubric=_rubric("relevance"),
        ),
        "fluency": Criterion(
            "Fluency",
            "Does the text read well?",
            ("repetition", "grammar"),
            rubric=_rubric("fluency"),
        ),
    }
)
FINER: Mapping[str, Criterion] = MappingProxyType(
    {
        "values": Criterion("Values", "Is each value the one of the record?", ("wrong_value", "off_topic"), "accuracy"),
        "sums": Criterion("Sums", "Is each sum added up right?", ("arithmetic",), "accuracy"),
        "coverage": Criterion("Coverage", "Is each attribute mentioned?", ("omission", "off_topic"), "completeness"),
        "support": Criterion("Support", "Does the record have each thing that is said?", ("invention",), "relevance"),
        "topic": Criterion("Topic", "Is the text about this record at all?", ("off_topic",), "relevance"),
        "novelty": Criterion("Novelty", "Is each thing said once only?", ("repetition",), "fluency"),
        "grammar": Criterion("Grammar", "Does each verb agree with its subject?", ("grammar",), "fluency"),
    }
)
CRITERIA: Mapping[str, Criterion] = MappingProxyType({"overall": OVERALL, **ASPECTS, **FINER})
RATED: tuple[str, ...] = ("overall", *ASPECTS)  # what the held-out set has gold for


def relevant(target: str) -> tuple[Criterion, ...]:
    """The other criteria for a target, those that share the most kinds of error with it first."""
    own = CRITERIA[target]
    others = [criterion for key, criterion in CRITERIA.items() if key not in (target, "overall")]
    return tuple(sorted(others, key=lambda other: -_shared(own, other)))


def _shared(one: Criterion, other: Criterion) -> float:
    return len(set(one.kinds) & set(other.kinds)) / len(set(one.kinds) | set(other.kinds))
