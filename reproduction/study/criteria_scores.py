"""Scores that stand for HD-Eval's criteria, and what its aggregators make of them,
split by split.

Nobody published HD-Eval's criteria scores. What is public are scores of several judges
(SummEval) and of several prompts of one judge (Topical-Chat) on the aspects that people
rated. They are scores of one output from several sides, as criteria are, so that
aggregators, training shares and attributions can be studied on them; they are not a
hierarchy.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from judgecard import recorded_judges
from nlgeval_lib import datasets, progress, statistics
from nlgeval_lib.evaluators import hdeval
from nlgeval_lib.scoring import correlations
from reproduction.study import variant_tests
from reproduction.study.aspect_scores import CHAT_SCALES
from reproduction.study.judged_rows import Asked, Part
from reproduction.study.questions import judge_scores
from reproduction.study.scores import JudgeScores

CHAT = "topical_chat"
# The data sets with recorded scores.
NAMES = ("summeval", CHAT)
# What a split draws: single outputs, or inputs with all their outputs.
UNITS = ("row", "document")
# The miniature judge's own texts: it is asked about them, whatever the data set.
MINI = "mini_judge"
# Data set -> its name in tables and figures.
LABELS = {
    "summeval": "SummEval",
    "topical_chat": "Topical-Chat",
    "sfhot": "SFHOT",
    "sfres": "SFRES",
    MINI: "Made-up texts (mini)",
}
# Data set -> the aspects that people rated, which are the targets, in order.
ASPECTS = {
    "summeval": ("coherence", "consistency", "fluency", "relevance"),
    "topical_chat": ("naturalness", "coherence", "engagingness", "groundedness"),
    "sfhot": ("naturalness",),
    "sfres": ("naturalness",),
    MINI: ("accuracy", "completeness", "relevance", "fluency"),
}
# Data set -> the published hierarchy of its criteria.
TREES = {
    "summeval": "summeval",
    "topical_chat": "topical_chat",
    "sfhot": "data_to_text",
    "sfres": "data_to_text",
}
COEFS = ("pearson", "spearman")
# The aggregators, by the names that the paper has for them.
PRINTED_NAMES = {"lr": "LR", "dt": "DT", "rf": "RF", "mlp": "NN"}
# Two averages that learn nothing.
OWN = "average of the own aspect"
ALL = "average of all"


@dataclass(frozen=True)
class CriteriaScores:
    """Scores that stand for criteria scores, and the ratings to be predicted; rows
    aligned.

    name, label: the data set, and its name in tables.
    items: a row an output.
    X: a column a score, named "judge aspect", or the criterion's id.
    Y: a column a rated aspect (target).
    own: {aspect: its columns of X}.
    groups: targets with an aggregator of their own (HD-Eval, footnote 11); None: each
    aggregator predicts all targets together.
    what: the scores in words.
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

    def __repr__(self) -> str:
        return (
            f"CriteriaScores({self.label}: {self.what}; {len(self.X):,} items, "
            f"{self.X.shape[1]} scores for {', '.join(self.Y)})"
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The aggregator's settings that these features need."""
        return {"impute": "mean", "groups": self.groups}

    def test_rows(self, unit: str, seed: int, size: float = 0.5) -> np.ndarray:
        """The positions of the test rows of one random split, in order.

        unit: "row" splits outputs as the paper's recipe does (seed 42 gives the half of
        its Tables 1 and 3); "document" splits inputs, so that no input is on both
        sides.
        Raises: ValueError for another unit.
        """
        if unit not in UNITS:
            raise ValueError(f"unit is {unit!r}; allowed: {', '.join(UNITS)}")
        if unit == "row":
            return test_half(len(self.X), seed, size)
        input_of_row, _ = pd.factorize(self.items["input_id"])
        test_inputs = test_half(input_of_row.max() + 1, seed, size)
        return np.flatnonzero(np.isin(input_of_row, test_inputs))


def test_half(n: int, seed: int = 42, size: float = 0.5) -> np.ndarray:
    """The positions, of `n`, that scikit-learn's `train_test_split` gives the test
    side, in order.

    Example:
    >>> test_half(6, seed=42)
    array([0, 1, 5])
    """
    from sklearn.model_selection import train_test_split

    positions = np.arange(n)
    _, test = train_test_split(positions, test_size=size, random_state=seed)
    return np.sort(test)


def recorded(name: str, inputs: int | None = None, draws: int = 20) -> CriteriaScores:
    """Recorded judges in the place of criteria.

    name: `summeval`: six LLM judges x four aspects. `topical_chat`: gpt-3.5-turbo,
    seven prompt forms x four aspects, each the mean of what our parser reads in the
    draws, on the 300 outputs that are not a person's.
    inputs, draws: only the first so many.
    """
    if name not in NAMES:
        raise ValueError(
            f"no recorded scores of {name!r}; there are {', '.join(NAMES)}"
        )
    frame = datasets.load(name)
    if inputs is not None:
        frame = datasets.quick(frame, inputs)
    items = _system_outputs(name, datasets.items(frame))
    if name == "summeval":
        scores = recorded_judges.scores(items, "alttest_summeval")
        description = "six LLM judges x four aspects"
    else:
        scores = recorded_judges.scores(
            items, "acloserlook", CHAT_SCALES, by="prompt_form", draws=draws
        )
        description = "gpt-3.5-turbo, seven prompts x four aspects"
    columns = {}
    for judge, by_aspect in scores.items():
        for aspect in ASPECTS[name]:
            columns[f"{judge} {aspect}"] = by_aspect[aspect]
    X = pd.DataFrame(columns)
    own_columns = {}
    for aspect in ASPECTS[name]:
        own_columns[aspect] = tuple(f"{judge} {aspect}" for judge in scores)
    return _criteria(name, items, X, own_columns, description)


def why_none(judged: JudgeScores) -> str:
    """Why a judge's answers give no scores of criteria; "" where they give some."""
    if not judged.available:
        return judged.why
    if judged.frame[list(judged.criteria)].isna().all(axis=None):
        return f"{judged.coverage} answers could be read"
    return ""


def of_judge(name: str, judged: JudgeScores) -> CriteriaScores:
    """The scores that a judge gave HD-Eval's criteria on a data set; the miniature
    judge's are of its own texts instead.

    judged: what `judge_scores` gave for an unfitted hdeval.
    """
    if not judged.available or not judged.criteria:
        reason = judged.why or "the judge is not an unfitted hdeval"
        raise ValueError(f"no scores of criteria for {name}: {reason}")
    if set(judged.frame.get("dataset", ())) == {MINI}:
        name = MINI
    if name == MINI:
        from reproduction.training import mini

        tree = mini.tree()
        judge = "the miniature judge"
    else:
        tree = hdeval.CriteriaTree.published(TREES.get(name, "summeval"))
        judge = judged.model
    answers = ["status", "reason", "details", "value"]
    asked_about = judged.frame.drop(columns=answers, errors="ignore")
    items = _system_outputs(name, datasets.items(asked_about))
    criteria = list(judged.criteria)
    X = items[criteria].astype(float)
    # A target's own criterion may not be among those that were asked.
    own_columns = {}
    for aspect in _rated_aspects(name, items):
        criterion = tree.of_target(aspect)
        if criterion in criteria:
            own_columns[aspect] = (criterion,)
    # A criterion that the tree does not know keeps layer 0, which is never left out.
    layers = dict.fromkeys(criteria, 0)
    for node in tree.nodes():
        if node.id in layers:
            layers[node.id] = node.layer
    description = f"{judge}'s scores of {len(criteria)} criteria"
    return _criteria(name, items, X, own_columns, description, layers)


def _system_outputs(name: str, items: pd.DataFrame) -> pd.DataFrame:
    """The outputs that are judged: of Topical-Chat those that are not a person's."""
    if name != CHAT:
        return items
    by_person = items["system_id"] == "Original Ground Truth"
    return items[~by_person].reset_index(drop=True)


def _rated_aspects(name: str, items: pd.DataFrame) -> tuple[str, ...]:
    """The aspects that people rated, in the order of the data set's targets."""
    is_rating = items.columns.str.startswith("human_")
    ratings = items.columns[is_rating]
    rated = list(ratings.str.removeprefix("human_"))
    targets = ASPECTS.get(name, rated)
    return tuple(aspect for aspect in targets if aspect in rated)


def _criteria(
    name: str,
    items: pd.DataFrame,
    X: pd.DataFrame,
    own_columns: Mapping[str, tuple[str, ...]],
    description: str,
    layers: Mapping[str, int] | None = None,
) -> CriteriaScores:
    """The scores beside the ratings of the aspects, which `items` has as
    `human_...`.
    """
    aspects = _rated_aspects(name, items)
    # Topical-Chat's first three targets share an aggregator, groundedness has its own.
    groups = None
    if name == CHAT:
        groups = (aspects[:3], aspects[3:])
    ratings = items[[f"human_{aspect}" for aspect in aspects]]
    Y = ratings.set_axis(list(aspects), axis=1).astype(float)
    return CriteriaScores(
        name,
        LABELS.get(name, name),
        items,
        X,
        Y,
        own_columns,
        groups,
        description,
        layers,
    )


# -- aggregators


def tables_1_to_3(
    output: str,
    parts: Mapping[str, Part],
    seed: int = 42,
    level: str = "dataset",
    **engine: Any,
) -> Asked:
    """The rows HD-Eval-NN of HD-Eval's Tables 1 to 3 where the judge was asked, on the
    test half of one row split.

    parts: {data set, which is the judge's name in the catalogue, too: its columns}.
    """
    rows = {
        # The training half is half of all data, so half of it is the paper's 25 %.
        "25% data | HD-Eval-NN": {"kind": "mlp", "share": 0.5},
        "50% data | HD-Eval-NN": {"kind": "mlp"},
    }
    answers = Asked()
    for name, part in parts.items():
        judged = judge_scores(output, name, **engine)
        if not judged.available:
            for cell in itertools.product(rows, part.columns):
                answers.lacking[cell] = f"needs a run: {judged.why}"
        elif judged.route == "mini":
            answers.mini[name] = judged
        else:
            column_of = {aspect: column for column, aspect in part.columns.items()}
            criteria = of_judge(name, judged)
            cells = judged.signed(_cells(criteria, rows, seed, level=level))
            cells["column"] = cells["column"].map(column_of)
            answers.tables.append(cells)
    return answers


def tables_4_and_5(
    criteria: CriteriaScores,
    column: str,
    kinds: Sequence[str] = tuple(PRINTED_NAMES),
    seed: int = 42,
    alone: Mapping[str, np.ndarray] | None = None,
) -> pd.DataFrame:
    """The rows of HD-Eval's Tables 4 and 5 that criteria scores give, on the test half
    of one row split.

    alone: {aspect: what the judge says of each item, asked for the aspect alone}, for
    the row without any layer; None: without that row.
    Returns: the cells of both tables, with intervals, in the keys of the printed ones:
    the average over the aspects.
    """
    rows: dict[str, Any] = {}
    for kind in kinds:
        rows[f"50% data | {_printed_name(kind)}"] = {"kind": kind}
    for kind in kinds:
        rows[f"25% data | {_printed_name(kind)}"] = {"kind": kind, "share": 0.5}
    rows["50% data | w/o Layer 3"] = {"kind": "mlp", "up_to": 2}
    rows["50% data | w/o Layer 2,3"] = {"kind": "mlp", "up_to": 1}
    mean = criteria.X.mean(axis=1).to_numpy()
    rows["50% data | w/o Aggregator"] = dict.fromkeys(criteria.Y, mean)
    if alone is not None:
        rows["50% data | w/o Layer 1,2,3"] = alone
    return correlations.averaged(_cells(criteria, rows, seed), column)


def tables_6_and_7(
    criteria: CriteriaScores,
    label: str,
    share: float,
    seed: int = 42,
    alone: Mapping[str, np.ndarray] | None = None,
) -> pd.DataFrame:
    """The rows of HD-Eval's Tables 6 and 7 for one judge: alone, and with aggregators
    fitted on a share of the rows.

    label: the block, such as "50% data | Llama2-7B-Chat".
    share: of the rows that are fitted on, 0 to 1; the other rows test.
    Returns: cells, keys as printed, a cell an aspect.
    """
    rows: dict[str, Any] = {}
    for kind in ("rf", "mlp"):
        rows[f"{label} | +{_printed_name(kind)}"] = {"kind": kind}
    if alone is not None:
        rows[label] = alone
    cells = _cells(criteria, rows, seed, 1 - share)
    return cells.drop(columns="replicates", errors="ignore")


def _printed_name(kind: str) -> str:
    """The printed name of HD-Eval with an aggregator."""
    return f"HD-Eval-{PRINTED_NAMES.get(kind, kind)}"


def _cells(
    criteria: CriteriaScores,
    rows: Mapping[str, Any],
    seed: int,
    size: float = 0.5,
    level: str = "dataset",
) -> pd.DataFrame:
    """The correlations of a table's rows, a cell an aspect, on the test rows of one row
    split.
    """
    test = criteria.test_rows("row", seed, size)
    targets = list(criteria.Y)
    scores = {}
    for row, source in rows.items():
        if "kind" in source:
            scores[row] = predicted(criteria, test, seed=seed, **source)
        else:
            scores[row] = {target: source[target][test] for target in targets}
    items = criteria.items.iloc[test].reset_index(drop=True)
    human = {target: f"human_{target}" for target in targets}
    return correlations.table(items, scores, human, level=level)


def predicted(
    criteria: CriteriaScores,
    test: np.ndarray,
    kind: str,
    seed: int,
    share: float = 1.0,
    up_to: int | None = None,
) -> dict[str, np.ndarray]:
    """An aggregator's predictions: {target: a value a test row}.

    up_to: the last layer of criteria that counts; None: all.
    """
    X = criteria.X
    if up_to is not None:
        layers = criteria.layers or {}
        upper = [name for name in X if layers.get(name, 1) <= up_to]
        X = X[upper]
    frame = predictions(
        X,
        criteria.Y,
        test,
        kinds=[kind],
        shares=[share],
        seeds=[seed],
        **criteria.settings,
    )
    # The predictions come row by row, all targets of a row together.
    by_row = frame["predicted"].to_numpy().reshape(len(test), -1)
    by_target = by_row.T.copy()
    return dict(zip(criteria.Y, by_target, strict=True))


def unfitted(criteria: CriteriaScores, test: np.ndarray) -> pd.DataFrame:
    """Predictions without any fitting, by two averages: every score counts for every
    target (`ALL`, as in Table 4 without aggregator), or those of its aspect (`OWN`).
    """
    tables = []
    for target, human in criteria.Y.items():
        averaged = {ALL: list(criteria.X), OWN: list(criteria.own[target])}
        for kind, names in averaged.items():
            mean = criteria.X[names].mean(axis=1)
            columns = {
                "kind": kind,
                "seed": 0,
                "row": test,
                "target": target,
                "predicted": mean.to_numpy()[test],
                "human": human.to_numpy()[test],
            }
            tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def on_splits(
    criteria: CriteriaScores,
    unit: str,
    seeds: Iterable[int],
    kinds: Sequence[str] = tuple(PRINTED_NAMES),
    share: float = 1.0,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> pd.DataFrame:
    """Quality of averages and fitted aggregators on the test half of each split: a row
    a model, split and target.

    share: of the training half that is trained on (0.5: the paper's 25 % of all data).
    options: {kind: scikit-learn's settings}.
    Returns: `data, unit, split, kind, target, coef, value, n`; `kind` in the paper's
    names.
    """
    options = options or {}
    tables = []
    for seed in progress.bar(seeds, desc=f"splits by {unit}"):
        test = criteria.test_rows(unit, seed)
        found = [unfitted(criteria, test)]
        for kind in kinds:
            predicted = predictions(
                criteria.X,
                criteria.Y,
                test,
                kinds=[kind],
                shares=[share],
                seeds=[seed],
                options=options.get(kind),
                **criteria.settings,
            )
            found.append(predicted.replace({"kind": PRINTED_NAMES}))
        joined = pd.concat(found, ignore_index=True)
        quality = qualities(joined, ["kind"])
        tables.append(quality.assign(split=seed))
    table = pd.concat(tables, ignore_index=True)
    return table.assign(data=criteria.label, unit=unit)


def qualities(predicted: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Dataset-level coefficients of predictions: a row a setting (`by`), target and
    coefficient.

    predicted: columns `target`, `predicted`, `human` and those of `by`.
    Returns: `value` (NaN for fewer than two predictions) and `n` beside the names.
    """
    names = [*by, "target"]
    rows = []
    for key, of_setting in predicted.groupby(names, sort=False):
        present = of_setting.dropna(subset="predicted")
        x = present["predicted"].to_numpy()
        y = present["human"].to_numpy()
        for coef in COEFS:
            value = np.nan
            if len(x) > 1:
                value = statistics.coefficients(x[None, :], y, coef)[0]
            row = dict(zip(names, key, strict=True))
            row["coef"] = coef
            row["value"] = value
            row["n"] = len(x)
            rows.append(row)
    return pd.DataFrame(rows)


def over_targets(quality: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The mean over targets within each setting (`by`), coefficient and split; as `n`
    the smallest over the targets.
    """
    settings = quality.groupby([*by, "coef", "split"], sort=False)
    means = settings.agg(value=("value", "mean"), n=("n", "min"))
    return means.reset_index()


def mean_correlation(values: pd.Series, half: float) -> statistics.Resampled:
    """The mean of correlations over splits into halves, with its interval
    (`statistics.resampled_t`) cut where correlations end, at -1 and 1.

    half: rows (or inputs) of one side of a split.
    """
    mean = statistics.resampled_t(values, half, half)
    low = max(mean.low, -1.0)
    high = min(mean.high, 1.0)
    return replace(mean, low=low, high=high)


def over_splits(quality: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """The mean over splits with its interval (`statistics.resampled_t`, halves): a row a
    setting and coefficient.

    quality: `split`, `coef`, `value`, `n` and the columns of `by`.
    """
    names = [*by, "coef"]
    rows = []
    for key, of_setting in quality.groupby(names, sort=False):
        half = of_setting["n"].mean()
        mean = mean_correlation(of_setting["value"], half)
        row = dict(zip(names, key, strict=True))
        row["value"] = mean.value
        row["ci_low"] = mean.low
        row["ci_high"] = mean.high
        row["sd"] = mean.sd
        row["n"] = int(of_setting["n"].min())
        row["signature"] = f"level:dataset|coef:{key[-1]}|{mean.signature()}"
        rows.append(row)
    return pd.DataFrame(rows)


def against(quality: pd.DataFrame, base: str, by: Sequence[str]) -> pd.DataFrame:
    """Is each kind better than `base`, split by split? `kinds_against` one base."""
    kinds = [kind for kind in quality["kind"].unique() if kind != base]
    tests = kinds_against(quality, kinds, [base], by)
    return tests.drop(columns="against")


def kinds_against(
    quality: pd.DataFrame, kinds: Sequence[str], bases: Sequence[str], by: Sequence[str]
) -> pd.DataFrame:
    """Is each of some kinds better than each of others, split by split? Corrected
    resampled t-tests, Holm over all rows together.

    quality: as `over_targets` gives it.
    kinds, bases: of its column `kind`; a kind is not held against itself.
    by: the columns that name a setting, without `kind`.
    Raises: ValueError for a base that is no kind, naming them.
    """
    for base in bases:
        variant_tests.check_base(base, quality["kind"].unique())
    names = [*by, "coef"]
    rows = []
    for key, of_setting in quality.groupby(names):
        half = of_setting["n"].mean()
        values = of_setting.pivot(index="split", columns="kind", values="value")
        for kind, base in itertools.product(kinds, bases):
            if kind == base:
                continue
            gains = values[kind] - values[base]
            test = statistics.resampled_t(gains, half, half)
            row = dict(zip(names, key, strict=True))
            row["kind"] = kind
            row["against"] = base
            row["difference"] = test.value
            row["ci_low"] = test.low
            row["ci_high"] = test.high
            row["p"] = test.p
            row["signature"] = f"test:resampled-t|against:{base}|{test.signature()}"
            rows.append(row)
    table = pd.DataFrame(rows)
    corrected = statistics.correct(table["p"].tolist(), "holm")
    after_p = table.columns.get_loc("p") + 1
    table.insert(after_p, "p_holm", corrected.adjusted)
    return table


def beyond_the_papers(kinds: Iterable[str]) -> list[str]:
    """The aggregators among these that the paper does not have."""
    return [kind for kind in kinds if kind not in PRINTED_NAMES]


def predictions(
    X: pd.DataFrame,
    Y: pd.DataFrame,
    test: Sequence[int] | np.ndarray,
    *,
    kinds: Iterable[str] = ("mlp",),
    shares: Iterable[float] = (1.0,),
    counts: Sequence[int] = (),
    seeds: Iterable[int] = range(5),
    **settings: Any,
) -> pd.DataFrame:
    """What does each kind of aggregator predict for the test rows, to be correlated
    with the ratings beside it?

    X, Y: criteria scores and ratings, rows aligned.
    test: positions of the rows that are predicted; all others train.
    seeds: of the aggregators; a seed also draws the training rows.
    shares: of the training rows, in (0, 1], drawn at random for each seed (Figure 4).
    counts: how many criteria, the most important by permutation (Figure 5); (): all.
    settings: of `hdeval.Aggregator`.

    Returns: columns kind, share, criteria (how many), seed, row (position in X),
    target, predicted (NaN where too few rows train), human; with counts
    `attrs["order"]`: {seed: criteria, most important first}.
    Raises: ValueError for a share outside (0, 1].
    """
    train = np.setdiff1d(np.arange(len(X)), test)
    human = Y.iloc[test]
    orders = {}
    tables = []
    for kind, share, seed in itertools.product(kinds, shares, seeds):
        rows = _training_rows(train, share, seed)
        X_train = X.iloc[rows]
        Y_train = Y.iloc[rows]
        # With counts: which criteria are the most important in these training rows?
        order = list(X.columns)
        if counts:
            aggregator = hdeval.Aggregator(kind, seed=seed, **settings)
            aggregator.fit(X_train, Y_train)
            importance = hdeval.permutation_importance(
                aggregator, X_train, Y_train, seed=seed
            )
            order = orders[seed] = hdeval.top(importance, order, len(order))
        for count in counts or (len(order),):
            aggregator = hdeval.Aggregator(kind, seed=seed, **settings)
            try:
                aggregator.fit(X_train[order[:count]], Y_train)
                predicted = aggregator.predict(X.iloc[test])
            except hdeval.TooFewRows:
                predicted = human * np.nan
            table = {
                "kind": kind,
                "share": share,
                "criteria": count,
                "seed": seed,
                "row": np.repeat(np.asarray(test), human.shape[1]),
                "target": list(human.columns) * len(test),
                "predicted": predicted.to_numpy().ravel(),
                "human": human.to_numpy(dtype=float).ravel(),
            }
            tables.append(pd.DataFrame(table))
    joined = pd.concat(tables, ignore_index=True)
    joined.attrs["order"] = orders
    return joined


def _training_rows(train: np.ndarray, share: float, seed: int) -> np.ndarray:
    """A random share of the training rows (positions), two or more, in their order."""
    if not 0 < share <= 1:
        raise ValueError(f"share is {share!r}; a number above 0 and up to 1 is needed")
    size = max(2, round(len(train) * share))
    shuffled = np.random.default_rng(seed).permutation(len(train))
    return train[np.sort(shuffled[:size])]
