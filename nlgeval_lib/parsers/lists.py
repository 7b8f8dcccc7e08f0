"""Lists as models write them: aspects, criteria, and scores of aspects.

Criteria are a tree, read from entries with a level, a name and a definition.
"""

from __future__ import annotations

import copy
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from nlgeval_lib.parsers.candidates import candidates
from nlgeval_lib.parsers.normalise import (
    NAMES,
    Record,
    normalised,
    objects,
    table_lines,
)
from nlgeval_lib.parsers.ratings import Rating, under
from nlgeval_lib.parsers.text import Parsed, check_scale, check_text, readable, why
from nlgeval_lib.records import Status


@dataclass(frozen=True, slots=True)
class Criterion:
    """A named aspect or criterion, its definition and the criteria under it.

    The definition is empty where none is given.
    """

    name: str
    definition: str = ""
    children: tuple[Criterion, ...] = ()


@dataclass(frozen=True, slots=True)
class CriteriaList(Parsed):
    """Aspects or criteria in the order of the text.

    `value` is the tuple of those at the top, None without any.
    """

    duplicates: int = 0
    truncated: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names at the top."""
        return tuple(criterion.name for criterion in self.value or ())


# --- lines
_KIND = r"(?:sub-?)?(?:aspect|criterion|dimension|metric|factor|name)[ _]?#?"
_LINE = re.compile(
    r"(?P<indent>[ \t]*)"
    rf"(?P<mark>(?i:{_KIND})\d{{0,3}}(?:\.\d{{1,3}})?[ ]?[.:)-]"
    r"(?=\s+[^:?!.,]{1,60}(?:\Z|:|\s-\s))"
    r"|#{1,6}(?=\s)|[A-Z]\.\d{1,2}[.)]?(?=\s)"
    r"|\[\d{1,2}(?:\.\d{1,2})*\](?=\s)"
    r"|(?:[-+*•]|[\u2190-\u27bf\U0001f300-\U0001faff])(?=\s)"
    r"|\(?\d{1,3}(?:\.\d{1,3}){0,4}(?:[.):]?(?=\s)|[,.)](?=[^\W\d_]))"
    r"|\(?(?:[a-zA-Z]|[IVX]{2,4})[.)](?=\s))?[ \t]*"
    r"(?P<rest>[^\n]*)"
)
_SPLITS = [
    re.compile(pattern, re.S)
    for pattern in (
        # **Name** text
        r"(?:\*\*|__)(?P<name>[^*_\n]{1,90}?)[:.]?(?:\*\*|__)\s*[:-]?\s*(?P<text>.*)",
        # Name: text
        r"(?P<name>[^:\n]{1,90}?)\s{0,3}:(?!\d|//)\s*(?P<text>.*)",
        # Name - text, Name = text
        r"(?P<name>[^\n]{1,90}?)\s(?:-{1,2}|=|->)\s+(?P<text>.*)",
        # Name (text)
        r"(?P<name>[^()\n]{1,90}?)\s{0,3}\((?!\d|weight)(?P<text>[^()]*)\)\s*"
        r"(?:[.;]|,? and|,)?\s*\Z",
        # Name. Text
        r"(?P<name>[^.:!?\n]{1,40}?)\.\s+(?=[A-Z])(?P<text>.*)",
    )
]
# a line that is a name and nothing else
_BARE = re.compile(r"\s*(?:[\w/&'-]+ ){0,4}[\w/&'-]+[;,.]?\s*")
# a line of its own: "Relevance - on topic"
_DASHED = re.compile(r"[A-Z][\w/&-]*(?: [\w/&-]+){0,3}\s+-\s+\S")
_SCALE = re.compile(
    r"\s{0,3}[(\[]\s?"
    r"(?:\d+\s?(?:-|to|/)\s?\d+[^)\]]{0,20}|(?:weight:?\s)?\d+\s?(?:points?|%))"
    r"\s?[)\]]\s*$"
)
_NUMBERED = re.compile(
    r"^"
    rf"(?:{_KIND}\d{{1,3}}[ ]?(?:[.:)]|-(?=\s))\s*(?=\S)"
    r"|\(?\d{1,3}(?:(?:\.\d{1,3})*[.)]|(?:\.\d{1,3})+)\s+)",
    re.I,
)
# "Criterion 1 - Clarity"
_KINDED = re.compile(rf"^{_KIND}(?:\d{{1,3}}(?:\.\d{{1,3}})?)?\s?[:-]\s+(?=\S)", re.I)
# the branches of a drawn tree
_BRANCH = re.compile(r"^([│| \t]{0,40})[├└|`][─-]{1,3}[ \t]+", re.M)
# "**1.1 Warmth**"
_BOLD_NUMBER = re.compile(
    r"^([ \t]*)(\*\*|__|\*)(\d{1,3}(?:\.\d{1,3})*[.)]?[ ]+)", re.M
)
# what stands under a name, and what is no entry at all
_PART = re.compile(
    r"(?:definition|description|explanation|meaning|what it (?:means|measures)"
    r"|criteria|question)s?"
    r"(?:\s?:\s*|\Z)",
    re.I,
)
_ASIDE = re.compile(
    r"(?:notes?|examples?|e\.g|weights?|scores?|ratings?|scale|sure|certainly"
    r"|of course|importance|rationale|reasons?|how to (?:score|evaluate|measure)"
    r"|possible scores?|evaluation (?:question|method))",
    re.I,
)
_LEAD_IN = re.compile(
    r"\A(?:[\w-]+ ){0,4}(?:aspects|criteria|metrics|dimensions|factors)"
    r"(?: (?:are|include|would be|to consider))?\Z"
    r"|\b"
    r"(?:here (?:are|is)|following|below|these (?:are|aspects|criteria)"
    r"|aspects? (?:that|to|which)|sure|certainly|based on|can be|in order to"
    r"|to (?:evaluate|judge|measure|assess)|consider|when (?:evaluating|measuring))\b",
    re.I,
)
# --- one line
_ONE = re.compile(r"(?:\A|[\s:])\(?1[.)][ ]")
_TWO = re.compile(r"[ ]\(?2[.)][ ]")
_NEXT = re.compile(r"[ ](?=\(?\d{1,2}[.)][ ])")
_INLINE = re.compile(r"(?<=\D[.?!;])\s(?=[A-Z][A-Za-z][A-Za-z /&'-]{0,48}:\s)")
_COMMAS = re.compile(r"\s?(?:,|;|/|\||\band\b|&)\s?", re.I)
_LEAD = re.compile(
    r"\A(?:(?:sure|certainly|of course)[!,.]\s+)?"
    r"(?:[^:\n]{0,160}:\s*"
    r"|[\w' -]{0,80}\b"
    r"(?:aspects|criteria|dimensions|metrics|factors)\b[\w' ]{0,40}?\b"
    r"(?:are|include)\s+)?",
    re.I,
)
_NAMES_ONLY = re.compile(
    r"[A-Z][\w'-]*(?: [\w'-]+){0,2}(?:[,;] [A-Z][\w'-]*(?: [\w'-]+){0,2})*[.;]?"
)
# --- JSON
_PLACE = re.compile(rf"(?:{_KIND})?\d*", re.I)  # a key that only numbers
_DEFINITIONS = (
    "definition",
    "description",
    "explanation",
    "meaning",
    "question",
    "details",
)


class Entry(NamedTuple):
    """One entry of a list; a level below 0 is a heading."""

    level: int
    name: str
    definition: str


def aspects(text: str | None) -> CriteriaList:
    """The aspects that a text lists, with their definitions, flat.

    Reads numbered, bulleted and bold lists, lines and running text of the form "Name:
    definition", JSON lists and objects, and comma lists. A name that comes again (in
    any case) counts once. Sentences around the list are left out.
    Raises: TypeError where `text` is neither str nor None.
    Source: CoAScore, section 3.2.1 and Table 9 (relevant aspect generation).
    """
    return _listed(text, "aspects", nested=False)


def criteria(text: str | None) -> CriteriaList:
    """The criteria that a text lists, nested by indentation, numbering (1.2) and
    headings.

    Takes every form that `aspects` takes, nested JSON too; running text is flat. A name
    that comes again under the same parent counts once. A heading that only introduces
    the whole list is no criterion.
    Raises: TypeError where `text` is neither str nor None.
    Source: HD-Eval, section 3.2 and Figure 10 (hierarchical criteria decomposition).
    """
    return _listed(text, "criteria", nested=True)


def _listed(text: str | None, parser: str, nested: bool) -> CriteriaList:
    """The list in a text, as a tree or flat."""
    content = check_text(text, parser)
    if content is None:
        return CriteriaList(None, Status.EMPTY, "no text", "empty")
    body = _by_lines(content)
    status, reason = why(body.lower()) or (Status.UNPARSED, "no list of names")
    rule, entries = _entries(content, body)
    if not entries and status is not Status.REFUSED:
        rule = "commas"
        entries = _between_commas(body)
    if not entries:
        return CriteriaList(None, status, reason, "none")
    if nested:
        criteria_found = _tree(_without_title(_with_parts(entries)))
    else:
        criteria_found = list(_leaves(_tree(entries)))
    unique = _once(criteria_found)
    duplicates = len(criteria_found) - len(unique)
    truncated = status is Status.TRUNCATED
    return CriteriaList(unique, Status.OK, "", rule, duplicates, truncated)


def _entries(content: str, body: str) -> tuple[str, list[Entry]]:
    """The entries of a text in the first form that gives any, and the form's name."""
    rule = "json"
    entries = _in_json(content)
    if not entries:
        rule = "list"
        entries = _in_lines(body)
    if len(entries) < 2 and _INLINE.search(body):
        # running text: "Name: definition. Name: definition."
        sentences = _in_lines(_INLINE.sub("\n", body))
        if len(sentences) > 1:
            return "inline", sentences
    return rule, entries


