"""The results as a static site: the scoreboard first, a page for every paper, output
and judge.

The pages need no server and no network; only scripts of ours run in them
(`report.web`).

`build` writes all of it. An output's page shows its answer (`report.answers`) and below
it the notebook, executed where a run left a copy (`_output_page`); a paper's page and
the index show rows of the scoreboard (`_paper_page`, `_index`); on request there is a
page for each source of judgments (`_write_judgments`). The templates lie in `site/`.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pandas as pd

from judgecard import explorer, recordings, web
from judgecard.explorer import Explorer
from judgecard.pictures import FOLDER, Pictures
from nlgeval_lib import datasets, files, tables
from nlgeval_lib.engines import EngineError
from reproduction import papers
from reproduction.papers.counting import WORDS
from reproduction.report import (
    SITE,
    answers,
    claims_page,
    committed,
    comparisons,
    explored,
    judges_page,
    notebook,
    saving,
    scoreboard,
    seal,
    search,
)
from reproduction.study import catalogue
from reproduction.study.catalogue import META, PAPERS, Catalogue, Entry, Question
from reproduction.study.judges import Unavailable

JUDGMENTS = "judgments"  # the folder of the judges' pages
RECORDED = "judges.html"  # the leaderboard of recorded judges


@dataclass(frozen=True)
class Built:
    """What a build wrote.

    index: the first page.
    pages: the page of each output, by the output's id.
    unrun: the outputs that show a saved result and no run.
    judges: how many judges have pages.
    """

    index: Path
    pages: dict[str, Path]
    unrun: tuple[str, ...]
    judges: int = 0


def build(
    folder: Path | None = None, mode: str = "full", explorers: bool = False
) -> Built:
    """Write the site into a folder and return what was written.

    folder: by default `results/report/`, of quick results `results/quick/report/`.
    Pages of earlier builds go.
    mode: "full" or "quick".
    explorers: whether judges whose judgments are on this machine have pages; they take
    minutes.
    Raises: ValueError for an unknown mode, or a folder that holds something else;
    CatalogueError; OSError.
    """
    board = scoreboard.build(mode)
    if not folder:
        results = files.results()
        if mode == "quick":
            results /= "quick"
        folder = results / "report"
    _own(folder)
    listed = catalogue.load()
    judged: list[dict[str, Any]] = []
    behind: dict[str, list[dict[str, str]]] = {}
    if explorers:
        judged, behind = _write_judgments(folder, listed)
    searched = _recorded_judges(folder, mode)
    entries = _entries(listed)
    outputs = _write_outputs(folder, mode, entries, behind)
    searched += outputs.searched
    # The papers' pages and the index list the outputs: what both templates take.
    common = {
        "entries": entries,
        "named": {entry.id: _title(entry) for entry in entries},
        "said": outputs.summaries,
        "heads": list(_brief(board).columns[1:]),
        "titles": scoreboard.TITLES,
        "papers": (*PAPERS, META),
        "recorded": (folder / RECORDED).exists(),
    }
    kinds = scoreboard.kinds(mode)
    for paper, title in scoreboard.TITLES.items():
        page = _paper_page(paper, board, kinds, **common)
        searched.append(_written(folder, f"{paper}/index.html", title, page))
    files.write_text(folder / search.NAME, search.page(searched))
    unrun = tuple(outputs.unrun)
    content = _index(board, kinds, mode=mode, unrun=unrun, judged=judged, **common)
    files.write_text(folder / "index.html", web.page("Results", content))
    return Built(folder / "index.html", outputs.pages, unrun, len(judged))


class _Outputs(NamedTuple):
    """The outputs' pages that a build wrote.

    pages: by the output's id. summaries: what the index says of each. unrun: the ids of
    those without an executed notebook. searched: what the search knows of the pages.
    """

    pages: dict[str, Path]
    summaries: dict[str, str]
    unrun: list[str]
    searched: list[search.Found]


def _write_outputs(
    folder: Path,
    mode: str,
    entries: Sequence[Entry],
    behind: Mapping[str, Sequence[dict[str, str]]],
) -> _Outputs:
    """Write a page an output.

    behind: by output the titles and pages of the judges that it reads.
    """
    outputs = _Outputs({}, {}, [], [])
    pictures = Pictures(folder)
    for entry in entries:
        saved = saving.read_json(f"{answers.base(entry, mode)}.json")
        answer = answers.Answer(entry, saved or {})
        executed = _executed(entry, mode)
        judges = behind.get(entry.id, ())
        page = _output_page(answer, executed, mode, judges, pictures)
        place = f"{entry.paper}/{entry.id}.html"
        outputs.pages[entry.id] = folder / place
        outputs.searched.append(_written(folder, place, _title(entry), page))
        if executed is None:
            outputs.unrun.append(entry.id)
        outputs.summaries[entry.id] = _summary(answer, executed)
    return outputs


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
    entries = [*listed.outputs]
    last = catalogue.scoreboard_entry()
    if last.path.exists():
        entries.append(last)
    return entries


def _written(folder: Path, place: str, title: str, page: str) -> search.Found:
    """Write a page; what the search knows of it.

    place: of the page, below the folder.
    """
    files.write_text(folder / place, page)
    return search.Found(place, title, search.words_of(page))


def _summary(answer: answers.Answer, executed: dict[str, Any] | None) -> str:
    """What the index says beside an output's name: route, counts, and whether its
    notebook was not run here.
    """
    route = answer.record.get("route", answer.entry.route)
    clauses = [route, _counted(answer.record)]
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

    executed: the executed copy of the notebook, if any; without it the source is shown.
    judges: titles and pages of the judges that the output reads.
    pictures: where pictures go.
    """
    entry = answer.entry
    document = executed or _read(entry.path)
    content = web.render(
        "output.html",
        site=SITE,
        entry=entry,
        mode=mode,
        record=answer.record,
        executed=executed is not None,
        answer=answer,
        prose=web.text_body,
        kinds=_bare(answer.kinds) if answer.kinds else "",
        **_shown_tables(answer),
        pictures=_drawn(answer, pictures),
        groups=claims_page.QUESTION if entry.id == answers.CLAIMS else "",
        notebook=web.notebook_body(document, bool(answer.record), pictures),
        about=_about(entry, answer.record),
        judges=judges,
    )
    trail = f"{scoreboard.TITLES[entry.paper]}: {entry.id}"
    return web.page(_title(entry), content, home="../index.html", trail=trail)


