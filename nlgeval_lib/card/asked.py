"""A judge is asked about sets for its card: planned before, stored, resumable."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib.card import judged as sets
from nlgeval_lib.card import paired, probes
from nlgeval_lib.card.cards import Card, made
from nlgeval_lib.card.judged import Judged
from nlgeval_lib.card.paired import Paired
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.evaluators.prometheus import Rubric
from nlgeval_lib.evaluators.stages import Stage
from nlgeval_lib.prompts import prompt_files
from nlgeval_lib.scoring import Job, ProgressBar, prepared
from nlgeval_lib.scoring.asking import Run
from nlgeval_lib.scoring.cells import InputError
from nlgeval_lib.scoring.named import EngineChoice
from nlgeval_lib.scoring.rows import of_frame
from nlgeval_lib.scoring.tally import Tally

REPEATED_AT = 1.0  # the temperature of repeats of a judge that is greedy


@dataclass(frozen=True)
class Design:
    """What is asked: about so many outputs a set (`items`, None: all), how often each
    (`repeat`), and whether about changed outputs too.

    price: of a million prompt and a million new tokens.
    """

    items: int | None = None
    seed: int = 0
    repeat: int = 1
    probes: bool = False
    price: tuple[float, float] | None = None


@dataclass
class Asking:
    """A judge, the sets, and what is asked of them.

    evaluator, engine, store: as a `scoring.Job` has them. outcome: what became of all
    completions.
    """

    evaluator: Any
    engine: Any
    store: Any
    data: Sequence[Any]
    design: Design
    scale: tuple[float, float] | None = None
    title: str = ""
    outcome: Run = field(default_factory=Run)

    def __post_init__(self) -> None:
        design = self.design
        chosen: list[Any] = []
        for part in self.data:
            sample = paired.sampled if isinstance(part, Paired) else sets.sampled
            chosen.append(sample(part, design.items, design.seed))
        self.data = chosen
        self.scale = self.scale or _scale_of(self.evaluator)
        if isinstance(self.evaluator, Judge) and design.repeat > 1:
            self.evaluator = copy.copy(self.evaluator)
            sampling = self.evaluator.sampling
            # greedy draws would all be the same
            temperature = sampling.temperature or REPEATED_AT
            self.evaluator.sampling = replace(
                sampling, n=design.repeat, temperature=temperature
            )

    @property
    def name(self) -> str:
        return str(getattr(self.evaluator, "name", "judge"))

    @property
    def of_pairs(self) -> bool:
        """Whether the judge is shown two outputs."""
        return "output_1" in getattr(self.evaluator, "needs", ())

    def job(self, part: Judged | Paired) -> Job:
        """The job that scores a set.

        Raises: InputError for a judge of pairs and a set of single outputs.
        """
        texts = part.frame
        if isinstance(part, Paired):
            if not self.of_pairs:
                texts = paired.as_rows(part)
        elif self.of_pairs:
            raise InputError(
                f"{self.name} compares two outputs, and {part.name} rates single ones; "
                "give a prompt with {output}, or a set of pairs such as --data llmbar"
            )
        rated = [
            name
            for name in texts
            if str(name).startswith("rater_") or name in ("human", "preference")
        ]
        rows = of_frame(texts.drop(columns=rated), part.name)
        job = Job(self.name, rows, self.evaluator, run=Run())
        job.engine = self.engine
        job.store = self.store
        job.skip_incomplete = True
        return job

    def planned(self) -> list[Stage]:
        """Every stage that the card asks for, none of them asked, under the name of its
        set, and of its probe.
        """
        stages = []
        for part in self.data:
            named_parts = {part.name: part}
            for name, changed in self._changed(part).items():
                named_parts[f"{part.name}, {name}"] = changed
            for name, changed in named_parts.items():
                for stage in self.job(changed).planned():
                    stages.append(replace(stage, name=f"{name}: {stage.name}"))
        return stages

    def check(self) -> None:
        """Pass where every set has what the judge needs, before anything is asked.

        Raises: InputError.
        """
        for part in self.data:
            self.job(part).check()

    def card(self, quiet: bool = False) -> Card:
        """Ask, and make the card.

        Raises: EngineError; Unavailable; KeyboardInterrupt with every finished
        completion stored.
        """
        self.check()
        judged: list[Judged | Paired] = []
        effects = {}
        for part in self.data:
            if isinstance(part, Paired):
                judged.append(self._scored_pairs(part, quiet))
                continue
            scored = self._scored(part, quiet)
            probed = {}
            for name, changed in self._changed(part).items():
                probed[name] = self._scored(changed, quiet)
            effects[part.name] = probes.effects(scored, probed)
            judged.append(scored)
        model = judged[0].facts.get("model", "")
        title = self.title or f"Judge card: {self.name} {model}".strip()
        identity = {
            name: value
            for name, value in judged[0].facts.items()
            if name not in ("cost", "input", "input_sha256", "columns", "rows")
        }
        return made(
            title, identity, judged, effects, (self.evaluator, self.engine, self.store)
        )

    def _changed(self, part: Judged | Paired) -> dict[str, Judged]:
        if not self.design.probes or isinstance(part, Paired):
            return {}
        return probes.changed(part, self.design.seed)

    def _scored(self, part: Judged, quiet: bool) -> Judged:
        """The set with the judge's scores, and what these took."""
        scores, facts = self._asked(part, quiet)
        own = ["value", "status", "reason", "details"]
        frame = part.frame.drop(columns=own, errors="ignore")
        frame = pd.concat([frame, scores], axis=1)
        beside = sets.known_judges(part)
        return replace(part, frame=frame, scale=self.scale, facts=facts, beside=beside)

    def _scored_pairs(self, part: Paired, quiet: bool) -> Paired:
        """The pairs with the judge's verdicts."""
        scores, facts = self._asked(part, quiet)
        part = replace(part, facts=facts)
        if not self.of_pairs:
            return paired.from_scores(part, scores)
        columns: dict[str, list[float]] = {}
        for order in paired.ORDERS:
            verdicts = [details.get(order, np.nan) for details in scores["details"]]
            columns[order] = verdicts
        return replace(part, frame=part.frame.assign(**columns))

    def _asked(
        self, part: Judged | Paired, quiet: bool
    ) -> tuple[pd.DataFrame, dict[str, Any]]:
        """The scores of a set's rows, and who answered and what it took."""
        job = self.job(part)
        job.run.raw = []
        began = time.monotonic()
        scores = job.score(ProgressBar(job.name, quiet=quiet))
        seconds = time.monotonic() - began
        tally = Tally()
        tally.add(scores)
        self.outcome.failures += job.run.failures
        self.outcome.counts.update(job.run.counts)
        record = job.record(tally)
        facts = {name: record[name] for name in record if name in _FACTS}
        if isinstance(self.evaluator, Judge):
            facts["temperature"] = self.evaluator.sampling.temperature
            facts["draws"] = self.evaluator.sampling.n
        facts["cost"] = self._cost(job.run, seconds, len(scores))
        return scores.reset_index(drop=True), facts

    def _cost(self, run: Run, seconds: float, judgments: int) -> dict[str, Any]:
        """Tokens, seconds and money of 1,000 judgments."""
        if not run.raw:
            return {}
        thousand = 1000 / judgments
        prompt = sum(record["prompt_tokens"] or 0 for record in run.raw) * thousand
        new = sum(record["completion_tokens"] or 0 for record in run.raw) * thousand
        cost: dict[str, Any] = {"prompt_tokens": prompt, "new_tokens": new}
        asked_now = run.counts["done"]
        if asked_now:
            cost["seconds"] = seconds / asked_now * len(run.raw) * thousand
        if self.design.price:
            price_in, price_out = self.design.price
            cost["money"] = (prompt * price_in + new * price_out) / 1e6
        return cost


