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
_SAFETY = {"safety": ("No", "Unsure", "Yes")}
# set -> property -> its categories
LABELS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "dices_350": _SAFETY,
    "dices_990": _SAFETY,
    "inferential": {"Sound Reasoning": ("no", "yes")},
}
SPECS = {
    f"{_PREFIX}{part}": frame.known(f"{_PREFIX}{part}", path)
    for part, path in FILES.items()
}


def load(name: str) -> pd.DataFrame:
    """One set: an item a row, a property an aspect. The raters of an item come in the
    file's order and are not named: `rater_0` of two items may be two people.
    """
    part = name.removeprefix(_PREFIX)
    records = fetch.json_file(FILES[part])["instances"]
    ratings = {}
    labels = {}
    index = [record["id"] for record in records]
    for aspect in SPECS[name].scale:
        word = aspect.replace("_", " ")
        given = [
            record["annotations"][word]["individual_human_scores"] for record in records
        ]
        ratings[aspect] = pd.DataFrame(given, index=index, dtype=object)
        labels[aspect] = LABELS.get(part, {}).get(word, labelled.GRADES)
    return labelled.build(SPECS[name], ratings, labels)
