"""One run of an evaluator over rows: what it is made of, and how every row gets its score or a reason."""

from __future__ import annotations

import contextlib
import dataclasses
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
from nlgeval_lib.engines.keys import draw_keys
from nlgeval_lib.evaluators import score_frame
from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.evaluators.metric import PairMetric
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.names import pair
from nlgeval_lib.records import Completion, Judgment, Sample, Status
from nlgeval_lib.scoring import named
from nlgeval_lib.scoring.asking import ProgressBar, Reads, Run, ask
from nlgeval_lib.scoring.named import EngineChoice
from nlgeval_lib.scoring.rows import KNOWN, RATINGS, InputError, Rows, incomplete

# stages whose completions `Judge.parse` reads; in others a judge writes lists, analyses and the like
PARSED = ("score", "criteria", "format")


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

    def notice(self) -> str:
        """What is to be known before the first row is scored, in one line: encoder, draws; "" if nothing."""
        if not self.judge:
            return str(self.evaluator.notice()) if hasattr(self.evaluator, "notice") else ""
        n = self.evaluator.sampling.n
        if n != self.evaluator.defaults.get("n"):  # asked for, or one
            return ""
        return (
            f"{self.name} draws {n} times a row and takes the mean, {n * len(self.data):,} completions; -s n=1 for one"
        )

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

        Raises: ValueError for what the evaluator refuses; EngineError; Unavailable; KeyboardInterrupt with every
        finished completion stored.
        """
        rows, gone = self.rows()
        part = self.data.frame.iloc[rows]
        if self.judge:
            judge = self.evaluator.for_engine(self.engine)
            given = judge.given(part)
            scored = judge.framed(part.index, self._ask(judge.stages(given), judge, given, bar), self.engine)
        else:
            scored = self.evaluator.score(part)
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
        """Fit the evaluator on rated rows. Raises: ValueError where it learns nothing or the rows do not serve."""
        if not hasattr(self.evaluator, "fit"):
            raise InputError(f"{self.name} is not fitted on ratings; leave --fit out")
        bar.start(f"{self.name} training")
        with contextlib.closing(bar):
            self.evaluator.fit(rows.frame, engine=self.engine, store=self.store, progress=bar.report)

    def cross_fit(self, folds: int, bar: ProgressBar) -> pd.DataFrame:
        """As `score`, each row by the evaluator as fitted on the rows of the other folds; an input is in one fold.

        Rows need ratings; those without an `input_id` are told apart by what the judge is shown.
        Raises: InputError for fewer inputs than folds; and as `fit` and `score`.
        """
        frame = self.data.frame
        shown = frame["input_id"] if "input_id" in frame else frame[["output"]].astype(str).agg("".join, axis=1)
        codes, inputs = pd.factorize(shown.astype(str))
        if len(inputs) < folds:
            raise InputError(f"--cross-fit {folds}: {self.data.name} has {len(inputs)} inputs")
        fold = (np.random.default_rng(0).permutation(len(inputs)) % folds)[codes]
        parts, fitted = [], []
        for number in range(folds):
            self.fit(self.data.take(fold != number), bar)
            fitted.append(self.evaluator.fitted_on)
            parts.append(dataclasses.replace(self, data=self.data.take(fold == number)).score(bar))
        self.evaluator.fitted_on = f"{folds} folds by input, {'+'.join(fitted)}"
        whole = pd.concat(parts).loc[frame.index]
        whole.attrs = {**parts[0].attrs, "signature": self.evaluator.signature(self.engine)}
        return whole

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
        """The stages that would be asked, none of them asked. Raises: ValueError for what the evaluator refuses."""
        part = self.data.frame.iloc[self.rows()[0]]
        judge, engine = self.evaluator.for_engine(self.engine), self.engine
        if self.unfitted():
            stages = staged.plan(judge.criteria_stages(judge.given(part), judge.used()), engine, self.store)
        else:
            stages = judge.plan(part, engine, self.store)
        for stage in stages:
            engine.check(stage.sampling)  # what the run would refuse, the plan does
        return stages

    def unfitted(self) -> bool:
        """Whether the evaluator has criteria whose scores nothing joins yet."""
        from nlgeval_lib.evaluators.hdeval import HDEval

        judge = self.evaluator
        return isinstance(judge, HDEval) and not judge.aggregator.fitted and judge.aggregator.needs_ratings

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
            "columns": {n: name for n, name in self.data.theirs.items() if n in KNOWN or n.startswith(RATINGS)},
            "rows": len(scored),
            "statuses": scored["status"].value_counts().to_dict(),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "library": nlgeval_lib.__version__,
            "git": provenance.git(),
            "packages": provenance.packages(),
        }
        if fitted_on := getattr(self.evaluator, "fitted_on", ""):
            found["fitted_on"] = fitted_on
        if self.engine is not None:
            found |= {"engine": self.engine.name, "model": self.engine.model, "revision": self.engine.revision}
            if self.store is not None and (makers := self.store.makers(self.engine.model, self.engine.revision)):
                found["completions_made_by"] = makers
            if served := sorted(getattr(self.engine, "served", ())):
                found["model_named_by_server"] = served
            found |= {name: told for name in ("about", "extra_body") if (told := getattr(self.engine, name, None))}
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
    """A job from the words of a command line; what is wrong about the rows is found before an engine starts.

    ready: an engine that is there already, in place of the chosen one. given: further arguments of the evaluator, as
    they are. A checkpoint that was trained here without rubric, reference or feedback is asked without, unless told.
    Raises: InputError; EngineError; Unavailable; StoreError.
    """
    asks, more = named.asks(name), dict(given or {})
    if asks and not choice.engine:
        raise InputError(f"{name} asks a language model: name one, --engine {'|'.join(named.ENGINES)} --model NAME")
    if not asks and choice.engine:  # one that asks through the store is made before the engine starts
        more["engine"] = choice.start()
    elif not asks and choice.model:
        more["model"] = choice.model
    if name == "prometheus" and not load:
        told = {*more, *(pair(text)[0] for text in settings)}
        settings = [*settings, *(f"{part}=no" for part in _untrained(choice.model) if part not in told)]
    job = Job(name, data, named.evaluator(name, settings, load, **more), skip_incomplete=skip_incomplete)
    job.rows()
    if asks:
        job.store, job.run.ask_again = named.store(choice.store), choice.ask_again
        job.engine = ready if ready is not None else choice.start(job.store)
        if ready is None:
            named.check_stand_in(job.engine, choice.model, job.store, choice.planning)
    return job


def _untrained(model: str) -> list[str]:
    """What the examples of a checkpoint that `finetune` made did not show, by the name of Prometheus' setting."""
    path = Path(model) / "nlgeval.json"
    views = json.loads(path.read_text(encoding="utf-8"))["keep"].get("view", []) if path.is_file() else []
    return [view.removeprefix("no_") for view in views if len(views) == 1 and view.startswith("no_")]
