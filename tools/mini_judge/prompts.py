"""What teaches the judge: the prompts of the evaluators as they are set for it, and
our answers.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from nlgeval_lib.evaluators.coascore import Chain, CoAScore
from nlgeval_lib.evaluators.geval import GEval
from nlgeval_lib.evaluators.hdeval import HDEval
from nlgeval_lib.evaluators.llmscore import Aspect, LLMScore
from nlgeval_lib.evaluators.prometheus import Prometheus, Rubric
from nlgeval_lib.evaluators.tigerscore import TigerScore
from nlgeval_lib.prompts import render
from nlgeval_lib.records import Judgment, Sample
from nlgeval_lib.training.mini import HIGH, INSTRUCTION, LOW, RATED, settings
from tools.mini_judge import answers
from tools.mini_judge.criteria import CRITERIA, FINER, Criterion, relevant
from tools.mini_judge.records import Item

MOST_ASPECTS = 10


def rubric(key: str) -> Rubric:
    """The rubric of a rated aspect."""
    criterion = CRITERIA[key]
    return Rubric(criterion.definition, criterion.rubric, LOW)


def sample(item: Item, id: str = "", aspect: str = "overall") -> Sample:
    """An item as the evaluators are given it."""
    return Sample(
        id=id,
        output=item.output,
        instruction=INSTRUCTION,
        source=item.source,
        references=(item.reference,),
        rubric=rubric(aspect).text(),
        aspect=aspect,
    )


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt and the answer to learn; `form` names the kind of question."""

    form: str
    prompt: str
    answer: str
    item: Item | None = None


# -- one form after the other


@functools.cache
def _tigerscore() -> TigerScore:
    return TigerScore(**settings("tigerscore"))


@functools.cache
def _prometheus(reference: bool, with_rubric: bool, feedback: bool) -> Prometheus:
    return Prometheus(reference=reference, rubric=with_rubric, feedback=feedback)


@functools.cache
def _coascore(n: int = 5, variant: str = "full") -> CoAScore:
    return CoAScore(**{**settings("coascore"), "n": n, "variant": variant})


@functools.cache
def _hdeval() -> HDEval:
    return HDEval(**settings("hdeval"), aggregator="average")


@functools.cache
def _llmscore() -> LLMScore:
    return LLMScore(**settings("llmscore"))


@functools.cache
def _geval() -> GEval:
    return GEval(**settings("geval"))


def analysis(rng: random.Random, item: Item) -> Example:
    """TIGERScore's error analysis."""
    return Example(
        "analysis", _tigerscore().render(sample(item)), answers.analysis(item), item
    )


def graded(
    rng: random.Random,
    item: Item,
    switches: tuple[bool, bool, bool] = (True, True, True),
    key: str = "",
) -> Example:
    """Prometheus' absolute grading; switches: reference, rubric, feedback; key: the
    rated aspect.

    By default any aspect where there is a rubric, and the whole where there is none to
    name it.
    """
    _, with_rubric, wordy = switches
    if not key:
        key = rng.choice(RATED) if with_rubric else "overall"
    form = next(form for form, (_, own) in GRADED.items() if own == switches)
    prompt = _prometheus(*switches).render(sample(item, aspect=key))
    write = answers.feedback if wordy else answers.verdict
    return Example(form, prompt, write(item, CRITERIA[key]), item)


def criterion_score(rng: random.Random, item: Item) -> Example:
    """HD-Eval's score of one criterion of the hierarchy."""
    judge = _hdeval()
    node = rng.choice(list(judge.tree.walk()))
    prompt = judge.task.scoring_prompt(node, judge.task.show(sample(item)))
    return Example("criterion", prompt, answers.score(item, CRITERIA[node.id]), item)


def plain_score(rng: random.Random, item: Item) -> Example:
    """LLMScore's score of one aspect."""
    key = rng.choice(RATED)
    prompt = _llmscore().render(sample(item, aspect=key))
    return Example("score", prompt, answers.score(item, CRITERIA[key]), item)


def aspect_scores(rng: random.Random, item: Item, long: bool = False) -> Example:
    """CoAScore, stage II: the scores of some aspects, of many with `long`."""
    chosen = _some_aspects(rng, long)
    words = _coascore().task.words(sample(item))
    lines = "\n".join(str(_aspect(criterion)) for criterion in chosen)
    prompt = render("coascore/score_aspects", **words, aspects=lines)
    return Example("aspect scores", prompt, answers.aspect_scores(item, chosen), item)


