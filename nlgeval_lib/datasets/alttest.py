"""The labelled sets of the alternative annotator test: eight, each with its raters and
with six judges' labels (four on `lesion`). SummEval, the ninth, is its own set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from nlgeval_lib.datasets import fetch, frame, labelled


class Test(NamedTuple):
    """How the paper tests judges on a set: what a person costs, and closeness."""

    epsilon: float
    score: str  # as `meta.alt_test` has it


_YES_NO = ("no", "yes", "n/a: problem is resolved")
_ANSWERS = ("Yes", "Partially", "No", "Irrelevant", "No response", "Ignore")
_RELATIONS = (
    "Action",
    "Antonym",
    "Category-Exemplar-Pairs",
    "Common-Phrase",
    "Emotion-Evaluation",
    "Function",
    "Has-Prerequisite",
    "HasProperty",
    "Location",
    "Material-MadeOf",
    "Members-of-the-same-Category",
    "None-of-the-above",
    "PartOf",
    "Result-In",
    "Synonym",
    "Thematic",
    "Time",
)
# set -> its categories, none for grades; in the words of its files
LABELS: Mapping[str, tuple[str, ...]] = {
    "wax": _RELATIONS,
    "lgbteen": _ANSWERS,
    "mtbench": ("model_a", "model_b", "tie"),
    "framing": _YES_NO,
    "cebab_aspects": ("Negative", "unknown", "Positive"),
    "10k_prompts": labelled.GRADES,
    "cebab_stars": labelled.GRADES,
    "lesion": labelled.GRADES,
}
TESTS: Mapping[str, Test] = {
    "wax": Test(0.1, "accuracy"),
    "lgbteen": Test(0.2, "accuracy"),
    "mtbench": Test(0.2, "accuracy"),
    "framing": Test(0.15, "accuracy"),
    "cebab_aspects": Test(0.1, "accuracy"),
    "summeval": Test(0.2, "rmse"),
    "10k_prompts": Test(0.15, "rmse"),
    "cebab_stars": Test(0.1, "rmse"),
    "lesion": Test(0.15, "rmse"),
}
ASPECT = "label"
_PREFIX = "alttest_"


def human_file(part: str) -> str:
    """The registry path of a set's human labels."""
    return f"alttest/{part}/human_annotations.json"


def judges_file(part: str) -> str:
    """The registry path of the judges' labels of a set."""
    return f"alttest/{part}/llm_annotations.json"


SPECS = {
    f"{_PREFIX}{part}": frame.known(f"{_PREFIX}{part}", human_file(part))
    for part in LABELS
}


def load(name: str) -> pd.DataFrame:
    """One set: an item a row, in the order in which the raters' lists name them;
    `rater_0` and so on are the file's raters in its order. An item is named by its
    place, since in some files its name is its text.
    """
    part = name.removeprefix(_PREFIX)
    columns = {}
    for number, said in enumerate(fetch.json_file(human_file(part)).values()):
        columns[str(number)] = pd.Series(said, dtype=object)
    names = _names(part)
    table = pd.DataFrame(columns).reindex(list(names)).rename(index=names)
    return labelled.build(SPECS[name], {ASPECT: table}, {ASPECT: LABELS[part]})


def _names(part: str) -> dict[str, str]:
    """The name of each item in the frames, by its name in the files."""
    by_rater = fetch.json_file(human_file(part))
    items = dict.fromkeys(item for said in by_rater.values() for item in said)
    return {item: f"{part}-{number:04d}" for number, item in enumerate(items)}


def judges() -> pd.DataFrame:
    """What the judges say of each item: a row a judge and item, `value` a grade or the
    place of a category as in the set's frame. Prompts and texts are not published.
    """
    frames = []
    for part, words in LABELS.items():
        labels = pd.DataFrame(fetch.json_file(judges_file(part)), dtype=object)
        coded = labelled.coded_table(labels, words)
        named = coded.rename(index=_names(part))
        rows = named.melt(var_name="judge", ignore_index=False)
        rows = rows.reset_index(names="input_id")
        frames.append(rows.assign(dataset=f"{_PREFIX}{part}"))
    rows = pd.concat(frames, ignore_index=True)
    return rows.assign(system_id="", aspect=ASPECT, prompt_form="unknown", draw=0)
