"""MetricInstruct from inputs and a teacher: both channels, the filters, the second question, the report."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pandas as pd

from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.evaluators.tigerscore import AnalysisCheck, find_task
from nlgeval_lib.training import statistics
from nlgeval_lib.training.filters import Filters
from nlgeval_lib.training.metricinstruct import questions, rules
from nlgeval_lib.training.metricinstruct.candidate import FREE, TWO_STEP, WITH_ASPECTS, Candidate, candidates
from nlgeval_lib.training.pipeline import Pipeline, TrainingSet, fill, no_text

_ANALYSIS = "The output leaves out a detail of the source (minor) and changes a date (major)."
_JSON = '{"errors": {}}'
_SPOILED = (
    "Generated incorrect output:\nA text.\nError location 1: text\nError aspect 1: Accuracy\n"
    "Explanation 1: It is wrong.\nSeverity 1: major\nScore reduction 1: 4"
)


class Built(TrainingSet[Candidate]):
    """A built MetricInstruct."""

    title, by_part = "MetricInstruct", "Removed, by channel and task"

    def examples(self) -> list[dict[str, Any]]:
        """The training examples: `prompt` and `completion`, and where they come from."""
        return [one.example() for one in self.kept]

    def statistics(self, count: Callable[[str], int] = rules.tokens, limit: int = 1024) -> dict[str, pd.DataFrame]:
        """The set in numbers: channels (Table 2), errors, severities and lengths (Figure 4), aspects.

        count: text -> tokens, by the base model's tokenizer; without it lengths are characters divided by four.
        """
        if not self.kept:
            return {}
        frame = pd.DataFrame(self.examples())
        lengths, share = statistics.context_lengths(frame["prompt"] + "\n" + frame["completion"], count, limit)
        length = pd.Series(lengths).describe().rename("tokens").to_frame().T.assign(**{f"below {limit}": share})
        return {
            "Channels (Table 2)": statistics.channel_table(frame),
            "Errors an instance (Figure 4)": statistics.errors_per_instance(frame),
            "Severities (Figure 4)": statistics.severity_counts(frame),
            "Context length (Figure 4)": length,
            "Errors of each aspect": statistics.aspect_counts(frame),
        }

    def notes(self) -> list[str]:
        """How many candidates there were, and the teacher."""
        removed, kept = len(self.filters.removed), len(self.kept)
        return [
            f"{kept + removed:,} candidates, {removed:,} removed, {kept:,} kept.",
            f"Teacher: `{self.facts.get('teacher', '')}`. Lengths are characters divided by four.",
        ]

    def report(self) -> dict[str, Any]:
        """Counts, filters and statistics as plain values; the channels' columns have one name each."""
        report = super().report()
        tables = report.pop("statistics")
        if (channels := tables.pop("Channels (Table 2)", None)) is not None:
            flat = channels.set_axis([" ".join(column) for column in channels.columns], axis=1)
            report["channels"] = flat.to_dict("index")
        return {**report, "statistics": tables}


@dataclass(kw_only=True)
class MetricInstruct(Pipeline[Built]):
    """The pipeline of TIGERScore's training set, with any engine as the teacher.

    label: what stands before the reference in the prompts that print it bare. most_errors: errors of a synthetic
    output, at most. balance: aspects of synthetic errors are drawn where errors are rare so far. check: the second
    question, whether an analysis is reasonable. limits: thresholds of `rules.heuristic_rules`. seed: of the draws.
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
        rules.heuristic_rules(**self.limits)  # an unknown or wrong limit is an error now, not after the first stage

    def stages(
        self,
        real: pd.DataFrame | None = None,
        synthetic: pd.DataFrame | None = None,
        free: pd.DataFrame | None = None,
        teacher: str = "teacher",
    ) -> Stages[Built]:
        """What is asked, stage by stage, and the built set in the end.

        real: rows with outputs of systems. synthetic: rows whose reference the teacher spoils in chosen aspects. free:
        the same with aspects of the teacher's own. Columns as `candidates`.
        """
        filters: Filters[Candidate] = Filters()
        own = [
            [] if frame is None else candidates(frame, channel, template, teacher)
            for frame, channel, template in (
                (real, "real", TWO_STEP),
                (synthetic, "synthetic", WITH_ASPECTS),
                (free, "synthetic", FREE),
            )
        ]
        found, aspects, freely = (filters.apply(rules.input_rules(), part) for part in own)
        heuristics = rules.heuristic_rules(**self.limits)

        judges = [questions.judge(one.task, self.label) for one in found]
        asked = [request for judge, one in zip(judges, found, strict=True) for request in judge.requests(one.sample())]
        first = yield Stage("analyse", asked, self.sampling, _ANALYSIS)
        again = [
            judge.second(one.sample(), draws[0].text)
            for judge, one, draws in zip(judges, found, first, strict=True)
            if not no_text(draws[0])
        ]
        second = iter((yield Stage("format", again, self.sampling, _JSON)))
        last = [draws if no_text(draws[0]) else next(second) for draws in first]
        kept = filters.apply(heuristics, fill(found, last, questions.read_analysis))

        have = Counter((one.task, error.aspect) for one in kept for error in one.errors)
        drawn = questions.choose_aspects(aspects + freely, have, self.most_errors, self.seed, self.balance)
        asked = [questions.spoiling(one, self.most_errors) for one in drawn]
        texts = yield Stage("synthesise", asked, self.sampling, _SPOILED)
        kept += filters.apply(heuristics, fill(drawn, texts, questions.read_spoiled))

        if self.check:
            judge = AnalysisCheck("reasonable", sampling={"max_tokens": 8})
            asked = list(itertools.chain(*(judge.requests(one.sample()) for one in kept)))
            answers = yield Stage("check", asked, judge.sampling, "Yes")
            verdicts = {one.id: judge.read(draws[0]) for one, draws in zip(kept, answers, strict=True)}
            kept = filters.apply(rules.check_rules(verdicts), kept)
        names = ("real", "synthetic, chosen aspects", "synthetic, free aspects")
        facts = {
            "candidates": dict(zip(names, map(len, own), strict=True)),
            "kept": len(kept),
            "aspect_evenness": _evenness(dict.fromkeys(one.task for part in own for one in part), have, kept),
        }
        return Built(kept, filters, self.facts(teacher) | facts)


def _evenness(tasks: Mapping[str, Any], real: Counter, kept: list[Candidate]) -> dict[str, dict[str, float]]:
    """How even the errors are over each task's aspects, before the synthetic channel and after."""
    after = Counter((one.task, error.aspect) for one in kept for error in one.errors if not one.free)
    return {
        task: {
            name: questions.evenness(counts[task, aspect] for aspect in find_task(task).aspects)
            for name, counts in (("real only", real), ("whole set", after))
        }
        for task in tasks
    }
