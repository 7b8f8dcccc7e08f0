"""Ratings: one rule for the verdict, of a whole text and under a label; and feedback with a score behind a mark."""

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
)
from nlgeval_lib.records import Status

RULES = ("none", "alone", "form", "aspect", "phrase", "label", "final")  # by strength


@dataclasses.dataclass(frozen=True, slots=True)
class Rating(Parsed):
    """A score on the scale `low` to `high`; `matched` is the place of the text that carried it (lower case)."""

    low: float = math.nan
    high: float = math.nan
    label: str = ""
    matched: str = ""


# --- the verdict ----------------------------------------------------------------------------------------------------
_STANDINGS = ((FINAL,), (LABEL, PHRASE), (ASPECT,), (FORM,), (ALONE,))
_STARS = re.compile(r"★+☆+")
_POINT_LINE = re.compile(r"\n\s?(?P<number>\d{1,2})\s?[:=-]\s")
_NUMBERED_START = re.compile(r"[\s*>#-]{0,9}\d{1,2}\s?(?P<sign>[:=-])\s")


def rating(text: str | None, low: float, high: float, label: str | None = None) -> Rating:
    """The score that `text` gives on the scale from `low` to `high`.

    A number counts only where the text presents it as a verdict: in JSON or a tag, after a label ("Score: 4"), in a
    phrase ("a score of 4", "I rate it 4"), as n/high or n out of high, in stars, or alone on a line. Numbers that are
    negated, hypothetical, part of a range, a date, a result or a rubric, or on another scale, do not. Two different
    verdicts, or any doubt, make it missing. Nothing is clipped or rescaled (but 80% is .8 on 0 to 1).

    `label` asks for the score under that name ("Coherence") where the text scores several; a score under another name
    is then never taken.

    Returns: `Rating`; status unparsed, out_of_range, refused, truncated or empty where there is no value.
    Raises: ValueError for a bad scale or a blank label; TypeError where `text` is neither str nor None.
    """
    short = isinstance(text, str) and len(text) < 200
    return (_remembered if short else _read_fast)(text, low, high, label)


def _read_fast(text: str | None, low: float, high: float, label: str | None) -> Rating:
    plain = _plain(text, low, high) if label is None and isinstance(text, str) and text.isascii() else None
    return plain or read_text(text, low, high, label)[0]


# judges say the same short thing again and again
_remembered = functools.lru_cache(maxsize=4096, typed=True)(_read_fast)
# most recorded texts: one number in all, behind "Score:" after a sentence or at the start, that ends its line
_PROSE = r"[^\d{}|\\<>=$#&*_`\[]*"
_PLAIN = re.compile(
    rf"(?:{_PROSE}(?<!\.[eg])[.!?]\s{{1,9}})?[ \t]{{0,9}}(?P<rank>[Ff]inal |[Oo]verall )?(?:[Ss]core|[Rr]ating):[ ]?"
    rf"(?P<value>\d(?:\.\d)?)(?:(?:/| out of )(?P<base>\d{{1,3}}))?[ ]?"
    rf"(?:\([a-z ]+\))?(?:\.|(?=\n|\Z))[ ]?(?:\n{_PROSE})?\Z"
)


def _plain(text: str, low: float, high: float) -> Rating | None:
    """The verdict of such a text, None of any other: with no second number and no markup nothing can take it back."""
    plain, said = _PLAIN.match(text), text.lower()
    if (
        plain is None
        or without_example(text) != text
        or spelled(said)
        or tables.WITHDRAWN.search(said, plain.end("value"))
    ):
        return None
    low, high = check_scale(low, high)
    if plain["base"] and float(plain["base"]) != high:
        return None
    matched = said[max(0, plain.start("value") - 30) : plain.end("value") + 8].strip()
    return _within(float(plain["value"]), "final" if plain["rank"] else "label", low, high, "", matched)


def _within(value: float, rule: str, low: float, high: float, label: str, matched: str) -> Rating:
    if low <= value <= high:
        return Rating(value + 0.0, Status.OK, "", rule, low, high, label, matched)
    reason = f"{shown(value)} is outside {shown(low)} to {shown(high)}"
    return Rating(math.nan, Status.OUT_OF_RANGE, reason, rule, low, high, label, matched)


