"""What the columns of somebody's file hold, and what each is likely to be: a proposal."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd

from judgecard import rated_columns
from judgecard.pair_judges import OUTPUTS, as_verdict
from nlgeval_lib import datasets
from nlgeval_lib.scoring.cells import as_number, is_missing
from nlgeval_lib.scoring.columns import RATER, RATING, is_fact, known, nearest
from nlgeval_lib.scoring.rows import Rows

Kind = Literal["empty", "text", "name", "rating", "number", "label", "object"]
# A scale from 0 to 10 has so many values; a column with more is no column of ratings.
_MOST_VALUES = 11
_MOST_LABELS = 12
# how the columns of a pair's outputs end, and in how many texts they differ at least:
# few names of models do
_ENDS = (("_1", "_2"), ("_a", "_b"), ("_A", "_B"), ("1", "2"), ("A", "B"))
_LEAST_TEXTS = 3
_LISTED = 4  # labels that a person is shown
# each label stands in so many rows on average; names of texts do not repeat so
_REPEATS = 3
_LABEL_LENGTH = 30
_TEXT_LENGTH = 25
_TEXT_WORDS = 3
# the share of a column's cells that are numbers where it is one of numbers with slips
_MOSTLY = 0.9
# parts of names by which people call a column of people's ratings, or of a judge's
_OF_PEOPLE = re.compile(
    r"human|rating|rater|annot|expert|gold|label|preference|winner|worker", re.I
)
_OF_JUDGE = re.compile(
    r"judge|score|value|verdict|metric|gpt|claude|gemini|llama|llm|mistral|qwen|bleu|"
    r"rouge|bert|meteor|auto|pred|success|match|accuracy|metadata",
    re.I,
)
# what counts or numbers something, and is no rating
_COUNTED = re.compile(
    r"(.*[_.])?(id|idx|index|number|count|turn|epoch|step|seed|round|batch|year|age|"
    r"length|tokens|seconds|time|line|row|rank)s?",
    re.I,
)
# words that people give for 0 and 1, and for more steps, lowest first, in small letters
_TWO_WORDS = (
    ("no", "yes"),
    ("fail", "pass"),
    ("incorrect", "correct"),
    ("wrong", "right"),
    ("bad", "good"),
)
_STEPS = (
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("very bad", "bad", "ok", "good", "very good"),
    ("low", "medium", "high"),
    ("never", "rarely", "sometimes", "often", "always"),
)
_SHARE = re.compile(r"\d+(?:\.\d+)?(/\d+|%)")
_LEADING = re.compile(r"\d+(\s*[-:.)]\s*)[^\W\d].*")  # as in "5 - Strongly agree"
_PAIRED = {"output_1", "output_2", "system_1", "system_2"}
_PAIRED |= {"model_1", "model_2", "model_a", "model_b"}


@dataclass(frozen=True)
class Content:
    """What the cells of a column are.

    kind: "rating" for few different numbers, "number" for others, "label" for few
    different words, "name" for short words, "text" for longer ones.
    words: the same for a person.
    values: what words stand for, as `--values` has it, where ratings are words.
    """

    name: str
    kind: Kind
    words: str
    values: str = ""
    varies: bool = True


@dataclass(frozen=True)
class Proposal:
    """What a file's columns may be, where nobody has said it.

    mapping: our column -> the file's, to be said by `--map`.
    scores, raters, criteria: columns with a judge's scores; with people's ratings, one
    a rater; with ratings by one criterion each.
    verdicts: columns with verdicts on pairs, those of people first.
    """

    mapping: Mapping[str, str] = field(default_factory=dict)
    scores: Sequence[str] = ()
    raters: Sequence[str] = ()
    criteria: Sequence[str] = ()
    verdicts: Sequence[str] = ()
    why: Mapping[str, str] = field(default_factory=dict)


def content(name: str, values: Sequence[Any]) -> Content:
    """What the cells of a column are."""
    present = [cell for cell in values if not is_missing(cell) and str(cell).strip()]
    missing = len(values) - len(present)
    gaps = f", {missing:,} missing" if missing else ""
    if not present:
        return Content(name, "empty", "nothing")
    if any(isinstance(value, list | dict | tuple) for value in present):
        return Content(name, "object", f"lists or objects{gaps}")
    numbers, slips = _numbers(present)
    if len(numbers) >= _MOSTLY * len(present):
        return _of_numbers(name, np.array(numbers), gaps, slips)
    texts = [str(value).strip() for value in present]
    return _of_labels(name, texts, gaps) or _of_texts(name, texts, gaps)


def _of_labels(name: str, texts: Sequence[str], gaps: str) -> Content | None:
    """The content of a column of few short words; None for other texts."""
    different = set(texts)
    longest = max(map(len, texts))
    if len(different) > _MOST_LABELS or longest > _LABEL_LENGTH:
        return None
    kind: Kind = "rating"
    stand_for = _stand_for(different)
    if not stand_for:
        kind = "label"
        if len(texts) < _REPEATS * len(different):
            return None
    listed = sorted(different)
    if len(listed) > _LISTED:
        listed[_LISTED:] = ["..."]
    described = f"{len(different)} words: {', '.join(listed)}{gaps}"
    return Content(name, kind, described, values=stand_for)


def _of_texts(name: str, texts: Sequence[str], gaps: str) -> Content:
    words = pd.Series(texts).str.split().str.len().median()
    length = np.median([len(text) for text in texts])
    kind: Kind = "name"
    if words >= _TEXT_WORDS or length > _TEXT_LENGTH:
        kind = "text"
    described = f"{len(set(texts)):,} different {kind}s"
    return Content(name, kind, f"{described}, about {length:.0f} characters{gaps}")


def _stand_for(words: set[str]) -> str:
    """What a column's words stand for as numbers, as `--values` has it."""
    by_small = {word.lower(): word for word in words}
    if len(by_small) < len(words):
        return ""
    for lowest, highest in _TWO_WORDS:
        if set(by_small) == {lowest, highest}:
            return f"{by_small[lowest]}=0,{by_small[highest]}=1"
    for steps in _STEPS:
        if len(words) > 1 and set(by_small).issubset(steps):
            numbers = {step: number for number, step in enumerate(steps, start=1)}
            known_steps = sorted(by_small, key=lambda step: numbers[step])
            return ",".join(f"{by_small[step]}={numbers[step]}" for step in known_steps)
    for form, ending in ((_SHARE, ""), (_LEADING, "*")):
        matches = [form.fullmatch(word) for word in words]
        marks = {match[1] if match else "" for match in matches}
        if len(marks) == 1 and "" not in marks:
            return f"N{marks.pop()}{ending}"
    return ""


