"""An ablation of one's own: the same items scored once for each choice of an
evaluator's settings.

asked = ablations.scored("coascore", {"n": [1, 3, 7]}, settings={"variant": "average"})
table, tests = ablations.compare(asked)
print(ablations.reading(tests))
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets
from nlgeval_lib.engines import Engine
from nlgeval_lib.evaluators import Unavailable
from nlgeval_lib.names import pair
from nlgeval_lib.scoring import EngineChoice, Rows, chosen_rows, named, prepared
from nlgeval_lib.study import judges, variant_tests
from nlgeval_lib.study.scores import MINI, JudgeScores
from nlgeval_lib.study.variant_tests import VariantScores
from nlgeval_lib.training import mini

FOLDS = 5  # of inputs, where an evaluator learns from ratings
# what "mini" stands for where a model is asked: the miniature judge's own data
OWN = "mini_judge"
# may be swept beside settings: another evaluator; another model
EVALUATOR = "evaluator"
JUDGE = "judge"
OVERALL = "overall"


@dataclass(frozen=True)
class Variant:
    """One choice of a sweep: which evaluator and model, and its settings as
    `NAME=VALUE`.
    """

    evaluator: str
    model: str
    settings: tuple[str, ...]

    def given(self, data: str) -> dict[str, Any]:
        """Arguments of the evaluator that belong to the miniature judge's own data,
        but those that are set.
        """
        if data != OWN or not named.asks(self.evaluator):
            return {}
        arguments = dict(mini.settings(self.evaluator))
        for setting in self.settings:
            arguments.pop(pair(setting)[0], None)
        return arguments


def label(chosen: Mapping[str, Any]) -> str:
    """A variant's name: `rubric=no reference=yes`."""
    return " ".join(f"{key}={value}" for key, value in chosen.items())


def variants(
    evaluator: str,
    sweep: Mapping[str, Sequence[Any]],
    settings: Mapping[str, Any],
    model: str = MINI,
) -> dict[str, Variant]:
    """Every combination of the values by a name such as `n=3` or `rubric=no
    reference=yes`.

    sweep: {setting: its values}; `evaluator` and `judge` (a model) may be among them.
    settings: of all variants.
    Raises: ValueError for fewer than two variants.
    """
    by_label = {}
    for values in itertools.product(*sweep.values()):
        chosen = dict(zip(sweep, values, strict=True))
        settled = {EVALUATOR: evaluator, JUDGE: model, **settings, **chosen}
        chosen_evaluator = settled.pop(EVALUATOR)
        chosen_model = settled.pop(JUDGE)
        texts = tuple(f"{name}={value}" for name, value in settled.items())
        by_label[label(chosen)] = Variant(chosen_evaluator, chosen_model, texts)
    if len(by_label) < 2:
        raise ValueError(f"a sweep needs two values or more, got {dict(sweep)}")
    return by_label


def check(variants: Mapping[str, Variant], data: str) -> str:
    """The data set's name, where every variant can be made.

    Raises: ValueError naming evaluator, setting or data.
    """
    asks = any(named.asks(variant.evaluator) for variant in variants.values())
    if data == MINI and asks:
        data = OWN
    datasets.spec(data)
    for variant in variants.values():
        arguments = variant.given(data)
        # What cannot work here is reported with its scores.
        with contextlib.suppress(Unavailable):
            named.evaluator(variant.evaluator, variant.settings, **arguments)
    return data


def scored(
    evaluator: str,
    sweep: Mapping[str, Sequence[Any]],
    *,
    data: str = MINI,
    settings: Mapping[str, Any] | None = None,
    aspects: Sequence[str] = (),
    engine: str = "transformers",
    model: str = MINI,
    revision: str = "",
    base_url: str = "",
    mode: str = "full",
) -> VariantScores:
    """The scores of every variant on the items that all of them scored, and why others
    are lacking.

    sweep, settings: as `variants`. data: a data set by name; "mini" for what asks a
    model is the miniature judge's own.
    aspects: whose ratings count; none: the overall quality where it is rated, else all.
    What learns from ratings (HD-Eval) scores each input as fitted on the other folds of
    inputs. mode "quick": 20 inputs.
    Raises: ValueError for an unknown setting; DataError; EngineError; RuntimeError
    without the miniature judge.
    """
    by_label = variants(evaluator, sweep, settings or {}, model)
    data = check(by_label, data)
    rows = _rows(data, aspects, mode)
    scores: dict[str, JudgeScores] = {}
    loaded: dict[str, Engine] = {}
    for name, variant in by_label.items():
        choice = EngineChoice()
        try:
            if named.asks(variant.evaluator):
                choice = EngineChoice(engine, variant.model)
                if variant.model not in loaded:
                    while loaded:
                        loaded.popitem()[1].close()
                    loaded[variant.model] = judges.engine(
                        engine, variant.model, revision, base_url
                    )
            engine_in_use = loaded.get(variant.model)
            scores[name] = _variant_scores(rows, variant, data, choice, engine_in_use)
        except Unavailable as error:
            scores[name] = JudgeScores(False, str(error))
    return variant_tests.on_shared_items(scores)


