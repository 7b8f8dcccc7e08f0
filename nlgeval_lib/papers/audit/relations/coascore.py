"""CoAScore: relations of its printed numbers."""

from __future__ import annotations

from nlgeval_lib.papers.audit.relations.relation import Relation

SAID = "text_claims"
SUMMARY = ("coherence", "consistency", "fluency", "relevance")
DIALOGUE = ("natural", "understandable", "interest", "context")
ROWS = ("LLMScore", "CoAScore (n=5)", "CoAScore (n=10)", "CoAScore (n=20)")

RELATIONS = [
    *(Relation("bounds", table) for table in
      ("table_02", "table_03", "table_04", "table_05", "table_06", "table_12", "table_13")),
    Relation("summary", "table_03", dict(result="average", parts=SUMMARY)),
    Relation("printed twice", "table_03", dict(source="table_12", only=dict(column=SUMMARY))),
    Relation("summary", "table_04", dict(result="average", parts=DIALOGUE)),
    Relation("printed twice", "table_04", dict(source="table_13", only=dict(column=DIALOGUE))),
    Relation("printed twice", "table_05", dict(source="table_13", only=dict(row=ROWS, column=DIALOGUE))),
    Relation("printed twice", "table_05", dict(source="table_04", only=dict(row=ROWS, column=DIALOGUE))),
    Relation("printed twice", "table_05", dict(
        source="table_02", only=dict(row=ROWS, column="overall"), rename={"column": {"overall": "TopicalChat"}})),
    Relation("printed twice", "table_06", dict(source="table_02", only=dict(row=ROWS[1:]))),
    Relation("printed twice", "table_07", dict(source="table_14")),
    *(
        Relation("number of rows", "table_01", dict(printed=(SAID, row), table="table_01"))
        for row in ("abstract: tasks", "section 1: data sets", "section 4.1: data sets")
    ),
    Relation("said again", SAID, dict(keys=[("abstract: aspects", "table_01", "count"),
                                            ("section 1: aspects", "table_01", "count")])),
    *(
        Relation("number of rows", table, dict(printed=(SAID, row), table=table, axis="column", without=without))
        for row, table, without in (
            ("Table 2 caption: tasks", "table_02", ()),
            ("section 4.5: data sets of overall quality", "table_02", ()),
            ("Table 3 caption: aspects", "table_03", ("average",)),
            ("Table 4 caption: aspects", "table_04", ("average",)),
            ("section 4.6: Topical-Chat aspects", "table_05", ()),
            ("section 4.1: SummEval aspects", "table_12", ()),
            ("section 4.1: Topical-Chat aspects besides overall quality", "table_13", ()),
        )
    ),
]  # fmt: skip
