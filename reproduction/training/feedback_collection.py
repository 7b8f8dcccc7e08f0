"""The Feedback Collection, Prometheus' training set: rubrics, instructions, and a
response for each score.

    built = FeedbackCollection(per_round=50, instructions=20).build(teacher, store)
    built.save("data/raw/feedback_collection")

`FeedbackCollection` asks the teacher in four stages: rubrics are brainstormed and
paraphrased (`RubricDraft`), each gets instructions with a reference answer (`Problem`),
and each of these a response and feedback for every score (`Graded`). After a stage
come its rules, and what passes them all is a `Collection`.

The paper's 50 seed rubrics are not public: twelve of our own are built in. It asks for
good pieces in its prompts (appendix I) and removes nothing by rule: every rule here is
ours.
Source: Prometheus, section 3 and appendices C and I.
"""

from __future__ import annotations

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
from nlgeval_lib.parsers.feedbacks import feedback as read_feedback
from nlgeval_lib.parsers.normalise import Record, objects
from nlgeval_lib.records import Completion, Sample
from reproduction.training import pipeline, statistics
from reproduction.training.pipeline import (
    Filters,
    Piece,
    Rule,
    Unreadable,
    answered,
    fill,
    missing_fields,
    unique,
)
from reproduction.training.statistics import rouge_l, words

SCORES = (1, 2, 3, 4, 5)
# What a rubric's JSON has: a criterion and a description of each score.
KEYS = ("criteria", *(f"score{score}_description" for score in SCORES))
# What an example shows; the last three are ablations of Table 6.
VIEWS = ("full", "no_rubric", "no_reference", "no_feedback")
SEEDS = Path(__file__).with_name("feedback_seeds.json")
MOST_WORDS = 1500  # of an instruction or a reference
ALIKE = 0.95  # ROUGE-L F1 of two criteria above which the later one is a repetition
# a response is at most so many times longer or shorter than its reference
LENGTH = 2.0
# What the teacher may write, for planning the stages after.
_RUBRIC = json.dumps(
    {"criteria": "Is it clear?"} | {key: f"Level {key[5]}." for key in KEYS[1:]}
)
_PROBLEM = "Problem: How does a bell work? [NEXT] Response: A clapper strikes it. [END]"
_GRADED = (
    "Response: A bell is struck. [NEXT] Feedback: It is short. "
    "So the overall score is 3. [END]"
)
# The marks that the prompts ask the teacher to write.
_END = re.compile(r"\[END\]", re.I)
_NEXT = re.compile(r"\[NEXT\]", re.I)
# The beginning of a part: its label, with or without Markdown around it.
_HEAD = r"\A[\s*#\"]*{}\s*:?[*]*\s*"
# Words by which a response speaks of its score or its rubric.
_NAMED = re.compile(
    r"\bscores?\s+(?:of\s+)?[1-5]\b|\brubrics?\b|\boverall score\b", re.I
)
# How the prompt asks the feedback to end.
_OVERALL = re.compile(r"\boverall score is\s*:?\s*\(?(\d+(?:\.\d+)?)", re.I)
# A stretch with a word up to `.`, `!`, `?`, `…` or the line's end.
_SENTENCE = re.compile(
    r"""
    \w[^\n]*?
    (?:
        [.!?…]+ ["'”’)\]]* (?=\s|$)  # with closing quotation marks and brackets
        | $
    )
    """,
    re.M | re.X,
)

# -- pieces


@dataclass(frozen=True, slots=True)
class RubricDraft(Piece):
    """A rubric in the making: a seed, brainstormed, or paraphrased; texts by `KEYS`."""

    id: str
    origin: str
    texts: Mapping[str, str]

    @property
    def group(self) -> str:
        """The part of the data that it is counted under."""
        return f"rubric {self.origin}"

    @property
    def criteria(self) -> str:
        """The criterion; "" where the teacher wrote none."""
        return self.texts.get("criteria", "")

    def rubric(self) -> Rubric:
        """The finished rubric. Raises: KeyError where a level is missing."""
        return Rubric(self.criteria, tuple(self.texts[key] for key in KEYS[1:]))

    def json(self) -> str:
        """The rubric as the prompts show it."""
        return json.dumps(dict(self.texts), ensure_ascii=False, indent=1)

    def content(self) -> dict[str, Any]:
        """The rubric as `removed.jsonl` has it."""
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
        """The instruction as `removed.jsonl` has it."""
        return {
            "kind": "instruction",
            "criteria": self.rubric.criteria,
            "instruction": self.instruction,
            "reference": self.reference,
        }


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
        """The part of the data that it is counted under."""
        return f"response {self.score}"

    @property
    def completion(self) -> str:
        """What the fine-tuned model is to write: feedback, `[RESULT]`, score.

        Source: Prometheus, section 3.2.
        """
        return f"{self.feedback.strip()} [RESULT] {self.score}"

    def content(self) -> dict[str, Any]:
        """The response as `removed.jsonl` has it."""
        return {
            "kind": "response",
            "criteria": self.of.rubric.criteria,
            "instruction": self.of.instruction,
            "score": self.score,
            "response": self.response,
            "feedback": self.feedback,
        }


