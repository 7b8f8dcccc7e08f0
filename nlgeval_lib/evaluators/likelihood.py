"""BARTScore and GPTScore: how likely a language model finds the output after what it was to be written from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.evaluators import base, encoders
from nlgeval_lib.evaluators.metric import CachedMetric, Item, Missing, PairMetric, Values, choose, mean, version
from nlgeval_lib.evaluators.samples import COLUMNS, samples
from nlgeval_lib.records import Judgment, Sample, Status

if TYPE_CHECKING:
    from nlgeval_lib.engines import TransformersEngine


# ours: naming the task and a quality before the text is GPTScore's idea, its prompts are another for each data set
PROMPT = "{{task}} {{quality}}\n\n{{source}}\n\nText:\n"


class _Scorer(CachedMetric):
    """A metric of mean log-likelihoods of tokens, by an engine that is given or a model that is loaded when needed."""

    chunk = 250
    parallel = False  # torch uses the cores itself

    def __init__(
        self,
        engine: TransformersEngine | None = None,
        *,
        model: str | None = None,
        revision: str | None = None,
        batch_size: int = 16,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        if (engine is None) == (model is None):
            raise ValueError("give either an engine or the name of a model")
        if engine is not None and not hasattr(engine, "loglikelihood"):
            raise ValueError(f"engine {engine.name} has no loglikelihood(); use TransformersEngine")
        self._loaded_engine, self.model, self.revision = engine, model, revision
        self.batch_size = batch_size

    def settings(self) -> dict[str, Any]:
        if self.model is not None:
            label = encoders.locate(self.model, self.revision).label
        else:
            label = _label(self._loaded_engine)
        return {"model": label, "transformers": version("transformers")}

    @property
    def engine(self) -> TransformersEngine:
        """The engine that was given, or one for the model, in float32. Raises: Unavailable if it cannot be loaded."""
        if self._loaded_engine is None:
            from nlgeval_lib.engines import EngineError, TransformersEngine

            located = encoders.locate(self.model, self.revision)
            try:
                self._loaded_engine = TransformersEngine(
                    located.path, revision=located.revision, batch_size=self.batch_size, dtype="float32"
                )
            except EngineError as error:
                raise base.Unavailable(str(error)) from error
        return self._loaded_engine

    def means(self, contexts: Sequence[str], texts: Sequence[str]) -> list[float | Missing]:
        """The mean log-likelihood of each text's tokens after its context; natural logarithms, at most 0."""
        found = self.engine.loglikelihood(contexts, texts, batch_size=self.batch_size)
        return [
            Missing(Status.FAILED, one.reason or f"log-likelihood {one.mean}")
            if not math.isfinite(one.mean)
            else one.mean
            for one in found
        ]


class BartScore(PairMetric, _Scorer):
    """BARTScore: mean log-likelihood of one text's tokens given another, at most 0.

    engine or model: a sequence-to-sequence model (`facebook/bart-large-cnn` in the paper), or a causal one.
    direction: `"precision"`: the output given the reference; `"recall"`: the reference given the output; `"f"`: their
        mean; `"source"`: the output given the source (faithfulness), read from the column `source`.

    A pair that is longer than the model takes has no value: nothing is cut.

    Source: Yuan et al. (2021), BARTScore, section 3.2.
    """

    name = "bartscore"
    empty_rules = ("nan",)  # 0 would be the best value there is

    def __init__(
        self,
        engine: TransformersEngine | None = None,
        *,
        model: str | None = None,
        direction: str = "f",
        **common: Any,
    ) -> None:
        super().__init__(engine=engine, model=model, **common)
        self.direction = choose("direction", direction, ("f", "precision", "recall", "source"))

    def settings(self) -> dict[str, Any]:
        return {"direction": self.direction, **super().settings()}

    def reference_columns(self) -> tuple[str, ...]:
        return ("source",) if self.direction == "source" else super().reference_columns()

    def compute(self, items: Sequence[Item]) -> list[Values | Missing]:
        outputs, references = [item[0] for item in items], [item[1] for item in items]
        ways = []
        if self.direction != "recall":
            ways.append(self.means(references, outputs))
        if self.direction in ("recall", "f"):
            ways.append(self.means(outputs, references))
        joined: list[Values | Missing] = []
        for values in zip(*ways, strict=True):
            missing = next((value for value in values if isinstance(value, Missing)), None)
            joined.append(missing or (math.fsum(values) / len(values),))
        return joined


class GPTScore(_Scorer):
    """GPTScore: mean log-likelihood of the output's tokens after a prompt that names the task and a quality, at most 0.

    engine or model: a causal or sequence-to-sequence model.
    prompt: a text with `{{slots}}`, or the name of a template of this project. `fixed` fills slots for all items (the
        default prompt has `task` and `quality`), the others are filled from the columns of their name.

    Source: Fu et al. (2023), GPTScore, section 3.
    """

    name = "gptscore"

    def __init__(
        self,
        engine: TransformersEngine | None = None,
        *,
        model: str | None = None,
        prompt: str = PROMPT,
        fixed: dict[str, str] | None = None,
        **common: Any,
    ) -> None:
        super().__init__(engine=engine, model=model, **common)
        whole = prompts.of_text(prompt) if "{{" in prompt else prompts.template(prompt)
        self.prompt = whole.bind(**(fixed or {}))
        if "output" in self.prompt.variables:
            raise ValueError("the prompt has a slot {{output}}; the output is what follows the prompt")

    def rules(self) -> dict[str, Any]:
        return {"prompt": self.prompt.sha}

    def score(self, frame: pd.DataFrame) -> pd.DataFrame:
        """`value, status, reason` of each row of `frame`, same index; needs `output` and the prompt's open slots.

        Raises: ValueError naming the column or the row.
        """
        slots = self.prompt.variables
        needs = tuple("references" if slot == "reference" else slot for slot in slots)
        given = samples(frame, needs=("output", *needs), name=self.name)
        items = [
            (self.prompt.render(**{slot: _slot(sample, slot) for slot in slots}), sample.output) for sample in given
        ]
        nothing = Judgment.missing(Status.EMPTY, "output is empty")
        return self.framed(frame.index, [[item] if item[1].strip() else nothing for item in items], mean)

    def compute(self, items: Sequence[Item]) -> list[Values | Missing]:
        means = self.means([prompt for prompt, _ in items], [output for _, output in items])
        return [mean if isinstance(mean, Missing) else (mean,) for mean in means]


def _slot(sample: Sample, slot: str) -> str:
    if slot == "reference":
        return sample.references[0]
    return getattr(sample, slot) if slot in COLUMNS else sample.extra[slot]


def _label(engine: Any) -> str:
    """What tells two engines' numbers apart: model, revision, and a precision other than float32."""
    dtype = str(getattr(getattr(engine, "_model", None), "dtype", "torch.float32")).removeprefix("torch.")
    return f"{engine.model}@{engine.revision}" + ("" if dtype == "float32" else f"/{dtype}")
