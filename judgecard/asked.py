"""A judge is asked about sets for its card: planned before, stored, resumable."""

from __future__ import annotations

import copy
import importlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from judgecard import fingerprint, judged, paired, probes
from judgecard.cards import Card, of_sets
from judgecard.judged import Judged
from judgecard.pair_judges import ORDERS
from judgecard.paired import Paired
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
# What a job's record says of who answered, as the card keeps it.
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
_OF_STATISTICS = ("scipy", "statsmodels")  # what a card's numbers need


@dataclass(frozen=True)
class Design:
    """What is asked.

    items: about so many outputs of a set of ratings, so many pairs of a set of pairs;
        None: all.
    seed: of the sample and of the probes.
    repeat: how often each judgment is asked.
    probes: whether changed outputs are asked about too; pairs have no probes.
    price: of a million prompt tokens and of a million new tokens; None: money is not
        counted.
    """

    items: int | None = None
    seed: int = 0
    repeat: int = 1
    probes: bool = False
    price: tuple[float, float] | None = None


@dataclass
class Asking:
    """A judge, the sets, and what is asked of them.

    evaluator, engine, store: as a `scoring.Job` has them. A judge that is asked again
        (`design.repeat`) is replaced by a copy that draws so often.
    data: `Judged` and `Paired` sets; they are replaced by their samples.
    design: how much is asked.
    scale: lowest and highest score of the judge; None: that which the evaluator names,
        where it names one.
    title: of the card; "": made of the names of judge and model.
    outcome: what became of all completions.
    bar: makes what shows the progress, of a name and whether it is quiet.
    Raises: InputError where a sample would have fewer than three inputs.
    """

    evaluator: Any
    engine: Any
    store: Any
    data: Sequence[Any]
    design: Design
    scale: tuple[float, float] | None = None
    title: str = ""
    outcome: Run = field(default_factory=Run)
    bar: Callable[[str, bool], ProgressBar] = ProgressBar

    def __post_init__(self) -> None:
        size = self.design.items, self.design.seed
        samples: list[Any] = []
        for data_set in self.data:
            if isinstance(data_set, Paired):
                samples.append(paired.sampled(data_set, *size))
            else:
                samples.append(judged.sampled(data_set, *size))
        self.data = samples
        self.scale = self.scale or _scale_of(self.evaluator)
        if isinstance(self.evaluator, Judge) and self.design.repeat > 1:
            self.evaluator = _repeating(self.evaluator, self.design.repeat)

    @property
    def name(self) -> str:
        """The evaluator's name; "judge" where it has none."""
        return str(getattr(self.evaluator, "name", "judge"))

    @property
    def of_pairs(self) -> bool:
        """Whether the judge is shown two outputs."""
        return "output_1" in getattr(self.evaluator, "needs", ())

    def job(self, data_set: Judged | Paired) -> Job:
        """The job that scores a set; it is not started.

        A judge of single outputs is shown both outputs of a pair, one by one.

        Raises: InputError for a judge of pairs and a set of single outputs.
        """
        frame = data_set.frame
        if isinstance(data_set, Paired):
            if not self.of_pairs:
                frame = paired.as_rows(data_set)
        elif self.of_pairs:
            raise InputError(
                f"{self.name} compares two outputs, and {data_set.name} rates single "
                "ones; give a prompt with {output}, or a set of pairs such as "
                "--data llmbar"
            )
        # the judge must not see what people said
        names = frame.columns.astype(str)
        is_rating = names.str.startswith("rater_")
        is_rating |= names.isin(["human", "preference"])
        rows = of_frame(frame.loc[:, ~is_rating], data_set.name)
        job = Job(self.name, rows, self.evaluator, run=Run())
        job.engine = self.engine
        job.store = self.store
        job.skip_incomplete = True
        return job

    def planned(self) -> list[Stage]:
        """Every stage that the card asks for, none of them asked: its name begins with
        those of its set and, about changed outputs, of its probe.
        """
        stages: list[Stage] = []
        for data_set in self.data:
            stages += self._stages(data_set, data_set.name)
            for probe, changed in self._changed(data_set).items():
                stages += self._stages(changed, f"{data_set.name}, {probe}")
        return stages

    def _stages(self, data_set: Judged | Paired, name: str) -> list[Stage]:
        """The stages of one set; name: what stands before the name of each."""
        stages = []
        for stage in self.job(data_set).planned():
            stages.append(replace(stage, name=f"{name}: {stage.name}"))
        return stages

    def check(self) -> None:
        """Pass where every set has what the judge needs, before anything is asked.

        Raises: InputError for a set that lacks it.
        """
        for data_set in self.data:
            self.job(data_set).check()

    def card(self, quiet: bool = False) -> Card:
        """Ask, and make the card.

        Raises: InputError where a set lacks what the judge needs; EngineError;
        Unavailable; ModuleNotFoundError, before anything is asked, where a package of
        the statistics is missing; KeyboardInterrupt with every finished completion
        stored.
        """
        for package in _OF_STATISTICS:
            importlib.import_module(package)
        self.check()
        judged_sets: list[Judged | Paired] = []
        effects = {}
        for data_set in self.data:
            if isinstance(data_set, Paired):
                judged_sets.append(self._scored_pairs(data_set, quiet))
                continue
            scored = self._scored(data_set, quiet)
            judged_sets.append(scored)
            probed = {}
            for probe, changed in self._changed(data_set).items():
                probed[probe] = self._scored(changed, quiet)
            effects[data_set.name] = probes.effects(scored, probed)
        # who answered is the same for all sets; what it took belongs to each set alone
        identity = {**judged_sets[0].facts}
        del identity["cost"]
        title = self.title
        if not title:
            title = f"Judge card: {self.name} {identity.get('model', '')}".strip()
        resources = (self.evaluator, self.engine, self.store)
        made = of_sets(title, identity, judged_sets, effects, resources)
        fields = self.fingerprint(identity)
        return replace(made, numbers={**made.numbers, "fingerprint": fields})

    def fingerprint(self, facts: Mapping[str, Any]) -> fingerprint.Fingerprint:
        """Who is asked, and about what. facts: of who answered."""
        fields = fingerprint.of_judge(self.evaluator, self.engine, facts)
        fields["data"] = fingerprint.of_data(self.data)
        return fields

    def keep_distinct(self) -> int:
        """Leave out the rows of the first set about which the judge would be asked what
        it is asked about another: they share one answer.

        Returns: how many are left out.
        Raises: InputError for a judge that does not ask once a row.
        """
        data_set = self.data[0]
        requests = self.job(data_set).planned()[0].requests
        if len(requests) != len(data_set.frame):
            raise InputError(
                f"{len(requests)} requests for {len(data_set.frame)} rows: a watch is "
                "for a judge that asks once a row, and rows that have all it needs"
            )
        first: dict[bytes, int] = {}
        for row, request in enumerate(requests):
            first.setdefault(request.digest(), row)
        frame = data_set.frame.iloc[[*first.values()]].reset_index(drop=True)
        self.data = [replace(data_set, frame=frame)]
        return len(requests) - len(first)

    def looked(self, store: Any, quiet: bool = False) -> pd.DataFrame:
        """Ask about the first set, whose outputs are graded, anew.

        store: what has the completions of this look, and of no other.
        Returns: the rows with `value` and `status`.
        Raises: as `card`.
        """
        self.store = store
        return self._scored(self.data[0], quiet).frame

    def _changed(self, data_set: Judged | Paired) -> dict[str, Judged]:
        """The set as each probe changes it, by the probe's name."""
        if not self.design.probes or isinstance(data_set, Paired):
            return {}
        return probes.changed(data_set, self.design.seed)

    def _scored(self, data_set: Judged, quiet: bool) -> Judged:
        """The set with the judge's scores, and what these took."""
        scores, facts = self._answers(data_set, quiet)
        # a set may have been judged before: its old answers go
        columns = ["value", "status", "reason", "details"]
        frame = data_set.frame.drop(columns=columns, errors="ignore")
        return replace(
            data_set,
            frame=pd.concat([frame, scores], axis=1),
            scale=self.scale,
            facts=facts,
            other_judges=judged.known_judges(data_set),
        )

    def _scored_pairs(self, data_set: Paired, quiet: bool) -> Paired:
        """The pairs with the judge's verdicts."""
        scores, facts = self._answers(data_set, quiet)
        data_set = replace(data_set, facts=facts)
        if not self.of_pairs:
            return paired.from_scores(data_set, scores)
        frame = data_set.frame.copy()
        for order in ORDERS:
            verdicts = []
            for details in scores["details"]:
                verdicts.append(details.get(order, np.nan))
            frame[order] = verdicts
        return replace(data_set, frame=frame)

    def _answers(
        self, data_set: Judged | Paired, quiet: bool
    ) -> tuple[pd.DataFrame, dict[str, Any]]:
        """The scores of a set's rows, and who answered and what it took."""
        job = self.job(data_set)
        job.run.raw = []
        progress = self.bar(job.name, quiet)
        began = time.monotonic()
        scores = job.score(progress)
        seconds = time.monotonic() - began
        # the caller sees the failures of all sets together
        self.outcome.failures += job.run.failures
        self.outcome.counts.update(job.run.counts)
        record = job.record(Tally(scores))
        facts = {name: record[name] for name in record if name in _FACTS}
        if isinstance(self.evaluator, Judge):
            sampling = self.evaluator.sampling
            facts["temperature"] = sampling.temperature
            facts["draws"] = sampling.n
        facts["cost"] = self._cost(job.run, seconds, len(scores))
        return scores.reset_index(drop=True), facts

    def _cost(self, run: Run, seconds: float, judgments: int) -> dict[str, Any]:
        """What 1,000 judgments take."""
        if not run.raw:
            return {}
        thousand = 1000 / judgments
        prompt_tokens = 0
        new_tokens = 0
        for record in run.raw:
            prompt_tokens += record["prompt_tokens"] or 0
            new_tokens += record["completion_tokens"] or 0
        cost: dict[str, Any] = {
            "prompt_tokens": prompt_tokens * thousand,
            "new_tokens": new_tokens * thousand,
        }
        if run.counts["done"]:
            # what was stored before took no time here
            seconds_each = seconds / run.counts["done"]
            cost["seconds"] = seconds_each * len(run.raw) * thousand
        if self.design.price:
            price_in, price_out = self.design.price
            money_in = cost["prompt_tokens"] * price_in
            money_out = cost["new_tokens"] * price_out
            cost["money"] = (money_in + money_out) / 1e6
        return cost


