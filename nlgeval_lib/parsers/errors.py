"""Error analyses (TIGERScore, InstructScore): fields become errors, errors a sum."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from nlgeval_lib.parsers.normalise import Record, objects
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

# what a field holds -> its names
_KINDS = {
    "location": "(?:error )?location",
    "aspect": "(?:error )?(?:aspect|type|category|dimension)",
    "explanation": "(?:error )?explanation(?: for error)?|reason|description",
    "severity": "(?:error )?severity|major/minor",
    "reduction": "(?:score )?(?:reduction|deduction|penalty)",
}
_KIND = re.compile(
    "|".join(f"(?P<{kind}>{names})" for kind, names in _KINDS.items()), re.I
)
_NAME = "|".join(_KINDS.values()).replace(" ", "[ _]")
# "Error location 1:", "- **Severity**:", and the heads "Error 2:", "**Error 2**", each
# with the line end before it
LABEL = re.compile(
    r"\n[>*#•\- \t]{0,24}(?:\(?\d{1,2}[.)][ \t]{0,9})?[*_]{0,3}"
    rf"(?:(?P<name>{_NAME})[ \t]{{0,9}}\#?"
    r"(?P<number>\d{1,3})?[*_]{0,3}[ \t]{0,9}(?:[:：]|[-–](?=[ \t]))"
    r"|error[ \t]{0,9}\#?(?P<head>\d{1,3})[*_]{0,3}[ \t]{0,9}(?:[:.-]|$))",
    re.I | re.M,
)
_AMOUNT = re.compile(
    rf"[\s\"'`(\[*_+-]*(?P<number>\.\d{{1,4}}|{DIGITS}|{WORD})(?![\w%½])"
    r"(?! ?(?:1/2|and a half)\b)"
    r"(?! ?(?:-|->|=>|to|or|and|/(?! ?5(?![\d.]))|,)[ \t]?(?:[a-z]+ to )?"
    rf"(?:{DIGITS}|{WORD})\b|[ \t]+\d)",
    re.I,
)
_SEVERITY = re.compile(r"\b(?:critical|major|minor|neutral|trivial|none)\b|\d", re.I)
# TIGERScore's prompt ends here
_ASKED = re.compile(r"your evaluation output[ \t]{0,9}:", re.I)
_HEADER = "with a total score reduction of"
_COUNT = re.compile(
    r"\b(?:contains?|has|have|identified|found|there (?:is|are))\s"
    rf"(?P<count>\d{{1,4}}|no|{WORD})\serrors?\b",
    re.I,
)
_TOTAL = re.compile(
    rf"\btotal (?:score )?(?:reduction|deduction)(?: of| is|:)? ?-?({DIGITS})(?![\w%])"
)
_NO_ERRORS = re.compile(
    r"\b(?:no|zero|0)\s(?:error|mistake)s?\b|\bnot contain any (?:error|mistake)s?\b"
    r"|\b(?:error-free|free of errors?)\b"
    r"|^[\s*#-]{0,9}(?:number of )?errors?(?: found)?[*\s]{0,4}[:=][*\s]{0,4}"
    r"(?:none|no|zero|0)\b(?=[^\w\n]{0,20}(?:\n|\Z))",
    re.I | re.M,
)
# more is said of them: "no errors of grammar", "but one omission"
_RESERVE = re.compile(
    r"\b(?:but|however|except|although|though|major|minor|some|one|few|if|unless|not"
    r"|never|almost|nearly|doubt\w*|unsure|false|say\w*|claim\w*|whether|source"
    r"|reference|original|evidence|proof|guarantee|improv\w+|better|wish"
    r"|errors? (?:in|of|with|regarding|related)(?! a total)"
    r"(?! (?:the|this|your) (?:model|output|translation|text|summary|response)))\b"
    r"|n't\b(?! contain)",
    re.I,
)
_NONE = re.compile(r"\W*(?:none|no errors?)(?: found)?\W*", re.I)


@dataclass(frozen=True, slots=True)
class ErrorItem:
    """One error; `reduction` is by how much it lowers the score, NaN if not stated."""

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
    """A score of 0 or less; its errors, kept also without one; what its header says."""

    errors: tuple[ErrorItem, ...] = ()
    header_errors: int | None = None
    header_total: float | None = None  # the announced reduction, 0 or more

    @property
    def agrees(self) -> bool | None:
        """Whether the errors agree with the header; None without one or a score."""
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

    Reads TIGERScore's numbered layout, variants, and JSON. There is no score where it
    is cut off, lists fewer errors than it announces, or leaves a reduction open; no
    errors count as 0.0 only where the text says so. The announced total is never taken.

    weights: penalty of each severity, in place of the stated reductions.
    Source: TIGERScore, section 3.1 (score), Tables 9 and 17 (layouts).
    """
    content = check_text(text, "error_analysis")
    if content is None:
        return ErrorAnalysis(math.nan, Status.EMPTY, "no text", "empty")
    body = with_lines(content)
    body = _ASKED.split(body)[-1] or body
    if body.count(_HEADER) > 1:
        reason = "several analyses"
        return ErrorAnalysis(math.nan, Status.UNPARSED, reason, "unlisted")
    in_json = _in_json(body, weights) if "{" in body else None
    return in_json or _in_lines(f"\n{body}", weights)


