"""Builds the site: the scoreboard first, then a page for every output, from what was run here or saved before."""

from __future__ import annotations

import base64
import html
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import catalogue, files, papers, paths, scoreboard
from nlgeval_lib.catalogue import META, PAPERS, Catalogue, Entry
from nlgeval_lib.report import saving, tables
from nlgeval_lib.site import cells
from nlgeval_lib.site.page import page

TITLES = {
    "tigerscore": "TIGERScore", "semscore": "SemScore", "hdeval": "HD-Eval", "prometheus": "Prometheus",
    "coascore": "CoAScore", META: "What the papers leave out",
}  # fmt: skip
_DONE = ("reproduced", "partly", "differs")


@dataclass(frozen=True)
class Built:
    """What a build came to: the index, the pages by output, and the outputs that show a saved result, not a run."""

    index: Path
    pages: dict[str, Path]
    unrun: tuple[str, ...]


def build(folder: Path | None = None, mode: str = "full") -> Built:
    """Write the site into `folder` (`results/report/`, of quick results `results/quick/report/`) and return it.

    Pages of earlier builds are removed. Raises: ValueError for an unknown mode, or for a folder that holds something
    else; CatalogueError; OSError where it cannot be written.
    """
    board = scoreboard.build(mode)
    folder = folder or paths.results() / ("quick" if mode == "quick" else "") / "report"
    _own(folder)
    listed = catalogue.load()
    entries = [*listed.outputs, *([catalogue.scoreboard_entry()] if catalogue.scoreboard_entry().path.exists() else [])]
    pages: dict[str, Path] = {}
    about: dict[str, dict[str, Any]] = {}
    unrun = []
    for entry in entries:
        executed = _executed(entry, mode)
        record = _record(entry, mode)
        text = _content(entry, executed, record, mode)
        if executed is None:
            unrun.append(entry.id)
        name = f"{entry.paper}/{entry.id}.html"
        files.write_text(
            folder / name, page(_title(entry), text, "../index.html", f"{TITLES[entry.paper]}: {entry.id}")
        )
        pages[entry.id], about[entry.id] = folder / name, record
    index = folder / "index.html"
    files.write_text(index, page("Results", _index(listed, board, entries, about, unrun, mode)))
    return Built(index, pages, tuple(unrun))


def _own(folder: Path) -> None:
    """Empty a folder of an earlier build; a folder of anything else is left alone. Raises: ValueError."""
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / "index.html").is_file() or any(
            (folder / name).exists() for name in (".git", "pyproject.toml")
        ):
            raise ValueError(f"{folder} holds something else; give an empty folder")
        for name in (*TITLES, "index.html"):
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _executed(entry: Entry, mode: str) -> dict[str, Any] | None:
    """The executed copy that the last run left; None where there is none."""
    base = paths.results() / "executed" / ("quick" if mode == "quick" else "")
    try:
        return json.loads((base / entry.paper / f"{entry.id}.ipynb").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _record(entry: Entry, mode: str) -> dict[str, Any]:
    """The provenance of the saved result, with the folder that it lies in; empty where nothing is saved."""
    for folder in ("quick",) if mode == "quick" else ("", "mini"):
        name = "/".join(filter(None, ["results", folder, entry.paper, f"{entry.id}.json"]))
        found = saving.read_json(name)
        if found is not None:
            return found
    return {}


def _content(entry: Entry, executed: dict[str, Any] | None, record: dict[str, Any], mode: str) -> str:
    parts = []
    if executed is None:
        when = f"The result of {record['date'][:10]} stands first." if record else "Nothing is saved of it."
        parts.append(
            f'<div class="note">This notebook was not run in this checkout, mode {mode}: its source is shown. {when} '
            f"To run it: <code>nlgeval run {html.escape(entry.id)}</code></div>"
        )
    if executed is None and record:
        parts += ["<h2>The saved result</h2>", *_saved(entry, record), "<hr>"]
    parts.append(cells.body(executed or json.loads(entry.path.read_text(encoding="utf-8"))))
    parts.append(_about(entry, record))
    return "\n".join(parts)


def _saved(entry: Entry, record: dict[str, Any]) -> Iterator[str]:
    """Tables and figures as they were saved."""
    for name in record.get("files", ()):
        path = paths.located(name)
        if not path.is_file():
            continue
        if name.endswith(".csv"):
            frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
            label = path.stem.removeprefix(entry.id).strip("_") or "Printed beside ours"
            if "verdict" in frame.columns and path.stem == entry.id:
                yield _plain(tables.comparison(_typed(frame), label))
            else:
                yield _plain(tables.show(frame, label, rows=60))
        elif name.endswith(".png"):
            data = base64.b64encode(path.read_bytes()).decode()
            yield f'<p><img alt="{html.escape(path.stem)}" src="data:image/png;base64,{data}"></p>'


def _plain(table: tables.Table) -> str:
    """A table of ours, whose cells are escaped, without the style that the page has."""
    return table.html.replace(tables.STYLE, "")


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """A comparison as `papers.compare` gave it: texts are texts, also where they look like numbers or are empty."""
    numbers = ("ours", "difference", "n", "ci_low", "ci_high")
    texts = [column for column in frame.columns if column not in numbers]
    frame[texts] = frame[texts].astype(object).where(frame[texts].notna(), "")
    frame["printed"] = frame["printed"].map(str)
    frame["n"] = frame["n"].astype("Int64")
    return frame


def _about(entry: Entry, record: dict[str, Any]) -> str:
    rows = [("notebook", f"notebooks/{entry.notebook}"), ("route", record.get("route", entry.route))]
    if record:
        commit = str(record.get("git", {}).get("commit") or "")[:12]
        rows += [("saved", f"{record['date'][:10]}, mode {record['mode']}" + (f", commit {commit}" if commit else ""))]
        if (counts := record.get("coverage", {})).get("printed"):
            rows.append(("printed numbers", f"{counts['printed']}; {papers.in_words(counts)}"))
        rows += [("model", f"{record['model']} {record.get('revision', '')}")] if record.get("model") else []
        rows += [("signature", text) for text in record.get("signatures", ())[:8]]
    lines = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(text))}</td></tr>" for name, text in rows)
    return f'<div class="about"><div class="wide"><table>{lines}</table></div></div>'


