"""Lists as models write them: aspects, criteria as a tree of entries (level, name, definition), scores of aspects."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nlgeval_lib.parsers.normalise import NAMES, Record, objects, table_lines
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


# --- lines ----------------------------------------------------------------------------------------------------------
_KIND = r"(?:sub-?)?(?:aspect|criterion|dimension|metric|factor|name)[ _]?#?"
_LINE = re.compile(
    rf"(?P<indent>[ \t]*)(?P<mark>(?i:{_KIND})\d{{0,3}}(?:\.\d{{1,3}})?[ ]?[.:)-](?=\s+[^:?!.,]{{1,60}}(?:\Z|:|\s-\s))|"
    r"#{1,6}(?=\s)|[A-Z]\.\d{1,2}[.)]?(?=\s)|\[\d{1,2}(?:\.\d{1,2})*\](?=\s)|(?:[-+*•]|[\u2190-\u27bf\U0001f300-\U0001f"
    r"aff])(?=\s)|\(?\d{1,3}(?:\.\d{1,3}){0,4}(?:[.):]?(?=\s)|[,.)](?=[^\W\d_]))|\(?(?:[a-zA-Z]|"
    r"[IVX]{2,4})[.)](?=\s))?[ \t]*(?P<rest>[^\n]*)"
)
_SPLITS = [
    re.compile(pattern, re.S)
    for pattern in (
        r"(?:\*\*|__)(?P<name>[^*_\n]{1,90}?)[:.]?(?:\*\*|__)\s*[:-]?\s*(?P<text>.*)",  # **Name** text
        r"(?P<name>[^:\n]{1,90}?)\s{0,3}:(?!\d|//)\s*(?P<text>.*)",  # Name: text
        r"(?P<name>[^\n]{1,90}?)\s(?:-{1,2}|=|->)\s+(?P<text>.*)",  # Name - text, Name = text
        r"(?P<name>[^()\n]{1,90}?)\s{0,3}\((?!\d|weight)(?P<text>[^()]*)\)\s*(?:[.;]|,? and|,)?\s*\Z",  # Name (text)
        r"(?P<name>[^.:!?\n]{1,40}?)\.\s+(?=[A-Z])(?P<text>.*)",  # Name. Text
    )
]
_BARE = re.compile(r"\s*(?:[\w/&'-]+ ){0,4}[\w/&'-]+[;,.]?\s*")  # a line that is a name and nothing else
_DASHED = re.compile(r"[A-Z][\w/&-]*(?: [\w/&-]+){0,3}\s+-\s+\S")  # a line of its own: "Relevance - on topic"
_SCALE = re.compile(
    r"\s{0,3}[(\[]\s?(?:\d+\s?(?:-|to|/)\s?\d+[^)\]]{0,20}|(?:weight:?\s)?\d+\s?(?:points?|%))\s?[)\]]\s*$"
)
_NUMBERED = re.compile(
    rf"^(?:{_KIND}\d{{1,3}}[ ]?(?:[.:)]|-(?=\s))\s*(?=\S)|\(?\d{{1,3}}(?:(?:\.\d{{1,3}})*[.)]|(?:\.\d{{1,3}})+)\s+)",
    re.I,
)
_KINDED = re.compile(rf"^{_KIND}(?:\d{{1,3}}(?:\.\d{{1,3}})?)?\s?[:-]\s+(?=\S)", re.I)  # "Criterion 1 - Clarity"
_BRANCH = re.compile(r"^([│| \t]{0,40})[├└|`][─-]{1,3}[ \t]+", re.M)  # of a drawn tree
_BOLD_NUMBER = re.compile(r"^([ \t]*)(\*\*|__|\*)(\d{1,3}(?:\.\d{1,3})*[.)]?[ ]+)", re.M)  # "**1.1 Warmth**"
# what stands under a name, and what is no entry at all
_PART = re.compile(
    r"(?:definition|description|explanation|meaning|what it (?:means|measures)|criteria|question)s?(?:\s?:\s*|\Z)",
    re.I,
)
_ASIDE = re.compile(
    r"(?:notes?|examples?|e\.g|weights?|scores?|ratings?|scale|sure|certainly|of course|importance|rationale|"
    r"reasons?|how to (?:score|evaluate|measure)|possible scores?|evaluation (?:question|method))",
    re.I,
)
_LEAD_IN = re.compile(
    r"\A(?:[\w-]+ ){0,4}(?:aspects|criteria|metrics|dimensions|factors)(?: (?:are|include|would be|to consider))?\Z|"
    r"\b(?:here (?:are|is)|following|below|these (?:are|aspects|criteria)|aspects? (?:that|to|which)|sure|certainly|"
    r"based on|can be|in order to|to (?:evaluate|judge|measure|assess)|consider|when (?:evaluating|measuring))\b",
    re.I,
)
# --- one line -------------------------------------------------------------------------------------------------------
_ONE, _TWO = re.compile(r"(?:\A|[\s:])\(?1[.)][ ]"), re.compile(r"[ ]\(?2[.)][ ]")
_NEXT = re.compile(r"[ ](?=\(?\d{1,2}[.)][ ])")
_INLINE = re.compile(r"(?<=\D[.?!;])\s(?=[A-Z][A-Za-z][A-Za-z /&'-]{0,48}:\s)")
_COMMAS = re.compile(r"\s?(?:,|;|/|\||\band\b|&)\s?", re.I)
_LEAD = re.compile(
    r"\A(?:(?:sure|certainly|of course)[!,.]\s+)?(?:[^:\n]{0,160}:\s*|[\w' -]{0,80}\b(?:aspects|criteria|dimensions|"
    r"metrics|factors)\b[\w' ]{0,40}?\b(?:are|include)\s+)?",
    re.I,
)
_NAMES_ONLY = re.compile(r"[A-Z][\w'-]*(?: [\w'-]+){0,2}(?:[,;] [A-Z][\w'-]*(?: [\w'-]+){0,2})*[.;]?")
# --- JSON -----------------------------------------------------------------------------------------------------------
_PLACE = re.compile(rf"(?:{_KIND})?\d*", re.I)  # a key that only numbers
_DEFINITIONS = ("definition", "description", "explanation", "meaning", "question", "details")

Entry = tuple[int, str, str]  # level, name, definition


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

    Takes every form that `aspects` takes, nested JSON too; running text is flat. A name that comes again under
    the same parent counts once. A heading that only introduces the whole list is no criterion.
    Raises: TypeError where `text` is neither str nor None.
    Source: HD-Eval, section 3.2 and Figure 10 (hierarchical criteria decomposition).
    """
    return _listed(text, "criteria", nested=True)


