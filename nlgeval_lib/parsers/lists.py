"""Lists as models write them: aspects, trees of criteria, and scores of aspects."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from nlgeval_lib.parsers.candidates import candidates
from nlgeval_lib.parsers.normalise import NAMES, Record, normalised, objects
from nlgeval_lib.parsers.ratings import Rating, under
from nlgeval_lib.parsers.text import Parsed, check_scale, check_text, readable, why
from nlgeval_lib.records import Status


@dataclass(frozen=True, slots=True)
class Criterion:
    """A named aspect or criterion, its definition ("" for none), and those under it."""

    name: str
    definition: str = ""
    children: tuple[Criterion, ...] = ()


@dataclass(frozen=True, slots=True)
class CriteriaList(Parsed):
    """Aspects or criteria in order; `value` has those at the top, None without any."""

    duplicates: int = 0
    truncated: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names at the top."""
        return tuple(criterion.name for criterion in self.value or ())


_KIND = r"(?i:(?:sub-?)?(?:aspect|criterion|dimension|metric|factor|name)[ _]?#?)"
_LINE = re.compile(
    r"(?P<indent>[ \t]*)"
    rf"(?P<mark>{_KIND}\d{{0,3}}(?:\.\d{{1,3}})?[ ]?[.:)-]"
    r"(?=\s+[^:?!.,]{1,60}(?:\Z|:|\s-\s))"
    r"|#{1,6}(?=\s)|[-+*•](?=\s)"
    r"|\(?\d{1,3}(?:\.\d{1,3}){0,4}(?:[.):]?(?=\s)|[.)](?=[^\W\d_]))"
    r"|\(?(?:[a-zA-Z]|[IVX]{2,4})[.)](?=\s))?[ \t]*(?P<rest>[^\n]*)"
)
_SPLITS = [
    re.compile(pattern, re.S)
    for pattern in (
        # **Name** text
        r"(?:\*\*|__)(?P<name>[^*_\n]{1,90}?)[:.]?(?:\*\*|__)\s*[:-]?\s*(?P<text>.*)",
        # Name: text
        r"(?P<name>[^:\n]{1,90}?)\s{0,3}:(?!\d|//)\s*(?P<text>.*)",
        # Name - text
        r"(?P<name>[^\n]{1,90}?)\s(?:-{1,2}|=)\s+(?P<text>.*)",
        # Name (text)
        r"(?P<name>[^()\n]{1,90}?)\s{0,3}\((?!\d)(?P<text>[^()]*)\)[.;,]?\s*\Z",
        # Name. Text
        r"(?P<name>[^.:!?\n]{1,40}?)\.\s+(?=[A-Z])(?P<text>.*)",
    )
]
# a name and nothing else
_BARE = re.compile(r"\s*(?:[\w/&'-]+ ){0,4}[\w/&'-]+[;,.]?\s*")
_SCALE = re.compile(r"\s{0,3}[(\[]\s?\d+\s?(?:-|to|/)\s?\d+[^)\]]{0,20}[)\]]\s*$")
# a line under a name that only says what it is, and lines that are no entry at all
_PART = re.compile(r"(?:definition|description|explanation)s?(?:\s?:\s*|\Z)", re.I)
_ASIDE = re.compile(
    r"(?:notes?|examples?|weights?|scores?|ratings?|scale|sure|certainly|reasons?)",
    re.I,
)
_LEAD_IN = re.compile(
    r"\A(?:[\w-]+ ){0,4}(?:aspects|criteria|metrics|dimensions|factors)"
    r"(?: (?:are|include))?\Z"
    r"|\b(?:here (?:are|is)|following|below|sure|certainly|based on"
    r"|to (?:evaluate|judge|measure|assess)|when (?:evaluating|measuring))\b",
    re.I,
)
_DEFINITIONS = ("definition", "description", "explanation", "question")


class Entry(NamedTuple):
    """One entry of a list; a level below 0 is a heading."""

    level: int
    name: str
    definition: str


def aspects(text: str | None) -> CriteriaList:
    """The aspects that a text lists, flat, each name once: from numbered, bulleted and
    bold lists, lines "Name: definition", and JSON; sentences around it are left out.

    Source: CoAScore, section 3.2.1 and Table 9 (relevant aspect generation).
    """
    return _listed(text, "aspects", nested=False)