def _with_parts(entries: list[Entry]) -> list[Entry]:
    """The entries with the names in "Grammar: Tense, Agreement" under their name.

    All entries must be of this form, else they stay as they are.
    """
    if not all(_NAMES_ONLY.fullmatch(entry.definition) for entry in entries):
        return entries
    if not re.search(r"[,;]", entries[0].definition.rstrip(".;")):
        return entries
    nested = []
    for level, name, definition in entries:
        nested.append(Entry(level, name, ""))
        for part in re.split(r"[,;]", definition.rstrip(".;")):
            nested.append(Entry(level + 1, part.strip(), ""))
    return nested


def _without_title(entries: list[Entry]) -> list[Entry]:
    """The entries without a heading such as "Criteria:" above them all."""
    while len(entries) > 2:
        levels = [entry.level for entry in entries[1:]]
        if entries[0].level >= min(0, *levels):
            break
        entries = entries[1:]
    return entries


def _tree(entries: Sequence[Entry]) -> list[Criterion]:
    """The entries with the deeper ones under them.

    A heading over nothing is no criterion where others have some under them.
    """
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
    """Each name once, with what stands under it anywhere."""
    unique: dict[str, Criterion] = {}
    for criterion in criteria_found:
        key = criterion.name.casefold()
        first = unique.setdefault(key, criterion)
        if first is not criterion and criterion.children:
            children = _once([*first.children, *criterion.children])
            unique[key] = replace(first, children=children)
    return tuple(unique.values())


