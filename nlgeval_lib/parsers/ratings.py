"""The score that a judge's text gives, as a whole or under a label.

A text is made plain (`normalise`), its numbers are found with what presents them
(`candidates`) and takes them back (`vetoes`), and the most plainly presented one is
the verdict; any contradiction makes it missing.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re

from nlgeval_lib.parsers.candidates import (
    ALONE,
    ASPECT,
    CUT,
    FINAL,
    FORM,
    LABEL,
    PHRASE,
    SOMETHING_ELSE,
    Candidate,
    candidates,
    doubt,
)
from nlgeval_lib.parsers.normalise import OTHER, TAG, normalised
from nlgeval_lib.parsers.text import (
    DECLINED,
    Parsed,
    check_scale,
    check_text,
    readable,
    shown,
    why,
)
from nlgeval_lib.parsers.vetoes import RETHINKS, WITHDRAWN
from nlgeval_lib.records import Status

RULES = ("none", "alone", "form", "aspect", "phrase", "label", "final")  # by strength
_STANDINGS = ((FINAL,), (LABEL, PHRASE), (ASPECT,), (FORM,), (ALONE,))
Missing = tuple[Status, str, str]  # status, reason and rule of a text without a value


@dataclasses.dataclass(frozen=True, slots=True)
class Rating(Parsed):
    """A score on the scale; `matched` is the place that holds it, in lower case."""

    matched: str = ""


def rating(
    text: str | None, low: float, high: float, label: str | None = None
) -> Rating:
    """The score that `text` gives on the scale from `low` to `high`.

    A number counts only where the text presents it as a verdict: in JSON or a tag,
    after a label ("Score: 4"), in a phrase ("I rate it 4"), as n/high, in stars, or
    alone on a line. Different verdicts, or any doubt, make it missing; nothing is
    clipped or rescaled (but 80% is .8 on 0 to 1).

    label: asks for the score under that name ("Coherence"), and for no other's.
    Raises: ValueError for a bad scale or a blank label.
    """
    if isinstance(text, str) and len(text) < 200:
        return _remembered(text, low, high, label)
    return read_text(text, low, high, label)[0]


@functools.lru_cache(maxsize=4096, typed=True)
def _remembered(text: str, low: float, high: float, label: str | None) -> Rating:
    """The rating of a short text: judges say the same short thing again and again."""
    return read_text(text, low, high, label)[0]


def trace(
    text: str | None, low: float, high: float, label: str | None = None
) -> list[str]:
    """How `rating` reads a text, in lines: the normalised text, each number's fate."""
    verdict, body, pool = read_text(text, low, high, label)
    shown_body = body.replace(OTHER, "(another scale)").replace(TAG, "")
    lines = [f"text     {line}" for line in shown_body.split("\n") if line.strip()]
    for candidate in pool:
        cue = "no cue"
        fate = "not presented as a score"
        if candidate.strength:
            label_part = f", {candidate.label}" if candidate.label else ""
            cue = f"{RULES[candidate.strength]} ({candidate.cue}{label_part})"
            won = verdict.ok and candidate.value == verdict.value
            fate = "won" if won else "weaker than another"
        place = f"{candidate.token!r} at {candidate.start}"
        lines.append(f"number   {place}: {cue}; {candidate.veto or fate}")
    result = shown(verdict.value) if verdict.ok else verdict.status.value
    lines.append(f"verdict  {result}: {verdict.reason or verdict.rule}")
    return lines


def read_text(
    text: str | None, low: float, high: float, label: str | None
) -> tuple[Rating, str, list[Candidate]]:
    """The reading of a text, the normalised text, and its candidates."""
    low, high = check_scale(low, high)
    if label is not None and not (isinstance(label, str) and label.strip()):
        raise ValueError(
            f"label must be a name such as 'Coherence' or None, got {label!r}"
        )
    content = check_text(text, "rating")
    if content is None:
        return Rating(math.nan, Status.EMPTY, "no text", "empty"), "", []
    body = normalised(content, low, high)
    pool = candidates(body, low, high)
    if label:
        verdict = under(body, pool, low, high, label)
    else:
        verdict = _decide(body, pool, low, high)
    return verdict, body, pool


# --- the verdict
def within(
    value: float, rule: str, low: float, high: float, matched: str = ""
) -> Rating:
    """The rating of a number that was read: missing where it is off the scale."""
    if low <= value <= high:
        return Rating(value + 0.0, Status.OK, "", rule, matched)
    reason = f"{shown(value)} is outside {shown(low)} to {shown(high)}"
    return Rating(math.nan, Status.OUT_OF_RANGE, reason, rule, matched)


