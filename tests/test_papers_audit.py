"""The audit: every rule on invented tables, clean and with a fault planted, and what it finds in the five papers."""

from __future__ import annotations

import itertools
import sys
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import needs
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nlgeval_lib import papers
from nlgeval_lib.papers.audit import CONTRADICTS, HOLDS, ROUNDED, RULES, UNTOLD, VERDICTS, Quantity, relations
from nlgeval_lib.papers.audit import attainable as can
from nlgeval_lib.papers.audit import cells as q
from nlgeval_lib.papers.audit import findings as check
from nlgeval_lib.papers.audit.cells import Tables
from nlgeval_lib.report.output import public_data

CONTRADICTIONS = Path(__file__).parent / "cases" / "audit_contradictions.csv"


def table(rows: dict[str, dict[str, str]], statistic: str = "score") -> pd.DataFrame:
    """An invented table: row -> column -> printed; a column "name :: statistic" has its own statistic."""
    cells = []
    for row, line in rows.items():
        for column, text in line.items():
            name, _, own = column.partition(" :: ")
            cells.append((row, name, own or statistic, text))
    return pd.DataFrame(cells, columns=["row", "column", "statistic", "printed"])


def of(frame: pd.DataFrame | None = None, marked: list[tuple[str, ...]] | None = None, **more: pd.DataFrame) -> Tables:
    """Invented tables of a paper: the first is "t", others by name; `marked`: rows of marks of "t"."""
    marks = pd.DataFrame([("t", *one) for one in marked or []], columns=["table", "row", "column", "statistic", "mark"])
    return Tables(({"t": frame} | more).__getitem__, marks)


def run(rule: str, tables: Tables, *args, **options) -> list[q.Finding]:
    return list(RULES[rule](tables, *args, **options))


def verdicts(found: list[q.Finding]) -> list[str]:
    return [one.verdict for one in found]


# --- intervals


def test_what_a_printed_number_stands_for():
    assert Quantity.printed("0.361") == Quantity(Fraction("0.361"), Fraction("0.3605"), Fraction("0.3615"))
    assert Quantity.printed("20K", exact=True).low == 19500  # rounded although a count
    assert Quantity.printed("1,234", exact=True) == Quantity.exactly(1234)
    assert Quantity.printed("1,234").high == Fraction("1234.5")
    with pytest.raises(ValueError, match="no single number"):
        Quantity.printed("3 to 4")
    assert Quantity.exactly(np.float64(0.1)).face == Fraction("0.1")


values = st.decimals("-50", "50", places=4)
places = st.integers(0, 3)


def shown(value: Decimal, digits: int, mode: str = ROUND_HALF_UP) -> str:
    return str(value.quantize(Decimal(1).scaleb(-digits), rounding=mode))


@given(values, values, places, st.sampled_from(["+", "-", "*", "/"]))
def test_an_interval_holds_every_result_of_the_unrounded_numbers(a, b, digits, sign):
    one, two = Quantity.printed(shown(a, digits)), Quantity.printed(shown(b, digits))
    x, y = Fraction(a), Fraction(b)
    if sign == "/":
        if two.low <= 0 <= two.high:
            with pytest.raises(ZeroDivisionError):
                one / two
            return
        got, true = one / two, x / y
    else:
        got, true = {"+": (one + two, x + y), "-": (one - two, x - y), "*": (one * two, x * y)}[sign]
    assert got.low <= true <= got.high and got.low <= got.face <= got.high


@given(st.lists(values, min_size=1, max_size=6), places, st.sampled_from([ROUND_HALF_UP, ROUND_HALF_EVEN]))
def test_a_rounded_mean_of_the_unrounded_never_contradicts(parts, digits, mode):
    true = sum(parts) / len(parts)
    line = {f"c{i}": shown(part, digits, mode) for i, part in enumerate(parts)} | {"mean": shown(true, digits, mode)}
    (found,) = run("summary", of(table({"r": line})), "t", "mean", list(line)[:-1])
    assert found.verdict != CONTRADICTS


@given(st.lists(values, min_size=1, max_size=6), places, st.integers(2, 40), st.sampled_from([-1, 1]))
def test_a_mean_two_units_off_always_contradicts(parts, digits, off, sign):
    unit = Decimal(1).scaleb(-digits)
    wrong = sum(Decimal(shown(part, digits)) for part in parts) / len(parts) + sign * off * unit
    line = {f"c{i}": shown(part, digits) for i, part in enumerate(parts)} | {"mean": shown(wrong, digits)}
    (found,) = run("summary", of(table({"r": line})), "t", "mean", list(line)[:-1])
    assert found.verdict == CONTRADICTS


