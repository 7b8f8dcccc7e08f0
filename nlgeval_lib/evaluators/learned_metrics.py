"""BARTScore, GPTScore, UniEval, SteamSHP, COMET and BLEURT: what a trained model says
of an output. The last two need packages that this library does not install.
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


class _Likelihood(Metric):
    """A metric of mean log-likelihoods by a model, loaded in float32 when needed."""

    chunk = 250

    def __init__(self, model: str, *, batch_size: int = 16, **metric: Any) -> None:
        super().__init__(**metric)
        self.model = model
        self.batch_size = batch_size

    def settings(self) -> dict[str, Any]:
        return {
            "model": encoders.locate(self.model).label,
            "transformers": version("transformers"),
        }

    @functools.cached_property
    def _engine(self) -> TransformersEngine:
        from nlgeval_lib.engines import EngineError, TransformersEngine

        located = encoders.locate(self.model)
        try:
            return TransformersEngine(
                located.path, revision=located.revision, dtype="float32"
            )
        except EngineError as error:
            raise Unavailable(str(error)) from error

    def means(self, pairs: Sequence[Item]) -> list[Found]:
        """The mean log-likelihood of a text's m tokens after its context, at most 0,
        for each (context, text): (1/m) sum_t log p(token t | tokens before t, context).
        """
        contexts, texts = map(list, zip(*pairs, strict=True))
        likelihoods = self._engine.loglikelihood(
            contexts, texts, batch_size=self.batch_size
        )
        return [_finite(one.mean, one.reason) for one in likelihoods]


class BartScore(_Likelihood, PairMetric):
    """BARTScore: mean log-likelihood of one text's tokens given another, at most 0.

    model: a sequence-to-sequence model (`facebook/bart-large-cnn`), or a causal one.
    direction: `"precision"`: the output given the reference; `"recall"`: the reverse;
    `"f"`: their mean; `"source"`: the output given the column `source` (faithfulness).
    batch_size: how many texts the model reads at a time.
    pairs: `multi`, `empty` and `cache` of the base class.

    Source: Yuan et al. (2021), BARTScore, section 3.2.
    """

    name = "bartscore"
    empty_rules = ("nan",)  # 0 would be the best value there is

    def __init__(self, model: str, *, direction: str = "f", **pairs: Any) -> None:
        super().__init__(model, **pairs)
        directions = ("f", "precision", "recall", "source")
        self.direction = choose("direction", direction, directions)

    def settings(self) -> dict[str, Any]:
        return {"direction": self.direction, **super().settings()}

    def reference_columns(self) -> tuple[str, ...]:
        if self.direction == "source":
            return ("source",)
        return super().reference_columns()

    def compute(self, items: Sequence[Item]) -> list[Found]:
        # `means` takes (context, text): an item as it is gives the recall.
        if self.direction == "recall":
            return self.means(items)
        precisions = self.means([(reference, output) for output, reference in items])
        if self.direction != "f":
            return precisions
        values: list[Found] = []
        for precision, recall in zip(precisions, self.means(items), strict=True):
            if isinstance(precision, Judgment):
                values.append(precision)
            elif isinstance(recall, Judgment):
                values.append(recall)
            else:
                values.append((statistics.fmean([*precision, *recall]),))
        return values


class GPTScore(_Likelihood):
    """GPTScore: mean log-likelihood of the output's tokens after a prompt that names
    the task and a quality, at most 0.

    model: a causal or sequence-to-sequence model.
    prompt: a text with `{{slots}}`, which columns fill; the output follows it.
    both: the mean with the first reference's likelihood with the output in its place.
    batch_size: how many texts the model reads at a time.
    metric: `cache` of the base class.

    Source: Fu et al. (2023), GPTScore, section 3.
    """

    name = "gptscore"

    def __init__(
        self, model: str, prompt: str, *, both: bool = False, **metric: Any
    ) -> None:
        super().__init__(model, **metric)
        self.prompt = prompts.of_text(prompt)
        slots = self.prompt.variables
        if not slots:
            raise ValueError("the prompt has no slot, such as {{source}}")
        if "output" in slots:
            raise ValueError(
                "the prompt has a slot {{output}}; "
                "the output is what follows the prompt"
            )
        if both and "reference" not in slots:
            raise ValueError(
                "both directions need a prompt with the slot {{reference}}"
            )
        self.needs = [slot.replace("reference", "references") for slot in slots]
        self.both = both

    def rules(self) -> dict[str, Any]:
        return {"prompt": self.prompt.sha, "direction": "both" if self.both else None}

    def items(self, sample: Sample) -> list[Item]:
        slots = {slot: field_of(sample, slot) for slot in self.prompt.variables}
        items: list[Item] = [(self.prompt.render(**slots), sample.output)]
        if self.both:
            reference = slots["reference"]
            slots["reference"] = sample.output
            items.append((self.prompt.render(**slots), reference))
        return items

    def compute(self, items: Sequence[Item]) -> list[Found]:
        return self.means(items)


class _Question(Metric):
    """A metric that asks a T5 model, and reads the first token of each answer."""

    chunk = 250

    def __init__(
        self,
        model: str | Path,
        *,
        max_tokens: int,
        batch_size: int = 8,
        **metric: Any,
    ) -> None:
        super().__init__(**metric)
        self.model = model
        self.max_tokens = max_tokens
        self.batch_size = batch_size

    def settings(self) -> dict[str, Any]:
        return {
            "model": encoders.locate(self.model).label,
            "max_tokens": self.max_tokens,
            "transformers": version("transformers"),
        }

    @functools.cached_property
    def _loaded(self) -> tuple[Any, Any]:
        """Tokenizer and model. Raises: Unavailable."""
        return encoders.pretrained(encoders.locate(self.model), "AutoModelForSeq2SeqLM")

    def question(self, item: Item) -> str:
        """What the model is asked about an item."""
        return item[0]

    def probability(self, logits: Any, tokenizer: Any) -> Any:
        """The values of a batch, from the logits `[question, token]`."""
        raise NotImplementedError(f"{type(self).__name__} has no probability()")

    def remark(self, items: Sequence[Item]) -> str:
        """Whether a question of the row is longer than the model is asked."""
        for question in map(self.question, items):
            # a token has a letter at least
            is_short = len(str(question)) < self.max_tokens
            if is_short or not encoders.is_here(self.model):
                continue
            tokenizer, _ = self._loaded
            if len(tokenizer(question, verbose=False).input_ids) > self.max_tokens:
                most = self.max_tokens
                return f"a question is cut at {most} tokens (-s max_tokens=N)"
        return ""

    def compute(self, items: Sequence[Item]) -> list[Found]:
        import torch

        tokenizer, model = self._loaded
        values: list[Found] = []
        for start in range(0, len(items), self.batch_size):
            texts = list(map(self.question, items[start : start + self.batch_size]))
            cut: Any = {"max_length": self.max_tokens, "truncation": True}
            encoded = tokenizer(texts, padding=True, return_tensors="pt", **cut)
            begin = torch.full((len(texts), 1), model.config.decoder_start_token_id)
            with torch.inference_mode():
                output = model(
                    **encoded.to(model.device), decoder_input_ids=begin.to(model.device)
                )
            probabilities = self.probability(output.logits[:, 0], tokenizer)
            values += [(probability,) for probability in probabilities.tolist()]
        return values


class UniEval(_Question):
    """UniEval: the probability of Yes against No to a question about the output, 0 to
    1, by the published T5 models.

    task: summarization, dialogue, ... (those of the released evaluator).
    aspect: one of the task's, such as coherence; some are means or sums over sentences.
    model: None is the task's checkpoint; a folder or a hub id.
    max_tokens: inputs are cut there.
    batch_size: how many questions are asked at a time.
    metric: `cache` of the base class.

    Source: Zhong et al. (2022), UniEval, section 3; the released questions.
    """

    name = "unieval"

    def __init__(
        self,
        task: str,
        aspect: str,
        *,
        model: str | Path | None = None,
        max_tokens: int = 1024,
        **metric: Any,
    ) -> None:
        tasks = prompts.load_definitions("unieval")["tasks"]
        self.task = choose("task", task, tasks)
        aspects = tasks[task]["aspects"]
        self.aspect = choose("aspect", aspect, aspects)
        self.asked = aspects[aspect]
        model = model or tasks[task]["checkpoint"]
        super().__init__(model, max_tokens=max_tokens, **metric)
        self.needs = list(self.asked["shown"])
        self.sentences = self.asked.get("sentences")
        self.join = math.fsum if self.sentences == "sum" else statistics.fmean

    def rules(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "aspect": self.aspect,
            "sentences": self.sentences or "together",
        }

    def items(self, sample: Sample) -> list[Item]:
        texts = [sample.output]
        if self.sentences:
            texts = _sentences(sample.output)
        blocks = []
        for column, name in self.asked["shown"].items():
            blocks.append(f"{name}: {field_of(sample, column)}")
        items: list[Item] = []
        for text in texts:
            question = f"question: {self.asked['question']}"
            output = f"{self.asked['output']}: {text}"
            items.append((" </s> ".join([question, output, *blocks]),))
        return items

    def probability(self, logits: Any, tokenizer: Any) -> Any:
        yes = tokenizer("Yes")["input_ids"][0]
        no = tokenizer("No")["input_ids"][0]
        # The same as p(Yes) / (p(Yes) + p(No)) of the softmax.
        return (logits[:, yes] - logits[:, no]).sigmoid()


class SteamSHP(_Question):
    """SteamSHP: how likely people find the output a good answer to the instruction, 0
    to 1: the probability of A where B is a full stop, as the model's card says.

    model: a folder or a hub id.
    max_tokens: a post that is too long for it loses its end.
    batch_size: how many questions are asked at a time.
    metric: `cache` of the base class.

    Source: Ethayarajh et al. (2022), Dataset Difficulty with V-Usable Information.
    """

    name = "steamshp"
    needs = ("instruction",)

    def __init__(
        self,
        model: str | Path = "stanfordnlp/SteamSHP-flan-t5-xl",
        *,
        max_tokens: int = 512,
        **metric: Any,
    ) -> None:
        super().__init__(model, max_tokens=max_tokens, **metric)

    def items(self, sample: Sample) -> list[Item]:
        post = " ".join(sample.instruction.splitlines())
        return [(post, " ".join(sample.output.splitlines()))]

    def question(self, item: Item) -> str:
        """Which response is better? The post is cut to the room that is left."""
        post, response = item
        tokenizer, _ = self._loaded
        question = (
            f"\n\n RESPONSE A: {response}\n\n RESPONSE B: .\n\n "
            "Which response is better? RESPONSE"
        )
        without_post = tokenizer(f"POST: {question}")["input_ids"]
        room = self.max_tokens - len(without_post)
        ids = tokenizer(post, add_special_tokens=False)["input_ids"]
        if len(ids) > room:
            post = tokenizer.decode(ids[: max(0, room)])
        return f"POST: {post}{question}"

    def probability(self, logits: Any, tokenizer: Any) -> Any:
        return logits.softmax(-1)[:, tokenizer("A")["input_ids"][0]]


def _sentences(text: str) -> list[str]:
    """The sentences of a text. Raises: Unavailable without nltk's splitter."""
    import nltk

    try:
        return nltk.sent_tokenize(text)
    except LookupError:
        raise Unavailable(
            "nltk's sentence splitter is not on this machine; "
            "fetch it once with `python -m nltk.downloader punkt_tab`"
        ) from None


