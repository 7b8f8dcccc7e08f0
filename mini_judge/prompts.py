"""What teaches the judge: the prompts of the evaluators as they are set for it, and our
answers.

Each form of question has a function that makes an `Example` of an `Item`; `FORMS` lists
them with how often each is asked, and `make_example` chooses one. The prompts are those
of the library's evaluators themselves, so that the judge learns just what it will be
asked.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from mini_judge import answers
from mini_judge.criteria import CRITERIA, FINER, Criterion, relevant
from mini_judge.records import Item
from nlgeval_lib.evaluators.coascore import Chain, CoAScore
from nlgeval_lib.evaluators.geval import GEval
from nlgeval_lib.evaluators.hdeval import HDEval
from nlgeval_lib.evaluators.llmscore import Aspect, LLMScore
from nlgeval_lib.evaluators.prometheus import Prometheus, Rubric
from nlgeval_lib.evaluators.tigerscore import TigerScore
from nlgeval_lib.prompts import render
from nlgeval_lib.records import Judgment, Sample
from reproduction.training.mini import HIGH, INSTRUCTION, LOW, RATED, settings

# how many aspects CoAScore's first stage is asked for at most
MOST_ASPECTS = 10
# whether Prometheus has a reference, a rubric and a feedback
Switches = tuple[bool, bool, bool]


def rubric(key: str) -> Rubric:
    """The rubric of a rated aspect; `key`: the aspect's."""
    criterion = CRITERIA[key]
    return Rubric(criterion.definition, criterion.rubric, LOW)


def sample(item: Item, id: str = "", aspect: str = "overall") -> Sample:
    """An item as the evaluators are given it.

    aspect: the key of a rated aspect, whose rubric it has.
    """
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
    """A prompt and the answer to learn.

    form: names the kind of question.
    item: what is asked about; None where it is no item, or where the side heads are to
        learn nothing.
    """

    form: str
    prompt: str
    answer: str
    item: Item | None = None


# -- the evaluators, each made once


@functools.cache
def _tigerscore() -> TigerScore:
    return TigerScore(**settings("tigerscore"))


@functools.cache
def _prometheus(reference: bool, with_rubric: bool, feedback: bool) -> Prometheus:
    return Prometheus(reference=reference, rubric=with_rubric, feedback=feedback)


@functools.cache
def _coascore(n: int = 5, variant: str = "full") -> CoAScore:
    options = {**settings("coascore"), "n": n, "variant": variant}
    return CoAScore(**options)


@functools.cache
def _hdeval() -> HDEval:
    return HDEval(**settings("hdeval"), aggregator="average")


@functools.cache
def _llmscore() -> LLMScore:
    return LLMScore(**settings("llmscore"))


@functools.cache
def _geval() -> GEval:
    return GEval(**settings("geval"))


# -- one form after the other: the evaluator's prompt and the right answer


def analysis(rng: random.Random, item: Item) -> Example:
    """TIGERScore's error analysis: place, kind, explanation and penalty of every
    error.
    """
    prompt = _tigerscore().render(sample(item))
    answer = answers.analysis(item)
    return Example("analysis", prompt, answer, item)


def graded(
    rng: random.Random,
    item: Item,
    switches: Switches = (True, True, True),
    key: str = "",
) -> Example:
    """Prometheus' absolute grading: feedback on an aspect, then its score.

    switches: what is in the prompt and in the answer.
    key: the rated aspect; by default any where there is a rubric, and the overall
        quality where there is none to name an aspect.
    """
    _, with_rubric, with_feedback = switches
    if not key:
        key = rng.choice(RATED) if with_rubric else "overall"
    prompt = _prometheus(*switches).render(sample(item, aspect=key))
    write = answers.feedback if with_feedback else answers.verdict
    answer = write(item, CRITERIA[key])
    return Example(_form_of(switches), prompt, answer, item)


def _form_of(switches: Switches) -> str:
    """What Prometheus' form with these switches is called."""
    for form, (_, switches_of_form) in GRADED.items():
        if switches_of_form == switches:
            return form
    raise KeyError(switches)


def criterion_score(rng: random.Random, item: Item) -> Example:
    """HD-Eval's score of one criterion of the hierarchy, whatever its level."""
    judge = _hdeval()
    node = rng.choice(list(judge.tree.walk()))
    shown_item = judge.task.show(sample(item))
    prompt = judge.task.scoring_prompt(node, shown_item)
    answer = answers.score(item, CRITERIA[node.id])
    return Example("criterion", prompt, answer, item)


def plain_score(rng: random.Random, item: Item) -> Example:
    """LLMScore's score of one aspect."""
    key = rng.choice(RATED)
    prompt = _llmscore().render(sample(item, aspect=key))
    answer = answers.score(item, CRITERIA[key])
    return Example("score", prompt, answer, item)


def aspect_scores(rng: random.Random, item: Item, long: bool = False) -> Example:
    """CoAScore, stage II: the scores of some aspects, mostly few, or with `long` mostly
    many.
    """
    chosen = _some_aspects(rng, long)
    words = _coascore().task.words(sample(item))
    lines = [str(_aspect(criterion)) for criterion in chosen]
    prompt = render("coascore/score_aspects", **words, aspects="\n".join(lines))
    answer = answers.aspect_scores(item, chosen)
    return Example("aspect scores", prompt, answer, item)


