"""METEOR by nltk as it is and as it was, with the synonyms of WordNet 3.0."""

from __future__ import annotations

import functools
import gzip
import operator
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from nlgeval_lib.evaluators.base import choose
from nlgeval_lib.evaluators.metric import Found, Item, PairMetric, version
from nlgeval_lib.evaluators.reference_metrics import RememberingStemmer, unspaced

# For each part of speech a block of groups of words that share a meaning, a line each,
# and one of irregular forms with their bases.
COMPACT = Path(__file__).with_name("wordnet.txt.gz")
# Part of speech -> regular endings and what WordNet's look-up puts in their place, as
# ending:replacement.
ENDINGS = {
    "noun": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "verb": "s: ies:y es:e es: ed:e ed: ing:e ing:",
    "adj": "er: est: er:e est:e",
    "adv": "",
}

# nltk's defaults: alpha weighs precision against recall; beta (an exponent) and gamma
# are those of the penalty for broken order.
WEIGHTS = {"alpha": 0.9, "beta": 3.0, "gamma": 0.5}


class Meteor(PairMetric):
    """METEOR by nltk, 0 to 1: exact, stemmed, WordNet matches, less for broken order.

    synonyms: match synonyms of WordNet 3.0, which the library brings.
    tokenize: `"word"` separates punctuation as nltk does; `"blank"` splits at blanks.
    rematch: as nltk up to 3.6.2: WordNet gets the words, not the stems, and may match
    once more what a stem matched, which can take the value above 1.
    pairs: `multi`, `empty` and `cache` of the base class.

    Example:
    >>> Meteor().score(["The car stopped."], ["The auto stopped."])["value"].round(2).item()
    0.99
    """

    name = "meteor"

    def __init__(
        self,
        *,
        synonyms: bool = True,
        tokenize: str = "word",
        rematch: bool = False,
        **pairs: Any,
    ) -> None:
        super().__init__(**pairs)
        self.synonyms = synonyms
        self.rematch = rematch
        self.tokenize = choose("tokenize", tokenize, ("word", "blank"))

    def settings(self) -> dict[str, Any]:
        return {
            "wordnet": label() if self.synonyms else "none",
            "tok": self.tokenize,
            "rematch": self.rematch or None,
            **WEIGHTS,
            "nltk": version("nltk"),
        }

    def remark(self, items: Sequence[Item]) -> str:
        return unspaced(
            items,
            "METEOR knows no words of it: -e rouge -s "
            "tokenize=unicode, or -e bleu -s tokenize=char",
        )

    @functools.cached_property
    def _loaded(self) -> Any:
        """The function that scores and the one that tokenizes."""
        from nltk.tokenize import NLTKWordTokenizer
        from nltk.translate.meteor_score import meteor_score

        wordnet: Any = SimpleNamespace(synsets=lambda word: [])
        if self.synonyms:
            wordnet = synonyms()
        score = functools.partial(
            rematching_meteor_score if self.rematch else meteor_score,
            stemmer=RememberingStemmer(),
            wordnet=wordnet,
        )
        tokenize: Any = str.split
        if self.tokenize == "word":
            tokenize = NLTKWordTokenizer().tokenize
        # One reference is compared with many outputs.
        return score, functools.lru_cache(maxsize=4096)(tokenize)

    def compute(self, items: Sequence[Item]) -> list[Found]:
        meteor, tokens = self._loaded
        values: list[Found] = []
        for output, reference in items:
            value = meteor([tokens(reference)], tokens(output))
            values.append((float(value),))
        return values


def rematching_meteor_score(
    references: Sequence[Sequence[str]],
    hypothesis: Sequence[str],
    *,
    stemmer: Any,
    wordnet: Any,
    gamma: float = 0.5,
) -> float:
    """METEOR of nltk up to 3.6.2, 0 to above 1, called as nltk's, with one reference.

    With P and R, the matched shares of the output's and the reference's words, it is

      F = P R / (alpha P + (1 - alpha) R)
      score = F (1 - gamma (chunks / matches)^beta)

    where chunks are the runs of matches that stand side by side in both texts.
    """
    from nltk.translate import meteor_score as nltk_meteor

    [reference] = references
    # Pairs of positions in hypothesis and reference; then the words of both that are
    # not matched, as (position, word).
    matched, words, targets = nltk_meteor.exact_match(hypothesis, reference)
    unmatched = [word for _, word in words]
    unmatched_targets = [word for _, word in targets]
    by_stem, *_ = nltk_meteor.stem_match(unmatched, unmatched_targets, stemmer)
    # It gets all words that are not matched exactly, those matched by stem included.
    by_synonym, *_ = nltk_meteor.wordnetsyn_match(unmatched, unmatched_targets, wordnet)
    for word, target in [*by_stem, *by_synonym]:
        matched.append((words[word][0], targets[target][0]))
    if not matched:
        return 0.0
    matched.sort(key=operator.itemgetter(0))
    precision = len(matched) / len(hypothesis)
    recall = len(matched) / len(reference)
    alpha = WEIGHTS["alpha"]
    mean = precision * recall / (alpha * precision + (1 - alpha) * recall)
    chunks = 1
    for (word, target), (next_word, next_target) in pairwise(matched):
        chunks += (next_word - word, next_target - target) != (1, 1)
    broken_order = chunks / len(matched)
    return mean * (1 - gamma * broken_order ** WEIGHTS["beta"])


@functools.cache
def label() -> str:
    """Which WordNet the synonyms come from: a digest of the full database's files."""
    with gzip.open(COMPACT, "rt", encoding="utf-8") as file:
        return file.readline().split()[-1]


class Synonyms:
    """WordNet as nltk's METEOR calls it: `synsets(word)` gives one synset, with all
    one-word lemmas of the word's synsets, or none.
    """

    def __init__(self) -> None:
        _, *blocks = gzip.decompress(COMPACT.read_bytes()).decode().split("\n\n")
        # For each part of speech: rules of endings, irregular form -> bases, and
        # word -> the groups of words that it is in.
        self._speeches = []
        of_speeches = zip(ENDINGS.values(), blocks[::2], blocks[1::2], strict=True)
        for endings, lines, exceptions in of_speeches:
            rules = [rule.split(":") for rule in endings.split()]
            irregular = {}
            for form, *bases in map(str.split, exceptions.splitlines()):
                irregular[form] = bases
            groups = defaultdict[str, list[list[str]]](list)
            for words in map(str.split, lines.splitlines()):
                single = [word for word in words if "_" not in word]
                for word in words:
                    groups[word.lower()].append(single)
            self._speeches.append((rules, irregular, groups))
        self.synsets = functools.lru_cache(maxsize=1 << 17)(self._look_up)

    def _look_up(self, word: str) -> list[SimpleNamespace]:
        """The synset of a word in all parts of speech, in a list; empty for none."""
        form = word.lower()
        names = set[str]()
        for rules, irregular, groups in self._speeches:
            bases = [form, *irregular.get(form, ())]
            if not irregular.get(form):
                for ending, replacement in rules:
                    if form.endswith(ending):
                        bases.append(form.removesuffix(ending) + replacement)
            for base in bases:
                names.update(*groups.get(base, ()))
        # In nltk a lemma's name is called: these give themselves.
        lemmas = [SimpleNamespace(name=name.__str__) for name in sorted(names)]
        return [SimpleNamespace(lemmas=lambda: lemmas)] if lemmas else []


@functools.cache
def synonyms() -> Synonyms:
    """WordNet, read once for all metrics of a process."""
    return Synonyms()
