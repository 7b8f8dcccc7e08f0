"""One row a printed table or figure of the five papers: what was compared, what is equal, and why the rest is not.

A row's status follows from its printed numbers (those of `data/paper_tables`):

- `reproduced`: every printed number was compared, and every one is equal (0.51 of the last printed digit);
- `partly`: at least half of the compared numbers are equal, but not all printed ones are;
- `differs`: numbers were compared, and fewer than half of them are equal;
- `needs GPU`, `no public data`: no number could be compared, for the reason given in `notebooks/catalogue.toml`;
- `no numbers`: the paper prints none there that could be compared: a prompt, a text, a diagram, or a figure of
  unlabelled curves or bars that one of our outputs draws again;
- `not built yet`: nothing of the above.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import catalogue, files, paths
from nlgeval_lib.catalogue import Entry, Row
from nlgeval_lib.report import saving, tables

COLUMNS = (
    "paper",
    "id",
    "title",
    "kind",
    "route",
    "by_route",
    "cells_printed",
    "cells_compared",
    "cells_equal",
    "largest_difference",
    "status",
    "reason",
    "run",
    "output",
    "notebook",
)
STATUSES = ("reproduced", "partly", "differs", "needs GPU", "no public data", "no numbers", "not built yet")
_STRENGTH = ("run", "public", "recorded", "published", "mini", "")  # which of two numbers for one cell counts
_CELL = ("paper", "table", "row", "column", "statistic", "ours", "difference", "verdict", "route")
_VERDICTS = ("equal", "differs", "missing", "extra")
_AGAIN = "delete it or restore it, then run again"
_WORDLESS = {
    "prompt": "prints a prompt, no number",
    "text": "prints text, no number",
    "diagram": "a diagram, no number",
    "figure": "prints no value that could be compared",
    "numeric": "prints no value that could be compared",
}


def build(mode: str = "full") -> pd.DataFrame:
    """The scoreboard from the saved results: a row for every printed table and figure, in the papers' order.

    `run` says `now` where the last `nlgeval run` of this checkout found or made the output up to date, else
    `kept since DATE`.
    Raises: ValueError for an unknown mode; CatalogueError.
    """
    from nlgeval_lib import papers

    if mode not in ("full", "quick"):
        raise ValueError(f"mode is {mode!r}; allowed: full, quick")
    listed = catalogue.load()
    covering: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in listed.outputs:
        for name in entry.covers:
            covering[entry.paper, name].append(entry)
    stated = {(row.paper, row.id): row for row in listed.rows}
    now = _now(mode)
    results = {entry.id: _result(entry, entry.id in now, mode) for entry in listed.outputs}
    rows = []
    for printed in papers.index().itertuples(index=False):
        key = (printed.paper, printed.id)
        rows.append(_row(printed, covering[key], results, stated.get(key)))
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype({name: int for name in COLUMNS if name.startswith("cells_")} | {"largest_difference": float})


def totals(frame: pd.DataFrame, by: str = "paper") -> pd.DataFrame:
    """Sums of the scoreboard by `paper` or `status`, with a last row for all; by `route`: of the compared numbers.

    Raises: ValueError for another column.
    """
    if by == "route":
        return _by_route(frame)
    if by not in ("paper", "status"):
        raise ValueError(f"by is {by!r}; allowed: paper, status, route")
    groups = [*frame.groupby(by, sort=False), ("all", frame)]
    return pd.DataFrame(
        [
            {
                by: name,
                "tables and figures": len(part),
                "reproduced": int((part["status"] == "reproduced").sum()),
                "partly": int((part["status"] == "partly").sum()),
                "numbers printed": int(part["cells_printed"].sum()),
                "compared": int(part["cells_compared"].sum()),
                "equal": int(part["cells_equal"].sum()),
            }
            for name, part in groups
        ]
    )


def _by_route(frame: pd.DataFrame) -> pd.DataFrame:
    sums: dict[str, list[int]] = {route: [0, 0, 0] for route in _STRENGTH if route not in ("", "mini")}
    for text in filter(None, frame["by_route"]):
        for part in text.split("; "):
            route, _, counts = part.partition(" ")
            equal, _, compared = counts.partition("/")
            for i, count in enumerate((1, int(compared), int(equal))):
                sums[route][i] += count
    rows = [(route, *counts) for route, counts in sums.items()]
    return pd.DataFrame(rows, columns=["route", "tables and figures", "compared", "equal"])


def brief(frame: pd.DataFrame) -> pd.DataFrame:
    """The scoreboard for readers: counts in one column, where it prints numbers at all."""
    return pd.DataFrame(
        {
            "id": frame["id"],
            "what": frame["title"],
            "status": frame["status"],
            "equal / compared / printed": [
                f"{row.cells_equal} / {row.cells_compared} / {row.cells_printed}" if row.cells_printed else ""
                for row in frame.itertuples()
            ],
            "largest difference": [f"{gap:.4g}" if gap == gap else "" for gap in frame["largest_difference"]],
            "route": frame["route"],
            "run": frame["run"],
            "reason": frame["reason"],
        }
    )


def show(frame: pd.DataFrame, caption: str = "") -> tables.Table:
    """The scoreboard, or its totals, as a styled table."""
    kinds = {
        "reproduced": "equal",
        "partly": "near",
        "differs": "off",
        "needs GPU": "missing",
        "no public data": "missing",
    }
    return tables.show(
        frame, caption, digits=4, classes=lambda column, value: kinds.get(value) if column == "status" else None
    )


def save(frame: pd.DataFrame, mode: str = "full") -> list[str]:
    """Write `scoreboard.csv` and `.md` into results, `scoreboard.svg` and `.png` into figures; print the sum.

    Files that would not change are left alone. Returns their names.
    """
    from nlgeval_lib import figures

    folder = "quick/" if mode == "quick" else ""
    drawn = figures.render(figures.scoreboard(frame))
    contents = {
        f"results/{folder}scoreboard.csv": saving.csv_text(frame).encode(),
        f"results/{folder}scoreboard.md": markdown(frame).encode(),
        f"figures/{folder}scoreboard.svg": drawn["svg"],
        f"figures/{folder}scoreboard.png": drawn["png"],
    }
    changed = {name: content for name, content in contents.items() if not saving.same_file(name, content, contents)}
    saving.write(changed)
    total = totals(frame).iloc[-1]
    line = (
        f"{total['equal']} of {total['numbers printed']} printed numbers equal, "
        f"{total['compared']} compared; {total['reproduced']} of {total['tables and figures']} "
        f"tables and figures reproduced, {total['partly']} partly"
    )
    given = os.environ.get("NLGEVAL_RECORD")
    if given:
        report = {"id": catalogue.SCOREBOARD, "folder": folder.rstrip("/"), "line": line, "files": list(contents)}
        files.write_text(Path(given), json.dumps(report))
    print(line)
    return list(contents)


def markdown(frame: pd.DataFrame) -> str:
    """The scoreboard as Markdown: totals, then a table a paper."""
    lines = ["# Scoreboard", "", "Printed numbers of the five papers, and what became of them here.", ""]
    lines += _md_table(totals(frame))
    lines += ["", "By route:", "", *_md_table(totals(frame, "route"))]
    for paper, part in frame.groupby("paper", sort=False):
        shown = brief(part).assign(notebook=[f"[{n}](../notebooks/{n})" if n else "" for n in part["notebook"]])
        lines += ["", f"## {paper}", "", *_md_table(shown)]
    return "\n".join(lines) + "\n"


def _md_table(frame: pd.DataFrame) -> list[str]:
    def line(values: Sequence[Any]) -> str:
        return "| " + " | ".join(str(value).replace("|", "\\|").replace("\n", " ") for value in values) + " |"

    return [line(frame.columns), line(["---"] * frame.shape[1]), *map(line, frame.itertuples(index=False, name=None))]


def _now(mode: str) -> set[str]:
    """The outputs that stand as this checkout made them, as the runner wrote down last."""
    try:
        return set(json.loads(paths.state("runs", mode, "now.json").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return set()


def _result(entry: Entry, now: bool, mode: str) -> dict[str, Any] | None:
    """What an output saved last: its record, its cells, when it ran; None where it saved nothing."""
    folder = "quick" if mode == "quick" else "mini" if entry.route == "mini" else ""
    base = "/".join(filter(None, ["results", folder, entry.paper, entry.id]))
    record = saving.read_json(f"{base}.json")
    if record is None:
        return None
    if lacking := [key for key in ("route", "date") if not isinstance(record.get(key), str)]:
        raise ValueError(f"{base}.json is damaged (no {lacking[0]!r}); {_AGAIN}")
    run = "now" if now else f"kept since {record['date'][:10]}"
    return {"cells": _saved_cells(f"{base}.csv"), "route": record["route"], "run": run}


def _saved_cells(name: str) -> pd.DataFrame | None:
    """The cells that an output compared; None where there is no such file. Raises: ValueError naming a damaged one."""
    path = saving.located(name)
    if not path.exists():
        return None
    blank = {"ours": "", "difference": ""}
    try:
        cells = pd.read_csv(path, keep_default_na=False, na_values=blank, dtype={"ours": float, "difference": float})
    except (OSError, ValueError) as error:
        raise ValueError(f"{name} is damaged ({error}); {_AGAIN}") from None
    if lacking := [column for column in _CELL if column not in cells.columns]:
        raise ValueError(f"{name} is damaged (no column {lacking[0]!r}); {_AGAIN}")
    odd = cells.loc[~cells["verdict"].isin(_VERDICTS), "verdict"]
    if len(odd):
        raise ValueError(f"{name} is damaged (row {odd.index[0] + 2}: verdict {odd.iloc[0]!r}); {_AGAIN}")
    return cells


def _row(
    printed: Any, entries: list[Entry], results: dict[str, dict[str, Any] | None], stated: Row | None
) -> dict[str, Any]:
    made = [(entry, results[entry.id]) for entry in entries if results[entry.id] is not None]
    cells = _cells(printed, [result for _, result in made])
    compared = cells[cells["verdict"].isin(("equal", "differs"))] if cells is not None else None
    n_compared = 0 if compared is None else len(compared)
    n_equal = 0 if compared is None else int((compared["verdict"] == "equal").sum())
    if n_compared:
        routes = [route for route in _STRENGTH if (compared["route"] == route).any()]
    else:
        routes = list(dict.fromkeys(result["route"] for _, result in made))
    status, reason = _status(printed, entries, made, cells, n_compared, n_equal, stated)
    return {
        "paper": printed.paper,
        "id": printed.id,
        "title": printed.title,
        "kind": printed.kind,
        "route": ", ".join(routes),
        "by_route": _routed(compared, routes) if n_compared else "",
        "cells_printed": int(printed.cells),
        "cells_compared": n_compared,
        "cells_equal": n_equal,
        "largest_difference": compared["difference"].abs().max() if n_compared else float("nan"),
        "status": status,
        "reason": reason,
        "run": ", ".join(dict.fromkeys(result["run"] for _, result in made)),
        "output": ", ".join(entry.id for entry, _ in made) or ", ".join(entry.id for entry in entries),
        "notebook": (made[0][0] if made else entries[0]).notebook if entries else "",
    }


def _routed(compared: pd.DataFrame, routes: list[str]) -> str:
    """Equal and compared numbers by route: `public 24/30; recorded 3/12`."""
    parts = [compared[compared["route"] == route] for route in routes]
    counts = [f"{int((part['verdict'] == 'equal').sum())}/{len(part)}" for part in parts]
    return "; ".join(f"{route} {count}" for route, count in zip(routes, counts, strict=True))


def _cells(printed: Any, results: list[dict[str, Any]]) -> pd.DataFrame | None:
    """The compared cells of one printed table from all outputs that cover it, one a printed cell.

    Where two outputs give the same cell, a number goes before none, then the stronger route; never the nearer value.
    """
    frames = [result["cells"] for result in results if result["cells"] is not None]
    frames = [part[(part["paper"] == printed.paper) & (part["table"] == printed.id)] for part in frames]
    frames = [part[part["verdict"] != "extra"] for part in frames if len(part)]
    if not frames:
        return None
    joined = pd.concat(frames, ignore_index=True)
    rank = joined["route"].map({route: i for i, route in enumerate(_STRENGTH)}).fillna(len(_STRENGTH))
    joined = joined.assign(_gap=joined["ours"].isna(), _rank=rank).sort_values(["_gap", "_rank"], kind="stable")
    return joined.drop_duplicates(["row", "column", "statistic"]).sort_index()


def _status(
    printed: Any,
    entries: list[Entry],
    made: list[tuple[Entry, dict[str, Any] | None]],
    cells: pd.DataFrame | None,
    compared: int,
    equal: int,
    stated: Row | None,
) -> tuple[str, str]:
    if compared:
        assert cells is not None
        why = [stated.reason] if stated else []
        if compared > equal:
            why.insert(0, f"{compared - equal} of {compared} compared numbers are not equal")
        gaps = cells[cells["verdict"] == "missing"]
        why += [f"{len(part)} missing: {reason}" for reason, part in gaps.groupby("reason", sort=False)]
        unlisted = int(printed.cells) - len(cells)
        if unlisted > 0:
            why.append(f"{unlisted} printed numbers are in no output")
        if equal == compared and compared >= int(printed.cells):
            return "reproduced", ""
        return ("partly" if 2 * equal >= compared else "differs"), "; ".join(why)
    if stated:
        return stated.status, stated.reason
    if not int(printed.cells) and (made or printed.kind in ("prompt", "text", "diagram")):
        shown = f"shown by {', '.join(entry.id for entry, _ in made)}" if made else ""
        return "no numbers", "; ".join(filter(None, [_WORDLESS[printed.kind], printed.note, shown]))
    if made and cells is not None:
        reasons = list(dict.fromkeys(cells["reason"]))
        return "not built yet", f"no number compared: {'; '.join(reasons)}"
    if entries:
        return "not built yet", f"no result saved yet: nlgeval run {entries[0].id}"
    return "not built yet", "no notebook yet"