def chained_score(rng: random.Random, item: Item, long: bool = False) -> Example:
    """CoAScore, stage III: the target's score with the chain, whose scores are off by
    one or more now and then.
    """
    key = rng.choice(RATED)
    target = CRITERIA[key]
    chosen = _some_aspects(rng, long)
    if target in chosen:
        chosen.remove(target)
    # a chain has at least one aspect beside the target
    chosen = chosen or [FINER["values"]]
    judged = _judged(rng, item, chosen)
    # three in ten chains name their aspects without scores, as CoAScore's variant does
    if rng.random() < 0.7:
        form = "chained score"
        variant = "full"
    else:
        form = "chained score, no scores"
        variant = "w/o score"
    judge = _coascore(variant=variant)
    aspects = tuple(_aspect(criterion) for criterion in chosen)
    prompt = judge._target_prompt(
        sample(item, aspect=key),
        judge.task.target(key),
        Chain(aspects, len(aspects)),
        judged,
    )
    answer = answers.score(item, target)
    return Example(form, prompt, answer, item)


def _judged(
    rng: random.Random, item: Item, criteria: Sequence[Criterion]
) -> dict[str, Judgment]:
    """The scores of a chain, as a judge gives them that is right nine times in ten, by
    the criterion's name.
    """
    judged = {}
    for criterion in criteria:
        if rng.random() < 0.9:
            score = criterion.score(item.kinds)
        else:
            score = rng.randint(LOW, HIGH)
        judged[criterion.name] = Judgment(float(score))
    return judged


def quality(rng: random.Random, item: Item) -> Example:
    """G-Eval with SemScore's prompt."""
    prompt = _geval().render(sample(item))
    answer = answers.quality(item)
    return Example("quality", prompt, answer, item)


def aspect_list(rng: random.Random, item: Item | None = None) -> Example:
    """CoAScore, stage I: n aspects for a target. It is asked of no item; `item` is not
    used.
    """
    key = rng.choice(RATED)
    n = rng.randint(1, MOST_ASPECTS)
    judge = _coascore(n)
    target = judge.task.target(key)
    prompt = judge._list_prompt(target)
    answer = answers.listed(relevant(key)[:n])
    return Example("aspect list", prompt, answer)


def criteria_list(rng: random.Random, item: Item | None = None) -> Example:
    """HD-Eval, decomposition: the finer criteria of one. It is asked of no item; `item`
    is not used.

    How many it asks for differs from time to time; the answer is always all.
    """
    judge = _hdeval()
    node = rng.choice(judge.tree.nodes((0, 1)))
    n = rng.randint(4, 5)
    prompt = judge.task.decomposition_prompt(node.criterion, n)
    below = [CRITERIA[child.id] for child in node.criterion.children]
    answer = answers.listed(below)
    return Example("criteria list", prompt, answer)


def _aspect(criterion: Criterion) -> Aspect:
    """A criterion as CoAScore has its aspects."""
    return Aspect(criterion.name, criterion.definition)


def _some_aspects(rng: random.Random, long: bool) -> list[Criterion]:
    """As stage I lists them for some target, or in any choice and order; mostly few,
    or with `long` mostly many.
    """
    # the smaller of two random numbers is mostly small, the larger mostly large
    sizes = [rng.randint(1, MOST_ASPECTS) for _ in range(2)]
    size = max(sizes) if long else min(sizes)
    if rng.random() < 0.5:
        key = rng.choice(RATED)
        return list(relevant(key)[:size])
    criteria = dict(CRITERIA)
    del criteria["overall"]
    return rng.sample(list(criteria.values()), size)


# makes an example of an item
Make = Callable[[random.Random, Item], Example]
# Prometheus' forms: how often each is asked, and its switches
GRADED: Mapping[str, tuple[float, Switches]] = MappingProxyType(
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


def _makers_of_graded() -> dict[str, tuple[float, Make]]:
    """Prometheus' forms as `FORMS` has them."""
    makers: dict[str, tuple[float, Make]] = {}
    for form, (share, switches) in GRADED.items():
        make = functools.partial(graded, switches=switches)
        makers[form] = (share, make)
    return makers


# how often each form is asked; forms without an explanation are cheap, as their answers
# are one token
FORMS: Mapping[str, tuple[float, Make]] = MappingProxyType(
    {
        "analysis": (0.3, analysis),
        **_makers_of_graded(),
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
    """A question about an item, of a form chosen by `FORMS`, or of the form `only`.

    lists: how many times as often as their share says lists are asked for.
    Raises: KeyError for a form that there is not.
    """
    form = only or _choose_form(rng, lists)
    _, make = FORMS[form]
    if long and form in CHAINS:  # the only forms whose makers know of length
        return make(rng, item, long)  # type: ignore[call-arg]
    return make(rng, item)


def _choose_form(rng: random.Random, lists: float) -> str:
    """A form by its share; lists `lists` times as often."""
    shares = {form: share for form, (share, _) in FORMS.items()}
    for form in LISTS:
        shares[form] *= lists
    [form] = rng.choices(list(shares), list(shares.values()))
    return form