_FACTS = (
    "evaluator",
    "model",
    "revision",
    "engine",
    "model_named_by_server",
    "about",
    "signature",
    "extra_body",
)


def load(data: Any) -> Judged | Paired:
    """A set by name or as a frame, graded or of pairs."""
    if isinstance(data, Judged | Paired):
        return data
    return paired.of(data) if paired.is_pairs(data) else sets.rated(data)


def of(
    judge: Any,
    data: Iterable[Any],
    engine: Any = None,
    *,
    store: Any = None,
    scale: tuple[float, float] | None = None,
    title: str = "",
    quiet: bool = True,
    **design: Any,
) -> Card:
    """The card of a judge: it is asked about each set through engine and store.

    judge: an evaluator. data: names of sets, or frames with ratings. design: `items`,
    `seed`, `repeat`, `probes`, `price`, as `Design` has them.
    Raises: InputError where a set lacks what the judge needs; EngineError.
    """
    parts = [load(part) for part in data]
    engine = engine or getattr(judge, "engine", None)
    asking = Asking(judge, engine, store, parts, Design(**design), scale, title)
    return asking.card(quiet)


def named(
    name: str,
    settings: Sequence[str],
    data: Sequence[Any],
    choice: EngineChoice,
    design: Design,
    *,
    prompt: str = "",
    rubric: str = "",
    scale: tuple[float, float] | None = None,
) -> Asking:
    """What a command line asks for: an evaluator by its name, or a prompt in a file.

    Raises: InputError; EngineError; Unavailable.
    """
    given: dict[str, Any] = {}
    if prompt:
        of_pairs = prompt_files.read(prompt).of_pairs
        name = "preference" if of_pairs else "prompted"
        given = {"prompt": prompt}
        if not of_pairs:
            if scale is None:
                raise InputError(
                    "a prompt that rates needs the lowest and the highest score: "
                    "--scale 1-5"
                )
            low, high = scale
            given |= {"low": _whole(low), "high": _whole(high)}
    if rubric:
        given["rubric"] = Rubric.read(rubric)
    first = data[0]
    rows = first.frame
    if isinstance(first, Paired) and name != "preference":
        rows = paired.as_rows(first)
    job = prepared(
        of_frame(rows, first.name),
        name,
        settings,
        choice,
        skip_incomplete=True,
        given=given,
    )
    asking = Asking(job.evaluator, job.engine, job.store, data, design, scale)
    asking.check()
    return asking


def _whole(number: float) -> float:
    return int(number) if number == int(number) else number


def _scale_of(evaluator: Any) -> tuple[float, float] | None:
    """The scale of an evaluator that names one."""
    for holder in (evaluator, getattr(evaluator, "task", None)):
        low = getattr(holder, "low", None)
        high = getattr(holder, "high", None)
        if isinstance(low, int | float) and isinstance(high, int | float):
            return float(low), float(high)
    if getattr(evaluator, "name", "") == "prometheus":
        return 1.0, 5.0
    return None