def trace(text: str | None, low: float, high: float, label: str | None = None) -> list[str]:
    """How `rating` reads a text, a line each: the normalised text, every candidate with its fate, the verdict."""
    verdict, body, found = read_text(text, low, high, label)
    lines = body.replace(OTHER, "(another scale)").replace(TAG, "").split("\n")
    told = [f"text     {line}" for line in lines if line.strip()]
    for one in found:
        cue = f"{RULES[one.strength]} ({one.cue}{f', {one.label}' if one.label else ''})" if one.strength else "no cue"
        lost = "weaker than another" if one.strength else "not presented as a score"
        won = one.strength and verdict.ok and one.value == verdict.value
        told.append(f"number   {one.token!r} at {one.start}: {cue}; {one.veto or ('won' if won else lost)}")
    said = shown(verdict.value) if verdict.ok else verdict.status.value
    return [*told, f"verdict  {said}: {verdict.reason or verdict.rule}"]


def read_text(text: str | None, low: float, high: float, label: str | None) -> tuple[Rating, str, list[Candidate]]:
    """The reading of a text, the normalised text, and its candidates."""
    low, high = check_scale(low, high)
    if label is not None and not (isinstance(label, str) and label.strip()):
        raise ValueError(f"label must be a name such as 'Coherence' or None, got {label!r}")
    content = check_text(text, "rating")
    if content is None:
        return Rating(math.nan, Status.EMPTY, "no text", "empty", low, high, label or ""), "", []
    body = normalised(content, low, high)
    found = candidates(body, low, high)
    rated = under(body, found, low, high, label) if label else _rated(_decide(body, found, low, high), body, low, high)
    return rated, body, found


Missing = tuple[Status, str, str]  # status, reason and rule of a text without a value


def _rated(said: Candidate | Missing, body: str, low: float, high: float, label: str = "") -> Rating:
    if isinstance(said, tuple):
        return Rating(math.nan, *said, low, high, label)
    rule = said.cue if said.cue in ("alone", "leading", "closing", "bracketed") else RULES[said.strength]
    matched = body[max(0, said.start - 30) : said.end + 8].replace(TAG, "").strip()
    return _within(said.value, rule, low, high, label, matched)


def _decide(body: str, found: list[Candidate], low: float, high: float, label: str = "") -> Candidate | Missing:
    """The strongest cue that has a verdict, of it the last number; different ones are a conflict."""
    shown_ones = [one for one in found if one.strength]
    if len(found) > 1 and (shown_ones or len(body) < 300):
        found = _corrected(found, body)
        shown_ones = [one for one in found if one.strength]
    if len(shown_ones) == 1 and not shown_ones[0].veto and shown_ones[0].cue != "leading":
        return _settled(shown_ones[0], body, low, high)
    shown_ones = _without_echo(shown_ones, body)
    live = [one for one in shown_ones if not one.veto]
    said = {one.value for one in live if one.strength >= PHRASE}
    # a verdict that is said again where the text is cut off stands
    blocked = [one for one in shown_ones if one.blocks and not (one.veto == CUT and one.value in said)]
    if any(low <= one.value <= high for one in live):
        live = [one for one in live if low <= one.value <= high or one.strength >= LABEL]  # "scoring 40 points"
    for standing in _STANDINGS if shown_ones else ():
        verdicts = [one for one in live if one.strength in standing]
        stops = [one for one in blocked if one.strength in standing]
        if standing != (ASPECT,) and any(not one.label for one in verdicts):
            verdicts = [one for one in verdicts if not one.label]
        values = {one.value for one in verdicts}
        if standing == (ASPECT,) and not label and _NO_SCORE.search(body):
            return Status.UNPARSED, "the score itself is null", "none"
        if standing == (ASPECT,) and values and not label:
            # "4/5 ... 3/5 for style", "4 ... Response: 2": one aspect is no more than another number of its own
            values |= {one.value for one in live if one.strength <= FORM and low <= one.value <= high}
        if len(values) > 1 and standing != (ASPECT,):
            # only the last, where the judge takes back the one before it in between
            last = verdicts[-1]
            earlier = max((one for one in verdicts if one.value != last.value), key=lambda one: one.start)
            if last.start - earlier.end < 400 and tables.CORRECTION.search(body, earlier.end, last.start):
                verdicts, values = [last], {last.value}
        if len(values) > 1:
            named = sorted({f"{one.label} {shown(one.value)}" for one in verdicts if one.label})
            several = f"scores under several labels and none overall: {', '.join(named[:6])[:120]}"
            different = f"different verdicts: {', '.join(map(shown, sorted(values)[:6]))}"
            return Status.UNPARSED, several if len(named) > 1 else different, "conflict"
        if stops and not (values and all(one.rescaled for one in stops)):
            if all(one.rescaled for one in stops) and any(one.based for one in live):
                live = [one for one in live if one.based]  # "8/10, that is 4/5"
                continue
            return Status.TRUNCATED if stops[0].veto == CUT else Status.UNPARSED, stops[0].veto, "doubt"
        if values:
            return _settled(verdicts[-1], body, low, high)
    closing = None if label or live or blocked else _closing(found, body, low, high)
    if closing:
        return _settled(closing, body, low, high)
    if silence := why(body):
        return *silence, "none" if silence[0] is Status.UNPARSED else "silence"
    vetoed = max((one for one in shown_ones if one.veto), key=lambda one: one.strength, default=None)
    return Status.UNPARSED, vetoed.veto if vetoed else "no number is presented as the score", "none"


