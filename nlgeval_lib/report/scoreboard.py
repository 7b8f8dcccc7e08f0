"""One row a printed table or figure of the five papers: what was compared, what is
equal, and why the rest is not.

A row's status follows from its printed numbers (those of `data/paper_tables`):

- `reproduced`: every printed number was compared (*recomputed* or *consistent*, see
`papers.comparison`), and is equal;
- `partly`: at least half of the compared numbers are equal, or within the judge's own
spread, but not all are equal;
- `differs`: numbers were compared, and fewer than half of them are;
- `needs GPU`, `no public data`: no number could be compared, for the reason given in
`notebooks/catalogue.toml`;
- `no numbers`: a prompt, a text, a diagram, or a figure of unlabelled curves or bars
that an output of ours draws;
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
from nlgeval_lib.papers.counting import PLURALS
from nlgeval_lib.prompts import printed as printed_prompts
from nlgeval_lib.report import answers, saving, seal, tables
from nlgeval_lib.scoring import provenance
from nlgeval_lib.study import catalogue
from nlgeval_lib.study.catalogue import Entry, Row

TITLES = {
    "tigerscore": "TIGERScore",
    "semscore": "SemScore",
    "hdeval": "HD-Eval",
    "prometheus": "Prometheus",
    "coascore": "CoAScore",
    catalogue.META: "What the papers leave out",
}
COLUMNS = (
    "paper",
    "id",
    "title",
    "kind",
    "route",
    "own_printed",
    "own_recomputed",
    "own_equal",
    "own",
    "recomputed_by_kind",
    "consistent_by_kind",
    *papers.COUNTS,
    "largest_difference",
    "status",
    "reason",
    "saved",
    "output",
    "notebook",
)
COMPARED = (
    "reproduced",
    "partly",
    "differs",
)  # of a printed table that has numbers to compare
_ROUTES = (
    "run",
    "public",
    "published",
    "recorded",
    "mini",
)  # as a table's routes are told
READING = (
    "Each printed number has a kind (data/paper_tables/kinds.csv): the paper's own "
    "method, its ablation, another LLM judge, a learned metric, a lexical metric, "
    "human, or a count. Tested means recomputed: from public data, or by running the "
    "judge; what a paper's authors published of their own judge's outputs is public "
    "data. Consistent: follows from other numbers that the paper prints; that tests no "
    "method. For orientation: another judge, prompt or run; its distance is shown and "
    "no verdict given. A run stands beside what was derived or recorded, and such a "
    "number is in both counts. Equal is within 0.51 of the last printed digit, or by a "
    "rounding habit of the paper that data/paper_tables/rounding.csv names with its "
    "evidence. A run of the paper's judge that is not equal is within the judge's own "
    "spread where it is no farther from the printed number than 95 % of pairs of runs "
    "of one judge lie apart, and half a step of the last printed digit; else apart. "
    "Shuffled: how many would be equal on average, were the printed numbers of a table "
    "dealt out anew among the cells of one statistic; where that comes near a count, "
    "the count is no support. Equal by construction, whatever was measured: counted in "
    "none, named in data/paper_tables/by_construction.csv. Of the equal recomputed "
    "numbers it is said what they are: distinct ones, reprints of another table's, "
    "averages of others, sizes, values of a single example."
)
_INTEGERS = {
    name: int
    for name in (*papers.COUNTS, "own_printed", "own_recomputed", "own_equal")
    if not name.endswith("shuffled")
}
CLAIMS = "results/meta/meta_claims__{}.csv"
_WORDLESS = {
    "prompt": "prints a prompt, no number",
    "text": "prints text, no number",
    "diagram": "a diagram, no number",
}


def build(mode: str = "full") -> pd.DataFrame:
    """The scoreboard from the saved results: a row for every printed table and figure,
    in the papers' order.

    `saved` is the day from which the saved values are: a run that gives the same values
    leaves it.
    Raises: ValueError for an unknown mode; CatalogueError.
    """
    stated = {(row.paper, row.id): row for row in catalogue.load().rows}
    rows = [
        _row(one, stated.get((one.printed.paper, one.printed.id)))
        for one in _gathered(mode)
    ]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype(_INTEGERS | {"largest_difference": float})


def cells(mode: str = "full") -> pd.DataFrame:
    """The cells that the scoreboard counts, as they were saved: one a printed number
    that an output speaks of.

    Raises: ValueError for an unknown mode; CatalogueError.
    """
    made = [one.cells for one in _gathered(mode) if one.cells is not None]
    return pd.concat(
        made or [pd.DataFrame(columns=papers.comparison.RESULT)], ignore_index=True
    )


class _Printed(NamedTuple):
    """A printed table or figure: its line of the index, the outputs that cover it
    and what those of them saved.
    """

    printed: Any
    entries: list[Entry]
    made: list[tuple[Entry, dict[str, Any]]]  # with its record and cells
    cells: pd.DataFrame | None  # one a printed cell and route, of all outputs


def _gathered(mode: str) -> Iterator[_Printed]:
    if mode not in ("full", "quick"):
        raise ValueError(f"mode is {mode!r}; allowed: full, quick")
    covering: dict[tuple[str, str], list[tuple[Entry, dict[str, Any] | None]]] = (
        defaultdict(list)
    )
    for entry in catalogue.load().outputs:
        base = answers.base(entry, mode)
        if record := saving.read_json(f"{base}.json"):
            record["cells"] = answers.saved_cells(f"{base}.csv")
        if record is not None and (
            lacking := [
                key for key in ("route", "date") if not isinstance(record.get(key), str)
            ]
        ):
            raise ValueError(
                f"{base}.json is damaged (no {lacking[0]!r}); {saving.AGAIN}"
            )
        for name in entry.covers:
            covering[entry.paper, name].append((entry, record))
    for printed in papers.index().itertuples(index=False):
        there = covering[str(printed.paper), str(printed.id)]
        made = [(entry, record) for entry, record in there if record is not None]
        frames = [record["cells"] for _, record in made if record["cells"] is not None]
        yield _Printed(
            printed, [entry for entry, _ in there], made, _cells(printed, frames)
        )


def kinds(mode: str = "full") -> pd.DataFrame:
    """The counts by paper and kind: `paper, kind`, `papers.COUNTS` over all printed
    numbers, and the sorts of evidence of the recomputed equal ones.

    Raises: ValueError for an unknown mode; CatalogueError.
    """
    printed = papers.printed_cells()
    compared = cells(mode)
    rows = []
    for paper, part in printed.groupby("paper", sort=False):
        found = papers.by_kind(compared[compared["paper"] == paper])
        found = found.set_index("kind")
        for kind in papers.ROW_KINDS:
            many = int((part["kind"] == kind).sum())
            if not many:
                continue
            empty = dict.fromkeys((*papers.COUNTS, *papers.EVIDENCE), 0)
            counted = found.loc[kind].to_dict() if kind in found.index else empty
            unlisted = many - counted["printed"]
            counted |= {"printed": many, "missing": counted["missing"] + unlisted}
            rows.append({"paper": paper, "kind": kind} | counted)
    columns = ["paper", "kind", *papers.COUNTS, *papers.EVIDENCE]
    exact = [name for name in columns[2:] if not name.endswith("shuffled")]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(exact, int))


def totals(counted: pd.DataFrame) -> pd.DataFrame:
    """The counts for readers: a row an own method, then a row for each other kind.

    counted: as `kinds` gives them, of all papers or some.
    """
    rows = []
    for one in counted[counted["kind"] == papers.OWN].to_dict("records"):
        name = papers.own_method(one["paper"])[0]
        rows.append({"what": f"own method: {name}"} | _in_columns(one))
    for kind in papers.ROW_KINDS[1:]:
        part = counted[counted["kind"] == kind]
        if len(part):
            sums = part[[*papers.COUNTS, *papers.EVIDENCE]].sum().to_dict()
            rows.append({"what": PLURALS[kind]} | _in_columns(sums))
    return pd.DataFrame(rows)


def _in_columns(found: Mapping[str, Any]) -> dict[str, Any]:
    """The counts of one kind as a reader meets them in a table."""
    sorts = []
    for sort in papers.EVIDENCE:
        if found[sort]:
            sorts.append(f"{int(found[sort])} {sort}")
    tested = ""
    if found["recomputed"]:
        tested = papers.outcome(found, "recomputed")
    consistent = ""
    if found["consistent"]:
        consistent = papers.outcome(found, "consistent")
    return {
        "printed": int(found["printed"]),
        "recomputed": tested or "not tested",
        "the equal ones": ", ".join(sorts),
        "consistent": consistent,
        "for orientation": int(found["orientation"]),
        "by construction": int(found["construction"]),
        "nothing beside": int(found["missing"]),
    }


def headline(counted: pd.DataFrame) -> str:
    """What was tested of the papers' own methods, then of the others by kind.

    counted: as `kinds` gives them, of all papers or some.
    """
    own = counted[counted["kind"] == papers.OWN]
    parts = []
    for one in own.itertuples():
        name = papers.own_method(one.paper)[0]
        parts.append(f"{name} {one.recomputed:,} of {one.printed:,}")
    tested = int(own["recomputed"].sum())
    said = f"Printed numbers of the papers' own methods that were tested: {tested:,}"
    said += f" ({', '.join(parts)})" if parts else ""
    columns = [*papers.COUNTS, *papers.EVIDENCE]
    sums = counted.groupby("kind", sort=False)[columns].sum().reset_index()
    order = sums["kind"].map(papers.ROW_KINDS.index)
    rows = sums.loc[order.sort_values().index].to_dict("records")
    for count in ("recomputed", "consistent"):
        words = papers.kinds_in_words(rows, count)
        if words:
            said += f". {count.capitalize()}: {words}"
    oriented = _some_of(rows, "orientation")
    if oriented:
        said += f". For orientation, without a verdict: {oriented}"
    return said


def _some_of(rows: list[dict[str, Any]], count: str) -> str:
    """How many cells of each kind a count has, where it has any."""
    parts = []
    for one in rows:
        if one[count]:
            parts.append(f"{PLURALS[one['kind']]} {int(one[count]):,}")
    return "; ".join(parts)


def brief(frame: pd.DataFrame) -> pd.DataFrame:
    """The scoreboard for readers: what was tested of the paper's own method, then
    the counts by kind.
    """
    shown = frame[["id", "title", "own"]].rename(
        columns={"title": "what", "own": "own method"}
    )
    shown["recomputed"] = frame["recomputed_by_kind"]
    shown["consistent"] = frame["consistent_by_kind"]
    shown["for orientation"] = frame["orientation"].replace(0, "").astype(str)
    shown["status"] = frame["status"]
    shown["largest difference"] = [
        f"{gap:.4g}" if gap == gap else "" for gap in frame["largest_difference"]
    ]
    return shown.join(frame[["route", "saved", "reason"]])


def show(frame: pd.DataFrame, caption: str = "") -> tables.Table:
    """The scoreboard, or its totals, as a styled table."""
    shades = {"reproduced": "equal", "partly": "near", "differs": "off"}
    shades |= dict.fromkeys(("needs GPU", "no public data"), "missing")
    return tables.show(
        frame,
        caption,
        4,
        classes=lambda name, said: shades.get(said) if name == "status" else None,
    )


def save(frame: pd.DataFrame, mode: str = "full") -> list[str]:
    """Write `scoreboard.csv` and `.md` into results, `scoreboard.svg` and `.png` into
    figures; print the headline.

    That of this checkout's full results puts its headline into the README, too. Files
    that would not change are left alone. Returns their names, the README's aside.
    """
    from nlgeval_lib import figures

    folder = "quick/" if mode == "quick" else ""
    counted = kinds(mode)
    contents = texts(frame, mode)
    for end, drawn in figures.render(figures.scoreboard(frame, TITLES)).items():
        contents[f"figures/{folder}scoreboard.{end}"] = drawn
    changed = {
        name: content
        for name, content in contents.items()
        if not saving.same_file(name, content, contents)
    }
    saving.write(changed)
    line = headline(counted)
    if not folder and files.results() == files.root() / "results":
        text = readme(counted)
        if text and text != _readme_text():
            files.write_text(files.root() / "README.md", text)
        blocks = [f"README.md#{mark}" for mark in seal.BLOCKS if seal.block(mark)]
        seal.renew([*contents, *blocks], [*changed, *blocks])
    if given := os.environ.get("NLGEVAL_RECORD"):
        report = {
            "id": catalogue.SCOREBOARD,
            "folder": folder.rstrip("/"),
            "line": line,
            "files": list(contents),
        }
        files.write_text(given, json.dumps(report | {"modules": provenance.modules()}))
    print(line)
    return list(contents)


def texts(frame: pd.DataFrame, mode: str = "full") -> dict[str, bytes]:
    """The scoreboard as CSV and Markdown and, of full results, every output's page, by
    name.
    """
    folder = "quick/" if mode == "quick" else ""
    contents = {
        f"results/{folder}scoreboard.csv": saving.csv_text(frame).encode(),
        f"results/{folder}scoreboard.md": markdown(frame, kinds(mode)).encode(),
    }
    return contents if folder else contents | answers.pages(catalogue.load().outputs)


def claims(frame: str = "by_paper") -> pd.DataFrame:
    """What `meta_claims` saved: a row a paper with its verdicts counted, or of
    "claims" a row a claim; or nothing.
    """
    path = files.located(CLAIMS.format(frame))
    return pd.read_csv(path, keep_default_na=False) if path.exists() else pd.DataFrame()


def _readme_text() -> str:
    path = files.root() / "README.md"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def readme(counted: pd.DataFrame) -> str:
    """The README with its generated blocks as the results give them; nothing where
    there is no README.

    counted: as `kinds` gives them.
    """
    text = _readme_text()
    line = textwrap.fill(f"{headline(counted)}.", 119)
    for mark, content in (
        ("counts", f"{line}\n\n{_md_table(totals(counted))}"),
        ("claims", _md_table(claims())),
    ):
        before, opened, rest = text.partition(f"<!-- {mark} -->\n")
        _, closed, after = rest.partition(f"<!-- /{mark} -->")
        if content and closed:
            text = f"{before}{opened}{content}\n{closed}{after}"
    return text


def markdown(frame: pd.DataFrame, counted: pd.DataFrame) -> str:
    """The scoreboard as Markdown: totals by kind, then a table a paper; rows without
    numbers and how to read it are folded.

    counted: as `kinds` gives them.
    """
    lines = [
        "# Scoreboard",
        "",
        headline(counted) + ".",
        "",
        _md_table(totals(counted)),
        "",
    ]
    lines += [answers.folded("How to read the counts", READING)]
    for paper, part in frame.groupby("paper", sort=False):
        numbers = part["status"].isin(COMPARED)
        shown = brief(part).assign(id=[_linked(row) for row in part.to_dict("records")])
        rest = shown.loc[~numbers, ["id", "what", "status", "route", "reason"]]
        lines += ["", f"## {TITLES[paper]}", ""]
        if numbers.any():
            lines += [
                _md_table(shown[numbers].drop(columns=["reason"])),
                "",
            ]
        many = f"{len(rest)} further tables and figures, without a number to compare"
        lines += [answers.folded(many, _md_table(rest))]
    if len(counted := claims()):
        lines += [
            "",
            "## Claims, by verdict",
            "",
            "More on [the page of claims](meta/meta_claims.md).",
            "",
        ]
        lines += [_md_table(counted)]
        for paper, part in claims("claims").groupby("paper", sort=False):
            shown = part[["place", "claim", "verdict", "evidence", "inference"]]
            lines += [
                "",
                answers.folded(
                    f"{TITLES[paper]}: each claim with its arithmetic", _md_table(shown)
                ),
            ]
    return "\n".join(lines) + "\n"


def _linked(row: Mapping[str, Any]) -> str:
    """A printed table's name, with the page of the first output that covers it."""
    page = f"{row['paper']}/{row['output'].partition(',')[0]}"
    return (
        f"[{row['id']}]({page}.md)"
        if files.located(f"results/{page}.json").exists()
        else row["id"]
    )


