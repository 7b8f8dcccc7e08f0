"""What the readings say of results is what the results say, and would be noticed if
they changed.
"""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Collection

import numpy as np
import pandas as pd
import pytest

from nlgeval_lib import files, tables
from nlgeval_lib.tables import fitting
from reproduction.report import Output, answers, committed, comparisons, seal
from reproduction.study import catalogue

ENTRIES = {entry.notebook: entry for entry in catalogue.load().outputs}
LINES = answers.backing()
# tables, sections, models and packages by name, code, confidence: numbers that stand
# for no result
NAMES = re.compile(
    r"`[^`]*`|\b(Tables?|Figures?|sections?|layers?|level|epsilon) [A-Z]?\.?\d[\d.]*((, | and | to )\d+)*"
    r"|\b[A-Za-z]+[-\w.]*\d[\w.-]*( and \d{3}\b)?|\b\d+(\.\d+)?[BbK]\b|95 %( intervals?)?|\b20[012]\d\b"
)
# columns that say which row is meant, in a query; verdicts are no such columns
KEYS = re.compile(
    r"(?:`([^`]+)`|\b(\w+))(?:\.str\b| (?:==|!=|in|not in) (?=[\"\[]))|\b(?=(added|share|systems|texts) )"
)
VERDICTS = {
    "verdict",
    "equal",
    "holds",
    "the better",
    "fit the shares",
    "values that no ties explain",
}
GOOD = ("equal", "yes", "holds", "none")
NUMBER = re.compile(r"-?(?:\d[\d,]*\.?\d*|\.\d+)")


def points(notebook: str) -> list[str]:
    """The points of a notebook's reading."""
    text = answers.Answer(ENTRIES[notebook], {})._sections.get("Reading", "")
    return ("\n" + text.split("\n## ")[0]).split("\n- ")[1:]


def numbers(text: str) -> list[str]:
    return [found.rstrip(",.") for found in NUMBER.findall(NAMES.sub(" ", text))]


def frame_of(line: dict[str, str]) -> pd.DataFrame:
    return answers._table_of(line["file"])


@pytest.mark.parametrize("notebook", sorted({line["notebook"] for line in LINES}))
def test_each_point_is_borne_out(notebook: str) -> None:
    lines = answers.backing(notebook)
    said = points(notebook)
    for line in lines:
        assert sum(line["said"] in point for point in said) == 1, (
            f"not in the reading, or twice: {line['said']!r}"
        )
        assert not line["value"] or answers.holds(line, frame_of(line)), line
    for point in said:
        mine = [line for line in lines if line["said"] in point]
        assert mine, (
            f"nothing in notebooks/readings.csv says what this rests on: {point}"
        )
        rest = [line["value"].lstrip("<>=") or line["said"] for line in mine]
        backed = [number for text in rest for number in numbers(text)]
        for number in numbers(point):
            equal = [abs(float(one.replace(",", ""))) for one in backed]
            assert abs(float(number.replace(",", ""))) in equal, (
                f"{number!r} is backed by no result: {point}"
            )


def test_all_readings_are_covered() -> None:
    unread = {name for name in ENTRIES if points(name)}
    assert unread <= {line["notebook"] for line in LINES}


def changed(
    frame: pd.DataFrame, factor: float, keys: Collection[str] = ()
) -> pd.DataFrame:
    """The same rows (`keys` are as they were) with other numbers, words and
    verdicts; with factor 0 all the same.
    """
    found = {}
    for place, name in enumerate(frame.columns.difference(list(keys))):
        column = frame[name]
        if column.dtype == bool:
            found[name] = ~column
        elif pd.api.types.is_numeric_dtype(column):
            moved = column * factor + (place + np.arange(len(frame))) * factor
            found[name] = moved if factor else moved.fillna(0) + 1
        else:
            found[name] = column.map(
                lambda said: "differs" if factor and said in GOOD else "equal",
                na_action="ignore",
            )
    return frame.assign(**found)


def test_a_changed_result_is_noticed() -> None:
    """Other numbers in the rows that are meant, or fewer rows, and what is said of
    them holds no longer.
    """
    deaf = []
    for line in LINES:
        if line["value"]:
            frame = frame_of(line)
            keys = {
                name for names in KEYS.findall(line["where"]) for name in names if name
            } - VERDICTS
            others = itertools.chain(
                (changed(frame, by, keys) for by in (1.3, -1.7, 4, 0)),
                [frame.iloc[::2]],
            )
            if all(answers.holds(line, other) for other in others):
                deaf.append(line["said"])
    assert not deaf


