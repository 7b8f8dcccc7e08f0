"""The page of each output beside its result: it says what the result says."""

from __future__ import annotations

import json

import pytest

from nlgeval_lib import files
from nlgeval_lib.report import answers
from nlgeval_lib.study import catalogue


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {name: page.decode() for name, page in answers.pages(catalogue.load().outputs).items()}


def test_the_committed_pages_are_what_the_results_say(pages):
    there = {f"results/{path.relative_to(files.results())}" for path in files.results().glob("*/**/*.md")}
    there.discard("results/quick/scoreboard.md")
    assert there == set(pages) and len(pages) > 70
    stale = [name for name, page in pages.items() if files.located(name).read_text(encoding="utf-8") != page]
    assert not stale, "run: nlgeval scoreboard"


def test_links_and_pictures_are_there(pages):
    for name, page in pages.items():
        linked = [part.partition(")")[0] for part in page.split("](")[1:]]
        places = [files.located(name).parent / link for link in linked if not link.startswith("http")]
        assert places and all(place.is_file() for place in places), name


def test_the_answer_stands_first(pages):
    page = pages["results/coascore/coascore_tables_04_13.md"]
    verdict, table, reading = (page.index(mark) for mark in ("**Verdict.** ", "| --- |", "## Reading"))
    assert page.index("**The claim.**") < verdict < table < reading < page.index("## How it was made")


def test_what_comes_from_data_is_escaped(here):
    here.output("one", more='title = "One"')
    name = here.result("hdeval/one.json")
    name.parent.mkdir(parents=True, exist_ok=True)
    record = {"route": "public", "mode": "full", "notebook": "notebooks/n.ipynb", "files": []}
    name.write_text(json.dumps(record | {"missing": [{"what": "<b>x</b>", "reason": "a | `b` [c](d)"}]}))
    entry = catalogue.load()["one"]
    page = answers.pages((entry,))["results/hdeval/one.md"].decode()
    assert "- &lt;b&gt;x&lt;/b&gt;: a \\| \\`b\\` \\[c\\](d)" in page
