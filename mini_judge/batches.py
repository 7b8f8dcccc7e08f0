"""Examples as batches of tokens: made from a seed and a number, so that a run can go on
from any of them.

`chunk` makes the examples of a number and their batches; `encode` turns an example into
a `Row` with the `Labels` of the side heads, `collate` turns rows of like length into a
`Batch`. The side heads are trained to name the errors where they stand; the checkpoint
has none.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mini_judge.criteria import KINDS
from mini_judge.domains import ATTRIBUTES
from mini_judge.prompts import Example, make_example
from mini_judge.records import Clause, Item, Mix, make_item
from mini_judge.tokens import EOS, PAD

# what is wrong with a value or verb of the output, where it stands
TAGS = ("none", *KINDS)
MOST = 3  # errors of one kind
# the attributes, in the order in which a head says which are left out
KEYS = tuple(ATTRIBUTES)
# how many errors of each kind there are, which attributes are left out
N_COUNTS = len(KINDS) * (MOST + 1) + len(KEYS)


@dataclass(frozen=True, slots=True)
class Labels:
    """What the side heads learn of an example.

    tags: a place and what is wrong with the value or verb that ends there, as a number
        of `TAGS`.
    places: where the counts are asked for: right behind the output, and at the prompt's
        end.
    counts: how many errors of each kind, `MOST` at most.
    omitted: 1 for each of `KEYS` that is left out.
    """

    tags: list[tuple[int, int]] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    omitted: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Row:
    """One example as tokens.

    ids: of prompt, answer and end.
    start: where the answer begins.
    """

    ids: list[int]
    start: int
    labels: Labels


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of like length, padded on the right.

    ids: [rows, time].
    answer: (row, place) pairs that predict `target`, the next token of an answer.
    tag_at: the pairs of which a side head says `tag`.
    count_at: the pairs of which a side head says `count`, a number a kind, and
        `omitted`, a number an attribute.
    """

    ids: np.ndarray
    answer: np.ndarray
    target: np.ndarray
    tag_at: np.ndarray
    tag: np.ndarray
    count_at: np.ndarray
    count: np.ndarray
    omitted: np.ndarray

    @property
    def tokens(self) -> int:
        """Tokens without padding."""
        return int((self.ids != PAD).sum())


def encode(tokenizer: Any, examples: Sequence[Example]) -> list[Row]:
    """Examples as rows, in their order.

    tokenizer: of `tokens.build`.
    """
    prompts = [example.prompt for example in examples]
    answers = [example.answer for example in examples]
    # Prompt and answer apart, so that no token spans both; the offsets say where each
    # token stands in the prompt.
    prompt_tokens = tokenizer(prompts, return_offsets_mapping=True)
    answer_tokens = tokenizer(answers, add_special_tokens=False)
    rows = []
    for example, prompt_ids, offsets, answer_ids in zip(
        examples,
        prompt_tokens.input_ids,
        prompt_tokens.offset_mapping,
        answer_tokens.input_ids,
        strict=True,
    ):
        ids = [*prompt_ids, *answer_ids, EOS]
        rows.append(Row(ids, len(prompt_ids), _labels(example, offsets)))
    return rows


def _labels(example: Example, offsets: Sequence[tuple[int, int]]) -> Labels:
    """What the side heads learn of an example; nothing where it is of no item."""
    item = example.item
    if item is None:
        return Labels()
    begin = example.prompt.index(item.output)
    end = begin + len(item.output)
    # A label belongs to the token with which a value or verb ends; the mark <s> ends at
    # 0.
    place_of_end = {}
    for place, (_, stop) in enumerate(offsets):
        if stop > 0:
            place_of_end[stop] = place
    tags = []
    for stop, kind in spans(item):
        place_of_tag = place_of_end.get(begin + stop)
        if place_of_tag is not None:
            tags.append((place_of_tag, TAGS.index(kind)))
    places = {_place_behind(end, offsets), len(offsets) - 1}
    counts = [min(MOST, item.kinds.count(kind)) for kind in KINDS]
    return Labels(tags, sorted(places), counts, _omitted(item))


