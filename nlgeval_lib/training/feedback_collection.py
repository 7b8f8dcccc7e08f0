"""The Feedback Collection, Prometheus' training set: rubrics, instructions, and a response for each score.

    built = FeedbackCollection(rounds=10, per_round=50, instructions=20).build(teacher, store)
    built.save("data/raw/feedback_collection")

The paper's 50 seed rubrics are not public: twelve of our own are built in, or `seeds("my_rubrics.jsonl")`.
Source: Prometheus, section 3 and appendices C and I.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.engines import Request
from nlgeval_lib.evaluators.prometheus import Prometheus
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.records import Sample
from nlgeval_lib.training import feedback_pieces as pieces
from nlgeval_lib.training import statistics
from nlgeval_lib.training.feedback_pieces import Graded, Problem, RubricDraft
from nlgeval_lib.training.pipeline import Filters, Pipeline, TrainingSet, fill

VIEWS = ("full", "no_rubric", "no_reference", "no_feedback")  # what an example shows; the ablations of Table 6
# what the teacher may write, for planning
_RUBRIC = json.dumps({"criteria": "Is it clear?"} | {key: f"Level {key[5]}." for key in pieces.KEYS[1:]})
_PROBLEM = "Problem: How does a bell work? [NEXT] Response: A clapper strikes it. [END]"
_GRADED = "Response: A bell is struck. [NEXT] Feedback: It is short. So the overall score is 3. [END]"


@dataclass
class Collection(TrainingSet[Graded]):
    """A built collection, with its rubrics."""

    rubrics: list[RubricDraft] = field(default_factory=list)

    title = "Feedback collection"

    def frame(self) -> pd.DataFrame:
        """A row a response: `criteria, rubric, instruction, reference, response, feedback, score`, and ids."""
        rows = []
        for one in self.kept:
            row = {"id": one.id, "rubric_id": one.of.rubric.id, "criteria": one.of.rubric.criteria}
            row |= {"rubric": one.of.rubric.rubric().text(), "instruction": one.of.instruction}
            row |= {"reference": one.of.reference, "response": one.response, "feedback": one.feedback}
            rows.append({**row, "score": one.score})
        return pd.DataFrame(rows)

    def examples(self, view: str = "full") -> list[dict[str, Any]]:
        """The training examples, `prompt` and `completion` with the frame's columns.

        view: one of `VIEWS`: without the rubric or the reference in the prompt, or without the feedback before the
        score. The prompt is the one that the evaluator `Prometheus` renders with the same switch, unwrapped.
        Raises: ValueError for an unknown view.
        Source: Prometheus, appendix J; Table 6.
        """
        if view not in VIEWS:
            raise ValueError(f"view {view!r}; allowed: {', '.join(VIEWS)}")
        switches = {name: f"no_{name}" != view for name in ("rubric", "reference", "feedback")}
        judge = Prometheus(chat="raw", **switches)  # type: ignore[arg-type]
        made = []
        for one, row in zip(self.kept, self.frame().to_dict("records"), strict=True):
            shown = {"instruction": one.of.instruction, "references": (one.of.reference,), "rubric": row["rubric"]}
            sample = Sample(one.id, one.response, **shown)
            text = str(one.score) if view == "no_feedback" else one.completion
            made.append({**row, "view": view, "prompt": judge.render(sample), "completion": text})
        return made

    def statistics(self) -> dict[str, pd.DataFrame]:
        """The tables and figures of the paper's appendix C for the collection, and its balance.

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
        overlap = pd.Series(statistics.rouge_l_pairs([draft.criteria for draft in self.rubrics]))
        return {
            "Size (Table 1)": statistics.collection_table(frame).to_frame(),
            "Distinct n-grams (Table 7)": statistics.diversity_table(parts),
            "ROUGE-L between criteria (Figure 7)": overlap.describe().rename("ROUGE-L F1").to_frame().T,
            "Words by score (Figure 9)": statistics.length_by_score(frame),
            "Balance": statistics.score_balance(frame),
        }

    def notes(self) -> list[str]:
        """How many rubrics and responses there are, and the teacher."""
        counts = f"{len(self.rubrics):,} rubrics, {len(self.kept):,} responses kept"
        removed = f"{len(self.filters.removed):,} pieces removed"
        return [f"{counts}; {removed}.", f"Teacher: `{self.facts.get('teacher', '')}`."]


