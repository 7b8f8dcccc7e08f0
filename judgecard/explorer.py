"""Judgments to look at one by one, with filters: a page from disk, or in JupyterLab the
last line of a cell.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import gzip
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from judgecard import recorded_judges, recordings, web
from nlgeval_lib import datasets, parsers
from nlgeval_lib.datasets import DataUnavailable, mini_judge
from nlgeval_lib.datasets.numbers import HashedText, TextNotHere
from nlgeval_lib.engines import Engine, complete
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.evaluators.stages import Draws, Stage, drive
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.records import Status
from nlgeval_lib.scoring.job import PARSED

# What a judgment is of: an output (its first two), and an aspect of it.
KEYS = ["input_id", "system_id", "aspect"]
COLUMNS = (
    *KEYS,
    # what raters and the judge say, and why the judge may say nothing
    "human",
    "value",
    "status",
    "reason",
    # texts, then what was asked of the judge and said by it
    "input",
    "reference",
    "output",
    "turns",
    "gap",
)
PART = 6400  # judgments in a notebook at most
# The columns that are shown together as the input of an output.
_INPUT = ("instruction", "source", "context", "rubric")
# What of a recording makes an explorer of its own.
_BY = ["judge", "prompt_form"]
_NOT_HERE = (
    " Its texts are not here: ids, numbers and hashes alone are shown; `make data` "
    "brings the texts."
)
_LETTERS = dict(zip("ABCDE", range(1, 6), strict=True))  # choices and their scores


class Turn(NamedTuple):
    """A prompt and its answer.

    about: the stage that asked, and which of its parts; empty of a recording.
    prompt: what was asked; empty where it is not published.
    text: the answer; the hash of one that is not here, or an error in brackets.
    trace: how it was read, in lines.
    reasoning: what the judge thought before it.
    """

    about: str
    prompt: str
    text: str
    trace: tuple[str, ...] = ()
    reasoning: str = ""


@dataclass(frozen=True)
class Explorer:
    """Judgments of one judge under a title.

    title: the judge and its data, as the page and its list of judges name them.
    frame: a row a judgment with the columns `COLUMNS`.
    note: a sentence below the title, such as where a recording is from.
    """

    title: str
    frame: pd.DataFrame
    note: str = ""

    def page(self) -> str:
        """A whole HTML document of its judgments, the first `PART` where they are more."""
        first_part = dataclasses.replace(self, frame=self.frame.iloc[:PART])
        return shard(self.title, [first_part], total=len(self.frame))

    def _repr_html_(self) -> str:
        """The page in a frame of its own, in which nothing but its script runs."""
        return web.framed(self.page(), self.title, "allow-scripts")

    def __repr__(self) -> str:
        return f"{self.title}: {len(self.frame):,} judgments"


def shard(
    title: str, judges: Sequence[Explorer], home: str = "", total: int = 0
) -> str:
    """A whole HTML document of the judgments of several judges of one source, in one
    compressed block that is read when the page is opened.

    title: the source, as the page is called.
    judges: one or more; a note that several share stands once.
    home: the link to the index; "" for a page that stands alone.
    total: how many judgments there are where these are not all.
    """
    count = sum(len(judge.frame) for judge in judges)
    frames = {judge.title: judge.frame for judge in judges}
    notes = dict.fromkeys(judge.note for judge in judges if judge.note)
    content = web.render(
        "explorer.html",
        data=packed(frames),
        title=title,
        notes=list(notes),
        count=count,
        total=max(count, total),
    )
    return web.page(title, content, (web.SITE / "explorer.js",), home=home)


def packed(judged: Mapping[str, pd.DataFrame]) -> str:
    """Judgments by judge as text of letters, digits, + and /: gzipped JSON, each long
    text in it once.

    judged: frames of the columns `COLUMNS` by the judge's title.
    Returns: the same text for the same judgments, of {"texts": [...], "judges": [...],
    "rows": [[input_id, system_id, aspect, human, value, status, reason, gap, input,
    reference, output, [[about, prompt, answer, trace, reasoning], ...], judge],
    ...]}; input to output, prompt, answer, trace and reasoning are places in texts,
    judge is one in judges.
    """
    places: dict[str, int] = {}
    rows = []
    for number, frame in enumerate(judged.values()):
        # JSON has no NaN: gaps become null.
        judgments = frame.astype(object).where(frame.notna(), None)
        for row in judgments.itertuples(index=False):
            rows.append([*_packed_row(row, places), number])
    block = json.dumps(
        {"texts": list(places), "judges": list(judged), "rows": rows},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    compressed = gzip.compress(block.encode(), mtime=0)
    return base64.b64encode(compressed).decode()


def _packed_row(row: Any, places: dict[str, int]) -> list[Any]:
    """A judgment with its texts by their places; new texts get the next place."""

    def place(text: str) -> int:
        """Where the text stands in the list of texts."""
        return places.setdefault(text, len(places))

    turns = []
    for turn in row.turns:
        prompt = place(turn.prompt)
        answer = place(turn.text)
        trace = place("\n".join(turn.trace))
        reasoning = place(turn.reasoning)
        turns.append([turn.about, prompt, answer, trace, reasoning])
    return [
        str(row.input_id),
        str(row.system_id),
        str(row.aspect),
        row.human,
        row.value,
        row.status,
        row.reason,
        row.gap,
        place(row.input),
        place(row.reference),
        place(row.output),
        turns,
    ]


# -- a judge that is asked, and scores alone


def explore_judge(
    judge: Judge, frame: pd.DataFrame, *, engine: Engine, store: Store | None = None
) -> Explorer:
    """The judgments of any evaluator that asks a language model.

    frame: the rows to judge, with the texts that its prompts take.
    store: where completions are looked for and put; None: they are all asked anew.
    """
    judgments, turns = answered(judge, frame, engine, store)
    scored = frame.join(judge.framed(frame.index, judgments, engine))
    return Explorer(judge.name, framed(scored, turns))


def explore_scores(title: str, frame: pd.DataFrame, note: str = "") -> Explorer:
    """Scores of rows whose prompts and answers are not here.

    title: as the page is called. note: a sentence below it.
    frame: a row a score; of `COLUMNS` what it has, and at least `input_id`,
    `system_id`.
    """
    no_turns: list[list[Turn]] = [[] for _ in range(len(frame))]
    return Explorer(title, framed(frame, no_turns), note)


def answered(
    judge: Any, frame: pd.DataFrame, engine: Engine, store: Store | None
) -> tuple[Any, list[list[Turn]]]:
    """What the judge's stages come to, and the turns of each row in their order.

    Returns: the judgments, and a list of turns for each sample, in the samples' order.
    """
    judge = judge.for_engine(engine)
    samples = judge.given(frame)
    samples_by_id = {sample.id: sample for sample in samples}
    # Filled while the stages are driven: by the id of the row that was asked about.
    turns: dict[str, list[Turn]] = defaultdict(list)

    def answer(stage: Stage) -> Sequence[Draws]:
        """The answers to a stage; each becomes a turn of its row."""
        if not stage.requests:
            return []
        answers = complete(engine, stage.requests, stage.sampling, store)
        for request, draws in zip(stage.requests, answers, strict=True):
            # "<row>#<part>": a stage may ask several things of one row.
            row, _, part = request.id.partition("#")
            # Only in some stages is the answer a score that the judge's parser reads.
            read = None
            if stage.name in PARSED and row in samples_by_id:
                read = judge.reader(samples_by_id[row])
            about = f"{stage.name} {part}".strip()
            prompt = request.text()
            for draw in draws:
                text = draw.text or f"({draw.error})"
                turn = _turn(about, prompt, text, read)
                turn = turn._replace(reasoning=draw.reasoning)
                turns[row].append(turn)
        return answers

    judgments = drive(_stages(judge, samples), answer)
    # Criteria are asked once for all aspects of an output; ids end with the aspect.
    by_output = {}
    for row, turns_of_row in turns.items():
        output = row.rpartition("/")[0]
        by_output[output] = turns_of_row
    by_sample = []
    for sample in samples:
        output = sample.id.rpartition("/")[0]
        turns_of_sample = turns.get(sample.id) or by_output.get(output, [])
        by_sample.append(turns_of_sample)
    return judgments, by_sample


def _stages(judge: Any, samples: Sequence[Any]) -> Any:
    """The stages of a judge; of one whose aggregator is not fitted those that score
    its criteria, and nothing after them.
    """
    aggregator = getattr(judge, "aggregator", None)
    if aggregator is not None and not aggregator.fitted:
        return judge.criteria_stages(samples, judge.used())
    return judge.stages(samples)


# -- recordings, and what the miniature judge said when it was measured


def explore_recording(name: str, judge: str = "", **options: Any) -> Explorer:
    """The first judge and prompt form of a recording.

    judge: how the judge's name begins; "" for the first of all.
    options: as `recorded` takes them.
    Raises: ValueError where it has no such judge; DataError.
    """
    for explorer in recorded(name, **options):
        if explorer.title.startswith(f"{name}: {judge}"):
            return explorer
    raise ValueError(f"{name} has no judge {judge!r}")


def recorded(name: str, **options: Any) -> Iterator[Explorer]:
    """The judgments of each judge and prompt form of a recording.

    The value is what our parser reads (the mean of several draws), else the
    publisher's.

    name: of a recording; one of verdicts on pairs of outputs gives nothing.
    Raises: DataError.
    """
    texts = recordings.load(name, **options)
    if not set(KEYS) <= set(texts.columns):
        return  # verdicts on pairs of outputs are no judgments of one
    items, scales = _judged_items(texts["dataset"].unique())
    # Prompts by judge, form and judgment: not every publisher has them, and they may
    # need texts that are not here.
    try:
        requests = recordings.prompts(name, **options)
    except (ValueError, DataUnavailable):
        requests = texts.assign(prompt="")
    place = [*_BY, *KEYS]
    by_place = requests.drop_duplicates(place).set_index(place)
    prompts = by_place["prompt"].to_dict()
    note = f"Recorded: {recordings.spec(name).source}."
    if _hashed(texts.get("text", ())):
        note += _NOT_HERE
    for by, part in texts.groupby(_BY, sort=False):
        judge, form = map(str, by)
        rows = []
        # A judgment may be several draws of one answer.
        for key, draws in part.groupby(KEYS, sort=False):
            aspect = str(key[2])
            low, high = scales.get(aspect, (1, 5))
            read = _recorded_parser(name, form, low, high)
            prompt = prompts.get((*by, *key), "")
            judgment = _recorded_judgment(draws, prompt, read)
            rows.append((*key, *judgment))
        columns = [*KEYS, "value", "status", "reason", "turns"]
        frame = pd.DataFrame(rows, columns=columns)
        if items:
            frame = _with_texts(frame, items)
        title = f"{name}: {judge}"
        if form != "unknown":
            title += f", {form}"
        yield Explorer(title, framed(frame, frame["turns"]), note)


def _judged_items(
    names: Iterable[str],
) -> tuple[list[pd.DataFrame], dict[str, tuple[float, float]]]:
    """The data sets whose outputs were judged, those that a loader here has."""
    items = []
    scales: dict[str, tuple[float, float]] = {}
    for name in names:
        if name in datasets.NAMES:
            frame = datasets.load(name)
            items.append(frame)
            scales.update(frame.attrs.get("scale", {}))
    return items, scales


def _recorded_judgment(
    draws: pd.DataFrame, prompt: str, read: Callable[[str], Parsed] | None
) -> tuple[float, str, str, list[Turn]]:
    """Value, status, reason and turns of the recorded draws of one judgment."""
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
    # A judgment of which some draws could be read has a value and a reason.
    if failed:
        reason = failed[0].reason
        if len(texts) > 1:
            reason = f"{len(failed)} of {len(texts)} draws: {reason}"
    elif not values:
        reason = "no value is published"
    if values:
        mean = sum(values) / len(values)
        return mean, "ok", reason, turns
    status = failed[0].status if failed else Status.UNAVAILABLE
    return math.nan, status.value, reason, turns


def _hashed(texts: Iterable[Any]) -> bool:
    """Whether the texts of a recording are not here, but their hashes."""
    return any(isinstance(text, HashedText) for text in texts)


def _readings(read: Callable[[str], Any], texts: Sequence[Any]) -> list[Any]:
    """What a parser reads in texts; of those that are not here, what is saved of it."""
    if not _hashed(texts):
        return [read(text) for text in texts]
    # Readings were saved by the parser and its settings, apart.
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
    present = [name for name in ("reference", "output", *_INPUT) if name in rated]
    texts = rated[[*output, *present]].drop_duplicates(output)
    frame = frame.merge(texts, how="left", on=output)
    ratings = rated[[*KEYS, "human"]].drop_duplicates(KEYS)
    return frame.merge(ratings, how="left", on=KEYS)


def _recorded_parser(
    name: str, form: str, low: float, high: float
) -> Callable[[str], Parsed] | None:
    """How the texts of a recording are read."""
    if name in ("acloserlook", "llm_summeval"):
        # A multiple choice answers with a letter, every other form with a number.
        if form.endswith("mcq"):
            return functools.partial(parsers.multiple_choice, choices=_LETTERS)
        return functools.partial(parsers.rating, low=low, high=high)
    if name.startswith("tigerscore_outputs"):
        return parsers.error_analysis
    if name.startswith("instructscore_"):
        return parsers.instructscore
    return None


def explore_miniature() -> Iterator[Explorer]:
    """What the miniature judge said when it was measured, by form: of error analyses
    what was read, no texts.

    Raises: FileNotFoundError, DataUnavailable where its judgments or its data are not
    here.
    """
    judgments, analyses = mini_judge.judgments()
    items = datasets.load("mini_judge")
    # The errors that were read in each output, a line an error.
    errors = {}
    for analysis in analyses:
        lines = []
        for error in analysis["errors"]:
            place = f"{error['location']!r}, penalty {error['penalty']:g}"
            lines.append(f"{error['kind']}: {place}")
        output = (analysis["input_id"], analysis["system_id"])
        errors[output] = "\n".join(lines)
    for form, part in judgments.groupby("form", sort=False):
        frame = _with_texts(part, [items])
        frame["reason"] = part["status"].replace("ok", "").to_numpy()
        frame["human"] = part["gold"].to_numpy()
        turns: list[list[Turn]] = [[] for _ in range(len(frame))]
        if form == "error analysis":
            outputs = frame[KEYS[:2]].itertuples(index=False, name=None)
            for output, listed in zip(outputs, turns, strict=True):
                text = errors.get(output) or "none"
                listed.append(Turn("errors as they were read", "", text))
        note = "Route mini: for exercise; compared with no paper."
        yield Explorer(f"miniature judge, {form}", framed(frame, turns), note)


# -- reading


def framed(frame: pd.DataFrame, turns: Sequence[list[Turn]]) -> pd.DataFrame:
    """The frame as the explorer shows it: the columns `COLUMNS`, those that it lacks
    empty.
    """
    frame = frame.reset_index(drop=True).assign(turns=list(turns))
    # The input is one text, each of its parts under its name.
    columns = [name for name in _INPUT if name in frame]
    inputs = []
    for texts in frame[columns].map(_as_text).to_dict("records"):
        parts = [f"[{name}] {text}" for name, text in texts.items() if text]
        inputs.append("\n\n".join(parts))
    frame["input"] = inputs
    defaults = {"value": math.nan, "human": math.nan, "aspect": ""}
    for name, default in defaults.items():
        if name not in frame:
            frame[name] = default
    for name in ("reference", "output", "status", "reason"):
        if name in frame:
            frame[name] = frame[name].map(_as_text)
        else:
            frame[name] = ""
    # Ranks, as shares: judge and rater may use scales of their own.
    rated = frame[frame["value"].notna() & frame["human"].notna()]
    ranks = rated.groupby("aspect")[["value", "human"]].rank(pct=True)
    difference = ranks["value"] - ranks["human"]
    frame["gap"] = difference.abs().round(3)
    return frame[[*COLUMNS]]


def _as_text(value: Any) -> str:
    """A text as it is shown; the hash of one that is not here; nothing for a gap."""
    if isinstance(value, str | HashedText):
        return str(value)
    if value is None or pd.isna(value):
        return ""
    return str(value)


def _turn(
    about: str, prompt: str, text: str, read: Callable[[str], Parsed] | None
) -> Turn:
    """An answer with the trace of its parser."""
    if read is None or isinstance(text, HashedText):
        return Turn(about, prompt, str(text))
    reading = read(text)
    lines = []
    # The parser of ratings has a trace of its own; of others the fields are shown.
    if isinstance(read, functools.partial) and read.func is parsers.rating:
        for line in parsers.trace(text, **read.keywords):
            if not line.startswith("text "):
                lines.append(line)
    else:
        for field in dataclasses.fields(reading):
            value = getattr(reading, field.name)
            is_empty = value in (None, "", ())
            if field.name != "feedback" and not is_empty:
                lines.append(f"{field.name:9}{value}")
    return Turn(about, prompt, text, tuple(lines))
