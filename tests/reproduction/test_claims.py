"""The scoreboard of claims: each kind of test on invented tables, and the claims of
the five papers.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from cli_tools import cases
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nlgeval_lib import files, statistics
from reproduction import papers
from reproduction.papers import claim_sentences, claims, inference
from reproduction.papers.auditing.cells import Cells, Quantity
from reproduction.papers.auditing.sentences import Lead
from reproduction.papers.claims import FAILS, HOLDS, IN_PART, UNTOLD
from reproduction.report import claims_page
from reproduction.study import catalogue

ROOT = Path(__file__).parents[2]
TEXTS = ROOT.parent / "shared" / "papers"
# judges (rows) on three tasks and their average; counts
INVENTED = {
    "ours": {"a": ".50", "b": ".40", "c": ".30", "all": ".40"},
    "theirs": {"a": ".45", "b": ".40", "c": ".35", "all": ".40"},
    "weak": {"a": ".10", "b": ".12", "c": ".05", "all": ".09"},
    "said": {"gain": "25%", "cut": "24.4%"},
}


def read(_: str, table: str) -> pd.DataFrame:
    """The invented table, whatever its paper."""
    cells = [
        (row, column, "percent" if row == "said" else "pearson", text)
        for row, line in INVENTED.items()
        for column, text in line.items()
    ]
    return pd.DataFrame(cells, columns=["row", "column", "statistic", "printed"])


def judged(
    cells="", check="", kind="ahead", inference="", computed=None, lacking="", of=read
):
    row = dict.fromkeys(claims.COLUMNS, "") | {
        "id": "x",
        "paper": "hdeval",
        "claim": "c",
        "table": "t",
    }
    row |= {
        "kind": kind,
        "cells": cells,
        "check": check,
        "inference": inference,
        "lacking": lacking,
    }
    return claims.judge(
        pd.DataFrame([row]), computed={"x": computed or {}}, read=of
    ).iloc[0]


@pytest.mark.parametrize("case", cases("claims"), ids=str)
def test_each_kind_of_check(case):
    """On the invented table: the verdict and what the evidence says, or how a claim
    that cannot be judged is named.
    """
    if "refused" in case:
        with pytest.raises(ValueError, match=case["refused"]):
            judged(**case["claim"])
        return
    one = judged(**case["claim"])
    assert one["verdict"] == case["verdict"] and case["said"] in one["evidence"]


def test_what_no_number_decides_is_told():
    one = judged(kind="run", lacking="a run")
    assert (one["verdict"], one["evidence"], one["decided_by"]) == (
        UNTOLD,
        "a run",
        "the judge's own run",
    )


def test_public_data_decide_by_the_corrected_test_and_a_small_correlation_is_none():
    def found(**ps):
        return {
            name: SimpleNamespace(p=p, first=first, reason="")
            for name, (first, p) in ps.items()
        }

    for computed, verdict in (
        ({}, UNTOLD),
        (found(a=(0.02, 0.6), b=(-0.05, 0.3)), HOLDS),
        (found(a=(0.4, 0.001), b=(0.3, 0.01)), FAILS),
        (
            found(a=(0.4, 0.03), b=(0.3, 0.04)),
            UNTOLD,
        ),  # neither by Holm, and neither small
        (found(a=(0.4, 0.001), b=(0.01, 0.9)), IN_PART),
    ):
        assert (
            judged(kind="public data", computed=computed, lacking="d")["verdict"]
            == verdict
        )


# --- inference from printed numbers


@given(st.floats(0.05, 0.95), st.floats(0.01, 0.9), st.integers(10, 2000))
def test_the_least_correlation_between_judges_is_where_williams_turns(first, lower, n):
    second = first * lower
    least = inference.least_between(first, second, n)
    shared = first * second
    most = shared + math.sqrt((1 - first**2) * (1 - second**2)) - 1e-9
    ps = [
        statistics.williams(first, second, r, n).p
        for r in np.linspace(shared, most, 60)
    ]
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(ps))
    if least == shared:
        assert ps[0] <= 0.05
    elif math.isinf(least):
        assert ps[-1] > 0.05
    else:
        assert statistics.williams(first, second, least, n).p == pytest.approx(
            0.05, abs=1e-6
        )


def pairs(*numbers):
    """(column, ours, theirs) as the tests take them."""
    sides = [
        (column, Quantity.printed(a), Quantity.printed(b)) for column, a, b in numbers
    ]
    return [Lead(column, (column, "pearson"), a, b, a - b) for column, a, b in sides]


def test_williams_in_words():
    near = ("a", ".52", ".50")
    far = ("a", ".80", ".20")
    behind = ("a", ".40", ".50")
    independent = inference.williams(pairs(far), 200)
    assert independent.words.startswith(
        f"{inference.IF_INDEPENDENT}: whatever r 1 of 1"
    )
    needs = inference.williams(pairs(near), 200)
    assert re.match(
        r"needs r >= 0\.\d{3} between the judges: whatever r 0 of 1", needs.words
    )
    both = inference.williams(pairs(far, near), 200)
    says = [one.says for one in both.comparisons]
    assert says == [inference.IF_INDEPENDENT, inference.NEEDS]
    assert both.says == needs.says == inference.NEEDS  # the weakest decides
    for none in (
        inference.williams(pairs(behind), 200),
        inference.williams(pairs(near), {"b": 200}),
    ):
        assert none.words.startswith("no: no cell is ahead") and not none.comparisons
    percent = inference.williams(pairs(("a", "52.00", "50.00")), 200, scale=100)
    assert percent.words[:20] == needs.words[:20]


def test_signs_over_tasks_are_scipys_permutation_test():
    gaps = np.array([0.05, 0.1, -0.02, 0.07, 0.01, 0.03, 0.04])
    exact = stats.permutation_test(
        (gaps,),
        np.sum,
        permutation_type="samples",
        n_resamples=np.inf,
        alternative="two-sided",
    ).pvalue
    assert inference._sign_p(gaps) == pytest.approx(exact)
    told = inference.flips(
        pairs(*((str(k), f"{0.5 + gap:.2f}", "0.50") for k, gap in enumerate(gaps)))
    )
    assert (
        told.words
        == f"{'yes' if exact <= 0.05 else 'no'}: {inference.p_in_words(exact)} over 7 tasks (exact, signs exchanged)"
    )
    assert told.comparisons[0].p == pytest.approx(exact)
    few = inference.flips(pairs(*((k, ".9", ".1") for k in "abcd")))
    assert "fewer than 6 tasks cannot reach .05" in few.words


def test_the_weakest_of_several_rivals_decides():
    def against(name, *theirs):
        lines = [(str(k), ".50", text) for k, text in enumerate(theirs)]
        return inference.flips(pairs(*lines), against=name)

    far = against("far", *[".10"] * 6)
    near = against("near", ".40", ".40", ".55", ".40", ".55", ".40")
    told = inference.each([far, near])
    assert (far.says, near.says, told.says) == (
        inference.YES,
        inference.NO,
        inference.NO,
    )
    assert "against near, the weakest of 2 comparisons" in told.words
    assert [one.name for one in told.comparisons] == ["far", "near"]
    assert told.comparisons[0].p < 0.05 < told.comparisons[1].p


def test_votes_that_print_a_share():
    few, many = (
        inference.preferred(pairs(("", text, "0")), most)
        for text, most in (("58.62%", 30), ("60%", 200))
    )
    p = stats.binomtest(17, 29).pvalue
    assert few.words == f"no: 58.62 % is 29 votes {inference.p_in_words(p)}"
    assert [one.p for one in few.comparisons] == [pytest.approx(p)]
    assert many.says == inference.UNTOLD and many.words.startswith("cannot be told")
    # What decides stands first, whichever share is printed first.
    two = inference.preferred(pairs(("a", "79.57%", "0"), ("b", "58.62%", "0")), 93)
    assert two.says == inference.NO and two.words.startswith("no: 58.62 %")


def test_accuracies_on_the_same_items():
    def told(a, b, n=100):
        return inference.accuracies(pairs(("x", a, b)), {"x": n}).words

    assert told("60.00", "57.00").startswith("no: 3 of 100 more are too few")
    assert told("95.00", "50.00").startswith("yes: 45 of 100 more")
    most = int(re.search(r"at most (\d+) of 100", told("70.00", "58.00"))[1])
    right = [stats.binomtest((d + 12) // 2, d).pvalue <= 0.05 for d in (most, most + 2)]
    assert right == [True, False]
    unknown = inference.accuracies(
        pairs(("x", "95.00", "50.00"), ("y", "60.00", "50.00")), {"x": 100}
    )
    assert unknown.says == inference.UNTOLD
    assert unknown.words.startswith("cannot be told: n of y is not printed; yes: 45")


def test_ranks_of_models_are_exchanged_exactly():
    human = [1, 2, 3, 4, 5]
    one = [1, 2, 3, 4, 5]
    two = [2, 1, 3, 5, 4]
    given = {"h": human, "one": one, "two": two}
    rows = [
        (f"m{k}", name, "rank", str(rank))
        for name, ranks in given.items()
        for k, rank in enumerate(ranks)
    ]
    cells = pd.DataFrame(rows, columns=["row", "column", "statistic", "printed"])
    gap = stats.kendalltau(one, human)[0] - stats.kendalltau(two, human)[0]
    by_hand = []
    for swap in itertools.product((False, True), repeat=5):
        a = [y if s else x for s, x, y in zip(swap, one, two, strict=True)]
        b = [x if s else y for s, x, y in zip(swap, one, two, strict=True)]
        by_hand.append(
            abs(stats.kendalltau(a, human)[0] - stats.kendalltau(b, human)[0])
            >= abs(gap) - 1e-9
        )
    told = inference.models(Cells(cells), "h", "one", ["two", "three"])
    p = np.mean(by_hand)
    assert told.words.startswith(
        f"no: not above two {gap:+.3f}, {inference.p_in_words(p)}; "
        "no ranks are printed of three"
    )
    assert told.comparisons[0] == ("two", inference.NO, pytest.approx(p))
    assert told.comparisons[1].says == inference.UNTOLD


YES, IF_INDEPENDENT, NEEDS, OPEN, NO = inference.ANSWERS


@pytest.mark.parametrize(
    ("comparisons", "words"),
    [
        ([], ""),
        ([("a", NO, 0.3)], "yes (a p = .300)"),
        ([("a", YES, 0.0001)], "no (a p < .001)"),
        # Each is named, and the one that is told from chance does not speak for all.
        (
            [("a", YES, 0.027), ("b", NO, 0.5), ("c", OPEN)],
            "yes (may be chance: b p = .500; cannot be told: c; no chance: a p = .027)",
        ),
        # Of many the one that decides is named.
        (
            [(str(k), YES, 0.01) for k in range(11)] + [("k", NO, 0.4)],
            "yes (k p = .400, which decides of 12)",
        ),
        # Without p they are counted.
        (
            [("a", NEEDS), ("b", IF_INDEPENDENT), ("c", NEEDS)],
            "not known (no chance if rows were independent: 1; "
            "hangs on how far the judges agree: 2)",
        ),
    ],
)
def test_chance_in_words_names_every_comparison(comparisons, words):
    named = [inference.Compared(*one) for one in comparisons]
    says = inference.weakest(named).says if named else ""
    assert claim_sentences.chance(inference.Told(says, "", tuple(named))) == words


def test_a_difference_that_is_called_significant_needs_a_test_that_says_yes():
    cells = "best = ['ours']; over = ['weak']; columns = ['a', 'b', 'c']"
    # whatever its size, the test takes the rows as independent
    for size in (5, 2000):
        one = judged(
            cells, "significant = true", inference=f"test = 'williams'; n = {size}"
        )
        assert one["verdict"] == IN_PART
        assert "said to be significant: " in one["evidence"]
    exact = inference.Told(inference.YES, "yes: p = .016 over 7 tasks")
    assert claims._as_significant(HOLDS, "7 of 7", exact)[0] == HOLDS
    behind = "best = ['weak']; over = ['ours']; columns = ['a', 'b', 'c']"
    one = judged(behind, "significant = true", inference="test = 'williams'; n = 2000")
    assert one["verdict"] == FAILS


@pytest.mark.parametrize(
    ("room", "verdict"), [(0, IN_PART), (0.1, HOLDS), (0.01, IN_PART)]
)
def test_an_approximate_number_has_room(room, verdict):
    cells = "printed = ['t', 'said', 'cut']; of = [24.46, 100]"
    one = judged(cells, f"kind = 'share'; within = {room}")
    assert one["verdict"] == verdict


def test_a_number_that_is_printed_twice_is_repeated_and_not_supported():
    twice = "rule = 'said again'; of = [['t', 'ours', 'b'], ['t', 'theirs', 'b']]"
    assert judged(check=twice)["verdict"] == claims.REPEATED
    differs = twice.replace("'theirs', 'b'", "'theirs', 'c'")
    assert judged(check=differs)["verdict"] == FAILS


def test_a_part_that_stays_open_leaves_a_claim_in_part():
    cells = "best = ['ours']; over = ['weak']; columns = ['a', 'b', 'c']"
    one = judged(cells, "untold = 'd is drawn without a number'")
    assert one["verdict"] == IN_PART
    assert one["evidence"].startswith(
        "cannot be told yet: d is drawn without a number; holds: "
    )


def test_a_lead_may_be_asked_to_be_small():
    cells = "best = ['ours']; over = ['theirs']; columns = 'a'"
    assert judged(cells, "most = 0.05")["verdict"] == HOLDS
    one = judged(cells, "most = 0.02")
    assert one["verdict"] == FAILS
    assert "0.5 against 0.45 (ahead by at most 0.02)" in one["evidence"]
    alone = judged("rows = ['ours']; columns = 'a'", "most = 0.4")
    assert "0.5 against 0.4 (at most)" in alone["evidence"]


def test_readings_of_a_number_are_findings_of_their_own():
    check = (
        "readings = {near = {of = [['t', 'ours', 'a'], ['t', 'theirs', 'b']]}, "
        "far = {of = [['t', 'ours', 'a'], ['t', 'theirs', 'c']]}}; kind = 'percent'"
    )
    one = judged("printed = ['t', 'said', 'gain']", check)
    assert one["verdict"] == IN_PART
    assert one["evidence"].startswith("does not hold: far, ")
    assert "; holds: near, " in one["evidence"]


def test_columns_are_compared_instead_of_rows():
    cells = "rows = ['a', 'b']; over = ['c']; columns = 'ours'"
    assert judged(cells, "axis = 'column'")["verdict"] == HOLDS
    assert (
        judged(cells.replace("ours", "theirs"), "axis = 'column'")["verdict"] == HOLDS
    )
    turned = "rows = ['c']; over = ['a']; columns = 'ours'"
    assert judged(turned, "axis = 'column'")["verdict"] == FAILS


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        ("2 of 2; closest: a / b / r 0.3 against 0.2", "the closest being a, b, r 0.3"),
        ("1 of 4; not: a 1 against 2, b 1 against 3, c 1 against 4", "and 2 more"),
        (
            "does not hold: far, 0 of 1; not: a 1 against 2; holds: 1 of 1; closest: b 2 against 1",
            "Read as “far”, it does not hold: a 1 against 2",
        ),
        ("a run", "A run."),
        ("x, printed 3 (one; two); and 2 more", "X, printed 3 (one; two)."),
    ],
)
def test_the_evidence_in_a_sentence(evidence, words):
    assert words in claim_sentences.sentence(evidence, claims.VERDICTS)


# --- the claims of the five papers


def test_every_claim_was_read_again(listed, board):
    """Beside each claim stand the first reader's verdict, the one that was listed then,
    what is settled, and what the second reading changed; and what was settled is what
    is computed.
    """
    read_again = pd.read_csv(ROOT / "data/claims_reread.csv", keep_default_na=False)
    dropped = read_again["settled"] == "dropped"
    assert (read_again.loc[dropped, "again"] == "dropped").all()
    changed = read_again["again"] != "kept"
    assert (read_again.loc[changed, "why"].str.len() > 20).all()
    standing = read_again[~dropped].reset_index(drop=True)
    assert standing["id"].tolist() == listed["id"].tolist()
    assert {*standing["settled"]} <= {*claims.VERDICTS}
    added = standing["again"] == "added"
    assert (standing.loc[added, ["reading", "listed"]] == "").all(axis=None)
    needs_data = board["kind"] == "public data"
    computed = board.loc[~needs_data, "verdict"].tolist()
    assert standing.loc[~needs_data, "settled"].tolist() == computed
    alike = standing["reading"] == standing["listed"]
    alike &= standing["listed"] == standing["settled"]
    assert (standing.loc[~alike, "why"].str.len() > 20).all()


@pytest.fixture(scope="module")
def listed() -> pd.DataFrame:
    return claims.claims()


@pytest.fixture(scope="module")
def board() -> pd.DataFrame:
    return claims.judge()


def test_every_claim_is_complete(listed):
    assert set(listed["paper"]) == set(papers.PAPERS) and listed["id"].is_unique
    assert len(listed) >= 120
    assert (listed[["id", "place", "claim", "kind"]] != "").all(axis=None)
    assert listed["claim"].str.len().max() <= 200
    decided = listed["lacking"] == ""
    assert (listed.loc[decided, "table"] != "").all()
    assert ((listed["cells"] + listed["check"] != "") == decided).all()
    assert not (decided & listed["kind"].isin(claims.UNDECIDABLE)).any()
    outputs = {entry.id for entry in catalogue.load().outputs}
    assert set(listed["proxy"]) - {""} <= outputs
    runs = listed.loc[listed["kind"] == "run", "lacking"]
    named = {
        name for text in runs for name in re.findall(r"\b[a-z]+_[a-z0-9_]+\b", text)
    }
    assert named <= outputs and runs.str.contains("run").all()


def test_every_claim_names_the_place_of_its_sentence(listed):
    """A section of several paragraphs does not do: it says which."""
    part = re.compile(
        r"abstract|(limitations|sections? \d(\.\d)?|appendix [A-H](\.\d)?)"
        r"(, (paragraph|contribution|item) \d| and \d)*|appendix A\.1, HHH Alignment"
        r"|sections \d and \d|section \d(\.\d)?, (Table|Figure)s? [\d to]+"
        r"|appendix [A-H](\.\d)?, (Table|Figure)s? [\d to]+"
        r"|(Table|Figure) \d+( caption)?"
    )
    for place in listed["place"]:
        for text in place.split("; "):
            assert part.fullmatch(text), place


def test_every_claim_is_judged_from_cells_that_exist(listed, board):
    assert board["id"].tolist() == listed["id"].tolist()
    assert set(board["verdict"]) == set(claims.VERDICTS)
    assert (board["evidence"] != "").all()
    tested = board[board["inference"] != ""]
    assert {*tested["test_says"]} <= {*inference.ANSWERS}
    for says, words in zip(tested["test_says"], tested["inference"], strict=True):
        assert words.startswith(says)
    numbers = claims.counts(board)
    assert numbers["all"].to_dict() == {
        **board["paper"].value_counts(),
        "all": len(board),
    }
    assert (numbers[list(claims.VERDICTS)].sum(axis=1) == numbers["all"]).all()


def test_what_is_known_of_the_papers(board):
    """Verdicts that were worked out by hand."""
    verdicts = board.set_index("claim")["verdict"]
    for start, verdict in (
        (
            "The best metric without references is GPTScore",
            FAILS,
        ),  # 18.60 against BARTScore-cnn's 18.89
        ("It correlates best with people of all metrics", HOLDS),
        ("The correlation falls with every layer", IN_PART),  # 3 of 18 steps rise
        ("Training lifts Pearson by .397", FAILS),  # .860 - .450
        ("With 5, 10 and 20 aspects it is above LLMScore", IN_PART),  # 8 of 36 are not
        ("That drop is significant", UNTOLD),
        # 161 of 350 votes are for "no missing errors", where 70.6 % is printed
        ("In 70.6 % of the analyses no error was found", FAILS),
        # of Table 3's two held-out tasks one is in Table 2's training data
        ("Seven tasks are evaluated, five of them held-in", IN_PART),
        ("Its scores correlate .897 with people", claims.REPEATED),
        ("It is superior on summaries: ahead of all", IN_PART),  # UniEval, fluency
        ("It could be a universal reward model", IN_PART),  # 75.41 against 78.69
    ):
        (found,) = verdicts[verdicts.index.str.startswith(start)]
        assert found == verdict, start
    told = board.set_index("claim")["inference"]
    (best,) = told[told.index.str.startswith("It correlates best with people")]
    assert best.startswith("no: above") and "BERTScore +0.030, p = .500" in best


def test_chance_is_of_the_comparisons_that_a_claim_makes(board):
    """SemScore's lead is told from chance over three metrics, not over the others."""
    chance = board.set_index("id")["chance"]
    assert chance["sem-01"].startswith("yes (may be chance: BERTScore p = .500, ")
    assert "no chance: BARTScore_para p = .027, BLEU p = .031" in chance["sem-01"]
    assert "G-Eval-4 p = 1.000" in chance["sem-01"]
    assert "cannot be told: G-Eval-3.5, G-Eval-3.5-instruct" in chance["sem-01"]
    votes = (
        "58.62 % of 29 votes p = .458, 58.62 % of 58 votes p = .237, "
        "58.62 % of 87 votes p = .133, 58.62 % of 116 votes p = .077"
    )
    assert chance["prom-11"] == f"yes ({votes})"
    assert chance["prom-13"] == (
        f"yes (may be chance: {votes}; no chance: 79.57 % of 93 votes p < .001)"
    )


