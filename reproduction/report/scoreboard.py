"""One row a printed table or figure of the five papers: what was compared, what is
equal, and why the others are not.

A row's status follows from its printed numbers (those of `data/paper_tables`):

- `reproduced`: every printed number was computed here, and is equal;
- `partly`: at least half of the compared numbers (computed here, or from other printed
numbers) are equal, or within the judge's own spread;
- `undecided`: so they are, but no kind's count is more than chance may give, which
`reproduced` and `partly` need (`papers.told_apart`);
- `differs`: numbers were compared, and fewer than half of them are equal;
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

from judgecard import web
from nlgeval_lib import files, tables
from nlgeval_lib.names import counted_noun
from reproduction import papers, printed_prompts
from reproduction.papers.counting import PLURALS, UNTOLD, WORDS
from reproduction.report import (
    answers,
    charts,
    claims_page,
    comparisons,
    filled,
    judges_page,
    reproduction,
    saving,
    seal,
    sentences,
)
from reproduction.study import catalogue
from reproduction.study.catalogue import Entry, Row

# Each paper as readers meet it, in the order of the pages; last what is beyond them.
TITLES = {
    "tigerscore": "TIGERScore",
    "semscore": "SemScore",
    "hdeval": "HD-Eval",
    "prometheus": "Prometheus",
    "coascore": "CoAScore",
    catalogue.META: "What the papers leave out",
}
# The columns of scoreboard.csv, in their order.
COLUMNS = (
    "paper",
    "id",
    "title",
    "kind",
    "route",
    # of the paper's own method: three counts, and the same in words
    "own_printed",
    "own_recomputed",
    "own_equal",
    "own",
    # of all kinds: in words, then in numbers
    "recomputed_by_kind",
    "consistent_by_kind",
    *papers.COUNTS,
    "largest_difference",
    "status",
    "reason",
    # where all this is from
    "saved",
    "output",
    "notebook",
)
# The columns of `brief` that a page has no room for.
ASIDE = (WORDS["orientation"], "largest difference", "route", "saved", "reason")
# The statuses of a printed table that has numbers to compare.
COMPARED = ("reproduced", "partly", "undecided", "differs")
# The order in which a table's routes are named.
_ROUTES = ("run", "public", "published", "recorded", "mini")
# The types of the columns that count; what shuffled numbers reach is no whole number.
_INTEGERS = {
    name: int
    for name in (*papers.COUNTS, "own_printed", "own_recomputed", "own_equal")
    if not name.endswith("shuffled")
}
# Where the output of the claims saves its tables, and the columns of one row a claim.
CLAIMS = "results/meta/meta_claims__{}.csv"
REPLICATION = "meta_replication"  # the output that asks claims of another judge
# Kinds of printed tables and figures that hold no number to compare, and what is said.
_WORDLESS = {
    "prompt": "prints a prompt, no number",
    "text": "prints text, no number",
    "diagram": "a diagram, no number",
}


def build(mode: str = "full") -> pd.DataFrame:
    """The scoreboard from the saved results: a row for every printed table and figure,
    in the papers' order.

    mode: "full" or "quick", whose results are kept apart.
    Returns: the columns `COLUMNS`; `largest_difference` is absolute, in the printed
    unit, and `saved` the day from which the saved values are.
    Raises: ValueError for an unknown mode or a damaged result; CatalogueError.
    """
    stated = {(row.paper, row.id): row for row in catalogue.load().rows}
    rows = []
    for item in _gathered(mode):
        place = (item.printed.paper, item.printed.id)
        rows.append(_row(item, stated.get(place)))
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype(_INTEGERS | {"largest_difference": float})


def cells(mode: str = "full") -> pd.DataFrame:
    """The cells that the scoreboard counts, as they were saved: one a printed number
    that an output speaks of, and route. Columns: `papers.comparison.RESULT`.

    Raises: ValueError for an unknown mode or a damaged result; CatalogueError.
    """
    frames = [item.cells for item in _gathered(mode) if item.cells is not None]
    if not frames:
        return pd.DataFrame(columns=papers.comparison.RESULT)
    return pd.concat(frames, ignore_index=True)


class _Saved(NamedTuple):
    """An output with its record and its compared cells; None where it compares
    nothing.
    """

    entry: Entry
    record: dict[str, Any]
    cells: pd.DataFrame | None


class _Printed(NamedTuple):
    """A printed table or figure: its line of the index, the outputs that cover it
    and what those of them saved.
    """

    printed: Any
    entries: list[Entry]
    saved: list[_Saved]
    cells: pd.DataFrame | None  # one a printed cell and route, of all outputs


def _gathered(mode: str) -> Iterator[_Printed]:
    """Every printed table and figure with what was saved for it, in the papers' order."""
    if mode not in ("full", "quick"):
        raise ValueError(f"mode is {mode!r}; allowed: full, quick")
    # Both by (paper, id of the printed table): an output may cover several tables,
    # and a table may be covered by several outputs.
    entries = defaultdict[tuple[str, str], list[Entry]](list)
    results = defaultdict[tuple[str, str], list[_Saved]](list)
    for entry in catalogue.load().outputs:
        saved = _saved(entry, mode)
        for name in entry.covers:
            entries[entry.paper, name].append(entry)
            if saved is not None:
                results[entry.paper, name].append(saved)
    for printed in papers.index().itertuples(index=False):
        place = (str(printed.paper), str(printed.id))
        cells = _cells(printed, results[place])
        yield _Printed(printed, entries[place], results[place], cells)


