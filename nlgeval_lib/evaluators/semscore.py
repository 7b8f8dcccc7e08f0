"""SemScore: the cosine between the sentence embeddings of an output and its target."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nlgeval_lib.evaluators import encoders
from nlgeval_lib.evaluators.metric import Found, Item, PairMetric, choose, version
from nlgeval_lib.records import Judgment, Status

_REMEMBERED = 50_000  # embeddings kept in memory between calls: the same targets are compared with every system


class SemScore(PairMetric):
    """Cosine similarity of sentence embeddings, -1 to 1, in float32.

    model: None is the packaged MiniLM; the paper's is `sentence-transformers/all-mpnet-base-v2`; a folder or hub id.
    pooling: `"model"`: the sentence transformer's own; `"mean"` over all tokens and `"cls"` (the first token) make a
        sentence vector of any transformers encoder.
    layer: with `"mean"` and `"cls"`, which hidden states: 0 the embeddings, 1 the first layer, -1 the last.
    max_tokens: texts are cut at this length; None is the model's own limit.
    batch_size: how it runs; changes no value by more than rounding.

    Source: Aynetdinov and Akbik (2024), SemScore, section 3.2; pooling variants: Table 4.
    """

    name = "semscore"
    parallel = False

    def __init__(
        self,
        *,
        model: str | Path | None = None,
        pooling: str = "model",
        layer: int = -1,
        max_tokens: int | None = None,
        batch_size: int = 32,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        self.model = model
        self.pooling = choose("pooling", pooling, ("model", "mean", "cls"))
        if pooling == "model" and layer != -1:
            raise ValueError(f"layer is {layer} with pooling='model'; a layer can be chosen with 'mean' and 'cls'")
        self.layer, self.max_tokens, self.batch_size = layer, max_tokens, batch_size
        self._loaded_embeddings: dict[str, np.ndarray] = {}

    def settings(self) -> dict[str, Any]:
        package = "sentence-transformers" if self.pooling == "model" else "transformers"
        layer = {} if self.pooling == "model" else {"layer": self.layer}
        return {
            "model": encoders.locate(self.model).label,
            "pooling": self.pooling,
            **layer,
            "max_tokens": self.max_tokens or "model",
            package: version(package),
        }

    def compute(self, items: Sequence[Item]) -> list[Found]:
        known = self._loaded_embeddings
        texts = list(dict.fromkeys(text for item in items for text in item))
        if len(known) + len(texts) > _REMEMBERED:
            known.clear()
        if fresh := [text for text in texts if text not in known]:
            known.update(zip(fresh, self.embed(fresh), strict=True))
        return [_cosine(*(known[text] for text in item)) for item in items]

    def embed(self, texts: list[str]) -> Sequence[np.ndarray]:
        """The embedding of each text in float32. Raises: Unavailable."""
        if self.pooling == "model":  # sorts by length itself
            return self._loaded_transformer.encode(texts, batch_size=self.batch_size, show_progress_bar=False)
        pool = (lambda states: states.mean(dim=0)) if self.pooling == "mean" else (lambda states: states[0])
        encoder = self._loaded_encoder
        pooled = {i: pool(states).numpy() for i, states in encoder.vectors(encoder.ids(texts), self.batch_size)}
        return [pooled[i] for i in range(len(texts))]

    @functools.cached_property
    def _loaded_transformer(self) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer

        located = encoders.locate(self.model)
        kind: dict[str, Any] = {"device": encoders.device(), "model_kwargs": {"dtype": torch.float32}}
        model = encoders.loading(located, lambda where: SentenceTransformer(located.path, **kind, **where))
        if self.max_tokens is not None:
            if not 0 < self.max_tokens <= (model.max_seq_length or self.max_tokens):
                raise ValueError(f"max_tokens is {self.max_tokens}; {located.label} takes 1 to {model.max_seq_length}")
            model.max_seq_length = self.max_tokens
        return model

    @functools.cached_property
    def _loaded_encoder(self) -> encoders.TokenEncoder:
        located = encoders.locate(self.model)
        return encoders.TokenEncoder(located, layer=self.layer, max_tokens=self.max_tokens)


def _cosine(a: np.ndarray, b: np.ndarray) -> Found:
    a, b = a.astype(np.float64), b.astype(np.float64)
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    if norm == 0 or not np.isfinite(norm):
        why = f"an embedding has length {norm}; a cosine needs a finite one above 0"
        return Judgment.missing(Status.FAILED, why)
    return (float(np.clip(a @ b / norm, -1.0, 1.0)),)
