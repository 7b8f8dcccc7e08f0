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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from nlgeval_lib.records import Status
from nlgeval_lib.report import web
from nlgeval_lib.scoring.job import PARSED
from nlgeval_lib.study import catalogue, judges, recorded_judges
from nlgeval_lib.study.judges import EngineOptions
from nlgeval_lib.study.questions import judge_scores
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
PART = 6400  # judgments in a notebook at most
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
    read from; trace: how, in lines; reasoning: what the judge thought before it.
    """

    about: str
    prompt: str
    text: str
    marks: tuple[tuple[int, int], ...] = ()
    trace: tuple[str, ...] = ()
    reasoning: str = ""


@dataclass(frozen=True)
class Explorer:
    """Judgments (`COLUMNS`) of one judge under a title."""

    title: str
    frame: pd.DataFrame
    note: str = ""

    def page(self) -> str:
        """A whole HTML document of its judgments, the first `PART` where they are
        more.
        """
        part = dataclasses.replace(self, frame=self.frame.iloc[:PART])
        return shard(self.title, [part], total=len(self.frame))

    def _repr_html_(self) -> str:
        """The page in a frame of its own, in which nothing but its script runs."""
        page = html.escape(self.page(), quote=True)
        style = f"width:100%;height:{_HEIGHT}px;border:1px solid #d0d0d0"
        look = f'title="{html.escape(self.title)}" style="{style}"'
        return f'<iframe sandbox="allow-scripts" {look} srcdoc="{page}"></iframe>'

    def __repr__(self) -> str:
        return f"{self.title}: {len(self.frame):,} judgments"


def shard(
    title: str, judges: Sequence[Explorer], home: str = "", total: int = 0
) -> str:
    """A whole HTML document of the judgments of several judges of one source, in one
    compressed block that is read when the page is opened.

    home: the link to the index. total: how many there are where these are not all.
    """
    count = sum(len(judge.frame) for judge in judges)
    content = web.render(
        "explorer.html",
        data=packed({judge.title: judge.frame for judge in judges}),
        title=title,
        notes=list(dict.fromkeys(judge.note for judge in judges if judge.note)),
        count=count,
        total=max(count, total),
    )
    return web.page(title, content, ("explorer.js",), home=home)


def in_utf16(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """A span of a text as a browser's script counts it, in units of 16 bits."""
    begin, end = (
        len(text[:place].encode("utf-16-le", "surrogatepass")) // 2 for place in span
    )
    return begin, end