def _saved(entry: Entry, mode: str) -> _Saved | None:
    """What an output saved; None where it saved nothing."""
    base = answers.base(entry, mode)
    record = saving.read_json(f"{base}.json")
    if record is None:
        return None
    # These two are read for every row, so that a record without them is named here.
    for key in ("route", "date"):
        if not isinstance(record.get(key), str):
            raise ValueError(f"{base}.json is damaged (no {key!r}); {saving.AGAIN}")
    return _Saved(entry, record, answers.saved_cells(f"{base}.csv"))


def kinds(mode: str = "full") -> pd.DataFrame:
    """The counts over all numbers that the papers print: a row a paper and kind, with
    `paper, kind`, `papers.COUNTS` and `papers.EVIDENCE`. A printed number that no output
    speaks of counts as missing.

    Raises: ValueError for an unknown mode or a damaged result; CatalogueError.
    """
    printed = papers.printed_cells()
    compared = cells(mode)
    rows = []
    counts = [*papers.COUNTS, *papers.EVIDENCE]
    for paper, part in printed.groupby("paper", sort=False):
        by_kind = papers.by_kind(compared[compared["paper"] == paper])
        by_kind = by_kind.set_index("kind")
        for kind in papers.ROW_KINDS:
            size = int((part["kind"] == kind).sum())
            if not size:
                continue
            row = dict.fromkeys(counts, 0)
            if kind in by_kind.index:
                row |= by_kind.loc[kind].to_dict()
            # `by_kind` knows the cells of outputs alone; the paper prints `size`.
            row["missing"] += size - row["printed"]
            row["printed"] = size
            rows.append({"paper": paper, "kind": kind} | row)
    exact = [name for name in counts if not name.endswith("shuffled")]
    frame = pd.DataFrame(rows, columns=["paper", "kind", *counts])
    return frame.astype(dict.fromkeys(exact, int))


def totals(counted: pd.DataFrame) -> pd.DataFrame:
    """The counts (of `kinds`) for readers: a row an own method, then one for each other
    kind.
    """
    rows = []
    for row in counted[counted["kind"] == papers.OWN].to_dict("records"):
        name = papers.own_method(row["paper"])[0]
        rows.append({"numbers of": f"{name}, own method"} | _in_columns(row))
    for kind in papers.ROW_KINDS[1:]:
        part = counted[counted["kind"] == kind]
        if len(part):
            counts = part[[*papers.COUNTS, *papers.EVIDENCE]]
            sums = counts.sum().to_dict()
            rows.append({"numbers of": PLURALS[kind]} | _in_columns(sums))
    return pd.DataFrame(rows)


def _in_columns(counts: Mapping[str, Any]) -> dict[str, Any]:
    """The counts of one kind as a reader meets them in a table."""
    texts: dict[str, Any] = {"recomputed": "not tested", "consistent": ""}
    for count in texts:
        if counts[count]:
            texts[count] = papers.outcome(counts, count)
    for count in ("orientation", "construction", "missing"):
        texts[count] = int(counts[count])
    columns = {WORDS[count]: text for count, text in texts.items()}
    return {"printed": int(counts["printed"])} | columns


