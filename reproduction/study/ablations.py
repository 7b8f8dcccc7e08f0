"""An ablation of one's own: the same items scored once for each choice of an
evaluator's settings.

asked = ablations.scored("coascore", {"n": [1, 3, 7]}, settings={"variant": "average"})
table, tests = ablations.compare(asked)
"""

from __future__ import annotations

import contextlib
import itertools
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import datasets, evaluators
from nlgeval_lib.engines import Engine
from nlgeval_lib.evaluators import Unavailable
from nlgeval_lib.names import pair
from nlgeval_lib.prompts import prompt_files
from nlgeval_lib.scoring import (
    EngineChoice,
    InputError,
    Rows,
    chosen_rows,
    named,
    prepared,
)
from nlgeval_lib.scoring.settings import settings_of
from reproduction.study import judges, question_rows, variant_tests
from reproduction.study.scores import MINI, JudgeScores
from reproduction.study.variant_tests import VariantScores
from reproduction.training import mini

FOLDS = 5  # of inputs, where an evaluator learns from ratings
# What "mini" stands for where a model is asked: the miniature judge's own data.
OWN = "mini_judge"
# What may be swept beside settings: another evaluator; another model; a prompt's file
# in place of the evaluator's own prompt, which is `original`.
EVALUATOR = "evaluator"
JUDGE = "judge"
# The evaluator that asks with a prompt's file.
PROMPT = "prompt"
ORIGINAL = "original"
PROMPTED = "prompted"
# The aspect whose ratings count where none is named.
OVERALL = "overall"
# The share of the rows below which a variant is not tested.
LEAST_READ = 0.9


@dataclass(frozen=True)
class Variant:
    """One choice of a sweep; settings are of the evaluator, as `NAME=VALUE`."""

    evaluator: str
    model: str
    settings: tuple[str, ...]

    def given(self, data: str) -> dict[str, Any]:
        """Arguments of the evaluator that belong to the miniature judge's own data, but
        those that are set; none for other data.
        """
        if data != OWN or not named.asks(self.evaluator):
            return {}
        try:
            arguments = dict(mini.settings(self.evaluator))
        except ValueError:  # one of your own: its settings are its own
            return {}
        for setting in self.settings:
            arguments.pop(pair(setting)[0], None)
        return arguments


def label(chosen: Mapping[str, Any]) -> str:
    """A variant's name: each setting as `NAME=VALUE`; of a prompt's file, or of
    `@FILE`, its name alone.

    Example:
    >>> label({"rubric": "no", "prompt": "prompts/short.toml"})
    'rubric=no prompt=short.toml'
    """
    words = []
    for key, value in chosen.items():
        if key == PROMPT or is_read_from(value):
            value = Path(value).name.removeprefix("@")
        words.append(f"{key}={value}")
    return " ".join(words)


def is_read_from(value: Any) -> bool:
    """Whether a setting's value is `@FILE`, whose text is the value."""
    return isinstance(value, str) and value[:1] == "@" and value[:2] != "@@"


def _setting(named_value: tuple[str, Any]) -> str:
    """A setting as `NAME=VALUE`; `@FILE` is found from the checkout, too."""
    name, value = named_value
    if is_read_from(value):
        value = f"@{prompt_files.located(value[1:])}"
    return f"{name}={value}"


def title(evaluator: str, sweep: Mapping[str, Sequence[Any]]) -> str:
    """What is compared, in words; evaluator "" where evaluators themselves are swept.

    Example:
    >>> title("coascore", {"n": [1, 3, 7]})
    'coascore: n = 1, 3, 7'
    """
    sweeps = []
    for name, values in sweep.items():
        texts = []
        for value in values:
            of_value = label({name: value})
            texts.append(of_value.removeprefix(f"{name}="))
        sweeps.append(f"{name} = {', '.join(texts)}")
    return f"{evaluator or 'evaluators'}: {'; '.join(sweeps)}"


def file_name(text: str) -> str:
    """A text, such as an aspect's name, as it may stand in a file's name.

    Example:
    >>> file_name("Overall Quality")
    'overall_quality'
    """
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "other"


