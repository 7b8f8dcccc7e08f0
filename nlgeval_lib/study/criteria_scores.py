"""Scores that stand for HD-Eval's criteria, and what its aggregators make of them,
split by split.

Nobody published HD-Eval's criteria scores. What is public are scores of several judges
(SummEval) and of several prompts of one judge (Topical-Chat) on the aspects that people
rated. They are scores of one output from several sides, as criteria are, so that
aggregators, training shares and attributions can be studied on them; they are not a
hierarchy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets, meta
from nlgeval_lib.evaluators import hdeval
from nlgeval_lib.scoring import correlations
from nlgeval_lib.study import recorded_judges
from nlgeval_lib.study.aspect_scores import CHAT_SCALES
from nlgeval_lib.study.judged_rows import Asked, Part
from nlgeval_lib.study.judges import JudgeScores, judge_scores
from nlgeval_lib.training import mini

CHAT = "topical_chat"
NAMES = ("summeval", CHAT)
UNITS = ("row", "document")
# the miniature judge's own texts, whatever data set it was asked in the place of
MINI = "mini_judge"
LABELS = {
    "summeval": "SummEval",
    "topical_chat": "Topical-Chat",
    "sfhot": "SFHOT",
    "sfres": "SFRES",
    MINI: "Made-up texts (mini)",
}
ASPECTS = {
    "summeval": ("coherence", "consistency", "fluency", "relevance"),
    "topical_chat": ("naturalness", "coherence", "engagingness", "groundedness"),
    "sfhot": ("naturalness",),
    "sfres": ("naturalness",),
    MINI: ("accuracy", "completeness", "relevance", "fluency"),
}
TREES = {
    "summeval": "summeval",
    "topical_chat": "topical_chat",
    "sfhot": "data_to_text",
    "sfres": "data_to_text",
}
COEFS = ("pearson", "spearman")
PRINTED_NAMES = {
    "lr": "LR",
    "dt": "DT",
    "rf": "RF",
    "mlp": "NN",
}  # the paper's names of the aggregators
OWN = "average of the own aspect"
ALL = "average of all"


@dataclass(frozen=True)
class CriteriaScores:
    """Scores that stand for criteria scores, and the ratings to be predicted; rows
    aligned.

    items: a row an output. X: a column a score, named "judge aspect". Y: a column a
    rated aspect. own: {aspect: its columns of X}. groups: targets with an aggregator of
    their own (HD-Eval, footnote 11). what: the scores in words.
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

        unit: "row" splits outputs as the paper's recipe does (seed 42 gives the half of
        its Tables 1 and 3); "document" splits inputs, so that no input is on both
        sides. Raises: ValueError for another unit.
        """
        if unit not in UNITS:
            raise ValueError(f"unit is {unit!r}; allowed: {', '.join(UNITS)}")
        if unit == "row":
            return test_half(len(self.X), seed, size)
        codes = pd.factorize(self.items["input_id"])[0]
        return np.flatnonzero(np.isin(codes, test_half(codes.max() + 1, seed, size)))


def test_half(n: int, seed: int = 42, size: float = 0.5) -> np.ndarray:
    """The positions, of `n`, that scikit-learn's `train_test_split` gives the test
    side, in order.
    """
    from sklearn.model_selection import train_test_split

    return np.sort(train_test_split(np.arange(n), test_size=size, random_state=seed)[1])


def recorded(name: str, inputs: int | None = None, draws: int = 20) -> CriteriaScores:
    """Recorded judges in the place of criteria. inputs, draws: only the first so many
    inputs, and draws of a text.

    summeval: six LLM judges x four aspects. topical_chat: gpt-3.5-turbo, seven prompt
    forms x four aspects, each the mean of what our parser reads in the draws, on the
    300 outputs that are not a person's.
    Raises: ValueError for another name; DataUnavailable.
    """
    if name not in NAMES:
        raise ValueError(
            f"no recorded scores of {name!r}; there are {', '.join(NAMES)}"
        )
    frame = datasets.load(name)
    aspects = ASPECTS[name]
    items = _judged(
        name, datasets.items(frame if inputs is None else datasets.quick(frame, inputs))
    )
    if name == "summeval":
        scores = recorded_judges.scores(items, "alttest_summeval")
        what = "six LLM judges x four aspects"
    else:
        scores = recorded_judges.scores(
            items, "acloserlook", CHAT_SCALES, by="prompt_form", draws=draws
        )
        what = "gpt-3.5-turbo, seven prompts x four aspects"
    X = pd.DataFrame(
        {
            f"{judge} {aspect}": scores[judge][aspect]
            for judge in scores
            for aspect in aspects
        }
    )
    own = {aspect: tuple(f"{judge} {aspect}" for judge in scores) for aspect in aspects}
    return _criteria(name, items, X, own, what)


def of_judge(name: str, made: JudgeScores) -> CriteriaScores:
    """The scores that a judge gave HD-Eval's criteria (`judge_scores` of an unfitted
    hdeval).

    name: the data set; where the miniature judge was asked, they are those of its own
    texts instead.
    Raises: ValueError where `made` has no criteria scores.
    """
    if not made.available or not made.criteria:
        raise ValueError(
            f"no scores of criteria for {name}: {made.why or 'the judge is not an unfitted hdeval'}"
        )
    if set(made.frame.get("dataset", ())) == {MINI}:
        name = MINI
    names = list(made.criteria)
    items = datasets.items(
        made.frame.drop(
            columns=["status", "reason", "details", "value"], errors="ignore"
        )
    )
    items = _judged(name, items)
    tree = (
        mini.tree()
        if name == MINI
        else hdeval.CriteriaTree.published(TREES.get(name, "summeval"))
    )
    known = {node.id: node.layer for node in tree.nodes()}
    own = {
        aspect: (found,)
        for aspect in _rated(name, items)
        if (found := tree.of_target(aspect)) in names
    }
    what = f"{'the miniature judge' if name == MINI else made.model}'s scores of {len(names)} criteria"
    layers = {criterion: known.get(criterion, 0) for criterion in names}
    return _criteria(name, items, items[names].astype(float), own, what, layers)


def _judged(name: str, items: pd.DataFrame) -> pd.DataFrame:
    """The outputs that are judged: of Topical-Chat those that are not a person's."""
    return (
        items[items["system_id"] != "Original Ground Truth"].reset_index(drop=True)
        if name == CHAT
        else items
    )


