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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from judgecard import web
from nlgeval_lib import parsers
from nlgeval_lib.engines import Engine, complete
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.evaluators.stages import Draws, Stage, drive
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.scoring.job import PARSED

COLUMNS = (
    # an output, and an aspect of it
    "input_id",
    "system_id",
    "aspect",
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


class Turn(NamedTuple):
    """A prompt and its answer.

    about: the stage that asked, and which of its parts.
    text: the answer; an error in brackets.
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

    frame: a row a judgment with the columns `COLUMNS`.
    """

    title: str
    frame: pd.DataFrame

    def page(self) -> str:
        """A whole HTML document of its judgments, the first `PART` where they are more,
        in one compressed block that is read when the page is opened.
        """
        part = self.frame.iloc[:PART]
        content = web.render(
            "explorer.html",
            data=packed(part),
            title=self.title,
            count=len(part),
            total=len(self.frame),
        )
        return web.page(self.title, content, (web.SITE / "explorer.js",))

    def _repr_html_(self) -> str:
        """The page in a frame of its own, in which nothing but its script runs."""
        return web.framed(self.page(), self.title, "allow-scripts")

    def __repr__(self) -> str:
        return f"{self.title}: {len(self.frame):,} judgments"


def packed(frame: pd.DataFrame) -> str:
    """Judgments as text of letters, digits, + and /: gzipped JSON, each long text in it
    once.

    frame: with the columns `COLUMNS`.
    Returns: the same text for the same judgments, of {"texts": [...], "rows":
    [[input_id, system_id, aspect, human, value, status, reason, gap, input, reference,
    output, [[about, prompt, answer, trace, reasoning], ...]], ...]}; input to output,
    prompt, answer, trace and reasoning are places in texts.
    """
    places: dict[str, int] = {}
    # JSON has no NaN: gaps become null.
    judgments = frame.astype(object).where(frame.notna(), None)
    rows = [_packed_row(row, places) for row in judgments.itertuples(index=False)]
    block = json.dumps(
        {"texts": list(places), "rows": rows},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    compressed = gzip.compress(block.encode(), mtime=0)
    return base64.b64encode(compressed).decode()


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


def explore_scores(title: str, frame: pd.DataFrame) -> Explorer:
    """Scores of rows whose prompts and answers are not here.

    frame: a row a score; of `COLUMNS` what it has, and at least `input_id`,
    `system_id`.
    """
    no_turns: list[list[Turn]] = [[] for _ in range(len(frame))]
    return Explorer(title, framed(frame, no_turns))


def explore_judge(
    judge: Judge, frame: pd.DataFrame, *, engine: Engine, store: Store | None = None
) -> Explorer:
    """The judgments of any evaluator that asks a language model.

    frame: the rows to judge, with the texts that its prompts take.
    store: where completions are looked for and put; None: they are all asked anew.
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
                trace = _trace(text, read)
                turns[row].append(Turn(about, prompt, text, trace, draw.reasoning))
        return answers

    judgments = drive(judge.stages(samples), answer)
    # Criteria are asked once for all aspects of an output; ids end with the aspect.
    by_output = {}
    for row, turns_of_row in turns.items():
        by_output[row.rpartition("/")[0]] = turns_of_row
    by_sample = []
    for sample in samples:
        output = sample.id.rpartition("/")[0]
        by_sample.append(turns.get(sample.id) or by_output.get(output, []))
    scored = frame.join(judge.framed(frame.index, judgments, engine))
    return Explorer(judge.name, framed(scored, by_sample))


def _trace(text: str, read: Callable[[str], Parsed] | None) -> tuple[str, ...]:
    """How a parser reads an answer, in lines."""
    if read is None:
        return ()
    # The parser of ratings has a trace of its own; of others the fields are shown.
    if isinstance(read, functools.partial) and read.func is parsers.rating:
        lines = parsers.trace(text, **read.keywords)
        return tuple(line for line in lines if not line.startswith("text "))
    trace = []
    reading = read(text)
    for field in dataclasses.fields(reading):
        value = getattr(reading, field.name)
        if field.name != "feedback" and value not in (None, "", ()):
            trace.append(f"{field.name:9}{value}")
    return tuple(trace)


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
        frame[name] = frame[name].map(_as_text) if name in frame else ""
    # Ranks, as shares: judge and rater may use scales of their own.
    rated = frame[frame["value"].notna() & frame["human"].notna()]
    ranks = rated.groupby("aspect")[["value", "human"]].rank(pct=True)
    difference = ranks["value"] - ranks["human"]
    frame["gap"] = difference.abs().round(3)
    return frame[[*COLUMNS]]


def _as_text(value: Any) -> str:
    """A text as it is shown; nothing for a gap."""
    if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return ""
    return str(value)
