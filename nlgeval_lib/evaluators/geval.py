"""G-Eval: a form-filling prompt that ends where the score is written; read,
averaged, or weighted by probability.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from nlgeval_lib import prompts
from nlgeval_lib.evaluators.base import choose, field_of
from nlgeval_lib.evaluators.judge import Judge, numbers
from nlgeval_lib.parsers.ratings import rating
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Completion, Judgment, Sample, Status

METHODS: Mapping[str, Mapping[str, Any]] = {
    "plain": {"temperature": 0.0, "max_tokens": 16},
    "mean": {"temperature": 1.0, "max_tokens": 16, "n": 20},
    "weighted": {"temperature": 0.0, "max_tokens": 16, "logprobs": 20},
}
_SLOTS = ("output", "instruction", "source", "context", "rubric", "aspect", "reference")
_FIELD_OF_SLOT = {"reference": "references"}


class GEval(Judge):
    """A score from `low` to `high` for one metric. The default prompt is SemScore's:
    overall quality, 1 best, 4 worst.

    method: `plain`, the score that a greedy completion states; `mean`, of 20 sampled
    completions; `weighted`, the mean of the scale's numbers (of one digit, temperature
    0) by the judge's probabilities where it writes the score.
    template: a `Template` or the name of one; its slots are fields of a sample. low,
    high: its scale.
    flip: report `low + high - score`, so that a scale on which 1 is best rises with
    quality.

    Source: Liu et al. (2023), G-Eval, section 2; prompt: SemScore, appendix A.3.
    """

    name = "geval"
    stand_in = "2"

    def __init__(
        self,
        *,
        method: str = "plain",
        template: Template | str = "semscore/g_eval",
        low: int = 1,
        high: int = 4,
        flip: bool = False,
        **common: Any,
    ) -> None:
        self.method = method
        self.low = low
        self.high = high
        self.flip = flip
        self.choices = numbers(low, high)
        self.defaults = METHODS[choose("method", method, METHODS)]
        if isinstance(template, str):
            template = prompts.template(template)
        self.template: Template = template
        slots = template.variables
        unknown = [slot for slot in slots if slot not in _SLOTS]
        if unknown:
            raise ValueError(
                f"template {template.name}: slots {', '.join(unknown)}; "
                f"allowed: {', '.join(_SLOTS)}"
            )
        self.needs = tuple(_FIELD_OF_SLOT.get(slot, slot) for slot in slots)
        super().__init__(**common)
        if method != "weighted":
            return
        if max(map(len, self.choices)) > 1:
            raise ValueError(
                f"method weighted on {low} to {high}: "
                "numbers of more than one digit may be several tokens"
            )
        if self.sampling.temperature > 0 or not self.sampling.logprobs:
            raise ValueError(
                "method weighted needs temperature 0, and logprobs (20 unless given)"
            )

    def render(self, sample: Sample) -> str:
        return self.template.render(
            **{slot: field_of(sample, slot) for slot in self.template.variables}
        )

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """The score that a completion states, or for `weighted` the mean under the
        probabilities beside it.
        """
        judgment = self.reader(sample)(completion.text).judgment()
        if self.method == "weighted" and judgment.status is Status.OK:
            judgment = weigh(completion, judgment, self.choices)
        if self.flip and judgment.status is Status.OK:
            flipped = self.low + self.high - judgment.value
            judgment = dataclasses.replace(judgment, value=flipped)
        return judgment

    def reader(self, sample: Sample | None = None) -> Callable[[str], Parsed]:
        return functools.partial(rating, low=self.low, high=self.high)

    def settings(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "scale": f"{self.low}-{self.high}",
            "flip": self.flip or None,
        }


def weigh(completion: Completion, stated: Judgment, numbers: Sequence[str]) -> Judgment:
    """The mean of the scale's numbers, weighted by their probabilities at the token
    that states the score.

    Only tokens that are one of `numbers` (blanks aside) count. Details:
    `probabilities`, number -> probability as the judge gave it; `mass`, their sum;
    `stated`, the score as written. Missing where log-probabilities do not show it.
    """
    if not completion.logprobs:
        return Judgment.missing(
            Status.UNAVAILABLE,
            "the completion has no log-probabilities: "
            "use an engine that gives them, or method='mean'",
        )
    position = _token_position(completion, f"{stated.value:g}")
    if position is None:
        return Judgment.missing(
            Status.UNPARSED,
            "the log-probabilities do not show where the score was written",
        )
    summed = dict.fromkeys(numbers, 0.0)
    for token, logprob in completion.logprobs[position].items():
        number = token.strip()
        if number in summed:
            summed[number] += math.exp(logprob)
    probabilities = {number: p for number, p in summed.items() if p > 0}
    mass = math.fsum(probabilities.values())
    if not mass > 0:
        return Judgment.missing(
            Status.UNPARSED,
            "no number of the scale has a probability where the score was written",
        )
    weighted = [float(number) * p for number, p in probabilities.items()]
    details = {
        **stated.details,
        "probabilities": probabilities,
        "mass": mass,
        "stated": stated.value,
    }
    value = math.fsum(weighted) / mass
    return Judgment(value, Status.OK, "", MappingProxyType(details))


def _token_position(completion: Completion, number: str) -> int | None:
    """The index of the token that is `number` where the text first has it standing
    alone; blanks do not count.
    """
    pattern = rf"(?<![\d.,-]){re.escape(number)}(?!\d|[.,]\d)"
    stated = re.search(pattern, completion.text)
    if stated is None:
        return None
    text = _without_blanks(completion.text)
    goal = len(_without_blanks(completion.text[: stated.start()]))
    # The engine does not say which of a position's tokens was chosen. So all that fit
    # the text are followed: the lengths of text that the tokens so far can have.
    reached = {0}
    for index, row in enumerate(completion.logprobs or ()):
        tokens = set(map(_without_blanks, row))
        if goal in reached and number in tokens:
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
