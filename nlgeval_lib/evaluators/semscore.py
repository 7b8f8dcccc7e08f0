"""SemScore: the cosine similarity of the sentence embeddings of output and target."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nlgeval_lib.evaluators import encoders
from nlgeval_lib.evaluators.base import choose
from nlgeval_lib.evaluators.embedding_metrics import OfEncoder
from nlgeval_lib.evaluators.metric import Found, Item, version
from nlgeval_lib.records import Judgment, Status

# Embeddings kept in memory between calls: the same targets are compared with every
# system.
_REMEMBERED = 50_000


class SemScore(OfEncoder):
    """Cosine similarity of sentence embeddings, -1 to 1, rounded to 6 decimals.

    model: None is the packaged MiniLM, with a warning; the paper's is
    `sentence-transformers/all-mpnet-base-v2`; a folder or hub id.
    pooling: `"model"`: the sentence transformer's own; `"mean"` over all tokens and
    `"cls"` (the first token) make a sentence vector of any encoder's hidden states.
    layer: the hidden states of `"mean"` and `"cls"`: 0 the embeddings, -1 the last.
    max_tokens: texts are cut at this length; None is the model's own limit.
    dtype: the precision, `"float32"` or `"float16"`, which is slow on a processor.
    batch_size: how many texts are encoded at a time.
    pairs: `multi`, `empty` and `cache` of the base class.

    Source: Aynetdinov and Akbik (2024), SemScore, section 3.2; Table 4 (pooling).

    Example:
    >>> metric = SemScore(model="all-MiniLM-L6-v2")
    >>> metric.score(["A bus left."], ["A bus left."])["value"].round(3).item()
    1.0
    """

    name = "semscore"
    papers = encoders.MPNET.name
    digits = 6

    def __init__(
        self,
        *,
        model: str | Path | None = None,
        pooling: str = "model",
        layer: int = -1,
        max_tokens: int | None = None,
        dtype: str = "float32",
        batch_size: int = 32,
        **pairs: Any,
    ) -> None:
        super().__init__(model=model, **pairs)
        self.dtype = choose("dtype", dtype, ("float32", "float16"))
        self.pooling = choose("pooling", pooling, ("model", "mean", "cls"))
        if pooling == "model" and layer != -1:
            raise ValueError(
                f"layer is {layer} with pooling='model'; "
                "a layer can be chosen with 'mean' and 'cls'"
            )
        self.layer = layer
        self.max_tokens = max_tokens
        self.batch_size = batch_size
        # Text -> its embedding; does not travel to other processes.
        self._loaded_embeddings: dict[str, np.ndarray] = {}

    def settings(self) -> dict[str, Any]:
        package = "sentence-transformers" if self.pooling == "model" else "transformers"
        return {
            "model": encoders.label(self.model),
            "pooling": self.pooling,
            "layer": None if self.pooling == "model" else self.layer,
            "max_tokens": self.max_tokens or "model",
            "dtype": self.dtype,
            package: version(package),
        }

    def compute(self, items: Sequence[Item]) -> list[Found]:
        embeddings = self._loaded_embeddings
        texts = list(dict.fromkeys(itertools.chain.from_iterable(items)))
        if len(embeddings) + len(texts) > _REMEMBERED:
            embeddings.clear()
        fresh = [text for text in texts if text not in embeddings]
        if fresh:
            embeddings.update(zip(fresh, self.embed(fresh), strict=True))
        return [_cosine(embeddings[a], embeddings[b]) for a, b in items]

    def limit(self) -> tuple[Any, int]:
        if self.pooling == "model":
            model = self._loaded_transformer
            return model.tokenizer, model.max_seq_length or 10**9
        encoder = self._loaded_encoder
        return encoder.tokenizer, encoder.max_tokens

    def embed(self, texts: list[str]) -> Sequence[np.ndarray]:
        """The embedding of each text, in float32: step 1 of the paper."""
        if self.pooling == "model":  # sorts by length itself
            return self._loaded_transformer.encode(
                texts, batch_size=self.batch_size, show_progress_bar=False
            )
        encoder = self._loaded_encoder
        pooled: list[Any] = [None] * len(texts)
        for position, states in encoder.vectors(encoder.ids(texts), self.batch_size):
            vector = states[0]
            if self.pooling == "mean":
                vector = states.mean(dim=0)
            pooled[position] = vector.numpy()
        return pooled

    @functools.cached_property
    def _loaded_transformer(self) -> Any:
        """The sentence transformer. Raises: Unavailable; ValueError for a limit."""
        import torch
        from sentence_transformers import SentenceTransformer

        located = encoders.locate(self.model)

        def load(settings: dict[str, Any]) -> Any:
            return SentenceTransformer(
                located.path,
                device=encoders.device(),
                model_kwargs={"dtype": getattr(torch, self.dtype)},
                **settings,
            )

        model = encoders.loading(located, load)
        if self.max_tokens is not None:
            if not 0 < self.max_tokens <= (model.max_seq_length or self.max_tokens):
                raise ValueError(
                    f"max_tokens is {self.max_tokens}; "
                    f"{located.label} takes 1 to {model.max_seq_length}"
                )
            model.max_seq_length = self.max_tokens
        return model

    @functools.cached_property
    def _loaded_encoder(self) -> encoders.TokenEncoder:
        """The encoder whose hidden states are pooled, for `"mean"` and `"cls"`."""
        located = encoders.locate(self.model)
        return encoders.TokenEncoder(
            located, layer=self.layer, max_tokens=self.max_tokens
        )


def _cosine(a: np.ndarray, b: np.ndarray) -> Found:
    """The cosine of two embeddings, or why there is none. Step 2 of the paper.

    cos(a, b) = a . b / (|a| |b|), computed in float64
    """
    a = a.astype(np.float64)
    b = b.astype(np.float64)
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    if norm == 0 or not np.isfinite(norm):
        return Judgment.missing(
            Status.FAILED, f"embeddings' lengths multiply to {norm}: no cosine"
        )
    cosine = np.clip(a @ b / norm, -1.0, 1.0)
    return (float(cosine),)
