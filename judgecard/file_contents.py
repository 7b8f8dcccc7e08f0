"""What the columns of somebody's file hold, and what each is likely to be: a proposal.

`content` says of a column's cells what they are; `proposed` says, of columns that no
name of ours or usual name takes, which may be outputs, ratings, scores, inputs and
systems. Nothing is taken by it: a person reads the proposal and says it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from judgecard import rated_columns
from judgecard.pair_judges import as_verdict
from nlgeval_lib import datasets
from nlgeval_lib.scoring.cells import as_number, is_missing
from nlgeval_lib.scoring.columns import RATER, RATING, is_fact, known, nearest
from nlgeval_lib.scoring.rows import Parts
from nlgeval_lib.scoring.score_files import score_columns

Kind = Literal["empty", "text", "name", "rating", "number", "label", "object"]
# A scale from 0 to 10 has so many values; a column with more is no column of ratings.
_MOST_VALUES = 11
_MOST_LABELS = 12
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
_PAIRED = (
    "model_1",
    "model_2",
    "output_1",
    "output_2",
    "system_1",
    "system_2",
    "model_a",
    "model_b",
)


@dataclass(frozen=True)
class Content:
    """What the cells of a column are.

    name: of the column.
    kind: "rating" for few different numbers, "number" for others, "label" for few
    different words, "name" for short words, "text" for longer ones.
    words: the same for a person.
    slips: cells among numbers that are none.
    values: what words stand for, as `--values` has it, where ratings are words.
    varies: whether it holds several different values.
    """

    name: str
    kind: Kind
    words: str
    slips: tuple[str, ...] = ()
    values: str = ""
    varies: bool = True


@dataclass(frozen=True)
class Proposal:
    """What a file's columns may be, where nobody has said it.

    mapping: our column -> the file's, to be said by `--map`.
    scores, raters, criteria: columns with a judge's scores; with people's ratings, one
    a rater; with ratings by one criterion each.
    verdicts: columns with verdicts on pairs, those of people first.
    why: column -> what speaks for it.
    """

    mapping: Mapping[str, str] = field(default_factory=dict)
    scores: Sequence[str] = ()
    raters: Sequence[str] = ()
    criteria: Sequence[str] = ()
    verdicts: Sequence[str] = ()
    why: Mapping[str, str] = field(default_factory=dict)


def content(name: str, values: Sequence[Any]) -> Content:
    """What the cells of a column are.

    values: as they are written in the file.

    Example:
    >>> content("anna", ["1", "4", "", "5", "x4", *"12345" * 4]).words
    '23 numbers from 1 to 5 (5 different), 1 missing, 1 no number'
    """
    present = []
    for value in values:
        if not is_missing(value) and str(value).strip():
            present.append(value)
    gaps = _gaps(len(values) - len(present))
    if not present:
        return Content(name, "empty", "nothing")
    if any(isinstance(value, list | dict | tuple) for value in present):
        return Content(name, "object", f"lists or objects{gaps}")
    numbers, slips = _numbers(present)
    if len(numbers) >= _MOSTLY * len(present):
        return _of_numbers(name, np.array(numbers), gaps, slips)
    texts = [str(value).strip() for value in present]
    different = set(texts)
    lengths = list(map(len, texts))
    is_short = len(different) <= _MOST_LABELS and max(lengths) <= _LABEL_LENGTH
    stand_for = ""
    if is_short:
        stand_for = _stand_for(different)
    if stand_for or (is_short and len(texts) >= _REPEATS * len(different)):
        listed = sorted(different)
        if len(listed) > 4:
            listed[4:] = ["..."]
        described = f"{len(different)} words: {', '.join(listed)}{gaps}"
        kind_of_label: Kind = "label"
        if stand_for:
            kind_of_label = "rating"
        return Content(name, kind_of_label, described, values=stand_for)
    words = pd.Series(texts).str.split().str.len().median()
    kind: Kind = "name"
    if words >= _TEXT_WORDS or np.median(lengths) > _TEXT_LENGTH:
        kind = "text"
    counted = f"{len(different):,} different {kind}s"
    length = f"about {np.median(lengths):.0f} characters"
    return Content(name, kind, f"{counted}, {length}{gaps}")


def _stand_for(words: set[str]) -> str:
    """What a column's words stand for as numbers, as `--values` has it; "" for words
    of no order that is known.

    Example:
    >>> _stand_for({"Yes", "No"}), _stand_for({"1/5", "4/5"}), _stand_for({"a", "b"})
    ('No=0,Yes=1', 'N/5', '')
    """
    by_small = {word.lower(): word for word in words}
    if len(by_small) < len(words):
        return ""
    for lowest, highest in _TWO_WORDS:
        if {*by_small} == {lowest, highest}:
            return f"{by_small[lowest]}=0,{by_small[highest]}=1"
    for steps in _STEPS:
        if len(words) > 1 and {*by_small} <= {*steps}:
            numbered = enumerate(steps, start=1)
            numbered_words = [
                f"{by_small[s]}={n}" for n, s in numbered if s in by_small
            ]
            return ",".join(numbered_words)
    for form, ending in ((_SHARE, ""), (_LEADING, "*")):
        marks = {match[1] if (match := form.fullmatch(word)) else "" for word in words}
        if len(marks) == 1 and "" not in marks:
            return f"N{marks.pop()}{ending}"
    return ""


def _gaps(missing: int) -> str:
    return f", {missing:,} missing" if missing else ""


def _numbers(present: Sequence[Any]) -> tuple[list[float], list[str]]:
    """The numbers among cells, and the cells that are none."""
    numbers = []
    slips = []
    for value in present:
        try:
            number = as_number(value)
        except ValueError:
            slips.append(str(value))
            continue
        if not math.isnan(number):
            numbers.append(number)
    return numbers, slips


def _of_numbers(
    name: str, numbers: np.ndarray, gaps: str, slips: Sequence[str]
) -> Content:
    """The content of a column of numbers."""
    if not len(numbers):
        return Content(name, "empty", "nothing but words for a missing number")
    values, counts = np.unique(numbers, return_counts=True)
    words = (
        f"{len(numbers):,} numbers from {values[0]:g} to {values[-1]:g} "
        f"({len(values):,} different){gaps}"
    )
    if slips:
        words = f"{words}, {len(slips):,} no number"
    kind: Kind = "number"
    is_row_of_integers = (
        not (values % 1).any()
        and values[-1] - values[0] == len(values) - 1
        and len(set(counts)) == 1
    )
    if is_row_of_integers and len(values) > _MOST_VALUES:
        kind = "name"
    elif len(values) <= _MOST_VALUES and not (values * 2 % 1).any():
        kind = "rating"
    return Content(name, kind, words, tuple(slips), varies=len(values) > 1)


def of_columns(rows: Parts) -> tuple[pd.DataFrame, list[Content]]:
    """A file's rows as they are written, no cell checked, and what each column holds."""
    frame = pd.concat(list(rows.frames([*rows.columns]))).head(len(rows))
    contents = []
    for name in rows.columns:
        contents.append(content(name, frame[name].tolist()))
    return frame, contents