def seed_rubrics(
    records: Sequence[Mapping[str, Any]] | None = None,
) -> list[RubricDraft]:
    """The rubrics that the teacher is shown first.

    records: mappings with the keys `KEYS`; None: twelve of our own.
    Raises: ValueError naming the rubric that is none.
    """
    if records is None:
        records = json.loads(SEEDS.read_text("utf-8"))["rubrics"]
    drafts = []
    for place, record in enumerate(records):
        draft = RubricDraft(f"seed-{place}", "seed", record)
        if wrong := _levels(draft) or missing_fields(record, *KEYS, form="{} empty"):
            raise ValueError(
                f"seed rubric {place}: {wrong}; each needs text in {', '.join(KEYS)}"
            )
        drafts.append(replace(draft, texts={key: record[key] for key in KEYS}))
    return drafts


# -- what the teacher wrote


def read_rubric(_: RubricDraft, completion: Completion) -> dict[str, Any]:
    """The texts of the teacher's JSON, without the prefix `orig_` that it may repeat.

    Raises: Unreadable for no JSON object or several, one that is cut off, and a key
    with two texts.
    """
    answer = _END.split(completion.text)[0]
    records = [item for item, _, _ in objects(answer) if isinstance(item, Record)]
    if not records:
        raise Unreadable("no JSON object")
    if len(records) > 1:
        raise Unreadable(f"{len(records)} JSON objects")
    [record] = records
    if record.cut:
        raise Unreadable("the JSON is cut off")
    if record.clashes:
        raise Unreadable(f"{', '.join(sorted(record.clashes))} twice")
    texts = {}
    for key, text in record.items():
        name = str(key).strip().removeprefix("orig_")
        texts[name] = " ".join(text.split()) if isinstance(text, str) else ""
    return {"texts": texts}


def read_problem(_: Problem, completion: Completion) -> dict[str, Any]:
    """The instruction and its answer. Raises: Unreadable, as `_two_parts`."""
    return _two_parts(completion, instruction="problem", reference="response")


def read_graded(_: Graded, completion: Completion) -> dict[str, Any]:
    """The response and its feedback. Raises: Unreadable, as `_two_parts`."""
    return _two_parts(completion, response="response", feedback="feedback")


def _two_parts(completion: Completion, **labels: str) -> dict[str, str]:
    """The parts of `First: ... [NEXT] Second: ... [END]`, by field."""
    body, *after_end = _END.split(completion.text, maxsplit=1)
    if completion.finish_reason == "length" and not after_end:
        raise Unreadable("no [END]")
    parts = _NEXT.split(body)
    if len(parts) == 1:
        raise Unreadable("no [NEXT]")
    if len(parts) > 2:
        raise Unreadable(f"[NEXT] {len(parts) - 1} times")
    fields = {}
    for (name, label), part in zip(labels.items(), parts, strict=True):
        head = re.compile(_HEAD.format(label), re.I)
        fields[name] = head.sub("", part, count=1).strip()
    return fields


# -- rules


def _needed(*names: str) -> list[Rule]:
    """The first rules of a piece: it was read, and has its texts."""

    def empty(item: Any) -> str:
        return missing_fields(item, *names, form="{} empty")

    return [
        *answered(),
        Rule("empty_field", "a text that is needed is empty", empty, "ours"),
    ]


