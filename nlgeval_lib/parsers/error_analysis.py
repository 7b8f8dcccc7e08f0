"""Error analyses: TIGERScore's listed errors, their penalties and the total that its header announces."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nlgeval_lib.parsers import silence
from nlgeval_lib.parsers.base import Parsed, check_text, number
from nlgeval_lib.parsers.error_fields import ErrorItem, drafts, from_record, labels
from nlgeval_lib.parsers.error_layouts import analyses, as_lines
from nlgeval_lib.parsers.loose_json import Record, objects
from nlgeval_lib.parsers.quick import AnyCase, any_case, has_any, starting
from nlgeval_lib.parsers.text import DIGITS, WORD, clipped, number_of, readable
from nlgeval_lib.records import Status

# Freitag et al. 2021, without their special weights for non-translations and for punctuation
MQM = {"major": 5.0, "minor": 1.0, "neutral": 0.0}


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
    def consistent(self) -> bool | None:
        """Whether the errors agree with the header in number and sum; None without a header or a score."""
        if not self.ok or (self.header_errors is None and self.header_total is None):
            return None
        same_number = self.header_errors is None or self.header_errors == len(self.errors)
        return same_number and (
            self.header_total is None or math.isclose(self.header_total, 0.0 - self.value, abs_tol=1e-9)
        )

    @property
    def agrees(self) -> bool | None:
        """The same as `consistent`."""
        return self.consistent

    @property
    def out_of_range(self) -> int:
        """How many stated reductions lie outside .5 to 5."""
        return sum(not error.in_range for error in self.errors if not math.isnan(error.reduction))


# where a repeated prompt ends: TIGERScore's, InstructScore's
_ASKED = re.compile(
    r"your evaluation output[ \t]*:|please identify all errors[^\n]{0,2000}?but will be noticed\.", re.I
)
_ASKED_WORDS = ("your evaluation output", "please identify all errors")
_COUNT = AnyCase(
    rf"(?:{starting('contain', 'contains', 'has', 'have', 'identified', 'found')}|there(?<!\wthere)\s+(?:is|are))\s+"
    rf"(?:a\s+total\s+of\s+)?(?P<count>\d{{1,4}}|no|{WORD})\s+errors?\b"
    rf"|{starting('total', 'number of')}\s+errors\s*:\s*(?P<count2>\d{{1,4}})"
)
_TOTAL = AnyCase(
    rf"{starting('total')}\s+(?:score\s+)?(?:reduction|deduction|penalty)\s*(?:of|is|:|=)?\s*(?P<sign>-?)\s*(?P<total>{DIGITS})(?![\w%])"
)
_NO_ERRORS = re.compile(
    r"(?:\b(?:no|zero|0)\s+(?:apparent\s+|identifiable\s+|identified\s+)?errors?\b"
    r"|(?:\bnot|n't)\s+(?:contain|have|find|identify|detect|include|see|any)[^.\n]{0,20}?\b(?:any\s+)?errors?\b"
    r"|\bwithout\s+(?:any\s+)?errors?\b|\berror-free\b|\bfree\s+(?:of|from)\s+(?:any\s+)?errors?\b)"
    r"(?!\s+(?:in|of|with|regarding|related|on)\s+(?!(?:the|this|your)\s+(?:model|output|response|summary|translation|text|generation|answer)"
    r"|an?\s+(?:total\s+)?(?:score\s+)?(?:reduction|total)))",
    re.I,
)
# "Errors: none"
_NONE_LISTED = re.compile(
    r"^[\s*#-]{0,9}(?:number of )?errors?(?: found| identified| detected)?[*\s]{0,4}[:=][*\s]{0,4}(?:none|no|zero|0)\b"
    r"(?![.,]\d)(?=[^\w\n]*(?:\n|\Z))",
    re.I | re.M,
)
_NO_ERRORS_OF = re.compile(r"\b(?:no|zero|0)\s+errors?\s+(?:in|of|with|regarding|related|on)\b", re.I)
# "I am not sure that there are no errors", "The source contains no errors"
_DENIED = re.compile(
    r"(?:\b(?:almost|nearly|virtually|practically|next to|close to|barely)(?: has| have| contains?)?"
    r"|(?:\b(?:not|never|doubt\w*|unsure|unlikely|untrue|false|hardly|wish|claim\w*|say\w*|whether)|n't)\b[^.!?,;\n]{0,60}"
    r"|\b(?:source|reference|original|input|instruction|prompt|question|article)"
    r"(?: (?:text|article|sentence|output|answer|translation|summary))?\s+(?:contains?|has|have|is|shows?))\s*\Z",
    re.I,
)
_RESERVE = re.compile(
    r"\b(?:but|however|except|although|though|nevertheless|major|minor|significant|serious|few|some|one|if|unless|improv\w+|better)\b",
    re.I,
)
_LONG = 600
_AMOUNT_WORD = "eduction"  # a score reduction, a deduction


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
    body = _lines(content)
    low = any_case(body)
    for asked in _ASKED.finditer(body) if has_any(low, _ASKED_WORDS) else ():
        body = body[asked.end() :] if asked.end() < len(body) else body
    found = _json(body, weights) if "{" in body or "[" in body else None
    if found is not None:
        return found
    read = _listed(body, weights, "total" in low)
    parts = analyses(body) if read.header_total is not None else ()
    if len(parts) > 1:
        several = [_listed(part, weights) for part in parts]
        if len({read.value for read in several}) > 1 or not several[0].ok:
            return ErrorAnalysis(math.nan, Status.UNPARSED, "several analyses that differ", "listed", several[0].errors)
        return several[0]
    if not read.ok and _AMOUNT_WORD in body and all([math.isnan(_amount(error, weights)) for error in read.errors]):
        other = as_lines(body)  # the amounts may stand in a table or inside the lines
        again = _listed(other, weights) if other != body else read
        return again if again.ok or again.errors else read
    return read


def _lines(content: str) -> str:
    """The text with plain line ends; errors quote the judged text, so nothing else of it changes."""
    content = clipped(content)
    if "\r" in content:
        content = content.replace("\r\n", "\n").replace("\r", "\n")
    return content.replace("\\n", "\n") if "\n" not in content else content


def _listed(body: str, weights: Mapping[str, float] | None, may_total: bool = True) -> ErrorAnalysis:
    places = labels(body)
    first = places[0][0] if places and places[0][2] else next((start for start, _, kind, _ in places if kind), None)
    head = readable(body[:first])
    count, total = _announced(head), _announced_total(head)
    if total is None and (may_total or not body.isascii()):
        total = _announced_total(readable(body))
    errors = tuple(draft.item() for draft in drafts(body, places)) if first is not None else ()
    if errors and not (count == 0 and all(_only_words(error) for error in errors)):
        return _summed(errors, count, total, weights, "listed", body)
    return _unlisted(body, count, total)


def _only_words(error: ErrorItem) -> bool:
    """Whether an "error" is an explanation and nothing else: why there is none."""
    return not (error.location or error.severity or error.aspect) and math.isnan(error.reduction)


def _announced(head: str) -> int | None:
    """How many errors a header announces."""
    count = None
    for match in _COUNT.finditer(head):
        word = (match["count"] or match["count2"]).lower()
        value = 0.0 if word == "no" else number_of(word)
        count = None if value is None else int(value)
    return count


def _announced_total(text: str) -> float | None:
    """The total reduction that a readable text announces."""
    total = None
    for match in _TOTAL.finditer(text):
        total = number_of(match["total"])
    return total


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
    amounts = [error.reduction if weights is None else _amount(error, weights) for error in errors]
    open_ones = [place for place, amount in enumerate(amounts, 1) if math.isnan(amount)]
    what = "severity" if weights is not None else "score reduction"
    if count is not None and len(errors) < count:
        return missing(Status.TRUNCATED, f"{count} errors are announced, {len(errors)} are listed")
    if open_ones == [len(errors)] and not _stated(errors[-1], weights):
        return missing(Status.TRUNCATED, f"the last error has no {what}")
    if open_ones:
        return missing(Status.UNPARSED, f"no {what} can be read for error {', '.join(map(str, open_ones[:6]))}")
    if not all([error.complete for error in errors]):
        return missing(Status.UNPARSED, "an error has a score reduction and nothing else")
    value = 0.0 - math.fsum(amounts)
    if (
        weights is None
        and body.rstrip().endswith(".")
        and _ends_in_number(body)
        and total is not None
        and total != -value
    ):
        return missing(Status.TRUNCATED, "the text ends in the middle of the last score reduction")
    return ErrorAnalysis(value, Status.OK, "", rule, errors, count, total)


def _amount(error: ErrorItem, weights: Mapping[str, float] | None) -> float:
    if weights is None:
        return error.reduction
    return weights.get(error.severity.lower(), math.nan)


def _stated(error: ErrorItem, weights: Mapping[str, float] | None) -> bool:
    """Whether the last error got as far as the field that counts."""
    return bool(error.severity) and weights is not None


def _ends_in_number(body: str) -> bool:
    return re.search(r"\d\.\s*\Z", body) is not None


def _unlisted(body: str, count: int | None, total: float | None) -> ErrorAnalysis:
    """No error is listed: 0.0 where that is said, else missing."""

    def missing(status: Status, reason: str) -> ErrorAnalysis:
        return ErrorAnalysis(math.nan, status, reason, "unlisted", (), count, total)

    if count:
        return missing(Status.TRUNCATED, f"{count} errors are announced, none is listed")
    if count == 0 and total:
        return missing(Status.UNPARSED, f"no errors are announced with a total of {number(total)}")
    said = _NO_ERRORS.search(body) or _NONE_LISTED.search(body)
    if said is not None and _DENIED.search(body, 0, said.start()):
        return missing(Status.UNPARSED, "that there are no errors is denied, doubted or said of another text")
    if said is None and count == 0 and _NO_ERRORS_OF.search(body):
        return missing(Status.UNPARSED, "no errors of one kind are announced")
    if count == 0 or said:
        rest = body if said is None else body[: said.start()] + body[said.end() :]
        if len(body) <= _LONG and not _RESERVE.search(rest):
            return ErrorAnalysis(0.0, Status.OK, "", "no errors", (), 0 if count == 0 else None, total)
        return missing(Status.UNPARSED, "no errors are announced, with reservations")
    status, reason = silence.why(body.lower()) or (Status.UNPARSED, "no error and no statement that there is none")
    return missing(status, reason)


_ERRORS = ("errors", "error_list", "error analysis", "error_analysis")
_COUNTS = ("num_errors", "error_count", "number_of_errors", "total_errors")
_WRAPPERS = ("analysis", "evaluation", "evaluation_output", "result", "results", "output", "response")
_ERROR_KEY = re.compile(r"(?:error)?[ _#-]*\d+")
_NONE_SAID = re.compile(r"\W*(?:none|no errors?)(?: (?:found|detected|identified))?\W*", re.I)


def _json(body: str, weights: Mapping[str, float] | None) -> ErrorAnalysis | None:
    """The analysis in JSON; None where no object of the text is one."""
    items = [item for item, _, _ in objects(body)]
    if len(items) > 1 and all(isinstance(item, Record) and _is_error(item) for item in items):
        items = [items]  # one object an error
    found = [read for item in items if (read := _of_json(item, body, weights)) is not None]
    if len({(number(read.value), read.status) for read in found}) > 1:
        return ErrorAnalysis(math.nan, Status.UNPARSED, "several analyses that differ", "json")
    return found[0] if found else None


def _is_error(item: Record) -> bool:
    return _key(item, _ERRORS) is None and from_record(item) is not None


def _key(item: Record, names: tuple[str, ...]) -> str | None:
    """The key of a record that is one of `names` in any case."""
    keys = {str(key).lower().strip(): key for key in item}
    return next((keys[name] for name in names if name in keys), None)


def _of_json(item: Any, body: str, weights: Mapping[str, float] | None) -> ErrorAnalysis | None:
    listing = item
    if isinstance(item, Record):
        if _key(item, _ERRORS) is None and isinstance(item.get(_key(item, _WRAPPERS)), Record):
            inner = item[_key(item, _WRAPPERS)]
            return None if item.cut and not inner else _of_json(inner, body, weights)
        listing = _listing(item)
    if isinstance(listing, str) and _NONE_SAID.fullmatch(listing):
        listing = []
    if isinstance(listing, Record):
        listing = (
            [listing]
            if from_record(listing) is not None
            else [entry for entry in listing.values() if isinstance(entry, Record)] or (None if listing else [])
        )
    if not isinstance(listing, list) or (listing and not any(isinstance(entry, Record) for entry in listing)):
        return None
    read = [from_record(entry, place) for place, entry in enumerate(listing, 1) if isinstance(entry, Record)]
    errors = tuple(error or ErrorItem() for error in read)
    if (isinstance(item, Record) and item.cut) or any(isinstance(entry, Record) and entry.cut for entry in listing):
        return ErrorAnalysis(math.nan, Status.TRUNCATED, "the JSON is cut off", "json", errors)
    if any(not isinstance(entry, Record) and entry is not None for entry in listing):
        return ErrorAnalysis(math.nan, Status.UNPARSED, "an entry of the JSON list is no error", "json", errors)
    count = item.get(_key(item, _COUNTS)) if isinstance(item, Record) else None
    count = int(count) if isinstance(count, float) and 0.0 <= count < 1e6 else None
    if not errors and count:
        return ErrorAnalysis(math.nan, Status.TRUNCATED, f"{count} errors are announced, none is listed", "json")
    if not errors:
        return None if isinstance(item, list) and body.strip() != "[]" else ErrorAnalysis(0.0, Status.OK, "", "json")
    return _summed(errors, count, None, weights, "json", "")


def _listing(item: Record) -> Any:
    """What a JSON object holds as its errors; None where it holds none."""
    name = _key(item, _ERRORS)
    if name is not None:
        return item[name]
    if from_record(item):
        return item
    keyed = item and all(
        isinstance(value, Record) and _ERROR_KEY.fullmatch(str(key).lower().strip()) for key, value in item.items()
    )
    return list(item.values()) if keyed else None
