"""Every recorded judge on every rated, labelled and paired set here, beside metrics,
what costs nothing, and the raters' own agreement: data for tables, one row a judge,
set, aspect, level and coefficient.

table = leaderboard.rated()

`rated` measures judges that give scores. For each set a function of `BOARDS` yields
one `Board` an aspect, which `_rows` measures against the ratings. `labels` measures
judges that name a category, `paired` judges that say which of two outputs is better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import others
import pandas as pd

from judgecard import pair_judges, recorded_judges, recordings
from nlgeval_lib import datasets, parsers, statistics
from nlgeval_lib.datasets import alttest, labelled
from nlgeval_lib.datasets.families import of_systems as families_of
from nlgeval_lib.scoring import correlations

CEILING = "raters, leave-one-out (ceiling)"
COEFS = ("pearson", "spearman", "kendall-b")
# Level -> the coefficients that are shown there.
LEVELS = {
    "dataset": COEFS,
    "input": ("kendall-b",),
    "system": ("kendall-b",),
}
# Up to so many judges are tested two by two and corrected by Holm's rule. Of more
# judges the differences are corrected together: Holm's rule would leave little of the
# 2,080 tests of 65 judges.
MOST_BY_HOLM = 16
Row = dict[str, Any]


@dataclass(frozen=True)
class Board:
    """The judges of one aspect of one set.

    dataset: the set's name.
    aspect: what was rated.
    items: a row an output, with `input_id`, `system_id` and the mean rating `human`.
    scores: judge -> a score an output, in the order of `items`; NaN for none.
    origins: judge -> where its scores come from, in words.
    free: the judges among them that cost nothing (length, a constant, random scores).
    raters: the ratings of single raters, an array each, for the ceiling.
    levels: those that the set has; without systems it is the dataset level alone.
    """

    dataset: str
    aspect: str
    items: pd.DataFrame
    scores: Mapping[str, np.ndarray]
    origins: Mapping[str, str]
    free: tuple[str, ...] = ()
    raters: tuple[np.ndarray, ...] = ()
    levels: tuple[str, ...] = tuple(LEVELS)


def rated(
    names: tuple[str, ...] = (),
    progress: Callable[[str], Any] = lambda text: None,
) -> pd.DataFrame:
    """All boards of rated and graded sets as one table, a row a judge, set, aspect,
    level and coefficient.

    names: only these sets (keys of `BOARDS`); none: all.
    progress: called with each board's name before it is measured.

    Returns: `set, aspect, level, coef, judge` name the row. `value, ci_low, ci_high`
    are the coefficient and its 95 % interval, NaN with a `reason` where there is none;
    `signature` says how it was computed. `best rank, worst rank` bound the judge's rank
    (of tau-b at dataset level alone, else missing). `n` counts outputs with a score and
    a rating; `coverage` is their share of the rated ones, and `tied scores` the share
    of pairs of outputs with equal scores. `systems, families` are counts, `baseline`
    marks what is no judge, `origin` says where the scores come from. For tau-b,
    `these_low` and `these_high` hold for these systems alone, `families_low` and
    `families_high` for other families of systems.
    """
    rows: list[Row] = []
    for name, make in BOARDS.items():
        if names and name not in names:
            continue
        for board in make():
            progress(f"{board.dataset}, {board.aspect}")
            rows += _rows(board)
    return pd.DataFrame(rows)


def _rows(board: Board) -> Iterator[Row]:
    """The rows of `rated` for one board, its ceiling last at each level and
    coefficient.
    """
    human = board.items["human"].to_numpy(dtype=float)
    systems = board.items["system_id"].astype(str).tolist()
    families = families_of(board.dataset, systems)
    counts = {
        "systems": len({*systems}),
        "families": len({*families}),
    }
    for level in board.levels:
        grid = correlations.Grid(board.items, level)
        # A second interval, with families as the units, is computed where some systems
        # share a family and there are more than two families.
        by_family = None
        if 2 < counts["families"] < counts["systems"]:
            by_family = correlations.Grid(board.items, level, families=families)
        for coef in LEVELS[level]:
            place: Row = {
                "set": board.dataset,
                "aspect": board.aspect,
                "level": level,
                "coef": coef,
            }
            # Ranks take a test of every two judges, so they are computed for one cell a
            # board.
            ranks = {}
            if level == "dataset" and coef == "kendall-b":
                ranks = _ranks(board, grid, human, coef)
            for judge, values in board.scores.items():
                row = place | {"judge": judge} | counts
                row |= _cell(grid, values, human, coef, level)
                if coef == "kendall-b" and counts["systems"] > 1:
                    row |= _hidden(grid, by_family, values, human, level)
                best, worst = ranks.get(judge, (None, None))
                yield row | {
                    "best rank": best,
                    "worst rank": worst,
                    "baseline": judge in board.free,
                    "origin": board.origins.get(judge, "computed here"),
                }
            if len(board.raters) > 1:
                yield place | counts | _ceiling(grid, board, coef, level)


def _measured(measure: Callable[[], Any]) -> Row:
    """A coefficient with its interval, or the reason why there is none."""
    try:
        return _of_result(measure())
    except ValueError as error:
        return _no_result(error)


def _of_result(result: Any) -> Row:
    """The columns of a coefficient with its interval."""
    return {
        "value": result.value,
        "ci_low": result.low,
        "ci_high": result.high,
        "reason": result.reason,
        "signature": result.signature(),
    }


def _no_result(error: ValueError) -> Row:
    """The same columns where there is no coefficient."""
    return {
        "value": np.nan,
        "ci_low": np.nan,
        "ci_high": np.nan,
        "reason": str(error),
        "signature": "",
    }


def _cell(
    grid: correlations.Grid,
    values: np.ndarray,
    human: np.ndarray,
    coef: str,
    level: str,
) -> Row:
    """A judge's coefficient with its interval, coverage, and share of tied scores."""
    is_rated = ~np.isnan(human)
    present = ~np.isnan(values) & is_rated
    coverage = np.nan
    if is_rated.any():
        coverage = present.sum() / int(is_rated.sum())
    row = {
        "n": int(present.sum()),
        "coverage": coverage,
        "tied scores": _tied(values[present]),
    }
    return row | _measured(lambda: grid.correlate(values, human, coef, level)[0])


