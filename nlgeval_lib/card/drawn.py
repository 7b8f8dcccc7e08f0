"""The figures of a card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from nlgeval_lib import figures


def of(card: Mapping[str, Any]) -> dict[str, Any]:
    """Name -> figure, set by set: the judge among others, and what people say where it
    gives each score.
    """
    drawings = {}
    for name, numbers in card["sets"].items():
        rows = _rows_of_pairs(numbers)
        if numbers["kind"] != "pairs":
            rows = _rows_of_aspects(numbers)
        if rows:
            drawings[f"beside_{name}"] = _beside(rows, numbers)
        curves = {}
        for aspect, part in numbers.get("aspects", {}).items():
            curve = part["closeness"].get("calibration")
            if curve:
                curves[aspect] = curve
        if curves:
            drawings[f"calibration_{name}"] = _calibration(curves, numbers["title"])
    return drawings


def _rows_of_aspects(numbers: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row a judge and aspect: tau-b with its interval."""
    rows = []
    for aspect, part in numbers["aspects"].items():
        listed = part["beside"]
        if not isinstance(listed, list):
            # a reason stands in its place
            continue
        for row in listed:
            place = {"judge": row["name"], "aspect": aspect}
            rows.append(place | _ends(row["kendall"]))
    return rows


def _rows_of_pairs(numbers: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row a judge of pairs: its accuracy with its interval."""
    rows = []
    for row in numbers.get("beside", ()):
        place = {"judge": row["name"], "aspect": "accuracy"}
        rows.append(place | _ends(row))
    return rows


def _ends(cell: Mapping[str, Any]) -> dict[str, Any]:
    return {end: cell.get(end) for end in ("value", "low", "high")}


def _beside(rows: list[dict[str, Any]], numbers: Mapping[str, Any]) -> Any:
    """Bars with intervals, a group of bars a judge."""
    numeric = dict.fromkeys(("value", "low", "high"), float)
    is_pairs = numbers["kind"] == "pairs"
    label = "Kendall's tau-b with the ratings, all outputs"
    return figures.bars_with_intervals(
        pd.DataFrame(rows).astype(numeric),
        label="judge",
        group=None if is_pairs else "aspect",
        title=numbers["title"],
        xlabel="share of pairs, both orders" if is_pairs else label,
        reference=0.5 if is_pairs else None,
    )


def _calibration(curves: Mapping[str, Any], title: str) -> Any:
    """The mean rating of the outputs with each score; on the dotted line both agree."""
    fig, ax = figures.new(figures.WIDE, 2.8)
    ends: set[float] = set()
    for number, (aspect, curve) in enumerate(curves.items()):
        scores = [point["score"] for point in curve]
        ratings = [point["human"]["value"] for point in curve]
        hue = figures.color(number)
        ax.plot(scores, ratings, marker="o", color=hue, label=aspect)
        ends.update(scores)
    diagonal = [min(ends), max(ends)]
    ax.plot(diagonal, diagonal, ls=":", color="#555555")
    ax.set(xlabel="score of the judge", ylabel="mean rating", title=title)
    fig.legend(loc="outside lower left", ncols=4)
    return fig
