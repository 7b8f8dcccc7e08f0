"""A feedback collection from seed rubrics and a teacher: rubrics, instructions, graded responses, the report."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.engines import Engine, Request, Sampling
from nlgeval_lib.evaluators import stages as staged
from nlgeval_lib.evaluators.judge import make_sampling
from nlgeval_lib.evaluators.prometheus import Prometheus
from nlgeval_lib.evaluators.stages import Ask, Stage, Stages
from nlgeval_lib.schema import Sample
from nlgeval_lib.store import Store
from nlgeval_lib.training import saved
from nlgeval_lib.training.feedback_collection import balance, pieces, rules
from nlgeval_lib.training.feedback_collection.pieces import SCORES, Graded, Problem, RubricDraft
from nlgeval_lib.training.sieve import Sieve

# temperature 1 as for the paper's inference (Table 9); what it generated its data with is not printed
DEFAULTS = MappingProxyType({"temperature": 1.0, "max_tokens": 2048})
# name -> what the prompt and the completion have; the ablations of Table 6
VIEWS: Mapping[str, Mapping[str, bool]] = MappingProxyType(
    {
        "full": {},
        "no_rubric": {"rubric": False},
        "no_reference": {"reference": False},
        "no_feedback": {"feedback": False},
    }
)
_RUBRIC = (
    '{"criteria": "Is it clear?", "score1_description": "No.", "score2_description": "Hardly.", '
    '"score3_description": "In part.", "score4_description": "Mostly.", "score5_description": "Yes."}'
)
_PROBLEM = "Problem: How does a bell work? [NEXT] Response: A clapper strikes it. [END]"
_GRADED = "Response: A bell is struck. [NEXT] Feedback: It is short. So the overall score is 3. [END]"


@dataclass
class Collection:
    """A built collection: graded responses that stayed, the rubrics, and a `Sieve` with what was removed."""

    kept: list[Graded]
    rubrics: list[RubricDraft]
    sieve: Sieve
    facts: dict[str, Any] = field(default_factory=dict)

    def frame(self) -> pd.DataFrame:
        """A row a response: `criteria, rubric, instruction, reference, response, feedback, score`, and ids."""
        rows = [
            {
                "id": one.id,
                "rubric_id": one.of.rubric.id,
                "criteria": one.of.rubric.criteria,
                "rubric": one.of.rubric.rubric().text(),
                "instruction": one.of.instruction,
                "reference": one.of.reference,
                "response": one.response,
                "feedback": one.feedback,
                "score": one.score,
            }
            for one in self.kept
        ]
        names = ("id", "rubric_id", "criteria", "rubric", "instruction", "reference", "response", "feedback", "score")
        return pd.DataFrame(rows, columns=names)

    def examples(self, view: str = "full") -> list[dict[str, Any]]:
        """The training examples, `prompt` and `completion` with the frame's columns.

        view: one of `VIEWS`: without the rubric or the reference in the prompt, or without the feedback before the
        score. The prompt is the one that the evaluator `Prometheus` renders with the same switch, unwrapped.
        Raises: ValueError for an unknown view.
        Source: Prometheus, appendix J; Table 6.
        """
        if view not in VIEWS:
            raise ValueError(f"view {view!r}; allowed: {', '.join(VIEWS)}")
        judge = Prometheus(chat="raw", **VIEWS[view])
        frame = self.frame()
        made = []
        for one, row in zip(self.kept, frame.to_dict("records"), strict=True):
            sample = Sample(
                one.id, one.response, one.of.instruction, references=(one.of.reference,), rubric=row["rubric"]
            )
            text = str(one.score) if view == "no_feedback" else rules.completion(one)
            made.append({**row, "view": view, "prompt": judge.render(sample), "completion": text})
        return made

    def statistics(self, **options: Any) -> dict[str, pd.DataFrame]:
        """The collection in numbers: its size (Table 1), wording (Table 7, Figure 7), lengths (Figure 9), balance.

        options: as `balance.statistics`: `unseen` criteria (Figure 10), a `polarity` (Figure 8), `most_pairs`.
        """
        return balance.statistics(self.frame(), self.rubrics, **options)

    def report(self) -> dict[str, Any]:
        """Counts, filters, balance and statistics as plain values."""
        return {
            **self.facts,
            "removed": len(self.sieve.removed),
            "filters": self.sieve.table(),
            "filters_by_part": self.sieve.table(by_group=True),
            "statistics": self.statistics(),
        }

    def markdown(self) -> str:
        """The report for reading."""
        notes = [
            f"{len(self.rubrics):,} rubrics, {len(self.kept):,} responses kept; "
            f"{len(self.sieve.removed):,} pieces removed.",
            f"Teacher: `{self.facts.get('teacher', '')}`.",
        ]
        tables = {"Filters, in order": self.sieve.table(), "Removed, by part": self.sieve.by_part()}
        return saved.markdown("Feedback collection", {**tables, **self.statistics()}, notes)

    def save(self, folder: Path | str, view: str = "full") -> Path:
        """Write the set: `train.jsonl`, `removed.jsonl`, `report.json`, `report.md`. Raises: OSError; ValueError."""
        gone = ({"id": r.id, "rule": r.rule, "reason": r.reason, **r.item.known()} for r in self.sieve.removed)
        return saved.save(folder, self.examples(view), gone, self.report(), self.markdown())


class FeedbackCollection:
    """The pipeline of Prometheus' training set, with any engine as the teacher.

    rounds, per_round: so many rubrics are brainstormed, each once paraphrased (the paper: ten rounds to 1,000 rubrics).
    instructions: of each rubric (20 in the paper). use_seeds: whether seed rubrics get instructions too.
    whole: whether an instruction that lacks a score loses its other responses. alike, length: thresholds, see `rules`.
    sampling: of the teacher; it must draw, as several instructions come from one prompt. seed: of the draws.

    Completions go through the store: a run that was stopped goes on, and a repeated one asks nothing.
    Source: Prometheus, section 3.1 and appendix I.
    """

    name = "feedback_collection"

    def __init__(
        self,
        *,
        rounds: int = 10,
        per_round: int = 50,
        instructions: int = 20,
        use_seeds: bool = True,
        whole: bool = True,
        alike: float = 0.95,
        length: float = 2.0,
        sampling: Sampling | Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        numbers = {"rounds": (rounds, 0), "per_round": (per_round, 0), "instructions": (instructions, 1)}
        for name, (value, least) in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name}={value!r}; a whole number of at least {least} is needed")
        self.rounds, self.per_round, self.instructions = rounds, per_round, instructions
        self.use_seeds, self.whole, self.alike, self.length, self.seed = use_seeds, whole, alike, length, seed
        self.sampling = make_sampling(DEFAULTS, sampling)
        if self.sampling.n != 1:
            raise ValueError(f"n={self.sampling.n}: how many instructions a rubric gets is `instructions`")
        if self.sampling.temperature == 0 and instructions > 1:
            raise ValueError("temperature 0 draws one instruction a rubric; raise it, or set instructions=1")
        rules.rubric_rules(alike)
        rules.graded_rules(length)

    def stages(self, seeds: Sequence[RubricDraft] | None = None, teacher: str = "teacher") -> Stages[Collection]:
        """What is asked, stage by stage, and the built collection in the end.

        Raises: ValueError for fewer than four seeds where rubrics are to be brainstormed.
        """
        seeds = pieces.seeds() if seeds is None else list(seeds)
        sieve: Sieve = Sieve(lambda one: one.id, lambda one: one.group)
        found = yield from self._rubrics(seeds, sieve)
        problems = yield from self._problems(found, sieve)
        kept = yield from self._graded(problems, sieve)
        facts = {
            "pipeline": self.name,
            "teacher": teacher,
            "sampling": self.sampling.signature(),
            "settings": {
                name: getattr(self, name)
                for name in (
                    "rounds", "per_round", "instructions", "use_seeds", "whole", "alike", "length", "seed",
                )
            },
            "seeds": len(seeds),
            "rubrics": len(found),
            "instructions": len(problems),
            "kept": len(kept),
        }  # fmt: skip
        return Collection(kept, found, sieve, facts)

    def _rubrics(self, seeds: Sequence[RubricDraft], sieve: Sieve) -> Stages[list[RubricDraft]]:
        """Brainstormed from four seeds each, then paraphrased. Source: Prometheus, section 3.1, step 2."""
        wanted = self.rounds * self.per_round
        if wanted and len(seeds) < 4:
            raise ValueError(f"{len(seeds)} seed rubrics; the prompt shows four")
        requests = brainstorms(seeds, wanted, self.seed)
        answers = yield Stage("brainstorm", requests, self.sampling, _RUBRIC)
        drafts = [
            pieces.read_rubric(RubricDraft(request.id, "brainstormed", {}), draws[0])
            for request, draws in zip(requests, answers, strict=True)
        ]
        check = rules.rubric_rules(self.alike, list(seeds))
        new = sieve.through(check, drafts)
        again = [
            Request.chat(prompts.render("prometheus/augment_paraphrase", criteria=draft.json()), id=f"{draft.id}-p")
            for draft in new
        ]
        answers = yield Stage("paraphrase", again, self.sampling, _RUBRIC)
        drafts = [
            pieces.read_rubric(RubricDraft(request.id, "paraphrased", {}), draws[0])
            for request, draws in zip(again, answers, strict=True)
        ]
        return [*(seeds if self.use_seeds else []), *new, *sieve.through(check, drafts)]

    def _problems(self, rubrics: Sequence[RubricDraft], sieve: Sieve) -> Stages[list[Problem]]:
        """Instructions with an answer that deserves a 5. Source: Prometheus, section 3.1, step 3."""
        sampling = dataclasses.replace(self.sampling, n=self.instructions)
        requests = [
            Request.chat(prompts.render("prometheus/augment_instruction", criteria=draft.json()), id=draft.id)
            for draft in rubrics
        ]
        answers = yield Stage("instruct", requests, sampling, _PROBLEM)
        drafts = [
            pieces.read_problem(Problem(f"{draft.id}/{place}", draft), completion)
            for draft, draws in zip(rubrics, answers, strict=True)
            for place, completion in enumerate(draws)
        ]
        return sieve.through(rules.problem_rules(), drafts)

    def _graded(self, problems: Sequence[Problem], sieve: Sieve) -> Stages[list[Graded]]:
        """A response and a feedback for each score; the reference stays apart, so score 5 has an answer of its own.

        Source: Prometheus, section 3.1, step 4.
        """
        drafts = [Graded(f"{one.id}/score-{score}", one, score) for one in problems for score in SCORES]
        answers = yield Stage("respond", [grading(draft) for draft in drafts], self.sampling, _GRADED)
        read = [pieces.read_graded(draft, draws[0]) for draft, draws in zip(drafts, answers, strict=True)]
        kept = sieve.through(rules.graded_rules(self.length), read)
        return sieve.through(rules.whole_rules(kept), kept) if self.whole else kept

    def run(self, ask: Ask, **given: Any) -> Collection:
        """The built collection; `ask(requests, sampling)` gives the completions of each request."""
        return staged.run(self.stages(**given), ask)

    def build(self, engine: Engine, store: Store | None = None, progress: Any = None, **given: Any) -> Collection:
        """The built collection, from an engine as the teacher; `seeds` as for `stages`. Raises: ValueError."""
        given.setdefault("teacher", engine.model)
        return self.run(staged.bind(engine, store, progress), **given)

    def plan(self, engine: Engine | None = None, store: Store | None = None, **given: Any) -> list[Stage]:
        """The stages that would be asked, none of them asked."""
        return staged.plan(self.stages(**given), engine, store)


def brainstorms(seeds: Sequence[RubricDraft], wanted: int, seed: int) -> list[Request]:
    """Requests for new rubrics, each with four seeds in an order that no other request has while there are others.

    Source: Prometheus, section 3.1, step 2 (four random seeds as demonstrations).
    """
    if not wanted:
        return []
    rng = np.random.default_rng(seed)
    used: set[tuple[int, ...]] = set()
    requests = []
    for number in range(wanted):
        for _ in range(100):
            picked = tuple(map(int, rng.choice(len(seeds), size=4, replace=False)))
            if picked not in used:
                break
        used.add(picked)
        shown = {f"example{place}": seeds[at].json() for place, at in enumerate(picked, start=1)}
        requests.append(Request.chat(prompts.render("prometheus/augment_rubric", **shown), id=f"new-{number}"))
    return requests


def grading(draft: Graded) -> Request:
    """What is asked for a response of one score, as many sentences long as the reference."""
    text = prompts.render(
        "prometheus/augment_response",
        score=draft.score,
        instruction=draft.of.instruction,
        criteria=draft.of.rubric.json(),
        reference=draft.of.reference,
        sentences=pieces.sentences(draft.of.reference),
    )
    return Request.chat(text, id=draft.id)
