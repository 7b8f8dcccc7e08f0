"""The labelled sets of the alternative annotator test: eight, each with its raters.
SummEval, the ninth, is its own set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from nlgeval_lib.datasets import fetch, frame, labelled


class Test(NamedTuple):
    """How the paper tests judges on a set (`statistics.alt_test`).

    epsilon: what a person costs, as an advantage that is given to the judge.
    score: how close two labels are: "accuracy" for categories, "rmse" for grades.
    """

    epsilon: float
    score: str


PREFIX = "alttest_"  # the set `wax` of the files is the data set `alttest_wax`
# set -> its categories, none for grades; in the words of its files
LABELS: Mapping[str, tuple[str, ...]] = {
    name.removeprefix(PREFIX): frame.labels(name)
    for name in frame.TABLE.index
    if name.startswith(PREFIX)
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
ASPECT = "label"  # the one aspect of all eight sets


def human_file(part: str) -> str:
    """The registry path of the human labels of a key of LABELS: {rater: {item: label}}."""
    return f"alttest/{part}/human_annotations.json"


SPECS = {
    f"{PREFIX}{part}": frame.known(f"{PREFIX}{part}", human_file(part))
    for part in LABELS
}


def load(name: str) -> pd.DataFrame:
    """One set of labels: an item a row, in the order in which the raters' lists name
    them.

    alttest_wax: 246 items, 8 raters (5 or 6 label an item), 17 relations of two words.
    alttest_lgbteen: 880 items, 4 raters (2 to 4), 6 answers to a question.
    alttest_mtbench: 120 pairs of answers, 3 raters (2 or 3), model_a, model_b or tie.
    alttest_framing: 2552 items, 4 raters (3), no, yes or not applicable.
    alttest_cebab_aspects: 1008 items, 10 raters (4), Negative, unknown, Positive.
    alttest_10k_prompts: 1698 prompts, 13 raters (2 to 5), grades 1 to 5.
    alttest_cebab_stars: 711 reviews, 10 raters (3 or 4), grades 1 to 5.
    alttest_lesion: 500 features of images, 6 raters (3 to 6), grades 0 to 6.

    `rater_0` and on are persons, the same over the items; `human` is as
    `labelled.build` has it. An item is its own input, named by its place, since in some
    files its name is its text.
    """
    part = name.removeprefix(PREFIX)
    columns = {}
    for number, labels in enumerate(fetch.json_file(human_file(part)).values()):
        columns[str(number)] = pd.Series(labels, dtype=object)
    names = item_names(part)
    # pandas joins the raters' items in an order of its own: put them back in the file's
    table = pd.DataFrame(columns).reindex(list(names)).rename(index=names)
    return labelled.build(SPECS[name], {ASPECT: table}, LABELS[part])


def item_names(part: str) -> dict[str, str]:
    """The name of each item in the frames, by its name in the files, in order."""
    by_rater = fetch.json_file(human_file(part))
    items = dict.fromkeys(item for labels in by_rater.values() for item in labels)
    return {item: f"{part}-{number:04d}" for number, item in enumerate(items)}
