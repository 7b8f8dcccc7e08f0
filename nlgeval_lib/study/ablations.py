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
from nlgeval_lib.study.judges import MINI, JudgeScores
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
        own = (
            mini.settings(self.evaluator)
            if data == OWN and named.asks(self.evaluator)
            else {}
        )
        told = {pair(text)[0] for text in self.settings}
        return {name: value for name, value in own.items() if name not in told}


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
    found = {}
    for values in itertools.product(*sweep.values()):
        chosen = dict(zip(sweep, values, strict=True))
        who = {EVALUATOR: evaluator, JUDGE: model, **settings, **chosen}
        found[label(chosen)] = Variant(
            who.pop(EVALUATOR),
            who.pop(JUDGE),
            tuple(f"{k}={v}" for k, v in who.items()),
        )
    if len(found) < 2:
        raise ValueError(f"a sweep needs two values or more, got {dict(sweep)}")
    return found


def check(made: Mapping[str, Variant], data: str) -> str:
    """The data set's name, where every variant can be made.

    Raises: ValueError naming evaluator, setting or data.
    """
    data = (
        OWN
        if data == MINI and any(named.asks(one.evaluator) for one in made.values())
        else data
    )
    datasets.spec(data)
    for one in made.values():
        with contextlib.suppress(
            Unavailable
        ):  # what cannot work here is told with its scores
            named.evaluator(one.evaluator, one.settings, **one.given(data))
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
    asked = variants(evaluator, sweep, settings or {}, model)
    data = check(asked, data)
    rows = _rows(data, aspects, mode)
    made = dict[str, JudgeScores]()
    ready = dict[str, Engine]()
    for name, one in asked.items():
        asks = named.asks(one.evaluator)
        try:
            if asks and one.model not in ready:
                for other in list(ready):
                    ready.pop(other).close()
                ready[one.model] = judges.engine(engine, one.model, revision, base_url)
            choice = EngineChoice(engine, one.model) if asks else EngineChoice()
            how: dict[str, Any] = {
                "skip_incomplete": True,
                "ready": ready.get(one.model),
                "given": one.given(data),
            }
            job = prepared(rows, one.evaluator, one.settings, choice, **how)
            made[name] = judges.read(
                job,
                "mini" if data in (MINI, OWN) else "run" if asks else "public",
                folds=FOLDS,
            )
        except Unavailable as error:
            made[name] = JudgeScores(False, str(error))
    return variant_tests.on_shared_items(made)


def _rows(data: str, aspects: Sequence[str], mode: str) -> Rows:
    rows = chosen_rows(data=data).whole()
    rated = (
        list(dict.fromkeys(rows.frame["aspect"])) if "aspect" in rows.columns else []
    )
    if unknown := sorted({*aspects} - {*rated}):
        raise ValueError(
            f"{data} rates no {', '.join(unknown)}; it rates {', '.join(rated)}"
        )
    rows = rows.take(rows.frame["human"].notna().to_numpy())
    if wanted := list(aspects) or [OVERALL] * (OVERALL in rated):
        rows = rows.take(rows.frame["aspect"].isin(wanted).to_numpy())
    return judges.first_inputs(rows) if mode == "quick" else rows


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
        raise ValueError(
            "; ".join(f"{name}: {why}" for name, why in asked.lacking.items())
            or "no variant has scores"
        )
    name = label(base) if base else next(iter(asked.scores))
    parts = []
    for aspect in dict.fromkeys(asked.items["aspect"]):
        here = (asked.items["aspect"] == aspect).to_numpy()
        part = {variant: values[here] for variant, values in asked.scores.items()}
        made = variant_tests.compare(
            asked.items[here].reset_index(drop=True), part, name, coef=coef, units=units
        )
        for one in made:
            one.insert(0, "aspect", aspect)
        parts.append(
            [one.assign(route=asked.route) if len(one) else one for one in made]
        )
    table, tests = (
        pd.concat(both, ignore_index=True) for both in zip(*parts, strict=True)
    )
    return table, tests


def reading(tests: pd.DataFrame, level: float = 0.05) -> str:
    """What the tests allow to say, a line a variant and aspect; and which
    differences they could not have told.
    """
    lines = []
    for one in tests.itertuples():
        known = not np.isnan(one.p_holm)
        verdict = (
            "differs"
            if known and one.p_holm < level
            else "no difference can be told"
            if known
            else "no test"
        )
        ends = f"{one.difference:+.3f} [{one.ci_low:+.3f}, {one.ci_high:+.3f}], p {one.p_holm:.3f}"
        lines.append(f"{one.aspect}, {one.variant}: {verdict}: {ends}")
    width = (tests["ci_high"] - tests["ci_low"]).max() / 2
    return "\n".join(
        [
            *lines,
            f"Differences below about {width:.2f} cannot be told on {int(tests['n'].max())} items.",
        ]
    )
