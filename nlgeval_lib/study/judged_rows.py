"""Judges and metrics of a printed table: which of its rows their scores give here, and
why the others are lacking.

parts = {"openmeva": Part(outputs("openmeva", mode), {"OpenMEVA": "overall"}), ...}
cells = correlated(parts, scored(parts, {"BLEU": Bleu(), ...}), coefs=["spearman"])
judged = asked("coascore_table_02", parts, {"coefs": ["spearman"]}, engine="replay", mode=mode)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets, papers
from nlgeval_lib.evaluators import Unavailable
from nlgeval_lib.scoring import correlations
from nlgeval_lib.study import catalogue, metrics, published_rows
from nlgeval_lib.study.catalogue import JUDGED_BY
from nlgeval_lib.study.questions import judge_scores
from nlgeval_lib.study.scores import JudgeScores

# A system may have several outputs for one input.
ITEM = ["input_id", "system_id", "output"]


@dataclass
class JudgedRows:
    """Scores in the order of `items`: row -> aspect ("": every one) -> values (NaN for
    none).

    signatures: row -> the judge's. draws: row -> aspect -> `[draw, output]`, where a
    judge was asked several times an output. fixed: rows of metrics, which say the same
    whenever they are asked. A further server that answered the same is a row
    "ROW|judged-by:WHO". lacking: row -> why it has no scores here. mini: row
    -> scores of the miniature judge or of a stand-in, which never stand in a paper's
    row.
    """

    items: pd.DataFrame
    scores: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    draws: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    lacking: dict[str, str] = field(default_factory=dict)
    mini: dict[str, JudgeScores] = field(default_factory=dict)

    def table(
        self, aspects: Mapping[str, str], human: Mapping[str, Any], **how: Any
    ) -> pd.DataFrame:
        """The table of correlations (`scoring.correlations.table`), route `run`; a
        signature tells judge and statistic.

        aspects: the table's column -> the aspect that was judged. An empty frame where
        no judge has scores.
        """
        if not self.scores:
            return pd.DataFrame()
        scores: dict[str, dict[str, np.ndarray]] = {}
        for row, by_aspect in self.scores.items():
            scores[row] = {}
            for column, aspect in aspects.items():
                name = aspect if aspect in by_aspect else ""
                scores[row][column] = by_aspect[name]
        table = correlations.table(self.items, scores, human, **how)
        judge = table["row"].map(self.signatures)
        signature = table["signature"] + "|judge:" + judge
        table = table.assign(route="run", signature=signature)
        return self._with_spread(table, aspects, human, how)

    def _with_spread(
        self,
        table: pd.DataFrame,
        aspects: Mapping[str, str],
        human: Mapping[str, Any],
        how: Mapping[str, Any],
    ) -> pd.DataFrame:
        """The table with `own_sd` and `draws`: how far the judge's own draws move each
        coefficient; NaN where an output was asked about once.
        """
        spreads = []
        counts = []
        for cell in table.itertuples(index=False):
            spread = 0.0 if cell.row in self.fixed else np.nan
            count = 1
            draws = self._drawn(cell.row, aspects.get(cell.column, cell.column))
            if draws is not None and cell.row not in self.fixed:
                ratings = human[cell.column]
                if isinstance(ratings, str):
                    ratings = self.items[ratings]
                coefficient = correlations.coefficient(
                    self.items, ratings, cell.statistic, **how
                )
                spread = papers.own_sd(draws, coefficient)
                count = len(draws)
            spreads.append(spread)
            counts.append(count)
        return table.assign(own_sd=spreads, draws=counts)

    def _drawn(self, row: str, aspect: str) -> np.ndarray | None:
        """The draws of a row for one aspect; None where there is one an output."""
        by_aspect = self.draws.get(row, {})
        return by_aspect.get(aspect, by_aspect.get(""))


def judged_rows(
    output: str, items: pd.DataFrame, names: Mapping[str, str], **asked: Any
) -> JudgedRows:
    """What the judges and the metrics of a catalogue's output say of `items`.

    items: the table's outputs, a row each, with `input_id` and `system_id`. names: {row
    of the table: the judge's name in the catalogue}. asked: engine, model, revision,
    mode ..., as `study.judge_scores` takes them; with another engine than replay,
    metrics are computed where their weights are here.
    Raises: what `study.judge_scores` raises.
    """
    judged = JudgedRows(items)
    _add_metrics(judged, output, compute=asked.get("engine", "replay") != "replay")
    places = pd.MultiIndex.from_frame(items[ITEM])
    for row, name in names.items():
        answers = judge_scores(output, name, **asked)
        if not answers.available:
            judged.lacking[row] = papers.gap(papers.NEEDS_RUN, answers.why)
        elif answers.route != "run":
            judged.mini[row] = answers
        else:
            _add_judge(judged, row, answers, places)
            for other in answers.others:
                _, mark, who = other.signature.partition(JUDGED_BY)
                _add_judge(judged, f"{row}{mark}{who}", other, places)
    return judged


def _add_judge(
    judged: JudgedRows, row: str, answers: JudgeScores, places: pd.MultiIndex
) -> None:
    """Add a judge's scores under a row's name.

    places: the outputs, in order.
    """
    frame = answers.frame.drop_duplicates([*ITEM, "aspect"])
    wide = frame.pivot(index=ITEM, columns="aspect", values="value")
    scores = {}
    for aspect, values in wide.reindex(places).items():
        scores[str(aspect)] = values.to_numpy(float)
    judged.scores[row] = scores
    judged.signatures[row] = answers.signature
    judged.draws[row] = drawn(frame, places)


def _add_metrics(judged: JudgedRows, output: str, compute: bool) -> None:
    """Add what the metrics of a catalogue's output say, or why they say nothing."""
    listed = catalogue.load()
    for row, ids_by_aspect in listed[output].metrics.items():
        scores = {}
        signatures = []
        models = []
        try:
            for aspect, ids in ids_by_aspect.items():
                averaged_over = [listed.metrics[name] for name in ids]
                models.append(averaged_over[0].model)
                values, signature = metrics.scores(averaged_over, judged.items, compute)
                scores[aspect] = values
                signatures.append(signature)
        except Unavailable as error:
            reason = f"{error}; to compute it: {metrics.way(output, models[0])}"
            judged.lacking[row] = papers.gap(papers.NEEDS_WEIGHTS, reason)
            continue
        judged.scores[row] = scores
        judged.fixed.add(row)
        judged.signatures[row] = signatures[0]


