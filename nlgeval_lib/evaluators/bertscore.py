"""BERTScore: each token of one text matched with the nearest token of the other."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nlgeval_lib.evaluators import encoders
from nlgeval_lib.evaluators.metric import Found, Item, PairMetric, version
from nlgeval_lib.records import Judgment, Status

DIGITS = 5


class BertScore(PairMetric):
    """BERTScore by bert-score's matching over any transformers encoder, -1 to 1.

    model: None is the packaged MiniLM, else a folder or a hub id, such as `microsoft/deberta-xlarge-mnli`.
    layer: whose token vectors; None: the one that bert-score recommends for a hub model it knows, else the last.
    value: `"f"`, `"p"` or `"r"`.
    Tokens weigh alike: no weights by rarity.
    batch_size: how it runs. Values are rounded to 5 decimals: float32 differs by about 1e-7 from one way of
    running to another, and would break ties at random.

    Texts longer than the model takes are cut.

    Source: Zhang et al. (2020), BERTScore, section 3.
    """

    name = "bertscore"
    parts = ("f", "p", "r")
    revision_of_code = 3
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
        return {
            "model": encoders.locate(self.model).label,
            "layer": self._layer(),
            "idf": "no",
            "bert-score": version("bert-score"),
            "transformers": version("transformers"),
        }

    def _layer(self) -> int:
        if self.layer is not None:
            return self.layer
        if self.model is None or Path(self.model).is_dir():
            return -1
        from bert_score.utils import model2layers

        return model2layers.get(str(self.model), -1)

    @functools.cached_property
    def _loaded(self) -> tuple[encoders.TokenEncoder, dict[int, float]]:
        encoder = encoders.TokenEncoder(encoders.locate(self.model), layer=self._layer())
        weights: dict[int, float] = defaultdict(lambda: 1.0)
        return encoder, weights | {encoder.tokenizer.sep_token_id: 0.0, encoder.tokenizer.cls_token_id: 0.0}

    def compute(self, items: Sequence[Item]) -> list[Found]:
        encoder, weights = self._loaded
        texts = list(dict.fromkeys(text for item in items for text in item))
        ids = encoder.ids([text.strip() for text in texts])
        vectors = {texts[i]: (vector, ids[i]) for i, vector in encoder.vectors(ids, self.batch_size)}
        known = encoder.tokenizer
        marks = {known.cls_token_id, known.sep_token_id, known.bos_token_id, known.eos_token_id}
        wordless = {text for text, tokens in zip(texts, ids, strict=True) if not set(tokens) - marks}
        values: list[Found] = [Judgment.missing(Status.EMPTY, "a text has no token of the model")] * len(items)
        kept = [i for i, item in enumerate(items) if not wordless.intersection(item)]
        kept.sort(key=lambda i: max(len(vectors[text][1]) for text in items[i]))
        for start in range(0, len(kept), self.batch_size):
            batch = kept[start : start + self.batch_size]
            sides = [[items[i][side] for i in batch] for side in (1, 0)]
            for i, row in zip(batch, _match(sides, vectors, weights, encoder.device), strict=True):
                values[i] = tuple(round(part, DIGITS) for part in row)
        return values


def _match(
    sides: list[list[str]], vectors: dict[str, Any], weights: dict[int, float], device: str
) -> list[tuple[float, float, float]]:
    """F, P and R of a batch: references first, then outputs, as bert-score's matching takes them."""
    import torch
    from bert_score.utils import greedy_cos_idf
    from torch.nn.utils.rnn import pad_sequence

    arguments = []
    for texts in sides:
        rows = [vectors[text] for text in texts]
        longest = max(len(ids) for _, ids in rows)
        # padding repeats a text's first vector without weight: what bert-score pads with has similarity 0, which beats
        # a negative one, so that a value would hang on the length of its neighbours
        padded = [torch.cat([vector, vector[:1].expand(longest - len(vector), -1)]) for vector, _ in rows]
        arguments += [torch.stack(padded), torch.ones(len(rows), longest, dtype=torch.bool)]
        weight = [torch.tensor([weights[i] for i in ids], dtype=torch.float) for _, ids in rows]
        arguments.append(pad_sequence(weight, batch_first=True))
    with torch.inference_mode():
        precision, recall, f = greedy_cos_idf(*(argument.to(device) for argument in arguments))
    return list(zip(f.cpu().tolist(), precision.cpu().tolist(), recall.cpu().tolist(), strict=True))
