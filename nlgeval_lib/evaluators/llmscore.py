"""LLMScore, the baseline of the CoAScore paper: one prompt, one score for one aspect,
also after a chain of thought; and the tasks that can be rated.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from nlgeval_lib import prompts
from nlgeval_lib.evaluators import schemas
from nlgeval_lib.evaluators.base import choose, field_of, named_texts
from nlgeval_lib.evaluators.judge import Judge, numbers
from nlgeval_lib.names import plain
from nlgeval_lib.parsers.ratings import rating
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Sample

# Task -> input -> the field of a sample that holds it, where it has another name: data
# sets keep a dialogue as source, and the fact it is about as context.
_FIELDS = {"dialogue": {"context": "source", "fact": "context"}}
# Aspect of a data set -> the task's own name for it.
_ALIASES = {"coherence": "context", "engagingness": "interest", "quality": "overall"}
_WORDS = (
    "task_instruction",
    "task_definition",
    "input_name",
    "output_name",
    "output_label",
)


@dataclass(frozen=True, slots=True)
class Aspect:
    """A quality of a text: its name ("Coherence"), and what it asks."""

    name: str
    definition: str

    def __str__(self) -> str:
        return f"{self.name}: {self.definition}"

    @property
    def words(self) -> dict[str, str]:
        """The variables of the prompts that name it, in sentences in small letters."""
        return {
            "aspect_name": self.name,
            "aspect": self.name.lower(),
            "aspect_definition": self.definition,
        }


@dataclass(frozen=True)
class RatingTask:
    """A task whose outputs can be rated, with the words of its prompts.

    name: dialogue, summary, story, data_to_text, translation or general.
    wording: slot of a prompt -> the task's words for it.
    inputs: label in the prompt -> field of a sample.
    low, high: the ends of the scale, whole numbers.
    targets: the aspects to rate, by key.

    Source: CoAScore, Tables 8 to 11 (dialogue; the other tasks' words are ours).
    """

    name: str
    wording: Mapping[str, str]
    inputs: Mapping[str, str]
    low: int
    high: int
    targets: Mapping[str, Aspect]

    @classmethod
    def named(
        cls,
        name: str,
        low: int | None = None,
        high: int | None = None,
        targets: Mapping[str, str] | None = None,
    ) -> RatingTask:
        """The task of a name. low, high: other ends of the scale; targets: aspects to
        add, {name: definition}. Raises: ValueError.
        """
        tasks = prompts.load_definitions("coascore_tasks")["tasks"]
        data = tasks[choose("task", name, tasks)]
        fields = _FIELDS.get(name, {})
        inputs = {}
        for slot, label in data["input_labels"].items():
            inputs[label] = fields.get(slot, slot)
        aspects = {}
        for key, target in data["targets"].items():
            aspects[key] = Aspect(target["name"], target["definition"])
        for key, definition in named_texts("targets", targets or {}).items():
            aspects[key] = Aspect(key.replace("_", " ").capitalize(), definition)
        return cls(
            name=name,
            wording={key: data[key] for key in _WORDS},
            inputs=inputs,
            low=data["low"] if low is None else low,
            high=data["high"] if high is None else high,
            targets=aspects,
        )

    def target(self, aspect: str) -> Aspect:
        """The aspect to rate, by key, name or a data set's name for it; without one the
        overall quality. Raises: ValueError naming those there are.
        """
        name = plain(aspect) or "overall"
        for key, target in self.targets.items():
            if name in (plain(key), plain(target.name)):
                return target
        if _ALIASES.get(name) in self.targets:
            return self.targets[_ALIASES[name]]
        aspect = aspect or "overall"
        raise ValueError(
            f"task {self.name!r} has no aspect {aspect!r}; "
            f"it has {', '.join(self.targets)}. "
            f'Give its definition as setting targets, {{"{aspect}": "..."}}'
        )

    def words(
        self, sample: Sample, target: Aspect | None = None
    ) -> dict[str, str | int]:
        """The variables of the prompts for a sample (Table 10; a target: 8, 11)."""
        blocks = []
        for label, field in self.inputs.items():
            text = field_of(sample, field)
            # In the general task any of the inputs may be empty.
            if text or self.name != "general":
                blocks.append(f"{label}:\n{text}")
        words: dict[str, str | int] = {
            **self.wording,
            "low": self.low,
            "high": self.high,
            "input": "\n\n".join(blocks),
            "output": sample.output,
        }
        del words["task_definition"]
        return words | (target.words if target else {})


class LLMScore(Judge):
    """A score for the aspect that each sample names (overall quality where it names
    none), on the task's scale.

    task: dialogue, summary, story, data_to_text, translation, or general.
    low, high: the ends of the scale, in place of the task's.
    targets: aspects to add, {name: definition}.
    judge: the settings of `Judge`.

    Source: CoAScore, section 4.2, Table 8; temperature and draws of section 4.3.

    Example:
    >>> from nlgeval_lib.engines import ScriptedEngine
    >>> row = {"source": "A bus left at nine.", "output": "A bus.", "aspect": "fluency"}
    >>> judge = LLMScore("summary", engine=ScriptedEngine(["Score: 4"]))
    >>> judge.score(pd.DataFrame([row]))["value"].item()
    4.0
    """

    name = "llmscore"
    prompt = "coascore/llmscore"
    defaults: Mapping[str, Any] = MappingProxyType(
        {"temperature": 0.0, "max_tokens": 64}
    )

    def __init__(
        self,
        task: str = "general",
        *,
        low: int | None = None,
        high: int | None = None,
        targets: Mapping[str, str] | None = None,
        **judge: Any,
    ) -> None:
        super().__init__(**judge)
        self.task = RatingTask.named(task, low, high, targets)
        self.choices = numbers(self.task.low, self.task.high)
        # All inputs, but none where any of several may be empty.
        self.needs = ("output",)
        if task != "general":
            self.needs += tuple(self.task.inputs.values())
        self.template: Template = prompts.template(self.prompt)

    def render(self, sample: Sample) -> str:
        target = self.task.target(sample.aspect)
        return self.template.render(**self.task.words(sample, target))

    def reader(self, sample: Sample | None = None) -> Callable[[str], Parsed]:
        label = None if sample is None else self.task.target(sample.aspect).name
        low = self.task.low
        high = self.task.high
        return functools.partial(rating, low=low, high=high, label=label)

    def settings(self) -> dict[str, Any]:
        return {"task": self.task.name, "scale": f"{self.task.low}-{self.task.high}"}


class LLMScoreCoT(LLMScore):
    """LLMScore that is asked to think step by step and to end with the score.

    Source: CoAScore, section 4.2 (the trigger sentence); how the score is asked for is ours.

    Example:
    >>> from nlgeval_lib.engines import ScriptedEngine
    >>> row = {"source": "A bus left at nine.", "output": "A bus.", "aspect": "fluency"}
    >>> script = ScriptedEngine(["The time is gone. Score: 3"])
    >>> LLMScoreCoT("summary", engine=script).score(pd.DataFrame([row]))["value"].item()
    3.0
    """

    name = "llmscore-cot"
    prompt = "coascore/llmscore_cot"
    stand_in = "The text is fine. Score: 3"
    defaults: Mapping[str, Any] = MappingProxyType(
        {"temperature": 0.0, "max_tokens": 1024}
    )

    def form(self, stage: str = "score") -> Mapping[str, Any]:
        if self.structured != "json":
            raise ValueError(
                f"{self.name}: a chain of thought has no form to hold it to; "
                "use structured='json', or leave structured off"
            )
        return super().form(stage)

    def schema(self, stage: str = "score") -> dict[str, Any]:
        room = self.sampling.max_tokens
        return schemas.a_reasoned_score(self.choices, "reasoning", room)