def _rated(name: str, items: pd.DataFrame) -> tuple[str, ...]:
    rated = [
        column.removeprefix("human_")
        for column in items.columns
        if column.startswith("human_")
    ]
    return tuple(aspect for aspect in ASPECTS.get(name, rated) if aspect in rated)


def _criteria(
    name: str,
    items: pd.DataFrame,
    X: pd.DataFrame,
    own: Mapping[str, tuple[str, ...]],
    what: str,
    layers: Any = None,
) -> CriteriaScores:
    aspects = _rated(name, items)
    groups = (aspects[:3], aspects[3:]) if name == CHAT else None
    Y = (
        items[[f"human_{aspect}" for aspect in aspects]]
        .set_axis(list(aspects), axis=1)
        .astype(float)
    )
    return CriteriaScores(
        name, LABELS.get(name, name), items, X, Y, own, groups, what, layers
    )


# -- aggregators


def tables_1_to_3(
    output: str, parts: Mapping[str, Part], seed: int = 42, **engine: Any
) -> Asked:
    """The rows HD-Eval-NN of HD-Eval's Tables 1 to 3 where the judge was asked, on the
    test half of one row split.

    parts: {data set, which is the judge's name in the catalogue, too: its columns}.
    engine: as `judge_scores` takes it.
    Raises: what `judge_scores` raises.
    """
    rows = {
        "25% data | HD-Eval-NN": {"kind": "mlp", "share": 0.5},
        "50% data | HD-Eval-NN": {"kind": "mlp"},
    }
    found = Asked()
    for name, part in parts.items():
        made = judge_scores(output, name, **engine)
        if not made.available:
            why = f"needs a run: {made.why}"
            found.lacking.update(
                {(row, column): why for row in rows for column in part.columns}
            )
        elif made.route == "mini":
            found.mini[name] = made
        else:
            columns = {aspect: column for column, aspect in part.columns.items()}
            cells = made.signed(_cells(of_judge(name, made), rows, seed))
            found.tables.append(cells.assign(column=cells["column"].map(columns)))
    return found


