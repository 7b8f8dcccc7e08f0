"""COMET, BLEURT and UniEval: learned metrics whose packages or checkpoints are fetched by whoever wants them."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import prompts
from nlgeval_lib.evaluators import base, encoders
from nlgeval_lib.evaluators.base import Unavailable
from nlgeval_lib.evaluators.metric import CachedMetric, Item, Missing, PairMetric, Values, choose, mean, version
from nlgeval_lib.evaluators.samples import samples
from nlgeval_lib.records import Judgment, Status


class Comet(CachedMetric):
    """COMET by unbabel-comet: a translation against its source and its first reference.

    model: a hub id whose checkpoint is in the local cache, or the path of a checkpoint file.

    Source: Rei et al. (2020), COMET.
    """

    name = "comet"
    parallel = False

    def __init__(
        self, *, model: str = "Unbabel/wmt22-comet-da", batch_size: int = 8, gpus: int | None = None, **common: Any
    ) -> None:
        super().__init__(**common)
        self.model, self.batch_size, self.gpus = model, batch_size, gpus

    def settings(self) -> dict[str, Any]:
        package = version("unbabel-comet", "pip install unbabel-comet, in an environment of its own")
        return {"model": self._checkpoint()[1], "unbabel-comet": package}

    def _checkpoint(self) -> tuple[str, str]:
        """The checkpoint's path and what it is called."""
        path = Path(self.model).expanduser()
        if path.is_file():
            return str(path), f"{path.name}@{_digest(path)}"
        from huggingface_hub import try_to_load_from_cache

        found = None if path.is_absolute() else try_to_load_from_cache(self.model, "checkpoints/model.ckpt")
        if not isinstance(found, str):
            raise Unavailable(
                f"COMET's checkpoint {self.model} is not on this machine; run "
                f'`python -c "import comet; comet.download_model({self.model!r})"` where the model hub can be reached, '
                f"or give the path of the .ckpt file"
            )
        return found, f"{self.model}@{Path(found).parents[1].name[:8]}"

    @functools.cached_property
    def _loaded(self) -> Any:
        from comet import load_from_checkpoint

        return load_from_checkpoint(self._checkpoint()[0])

    def score(self, frame: pd.DataFrame) -> pd.DataFrame:
        """`value, status, reason` of each row of `frame`, same index; needs `output`, `source` and `reference`.

        Raises: ValueError naming the column or the row.
        """
        given = samples(frame, needs=("output", "source", "references"), name=self.name)
        items = [(one.output, one.source, one.references[0]) for one in given]
        nothing = Judgment.missing(Status.EMPTY, "output is empty")
        return self.framed(frame.index, [[item] if item[0].strip() else nothing for item in items], mean)

    def compute(self, items: Sequence[Item]) -> list[Values | Missing]:
        import torch

        gpus = int(torch.cuda.is_available()) if self.gpus is None else self.gpus
        data = [{"mt": output, "src": source, "ref": reference} for output, source, reference in items]
        found = self._loaded.predict(data, batch_size=self.batch_size, gpus=gpus, progress_bar=False)
        return [_finite(value) for value in found.scores]


class Bleurt(PairMetric):
    """BLEURT by Google's package, which needs TensorFlow.

    checkpoint: the folder of an unpacked checkpoint, such as BLEURT-20.

    Source: Sellam et al. (2020), BLEURT.
    """

    name = "bleurt"
    parallel = False

    def __init__(self, checkpoint: str | Path = "BLEURT-20", *, batch_size: int = 16, **common: Any) -> None:
        super().__init__(**common)
        self.checkpoint, self.batch_size = Path(checkpoint).expanduser(), batch_size

    def settings(self) -> dict[str, Any]:
        package = version("BLEURT", "pip install git+https://github.com/google-research/bleurt.git")
        if not (self.checkpoint / "bleurt_config.json").is_file():
            raise Unavailable(
                f"BLEURT's checkpoint {self.checkpoint} is not a folder with bleurt_config.json; unpack "
                f"https://storage.googleapis.com/bleurt-oss-21/BLEURT-20.zip and name the folder"
            )
        return {"model": f"{self.checkpoint.name}@{_digest(self.checkpoint)}", "bleurt": package}

    @functools.cached_property
    def _loaded(self) -> Any:
        from bleurt import score

        return score.BleurtScorer(str(self.checkpoint))

    def compute(self, items: Sequence[Item]) -> list[Values | Missing]:
        outputs, references = [item[0] for item in items], [item[1] for item in items]
        found = self._loaded.score(references=references, candidates=outputs, batch_size=self.batch_size)
        return [_finite(value) for value in found]


