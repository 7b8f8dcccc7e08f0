"""MetricInstruct from inputs and a teacher: both channels, the filters, the second question, the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from nlgeval_lib.engines import Engine, Sampling
from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.judge import make_sampling
from nlgeval_lib.evaluators.stages import Ask, Stage, Stages
from nlgeval_lib.evaluators.tigerscore import AnalysisCheck, find_task
from nlgeval_lib.schema import Sample
from nlgeval_lib.store import Store
from nlgeval_lib.training import saved, statistics
from nlgeval_lib.training.metricinstruct import channels, rules
from nlgeval_lib.training.metricinstruct.candidate import Candidate, analysis
from nlgeval_lib.training.sieve import Sieve, there

DEFAULTS = MappingProxyType({"temperature": 0.0, "max_tokens": 1024})
_ANALYSIS = "The output leaves out a detail of the source (minor) and changes a date (major)."
_JSON = '{"errors": {}}'
_SPOILED = (
    "Generated incorrect output:\nA text.\nError location 1: text\nError aspect 1: Accuracy\n"
    "Explanation 1: It is wrong.\nSeverity 1: major\nScore reduction 1: 4"
)


@dataclass
class Built:
    """A built set: the instances that stayed, and a `Sieve` with what was removed."""

    kept: list[Candidate]
    sieve: Sieve[Candidate]
    facts: dict[str, Any] = field(default_factory=dict)

    def frame(self) -> pd.DataFrame:
        """A row an instance: the examples' fields; what `training.statistics` counts."""
        return pd.DataFrame([one.example() for one in self.kept])

    def statistics(self, count: Callable[[str], int] | None = None, limit: int = 1024) -> dict[str, pd.DataFrame]:
        """The set in numbers: channels (Table 2), errors, severities and lengths (Figure 4), aspects.

        count: text -> tokens, by the base model's tokenizer; without it lengths are characters divided by four.
        """
        if not self.kept:
            return {}
        frame = self.frame()
        whole = frame["prompt"] + "\n" + frame["completion"]
        lengths, share = statistics.context_lengths(whole, count or rules.tokens, limit)
        length = pd.Series(lengths).describe().rename("tokens").to_frame().T.assign(**{f"below {limit}": share})
        aspects = statistics.aspect_counts(frame)
        return {
            "Channels (Table 2)": statistics.channel_table(frame),
            "Errors an instance (Figure 4)": statistics.errors_per_instance(frame),
            "Severities (Figure 4)": statistics.severity_counts(frame),
            "Context length (Figure 4)": length,
            "Errors of each aspect": aspects,
        }

    def report(self) -> dict[str, Any]:
        """Counts, filters and statistics as plain values."""
        tables = {name: table for name, table in self.statistics().items() if not name.startswith("Channels")}
        return {
            **self.facts,
            "removed": len(self.sieve.removed),
            "filters": self.sieve.table(),
            "filters_by_part": self.sieve.table(by_group=True),
            **({"channels": _flat(statistics.channel_table(self.frame()))} if self.kept else {}),
            "statistics": tables,
        }

    def markdown(self) -> str:
        """The report for reading."""
        made = len(self.kept) + len(self.sieve.removed)
        notes = [
            f"{made:,} candidates, {len(self.sieve.removed):,} removed, {len(self.kept):,} kept.",
            f"Teacher: `{self.facts.get('teacher', '')}`. Lengths are characters divided by four.",
        ]
        tables = {"Filters, in order": self.sieve.table(), "Removed, by channel and task": self.sieve.by_part()}
        return saved.markdown("MetricInstruct", {**tables, **self.statistics()}, notes)

    def save(self, folder: Path | str) -> Path:
        """Write the set: `train.jsonl`, `removed.jsonl`, `report.json`, `report.md`. Raises: OSError."""
        gone = ({"id": r.id, "rule": r.rule, "reason": r.reason, **r.item.known()} for r in self.sieve.removed)
        return saved.save(folder, (one.example() for one in self.kept), gone, self.report(), self.markdown())