def tables_4_and_5(
    given: CriteriaScores,
    column: str,
    kinds: Sequence[str] = tuple(PRINTED_NAMES),
    seed: int = 42,
    alone: Mapping[str, np.ndarray] | None = None,
) -> pd.DataFrame:
    """The rows of HD-Eval's Tables 4 and 5 that criteria scores give, on the test half
    of one row split.

    given: of `of_judge`. column: the table's name of the data set. alone: {aspect: what
    the judge says of each item, asked for the aspect alone}, for the row without any
    layer. Returns the cells of both tables, with intervals, in the
    keys of the printed ones: the average over the aspects.
    """
    names = {kind: f"HD-Eval-{PRINTED_NAMES.get(kind, kind)}" for kind in kinds}
    rows: dict[str, Any] = {
        f"50% data | {name}": {"kind": kind} for kind, name in names.items()
    }
    rows |= {
        f"25% data | {name}": {"kind": kind, "share": 0.5}
        for kind, name in names.items()
    }
    rows["50% data | w/o Layer 3"] = {"kind": "mlp", "up_to": 2}
    rows["50% data | w/o Layer 2,3"] = {"kind": "mlp", "up_to": 1}
    rows["50% data | w/o Aggregator"] = dict.fromkeys(
        given.Y, given.X.mean(axis=1).to_numpy()
    )
    return correlations.averaged(
        _cells(given, rows, seed, {"50% data | w/o Layer 1,2,3": alone}), column
    )


def tables_6_and_7(
    given: CriteriaScores,
    label: str,
    share: float,
    seed: int = 42,
    kinds: Sequence[str] = ("rf", "mlp"),
    alone: Mapping[str, np.ndarray] | None = None,
) -> pd.DataFrame:
    """The rows of HD-Eval's Tables 6 and 7 for one judge: alone, and with aggregators
    fitted on a share of the rows.

    label: the block, such as "50% data | Llama2-7B-Chat". alone: as `tables_4_and_5`.
    The other rows test. Keys as printed, a cell an aspect.
    """
    rows = {
        f"{label} | +HD-Eval-{PRINTED_NAMES.get(kind, kind)}": {"kind": kind}
        for kind in kinds
    }
    return _cells(given, rows, seed, {label: alone}, 1 - share).drop(
        columns="replicates", errors="ignore"
    )


def _cells(
    given: CriteriaScores,
    rows: Mapping[str, Any],
    seed: int,
    alone: Mapping[str, Any] | None = None,
    size: float = 0.5,
) -> pd.DataFrame:
    """The correlations of a table's rows, a cell an aspect, on the test rows of one row
    split, `size` of all.

    rows: {row: how an aggregator is fitted, or {target: a value an item}}; alone: the
    same, left out where None.
    """
    test = given.test_rows("row", seed, size)
    scores = {
        row: _fitted(given, test, seed=seed, **how)
        if "kind" in how
        else {t: how[t][test] for t in given.Y}
        for row, how in {**rows, **(alone or {})}.items()
        if how is not None
    }
    human = {target: f"human_{target}" for target in given.Y}
    return correlations.table(
        given.items.iloc[test].reset_index(drop=True), scores, human
    )


def _fitted(
    given: CriteriaScores,
    test: np.ndarray,
    kind: str,
    seed: int,
    share: float = 1.0,
    up_to: int | None = None,
) -> dict[str, np.ndarray]:
    """{target: an aggregator's predictions for the test rows}; share: of the
    training rows; up_to: the last layer.
    """
    layer = given.layers or {}
    X = (
        given.X
        if up_to is None
        else given.X[[name for name in given.X if layer.get(name, 1) <= up_to]]
    )
    predicted = hdeval.predictions(
        X, given.Y, test, kinds=[kind], shares=[share], seeds=[seed], **given.settings
    )
    return dict(
        zip(
            given.Y,
            predicted["predicted"].to_numpy().reshape(len(test), -1).T.copy(),
            strict=True,
        )
    )


def unfitted(given: CriteriaScores, test: np.ndarray) -> pd.DataFrame:
    """Predictions without any fitting, in columns of `hdeval.predictions`: two
    averages.

    "average of all": every score counts for every target, as in Table 4 without
    aggregator. "average of the own aspect": only the scores of the target's aspect.
    Missing scores are left out of a mean.
    """
    made = []
    for target in given.Y:
        for kind, names in ((ALL, [*given.X]), (OWN, [*given.own[target]])):
            predicted = given.X[names].mean(axis=1)
            human = given.Y[target]
            part = pd.DataFrame(
                {"kind": kind, "seed": 0, "row": test, "target": target}
            )
            made.append(
                part.assign(
                    predicted=predicted.to_numpy()[test], human=human.to_numpy()[test]
                )
            )
    return pd.concat(made, ignore_index=True)