@pytest.mark.parametrize(
    ("printed", "expected"), [("0.24", HOLDS), ("0.25", ROUNDED), ("0.23", CONTRADICTS), ("0.26", CONTRADICTS)]
)
def test_three_verdicts_on_a_mean_of_a_third(printed, expected):
    """0.24, 0.24, 0.25 have the mean 0.24333, which lies from 0.23833 to 0.24833 before rounding."""
    (found,) = run(
        "summary", of(table({"r": {"a": "0.24", "b": "0.24", "c": "0.25", "mean": printed}})), "t", "mean", "abc"
    )
    assert found.verdict == expected
    assert (found.recomputed, found.low, found.high) == pytest.approx((0.73 / 3, 0.715 / 3, 0.745 / 3))


@given(st.decimals("-9", "9", places=2), st.decimals("-9", "9", places=2))
def test_figures_printed_twice_to_the_same_digits_must_be_equal(a, b):
    assert (q.same(Quantity.printed(str(a)), Quantity.printed(str(b))) == HOLDS) == (a == b)
    assert q.same(Quantity.printed(str(a)), Quantity.printed(str(b))) in (HOLDS, CONTRADICTS)


def test_figures_printed_twice_to_other_digits():
    p = Quantity.printed
    assert q.same(p("0.36"), p("0.361")) == q.same(p("0.36"), p("0.365")) == ROUNDED
    assert q.same(p("0.36"), p("0.366")) == CONTRADICTS
    assert q.same(p("42K"), p("42,484", exact=True)) == ROUNDED
    assert q.same(p("42K"), p("42,501", exact=True)) == CONTRADICTS


def test_an_end_point_is_reached_by_exact_numbers_only():
    """2.51 lies from 2.50 to 2.52, and 2.50 may be rounded to 2; but 2 and 3 are two numbers."""
    p = Quantity.printed
    assert q.verdict(p("2"), p("21.58") - p("19.07")) == ROUNDED
    assert q.verdict(p("2"), p("21.59") - p("19.07")) == q.same(p("2"), p("3")) == CONTRADICTS
    assert q.verdict(p("2"), p("21.575") - p("19.07")) == ROUNDED
    assert q.verdict(p("2"), Quantity.exactly(Fraction(5, 2))) == HOLDS
    third = Quantity(Fraction(3), Fraction(5, 2), Fraction(7, 2))
    assert q.verdict(p("2"), third) == ROUNDED and q.verdict(p("2.5", exact=True), third) == ROUNDED
    scores = table({name: {"j :: score": score, "j :: rank": rank} for name, score, rank in
                    (("a", "2.1", "1"), ("b", "2.0", "1"))})  # fmt: skip
    assert verdicts(run("ranks of scores", of(scores), "t")) == [HOLDS, CONTRADICTS]


# --- values


def test_totals_and_the_lines_that_print_them():
    frame = table(
        {"a": {"x": "3", "y": "4", "all": "7"}, "b": {"x": "5", "y": "6", "all": "12"}, "c": {"x": "1"}}, "count"
    )
    assert verdicts(run("summary", of(frame), "t", "all", ["x", "y"], "total")) == [HOLDS, CONTRADICTS]
    assert run("summary", of(frame), "t", "all", ["x", "y"], "total", only="score") == []
    down = of(table({"x": {"c": "3"}, "y": {"c": "4"}, "Total": {"c": "8"}}, "count"))
    assert verdicts(run("summary", down, "t", "Total", ["x", "y"], "total", "row")) == [CONTRADICTS]
    with pytest.raises(ValueError, match=r"nearest: .*Total"):
        run("summary", down, "t", "total", ["x", "y"], axis="row")


def gains(**line: str) -> Tables:
    """Two old rows, two of ours, and what is printed as the gain in three columns."""
    return of(
        table(
            {
                "old 1": {"a": "0.10", "b": "0.30", "c": "0.12"}, "old 2": {"a": "0.20", "b": "0.20", "c": "0.10"},
                "small": {"a": "0.50", "b": "0.40", "c": "0.50"}, "large": {"a": "0.45", "b": "0.60", "c": "0.40"},
                "gain": {f"{name} :: difference": text for name, text in line.items()},
            }
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "said", "expected"),
    [
        (dict(a="0.25", b="0.30", c="0.28"), "large", [HOLDS, HOLDS, HOLDS]),
        (dict(a="0.30", b="0.30", c="0.38"), "better", [HOLDS, HOLDS, HOLDS]),
        # no one reading gives all three: a is the larger model's, c the better one's; the first of two equals is taken
        (dict(a="0.25", b="0.30", c="0.38"), "large", [HOLDS, HOLDS, CONTRADICTS]),
    ],
)
def test_differences_have_one_reading_a_table(line, said, expected):
    readings = {"large": ["large"], "better": ["small", "large"]}
    found = run("difference", gains(**line), "t", {"gain": ["old 1", "old 2"]}, readings, "score")
    assert verdicts(found) == expected and all(one.relation.startswith(said) for one in found)
    assert found[1].note == "" and "gives 0." in found[2].note  # both readings agree on b


