"""One run of an evaluator over rows: every row gets its score or a reason."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import nlgeval_lib
from nlgeval_lib.engines import Engine
from nlgeval_lib.evaluators import score_frame
from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.evaluators.metric import Metric, PairMetric
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.names import pair
from nlgeval_lib.records import Completion, Judgment, Sample, Status
from nlgeval_lib.scoring import named, provenance, rows
from nlgeval_lib.scoring.asking import ProgressBar, Reads, Run, ask
from nlgeval_lib.scoring.named import EngineChoice
from nlgeval_lib.scoring.rows import InputError, Rows
from nlgeval_lib.scoring.tally import Tally

# The stages whose completions `Judge.parse` reads; in others a judge writes lists,
# analyses and the like.
PARSED = ("score", "criteria", "format")
# what a record counts of the completions
_COUNTED = {
    "completions": ("total", "stored", "done", "failed"),
    "made_now": ("prompt_tokens", "completion_tokens"),
}
# what helps where a column's cells look like lists
_PACKED = {
    "output": "; a row is one output",
    "reference": "; --map references={} reads several",
    "references": "; write several as a JSON list",
}


@dataclass
class Job:
    """Rows, the evaluator, and for one that asks a language model engine and store.

    skip_incomplete: whether a row that lacks something gets a reason in place of a
    score, rather than ending the run.
    remarks: after `check`, which rows are there twice and which columns hold lists that
    are read as one text.
    """

    name: str
    data: Rows
    evaluator: Any
    engine: Any = None
    store: Any = None
    skip_incomplete: bool = False
    run: Run = field(default_factory=Run)
    remarks: str = ""

    @property
    def judge(self) -> bool:
        """Whether the evaluator asks a language model through the store."""
        return isinstance(self.evaluator, Judge)

    def notice(self) -> str:
        """What to know before the first row is scored; "" for nothing."""
        if not self.judge:
            if hasattr(self.evaluator, "notice"):
                return str(self.evaluator.notice())
            return ""
        n = self.evaluator.sampling.n
        if n != self.evaluator.defaults.get("n"):
            return ""
        return (
            f"{self.name} draws {n} times a row and takes the mean, "
            f"{n * len(self.data):,} completions; -s n=1 for one"
        )

    def check(self) -> None:
        """Raise an InputError for a column that is not there, and, unless incomplete
        rows are skipped, for the first row that lacks something.
        """
        reasons = self._incomplete
        if reasons and not self.skip_incomplete:
            message = reasons[min(reasons)]
            message += "; --skip-incomplete leaves it without a score"
            if len(reasons) > 1:
                message += f", and {len(reasons) - 1} more rows"
            raise InputError(message)
        remarks = [rows.repeated(self.data)]
        for ours, number in rows.lists_as_text(self.data).items():
            column = self.data.theirs[ours]
            remarks.append(
                f"{number} of {len(self.data)} cells of {column} look like a list and "
                f"are read as one text{_PACKED[ours].format(column)}"
            )
        self.remarks = "; ".join(filter(None, remarks))

    @functools.cached_property
    def _incomplete(self) -> dict[int, str]:
        """Position -> the reason why a row cannot be scored."""
        if isinstance(self.evaluator, PairMetric):
            needs = ["output", "references"]
            return rows.incomplete(self.data, needs, self.name, empty_is_missing=False)
        if not isinstance(self.evaluator, Judge | Metric):
            return {}
        needs = [*self.evaluator.needs]
        if "output_1" not in needs:  # a judge of pairs is shown two
            needs = ["output", *needs]
        advice = getattr(self.evaluator, "advice", "")  # metrics have none
        return rows.incomplete(self.data, needs, self.name, advice=advice)

    def _complete_rows(self) -> pd.DataFrame:
        frame = self.data.frame
        complete = [row for row in range(len(frame)) if row not in self._incomplete]
        return frame.iloc[complete]  # by place, as several rows may have one label

    def score(self, bar: ProgressBar) -> pd.DataFrame:
        """The scores of every row, in order: `value, status, reason`, perhaps
        `details`.
        """
        frame = self._complete_rows()
        if self.judge:
            judge, samples = self._samples(frame)
            judgments = self._ask(judge.stages(samples), judge, samples, bar)
            scored = judge.framed(frame.index, judgments, self.engine)
        else:
            scored = self.evaluator.score(frame)
        reasons = self._incomplete
        if not reasons:
            return scored
        # Put the rows that were left out back into their places, with their reasons.
        places = self.data.frame.index
        gaps = [Judgment.missing(Status.EMPTY, why) for why in reasons.values()]
        unscored = score_frame(places[list(reasons)], gaps)
        if "details" in scored.columns:
            unscored["details"] = [{} for _ in gaps]
        return _joined([scored, unscored]).loc[places]

    def fit(self, rated: Rows, bar: ProgressBar) -> None:
        """Fit the evaluator on rows with ratings."""
        if not hasattr(self.evaluator, "fit"):
            raise InputError(f"{self.name} is not fitted on ratings; leave --fit out")
        bar.start(f"{self.name} training")
        with contextlib.closing(bar):
            self.evaluator.fit(
                rated.frame, engine=self.engine, store=self.store, progress=bar.report
            )

    def cross_fit(self, folds: int, bar: ProgressBar) -> pd.DataFrame:
        """As `score`, each row by the evaluator as fitted on the rows of the other
        folds; an input (`input_id`, else the output) is in one fold.
        """
        data = self.data
        input_column = "input_id" if "input_id" in data.frame else "output"
        codes, inputs = pd.factorize(data.frame[input_column].astype(str))
        if len(inputs) < folds:
            raise InputError(
                f"--cross-fit {folds}: {data.name} has {len(inputs)} inputs"
            )
        # Inputs, not rows, are dealt out: no input has outputs on both sides.
        order = np.random.default_rng(0).permutation(len(inputs))
        fold = (order % folds)[codes]
        parts = []
        fitted_on = []
        for number in range(folds):
            self.fit(data.take(fold != number), bar)
            fitted_on.append(self.evaluator.fitted_on)
            held_out = dataclasses.replace(self, data=data.take(fold == number))
            parts.append(held_out.score(bar))
        self.evaluator.fitted_on = f"{folds} folds by input, {'+'.join(fitted_on)}"
        scores = _joined(parts).loc[data.frame.index]
        scores.attrs["signature"] = self.evaluator.signature(self.engine)
        return scores

    def fill(self, bar: ProgressBar) -> str:
        """Make and store the completions of all rows; how many scores they give, in
        words.
        """
        if not self.unfitted():
            return Tally(self.score(bar)).lines()[0]
        table = self.criteria(bar)
        count, criteria = table.shape
        read = int(table.notna().to_numpy().sum())
        return (
            f"{count:,} rows x {criteria} criteria: {read:,} of {table.size:,} scores "
            "could be read"
        )

    def criteria(self, bar: ProgressBar) -> pd.DataFrame:
        """The scores of an HD-Eval that is not fitted: rows x criteria, NaN where
        missing.
        """
        from nlgeval_lib.evaluators import hdeval

        frame = self._complete_rows()
        judge, samples = self._samples(frame)
        stages = judge.criteria_stages(samples, judge.used())
        return hdeval.values(self._ask(stages, judge, samples, bar), frame.index)

    def planned(self) -> list[Stage]:
        """The stages that would be asked, none of them asked; what is stored is
        counted.
        """
        judge, samples = self._samples(self._complete_rows())
        if self.unfitted():
            stages: Stages[Any] = judge.criteria_stages(samples, judge.used())
        else:
            stages = judge.stages(samples)
        plan = staged.plan(stages, self.engine, self.store)
        for stage in plan:
            self.engine.check(stage.sampling)
        return plan

    def unfitted(self) -> bool:
        """Whether it is an HD-Eval whose aggregator needs ratings and has none."""
        from nlgeval_lib.evaluators.hdeval import HDEval

        if not isinstance(self.evaluator, HDEval):
            return False
        aggregator = self.evaluator.aggregator
        return aggregator.needs_ratings and not aggregator.fitted

    def _samples(self, frame: pd.DataFrame) -> tuple[Any, list[Sample]]:
        """The judge for this engine, and rows as its samples."""
        judge = self.evaluator.for_engine(self.engine)
        return judge, judge.given(frame)

    def _ask(
        self,
        stages: Stages[Any],
        judge: Judge,
        samples: Sequence[Sample],
        bar: ProgressBar,
    ) -> Any:
        """The result of the stages, asked with a parse rate."""
        # A completion has only its key: its sample is found by the keys of its
        # request's draws. Reversed, so that of samples alike in id the first counts.
        by_id = {sample.id: sample for sample in reversed(samples)}

        def reader(stage: Stage) -> Reads | None:
            if stage.name not in PARSED:
                return judge.list_reader(stage.name)
            by_key: dict[str, Sample | None] = {}  # filled at the first completion

            def reads(completion: Completion) -> bool:
                if not by_key:
                    for request in reversed(stage.requests):
                        for key in request.keys(self.engine, stage.sampling):
                            by_key[key] = by_id.get(request.id)
                judgment = judge.read(completion, by_key.get(completion.key))
                return judgment.status is Status.OK

            return reads

        return ask(stages, judge.name, self.engine, self.store, bar, self.run, reader)

    def record(self, tally: Tally) -> dict[str, Any]:
        """What is recorded beside these scores, as plain values."""
        record: dict[str, Any] = {
            "signature": tally.signature,
            "evaluator": self.name,
            "input": Path(self.data.name).name,
            "input_sha256": self.data.sha256,
            **self.data.plan.recorded(),
            "rows": tally.rows,
            "statuses": dict(tally.statuses.most_common()),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "library": nlgeval_lib.__version__,
            "git": provenance.git(),
            "packages": provenance.packages(),
        }
        # what is left out where it is empty
        further: dict[str, Any] = {
            "missing_values": list(self.data.missing_values),
            "fitted_on": getattr(self.evaluator, "fitted_on", ""),
        }
        record |= _present(further)
        further = {}
        engine = self.engine
        if engine is not None:
            record["engine"] = engine.name
            record["model"] = engine.model
            record["revision"] = engine.revision
            if self.store is not None:
                makers = self.store.makers(engine.model, engine.revision)
                further["completions_made_by"] = makers
            further["model_named_by_server"] = sorted(getattr(engine, "served", ()))
            further["about"] = getattr(engine, "about", None)
            further["extra_body"] = getattr(engine, "extra_body", None)
        counts = self.run.counts
        if counts:
            for name, kinds in _COUNTED.items():
                further[name] = {kind: counts[kind] for kind in kinds}
        if counts["asked_again"]:
            further["completions"]["asked_again"] = counts["asked_again"]
        return record | _present(further)

    def summary(self, tally: Tally) -> list[str]:
        """Coverage, what was asked, the signature: a line each."""
        lines = tally.lines()
        if self.run.counts:
            lines.append(self.run.summary())
        lines.append(f"signature: {tally.signature}")
        return [*lines, *filter(None, [tally.draws_line()])]


def prepared(
    data: Rows,
    name: str,
    settings: Sequence[str],
    choice: EngineChoice,
    *,
    load: str = "",
    skip_incomplete: bool = False,
    ready: Engine | None = None,
    given: Mapping[str, Any] | None = None,
) -> Job:
    """A job from a command line's words; rows are checked before an engine starts.

    name, settings, load, given: as `named.evaluator` has them.
    ready: an engine that is there already, in place of the chosen one.

    A checkpoint that was trained here without rubric, reference or feedback is asked
    without, unless a setting names it.
    """
    asks = named.asks(name)
    arguments = dict(given or {})
    if asks and not choice.engine:
        engines = "|".join(named.ENGINES)
        raise InputError(
            f"{name} asks a language model: name one, --engine {engines} --model NAME"
        )
    if not asks:
        if choice.on:
            raise InputError(
                f"{name} asks no language model through the store; leave --on out"
            )
        if choice.engine:
            arguments["engine"] = choice.start()
        elif choice.model:
            arguments["model"] = choice.model
    if name == "prometheus" and not load:
        settings = [*settings, *_settings_as_trained(choice.model, settings, arguments)]
    evaluator = named.evaluator(name, settings, load, **arguments)
    job = Job(name, data, evaluator, skip_incomplete=skip_incomplete)
    job.check()
    if not asks:
        return job
    job.store = named.store(choice.store)
    job.run.ask_again = choice.ask_again
    if choice.engine != "replay" and not choice.planning:
        named.check_store(job.store)
    job.engine = ready
    if ready is None:
        job.engine = choice.start(job.store)
        named.check_stand_in(job.engine, choice.model, job.store, choice.planning)
    return job


def _settings_as_trained(
    model: str, settings: Sequence[str], arguments: Mapping[str, Any]
) -> list[str]:
    """The setting by which a checkpoint of `finetune` is asked as it was trained, if
    any.
    """
    # what `finetune` writes beside the weights
    record = Path(model) / "nlgeval.json"
    if not record.is_file():
        return []
    views = json.loads(record.read_text(encoding="utf-8"))["keep"].get("view", [])
    if len(views) != 1 or not views[0].startswith("no_"):
        return []
    omitted = views[0].removeprefix("no_")
    names = {*arguments, *(pair(text)[0] for text in settings)}
    return [f"{omitted}=no"] if omitted and omitted not in names else []


def _present(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value}


def _joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Score frames as one, with the attributes of the first."""
    scores = pd.concat(parts) if len(parts) > 1 else parts[0]
    scores.attrs = dict(parts[0].attrs)
    return scores
