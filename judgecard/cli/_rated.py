"""What the commands about rated rows share: their options, and the rows."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from judgecard.cli._proposing import Proposing
from nlgeval_lib.cli._options import Several, by_comma, note, option

if TYPE_CHECKING:
    import pandas as pd

    from nlgeval_lib.scoring.rows import Rows


By = Annotated[str | None, option(help="Groups of rows; default aspect, '' for none.")]


class Rated(Proposing):
    """How rows with scores and ratings are read."""

    scale: str = option("", metavar="LOW-HIGH", help="The scores' scale, such as 1-5.")
    human_scale: str = option(
        "", metavar="LOW-HIGH", help="The ratings' scale, where it is known."
    )
    reverse: Several = option(
        None, help="A column in which less is better (repeatable)."
    )
    input_format: str = option(
        "", help="The file's format, where its name does not say."
    )

    sheet: Several = option(
        None, help="A filled sheet of `nlgeval label`, one a rater (repeatable)."
    )

    def chosen(self, path: str, **more: Any) -> Rows:
        """The rows of a file as `Reading.chosen`, with the answers of the sheets."""
        rows = super().chosen(path, **more)
        if not self.sheet:
            return rows
        from judgecard import label_sheets

        # an item of a sheet is known by its output, found here as `label` found it
        if self.propose(rows, ["output"]):
            rows = super().chosen(path, **more)
        return label_sheets.joined(rows, self.sheet)

    def rated(
        self,
        rows: Rows,
        scores: Sequence[str],
        humans: Sequence[str],
        on_scale: bool = True,
    ) -> Rows:
        """The rows of a file as they are measured; notes are said."""
        from judgecard import rated_rows

        note(rows.unused_marks(by_comma(self.missing_values)))
        said = rated_rows.Said(
            scale_of(self.scale),
            scale_of(self.human_scale, "--human-scale"),
            [rows.ours(name) for name in self.reverse or ()],
            on_scale,
        )
        data, notes = rated_rows.prepared(rows, scores, humans, said)
        for text in notes:
            note(text)
        return data


def columns_named(rows: Rows, patterns: Sequence[str]) -> list[str]:
    """Our columns for names and patterns of the file's."""
    from nlgeval_lib.scoring.columns import columns_like

    columns = []
    for pattern in patterns:
        for name in columns_like(pattern, rows.columns) or [pattern]:
            columns.append(rows.ours(name))
    return columns


def scale_of(text: str, flag: str = "--scale") -> tuple[float, float] | None:
    """The two ends of a scale; None for no text. Raises: ValueError."""
    if not text:
        return None
    low, _, high = text.strip().rpartition("-")
    with contextlib.suppress(ValueError):
        ends = float(low), float(high)
        if ends[0] < ends[1] and all(map(math.isfinite, ends)):
            return ends
    raise ValueError(f"{flag} {text}: the lowest and the highest, such as 1-5 or 1-10")


def as_text(tables: Mapping[str, pd.DataFrame], format: str) -> str:
    """Tables by their headings as text, csv, markdown or jsonl; empty ones left out."""
    from nlgeval_lib.files import json_lines
    from nlgeval_lib.scoring.cells import inert
    from nlgeval_lib.tables import show

    parts = []
    for heading, table in tables.items():
        if not len(table):
            continue
        if format == "csv":
            parts.append(table.map(inert).to_csv(index=False, lineterminator="\n"))
        elif format == "jsonl":
            rows = [{"table": heading, **row} for row in table.to_dict("records")]
            parts.append("".join(json_lines(rows)))
        else:
            shown = show(table, heading, rows=len(table))
            parts.append(f"{shown.markdown if format == 'markdown' else shown.text}\n")
    return ("" if format == "jsonl" else "\n").join(parts)


def in_one_column(
    table: pd.DataFrame, ends: Sequence[str], title: str, after: str
) -> pd.DataFrame:
    """The table with the ends of an interval, two columns, as one after another one."""
    intervals = []
    for low, high in table[list(ends)].to_numpy(dtype=float):
        missing = math.isnan(low) or math.isnan(high)
        intervals.append("" if missing else f"[{low:.3f}, {high:.3f}]")
    joined = table.drop(columns=list(ends))
    joined.insert(joined.columns.get_loc(after) + 1, title, intervals)
    return joined