def _repeating(judge: Judge, repeat: int) -> Judge:
    """A copy of the judge that draws each judgment so often."""
    judge = copy.copy(judge)
    # greedy draws would all be the same
    temperature = judge.sampling.temperature or REPEATED_AT
    judge.sampling = replace(judge.sampling, n=repeat, temperature=temperature)
    return judge


def load(data: Any) -> Judged | Paired:
    """A set by its name or as a frame, graded or of pairs.

    data: a name of `nlgeval data`; a frame as `judged.rated` or `paired.load_paired`
        takes it; a `Judged` or `Paired`, which is given back.
    Raises: InputError for rows without ratings; UnknownName; DataUnavailable.
    """
    if isinstance(data, Judged | Paired):
        return data
    if paired.is_pairs(data):
        return paired.load_paired(data)
    return judged.rated(data)


def make_card(
    judge: Any,
    data: Iterable[Any],
    engine: Any = None,
    *,
    store: Any = None,
    scale: tuple[float, float] | None = None,
    title: str = "",
    quiet: bool = True,
    items: int | None = None,
    seed: int = 0,
    repeat: int = 1,
    probes: bool = False,
    price: tuple[float, float] | None = None,
) -> Card:
    """The card of a judge: it is asked about each set through engine and store.

    data: names of sets, or frames with ratings.
    engine: what asks the model; None: the judge's own.
    store: what keeps the completions; None keeps nothing.
    scale: lowest and highest score; None: that which the evaluator names.
    title: of the card; "": made of the names of judge and model.
    items, seed, repeat, probes, price: as `Design` has them.
    Raises: InputError where a set lacks what the judge needs; EngineError.
    """
    data_sets = [load(data_set) for data_set in data]
    engine = engine or getattr(judge, "engine", None)
    design = Design(items, seed, repeat, probes, price)
    asking = Asking(judge, engine, store, data_sets, design, scale, title)
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

    name, settings: of the evaluator, these as `name=value` texts; a prompt decides the
        name.
    prompt, rubric: files; "": none.
    scale: lowest and highest score; needed for a prompt that rates.
    Returns: the judge and the sets, checked; nothing is asked yet.
    Raises: InputError; EngineError; Unavailable.
    """
    options: dict[str, Any] = {}
    if prompt:
        name, options = _of_prompt(prompt, scale)
    if rubric:
        options["rubric"] = Rubric.read(rubric)
    # the evaluator is made for the rows of the first set; `check` looks at all of them
    frame = data[0].frame
    if isinstance(data[0], Paired) and name != "preference":
        frame = paired.as_rows(data[0])
    rows = of_frame(frame, data[0].name)
    job = prepared(rows, name, settings, choice, skip_incomplete=True, given=options)
    asking = Asking(job.evaluator, job.engine, job.store, data, design, scale=scale)
    asking.check()
    return asking


def _of_prompt(
    path: str, scale: tuple[float, float] | None
) -> tuple[str, dict[str, Any]]:
    """The name of the evaluator that a prompt in a file needs, and its options."""
    if prompt_files.read(path).of_pairs:
        return "preference", {"prompt": path}
    if scale is None:
        raise InputError(
            "a prompt that rates needs the lowest and the highest score: --scale 1-5"
        )
    low, high = (int(end) if end == int(end) else end for end in scale)
    return "prompted", {"prompt": path, "low": low, "high": high}


def _scale_of(evaluator: Any) -> tuple[float, float] | None:
    """Lowest and highest score of an evaluator, where it or its task names them."""
    task = getattr(evaluator, "task", None)
    for holder in (evaluator, task):
        low = getattr(holder, "low", None)
        high = getattr(holder, "high", None)
        if isinstance(low, int | float) and isinstance(high, int | float):
            return float(low), float(high)
    if getattr(evaluator, "name", "") == "prometheus":
        return 1.0, 5.0
    return None
