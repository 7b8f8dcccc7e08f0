"""The results as a static site: the scoreboard first, a page for every paper, output
and judge.

The pages need no server and no network; only scripts of ours run in them
(`report.web`).
"""

from __future__ import annotations

import json
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pandas as pd

from nlgeval_lib import datasets, files, papers
from nlgeval_lib.datasets import recordings
from nlgeval_lib.engines import EngineError
from nlgeval_lib.report import (
    answers,
    claims_page,
    explorer,
    judges_page,
    notebook,
    saving,
    scoreboard,
    search,
    tables,
    web,
)
from nlgeval_lib.report.explorer import Explorer
from nlgeval_lib.report.pictures import FOLDER, Pictures
from nlgeval_lib.study import catalogue
from nlgeval_lib.study.catalogue import META, PAPERS, Catalogue, Entry, Question
from nlgeval_lib.study.judges import Unavailable

JUDGMENTS = "judgments"  # the folder of the judges' pages
RECORDED = "judges.html"  # the leaderboard of recorded judges


@dataclass(frozen=True)
class Built:
    """What a build wrote: the index, the pages by output, the outputs that show a
    saved result and no run, and how many judges have pages.
    """

    index: Path
    pages: dict[str, Path]
    unrun: tuple[str, ...]
    judges: int = 0


def build(
    folder: Path | None = None, mode: str = "full", explorers: bool = False
) -> Built:
    """Write the site into `folder` (`results/report/`, of quick results
    `results/quick/report/`) and return it.

    explorers: whether judges whose judgments are on this machine have pages; they take
    minutes. Pages of earlier builds go. Raises: ValueError for an unknown mode, or a
    folder that holds something else; CatalogueError; OSError.
    """
    board = scoreboard.build(mode)
    folder = folder or files.results() / ("quick" if mode == "quick" else "") / "report"
    _own(folder)
    listed = catalogue.load()
    entries = _entries(listed)
    judged, behind = _write_judgments(folder, listed) if explorers else ([], {})
    pages = {}
    summaries = {}
    unrun = []
    found = _recorded_judges(folder, mode)
    pictures = Pictures(folder)
    for entry in entries:
        saved = saving.read_json(f"{answers.base(entry, mode)}.json")
        answer = answers.Answer(entry, saved or {})
        executed = _executed(entry, mode)
        judges = behind.get(entry.id, ())
        page = _output_page(answer, executed, mode, judges, pictures)
        place = f"{entry.paper}/{entry.id}.html"
        pages[entry.id] = folder / place
        found.append(_written(folder, place, _title(entry), page))
        if executed is None:
            unrun.append(entry.id)
        summaries[entry.id] = _summary(answer, executed)
    common = {
        "entries": entries,
        "named": {entry.id: _title(entry) for entry in entries},
        "said": summaries,
        "heads": list(_brief(board).columns[1:]),
        "titles": scoreboard.TITLES,
        "papers": (*PAPERS, META),
        "recorded": (folder / RECORDED).exists(),
    }
    kinds = scoreboard.kinds(mode)
    for paper, title in scoreboard.TITLES.items():
        page = _paper_page(paper, board, kinds, **common)
        found.append(_written(folder, f"{paper}/index.html", title, page))
    files.write_text(folder / search.NAME, search.page(found))
    content = _index(board, kinds, mode=mode, unrun=unrun, judged=judged, **common)
    files.write_text(folder / "index.html", web.page("Results", content))
    return Built(folder / "index.html", pages, tuple(unrun), len(judged))


def _recorded_judges(folder: Path, mode: str) -> list[search.Found]:
    """Write the leaderboard of recorded judges, where one is saved; what the search
    knows of it.
    """
    if mode != "full" or judges_page.table().empty:
        return []
    page = judges_page.html("index.html")
    return [_written(folder, RECORDED, "The recorded judges", page)]


def _entries(listed: Catalogue) -> list[Entry]:
    """The outputs, and the scoreboard's notebook where there is one."""
    last = catalogue.scoreboard_entry()
    return [*listed.outputs, *([last] if last.path.exists() else [])]


def _written(folder: Path, place: str, title: str, page: str) -> search.Found:
    """Write a page; what the search knows of it."""
    files.write_text(folder / place, page)
    return search.Found(place, title, search.words_of(page))


def _summary(answer: answers.Answer, executed: dict[str, Any] | None) -> str:
    """What the index says beside an output's name."""
    clauses = [answer.record.get("route", answer.entry.route), _counted(answer.record)]
    if not executed:
        clauses.append("not run here")
    return "; ".join(filter(None, clauses))


def _title(entry: Entry) -> str:
    """An output's name for readers."""
    if entry.id == catalogue.SCOREBOARD:
        return "Scoreboard"
    return entry.title or entry.id


