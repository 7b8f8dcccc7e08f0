"""What a card cannot tell: a sentence for each thing that it leaves open."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from judgecard.written import at
from nlgeval_lib import datasets

_FEW_SYSTEMS = 10
_MEASURED = {
    "beside": "place among other judges",
    "closeness": "closeness to the ratings",
    "length": "comparison with output length",
    "raters": "comparison with single raters",
    "repeats": "agreement with itself (--repeat)",
    "worth": "worth in human labels",
}


def lines(name: str, numbers: Mapping[str, Any]) -> Iterator[str]:
    """The sentences about one set."""
    systems = numbers["systems"]
    sample = f"{systems} systems and {numbers['inputs']:,} inputs"
    if numbers["kind"] == "pairs":
        sample = f"{numbers['pairs']:,} pairs"
    elif systems < 2:
        sample = f"{numbers['outputs']:,} outputs"
    yield (
        f"{name}: {sample} were seen; other kinds of text, other languages and better "
        "systems may come out otherwise."
    )
    if datasets.has(name):
        yield (
            f"{name}: right is what the people say in {datasets.spec(name).source}, "
            "and they may be wrong. The set is public: the model may have seen it."
        )
    if numbers.get("drawn"):
        yield f"{name}: {numbers['drawn']}."
    facts = numbers["facts"]
    if facts.get("temperature") and facts.get("draws") == 1:
        yield (
            f"{name}: the judge was asked once at temperature "
            f"{facts['temperature']:g}. Its own spread is unknown: another run may "
            "give other numbers, and --repeat 3 says how far they lie apart."
        )
    if numbers["kind"] == "pairs":
        return
    if systems < 2 or _has_rows_only(numbers["aspects"]):
        yield (
            f"{name}: without several systems and named inputs, or with one output of "
            "each input, nothing is said about ranking systems, and rows are taken as "
            "independent."
        )
    elif systems < _FEW_SYSTEMS:
        yield f"{name}: with {systems} systems, an interval for other systems is wide."
    if not any(at(of, "dataset.kendall.raters") for of in numbers["aspects"].values()):
        yield (
            f"{name}: raters are taken as they are: intervals hold for the mean rating "
            "of these raters, and other raters may order outputs otherwise."
        )
    yield from _not_measured(name, numbers["aspects"])
    if not numbers.get("probes"):
        yield (
            f"{name}: nothing was asked about changed outputs (--probes), such as "
            "whether an instruction planted in an output raises its score."
        )


def _has_rows_only(aspects: Mapping[str, Any]) -> bool:
    """Whether no aspect has a coefficient within inputs."""
    return not any("input" in measured for measured in aspects.values())


def _not_measured(name: str, aspects: Mapping[str, Any]) -> Iterator[str]:
    """What is left out of the card, and why."""
    aspects_by_reason = defaultdict(list)
    for aspect, numbers in aspects.items():
        for measure, words in _MEASURED.items():
            cell = numbers.get(measure, {"reason": "each judgment was asked once"})
            if isinstance(cell, Mapping) and cell.get("reason"):
                reason = f"{words}: {cell['reason']}"
                aspects_by_reason[reason].append(aspect)
    for reason, members in aspects_by_reason.items():
        yield f"{name}, {', '.join(members)}: no {reason}."