def _leaves(roots: Iterable[Criterion]) -> Iterator[Criterion]:
    """The lowest criteria that have a definition.

    Names alone under a name are its definition.
    """
    for root in roots:
        if any(child.children or child.definition for child in root.children):
            yield from _leaves(root.children)
        else:
            definitions = [root.definition]
            for child in root.children:
                definitions.append(f"{child.name} {child.definition}".strip())
            yield Criterion(root.name, " ".join(definitions).strip())


# --- entries of each form
def _by_lines(text: str) -> str:
    """The readable text with each entry on a line of its own.

    This separates the entries of a table and of a numbered list in one line.
    """
    plain = re.sub(r"</?[a-z]{1,9}\s{0,3}>", " ", table_lines(readable(text), _rows))
    plain = _BRANCH.sub(lambda branch: " " * len(branch[1]) + "  - ", plain)
    lines = []
    for line in _BOLD_NUMBER.sub(r"\1\3\2", plain).split("\n"):
        if _ONE.search(line) and _TWO.search(line):
            line = _NEXT.sub("\n", line)
        lines.append(line)
    return "\n".join(lines)


def _rows(head: list[str], rows: list[list[str]]) -> list[str]:
    """A line for each row of a table: its number, name and definition.

    Of a table with sub-criteria: the name, and under it the sub-criteria.
    """
    with_parts = any("sub" in name.lower() for name in head)
    lines = []
    for row in rows:
        cells = _from_name(row)
        if len(cells) < 2:
            continue
        name, definition = cells[:2]
        if with_parts:
            parts = re.split(r"[,;] ?", definition)
            lines.append("\n  - ".join([f"- {name}", *parts]))
        else:
            numbered = re.fullmatch(r"\d{1,2}(?:\.\d{1,2})*", row[0])
            lines.append(f"{row[0] if numbered else '-'} {name}: {definition}")
    return lines


def _from_name(row: list[str]) -> list[str]:
    """The cells of a row from the first one with a letter on."""
    for at, cell in enumerate(row):
        if re.search(r"[^\W\d_]", cell):
            return row[at:]
    return []