@dataclass(kw_only=True)
class FeedbackCollection(Pipeline[Collection]):
    """The pipeline of Prometheus' training set, with any engine as the teacher.

    rounds, per_round: so many rubrics are brainstormed, each once paraphrased (the paper: ten rounds to 1,000 rubrics).
    instructions: of each rubric (20 in the paper). use_seeds: whether seed rubrics get instructions too.
    whole: whether an instruction that lacks a score loses its other responses. alike, length: thresholds, see `rules`.
    seed: of the draws. The teacher's sampling must draw, as several instructions come from one prompt.
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
    # temperature 1 as for the paper's inference (Table 9); what it generated its data with is not printed
    defaults = MappingProxyType({"temperature": 1.0, "max_tokens": 2048})
    one_draw = "how many instructions a rubric gets is `instructions`"

    def __post_init__(self) -> None:
        for name, least in (("rounds", 0), ("per_round", 0), ("instructions", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name}={value!r}; a whole number of at least {least} is needed")
        super().__post_init__()
        if self.sampling.temperature == 0 and self.instructions > 1:
            raise ValueError("temperature 0 draws one instruction a rubric; raise it, or set instructions=1")
        pieces.rubric_rules(self.alike)
        pieces.graded_rules(self.length)

    def stages(self, seeds: Sequence[RubricDraft] | None = None, teacher: str = "teacher") -> Stages[Collection]:
        """What is asked, stage by stage, and the built collection in the end.

        Raises: ValueError for fewer than four seeds where rubrics are to be brainstormed.
        """
        seeds = pieces.seeds() if seeds is None else list(seeds)
        filters: Filters = Filters()

        # rubrics: brainstormed from four seeds each, then paraphrased (section 3.1, step 2)
        check = pieces.rubric_rules(self.alike, seeds)
        rubrics = list(seeds) if self.use_seeds else []
        asked = brainstorms(seeds, self.rounds * self.per_round, self.seed)
        for stage, origin in (("brainstorm", "brainstormed"), ("paraphrase", "paraphrased")):
            answers = yield Stage(stage, asked, self.sampling, _RUBRIC)
            drafts = [RubricDraft(request.id, origin, {}) for request in asked]
            new = filters.apply(check, fill(drafts, answers, pieces.read_rubric))
            rubrics += new
            asked = [_asked("augment_paraphrase", f"{draft.id}-p", criteria=draft.json()) for draft in new]

        # instructions with an answer that deserves a 5 (step 3)
        sampling = dataclasses.replace(self.sampling, n=self.instructions)
        asked = [_asked("augment_instruction", draft.id, criteria=draft.json()) for draft in rubrics]
        answers = yield Stage("instruct", asked, sampling, _PROBLEM)
        found = [
            Problem(f"{draft.id}/{place}", draft).filled(completion, pieces.read_problem)
            for draft, draws in zip(rubrics, answers, strict=True)
            for place, completion in enumerate(draws)
        ]
        problems = filters.apply(pieces.problem_rules(), found)

        # a response and a feedback for each score, as many sentences long as the reference, which stays apart: score 5
        # has an answer of its own (step 4)
        graded = [Graded(f"{one.id}/score-{score}", one, score) for one in problems for score in pieces.SCORES]
        asked = [
            _asked(
                "augment_response",
                one.id,
                score=one.score,
                instruction=one.of.instruction,
                criteria=one.of.rubric.json(),
                reference=one.of.reference,
                sentences=pieces.sentences(one.of.reference),
            )
            for one in graded
        ]
        answers = yield Stage("respond", asked, self.sampling, _GRADED)
        kept = filters.apply(pieces.graded_rules(self.length), fill(graded, answers, pieces.read_graded))
        if self.whole:
            kept = filters.apply(pieces.whole_rules(kept), kept)
        counts = {"seeds": len(seeds), "rubrics": len(rubrics), "instructions": len(problems), "kept": len(kept)}
        return Collection(kept, filters, self.facts(teacher) | counts, rubrics)


def _asked(template: str, id: str, **values: Any) -> Request:
    return Request.chat(prompts.render(f"prometheus/{template}", **values), id=id)


def brainstorms(seeds: Sequence[RubricDraft], wanted: int, seed: int) -> list[Request]:
    """Requests for new rubrics, each with four seeds in an order that no other request has while there are others.

    Raises: ValueError for fewer than four seeds where rubrics are wanted.
    Source: Prometheus, section 3.1, step 2 (four random seeds as demonstrations).
    """
    if wanted and len(seeds) < 4:
        raise ValueError(f"{len(seeds)} seed rubrics; the prompt shows four")
    rng, used, requests = np.random.default_rng(seed), set(), []
    for number in range(wanted):
        for _ in range(100):
            picked = tuple(map(int, rng.choice(len(seeds), size=4, replace=False)))
            if picked not in used:
                break
        used.add(picked)
        shown = {f"example{place}": seeds[at].json() for place, at in enumerate(picked, start=1)}
        requests.append(_asked("augment_rubric", f"new-{number}", **shown))
    return requests