def _shown_tables(answer: answers.Answer) -> dict[str, Any]:
    """What the template takes of an output's tables: the first one with its notes and
    details, which stands open, and the others, which are folded below it.
    """
    shown_tables: dict[str, Any] = {
        "table": "",
        "notes": (),
        "details": (),
        "below": [],
    }
    if answer.shown:
        first = answer.shown[0]
        shown_tables |= {
            "table": _bare(first),
            "notes": first.notes,
            "details": first.details,
        }
    if answer.cells is None:
        below = []
        for table in answer.shown[1:]:
            below.append((table.caption or "Table", _bare(table)))
        shown_tables["below"] = below
    return shown_tables


def _drawn(answer: answers.Answer, pictures: Pictures) -> list[str]:
    """The pictures of an output as elements of a page."""
    drawn = []
    for name in answer.figures:
        png = files.located(name).read_bytes()
        drawn.append(web.picture(png, Path(name).stem, pictures=pictures))
    return drawn


def _paper_page(
    paper: str, board: pd.DataFrame, kinds: pd.DataFrame, **values: Any
) -> str:
    """The page of one paper.

    board: the scoreboard of all papers. kinds: their counts, as `scoreboard.kinds`
    gives them. values: what else its template takes.
    """
    rows = board[board["paper"] == paper]
    headline = ""
    if len(rows):
        headline = scoreboard.own_headline(kinds[kinds["paper"] == paper])
    content = web.render(
        "paper.html",
        site=SITE,
        paper=paper,
        headline=headline,
        rows=_board(rows, ""),
        claims=_claims(paper),
        **values,
    )
    title = scoreboard.TITLES[paper]
    return web.page(title, content, home="../index.html", trail=title)


def _claims(paper: str) -> dict[str, tuple[int, str]]:
    """How many claims of a paper have each verdict, and a table of them as HTML; by the
    verdict in a reader's words.
    """
    claims = scoreboard.claims("claims")
    if claims.empty:
        return {}
    by_verdict = {}
    of_paper = claims[claims["paper"] == paper]
    for verdict, part in of_paper.groupby("verdict", sort=False):
        table = tables.show(claims_page.rows(part))
        words = claims_page.COUNTS[str(verdict)]
        by_verdict[words] = (len(part), _bare(table))
    return by_verdict


