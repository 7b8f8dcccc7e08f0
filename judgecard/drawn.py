"""The figures of a card, drawn from the numbers of `card.json` alone."""

from __future__ import annotations

from typing import Any

import pandas as pd

from judgecard import figures
from judgecard.written import Numbers, listed


def draw_figures(card: Numbers) -> dict[str, Any]:
    """The figures of each set that has the numbers: `beside_SET`, the judge among
    others, and `calibration_SET`, what people say where it gives each score.
    """
    drawings = {}
    for name, numbers in card["sets"].items():
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
    """Bars with intervals, a group a judge, a bar an aspect; None where nobody is
    beside it.
    """
    of_pairs = numbers["kind"] == "pairs"
    cells = [(row["name"], "accuracy", row) for row in listed(numbers.get("beside"))]
    for aspect, measured in numbers.get("aspects", {}).items():
        for row in listed(measured["beside"]):
            cells.append((row["name"], aspect, row["kendall"]))
    bars = []
    for judge, aspect, cell in cells:
        ends = {end: cell.get(end) for end in ("value", "low", "high")}
        bars.append({"judge": judge, "aspect": aspect, **ends})
    if not bars:
        return None
    xlabel = "Kendall's tau-b with the ratings, all outputs"
    return figures.bars_with_intervals(
        pd.DataFrame(bars).astype(dict.fromkeys(("value", "low", "high"), float)),
        label="judge",
        group=None if of_pairs else "aspect",
        title=numbers["title"],
        xlabel="share of pairs, both orders" if of_pairs else xlabel,
        reference=0.5 if of_pairs else None,
    )


def _calibration(curves: Numbers, title: str) -> Any:
    """The mean rating of the outputs with each score; on the dotted line both agree."""
    figure, axes = figures.new(figures.WIDE, 2.8)
    ends: list[float] = []
    for number, (aspect, curve) in enumerate(curves.items()):
        scores = [point["score"] for point in curve]
        ratings = [point["human"]["value"] for point in curve]
        hue = figures.color(number)
        axes.plot(scores, ratings, marker="o", color=hue, label=aspect)
        ends += scores
    diagonal = [min(ends), max(ends)]
    axes.plot(diagonal, diagonal, ls=":", color="#555555")
    axes.set(xlabel="score of the judge", ylabel="mean rating", title=title)
    figure.legend(loc="outside lower left", ncols=4)
    return figure
