"""The page of an ablation: the answer is computed from its saved tests, coverage
stands before the tests, and no number is dropped.
"""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from reproduction.report import answers
from reproduction.study.catalogue import Entry

TABLE = pd.DataFrame(
    {
        "aspect": "overall",
        "variant": ["n=5", "n=7"],
        "value": [0.8, 0.9],
        "n": 300,
        "ci_low": [0.7, 0.8],
        "ci_high": 1.0,
        "signature": "level:dataset",
    }
)
TESTS = pd.DataFrame(
    {
        "variant": ["n=7"],
        "against": ["n=5"],
        "difference": [0.189],
        "ci_low": [0.1],
        "ci_high": [0.25],
        "n": [300],
        "p": [1e-9],
        "p_holm": [1e-9],
        "detectable": [0.04],
    }
)
COVERAGE = pd.DataFrame(
    {
        "variant": ["n=5", "n=9"],
        "scored": ["300 of 300", "101 of 300"],
        "why not": ["", "only 34% of the rows have a score"],
    }
)


def test_a_page_keeps_the_answer(tmp_path, monkeypatch):
    monkeypatch.setenv("NLGEVAL_RESULTS", str(tmp_path))
    folder = tmp_path / "mini" / "meta"
    folder.mkdir(parents=True)
    names = []
    for label, frame in {
        "table": TABLE,
        "tests": TESTS,
        "variants": COVERAGE,
        "extra": TABLE.assign(ci_low=float("nan")),
    }.items():
        frame.to_csv(folder / f"mine__{label}.csv", index=False)
        if label != "extra":
            names.append(f"results/mini/meta/mine__{label}.csv")
    names.append("results/mini/meta/mine__extra.csv")
    entry = Entry(
        id="mine",
        paper="meta",
        notebook="template_ablation.ipynb",
        route="mini",
        title="Mine",
    )
    record = {
        "files": names,
        "route": "mini",
        "mode": "full",
        "notebook": "notebooks/template_ablation.ipynb",
    }
    page = answers.markdown(answers.Answer(entry, record))
    answer = (
        "n=7 follows the ratings more closely than n=5: +.189 \\[+.100, +.250\\], "
        "p &lt; .001. Differences below about .04 cannot be told on 300 items"
    )
    assert f"**Answer.** {answer}" in page and f"- {answer.split('. Diff')[0]}" in page
    opened = page.partition("## Reading")[0]
    places = [opened.index(f"\n**{name}") for name in ("Table", "Variants", "Tests")]
    assert places == sorted(places)
    # one value in all rows, or none: the column stays
    assert "| variant | value | n | 95 % interval |" in opened
    assert "<summary>Extra" in page and page.count("| 95 % interval |") >= 2
    assert "p | 0" not in page and "&lt; .001 | &lt; .001" in page


@pytest.mark.parametrize(("rows", "tables"), [(8, 3), (400, 3), (400, 14)])
def test_a_long_page_folds_the_first_rows_of_each_table(
    tmp_path, monkeypatch, rows, tables
):
    """Whatever an output is called: what does not stand there is in the CSV."""
    monkeypatch.setenv("NLGEVAL_RESULTS", str(tmp_path))
    (tmp_path / "meta").mkdir()
    names = []
    for number in range(tables):
        frame = pd.DataFrame({"judge": [f"j{row}" for row in range(rows)], "tau": 0.5})
        names.append(f"results/meta/long__part_{number:02}.csv")
        frame.to_csv(tmp_path / "meta" / Path(names[-1]).name, index=False)
    entry = Entry(
        id="long", paper="meta", notebook="template_ablation.ipynb", route="recorded"
    )
    record = {
        "files": names,
        "route": "recorded",
        "mode": "full",
        "notebook": "notebooks/template_ablation.ipynb",
    }
    page = answers.markdown(answers.Answer(entry, record))
    assert page.count("\n") <= answers.MOST_LINES
    folded = page.split("<details>")[1:]
    # A short first table stands open.
    assert len(folded) == (tables if rows > answers.MOST_OPEN else tables - 1)
    for number, text in enumerate(folded, tables - len(folded)):
        shown = len(re.findall(r"\| j\d", text))
        assert shown == rows if rows == 8 else 3 <= shown < rows
        is_linked = f"All rows: [long__part_{number:02}.csv]" in text
        assert is_linked == (shown < rows) and "| j0 |" in text