def own_headline(counted: pd.DataFrame) -> str:
    """What was tested of the papers' own methods, in one clause without a full stop."""
    own_rows = counted[counted["kind"] == papers.OWN]
    methods = []
    for row in own_rows.itertuples():
        name = papers.own_method(row.paper)[0]
        methods.append(f"{name} {row.recomputed:,} of {row.printed:,}")
    tested = int(own_rows["recomputed"].sum())
    text = f"Printed numbers of the papers' own methods that were tested: {tested:,}"
    if methods:
        text += f" ({', '.join(methods)})"
    return text


def evidence(counted: pd.DataFrame) -> str:
    """What the equal numbers that were computed here are: distinct ones, reprints,
    averages, sizes, single examples; in one sentence.
    """
    sums = counted[list(papers.EVIDENCE)].sum()
    sorts = []
    for name, plural in _SORTS.items():
        if sums[name]:
            sorts.append(counted_noun(int(sums[name]), name, plural))
    equal = counted_noun(int(sums.sum()), "number")
    return f"Of the {equal} computed here and equal: {', '.join(sorts)}."


# The sorts of evidence, and how several of each are called.
_SORTS = {
    "distinct": "distinct",
    "reprint": "reprints of another table's",
    "average": "averages of others",
    "difference": "differences of others",
    "size": "sizes of data",
    "single example": "of a single example",
}


def headline(counted: pd.DataFrame) -> str:
    """What was tested of the papers' own methods, then of the others by kind: the line
    that a run of the scoreboard prints.
    """
    text = own_headline(counted)
    # Of all papers together, a row a kind, the own method first.
    columns = [*papers.COUNTS, *papers.EVIDENCE]
    by_kind = counted.groupby("kind", sort=False)[columns]
    sums = by_kind.sum().reset_index()
    order = sums["kind"].map(papers.ROW_KINDS.index).sort_values()
    rows = sums.loc[order.index].to_dict("records")
    for count in ("recomputed", "consistent"):
        words = papers.kinds_in_words(rows, count)
        if words:
            text += f". {WORDS[count].capitalize()}: {words}"
    oriented = []
    for row in rows:
        if row["orientation"]:
            oriented.append(f"{PLURALS[row['kind']]} {int(row['orientation']):,}")
    if oriented:
        beginning = WORDS["orientation"].capitalize()
        text += f". {beginning}, without a verdict: {'; '.join(oriented)}"
    return text


def brief(frame: pd.DataFrame) -> pd.DataFrame:
    """The scoreboard for readers, with columns named in words: what was tested of the
    paper's own method, then the counts by kind.
    """
    gaps = frame["largest_difference"]
    columns = {
        "id": frame["id"],
        "what": frame["title"],
        "own method": frame["own"],
        WORDS["recomputed"]: frame["recomputed_by_kind"],
        WORDS["consistent"]: frame["consistent_by_kind"],
        WORDS["orientation"]: frame["orientation"].replace(0, "").astype(str),
        "status": frame["status"],
        "largest difference": ["" if pd.isna(gap) else f"{gap:.4g}" for gap in gaps],
    }
    return pd.DataFrame(columns).join(frame[["route", "saved", "reason"]])


def show(frame: pd.DataFrame, caption: str = "") -> tables.Table:
    """The scoreboard, or its totals, as a table in which a column `status` is shaded."""
    shades = {
        "reproduced": "equal",
        "partly": "near",
        "undecided": "missing",
        "differs": "off",
        "needs GPU": "missing",
        "no public data": "missing",
    }

    def shade(column: str, value: Any) -> str | None:
        """The shade of a cell: only a status has one."""
        if column != "status":
            return None
        return shades.get(value)

    return tables.show(frame, caption, digits=4, classes=shade)