def packed(judged: Mapping[str, pd.DataFrame]) -> str:
    """Judgments by judge as text of letters, digits, + and /: gzipped JSON, each long
    text in it once.

    {"texts": [...], "judges": [...], "rows": [[input_id, system_id, aspect, human,
    value, status, reason, gap, input, reference, output, [[about, prompt, answer,
    marks, trace, reasoning], ...], judge], ...]}; input to output, prompt, answer, trace and
    reasoning are places in texts, judge one in judges.
    """
    places: dict[str, int] = {}
    rows = []
    for number, frame in enumerate(judged.values()):
        judgments = frame.astype(object).where(frame.notna(), None)
        for row in judgments.itertuples(index=False):
            rows.append([*_packed_row(row, places), number])
    block = json.dumps(
        {"texts": list(places), "judges": list(judged), "rows": rows},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    return base64.b64encode(gzip.compress(block.encode(), mtime=0)).decode()


def _packed_row(row: Any, places: dict[str, int]) -> list[Any]:
    """A judgment with its texts by their places; new texts get the next place."""

    def place(text: str) -> int:
        return places.setdefault(text, len(places))

    turns = []
    for turn in row.turns:
        prompt = place(turn.prompt)
        answer = place(turn.text)
        trace = place("\n".join(turn.trace))
        reasoning = place(turn.reasoning)
        marks = [in_utf16(turn.text, mark) for mark in turn.marks]
        turns.append([turn.about, prompt, answer, marks, trace, reasoning])
    ids = [str(row.input_id), str(row.system_id), str(row.aspect)]
    scores = [row.human, row.value, row.status, row.reason, row.gap]
    texts = [place(row.input), place(row.reference), place(row.output)]
    return [*ids, *scores, *texts, turns]


# -- the catalogue's judges, and any other


def of_question(
    output: str, name: str, *, mode: str = "full", **options: Any
) -> Explorer:
    """The judgments of the judge that a catalogue's output reads as `name`; options: as
    `study.judge_scores` takes them.

    Raises: Unavailable where the store lacks some; what `study.judge_scores` raises.
    """
    question = catalogue.load().question(output, name)
    scores = judge_scores(output, name, mode=mode, **options)
    if not scores.available:
        raise judges.Unavailable(scores.why)
    engine_options = EngineOptions(
        "replay",
        options.get("model", ""),
        scores.revision,
        store=files.state("completions"),
        mode=mode,
    )
    job = judges.job(question, engine_options, aspects=options.get("aspects", ()))
    engine = job.engine
    engine.refused = judges.refusals(job.store.folder, engine.model, engine.revision)
    _, turns = _asked(job.evaluator, scores.frame, engine, job.store)
    judge = f"{question.judge.evaluator} ({name}), {scores.model}"
    title = f"{judge} on {job.data.name}, route {scores.route}"
    return Explorer(title, _framed(scores.frame, turns))


def of(
    judge: Judge, frame: pd.DataFrame, *, engine: Engine, store: Store | None = None
) -> Explorer:
    """The judgments of any evaluator that asks a language model, about the rows of a
    frame with its texts.
    """
    judgments, turns = _asked(judge, frame, engine, store)
    scored = frame.join(judge.framed(frame.index, judgments, engine))
    return Explorer(judge.name, _framed(scored, turns))


def of_scores(title: str, frame: pd.DataFrame, note: str = "") -> Explorer:
    """Scores of rows whose prompts and answers are not here."""
    return Explorer(title, _framed(frame, [[] for _ in range(len(frame))]), note)


def _asked(
    judge: Any, frame: pd.DataFrame, engine: Engine, store: Store | None
) -> tuple[Any, list[list[Turn]]]:
    """What the judge's stages come to, and the turns of each row in their order."""
    judge = judge.for_engine(engine)
    samples = judge.given(frame)
    samples_by_id = {sample.id: sample for sample in samples}
    turns: dict[str, list[Turn]] = defaultdict(list)

    def answer(stage: Stage) -> Sequence[Draws]:
        if not stage.requests:
            return []
        answers = complete(engine, stage.requests, stage.sampling, store)
        for request, draws in zip(stage.requests, answers, strict=True):
            row, _, part = request.id.partition("#")
            read = None
            if stage.name in PARSED and row in samples_by_id:
                read = judge.reader(samples_by_id[row])
            about = " ".join(filter(None, [stage.name, part]))
            prompt = request.text()
            for draw in draws:
                text = draw.text or f"({draw.error})"
                turn = _turn(about, prompt, text, read)
                turns[row].append(turn._replace(reasoning=draw.reasoning))
        return answers

    aggregator = getattr(judge, "aggregator", None)
    if aggregator is not None and not aggregator.fitted:
        stages = judge.criteria_stages(samples, judge.used())
    else:
        stages = judge.stages(samples)
    judgments = drive(stages, answer)
    # Criteria are asked once for all aspects of an output; ids end with the aspect.
    by_output = {row.rpartition("/")[0]: listed for row, listed in turns.items()}
    by_sample = []
    for sample in samples:
        output = sample.id.rpartition("/")[0]
        by_sample.append(turns.get(sample.id) or by_output.get(output, []))
    return judgments, by_sample


# -- recordings, and what the miniature judge said when it was measured


def of_recording(name: str, judge: str = "", **options: Any) -> Explorer:
    """The first judge and prompt form of a recording, or of the named `judge`; see
    `recorded`.

    Raises: ValueError.
    """
    for explorer in recorded(name, **options):
        if explorer.title.startswith(f"{name}: {judge}"):
            return explorer
    raise ValueError(f"{name} has no judge {judge!r}")


def recorded(name: str, **options: Any) -> Iterator[Explorer]:
    """The judgments of each judge and prompt form of a recording. options: those of its
    loader.

    The value is what our parser reads (the mean of several draws), else the
    publisher's. Raises: DataError.
    """
    texts = recordings.load(name, **options)
    if not set(KEYS) <= set(texts.columns):
        return  # verdicts on pairs of outputs are no judgments of one
    items = []
    scales = {}
    for dataset in texts["dataset"].unique():
        if dataset in datasets.NAMES:
            items.append(datasets.load(dataset))
            scales.update(items[-1].attrs.get("scale", {}))
    try:
        requests = recordings.prompts(name, **options)
    except (ValueError, DataUnavailable):
        requests = texts.assign(prompt="")
    place = [*_BY, *KEYS]
    prompts = requests.drop_duplicates(place).set_index(place)["prompt"].to_dict()
    note = f"Recorded: {recordings.spec(name).source}."
    if _hashed(texts.get("text", ())):
        note += _NOT_HERE
    for by, part in texts.groupby(_BY, sort=False):
        judge, form = map(str, by)
        rows = []
        for key, draws in part.groupby(KEYS, sort=False):
            low, high = scales.get(str(key[2]), (1, 5))
            read = _recorded_parser(name, form, low, high)
            prompt = prompts.get((*by, *key), "")
            rows.append((*key, *_recorded_judgment(draws, prompt, read)))
        columns = [*KEYS, "value", "status", "reason", "turns"]
        frame = pd.DataFrame(rows, columns=columns)
        if items:
            frame = _with_texts(frame, items)
        title = f"{name}: {judge}"
        if form != "unknown":
            title += f", {form}"
        yield Explorer(title, _framed(frame, frame["turns"]), note)


def _recorded_judgment(
    draws: pd.DataFrame, prompt: str, read: Callable[[str], Parsed] | None
) -> tuple[float, str, str, list[Turn]]:
    """Value, status, reason and turns of the recorded draws of one judgment.

    read: the parser; where it is None, the value is the publisher's.
    """
    texts = list(draws.get("text", ()))
    turns = [_turn("", prompt, text, read) for text in texts]
    failed = []
    reason = ""
    if read is None:
        values = list(draws["value"].dropna())
    else:
        readings = _readings(read, texts)
        values = [reading.value for reading in readings if reading.ok]
        failed = [reading for reading in readings if not reading.ok]
    if failed:
        reason = failed[0].reason
        if len(texts) > 1:
            reason = f"{len(failed)} of {len(texts)} draws: {reason}"
    elif not values:
        reason = "no value is published"
    if values:
        return sum(values) / len(values), "ok", reason, turns
    status = failed[0].status if failed else Status.UNAVAILABLE
    return math.nan, status.value, reason, turns


def _hashed(texts: Iterable[Any]) -> bool:
    """Whether the texts of a recording are not here, but their hashes."""
    return any(isinstance(text, HashedText) for text in texts)


def _readings(read: Callable[[str], Any], texts: Sequence[Any]) -> list[Any]:
    """What a parser reads in texts; of those that are not here, what is saved of it."""
    if not _hashed(texts):
        return [read(text) for text in texts]
    settings: tuple[Any, ...] = ()
    parser = read
    if isinstance(read, functools.partial):
        parser = read.func
        settings = tuple(read.keywords.values())
    try:
        return recorded_judges.readings(texts, parser, *settings)
    except TextNotHere:
        unread = Parsed(None, Status.UNAVAILABLE, "the text is not here (make data)")
        return [unread] * len(texts)


def _with_texts(frame: pd.DataFrame, items: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The frame with the texts that were judged, and the ratings of its aspects."""
    rated = pd.concat(items)
    output = KEYS[:2]
    columns = ("reference", "output", *_INPUT)
    texts = rated[[*output, *(name for name in columns if name in rated)]]
    frame = frame.merge(texts.drop_duplicates(output), how="left", on=output)
    ratings = rated[[*KEYS, "human"]].drop_duplicates(KEYS)
    return frame.merge(ratings, how="left", on=KEYS)


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
    if name.startswith("tigerscore_outputs"):
        return parsers.error_analysis
    if name.startswith("instructscore_"):
        return parsers.instructscore
    return None


def of_miniature() -> Iterator[Explorer]:
    """What the miniature judge said when it was measured, by form: of error analyses
    what was read, no texts.
    """
    judgments, analyses = mini.read()
    items = datasets.load("mini_judge")
    errors = {}
    for analysis in analyses:
        lines = []
        for error in analysis["errors"]:
            place = f"{error['location']!r}, penalty {error['penalty']:g}"
            lines.append(f"{error['kind']}: {place}")
        errors[analysis["input_id"], analysis["system_id"]] = "\n".join(lines)
    for form, part in judgments.groupby("form", sort=False):
        frame = _with_texts(part, [items])
        frame["reason"] = part["status"].replace("ok", "").to_numpy()
        frame["human"] = part["gold"].to_numpy()
        turns = []
        for key in frame[KEYS[:2]].itertuples(index=False, name=None):
            turn = Turn("errors as they were read", "", errors.get(key) or "none")
            turns.append([turn] if form == "error analysis" else [])
        note = "Route mini: for exercise; compared with no paper."
        yield Explorer(f"miniature judge, {form}", _framed(frame, turns), note)


# -- reading


def _framed(frame: pd.DataFrame, turns: Sequence[list[Turn]]) -> pd.DataFrame:
    """The frame as the explorer shows it."""
    frame = frame.reset_index(drop=True).assign(turns=list(turns))
    columns = [name for name in _INPUT if name in frame]
    inputs = []
    for texts in frame[columns].map(_as_text).to_dict("records"):
        parts = [f"[{name}] {text}" for name, text in texts.items() if text]
        inputs.append("\n\n".join(parts))
    frame["input"] = inputs
    for name, default in (("value", math.nan), ("human", math.nan), ("aspect", "")):
        if name not in frame:
            frame[name] = default
    for name in ("reference", "output", "status", "reason"):
        frame[name] = frame[name].map(_as_text) if name in frame else ""
    rated = frame[frame["value"].notna() & frame["human"].notna()]
    ranks = rated.groupby("aspect")[["value", "human"]].rank(pct=True)
    frame["gap"] = (ranks["value"] - ranks["human"]).abs().round(3)
    return frame[[*COLUMNS]]


def _as_text(value: Any) -> str:
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
    reading = read(text)
    lines = []
    if isinstance(read, functools.partial) and read.func is parsers.rating:
        for line in parsers.trace(text, **read.keywords):
            if not line.startswith("text "):
                lines.append(line)
    else:
        for field in dataclasses.fields(reading):
            value = getattr(reading, field.name)
            if field.name != "feedback" and value not in (None, "", ()):
                lines.append(f"{field.name:9}{value}")
    return Turn(about, prompt, text, _marks(text, reading), tuple(lines))


def _marks(text: str, reading: Parsed) -> tuple[tuple[int, int], ...]:
    """Where the text has what was read; nothing where it does not stand there word
    for word.
    """
    errors = getattr(reading, "errors", ())
    if errors:
        spans = set()
        for error in errors:
            if error.location and error.location in text:
                start = text.index(error.location)
                spans.add((start, start + len(error.location)))
        return tuple(sorted(spans))
    if not reading.ok:
        return ()
    begin = len(getattr(reading, "feedback", ""))
    end = len(text)
    spans_around = []
    words = getattr(reading, "matched", "").split()
    if words:
        around = re.search(r"\s+".join(map(re.escape, words)), text, re.IGNORECASE)
        if around:
            begin, end = around.span()
            spans_around = [around.span()]
    value = getattr(reading, "choice", "")
    if not value and isinstance(reading.value, float):
        value = f"{reading.value:g}"
    if value:
        pattern = rf"(?<![\w.]){re.escape(value)}(?!\w)"
        inside = [*re.finditer(pattern, text[begin:end], re.IGNORECASE)]
        if inside:
            return ((begin + inside[-1].start(), begin + inside[-1].end()),)
    return tuple(spans_around)