def on_splits(
    given: CriteriaScores,
    unit: str,
    seeds: Iterable[int],
    kinds: Sequence[str] = tuple(PRINTED_NAMES),
    share: float = 1.0,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> pd.DataFrame:
    """Quality of averages and fitted aggregators on the test half of each split: a row
    a model, split and target.

    share: of the training half that is trained on (0.5: the paper's 25 % of all data).
    options: {kind: scikit-learn's settings}. Columns: data, unit, split, kind, target,
    coef, value, n; `kind` in the paper's names.
    """
    found = []
    for seed in seeds:
        test = given.test_rows(unit, seed)
        parts = [unfitted(given, test)]
        for kind in kinds:
            how = {
                "shares": [share],
                "seeds": [seed],
                "options": (options or {}).get(kind),
                **given.settings,
            }
            parts.append(
                hdeval.predictions(given.X, given.Y, test, kinds=[kind], **how).replace(
                    {"kind": PRINTED_NAMES}
                )
            )
        found.append(
            qualities(pd.concat(parts, ignore_index=True), ["kind"]).assign(split=seed)
        )
    return pd.concat(found, ignore_index=True).assign(data=given.label, unit=unit)


def qualities(predicted: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Dataset-level coefficients of predictions: a row a setting (`by`), target and
    coefficient, with `value` and `n`.

    predicted: columns `target`, `predicted`, `human` and those of `by`.
    """
    rows = []
    for key, part in predicted.groupby([*by, "target"], sort=False):
        ok = part["predicted"].notna().to_numpy()
        x = part["predicted"].to_numpy()[ok]
        y = part["human"].to_numpy()[ok]
        for coef in COEFS:
            value = meta.coefficients(x[None, :], y, coef)[0] if len(x) > 1 else np.nan
            rows.append(
                {
                    **dict(zip([*by, "target"], key, strict=True)),
                    "coef": coef,
                    "value": value,
                    "n": len(x),
                }
            )
    return pd.DataFrame(rows)


def over_targets(found: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The mean over targets within each setting (`by`), coefficient and split."""
    keys = [*by, "coef", "split"]
    return (
        found.groupby(keys, sort=False)
        .agg(value=("value", "mean"), n=("n", "min"))
        .reset_index()
    )


def over_splits(found: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The mean over splits with its interval (`meta.resampled_t`, halves): a row a
    setting and coefficient.

    found: `split`, `coef`, `value`, `n` and the columns of `by`. Columns: those of
    `by`, coef, value, ci_low, ci_high, sd, n, signature.
    """
    rows = []
    for key, part in found.groupby([*by, "coef"], sort=False):
        one = meta.resampled_t(part["value"], part["n"].mean(), part["n"].mean())
        row = {
            **dict(zip([*by, "coef"], key, strict=True)),
            "value": one.value,
            "ci_low": one.low,
            "ci_high": one.high,
        }
        signature = f"level:dataset|coef:{key[-1]}|{one.signature()}"
        rows.append(
            {**row, "sd": one.sd, "n": int(part["n"].min()), "signature": signature}
        )
    return pd.DataFrame(rows)


def against(found: pd.DataFrame, base: str, by: Sequence[str]) -> pd.DataFrame:
    """Is each kind better than `base`, split by split? Corrected resampled t-tests,
    Holm over all rows together.

    found: as `over_targets` gives it. Columns: those of `by`, coef, kind, difference,
    ci_low, ci_high, p, p_holm, signature.
    """
    rows = []
    for key, part in found.groupby([*by, "coef"]):
        half = part["n"].mean()
        values = part.pivot(index="split", columns="kind", values="value")
        for kind in [name for name in found["kind"].unique() if name != base]:
            one = meta.resampled_t(values[kind] - values[base], half, half)
            row = dict(zip([*by, "coef"], key, strict=True)) | {
                "kind": kind,
                "difference": one.value,
            }
            row |= {"ci_low": one.low, "ci_high": one.high, "p": one.p}
            rows.append(
                row
                | {"signature": f"test:resampled-t|against:{base}|{one.signature()}"}
            )
    table = pd.DataFrame(rows)
    corrected = meta.correct(table["p"].tolist(), "holm")
    table.insert(table.columns.get_loc("p") + 1, "p_holm", corrected.adjusted)
    return table
