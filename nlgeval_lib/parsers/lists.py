"""Lists as models write them: aspects, nested criteria, and the scores of named aspects."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from nlgeval_lib.parsers.loose_json import Record, objects
from nlgeval_lib.parsers.normalise import table_lines
from nlgeval_lib.parsers.ratings import candidates, normalised, under
from nlgeval_lib.parsers.text import Parsed, check_scale, check_text, readable, why
from nlgeval_lib.records import Status


@dataclass(frozen=True, slots=True)
class Criterion:
    """A named aspect or criterion, its definition (empty where none is given) and the criteria under it."""

    name: str
    definition: str = ""
    children: tuple[Criterion, ...] = ()


@dataclass(frozen=True, slots=True)
class CriteriaList(Parsed):
    """Aspects or criteria in the order of the text: `value` is the tuple of those at the top, None without any."""

    duplicates: int = 0
    truncated: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names at the top."""
        return tuple(one.name for one in self.value or ())

    @property
    def count(self) -> int:
        """How many there are, at all levels."""
        return sum(1 for _ in _all(self.value or ()))

    def leaves(self) -> tuple[Criterion, ...]:
        """The criteria that have none under them, in order."""
        return tuple(one for one in _all(self.value or ()) if not one.children)


def _all(found: Sequence[Criterion]) -> Iterator[Criterion]:
    for one in found:
        yield one
        yield from _all(one.children)


# --- lines ----------------------------------------------------------------------------------------------------------
_LINE = re.compile(
    r"(?P<indent>[ \t]*)"
    r"(?P<mark>(?i:aspect|criterion|dimension|metric|factor)[ ]?#?\d{1,3}[ ]?[.:)-](?=\s+[^:?!.,]{1,60}(?:\Z|:|\s-\s))|"
    r"#{1,6}(?=\s)|[-+*•](?=\s)|\(?\d{1,3}(?:\.\d{1,3}){0,4}[.):]?(?=\s)|\(?[a-zA-Z][.)](?=\s))?"
    r"[ \t]*(?P<rest>[^\n]*)"
)
# `**Name** text`, `Name: text`, `Name - text`, `Name (text)`
_BOLD = re.compile(r"(?:\*\*|__)(?P<name>[^*_\n]{1,90}?)[:.]?(?:\*\*|__)\s*[:-]?\s*(?P<text>.*)", re.S)
_COLON = re.compile(r"(?P<name>[^:\n]{1,90}?)\s{0,3}:(?!\d|//)\s*(?P<text>.*)", re.S)
_DASH = re.compile(r"(?P<name>[^\n]{1,90}?)\s-{1,2}\s+(?P<text>.*)", re.S)
_BRACKET = re.compile(r"(?P<name>[^()\n]{1,90}?)\s{0,3}\((?P<text>[^()]*)\)\s*[.;]?\Z", re.S)
_DASHED = re.compile(r"[A-Z][\w/&-]*(?: [\w/&-]+){0,3}\s+-\s+\S")  # a line of its own: "Relevance - on topic"
_SCALE = re.compile(r"\s{0,3}[(\[]\s?(?:\d+\s?(?:-|to|/)\s?\d+[^)\]]{0,20}|\d+\s?(?:points?|%))\s?[)\]]\s*$")
_NUMBERED = re.compile(
    r"^(?:(?:aspect|criterion|dimension|metric|factor)[ ]?#?\d{1,3}[ ]?(?:[.:)]|-(?=\s))\s*(?=\S)|"
    r"\(?\d{1,3}(?:\.\d{1,3})*[.)]\s+)",
    re.I,
)
_TAGS = re.compile(r"</?(?:aspects?|criteri(?:on|a)|items?|li|ul|ol|b|strong|em|p)\s{0,3}>", re.I)
_EASTERN = re.compile(r"^([ \t]{0,9}\d{1,3})、", re.M)
_PART = re.compile(
    r"(?:definition|description|explanation|meaning|details?|what it (?:means|measures)|criteria|question)s?", re.I
)
_PART_HEAD = re.compile(rf"{_PART.pattern}\s{{0,3}}:\s*", re.I)
_ASIDE = re.compile(
    r"(?:notes?|examples?|e\.g|weights?|scores?|ratings?|scale|sure|certainly|of course|sources?|importance|rationale|"
    r"reasons?|how to (?:score|evaluate|measure)|possible scores?|evaluation (?:question|method))",
    re.I,
)
_LEAD_IN = re.compile(
    r"\A(?:[\w-]+ ){0,4}(?:aspects|criteria|metrics|dimensions|factors)(?: (?:are|include|would be|to consider))?\Z|"
    r"\b(?:here (?:are|is)|following|below|these (?:are|aspects|criteria)|aspects? (?:that|to|which)|sure|certainly|"
    r"based on|can be|in order to|to (?:evaluate|measure|assess)|when (?:evaluating|measuring))\b",
    re.I,
)
_FIRST, _SECOND = re.compile(r"(?:\A|[\s:])\(?1[.)][ ]"), re.compile(r"[ ]\(?2[.)][ ]")
_RUN_ON = re.compile(r"[ ](?=\(?\d{1,2}[.)][ ])")
_INLINE = re.compile(r"(?:\A|(?<=[.?!;]\s))(?P<name>[A-Z][A-Za-z][A-Za-z /&'-]{0,48}?):\s")
_COMMAS = re.compile(r"\s?(?:,|;|/|\band\b|&)\s?", re.I)
_LEAD = re.compile(
    r"\A(?:[^:\n]{0,160}:\s*|[\w' -]{0,80}\b(?:aspects|criteria|dimensions|metrics|factors)\b"
    r"[\w' ]{0,40}?\b(?:are|include)\s+)"
)