class Field(NamedTuple):
    """A labelled line."""

    kind: str  # what it holds, "" for the head of an error
    number: str | None  # of its error
    content: str


def _kind(name: str) -> str:
    """What a field of this name holds; empty for an unknown name."""
    match = _KIND.fullmatch(re.sub(r"[\s_-]+", " ", name).strip())
    return (match.lastgroup if match else "") or ""


def _errors(fields: Iterable[Field]) -> tuple[ErrorItem, ...]:
    """The errors of fields: a head, another number or a repeated field begins one."""
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
        if kind:
            different = error.setdefault(kind, content) != content
            if different and kind in ("severity", "reduction"):
                error[kind] = ""
    return tuple(_error(error) for error in errors if error.keys() - {"number"})


def _error(contents: dict[str, Any]) -> ErrorItem:
    number = contents.pop("number", None)
    contents["severity"] = _severity(contents.get("severity", ""))
    contents["reduction"] = _amount(contents.get("reduction", ""))
    return ErrorItem(number=int(number) if number else None, **contents)


def _severity(text: str) -> str:
    """The severity that a text names, empty where it names none or several."""
    severities = {word.lower() for word in _SEVERITY.findall(text)}
    if len(severities) != 1 or not severities.isdisjoint("0123456789"):
        return ""
    return severities.pop().capitalize()


def _amount(text: str) -> float:
    """The score reduction that a text states, NaN where it states none."""
    match = _AMOUNT.match(readable(text)) if text else None
    value = number_of(match["number"].lower()) if match else None
    return math.nan if value is None or math.isinf(value) else value


Flaw = tuple[Status, str]  # why there is no score


def _scored(
    errors: tuple[ErrorItem, ...],
    count: int | None,
    total: float | None,
    weights: Mapping[str, float] | None,
    flaw: Flaw | None,
) -> ErrorAnalysis:
    """The analysis of these errors, with its sum unless it has a flaw."""
    amounts = [error.reduction for error in errors]
    if weights is not None:
        amounts = [weights.get(error.severity.lower(), math.nan) for error in errors]
    if errors and not flaw:
        required = "score reduction" if weights is None else "severity"
        flaw = _no_sum(errors, amounts, count, required)
    if flaw:
        rule = "listed" if errors else "unlisted"
        return ErrorAnalysis(math.nan, *flaw, rule, errors, count, total)
    rule = "listed" if errors else "no errors"
    score = 0.0 - math.fsum(amounts)
    return ErrorAnalysis(score, Status.OK, "", rule, errors, count, total)


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
    unstated = [str(place) for place, cost in enumerate(amounts, 1) if math.isnan(cost)]
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
    if not _NO_ERRORS.search(body):
        reason = "no error and no statement that there is none"
        return why(body.lower()) or (Status.UNPARSED, reason)
    if len(body) > 600 or _RESERVE.search(body.replace("not contain any", "")):
        return Status.UNPARSED, "no errors are announced, with reservations"
    return None


