"""What does each veto of the rating parser change, on cases and on recorded answers?
`make parser-rules`.

python tools/parser_rules.py [--recorded 3000]

It leaves out one veto at a time. A row: how many recorded answers then read otherwise,
how many cases then read as a wrong number, and the veto. A veto without either could
go; the exit status is then 1.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from judgecard import recordings
from nlgeval_lib import datasets
from nlgeval_lib.parsers import ratings, vetoes

CASES = Path(__file__).parents[1] / "tests" / "cases" / "rating.jsonl"


def recorded_texts(count: int) -> list[str]:
    """The last `count` distinct texts of LLM_summeval; none where it is not here."""
    available, _ = datasets.available("llm_summeval")
    if not (count and available):
        return []
    distinct = recordings.load("llm_summeval")["text"].unique()
    return list(distinct[-count:])


def recorded_values(texts: list[str]) -> list[float]:
    """What is read in recorded texts with the vetoes as they are now."""
    # `parsers.rating` would remember short texts
    return [ratings.read_text(text, 1, 5, None)[0].value for text in texts]


def wrong_cases(cases: list[dict[str, Any]]) -> int:
    """How many cases read as a number that they do not give."""
    wrong = 0
    for case in cases:
        label = case.get("label")
        reading, *_ = ratings.read_text(case["text"], case["low"], case["high"], label)
        wrong += reading.ok and reading.value != case["expect"]
    return wrong


def main() -> int:
    """Print a row a veto; 1 where a veto changes nothing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--recorded", type=int, default=0)
    options = parser.parse_args()
    texts = recorded_texts(options.recorded)
    cases = []
    for line in CASES.read_text("utf-8").splitlines():
        cases.append(json.loads(line))
    complete = recorded_values(texts)
    known = wrong_cases(cases)
    idle = 0
    for rows in (
        vetoes.CLAUSE_ROWS,
        vetoes.SENTENCE_ROWS,
        vetoes.REPORTED_ROWS,
        vetoes.AFTER_ROWS,
    ):
        for row in list(rows):
            place = rows.index(row)
            rows.remove(row)
            changed = 0
            for before, after in zip(complete, recorded_values(texts), strict=True):
                same = before == after or (math.isnan(before) and math.isnan(after))
                changed += not same
            wrong = wrong_cases(cases) - known
            rows.insert(place, row)
            name, _ = row
            idle += not (changed or wrong)
            print(f"{changed:6,} recorded  {wrong:4,} wrong  {name}")
    return int(idle > 0)


if __name__ == "__main__":
    sys.exit(main())
