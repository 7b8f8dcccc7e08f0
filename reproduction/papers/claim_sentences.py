"""The evidence of a claim as a reader meets it: one short paragraph instead of every
cell, and whether chance could make what it states.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from nlgeval_lib.names import p_in_words
from reproduction.papers import inference

SIGNIFICANT = "; said to be significant: "  # between findings and what a test says
LONGEST = 240  # characters of a finding
MOST_COMPARED = 10  # comparisons that are all named
# "READING, 3 of 5, 1 more within rounding; closest: CELLS", as `claims` writes it
_COUNTED = re.compile(
    r"""
    (?:(?P<reading>.*?),\ )?
    (?P<ahead>\d+)\ of\ (?P<all>\d+)
    (?:,\ (?P<within>\d+)\ more\ within\ rounding)?
    ;\ (?P<kind>closest|not):\ (?P<cells>.*)
    """,
    re.VERBOSE,
)
# A comparison of which a test says so, in the words of the question about chance.
_CHANCE = {
    inference.YES: "no chance",
    inference.IF_INDEPENDENT: "no chance if rows were independent",
    inference.NEEDS: "hangs on how far the judges agree",
    inference.UNTOLD: "cannot be told",
    inference.NO: "may be chance",
}
# a cell and its two numbers, up to the bracket that may say what is allowed
_CELL = re.compile(r".*? (?:against|by) -?[\d.,]*\d(?: \([^)]*\))?")


def sentence(evidence: str, verdicts: Sequence[str]) -> str:
    """The evidence of a claim in one short paragraph.

    It says the first finding in words, how the sentence fares in another reading, and
    what a test says where the paper calls a difference significant.

    evidence: as `claims.judge` writes it.
    verdicts: the words with which the findings of an evidence begin where they are not
    all alike.

    Example:
    >>> evidence = "2 of 3; not: BLEU / average 0.2 against 0.3"
    >>> sentence(evidence, ("holds", "does not hold"))
    'It is so in 2 of 3 cells, but not in BLEU, average 0.2 against 0.3.'
    """
    findings, _, inference = evidence.partition(SIGNIFICANT)
    # "holds in part" is to be read before "holds".
    longest_first = sorted(verdicts, key=len, reverse=True)
    begins = "|".join(map(re.escape, longest_first))
    # A finding holds semicolons of its own: only one before a verdict parts findings.
    first, *more = re.split(f"; (?=(?:{begins}): )", findings)
    verdict, text = _split_verdict(first, begins)
    sentences = [_first_finding(verdict, text)]
    further = {_split_verdict(finding, begins)[0] for finding in more} - {verdict}
    if further:
        verbs = " or ".join(sorted(map(_as_verb, further)))
        sentences.append(f"In another reading it {verbs}.")
    if inference:
        sentences.append(f"The text calls this significant; a test says: {inference}.")
    return " ".join(sentences)


def chance(told: inference.Told) -> str:
    """Whether chance could make the difference that a claim states: yes, no or not
    known, with every comparison and its p; empty where no difference is stated.

    Of more than `MOST_COMPARED` comparisons only the one that decides is named. It is
    the question of `inference.ANSWERS` turned round: what a test tells is no chance.

    Example:
    >>> one = inference.Compared("BLEU", inference.NO, 0.21)
    >>> chance(inference.Told(inference.NO, "", (one,)))
    'yes (BLEU p = .210)'
    """
    if not told.says:
        return ""
    answer = {inference.YES: "no", inference.NO: "yes"}.get(told.says, "not known")
    by_answer: dict[str, list[inference.Compared]] = {}
    for one in told.comparisons:
        by_answer.setdefault(one.says, []).append(one)
    if not by_answer:
        return answer
    with_p = any(not math.isnan(one.p) for one in told.comparisons)
    if not with_p:
        counts = []
        for says in inference.ANSWERS:
            if says in by_answer:
                counts.append(f"{_CHANCE[says]}: {len(by_answer[says])}")
        return f"{answer} ({'; '.join(counts)})"
    if len(told.comparisons) > MOST_COMPARED:
        decisive = _with_p(inference.weakest(told.comparisons))
        return f"{answer} ({decisive}, which decides of {len(told.comparisons)})"
    if len(by_answer) == 1:
        return f"{answer} ({', '.join(map(_with_p, told.comparisons))})"
    parts = []
    for says in reversed(inference.ANSWERS):
        if says in by_answer:
            parts.append(f"{_CHANCE[says]}: {', '.join(map(_with_p, by_answer[says]))}")
    return f"{answer} ({'; '.join(parts)})"


def _with_p(one: inference.Compared) -> str:
    """A comparison and its p, where it has one."""
    if math.isnan(one.p):
        return one.name
    return f"{one.name} {p_in_words(one.p)}"


def _first_finding(verdict: str, text: str) -> str:
    """A sentence of one finding; its verdict is empty where all findings agree."""
    reading, words = _counted(text) or ("", _short(text))
    begin = f"read as “{reading}”, " if reading else ""
    if verdict:
        words = f"it {_as_verb(verdict)}: {words}"
    words = begin + words
    return f"{words[:1].upper()}{words[1:]}."


def _split_verdict(finding: str, begins: str) -> tuple[str, str]:
    """The verdict of a finding and its text; the verdict is empty where it has none."""
    match = re.match(f"({begins}): (.*)", finding, re.DOTALL)
    if match is None:
        return "", finding
    return match[1], match[2]


def _as_verb(verdict: str) -> str:
    """A verdict as the verb of a sentence: "cannot be told yet" without its "yet"."""
    return verdict.removesuffix(" yet")


def _counted(text: str) -> tuple[str, str] | None:
    """A count of cells in words, with the cell that is closest or the first that is not
    so.
    """
    count = _COUNTED.fullmatch(text)
    if not count:
        return None
    match = _CELL.match(count["cells"])
    first_cell = match[0] if match else count["cells"]
    first_cell = first_cell.replace(" / ", ", ")
    within = int(count["within"] or 0)
    cells = int(count["all"])
    ahead = int(count["ahead"])
    reading = count["reading"] or ""
    if cells == 1:
        return reading, first_cell
    words = f"it is so in {ahead or 'none'} of {cells} cells"
    if within:
        words += f" ({within} more within rounding)"
    if count["kind"] == "closest":
        return reading, f"{words}, the closest being {first_cell}"
    if ahead or within:
        words += f", but not in {first_cell}"
    else:
        words += f": {first_cell}"
    further = cells - ahead - within - 1
    if further > 0:
        words += f" and {further} more"
    return reading, words


def _short(text: str) -> str:
    """A finding up to its first semicolon outside brackets, and to `LONGEST`
    characters.
    """
    depth = 0
    for position, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == ";" and not depth:
            text = text[:position]
            break
    text = text.replace(" / ", ", ")
    if len(text) <= LONGEST:
        return text
    words = text[:LONGEST].rsplit(" ", 1)[0]
    return f"{words} …"
