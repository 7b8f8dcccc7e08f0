"""TIGERScore's published decoder as a named policy: the announced total, read as an integer."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from nlgeval_lib.parsers.error_analysis import ErrorAnalysis, error_analysis
from nlgeval_lib.records import Status

_COUNT = re.compile(r"The model-generated output contains (\d+) errors")
_TOTAL = re.compile(r", with a total score reduction of (\d+)")
_LABELS = ("Error location", "Error aspect", "Explanation", "Severity")
_ON_ONE_LINE = {name: re.compile(rf"{name} \d+:([^\n]*)\n") for name in _LABELS}
_REDUCTION = re.compile(r"\nScore reduction \d+:[ \n]*\d")


def tigerscore_authors(text: str | None) -> ErrorAnalysis:
    """What the published decoder makes of an analysis: minus the whole part of the announced total (4.5 becomes 4).

    Missing where the header has another wording, where a field's content is not on its label's line, or where the
    five fields are not equally many. `errors`, `header_errors` and `header_total` are those of `error_analysis`.
    Raises: TypeError where `text` is neither str nor None.
    Source: TIGERScore, repository TIGER-AI-Lab/TIGERScore, tigerscore/scorer.
    """
    ours = error_analysis(text)
    if text is None or ours.status is Status.EMPTY:
        return ours
    count, total = _COUNT.search(text), _TOTAL.search(text)
    if count is None or total is None:
        return _missing(ours, "the header is not in the decoder's wording")
    contents = {name: pattern.findall(text) for name, pattern in _ON_ONE_LINE.items()}
    if any(not content.strip(" ") for found in contents.values() for content in found):
        return _missing(ours, "a field's content is not on its label's line")
    counts = {len(found) for found in contents.values()} | {len(_REDUCTION.findall(text))}
    if len(counts) > 1:
        return _missing(ours, "the fields are not equally many")
    value = 0.0 - float(total.group(1))
    return replace(ours, value=value, status=Status.OK, reason="", rule="authors")


def _missing(ours: ErrorAnalysis, reason: str) -> ErrorAnalysis:
    return replace(ours, value=math.nan, status=Status.UNPARSED, reason=reason, rule="authors")
