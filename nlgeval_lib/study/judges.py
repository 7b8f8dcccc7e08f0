"""Judges of the catalogue: a question as a job over its rows, and its scores from
the store, asked for where wanted.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.datasets import DataError
from nlgeval_lib.engines import Engine, Failure, models
from nlgeval_lib.engines._server import is_marked
from nlgeval_lib.evaluators import Unavailable
from nlgeval_lib.names import pair
from nlgeval_lib.scoring import (
    EngineChoice,
    Job,
    ProgressBar,
    Rows,
    chosen_rows,
    named,
    prepared,
)
from nlgeval_lib.study import catalogue
from nlgeval_lib.study.catalogue import JUDGED_BY, Question

ENGINES = ("replay", "vllm", "transformers", "openai")
MINI = "mini"  # the model name that stands for the miniature judge
QUICK_INPUTS = 20
# a run with a larger share of refusals is not to be read as that model's scores
MOST_REFUSED = 0.05
# settings of an evaluator that belong to the data: for the miniature judge its own hold
_OF_DATA = (
    "task",
    "low",
    "high",
    "targets",
    "aspects",
    "criteria",
    "instruction",
    "template",
    "flip",
)
_SAMPLING = (
    "temperature",
    "top_p",
    "top_k",
    "n",
    "max_tokens",
    "repetition_penalty",
    "seed",
    "stop",
)


@dataclass(frozen=True)
class EngineOptions(EngineChoice):
    """How the catalogue's models are asked; model, revision: "" is the catalogue's,
    "mini" the miniature judge.

    folders: {model id: where its weights are}; completions are stored under the id and
    a hash of these weights. mode "quick": the rows of the first 20 inputs.
    """

    folders: Mapping[str, str] = field(default_factory=dict)
    mode: str = "full"

    def model_of(self, question: Question) -> tuple[str, str]:
        """Model and revision that are asked: the catalogue's revision is that of its
        own model only.
        """
        judge = question.judge
        return self.model or judge.model, self.revision or (
            judge.revision if self.model in ("", judge.model) else ""
        )


@dataclass(frozen=True)
class JudgeScores:
    """What came of asking for a judge's scores.

    frame: the rows that were judged, the items' columns with `value, status, reason,
    details`; of an HD-Eval that still has to be fitted, a column for each of `criteria`
    in their place. Empty where not `available`; `why` says why.
    route: "run", or "mini" for the miniature judge and for stand-ins. coverage: rows
    with a score, such as "1,198 of 1,200". signature: with `|judged-by:MODEL@REVISION`
    where another than the catalogue's model or server answered.
    """

    available: bool
    why: str = ""
    frame: pd.DataFrame = field(default_factory=pd.DataFrame)
    route: str = "run"
    signature: str = ""
    coverage: str = ""
    model: str = ""
    revision: str = ""
    criteria: tuple[str, ...] = ()

    @property
    def papers_own(self) -> bool:
        """Whether they are of the paper's judge: no stand-in, no other model, no
        other server.
        """
        return self.route == "run" and JUDGED_BY not in self.signature

    def signed(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table of statistics of these scores, with their route and the judge in
        each signature.
        """
        return table.assign(
            route=self.route, signature=table["signature"] + f"|judge:{self.signature}"
        )


# -- a question as a job


def job(
    question: Question,
    options: EngineOptions,
    ready: Engine | None = None,
    aspects: Sequence[str] = (),
    known: dict[tuple[Any, ...], Rows] | None = None,
) -> Job:
    """The judge ready to be asked about the question's rows.

    ready: an engine that is loaded. aspects: only rows of these; the miniature judge is
    asked for the overall quality alone where none are named (hdeval, whose aggregator
    learns from all ratings, for all). known: rows of other questions, by data, map and
    fill; those of this one are added.
    Raises: Unavailable without the miniature judge's checkpoint; and what
    `scoring.prepared` raises.
    """
    (model, revision), given, settings = (
        options.model_of(question),
        dict[str, Any](),
        options.settings,
    )
    if options.model == MINI:
        aspects = aspects or (
            () if question.judge.evaluator == "hdeval" else ("overall",)
        )
        question, given = _of_miniature(question)
        model = _miniature(options.engine)[0]
        revision = options.revision
    elif folder := options.folders.get(model, ""):
        settings = (*settings, f"name={model}")
        model = folder
        revision = options.revision
    elif (
        options.planning
        and not revision
        and options.engine in ("vllm", "transformers")
        and not Path(model).is_dir()
    ):
        held = _revisions(
            options.store, model
        )  # of a store that was filled where the weights are
        revision = (
            held[0]
            if len(held) == 1 and models.hub_revision(model, None) == "main"
            else ""
        )
    choice = replace(options, model=model, revision=revision, settings=settings)
    judge = question.judge
    known = {} if known is None else known
    if (key := (judge.data, question.map, question.fill)) not in known:
        known[key] = chosen_rows(
            data=judge.data, mapping=question.map, fill=question.fill
        ).whole()
    made = prepared(
        known[key],
        judge.evaluator,
        judge.settings,
        choice,
        skip_incomplete=True,
        ready=ready,
        given=given,
    )
    rows = _chosen(made.data.whole(), question)
    if aspects:
        rows = rows.take(rows.frame["aspect"].isin(list(aspects)).to_numpy())
    made.data = first_inputs(rows) if options.mode == "quick" else rows
    return made


def first_inputs(rows: Rows) -> Rows:
    """The rows of the first 20 inputs; where these are not known, the first 20 rows."""
    inputs = rows.frame.get("input_id", pd.Series(range(len(rows)), rows.frame.index))
    return rows.take(inputs.isin(inputs.unique()[:QUICK_INPUTS]).to_numpy())


def checkpoint() -> Path:
    """The miniature judge's folder. Raises: Unavailable where it has no checkpoint."""
    folder = files.data() / "mini" / "judge"
    if not (folder / "config.json").is_file():
        raise Unavailable("no checkpoint in data/mini/judge; make mini-judge")
    return folder


def engine(name: str, model: str, revision: str = "", base_url: str = "") -> Engine:
    """A model to ask outside of the catalogue's judges; "mini" is the miniature one,
    `replay` answers from the store.

    name: replay, vllm, transformers or openai.
    Raises: Unavailable without the miniature judge; InputError; EngineError.
    """
    if model == MINI:
        model, revision = _miniature(name)
    return EngineChoice(name, model, revision, base_url).start()


def _miniature(engine: str) -> tuple[str, str]:
    """Name and revision of the miniature judge for an engine: a replay's are those
    in the store, others' its folder.
    """
    if engine != "replay":
        return str(checkpoint()), ""
    name, revision = models.identify(str(checkpoint()), None, None)
    return name, revision or ""


def _of_miniature(question: Question) -> tuple[Question, dict[str, Any]]:
    """The question about the miniature judge's own data: catalogue's settings but
    those of its data, its own beside.
    """
    from nlgeval_lib.training import mini

    try:
        own = dict(mini.settings(question.judge.evaluator))
    except ValueError as error:
        raise Unavailable(str(error)) from None
    replaced = (*_OF_DATA, *(_SAMPLING if "sampling" in own else ()))
    kept = {
        text: name
        for text in question.judge.settings
        if (name := pair(text)[0]) not in replaced
    }
    judge = replace(question.judge, data="mini_judge", settings=tuple(kept))
    given = {name: value for name, value in own.items() if name not in kept.values()}
    return replace(question, judge=judge, fill=(), where=()), given


def _chosen(data: Rows, question: Question) -> Rows:
    """The rows that the catalogue asks about.

    Raises: ValueError for a column that is not there, or no row left.
    """
    keep = np.ones(len(data), dtype=bool)
    who = f"{question.output}/{question.name}"
    for name, value in map(pair, question.where):
        column = name.removesuffix("!")
        if column not in data.frame.columns:
            raise ValueError(
                f"{who}: where names {column!r}; columns: {', '.join(data.frame)}"
            )
        keep &= (data.frame[column].astype(str) == value).to_numpy() != name.endswith(
            "!"
        )
    if not keep.any():
        raise ValueError(
            f"{who}: no row of {question.judge.data} has {' and '.join(question.where)}"
        )
    return data.take(keep)


# -- scores


def judge_scores(
    output: str,
    name: str,
    *,
    engine: str = "replay",
    model: str = "",
    revision: str = "",
    mode: str = "full",
    base_url: str = "",
    engine_settings: Sequence[str] = (),
    store: str | Path = "",
    aspects: Sequence[str] = (),
) -> JudgeScores:
    """The scores of the judge that a catalogue's output reads as `name`, on the
    output's rows.

    engine: "replay" reads the store and asks nothing; vllm, transformers and openai
    first ask what it lacks. model: "" is the catalogue's, "mini" the miniature judge on
    its own held-out data. mode "quick": 20 inputs.
    aspects: only the rows of these.
    Raises: CatalogueError for an unknown output or judge; ValueError for an unknown
    engine; what the engine raises.
    """
    question = catalogue.load().question(output, name)
    if engine not in ENGINES:
        raise ValueError(f"engine {engine!r}; allowed: {', '.join(ENGINES)}")
    folder = Path(store) if store else files.state("completions")
    route = "mini" if model == MINI or named.stand_ins(folder) else "run"
    options = EngineOptions(
        engine, model, revision, base_url, engine_settings, folder, mode=mode
    )
    held = (engine, *options.model_of(question), base_url, tuple(engine_settings))
    try:
        if engine == "replay":
            options = replace(options, revision=_stored_revision(question, options))
        made = job(question, options, ready=_held.get(held), aspects=aspects)
    except (DataError, Unavailable) as error:
        return JudgeScores(False, str(error), route=route)
    asked = made.engine
    if engine == "replay":
        asked.refused = refusals(folder, asked.model, asked.revision)
    else:
        for other in [other for other in _held if other != held]:
            _held.pop(other).close()
        _held[held] = asked
    mark = ""
    if stands := named.stand_ins(folder).get(asked.model):
        mark = f"|stand-in:{stands}"
    elif route == "run" and not is_own(question, asked.model, asked.revision):
        mark = f"{JUDGED_BY}{asked.model}@{asked.revision}".rstrip("@")
    scores = read(made, route, mark)
    why = ""
    total = made.run.counts["total"]
    if engine == "replay" and asked.missing:
        there = (
            f"{total - len(asked.missing):,} of {total:,}"
            if made.run.counts["stored"]
            else "none of the"
        )
        why = f"the store has {there} completions of {_of(question, asked.model, made.data.name)}"
    elif engine == "replay" and (refused := len(asked.excused)) > MOST_REFUSED * total:
        first = asked.refused[asked.excused[0]]
        why = (
            f"{refused:,} of {total:,} completions could not be made, such as: {first}"
        )
    return (
        JudgeScores(False, f"{why}; {_way(question, model)}", route=route)
        if why
        else scores
    )


_held: dict[
    tuple, Any
] = {}  # the engine that was asked last: a notebook often asks one model several times


def is_own(question: Question, model: str, revision: str) -> bool:
    """Whether this is the catalogue's model, of its revision or a copy of its
    weights, and asked plainly.
    """
    named = question.judge.revision
    same = model == question.judge.model
    return (
        same
        and not is_marked(revision)
        and (not named or revision == named or revision.startswith("sha256:"))
    )


def read(job: Job, route: str, mark: str = "", folds: int = 0) -> JudgeScores:
    """The scores of the job's rows; what could not be had is noted beside the store.

    mark: ends the signature. folds: an evaluator that learns from ratings scores each
    input as fitted on the others.
    """
    engine = job.engine
    unfitted = job.unfitted()
    replayed = engine is not None and engine.name == "replay"
    # a copy that the runner executes is kept: what the rate was at that hour does not
    # belong into it
    bar = ProgressBar(
        job.name, quiet=replayed or bool(os.environ.get("NLGEVAL_RECORD"))
    )
    criteria = unfitted and not folds
    scored = (
        job.criteria(bar)
        if criteria
        else job.cross_fit(folds, bar)
        if unfitted
        else job.score(bar)
    )
    there = scored.notna() if criteria else scored["status"] == "ok"
    if job.run.failures and not replayed:
        note_refusals(job.store.folder, engine, job.run.failures)
    rows = job.data.whole().frame
    return JudgeScores(
        True,
        frame=rows.drop(columns=rows.columns.intersection(scored.columns))
        .join(scored)
        .reset_index(drop=True),
        route=route,
        signature=(
            job.evaluator.signature(engine)
            if criteria
            else scored.attrs.get("signature", "")
        )
        + mark,
        coverage=f"{int(there.to_numpy().sum()):,} of {there.size:,}",
        model=engine.model if engine else "",
        revision=engine.revision if engine else "",
        criteria=tuple(map(str, scored.columns)) if criteria else (),
    )


def _stored_revision(question: Question, options: EngineOptions) -> str:
    """The revision to read: the one that was asked for, else the only one of the store.

    Raises: Unavailable.
    """
    mini = options.model == MINI
    name, own = _miniature("replay") if mini else options.model_of(question)
    held = _revisions(options.store, name)
    if (
        own
        and not options.revision
        and not mini
        and len(held) == 1
        and held[0].startswith("sha256:")
    ):
        own = held[0]  # a local copy of the weights: its revision is their hash
    if not own:  # the model's own server, asked plainly, before all others
        held = [rev for rev in held if not is_marked(rev)] or held
    if (own and own not in held) or not held:
        asked = _of(question, name + (f"@{own}" if own else ""), question.judge.data)
        raise Unavailable(
            f"the store has no completions of {asked}; {_way(question, options.model)}"
        )
    if not own and len(held) > 1:
        there = f"{len(held)} revisions of {name}: {', '.join(held)}"
        raise Unavailable(f"the store has {there}; name one with revision")
    return own or held[0]


def _revisions(folder: str | Path, model: str) -> list[str]:
    """The revisions of a model that a store has completions of."""
    with named.store(folder) as kept:
        return [revision for name, revision in kept.census() if name == model]


def _of(question: Question, model: str, data: str) -> str:
    return f"{model} for {question.judge.evaluator} on {data} ({question.name})"


def _way(question: Question, model: str) -> str:
    if model == MINI:
        return 'run the notebook with engine="transformers"'
    return f"to make them: nlgeval completions --output {question.output} --engine {question.judge.engine}"


# -- completions that could not be had, as of prompts that a model has no room for: a note beside the store ------------


def refusals(folder: Path, model: str, revision: str) -> dict[str, str]:
    """Why each completion (by key) of a model could not be had; nothing where
    nothing was noted.
    """
    try:
        return dict(
            json.loads(_note(folder, model, revision).read_text(encoding="utf-8"))[
                "refused"
            ]
        )
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def note_refusals(folder: Path, engine: Engine, failures: Iterable[Failure]) -> None:
    """Add what an engine could not give: a replay tells it from what was never asked.

    Raises: OSError.
    """
    lasting = {one.key: one.reason for one in failures if not one.passing}
    if not lasting:
        return
    refused = refusals(folder, engine.model, engine.revision) | lasting
    text = json.dumps(
        {"model": engine.model, "revision": engine.revision, "refused": refused},
        indent=0,
    )
    files.write_text(_note(folder, engine.model, engine.revision), text)


def forget_refusals(folder: Path, engine: Engine) -> None:
    """What could not be had before counts as never asked. Raises: OSError."""
    _note(folder, engine.model, engine.revision).unlink(missing_ok=True)


def _note(folder: Path, model: str, revision: str) -> Path:
    return (
        folder
        / "refused"
        / f"{hashlib.sha256(f'{model}@{revision}'.encode()).hexdigest()[:16]}.json"
    )
