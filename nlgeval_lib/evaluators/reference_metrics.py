"""BLEU, ROUGE and METEOR of one output, through the packages that define them."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from nlgeval_lib.evaluators import wordnet
from nlgeval_lib.evaluators.base import Unavailable
from nlgeval_lib.evaluators.metric import Item, Missing, PairMetric, Values, choose, version
from nlgeval_lib.records import Status

_ROUGE_CELLS = {"rouge": 2_000_000, "rouge_score": 25_000_000}  # words x words; about 0.5 GB of table in either package


class Bleu(PairMetric):
    """Sentence-level BLEU by sacrebleu, 0 to 100.

    The defaults are those of `sacrebleu.sentence_bleu`. `multi="joint"` clips n-grams against all references at once,
    as BLEU is defined; `"max"` and `"mean"` join values of one reference each.

    smooth: `"exp"`, `"floor"`, `"add-k"` or `"none"`; smooth_value: for `floor` and `add-k`.
    effective_order: leave out n-gram orders that the output is too short for.
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

        self.smooth = choose("smooth", smooth, tuple(BLEU.SMOOTH_DEFAULTS))
        self.smooth_value = smooth_value
        self.effective_order = effective_order
        self.tokenize = choose("tokenize", tokenize, tuple(BLEU.TOKENIZERS))
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
            logging.getLogger("sacrebleu").setLevel(logging.ERROR)  # it would advise against it once a sentence
        try:
            return BLEU(
                lowercase=self.lowercase,
                tokenize=self.tokenize,
                smooth_method=self.smooth,
                smooth_value=self.smooth_value,
                effective_order=self.effective_order,
            )
        except (ImportError, RuntimeError, OSError) as error:  # a tokenizer that wants a package or a download
            why = " ".join(str(error).split())
            raise Unavailable(f"tokenizer {self.tokenize!r} of sacrebleu cannot be used here: {why}") from error

    def compute(self, items: Sequence[Item]) -> list[Values | Missing]:
        return [(self._loaded.sentence_score(output, references).score,) for output, *references in items]


