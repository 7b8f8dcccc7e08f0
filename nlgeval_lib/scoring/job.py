"""One run of an evaluator over rows: every row gets its score or a reason.

`prepared` makes a `Job` from the words of a command line: the evaluator, the engine and
the store, and rows that were checked. The job then scores part by part (`parts`,
`score`), fits first (`fit`, `cross_fit`), only makes completions (`fill`), or says what
it would ask (`planned`). `record` and `summary` say what was done.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
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
from nlgeval_lib.evaluators.metric import Metric, PairMetric
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.names import pair
from nlgeval_lib.records import Completion, Judgment, Sample, Status
from nlgeval_lib.scoring import cells, named, provenance, rows
from nlgeval_lib.scoring.asking import ProgressBar, Reads, Run, ask
from nlgeval_lib.scoring.named import EngineChoice
from nlgeval_lib.scoring.rows import InputError, Parts, Rows
from nlgeval_lib.scoring.tally import Tally

if TYPE_CHECKING:
    from nlgeval_lib.scoring.score_files import ScoreFile

# The stages whose completions `Judge.parse` reads; in others a judge writes lists,
# analyses and the like.
PARSED = ("score", "criteria", "format")


# what helps where a column's cells look like lists
_PACKED = {
    "output": "; a row is one output",
    "reference": "; --map references={} reads several",
    "references": "; write several as a JSON list",
}


@dataclass
class Job:
    """Rows, the evaluator, and for one that asks a language model the engine and the
    store.

    An evaluator scores a part of the rows at a time; one whose scores depend on all of
    them says so: `whole_file = True`.

    name: of the evaluator, as the user gave it.
    data: the rows.
    evaluator: a metric, a metric of pairs or a judge.
    engine: that answers a judge; None for a metric.
    store: of the completions; None for a metric.
    skip_incomplete: whether a row that lacks something gets a reason in place of a
    score, rather than ending the run.
    run: what came of the completions.
    remarks: after `check`, which rows are there twice and which columns hold lists that
    are read as one text, in words; "" for neither.
    """

    name: str
    data: Rows | Parts
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
        """What a user should know before the first row is scored, in one line; "" if
        nothing.

        Of a metric its own notice (the encoder), of a judge how many completions its
        default of draws means.
        """
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
        """Pass where all rows can be scored, and note what is to be known of them.

        All rows are read once for this, so that a run does not end after hours at a
        cell that will not do.
        Raises: InputError for a column that is not there, and, unless incomplete rows
        are to be skipped, for the first row that lacks something; and as the parts of
        the data do.
        """
        first = ""
        count = 0  # of the rows that lack something
        keys = []
        lists: Counter[str] = Counter()
        for part in self.data:
            lists.update(rows.lists_as_text(part))
            reasons = self._incomplete(part)
            if reasons and not first:
                first = reasons[min(reasons)]
            count += len(reasons)
            keys.append(rows.keys_of(part))
        if count and not self.skip_incomplete:
            advice = "; --skip-incomplete leaves it without a score"
            if count > 1:
                advice = (
                    f" ({count - 1} more rows lack something; "
                    "--skip-incomplete leaves them without a score)"
                )
            raise InputError(first + advice)
        remarks = [rows.repeated(self.data, keys)]
        for ours, number in lists.items():
            column = self.data.theirs[ours]
            remarks.append(
                f"{number} of {len(self.data)} cells of {column} look like a list and "
                f"are read as one text{_PACKED[ours].format(column)}"
            )
        self.remarks = "; ".join(filter(None, remarks))

    def _incomplete(self, part: Rows) -> dict[int, str]:
        """Position in the part -> the reason why a row cannot be scored.

        Raises: InputError for a column that is not there.
        """
        if isinstance(self.evaluator, PairMetric):
            needs = ["output", "references"]
            return rows.incomplete(part, needs, self.name, empty_is_missing=False)
        if not isinstance(self.evaluator, Judge | Metric):
            return {}
        needs = [*self.evaluator.needs]
        if "output_1" not in needs:  # a judge of pairs is shown two
            needs = ["output", *needs]
        advice = getattr(self.evaluator, "advice", "")  # metrics have none
        return rows.incomplete(part, needs, self.name, advice=advice)

    def _judge_and_stages(
        self, frame: pd.DataFrame, criteria: bool = False
    ) -> tuple[Judge, list[Sample], Stages[Any]]:
        """The judge for this engine, complete rows as its samples, and what it asks.

        criteria: the stages of an HD-Eval that is not fitted, which end at the scores
        on its criteria.
        """
        judge = self.evaluator.for_engine(self.engine)
        samples = judge.given(frame)
        if criteria:
            return judge, samples, judge.criteria_stages(samples, judge.used())
        return judge, samples, judge.stages(samples)

    def _complete_rows(self) -> pd.DataFrame:
        """All rows that can be scored."""
        data = self.data.whole()
        return _without(data.frame, self._incomplete(data))

    def parts(
        self, bar: ProgressBar, score_file: ScoreFile | None = None
    ) -> Iterator[pd.DataFrame]:
        """The scores of every row, part by part: `value, status, reason` and perhaps
        `details`.

        bar: shows the progress.
        score_file: keeps the scores of each part; what it has is not made again.
        Raises: ValueError for what the evaluator refuses; EngineError; Unavailable;
        KeyboardInterrupt with every finished completion stored.
        """
        start = 0
        for number, part in enumerate(self.data):
            bar.part(self.name, start, len(self.data), len(part))
            make = functools.partial(self._scored, part, bar)
            if score_file:
                yield score_file.scores(number, part, make)
            else:
                yield make()
            start += len(part)

    def score(self, bar: ProgressBar) -> pd.DataFrame:
        """All parts as one frame, in the order of the rows.

        Raises: as `parts`.
        """
        return _joined(list(self.parts(bar)))

    def _scored(self, part: Rows, bar: ProgressBar) -> pd.DataFrame:
        """The scores of a part in the order of its rows, as `parts` gives them."""
        reasons = self._incomplete(part)
        frame = _without(part.frame, reasons)
        if self.judge:
            judge, samples, stages = self._judge_and_stages(frame)
            judgments = self._ask(stages, judge, samples, bar)
            scored = judge.framed(frame.index, judgments, self.engine)
        else:
            scored = self.evaluator.score(frame)
        if not reasons:
            return scored
        # Put the rows that were left out back into their places, with their reasons.
        positions = sorted(reasons)
        gaps = [Judgment.missing(Status.EMPTY, reasons[place]) for place in positions]
        unscored = score_frame(part.frame.index[positions], gaps)
        if "details" in scored.columns:
            unscored["details"] = [{} for _ in gaps]
        return _joined([scored, unscored]).loc[part.frame.index]

    def fit(self, rated: Rows | Parts, bar: ProgressBar) -> None:
        """Fit the evaluator on rated rows.

        rated: rows with ratings, all of which are held at once.
        bar: shows the progress.
        Raises: InputError where it is not fitted on ratings; ValueError where it learns
        nothing or the rows do not serve.
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
        self, folds: int, bar: ProgressBar, score_file: ScoreFile | None = None
    ) -> pd.DataFrame:
        """As `score`, each row by the evaluator as fitted on the rows of the other
        folds; an input is in one fold.

        folds: how many. Rows need ratings; without an `input_id`, the output names the
        input.
        score_file: keeps the scores of all rows as one part.
        Raises: InputError for fewer inputs than folds; and as `fit` and `score`.
        """
        data = self.data = self.data.whole()
        frame = data.frame
        input_column = "input_id" if "input_id" in frame else "output"
        codes, inputs = pd.factorize(frame[input_column].astype(str))
        if len(inputs) < folds:
            raise InputError(
                f"--cross-fit {folds}: {data.name} has {len(inputs)} inputs"
            )
        # Inputs, not rows, are dealt out: no input has outputs on both sides.
        order = np.random.default_rng(0).permutation(len(inputs))
        fold_of_input = order % folds
        fold = fold_of_input[codes]
        parts = []
        fitted_on = []
        for number in range(folds):
            self.fit(data.take(fold != number), bar)
            fitted_on.append(self.evaluator.fitted_on)
            held_out = dataclasses.replace(self, data=data.take(fold == number))
            parts.append(held_out.score(bar))
        self.evaluator.fitted_on = f"{folds} folds by input, {'+'.join(fitted_on)}"
        scores = _joined(parts).loc[frame.index]
        scores.attrs["signature"] = self.evaluator.signature(self.engine)
        if score_file:
            return score_file.scores(0, data, lambda: scores)
        return scores

    def fill(self, bar: ProgressBar) -> str:
        """Make and store the completions of all rows, without writing scores.

        Returns: how many scores could be read from them, in words.
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
        return (
            f"{count:,} rows x {criteria} criteria: {read:,} of {table.size:,} scores "
            "could be read"
        )

    def criteria(self, bar: ProgressBar) -> pd.DataFrame:
        """The scores of every row that can be scored on every criterion of an HD-Eval
        that is not fitted: rows x criteria, NaN where a score is missing.

        Raises: as `score`.
        """
        from nlgeval_lib.evaluators import hdeval

        frame = self._complete_rows()
        judge, samples, stages = self._judge_and_stages(frame, criteria=True)
        return hdeval.values(self._ask(stages, judge, samples, bar), frame.index)

    def planned(self) -> list[Stage]:
        """The stages that would be asked, none of them asked; what is stored is
        counted.

        Raises: ValueError for what the evaluator refuses, and what the engine would.
        """
        _, _, stages = self._judge_and_stages(self._complete_rows(), self.unfitted())
        plan = staged.plan(stages, self.engine, self.store)
        for stage in plan:
            self.engine.check(stage.sampling)
        return plan

    def unfitted(self) -> bool:
        """Whether the evaluator has criteria whose scores nothing joins yet: an HD-Eval
        whose aggregator needs ratings and has none.
        """
        from nlgeval_lib.evaluators.hdeval import HDEval

        if not isinstance(self.evaluator, HDEval):
            return False
        aggregator = self.evaluator.aggregator
        return aggregator.needs_ratings and not aggregator.fitted

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
        # reversed, so that of samples alike in id the first counts
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

    # -- the record and the summary

    def key(self) -> str:
        """What determines the scores of the rows, where they are the evaluator's alone,
        as text.

        A run that was stopped goes on from the parts of one with the same key
        (`ScoreFile`). "" where a model is asked, whose completions are stored, and
        where the rows are no file's.
        """
        data = self.data
        if self.judge or isinstance(data, Rows) or not data.sha256:
            return ""
        code = inspect.getsourcefile(type(self.evaluator))
        determinants = [
            data.sha256,
            data.plan.sources,
            data.plan.filled,
            data.plan.guessed,
            len(data),
            self.skip_incomplete,
            self.evaluator.signature(),
            cells.ROWS,
            cells.BYTES,
            nlgeval_lib.__version__,
            Path(code).read_text("utf-8") if code else "",
        ]
        return json.dumps(determinants)

    def record(self, tally: Tally) -> dict[str, Any]:
        """What is recorded beside these scores, as plain values: evaluator, engine,
        input, counts, versions. tally: of all parts.
        """
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
        further: dict[str, Any] = {
            "missing_values": list(self.data.missing_values),
            "fitted_on": getattr(self.evaluator, "fitted_on", ""),
        }
        record |= {name: value for name, value in further.items() if value}
        engine = self.engine
        if engine is not None:
            record["engine"] = engine.name
            record["model"] = engine.model
            record["revision"] = engine.revision
            further = {"completions_made_by": None}
            if self.store is not None:
                makers = self.store.makers(engine.model, engine.revision)
                further["completions_made_by"] = makers
            served = sorted(getattr(engine, "served", ()))
            further["model_named_by_server"] = served
            for name in ("about", "extra_body"):
                further[name] = getattr(engine, name, None)
            record |= {name: value for name, value in further.items() if value}
        counts = self.run.counts
        if counts:
            names = ("total", "stored", "done", "failed")
            record["completions"] = {name: counts[name] for name in names}
            if counts["asked_again"]:
                record["completions"]["asked_again"] = counts["asked_again"]
            tokens = ("prompt_tokens", "completion_tokens")
            record["made_now"] = {name: counts[name] for name in tokens}
        return record

    def summary(self, tally: Tally) -> list[str]:
        """Coverage, what was asked, the signature: a line each.

        tally: of all parts.
        """
        lines = tally.lines()
        if self.run.counts:
            lines.append(self.run.summary())
        lines.append(f"signature: {tally.signature}")
        return [*lines, *filter(None, [tally.draws_line()])]


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
    """A job from a command line's words; rows are checked before an engine starts.

    name, settings, load: as `named.evaluator` has them.
    choice: of engine and store; an empty one for a metric.
    skip_incomplete: as `Job` has it.
    ready: an engine that is there already, in place of the chosen one.
    given: further arguments of the evaluator, as they are.

    A checkpoint that was trained here without rubric, reference or feedback is asked
    without, unless a setting names it.
    Raises: InputError; EngineError; Unavailable; StoreError.
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
    if getattr(evaluator, "whole_file", False):
        data = data.whole()
    job = Job(name, data, evaluator, skip_incomplete=skip_incomplete)
    job.check()
    if not asks:
        return job
    _connect(job, choice, ready)
    return job


def _connect(job: Job, choice: EngineChoice, engine: Engine | None) -> None:
    """Give a job its store and its engine: one that is there already, or the chosen
    one, which is started.
    """
    job.store = named.store(choice.store)
    job.run.ask_again = choice.ask_again
    if choice.engine != "replay" and not choice.planning:
        named.check_store(job.store)
    job.engine = engine
    if engine is None:
        job.engine = choice.start(job.store)
        named.check_stand_in(job.engine, choice.model, job.store, choice.planning)


def _settings_as_trained(
    model: str, settings: Sequence[str], arguments: Mapping[str, Any]
) -> list[str]:
    """The setting by which a checkpoint of `finetune` is asked as it was trained, such
    as rubric=no; none where its examples had all parts, where a setting says it
    already, and for a model that was not trained here.
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


def _without(frame: pd.DataFrame, positions: Collection[int]) -> pd.DataFrame:
    """The rows of a frame but those at these positions."""
    if not positions:
        return frame
    return frame.iloc[[row for row in range(len(frame)) if row not in positions]]


def _joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Score frames as one, with the attributes of the first."""
    scores = pd.concat(parts) if len(parts) > 1 else parts[0]
    scores.attrs = dict(parts[0].attrs)
    return scores