def _index(board: pd.DataFrame, kinds: pd.DataFrame, **values: Any) -> str:
    """The first page.

    board: the scoreboard. kinds: its counts, as `scoreboard.kinds` gives them. values:
    what else its template takes.
    """
    rows = []
    for paper in PAPERS:
        rows += _board(board[board["paper"] == paper], f"{paper}/")
    claims = scoreboard.claims()
    claims_table = ""
    if len(claims):
        claims_table = _bare(tables.show(claims_page.by_paper(claims)))
    return web.render(
        "index.html",
        site=SITE,
        findings=scoreboard.findings(),
        replication=f"{META}/{scoreboard.REPLICATION}.html",
        headline=scoreboard.own_headline(kinds),
        evidence=scoreboard.evidence(kinds),
        reading=scoreboard.READING,
        totals=_bare(tables.show(scoreboard.totals(kinds))),
        rows=rows,
        claims=claims_table,
        **values,
    )


def _bare(table: tables.Table) -> str:
    """A table as HTML without its notes and style: the page has them elsewhere."""
    html = table.html.replace(tables.STYLE, "")
    bare, _, _ = html.partition('<div class="nlgeval-notes">')
    return bare


# -- judges


def _write_judgments(
    folder: Path, listed: Catalogue
) -> tuple[list[dict[str, Any]], dict[str, list[dict[str, str]]]]:
    """Write a page for each source of judgments that are here, with all its judges.

    Returns: what the index says of each judge (`title, page, n, ok, gap`), and by
    output the titles and pages of its judges.
    """
    judges = []
    behind = defaultdict(list)
    for source, outputs, of_source in _sources(listed):
        place = f"{JUDGMENTS}/{_slug(source)}.html"
        page = explorer.shard(source, of_source, home="../index.html")
        files.write_text(folder / place, page)
        for judge in of_source:
            # The script of the page reads from its address which judge to show.
            address = place
            if len(of_source) > 1:
                address += f"#{urlencode({'judge': judge.title})}"
            frame = judge.frame
            judges.append(
                {
                    "title": judge.title,
                    "page": address,
                    "n": len(frame),
                    "ok": int((frame["status"] == "ok").sum()),
                    "gap": frame["gap"].mean(),
                }
            )
            page_of_judge = {"title": judge.title, "page": f"../{address}"}
            for output in outputs:
                behind[output].append(page_of_judge)
    return judges, behind


def _slug(title: str) -> str:
    """A title as the name of a file: lower-case letters, digits and underscores.

    Example:
    >>> _slug("hdeval (gpt-4) on SummEval")
    'hdeval_gpt_4_on_summeval'
    """
    words = re.sub(r"[^a-z0-9]+", "_", title.lower())
    return words.strip("_")[:80]


def _sources(listed: Catalogue) -> Iterator[tuple[str, list[str], list[Explorer]]]:
    """The sources of judgments, each with the outputs that read it and its judges:
    recordings, the miniature judge, judges of the store.
    """
    for name in recordings.NAMES:
        # Outputs that read the recording itself, else those of the data that it judges.
        outputs = _outputs_of(listed, {name})
        if not outputs:
            judged_data = recordings.spec(name).dataset.split(", ")
            outputs = _outputs_of(listed, set(judged_data))
        if not outputs:
            continue
        has_texts, _ = datasets.available(name)
        if has_texts or datasets.numbers.has(name):
            judges = list(explorer.recorded(name))
            if judges:
                yield name, outputs, judges
    outputs = _outputs_of(listed, {"mini_judge"})
    has_miniature, _ = datasets.available("mini_judge")
    if outputs and has_miniature:
        yield "miniature judge", outputs, list(explorer.explore_miniature())
    for (_, model), alike in _by_what_is_asked(listed).items():
        first = alike[0]
        try:
            judge = explored.of_question(first.output, first.name, model=model)
        except (Unavailable, datasets.DataError, EngineError):
            continue
        yield judge.title, [question.output for question in alike], [judge]


def _by_what_is_asked(listed: Catalogue) -> dict[tuple[Any, str], list[Question]]:
    """The questions of all outputs by what they ask, and the model: outputs that ask
    the same share a page.
    """
    questions = defaultdict[tuple[Any, str], list[Question]](list)
    for question in listed.questions:
        entry = listed[question.output]
        # The model is the catalogue's for this output, else the notebook's own.
        parameter = notebook.read(entry.path).parameters.get("model")
        default = parameter.default if parameter else ""
        model = str(entry.parameters.get("model", default))
        questions[question.asked, model].append(question)
    return questions


