"""MetricInstruct, TIGERScore's training set: outputs of systems and spoiled references, analysed, filtered, counted.

    frame = least_likely(sample_outputs(inputs, {"system": engine}), BartScore(model=..., direction="precision"))[0]
    built = MetricInstruct().build(teacher, store, real=frame, synthetic=inputs, free=instructions)
    built.save("data/raw/metricinstruct")

Source: TIGERScore, section 3 and appendices A.1 to A.7.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.engines import Engine, Sampling, complete
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.judge import ChatFormat, make_sampling
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.evaluators.tigerscore import AnalysisCheck, TigerScoreReferenceBased, find_task
from nlgeval_lib.training import metricinstruct_candidates as candidates
from nlgeval_lib.training import statistics
from nlgeval_lib.training.metricinstruct_candidates import Candidate
from nlgeval_lib.training.pipeline import Filters, Pipeline, Rule, TrainingSet, fill, no_text

TWO_STEP, WITH_ASPECTS, FREE = "two-step", "table_18", "table_19"
_TEXTS = ("instruction", "reference", "input", "output", "dataset", "system_id", "input_id")
_ALSO = {"input": "source", "reference": "references"}
# five draws by top-p sampling; the paper gives neither p nor the temperature
SAMPLING = MappingProxyType({"temperature": 1.0, "top_p": 0.9, "max_tokens": 512, "n": 5})
_ANALYSIS = "The output leaves out a detail of the source (minor) and changes a date (major)."
_SPOILED = (
    "Generated incorrect output:\nA text.\nError location 1: text\nError aspect 1: Accuracy\n"
    "Explanation 1: It is wrong.\nSeverity 1: major\nScore reduction 1: 4"
)


# -- outputs of systems ------------------------------------------------------------------------------------------------


def sample_outputs(
    frame: pd.DataFrame,
    systems: Mapping[str, Engine],
    *,
    store: Store | None = None,
    sampling: Sampling | Mapping[str, Any] | None = None,
    progress: Any = None,
) -> pd.DataFrame:
    """What each system writes for each input: the rows of `frame` once a system and draw, with `system_id`, `draw`,
    `output` and `failure` (why an output is empty).

    A system gets the instruction and, on the next lines, the input. `frame` has `instruction` and `source` or `input`.
    Raises: ValueError for a missing column; EngineError.
    Source: TIGERScore, section 3.2 (five samples by top-p sampling).
    """
    column = next((name for name in ("source", "input") if name in frame.columns), None)
    if "instruction" not in frame.columns or column is None:
        raise ValueError(f"instruction, and source or input, are needed; columns: {', '.join(map(str, frame.columns))}")
    rows, form = frame.to_dict("records"), ChatFormat.named("messages")
    texts = ["\n".join(filter(None, (row["instruction"], row[column]))) for row in rows]
    requests = [form.request(text, str(place)) for place, text in enumerate(texts)]
    made = []
    for name, engine in systems.items():
        answers = complete(engine, requests, make_sampling(SAMPLING, sampling), store, progress)
        for row, draws in zip(rows, answers, strict=True):
            for draw, completion in enumerate(draws):
                failure = no_text(completion)
                told = {"output": "" if failure else completion.text.strip(), "failure": failure}
                made.append({**row, "system_id": name, "draw": draw, **told})
    added = ["system_id", "draw", "output", "failure"]
    return pd.DataFrame(made, columns=[*frame.columns.difference(added, sort=False), *added])


def least_likely(frame: pd.DataFrame, metric: Any, keep: int = 1) -> tuple[pd.DataFrame, Filters]:
    """The outputs that a likelihood metric ranks lowest, `keep` for each input and system, and what was passed over.

    metric: anything with `score(frame)` that gives a `value`, such as `BartScore`. Outputs that are empty or without a
    value are removed and counted as such; of equal values the earlier draw stays. The column `likelihood` is added.
    Raises: ValueError for a missing column.
    Source: TIGERScore, section 3.2 (BARTScore; lower is taken to hold more errors).
    """
    by = ["input_id", "system_id"]
    if missing := [name for name in (*by, "output") if name not in frame.columns]:
        raise ValueError(f"no column {', '.join(missing)}; the frame has {', '.join(map(str, frame.columns))}")
    frame = frame.reset_index(drop=True)
    names = frame[by].astype(str).agg("/".join, axis=1)
    filters: Filters[int] = Filters(lambda row: f"{names[row]}#{row}", lambda row: "all")

    def passing(name: str, says: str, reasons: pd.Series, origin: str = "paper") -> list[int]:
        return filters.apply([Rule(name, says, reasons.get, origin)], reasons.index)

    empty = frame["output"].str.strip().eq("").map({True: "empty", False: ""})
    scored = metric.score(frame.loc[passing("no_output", "the system wrote nothing", empty)])
    reasons = scored["reason"].replace("", "no value").where(scored["value"].isna(), "")
    rows = passing("no_likelihood", "the metric gives no value", reasons, "ours")
    part = frame.loc[rows].assign(likelihood=scored["value"].loc[rows].astype(float))
    ranks = part.groupby(by, sort=False)["likelihood"].rank(method="first")
    above = ranks.map(lambda rank: f"{rank:g}. from the bottom" if rank > keep else "")
    rows = passing("likelier", f"not among the {keep} least likely of an input and system", above)
    return part.loc[rows].reset_index(drop=True), filters


def candidates_of(frame: pd.DataFrame | None, channel: str, template: str, teacher: str = "") -> list[Candidate]:
    """A candidate for each row: `task`, `instruction`, `source` or `input`, `reference` or `references`; for the real
    channel also `output`. `dataset`, `system_id` and `input_id` are kept; a missing text is empty. None: no candidates.

    Raises: ValueError for a missing column or an unknown task.
    """
    if frame is None:
        return []
    where = {name: next((c for c in (_ALSO.get(name), name) if c in frame.columns), None) for name in (*_TEXTS, "task")}
    needed = ("instruction", "reference", *(["output"] if channel == "real" else []), "task")
    if missing := [name for name in needed if where[name] is None]:
        raise ValueError(f"no column {', '.join(missing)}; the frame has {', '.join(map(str, frame.columns))}")
    made = []
    for place, row in enumerate(frame.to_dict("records")):
        values: dict[str, Any] = {name: _text(row.get(column)) for name, column in where.items()}
        name = values.pop("input_id") or str(place)
        if channel == "synthetic":
            values |= {"output": "", "system_id": teacher}
        id = "/".join(filter(None, (channel, template, name, values["system_id"])))
        values |= {"task": find_task(row["task"]).label, "free": template == FREE}
        made.append(Candidate(id=f"{id}#{place}", channel=channel, template=template, **values))
    return made


def _text(value: Any) -> str:
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        value = value[0] if len(value) else ""
    return value if isinstance(value, str) else ""


# -- the set and its pipeline ------------------------------------------------------------------------------------------


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
        lengths = (frame["prompt"] + "\n" + frame["completion"]).map(candidates.tokens)
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
        teacher = f"Teacher: `{self.facts.get('teacher', '')}`. Lengths are characters divided by four."
        return [f"{kept + removed:,} candidates, {removed:,} removed, {kept:,} kept.", teacher]

    def report(self) -> dict[str, Any]:
        """Counts, filters and statistics as plain values; the channels by task."""
        report = super().report()
        tables = report.pop("statistics")
        if channels := tables.pop("Channels (Table 2)", []):
            report["channels"] = {row.pop("index"): row for row in channels}
        return {**report, "statistics": tables}


@dataclass(kw_only=True)
class MetricInstruct(Pipeline[Built]):
    """The pipeline of TIGERScore's training set, with any engine as the teacher.

    label: what stands before the reference in the prompts that print it bare. most_errors: errors of a synthetic
    output, at most. balance: aspects of synthetic errors are drawn where errors are rare so far. check: the second
    question, whether an analysis is reasonable. limits: thresholds of `candidates.heuristic_rules`. seed: of the draws.
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
        candidates.heuristic_rules(**self.limits)  # a wrong limit is an error now, not after the first stage

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
        own = {
            "real": candidates_of(real, "real", TWO_STEP),
            "synthetic, chosen aspects": candidates_of(synthetic, "synthetic", WITH_ASPECTS, teacher),
            "synthetic, free aspects": candidates_of(free, "synthetic", FREE, teacher),
        }
        found, aspects, freely = (filters.apply(candidates.input_rules(), part) for part in own.values())
        heuristics = candidates.heuristic_rules(**self.limits)

        # who is asked about a system's output, with the reference in view: freely, then as JSON (Tables 11 to 17)
        by_task = {task: TigerScoreReferenceBased(task=task, label=self.label) for task in {one.task for one in found}}
        judges = [by_task[one.task] for one in found]
        asked = [request for judge, one in zip(judges, found, strict=True) for request in judge.requests(one.sample())]
        first = yield Stage("analyse", asked, self.sampling, _ANALYSIS)
        again = [
            judge.second(one.sample(), draws[0].text)
            for judge, one, draws in zip(judges, found, first, strict=True)
            if not no_text(draws[0])
        ]
        second = iter((yield Stage("format", again, self.sampling, TigerScoreReferenceBased.stand_in)))
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
            kept = filters.apply(candidates.check_rules(verdicts), kept)
        after = Counter((one.task, error.aspect) for one in kept for error in one.errors if not one.free)
        even: dict[str, dict[str, float]] = {}
        for task in dict.fromkeys(one.task for one in itertools.chain(*own.values())):
            for name, count in (("real only", have), ("whole set", after)):
                share = evenness(count[task, aspect] for aspect in find_task(task).aspects)
                even.setdefault(task, {})[name] = share
        facts = {"candidates": {name: len(part) for name, part in own.items()}, "kept": len(kept)}
        return Built(kept, filters, self.facts(teacher) | facts | {"aspect_evenness": even})


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