def drawn(frame: pd.DataFrame, places: pd.MultiIndex) -> dict[str, np.ndarray]:
    """The values of a judge's draws by aspect, each `[draw, output]`, NaN for a draw
    without a score; nothing of a judge that was asked once an output.

    frame: judged rows with ITEM, `aspect` and `details`. places: the outputs, in order.
    """
    draws: dict[str, np.ndarray] = {}
    if "details" not in frame:
        return draws
    for aspect, part in frame.groupby("aspect", sort=False):
        values = {}
        outputs = part[ITEM].itertuples(index=False, name=None)
        for place, details in zip(outputs, part["details"], strict=True):
            if "values" in details:
                values[place] = details["values"]
        if not values:
            continue
        most = max(len(row) for row in values.values())
        matrix = np.full((most, len(places)), np.nan)
        for position, place in enumerate(places):
            row = values.get(place, ())
            matrix[: len(row), position] = row
        draws[str(aspect)] = matrix
    return draws


# -- tables over several data sets


@dataclass(frozen=True)
class Part:
    """One data set of a printed table, and its columns there.

    items: its outputs, a row each. columns: {the table's column: the rated aspect}.
    average: the data set's one column, where the table prints the mean of the aspects'
    coefficients; digits: each is rounded to so many before.
    """

    items: pd.DataFrame
    columns: Mapping[str, str]
    average: str = ""
    digits: int | None = None

    @classmethod
    def of(
        cls,
        label: str,
        items: pd.DataFrame,
        aspects: Sequence[str],
        digits: int | None = None,
    ) -> Part:
        """A data set with one column, `label`: an aspect's coefficient, or the mean
        of those of several.
        """
        if len(aspects) == 1:
            return cls(items, {label: aspects[0]})
        return cls(items, dict(zip(aspects, aspects, strict=True)), label, digits)

    @property
    def human(self) -> dict[str, str]:
        """{the table's column: the column of `items` with the ratings}."""
        return {column: f"human_{aspect}" for column, aspect in self.columns.items()}


def outputs(name: str, mode: str = "full", **options: Any) -> pd.DataFrame:
    """The outputs of a data set, a row each; in mode "quick" of its first 20 inputs.

    options: those of its loader.
    """
    frame = datasets.load(name, **options)
    if mode == "quick":
        frame = datasets.quick(frame, catalogue.QUICK_INPUTS)
    return datasets.items(frame)


