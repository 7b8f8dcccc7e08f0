"""The two channels: a system's output that the teacher analyses, and an output that the teacher spoils itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.engines import Request
from nlgeval_lib.evaluators.tigerscore import Task, TigerScoreReferenceBased, find_task
from nlgeval_lib.parsers.error_analysis import error_analysis
from nlgeval_lib.parsers.error_fields import ERROR_HEAD, LABEL, ErrorItem
from nlgeval_lib.schema import Completion
from nlgeval_lib.training.metricinstruct.candidate import Candidate
from nlgeval_lib.training.sieve import cut, there

_OUTPUT = re.compile(r"^[>*#\- \t]*generated incorrect (?:output|response)[*_]*\s*:[*_]*[ \t]*", re.I | re.M)
_COLUMNS = {
    "instruction": ("instruction",),
    "input": ("source", "input"),
    "reference": ("reference", "references"),
    "output": ("output",),
    "dataset": ("dataset",),
    "system_id": ("system_id",),
    "input_id": ("input_id",),
}
TWO_STEP, WITH_ASPECTS, FREE = "two-step", "table_18", "table_19"


def candidates(frame: pd.DataFrame, channel: str, template: str, teacher: str = "") -> list[Candidate]:
    """A candidate for each row: `task`, `instruction`, `source` or `input`, `reference` or `references`; for the real
    channel also `output`. `dataset`, `system_id` and `input_id` are kept; a missing text is empty.

    Raises: ValueError for a missing column or an unknown task.
    """
    needed = ["task", "instruction", "reference", *(["output"] if channel == "real" else [])]
    where = {
        name: next((column for column in names if column in frame.columns), None) for name, names in _COLUMNS.items()
    }
    lacking = [name for name in needed if name != "task" and where[name] is None]
    if lacking or "task" not in frame.columns:
        lacking += [] if "task" in frame.columns else ["task"]
        raise ValueError(f"no column {', '.join(lacking)}; the frame has {', '.join(map(str, frame.columns))}")
    labels = {name: find_task(name).label for name in dict.fromkeys(frame["task"])}
    made = []
    for place, row in enumerate(frame.to_dict("records")):
        values = {name: _text(row[column]) if column else "" for name, column in where.items()}
        name = values.pop("input_id") or str(place)
        if channel == "synthetic":
            values |= {"output": "", "system_id": teacher}
        whole = "/".join(part for part in (channel, template, name, values["system_id"]) if part)
        made.append(
            Candidate(
                id=f"{whole}#{place}",
                channel=channel,
                template=template,
                task=labels[row["task"]],
                free=template == FREE,
                **values,
            )
        )
    return made


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence | np.ndarray) and len(value):
        return _text(value[0])
    return ""


# -- real world: two turns -------------------------------------------------------------------------------------------


def _judges(given: Iterable[Candidate], label: str) -> dict[str, TigerScoreReferenceBased]:
    tasks = dict.fromkeys(candidate.task for candidate in given)
    return {task: TigerScoreReferenceBased(task=task, label=label) for task in tasks}


def first_turns(given: Sequence[Candidate], label: str) -> list[Request]:
    """What is asked first, freely, with the reference in view. Source: TIGERScore, Tables 11 to 16."""
    judges = _judges(given, label)
    return [request for one in given for request in judges[one.task].requests(one.sample())]


def second_turns(given: Sequence[tuple[Candidate, str]], label: str) -> list[Request]:
    """The second turn after each analysis: the same as JSON. Source: TIGERScore, Table 17."""
    judges = _judges((one for one, _ in given), label)
    return [judges[one.task].second(one.sample(), analysis) for one, analysis in given]


def analysed(candidate: Candidate, completion: Completion) -> Candidate:
    """The candidate with the errors of the JSON that the teacher wrote, or with what is wrong with it."""
    if nothing := there(completion):
        return replace(candidate, failure=nothing)
    found = error_analysis(completion.text)
    if not found.ok or found.rule != "json":
        reason = found.reason or f"read as {found.rule!r}, not as JSON"
        return replace(candidate, problem=reason + cut(completion))
    return replace(candidate, errors=_named(found.errors, candidate))


# -- synthetic -------------------------------------------------------------------------------------------------------


def spoiling(candidate: Candidate, most_errors: int = 3) -> Request:
    """What is asked for a spoiled output: with errors of `asked`, or of aspects that the teacher names itself.

    The form of the list of errors is ours; the paper does not print it.
    Source: TIGERScore, Table 18; Table 19 (free aspects).
    """
    if candidate.free:
        text = prompts.render(
            "tigerscore/synthetic_free_aspects",
            instruction=candidate.instruction,
            input=candidate.input,
            output=candidate.reference,
            num_errors=most_errors,
        )
    else:
        text = prompts.render(
            "tigerscore/synthetic_errors",
            generation_instruction=candidate.instruction,
            input_context=candidate.input,
            reference_output=candidate.reference,
            error_requirements=requirements(find_task(candidate.task), candidate.asked),
        )
    return Request.chat(text, id=candidate.id)


def requirements(task: Task, asked: Sequence[str]) -> str:
    """One line an error: its number, aspect and the aspect's definition."""
    return "\n".join(
        f"{number}. An error of {aspect}: {task.aspects[aspect]}" for number, aspect in enumerate(asked, start=1)
    )


