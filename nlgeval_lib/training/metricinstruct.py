"""MetricInstruct, TIGERScore's training set: outputs of systems and spoiled references,
analysed, filtered, counted.

    built = MetricInstruct().build(teacher, store, real=frame, synthetic=inputs, free=instructions)
    built.save("data/raw/metricinstruct")

The paper says what it filters and not by which thresholds: these are arguments here.
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
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.engines import Request
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.evaluators.tigerscore import (
    AnalysisCheck,
    TigerScore,
    TigerScoreReferenceBased,
    find_task,
)
from nlgeval_lib.parsers.errors import LABEL, ErrorItem, error_analysis
from nlgeval_lib.records import Completion, Judgment, Sample
from nlgeval_lib.training import pipeline, statistics
from nlgeval_lib.training.pipeline import (
    Filters,
    Piece,
    Rule,
    Unreadable,
    answered,
    fill,
    lacking,
    unique,
)

TWO_STEP = "two-step"
WITH_ASPECTS = "table_18"
FREE = "table_19"
# of a penalty; source: TIGERScore, section 2.2
LEAST = 0.5
MOST = 5.0
_ANALYSIS = (
    "The output leaves out a detail of the source (minor) and changes a date (major)."
)
_SPOILED = (
    "Generated incorrect output:\nA text.\nError location 1: text\nError aspect 1: Accuracy\n"
    "Explanation 1: It is wrong.\nSeverity 1: major\nScore reduction 1: 4"
)
_OUTPUT = re.compile(
    r"^[>*#\- \t]*generated incorrect (?:output|response)[*_]*\s*:[*_]*[ \t]*",
    re.I | re.M,
)
_QUOTED = re.compile(
    r"\"[^\"\n]{0,400}\"|“[^”\n]{0,400}”|(?<!\w)'[^'\n]{0,400}'(?!\w)|`[^`\n]{0,400}`"
)
_KIND = "(?:outputs?|translations?|summar(?:y|ies)|texts?|answers?|solutions?|responses?|sentences?|information|version)"
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

    channel: `real` (a system's output) or `synthetic` (written by the teacher).
    template: the prompt it comes from.
    asked: the aspects that a synthetic output was to err in, empty where the teacher
    chose them (`free`).
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
        return f"{self.channel} {self.task}"

    @property
    def score(self) -> float:
        return 0.0 - sum(error.reduction for error in self.errors)

    def sample(self) -> Sample:
        """The candidate as evaluators take it, with its analysis."""
        extra = {"analysis": analysis(self.errors)}
        return Sample(
            self.id,
            self.output,
            self.instruction,
            self.input,
            references=(self.reference,),
            extra=extra,
        )

    def example(self) -> dict[str, Any]:
        """The example as a set keeps it: `prompt`, `completion`, and where they come
        from.

        Source: TIGERScore, Table 9 (what the fine-tuned model is asked).
        """
        known = {
            name: value
            for name, value in self.content().items()
            if name not in ("id", "asked", "free")
        }
        texts = {
            "prompt": TigerScore().render(self.sample()),
            "completion": analysis(self.errors),
        }
        return {
            "id": self.id,
            **texts,
            **known,
            "n_errors": len(self.errors),
            "score": self.score,
        }

    def content(self) -> dict[str, Any]:
        known = dataclasses.asdict(self)
        for error in known["errors"]:
            del error["number"]
        del known["failure"], known["problem"]
        return known


def analysis(errors: Sequence[ErrorItem]) -> str:
    """The errors as TIGERScore writes them: a line that counts them, then five labelled
    lines an error.

    `parsers.error_analysis` reads it back. Line breaks inside a field become blanks, as
    a label begins a line.
    Source: TIGERScore, Table 23 and the authors' published outputs.
    """
    total = sum(error.reduction for error in errors)
    lines = [
        f"The model-generated output contains {len(errors)} errors, with a total score reduction of {total:g}."
    ]
    labels = (
        "Error location",
        "Error aspect",
        "Explanation",
        "Severity",
        "Score reduction",
    )
    for number, error in enumerate(errors, start=1):
        texts = (
            " ".join(text.split())
            for text in (error.location, error.aspect, error.explanation)
        )
        values = (*texts, error.severity, f"{error.reduction:g}")
        lines += [
            f"{label} {number}: {value}"
            for label, value in zip(labels, values, strict=True)
        ]
    return "\n".join(lines)


def candidates_of(
    frame: pd.DataFrame | None, channel: str, template: str, teacher: str = ""
) -> list[Candidate]:
    """A candidate for each row: `task`, `instruction`, `source` or `input`, `reference`
    or `references`; for the real channel also `output`. `dataset`, `system_id` and
    `input_id` are kept; a missing text is empty. None: no candidates.

    Raises: ValueError for a missing column or an unknown task.
    """
    if frame is None:
        return []
    also = {"input": "source", "reference": "references"}
    frame = frame.assign(
        **{
            name: frame[theirs]
            for name, theirs in also.items()
            if theirs in frame.columns
        }
    )
    needed = (
        "instruction",
        "reference",
        *(["output"] if channel == "real" else []),
        "task",
    )
    if missing := [name for name in needed if name not in frame.columns]:
        raise ValueError(
            f"no column {', '.join(missing)}; the frame has {', '.join(map(str, frame.columns))}"
        )
    texts = (
        "instruction",
        "reference",
        "input",
        "output",
        "dataset",
        "system_id",
        "input_id",
    )
    made = []
    for place, row in enumerate(frame.to_dict("records")):
        known: dict[str, Any] = {name: _text(row.get(name)) for name in texts}
        if channel == "synthetic":
            known |= {"output": "", "system_id": teacher}
        id = "/".join(
            filter(
                None,
                (
                    channel,
                    template,
                    known.pop("input_id") or str(place),
                    known["system_id"],
                ),
            )
        )
        task = find_task(_text(row["task"])).label
        made.append(
            Candidate(
                f"{id}#{place}", channel, template, task, free=template == FREE, **known
            )
        )
    return made


def _text(value: Any) -> str:
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        value = value[0] if len(value) else ""
    return value if isinstance(value, str) else ""


# -- what the teacher is asked and what it wrote


def read_analysis(candidate: Candidate, completion: Completion) -> dict[str, Any]:
    """The errors of the JSON that the teacher wrote. Raises: Unreadable."""
    found = error_analysis(completion.text)
    if not found.ok or found.rule != "json":
        raise Unreadable(found.reason or f"read as {found.rule!r}, not as JSON")
    return {"errors": _named(found.errors, candidate)}


def spoiling(candidate: Candidate, most_errors: int = 3) -> Request:
    """What is asked for a spoiled output: with errors of `asked`, or of aspects that
    the teacher names itself.

    The form of the list of errors is ours; the paper does not print it.
    Source: TIGERScore, Table 18; Table 19 (free aspects).
    """
    given: dict[str, Any] = {
        "instruction": candidate.instruction,
        "input": candidate.input,
    }
    given |= {"output": candidate.reference, "num_errors": most_errors}
    template = "tigerscore/synthetic_free_aspects"
    if not candidate.free:
        aspects = find_task(candidate.task).aspects
        wanted = [
            f"{n}. An error of {name}: {aspects[name]}"
            for n, name in enumerate(candidate.asked, start=1)
        ]
        given = {
            "generation_instruction": candidate.instruction,
            "input_context": candidate.input,
        }
        given |= {
            "reference_output": candidate.reference,
            "error_requirements": "\n".join(wanted),
        }
        template = "tigerscore/synthetic_errors"
    return Request.chat(prompts.render(template, **given), id=candidate.id)


def read_spoiled(candidate: Candidate, completion: Completion) -> dict[str, Any]:
    """The output, without a fence or quotation marks around all of it, and the errors.

    Raises: Unreadable.
    """
    text = completion.text.replace("\r\n", "\n")
    if (head := _OUTPUT.search(text)) is None:
        raise Unreadable("no line 'Generated incorrect output:'")
    rest = f"\n{text[head.end() :]}"
    if (first := LABEL.search(rest)) is None:
        raise Unreadable("no error is listed after the output")
    output = rest[: first.start()].strip()
    found = error_analysis(rest[first.start() :])
    if inside := re.fullmatch(r"```[a-z]*\n(.*?)\n?```", output, re.S) or re.fullmatch(
        r'"([^"]*)"', output
    ):
        output = inside.group(1).strip()
    if not found.ok or not found.errors:
        raise Unreadable(
            found.reason or "no error is listed after the output", output=output
        )
    return {"output": output, "errors": _named(found.errors, candidate)}


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
    """A rough count of tokens without a tokenizer: four characters each."""
    return -(-len(text) // 4)


def _lacks(candidate: Candidate) -> str:
    given = ["output"] if candidate.channel == "real" else []
    return lacking(candidate, "instruction", "reference", *given, said="no {}")


_INPUT = Rule(
    "empty_input", "instruction, reference or system output is empty", _lacks, "ours"
)


def heuristic_rules(
    *,
    minor_most: float = 2.0,
    major_least: float = 1.0,
    max_output: int = 1024,
    max_analysis: int = 1024,
) -> list[Rule]:
    """The rules that need no model, in order.

    minor_most, major_least: the largest penalty of a minor and the smallest of a major
    error (of 835 errors in the authors' published outputs, two minor ones are above and
    no major one is below the defaults). max_output,
    max_analysis: most tokens of the output and of the analysis, as `tokens` counts.
    Raises: ValueError where a limit is not above 0.
    """
    for name, limit in (
        ("max_output", max_output),
        ("max_analysis", max_analysis),
        ("minor_most", minor_most),
    ):
        if not limit > 0:
            raise ValueError(f"{name}={limit!r}; a number above 0 is needed")
    limits = {"Minor": (LEAST, minor_most), "Major": (major_least, MOST)}

    def unfit(error: ErrorItem, _: Candidate) -> str:
        said = (
            f": {error.severity or 'no severity'} with a penalty of {error.reduction:g}"
        )
        if error.severity not in limits or not LEAST <= error.reduction <= MOST:
            return said
        low, high = limits[error.severity]
        beyond = f", above {high:g}" if error.reduction > high else f", below {low:g}"
        return "" if low <= error.reduction <= high else said + beyond

    def nowhere(error: ErrorItem, candidate: Candidate) -> str:
        return (
            ""
            if located(error.location, candidate.output)
            else f": {error.location[:60]!r} is not in the output"
        )

    def leaning(error: ErrorItem, _: Candidate) -> str:
        found = _REFERENCE.search(
            _QUOTED.sub(" ", error.explanation)
        )  # quotations do not count
        return f": {found.group()!r}" if found else ""

    def unchanged(candidate: Candidate) -> str:
        same = candidate.channel == "synthetic" and _flat(candidate.output) == _flat(
            candidate.reference
        )
        return "the output is the reference" if same else ""

    def severities(candidate: Candidate) -> str:
        minor, major = (
            [e.reduction for e in candidate.errors if e.severity == severity]
            for severity in limits
        )
        swapped = minor and major and max(minor) > min(major)
        said = (
            f"a minor error weighs {max(minor):g}, a major one {min(major):g}"
            if swapped
            else ""
        )
        return _first(unfit)(candidate) or said

    def long(candidate: Candidate) -> str:
        written = (
            ("output", candidate.output, max_output),
            ("analysis", analysis(candidate.errors), max_analysis),
        )
        said = (
            f"{what} of {tokens(text):,} tokens, above {most:,}"
            for what, text, most in written
            if tokens(text) > most
        )
        return next(said, "")

    def key(candidate: Candidate) -> tuple[str, ...]:
        return candidate.task, *map(
            _flat, (candidate.instruction, candidate.input, candidate.output)
        )

    return [
        *answered(
            "the analysis is not the JSON, or not the layout, that was asked for",
            "paper",
        ),
        Rule(
            "empty_field",
            "an error without location, aspect or explanation, or an empty output",
            _empty,
            "ours",
        ),
        Rule(
            "severity",
            "severity and penalty do not fit each other, or are none of the scale",
            severities,
        ),
        Rule(
            "aspect",
            "an error of an aspect that the task does not have",
            _aspects,
            "ours",
        ),
        Rule("location", "an error's location is not in the output", _first(nowhere)),
        Rule("repeated", "the same error twice in one analysis", _repeated, "ours"),
        Rule("over_long", "output or analysis is longer than the limit", long),
        Rule("reference", "an explanation leans on the reference", _first(leaning)),
        Rule(
            "unchanged", "a synthetic output that is its reference", unchanged, "ours"
        ),
        Rule(
            "unreadable",
            "the analysis as it would be written cannot be read back",
            _unreadable,
            "ours",
        ),
        unique(key, "the same output of one input"),
    ]


def check_rules(verdicts: Mapping[str, Judgment]) -> list[Rule]:
    """What the second question to the teacher removes; verdicts: by a candidate's
    id, 1 for reasonable, 0 for not.
    """

    def unread(candidate: Candidate) -> str:
        said = verdicts[candidate.id]
        return "" if said.value in (0, 1) else said.reason or said.status.value

    says = "the teacher calls the analysis unreasonable (Table 20)"
    return [
        Rule(
            "unchecked",
            "whether the analysis is reasonable could not be had or read",
            unread,
            "ours",
        ),
        Rule(
            "unreasonable",
            says,
            lambda one: "" if verdicts[one.id].value else "the teacher says no",
        ),
    ]


def _first(wrong: Callable[[ErrorItem, Candidate], str]) -> Callable[[Candidate], str]:
    """What is wrong with the first error that something is wrong with."""

    def why(candidate: Candidate) -> str:
        said = (
            (number, wrong(error, candidate))
            for number, error in enumerate(candidate.errors, start=1)
        )
        return next((f"error {number}{what}" for number, what in said if what), "")

    return why


def _empty(candidate: Candidate) -> str:
    if not candidate.output.strip():
        return "the output is empty"
    return _first(
        lambda error, _: lacking(
            error, "location", "aspect", "explanation", said=" has no {}"
        )
    )(candidate)


def _aspects(candidate: Candidate) -> str:
    task = find_task(candidate.task)
    wrong = (
        []
        if candidate.free
        else [
            error.aspect for error in candidate.errors if not task.aspect(error.aspect)
        ]
    )
    return f"{wrong[0][:60]!r} is no aspect of {task.label}" if wrong else ""


def located(location: str, output: str) -> bool:
    """Whether a location is a part of the output, quotation marks around it and white
    space apart.

    Where it leaves something out ("..."), its parts must follow each other in the
    output.
    """
    text = _flat(output)
    for given in (location, location.strip().strip(_MARKS)):
        parts = (
            [_flat(given)]
            if _flat(given) in text
            else list(filter(None, map(_flat, _ELLIPSIS.split(given))))
        )
        if any(parts) and re.search(".*?".join(map(re.escape, parts)), text, re.S):
            return True
    return False


def _repeated(candidate: Candidate) -> str:
    seen: Counter[tuple[str, str]] = Counter()
    text = _flat(candidate.output)
    for number, error in enumerate(candidate.errors, start=1):
        place = _flat(error.location.strip().strip(_MARKS))
        aspect = _flat(error.aspect)
        seen[place, aspect] += 1
        if seen[place, aspect] > max(
            1, text.count(place) if place else 1
        ):  # what is said three times is wrong twice
            return f"error {number} has the location and the aspect of an earlier one"
    return ""


def _unreadable(candidate: Candidate) -> str:
    read = error_analysis(analysis(candidate.errors))
    same = len(read.errors) == len(candidate.errors) and math.isclose(
        read.value, candidate.score, abs_tol=1e-6
    )
    if read.ok and same:
        return ""
    return (
        read.reason
        or f"read back with {len(read.errors)} errors and a score of {read.value:g}"
    )


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


# -- the set and its pipeline


class Built(pipeline.TrainingSet):
    """A built MetricInstruct."""

    title = "MetricInstruct"
    by_part = "Removed, by channel and task"

    def examples(self) -> list[dict[str, Any]]:
        """The training examples: `prompt` and `completion`, and where they come
        from.
        """
        return [one.example() for one in self.kept]

    def statistics(self) -> dict[str, pd.DataFrame]:
        """The set in numbers: channels (Table 2), errors, severities and lengths
        (Figure 4), aspects.

        Lengths are characters divided by four, as there is no tokenizer.
        """
        if not self.kept:
            return {}
        frame = pd.DataFrame(self.examples())
        lengths = (frame["prompt"] + "\n" + frame["completion"]).map(tokens)
        length = (
            lengths.describe()
            .rename("tokens")
            .to_frame()
            .T.assign(**{"below 1024": (lengths < 1024).mean()})
        )
        return {
            "Channels (Table 2)": statistics.channel_table(frame),
            "Errors an instance (Figure 4)": statistics.errors_per_instance(frame),
            "Severities (Figure 4)": statistics.error_counts(
                frame, "severity", ("Major", "Minor")
            ),
            "Context length (Figure 4)": length,
            "Errors of each aspect": statistics.error_counts(frame, "aspect"),
        }

    def notes(self) -> list[str]:
        """How many candidates there were, and the teacher."""
        removed = len(self.filters.removed)
        kept = len(self.kept)
        teacher = f"Teacher: `{self.facts.get('teacher', '')}`. Lengths are characters divided by four."
        return [
            f"{kept + removed:,} candidates, {removed:,} removed, {kept:,} kept.",
            teacher,
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

    label: what stands before the reference in the prompts that print it bare.
    most_errors: errors of a synthetic output, at most. balance: aspects of synthetic
    errors are drawn where errors are rare so far. check: the second question, whether
    an analysis is reasonable. limits: thresholds of `heuristic_rules`. seed: of the
    draws.
    Source: TIGERScore, section 3, appendices A.1 and A.7.
    """

    label: str = "Reference: "
    most_errors: int = 3
    balance: bool = True
    check: bool = True
    limits: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0

    name = "metricinstruct"
    defaults = MappingProxyType({"temperature": 0.0, "max_tokens": 1024})
    one_draw = "the teacher is asked once for each question"

    def __post_init__(self) -> None:
        super().__post_init__()
        heuristic_rules(
            **self.limits
        )  # a wrong limit is an error now, not after the first stage

    def stages(
        self,
        real: pd.DataFrame | None = None,
        synthetic: pd.DataFrame | None = None,
        free: pd.DataFrame | None = None,
        teacher: str = "teacher",
    ) -> Stages[Built]:
        """What is asked, stage by stage, and the built set in the end.

        real: rows with outputs of systems. synthetic: rows whose reference the teacher
        spoils in chosen aspects. free: the same with aspects of the teacher's own.
        Columns as `candidates`.
        """
        filters = Filters()
        heuristics = heuristic_rules(**self.limits)
        own = {
            "real": candidates_of(real, "real", TWO_STEP),
            "synthetic, chosen aspects": candidates_of(
                synthetic, "synthetic", WITH_ASPECTS, teacher
            ),
            "synthetic, free aspects": candidates_of(free, "synthetic", FREE, teacher),
        }
        found, aspects, freely = (
            filters.apply([_INPUT], part) for part in own.values()
        )

        # who is asked about a system's output, with the reference in view: freely, then
        # as JSON (Tables 11 to 17)
        by_task = {
            task: TigerScoreReferenceBased(task=task, label=self.label)
            for task in {one.task for one in found}
        }
        judges = [by_task[one.task] for one in found]
        asked = [
            judge.request(one.sample())
            for judge, one in zip(judges, found, strict=True)
        ]
        first = yield Stage("analyse", asked, self.sampling, _ANALYSIS)
        again = [
            judge.second(one.sample(), draws[0].text)
            for judge, one, draws in zip(judges, found, first, strict=True)
            if not pipeline.no_text(draws[0])
        ]
        second = iter(
            (
                yield Stage(
                    "format", again, self.sampling, TigerScoreReferenceBased.stand_in
                )
            )
        )
        last = [
            draws if pipeline.no_text(draws[0]) else next(second) for draws in first
        ]
        kept = filters.apply(heuristics, fill(found, last, read_analysis))

        have = Counter((one.task, error.aspect) for one in kept for error in one.errors)
        drawn = choose_aspects(
            aspects + freely, have, self.most_errors, self.seed, self.balance
        )
        asked = [spoiling(one, self.most_errors) for one in drawn]
        texts = yield Stage("synthesise", asked, self.sampling, _SPOILED)
        kept += filters.apply(heuristics, fill(drawn, texts, read_spoiled))

        if self.check:
            judge = AnalysisCheck("reasonable", sampling={"max_tokens": 8})
            asked = [judge.request(one.sample()) for one in kept]
            answers = yield Stage("check", asked, judge.sampling, "Yes")
            verdicts = {
                one.id: judge.read(draws[0])
                for one, draws in zip(kept, answers, strict=True)
            }
            kept = filters.apply(check_rules(verdicts), kept)
        after = Counter(
            (one.task, error.aspect)
            for one in kept
            for error in one.errors
            if not one.free
        )
        even = {
            task: {
                name: evenness(
                    count[task, aspect] for aspect in find_task(task).aspects
                )
                for name, count in (("real only", have), ("whole set", after))
            }
            for task in dict.fromkeys(
                one.task for one in itertools.chain(*own.values())
            )
        }
        facts = {
            "candidates": {name: len(part) for name, part in own.items()},
            "kept": len(kept),
        }
        return Built(
            kept, filters, self.facts(teacher) | facts | {"aspect_evenness": even}
        )