def _numbers(present: Sequence[Any]) -> tuple[list[float], int]:
    numbers = []
    slips = 0
    for value in present:
        try:
            number = as_number(value)
        except ValueError:
            slips += 1
            continue
        if not math.isnan(number):
            numbers.append(number)
    return numbers, slips


def _of_numbers(name: str, numbers: np.ndarray, gaps: str, slips: int) -> Content:
    if not len(numbers):
        return Content(name, "empty", "nothing but words for a missing number")
    values, counts = np.unique(numbers, return_counts=True)
    lowest = values[0]
    highest = values[-1]
    words = (
        f"{len(numbers):,} numbers from {lowest:g} to {highest:g} "
        f"({len(values):,} different){gaps}"
    )
    if slips:
        words = f"{words}, {slips:,} no number"
    kind: Kind = "number"
    is_without_gap = highest - lowest == len(values) - 1
    is_row_of_integers = is_without_gap and not (values % 1).any()
    if len(values) <= _MOST_VALUES:
        if not (values * 2 % 1).any():
            kind = "rating"
    # integers, each as often as the others, number something
    elif is_row_of_integers and len(set(counts)) == 1:
        kind = "name"
    return Content(name, kind, words, varies=len(values) > 1)


def of_columns(rows: Rows) -> list[Content]:
    """What each column of a file's rows holds, as they are written."""
    contents = []
    for name in rows.columns:
        contents.append(content(name, rows.given[name].tolist()))
    return contents


