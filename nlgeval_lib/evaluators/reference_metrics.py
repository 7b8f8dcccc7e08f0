"""BLEU and ROUGE of one output, through the packages that define them."""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from nlgeval_lib.evaluators.base import Unavailable, choose
from nlgeval_lib.evaluators.metric import Found, Item, PairMetric, version
from nlgeval_lib.records import Judgment, Status

# Scripts without spaces between words: each letter stands alone, as in sacrebleu's
# tokenizer `zh`.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)
_UNSPACED_RUN = re.compile(f"{_UNSPACED.pattern}{{3,}}")
_PYPI = {"rouge1": "rouge-1", "rouge2": "rouge-2", "rougeL": "rouge-l"}
# Package of ROUGE -> the end of its sentences, and how many pairs of words it may hold in
# a table: under a gigabyte. With more, package rouge has no value anyhow, as it recurses
# once a word.
_TABLES = {"rouge_score": ("\n", 100_000_000), "rouge": (".", 4_000_000)}


class Bleu(PairMetric):
    """Sentence-level BLEU by sacrebleu, 0 to 100, without the n-gram orders that the
    output is too short for.

    smooth: what becomes of an order without a match: exp, floor, add-k or none.
    tokenize: a tokenizer of sacrebleu.
    lowercase: ignore case.
    pairs: `multi`, `empty` and `cache` of the base class; `multi` may also be
    `"joint"`, which clips n-grams against all references at once, as BLEU is defined.

    Example:
    >>> Bleu().score(["a bus left", "a cat"], ["a bus left", "a bus"])["value"].round(1)
    0    100.0
    1     50.0
    Name: value, dtype: float64
    """

    name = "bleu"
    multi_rules = ("first", "max", "mean", "joint")

    def __init__(
        self,
        *,
        smooth: str = "exp",
        tokenize: str = "13a",
        lowercase: bool = False,
        **pairs: Any,
    ) -> None:
        super().__init__(**pairs)
        from sacrebleu.metrics import BLEU

        self.smooth = choose("smooth", smooth, BLEU.SMOOTH_DEFAULTS)
        self.tokenize = choose("tokenize", tokenize, BLEU.TOKENIZERS)
        self.lowercase = lowercase

    def settings(self) -> dict[str, Any]:
        """The settings by the names of sacrebleu's own signatures, and its version."""
        return {
            "case": "lc" if self.lowercase else "mixed",
            "eff": True,
            "tok": self.tokenize,
            "smooth": self.smooth,
            "sacrebleu": version("sacrebleu"),
        }

    def remark(self, items: Sequence[Item]) -> str:
        if self.tokenize not in ("13a", "intl", "none", "zh"):
            return ""
        if self.tokenize == "zh":  # it cuts Chinese signs, and no kana or Thai
            items = [tuple(map(self._loaded.tokenizer, item)) for item in items]
        return unspaced(
            items, "-s tokenize=char cuts it (Chinese: zh, Japanese: ja-mecab)"
        )

    @functools.cached_property
    def _loaded(self) -> Any:
        """sacrebleu's metric. Raises: Unavailable where its tokenizer lacks something."""
        from sacrebleu.metrics import BLEU

        try:
            return BLEU(
                lowercase=self.lowercase,
                tokenize=self.tokenize,
                effective_order=True,
                smooth_method=self.smooth,
            )
        # A tokenizer may want a package or a download.
        except (ImportError, RuntimeError, OSError) as error:
            reason = " ".join(str(error).split())
            raise Unavailable(
                f"tokenizer {self.tokenize!r} of sacrebleu cannot be used here: "
                f"{reason}"
            ) from error

    def compute(self, items: Sequence[Item]) -> list[Found]:
        scored = [self._loaded.sentence_score(output, refs) for output, *refs in items]
        return [(one.score,) for one in scored]


