"""Prometheus: feedback and a score for one response, by a rubric and a reference
answer.
"""

from __future__ import annotations

import copy
import importlib
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nlgeval_lib import prompts
from nlgeval_lib.engines import Engine
from nlgeval_lib.evaluators.base import choose
from nlgeval_lib.evaluators.judge import ChatFormat, Judge, numbers, short_hash
from nlgeval_lib.parsers.ratings import feedback as read_feedback
from nlgeval_lib.parsers.ratings import rating
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Completion, Judgment, Sample

# the v1 checkpoints are Llama-2-Chat tuned on the paper's prompt; those of the second
# paper are Mistral-Instruct
_FAMILIES = (
    (re.compile(r"prometheus-\d+b-v1"), "prometheus-v1"),
    (re.compile(r"prometheus-\d+x?\d*b-v2|prometheus-bgb"), "mistral"),
    (re.compile(r"llama-?2-.*chat"), "llama2"),
)
_SCORE = re.compile(r"(?:score[ _]?)?(-?\d{1,6})(?:_description)?", re.I)
_HEAD = re.compile(r"\[(?P<criteria>.*?)\]\nScore (?P<low>-?\d{1,6}): ", re.S)


def family(model: str) -> ChatFormat:
    """The wrapping that the checkpoint called `model` was trained with; chat messages
    for a model not known.

    Source: Prometheus, appendix J (Llama-2's conversation template).
    """
    found = (chat for pattern, chat in _FAMILIES if pattern.search(model.lower()))
    return ChatFormat.named(next(found, "messages"))


@dataclass(frozen=True, slots=True)
class Rubric:
    """A criterion and one description for each score from `low` upwards, two or more.

    Source: Prometheus, section 3 (customized score rubric), appendix J (its place in
    the prompt).
    """

    criteria: str
    descriptions: tuple[str, ...]
    low: int = 1

    def __post_init__(self) -> None:
        if len(self.descriptions) < 2:
            raise ValueError(
                f"{len(self.descriptions)} score descriptions; a scale has two scores or more"
            )

    @property
    def scale(self) -> tuple[int, int]:
        """The lowest and the highest score."""
        return self.low, self.low + len(self.descriptions) - 1

    @property
    def levels(self) -> dict[int, str]:
        """Score -> description, from the lowest up."""
        return dict(enumerate(self.descriptions, self.low))

    @property
    def score_lines(self) -> str:
        """One line a score, `Score 1: ...`, as the prompt has them under the
        criterion.
        """
        return "\n".join(
            f"Score {score}: {text}" for score, text in self.levels.items()
        )

    def text(self) -> str:
        """The rubric as it stands in the prompt: `[criteria]`, then the score lines."""
        return f"[{self.criteria}]\n{self.score_lines}"

    @classmethod
    def parse(cls, text: str) -> Rubric:
        """The rubric of a text such as `[criteria]\\nScore 1: ...\\nScore 2: ...`;
        `parse(text).text() == text`.

        Scores begin anywhere and go up by one. Raises: ValueError for a text of another
        form, or a rubric of one score.
        """
        head = _HEAD.match(text)
        if head is None:
            raise ValueError(
                f"rubric {text[:60]!r}: the form is '[criteria]', then a line 'Score 1: ...' a score"
            )
        low = int(head["low"])
        rest = text[head.end() :]
        parts: list[str] = []
        while (mark := f"\nScore {low + len(parts) + 1}: ") in rest:
            part, _, rest = rest.partition(mark)
            parts.append(part)
        return cls(head["criteria"], (*parts, rest), low)

    @classmethod
    def read(cls, path: str | Path) -> Rubric:
        """The rubric of a file: TOML, JSON or YAML with `criteria` and a text a score
        (`1`, `score1`, `score1_description`, also below `scores`), or the text of a
        prompt.

        Raises: ValueError saying what the file lacks; OSError.
        """
        kind = Path(path).suffix.lower()
        text = Path(path).read_text(encoding="utf-8-sig")
        if kind not in (".toml", ".json", ".yaml", ".yml"):
            return cls.parse(text.strip())
        load: Any = {".toml": tomllib.loads, ".json": json.loads}.get(
            kind
        ) or importlib.import_module("yaml").safe_load
        try:
            read = load(text)
        except Exception as error:  # of three readers
            raise ValueError(
                f"rubric {path}: no {kind[1:].upper()}: {' '.join(str(error).split())}"
            ) from None
        found = read if isinstance(read, dict) else {}
        given = found | (
            found["scores"] if isinstance(found.get("scores"), dict) else {}
        )
        scores = {
            int(named[1]): str(given[key])
            for key in given
            if (named := _SCORE.fullmatch(str(key)))
        }
        low = min(scores, default=1)
        if not isinstance(found.get("criteria"), str) or sorted(scores) != [
            *range(low, low + max(len(scores), 2))
        ]:
            there = ", ".join(map(str, found)) or "nothing by name"
            needs = (
                "a text 'criteria' and one for each score, such as 1 to 5 without a gap"
            )
            raise ValueError(
                f"rubric {path} needs {needs}; it has {there} (`nlgeval init` writes one)"
            )
        return cls(
            found["criteria"].strip(),
            tuple(scores[score].strip() for score in sorted(scores)),
            low,
        )


