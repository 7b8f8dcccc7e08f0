"""The evidence of a claim as a reader meets it: one short paragraph instead of every
cell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

SIGNIFICANT = "; said to be significant: "
LONGEST = 240  # characters of a finding
_COUNTED = re.compile(
    r"(?:(?P<reading>.*?), )?(?P<ahead>\d+) of (?P<all>\d+)"
    r"(?:, (?P<within>\d+) more within rounding)?; (?P<kind>closest|not): (?P<cells>.*)"
)
_CELL = re.compile(r".*? (?:against|by) -?[\d.,]*\d(?: \([^)]*\))?")


def sentence(evidence: str, verdicts: Sequence[str]) -> str:
    """The first finding of `evidence` in words, how the sentence fares in another
    reading, and what a test says where the paper calls a difference significant.

    verdicts: the words with which the findings of an evidence begin where they are not
    all alike.
    """
    findings, _, inference = evidence.partition(SIGNIFICANT)
    longest_first = sorted(verdicts, key=len, reverse=True)
    begins = "|".join(re.escape(verdict) for verdict in longest_first)
    first, *more = re.split(f"; (?=(?:{begins}): )", findings)
    verdict, text = _parted(first, begins)
    reading, words = _counted(text) or ("", _short(text))
    if verdict:
        begin = f"read as “{reading}”, it" if reading else "it"
        words = f"{begin} {_as_verb(verdict)}: {words}"
    elif reading:
        words = f"read as “{reading}”, {words}"
    parts = [f"{words[:1].upper()}{words[1:]}."]
    other = {_parted(one, begins)[0] for one in more} - {verdict}
    if other:
        parts.append(
            f"In another reading it {' or '.join(sorted(map(_as_verb, other)))}."
        )
    if inference:
        parts.append(f"The text calls this significant; a test says: {inference}.")
    return " ".join(parts)


def _parted(finding: str, begins: str) -> tuple[str, str]:
    found = re.match(f"({begins}): (.*)", finding, re.DOTALL)
    return (found[1], found[2]) if found else ("", finding)


def _as_verb(verdict: str) -> str:
    return {"cannot be told yet": "cannot be told"}.get(verdict, verdict)


def _counted(text: str) -> tuple[str, str] | None:
    """The reading that a count of cells is of, and the count in words, with the cell
    that is closest or the first that is not so; None for another kind of finding.
    """
    found = _COUNTED.fullmatch(text)
    if not found:
        return None
    cell = _CELL.match(found["cells"])
    shown = (cell[0] if cell else found["cells"]).replace(" / ", ", ")
    within = int(found["within"] or 0)
    rounding = f" ({within} more within rounding)" if within else ""
    words = f"it is so in {found['ahead']} of {found['all']} cells{rounding}"
    reading = found["reading"] or ""
    if found["kind"] == "closest":
        return reading, f"{words}, the closest being {shown}"
    left = int(found["all"]) - int(found["ahead"]) - within - 1
    others = f" and {left} more" if left > 0 else ""
    return reading, f"{words}, but not in {shown}{others}"


def _short(text: str) -> str:
    """A finding up to its first semicolon outside brackets."""
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == ";" and not depth:
            text = text[:at]
            break
    text = text.replace(" / ", ", ")
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rsplit(' ', 1)[0]} …"