def variants(
    evaluator: str,
    sweep: Mapping[str, Sequence[Any]],
    settings: Mapping[str, Any],
    model: str = MINI,
) -> dict[str, Variant]:
    """Every combination of the values by a name such as `n=3` or `rubric=no
    reference=yes`.

    evaluator: of all variants that do not name their own.
    sweep: {setting: its values}; `evaluator`, `judge` (a model) and `prompt` may be
    among them: a prompt's file asks with that prompt, `original` with the evaluator's
    own.
    model: of all variants that do not name their own.
    Raises: ValueError for fewer than two variants, two of one name, two that ask the
    very same, a setting that a variant does not know, and `original` without an
    evaluator.
    """
    by_label: dict[str, Variant] = {}
    labels: dict[Variant, str] = {}
    for values in itertools.product(*sweep.values()):
        chosen = dict(zip(sweep, values, strict=True))
        name = label(chosen)
        settled = {EVALUATOR: evaluator, JUDGE: model, **settings, **chosen}
        chosen_evaluator = settled.pop(EVALUATOR)
        chosen_model = settled.pop(JUDGE)
        if PROMPT in settled:
            # Where the label names the evaluator, no other one may ask.
            named_here = EVALUATOR in sweep or PROMPT not in sweep
            chosen_evaluator, settled = _with_prompt(
                chosen_evaluator, settled, named_here, name
            )
        texts = tuple(map(_setting, settled.items()))
        if name in by_label:
            raise ValueError(f"two variants are called {name!r}; rename one file")
        variant = Variant(chosen_evaluator, chosen_model, texts)
        if not named.asks(chosen_evaluator):
            # A metric is the same whoever judges.
            variant = replace(variant, model=MINI)
        if variant in labels:
            raise ValueError(
                f"{labels[variant]} and {name} would be the same: leave out the "
                "setting that they differ in, which changes nothing here"
            )
        labels[variant] = name
        by_label[name] = variant
    if len(by_label) < 2:
        raise ValueError(f"a sweep needs two values or more, got {dict(sweep)}")
    return by_label


def _with_prompt(
    evaluator: str, settings: dict[str, Any], keeps_evaluator: bool, name: str
) -> tuple[str, dict[str, Any]]:
    """The evaluator that asks with the prompt of these settings, and its settings."""
    has_no_prompt = evaluator in ("", PROMPTED)
    if settings[PROMPT] == ORIGINAL:
        if has_no_prompt:
            raise ValueError(
                "prompt=original is an evaluator's own prompt: name it, -e llmscore"
            )
        without_prompt = dict(settings)
        del without_prompt[PROMPT]
        return evaluator, without_prompt
    own = settings_of(evaluators.get(evaluator or PROMPTED))
    if has_no_prompt or PROMPT in own:
        return evaluator or PROMPTED, settings
    if keeps_evaluator:
        raise ValueError(
            f"variant {name}: {evaluator} takes no prompt of yours; sweep it beside "
            f"the evaluator's own: -e {evaluator} --sweep prompt=original,FILE"
        )
    meaningful = settings_of(evaluators.get(PROMPTED))
    for setting in settings:
        here = meaningful.get(setting)
        there = own.get(setting)
        if here is None or (there and here.part_of != there.part_of):
            raise ValueError(
                f"variant {name}: {setting} of {evaluator} says nothing to a prompt "
                "of yours; leave it out"
            )
    return PROMPTED, settings


def check(variants: Mapping[str, Variant], data: str) -> str:
    """The data set's name, or the file's, where every variant can be made; "mini"
    becomes the miniature judge's own data where a model is asked.

    Raises: ValueError naming evaluator, setting or data.
    """
    asks = any(named.asks(variant.evaluator) for variant in variants.values())
    if data == MINI and asks:
        data = OWN
    if not is_file(data):
        datasets.spec(data)
    for variant in variants.values():
        arguments = variant.given(data)
        # What cannot work here is reported with its scores.
        with contextlib.suppress(Unavailable):
            named.evaluator(variant.evaluator, variant.settings, **arguments)
    return data


