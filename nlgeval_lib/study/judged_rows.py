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
from nlgeval_lib.study import catalogue, judges, metrics, published_rows
from nlgeval_lib.study.judges import JudgeScores

ITEM = [
    "input_id",
    "system_id",
    "output",
]  # a system may have several outputs for one input


@dataclass
class JudgedRows:
    """Scores in the order of `items`: row -> aspect ("": every one) -> values (NaN for
    none).

    signatures: row -> the judge's. draws: row -> aspect -> `[draw, output]`, where a
    judge was asked several times an output. fixed: rows of metrics, which say the same
    whenever they are asked. lacking: row -> why it has no scores here. mini: row
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
        given = {
            row: {
                column: own[name if name in own else ""]
                for column, name in aspects.items()
            }
            for row, own in self.scores.items()
        }
        if not given:
            return pd.DataFrame()
        made = correlations.table(self.items, given, human, **how)
        made = made.assign(
            route="run",
            signature=made["signature"] + "|judge:" + made["row"].map(self.signatures),
        )
        return self._with_spread(made, aspects, human, how)

    def _with_spread(
        self,
        made: pd.DataFrame,
        aspects: Mapping[str, str],
        human: Mapping[str, Any],
        how: Mapping[str, Any],
    ) -> pd.DataFrame:
        """The table with `own_sd` and `draws`: how far the judge's own draws move each
        coefficient; NaN where an output was asked about once.
        """
        spreads = []
        counts = []
        for cell in made.itertuples(index=False):
            drawn = self._drawn(cell.row, aspects.get(cell.column, cell.column))
            if cell.row in self.fixed or drawn is None:
                spreads.append(0.0 if cell.row in self.fixed else np.nan)
                counts.append(1)
                continue
            rated = human[cell.column]
            ratings = self.items[rated] if isinstance(rated, str) else rated
            coefficient = correlations.coefficient(
                self.items, ratings, cell.statistic, **how
            )
            spreads.append(papers.own_sd(drawn, coefficient))
            counts.append(len(drawn))
        return made.assign(own_sd=spreads, draws=counts)

    def _drawn(self, row: str, aspect: str) -> np.ndarray | None:
        """The draws of a row for one aspect; None where there is one an output."""
        own = self.draws.get(row, {})
        return own.get(aspect, own.get(""))


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
    found = JudgedRows(items)
    known = catalogue.load()
    compute = asked.get("engine", "replay") != "replay"
    for row, by_aspect in known[output].metrics.items():
        used = {
            aspect: [known.metrics[one] for one in ids]
            for aspect, ids in by_aspect.items()
        }
        try:
            made = {
                aspect: metrics.scores(some, items, compute)
                for aspect, some in used.items()
            }
        except Unavailable as error:
            model = next(iter(used.values()))[0].model
            way = f"{error}; to compute it: {metrics.way(output, model)}"
            found.lacking[row] = papers.gap(papers.NEEDS_WEIGHTS, way)
            continue
        found.scores[row] = {aspect: one for aspect, (one, _) in made.items()}
        found.fixed.add(row)
        found.signatures[row] = next(iter(made.values()))[1]
    places = pd.MultiIndex.from_frame(items[ITEM])
    for row, name in names.items():
        own = judges.judge_scores(output, name, **asked)
        if not own.available:
            found.lacking[row] = papers.gap(papers.NEEDS_RUN, own.why)
        elif own.route != "run":
            found.mini[row] = own
        else:
            frame = own.frame.drop_duplicates([*ITEM, "aspect"])
            wide = frame.pivot(index=ITEM, columns="aspect", values="value").reindex(
                places
            )
            found.scores[row] = {
                str(aspect): values.to_numpy(float) for aspect, values in wide.items()
            }
            found.signatures[row] = own.signature
            found.draws[row] = drawn(frame, places)
    return found


def drawn(frame: pd.DataFrame, places: pd.MultiIndex) -> dict[str, np.ndarray]:
    """The values of a judge's draws by aspect, each `[draw, output]`, NaN for a draw
    without a score; nothing of a judge that was asked once an output.

    frame: judged rows with ITEM, `aspect` and `details`. places: the outputs, in order.
    """
    found: dict[str, np.ndarray] = {}
    if "details" not in frame:
        return found
    for aspect, part in frame.groupby("aspect", sort=False):
        values = {}
        for place, details in zip(
            part[ITEM].itertuples(index=False, name=None), part["details"], strict=True
        ):
            if "values" in details:
                values[place] = details["values"]
        if not values:
            continue
        matrix = np.full((max(map(len, values.values())), len(places)), np.nan)
        for position, place in enumerate(places):
            row = values.get(place, ())
            matrix[: len(row), position] = row
        found[str(aspect)] = matrix
    return found


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
    return datasets.items(datasets.quick(frame, 20) if mode == "quick" else frame)


def on_spread(metric: Any, inputs: int) -> Callable[[pd.DataFrame], pd.Series]:
    """A metric that scores so many evenly spread inputs at most, and leaves the
    others without a score.
    """

    def score(items: pd.DataFrame) -> pd.Series:
        ids = items["input_id"].unique()
        chosen = np.linspace(0, len(ids) - 1, min(inputs, len(ids))).round().astype(int)
        return metric.score(items[items["input_id"].isin(ids[chosen])])[
            "value"
        ].reindex(items.index)

    return score


def scored(
    parts: Mapping[str, Part], metrics: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """What metrics say of each part: {part: {row: a value an output}}.

    metrics: {row: an evaluator or a function of the outputs, or {part: one of these}}.
    """
    found: dict[str, dict[str, Any]] = {name: {} for name in parts}
    for name, part in parts.items():
        for row, given in metrics.items():
            metric = given[name] if isinstance(given, Mapping) else given
            found[name][row] = (
                metric(part.items)
                if callable(metric)
                else metric.score(part.items)["value"]
            )
    return found


def correlated(
    parts: Mapping[str, Part], scores: Mapping[str, Mapping[str, Any]], **how: Any
) -> pd.DataFrame:
    """The correlations of each part's scores with its ratings
    (`scoring.correlations.table`), an aspect a column.

    scores: as `scored` gives them, of all parts or some. A further column `part` names
    the part.
    """
    made = [
        correlations.table(parts[name].items, own, parts[name].human, **how).assign(
            part=name
        )
        for name, own in scores.items()
    ]
    return pd.concat(made, ignore_index=True)


def averaged(parts: Mapping[str, Part], found: pd.DataFrame) -> pd.DataFrame:
    """The same correlations in the table's columns: of a part with one column alone,
    the mean over its aspects.
    """
    made = [
        correlations.averaged(rows, part.average, digits=part.digits)
        if part.average
        else rows
        for part, rows in (
            (parts[str(name)], rows) for name, rows in found.groupby("part", sort=False)
        )
    ]
    return pd.concat(made, ignore_index=True)


def with_mean(found: pd.DataFrame, label: str = "average") -> pd.DataFrame:
    """Correlations, and of each row that has all columns the mean: a column `label`.

    found: with `route`.
    """
    whole = (
        found.groupby(["row", "route"])["column"].transform("nunique")
        == found["column"].nunique()
    )
    by_route = found[whole].groupby("route", sort=False)
    means = [
        correlations.averaged(rows, label).assign(route=route)
        for route, rows in by_route
    ]
    return pd.concat([found, *means], ignore_index=True)


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
    found = Asked()
    listed = [question.name for question in catalogue.load().questions_of(output)]
    for name, part in parts.items():
        names = {
            one.removesuffix(f", {name}"): one
            for one in listed
            if one.endswith(f", {name}")
        }
        own = judged_rows(output, part.items, names, **engine)
        cells = own.table(part.columns, part.human, **how)
        found.tables += (
            [averaged(parts, cells.assign(part=name)).assign(route="run")]
            if len(cells)
            else []
        )
        theirs, unread = published_rows.table(
            output, name, part.items, part.columns, part.human, **how
        )
        if len(theirs):
            means = averaged(parts, theirs.assign(part=name))
            found.tables.append(means.assign(route="public"))
        columns = [part.average] if part.average else [*part.columns]
        for row, why in {**own.lacking, **unread}.items():
            found.lacking |= {(row, column): why for column in columns}
        found.mini |= {f"{row}, {name}": one for row, one in own.mini.items()}
    return found
