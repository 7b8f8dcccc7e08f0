"""Prometheus: feedback and a score for one response, by a rubric and a reference answer.

Source: Kim et al. (2024), Prometheus, section 3, appendix J.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from nlgeval_lib import prompts
from nlgeval_lib.engines import Engine
from nlgeval_lib.evaluators.judge import ChatFormat, Judge, numbers, short_hash
from nlgeval_lib.parsers.feedback import feedback as read_feedback
from nlgeval_lib.parsers.rating import rating
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Completion, Judgment, Sample

WORDINGS = ("released", "appendix")
# the v1 checkpoints are Llama-2-Chat tuned on the paper's prompt; those of the second paper are Mistral-Instruct
_FAMILIES = (
    (re.compile(r"prometheus-\d+b-v1"), "prometheus-v1"),
    (re.compile(r"prometheus-\d+x?\d*b-v2|prometheus-bgb"), "mistral"),
    (re.compile(r"llama-?2-.*chat"), "llama2"),
)
_HEAD = re.compile(r"\[(?P<criteria>.*?)\]\nScore (?P<low>-?\d{1,6}): ", re.S)


def family(model: str) -> ChatFormat:
    """The wrapping that the checkpoint called `model` was trained with; chat messages for a model not known.

    Source: Prometheus, appendix J (Llama-2's conversation template).
    """
    found = (chat for pattern, chat in _FAMILIES if pattern.search(model.lower()))
    return ChatFormat.named(next(found, "messages"))


@dataclass(frozen=True, slots=True)
class Rubric:
    """A criterion and one description for each score from `low` upwards, two or more.

    Source: Prometheus, section 3 (customized score rubric), appendix J (its place in the prompt).
    """

    criteria: str
    descriptions: tuple[str, ...]
    low: int = 1

    def __post_init__(self) -> None:
        if len(self.descriptions) < 2:
            raise ValueError(f"{len(self.descriptions)} score descriptions; a scale has two scores or more")

    @property
    def high(self) -> int:
        """The highest score."""
        return self.low + len(self.descriptions) - 1

    @property
    def levels(self) -> dict[int, str]:
        """Score -> description, from the lowest up."""
        return dict(enumerate(self.descriptions, self.low))

    @property
    def score_lines(self) -> str:
        """One line a score, `Score 1: ...`, as the prompt has them under the criterion."""
        return "\n".join(f"Score {score}: {text}" for score, text in self.levels.items())

    def text(self) -> str:
        """The rubric as it stands in the prompt: `[criteria]`, then the score lines."""
        return f"[{self.criteria}]\n{self.score_lines}"

    @classmethod
    def parse(cls, text: str) -> Rubric:
        """The rubric of a text such as `[criteria]\\nScore 1: ...\\nScore 2: ...`; `parse(text).text() == text`.

        Scores begin anywhere and go up by one; a description may have several lines.
        Raises: ValueError for a text of another form, or a rubric of one score.
        """
        head = _HEAD.match(text)
        if head is None:
            raise ValueError(f"rubric {text[:60]!r}: the form is '[criteria]', then a line 'Score 1: ...' a score")
        low, rest = int(head["low"]), text[head.end() :]
        parts: list[str] = []
        while (mark := f"\nScore {low + len(parts) + 1}: ") in rest:
            part, _, rest = rest.partition(mark)
            parts.append(part)
        return cls(head["criteria"], (*parts, rest), low)


class Prometheus(Judge):
    """Absolute grading: a feedback, then an integer score on the rubric's scale.

    reference, feedback: whether the prompt shows a reference answer and asks for a feedback before the score.
    rubric: True for the rubric of each row; False for none; a `Rubric` or its text for all rows.
    low, high: the scale where there is no rubric (1 to 5 unless given); with rubrics, the scale they must have.
    wording: `released`, the prompt of the public evaluation data, or `appendix`, as the paper prints it.
    verbalizer: read also what is near the form, such as "[SCORE 5]" or "Score: 4 out of 5".
    chat: `auto` wraps the prompt as the engine's checkpoint was trained (see `family`); or a style or `ChatFormat`.

    Each sample is drawn three times with the paper's sampling; the score is the mean of the draws that have one.
    Details of a draw: `feedback`, `rule`. An instruction's input (`source`, `context`) follows it after an empty line.

    Source: Prometheus, section 3, appendix J; ablation: Table 6; sampling and verbalizer: Table 9.
    """

    name = "prometheus"
    defaults = MappingProxyType(
        {"temperature": 1.0, "top_p": 0.9, "repetition_penalty": 1.03, "max_tokens": 256, "n": 3}
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
        wording: str = "released",
        verbalizer: bool = False,
        chat: str | ChatFormat = "auto",
        **common: Any,
    ) -> None:
        self.auto_chat = chat == "auto"
        super().__init__(chat="messages" if self.auto_chat else chat, **common)
        self.reference, self.feedback, self.wording = reference, feedback, wording
        self.parser = "verbalizer" if verbalizer else "strict"
        self.with_rubric = rubric is not False
        given = Rubric.parse(rubric) if isinstance(rubric, str) else rubric
        self.rubric = given if isinstance(given, Rubric) else None
        needs = {"instruction": True, "references": reference, "rubric": self.with_rubric and self.rubric is None}
        self.needs = ("output", *(field for field, needed in needs.items() if needed))
        if wording not in WORDINGS:
            raise ValueError(f"wording {wording!r}; allowed: {', '.join(WORDINGS)}")
        if wording == "appendix" and not (reference and self.with_rubric and feedback):
            raise ValueError("wording 'appendix' has reference, rubric and feedback; use 'released' for ablations")
        if (low is None) != (high is None) or not (low is None or high is None or low < high):
            raise ValueError(f"low={low}, high={high}; give both ends of the scale, low < high, or neither")
        scales = [(low, high)] if low is not None and high is not None else []
        scales += [(self.rubric.low, self.rubric.high)] if self.rubric is not None else []
        scales += [(1, 5)] if wording == "appendix" else []
        if len(set(scales)) > 1:
            raise ValueError(f"scales {scales} of low and high, rubric and wording {wording!r} differ")
        self.low: int | None = scales[0][0] if scales else None
        self.high: int | None = scales[0][1] if scales else None

    # -- the prompt -----------------------------------------------------------------------------------------------

    @property
    def template(self) -> Template:
        """The prompt with what the switches leave of it."""
        if self.wording == "appendix":
            return prompts.template("prometheus/absolute_appendix")
        switches = {"reference": self.reference, "rubric": self.with_rubric, "feedback": self.feedback}
        left_out = "".join(f"_no_{name}" for name, on in switches.items() if not on)
        return prompts.template(f"prometheus/absolute_scale{left_out}")

    def rubric_of(self, sample: Sample) -> Rubric | None:
        """The rubric that a sample is graded by, None where the prompt has none.

        Raises: ValueError naming the sample, for a rubric that cannot be read or is on another scale than asked.
        """
        if not self.with_rubric or self.rubric is not None:
            return self.rubric
        try:
            rubric = Rubric.parse(sample.rubric)
        except ValueError as error:
            raise ValueError(f"sample {sample.id!r}: {error}") from None
        if (self.low is not None or self.structured) and (rubric.low, rubric.high) != self.common_scale:
            low, high = self.common_scale
            raise ValueError(
                f"sample {sample.id!r}: its rubric goes from {rubric.low} to {rubric.high}, asked is {low} to {high}; "
                "without structured, low and high, each sample is graded on its rubric's scale"
            )
        return rubric

    def scale(self, sample: Sample) -> tuple[int, int]:
        """The lowest and the highest score that a sample can get."""
        rubric = self.rubric_of(sample)
        return self.common_scale if rubric is None else (rubric.low, rubric.high)

    @property
    def common_scale(self) -> tuple[int, int]:
        """The scale where a sample has none of its own: `low` to `high`, 1 to 5 unless given."""
        return (1, 5) if self.low is None or self.high is None else (self.low, self.high)

    def render(self, sample: Sample) -> str:
        template, rubric = self.template, self.rubric_of(sample)
        low, high = self.scale(sample)
        # an instruction's input follows it
        instruction = "\n\n".join(text for text in (sample.instruction, sample.source, sample.context) if text)
        values: dict[str, Any] = {"low": low, "high": high, "response": sample.output, "instruction": instruction}
        if self.reference:
            values["reference"] = sample.references[0]
        if rubric is not None:
            values |= {"criteria": rubric.criteria, "score_descriptions": rubric.score_lines}
            values |= {f"score{score}": text for score, text in rubric.levels.items()}
        return template.render(**{name: values[name] for name in template.variables})

    def templates(self) -> Sequence[Template]:
        return (self.template,)

    # -- the answer -----------------------------------------------------------------------------------------------

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """The score after the feedback, on the sample's scale."""
        low, high = self.common_scale if sample is None else self.scale(sample)
        if not self.feedback:
            return rating(completion.text, low, high).judgment()
        found = read_feedback(completion.text, low, high, self.parser)
        return found.judgment(feedback=found.feedback)

    def form(self, stage: str = "score") -> dict[str, Any]:
        """A feedback that leaves room for the verdict, then a score of the common scale."""
        scores = numbers(*self.common_scale)
        free = max(1, self.sampling.max_tokens - 12 - max(map(len, scores)))  # a token may be a letter
        feedback = rf"[^\[\]\n]{{1,{free}}}" if self.feedback else ""
        return {"regex": rf"{feedback}\[RESULT\] ({'|'.join(map(re.escape, scores))})"}

    # -- the judge ------------------------------------------------------------------------------------------------

    def for_engine(self, engine: Engine | None = None) -> Prometheus:
        """This evaluator with the wrapping of the engine's checkpoint; itself where `chat` was given."""
        engine = self.engine if engine is None else engine
        if not self.auto_chat:
            return self
        bound = copy.copy(self)
        bound.auto_chat, bound.chat = False, family("" if engine is None else engine.model)
        return bound

    def settings(self) -> dict[str, Any]:
        scale = {} if self.low is None else {"scale": f"{self.low}-{self.high}"}
        return {
            "mode": "absolute",
            "ref": self.reference,
            "rubric": self.with_rubric if self.rubric is None else short_hash(self.rubric.text()),
            "feedback": self.feedback,
            **scale,
            "parser": self.parser if self.feedback else "rating",
        }
