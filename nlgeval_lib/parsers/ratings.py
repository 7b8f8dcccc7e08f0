"""Ratings: the score of a whole text, the score under a label, and feedback.

Feedback is a text with a score behind a mark such as [RESULT].
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from dataclasses import dataclass

from nlgeval_lib.parsers import tables
from nlgeval_lib.parsers.candidates import CUT, SPLIT, Candidate, candidates, doubt
from nlgeval_lib.parsers.normalise import OTHER, TAG, normalised, without_example
from nlgeval_lib.parsers.tables import ALONE, ASPECT, FINAL, FORM, LABEL, PHRASE
from nlgeval_lib.parsers.text import (
    DECLINED,
    DIGITS,
    WORD,
    Parsed,
    check_scale,
    check_text,
    readable,
    shown,
    spelled,
    why,
    words,
)
from nlgeval_lib.records import Status

RULES = ("none", "alone", "form", "aspect", "phrase", "label", "final")  # by strength


@dataclasses.dataclass(frozen=True, slots=True)
class Rating(Parsed):
    """A score on the scale `low` to `high`.

    `matched` is the place of the text that holds it, in lower case.
    """

    low: float = math.nan
    high: float = math.nan
    label: str = ""
    matched: str = ""


# --- the verdict
_STANDINGS = ((FINAL,), (LABEL, PHRASE), (ASPECT,), (FORM,), (ALONE,))
_STARS = re.compile(r"★+☆+")
_POINT_LINE = re.compile(r"\n\s?(?P<number>\d{1,2})\s?[:=-]\s")
_NUMBERED_START = re.compile(r"[\s*>#-]{0,9}\d{1,2}\s?(?P<sign>[:=-])\s")


def rating(
    text: str | None, low: float, high: float, label: str | None = None
) -> Rating:
    """The score that `text` gives on the scale from `low` to `high`.

    A number counts only where the text presents it as a verdict: in JSON or a tag,
    after a label ("Score: 4"), in a phrase ("a score of 4", "I rate it 4"), as n/high
    or n out of high, in stars, or alone on a line. Numbers that are negated,
    hypothetical, part of a range, a date, a result or a rubric, or on another scale, do
    not. Two different verdicts, or any doubt, make it missing. Nothing is clipped or
    rescaled (but 80% is .8 on 0 to 1).

    `label` asks for the score under that name ("Coherence") where the text scores
    several; a score under another name is then never taken.

    Returns: `Rating`; status unparsed, out_of_range, refused, truncated or empty where
    there is no value.
    Raises: ValueError for a bad scale or a blank label; TypeError where `text` is
    neither str nor None.
    """
    if isinstance(text, str) and len(text) < 200:
        return _remembered(text, low, high, label)
    return _read_fast(text, low, high, label)


def _read_fast(text: str | None, low: float, high: float, label: str | None) -> Rating:
    """The rating of a text; the most frequent form of text is read in one step."""
    if label is None and isinstance(text, str) and text.isascii():
        plain_rating = _plain(text, low, high)
        if plain_rating:
            return plain_rating
    return read_text(text, low, high, label)[0]


# judges say the same short thing again and again
_remembered = functools.lru_cache(maxsize=4096, typed=True)(_read_fast)
# most recorded texts: one number in all, behind "Score:" after a sentence or at the
# start, that ends its line
_PROSE = r"[^\d{}|\\<>=$#&*_`\[]*"
_PLAIN = re.compile(
    rf"(?:{_PROSE}(?<!\.[eg])[.!?]\s{{1,9}})?[ \t]{{0,9}}"
    r"(?P<rank>[Ff]inal |[Oo]verall )?(?:[Ss]core|[Rr]ating):[ ]?"
    r"(?P<value>\d(?:\.\d)?)(?:(?:/| out of )(?P<base>\d{1,3}))?[ ]?"
    rf"(?:\([a-z ]+\))?(?:\.|(?=\n|\Z))[ ]?(?:\n{_PROSE})?\Z"
)


def _plain(text: str, low: float, high: float) -> Rating | None:
    """The verdict of a text of the most frequent form, None for any other text.

    With no second number and no markup nothing can take this verdict back.
    """
    plain = _PLAIN.match(text)
    if plain is None or without_example(text) != text:
        return None
    lower = text.lower()
    if spelled(lower) or tables.WITHDRAWN.search(lower, plain.end("value")):
        return None
    low, high = check_scale(low, high)
    if plain["base"] and float(plain["base"]) != high:
        return None
    start = max(0, plain.start("value") - 30)
    matched = lower[start : plain.end("value") + 8].strip()
    rule = "final" if plain["rank"] else "label"
    return _within(float(plain["value"]), rule, low, high, "", matched)


def _within(
    value: float, rule: str, low: float, high: float, label: str, matched: str
) -> Rating:
    """The rating of a number that was read: missing where it is off the scale."""
    if low <= value <= high:
        return Rating(value + 0.0, Status.OK, "", rule, low, high, label, matched)
    reason = f"{shown(value)} is outside {shown(low)} to {shown(high)}"
    return Rating(
        math.nan, Status.OUT_OF_RANGE, reason, rule, low, high, label, matched
    )


def trace(
    text: str | None, low: float, high: float, label: str | None = None
) -> list[str]:
    """How `rating` reads a text, in lines.

    The lines hold the normalised text, every candidate with its fate, and the verdict.
    """
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
        missing = (Status.EMPTY, "no text", "empty")
        return Rating(math.nan, *missing, low, high, label or ""), "", []
    body = normalised(content, low, high)
    pool = candidates(body, low, high)
    if label:
        verdict = under(body, pool, low, high, label)
    else:
        verdict = _rated(_decide(body, pool, low, high), body, low, high)
    return verdict, body, pool


Missing = tuple[Status, str, str]  # status, reason and rule of a text without a value


def _rated(
    outcome: Candidate | Missing, body: str, low: float, high: float, label: str = ""
) -> Rating:
    """The rating that a verdict, or the reason why there is none, comes to."""
    if isinstance(outcome, tuple):
        return Rating(math.nan, *outcome, low, high, label)
    rule = RULES[outcome.strength]
    if outcome.cue in ("alone", "leading", "closing", "bracketed"):
        rule = outcome.cue
    window = body[max(0, outcome.start - 30) : outcome.end + 8]
    matched = window.replace(TAG, "").strip()
    return _within(outcome.value, rule, low, high, label, matched)


def _decide(
    body: str, pool: list[Candidate], low: float, high: float, label: str = ""
) -> Candidate | Missing:
    """The last number of the strongest cue that has a verdict.

    Different verdicts of the same strength are a conflict.
    """
    presented = [candidate for candidate in pool if candidate.strength]
    if len(pool) > 1 and (presented or len(body) < 300):
        pool = _corrected(pool, body)
        presented = [candidate for candidate in pool if candidate.strength]
    if len(presented) == 1:
        single = presented[0]
        if not single.veto and single.cue != "leading":
            return _settled(single, body, low, high)
    presented = _without_echo(presented, body)
    live = [candidate for candidate in presented if not candidate.veto]
    blocked = _blocked(presented, live)
    live = _on_scale_first(live, low, high)
    if presented:
        outcome = _by_standing(live, blocked, body, (low, high), label)
        if outcome:
            return outcome
    if not label and not blocked and not live:
        closing = _closing(pool, body, low, high)
        if closing:
            return _settled(closing, body, low, high)
    silence = why(body)
    if silence:
        status, reason = silence
        return status, reason, "none" if status is Status.UNPARSED else "silence"
    reason = "no number is presented as the score"
    vetoed = [candidate for candidate in presented if candidate.veto]
    if vetoed:
        reason = max(vetoed, key=lambda candidate: candidate.strength).veto
    return Status.UNPARSED, reason, "none"


# of JSON with other numbers
_NO_SCORE = re.compile(r"^(?:(?:final|overall) )?(?:score|rating|grade): null$", re.M)
_UNSURE = re.compile(
    r" ?i (?:don't know|do not know|can't|cannot|'m not sure|am not sure)"
    r"|,? ?i'm not sure"
)
_GOES_ON = re.compile(
    r"\b(?:but|however|nonetheless|nevertheless|still|though|if|so|yet|instead|based)\b"
)


def _blocked(presented: list[Candidate], live: list[Candidate]) -> list[Candidate]:
    """The candidates whose veto rules out weaker ones.

    A verdict that is repeated where the text is cut off stands.
    """
    verdicts = {candidate.value for candidate in live if candidate.strength >= PHRASE}
    blocked = []
    for candidate in presented:
        repeated = candidate.veto == CUT and candidate.value in verdicts
        if candidate.blocks and not repeated:
            blocked.append(candidate)
    return blocked


def _on_scale_first(live: list[Candidate], low: float, high: float) -> list[Candidate]:
    """Without weak numbers off the scale ("scoring 40 points") where one is on it."""
    if not any(low <= candidate.value <= high for candidate in live):
        return live
    return [
        candidate
        for candidate in live
        if low <= candidate.value <= high or candidate.strength >= LABEL
    ]


def _by_standing(
    live: list[Candidate],
    blocked: list[Candidate],
    body: str,
    scale: tuple[float, float],
    label: str,
) -> Candidate | Missing | None:
    """The verdict of the strongest cue that has one, None where no cue has."""
    low, high = scale
    for standing in _STANDINGS:
        aspect = standing == (ASPECT,)
        verdicts = [candidate for candidate in live if candidate.strength in standing]
        if not aspect and any(not verdict.label for verdict in verdicts):
            verdicts = [verdict for verdict in verdicts if not verdict.label]
        values = {verdict.value for verdict in verdicts}
        if aspect and not label and _NO_SCORE.search(body):
            return Status.UNPARSED, "the score itself is null", "none"
        if aspect and values and not label:
            # "4/5 ... 3/5 for style", "4 ... Response: 2": one aspect is no more than
            # another number of its own
            for candidate in live:
                if candidate.strength <= FORM and low <= candidate.value <= high:
                    values.add(candidate.value)
        if len(values) > 1 and not aspect and _last_corrects(verdicts, body):
            verdicts = verdicts[-1:]
            values = {verdicts[0].value}
        if len(values) > 1:
            return _conflict(verdicts, values)
        stops = [stop for stop in blocked if stop.strength in standing]
        rescaled = all(stop.rescaled for stop in stops)
        if stops and not (values and rescaled):
            if rescaled and any(candidate.based for candidate in live):
                # "8/10, that is 4/5"
                live = [candidate for candidate in live if candidate.based]
                continue
            veto = stops[0].veto
            status = Status.TRUNCATED if veto == CUT else Status.UNPARSED
            return status, veto, "doubt"
        if values:
            return _settled(verdicts[-1], body, low, high)
    return None


def _last_corrects(verdicts: list[Candidate], body: str) -> bool:
    """Whether the judge takes back the other verdicts before it gives the last one."""
    last = verdicts[-1]
    different = [verdict for verdict in verdicts if verdict.value != last.value]
    nearest = max(different, key=lambda verdict: verdict.start)
    if last.start - nearest.end >= 400:
        return False
    return tables.CORRECTION.search(body, nearest.end, last.start) is not None


def _conflict(verdicts: list[Candidate], values: set[float]) -> Missing:
    """Why different verdicts of the same strength give no score."""
    scored = sorted(
        {
            f"{verdict.label} {shown(verdict.value)}"
            for verdict in verdicts
            if verdict.label
        }
    )
    reason = f"different verdicts: {', '.join(map(shown, sorted(values)[:6]))}"
    if len(scored) > 1:
        names = ", ".join(scored[:6])[:120]
        reason = f"scores under several labels and none overall: {names}"
    return Status.UNPARSED, reason, "conflict"


def _settled(
    best: Candidate, body: str, low: float, high: float
) -> Candidate | Missing:
    """The verdict, unless the text declines to give one, or corrects it."""
    if best.strength < PHRASE and best.start > 12:
        declined = DECLINED.search(f" {body[: min(best.start, 200)]}")
        if declined and not _GOES_ON.search(body, declined.end() - 1, best.start):
            reason = "the judge declined or says that it cannot rate"
            return Status.REFUSED, reason, "silence"
    conflict = ""
    if tables.WITHDRAWN.search(body, best.end):
        conflict = f"what follows takes {shown(best.value)} back"
    conflict = conflict or _other_stars(best, body, high)
    conflict = conflict or _taken_back(best, body, low, high)
    if conflict:
        return Status.UNPARSED, conflict, "conflict"
    return best


def _other_stars(best: Candidate, body: str, high: float) -> str:
    """How a row of stars such as ★★★☆☆ contradicts a verdict; empty if not."""
    rows = _STARS.findall(body) if "☆" in body else []
    if len(set(rows)) > 1:  # of several aspects: those of its line
        line_start = body.rfind("\n", 0, best.start) + 1
        rows = _STARS.findall(body[line_start:].split("\n", 1)[0])
    for row in rows:
        stars = row.count("★")
        if len(row) == high and abs(stars - best.value) >= 1.0:
            return f"different verdicts: {shown(best.value)}, {stars} stars"
    return ""


def _taken_back(best: Candidate, body: str, low: float, high: float) -> str:
    """How the judge corrects a verdict after it; empty where it does not."""
    for place in tables.CORRECTION.finditer(body, best.end, best.end + 20_000):
        correction = place["rest"]
        if not correction.strip(" .,!") or _UNSURE.match(correction):
            return f"the judge takes {shown(best.value)} back"
        for candidate in candidates(correction, low, high):
            value = candidate.value
            if low <= value <= high and value != best.value:
                return f"the judge corrects {shown(best.value)} to {shown(value)}"
    return ""


def _corrected(pool: list[Candidate], body: str) -> list[Candidate]:
    """The candidates from the last correction on, all where there is none.

    A correction ("no, 3", "correction: 3") must say no more than the number.
    """
    for place in tables.CORRECTION.finditer(body, pool[0].end, pool[-1].end + 60):
        correction = tables.CORRECTED.match(place["rest"])
        if not correction:
            continue
        start = place.start("rest")
        corrected = [
            candidate
            for candidate in pool
            if not candidate.veto and 0 <= candidate.start - start < correction.end()
        ]
        if len(corrected) == 1 and not place["unsure"]:
            verdict = corrected[0]
            verdict.present(max(verdict.strength, LABEL), "corrected")
            pool = [candidate for candidate in pool if candidate.start >= verdict.start]
    return pool


_NO_FILL = {"probably", "likely", "now", "only", "just"}


_CONCLUDES = re.compile(
    r"(?:(?P<so>\b"
    r"(?:so|thus|hence|therefore|as (?:it|things) stands?|as is"
    r"|which averages (?:out )?to|which makes):?,?"
    r"|->)"
    r"|(?P<sign>[:;]|\s-)|(?<!thing )\bbut|\A)"
    rf"(?:(?:\A|\s)(?:{'|'.join(sorted(tables.FILL - _NO_FILL))}))*\s*\Z"
)
_DEDUCES = re.compile(r"\b(?:minus|deduct\w*|subtract\w*|points? off|knock\w* off)\b")
_SAYING = words("says said say writes reads like following rater asked wants")
_NO_VERDICT = (tables.NOT_A_SCORE | _SAYING) - tables.TOPS - {"not", "never"}
_LAST = re.compile(
    r"(?:,? (?:it is|in the end|overall|then|for me|from me))?[\s.!)]*\Z"
)


def _closing(
    pool: list[Candidate], body: str, low: float, high: float
) -> Candidate | None:
    """The number that ends a short text after a "so", a sign or a "but".

    None where another number can be its verdict.
    """
    if not pool or len(body) > 300:
        return None
    if pool[-1].veto or pool[-1].strength or not low <= pool[-1].value <= high:
        return None
    last = dataclasses.replace(pool[-1])
    lead = _CONCLUDES.search(body[: last.start].rstrip(" \t\n\"'("))
    if not lead or not _LAST.match(body, last.used):
        return None
    rivals = any(
        not candidate.veto and candidate.value != last.value for candidate in pool
    )
    if rivals and not lead["so"] and not _DEDUCES.search(body):
        return None
    if lead["sign"]:
        lead_words = re.findall(r"[a-z]+", body[: lead.start()])
        if len(lead_words) <= 2 or not _NO_VERDICT.isdisjoint(lead_words[-3:]):
            return None  # "Page: 4"
    last.present(FORM, "closing")
    doubt(last, body)
    return None if last.veto else last


def _without_echo(pool: list[Candidate], body: str) -> list[Candidate]:
    """Without the scale points of a repeated rubric.

    These are "Score 1: bad", and "1 - poor" with a next point below.
    """
    enumerated = {candidate.value for candidate in pool if candidate.enumerated}
    if len(enumerated) > 1:
        pool = [candidate for candidate in pool if not candidate.enumerated]
    leading = [candidate for candidate in pool if candidate.cue == "leading"]
    if not leading or not _NUMBERED_START.match(body):
        return pool
    lead = leading[0]
    for line in _POINT_LINE.finditer(body):
        if abs(float(line["number"]) - lead.value) == 1:
            return [candidate for candidate in pool if candidate is not lead]
    return pool


# --- under a label
_SECTION = re.compile(
    r"(?:\A|\n)[\s>#*-]*(?:\d{1,2}[.)]\s*)?"
    r"(?P<name>[^\W\d_][\w /&'-]{0,48}?)\s*(?:\([^)\n]{0,40}\)\s*)?[*\"]*\s*"
    r"(?::|-(?=\s)|(?=\n|\Z))"
)
_INNER = (tables.NOUNS | tables.PARTS | tables.RANKS) - words(
    "conversation history fact document source"
)


def under(
    body: str,
    pool: list[Candidate],
    low: float,
    high: float,
    label: str,
    strict: bool = False,
) -> Rating:
    """The score right at `label`, else in the section that it heads.

    Where there is neither: without `strict`, a score under no label at all.
    """
    at_label = _at_label(body, pool, label)
    if any(not candidate.veto or candidate.blocks for candidate in at_label):
        _strengthen(at_label, body)
        outcome = _decide(body, at_label, low, high, label)
        return _rated(outcome, body, low, high, label)
    words_of_label = _around(label)[0]
    start, section = _section(body, words_of_label)
    if section is not None:
        if re.search(rf"{DIGITS}|\b{WORD}\b|\bn/?a\b", section):
            return _of_section(section, low, high, label)
        # "Rating: 3. Coherence: it flows well."
        pool = [candidate for candidate in pool if candidate.end <= start]
    named = [
        candidate for candidate in pool if _under_another(candidate, words_of_label[-1])
    ]
    unnamed = [candidate for candidate in pool if candidate not in named]
    scored_alone = any(
        candidate.strength >= PHRASE and not candidate.veto for candidate in unnamed
    )
    if named and not scored_alone:
        names = sorted({candidate.label for candidate in named})
        scored = ", ".join(names[:6])[:100]
        reason = f"no score labelled {label!r}; scored are: {scored}"
    elif all(word in body for word in words_of_label) and DECLINED.search(f" {body}"):
        reason = f"the judge declined or says that it cannot rate {label!r}"
    elif strict:
        reason = f"nothing is labelled {label!r}"
    else:
        outcome = _decide(body, unnamed, low, high, label)
        return _rated(outcome, body, low, high, label)
    return _rated((Status.UNPARSED, reason, "aspect"), body, low, high, label)


def _at_label(body: str, pool: list[Candidate], label: str) -> list[Candidate]:
    """The candidates right before or after a label, or with its name."""
    words_of_label, lead, follow = _around(label)
    known_words = tables.NOT_ASKED.union(words_of_label)
    at_label = []
    for candidate in pool:
        # not "Fluency: two slips"
        alone = candidate.token[0].isdigit() or tables.ENDS.match(body, candidate.used)
        window = body[max(0, candidate.start - 110) : candidate.start]
        if (
            (alone and lead.search(window))
            or follow.match(body, candidate.end)
            or set(words_of_label) <= set(candidate.label.split()) <= known_words
        ):
            at_label.append(candidate)
    return at_label


def _strengthen(at_label: list[Candidate], body: str) -> None:
    """Present the numbers at a label as final, unless something takes them back."""
    for candidate in at_label:
        if not candidate.strength and not candidate.veto:
            candidate.present(ASPECT, "at the label")
            doubt(candidate, body)
        if candidate.veto == SPLIT:
            candidate.spoil("")
        if not candidate.veto:
            candidate.strength = FINAL
        elif not candidate.strength:
            candidate.strength = ASPECT


def _of_section(section: str, low: float, high: float, label: str) -> Rating:
    """The score of the section that a label heads."""
    outcome = _decide(section, candidates(section, low, high), low, high)
    part = _rated(outcome, section, low, high)
    return dataclasses.replace(
        part,
        reason=part.reason and f"under {label!r}: {part.reason}",
        rule=f"section:{part.rule}",
        label=label,
    )


def _under_another(candidate: Candidate, word: str) -> bool:
    """Whether a number is the score under another label than one ending in `word`."""
    if candidate.strength not in (ASPECT, PHRASE, LABEL):
        return False
    if tables.NEUTRAL.issuperset(candidate.label.split()):
        return False
    # "a score of 2 for irrelevance"
    return not (candidate.strength == PHRASE and candidate.label.endswith(word))


@functools.lru_cache(maxsize=1024)
def _around(label: str) -> tuple[list[str], re.Pattern, re.Pattern]:
    """The words of a label, and patterns that find it beside a number.

    The first pattern is for a label right before the number, the second for one right
    after it.
    """
    words_of_label = re.findall(r"[^\W_]+", readable(label).lower())
    name = r"[\W_]+".join(map(re.escape, words_of_label))
    lead = re.compile(
        rf"\b{name}\b"
        r"(?: (?:is|was|seems) (?:[a-z]+ ){1,3}\(\Z"
        r"|(?: of (?:the|this|its) [a-z]+(?=\s?[:=|]))?"
        r"(?:[ _](?:score|rating|quality|level|grade))*[\s\"'*)\]★☆]{0,12}"
        r"(?:\([^()\n]{0,40}\))?(?: only| just)?\s?"
        r"(?::|\?|=|\||,|-|->|=>|is|was|would be|of|at|gets|receives|scores|as)?\s{0,4}"
        r"(?:(?:an? )?(?:score|rating|grade) of|a|an|about)?[\s\"'*(\[]{0,5}\Z)"
    )
    follow = re.compile(
        r"\s?(?:(?:/|out of)\s?\d+)?\s?(?:stars?|points?)?\s?"
        rf"(?:for|in|on|regarding|in terms of)\s(?:the\s|its\s){{0,2}}{name}\b"
    )
    return words_of_label, lead, follow


_AFTER_NAME = words("score rating quality")


def _section(text: str, words_of_label: list[str]) -> tuple[int, str | None]:
    """Where the label stands as a heading, and the text up to the next heading."""
    if not all(word in text for word in words_of_label):
        return 0, None
    place = 0
    start = None
    size = len(words_of_label)
    for heading in _SECTION.finditer(text):
        heading_words = re.findall(r"[^\W_]+", heading["name"])
        if start is None:
            begins = heading_words[:size] == words_of_label
            if begins and _AFTER_NAME.issuperset(heading_words[size:]):
                place = heading.start()
                start = heading.end()
        elif _INNER.isdisjoint(heading_words) and len(heading_words) <= 5:
            return place, text[start : heading.start()]
    return (0, None) if start is None else (place, text[start:])


# --- feedback with a score behind a mark
@dataclass(frozen=True, slots=True)
class Feedback(Parsed):
    """A score with the feedback that leads to it.

    `feedback` is kept also where the score is missing.
    """

    feedback: str = ""
    low: float = math.nan
    high: float = math.nan
    mode: str = "verbalizer"


_MARKS = {  # by mode
    "verbalizer": re.compile(
        r"\[\s{0,5}(?:(?:final|overall)\s)?"
        r"(?:results?|scores?|ratings?|grade|verdict)\s{0,5}[:=]?\s{0,5}"
        r"(?P<inner>[^\[\]\n]{0,40})\]",
        re.I,
    ),
    "strict": re.compile(r"\[RESULT\]", re.I),
}
_MARKS["brackets"] = _MARKS["verbalizer"]
# the score alone in brackets at the end, with the prompt's words about it or without
_LAST_BRACKETS = re.compile(
    r"\[\s?(?P<score>\d{1,6})\s?\](?:\s?\([^()\n\d]{0,40}\d+ (?:and|to) \d+\))?[\s.]*\Z"
)
_STRICT_SCORE = re.compile(
    r"[ \t]{0,9}\n?[ \t]{0,9}\(?"
    r"(?P<score>\d{1,6})\)?[ \t]{0,9}\.?[ \t]{0,9}(?=\n|\Z|</s>)",
    re.ASCII,
)
_HOLDS_NUMBER = re.compile(rf"\d|\b{WORD}\b", re.I)
# the format line of the prompt, repeated: "[RESULT] (an integer number between 1 and
# 5)"
_FORMAT = re.compile(
    r"\s?[\"'(<\[{]{0,3}\s?"
    r"(?:an?|the|your|write|insert|integer|score|number|\d+\s?(?:-|to)\s?\d+)\b",
    re.I,
)
# a model that does not stop begins the next prompt
_NEXT_PROMPT = re.compile(
    r"#{2,}\s?"
    r"(?:task description|the instruction|instruction|response to evaluate"
    r"|reference answer|score rubrics?|feedback|human|user)"
    r"|\[/?INST\]|<\|?(?:im_start|im_end|user|endoftext)\|?>",
    re.I,
)
_HEADS = re.compile(r"eedback(?<=\b[Ff]eedback)\s?:")
_HEAD = re.compile(r"\A[\s\"'*#]*feedback\s?:?[\s*]*", re.I)
_IN_JSON = re.compile(
    r'"(?:feedback|reason|explanation|rationale|analysis)"\s?:\s?"((?:[^"\\]|\\.)*)"',
    re.I,
)
_QUOTED_ON = re.compile(
    r"[^\n\w\"']{0,6}(?:\d[\d./]{0,5}\s?)?(?P<quote>[\"'])[,.]?[ ]+[a-z]", re.I
)


def feedback(
    text: str | None, low: float = 1, high: float = 5, mode: str = "verbalizer"
) -> Feedback:
    """The score and the feedback in a text of the form "... [RESULT] 4".

    The last verdict counts: the last `[RESULT]` that is not the prompt's format line,
    up to where a next prompt begins. `mode="strict"` reads `[RESULT]` and an integer
    that ends its line, nothing else. `mode="verbalizer"` also reads "[Score 5]",
    "[RESULT] 4 out of 5", and without any mark the last "Score: 4", "So the overall
    score is 4" or "I rate it 4/5". `mode="brackets"` reads, before those without a
    mark, a bare "[4]" at the end. Numbers in the feedback never win over a mark.

    Returns: `Feedback`; `value` on the scale low to high.
    Raises: ValueError for a bad scale or mode; TypeError where `text` is neither str
    nor None.
    Source: Prometheus, section 3.2 and appendix J (format), Table 9 (verbaliser).
    """
    low, high = check_scale(low, high)
    if mode not in _MARKS:
        raise ValueError(f"mode must be one of {', '.join(_MARKS)}, got {mode!r}")
    content = check_text(text, "feedback")
    if content is None:
        return Feedback(math.nan, Status.EMPTY, "no text", "empty", "", low, high, mode)
    source = readable(content)
    read, start, end = _last_mark(source, low, high, mode)
    prefix = ""
    last = _LAST_BRACKETS.search(source) if mode == "brackets" else None
    if last and not (read and read.ok):
        read = _within(float(last["score"]), "brackets", low, high, "", "")
        start, end = last.span()
    if read is None and mode != "strict":
        verdict, *_ = read_text(source, low, high, None)
        # not a number that only stands alone
        if not verdict.ok or verdict.rule in ("final", "label", "phrase", "form"):
            read = verdict
            prefix = "verbalizer:"
    if read is None:
        silence = why(source.lower())
        status, reason = silence or (Status.UNPARSED, "no [RESULT] with a score")
        read = Rating(math.nan, status, reason, "none")
    rule = f"{prefix}{read.rule}"
    feedback_text = _feedback_text(source, start, end)
    return Feedback(
        read.value, read.status, read.reason, rule, feedback_text, low, high, mode
    )


def _last_mark(
    source: str, low: float, high: float, mode: str
) -> tuple[Rating | None, int, int]:
    """The verdict behind the last mark that has one, and where it starts and ends.

    Without one: None, and the end of the text twice.
    """
    read_mark = _strict if mode == "strict" else _marked
    read = None
    start = len(source)
    end = len(source)
    marks = list(_MARKS[mode].finditer(source))
    for mark in marks[:100] + marks[100:][-100:]:
        scored = read is not None and read.ok
        if scored and _NEXT_PROMPT.search(source, end, mark.start()):
            break
        verdict, verdict_end = read_mark(source, mark, low, high)
        if verdict is None:
            continue  # the format line of a prompt
        begun_again = scored and verdict.rule == "cut" and mode != "strict"
        if not begun_again:
            read = verdict
            start = mark.start()
            end = verdict_end
    return read, start, end


def _strict(
    source: str, mark: re.Match, low: float, high: float
) -> tuple[Rating | None, int]:
    """The integer behind [RESULT] and where it ends; None for a format line."""
    if _FORMAT.match(source, mark.end()):
        return None, 0
    score = _STRICT_SCORE.match(source, mark.end())
    if score:
        return _within(float(score["score"]), "result", low, high, "", ""), score.end()
    missing = (Status.TRUNCATED, "the text ends after [RESULT]", "cut")
    if source[mark.end() :].strip():
        missing = (Status.UNPARSED, "no integer alone after [RESULT]", "result")
    return Rating(math.nan, *missing), len(source)


def _marked(
    source: str, mark: re.Match, low: float, high: float
) -> tuple[Rating | None, int]:
    """The score in or behind a mark and where it ends; None where it is no verdict."""
    inside = _HOLDS_NUMBER.search(mark["inner"]) is not None
    content = mark["inner"] if inside else source[mark.end() : mark.end() + 160]
    if _quoted(source, mark) or (not inside and _is_format(content, low, high)):
        return None, 0
    if not content.strip():
        missing = (Status.TRUNCATED, "the text ends after its mark", "cut")
        return Rating(math.nan, *missing), len(source)
    content = _NEXT_PROMPT.split(content, maxsplit=1)[0].replace("</s>", " ")
    content = content.strip().lstrip("\"': =>")
    read = rating(f"score: {content}", low, high)
    end = mark.end()
    if not inside:
        score = _SCORE_TEXT.match(source, end)
        end = score.end() if score else end
    return Rating(read.value, read.status, read.reason, f"result:{read.rule}"), end


def _quoted(source: str, mark: re.Match) -> bool:
    """Whether a mark stands in quotation marks in the middle of a sentence."""
    quoted_on = _QUOTED_ON.match(source, mark.end())
    opening = source[max(0, mark.start() - 2) : mark.start()].strip()[-1:]
    if not quoted_on or quoted_on["quote"] != opening:
        return False
    return source[: mark.start() - 1].strip("\"' \n") != ""


def _is_format(content: str, low: float, high: float) -> bool:
    """Whether what follows a mark is the prompt's format line, without a number."""
    if not _FORMAT.match(content):
        return False
    line = content.split("\n", 1)[0]
    return not _HOLDS_NUMBER.search(normalised(line, low, high))


_SCORE_TEXT = re.compile(
    r"[\s(*:=-]*(?:\w+:\s*)?(?:\d+(?:\.\d+)?(?:\s*(?:/|out of)\s*\d+)?)?[)\s.*]*"
)


def _feedback_text(source: str, start: int, end: int) -> str:
    """The feedback before the verdict, or after it where nothing is before."""
    if start == len(source) and source.lstrip().startswith(("{", "```")):
        in_json = _IN_JSON.search(source)
        if in_json:
            return in_json[1].strip()
    head_ends = [head.end() for head in _HEADS.finditer(source, 0, start)]
    first = head_ends[-1] if head_ends else 0
    lead = _HEAD.sub("", source[first:start]).strip()
    if lead.strip(" \t\n#*-\"'"):
        return lead
    return _HEAD.sub("", source[end:]).strip()
