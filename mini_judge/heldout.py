"""The judge's held-out set: records, values and phrases that it was not trained on,
outputs of six invented systems.

`items` makes it from a seed; `write` writes it where `datasets.load("mini_judge")`
reads it, `frame` gives it as that does. `SYSTEMS` says which errors each system makes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from mini_judge.domains import DOMAINS, SUM_OF
from mini_judge.prompts import rubric
from mini_judge.records import (
    Clause,
    Item,
    Mix,
    Pair,
    make_output,
    make_record,
    realise,
)
from nlgeval_lib import files
from nlgeval_lib.datasets import mini_judge
from reproduction.training.mini import INSTRUCTION, RATED

# of the set, and its number of records
SEED = 5
INPUTS = 50
_BASE = Mix(held_out=True)
# each system has errors of its own; off-topic outputs are those of one
SYSTEMS: Mapping[str, Mix] = MappingProxyType(
    {
        "careful": replace(_BASE, counts=(0.7, 0.3), off_topic=0.0),
        "misread": replace(
            _BASE,
            counts=(0.2, 0.5, 0.3),
            kinds={"wrong_value": 0.5, "arithmetic": 1.5, "grammar": 0.1},
            off_topic=0.0,
        ),
        "terse": replace(
            _BASE,
            counts=(0.2, 0.5, 0.3),
            kinds={"omission": 0.8, "wrong_value": 0.2},
            off_topic=0.0,
        ),
        "chatty": replace(
            _BASE,
            counts=(0.2, 0.5, 0.3),
            kinds={"invention": 0.6, "repetition": 0.4},
            off_topic=0.0,
        ),
        "clumsy": replace(
            _BASE,
            counts=(0.15, 0.45, 0.3, 0.1),
            kinds={"grammar": 0.5, "repetition": 0.3, "omission": 0.2},
            off_topic=0.0,
        ),
        "erratic": replace(_BASE, counts=(0.1, 0.3, 0.35, 0.25), off_topic=0.2),
    }
)


def items(
    seed: int = SEED, inputs: int = INPUTS, wording: str = ""
) -> Iterator[tuple[str, str, Item]]:
    """Input id, system id and item of each output: every system writes one for every
    record.

    inputs: how many records; the domains take turns.
    wording: `new` for texts made of phrases that are in no training text, in place of
        new combinations.
    """
    domains = list(DOMAINS)
    for number in range(inputs):
        rng = random.Random(f"held-out:{seed}:{number}")
        domain = domains[number % len(domains)]
        input_id = f"{domain}-{number:02d}"
        values = _record(rng, domain)
        mix = replace(_BASE, wording=wording)
        clauses = realise(rng, domain, values, mix)
        # one reference a record, the same for all systems
        reference = " ".join(clause.text for clause in clauses)
        for system, mix_of_system in SYSTEMS.items():
            mix = replace(mix_of_system, wording=wording)
            item = written(rng, mix, domain, values)
            item = replace(item, reference=reference)
            yield input_id, system, item


def _record(rng: random.Random, domain: str) -> dict[str, Pair]:
    """The values of a record of one domain; records of other domains are drawn and
    thrown away.
    """
    while True:
        domain_of_record, values = make_record(rng, _BASE)
        if domain_of_record == domain:
            return values


def written(
    rng: random.Random, mix: Mix, domain: str, values: Mapping[str, Pair]
) -> Item:
    """What a system writes of a record; sums are rare, so those who misread them are
    given them.
    """
    clean = realise(rng, domain, values, mix)
    misreads_sums = "arithmetic" in mix.kinds
    if misreads_sums and values.keys() >= {*SUM_OF}:
        while not has_sum(clean):
            clean = realise(rng, domain, values, mix)
    return make_output(rng, mix, domain, values, clean)


def has_sum(clauses: Sequence[Clause]) -> bool:
    """Whether a text says how many adults and children there are together."""
    return any(clause.key == "sum" for clause in clauses)


def to_json(input_id: str, system_id: str, item: Item) -> dict[str, Any]:
    """An item as a record of the file: texts, errors, the sum of their penalties, and
    the gold score of each rated aspect.
    """
    errors = []
    for error in item.errors:
        errors.append({**asdict(error), "penalty": error.penalty})
    return {
        "input_id": input_id,
        "system_id": system_id,
        "domain": item.domain,
        "instruction": INSTRUCTION,
        "source": item.source,
        "reference": item.reference,
        "output": item.output,
        "errors": errors,
        "penalty": item.penalty,
        "gold": {key: item.score(key) for key in RATED},
    }


def frame(wording: str = "") -> pd.DataFrame:
    """The set as a long frame, a row an output and aspect.

    wording: as `items` has it; with another than the default, a set that is in no file.
    """
    records = []
    for input_id, system_id, item in items(wording=wording):
        records.append(to_json(input_id, system_id, item))
    return mini_judge.build(records, _rubrics())


def _rubrics() -> dict[str, str]:
    """The text of each rated aspect's rubric, by the aspect's key."""
    return {key: rubric(key).text() for key in RATED}


def write(folder: Path | None = None) -> None:
    """Write the set and its rubrics; the same bytes every time."""
    folder = folder or mini_judge.folder()
    lines = ""
    for input_id, system_id, item in items():
        record = to_json(input_id, system_id, item)
        lines += json.dumps(record, ensure_ascii=False) + "\n"
    files.write_text(folder / mini_judge.FILE, lines)
    lines = ""
    for aspect, text in _rubrics().items():
        lines += json.dumps({"aspect": aspect, "rubric": text}) + "\n"
    files.write_text(folder / mini_judge.RUBRICS, lines)
