"""InstructScore's error reports: type, location, explanation and major/minor of each error; -5 and -1."""

from __future__ import annotations

from nlgeval_lib.parsers.error_analysis import ErrorAnalysis, error_analysis

WEIGHTS = {"major": 5.0, "minor": 1.0}


def instructscore(text: str | None) -> ErrorAnalysis:
    """The score of a report: -5 for each major and -1 for each minor error, 0.0 where it says that there is none.

    Reads both layouts (translation, and data-to-text with an error dimension), with or without the prompt before it. A
    report that lists fewer errors than it announces, or leaves a severity open, has no score.
    Raises: TypeError where `text` is neither str nor None.
    Source: Xu et al. 2023, InstructScore, section 3 (weights).
    """
    return error_analysis(text, WEIGHTS)