def choose_aspects(
    given: Sequence[Candidate],
    have: Mapping[tuple[str, str], int],
    most_errors: int,
    seed: int,
    balance: bool = True,
) -> list[Candidate]:
    """The candidates with `asked` filled: 1 to `most_errors` different aspects of the
    task, drawn at random.

    balance: an aspect's chance is in proportion to how far it lies behind the task's
    most frequent one, plus one; `have` counts (task, aspect) so far, and what is drawn
    counts on. Otherwise all aspects have the same chance. Candidates with free aspects
    stay as they are.
    Raises: ValueError for most_errors below 1.
    Source: TIGERScore, section 3.2 (synthetic channel); the paper does not say how it
    draws.
    """
    if most_errors < 1:
        raise ValueError(f"most_errors={most_errors}; at least 1 is needed")
    rng = np.random.default_rng(seed)
    counts = Counter(have)
    chosen = []
    for candidate in given:
        if not candidate.free:
            names = list(find_task(candidate.task).aspects)
            now = np.array(
                [counts[candidate.task, name] for name in names], dtype=float
            )
            weights = now.max() - now + 1 if balance else np.ones(len(names))
            size = int(rng.integers(1, min(most_errors, len(names)) + 1))
            picked = rng.choice(
                len(names), size=size, replace=False, p=weights / weights.sum()
            )
            candidate = replace(
                candidate, asked=tuple(names[place] for place in picked)
            )
            counts.update((candidate.task, name) for name in candidate.asked)
        chosen.append(candidate)
    return chosen


def evenness(counts: Iterable[int]) -> float:
    """How even counts are: their entropy as a share of the largest possible, 0 to 1;
    NaN for fewer than two or none.
    """
    numbers = np.array(list(counts), dtype=float)
    if len(numbers) < 2 or not numbers.sum():
        return float("nan")
    shares = numbers[numbers > 0] / numbers.sum()
    return float(0.0 - (shares * np.log(shares)).sum() / np.log(len(numbers)))