def chained_score(rng: random.Random, item: Item, long: bool = False) -> Example:
    """CoAScore, stage III: the target's score with the chain, whose scores are off
    by one or more now and then.
    """
    key = rng.choice(RATED)
    target = CRITERIA[key]
    chosen = _some_aspects(rng, long)
    chosen = [criterion for criterion in chosen if criterion is not target]
    chosen = chosen or [FINER["values"]]
    judged = {}
    for criterion in chosen:
        if rng.random() < 0.9:
            score = criterion.score(item.kinds)
        else:
            score = rng.randint(LOW, HIGH)
        judged[criterion.name] = Judgment(float(score))
    form = "chained score, no scores"
    variant = "w/o score"
    if rng.random() < 0.7:
        form = "chained score"
        variant = "full"
    judge = _coascore(variant=variant)
    chain = Chain(tuple(_aspect(criterion) for criterion in chosen), len(chosen))
    prompt = judge._target_prompt(
        sample(item, aspect=key), judge.task.target(key), chain, judged
    )
    return Example(form, prompt, answers.score(item, target), item)


def quality(rng: random.Random, item: Item) -> Example:
    """G-Eval with SemScore's prompt."""
    return Example(
        "quality", _geval().render(sample(item)), answers.quality(item), item
    )


def aspect_list(rng: random.Random, item: Item | None = None) -> Example:
    """CoAScore, stage I: n aspects for a target."""
    key = rng.choice(RATED)
    n = rng.randint(1, MOST_ASPECTS)
    judge = _coascore(n)
    return Example(
        "aspect list",
        judge._list_prompt(judge.task.target(key)),
        answers.listed(relevant(key)[:n]),
    )


def criteria_list(rng: random.Random, item: Item | None = None) -> Example:
    """HD-Eval, decomposition: the finer criteria of one."""
    judge = _hdeval()
    node = rng.choice(judge.tree.nodes((0, 1)))
    prompt = judge.task.decomposition_prompt(node.criterion, rng.randint(4, 5))
    below = [CRITERIA[child.id] for child in node.criterion.children]
    return Example("criteria list", prompt, answers.listed(below))


def _aspect(criterion: Criterion) -> Aspect:
    return Aspect(criterion.name, criterion.definition)


def _some_aspects(rng: random.Random, long: bool) -> list[Criterion]:
    """As stage I lists them for some target, or in any choice and order; mostly few,
    or with `long` mostly many.
    """
    sizes = [rng.randint(1, MOST_ASPECTS), rng.randint(1, MOST_ASPECTS)]
    size = max(sizes) if long else min(sizes)
    if rng.random() < 0.5:
        return list(relevant(rng.choice(RATED))[:size])
    criteria = [CRITERIA[key] for key in CRITERIA if key != "overall"]
    return rng.sample(criteria, size)


Make = Callable[[random.Random, Item], Example]
# Prometheus' forms: how often each is asked, and whether it has a reference, a rubric
# and a feedback
GRADED: Mapping[str, tuple[float, tuple[bool, bool, bool]]] = MappingProxyType(
    {
        "feedback": (0.12, (True, True, True)),
        "feedback, no reference": (0.06, (False, True, True)),
        "feedback, no rubric": (0.03, (True, False, True)),
        "feedback, no feedback": (0.05, (True, True, False)),
        "feedback, no reference, no rubric": (0.02, (False, False, True)),
        "feedback, no reference, no feedback": (0.02, (False, True, False)),
        "feedback, no rubric, no feedback": (0.02, (True, False, False)),
        "feedback, no reference, no rubric, no feedback": (0.02, (False, False, False)),
    }
)
# how often each form is asked; forms without an explanation are cheap, as their answers
# are one token
FORMS: Mapping[str, tuple[float, Make]] = MappingProxyType(
    {
        "analysis": (0.3, analysis),
        **{
            form: (share, functools.partial(graded, switches=switches))
            for form, (share, switches) in GRADED.items()
        },
        "criterion": (0.12, criterion_score),
        "score": (0.06, plain_score),
        "aspect scores": (0.09, aspect_scores),
        "chained score": (0.05, chained_score),
        "quality": (0.03, quality),
        "aspect list": (0.006, aspect_list),
        "criteria list": (0.004, criteria_list),
    }
)
LISTS = ("aspect list", "criteria list")
CHAINS = ("aspect scores", "chained score")


def make_example(
    rng: random.Random,
    item: Item,
    only: str | None = None,
    lists: float = 1.0,
    long: bool = False,
) -> Example:
    """A question about an item, of a form chosen by `FORMS`, or of one.

    Lists are asked for `lists` times as often as their share says; `long` chains have
    mostly many aspects.
    """
    form = only
    if not form:
        shares = {form: share for form, (share, _) in FORMS.items()}
        for name in LISTS:
            shares[name] *= lists
        form = rng.choices(list(shares), list(shares.values()))[0]
    make = FORMS[form][1]
    if long and form in CHAINS:
        return make(rng, item, long)  # type: ignore[call-arg]
    return make(rng, item)