def criteria(text: str | None) -> CriteriaList:
    """The criteria that a text lists, as `aspects` reads them, nested by indentation,
    numbering (1.2), headings and JSON.

    Source: HD-Eval, section 3.2 and Figure 10 (hierarchical criteria decomposition).
    """
    return _listed(text, "criteria", nested=True)


def _listed(text: str | None, parser: str, nested: bool) -> CriteriaList:
    content = check_text(text, parser)
    if content is None:
        return CriteriaList(None, Status.EMPTY, "no text", "empty")
    body = re.sub(r"</?[a-z]{1,9}>", " ", readable(content))
    status, reason = why(body.lower()) or (Status.UNPARSED, "no list of names")
    rule, entries = "json", _in_json(content)
    if not entries:
        rule, entries = "list", _in_lines(body)
    if not entries:
        return CriteriaList(None, status, reason, "none")
    listed = _tree(_without_title(entries)) if nested else list(_leaves(_tree(entries)))
    unique = _once(listed)
    duplicates = len(listed) - len(unique)
    truncated = status is Status.TRUNCATED
    return CriteriaList(unique, Status.OK, "", rule, duplicates, truncated)


def _without_title(entries: list[Entry]) -> list[Entry]:
    # without a heading such as "Criteria:" above them all
    while len(entries) > 2:
        levels = [entry.level for entry in entries[1:]]
        if entries[0].level >= min(0, *levels):
            break
        entries = entries[1:]
    return entries


def _tree(entries: Sequence[Entry]) -> list[Criterion]:
    """The entries with the deeper ones under them, headings over nothing left out."""
    roots = []
    at = 0
    while at < len(entries):
        level, name, definition = entries[at]
        end = at + 1
        while end < len(entries) and entries[end].level > level:
            end += 1
        children = _once(_tree(entries[at + 1 : end]))
        roots.append((level, Criterion(name, definition, children)))
        at = end
    headed = any(criterion.children for _, criterion in roots)
    return [
        criterion
        for level, criterion in roots
        if not headed or criterion.children or criterion.definition or level >= 0
    ]


def _once(criteria_found: Iterable[Criterion]) -> tuple[Criterion, ...]:
    """Each name once, as it comes first."""
    unique: dict[str, Criterion] = {}
    for criterion in criteria_found:
        unique.setdefault(criterion.name.casefold(), criterion)
    return tuple(unique.values())


def _leaves(roots: Iterable[Criterion]) -> Iterator[Criterion]:
    """The lowest criteria that have a definition; names alone under a name are it."""
    for root in roots:
        if any(child.children or child.definition for child in root.children):
            yield from _leaves(root.children)
        else:
            definitions = [root.definition]
            for child in root.children:
                definitions.append(f"{child.name} {child.definition}".strip())
            yield Criterion(root.name, " ".join(definitions).strip())


def _in_lines(text: str) -> list[Entry]:
    """The entries of a text's lists by lines; what goes on belongs to the one above."""
    matches = (_LINE.match(line) for line in text.split("\n"))
    lines = [line for line in matches if line]
    marked = any(line["mark"] and not line["mark"].startswith("#") for line in lines)
    full = [line for line in lines if line["rest"].strip()]
    named = not _only_sentences(full)
    bare = len(full) > 1 and all(_BARE.fullmatch(line.group()) for line in full)
    entries: list[Entry] = []
    # indent and style of the entries that the next line may stand under
    above: list[tuple[int, str]] = []
    goes_on = False  # whether a line may belong to the entry above
    blank = False  # whether a line without text was between
    for line in lines:
        content = line["rest"].strip()
        if not content:
            blank = True
            continue
        entry = _entry(line, marked, bare)
        if entry is None and not named and _is_numbered(line):
            entry = Entry(0, content.strip("*_ ").rstrip("."), "")
        apart = blank and line["indent"] == ""
        blank = False
        if entry is None and (apart or _LEAD_IN.search(content[:60])):
            goes_on = False
        # "## Examples" among criteria is one
        alone = entry is not None and line["mark"] and not entry.definition
        if goes_on and (entry is None or (_PART.fullmatch(entry.name) and not alone)):
            addition = entry.definition if entry else _PART.sub("", content, count=1)
            definition = f"{entries[-1].definition} {addition}".strip()
            entries[-1] = entries[-1]._replace(definition=definition)
        elif entry and (alone or not _ASIDE.fullmatch(entry.name)):
            if entry.level < 0:
                above = []
            else:
                entry = entry._replace(level=_depth(above, line))
            entries.append(entry)
            goes_on = True
    return entries