def _place_behind(end: int, offsets: Sequence[tuple[int, int]]) -> int:
    """The first token that reaches beyond a place of the text."""
    for place, (_, stop) in enumerate(offsets):
        if stop > end and place > 0:
            return place
    raise ValueError("no token stands behind the output")


def _omitted(item: Item) -> list[int]:
    """1 for each of `KEYS` that the output leaves out, else 0."""
    keys = set()
    for error in item.errors:
        if error.kind == "omission":
            keys.add(error.key)
    return [int(key in keys) for key in KEYS]


def spans(item: Item) -> Iterator[tuple[int, str]]:
    """Where each value and each verb of an output ends, and what is wrong with it: a
    place in the output's text and a word of `TAGS`.
    """
    start = 0
    for clause in item.clauses:
        text = clause.text
        value_start = start + text.find(clause.value)
        yield value_start + len(clause.value), _fault_of_value(item, clause)
        verb = clause.verb[int(clause.broken)]
        verb_start = start + text.index(f" {verb}") + 1
        yield verb_start + len(verb), "grammar" if clause.broken else "none"
        # a blank stands between sentences
        start += len(text) + 1


def _fault_of_value(item: Item, clause: Clause) -> str:
    """The kind of error that a sentence's value is; "none" where it is right."""
    if "off_topic" in item.kinds:
        return "off_topic"
    if clause.error is None or clause.error.kind == "grammar":
        return "none"
    return clause.error.kind


def collate(rows: Sequence[Row]) -> Batch:
    """Rows as one batch, in their order."""
    width = max(len(row.ids) for row in rows) - 1
    ids = np.full((len(rows), width), PAD, np.int64)
    answer = []
    target = []
    tag_at = []
    tag = []
    count_at = []
    count = []
    omitted = []
    for number, row in enumerate(rows):
        last = len(row.ids) - 1  # it predicts nothing
        ids[number, :last] = row.ids[:last]
        for place in range(row.start - 1, last):
            answer.append((number, place))
            target.append(row.ids[place + 1])
        labels = row.labels
        for place, kind in labels.tags:
            tag_at.append((number, place))
            tag.append(kind)
        for place in labels.places:
            count_at.append((number, place))
            count.append(labels.counts)
            omitted.append(labels.omitted)
    return Batch(
        ids,
        np.array(answer, np.int64),
        np.array(target, np.int64),
        np.array(tag_at, np.int64).reshape(-1, 2),
        np.array(tag, np.int64),
        np.array(count_at, np.int64).reshape(-1, 2),
        np.array(count, np.int64).reshape(-1, len(KINDS)),
        np.array(omitted, np.float32).reshape(-1, len(KEYS)),
    )


def chunk(
    tokenizer: Any,
    seed: int,
    number: int,
    size: int,
    tokens: int,
    mix: Mix,
    only: str | None = None,
) -> list[Batch]:
    """The batches of one chunk, each of at most `tokens` tokens.

    tokenizer: of `tokens.build`.
    number: of the chunk; with the seed it determines the examples.
    """
    rng = random.Random(f"{seed}:{number}")
    examples = []
    for _ in range(size):
        item = make_item(rng, mix)
        example = make_example(rng, item, only, mix.lists, mix.long)
        examples.append(example)
    return batched(rng, tokenizer, examples, tokens)


def batched(
    rng: random.Random, tokenizer: Any, examples: Sequence[Example], tokens: int
) -> list[Batch]:
    """Examples as batches of at most `tokens` tokens, padding included: sorted by
    length, in random order.

    A single example that is longer is a batch of its own.
    """
    by_length = sorted(encode(tokenizer, examples), key=lambda row: len(row.ids))
    batches = []
    rows: list[Row] = []
    for row in by_length:
        # rows come by length, so the newest is the longest and says how wide the batch
        # is
        padded_size = (len(rows) + 1) * len(row.ids)
        if rows and padded_size > tokens:
            batches.append(collate(rows))
            rows = []
        rows.append(row)
    batches.append(collate(rows))
    rng.shuffle(batches)
    return batches
