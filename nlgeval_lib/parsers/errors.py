"""Error analyses: TIGERScore's errors, their penalties and the total that the header announces; InstructScore."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nlgeval_lib.parsers.loose_json import Record, objects
from nlgeval_lib.parsers.normalise import table_lines
from nlgeval_lib.parsers.text import DIGITS, WORD, Parsed, check_text, number_of, readable, shown, why
from nlgeval_lib.records import Status

# Freitag et al. 2021, without their special weights for non-translations and for punctuation
MQM = {"major": 5.0, "minor": 1.0, "neutral": 0.0}


@dataclass(frozen=True, slots=True)
class ErrorItem:
    """One error: where, of what aspect, why, how severe, and by how much it lowers the score.

    `reduction` is the stated amount without its sign, NaN where none can be read; `penalty` is what the score takes,
    0 or less. `in_range` says whether the reduction lies in the range that the prompt asks for, .5 to 5.
    """

    location: str = ""
    aspect: str = ""
    explanation: str = ""
    severity: str = ""
    reduction: float = math.nan
    number: int | None = None

    @property
    def penalty(self) -> float:
        """What the error takes from the score: 0 or less, NaN where it is not stated."""
        return 0.0 - self.reduction

    @property
    def in_range(self) -> bool:
        """Whether the reduction lies between .5 and 5. Source: TIGERScore, Table 9."""
        return 0.5 <= self.reduction <= 5.0


@dataclass(frozen=True, slots=True)
class ErrorAnalysis(Parsed):
    """A score of 0 or less, the errors it is the sum of, and what the header says.

    `errors` holds what could be read also where the score is missing. `header_errors` and `header_total` (the announced
    reduction, 0 or more) are None where the text announces none.
    """

    errors: tuple[ErrorItem, ...] = ()
    header_errors: int | None = None
    header_total: float | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether the errors agree with the header in number and sum; None without a header or a score."""
        if not self.ok or (self.header_errors is None and self.header_total is None):
            return None
        same_number = self.header_errors is None or self.header_errors == len(self.errors)
        return same_number and (
            self.header_total is None or math.isclose(self.header_total, 0.0 - self.value, abs_tol=1e-9)
        )


# --- the fields of an error -----------------------------------------------------------------------------------------
_NAMES = {
    "location": "error location|location of (?:the )?error|location|error span|span|error text",
    "aspect": "error aspect|aspect|error type|type of error|error category|error dimension|category|dimension|type",
    "explanation": "error explanation|explanation (?:for|of) (?:the )?error|explanation|reason|description",
    "severity": "error severity|severity of (?:the )?error|severity level|severity|major/minor",
    "reduction": (
        "score reductions?|reduction of (?:the )?score|reduction|score deduction|deduction|score penalty|penalty score"
        "|penalty|points deducted"
    ),
}
_ANY = "|".join(sorted((name for names in _NAMES.values() for name in names.split("|")), key=len, reverse=True))
_ANY_NAME = re.sub(" (?![(?])", "[ _]", _ANY)
LABEL = re.compile(
    rf"^[>*#•\- \t]{{0,24}}(?:\(?(?:\d{{1,2}}|[a-h])[.)][^\S\n]{{0,9}})?[*_]{{0,3}}"
    rf"(?P<name>{_ANY_NAME})[^\S\n]{{0,9}}\#?(?P<number>\d{{1,3}})?[*_]{{0,3}}[^\S\n]{{0,9}}[:：]",
    re.I | re.M,
)
ERROR_HEAD = re.compile(
    r"^[>*#•\- \t]{0,24}[*_]{0,3}error[^\S\n]{0,9}\#?(?P<number>\d{1,3})[*_]{0,3}[^\S\n]{0,9}(?::|\.|-|$)[*_]{0,3}",
    re.I | re.M,
)
# a label in the middle of a line, after what ends the field before it
_INSIDE = re.compile(
    rf"(?<=\S)[ \t]{{0,3}}(?:[;,|][ \t]{{1,3}}|[ \t]{{1,3}})"
    rf"(?=[*_]{{0,3}}(?:{_ANY_NAME})[ \t]?\#?\d{{0,3}}[*_]{{0,3}}[ \t]?:)",
    re.I,
)
_AMOUNT = re.compile(
    r"[\s\"'`(\[*_]*+(?:(?:a |an )?(?:score )?(?:reduction|deduction|penalty) of |"
    r"(?:deduct(?:ed|s)?|minus|subtract(?:ed|s)?) )?"
    rf"[+-]?\s?(?P<number>\.\d{{1,4}}|{DIGITS}|{WORD})(?P<half> and a half\b| ?½| 1/2(?![\d/]))?(?![\w%])"
    rf"(?![ \t]?(?:-|->|=>|to|or|and|/(?!\s?5(?:\.0)?(?![\d.]))|,)[ \t]?(?:(?:reduced|lowered|raised|changed) to )?"
    rf"(?:{DIGITS}|{WORD})\b|[ \t]+\d)",
    re.I,
)
_SEVERITY = re.compile(r"\b(critical|major|minor|neutral|trivial|none)\b", re.I)
_OPEN_SEVERITY = re.compile(
    r"\d|\b(?:major|minor)\b[^.\n]*\b(?:or|and|/)\b[^.\n]*\b(?:major|minor)\b|major\s*/\s*minor", re.I
)


