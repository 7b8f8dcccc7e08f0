"""Judgments to look at one by one, with filters: a page from disk, or in JupyterLab the
last line of a cell.

A row a judgment, of columns `COLUMNS`. turns: what was asked and said (`Turn`); gap:
how far apart judge and human rank an output among those of its aspect, 0 to 1. Data are
no part of the page's markup: a compressed block that one script of ours reads and shows
as text.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import gzip
import html
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from nlgeval_lib import datasets, files, parsers
from nlgeval_lib.datasets import DataUnavailable, recordings
from nlgeval_lib.datasets.numbers import HashedText, TextNotHere
from nlgeval_lib.engines import Engine, complete
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.evaluators.stages import Draws, Stage, drive
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.records import Sample, Status
from nlgeval_lib.report import web
from nlgeval_lib.scoring.job import PARSED
from nlgeval_lib.study import catalogue, judges, recorded_judges
from nlgeval_lib.study.judges import EngineOptions
from nlgeval_lib.training import mini

KEYS = ["input_id", "system_id", "aspect"]
COLUMNS = (
    *KEYS,
    "human",
    "value",
    "status",
    "reason",
    "input",
    "reference",
    "output",
    "turns",
    "gap",
)
PART = 6400  # judgments a page at most
_HEIGHT = 760
_INPUT = ("instruction", "source", "context", "rubric")
_BY = ["judge", "prompt_form"]
_NOT_HERE = (
    " Its texts are not here: ids, numbers and hashes alone are shown; `make data` "
    "brings the texts."
)
_LETTERS = dict(zip("ABCDE", range(1, 6), strict=True))


class Turn(NamedTuple):
    """A prompt and its answer; marks: the places of the answer that the score was
    read from; trace: how, in lines.
    """

    about: str
    prompt: str
    text: str
    marks: tuple[tuple[int, int], ...] = ()
    trace: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explorer:
    """Judgments (`COLUMNS`) under a title; `pages` are whole HTML documents of at
    most `PART` of them.
    """

    title: str
    frame: pd.DataFrame
    note: str = ""

    def pages(self, names: Sequence[str] = (), home: str = "") -> list[str]:
        """The documents, linked to each other by `names` (as many as `parts`) and to
        `home` where they are given.
        """
        made = []
        for number in range(self.parts):
            part = self.frame.iloc[number * PART : (number + 1) * PART]
            said: dict[str, Any] = {
                "title": self.title,
                "note": self.note,
                "number": number,
                "names": names,
            }
            said |= {
                "first": number * PART + 1,
                "last": number * PART + len(part),
                "total": len(self.frame),
            }
            content = web.render("explorer.html", data=packed(part), **said)
            made.append(web.page(self.title, content, ("explorer.js",), home=home))
        return made

    @property
    def parts(self) -> int:
        """How many pages there are."""
        return -(-len(self.frame) // PART)

    def _repr_html_(self) -> str:
        """The first page in a frame of its own, in which nothing but its script
        runs.
        """
        page = html.escape(self.pages()[0], quote=True)
        look = f'title="{html.escape(self.title)}" style="width:100%;height:{_HEIGHT}px;border:1px solid #d0d0d0"'
        return f'<iframe sandbox="allow-scripts" {look} srcdoc="{page}"></iframe>'

    def __repr__(self) -> str:
        return f"{self.title}: {len(self.frame):,} judgments"


def packed(frame: pd.DataFrame) -> str:
    """Judgments as text of letters, digits, + and /: gzipped JSON, each long text in it
    once.

    {"texts": [...], "rows": [[input_id, system_id, aspect, human, value, status,
    reason, gap, input, reference, output, [[about, prompt, answer, marks, trace],
    ...]], ...]}; input to output, prompt, answer and trace are places in texts.
    """
    texts: dict[str, int] = {}

    def at(text: str) -> int:
        return texts.setdefault(text, len(texts))

    rows = []
    for one in frame.astype(object).where(frame.notna(), None).itertuples(index=False):
        turns = [
            [t.about, at(t.prompt), at(t.text), t.marks, at("\n".join(t.trace))]
            for t in one.turns
        ]
        shown = [
            str(one.input_id),
            str(one.system_id),
            str(one.aspect),
            one.human,
            one.value,
            one.status,
            one.reason,
        ]
        rows.append(
            [*shown, one.gap, at(one.input), at(one.reference), at(one.output), turns]
        )
    told = json.dumps(
        {"texts": list(texts), "rows": rows}, ensure_ascii=False, separators=(",", ":")
    )
    return base64.b64encode(gzip.compress(told.encode(), mtime=0)).decode()


# -- the catalogue's judges, and any other


def of_question(
    output: str, name: str, *, mode: str = "full", **asked: Any
) -> Explorer:
    """The judgments of the judge that a catalogue's output reads as `name`; asked: as
    `study.judge_scores` takes it.

    Raises: Unavailable where the store lacks some; what `study.judge_scores` raises.
    """
    question = catalogue.load().question(output, name)
    found = judges.judge_scores(output, name, mode=mode, **asked)
    if not found.available:
        raise judges.Unavailable(found.why)
    store = files.state("completions")
    model = asked.get("model", "")
    options = EngineOptions("replay", model, found.revision, store=store, mode=mode)
    job = judges.job(question, options, aspects=asked.get("aspects", ()))
    job.engine.refused = judges.refusals(
        job.store.folder, job.engine.model, job.engine.revision
    )
    who = f"{question.judge.evaluator} ({name}), {found.model} on {job.data.name}, route {found.route}"
    return Explorer(
        who,
        _framed(
            found.frame, _heard(job.evaluator, found.frame, job.engine, job.store)[1]
        ),
    )


def of(
    judge: Judge, frame: pd.DataFrame, *, engine: Engine, store: Store | None = None
) -> Explorer:
    """The judgments of any evaluator that asks a language model, about the rows of a
    frame with its texts.
    """
    made, turns = _heard(judge, frame, engine, store)
    return Explorer(
        judge.name, _framed(frame.join(judge.framed(frame.index, made, engine)), turns)
    )


def _heard(
    judge: Any, frame: pd.DataFrame, engine: Engine, store: Store | None
) -> tuple[Any, list[list[Turn]]]:
    """What the stages come to; what was asked and said about each row, in their
    order.
    """
    judge = judge.for_engine(engine)
    samples = judge.given(frame)
    about: dict[str, list[Turn]] = defaultdict(list)
    known = {sample.id: sample for sample in samples}

    def answer(stage: Stage) -> Sequence[Draws]:
        found = (
            complete(engine, stage.requests, stage.sampling, store)
            if stage.requests
            else []
        )
        for request, draws in zip(stage.requests, found, strict=True):
            row, _, part = request.id.partition("#")
            read = (
                _parser(judge, known[row])
                if stage.name in PARSED and row in known
                else None
            )
            prompt = request.text()
            named = " ".join(filter(None, [stage.name, part]))
            about[row] += [
                _turn(named, prompt, one.text or f"({one.error})", read)
                for one in draws
            ]
        return found

    unfitted = (
        getattr(judge, "aggregator", None) is not None and not judge.aggregator.fitted
    )
    made = drive(
        judge.criteria_stages(samples, judge.used())
        if unfitted
        else judge.stages(samples),
        answer,
    )
    outputs = {
        row.rpartition("/")[0]: turns for row, turns in about.items()
    }  # criteria are asked once for all aspects
    return made, [
        about.get(one.id) or outputs.get(one.id.rpartition("/")[0], [])
        for one in samples
    ]


def _parser(judge: Any, sample: Sample) -> Callable[[str], Parsed] | None:
    """The parser that reads a judge's score, as the judge sets it; None for an
    evaluator that says nothing of it.
    """
    if judge.name.startswith("tigerscore"):
        return parsers.error_analysis
    task = getattr(judge, "task", judge)
    label = None
    if judge.name.startswith("hdeval"):
        low = mini.LOW
        high = mini.HIGH
    elif hasattr(judge, "scale"):
        low, high = judge.scale(sample)
    elif hasattr(task, "low"):
        low = task.low
        high = task.high
        label = task.target(sample.aspect).name if hasattr(task, "target") else None
    else:
        return None
    if getattr(judge, "feedback", False):
        return functools.partial(parsers.feedback, low=low, high=high)
    return functools.partial(parsers.rating, low=low, high=high, label=label)


# -- recordings, and what the miniature judge said when it was measured


def of_recording(name: str, judge: str = "", **options: Any) -> Explorer:
    """The first judge and prompt form of a recording, or of the named `judge`; see
    `recorded`.

    Raises: ValueError.
    """
    for one in recorded(name, **options):
        if one.title.startswith(f"{name}: {judge}"):
            return one
    raise ValueError(f"{name} has no judge {judge!r}")


def recorded(name: str, **options: Any) -> Iterator[Explorer]:
    """The judgments of each judge and prompt form of a recording. options: those of its
    loader.

    The value is what our parser reads (the mean of several draws), else the
    publisher's. Raises: DataError.
    """
    texts = recordings.load(name, **options)
    items = [
        datasets.load(one) for one in texts["dataset"].unique() if one in datasets.NAMES
    ]
    scale = {
        aspect: ends for one in items for aspect, ends in one.attrs["scale"].items()
    }
    try:
        said = recordings.prompts(name, **options)
    except (ValueError, DataUnavailable):
        said = texts.assign(prompt="")
    asked = (
        said.drop_duplicates([*KEYS, *_BY]).set_index([*_BY, *KEYS])["prompt"].to_dict()
    )
    for by, part in texts.groupby(_BY, sort=False):
        judge, form = map(str, by)
        rows = []
        for key, draws in part.groupby(KEYS, sort=False):
            read = _recorded_parser(name, form, *scale.get(str(key[2]), (1, 5)))
            turns = [
                _turn("", asked.get((*by, *key), ""), text, read)
                for text in draws.get("text", ())
            ]
            found = _found(read, list(draws["text"])) if read else []
            values = (
                [one.value for one in found if one.ok]
                if read
                else list(draws["value"].dropna())
            )
            lost = [one for one in found if not one.ok]
            reason = (
                f"{lost[0].reason}"
                if lost
                else ""
                if values
                else "no value is published"
            )
            reason = (
                f"{len(lost)} of {len(found)} draws: {reason}"
                if lost and len(found) > 1
                else reason
            )
            status = "ok" if values else lost[0].status.value if lost else "unavailable"
            rows.append(
                (
                    *key,
                    sum(values) / len(values) if values else math.nan,
                    status,
                    reason,
                    turns,
                )
            )
        frame = pd.DataFrame(
            rows, columns=[*KEYS, "value", "status", "reason", "turns"]
        )
        frame = _with_texts(frame, items) if items else frame
        who = f"{name}: {judge}" + f", {form}" * (form != "unknown")
        yield Explorer(
            who,
            _framed(frame, frame["turns"]),
            f"Recorded: {recordings.spec(name).source}.{_NOT_HERE * _hashed(texts)}",
        )


def _hashed(texts: pd.DataFrame) -> bool:
    """Whether the texts of a recording are not here, but their hashes."""
    return "text" in texts and any(isinstance(one, HashedText) for one in texts["text"])


def _found(read: Callable[[str], Any], texts: Sequence[Any]) -> list[Any]:
    """What a parser reads in texts; of those that are not here, what is saved of it."""
    if not any(isinstance(text, HashedText) for text in texts):
        return [read(text) for text in texts]
    settings: tuple[Any, ...] = ()
    parser = read
    if isinstance(read, functools.partial):
        parser = read.func
        settings = tuple(read.keywords.values())
    try:
        return recorded_judges.readings(texts, parser, *settings)
    except TextNotHere:
        gone = Parsed(None, Status.UNAVAILABLE, "the text is not here (make data)")
        return [gone] * len(texts)


def _with_texts(frame: pd.DataFrame, items: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The frame with the texts that were judged, and the ratings of its aspects."""
    whole = pd.concat(items)
    texts = [name for name in ("reference", "output", *_INPUT) if name in whole]
    about = whole[[*KEYS[:2], *texts]].drop_duplicates(KEYS[:2])
    rated = whole[[*KEYS, "human"]].drop_duplicates(KEYS)
    return frame.merge(about, how="left", on=KEYS[:2]).merge(rated, how="left", on=KEYS)