@dataclass(slots=True)
class _Entry:
    """One entry of a list and the entries under it."""

    name: str
    text: str = ""
    level: int = 0
    marked: bool = True
    children: list[_Entry] = field(default_factory=list)


def _by_lines(text: str) -> str:
    """The readable text, with the entries of a table, or of a numbered list in one line, each on its own."""
    text = table_lines(readable(_EASTERN.sub(r"\1. ", text)), _rows)
    text = _TAGS.sub(" ", text)
    made = []
    for line in text.split("\n"):
        first = _FIRST.search(line)
        made.append(_RUN_ON.sub("\n", line) if first and _SECOND.search(line, first.end()) else line)
    return "\n".join(made)


def _rows(head: list[str], rows: list[list[str]]) -> list[str]:
    named = [row[next((at for at, cell in enumerate(row) if re.search(r"[^\W\d_]", cell)), len(row)) :] for row in rows]
    return [f"- {row[0]}: {row[1]}" for row in named if len(row) > 1]


def _entries(text: str) -> list[_Entry]:
    """The entries of the lists in a text by lines, nested by indentation, numbering and headings.

    Lead-in sentences and closing remarks are no entries; lines that go on, and "Definition: ..." under a name, belong
    to the text of the entry above.
    """
    matches = [(number, _LINE.match(line)) for number, line in enumerate(text.split("\n")) if line.strip()]
    lines = [(number, line) for number, line in matches if line]
    marked = any(line["mark"] and not line["mark"].startswith("#") for _, line in lines)
    found: list[_Entry] = []
    last: _Entry | None = None
    last_line = -2
    for number, line in lines:
        entry = _entry(line, marked)
        if entry is not None and entry.marked and last is not None and _PART.fullmatch(entry.name):
            last.text = f"{last.text} {entry.text}".strip()
        elif entry is not None and _ASIDE.fullmatch(entry.name):
            continue
        elif entry is not None:
            found.append(entry)
            last = entry
        elif (
            last is not None and (number == last_line + 1 or line["indent"]) and not _LEAD_IN.search(line["rest"][:60])
        ):
            last.text = f"{last.text} {_PART_HEAD.sub('', line['rest'].strip(), count=1)}".strip()
        else:
            last = None
        last_line = number
    roots: list[_Entry] = []
    stack: list[_Entry] = []
    for entry in found:
        while stack and stack[-1].level >= entry.level:
            stack.pop()
        (stack[-1].children if stack else roots).append(entry)
        stack.append(entry)
    # a heading or group without anything under it is no entry where others have some
    if any(root.children for root in roots):
        roots = [root for root in roots if root.children or root.text or root.level >= 0]
    return roots


