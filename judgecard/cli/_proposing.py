"""Columns whose names tell nothing are proposed for what their cells look like: the
plan is shown, and a person at a terminal can answer it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nlgeval_lib.cli._options import Reading, say

if TYPE_CHECKING:
    from nlgeval_lib.scoring.rows import Rows


class Proposing(Reading):
    """How rows are read of which no name says what they hold."""

    def proposed(
        self, path: str, needs: Sequence[str], rows: Rows | None = None, **more: Any
    ) -> Rows:
        """The rows of a file, as `read`; what is needed and not named is proposed.

        What is taken is shown, and kept with the plan of columns. At a terminal it is
        asked whether it is so; else it is taken.

        needs: of "output" and "human". rows: what `chosen` gives, where it is there.
        """
        if rows is None:
            rows = self.chosen(path, **more)
        proposal = self.propose(rows, needs)
        if proposal:
            rows = self.chosen(path, **more)
        self.said(rows)
        if proposal:
            self.plans[Path(rows.name).name]["proposed"] = proposal
        return rows

    def propose(self, rows: Rows, needs: Sequence[str]) -> list[str]:
        """What is needed and not named, said from here on as if the user had: texts of
        --map and --values; none where nothing is proposed.
        """
        from judgecard import file_contents

        mapping, values = file_contents.words_for(rows, needs)
        if not mapping:
            return []
        mapping = _answered(mapping)
        self.map = [*(self.map or ()), *mapping]
        self.values = [*(self.values or ()), *values]
        return [*mapping, *values]


def _answered(mapping: Sequence[str]) -> list[str]:
    """The proposal as a person answers it; as it is where nobody is asked."""
    plan = list(mapping)
    while True:
        say("columns, by what they hold:")
        for text in plan:
            ours, _, column = text.partition("=")
            say(f"  {column} is {ours}")
        if not sys.stdin.isatty():
            say("  (--map OURS=COLUMN says another)")
            return plan
        answer = typer.prompt(
            "Is that so? Enter for yes, no, or OURS=COLUMN (nothing after = drops it)",
            default="",
            show_default=False,
            err=True,
        )
        ours, sign, column = answer.strip().partition("=")
        if not sign and ours.lower() in ("", "y", "yes"):
            return plan
        if not sign:
            raise typer.Exit(2)
        for text in list(plan):
            if text.startswith(f"{ours}=") or text.endswith(f"={column}"):
                plan.remove(text)
        if column:
            plan.append(f"{ours}={column}")
