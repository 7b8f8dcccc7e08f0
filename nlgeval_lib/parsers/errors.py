"""Error analyses: TIGERScore's errors, their penalties and the total that the header announces; InstructScore.

Lines, tables and JSON become fields (what, of which error, content); fields make up errors; errors have a sum.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nlgeval_lib.parsers.normalise import Record, objects, table_lines
from nlgeval_lib.parsers.text import DIGITS, WORD, Parsed, check_text, number_of, readable, shown, why
from nlgeval_lib.records import Status

# --- the names of fields, and what they hold ------------------------------------------------------------------------
_KINDS = {
    "location": "(?:error )?(?:location|span)|error text|location of (?:the )?error",
    "aspect": "(?:error )?(?:aspect|type|category|dimension)|type of error",
    "explanation": "(?:error )?explanation(?: (?:for|of) (?:the )?error)?|reason|description",
    "severity": "(?:error )?severity(?: level| of (?:the )?error)?|major/minor",
    "reduction": (
        "(?:score )?(?:reduction|deduction|penalty)s?|reduction of (?:the )?score|penalty score|points deducted"
    ),
}
_KIND = re.compile("|".join(f"(?P<{kind}>{names})" for kind, names in _KINDS.items()), re.I)
_NAME = "|".join(_KINDS.values()).replace(" ", "[ _]")
# "Error location 1:", "- **Severity**:", and the heads "Error 2:", "**Error 2**", each with the line end before it
LABEL = re.compile(
    r"\n[>*#•\- \t]{0,24}(?:\(?(?:\d{1,2}|[a-h])[.)][ \t]{0,9})?[*_]{0,3}"
    rf"(?:(?P<name>{_NAME})[ \t]{{0,9}}\#?(?P<number>\d{{1,3}})?[*_]{{0,3}}[ \t]{{0,9}}(?:[:：]|[-–](?=[ \t]))"
    r"|error[ \t]{0,9}\#?(?P<head>\d{1,3})[*_]{0,3}[ \t]{0,9}(?:[:.-]|$))",
    re.I | re.M,
)
# a label in the middle of a line, after what ends the field before it
_INSIDE = re.compile(
    rf"(?<=\S)(?<!error)(?<!score)[ \t]{{0,3}}(?:[;,|][ \t]{{1,3}}|[ \t]{{1,3}})"
    rf"(?=[*_]{{0,3}}(?:{_NAME})[ \t]?\#?\d{{0,3}}[*_]{{0,3}}[ \t]?:)",
    re.I,
)
_XML = re.compile(rf"<({_NAME})>\s*([^<]*)</\1>", re.I)
_AMOUNT = re.compile(
    r"[\s\"'`(\[*_]*+(?:(?:a |an )?(?:score )?(?:reduction|deduction|penalty) of |"
    r"(?:deduct(?:ed|s)?|minus|subtract(?:ed|s)?) )?"
    rf"[+-]?\s?(?P<number>\.\d{{1,4}}|{DIGITS}|{WORD})(?P<half> and a half\b| ?½| 1/2(?![\d/]))?(?![\w%])"
    rf"(?![ \t]?(?:-|->|=>|to|or|and|/(?!\s?5(?:\.0)?(?![\d.]))|,)[ \t]?(?:(?:reduced|lowered|raised|changed) to )?"
    rf"(?:{DIGITS}|{WORD})\b|[ \t]+\d)",
    re.I,
)
_SEVERITY = re.compile(r"\b(?:critical|major|minor|neutral|trivial|none)\b|\d", re.I)

# --- what is said of all errors -------------------------------------------------------------------------------------
_ASKED = re.compile(r"valuation(?<=[Yy]our [Ee]valuation) [Oo]utput[ \t]{0,9}:")  # TIGERScore's prompt ends here
_HEADER = "with a total score reduction of"
_COUNT = re.compile(
    r"\b(?:contains?|has|have|identified|found|there\s(?:is|are))\s(?:a\stotal\sof\s)?"
    rf"(?P<count>\d{{1,4}}|no|{WORD})\serrors?\b|\b(?:total|number of)\serrors\s?:\s?(?P<count2>\d{{1,4}})",
    re.I,
)
# in lower case, which is searched fast
_TOTAL = re.compile(
    rf"total(?<!\wtotal)\s(?:score\s)?(?:reduction|deduction|penalty)\s?(?:of|is|:|=)?\s?-?\s?({DIGITS})(?![\w%])"
)
_NO_ERRORS = re.compile(
    r"(?:\b(?:no|zero|0)\s(?:apparent\s|identifiable\s|identified\s)?(?:error|mistake)s?\b"
    r"|(?:\bnot|n't)\s(?:contain|have|find|identify|detect|include|see|any)[^.\n]{0,20}?\b(?:any\s)?(?:error|mistake)s?\b"
    r"|\bwithout\s(?:any\s)?(?:error|mistake)s?\b|\berror-free\b|\bfree\s(?:of|from)\s(?:any\s)?errors?\b)"
    # "no errors of grammar"
    r"(?!\s(?:in|of|with|regarding|related|on)\s(?!(?:the|this|your)\s(?:model|output|response|summary|translation|text"
    r"|generation|answer)|an?\s(?:total\s)?(?:score\s)?(?:reduction|total)))"
    # "Errors: none"
    r"|^[\s*#-]{0,9}(?:number of )?errors?(?: found| identified| detected)?[*\s]{0,4}[:=][*\s]{0,4}(?:none|no|zero|0)\b"
    r"(?![.,]\d)(?=[^\w\n]{0,20}(?:\n|\Z))",
    re.I | re.M,
)
# "I am not sure that there are no errors", "The source contains no errors"
_DENIED = re.compile(
    r"(?:\b(?:almost|nearly|virtually|practically|next to|close to|barely)(?: has| have| contains?)?"
    r"|(?:\b(?:not|no (?:evidence|proof|guarantee)|never|doubt\w*|unsure|unlikely|untrue|false|hardly|wish|claim\w*"
    r"|say\w*|whether)|n't)\b[^.!?,;\n]{0,60}"
    r"|\b(?:source|reference|original|input|instruction|prompt|question|article)"
    r"(?: (?:text|article|sentence|output|answer|translation|summary))?\s(?:contains?|has|have|is|shows?))\s?\Z",
    re.I,
)
_RESERVE = re.compile(
    r"\b(?:but|however|except|although|though|nevertheless|major|minor|significant|serious|few|some|one|if|unless|"
    r"improv\w+|better)\b",
    re.I,
)
_LIST_KEY = re.compile(r"errors|error[ _](?:list|analysis)", re.I)
_COUNT_KEY = re.compile(r"(?:num|number_of|total)_errors|error_count", re.I)
_NONE = re.compile(r"\W*(?:none|no errors?)(?: (?:found|detected|identified))?\W*", re.I)


@dataclass(frozen=True, slots=True)
class ErrorItem:
    """One error: where, of what aspect, why, how severe, and by how much it lowers the score.

    `reduction` is the stated amount without its sign, NaN where none can be read; `penalty` is what the score takes.
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


