"""Scores that stand for HD-Eval's criteria: those that a judge gave them, or recorded judges' in their place.

Nobody published HD-Eval's criteria scores. What is public are scores of several judges (SummEval) and of several
prompts of one judge (Topical-Chat) on the aspects that people rated. They are scores of one output from several sides,
as criteria are, so that aggregators, training shares and attributions can be studied on them; they are not a hierarchy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets
from nlgeval_lib.evaluators import hdeval
from nlgeval_lib.study import correlations
from nlgeval_lib.study.aspect_scores import draw_means
from nlgeval_lib.study.judges import JudgeScores
from nlgeval_lib.training import mini

NAMES = ("summeval", "topical_chat")
UNITS = ("row", "document")
MINI = "mini_judge"  # the miniature judge's own texts, whatever data set it was asked in the place of
LABELS = {"summeval": "SummEval", "topical_chat": "Topical-Chat", "sfhot": "SFHOT", "sfres": "SFRES",
          MINI: "Made-up texts (mini)"}  # fmt: skip
ASPECTS = {
    "summeval": ("coherence", "consistency", "fluency", "relevance"),
    "topical_chat": ("naturalness", "coherence", "engagingness", "groundedness"),
    "sfhot": ("naturalness",),
    "sfres": ("naturalness",),
    MINI: ("accuracy", "completeness", "relevance", "fluency"),
}
TREES = {"summeval": "summeval", "topical_chat": "topical_chat", "sfhot": "data_to_text", "sfres": "data_to_text"}


@dataclass(frozen=True)
class CriteriaScores:
    """Scores that stand for criteria scores, and the ratings to be predicted; rows aligned.

    items: a row an output. X: a column a score, named "judge aspect". Y: a column a rated aspect. own: {aspect: its
    columns of X}. groups: targets with an aggregator of their own (HD-Eval, footnote 11). what: the scores in words.
    layers: {column of X: its layer}, where the scores are those of a hierarchy.
    """

    name: str
    label: str
    items: pd.DataFrame
    X: pd.DataFrame
    Y: pd.DataFrame
    own: Mapping[str, tuple[str, ...]]
    groups: tuple[tuple[str, ...], ...] | None
    what: str
    layers: Mapping[str, int] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The aggregator's settings that these features need."""
        return {"impute": "mean", "groups": self.groups}

    def test_rows(self, unit: str, seed: int, size: float = 0.5) -> np.ndarray:
        """The positions of the test rows of one random split, in order.

        unit: "row" splits outputs as the paper's recipe does (seed 42 gives the half of its Tables 1 and 3);
        "document" splits inputs, so that no input is on both sides. Raises: ValueError for another unit.
        """
        from sklearn.model_selection import train_test_split

        if unit not in UNITS:
            raise ValueError(f"unit is {unit!r}; allowed: {', '.join(UNITS)}")
        if unit == "row":
            return np.sort(train_test_split(np.arange(len(self.X)), test_size=size, random_state=seed)[1])
        codes = pd.factorize(self.items["input_id"])[0]
        chosen = train_test_split(np.arange(codes.max() + 1), test_size=size, random_state=seed)[1]
        return np.flatnonzero(np.isin(codes, chosen))


def recorded(name: str, inputs: int | None = None, draws: int = 20) -> CriteriaScores:
    """Recorded judges in the place of criteria. inputs, draws: only the first so many inputs, and draws of a text.

    summeval: six LLM judges x four aspects. topical_chat: gpt-3.5-turbo, seven prompt forms x four aspects, each the
    mean of what our parser reads in the draws, on the 300 outputs that are not a person's.
    Raises: ValueError for another name; DataUnavailable.
    """
    if name not in NAMES:
        raise ValueError(f"no recorded scores of {name!r}; there are {', '.join(NAMES)}")
    frame = datasets.load(name)
    items = datasets.items(frame if inputs is None else datasets.quick(frame, inputs))
    if name == "summeval":
        aspects, groups = ASPECTS[name], None
        scores = correlations.recorded_scores(items, "alttest_summeval")
        what = "six LLM judges x four aspects"
    else:
        items = items[items["system_id"] != "Original Ground Truth"].reset_index(drop=True)
        aspects, groups = ASPECTS[name], (ASPECTS[name][:3], ASPECTS[name][3:])
        scores = draw_means(items, draws=draws)
        what = "gpt-3.5-turbo, seven prompts x four aspects"
    X = pd.DataFrame({f"{judge} {aspect}": scores[judge][aspect] for judge in scores for aspect in aspects})
    own = {aspect: tuple(f"{judge} {aspect}" for judge in scores) for aspect in aspects}
    Y = items[[f"human_{aspect}" for aspect in aspects]].set_axis(list(aspects), axis=1).astype(float)
    return CriteriaScores(name, LABELS[name], items, X, Y, own, groups, what)


def of_judge(name: str, made: JudgeScores) -> CriteriaScores:
    """The scores that a judge gave HD-Eval's criteria (`judge_scores` of an unfitted hdeval).

    name: the data set; where the miniature judge was asked, they are those of its own texts instead.
    Raises: ValueError where `made` has no criteria scores.
    """
    if not made.available or not made.criteria:
        raise ValueError(f"no scores of criteria for {name}: {made.why or 'the judge is not an unfitted hdeval'}")
    if set(made.frame.get("dataset", ())) == {MINI}:
        name = MINI
    names = list(made.criteria)
    items = datasets.items(made.frame.drop(columns=["status", "reason", "details", "value"], errors="ignore"))
    if name == "topical_chat":
        items = items[items["system_id"] != "Original Ground Truth"].reset_index(drop=True)
    rated = [column.removeprefix("human_") for column in items.columns if column.startswith("human_")]
    aspects = [aspect for aspect in ASPECTS.get(name, rated) if aspect in rated]
    tree = mini.tree() if name == MINI else hdeval.CriteriaTree.published(TREES.get(name, "summeval"))
    known = {node.id: node.layer for node in tree.nodes()}
    own = {aspect: (found,) for aspect in aspects if (found := tree.of_target(aspect)) in names}
    groups = (tuple(aspects[:3]), tuple(aspects[3:])) if name == "topical_chat" else None
    Y = items[[f"human_{aspect}" for aspect in aspects]].set_axis(aspects, axis=1).astype(float)
    X = items[names].astype(float)
    what = f"{'the miniature judge' if name == MINI else made.model}'s scores of {len(names)} criteria"
    return CriteriaScores(
        name, LABELS.get(name, name), items, X, Y, own, groups, what, {n: known.get(n, 0) for n in names}
    )