def _output_page(
    answer: answers.Answer,
    executed: dict[str, Any] | None,
    mode: str,
    judges: Sequence[dict[str, str]],
    pictures: Pictures,
) -> str:
    """The page of one output: its answer, and below it the notebook.

    executed: the executed copy of the notebook, if any. judges: titles and pages of the
    judges that the output reads. pictures: where pictures go.
    """
    entry = answer.entry
    table = ""
    notes: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    if answer.shown:
        table = _bare(answer.shown[0])
        notes = answer.shown[0].notes
        details = answer.shown[0].details
    drawn = []
    for name in answer.figures:
        png = files.located(name).read_bytes()
        drawn.append(web.picture(png, Path(name).stem, pictures=pictures))
    further = [] if answer.cells is not None else answer.shown[1:]
    cells = executed or _read(entry.path)
    content = web.render(
        "output.html",
        entry=entry,
        mode=mode,
        record=answer.record,
        executed=executed is not None,
        answer=answer,
        prose=web.text_body,
        table=table,
        notes=notes,
        details=details,
        kinds=_bare(answer.kinds) if answer.kinds else "",
        pictures=drawn,
        below=[(table.caption or "Table", _bare(table)) for table in further],
        groups=claims_page.QUESTION if entry.id == answers.CLAIMS else "",
        notebook=web.notebook_body(cells, bool(answer.record), pictures),
        about=_about(entry, answer.record),
        judges=judges,
    )
    trail = f"{scoreboard.TITLES[entry.paper]}: {entry.id}"
    return web.page(_title(entry), content, home="../index.html", trail=trail)


def _paper_page(
    paper: str, board: pd.DataFrame, kinds: pd.DataFrame, **values: Any
) -> str:
    """The page of one paper; `values`: what else its template takes."""
    rows = board[board["paper"] == paper]
    headline = ""
    if len(rows):
        headline = scoreboard.own_headline(kinds[kinds["paper"] == paper])
    content = web.render(
        "paper.html",
        paper=paper,
        headline=headline,
        rows=_board(rows, ""),
        claims=_claims(paper),
        **values,
    )
    title = scoreboard.TITLES[paper]
    return web.page(title, content, home="../index.html", trail=title)


def _claims(paper: str) -> dict[str, tuple[int, str]]:
    """How many claims of a paper have each verdict, and a table of them."""
    claims = scoreboard.claims("claims")
    if claims.empty:
        return {}
    by_verdict = {}
    of_paper = claims[claims["paper"] == paper]
    for verdict, part in of_paper.groupby("verdict", sort=False):
        table = tables.show(claims_page.rows(part))
        by_verdict[claims_page.COUNTS[str(verdict)]] = (len(part), _bare(table))
    return by_verdict


def _index(board: pd.DataFrame, kinds: pd.DataFrame, **values: Any) -> str:
    """The first page; `values`: what else its template takes."""
    rows = []
    for paper in PAPERS:
        rows += _board(board[board["paper"] == paper], f"{paper}/")
    claims = scoreboard.claims()
    return web.render(
        "index.html",
        headline=scoreboard.own_headline(kinds),
        evidence=scoreboard.evidence(kinds),
        reading=scoreboard.READING,
        totals=_bare(tables.show(scoreboard.totals(kinds))),
        rows=rows,
        claims=_bare(tables.show(claims_page.by_paper(claims))) if len(claims) else "",
        **values,
    )


def _bare(table: tables.Table) -> str:
    """A table without its notes and style: the page has them elsewhere."""
    html = table.html.replace(tables.STYLE, "")
    return html.partition('<div class="nlgeval-notes">')[0]


# -- judges


def _write_judgments(
    folder: Path, listed: Catalogue
) -> tuple[list[dict[str, Any]], dict[str, list[dict[str, str]]]]:
    """Write a page for each source of judgments that are here, with all its judges:
    what the index says of each judge, and the judges of each output.
    """
    judges = []
    behind = defaultdict(list)
    for source, outputs, of_source in _sources(listed):
        place = f"{JUDGMENTS}/{_slug(source)}.html"
        page = explorer.shard(source, of_source, home="../index.html")
        files.write_text(folder / place, page)
        for judge in of_source:
            asked = ""
            if len(of_source) > 1:
                asked = f"#{urlencode({'judge': judge.title})}"
            frame = judge.frame
            judges.append(
                {
                    "title": judge.title,
                    "page": place + asked,
                    "n": len(frame),
                    "ok": int((frame["status"] == "ok").sum()),
                    "gap": frame["gap"].mean(),
                }
            )
            for output in outputs:
                page_of_judge = {"title": judge.title, "page": f"../{place}{asked}"}
                behind[output].append(page_of_judge)
    return judges, behind


def _slug(title: str) -> str:
    """A title as the name of a file."""
    return re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_")[:80]


