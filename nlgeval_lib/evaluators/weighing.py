"""A score as the mean of all that could stand in its place, by their probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from nlgeval_lib.records import Completion, Judgment, Status

_NO_LOGPROBS = (
    "the completion has no log-probabilities: use an engine that gives them, "
    "or leave the score unweighted"
)


def weigh(
    completion: Completion,
    stated: Judgment,
    place: tuple[int, int] | None,
    values: Mapping[str, float],
) -> Judgment:
    """The mean of the declared verdicts, weighted by their probabilities at the token
    that states the one that was read.

    score = sum(p(s) * s) / sum(p(s)), over the declared verdicts s

    place: (start, end) of the verdict in the completion's text; None where not known.
    values: the verdicts of one token each, and their scores.

    Returns: details are those of `stated` and `probabilities`, `mass` (their sum),
    `outside` (what other tokens have), `stated` (the score as written).
    Source: Liu et al. (2023), G-Eval, section 2.
    """
    if not completion.logprobs:
        return Judgment.missing(Status.UNAVAILABLE, _NO_LOGPROBS)
    position = _token_position(completion, place)
    if position is None:
        reason = "the log-probabilities do not show where the score was written"
        return Judgment.missing(Status.UNPARSED, reason)
    # The probability of each verdict that has one, summed over its spellings.
    names = {name.casefold(): name for name in values}
    summed = dict.fromkeys(values, 0.0)
    for token, logprob in completion.logprobs[position].items():
        name = names.get(token.strip().casefold())
        if name is not None:
            summed[name] += math.exp(min(logprob, 0.0))
    probabilities = {name: p for name, p in summed.items() if p > 0}
    mass = math.fsum(probabilities.values())
    if not mass > 0:
        reason = "no declared score has a probability where the score was written"
        return Judgment.missing(Status.UNPARSED, reason)
    # Over the mass, as the verdicts' probabilities need not add up to 1.
    value = math.fsum(values[name] * p for name, p in probabilities.items()) / mass
    details = {
        **stated.details,
        "probabilities": probabilities,
        "mass": mass,
        "outside": max(0.0, 1.0 - mass),
        "stated": stated.value,
    }
    return Judgment(value, Status.OK, "", MappingProxyType(details))


def _token_position(
    completion: Completion, place: tuple[int, int] | None
) -> int | None:
    """The index of the token that is the verdict at a place, or None."""
    if place is None or completion.logprobs is None:
        return None
    start, end = place
    verdict = completion.text[start:end]
    text = _without_blanks(completion.text)
    goal = len(_without_blanks(completion.text[:start]))
    if completion.reasoning:
        # The tokens of the reasoning come before those of the text.
        chosen = [next(iter(row), "") for row in completion.logprobs]
        all_text = _without_blanks("".join(chosen))
        first = all_text.rfind(text)
        if first < 0:
            return None
        text = all_text
        goal += first
    # The engine does not say which of a position's tokens was chosen. So all that fit
    # the text are followed: the lengths of text that the tokens so far can have.
    reached = {0}
    for index, row in enumerate(completion.logprobs):
        tokens = set(map(_without_blanks, row))
        if goal in reached and verdict in tokens:
            return index
        longer = set()
        for length in reached:
            for token in tokens:
                if text.startswith(token, length):
                    longer.add(length + len(token))
        reached = longer
    return None


def _without_blanks(text: str) -> str:
    return "".join(text.split())
