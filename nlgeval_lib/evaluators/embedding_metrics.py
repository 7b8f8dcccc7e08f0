"""Metrics that compare an encoder's vectors: what they share, and BERTScore."""

from __future__ import annotations

import functools
import itertools
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nlgeval_lib.evaluators import encoders
from nlgeval_lib.evaluators.base import Unavailable, choose
from nlgeval_lib.evaluators.metric import Found, Item, PairMetric, version
from nlgeval_lib.records import Judgment, Status

_SURELY_WHOLE = 120  # a text of fewer characters has fewer tokens than any limit


@functools.cache
def _say_stand_in(name: str, papers: str) -> None:
    """Warn, once a metric, that the small encoder is taken where none was named."""
    warnings.warn(
        f"{name}: no encoder is named, so the small stand-in {encoders.MINILM.label} "
        f"is taken (model={encoders.PACKAGED!r}); the paper's is model={papers!r}",
        UserWarning,
        stacklevel=4,
    )


class OfEncoder(PairMetric):
    """What metrics of an encoder share: their values are made once and travel.

    model: None is the packaged MiniLM, with a warning; else a folder or a hub id.
    """

    papers: str  # the paper's encoder
    travels = True

    def __init__(self, *, model: str | Path | None = None, **pairs: Any) -> None:
        super().__init__(**pairs)
        if model is None:
            _say_stand_in(self.name, self.papers)
        self.model = model or encoders.PACKAGED

    def weights_are_here(self) -> bool:
        return encoders.is_here(self.model)

    def notice(self) -> str:
        """Which encoder the metric uses, and how to have the paper's; "" if none."""
        try:
            label = encoders.label(self.model)
        except Unavailable:  # The reason of every row will say so.
            return ""
        notice = f"{self.name} compares vectors of {label}"
        if self.model != self.papers:
            notice += f"; the paper's encoder: -m {self.papers}"
        return notice

    def limit(self) -> tuple[Any, int]:
        """The encoder's tokenizer, and how many tokens of a text it reads."""
        raise NotImplementedError

    def remark(self, items: Sequence[Item]) -> str:
        """Whether a text of the row is cut, where the encoder is here."""
        texts = [
            text
            for text in itertools.chain.from_iterable(items)
            if isinstance(text, str) and len(text) > _SURELY_WHOLE
        ]
        if not texts or not self.weights_are_here():
            return ""
        tokenizer, longest = self.limit()
        for text in texts:
            if len(tokenizer(text.strip(), verbose=False).input_ids) > longest:
                return (
                    f"a text is cut at the encoder's {longest} tokens; a model that "
                    "takes more reads it whole (-m MODEL)"
                )
        return ""


