"""One set of words for what became of a printed number, wherever a reader meets it, and
no count in an answer that its tables do not give.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reproduction.papers.counting import WORDS
from reproduction.report import charts, sentences

ROOT = Path(__file__).parents[2]
# Other words that were used for these kinds of number.
OTHER_WORDS = re.compile(
    r"recomputed|for orientation|consistent with other printed"
    r"|(judge|judges) or prompt|nothing to set beside|no more than chance gives",
    re.IGNORECASE,
)
# Pages of the audit call by `recomputed` a column of the relations' own file.
AUDIT = ("consistency_audit",)
TEXTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "results").rglob("*.md"),
    *(ROOT / "notebooks").rglob("*.ipynb"),
]
TEXTS = [path for path in TEXTS if "private" not in path.parts]


def prose(path: Path) -> str:
    """What a reader meets of a file; of a notebook its own words, without code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text
    cells = json.loads(text)["cells"]
    words = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
    return "\n".join("".join(lines) for lines in words)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_no_text_has_other_words_for_the_kinds_of_number(path):
    if any(name in path.name for name in AUDIT):
        return
    found = [line for line in prose(path).splitlines() if OTHER_WORDS.search(line)]
    assert found == []


def test_legends_table_and_glossary_have_the_same_words():
    legends = [*charts.SHARES, *(mark.label for mark in charts._MARKS.values())]
    assert not any(map(OTHER_WORDS.search, legends))
    glossary = (ROOT / "docs/glossary.md").read_text()
    page = (ROOT / "results/scoreboard.md").read_text()
    [head] = [line for line in page.splitlines() if line.startswith("| numbers of")]
    for words in WORDS.values():
        assert f"| {words} " in head
        assert f"**{words}**" in glossary
        assert any(label.startswith(words) for label in charts.SHARES)


# -- counts in the answers

NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight"]
NUMBERS += ["nine", "ten", "eleven", "twelve"]
WRITTEN = re.compile(
    rf"(?<![\w.-])(\d[\d,]*(?:\.\d+)?|\.\d+|{'|'.join(NUMBERS[2:])})(?![\w-])",
    re.IGNORECASE,
)
# Written numbers that are no result: how a study was laid out, or what a paper prints.
LAID_OUT = {
    "twelve models": "SemScore's Table 2 prints so many",
    "two orders": "ours and the printed one",
    "two halves": "the dialogues are halved",
    "four aspects": "those of the data set",
    "four children": "the paper's limit",
    "Of five statements": "those of the section that is read",
    "0.2 s": "the paper's own figure",
    "six systems": "those of the miniature sets",
    "four models": "those of the figure",
    "level 5 %": "the level of the tests",
    "where two judges": "a comparison has two sides",
    "other two with": "SummEval has three experts",
    "above 0,": "no difference",
    "below 0,": "no difference",
    "as 0 gives": "the score that stands for a missing one",
    "and 0 gives": "the score that stands for a missing one",
    "draws": "how often a judge was asked",
    "six judges": "those that are joined",
    "1,000 halves": "how often the set is split",
    "seed 42": "the seed",
    "with five, ": "how often the judge was asked",
    "five systems": "those of Topical-Chat",
    "four systems": "those of Vicuna Bench",
    "for three more models": "GPT-4, gpt-3.5-turbo and Alpaca",
    "the eight models": "those of SemScore whose outputs are public",
    "eight public systems": "those of SemScore whose outputs are public",
    "With 24 recorded": "six judges' scores of four aspects",
    "nine answers": "the rubric's questions",
}


@pytest.mark.parametrize("output", list(sentences.declared()))
def test_a_number_in_an_answer_comes_from_its_tables(output):
    """Or it chooses the rows that are spoken of, or says how the study was laid out."""
    entry = sentences.declared()[output]
    choosing = " ".join(str(of) for of in entry.get("rows", {}).values())
    chosen = {float(text) for text in re.findall(r"\d+\.?\d*|\.\d+", choosing)}
    for key in ("says", "otherwise"):
        text = re.sub(r"\{[^}]*\}", "", entry.get(key, "")).replace("95 %", "")
        for match in WRITTEN.finditer(text):
            around = text[max(0, match.start() - 15) : match.end() + 15]
            word = match[1].lower().replace(",", "")
            value = float(NUMBERS.index(word) if word in NUMBERS else word)
            is_known = value in chosen or value / 100 in chosen
            is_laid_out = any(words in around for words in LAID_OUT)
            assert is_known or is_laid_out, f"{match[1]!r} in {around!r}"