def _in_lines(text: str) -> list[Entry]:
    """The entries of the lists in a text by lines.

    Lines that go on, and "Definition: ...", belong to the entry above.
    """
    matches = (_LINE.match(line) for line in text.split("\n"))
    lines = [line for line in matches if line]
    marked = any(line["mark"] and not line["mark"].startswith("#") for line in lines)
    full = [line for line in lines if line["rest"].strip()]
    named = not _only_sentences(full)
    bare = len(full) > 1 and all(_BARE.fullmatch(line.group()) for line in full)
    heads = set()
    for line, next_line in itertools.pairwise(full):
        if _indent(next_line) > _indent(line):
            heads.add(line)
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
        entry = _entry(line, marked, bare, line in heads)
        if entry is None and not named and _is_numbered(line):
            entry = Entry(0, content.strip("*_ ").rstrip("."), "")
        apart = blank and line["indent"] == ""
        blank = False
        if entry is None and (apart or _LEAD_IN.search(content[:60])):
            goes_on = False
        # "## Examples" among criteria is one
        alone = entry is not None and line["mark"] and not entry.definition
        part = entry is None or (_PART.fullmatch(entry.name) and not alone)
        if goes_on and part:
            entries[-1] = _continued(entries[-1], entry, content)
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
    """Whether the numbered lines of a list are sentences: none has a name and a
    definition, and some are no name.
    """
    items = [_split(line["rest"].strip()) for line in lines if _is_numbered(line)]
    sentences = [name for name, _ in items if not name]
    return bool(sentences) and not any(definition for _, definition in items)


def _indent(line: re.Match) -> int:
    return len(line["indent"].expandtabs(4)) // 2


def _continued(last: Entry, entry: Entry | None, content: str) -> Entry:
    """The last entry with what the next line adds to its definition."""
    if entry:
        addition = entry.definition
    else:
        addition = _PART.sub("", content.lstrip("> "), count=1)
    return last._replace(definition=f"{last.definition} {addition}".strip())


def _depth(above: list[tuple[int, str]], line: re.Match) -> int:
    """How deep a line stands.

    It stands beside the last entry of its indent and style of mark, else under the last
    one that is less indented.
    """
    place = _indent(line), _style(line["mark"] or "")
    while place not in above and above and above[-1][0] > place[0]:
        above.pop()
    if place in above:
        del above[above.index(place) :]
    above.append(place)
    return len(above) - 1


def _style(mark: str) -> str:
    """The style of a mark: how many numbers it has, its kind of letter, or itself."""
    count = len(re.findall(r"\d+", mark))
    if count:
        return f"{count}{mark.startswith('(')}"
    style = mark.strip("().: ")
    if not style.isalpha():
        return style
    if set(style) <= set("IVX"):
        return "roman"
    return "A" if style.isupper() else "a"


def _entry(line: re.Match, marked: bool, bare: bool, head: bool) -> Entry | None:
    """The entry that a line begins, None where it goes on or says something else."""
    mark = line["mark"] or ""
    content = line["rest"].strip()
    bold = not mark and content.startswith(("**", "__"))
    name, text = _split(_KINDED.sub("", content))
    if not name:
        name, text = _split(content)
    if not name or content.startswith(">"):
        return None
    if not bold and (not mark or mark.isdigit()) and _LEAD_IN.search(name):
        return None
    if mark.startswith("#"):
        return Entry(-100 + 10 * len(mark), name, text)
    bold_line = r"(?:\*\*|__)[^*_\n]{1,90}(?:\*\*|__)[:.]?"
    if bold and not text and re.fullmatch(bold_line, content):
        return Entry(-50, name, text)  # a line in bold heads the list below it
    if mark or bold or bare:
        return Entry(0, name, text)
    short = head and len(name.split()) <= 5 and not re.search(r"[.!?]", content)
    heads = content.endswith(":") or short
    if (marked or head) and heads and not text and "," not in name:
        # among marked lines an unmarked "Name:" heads a group
        return Entry(-1, name, text)
    defined = ":" in content or _DASHED.match(content) or content.endswith(")")
    if text and defined and not marked:
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
    """A name without markup, quotes, its number and a scale in brackets.

    Empty where the text is too long for a name.
    """
    name = _SCALE.sub("", text).strip(" \t\n*_`\"'")
    name = name.lstrip("#[<").rstrip("]>:;,").strip(" \t\n*_`\"':;,")
    name = re.sub(r"\s+", " ", _NUMBERED.sub("", name, count=1)).rstrip(".")
    if len(name) > 80 or len(name.split()) > 9 or not re.search(r"[^\W\d_]", name):
        return ""
    if re.search(r"[.!?]\s|[?!]\Z", name):
        return ""  # a sentence
    return name


