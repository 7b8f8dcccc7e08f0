"""The first stage: JSON, tables, tags and TeX become lines `name: value`, and the scale itself is taken off."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from nlgeval_lib.parsers.text import DIGITS, WORD, number_of, places, readable, words

# JSON as models write it: in fences, with single quotes, trailing commas, bare words, cut off. A library that repairs
# it would not tell which keys came twice with different values, or that it was cut off.
MAX_DEPTH = 40
MAX_FAILURES = 50  # so many starts that are no JSON, and the text is none
MAX_OBJECTS = 500

_TOKEN = re.compile(
    r"""[\s,]*+(?://[^\n]*\n[\s,]*+)*+
    (?: (?P<mark>[{}\[\]:])
      | (?: "(?P<double>(?:[^"\\]|\\(?:.|\Z))*+)"?
          | '(?P<single>(?:[^'\\]|\\(?:.|\Z)|(?<=\w)'(?=\w))*+)'?
          | (?P<bare>[^\s,:{}\[\]"']+(?:[ ]+(?!//)[^\s,:{}\[\]"']+)*+)
        ) (?P<colon>\s*+:)?
    )""",
    re.X | re.S,
)
_LITERAL_NUMBER = re.compile(r"[+-]?(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})(?:[eE][+-]?\d{1,3})?")
_LITERALS = {"true": True, "false": False, "null": None, "none": None, "nan": None}


class Record(dict):
    """A JSON object that remembers its pairs, which keys came twice with different values, and whether it was cut."""

    def __init__(self, pairs: list[tuple[str, Any]], cut: bool = False) -> None:
        super().__init__(pairs)
        self.pairs = tuple(pairs)
        self.clashes = frozenset(key for key, value in pairs if self[key] != value)
        self.cut = cut


def objects(text: str) -> Iterator[tuple[Record | list, int, int]]:
    """Every outermost object or array of `text` with its start and end, in order, of many the first 500."""
    at = failures = read = 0
    while failures < MAX_FAILURES and read < MAX_OBJECTS and (opening := re.compile(r"[{\[]").search(text, at)):
        value, at = _read_json(text, opening.start())
        if value is None:
            failures += 1
        else:
            read += 1
            yield value, opening.start(), at


def _read_json(text: str, at: int) -> tuple[Record | list | None, int]:
    """The object or array that opens here, and where it, or the text, ends; None where it is no JSON."""
    levels: list[tuple[str, list[str], list[Any]]] = []  # what is open: the bracket, keys, values

    def closed(cut: bool) -> Record | list:
        bracket, keys, values = levels.pop()
        made = Record(list(zip(keys, values, strict=False)), cut) if bracket == "{" else values
        if levels:
            levels[-1][2].append(made)
        return made

    while token := _TOKEN.match(text, at):
        at = token.end()
        mark = token["mark"] or ""
        bracket, keys, values = levels[-1] if levels else ("", [], [])
        awaited = bracket == "{" and len(keys) > len(values)  # a value, after its key
        if mark and mark in "}]:":
            if awaited or bracket + mark not in ("{}", "[]"):
                return None, at
            made = closed(False)
            if not levels:
                return made, at
        elif token["colon"] and bracket == "{" and not awaited:
            keys.append(_token_text(token))
        elif token["colon"] or (bracket == "{" and not awaited) or len(levels) > MAX_DEPTH:
            if mark or _TOKEN.match(text, at):
                return None, at
            break  # half a key at the end
        elif mark:
            levels.append((mark, [], []))
        else:
            values.append(_literal(token["bare"]) if token["bare"] else _token_text(token))
    while len(levels) > 1:
        closed(True)
    return closed(True), len(text)


def _literal(word: str) -> Any:
    if word.lower() in _LITERALS:
        return _LITERALS[word.lower()]
    return float(word) if _LITERAL_NUMBER.fullmatch(word) else word


def _token_text(token: re.Match) -> str:
    if token["bare"]:
        return token["bare"]
    content = token["double"] if token["double"] is not None else token["single"].replace("\\'", "'")
    try:
        return json.loads(f'"{content}"', strict=False) if "\\" in content else content
    except ValueError:
        return re.sub(r"\\(.)", r"\1", content, flags=re.S)


# stands where a text names another scale than the one asked for: "Score (1-10): 7" on 1 to 5
OTHER = "\x01"
# behind a number that stood in a tag: it ends the number, not the clause
TAG = "\x02"


def normalised(content: str, low: float, high: float) -> str:
    """Lower case, one form of every sign, plain lines, quoted remarks without digits, without the scale."""
    text = without_example(readable(content)).lower()
    if "{" in text:
        text = _json(text)
    if "|" in text:
        text = table_lines(text, _scores)
    if "\\" in text or "$" in text:
        text = _BOXED.sub(rf"\nfinal score: \1 {TAG}", _TEX.sub(_bare, _TEX.sub(_bare, text)))
    if "[" in text or "<" in text:
        text = _TAG.sub(_tag, text)
    if "[x]" in text or "(x)" in text:
        text = _CHECKED.sub("final score: ", _UNCHECKED.sub("", text))
    if "name" in text:
        text = _NAMED.sub(r"\n\1: \2\n", text)
    if "<" in text:
        text = _ARROWS.sub(r": \1", text)
    if "=" in text:
        text = _SUM.sub(functools.partial(_without_sum, high=high), text)
    if "☆" in text:
        text = _STAR_LINE.sub(lambda line: f"{line[1]}{len(line[2])}/{len(line[2] + line[3])}", text)
    text = plain(text)
    if "~~" in text or "..." in text:
        text = _LEADERS.sub(": ", _STRUCK.sub(" ", text))
    if '"' in text:
        text = _QUOTED.sub(_unquoted, text)
    text = _one_blank(text)
    return _one_blank(without_scale(text, low, high)) if places(text) else text


def _one_blank(text: str) -> str:
    return re.sub(r"[ \t]{2,}", " ", text) if "  " in text or "\t" in text else text


# --- JSON ---------------------------------------------------------------------------------------------------------
# the keys of a record that name it
NAMES = ("name", "aspect", "criterion", "criteria", "title", "metric", "dimension", "label", "category", "attribute")
_SCORE_KEY = re.compile(
    r"(?:\w+[ _-]){0,3}(?:score|rating|grade|mark|stars?|value|verdict|points)s?|overall|final|total|result"
)
_SCALE_KEY = re.compile(r"out[_ ]?of|(?:rating[_ ])?scale|range|max(?:imum)?(?:[_ ]?(?:score|rating|grade|points))?")
_ONLY_NUMBER = re.compile(r"\W*[\d.,]+\s*(?:(?:/|out of)\s*\d+)?\W*")
_GENERIC = words("score rating grade value result results scores ratings evaluation output response")


def _json(text: str) -> str:
    kept, at = "", 0
    for item, start, end in objects(text):
        records = [one for one in (item if isinstance(item, list) else [item]) if isinstance(one, Record)]
        said = [line for record in records for line in _json_lines(record)]
        before = text[at:start]
        if said and _EXAMPLE.search(text, max(0, start - 60), start):
            kept, at = f"{kept}{before}quoted", end
        elif any(number for _, number in said):
            lines = "\n".join(line for line, _ in said)
            kept, at = f"{kept}{before}{'.' * bool(before.strip())}\n{lines}\n", end
    return kept + text[at:]


def _json_lines(record: Record, above: str = "", depth: int = 0) -> list[tuple[str, bool]]:
    """The scores in a JSON object as lines `name: value`, each with whether it holds a value."""
    own = next((str(record[name]) for name in NAMES if isinstance(record.get(name), str)), above)
    found: list[tuple[str, bool]] = []
    top = ""
    for key, value in record.pairs:
        name = str(key).strip().lower().replace("_", " ")
        scorish = _SCORE_KEY.fullmatch(name) is not None
        said = own if own and name in _GENERIC else f"{own} {name}" if own and scorish else name
        if not any(char.isalpha() for char in name):
            continue
        if _SCALE_KEY.fullmatch(name) and not (name == "range" and isinstance(value, float)):
            ends = [number_of(number) for number in re.findall(DIGITS, str(value))]
            top = next((f" / {number:g}" for number in ends[::-1] if number is not None), "")
            continue
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, Record) and depth < 6:
                found += _json_lines(one, own if name in _GENERIC else said, depth + 1)
            elif isinstance(one, float):
                found.append((f"{said}: {one:g}", True))
            elif one is None and scorish:
                found.append((f"{said}: null", False))
            elif isinstance(one, str) and (_ONLY_NUMBER.fullmatch(one) or (scorish and one)):
                found.append((f"{said}: {one[:60].splitlines()[0]}", True))
    return [(line + top * number, number) for line, number in found]


# --- tables -------------------------------------------------------------------------------------------------------
Table = Callable[[list[str], list[list[str]]], list[str]]
_SCORE_HEAD = re.compile(r"(?:[a-z]+ )?(?:score|rating|grade|mark)s?\s*(?P<scale>[(\[][^()\[\]]*[)\]]|/ ?\d+)?")
_LETTER = re.compile(r"[^\W\d_]")


def table_lines(text: str, made: Table) -> str:
    """The text with each markdown table that `made` makes lines of (from its head and its rows) replaced by them."""
    if "--" not in text and ":-" not in text:
        return text
    given, kept, at = [*text.split("\n"), ""], [], 0
    while at < len(given) - 1:
        end = at + 1
        if "|" in given[at] and "-" in given[end] and not given[end].strip("|:- \t"):
            end = next(row for row in range(at + 2, len(given)) if "|" not in given[row])
            found = made(_cells(given[at]), [_cells(row) for row in given[at + 2 : end]])
            kept += ["", *found, ""] if found else given[at:end]
        else:
            kept.append(given[at])
        at = end
    return "\n".join(kept)


def _cells(line: str) -> list[str]:
    return [cell.strip(" \t*_`") for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def _scores(head: list[str], rows: list[list[str]]) -> list[str]:
    """A column of scores, a line a row; or one row of scores under the names of what is scored."""
    heads = [_SCORE_HEAD.fullmatch(name) for name in head]
    places = [place for place, found in enumerate(heads) if found]
    if len(places) == 1 and all(len(row) > places[0] for row in rows):
        place = places[0]
        scale = (heads[place] or {"scale": ""})["scale"] or ""
        named = [[cell for cell in row[:place] if _LETTER.search(cell)] for row in rows]
        return [f"{(name or ['score'])[0]} {scale}: {row[place]}" for name, row in zip(named, rows, strict=True)]
    if not places and len(rows) == 1 and len(rows[0]) == len(head) and all(map(_LETTER.search, head[1:])):
        return [f"{name}: {cell}" for name, cell in zip(head, rows[0], strict=True) if name]
    return []


# --- tags, TeX, markup --------------------------------------------------------------------------------------------
_TAG = re.compile(
    r"(?P<quote>(?<=[\"'])|(?<=[\"'] ))?(?:\[\[\s{0,9}(?P<double>[^\[\]\n]{1,30})\]\]|<(?P<name>[a-z][a-z_ -]{2,30})"
    r">\s{0,9}(?P<inner>[^<>]{1,40})</(?P=name)>|\[\s{0,9}(?:(?:final|overall) )?(?:result|score|rating|grade|"
    r"verdict)s?\s{0,9}(?::\s{0,9}|\s(?=\d))?(?P<said>[^\[\]\n]{0,40})\]\s{0,9}(?:[:=]|-(?=\s))?)"
)
_QUOTE_GOES_ON = re.compile(r"[ .0-9/]*[\"'][ .,0-9/\"']*[^\W\d_]")
_SCORE_TAG = re.compile(r"(?:final|overall)?[_ ]?(?:score|rating|result|answer|grade|verdict|overall)")
_PLAIN_TAGS = words("strong span div code pre mark big small del ins sub sup font center body html label")
_SUM = re.compile(
    r"(?P<label>\b(?:score|rating|grade|overall|total)[a-z *()\"]{0,20}[:=][ *]{0,5}|(?<![\w./)-])(?=[\d(]))"
    r"(?P<sum>[\d(](?:\((?:minus|plus|for|-)[^()\n]{0,40}\)|[\d .,+*/x×÷()-]){2,80}+"
    r"=)[ *]{0,5}(?=\d{1,3}(?:\.\d+)?(?![\d%/]))"
)
_CHECKED = re.compile(r"(?:^[ *-]{0,9}|(?<=[ \t]))[\[(]x[\])]", re.M)
_UNCHECKED = re.compile(r"(?:^[ *-]{0,9}|(?<=[ \t]))[\[(] ?[\])][^\n\[(]*", re.M)
_ARROWS = re.compile(r"[<>=-]{2,4} ?(\d+(?:\.\d+)?) ?[<>=-]{2,4}")  # "==> 5 <=="
# "- name: style\n  score: 4" of YAML, '<aspect name="style" score="4"/>', '<aspect name="style">4</aspect>'
_NAMED = re.compile(
    r"\bname(?:: ?|=)[\"']?([a-z][a-z _-]{1,40})[\"']?(?:\s{1,9}(?:value|score|rating)(?:: ?|=)[\"']?|"
    r">\s{0,3})([\d.]{1,5})\b[\"'/>]*"
)
_STAR_LINE = re.compile(r"^([^\d\n★☆]*)(★+)(☆+)(?=[^\d\n★☆]*$)", re.M)
_STRUCK = re.compile(r"~~[^~\n]{1,60}~~")
_LEADERS = re.compile(r"(?<=[a-z])[ ]?\.{3,}[ ]?(?=\d)")  # "Overall ...... 4"
_ECHOED = re.compile(r"(?:(?:for example|e\.g\.?|such as|format)|look like this:\n)[^\n.!?]{0,40}\Z")
_EXAMPLE = re.compile(r"\b(?:example|sample|template|format)\b[^\n.!?]{0,30}:\s{0,9}\Z")
_QUOTED = re.compile(r'"([^"\n]{1,400})"')
_BARE_QUOTE = re.compile(r"[^a-z]*|\W*(?:\d|(?:final |overall )?(?:score|rating|grade)\W{0,3}$).*")
_WRITES = re.compile(r"\b(?:writes?|wrote|says?|said):? \Z")
_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_{1,3}|_{1,3}(?!\w)")
_HTML = re.compile(r"</?[a-z][^<>\n]{0,60}>")
_CHAT = re.compile(r"<\|[a-z_]{2,20}\|>")
_TEX = re.compile(
    r"\\(?:text|textbf|textit|mathbf|mathrm|emph)\s?\{([^{}\n]{0,200})\}|\$?\\[dt]?frac\s?\{(\d{1,3})\}\s?\{(\d{1,3})"
    r"\}\$?|\$\s?(-?\d{1,3}(?:\.\d{1,3})?(?:\s?/\s?\d{1,3})?)\s?\$|\\\(\s?([^\\\n]{1,20})\\\)"
)
_BOXED = re.compile(r"\$?\\boxed\s?\{\s?([^{}\n]{1,30})\}\$?")


def _bare(match: re.Match) -> str:
    return f"{match[2]}/{match[3]}" if match[2] else match[1] or f" {match[4] or match[5]} "


def _tag(match: re.Match) -> str:
    """`[[4]]`, `<score>4</score>`, `[RESULT] 4` as a line of a final score, `<style>4</style>` as one of that name."""
    inner = match["double"] or match["inner"] or match["said"] or ""
    name, text = match["name"], match.string
    if match["quote"] is not None and text[: match.start()].strip("\"' \n") and _QUOTE_GOES_ON.match(text, match.end()):
        return " quoted "  # 'the answer says "[RESULT] 5", which': the judged text is quoted
    if name in _PLAIN_TAGS:
        return match.group()
    if _ECHOED.search(text, max(0, match.start() - 60), match.start()):
        return " quoted "  # 'strictly following this format, for example: "Rating: [[5]]"'
    if name and not _SCORE_TAG.fullmatch(name):
        return f"\n{name.replace('_', ' ')}: {inner} {TAG}\n"
    if match["said"] is not None and not match["said"].strip():
        return "\nfinal score: "
    return f"\nfinal score: {inner.strip()} {TAG}" if re.search(r"\d|^\s*[a-z-]+\s*$", inner) else match.group()


def _without_sum(match: re.Match, high: float) -> str:
    """`Score: (4 + 3 + 5) / 3 = 4` is `Score: 4`; `Score: 4/5 = .8` stays, but where it can only be a share."""
    signs = re.findall(r"[+*x×÷)/-]", match["sum"])
    worked = bool(set(signs) - ({"/"} if high != 1 else set())) if match["label"] else len(signs) > (high != 1)
    return f"{match['label']} " if worked else match.group()


def _unquoted(match: re.Match) -> str:
    """Words that are quoted are the judged text's; a number or a label in quotation marks is the judge's."""
    text, start = match.string, match.start()
    alone = start < 3 and not _LETTER.search(text[:start] + text[match.end() :])
    own = _BARE_QUOTE.fullmatch(match[1]) and not _WRITES.search(text, max(0, start - 9), start)
    return match.group() if alone or own else _ANY.sub("#", match.group())


def plain(text: str) -> str:
    """Readable text without markdown emphasis, HTML tags and the marks of chat turns."""
    if "*" in text or "_" in text or "`" in text:
        text = _EMPHASIS.sub(" ", text)
    return _CHAT.sub("\n", _HTML.sub(" ", text)) if "<" in text else text


def made_plain(text: str) -> str:
    """Readable text for parsers of words: without TeX and markup, what is boxed on a line of its own."""
    return plain(_BOXED.sub(r"\n\1\n", _TEX.sub(lambda one: one[1] or one[0], text)))


_EXAMPLE_FIRST = re.compile(r"\W*(?:an? )?(?:example|sample)\b[^\n:]{0,40}:", re.I)


def without_example(text: str) -> str:
    """Of a text that begins with an example under a heading, the last paragraph."""
    return text.rpartition("\n\n")[2] if _EXAMPLE_FIRST.match(text) else text


# --- the scale ----------------------------------------------------------------------------------------------------
_N = rf"(?:{DIGITS}|\b{WORD}\b)"
_UNIT = r"(?: ?(?:stars?|points?))?"
_PAIR = rf"(?P<low>-?{_N}){_UNIT}\s?(?:-|to|and|or|through|~|\.\.+|,|/|\|)\s?(?P<high>-?{_N}){_UNIT}"
_LEAD = (
    r"(?:(?:rated|scored?|rate|range|ranging|from|between|out of|values?|integer|an|number|please|numeric|scores?|only|"
    r"scale|on|a)[\s:]){0,4}"
)
_ON = r"(?:\b(?:on|using|with|in) (?:(?:an?|the|our|this) )?(?:likert |rating |scoring |numeric(?:al)? )?)?"
_JOINT = r"s?\s?(?:of|from|is|:|=|being|between|ranging from|goes from|to|,)?\s?[(\[]?(?:from |between )?"
_VALUE_NEXT = r"(?=[\s\"*]{0,5}(?::|=|->|-(?=\s)|is\b))"
_TOP = rf"(?P<top>{_N})"
# how a scale is printed: what it tells, what every such place holds, the pattern
_SCALES = [
    (kind, held, re.compile(pattern))
    for kind, held, pattern in (
        ("note", "(", rf"\((?P<note>[^()\[\]\n]{{1,90}})\){_VALUE_NEXT}"),
        *(("span", sign, rf"\{sign}\s?{_LEAD}{_PAIR}[^()\[\]\n]{{0,80}}[)\]}}]") for sign in "([{"),
        *(("scale", name, rf"{_ON}{name}{_JOINT}{_PAIR}[)\]]?") for name in ("scale", "range")),
        ("scale", "scale", rf"(?<![\w.]){_PAIR}(?:[ -](?:point|likert|rating|star|score)){{0,3}}[ -]scale\b"),
        *(
            ("top", name, rf"{_TOP}[ -](?:point|star)s?\s(?:likert\s|rating\s)?{name}\b")
            for name in ("scale", "system")
        ),
        *(("span", word, rf"{word}{_PAIR}\b") for word in ("from ", "between ")),
        ("after a word", "out of ", rf"out of {_TOP}{_VALUE_NEXT}"),
        ("after a word", "/", rf"/ ?{_TOP}{_VALUE_NEXT}"),
        ("opening", "out of ", rf"out of {_TOP}\s?,"),
        ("top", "满分", r"满分\s?(?:为|是|:)?\s?(?P<top>\d{1,3})\s?分"),
        ("top", "点", r"(?P<top>\d{1,3})\s?点(?:満点中?|中)"),
        ("top", "分", r"(?P<top>\d{1,3})\s?分(?:满分|中)"),
        ("top", "만점", r"(?P<top>\d{1,3})\s?점 만점에?"),
    )
]
_ANY = re.compile(_N)
_NAMES_TOP = re.compile(r"out of|max|/|\bof\b(?! (?:the|all|these|those))|points?|stars?|best|highest")


def without_scale(text: str, low: float, high: float) -> str:
    """The text without mentions of the scale low to high; another scale leaves the mark `OTHER`."""
    text = text.replace(OTHER, " ")
    for kind, held, pattern in _SCALES:
        if held in text:
            text = pattern.sub(functools.partial(_scale, kind=kind, low=low, high=high), text)
    return text


def _scale(match: re.Match, kind: str, low: float, high: float) -> str:
    """What is left of a printed scale: nothing of the one asked for, a mark of another, all of what is no scale."""
    before = match.string[max(0, match.start() - 3) : match.start()].rstrip(" \t")[-1:]
    if kind == "note":
        values = {number_of(token) for token in _ANY.findall(match["note"])}
        # "Depth (2/5): it barely" gives a score, "Score (/5): 4" a scale
        given = match["note"][0] in "0123456789" and low not in values and _ONLY_NUMBER.fullmatch(match["note"])
        no_scale = given or not values or (len(values) == 1 and not _NAMES_TOP.search(match["note"]))
        same = high in values and (low in values or len(values) == 1)
    elif kind in ("scale", "span"):
        same = {_signed(match["low"]), _signed(match["high"])} == {low, high}
        no_scale = kind == "span" and "scale" not in match.group() and (not same or match.group().count("/") == 1)
    else:
        value = number_of(match["top"])
        same = value == high or (kind == "top" and low == 0 and value == high + 1)
        no_scale = (kind == "after a word" and not before.isalpha()) or (
            kind == "opening" and before not in ("", ".", "!", "?", "\n")
        )
    return match.group() if no_scale else " " if same else f" {OTHER} "


def _signed(token: str) -> float | None:
    value = number_of(token.removeprefix("-"))
    return -value if value is not None and token.startswith("-") else value