def _listed(text: str | None, parser: str, nested: bool) -> CriteriaList:
    content = check_text(text, parser)
    if content is None:
        return CriteriaList(None, Status.EMPTY, "no text", "empty")
    body = _by_lines(content)
    status, reason = why(body.lower()) or (Status.UNPARSED, "no list of names")
    rule, entries = "json", _in_json(content)
    if not entries:
        rule, entries = "list", _in_lines(body)
    if len(entries) < 2 and _INLINE.search(body) and len(apart := _in_lines(_INLINE.sub("\n", body))) > 1:
        rule, entries = "inline", apart  # running text: "Name: definition. Name: definition."
    if not entries and status is not Status.REFUSED:
        rule, entries = "commas", _between_commas(body)
    if not entries:
        return CriteriaList(None, status, reason, "none")
    if nested and all(_NAMES_ONLY.fullmatch(said) for _, _, said in entries):  # "Grammar: Tense, Agreement"
        parts = [(level, name, re.split(r"[,;]", said.rstrip(".;"))) for level, name, said in entries]
        under = [[(level, name, ""), *((level + 1, part.strip(), "") for part in said)] for level, name, said in parts]
        entries = list(itertools.chain(*under)) if len(parts[0][2]) > 1 else entries
    while nested and len(entries) > 2 and entries[0][0] < min(0, *(level for level, _, _ in entries[1:])):
        entries = entries[1:]  # "Criteria:" above them all
    found = _tree(entries) if nested else list(_leaves(_tree(entries)))
    unique = _once(found)
    return CriteriaList(unique, Status.OK, "", rule, len(found) - len(unique), status is Status.TRUNCATED)


