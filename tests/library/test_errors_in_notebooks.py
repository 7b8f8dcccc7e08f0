"""An error of ours in a notebook: the message stands last, in few lines."""

from __future__ import annotations

import sys

import pytest

from nlgeval_lib import datasets, errors, evaluators, statistics
from nlgeval_lib.scoring import InputError, chosen_rows

CELLS = sys.modules["__main__"]


def rendered(code: str, error: type[Exception], monkeypatch) -> list[str]:
    """What IPython shows of the error that a cell with this code ends with."""
    monkeypatch.setattr(CELLS, "datasets", datasets, raising=False)
    monkeypatch.setattr(CELLS, "evaluators", evaluators, raising=False)
    monkeypatch.setattr(CELLS, "statistics", statistics, raising=False)
    monkeypatch.setattr(CELLS, "chosen_rows", chosen_rows, raising=False)
    with pytest.raises(error) as caught:
        exec(compile(f"a = 1\n{code}", "cell", "exec"), vars(CELLS))
    assert isinstance(caught.value, errors.Told)
    return caught.value._render_traceback_()


@pytest.mark.parametrize(
    ("code", "error", "said"),
    [
        ("datasets.load('sumeval')", datasets.UnknownName, "summeval"),
        ("chosen_rows('no.csv')", InputError, "no.csv"),
        (
            "evaluators.get('rouge')(multi='some')",
            evaluators.base.NotAllowed,
            "allowed",
        ),
        (
            "statistics.correlate([1, 2, 3], [1, 2, 4], level='sistem')",
            errors.Refused,
            "dataset, input, system",
        ),
    ],
)
def test_a_cell_shows_its_line_and_the_message(code, error, said, monkeypatch):
    lines = rendered(code, error, monkeypatch)
    assert lines[0].startswith("line 2 of the cell:") and len(lines) == 2
    assert lines[1].startswith(error.__name__) and said in lines[1]


def test_an_error_without_a_cell_is_its_message_alone():
    error = InputError("rows.csv has no column 'human'")
    assert error._render_traceback_() == ["InputError: rows.csv has no column 'human'"]


def test_every_exception_of_ours_that_users_meet_is_told():
    """An internal signal may be bare; what is raised to users is not."""
    for error in (
        evaluators.Unavailable,
        datasets.DataError,
        datasets.DataUnavailable,
        datasets.UnknownName,
        InputError,
    ):
        assert issubclass(error, errors.Told)
