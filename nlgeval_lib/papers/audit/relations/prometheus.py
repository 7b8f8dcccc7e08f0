"""Prometheus: relations of its printed numbers."""

from __future__ import annotations

from nlgeval_lib.papers.audit.relations.relation import Relation

SAID = "text_claims"
OURS, BASE = "PROMETHEUS 13B", "LLAMA2-CHAT 13B"
PAIRS = {
    "HHH ALIGNMENT | Help.": 59,
    "HHH ALIGNMENT | Harm.": 58,
    "HHH ALIGNMENT | Hon.": 61,
    "HHH ALIGNMENT | Other": 43,
}
TOTAL = "HHH ALIGNMENT | Total Avg."
JUDGES = (
    "STANFORDNLP REWARD MODEL", "ALMOST REWARD MODEL", "LLAMA2-CHAT 7B", "LLAMA2-CHAT 13B", "LLAMA2-CHAT 70B",
    "LLAMA2-CHAT 13B + COARSE.", "GPT-3.5-TURBO-0613", "PROMETHEUS 7B", "PROMETHEUS 13B", "GPT-4-0613",
)  # fmt: skip
PUBLIC = "pairs a category: the public data"


def again(*rows: str, column: str, statistic: str) -> Relation:
    """One figure in several places of the text."""
    return Relation("said again", SAID, dict(keys=[(row, column, statistic) for row in rows]))


def said(table: str, printed: str, formula: str, cells: dict, words: str = "", note: str = "") -> Relation:
    """A number of the text against a formula."""
    return Relation("formula", table, dict(printed=(SAID, printed), formula=formula, cells=cells, words=words), note)


