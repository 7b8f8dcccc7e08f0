"""SemScore: the cosine between the sentence embeddings of an output and its target."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nlgeval_lib.evaluators import encoders
from nlgeval_lib.evaluators.metric import Item, Missing, PairMetric, Values, choose, version
from nlgeval_lib.records import Status

_REMEMBERED = 50_000  # embeddings kept in memory between calls: the same targets are compared with every system


class SemScore(PairMetric):
    """Cosine similarity of sentence embeddings, -1 to 1, in float32.

    model: None is the packaged MiniLM; the paper's is `sentence-transformers/all-mpnet-base-v2`; a folder or hub id.
    pooling: `"model"`: the sentence transformer's own; `"mean"` over all tokens and `"cls"` (the first token) make a
        sentence vector of any transformers encoder.
    layer: with `"mean"` and `"cls"`, which hidden states: 0 the embeddings, 1 the first layer, -1 the last.
    max_tokens: texts are cut at this length; None is the model's own limit. `details` counts what was cut.
    empty: `"nan"`, `"zero"`, or `"embed"`: an empty text is embedded like any other.
    batch_size, device: how it runs; neither changes a value by more than rounding.

    Source: Aynetdinov and Akbik (2024), SemScore, section 3.2; pooling variants: Table 4.
    """

    name = "semscore"
    parts = ("cosine", "outputs_cut", "references_cut")
    empty_rules = ("nan", "zero", "embed")
    parallel = False  # torch uses the cores itself

    def __init__(
        self,
        *,
        model: str | Path | None = None,
        revision: str | None = None,
        pooling: str = "model",
        layer: int = -1,
        max_tokens: int | None = None,
        batch_size: int = 32,
        device: str | None = None,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        self.model, self.revision = model, revision
        self.pooling = choose("pooling", pooling, ("model", "mean", "cls"))
        if pooling == "model" and layer != -1:
            raise ValueError(f"layer is {layer} with pooling='model'; a layer can be chosen with 'mean' and 'cls'")
        if not isinstance(layer, int):
            raise ValueError(f"layer is {layer!r}; a whole number is needed")
        if max_tokens is not None and (not isinstance(max_tokens, int) or max_tokens < 1):
            raise ValueError(f"max_tokens is {max_tokens!r}; a whole number from 1 on, or None")
        self.layer, self.max_tokens = layer, max_tokens
        self.batch_size, self.device = batch_size, device
        self._loaded_embeddings: dict[str, tuple[np.ndarray, bool]] = {}

    def settings(self) -> dict[str, Any]:
        package = "sentence-transformers" if self.pooling == "model" else "transformers"
        layer = {} if self.pooling == "model" else {"layer": self.layer}
        return {
            "model": encoders.locate(self.model, self.revision).label,
            "pooling": self.pooling,
            **layer,
            "max_tokens": self.max_tokens or "model",
            package: version(package),
        }

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """The embeddings of `texts`: float32, one row a text; equal texts are embedded once. Raises: Unavailable."""
        if not len(texts):
            return np.empty((0, 0), dtype=np.float32)
        known = self._loaded_embeddings
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        if len(known) + len(fresh) > _REMEMBERED:
            known.clear()
            fresh = list(dict.fromkeys(texts))
        known.update(zip(fresh, self._embed(fresh), strict=True))
        return np.stack([known[text][0] for text in texts])

    def compute(self, items: Sequence[Item]) -> list[Values | Missing]:
        texts = list(dict.fromkeys(text for item in items for text in item))
        vectors = dict(zip(texts, self.embed(texts), strict=True))
        cut = {text: float(self._loaded_embeddings[text][1]) for text in texts}
        return [_cosine(vectors[a], vectors[b], cut[a], cut[b]) for a, b in items]

    def _embed(self, texts: list[str]) -> list[tuple[np.ndarray, bool]]:
        """(embedding, whether the text was cut) of distinct texts."""
        if not texts:
            return []
        return self._by_sentence_transformer(texts) if self.pooling == "model" else self._by_pooling(texts)

    def _by_sentence_transformer(self, texts: list[str]) -> list[tuple[np.ndarray, bool]]:
        model = self._loaded_transformer
        vectors = model.encode(texts, batch_size=self.batch_size, show_progress_bar=False, convert_to_numpy=True)
        limit = model.max_seq_length
        lengths = [len(ids) for ids in model.tokenizer(texts, truncation=False, verbose=False)["input_ids"]]
        return [(vector, bool(limit) and n > limit) for vector, n in zip(vectors, lengths, strict=True)]

    def _by_pooling(self, texts: list[str]) -> list[tuple[np.ndarray, bool]]:
        encoder = self._loaded_encoder
        ids = [encoder.ids(text) for text in texts]
        pooled: dict[int, np.ndarray] = {}
        for i, states in encoder.vectors(ids, self.batch_size):
            pooled[i] = (states.mean(dim=0) if self.pooling == "mean" else states[0]).numpy()
        return [(pooled[i], encoder.is_cut(text, ids[i])) for i, text in enumerate(texts)]

    @functools.cached_property
    def _loaded_transformer(self) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer

        located = encoders.locate(self.model, self.revision)
        model = encoders.loading(
            located,
            lambda: SentenceTransformer(
                located.path,
                device=encoders.device_of(self.device),
                revision=located.revision,
                trust_remote_code=False,
                model_kwargs={"dtype": torch.float32},
            ),
        )
        if self.max_tokens is not None:
            if model.max_seq_length is not None and self.max_tokens > model.max_seq_length:
                raise ValueError(f"max_tokens is {self.max_tokens}; {located.label} takes 1 to {model.max_seq_length}")
            model.max_seq_length = self.max_tokens
        return model

    @functools.cached_property
    def _loaded_encoder(self) -> encoders.TokenEncoder:
        located = encoders.locate(self.model, self.revision)
        return encoders.TokenEncoder(located, layer=self.layer, device=self.device, max_tokens=self.max_tokens)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_loaded_embeddings": {}}


def _cosine(a: np.ndarray, b: np.ndarray, output_cut: float, reference_cut: float) -> Values | Missing:
    a, b = a.astype(np.float64), b.astype(np.float64)
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    if norm == 0 or not np.isfinite(norm):
        return Missing(Status.FAILED, f"an embedding has length {norm}; a cosine needs a finite one above 0")
    return (float(np.clip(a @ b / norm, -1.0, 1.0)), output_cut, reference_cut)