def _ends(text: str, whole: str) -> bool:
    """Whether a text stands in another one as a line or an end of its own."""
    return bool(text) and bool(
        re.search(rf"(?:^|[\n:] *){re.escape(text.strip())}\s*(?:\n|$)", whole)
    )


class Prometheus(Judge):
    """Absolute grading: a feedback, then an integer score on the rubric's scale; the
    mean of three draws.

    reference, feedback: whether the prompt shows a reference answer and asks for a
    feedback before the score.
    rubric: True for the rubric of each row; False for none; a `Rubric` or its text for
    all rows.
    low, high: the scale where there is no rubric (1 to 5 unless given); with rubrics,
    the scale they must have.
    wording: `released`, the prompt of the public evaluation data, or `appendix`, as the
    paper prints it.
    verbalizer: read also what is near the form, such as "[SCORE 5]" or "Score: 4 out of
    5".
    chat: `auto` wraps the prompt as the engine's checkpoint was trained (see `family`);
    or a style or `ChatFormat`.
    Details of a draw: `feedback`, `rule`.

    Source: Kim et al. (2024), Prometheus, section 3, appendix J; ablation: Table 6;
    sampling and verbalizer: Table 9.
    """

    name = "prometheus"
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
        wording: str = "released",
        verbalizer: bool = False,
        chat: str | ChatFormat = "auto",
        **common: Any,
    ) -> None:
        self.auto_chat = chat == "auto"
        super().__init__(chat="messages" if self.auto_chat else chat, **common)
        self.reference, self.feedback, self.with_rubric = (
            reference,
            feedback,
            rubric is not False,
        )
        self.parser = "verbalizer" if verbalizer else "strict"
        rubric = Rubric.parse(rubric) if isinstance(rubric, str) else rubric
        self.rubric = rubric if isinstance(rubric, Rubric) else None
        needed = {
            "output": True,
            "instruction": True,
            "references": reference,
            "rubric": rubric is True,
        }
        self.needs = tuple(field for field, is_needed in needed.items() if is_needed)
        switches = {
            "reference": reference,
            "rubric": self.with_rubric,
            "feedback": feedback,
        }
        left_out = "".join(f"_no_{name}" for name, on in switches.items() if not on)
        if (
            choose("wording", wording, ("released", "appendix")) == "appendix"
            and left_out
        ):
            raise ValueError(
                "wording 'appendix' has reference, rubric and feedback; use 'released' for ablations"
            )
        name = (
            "absolute_appendix"
            if wording == "appendix"
            else f"absolute_scale{left_out}"
        )
        self.template: Template = prompts.template(f"prometheus/{name}")
        if (low is None) != (high is None) or not (
            low is None or high is None or low < high
        ):
            raise ValueError(
                f"low={low}, high={high}; give both ends of the scale, low < high, or neither"
            )
        scales = [(low, high)] if low is not None and high is not None else []
        scales += [self.rubric.scale] if self.rubric is not None else []
        scales += [(1, 5)] if wording == "appendix" else []
        if len(set(scales)) > 1:
            raise ValueError(
                f"scales {scales} of low and high, rubric and wording {wording!r} differ"
            )
        self.asked = (
            scales[0] if scales else None
        )  # the scale of all samples, where it is given
        self.common_scale = self.asked or (1, 5)

    def rubric_of(self, sample: Sample) -> Rubric | None:
        """The rubric that a sample is graded by, None where the prompt has none.

        Raises: ValueError naming the sample, for a rubric that cannot be read or is on
        another scale than asked.
        """
        if not self.with_rubric or self.rubric is not None:
            return self.rubric
        try:
            rubric = Rubric.parse(sample.rubric)
        except ValueError as error:
            raise ValueError(f"sample {sample.id!r}: {error}") from None
        if (self.asked or self.structured) and rubric.scale != self.common_scale:
            goes, asked = (
                " to ".join(map(str, ends))
                for ends in (rubric.scale, self.common_scale)
            )
            raise ValueError(
                f"sample {sample.id!r}: its rubric goes from {goes}, asked is {asked}; without structured, low and "
                "high, each sample is graded on its rubric's scale"
            )
        return rubric

    def scale(self, sample: Sample) -> tuple[int, int]:
        """The lowest and the highest score that a sample can get."""
        rubric = self.rubric_of(sample)
        return self.common_scale if rubric is None else rubric.scale

    def render(self, sample: Sample) -> str:
        rubric, (low, high) = self.rubric_of(sample), self.scale(sample)
        # an instruction's input follows it, unless it is in it
        follow = (
            text
            for text in (sample.source, sample.context)
            if not _ends(text, sample.instruction)
        )
        instruction = "\n\n".join(
            text for text in (sample.instruction, *follow) if text
        )
        values: dict[str, Any] = {
            "low": low,
            "high": high,
            "response": sample.output,
            "instruction": instruction,
        }
        if self.reference:
            values["reference"] = sample.references[0]
        if rubric is not None:
            values |= {
                "criteria": rubric.criteria,
                "score_descriptions": rubric.score_lines,
            }
            values |= {f"score{score}": text for score, text in rubric.levels.items()}
        return self.template.render(
            **{name: values[name] for name in self.template.variables}
        )

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """The score after the feedback, on the sample's scale."""
        low, high = self.common_scale if sample is None else self.scale(sample)
        if not self.feedback:
            return rating(completion.text, low, high).judgment()
        found = read_feedback(completion.text, low, high, self.parser)
        return found.judgment(feedback=found.feedback)

    def form(self, stage: str = "score") -> dict[str, Any]:
        """A feedback that leaves room for the verdict, then a score of the common
        scale.
        """
        scores = numbers(*self.common_scale)
        free = max(
            1, self.sampling.max_tokens - 12 - max(map(len, scores))
        )  # a token may be a letter
        feedback = rf"[^\[\]\n]{{1,{free}}}" if self.feedback else ""
        return {"regex": rf"{feedback}\[RESULT\] ({'|'.join(map(re.escape, scores))})"}

    def for_engine(self, engine: Engine | None = None) -> Prometheus:
        """This evaluator with the wrapping of the engine's checkpoint; itself where
        `chat` was given.
        """
        engine = self.engine if engine is None else engine
        if not self.auto_chat:
            return self
        bound = copy.copy(self)
        bound.auto_chat, bound.chat = (
            False,
            family("" if engine is None else engine.model),
        )
        return bound

    def settings(self) -> dict[str, Any]:
        return {
            "mode": "absolute",
            "ref": self.reference,
            "rubric": self.with_rubric
            if self.rubric is None
            else short_hash(self.rubric.text()),
            "feedback": self.feedback,
            "scale": f"{self.asked[0]}-{self.asked[1]}" if self.asked else None,
            "parser": self.parser if self.feedback else "rating",
        }
