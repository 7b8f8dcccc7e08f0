"""The miniature judge at run time: how evaluators are set for it, and what it said when
it was measured.

`settings("coascore")` are the options that set an evaluator for the judge and its
held-out set, `datasets.load("mini_judge")`; `quality` is how good it was found to be.
How it is made and measured: `mini_judge`; what its training ablations say:
`notebooks/ablations/training_arms.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pandas as pd

from nlgeval_lib.datasets import mini_judge

if TYPE_CHECKING:
    from nlgeval_lib.evaluators.hdeval.criteria import CriteriaTree, Criterion

# The ends of the scale that the judge rates on.
LOW = 1
HIGH = 5
# What the systems were asked to do with each record.
INSTRUCTION = "Write a short text that says all that the record says, and nothing else."
# Key of an aspect -> its name and definition.
ASPECTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "accuracy": ("Accuracy", "Are the values and sums in the text right?"),
        "completeness": ("Completeness", "Does the text say all that the record says?"),
        "relevance": ("Relevance", "Does the text keep to the record?"),
        "fluency": ("Fluency", "Does the text read well?"),
    }
)
RATED = ("overall", *ASPECTS)  # what the held-out set has gold for
# Key of a finer criterion -> the aspect that it belongs to, its name and definition.
FINER: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "values": ("accuracy", "Values", "Is each value the one of the record?"),
        "sums": ("accuracy", "Sums", "Is each sum added up right?"),
        "coverage": ("completeness", "Coverage", "Is each attribute mentioned?"),
        "support": (
            "relevance",
            "Support",
            "Does the record have each thing that is said?",
        ),
        "topic": ("relevance", "Topic", "Is the text about this record at all?"),
        "novelty": ("fluency", "Novelty", "Is each thing said once only?"),
        "grammar": ("fluency", "Grammar", "Does each verb agree with its subject?"),
    }
)
# The kinds of errors that were put into outputs.
KINDS = (
    "invention",
    "wrong_value",
    "arithmetic",
    "omission",
    "repetition",
    "grammar",
    "off_topic",
)
# The files that `make mini-judge` writes beside the checkpoint.


def settings(evaluator: str) -> dict[str, Any]:
    """The options that set an evaluator, such as "coascore", for the miniature judge
    and its held-out set. Raises: ValueError for one that the judge was not trained for.
    """
    targets = {key: definition for key, (_, definition) in ASPECTS.items()}
    rating = {"task": "data_to_text", "low": LOW, "high": HIGH, "targets": targets}
    greedy = {"temperature": 0.0, "top_p": 1.0, "repetition_penalty": 1.0, "n": 1}
    options: dict[str, dict[str, Any]] = {
        "tigerscore": {"instruction": INSTRUCTION, "task": "D2T"},
        "prometheus": {"sampling": greedy},
        "hdeval": {"task": "data_to_text", "criteria": tree()},
        "coascore": {**rating, "n": 5},
        "llmscore": rating,
        "prompted": {
            "low": LOW,
            "high": HIGH,
            "definitions": targets,
            "sampling": {"max_tokens": 64},
        },
        "geval": {"template": "semscore/g_eval_input", "flip": True},
    }
    if evaluator not in options:
        raise ValueError(
            f"the miniature judge has no settings for {evaluator!r}; "
            f"it has {', '.join(options)}"
        )
    return options[evaluator]


def tree() -> CriteriaTree:
    """The hierarchy that HD-Eval uses: the aspects, and the finer criteria below
    each.
    """
    from nlgeval_lib.evaluators.hdeval.criteria import CriteriaTree, Criterion

    finer: dict[str, list[Criterion]] = {key: [] for key in ASPECTS}
    for key, (aspect, name, definition) in FINER.items():
        finer[aspect].append(Criterion(key, name, definition, (), "ours"))
    aspects = []
    for key, (name, definition) in ASPECTS.items():
        children = tuple(finer[key])
        aspects.append(Criterion(key, name, definition, children, "ours"))
    root = CriteriaTree.from_criteria(["x"]).root
    root = Criterion(root.id, root.name, root.definition, tuple(aspects), "ours")
    return CriteriaTree(root, "the miniature judge")


def quality(table: str) -> pd.DataFrame:
    """A table of the judge's measured quality: `forms`, `aspects` or `baselines`."""
    path = mini_judge.folder() / "quality" / f"{table}.csv"
    return pd.read_csv(path, float_precision="round_trip")


def by_kind(frame: pd.DataFrame, analyses: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """What the error analyses found of the errors that were put in, a row a kind.

    frame: the held-out set, with `errors`: of each output a sequence of mappings with
    `kind` and `location`.
    analyses: what the judge found, as `read` gives it.
    Returns: `kind`; `errors`: put in; `found`: of the same kind in the same output;
    `located`: found with its very words; `false`: said and not there; and `recall`,
    `located_share`, `precision` in [0, 1], NaN over none.
    """
    outputs = frame[frame["aspect"] == "overall"]
    errors = outputs.set_index(["input_id", "system_id"])["errors"]
    tally: dict[str, Counter[str]] = {
        "errors": Counter(),
        "found": Counter(),
        "located": Counter(),
        "false": Counter(),
    }
    for analysis in analyses:
        gold = errors.loc[(analysis["input_id"], analysis["system_id"])]
        gold_kinds, gold_places = _kinds_and_places(gold)
        kinds, places = _kinds_and_places(analysis["errors"])
        tally["errors"] += gold_kinds
        # `&` keeps the smaller count of each kind: an error is found once at most.
        tally["found"] += gold_kinds & kinds
        located = gold_places & places
        tally["located"].update(kind for kind, _ in located.elements())
        tally["false"] += kinds - gold_kinds
    table = pd.DataFrame(tally, index=KINDS).rename_axis("kind")
    table = table.fillna(0).astype(int).reset_index()
    table["recall"] = table["found"] / table["errors"]
    table["located_share"] = table["located"] / table["errors"]
    table["precision"] = table["found"] / (table["found"] + table["false"])
    return table


def _kinds_and_places(
    errors: Sequence[Mapping[str, str]],
) -> tuple[Counter[str], Counter[tuple[str, str]]]:
    """How many errors there are of each kind, and of each kind with each location."""
    kinds = Counter(error["kind"] for error in errors)
    places = Counter((error["kind"], error["location"]) for error in errors)
    return kinds, places