def test_a_page_leaves_out_what_does_not_hold(tmp_path, monkeypatch) -> None:
    notebook = "tigerscore/table_07_hallucination.ipynb"
    entry = ENTRIES[notebook]
    whole = answers.Answer(entry, {}).reading
    assert answers.backed(whole, notebook) == whole
    for name in {line["file"] for line in answers.backing(notebook) if line["file"]}:
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        frame = pd.read_csv(files.located(name))
        changed(frame, 1.3).to_csv(
            place, index=False
        ) if "counts" in name else frame.to_csv(place, index=False)
    monkeypatch.setenv("NLGEVAL_RESULTS", str(tmp_path / "results"))
    said = answers.Answer(entry, {}).reading
    assert "whole counts of 20" in whole and "whole counts of 20" not in said
    assert "GPT-4" in said and "points are left out" in said


@pytest.mark.parametrize(
    ("whole", "false", "left"),
    [
        ("- First.\n- Second.", "First", "- Second."),
        ("All.\n\n- First.\n- Second.", "All", "- First.\n- Second."),
        ("All.\n\n- First.\n- Second.", "First", "All.\n\n- Second."),
        ("- First\n  goes on.\n- Second.", "Second", "- First\n  goes on."),
    ],
)
def test_a_point_keeps_its_bullet_whichever_is_left_out(
    monkeypatch, whole, false, left
) -> None:
    line = {"said": false, "value": "1", "file": "results/no/such.csv"}
    monkeypatch.setattr(answers, "backing", lambda notebook: [line])
    text = answers.backed(whole, "any.ipynb")
    assert text.partition("\n\n(")[0] == left and "1 further point" in text


def test_a_notebook_begins_with_what_was_saved(tmp_path, monkeypatch) -> None:
    said = Output("semscore_table_01").answer().text
    assert said.index("none is of SemScore itself") < said.index("0.143")
    monkeypatch.setenv("NLGEVAL_RESULTS", str(tmp_path))
    assert "Nothing is saved yet" in Output("semscore_table_01").answer().text


def test_a_result_of_an_earlier_form_does_not_stop_its_notebook(tmp_path, monkeypatch):
    shutil.copytree(files.results() / "meta", tmp_path / "meta")
    counted = tmp_path / "meta/meta_claims__by_paper.csv"
    pd.read_csv(counted).drop(columns="holds").to_csv(counted, index=False)
    monkeypatch.setenv("NLGEVAL_RESULTS", str(tmp_path))
    said = Output("meta_claims").answer().text
    assert "cannot be shown" in said and "'holds'" in said


# -- the page of each output beside its result: it says what the result says


@pytest.fixture(scope="module")
def answered() -> dict[str, answers.Answer]:
    """What each output with a saved result says, by its page; computed once."""
    found = filter(None, map(answers.read_answer, catalogue.load().outputs))
    return {f"{answer.base}.md": answer for answer in found}


@pytest.fixture(scope="module")
def pages(answered) -> dict[str, str]:
    return {name: answers.markdown(answer) for name, answer in answered.items()}


def test_the_committed_pages_are_what_the_results_say(pages):
    there = {
        f"results/{path.relative_to(files.results())}"
        for path in files.results().glob("*/**/*.md")
    }
    there.discard("results/quick/scoreboard.md")
    assert there == set(pages) and len(pages) > 70
    stale = [
        name
        for name, page in pages.items()
        if files.located(name).read_text(encoding="utf-8") != page
    ]
    assert not stale, "run: nlgeval scoreboard"


def test_a_notebook_begins_with_the_answer_of_its_page(answered, pages):
    outputs = [
        answer
        for answer in answered.values()
        if answer.entry.saves and answer.entry.route != "mini"
    ]
    shown = [answer for answer in outputs if seal.shown_in(answer.entry)]
    assert len(shown) > 60
    for answer in shown:
        begins = committed.first_answer(answer.entry.path.read_text(encoding="utf-8"))
        follows = committed.shortened(answers.first_screen_of(answer).text)
        # Two notebooks begin otherwise: the first one teaches, the scoreboard has no
        # page.
        assert begins in (follows, ""), answer.entry.id
        page = pages[f"{answer.base}.md"]
        for _, text in answer.lines:
            assert tables.for_markdown(text) in page, answer.entry.id


