"""HD-Eval: relations of its printed numbers."""

from __future__ import annotations

from nlgeval_lib.papers.audit.relations.relation import Relation

SAID = "text_claims"
BOTH = ("pearson", "spearman")
SUMMARY = ("coherence", "consistency", "fluency", "relevance")
DIALOGUE = ("naturalness", "coherence", "engagingness", "groundedness")
NN = ("25% data | HD-Eval-NN", "50% data | HD-Eval-NN")
BLOCKS = {
    "table_06": [f"{share} data | Llama2-{size}-Chat" for share in ("50%", "80%") for size in ("7B", "13B")],
    "table_07": [f"{share} data | Llama2-{size}-Chat" for share in ("20%", "50%") for size in ("7B", "13B", "70B")],
}


def gain(table: str, claim: str, column: str, statistic: str, compare: str = "=", note: str = "") -> Relation:
    """A gain over GPT-4 Eval that the text tells."""
    cells = {"new": (table, NN[1], column, statistic), "old": (table, "GPT-4 Eval", column, statistic)}
    options = dict(printed=(SAID, claim), formula="100 * (new / old - 1)", cells=cells, compare=compare,
                   words=f"percent gain, {column}, {statistic}")  # fmt: skip
    return Relation("formula", table, options, note)


def loss(statistic: str) -> Relation:
    """The loss with half of the training data, on data-to-text."""
    cells = {"less": ("table_03", NN[0], "average", statistic), "all": ("table_03", NN[1], "average", statistic)}
    return Relation(
        "formula", "table_03",
        dict(printed=(SAID, "section 3.2: loss on data-to-text with half of the training data (around)"),
             formula="100 * (1 - less / all)", cells=cells, words=f"percent lost, {statistic}"),
        "the text says around",
    )  # fmt: skip


def repeated(table: str, source: str, row: dict[str, str], column: dict[str, str]) -> Relation:
    """Rows of one table that another prints under other names: name here -> name there."""
    return Relation(
        "printed twice", table,
        dict(source=source, rename=dict(row=row, column=column), only=dict(row=list(row), column=list(column))),
    )  # fmt: skip


SOURCES = (("table_01", "average", "SummEval"), ("table_02", "average", "TopicalChat"), ("table_03", "SFHOT", "SFHOT"))
RELATIONS = [
    *(
        relation
        for table, parts in (("table_01", SUMMARY), ("table_02", DIALOGUE), ("table_03", ("SFRES", "SFHOT")))
        for relation in (
            Relation("bounds", table), Relation("summary", table, dict(result="average", parts=parts)),
        )
    ),
    gain("table_01", "section 3.2: Pearson gain over GPT-4 Eval, average on SummEval", "average", "pearson"),
    *(
        gain("table_01", "section 3.2: Pearson gain over GPT-4 Eval, SummEval coherence and fluency (over)", column,
             "pearson", ">")
        for column in ("coherence", "fluency")
    ),
    *(
        relation
        for statistic in BOTH
        for relation in (
            gain("table_02", "section 3.2: Pearson and Spearman gain over GPT-4 Eval, average on Topical-Chat (over)",
                 "average", statistic, ">"),
            gain("table_03", "section 3.2: Pearson and Spearman gain over GPT-4 Eval on data-to-text (more than)",
                 "average", statistic, ">"),
            loss(statistic),
        )
    ),
    Relation("bounds", "table_04"),
    *(repeated("table_04", table, {"50% data | w/o Layer 1,2,3": "GPT-4 Eval"}, {here: there})
      for table, there, here in SOURCES),
    *(repeated("table_04", table, {NN[1]: NN[1]}, {here: there}) for table, there, here in SOURCES),
    Relation("bounds", "table_05"),
    *(repeated("table_05", table, {name: name for name in NN}, {here: there}) for table, there, here in SOURCES),
    Relation("printed twice", "table_05", dict(source="table_04")),
    *(
        Relation(
            "percent change", table,
            dict(result=f"{block} | Gain (%)", new=[f"{block} | +HD-Eval-RF", f"{block} | +HD-Eval-NN"], old=block,
                 statistics={f"gain_percent_{name}": name for name in BOTH}),
        )
        for table, blocks in BLOCKS.items() for block in blocks
    ),
    Relation("bounds", "table_06"),
    Relation("bounds", "table_07"),
    Relation("ranks of scores", "table_08", dict(first=0)),
    Relation("bounds", "table_09"),
    Relation("summary", "table_09", dict(
        result="Average Human-Human corr.", parts=("Expert1-Expert2", "Expert1-Expert3", "Expert2-Expert3"),
        axis="row")),
    repeated("table_09", "table_01", {"HD-Eval (Ours) - Average of Human": NN[1]}, {name: name for name in SUMMARY}),
    *(
        Relation("said again", SAID, dict(keys=[(a, column, statistic), (b, column, statistic)]))
        for a, b, column, statistic in (
            ("section 3.1: maximum layers", "appendix C.2: maximum layers", "none", "setting"),
            ("section 4.2: smallest share of training data",
             "section 4.2: share of training data that suffices for HD-Eval-NN", "figure_04", "percent"),
        )
    ),
    Relation("formula", "table_09", dict(
        printed=(SAID, "appendix E: expert raters"), formula="count(pairs)", words="three pairs of raters",
        cells={"pairs": ("table_09", ("Expert1-Expert2", "Expert1-Expert3", "Expert2-Expert3"), "coherence",
                         "pearson")})),
    Relation("formula", "table_02", dict(
        printed=(SAID, "section 3.2: Topical-Chat aspects"), formula="count(aspects)",
        cells={"aspects": ("table_02", "UniEval", DIALOGUE, "pearson")})),
]  # fmt: skip
