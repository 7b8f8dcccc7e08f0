"""Make `data/judged` anew from completions: what open models said, a score a row.

    python -m tools.judged MODEL...           from the store, of each model
    python -m tools.judged --check MODEL...   read the completions again and compare

A model must have answered a question of the catalogue as a whole; it needs the texts
of the data sets, as a completion is found by what was asked.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files, weights
from nlgeval_lib.names import pair
from nlgeval_lib.scoring import named
from reproduction.report import shared_run
from reproduction.study import catalogue, saved_judges
from reproduction.study.questions import judge_scores
from reproduction.study.scores import JudgeScores

# Further ways to read the same completions, by evaluator: one setting each.
READINGS = {"prometheus": (("verbalizer=yes",), ("verbalizer=brackets",))}


def answered(model: str, store: str = "") -> dict[str, list[JudgeScores]]:
    """All that a model answered as a whole: {judge's id: the scores of each question}.

    store: the folder with completions; "" is the usual one.
    """
    found: dict[str, list[JudgeScores]] = defaultdict(list)
    shared = shared_judges(model)
    seen = set()
    for question in catalogue.load().questions:
        if question.asked in seen or (shared and question.judge.id not in shared):
            continue
        seen.add(question.asked)
        for settings in readings(question.judge):
            scores = judge_scores(
                question.output,
                question.name,
                model=model,
                store=store,
                settings=settings,
            )
            if scores.available:
                key = saved_judges.key(question.judge.id, settings)
                print(f"{key}: {scores.coverage}", file=sys.stderr, flush=True)
                found[key].append(scores)
    return dict(found)


def readings(judge: catalogue.Judge) -> list[tuple[str, ...]]:
    """A judge's own reading of an answer, then those that it does not name itself."""
    own = {pair(setting)[0] for setting in judge.settings}
    further = READINGS.get(judge.evaluator, ())
    return [(), *(each for each in further if pair(each[0])[0] not in own)]


def shared_judges(model: str) -> set[str]:
    """The judges' ids that a model's shared completions are of; none where it has no
    such file, and all questions are looked for.
    """
    path = files.located(f"{shared_run.PLACE}/{model}.zip")
    if not path.is_file():
        return set()
    return {judged["judge"] for judged in shared_run.manifest_of(path)["judges"]}


def about(model: str, scores: JudgeScores, store: str = "") -> dict[str, Any]:
    """Who answered: the fields of `saved_judges.Model` but `judges`."""
    known = weights.entries().get(model)
    with named.store(store) as completions:
        makers = completions.makers(scores.model, scores.revision)
    days = sorted({day for of_maker in makers.values() for day in of_maker})
    return {
        "label": label(model),
        "revision": scores.revision,
        "weights": known.signature if known else scores.revision,
        "engine": " and ".join(sorted(makers)),
        "day": days[-1] if days else "",
    }


def label(model: str) -> str:
    """A model's name in tables: its owner's spelling where the registry has it.

    Example:
    >>> label("smollm2-135m-instruct")
    'SmolLM2-135M'
    """
    known = weights.entries().get(model)
    spelt = known.hub.split("/")[-1] if known else model
    return spelt.removesuffix("-GGUF").removesuffix("-Instruct")


def main() -> int:
    """The command; 1 where a check finds a difference."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--store", default="", help="the folder with completions")
    options = parser.parse_args()
    folder = files.located(saved_judges.PLACE)
    status = 0
    for model in options.models:
        judged = answered(model, options.store)
        if not judged:
            print(f"{model}: the store has no question answered as a whole")
            status = 1
        elif options.check:
            status |= compared(model, judged, folder)
        else:
            first = next(iter(judged.values()))[0]
            facts = about(model, first, options.store)
            saved_judges.write(model, facts, judged, folder)
            print(f"{saved_judges.PLACE}/{model}: {len(judged)} judges")
    return status


def compared(model: str, judged: dict[str, list[JudgeScores]], folder: Path) -> int:
    """Whether the completions still read as they are saved; 1 where one does not, and
    where a saved reading is not made any more.
    """
    saved = pd.read_parquet(folder / f"{model}.parquet")
    again = saved_judges.table(judged)
    again = again[again["judge"].isin(saved["judge"])]
    still_read = saved["judge"].isin(again["judge"])
    not_made = sorted(set(saved.loc[~still_read, "judge"]))
    if not_made:
        print(f"{model}: saved, and no longer made: {', '.join(not_made)}")
    saved = saved[still_read]
    columns = ["judge", *saved_judges.KEYS, "criterion", "value", "status"]
    both = saved[columns].merge(again[columns], how="outer", indicator=True)
    differing = both[both["_merge"] != "both"]
    agreement = (
        "as saved" if differing.empty else f"DIFFERENT in {len(differing):,} rows"
    )
    print(f"{model}: {len(again):,} scores, {agreement}")
    if not differing.empty:
        print(differing.head(20).to_string())
    return int(bool(not_made) or not differing.empty)


if __name__ == "__main__":
    sys.exit(main())
