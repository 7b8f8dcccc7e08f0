"""What the printed numbers of HD-Eval, SemScore and CoAScore say about each other, contradictions included."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from nlgeval_lib import papers

SUMMARY = ["coherence", "consistency", "fluency", "relevance"]
DIALOGUE = ["naturalness", "coherence", "engagingness", "groundedness"]
COA_DIALOGUE = ["natural", "understandable", "interest", "context"]
SETS = ["SummEval", "TopicalChat", "SFHOT"]
COEFFICIENTS = ["pearson", "spearman"]


def numbers(paper: str, table: str) -> pd.Series:
    return papers.load(paper, table).set_index(["row", "column", "statistic"])["number"].sort_index()


def claims(paper: str) -> pd.Series:
    return papers.load(paper, "text_claims").set_index("row")["number"]


@pytest.mark.parametrize(
    ("paper", "table", "columns", "odd"),
    [
        ("hdeval", "table_01", SUMMARY, {("GPT-4 Eval", "pearson"): (0.5355, 0.538)}),
        ("hdeval", "table_02", DIALOGUE, {}),
        (
            "hdeval", "table_03", ["SFRES", "SFHOT"],
            {
                ("ROUGE-2", "spearman"): (0.0575, 0.051),
                ("ROUGE-L", "pearson"): (0.0535, 0.063),
                ("ROUGE-L", "spearman"): (0.0525, 0.043),
            },
        ),
        ("coascore", "table_03", SUMMARY, {}),
        ("coascore", "table_04", COA_DIALOGUE, {}),
    ],
)  # fmt: skip
def test_a_printed_average_is_the_mean_of_its_row(paper, table, columns, odd):
    """Cells and mean are rounded, so the two may be a full unit apart; `odd` is (mean, printed) beyond that."""
    wide = numbers(paper, table).unstack("column")
    gap = (wide[columns].mean(axis=1) - wide["average"]).abs()
    found = {
        key: (round(wide.loc[key, columns].mean(), 4), wide.loc[key, "average"]) for key in gap[gap > 0.00101].index
    }
    assert found == odd


def test_hdeval_prints_the_same_result_the_same_way_but_twice():
    """The summary rows recur in Tables 1 to 5 and 9; two of the repeated numbers differ."""
    one, two, three, four, five, nine = (numbers("hdeval", f"table_0{n}") for n in (1, 2, 3, 4, 5, 9))
    pairs = []
    for coefficient in COEFFICIENTS:
        for share in ("25%", "50%"):
            row = f"{share} data | HD-Eval-NN"
            sources = ((one, "average", "SummEval"), (two, "average", "TopicalChat"), (three, "SFHOT", "SFHOT"))
            pairs += [((row, b, coefficient), t[row, a, coefficient], five[row, b, coefficient]) for t, a, b in sources]
        row = "50% data | HD-Eval-NN"
        pairs += [
            ((row, name, coefficient), four[row, name, coefficient], five[row, name, coefficient]) for name in SETS
        ]
        bare = "50% data | w/o Layer 1,2,3"
        sources = ((one, "average", "SummEval"), (two, "average", "TopicalChat"), (three, "SFHOT", "SFHOT"))
        pairs += [
            ((bare, b, coefficient), t["GPT-4 Eval", a, coefficient], four[bare, b, coefficient]) for t, a, b in sources
        ]
        ours = "HD-Eval (Ours) - Average of Human"
        pairs += [((ours, a, coefficient), one[row, a, coefficient], nine[ours, a, coefficient]) for a in SUMMARY]
    assert len(pairs) == 32
    assert {key: (first, second) for key, first, second in pairs if first != second} == {
        ("25% data | HD-Eval-NN", "TopicalChat", "pearson"): (0.597, 0.591),
        ("HD-Eval (Ours) - Average of Human", "consistency", "spearman"): (0.451, 0.457),
    }


def test_hdeval_expert_agreement_is_the_mean_of_three_pairs():
    wide = numbers("hdeval", "table_09").unstack(["column", "statistic"])
    pairs = wide.loc[["Expert1-Expert2", "Expert1-Expert3", "Expert2-Expert3"]].mean()
    assert ((pairs - wide.loc["Average Human-Human corr."]).abs() <= 0.00101).all()


@pytest.mark.parametrize(("table", "aspects"), [("table_06", DIALOGUE), ("table_07", SUMMARY)])
def test_hdeval_gains_are_those_of_one_aggregator_a_block(table, aspects):
    """Each gain is one aggregator over the bare judge; in one block not the one with the better average."""
    printed = numbers("hdeval", table)
    blocks = [row.removesuffix(" | Gain (%)") for row in printed.index.unique("row") if row.endswith("Gain (%)")]
    not_best = []
    for block in blocks:
        cells = [(aspect, coefficient) for aspect in aspects for coefficient in COEFFICIENTS]
        gain = np.array([printed[f"{block} | Gain (%)", a, f"gain_percent_{c}"] for a, c in cells])
        bare = np.array([printed[(block, *cell)] for cell in cells])
        runs = {
            name: np.array([printed[(f"{block} | +HD-Eval-{name}", *cell)] for cell in cells]) for name in ("RF", "NN")
        }
        used = [name for name, run in runs.items() if np.allclose(100 * (run / bare - 1), gain, atol=0.0501, rtol=0)]
        assert len(used) == 1, block
        if runs[used[0]].mean() < max(run.mean() for run in runs.values()):
            not_best.append(block)
    assert not_best == (["80% data | Llama2-7B-Chat"] if table == "table_06" else [])


def test_hdeval_llama_engagingness_repeats_across_models():
    """Both Llama-2 judges print one pair in each half; at 50% data it is GPT-4 Eval's pair of Table 2."""
    six, two = numbers("hdeval", "table_06"), numbers("hdeval", "table_02")
    for share in ("50%", "80%"):
        small, large = (six[f"{share} data | Llama2-{size}-Chat", "engagingness"].tolist() for size in ("7B", "13B"))
        assert small == large
    assert six["50% data | Llama2-7B-Chat", "engagingness"].tolist() == two["GPT-4 Eval", "engagingness"].tolist()


