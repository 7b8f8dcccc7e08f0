"""What each row of the rating parser's tables changes, on cases and recorded texts;
exit 1 where one changes nothing.

python tools/parser_rules.py [--recorded 3000]
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from nlgeval_lib import datasets
from nlgeval_lib.parsers import candidates, ratings, tables

CASES = Path(__file__).parents[1] / "tests" / "cases" / "rating.jsonl"


def texts(recorded: int) -> list[tuple[str | None, float, float, str | None]]:
    """Every case, and the last `recorded` distinct texts of LLM_summeval where it is
    here.
    """
    given = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    found = [
        (case["text"], case["low"], case["high"], case.get("label")) for case in given
    ]
    if recorded and datasets.available("llm_summeval")[0]:
        frame = datasets.recordings.load("llm_summeval")
        found += [(text, 1.0, 5.0, None) for text in frame["text"].unique()[-recorded:]]
    return found


def main() -> int:
    """Print a line a row: how many readings differ without it."""
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument("--recorded", type=int, default=0)
    given = texts(parse.parse_args().recorded)

    def readings() -> list[str]:
        return [
            repr(ratings.read_text(*one)[0].value) for one in given
        ]  # rating itself remembers short texts

    def told(kind: str, name: str, example: str) -> int:
        changed = sum(
            one != other for one, other in zip(whole, readings(), strict=True)
        )
        print(
            f"{changed:6,}  {kind:10} {name} ({example}){'' if changed else '   <- changes nothing'}"
        )
        return int(not changed)

    whole = readings()
    idle = 0
    for row in tables.CUES:
        kept = {
            other: before for other, before in tables.CUES.items() if other is not row
        }
        candidates.TABLES = candidates.Tables(kept)
        idle += told("cue", row.name, row.example)
    for scope, ways in tables.VETOES.items():
        for row in ways:
            others = {other: way for other, way in ways.items() if other != row}
            candidates.TABLES = candidates.Tables(
                vetoes={**tables.VETOES, scope: others}
            )
            idle += told(scope, *row)
    candidates.TABLES = candidates.Tables()
    return int(idle > 0)


if __name__ == "__main__":
    sys.exit(main())