def save(frame: pd.DataFrame, mode: str = "full") -> list[str]:
    """Write the scoreboard, its figure and, of full results, all that `texts` has and the
    README's blocks; print the headline.

    frame: as `build` gives it, of the same `mode`.
    Returns: the names of the files, the README's aside.
    Raises: ValueError for an unknown mode or a damaged result; CatalogueError; OSError.
    """
    import matplotlib.pyplot as plt

    from judgecard import figures

    folder = "quick/" if mode == "quick" else ""
    counted = kinds(mode)
    contents = texts(frame, counted, mode)
    if not folder:
        contents |= answers.pages(catalogue.load().outputs)
    figure = charts.scoreboard(frame, TITLES)
    drawings = figures.render(figure)
    plt.close(figure)  # left to a notebook, it would be shown once more
    for end, drawing in drawings.items():
        contents[f"figures/{folder}scoreboard.{end}"] = drawing
    changed = saving.changed(contents)
    saving.write(changed)
    line = headline(counted)
    # README and seal speak of the results that are committed, and of no others.
    if not folder and files.results() == files.root() / "results":
        text = readme(counted)
        if text and text != _readme_text():
            files.write_text(files.root() / "README.md", text)
        blocks = [f"README.md#{mark}" for mark in seal.BLOCKS if seal.block(mark)]
        seal.renew([*contents, *blocks], [*changed, *blocks])
    # The runner names a file here, and reads from it what was made.
    record_path = os.environ.get("NLGEVAL_RECORD")
    if record_path:
        report = {
            "id": catalogue.SCOREBOARD,
            "folder": folder.rstrip("/"),
            "line": line,
            "files": list(contents),
        }
        files.write_text(record_path, json.dumps(report))
    print(line)
    return list(contents)


def texts(
    frame: pd.DataFrame, counted: pd.DataFrame, mode: str = "full"
) -> dict[str, bytes]:
    """The scoreboard as CSV and Markdown and, of full results, the reproduction report
    and the leaderboard of recorded judges: the content of each file by its name.

    frame: as `build` gives it; counted: as `kinds` does, both of the same `mode`.
    """
    folder = "quick/" if mode == "quick" else ""
    contents = {
        f"results/{folder}scoreboard.csv": saving.csv_text(frame).encode(),
        f"results/{folder}scoreboard.md": markdown(frame, counted).encode(),
    }
    if not folder:
        compared = cells(mode)
        report = reproduction.markdown(compared, claims("claims"), TITLES, findings())
        contents["results/REPORT.md"] = report.encode()
        exchanged = reproduction.exchange(compared)
        contents[reproduction.EXCHANGE] = exchanged.encode()
        contents |= judges_page.texts()
    return contents


def claims(frame: str = "by_paper") -> pd.DataFrame:
    """What the output `meta_claims` saved of the papers' claims: "by_paper", a row a paper
    with its verdicts counted, or "claims", a row a claim. Empty where nothing was saved.
    """
    path = files.located(CLAIMS.format(frame))
    if not path.exists():
        return pd.DataFrame()
    return pd.read_csv(path, keep_default_na=False)


def _readme_text() -> str:
    """The README of the checkout; empty where there is none."""
    path = files.root() / "README.md"
    if not path.exists():
        return ""
    return path.read_text(encoding="utf-8")


def readme(counted: pd.DataFrame) -> str:
    """The README with its generated blocks, between `<!-- counts -->` and
    `<!-- /counts -->`, as the results give them; nothing where there is no README.

    counted: as `kinds` gives them, of all papers.
    """
    text = _readme_text()
    line = textwrap.fill(f"{own_headline(counted)}.", 119)
    fitted = textwrap.fill(reproduction.after_fitting(), 119)
    blocks = {
        "findings": textwrap.fill(findings(), 119),
        "counts": "\n\n".join(filter(None, [line, fitted])),
    }
    # A block that the README lacks, or for which nothing is saved, is passed over.
    for mark, content in blocks.items():
        above, start, inner = text.partition(f"<!-- {mark} -->\n")
        _, end, below = inner.partition(f"<!-- /{mark} -->")
        if content and end:
            text = f"{above}{start}{content}\n{end}{below}"
    return text


def findings() -> str:
    """What came of asking the papers' claims of another judge, in three sentences;
    empty where nothing is saved.
    """
    base = f"results/{catalogue.META}/{REPLICATION}"
    if not files.located(f"{base}.json").is_file():
        return ""
    return sentences.sentence(REPLICATION, base)


def markdown(frame: pd.DataFrame, counted: pd.DataFrame) -> str:
    """The scoreboard as Markdown (`site/scoreboard.md.jinja`): totals by kind, then a
    table a paper; rows without numbers are folded.
    """
    sections = []
    for paper, part in frame.groupby("paper", sort=False):
        sections += _section(str(paper), part)
    return filled(
        "scoreboard.md.jinja",
        headline=own_headline(counted),
        totals=reproduction.md_table(totals(counted)),
        fitted=reproduction.after_fitting(),
        evidence=evidence(counted),
        sections=list(filter(None, sections)),
        claims=reproduction.md_table(claims_page.by_paper(claims())),
    )