def test_a_difference_cut_off_is_told():
    frame = table({"n": {"a": "8.91"}, "o": {"a": "3.20"}, "d": {"a :: difference": "+5"}})
    (found,) = run("difference", of(frame), "t", {"d": ["o"]}, {"": ["n"]}, "score")
    assert (found.verdict, found.note) == (CONTRADICTS, "cut off, not rounded")


def test_percent_changes_are_of_one_row_and_of_the_best():
    frame = of(table(
        {
            "old": {"a": "0.200", "b": "0.400", "z": "0.01"}, "one": {"a": "0.300", "b": "0.300", "z": "0.1"},
            "two": {"a": "0.100", "b": "0.700", "z": "0.1"},
            "gain": {"a :: gain": "50.0", "b :: gain": "-25.0", "z :: gain": "900"},
            "best": {"a :: gain": "-50.0", "b :: gain": "75.0"}, "wrong": {"a :: gain": "50.0", "b :: gain": "75.9"},
        }
    ))  # fmt: skip
    of_one = run("percent change", frame, "t", "gain", ["two", "one"], "old", {"gain": "score"})
    assert verdicts(of_one) == [HOLDS, HOLDS, HOLDS, CONTRADICTS]
    assert of_one[3].relation == "of the best overall row" and of_one[3].printed == "one"
    of_best = run("percent change", frame, "t", "best", ["two", "one"], "old", {"gain": "score"})
    assert verdicts(of_best) == [HOLDS, HOLDS, HOLDS]
    alone = run("percent change", frame, "t", "gain", ["one"], "old", {"gain": "score"})
    assert verdicts(alone) == [HOLDS, HOLDS, HOLDS]
    mixed = run("percent change", frame, "t", "wrong", ["one", "two"], "old", {"gain": "score"})
    assert verdicts(mixed[:2]).count(CONTRADICTS) == 1  # no one row gives both


def test_repeats_join_renamed_cells():
    here, there = (
        table({"ours": {"x": "0.361", "y": "0.5", "only here": "1"}}),
        table({"Ours": {"x": "0.362", "y": "0.50"}}),
    )
    both = of(here, there=there)
    found = run("printed twice", both, "t", "there", {"row": {"ours": "Ours"}})
    assert verdicts(found) == [CONTRADICTS, HOLDS] and found[0].relation == "same as there"
    assert run("printed twice", both, "t", "there") == []


PLACES = dict(abstract="45", section="45", appendix="54", low="-2", high="2", word="Python", same="Python", other="C++")
SAID = table({row: {"n": text} for row, text in PLACES.items()}, "count")


@pytest.mark.parametrize(
    ("rows", "factors", "expected"),
    [
        (["abstract", "section", "appendix"], (), [HOLDS, CONTRADICTS]),
        (["appendix", "abstract"], (), [CONTRADICTS]),  # the first named counts, not the first printed
        (["low", "high"], (1, -1), [HOLDS]),
        (["high", "low"], (), [CONTRADICTS]),
        (["word", "same", "other"], (), [HOLDS, CONTRADICTS]),
    ],
)
def test_a_figure_or_word_in_several_places(rows, factors, expected):
    found = run("said again", of(text_claims=SAID), "t", [["text_claims", rows]], factors)
    assert verdicts(found) == expected and [one.place for one in found] == rows[1:]


VOTES = table({"total": {"good": "248", "bad": "102"}}, "count")
TEXT = table({
    "share": {"c :: percent": "70.9%"}, "cut": {"c :: percent": "70.8%"}, "over": {"c :: percent": "70%"},
    "votes": {"c :: count": "350"}, "columns": {"c :: count": "2"}, "times": {"c :: count": "496"},
    "gain": {"c :: percent": "143.1%"}, "loss": {"c :: percent": "59%"}, "less": {"c :: count": "146"},
    "names": {"c :: count": "3"}, "list": {"c :: text": "a, b"}, "more": {"c :: text": "b, c"},
})  # fmt: skip
GOOD, BAD, BOTH = ["votes", "total", "good"], ["votes", "total", "bad"], ["votes"]


