"""The verdict of a card, by the rules in `rules.csv`: conditions on its numbers, and
the words that follow from them.

A rule is about an aspect or a set. `fails` names a fault, `unproven` what the data
cannot tell; both forbid praise. `limits` is said beside the praise, and `praises` needs
an interval that is clear of zero or chance.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nlgeval_lib.card import conditions

Finding = dict[str, str]
FORBID = ("fails", "unproven")
CLEAR = 0.05  # p, corrected, from which another judge is said to be better
NOTHING = "nothing measured here supports using it"


@functools.cache
def rules() -> tuple[dict[str, str], ...]:
    """The rules in their order: `rule, of, kind, when, words`."""
    path = Path(__file__).with_name("rules.csv")
    with path.open(encoding="utf-8", newline="") as handle:
        return tuple(csv.DictReader(handle))


def findings(sets: Mapping[str, Any]) -> list[Finding]:
    """Every rule that holds: `set, aspect` ("" for the whole set), `rule, kind, words,
    when`.
    """
    listed: list[Finding] = []
    for name, numbers in sets.items():
        listed += _holding("set", numbers, {"set": name, "aspect": ""})
        for aspect, part in numbers.get("aspects", {}).items():
            rows_only = {"rows_only": int("input" not in part)}
            place = {"set": name, "aspect": aspect}
            listed += _holding("aspect", part | rows_only, place)
    return listed


def _holding(
    of: str, numbers: Mapping[str, Any], place: Mapping[str, str]
) -> Iterator[Finding]:
    for rule in rules():
        if rule["of"] == of and conditions.holds(rule["when"], numbers):
            yield {**place, **rule}


def sentence(sets: Mapping[str, Any], listed: list[Finding]) -> str:
    """The verdict, one part a set, in words that the findings decide."""
    parts = []
    for name, numbers in sets.items():
        own = [finding for finding in listed if finding["set"] == name]
        clauses = _clauses(numbers, own)
        parts.append(f"On {numbers['title']}: {'; '.join(clauses)}.")
    return " ".join(parts)


def _clauses(numbers: Mapping[str, Any], own: list[Finding]) -> list[str]:
    """What is said of a set: faults of the whole set, praise, faults by aspect,
    limits.
    """
    whole = [finding for finding in own if not finding["aspect"]]
    faults = [finding["words"] for finding in whole if finding["kind"] in FORBID]
    failing = _first_faults(own)
    clauses = []
    if faults:
        clauses.append(f"do not use it: {', and '.join(faults)}")
    else:
        clauses += _praise(numbers, own, failing)
    by_words: dict[str, list[str]] = {}
    for aspect, words in failing.items():
        by_words.setdefault(words, []).append(aspect)
    for words, aspects in by_words.items():
        clauses.append(f"do not use it for {_joined(aspects)}: {words}")
    limits: dict[str, list[str]] = {}
    for finding in own:
        if finding["kind"] == "limits" and finding["aspect"] not in failing:
            limits.setdefault(finding["words"], []).append(finding["aspect"])
    for words, aspects in limits.items():
        where = f" ({_joined(aspects)})" if any(aspects) else ""
        clauses.append(f"beware: {words}{where}")
    return clauses


def _first_faults(own: list[Finding]) -> dict[str, str]:
    """Aspect -> the words of the first rule by which it fails."""
    failing: dict[str, str] = {}
    for finding in own:
        if finding["kind"] in FORBID and finding["aspect"]:
            failing.setdefault(finding["aspect"], finding["words"])
    return failing


def _praise(
    numbers: Mapping[str, Any], own: list[Finding], failing: Mapping[str, str]
) -> list[str]:
    """What may be said for the judge, each followed by what stands above it."""
    if numbers["kind"] == "pairs":
        praised = [finding["words"] for finding in own if finding["kind"] == "praises"]
        share = numbers["accuracy"]
        ends = f"[{share['low']:.0%}, {share['high']:.0%}]" if praised else ""
        return [f"{words}, {share['value']:.0%} {ends}" for words in praised] or [
            NOTHING
        ]
    clauses = []
    for rule in rules():
        if rule["of"] != "aspect" or rule["kind"] != "praises":
            continue
        aspects = []
        for finding in own:
            if finding["rule"] == rule["rule"] and finding["aspect"] not in failing:
                aspects.append(finding["aspect"])
        if aspects:
            level = {"systems": "system", "outputs": "input", "rows": "dataset"}
            beside = _beside_raters(numbers, aspects, level[rule["rule"]])
            orders = f"it orders {rule['words']} by {_joined(aspects)} as people do"
            clauses.append(orders + beside)
    above = _above(numbers, failing)
    for name, aspects in above.items():
        clauses.append(f"{name} does it better in {_joined(aspects)}")
    return clauses or ([] if failing else [NOTHING])


def _beside_raters(numbers: Mapping[str, Any], aspects: list[str], level: str) -> str:
    """How the judge stands to one rater, where the intervals say it."""
    groups: dict[str, list[str]] = {}
    kind = "rater"
    for aspect in aspects:
        raters = numbers["aspects"][aspect]["raters"]
        kind = raters.get("kind", kind)
        cells = raters.get(level, {})
        judge = cells.get("judge", {})
        rater = cells.get("rater", {})
        if judge.get("low") is None or rater.get("low") is None:
            continue
        if judge["low"] >= rater["value"]:
            groups.setdefault(f"at least as well as one {kind}", []).append(aspect)
        elif judge["high"] < rater["value"] or rater["low"] > judge["value"]:
            groups.setdefault(f"less well than one {kind}", []).append(aspect)
    texts = []
    for words, members in groups.items():
        where = "" if members == aspects else f" in {_joined(members)}"
        texts.append(f"{words}{where}")
    return f" ({'; '.join(texts)})" if texts else ""


def _above(
    numbers: Mapping[str, Any], failing: Mapping[str, str]
) -> dict[str, list[str]]:
    """The best judge above this one, by name, and the aspects where it is clearly
    better.
    """
    above: dict[str, list[str]] = {}
    for aspect, part in numbers["aspects"].items():
        beside = part["beside"]
        if aspect in failing or not isinstance(beside, list):
            continue
        for row in beside:
            if row["name"] == "this judge":
                break
            if row.get("p") is not None and row["p"] <= CLEAR:
                above.setdefault(row["name"], []).append(aspect)
                break
    return above


def _joined(names: list[str]) -> str:
    """Names as a list in a sentence."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