def words_for(rows: Parts, needs: Collection[str]) -> tuple[list[str], list[str]]:
    """What `--map` and `--values` would say for what a file's names do not tell.

    needs: of "output" and "human", what is needed.
    Returns: none of either where the file has all that is needed, or rows of pairs.
    """
    lacking = {*needs} - {*rows.theirs}
    if rated_columns.ratings_in(rows.theirs):
        lacking.discard("human")
    if not lacking or is_of_pairs(rows.columns):
        return [], []
    frame, contents = of_columns(rows)
    proposal = proposed(rows, frame, contents)
    if "human" not in needs:
        proposal = replace(proposal, raters=(), criteria=())
    mapping = [f"{ours}={name}" for ours, name in proposal.mapping.items()]
    mapping += raters_said(proposal)
    columns_used = {*proposal.raters, *proposal.criteria, *proposal.mapping.values()}
    values = {column.values for column in contents if column.name in columns_used}
    return mapping, sorted(values - {""})


def raters_said(proposal: Proposal) -> list[str]:
    """What says who rated: texts of `--map`. Of several criteria the first is taken."""
    if proposal.criteria:
        return [f"{RATING}={proposal.criteria[0]}"]
    if len(proposal.raters) == 1:
        return [f"{RATING}={proposal.raters[0]}"]
    mapping = []
    for number, name in enumerate(proposal.raters, start=1):
        mapping.append(f"rater_{number}={name}")
    return mapping


def is_of_pairs(columns: Sequence[str]) -> bool:
    """Whether names of columns say that a row is a pair of outputs."""
    return len({*columns} & {*_PAIRED}) > 1 or "preference" in columns


def _has_verdicts(
    rows: Parts, frame: pd.DataFrame, by_name: Mapping[str, Content]
) -> bool:
    """Whether what people say are words for verdicts on pairs."""
    for name in rows.plan.sources.get(RATING, ()):
        is_number = by_name[name].kind in ("rating", "number", "empty")
        if not is_number and are_verdicts(frame[name].tolist()):
            return True
    return False


def are_verdicts(values: Sequence[Any]) -> bool:
    """Whether every cell can be a verdict on a pair, and some name an output."""
    try:
        read = {as_verdict(value) for value in values}
    except ValueError:
        return False
    return bool(read & {1.0, 2.0})


