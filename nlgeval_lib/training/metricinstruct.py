"""MetricInstruct, TIGERScore's training set: outputs of systems and spoiled references, analysed, filtered, counted.

    frame = least_likely(sample_outputs(inputs, {"system": engine}), BartScore(model=..., direction="precision"))[0]
    built = MetricInstruct().build(teacher, store, real=frame, synthetic=inputs, free=instructions)
    built.save("data/raw/metricinstruct")

Source: TIGERScore, section 3 and appendices A.1 to A.7.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.evaluators.tigerscore import AnalysisCheck, TigerScoreReferenceBased, find_task
from nlgeval_lib.training import metricinstruct_candidates as candidates
from nlgeval_lib.training import metricinstruct_rules as rules
from nlgeval_lib.training import statistics
from nlgeval_lib.training.filters import Filters
from nlgeval_lib.training.metricinstruct_candidates import Candidate, analysis, least_likely, sample_outputs
from nlgeval_lib.training.pipeline import Pipeline, TrainingSet, fill, no_text

__all__ = ["Candidate", "MetricInstruct", "analysis", "least_likely", "sample_outputs"]

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

    def statistics(self) -> dict[str, pd.DataFrame]:
        """The set in numbers: channels (Table 2), errors, severities and lengths (Figure 4), aspects.

        Lengths are characters divided by four, as there is no tokenizer.
        """
        if not self.kept:
            return {}
        frame = pd.DataFrame(self.examples())
        lengths = (frame["prompt"] + "\n" + frame["completion"]).map(rules.tokens)
        length = lengths.describe().rename("tokens").to_frame().T.assign(**{"below 1024": (lengths < 1024).mean()})
        return {
            "Channels (Table 2)": statistics.channel_table(frame),
            "Errors an instance (Figure 4)": statistics.errors_per_instance(frame),
            "Severities (Figure 4)": statistics.error_counts(frame, "severity", ("Major", "Minor")),
            "Context length (Figure 4)": length,
            "Errors of each aspect": statistics.error_counts(frame, "aspect"),
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
            [] if frame is None else candidates.candidates(frame, channel, template, teacher)
            for frame, channel, template in (
                (real, "real", candidates.TWO_STEP),
                (synthetic, "synthetic", candidates.WITH_ASPECTS),
                (free, "synthetic", candidates.FREE),
            )
        ]
        found, aspects, freely = (filters.apply(rules.input_rules(), part) for part in own)
        heuristics = rules.heuristic_rules(**self.limits)

        judges = [_asker(one.task, self.label) for one in found]
        asked = [request for judge, one in zip(judges, found, strict=True) for request in judge.requests(one.sample())]
        first = yield Stage("analyse", asked, self.sampling, _ANALYSIS)
        again = [
            judge.second(one.sample(), draws[0].text)
            for judge, one, draws in zip(judges, found, first, strict=True)
            if not no_text(draws[0])
        ]
        second = iter((yield Stage("format", again, self.sampling, _JSON)))
        last = [draws if no_text(draws[0]) else next(second) for draws in first]
        kept = filters.apply(heuristics, fill(found, last, candidates.read_analysis))

        have = Counter((one.task, error.aspect) for one in kept for error in one.errors)
        drawn = choose_aspects(aspects + freely, have, self.most_errors, self.seed, self.balance)
        asked = [candidates.spoiling(one, self.most_errors) for one in drawn]
        texts = yield Stage("synthesise", asked, self.sampling, _SPOILED)
        kept += filters.apply(heuristics, fill(drawn, texts, candidates.read_spoiled))

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
            name: evenness(counts[task, aspect] for aspect in find_task(task).aspects)
            for name, counts in (("real only", real), ("whole set", after))
        }
        for task in tasks
    }


@functools.cache
def _asker(task: str, label: str) -> TigerScoreReferenceBased:
    """Who is asked about a system's output, with the reference in view, in two turns: freely, then as JSON.

    Source: TIGERScore, Tables 11 to 16; Table 17.
    """
    return TigerScoreReferenceBased(task=task, label=label)


def choose_aspects(
    given: Sequence[Candidate], have: Mapping[tuple[str, str], int], most_errors: int, seed: int, balance: bool = True
) -> list[Candidate]:
    """The candidates with `asked` filled: 1 to `most_errors` different aspects of the task, drawn at random.

    balance: an aspect's chance is in proportion to how far it lies behind the task's most frequent one, plus one;
    `have` counts (task, aspect) so far, and what is drawn counts on. Otherwise all aspects have the same chance.
    Candidates with free aspects stay as they are.
    Raises: ValueError for most_errors below 1.
    Source: TIGERScore, section 3.2 (synthetic channel); the paper does not say how it draws.
    """
    if most_errors < 1:
        raise ValueError(f"most_errors={most_errors}; at least 1 is needed")
    rng, counts, chosen = np.random.default_rng(seed), Counter(have), []
    for candidate in given:
        if not candidate.free:
            names = list(find_task(candidate.task).aspects)
            now = np.array([counts[candidate.task, name] for name in names], dtype=float)
            weights = now.max() - now + 1 if balance else np.ones(len(names))
            size = int(rng.integers(1, min(most_errors, len(names)) + 1))
            picked = rng.choice(len(names), size=size, replace=False, p=weights / weights.sum())
            candidate = replace(candidate, asked=tuple(names[place] for place in picked))
            counts.update((candidate.task, name) for name in candidate.asked)
        chosen.append(candidate)
    return chosen


def evenness(counts: Iterable[int]) -> float:
    """How even counts are: their entropy as a share of the largest possible, 0 to 1; NaN for fewer than two or none."""
    numbers = np.array(list(counts), dtype=float)
    if len(numbers) < 2 or not numbers.sum():
        return float("nan")
    shares = numbers[numbers > 0] / numbers.sum()
    return float(0.0 - (shares * np.log(shares)).sum() / np.log(len(numbers)))
