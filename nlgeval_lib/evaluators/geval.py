"""G-Eval: a form-filling prompt that ends where the score is written; read,
averaged, or weighted by probability.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from nlgeval_lib import prompts
from nlgeval_lib.evaluators.base import choose, field_of
from nlgeval_lib.evaluators.judge import Judge, numbers
from nlgeval_lib.parsers.ratings import rating
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Completion, Judgment, Sample, Status

METHODS: Mapping[str, Mapping[str, Any]] = {
    "plain": {"temperature": 0.0, "max_tokens": 16},
    "mean": {"temperature": 1.0, "max_tokens": 16, "n": 20},
    "weighted": {"temperature": 0.0, "max_tokens": 16, "logprobs": 20},
}
_SLOTS = ("output", "instruction", "source", "context", "rubric", "aspect", "reference")


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
        self.method, self.low, self.high, self.flip = method, low, high, flip
        self.choices = numbers(low, high)
        self.defaults = METHODS[choose("method", method, METHODS)]
        self.template: Template = (
            prompts.template(template) if isinstance(template, str) else template
        )
        if unknown := [slot for slot in self.template.variables if slot not in _SLOTS]:
            raise ValueError(
                f"template {self.template.name}: slots {', '.join(unknown)}; allowed: {', '.join(_SLOTS)}"
            )
        self.needs = tuple(
            "references" if slot == "reference" else slot
            for slot in self.template.variables
        )
        super().__init__(**common)
        if (
            method == "weighted"
            and max(len(self.choices[0]), len(self.choices[-1])) > 1
        ):
            raise ValueError(
                f"method weighted on {low} to {high}: numbers of more than one digit may be several tokens"
            )
        if method == "weighted" and (
            self.sampling.temperature > 0 or not self.sampling.logprobs
        ):
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
        judgment = rating(completion.text, self.low, self.high).judgment()
        if self.method == "weighted" and judgment.status is Status.OK:
            judgment = weigh(completion, judgment, self.choices)
        if self.flip and judgment.status is Status.OK:
            judgment = dataclasses.replace(
                judgment, value=self.low + self.high - judgment.value
            )
        return judgment

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
        reason = "the completion has no log-probabilities: use an engine that gives them, or method='mean'"
        return Judgment.missing(Status.UNAVAILABLE, reason)
    at = _place(completion, f"{stated.value:g}")
    if at is None:
        return Judgment.missing(
            Status.UNPARSED,
            "the log-probabilities do not show where the score was written",
        )
    summed = dict.fromkeys(numbers, 0.0)
    for token, logprob in completion.logprobs[at].items():
        if token.strip() in summed:
            summed[token.strip()] += math.exp(logprob)
    found = {
        number: probability for number, probability in summed.items() if probability > 0
    }
    mass = math.fsum(found.values())
    if not mass > 0:
        return Judgment.missing(
            Status.UNPARSED,
            "no number of the scale has a probability where the score was written",
        )
    value = (
        math.fsum(float(number) * probability for number, probability in found.items())
        / mass
    )
    details = {
        **stated.details,
        "probabilities": found,
        "mass": mass,
        "stated": stated.value,
    }
    return Judgment(value, Status.OK, "", MappingProxyType(details))


def _place(completion: Completion, number: str) -> int | None:
    """The index of the token that is `number` where the text first has it standing
    alone; blanks do not count.
    """
    stated = re.search(
        rf"(?<![\d.,-]){re.escape(number)}(?!\d|[.,]\d)", completion.text
    )
    if stated is None:
        return None
    text = "".join(completion.text.split())
    goal = len("".join(completion.text[: stated.start()].split()))
    reached = {0}
    for index, row in enumerate(completion.logprobs or ()):
        tokens = {"".join(token.split()) for token in row}
        if goal in reached and number in tokens:
            return index
        reached = {
            at + len(token)
            for at in reached
            for token in tokens
            if text.startswith(token, at)
        }
        if not reached:
            return None
    return None
