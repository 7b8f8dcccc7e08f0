"""The figures of a card, drawn from the numbers of `card.json` alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from judgecard import figures

Numbers = Mapping[str, Any]
_NUMERIC = dict.fromkeys(("value", "low", "high"), float)


def draw_figures(card: Numbers) -> dict[str, Any]:
    """The figures, set by set: the judge among others, and what people say where it
    gives each score.

    Returns: `beside_SET` and `calibration_SET` -> a figure of matplotlib; a set without
    the numbers has none.
    """
    drawings = {}
    for name, numbers in card["sets"].items():
        if numbers["kind"] == "pairs":
            among_others = _pairs_beside(numbers)
        else:
            among_others = _beside(numbers)
        if among_others is not None:
            drawings[f"beside_{name}"] = among_others
        curves = {}
        for aspect, measured in numbers.get("aspects", {}).items():
            curve = measured["closeness"].get("calibration")
            if curve:
                curves[aspect] = curve
        if curves:
            drawings[f"calibration_{name}"] = _calibration(curves, numbers["title"])
    return drawings


def _beside(numbers: Numbers) -> Any:
    """Bars with intervals, a group a judge, a bar an aspect."""
    rows = []
    for aspect, measured in numbers["aspects"].items():
        other_judges = measured["beside"]
        if not isinstance(other_judges, list):
            # a reason stands in its place
            continue
        for row in other_judges:
            rows.append(_bar(row["name"], aspect, row["kendall"]))
    if not rows:
        return None
    return figures.bars_with_intervals(
        pd.DataFrame(rows).astype(_NUMERIC),
        label="judge",
        group="aspect",
        title=numbers["title"],
        xlabel="Kendall's tau-b with the ratings, all outputs",
        reference=None,
    )


def _pairs_beside(numbers: Numbers) -> Any:
    """Bars of the judges of pairs; None where nobody is beside it."""
    rows = []
    for row in numbers.get("beside", ()):
        rows.append(_bar(row["name"], "accuracy", row))
    if not rows:
        return None
    return figures.bars_with_intervals(
        pd.DataFrame(rows).astype(_NUMERIC),
        label="judge",
        group=None,
        title=numbers["title"],
        xlabel="share of pairs, both orders",
        reference=0.5,
    )


def _bar(judge: str, aspect: str, cell: Numbers) -> dict[str, Any]:
    """A bar with its interval, as a row of the frame that is drawn."""
    return {
        "judge": judge,
        "aspect": aspect,
        "value": cell.get("value"),
        "low": cell.get("low"),
        "high": cell.get("high"),
    }


def _calibration(curves: Numbers, title: str) -> Any:
    """The mean rating of the outputs with each score; on the dotted line both agree."""
    figure, axes = figures.new(figures.WIDE, 2.8)
    lowest = float("inf")
    highest = float("-inf")
    for number, (aspect, curve) in enumerate(curves.items()):
        scores = [point["score"] for point in curve]
        ratings = [point["human"]["value"] for point in curve]
        axes.plot(
            scores,
            ratings,
            marker="o",
            color=figures.color(number),
            label=aspect,
        )
        lowest = min(lowest, *scores)
        highest = max(highest, *scores)
    diagonal = [lowest, highest]
    axes.plot(diagonal, diagonal, ls=":", color="#555555")
    axes.set(
        xlabel="score of the judge",
        ylabel="mean rating",
        title=title,
    )
    figure.legend(loc="outside lower left", ncols=4)
    return figure