@pytest.mark.parametrize(
    ("said", "how", "expected"),
    [
        ("share", dict(kind="share", of=[GOOD, BOTH]), HOLDS),
        ("cut", dict(kind="share", of=[GOOD, BOTH]), CONTRADICTS),
        ("over", dict(kind="share", of=[GOOD, BOTH], compare=">"), HOLDS),
        ("votes", dict(kind="total", of=[BOTH]), HOLDS),
        ("votes", dict(kind="total", of=[GOOD]), CONTRADICTS),
        ("times", dict(kind="product", of=[2, GOOD]), HOLDS),
        ("gain", dict(kind="percent", of=[GOOD, BAD]), HOLDS),
        ("loss", dict(kind="loss", of=[BAD, GOOD]), HOLDS),
        ("less", dict(kind="difference", of=[BOTH, BAD]), HOLDS),  # the best of several
        ("columns", dict(kind="columns", of=[BOTH]), HOLDS),
        ("columns", dict(kind="rows", of=[BOTH]), CONTRADICTS),
        ("columns", dict(kind="columns", of=[BOTH], without=["bad"]), CONTRADICTS),
        ("columns", dict(kind="cells", of=[GOOD, BAD]), HOLDS),
        ("names", dict(kind="names", of=[["text", ["list", "more"]]]), HOLDS),
        ("votes", dict(readings={"n": dict(kind="cells", of=[BOTH]), "v": dict(kind="total", of=[BOTH])}), HOLDS),
    ],
)  # fmt: skip
def test_printed_numbers_from_other_cells(said, how, expected):
    (found,) = run("value", of(votes=VOTES, text=TEXT), "t", ["text", said], **how)
    assert found.verdict == expected
    assert (found.note == "cut off, not rounded") == (said == "cut")
    assert "read as v; otherwise n 2" in found.note or "readings" not in how


def test_a_value_of_no_known_kind_or_cell_is_refused():
    both = of(votes=VOTES, text=TEXT)
    with pytest.raises(ValueError, match="nearest"):
        run("value", both, "t", ["text", "share"], kind="total", of=[["votes", "total", "best"]])
    with pytest.raises(ValueError, match="12 cells; the printed number is one"):
        both.one(["text"], words=True)


def test_worked_examples_with_a_text_twice():
    text = table({f"example {k}": {"input :: text": word} for k, word in enumerate(("a b", "c d", "a b", "e"), 1)})
    found = run("worked examples", of(text_claims=text), "t", ["text_claims", "*", "*", "text"], "own inputs")
    assert [(one.place, one.verdict, one.note) for one in found] == [
        ("example 3", CONTRADICTS, "the same in example 1")
    ]
    assert verdicts(run("worked examples", of(text_claims=text.iloc[:2]), "t", ["text_claims"], "own inputs")) == [
        HOLDS
    ]


# --- what can be


@given(st.integers(1, 300), st.data())
def test_every_share_of_n_is_a_multiple_and_its_neighbour_rarely(n, data):
    k = data.draw(st.integers(0, n))
    text = f"{100 * k / n:.3f}"
    (found,) = run("multiple of 1/n", of(table({"r": {"c": text}})), "t", {"c": n})
    assert found.verdict == HOLDS
    off = Decimal(text) + Decimal("0.01")  # less than 1/n, more than the rounding
    (found,) = run("multiple of 1/n", of(table({"r": {"c": str(off)}})), "t", {"c": n})
    assert found.verdict == CONTRADICTS


def test_pooled_shares_count_the_items():
    frame = table(
        {"right": {"a": "66.7", "b": "50.0", "all": "60.0"}, "wrong": {"a": "66.7", "b": "50.0", "all": "58.3"}}
    )
    found = run("pooled share", of(frame), "t", "all", {"a": 3, "b": 2})
    assert verdicts(found) == [HOLDS, CONTRADICTS] and found[0].low == found[0].high == 60
    # 60 % of 3 is no whole count: 1 or 2, so 2 or 3 of all 5
    line = {"a": "60.0", "b": "50.0"}
    frame = table({f"{n} right": line | {"all": text} for n, text in enumerate(("20.0", "40.0", "60.0", "80.0"), 1)})
    found = run("pooled share", of(frame), "t", "all", {"a": 3, "b": 2})
    assert verdicts(found) == [CONTRADICTS, ROUNDED, HOLDS, CONTRADICTS]


def tied(order) -> int:
    return sum(a == b for a, b in itertools.combinations(order, 2))


def weak_orders(n: int) -> list[tuple[int, ...]]:
    return sorted({tuple(stats.rankdata(one, "dense")) for one in itertools.product(range(n), repeat=n)})


@pytest.mark.parametrize("n", [3, 4])
def test_a_few_items_with_ties_in_both_orders_against_brute_force(n):
    """Every two orders of n items, correlated by scipy: the same values, with the same fewest ties."""
    fewest = {}
    for x, y in itertools.product(weak_orders(n), repeat=2):
        if len(set(x)) > 1 and len(set(y)) > 1:
            value, ties = round(float(stats.kendalltau(x, y).statistic), 9), tied(x) + tied(y)
            fewest[value] = min(ties, fewest.get(value, ties))
    for value in np.arange(-1000, 1001) / 1000:
        inside = [ties for at, ties in fewest.items() if abs(at - value) <= 0.0005 + 1e-9]
        ways = can.attains(n, value - 0.0005, value + 0.0005)
        assert list(ways.values()) == ([min(inside)] if inside else []), value