@dataclass(slots=True)
class _Draft:
    """An error while it is read: its fields, and which of them came twice with different content."""

    number: int | None = None
    fields: dict[str, str] = field(default_factory=dict)
    clashes: set[str] = field(default_factory=set)

    def item(self) -> ErrorItem:
        return ErrorItem(
            location=self.fields.get("location", ""),
            aspect=self.fields.get("aspect", ""),
            explanation=self.fields.get("explanation", ""),
            severity="" if "severity" in self.clashes else _severity(self.fields.get("severity", "")),
            reduction=math.nan if "reduction" in self.clashes else _amount(self.fields.get("reduction", "")),
            number=self.number,
        )


def _severity(text: str) -> str:
    match = None if _OPEN_SEVERITY.search(text) else _SEVERITY.search(text)
    return match.group(1).capitalize() if match else ""


def _amount(text: str) -> float:
    match = _AMOUNT.match(readable(text))
    value = number_of(match["number"].lower()) if match else None
    return math.nan if match is None or value is None or math.isinf(value) else value + 0.5 * bool(match["half"])


def _field(name: str) -> str:
    plain = re.sub(r"[\s_-]+", " ", name.lower()).strip()
    return next((kind for kind, names in _NAMES.items() if re.fullmatch(names, plain)), "")


@functools.lru_cache(maxsize=4096)
def _opened(start_of_line: str) -> tuple[str, int | None] | None:
    """The field that a line opens up to its first colon (empty for "Error 2:"), and its number; None for none."""
    match = LABEL.fullmatch(start_of_line) or ERROR_HEAD.fullmatch(start_of_line)
    if not match:
        return None
    return _field(match.groupdict().get("name") or ""), int(match["number"]) if match["number"] else None


def _labels(text: str) -> list[tuple[int, int, str, int | None]]:
    """Start and end, field and number of every label; each begins its line and ends with its first colon."""
    found, at = [], 0
    for line in text.split("\n"):
        colon = min((place for place in (line.find(":"), line.find("：")) if place >= 0), default=-1)
        start = line[: colon + 1] if 0 <= colon < 90 else ""
        opened = _opened(start) if start else None
        if opened is None and line[:60].lstrip(" \t>*#•-_")[:5].lower() == "error":
            head = ERROR_HEAD.match(line)
            if head:
                start, opened = head.group(), ("", int(head["number"]))
        if opened:
            found.append((at, at + len(start), *opened))
        at += len(line) + 1
    return found