def spoiled(candidate: Candidate, completion: Completion) -> Candidate:
    """The candidate with the output and the errors that the teacher wrote, or with what is wrong with its text."""
    if nothing := there(completion):
        return replace(candidate, failure=nothing)
    text = completion.text.replace("\r\n", "\n")
    head = _OUTPUT.search(text)
    if head is None:
        return replace(candidate, problem="no line 'Generated incorrect output:'" + cut(completion))
    rest = text[head.end() :]
    ends = [match.start() for match in (LABEL.search(rest), ERROR_HEAD.search(rest)) if match]
    if not ends:
        return replace(candidate, problem="no error is listed after the output" + cut(completion))
    found = error_analysis(rest[min(ends) :])
    output = _bare(rest[: min(ends)])
    if not found.ok or not found.errors:
        reason = found.reason or "no error is listed after the output"
        return replace(candidate, output=output, problem=reason + cut(completion))
    return replace(candidate, output=output, errors=_named(found.errors, candidate))


def _bare(text: str) -> str:
    """The output without the fence or the quotation marks that stand around all of it."""
    text = text.strip()
    fence = re.fullmatch(r"```[a-z]*\n(.*?)\n?```", text, re.S)
    if fence:
        return fence.group(1).strip()
    if len(text) > 1 and text[0] == text[-1] == '"' and '"' not in text[1:-1]:
        return text[1:-1].strip()
    return text


def _named(errors: Sequence[ErrorItem], candidate: Candidate) -> tuple[ErrorItem, ...]:
    """The errors with aspects as the paper spells them, where they are of the task."""
    task = find_task(candidate.task)
    return tuple(
        replace(error, aspect=error.aspect if candidate.free else task.aspect(error.aspect) or error.aspect)
        for error in errors
    )


# -- which aspects a synthetic output is to err in --------------------------------------------------------------------


def choose_aspects(
    given: Sequence[Candidate], have: Mapping[tuple[str, str], int], most_errors: int, seed: int, balance: bool = True
) -> list[Candidate]:
    """The candidates with `asked` filled: 1 to `most_errors` different aspects of the task, drawn at random.

    balance: an aspect's chance is in proportion to how far it lies behind the task's most frequent one, plus one;
    `have` counts (task, aspect) so far, and what is drawn counts on. Otherwise all aspects have the same chance.
    Candidates with free aspects stay as they are.
    Raises: ValueError for most_errors below 1.
    Source: TIGERScore, section 3.2 (synthetic channel); the paper does not say how it draws.
    """
    if most_errors < 1:
        raise ValueError(f"most_errors={most_errors}; at least 1 is needed")
    rng = np.random.default_rng(seed)
    counts = dict(have)
    chosen = []
    for candidate in given:
        if candidate.free:
            chosen.append(candidate)
            continue
        names = list(find_task(candidate.task).aspects)
        now = np.array([counts.get((candidate.task, name), 0) for name in names], dtype=float)
        weights = now.max() - now + 1 if balance else np.ones(len(names))
        size = int(rng.integers(1, min(most_errors, len(names)) + 1))
        picked = rng.choice(len(names), size=size, replace=False, p=weights / weights.sum())
        asked = tuple(names[place] for place in picked)
        for name in asked:
            counts[candidate.task, name] = counts.get((candidate.task, name), 0) + 1
        chosen.append(replace(candidate, asked=asked))
    return chosen


def evenness(counts: Iterable[int]) -> float:
    """How even counts are: their entropy as a share of the largest possible, 0 to 1; NaN for fewer than two or none."""
    numbers = np.array(list(counts), dtype=float)
    if len(numbers) < 2 or not numbers.sum():
        return float("nan")
    shares = numbers[numbers > 0] / numbers.sum()
    return float(0.0 - (shares * np.log(shares)).sum() / np.log(len(numbers)))
