"""Every recorded judge on every rated, labelled and paired set here, beside metrics,
what costs nothing, and the raters' own agreement: data for tables, one row a judge,
set, aspect, level and coefficient.

table = leaderboard.rated()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets, meta, parsers
from nlgeval_lib.datasets import alttest, labelled, recordings
from nlgeval_lib.datasets.families import of_systems as families_of
from nlgeval_lib.scoring import correlations
from nlgeval_lib.study import others, pair_judges, recorded_judges

CEILING = "raters, leave-one-out (ceiling)"
COEFS = ("pearson", "spearman", "kendall-b")
# level -> the coefficients that are shown at it
LEVELS = {
    "dataset": COEFS,
    "input": ("kendall-b",),
    "system": ("kendall-b",),
}
# up to so many judges are tested two by two and corrected by Holm's rule, which would
# leave little of the 2,080 tests of 65; of more, differences are corrected together
MOST_BY_HOLM = 16


@dataclass(frozen=True)
class Board:
    """The judges of one aspect of one set.

    items: a row an output with input_id, system_id, `human`. scores: judge -> a score
    an output; origins: judge -> where its scores come from. free: names of what costs
    nothing. raters: ratings of single raters, a list a rater. levels: those that the
    set has (without systems: the dataset level alone).
    """

    dataset: str
    aspect: str
    items: pd.DataFrame
    scores: Mapping[str, np.ndarray]
    origins: Mapping[str, str]
    free: tuple[str, ...] = ()
    raters: tuple[np.ndarray, ...] = ()
    levels: tuple[str, ...] = tuple(LEVELS)
    ranked: tuple[str, ...] = field(default=())


def rated(
    names: tuple[str, ...] = (), progress: Callable[[str], Any] = lambda text: None
) -> pd.DataFrame:
    """All boards of rated and graded sets as one table: `set, aspect, level, coef,
    judge, value, ci_low, ci_high, best rank, worst rank, n, coverage, tied scores,
    systems, families, baseline, origin, reason, signature`.

    Of Kendall's tau-b also what one interval hides: `these_low, these_high` for these
    systems alone, `families_low, families_high` for other families of systems.
    names: only these sets. progress: called with each board's name.
    """
    rows: list[dict[str, Any]] = []
    for name, make in BOARDS.items():
        if names and name not in names:
            continue
        for board in make():
            progress(f"{board.dataset}, {board.aspect}")
            rows += _rows(board)
    return pd.DataFrame(rows)


def _rows(board: Board) -> Iterator[dict[str, Any]]:
    human = board.items["human"].to_numpy(dtype=float)
    systems = board.items["system_id"].astype(str).tolist()
    families = families_of(board.dataset, systems)
    counts = {"systems": len({*systems}), "families": len({*families})}
    for level in board.levels:
        grid = correlations.Grid(board.items, level)
        by_family = None
        if 2 < counts["families"] < counts["systems"]:
            by_family = correlations.Grid(board.items, level, families=families)
        for coef in LEVELS[level]:
            place: dict[str, Any] = {
                "set": board.dataset,
                "aspect": board.aspect,
                "level": level,
                "coef": coef,
            }
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


def _measured(measure: Callable[[], Any]) -> dict[str, Any]:
    """A coefficient with its interval, or the reason why there is none."""
    try:
        result = measure()
    except ValueError as error:
        return {
            "value": np.nan,
            "ci_low": np.nan,
            "ci_high": np.nan,
            "reason": str(error),
            "signature": "",
        }
    return {
        "value": result.value,
        "ci_low": result.low,
        "ci_high": result.high,
        "reason": result.reason,
        "signature": result.signature(),
    }


def _cell(
    grid: correlations.Grid,
    values: np.ndarray,
    human: np.ndarray,
    coef: str,
    level: str,
) -> dict[str, Any]:
    """A judge's coefficient with its interval, coverage, and share of tied scores."""
    present = ~np.isnan(values) & ~np.isnan(human)
    rated_items = int((~np.isnan(human)).sum())
    row = {
        "n": int(present.sum()),
        "coverage": present.sum() / rated_items if rated_items else np.nan,
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
    """The intervals of tau-b for these systems alone, and for other families of
    systems (by_family: the grid that knows them, None where each is its own).
    """
    settings = (values, human, "kendall-b", level)
    these = _measured(lambda: grid.correlate(*settings, ci="jack-inputs")[0])
    row = {"these_low": these["ci_low"], "these_high": these["ci_high"]}
    if by_family is not None:
        others_like = _measured(lambda: by_family.correlate(*settings)[0])
        row["families_low"] = others_like["ci_low"]
        row["families_high"] = others_like["ci_high"]
    return row


def _tied(values: np.ndarray) -> float:
    """The share of pairs of items that have the same score."""
    n = len(values)
    if n < 2:
        return np.nan
    _, counts = np.unique(values, return_counts=True)
    return float((counts * (counts - 1)).sum() / (n * (n - 1)))


def _ceiling(
    grid: correlations.Grid,
    board: Board,
    coef: str,
    level: str,
) -> dict[str, Any]:
    """How well a rater follows the others."""
    counted = 0

    def ceiling() -> Any:
        nonlocal counted
        result = grid.ceiling(board.raters, coef, level, "auto", 1000, 0)
        counted = result.n
        return result

    row = _measured(ceiling)
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
    """Between which ranks each judge lies, by paired tests corrected by Holm, or, of
    many judges, together; a constant, which nothing is tested against, can have any.
    """
    judges = {}
    for name, values in board.scores.items():
        if np.unique(values[~np.isnan(values)]).size > 1:
            judges[name] = values
    if len(judges) < 2:
        return {}
    if len(judges) > MOST_BY_HOLM:
        sets = grid.rank_judges(judges, human, coef)
    else:
        sets = _ranked_by_holm(judges, grid, human, coef)
    ranks = dict.fromkeys(board.scores, (1, len(board.scores)))
    ranks |= dict(zip(judges, zip(sets.best, sets.worst, strict=True), strict=True))
    return ranks


def _ranked_by_holm(
    judges: Mapping[str, np.ndarray],
    grid: correlations.Grid,
    human: np.ndarray,
    coef: str,
) -> Any:
    """The rank sets of judges of whom every two are tested against each other."""
    names = list(judges)
    first, second = np.triu_indices(len(names), 1)
    p_values = []
    for one, other in zip(first, second, strict=True):
        pair = judges[names[one]], judges[names[other]]
        try:
            test = grid.compare(*pair, human, coef=coef, level="dataset")
            p_values.append(test.p)
        except ValueError:
            p_values.append(np.nan)
    p = np.full((len(names), len(names)), np.nan)
    p[first, second] = p[second, first] = meta.correct(p_values, "holm").adjusted
    values = []
    for scores in judges.values():
        cell = _cell(grid, scores, human, coef, "dataset")
        values.append(cell["value"])
    return meta.rank_sets(values, p, names=names)


# -- the boards


def _free(items: pd.DataFrame) -> dict[str, np.ndarray]:
    """What costs nothing: the output's length, a constant, random scores."""
    made = {}
    if "output" in items:
        lengths = meta.baselines.length(items["output"].tolist())
        made["output length"] = np.asarray(lengths, dtype=float)
    made["constant"] = np.ones(len(items))
    made["random"] = np.asarray(meta.baselines.uniform((len(items),), 0), dtype=float)
    return made


def _board(
    name: str,
    aspect: str,
    items: pd.DataFrame,
    judges: Mapping[str, np.ndarray],
    origin: Mapping[str, str],
    **more: Any,
) -> Board:
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
    """ROUGE-1, ROUGE-L and SemScore (MiniLM); those whose values are not at hand stay
    out.
    """
    from nlgeval_lib.evaluators import Rouge, SemScore

    made = {}
    for metric, make in {
        "ROUGE-1": lambda: Rouge("rouge1"),
        "ROUGE-L": lambda: Rouge("rougeL"),
        "SemScore, MiniLM": SemScore,
    }.items():
        try:
            made[metric] = make().score(items)["value"].to_numpy(dtype=float)
        except (datasets.DataUnavailable, RuntimeError):
            continue
    return made


def _aspect(frame: pd.DataFrame, aspect: str) -> pd.DataFrame:
    return frame[frame["aspect"] == aspect].reset_index(drop=True)


def _summeval() -> Iterator[Board]:
    frame = datasets.load("summeval")
    items = datasets.items(frame)
    six = recorded_judges.scores(items, "alttest_summeval")
    texts = recordings.load("llm_summeval", prompt_forms=("rts",))
    scale = dict.fromkeys(frame.attrs["aspects"], (1, 5))
    five = recorded_judges.scores(items, recorded_judges.read_ratings(texts, scale))
    metrics = _metrics(items)
    for aspect in frame.attrs["aspects"]:
        rows = _aspect(frame, aspect)
        judges = {name: given[aspect] for name, given in six.items()}
        origins = dict.fromkeys(judges, "alttest_summeval")
        for name, given in five.items():
            judges[name] = given[aspect]
            origins[name] = "llm_summeval, reason then score, 12 systems"
        raters = [rows[f"rater_expert_{number}"].to_numpy() for number in range(3)]
        yield _board(
            "summeval",
            aspect,
            rows,
            judges | metrics,
            origins,
            raters=tuple(raters),
        )


def _topical_chat() -> Iterator[Board]:
    frame = datasets.load("topical_chat", ground_truth=False)
    texts = recordings.load("acloserlook")
    low_high = {
        aspect: frame.attrs["scale"][aspect] for aspect in texts["aspect"].unique()
    }
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
        for form, given in forms.items():
            judges[f"gpt-3.5-turbo-0613, {form}"] = given[aspect]
        origins = dict.fromkeys(judges, "acloserlook, mean of 20 draws")
        if "unieval" in rows:
            judges["UniEval"] = rows["unieval"].to_numpy(dtype=float)
            origins["UniEval"] = "the set's file"
        columns = [name for name in rows if str(name).startswith("rater_")]
        raters = tuple(rows[name].to_numpy(dtype=float) for name in columns)
        yield _board(
            "topical_chat",
            aspect,
            rows,
            judges,
            origins,
            raters=raters,
        )


def _wmt22() -> Iterator[Board]:
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
        if judges:
            yield _board(
                name,
                aspect,
                rows,
                judges,
                dict.fromkeys(judges, origin),
            )


def _openmeva() -> Iterator[Board]:
    frame = datasets.load("openmeva")
    columns = [name for name in frame if str(name).startswith("stored_")]
    names = {name: name.removeprefix("stored_") for name in columns}
    yield from _stored("openmeva", names, "stored with the set")


def _graded() -> Iterator[Board]:
    said = recordings.load("alttest_judges")
    for part, words in alttest.LABELS.items():
        if words:
            continue
        name = f"alttest_{part}"
        frame = datasets.load(name)
        of_set = said[said["dataset"] == name]
        table = of_set.pivot(index="input_id", columns="judge", values="value")
        table = table.reindex(frame["input_id"])
        judges = {judge: table[judge].to_numpy() for judge in table}
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
    frame = datasets.load("llm_rubric")
    said = recordings.load("llm_rubric_judge")
    for question in frame.attrs["aspects"]:
        # three systems are too few to stand for others; each dialogue is its own input
        rows = _aspect(frame, question).assign(system_id="")
        answers = said[said["aspect"] == question].set_index("input_id")
        answers = answers.reindex(rows["input_id"])
        judges = {}
        for reading, column in others.READINGS.items():
            judges[f"gpt-3.5-turbo-16k, {reading.replace('_', ' ')}"] = answers[
                column
            ].to_numpy(dtype=float)
        origins = dict.fromkeys(judges, "llm_rubric_judge")
        yield _board(
            "llm_rubric",
            question,
            rows,
            judges,
            origins,
            levels=("dataset",),
        )


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
    """Judges of categories: accuracy against the label of most raters and kappa, beside
    the most frequent label, with the winning rate of the alternative annotator test.
    """
    said = recordings.load("alttest_judges")
    rows = []
    for part, words in alttest.LABELS.items():
        if not words:
            continue
        name = f"alttest_{part}"
        frame = datasets.load(name)
        gold = frame["human"].to_numpy(dtype=float)
        ratings = labelled.raters(frame)
        of_set = said[said["dataset"] == name]
        table = of_set.pivot(index="input_id", columns="judge", values="value")
        table = table.reindex(frame["input_id"])
        test = alttest.TESTS[part]
        for judge in table:
            values = table[judge].to_numpy()
            result = meta.alt_test(
                values,
                ratings,
                test.score,
                test.epsilon,
            )
            more = {
                "winning rate": result.winning_rate,
                "advantage": result.advantage,
            }
            row = (
                _of_labels(
                    name,
                    str(judge),
                    values,
                    gold,
                )
                | more
            )
            rows.append(row | {"passed": result.passed})
        frequent = np.full(len(gold), pd.Series(gold).mode().iloc[0])
        rows.append(
            _of_labels(
                name,
                "most frequent label (baseline)",
                frequent,
                gold,
            )
        )
    return pd.DataFrame(rows)


def _of_labels(
    name: str,
    judge: str,
    values: np.ndarray,
    gold: np.ndarray,
) -> dict[str, Any]:
    """A judge's accuracy with its interval, and kappa."""
    present = ~np.isnan(values) & ~np.isnan(gold)
    right = (values == gold)[present].astype(float)
    # a label that is right is a verdict 1 beside a preference 1
    share = meta.pair_accuracy(2 - right, np.ones(len(right)))
    kappa = meta.kappa(values[present], gold[present]).value
    return {
        "set": name,
        "judge": judge,
        "accuracy": share.value,
        "ci_low": share.low,
        "ci_high": share.high,
        "n": share.n,
        "coverage": float((~np.isnan(values)).mean()),
        "kappa": kappa,
        "signature": f"acc:labels|items:{share.n}{share.interval.signature()}",
    }


def paired() -> pd.DataFrame:
    """Judges of pairs: LLMBar's 65 on all pairs and on each subset, PandaLM's two, each
    set with what costs nothing and its raters.
    """
    parts = []
    frame = datasets.load("llmbar")
    recorded = recordings.load("llmbar_judges")
    for subset in ("all", *frame["subset"].unique()):
        inside = frame if subset == "all" else frame[frame["subset"] == subset]
        judges = {}
        for (judge, form), answers in recorded.groupby(
            ["judge", "prompt_form"], sort=False
        ):
            orders = others.both_orders(answers)
            given, swapped = (said[inside["pair_id"]].to_numpy() for said in orders)
            judges[f"{judge}, {form}"] = (given, swapped)
        table = pair_judges.table(inside, judges)
        parts.append(table.assign(set="llmbar", subset=subset))
    frame = datasets.load("pandalm")
    judges = {}
    for judge, answers in recordings.load("pandalm_judges").groupby("judge"):
        said = answers.set_index("pair_id")["value"][frame["pair_id"]]
        judges[str(judge)] = (said.to_numpy(), None)
    parts.append(pair_judges.table(frame, judges).assign(set="pandalm", subset="all"))
    table = pd.concat(parts, ignore_index=True)
    first = ["set", "subset"]
    return table[[*first, *table.columns.drop(first)]]
