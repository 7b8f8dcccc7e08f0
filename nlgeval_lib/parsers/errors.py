"""Error analyses (TIGERScore, InstructScore): lines, tables and JSON to fields, fields to errors, errors to a sum."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from nlgeval_lib.parsers.normalise import Record, objects, table_lines
from nlgeval_lib.parsers.text import DIGITS, WORD, Parsed, check_text, number_of, readable, shown, why, with_lines
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
    r"[\s\"'`(\[*_]*+(?:(?:a |an )?(?:score )?(?:reduction|deduction|penalty) of |(?:deduct(?:ed|s)?|minus|"
    rf"subtract(?:ed|s)?) )?[+-]?\s?(?P<number>\.\d{{1,4}}|{DIGITS}|{WORD})(?P<half> and a half\b| ?½|"
    r" 1/2(?![\d/]))?(?![\w%])(?![ \t]?(?:-|->|=>|to|or|and|/(?!\s?5(?:\.0)?(?![\d.]))|,)[ \t]?(?:(?:reduced|lowered|"
    rf"raised|changed) to )?(?:{DIGITS}|{WORD})\b|[ \t]+\d)",
    re.I,
)
_SEVERITY = re.compile(r"\b(?:critical|major|minor|neutral|trivial|none)\b|\d", re.I)

# --- what is said of all errors -------------------------------------------------------------------------------------
_ASKED = re.compile(r"valuation(?<=[Yy]our [Ee]valuation) [Oo]utput[ \t]{0,9}:")  # TIGERScore's prompt ends here
_HEADER = "with a total score reduction of"
_ANALYSES = re.compile(rf"(?m)^(?=[^\n]{{0,80}}errors?, {_HEADER})")
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
    r"(?:\b(?:almost|nearly|virtually|practically|next to|close to|barely)(?: has| have| contains?)?|(?:\b(?:not|"
    r"no (?:evidence|proof|guarantee)|never|doubt\w*|unsure|unlikely|untrue|false|hardly|wish|claim\w*|say\w*|whether)|"
    r"n't)\b[^.!?,;\n]{0,60}|\b(?:source|reference|original|input|instruction|prompt|question|article)(?: (?:text|"
    r"article|sentence|output|answer|translation|summary))?\s(?:contains?|has|have|is|shows?))\s?\Z",
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
    """One error: where, of what aspect, why, how severe, and by how much it lowers the score (NaN where not stated)."""

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
    """A score of 0 or less, its errors (also where it is missing), and what the header announces (None: nothing)."""

    errors: tuple[ErrorItem, ...] = ()
    header_errors: int | None = None
    header_total: float | None = None  # the announced reduction, 0 or more

    @property
    def agrees(self) -> bool | None:
        """Whether the errors agree with the header in number and sum; None without a header or a score."""
        count, total = self.header_errors, self.header_total
        if not self.ok or (count is None and total is None):
            return None
        return count in (None, len(self.errors)) and (total is None or math.isclose(total, -self.value, abs_tol=1e-9))


def error_analysis(text: str | None, weights: Mapping[str, float] | None = None) -> ErrorAnalysis:
    """The score that an error analysis gives: minus the sum of its errors' reductions, 0.0 for no errors.

    Reads TIGERScore's numbered layout (with or without the prompt before it), unnumbered and marked-up variants, and
    JSON. An analysis that is cut off, lists fewer errors than it announces, or leaves a reduction open has no score; no
    errors count as 0.0 only where the text says so. The announced total is kept and compared, never taken.

    weights: penalty of each severity; the errors then weigh by severity and stated reductions are not needed.
    Raises: TypeError where `text` is neither str nor None.
    Source: TIGERScore, section 3.1 (score), Tables 9 and 17 (layouts).
    """
    content = check_text(text, "error_analysis")
    if content is None:
        return ErrorAnalysis(math.nan, Status.EMPTY, "no text", "empty")
    body = with_lines(content)
    body = _ASKED.split(body)[-1] or body
    found = list(_in_json(body, weights)) if "{" in body else []
    if not found:
        parts = [part for part in _ANALYSES.split(body) if _HEADER in part] if body.count(_HEADER) > 1 else [body]
        found = [_in_text(part, weights) for part in parts]
    if len({(shown(one.value), one.status) for one in found}) > 1:
        return ErrorAnalysis(math.nan, Status.UNPARSED, "several analyses that differ", found[0].rule)
    return found[0]


# --- fields to errors, errors to a score ----------------------------------------------------------------------------
@functools.lru_cache(maxsize=1024)
def _kind(name: str) -> str:
    match = _KIND.fullmatch(re.sub(r"[\s_-]+", " ", name).strip())
    return (match and match.lastgroup) or ""


def _errors(fields: Iterable[tuple[str, str | None, str]]) -> tuple[ErrorItem, ...]:
    """The errors that fields (kind, number, content) make up: a head, another number or a field again begins one."""
    found: list[dict[str, Any]] = []
    for kind, number, content in fields:
        held = found[-1] if found else {}
        last = held.get("number")
        if not found or not kind or (number != last if number and last else kind in held):
            held, last = {}, None
            found.append(held)
        held["number"] = last or number
        if not kind:
            held["head"] = content
        elif held.setdefault(kind, content) != content and kind in ("severity", "reduction"):
            held[kind] = ""  # twice, and not the same
    return tuple(_error(held) for held in found if not held.keys() <= {"number", "head"})


def _error(held: dict[str, Any]) -> ErrorItem:
    head, number = held.pop("head", ""), held.pop("number")
    if head and held.keys() == {"reduction"}:  # "Error 1: a wrong date. Score reduction: 4"
        held["explanation"] = head
    held |= {"severity": _severity(held.get("severity", "")), "reduction": _amount(held.get("reduction", ""))}
    return ErrorItem(number=int(number) if number else None, **held)


@functools.lru_cache(maxsize=1024)
def _severity(text: str) -> str:
    said = {word.lower() for word in _SEVERITY.findall(text)}
    return said.pop().capitalize() if len(said) == 1 and said.isdisjoint("0123456789") else ""


@functools.lru_cache(maxsize=1024)
def _amount(text: str) -> float:
    match = _AMOUNT.match(readable(text)) if text else None
    value = number_of(match["number"].lower()) if match else None
    return math.nan if match is None or value is None or math.isinf(value) else value + 0.5 * bool(match["half"])


def _weight(error: ErrorItem, weights: Mapping[str, float] | None) -> float:
    return error.reduction if weights is None else weights.get(error.severity.lower(), math.nan)


Flaw = tuple[Status, str]  # why there is no score


def _no_sum(errors: tuple[ErrorItem, ...], amounts: list[float], count: int | None, what: str) -> Flaw | None:
    """Why listed errors have no sum; `what` each must have."""
    unstated = [str(place) for place, amount in enumerate(amounts, 1) if math.isnan(amount)]
    if count == 0:
        return Status.UNPARSED, f"no errors are announced, {len(errors)} are listed"
    if count is not None and len(errors) < count:
        return Status.TRUNCATED, f"{count} errors are announced, {len(errors)} are listed"
    if unstated == [str(len(errors))] and (what != "severity" or not errors[-1].severity):
        return Status.TRUNCATED, f"the last error has no {what}"
    if unstated:
        return Status.UNPARSED, f"no {what} can be read for error {', '.join(unstated[:6])}"
    if not all(error.location or error.aspect or error.explanation or error.severity for error in errors):
        return Status.UNPARSED, "an error has a score reduction and nothing else"
    return None


def _not_none(body: str, count: int | None, total: float | None) -> Flaw | None:
    """Why a text that lists no error has no score of 0 either."""
    said = _NO_ERRORS.search(body)
    if count:
        return Status.TRUNCATED, f"{count} errors are announced, none is listed"
    if count == 0 and total:
        return Status.UNPARSED, f"no errors are announced with a total of {shown(total)}"
    if said is None:
        nothing = (
            "no error and no statement that there is none" if count is None else "no errors of one kind are announced"
        )
        return (why(body.lower()) if count is None else None) or (Status.UNPARSED, nothing)
    if _DENIED.search(body[max(0, said.start() - 120) : said.start()]):
        return Status.UNPARSED, "that there are no errors is denied, doubted or said of another text"
    if len(body) > 600 or _RESERVE.search(body[: said.start()] + body[said.end() :]):
        return Status.UNPARSED, "no errors are announced, with reservations"
    return None


# --- lines and tables -----------------------------------------------------------------------------------------------
def _in_text(body: str, weights: Mapping[str, float] | None) -> ErrorAnalysis:
    read = _listed(_XML.sub(r"\n\1: \2\n", body) if "</" in body else body, weights)
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
    ends = [*(label.start() for label in labels[1:]), len(body)]
    fields = [
        (_kind(label["name"] or ""), label["number"] or label["head"], body[label.end() : end].strip(" \t\n*_"))
        for label, end in zip(labels, ends, strict=False)
    ]
    listed = any(kind for kind, _, _ in fields)
    head = readable(body[: labels[0].start()] if listed else body)
    counts = [(match["count"] or match["count2"]).lower() for match in _COUNT.finditer(head)]
    said = 0.0 if counts[-1:] == ["no"] else number_of(counts[-1]) if counts else None
    totals = _TOTAL.findall(head.lower()) or (
        _TOTAL.findall(readable(body).lower()) if listed and "total" in body.lower() else []
    )
    count, total = None if said is None else int(said), number_of(totals[-1]) if totals else None
    errors = _errors(fields)
    if count == 0 and all(not (e.location or e.severity or e.aspect) and math.isnan(e.reduction) for e in errors):
        errors = ()  # "no errors. Explanation: the output is right."
    amounts = [_weight(error, weights) for error in errors]
    what = "score reduction" if weights is None else "severity"
    flaw = _no_sum(errors, amounts, count, what) if errors else _not_none(body, count, total)
    if not flaw and weights is None and total not in (None, math.fsum(amounts)) and re.search(r"\d\.\s?\Z", body[-9:]):
        flaw = Status.TRUNCATED, "the text ends in the middle of the last score reduction"
    status, reason = flaw or (Status.OK, "")
    rule = "listed" if errors else "unlisted" if flaw else "no errors"
    return ErrorAnalysis(math.nan if flaw else 0.0 - math.fsum(amounts), status, reason, rule, errors, count, total)


# --- JSON: made into the same lines ---------------------------------------------------------------------------------
def _in_json(body: str, weights: Mapping[str, float] | None) -> Iterator[ErrorAnalysis]:
    """The analyses in the JSON of a text: one each object or array, or one where each object is an error."""
    items: list[tuple[Any, bool]] = [
        (item, item.cut if isinstance(item, Record) else body[end - 1] != "]") for item, _, end in objects(body)
    ]
    if len(items) > 1 and all(_fields(item) for item, _ in items):
        items = [([item for item, _ in items], any(cut for _, cut in items))]
    for item, cut in items:
        if lines := _lines(item, itertools.count(1), ""):
            read = replace(_listed("\n".join(lines), weights), rule="json")
            broken = replace(read, value=math.nan, status=Status.TRUNCATED, reason="the JSON is cut off")
            yield broken if cut else read


def _fields(item: Any) -> list[str]:
    """The fields of an error as lines; none where it is no error."""
    if not isinstance(item, Record) or any(_LIST_KEY.fullmatch(key) for key in item):
        return []
    plain = ((_kind(key), f"{said:g}" if isinstance(said, float) else said) for key, said in item.pairs)
    return [f"{kind}: {' '.join(str(said).split())}" for kind, said in plain if kind and isinstance(said, (str, bool))]


def _lines(item: Any, number: Iterator[int], above: str) -> list[str]:
    """A JSON value as an analysis: a head and the fields of each error, and what is said of all; none of other JSON."""
    if fields := _fields(item):
        return [f"Error {next(number)}:", *fields]
    if _LIST_KEY.fullmatch(above) and (item in ([], {}) or (isinstance(item, str) and _NONE.fullmatch(item))):
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
    names = ("Error location", "Error aspect", "Explanation", "Severity")
    contents = [re.findall(rf"{name} \d+:([^\n]*)\n", text) for name in names]
    total = re.search(r", with a total score reduction of (\d+)", text)
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
