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
TAGS = (
    "none",
    *KINDS,
)  # what is wrong with a value or verb of the output, where it stands
MOST = 3  # errors of one kind
KEYS = tuple(ATTRIBUTES)
N_COUNTS = len(KINDS) * (MOST + 1) + len(
    KEYS
)  # how many of each kind, which attributes are left out


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
    prompts = tokenizer([e.prompt for e in examples], return_offsets_mapping=True)
    answers = tokenizer(
        [e.answer for e in examples], add_special_tokens=False
    ).input_ids
    rows = []
    for example, ids, offsets, answer in zip(
        examples, prompts.input_ids, prompts.offset_mapping, answers, strict=True
    ):
        tags, places, counts, omitted = _labels(example, offsets)
        rows.append(Row([*ids, *answer, EOS], len(ids), tags, places, counts, omitted))
    return rows


def _labels(example: Example, offsets: Sequence[tuple[int, int]]):
    item = example.item
    if item is None:
        return [], [], [], []
    begin = example.prompt.index(item.output)
    end = begin + len(item.output)
    token_at = {stop: place for place, (_, stop) in enumerate(offsets) if stop > 0}
    tags = [
        (token_at[begin + stop], TAGS.index(kind))
        for stop, kind in spans(item)
        if begin + stop in token_at
    ]
    after = next(
        place for place, (first, stop) in enumerate(offsets) if stop > end and place > 0
    )
    counts = [min(MOST, item.kinds.count(kind)) for kind in KINDS]
    omitted = [
        int(any(e.kind == "omission" and e.key == key for e in item.errors))
        for key in KEYS
    ]
    return tags, sorted({after, len(offsets) - 1}), counts, omitted


def spans(item: Item) -> Iterator[tuple[int, str]]:
    """Where each value and each verb of an output ends, and what is wrong with it."""
    start = 0
    off = "off_topic" in item.kinds
    for clause in item.clauses:
        text = clause.text
        kind = "off_topic" if off else clause.error.kind if clause.error else "none"
        place = text.find(clause.value)
        yield start + place + len(clause.value), "none" if kind == "grammar" else kind
        verb = clause.verb[1 if clause.broken else 0]
        yield (
            start + text.index(f" {verb}") + 1 + len(verb),
            "grammar" if clause.broken else "none",
        )
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
    examples = [
        make_example(rng, make_item(rng, mix), only, mix.lists, mix.long)
        for _ in range(size)
    ]
    return batched(rng, tokenizer, examples, tokens)


def batched(
    rng: random.Random, tokenizer: Any, examples: Sequence[Example], tokens: int
) -> list[Batch]:
    """Examples as batches of at most `tokens` tokens: sorted by length, in random
    order.
    """
    rows = sorted(encode(tokenizer, examples), key=lambda row: len(row.ids))
    batches = []
    taken = []
    for row in rows:
        if taken and (len(taken) + 1) * len(row.ids) > tokens:
            batches.append(collate(taken))
            taken = []
        taken.append(row)
    batches.append(collate(taken))
    rng.shuffle(batches)
    return batches