def _outputs_of(listed: Catalogue, inputs: set[str]) -> list[str]:
    """The outputs that read any of these inputs."""
    ids = []
    for entry in listed.outputs:
        if inputs & {*entry.inputs}:
            ids.append(entry.id)
    return ids


def _own(folder: Path) -> None:
    """Empty a folder of an earlier build; a folder of anything else is left alone.

    Raises: ValueError for a folder that holds something else.
    """
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    # A checkout has an index.html of its own, perhaps.
    is_checkout = any((folder / name).exists() for name in (".git", "pyproject.toml"))
    if is_checkout or not (folder / "index.html").is_file():
        raise ValueError(f"{folder} holds something else; give an empty folder")
    # Only what a build makes is removed, by name.
    by_build = (
        *scoreboard.TITLES,
        JUDGMENTS,
        FOLDER,
        "index.html",
        search.NAME,
        RECORDED,
    )
    for name in by_build:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any]:
    """A notebook as JSON has it.

    Raises: OSError; ValueError for a file that is no JSON.
    """
    return json.loads(path.read_text(encoding="utf-8"))


def _executed(entry: Entry, mode: str) -> dict[str, Any] | None:
    """The notebook with its outputs: the copy that the last run left, or the notebook
    itself where it shows this output; None where there is neither.
    """
    folder = files.results() / "executed"
    if mode == "quick":
        folder /= "quick"
    try:
        return _read(folder / entry.paper / f"{entry.id}.ipynb")
    except (OSError, ValueError):
        pass
    if mode == "full" and seal.shown_in(entry) and entry.path.is_file():
        text = entry.path.read_text(encoding="utf-8")
        if committed.outputs(text):
            return json.loads(text)
    return None


def _about(entry: Entry, record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a page says of an output's making, in lines of two columns: notebook, route,
    day and commit, counts, model, and at most eight signatures.

    record: empty for an output that saved nothing, which has the first two lines alone.
    """
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
        printed = record["coverage"]["printed"]
        rows.append(("printed numbers", f"{printed}; {counted}"))
    if record.get("model"):
        rows.append(("model", f"{record['model']} {record.get('revision', '')}"))
    for text in record.get("signatures", ())[:8]:
        rows.append(("signature", text))
    return rows


def _counted(record: Mapping[str, Any]) -> str:
    """What the record counts, by kind, in words: first whether the paper's own method
    was tested. Empty where it compares nothing.
    """
    coverage = record.get("coverage", {})
    kinds = coverage.get("kinds", {})
    if not kinds:
        return ""
    # A count that is nought is not in the record.
    rows = [{"kind": kind, **counted} for kind, counted in kinds.items()]
    own_method = kinds.get(papers.OWN, {})
    tested = own_method.get("recomputed", 0)
    parts = [f"own method tested: {tested} of {own_method.get('printed', 0)}"]
    for count in ("recomputed", "consistent"):
        words = papers.kinds_in_words(rows, count)
        if words:
            parts.append(f"{WORDS[count]}: {words}")
    return "; ".join(parts)


def _brief(rows: pd.DataFrame) -> pd.DataFrame:
    """The scoreboard's columns that fit a page."""
    return scoreboard.brief(rows).drop(columns=list(scoreboard.ASIDE))


def _board(rows: pd.DataFrame, folder: str) -> list[dict[str, Any]]:
    """A paper's rows of the scoreboard: the name of each, its page where it has one,
    and its texts by column.

    folder: what leads to the pages: "" on the paper's own page, on the index its
    folder. On the index each row also has its paper.
    """
    lines = []
    texts = _brief(rows).to_dict("records")
    for row, row_texts in zip(rows.to_dict("records"), texts, strict=True):
        output = str(row["output"]).partition(",")[0]
        line = {
            "name": comparisons.titled(row["id"]),
            "page": f"{folder}{output}.html" if output else "",
            "paper": scoreboard.TITLES[row["paper"]] if folder else "",
            "texts": row_texts,
            "reason": row["reason"],
            "numbers": row["status"] in scoreboard.COMPARED,
        }
        lines.append(line)
    return lines