def _md_table(frame: pd.DataFrame) -> str:
    cells = frame.astype(str).replace({r"\|": r"\\|", "\n": " "}, regex=True)
    return (
        files.markdown_table(frame.columns, cells.itertuples(index=False, name=None))
        if len(frame)
        else ""
    )


def _row(one: _Printed, stated: Row | None) -> dict[str, Any]:
    printed = one.printed
    cells = one.cells
    found = (
        papers.counts(cells) if cells is not None else dict.fromkeys(papers.COUNTS, 0)
    )
    gaps = pd.Series(dtype=float)
    routes = dict.fromkeys(record["route"] for _, record in one.made)
    if cells is not None and cells["ours"].notna().any():
        compared = cells["verdict"].isin(papers.COMPARED) & (
            cells["route"] != "recorded"
        )
        gaps = cells.loc[compared, "difference"].abs()
        routes = {route: None for route in _ROUTES if (cells["route"] == route).any()}
    status, reason = _status(one, found, stated)
    tallied: list[dict[str, Any]] = []
    if cells is not None:
        tallied = papers.by_kind(cells).to_dict("records")
    named = [entry for entry, _ in one.made] or one.entries
    return {
        name: getattr(printed, name) for name in ("paper", "id", "title", "kind")
    } | {
        "route": ", ".join(routes),
        **_own(printed, tallied),
        "recomputed_by_kind": papers.kinds_in_words(tallied, "recomputed"),
        "consistent_by_kind": papers.kinds_in_words(tallied, "consistent"),
        **found,
        "printed": int(printed.cells),
        "missing": int(printed.cells) - found["printed"] + found["missing"],
        "largest_difference": gaps.max(),
        "status": status,
        "reason": reason,
        "saved": ", ".join(
            dict.fromkeys(record["date"][:10] for _, record in one.made)
        ),
        "output": ", ".join(entry.id for entry in named),
        "notebook": named[0].notebook if named else "",
    }


