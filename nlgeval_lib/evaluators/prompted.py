"""A judge by a prompt of one's own, from a text file."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from nlgeval_lib.engines import Request
from nlgeval_lib.evaluators import schemas
from nlgeval_lib.evaluators.base import field_of
from nlgeval_lib.evaluators.judge import Judge, numbers, short_hash
from nlgeval_lib.evaluators.llmscore import RatingTask
from nlgeval_lib.parsers.fields import json_field
from nlgeval_lib.parsers.ratings import rating
from nlgeval_lib.parsers.text import Parsed, check_scale
from nlgeval_lib.prompts import Template, prompt_files
from nlgeval_lib.records import Sample


class PromptedJudge(Judge):
    """A score for each output, asked by a prompt of one's own.

    prompt: the path of a text file, or a text, with `{output}` and more of the
    placeholders (see `prompts.prompt_files`); rows must have what it names.
    `{definition}` is the column of that name, else the aspect's in `definitions` or `task`.
    low, high: the ends of the scale; by default the task's, else 1 to 5.
    field: the JSON field that holds the score; without it the text is read.
    label: the name under which a text gives the score, where it gives several.
    definitions: {aspect: text}.
    task: a task with definitions of aspects: summary, dialogue, ... (see `RatingTask`).
    judge: the settings of `Judge`.

    Example:
    >>> from nlgeval_lib.engines import ScriptedEngine
    >>> frame = pd.DataFrame({"output": ["A bus left."]})
    >>> ask = "How good is it, 1 to 5? {output}"
    >>> PromptedJudge(ask, engine=ScriptedEngine(["5"])).score(frame)["value"].item()
    5.0
    """

    name = "prompted"
    defaults: Mapping[str, Any] = MappingProxyType(
        {"temperature": 0.0, "max_tokens": 1024}
    )

    def __init__(
        self,
        prompt: str,
        *,
        low: int | float | None = None,
        high: int | float | None = None,
        field: str = "",
        label: str = "",
        definitions: Mapping[str, str] | None = None,
        task: str = "",
        **judge: Any,
    ) -> None:
        super().__init__(**judge)
        self.prompt = prompt_files.read(prompt)
        if self.prompt.of_pairs:
            raise ValueError(
                f"prompt {self.prompt.name} compares two outputs; {self.name} rates "
                "one, {output}"
            )
        self.definitions = dict(definitions or {})
        self.task = task
        self._defined: RatingTask | None = None
        if self.definitions or task:
            self._defined = RatingTask.named(
                task or "general", targets=self.definitions
            )
        lowest, highest = 1, 5
        if task and self._defined:
            lowest = self._defined.low
            highest = self._defined.high
        self.low = lowest if low is None else low
        self.high = highest if high is None else high
        check_scale(self.low, self.high)
        self.field = field
        self.label = label
        # A set that lacks what the prompt names is refused before anything is asked.
        needs = list(self.prompt.columns)
        if self._defined and "definition" in needs:
            needs[needs.index("definition")] = "aspect"
        self.needs = tuple(dict.fromkeys(needs))
        self.stand_in = f"Score: {self.low:g}"
        if field:
            self.stand_in = json.dumps({field: self.low})

    def render(self, sample: Sample) -> str:
        """The prompt of one sample, without the system text."""
        user, _ = self._filled(sample)
        return user

    def request(self, sample: Sample) -> Request:
        user, system = self._filled(sample)
        return self.chat.request(user, sample.id, system)

    def _filled(self, sample: Sample) -> tuple[str, str | None]:
        """The user's turn and the system text, with the aspect's definition."""
        names = self.prompt.placeholders
        texts = {name: field_of(sample, name) for name in names}
        # A definition of the row itself counts before that of its aspect.
        is_open = "definition" in texts and not texts["definition"]
        if self._defined and is_open:
            texts["definition"] = self._defined.target(sample.aspect).definition
        return self.prompt.filled(texts)

    def reader(self, sample: Sample | None = None) -> Callable[[str], Parsed]:
        """`json_field` where a field is named, else `rating`, perhaps by a label."""
        scale: dict[str, Any] = {"low": self.low, "high": self.high}
        if self.field:
            return functools.partial(json_field, field=self.field, **scale)
        label = self.label
        if not label and sample is not None and "aspect" in self.prompt.placeholders:
            label = sample.aspect.replace("_", " ")
        return functools.partial(rating, label=label or None, **scale)

    def form(self, stage: str = "score") -> Mapping[str, Any]:
        """The numbers of the scale, which must be whole, in the JSON field if any."""
        # Also where a field is named: it refuses a scale that is not of whole numbers.
        choices = numbers(self.low, self.high)  # type: ignore[arg-type]
        if self.field:
            score = {"type": "integer", "minimum": self.low, "maximum": self.high}
            return {"json_schema": schemas.an_object({self.field: score})}
        if self.structured == "json":
            return {"json_schema": schemas.a_score(choices)}
        return {"choice": choices}

    def templates(self) -> tuple[Template, ...]:
        return self.prompt.templates

    def settings(self) -> dict[str, Any]:
        definitions = None
        if self.definitions:
            definitions = short_hash(repr(sorted(self.definitions.items())))
        return {
            "scale": f"{self.low:g}-{self.high:g}",
            "field": self.field or None,
            "label": self.label or None,
            "task": self.task or None,
            "definitions": definitions,
        }
