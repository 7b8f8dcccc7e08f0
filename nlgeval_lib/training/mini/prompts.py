"""The judge's evaluators as they are set for records, and what teaches it: their prompts, our answers."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from nlgeval_lib.evaluators.coascore import Chain, CoAScore
from nlgeval_lib.evaluators.geval import GEval
from nlgeval_lib.evaluators.hdeval import CriteriaTree, HDEval, decompose
from nlgeval_lib.evaluators.hdeval.criteria import Criterion as Branch
from nlgeval_lib.evaluators.llmscore import Aspect, LLMScore
from nlgeval_lib.evaluators.prometheus import Prometheus, Rubric
from nlgeval_lib.evaluators.tigerscore import TigerScore
from nlgeval_lib.schema import Judgment, Sample
from nlgeval_lib.training.mini import answers
from nlgeval_lib.training.mini.criteria import ASPECTS, CRITERIA, FINER, HIGH, LOW, OVERALL, RATED, Criterion, relevant
from nlgeval_lib.training.mini.records import INSTRUCTION, Item

MOST_ASPECTS = 10
_SWITCHES = (("reference", "rubric", "feedback"), (True, False))


def settings(evaluator: str) -> dict[str, Any]:
    """The options of an evaluator's class for the miniature judge and its held-out set, by the evaluator's name.

    Raises: ValueError for an evaluator that it was not trained for.
    """
    made = {
        "tigerscore": lambda: {"instruction": INSTRUCTION, "task": "D2T"},
        "prometheus": lambda: {"sampling": {"temperature": 0.0, "top_p": 1.0, "repetition_penalty": 1.0, "n": 1}},
        "hdeval": lambda: {"task": "data_to_text", "criteria": tree()},
        "coascore": lambda: _rating() | {"n": 5},
        "llmscore": _rating,
        "geval": lambda: {"template": "semscore/g_eval_input", "flip": True},
    }
    if evaluator not in made:
        raise ValueError(f"the miniature judge has no settings for {evaluator!r}; it has {', '.join(made)}")
    return made[evaluator]()


def _rating() -> dict[str, Any]:
    targets = {key: criterion.definition for key, criterion in ASPECTS.items()}
    return {"task": "data_to_text", "low": LOW, "high": HIGH, "targets": targets}


def tree(layers: int = 2) -> CriteriaTree:
    """The hierarchy that HD-Eval uses: the aspects, and the finer criteria below each."""

    def branch(key: str, criterion: Criterion, children: tuple[Branch, ...] = ()) -> Branch:
        return Branch(key, criterion.name, criterion.definition, children, "ours")

    below = {key: tuple(branch(k, c) for k, c in FINER.items() if c.parent == key) for key in ASPECTS}
    roots = tuple(branch(key, criterion, below[key]) for key, criterion in ASPECTS.items())
    root = CriteriaTree.of(["x"]).root
    return CriteriaTree(Branch(root.id, root.name, root.definition, roots, "ours"), "the miniature judge").up_to(layers)


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


# -- one form after the other ------------------------------------------------------------------------------------------


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
    return Example("analysis", _tigerscore().render(sample(item)), answers.analysis(item), item)


def graded(
    rng: random.Random, item: Item, switches: tuple[bool, bool, bool] = (True, True, True), key: str = ""
) -> Example:
    """Prometheus' absolute grading; switches: reference, rubric, feedback; key: the rated aspect.

    By default any aspect where there is a rubric, and the whole where there is none to name it.
    """
    _, with_rubric, wordy = switches
    key = key or (rng.choice(RATED) if with_rubric else "overall")
    left_out = [name for name, on in zip(_SWITCHES[0], switches, strict=True) if not on]
    form = "feedback" + "".join(f", no {name}" for name in left_out)
    write = answers.feedback if wordy else answers.verdict
    return Example(form, _prometheus(*switches).render(sample(item, aspect=key)), write(item, CRITERIA[key]), item)


def criterion_score(rng: random.Random, item: Item) -> Example:
    """HD-Eval's score of one criterion of the hierarchy."""
    judge = _hdeval()
    node = rng.choice(list(judge.tree.walk()))
    prompt = judge.task.prompt(node, judge.task.show(sample(item)))
    return Example("criterion", prompt, answers.score(item, CRITERIA[node.id]), item)


def plain_score(rng: random.Random, item: Item) -> Example:
    """LLMScore's score of one aspect."""
    key = rng.choice(RATED)
    return Example("score", _llmscore().render(sample(item, aspect=key)), answers.score(item, CRITERIA[key]), item)


