"""A judge of pairs: which of two outputs is better, asked in both orders."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd

from nlgeval_lib.engines import Request
from nlgeval_lib.evaluators.base import choose, field_of, samples
from nlgeval_lib.evaluators.judge import Judge, most_frequent
from nlgeval_lib.evaluators.stages import Stage, Stages
from nlgeval_lib.parsers.choices import preference
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.prompts import Template, prompt_files
from nlgeval_lib.records import Completion, Judgment, Sample, Status
from nlgeval_lib.statistics import verdicts

NAN = float("nan")
ORDERS = ("given", "swapped")  # output 1 shown first, output 2 shown first
_SECOND = "output_2"
# Verdict of the parser -> the score: the output shown first, the second, neither.
_CODES = {"A": 1.0, "B": 2.0, "TIE": 0.0}
# The last sentence of an answer that argues first: "Therefore, Output (b) is better."
_CONCLUSION = re.compile(
    r"\b(?:therefore|thus|hence|overall|in conclusion)\b[,:]?\s+"
    r"(?:output|response|answer|option|assistant|model|summary)\s*"
    r"[\[(\"']*(?P<which>a|b|1|2)[\])\"']*\s+is\s+(?:the\s+)?better(?:\s+one)?\W*$",
    re.IGNORECASE,
)
_CONCLUDED = {"a": "A", "1": "A", "b": "B", "2": "B"}


def read_verdict(
    text: str, labels: Sequence[str] = ("A", "B"), tie: bool = True
) -> Parsed:
    """Which output a text prefers: `A` for the one shown first, `B`, or `TIE`: an
    answer that is a label, else its conclusion, else what `parsers.preference` reads.

    labels: the words that the prompt asks for: first, second and (a third) a tie.
    tie: whether a tie may be read.

    Example:
    >>> read_verdict("Therefore, Output (b) is better.").value
    'B'
    """
    # The label may stand in quotes, brackets or bold type.
    answer = text.strip().strip(".*\"'[]() ").casefold()
    for label, value in zip(labels, _CODES, strict=False):
        if answer and answer == label.casefold():
            return Parsed(value, Status.OK, rule="label")
    if conclusion := _CONCLUSION.search(text):
        code = _CONCLUDED[conclusion["which"].lower()]
        return Parsed(code, Status.OK, rule="conclusion")
    return preference(text, tie)


class Preference(Judge):
    """Which of two outputs is better: 1, 2, or 0 for a tie, asked in both orders.

    prompt: the path of a text file, or a text, with `{output_1}` and `{output_2}` and
    more of the placeholders (see `prompts.prompt_files`).
    rule: how the two orders become one verdict: "agree" (two different verdicts are a
    tie), "first" (the given order's) or "mean".
    labels: the words that the prompt asks for: first output, second and, where there
    are three, a tie; `structured` holds the answer to them.
    tie: whether a judge may say that neither is better.
    judge: the settings of `Judge`.

    Of several draws in one order the verdict with most votes counts, else a tie.
    Details: `given` and `swapped`, the verdicts in both orders about the pair's own
    outputs (NaN where none could be read), with `reasons`.

    Source: Zheng et al. 2023, section 3.4 (both orders, different verdicts as a tie).

    Example:
    >>> from nlgeval_lib.engines import ScriptedEngine
    >>> frame = pd.DataFrame({"output_1": ["A bus left."], "output_2": ["A bus."]})
    >>> ask = "Which is better, A or B? A: {output_1} B: {output_2}"
    >>> judge = Preference(ask, engine=ScriptedEngine(["A", "B"]))
    >>> judge.score(frame)["value"].item()
    1.0
    """

    name = "preference"
    defaults: Mapping[str, Any] = MappingProxyType(
        {"temperature": 0.0, "max_tokens": 1024}
    )

    def __init__(
        self,
        prompt: str,
        *,
        rule: str = "agree",
        labels: Sequence[str] = ("A", "B"),
        tie: bool = True,
        **judge: Any,
    ) -> None:
        super().__init__(**judge)
        self.rule = choose("rule", rule, verdicts.RULES)
        self.prompt = prompt_files.read(prompt)
        if not self.prompt.of_pairs:
            raise ValueError(
                f"prompt {self.prompt.name} rates one output; {self.name} compares "
                "two, {output_1} and {output_2}"
            )
        self.labels = tuple(labels)
        if len(set(self.labels)) not in (2, 3) or len(self.labels) > 3:
            raise ValueError(
                f"labels {self.labels}; two or three different words are needed: for "
                "the first output, the second, and a tie"
            )
        self.tie = tie
        # The pair first, then what else the prompt names: `given` counts on this order.
        needs = (*prompt_files.PAIR, *self.prompt.columns)
        self.needs = tuple(dict.fromkeys(needs))
        self.choices = self.labels
        self.stand_in = self.labels[0]

    def given(self, data: Any) -> list[Sample]:
        """The pairs of a frame, one a row: `output` is output 1, `extra` has output 2.
        Raises: ValueError where a needed column or text is missing.
        """
        needs = ("output", _SECOND, *self.needs[2:])
        if not isinstance(data, pd.DataFrame):
            return samples(data, needs, self.name)
        missing = [name for name in prompt_files.PAIR if name not in data]
        if missing:
            raise ValueError(
                f"{self.name} needs a column {missing[0]!r}; a frame of ratings "
                "becomes one of pairs by datasets.pairs.from_ratings"
            )
        rows = data.assign(output=data["output_1"])
        if "pair_id" in rows:
            # A sample's id is then the pair's alone.
            rows = rows.assign(system_id=rows["pair_id"])
            rows = rows.drop(columns="input_id", errors="ignore")
        return samples(rows, needs, self.name)

    def in_order(self, sample: Sample, order: str) -> Request:
        """What is asked about a pair in one order, "given" or "swapped"."""
        shown = (sample.output, str(sample.extra[_SECOND]))
        if order == "swapped":
            shown = shown[::-1]
        names = self.prompt.placeholders
        texts = {name: field_of(sample, name) for name in names}
        texts |= zip(prompt_files.PAIR, shown, strict=True)
        user, system = self.prompt.filled(texts)
        return self.chat.request(user, f"{sample.id}/{order}", system)

    def stages(self, samples: Sequence[Sample]) -> Stages[list[Judgment]]:
        requests = []
        for sample in samples:
            requests += [self.in_order(sample, order) for order in ORDERS]
        sampling = self.shaped("verdict")
        answers = yield Stage("verdict", requests, sampling, "A", last=True)
        return list(map(self._of_pair, answers[::2], answers[1::2], samples))

    def _of_pair(
        self, given: Sequence[Completion], swapped: Sequence[Completion], sample: Sample
    ) -> Judgment:
        """The verdict of both orders' draws."""
        in_given, missing = self._of_order(given, sample)
        as_shown, more_missing = self._of_order(swapped, sample)
        # Swapped, what is shown first is output 2; a tie and NaN stay.
        in_swapped = as_shown
        if as_shown in (1, 2):
            in_swapped = 3 - as_shown
        value = float(verdicts.combined([in_given], [in_swapped], self.rule)[0])
        without = [*missing, *more_missing]
        details = {
            "given": in_given,
            "swapped": in_swapped,
            "reasons": tuple(judgment.reason for judgment in without),
        }
        if not math.isnan(value):
            return Judgment(value, details=MappingProxyType(details))
        status, reason = most_frequent(without)
        return Judgment(NAN, status, reason, MappingProxyType(details))

    def _of_order(
        self, draws: Sequence[Completion], sample: Sample
    ) -> tuple[float, list[Judgment]]:
        """What one order's draws say of the outputs as shown; those that do not."""
        judgments = [self.read(draw, sample) for draw in draws]
        without = [j for j in judgments if j.status is not Status.OK]
        codes = [j.value for j in judgments if j.status is Status.OK]
        if not codes:
            return NAN, without
        votes = [codes.count(code) for code in (0.0, 1.0, 2.0)]
        most = max(votes)
        tied = votes.count(most) > 1
        return 0.0 if tied else float(votes.index(most)), without

    def parse(self, completion: Completion, sample: Sample | None = None) -> Judgment:
        """1 for the output shown first, 2 for the second, 0 for neither."""
        verdict = self.reader(sample)(completion.text)
        if verdict.value is None:
            return Judgment.missing(verdict.status, verdict.reason)
        code = _CODES[str(verdict.value)]
        return Judgment(code, details=MappingProxyType({"rule": verdict.rule}))

    def reader(self, sample: Sample | None = None) -> Callable[[str], Parsed]:
        return functools.partial(read_verdict, labels=self.labels, tie=self.tie)

    def templates(self) -> tuple[Template, ...]:
        return self.prompt.templates

    def settings(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "orders": "both",
            "labels": "/".join(self.labels),
            "tie": self.tie,
        }
