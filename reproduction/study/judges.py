"""Judges of the catalogue: a question as a job over its rows, and its scores from
the store, asked for where wanted.

`job` prepares a question: evaluator, rows and engine; `read` turns a job into scores.
`asked_scores` does both, or replays what the store has (`_replayed`), where each
revision of the model is a judge of its own. What a model could not answer is noted
beside the store (`note_refusals`): a replay tells it from what was never asked.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nlgeval_lib import files
from nlgeval_lib.datasets import DataError
from nlgeval_lib.engines import Engine, EngineError, Failure, models
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
from reproduction.study import identity, question_rows
from reproduction.study.catalogue import JUDGED_BY, Question
from reproduction.study.scores import (
    MINI,
    JudgeScores,
    described,
    how_to_make,
    nothing_stored,
)

# A run with a larger share of refusals is not to be read as that model's scores.
MOST_REFUSED = 0.05
# Settings of an evaluator that belong to the data: the miniature judge has its own.
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
# Settings of the sampling, which the miniature judge may replace as a whole.
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
    """How the catalogue's models are asked.

    model, revision: "" is the catalogue's, model "mini" the miniature judge.
    folders: {model id: where its weights are}; completions are stored under the id and
    a hash of these weights.
    mode: "quick": the rows of the first 20 inputs; "full": all.
    """

    folders: Mapping[str, str] = field(default_factory=dict)
    mode: str = "full"

    def model_of(self, question: Question) -> tuple[str, str]:
        """Model and revision that are asked: the catalogue's revision is that of its
        own model only.
        """
        judge = question.judge
        revision = self.revision
        if not revision and self.model in ("", judge.model):
            revision = judge.revision
        return self.model or judge.model, revision


# -- a question as a job


def job(
    question: Question,
    options: EngineOptions,
    ready: Engine | None = None,
    aspects: Sequence[str] = (),
    loaded: dict[tuple[Any, ...], Rows] | None = None,
) -> Job:
    """The judge ready to be asked about the question's rows.

    ready: an engine that is loaded; None: one is made.
    aspects: only rows of these; none: all. The miniature judge is asked for the overall
    quality alone where none are named (hdeval, whose aggregator learns from all
    ratings, for all).
    loaded: rows of other questions, by data, map and fill; those of this one are added.
    Raises: Unavailable without the miniature judge's checkpoint; ValueError for a
    `where` that names no column, or leaves no row; and what `scoring.prepared` raises.
    """
    arguments: dict[str, Any] = {}
    if options.model == MINI:
        if not aspects and question.judge.evaluator != "hdeval":
            aspects = ("overall",)
        question, arguments = _of_miniature(question)
    choice = _engine_choice(question, options)
    judge = question.judge
    if loaded is None:
        loaded = {}
    key = (judge.data, question.map, question.fill)
    if key not in loaded:
        loaded[key] = chosen_rows(
            data=judge.data, mapping=question.map, fill=question.fill
        )
    rows = loaded[key]
    rows = rows.take(question_rows.asked(rows.frame, question))
    rows = rows.take(question_rows.narrowed(rows.frame, aspects, options.mode))
    return prepared(
        rows,
        judge.evaluator,
        judge.settings,
        choice,
        skip_incomplete=True,
        ready=ready,
        given=arguments,
    )


def _engine_choice(question: Question, options: EngineOptions) -> EngineOptions:
    """The engine with model and revision as they are loaded."""
    if options.model == MINI:
        folder_or_id, _ = _miniature(options.engine)
        return replace(options, model=folder_or_id)
    model, revision = options.model_of(question)
    # Weights in a folder keep the model's id as their name in the store.
    folder = options.folders.get(model, "")
    if folder:
        settings = (*options.settings, f"name={model}")
        return replace(options, model=folder, settings=settings)
    loads_weights = options.engine in ("vllm", "transformers")
    from_hub = loads_weights and not Path(model).is_dir()
    if options.planning and not revision and from_hub:
        # The store may have been filled on a machine that has the weights.
        stored = _revisions(options.store, model)
        if len(stored) == 1 and models.hub_revision(model, None) == "main":
            revision = stored[0]
    return replace(options, model=model, revision=revision)


def checkpoint() -> Path:
    """The miniature judge's folder. Raises: Unavailable where it has no checkpoint."""
    try:
        return models.miniature()
    except EngineError:
        raise Unavailable("no checkpoint in data/mini/judge; make mini-judge") from None


