"""One run of an evaluator over rows: what it is made of, and how every row gets its
score or a reason.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import nlgeval_lib
from nlgeval_lib.engines import Engine
from nlgeval_lib.evaluators import score_frame
from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.evaluators.metric import PairMetric
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.names import pair
from nlgeval_lib.records import Completion, Judgment, Sample, Status
from nlgeval_lib.scoring import cells, named, provenance, rows
from nlgeval_lib.scoring.asking import ProgressBar, Reads, Run, ask
from nlgeval_lib.scoring.named import EngineChoice
from nlgeval_lib.scoring.rows import InputError, Parts, Rows
from nlgeval_lib.scoring.tally import Tally

# stages whose completions `Judge.parse` reads; in others a judge writes lists, analyses
# and the like
if TYPE_CHECKING:
    from nlgeval_lib.scoring.score_files import ScoreFile

PARSED = ("score", "criteria", "format")


@dataclass
class Job:
    """Rows, the evaluator, and for one that asks a language model the engine and the
    store.

    An evaluator scores a part of the rows at a time; one whose scores hang on all of
    them says so: `whole_file = True`.
    """

    name: str
    data: Rows | Parts
    evaluator: Any
    engine: Any = None
    store: Any = None
    skip_incomplete: bool = False
    run: Run = field(default_factory=Run)
    repeated: str = ""

    @property
    def judge(self) -> bool:
        """Whether the evaluator asks a language model through the store."""
        return isinstance(self.evaluator, Judge)

    def notice(self) -> str:
        """What is to be known before the first row is scored, in one line: encoder,
        draws; "" if nothing.
        """
        if not self.judge:
            return (
                str(self.evaluator.notice())
                if hasattr(self.evaluator, "notice")
                else ""
            )
        n = self.evaluator.sampling.n
        said = f"{self.name} draws {n} times a row and takes the mean, {n * len(self.data):,} completions; -s n=1 for one"
        return (
            said if n == self.evaluator.defaults.get("n") else ""
        )  # asked for, or one

    def check(self) -> None:
        """Passes where all rows can be scored; `repeated` then says which are there
        twice.

        Raises: InputError for a column that is not there, and, unless incomplete rows
        are to be skipped, for the first row that lacks something; and as the parts of
        the data do.
        """
        first = ""
        count = 0
        keys = []
        for part in self.data:
            gone = self._lacking(part)
            first = first or (gone[min(gone)] if gone else "")
            count = count + len(gone)
            keys.append(rows.keys_of(part))
        if count and not self.skip_incomplete:
            many = f" ({count - 1} more rows lack something; --skip-incomplete leaves them without a score)"
            raise InputError(
                first
                + (
                    many
                    if count > 1
                    else "; --skip-incomplete leaves it without a score"
                )
            )
        self.repeated = rows.repeated(self.data, keys)

    def _lacking(self, part: Rows) -> dict[int, str]:
        if self.judge:
            return rows.incomplete(part, ("output", *self.evaluator.needs), self.name)
        if isinstance(self.evaluator, PairMetric):
            return rows.incomplete(
                part, ("output", "references"), self.name, empty_is_missing=False
            )
        return {}

    def _complete(self, part: Rows) -> tuple[pd.DataFrame, dict[int, str]]:
        """The rows of a part that can be scored; and the positions of the others,
        with why.
        """
        gone = self._lacking(part)
        return part.frame.iloc[
            [at for at in range(len(part)) if at not in gone]
        ] if gone else part.frame, gone

    def _asked(
        self, frame: pd.DataFrame, criteria: bool = False
    ) -> tuple[Judge, list[Sample], Stages[Any]]:
        """The judge as it asks the engine, the rows as it is given them, and what it
        asks.
        """
        judge = self.evaluator.for_engine(self.engine)
        given = judge.given(frame)
        return (
            judge,
            given,
            judge.criteria_stages(given, judge.used())
            if criteria
            else judge.stages(given),
        )

    def parts(
        self, bar: ProgressBar, kept: ScoreFile | None = None
    ) -> Iterator[pd.DataFrame]:
        """`value, status, reason` and perhaps `details` for every row, part by part;
        those in `kept` are made already.

        Raises: ValueError for what the evaluator refuses; EngineError; Unavailable;
        KeyboardInterrupt with every finished completion stored.
        """
        done = 0
        for number, part in enumerate(self.data):
            bar.part(self.name, done, len(self.data), len(part))
            make = functools.partial(self._scored, part, bar)
            yield kept.scores(number, part, make) if kept else make()
            done += len(part)

    def score(self, bar: ProgressBar) -> pd.DataFrame:
        """All parts as one frame. Raises: as `parts`."""
        return _joined(list(self.parts(bar)))

    def _scored(self, part: Rows, bar: ProgressBar) -> pd.DataFrame:
        (frame, gone), index = self._complete(part), part.frame.index
        if self.judge:
            judge, given, stages = self._asked(frame)
            scored = judge.framed(
                frame.index, self._ask(stages, judge, given, bar), self.engine
            )
        else:
            scored = self.evaluator.score(frame)
        if not gone:
            return scored
        lost = score_frame(
            index[sorted(gone)],
            [Judgment.missing(Status.EMPTY, gone[at]) for at in sorted(gone)],
        )
        if "details" in scored.columns:
            lost["details"] = [{} for _ in gone]
        return _joined([scored, lost]).loc[index]

    def fit(self, rated: Rows | Parts, bar: ProgressBar) -> None:
        """Fit the evaluator on rated rows.

        Raises: ValueError where it learns nothing or the rows do not serve.
        """
        if not hasattr(self.evaluator, "fit"):
            raise InputError(f"{self.name} is not fitted on ratings; leave --fit out")
        bar.start(f"{self.name} training")
        with contextlib.closing(bar):
            self.evaluator.fit(
                rated.whole().frame,
                engine=self.engine,
                store=self.store,
                progress=bar.report,
            )

    def cross_fit(
        self, folds: int, bar: ProgressBar, kept: ScoreFile | None = None
    ) -> pd.DataFrame:
        """As `score`, each row by the evaluator as fitted on the rows of the other
        folds; an input is in one fold.

        Rows need ratings; those without an `input_id` are told apart by what the judge
        is shown.
        Raises: InputError for fewer inputs than folds; and as `fit` and `score`.
        """
        data = self.data = self.data.whole()
        frame = data.frame
        shown = (
            frame["input_id"]
            if "input_id" in frame
            else frame[["output"]].astype(str).agg("".join, axis=1)
        )
        codes, inputs = pd.factorize(shown.astype(str))
        if len(inputs) < folds:
            raise InputError(
                f"--cross-fit {folds}: {data.name} has {len(inputs)} inputs"
            )
        fold = (np.random.default_rng(0).permutation(len(inputs)) % folds)[codes]
        parts = []
        fitted = []
        for number in range(folds):
            self.fit(data.take(fold != number), bar)
            fitted.append(self.evaluator.fitted_on)
            parts.append(
                dataclasses.replace(self, data=data.take(fold == number)).score(bar)
            )
        self.evaluator.fitted_on = f"{folds} folds by input, {'+'.join(fitted)}"
        whole = _joined(parts).loc[frame.index]
        whole.attrs["signature"] = self.evaluator.signature(self.engine)
        return kept.scores(0, data, lambda: whole) if kept else whole

    def fill(self, bar: ProgressBar) -> str:
        """Make and store the completions of all rows; what could be read from them, in
        words.

        Raises: as `score`.
        """
        if not self.unfitted():
            tally = Tally()
            for scored in self.parts(bar):
                tally.add(scored)
            return tally.lines()[0]
        table = self.criteria(bar)
        count, criteria = table.shape
        read = int(table.notna().to_numpy().sum())
        return f"{count:,} rows x {criteria} criteria: {read:,} of {table.size:,} scores could be read"

    def criteria(self, bar: ProgressBar) -> pd.DataFrame:
        """The scores of every row that can be scored on every criterion of an HD-Eval
        that is not fitted; NaN: missing.

        Raises: as `score`.
        """
        from nlgeval_lib.evaluators import hdeval

        frame, _ = self._complete(self.data.whole())
        judge, given, stages = self._asked(frame, criteria=True)
        return hdeval.values(self._ask(stages, judge, given, bar), frame.index)

    def planned(self) -> list[Stage]:
        """The stages that would be asked, none of them asked.

        Raises: ValueError for what the evaluator refuses.
        """
        frame, _ = self._complete(self.data.whole())
        *_, asked = self._asked(frame, self.unfitted())
        stages = staged.plan(asked, self.engine, self.store)
        for stage in stages:
            self.engine.check(
                stage.sampling
            )  # what the run would refuse, the plan does
        return stages

    def unfitted(self) -> bool:
        """Whether the evaluator has criteria whose scores nothing joins yet."""
        from nlgeval_lib.evaluators.hdeval import HDEval

        judge = self.evaluator
        return (
            isinstance(judge, HDEval)
            and not judge.aggregator.fitted
            and judge.aggregator.needs_ratings
        )

    def _ask(
        self,
        stages: Stages[Any],
        judge: Judge,
        samples: Sequence[Sample],
        bar: ProgressBar,
    ) -> Any:
        """The result of the stages, asked with a parse rate.

        A completion has only its key: the sample that it is about is found by the keys
        of its request's draws.
        """
        by_id = {sample.id: sample for sample in reversed(samples)}

        def reader(stage: Stage) -> Reads | None:
            about: dict[str, Sample | None] = {}

            def reads(completion: Completion) -> bool:
                if not about:
                    for request in reversed(stage.requests):
                        keys = request.keys(self.engine, stage.sampling)
                        about.update(dict.fromkeys(keys, by_id.get(request.id)))
                return (
                    judge.read(completion, about.get(completion.key)).status
                    is Status.OK
                )

            return reads if stage.name in PARSED else None

        return ask(stages, judge.name, self.engine, self.store, bar, self.run, reader)

    # -- what came of it

    def key(self) -> str:
        """What determines the scores of the rows, where they are the evaluator's alone;
        empty where a model is asked, whose completions are stored.
        """
        data = self.data
        if self.judge or isinstance(data, Rows) or not data.sha256:
            return ""
        told: list[Any] = [
            data.sha256,
            data.sources,
            data.filled,
            data.read_as,
            len(data),
            self.skip_incomplete,
        ]
        told += [
            self.evaluator.signature(),
            cells.ROWS,
            cells.BYTES,
            nlgeval_lib.__version__,
        ]
        code = inspect.getsourcefile(type(self.evaluator))
        return json.dumps([*told, Path(code).read_text("utf-8") if code else ""])

    def record(self, tally: Tally) -> dict[str, Any]:
        """What is to be known of these scores: evaluator, engine, input, counts,
        versions.
        """
        found: dict[str, Any] = {
            "signature": tally.signature,
            "evaluator": self.name,
            "input": Path(self.data.name).name,
            "input_sha256": self.data.sha256,
            "columns": {
                ours: theirs
                for ours, theirs in self.data.theirs.items()
                if rows.known(ours)
            },
            "rows": tally.rows,
            "statuses": dict(tally.statuses.most_common()),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "library": nlgeval_lib.__version__,
            "git": provenance.git(),
            "packages": provenance.packages(),
        }
        if fitted_on := getattr(self.evaluator, "fitted_on", ""):
            found["fitted_on"] = fitted_on
        if self.engine is not None:
            found |= {
                "engine": self.engine.name,
                "model": self.engine.model,
                "revision": self.engine.revision,
            }
            if self.store is not None and (
                makers := self.store.makers(self.engine.model, self.engine.revision)
            ):
                found["completions_made_by"] = makers
            if served := sorted(getattr(self.engine, "served", ())):
                found["model_named_by_server"] = served
            found |= {
                name: told
                for name in ("about", "extra_body")
                if (told := getattr(self.engine, name, None))
            }
        if self.run.counts:
            found["completions"] = {
                name: self.run.counts[name]
                for name in ("total", "stored", "done", "failed")
            }
            found["made_now"] = {
                name: self.run.counts[name]
                for name in ("prompt_tokens", "completion_tokens")
            }
        return found

    def summary(self, tally: Tally) -> list[str]:
        """Coverage, what was asked, the signature: a line each."""
        lines = tally.lines()
        if self.run.counts:
            lines.append(self.run.summary())
        return [*lines, f"signature: {tally.signature}"]


def prepared(
    data: Rows | Parts,
    name: str,
    settings: Sequence[str],
    choice: EngineChoice,
    *,
    load: str = "",
    skip_incomplete: bool = False,
    ready: Engine | None = None,
    given: Mapping[str, Any] | None = None,
) -> Job:
    """A job from the words of a command line; what is wrong about the rows is found
    before an engine starts.

    ready: an engine that is there already, in place of the chosen one. given: further
    arguments of the evaluator, as they are. A checkpoint that was trained here without
    rubric, reference or feedback is asked without, unless told.
    Raises: InputError; EngineError; Unavailable; StoreError.
    """
    asks = named.asks(name)
    more = dict(given or {})
    if asks and not choice.engine:
        raise InputError(
            f"{name} asks a language model: name one, --engine {'|'.join(named.ENGINES)} --model NAME"
        )
    if not asks and choice.on:
        raise InputError(
            f"{name} asks no language model through the store; leave --on out"
        )
    if (
        not asks and choice.engine
    ):  # one that asks through the store is made before the engine starts
        more["engine"] = choice.start()
    elif not asks and choice.model:
        more["model"] = choice.model
    trained = (
        Path(choice.model) / "nlgeval.json"
    )  # of a checkpoint that `finetune` made: what its examples showed
    if name == "prometheus" and not load and trained.is_file():
        views = json.loads(trained.read_text(encoding="utf-8"))["keep"].get("view", [])
        part = views[0].removeprefix("no_") if len(views) == 1 else ""
        told = {*more, *(pair(text)[0] for text in settings)}
        settings = (
            [*settings, f"{part}=no"]
            if part and part != views[0] and part not in told
            else settings
        )
    made = named.evaluator(name, settings, load, **more)
    whole = getattr(made, "whole_file", False)
    job = Job(
        name, data.whole() if whole else data, made, skip_incomplete=skip_incomplete
    )
    job.check()
    if asks:
        job.store, job.run.ask_again = named.store(choice.store), choice.ask_again
        if choice.engine != "replay" and not choice.planning:
            named.check_store(job.store)
        job.engine = ready if ready is not None else choice.start(job.store)
        if ready is None:
            named.check_stand_in(job.engine, choice.model, job.store, choice.planning)
    return job


def _joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Score frames as one, with what is told of the first."""
    whole = pd.concat(parts) if len(parts) > 1 else parts[0]
    whole.attrs = dict(parts[0].attrs)
    return whole
