"""What the teacher writes for a feedback set, read: rubrics, problems with a reference, responses with a feedback."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nlgeval_lib.evaluators.prometheus import Rubric
from nlgeval_lib.parsers.loose_json import Record, objects
from nlgeval_lib.schema import Completion
from nlgeval_lib.training.sieve import cut, there

SCORES = (1, 2, 3, 4, 5)
KEYS = ("criteria", *(f"score{score}_description" for score in SCORES))
SEEDS = Path(__file__).with_name("seeds.json")
_END = re.compile(r"\[END\]", re.I)
_NEXT = re.compile(r"\[NEXT\]", re.I)
_HEAD = r"\A[\s*#\"]*{}\s*:?[*]*\s*"
_WHOLE = re.compile(r"\w[^\n]*?(?:[.!?…]+[\"'”’)\]]*(?=\s|$)|$)", re.M)


@dataclass(frozen=True, slots=True)
class RubricDraft:
    """A rubric in the making: `text` by key (`KEYS`). origin: seed, brainstormed, paraphrased."""

    id: str
    origin: str
    texts: Mapping[str, str]
    failure: str = ""
    problem: str = ""

    @property
    def group(self) -> str:
        """The part of the data, for counts."""
        return f"rubric {self.origin}"

    @property
    def criteria(self) -> str:
        """What the rubric asks."""
        return self.texts.get("criteria", "")

    def rubric(self) -> Rubric:
        """The finished rubric. Raises: ValueError where a level is missing."""
        return Rubric.of(dict(self.texts))

    def json(self) -> str:
        """The rubric as the prompts show it."""
        return json.dumps(dict(self.texts), ensure_ascii=False, indent=1)

    def known(self) -> dict[str, Any]:
        """All that is known of it: what the list of the removed keeps."""
        return {"kind": "rubric", "origin": self.origin, **self.texts, "failure": self.failure, "problem": self.problem}


@dataclass(frozen=True, slots=True)
class Problem:
    """An instruction that fits a rubric, with an answer that deserves a 5."""

    id: str
    rubric: RubricDraft
    instruction: str = ""
    reference: str = ""
    failure: str = ""
    problem: str = ""
    group: str = "instruction"

    def known(self) -> dict[str, Any]:
        """All that is known of it."""
        own = {name: getattr(self, name) for name in ("instruction", "reference", "failure", "problem")}
        return {"kind": "instruction", "criteria": self.rubric.criteria, **own}


@dataclass(frozen=True, slots=True)
class Graded:
    """A response that is to deserve `score`, and the feedback that says why."""

    id: str
    of: Problem
    score: int
    response: str = ""
    feedback: str = ""
    failure: str = ""
    problem: str = ""

    @property
    def group(self) -> str:
        """The part of the data, for counts."""
        return f"response {self.score}"

    def known(self) -> dict[str, Any]:
        """All that is known of it."""
        own = {name: getattr(self, name) for name in ("score", "response", "feedback", "failure", "problem")}
        return {"kind": "response", "criteria": self.of.rubric.criteria, "instruction": self.of.instruction, **own}


def seeds(path: Path | str | None = None) -> list[RubricDraft]:
    """The seed rubrics of a JSON or JSONL file of objects with the keys `KEYS`; without a file, twelve of our own.

    Raises: ValueError naming the rubric that is none; OSError.
    """
    text = Path(path or SEEDS).read_text(encoding="utf-8")
    try:
        found = json.loads(text)
    except ValueError:
        try:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise ValueError(f"{path}: neither JSON nor JSONL: {error}") from None
    records = found.get("rubrics", [found]) if isinstance(found, Mapping) else found
    drafts = []
    for place, record in enumerate(records):
        draft = RubricDraft(f"seed-{place}", "seed", dict(record) if isinstance(record, Mapping) else {})
        if wrong := levels(draft) or empty(draft):
            raise ValueError(f"seed rubric {place}: {wrong}; each needs text in {', '.join(KEYS)}")
        drafts.append(replace(draft, texts={key: draft.texts[key] for key in KEYS}))
    return drafts


def levels(draft: RubricDraft) -> str:
    """What keeps a rubric from being a criterion with five levels, empty where it is one."""
    numbers = [key for key in draft.texts if re.fullmatch(r"score\s*_?\d+.*", str(key))]
    if "criteria" not in draft.texts:
        return "no criteria"
    missing = [str(score) for score in SCORES if f"score{score}_description" not in draft.texts]
    if missing:
        return f"no description of score {', '.join(missing)}"
    return f"{len(numbers)} levels instead of five" if len(numbers) != len(SCORES) else ""


def empty(draft: RubricDraft) -> str:
    """Which text of a rubric is empty."""
    lacking = [key for key in KEYS if not isinstance(draft.texts.get(key), str) or not draft.texts[key].strip()]
    return f"{', '.join(lacking)} empty" if lacking else ""


def read_rubric(draft: RubricDraft, completion: Completion) -> RubricDraft:
    """The draft with the texts of the teacher's JSON, or with what is wrong with it. Prefix `orig_` is dropped."""
    if nothing := there(completion):
        return replace(draft, failure=nothing)
    records = [item for item, _, _ in objects(_END.split(completion.text)[0]) if isinstance(item, Record)]
    if len(records) != 1:
        what = "no JSON object" if not records else f"{len(records)} JSON objects"
        return replace(draft, problem=what + cut(completion))
    record = records[0]
    if record.cut or record.clashes:
        what = "the JSON is cut off" if record.cut else f"{', '.join(sorted(record.clashes))} twice"
        return replace(draft, problem=what + cut(completion))
    texts = {str(key).strip().removeprefix("orig_"): value for key, value in record.items()}
    plain = {key: " ".join(value.split()) if isinstance(value, str) else "" for key, value in texts.items()}
    return replace(draft, texts=plain)


def read_problem(draft: Problem, completion: Completion) -> Problem:
    """The draft with problem and reference answer."""
    if nothing := there(completion):
        return replace(draft, failure=nothing)
    parts, wrong = two_parts(completion, "problem", "response")
    return replace(draft, problem=wrong) if wrong else replace(draft, instruction=parts[0], reference=parts[1])


def read_graded(draft: Graded, completion: Completion) -> Graded:
    """The draft with response and feedback."""
    if nothing := there(completion):
        return replace(draft, failure=nothing)
    parts, wrong = two_parts(completion, "response", "feedback")
    return replace(draft, problem=wrong) if wrong else replace(draft, response=parts[0], feedback=parts[1])


def two_parts(completion: Completion, first: str, second: str) -> tuple[tuple[str, str], str]:
    """The two labelled parts of a text `First: ... [NEXT] Second: ... [END]`, or what is wrong.

    The labels may be missing; `[NEXT]` may not, and may stand there only once. A text that was cut off before `[END]`
    has no value.
    """
    body, *rest = _END.split(completion.text, maxsplit=1)
    if completion.finish_reason == "length" and not rest:
        return ("", ""), "cut at the token limit"
    parts = _NEXT.split(body)
    if len(parts) != 2:
        return ("", ""), "no [NEXT]" if len(parts) == 1 else f"[NEXT] {len(parts) - 1} times"
    one, two = (
        re.sub(_HEAD.format(name), "", part, count=1, flags=re.I).strip()
        for name, part in zip((first, second), parts, strict=True)
    )
    return (one, two), ""


def sentences(text: str) -> int:
    """How many sentences a text has: stretches with a word up to `.`, `!`, `?`, `…` or the line's end; at least 1."""
    return max(1, len(_WHOLE.findall(text)))
