"""MetricInstruct, TIGERScore's training set: outputs of systems and spoiled references,
analysed, filtered, counted.

    pipeline = MetricInstruct()
    built = pipeline.build(teacher, store, real=frame, synthetic=inputs, free=free)
    built.save("data/raw/metricinstruct")

A `Candidate` is an output with its errors. In the real channel the output is a
system's, and the teacher analyses it; in the synthetic one the teacher spoils a
reference and names the errors that it put in. Then `heuristic_rules` remove what is not
fit, and `check_rules` what the teacher calls unreasonable. What stays is `Built`.

The paper says what it filters and not by which thresholds: these are ours.
Its share of removed items, about 35 % by the heuristics and then 15 % by the check of
reasonableness, is one of its teacher, not of these rules.
Source: TIGERScore, section 3 and appendices A.1 to A.7.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.engines import Request
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.evaluators.tigerscore import TigerScore, find_task
from nlgeval_lib.parsers.errors import LABEL, ErrorItem, error_analysis
from nlgeval_lib.records import Completion, Judgment, Sample
from reproduction.training import pipeline, statistics
from reproduction.training.analyses import AnalysisCheck, TigerScoreReferenceBased
from reproduction.training.pipeline import (
    Filters,
    Piece,
    Rule,
    Unreadable,
    answered,
    fill,
    missing_fields,
    unique,
)

# The prompts that candidates come from (`Candidate.template`).
TWO_STEP = "two-step"
WITH_ASPECTS = "table_18"
FREE = "table_19"
# Of a penalty; source: TIGERScore, section 2.2.
LEAST = 0.5
MOST = 5.0
# The smallest and the largest penalty of a severity. (Of 835 errors in the authors'
# published outputs, two minor ones are above and no major one is below.)
PENALTIES = {"Minor": (LEAST, 2.0), "Major": (1.0, MOST)}
MOST_TOKENS = 1024  # of an output, and of an analysis
# What the teacher may write, for planning the stages after.
_ANALYSIS = (
    "The output leaves out a detail of the source (minor) and changes a date (major)."
)
_SPOILED = (
    "Generated incorrect output:\nA text.\nError location 1: text\n"
    "Error aspect 1: Accuracy\nExplanation 1: It is wrong.\nSeverity 1: major\n"
    "Score reduction 1: 4"
)
# The line before a spoiled output, with or without Markdown.
_OUTPUT = re.compile(
    r"^[>*#\- \t]*generated incorrect (?:output|response)[*_]*\s*:[*_]*[ \t]*",
    re.I | re.M,
)
# A quotation in an explanation.
_QUOTED = re.compile(
    r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|(?<!\w)'[^'\n]{0,400}'(?!\w)|`[^`\n]{0,400}`"
)
# What a reference may be called, such as "reference translation".
_KIND = (
    "(?:outputs?|translations?|summar(?:y|ies)|texts?|answers?|solutions?|responses?"
    "|sentences?|information|version)"
)
_REFERENCE = re.compile(
    rf"""
    # "reference translation"
    \breference\s+{_KIND}\b
    # "the given reference", and not "a reference to ..." or "the reference book"
    | \b(?:the|a|an|this|given|provided|gold|correct|original)\s+references?\b
      (?!\s+(?:to|of|for|frame|frames|book|list|point)\b)
    | \baccording\s+to\s+(?:the\s+)?references?\b
    # "ground truth", "gold standard"
    | \bground[\s-]?truth\b
    | \bgold(?:en)?[\s-](?:standard|{_KIND}|references?)\b
    """,
    re.I | re.X,
)
# What a location has in the place of words that it leaves out.
_ELLIPSIS = re.compile(r"\s*(?:\.\.\.|…|\[\.\.\.\])\s*")
_MARKS = "\"'“”‘’`«»"


@dataclass(frozen=True, slots=True)
class Candidate(Piece):
    """An instruction, its input and reference, an output, and its errors.

    channel: `real` (a system's output) or `synthetic` (written by the teacher).
    template: the prompt it comes from.
    dataset, system_id: where it comes from; the teacher for a synthetic output.
    errors: what the teacher found or put in.
    asked: the aspects that a synthetic output was to err in; empty where it is `free`.
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
        """The part of the data that it is counted under: channel and task."""
        return f"{self.channel} {self.task}"

    @property
    def score(self) -> float:
        """TIGERScore's score: minus the sum of penalties, 0 for an output without
        errors.
        """
        return 0.0 - sum(error.reduction for error in self.errors)

    def sample(self) -> Sample:
        """The candidate as evaluators take it, with its analysis."""
        return Sample(
            self.id,
            self.output,
            self.instruction,
            self.input,
            references=(self.reference,),
            extra={"analysis": analysis(self.errors)},
        )

    def example(self) -> dict[str, Any]:
        """The example as a set keeps it. Source: TIGERScore, Table 9 (what the
        fine-tuned model is asked).
        """
        content = self.content()
        for name in ("id", "asked", "free"):
            del content[name]
        return {
            "id": self.id,
            "prompt": TigerScore().render(self.sample()),
            "completion": analysis(self.errors),
            **content,
            "n_errors": len(self.errors),
            "score": self.score,
        }

    def content(self) -> dict[str, Any]:
        """The candidate as `removed.jsonl` has it."""
        fields = dataclasses.asdict(self)
        for error in fields["errors"]:
            del error["number"]
        del fields["failure"], fields["problem"]
        return fields


def analysis(errors: Sequence[ErrorItem]) -> str:
    """The errors as TIGERScore writes them: a line that counts them, then five labelled
    lines an error.

    `parsers.error_analysis` reads it back. Line breaks inside a field become blanks, as
    a label begins a line.

    Source: TIGERScore, Table 23 and the authors' published outputs.

    Example:
    >>> analysis([])
    'The model-generated output contains 0 errors, with a total score reduction of 0.'
    """
    total = sum(error.reduction for error in errors)
    lines = [
        f"The model-generated output contains {len(errors)} errors, "
        f"with a total score reduction of {total:g}."
    ]
    for number, error in enumerate(errors, start=1):
        lines += [
            f"Error location {number}: {' '.join(error.location.split())}",
            f"Error aspect {number}: {' '.join(error.aspect.split())}",
            f"Explanation {number}: {' '.join(error.explanation.split())}",
            f"Severity {number}: {error.severity}",
            f"Score reduction {number}: {error.reduction:g}",
        ]
    return "\n".join(lines)


def candidates_of(
    frame: pd.DataFrame | None, channel: str, template: str, teacher: str = ""
) -> list[Candidate]:
    """A candidate for each row of a frame.

    frame: `task`, `instruction`, `source` or `input`, `reference` or `references`; for
    the real channel also `output`. `dataset`, `system_id` and `input_id` are kept; a
    missing text is empty. None: no candidates.
    channel: `real` or `synthetic`.
    Raises: ValueError for a missing column or an unknown task.
    """
    if frame is None:
        return []
    for name, synonym in (("input", "source"), ("reference", "references")):
        if synonym in frame.columns:
            frame = frame.assign(**{name: frame[synonym]})
    needed = ["instruction", "reference", "task"]
    if channel == "real":
        needed.insert(2, "output")
    if missing := [name for name in needed if name not in frame.columns]:
        columns = ", ".join(map(str, frame.columns))
        raise ValueError(f"no column {', '.join(missing)}; the frame has {columns}")
    names = ["instruction", "reference", "input", "output", "dataset", "system_id"]
    candidates = []
    for place, row in enumerate(frame.to_dict("records")):
        texts = {name: _text(row.get(name)) for name in names}
        # The frame's outputs are not used there: the teacher writes its own.
        if channel == "synthetic":
            texts["output"] = ""
            texts["system_id"] = teacher
        input_id = _text(row.get("input_id")) or str(place)
        labels = (channel, template, input_id, texts["system_id"])
        candidate = Candidate(
            id=f"{'/'.join(filter(None, labels))}#{place}",
            channel=channel,
            template=template,
            task=find_task(_text(row["task"])).label,
            free=template == FREE,
            instruction=texts["instruction"],
            reference=texts["reference"],
            input=texts["input"],
            output=texts["output"],
            dataset=texts["dataset"],
            system_id=texts["system_id"],
        )
        candidates.append(candidate)
    return candidates


def _text(value: Any) -> str:
    """A cell's text, the first where there are several; empty for none."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        value = value[0] if len(value) else ""
    return value if isinstance(value, str) else ""


# -- what the teacher is asked and what it wrote


def read_analysis(candidate: Candidate, completion: Completion) -> dict[str, Any]:
    """The errors of the JSON that the teacher wrote. Raises: Unreadable for another
    layout.
    """
    parsed = error_analysis(completion.text)
    if not parsed.ok or parsed.rule != "json":
        raise Unreadable(parsed.reason or f"read as {parsed.rule!r}, not as JSON")
    return {"errors": _named(parsed.errors, candidate)}


def spoiling(candidate: Candidate, most_errors: int = 3) -> Request:
    """The request for a spoiled output: with errors of `asked`, or of at most so many
    aspects that the teacher names itself. The form of the list of errors is ours.

    Source: TIGERScore, Table 18; Table 19 (free aspects).
    """
    if candidate.free:
        prompt = prompts.render(
            "tigerscore/synthetic_free_aspects",
            instruction=candidate.instruction,
            input=candidate.input,
            output=candidate.reference,
            num_errors=most_errors,
        )
    else:
        aspects = find_task(candidate.task).aspects
        requirements = [
            f"{number}. An error of {name}: {aspects[name]}"
            for number, name in enumerate(candidate.asked, start=1)
        ]
        prompt = prompts.render(
            "tigerscore/synthetic_errors",
            generation_instruction=candidate.instruction,
            input_context=candidate.input,
            reference_output=candidate.reference,
            error_requirements="\n".join(requirements),
        )
    return Request.chat(prompt, id=candidate.id)


def read_spoiled(candidate: Candidate, completion: Completion) -> dict[str, Any]:
    """The output, without a fence or quotation marks around all of it, and the errors.

    Raises: Unreadable where the output has no heading, or no error can be read.
    """
    text = completion.text.replace("\r\n", "\n")
    head = _OUTPUT.search(text)
    if head is None:
        raise Unreadable("no line 'Generated incorrect output:'")
    answer = "\n" + text[head.end() :]
    first = LABEL.search(answer)
    if first is None:
        raise Unreadable("no error is listed after the output")
    output = answer[: first.start()].strip()
    parsed = error_analysis(answer[first.start() :])
    for wrapping in (r"```[a-z]*\n(.*?)\n?```", r'"([^"]*)"'):
        if inside := re.fullmatch(wrapping, output, re.S):
            output = inside.group(1).strip()
            break
    if not parsed.ok or not parsed.errors:
        reason = parsed.reason or "no error is listed after the output"
        raise Unreadable(reason, output=output)
    return {"output": output, "errors": _named(parsed.errors, candidate)}


def _named(errors: Sequence[ErrorItem], candidate: Candidate) -> tuple[ErrorItem, ...]:
    """The errors with aspects as the paper spells them, where they are of the task."""
    if candidate.free:
        return tuple(errors)
    task = find_task(candidate.task)
    return tuple(
        replace(error, aspect=task.aspect(error.aspect) or error.aspect)
        for error in errors
    )


# -- rules


def tokens(text: str) -> int:
    """A rough count of tokens without a tokenizer: four characters each, rounded up.

    Example:
    >>> tokens("A bell")
    2
    """
    return -(-len(text) // 4)


def _lacks(candidate: Candidate) -> str:
    """Which text a candidate needs and does not have; "" for none."""
    names = ["instruction", "reference"]
    if candidate.channel == "real":
        names.append("output")
    return missing_fields(candidate, *names, form="no {}")


# Nothing is asked about a candidate without these texts.
_INPUT = Rule(
    "empty_input", "instruction, reference or system output is empty", _lacks, "ours"
)


def heuristic_rules() -> list[Rule]:
    """The rules that need no model, in order."""
    layout = "the analysis is not the JSON, or not the layout, that was asked for"
    empty = "an error without location, aspect or explanation, or an empty output"
    severity = "severity and penalty do not fit each other, or are none of the scale"
    aspect = "an error of an aspect that the task does not have"
    unreadable = "the analysis as it would be written cannot be read back"
    return [
        *answered(layout, "paper"),
        Rule("empty_field", empty, _empty, "ours"),
        Rule("severity", severity, _severities),
        Rule("aspect", aspect, _foreign_aspect, "ours"),
        Rule("location", "an error's location is not in the output", _nowhere),
        Rule("repeated", "the same error twice in one analysis", _repeated, "ours"),
        Rule("over_long", "output or analysis is longer than the limit", _over_long),
        Rule("reference", "an explanation leans on the reference", _leaning),
        Rule(
            "unchanged", "a synthetic output that is its reference", _unchanged, "ours"
        ),
        Rule("unreadable", unreadable, _unreadable, "ours"),
        unique(_key, "the same output of one input"),
    ]


def check_rules(verdicts: Mapping[str, Judgment]) -> list[Rule]:
    """What the second question to the teacher removes; verdicts by a candidate's id, 1
    for reasonable, 0 for not.
    """

    def unread(candidate: Candidate) -> str:
        verdict = verdicts[candidate.id]
        if verdict.value in (0, 1):
            return ""
        return verdict.reason or verdict.status.value

    def refused(candidate: Candidate) -> str:
        return "" if verdicts[candidate.id].value else "the teacher says no"

    unchecked = "whether the analysis is reasonable could not be had or read"
    unreasonable = "the teacher calls the analysis unreasonable (Table 20)"
    return [
        Rule("unchecked", unchecked, unread, "ours"),
        Rule("unreasonable", unreasonable, refused),
    ]


# -- what is wrong with a candidate; empty where all is well


def _first_wrong(candidate: Candidate, problem: Callable[[ErrorItem], str]) -> str:
    """What is wrong with the first error that something is wrong with; "" for none."""
    for number, error in enumerate(candidate.errors, start=1):
        if wrong := problem(error):
            return f"error {number}{wrong}"
    return ""


def _empty(candidate: Candidate) -> str:
    """An output without text, or an error without location, aspect or explanation."""
    if not candidate.output.strip():
        return "the output is empty"
    needed = ("location", "aspect", "explanation")
    return _first_wrong(
        candidate, lambda error: missing_fields(error, *needed, form=" has no {}")
    )


def _severities(candidate: Candidate) -> str:
    """A severity and a penalty that do not fit each other."""

    def unfit(error: ErrorItem) -> str:
        severity = error.severity or "no severity"
        problem = f": {severity} with a penalty of {error.reduction:g}"
        if error.severity not in PENALTIES or not LEAST <= error.reduction <= MOST:
            return problem
        low, high = PENALTIES[error.severity]
        if error.reduction > high:
            return f"{problem}, above {high:g}"
        if error.reduction < low:
            return f"{problem}, below {low:g}"
        return ""

    if wrong := _first_wrong(candidate, unfit):
        return wrong
    # Within one analysis no minor error may weigh more than a major one.
    minor = [item.reduction for item in candidate.errors if item.severity == "Minor"]
    major = [item.reduction for item in candidate.errors if item.severity == "Major"]
    if minor and major and max(minor) > min(major):
        return f"a minor error weighs {max(minor):g}, a major one {min(major):g}"
    return ""


def _foreign_aspect(candidate: Candidate) -> str:
    """An aspect that the task does not have; aspects of the teacher's own may be
    any.
    """
    task = find_task(candidate.task)
    for error in candidate.errors:
        if not candidate.free and not task.aspect(error.aspect):
            return f"{error.aspect[:60]!r} is no aspect of {task.label}"
    return ""


def _nowhere(candidate: Candidate) -> str:
    """A location that is not in the output."""

    def missing(error: ErrorItem) -> str:
        if located(error.location, candidate.output):
            return ""
        return f": {error.location[:60]!r} is not in the output"

    return _first_wrong(candidate, missing)


def located(location: str, output: str) -> bool:
    """Whether a location is a part of the output, quotation marks around it, letter
    case and white space apart; where it leaves something out ("..."), its parts are.

    Example:
    >>> located('"red ... bell"', "The red and  blue bell rang.")
    True
    """
    text = _flat(output)
    for quoted in (location, location.strip().strip(_MARKS)):
        parts = [_flat(quoted)]
        if parts[0] not in text:
            parts = [part for part in map(_flat, _ELLIPSIS.split(quoted)) if part]
        pattern = ".*?".join(map(re.escape, parts))
        if pattern and re.search(pattern, text, re.S):
            return True
    return False


def _repeated(candidate: Candidate) -> str:
    """An error with the location and aspect of an earlier one."""
    counts: Counter[tuple[str, str]] = Counter()
    text = _flat(candidate.output)
    for number, error in enumerate(candidate.errors, start=1):
        place = _flat(error.location.strip().strip(_MARKS))
        key = (place, _flat(error.aspect))
        counts[key] += 1
        # What the output says three times may be wrong three times.
        occurrences = text.count(place) if place else 1
        if counts[key] > max(1, occurrences):
            return f"error {number} has the location and the aspect of an earlier one"
    return ""


def _over_long(candidate: Candidate) -> str:
    """An output or analysis above its limit of tokens."""
    texts = {"output": candidate.output, "analysis": analysis(candidate.errors)}
    for name, text in texts.items():
        if tokens(text) > MOST_TOKENS:
            return f"{name} of {tokens(text):,} tokens, above {MOST_TOKENS:,}"
    return ""


def _leaning(candidate: Candidate) -> str:
    """An explanation that speaks of the reference, which the trained model does not
    see.
    """

    def mention(error: ErrorItem) -> str:
        own_words = _QUOTED.sub(" ", error.explanation)  # quotations do not count
        phrase = _REFERENCE.search(own_words)
        return f": {phrase.group()!r}" if phrase else ""

    return _first_wrong(candidate, mention)


def _unchanged(candidate: Candidate) -> str:
    """A synthetic output with the words of its reference."""
    same = _flat(candidate.output) == _flat(candidate.reference)
    if candidate.channel == "synthetic" and same:
        return "the output is the reference"
    return ""


def _unreadable(candidate: Candidate) -> str:
    """An analysis that would be read back with other errors or another score."""
    read = error_analysis(analysis(candidate.errors))
    same_count = len(read.errors) == len(candidate.errors)
    same_score = math.isclose(read.value, candidate.score, abs_tol=1e-6)
    if read.ok and same_count and same_score:
        return ""
    return (
        read.reason
        or f"read back with {len(read.errors)} errors and a score of {read.value:g}"
    )


def _key(candidate: Candidate) -> tuple[str, ...]:
    """Equal for the same output of one input."""
    texts = (candidate.instruction, candidate.input, candidate.output)
    return candidate.task, *map(_flat, texts)


def _flat(text: str) -> str:
    """A text for comparison: lower case, single blanks."""
    return " ".join(text.casefold().split())


# -- the set and its pipeline


class Built(pipeline.TrainingSet):
    """A built MetricInstruct: `Candidate`s that stayed."""

    title = "MetricInstruct"
    by_part = "Removed, by channel and task"

    def examples(self) -> list[dict[str, Any]]:
        """The training examples, as `Candidate.example` gives them."""
        return [candidate.example() for candidate in self.kept]

    def statistics(self) -> dict[str, pd.DataFrame]:
        """The set in numbers, {title: table}: channels (Table 2), errors, severities
        and lengths (Figure 4; characters divided by four), aspects.
        """
        if not self.kept:
            return {}
        frame = pd.DataFrame(self.examples())
        lengths = (frame["prompt"] + "\n" + frame["completion"]).map(tokens)
        length = lengths.describe().rename("tokens").to_frame().T
        length["below 1024"] = (lengths < 1024).mean()
        severities = statistics.error_counts(frame, "severity", ("Major", "Minor"))
        return {
            "Channels (Table 2)": statistics.channel_table(frame),
            "Errors an instance (Figure 4)": statistics.errors_per_instance(frame),
            "Severities (Figure 4)": severities,
            "Context length (Figure 4)": length,
            "Errors of each aspect": statistics.error_counts(frame, "aspect"),
        }

    def notes(self) -> list[str]:
        """How many candidates there were, and the teacher."""
        removed = len(self.filters.removed)
        remaining = len(self.kept)
        teacher = self.facts.get("teacher", "")
        return [
            f"{remaining + removed:,} candidates, {removed:,} removed, "
            f"{remaining:,} kept.",
            f"Teacher: `{teacher}`. Lengths are characters divided by four.",
        ]

    def report(self) -> dict[str, Any]:
        """Counts, filters and statistics as plain values; the channels by task."""
        report = super().report()
        tables = report.pop("statistics")
        if channels := tables.pop("Channels (Table 2)", []):
            report["channels"] = {row.pop("index"): row for row in channels}
        return {**report, "statistics": tables}


@dataclass(kw_only=True)
class MetricInstruct(pipeline.Pipeline):
    """The pipeline of TIGERScore's training set, with any engine as the teacher.

    most_errors: errors of a synthetic output, at most.
    balance: aspects of synthetic errors are drawn where errors are rare so far.
    check: whether the second question is asked, whether an analysis is reasonable.
    seed: of the draws of aspects.

    Source: TIGERScore, section 3, appendices A.1 and A.7.
    """

    most_errors: int = 3
    balance: bool = True
    check: bool = True
    seed: int = 0

    name = "metricinstruct"
    defaults = MappingProxyType({"temperature": 0.0, "max_tokens": 1024})
    one_draw = "the teacher is asked once for each question"

    def stages(
        self,
        real: pd.DataFrame | None = None,
        synthetic: pd.DataFrame | None = None,
        free: pd.DataFrame | None = None,
        teacher: str = "teacher",
    ) -> Stages[Built]:
        """What is asked, stage by stage, and the built set in the end.

        synthetic: rows whose reference the teacher spoils in chosen aspects.
        teacher: the model's name, for the facts.
        Columns as `candidates_of` reads them; None: nothing of the kind.
        Raises: ValueError for a missing column, most_errors below 1, an unknown task.
        """
        chosen = candidates_of(synthetic, "synthetic", WITH_ASPECTS, teacher)
        channels = {
            "real": candidates_of(real, "real", TWO_STEP),
            "synthetic, chosen aspects": chosen,
            "synthetic, free aspects": candidates_of(free, "synthetic", FREE, teacher),
        }
        filters = Filters()
        heuristics = heuristic_rules()
        outputs, *references = [
            filters.apply([_INPUT], channel) for channel in channels.values()
        ]
        analysed = yield from self._analysed(outputs)
        candidates = filters.apply(heuristics, analysed)
        # The synthetic channel is to even out what the real one has few errors of.
        counts_of_real = _aspect_counts(candidates)
        spoiled = yield from self._spoiled(
            list(itertools.chain(*references)), counts_of_real
        )
        candidates += filters.apply(heuristics, spoiled)
        if self.check:
            verdicts = yield from self._verdicts(candidates)
            candidates = filters.apply(check_rules(verdicts), candidates)
        counts = {"real only": counts_of_real, "whole set": _aspect_counts(candidates)}
        facts = {
            **self.facts(teacher),
            "candidates": {name: len(channels[name]) for name in channels},
            "kept": len(candidates),
            "aspect_evenness": _evenness_by_task(channels.values(), counts),
        }
        return Built(candidates, filters, facts)

    def _analysed(self, candidates: Sequence[Candidate]) -> Stages[list[Candidate]]:
        """The candidates with the teacher's analyses of systems' outputs."""
        judges: dict[str, TigerScoreReferenceBased] = {}
        requests = []
        for candidate in candidates:
            task = candidate.task
            if task not in judges:
                judges[task] = TigerScoreReferenceBased(task=task)
            requests.append(judges[task].request(candidate.sample()))
        first = yield Stage("analyse", requests, self.sampling, _ANALYSIS)
        requests = []
        for candidate, draws in zip(candidates, first, strict=True):
            if not pipeline.no_text(draws[0]):
                judge = judges[candidate.task]
                requests.append(judge.second(candidate.sample(), draws[0].text))
        second = yield Stage(
            "format", requests, self.sampling, TigerScoreReferenceBased.stand_in
        )
        formatted = iter(second)
        answers = []
        for draws in first:
            answers.append(draws if pipeline.no_text(draws[0]) else next(formatted))
        return fill(candidates, answers, read_analysis)

    def _spoiled(
        self, candidates: Sequence[Candidate], counts: Mapping[tuple[str, str], int]
    ) -> Stages[list[Candidate]]:
        """The candidates with outputs that the teacher spoils. counts: as
        `choose_aspects` takes them.
        """
        drawn = choose_aspects(
            candidates, counts, self.most_errors, self.seed, self.balance
        )
        requests = [spoiling(candidate, self.most_errors) for candidate in drawn]
        answers = yield Stage("synthesise", requests, self.sampling, _SPOILED)
        return fill(drawn, answers, read_spoiled)

    def _verdicts(self, candidates: Sequence[Candidate]) -> Stages[dict[str, Judgment]]:
        """Whether the teacher calls each analysis reasonable, by a candidate's id."""
        judge = AnalysisCheck("reasonable", sampling={"max_tokens": 8})
        requests = [judge.request(candidate.sample()) for candidate in candidates]
        answers = yield Stage("check", requests, judge.sampling, "Yes")
        verdicts = {}
        for candidate, draws in zip(candidates, answers, strict=True):
            verdicts[candidate.id] = judge.read(draws[0])
        return verdicts


def _aspect_counts(candidates: Sequence[Candidate]) -> Counter[tuple[str, str]]:
    """How many errors there are of each (task, aspect), without the aspects that the
    teacher names itself.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for candidate in candidates:
        if not candidate.free:
            counts.update((candidate.task, item.aspect) for item in candidate.errors)
    return counts


def _evenness_by_task(
    channels: Iterable[Sequence[Candidate]],
    counts: Mapping[str, Mapping[tuple[str, str], int]],
) -> dict[str, dict[str, float]]:
    """How even the aspects of each task are: {task: {set: evenness}}."""
    even: dict[str, dict[str, float]] = {}
    for candidate in itertools.chain(*channels):
        task = candidate.task
        if task in even:
            continue
        aspects = find_task(task).aspects
        even[task] = {}
        for name, count in counts.items():
            even[task][name] = evenness(count[task, aspect] for aspect in aspects)
    return even


def choose_aspects(
    candidates: Sequence[Candidate],
    have: Mapping[tuple[str, str], int],
    most_errors: int,
    seed: int,
    balance: bool = True,
) -> list[Candidate]:
    """The candidates with `asked` filled: 1 to `most_errors` different aspects of the
    task, drawn at random.

    have: how many errors of each (task, aspect) there are so far.
    balance: an aspect's chance is in proportion to how far it lies behind the task's
    most frequent one, plus one, and what is drawn counts on. Otherwise all aspects have
    the same chance.
    Raises: ValueError for most_errors below 1.
    Source: TIGERScore, section 3.2 (synthetic channel); the paper does not say how it
    draws.
    """
    if most_errors < 1:
        raise ValueError(f"most_errors={most_errors}; at least 1 is needed")
    rng = np.random.default_rng(seed)
    counts = Counter(have)
    chosen = []
    for candidate in candidates:
        if candidate.free:
            chosen.append(candidate)
            continue
        names = list(find_task(candidate.task).aspects)
        weights = np.ones(len(names))
        if balance:
            task_counts = [counts[candidate.task, name] for name in names]
            weights = max(task_counts) - np.array(task_counts, dtype=float) + 1
        size = int(rng.integers(1, min(most_errors, len(names)) + 1))
        chances = weights / weights.sum()
        places = rng.choice(len(names), size=size, replace=False, p=chances)
        aspects = tuple(names[place] for place in places)
        counts.update((candidate.task, name) for name in aspects)
        chosen.append(replace(candidate, asked=aspects))
    return chosen


def evenness(counts: Iterable[int]) -> float:
    """How even counts are: their entropy as a share of the largest possible, 0 to 1;
    NaN for fewer than two or none.

    Example:
    >>> evenness([5, 5]), evenness([10, 0])
    (1.0, 0.0)
    """
    numbers = np.array(list(counts), dtype=float)
    if len(numbers) < 2 or not numbers.sum():
        return float("nan")
    shares = numbers[numbers > 0] / numbers.sum()
    information = (shares * np.log(shares)).sum()
    return float(0.0 - information / np.log(len(numbers)))