def _recorded_parser(
    name: str, form: str, low: float, high: float
) -> Callable[[str], Parsed] | None:
    """How the texts of a recording are read; None where the publisher's values
    stand.
    """
    if name in ("acloserlook", "llm_summeval"):
        if form.endswith("mcq"):
            return functools.partial(parsers.multiple_choice, choices=_LETTERS)
        return functools.partial(parsers.rating, low=low, high=high)
    readers = {
        "tigerscore_outputs": parsers.error_analysis,
        "instructscore_": parsers.instructscore,
    }
    return next(
        (read for start, read in readers.items() if name.startswith(start)), None
    )


def of_miniature() -> Iterator[Explorer]:
    """What the miniature judge said when it was measured, by form: of error analyses
    what was read, no texts.
    """
    said, analyses = mini.read()
    items = datasets.load("mini_judge")
    told = {
        (one["input_id"], one["system_id"]): [
            f"{error['kind']}: {error['location']!r}, penalty {error['penalty']:g}"
            for error in one["errors"]
        ]
        for one in analyses
    }
    for form, part in said.groupby("form", sort=False):
        frame = _with_texts(part, [items]).assign(
            reason=part["status"].where(part["status"] != "ok", "").to_numpy()
        )
        frame["human"] = part["gold"].to_numpy()
        keys = frame[KEYS[:2]].itertuples(index=False, name=None)
        read = ["\n".join(told.get(key, ())) or "none" for key in keys]
        turns = [
            [Turn("errors as they were read", "", text)] * (form == "error analysis")
            for text in read
        ]
        note = "Route mini: for exercise; compared with no paper."
        yield Explorer(f"miniature judge, {form}", _framed(frame, turns), note)