def _index(
    listed: Catalogue,
    board: pd.DataFrame,
    entries: list[Entry],
    about: dict[str, dict[str, Any]],
    unrun: list[str],
    mode: str,
) -> str:
    parts = [
        "<h1>Five papers on evaluating generated text, table by table</h1>",
        f"<p>{html.escape(scoreboard.headline(board))}.</p>",
        f"<p>{html.escape(scoreboard.READING)}</p>",
    ]
    if mode == "quick":
        parts.append('<div class="note">Quick mode: computed on a share of the data.</div>')
    if unrun:
        parts.append(
            f'<div class="note">{len(unrun)} of {len(entries)} notebooks were not run in this checkout; their pages '
            "show source and saved results. <code>make reproduce-all</code> runs them.</div>"
        )
    parts += ["<h2>Scoreboard</h2>", _plain(tables.show(scoreboard.totals(board)))]
    known = {entry.id for entry in entries}
    for paper in PAPERS:
        parts.append(f"<h3>{TITLES[paper]}</h3>")
        parts.append(_board(board[board["paper"] == paper], known))
    parts.append("<h2>All notebooks</h2>")
    for paper in (*PAPERS, META):
        lines = "".join(_line(entry, about[entry.id], entry.id in unrun) for entry in entries if entry.paper == paper)
        parts.append(f"<h3>{TITLES[paper]}</h3><ul>{lines}</ul>")
    return "\n".join(parts)


def _board(rows: pd.DataFrame, known: set[str]) -> str:
    short = scoreboard.brief(rows).drop(columns=["largest difference", "run"])
    lines = []
    for (_, row), texts in zip(rows.iterrows(), short.to_dict("records"), strict=True):
        outputs = [name for name in str(row["output"]).replace(",", " ").split() if name in known]
        shown = html.escape(texts.pop("id").replace("_", " ").capitalize())
        if outputs:
            shown = f'<a href="{row["paper"]}/{outputs[0]}.html">{shown}</a>'
        kind = row["status"] if row["status"] in _DONE else "none"
        escaped = {name: html.escape(str(text)) for name, text in texts.items()}
        escaped["status"] = f'<span class="status {kind}">{escaped["status"]}</span>'
        lines.append(
            f'<tr><td class="name">{shown}</td>' + "".join(f"<td>{c}</td>" for c in escaped.values()) + "</tr>"
        )
    heads = ["", *short.columns[1:]]
    head = "".join(f"<th>{name}</th>" for name in heads)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _line(entry: Entry, record: dict[str, Any], unrun: bool) -> str:
    said = [record.get("route", entry.route)]
    if (counts := record.get("coverage", {})).get("printed"):
        said.append(papers.in_words(counts))
    said += ["not run here"] if unrun else []
    link = f'<a href="{entry.paper}/{entry.id}.html">{html.escape(_title(entry))}</a>'
    return f"<li>{link} <small>({html.escape('; '.join(map(str, said)))})</small></li>"


def _title(entry: Entry) -> str:
    return "Scoreboard" if entry.id == catalogue.SCOREBOARD else entry.title or entry.id
