"""One MetricInstruct example in the making, an output with the errors that the teacher found or put in; the rules.

The paper says what it filters and not by which thresholds: these are arguments here. Its share of removed items, about
35 % by the heuristics and then 15 % by the check of reasonableness, is one of its teacher, not of these rules.
Source: TIGERScore, sections 3.2 and 3.3.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nlgeval_lib import prompts
from nlgeval_lib.engines import Request
from nlgeval_lib.evaluators.tigerscore import TigerScore, find_task
from nlgeval_lib.parsers.errors import LABEL, ErrorItem, error_analysis
from nlgeval_lib.records import Completion, Judgment, Sample
from nlgeval_lib.training.pipeline import Piece, Rule, Unreadable, answered, lacking, unique

LEAST, MOST = 0.5, 5.0  # of a penalty; source: TIGERScore, section 2.2
_OUTPUT = re.compile(r"^[>*#\- \t]*generated incorrect (?:output|response)[*_]*\s*:[*_]*[ \t]*", re.I | re.M)
_QUOTED = re.compile(r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|(?<!\w)'[^'\n]{0,400}'(?!\w)|`[^`\n]{0,400}`")
_KIND = (
    "(?:outputs?|translations?|summar(?:y|ies)|texts?|answers?|solutions?|responses?|sentences?|information|version)"
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


@dataclass(frozen=True, slots=True)
class Candidate(Piece):
    """An instruction, its input and reference, an output, and its errors.

    channel: `real` (a system's output) or `synthetic` (written by the teacher). template: the prompt it comes from.
    asked: the aspects that a synthetic output was to err in, empty where the teacher chose them (`free`).
    """

    id: str
    channel: str
    template: str
    task: str
    dataset: str
    system_id: str
    instruction: str
    input: str
    reference: str
    output: str = ""
    errors: tuple[ErrorItem, ...] = ()
    asked: tuple[str, ...] = ()
    free: bool = False

    @property
    def group(self) -> str:
        """The part of the data, for counts: channel and task."""
        return f"{self.channel} {self.task}"

    @property
    def score(self) -> float:
        """Minus the sum of the errors' penalties."""
        return 0.0 - sum(error.reduction for error in self.errors)

    def sample(self) -> Sample:
        """The candidate as evaluators take it, with its analysis."""
        extra = {"analysis": analysis(self.errors)}
        return Sample(self.id, self.output, self.instruction, self.input, references=(self.reference,), extra=extra)

    def example(self) -> dict[str, Any]:
        """The example as a set keeps it: `prompt`, `completion`, and where they come from.

        Source: TIGERScore, Table 9 (what the fine-tuned model is asked).
        """
        known = {name: value for name, value in self.content().items() if name not in ("id", "asked", "free")}
        texts = {"prompt": TigerScore().render(self.sample()), "completion": analysis(self.errors)}
        return {"id": self.id, **texts, **known, "n_errors": len(self.errors), "score": self.score}

    def content(self) -> dict[str, Any]:
        """All that is known of a candidate, which may have no output."""
        known = dataclasses.asdict(self)
        for error in known["errors"]:
            del error["number"]
        return {name: value for name, value in known.items() if name not in ("failure", "problem")}


def analysis(errors: Sequence[ErrorItem]) -> str:
    """The errors as TIGERScore writes them: a line that counts them, then five labelled lines an error.

    `parsers.error_analysis` reads it back. Line breaks inside a field become blanks, as a label begins a line.
    Source: TIGERScore, Table 23 and the authors' published outputs.
    """
    total = sum(error.reduction for error in errors)
    lines = [f"The model-generated output contains {len(errors)} errors, with a total score reduction of {total:g}."]
    for number, error in enumerate(errors, start=1):
        location, aspect, why = (" ".join(text.split()) for text in (error.location, error.aspect, error.explanation))
        lines += [
            f"Error location {number}: {location}",
            f"Error aspect {number}: {aspect}",
            f"Explanation {number}: {why}",
            f"Severity {number}: {error.severity}",
            f"Score reduction {number}: {error.reduction:g}",
        ]
    return "\n".join(lines)


# -- what the teacher is asked and what it wrote ---------------------------------------------------------------------


def read_analysis(candidate: Candidate, completion: Completion) -> dict[str, Any]:
    """The errors of the JSON that the teacher wrote. Raises: Unreadable."""
    found = error_analysis(completion.text)
    if not found.ok or found.rule != "json":
        raise Unreadable(found.reason or f"read as {found.rule!r}, not as JSON")
    return {"errors": _named(found.errors, candidate)}


def spoiling(candidate: Candidate, most_errors: int = 3) -> Request:
    """What is asked for a spoiled output: with errors of `asked`, or of aspects that the teacher names itself.

    The form of the list of errors is ours; the paper does not print it.
    Source: TIGERScore, Table 18; Table 19 (free aspects).
    """
    given: dict[str, Any] = {"instruction": candidate.instruction, "input": candidate.input}
    given |= {"output": candidate.reference, "num_errors": most_errors}
    template = "tigerscore/synthetic_free_aspects"
    if not candidate.free:
        aspects = find_task(candidate.task).aspects
        wanted = [f"{n}. An error of {name}: {aspects[name]}" for n, name in enumerate(candidate.asked, start=1)]
        given = {"generation_instruction": candidate.instruction, "input_context": candidate.input}
        given |= {"reference_output": candidate.reference, "error_requirements": "\n".join(wanted)}
        template = "tigerscore/synthetic_errors"
    return Request.chat(prompts.render(template, **given), id=candidate.id)


def read_spoiled(candidate: Candidate, completion: Completion) -> dict[str, Any]:
    """The output, without a fence or quotation marks around all of it, and the errors. Raises: Unreadable."""
    text = completion.text.replace("\r\n", "\n")
    head = _OUTPUT.search(text)
    if head is None:
        raise Unreadable("no line 'Generated incorrect output:'")
    rest = f"\n{text[head.end() :]}"
    first = LABEL.search(rest)
    if first is None:
        raise Unreadable("no error is listed after the output")
    output, found = rest[: first.start()].strip(), error_analysis(rest[first.start() :])
    if inside := re.fullmatch(r"```[a-z]*\n(.*?)\n?```", output, re.S) or re.fullmatch(r'"([^"]*)"', output):
        output = inside.group(1).strip()
    if not found.ok or not found.errors:
        raise Unreadable(found.reason or "no error is listed after the output", output=output)
    return {"output": output, "errors": _named(found.errors, candidate)}


def _named(errors: Sequence[ErrorItem], candidate: Candidate) -> tuple[ErrorItem, ...]:
    """The errors with aspects as the paper spells them, where they are of the task."""
    if candidate.free:
        return tuple(errors)
    task = find_task(candidate.task)
    return tuple(replace(error, aspect=task.aspect(error.aspect) or error.aspect) for error in errors)


# -- rules -------------------------------------------------------------------------------------------------------------


def tokens(text: str) -> int:
    """A rough count of tokens without a tokenizer: four characters each."""
    return -(-len(text) // 4)


def input_rules() -> list[Rule]:
    """What is removed before anything is asked."""

    def empty(candidate: Candidate) -> str:
        given = ["output"] if candidate.channel == "real" else []
        return lacking(candidate, "instruction", "reference", *given, said="no {}")

    return [Rule("empty_input", "instruction, reference or system output is empty", empty, "ours")]


def heuristic_rules(
    *, minor_most: float = 2.0, major_least: float = 1.0, max_output: int = 1024, max_analysis: int = 1024
) -> list[Rule]:
    """The rules that need no model, in order.

    minor_most, major_least: the largest penalty of a minor and the smallest of a major error (of 835 errors in the
    authors' published outputs, two minor ones are above and no major one is below the defaults). max_output,
    max_analysis: most tokens of the output and of the analysis, as `tokens` counts.
    Raises: ValueError where a limit is not above 0.
    """
    for name, limit in (("max_output", max_output), ("max_analysis", max_analysis), ("minor_most", minor_most)):
        if not limit > 0:
            raise ValueError(f"{name}={limit!r}; a number above 0 is needed")
    limits = {"Minor": (LEAST, minor_most), "Major": (major_least, MOST)}

    def unfit(error: ErrorItem, _: Candidate) -> str:
        said = f": {error.severity or 'no severity'} with a penalty of {error.reduction:g}"
        if error.severity not in limits or not LEAST <= error.reduction <= MOST:
            return said
        low, high = limits[error.severity]
        beyond = f", above {high:g}" if error.reduction > high else f", below {low:g}"
        return "" if low <= error.reduction <= high else said + beyond

    def severities(candidate: Candidate) -> str:
        minor, major = ([e.reduction for e in candidate.errors if e.severity == severity] for severity in limits)
        swapped = minor and major and max(minor) > min(major)
        said = f"a minor error weighs {max(minor):g}, a major one {min(major):g}" if swapped else ""
        return _first(unfit)(candidate) or said

    def long(candidate: Candidate) -> str:
        written = {"output": candidate.output, "analysis": analysis(candidate.errors)}
        for (what, text), limit in zip(written.items(), (max_output, max_analysis), strict=True):
            if tokens(text) > limit:
                return f"{what} of {tokens(text):,} tokens, above {limit:,}"
        return ""

    def key(candidate: Candidate) -> tuple[str, ...]:
        return candidate.task, *map(_flat, (candidate.instruction, candidate.input, candidate.output))

    return [
        *answered("the analysis is not the JSON, or not the layout, that was asked for", "paper"),
        Rule("empty_field", "an error without location, aspect or explanation, or an empty output", _empty, "ours"),
        Rule("severity", "severity and penalty do not fit each other, or are none of the scale", severities),
        Rule("aspect", "an error of an aspect that the task does not have", _aspects, "ours"),
        Rule("location", "an error's location is not in the output", _first(_nowhere)),
        Rule("repeated", "the same error twice in one analysis", _repeated, "ours"),
        Rule("over_long", "output or analysis is longer than the limit", long),
        Rule("reference", "an explanation leans on the reference", _first(_leaning)),
        Rule("unchanged", "a synthetic output that is its reference", _unchanged, "ours"),
        Rule("unreadable", "the analysis as it would be written cannot be read back", _unreadable, "ours"),
        unique(key, "the same output of one input"),
    ]


def check_rules(verdicts: Mapping[str, Judgment]) -> list[Rule]:
    """What the second question to the teacher removes; verdicts: by a candidate's id, 1 for reasonable, 0 for not."""
    unread = {id: "" if said.value in (0, 1) else said.reason or said.status.value for id, said in verdicts.items()}
    no = {id: "the teacher says no" if said.value == 0 else "" for id, said in verdicts.items()}
    says = "whether the analysis is reasonable could not be had or read"
    return [
        Rule("unchecked", says, lambda one: unread[one.id], "ours"),
        Rule("unreasonable", "the teacher calls the analysis unreasonable (Table 20)", lambda one: no[one.id]),
    ]


def _first(wrong: Callable[[ErrorItem, Candidate], str]) -> Callable[[Candidate], str]:
    """What is wrong with the first error that something is wrong with."""

    def why(candidate: Candidate) -> str:
        said = ((number, wrong(error, candidate)) for number, error in enumerate(candidate.errors, start=1))
        return next((f"error {number}{what}" for number, what in said if what), "")

    return why


def _empty(candidate: Candidate) -> str:
    if not candidate.output.strip():
        return "the output is empty"
    return _first(lambda error, _: lacking(error, "location", "aspect", "explanation", said=" has no {}"))(candidate)


def _aspects(candidate: Candidate) -> str:
    task = find_task(candidate.task)
    wrong = [] if candidate.free else [error.aspect for error in candidate.errors if not task.aspect(error.aspect)]
    return f"{wrong[0][:60]!r} is no aspect of {task.label}" if wrong else ""


def _nowhere(error: ErrorItem, candidate: Candidate) -> str:
    return "" if located(error.location, candidate.output) else f": {error.location[:60]!r} is not in the output"


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
        place, aspect = _flat(error.location.strip().strip(_MARKS)), _flat(error.aspect)
        seen[place, aspect] += 1
        if seen[place, aspect] > max(1, text.count(place) if place else 1):  # what is said three times is wrong twice
            return f"error {number} has the location and the aspect of an earlier one"
    return ""


def _leaning(error: ErrorItem, _: Candidate) -> str:
    found = _REFERENCE.search(_QUOTED.sub(" ", error.explanation))  # quotations do not count
    return f": {found.group()!r}" if found else ""


def _unchanged(candidate: Candidate) -> str:
    same = candidate.channel == "synthetic" and _flat(candidate.output) == _flat(candidate.reference)
    return "the output is the reference" if same else ""


def _unreadable(candidate: Candidate) -> str:
    read = error_analysis(analysis(candidate.errors))
    same = len(read.errors) == len(candidate.errors) and math.isclose(read.value, candidate.score, abs_tol=1e-6)
    if read.ok and same:
        return ""
    return read.reason or f"read back with {len(read.errors)} errors and a score of {read.value:g}"


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())