def is_file(data: str) -> bool:
    """Whether rows are those of a file, by its path from the working folder or from the
    checkout's; a data set's name goes before.
    """
    return not datasets.has(data) and prompt_files.located(data).is_file()


def scored(
    evaluator: str,
    sweep: Mapping[str, Sequence[Any]],
    *,
    data: str = MINI,
    columns: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    aspects: Sequence[str] = (),
    engine: str | Engine = "transformers",
    model: str = MINI,
    revision: str = "",
    base_url: str = "",
    mode: str = "full",
    plugins: Sequence[str] = (),
    least_read: float = LEAST_READ,
) -> VariantScores:
    """The scores of every variant on the items that all of them scored, and why others
    are lacking.

    What learns from ratings (HD-Eval) scores an input as fitted on the other folds.

    evaluator, sweep, settings, model: as `variants` takes them.
    data: a data set by name, or a file of rated rows, with its `columns` as
    `OURS=THEIRS`; "mini" for what asks a model is the miniature judge's own.
    aspects: whose ratings count; none: the overall quality where it is rated, else all.
    engine: by name, or one that is there, such as a scripted one.
    revision, base_url: of the model, and the address of its server.
    mode: "quick": 20 inputs; "full": all.
    plugins: files with evaluators or aggregators; their code is run.
    least_read: the share of rows that a variant must have scored to be tested, 0 to 1.
    Raises: ValueError for an unknown setting; DataError; EngineError; RuntimeError.
    """
    for path in plugins:
        named.plugin(str(prompt_files.located(path)))
    # One engine is loaded at a time; one that was handed over comes with its model.
    loaded: dict[str, Engine] = {}
    if not isinstance(engine, str):
        model = engine.model
        loaded[model] = engine
        engine = engine.name
    by_label = variants(evaluator, sweep, settings or {}, model)
    data = check(by_label, data)
    rows = _rows(all_rows(data, columns), data, aspects, mode)
    scores: dict[str, JudgeScores] = {}
    for name, variant in by_label.items():
        choice = EngineChoice()
        if named.asks(variant.evaluator):
            choice = EngineChoice(engine, variant.model, revision, base_url)
        scores[name] = _available_scores(rows, variant, data, choice, loaded)
    return variant_tests.on_shared_items(scores, least_read)


def _available_scores(
    rows: Rows,
    variant: Variant,
    data: str,
    choice: EngineChoice,
    loaded: dict[str, Engine],
) -> JudgeScores:
    """One variant's scores, or why they are not available here."""
    try:
        if named.asks(variant.evaluator):
            _load(loaded, choice)
        engine = loaded.get(variant.model)
        return _variant_scores(rows, variant, data, choice, engine)
    except Unavailable as error:
        return JudgeScores(False, str(error))


def _load(loaded: dict[str, Engine], choice: EngineChoice) -> None:
    """See to it that the model of a choice is loaded, and no other one."""
    model = choice.model
    if model in loaded:
        return
    while loaded:
        _, earlier = loaded.popitem()
        earlier.close()
    loaded[model] = judges.engine(
        choice.engine, model, choice.revision, choice.base_url
    )


def _variant_scores(
    rows: Rows, variant: Variant, data: str, choice: EngineChoice, engine: Engine | None
) -> JudgeScores:
    """One variant's scores."""
    is_scripted = choice.engine == "scripted"
    with contextlib.ExitStack() as stack:
        if is_scripted:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            choice = replace(choice, store=folder)
        return _asked(rows, variant, data, choice, engine, is_scripted)


def _asked(
    rows: Rows,
    variant: Variant,
    data: str,
    choice: EngineChoice,
    engine: Engine | None,
    is_scripted: bool,
) -> JudgeScores:
    """The scores, with completions stored where the choice says."""
    job = prepared(
        rows,
        variant.evaluator,
        variant.settings,
        choice,
        skip_incomplete=True,
        ready=engine,
        given=variant.given(data),
    )
    return judges.read(job, route_of(variant, data, is_scripted), folds=FOLDS)