@pytest.mark.parametrize(("n", "variant"), [(6, "b"), (6, "c"), (7, "b")])
def test_tau_with_ties_in_one_order_against_brute_force(n, variant):
    """The distinct arrangements of every pattern of ties against 1..n, by scipy: values, fewest ties, and no other."""
    rng, fewest = np.random.default_rng(n), {}
    for groups in can.partitions(n):
        row = np.repeat(np.arange(len(groups)), groups)
        for at in range(300):
            y = np.sort(row) if at == 0 else rng.permutation(row)
            if len(groups) > 1:
                value = round(float(stats.kendalltau(range(n), y, variant=variant).statistic), 9)
                fewest[value] = min(tied(y), fewest.get(value, 99))
    for value, ties in fewest.items():
        ways = can.attains(n, value - 1e-7, value + 1e-7)
        assert variant in ways and ways[variant] <= ties
    exact = {round((h - 2 * d) / below, 9): t for v, below, t, h in reversed(can.one_sided(n)) if v == variant
             for d in range(h + 1)}  # fmt: skip
    # a few hundred draws of a pattern meet nearly all of its values; none is met that is not said to be attained
    assert set(fewest) <= set(exact) and len(fewest) > 0.8 * len(exact)


@pytest.mark.parametrize(
    ("text", "ties", "expected", "note"),
    [
        ("0.879", False, HOLDS, ""),
        ("0.870", False, UNTOLD, "1 of 66 pairs tied (tau-b)"),
        ("0.840", False, UNTOLD, "1 of 66 pairs tied (tau-b)"),
        ("0.840", True, HOLDS, "1 of 66 pairs tied (tau-b)"),
        ("0.756", False, UNTOLD, "3 of 66 pairs tied (tau-c) or 17 of 66 pairs tied (tau-b)"),
        ("1.01", True, CONTRADICTS, "impossible"),
    ],
)
def test_taus_of_twelve_items(text, ties, expected, note):
    (found,) = run("attainable coefficient", of(table({"a": {"all": text}}, "kendall")), "t", {"a": 12}, ties)
    assert found.verdict == expected and note in found.note


def test_correlations_follow_from_ranks():
    ranks = table({name: {"human": i, "m": j} for name, i, j in zip("abcd", "1234", "1243", strict=True)}, "rank")
    good = table({"m": {"all :: kendall": "0.667"}})
    bad = table({"m": {"all :: kendall": "0.600"}})
    for frame, expected in ((good, HOLDS), (bad, CONTRADICTS)):
        found = run("correlation of ranks", of(frame, ranks=ranks), "t", "ranks", "human", "all")
        assert verdicts(found) == [expected]


def test_ranks_follow_from_scores():
    rows = {name: {"j :: score": score, "j :: rank": rank} for name, score, rank in
            (("a", "3.0", "0"), ("b", "2.0", "1"), ("c", "2.0", "1"), ("d", "1.0", "2"))}  # fmt: skip
    # b and c may differ behind the point, so ranks 1 to 2 are possible; d is fourth whatever its score hides
    assert verdicts(run("ranks of scores", of(table(rows)), "t", 0)) == [HOLDS, HOLDS, HOLDS, CONTRADICTS]
    rows["c"]["j :: rank"] = "2"
    assert run("ranks of scores", of(table(rows)), "t", 0)[2].verdict == ROUNDED


def test_permutations_and_bounds():
    frame = of(table({"a": {"x": "1", "y": "1"}, "b": {"x": "2", "y": "3"}}, "rank"))
    assert verdicts(run("permutation", frame, "t")) == [HOLDS, CONTRADICTS]
    assert verdicts(run("bounds", of(table({"r": {"x": "0.9", "y": "-1.0"}}, "pearson")), "t")) == [HOLDS]
    found = run("bounds", of(table({"r": {"x": "0.9", "y": "1.2"}}, "pearson")), "t")
    assert verdicts(found) == [CONTRADICTS] and found[0].place == "r / y / pearson"
    assert verdicts(run("bounds", of(table({"r": {"x": "90.1"}}, "kendall")), "t", 100)) == [HOLDS]


# --- sentences

LEAGUE = table({
    "old": {"x": "0.30", "y": "0.40", "z": "0.50"}, "base": {"x": "0.20", "y": "0.45", "z": "0.10"},
    "new": {"x": "0.35", "y": "0.45", "z": "0.49"}, "newer": {"x": "0.40", "y": "0.46", "z": "0.51"},
    "said": {"n :: count": "2"}, "rough": {"x": "0.3"}, "fine": {"x": "0.30"},
})  # fmt: skip
TO_X = dict(columns=["x", "y", "z"])