def _variant_scores(
    rows: Rows, variant: Variant, data: str, choice: EngineChoice, ready: Engine | None
) -> JudgeScores:
    """One variant's scores. ready: the engine that is loaded."""
    job = prepared(
        rows,
        variant.evaluator,
        variant.settings,
        choice,
        skip_incomplete=True,
        ready=ready,
        given=variant.given(data),
    )
    route = "run" if named.asks(variant.evaluator) else "public"
    if data in (MINI, OWN):
        route = "mini"
    return judges.read(job, route, folds=FOLDS)


def _rows(data: str, aspects: Sequence[str], mode: str) -> Rows:
    rows = chosen_rows(data=data).whole()
    rated: list[str] = []
    if "aspect" in rows.columns:
        rated = list(dict.fromkeys(rows.frame["aspect"]))
    if unknown := sorted({*aspects} - {*rated}):
        raise ValueError(
            f"{data} rates no {', '.join(unknown)}; it rates {', '.join(rated)}"
        )
    rows = rows.take(rows.frame["human"].notna().to_numpy())
    if not aspects and OVERALL in rated:
        aspects = [OVERALL]
    if aspects:
        rows = rows.take(rows.frame["aspect"].isin(list(aspects)).to_numpy())
    if mode == "quick":
        rows = judges.first_inputs(rows)
    return rows


def compare(
    asked: VariantScores,
    base: Mapping[str, Any] | None = None,
    *,
    coef: str = "kendall-b",
    units: str = "jack-inputs",
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How well each variant follows the ratings of each aspect; and each against a
    base, Holm an aspect.

    base: the choice of one variant, such as {"n": 3}; by default the first that has
    scores. units: what another sample would bring, as `meta.compare`: "jack-inputs" is
    about these systems on other inputs, "auto" about other systems as well. Columns:
    `aspect` and those of `variant_tests.compare`.
    Raises: ValueError where no variant has scores, or `base` is none.
    """
    if not asked.scores:
        reasons = [f"{name}: {reason}" for name, reason in asked.lacking.items()]
        raise ValueError("; ".join(reasons) or "no variant has scores")
    name = label(base) if base else next(iter(asked.scores))
    tables = []
    tests = []
    for aspect in dict.fromkeys(asked.items["aspect"]):
        of_aspect = (asked.items["aspect"] == aspect).to_numpy()
        items = asked.items[of_aspect].reset_index(drop=True)
        scores = {
            variant: values[of_aspect] for variant, values in asked.scores.items()
        }
        compared = variant_tests.compare(items, scores, name, coef=coef, units=units)
        for frame in compared:
            frame.insert(0, "aspect", aspect)
            if len(frame):
                frame["route"] = asked.route
        tables.append(compared[0])
        tests.append(compared[1])
    return pd.concat(tables, ignore_index=True), pd.concat(tests, ignore_index=True)


def reading(tests: pd.DataFrame, level: float = 0.05) -> str:
    """What the tests allow to say, a line a variant and aspect; and which
    differences they could not have told.
    """
    lines = []
    for test in tests.itertuples():
        if np.isnan(test.p_holm):
            verdict = "no test"
        elif test.p_holm < level:
            verdict = "differs"
        else:
            verdict = "no difference can be told"
        interval = f"{test.difference:+.3f} [{test.ci_low:+.3f}, {test.ci_high:+.3f}]"
        lines.append(
            f"{test.aspect}, {test.variant}: {verdict}: {interval}, p {test.p_holm:.3f}"
        )
    width = (tests["ci_high"] - tests["ci_low"]).max() / 2
    lines.append(
        f"Differences below about {width:.2f} cannot be told "
        f"on {int(tests['n'].max())} items."
    )
    return "\n".join(lines)
