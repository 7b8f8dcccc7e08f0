"""One row a printed table or figure of the five papers: what was compared, what is equal, and why the rest is not.

A row's status follows from its printed numbers (those of `data/paper_tables`):

- `reproduced`: every printed number was compared (*recomputed* or *consistent*, see `papers.comparison`), and is equal;
- `partly`: at least half of the compared numbers are equal, or printed within a run's interval, but not all are equal;
- `differs`: numbers were compared, and fewer than half of them are;
- `needs GPU`, `no public data`: no number could be compared, for the reason given in `notebooks/catalogue.toml`;
- `no numbers`: a prompt, a text, a diagram, or a figure of unlabelled curves or bars that an output of ours draws;
- `not built yet`: nothing of the above.
"""

from __future__ import annotations

import json
import os
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from nlgeval_lib import files, papers
from nlgeval_lib.report import answers, saving, tables
from nlgeval_lib.scoring import provenance
from nlgeval_lib.study import catalogue
from nlgeval_lib.study.catalogue import Entry, Row

TITLES = {
    "tigerscore": "TIGERScore", "semscore": "SemScore", "hdeval": "HD-Eval", "prometheus": "Prometheus",
    "coascore": "CoAScore", catalogue.META: "What the papers leave out",
}  # fmt: skip
COLUMNS = (
    "paper", "id", "title", "kind", "route", *papers.COUNTS, "largest_difference", "status", "reason", "saved",
    "output", "notebook",
)  # fmt: skip
COMPARED = ("reproduced", "partly", "differs")  # of a printed table that has numbers to compare
_ROUTES = ("run", "public", "published", "recorded", "mini")  # as a table's routes are told
READING = (
    "Recomputed: from public data, or by running the judge; what a paper's authors published of their own judge's "
    "outputs is public data. Consistent: follows from other numbers that the paper prints. For orientation: another "
    "judge, prompt or run. Of these and of a run of ours it is said whether the printed number lies within our "
    "interval; a run stands beside what was derived or recorded, and such a cell is in both counts. Equal by "
    "construction, whatever was measured: counted in none, named with the reason in "
    "data/paper_tables/by_construction.csv. A number that a paper prints twice is two printed numbers. Equal is within "
    "0.51 of the last printed digit, or by a rounding habit of the paper that data/paper_tables/rounding.csv names "
    "with its evidence."
)
CLAIMS = "results/meta/meta_claims__{}.csv"
_WORDLESS = {
    "prompt": "prints a prompt, no number",
    "text": "prints text, no number",
    "diagram": "a diagram, no number",
}


