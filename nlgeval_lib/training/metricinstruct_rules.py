"""The filters of MetricInstruct: those that the paper names, and what any set needs, each apart and counted.

The paper says what it filters and not by which thresholds: these are arguments here. Its share of removed items, about
35 % by the heuristics and then 15 % by the check of reasonableness, is one of its teacher, not of these rules.
Source: TIGERScore, section 3.3.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping

from nlgeval_lib.evaluators.tigerscore import find_task
from nlgeval_lib.parsers.errors import error_analysis
from nlgeval_lib.records import Judgment
from nlgeval_lib.training.filters import Rule, answered, lacking, unique
from nlgeval_lib.training.metricinstruct_candidates import Candidate, analysis

LEAST, MOST = 0.5, 5.0  # of a penalty; source: TIGERScore, section 2.2
_QUOTED = re.compile(r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|(?<!\w)'[^'\n]{0,400}'(?!\w)|`[^`\n]{0,400}`")
_KIND = (
    r"(?:outputs?|translations?|summar(?:y|ies)|texts?|answers?|solutions?|responses?|sentences?"
    r"|information|version)"
)
_REFERENCE = re.compile(
    rf"\breference\s+{_KIND}\b"
    r"|\b(?:the|a|an|this|given|provided|gold|correct|original)\s+references?\b(?!\s+(?:to|of|for|frame|frames|book|list|point)\b)"
    r"|\baccording\s+to\s+(?:the\s+)?references?\b"
    rf"|\bground[\s-]?truth\b|\bgold(?:en)?[\s-](?:standard|{_KIND}|references?)\b",
    re.I,
)
_ELLIPSIS = re.compile(r"\s*(?:\.\.\.|…|\[\.\.\.\])\s*")
_MARKS = "\"'“”‘’`«»"


def tokens(text: str) -> int:
    """A rough count of tokens without a tokenizer: four characters each."""
    return -(-len(text) // 4)


def input_rules() -> list[Rule]:
    """What is removed before anything is asked."""

    def empty(candidate: Candidate) -> str:
        real = candidate.channel == "real"
        missing = lacking(candidate, "instruction", "reference", *(["output"] if real else []))
        return f"no {missing}" if missing else ""

    return [Rule("empty_input", "instruction, reference or system output is empty", empty, "ours")]


def heuristic_rules(
    *,
    minor_most: float = 2.0,
    major_least: float = 1.0,
    max_output: int = 1024,
    max_analysis: int = 1024,
    count: Callable[[str], int] = tokens,
) -> list[Rule]:
    """The rules that need no model, in order.

    minor_most, major_least: the largest penalty of a minor and the smallest of a major error (of 835 errors in the
    authors' published outputs, two minor ones are above and no major one is below the defaults). max_output,
    max_analysis: most tokens of the output and of the analysis, by `count`.
    Raises: ValueError where a limit is not above 0.
    """
    for name, limit in (("max_output", max_output), ("max_analysis", max_analysis), ("minor_most", minor_most)):
        if not limit > 0:
            raise ValueError(f"{name}={limit!r}; a number above 0 is needed")
    limits = {"Minor": (LEAST, minor_most), "Major": (major_least, MOST)}

    def severities(candidate: Candidate) -> str:
        for number, error in enumerate(candidate.errors, start=1):
            said = f"error {number}: {error.severity or 'no severity'} with a penalty of {error.reduction:g}"
            if error.severity not in limits or not LEAST <= error.reduction <= MOST:
                return said
            low, high = limits[error.severity]
            if not low <= error.reduction <= high:
                return f"{said}, above {high:g}" if error.reduction > high else f"{said}, below {low:g}"
        minor, major = (
            [error.reduction for error in candidate.errors if error.severity == severity] for severity in limits
        )
        if minor and major and max(minor) > min(major):
            return f"a minor error weighs {max(minor):g}, a major one {min(major):g}"
        return ""

    def long(candidate: Candidate) -> str:
        parts = (("output", candidate.output, max_output), ("analysis", analysis(candidate.errors), max_analysis))
        for what, text, limit in parts:
            if (found := count(text)) > limit:
                return f"{what} of {found:,} tokens, above {limit:,}"
        return ""

    def key(candidate: Candidate) -> tuple[str, ...]:
        return candidate.task, *map(_flat, (candidate.instruction, candidate.input, candidate.output))

    return [
        *answered("the analysis is not the JSON, or not the layout, that was asked for", "paper"),
        Rule("empty_field", "an error without location, aspect or explanation, or an empty output", _empty, "ours"),
        Rule("severity", "severity and penalty do not fit each other, or are none of the scale", severities),
        Rule("aspect", "an error of an aspect that the task does not have", _aspects, "ours"),
        Rule("location", "an error's location is not in the output", _locations),
        Rule("repeated", "the same error twice in one analysis", _repeated, "ours"),
        Rule("over_long", "output or analysis is longer than the limit", long),
        Rule("reference", "an explanation leans on the reference", _leaning),
        Rule("unchanged", "a synthetic output that is its reference", _unchanged, "ours"),
        Rule("unreadable", "the analysis as it would be written cannot be read back", _unreadable, "ours"),
        unique(key, "the same output of one input"),
    ]


def check_rules(verdicts: Mapping[str, Judgment]) -> list[Rule]:
    """What the second question to the teacher removes; verdicts: by a candidate's id, 1 for reasonable, 0 for not."""

    def unread(candidate: Candidate) -> str:
        said = verdicts[candidate.id]
        return "" if said.value in (0, 1) else said.reason or said.status.value

    def unreasonable(candidate: Candidate) -> str:
        return "the teacher says no" if verdicts[candidate.id].value == 0 else ""

    return [
        Rule("unchecked", "whether the analysis is reasonable could not be had or read", unread, "ours"),
        Rule("unreasonable", "the teacher calls the analysis unreasonable (Table 20)", unreasonable),
    ]


# -- one rule each ---------------------------------------------------------------------------------------------------


def _empty(candidate: Candidate) -> str:
    if not candidate.output.strip():
        return "the output is empty"
    for number, error in enumerate(candidate.errors, start=1):
        if missing := lacking(error, "location", "aspect", "explanation"):
            return f"error {number} has no {missing}"
    return ""


def _aspects(candidate: Candidate) -> str:
    task = find_task(candidate.task)
    wrong = [] if candidate.free else [error.aspect for error in candidate.errors if not task.aspect(error.aspect)]
    return f"{wrong[0][:60]!r} is no aspect of {task.label}" if wrong else ""


def _locations(candidate: Candidate) -> str:
    for number, error in enumerate(candidate.errors, start=1):
        if not located(error.location, candidate.output):
            return f"error {number}: {error.location[:60]!r} is not in the output"
    return ""


def located(location: str, output: str) -> bool:
    """Whether a location is a part of the output, quotation marks around it and white space apart.

    Where it leaves something out ("..."), its parts must follow each other in the output.
    """
    text = _flat(output)
    for given in (location, location.strip().strip(_MARKS)):
        parts = [_flat(given)] if _flat(given) in text else list(filter(None, map(_flat, _ELLIPSIS.split(given))))
        if any(parts) and re.search(".*?".join(map(re.escape, parts)), text, re.S):
            return True
    return False


def _repeated(candidate: Candidate) -> str:
    seen: Counter[tuple[str, str]] = Counter()
    text = _flat(candidate.output)
    for number, error in enumerate(candidate.errors, start=1):
        place = _flat(error.location.strip().strip(_MARKS))
        key = (place, _flat(error.aspect))
        seen[key] += 1
        if seen[key] > max(1, text.count(place) if place else 1):  # a sentence said three times is wrong twice
            return f"error {number} has the location and the aspect of an earlier one"
    return ""


def _leaning(candidate: Candidate) -> str:
    for number, error in enumerate(candidate.errors, start=1):
        if found := _REFERENCE.search(_QUOTED.sub(" ", error.explanation)):  # quotations do not count
            return f"error {number}: {found.group()!r}"
    return ""


def _unchanged(candidate: Candidate) -> str:
    same = candidate.channel == "synthetic" and _flat(candidate.output) == _flat(candidate.reference)
    return "the output is the reference" if same else ""


def _unreadable(candidate: Candidate) -> str:
    read = error_analysis(analysis(candidate.errors))
    total = 0.0 - sum(error.reduction for error in candidate.errors)
    if read.ok and len(read.errors) == len(candidate.errors) and math.isclose(read.value, total, abs_tol=1e-6):
        return ""
    return read.reason or f"read back with {len(read.errors)} errors and a score of {read.value:g}"


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())