def _section(paper: str, part: pd.DataFrame) -> list[str]:
    """One paper's rows of the scoreboard, those without a number to compare folded."""
    rows = brief(part)
    rows.insert(0, "table", list(map(_linked, part.to_dict("records"))))
    compared = part["status"].isin(COMPARED)
    method, needs = papers.own_method(paper)
    lines = [f"## {TITLES[paper]}", f"A test of {method} itself needs {needs}."]
    if compared.any():
        with_numbers = rows[compared].copy()
        # What a test needs stands above the table once: `0 of 12` is enough in a row.
        untested = with_numbers["own method"].str.extract(r"\((0 of \d+);")[0]
        with_numbers["own method"] = untested.fillna(with_numbers["own method"])
        lines.append(reproduction.md_table(with_numbers.drop(columns=["id", *ASIDE])))
    further = rows.loc[~compared, ["table", "what", "status", "reason"]]
    first = further["reason"].str.partition("; ")[0]
    further["reason"] = [
        textwrap.shorten(one, 140, placeholder=" ...") for one in first
    ]
    title = "further tables and figures, without a number to compare"
    lines.append(web.folded(f"{len(further)} {title}", reproduction.md_table(further)))
    return lines


def _linked(row: Mapping[str, Any]) -> str:
    """A printed table's name, with the page of the first output that covers it."""
    page = f"{row['paper']}/{row['output'].partition(',')[0]}"
    name = comparisons.titled(row["id"])
    if files.located(f"results/{page}.json").exists():
        return f"[{name}]({page}.md)"
    return name


def _row(item: _Printed, stated: Row | None) -> dict[str, Any]:
    """The scoreboard's row of a printed table, with the keys `COLUMNS`."""
    printed = item.printed
    cells = item.cells
    # Counts, differences and routes as they are where nothing was compared.
    counts = dict.fromkeys(papers.COUNTS, 0)
    tallied: list[dict[str, Any]] = []
    gaps = pd.Series(dtype=float)
    routes = [result.record["route"] for result in item.saved]
    if cells is not None:
        counts = papers.counts(cells)
        tallied = papers.by_kind(cells).to_dict("records")
        if cells["ours"].notna().any():
            # a recorded number is none of ours
            compared = cells["verdict"].isin(papers.COMPARED)
            beside = compared & (cells["route"] != "recorded")
            gaps = cells.loc[beside, "difference"].abs()
            routes = [route for route in _ROUTES if (cells["route"] == route).any()]
    status, reason = _status(item, counts, tallied, stated)
    # Outputs that saved nothing are named only where no other did.
    entries = [result.entry for result in item.saved] or item.entries
    days = [result.record["date"][:10] for result in item.saved]
    in_no_output = int(printed.cells) - counts["printed"]
    return {
        "paper": printed.paper,
        "id": printed.id,
        "title": printed.title,
        "kind": printed.kind,
        "route": ", ".join(dict.fromkeys(routes)),
        **_own(printed, tallied),
        "recomputed_by_kind": papers.kinds_in_words(tallied, "recomputed"),
        "consistent_by_kind": papers.kinds_in_words(tallied, "consistent"),
        **counts,
        "printed": int(printed.cells),
        "missing": in_no_output + counts["missing"],
        "largest_difference": gaps.max(),
        "status": status,
        "reason": reason,
        "saved": ", ".join(dict.fromkeys(days)),
        "output": ", ".join(entry.id for entry in entries),
        "notebook": entries[0].notebook if entries else "",
    }


def _own(printed: Any, tallied: list[dict[str, Any]]) -> dict[str, Any]:
    """How many numbers of its own method a table prints, and what was tested of them."""
    numbers = papers.own_numbers(printed.paper, printed.id)
    counted: dict[str, Any] = {}
    for row in tallied:
        if row["kind"] == papers.OWN:
            counted = row
    tested = counted.get("recomputed", 0)
    words = ""
    if tested:
        words = papers.outcome(counted, "recomputed")
    elif numbers:
        _, needs = papers.own_method(printed.paper, printed.id)
        words = f"not tested (0 of {numbers}; needs {needs})"
    return {
        "own_printed": numbers,
        "own_recomputed": tested,
        "own_equal": counted.get("recomputed_equal", 0),
        "own": words,
    }


