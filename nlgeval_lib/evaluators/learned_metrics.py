"""BARTScore and GPTScore (how likely is an output?), UniEval, COMET and BLEURT: what
a trained model says of it.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlgeval_lib import prompts
from nlgeval_lib.evaluators import encoders
from nlgeval_lib.evaluators.base import Unavailable, choose, field_of
from nlgeval_lib.evaluators.metric import Found, Item, Metric, PairMetric, version
from nlgeval_lib.records import Judgment, Sample, Status

if TYPE_CHECKING:
    from nlgeval_lib.engines import TransformersEngine

# ours: naming the task and a quality before the text is GPTScore's idea, its prompts
# are another for each data set
PROMPT = "{{task}} {{quality}}\n\n{{source}}\n\nText:\n"


class _Likelihood(Metric):
    """A metric of mean log-likelihoods of tokens by a model, which is loaded in
    float32 when needed.
    """

    chunk = 250
    parallel = False

    def __init__(self, model: str, *, batch_size: int = 16, **common: Any) -> None:
        super().__init__(**common)
        self.model, self.batch_size = model, batch_size

    def settings(self) -> dict[str, Any]:
        return {
            "model": encoders.locate(self.model).label,
            "transformers": version("transformers"),
        }

    @functools.cached_property
    def _loaded(self) -> TransformersEngine:
        from nlgeval_lib.engines import EngineError, TransformersEngine

        located = encoders.locate(self.model)
        try:
            return TransformersEngine(
                located.path, revision=located.revision, dtype="float32"
            )
        except EngineError as error:
            raise Unavailable(str(error)) from error

    def means(self, pairs: Sequence[Item]) -> list[Found]:
        """The mean log-likelihood of a text's tokens after its context, for each
        (context, text); at most 0.
        """
        contexts, texts = map(list, zip(*pairs, strict=True))
        found = self._loaded.loglikelihood(contexts, texts, batch_size=self.batch_size)
        return [_finite(one.mean, one.reason) for one in found]


class BartScore(PairMetric, _Likelihood):
    """BARTScore: mean log-likelihood of one text's tokens given another, at most 0;
    nothing is cut.

    model: a sequence-to-sequence model (`facebook/bart-large-cnn` in the paper), or a
    causal one.
    direction: `"precision"`: the output given the reference; `"recall"`: the reference
    given the output; `"f"`: their mean; `"source"`: the output given the column
    `source` (faithfulness).

    Source: Yuan et al. (2021), BARTScore, section 3.2.
    """

    name = "bartscore"
    empty_rules = ("nan",)  # 0 would be the best value there is

    def __init__(self, model: str, *, direction: str = "f", **common: Any) -> None:
        super().__init__(model=model, **common)
        self.direction = choose(
            "direction", direction, ("f", "precision", "recall", "source")
        )

    def settings(self) -> dict[str, Any]:
        return {"direction": self.direction, **super().settings()}

    def reference_columns(self) -> tuple[str, ...]:
        return (
            ("source",) if self.direction == "source" else super().reference_columns()
        )

    def compute(self, items: Sequence[Item]) -> list[Found]:
        if self.direction == "recall":
            return self.means(items)
        precision = self.means([(reference, output) for output, reference in items])
        if self.direction != "f":
            return precision
        values: list[Found] = []
        for both in zip(precision, self.means(items), strict=True):
            lost = next((one for one in both if isinstance(one, Judgment)), None)
            values.append(
                lost
                or (statistics.fmean(one[0] for one in both if isinstance(one, tuple)),)
            )
        return values


class GPTScore(_Likelihood):
    """GPTScore: mean log-likelihood of the output's tokens after a prompt that names
    the task and a quality, at most 0.

    model: a causal or sequence-to-sequence model. prompt: a text with `{{slots}}`, or a
    template's name; `fixed` fills slots for all items (the default prompt has `task`
    and `quality`), columns fill the others.
    both: the mean with the first reference's likelihood after a prompt with the output
    in the reference's place.

    Source: Fu et al. (2023), GPTScore, section 3.
    """

    name = "gptscore"

    def __init__(
        self,
        model: str,
        *,
        prompt: str = PROMPT,
        fixed: dict[str, str] | None = None,
        both: bool = False,
        **common: Any,
    ) -> None:
        super().__init__(model=model, **common)
        whole = prompts.of_text(prompt) if "{{" in prompt else prompts.template(prompt)
        self.prompt = whole.bind(**(fixed or {}))
        if "output" in self.prompt.variables:
            raise ValueError(
                "the prompt has a slot {{output}}; the output is what follows the prompt"
            )
        self.needs = [
            "references" if slot == "reference" else slot
            for slot in self.prompt.variables
        ]
        if both and "reference" not in self.prompt.variables:
            raise ValueError(
                "both directions need a prompt with the slot {{reference}}"
            )
        self.both = both

    def rules(self) -> dict[str, Any]:
        return {"prompt": self.prompt.sha} | (
            {"direction": "both"} if self.both else {}
        )

    def items(self, sample: Sample) -> list[Item]:
        if not sample.output.strip():
            return []
        slots = {slot: field_of(sample, slot) for slot in self.prompt.variables}
        found: list[Item] = [(self.prompt.render(**slots), sample.output)]
        if self.both:
            found.append(
                (
                    self.prompt.render(**slots | {"reference": sample.output}),
                    slots["reference"],
                )
            )
        return found

    def compute(self, items: Sequence[Item]) -> list[Found]:
        return self.means(items)


class UniEval(Metric):
    """UniEval: the probability of Yes against No to a question about the output, 0 to
    1, by the published T5 models.

    Consistency and fluency of a summary are means over its sentences, engagingness of a
    response is a sum over them.
    model: None is the task's checkpoint; a folder or a hub id. Inputs are cut at
    `max_tokens`.

    Source: Zhong et al. (2022), UniEval, section 3; the questions are those of its
    released evaluator.
    """

    name = "unieval"
    chunk = 250
    parallel = False

    def __init__(
        self,
        task: str,
        aspect: str,
        *,
        model: str | Path | None = None,
        max_tokens: int = 1024,
        batch_size: int = 8,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        known = prompts.load_definitions("unieval")["tasks"]
        self.task = choose("task", task, tuple(known))
        self.aspect = choose("aspect", aspect, tuple(known[task]["aspects"]))
        self.asked = known[task]["aspects"][aspect]
        self.model = model if model is not None else known[task]["checkpoint"]
        self.max_tokens, self.batch_size = max_tokens, batch_size
        self.needs = list(self.asked["shown"])
        self.sentences = self.asked.get(
            "sentences"
        )  # where each sentence is asked about: what their values become
        self.join = math.fsum if self.sentences == "sum" else statistics.fmean

    def settings(self) -> dict[str, Any]:
        model = encoders.locate(self.model).label
        return {
            "model": model,
            "max_tokens": self.max_tokens,
            "transformers": version("transformers"),
        }

    def rules(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "aspect": self.aspect,
            "sentences": self.sentences or "together",
        }

    def items(self, sample: Sample) -> list[Item]:
        question = self.asked["question"]
        called = self.asked["output"]
        follows = [
            f"{name}: {field_of(sample, column)}"
            for column, name in self.asked["shown"].items()
        ]
        said = [sample.output] if sample.output.strip() else []
        if said and self.sentences:
            import nltk

            try:
                said = nltk.sent_tokenize(sample.output)
            except LookupError:
                way = "fetch it once with `python -m nltk.downloader punkt_tab`"
                raise Unavailable(
                    f"nltk's sentence splitter is not on this machine; {way}"
                ) from None
        return [
            (" </s> ".join([f"question: {question}", f"{called}: {one}", *follows]),)
            for one in said
        ]

    @functools.cached_property
    def _loaded(self) -> tuple[Any, Any]:
        return encoders.pretrained(encoders.locate(self.model), "AutoModelForSeq2SeqLM")

    def compute(self, items: Sequence[Item]) -> list[Found]:
        import torch

        tokenizer, model = self._loaded
        yes, no = (tokenizer(word)["input_ids"][0] for word in ("Yes", "No"))
        values: list[Found] = []
        for start in range(0, len(items), self.batch_size):
            texts = [text for (text,) in items[start : start + self.batch_size]]
            read = tokenizer(
                texts,
                max_length=self.max_tokens,
                truncation=True,
                padding=True,
                return_tensors="pt",
            )
            first = torch.full((len(texts), 1), model.config.decoder_start_token_id)
            with torch.inference_mode():
                logits = model(
                    **read.to(model.device), decoder_input_ids=first.to(model.device)
                ).logits[:, 0]
            chances = torch.sigmoid(
                logits[:, yes] - logits[:, no]
            )  # p(Yes) / (p(Yes) + p(No))
            values += [(chance,) for chance in chances.tolist()]
        return values


class Comet(Metric):
    """COMET by unbabel-comet: a translation against its source and, unless
    `reference=no`, its first reference.

    model: the path of a checkpoint file, or an id whose folder is in
    `files.state("models")`.

    Source: Rei et al. (2020), COMET.
    """

    name = "comet"
    parallel = False

    def __init__(
        self,
        *,
        model: str | Path = "wmt22-comet-da.ckpt",
        reference: bool = True,
        batch_size: int = 8,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        folder = Path(encoders.placed(model))
        self.model = (
            folder / "checkpoints" / "model.ckpt" if folder.is_dir() else Path(model)
        )
        self.batch_size = batch_size
        self.needs = ("source", "references") if reference else ("source",)

    def settings(self) -> dict[str, Any]:
        package = version(
            "unbabel-comet", "pip install unbabel-comet, in an environment of its own"
        )
        way = "`python -c \"import comet; print(comet.download_model('Unbabel/wmt22-comet-da'))\"` prints its path"
        return {"model": _kept(self.model, self.model, way), "unbabel-comet": package}

    @functools.cached_property
    def _loaded(self) -> Any:
        from comet import load_from_checkpoint

        return load_from_checkpoint(str(self.model))

    def items(self, sample: Sample) -> list[Item]:
        texts = (
            sample.output,
            sample.source,
            *sample.references[: len(self.needs) - 1],
        )
        return [texts] if sample.output.strip() else []

    def compute(self, items: Sequence[Item]) -> list[Found]:
        data = [dict(zip(("mt", "src", "ref"), item, strict=False)) for item in items]
        gpus = int(encoders.device() == "cuda")
        found = self._loaded.predict(
            data, batch_size=self.batch_size, gpus=gpus, progress_bar=False
        )
        return [_finite(value) for value in found.scores]


class Bleurt(PairMetric):
    """BLEURT by Google's package, which needs TensorFlow.

    model: the folder of an unpacked checkpoint, such as BLEURT-20, or its name in
    `files.state("models")`.

    Source: Sellam et al. (2020), BLEURT.
    """

    name = "bleurt"
    parallel = False

    def __init__(
        self, model: str | Path = "BLEURT-20", *, batch_size: int = 16, **common: Any
    ) -> None:
        super().__init__(**common)
        self.model, self.batch_size = Path(encoders.placed(model)), batch_size

    def settings(self) -> dict[str, Any]:
        package = version(
            "BLEURT", "pip install git+https://github.com/google-research/bleurt.git"
        )
        way = "unpack https://storage.googleapis.com/bleurt-oss-21/BLEURT-20.zip and name the folder"
        return {
            "model": _kept(self.model, self.model / "bleurt_config.json", way),
            "bleurt": package,
        }

    @functools.cached_property
    def _loaded(self) -> Any:
        from bleurt import score

        return score.BleurtScorer(str(self.model))

    def compute(self, items: Sequence[Item]) -> list[Found]:
        outputs, references = map(list, zip(*items, strict=True))
        found = self._loaded.score(
            references=references, candidates=outputs, batch_size=self.batch_size
        )
        return [_finite(value) for value in found]


def _kept(checkpoint: Path, needed: Path, way: str) -> str:
    """The label of a checkpoint. Raises: Unavailable without the file that it needs."""
    if not needed.is_file():
        raise Unavailable(f"checkpoint: there is no file {needed}; {way}")
    return f"{checkpoint.name}@{encoders.digest(checkpoint)}"


def _finite(value: float, reason: str = "") -> Found:
    value = float(value)
    return (
        (value,)
        if math.isfinite(value)
        else Judgment.missing(Status.FAILED, reason or f"the model gave {value}")
    )