def _errors(text: str, places: list[tuple[int, int, str, int | None]]) -> tuple[ErrorItem, ...]:
    """The errors that labels make up, in order: a field that comes again, or another number, begins the next one."""
    found: list[_Draft] = []
    ends = [*(label[0] for label in places[1:]), len(text)]
    for (_, start, kind, number), end in zip(places, ends, strict=False):
        last = found[-1] if found else None
        if last is None or not kind:
            begins = True
        elif number is not None and last.number is not None:
            # the same number again: a restarted list where the error was finished, else the field twice
            begins = number != last.number or (kind == "location" and "reduction" in last.fields)
        else:
            begins = kind in last.fields
        if begins or last is None:
            last = _Draft(number)
            found.append(last)
        if kind:
            content = text[start:end].strip().strip("*_").strip()
            if last.fields.setdefault(kind, content) != content:
                last.clashes.add(kind)
            last.number = number if last.number is None else last.number
    return tuple(draft.item() for draft in found if draft.fields)


# --- the header -----------------------------------------------------------------------------------------------------
# where a repeated prompt ends: TIGERScore's, InstructScore's
_ASKED = re.compile(
    r"your evaluation output[ \t]{0,9}:|please identify all errors[^\n]{0,2000}?but will be noticed\.", re.I
)
_COUNT = re.compile(
    r"\b(?:contains?|has|have|identified|found|there\s(?:is|are))\s(?:a\stotal\sof\s)?"
    rf"(?P<count>\d{{1,4}}|no|{WORD})\serrors?\b|\b(?:total|number of)\serrors\s?:\s?(?P<count2>\d{{1,4}})",
    re.I,
)
_TOTAL = re.compile(
    rf"\btotal\s(?:score\s)?(?:reduction|deduction|penalty)\s?(?:of|is|:|=)?\s?-?\s?(?P<total>{DIGITS})(?![\w%])", re.I
)
_HEADER = re.compile(r"^[^\n]{0,80}?\berrors?, with a total score reduction of\b", re.I | re.M)
_NO_ERRORS = re.compile(
    r"(?:\b(?:no|zero|0)\s(?:apparent\s|identifiable\s|identified\s)?errors?\b"
    r"|(?:\bnot|n't)\s(?:contain|have|find|identify|detect|include|see|any)[^.\n]{0,20}?\b(?:any\s)?errors?\b"
    r"|\bwithout\s(?:any\s)?errors?\b|\berror-free\b|\bfree\s(?:of|from)\s(?:any\s)?errors?\b)"
    r"(?!\s(?:in|of|with|regarding|related|on)\s(?!(?:the|this|your)\s(?:model|output|response|summary|translation|text|generation|answer)"
    r"|an?\s(?:total\s)?(?:score\s)?(?:reduction|total)))"
    # "Errors: none"
    r"|^[\s*#-]{0,9}(?:number of )?errors?(?: found| identified| detected)?[*\s]{0,4}[:=][*\s]{0,4}(?:none|no|zero|0)\b"
    r"(?![.,]\d)(?=[^\w\n]{0,20}(?:\n|\Z))",
    re.I | re.M,
)
_NO_ERRORS_OF = re.compile(r"\b(?:no|zero|0)\serrors?\s(?:in|of|with|regarding|related|on)\b", re.I)
# "I am not sure that there are no errors", "The source contains no errors"
_DENIED = re.compile(
    r"(?:\b(?:almost|nearly|virtually|practically|next to|close to|barely)(?: has| have| contains?)?"
    r"|(?:\b(?:not|never|doubt\w*|unsure|unlikely|untrue|false|hardly|wish|claim\w*|say\w*|whether)|n't)\b[^.!?,;\n]{0,60}"
    r"|\b(?:source|reference|original|input|instruction|prompt|question|article)"
    r"(?: (?:text|article|sentence|output|answer|translation|summary))?\s(?:contains?|has|have|is|shows?))\s?\Z",
    re.I,
)
_RESERVE = re.compile(
    r"\b(?:but|however|except|although|though|nevertheless|major|minor|significant|serious|few|some|one|if|unless|"
    r"improv\w+|better)\b",
    re.I,
)