def _cells(printed: Any, results: list[_Saved]) -> pd.DataFrame | None:
    """The compared cells of one printed table from all outputs that cover it, one a
    printed cell and route.
    """
    frames = []
    for result in results:
        cells = result.cells
        if cells is None:
            continue
        is_of_paper = cells["paper"] == printed.paper
        of_table = is_of_paper & (cells["table"] == printed.id)
        if of_table.any():
            # What no table prints takes no part in the counts.
            frames.append(cells[of_table & (cells["verdict"] != "extra")])
    if not frames:
        return None
    joined = pd.concat(frames, ignore_index=True)
    with_numbers_first = joined["ours"].isna().sort_values(kind="stable").index
    distinct = joined.loc[with_numbers_first].drop_duplicates([*papers.KEY, "route"])
    # A row without a number stays only where its cell has no number of any route.
    is_first = ~distinct.duplicated([*papers.KEY])
    return distinct[distinct["ours"].notna() | is_first].sort_index()


def _unequal(tallied: list[dict[str, Any]]) -> str:
    """How many compared numbers of each kind are not equal, in words; empty where all
    are.
    """
    clauses = []
    for row in tallied:
        compared = row["recomputed"] + row["consistent"]
        unequal = compared - row["recomputed_equal"] - row["consistent_equal"]
        if unequal:
            clause = f"{PLURALS[row['kind']]} {unequal} of {compared}"
            if row["recomputed_spread"]:
                clause += f", {row['recomputed_spread']} {papers.comparison.SPREAD}"
            clauses.append(clause)
    return ", ".join(clauses)


def _status(
    item: _Printed,
    counts: Mapping[str, int],
    tallied: list[dict[str, Any]],
    stated: Row | None,
) -> tuple[str, str]:
    """A row's status, and why it is no better."""
    cells = item.cells
    # Numbers were compared: they decide, whatever the catalogue says.
    if cells is not None and counts["recomputed"] + counts["consistent"]:
        reasons = [stated.reason] if stated else []
        return _compared_status(item.printed, cells, counts, tallied, reasons)
    # Else the catalogue says why there is none.
    if stated:
        reasons = [stated.reason]
        if cells is not None:
            for reason in cells["reason"].unique():
                if reason.startswith("judged by "):
                    reasons.append(reason)
        return stated.status, "; ".join(reasons)
    # Else there may be no number to compare.
    printed = item.printed
    if not int(printed.cells) and (item.saved or printed.kind in _WORDLESS):
        prompt = printed_prompts.verdicts().get((printed.paper, printed.id), "")
        prints = _WORDLESS.get(printed.kind, "prints no value that could be compared")
        reasons = [prompt, prints, printed.note]
        if item.saved:
            outputs = ", ".join(result.entry.id for result in item.saved)
            reasons.append(f"shown by {outputs}")
        return "no numbers", "; ".join(filter(None, reasons))
    # What is left was not made yet: compared without a number, not run, not written.
    if cells is not None:
        reasons = [*filter(None, cells["reason"].unique())]
        return "not built yet", f"no number compared: {'; '.join(reasons)}"
    if item.entries:
        command = f"nlgeval run {item.entries[0].id}"
        return "not built yet", f"no result saved yet: {command}"
    return "not built yet", "no notebook yet"


def _compared_status(
    printed: Any,
    cells: pd.DataFrame,
    counts: Mapping[str, int],
    tallied: list[dict[str, Any]],
    stated: list[str],
) -> tuple[str, str]:
    """The status of a table some of whose numbers were compared, and its reasons."""
    compared = counts["recomputed"] + counts["consistent"]
    equal = counts["recomputed_equal"] + counts["consistent_equal"]
    size = int(printed.cells)
    is_told = any(
        papers.told_apart(row, count)
        for row in tallied
        for count in ("recomputed", "consistent")
    )
    here = counts["recomputed_equal"] + counts["construction"]
    if equal == compared and here >= size and is_told:
        return "reproduced", ""
    reasons = []
    unequal = _unequal(tallied)
    if unequal:
        reasons.append(f"not equal: {unequal}")
    reasons += stated
    gaps = cells[cells["verdict"] == "missing"]
    for reason, part in gaps.groupby("reason", sort=False):
        reasons.append(f"{len(part)} missing: {reason}")
    if size > counts["printed"]:
        reasons.append(f"{size - counts['printed']} printed numbers are in no output")
    near = equal + counts["recomputed_spread"]
    if 2 * near < compared:
        return "differs", "; ".join(reasons)
    if is_told:
        return "partly", "; ".join(reasons)
    return "undecided", "; ".join([UNTOLD, *reasons])