def engine(name: str, model: str, revision: str = "", base_url: str = "") -> Engine:
    """A model to ask outside of the catalogue's judges.

    name: replay (answers from the store), vllm, transformers or openai.
    model: "mini" is the miniature judge.
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
    """The question about the miniature judge's own data, and arguments for the
    evaluator.
    """
    from reproduction.training import mini

    judge = question.judge
    try:
        own_settings = dict(mini.settings(judge.evaluator))
    except ValueError as error:
        raise Unavailable(str(error)) from None
    replaced = set(_OF_DATA)
    if "sampling" in own_settings:
        replaced.update(_SAMPLING)
    settings = []
    # A setting of the catalogue goes before one of the miniature judge's.
    for setting in judge.settings:
        name, _ = pair(setting)
        if name not in replaced:
            settings.append(setting)
            own_settings.pop(name, None)
    judge = replace(judge, data="mini_judge", settings=tuple(settings))
    question = replace(question, judge=judge, fill=(), where=())
    return question, own_settings


# -- scores


def asked_scores(
    question: Question,
    folder: Path,
    aspects: Sequence[str],
    *,
    engine: str,
    model: str,
    revision: str,
    mode: str,
    base_url: str,
    engine_settings: Sequence[str],
) -> JudgeScores:
    """The scores of a question's judge, read from the store in `folder`, or asked for;
    where data or judge are not here, none and the reason.
    """
    # Completions that a stand-in made are never counted as a run.
    route = "run"
    if model == MINI or named.stand_ins(folder):
        route = "mini"
    options = EngineOptions(
        engine, model, revision, base_url, engine_settings, folder, mode=mode
    )
    name, label = options.model_of(question)
    key = (engine, name, label, base_url, tuple(engine_settings))
    try:
        if engine == "replay":
            return _replayed(question, options, aspects, route)
        # A model that the last question loaded is used again.
        held_engine = _held.get(key)
        asked_job = job(question, options, held_engine, aspects)
    except (DataError, Unavailable) as error:
        return JudgeScores(False, str(error), route=route)
    _hold(key, asked_job.engine)
    scores = read(asked_job, route)
    return _named(question, asked_job, folder, scores)


def _replayed(
    question: Question, options: EngineOptions, aspects: Sequence[str], route: str
) -> JudgeScores:
    """The scores of the revision in the store that is the paper's judge, or nearest to
    it; those of the other revisions are its `others`.
    """
    folder = Path(options.store)
    complete: list[JudgeScores] = []
    reasons: list[str] = []
    loaded = _kept_rows(question.judge.data, files.root(), files.mirror())
    for revision in stored_revisions(question, options):
        chosen = replace(options, revision=revision)
        replayed = job(question, chosen, aspects=aspects, loaded=loaded)
        engine = replayed.engine
        engine.refused = refusals(folder, engine.model, engine.revision)
        scores = read(replayed, route)
        reason = incomplete(question, replayed)
        if reason:
            reasons.append(f"{reason}; {how_to_make(question, options.model)}")
        else:
            complete.append(_named(question, replayed, folder, scores))
    if not complete:
        return JudgeScores(False, reasons[0], route=route)
    # The sort is stable: the order of `stored_revisions` decides among equals.
    complete.sort(key=lambda scores: not scores.papers_own)
    nearest, *further = complete
    return replace(nearest, others=tuple(map(_apart, further)))


# of the data set that was replayed last, as a notebook asks many judges of it
@functools.lru_cache(maxsize=1)
def _kept_rows(
    data: str, root: Path, mirror: Path | None
) -> dict[tuple[Any, ...], Rows]:
    """The rows of a data set that are read already, for `job` to read and add to."""
    return {}


def _named(
    question: Question, answered: Job, folder: Path, scores: JudgeScores
) -> JudgeScores:
    """Scores with who answered: a grade, and in the signature who it was in the place
    of the catalogue's model.
    """
    engine = answered.engine
    stand_in = named.stand_ins(folder).get(engine.model)
    if stand_in:
        return replace(scores, signature=f"{scores.signature}|stand-in:{stand_in}")
    if scores.route != "run":
        return scores
    served = answered.run.served
    grade = identity.identify_model(
        question.judge, engine.model, engine.revision, served
    )
    names = tuple(sorted(served))
    graded = replace(scores, identity=grade, served=names)
    if grade.papers_own:
        return graded
    return _apart(graded)


def _apart(scores: JudgeScores) -> JudgeScores:
    """Scores whose signature says that they do not stand in the paper's row."""
    if JUDGED_BY in scores.signature:
        return scores
    label = identity.who(scores.model, scores.revision, scores.served)
    return replace(scores, signature=f"{scores.signature}{JUDGED_BY}{label}")


def incomplete(question: Question, replayed: Job) -> str:
    """Why a replay's scores are not to be read: completions that the store lacks, or
    too many that could not be made; "" where they are complete.
    """
    engine = replayed.engine
    total = replayed.run.counts["total"]
    if engine.missing:
        count = "none of the"
        if replayed.run.counts["stored"]:
            n_stored = total - len(engine.missing)
            count = f"{n_stored:,} of {total:,}"
        subject = described(question, engine.model, replayed.data.name)
        return f"the store has {count} completions of {subject}"
    if len(engine.excused) > MOST_REFUSED * total:
        first = engine.refused[engine.excused[0]]
        return (
            f"{len(engine.excused):,} of {total:,} completions could not be made, "
            f"such as: {first}"
        )
    return ""


