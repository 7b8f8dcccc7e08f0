"""What another judge says about the claims of a page, beside the page's own verdict."""

import pandas as pd
import pytest

from nlgeval_lib import files
from reproduction import papers
from reproduction.report import answers, replicated
from reproduction.study import catalogue

OUTPUTS = [entry for entry in catalogue.load().outputs if entry.paper in papers.PAPERS]


@pytest.mark.parametrize("entry", OUTPUTS, ids=lambda entry: entry.id)
def test_an_output_waits_for_what_its_first_screen_counts(entry):
    _, asked = replicated.claims_of(entry)
    assert bool(asked) == (replicated.OUTPUT in entry.after)


@pytest.mark.parametrize("entry", OUTPUTS, ids=lambda entry: entry.id)
def test_every_comparison_behind_its_claims_is_counted(entry):
    _, asked = replicated.claims_of(entry)
    said = replicated.sentence(entry)
    frame = pd.read_csv(files.located(replicated.COMPARISONS))
    frame = frame[frame["claim"].isin(asked)]
    for judge, part in frame.groupby("judge"):
        assert f"{judge}, {len(part)} comparison" in said
        for verdict, count in part["verdict"].value_counts().items():
            assert f"{count} {verdict}" in said


def test_a_run_that_is_set_apart_does_not_speak_of_the_official_claims():
    entry = catalogue.load()["coascore_table_02"]
    record = {"mode": "full", "route": "public", "files": []}
    official = dict(answers.Answer(entry, record).lines)
    apart = dict(answers.Answer(entry, record, folder="partial").lines)
    quick = dict(answers.Answer(entry, record | {"mode": "quick"}).lines)
    assert "With another judge" in official
    assert "With another judge" not in apart
    assert "With another judge" not in quick