def build(mode: str = "full") -> pd.DataFrame:
    """The scoreboard from the saved results: a row for every printed table and figure, in the papers' order.

    `saved` is the day from which the saved values are: a run that gives the same values leaves it.
    Raises: ValueError for an unknown mode; CatalogueError.
    """
    stated = {(row.paper, row.id): row for row in catalogue.load().rows}
    rows = [_row(one, stated.get((one.printed.paper, one.printed.id))) for one in _gathered(mode)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype(dict.fromkeys(papers.COUNTS, int) | {"largest_difference": float})


def cells(mode: str = "full") -> pd.DataFrame:
    """The cells that the scoreboard counts, as they were saved: one a printed number that an output speaks of.

    Raises: ValueError for an unknown mode; CatalogueError.
    """
    made = [one.cells for one in _gathered(mode) if one.cells is not None]
    return pd.concat(made or [pd.DataFrame(columns=papers.comparison.RESULT)], ignore_index=True)


class _Printed(NamedTuple):
    """A printed table or figure: its line of the index, the outputs that cover it and what those of them saved."""

    printed: Any
    entries: list[Entry]
    made: list[tuple[Entry, dict[str, Any]]]  # with its record and cells
    cells: pd.DataFrame | None  # one a printed cell and route, of all outputs


def _gathered(mode: str) -> Iterator[_Printed]:
    if mode not in ("full", "quick"):
        raise ValueError(f"mode is {mode!r}; allowed: full, quick")
    covering: dict[tuple[str, str], list[tuple[Entry, dict[str, Any] | None]]] = defaultdict(list)
    for entry in catalogue.load().outputs:
        base = answers.base(entry, mode)
        if record := saving.read_json(f"{base}.json"):
            record["cells"] = answers.saved_cells(f"{base}.csv")
        if record is not None and (
            lacking := [key for key in ("route", "date") if not isinstance(record.get(key), str)]
        ):
            raise ValueError(f"{base}.json is damaged (no {lacking[0]!r}); {saving.AGAIN}")
        for name in entry.covers:
            covering[entry.paper, name].append((entry, record))
    for printed in papers.index().itertuples(index=False):
        there = covering[str(printed.paper), str(printed.id)]
        made = [(entry, record) for entry, record in there if record is not None]
        frames = [record["cells"] for _, record in made if record["cells"] is not None]
        yield _Printed(printed, [entry for entry, _ in there], made, _cells(printed, frames))


def totals(frame: pd.DataFrame) -> pd.DataFrame:
    """Sums of the scoreboard by paper, with a last row for all: each count for itself."""
    rows = []
    for name, part in [*frame.groupby("paper", sort=False), ("all", frame)]:
        row = {"paper": name, "tables and figures": len(part)}
        row |= {status: int((part["status"] == status).sum()) for status in ("reproduced", "partly")}
        rows.append(row | _in_columns(part[list(papers.COUNTS)].sum()))
    return pd.DataFrame(rows)


def _in_columns(counts: Mapping[str, int]) -> dict[str, Any]:
    """The counts as a reader meets them in a table."""
    return {
        "printed numbers": int(counts["printed"]),
        "recomputed: equal": f"{counts['recomputed_equal']} of {counts['recomputed']}",
        "consistent: equal": f"{counts['consistent_equal']} of {counts['consistent']}",
        "for orientation": int(counts["orientation"]),
        "within our interval": int(counts["recomputed_within"] + counts["orientation_within"]),
        "by construction": int(counts["construction"]),
    }


def headline(frame: pd.DataFrame) -> str:
    """What became of all printed numbers, in one line: three counts, and what is in none."""
    sums = {name: int(frame[name].sum()) for name in papers.COUNTS}
    return f"{sums['printed']:,} printed numbers; {papers.in_words(sums)}; nothing to set beside: {sums['missing']:,}"


def brief(frame: pd.DataFrame) -> pd.DataFrame:
    """The scoreboard for readers: the counts in words, where a table or figure prints numbers at all."""
    counts = [_in_columns(row) if row["printed"] else {} for row in frame[list(papers.COUNTS)].to_dict("records")]
    shown = frame[["id", "title", "status"]].rename(columns={"title": "what"})
    for name in _in_columns(dict.fromkeys(papers.COUNTS, 0)):
        shown[name] = [str(one.get(name, "")).removesuffix("0 of 0") for one in counts]
    shown["largest difference"] = [f"{gap:.4g}" if gap == gap else "" for gap in frame["largest_difference"]]
    return shown.join(frame[["route", "saved", "reason"]])


def show(frame: pd.DataFrame, caption: str = "") -> tables.Table:
    """The scoreboard, or its totals, as a styled table."""
    shades = {"reproduced": "equal", "partly": "near", "differs": "off"}
    shades |= dict.fromkeys(("needs GPU", "no public data"), "missing")
    return tables.show(frame, caption, 4, classes=lambda name, said: shades.get(said) if name == "status" else None)


def save(frame: pd.DataFrame, mode: str = "full") -> list[str]:
    """Write `scoreboard.csv` and `.md` into results, `scoreboard.svg` and `.png` into figures; print the headline.

    That of this checkout's full results puts its headline into the README, too. Files that would not change are left
    alone. Returns their names, the README's aside.
    """
    from nlgeval_lib import figures

    folder = "quick/" if mode == "quick" else ""
    contents = {
        f"results/{folder}scoreboard.csv": saving.csv_text(frame).encode(),
        f"results/{folder}scoreboard.md": markdown(frame).encode(),
    }
    for end, drawn in figures.render(figures.scoreboard(frame, TITLES)).items():
        contents[f"figures/{folder}scoreboard.{end}"] = drawn
    if not folder:
        contents |= answers.pages(catalogue.load().outputs)
    changed = {name: content for name, content in contents.items() if not saving.same_file(name, content, contents)}
    saving.write(changed)
    line = headline(frame)
    if not folder and files.results() == files.root() / "results":
        _tell_readme(line)
    if given := os.environ.get("NLGEVAL_RECORD"):
        report = {"id": catalogue.SCOREBOARD, "folder": folder.rstrip("/"), "line": line, "files": list(contents)}
        files.write_text(given, json.dumps(report | {"modules": provenance.modules()}))
    print(line)
    return list(contents)


def claims(frame: str = "by_paper") -> pd.DataFrame:
    """What `meta_claims` saved: a row a paper with its verdicts counted, or of "claims" a row a claim; or nothing."""
    path = files.located(CLAIMS.format(frame))
    return pd.read_csv(path, keep_default_na=False) if path.exists() else pd.DataFrame()


def _tell_readme(line: str) -> None:
    readme = files.root() / "README.md"
    text = told = readme.read_text(encoding="utf-8") if readme.exists() else ""
    for mark, content in (("counts", textwrap.fill(line, 119)), ("claims", _md_table(claims()))):
        before, opened, rest = told.partition(f"<!-- {mark} -->\n")
        _, closed, after = rest.partition(f"<!-- /{mark} -->")
        if content and closed:
            told = f"{before}{opened}{content}\n{closed}{after}"
    if told != text:
        files.write_text(readme, told)


def markdown(frame: pd.DataFrame) -> str:
    """The scoreboard as Markdown: totals, then a table a paper; rows without numbers and how to read it are folded."""
    lines = ["# Scoreboard", "", headline(frame) + ".", "", _md_table(totals(frame)), ""]
    lines += [answers.folded("How to read the counts", READING)]
    for paper, part in frame.groupby("paper", sort=False):
        numbers = part["status"].isin(COMPARED)
        shown = brief(part).assign(id=[_linked(row) for row in part.to_dict("records")])
        rest = shown.loc[~numbers, ["id", "what", "status", "route", "reason"]]
        lines += ["", f"## {TITLES[paper]}", ""]
        if numbers.any():
            lines += [_md_table(shown[numbers].drop(columns=["by construction", "reason"])), ""]
        many = f"{len(rest)} further tables and figures, without a number to compare"
        lines += [answers.folded(many, _md_table(rest))]
    if len(counted := claims()):
        lines += ["", "## Claims, by verdict", "", "More on [the page of claims](meta/meta_claims.md).", ""]
        lines += [_md_table(counted)]
        for paper, part in claims("claims").groupby("paper", sort=False):
            shown = part[["place", "claim", "verdict", "evidence", "inference"]]
            lines += ["", answers.folded(f"{TITLES[paper]}: each claim with its arithmetic", _md_table(shown))]
    return "\n".join(lines) + "\n"


def _linked(row: Mapping[str, Any]) -> str:
    """A printed table's name, with the page of the first output that covers it."""
    page = f"{row['paper']}/{row['output'].partition(',')[0]}"
    return f"[{row['id']}]({page}.md)" if files.located(f"results/{page}.json").exists() else row["id"]


def _md_table(frame: pd.DataFrame) -> str:
    cells = frame.astype(str).replace({r"\|": r"\\|", "\n": " "}, regex=True)
    return files.markdown_table(frame.columns, cells.itertuples(index=False, name=None)) if len(frame) else ""


def _row(one: _Printed, stated: Row | None) -> dict[str, Any]:
    printed, cells = one.printed, one.cells
    found = papers.counts(cells) if cells is not None else dict.fromkeys(papers.COUNTS, 0)
    gaps, routes = pd.Series(dtype=float), dict.fromkeys(record["route"] for _, record in one.made)
    if cells is not None and cells["ours"].notna().any():
        compared = cells["verdict"].isin(papers.COMPARED) & (cells["route"] != "recorded")
        gaps = cells.loc[compared, "difference"].abs()
        routes = {route: None for route in _ROUTES if (cells["route"] == route).any()}
    status, reason = _status(one, found, stated)
    named = [entry for entry, _ in one.made] or one.entries
    return {name: getattr(printed, name) for name in ("paper", "id", "title", "kind")} | {
        "route": ", ".join(routes),
        **found,
        "printed": int(printed.cells),
        "missing": int(printed.cells) - found["printed"] + found["missing"],
        "largest_difference": gaps.max(),
        "status": status,
        "reason": reason,
        "saved": ", ".join(dict.fromkeys(record["date"][:10] for _, record in one.made)),
        "output": ", ".join(entry.id for entry in named),
        "notebook": named[0].notebook if named else "",
    }


def _cells(printed: Any, frames: list[pd.DataFrame]) -> pd.DataFrame | None:
    """The compared cells of one printed table from all outputs that cover it, one a printed cell and route.

    Where two outputs give the same, a number goes before none, then the first of them; never the nearer value.
    """
    frames = [part[(part["paper"] == printed.paper) & (part["table"] == printed.id)] for part in frames]
    frames = [part[part["verdict"] != "extra"] for part in frames if len(part)]
    if not frames:
        return None
    joined = pd.concat(frames, ignore_index=True)
    order = joined["ours"].isna().sort_values(kind="stable").index
    kept = joined.loc[order].drop_duplicates([*papers.KEY, "route"])
    return kept[kept["ours"].notna() | ~kept.duplicated([*papers.KEY])].sort_index()


def _status(one: _Printed, found: Mapping[str, int], stated: Row | None) -> tuple[str, str]:
    """A row's status, and why it is no better."""
    cells, kind, whole = one.cells, one.printed.kind, int(one.printed.cells)
    compared, equal = (found[f"recomputed{end}"] + found[f"consistent{end}"] for end in ("", "_equal"))
    if cells is not None and compared:
        why, within = [stated.reason] if stated else [], found["recomputed_within"]
        if compared > equal:
            also = f", {within} of them within our interval" if within else ""
            why.insert(0, f"{compared - equal} of {compared} compared numbers are not equal{also}")
        gaps = cells[cells["verdict"] == "missing"]
        why += [f"{len(part)} missing: {reason}" for reason, part in gaps.groupby("reason", sort=False)]
        if (unlisted := whole - found["printed"]) > 0:
            why.append(f"{unlisted} printed numbers are in no output")
        beside = cells[cells["verdict"].isin((*papers.COMPARED, "construction")) & (cells["route"] != "recorded")]
        if equal == compared and len(beside.drop_duplicates([*papers.KEY])) >= whole:
            return "reproduced", ""
        return ("partly" if 2 * (equal + within) >= compared else "differs"), "; ".join(why)
    if stated:
        told = cells["reason"].unique() if cells is not None else ()
        return stated.status, "; ".join([stated.reason, *(why for why in told if why.startswith("judged by "))])
    if not whole and (one.made or kind in _WORDLESS):
        shown = f"shown by {', '.join(entry.id for entry, _ in one.made)}" if one.made else ""
        said = _WORDLESS.get(kind, "prints no value that could be compared")
        return "no numbers", "; ".join(filter(None, [said, one.printed.note, shown]))
    if cells is not None:
        return "not built yet", f"no number compared: {'; '.join(filter(None, cells['reason'].unique()))}"
    named = f"no result saved yet: nlgeval run {one.entries[0].id}" if one.entries else "no notebook yet"
    return "not built yet", named