def _own(printed: Any, tallied: list[dict[str, Any]]) -> dict[str, Any]:
    """How many numbers of its own method a table prints, and what was tested of them.

    tallied: the table's counts by kind.
    """
    many = papers.own_numbers(printed.paper, printed.id)
    counted: dict[str, Any] = {}
    for one in tallied:
        if one["kind"] == papers.OWN:
            counted = one
    tested = counted.get("recomputed", 0)
    words = ""
    if tested:
        words = papers.outcome(counted, "recomputed")
    elif many:
        needs = papers.own_method(printed.paper, printed.id)[1]
        words = f"not tested (0 of {many}; needs {needs})"
    return {
        "own_printed": many,
        "own_recomputed": tested,
        "own_equal": counted.get("recomputed_equal", 0),
        "own": words,
    }


def _cells(printed: Any, frames: list[pd.DataFrame]) -> pd.DataFrame | None:
    """The compared cells of one printed table from all outputs that cover it, one a
    printed cell and route.

    Where two outputs give the same, a number goes before none, then the first of them;
    never the nearer value.
    """
    frames = [
        part[(part["paper"] == printed.paper) & (part["table"] == printed.id)]
        for part in frames
    ]
    frames = [part[part["verdict"] != "extra"] for part in frames if len(part)]
    if not frames:
        return None
    joined = pd.concat(frames, ignore_index=True)
    order = joined["ours"].isna().sort_values(kind="stable").index
    kept = joined.loc[order].drop_duplicates([*papers.KEY, "route"])
    return kept[kept["ours"].notna() | ~kept.duplicated([*papers.KEY])].sort_index()