def proposed(rows: Parts, frame: pd.DataFrame, contents: Sequence[Content]) -> Proposal:
    """What the columns may be that no word of the user and no usual name takes.

    rows: the file, with its plan. frame: its rows as they are written.
    contents: of each column.
    """
    by_name = {column.name: column for column in contents}
    names_used: set[str] = set()
    for ours, names in rows.plan.sources.items():
        if known(ours):
            names_used.update(names)
    free = [name for name in rows.columns if name not in names_used]
    if is_of_pairs(rows.columns) or _has_verdicts(rows, frame, by_name):
        return _of_pairs(rows, frame)
    why: dict[str, str] = {}
    mapping = _texts(rows, by_name, free, why)
    mapping |= _places(rows, frame, by_name, free, mapping, why)
    recorded = _with_status(rows)
    scores = list(recorded)
    raters: list[str] = []
    for name in free:
        is_numeric = by_name[name].kind in ("rating", "number")
        if not is_numeric or name in mapping.values():
            continue
        if name in recorded or is_fact(name) or name.endswith("seen_in_training"):
            continue
        if _COUNTED.fullmatch(name) or not by_name[name].varies:
            continue
        if _is_rating(by_name[name]):
            raters.append(name)
            why[name] = "few different numbers"
        elif _OF_JUDGE.search(name):
            scores.append(name)
            why[name] = "numbers, by its name a judge's"
    if RATING in rows.theirs and not recorded:
        # whose ratings is said: other columns of few numbers may be a judge's
        scores += [name for name in raters if name not in scores]
        raters = []
    criteria = [name for name in raters if name.lower() in _known_aspects()]
    raters = [name for name in raters if name not in criteria]
    if RATER in rows.theirs and raters and RATING not in rows.theirs:
        mapping[RATING] = raters[0]
        raters = []
    return Proposal(mapping, scores, raters, criteria, (), why)


def _is_rating(column: Content) -> bool:
    """Whether a column of numbers may be a person's ratings, by its name and cells."""
    if _OF_PEOPLE.search(column.name):
        return True
    return column.kind == "rating" and not _OF_JUDGE.search(column.name)


def _known_aspects() -> set[str]:
    """The aspects of all data sets: a column of that name has a criterion's ratings."""
    aspects: set[str] = set()
    for name in datasets.NAMES:
        aspects.update(aspect.lower() for aspect in datasets.spec(name).scale)
    return aspects


def _with_status(rows: Parts) -> list[str]:
    """The columns that `nlgeval score` wrote: recorded, or with a status beside."""
    recorded = rows.earlier.get("scores", {})
    present = []
    for name in rows.columns:
        has_status = score_columns(name)[1] in rows.columns and name != "status"
        if has_status or name in recorded:
            present.append(name)
    return present


def _texts(
    rows: Parts, by_name: Mapping[str, Content], free: list[str], why: dict[str, str]
) -> dict[str, str]:
    """Our column of texts, `output` and `instruction` -> the one it may be."""
    mapping: dict[str, str] = {}
    texts = [name for name in free if by_name[name].kind == "text"]
    if "output" not in rows.theirs and texts:
        likely = nearest(rows.plan, texts, "output")
        mapping["output"] = likely or texts[-1]
        why[mapping["output"]] = "a name like an output's" if likely else "texts"
        texts.remove(mapping["output"])
    if texts and not {"instruction", "source"} & {*rows.theirs}:
        likely = nearest(rows.plan, texts, "instruction")
        mapping["instruction"] = likely or texts[0]
        why[mapping["instruction"]] = "texts"
    return mapping


def _places(
    rows: Parts,
    frame: pd.DataFrame,
    by_name: Mapping[str, Content],
    free: Sequence[str],
    mapping: Mapping[str, str],
    why: dict[str, str],
) -> dict[str, str]:
    """`input_id` and `system_id` -> columns that they may be: two of which no pair of
    values stands in two rows, and each value of both in several.
    """
    if "input_id" in rows.theirs and "system_id" in rows.theirs:
        return {}
    short = [name for name in free if by_name[name].kind in ("label", "name")]
    texts = [mapping.get("instruction", "")]
    texts += rows.plan.sources.get("instruction", ())
    inputs = rows.plan.sources.get("input_id") or [*short, *filter(None, texts)]
    systems = rows.plan.sources.get("system_id") or short
    # there are fewer systems than inputs, as a rule
    systems = sorted(systems, key=lambda name: frame[name].nunique())
    for system in systems:
        for place in inputs:
            if place == system or not _crossed(frame[place], frame[system]):
                continue
            crossed_names = {}
            if "input_id" not in rows.theirs:
                crossed_names["input_id"] = place
                why.setdefault(place, f"each value once beside each of {system}")
            if "system_id" not in rows.theirs:
                crossed_names["system_id"] = system
                why[system] = f"each value once beside each of {place}"
            return crossed_names
    return {}


def _crossed(inputs: pd.Series, systems: pd.Series) -> bool:
    """Whether columns name inputs and systems: each input has every system once."""
    table = pd.crosstab(inputs.astype(str), systems.astype(str))
    several = min(table.shape) > 1
    return several and bool((table.to_numpy() == 1).all())


def _of_pairs(rows: Parts, frame: pd.DataFrame) -> Proposal:
    """What the columns of verdicts on pairs may be: people's, and judges'.

    Of several that may be people's, one that is called human comes first.
    """
    verdicts = []
    for name in rows.columns:
        if name in _PAIRED or _COUNTED.fullmatch(name):
            continue
        if are_verdicts(frame[name].tolist()):
            verdicts.append(name)
    people = list(filter(_OF_PEOPLE.search, verdicts))
    people.sort(key=lambda name: "human" not in name.lower())
    further = [name for name in verdicts if name not in people[:1]]
    why = dict.fromkeys(verdicts, "verdicts on pairs")
    return Proposal(scores=further, verdicts=[*people[:1], *further], why=why)
