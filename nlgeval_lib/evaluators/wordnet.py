"""Where WordNet lies on this machine, and its synonyms as METEOR asks for them."""

from __future__ import annotations

import functools
import hashlib
import io
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlgeval_lib.evaluators.base import Unavailable

ENVIRONMENT = "NLGEVAL_WORDNET"
SYSTEM_FOLDERS = ("/usr/share/wordnet", "/usr/share/wordnet/dict", "/usr/local/share/wordnet/dict")
_SPEECH = ("noun", "verb", "adj", "adv")
_FILES = tuple(f"{kind}.{speech}" for kind in ("index", "data") for speech in _SPEECH)
_FILES += tuple(f"{speech}.exc" for speech in _SPEECH)


@dataclass(frozen=True, slots=True)
class WordNet:
    """One WordNet: `root` is a folder of its files, or a zip archive that nltk reads; `label` names its content."""

    root: Any
    label: str


def find(where: str = "auto", download: bool = False) -> WordNet:
    """The WordNet to use: the folder `where`, or for "auto" the first of the environment's, nltk's and the system's.

    `label` is a digest of the files that synonyms come from, so that equal content has an equal name on any machine.

    Raises: Unavailable, with the ways to get it, if there is none; ValueError if a folder that was named is none.
    """
    if where != "auto":
        return _folder(where, "wordnet=")
    if named := os.environ.get(ENVIRONMENT):
        return _folder(named, f"{ENVIRONMENT}=")
    for candidate in _candidates(download):
        if candidate is not None:
            return candidate
    raise Unavailable(
        f"METEOR needs WordNet, which is not on this machine; install the system's package (wordnet-base on Debian), "
        f"name a folder that holds index.noun and its companions in {ENVIRONMENT}, let nltk fetch it (download=True), "
        f'or choose exact and stemmed matches only (wordnet="none")'
    )


def _candidates(download: bool) -> Iterator[WordNet | None]:
    yield _of_nltk()
    for folder in map(Path, SYSTEM_FOLDERS):
        yield _labelled(str(folder)) if _complete(folder) else None
    if download:
        import nltk

        nltk.download("wordnet", quiet=True, raise_on_error=False)
        yield _of_nltk()


def _folder(named: str, origin: str) -> WordNet:
    folder = Path(named).expanduser()
    if not _complete(folder):
        lacking = [name for name in _FILES if not (folder / name).is_file()]
        raise ValueError(f"{origin}{named} is no WordNet folder: it lacks {', '.join(lacking[:3])}")
    return _labelled(str(folder.resolve()))


def _complete(folder: Path) -> bool:
    return all((folder / name).is_file() for name in _FILES)


def _of_nltk() -> WordNet | None:
    import nltk

    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        try:
            root = nltk.data.find(name)
        except LookupError:
            continue
        return WordNet(root, _digest(root.join, str(root)))
    return None


@functools.lru_cache(maxsize=8)
def _labelled(folder: str) -> WordNet:
    return WordNet(folder, _digest(lambda name: Path(folder) / name, folder))


_digests: dict[str, str] = {}


def _digest(member: Callable[[str], Any], root: str) -> str:
    """The first eight hex digits of a digest over the content of the files that synonyms are read from."""
    if root not in _digests:
        whole = hashlib.sha256()
        for name in _FILES:
            with member(name).open("rb") if isinstance(member(name), Path) else member(name).open() as file:
                content = file.read()
            # other builds differ in line ends and trailing blanks only
            whole.update(b"\n".join(line.rstrip() for line in content.splitlines()))
        _digests[root] = whole.hexdigest()[:8]
    return _digests[root]


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


class Synonyms:
    """A WordNet reader as nltk's METEOR calls it, which looks each word up once."""

    def __init__(self, wordnet: WordNet) -> None:
        self._reader = _reader(wordnet)
        self.synsets = functools.lru_cache(maxsize=1 << 17)(self._look_up)

    def _look_up(self, word: str) -> list[_Synset]:
        names = {lemma.name() for synset in self._reader.synsets(word) for lemma in synset.lemmas()}
        return [_Synset({name for name in names if "_" not in name})] if names else []


class NoSynonyms:
    """Stands for a WordNet that knows no word."""

    def synsets(self, word: str) -> list[_Synset]:
        return []


def _reader(wordnet: WordNet) -> Any:
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):
        """nltk's reader without the two files that synonyms do not need and some distributions leave out."""

        def open(self, file: str) -> Any:
            if file == "lexnames":
                return io.StringIO("".join(f"{number:02d} lexname.{number:02d} 0\n" for number in range(45)))
            return super().open(file)

        def map_wn(self, version: str = "wordnet") -> None:
            return None

    if isinstance(wordnet.root, str) and wordnet.root not in nltk.data.path:
        nltk.data.path.append(wordnet.root)  # nltk opens no file outside these folders
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the multilingual parts are absent
        return Reader(wordnet.root, None)