def on_spread(metric: Any, inputs: int) -> Callable[[pd.DataFrame], pd.Series]:
    """A metric that scores so many evenly spread inputs at most, and leaves the
    others without a score.
    """

    def score(items: pd.DataFrame) -> pd.Series:
        ids = items["input_id"].unique()
        positions = np.linspace(0, len(ids) - 1, min(inputs, len(ids)))
        chosen = ids[positions.round().astype(int)]
        judged = metric.score(items[items["input_id"].isin(chosen)])
        return judged["value"].reindex(items.index)

    return score


def scored(
    parts: Mapping[str, Part], metrics: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """What metrics say of each part: {part: {row: a value an output}}.

    metrics: {row: an evaluator or a function of the outputs, or {part: one of these}}.
    """
    scores: dict[str, dict[str, Any]] = {name: {} for name in parts}
    for name, part in parts.items():
        for row, metric in metrics.items():
            if isinstance(metric, Mapping):
                metric = metric[name]
            if callable(metric):
                scores[name][row] = metric(part.items)
            else:
                scores[name][row] = metric.score(part.items)["value"]
    return scores


def correlated(
    parts: Mapping[str, Part], scores: Mapping[str, Mapping[str, Any]], **how: Any
) -> pd.DataFrame:
    """The correlations of each part's scores with its ratings
    (`scoring.correlations.table`), an aspect a column.

    scores: as `scored` gives them, of all parts or some. A further column `part` names
    the part.
    """
    tables = []
    for name, by_row in scores.items():
        part = parts[name]
        table = correlations.table(part.items, by_row, part.human, **how)
        tables.append(table.assign(part=name))
    return pd.concat(tables, ignore_index=True)


def averaged(parts: Mapping[str, Part], cells: pd.DataFrame) -> pd.DataFrame:
    """The same correlations in the table's columns: of a part with one column alone,
    the mean over its aspects.
    """
    tables = []
    for name, table in cells.groupby("part", sort=False):
        part = parts[str(name)]
        if part.average:
            table = correlations.averaged(table, part.average, digits=part.digits)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def with_mean(cells: pd.DataFrame, label: str = "average") -> pd.DataFrame:
    """Correlations, and of each row that has all columns the mean: a column `label`.

    cells: with `route`.
    """
    columns = cells.groupby(["row", "route"])["column"].transform("nunique")
    complete = cells[columns == cells["column"].nunique()]
    tables = [cells]
    for route, table in complete.groupby("route", sort=False):
        tables.append(correlations.averaged(table, label).assign(route=route))
    return pd.concat(tables, ignore_index=True)


@dataclass
class Asked:
    """Tables of cells, route `run`; why (row, column) have none; what the miniature
    judge said instead.
    """

    tables: list[pd.DataFrame] = field(default_factory=list)
    lacking: dict[tuple[str, str], str] = field(default_factory=dict)
    mini: dict[str, JudgeScores] = field(default_factory=dict)


def asked(
    output: str, parts: Mapping[str, Part], how: Mapping[str, Any], **engine: Any
) -> Asked:
    """The rows of a table that its judges and metrics in the catalogue give, part by
    part; and those whose scores others published, where these are here (route public).

    A judge named "ROW, PART" in the catalogue is the row's for that part. how: options
    of the correlations. engine: engine, model, revision, mode ..., as `judged_rows`
    takes them. Raises: what `judged_rows` raises.
    """
    answers = Asked()
    listed = [question.name for question in catalogue.load().questions_of(output)]
    for name, part in parts.items():
        suffix = f", {name}"
        names = {
            judge.removesuffix(suffix): judge
            for judge in listed
            if judge.endswith(suffix)
        }
        judged = judged_rows(output, part.items, names, **engine)
        cells = judged.table(part.columns, part.human, **how)
        published, unread = published_rows.table(
            output, name, part.items, part.columns, part.human, **how
        )
        for route, table in (("run", cells), ("public", published)):
            if len(table):
                means = averaged(parts, table.assign(part=name))
                answers.tables.append(means.assign(route=route))
        columns = [part.average] if part.average else [*part.columns]
        for row, reason in {**judged.lacking, **unread}.items():
            answers.lacking |= {(row, column): reason for column in columns}
        for row, scores in judged.mini.items():
            answers.mini[f"{row}, {name}"] = scores
    return answers