def test_every_tested_claim_has_its_comparisons(board):
    listed = claims.compared().groupby("id")
    said = board.set_index("id")["test_says"]
    without = said[said != ""].index.difference(list(listed.groups))
    assert (said[without] == inference.UNTOLD).all()
    for claim, part in listed:
        weakest = max(part["says"], key=inference.ANSWERS.index)
        assert said[claim] == weakest
        exact = part[part["p"].notna()]
        assert (exact["says"].eq("yes") <= exact["p"].le(inference.ALPHA)).all()


@pytest.mark.parametrize(
    ("paper", "table", "row", "column", "digits"),
    [
        ("semscore", "table_03", "BERTScore", "all tasks", "0.990"),
        ("hdeval", "table_04", "50% data | w/o Layer 3", "SFHOT", "0.900"),
        ("coascore", "table_12", "LLMScore", "fluency", "0.700"),
        (
            "prometheus",
            "table_04",
            "ALMOST REWARD MODEL",
            "HHH ALIGNMENT | Total Avg.",
            "90.00",
        ),
        ("tigerscore", "table_08", "Single Task", "Summ", "60.00"),
    ],
)
def test_a_changed_cell_changes_verdicts_of_its_paper(
    board, paper, table, row, column, digits
):
    def changed(of_paper: str, name: str) -> pd.DataFrame:
        frame = papers.load(of_paper, name)
        here = frame["row"].eq(row) & frame["column"].eq(column) & (name == table)
        return frame.assign(printed=frame["printed"].mask(here, digits))

    rows = claims.claims().query("paper == @paper and (table == @table or check != '')")
    after = claims.judge(rows, read=changed).set_index("id")["verdict"]
    before = board.set_index("id")["verdict"].loc[after.index]
    assert (after != before).any()
    assert set(rows.set_index("id")["paper"][after != before]) == {paper}


