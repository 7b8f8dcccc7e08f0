"""G-Eval: a form to fill in; its score is read, averaged, or weighted."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

from nlgeval_lib import prompts
from nlgeval_lib.evaluators.base import choose, field_of
from nlgeval_lib.evaluators.judge import Judge, numbers
from nlgeval_lib.parsers.ratings import rating
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Completion, Judgment, Sample, Status

# Method -> the sampling that it needs. The paper estimates the scores' probabilities by
# 20 samples at temperature 1 where a model does not give them.
METHODS: Mapping[str, Mapping[str, Any]] = {
    "plain": {"temperature": 0.0, "max_tokens": 16},
    "mean": {"temperature": 1.0, "max_tokens": 16, "n": 20},
    "weighted": {"temperature": 0.0, "max_tokens": 16, "logprobs": 20},
}


class GEval(Judge):
    """A score from `low` to `high` for one metric. The default prompt is SemScore's:
    overall quality, 1 best, 4 worst.

    method: `plain`, the score of a greedy completion; `mean`, of 20 sampled
    completions; `weighted`, the mean of the scale by probabilities.
    template: a `Template` or the name of one; its slots are columns.
    low, high: the template's scale, whole numbers.
    flip: report `low + high - score`, for a scale on which 1 is best.
    judge: the settings of `Judge`.

    Source: Liu et al. (2023), G-Eval, section 2; prompt: SemScore, appendix A.3.

    Example:
    >>> from nlgeval_lib.engines import ScriptedEngine
    >>> frame = pd.DataFrame({"instruction": ["Say a."], "output": ["a"]})
    >>> GEval(engine=ScriptedEngine(["2"])).score(frame)["value"].item()
    2.0
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
        **judge: Any,
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
        self.needs = tuple(
            slot.replace("reference", "references") for slot in template.variables
        )
        super().__init__(**judge)
        if self.weigh:
            raise ValueError("weigh: G-Eval's own method 'weighted' does it")
        if method == "weighted":
            self.check_weighing("method weighted")

    def render(self, sample: Sample) -> str:
        slots = {slot: field_of(sample, slot) for slot in self.template.variables}
        return self.template.render(**slots)

    def reader(self, sample: Sample | None = None) -> Callable[[str], Parsed]:
        return functools.partial(rating, low=self.low, high=self.high)

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """The score that a completion states, or `weighted`, flipped if it is to be."""
        judgment = super().parse(completion, sample)
        if self.method == "weighted":
            judgment = self.weighted(completion, judgment, sample)
        if self.flip and judgment.status is Status.OK:
            flipped = self.low + self.high - judgment.value
            judgment = dataclasses.replace(judgment, value=flipped)
        return judgment

    def settings(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "scale": f"{self.low}-{self.high}",
            "flip": self.flip or None,
        }