def _hidden(
    grid: correlations.Grid,
    by_family: correlations.Grid | None,
    values: np.ndarray,
    human: np.ndarray,
    level: str,
) -> dict[str, float]:
    """The intervals of tau-b that the usual one hides: for these systems alone, and for
    other families of systems.
    """
    settings = (values, human, "kendall-b", level)
    these = grid.correlate(*settings, ci=None)[0].these_systems
    row = {"these_low": np.nan, "these_high": np.nan}
    if these is not None:
        row = {"these_low": these.low, "these_high": these.high}
    if by_family is not None:
        others_like = _measured(lambda: by_family.correlate(*settings)[0])
        row["families_low"] = others_like["ci_low"]
        row["families_high"] = others_like["ci_high"]
    return row


def _tied(values: np.ndarray) -> float:
    """The share of pairs of items that have the same score, 0 to 1; NaN for fewer than
    two items.

    Example:
    >>> round(_tied(np.array([1.0, 1.0, 2.0])), 3)
    0.333
    """
    n = len(values)
    if n < 2:
        return np.nan
    _, counts = np.unique(values, return_counts=True)
    tied_pairs = (counts * (counts - 1)).sum()
    return float(tied_pairs / (n * (n - 1)))


def _ceiling(
    grid: correlations.Grid,
    board: Board,
    coef: str,
    level: str,
) -> Row:
    """How well a rater follows the others, as a row of the table; it is no judge."""
    counted = 0
    try:
        result = grid.ceiling(board.raters, coef, level, "auto", 1000, 0)
        counted = result.n
        row = _of_result(result)
    except ValueError as error:
        row = _no_result(error)
    return row | {
        "judge": CEILING,
        "n": counted,
        "baseline": True,
        "origin": "the set's raters",
    }