class Comet(Metric):
    """COMET by unbabel-comet: a translation against its source and its first reference.

    model: the path of a checkpoint file, or an id whose folder is in
    `files.state("models")`.
    reference: whether the model reads a reference.
    batch_size: how many translations are read at a time.
    metric: `cache` of the base class.

    Source: Rei et al. (2020), COMET.
    """

    name = "comet"

    def __init__(
        self,
        *,
        model: str | Path = "wmt22-comet-da.ckpt",
        reference: bool = True,
        batch_size: int = 8,
        **metric: Any,
    ) -> None:
        super().__init__(**metric)
        self.model = Path(model)
        folder = Path(encoders.placed(model))
        if folder.is_dir():
            self.model = folder / "checkpoints" / "model.ckpt"
        self.batch_size = batch_size
        self.needs = ("source", "references") if reference else ("source",)

    def settings(self) -> dict[str, Any]:
        package = version(
            "unbabel-comet", "pip install unbabel-comet, in an environment of its own"
        )
        advice = (
            '`python -c "import comet; '
            "print(comet.download_model('Unbabel/wmt22-comet-da'))\"` prints its path"
        )
        return {
            "model": _checkpoint_label(self.model, self.model, advice),
            "unbabel-comet": package,
        }

    @functools.cached_property
    def _loaded(self) -> Any:
        from comet import load_from_checkpoint

        return load_from_checkpoint(str(self.model))

    def items(self, sample: Sample) -> list[Item]:
        references = sample.references[: len(self.needs) - 1]
        return [(sample.output, sample.source, *references)]

    def compute(self, items: Sequence[Item]) -> list[Found]:
        names = ("mt", "src", "ref")
        predicted = self._loaded.predict(
            [dict(zip(names, item, strict=False)) for item in items],
            batch_size=self.batch_size,
            gpus=int(encoders.device() == "cuda"),
            progress_bar=False,
        )
        return list(map(_finite, predicted.scores))