class UniEval(CachedMetric):
    """UniEval: the probability of Yes against No to a question about the output, 0 to 1, by the published T5 models.

    Consistency and fluency of a summary are means over its sentences, engagingness of a response is a sum over them
    (and may exceed 1); these need nltk's sentence splitter `punkt_tab`.
    model: None is the task's checkpoint; a folder or a hub id. Inputs are cut at `max_tokens`; `details` counts them.

    Source: Zhong et al. (2022), UniEval, section 3; the questions are those of its released evaluator.
    """

    name = "unieval"
    parts = ("value", "inputs_cut")
    chunk = 250
    parallel = False

    def __init__(
        self,
        task: str,
        aspect: str,
        *,
        model: str | Path | None = None,
        revision: str | None = None,
        max_tokens: int = 1024,
        batch_size: int = 8,
        device: str | None = None,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        known = prompts.load_definitions("unieval")["tasks"]
        self.task = choose("task", task, tuple(known))
        self.aspect = choose("aspect", aspect, tuple(known[task]["aspects"]))
        self.asked = known[task]["aspects"][aspect]
        self.model, self.revision = model if model is not None else known[task]["checkpoint"], revision
        self.max_tokens, self.batch_size, self.device = max_tokens, batch_size, device
        self.join = self.asked.get("sentences")  # where each sentence is asked about: what their values become

    def settings(self) -> dict[str, Any]:
        # the question is part of each input, so values are shared between aspects that ask the same
        model = encoders.locate(self.model, self.revision).label
        return {"model": model, "max_tokens": self.max_tokens, "transformers": version("transformers")}

    def rules(self) -> dict[str, Any]:
        return {"task": self.task, "aspect": self.aspect, "sentences": self.join or "together"}

    def require(self) -> None:
        super().require()
        if self.join:
            _splitter()

    def score(self, frame: pd.DataFrame) -> pd.DataFrame:
        """`value, status, reason` of each row of `frame`, same index; needs `output` and what the aspect asks about.

        Raises: ValueError naming the column or the row.
        """
        question, called, columns = (self.asked[name] for name in ("question", "output", "shown"))
        given = samples(frame, needs=("output", *columns), name=f"{self.name} {self.aspect}")
        try:
            split = _splitter() if self.join else lambda text: [text] if text.strip() else []
        except Unavailable as error:
            missing = Judgment.missing(Status.UNAVAILABLE, str(error))
            return base.score_frame(frame.index, [missing] * len(given), self.signature())
        rows = []
        for one in given:
            texts = [one.references[0] if column == "references" else getattr(one, column) for column in columns]
            follows = [f"{name}: {text}" for name, text in zip(columns.values(), texts, strict=True)]
            asked = [" </s> ".join([f"question: {question}", f"{called}: {s}", *follows]) for s in split(one.output)]
            rows.append([(text,) for text in asked] or Judgment.missing(Status.EMPTY, "output is empty"))
        return self.framed(frame.index, rows, math.fsum if self.join == "sum" else mean)

    @functools.cached_property
    def _loaded(self) -> tuple[Any, Any, str]:
        import torch
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        located = encoders.locate(self.model, self.revision)
        where = {"revision": located.revision, "trust_remote_code": False}

        def load() -> tuple[Any, Any]:
            tokenizer = AutoTokenizer.from_pretrained(located.path, **where)
            return tokenizer, AutoModelForSeq2SeqLM.from_pretrained(located.path, dtype=torch.float32, **where)

        tokenizer, model = encoders.loading(located, load)
        device = encoders.device_of(self.device)
        return tokenizer, model.eval().to(device), device

    def compute(self, items: Sequence[Item]) -> list[Values | Missing]:
        import torch

        tokenizer, model, device = self._loaded
        yes, no = (tokenizer(word)["input_ids"][0] for word in ("Yes", "No"))
        values: list[Values | Missing] = []
        for start in range(0, len(items), self.batch_size):
            texts = [text for (text,) in items[start : start + self.batch_size]]
            lengths = [len(ids) for ids in tokenizer(texts, verbose=False)["input_ids"]]
            read = tokenizer(texts, max_length=self.max_tokens, truncation=True, padding=True, return_tensors="pt")
            first = torch.full((len(texts), 1), model.config.decoder_start_token_id)
            with torch.inference_mode():
                logits = model(**read.to(device), decoder_input_ids=first.to(device)).logits[:, 0]
            chances = torch.sigmoid(logits[:, yes] - logits[:, no]).tolist()  # p(Yes) / (p(Yes) + p(No))
            cuts = (float(length > self.max_tokens) for length in lengths)
            values += [(chance, cut) for chance, cut in zip(chances, cuts, strict=True)]
        return values


def _splitter() -> Any:
    """nltk's sentence splitter. Raises: Unavailable, with how to get it."""
    import nltk

    try:
        nltk.data.find("tokenizers/punkt_tab/english/")
    except LookupError:
        raise Unavailable(
            "this aspect is asked of each sentence, and nltk's sentence splitter is not on this machine; fetch it once "
            "with `python -m nltk.downloader punkt_tab`"
        ) from None
    return nltk.sent_tokenize


def _finite(value: float) -> Values | Missing:
    value = float(value)
    return (value,) if math.isfinite(value) else Missing(Status.FAILED, f"the model gave {value}")


def _digest(path: Path) -> str:
    """Eight hex digits over names, sizes and the ends of a checkpoint's files: enough to tell two apart."""
    whole = hashlib.sha256()
    for file in _files(path):
        size = file.stat().st_size
        whole.update(f"{file.relative_to(path.parent)}:{size}:".encode())
        with file.open("rb") as content:
            whole.update(content.read(1 << 20))
            content.seek(max(0, size - (1 << 20)))
            whole.update(content.read())
    return whole.hexdigest()[:8]


def _files(path: Path) -> Iterator[Path]:
    return iter([path]) if path.is_file() else (file for file in sorted(path.rglob("*")) if file.is_file())
