"""SemScore: relations of its printed numbers."""

from __future__ import annotations

from nlgeval_lib.papers.audit.relations.relation import Relation

SAID = "text_claims"
MODELS = 12
OTHERS = ("SemScore", "BERTScore", "ROUGE-L", "BARTScore", "BARTScore_para", "BLEU", "BLEURT", "DiscoScore")
LEFT_OUT = ("G-Eval-4",)  # leaves out the model that is its own judge

RELATIONS = [
    Relation("permutation", "table_02"),
    *(
        Relation("number of rows", "table_02", dict(printed=(SAID, row), table="table_02"))
        for row in ("abstract: instruction-tuned models compared", "section 1: models ranked",
                    "section 3.3: models ranked", "Table 2 caption: worst rank")
    ),
    Relation(
        "number of rows", "table_02",
        dict(printed=(SAID, "section 3.3: metrics ranked"), table="table_02", axis="column", without=("Human",)),
    ),
    *(
        Relation(
            "number of rows", "table_02",
            dict(printed=(SAID, row), table="table_02", axis="column", without=("Human", "SemScore")),
        )
        for row in ("abstract: existing metrics compared", "section 1: existing metrics compared",
                    "section 3: existing metrics compared", "section 5: existing metrics compared")
    ),
    Relation("bounds", "table_03"),
    Relation("correlation of ranks", "table_03", dict(ranks="table_02", against="Human", column="all tasks")),
    Relation("attainable tau", "table_03", dict(n=dict.fromkeys(OTHERS, MODELS) | dict.fromkeys(LEFT_OUT, MODELS - 1))),
    *(
        Relation("attainable tau", "table_03", dict(n={name: MODELS - 1}),
                 "one model is its own judge and left out")
        for name in ("G-Eval-3.5", "G-Eval-3.5-instruct")
    ),
    Relation("bounds", "table_04"),
    Relation("printed twice", "table_04", dict(source="table_03")),
    Relation("attainable tau", "table_04", dict(n=MODELS)),
    Relation("bounds", "table_05"),
    Relation(
        "attainable tau", "table_05", dict(n=dict.fromkeys(OTHERS, 4) | dict.fromkeys(LEFT_OUT, 3), ties=True),
        "four models were rated by the authors; G-Eval-4 leaves one out",
    ),
    Relation("number of rows", "table_06", dict(printed=(SAID, "appendix A.2: examples"), table="table_06")),
    Relation(
        "formula", "table_01",
        dict(printed=("table_01", "example", "ROUGE-L"), formula="n",
             cells={"n": ("table_06", "example 1", "ROUGE-L")}, words="ROUGE-L of the same example in Table 6"),
    ),
    Relation(
        "formula", SAID,
        dict(printed=(SAID, "section 1: models ranked"), formula="earlier + added",
             cells={"earlier": (SAID, "section 1: instruction-tuned GPT-3 versions of the earlier study"),
                    "added": (SAID, "section 1: models added")}),
    ),
    Relation("said again", SAID, dict(keys=[("section 1: models added", "figure_01", "count"),
                                            ("section 2: models added", "figure_01", "count")])),
    Relation("said again", SAID, dict(keys=[("appendix A.2: metrics shown", "table_06", "count"),
                                            ("Table 6 caption: metrics shown", "table_06", "count")])),
]  # fmt: skip
