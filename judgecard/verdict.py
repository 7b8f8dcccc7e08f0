"""The verdict of a card, by the rules in `rules.csv`: conditions on its numbers, and
the words that follow from them.
"""

from __future__ import annotations

import csv
import functools
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from judgecard import conditions
from judgecard.written import at

Finding = dict[str, str]
Numbers = Mapping[str, Any]
FAILS = "fails"
UNPROVEN = "unproven"
PRAISES = "praises"
THESE = "these"  # a praise that holds for the systems of the set alone
CLEAR = 0.05  # p, corrected, from which another judge is said to be better
NOTHING = "nothing measured here supports using it"
# The level of the coefficient that each rule of praise reads.
_LEVELS = {
    "systems": "system",
    "outputs": "input",
    "rows": "dataset",
}


@functools.cache
def rules() -> tuple[dict[str, str], ...]:
    """The rules in their order: `rule, of, kind, when, words, more`.

    `of` is "set" or "aspect"; `kind` is "fails", "unproven", "limits", "praises" or
    "these"; `when` is a condition; `words` go into the verdict where it holds, with
    names of the measured in braces; `more` is what would have to be more where it is
    unproven: systems, inputs, outputs or pairs.
    """
    path = Path(__file__).with_name("rules.csv")
    with path.open(encoding="utf-8", newline="") as handle:
        return tuple(csv.DictReader(handle))


def findings(sets: Numbers) -> list[Finding]:
    """Every rule that holds: `set, aspect` ("" for the whole set), `rule, of, kind,
    words, when`.

    sets: name -> what was measured of the set.
    Returns: set by set, first the rules about the set, then those about each aspect, in
    the order of the rules.
    """
    holding: list[Finding] = []
    for name, numbers in sets.items():
        for rule in _holding("set", numbers):
            holding.append({"set": name, "aspect": "", **rule})
        for aspect, measured in numbers.get("aspects", {}).items():
            for rule in _holding("aspect", measured | _flags(measured)):
                holding.append({"set": name, "aspect": aspect, **rule})
    return holding


def _flags(measured: Numbers) -> dict[str, int]:
    """What rules ask of an aspect beside its numbers, 0 or 1."""
    [systems] = [rule for rule in rules() if rule["rule"] == "systems"]
    beside_length = at(measured, "length.versus.value")
    return {
        # neither inputs nor systems are known, or each input has one output
        "rows_only": int("input" not in measured),
        "no_length": int(beside_length is None),
        "orders_systems": int(conditions.holds(systems["when"], measured)),
    }


def _holding(of: str, numbers: Numbers) -> Iterator[dict[str, str]]:
    """The rules about a set, or an aspect, that hold."""
    for rule in rules():
        if rule["of"] == of and conditions.holds(rule["when"], numbers):
            words = rule["words"].format_map(numbers)
            yield {**rule, "words": words}


def sentence(sets: Numbers, listed: list[Finding]) -> str:
    """The verdict, one part a set, in words that the findings decide.

    sets: name -> what was measured of the set.
    """
    sentences = []
    for name, numbers in sets.items():
        of_set = [finding for finding in listed if finding["set"] == name]
        clauses = "; ".join(_clauses(numbers, of_set))
        sentences.append(f"On {numbers['title']}: {clauses}.")
    return " ".join(sentences)


def _clauses(numbers: Numbers, of_set: list[Finding]) -> list[str]:
    """What is said of a set."""
    faults = of_the_set(of_set, FAILS)
    failing = first_by_aspect(of_set, FAILS)
    untold = first_by_aspect(of_set, UNPROVEN)
    untold = {aspect: untold[aspect] for aspect in untold if aspect not in failing}
    untold_of_set = of_the_set(of_set, UNPROVEN)
    unpraised = {*failing, *untold}
    clauses = []
    if faults:
        words = ", and ".join(fault["words"] for fault in faults)
        clauses = [f"do not use it: {words}"]
    elif numbers["kind"] != "pairs":
        clauses = _praise(numbers, of_set, failing, unpraised)
    elif not untold_of_set:
        clauses = _praise_of_pairs(numbers, of_set) or [NOTHING]
    # Aspects of which the same is said share a clause.
    for words, aspects in by_words(failing):
        clauses.append(f"do not use it for {joined(aspects)}: {words}")
    clauses += _limits(of_set, failing)
    for finding in untold_of_set:
        more = needed(finding, numbers, numbers)
        clauses.append(f"these data cannot tell whether {finding['words']}{more}")
    for words, aspects in by_words(untold):
        parts = []
        for aspect in aspects:
            measured = numbers["aspects"][aspect]
            parts.append(aspect + needed(untold[aspect], measured, numbers))
        clauses.append(f"for {joined(parts)} these data cannot tell whether {words}")
    return clauses


def of_set(card: Numbers, name: str) -> list[Finding]:
    """The rules that hold for a set and its aspects, as a card has them."""
    return [row for row in card["verdict"]["findings"] if row["set"] == name]


def of_the_set(of_set: list[Finding], kind: str) -> list[Finding]:
    """The rules of a kind that hold for the whole set."""
    return [
        finding
        for finding in of_set
        if finding["kind"] == kind and not finding["aspect"]
    ]


def first_by_aspect(of_set: list[Finding], kind: str) -> dict[str, Finding]:
    """Aspect -> the first rule of a kind that holds for it."""
    first: dict[str, Finding] = {}
    for finding in of_set:
        if finding["kind"] == kind and finding["aspect"]:
            first.setdefault(finding["aspect"], finding)
    return first


