"""METEOR by nltk as it is and as it was, with the synonyms of WordNet 3.0 from the compact file of the library.

`tools/wordnet.py` makes that file from the full database and compares the two. It holds no glosses: for each part of
speech a block of groups of words that share a meaning, then a block of irregular forms, each with its base forms.
"""

from __future__ import annotations

import functools
import gzip
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from nlgeval_lib.evaluators.base import choose
from nlgeval_lib.evaluators.metric import Found, Item, PairMetric, version
from nlgeval_lib.evaluators.reference_metrics import RememberingStemmer

COMPACT = Path(__file__).with_name("wordnet.txt.gz")
# regular endings and what WordNet's look-up puts in their place
ENDINGS = {
    "noun": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "verb": "s: ies:y es:e es: ed:e ed: ing:e ing:",
    "adj": "er: est: er:e est:e",
    "adv": "",
}

WEIGHTS = {"alpha": 0.9, "beta": 3.0, "gamma": 0.5}  # nltk's: of precision, and of broken order


class Meteor(PairMetric):
    """METEOR by nltk, 0 to 1: exact, stemmed and WordNet matches, with a penalty for broken order.

    nltk looks up the stems that were left over, not the words: `feline` is `felin` by then, and finds no synonym.

    synonyms: match synonyms of WordNet 3.0, which the library brings; False: exact and stemmed matches only.
    tokenize: `"word"` separates punctuation as nltk's word tokenizer does; `"blank"` splits at white space.
    rematch: as nltk up to 3.6.2: WordNet gets the words, not the stems, and may match once more what a stem matched,
        which can take the value above 1.
    """

    name = "meteor"

    def __init__(self, *, synonyms: bool = True, tokenize: str = "word", rematch: bool = False, **common: Any) -> None:
        super().__init__(**common)
        self.synonyms, self.rematch = synonyms, rematch
        self.tokenize = choose("tokenize", tokenize, ("word", "blank"))

    def settings(self) -> dict[str, Any]:
        words = label() if self.synonyms else "none"
        rematch = {"rematch": True} if self.rematch else {}
        return {"wordnet": words, "tok": self.tokenize, **rematch, **WEIGHTS, "nltk": version("nltk")}

    @functools.cached_property
    def _loaded(self) -> Any:
        from nltk.tokenize import NLTKWordTokenizer
        from nltk.translate.meteor_score import meteor_score

        score = functools.partial(
            rematching_meteor_score if self.rematch else meteor_score,
            stemmer=RememberingStemmer(),
            wordnet=Synonyms() if self.synonyms else SimpleNamespace(synsets=lambda word: []),
        )
        tokenize = NLTKWordTokenizer().tokenize if self.tokenize == "word" else str.split
        return score, functools.lru_cache(maxsize=4096)(tokenize)  # one reference is compared with many outputs

    def compute(self, items: Sequence[Item]) -> list[Found]:
        meteor, tokens = self._loaded
        return [(float(meteor([tokens(reference)], tokens(output))),) for output, reference in items]


# -- METEOR up to nltk 3.6.2, which published numbers of that time come from -------------------------------------------


def rematching_meteor_score(
    references: Sequence[Sequence[str]], hypothesis: Sequence[str], *, stemmer: Any, wordnet: Any, gamma: float = 0.5
) -> float:
    """How well do the tokens of `hypothesis` match those of its reference? 0 to above 1: words can match twice.

    Words that were matched by their stem were not taken out of the pool, so WordNet could match them a second time. It
    was also given the words themselves, where later versions give it the stems. The arguments are those of nltk's.
    """
    [reference] = references
    matched = _matches(reference, hypothesis, stemmer, wordnet)
    if not matched:
        return 0.0
    precision, recall, alpha = len(matched) / len(hypothesis), len(matched) / len(reference), WEIGHTS["alpha"]
    mean = precision * recall / (alpha * precision + (1 - alpha) * recall)
    chunks = 1 + sum((b[0] - a[0], b[1] - a[1]) != (1, 1) for a, b in pairwise(matched))
    return mean * (1 - gamma * (chunks / len(matched)) ** WEIGHTS["beta"])


def _matches(reference: Sequence[str], hypothesis: Sequence[str], stemmer: Any, wordnet: Any) -> list[tuple[int, int]]:
    """Positions in (hypothesis, reference) that match: exactly, then by stem, then by synonym, in hypothesis order."""
    from nltk.translate import meteor_score as nltk_meteor

    exact, *rest = nltk_meteor.exact_match(hypothesis, reference)
    left, right = ([position for position, _ in words] for words in rest)
    words, targets = ([word for _, word in side] for side in rest)
    by_stem = nltk_meteor.stem_match(words, targets, stemmer)[0]
    by_synonym = nltk_meteor.wordnetsyn_match(words, targets, wordnet)[0]  # all that is left, stem matches included
    again = [(left[i], right[j]) for i, j in [*by_stem, *by_synonym]]
    return sorted([*exact, *again], key=lambda pair: pair[0])


# -- synonyms ----------------------------------------------------------------------------------------------------------


@functools.cache
def label() -> str:
    """Which WordNet the synonyms come from: a digest of the files of the full database."""
    with gzip.open(COMPACT, "rt", encoding="utf-8") as file:
        return file.readline().split()[-1]


class _Speech:
    """The words of one part of speech, found by any of their forms."""

    def __init__(self, endings: str, groups: str, exceptions: str) -> None:
        self._endings = [tuple(rule.split(":")) for rule in endings.split()]
        self._exceptions = {form: bases for form, *bases in map(str.split, exceptions.splitlines())}
        self._groups: dict[str, list[list[str]]] = defaultdict(list)
        for line in groups.splitlines():
            words = line.split()
            single = [word for word in words if "_" not in word]
            for word in words:
                self._groups[word.lower()].append(single)

    def synonyms(self, form: str) -> Iterator[str]:
        """One-word synonyms of the form and of its base forms: the irregular ones if it has any, else those by rule."""
        bases = self._exceptions.get(form)
        if bases is None:
            bases = [form.removesuffix(old) + new for old, new in self._endings if form.endswith(old)]
        for word in (form, *bases):
            for group in self._groups.get(word, ()):
                yield from group


class Synonyms:
    """WordNet as nltk's METEOR calls it, which looks each word up once.

    All one-word lemmas of all of a word's synsets stand in one: the union is what METEOR forms of them.
    """

    def __init__(self) -> None:
        _, *blocks = gzip.decompress(COMPACT.read_bytes()).decode().split("\n\n")
        self._speeches = [_Speech(endings, *blocks[2 * i : 2 * i + 2]) for i, endings in enumerate(ENDINGS.values())]
        self.synsets = functools.lru_cache(maxsize=1 << 17)(self._look_up)

    def _look_up(self, word: str) -> list[SimpleNamespace]:
        names = {name for speech in self._speeches for name in speech.synonyms(word.lower())}
        lemmas = [SimpleNamespace(name=name.__str__) for name in sorted(names)]  # a name that is called gives itself
        return [SimpleNamespace(lemmas=lambda: lemmas)] if lemmas else []
