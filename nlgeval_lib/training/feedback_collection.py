"""The Feedback Collection, Prometheus' training set: rubrics, instructions, and a
response for each score.

    built = FeedbackCollection(rounds=10, per_round=50, instructions=20).build(teacher, store)
    built.save("data/raw/feedback_collection")

The paper's 50 seed rubrics are not public: twelve of our own are built in. It asks for
good pieces in its prompts (appendix I) and removes nothing by rule: every rule here is
ours.
Source: Prometheus, section 3 and appendices C and I.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.engines import Request
from nlgeval_lib.evaluators.prometheus import Prometheus, Rubric
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.parsers.normalise import Record, objects
from nlgeval_lib.parsers.ratings import feedback as read_feedback
from nlgeval_lib.records import Completion, Sample
from nlgeval_lib.training import pipeline, statistics
from nlgeval_lib.training.pipeline import (
    Filters,
    Piece,
    Rule,
    Unreadable,
    answered,
    fill,
    lacking,
    unique,
)
from nlgeval_lib.training.statistics import rouge_l, words

SCORES = (1, 2, 3, 4, 5)
KEYS = ("criteria", *(f"score{score}_description" for score in SCORES))
VIEWS = (
    "full",
    "no_rubric",
    "no_reference",
    "no_feedback",
)  # what an example shows; the ablations of Table 6
SEEDS = Path(__file__).with_name("feedback_seeds.json")
MOST_WORDS = 1500  # of an instruction or a reference
# what the teacher may write, for planning
_RUBRIC = json.dumps(
    {"criteria": "Is it clear?"} | {key: f"Level {key[5]}." for key in KEYS[1:]}
)
_PROBLEM = "Problem: How does a bell work? [NEXT] Response: A clapper strikes it. [END]"
_GRADED = "Response: A bell is struck. [NEXT] Feedback: It is short. So the overall score is 3. [END]"
_END = re.compile(r"\[END\]", re.I)
_NEXT = re.compile(r"\[NEXT\]", re.I)
_HEAD = r"\A[\s*#\"]*{}\s*:?[*]*\s*"
_NAMED = re.compile(
    r"\bscores?\s+(?:of\s+)?[1-5]\b|\brubrics?\b|\boverall score\b", re.I
)
_OVERALL = re.compile(r"\boverall score is\s*:?\s*\(?(\d+(?:\.\d+)?)", re.I)
# a stretch with a word up to `.`, `!`, `?`, `…` or the line's end
_SENTENCE = re.compile(r"\w[^\n]*?(?:[.!?…]+[\"'”’)\]]*(?=\s|$)|$)", re.M)

# -- pieces


@dataclass(frozen=True, slots=True)
class RubricDraft(Piece):
    """A rubric in the making: `texts` by key (`KEYS`).

    origin: seed, brainstormed, paraphrased.
    """

    id: str
    origin: str
    texts: Mapping[str, str]

    @property
    def group(self) -> str:
        return f"rubric {self.origin}"

    @property
    def criteria(self) -> str:
        return self.texts.get("criteria", "")

    def rubric(self) -> Rubric:
        """The finished rubric. Raises: KeyError where a level is missing."""
        return Rubric(self.criteria, tuple(self.texts[key] for key in KEYS[1:]))

    def json(self) -> str:
        """The rubric as the prompts show it."""
        return json.dumps(dict(self.texts), ensure_ascii=False, indent=1)

    def content(self) -> dict[str, Any]:
        return {"kind": "rubric", "origin": self.origin, **self.texts}


@dataclass(frozen=True, slots=True)
class Problem(Piece):
    """An instruction that fits a rubric, with an answer that deserves a 5."""

    id: str
    rubric: RubricDraft
    instruction: str = ""
    reference: str = ""
    group: str = "instruction"

    def content(self) -> dict[str, Any]:
        of = {"kind": "instruction", "criteria": self.rubric.criteria}
        return {**of, "instruction": self.instruction, "reference": self.reference}


@dataclass(frozen=True, slots=True)
class Graded(Piece):
    """A response that is to deserve `score`, and the feedback that says why."""

    id: str
    of: Problem
    score: int
    response: str = ""
    feedback: str = ""

    @property
    def group(self) -> str:
        return f"response {self.score}"

    @property
    def completion(self) -> str:
        """What the fine-tuned model is to write: feedback, `[RESULT]`, score.

        Source: Prometheus, section 3.2.
        """
        return f"{self.feedback.strip()} [RESULT] {self.score}"

    def content(self) -> dict[str, Any]:
        of = {
            "kind": "response",
            "criteria": self.of.rubric.criteria,
            "instruction": self.of.instruction,
        }
        return {
            **of,
            "score": self.score,
            "response": self.response,
            "feedback": self.feedback,
        }


def seed_rubrics(
    records: Sequence[Mapping[str, Any]] | None = None,
) -> list[RubricDraft]:
    """Seed rubrics of records with the keys `KEYS`; without records, twelve of our own.

    Raises: ValueError naming the rubric that is none.
    """
    drafts = []
    for place, record in enumerate(
        json.loads(SEEDS.read_text("utf-8"))["rubrics"] if records is None else records
    ):
        draft = RubricDraft(f"seed-{place}", "seed", record)
        if wrong := _levels(draft) or lacking(record, *KEYS, said="{} empty"):
            raise ValueError(
                f"seed rubric {place}: {wrong}; each needs text in {', '.join(KEYS)}"
            )
        drafts.append(replace(draft, texts={key: record[key] for key in KEYS}))
    return drafts


# -- what the teacher wrote


def read_rubric(_: RubricDraft, completion: Completion) -> dict[str, Any]:
    """The texts of the teacher's JSON.

    Prefix `orig_` is dropped.
    Raises: Unreadable.
    """
    records = [
        item
        for item, _, _ in objects(_END.split(completion.text)[0])
        if isinstance(item, Record)
    ]
    if len(records) != 1:
        raise Unreadable(f"{len(records) or 'no'} JSON object{'s' if records else ''}")
    [record] = records
    if record.cut or record.clashes:
        raise Unreadable(
            "the JSON is cut off"
            if record.cut
            else f"{', '.join(sorted(record.clashes))} twice"
        )
    texts = {
        str(key).strip().removeprefix("orig_"): value for key, value in record.items()
    }
    return {
        "texts": {
            key: " ".join(text.split()) if isinstance(text, str) else ""
            for key, text in texts.items()
        }
    }


def read_problem(_: Problem, completion: Completion) -> dict[str, Any]:
    """The instruction and its answer. Raises: Unreadable."""
    return _two_parts(completion, instruction="problem", reference="response")


def read_graded(_: Graded, completion: Completion) -> dict[str, Any]:
    """The response and its feedback. Raises: Unreadable."""
    return _two_parts(completion, response="response", feedback="feedback")


def _two_parts(completion: Completion, **labels: str) -> dict[str, str]:
    """The parts of `First: ...

    [NEXT] Second: ... [END]`, by field (field=label); labels may be missing.
    """
    body, *rest = _END.split(completion.text, maxsplit=1)
    if completion.finish_reason == "length" and not rest:
        raise Unreadable("no [END]")
    parts = _NEXT.split(body)
    if len(parts) != 2:
        raise Unreadable(
            "no [NEXT]" if len(parts) == 1 else f"[NEXT] {len(parts) - 1} times"
        )
    return {
        name: re.sub(_HEAD.format(label), "", part, count=1, flags=re.I).strip()
        for (name, label), part in zip(labels.items(), parts, strict=True)
    }


# -- rules


def _needed(*names: str) -> list[Rule]:
    """The first rules of a piece: it was read, and has its texts."""
    says = "a text that is needed is empty"
    return [
        *answered(),
        Rule(
            "empty_field",
            says,
            lambda one: lacking(one, *names, said="{} empty"),
            "ours",
        ),
    ]


def rubric_rules(alike: float = 0.95, seeds: Sequence[RubricDraft] = ()) -> list[Rule]:
    """Rubrics: read, with five levels that say something, and not there already.

    alike: the ROUGE-L F1 of two criteria above which the later one is a repetition,
    `seeds` being the first.
    Raises: ValueError for alike outside 0 to 1.
    """
    if not 0 < alike <= 1:
        raise ValueError(f"alike={alike!r}; a share above 0 and up to 1 is needed")
    earlier = [draft.criteria for draft in seeds]

    def same_levels(draft: RubricDraft) -> str:
        seen: dict[tuple[str, ...], int] = {}
        for score, key in zip(SCORES, KEYS[1:], strict=True):
            first = seen.setdefault(tuple(words(draft.texts[key])), score)
            if first != score:
                return f"scores {first} and {score} are described alike"
        return ""

    def near(draft: RubricDraft) -> str:
        for text in earlier:
            if (
                words(text) == words(draft.criteria)
                or rouge_l()(text, draft.criteria) > alike
            ):
                return f"like {text[:60]!r}"
        earlier.append(draft.criteria)
        return ""

    *read, empty = _needed(*KEYS)
    return [
        *read,
        Rule("levels", "a rubric without a criterion and five levels", _levels, "ours"),
        empty._replace(why=lambda draft: empty.why(draft.texts)),
        Rule(
            "same_levels",
            "two levels of a rubric have the same description",
            same_levels,
            "ours",
        ),
        Rule(
            "alike", "a criterion in nearly the words of an earlier one", near, "ours"
        ),
    ]


def problem_rules() -> list[Rule]:
    """Instructions with their reference answers."""

    def long(one: Problem) -> str:
        most = max(len(words(one.instruction)), len(words(one.reference)))
        return f"{most:,} words, above {MOST_WORDS:,}" if most > MOST_WORDS else ""

    return [
        *_needed("instruction", "reference"),
        Rule("over_long", "a text is longer than the limit", long, "ours"),
        unique(
            lambda one: tuple(words(one.instruction)),
            "an instruction or a response that is there already",
        ),
    ]


def graded_rules(length: float = 2.0) -> list[Rule]:
    """Responses with their feedback. length: how many times longer or shorter than its
    reference a response may be.

    Raises: ValueError for a length below 1.
    """
    if not length >= 1:
        raise ValueError(f"length={length!r}; a factor of at least 1 is needed")

    def score(one: Graded) -> str:
        said = [float(found) for found in _OVERALL.findall(one.feedback)]
        wrong = [f"{found:g}" for found in said if found != one.score]
        if not said:
            return "no 'So the overall score is'"
        return f"it says {', '.join(wrong)}, asked was {one.score}" if wrong else ""

    def unreadable(one: Graded) -> str:
        if re.search(r"\[RESULT\]", one.feedback, re.I):
            return "[RESULT] inside the feedback"
        read = read_feedback(one.completion, 1, 5, "strict")
        return (
            ""
            if read.ok and read.value == one.score
            else read.reason or f"read back as {read.value:g}"
        )

    def named(one: Graded) -> str:
        found = _NAMED.search(one.response)
        allowed = _NAMED.search(
            one.of.instruction
        )  # a task about scores or rubrics may speak of them
        return f"{found.group()!r}" if found and not allowed else ""

    def uneven(one: Graded) -> str:
        own = len(words(one.response))
        reference = len(words(one.of.reference))
        fits = own and reference and 1 / length <= own / reference <= length
        return "" if fits else f"{own} words, the reference has {reference}"

    def copied(one: Graded) -> str:
        return (
            "the reference's words"
            if words(one.response) == words(one.of.reference)
            else ""
        )

    return [
        *_needed("response", "feedback"),
        Rule(
            "score",
            "the feedback does not end in the score that was asked for",
            score,
            "ours",
        ),
        Rule(
            "unreadable",
            "the completion would not be read back with its score",
            unreadable,
            "ours",
        ),
        Rule(
            "names_score",
            "the response speaks of its score or of the rubric",
            named,
            "ours",
        ),
        Rule(
            "length",
            "the response is not about as long as the reference",
            uneven,
            "ours",
        ),
        Rule("reference", "the response is the reference", copied, "ours"),
        unique(
            lambda one: (one.of.id, *words(one.response)),
            "an instruction or a response that is there already",
        ),
    ]


def whole_rules(kept: Sequence[Graded]) -> list[Rule]:
    """Instructions whose five scores are not all there lose the others too, so that
    scores stay equally frequent.

    Source: Prometheus, section 3 (uniform score distribution).
    """
    there = {(one.of.id, one.score) for one in kept}

    def incomplete(one: Graded) -> str:
        missing = [str(score) for score in SCORES if (one.of.id, score) not in there]
        return (
            f"its instruction has no response of score {', '.join(missing)}"
            if missing
            else ""
        )

    return [
        Rule(
            "incomplete",
            "another score of its instruction was removed",
            incomplete,
            "ours",
        )
    ]


def _levels(draft: RubricDraft) -> str:
    """What keeps a rubric from being a criterion with five levels."""
    if "criteria" not in draft.texts:
        return "no criteria"
    if missing := [
        str(score) for score in SCORES if f"score{score}_description" not in draft.texts
    ]:
        return f"no description of score {', '.join(missing)}"
    found = sum(bool(re.fullmatch(r"score\s*_?\d+.*", str(key))) for key in draft.texts)
    return f"{found} levels instead of five" if found != len(SCORES) else ""


# -- the set and its pipeline


@dataclass
class Collection(pipeline.TrainingSet):
    """A built collection, with its rubrics."""

    rubrics: list[RubricDraft] = field(default_factory=list)

    title = "Feedback collection"

    def frame(self) -> pd.DataFrame:
        """A row a response: `criteria, rubric, instruction, reference, response,
        feedback, score`, and ids.
        """
        rows = []
        for one in self.kept:
            rubric = one.of.rubric
            row = {
                "id": one.id,
                "rubric_id": rubric.id,
                "criteria": rubric.criteria,
                "rubric": rubric.rubric().text(),
            }
            row |= {
                "instruction": one.of.instruction,
                "reference": one.of.reference,
                "response": one.response,
            }
            rows.append({**row, "feedback": one.feedback, "score": one.score})
        return pd.DataFrame(rows)

    def examples(self, view: str = "full") -> list[dict[str, Any]]:
        """The training examples, `prompt` and `completion` with the frame's columns.

        view: one of `VIEWS`: without the rubric or the reference in the prompt, or
        without the feedback before the score. The prompt is the one that the evaluator
        `Prometheus` renders with the same switch, unwrapped.
        Raises: ValueError for an unknown view.
        Source: Prometheus, appendix J; Table 6.
        """
        if view not in VIEWS:
            raise ValueError(f"view {view!r}; allowed: {', '.join(VIEWS)}")
        switches = {
            name: f"no_{name}" != view for name in ("rubric", "reference", "feedback")
        }
        judge = Prometheus(chat="raw", **switches)  # type: ignore[arg-type]
        made = []
        for one, row in zip(self.kept, self.frame().to_dict("records"), strict=True):
            shown = {
                "instruction": one.of.instruction,
                "references": (one.of.reference,),
                "rubric": row["rubric"],
            }
            text = str(one.score) if view == "no_feedback" else one.completion
            prompt = judge.render(Sample(one.id, one.response, **shown))
            made.append({**row, "view": view, "prompt": prompt, "completion": text})
        return made

    def statistics(self) -> dict[str, pd.DataFrame]:
        """The tables and figures of the paper's appendix C for the collection, and its
        balance.

        Figures of distributions come as their mean and quantiles.
        Source: Prometheus, Table 1; Table 7; Figure 7; Figure 9.
        """
        frame = self.frame()
        if frame.empty:
            return {}
        once = frame.drop_duplicates(["criteria", "instruction"])
        parts = {
            "Instruction": once["instruction"],
            "Reference": once["reference"],
            "Score Rubric": frame["rubric"].drop_duplicates(),
            "Responses": frame["response"],
            "Feedback": frame["feedback"],
        }
        overlap = pd.Series(
            statistics.rouge_l_pairs([draft.criteria for draft in self.rubrics])
        )
        return {
            "Size (Table 1)": statistics.collection_table(frame).to_frame(),
            "Distinct n-grams (Table 7)": statistics.diversity_table(parts),
            "ROUGE-L between criteria (Figure 7)": overlap.describe()
            .rename("ROUGE-L F1")
            .to_frame()
            .T,
            "Words by score (Figure 9)": statistics.length_by_score(frame),
            "Balance": statistics.score_balance(frame),
        }

    def notes(self) -> list[str]:
        """How many rubrics and responses there are, and the teacher."""
        counts = f"{len(self.rubrics):,} rubrics, {len(self.kept):,} responses kept"
        removed = f"{len(self.filters.removed):,} pieces removed"
        return [f"{counts}; {removed}.", f"Teacher: `{self.facts.get('teacher', '')}`."]


@dataclass(kw_only=True)
class FeedbackCollection(pipeline.Pipeline):
    """The pipeline of Prometheus' training set, with any engine as the teacher.

    rounds, per_round: so many rubrics are brainstormed, each once paraphrased (the
    paper: ten rounds to 1,000 rubrics).
    instructions: of each rubric (20 in the paper). use_seeds: whether seed rubrics get
    instructions too.
    whole: whether an instruction that lacks a score loses its other responses. alike,
    length: thresholds, see `rules`.
    seed: of the draws. The teacher's sampling must draw, as several instructions come
    from one prompt.
    Source: Prometheus, section 3.1 and appendix I.
    """

    rounds: int = 10
    per_round: int = 50
    instructions: int = 20
    use_seeds: bool = True
    whole: bool = True
    alike: float = 0.95
    length: float = 2.0
    seed: int = 0

    name = "feedback_collection"
    # temperature 1 as for the paper's inference (Table 9); what it generated its data
    # with is not printed
    defaults = MappingProxyType({"temperature": 1.0, "max_tokens": 2048})
    one_draw = "how many instructions a rubric gets is `instructions`"

    def __post_init__(self) -> None:
        for name, least in (("rounds", 0), ("per_round", 0), ("instructions", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(
                    f"{name}={value!r}; a whole number of at least {least} is needed"
                )
        super().__post_init__()
        if self.sampling.temperature == 0 and self.instructions > 1:
            raise ValueError(
                "temperature 0 draws one instruction a rubric; raise it, or set instructions=1"
            )
        rubric_rules(self.alike)
        graded_rules(self.length)

    def stages(
        self, seeds: Sequence[RubricDraft] | None = None, teacher: str = "teacher"
    ) -> Stages[Collection]:
        """What is asked, stage by stage, and the built collection in the end.

        Raises: ValueError for fewer than four seeds where rubrics are to be
        brainstormed.
        """
        seeds = seed_rubrics() if seeds is None else list(seeds)
        filters = Filters()

        # rubrics: brainstormed from four seeds each, then paraphrased (section 3.1,
        # step 2)
        check = rubric_rules(self.alike, seeds)
        rubrics = list(seeds) if self.use_seeds else []
        asked = brainstorms(seeds, self.rounds * self.per_round, self.seed)
        for stage, origin in (
            ("brainstorm", "brainstormed"),
            ("paraphrase", "paraphrased"),
        ):
            answers = yield Stage(stage, asked, self.sampling, _RUBRIC)
            drafts = [RubricDraft(request.id, origin, {}) for request in asked]
            new = filters.apply(check, fill(drafts, answers, read_rubric))
            rubrics += new
            asked = [
                _asked("augment_paraphrase", f"{draft.id}-p", criteria=draft.json())
                for draft in new
            ]

        # instructions with an answer that deserves a 5 (step 3)
        sampling = dataclasses.replace(self.sampling, n=self.instructions)
        asked = [
            _asked("augment_instruction", draft.id, criteria=draft.json())
            for draft in rubrics
        ]
        answers = yield Stage("instruct", asked, sampling, _PROBLEM)
        found = [
            Problem(f"{draft.id}/{place}", draft).filled(completion, read_problem)
            for draft, draws in zip(rubrics, answers, strict=True)
            for place, completion in enumerate(draws)
        ]
        problems = filters.apply(problem_rules(), found)

        # a response and a feedback for each score, as many sentences long as the
        # reference, which stays apart: score 5
        # has an answer of its own (step 4)
        graded = [
            Graded(f"{one.id}/score-{score}", one, score)
            for one in problems
            for score in SCORES
        ]
        asked = [
            _asked(
                "augment_response",
                one.id,
                score=one.score,
                instruction=one.of.instruction,
                criteria=one.of.rubric.json(),
                reference=one.of.reference,
                sentences=max(1, len(_SENTENCE.findall(one.of.reference))),
            )
            for one in graded
        ]
        answers = yield Stage("respond", asked, self.sampling, _GRADED)
        kept = filters.apply(
            graded_rules(self.length), fill(graded, answers, read_graded)
        )
        if self.whole:
            kept = filters.apply(whole_rules(kept), kept)
        counts = {
            "seeds": len(seeds),
            "rubrics": len(rubrics),
            "instructions": len(problems),
            "kept": len(kept),
        }
        return Collection(kept, filters, self.facts(teacher) | counts, rubrics)


def _asked(template: str, id: str, **values: Any) -> Request:
    return Request.chat(prompts.render(f"prometheus/{template}", **values), id=id)


def brainstorms(seeds: Sequence[RubricDraft], wanted: int, seed: int) -> list[Request]:
    """Requests for new rubrics, each with four seeds in an order that no other request
    has while there are others.

    Raises: ValueError for fewer than four seeds where rubrics are wanted.
    Source: Prometheus, section 3.1, step 2 (four random seeds as demonstrations).
    """
    if wanted and len(seeds) < 4:
        raise ValueError(f"{len(seeds)} seed rubrics; the prompt shows four")
    rng = np.random.default_rng(seed)
    used = set()
    requests = []
    for number in range(wanted):
        for _ in range(100):
            picked = tuple(map(int, rng.choice(len(seeds), size=4, replace=False)))
            if picked not in used:
                break
        used.add(picked)
        shown = {
            f"example{place}": seeds[at].json()
            for place, at in enumerate(picked, start=1)
        }
        requests.append(_asked("augment_rubric", f"new-{number}", **shown))
    return requests