def _decide(
    body: str, pool: list[Candidate], low: float, high: float, label: str = ""
) -> Rating:
    """The last number of the strongest cue that has a verdict, or a conflict."""
    pool = _without_rubric(pool, body)
    presented = [candidate for candidate in pool if candidate.strength]
    live = [candidate for candidate in presented if not candidate.veto]
    on_scale = [candidate for candidate in live if low <= candidate.value <= high]
    if on_scale:
        # not "scoring 40 points" beside a score of the scale
        plainly = [candidate for candidate in live if candidate.strength >= LABEL]
        live = [candidate for candidate in live if candidate in on_scale + plainly]
    outcome = _by_standing(pool, presented, live, body, label)
    if isinstance(outcome, Candidate):
        rule = RULES[outcome.strength]
        if outcome.cue in ("alone", "leading", "closing", "bracketed"):
            rule = outcome.cue
        window = body[max(0, outcome.start - 30) : outcome.end + 8]
        matched = window.replace(TAG, "").strip()
        return within(outcome.value, rule, low, high, matched)
    return Rating(math.nan, *(outcome or _silence(presented, body)))


def _silence(presented: list[Candidate], body: str) -> Missing:
    """Why a text without a verdict has none."""
    silence = why(body)
    if silence:
        status, reason = silence
        return status, reason, "none" if status is Status.UNPARSED else "silence"
    reason = "no number is presented as the score"
    vetoed = [candidate for candidate in presented if candidate.veto]
    if vetoed:
        reason = max(vetoed, key=lambda candidate: candidate.strength).veto
    return Status.UNPARSED, reason, "none"


def _without_rubric(pool: list[Candidate], body: str) -> list[Candidate]:
    """The candidates without the points of a repeated rubric, "Score 1: bad"."""
    points = []
    for candidate in pool:
        if candidate.cue == "score" and body.startswith(":", candidate.end):
            points.append(candidate)
    if len({point.value for point in points}) < 2:
        points = []
    for candidate in pool:
        if candidate.cue == "leading" and _POINT.match(body, candidate.end):
            nearby = rf"\n ?(?:{candidate.value + 1:g}|{candidate.value - 1:g}) ?[:=-] "
            if re.search(nearby, body):
                points.append(candidate)
    return [candidate for candidate in pool if candidate not in points]


_POINT = re.compile(r" ?[:=-] ")


def _by_standing(
    pool: list[Candidate],
    presented: list[Candidate],
    live: list[Candidate],
    body: str,
    label: str,
) -> Candidate | Missing | None:
    """The verdict of the strongest cue that has one, None where no cue has."""
    plain = {candidate.value for candidate in live if candidate.strength >= PHRASE}
    for standing in _STANDINGS:
        verdicts = [candidate for candidate in live if candidate.strength in standing]
        aspect = standing == (ASPECT,) and not label
        if not aspect and any(not verdict.label for verdict in verdicts):
            verdicts = [verdict for verdict in verdicts if not verdict.label]
        values = {verdict.value for verdict in verdicts}
        if aspect and values:
            # "4/5 ... 3/5 for style": one aspect is no more than a number of its own
            values |= {weak.value for weak in live if weak.strength <= FORM}
        if len(values) > 1:
            return _conflict(verdicts, values)
        # a verdict that is repeated where the text is cut off stands
        stops = []
        for stop in presented:
            repeated = stop.veto == CUT and stop.value in plain
            if stop.blocks and stop.strength in standing and not repeated:
                stops.append(stop)
        if stops and all(stop.rescaled for stop in stops):
            if values:
                stops = []
            else:
                live = [candidate for candidate in live if candidate.kind == "of"]
                if live:
                    continue  # "8/10, that is 4/5"
        if stops:
            status = Status.TRUNCATED if stops[0].veto == CUT else Status.UNPARSED
            return status, stops[0].veto, "doubt"
        if standing == (FORM,) and values:
            # nothing says which of several shares of the scale is the verdict
            values |= {
                other.value for other in pool if other.kind == "of" and not other.veto
            }
            if len(values) > 1:
                return _conflict(verdicts, values)
        if values:
            return _settled(verdicts[-1], body)
    return None


def _conflict(verdicts: list[Candidate], values: set[float]) -> Missing:
    """Why different verdicts of the same strength give no score."""
    labelled = [verdict for verdict in verdicts if verdict.label]
    scored = {f"{verdict.label} {shown(verdict.value)}" for verdict in labelled}
    reason = f"different verdicts: {', '.join(map(shown, sorted(values)[:6]))}"
    if len(scored) > 1:
        names = ", ".join(sorted(scored)[:6])[:120]
        reason = f"scores under several labels and none overall: {names}"
    return Status.UNPARSED, reason, "conflict"