def test_no_claim_is_copied(listed):
    """No eight words in a row as in the text of the paper."""
    if not TEXTS.is_dir():
        pytest.skip("the papers' texts are not here")

    def shingles(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"[a-z0-9.%]+", text.lower())
        return set(zip(*(words[k:] for k in range(8)), strict=False))

    for paper, part in listed.groupby("paper"):
        printed = shingles((TEXTS / f"{paper}.txt").read_text(encoding="utf-8"))
        assert [claim for claim in part["claim"] if shingles(claim) & printed] == []


def test_the_committed_result_and_the_readme_say_what_is_judged(board):
    saved = pd.read_csv(
        ROOT / "results/meta/meta_claims__claims.csv", keep_default_na=False
    )
    same = saved["kind"] != "public data"  # those need the data
    for column in ("id", "claim", "verdict", "evidence", "inference", "chance"):
        assert saved.loc[same, column].tolist() == board.loc[same, column].tolist()
    record = json.loads(
        (ROOT / "results/meta/meta_claims.json").read_text(encoding="utf-8")
    )
    assert record["claims"] == len(saved)


JUDGED = pd.DataFrame(
    [
        ("tigerscore", "It is best. (a)", claims.HOLDS, "Cells of table_07 say 3."),
        ("tigerscore", "It is fast. (b)", claims.FAILS, "Slower in figure_12."),
        ("hdeval", "It is cheap. (c)", claims.IN_PART, "In 1 of 2."),
    ],
    columns=["paper", "claim", "verdict", "sentence"],
).assign(id=["t-1", "t-2", "h-1"], place="abstract", chance="")


