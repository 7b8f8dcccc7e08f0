"""The sets of JUDGE-BENCH that have several raters an item: five, 13 properties."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from nlgeval_lib.datasets import fetch, frame, labelled

FILES = {
    "dices_350": "judge_bench/dices/dices_350_crowdsourced.json",
    "dices_990": "judge_bench/dices/dices_990.json",
    "inferential": "judge_bench/inferential-strategies/inferential_strategies.json",
    "newsroom": "judge_bench/newsroom/newsroom.json",
    "recipes": "judge_bench/recipe_crowd_sourcing_data/meta_evaluation_recipes.json",
}
_PREFIX = "judge_bench_"
SPECS = {
    f"{_PREFIX}{part}": frame.known(f"{_PREFIX}{part}", path)
    for part, path in FILES.items()
}
# set -> the categories of its property; the properties of other sets are graded
LABELS: Mapping[str, tuple[str, ...]] = {
    part: words for part in FILES if (words := frame.labels(f"{_PREFIX}{part}"))
}


def load(name: str) -> pd.DataFrame:
    """One set of labels: an item a row, a property an aspect, in file order.

    judge_bench_dices_350: 350 answers, 123 ratings, safety (No, Unsure, Yes).
    judge_bench_dices_990: 990 answers, 69 to 76 ratings, the same.
    judge_bench_inferential: 300 items, 2 ratings, Sound_Reasoning (no, yes).
    judge_bench_newsroom: 420 summaries, 3 ratings, four properties graded 1 to 5.
    judge_bench_recipes: 52 recipes, 15 to 20 ratings (88 of two items), six properties
    graded 1 to 6.

    The ratings of an item stand in the file's order and are not named: `rater_0` of two
    items may be two people; the last columns are NaN for items with fewer ratings.
    `human` is as `labelled.build` has it.
    """
    part = name.removeprefix(_PREFIX)
    records = fetch.json_file(FILES[part])["instances"]
    index = [record["id"] for record in records]
    ratings = {}
    for aspect in SPECS[name].scale:
        # the scale of the table is split at blanks, so that names have none
        word = aspect.replace("_", " ")
        lists = []
        for record in records:
            lists.append(record["annotations"][word]["individual_human_scores"])
        ratings[aspect] = pd.DataFrame(lists, index=index, dtype=object)
    return labelled.build(SPECS[name], ratings, LABELS.get(part, ()))
