"""Printed prompts beside their templates: what is kept is what the papers' texts give,
and what the templates are today.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgeval_lib import prompts
from reproduction import papers
from reproduction import printed_prompts as printed

WORDS = st.lists(st.sampled_from(["a", "b", "the", ".", "'", " "]), max_size=12)


def test_every_printed_prompt_is_compared():
    index = papers.index().query("kind == 'prompt'")
    places = printed.places()
    assert {*zip(index["paper"], index["id"], strict=True)} == {
        (row.paper, row.id)
        for row in places.itertuples()
        if not row.id.startswith("appendix")
    }
    assert not places.duplicated(printed.KEY).any()


def test_the_kept_comparison_is_of_todays_templates():
    compared, differing = printed.kept()
    places = printed.places()
    columns = [*printed.KEY, "template"]
    assert compared[columns].equals(places[columns])
    counts = differing.groupby(printed.KEY).size().to_dict()
    for place, row in zip(
        places.to_dict("records"), compared.itertuples(), strict=True
    ):
        ours = printed.normal_template(prompts.template(row.template), place)
        assert printed.sha(ours) == row.template_sha, row.template
        assert counts.get((row.paper, row.id, row.part), 0) == int(row.differences)
        assert (row.printed_sha == row.template_sha) == (row.differences == "0")


def test_the_kept_comparison_is_what_the_texts_give():
    if not printed.texts().is_dir():
        pytest.skip("the papers' texts are not here")
    for found, kept in zip(printed.compare(), printed.kept(), strict=True):
        assert found.equals(kept)


def test_a_changed_letter_is_a_difference(tmp_path: Path, monkeypatch):
    if not printed.texts().is_dir():
        pytest.skip("the papers' texts are not here")
    for paper in papers.PAPERS:
        text = (printed.texts() / f"{paper}.txt").read_text(encoding="utf-8")
        changed = text.replace(
            'Answer me "yes" or "no" only', 'Answer me "yes" or "No" only'
        )
        (tmp_path / f"{paper}.txt").write_text(changed, encoding="utf-8")
    compared, differing = printed.compare(tmp_path)
    before, _ = printed.kept()
    other = compared[compared["printed_sha"] != before["printed_sha"]]
    assert other["id"].tolist() == ["table_20"]
    found = differing.query("id == 'table_20'")[["kind", "printed", "ours"]]
    assert found.to_numpy().tolist() == [["changed", "No", "no"]]


@given(WORDS, WORDS)
def test_differences_are_none_for_equal_texts_alone(first, second):
    one, two = "".join(first), "".join(second)
    found = list(printed.differences(one, two))
    assert bool(found) == (one != two)
    gained = sum(int(each["length"]) - int(each["printed_length"]) for each in found)
    assert gained == len(two) - len(one)


@pytest.mark.parametrize(
    ("text", "alike"),
    [
        ("a\n b  c", "a b c"),
        ("of\ufb01ce", "office"),
        ("exam-\nple", "example"),
        ("**bold** and *leaning*", "bold and leaning"),
        ("to  $\\{\\text{input\\_context}\\}$ .", "to⟦input_context⟧."),
        ("`${instruction}`", "⟦instruction⟧"),
        ("the \\$task task", "the⟦task⟧task"),
        ("It’s", "It’s"),
    ],
)
def test_what_the_conversion_did_is_undone_and_no_more(text, alike):
    place = dict.fromkeys(printed.places().columns, "")
    place |= {"first": "1", "last": str(text.count("\n") + 1)}
    assert printed.normal_print(text.split("\n"), place) == alike


def test_the_verdict_in_words():
    assert printed.verdict(0) == "prompt: equal"
    assert printed.verdict(1) == "prompt: 1 difference"
    assert printed.verdicts()["tigerscore", "table_09"] == "prompt: 1 difference"
    assert printed.verdicts()["coascore", "table_08"] == "prompt: equal"
