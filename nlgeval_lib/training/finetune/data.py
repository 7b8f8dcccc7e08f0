"""Examples as token ids: the prompt as the evaluator will send it, the completion, and loss on the completion alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from nlgeval_lib.evaluators.chat import ChatFormat
from nlgeval_lib.training.finetune.config import Config
from nlgeval_lib.training.sieve import Rule, Sieve

IGNORED = -100  # the label of a token that the loss leaves out


@dataclass(frozen=True)
class Tokens:
    """The examples to train on, as ids and labels, and a `Sieve` with what was left out."""

    rows: list[dict[str, list[int]]]
    ids: list[str]
    sieve: Sieve

    @property
    def total(self) -> int:
        """Tokens of all examples."""
        return sum(len(row["input_ids"]) for row in self.rows)

    @property
    def answers(self) -> int:
        """Tokens that the loss counts."""
        return sum(label != IGNORED for row in self.rows for label in row["labels"])

    @property
    def longest(self) -> int:
        """Tokens of the longest example, 0 without any."""
        return max((len(row["input_ids"]) for row in self.rows), default=0)


def chosen(frame: pd.DataFrame, config: Config) -> tuple[pd.DataFrame, Sieve]:
    """The examples that a configuration trains on, by its `keep`; the others are counted.

    Raises: ValueError for a column that the examples do not have, or where none is left.
    """
    for column in config.keep:
        if column not in frame.columns:
            raise ValueError(
                f"{config.name} chooses examples by {column!r}, which they do not have; their columns: "
                f"{', '.join(map(str, frame.columns))}"
            )
    frame = frame.reset_index(drop=True)
    sieve: Sieve[int] = Sieve(lambda row: str(frame.at[row, "id"]))
    rules = [
        Rule(column, f"{column} is none of {', '.join(values)}", _other(frame[column], values), "ours")
        for column, values in config.keep.items()
    ]
    rows = sieve.through(rules, range(len(frame)))
    if not rows:
        wanted = "; ".join(f"{column} of {', '.join(values)}" for column, values in config.keep.items())
        raise ValueError(f"no example is left for {config.name}" + (f", which wants {wanted}" if wanted else ""))
    return frame.loc[rows].reset_index(drop=True), sieve


def _other(column: pd.Series, values: Sequence[str]) -> Any:
    return lambda row: "" if str(column.at[row]) in values else str(column.at[row])


def tokenized(frame: pd.DataFrame, tokenizer: Any, config: Config) -> Tokens:
    """Ids and labels of the examples; one longer than `max_length` is left out whole and counted.

    The prompt is wrapped as the evaluator wraps it and tokenised by itself, as an engine would; then the completion,
    after one blank, and the end of text.
    Raises: ValueError for a tokenizer without an end-of-text token, or where nothing is left.
    Source: loss on the completion: Prometheus, appendix E; one prompt for training and inference: TIGERScore, Table 9.
    """
    if tokenizer.eos_token_id is None:
        raise ValueError(f"the tokenizer of {config.base} has no end-of-text token, so a model would not learn to stop")
    kept, sieve = chosen(frame, config)
    texts = list(zip(kept["prompt"], kept["completion"], strict=True))
    rows = [encode(prompt, completion, tokenizer, config.chat) for prompt, completion in texts]
    long = Rule(
        "over_long",
        f"more than {config.max_length:,} tokens",
        lambda at: f"{len(rows[at]['input_ids']):,} tokens" if len(rows[at]["input_ids"]) > config.max_length else "",
        "ours",
    )
    sieve.name = lambda at: str(kept.at[at, "id"])
    left = sieve.through([long], range(len(rows)))
    if not left:
        shortest = min(len(row["input_ids"]) for row in rows)
        raise ValueError(f"no example fits into {config.max_length:,} tokens; the shortest has {shortest:,}")
    return Tokens([rows[at] for at in left], [str(kept.at[at, "id"]) for at in left], sieve)


def encode(prompt: str, completion: str, tokenizer: Any, chat: str = "raw") -> dict[str, list[int]]:
    """`input_ids` and `labels` of one example."""
    form = ChatFormat.named(chat)
    if form.style == "messages":
        messages: list[Mapping[str, str]] = [dict(message) for message in form.request(prompt).messages or ()]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        before = tokenizer(text, add_special_tokens=False)["input_ids"]
        said = completion
    else:
        before = tokenizer(form.text(prompt))["input_ids"]
        said = completion if form.text(prompt)[-1:].isspace() else f" {completion}"
    after = [*tokenizer(said, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    return {"input_ids": [*before, *after], "labels": [*[IGNORED] * len(before), *after]}
