"""What the teacher is asked in the two channels and how its text is read: an analysis, or an output that it spoils."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nlgeval_lib import prompts
from nlgeval_lib.engines import Request
from nlgeval_lib.evaluators.tigerscore import TigerScoreReferenceBased, find_task
from nlgeval_lib.parsers.errors import ERROR_HEAD, LABEL, ErrorItem, error_analysis
from nlgeval_lib.records import Completion
from nlgeval_lib.training.metricinstruct.candidate import Candidate
from nlgeval_lib.training.pipeline import Unreadable

_OUTPUT = re.compile(r"^[>*#\- \t]*generated incorrect (?:output|response)[*_]*\s*:[*_]*[ \t]*", re.I | re.M)


@functools.cache
def judge(task: str, label: str) -> TigerScoreReferenceBased:
    """Who is asked about a system's output, with the reference in view, in two turns: freely, then as JSON.

    Source: TIGERScore, Tables 11 to 16; Table 17.
    """
    return TigerScoreReferenceBased(task=task, label=label)


def read_analysis(candidate: Candidate, completion: Completion) -> dict[str, Any]:
    """The errors of the JSON that the teacher wrote. Raises: Unreadable."""
    found = error_analysis(completion.text)
    if not found.ok or found.rule != "json":
        raise Unreadable(found.reason or f"read as {found.rule!r}, not as JSON")
    return {"errors": _named(found.errors, candidate)}


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
        aspects = find_task(candidate.task).aspects
        wanted = [f"{n}. An error of {name}: {aspects[name]}" for n, name in enumerate(candidate.asked, start=1)]
        text = prompts.render(
            "tigerscore/synthetic_errors",
            generation_instruction=candidate.instruction,
            input_context=candidate.input,
            reference_output=candidate.reference,
            error_requirements="\n".join(wanted),
        )
    return Request.chat(text, id=candidate.id)


def read_spoiled(candidate: Candidate, completion: Completion) -> dict[str, Any]:
    """The output and the errors that the teacher wrote. Raises: Unreadable."""
    text = completion.text.replace("\r\n", "\n")
    head = _OUTPUT.search(text)
    if head is None:
        raise Unreadable("no line 'Generated incorrect output:'")
    rest = text[head.end() :]
    ends = [match.start() for match in (LABEL.search(rest), ERROR_HEAD.search(rest)) if match]
    if not ends:
        raise Unreadable("no error is listed after the output")
    output, found = _bare(rest[: min(ends)]), error_analysis(rest[min(ends) :])
    if not found.ok or not found.errors:
        raise Unreadable(found.reason or "no error is listed after the output", output=output)
    return {"output": output, "errors": _named(found.errors, candidate)}


def _bare(text: str) -> str:
    """The output without the fence or the quotation marks that stand around all of it."""
    text = text.strip()
    if fence := re.fullmatch(r"```[a-z]*\n(.*?)\n?```", text, re.S):
        return fence.group(1).strip()
    quoted = re.fullmatch(r'"([^"]*)"', text)
    return quoted.group(1).strip() if quoted else text


def _named(errors: Sequence[ErrorItem], candidate: Candidate) -> tuple[ErrorItem, ...]:
    """The errors with aspects as the paper spells them, where they are of the task."""
    if candidate.free:
        return tuple(errors)
    task = find_task(candidate.task)
    return tuple(replace(error, aspect=task.aspect(error.aspect) or error.aspect) for error in errors)


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
    rng, counts, chosen = np.random.default_rng(seed), Counter(have), []
    for candidate in given:
        if not candidate.free:
            names = list(find_task(candidate.task).aspects)
            now = np.array([counts[candidate.task, name] for name in names], dtype=float)
            weights = now.max() - now + 1 if balance else np.ones(len(names))
            size = int(rng.integers(1, min(most_errors, len(names)) + 1))
            picked = rng.choice(len(names), size=size, replace=False, p=weights / weights.sum())
            candidate = replace(candidate, asked=tuple(names[place] for place in picked))
            counts.update((candidate.task, name) for name in candidate.asked)
        chosen.append(candidate)
    return chosen


def evenness(counts: Iterable[int]) -> float:
    """How even counts are: their entropy as a share of the largest possible, 0 to 1; NaN for fewer than two or none."""
    numbers = np.array(list(counts), dtype=float)
    if len(numbers) < 2 or not numbers.sum():
        return float("nan")
    shares = numbers[numbers > 0] / numbers.sum()
    return float(0.0 - (shares * np.log(shares)).sum() / np.log(len(numbers)))
