"""The first stage: a judge's text becomes plain lines, without the scale itself."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from typing import Any

from nlgeval_lib.parsers.text import DIGITS, WORD, number_of, places, readable, words

# JSON as models write it: in fences, with single quotes, trailing commas, bare words,
# cut off. A library that repairs it would not tell which keys came twice with different
# values, or that it was cut off.
MAX_DEPTH = 40
MAX_FAILURES = 50  # so many starts that are no JSON, and the text is none
MAX_OBJECTS = 500

_TOKEN = re.compile(
    r"""
    [\s,]*+(?>(?://[^\n]*\n[\s,]*+)*)      # blanks, commas and comments before it
    (?: (?P<mark>[{}\[\]:])
      | (?: "(?P<double>(?>(?:[^"\\]|\\(?:.|\Z))*))"?
          | '(?P<single>(?>(?:[^'\\]|\\(?:.|\Z)|(?<=\w)'(?=\w))*))'?
          | (?P<bare>[^\s,:{}\[\]"']+(?>(?:[ ]+(?!//)[^\s,:{}\[\]"']+)*))
        ) (?P<colon>\s*+:)?
    )""",
    re.X | re.S,
)
_OPENING = re.compile(r"[{\[]")
_LITERAL_NUMBER = re.compile(
    r"[+-]?(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})(?:[eE][+-]?\d{1,3})?"
)
_LITERALS = {"true": True, "false": False, "null": None, "none": None, "nan": None}


class Record(dict):
    """A JSON object with its pairs, and whether it was cut off."""

    def __init__(self, pairs: list[tuple[str, Any]], cut: bool = False) -> None:
        super().__init__(pairs)
        self.pairs = tuple(pairs)
        self.clashes = frozenset(key for key, value in pairs if self[key] != value)
        self.cut = cut


def objects(text: str) -> Iterator[tuple[Record | list, int, int]]:
    """Every outermost object or array of `text`, up to 500, with its start and end."""
    position = 0
    failures = 0
    count = 0
    while failures < MAX_FAILURES and count < MAX_OBJECTS:
        opening = _OPENING.search(text, position)
        if not opening:
            return
        try:
            value, position = _inside(text, opening.end(), opening.group(), 1)
        except _NotJson as error:
            failures += 1
            position = error.position
        else:
            count += 1
            yield value, opening.start(), position


class _NotJson(ValueError):
    """What opened is no JSON; `position` is where that showed."""

    def __init__(self, position: int) -> None:
        super().__init__()
        self.position = position


def _inside(
    text: str, position: int, bracket: str, depth: int
) -> tuple[Record | list, int]:
    """The value whose bracket is before `position`, and its end. Raises: _NotJson."""
    keys: list[str] = []
    values: list[Any] = []
    cut = True
    while token := _TOKEN.match(text, position):
        position = token.end()
        mark = token["mark"] or ""
        value_follows = bracket == "{" and len(keys) > len(values)
        key_follows = bracket == "{" and not value_follows
        if mark and mark in "}]:":
            if value_follows or bracket + mark not in ("{}", "[]"):
                raise _NotJson(position)
            cut = False
            break
        if token["colon"] and key_follows:
            keys.append(_token_text(token))
        elif token["colon"] or key_follows or depth > MAX_DEPTH:
            if mark or _TOKEN.match(text, position):
                raise _NotJson(position)
            break  # half a key at the end
        elif mark:
            value, position = _inside(text, position, mark, depth + 1)
            values.append(value)
        elif token["bare"]:
            values.append(_literal(token["bare"]))
        else:
            values.append(_token_text(token))
    end = len(text) if cut else position
    if bracket == "[":
        return values, end
    return Record(list(zip(keys, values, strict=False)), cut), end


def _literal(word: str) -> Any:
    if word.lower() in _LITERALS:
        return _LITERALS[word.lower()]
    return float(word) if _LITERAL_NUMBER.fullmatch(word) else word


def _token_text(token: re.Match) -> str:
    if token["bare"]:
        return token["bare"]
    content = token["double"]
    if content is None:
        content = token["single"].replace("\\'", "'")
    if "\\" not in content:
        return content
    try:
        return json.loads(f'"{content}"', strict=False)
    except ValueError:
        return re.sub(r"\\(.)", r"\1", content, flags=re.S)


# stands where a text names another scale than the one asked for: "Score (1-10): 7" on 1
# to 5
OTHER = "\x01"
# behind a number that stood in a tag: it ends the number, not the clause
TAG = "\x02"


def normalised(content: str, low: float, high: float) -> str:
    """The text in lower case and plain lines, one form of every sign, no scale."""
    text = without_example(readable(content)).lower()
    if "{" in text:
        text = _json(text)
    if "\\" in text or "$" in text:
        text = _TEX.sub(" ", text)
    if "[" in text or "<" in text:
        text = _TAG.sub(_tag, text)
    text = plain(text)
    if "..." in text:
        text = _LEADERS.sub(": ", text)
    if '"' in text:
        text = _QUOTED.sub(_unquoted, text)
    text = _one_blank(text)
    return _one_blank(without_scale(text, low, high)) if places(text) else text


def _one_blank(text: str) -> str:
    return re.sub(r"[ \t]{2,}", " ", text) if "  " in text or "\t" in text else text


# --- JSON
# the keys of a record that name it
NAMES = ("name", "aspect", "criterion", "criteria", "title", "metric", "dimension")
_SCORE_KEY = re.compile(
    r"(?:\w+[ _-]){0,3}(?:score|rating|grade|mark|stars?|value|verdict|points)s?|"
    r"overall|final|total|result"
)
_SCALE_KEY = re.compile(
    r"out[_ ]?of|(?:rating[_ ])?scale|range|"
    r"max(?:imum)?(?:[_ ]?(?:score|rating|grade|points))?"
)
_ONLY_NUMBER = re.compile(r"\W*[\d.,]+\s*(?:(?:/|out of)\s*\d+)?\W*")
_GENERIC = words(
    "score rating grade value result results scores ratings evaluation output response"
)


def _json(text: str) -> str:
    """The text with the scores of its JSON as lines."""
    in_lines = ""
    position = 0
    for item, start, end in objects(text):
        lines: list[str] = []
        for record in item if isinstance(item, list) else [item]:
            if isinstance(record, Record):
                lines += _json_lines(record)
        lead = text[position:start]
        if lines and _EXAMPLE.search(text, max(0, start - 60), start):
            in_lines = f"{in_lines}{lead}quoted"
            position = end
        elif lines:
            scores = "\n".join(lines)
            stop = "." if lead.strip() else ""
            in_lines = f"{in_lines}{lead}{stop}\n{scores}\n"
            position = end
    return in_lines + text[position:]


def _json_lines(record: Record, above: str = "", depth: int = 0) -> list[str]:
    """The scores in a JSON object as lines `name: value`."""
    title = above
    for naming in NAMES:
        if isinstance(record.get(naming), str):
            title = str(record[naming])
            break
    lines: list[str] = []
    top = ""
    for key, value in record.pairs:
        name = str(key).strip().lower().replace("_", " ")
        if not any(char.isalpha() for char in name):
            continue
        numeric_range = name == "range" and isinstance(value, float)
        if _SCALE_KEY.fullmatch(name) and not numeric_range:
            top = _scale_top(value)
            continue
        scored = _SCORE_KEY.fullmatch(name) is not None
        label = name
        if title and name in _GENERIC:
            label = title
        elif title and scored:
            label = f"{title} {name}"
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Record) and depth < 6:
                under = title if name in _GENERIC else label
                lines += _json_lines(item, under, depth + 1)
            else:
                lines += _json_line(label, item, scored)
    return [line + top for line in lines]


def _json_line(label: str, item: Any, scored: bool) -> list[str]:
    """The line of one JSON value under its label; none where it is no score."""
    if isinstance(item, float):
        return [f"{label}: {item:g}"]
    if isinstance(item, str) and (_ONLY_NUMBER.fullmatch(item) or (scored and item)):
        return [f"{label}: {item[:60].splitlines()[0]}"]
    return []


def _scale_top(value: Any) -> str:
    """The upper end that `"scale": "1-5"` names, as it is written behind a score."""
    for token in reversed(re.findall(DIGITS, str(value))):
        number = number_of(token)
        if number is not None:
            return f" / {number:g}"
    return ""


# --- tags, markup
_TAG = re.compile(
    r"""
    (?P<quote>(?<=["'])|(?<=["'][ ]))?
    (?:
        # [[4]]
        \[\[\s{0,9}(?P<double>[^\[\]\n]{1,30})\]\]
        # <score>4</score>
      | <(?P<name>[a-z][a-z_ -]{2,30})>\s{0,9}(?P<inner>[^<>]{1,40})</(?P=name)>
        # [RESULT] 4, [Score: 4], [Final score] = 4
      | \[\s{0,9}(?:(?:final|overall)[ ])?(?:result|score|rating|grade|verdict)s?
        \s{0,9}(?::\s{0,9}|\s(?=\d))?(?P<said>[^\[\]\n]{0,40})\]
        \s{0,9}(?:[:=]|-(?=\s))?
    )
    """,
    re.X,
)
_QUOTE_GOES_ON = re.compile(r"[ .0-9/]*[\"'][ .,0-9/\"']*[^\W\d_]")
_SCORE_TAG = re.compile(
    r"(?:final|overall)?[_ ]?(?:score|rating|result|answer|grade|verdict|overall)"
)
_PLAIN_TAGS = words(
    "strong span div code pre mark big small del ins sub sup font center body html "
    "label"
)
_ECHOED = re.compile(
    r"(?:(?:for example|e\.g\.?|such as|format)|look like this:\n)[^\n.!?]{0,40}\Z"
)
_EXAMPLE = re.compile(r"\b(?:example|sample|template|format)\b[^\n.!?]{0,30}:\s{0,9}\Z")
_QUOTED = re.compile(r'"([^"\n]{1,400})"')
_BARE_QUOTE = re.compile(
    r"[^a-z]*|\W*(?:\d|(?:final |overall )?(?:score|rating|grade)\W{0,3}$).*"
)
_TEX = re.compile(r"\\(?:[a-z]+|[()\[\]])|[$}]|(?<=[a-z}]){")  # \boxed{4}, $4$
_LEADERS = re.compile(r"(?<=[a-z])[ ]?\.{3,}[ ]?(?=\d)")  # "Overall ...... 4"
_LETTER = re.compile(r"[^\W\d_]")
_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_{1,3}|_{1,3}(?!\w)")
_HTML = re.compile(r"</?[a-z][^<>\n]{0,60}>")
_CHAT = re.compile(r"<\|[a-z_]{2,20}\|>")


def _tag(match: re.Match) -> str:
    """A score in a tag as a line of a final score, `<style>4</style>` of that name."""
    inner = match["double"] or match["inner"] or match["said"] or ""
    name = match["name"]
    text = match.string
    if (
        match["quote"] is not None
        and text[: match.start()].strip("\"' \n")
        and _QUOTE_GOES_ON.match(text, match.end())
    ):
        # 'the answer says "[RESULT] 5", which': the judged text is quoted
        return " quoted "
    if name in _PLAIN_TAGS:
        return match.group()
    if _ECHOED.search(text, max(0, match.start() - 60), match.start()):
        # 'strictly following this format, for example: "Rating: [[5]]"'
        return " quoted "
    if name and not _SCORE_TAG.fullmatch(name):
        return f"\n{name.replace('_', ' ')}: {inner} {TAG}\n"
    if match["said"] is not None and not match["said"].strip():
        return "\nfinal score: "
    if re.search(r"\d|^\s*[a-z-]+\s*$", inner):
        return f"\nfinal score: {inner.strip()} {TAG}"
    return match.group()


def _unquoted(match: re.Match) -> str:
    """A quotation of the judged text, without its numbers; the judge's own stays."""
    text = match.string
    start = match.start()
    if start < 3 and not _LETTER.search(text[:start] + text[match.end() :]):
        return match.group()
    if _BARE_QUOTE.fullmatch(match[1]):
        return match.group()
    return _ANY.sub("#", match.group())


def plain(text: str) -> str:
    """Readable text without markdown emphasis, HTML tags and marks of chat turns."""
    if "*" in text or "_" in text or "`" in text:
        text = _EMPHASIS.sub(" ", text)
    if "<" in text:
        text = _CHAT.sub("\n", _HTML.sub(" ", text))
    return text


def made_plain(text: str) -> str:
    """Readable text without markup and TeX, for parsers of words."""
    return plain(_TEX.sub(" ", text) if "\\" in text or "$" in text else text)


_EXAMPLE_FIRST = re.compile(r"\W*(?:an? )?(?:example|sample)\b[^\n:]{0,40}:", re.I)


def without_example(text: str) -> str:
    """Of a text that begins with an example under a heading, the last paragraph."""
    return text.rpartition("\n\n")[2] if _EXAMPLE_FIRST.match(text) else text


# --- the scale
_N = rf"(?:{DIGITS}|\b{WORD}\b)"
_UNIT = r"(?: ?(?:stars?|points?))?"
_PAIR = (
    rf"(?P<low>-?{_N}){_UNIT}"
    r"\s?(?:-|to|and|or|through|~|\.\.+|,|/|\|)\s?"
    rf"(?P<high>-?{_N}){_UNIT}"
)
_LEAD = (
    r"(?:(?:rated|scored?|rate|range|ranging|from|between|out of|values?|integer|an|"
    r"number|please|numeric|scores?|only|scale|on|a)[\s:]){0,4}"
)
_ON = (
    r"(?:\b(?:on|using|with|in) (?:(?:an?|the|our|this) )?"
    r"(?:likert |rating |scoring |numeric(?:al)? )?)?"
)
_JOINT = (
    r"s?\s?(?:of|from|is|:|=|being|between|ranging from|goes from|to|,)?"
    r"\s?[(\[]?(?:from |between )?"
)
_VALUE_NEXT = r"(?=[\s\"*]{0,5}(?::|=|->|-(?=\s)|is\b))"
_TOP = rf"(?P<top>{_N})"
_POINTS = rf"{_TOP}[ -](?:point|star)s?\s(?:likert\s|rating\s)?"
_IN_BRACKETS = rf"\s?{_LEAD}{_PAIR}[^()\[\]\n]{{0,80}}[)\]}}]"
# how a scale is printed: what it tells, what every such place holds, the pattern
_PRINTED = (
    # "Score (1-10):"
    ("note", "(", rf"\((?P<note>[^()\[\]\n]{{1,90}})\){_VALUE_NEXT}"),
    # "(from 1 to 5)"
    ("span", "(", rf"\({_IN_BRACKETS}"),
    ("span", "[", rf"\[{_IN_BRACKETS}"),
    # "on a scale of 1 to 5"
    ("scale", "scale", rf"{_ON}scale{_JOINT}{_PAIR}[)\]]?"),
    # "1-5 point scale"
    (
        "scale",
        "scale",
        rf"(?<![\w.]){_PAIR}(?:[ -](?:point|likert|rating|star|score)){{0,3}}"
        r"[ -]scale\b",
    ),
    # "5-point scale"
    ("top", "scale", rf"{_POINTS}scale\b"),
    # "Score out of 5:"
    ("after a word", "out of ", rf"out of {_TOP}{_VALUE_NEXT}"),
    # "Out of 5, I give it"
    ("opening", "out of ", rf"out of {_TOP}\s?,"),
)
_SCALES = [(kind, clue, re.compile(pattern)) for kind, clue, pattern in _PRINTED]
_ANY = re.compile(_N)
_NAMES_TOP = re.compile(
    r"out of|max|/|\bof\b(?! (?:the|all|these|those))|points?|stars?|best|highest"
)


def without_scale(text: str, low: float, high: float) -> str:
    """The text without mentions of the scale; another scale leaves the mark `OTHER`."""
    text = text.replace(OTHER, " ")
    for kind, clue, pattern in _SCALES:
        if clue in text:
            replaced = functools.partial(_scale, kind=kind, low=low, high=high)
            text = pattern.sub(replaced, text)
    return text


def _scale(match: re.Match, kind: str, low: float, high: float) -> str:
    """What is left of a printed scale: nothing, another's mark, or all that is none."""
    if kind == "note":
        no_scale, same = _in_note(match["note"], low, high)
    elif kind in ("scale", "span"):
        same = {_signed(match["low"]), _signed(match["high"])} == {low, high}
        share = match.group().count("/") == 1
        named = kind == "scale" or "scale" in match.group()
        no_scale = not named and (not same or share)
    else:
        before = match.string[max(0, match.start() - 3) : match.start()]
        before = before.rstrip(" \t")[-1:]
        value = number_of(match["top"])
        same = value == high or (kind == "top" and low == 0 and value == high + 1)
        no_scale = False
        if kind == "after a word":
            no_scale = not before.isalpha()
        elif kind == "opening":
            no_scale = before not in ("", ".", "!", "?", "\n")
    if no_scale:
        return match.group()
    return " " if same else f" {OTHER} "


def _in_note(note: str, low: float, high: float) -> tuple[bool, bool]:
    """Whether a note ("Depth (2/5): it") is no scale, and whether it is ours."""
    values = {number_of(token) for token in _ANY.findall(note)}
    score = (
        note[0] in "0123456789" and low not in values and _ONLY_NUMBER.fullmatch(note)
    )
    single = len(values) == 1
    no_scale = bool(score) or not values or (single and not _NAMES_TOP.search(note))
    return no_scale, high in values and (low in values or single)


def _signed(token: str) -> float | None:
    value = number_of(token.removeprefix("-"))
    if value is not None and token.startswith("-"):
        return -value
    return value
