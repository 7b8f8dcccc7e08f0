"""BLEU and ROUGE of one output, through the packages that define them."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from nlgeval_lib.evaluators.base import Unavailable, choose
from nlgeval_lib.evaluators.metric import Found, Item, PairMetric, version
from nlgeval_lib.records import Judgment, Status

# What package rouge calls them.
_PYPI = {
    "rouge1": "rouge-1",
    "rouge2": "rouge-2",
    "rougeL": "rouge-l",
}


class Bleu(PairMetric):
    """Sentence-level BLEU by sacrebleu, 0 to 100, with its defaults.

    multi: `"joint"` clips n-grams against all references at once, as BLEU is defined.
    smooth: `"exp"`, `"floor"`, `"add-k"` or `"none"`; smooth_value: for `floor` and
    `add-k`. effective_order: leave out n-gram orders that the output is too short for.
    tokenize: a tokenizer of sacrebleu; lowercase: ignore case.
    """

    name = "bleu"
    multi_rules = ("first", "max", "mean", "joint")

    def __init__(
        self,
        *,
        smooth: str = "exp",
        smooth_value: float | None = None,
        effective_order: bool = True,
        tokenize: str = "13a",
        lowercase: bool = False,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        from sacrebleu.metrics import BLEU

        self.smooth = choose("smooth", smooth, BLEU.SMOOTH_DEFAULTS)
        self.tokenize = choose("tokenize", tokenize, BLEU.TOKENIZERS)
        self.smooth_value = smooth_value
        self.effective_order = effective_order
        self.lowercase = lowercase

    def settings(self) -> dict[str, Any]:
        value = "" if self.smooth_value is None else f"[{self.smooth_value!r}]"
        return {
            "case": "lc" if self.lowercase else "mixed",
            "eff": self.effective_order,
            "tok": self.tokenize,
            "smooth": self.smooth + value,
            "sacrebleu": version("sacrebleu"),
        }

    @functools.cached_property
    def _loaded(self) -> Any:
        import logging

        from sacrebleu.metrics import BLEU

        if not self.effective_order:
            # It would advise against it once a sentence.
            logging.getLogger("sacrebleu").setLevel(logging.ERROR)
        try:
            return BLEU(
                lowercase=self.lowercase,
                tokenize=self.tokenize,
                effective_order=self.effective_order,
                smooth_method=self.smooth,
                smooth_value=self.smooth_value,
            )
        # A tokenizer may want a package or a download.
        except (ImportError, RuntimeError, OSError) as error:
            reason = " ".join(str(error).split())
            raise Unavailable(
                f"tokenizer {self.tokenize!r} of sacrebleu cannot be used here: "
                f"{reason}"
            ) from error

    def compute(self, items: Sequence[Item]) -> list[Found]:
        values: list[Found] = []
        for output, *references in items:
            value = self._loaded.sentence_score(output, references).score
            values.append((value,))
        return values


class Rouge(PairMetric):
    """ROUGE of one output by one of two packages that give different numbers, 0 to 1.

    type: `"rouge1"`, `"rouge2"`, `"rougeL"`; package rouge_score also has `"rougeLsum"`
    (one sentence a line).
    package: `"rouge_score"` lower-cases, keeps only a-z and 0-9, counts repeated
    n-grams, and stems words of more than three letters if asked (`stemmer`). `"rouge"`
    (PyPI, 1.0) keeps case and punctuation, splits sentences at every full stop, counts
    each distinct n-gram once, and its ROUGE-L is the summary-level one over distinct
    words; a sentence with more words than Python recurses has no value. value: `"f"`,
    `"p"` or `"r"`.
    """

    name = "rouge"
    parts = ("f", "p", "r")

    def __init__(
        self,
        type: str = "rougeL",
        *,
        package: str = "rouge_score",
        stemmer: bool = False,
        value: str = "f",
        **common: Any,
    ) -> None:
        super().__init__(part=value, **common)
        self.package = choose("package", package, ("rouge_score", "rouge"))
        types = ["rouge1", "rouge2", "rougeL"]
        if package == "rouge_score":
            types.append("rougeLsum")
        self.type = choose("type", type, types)
        if stemmer and package == "rouge":
            raise ValueError(
                "package 'rouge' has no stemmer; package 'rouge_score' has one"
            )
        self.stemmer = stemmer

    def settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"type": self.type}
        if self.package == "rouge_score":
            settings["stemmer"] = self.stemmer
        else:
            settings["case"] = "kept"
        settings[self.package] = version(self.package.replace("_", "-"))
        return settings

    def blank(self, text: str) -> str:
        if not text.strip():
            return "is empty"
        if self.package == "rouge" and not text.replace(".", "").strip():
            return "holds nothing but full stops"
        if self.package == "rouge_score" and not re.search("[a-z0-9]", text.lower()):
            return "has no word: package rouge_score keeps only a-z and 0-9"
        return ""

    @functools.cached_property
    def _loaded(self) -> Any:
        if self.package == "rouge":
            from rouge import Rouge as PypiRouge

            return PypiRouge([_PYPI[self.type]])
        from rouge_score.rouge_scorer import RougeScorer
        from rouge_score.tokenize import tokenize

        scorer = RougeScorer([self.type])
        stemmer = RememberingStemmer() if self.stemmer else None
        words = functools.partial(tokenize, stemmer=stemmer)
        # It runs once a text: one reference is compared with many outputs.
        scorer._tokenizer.tokenize = functools.lru_cache(maxsize=256)(words)
        return scorer

    def compute(self, items: Sequence[Item]) -> list[Found]:
        values: list[Found] = []
        for output, reference in items:
            if self.package == "rouge_score":
                score = self._loaded.score(reference, output)[self.type]
                values.append((score.fmeasure, score.precision, score.recall))
                continue
            try:
                [scores] = self._loaded.get_scores(output, reference)
                score = scores[_PYPI[self.type]]
                values.append((score["f"], score["p"], score["r"]))
            except RecursionError:
                reason = f"a sentence is too long for {self.type} of package rouge"
                values.append(Judgment.missing(Status.FAILED, reason))
        return values


class RememberingStemmer:
    """Porter's stemmer, which stems each word form once."""

    def __init__(self) -> None:
        from nltk.stem.porter import PorterStemmer

        self.stem = functools.lru_cache(maxsize=1 << 17)(PorterStemmer().stem)
