"""BERTScore and SemScore: an output and its reference as an encoder's vectors, of
each token or of the whole text.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nlgeval_lib.evaluators import encoders
from nlgeval_lib.evaluators.base import Unavailable, choose
from nlgeval_lib.evaluators.metric import Found, Item, PairMetric, version
from nlgeval_lib.records import Judgment, Status

# embeddings kept in memory between calls: the same targets are compared with every
# system
_REMEMBERED = 50_000


def _notice(metric: Any) -> str:
    """Which encoder is used, and how to have the paper's; to be said before it
    scores.
    """
    try:
        used = encoders.locate(metric.model).label
    except Unavailable:  # every row will say so
        return ""
    other = (
        ""
        if metric.model == metric.papers
        else f"; the paper's encoder: -m {metric.papers}"
    )
    return f"{metric.name} compares vectors of {used}{other}"


class BertScore(PairMetric):
    """BERTScore by bert-score's matching over any transformers encoder, -1 to 1,
    without weights by rarity.

    model: None is the packaged MiniLM, else a folder or a hub id, such as
    `microsoft/deberta-xlarge-mnli`.
    layer: whose token vectors; None: the one that bert-score recommends for a hub model
    it knows, else the last.
    value: `"f"`, `"p"` or `"r"`. Texts longer than the model takes are cut; values are
    rounded to 5 decimals.

    Source: Zhang et al. (2020), BERTScore, section 3.
    """

    name = "bertscore"
    papers = "roberta-large"
    notice = _notice
    parts = ("f", "p", "r")
    revision_of_code = 3
    digits = 5
    chunk = 250  # token vectors of this many pairs are held at once
    parallel = False

    def __init__(
        self,
        *,
        model: str | Path | None = None,
        layer: int | None = None,
        value: str = "f",
        batch_size: int = 32,
        **common: Any,
    ) -> None:
        super().__init__(part=value, **common)
        self.model, self.layer, self.batch_size = model, layer, batch_size

    def settings(self) -> dict[str, Any]:
        versions = {
            package: version(package) for package in ("bert-score", "transformers")
        }
        return {
            "model": encoders.locate(self.model).label,
            "layer": self._layer(),
            "idf": "no",
            **versions,
        }

    def _layer(self) -> int:
        if self.layer is not None:
            return self.layer
        if self.model is None or Path(self.model).is_dir():
            return -1
        from bert_score.utils import model2layers

        return model2layers.get(str(self.model), -1)

    @functools.cached_property
    def _loaded(self) -> encoders.TokenEncoder:
        return encoders.TokenEncoder(encoders.locate(self.model), layer=self._layer())

    def compute(self, items: Sequence[Item]) -> list[Found]:
        encoder = self._loaded
        texts = list(dict.fromkeys(text for item in items for text in item))
        ids = encoder.ids([text.strip() for text in texts])
        vectors = {
            texts[i]: (vector, ids[i])
            for i, vector in encoder.vectors(ids, self.batch_size)
        }
        known = encoder.tokenizer
        weightless = {known.sep_token_id, known.cls_token_id}
        marks = {*weightless, known.bos_token_id, known.eos_token_id}
        wordless = {
            text
            for text, tokens in zip(texts, ids, strict=True)
            if not set(tokens) - marks
        }
        values: list[Found] = [
            Judgment.missing(Status.EMPTY, "a text has no token of the model")
        ] * len(items)
        kept = [i for i, item in enumerate(items) if not wordless.intersection(item)]
        kept.sort(key=lambda i: max(len(vectors[text][1]) for text in items[i]))
        for start in range(0, len(kept), self.batch_size):
            batch = kept[start : start + self.batch_size]
            sides = [[items[i][side] for i in batch] for side in (1, 0)]
            for i, row in zip(
                batch, _match(sides, vectors, weightless, encoder.device), strict=True
            ):
                values[i] = row
        return values


def _match(
    sides: list[list[str]], vectors: dict[str, Any], weightless: set[int], device: str
) -> list[tuple[float, float, float]]:
    """F, P and R of a batch: references first, then outputs, as bert-score's
    matching takes them.
    """
    import torch
    from bert_score.utils import greedy_cos_idf
    from torch.nn.utils.rnn import pad_sequence

    arguments = []
    for texts in sides:
        rows = [vectors[text] for text in texts]
        longest = max(len(ids) for _, ids in rows)
        # padding repeats a text's first vector without weight: what bert-score pads
        # with has similarity 0, which beats
        # a negative one, so that a value would hang on the length of its neighbours
        padded = [
            torch.cat([vector, vector[:1].expand(longest - len(vector), -1)])
            for vector, _ in rows
        ]
        arguments += [
            torch.stack(padded),
            torch.ones(len(rows), longest, dtype=torch.bool),
        ]
        weight = [
            torch.tensor([i not in weightless for i in ids], dtype=torch.float)
            for _, ids in rows
        ]
        arguments.append(pad_sequence(weight, batch_first=True))
    with torch.inference_mode():
        precision, recall, f = greedy_cos_idf(
            *(argument.to(device) for argument in arguments)
        )
    return list(
        zip(
            f.cpu().tolist(),
            precision.cpu().tolist(),
            recall.cpu().tolist(),
            strict=True,
        )
    )


class SemScore(PairMetric):
    """Cosine similarity of sentence embeddings, -1 to 1, rounded to 6 decimals.

    model: None is the packaged MiniLM; the paper's is
    `sentence-transformers/all-mpnet-base-v2`; a folder or hub id.
    pooling: `"model"`: the sentence transformer's own; `"mean"` over all tokens and
    `"cls"` (the first token) make a sentence vector of any encoder's hidden states:
    layer 0 the embeddings, 1 the first layer, -1 the last.
    max_tokens: texts are cut at this length; None is the model's own limit.

    Source: Aynetdinov and Akbik (2024), SemScore, section 3.2; pooling variants: Table
    4.
    """

    name = "semscore"
    papers = "sentence-transformers/all-mpnet-base-v2"
    notice = _notice
    digits = 6
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
            raise ValueError(
                f"layer is {layer} with pooling='model'; a layer can be chosen with 'mean' and 'cls'"
            )
        self.layer, self.max_tokens, self.batch_size = layer, max_tokens, batch_size
        self._loaded_embeddings: dict[str, np.ndarray] = {}

    def settings(self) -> dict[str, Any]:
        package = "sentence-transformers" if self.pooling == "model" else "transformers"
        return {
            "model": encoders.locate(self.model).label,
            "pooling": self.pooling,
            "layer": None if self.pooling == "model" else self.layer,
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
            return self._loaded_transformer.encode(
                texts, batch_size=self.batch_size, show_progress_bar=False
            )
        pool = (
            (lambda states: states.mean(dim=0))
            if self.pooling == "mean"
            else (lambda states: states[0])
        )
        encoder = self._loaded_encoder
        pooled = {
            i: pool(states).numpy()
            for i, states in encoder.vectors(encoder.ids(texts), self.batch_size)
        }
        return [pooled[i] for i in range(len(texts))]

    @functools.cached_property
    def _loaded_transformer(self) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer

        located = encoders.locate(self.model)
        kind: dict[str, Any] = {
            "device": encoders.device(),
            "model_kwargs": {"dtype": torch.float32},
        }
        model = encoders.loading(
            located, lambda where: SentenceTransformer(located.path, **kind, **where)
        )
        if self.max_tokens is not None:
            if not 0 < self.max_tokens <= (model.max_seq_length or self.max_tokens):
                raise ValueError(
                    f"max_tokens is {self.max_tokens}; {located.label} takes 1 to {model.max_seq_length}"
                )
            model.max_seq_length = self.max_tokens
        return model

    @functools.cached_property
    def _loaded_encoder(self) -> encoders.TokenEncoder:
        located = encoders.locate(self.model)
        return encoders.TokenEncoder(
            located, layer=self.layer, max_tokens=self.max_tokens
        )


def _cosine(a: np.ndarray, b: np.ndarray) -> Found:
    a = a.astype(np.float64)
    b = b.astype(np.float64)
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    if norm == 0 or not np.isfinite(norm):
        return Judgment.missing(
            Status.FAILED, f"embeddings' lengths multiply to {norm}: no cosine"
        )
    return (float(np.clip(a @ b / norm, -1.0, 1.0)),)