def _ranks(
    board: Board,
    grid: correlations.Grid,
    human: np.ndarray,
    coef: str,
) -> dict[str, tuple[int, int]]:
    """Between which ranks each judge lies: judge -> (best, worst); empty for fewer than
    two judges.

    Every two judges are tested on the same items. The tests are corrected by Holm's
    rule, or, of many judges, all together. A constant judge, which nothing can be
    tested against, can have any rank.
    """
    judges = {}
    for name, values in board.scores.items():
        present = values[~np.isnan(values)]
        if np.unique(present).size > 1:
            judges[name] = values
    if len(judges) < 2:
        return {}
    if len(judges) > MOST_BY_HOLM:
        sets = grid.rank_judges(judges, human, coef)
    else:
        sets = _ranked_by_holm(judges, grid, human, coef)
    # Judges that took part in no test keep the full range.
    any_rank = (1, len(board.scores))
    ranks = dict.fromkeys(board.scores, any_rank)
    for judge, best, worst in zip(judges, sets.best, sets.worst, strict=True):
        ranks[judge] = (best, worst)
    return ranks


def _ranked_by_holm(
    judges: Mapping[str, np.ndarray],
    grid: correlations.Grid,
    human: np.ndarray,
    coef: str,
) -> Any:
    """The rank sets (`statistics.rank_sets`) of judges of whom every two are tested against
    each other.
    """
    names = list(judges)
    n = len(names)
    first, second = np.triu_indices(n, 1)
    p_values = []
    for earlier, later in zip(first, second, strict=True):
        earlier_scores = judges[names[earlier]]
        later_scores = judges[names[later]]
        try:
            test = grid.compare(
                earlier_scores,
                later_scores,
                human,
                coef=coef,
                level="dataset",
            )
            p_values.append(test.p)
        except ValueError:
            p_values.append(np.nan)
    adjusted = statistics.correct(p_values, "holm").adjusted
    # `rank_sets` wants a symmetric matrix: each p-value stands in it twice.
    p = np.full((n, n), np.nan)
    p[first, second] = adjusted
    p[second, first] = adjusted
    values = []
    for scores in judges.values():
        cell = _cell(grid, scores, human, coef, "dataset")
        values.append(cell["value"])
    return statistics.rank_sets(values, p, names=names)


# -- the boards


def _free(items: pd.DataFrame) -> dict[str, np.ndarray]:
    """What costs nothing, an array an output: the output's length, a constant, random
    scores.
    """
    n = len(items)
    baselines = {}
    if "output" in items:
        texts = items["output"].tolist()
        lengths = statistics.baselines.length(texts)
        baselines["output length"] = np.asarray(lengths, dtype=float)
    baselines["constant"] = np.ones(n)
    random = statistics.baselines.uniform((n,), 0)
    baselines["random"] = np.asarray(random, dtype=float)
    return baselines


def _board(
    name: str,
    aspect: str,
    items: pd.DataFrame,
    judges: Mapping[str, np.ndarray],
    origin: Mapping[str, str],
    **more: Any,
) -> Board:
    """A board with the judges of one aspect, and the baselines that cost nothing added."""
    free = _free(items)
    origins = {
        **origin,
        **dict.fromkeys(free, "a baseline"),
    }
    scores = {
        **judges,
        **free,
    }
    return Board(
        name,
        aspect,
        items,
        scores,
        origins,
        tuple(free),
        **more,
    )


def _metrics(items: pd.DataFrame) -> dict[str, np.ndarray]:
    """ROUGE-1, ROUGE-L, SemScore with its own encoder and with the small stand-in; those
    whose values are not at hand stay out.
    """
    from nlgeval_lib.evaluators import Rouge, SemScore
    from nlgeval_lib.evaluators.encoders import MINILM, MPNET

    makers: dict[str, Callable[[], Any]] = {
        "ROUGE-1": lambda: Rouge("rouge1"),
        "ROUGE-L": lambda: Rouge("rougeL"),
        "SemScore": lambda: SemScore(model=MPNET.name),
        "SemScore, MiniLM": lambda: SemScore(model=MINILM.name),
    }
    scores = {}
    for metric, make in makers.items():
        try:
            scored = make().score(items)
        except (datasets.DataUnavailable, RuntimeError):
            continue
        if (scored["status"] == "unavailable").any():
            continue
        scores[metric] = scored["value"].to_numpy(dtype=float)
    return scores