class MetricInstruct:
    """The pipeline of TIGERScore's training set, with any engine as the teacher.

    sampling: of the teacher (a `Sampling`, or settings that replace defaults). label: what stands before the reference
    in the prompts that print it bare. most_errors: errors of a synthetic output, at most. balance: aspects of synthetic
    errors are drawn where errors are rare so far. check: the second question, whether an analysis is reasonable.
    limits: thresholds of `rules.heuristic_rules`. seed: of the draws.

    Completions go through the store: a run that was stopped goes on, and a repeated one asks nothing.
    Source: TIGERScore, section 3, appendices A.1 and A.7.
    """

    name = "metricinstruct"

    def __init__(
        self,
        *,
        sampling: Sampling | Mapping[str, Any] | None = None,
        label: str = "Reference: ",
        most_errors: int = 3,
        balance: bool = True,
        check: bool = True,
        limits: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        self.sampling = make_sampling(DEFAULTS, sampling)
        if self.sampling.n != 1:
            raise ValueError(f"n={self.sampling.n}: the teacher is asked once for each question")
        self.label, self.most_errors, self.balance, self.check = label, most_errors, balance, check
        self.limits, self.seed = dict(limits or {}), seed
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
        the same with aspects of the teacher's own. Columns as `channels.candidates`.
        """
        sieve: Sieve[Candidate] = Sieve(lambda one: one.id, lambda one: one.group)
        own = [
            [] if frame is None else channels.candidates(frame, channel, template, teacher)
            for frame, channel, template in (
                (real, "real", channels.TWO_STEP),
                (synthetic, "synthetic", channels.WITH_ASPECTS),
                (free, "synthetic", channels.FREE),
            )
        ]
        found, aspects, freely = (sieve.through(rules.input_rules(), part) for part in own)
        heuristics = rules.heuristic_rules(**self.limits)

        first = yield Stage("analyse", channels.first_turns(found, self.label), self.sampling, _ANALYSIS)
        analyses = [draws[0] for draws in first]
        lost = {place: why for place, one in enumerate(analyses) if (why := there(one))}
        pairs = [(one, analyses[place].text) for place, one in enumerate(found) if place not in lost]
        second = iter((yield Stage("format", channels.second_turns(pairs, self.label), self.sampling, _JSON)))
        read = [
            channels.analysed(one, analyses[place] if place in lost else next(second)[0])
            for place, one in enumerate(found)
        ]
        kept = sieve.through(heuristics, read)

        have = Counter((one.task, error.aspect) for one in kept for error in one.errors)
        asked = channels.choose_aspects(aspects + freely, have, self.most_errors, self.seed, self.balance)
        requests = [channels.spoiling(one, self.most_errors) for one in asked]
        texts = yield Stage("synthesise", requests, self.sampling, _SPOILED)
        made = [channels.spoiled(one, draws[0]) for one, draws in zip(asked, texts, strict=True)]
        kept += sieve.through(heuristics, made)

        if self.check:
            judge = AnalysisCheck("reasonable", sampling={"max_tokens": 8})
            samples = [_checked(one) for one in kept]
            questions = [request for sample in samples for request in judge.requests(sample)]
            answers = yield Stage("check", questions, judge.sampling, "Yes")
            said = {one.id: _said(judge.read(draws[0])) for one, draws in zip(kept, answers, strict=True)}
            kept = sieve.through(rules.check_rules(lambda one: said[one.id]), kept)
        return Built(kept, sieve, self._facts(own, kept, have, teacher))

    def run(self, ask: Ask, **frames: Any) -> Built:
        """The built set; `ask(requests, sampling)` gives the completions of each request."""
        return staged.run(self.stages(**frames), ask)

    def build(self, engine: Engine, store: Store | None = None, progress: Any = None, **frames: Any) -> Built:
        """The built set, from an engine as the teacher. `frames` as for `stages`. Raises: ValueError; EngineError."""
        frames.setdefault("teacher", engine.model)
        return self.run(staged.bind(engine, store, progress), **frames)

    def plan(self, engine: Engine | None = None, store: Store | None = None, **frames: Any) -> list[Stage]:
        """The stages that would be asked, none of them asked."""
        return staged.plan(self.stages(**frames), engine, store)

    def _facts(self, own: list[list[Candidate]], kept: list[Candidate], real: Counter, teacher: str) -> dict[str, Any]:
        after = Counter((one.task, error.aspect) for one in kept for error in one.errors if not one.free)
        tasks = dict.fromkeys(one.task for part in own for one in part)
        return {
            "pipeline": self.name,
            "teacher": teacher,
            "sampling": self.sampling.signature(),
            "settings": {
                "label": self.label,
                "most_errors": self.most_errors,
                "balance": self.balance,
                "check": self.check,
                "limits": self.limits,
                "seed": self.seed,
            },
            "candidates": {
                "real": len(own[0]),
                "synthetic, chosen aspects": len(own[1]),
                "synthetic, free aspects": len(own[2]),
            },
            "kept": len(kept),
            "aspect_evenness": {
                task: {
                    name: channels.evenness(counts[task, aspect] for aspect in find_task(task).aspects)
                    for name, counts in (("real only", real), ("whole set", after))
                }
                for task in tasks
            },
        }


def _checked(one: Candidate) -> Sample:
    """The candidate with its analysis, as the check takes it."""
    return Sample(one.id, one.output, one.instruction, one.input, extra={"analysis": analysis(one.errors)})


def _said(verdict: Any) -> str:
    if verdict.value == 1:
        return "yes"
    return "no" if verdict.value == 0 else verdict.reason or verdict.status.value


def _flat(table: pd.DataFrame) -> dict[str, dict[str, int]]:
    return {
        str(task): {" ".join(column): int(value) for column, value in row.items()} for task, row in table.iterrows()
    }