def test_hdeval_case_ranks_follow_from_its_scores():
    wide = numbers("hdeval", "table_08").unstack("statistic")
    for _, judge in wide.groupby("column"):
        assert (stats.rankdata(-judge["score"], method="min") - 1 == judge["rank"]).all()


def test_hdeval_gains_in_the_text_hold_but_one():
    said = claims("hdeval")
    one, two, three = (numbers("hdeval", f"table_0{n}") for n in (1, 2, 3))

    def gain(table, column, coefficient="pearson", new="50% data | HD-Eval-NN", old="GPT-4 Eval"):
        return 100 * (table[new, column, coefficient] / table[old, column, coefficient] - 1)

    assert round(gain(one, "average")) == said["section 3.2: Pearson gain over GPT-4 Eval, average on SummEval"]
    over = said["section 3.2: Pearson gain over GPT-4 Eval, SummEval coherence and fluency (over)"]
    assert gain(one, "coherence") > over and gain(one, "fluency") > over
    over = said["section 3.2: Pearson and Spearman gain over GPT-4 Eval, average on Topical-Chat (over)"]
    assert all(gain(two, "average", coefficient) > over for coefficient in COEFFICIENTS)
    over = said["section 3.2: Pearson and Spearman gain over GPT-4 Eval on data-to-text (more than)"]
    assert all(gain(three, "average", coefficient) > over for coefficient in COEFFICIENTS)
    half = dict(new="25% data | HD-Eval-NN", old="50% data | HD-Eval-NN")
    about = said["section 3.2: loss on data-to-text with half of the training data (around)"]
    losses = [round(-gain(three, "average", coefficient, **half), 1) for coefficient in COEFFICIENTS]
    assert about == 3 and losses == [3.3, 4.6]


def test_semscore_ranks_are_permutations():
    wide = numbers("semscore", "table_02").unstack("column")
    for name in wide:
        ranks = wide[name].dropna()
        assert sorted(ranks) == list(range(1, len(ranks) + 1))
        assert len(ranks) == (11 if name == "G-Eval-4" else 12)


def test_semscore_tau_follows_from_the_ranks_but_for_two():
    wide = numbers("semscore", "table_02").unstack("column")
    tau = numbers("semscore", "table_03").xs("kendall", level="statistic").droplevel("column")
    odd = {}
    for name in wide.columns.drop("Human"):
        both = wide[["Human", name]].dropna()
        computed = stats.kendalltau(both["Human"], both[name]).statistic
        if not papers.agrees(computed, f"{tau[name]:.3f}"):
            odd[name] = (round(computed, 3), tau[name])
    assert odd == {"BLEU": (0.576, 0.667), "G-Eval-4": (0.818, 0.855)}


def test_semscore_repeats_its_main_rows():
    three, four = numbers("semscore", "table_03"), numbers("semscore", "table_04")
    for name in ("SemScore", "BERTScore"):
        assert four[name].tolist() == three[name].tolist()


def test_semscore_task_values_are_tau_b_of_four_models():
    """With n pairs, a tied in one and b in the other, tau-b is an integer over sqrt((n - a)(n - b))."""

    def possible(models):
        n = models * (models - 1) // 2
        return {f"{k / np.sqrt((n - a) * (n - b)):.3f}" for a in range(n) for b in range(n) for k in range(n + 1)}

    printed = papers.load("semscore", "table_05")
    four, three = possible(4), possible(3)
    for name, group in printed.groupby("row"):
        assert {f"{value:.3f}" for value in group["number"]} <= (three if name == "G-Eval-4" else four)


def test_coascore_tables_repeat_each_other_but_for_one_cell():
    tables = {n: numbers("coascore", f"table_{n:02d}") for n in (2, 3, 4, 5, 6, 7, 12, 13, 14)}
    overall = tables[2].xs("TopicalChat", level="column", drop_level=False).rename({"TopicalChat": "overall"})
    known = pd.concat([tables[12], tables[13], overall])
    odd, shared = {}, 0
    for repeated, source in ((3, known), (4, known), (5, known), (6, tables[2])):
        both = pd.concat([tables[repeated], source], axis=1, join="inner", keys=["here", "there"])
        shared += len(both)
        odd |= {(repeated, *key): tuple(row) for key, row in both.iterrows() if row["here"] != row["there"]}
    assert shared == 36 + 36 + 20 + 9
    assert odd == {(3, "BERTScore", "relevance", "spearman"): (0.361, 0.362)}
    assert tables[7].equals(tables[14])
