"""Lists as models write them: numbered, bulleted, bold, under headings, nested; each entry a name and a definition."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from nlgeval_lib.parsers import tables
from nlgeval_lib.parsers.text import readable

_LINE = re.compile(
    r"(?P<indent>[ \t]*)"
    r"(?P<mark>(?i:aspect|criterion|dimension|metric|factor)[ ]?#?\d{1,3}[ ]?[.:)-](?=\s+[^:?!.,]{1,60}(?:\Z|:|\s-\s))|"
    r"#{1,6}(?=\s)|[-+*•](?=\s)|\(?\d{1,3}(?:\.\d{1,3}){0,4}[.):]?(?=\s)|\(?[a-zA-Z][.)](?=\s))?"
    r"[ \t]*(?P<rest>[^\n]*)"
)
_BOLD = re.compile(r"(?:\*\*|__)(?P<name>[^*_\n]{1,90}?)[:.]?(?:\*\*|__)\s*(?P<sign>[:-]?)\s*(?P<text>.*)", re.S)
_ALL_BOLD = re.compile(r"(?:\*\*|__)[^*_\n]{1,90}(?:\*\*|__)[:.]?")
_COLON = re.compile(r"(?P<name>[^:\n]{1,90}?)\s*:(?!\d|//)\s*(?P<text>.*)", re.S)
_DASH = re.compile(r"(?P<name>[^\n]{1,90}?)\s+-{1,2}\s+(?P<text>.*)", re.S)
_DASHED = re.compile(r"[A-Z][\w/&-]*(?: [\w/&-]+){0,3}\s+-\s+\S")  # a line of its own: "Relevance - on topic"
_BRACKET = re.compile(r"(?P<name>[^()\n]{1,90}?)\s*\((?P<text>[^()]*)\)\s*[.;]?\Z", re.S)
_SCALE = re.compile(r"\s*[(\[]\s*(?:\d+\s*(?:-|to|/)\s*\d+[^)\]]{0,20}|\d+\s*(?:points?|%))\s*[)\]]\s*$")
_WRAP = re.compile(r"^[\s*_`\"'#\[<]+|[\s*_`\"'\]>:;,]+$")
_ORDINAL = re.compile(r"^(?:aspect|criterion|dimension|metric|factor)[ ]?#?\d{1,3}[ ]?(?:[.:)]|-(?=\s))\s*(?=\S)", re.I)
_TAGS = re.compile(r"</?(?:aspects?|criteri(?:on|a)|items?|li|ul|ol|b|strong|em|p)\s{0,3}>", re.I)
_EASTERN_NUMBER = re.compile(r"^([ \t]*\d{1,3})、", re.M)
_LETTER = re.compile(r"[^\W\d_]")
_PART = re.compile(
    r"(?:definition|description|explanation|meaning|details?|what it (?:means|measures)|criteria|question)s?", re.I
)
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
_ONE_LINE = re.compile(r"(?:\A|[\s:])\(?1[.)][ ][^\n]*[ ]\(?2[.)][ ]")
_RUN_ON = re.compile(r"[ ]+(?=\(?\d{1,2}[.)][ ])")
_PART_HEAD = re.compile(rf"{_PART.pattern}\s*:\s*", re.I)
MAX_WORDS = 9


@dataclass(slots=True)
class Entry:
    """One entry of a list and the entries under it."""

    name: str
    text: str = ""
    level: int = 0
    marked: bool = True
    children: list[Entry] = field(default_factory=list)


def by_lines(text: str) -> str:
    """The readable text, with the entries of a numbered list that runs on in one line each on its own."""
    if "、" in text:
        text = _EASTERN_NUMBER.sub(r"\1. ", text)
    text = tables.rows_as_list(readable(text))
    if "<" in text:
        text = _TAGS.sub(" ", text)
    return _RUN_ON.sub("\n", text) if _ONE_LINE.search(text) else text


def entries(text: str) -> list[Entry]:
    """The entries of the lists in `text` (by lines), nested by indentation, numbering and headings.

    Lead-in sentences and closing remarks are no entries; lines that go on, and "Definition: ..." under a name, belong
    to the text of the entry above.
    """
    lines = [(number, _LINE.match(line)) for number, line in enumerate(text.split("\n")) if line.strip()]
    marked = sum(1 for _, line in lines if line["mark"] and not line["mark"].startswith("#"))
    found: list[Entry] = []
    last: Entry | None = None
    last_line = -2
    for number, line in lines:
        entry = _entry(line, bool(marked))
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
    return _nested(found)


def _entry(line: re.Match, marked: bool) -> Entry | None:
    """The entry that a line begins, None where it goes on or says something else."""
    mark, rest = line["mark"] or "", line["rest"].strip()
    if not mark and rest.startswith(("**", "__")):
        mark = "**"
    name, text = split(rest)
    if not _is_name(name) or ((not mark or mark.isdigit()) and _LEAD_IN.search(name)):
        return None
    level = len(line["indent"].expandtabs(4))
    if mark.startswith("#"):
        return Entry(name, text, -100 + 10 * len(mark))
    if mark == "**" and not text and _ALL_BOLD.fullmatch(rest):
        return Entry(name, "", -50)  # a line in bold heads the list below it
    if mark:
        depth = len(re.findall(r"\d+", mark))
        return Entry(name, text, level + 2 * max(0, depth - 1))
    if ":" not in rest and (marked or not _DASHED.match(rest)):
        return None
    if marked:
        # among marked lines an unmarked "Name:" heads a group
        return Entry(name, "", -1, marked=False) if not text else None
    return Entry(name, text, level, marked=False) if text else None


def _nested(found: list[Entry]) -> list[Entry]:
    roots: list[Entry] = []
    stack: list[Entry] = []
    for entry in found:
        while stack and stack[-1].level >= entry.level:
            stack.pop()
        (stack[-1].children if stack else roots).append(entry)
        stack.append(entry)
    # a heading or group without anything under it is no entry where others have some
    if any(root.children for root in roots):
        roots = [root for root in roots if root.children or root.text or root.level >= 0]
    return roots


def split(rest: str) -> tuple[str, str]:
    """A list entry's name and what follows it: `Name: text`, `**Name** text`, `Name - text`, `Name (text)`, `Name`."""
    match = _BOLD.match(rest) or _COLON.match(rest) or _DASH.match(rest) or _BRACKET.match(_SCALE.sub("", rest))
    if match and _is_name(tidy(match["name"])):
        return tidy(match["name"]), match["text"].replace("**", "").replace("__", "").strip()
    return tidy(rest), ""


def tidy(name: str) -> str:
    """A name without markup, quotes, its number and a scale in brackets."""
    name = _SCALE.sub("", name)
    before = None
    while before != name:
        before = name
        name = _WRAP.sub("", name)
    name = _ORDINAL.sub("", name, count=1)
    return re.sub(r"\s+", " ", re.sub(r"^\(?\d{1,3}(?:\.\d{1,3})*[.)]\s+", "", name)).rstrip(".")


def _is_name(name: str) -> bool:
    return (
        0 < len(name) <= 80
        and len(name.split()) <= MAX_WORDS
        and _LETTER.search(name) is not None
        and not name.endswith(("?", "!"))
        and not re.search(r"[.!?]\s", name)
    )
