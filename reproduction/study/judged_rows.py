"""Judges and metrics of a printed table: which of its rows their scores give here, and
why the others are lacking.

parts = {"openmeva": Part(outputs("openmeva", mode), {"OpenMEVA": "overall"}), ...}
cells = correlated(parts, scored(parts, {"BLEU": Bleu(), ...}), coefs=["spearman"])
options = {"engine": "replay", "mode": mode}
judged = asked("coascore_table_02", parts, {"coefs": ["spearman"]}, **options)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets
from nlgeval_lib.evaluators import Unavailable
from nlgeval_lib.scoring import correlations
from reproduction import papers
from reproduction.study import catalogue, metrics, published_rows
from reproduction.study.catalogue import JUDGED_BY, Question
from reproduction.study.questions import judge_scores
from reproduction.study.scores import JudgeScores

# What names an output: a system may have several outputs for one input.
ITEM = ["input_id", "system_id", "output"]
# {aspect: a value an output}; the aspect "" stands for every one.
ByAspect = dict[str, np.ndarray]


@dataclass
class JudgedRows:
    """What judges and metrics say of outputs, by the printed table's rows.

    A further server that answered the same is a row "ROW|judged-by:WHO".

    items: the outputs, a row each; all scores are in their order.
    scores: row -> aspect ("": every one) -> values (NaN for none).
    signatures: row -> the judge's.
    draws: row -> aspect -> `[draw, output]`, where a judge was asked several times an
    output.
    fixed: rows of metrics, which say the same whenever they are asked.
    lacking: row -> why it has no scores here.
    mini: row -> scores of the miniature judge or of a stand-in, which never stand in a
    paper's row.
    """

    items: pd.DataFrame
    scores: dict[str, ByAspect] = field(default_factory=dict)
    signatures: dict[str, str] = field(default_factory=dict)
    draws: dict[str, ByAspect] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    lacking: dict[str, str] = field(default_factory=dict)
    mini: dict[str, JudgeScores] = field(default_factory=dict)

    def table(
        self, aspects: Mapping[str, str], human: Mapping[str, Any], **options: Any
    ) -> pd.DataFrame:
        """The table of correlations (`scoring.correlations.table`), route `run`; a
        signature names judge and statistic.

        aspects: the table's column -> the aspect that was judged.
        human: the table's column -> ratings, or the name of a column of `items`.
        Returns: with `own_sd`, how far the judge's own draws move a coefficient (0 for
        metrics, NaN where an output was asked about once), and `draws`, their number.
        An empty frame where no judge has scores.
        """
        if not self.scores:
            return pd.DataFrame()
        scores = {}
        for row, by_aspect in self.scores.items():
            by_column = {}
            for column, aspect in aspects.items():
                name = aspect if aspect in by_aspect else ""
                # A judge may have been asked for some of the columns alone.
                if name in by_aspect:
                    by_column[column] = by_aspect[name]
            scores[row] = by_column
        table = correlations.table(self.items, scores, human, **options)
        judge = table["row"].map(self.signatures)
        signature = table["signature"] + "|judge:" + judge
        table = table.assign(route="run", signature=signature)
        return self._with_spread(table, aspects, human, options)

    def _with_spread(
        self,
        table: pd.DataFrame,
        aspects: Mapping[str, str],
        human: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> pd.DataFrame:
        """The table with `own_sd` and `draws`, as `table` says. options: of the
        correlations, so that each draw is measured as the scores are.
        """
        spreads = []
        counts = []
        for cell in table.itertuples(index=False):
            count = 1
            aspect = aspects.get(cell.column, cell.column)
            draws = self._drawn(cell.row, aspect)
            if cell.row in self.fixed:
                spread = 0.0
            elif draws is None:
                spread = np.nan
            else:
                ratings = human[cell.column]
                if isinstance(ratings, str):
                    ratings = self.items[ratings]
                coefficient = correlations.coefficient(
                    self.items, ratings, cell.statistic, **options
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
    output: str, items: pd.DataFrame, names: Mapping[str, str], **engine: Any
) -> JudgedRows:
    """What the judges and the metrics of a catalogue's output say of `items`.

    items: the table's outputs, a row each, with `input_id`, `system_id` and `output`.
    names: {row of the table: the judge's name in the catalogue}.
    engine: as `study.judge_scores` takes it; with another one than replay, metrics are
    computed where their weights are here.
    """
    judged = JudgedRows(items)
    # A replay asks nothing and loads nothing: it reads metrics from their cache, too.
    replayed = engine.get("engine", "replay") == "replay"
    _add_metrics(judged, output, compute=not replayed)
    places = pd.MultiIndex.from_frame(items[ITEM])
    for row, name in names.items():
        answers = judge_scores(output, name, **engine)
        if not answers.available:
            judged.lacking[row] = papers.gap(papers.NEEDS_RUN, answers.why)
        elif answers.route != "run":
            judged.mini[row] = answers
        else:
            _add_judge(judged, row, answers, places)
            for further in answers.others:
                _, mark, server = further.signature.partition(JUDGED_BY)
                _add_judge(judged, f"{row}{mark}{server}", further, places)
    return judged


def _add_judge(
    judged: JudgedRows, row: str, answers: JudgeScores, places: pd.MultiIndex
) -> None:
    """Add a judge's scores under a row's name."""
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


def drawn(frame: pd.DataFrame, places: pd.MultiIndex) -> ByAspect:
    """The values of a judge's draws by aspect, each `[draw, output]`; no aspect for a
    judge that was asked once an output.

    places: the outputs, in order, as an index of `ITEM`.
    Returns: as many draws as the output with most of them has; NaN for a draw without a
    score.
    """
    draws: ByAspect = {}
    if "details" not in frame:
        return draws
    for aspect, rows in frame.groupby("aspect", sort=False):
        values_at = {}
        outputs = rows[ITEM].itertuples(index=False, name=None)
        for place, details in zip(outputs, rows["details"], strict=True):
            if "values" in details:
                values_at[place] = details["values"]
        if not values_at:
            continue
        most = max(map(len, values_at.values()))
        matrix = np.full((most, len(places)), np.nan)
        for position, place in enumerate(places):
            values = values_at.get(place, ())
            matrix[: len(values), position] = values
        draws[str(aspect)] = matrix
    return draws


# -- tables over several data sets


@dataclass(frozen=True)
class Part:
    """One data set of a printed table, and its columns there.

    items: its outputs, a row each.
    columns: {the table's column: the rated aspect}.
    average: the data set's one column, where the table prints the mean of the aspects'
    coefficients; "" where it prints each.
    digits: each coefficient is rounded to so many decimals before the mean; None: it is
    not.
    """

    items: pd.DataFrame
    columns: Mapping[str, str]
    average: str = ""
    digits: int | None = None

    @classmethod
    def from_aspects(
        cls,
        label: str,
        items: pd.DataFrame,
        aspects: Sequence[str],
        digits: int | None = None,
    ) -> Part:
        """A data set with one column, `label`: an aspect's coefficient, or the mean of
        those of several.
        """
        if len(aspects) == 1:
            return cls(items, {label: aspects[0]})
        columns = {aspect: aspect for aspect in aspects}
        return cls(items, columns, label, digits)

    @property
    def human(self) -> dict[str, str]:
        """{the table's column: the column of `items` with the ratings}."""
        ratings = {}
        for column, aspect in self.columns.items():
            ratings[column] = f"human_{aspect}"
        return ratings


def outputs(name: str, mode: str = "full", **options: Any) -> pd.DataFrame:
    """The outputs of a data set, a row each.

    mode: "quick" takes those of its first 20 inputs, "full" all.
    """
    frame = datasets.load(name, **options)
    if mode == "quick":
        frame = datasets.quick(frame, catalogue.QUICK_INPUTS)
    return datasets.items(frame)


def on_spread(metric: Any, inputs: int) -> Callable[[pd.DataFrame], pd.Series]:
    """A metric that scores so many evenly spread inputs at most, as a function of the
    outputs that gives a value each, NaN for the other inputs.
    """

    def score(items: pd.DataFrame) -> pd.Series:
        ids = items["input_id"].unique()
        last = len(ids) - 1
        count = min(inputs, len(ids))
        positions = np.linspace(0, last, count).round().astype(int)
        chosen = ids[positions]
        is_chosen = items["input_id"].isin(chosen)
        judged = metric.score(items[is_chosen])
        return judged["value"].reindex(items.index)

    return score


def scored(
    parts: Mapping[str, Part], metrics: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """What metrics say of each part: {part: {row: a value an output}}.

    metrics: {row: an evaluator or a function of the outputs, or {part: one of these}}.
    """
    scores = {}
    for name, part in parts.items():
        by_row = {}
        for row, metric in metrics.items():
            if isinstance(metric, Mapping):
                metric = metric[name]
            if callable(metric):
                by_row[row] = metric(part.items)
            else:
                by_row[row] = metric.score(part.items)["value"]
        scores[name] = by_row
    return scores


def correlated(
    parts: Mapping[str, Part], scores: Mapping[str, Mapping[str, Any]], **options: Any
) -> pd.DataFrame:
    """The correlations of each part's scores with its ratings
    (`scoring.correlations.table`), an aspect a column, and `part`, the part's name.
    """
    tables = []
    for name, by_row in scores.items():
        part = parts[name]
        table = correlations.table(part.items, by_row, part.human, **options)
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


def with_mean(cells: pd.DataFrame) -> pd.DataFrame:
    """Correlations, and for each row that has all columns of one route their mean, in a
    column `average`.
    """
    by_row = cells.groupby(["row", "route"])
    columns_of_row = by_row["column"].transform("nunique")
    complete = cells[columns_of_row == cells["column"].nunique()]
    tables = [cells]
    for route, table in complete.groupby("route", sort=False):
        means = correlations.averaged(table, "average")
        tables.append(means.assign(route=route))
    return pd.concat(tables, ignore_index=True)


@dataclass
class Asked:
    """What came of asking for a table's rows.

    tables: tables of cells, with their `route`.
    lacking: why a (row, column) has no cell.
    mini: "ROW, PART" or the judge's name -> what the miniature judge said instead.
    """

    tables: list[pd.DataFrame] = field(default_factory=list)
    lacking: dict[tuple[str, str], str] = field(default_factory=dict)
    mini: dict[str, JudgeScores] = field(default_factory=dict)


def asked(
    output: str, parts: Mapping[str, Part], how: Mapping[str, Any], **engine: Any
) -> Asked:
    """The rows of a table that its judges and metrics in the catalogue give, part by
    part; and those whose scores others published, where these are here (route public).

    A judge named "ROW, PART" in the catalogue is the row's for that part.

    parts: by the name that the catalogue's judges end in.
    """
    answers = Asked()
    questions = catalogue.load().questions_of(output)
    for name, part in parts.items():
        names = _names_of_part(questions, name)
        judged = judged_rows(output, part.items, names, **engine)
        cells = judged.table(part.columns, part.human, **how)
        published, unread = published_rows.table(
            output, name, part.items, part.columns, part.human, **how
        )
        tables = {"run": cells, "public": published}
        for route, table in tables.items():
            if len(table):
                means = averaged(parts, table.assign(part=name))
                answers.tables.append(means.assign(route=route))
        # A part that prints a mean has one cell a row, so one reason is enough.
        columns = [*part.columns]
        if part.average:
            columns = [part.average]
        reasons = judged.lacking | unread
        for row, reason in reasons.items():
            for column in columns:
                answers.lacking[row, column] = reason
        for row, scores in judged.mini.items():
            answers.mini[f"{row}, {name}"] = scores
    return answers


def _names_of_part(questions: Sequence[Question], part: str) -> dict[str, str]:
    """The judges of a part: {row of the table: the judge's name in the catalogue}."""
    suffix = f", {part}"
    names = {}
    for question in questions:
        if question.name.endswith(suffix):
            row = question.name.removesuffix(suffix)
            names[row] = question.name
    return names