_NO_SCORE = re.compile(r"^(?:(?:final|overall) )?(?:score|rating|grade): null$", re.M)  # of JSON with other numbers
_UNSURE = re.compile(r" ?i (?:don't know|do not know|can't|cannot|'m not sure|am not sure)|,? ?i'm not sure")
_GOES_ON = re.compile(r"\b(?:but|however|nonetheless|nevertheless|still|though|if|so|yet|instead|based)\b")


def _settled(best: Candidate, body: str, low: float, high: float) -> Candidate | Missing:
    """The verdict, unless the text declines to give one, or corrects it."""
    weak = best.strength < PHRASE and best.start > 12
    declined = DECLINED.search(f" {body[: min(best.start, 200)]}") if weak else None
    if declined and not _GOES_ON.search(body, declined.end() - 1, best.start):
        return Status.REFUSED, "the judge declined or says that it cannot rate", "silence"
    if tables.WITHDRAWN.search(body, best.end):
        return Status.UNPARSED, f"what follows takes {shown(best.value)} back", "conflict"
    rows = _STARS.findall(body) if "☆" in body else []
    if len(set(rows)) > 1:  # of several aspects: those of its line
        rows = _STARS.findall(body[body.rfind("\n", 0, best.start) + 1 :].split("\n", 1)[0])
    for row in rows:
        stars = row.count("★")
        if len(row) == high and abs(stars - best.value) >= 1.0:
            return Status.UNPARSED, f"different verdicts: {shown(best.value)}, {stars} stars", "conflict"
    for place in tables.CORRECTION.finditer(body, best.end, best.end + 20_000):
        if not place["rest"].strip(" .,!") or _UNSURE.match(place["rest"]):
            return Status.UNPARSED, f"the judge takes {shown(best.value)} back", "conflict"
        for other in candidates(place["rest"], low, high):
            if low <= other.value <= high and other.value != best.value:
                reason = f"the judge corrects {shown(best.value)} to {shown(other.value)}"
                return Status.UNPARSED, reason, "conflict"
    return best


def _corrected(found: list[Candidate], body: str) -> list[Candidate]:
    """From the last "no, 3", "correction: 3" on, where that says no more than the number; else all."""
    for place in tables.CORRECTION.finditer(body, found[0].end, found[-1].end + 60):
        said = tables.CORRECTED.match(place["rest"])
        new = [one for one in found if said and not one.veto and 0 <= one.start - place.start("rest") < said.end()]
        if len(new) == 1 and not place["unsure"]:
            new[0].present(max(new[0].strength, LABEL), "corrected")
            found = [one for one in found if one.start >= new[0].start]
    return found


_CONCLUDES = re.compile(
    r"(?:(?P<so>\b(?:so|thus|hence|therefore|as (?:it|things) stands?|as is|which averages (?:out )?to|"
    r"which makes):?,?|->)|(?P<sign>[:;]|\s-)|(?<!thing )\bbut|\A)"
    rf"(?:(?:\A|\s)(?:{'|'.join(tables.FILL - {'probably', 'likely', 'now', 'only', 'just'})}))*\s*\Z"
)
_DEDUCES = re.compile(r"\b(?:minus|deduct\w*|subtract\w*|points? off|knock\w* off)\b")
_SAYING = {"says", "said", "say", "writes", "reads", "like", "following", "rater", "asked", "wants"}
_NO_VERDICT = (tables.NOT_A_SCORE | _SAYING) - tables.TOPS - {"not", "never"}
_LAST = re.compile(r"(?:,? (?:it is|in the end|overall|then|for me|from me))?[\s.!)]*\Z")