def _is_numbered(line: re.Match) -> bool:
    return (line["mark"] or "").strip("().: ").isdigit()


def _only_sentences(lines: Sequence[re.Match]) -> bool:
    """Whether the numbered lines are sentences, none of a name and a definition."""
    items = [_split(line["rest"].strip()) for line in lines if _is_numbered(line)]
    sentences = [name for name, _ in items if not name]
    return bool(sentences) and not any(definition for _, definition in items)


def _depth(above: list[tuple[int, str]], line: re.Match) -> int:
    """How deep a line stands: as the last like it, else below the less indented."""
    indent = len(line["indent"].expandtabs(4)) // 2
    place = indent, _style(line["mark"] or "")
    while place not in above and above and above[-1][0] > place[0]:
        above.pop()
    if place in above:
        del above[above.index(place) :]
    above.append(place)
    return len(above) - 1


def _style(mark: str) -> str:
    """The style of a mark: how many numbers it has, that it is a letter, or itself."""
    count = len(re.findall(r"\d+", mark))
    if count:
        return f"{count}{mark.startswith('(')}"
    style = mark.strip("().: ")
    return "a" if style.isalpha() else style


def _entry(line: re.Match, marked: bool, bare: bool) -> Entry | None:
    """The entry that a line begins, None where it goes on or says something else."""
    mark = line["mark"] or ""
    content = line["rest"].strip()
    bold = not mark and content.startswith(("**", "__"))
    name, text = _split(content)
    if not name or (
        not bold and (not mark or mark.isdigit()) and _LEAD_IN.search(name)
    ):
        return None
    if mark.startswith("#"):
        return Entry(-100 + 10 * len(mark), name, text)
    if bold and not text:
        return Entry(-50, name, text)  # a line in bold heads the list below it
    if mark or bold or bare:
        return Entry(0, name, text)
    if marked and content.endswith(":") and not text and "," not in name:
        # among marked lines an unmarked "Name:" heads a group
        return Entry(-1, name, text)
    if text and ":" in content and not marked:
        return Entry(0, name, text)
    return None


def _split(content: str) -> tuple[str, str]:
    """The name and the definition in an entry; no name where it begins with none."""
    for pattern in _SPLITS:
        match = pattern.match(content)
        name = _name(match["name"]) if match else ""
        if match and name:
            return name, match["text"].replace("**", "").replace("__", "").strip()
    return _name(content), ""


def _name(text: str) -> str:
    """A name without markup, its number and a scale; "" where the text is none."""
    name = _SCALE.sub("", text).strip(" \t\n*_`\"'[]<>").rstrip(":;,")
    name = re.sub(rf"\A(?:{_KIND})?\d+(?:\.\d+)*[.:)]?\s+", "", name)
    name = re.sub(r"\s+", " ", name).strip("*_ ").rstrip(".")
    if len(name) > 80 or len(name.split()) > 9 or not re.search(r"[^\W\d_]", name):
        return ""
    if re.search(r"[.!?]\s|[?!]\Z", name):
        return ""  # a sentence
    return name


def _in_json(content: str) -> list[Entry]:
    """The entries of the first JSON value that is at least a third of the text."""
    for item, start, end in objects(content[:100_000].strip()):
        if 3 * (end - start) >= len(content.strip()):
            entries = list(_of_json(item, -80))
            if entries:
                return entries
    return []