# The engine that was asked last: a notebook often asks one model several times.
_held: dict[tuple, Any] = {}


def _hold(key: tuple, engine: Engine) -> None:
    """Keep this engine and close the others. key: all that the engine was made with."""
    for held_key in list(_held):
        if held_key != key:
            _held.pop(held_key).close()
    _held[key] = engine


def read(job: Job, route: str, folds: int = 0) -> JudgeScores:
    """The scores of the job's rows; what could not be had is noted beside the store.

    folds: an evaluator that learns from ratings scores each input as fitted on the
    others, in so many folds; 0 gives the criteria's scores, and no fit.
    """
    engine = job.engine
    needs_fit = job.unfitted()
    replayed = engine is not None and engine.name == "replay"
    # A copy that the runner executes is kept: what the rate was at that hour does not
    # belong into it.
    quiet = replayed or bool(os.environ.get("NLGEVAL_RECORD"))
    bar = ProgressBar(job.name, quiet=quiet)
    criteria: tuple[str, ...] = ()
    if needs_fit and not folds:
        scored = job.criteria(bar)
        has_score = scored.notna()
        signature = job.evaluator.signature(engine)
        criteria = tuple(map(str, scored.columns))
    else:
        scored = job.cross_fit(folds, bar) if needs_fit else job.score(bar)
        has_score = scored["status"] == "ok"
        signature = scored.attrs.get("signature", "")
    # A replay could ask nothing, so it learns nothing about what fails.
    if job.run.failures and not replayed:
        note_refusals(job.store.folder, engine, job.run.failures)
    rows = job.data.frame
    # What the evaluator gives takes the place of equally named columns.
    in_both = rows.columns.intersection(scored.columns)
    rows = rows.drop(columns=in_both)
    n_scores = int(has_score.to_numpy().sum())
    return JudgeScores(
        True,
        frame=rows.join(scored).reset_index(drop=True),
        route=route,
        signature=signature,
        coverage=f"{n_scores:,} of {has_score.size:,}",
        model=engine.model if engine else "",
        revision=engine.revision if engine else "",
        criteria=criteria,
    )


def stored_revisions(question: Question, options: EngineOptions) -> list[str]:
    """The revisions to read: the one that was asked for, else all in the store, those
    of the model's own server first. Raises: Unavailable where it has none of them.
    """
    if options.model == MINI:
        name, revision = _miniature("replay")
    else:
        name, revision = options.model_of(question)
    stored = _revisions(options.store, name)
    if options.model == MINI or options.revision:
        stored = [label for label in stored if label == revision]
    if not stored:
        model = f"{name}@{revision}" if revision else name
        raise Unavailable(nothing_stored(question, model, options.model))
    stored.sort(key=lambda label: (label != revision, is_marked(label)))
    return stored


def _revisions(folder: str | Path, model: str) -> list[str]:
    """The revisions of a model that a store has completions of."""
    revisions = []
    with named.store(folder) as store:
        for name, revision in store.census():
            if name == model:
                revisions.append(revision)
    return revisions


# -- completions that could not be had, such as those of prompts that a model has no
# room for: a note beside the store


def refusals(folder: Path, model: str, revision: str) -> dict[str, str]:
    """Why each completion of a model could not be had, by the completion's key; empty
    where nothing was noted, or the note cannot be read.
    """
    path = _note(folder, model, revision)
    try:
        note = json.loads(path.read_text(encoding="utf-8"))
        return dict(note["refused"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def note_refusals(folder: Path, engine: Engine, failures: Iterable[Failure]) -> None:
    """Add what an engine could not give; a replay tells it from what was not asked."""
    note_refused(folder, engine.model, engine.revision, failures)


def note_refused(
    folder: Path, model: str, revision: str, failures: Iterable[Failure]
) -> None:
    """The same for a model by name and revision. Raises: OSError."""
    lasting = {}
    for failure in failures:
        if not failure.passing:
            lasting[failure.key] = failure.reason
    if not lasting:
        return
    note = {
        "model": model,
        "revision": revision,
        "refused": refusals(folder, model, revision) | lasting,
    }
    path = _note(folder, model, revision)
    files.write_text(path, json.dumps(note, indent=0))


def forget_refusals(folder: Path, engine: Engine) -> None:
    """What could not be had before counts as never asked. Raises: OSError."""
    path = _note(folder, engine.model, engine.revision)
    path.unlink(missing_ok=True)


def _note(folder: Path, model: str, revision: str) -> Path:
    """The file of a model's note."""
    digest = hashlib.sha256(f"{model}@{revision}".encode()).hexdigest()
    return folder / "refused" / f"{digest[:16]}.json"
