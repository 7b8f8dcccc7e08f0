"""The filters of MetricInstruct: those that the paper names, and what any set needs, each apart and counted.

The paper says what it filters and not by which thresholds: these are arguments here. Its share of removed items, about
35 % by the heuristics and then 15 % by the check of reasonableness, is one of its teacher, not of these rules.
Source: TIGERScore, section 3.3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from nlgeval_lib.evaluators.tigerscore import find_task
from nlgeval_lib.parsers.error_analysis import error_analysis
from nlgeval_lib.training.metricinstruct.candidate import Candidate, analysis
from nlgeval_lib.training.sieve import Rule, unique

SEVERITIES = ("Major", "Minor")
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
        needed = ("instruction", "reference", *(("output",) if candidate.channel == "real" else ()))
        lacking = [name for name in needed if not getattr(candidate, name).strip()]
        return f"no {', '.join(lacking)}" if lacking else ""

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

    def severities(candidate: Candidate) -> str:
        for number, error in enumerate(candidate.errors, start=1):
            said = f"error {number}: {error.severity or 'no severity'} with a penalty of {error.reduction:g}"
            if error.severity not in SEVERITIES or not LEAST <= error.reduction <= MOST:
                return said
            if error.severity == "Minor" and error.reduction > minor_most:
                return f"{said}, above {minor_most:g}"
            if error.severity == "Major" and error.reduction < major_least:
                return f"{said}, below {major_least:g}"
        minor = [error.reduction for error in candidate.errors if error.severity == "Minor"]
        major = [error.reduction for error in candidate.errors if error.severity == "Major"]
        if minor and major and max(minor) > min(major):
            return f"a minor error weighs {max(minor):g}, a major one {min(major):g}"
        return ""

    def long(candidate: Candidate) -> str:
        for what, text, limit in (
            ("output", candidate.output, max_output),
            ("analysis", analysis(candidate.errors), max_analysis),
        ):
            if (found := count(text)) > limit:
                return f"{what} of {found:,} tokens, above {limit:,}"
        return ""

    return [
        Rule("failed", "the teacher gave no completion; asked again next time", lambda c: c.failure, "ours"),
        Rule("malformed", "the analysis is not the JSON, or not the layout, that was asked for", lambda c: c.problem),
        Rule("empty_field", "an error without location, aspect or explanation, or an empty output", _empty, "ours"),
        Rule("severity", "severity and penalty do not fit each other, or are none of the scale", severities),
        Rule("aspect", "an error of an aspect that the task does not have", _aspects, "ours"),
        Rule("location", "an error's location is not in the output", _locations),
        Rule("repeated", "the same error twice in one analysis", _repeated, "ours"),
        Rule("over_long", "output or analysis is longer than the limit", long),
        Rule("reference", "an explanation leans on the reference", _leaning),
        Rule("unchanged", "a synthetic output that is its reference", _unchanged, "ours"),
        Rule("unreadable", "the analysis as it would be written cannot be read back", _unreadable, "ours"),
        unique(
            lambda c: (c.task, _flat(c.instruction), _flat(c.input), _flat(c.output)), "the same output of one input"
        ),
    ]


def check_rules(verdict: Callable[[Candidate], str]) -> list[Rule]:
    """What the second question to the teacher removes; verdict: `yes`, `no`, or why there is neither."""

    def unread(candidate: Candidate) -> str:
        said = verdict(candidate)
        return "" if said in ("yes", "no") else said

    return [
        Rule("unchecked", "whether the analysis is reasonable could not be had or read", unread, "ours"),
        Rule(
            "unreasonable",
            "the teacher calls the analysis unreasonable (Table 20)",
            lambda c: "the teacher says no" if verdict(c) == "no" else "",
        ),
    ]


# -- one rule each ---------------------------------------------------------------------------------------------------


def _empty(candidate: Candidate) -> str:
    if not candidate.output.strip():
        return "the output is empty"
    for number, error in enumerate(candidate.errors, start=1):
        lacking = [name for name in ("location", "aspect", "explanation") if not getattr(error, name).strip()]
        if lacking:
            return f"error {number} has no {', '.join(lacking)}"
    return ""


def _aspects(candidate: Candidate) -> str:
    if candidate.free:
        return ""
    task = find_task(candidate.task)
    wrong = [error.aspect for error in candidate.errors if not task.aspect(error.aspect)]
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
        parts = [_flat(part) for part in _ELLIPSIS.split(given)] if _flat(given) not in text else [_flat(given)]
        at = 0
        parts = [part for part in parts if part]
        for part in parts:
            found = text.find(part, at)
            if found < 0:
                break
            at = found + len(part)
        else:
            if parts:
                return True
    return False


def _repeated(candidate: Candidate) -> str:
    seen: dict[tuple[str, str], int] = {}
    text = _flat(candidate.output)
    for number, error in enumerate(candidate.errors, start=1):
        place = _flat(error.location.strip().strip(_MARKS))
        key = (place, _flat(error.aspect))
        seen[key] = seen.get(key, 0) + 1
        if seen[key] > max(1, text.count(place) if place else 1):  # a sentence said three times is wrong twice
            return f"error {number} has the location and the aspect of an earlier one"
    return ""


def _leaning(candidate: Candidate) -> str:
    for number, error in enumerate(candidate.errors, start=1):
        if found := leans(error.explanation):
            return f"error {number}: {found!r}"
    return ""


def leans(explanation: str) -> str:
    """The words by which an explanation names the reference, empty where it names none; quotations do not count."""
    found = _REFERENCE.search(_QUOTED.sub(" ", explanation))
    return found.group() if found else ""


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
