"""One run of an evaluator over rows: what it is made of, and how every row gets its score or a reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

import nlgeval_lib
from nlgeval_lib import datasets
from nlgeval_lib.engines import Engine
from nlgeval_lib.engines.store import draw_keys
from nlgeval_lib.evaluators import score_frame
from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.evaluators.metric import PairMetric
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.records import Completion, Judgment, Sample, Status
from nlgeval_lib.scoring import named
from nlgeval_lib.scoring.asking import ProgressBar, Reads, Run, ask
from nlgeval_lib.scoring.named import EngineChoice
from nlgeval_lib.scoring.rows import KNOWN, InputError, Rows, checked, incomplete, of_frame, read

# stages whose completions `Judge.parse` reads; in others a judge writes lists, analyses and the like
PARSED = ("score", "criteria", "format")


@dataclass(frozen=True)
class Source:
    """Where rows come from: a file (`input`), or a data set or file by name (`data`); and what its columns are."""

    input: str = ""
    data: str = ""
    format: str = ""
    delimiter: str = ""
    mapping: Sequence[str] = ()
    fill: Sequence[str] = ()
    limit: int | None = None

    def read(self, instead: str = "") -> Rows:
        """The rows, or with the same settings those of the file `instead`.

        Raises: InputError; DataUnavailable where a data set cannot be had.
        """
        path = instead or self.input
        if bool(path) == bool(self.data) and not instead:
            raise InputError("give either a file (--input) or a data set (--data)")
        if not path and self.data not in datasets.NAMES and Path(self.data).is_file():
            path = self.data
        try:
            found = read(path, self.format, self.delimiter) if path else of_frame(datasets.load(self.data), self.data)
        except datasets.UnknownName as error:
            raise InputError(f"--data: {error}") from None
        found = checked(found, self.mapping, self.fill)
        return found.take(slice(self.limit)) if self.limit else found


@dataclass
class Job:
    """Rows, the evaluator, and for one that asks a language model the engine and the store."""

    name: str
    data: Rows
    evaluator: Any
    engine: Any = None
    store: Any = None
    skip_incomplete: bool = False
    run: Run = field(default_factory=Run)

    @property
    def judge(self) -> bool:
        """Whether the evaluator asks a language model through the store."""
        return isinstance(self.evaluator, Judge)

    def rows(self) -> tuple[list[int], dict[int, str]]:
        """The positions to be scored, and why each of the others is not.

        Raises: InputError for a column that is not there, and, unless incomplete rows are to be skipped, for the first
        row that lacks something.
        """
        gone: dict[int, str] = {}
        if self.judge:
            gone = incomplete(self.data, ("output", *self.evaluator.needs), self.name)
        elif isinstance(self.evaluator, PairMetric):
            gone = incomplete(self.data, ("output", "references"), self.name, empty_is_missing=False)
        if gone and not self.skip_incomplete:
            first, more = next(iter(sorted(gone.items())))[1], len(gone) - 1
            many = f" ({more} more rows lack something; --skip-incomplete leaves them without a score)"
            raise InputError(first + (many if more else "; --skip-incomplete leaves it without a score"))
        return [row for row in range(len(self.data)) if row not in gone], gone

    def score(self, bar: ProgressBar) -> pd.DataFrame:
        """`value, status, reason` and perhaps `details` for every row.

        Raises: InputError for what the evaluator refuses; EngineError; Unavailable; KeyboardInterrupt with every
        finished completion stored.
        """
        rows, gone = self.rows()
        part = self.data.frame.iloc[rows]
        try:
            scored = self._judged(part, bar) if self.judge else self.evaluator.score(part)
        except ValueError as error:
            raise InputError(str(error)) from error
        if not gone:
            return scored
        index = self.data.frame.index
        lost = score_frame(index[sorted(gone)], [Judgment.missing(Status.EMPTY, gone[row]) for row in sorted(gone)])
        if "details" in scored.columns:
            lost["details"] = [{} for _ in range(len(lost))]
        whole = pd.concat([scored, lost]).loc[index]
        whole.attrs = dict(scored.attrs)
        return whole

    def fit(self, rows: Rows, bar: ProgressBar) -> None:
        """Fit the evaluator on rated rows. Raises: InputError where it learns nothing or the rows do not serve."""
        if not hasattr(self.evaluator, "fit"):
            raise InputError(f"{self.name} is not fitted on ratings; leave --fit out")
        bar.start(f"{self.name} training")
        try:
            self.evaluator.fit(rows.frame, engine=self.engine, store=self.store, progress=bar.report)
        except ValueError as error:
            raise InputError(f"{rows.name}: {error}") from error
        finally:
            bar.close()

    def fill(self, bar: ProgressBar) -> str:
        """Make and store the completions of all rows; what could be read from them, in words.

        Raises: as `score`.
        """
        if not self.unfitted():
            return self.summary(self.score(bar))[0]
        table = self.criteria(bar)
        rows, criteria = table.shape
        read = int(table.notna().to_numpy().sum())
        return f"{rows:,} rows x {criteria} criteria: {read:,} of {table.size:,} scores could be read"

    def criteria(self, bar: ProgressBar) -> pd.DataFrame:
        """The scores of every row that can be scored on every criterion of an HD-Eval that is not fitted; NaN: missing.

        Raises: as `score`.
        """
        part = self.data.frame.iloc[self.rows()[0]]
        given = self.evaluator.given(part)
        stages = self.evaluator.criteria_stages(given, self.evaluator.used())
        return self._ask(stages, self.evaluator, given, bar).frame(part.index)

    def planned(self) -> list[Stage]:
        """The stages that would be asked, none of them asked. Raises: InputError for what the evaluator refuses."""
        part = self.data.frame.iloc[self.rows()[0]]
        judge, engine = self._bound(), self.engine
        try:
            if self.unfitted():
                stages = staged.plan(judge.criteria_stages(judge.given(part), judge.used()), engine, self.store)
            else:
                stages = judge.plan(part, engine, self.store)
            for stage in stages:
                engine.check(stage.sampling)  # what the run would refuse, the plan does
            return stages
        except ValueError as error:
            raise InputError(str(error)) from error

    def unfitted(self) -> bool:
        """Whether the evaluator has criteria whose scores nothing joins yet."""
        from nlgeval_lib.evaluators.hdeval import HDEval

        judge = self.evaluator
        return isinstance(judge, HDEval) and not judge.aggregator.fitted and judge.aggregator.needs_ratings

    def _bound(self) -> Any:
        """The judge as it asks this engine: Prometheus chooses its wrapping by the checkpoint."""
        judge: Any = self.evaluator
        return judge.for_engine(self.engine)

    def _judged(self, frame: pd.DataFrame, bar: ProgressBar) -> pd.DataFrame:
        """The score frame of a judge as its own `score` gives it, with what happened on the way noted in `run`."""
        judge = self._bound()
        given = judge.given(frame)
        judgments = self._ask(judge.stages(given), judge, given, bar)
        return judge.framed(frame.index, judgments, self.engine)

    def _ask(self, stages: Stages[Any], judge: Judge, samples: Sequence[Sample], bar: ProgressBar) -> Any:
        """The result of the stages, asked with a parse rate.

        A completion has only its key: the sample that it is about is found by the keys of its request's draws.
        """
        engine = self.engine
        by_id = {sample.id: sample for sample in reversed(samples)}

        def reader(stage: Stage) -> Reads | None:
            about: dict[str, Sample | None] = {}

            def reads(completion: Completion) -> bool:
                if not about:
                    for request in reversed(stage.requests):
                        keys = draw_keys(request.body(engine, stage.sampling), range(stage.sampling.n))
                        about.update(dict.fromkeys(keys, by_id.get(request.id)))
                return judge.read(completion, about.get(completion.key)).status is Status.OK

            return reads if stage.name in PARSED else None

        return ask(stages, judge.name, engine, self.store, bar, self.run, reader)

    # -- what came of it -----------------------------------------------------------------------------------------------

    def record(self, scored: pd.DataFrame) -> dict[str, Any]:
        """What is to be known of these scores: evaluator, engine, input, counts, versions."""
        from nlgeval_lib.scoring import provenance

        found: dict[str, Any] = {
            "signature": scored.attrs.get("signature", ""),
            "evaluator": self.name,
            "input": Path(self.data.name).name,
            "input_sha256": self.data.sha256,
            "columns": {ours: theirs for ours, theirs in self.data.theirs.items() if ours in KNOWN},
            "rows": len(scored),
            "statuses": scored["status"].value_counts().to_dict(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "library": nlgeval_lib.__version__,
            "git": provenance.git(),
            "packages": provenance.packages(),
        }
        if self.engine is not None:
            found |= {"engine": self.engine.name, "model": self.engine.model, "revision": self.engine.revision}
            if served := sorted(getattr(self.engine, "served", ())):
                found["model_named_by_server"] = served
        if self.run.counts:
            found["completions"] = {name: self.run.counts[name] for name in ("total", "stored", "done", "failed")}
            found["made_now"] = {name: self.run.counts[name] for name in ("prompt_tokens", "completion_tokens")}
        return found

    def summary(self, scored: pd.DataFrame) -> list[str]:
        """Coverage, what was asked, the signature: a line each."""
        tally = scored["status"].value_counts()
        ok = int(tally.pop(Status.OK.value)) if Status.OK.value in tally else 0
        said = f"{len(scored):,} rows: {ok:,} scored ({ok / len(scored):.1%})"
        said += "".join(f", {count:,} {status}" for status, count in tally.items())
        values = scored["value"].dropna()
        if len(values):
            said += f"; mean {values.mean():.4g}, from {values.min():.4g} to {values.max():.4g}"
        lines = [said]
        if ok < len(scored):
            reasons = scored.loc[scored["status"] != Status.OK.value, "reason"].value_counts()
            lines.append(f"most frequent reason: {reasons.index[0]}")
        if self.run.counts:
            lines.append(self.run.summary())
            usage = getattr(self.engine, "usage", None)
            if usage is not None and usage.cost:
                lines.append(f"cost: {usage.cost:,.4f}")
        return [*lines, f"signature: {scored.attrs.get('signature', '')}"]

    def code(self, scored: pd.DataFrame, max_missing: float) -> int:
        """The exit code: 1 where completions failed, or more rows than that share have no score; else 0."""
        missing = (scored["status"] != Status.OK.value).mean()
        failed = scored["status"].isin((Status.FAILED.value, Status.UNAVAILABLE.value)).any() or self.run.failures
        return 1 if failed or missing > max_missing else 0


def prepared(
    source: Source,
    name: str,
    settings: Sequence[str],
    choice: EngineChoice,
    *,
    load: str = "",
    skip_incomplete: bool = False,
    before: Callable[[Rows], None] = lambda rows: None,
    ready: Engine | None = None,
    given: dict[str, Any] | None = None,
) -> Job:
    """A job from the words of a command line; what is wrong about the rows is found before an engine starts.

    before: a check of the rows. ready: an engine that is there already, in place of the chosen one. given: further
    arguments of the evaluator, as they are.
    Raises: InputError; EngineError; Unavailable; DataUnavailable; StoreError.
    """
    asks = named.asks(name)
    if asks and not choice.engine:
        raise InputError(f"{name} asks a language model: name one, --engine {'|'.join(named.ENGINES)} --model NAME")
    data = source.read()
    before(data)
    # an evaluator that asks through the store is made before the engine starts
    own = None if asks or not choice.engine else choice.start()
    model = "" if asks or own is not None else choice.model
    made = named.evaluator(name, settings, load=load, engine=own, model=model, given=given)
    job = Job(name, data, made, skip_incomplete=skip_incomplete)
    job.rows()
    if asks:
        job.store = named.store(choice.store)
        job.engine = ready if ready is not None else choice.start(job.store)
        if ready is None:
            named.check_stand_in(job.engine, choice.model, job.store, choice.planning)
    return job