@pytest.mark.parametrize(
    ("what", "expected", "note"),
    [
        (dict(best=["newer"], over=["old", "base"]), HOLDS, ""),
        (dict(rows=["new", "newer"], over=["old"]), CONTRADICTS, "not ahead: new / z / score -0.01"),
        (dict(rows=["new", "newer"], over=["old"], how_many="most"), HOLDS, "not ahead: new / z"),
        (dict(best=["base"], over=["old"], how_many="most"), CONTRADICTS, "base / x"),
        (dict(best=["new"], over=["old"], mean=True), HOLDS, ""),
        (dict(best=["new"], over=["base"]), ROUNDED, "new / y / score +0"),
        (dict(best=["new"], over=["base"], ties=True), HOLDS, ""),
        (dict(best=["new"], over=["base"], ties=False, least=-0.01), HOLDS, ""),
        (dict(best=["newer"], over=["old"], least=0.2), CONTRADICTS, "newer / x"),
        (dict(best=["newer"], least=0.3), HOLDS, ""),  # over 0
        (dict(falling=[["newer", "new", "base"]], columns="x"), HOLDS, ""),
        (dict(falling=[["newer", "new", "old"]]), CONTRADICTS, "new over old / z"),
        (dict(best=["fine"], over=["rough"], columns="x"), ROUNDED, "fine / x"),
        (dict(readings={"z": dict(columns="z"), "x": dict(columns="x")}, best=["new"], over=["old"]), HOLDS,
         "read as x; read as z: not ahead: new / z"),
        (dict(how_many=["t", "said"], best=["new"], over=["old"]), HOLDS, "not ahead: new / z"),
        (dict(how_many=["t", "said"], best=["newer"], over=["old"]), ROUNDED, ""),  # .51 and .50 may be equal
        (dict(how_many=["t", "said"], best=["base"], over=["old"]), CONTRADICTS, "base / x"),
    ],
)  # fmt: skip
def test_what_is_ahead_of_what(what, expected, note):
    (found,) = run("sentence", of(LEAGUE), "t", "ahead", **({} if "readings" in what else TO_X) | what)
    assert found.verdict == expected and (note in found.note if note else found.note == "")


def test_a_sentence_about_rows_that_share_no_column_is_refused():
    with pytest.raises(ValueError, match="no column has"):
        run("sentence", of(LEAGUE), "t", "", best=["said"], over=["old"])


BOLD = table({"a": {"x": "0.5", "y": "0.4"}, "b": {"x": "0.6", "y": "0.4"}, "c": {"x": "0.7", "y": "0.3"}})


@pytest.mark.parametrize(
    ("marked", "options", "expected"),
    [
        ([("c", "x"), ("a", "y")], {}, [HOLDS, HOLDS]),  # one of two equal ones is marked
        ([("c", "x"), ("a", "y"), ("b", "y")], {}, [HOLDS, HOLDS]),
        ([("b", "x"), ("a", "y")], {}, [CONTRADICTS, HOLDS]),
        ([("b", "x"), ("c", "x")], {}, [CONTRADICTS, UNTOLD]),  # one too many; none
        ([("b", "x"), ("c", "y")], {"rank": 2}, [HOLDS, HOLDS]),
        ([("b", "x"), ("a", "y")], {"groups": [["a", "b"]]}, [HOLDS]),  # y has no best of equals
        ([("b", "x")], {"unsure": ["b"]}, [UNTOLD, UNTOLD]),
        ([("a", "x")], {"axis": "column"}, [HOLDS, UNTOLD, UNTOLD]),
    ],
)
def test_bold_is_the_best_and_underline_the_second(marked, options, expected):
    found = run("mark", of(BOLD, [(*one, "score", "bold") for one in marked]), "t", "bold", **options)
    assert verdicts(found) == expected


def drawn(seed: int = 0) -> dict[str, dict[str, str]]:
    rng = np.random.default_rng(seed)
    return {f"r{i}": {f"c{j}": f"{value:.3f}" for j, value in enumerate(line)} for i, line in
            enumerate(rng.uniform(0.1, 0.8, (12, 6)))}  # fmt: skip


def test_copied_cells_are_found_and_chance_is_not():
    rows = drawn()
    assert verdicts(run("copied", of(table(rows)), "t")) == [HOLDS]
    rows["r7"] |= {name: rows["r3"][name] for name in ("c2", "c3", "c4")}
    found = run("copied", of(table(rows)), "t")
    assert [(one.verdict, one.place) for one in found] == [(CONTRADICTS, "r7 / c2"), (CONTRADICTS, "r7 / c3")]
    assert all("as in r3" in one.note for one in found)
    elsewhere = run("copied", of(table(drawn()), more=table({"s": rows["r3"]})), "t", ["more"])
    assert {one.verdict for one in elsewhere} == {CONTRADICTS} and elsewhere[0].place == "r3 / c0"


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_a_number_in_several_rows_is_as_many_coincidences_as_rows_but_one(copies):
    """Three equal rows are three pairs, but two coincidences; p against scipy's Poisson distribution."""
    rows = drawn()
    for k in range(copies):
        rows[f"r{6 + k}"] |= {name: rows["r3"][name] for name in ("c2", "c3")}
    note = run("copied", of(table(rows)), "t")[0].note
    assert f"; {copies} such among" in note
    expected = float(note.split("; ")[2].split()[0])
    p = float(note.rpartition(" ")[2])
    assert p == pytest.approx(stats.poisson.sf(copies - 1, expected), rel=0.2)


