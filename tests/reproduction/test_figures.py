"""Figures: the same bytes each time, readable type, numbers where they should stand."""

from __future__ import annotations

import io
import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from judgecard import figures
from reproduction.report import charts
from reproduction.report.scoreboard import COMPARED


@pytest.fixture(autouse=True)
def _close():
    import matplotlib

    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def cells(
    rows: int = 3,
    columns: int = 2,
    statistics: tuple[str, ...] = ("pearson", "spearman"),
) -> pd.DataFrame:
    made = []
    for i, (r, c, s) in enumerate(
        itertools.product(range(rows), range(columns), statistics)
    ):
        equal = i % 3 != 0
        made.append(
            dict(
                paper="hdeval",
                table="table_01",
                kind="lexical metric",
                method="Metric",
                evidence="distinct",
                own_sd=np.nan,
                row=f"Metric {r}",
                column=f"Data set {c}",
                statistic=s,
                printed="0.500",
            )
            | dict(
                ours=0.5 if equal else 0.6,
                difference=0.0 if equal else 0.1,
                verdict="equal" if equal else "differs",
            )
            | dict(
                ci_low=0.4 if i % 2 else np.nan,
                ci_high=0.7 if i % 2 else np.nan,
                route="public",
                reason="",
            )
        )
    gap = dict(
        made[0],
        row="Judge",
        ours=np.nan,
        difference=np.nan,
        verdict="missing",
        reason="none",
    )
    return pd.DataFrame([*made, gap])


def bars() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "metric": ["a", "b", "c"] * 2,
            "level": ["x"] * 3 + ["y"] * 3,
            "value": np.linspace(-0.2, 0.8, 6),
        }
    )
    frame = frame.assign(low=frame["value"] - 0.1, high=frame["value"] + 0.1)
    frame.loc[1, ["low", "high"]] = np.nan
    return frame


def board() -> pd.DataFrame:
    ids = [f"table_{i:02}" for i in range(1, 19)] + ["figure_01"]
    status = list(
        itertools.islice(
            itertools.cycle((*COMPARED, "needs GPU", "no public data")), len(ids)
        )
    )
    counts = dict(
        printed=192,
        own_printed=40,
        own_recomputed=3,
        recomputed=90,
        recomputed_equal=60,
        consistent=70,
        consistent_equal=50,
    )
    one = pd.DataFrame(
        {"id": ids, "status": status, **counts, "orientation": 12, "construction": 10}
    )
    return pd.concat([one.assign(paper="hdeval"), one.assign(paper="semscore")])


def drawn() -> dict[str, object]:
    return {
        "wide": charts.paper_vs_ours(cells(), "Table"),
        "one panel": charts.paper_vs_ours(cells(columns=1, statistics=("accuracy",))),
        "narrow": charts.paper_vs_ours(cells(), width=figures.COLUMN),
        "many columns": charts.paper_vs_ours(
            cells(rows=2, columns=12, statistics=("count",))
        ),
        "bars": figures.bars_with_intervals(
            bars(), label="metric", group="level", title="Bars", reference=0.5
        ),
        "narrow bars": figures.bars_with_intervals(
            bars()[:3], label="metric", width=figures.COLUMN
        ),
        "heat map": figures.heatmap(
            bars().pivot(index="metric", columns="level", values="value"), label="r"
        ),
        "scoreboard": charts.scoreboard(board(), {}),
    }


def test_type_is_readable_and_nothing_is_cut_off():
    """Every text has 7 points or more and lies on the page."""
    from matplotlib.text import Text

    for name, fig in drawn().items():
        fig.draw_without_rendering()
        for text in fig.findobj(
            lambda thing: isinstance(thing, Text) and thing.get_text().strip()
        ):
            assert text.get_fontsize() >= 7, f"{name}: {text.get_text()!r}"
        box, (width, height) = fig.get_tightbbox(), fig.get_size_inches()
        assert box.x0 > -0.02 and box.y0 > -0.02, f"{name}: {box}"
        assert box.x1 < width + 0.02 and box.y1 < height + 0.02, (
            f"{name}: {box}, page {width} x {height}"
        )