def _sources(listed: Catalogue) -> Iterator[tuple[str, list[str], list[Explorer]]]:
    """The sources of judgments, each with the outputs that read it and its judges:
    recordings, the miniature judge, judges of the store.
    """
    for name in recordings.NAMES:
        outputs = _outputs_of(listed, {name}) or _outputs_of(
            listed, set(recordings.spec(name).dataset.split(", "))
        )
        if not outputs:
            continue
        if datasets.available(name)[0] or datasets.numbers.has(name):
            judges = list(explorer.recorded(name))
            if judges:
                yield name, outputs, judges
    outputs = _outputs_of(listed, {"mini_judge"})
    if outputs and datasets.available("mini_judge")[0]:
        yield "miniature judge", outputs, list(explorer.of_miniature())
    questions = defaultdict[Any, list[Question]](list)
    for question in listed.questions:
        entry = listed[question.output]
        parameter = notebook.read(entry.path).parameters.get("model")
        default = parameter.default if parameter else ""
        model = str(entry.parameters.get("model", default))
        questions[question.asked, model].append(question)
    for (_, model), same in questions.items():
        try:
            judge = explorer.of_question(same[0].output, same[0].name, model=model)
        except (Unavailable, datasets.DataError, EngineError):
            continue
        yield judge.title, [question.output for question in same], [judge]


def _outputs_of(listed: Catalogue, inputs: set[str]) -> list[str]:
    """The outputs that read any of these inputs."""
    return [entry.id for entry in listed.outputs if inputs & {*entry.inputs}]


def _own(folder: Path) -> None:
    """Empty a folder of an earlier build; a folder of anything else is left alone.

    Raises: ValueError.
    """
    if folder.is_dir() and any(folder.iterdir()):
        foreign = any((folder / name).exists() for name in (".git", "pyproject.toml"))
        if foreign or not (folder / "index.html").is_file():
            raise ValueError(f"{folder} holds something else; give an empty folder")
        made = (*scoreboard.TITLES, JUDGMENTS, FOLDER, "index.html", search.NAME)
        made += (RECORDED,)
        for name in made:
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def _executed(entry: Entry, mode: str) -> dict[str, Any] | None:
    """The executed copy that the last run left; None where there is none."""
    folder = files.results() / "executed"
    if mode == "quick":
        folder /= "quick"
    try:
        return _read(folder / entry.paper / f"{entry.id}.ipynb")
    except (OSError, ValueError):
        return None


def _about(entry: Entry, record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a page says of an output's making, in lines of two columns."""
    route = record.get("route", entry.route)
    rows = [("notebook", f"notebooks/{entry.notebook}"), ("route", route)]
    if not record:
        return rows
    saved = f"{record['date'][:10]}, mode {record['mode']}"
    commit = record.get("git", {}).get("commit")
    if commit:
        saved += f", commit {commit[:12]}"
    rows.append(("saved", saved))
    counted = _counted(record)
    if counted:
        rows.append(("printed numbers", f"{record['coverage']['printed']}; {counted}"))
    if record.get("model"):
        rows.append(("model", f"{record['model']} {record.get('revision', '')}"))
    for text in record.get("signatures", ())[:8]:
        rows.append(("signature", text))
    return rows


def _counted(record: Mapping[str, Any]) -> str:
    """What the record counts, by kind: first the paper's own method."""
    kinds = record.get("coverage", {}).get("kinds", {})
    if not kinds:
        return ""
    rows = [{"kind": kind, **counted} for kind, counted in kinds.items()]
    own_method = kinds.get(papers.OWN, {})
    tested = own_method.get("recomputed", 0)
    parts = [f"own method tested: {tested} of {own_method.get('printed', 0)}"]
    for count in ("recomputed", "consistent"):
        words = papers.kinds_in_words(rows, count)
        if words:
            parts.append(f"{count}: {words}")
    return "; ".join(parts)


def _brief(rows: pd.DataFrame) -> pd.DataFrame:
    """The scoreboard's columns that fit a page."""
    aside = ["of another judge", "largest difference", "route", "saved", "reason"]
    return scoreboard.brief(rows).drop(columns=aside)


def _board(rows: pd.DataFrame, folder: str) -> list[dict[str, Any]]:
    """A paper's rows of the scoreboard: the name of each, its page where it has one,
    and its texts by column.
    """
    lines = []
    texts = _brief(rows).to_dict("records")
    for row, row_texts in zip(rows.to_dict("records"), texts, strict=True):
        output = str(row["output"]).partition(",")[0]
        line = {
            "name": tables.titled(row["id"]),
            "page": f"{folder}{output}.html" if output else "",
            "paper": scoreboard.TITLES[row["paper"]] if folder else "",
            "texts": row_texts,
            "reason": row["reason"],
            "numbers": row["status"] in scoreboard.COMPARED,
        }
        lines.append(line)
    return lines