def _of_json(item: Any, level: int) -> Iterator[Entry]:
    """The entries of a JSON value: texts, named records, keys with what they hold."""
    if isinstance(item, list):
        pairs = [("", value) for value in item]
    else:
        pairs = [(str(key), value) for key, value in item.pairs]
        pairs = [pair for pair in pairs if isinstance(pair[1], list)] or pairs
    for key, value in pairs:
        name = _name(key)
        definition = ""
        children: Any = []
        if isinstance(value, str) and name:
            definition = value
        elif isinstance(value, str):
            name, _, definition = value.partition(":")
            name = _name(name)
        elif isinstance(value, Record):
            own_name = _first_text(value, NAMES)
            definition = _first_text(value, _DEFINITIONS)
            name = _name(own_name) or name
            inner = [part for part in value.values() if isinstance(part, list | Record)]
            children = (inner or [[]])[0] if own_name or definition else value
        elif isinstance(value, list) and isinstance(item, Record):
            children = value
        title = children and len(pairs) == 1  # it only heads the whole list
        if name and not title:
            yield Entry(level, name, definition.strip())
        yield from _of_json(children, level + 1)


def _first_text(record: Record, keys: Iterable[str]) -> str:
    texts = {key.lower(): value for key, value in record.items()}
    for key in keys:
        if isinstance(texts.get(key), str):
            return texts[key]
    return ""


# --- scores of named aspects
@dataclass(frozen=True, slots=True)
class AspectScores(Parsed):
    """Scores of all aspects asked for, NaN where missing; `value` is their mean."""

    scores: Mapping[str, float] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)


def normal(name: str) -> str:
    """The normal form of a name: its words in lower case, without a final "score"."""
    spaced = name.lower().replace("_", " ").strip()
    plain = re.sub(r" +(?:score|rating|grade)$", "", spaced)
    return " ".join(re.findall(r"\w+", plain))


def aspect_scores(
    text: str | None, aspects: Sequence[str], low: float, high: float
) -> AspectScores:
    """The score of each named aspect from JSON by its keys, and lines and phrases by
    their labels, without case, blanks and punctuation; ok only where none is missing.

    Raises: ValueError for a bad scale, no aspects, a blank or repeated name; TypeError.
    Source: CoAScore, section 3.3 and Table 10 (relevant aspect scoring).
    """
    low, high = check_scale(low, high)
    names = _checked_names(aspects)
    content = check_text(text, "aspect_scores")
    if content is None:
        scores = dict.fromkeys(names, math.nan)
        reasons = dict.fromkeys(names, "no text")
        return AspectScores(math.nan, Status.EMPTY, "no text", "empty", scores, reasons)
    body = normalised(content, low, high)
    json = body.count("{") < content.count("{")
    ratings: dict[str, Rating] = {}
    pool = candidates(body, low, high)
    for name in names:
        # reading a label changes the candidates at it
        fresh = list(map(copy.copy, pool))
        ratings[name] = under(body, fresh, low, high, name, strict=True)
    items = [item for item, _, _ in objects(readable(content))] if json else []
    if any(isinstance(item, Record) and item.cut for item in items):
        for name, read in ratings.items():
            if read.rule == "aspect":
                reason = "the JSON is cut off before it"
                ratings[name] = replace(read, status=Status.TRUNCATED, reason=reason)
    scores = {name: read.value for name, read in ratings.items()}
    reasons = {name: read.reason for name, read in ratings.items() if not read.ok}
    rule = "json" if json else "labels"
    if not reasons:
        mean = math.fsum(scores.values()) / len(scores)
        return AspectScores(mean, Status.OK, "", rule, scores, reasons)
    first = ratings[next(iter(reasons))]
    status = first.status
    reason = f"no score for {len(reasons)} of {len(names)}: "
    reason += ", ".join(list(reasons)[:8])
    if len(reasons) == len(names):
        status, reason = why(body) or (status, first.reason)
    return AspectScores(math.nan, status, reason, rule, scores, reasons)


def _checked_names(aspects: Sequence[str]) -> tuple[str, ...]:
    if isinstance(aspects, str):
        raise TypeError(
            f"aspects must be a sequence of names, got the string {aspects[:60]!r}"
        )
    names = tuple(aspects)
    plain = [normal(name) if isinstance(name, str) else "" for name in names]
    if not all(plain) or not names or len(set(plain)) < len(names):
        raise ValueError(
            "aspects must be one or more different names such as 'Coherence', "
            f"got {list(names)!r}"
        )
    return names