def error_analysis(text: str | None, weights: Mapping[str, float] | None = None) -> ErrorAnalysis:
    """The score that an error analysis gives: minus the sum of its errors' reductions, 0.0 for no errors.

    Reads the numbered layout of TIGERScore (content on the label's line or on the next ones, with or without the prompt
    before it), unnumbered and marked-up variants, and JSON. No errors count as 0.0 only where the text says so. An
    analysis that is cut off, lists fewer errors than it announces, or leaves a reduction open has no score; what could
    be read is kept in `errors`. The announced total is kept and compared, never taken.

    weights: penalty of each severity; the errors then weigh by severity and stated reductions are not needed.
    Raises: TypeError where `text` is neither str nor None.
    Source: TIGERScore, section 3.1 (score), Tables 9 and 17 (layouts).
    """
    content = check_text(text, "error_analysis")
    if content is None:
        return ErrorAnalysis(math.nan, Status.EMPTY, "no text", "empty")
    body = content if len(content) <= 100_000 else f"{content[:50_000]}\n{content[-50_000:]}"
    body = body.replace("\r\n", "\n").replace("\r", "\n")
    body = body.replace("\\n", "\n") if "\n" not in body else body
    for asked in list(_ASKED.finditer(body))[-1:]:
        body = body[asked.end() :] or body
    found = list(_in_json(body, weights)) if "{" in body else []
    if not found:
        parts = [body]
        if body.count(_HEADER) > 1:
            parts = re.split(rf"(?m)^(?=[^\n]{{0,80}}errors?, {_HEADER})", body)
            parts = [part for part in parts if _HEADER in part]
        found = [_in_text(part, weights) for part in parts]
    if len({(shown(one.value), one.status) for one in found}) > 1:
        return ErrorAnalysis(math.nan, Status.UNPARSED, "several analyses that differ", found[0].rule)
    return found[0]


# --- fields to errors, errors to a score ----------------------------------------------------------------------------
Field = tuple[str, str | None, str]


@functools.lru_cache(maxsize=1024)
def _kind(name: str) -> str:
    match = _KIND.fullmatch(re.sub(r"[\s_-]+", " ", name).strip())
    return (match and match.lastgroup) or ""


