"""Error analyses (TIGERScore, InstructScore).

Lines, tables and JSON become fields, fields become errors, and errors become a sum.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from nlgeval_lib.parsers.normalise import Record, objects, table_lines
from nlgeval_lib.parsers.text import (
    DIGITS,
    WORD,
    Parsed,
    check_text,
    number_of,
    readable,
    shown,
    why,
    with_lines,
)
from nlgeval_lib.records import Status

# --- the names of fields, and what they hold
_KINDS = {
    "location": "(?:error )?(?:location|span)|error text|location of (?:the )?error",
    "aspect": "(?:error )?(?:aspect|type|category|dimension)|type of error",
    "explanation": (
        "(?:error )?explanation(?: (?:for|of) (?:the )?error)?|reason|description"
    ),
    "severity": "(?:error )?severity(?: level| of (?:the )?error)?|major/minor",
    "reduction": (
        "(?:score )?(?:reduction|deduction|penalty)s?|reduction of (?:the )?score"
        "|penalty score|points deducted"
    ),
}
_KIND = re.compile(
    "|".join(f"(?P<{kind}>{names})" for kind, names in _KINDS.items()), re.I
)
_NAME = "|".join(_KINDS.values()).replace(" ", "[ _]")
# "Error location 1:", "- **Severity**:", and the heads "Error 2:", "**Error 2**", each
# with the line end before it
LABEL = re.compile(
    r"\n[>*#•\- \t]{0,24}(?:\(?(?:\d{1,2}|[a-h])[.)][ \t]{0,9})?[*_]{0,3}"
    rf"(?:(?P<name>{_NAME})[ \t]{{0,9}}\#?"
    r"(?P<number>\d{1,3})?[*_]{0,3}[ \t]{0,9}(?:[:：]|[-–](?=[ \t]))"
    r"|error[ \t]{0,9}\#?(?P<head>\d{1,3})[*_]{0,3}[ \t]{0,9}(?:[:.-]|$))",
    re.I | re.M,
)
# a label in the middle of a line, after what ends the field before it
_INSIDE = re.compile(
    r"(?<=\S)(?<!error)(?<!score)[ \t]{0,3}(?:[;,|][ \t]{1,3}|[ \t]{1,3})"
    rf"(?=[*_]{{0,3}}(?:{_NAME})[ \t]?\#?\d{{0,3}}[*_]{{0,3}}[ \t]?:)",
    re.I,
)
_XML = re.compile(rf"<({_NAME})>\s*([^<]*)</\1>", re.I)
_AMOUNT = re.compile(
    r"[\s\"'`(\[*_]*+"
    r"(?:(?:a |an )?(?:score )?(?:reduction|deduction|penalty) of "
    r"|(?:deduct(?:ed|s)?|minus|subtract(?:ed|s)?) )?[+-]?\s?"
    rf"(?P<number>\.\d{{1,4}}|{DIGITS}|{WORD})"
    r"(?P<half> and a half\b| ?½| 1/2(?![\d/]))?(?![\w%])"
    r"(?![ \t]?(?:-|->|=>|to|or|and|/(?!\s?5(?:\.0)?(?![\d.]))|,)[ \t]?"
    rf"(?:(?:reduced|lowered|raised|changed) to )?(?:{DIGITS}|{WORD})\b"
    r"|[ \t]+\d)",
    re.I,
)
_SEVERITY = re.compile(r"\b(?:critical|major|minor|neutral|trivial|none)\b|\d", re.I)

# --- what is said of all errors
# TIGERScore's prompt ends here
_ASKED = re.compile(r"valuation(?<=[Yy]our [Ee]valuation) [Oo]utput[ \t]{0,9}:")
_HEADER = "with a total score reduction of"
_ANALYSES = re.compile(rf"(?m)^(?=[^\n]{{0,80}}errors?, {_HEADER})")
_COUNT = re.compile(
    r"\b(?:contains?|has|have|identified|found|there\s(?:is|are))\s"
    rf"(?:a\stotal\sof\s)?(?P<count>\d{{1,4}}|no|{WORD})\serrors?\b"
    r"|\b(?:total|number of)\serrors\s?:\s?(?P<count2>\d{1,4})",
    re.I,
)
# in lower case, which is searched fast
_TOTAL = re.compile(
    r"total(?<!\wtotal)\s(?:score\s)?(?:reduction|deduction|penalty)\s?"
    rf"(?:of|is|:|=)?\s?-?\s?({DIGITS})(?![\w%])"
)
_NO_ERRORS = re.compile(
    r"(?:\b(?:no|zero|0)\s(?:apparent\s|identifiable\s|identified\s)?"
    r"(?:error|mistake)s?\b"
    r"|(?:\bnot|n't)\s(?:contain|have|find|identify|detect|include|see|any)"
    r"[^.\n]{0,20}?\b(?:any\s)?(?:error|mistake)s?\b"
    r"|\bwithout\s(?:any\s)?(?:error|mistake)s?\b|\berror-free\b"
    r"|\bfree\s(?:of|from)\s(?:any\s)?errors?\b)"
    # "no errors of grammar"
    r"(?!\s(?:in|of|with|regarding|related|on)\s"
    r"(?!(?:the|this|your)\s(?:model|output|response|summary|translation"
    r"|text|generation|answer)|an?\s(?:total\s)?(?:score\s)?(?:reduction|total)))"
    # "Errors: none"
    r"|^[\s*#-]{0,9}(?:number of )?errors?(?: found| identified| detected)?"
    r"[*\s]{0,4}[:=][*\s]{0,4}(?:none|no|zero|0)\b"
    r"(?![.,]\d)(?=[^\w\n]{0,20}(?:\n|\Z))",
    re.I | re.M,
)
# "I am not sure that there are no errors", "The source contains no errors"
_DENIED = re.compile(
    r"(?:\b(?:almost|nearly|virtually|practically|next to|close to|barely)"
    r"(?: has| have| contains?)?"
    r"|"
    r"(?:\b"
    r"(?:not|no (?:evidence|proof|guarantee)|never|doubt\w*|unsure|unlikely|untrue"
    r"|false|hardly|wish|claim\w*|say\w*|whether)"
    r"|n't)\b[^.!?,;\n]{0,60}"
    r"|\b(?:source|reference|original|input|instruction|prompt|question|article)"
    r"(?: (?:text|article|sentence|output|answer|translation|summary))?\s"
    r"(?:contains?|has|have|is|shows?))\s?\Z",
    re.I,
)
_RESERVE = re.compile(
    r"\b"
    r"(?:but|however|except|although|though|nevertheless|major|minor|significant"
    r"|serious|few|some|one|if|unless|improv\w+|better)\b",
    re.I,
)
_LIST_KEY = re.compile(r"errors|error[ _](?:list|analysis)", re.I)
_COUNT_KEY = re.compile(r"(?:num|number_of|total)_errors|error_count", re.I)
_NONE = re.compile(
    r"\W*(?:none|no errors?)(?: (?:found|detected|identified))?\W*", re.I
)


@dataclass(frozen=True, slots=True)
class ErrorItem:
    """One error: where, of what aspect, why, how severe, and what it costs.

    `reduction` is by how much it lowers the score, NaN where not stated.
    """

    location: str = ""
    aspect: str = ""
    explanation: str = ""
    severity: str = ""
    reduction: float = math.nan
    number: int | None = None

    @property
    def penalty(self) -> float:
        """What the error takes from the score: 0 or less, NaN where not stated."""
        return 0.0 - self.reduction


@dataclass(frozen=True, slots=True)
class ErrorAnalysis(Parsed):
    """A score of 0 or less, its errors, and what the header announces.

    The errors are kept also where the score is missing; a header that announces nothing
    is None.
    """

    errors: tuple[ErrorItem, ...] = ()
    header_errors: int | None = None
    header_total: float | None = None  # the announced reduction, 0 or more

    @property
    def agrees(self) -> bool | None:
        """Whether the errors agree with the header in number and sum.

        None without a header or a score.
        """
        count = self.header_errors
        total = self.header_total
        if not self.ok or (count is None and total is None):
            return None
        if count is not None and count != len(self.errors):
            return False
        return total is None or math.isclose(total, -self.value, abs_tol=1e-9)


def error_analysis(
    text: str | None, weights: Mapping[str, float] | None = None
) -> ErrorAnalysis:
    """The score that an error analysis gives: minus the sum of its errors' reductions.

    It is 0.0 for no errors. Reads TIGERScore's numbered layout (with or without the
    prompt before it), unnumbered and marked-up variants, and JSON. An analysis that is
    cut off, lists fewer errors than it announces, or leaves a reduction open has no
    score; no errors count as 0.0 only where the text says so. The announced total is
    kept and compared, never taken.

    weights: penalty of each severity; the errors then weigh by severity and stated
    reductions are not needed.
    Raises: TypeError where `text` is neither str nor None.
    Source: TIGERScore, section 3.1 (score), Tables 9 and 17 (layouts).
    """
    content = check_text(text, "error_analysis")
    if content is None:
        return ErrorAnalysis(math.nan, Status.EMPTY, "no text", "empty")
    body = with_lines(content)
    body = _ASKED.split(body)[-1] or body
    analyses = list(_in_json(body, weights)) if "{" in body else []
    if not analyses:
        parts = [body]
        if body.count(_HEADER) > 1:
            parts = [part for part in _ANALYSES.split(body) if _HEADER in part]
        analyses = [_in_text(part, weights) for part in parts]
    first = analyses[0]
    if len({(shown(each.value), each.status) for each in analyses}) > 1:
        reason = "several analyses that differ"
        return ErrorAnalysis(math.nan, Status.UNPARSED, reason, first.rule)
    return first


# --- fields to errors, errors to a score
@functools.lru_cache(maxsize=1024)
def _kind(name: str) -> str:
    """What a field of this name holds; empty for an unknown name."""
    match = _KIND.fullmatch(re.sub(r"[\s_-]+", " ", name).strip())
    return (match.lastgroup if match else "") or ""


class Field(NamedTuple):
    """A labelled line: what it holds, the number of its error, its text."""

    kind: str
    number: str | None
    content: str


def _errors(fields: Iterable[Field]) -> tuple[ErrorItem, ...]:
    """The errors that fields make up.

    A head, another number or a field that comes again begins an error.
    """
    errors: list[dict[str, Any]] = []
    for kind, number, content in fields:
        error = errors[-1] if errors else {}
        last = error.get("number")
        repeated = number != last if number and last else kind in error
        if not errors or not kind or repeated:
            error = {}
            last = None
            errors.append(error)
        error["number"] = last or number
        if not kind:
            error["head"] = content
            continue
        different = error.setdefault(kind, content) != content
        if different and kind in ("severity", "reduction"):
            error[kind] = ""
    return tuple(_error(error) for error in errors if error.keys() - {"number", "head"})


def _error(contents: dict[str, Any]) -> ErrorItem:
    """The error that the contents of its fields describe."""
    head = contents.pop("head", "")
    number = contents.pop("number")
    if head and contents.keys() == {"reduction"}:
        # "Error 1: a wrong date. Score reduction: 4"
        contents["explanation"] = head
    contents["severity"] = _severity(contents.get("severity", ""))
    contents["reduction"] = _amount(contents.get("reduction", ""))
    return ErrorItem(number=int(number) if number else None, **contents)


@functools.lru_cache(maxsize=1024)
def _severity(text: str) -> str:
    """The severity that a text names, empty where it names none or several."""
    severities = {word.lower() for word in _SEVERITY.findall(text)}
    if len(severities) != 1 or not severities.isdisjoint("0123456789"):
        return ""
    return severities.pop().capitalize()


@functools.lru_cache(maxsize=1024)
def _amount(text: str) -> float:
    """The score reduction that a text states, NaN where it states none."""
    match = _AMOUNT.match(readable(text)) if text else None
    if match is None:
        return math.nan
    value = number_of(match["number"].lower())
    if value is None or math.isinf(value):
        return math.nan
    return value + 0.5 if match["half"] else value


def _weight(error: ErrorItem, weights: Mapping[str, float] | None) -> float:
    """What an error takes from the score, NaN where that cannot be told."""
    if weights is None:
        return error.reduction
    return weights.get(error.severity.lower(), math.nan)


Flaw = tuple[Status, str]  # why there is no score


def _no_sum(
    errors: tuple[ErrorItem, ...],
    amounts: list[float],
    count: int | None,
    required: str,
) -> Flaw | None:
    """Why listed errors have no sum; each must have a `required` field."""
    if count == 0:
        return Status.UNPARSED, f"no errors are announced, {len(errors)} are listed"
    if count is not None and len(errors) < count:
        reason = f"{count} errors are announced, {len(errors)} are listed"
        return Status.TRUNCATED, reason
    unstated = []
    for place, amount in enumerate(amounts, 1):
        if math.isnan(amount):
            unstated.append(str(place))
    unknown_severity = required == "severity" and errors[-1].severity
    if unstated == [str(len(errors))] and not unknown_severity:
        return Status.TRUNCATED, f"the last error has no {required}"
    if unstated:
        places = ", ".join(unstated[:6])
        return Status.UNPARSED, f"no {required} can be read for error {places}"
    for error in errors:
        if not (error.location or error.aspect or error.explanation or error.severity):
            return Status.UNPARSED, "an error has a score reduction and nothing else"
    return None


def _not_none(body: str, count: int | None, total: float | None) -> Flaw | None:
    """Why a text that lists no error has no score of 0 either."""
    if count:
        return Status.TRUNCATED, f"{count} errors are announced, none is listed"
    if count == 0 and total:
        reason = f"no errors are announced with a total of {shown(total)}"
        return Status.UNPARSED, reason
    statement = _NO_ERRORS.search(body)
    if statement is None and count is not None:
        return Status.UNPARSED, "no errors of one kind are announced"
    if statement is None:
        reason = "no error and no statement that there is none"
        return why(body.lower()) or (Status.UNPARSED, reason)
    start = statement.start()
    if _DENIED.search(body[max(0, start - 120) : start]):
        reason = "that there are no errors is denied, doubted or said of another text"
        return Status.UNPARSED, reason
    around = body[:start] + body[statement.end() :]
    if len(body) > 600 or _RESERVE.search(around):
        return Status.UNPARSED, "no errors are announced, with reservations"
    return None


# --- lines and tables
def _in_text(body: str, weights: Mapping[str, float] | None) -> ErrorAnalysis:
    """The analysis in a text: in its lines, else in a table or inside its lines."""
    lines = _XML.sub(r"\n\1: \2\n", body) if "</" in body else body
    read = _listed(lines, weights)
    amounts = "eduction" in body or "enalty" in body
    if read.ok or not (amounts or weights):
        return read
    if any(_weight(error, weights) >= 0 for error in read.errors):
        return read
    # the amounts may stand in a table or inside the lines
    apart = _INSIDE.sub("\n", table_lines(readable(body), _rows))
    read_apart = _listed(apart, weights)
    return read_apart if read_apart.errors else read


def _rows(head: list[str], rows: list[list[str]]) -> list[str]:
    """The cells of a table of errors as labelled lines; none of another table."""
    columns = [place for place, name in enumerate(head) if _kind(name)]
    if len(columns) < 2:
        return []
    lines = []
    for row in rows:
        for column in columns:
            if column < len(row):
                lines.append(f"{head[column]}: {row[column]}")
    return lines


def _listed(body: str, weights: Mapping[str, float] | None) -> ErrorAnalysis:
    """The analysis in labelled lines; its header is what stands before the first."""
    body = f"\n{body}"
    labels = list(LABEL.finditer(body))
    fields = _labelled(body, labels)
    listed = any(field.kind for field in fields)
    head = readable(body[: labels[0].start()] if listed else body)
    count = _announced_count(head)
    totals = _TOTAL.findall(head.lower())
    if not totals and listed and "total" in body.lower():
        totals = _TOTAL.findall(readable(body).lower())
    total = number_of(totals[-1]) if totals else None
    errors = _errors(fields)
    if count == 0 and not any(_says_something(error) for error in errors):
        errors = ()  # "no errors. Explanation: the output is right."
    amounts = [_weight(error, weights) for error in errors]
    if errors:
        required = "score reduction" if weights is None else "severity"
        flaw = _no_sum(errors, amounts, count, required)
    else:
        flaw = _not_none(body, count, total)
    other_total = weights is None and total not in (None, math.fsum(amounts))
    if not flaw and other_total and re.search(r"\d\.\s?\Z", body[-9:]):
        reason = "the text ends in the middle of the last score reduction"
        flaw = Status.TRUNCATED, reason
    if flaw:
        rule = "listed" if errors else "unlisted"
        return ErrorAnalysis(math.nan, *flaw, rule, errors, count, total)
    rule = "listed" if errors else "no errors"
    score = 0.0 - math.fsum(amounts)
    return ErrorAnalysis(score, Status.OK, "", rule, errors, count, total)


# --- JSON: made into the same lines
def _labelled(body: str, labels: list[re.Match]) -> list[Field]:
    """The fields of a text: each label with the text up to the next label."""
    fields = []
    ends = [label.start() for label in labels[1:]]
    ends.append(len(body))
    for label, end in zip(labels, ends, strict=False):
        kind = _kind(label["name"] or "")
        content = body[label.end() : end].strip(" \t\n*_")
        fields.append(Field(kind, label["number"] or label["head"], content))
    return fields


def _announced_count(head: str) -> int | None:
    """How many errors a header announces, None where it says nothing."""
    counts = list(_COUNT.finditer(head))
    if not counts:
        return None
    word = (counts[-1]["count"] or counts[-1]["count2"]).lower()
    count = 0.0 if word == "no" else number_of(word)
    return None if count is None else int(count)


def _says_something(error: ErrorItem) -> bool:
    """Whether an error has more than an explanation."""
    if error.location or error.severity or error.aspect:
        return True
    return not math.isnan(error.reduction)


def _in_json(body: str, weights: Mapping[str, float] | None) -> Iterator[ErrorAnalysis]:
    """The analyses in the JSON of a text.

    Each object or array is one, and where each object is an error, they are one.
    """
    items: list[tuple[Any, bool]] = []
    for item, _, end in objects(body):
        cut = item.cut if isinstance(item, Record) else body[end - 1] != "]"
        items.append((item, cut))
    if len(items) > 1 and all(_fields(item) for item, _ in items):
        errors = [item for item, _ in items]
        items = [(errors, any(cut for _, cut in items))]
    for item, cut in items:
        lines = _lines(item, itertools.count(1), "")
        if not lines:
            continue
        read = replace(_listed("\n".join(lines), weights), rule="json")
        if cut:
            reason = "the JSON is cut off"
            read = replace(read, value=math.nan, status=Status.TRUNCATED, reason=reason)
        yield read


def _fields(item: Any) -> list[str]:
    """The fields of an error as lines; none where it is no error."""
    if not isinstance(item, Record) or any(_LIST_KEY.fullmatch(key) for key in item):
        return []
    lines = []
    for key, value in item.pairs:
        kind = _kind(key)
        if kind and isinstance(value, float):
            lines.append(f"{kind}: {value:g}")
        elif kind and isinstance(value, (str, bool)):
            lines.append(f"{kind}: {' '.join(str(value).split())}")
    return lines


def _lines(item: Any, number: Iterator[int], above: str) -> list[str]:
    """A JSON value as an analysis: the fields of each error, and what is said of all.

    Other JSON has no lines. `above` is the key of the value.
    """
    fields = _fields(item)
    if fields:
        return [f"Error {next(number)}:", *fields]
    under_list_key = _LIST_KEY.fullmatch(above)
    none = isinstance(item, str) and _NONE.fullmatch(item)
    if under_list_key and (item in ([], {}) or none):
        return ["errors: none"]
    if isinstance(item, float) and _COUNT_KEY.fullmatch(above):
        return [f"number of errors: {item:g}"]
    if isinstance(item, Record):
        pairs = list(item.pairs)
    elif isinstance(item, list):
        pairs = [(above, value) for value in item if value is not None]
    else:
        return []
    has_errors = any(_fields(value) for _, value in pairs)
    all_errors = has_errors and (isinstance(item, list) or under_list_key)
    # all errors are numbered first
    parts = [_lines(value, number, str(key).strip()) for key, value in pairs]
    lines = []
    for lines_of_value in parts:
        if all_errors and not lines_of_value:  # an entry that is no error
            lines += [f"Error {next(number)}:", "reason: no error"]
        lines += lines_of_value
    return lines


# --- named policies
def instructscore(text: str | None) -> ErrorAnalysis:
    """The score of an InstructScore report: -5 for each major and -1 for each minor
    error, 0.0 for no error.

    Reads both layouts (translation, and data-to-text with an error dimension). A report
    that lists fewer errors than it announces, or leaves a severity open, has no score.
    Raises: TypeError where `text` is neither str nor None.
    Source: Xu et al. 2023, InstructScore, section 3 (weights).
    """
    return error_analysis(text, {"major": 5.0, "minor": 1.0})


def tigerscore_authors(text: str | None) -> ErrorAnalysis:
    """What TIGERScore's decoder makes of an analysis.

    It takes minus the whole part of the announced total (4.5 becomes 4). Missing where
    the header has another wording, where a field's content is not on its label's line,
    or where the five fields are not equally many. `errors`, `header_errors` and
    `header_total` are those of `error_analysis`.
    Raises: TypeError where `text` is neither str nor None.
    Source: TIGERScore, repository TIGER-AI-Lab/TIGERScore, tigerscore/scorer.
    """
    analysis = error_analysis(text)
    if text is None or analysis.status is Status.EMPTY:
        return analysis
    contents: list[str] = []
    counts = [len(re.findall(r"\nScore reduction \d+:[ \n]*\d", text))]
    for name in ("Error location", "Error aspect", "Explanation", "Severity"):
        contents_of_name = re.findall(rf"{name} \d+:([^\n]*)\n", text)
        contents += contents_of_name
        counts.append(len(contents_of_name))
    total = re.search(r", with a total score reduction of (\d+)", text)
    header = re.search(r"The model-generated output contains (\d+) errors", text)
    reason = ""
    score = math.nan
    if total is None or header is None:
        reason = "the header is not in the decoder's wording"
    elif not all(content.strip(" ") for content in contents):
        reason = "a field's content is not on its label's line"
    elif len(set(counts)) > 1:
        reason = "the fields are not equally many"
    else:
        score = 0.0 - float(total[1])
    status = Status.UNPARSED if reason else Status.OK
    return replace(analysis, value=score, status=status, reason=reason, rule="authors")
