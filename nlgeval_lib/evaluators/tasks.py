"""What CoAScore and LLMScore are told about a task: its words, its inputs, its scale, the aspects that can be rated.

Source: CoAScore, Tables 8 to 11 (dialogue); the other tasks' words are ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from nlgeval_lib import prompts
from nlgeval_lib.schema import Sample

# a task's input -> the field of a sample that holds it, where it has another name (data sets keep the fact as context)
_FIELDS = {"dialogue": {"context": "source", "fact": "context"}}
# aspect of a data set -> the task's own name for it
_ALIASES = {"coherence": "context", "engagingness": "interest", "quality": "overall"}
_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)


@dataclass(frozen=True, slots=True)
class Aspect:
    """A quality of a text: its name as a label, and what it asks."""

    name: str
    definition: str

    @property
    def line(self) -> str:
        """`Name: definition`."""
        return f"{self.name}: {self.definition}"

    @property
    def in_sentence(self) -> str:
        """The name inside a sentence, such as overall quality."""
        return self.name.lower()


@dataclass(frozen=True)
class RatingTask:
    """A task: inputs are label -> field of a sample; targets are the aspects that can be rated, by key."""

    name: str
    task_instruction: str
    task_definition: str
    input_name: str
    inputs: Mapping[str, str]
    output_name: str
    output_label: str
    low: int
    high: int
    targets: Mapping[str, Aspect]

    @classmethod
    def named(
        cls,
        name: str | RatingTask,
        *,
        low: int | None = None,
        high: int | None = None,
        targets: Mapping[str, Any] | None = None,
    ) -> RatingTask:
        """dialogue, summary, story, data_to_text, translation, or general for anything else.

        low, high replace the scale; targets add aspects: {name: definition}. Raises: ValueError for an unknown name or
        a scale that is none.
        """
        task = name if isinstance(name, RatingTask) else _published(name)
        added = {key: Aspect(key.replace("_", " ").capitalize(), text) for key, text in (targets or {}).items()}
        task = replace(
            task,
            low=task.low if low is None else low,
            high=task.high if high is None else high,
            targets={**task.targets, **added},
        )
        for end in (task.low, task.high):
            if isinstance(end, bool) or not isinstance(end, int):
                raise ValueError(f"a scale of whole numbers is needed, got {task.low!r} to {task.high!r}")
        if task.low >= task.high:
            raise ValueError(f"a scale needs low < high, got {task.low} to {task.high}")
        return task

    @property
    def needs(self) -> tuple[str, ...]:
        """The fields that each sample must have: all inputs, but none where any of several may be empty."""
        return ("output", *(() if self.name == "general" else self.inputs.values()))

    def target(self, aspect: str) -> Aspect:
        """The aspect to rate, by key, name or a data set's name for it; without one the overall quality.

        Raises: ValueError naming the aspects that the task has.
        """
        wanted = _plain(aspect) or "overall"
        for key, target in self.targets.items():
            if wanted in (_plain(key), _plain(target.name)):
                return target
        if _ALIASES.get(wanted) in self.targets:
            return self.targets[_ALIASES[wanted]]
        raise ValueError(
            f"task {self.name!r} has no aspect {aspect or 'overall'!r}; it has {', '.join(self.targets)}. Give its "
            f"definition: targets={{{aspect or 'overall'!r}: '...'}}"
        )

    def others(self, target: Aspect) -> tuple[Aspect, ...]:
        """The task's aspects but for one and the overall quality: what its data set also rates."""
        return tuple(a for key, a in self.targets.items() if a != target and key != "overall")

    def words(self, *names: str) -> dict[str, str]:
        """The task's words that a prompt asks for."""
        return {name: getattr(self, name) for name in names}

    def shown(self, sample: Sample) -> str:
        """The labelled inputs, as the prompts show them; in the general task those that are not empty."""
        parts = []
        for label, field in self.inputs.items():
            text = getattr(sample, field) if field in Sample.__slots__ else sample.extra.get(field, "")
            if text or self.name != "general":
                parts.append(f"{label}:\n{text}")
        return "\n\n".join(parts)


def _published(name: str) -> RatingTask:
    known = prompts.load_definitions("coascore_tasks")["tasks"]
    if name not in known:
        raise ValueError(f"task {name!r}; there are {', '.join(known)}, or give a RatingTask")
    data = known[name]
    fields = _FIELDS.get(name, {})
    texts = ("task_instruction", "task_definition", "input_name", "output_name", "output_label", "low", "high")
    return RatingTask(
        name=name,
        **{key: data[key] for key in texts},
        inputs={label: fields.get(slot, slot) for slot, label in data["input_labels"].items()},
        targets={key: Aspect(entry["name"], entry["definition"]) for key, entry in data["targets"].items()},
    )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def count_word(n: int) -> str:
    """A number as a word, as the prompts write it: five, ten, twenty; digits above twenty."""
    return _WORDS[n] if 0 <= n < len(_WORDS) else str(n)