ONE = "FEEDBACK COLLECTION"
COUNTS = {
    "rubrics": ("table_01", ONE, "# Score Rubrics"),
    "instructions": ("table_01", ONE, "# Instructions & Reference Answer", "count"),
    "each": ("table_01", ONE, "# Instructions & Reference Answer", "count_per_rubric"),
    "responses": ("table_01", ONE, "# Responses & Feedback", "count"),
    "answers": ("table_01", ONE, "# Responses & Feedback", "count_per_instruction"),
    "scored": ("table_01", ONE, "# Responses & Feedback", "count_per_score"),
}
RELATIONS = [
    *(
        Relation("formula", "table_01", dict(printed=COUNTS[result], formula=formula, cells=COUNTS))
        for result, formula in (
            ("instructions", "rubrics * each"), ("responses", "instructions * answers"), ("responses", "5 * scored"),
        )
    ),
    *(
        said("table_01", row, name, COUNTS)
        for row, name in (
            ("abstract: score rubrics", "rubrics"), ("abstract: instructions", "instructions"),
            ("abstract: responses and feedback", "responses"), ("Table 1 caption: instructions a rubric", "each"),
            ("Table 1 caption: instructions", "instructions"), ("Table 1 caption: responses and feedback", "responses"),
            ("section 3: instances a score", "scored"), ("section 3.1: rubrics after expansion", "rubrics"),
            ("section 3.1: instructions", "instructions"), ("section 3.1: instructions a rubric", "each"),
            ("section 3.1: responses an instruction", "answers"), ("section 3.1: responses a score", "scored"),
            ("appendix C: rubrics", "rubrics"),
        )
    ),
    *(
        said("figure_04", f"{where}: {name} with human raters", "r", {"r": ("figure_04", judge)})
        for where in ("abstract", "section 1", "section 5.1")
        for name, judge in (
            ("PROMETHEUS", "PROMETHEUS"), ("GPT-4", "GPT-4"),
            ("ChatGPT" if where == "abstract" else "GPT-3.5-Turbo", "GPT-3.5-Turbo"),
        )
    ),
    again(
        "abstract: customized rubrics of the human study", "section 1: customized rubrics of the human study",
        "Figure 4 caption: customized rubrics", "section 5.1: instances of the human study",
        "appendix L: instances a rater", column="figure_04", statistic="count",
    ),
    *(
        said("figure_05", f"{where}: PROMETHEUS preferred over {name}", "share",
             {"share": ("figure_05", f"PROMETHEUS over {name}")})
        for where in ("section 1", "Figure 5 caption", "section 5.1") for name in ("GPT-4", "GPT-3.5-Turbo")
    ),
    said("figure_05", "section 8: PROMETHEUS preferred over GPT-4", "share",
         {"share": ("figure_05", "PROMETHEUS over GPT-4")}),
    again("appendix A.1: raters", "appendix L: raters", column="figure_05", statistic="count"),
    again("appendix A.1: groups of raters", "appendix L: groups of raters", column="figure_05", statistic="count"),
    Relation("bounds", "table_02"),
    *(
        said(
            table, f"section 5.2: gain of {OURS} over its base, {name}", "ours - base",
            {"ours": (table, OURS, column, "pearson"), "base": (table, BASE, column, "pearson")},
            f"{OURS} - {BASE}, pearson", note,
        )
        for table, column, name, note in (
            ("table_02", "SEEN CUSTOMIZED RUBRICS", "seen rubrics", ""),
            ("table_02", "UNSEEN CUSTOMIZED RUBRIC", "unseen rubrics", "0.397 is PROMETHEUS 7B less that base"),
            ("table_03", "VICUNA BENCH", "Vicuna Bench", ""),
            ("table_03", "MT BENCH", "MT Bench", ""),
            ("table_03", "FLASK EVAL", "Flask Eval", ""),
        )
    ),
    Relation("bounds", "table_03"),
    *(
        said(
            "table_04", f"section 6: gain of {OURS} over its base, {name}", "ours - base",
            {"ours": ("table_04", OURS, column), "base": ("table_04", BASE, column)}, f"{OURS} - {BASE}",
        )
        for name, column in (
            ("HHH Alignment", TOTAL), ("MT Bench Human Judgments", "MT BENCH HUMAN JUDG. | Human Preference"),
        )
    ),
    Relation("bounds", "table_04"),
    Relation("multiple of 1/n", "table_04", dict(n=PAIRS | {TOTAL: sum(PAIRS.values())}, row=JUDGES), PUBLIC),
    Relation("pooled share", "table_04", dict(result=TOTAL, n=PAIRS), PUBLIC),
    said("table_05", "appendix A.1: rubrics of FLASK Eval", "sum(types)", {"types": ("table_05", "Flask Eval")}),
    *(
        said(
            "table_05", f"{where}: {what}", "seen + unseen + bench + bench + sum(flask)",
            {"seen": ("table_05", "FEEDBACK BENCH (Seen Rubric)"),
             "unseen": ("table_05", "FEEDBACK BENCH (Unseen Rubric)"),
             "bench": ("table_05", "Vicuna Bench, MT Bench"), "flask": ("table_05", "Flask Eval")},
            note="seen rubrics are printed as 1K",
        )
        for where, what in (
            ("abstract", "customized rubrics of the GPT-4 comparison"),
            ("section 1", "customized rubrics of the GPT-4 comparison"),
            ("section 5.2", "rubrics of the GPT-4 comparison"),
        )
    ),
    said(
        "table_05", "section 5.2: instances of the GPT-4 comparison", "seen + unseen + vicuna + mt + flask",
        {
            "seen": (SAID, "appendix A.1: instructions, seen rubrics"),
            "unseen": (SAID, "appendix A.1: instructions, unseen rubrics"),
            "vicuna": (SAID, "appendix A.1: prompts of Vicuna Bench"),
            "mt": (SAID, "appendix A.1: prompts of MT Bench"), "flask": (SAID, "appendix A.1: prompts of FLASK Eval"),
        },
        note="instructions are printed as 1K",
    ),
    said("table_05", "appendix A.1: seen rubrics", "n", {"n": ("table_05", "FEEDBACK BENCH (Seen Rubric)")}),
    said("table_05", "appendix A.1: unseen rubrics", "n", {"n": ("table_05", "FEEDBACK BENCH (Unseen Rubric)")}),
    said("table_05", "appendix A.1: instructions, seen rubrics", "rubrics * each",
         {"rubrics": (SAID, "appendix A.1: seen rubrics"),
          "each": (SAID, "appendix A.1: instructions a rubric, seen rubrics")}),
    said("table_05", "appendix A.2: rubrics of the coarse baseline", "sum(types)",
         {"types": ("table_05", "Flask Eval")}),
    said("table_05", "appendix F: rubrics of FLASK", "sum(types)", {"types": ("table_05", "Flask Eval")}),
    said("table_05", "appendix A.1: prompts of FLASK Eval", "all - training",
         {"all": (SAID, "appendix F: instructions of FLASK"), "training": (SAID, "appendix F: training instructions")}),
    Relation(
        "printed twice", "table_06",
        dict(source="table_02", only=dict(row="PROMETHEUS 7B"), rename={"column": {
            "FEEDBACK COLLECTION TEST SET | Seen Score Rubric": "SEEN CUSTOMIZED RUBRICS",
            "FEEDBACK COLLECTION TEST SET | Unseen Score Rubric": "UNSEEN CUSTOMIZED RUBRIC"}}),
    ),
    Relation("printed twice", "table_06", dict(
        source="table_03", only=dict(row="PROMETHEUS 7B", column="VICUNA BENCH"))),
    said(SAID, "appendix F: responses of FLASK", "45 * n", {"n": (SAID, "appendix F: instructions of FLASK")},
         "15 models x 3 rubrics x instructions"),
    said(SAID, "appendix F: training responses", "45 * n", {"n": (SAID, "appendix F: training instructions")},
         "15 models x 3 rubrics x instructions"),
    *(
        said("table_08", f"appendix E: batch size, {size}", "n",
             {"n": ("table_08", f"PROMETHEUS {size}", "Batch size")})
        for size in ("7B", "13B")
    ),
    *(
        said("table_09", "appendix E: temperature used", "n", {"n": ("table_09", f"PROMETHEUS {size}", "Temperature")})
        for size in ("7B", "13B")
    ),
    said("table_04", "appendix A.1: pairs of HHH Alignment", str(sum(PAIRS.values())), {}, "pairs in the public data"),
    said("figure_16", "appendix B.4: qualitative examples announced",
         "count(a) + count(b) + count(c) + count(d)",
         {name: (f"figure_{number}", "GPT-4", "final score")
          for name, number in zip("abcd", range(16, 20), strict=True)},
         "examples in Figures 16 to 19"),
]  # fmt: skip