def _tree(entries: Sequence[Entry]) -> list[Criterion]:
    """The entries with the deeper ones under them; a heading over nothing is none where others have some."""
    found, at = [], 0
    while at < len(entries):
        level, name, text = entries[at]
        end = next((place for place in range(at + 1, len(entries)) if entries[place][0] <= level), len(entries))
        found.append((level, Criterion(name, text, _once(_tree(entries[at + 1 : end])))))
        at = end
    headed = any(one.children for _, one in found)
    return [one for level, one in found if not headed or one.children or one.definition or level >= 0]


def _once(found: Iterable[Criterion]) -> tuple[Criterion, ...]:
    """Each name once, with what stands under it anywhere."""
    unique: dict[str, Criterion] = {}
    for one in found:
        first = unique.setdefault(one.name.casefold(), one)
        if first is not one and one.children:
            unique[one.name.casefold()] = replace(first, children=_once([*first.children, *one.children]))
    return tuple(unique.values())


def _leaves(roots: Iterable[Criterion]) -> Iterator[Criterion]:
    """The lowest that have a definition; names alone under a name are its definition."""
    for one in roots:
        if any(child.children or child.definition for child in one.children):
            yield from _leaves(one.children)
        else:
            under_it = (f"{child.name} {child.definition}".strip() for child in one.children)
            yield Criterion(one.name, " ".join([one.definition, *under_it]).strip())


# --- entries of each form -------------------------------------------------------------------------------------------
def _by_lines(text: str) -> str:
    """The readable text, with the entries of a table, or of a numbered list in one line, each on its own."""
    plain = re.sub(r"</?[a-z]{1,9}\s{0,3}>", " ", table_lines(readable(text), _rows))
    plain = _BRANCH.sub(lambda branch: " " * len(branch[1]) + "  - ", plain)
    lines = _BOLD_NUMBER.sub(r"\1\3\2", plain).split("\n")
    return "\n".join(_NEXT.sub("\n", line) if _ONE.search(line) and _TWO.search(line) else line for line in lines)


def _rows(head: list[str], rows: list[list[str]]) -> list[str]:
    """A line a row of a table: its number, name and definition; of a table with sub-criteria, those under the name."""
    named = [row[next((at for at, cell in enumerate(row) if re.search(r"[^\W\d_]", cell)), len(row)) :] for row in rows]
    told = [
        (row[0] if re.fullmatch(r"\d{1,2}(?:\.\d{1,2})*", row[0]) else "-", said)
        for row, said in zip(rows, named, strict=True)
        if len(said) > 1
    ]
    if any("sub" in name.lower() for name in head):
        return [f"- {said[0]}\n  - " + "\n  - ".join(re.split(r"[,;] ?", said[1])) for _, said in told]
    return [f"{mark} {said[0]}: {said[1]}" for mark, said in told]


def _in_lines(text: str) -> list[Entry]:
    """The entries of the lists in a text by lines; what goes on, and "Definition: ...", belongs to the entry above."""
    lines = [match for line in text.split("\n") if (match := _LINE.match(line))]
    marked = any(line["mark"] and not line["mark"].startswith("#") for line in lines)
    full = [line for line in lines if line["rest"].strip()]
    bare = len(full) > 1 and all(_BARE.fullmatch(line.group()) for line in full)
    heads = {above for above, line in itertools.pairwise(full) if _indent(line) > _indent(above)}
    found: list[Entry] = []
    above: list[tuple[int, str]] = []  # indent and style of the entries that the next may stand under
    goes_on = blank = False  # whether a line may belong to the entry above, and one without text was between
    for line in lines:
        rest = line["rest"].strip()
        if not rest:
            blank = True
            continue
        entry = _entry(line, marked, bare, line in heads)
        if entry is None:
            goes_on = goes_on and (not blank or line["indent"] != "") and not _LEAD_IN.search(rest[:60])
        alone = entry is not None and line["mark"] and not entry[2]  # "## Examples" among criteria is one
        if goes_on and (entry is None or (_PART.fullmatch(entry[1]) and not alone)):
            level, name, said = found[-1]
            said = f"{said} {entry[2] if entry else _PART.sub('', rest.lstrip('> '), count=1)}"
            found[-1] = level, name, said.strip()
        elif entry and (alone or not _ASIDE.fullmatch(entry[1])):
            found.append(entry if entry[0] < 0 else (_depth(above, line), *entry[1:]))
            above = [] if entry[0] < 0 else above
            goes_on = True
        blank = False
    return found