def rubric_rules(seeds: Sequence[RubricDraft] = ()) -> list[Rule]:
    """Rules for rubrics: read, with five levels that say something, and not there
    already.
    """
    earlier = [draft.criteria for draft in seeds]

    def same_levels(draft: RubricDraft) -> str:
        score_of: dict[tuple[str, ...], int] = {}
        for score, key in zip(SCORES, KEYS[1:], strict=True):
            first = score_of.setdefault(tuple(words(draft.texts[key])), score)
            if first != score:
                return f"scores {first} and {score} are described alike"
        return ""

    def near(draft: RubricDraft) -> str:
        criterion = draft.criteria
        for text in earlier:
            same = words(text) == words(criterion)
            if same or rouge_l()(text, criterion) > ALIKE:
                return f"like {text[:60]!r}"
        earlier.append(criterion)
        return ""

    *read, empty = _needed(*KEYS)
    no_levels = "a rubric without a criterion and five levels"
    same_description = "two levels of a rubric have the same description"
    repetition = "a criterion in nearly the words of an earlier one"
    return [
        *read,
        Rule("levels", no_levels, _levels, "ours"),
        empty._replace(why=lambda draft: empty.why(draft.texts)),
        Rule("same_levels", same_description, same_levels, "ours"),
        Rule("alike", repetition, near, "ours"),
    ]


def problem_rules() -> list[Rule]:
    """Rules for instructions with their reference answers: not empty, not longer than
    `MOST_WORDS`, not there already.
    """

    def long(problem: Problem) -> str:
        most = max(len(words(problem.instruction)), len(words(problem.reference)))
        return f"{most:,} words, above {MOST_WORDS:,}" if most > MOST_WORDS else ""

    return [
        *_needed("instruction", "reference"),
        Rule("over_long", "a text is longer than the limit", long, "ours"),
        unique(
            lambda problem: tuple(words(problem.instruction)),
            "an instruction or a response that is there already",
        ),
    ]


def graded_rules() -> list[Rule]:
    """Rules for responses with their feedback."""

    def uneven(graded: Graded) -> str:
        response = len(words(graded.response))
        reference = len(words(graded.of.reference))
        if response and reference and 1 / LENGTH <= response / reference <= LENGTH:
            return ""
        return f"{response} words, the reference has {reference}"

    other_score = "the feedback does not end in the score that was asked for"
    unreadable = "the completion would not be read back with its score"
    names_score = "the response speaks of its score or of the rubric"
    too_long = "the response is not about as long as the reference"
    return [
        *_needed("response", "feedback"),
        Rule("score", other_score, _other_score, "ours"),
        Rule("unreadable", unreadable, _unreadable, "ours"),
        Rule("names_score", names_score, _names_score, "ours"),
        Rule("length", too_long, uneven, "ours"),
        Rule("reference", "the response is the reference", _copied, "ours"),
        unique(
            lambda graded: (graded.of.id, *words(graded.response)),
            "an instruction or a response that is there already",
        ),
    ]


def _other_score(graded: Graded) -> str:
    """Whether the feedback ends in another score than was asked for, or in none."""
    scores = [float(score) for score in _OVERALL.findall(graded.feedback)]
    if not scores:
        return "no 'So the overall score is'"
    wrong = [f"{score:g}" for score in scores if score != graded.score]
    return f"it says {', '.join(wrong)}, asked was {graded.score}" if wrong else ""


def _unreadable(graded: Graded) -> str:
    """Whether an evaluator would read another score, or none, from the completion."""
    if re.search(r"\[RESULT\]", graded.feedback, re.I):
        return "[RESULT] inside the feedback"
    read = read_feedback(graded.completion, 1, 5, "strict")
    if read.ok and read.value == graded.score:
        return ""
    return read.reason or f"read back as {read.value:g}"


def _names_score(graded: Graded) -> str:
    """Whether the response speaks of its score or of a rubric, which its task
    does not.
    """
    name = _NAMED.search(graded.response)
    # The response to a task about scores or rubrics may speak of them.
    allowed = _NAMED.search(graded.of.instruction)
    return f"{name.group()!r}" if name and not allowed else ""


def _copied(graded: Graded) -> str:
    """Whether the response has the very words of the reference."""
    same = words(graded.response) == words(graded.of.reference)
    return "the reference's words" if same else ""


def whole_rules(graded: Sequence[Graded]) -> list[Rule]:
    """Instructions whose five scores are not all there lose the others too, so that
    scores stay equally frequent.

    Source: Prometheus, section 3 (uniform score distribution).
    """
    scored = {(response.of.id, response.score) for response in graded}

    def incomplete(response: Graded) -> str:
        problem = response.of.id
        missing = [str(score) for score in SCORES if (problem, score) not in scored]
        if not missing:
            return ""
        return f"its instruction has no response of score {', '.join(missing)}"

    says = "another score of its instruction was removed"
    return [Rule("incomplete", says, incomplete, "ours")]