def _aspect(frame: pd.DataFrame, aspect: str) -> pd.DataFrame:
    """The rows of one aspect, numbered anew."""
    of_aspect = frame["aspect"] == aspect
    return frame[of_aspect].reset_index(drop=True)


def _columns(frame: pd.DataFrame, prefix: str) -> list[str]:
    """The columns whose names begin with a prefix."""
    return [name for name in frame if str(name).startswith(prefix)]


def _by_judge(
    recorded: pd.DataFrame,
    name: str,
    inputs: pd.Series,
) -> pd.DataFrame:
    """The judges' recorded answers about one set, a column a judge, in the order of
    its inputs.
    """
    of_set = recorded[recorded["dataset"] == name]
    table = of_set.pivot(index="input_id", columns="judge", values="value")
    return table.reindex(inputs)


def _summeval() -> Iterator[Board]:
    """SummEval: six recorded judges, five that gave a reason first, and metrics."""
    frame = datasets.load("summeval")
    items = datasets.items(frame)
    aspects = frame.attrs["aspects"]
    six = recorded_judges.scores(items, "alttest_summeval")
    texts = recordings.load("llm_summeval", prompt_forms=("rts",))
    scale = dict.fromkeys(aspects, (1, 5))
    ratings = recorded_judges.read_ratings(texts, scale)
    five = recorded_judges.scores(items, ratings)
    metrics = _metrics(items)
    for aspect in aspects:
        rows = _aspect(frame, aspect)
        judges = {}
        origins = {}
        for name, by_aspect in six.items():
            judges[name] = by_aspect[aspect]
            origins[name] = "alttest_summeval"
        for name, by_aspect in five.items():
            judges[name] = by_aspect[aspect]
            origins[name] = "llm_summeval, reason then score, 12 systems"
        raters = []
        for number in range(3):
            raters.append(rows[f"rater_expert_{number}"].to_numpy())
        yield _board(
            "summeval",
            aspect,
            rows,
            judges | metrics,
            origins,
            raters=tuple(raters),
        )


def _topical_chat() -> Iterator[Board]:
    """Topical-Chat: one judge under several prompts, the mean of its draws, and
    UniEval.
    """
    frame = datasets.load("topical_chat", ground_truth=False)
    texts = recordings.load("acloserlook")
    low_high = {}
    for aspect in texts["aspect"].unique():
        low_high[aspect] = frame.attrs["scale"][aspect]
    read = recorded_judges.read_ratings(texts, low_high)
    items = datasets.items(frame)
    forms = recorded_judges.scores(
        items,
        read,
        low_high,
        by="prompt_form",
    )
    for aspect in low_high:
        rows = _aspect(frame, aspect)
        judges = {}
        for form, by_aspect in forms.items():
            judges[f"gpt-3.5-turbo-0613, {form}"] = by_aspect[aspect]
        origins = dict.fromkeys(judges, "acloserlook, mean of 20 draws")
        if "unieval" in rows:
            judges["UniEval"] = rows["unieval"].to_numpy(dtype=float)
            origins["UniEval"] = "the set's file"
        raters = []
        for column in _columns(rows, "rater_"):
            raters.append(rows[column].to_numpy(dtype=float))
        yield _board(
            "topical_chat",
            aspect,
            rows,
            judges,
            origins,
            raters=tuple(raters),
        )


