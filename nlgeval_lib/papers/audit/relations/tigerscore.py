"""TIGERScore: relations of its printed numbers."""

from __future__ import annotations

from nlgeval_lib.papers.audit.relations.relation import Relation

TASKS = ("Summ", "Trans", "D2T", "LF-QA", "MathQA", "Instruct", "Story-Gen")
OURS = ("TIGERScore-7B", "TIGERScore-13B")
FREE = (
    "BARTScore-para (src-hypo)", "BARTScore-cnn (src-hypo)", "Llama-2-13b-chat-0-shot", "COMETKiwi", "GPTScore-src",
)  # fmt: skip
BASED = (
    "BLEU", "ROUGE-2f", "InstructScore", "GPTScore-ref", "BARTScore-cnn (hypo-ref)", "BARTScore-para (hypo-ref)",
    "BERTScore", "BLEURT", "UniEval (summ)", "COMET-22",
)  # fmt: skip
STATISTICS = {"table_04": "kendall", "table_25": "pearson", "table_26": "spearman"}
INPUTS = {"Summ": 100, "Trans": 1875, "D2T": 179, "LF-QA": 400, "MathQA": 1319, "Instruct": 500, "Story-Gen": 200}
VOTES = ("Overlooked Errors", "Revision Suggestions", "Overall Rating")
LEVELS = {"Overlooked Errors": 4, "Revision Suggestions": 5, "Overall Rating": 5}
SAID = "text_claims"


def columns(question: str) -> list[str]:
    """The columns of a question of Table 5."""
    return [f"{question} | {level}" for level in range(1, LEVELS[question] + 1)]


def said(table: str, printed: str, formula, cells, compare: str = "=", note: str = "", words: str = "") -> Relation:
    """A number of the text against a formula over cells of the tables."""
    options = dict(printed=(SAID, printed), formula=formula, cells=cells, compare=compare, words=words)
    return Relation("formula", table, options, note)


def again(table: str, *rows: str, column: str, statistic: str, factors: tuple[int, ...] = (), note: str = ""):
    """One figure of the text in several places."""
    keys = [(row, column, statistic) for row in rows]
    return Relation("said again", SAID, dict(keys=keys, factors=factors), note or f"on {table}", rows)