def _errors(fields: Iterable[Field]) -> tuple[ErrorItem, ...]:
    """The errors that fields make up: a head, another number, or a field that comes again begins the next one."""
    found: list[tuple[str | None, dict[str, str]]] = []
    for kind, number, content in fields:
        last, held = found[-1] if found else (None, {})
        both = number is not None and last is not None
        if not found or not kind or (number != last if both else kind in held):
            last, held = number, {}
            found.append((last, held))
        elif last is None:
            found[-1] = number, held
        if not kind and content:
            held.setdefault("head", content)
        elif kind and held.setdefault(kind, content) != content and kind in ("severity", "reduction"):
            held[kind] = ""  # twice, and not the same
    for _, held in found:
        head = held.pop("head", "")
        if head and held.keys() == {"reduction"}:  # "Error 1: a wrong date. Score reduction: 4"
            held["explanation"] = head
    return tuple(
        ErrorItem(
            severity=_severity(held.pop("severity", "")),
            reduction=_amount(held.pop("reduction", "")),
            number=int(number) if number else None,
            **held,
        )
        for number, held in found
        if held
    )


@functools.lru_cache(maxsize=1024)
def _severity(text: str) -> str:
    said = {word.lower() for word in _SEVERITY.findall(text)}
    return said.pop().capitalize() if len(said) == 1 and not said & set("0123456789") else ""


@functools.lru_cache(maxsize=1024)
def _amount(text: str) -> float:
    match = _AMOUNT.match(readable(text)) if text else None
    value = number_of(match["number"].lower()) if match else None
    return math.nan if match is None or value is None or math.isinf(value) else value + 0.5 * bool(match["half"])


def _weight(error: ErrorItem, weights: Mapping[str, float] | None) -> float:
    return error.reduction if weights is None else weights.get(error.severity.lower(), math.nan)


def _summed(
    errors: tuple[ErrorItem, ...],
    count: int | None,
    total: float | None,
    weights: Mapping[str, float] | None,
    body: str,
) -> ErrorAnalysis:
    """The analysis with its score, or with the reason why its errors have no sum."""
    amounts = [_weight(error, weights) for error in errors]
    unstated = [str(place) for place, amount in enumerate(amounts, 1) if math.isnan(amount)]
    what = "score reduction" if weights is None else "severity"
    status, reason, value = Status.UNPARSED, "", 0.0 - math.fsum(amounts)
    if count == 0:
        reason = f"no errors are announced, {len(errors)} are listed"
    elif count is not None and len(errors) < count:
        status, reason = Status.TRUNCATED, f"{count} errors are announced, {len(errors)} are listed"
    elif unstated == [str(len(errors))] and (weights is None or not errors[-1].severity):
        status, reason = Status.TRUNCATED, f"the last error has no {what}"
    elif unstated:
        reason = f"no {what} can be read for error {', '.join(unstated[:6])}"
    elif not all(error.location or error.aspect or error.explanation or error.severity for error in errors):
        reason = "an error has a score reduction and nothing else"
    elif weights is None and total not in (None, -value) and re.search(r"\d\.\s?\Z", body[-9:]):
        status, reason = Status.TRUNCATED, "the text ends in the middle of the last score reduction"
    if reason:
        return ErrorAnalysis(math.nan, status, reason, "listed", errors, count, total)
    return ErrorAnalysis(value, Status.OK, "", "listed", errors, count, total)


# --- lines and tables -----------------------------------------------------------------------------------------------
def _in_text(body: str, weights: Mapping[str, float] | None) -> ErrorAnalysis:
    body = _XML.sub(r"\n\1: \2\n", body) if "</" in body else body
    read = _listed(body, weights)
    amounts = "eduction" in body or "enalty" in body
    if read.ok or not (amounts or weights) or any(_weight(error, weights) >= 0 for error in read.errors):
        return read
    # the amounts may stand in a table or inside the lines
    again = _listed(_INSIDE.sub("\n", table_lines(readable(body), _rows)), weights)
    return again if again.errors else read


def _rows(head: list[str], rows: list[list[str]]) -> list[str]:
    named = [place for place, name in enumerate(head) if _kind(name)]
    return [f"{head[at]}: {row[at]}" for row in rows for at in named if at < len(row)] if len(named) > 1 else []


def _listed(body: str, weights: Mapping[str, float] | None) -> ErrorAnalysis:
    """The analysis in labelled lines; its header is what stands before the first."""
    body = f"\n{body}"
    labels = list(LABEL.finditer(body))
    fields: list[Field] = []
    end = len(body)
    for label in reversed(labels):
        name, number, head = label.groups()
        content = body[label.end() : end].strip(" \t\n*_")
        fields.append((_kind(name) if name else "", number or head, content))
        end = label.start()
    fields.reverse()
    listed = any(kind for kind, _, _ in fields)
    head = readable(body[: labels[0].start()] if listed else body)
    counts = [(match["count"] or match["count2"]).lower() for match in _COUNT.finditer(head)]
    said = 0.0 if counts[-1:] == ["no"] else number_of(counts[-1]) if counts else None
    totals = _TOTAL.findall(head.lower()) or (
        _TOTAL.findall(readable(body).lower()) if listed and "otal" in body else []
    )
    errors = _errors(fields)
    count, total = None if said is None else int(said), number_of(totals[-1]) if totals else None
    reasons_only = all(not (e.location or e.severity or e.aspect) and math.isnan(e.reduction) for e in errors)
    if errors and not (count == 0 and reasons_only):  # "no errors. Explanation: the output is right."
        return _summed(errors, count, total, weights, body)
    return _unlisted(body, count, total)