def error_analysis(text: str | None, weights: Mapping[str, float] | None = None) -> ErrorAnalysis:
    """The score that an error analysis gives: minus the sum of its errors' reductions, 0.0 for no errors.

    Reads the numbered layout of TIGERScore (content on the label's line or on the next ones, with or without the prompt
    before it), unnumbered and marked-up variants, and JSON. No errors count as 0.0 only where the text says so. An
    analysis that is cut off, lists fewer errors than it announces, or leaves a reduction open has no score; what could
    be read is kept in `errors`. The announced total is kept and compared, never taken.

    weights: penalty of each severity (`MQM`); the errors then weigh by severity and stated reductions are not needed.
    Raises: TypeError where `text` is neither str nor None.
    Source: TIGERScore, section 3.1 (score), Tables 9 and 17 (layouts).
    """
    content = check_text(text, "error_analysis")
    if content is None:
        return ErrorAnalysis(math.nan, Status.EMPTY, "no text", "empty")
    body = _clipped(content).replace("\r\n", "\n").replace("\r", "\n")
    body = body.replace("\\n", "\n") if "\n" not in body else body
    for asked in list(_ASKED.finditer(body))[-1:]:
        body = body[asked.end() :] or body
    found = _json(body, weights) if "{" in body else None
    if found is not None:
        return found
    read = _listed(body, weights)
    starts = [match.start() for match in _HEADER.finditer(body)] if read.header_total is not None else []
    if len(starts) > 1:
        several = [
            _listed(body[start:end], weights) for start, end in zip(starts, [*starts[1:], len(body)], strict=True)
        ]
        if len({one.value for one in several}) > 1 or not several[0].ok:
            return ErrorAnalysis(math.nan, Status.UNPARSED, "several analyses that differ", "listed", several[0].errors)
        return several[0]
    if not read.ok and "eduction" in body and all(math.isnan(_weight(error, weights)) for error in read.errors):
        # the amounts may stand in a table or inside the lines
        other = _INSIDE.sub("\n", table_lines(readable(body), _rows) if "|" in body else body)
        again = _listed(other, weights) if other != body else read
        return again if again.ok or again.errors else read
    return read


def _clipped(content: str, each: int = 50_000) -> str:
    return content if len(content) <= 2 * each else content[:each] + "\n" + content[-each:]


def _rows(head: list[str], rows: list[list[str]]) -> list[str]:
    places = [place for place, name in enumerate(head) if _field(name)]
    if len(places) < 2:
        return []
    return [f"{head[place]}: {row[place]}" for row in rows for place in places if place < len(row)]


def _listed(body: str, weights: Mapping[str, float] | None) -> ErrorAnalysis:
    places = _labels(body)
    first = places[0][0] if any(kind for _, _, kind, _ in places) else None
    head = readable(body[:first])
    counts = [(match["count"] or match["count2"]).lower() for match in _COUNT.finditer(head)]
    number = 0.0 if counts and counts[-1] == "no" else number_of(counts[-1]) if counts else None
    count = None if number is None else int(number)
    totals = [match["total"] for match in _TOTAL.finditer(head)] or [
        match["total"] for match in _TOTAL.finditer(readable(body))
    ]
    total = number_of(totals[-1]) if totals else None
    errors = _errors(body, places) if first is not None else ()
    reasons_only = all(not (e.location or e.severity or e.aspect) and math.isnan(e.reduction) for e in errors)
    if errors and not (count == 0 and reasons_only):  # "no errors. Explanation: the output is right."
        return _summed(errors, count, total, weights, "listed", body)
    return _unlisted(body, count, total)


def _weight(error: ErrorItem, weights: Mapping[str, float] | None) -> float:
    return error.reduction if weights is None else weights.get(error.severity.lower(), math.nan)


def _summed(
    errors: tuple[ErrorItem, ...],
    count: int | None,
    total: float | None,
    weights: Mapping[str, float] | None,
    rule: str,
    body: str,
) -> ErrorAnalysis:
    def missing(status: Status, reason: str) -> ErrorAnalysis:
        return ErrorAnalysis(math.nan, status, reason, rule, errors, count, total)

    if count == 0:
        return missing(Status.UNPARSED, f"no errors are announced, {len(errors)} are listed")
    amounts = [_weight(error, weights) for error in errors]
    unstated = [place for place, amount in enumerate(amounts, 1) if math.isnan(amount)]
    what = "severity" if weights is not None else "score reduction"
    if count is not None and len(errors) < count:
        return missing(Status.TRUNCATED, f"{count} errors are announced, {len(errors)} are listed")
    if unstated == [len(errors)] and not (weights is not None and errors[-1].severity):
        return missing(Status.TRUNCATED, f"the last error has no {what}")
    if unstated:
        return missing(Status.UNPARSED, f"no {what} can be read for error {', '.join(map(str, unstated[:6]))}")
    if not all(error.location or error.aspect or error.explanation or error.severity for error in errors):
        return missing(Status.UNPARSED, "an error has a score reduction and nothing else")
    value = 0.0 - math.fsum(amounts)
    if weights is None and total is not None and total != -value and re.search(r"\d\.\s?\Z", body[-9:]):
        return missing(Status.TRUNCATED, "the text ends in the middle of the last score reduction")
    return ErrorAnalysis(value, Status.OK, "", rule, errors, count, total)