def _entry(line: re.Match, marked: bool) -> _Entry | None:
    """The entry that a line begins, None where it goes on or says something else."""
    mark, rest = line["mark"] or "", line["rest"].strip()
    if not mark and rest.startswith(("**", "__")):
        mark = "**"
    name, text = _split(rest)
    if not _is_name(name) or ((not mark or mark.isdigit()) and _LEAD_IN.search(name)):
        return None
    level = len(line["indent"].expandtabs(4))
    if mark.startswith("#"):
        return _Entry(name, text, -100 + 10 * len(mark))
    if mark == "**" and not text and re.fullmatch(r"(?:\*\*|__)[^*_\n]{1,90}(?:\*\*|__)[:.]?", rest):
        return _Entry(name, "", -50)  # a line in bold heads the list below it
    if mark:
        return _Entry(name, text, level + 2 * max(0, len(re.findall(r"\d+", mark)) - 1))
    if ":" not in rest and (marked or not _DASHED.match(rest)):
        return None
    if marked:  # among marked lines an unmarked "Name:" heads a group
        return _Entry(name, "", -1, marked=False) if not text else None
    return _Entry(name, text, level, marked=False) if text else None


def _split(rest: str) -> tuple[str, str]:
    match = _BOLD.match(rest) or _COLON.match(rest) or _DASH.match(rest) or _BRACKET.match(_SCALE.sub("", rest))
    if match and _is_name(_tidy(match["name"])):
        return _tidy(match["name"]), match["text"].replace("**", "").replace("__", "").strip()
    return _tidy(rest), ""


def _tidy(name: str) -> str:
    """A name without markup, quotes, its number and a scale in brackets."""
    name = _SCALE.sub("", name).strip(" \t\n*_`\"'").lstrip("#[<").rstrip("]>:;,").strip(" \t\n*_`\"':;,")
    return re.sub(r"\s+", " ", _NUMBERED.sub("", name, count=1)).rstrip(".")


def _is_name(name: str) -> bool:
    return (
        0 < len(name) <= 80
        and len(name.split()) <= 9
        and re.search(r"[^\W\d_]", name) is not None
        and not name.endswith(("?", "!"))
        and not re.search(r"[.!?]\s", name)
    )


# --- aspects and criteria -------------------------------------------------------------------------------------------
def aspects(text: str | None) -> CriteriaList:
    """The aspects that a text lists, with their definitions, flat.

    Reads numbered, bulleted and bold lists, lines and running text of the form "Name: definition", JSON lists and
    objects, and comma lists. A name that comes again (in any case) counts once. Sentences around the list are left out.
    Raises: TypeError where `text` is neither str nor None.
    Source: CoAScore, section 3.2.1 and Table 9 (relevant aspect generation).
    """
    return _listed(text, "aspects", nested=False)


def criteria(text: str | None) -> CriteriaList:
    """The criteria that a text lists, nested by indentation, numbering (1.2) and headings.

    Takes every form that `aspects` takes; JSON and running text give a flat list. A name that comes again under the
    same parent counts once. A heading that only introduces the whole list is no criterion.
    Raises: TypeError where `text` is neither str nor None.
    Source: HD-Eval, section 3.2 and Figure 10 (hierarchical criteria decomposition).
    """
    return _listed(text, "criteria", nested=True)