def aspect_scores(rng: random.Random, item: Item, long: bool = False) -> Example:
    """CoAScore, stage II: the scores of some aspects, of many with `long`."""
    chosen = _some_aspects(rng, long)
    prompt = _coascore()._scores_prompt(sample(item), [_aspect(criterion) for criterion in chosen])
    return Example("aspect scores", prompt, answers.aspect_scores(item, chosen), item)


def chained_score(rng: random.Random, item: Item, long: bool = False) -> Example:
    """CoAScore, stage III: the target's score with the chain, whose scores are off by one or more now and then."""
    key = rng.choice(RATED)
    chosen = [criterion for criterion in _some_aspects(rng, long) if criterion is not CRITERIA[key]] or [
        FINER["values"]
    ]
    scores = {c.name: c.score(item.kinds) if rng.random() < 0.9 else rng.randint(LOW, HIGH) for c in chosen}
    with_scores = rng.random() < 0.7
    judge = _coascore(variant="full" if with_scores else "w/o score")
    chain = Chain(tuple(_aspect(criterion) for criterion in chosen), len(chosen))
    judged = {name: Judgment(float(value)) for name, value in scores.items()}
    prompt = judge._target_prompt(sample(item, aspect=key), judge.task.target(key), chain, judged)
    form = "chained score" if with_scores else "chained score, no scores"
    return Example(form, prompt, answers.score(item, CRITERIA[key]), item)


def quality(rng: random.Random, item: Item) -> Example:
    """G-Eval with SemScore's prompt."""
    return Example("quality", _geval().render(sample(item)), answers.quality(item), item)


def aspect_list(rng: random.Random, item: Item | None = None) -> Example:
    """CoAScore, stage I: n aspects for a target."""
    key, n = rng.choice(RATED), rng.randint(1, MOST_ASPECTS)
    judge = _coascore(n)
    return Example("aspect list", judge._list_prompt(judge.task.target(key)), answers.listed(relevant(key)[:n]))


def criteria_list(rng: random.Random, item: Item | None = None) -> Example:
    """HD-Eval, decomposition: the finer criteria of one."""
    judge = _hdeval()
    node = rng.choice(judge.tree.nodes((0, 1)))
    prompt = decompose.prompt(judge.task, node.criterion, rng.randint(4, 5))
    below = [CRITERIA[child.id] for child in node.criterion.children]
    return Example("criteria list", prompt, answers.listed(below))


def _aspect(criterion: Criterion) -> Aspect:
    return Aspect(criterion.name, criterion.definition)


def _some_aspects(rng: random.Random, long: bool) -> list[Criterion]:
    """As stage I lists them for some target, or in any choice and order; mostly few, or with `long` mostly many."""
    n = (max if long else min)(rng.randint(1, MOST_ASPECTS), rng.randint(1, MOST_ASPECTS))
    if rng.random() < 0.5:
        return list(relevant(rng.choice(RATED))[:n])
    return rng.sample([criterion for criterion in CRITERIA.values() if criterion is not OVERALL], n)


def _without(*names: str) -> tuple[bool, bool, bool]:
    reference, with_rubric, feedback = (name not in names for name in _SWITCHES[0])
    return reference, with_rubric, feedback


Make = Callable[[random.Random, Item], Example]
# how often each form is asked; forms without an explanation are cheap, as their answers are one token
FORMS: Mapping[str, tuple[float, Make]] = MappingProxyType(
    {
        "analysis": (0.3, analysis),
        "feedback": (0.12, graded),
        "feedback, no reference": (0.06, functools.partial(graded, switches=_without("reference"))),
        "feedback, no rubric": (0.03, functools.partial(graded, switches=_without("rubric"))),
        "feedback, no feedback": (0.05, functools.partial(graded, switches=_without("feedback"))),
        "feedback, no reference, no rubric": (
            0.02,
            functools.partial(graded, switches=_without("reference", "rubric")),
        ),
        "feedback, no reference, no feedback": (
            0.02,
            functools.partial(graded, switches=_without("reference", "feedback")),
        ),
        "feedback, no rubric, no feedback": (0.02, functools.partial(graded, switches=_without("rubric", "feedback"))),
        "feedback, no reference, no rubric, no feedback": (
            0.02,
            functools.partial(graded, switches=_without("reference", "rubric", "feedback")),
        ),
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
    rng: random.Random, item: Item, only: str | None = None, lists: float = 1.0, long: bool = False
) -> Example:
    """A question about an item, of a form chosen by `FORMS`, or of one.

    Lists are asked for `lists` times as often as their share says; `long` chains have mostly many aspects.
    """
    form = only or rng.choices(list(FORMS), [s * (lists if f in LISTS else 1.0) for f, (s, _) in FORMS.items()])[0]
    make = FORMS[form][1]
    return make(rng, item, long) if long and form in CHAINS else make(rng, item)  # type: ignore[call-arg]
