"""The verdict of a card, by the rules in `rules.csv`: conditions on its numbers, and
the words that follow from them.

A rule is about an aspect or a set. `fails` names a fault, `unproven` what the data
cannot tell; both forbid praise. `limits` is said beside the praise, and `praises` needs
an interval that is clear of zero or chance.
"""

from __future__ import annotations

import csv
import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from judgecard import conditions

Finding = dict[str, str]
Numbers = Mapping[str, Any]
FORBID = ("fails", "unproven")
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
    """The rules in their order: `rule, of, kind, when, words`.

    `of` is "set" or "aspect"; `kind` is "fails", "unproven", "limits" or "praises";
    `when` is a condition; `words` go into the verdict where it holds.
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
            # where neither inputs nor systems are known, there are other rules
            rows_only = {"rows_only": int("input" not in measured)}
            for rule in _holding("aspect", measured | rows_only):
                holding.append({"set": name, "aspect": aspect, **rule})
    return holding


def _holding(of: str, numbers: Numbers) -> Iterator[dict[str, str]]:
    """The rules about a set, or an aspect, that hold.

    of: "set" or "aspect".
    """
    for rule in rules():
        if rule["of"] == of and conditions.holds(rule["when"], numbers):
            yield rule


def sentence(sets: Numbers, listed: list[Finding]) -> str:
    """The verdict, one part a set, in words that the findings decide.

    sets: name -> what was measured of the set.
    listed: the rules that hold, as `findings` gives them.
    """
    sentences = []
    for name, numbers in sets.items():
        of_set = [finding for finding in listed if finding["set"] == name]
        clauses = "; ".join(_clauses(numbers, of_set))
        sentences.append(f"On {numbers['title']}: {clauses}.")
    return " ".join(sentences)


def _clauses(numbers: Numbers, of_set: list[Finding]) -> list[str]:
    """What is said of a set: faults of the whole set or praise, then faults by aspect,
    then limits.

    numbers: of the set.
    of_set: the rules that hold for it.
    """
    faults = []
    for finding in of_set:
        if finding["kind"] in FORBID and not finding["aspect"]:
            faults.append(finding["words"])
    failing = _first_faults(of_set)
    if faults:
        clauses = [f"do not use it: {', and '.join(faults)}"]
    elif numbers["kind"] == "pairs":
        clauses = _praise_of_pairs(numbers, of_set)
    else:
        clauses = _praise(numbers, of_set, failing)
    if not clauses and not failing:
        clauses = [NOTHING]
    # aspects that fail by the same words share a clause
    aspects_by_fault = defaultdict(list)
    for aspect, words in failing.items():
        aspects_by_fault[words].append(aspect)
    for words, aspects in aspects_by_fault.items():
        clauses.append(f"do not use it for {_joined(aspects)}: {words}")
    return clauses + _limits(of_set, failing)


def _first_faults(of_set: list[Finding]) -> dict[str, str]:
    """Aspect -> the words of the first rule by which it fails."""
    failing: dict[str, str] = {}
    for finding in of_set:
        if finding["kind"] in FORBID and finding["aspect"]:
            failing.setdefault(finding["aspect"], finding["words"])
    return failing


def _limits(of_set: list[Finding], failing: Mapping[str, str]) -> list[str]:
    """What is said beside the praise, with the aspects that it is about.

    failing: aspects that fail already; their limits are not named.
    """
    aspects_by_limit = defaultdict(list)
    for finding in of_set:
        aspect = finding["aspect"]
        if finding["kind"] == "limits" and aspect not in failing:
            aspects_by_limit[finding["words"]].append(aspect)
    clauses = []
    for words, aspects in aspects_by_limit.items():
        clause = f"beware: {words}"
        if any(aspects):
            clause += f" ({_joined(aspects)})"
        clauses.append(clause)
    return clauses


# -- praise


def _praise_of_pairs(numbers: Numbers, of_set: list[Finding]) -> list[str]:
    """What may be said for a judge of pairs, with its accuracy and interval; nothing
    where no rule praises it.
    """
    praises = [finding for finding in of_set if finding["kind"] == "praises"]
    if not praises:
        return []
    accuracy = numbers["accuracy"]
    share = f"{accuracy['value']:.0%}"
    ends = f"[{accuracy['low']:.0%}, {accuracy['high']:.0%}]"
    return [f"{finding['words']}, {share} {ends}" for finding in praises]


def _praise(
    numbers: Numbers, of_set: list[Finding], failing: Mapping[str, str]
) -> list[str]:
    """What may be said for the judge, and which judge stands above it; nothing of
    aspects that fail.
    """
    aspects_by_rule = defaultdict(list)
    for finding in of_set:
        aspect = finding["aspect"]
        if aspect not in failing:
            aspects_by_rule[finding["rule"]].append(aspect)
    clauses = []
    for rule in rules():
        name = rule["rule"]
        if rule["of"] != "aspect" or rule["kind"] != "praises":
            continue
        if name not in aspects_by_rule:
            continue
        aspects = aspects_by_rule[name]
        clause = f"it orders {rule['words']} by {_joined(aspects)} as people do"
        clause += _beside_raters(numbers, aspects, _LEVELS[name])
        clauses.append(clause)
    for judge, aspects in _above(numbers, failing).items():
        clauses.append(f"{judge} does it better in {_joined(aspects)}")
    return clauses


def _beside_raters(numbers: Numbers, aspects: list[str], level: str) -> str:
    """How the judge stands to one rater, in brackets; "" where the intervals do not say
    it.

    aspects: that are praised.
    level: of the coefficients.
    """
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
            text += f" in {_joined(members)}"
        texts.append(text)
    if not texts:
        return ""
    return f" ({'; '.join(texts)})"


def _above(numbers: Numbers, failing: Mapping[str, str]) -> dict[str, list[str]]:
    """The best judge above this one, by name, and the aspects where it is clearly
    better.

    The judges beside it are listed best first, so those before this one stand above it.
    """
    above = defaultdict(list)
    for aspect, measured in numbers["aspects"].items():
        other_judges = measured["beside"]
        if aspect in failing or not isinstance(other_judges, list):
            continue
        for row in other_judges:
            if row["name"] == "this judge":
                break
            if row.get("p") is not None and row["p"] <= CLEAR:
                above[row["name"]].append(aspect)
                break
    return above


def _joined(names: list[str]) -> str:
    """Names as a list in a sentence.

    Example:
        >>> _joined(["fluency", "coherence", "relevance"])
        'fluency, coherence and relevance'
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
