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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import datasets, files, papers
from nlgeval_lib.datasets import recordings
from nlgeval_lib.engines import EngineError
from nlgeval_lib.report import (
    answers,
    explorer,
    notebook,
    saving,
    scoreboard,
    tables,
    web,
)
from nlgeval_lib.report.explorer import Explorer
from nlgeval_lib.study import catalogue
from nlgeval_lib.study.catalogue import META, PAPERS, Catalogue, Entry
from nlgeval_lib.study.judges import Unavailable

JUDGMENTS = "judgments"  # the folder of the judges' pages


@dataclass(frozen=True)
class Built:
    """What a build came to: the index, the pages by output, the outputs that show a
    saved result and no run, judges.
    """

    index: Path
    pages: dict[str, Path]
    unrun: tuple[str, ...]
    judges: int = 0


def build(
    folder: Path | None = None, mode: str = "full", explorers: bool = True
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
    last = catalogue.scoreboard_entry()
    entries = [*listed.outputs, *([last] if last.path.exists() else [])]
    pages = {entry.id: folder / entry.paper / f"{entry.id}.html" for entry in entries}
    named = {entry.id: entry.title or entry.id for entry in entries} | {
        catalogue.SCOREBOARD: "Scoreboard"
    }
    judged, behind = _write_judgments(folder, listed) if explorers else ([], {})
    unrun = []
    said = {}
    for entry in entries:
        answer = answers.Answer(
            entry, saving.read_json(f"{answers.base(entry, mode)}.json") or {}
        )
        executed = _executed(entry, mode)
        content = web.render(
            "output.html",
            entry=entry,
            mode=mode,
            record=answer.record,
            executed=executed is not None,
            answer=answer,
            prose=web.prose,
            table="".join(_bare(one) for one in answer.shown[:1]),
            notes=answer.shown[0].notes if answer.shown else (),
            pictures=[
                web.picture(files.located(name).read_bytes(), Path(name).stem)
                for name in answer.figures
            ],
            notebook=web.notebook_body(
                executed or _read(entry.path), below=bool(answer.record)
            ),
            about=_about(entry, answer.record),
            judges=behind.get(entry.id, ()),
        )
        trail = f"{scoreboard.TITLES[entry.paper]}: {entry.id}"
        files.write_text(
            pages[entry.id],
            web.page(named[entry.id], content, home="../index.html", trail=trail),
        )
        unrun += [entry.id] if executed is None else []
        facts = [
            answer.record.get("route", entry.route),
            _counted(answer.record),
            "" if executed else "not run here",
        ]
        said[entry.id] = "; ".join(filter(None, facts))
    shared = {
        "entries": entries,
        "named": named,
        "said": said,
        "heads": list(_brief(board).columns[1:]),
    }
    shared |= {"titles": scoreboard.TITLES, "papers": (*PAPERS, META)}
    judgments = scoreboard.claims("claims")
    kinds = scoreboard.kinds(mode)
    for paper, title in scoreboard.TITLES.items():
        mine = board[board["paper"] == paper]
        claims = {}
        headline = scoreboard.headline(kinds[kinds["paper"] == paper])
        if len(judgments):
            for verdict, part in judgments[judgments["paper"] == paper].groupby(
                "verdict", sort=False
            ):
                shown = tables.show(
                    part[["place", "claim", "verdict", "evidence", "inference"]]
                )
                claims[verdict] = len(part), _bare(shown)
        told = {
            "headline": headline if len(mine) else "",
            "rows": _board(mine, ""),
            "claims": claims,
        }
        content = web.render("paper.html", paper=paper, **told, **shared)
        files.write_text(
            folder / paper / "index.html",
            web.page(title, content, home="../index.html", trail=title),
        )
    counted = scoreboard.claims()
    content = web.render(
        "index.html",
        headline=scoreboard.headline(kinds),
        reading=scoreboard.READING,
        mode=mode,
        unrun=unrun,
        totals=_bare(tables.show(scoreboard.totals(kinds))),
        rows=[
            row
            for paper in PAPERS
            for row in _board(board[board["paper"] == paper], f"{paper}/")
        ],
        claims=_bare(tables.show(counted)) if len(counted) else "",
        judged=judged,
        **shared,
    )
    files.write_text(folder / "index.html", web.page("Results", content))
    return Built(folder / "index.html", pages, tuple(unrun), len(judged))


def _bare(table: tables.Table) -> str:
    """A table without its notes and style: the page has them elsewhere."""
    return table.html.replace(tables.STYLE, "").partition(
        '<div class="nlgeval-notes">'
    )[0]


# -- judges


def _write_judgments(
    folder: Path, listed: Catalogue
) -> tuple[list[dict[str, Any]], dict[str, list[dict[str, str]]]]:
    """The pages of every judge whose judgments are here: what the index says of
    each, and the judges of each output.
    """
    told = []
    behind = defaultdict(list)
    for outputs, one in _explorers(listed):
        slug = re.sub(r"[^a-z0-9]+", "_", one.title.lower()).strip("_")[:80]
        names = [
            f"{slug}{f'__{number + 1}' if number else ''}.html"
            for number in range(one.parts)
        ]
        for name, page in zip(
            names, one.pages(names, home="../index.html"), strict=True
        ):
            files.write_text(folder / JUDGMENTS / name, page)
        about = {"title": one.title, "page": f"{JUDGMENTS}/{names[0]}"}
        ok = int((one.frame["status"] == "ok").sum())
        told.append(
            about | {"n": len(one.frame), "ok": ok, "gap": one.frame["gap"].mean()}
        )
        for output in outputs:
            behind[output].append(about | {"page": f"../{about['page']}"})
    return told, behind


def _explorers(listed: Catalogue) -> Iterator[tuple[list[str], Explorer]]:
    """Judges with the outputs that read them: recorded ones, the miniature one,
    those of the store.
    """
    for name in recordings.NAMES:
        about = {name, *recordings.spec(name).dataset.split(", ")}
        naming = [entry.id for entry in listed.outputs if name in entry.inputs]
        outputs = naming or [
            entry.id for entry in listed.outputs if about & {*entry.inputs}
        ]
        at_hand = datasets.available(name)[0] or datasets.numbers.has(name)
        if outputs and at_hand:
            yield from ((outputs, one) for one in explorer.recorded(name))
    outputs = [entry.id for entry in listed.outputs if "mini_judge" in entry.inputs]
    if outputs and datasets.available("mini_judge")[0]:
        yield from ((outputs, one) for one in explorer.of_miniature())
    asked: dict[Any, list[str]] = defaultdict(list)
    for question in listed.questions:
        entry = listed[question.output]
        own = notebook.read(entry.path).parameters.get("model")
        model = str(entry.parameters.get("model", own.default if own else ""))
        asked[question.asked, model] += [question.output, question.name]
    for (_, model), (output, name, *others) in asked.items():
        try:
            found = explorer.of_question(output, name, model=model)
        except (Unavailable, datasets.DataError, EngineError):
            continue
        yield [output, *others[::2]], found


def _own(folder: Path) -> None:
    """Empty a folder of an earlier build; a folder of anything else is left alone.

    Raises: ValueError.
    """
    if folder.is_dir() and any(folder.iterdir()):
        foreign = any((folder / name).exists() for name in (".git", "pyproject.toml"))
        if foreign or not (folder / "index.html").is_file():
            raise ValueError(f"{folder} holds something else; give an empty folder")
        for name in (*scoreboard.TITLES, JUDGMENTS, "index.html"):
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def _executed(entry: Entry, mode: str) -> dict[str, Any] | None:
    """The executed copy that the last run left; None where there is none."""
    folder = (
        files.results()
        / "executed"
        / ("quick" if mode == "quick" else "")
        / entry.paper
    )
    try:
        return _read(folder / f"{entry.id}.ipynb")
    except (OSError, ValueError):
        return None


def _about(entry: Entry, record: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [
        ("notebook", f"notebooks/{entry.notebook}"),
        ("route", record.get("route", entry.route)),
    ]
    if record:
        commit = str(record.get("git", {}).get("commit") or "")[:12]
        said = [
            record["date"][:10],
            f"mode {record['mode']}",
            f"commit {commit}" if commit else "",
        ]
        rows.append(("saved", ", ".join(filter(None, said))))
        if counted := _counted(record):
            rows.append(
                ("printed numbers", f"{record['coverage']['printed']}; {counted}")
            )
        rows += (
            [("model", f"{record['model']} {record.get('revision', '')}")]
            if record.get("model")
            else []
        )
        rows += [("signature", text) for text in record.get("signatures", ())[:8]]
    return rows


def _counted(record: Mapping[str, Any]) -> str:
    """What the record counts, by kind: first the paper's own method."""
    kinds = record.get("coverage", {}).get("kinds", {})
    if not kinds:
        return ""
    rows = [{"kind": kind, **counted} for kind, counted in kinds.items()]
    own = kinds.get(papers.OWN, {})
    tested = own.get("recomputed", 0)
    parts = [f"own method tested: {tested} of {own.get('printed', 0)}"]
    for count in ("recomputed", "consistent"):
        words = papers.kinds_in_words(rows, count)
        if words:
            parts.append(f"{count}: {words}")
    return "; ".join(parts)


def _brief(rows: pd.DataFrame) -> pd.DataFrame:
    return scoreboard.brief(rows).drop(
        columns=["largest difference", "saved", "reason"]
    )


def _board(rows: pd.DataFrame, folder: str) -> list[dict[str, Any]]:
    """A paper's rows of the scoreboard: the name of each, its page where it has one,
    and its texts by column.
    """
    made = []
    for row, texts in zip(
        rows.to_dict("records"), _brief(rows).to_dict("records"), strict=True
    ):
        output = str(row["output"]).partition(",")[0]
        told = {
            "name": row["id"].replace("_", " ").capitalize(),
            "page": f"{folder}{output}.html" if output else "",
        }
        told["paper"] = scoreboard.TITLES[row["paper"]] if folder else ""
        made.append(
            told
            | {
                "texts": texts,
                "reason": row["reason"],
                "numbers": row["status"] in scoreboard.COMPARED,
            }
        )
    return made
