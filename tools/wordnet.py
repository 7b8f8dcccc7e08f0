"""Make the compact WordNet that METEOR reads, or compare it with nltk on the full
database.

python tools/wordnet.py FOLDER            write the compact file and the expected values in tests/cases
python tools/wordnet.py FOLDER --check    compare all synonyms, and METEOR on every text pair of four data sets

FOLDER holds WordNet 3.0's index.*, data.* and *.exc, for example the folder `dict` of
Princeton's archive WNdb-3.0.tar.gz, or /usr/share/wordnet of Debian's package
wordnet-base, which need not be installed: `apt-get download wordnet-base && dpkg -x
wordnet-base_*.deb unpacked`.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import hashlib
import io
import itertools
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import datasets, files
from nlgeval_lib.evaluators import Meteor, meteor

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases"
DATA = ("summeval", "topical_chat", "openmeva", "bagel")
SPEECHES = tuple(meteor.ENDINGS)


def digest(folder: Path) -> str:
    """The first eight hex digits of a digest over the content of the files that
    synonyms are read from.
    """
    names = [f"{kind}.{speech}" for kind in ("index", "data") for speech in SPEECHES]
    whole = hashlib.sha256()
    for name in [*names, *(f"{speech}.exc" for speech in SPEECHES)]:
        # other builds differ in line ends and trailing blanks only
        whole.update(
            b"\n".join(
                line.rstrip() for line in (folder / name).read_bytes().splitlines()
            )
        )
    return whole.hexdigest()[:8]


def compact(folder: Path) -> str:
    """The text of the compact file: a title with the digest, then groups and
    irregular forms by part of speech.
    """
    blocks = [
        f"WordNet 3.0 without glosses, (c) 2006 Princeton University, see wordnet_licence.txt; {digest(folder)}"
    ]
    for speech in SPEECHES:
        groups = {
            frozenset(words)
            for words in synsets(folder / f"data.{speech}")
            if any("_" not in w for w in words)
        }
        holding: dict[str, list[frozenset[str]]] = {}
        for group in groups:
            for word in group:
                holding.setdefault(word, []).append(group)
        # a group inside another one adds nothing to the union that is asked for
        kept = [g for g in groups if not any(g < other for other in holding[min(g)])]
        irregular = (
            " ".join(line.split())
            for line in (folder / f"{speech}.exc").read_text("utf-8").splitlines()
        )
        blocks += [
            "\n".join(sorted(" ".join(sorted(group)) for group in kept)),
            "\n".join(irregular),
        ]
    return "\n\n".join(blocks)


def synsets(path: Path) -> Iterator[list[str]]:
    """The words of each synset in a data file, without the marks of an adjective's
    place.
    """
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith(" "):
            fields = line.split("|")[0].split()
            yield [
                word.partition("(")[0]
                for word in fields[4 : 4 + 2 * int(fields[3], 16) : 2]
            ]


def packed(text: str) -> bytes:
    """`text` compressed to the same bytes at any time."""
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
            if file == "lexnames":
                return io.StringIO(
                    "".join(
                        f"{number:02d} lexname.{number:02d} 0\n" for number in range(45)
                    )
                )
            return super().open(file)

        def map_wn(self, version: str = "wordnet") -> None:
            return None

    nltk.data.path.append(str(folder))  # nltk opens no file outside these folders
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the multilingual parts are absent
        full = Reader(str(folder), None)
    full.synsets = functools.lru_cache(maxsize=None)(full.synsets)
    return full


def synonyms(source: Any, word: str) -> set[str]:
    """What METEOR's third step takes from a WordNet for one word."""
    return {
        lemma.name()
        for synset in source.synsets(word)
        for lemma in synset.lemmas()
        if "_" not in lemma.name()
    }


def forms(folder: Path) -> set[str]:
    """Every entry of the index, every irregular form, and every entry with each
    regular ending put on or taken off.
    """
    found: set[str] = set()
    for speech in SPEECHES:
        entries = [
            line.split()[0]
            for line in (folder / f"index.{speech}").open()
            if not line.startswith(" ")
        ]
        rules = [rule.split(":") for rule in meteor.ENDINGS[speech].split()]
        for old, new in [("", ""), *rules]:
            found.update(
                entry.removesuffix(new) + old
                for entry in entries
                if entry.endswith(new)
            )
            found.update(
                entry.removesuffix(old) + new
                for entry in entries
                if entry.endswith(old)
            )
        found.update(
            word for line in (folder / f"{speech}.exc").open() for word in line.split()
        )
    return found