def test_links_and_pictures_are_there_and_the_answer_stands_first(pages):
    for name, page in pages.items():
        linked = [part.partition(")")[0] for part in page.split("](")[1:]]
        places = [
            files.located(name).parent / link
            for link in linked
            if not link.startswith(("http", "#"))
        ]
        assert places and all(place.is_file() for place in places), name

    page = pages["results/coascore/coascore_tables_04_13.md"]
    parts = (
        "**Was the method tested?** No: 0 of the 51 numbers printed for CoAScore",
        "| own method |",
        "**Supported.**",
        "**Not tested.**",
        "**The claim.**",
        "| CoAScore (n=5) ",
        "| BLEU |",
        "## Reading",
        "## How it was made",
    )
    places = [page.index(part) for part in parts]
    assert places == sorted(places)


# -- rules of every page, as a code host shows it

# What a reader who knows the field, and not this repository, meets outside folded parts.
_INTERNAL = re.compile(
    r"\bthe store\b|\bsignatures?\b|level:\w+\||\bneeds a run: |@OURS|\bRoute \w+, mode"
)
# Counts and p-values as they are not written.
_BADLY_COUNTED = re.compile(
    r"\b1 (?:printed )?(?:numbers|cells|rows|columns)\b|\bp = 0\.0000?\b|\b0 of 0\b"
)
_FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)
_LARGEST = 100_000  # bytes


def _open(page: str) -> str:
    return _FOLDED.sub("", page)


def _said(page: str) -> str:
    """What stands outside folded parts, without what only commands and links hold."""
    text = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", _open(page), flags=re.DOTALL)
    return text.partition("## How it was made")[0]


def test_each_page_answers_first_and_in_a_readers_words(pages):
    wrong = []
    for name, page in pages.items():
        first = page.splitlines()[2]
        if not first.startswith(("**Was the method tested?** ", "**Answer.** ")):
            wrong.append(f"{name}: begins with {first[:60]!r}")
        for pattern in (_INTERNAL, _BADLY_COUNTED):
            phrase = pattern.search(_said(page))
            if phrase:
                wrong.append(f"{name}: {phrase[0]!r}")
        if len(page.encode()) > _LARGEST:
            wrong.append(f"{name}: {len(page.encode()):,} bytes")
    assert not wrong


def test_no_table_of_a_page_is_wider_than_a_code_hosts_window(pages):
    wide = []
    for name, page in pages.items():
        for block in re.findall(r"(?:^\|.*\|\n)+", page, re.MULTILINE):
            lines = []
            for line in block.splitlines():
                lines.append(re.split(r" (?<!\\)\| ", line.strip("| ")))
            columns = zip(lines[0], *lines[2:], strict=False)
            pixels = sum(map(fitting.least_width, columns))
            if pixels > fitting.WINDOW:
                wide.append(f"{name}: {pixels:.0f} pixels, {lines[0][:3]}")
    assert not wide


def test_a_table_has_few_notes_and_each_is_said_of_a_cell(pages):
    for name, page in pages.items():
        notes = re.findall(r"^- ([⁰¹²³⁴-⁹]+) ", page, re.MULTILINE)
        assert len(notes) <= comparisons.MOST_NOTES, name
        above = page.partition("- Ours, with")[0]
        for note in notes:
            assert f"{note} " in above, f"{name}: no cell bears {note}"


def test_what_comes_from_data_is_escaped(here):
    here.output("one", more='title = "One"')
    name = here.result("hdeval/one.json")
    name.parent.mkdir(parents=True, exist_ok=True)
    record = {
        "route": "public",
        "mode": "full",
        "notebook": "notebooks/n.ipynb",
        "files": [],
    }
    name.write_text(
        json.dumps(
            record | {"missing": [{"what": "<b>x</b>", "reason": "a | `b` [c](d)"}]}
        )
    )
    entry = catalogue.load()["one"]
    page = answers.pages((entry,))["results/hdeval/one.md"].decode()
    assert "- &lt;b&gt;x&lt;/b&gt;: a \\| \\`b\\` \\[c\\](d)" in page