def _wmt22() -> Iterator[Board]:
    """WMT22 Chinese-English: InstructScore and GEMBA, with MQM ratings."""
    frame = datasets.load("wmt22_zhen")
    items = datasets.items(frame)
    judges = {
        "InstructScore": recorded_judges.of_one(
            items, "instructscore_wmt22", read=parsers.instructscore
        )
    }
    origins = {"InstructScore": "instructscore_wmt22"}
    for judge in ("GPT4", "Turbo"):
        for form in ("DA-refA", "DA-src"):
            name = f"GEMBA-{judge}, {form}"
            judges[name] = recorded_judges.of_one(
                items,
                "gemba_wmt22",
                judge,
                form,
                rated=True,
            )
            origins[name] = "gemba_wmt22"
    yield _board(
        "wmt22_zhen",
        "mqm",
        frame,
        judges,
        origins,
    )


def _stored(
    name: str,
    columns: Mapping[str, str],
    origin: str,
) -> Iterator[Board]:
    """The scores that stand in the set's own files."""
    frame = datasets.load(name)
    for aspect in frame.attrs["aspects"]:
        rows = _aspect(frame, aspect)
        judges = {}
        for column, label in columns.items():
            if column in rows and rows[column].notna().any():
                judges[label] = rows[column].to_numpy(dtype=float)
        # An aspect that none of the columns has scores for gives no board.
        if judges:
            yield _board(
                name,
                aspect,
                rows,
                judges,
                dict.fromkeys(judges, origin),
            )


def _openmeva() -> Iterator[Board]:
    """OpenMEVA: every metric whose scores the set's publishers stored."""
    frame = datasets.load("openmeva")
    names = {}
    for column in _columns(frame, "stored_"):
        names[column] = column.removeprefix("stored_")
    yield from _stored("openmeva", names, "stored with the set")


def _graded() -> Iterator[Board]:
    """The sets of the alternative annotator test whose raters gave grades; those with
    labels are in `labels`.
    """
    recorded = recordings.load("alttest_judges")
    for set_name, words in alttest.LABELS.items():
        if words:
            continue
        name = f"alttest_{set_name}"
        frame = datasets.load(name)
        answers = _by_judge(recorded, name, frame["input_id"])
        judges = {}
        for judge in answers:
            judges[judge] = answers[judge].to_numpy()
        origins = dict.fromkeys(judges, "alttest_judges")
        raters = tuple(labelled.raters(frame))
        yield _board(
            name,
            alttest.ASPECT,
            frame,
            judges,
            origins,
            raters=raters,
            levels=("dataset",),
        )


def _llm_rubric() -> Iterator[Board]:
    """LLM-Rubric's nine questions, one judge read in three ways."""
    frame = datasets.load("llm_rubric")
    recorded = recordings.load("llm_rubric_judge")
    for question in frame.attrs["aspects"]:
        # three systems are too few to stand for others; each dialogue is its own input
        rows = _aspect(frame, question).assign(system_id="")
        of_question = recorded[recorded["aspect"] == question]
        answers = of_question.set_index("input_id").reindex(rows["input_id"])
        judges = {}
        for reading, column in others.READINGS.items():
            label = f"gpt-3.5-turbo-16k, {reading.replace('_', ' ')}"
            judges[label] = answers[column].to_numpy(dtype=float)
        origins = dict.fromkeys(judges, "llm_rubric_judge")
        yield _board(
            "llm_rubric",
            question,
            rows,
            judges,
            origins,
            levels=("dataset",),
        )


# Set, or family of sets -> the function that makes its boards.
BOARDS: Mapping[str, Callable[[], Iterator[Board]]] = {
    "summeval": _summeval,
    "topical_chat": _topical_chat,
    "wmt22_zhen": _wmt22,
    "sfres": lambda: _stored("sfres", {"unieval": "UniEval"}, "the set's file"),
    "sfhot": lambda: _stored("sfhot", {"unieval": "UniEval"}, "the set's file"),
    "openmeva": _openmeva,
    "alttest": _graded,
    "llm_rubric": _llm_rubric,
}


# -- labels and pairs


