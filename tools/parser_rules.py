"""What does each row of the rating parser's tables change, on cases and recorded texts?
`make parser-rules`.

python tools/parser_rules.py [--recorded 3000]

It leaves out one row at a time, prints how many readings differ, and exits with 1 where
a row changes nothing: it could go.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import NamedTuple

from judgecard import recordings
from nlgeval_lib import datasets
from nlgeval_lib.parsers import candidates, ratings, tables

# the cases that the parser's tests read
CASES = Path(__file__).parents[1] / "tests" / "cases" / "rating.jsonl"


class Text(NamedTuple):
    """A text to read.

    text: None where there was no answer.
    low, high: the lowest and the highest score.
    label: the name that stands before the score, where there is one.
    """

    text: str | None
    low: float
    high: float
    label: str | None = None


def texts(recorded: int) -> list[Text]:
    """Every case, and the last `recorded` distinct texts of LLM_summeval where it is
    here.
    """
    to_read = []
    for line in CASES.read_text("utf-8").splitlines():
        case = json.loads(line)
        label = case.get("label")
        to_read.append(Text(case["text"], case["low"], case["high"], label))
    if not recorded:
        return to_read
    available, _ = datasets.available("llm_summeval")
    if available:
        frame = recordings.load("llm_summeval")
        for text in frame["text"].unique()[-recorded:]:
            to_read.append(Text(text, 1.0, 5.0))
    return to_read


class Comparison:
    """The readings with all rows, and those with one row left out.

    to_read: the texts.
    complete: what is read with all rows, one a text.
    idle: how many rows have changed nothing so far.
    """

    def __init__(self, to_read: list[Text]) -> None:
        self.to_read = to_read
        self.complete = self.readings()
        self.idle = 0

    def readings(self) -> list[str]:
        """What is read with the tables as they are now, one a text."""
        values = []
        for text in self.to_read:
            # `parsers.rating` would remember short texts
            reading, *_ = ratings.read_text(*text)
            values.append(repr(reading.value))
        return values

    def without(
        self,
        reduced: candidates.Tables,
        kind: str,
        name: str,
        example: str,
    ) -> None:
        """Read with the reduced tables, print how many readings differ, and count the
        row as idle where none does.

        reduced: the tables without the row; they stay set.
        kind: of the row: a cue, or the scope of a veto.
        name: of the row.
        example: a text that the row is for.
        """
        candidates.TABLES = reduced
        changed = 0
        for complete, without in zip(self.complete, self.readings(), strict=True):
            changed += complete != without
        remark = ""
        if not changed:
            self.idle += 1
            remark = "   <- changes nothing"
        print(f"{changed:6,}  {kind:10} {name} ({example}){remark}")


def main() -> int:
    """Print a line a row: how many readings differ without it; 1 where a row changes
    nothing.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--recorded", type=int, default=0)
    options = parser.parse_args()
    comparison = Comparison(texts(options.recorded))
    # Cues: what presents a number as a verdict.
    for cue in tables.CUES:
        cues = dict(tables.CUES)
        del cues[cue]
        reduced = candidates.Tables(cues)
        comparison.without(reduced, "cue", cue.name, cue.example)
    # Vetoes: what takes it back.
    for scope, vetoes in tables.VETOES.items():
        for veto in vetoes:
            remaining = dict(vetoes)
            del remaining[veto]
            reduced = candidates.Tables(vetoes=tables.VETOES | {scope: remaining})
            comparison.without(reduced, scope, *veto)
    candidates.TABLES = candidates.Tables()
    return int(comparison.idle > 0)


if __name__ == "__main__":
    sys.exit(main())
