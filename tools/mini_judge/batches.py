"""Examples as batches of tokens: made from a seed and a number, so that a run can go
on from any of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tools.mini_judge.criteria import KINDS
from tools.mini_judge.domains import ATTRIBUTES
from tools.mini_judge.prompts import Example, make_example
from tools.mini_judge.records import Item, Mix, make_item
from tools.mini_judge.tokens import EOS, PAD

NONE = -100
# what is wrong with a value or verb of the output, where it stands
TAGS = ("none", *KINDS)
MOST = 3  # errors of one kind
KEYS = tuple(ATTRIBUTES)
# how many errors of each kind there are, which attributes are left out
N_COUNTS = len(KINDS) * (MOST + 1) + len(KEYS)


@dataclass(frozen=True, slots=True)
class Row:
    """One example as tokens; `start`: where the answer begins; tags and counts: what
    the side heads learn, by place.
    """

    ids: list[int]
    start: int
    tags: list[tuple[int, int]]
    places: list[int]
    counts: list[int]
    omitted: list[int]


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of like length, padded on the right.

    `answer`: (row, place) pairs that predict `target`.
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
    """Examples as rows."""
    prompts = tokenizer(
        [example.prompt for example in examples], return_offsets_mapping=True
    )
    answers = tokenizer(
        [example.answer for example in examples], add_special_tokens=False
    )
    rows = []
    for example, prompt, offsets, answer in zip(
        examples,
        prompts.input_ids,
        prompts.offset_mapping,
        answers.input_ids,
        strict=True,
    ):
        labels = _labels(example, offsets)
        rows.append(Row([*prompt, *answer, EOS], len(prompt), *labels))
    return rows


def _labels(
    example: Example, offsets: Sequence[tuple[int, int]]
) -> tuple[list[tuple[int, int]], list[int], list[int], list[int]]:
    """What the side heads learn of an example, as `Row` has it."""
    item = example.item
    if item is None:
        return [], [], [], []
    begin = example.prompt.index(item.output)
    end = begin + len(item.output)
    place_of_end = {stop: place for place, (_, stop) in enumerate(offsets) if stop > 0}
    tags = []
    for stop, kind in spans(item):
        if begin + stop in place_of_end:
            tags.append((place_of_end[begin + stop], TAGS.index(kind)))
    behind_output = next(
        place for place, (_, stop) in enumerate(offsets) if stop > end and place > 0
    )
    counts = [min(MOST, item.kinds.count(kind)) for kind in KINDS]
    omitted_keys = {error.key for error in item.errors if error.kind == "omission"}
    omitted = [int(key in omitted_keys) for key in KEYS]
    return tags, sorted({behind_output, len(offsets) - 1}), counts, omitted


def spans(item: Item) -> Iterator[tuple[int, str]]:
    """Where each value and each verb of an output ends, and what is wrong with it."""
    start = 0
    for clause in item.clauses:
        text = clause.text
        kind = "none"
        if "off_topic" in item.kinds:
            kind = "off_topic"
        elif clause.error and clause.error.kind != "grammar":
            kind = clause.error.kind
        place = text.find(clause.value)
        yield start + place + len(clause.value), kind
        verb = clause.verb[int(clause.broken)]
        of_verb = "grammar" if clause.broken else "none"
        yield start + text.index(f" {verb}") + 1 + len(verb), of_verb
        start += len(text) + 1


def collate(rows: Sequence[Row]) -> Batch:
    """Rows as one batch."""
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
        ids[number, : len(row.ids) - 1] = row.ids[:-1]
        for place in range(row.start - 1, len(row.ids) - 1):
            answer.append((number, place))
            target.append(row.ids[place + 1])
        for place, kind in row.tags:
            tag_at.append((number, place))
            tag.append(kind)
        for place in row.places:
            count_at.append((number, place))
            count.append(row.counts)
            omitted.append(row.omitted)
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
    """The batches of one chunk of `size` examples."""
    rng = random.Random(f"{seed}:{number}")
    examples = []
    for _ in range(size):
        item = make_item(rng, mix)
        examples.append(make_example(rng, item, only, mix.lists, mix.long))
    return batched(rng, tokenizer, examples, tokens)


def batched(
    rng: random.Random, tokenizer: Any, examples: Sequence[Example], tokens: int
) -> list[Batch]:
    """Examples as batches of at most `tokens` tokens: sorted by length, in random
    order.
    """
    batches = []
    rows: list[Row] = []
    for row in sorted(encode(tokenizer, examples), key=lambda row: len(row.ids)):
        if rows and (len(rows) + 1) * len(row.ids) > tokens:
            batches.append(collate(rows))
            rows = []
        rows.append(row)
    batches.append(collate(rows))
    rng.shuffle(batches)
    return batches