def _indent(line: re.Match) -> int:
    return len(line["indent"].expandtabs(4)) // 2


def _depth(above: list[tuple[int, str]], line: re.Match) -> int:
    """How deep a line stands: beside the last of its indent and style of mark, else under the last less indented."""
    mark = line["mark"] or ""
    style = mark.strip("().: ")
    if numbers := len(re.findall(r"\d+", mark)):
        style = f"{numbers}{mark.startswith('(')}"
    elif style.isalpha():
        style = "roman" if set(style) <= set("IVX") else "A" if style.isupper() else "a"
    own = _indent(line), style
    while own not in above and above and above[-1][0] > own[0]:
        above.pop()
    del above[above.index(own) if own in above else len(above) :]
    above.append(own)
    return len(above) - 1


def _entry(line: re.Match, marked: bool, bare: bool, head: bool) -> Entry | None:
    """The entry that a line begins, None where it goes on or says something else."""
    mark, rest = line["mark"] or "", line["rest"].strip()
    bold = not mark and rest.startswith(("**", "__"))
    name, text = _split(_KINDED.sub("", rest))
    name, text = (name, text) if name else _split(rest)
    if not name or rest.startswith(">") or (not bold and (not mark or mark.isdigit()) and _LEAD_IN.search(name)):
        return None
    if mark.startswith("#"):
        return -100 + 10 * len(mark), name, text
    if bold and not text and re.fullmatch(r"(?:\*\*|__)[^*_\n]{1,90}(?:\*\*|__)[:.]?", rest):
        return -50, name, text  # a line in bold heads the list below it
    if mark or bold or bare:
        return 0, name, text
    heads = rest.endswith(":") or (head and len(name.split()) <= 5 and not re.search(r"[.!?]", rest))
    if (marked or head) and heads and not text and "," not in name:
        return -1, name, text  # among marked lines an unmarked "Name:" heads a group
    defined = text and (":" in rest or _DASHED.match(rest) or rest.endswith(")"))
    return (0, name, text) if defined and not marked else None


def _split(rest: str) -> tuple[str, str]:
    """The name and the definition in an entry; no name where it begins with none."""
    for pattern in _SPLITS:
        match = pattern.match(rest)
        if match and (name := _name(match["name"])):
            return name, match["text"].replace("**", "").replace("__", "").strip()
    return _name(rest), ""


def _name(text: str) -> str:
    """A name without markup, quotes, its number and a scale in brackets; empty where the text is too long for one."""
    name = _SCALE.sub("", text).strip(" \t\n*_`\"'").lstrip("#[<").rstrip("]>:;,").strip(" \t\n*_`\"':;,")
    name = re.sub(r"\s+", " ", _NUMBERED.sub("", name, count=1)).rstrip(".")
    short = len(name) <= 80 and len(name.split()) <= 9 and re.search(r"[^\W\d_]", name)
    return name if short and not re.search(r"[.!?]\s|[?!]\Z", name) else ""


def _between_commas(body: str) -> list[Entry]:
    """`Relevance, coherence and fluency`: two names or more of at most four words."""
    line = _LEAD.sub("", body.strip()[:1000], count=1).strip().rstrip(".")
    names = [_name(part) for part in _COMMAS.split(line) if part.strip()]
    odd = len(line) > 600 or "\n" in line or len(names) < 2 or not all(names)
    if odd or any(len(name.split()) > 4 or re.search(r"[.!?\d]|\b(?:is|are|was|it)\b", name) for name in names):
        return []
    return [(0, name, "") for name in names]