# -- reading


def _framed(frame: pd.DataFrame, turns: Sequence[list[Turn]]) -> pd.DataFrame:
    """The frame as the explorer shows it."""
    frame = frame.reset_index(drop=True).assign(turns=list(turns))
    inputs = [name for name in _INPUT if name in frame]
    texts = frame[inputs].map(_shown).to_dict("records")
    frame["input"] = [
        "\n\n".join(f"[{name}] {text}" for name, text in row.items() if text)
        for row in texts
    ]
    for name, default in (("value", math.nan), ("human", math.nan), ("aspect", "")):
        frame[name] = frame.get(name, default)
    for name in ("reference", "output", "status", "reason"):
        frame[name] = frame[name].map(_shown) if name in frame else ""
    both = (
        frame[frame["value"].notna() & frame["human"].notna()]
        .groupby("aspect")[["value", "human"]]
        .rank(pct=True)
    )
    frame["gap"] = (both["value"] - both["human"]).abs().round(3)
    return frame[[*COLUMNS]]


def _shown(value: Any) -> str:
    """A text as it is shown; the hash of one that is not here; nothing for a gap."""
    if isinstance(value, str | HashedText):
        return str(value)
    return "" if value is None or pd.isna(value) else str(value)


def _turn(
    about: str, prompt: str, text: str, read: Callable[[str], Parsed] | None
) -> Turn:
    """An answer with the places that its parser read, and the parser's trace."""
    if read is None or isinstance(text, HashedText):
        return Turn(about, prompt, str(text))
    found = read(text)
    if isinstance(read, functools.partial) and read.func is parsers.rating:
        lines = [
            line
            for line in parsers.trace(text, **read.keywords)
            if not line.startswith("text ")
        ]
    else:
        own = {
            field.name: getattr(found, field.name)
            for field in dataclasses.fields(found)
        }
        own.pop("feedback", None)
        lines = [
            f"{name:9}{value}"
            for name, value in own.items()
            if value not in (None, "", ())
        ]
    return Turn(about, prompt, text, _marks(text, found), tuple(lines))


def _marks(text: str, found: Parsed) -> tuple[tuple[int, int], ...]:
    """Where the text has what was read; nothing where it does not stand there word
    for word.
    """
    if errors := getattr(found, "errors", ()):
        starts = {
            place: text.find(place)
            for place in (error.location for error in errors)
            if place
        }
        return tuple(
            sorted(
                (start, start + len(place))
                for place, start in starts.items()
                if start >= 0
            )
        )
    if not found.ok:
        return ()
    value = getattr(found, "choice", "") or (
        f"{found.value:g}" if isinstance(found.value, float) else ""
    )
    begin = len(getattr(found, "feedback", ""))
    end = len(text)
    words = getattr(found, "matched", "").split()
    around = (
        re.search(r"\s+".join(map(re.escape, words)), text, re.I) if words else None
    )
    begin, end = around.span() if around else (begin, end)
    inside = (
        [*re.finditer(rf"(?<![\w.]){re.escape(value)}(?!\w)", text[begin:end], re.I)]
        if value
        else []
    )
    if inside:
        return ((begin + inside[-1].start(), begin + inside[-1].end()),)
    return (around.span(),) if around else ()
