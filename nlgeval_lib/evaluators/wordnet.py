"""The synonyms of WordNet 3.0 as METEOR asks for them, from the compact file that comes with the library.

`tools/wordnet.py` makes that file from the full database and compares the two. It holds no glosses: for each part of
speech a block of groups of words that share a meaning, then a block of irregular forms, each with its base forms.
"""

from __future__ import annotations

import functools
import gzip
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

COMPACT = Path(__file__).with_name("wordnet.txt.gz")
# regular endings and what WordNet's look-up puts in their place
ENDINGS = {
    "noun": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "verb": "s: ies:y es:e es: ed:e ed: ing:e ing:",
    "adj": "er: est: er:e est:e",
    "adv": "",
}


@functools.cache
def label() -> str:
    """Which WordNet the synonyms come from: a digest of the files of the full database."""
    with gzip.open(COMPACT, "rt", encoding="utf-8") as file:
        return file.readline().split()[-1]


class _Lemma:
    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        return self._name


class _Synset:
    """All one-word lemmas of all of a word's synsets: the union is what METEOR forms of them."""

    __slots__ = ("_lemmas",)

    def __init__(self, names: set[str]) -> None:
        self._lemmas = [_Lemma(name) for name in sorted(names)]

    def lemmas(self) -> list[_Lemma]:
        return self._lemmas


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
    """WordNet as nltk's METEOR calls it, which looks each word up once."""

    def __init__(self) -> None:
        _, *blocks = gzip.decompress(COMPACT.read_bytes()).decode().split("\n\n")
        self._speeches = [_Speech(endings, *blocks[2 * i : 2 * i + 2]) for i, endings in enumerate(ENDINGS.values())]
        self.synsets = functools.lru_cache(maxsize=1 << 17)(self._look_up)

    def _look_up(self, word: str) -> list[_Synset]:
        names = {name for speech in self._speeches for name in speech.synonyms(word.lower())}
        return [_Synset(names)] if names else []


class NoSynonyms:
    """Stands for a WordNet that knows no word."""

    def synsets(self, word: str) -> list[_Synset]:
        return []