FRAME = pd.DataFrame(
    {"input_id": ["a", "a", "b"], "system_id": ["s", "t", "s"], "human": [1.0, 2.0, 4.0], "rater_1": 0}
)


@pytest.mark.parametrize(
    ("said", "how", "expected"),
    [
        ("3", dict(take="outputs"), HOLDS),
        ("4", dict(take="outputs"), CONTRADICTS),
        ("2", dict(take="distinct input_id"), HOLDS),
        ("1", dict(take="columns rater_"), HOLDS),
        ("2", dict(take="mean human", where={"system_id": "t"}), HOLDS),
        ("4", dict(take="mean human", where={"system_id": "t"}), CONTRADICTS),
    ],
)
def test_counts_and_ratings_against_the_data(said, how, expected):
    tables = of(table({"r": {"n": said}}, "count"))
    cell = dict(cell=["t", "r", "n"], dataset="known", **how)
    (found,) = run("data", tables, {"known": FRAME}.get, "t", **cell)
    assert found.verdict == expected
    for absent in (None, lambda name: None):
        (found,) = run("data", tables, absent, "t", **cell)
        assert found.verdict == UNTOLD and found.note == "not checked here: known is not at hand"


def test_malformed_tables_and_relations_are_refused(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="nearest"):
        papers.audit("hdval")
    with pytest.raises(ValueError, match=r"'table_99'; nearest: \['table_09'"):
        papers.audit("hdeval", tables="table_99")
    assert set(papers.audit("hdeval", tables="table_09")["table"]) == {"table_09"}
    assert papers.audit("hdeval", tables=["figure_03"]).empty  # printed, but no relation
    monkeypatch.setattr(sys.modules["nlgeval_lib.papers.audit"], "folder", lambda: tmp_path)
    (tmp_path / "hdeval").mkdir()
    for text, match in (('rule = "averages"', "no rule 'averages'"), ('rule = "@NONE"', "no name '@NONE'")):
        (tmp_path / "hdeval" / "relations.toml").write_text(f"[[relation]]\n{text}\ntable = 't'\n")
        with pytest.raises(ValueError, match=match):
            relations("hdeval")
    (tmp_path / "hdeval" / "relations.toml").write_text(
        "[[relation]]\nrule = 'bounds'\ntable = 'table_01'\nscales = 1\n"
    )
    with pytest.raises(ValueError, match=r"hdeval table_01, rule 'bounds': .*scales"):
        papers.audit("hdeval")


def test_names_and_repetitions_are_written_out(monkeypatch, tmp_path):
    monkeypatch.setattr(sys.modules["nlgeval_lib.papers.audit"], "folder", lambda: tmp_path)
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "relations.toml").write_text("""
names.AB = ["a", "b"]
[[relation]]
rule = "summary"
table = "{t}"
result = "{t}, all"
parts = "{parts}"
each = [{ t = "one", parts = "@AB" }, { t = "two", parts = ["c"] }]
""")
    assert relations("p") == [
        dict(rule="summary", table="one", result="one, all", parts=["a", "b"]),
        dict(rule="summary", table="two", result="two, all", parts=["c"]),
    ]


def test_what_a_relation_says_of_its_findings():
    """Notes and names in one text or place by place; what a paper does not print keeps a finding from contradicting."""
    frame = of(table({"a": {"x": "1", "y": "2", "all": "3"}, "b": {"x": "1", "y": "2", "all": "4"},
                      "c": {"x": "1", "y": "2", "all": "5"}}, "count"))  # fmt: skip
    relation = dict(rule="summary", table="t", result="all", parts=["x", "y"], kind="total")
    place = "b / all / count"
    for said, expected in (
        ({}, [(CONTRADICTS, "", f"t: {place}: total of 2 columns")]),
        (dict(note="so", finding="one"), [(CONTRADICTS, "so", "one")]),
        (dict(note={place: "here"}, finding={place: "one"}), [(CONTRADICTS, "here", "one")]),
        (dict(note={"c / all / count": "there"}), [(CONTRADICTS, "", f"t: {place}: total of 2 columns")]),
        (dict(assumes="z is not printed", finding="one"), [(UNTOLD, "z is not printed", "one")]),
        (dict(assumes={place: "z is not printed"}, finding="one"), [(UNTOLD, "z is not printed", "one")]),
    ):
        a, b, c = check(relation | said, frame)
        assert [(b.verdict, b.note, b.name)] == expected and a.verdict == HOLDS
        assert c.verdict == (UNTOLD if isinstance(said.get("assumes"), str) else CONTRADICTS)
        assert (a.name == b.name == c.name) == isinstance(said.get("finding"), str)


