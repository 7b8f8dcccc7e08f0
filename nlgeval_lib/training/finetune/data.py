"""Examples as token ids: the prompt as the evaluator will send it, the completion, and loss on the completion alone."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib.evaluators.judge import ChatFormat
from nlgeval_lib.training import sets
from nlgeval_lib.training.filters import Filters, Rule
from nlgeval_lib.training.finetune.config import Config

IGNORED = -100  # the label of a token that the loss leaves out


@dataclass(frozen=True)
class Tokens:
    """The examples to train on, as ids and labels, and `Filters` with what was left out."""

    rows: list[dict[str, list[int]]]
    filters: Filters

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

    def sha256(self) -> str:
        """What tells one run's data from another's."""
        digest = hashlib.sha256()
        for row in self.rows:
            digest.update(json.dumps([row["input_ids"], row["labels"]]).encode())
        return digest.hexdigest()


def examples(data: Path | str | pd.DataFrame) -> pd.DataFrame:
    """The examples of a set's folder, a JSONL file, or a frame. Raises: ValueError naming what lacks."""
    if isinstance(data, pd.DataFrame):
        if missing := [name for name in ("prompt", "completion") if name not in data.columns]:
            raise ValueError(f"the examples have no column {', '.join(missing)}")
        return data if "id" in data.columns else data.assign(id=[str(at) for at in range(len(data))])
    path = Path(data)
    return sets.load(path)[0] if path.is_dir() else sets.read(path)


def chosen(frame: pd.DataFrame, config: Config) -> tuple[pd.DataFrame, Filters]:
    """The examples that a configuration trains on, by its `keep`; the others are counted.

    Raises: ValueError for a column that the examples do not have, or where none is left.
    """
    for column in config.keep:
        if column not in frame.columns:
            raise ValueError(
                f"{config.name} chooses examples by {column!r}, which they do not have; their columns: "
                f"{', '.join(map(str, frame.columns))}"
            )
    filters: Filters[dict[str, Any]] = Filters(lambda row: str(row["id"]), lambda row: "all")
    rules = []
    for column, values in config.keep.items():
        says = f"{column} is none of {', '.join(values)}"

        def other(row: dict[str, Any], column: str = column, values: tuple[str, ...] = values) -> str:
            return "" if str(row[column]) in values else str(row[column])

        rules.append(Rule(column, says, other, "ours"))
    rows = filters.apply(rules, frame.to_dict("records"))
    if not rows:
        wanted = "; ".join(f"{column} of {', '.join(values)}" for column, values in config.keep.items())
        raise ValueError(f"no example is left for {config.name}" + (f", which wants {wanted}" if wanted else ""))
    return pd.DataFrame(rows, columns=frame.columns), filters


def tokenized(frame: pd.DataFrame, tokenizer: Any, config: Config) -> Tokens:
    """Ids and labels of the examples; one longer than `max_length` is left out whole and counted.

    The prompt is wrapped as the evaluator wraps it and tokenised by itself, as an engine would; then the completion,
    after one blank, and the end of text.
    Raises: ValueError for a tokenizer without an end-of-text token, or where nothing is left.
    Source: loss on the completion: Prometheus, appendix E; one prompt for training and inference: TIGERScore, Table 9.
    """
    if tokenizer.eos_token_id is None:
        raise ValueError(f"the tokenizer of {config.base} has no end-of-text token, so a model would not learn to stop")
    kept, filters = chosen(frame, config)
    encoded = [
        {"id": id, **encode(prompt, completion, tokenizer, config.chat)}
        for id, prompt, completion in zip(kept["id"], kept["prompt"], kept["completion"], strict=True)
    ]

    def long(row: dict[str, Any]) -> str:
        length = len(row["input_ids"])
        return f"{length:,} tokens" if length > config.max_length else ""

    left = filters.apply([Rule("over_long", f"more than {config.max_length:,} tokens", long, "ours")], encoded)
    if not left:
        shortest = min(len(row["input_ids"]) for row in encoded)
        raise ValueError(f"no example fits into {config.max_length:,} tokens; the shortest has {shortest:,}")
    return Tokens([{name: row[name] for name in ("input_ids", "labels")} for row in left], filters)


def encode(prompt: str, completion: str, tokenizer: Any, chat: str = "raw") -> dict[str, list[int]]:
    """`input_ids` and `labels` of one example."""
    form = ChatFormat.named(chat)
    if form.style == "messages":
        messages = [dict(message) for message in form.request(prompt).messages or ()]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        before, said = tokenizer(text, add_special_tokens=False)["input_ids"], completion
    else:
        text = form.text(prompt)
        before, said = tokenizer(text)["input_ids"], completion if text[-1:].isspace() else f" {completion}"
    after = [*tokenizer(said, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    return {"input_ids": [*before, *after], "labels": [*[IGNORED] * len(before), *after]}