def _in_lines(body: str, weights: Mapping[str, float] | None) -> ErrorAnalysis:
    """The analysis in labelled lines; its header is what stands before the first."""
    fields = list(_labelled(body))
    listed = any(field.kind for field in fields)
    first = LABEL.search(body) if listed else None
    head = readable(body[: first.start()] if first else body)
    counts = [match["count"].lower() for match in _COUNT.finditer(head)]
    announced = None
    if counts:
        announced = 0.0 if counts[-1] == "no" else number_of(counts[-1])
    count = None if announced is None else int(announced)
    totals = _TOTAL.findall(head.lower())
    total = number_of(totals[-1]) if totals else None
    errors = _errors(fields)
    flaw = None
    if not errors:
        flaw = _not_none(body, count, total)
    stated = math.fsum(error.reduction for error in errors)
    cut = errors and weights is None and total not in (None, stated)
    if cut and re.search(r"\d\.\s?\Z", body[-9:]):
        flaw = Status.TRUNCATED, "the text ends in the middle of the last reduction"
    return _scored(errors, count, total, weights, flaw)


def _labelled(body: str) -> Iterator[Field]:
    """The fields of a text: each label with the text up to the next label."""
    labels = list(LABEL.finditer(body))
    for place, label in enumerate(labels):
        end = labels[place + 1].start() if place + 1 < len(labels) else len(body)
        content = body[label.end() : end].strip(" \t\n*_")
        yield Field(
            _kind(label["name"] or ""), label["number"] or label["head"], content
        )


def _in_json(body: str, weights: Mapping[str, float] | None) -> ErrorAnalysis | None:
    """The analysis in the JSON of a text; None where it holds none."""
    errors: list[ErrorItem] = []
    flaw = None
    analyses = 0
    for item, _, end in objects(body):
        entries = _entries(item)
        if entries is None:
            continue
        analyses += 1
        for entry in entries:
            of_entry = _of_json(entry)
            errors += of_entry
            if not of_entry:
                flaw = Status.UNPARSED, "an entry of the list is no error"
        if item.cut if isinstance(item, Record) else body[end - 1] != "]":
            flaw = Status.TRUNCATED, "the JSON is cut off"
    if not analyses:
        return None
    if analyses > 1:
        flaw = Status.UNPARSED, "several analyses"
    return replace(_scored(tuple(errors), None, None, weights, flaw), rule="json")


def _entries(item: Record | list) -> list[Any] | None:
    """What a list of errors, or {"errors": ...}, holds; None for other JSON."""
    if isinstance(item, list):
        return item if any(isinstance(entry, Record) for entry in item) else None
    listed = item.get("errors")
    if isinstance(listed, Record):
        listed = list(listed.values())
    elif isinstance(listed, str) and _NONE.fullmatch(listed):
        listed = []
    counted = any(isinstance(value, float) and value for value in item.values())
    if not isinstance(listed, list) or (counted and not listed):
        return None
    return listed


def _of_json(entry: Any) -> tuple[ErrorItem, ...]:
    """The error that an entry of the list is; none for anything else."""
    fields = []
    for key, value in getattr(entry, "pairs", ()):
        if _kind(str(key)) and isinstance(value, (str, float, bool)):
            text = f"{value:g}" if isinstance(value, float) else str(value)
            fields.append(Field(_kind(str(key)), None, text))
    return _errors(fields)


# --- named policies
def instructscore(text: str | None) -> ErrorAnalysis:
    """The score of an InstructScore report: -5 for a major error, -1 for a minor one.

    Source: Xu et al. 2023, InstructScore, section 3 (weights).
    """
    return error_analysis(text, {"major": 5.0, "minor": 1.0})


def tigerscore_authors(text: str | None) -> ErrorAnalysis:
    """What TIGERScore's decoder makes of an analysis: minus the whole part of the
    announced total, in its own wording alone; all else is as `error_analysis` has it.

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