def test_a_cell_that_is_gone_is_named(monkeypatch):
    frame = papers.load("hdeval", "table_09")
    frame.loc[frame["row"] == "Expert1-Expert2", ["printed", "value"]] = "-"
    audits = sys.modules["nlgeval_lib.papers.audit"]
    monkeypatch.setattr(audits, "load", lambda paper, name: frame)
    with pytest.raises(ValueError, match="hdeval table_09, rule 'summary': no row 'Expert1-Expert2' with a number"):
        papers.audit("hdeval", tables="table_09")


# --- the five papers


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    return papers.audit()


def test_what_the_audit_returns(found):
    assert set(found["paper"]) == set(papers.PAPERS) and set(found["verdict"]) == set(VERDICTS)
    assert set(found["rule"]) == set(RULES)
    assert not found.duplicated(["paper", "table", "place", "rule", "relation"]).any()
    numbers = found[found["recomputed"].notna()]
    assert (numbers["allowed_low"] <= numbers["allowed_high"]).all()
    assert (found.loc[found["verdict"] == UNTOLD, "note"] != "").all()
    pd.testing.assert_frame_equal(
        papers.audit("hdeval", CONTRADICTS),
        found[(found["paper"] == "hdeval") & (found["verdict"] == CONTRADICTS)].reset_index(drop=True),
    )


def test_every_numeric_table_is_looked_at(found):
    """Settings, distinct n-grams and single scores obey no relation of their own."""
    seen = set(zip(found["paper"], found["table"], strict=True))
    index = papers.index().query("kind == 'numeric'")
    numeric = set(zip(index["paper"], index["id"], strict=True))
    assert numeric - seen <= {("prometheus", "table_07"), ("semscore", "table_01")}


def test_the_papers_contradict_here_and_nowhere_else(found):
    """Each place in `cases/audit_contradictions.csv` was read in the paper."""
    listed = pd.read_csv(CONTRADICTIONS, dtype=str, keep_default_na=False)
    odd = found[found["verdict"] == CONTRADICTS].drop_duplicates(["paper", "table", "place"], keep="last")
    assert odd[[*listed]].to_numpy().tolist() == listed.to_numpy().tolist()
    totals = found.query("paper == 'prometheus' and rule == 'pooled share'").set_index("place")["verdict"]
    # 149 of 221, with 40 of 59 helpful
    assert totals["LLAMA2-CHAT 13B + COARSE. / HHH ALIGNMENT | Total Avg. / accuracy"] == ROUNDED


def test_what_the_papers_do_not_print_contradicts_nothing(found):
    """References of gold data, rubrics a response, versions of a data set: with another number the digits would fit."""
    rows = found[(found["verdict"] == UNTOLD) & ~found["rule"].isin(["data", "not printed", "mark", "copied"])]
    rows = rows[rows["rule"] != "attainable coefficient"]
    assert rows.groupby("paper")["finding"].nunique().to_dict() == {"prometheus": 2, "tigerscore": 6}
    assert set(rows.loc[rows["table"] == "table_06", "finding"]) >= {"references of MathQA", "references of Instruct"}


def test_one_fact_in_several_rows_is_one_finding():
    needs("summeval", "webnlg2020", "vicuna_bench")
    rows = papers.audit(verdict=CONTRADICTS, data=public_data)
    sizes = rows.groupby(["paper", "finding"]).size()
    assert sizes[sizes > 1].to_dict() == {
        ("coascore", "references of OpenMEVA and BAGEL swapped"): 2,
        ("hdeval", "human ratings beside other summaries"): 7, ("hdeval", "numbers of another row, table_06"): 3,
        ("prometheus", "thousands of rubrics are 1K"): 5,
        ("tigerscore", "70.857 cut off"): 2, ("tigerscore", "8.72 cut off"): 2,
        ("tigerscore", "WebNLG-2020 has 16 systems and 178 inputs"): 7,
    }  # fmt: skip


SWAPPED = [("2.33", 1), ("1.67", 2.67), ("4.00", 3.33), ("3.33", 1.67), ("2.67", 4), ("3.33", 2.33), ("1.00", 3.33)]


def test_what_the_public_data_contradict():
    needs("summeval", "webnlg2020", "vicuna_bench", "wmt22_zhen", "topical_chat", "hhh", "self_instruct")
    rows = papers.audit(data=public_data).query("rule == 'data'")
    wrong = rows[rows["verdict"] == CONTRADICTS]
    assert [(row.paper, row.place, row.printed, round(row.recomputed, 2)) for row in wrong.itertuples()] == [
        ("tigerscore", "D2T / Output Source / count", "18", 16), ("tigerscore", "D2T / # Inputs / count", "179", 178),
        *(("hdeval", f"summary {k} / Human / score", *pair) for k, pair in enumerate(SWAPPED, 1)),
        ("prometheus", "GPT-4 / final score / score", "3", 2),
    ]  # fmt: skip
    assert (papers.audit().query("rule == 'data'")["verdict"] == UNTOLD).all()
