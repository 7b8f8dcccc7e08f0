"""What does each veto of the rating parser change, on cases and on recorded answers?
`make parser-rules`.

python tools/parser_rules.py [--recorded 3000]

It leaves out one veto at a time. A row: the veto and where it is looked for, how many
recorded answers (of a human-rated benchmark, answered by five models) it changes, and
how many cases read as a wrong number without it. A veto without either could go; the
exit status is then 1.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from judgecard import recordings
from nlgeval_lib.datasets import DataUnavailable
from nlgeval_lib.parsers import ratings, vetoes

# where a veto is looked for -> the rows of that place
PLACES = {
    "before it in its clause": vetoes.CLAUSE_ROWS,
    "before it in its sentence": vetoes.SENTENCE_ROWS,
    "reported before it": vetoes.REPORTED_ROWS,
    "right after it": vetoes.AFTER_ROWS,
}
CASES = Path(__file__).parents[1] / "tests" / "cases" / "rating.jsonl"


def recorded_texts(count: int) -> list[str]:
    """So many distinct texts of LLM_summeval, spread over it; none where it is not
    here.
    """
    try:
        distinct = recordings.load("llm_summeval")["text"].unique()
    except DataUnavailable as error:
        print(f"no recorded answers: {error}", file=sys.stderr)
        return []
    return list(distinct[:: max(1, len(distinct) // count)][:count]) if count else []


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
    print(f"| veto | where | of {len(texts):,} recorded answers | wrong numbers |")
    print("|---|---|---|---|")
    for where, rows in PLACES.items():
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
            print(f"| {name} | {where} | {changed:,} | {wrong:,} |", flush=True)
    return int(idle > 0)


if __name__ == "__main__":
    sys.exit(main())