class Rouge(PairMetric):
    """ROUGE of one output by one of two packages that give different numbers, 0 to 1.

    type: `"rouge1"`, `"rouge2"`, `"rougeL"`; package rouge_score also has `"rougeLsum"`
    (one sentence a line).
    package: `"rouge_score"` lower-cases, keeps only a-z and 0-9, counts repeated
    n-grams. `"rouge"` (PyPI, 1.0) keeps case and punctuation, splits sentences at every
    full stop, counts each distinct n-gram once, and has the summary-level ROUGE-L.
    stemmer: of package rouge_score: stem words of more than three letters.
    value: `"f"`, `"p"` or `"r"`: F, precision or recall.
    tokenize: of package rouge_score: `"ascii"`, its own; `"unicode"` keeps the letters
    and digits of every script, one by one where there are no spaces.
    pairs: `multi`, `empty` and `cache` of the base class.

    Source: SemScore, section 3.1, uses ROUGE-L of package rouge_score.

    Example:
    >>> scores = Rouge("rouge1").score(["a b x", ""], ["a b y", "a"])
    >>> scores["value"].round(2).tolist(), scores["reason"].tolist()
    ([0.67, nan], ['', 'output is empty'])
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
        tokenize: str = "ascii",
        **pairs: Any,
    ) -> None:
        super().__init__(**pairs)
        self.part = choose("value", value, self.parts)
        self.tokenize = choose("tokenize", tokenize, ("ascii", "unicode"))
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
        if package == "rouge" and tokenize != "ascii":
            raise ValueError(
                "package 'rouge' splits at spaces alone; package 'rouge_score' has "
                "tokenize"
            )

    def settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"type": self.type}
        if self.package == "rouge_score":
            settings["stemmer"] = self.stemmer
            if self.tokenize != "ascii":
                settings["tok"] = self.tokenize
        else:
            settings["case"] = "kept"
        settings[self.package] = version(self.package.replace("_", "-"))
        return settings

    def blank(self, text: str) -> str:
        if not text.strip():
            return "is empty"
        if self.package == "rouge" and not text.replace(".", "").strip():
            return "holds nothing but full stops"
        if self.tokenize == "unicode":
            return "" if unicode_words(text) else "has no word"
        if self.package == "rouge_score" and not re.search("[a-z0-9]", text.lower()):
            return (
                "has no word: package rouge_score keeps only a-z and 0-9; "
                "-s tokenize=unicode keeps the letters of every script"
            )
        return ""

    def remark(self, items: Sequence[Item]) -> str:
        if self.package != "rouge_score" or self.tokenize != "ascii":
            return ""
        for text in itertools.chain.from_iterable(items):
            # A text that is not here has nothing but a hash.
            if isinstance(text, str) and not text.isascii():
                others = [
                    sign for sign in text if sign.isalnum() and not sign.isascii()
                ]
                if others:
                    return (
                        f"package rouge_score drops letters ({''.join(others[:5])}); "
                        "-s tokenize=unicode keeps them"
                    )
        return ""

    @functools.cached_property
    def _loaded(self) -> Any:
        """The package's scorer, which remembers what is done with each text."""
        if self.package == "rouge":
            from rouge import Rouge as PypiRouge

            return PypiRouge([_PYPI[self.type]])
        from rouge_score.rouge_scorer import RougeScorer
        from rouge_score.tokenize import tokenize

        scorer = RougeScorer([self.type])
        stemmer = RememberingStemmer() if self.stemmer else None
        words = functools.partial(tokenize, stemmer=stemmer)
        if self.tokenize == "unicode":
            words = functools.partial(unicode_words, stemmer=stemmer)
        # It runs once for each text: one reference is compared with many outputs.
        scorer._tokenizer.tokenize = functools.lru_cache(maxsize=256)(words)
        return scorer

    def compute(self, items: Sequence[Item]) -> list[Found]:
        """(F, P, R) of each (output, reference) pair."""
        return [self._compared(output, reference) for output, reference in items]

    def _compared(self, output: str, reference: str) -> Found:
        """(F, P, R) of a pair; FAILED where a sentence is too long for the package."""
        if self.package == "rouge_score" and self.type == "rougeL":
            return self._by_subsequence(output, reference)
        too_long = f"a sentence is too long for {self.type} of package {self.package}"
        end, largest = _TABLES[self.package]
        pairs = 1  # of words in the table of the two longest sentences
        for text in (output, reference):
            pairs *= max(map(len, map(str.split, text.split(end))))
        if "L" in self.type and pairs > largest:
            return Judgment.missing(Status.FAILED, too_long)
        if self.package == "rouge_score":
            score = self._loaded.score(reference, output)[self.type]
            return score.fmeasure, score.precision, score.recall
        try:
            [scores] = self._loaded.get_scores(output, reference)
        except RecursionError:
            return Judgment.missing(Status.FAILED, too_long)
        of_type = scores[_PYPI[self.type]]
        return of_type["f"], of_type["p"], of_type["r"]

    def _by_subsequence(self, output: str, reference: str) -> tuple[float, ...]:
        """(F, P, R) of ROUGE-L without the package's table of all pairs of words."""
        from rouge_score.scoring import fmeasure

        words = self._loaded._tokenizer.tokenize
        output_words, reference_words = words(output), words(reference)
        if not output_words or not reference_words:
            return 0.0, 0.0, 0.0
        common = subsequence_length(output_words, reference_words)
        precision = common / len(output_words)
        recall = common / len(reference_words)
        return fmeasure(precision, recall), precision, recall


