"""Prometheus: feedback and a score for one response, by a rubric and a reference
answer.

The paper's four inputs (section 3) are an instruction, a response, a score rubric and a
reference answer; its two outputs a feedback and a score, with `[RESULT]` between them.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nlgeval_lib import files, prompts
from nlgeval_lib.engines import Engine, Request, Sampling
from nlgeval_lib.evaluators import schemas
from nlgeval_lib.evaluators.base import choose
from nlgeval_lib.evaluators.judge import ChatFormat, Judge, numbers, short_hash
from nlgeval_lib.evaluators.stages import Stage, Stages
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
# The key of a score's description in a rubric file: 1, score1, score1_description.
_SCORE = re.compile(r"(?:score[ _]?)?(-?\d{1,6})(?:_description)?", re.I)
# How the text of a rubric begins: its criterion, and the lowest score.
_HEAD = re.compile(r"\[(?P<criteria>.*?)\]\nScore (?P<low>-?\d{1,6}): ", re.S)


def family(model: str) -> ChatFormat:
    """The wrapping that the checkpoint called `model` was trained with; chat messages
    for a model not known.

    Source: Prometheus, appendix J (Llama-2's conversation template).
    """
    for pattern, chat in _FAMILIES.items():
        if re.search(pattern, model.lower()):
            return ChatFormat.named(chat)
    return ChatFormat.named("messages")


@dataclass(frozen=True, slots=True)
class Rubric:
    """A criterion and one description for each score from `low` upwards, two or more.

    Raises: ValueError for fewer than two descriptions.
    Source: Prometheus, section 3 (customized score rubric), appendix J (its place in
    the prompt).
    """

    criteria: str
    descriptions: tuple[str, ...]
    low: int = 1

    def __post_init__(self) -> None:
        if len(self.descriptions) < 2:
            raise ValueError(
                f"{len(self.descriptions)} score descriptions; "
                "a scale has two scores or more"
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
        """One line a score, `Score 1: ...`, as the prompt has them."""
        return "\n".join(f"Score {n}: {text}" for n, text in self.levels.items())

    def text(self) -> str:
        """The rubric as it stands in the prompt: `[criteria]`, then the score lines."""
        return f"[{self.criteria}]\n{self.score_lines}"

    @classmethod
    def parse(cls, text: str) -> Rubric:
        """The rubric of a text such as `[criteria]\\nScore 1: ...\\nScore 2: ...`;
        `parse(text).text() == text`.

        Scores begin anywhere and go up by one.

        Raises: ValueError for a text of another form, or a rubric of one score.
        """
        head = _HEAD.match(text)
        if head is None:
            raise ValueError(
                f"rubric {text[:60]!r}: the form is '[criteria]', "
                "then a line 'Score 1: ...' a score"
            )
        low = int(head["low"])
        descriptions = [text[head.end() :]]
        # The last description so far ends where the line of the next score begins. A
        # description may have several lines, and name other scores.
        while (mark := f"\nScore {low + len(descriptions)}: ") in descriptions[-1]:
            descriptions += descriptions.pop().split(mark, 1)
        return cls(head["criteria"], tuple(descriptions), low)

    @classmethod
    def read(cls, path: str | Path) -> Rubric:
        """The rubric of a file: TOML, JSON or YAML with `criteria` and a text a score
        (`1`, `score1`, `score1_description`, also below `scores`); or, by any other
        ending, the text of a prompt (see `parse`).

        Raises: ValueError naming the file and what it lacks.
        """
        kind = Path(path).suffix.lower()
        text = _text_of(path)
        if kind not in (".toml", ".json", ".yaml", ".yml"):
            try:
                return cls.parse(text.strip())
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from None
        try:
            loaded = _loader(kind)(text)
        except Exception as error:  # The three readers share no class of errors.
            reason = " ".join(str(error).split())
            raise ValueError(
                f"rubric {path}: no {kind[1:].upper()}: {reason}"
            ) from None
        entries = loaded if isinstance(loaded, dict) else {}
        # The scores must follow each other, and each must have a text.
        texts = _descriptions(entries, f"rubric {path}")
        criteria = entries.get("criteria")
        low = min(texts, default=1)
        scale = range(low, low + max(len(texts), 2))
        written = [criteria, *texts.values()]
        filled = all(isinstance(text, str) and text.strip() for text in written)
        if not filled or sorted(texts) != list(scale):
            present = ", ".join(map(str, entries)) or "nothing by name"
            raise ValueError(
                f"rubric {path} needs a text 'criteria' and one for each score, such "
                "as 1 to 5 without a gap, none of them empty; it has "
                f"{present} (`nlgeval init` writes one)"
            )
        descriptions = tuple(texts[score].strip() for score in scale)
        return cls(str(criteria).strip(), descriptions, low)


def _text_of(path: str | Path) -> str:
    """The text of a rubric's file. Raises: ValueError naming the file."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"rubric {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ValueError(f"rubric {path} is not UTF-8; save it as UTF-8") from None


def _loader(kind: str) -> Callable[[str], Any]:
    """What reads a text of a file of the kind `.toml`, `.json`, `.yaml` or `.yml`."""
    if kind == ".toml":
        return tomllib.loads
    if kind == ".json":
        return functools.partial(files.from_json, object_pairs_hook=_once)
    return _from_yaml


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as a mapping. Raises: ValueError for a name that is there twice."""
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name!r} is there more than once")
    return dict(pairs)


def _from_yaml(text: str) -> Any:
    """The value of a YAML text. Raises: ValueError for a name that is there twice."""
    yaml: Any = importlib.import_module("yaml")

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            _once([(name.value, None) for name, _ in node.value])
            return dict(super().construct_mapping(node, deep))

    return yaml.load(text, Loader)


def _descriptions(entries: Mapping[Any, Any], place: str) -> dict[int, Any]:
    """Score -> what stands for it in a rubric file, at its top or below `scores`.

    Raises: ValueError where a score is there twice, such as `1` and `score1`.
    """
    below = entries.get("scores")
    named = [*entries.items()]
    if isinstance(below, dict):
        named += below.items()
    descriptions: dict[int, Any] = {}
    for key, text in named:
        match = _SCORE.fullmatch(str(key))
        if not match:
            continue
        score = int(match[1])
        if score in descriptions:
            raise ValueError(f"{place} has score {score} more than once; leave one")
        descriptions[score] = text
    return descriptions


def _stands_in(text: str, instruction: str) -> bool:
    """Whether a text stands in an instruction as a line or an end of its own."""
    pattern = rf"(?:^|[\n:] *){re.escape(text.strip())}\s*(?:\n|$)"
    return bool(text) and bool(re.search(pattern, instruction))


class Prometheus(Judge):
    """Absolute grading: a feedback, then an integer score on the rubric's scale; the
    mean of three draws.

    reference: whether the prompt shows a reference answer.
    rubric: True for the rubric of each row; False for none; a `Rubric` or its text for
    all rows.
    feedback: whether the prompt asks for a feedback before the score.
    low, high: the scale where there is no rubric (1 to 5 unless given); with rubrics,
    the scale they must have.
    wording: `released`, the prompt of the public evaluation data, or `appendix`, as the
    paper prints it.
    verbalizer: read also what is near the form, such as "[SCORE 5]" or "Score: 4 out of
    5"; `brackets`: and a bare "[4]" at the end.
    again: a draw without a score is asked for again, with another seed, up to so many
    times. The authors' first code did so until there was one, later code ten times.
    force: of a draw that still has none, the likeliest score after " [RESULT]" is
    taken, as the authors' later code does; for checkpoints that take one text.
    chat: `auto` wraps the prompt as the engine's checkpoint was trained (see `family`);
    or a style or `ChatFormat`.
    common: the other settings of `Judge`.

    Details of a draw: `feedback`, `rule`. Of a judgment: `asked_again`, `forced`, how
    many draws, where there are any.

    Source: Kim et al. (2024), Prometheus, section 3, appendix J; ablation: Table 6;
    sampling and verbalizer: Table 9.

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
        wording: str = "released",
        verbalizer: bool | str = False,
        again: int = 0,
        force: bool = False,
        chat: str | ChatFormat = "auto",
        **common: Any,
    ) -> None:
        self.auto_chat = chat == "auto"
        super().__init__(chat="messages" if self.auto_chat else chat, **common)
        self.reference = reference
        self.feedback = feedback
        self.with_rubric = rubric is not False
        choose("verbalizer", verbalizer, (False, True, "brackets"))
        self.parser = _READERS[verbalizer]
        self.again = again
        self.force = force
        if not isinstance(again, int) or again < 0:
            raise ValueError(f"again is {again!r}; a whole number is needed")
        if again and self.sampling.seed is None:
            raise ValueError("again needs a seed: without one the same draw is kept")
        if isinstance(rubric, str):
            rubric = Rubric.parse(rubric)
        self.rubric = rubric if isinstance(rubric, Rubric) else None
        self.needs = ("output", "instruction")
        if reference:
            self.needs += ("references",)
        if rubric is True:
            self.needs += ("rubric",)
        self.template: Template = prompts.template(self._template_name(wording))
        # The scale of all samples, where it is given.
        self.asked = self._asked_scale(low, high, wording)
        self.common_scale = self.asked or (1, 5)

    def _template_name(self, wording: str) -> str:
        """The prompt of a wording, without what is switched off (Table 6). Raises:
        ValueError for another wording, or an ablation of `appendix`.
        """
        name = "prometheus/absolute_scale"
        if not self.reference:
            name += "_no_reference"
        if not self.with_rubric:
            name += "_no_rubric"
        if not self.feedback:
            name += "_no_feedback"
        if choose("wording", wording, ("released", "appendix")) == "released":
            return name
        if "_no_" in name:
            raise ValueError(
                "wording 'appendix' has reference, rubric and feedback; "
                "use 'released' for ablations"
            )
        return "prometheus/absolute_appendix"

    def _asked_scale(
        self, low: int | None, high: int | None, wording: str
    ) -> tuple[int, int] | None:
        """The scale that low and high, the rubric or the wording ask for; None where
        none does. Raises: ValueError where these differ, or only one end is given.
        """
        scales = []
        if low is not None and high is not None and low < high:
            scales.append((low, high))
        elif low is not None or high is not None:
            raise ValueError(
                f"low={low}, high={high}; give both ends of the scale, low < high, "
                "or neither"
            )
        if self.rubric is not None:
            scales.append(self.rubric.scale)
        if wording == "appendix":
            scales.append((1, 5))
        if len(set(scales)) > 1:
            raise ValueError(
                f"scales {scales} of low and high, rubric and wording {wording!r} "
                "differ"
            )
        return scales[0] if scales else None

    def rubric_of(self, sample: Sample) -> Rubric | None:
        """The rubric that a sample is graded by, None where the prompt has none.
        Raises: ValueError naming the sample, for a rubric that cannot be read or is
        on another scale than asked.
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

    def scale(self, sample: Sample) -> tuple[int, int]:
        """The lowest and the highest score that a sample can get."""
        rubric = self.rubric_of(sample)
        return self.common_scale if rubric is None else rubric.scale

    def _scale_of(self, sample: Sample | None) -> tuple[int, int]:
        """The scale of a sample, or without one the common scale."""
        return self.common_scale if sample is None else self.scale(sample)

    def render(self, sample: Sample) -> str:
        """The prompt of one sample: instruction, response, and (unless switched off)
        rubric and reference answer.
        """
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
            for score, text in rubric.levels.items():
                values[f"score{score}"] = text
        # Each wording has some of these slots.
        slots = {name: values[name] for name in self.template.variables}
        return self.template.render(**slots)

    def stages(self, samples: Sequence[Sample]) -> Stages[list[Judgment]]:
        """The responses' grades; then, where `again` or `force` is set, what could not
        be read once more. Raises: ValueError for `force` where prompts are chats.
        """
        requests = [self.request(sample) for sample in samples]
        if self.force and any(request.prompt is None for request in requests):
            raise ValueError(
                "force goes on with the judge's own text, which a chat does not take; "
                "name the checkpoint's form, such as chat=llama2"
            )
        sampling = self.shaped()
        once = not (self.again or self.force)
        answers = yield Stage("score", requests, sampling, self.stand_in, last=once)
        draws = [list(of_request) for of_request in answers]
        counts: list[dict[str, int]] = [{} for _ in samples]
        for attempt in range(1, self.again + 1):
            unread = self._unread(draws, samples)
            if not unread:
                break
            rows = list(dict.fromkeys(row for row, _ in unread))
            new_seed = dataclasses.replace(
                sampling, seed=(sampling.seed or 0) + attempt
            )
            repeated = [requests[row] for row in rows]
            answers = yield Stage(f"again {attempt}", repeated, new_seed, self.stand_in)
            new_draws = dict(zip(rows, answers, strict=True))
            for row, place in unread:
                draws[row][place] = new_draws[row][place]
                counts[row]["asked_again"] = counts[row].get("asked_again", 0) + 1
        if self.force:
            yield from self._forced(draws, samples, requests, counts)
        judgments = []
        for of_request, sample, count in zip(draws, samples, counts, strict=True):
            judgment = self.judged(of_request, sample)
            details = {**judgment.details, **count}
            judgments.append(dataclasses.replace(judgment, details=details))
        return judgments

    def _unread(
        self, draws: Sequence[Sequence[Completion]], samples: Sequence[Sample]
    ) -> list[tuple[int, int]]:
        """The places (row, draw) of the draws whose text gives no score."""
        unread = []
        for row, (of_request, sample) in enumerate(zip(draws, samples, strict=True)):
            for place, draw in enumerate(of_request):
                if self.read(draw, sample).status not in (Status.OK, Status.FAILED):
                    unread.append((row, place))
        return unread

    def _forced(
        self,
        draws: list[list[Completion]],
        samples: Sequence[Sample],
        requests: Sequence[Request],
        counts: list[dict[str, int]],
    ) -> Stages[None]:
        """Ask for the likeliest score after each draw without one, and put it behind
        the draw's text, in `draws`.
        """
        by_scale: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for row, place in self._unread(draws, samples):
            by_scale.setdefault(self.scale(samples[row]), []).append((row, place))
        for scale, unread in by_scale.items():
            continued = []
            for row, place in unread:
                text = f"{requests[row].prompt} {draws[row][place].text} [RESULT] "
                continued.append(Request(prompt=text, id=requests[row].id))
            scores = tuple(numbers(*scale))
            greedy = Sampling(choice=scores, max_tokens=max(map(len, scores)) + 1)
            answers = yield Stage("force", continued, greedy, scores[0])
            for (row, place), [forced] in zip(unread, answers, strict=True):
                if forced.error:
                    draws[row][place] = forced
                    continue
                text = f"{draws[row][place].text} [RESULT] {forced.text}"
                draws[row][place] = dataclasses.replace(forced, text=text)
                counts[row]["forced"] = counts[row].get("forced", 0) + 1

    def reader(self, sample: Sample | None = None) -> Callable[[str], Parsed]:
        """The parser of a feedback with `[RESULT]` and a score; `rating` where there is
        no feedback, or JSON is asked for.
        """
        low, high = self._scale_of(sample)
        if not self.feedback or self.structured == "json":
            return functools.partial(rating, low=low, high=high)
        return functools.partial(read_feedback, low=low, high=high, mode=self.parser)

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """The score after the feedback, which is in the details, on the sample's scale."""
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
        low, high = self._scale_of(sample)
        laxer = list(_READERS)[list(_READERS.values()).index(self.parser) + 1 :]
        for setting in laxer:
            if read_feedback(text, low, high, _READERS[setting]).ok:
                name = "yes" if setting is True else setting
                return f"; read with verbalizer={name}"
        return ""

    def verdicts(self, sample: Sample | None = None) -> dict[str, float]:
        """The scores of a sample's rubric, or of the common scale."""
        return {name: float(name) for name in numbers(*self._scale_of(sample))}

    def form(self, stage: str = "score") -> dict[str, Any]:
        """A feedback that leaves room for the verdict, then `[RESULT]` and a score of
        the common scale.
        """
        scores = numbers(*self.common_scale)
        pattern = rf"\[RESULT\] ({'|'.join(map(re.escape, scores))})"
        if self.feedback:
            # A token may be a single letter; the verdict takes 12 and the score.
            room = self.sampling.max_tokens - 12 - max(map(len, scores))
            pattern = rf"[^\[\]\n]{{1,{max(1, room)}}}" + pattern
        return {"regex": pattern}

    def schema(self, stage: str = "score") -> dict[str, Any]:
        """A `feedback`, then a `score` of the common scale."""
        scores = numbers(*self.common_scale)
        if not self.feedback:
            return schemas.a_score(scores)
        room = self.sampling.max_tokens
        return schemas.a_reasoned_score(scores, "feedback", room)

    def for_engine(self, engine: Engine | None = None) -> Prometheus:
        """With the wrapping of the engine's checkpoint; itself where `chat` was given."""
        if not self.auto_chat:
            return self
        engine = self.engine if engine is None else engine
        bound = copy.copy(self)
        bound.auto_chat = False
        bound.chat = family("" if engine is None else engine.model)
        return bound

    def settings(self) -> dict[str, Any]:
        """What the prompt shows, the scale and the parser; a rubric for all rows by a
        hash.
        """
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
            "again": self.again or None,
            "force": self.force or None,
        }