class Rouge(PairMetric):
    """ROUGE of one output by one of two packages that give different numbers, 0 to 1.

    type: `"rouge1"`, `"rouge2"`, `"rougeL"`; package rouge_score also has `"rougeLsum"` (one sentence a line).
    package: `"rouge_score"` lower-cases, keeps only a-z and 0-9, counts repeated n-grams, and stems words of more than
        three letters if asked (`stemmer`). `"rouge"` (PyPI, 1.0) keeps case and punctuation, splits sentences at every
        full stop, counts each distinct n-gram once, and its ROUGE-L is the summary-level one over distinct words.
    value: `"f"`, `"p"` or `"r"`.

    Package rouge recurses once a word, and both build a table of words x words: the recursion limit is raised for the
    call, and a pair whose table would not fit into memory has no value.
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
        types = ("rouge1", "rouge2", "rougeL") + (("rougeLsum",) if package == "rouge_score" else ())
        self.type = choose("type", type, types)
        if stemmer and package == "rouge":
            raise ValueError("package 'rouge' has no stemmer; use package='rouge_score' or stemmer=False")
        self.stemmer = stemmer

    def settings(self) -> dict[str, Any]:
        package = {"rouge_score": "rouge-score", "rouge": "rouge"}[self.package]
        stemmer = {"stemmer": self.stemmer} if self.package == "rouge_score" else {"case": "kept"}
        return {"type": self.type, **stemmer, self.package: version(package)}

    def blank(self, text: str) -> str:
        if not text.strip():
            return "is empty"
        if self.package == "rouge":
            return "" if text.replace(".", "").strip() else "holds nothing but full stops"
        return "" if re.search("[a-z0-9]", text.lower()) else "has no word: package rouge_score keeps only a-z and 0-9"

    @functools.cached_property
    def _loaded(self) -> Any:
        if self.package == "rouge":
            from rouge import Rouge as PypiRouge

            return PypiRouge([_pypi_name(self.type)])
        from rouge_score.rouge_scorer import RougeScorer

        self._loaded_tokens = _RememberingTokenizer(self.stemmer)
        return RougeScorer([self.type], tokenizer=self._loaded_tokens)

    def compute(self, items: Sequence[Item]) -> list[Values | Missing]:
        one = self._one_rouge if self.package == "rouge" else self._one_rouge_score
        return [one(output, reference) for output, reference in items]

    def _one_rouge_score(self, output: str, reference: str) -> Values | Missing:
        scorer = self._loaded
        if self.type.startswith("rougeL"):
            output_words, reference_words = (len(self._loaded_tokens.tokenize(text)) for text in (output, reference))
            if why := self._too_long(output_words, reference_words):
                return why
        score = scorer.score(reference, output)[self.type]
        return (score.fmeasure, score.precision, score.recall)

    def _one_rouge(self, output: str, reference: str) -> Values | Missing:
        # the package's own split; the longest sentence of each side bounds depth and table
        longest = [max(len(sentence.split()) for sentence in text.split(".")) for text in (output, reference)]
        if self.type == "rougeL" and (why := self._too_long(*longest)):
            return why
        with _recursion(sum(longest)):
            score = self._loaded.get_scores(output, reference)[0][_pypi_name(self.type)]
        return (score["f"], score["p"], score["r"])

    def _too_long(self, output: int, reference: int) -> Missing | None:
        if output * reference <= _ROUGE_CELLS[self.package]:
            return None
        return Missing(
            Status.FAILED,
            f"too long for {self.type} of package {self.package}: {output} x {reference} words need a table of "
            f"{output * reference} cells, at most {_ROUGE_CELLS[self.package]} are built",
        )


class Meteor(PairMetric):
    """METEOR by nltk, 0 to 1: exact, stemmed and WordNet matches, with a penalty for broken order.

    nltk looks up the stems that were left over, not the words: `feline` is `felin` by then, and finds no synonym.

    synonyms: match synonyms of WordNet 3.0, which the library brings; False: exact and stemmed matches only.
    tokenize: `"word"` separates punctuation as nltk's word tokenizer does; `"blank"` splits at white space.
    rematch: as nltk up to 3.6.2: WordNet gets the words, not the stems, and may match once more what a stem matched,
        which can take the value above 1.
    """

    name = "meteor"

    def __init__(
        self,
        *,
        synonyms: bool = True,
        tokenize: str = "word",
        rematch: bool = False,
        alpha: float = 0.9,
        beta: float = 3.0,
        gamma: float = 0.5,
        **common: Any,
    ) -> None:
        super().__init__(**common)
        self.synonyms = synonyms
        self.rematch = rematch
        self.tokenize = choose("tokenize", tokenize, ("word", "blank"))
        self.alpha, self.beta, self.gamma = alpha, beta, gamma

    def settings(self) -> dict[str, Any]:
        words = wordnet.label() if self.synonyms else "none"
        weights = {"alpha": self.alpha, "beta": self.beta, "gamma": self.gamma}
        rematch = {"rematch": True} if self.rematch else {}
        return {"wordnet": words, "tok": self.tokenize, **rematch, **weights, "nltk": version("nltk")}

    @functools.cached_property
    def _loaded(self) -> Any:
        from nltk.stem.porter import PorterStemmer
        from nltk.tokenize import NLTKWordTokenizer
        from nltk.translate.meteor_score import meteor_score

        if self.rematch:
            from nlgeval_lib.evaluators.meteor_rematch import meteor_score
        return functools.partial(
            meteor_score,
            stemmer=_RememberingStemmer(PorterStemmer()),
            wordnet=wordnet.Synonyms() if self.synonyms else wordnet.NoSynonyms(),
            alpha=self.alpha,
            beta=self.beta,
            gamma=self.gamma,
        ), (NLTKWordTokenizer().tokenize if self.tokenize == "word" else str.split)

    def compute(self, items: Sequence[Item]) -> list[Values | Missing]:
        meteor, tokens = self._loaded
        return [(float(meteor([tokens(reference)], tokens(output))),) for output, reference in items]


class _RememberingStemmer:
    """A stemmer that stems each word form once."""

    def __init__(self, stemmer: Any) -> None:
        self.stem = functools.lru_cache(maxsize=1 << 17)(stemmer.stem)


class _RememberingTokenizer:
    """rouge_score's own tokenizer, run once a text: one reference is compared with many outputs."""

    def __init__(self, stemmer: bool) -> None:
        from nltk.stem.porter import PorterStemmer
        from rouge_score.tokenize import tokenize

        words = _RememberingStemmer(PorterStemmer()) if stemmer else None
        self.tokenize = functools.lru_cache(maxsize=256)(functools.partial(tokenize, stemmer=words))


def _pypi_name(type_: str) -> str:
    return {"rouge1": "rouge-1", "rouge2": "rouge-2", "rougeL": "rouge-l"}[type_]


@contextlib.contextmanager
def _recursion(depth: int) -> Iterator[None]:
    """Room for `depth` more nested calls; Python frames of one function in another take no C stack."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, before + depth))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