def _between_commas(body: str) -> list[Entry]:
    """`Relevance, coherence and fluency`: two names or more of at most four words."""
    line = _LEAD.sub("", body.strip()[:1000], count=1).strip().rstrip(".")
    names = [_name(part) for part in _COMMAS.split(line) if part.strip()]
    if len(line) > 600 or "\n" in line or len(names) < 2 or not all(names):
        return []
    for name in names:
        sentence = re.search(r"[.!?\d]|\b(?:is|are|was|it)\b", name)
        if sentence or len(name.split()) > 4:
            return []
    return [Entry(0, name, "") for name in names]


def _in_json(content: str) -> list[Entry]:
    """The entries of the first JSON value that is at least a third of the text."""
    for item, start, end in objects(content[:100_000].strip()):
        if 3 * (end - start) >= len(content.strip()):
            entries = list(_of_json(item, -80))
            if entries:
                return entries
    return []


def _of_json(item: Record | list, level: int) -> Iterator[Entry]:
    """The entries of a JSON value.

    They are texts, records with a name, and keys with a definition or with entries
    under them.
    """
    pairs: list[tuple[str, Any]]
    if isinstance(item, Record):
        pairs = list(item.pairs)
        lists = [pair for pair in pairs if isinstance(pair[1], list)]
        pairs = lists or pairs
    else:
        pairs = [("", value) for value in item]
    for key, value in pairs:
        name = "" if _PLACE.fullmatch(str(key)) else _name(str(key))
        definition = ""
        children: Record | list = []
        if isinstance(value, str) and name:
            definition = value
        elif isinstance(value, str):
            name_part, _, definition = value.partition(":")
            name = _name(name_part)
        elif isinstance(value, Record):
            name, definition, children = _of_record(name, value)
        elif isinstance(value, list) and isinstance(item, Record):
            children = value
        title = children and len(pairs) == 1  # it only heads the whole list
        if name and not title:
            yield Entry(level, name, definition.strip())
        yield from _of_json(children, level + 1)


# --- scores of named aspects
def _of_record(name: str, record: Record) -> tuple[str, str, Record | list]:
    """Name and definition of a record under a key, and what stands under them."""
    texts = {}
    inner = []
    for key, value in record.items():
        if isinstance(value, str):
            texts[str(key).lower()] = value
        elif isinstance(value, (Record, list)):
            inner.append(value)
    own_name = _first_text(texts, NAMES)
    definition = _first_text(texts, _DEFINITIONS)
    if own_name or definition:
        lists = [part for part in inner if _holds_entries(part)]
        children: Record | list = [part for part in inner if isinstance(part, Record)]
        if len(lists) == 1:
            children = lists[0]
        return _name(own_name) or name, definition, children
    if len(inner) + len(texts) == len(record) and (name or len(record) == 1):
        return name, definition, record
    return name, definition, []


def _first_text(texts: Mapping[str, str], keys: Iterable[str]) -> str:
    """The text of the first of the keys that is there, empty without any."""
    for key in keys:
        if key in texts:
            return texts[key]
    return ""


def _holds_entries(item: Record | list) -> bool:
    """Whether every part of a JSON value is a text or a record."""
    return all(isinstance(part, (str, Record)) for part in item)


@dataclass(frozen=True, slots=True)
class AspectScores(Parsed):
    """Scores of all aspects asked for, NaN where missing.

    `reasons` says why a score is missing; `value` is the mean if all have one.
    """

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
    """The score of each of the named aspects on the scale low to high.

    Reads JSON (also with single quotes, trailing commas, in a fence, cut off) by its
    keys, and lines and phrases by their labels. An aspect that is not scored, scored
    twice differently, or off the scale is missing by itself, with a reason; the whole
    is ok only where none is missing. Names are compared without case, blanks and
    punctuation.

    Raises: ValueError for a bad scale, no aspects, a blank or a repeated name;
    TypeError where `text` is neither str nor None or `aspects` is a string.
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
    if json and _json_is_cut(content):
        _say_cut(ratings)
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
    """The names of aspects.

    Raises: TypeError for a string, ValueError for no, blank or repeated names.
    """
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


def _json_is_cut(content: str) -> bool:
    """Whether the JSON of a text is cut off."""
    items = (item for item, _, _ in objects(readable(content)))
    return any(isinstance(item, Record) and item.cut for item in items)


def _say_cut(ratings: dict[str, Rating]) -> None:
    """Give the aspects that a cut-off JSON does not reach their reason."""
    reason = "the JSON is cut off before it"
    for name, read in ratings.items():
        if read.rule == "aspect":
            ratings[name] = replace(read, status=Status.TRUNCATED, reason=reason)