def test_the_same_figure_gives_the_same_bytes_whatever_matplotlibrc_says():
    import matplotlib as mpl

    small = dict(columns=1, statistics=("pearson",))
    first = figures.render(charts.paper_vs_ours(cells(**small), "Table"))
    with mpl.rc_context(
        {"axes.facecolor": "red", "savefig.bbox": "tight", "axes.edgecolor": "blue"}
    ):
        assert figures.render(charts.paper_vs_ours(cells(**small), "Table")) == first
    other = figures.render(charts.paper_vs_ours(cells(rows=2, **small), "Table"))
    assert other["svg"] != first["svg"] and other["png"] != first["png"]


def test_files_hold_no_date_and_no_foreign_font_and_names_as_they_are():
    drawn = figures.render(
        figures.bars_with_intervals(
            bars().assign(metric=["$x_{1$", "b", "c"] * 2), label="metric"
        )
    )
    svg = drawn["svg"].decode()
    ET.fromstring(svg)
    assert (
        "<dc:date>" not in svg
        and "font-family" not in svg
        and "http://www.w3.org" in svg
        and "$x_{1$" in svg
    )
    assert drawn["png"].startswith(b"\x89PNG") and b"Software" not in drawn["png"]


def test_printed_and_ours_stand_where_they_should():
    fig = charts.paper_vs_ours(cells(rows=2, columns=1, statistics=("accuracy",)))
    ax = fig.axes[0]
    points = {
        tuple(np.round(p, 3))
        for c in ax.collections
        if hasattr(c, "get_offsets")
        for p in c.get_offsets().tolist()
    }
    labels = {
        label.get_text(): tick
        for label, tick in zip(ax.get_yticklabels(), ax.get_yticks(), strict=True)
    }
    for row, ours in (("Metric 0", 0.6), ("Metric 1", 0.5)):
        assert {(0.5, labels[row]), (ours, labels[row])} <= points
    assert "Computed here: lexical metrics 1 of 2 equal" in fig.get_suptitle()


def test_bad_frames_are_refused():
    with pytest.raises(ValueError, match="nothing to draw"):
        charts.paper_vs_ours(cells().iloc[-1:])
    with pytest.raises(ValueError, match="holds no number"):
        figures.bars_with_intervals(bars().assign(value=np.nan), label="metric")
    with pytest.raises(ValueError, match="no finite number"):
        figures.heatmap(bars()[["value"]] * np.nan)
    with pytest.raises(ValueError, match="no printed number"):
        charts.scoreboard(board().assign(printed=0), {})
    with pytest.raises(ValueError, match="no colour 'pink'"):
        figures.color("pink")


@pytest.mark.parametrize(("dots", "pictures"), [(100, 0), (500, 2)])
def test_very_many_dots_are_a_picture_in_the_svg(dots, pictures):
    fig, axes = figures.new(3, 2, 1, 2)
    for ax in axes:
        for y in range(3):  # neighbours share one picture
            ax.scatter(np.linspace(0, 1, dots), np.full(dots, y), s=5)
        ax.plot([0, 1], [0, 2])
    drawing = ET.fromstring(figures.render(fig)["svg"])
    assert len(drawing.findall(".//{http://www.w3.org/2000/svg}image")) == pictures


def test_a_notebook_shows_the_saved_picture_at_the_size_of_a_page(monkeypatch):
    """Elsewhere nothing is shown, and the figure stays open."""
    import IPython
    import matplotlib.pyplot as plt

    shown = []
    monkeypatch.setattr(
        IPython.display, "display", lambda picture, display_id: shown.append(picture)
    )
    fig, _ = figures.new(3, 2)
    png = figures.render(fig)["png"]
    figures.show(fig, png, "a figure", "here")
    assert not shown and plt.fignum_exists(fig.number)
    monkeypatch.setattr(
        IPython, "get_ipython", lambda: type("Shell", (), {"kernel": None})
    )
    figures.show(fig, png, "a figure", "here")
    assert not plt.fignum_exists(fig.number)
    assert len(shown[0].data) < len(png)
    with Image.open(io.BytesIO(shown[0].data)) as picture:
        assert picture.size == (270, 180)  # 90 dots an inch
    told = shown[0]._repr_mimebundle_()[1]["image/png"]
    assert told == {"width": 270, "alt": "a figure"}
