"""Prometheus: feedback and a score for one response, by a rubric and a reference."""

from __future__ import annotations

import copy
import dataclasses
import functools
import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from nlgeval_lib import prompts
from nlgeval_lib.engines import Engine
from nlgeval_lib.evaluators import schemas
from nlgeval_lib.evaluators.base import choose
from nlgeval_lib.evaluators.judge import ChatFormat, Judge, numbers, short_hash
from nlgeval_lib.evaluators.rubrics import Rubric
from nlgeval_lib.parsers.feedbacks import Feedback
from nlgeval_lib.parsers.feedbacks import feedback as read_feedback
from nlgeval_lib.parsers.ratings import rating
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Completion, Judgment, Sample, Status

# Pattern of a model's name -> its chat format. The v1 checkpoints are Llama-2-Chat,
# tuned on the paper's prompt; those of the second paper are Mistral-Instruct.
_FAMILIES = {
    r"prometheus-\d+b-v1": "prometheus-v1",
    r"prometheus-\d+x?\d*b-v2|prometheus-bgb": "mistral",
    r"llama-?2-.*chat": "llama2",
}
# The setting `verbalizer` -> the mode of `parsers.feedback`, the strictest first.
_READERS = {False: "strict", True: "verbalizer", "brackets": "brackets"}


def family(model: str) -> ChatFormat:
    """The wrapping that a checkpoint was trained with; chat messages for one not known.

    Source: Prometheus, appendix J (Llama-2's conversation template).
    """
    for pattern, chat in _FAMILIES.items():
        if re.search(pattern, model.lower()):
            return ChatFormat.named(chat)
    return ChatFormat.named("messages")