def _unlisted(body: str, count: int | None, total: float | None) -> ErrorAnalysis:
    """No error is listed: 0.0 where that is said, else missing."""

    def missing(status: Status, reason: str) -> ErrorAnalysis:
        return ErrorAnalysis(math.nan, status, reason, "unlisted", (), count, total)

    if count:
        return missing(Status.TRUNCATED, f"{count} errors are announced, none is listed")
    if count == 0 and total:
        return missing(Status.UNPARSED, f"no errors are announced with a total of {shown(total)}")
    said = _NO_ERRORS.search(body)
    if said is not None and _DENIED.search(body[max(0, said.start() - 120) : said.start()]):
        return missing(Status.UNPARSED, "that there are no errors is denied, doubted or said of another text")
    if said is None and count == 0 and _NO_ERRORS_OF.search(body):
        return missing(Status.UNPARSED, "no errors of one kind are announced")
    if count == 0 or said:
        rest = body if said is None else body[: said.start()] + body[said.end() :]
        if len(body) <= 600 and not _RESERVE.search(rest):
            return ErrorAnalysis(0.0, Status.OK, "", "no errors", (), 0 if count == 0 else None, total)
        return missing(Status.UNPARSED, "no errors are announced, with reservations")
    return missing(*(why(body.lower()) or (Status.UNPARSED, "no error and no statement that there is none")))


# --- JSON -----------------------------------------------------------------------------------------------------------
_LISTS = ("errors", "error_list", "error analysis", "error_analysis")
_COUNTS = ("num_errors", "error_count", "number_of_errors", "total_errors")
_WRAPPERS = ("analysis", "evaluation", "evaluation_output", "result", "results", "output", "response")
_NONE_SAID = re.compile(r"\W*(?:none|no errors?)(?: (?:found|detected|identified))?\W*", re.I)


def _json(body: str, weights: Mapping[str, float] | None) -> ErrorAnalysis | None:
    """The analysis in JSON; None where no object of the text is one."""
    items: list[Any] = [item for item, _, _ in objects(body)]
    if len(items) > 1 and all(
        isinstance(item, Record) and _get(item, _LISTS) is None and _of_record(item) for item in items
    ):
        items = [items]  # one object an error
    found = [read for item in items if (read := _of_json(item, body, weights)) is not None]
    if len({(shown(read.value), read.status) for read in found}) > 1:
        return ErrorAnalysis(math.nan, Status.UNPARSED, "several analyses that differ", "json")
    return found[0] if found else None


def _get(item: Record, names: tuple[str, ...]) -> Any:
    """The value of a record under one of `names` in any case."""
    keys = {str(key).lower().strip(): value for key, value in item.items()}
    return next((keys[name] for name in names if name in keys), None)


def _of_record(record: Record, number: int | None = None) -> ErrorItem | None:
    """The error in a JSON object, None where none of its keys names a field."""
    draft = _Draft(number)
    for key, value in record.items():
        kind = _field(str(key))
        if kind and value is not None and not isinstance(value, (dict, list)):
            draft.fields.setdefault(kind, f"{value:g}" if isinstance(value, float) else str(value).strip())
            draft.clashes |= {kind} if key in record.clashes else set()
    return draft.item() if draft.fields else None