def route_of(variant: Variant, data: str, is_scripted: bool = False) -> str:
    """Where a variant's numbers come from, as the catalogue's routes say it."""
    if data in (MINI, OWN) or is_scripted:
        return "mini"
    if named.asks(variant.evaluator):
        return "mini" if variant.model == MINI else "run"
    return "public" if datasets.has(data) else "own"


def all_rows(data: str, columns: Sequence[str]) -> Rows:
    """The rows of a data set, or of a file; there each row has an input, a system and
    an aspect: its own input, one system and "" where the file does not say.

    Raises: InputError for a file without ratings, for ratings that are no numbers, and
    for an output that is there twice.
    """
    if not is_file(data):
        return chosen_rows(data=data)
    rows = chosen_rows(str(prompt_files.located(data)), mapping=columns)
    rows.check_ids()
    frame = rows.frame
    if not any(name in frame for name in variant_tests.RATINGS):
        raise InputError(f"{rows.lacks('human')}; --map human=COLUMN names the ratings")
    numbers = [f"{number}" for number in range(1, len(frame) + 1)]
    defaults = {"input_id": numbers, "system_id": "", "aspect": ""}
    for name, default in defaults.items():
        if name not in frame:
            frame = frame.assign(**{name: default})
    again = frame[frame.duplicated(list(variant_tests.KEYS))]
    if len(again):
        raise InputError(
            f"{rows.place(again.index[0])}: the same input, system and aspect as a row "
            "above; an ablation takes one row an output"
        )
    return replace(rows, checked=frame)


def _rows(rows: Rows, data: str, aspects: Sequence[str], mode: str) -> Rows:
    """The rated rows of those of a data set, of the aspects that count."""
    rated: list[str] = []
    if "aspect" in rows.frame:
        rated = list(dict.fromkeys(rows.frame["aspect"]))
    unknown = sorted(set(aspects).difference(rated))
    if unknown:
        raise ValueError(
            f"{data} rates no {', '.join(unknown)}; it rates {', '.join(rated)}"
        )
    has_rating = rows.frame[variant_tests.rated_by(rows.frame)].notna()
    rows = rows.take(has_rating.to_numpy())
    if not aspects and OVERALL in rated:
        aspects = [OVERALL]
    if aspects:
        of_aspects = rows.frame["aspect"].isin(list(aspects))
        rows = rows.take(of_aspects.to_numpy())
    if mode == "quick":
        rows = rows.take(question_rows.first_inputs(rows.frame))
    return rows


def compare(
    asked: VariantScores,
    base: Mapping[str, Any] | None = None,
    *,
    coef: str = "kendall-b",
    units: str = "jack-inputs",
    level: str = "dataset",
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How well each variant follows the ratings of each aspect; and all pairs of
    variants, those with a base first, Holm an aspect.

    base: the choice of one variant, such as {"n": 3}; None: the first that has scores.
    units: what another sample would bring, as `statistics.compare`: "jack-inputs" is about
    these systems on other inputs, "auto" about other systems as well.
    Returns: both tables of `variant_tests.compare`, `aspect` first and `route` last.
    Raises: ValueError where no variant has scores, or `base` is none.
    """
    if not asked.scores:
        reasons = [f"{name}: {reason}" for name, reason in asked.lacking.items()]
        raise ValueError("; ".join(reasons) or "no variant has scores")
    base_name = label(base) if base else next(iter(asked.scores))
    tables = []
    tests = []
    for aspect in dict.fromkeys(asked.items["aspect"]):
        of_aspect = (asked.items["aspect"] == aspect).to_numpy()
        items = asked.items[of_aspect].reset_index(drop=True)
        by_variant = asked.scores.items()
        scores = {name: values[of_aspect] for name, values in by_variant}
        table, paired = variant_tests.compare(
            items,
            scores,
            base_name,
            coef=coef,
            units=units,
            level=level,
            all_pairs=True,
        )
        for frame in (table, paired):
            frame.insert(0, "aspect", aspect)
            if len(frame):
                frame["route"] = asked.route
        tables.append(table)
        tests.append(paired)
    return (pd.concat(tables, ignore_index=True), pd.concat(tests, ignore_index=True))