class BertScore(OfEncoder):
    """BERTScore by bert-score's matching over any transformers encoder, -1 to 1,
    without weights by rarity, rounded to 5 decimals.

    model: None is the packaged MiniLM, else a folder or a hub id, such as
    `microsoft/deberta-xlarge-mnli`, the one of SemScore's paper.
    layer: whose token vectors; None: the one that bert-score recommends for a hub model
    it knows, else the last.
    value: `"f"`, `"p"` or `"r"`: F, precision or recall.
    batch_size: how many texts are encoded, and pairs matched, at a time.
    pairs: `multi`, `empty` and `cache` of the base class.

    Each token's vector is matched with the most similar one of the other text. Recall R
    is the mean of these cosines over the reference's tokens, precision P that over the
    output's, and F = 2 P R / (P + R).

    Source: Zhang et al. (2020), BERTScore, section 3; encoder: SemScore, section 3.1.

    Example:
    >>> BertScore().score(["A bus left."], ["A bus left."])["value"].round(3).item()
    1.0
    """

    name = "bertscore"
    papers = "roberta-large"
    parts = ("f", "p", "r")
    revision_of_code = 3
    digits = 5
    chunk = 250  # token vectors of this many pairs are held at once

    def __init__(
        self,
        *,
        model: str | Path | None = None,
        layer: int | None = None,
        value: str = "f",
        batch_size: int = 32,
        **pairs: Any,
    ) -> None:
        super().__init__(model=model, **pairs)
        self.part = choose("value", value, self.parts)
        self.layer = layer
        self.batch_size = batch_size

    def settings(self) -> dict[str, Any]:
        # The versions are asked for first: without a package that error is the answer.
        bert_score = version("bert-score")
        transformers = version("transformers")
        return {
            "model": encoders.label(self.model),
            "layer": self._layer(),
            "idf": "no",
            "bert-score": bert_score,
            "transformers": transformers,
        }

    def _layer(self) -> int:
        """The layer whose vectors are compared, as for `encoders.TokenEncoder`."""
        if self.layer is not None:
            return self.layer
        known = encoders.known_encoder(self.model)
        if known or Path(self.model).is_dir():
            return -1
        from bert_score.utils import model2layers

        return model2layers.get(str(self.model), -1)

    @functools.cached_property
    def _loaded(self) -> encoders.TokenEncoder:
        """The encoder, loaded when it is first needed."""
        return encoders.TokenEncoder(encoders.locate(self.model), layer=self._layer())

    def limit(self) -> tuple[Any, int]:
        encoder = self._loaded
        return encoder.tokenizer, encoder.max_tokens

    def compute(self, items: Sequence[Item]) -> list[Found]:
        """(F, P, R) of each pair; EMPTY where a text has no token but marks."""
        encoder = self._loaded
        texts = list(dict.fromkeys(itertools.chain.from_iterable(items)))
        ids = encoder.ids([text.strip() for text in texts])
        vectors = {}
        for position, vector in encoder.vectors(ids, self.batch_size):
            vectors[texts[position]] = (vector, ids[position])
        # Marks of the model around a text: two have no weight, as in bert-score, and a
        # text of marks alone cannot be compared.
        tokenizer = encoder.tokenizer
        weightless = {tokenizer.sep_token_id, tokenizer.cls_token_id}
        marks = {*weightless, tokenizer.bos_token_id, tokenizer.eos_token_id}
        empty = Judgment.missing(Status.EMPTY, "a text has no token of the model")
        values: list[Found] = [empty] * len(items)
        lengths = {}
        for position, item in enumerate(items):
            tokens = [vectors[text][1] for text in item]
            if not any(marks.issuperset(text_tokens) for text_tokens in tokens):
                lengths[position] = max(map(len, tokens))
        order = sorted(lengths, key=lengths.__getitem__)
        for start in range(0, len(order), self.batch_size):
            batch = order[start : start + self.batch_size]
            outputs = [items[position][0] for position in batch]
            references = [items[position][1] for position in batch]
            rows = _match([references, outputs], vectors, weightless, encoder.device)
            for position, row in zip(batch, rows, strict=True):
                values[position] = row
        return values


def _match(
    sides: list[list[str]], vectors: dict[str, Any], weightless: set[int], device: str
) -> list[tuple[float, float, float]]:
    """(F, P, R) of each pair of a batch; `sides`: the references, then the outputs."""
    import torch
    from bert_score.utils import greedy_cos_idf
    from torch.nn.utils.rnn import pad_sequence

    arguments = []
    for texts in sides:
        longest = max(len(vectors[text][1]) for text in texts)
        padded = []
        weights = []
        for text in texts:
            vector, ids = vectors[text]
            # Padding repeats a text's first vector without weight: what bert-score pads
            # with has similarity 0, which beats a negative one, so that a value would
            # depend on the length of its neighbours.
            padding = vector[:1].expand(longest - len(vector), -1)
            padded.append(torch.cat([vector, padding]))
            weight = [token not in weightless for token in ids]
            weights.append(torch.tensor(weight, dtype=torch.float))
        arguments += [
            torch.stack(padded),
            torch.ones(len(texts), longest, dtype=torch.bool),
            pad_sequence(weights, batch_first=True),
        ]
    with torch.inference_mode():
        precision, recall, f = greedy_cos_idf(
            *(argument.to(device) for argument in arguments)
        )
    columns = (column.cpu().tolist() for column in (f, precision, recall))
    return list(zip(*columns, strict=True))
