"""CoAScore: relevant aspects are listed (figure 1, stage I), scored (II), and the
target aspect is scored with that chain shown (III); or fewer stages for the ablations.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import json
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlgeval_lib import prompts
from nlgeval_lib.engines import Sampling
from nlgeval_lib.evaluators import schemas
from nlgeval_lib.evaluators.base import choose, named_texts
from nlgeval_lib.evaluators.judge import answered, combine, cut, failed, most_frequent
from nlgeval_lib.evaluators.llmscore import Aspect, LLMScore
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.names import NUMBER_WORDS
from nlgeval_lib.parsers.lists import aspect_scores, aspects, normal
from nlgeval_lib.parsers.ratings import rating
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Completion, Judgment, Sample, Status

# Variant -> the prompts of its stages: relevant aspects, their scores, the target's
# score. "full" is the method, the others are the ablations of section 4.6.
VARIANTS = {
    "full": ("generate_aspects", "score_aspects", "score_target"),
    "inter": ("score_aspects", "score_target"),
    "w/o score": ("generate_aspects", "score_target_without_scores"),
    "random": ("generate_aspects", "score_target"),
    "average": ("generate_aspects", "score_aspects"),
}
# An answer that is nothing but a name of one to three words, where one aspect is asked
# for. A sentence about the judge itself ("I cannot ...", "Sorry ...") is no name.
_LONE_NAME = re.compile(
    r"""
    (?!I\b|Sorry\b)
    [^\W\d_] [\w/&'-]*          # the first word begins with a letter
    (?: [ ] [\w/&'-]+ ){0,2}
    """,
    re.VERBOSE,
)
# What a plan takes for the definition of an aspect that no judge has listed yet.
STAND_IN = (
    "A judge lists an aspect with about as many words as this line has, "
    "to say what is asked for by it."
)


@dataclass(frozen=True)
class Chain:
    """The relevant aspects of one target: at most n, of `listed` different ones that
    the judge gave; `missing` says why samples of this target have no score.
    """

    aspects: tuple[Aspect, ...]
    listed: int
    missing: Judgment | None = None


def printed_aspects(task: str) -> dict[str, dict[str, str]]:
    """The relevant aspects that the paper prints for a task (dialogue or summary),
    {target: {name: definition}}; of a summary's coherence the definitions are ours.

    Raises: ValueError for another task.
    Source: CoAScore, Table 9 (dialogue), section 4.6 and Table 15 (summary).
    """
    lists = prompts.load_definitions("coascore_aspects")["lists"]
    printed: dict[str, dict[str, str]] = {}
    for listed in lists:
        if listed["task"] == task:
            entries = listed["aspects"]
            definitions = {entry["name"]: entry["definition"] for entry in entries}
            printed[listed["target"]] = definitions
    if not printed:
        tasks = ", ".join(listed["task"] for listed in lists)
        raise ValueError(
            f"aspects is 'printed', and the paper prints none for task {task!r}; "
            f"it does for {tasks}"
        )
    return printed


class CoAScore(LLMScore):
    """A score for the aspect that each sample names, read in the light of n relevant
    aspects and their scores.

    task, and `rating`: as for `LLMScore` and `Judge`.
    n: how many relevant aspects, listed once for each target (the paper: 5, 10, 20);
    with 1 an answer may be the aspect's name alone, or its number alone.
    variant: `full`; `inter`: the relevant aspects are the others that the data set
    rates (Table 5); `w/o score`: the target is scored with the aspects alone, `random`:
    with random numbers (by `seed`) for their scores (Figure 2); `average`: the score is
    the mean of the aspects' scores (Table 6).
    aspects: relevant aspects in place of stage I, {target: {name: definition}}, or
    `printed` (see `printed_aspects`).
    few: where fewer aspects are listed than asked for there is no score (`missing`), or
    they are used (`use`); an aspect without a score is left out.
    list_sampling, aspect_sampling: of stages I and II; `sampling` is of the last.

    Details: `aspects`, their names; `aspect_scores`, name -> score (NaN for none);
    `n_aspects`, `n_listed`, `n_missing_aspects`.

    Source: CoAScore (Gong and Mao), section 3, Tables 9 to 11; temperature and draws of
    section 4.3; limits are ours.

    Example:
    >>> from nlgeval_lib.engines import ScriptedEngine
    >>> frame = pd.DataFrame({"source": ["A bus left at nine."], "output": ["A bus left."]})
    >>> own = {"overall": {"accuracy": "Is it true?"}}
    >>> whole = {"overall": "Is it good?"}
    >>> script = ScriptedEngine(["accuracy: 5", "Score: 4"])
    >>> judge = CoAScore("summary", targets=whole, aspects=own, engine=script)
    >>> judge.score(frame)["value"].item()
    4.0
    """

    name = "coascore"
    lists = ("aspects",)

    def __init__(
        self,
        task: str = "general",
        n: int = 10,
        variant: str = "full",
        *,
        seed: int = 0,
        aspects: Mapping[str, Mapping[str, str]] | str | None = None,
        few: str = "missing",
        list_sampling: Sampling | Mapping[str, Any] | None = None,
        aspect_sampling: Sampling | Mapping[str, Any] | None = None,
        **rating: Any,
    ) -> None:
        super().__init__(task, **rating)
        if not isinstance(n, int) or n < 1:
            raise ValueError(f"n is {n!r}; a whole number of at least 1 is needed")
        self.n = n
        self.variant = choose("variant", variant, VARIANTS)
        self.seed = seed
        self.few = choose("few", few, ("missing", "use"))
        # Target -> the relevant aspects that take the place of stage I.
        self.own: dict[Aspect, tuple[Aspect, ...]] = {}
        if isinstance(aspects, str):
            choose("aspects", aspects, ("printed",))
            aspects = printed_aspects(task)
        for target, listed in (aspects or {}).items():
            definitions = named_texts(f"aspects of {target!r}", listed)
            distinct = set(map(normal, definitions)) - {""}
            if not definitions or len(distinct) < len(definitions):
                raise ValueError(
                    "one or more aspects that differ in more than punctuation are "
                    f"needed, got {definitions}"
                )
            relevant = tuple(itertools.starmap(Aspect, definitions.items()))
            self.own[self.task.target(target)] = relevant
        # Room for about 64 tokens an aspect and 32 a score.
        of_list = {"temperature": 0.0, "max_tokens": 128 + 64 * n}
        of_scores = {"temperature": 0.0, "max_tokens": 64 + 32 * n}
        self.list_sampling = self.sampling_of(of_list, list_sampling)
        self.aspect_sampling = self.sampling_of(of_scores, aspect_sampling)

    def stages(self, samples: Sequence[Sample]) -> Stages[list[Judgment]]:
        targets = [self.task.target(sample.aspect) for sample in samples]
        chain_of = yield from self._chains(list(dict.fromkeys(targets)))
        chains = [chain_of[target] for target in targets]
        scores = yield from self._aspect_scores(samples, chains)
        judgments: list[Any] = list(map(self._without_asking, chains, scores))
        if self.variant != "average":
            rows = [row for row, judgment in enumerate(judgments) if judgment is None]
            requests = []
            for row in rows:
                shown = (samples[row], targets[row], chains[row], scores[row])
                prompt = self._target_prompt(*shown)
                requests.append(self.chat.request(prompt, samples[row].id))
            sampling = self.shaped()
            answers = yield Stage("score", requests, sampling, self.stand_in, last=True)
            for row, draws in zip(rows, answers, strict=True):
                judgments[row] = self.judged(draws, samples[row])
        return list(map(_with_chain, judgments, chains, scores))

    def _chains(self, targets: Sequence[Aspect]) -> Stages[dict[Aspect, Chain]]:
        """The chain of each target (equation 2; prompt: Table 9)."""
        chains: dict[Aspect, Chain] = {}
        for target in targets:
            relevant = self.own.get(target)
            if relevant is None and self.variant == "inter":
                relevant = self._beside(target)
            if relevant is not None:
                chains[target] = Chain(relevant, len(relevant))
        unlisted = [target for target in targets if target not in chains]
        if unlisted:
            requests = []
            for target in unlisted:
                prompt = self._list_prompt(target)
                requests.append(self.chat.request(prompt, f"aspects of {target.name}"))
            sampling = self.shaped("aspects", self.list_sampling)
            numbers = range(1, self.n + 1)
            stand_in = "\n".join(f"Aspect {i}: {STAND_IN}" for i in numbers)
            answers = yield Stage("aspects", requests, sampling, stand_in)
            for target, draws in zip(unlisted, answers, strict=True):
                chains[target] = self.read_chain(draws[0])
        return chains

    def _beside(self, target: Aspect) -> tuple[Aspect, ...]:
        """For `inter`: the other rated aspects. Raises: ValueError for none."""
        rated = dict(self.task.targets)
        rated.pop("overall", None)
        relevant = tuple(aspect for aspect in rated.values() if aspect != target)
        if not relevant:
            raise ValueError(
                f"task {self.task.name!r} has no other aspects than "
                f"{target.name!r} for 'inter'"
            )
        return relevant

    def _list_prompt(self, target: Aspect) -> str:
        """The prompt for a target (Table 9)."""
        # It writes the number in words; from 21 on it has digits.
        count = str(self.n)
        if self.n < len(NUMBER_WORDS):
            count = NUMBER_WORDS[self.n]
        return prompts.render(
            "coascore/generate_aspects",
            task_definition=self.task.wording["task_definition"],
            output_name=self.task.wording["output_name"],
            count=count,
            **target.words,
        )

    def read_chain(self, completion: Completion) -> Chain:
        """The chain that an answer gives: its first n aspects, each name once."""
        completion = answered(completion, lists=True)
        listing = aspects(completion.text)
        listed: dict[str, Aspect] = {}
        if listing.ok:
            for item in listing.value or ():
                # Stage II's scores are found by the name without punctuation, so that
                # two aspects which differ in nothing else are one.
                name = normal(item.name)
                if name:
                    listed.setdefault(name, Aspect(item.name, item.definition))
        if self.n == 1 and listing.status is Status.UNPARSED:
            lone = _LONE_NAME.fullmatch(completion.text.strip(" \n.*"))
            if lone:
                listed[normal(lone[0])] = Aspect(lone[0], "")
        chosen = tuple(listed.values())[: self.n]
        missing = failed(completion)
        if missing is None and not listed and not listing.ok:
            missing = cut(completion, Judgment.missing(listing.status, listing.reason))
        elif missing is None and len(chosen) < self.n and self.few == "missing":
            count = f"{len(listed) + listing.duplicates} listed"
            if listing.duplicates:
                count += f", {len(listed)} different"
            reason = f"{count}, {self.n} asked for; few=use goes on with them"
            missing = cut(completion, Judgment.missing(Status.UNPARSED, reason))
        if missing is not None:
            reason = f"relevant aspects: {missing.reason}"
            missing = Judgment.missing(missing.status, reason)
        return Chain(chosen, len(listed), missing)

    def list_reader(self, stage: str) -> Callable[[Completion], bool] | None:
        if stage != "aspects":
            return None
        return lambda completion: self.read_chain(completion).missing is None

    def schema(self, stage: str = "score") -> Mapping[str, Any]:
        if stage == "aspects":
            room = self.list_sampling.max_tokens
            return schemas.named_texts("aspects", self.n, self.n, room)
        return super().schema(stage)

    def _aspect_scores(
        self, samples: Sequence[Sample], chains: Sequence[Chain]
    ) -> Stages[list[dict[str, Judgment]]]:
        """For each sample {aspect's name: judgment} (equation 3; prompt: Table 10)."""
        if self.variant == "random":
            return list(map(self._random, samples, chains))
        scores: list[dict[str, Judgment]] = [{} for _ in samples]
        if self.variant == "w/o score":
            return scores
        groups: dict[tuple[Aspect, ...], list[int]] = {}
        for row, chain in enumerate(chains):
            if chain.missing is None:
                # JSON names the aspects: with it, each chain is a stage of its own.
                group = chain.aspects if self.structured == "json" else ()
                groups.setdefault(group, []).append(row)
        middle = (self.task.low + self.task.high) // 2
        for group, rows in groups.items():
            requests = []
            stand_ins = []
            for row in rows:
                relevant = chains[row].aspects
                prompt = prompts.render(
                    "coascore/score_aspects",
                    **self.task.words(samples[row]),
                    aspects="\n".join(map(str, relevant)),
                )
                name = f"{samples[row].id}#aspects"
                requests.append(self.chat.request(prompt, name))
                names = [aspect.name for aspect in relevant]
                stand_ins.append(json.dumps(dict.fromkeys(names, middle)))
            sampling = self.aspect_sampling
            if group:
                score = schemas.a_number(self.choices)
                form = schemas.an_object({aspect.name: score for aspect in group})
                sampling = dataclasses.replace(sampling, json_schema=form)
            answers = yield Stage("aspect scores", requests, sampling, stand_ins)
            for row, draws in zip(rows, answers, strict=True):
                scores[row] = self.read_scores(draws, chains[row].aspects)
        return scores

    def read_scores(
        self, draws: Sequence[Completion], aspects: Sequence[Aspect]
    ) -> dict[str, Judgment]:
        """The score of each aspect that a stage II request named, over the draws."""
        names = [aspect.name for aspect in aspects]
        drawn = [self._read_draw(completion, names) for completion in draws]
        scores = {}
        for name in names:
            judgments = [judged[name] for judged in drawn]
            scores[name] = combine(judgments, self.missing)
        return scores

    def _read_draw(
        self, completion: Completion, names: Sequence[str]
    ) -> dict[str, Judgment]:
        """What one completion says of each aspect: name -> judgment."""
        failure = failed(completion)
        if failure is not None:
            return dict.fromkeys(names, failure)
        completion = answered(completion)
        low = self.task.low
        high = self.task.high
        scored = _scores_in(completion.text, tuple(names), low, high)
        judged: dict[str, Judgment] = {}
        for name in names:
            if name not in scored.reasons:
                judged[name] = Judgment(scored.scores[name])
            elif len(names) == 1:
                judged[name] = rating(completion.text, low, high, name).judgment()
            else:
                # Where no aspect has one, the status is that of the whole text.
                all_missing = len(scored.reasons) == len(names)
                status = scored.status if all_missing else Status.UNPARSED
                judged[name] = Judgment.missing(status, scored.reasons[name])
        return judged

    def _random(self, sample: Sample, chain: Chain) -> dict[str, Judgment]:
        """Random whole numbers of the scale, by seed, sample and aspects (Figure 2)."""
        names = [aspect.name for aspect in chain.aspects]
        words = "\x1f".join([str(self.seed), sample.id, sample.output, *names])
        # A hash as the seed: a sample gets its numbers whatever else is scored.
        digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
        generator = np.random.default_rng(int(digest[:16], 16))
        drawn = generator.integers(self.task.low, self.task.high + 1, size=len(names))
        scores = drawn.astype(float).tolist()
        return dict(zip(names, map(Judgment, scores), strict=True))

    def _without_asking(
        self, chain: Chain, scores: Mapping[str, Judgment]
    ) -> Judgment | None:
        """Why a sample has no score, or the average; None where stage III is asked."""
        if chain.missing is not None:
            return chain.missing
        missing = [name for name in scores if scores[name].status is not Status.OK]
        if missing and len(missing) == len(scores):
            status, reason = most_frequent([scores[name] for name in missing])
            name = next(name for name in missing if scores[name].status is status)
            count = f"{len(missing)} of {len(scores)} aspects without a score"
            return Judgment.missing(status, f"{count}: {name}: {reason}")
        if self.variant == "average":
            values = [scores[name].value for name in scores if name not in missing]
            return Judgment(statistics.fmean(values))
        return None

    def _target_prompt(
        self,
        sample: Sample,
        target: Aspect,
        chain: Chain,
        scores: Mapping[str, Judgment],
    ) -> str:
        """The prompt of Table 11 (equation 4)."""
        words = self.task.words(sample, target)
        if self.variant == "w/o score":
            lines = "\n".join(map(str, chain.aspects))
            return prompts.render(
                "coascore/score_target_without_scores", **words, aspects=lines
            )
        scored = []
        for aspect in chain.aspects:
            judgment = scores[aspect.name]
            if judgment.status is Status.OK:
                # As Table 11 prints it: with one decimal, more only where it has them.
                value = judgment.value
                number = f"{value:.1f}"
                if round(value, 1) != value:
                    number = f"{value:.4g}"
                scored.append(f"{aspect} Score: {number}")
        return prompts.render(
            "coascore/score_target", **words, scored_aspects="\n".join(scored)
        )

    def settings(self) -> dict[str, Any]:
        return {
            **super().settings(),
            "variant": self.variant,
            "aspects": "rated" if self.variant == "inter" else self.n,
            "own": len(self.own) or None,
            "few": self.few,
            "unscored": "omit",  # aspects without a score are not shown
            "random": self.seed if self.variant == "random" else None,
        }

    def templates(self) -> tuple[Template, ...]:
        names = VARIANTS[self.variant]
        return tuple(prompts.template(f"coascore/{name}") for name in names)


# Greedy judges often write the same scores for many outputs, and plans always do.
_scores_in = functools.lru_cache(maxsize=1024)(aspect_scores)


def _with_chain(
    judgment: Judgment, chain: Chain, scores: Mapping[str, Judgment]
) -> Judgment:
    """A judgment with the chain that it rests on in its details (see `CoAScore`)."""
    if chain.missing is not None:
        return judgment
    missing = [name for name in scores if scores[name].status is not Status.OK]
    details = {
        **judgment.details,
        "aspects": tuple(aspect.name for aspect in chain.aspects),
        "n_aspects": len(chain.aspects),
        "n_listed": chain.listed,
        "aspect_scores": {name: score.value for name, score in scores.items()},
        "n_missing_aspects": len(missing),
    }
    return dataclasses.replace(judgment, details=details)