def by_words(by_aspect: Mapping[str, Finding]) -> list[tuple[str, list[str]]]:
    """What is said, with the aspects of which it is said."""
    aspects: dict[str, list[str]] = defaultdict(list)
    for aspect, finding in by_aspect.items():
        aspects[finding["words"]].append(aspect)
    return list(aspects.items())


def needed(finding: Finding, measured: Numbers, numbers: Numbers) -> str:
    """About how many systems, inputs, outputs or pairs would tell, in brackets; ""
    where more of them would not.

    An interval's half width shrinks with the root of their number, if all else stays.
    """
    n = numbers.get(finding["more"])
    if not n:
        return ""
    condition = conditions.read_rule(finding["when"])[0][0]
    bar = condition.number
    low = condition.value(measured)
    cell = condition.path.rpartition(".")[0]
    value = replace(condition, path=cell).value(measured)
    if value <= bar:
        return ""
    wanted = math.ceil(n * times_as_many(value, low, bar))
    return f" (about {wanted:,} {finding['more']} instead of {n:,} would tell)"


def times_as_many(value: float, end: float, bar: float) -> float:
    """How many times as many units bring the end of an interval to a bar, if all else
    stays: a half width shrinks with the root of their number.
    """
    return float(((value - end) / (value - bar)) ** 2)


def _limits(of_set: list[Finding], failing: Collection[str]) -> list[str]:
    """What is said beside the praise, with the aspects that it is about."""
    aspects_by_limit = defaultdict(list)
    for finding in of_set:
        aspect = finding["aspect"]
        if finding["kind"] == "limits" and aspect not in failing:
            aspects_by_limit[finding["words"]].append(aspect)
    clauses = []
    for words, aspects in aspects_by_limit.items():
        clause = f"beware: {words}"
        if any(aspects):
            clause += f" ({joined(aspects)})"
        clauses.append(clause)
    return clauses


# -- praise


def _praise_of_pairs(numbers: Numbers, of_set: list[Finding]) -> list[str]:
    """What may be said for a judge of pairs, with its accuracy and interval."""
    praises = [finding for finding in of_set if finding["kind"] == PRAISES]
    if not praises:
        return []
    decided = numbers["decided"]
    share = f"{decided['value']:.0%}"
    ends = f"[{decided['low']:.0%}, {decided['high']:.0%}]"
    return [f"{finding['words']}, {share} {ends}" for finding in praises]


def _praise(
    numbers: Numbers,
    of_set: list[Finding],
    failing: Collection[str],
    unpraised: Collection[str],
) -> list[str]:
    """What may be said for the judge, of which aspects nothing is, and which judge
    stands above it.
    """
    aspects_by_rule = defaultdict(list)
    praised: set[str] = set()
    for finding in of_set:
        aspect = finding["aspect"]
        if finding["kind"] == PRAISES:
            may_be_said = aspect not in unpraised
        else:
            # what holds for these systems alone is the last of an aspect's rules
            told = {*failing, *praised}
            may_be_said = finding["kind"] == THESE and aspect not in told
        if may_be_said:
            aspects_by_rule[finding["rule"]].append(aspect)
            praised.add(aspect)
    clauses = []
    for rule in rules():
        name = rule["rule"]
        aspects = aspects_by_rule[name]
        if aspects:
            order = f"{rule['words']} by {joined(aspects)}"
            beside = _beside_raters(numbers, aspects, _LEVELS.get(name, ""))
            clauses.append(f"{order} agrees with people's beyond chance{beside}")
    said = {*praised, *unpraised}
    silent = [aspect for aspect in numbers["aspects"] if aspect not in said]
    if silent:
        clauses.append(f"{NOTHING} for {joined(silent)}")
    for judge, aspects in above(numbers, unpraised).items():
        clauses.append(f"{judge} follows people more closely in {joined(aspects)}")
    return clauses


def _beside_raters(numbers: Numbers, aspects: list[str], level: str) -> str:
    """How the judge stands to one rater, in brackets."""
    aspects_by_standing = defaultdict(list)
    kind = "rater"
    for aspect in aspects:
        raters = numbers["aspects"][aspect]["raters"]
        kind = raters.get("kind", kind)
        cells = raters.get(level, {})
        judge = cells.get("judge", {})
        rater = cells.get("rater", {})
        if judge.get("low") is None or rater.get("low") is None:
            continue
        # at least the rater's value with the whole interval of the judge; or below it,
        # by the interval of either
        is_above = judge["low"] >= rater["value"]
        is_below = judge["high"] < rater["value"] or rater["low"] > judge["value"]
        if is_above:
            standing = f"at least as well as one {kind}"
        elif is_below:
            standing = f"less well than one {kind}"
        else:
            continue
        aspects_by_standing[standing].append(aspect)
    texts = []
    for standing, members in aspects_by_standing.items():
        text = standing
        if members != aspects:
            text += f" in {joined(members)}"
        texts.append(text)
    if not texts:
        return ""
    return f" ({'; '.join(texts)})"


def above(numbers: Numbers, unpraised: Collection[str]) -> dict[str, list[str]]:
    """The best judge above this one, by name, and the aspects where it is clearly
    better.

    The judges beside it are listed best first, so those before this one stand above it.
    """
    above = defaultdict(list)
    for aspect, measured in numbers["aspects"].items():
        other_judges = measured["beside"]
        if aspect in unpraised or not isinstance(other_judges, list):
            continue
        for row in other_judges:
            if row["name"] == "this judge":
                break
            if row.get("p") is not None and row["p"] <= CLEAR:
                above[row["name"]].append(aspect)
                break
    return above


def joined(names: list[str]) -> str:
    """Names as a list in a sentence."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