TABLE_2 = {
    "real": ("table_02", "*", "Real-World (training set) | # Sample"),
    "synthetic": ("table_02", "*", "Synthetic (training set) | # Sample"),
    "alpaca": (SAID, "section 3.2: Alpaca instances for free-form synthetic data"),
}
AVERAGE = {
    "ours": ("table_04", "TIGERScore-13B", "Average", "kendall"),
    "free": ("table_04", FREE, "Average", "kendall"),
    "based": ("table_04", BASED, "Average", "kendall"),
    "gptscore": ("table_04", "GPTScore-src", "Average", "kendall"),
}
RELATIONS = [
    said(
        "table_02", "section 3.3: instances in MetricInstruct", "sum(real) + sum(synthetic) + alpaca", TABLE_2,
        words="real-world + synthetic samples + Alpaca", note="Alpaca's part is printed as 10k",
    ),
    said("table_02", "abstract: training quadruples", "n", {"n": (SAID, "section 3.3: instances in MetricInstruct")}),
    said("table_02", "section 1: training examples", "n", {"n": (SAID, "section 3.3: instances in MetricInstruct")}),
    said(
        "table_02", "section 1: systems whose outputs are used (more than)", "sum(systems)", compare=">",
        cells={"systems": ("table_02", "*", "Real-World (training set) | Output Source")},
    ),
    again(
        "table_02", "abstract: data sets in MetricInstruct", "section 1: training data sets", "section 3: data sets",
        "section 3.1: data sets", column="table_02", statistic="count",
    ),
    *(
        Relation("number of rows", "table_02", dict(printed=(SAID, row), table="table_02"))
        for row in ("abstract: tasks in MetricInstruct", "section 3.1: task categories")
    ),
    again(
        "table_03", "abstract: held-in evaluation data sets", "section 1: held-in evaluation data sets",
        "section 4.3: held-in tasks", column="table_03", statistic="count",
    ),
    again(
        "table_03", "abstract: held-out evaluation data sets", "section 1: held-out evaluation data sets",
        "section 4.3: held-out tasks", column="table_03", statistic="count",
    ),
    Relation(
        "number of rows", "table_25", dict(printed=(SAID, "section 4.3: tasks, all"), table="table_03"),
    ),
    *(
        Relation(
            "formula", "table_03",
            dict(
                printed=("table_03", task, "# Samples"), formula="systems * inputs", words="systems x inputs",
                cells={"systems": ("table_03", task, "Output Source"), "inputs": ("table_03", task, "# Inputs")},
            ),
        )
        for task in TASKS
    ),
    said(
        "table_03", "appendix A.5: instruction-following instances", "n", {"n": ("table_03", "Instruct", "# Inputs")}
    ),
    *(
        relation
        for table, statistic in STATISTICS.items()
        for relation in (
            Relation("bounds", table, dict(scale=100)),
            Relation("summary", table, dict(result="Average", parts=TASKS), where=(
                "GPT-3.5-turbo (zero-shot)", "GPT-4 (zero-shot)", *BASED, *FREE, *OURS)),
            *(
                Relation(
                    "difference", table,
                    dict(
                        result=f"delta (ours - best {name})", subtrahend=group, statistics=[statistic],
                        minuend={"13B": OURS[1:], "the better of ours": OURS},
                    ),
                )
                for name, group in (("reference-free", FREE), ("reference-based", BASED))
            ),
        )
    ),
    said(
        "table_04", "section 1: Kendall gain over best reference-free metric, named GPTScore",
        {"points": "ours - max(free)", "percent": "100 * (ours / max(free) - 1)",
         "points over GPTScore": "ours - gptscore"}, AVERAGE,
        note="BARTScore-cnn, not GPTScore, has the best average of the reference-free metrics",
    ),
    said(
        "table_04", "section 1: Kendall gain over best reference-based metric, named COMET-22",
        {"points": "ours - max(based)", "percent": "100 * (ours / max(based) - 1)"}, AVERAGE,
    ),
    Relation("summary", "table_05", dict(result="Total", parts=TASKS, kind="total", axis="row")),
    Relation(
        "number of leads", "table_25",
        dict(printed=(SAID, "section 4.3: tasks where TIGERScore leads reference-free metrics by Pearson"),
             table="table_25", ours=OURS, others=FREE, columns=TASKS, statistic="pearson"),
    ),
    *(
        Relation(
            "formula", "table_05",
            dict(
                printed=(SAID, "section 4.4: analyses a data set given to raters"), formula="sum(votes)",
                cells={"votes": ("table_05", task, columns(question))}, words=f"{task}, votes on {question}",
            ),
        )
        for question in VOTES for task in TASKS
    ),
    said(
        "table_05", "section 4.4: analyses judged reasonable", "100 * no / sum(all)",
        {"no": ("table_05", "Total", "Explanation Error? | No"),
         "all": ("table_05", "Total", ["Explanation Error? | No", "Explanation Error? | Yes"])},
    ),
    said(
        "table_05", "section 4.4: analyses with nothing important overlooked (rated 3 or 4)",
        "100 * sum(good) / sum(all)",
        {"good": ("table_05", "Total", columns("Overlooked Errors")[2:]),
         "all": ("table_05", "Total", columns("Overlooked Errors"))},
    ),
    *(
        said(
            "table_05", row, "100 * sum(good) / sum(all)",
            {"good": ("table_05", "Total", columns("Overall Rating")[2:]),
             "all": ("table_05", "Total", columns("Overall Rating"))}, compare,
        )
        for row, compare in (
            ("section 4.4: analyses rated 3 to 5 overall", "="),
            ("abstract: explanations judged accurate", "="),
            ("section 1: explanations judged accurate (over)", ">"),
        )
    ),
    Relation("bounds", "table_06"),
    Relation("summary", "table_06", dict(result="Average", parts=TASKS)),
    *(
        Relation("order", "table_06", dict(
            larger=f"Gold reference's score > -2 | {ours}", smaller=f"Gold reference's score = 0 | {ours}"))
        for ours in OURS
    ),
    Relation(
        "multiple of 1/n", "table_06", dict(n=INPUTS),
        "n: inputs of Table 3",
    ),
    Relation(
        "said again", SAID,
        dict(
            keys=[
                ("Table 6 caption: small reduction, threshold in the table head", "table_06", "score"),
                ("Table 6 caption: small reduction, threshold in the caption's explanation", "table_06", "score"),
                ("section 4.5: small reduction (less than)", "table_06", "score"),
            ],
            factors=(1, -1, -1),
        ),
        "a reduction of less than 2 is a score above -2",
    ),
    *(
        said(
            "table_06", "section 4.5: no errors found in gold references of Instruct and LF-QA (over)", "share",
            {"share": ("table_06", "Gold reference's score = 0 | TIGERScore-13B", task)}, ">", words=task,
        )
        for task in ("Instruct", "LF-QA")
    ),
    Relation("multiple of 1/n", "table_07", dict(n=dict.fromkeys(TASKS, 20))),
    Relation("pooled share", "table_07", dict(result="Total", n=dict.fromkeys(TASKS, 20))),
    said("table_07", "section 4.5: analyses free of hallucination", "total",
         {"total": ("table_07", "Accuracy", "Total")}),
    Relation(
        "number of rows", "table_07",
        dict(printed=(SAID, "section 4.5: tasks in the hallucination check"), table="table_07", axis="column",
             without=("Total",)),
    ),
    Relation("bounds", "table_08", dict(scale=100)),
    Relation("summary", "table_08", dict(result="Average", parts=TASKS[:-1]), where=("Single Task", "Multi Task")),
    Relation(
        "percent change", "table_08",
        dict(result="delta (%)", new=["Multi Task"], old="Single Task", statistics={"gain_percent": "spearman"}),
    ),
    Relation(
        "printed twice", "table_08",
        dict(source="table_26", rename={"row": {"Multi Task": "TIGERScore-13B"}},
             only=dict(row="Multi Task", column=TASKS[:-1])),
    ),
    Relation("formula", "table_23", dict(
        printed=("table_23", "header", "number of errors"), formula="count(errors)",
        cells={"errors": ("table_23", ["error 1", "error 2"], "score reduction")})),
    Relation("formula", "table_23", dict(
        printed=("table_23", "header", "total score reduction"), formula="sum(errors)",
        cells={"errors": ("table_23", ["error 1", "error 2"], "score reduction")})),
    said("figure_04", "appendix A.4: context length", "n", {"n": (SAID, "section 2.4: context length")}),
    said(SAID, "section 2.2: penalty, lowest", "n", {"n": (SAID, "section 1: penalty, lowest")}),
    said(SAID, "section 2.2: penalty, highest", "n", {"n": (SAID, "section 1: penalty, highest")}),
    said(SAID, "appendix A.1: final penalty scale, highest", "-n", {"n": (SAID, "section 1: penalty, lowest")}),
    said(SAID, "appendix A.1: final penalty scale, lowest", "-n", {"n": (SAID, "section 1: penalty, highest")}),
]  # fmt: skip
