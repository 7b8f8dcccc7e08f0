"""A score out of free text: the one number that the text presents as its verdict, or the reason why there is none."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from nlgeval_lib.parsers import cues, json_rating, labels, silence, tables, vocabulary
from nlgeval_lib.parsers.base import Parsed, check_scale, check_text, number
from nlgeval_lib.parsers.mention import CUT, Mention, Strength
from nlgeval_lib.parsers.mentions import find, numbers
from nlgeval_lib.parsers.quick import remembering_short, starting
from nlgeval_lib.parsers.scales import take_off
from nlgeval_lib.parsers.text import readable, without_markup, without_tex, words_of
from nlgeval_lib.records import Status


@dataclass(frozen=True, slots=True)
class Rating(Parsed):
    """A score on the scale `low` to `high`; `matched` is the place of the text that carried it (lower case)."""

    low: float = math.nan
    high: float = math.nan
    label: str = ""
    matched: str = ""


_PLAIN = re.compile(r"[\s\-*>\"'(\[]{0,6}(\d{1,3}(?:\.\d{1,4})?)[\s*\"'.)\]]{0,6}", re.ASCII)
_TAG = re.compile(
    r"\[\[\s*(?P<double>[^\[\]\n]{1,30}?)\s*\]\]"
    r"|<(?P<name>[a-z][a-z_ -]{2,30})>\s*(?P<inner>[^<>]{1,40}?)\s*</(?P=name)>"
    r"|\\boxed\s*\{\s*(?P<boxed>[^{}\n]{1,30}?)\s*\}"
    r"|\[\s*(?:result|final score|overall score)s?\s*:?\s*\]\s*:?"
)
_SHORT = 200
_DECLINING = 12  # characters that a refusal has at least
_SUM = re.compile(
    rf"(?P<label>{starting('score', 'rating', 'grade', 'overall', 'total')}[a-z *()\"]{{0,20}}[:=])"
    r"[ *]{0,5}[\d(](?:[\d .,+*/x×÷()-]|\((?:minus|plus|for|-)[^()\n]{0,40}\)){2,80}"
    r"=[ *]{0,5}(?=\d{1,3}(?:\.\d+)?(?![\d%/]))"
)
_STARS = re.compile(r"★+☆+")
_LIST_LINE = re.compile(r"\n\s*\d{1,2}[.)]\s")
_POINT_LINE = re.compile(r"\n\s*(?P<number>\d{1,2})\s*[:=-]\s")  # of a scale: "1 - Poor"
_NUMBERED_START = re.compile(r"[\s*>#-]*\d{1,2}\s*(?P<sign>[.):=-])\s")


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
    low, high = check_scale(low, high)
    if label is not None and not (isinstance(label, str) and label.strip()):
        raise ValueError(f"label must be a name such as 'Coherence' or None, got {label!r}")
    content = check_text(text, "rating")
    if content is None:
        return Rating(math.nan, Status.EMPTY, "no text", "empty", low, high, label or "")
    return _find_out(content, low, high, label or "", False)


def labelled(text: str, low: float, high: float, label: str) -> Rating:
    """The score that a text gives under a label; a score without any label does not count."""
    return _find_out(text, low, high, label, True)


# judges that are sampled say the same short thing again and again
@remembering_short(_SHORT)
def _find_out(content: str, low: float, high: float, label: str, strict: bool) -> Rating:
    if len(content) < 24 and not strict:
        match = _PLAIN.fullmatch(content)
        if match and (low >= 0.0 or "-" not in content):
            return _within(float(match.group(1)), "alone", match.group(), low, high, label)
    return _of_readable(readable(content), low, high, label, strict)


def of_readable(source: str, low: float, high: float) -> Rating:
    """`rating` of a text that is readable already."""
    if not source or source.isspace():
        return Rating(math.nan, Status.EMPTY, "no text", "empty", low, high)
    return _find_out(source, low, high, "", False) if len(source) <= _SHORT else _of_readable(source, low, high)


def _of_readable(source: str, low: float, high: float, label: str = "", strict: bool = False) -> Rating:
    source = source.lower()
    if "{" in source:
        found = json_rating.read(source, label, low, high)
        if found is not None:
            return _from_json(found, low, high, label)
    body = _undressed(source)
    words = words_of(body)
    found = numbers(body, words)
    if found:
        several = len(found) > 1 or not found[0].group().isalnum()  # "1,5" may be both ends of a scale
        undressed, body = body, take_off(body, low, high, several)
        mentions = find(body, low, high, found if body == undressed else numbers(body, words))
    else:
        mentions = []
    if not label:
        return _decide(mentions, body, low, high, label, words)
    chosen = labels.choose(body, mentions, label)
    if chosen.section is not None:
        part = rating(chosen.section, low, high)
        reason = part.reason and f"under {label!r}: {part.reason}"
        return Rating(part.value, part.status, reason, f"section:{part.rule}", low, high, label, part.matched)
    if chosen.only_others or (strict and not chosen.named):
        reason = chosen.only_others or f"nothing is labelled {label!r}"
        return Rating(math.nan, Status.UNPARSED, reason, "aspect", low, high, label)
    return _decide(chosen.mentions, body, low, high, label, words)


def _from_json(found: json_rating.Found, low: float, high: float, label: str) -> Rating:
    """The score in JSON, unless the text around it gives another one."""
    if found.reason:
        return Rating(math.nan, Status.UNPARSED, found.reason, "json", low, high, label)
    if re.search(r"\d", found.around):
        beside = _find_out(found.around, low, high, label, False)
        if beside.ok and beside.value != found.value and beside.rule in ("final", "label", "phrase"):
            reason = f"different verdicts: {number(found.value)} in JSON, {number(beside.value)} beside it"
            return Rating(math.nan, Status.UNPARSED, reason, "conflict", low, high, label)
    return _within(found.value, "json", "", low, high, label)


def prepare(text: str, low: float, high: float) -> tuple[str, str]:
    """The text in lower case with one form of every sign, and the same ready for `mentions.find`."""
    source = readable(text).lower()
    return source, take_off(_undressed(source), low, high)


def _undressed(source: str) -> str:
    """Readable text in lower case with tables, TeX, tags and emphasis as plain text."""
    body = tables.scores_as_lines(source)
    if "\\" in body or "$" in body:
        body = without_tex(body)
    if "[" in body or "<" in body or "\\" in body:
        body = _TAG.sub(_as_final, body)
    if "=" in body:
        body = _SUM.sub(_without_sum, body)
    return without_markup(body)


def _without_sum(match: re.Match) -> str:
    """`Score: (4 + 3 + 5) / 3 = 4` is `Score: 4`; `Score: 4/5 = .8` stays."""
    whole = match.group()
    return f"{match['label']} " if re.search(r"[+*x×)-]", whole[len(match["label"]) :]) else whole


_SCORE_TAG = re.compile(r"(?:final|overall)?[_ ]?(?:score|rating|result|answer|grade|verdict|overall)")


# 'The answer says "[RESULT] 5", which': the judged text is quoted
_QUOTED_AFTER = re.compile(r"[^\n\w\"']{0,6}(?:\d[\d./]{0,5}\s?)?(?P<quote>[\"'])[,.]?[ ]+[a-z]", re.I)


def quoted_mark(mark: re.Match) -> bool:
    """Whether a mark and its number stand in quotation marks of their own in a sentence that goes on."""
    text, start = mark.string, mark.start()
    before = text[max(0, start - 2) : start].strip()[-1:]
    if not before or before not in "\"'":
        return False
    after = _QUOTED_AFTER.match(text, mark.end())
    return after is not None and after["quote"] == before and bool(text[: start - 1].strip("\"' \n"))


def _as_final(match: re.Match) -> str:
    if quoted_mark(match):
        return " quoted "
    inner = match["double"] or match["inner"] or match["boxed"]
    if inner is None:
        return "\nfinal score: "
    name = match["name"]
    if name in vocabulary.PLAIN_TAGS:
        return match.group()
    if name and not _SCORE_TAG.fullmatch(name):
        return f"\n{name.replace('_', ' ')}: {inner}\n"
    return f"\nfinal score: {inner}\n" if re.search(r"\d|^[a-z-]+$", inner) else match.group()


def _within(value: float, rule: str, matched: str, low: float, high: float, label: str) -> Rating:
    if low <= value <= high:
        return Rating(value + 0.0, Status.OK, "", rule, low, high, label, matched.strip())
    reason = f"{number(value)} is outside {number(low)} to {number(high)}"
    return Rating(math.nan, Status.OUT_OF_RANGE, reason, rule, low, high, label, matched.strip())


def _decide(
    mentions: list[Mention], body: str, low: float, high: float, label: str, words: set[bytes] | None = None
) -> Rating:
    """The verdict of the strongest standing that has one, or why there is none."""
    mentions = [mention for mention in mentions if mention.strength is not None]
    if len(mentions) > 1 or (mentions and mentions[0].rule == "leading"):
        mentions = _without_echo(mentions, body)
    if len(mentions) == 1 and not mentions[0].flaw:
        return _settled(mentions[0], body, low, high, label, words)  # what follows would come to the same
    live = [mention for mention in mentions if not mention.flaw]
    said = {mention.value for mention in live if mention.strength >= Strength.PHRASE}
    # a verdict that is said again where the text is cut off stands
    blocked = [m for m in mentions if m.blocks and not (m.flaw == CUT and m.value in said)]
    if any(low <= mention.value <= high for mention in live):
        live = [m for m in live if low <= m.value <= high or m.strength >= Strength.LABEL]
    for standing in _STANDINGS if mentions else ():
        verdicts = [mention for mention in live if mention.strength in standing]
        stops = [mention for mention in blocked if mention.strength in standing]
        if not verdicts and not stops:
            continue
        if any(not mention.label for mention in verdicts):
            verdicts = [mention for mention in verdicts if not mention.label]
        values = sorted({mention.value for mention in verdicts})
        if len(values) > 1:
            return Rating(math.nan, Status.UNPARSED, _several(verdicts, values), "conflict", low, high, label)
        if stops and (not values or not all(stop.rescaled for stop in stops)):
            if all(stop.rescaled for stop in stops) and any(mention.based for mention in live):
                live = [mention for mention in live if mention.based]  # "8/10, that is 4/5"
                continue
            status = Status.TRUNCATED if stops[0].flaw == CUT else Status.UNPARSED
            return Rating(math.nan, status, stops[0].flaw, "doubt", low, high, label)
        if values:
            if standing == (Strength.ASPECT,) and not label:
                # "4/5 ... 3/5 for style", "4 ... Response: 2": one aspect is no more than another number of its own
                values = sorted({m.value for m in live if m.rule in _OWN and low <= m.value <= high}.union(values))
                if len(values) > 1:
                    return Rating(math.nan, Status.UNPARSED, _several(verdicts, values), "conflict", low, high, label)
            return _settled(verdicts[0], body, low, high, label, words)
    status, reason = silence.why(body, words) or (Status.UNPARSED, "")
    flawed = [mention for mention in mentions if mention.flaw]
    if not reason:
        reason = max(flawed, key=lambda m: m.strength).flaw if flawed else "no number is presented as the score"
    rule = "none" if status is Status.UNPARSED else "silence"
    return Rating(math.nan, status, reason, rule, low, high, label)


_OWN = ("form", "alone", "leading")
_STANDINGS = (
    (Strength.FINAL,),
    (Strength.LABEL, Strength.PHRASE),
    (Strength.ASPECT,),
    (Strength.FORM,),
    (Strength.ALONE,),
)


def _settled(best: Mention, body: str, low: float, high: float, label: str, words: set[bytes] | None) -> Rating:
    weak = best.strength < Strength.PHRASE and best.start > _DECLINING
    if weak and silence.declined(body[: min(best.start, _SHORT)], words):
        reason = "the judge declined or says that it cannot rate"
        return Rating(math.nan, Status.REFUSED, reason, "silence", low, high, label)
    if "★" in body:
        for row in _STARS.findall(body):
            if len(row) == high and abs(row.count("★") - best.value) >= 1.0:
                reason = f"different verdicts: {number(best.value)}, {row.count('★')} stars"
                return Rating(math.nan, Status.UNPARSED, reason, "conflict", low, high, label)
    corrected = best.end < len(body) - 5 and not (words is not None and cues.CORRECTION.words.isdisjoint(words))
    for place in cues.CORRECTION.finditer(body, best.end) if corrected else ():
        for other in find(place["rest"], low, high):
            if low <= other.value <= high and other.value != best.value:
                reason = f"the judge corrects {number(best.value)} to {number(other.value)}"
                return Rating(math.nan, Status.UNPARSED, reason, "conflict", low, high, label)
    return _within(best.value, best.rule, body[max(0, best.start - 30) : best.end + 8], low, high, label)


def _without_echo(mentions: list[Mention], body: str) -> list[Mention]:
    """Without the scale points of a repeated rubric and the numbers of a list."""
    if len({mention.value for mention in mentions if mention.enumerated}) > 1:
        mentions = [mention for mention in mentions if not mention.enumerated]
    lead = next((mention for mention in mentions if mention.rule == "leading"), None)
    start = _NUMBERED_START.match(body) if lead is not None else None
    if start:
        line_end = body.find("\n", lead.end)
        if start["sign"] in ".)":
            aspect = any(m.strength is Strength.ASPECT and (line_end < 0 or m.start < line_end) for m in mentions)
            echo = aspect or _LIST_LINE.search(body)
        else:
            echo = any(abs(float(line["number"]) - lead.value) == 1 for line in _POINT_LINE.finditer(body))
        if echo:
            mentions = [mention for mention in mentions if mention is not lead]
    return mentions


def _several(verdicts: list[Mention], values: list[float]) -> str:
    labelled = sorted({f"{m.label} {number(m.value)}" for m in verdicts if m.label})
    if len(labelled) > 1:
        return f"scores under several labels and none overall: {', '.join(labelled[:6])[:120]}"
    return f"different verdicts: {', '.join(map(number, values[:6]))}"
