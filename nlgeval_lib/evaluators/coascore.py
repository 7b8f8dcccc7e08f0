"""CoAScore: relevant aspects are listed, then scored, then the target aspect is
scored with that chain shown.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlgeval_lib import prompts
from nlgeval_lib.engines import Sampling
from nlgeval_lib.evaluators.base import choose
from nlgeval_lib.evaluators.judge import (
    combine,
    cut,
    failed,
    make_sampling,
    most_frequent,
)
from nlgeval_lib.evaluators.llmscore import Aspect, LLMScore
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.parsers.lists import aspect_scores, aspects, normal
from nlgeval_lib.parsers.ratings import rating
from nlgeval_lib.prompts import Template
from nlgeval_lib.records import Completion, Judgment, Sample, Status

# variant -> the prompts of its stages: relevant aspects, their scores, the target's
# score
VARIANTS = {
    "full": ("generate_aspects", "score_aspects", "score_target"),
    "inter": ("score_aspects", "score_target"),
    "w/o score": ("generate_aspects", "score_target_without_scores"),
    "random": ("generate_aspects", "score_target"),
    "average": ("generate_aspects", "score_aspects"),
}
_NUMBERS = (
    *(
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
    ),
    *(
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ),
)
_ALONE = re.compile(
    r"(?!I\b|Sorry\b)[^\W\d_][\w/&'-]*(?: [\w/&'-]+){0,2}"
)  # a name, where one aspect is asked for
STAND_IN = "A judge lists an aspect with about as many words as this line has, to say what is asked for by it."


@dataclass(frozen=True)
class Chain:
    """The relevant aspects of one target, or the judgment that there are none.

    `listed`: how many the judge gave.
    """

    aspects: tuple[Aspect, ...]
    listed: int
    missing: Judgment | None = None


class CoAScore(LLMScore):
    """A score for the aspect that each sample names, read in the light of n relevant
    aspects and their scores.

    task, low, high, targets: as for `LLMScore`. n: how many relevant aspects, listed
    once for each target (the paper: 5, 10, 20); with 1 an answer may be the aspect's
    name alone, or its number alone.
    variant: `full`; `inter`: the relevant aspects are the others that the data set
    rates (Table 5); `w/o score`: the target is scored with the aspects alone, `random`:
    with random numbers of the scale for their scores (Figure 2); `average`: the score
    is the mean of the aspects' scores (Table 6). seed: of the random variant.
    aspects: relevant aspects in place of stage I, {target: {name: definition}}.
    few: where fewer aspects are listed than asked for there is no score (`missing`), or
    they are used (`use`).
    unscored: an aspect without a score is left out (`omit`), named without one
    (`keep`), or no score is given (`missing`). list_sampling, aspect_sampling: of
    stages I and II; `sampling` is that of the last one.

    Source: CoAScore (Gong and Mao), section 3, Tables 9 to 11; temperature and draws of
    section 4.3; limits are ours.
    """

    name = "coascore"

    def __init__(
        self,
        task: str = "general",
        n: int = 10,
        variant: str = "full",
        *,
        seed: int = 0,
        aspects: Mapping[str, Mapping[str, str]] | None = None,
        few: str = "missing",
        unscored: str = "omit",
        list_sampling: Sampling | Mapping[str, Any] | None = None,
        aspect_sampling: Sampling | Mapping[str, Any] | None = None,
        **rating: Any,
    ) -> None:
        super().__init__(task, **rating)
        if not isinstance(n, int) or n < 1:
            raise ValueError(f"n is {n!r}; a whole number of at least 1 is needed")
        self.n, self.variant, self.seed = n, choose("variant", variant, VARIANTS), seed
        self.few = choose("few", few, ("missing", "use"))
        self.unscored = choose("unscored", unscored, ("omit", "keep", "missing"))
        self.own: dict[Aspect, tuple[Aspect, ...]] = {}
        for key, own in (aspects or {}).items():
            if not own or len({normal(name) for name in own} - {""}) < len(own):
                raise ValueError(
                    f"one or more aspects that differ in more than punctuation are needed, got {own}"
                )
            self.own[self.task.target(key)] = tuple(
                itertools.starmap(Aspect, own.items())
            )
        self.list_sampling = make_sampling(
            {"temperature": 0.0, "max_tokens": 128 + 64 * n}, list_sampling
        )
        self.aspect_sampling = make_sampling(
            {"temperature": 0.0, "max_tokens": 64 + 32 * n}, aspect_sampling
        )

    def stages(self, samples: Sequence[Sample]) -> Stages[list[Judgment]]:
        """Relevant aspects (once a target), their scores, the target's score; as
        many of these as the variant has.
        """
        targets = [self.task.target(sample.aspect) for sample in samples]
        found = yield from self._chains(list(dict.fromkeys(targets)))
        chains = [found[target] for target in targets]
        scores = yield from self._aspect_scores(samples, chains)
        known = list(map(self._known, chains, scores))
        judgments = {
            row: judgment for row, judgment in enumerate(known) if judgment is not None
        }
        if self.variant != "average":
            rows = [row for row in range(len(samples)) if row not in judgments]
            asked = [
                self._target_prompt(
                    samples[row], targets[row], chains[row], scores[row]
                )
                for row in rows
            ]
            requests = [
                self.chat.request(prompt, samples[row].id)
                for prompt, row in zip(asked, rows, strict=True)
            ]
            answers = yield Stage("score", requests, self.shaped(), self.stand_in)
            judgments |= {
                row: self.judged(draws, samples[row])
                for row, draws in zip(rows, answers, strict=True)
            }
        return [
            _told(judgments[row], chains[row], scores[row])
            for row in range(len(samples))
        ]

    def _chains(self, targets: Sequence[Aspect]) -> Stages[dict[Aspect, Chain]]:
        """Stage I for each target; nothing is asked where the aspects are known."""
        chains: dict[Aspect, Chain] = {}
        for target in targets:
            if target in self.own or self.variant == "inter":
                rated = (
                    a
                    for key, a in self.task.targets.items()
                    if a != target and key != "overall"
                )
                if not (known := self.own.get(target, tuple(rated))):
                    raise ValueError(
                        f"task {self.task.name!r} has no other aspects than {target.name!r} for 'inter'"
                    )
                chains[target] = Chain(known, len(known))
        if asked := [target for target in targets if target not in chains]:
            requests = [
                self.chat.request(
                    self._list_prompt(target), f"aspects of {target.name}"
                )
                for target in asked
            ]
            sampling = self.shaped("aspects", self.list_sampling)
            stand_in = "\n".join(
                f"Aspect {i}: {STAND_IN}" for i in range(1, self.n + 1)
            )
            answers = yield Stage("aspects", requests, sampling, stand_in)
            chains |= {
                target: self.read_chain(draws[0])
                for target, draws in zip(asked, answers, strict=True)
            }
        return chains

    def _aspect_scores(
        self, samples: Sequence[Sample], chains: Sequence[Chain]
    ) -> Stages[list[dict[str, Judgment]]]:
        """Stage II: the score of each aspect by name, for every sample with a chain."""
        if self.variant == "w/o score":
            return [{} for _ in samples]
        if self.variant == "random":
            return [
                self._random(sample, chain)
                for sample, chain in zip(samples, chains, strict=True)
            ]
        scores: list[dict[str, Judgment]] = [{} for _ in samples]
        ready = [row for row, chain in enumerate(chains) if chain.missing is None]
        # a form names the aspects: with one, each chain is a stage of its own
        for group in dict.fromkeys(
            chains[row].aspects if self.structured else () for row in ready
        ):
            rows = [row for row in ready if not group or chains[row].aspects == group]
            requests = []
            for row in rows:
                lines = "\n".join(map(str, chains[row].aspects))
                prompt = prompts.render(
                    "coascore/score_aspects",
                    **self.task.words(samples[row]),
                    aspects=lines,
                )
                requests.append(self.chat.request(prompt, f"{samples[row].id}#aspects"))
            middle = (self.task.low + self.task.high) // 2
            stand_in = [
                json.dumps({aspect.name: middle for aspect in chains[row].aspects})
                for row in rows
            ]
            form: dict[str, Any] = {"regex": self._scores_form(group)} if group else {}
            answers = yield Stage(
                "aspect scores",
                requests,
                dataclasses.replace(self.aspect_sampling, **form),
                stand_in,
            )
            for row, draws in zip(rows, answers, strict=True):
                scores[row] = self.read_scores(draws, chains[row].aspects)
        return scores

    def read_chain(self, completion: Completion) -> Chain:
        """The first n aspects of a list, each name once. Never raises on any text."""
        found = aspects(completion.text)
        listed: dict[str, Aspect] = {}
        for item in found.value or () if found.ok else ():
            if normal(item.name):  # what stage II's scores are found by
                listed.setdefault(normal(item.name), Aspect(item.name, item.definition))
        alone = (
            _ALONE.fullmatch(completion.text.strip(" \n.*")) if self.n == 1 else None
        )
        if alone and found.status is Status.UNPARSED:
            listed[normal(alone[0])] = Aspect(alone[0], "")
        chosen = tuple(listed.values())[: self.n]
        lost = failed(completion)
        if lost is None and not listed and not found.ok:
            lost = Judgment.missing(found.status, found.reason)
        elif lost is None and len(chosen) < self.n and self.few == "missing":
            lost = cut(
                completion,
                Judgment.missing(
                    Status.UNPARSED, f"{len(chosen)} listed, {self.n} asked for"
                ),
            )
        return Chain(
            chosen,
            len(listed),
            lost and Judgment.missing(lost.status, f"relevant aspects: {lost.reason}"),
        )

    def read_scores(
        self, draws: Sequence[Completion], aspects: Sequence[Aspect]
    ) -> dict[str, Judgment]:
        """The score of each aspect: the mean over the draws, or why there is none.

        Never raises on any text.
        """
        names = [aspect.name for aspect in aspects]
        drawn: dict[str, list[Judgment]] = {name: [] for name in names}
        for completion in draws:
            lost = failed(completion)
            found = aspect_scores(completion.text, names, self.task.low, self.task.high)
            status = (
                found.status if len(found.reasons) == len(names) else Status.UNPARSED
            )
            for name in names:
                one = (
                    Judgment.missing(status, found.reasons[name])
                    if name in found.reasons
                    else None
                )
                if (
                    one is not None and len(names) == 1
                ):  # its score may stand alone, without the name
                    one = rating(
                        completion.text, self.task.low, self.task.high, name
                    ).judgment()
                drawn[name].append(lost or one or Judgment(found.scores[name]))
        return {
            name: combine(judgments, self.missing) for name, judgments in drawn.items()
        }

    def form(self, stage: str = "score") -> Mapping[str, Any]:
        if stage == "aspects":
            return {
                "regex": rf"([A-Z][a-z]{{3,12}}: [A-Z][a-z ]{{8,40}}[.]\n){{{self.n}}}"
            }
        return super().form(stage)

    def _scores_form(self, aspects: Sequence[Aspect]) -> str:
        """A regular expression for one JSON object with a number for each aspect."""
        number = "|".join(self.choices)
        names = [
            re.sub(r"([][\\.^$*+?{}|()])", r"\\\1", json.dumps(aspect.name))
            for aspect in aspects
        ]
        return r"\{" + ", ".join(f"{name}: ({number})" for name in names) + r"\}"

    def _random(self, sample: Sample, chain: Chain) -> dict[str, Judgment]:
        """Random whole numbers of the scale; the same for the same seed, sample and
        aspects.
        """
        words = "\x1f".join(
            [
                str(self.seed),
                sample.id,
                sample.output,
                *(aspect.name for aspect in chain.aspects),
            ]
        )
        rng = np.random.default_rng(
            int(
                hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:16],
                16,
            )
        )
        drawn = rng.integers(self.task.low, self.task.high + 1, size=len(chain.aspects))
        return {
            a.name: Judgment(float(v))
            for a, v in zip(chain.aspects, drawn, strict=True)
        }

    def _known(self, chain: Chain, scores: Mapping[str, Judgment]) -> Judgment | None:
        """What is known of a sample without the last stage: why it has no score, or
        the average of its aspects.
        """
        if chain.missing is not None:
            return chain.missing
        lost = {
            name: judgment
            for name, judgment in scores.items()
            if judgment.status is not Status.OK
        }
        if lost and (self.unscored == "missing" or len(lost) == len(scores)):
            status, why = most_frequent(list(lost.values()))
            name = next(
                name for name, judgment in lost.items() if judgment.status is status
            )
            return Judgment.missing(
                status,
                f"{len(lost)} of {len(scores)} aspects without a score: {name}: {why}",
            )
        if self.variant == "average":
            return Judgment(
                statistics.fmean(
                    [one.value for name, one in scores.items() if name not in lost]
                )
            )
        return None

    def _list_prompt(self, target: Aspect) -> str:
        return prompts.render(
            "coascore/generate_aspects",
            task_definition=self.task.wording["task_definition"],
            output_name=self.task.wording["output_name"],
            count=_NUMBERS[self.n] if self.n < len(_NUMBERS) else str(self.n),
            **target.words,
        )

    def _target_prompt(
        self,
        sample: Sample,
        target: Aspect,
        chain: Chain,
        scores: Mapping[str, Judgment],
    ) -> str:
        words = self.task.words(sample, target)
        if self.variant == "w/o score":
            lines = "\n".join(map(str, chain.aspects))
            return prompts.render(
                "coascore/score_target_without_scores", **words, aspects=lines
            )
        scored = []
        for aspect in chain.aspects:
            value = scores[aspect.name].value
            if scores[aspect.name].status is Status.OK:
                # as Table 11 prints it: with one decimal, more only where it has them
                scored.append(
                    f"{aspect} Score: {value:{'.1f' if round(value, 1) == value else '.4g'}}"
                )
            elif self.unscored == "keep":
                scored.append(str(aspect))
        return prompts.render(
            "coascore/score_target", **words, scored_aspects="\n".join(scored)
        )

    def settings(self) -> dict[str, Any]:
        return {
            **super().settings(),
            "variant": self.variant,
            "aspects": self.n if self.variant != "inter" else "rated",
            "own": len(self.own) or None,
            "few": self.few,
            "unscored": self.unscored,
            "random": self.seed if self.variant == "random" else None,
        }

    def templates(self) -> tuple[Template, ...]:
        return tuple(
            prompts.template(f"coascore/{name}") for name in VARIANTS[self.variant]
        )


def _told(judgment: Judgment, chain: Chain, scores: Mapping[str, Judgment]) -> Judgment:
    """A judgment that tells of the chain it rests on, if there is one."""
    if chain.missing is not None:
        return judgment
    details = {
        "aspects": tuple(aspect.name for aspect in chain.aspects),
        "n_aspects": len(chain.aspects),
        "n_listed": chain.listed,
        "aspect_scores": {name: one.value for name, one in scores.items()},
        "n_missing_aspects": sum(
            one.status is not Status.OK for one in scores.values()
        ),
    }
    return dataclasses.replace(judgment, details={**judgment.details, **details})