def subsequence_length(first: Sequence[str], second: Sequence[str]) -> int:
    """The length of the longest common subsequence of two texts' words.

    Source: Hyyrö, Bit-parallel LCS-length computation revisited (2004).

    Example:
    >>> subsequence_length("a b c d".split(), "b x d".split())
    2
    """
    places: dict[str, int] = {}
    for place, word in enumerate(first):
        places[word] = places.get(word, 0) | 1 << place
    all_places = (1 << len(first)) - 1
    row = all_places
    for word in second:
        matching = row & places.get(word, 0)
        row = ((row + matching) | (row - matching)) & all_places
    return len(first) - row.bit_count()


def unspaced(items: Sequence[Item], advice: str) -> str:
    """That a row has a run of a script without spaces, with advice; "" for none."""
    for text in itertools.chain.from_iterable(items):
        found = _UNSPACED_RUN.search(text) if isinstance(text, str) else None
        if found:
            return (
                f"a script without spaces ({found[0][:8]}) is one word here; {advice}"
            )
    return ""


def unicode_words(text: str, stemmer: Any = None) -> list[str]:
    """The words of a text in any script, in small letters, composed (NFC); each letter
    of a script without spaces is a word.

    stemmer: stems words of more than three letters; None leaves them.

    Example:
    >>> unicode_words("Größe: 4 米")
    ['größe', '4', '米']
    """
    words: list[str] = []
    is_open = False  # whether the next letter goes on with the last word
    for letter in unicodedata.normalize("NFC", text).lower():
        kind = unicodedata.category(letter)[0]
        if kind == "M" and words:
            words[-1] += letter
            continue
        stands_alone = bool(_UNSPACED.match(letter))
        if kind in "LN" and is_open and not stands_alone:
            words[-1] += letter
        elif kind in "LN":
            words.append(letter)
        is_open = kind in "LN" and not stands_alone
    if stemmer is None:
        return words
    return [stemmer.stem(word) if len(word) > 3 else word for word in words]


class RememberingStemmer:
    """Porter's stemmer (nltk's), which stems each word form once."""

    def __init__(self) -> None:
        from nltk.stem.porter import PorterStemmer

        self.stem = functools.lru_cache(maxsize=1 << 17)(PorterStemmer().stem)