def _closing(found: list[Candidate], body: str, low: float, high: float) -> Candidate | None:
    """The number that ends a short text after a "so", a sign or a "but", where no other number can be its verdict."""
    if not found or len(body) > 300 or found[-1].veto or found[-1].strength or not low <= found[-1].value <= high:
        return None
    last = dataclasses.replace(found[-1])
    lead = _CONCLUDES.search(body[: last.start].rstrip(" \t\n\"'("))
    if not lead or not _LAST.match(body, last.used):
        return None
    others = [one.value for one in found if not one.veto and one.value != last.value]
    said = re.findall(r"[a-z]+", body[: lead.start()])
    nameless = len(said) > 2 and _NO_VERDICT.isdisjoint(said[-3:])  # not "Page: 4"
    if (others and not lead["so"] and not _DEDUCES.search(body)) or (lead["sign"] and not nameless):
        return None
    last.present(FORM, "closing")
    doubt(last, body)
    return None if last.veto else last


def _without_echo(found: list[Candidate], body: str) -> list[Candidate]:
    """Without the scale points of a repeated rubric: "Score 1: bad", "1 - poor" with a next point below."""
    if len({one.value for one in found if one.enumerated}) > 1:
        found = [one for one in found if not one.enumerated]
    lead = next((one for one in found if one.cue == "leading"), None)
    if lead is None or not _NUMBERED_START.match(body):
        return found
    echo = any(abs(float(line["number"]) - lead.value) == 1 for line in _POINT_LINE.finditer(body))
    return [one for one in found if one is not lead] if echo else found


# --- under a label --------------------------------------------------------------------------------------------------
_SECTION = re.compile(
    r"(?:\A|\n)[\s>#*-]*(?:\d{1,2}[.)]\s*)?(?P<name>[^\W\d_][\w /&'-]{0,48}?)\s*(?:\([^)\n]{0,40}\)\s*)?[*\"]*\s*"
    r"(?::|-(?=\s)|(?=\n|\Z))"
)
_INNER = (tables.NOUNS | tables.PARTS | tables.RANKS) - {"conversation", "history", "fact", "document", "source"}


def under(body: str, found: list[Candidate], low: float, high: float, label: str, strict: bool = False) -> Rating:
    """The score right at `label`, else in the section that it heads, else (if not `strict`) under no label at all."""
    words, before, after = _around(label)
    named = tables.NOT_ASKED.union(words)
    own = [
        one
        for one in found
        if (
            (one.token[0].isdigit() or tables.ENDS.match(body, one.used))  # not "Fluency: two slips"
            and before.search(body[max(0, one.start - 110) : one.start])
        )
        or after.match(body, one.end)
        or set(words) <= set(one.label.split()) <= named
    ]
    if any(not one.veto or one.blocks for one in own):
        for one in own:
            if not one.strength and not one.veto:
                one.present(ASPECT, "at the label")
                doubt(one, body)
            if one.veto == SPLIT:
                one.spoil("")
            one.strength = FINAL if not one.veto else one.strength or ASPECT
        return _rated(_decide(body, own, low, high, label), body, low, high, label)
    start, section = _section(body, words)
    if section is not None and re.search(rf"{DIGITS}|\b{WORD}\b|\bn/?a\b", section):
        part = _rated(_decide(section, candidates(section, low, high), low, high), section, low, high)
        reason = part.reason and f"under {label!r}: {part.reason}"
        return Rating(part.value, part.status, reason, f"section:{part.rule}", low, high, label, part.matched)
    if section is not None:
        found = [one for one in found if one.end <= start]  # "Rating: 3. Coherence: it flows well."
    others = [
        one
        for one in found
        if one.strength in (ASPECT, PHRASE, LABEL)
        and not tables.NEUTRAL.issuperset(one.label.split())
        and not (one.strength == PHRASE and one.label.endswith(words[-1]))  # "a score of 2 for irrelevance"
    ]
    rest = [one for one in found if one not in others]
    if others and not any(one.strength >= PHRASE and not one.veto for one in rest):
        scored = ", ".join(sorted({one.label for one in others})[:6])[:100]
        reason = f"no score labelled {label!r}; scored are: {scored}"
    elif all(word in body for word in words) and DECLINED.search(f" {body}"):
        reason = f"the judge declined or says that it cannot rate {label!r}"
    elif strict:
        reason = f"nothing is labelled {label!r}"
    else:
        return _rated(_decide(body, rest, low, high, label), body, low, high, label)
    return _rated((Status.UNPARSED, reason, "aspect"), body, low, high, label)