_GOES_ON = re.compile(r"\b(?:but|however|nevertheless|still|though|if|so|yet|based)\b")


def _settled(best: Candidate, body: str) -> Candidate | Missing:
    """The verdict, unless the text declines to give one, or takes it back."""
    if best.strength < PHRASE and best.start > 12:
        declined = DECLINED.search(f" {body[: min(best.start, 200)]}")
        if declined and not _GOES_ON.search(body, declined.end() - 1, best.start):
            reason = "the judge declined or says that it cannot rate"
            return Status.REFUSED, reason, "silence"
    if WITHDRAWN.search(body, best.end) or RETHINKS.search(body, best.end):
        reason = f"what follows takes {shown(best.value)} back"
        return Status.UNPARSED, reason, "conflict"
    return best


# --- under a label
def under(
    body: str,
    pool: list[Candidate],
    low: float,
    high: float,
    label: str,
    strict: bool = False,
) -> Rating:
    """The score right at `label`, else (unless `strict`) one under no label at all."""
    at_label = _at_label(body, pool, label)
    for candidate in at_label:
        # "Relevance to the question" is asked for
        is_label = candidate.label.split() == _around(label)[0]
        if is_label and candidate.veto == SOMETHING_ELSE:
            candidate.veto = ""
    if any(not candidate.veto or candidate.blocks for candidate in at_label):
        for candidate in at_label:
            if not candidate.strength and not candidate.veto:
                candidate.present(ASPECT, "at the label")
                doubt(candidate, body)
            candidate.strength = FINAL
            candidate.label = ""  # all are this label's
        return _decide(body, at_label, low, high, label)
    words_of_label = _around(label)[0]
    names = (ASPECT, PHRASE, LABEL)
    named = [
        candidate
        for candidate in pool
        if candidate.label and candidate.strength in names
    ]
    unnamed = [candidate for candidate in pool if candidate not in named]
    alone = [candidate for candidate in unnamed if candidate.strength >= PHRASE]
    scored_alone = not all(candidate.veto for candidate in alone)
    if named and not scored_alone:
        scored = ", ".join(sorted({candidate.label for candidate in named})[:6])[:100]
        reason = f"no score labelled {label!r}; scored are: {scored}"
    elif all(word in body for word in words_of_label) and DECLINED.search(f" {body}"):
        reason = f"the judge declined or says that it cannot rate {label!r}"
    elif strict:
        reason = f"nothing is labelled {label!r}"
    else:
        return _decide(body, unnamed, low, high, label)
    return Rating(math.nan, Status.UNPARSED, reason, "aspect")


def _at_label(body: str, pool: list[Candidate], label: str) -> list[Candidate]:
    """The candidates right before or after a label, or with its name."""
    words_of_label, lead, follow = _around(label)
    at_label = []
    for candidate in pool:
        window = body[max(0, candidate.start - 110) : candidate.start]
        # not "Fluency: two slips"
        alone = candidate.token[0].isdigit() or candidate.strength
        if (
            (alone and lead.search(window))
            or follow.match(body, candidate.end)
            or candidate.label.split() == words_of_label
        ):
            at_label.append(candidate)
    return at_label


@functools.lru_cache(maxsize=1024)
def _around(label: str) -> tuple[list[str], re.Pattern, re.Pattern]:
    """The words of a label, and patterns of it right before and after a number."""
    words_of_label = re.findall(r"[^\W_]+", readable(label).lower())
    name = r"[\W_]+".join(map(re.escape, words_of_label))
    lead = re.compile(
        rf"\b{name}\b(?:[ _](?:score|rating|quality|level|grade))*[\s\"'*)\]]{{0,12}}"
        r"(?:\([^()\n]{0,40}\))?\s?(?::|=|\||,|-|->|is|of|at|gets|receives"
        r"|scores)?\s{0,4}"
        r"(?:(?:an? )?(?:score|rating|grade) of|a|an)?[\s\"'*(\[]{0,5}\Z"
    )
    follow = re.compile(
        r"\s?(?:(?:/|out of)\s?\d+)?\s?(?:stars?|points?)?\s?"
        rf"(?:for|in|on|regarding|in terms of)\s(?:the\s|its\s){{0,2}}{name}\b"
    )
    return words_of_label, lead, follow