def _listed(text: str | None, parser: str, nested: bool) -> CriteriaList:
    content = check_text(text, parser)
    if content is None:
        return CriteriaList(None, Status.EMPTY, "no text", "empty")
    body = _by_lines(content)
    found, rule, roots = _from_json(content), "json", []
    if not found:
        roots = _entries(body)
        found, rule = _leaves(roots), "list"
    if len(found) < 2:
        inline = _inline(body)
        found, rule = (inline, "inline") if len(inline) > max(1, len(found)) else (found, rule)
    reason = why(body.lower())
    if not found and (reason is None or reason[0] is not Status.REFUSED):
        found, rule = _comma_list(body), "commas"
    if not found:
        status, said = reason or (Status.UNPARSED, "no list of names")
        return CriteriaList(None, status, said, "none")
    if nested and rule == "list":
        while len(roots) == 1 and len(roots[0].children) > 1 and roots[0].level < 0:
            roots = roots[0].children  # "Criteria:" above them all
        found = _tree(roots)
    unique: dict[str, Criterion] = {}
    for one in found:
        unique.setdefault(one.name.casefold(), one)
    cut = reason is not None and reason[0] is Status.TRUNCATED
    return CriteriaList(tuple(unique.values()), Status.OK, "", rule, len(found) - len(unique), cut)


def _leaves(roots: Sequence[_Entry]) -> list[Criterion]:
    found = []
    for entry in roots:
        if entry.children and all(child.children or child.text for child in entry.children):
            found += _leaves(entry.children)
        else:
            under_it = (f"{child.name} {child.text}".strip() for child in entry.children)
            found.append(Criterion(entry.name, " ".join([entry.text, *under_it]).strip()))
    return found


def _tree(roots: Sequence[_Entry]) -> list[Criterion]:
    unique: dict[str, Criterion] = {}
    for entry in roots:
        unique.setdefault(entry.name.casefold(), Criterion(entry.name, entry.text, tuple(_tree(entry.children))))
    return list(unique.values())


def _inline(body: str) -> list[Criterion]:
    """`Name: definition. Name: definition.` in running text."""
    flat = re.sub(r"\s+", " ", body).strip()
    places = list(_INLINE.finditer(flat))
    ends = [*(place.start() for place in places[1:]), len(flat)]
    return [
        Criterion(_tidy(one["name"]), flat[one.end() : end].strip()) for one, end in zip(places, ends, strict=False)
    ]


def _comma_list(body: str) -> list[Criterion]:
    """`Relevance, coherence and fluency`: two names or more of at most four words."""
    line = _LEAD.sub("", body.strip()[:1000], count=1)
    names = [name for part in _COMMAS.split(line.strip().rstrip(".")) if (name := _tidy(part))]
    odd = len(line) > 600 or "\n" in line.strip() or len(names) < 2
    if odd or any(len(name.split()) > 4 or re.search(r"[.!?\d]", name) for name in names):
        return []
    return [Criterion(name) for name in names]


_DEFINITIONS = ("definition", "description", "explanation", "meaning", "question", "details")
_NAMES = ("name", "aspect", "criterion", "criteria", "title", "metric", "dimension", "label")
_KEY_NUMBER = re.compile(r"(?:(?:aspect|criterion|dimension|metric|factor)[ _]?)?\d{1,3}", re.I)


def _from_json(content: str) -> list[Criterion]:
    for item, start, end in objects(content[:100_000].strip()):
        found = _of_json(item) if 3 * (end - start) >= len(content.strip()) else []
        if found:
            return found
    return []


def _of_json(item: Any) -> list[Criterion]:
    if isinstance(item, Record):
        values = list(item.values())
        numbered = bool(item) and all(_KEY_NUMBER.fullmatch(str(key)) for key in item)
        if numbered and (
            all(isinstance(value, Record) for value in values) or all(isinstance(value, str) for value in values)
        ):
            return _of_json(values)  # {"1": {"name": "Relevance", ...}, ...}, {"1": "Relevance", ...}
        inner = [value for value in values if isinstance(value, list) or _is_nested(value)]
        if inner and len(item) <= 2:
            return _of_json(inner[0])
        return [Criterion(_tidy(str(key)), _text(value)) for key, value in item.items() if _tidy(str(key))]
    found = []
    for entry in item if isinstance(item, list) else ():
        if isinstance(entry, str) and _tidy(entry):
            name, _, definition = entry.partition(":")
            found.append(Criterion(_tidy(name), definition.strip()))
        elif isinstance(entry, Record):
            keys = {str(key).lower(): value for key, value in entry.items()}
            name = next((keys[key] for key in _NAMES if isinstance(keys.get(key), str)), "")
            found += [Criterion(_tidy(name), _text(entry))] if name else _of_json(entry) if len(entry) == 1 else []
    return found


