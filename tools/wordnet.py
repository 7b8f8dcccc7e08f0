"""Make the compact WordNet that METEOR reads, or compare it with nltk on the full
database.

python tools/wordnet.py FOLDER            write the compact file and the expected values
                                          in tests/cases
python tools/wordnet.py FOLDER --check    compare them with what the full database gives

FOLDER holds WordNet 3.0's index.*, data.* and *.exc, for example the folder `dict` of
Princeton's archive WNdb-3.0.tar.gz, or /usr/share/wordnet of Debian's package
wordnet-base, which need not be installed: `apt-get download wordnet-base && dpkg -x
wordnet-base_*.deb unpacked`.

The compact file is a title, then for each part of speech its groups of synonyms and its
irregular forms. `compact` makes its text, `cases` the expected values, `check`
compares.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import hashlib
import io
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.evaluators import meteor

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases"
TITLE = (
    "WordNet 3.0 without glosses, (c) 2006 Princeton University, "
    "see wordnet_licence.txt"
)
# the parts of speech, as WordNet's files are named
SPEECHES = tuple(meteor.ENDINGS)


def digest(folder: Path) -> str:
    """The first eight hex digits of a digest over the content of the files that
    synonyms are read from.

    folder: of WordNet's files, as in all functions of this file.
    """
    names = [f"index.{speech}" for speech in SPEECHES]
    names += [f"data.{speech}" for speech in SPEECHES]
    names += [f"{speech}.exc" for speech in SPEECHES]
    sha256 = hashlib.sha256()
    for name in names:
        lines = (folder / name).read_bytes().splitlines()
        # other builds differ in line ends and trailing blanks only
        sha256.update(b"\n".join(map(bytes.rstrip, lines)))
    return sha256.hexdigest()[:8]


def compact(folder: Path) -> str:
    """The text of the compact file: a title with the digest, then groups and irregular
    forms by part of speech, blocks with an empty line between them.
    """
    blocks = [f"{TITLE}; {digest(folder)}"]
    for speech in SPEECHES:
        groups = []
        for group in _groups(folder / f"data.{speech}"):
            groups.append(" ".join(sorted(group)))
        irregular = []
        for line in (folder / f"{speech}.exc").read_text("utf-8").splitlines():
            irregular.append(" ".join(line.split()))
        blocks.append("\n".join(sorted(groups)))
        blocks.append("\n".join(irregular))
    return "\n\n".join(blocks)


def _groups(path: Path) -> Iterator[frozenset[str]]:
    """The synsets of a data file that have a single word; without those inside another
    one, which add nothing to the union that is asked for.

    path: data.SPEECH.
    """
    groups = set()
    for words in synsets(path):
        if not all("_" in word for word in words):
            groups.add(frozenset(words))
    by_word: dict[str, list[frozenset[str]]] = {}
    for group in groups:
        for word in group:
            by_word.setdefault(word, []).append(group)
    for group in groups:
        # a larger group has all words of this one, so looking at the groups of any one
        # word is enough
        word = min(group)
        if not any(group < larger for larger in by_word[word]):
            yield group


def synsets(path: Path) -> Iterator[list[str]]:
    """The words of each synset in a data file, without the marks of an adjective's
    place, as in "galore(ip)".

    path: data.SPEECH. A line has, of what is read here, the number of words as two hex
        digits in its fourth field, then each word with a number behind it; the gloss
        comes after a bar.
    """
    for line in path.read_text("utf-8").splitlines():
        if line.startswith(" "):  # of the licence
            continue
        synset, _, _ = line.partition("|")
        fields = synset.split()
        count = int(fields[3], 16)
        words = []
        for marked in fields[4 : 4 + 2 * count : 2]:
            word, _, _ = marked.partition("(")
            words.append(word)
        yield words


def packed(text: str) -> bytes:
    """`text` compressed with gzip to the same bytes at any time."""
    with io.BytesIO() as target:
        with gzip.GzipFile("", "wb", 9, target, mtime=0) as file:
            file.write(text.encode())
        return target.getvalue()


# -- compared with nltk on the full database


def reader(folder: Path) -> Any:
    """nltk's reader of the full database, without the two files that synonyms do not
    need and some builds leave out.
    """
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):
        def open(self, file: str) -> Any:
            if file != "lexnames":
                return super().open(file)
            lines = []
            for number in range(45):
                lines.append(f"{number:02d} lexname.{number:02d} 0\n")
            return io.StringIO("".join(lines))

        def map_wn(self, version: str = "wordnet") -> None:
            return None

    nltk.data.path.append(str(folder))  # nltk opens no file outside these folders
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the multilingual parts are absent
        full = Reader(str(folder), None)
    full.synsets = functools.lru_cache(maxsize=None)(full.synsets)
    return full


def synonyms(source: Any, word: str) -> set[str]:
    """What METEOR's third step takes from a WordNet for one word: the single words of
    all its synsets.

    source: nltk's reader.
    """
    words = set()
    for synset in source.synsets(word):
        for lemma in synset.lemmas():
            words.add(lemma.name())
    return {name for name in words if "_" not in name}


def expected(
    full: Any,
    output: str,
    reference: str,
    tokenize: str,
    rematch: bool,
) -> float:
    """METEOR with nltk's reader and stemmer, nothing of ours but the older matching.

    full: nltk's reader of the full database.
    tokenize: "word" for nltk's tokens, "blank" for what stands between blanks.
    rematch: True for the matching of older versions of nltk.
    """
    from nltk.stem.porter import PorterStemmer
    from nltk.tokenize import word_tokenize
    from nltk.translate.meteor_score import meteor_score

    score: Callable[..., float] = meteor_score
    if rematch:
        stemmer = PorterStemmer()
        score = functools.partial(meteor.rematching_meteor_score, stemmer=stemmer)
    split: Callable[[str], list[str]]
    split = functools.partial(word_tokenize, preserve_line=True)
    if tokenize == "blank":
        split = str.split
    return float(score([split(reference)], split(output), wordnet=full))


def cases(full: Any) -> Iterator[tuple[Path, str]]:
    """The tables of expected values that the tests read, with the values that nltk
    gives on the full database: each file's path and its text.

    The words and texts are those that the files have already.
    """
    words = pd.read_csv(CASES / "wordnet_synonyms.csv", keep_default_na=False)
    of_words = []
    for word in words["word"]:
        in_order = sorted(synonyms(full, word))
        of_words.append(" ".join(in_order))
    words["synonyms"] = of_words
    texts = pd.read_csv(CASES / "meteor.csv", keep_default_na=False)
    # METEOR as nltk computes it today, and as an older version did on blanks.
    today = []
    older = []
    for output, reference in zip(texts["output"], texts["reference"], strict=True):
        today.append(expected(full, output, reference, "word", False))
        older.append(expected(full, output, reference, "blank", True))
    texts["today"] = today
    texts["older"] = older
    yield CASES / "wordnet_synonyms.csv", words.to_csv(index=False)
    yield CASES / "meteor.csv", texts.to_csv(index=False)


def check(folder: Path) -> bool:
    """Whether the compact file and the expected values are what the full database
    gives; says what was compared.
    """
    full = reader(folder)
    saved = gzip.decompress(meteor.COMPACT.read_bytes()).decode()
    same = saved == compact(folder)
    print(f"the compact file is the one made of the full database: {same}")
    for path, text in cases(full):
        equal = path.read_text("utf-8") == text
        same &= equal
        n_rows = text.count("\n") - 1
        print(f"{path.name}, {n_rows} rows, holds nltk's values: {equal}")
    return same


def main() -> None:
    """Write the compact file and the expected values, or compare them; exits with 1
    where they are not equal.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        sys.exit(0 if check(options.folder) else "not equal")
    with files.replacing(meteor.COMPACT) as fresh:
        fresh.write_bytes(packed(compact(options.folder)))
    for path, text in cases(reader(options.folder)):
        files.write_text(path, text)
    print(
        f"written: {meteor.COMPACT.relative_to(ROOT)} "
        f"and the expected values in {CASES.relative_to(ROOT)}"
    )


if __name__ == "__main__":
    main()
