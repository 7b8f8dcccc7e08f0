"""LLMScore: one prompt, one score for one aspect; and the same after a chain of thought.

Source: CoAScore, section 4.2; prompt: Table 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from nlgeval_lib import prompts
from nlgeval_lib.evaluators.judge import Judge
from nlgeval_lib.evaluators.tasks import Aspect, RatingTask
from nlgeval_lib.parsers.rating import rating
from nlgeval_lib.prompts import Template
from nlgeval_lib.schema import Completion, Judgment, Sample


class LLMScore(Judge):
    """A score for the aspect that each sample names (overall quality where it names none), on the task's scale.

    task: dialogue, summary, story, data_to_text, translation, general, or a `RatingTask`. low, high: another scale.
    targets: aspects that the task does not have, {name: definition}.

    Source: CoAScore, section 4.2, Table 8; temperature 0 and one draw of section 4.3. The token limit is ours.
    """

    name = "llmscore"
    template = "coascore/llmscore"
    defaults: Mapping[str, Any] = MappingProxyType({"temperature": 0.0, "max_tokens": 64})

    def __init__(
        self,
        task: str | RatingTask = "general",
        *,
        low: int | None = None,
        high: int | None = None,
        targets: Mapping[str, str] | None = None,
        **judge: Any,
    ) -> None:
        super().__init__(**judge)
        self.task = RatingTask.named(task, low=low, high=high, targets=targets)
        self.needs = self.task.needs
        self.prompt = prompts.template(self.template)

    def render(self, sample: Sample) -> str:
        return self.prompt.render(**rating_words(self.task, self.task.target(sample.aspect), sample))

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """The score that the completion gives; one labelled with another aspect than the sample's is not taken."""
        label = None if sample is None else self.task.target(sample.aspect).name
        return rating(completion.text, self.task.low, self.task.high, label).judgment()

    def form(self, stage: str = "score") -> dict[str, Any]:
        return {"choice": tuple(map(str, range(self.task.low, self.task.high + 1)))}

    def settings(self) -> dict[str, Any]:
        return {"task": self.task.name, "scale": f"{self.task.low}-{self.task.high}"}

    def templates(self) -> tuple[Template, ...]:
        return (self.prompt,)


class LLMScoreCoT(LLMScore):
    """LLMScore that is asked to think step by step and to end with the score.

    Source: CoAScore, section 4.2 (the trigger sentence); how the score is asked for is ours.
    """

    name = "llmscore-cot"
    template = "coascore/llmscore_cot"
    stand_in = "The text is fine. Score: 3"
    defaults: Mapping[str, Any] = MappingProxyType({"temperature": 0.0, "max_tokens": 1024})

    def form(self, stage: str = "score") -> dict[str, Any]:
        raise ValueError(f"{self.name}: a chain of thought has no form to hold it to; leave structured off")


def rating_words(task: RatingTask, target: Aspect, sample: Sample) -> dict[str, str | int]:
    """The variables of the prompts that ask for one score: Tables 8 and 11."""
    return {
        **task.words("task_instruction", "output_name", "output_label", "input_name"),
        "aspect_name": target.name,
        "aspect": target.in_sentence,
        "aspect_definition": target.definition,
        "low": task.low,
        "high": task.high,
        "input": task.shown(sample),
        "output": sample.output,
    }