class Bleurt(PairMetric):
    """BLEURT by Google's package, which needs TensorFlow.

    model: the folder of an unpacked checkpoint, or its name in `files.state("models")`.
    batch_size: how many pairs are read at a time.
    pairs: `multi`, `empty` and `cache` of the base class.

    Source: Sellam et al. (2020), BLEURT.
    """

    name = "bleurt"

    def __init__(
        self,
        model: str | Path = "BLEURT-20",
        *,
        batch_size: int = 16,
        **pairs: Any,
    ) -> None:
        super().__init__(**pairs)
        self.model = Path(encoders.placed(model))
        self.batch_size = batch_size

    def settings(self) -> dict[str, Any]:
        package = version(
            "BLEURT", "pip install git+https://github.com/google-research/bleurt.git"
        )
        advice = (
            "unpack https://storage.googleapis.com/bleurt-oss-21/BLEURT-20.zip "
            "and name the folder"
        )
        config = self.model / "bleurt_config.json"
        return {
            "model": _checkpoint_label(self.model, config, advice),
            "bleurt": package,
        }

    @functools.cached_property
    def _loaded(self) -> Any:
        from bleurt import score

        return score.BleurtScorer(str(self.model))

    def compute(self, items: Sequence[Item]) -> list[Found]:
        outputs, references = map(list, zip(*items, strict=True))
        scores = self._loaded.score(
            references=references, candidates=outputs, batch_size=self.batch_size
        )
        return list(map(_finite, scores))


def _checkpoint_label(checkpoint: Path, needed: Path, advice: str) -> str:
    """A checkpoint's name and a digest. Raises: Unavailable, with the advice."""
    if not needed.is_file():
        raise Unavailable(f"checkpoint: there is no file {needed}; {advice}")
    return f"{checkpoint.name}@{encoders.digest(checkpoint)}"


def _finite(value: float, reason: str = "") -> Found:
    """A value as an item's only part; a judgment with the reason if not finite."""
    value = float(value)
    if math.isfinite(value):
        return (value,)
    return Judgment.missing(Status.FAILED, reason or f"the model gave {value}")