def _of_json(item: Any, body: str, weights: Mapping[str, float] | None) -> ErrorAnalysis | None:
    listing, cut, count = item, False, None
    if isinstance(item, Record):
        cut, count, listing = item.cut, _get(item, _COUNTS), _get(item, _LISTS)
        inner = _get(item, _WRAPPERS)
        if listing is None and isinstance(inner, Record):
            return None if cut and not inner else _of_json(inner, body, weights)
        if listing is None and _of_record(item):
            listing = [item]
        elif (
            listing is None
            and item
            and all(
                isinstance(value, Record) and re.fullmatch(r"(?:error)?[ _#-]*\d+", str(key).lower().strip())
                for key, value in item.items()
            )
        ):
            listing = list(item.values())
    if isinstance(listing, str) and _NONE_SAID.fullmatch(listing):
        listing = []
    if isinstance(listing, Record):
        records = [entry for entry in listing.values() if isinstance(entry, Record)]
        listing = [listing] if _of_record(listing) else records or (None if listing else [])
    if not isinstance(listing, list) or (listing and not any(isinstance(entry, Record) for entry in listing)):
        return None
    records = [entry for entry in listing if isinstance(entry, Record)]
    errors = tuple(_of_record(entry, place) or ErrorItem() for place, entry in enumerate(records, 1))
    if cut or any(entry.cut for entry in records):
        return ErrorAnalysis(math.nan, Status.TRUNCATED, "the JSON is cut off", "json", errors)
    if any(not isinstance(entry, Record) and entry is not None for entry in listing):
        return ErrorAnalysis(math.nan, Status.UNPARSED, "an entry of the JSON list is no error", "json", errors)
    said = int(count) if isinstance(count, float) and 0.0 <= count < 1e6 else None
    if not errors and said:
        return ErrorAnalysis(math.nan, Status.TRUNCATED, f"{said} errors are announced, none is listed", "json")
    if not errors:
        return None if isinstance(item, list) and body.strip() != "[]" else ErrorAnalysis(0.0, Status.OK, "", "json")
    return _summed(errors, said, None, weights, "json", "")


# --- named policies -------------------------------------------------------------------------------------------------
def instructscore(text: str | None) -> ErrorAnalysis:
    """The score of an InstructScore report: -5 for each major and -1 for each minor error, 0.0 for no error.

    Reads both layouts (translation, and data-to-text with an error dimension), with or without the prompt before it. A
    report that lists fewer errors than it announces, or leaves a severity open, has no score.
    Raises: TypeError where `text` is neither str nor None.
    Source: Xu et al. 2023, InstructScore, section 3 (weights).
    """
    return error_analysis(text, {"major": 5.0, "minor": 1.0})


_AUTHORS = {
    name: re.compile(rf"{name} \d+:([^\n]*)\n")
    for name in ("Error location", "Error aspect", "Explanation", "Severity")
}


def tigerscore_authors(text: str | None) -> ErrorAnalysis:
    """What TIGERScore's decoder makes of an analysis: minus the whole part of the announced total (4.5 becomes 4).

    Missing where the header has another wording, where a field's content is not on its label's line, or where the
    five fields are not equally many. `errors`, `header_errors` and `header_total` are those of `error_analysis`.
    Raises: TypeError where `text` is neither str nor None.
    Source: TIGERScore, repository TIGER-AI-Lab/TIGERScore, tigerscore/scorer.
    """
    ours = error_analysis(text)
    if text is None or ours.status is Status.EMPTY:
        return ours
    total = re.search(r", with a total score reduction of (\d+)", text)
    contents = [pattern.findall(text) for pattern in _AUTHORS.values()]
    reason = ""
    if total is None or not re.search(r"The model-generated output contains (\d+) errors", text):
        reason = "the header is not in the decoder's wording"
    elif any(not content.strip(" ") for found in contents for content in found):
        reason = "a field's content is not on its label's line"
    elif len({*map(len, contents), len(re.findall(r"\nScore reduction \d+:[ \n]*\d", text))}) > 1:
        reason = "the fields are not equally many"
    if reason or total is None:
        return replace(ours, value=math.nan, status=Status.UNPARSED, reason=reason, rule="authors")
    return replace(ours, value=0.0 - float(total[1]), status=Status.OK, reason="", rule="authors")