def labels() -> pd.DataFrame:
    """Judges of categories on each labelled set, beside the most frequent label.

    Returns: a row a set and judge: `accuracy` against the label of most raters, with
    `ci_low, ci_high`; `n`; `coverage`; `kappa`; `signature`. `winning rate`,
    `advantage` and `passed` are those of the alternative annotator test, NaN for the
    baseline.
    """
    recorded = recordings.load("alttest_judges")
    rows = []
    for set_name, words in alttest.LABELS.items():
        if not words:
            continue
        name = f"alttest_{set_name}"
        frame = datasets.load(name)
        gold = frame["human"].to_numpy(dtype=float)
        ratings = labelled.raters(frame)
        answers = _by_judge(recorded, name, frame["input_id"])
        test = alttest.TESTS[set_name]
        for judge in answers:
            values = answers[judge].to_numpy()
            result = statistics.alt_test(
                values,
                ratings,
                test.score,
                test.epsilon,
            )
            row = _of_labels(name, str(judge), values, gold)
            row["winning rate"] = result.winning_rate
            row["advantage"] = result.advantage
            row["passed"] = result.passed
            rows.append(row)
        most_frequent = pd.Series(gold).mode().iloc[0]
        constant = np.full(len(gold), most_frequent)
        label = "most frequent label (baseline)"
        rows.append(_of_labels(name, label, constant, gold))
    return pd.DataFrame(rows)


def _of_labels(
    name: str,
    judge: str,
    values: np.ndarray,
    gold: np.ndarray,
) -> Row:
    """A judge's accuracy with its interval, and kappa, over the items that it labelled."""
    answered = ~np.isnan(values)
    present = answered & ~np.isnan(gold)
    right = (values == gold)[present].astype(float)
    # `pair_accuracy` gives the interval: a label that is right becomes verdict 1, a
    # wrong one verdict 2, beside a preference 1 for every item.
    share = statistics.pair_accuracy(2 - right, np.ones(len(right)))
    kappa = statistics.kappa(values[present], gold[present])
    return {
        "set": name,
        "judge": judge,
        "accuracy": share.value,
        "ci_low": share.low,
        "ci_high": share.high,
        "n": share.n,
        "coverage": float(answered.mean()),
        "kappa": kappa.value,
        "signature": f"acc:labels|items:{share.n}{share.interval.signature()}",
    }


def paired() -> pd.DataFrame:
    """Judges of pairs: LLMBar's 65 on all pairs and on each subset, PandaLM's two, each
    set with what costs nothing and its raters.

    Returns: `set, subset`, then the columns of `pair_judges.table`.
    """
    tables = [*_llmbar(), _pandalm()]
    table = pd.concat(tables, ignore_index=True)
    first = ["set", "subset"]
    return table[[*first, *table.columns.drop(first)]]


def _llmbar() -> Iterator[pd.DataFrame]:
    """LLMBar's judges on all pairs and on each subset, a table each."""
    frame = datasets.load("llmbar")
    recorded = recordings.load("llmbar_judges")
    keys = ["judge", "prompt_form"]
    for subset in ("all", *frame["subset"].unique()):
        rows = frame
        if subset != "all":
            rows = frame[frame["subset"] == subset]
        judges = {}
        for (judge, form), answers in recorded.groupby(keys, sort=False):
            in_given, in_swapped = others.both_orders(answers)
            judges[f"{judge}, {form}"] = (
                in_given[rows["pair_id"]].to_numpy(),
                in_swapped[rows["pair_id"]].to_numpy(),
            )
        table = pair_judges.table(rows, judges)
        yield table.assign(set="llmbar", subset=subset)


def _pandalm() -> pd.DataFrame:
    """PandaLM's two judges on all pairs."""
    frame = datasets.load("pandalm")
    recorded = recordings.load("pandalm_judges")
    judges = {}
    for judge, answers in recorded.groupby("judge"):
        by_pair = answers.set_index("pair_id")["value"]
        verdicts = by_pair[frame["pair_id"]]
        judges[str(judge)] = (verdicts.to_numpy(), None)
    table = pair_judges.table(frame, judges)
    return table.assign(set="pandalm", subset="all")