@functools.lru_cache(maxsize=1024)
def _around(label: str) -> tuple[list[str], re.Pattern, re.Pattern]:
    """The words of a label, and the patterns for a label right before and right after a number."""
    words = re.findall(r"[^\W_]+", readable(label).lower())
    name = r"[\W_]+".join(map(re.escape, words))
    before = re.compile(
        rf"\b{name}\b(?: (?:is|was|seems) (?:[a-z]+ ){{1,3}}\(\Z|(?: of (?:the|this|its) [a-z]+(?=\s?[:=|"
        r"]))?(?:[ _](?:score|rating|quality|level|grade))*[\s\"'*)\]★☆]{0,12}(?:\([^()\n]{0,40}\))?(?: only|"
        r" just)?\s?(?::|\?|=|\||,|-|->|=>|is|was|would be|of|at|gets|receives|scores|as)?\s{0,4}(?:(?:an? )?(?:score|"
        r"rating|grade) of|a|an|about)?[\s\"'*(\[]{0,5}\Z)"
    )
    after = re.compile(
        r"\s?(?:(?:/|out of)\s?\d+)?\s?(?:stars?|points?)?\s?(?:for|in|on|regarding|in terms of)\s"
        rf"(?:the\s|its\s){{0,2}}{name}\b"
    )
    return words, before, after


def _section(text: str, words: list[str]) -> tuple[int, str | None]:
    """Where the label stands as a heading, and the text from there to the next heading."""
    found = start = None
    for heading in _SECTION.finditer(text) if all(word in text for word in words) else ():
        have = re.findall(r"[^\W_]+", heading["name"])
        if start is None:
            if have[: len(words)] == words and set(have[len(words) :]) <= {"score", "rating", "quality"}:
                found, start = heading.start(), heading.end()
        elif not set(have) & _INNER and len(have) <= 5:
            return found or 0, text[start : heading.start()]
    return (0, None) if start is None else (found or 0, text[start:])


# --- feedback with a score behind a mark ----------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Feedback(Parsed):
    """A score with the feedback that leads to it; `feedback` is kept also where the score is missing."""

    feedback: str = ""
    low: float = math.nan
    high: float = math.nan
    mode: str = "verbalizer"


_MARKS = {  # by mode
    "verbalizer": re.compile(
        r"\[\s{0,5}(?:(?:final|overall)\s)?(?:results?|scores?|ratings?|grade|"
        r"verdict)\s{0,5}[:=]?\s{0,5}(?P<inner>[^\[\]\n]{0,40})\]",
        re.I,
    ),
    "strict": re.compile(r"\[RESULT\]", re.I),
}
_STRICT_SCORE = re.compile(
    r"[ \t]{0,9}\n?[ \t]{0,9}\(?(?P<score>\d{1,6})\)?[ \t]{0,9}\.?[ \t]{0,9}(?=\n|\Z|</s>)", re.ASCII
)
_HOLDS_NUMBER = re.compile(rf"\d|\b{WORD}\b", re.I)
# the format line of the prompt, repeated: "[RESULT] (an integer number between 1 and 5)"
_FORMAT = re.compile(
    r"\s?[\"'(<\[{]{0,3}\s?(?:an?|the|your|write|insert|integer|score|number|\d+\s?(?:-|to)\s?\d+)\b", re.I
)
# a model that does not stop begins the next prompt
_NEXT_PROMPT = re.compile(
    r"#{2,}\s?(?:task description|the instruction|instruction|response to evaluate|reference answer|score rubrics?|"
    r"feedback|human|user)|\[/?INST\]|<\|?(?:im_start|im_end|user|endoftext)\|?>",
    re.I,
)
_SAID = re.compile(r"[\s(*:=-]*(?:\w+:\s*)?(?:\d+(?:\.\d+)?(?:\s*(?:/|out of)\s*\d+)?)?[)\s.*]*")
_HEADS = re.compile(r"eedback(?<=\b[Ff]eedback)\s?:")
_HEAD = re.compile(r"\A[\s\"'*#]*feedback\s?:?[\s*]*", re.I)
_IN_JSON = re.compile(r'"(?:feedback|reason|explanation|rationale|analysis)"\s?:\s?"((?:[^"\\]|\\.)*)"', re.I)
_QUOTED_ON = re.compile(r"[^\n\w\"']{0,6}(?:\d[\d./]{0,5}\s?)?(?P<quote>[\"'])[,.]?[ ]+[a-z]", re.I)