def pairs(name: str) -> list[tuple[str, str]]:
    """Every output of a data set with each of its references."""
    items = datasets.items(datasets.load(name))
    found = zip(items["output"], items["references"], strict=True)
    return list(
        dict.fromkeys(
            (output, text)
            for output, references in found
            for text in references
            if text.strip()
        )
    )


def expected(
    full: Any, output: str, reference: str, tokenize: str, rematch: bool
) -> float:
    """METEOR with nltk's reader and stemmer, nothing of ours but the older matching."""
    from nltk.stem.porter import PorterStemmer
    from nltk.tokenize import word_tokenize
    from nltk.translate.meteor_score import meteor_score

    score = (
        functools.partial(meteor.rematching_meteor_score, stemmer=PorterStemmer())
        if rematch
        else meteor_score
    )
    split = (
        str.split
        if tokenize == "blank"
        else functools.partial(word_tokenize, preserve_line=True)
    )
    return float(score([split(reference)], split(output), wordnet=full))


def cases(full: Any) -> Iterator[tuple[Path, str]]:
    """The tables of expected values that the tests read, with the values that nltk
    gives on the full database.
    """
    words = pd.read_csv(CASES / "wordnet_synonyms.csv", keep_default_na=False)
    words["synonyms"] = [
        " ".join(sorted(synonyms(full, word))) for word in words["word"]
    ]
    texts = pd.read_csv(CASES / "meteor.csv", keep_default_na=False)
    for column, tokenize, rematch in (
        ("today", "word", False),
        ("older", "blank", True),
    ):
        both = zip(texts["output"], texts["reference"], strict=True)
        texts[column] = [
            expected(full, output, reference, tokenize, rematch)
            for output, reference in both
        ]
    yield CASES / "wordnet_synonyms.csv", words.to_csv(index=False)
    yield CASES / "meteor.csv", texts.to_csv(index=False)


def check(folder: Path) -> bool:
    """Whether compact file and full database agree everywhere; says how much was
    compared.
    """
    full = reader(folder)
    ours = meteor.Synonyms()
    same = gzip.decompress(meteor.COMPACT.read_bytes()).decode() == compact(folder)
    print(f"the compact file is the one made of the full database: {same}")
    for path, text in cases(full):
        same &= path.read_text("utf-8") == text
        print(
            f"{path.name}, {text.count(chr(10)) - 1} rows, holds nltk's values: {path.read_text('utf-8') == text}"
        )
    words = sorted(forms(folder))
    unequal = [word for word in words if synonyms(full, word) != synonyms(ours, word)]
    same &= not unequal
    print(
        f"synonyms: {len(words)} words and forms, {len(unequal)} unequal {unequal[:5]}"
    )
    for name, tokenize, rematch in itertools.product(
        DATA, ("word", "blank"), (False, True)
    ):
        texts = pairs(name)
        values = Meteor(tokenize=tokenize, rematch=rematch, cache=False).compute(texts)
        gaps = [
            abs(v[0] - expected(full, *t, tokenize, rematch))
            for t, v in zip(texts, values, strict=True)
        ]
        same &= max(gaps) == 0
        print(
            f"METEOR: {name}, tokenize={tokenize}, rematch={rematch}: {len(gaps)} pairs, largest gap {max(gaps)}"
        )
    return same


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.check:
        sys.exit(0 if check(given.folder) else "not equal")
    with files.replacing(meteor.COMPACT) as tmp:
        tmp.write_bytes(packed(compact(given.folder)))
    for path, text in cases(reader(given.folder)):
        files.write_text(path, text)
    print(
        f"written: {meteor.COMPACT.relative_to(ROOT)} and the expected values in {CASES.relative_to(ROOT)}"
    )


if __name__ == "__main__":
    main()