def _unequal(cells: pd.DataFrame) -> str:
    """How many compared numbers of each kind are not equal, in words."""
    parts = []
    for one in papers.by_kind(cells).to_dict("records"):
        many = one["recomputed"] + one["consistent"]
        gone = many - one["recomputed_equal"] - one["consistent_equal"]
        if gone:
            near = one["recomputed_spread"]
            also = f", {near} {papers.comparison.SPREAD}" if near else ""
            parts.append(f"{PLURALS[one['kind']]} {gone} of {many}{also}")
    return ", ".join(parts)


def _status(
    one: _Printed, found: Mapping[str, int], stated: Row | None
) -> tuple[str, str]:
    """A row's status, and why it is no better."""
    cells = one.cells
    kind = one.printed.kind
    whole = int(one.printed.cells)
    compared, equal = (
        found[f"recomputed{end}"] + found[f"consistent{end}"] for end in ("", "_equal")
    )
    if cells is not None and compared:
        why = [stated.reason] if stated else []
        near = found["recomputed_spread"]
        unequal = _unequal(cells)
        if unequal:
            why.insert(0, f"not equal: {unequal}")
        gaps = cells[cells["verdict"] == "missing"]
        why += [
            f"{len(part)} missing: {reason}"
            for reason, part in gaps.groupby("reason", sort=False)
        ]
        if (unlisted := whole - found["printed"]) > 0:
            why.append(f"{unlisted} printed numbers are in no output")
        beside = cells[
            cells["verdict"].isin((*papers.COMPARED, "construction"))
            & (cells["route"] != "recorded")
        ]
        if equal == compared and len(beside.drop_duplicates([*papers.KEY])) >= whole:
            return "reproduced", ""
        return ("partly" if 2 * (equal + near) >= compared else "differs"), "; ".join(
            why
        )
    if stated:
        told = cells["reason"].unique() if cells is not None else ()
        return stated.status, "; ".join(
            [stated.reason, *(why for why in told if why.startswith("judged by "))]
        )
    if not whole and (one.made or kind in _WORDLESS):
        shown = (
            f"shown by {', '.join(entry.id for entry, _ in one.made)}"
            if one.made
            else ""
        )
        said = _WORDLESS.get(kind, "prints no value that could be compared")
        place = (one.printed.paper, one.printed.id)
        prompt = printed_prompts.verdicts().get(place, "")
        return "no numbers", "; ".join(
            filter(None, [prompt, said, one.printed.note, shown])
        )
    if cells is not None:
        return (
            "not built yet",
            f"no number compared: {'; '.join(filter(None, cells['reason'].unique()))}",
        )
    named = (
        f"no result saved yet: nlgeval run {one.entries[0].id}"
        if one.entries
        else "no notebook yet"
    )
    return "not built yet", named