def _is_nested(value: Any) -> bool:
    return isinstance(value, Record) and all(isinstance(inner, (str, Record)) for inner in value.values())


def _text(value: Any) -> str:
    if isinstance(value, Record):
        keys = {str(key).lower(): inner for key, inner in value.items()}
        value = next((keys[key] for key in _DEFINITIONS if isinstance(keys.get(key), str)), "")
    return value.strip() if isinstance(value, str) else ""


# --- scores of named aspects ----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class AspectScores(Parsed):
    """Scores by aspect: `value` is their mean where every aspect has one.

    `scores` has every aspect that was asked for, NaN where missing; `reasons` says why.
    """

    scores: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    reasons: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def missing(self) -> tuple[str, ...]:
        """The aspects without a score."""
        return tuple(self.reasons)


def normal(name: str) -> str:
    """The normal form of a name: lower case words without punctuation and a final "score"."""
    return " ".join(
        re.findall(r"\w+", re.sub(r" +(?:score|rating|grade)$", "", name.lower().replace("_", " ").strip()))
    )


def aspect_scores(text: str | None, aspects: Sequence[str], low: float, high: float) -> AspectScores:
    """The score of each of the named aspects on the scale low to high.

    Reads JSON (also with single quotes, trailing commas, in a fence, cut off) by its keys, and lines and phrases by
    their labels. An aspect that is not scored, scored twice differently, or off the scale is missing by itself, with a
    reason; the whole is ok only where none is missing. Names are compared without case, blanks and punctuation.

    Raises: ValueError for a bad scale, no aspects, a blank or a repeated name; TypeError where `text` is neither str
    nor None or `aspects` is a string.
    Source: CoAScore, section 3.2.2 and Table 10 (relevant aspect scoring).
    """
    low, high = check_scale(low, high)
    if isinstance(aspects, str):
        raise TypeError(f"aspects must be a sequence of names, got the string {aspects[:60]!r}")
    names = tuple(aspects)
    for name in names:
        if not isinstance(name, str) or not normal(name):
            raise ValueError(f"an aspect must be a name such as 'Coherence', got {name!r}")
    if not names or len({normal(name) for name in names}) < len(names):
        raise ValueError(f"aspects must be one or more names that differ from each other, got {list(names)!r}")
    content = check_text(text, "aspect_scores")
    if content is None:
        return AspectScores(
            math.nan, Status.EMPTY, "no text", "empty", dict.fromkeys(names, math.nan), dict.fromkeys(names, "no text")
        )
    body = normalised(content, low, high)
    json = "{" in content and body.count("{") < content.count("{")
    cut = json and any(isinstance(item, Record) and item.cut for item, _, _ in objects(readable(content)))
    scores, reasons, statuses = {}, {}, []
    for name in names:
        read = under(body, candidates(body, low, high), low, high, name, strict=True)
        scores[name] = read.value
        if not read.ok:
            missed = cut and read.rule == "aspect"
            reasons[name] = "the JSON is cut off before it" if missed else read.reason
            statuses.append(Status.TRUNCATED if missed else read.status)
    rule = "json" if json else "labels"
    views = MappingProxyType(scores), MappingProxyType(reasons)
    if not reasons:
        return AspectScores(math.fsum(scores.values()) / len(scores), Status.OK, "", rule, *views)
    if len(reasons) == len(names):
        status, reason = why(body) or (statuses[0], next(iter(reasons.values())))
        return AspectScores(math.nan, status, reason, rule, *views)
    reason = f"no score for {len(reasons)} of {len(names)}: {', '.join(list(reasons)[:8])}"
    return AspectScores(math.nan, statuses[0], reason, rule, *views)