def words_for(rows: Rows, needs: Collection[str]) -> tuple[list[str], list[str]]:
    """What `--map` and `--values` would say for what a file's names do not tell."""
    lacking = {*needs} - {*rows.theirs}
    if "preference" in needs:
        mapping = _of_pairs(rows).mapping
        return [f"{ours}={mapping[ours]}" for ours in needs if ours in mapping], []
    if rated_columns.ratings_in(rows.theirs):
        lacking.discard("human")
    if not lacking or is_of_pairs(rows.columns):
        return [], []
    contents = of_columns(rows)
    proposal = proposed(rows, contents)
    if "human" not in needs:
        proposal = replace(proposal, raters=(), criteria=())
    return mapping_said(proposal), values_said(proposal, contents)


def mapping_said(proposal: Proposal) -> list[str]:
    """What says a proposal: texts of `--map`. Of several criteria the first is taken."""
    mapping = [f"{ours}={name}" for ours, name in proposal.mapping.items()]
    people = [*proposal.criteria[:1], *proposal.raters]
    if proposal.criteria or len(people) == 1:
        return [*mapping, *(f"{RATING}={name}" for name in people[:1])]
    for number, name in enumerate(people, start=1):
        mapping.append(f"rater_{number}={name}")
    return mapping


def values_said(
    proposal: Proposal, contents: Sequence[Content], further: Sequence[str] = ()
) -> list[str]:
    """What says the words that stand for ratings: texts of `--values`."""
    columns_used = {*proposal.mapping.values(), *further}
    columns_used.update(proposal.raters, proposal.criteria)
    values = {column.values for column in contents if column.name in columns_used}
    return sorted(values - {""})


def is_of_pairs(columns: Sequence[str]) -> bool:
    """Whether names of columns say that a row is a pair of outputs."""
    return len(_PAIRED.intersection(columns)) > 1 or "preference" in columns


def _has_verdicts(rows: Rows, by_name: Mapping[str, Content]) -> bool:
    """Whether what people say are words for verdicts on pairs."""
    names = list(rows.plan.sources.get(RATING, ()))
    if _outputs_of_pairs(rows):
        names += [name for name in rows.columns if _OF_PEOPLE.search(name)]
    for name in names:
        is_words = by_name[name].kind not in ("rating", "number", "empty")
        if is_words and are_verdicts(rows.given[name].tolist()):
            return True
    return False


def are_verdicts(values: Sequence[Any]) -> bool:
    """Whether every cell can be a verdict on a pair, and some name an output."""
    try:
        verdicts = {as_verdict(value) for value in values}
    except ValueError:
        return False
    return 1.0 in verdicts or 2.0 in verdicts


def proposed(rows: Rows, contents: Sequence[Content]) -> Proposal:
    """What the columns may be that no word of the user and no usual name takes."""
    by_name = {column.name: column for column in contents}
    names_used: set[str] = set()
    for ours, names in rows.plan.sources.items():
        if known(ours):
            names_used.update(names)
    free = [name for name in rows.columns if name not in names_used]
    if is_of_pairs(rows.columns) or _has_verdicts(rows, by_name):
        return _of_pairs(rows)
    reasons: dict[str, str] = {}
    mapping = _texts(rows, by_name, free, reasons)
    mapping |= _places(rows, by_name, free, mapping, reasons)
    recorded = rated_columns.recorded_scores(rows, rows.columns)
    scores = list(recorded)
    rated: list[str] = []
    for name in free:
        if name in mapping.values() or name in recorded:
            continue
        column = by_name[name]
        if not _may_be_measured(column):
            continue
        looks_rated = column.kind == "rating" and not _OF_JUDGE.search(name)
        if looks_rated or _OF_PEOPLE.search(name):
            rated.append(name)
            reasons[name] = "few different numbers"
        elif _OF_JUDGE.search(name):
            scores.append(name)
            reasons[name] = "numbers, by its name a judge's"
    has_ratings = RATING in rows.theirs
    if has_ratings and not recorded:
        # whose ratings is said: other columns of few numbers may be a judge's
        scores += rated
        rated = []
    # a column that is called as an aspect of a data set has a criterion's ratings
    aspects: set[str] = set()
    for data_set in datasets.NAMES:
        aspects.update(aspect.lower() for aspect in datasets.spec(data_set).scale)
    criteria = [name for name in rated if name.lower() in aspects]
    raters = [name for name in rated if name.lower() not in aspects]
    if RATER in rows.theirs and raters and not has_ratings:
        mapping[RATING] = raters[0]
        raters = []
    return Proposal(mapping, scores, raters, criteria, why=reasons)