class Prometheus(Judge):
    """Absolute grading: a feedback, then a score by a rubric; the mean of three draws.

    reference: whether the prompt shows a reference answer.
    rubric: True for the rubric of each row; False for none; or one for all rows.
    feedback: whether the prompt asks for a feedback before the score.
    low, high: the scale where there is no rubric (1 to 5 unless given); with rubrics,
    the scale they must have.
    verbalizer: read also what is near the form, such as "[SCORE 5]" or "Score: 4 out of
    5"; `brackets`: and a bare "[4]" at the end.
    chat: `auto` wraps the prompt as the engine's checkpoint was trained (see `family`);
    or a style or `ChatFormat`.
    judge: the other settings of `Judge`.

    Details of a draw: `feedback`, `rule`.

    Source: Kim et al. (2024), Prometheus, section 3, appendix J; prompt: that of the
    public evaluation data; ablation: Table 6; sampling and verbalizer: Table 9.

    Example:
    >>> from nlgeval_lib.engines import ScriptedEngine
    >>> frame = pd.DataFrame({"instruction": ["Say a."], "output": ["a"]})
    >>> script = ScriptedEngine(["So. [RESULT] 4", "So. [RESULT] 5", "So. [RESULT] 3"])
    >>> judge = Prometheus(rubric=False, reference=False, engine=script)
    >>> judge.score(frame)["value"].item()
    4.0
    """

    name = "prometheus"
    # Table 9; three draws as the scores of Tables 2 and 3.
    defaults = MappingProxyType(
        {
            "temperature": 1.0,
            "top_p": 0.9,
            "repetition_penalty": 1.03,
            "max_tokens": 256,
            "n": 3,
        }
    )
    stand_in = "Feedback: The response meets the criterion in part. [RESULT] 3"

    def __init__(
        self,
        *,
        reference: bool = True,
        rubric: bool | Rubric | str = True,
        feedback: bool = True,
        low: int | None = None,
        high: int | None = None,
        verbalizer: bool | str = False,
        chat: str | ChatFormat = "auto",
        **judge: Any,
    ) -> None:
        self.auto_chat = chat == "auto"
        super().__init__(chat="messages" if self.auto_chat else chat, **judge)
        self.reference = reference
        self.feedback = feedback
        self.with_rubric = rubric is not False
        choose("verbalizer", verbalizer, (False, True, "brackets"))
        self.parser = _READERS[verbalizer]
        if isinstance(rubric, str):
            rubric = Rubric.parse(rubric)
        self.rubric = rubric if isinstance(rubric, Rubric) else None
        self.needs = ("output", "instruction")
        if reference:
            self.needs += ("references",)
        if rubric is True:
            self.needs += ("rubric",)
        self.asked = None if self.rubric is None else self.rubric.scale
        if low is not None or high is not None:
            if low is None or high is None or low >= high:
                raise ValueError(
                    f"low={low}, high={high}; give both ends of the scale, low < high, "
                    "or neither"
                )
            if self.asked not in (None, (low, high)):
                raise ValueError(
                    f"scales ({low}, {high}) of low and high, {self.asked} of the "
                    "rubric differ"
                )
            self.asked = (low, high)
        self.common_scale = self.asked or (1, 5)
        # The prompt without what is switched off (Table 6).
        name = "prometheus/absolute_scale"
        parts = {"reference": reference, "rubric": rubric, "feedback": feedback}
        for part, shown in parts.items():
            if shown is False:
                name += f"_no_{part}"
        self.template: Template = prompts.template(name)

    def rubric_of(self, sample: Sample) -> Rubric | None:
        """The rubric that a sample is graded by, None where the prompt has none.
        Raises: ValueError naming the sample, for a rubric of another form or scale.
        """
        if not self.with_rubric or self.rubric is not None:
            return self.rubric
        try:
            rubric = Rubric.parse(sample.rubric)
        except ValueError as error:
            raise ValueError(f"sample {sample.id!r}: {error}") from None
        if (self.asked or self.structured) and rubric.scale != self.common_scale:
            raise ValueError(
                f"sample {sample.id!r}: its rubric goes from "
                f"{rubric.scale[0]} to {rubric.scale[1]}, asked is "
                f"{self.common_scale[0]} to {self.common_scale[1]}; without "
                "structured, low and high, each sample is graded on its rubric's scale"
            )
        return rubric

    def scale(self, sample: Sample | None) -> tuple[int, int]:
        """The lowest and the highest score of a sample, or of the common scale."""
        rubric = None if sample is None else self.rubric_of(sample)
        return self.common_scale if rubric is None else rubric.scale

    def render(self, sample: Sample) -> str:
        rubric = self.rubric_of(sample)
        low, high = self.scale(sample)
        texts = [sample.instruction]
        # An instruction's input follows it, unless it is in it.
        for text in (sample.source, sample.context):
            if not _stands_in(text, sample.instruction):
                texts.append(text)
        values: dict[str, Any] = {
            "low": low,
            "high": high,
            "response": sample.output,
            "instruction": "\n\n".join(filter(None, texts)),
        }
        if self.reference:
            values["reference"] = sample.references[0]
        if rubric is not None:
            values["criteria"] = rubric.criteria
            values["score_descriptions"] = rubric.score_lines
        return self.template.render(**values)

    def reader(self, sample: Sample | None = None) -> Callable[[str], Parsed]:
        low, high = self.scale(sample)
        if not self.feedback or self.structured == "json":
            return functools.partial(rating, low=low, high=high)
        return functools.partial(read_feedback, low=low, high=high, mode=self.parser)

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        verdict = self.reader(sample)(completion.text)
        if isinstance(verdict, Feedback):
            if verdict.status is Status.UNPARSED:
                reason = verdict.reason + self._way_out(completion.text, sample)
                verdict = dataclasses.replace(verdict, reason=reason)
            return verdict.judgment(feedback=verdict.feedback)
        if self.feedback:
            feedback = schemas.text_of(completion.text, "feedback")
            return verdict.judgment(feedback=feedback)
        return verdict.judgment()

    def _way_out(self, text: str, sample: Sample | None) -> str:
        """Which setting reads a text that this reader does not; "" where none does."""
        low, high = self.scale(sample)
        modes = list(_READERS.values())
        for mode in modes[modes.index(self.parser) + 1 :]:
            if read_feedback(text, low, high, mode).ok:
                setting = "yes" if mode == "verbalizer" else mode
                return f"; read with verbalizer={setting}"
        return ""

    def verdicts(self, sample: Sample | None = None) -> dict[str, float]:
        return {name: float(name) for name in numbers(*self.scale(sample))}

    def schema(self, stage: str = "score") -> dict[str, Any]:
        scores = numbers(*self.common_scale)
        if not self.feedback:
            return schemas.a_score(scores)
        room = self.sampling.max_tokens
        return schemas.a_reasoned_score(scores, "feedback", room)

    def for_engine(self, engine: Engine | None = None) -> Prometheus:
        """With the wrapping of the engine's checkpoint, if `chat` is `auto`."""
        if not self.auto_chat:
            return self
        engine = self.engine if engine is None else engine
        bound = copy.copy(self)
        bound.auto_chat = False
        bound.chat = family("" if engine is None else engine.model)
        return bound

    def settings(self) -> dict[str, Any]:
        rubric: bool | str = self.with_rubric
        if self.rubric is not None:
            rubric = short_hash(self.rubric.text())
        return {
            "mode": "absolute",
            "ref": self.reference,
            "rubric": rubric,
            "feedback": self.feedback,
            "scale": f"{self.asked[0]}-{self.asked[1]}" if self.asked else None,
            "parser": self.parser if self.feedback else "rating",
        }


def _stands_in(text: str, instruction: str) -> bool:
    """Whether a text stands in an instruction as a line or an end of its own."""
    pattern = rf"(?:^|[\n:] *){re.escape(text.strip())}\s*(?:\n|$)"
    return bool(text) and bool(re.search(pattern, instruction))