def test_what_another_judge_says_stands_beside_its_claim(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "results", lambda: tmp_path)
    assert "with another judge" not in claims_page.rows(JUDGED)
    path = files.located(claims_page.ANOTHER_JUDGE)
    path.parent.mkdir()
    path.write_text("id,answer\nt-2,so it is with Qwen\n")
    shown = claims_page.rows(JUDGED)["with another judge"].tolist()
    assert shown == ["–", "so it is with Qwen", "–"]


def test_the_contents_list_leads_to_a_heading_for_each_group():
    counted = pd.DataFrame({"paper": ["tigerscore"], claims.HOLDS: [1]})
    _, *rest = claims_page.shown(counted, JUDGED)
    contents, *groups = claims_page.grouped(rest)
    targets = re.findall(r"\(#(.+?)\)", contents)
    headings = [line[3:] for line in groups if line.startswith("## ")]
    assert [claims_page.anchor(heading) for heading in headings] == targets
    assert targets == [
        "claims-that-the-printed-tables-do-not-support",
        "tigerscore-all-2-claims",
        "hd-eval-all-1-claims",
    ]
    stands_open, folded = groups[1], groups[3]
    assert "It is fast" in stands_open and "<details>" not in stands_open
    assert folded.startswith("<details>") and "Cells of Table 7 say 3." in folded