def _may_be_measured(column: Content) -> bool:
    """Whether a column holds different numbers that count or state nothing else."""
    if column.kind not in ("rating", "number") or not column.varies:
        return False
    if is_fact(column.name) or column.name.endswith("seen_in_training"):
        return False
    return not _COUNTED.fullmatch(column.name)


def _texts(
    rows: Rows,
    by_name: Mapping[str, Content],
    free: Sequence[str],
    reasons: dict[str, str],
) -> dict[str, str]:
    """Our column of texts, `output` and `instruction` -> the one it may be."""
    mapping: dict[str, str] = {}
    texts = [name for name in free if by_name[name].kind == "text"]
    if "output" not in rows.theirs and texts:
        like = nearest(rows.plan, texts, "output")
        output = like or texts[-1]
        mapping["output"] = output
        reasons[output] = "a name like an output's" if like else "texts"
        texts.remove(output)
    has_input = "instruction" in rows.theirs or "source" in rows.theirs
    if texts and not has_input:
        instruction = nearest(rows.plan, texts, "instruction") or texts[0]
        mapping["instruction"] = instruction
        reasons[instruction] = "texts"
    return mapping


def _places(
    rows: Rows,
    by_name: Mapping[str, Content],
    free: Sequence[str],
    mapping: Mapping[str, str],
    reasons: dict[str, str],
) -> dict[str, str]:
    """`input_id` and `system_id` -> columns that they may be."""
    if "input_id" in rows.theirs and "system_id" in rows.theirs:
        return {}
    short = [name for name in free if by_name[name].kind in ("label", "name")]
    inputs = list(rows.plan.sources.get("input_id", ()))
    if not inputs:
        texts = [mapping.get("instruction", "")]
        texts += rows.plan.sources.get("instruction", ())
        inputs = short + [name for name in texts if name]
    systems = rows.plan.sources.get("system_id") or short
    # there are fewer systems than inputs, as a rule
    systems = sorted(systems, key=lambda name: rows.given[name].nunique())
    for system, place in product(systems, inputs):
        if place == system:
            continue
        # each input has every system once
        table = pd.crosstab(
            rows.given[place].astype(str), rows.given[system].astype(str)
        )
        if min(table.shape) < 2 or not (table.to_numpy() == 1).all():
            continue
        crossed_names = {}
        if "input_id" not in rows.theirs:
            crossed_names["input_id"] = place
            reasons.setdefault(place, f"each value once beside each of {system}")
        if "system_id" not in rows.theirs:
            crossed_names["system_id"] = system
            reasons[system] = f"each value once beside each of {place}"
        return crossed_names
    return {}


def _of_pairs(rows: Rows) -> Proposal:
    """What the columns of verdicts on pairs may be: people's, and judges'."""
    verdicts = []
    for name in rows.columns:
        is_other = name in _PAIRED or _COUNTED.fullmatch(name)
        if not is_other and are_verdicts(rows.given[name].tolist()):
            verdicts.append(name)
    people = [name for name in verdicts if _OF_PEOPLE.search(name)]
    people.sort(key=lambda name: "human" not in name.lower())
    chosen = people[:1]
    further = [name for name in verdicts if name not in chosen]
    mapping = _outputs_of_pairs(rows)
    if chosen and "preference" not in rows.theirs:
        mapping["preference"] = chosen[0]
    return Proposal(
        mapping,
        scores=further,
        verdicts=chosen + further,
        why=dict.fromkeys(verdicts, "verdicts on pairs"),
    )


def _outputs_of_pairs(rows: Rows) -> dict[str, str]:
    """`output_1` and `output_2` -> columns such as answer_a and answer_b."""
    if {*OUTPUTS} <= {*rows.theirs}:
        return {}
    for name in rows.columns:
        texts = {cell for cell in rows.given[name] if isinstance(cell, str)}
        if len(texts) < _LEAST_TEXTS:
            continue
        for first, second in _ENDS:
            other = f"{name.removesuffix(first)}{second}"
            if name.endswith(first) and other in rows.columns:
                return dict(zip(OUTPUTS, (name, other), strict=True))
    return {}
