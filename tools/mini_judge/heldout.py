"""The judge's held-out set: records, values and phrases that it was not trained on,
outputs of six invented systems.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.datasets import mini_judge
from nlgeval_lib.training.mini import INSTRUCTION, RATED
from tools.mini_judge.domains import DOMAINS, SUM_OF
from tools.mini_judge.prompts import rubric
from tools.mini_judge.records import Item, Mix, Pair, make_output, make_record, realise

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

    wording: `new` for texts made of phrases that are in no training text, in place of
    new combinations.
    """
    for number in range(inputs):
        rng = random.Random(f"held-out:{seed}:{number}")
        domain_in_turn = list(DOMAINS)[number % len(DOMAINS)]
        domain = ""
        while domain != domain_in_turn:
            domain, values = make_record(rng, _BASE)
        clauses = realise(rng, domain, values, replace(_BASE, wording=wording))
        reference = " ".join(clause.text for clause in clauses)
        for system, mix in SYSTEMS.items():
            item = written(rng, replace(mix, wording=wording), domain, values)
            yield f"{domain}-{number:02d}", system, replace(item, reference=reference)


def written(
    rng: random.Random, mix: Mix, domain: str, values: Mapping[str, Pair]
) -> Item:
    """What a system writes of a record; sums are rare, so those who misread them are
    given them.
    """
    clean = realise(rng, domain, values, mix)
    needs_sum = "arithmetic" in mix.kinds and values.keys() >= {*SUM_OF}
    while needs_sum and "sum" not in [clause.key for clause in clean]:
        clean = realise(rng, domain, values, mix)
    return make_output(rng, mix, domain, values, clean)


def to_json(input_id: str, system_id: str, item: Item) -> dict[str, Any]:
    """An item as a record of the file."""
    return {
        "input_id": input_id,
        "system_id": system_id,
        "domain": item.domain,
        "instruction": INSTRUCTION,
        "source": item.source,
        "reference": item.reference,
        "output": item.output,
        "errors": [
            {**asdict(error), "penalty": error.penalty} for error in item.errors
        ],
        "penalty": item.penalty,
        "gold": {key: item.score(key) for key in RATED},
    }


def frame(wording: str = "") -> pd.DataFrame:
    """The set as a long frame; with another wording, as `items` has it, a set that
    is in no file.
    """
    rubrics = {key: rubric(key).text() for key in RATED}
    return mini_judge.build(
        [to_json(*output) for output in items(wording=wording)], rubrics
    )


def write(folder: Path | None = None) -> None:
    """Write the set and its rubrics; the same bytes every time."""
    folder = folder or mini_judge.folder()
    lines = [json.dumps(to_json(*output), ensure_ascii=False) for output in items()]
    files.write_text(folder / mini_judge.FILE, "\n".join(lines) + "\n")
    rubrics = [
        json.dumps({"aspect": key, "rubric": rubric(key).text()}) for key in RATED
    ]
    files.write_text(folder / mini_judge.RUBRICS, "\n".join(rubrics) + "\n")