def _in_json(content: str) -> list[Entry]:
    for item, start, end in objects(content[:100_000].strip()):
        if 3 * (end - start) >= len(content.strip()) and (found := list(_of_json(item, -80))):
            return found
    return []


def _of_json(item: Record | list, level: int) -> Iterator[Entry]:
    """The entries of a JSON value: texts, records with a name, keys with a definition or with entries under them."""
    record = isinstance(item, Record)
    pairs = list(item.pairs) if isinstance(item, Record) else [("", one) for one in item]
    pairs = [pair for pair in pairs if record and isinstance(pair[1], list)] or pairs
    for key, value in pairs:
        name, text = "" if _PLACE.fullmatch(str(key)) else _name(str(key)), ""
        under: Record | list = value if isinstance(value, list) and record else []
        if isinstance(value, str):
            name, text = (name, value) if name else (_name(value.partition(":")[0]), value.partition(":")[2])
        elif isinstance(value, Record):
            known = {str(one).lower(): said for one, said in value.items() if isinstance(said, str)}
            named = next((known[one] for one in NAMES if one in known), "")
            text = next((known[one] for one in _DEFINITIONS if one in known), "")
            inner = [one for one in value.values() if isinstance(one, (Record, list))]
            if named or text:
                name = _name(named) or name
                records = [one for one in inner if isinstance(one, Record)]
                lists = [one for one in inner if all(isinstance(part, (str, Record)) for part in one)]
                under = lists[0] if len(lists) == 1 else records
            elif len(inner) + len(known) == len(value) and (name or len(value) == 1):
                under = value
        if name and not (under and len(pairs) == 1):  # else it only heads the whole list
            yield level, name, text.strip()
        yield from _of_json(under, level + 1)


# --- scores of named aspects ----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class AspectScores(Parsed):
    """Scores of all aspects asked for, NaN where missing; `reasons` says why; `value` is their mean if all have one."""

    scores: Mapping[str, float] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)


def normal(name: str) -> str:
    """The normal form of a name: lower case words without punctuation and a final "score"."""
    plain = re.sub(r" +(?:score|rating|grade)$", "", name.lower().replace("_", " ").strip())
    return " ".join(re.findall(r"\w+", plain))


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
    plain = [normal(name) if isinstance(name, str) else "" for name in names]
    if not all(plain) or not names or len(set(plain)) < len(names):
        raise ValueError(f"aspects must be one or more different names such as 'Coherence', got {list(names)!r}")
    content = check_text(text, "aspect_scores")
    if content is None:
        missing = dict.fromkeys(names, math.nan), dict.fromkeys(names, "no text")
        return AspectScores(math.nan, Status.EMPTY, "no text", "empty", *missing)
    body = normalised(content, low, high)
    json = body.count("{") < content.count("{")
    cut = json and any(isinstance(item, Record) and item.cut for item, _, _ in objects(readable(content)))
    reads = {name: under(body, candidates(body, low, high), low, high, name, strict=True) for name in names}
    for name, read in reads.items():
        if cut and read.rule == "aspect":
            reads[name] = replace(read, status=Status.TRUNCATED, reason="the JSON is cut off before it")
    scores = {name: read.value for name, read in reads.items()}
    reasons = {name: read.reason for name, read in reads.items() if not read.ok}
    rule = "json" if json else "labels"
    if not reasons:
        return AspectScores(math.fsum(scores.values()) / len(scores), Status.OK, "", rule, scores, reasons)
    first = reads[next(iter(reasons))]
    status, reason = first.status, f"no score for {len(reasons)} of {len(names)}: {', '.join(list(reasons)[:8])}"
    if len(reasons) == len(names):
        status, reason = why(body) or (status, first.reason)
    return AspectScores(math.nan, status, reason, rule, scores, reasons)