def _unlisted(body: str, count: int | None, total: float | None) -> ErrorAnalysis:
    """No error is listed: 0.0 where that is said, else missing."""
    said = _NO_ERRORS.search(body)
    status, reason = Status.UNPARSED, "no errors of one kind are announced"
    if count:
        status, reason = Status.TRUNCATED, f"{count} errors are announced, none is listed"
    elif count == 0 and total:
        reason = f"no errors are announced with a total of {shown(total)}"
    elif said is None and count is None:
        status, reason = why(body.lower()) or (status, "no error and no statement that there is none")
    elif said and _DENIED.search(body[max(0, said.start() - 120) : said.start()]):
        reason = "that there are no errors is denied, doubted or said of another text"
    elif said and (len(body) > 600 or _RESERVE.search(body[: said.start()] + body[said.end() :])):
        reason = "no errors are announced, with reservations"
    elif said:
        return ErrorAnalysis(0.0, Status.OK, "", "no errors", (), count, total)
    return ErrorAnalysis(math.nan, status, reason, "unlisted", (), count, total)


# --- JSON: made into the same lines ---------------------------------------------------------------------------------
def _in_json(body: str, weights: Mapping[str, float] | None) -> Iterator[ErrorAnalysis]:
    """The analyses in the JSON of a text: one each object or array, or one where each object is an error."""
    items: list[tuple[Any, bool]] = [
        (item, item.cut if isinstance(item, Record) else body[end - 1] != "]") for item, _, end in objects(body)
    ]
    if len(items) > 1 and all(_fields(item) for item, _ in items):
        items = [([item for item, _ in items], any(cut for _, cut in items))]
    for item, cut in items:
        lines = _lines(item, itertools.count(1), "")
        if lines:
            read = replace(_listed("\n".join(lines), weights), rule="json")
            broken = replace(read, value=math.nan, status=Status.TRUNCATED, reason="the JSON is cut off")
            yield broken if cut else read


def _fields(item: Any) -> list[str]:
    """The fields of an error as lines; none where it is no error."""
    if not isinstance(item, Record) or any(_LIST_KEY.fullmatch(key) for key in item):
        return []
    plain = [(_kind(key), value) for key, value in item.pairs if not isinstance(value, (dict, list, type(None)))]
    return [
        f"{kind}: {f'{said:g}' if isinstance(said, float) else ' '.join(str(said).split())}"
        for kind, said in plain
        if kind
    ]


def _lines(item: Any, number: Iterator[int], above: str) -> list[str]:
    """A JSON value as an analysis: a head and the fields of each error, and what is said of all; none of other JSON."""
    if fields := _fields(item):
        return [f"Error {next(number)}:", *fields]
    nothing = item in ([], {}) or (isinstance(item, str) and _NONE.fullmatch(item))
    if nothing and _LIST_KEY.fullmatch(above):
        return ["errors: none"]
    if isinstance(item, float) and _COUNT_KEY.fullmatch(above):
        return [f"number of errors: {item:g}"]
    if not isinstance(item, (Record, list)):
        return []
    pairs = item.pairs if isinstance(item, Record) else [(above, one) for one in item if one is not None]
    made = [_lines(value, number, str(key).strip()) for key, value in pairs]
    if any(_fields(value) for _, value in pairs) and (isinstance(item, list) or _LIST_KEY.fullmatch(above)):
        made = [lines or [f"Error {next(number)}:", "reason: no error"] for lines in made]  # an entry that is none
    return [line for lines in made for line in lines]


# --- named policies -------------------------------------------------------------------------------------------------
def instructscore(text: str | None) -> ErrorAnalysis:
    """The score of an InstructScore report: -5 for each major and -1 for each minor error, 0.0 for no error.

    Reads both layouts (translation, and data-to-text with an error dimension). A report that lists fewer errors than it
    announces, or leaves a severity open, has no score.
    Raises: TypeError where `text` is neither str nor None.
    Source: Xu et al. 2023, InstructScore, section 3 (weights).
    """
    return error_analysis(text, {"major": 5.0, "minor": 1.0})


_AUTHORS = [
    re.compile(rf"{name} \d+:([^\n]*)\n") for name in ("Error location", "Error aspect", "Explanation", "Severity")
]


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
    contents = [pattern.findall(text) for pattern in _AUTHORS]
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