def feedback(text: str | None, low: float = 1, high: float = 5, mode: str = "verbalizer") -> Feedback:
    """The score and the feedback in a text of the form "... [RESULT] 4".

    The last verdict counts: the last `[RESULT]` that is not the prompt's format line, up to where a next prompt begins.
    `mode="strict"` reads `[RESULT]` and an integer that ends its line, nothing else. `mode="verbalizer"` also reads
    "[Score 5]", "[RESULT] 4 out of 5", and without any mark the last "Score: 4", "So the overall score is 4" or "I rate
    it 4/5". Numbers in the feedback never win over a mark.

    Returns: `Feedback`; `value` on the scale low to high.
    Raises: ValueError for a bad scale or mode; TypeError where `text` is neither str nor None.
    Source: Prometheus, section 3.2 and appendix J (format), Table 9 (verbaliser).
    """
    low, high = check_scale(low, high)
    if mode not in _MARKS:
        raise ValueError(f"mode must be one of {', '.join(_MARKS)}, got {mode!r}")
    content = check_text(text, "feedback")
    if content is None:
        return Feedback(math.nan, Status.EMPTY, "no text", "empty", "", low, high, mode)
    source = readable(content)
    read, rule, start, end = None, "", len(source), len(source)
    marks = list(_MARKS[mode].finditer(source))
    for mark in marks[:100] + marks[100:][-100:]:
        known = read is not None and read.ok
        if known and _NEXT_PROMPT.search(source, end, mark.start()):
            break
        said, said_end = (_strict if mode == "strict" else _marked)(source, mark, low, high)
        if said is not None and not (known and said.rule == "cut" and mode != "strict"):
            read, start, end = said, mark.start(), said_end  # no format line of a prompt, not begun again and cut off
    if read is None and mode == "verbalizer":
        found, *_ = read_text(source, low, high, None)
        if not found.ok or found.rule in ("final", "label", "phrase", "form"):  # not a number that only stands alone
            read, rule = found, "verbalizer:"
    if read is None:
        read = Rating(math.nan, *(why(source.lower()) or (Status.UNPARSED, "no [RESULT] with a score")), "none")
    words = _words(source, start, end)
    return Feedback(read.value, read.status, read.reason, f"{rule}{read.rule}", words, low, high, mode)


def _strict(source: str, mark: re.Match, low: float, high: float) -> tuple[Rating | None, int]:
    if _FORMAT.match(source, mark.end()):
        return None, 0
    score = _STRICT_SCORE.match(source, mark.end())
    if score:
        return _within(float(score["score"]), "result", low, high, "", ""), score.end()
    if source[mark.end() :].strip():
        return Rating(math.nan, Status.UNPARSED, "no integer alone after [RESULT]", "result"), len(source)
    return Rating(math.nan, Status.TRUNCATED, "the text ends after [RESULT]", "cut"), len(source)


def _marked(source: str, mark: re.Match, low: float, high: float) -> tuple[Rating | None, int]:
    inside = _HOLDS_NUMBER.search(mark["inner"]) is not None
    said = mark["inner"] if inside else source[mark.end() : mark.end() + 160]
    opening = source[max(0, mark.start() - 2) : mark.start()].strip()[-1:]
    quoted = _QUOTED_ON.match(source, mark.end())
    quoted_on = quoted and quoted["quote"] == opening and source[: mark.start() - 1].strip("\"' \n")
    form = not inside and _FORMAT.match(said)
    if quoted_on or (form and not _HOLDS_NUMBER.search(normalised(said.split("\n", 1)[0], low, high))):
        return None, 0
    if not said.strip():
        return Rating(math.nan, Status.TRUNCATED, "the text ends after its mark", "cut"), len(source)
    said = _NEXT_PROMPT.split(said, maxsplit=1)[0].replace("</s>", " ").strip().lstrip("\"': =>")
    read = rating(f"score: {said}", low, high)
    end = mark.end() if inside else _SAID.match(source, mark.end()).end()  # type: ignore[union-attr]  # matches nothing too
    return Rating(read.value, read.status, read.reason, f"result:{read.rule}"), end


def _words(source: str, start: int, end: int) -> str:
    """The feedback itself: before the verdict, or after it where nothing is before."""
    json = start == len(source) and source.lstrip().startswith(("{", "```"))
    if json and (said := _IN_JSON.search(source)):
        return said[1].strip()
    heads = list(_HEADS.finditer(source, 0, start))
    before = _HEAD.sub("", source[heads[-1].end() if heads else 0 : start]).strip()
    return before if before.strip(" \t\n#*-\"'") else _HEAD.sub("", source[end:]).strip()