def _levels(draft: RubricDraft) -> str:
    """What keeps a rubric from being a criterion with five levels; "" for nothing."""
    if "criteria" not in draft.texts:
        return "no criteria"
    missing = []
    for score in SCORES:
        if f"score{score}_description" not in draft.texts:
            missing.append(str(score))
    if missing:
        return f"no description of score {', '.join(missing)}"
    level = re.compile(r"score\s*_?\d+.*")
    levels = [key for key in draft.texts if level.fullmatch(str(key))]
    if len(levels) != len(SCORES):
        return f"{len(levels)} levels instead of five"
    return ""


# -- the set and its pipeline


@dataclass
class Collection(pipeline.TrainingSet):
    """A built collection, with its rubrics.

    rubrics: those that got instructions, seeds first where these are used.
    """

    rubrics: list[RubricDraft] = field(default_factory=list)

    title = "Feedback collection"

    def frame(self) -> pd.DataFrame:
        """A row a response; `rubric` is the whole rubric as prompts show it, `criteria`
        its criterion alone.
        """
        rows = []
        for graded in self.kept:
            rubric = graded.of.rubric
            row = {
                "id": graded.id,
                "rubric_id": rubric.id,
                "criteria": rubric.criteria,
                "rubric": rubric.rubric().text(),
                "instruction": graded.of.instruction,
                "reference": graded.of.reference,
                "response": graded.response,
                "feedback": graded.feedback,
                "score": graded.score,
            }
            rows.append(row)
        return pd.DataFrame(rows)

    def examples(self, view: str = "full") -> list[dict[str, Any]]:
        """The training examples, `prompt` (as the evaluator `Prometheus` renders it)
        and `completion` with the frame's columns.

        view: one of `VIEWS`: without the rubric or the reference in the prompt, or
        without the feedback before the score.
        Source: Prometheus, appendix J; Table 6.
        """
        if view not in VIEWS:
            raise ValueError(f"view {view!r}; allowed: {', '.join(VIEWS)}")
        judge = Prometheus(
            chat="raw",
            rubric=view != "no_rubric",
            reference=view != "no_reference",
            feedback=view != "no_feedback",
        )
        examples = self.frame().to_dict("records")
        for graded, example in zip(self.kept, examples, strict=True):
            sample = Sample(
                graded.id,
                graded.response,
                instruction=graded.of.instruction,
                references=(graded.of.reference,),
                rubric=example["rubric"],
            )
            example["view"] = view
            example["prompt"] = judge.render(sample)
            example["completion"] = graded.completion
            if view == "no_feedback":
                example["completion"] = str(graded.score)
        return examples

    def statistics(self) -> dict[str, pd.DataFrame]:
        """The tables and figures of the paper's appendix C for the collection, and its
        balance, {title: table}; figures come as their mean and quantiles.

        Source: Prometheus, Table 1; Table 7; Figure 7; Figure 9.
        """
        frame = self.frame()
        if frame.empty:
            return {}
        problems = frame.drop_duplicates(["criteria", "instruction"])
        texts = {
            "Instruction": problems["instruction"],
            "Reference": problems["reference"],
            "Score Rubric": frame["rubric"].drop_duplicates(),
            "Responses": frame["response"],
            "Feedback": frame["feedback"],
        }
        criteria = [draft.criteria for draft in self.rubrics]
        overlap = pd.Series(statistics.rouge_l_pairs(criteria), name="ROUGE-L F1")
        return {
            "Size (Table 1)": statistics.collection_table(frame).to_frame(),
            "Distinct n-grams (Table 7)": statistics.diversity_table(texts),
            "ROUGE-L between criteria (Figure 7)": overlap.describe().to_frame().T,
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

    The teacher's sampling must draw, as several instructions come from one prompt.

    rounds, per_round: so many rubrics are brainstormed, each once paraphrased (the
    paper: ten rounds to 1,000 rubrics).
    instructions: of each rubric (20 in the paper).
    use_seeds: whether seed rubrics get instructions too.
    seed: of the draws of demonstrations.

    Raises: ValueError for a number out of its range, and for temperature 0 with several
    instructions a rubric.
    Source: Prometheus, section 3.1 and appendix I.
    """

    rounds: int = 10
    per_round: int = 50
    instructions: int = 20
    use_seeds: bool = True
    seed: int = 0

    name = "feedback_collection"
    # Temperature 1 as for the paper's inference (Table 9); what it generated its data
    # with is not printed.
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
                "temperature 0 draws one instruction a rubric; "
                "raise it, or set instructions=1"
            )

    def stages(
        self, seeds: Sequence[RubricDraft] | None = None, teacher: str = "teacher"
    ) -> Stages[Collection]:
        """What is asked, stage by stage, and the built collection in the end.

        seeds: rubrics to begin with; None: twelve of our own.
        Raises: ValueError for fewer than four seeds where rubrics are to be
        brainstormed.
        """
        seeds = seed_rubrics() if seeds is None else list(seeds)
        filters = Filters()
        rubrics = list(seeds) if self.use_seeds else []
        rubrics += yield from self._rubrics(seeds, filters)
        drafts = yield from self._problems(rubrics)
        problems = filters.apply(problem_rules(), drafts)
        graded = yield from self._graded(problems)
        graded = filters.apply(graded_rules(), graded)
        # Last, as it looks at which responses passed all other rules.
        graded = filters.apply(whole_rules(graded), graded)
        facts = {
            **self.facts(teacher),
            "seeds": len(seeds),
            "rubrics": len(rubrics),
            "instructions": len(problems),
            "kept": len(graded),
        }
        return Collection(graded, filters, facts, rubrics)

    def _rubrics(
        self, seeds: Sequence[RubricDraft], filters: Filters
    ) -> Stages[list[RubricDraft]]:
        """New rubrics, brainstormed from four seeds each, then paraphrased (section
        3.1, step 2).
        """
        rules = rubric_rules(seeds)
        requests = brainstorms(seeds, self.rounds * self.per_round, self.seed)
        answers = yield Stage("brainstorm", requests, self.sampling, _RUBRIC)
        drafts = [RubricDraft(request.id, "brainstormed", {}) for request in requests]
        new_rubrics = filters.apply(rules, fill(drafts, answers, read_rubric))
        requests = [
            _request("augment_paraphrase", f"{draft.id}-p", criteria=draft.json())
            for draft in new_rubrics
        ]
        answers = yield Stage("paraphrase", requests, self.sampling, _RUBRIC)
        drafts = [RubricDraft(request.id, "paraphrased", {}) for request in requests]
        paraphrases = filters.apply(rules, fill(drafts, answers, read_rubric))
        return new_rubrics + paraphrases

    def _problems(self, rubrics: Sequence[RubricDraft]) -> Stages[list[Problem]]:
        """Instructions of each rubric with an answer that deserves a 5 (step 3)."""
        sampling = replace(self.sampling, n=self.instructions)
        requests = [
            _request("augment_instruction", draft.id, criteria=draft.json())
            for draft in rubrics
        ]
        answers = yield Stage("instruct", requests, sampling, _PROBLEM)
        problems = []
        for draft, draws in zip(rubrics, answers, strict=True):
            for place, completion in enumerate(draws):
                problem = Problem(f"{draft.id}/{place}", draft)
                problems.append(problem.filled(completion, read_problem))
        return problems

    def _graded(self, problems: Sequence[Problem]) -> Stages[list[Graded]]:
        """A response and a feedback for each score (step 4)."""
        graded = []
        requests = []
        for problem in problems:
            sentences = max(1, len(_SENTENCE.findall(problem.reference)))
            for score in SCORES:
                response = Graded(f"{problem.id}/score-{score}", problem, score)
                graded.append(response)
                request = _request(
                    "augment_response",
                    response.id,
                    score=score,
                    instruction=problem.instruction,
                    criteria=problem.rubric.json(),
                    reference=problem.reference,
                    sentences=sentences,
                )
                requests.append(request)
        answers = yield Stage("respond", requests, self.sampling, _GRADED)
        return fill(graded, answers, read_graded)


def _request(template: str, id: str, **values: Any) -> Request:
    """A prompt of Prometheus' appendix I as a user's message."""
    return Request.chat(prompts.render(f"prometheus/{template}", **values), id=id)


def brainstorms(seeds: Sequence[RubricDraft], wanted: int, seed: int) -> list[Request]:
    """Requests for new rubrics, each with four seeds in an order that no other request
    has while there are others.

    Source: Prometheus, section 3.1, step 2 (four random seeds as demonstrations).
    """
    if wanted and len(seeds) < 4:
        raise ValueError(f"{len(seeds)} seed rubrics; the prompt shows four")
    rng = np.random.default_rng(seed)
    drawn = set()
    requests = []
    for number in range(wanted):
        # With few seeds most orders may be taken; after 100 draws one is used again.
        for _ in range(100):
            order = tuple(rng.choice(len(seeds), size=4, replace=False).tolist())
            if order not in drawn:
                break
        drawn.add(order)
        demonstrations = {
            f"example{position}": seeds[place].json()
            for position, place in enumerate(order, start=1)
        }
        requests.append(_request("augment_rubric", f"new-{number}", **demonstrations))
    return requests
