"""BLEU, ROUGE, METEOR and BERTScore equal the packages called directly, and say where they have no value."""

from __future__ import annotations

import csv
import json
import math
import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlgeval_lib import evaluators, papers
from nlgeval_lib.evaluators import Bleu, Meteor, Rouge, wordnet
from nlgeval_lib.records import Status

ROOT = Path(__file__).resolve().parent.parent
TARGET = "Please keep your shoes by the door."
RESPONSE = "Visitors should keep wet boots out here."
OUTPUTS = [RESPONSE, "The cat sat on the mat. It was happy.", "A dog runs.", "one two three four five six", "x"]
REFERENCES = [TARGET, "The Cat sat on a mat. It was sad.", "Dogs are running.", "one two 3 four six", "y z"]
SEVERAL = [[r, f"{o} indeed", "something else. Entirely so"] for o, r in zip(OUTPUTS, REFERENCES, strict=True)]
WORDS = st.lists(
    st.sampled_from(["the", "cat", "Cat", "sat", "a", "mat", ".", "runs", "7", "é"]), min_size=1, max_size=12
)
SENTENCES = WORDS.map(" ".join)


def rows(name: str) -> list[dict]:
    """A table of expected values, made by tools/wordnet.py with nltk on the full WordNet 3.0."""
    with (ROOT / "tests" / "cases" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NLGEVAL_STATE", str(tmp_path / "state"))


# -- equal to the packages ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "package"),
    [
        ({}, {}),
        ({"smooth": "floor", "smooth_value": 0.3}, {"smooth_method": "floor", "smooth_value": 0.3}),
        ({"smooth": "add-k"}, {"smooth_method": "add-k"}),
        ({"smooth": "none", "effective_order": False}, {"smooth_method": "none", "use_effective_order": False}),
        ({"tokenize": "char", "lowercase": True}, {"tokenize": "char", "lowercase": True}),
    ],
)
def test_bleu_is_sacrebleu(options: dict, package: dict) -> None:
    from sacrebleu import sentence_bleu

    expected = [sentence_bleu(o, [r], **package).score for o, r in zip(OUTPUTS, REFERENCES, strict=True)]
    assert Bleu(**options).score_texts(OUTPUTS, REFERENCES).tolist() == expected


def test_bleu_joins_references_as_sacrebleu_does() -> None:
    from sacrebleu import sentence_bleu

    expected = [sentence_bleu(o, r).score for o, r in zip(OUTPUTS, SEVERAL, strict=True)]
    assert Bleu(multi="joint").score_texts(OUTPUTS, SEVERAL).tolist() == expected


@pytest.mark.parametrize("type_", ["rouge1", "rouge2", "rougeL", "rougeLsum"])
@pytest.mark.parametrize("stemmer", [False, True])
def test_rouge_is_rouge_score(type_: str, stemmer: bool) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer([type_], use_stemmer=stemmer)
    scores = [scorer.score(r, o)[type_] for o, r in zip(OUTPUTS, REFERENCES, strict=True)]
    for value, attribute in (("f", "fmeasure"), ("p", "precision"), ("r", "recall")):
        ours = Rouge(type_, stemmer=stemmer, value=value).score_texts(OUTPUTS, REFERENCES)
        assert ours.tolist() == [getattr(score, attribute) for score in scores]


def test_rouge_max_is_rouge_scores_own_rule() -> None:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1"])
    expected = [scorer.score_multi(r, o)["rouge1"].fmeasure for o, r in zip(OUTPUTS, SEVERAL, strict=True)]
    assert Rouge("rouge1", multi="max").score_texts(OUTPUTS, SEVERAL).tolist() == expected


@pytest.mark.parametrize(("type_", "theirs"), [("rouge1", "rouge-1"), ("rouge2", "rouge-2"), ("rougeL", "rouge-l")])
@pytest.mark.parametrize("value", ["f", "p", "r"])
def test_rouge_is_pypi_rouge(type_: str, theirs: str, value: str) -> None:
    from rouge import Rouge as Pypi

    expected = [score[theirs][value] for score in Pypi().get_scores(OUTPUTS, REFERENCES)]
    assert Rouge(type_, package="rouge", value=value).score_texts(OUTPUTS, REFERENCES).tolist() == expected


def test_the_two_rouges_differ_and_their_signatures_say_so() -> None:
    a, b = Rouge("rouge1"), Rouge("rouge1", package="rouge")
    assert a.score_texts(["The cat"], ["the cat."])[0] == 1 > b.score_texts(["The cat"], ["the cat."])[0]
    assert re.search(r"rouge_score:\d", a.signature()) and re.search(r"\|rouge:\d", b.signature())


def test_one_shared_word_of_seven_has_the_values_of_semscore_table_1() -> None:
    """A sentence of our own in the shape of the printed example; the packages called directly are the oracle."""
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu import sentence_bleu

    bleu, rouge = (metric.score_texts([RESPONSE], [TARGET])[0] for metric in (Bleu(), Rouge("rougeL")))
    assert bleu == sentence_bleu(RESPONSE, [TARGET]).score
    assert rouge == RougeScorer(["rougeL"]).score(TARGET, RESPONSE)["rougeL"].fmeasure
    assert papers.agrees(bleu, papers.cell("semscore", "table_01", "example", "BLEU", "score"))
    assert papers.agrees(rouge, papers.cell("semscore", "table_01", "example", "ROUGE-L", "score"))


class Pairs:
    """A WordNet of two synonyms, as nltk's METEOR calls it."""

    def __init__(self, **synonyms: set[str]) -> None:
        self.words = synonyms

    def synsets(self, word: str) -> list:
        names = self.words.get(word, set())
        lemma = lambda name: type("Lemma", (), {"name": lambda self: name})()  # noqa: E731
        return [type("Synset", (), {"lemmas": lambda self: [lemma(name) for name in names]})()]


@pytest.mark.parametrize("tokenize", ["word", "blank"])
def test_meteor_without_wordnet_is_nltks_with_an_empty_one(tokenize: str) -> None:
    from nltk import word_tokenize
    from nltk.translate.meteor_score import meteor_score

    split = str.split if tokenize == "blank" else lambda text: word_tokenize(text, preserve_line=True)
    expected = [
        meteor_score([split(r)], split(o), wordnet=Pairs(), gamma=0.4) for o, r in zip(OUTPUTS, REFERENCES, strict=True)
    ]
    ours = Meteor(synonyms=False, tokenize=tokenize, gamma=0.4)
    assert ours.score_texts(OUTPUTS, REFERENCES).tolist() == expected
    assert "wordnet:none" in ours.signature()


def test_synonyms_are_those_of_nltk_on_the_full_wordnet() -> None:
    ours = wordnet.Synonyms()
    for case in rows("wordnet_synonyms.csv"):
        names = {lemma.name() for synset in ours.synsets(case["word"]) for lemma in synset.lemmas()}
        assert names == set(case["synonyms"].split()), case["word"]


@pytest.mark.parametrize(
    ("column", "options"), [("today", {}), ("older", {"tokenize": "blank", "rematch": True})], ids=["today", "older"]
)
def test_meteor_is_that_of_nltk_on_the_full_wordnet(
    column: str, options: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no data of nltk, wherever they may lie on this machine."""
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    cases = pd.DataFrame(rows("meteor.csv"))
    scored = Meteor(**options).score_texts(cases["output"].tolist(), cases["reference"].tolist())
    assert scored.tolist() == cases[column].astype(float).tolist()


def test_meteor_names_the_wordnet_of_the_committed_results() -> None:
    committed = json.loads((ROOT / "results" / "coascore" / "coascore_table_02.json").read_text("utf-8"))
    metric = Meteor(tokenize="blank", rematch=True, multi="first", empty="zero")
    assert metric.available() == (True, "") and metric.signature() == committed["models"]["METEOR"]


def test_the_compact_wordnet_is_made_with_all_that_nltk_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small database of every kind of line: marks, senses inside others, names of many words, irregular forms."""
    import nltk

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(wordnet, "COMPACT", tmp_path / "compact.gz")
    tool = runpy.run_path(str(ROOT / "tools" / "wordnet.py"))
    full = tool["reader"](small_wordnet(tmp_path))
    wordnet.COMPACT.write_bytes(tool["packed"](tool["compact"](tmp_path)))
    ours = wordnet.Synonyms()
    for word in tool["forms"](tmp_path) | {"axes", "Lynxes", "nothing"}:
        assert tool["synonyms"](ours, word) == tool["synonyms"](full, word), word
    assert tool["synonyms"](ours, "axes") == {"axis", "ax", "axe"}
    assert tool["synonyms"](ours, "Lynxes") == {"Lynx"}


def small_wordnet(folder: Path) -> Path:
    """A WordNet folder as Princeton's tools write it."""
    kinds = {
        "noun": ["n cat true_cat", "n cat", "n wild_cat big_cat", "n wild_cat Lynx", "n axis", "n ax axe"],
        "verb": ["v ax axe", "v see", "v go travel"],
        "adj": ["a big(a) large", "s big", "a asleep(p)"],
        "adv": ["r largely"],
    }
    irregular = {"noun": "axes ax axis\n", "verb": "saw see\nwent go\n", "adj": "", "adv": ""}
    for speech, synsets in kinds.items():
        data, senses = "  1 a licence\n", {}
        for synset in synsets:
            kind, *words = synset.split()
            if kind == "s":  # a satellite points at its head
                pointers = f"001 & {data.splitlines()[1][:8]} a 0000"
            else:
                pointers = "000"
            listed = " ".join(f"{word} 0" for word in words)
            for word in words:
                senses.setdefault(word.partition("(")[0].lower(), []).append(f"{len(data):08d}")
            frames = " 00" if kind == "v" else ""
            data += f"{len(data):08d} 05 {kind} {len(words):02x} {listed} {pointers}{frames} | a gloss\n"
        index = [
            f"{w} {speech[0] if speech != 'adv' else 'r'} {len(o)} 0 {len(o)} 0 {' '.join(o)}"
            for w, o in senses.items()
        ]
        (folder / f"data.{speech}").write_text(data)
        (folder / f"index.{speech}").write_text("\n".join(["  1 a licence", *index]) + "\n")
        (folder / f"{speech}.exc").write_text(irregular[speech])
    return folder


# -- rules -------------------------------------------------------------------------------------------------------------


def test_rules_for_several_references() -> None:
    single = [Rouge("rouge1").score_texts(OUTPUTS, [group[i] for group in SEVERAL]) for i in range(3)]
    assert Rouge("rouge1", multi="first").score_texts(OUTPUTS, SEVERAL).tolist() == single[0].tolist()
    assert Rouge("rouge1", multi="max").score_texts(OUTPUTS, SEVERAL).tolist() == np.max(single, axis=0).tolist()
    np.testing.assert_allclose(Rouge("rouge1", multi="mean").score_texts(OUTPUTS, SEVERAL), np.mean(single, axis=0))
    with pytest.raises(ValueError, match=r"row 0: 3 references; say what they become: multi= first, max, mean"):
        Rouge("rouge1").score_texts(OUTPUTS, SEVERAL)
    with pytest.raises(ValueError, match="multi is 'joint'; allowed: 'first', 'max', 'mean'"):
        Rouge(multi="joint")


def test_a_frame_is_scored_by_the_column_that_the_rule_asks_for() -> None:
    frame = pd.DataFrame(
        {
            "output": ["the cat"] * 2,
            "reference": ["a dog", "the cat"],
            "references": [("a dog", "the cat"), ("the cat",)],
        },
        index=["p", "q"],
    )
    assert Rouge().score(frame)["value"].tolist() == [0, 1]
    scored = Rouge(multi="max").score(frame)
    assert scored["value"].tolist() == [1, 1] and list(scored.index) == ["p", "q"]
    assert list(scored.columns) == ["value", "status", "reason"]
    assert scored.attrs["signature"] == Rouge(multi="max").signature()
    assert scored.attrs["details"]["items"] == 2


@pytest.mark.parametrize("metric", [Bleu, Rouge, lambda **k: Rouge("rougeL", package="rouge", **k)])
@pytest.mark.parametrize("blank", ["", "   \n", "\u2003"])
def test_empty_texts_have_a_reason_or_are_zero_when_asked(metric, blank: str) -> None:
    frame = pd.DataFrame({"output": [blank, "a", "a"], "references": [["a"], [blank], []]})
    scored = metric(multi="first").score(frame)
    assert scored["value"].isna().all() and (scored["status"] == Status.EMPTY).all()
    assert scored["reason"].tolist() == ["output is empty", "reference is empty", "no reference"]
    zero = metric(multi="first", empty="zero").score(frame)
    assert zero["value"].tolist()[:2] == [0, 0] and "counted as 0" in zero["reason"][0]
    assert math.isnan(zero["value"][2]), "there is nothing to compare with"


def test_texts_without_a_word_of_the_package_are_not_silently_zero() -> None:
    for metric, text in ((Rouge(), "日本語"), (Rouge(package="rouge"), " ... ")):
        scored = metric.score(pd.DataFrame({"output": [text], "reference": ["a word"]}))
        assert scored["status"].tolist() == ["empty"] and scored["reason"][0]
    assert Bleu(tokenize="char").score_texts(["日本語"], ["日本語"]) == pytest.approx(100)


def test_blank_references_are_left_out_of_a_group() -> None:
    assert Rouge(multi="mean").score_texts(["a b"], [["a b", "", " "]])[0] == 1
    assert Bleu(multi="joint").score_texts(["a b"], [["", "a b"]])[0] == pytest.approx(100)


def test_a_sentence_deeper_than_the_recursion_limit() -> None:
    import sys

    from rouge import Rouge as Pypi

    limit = sys.getrecursionlimit()
    long = " ".join(f"w{i}" for i in range(limit))
    with pytest.raises(RecursionError):
        Pypi().get_scores(long, long)
    assert Rouge("rougeL", package="rouge").score_texts([long], [long])[0] == pytest.approx(1, abs=1e-7)
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize(("package", "size"), [("rouge", 1500), ("rouge_score", 5100)])
def test_a_table_that_would_not_fit_is_refused(package: str, size: int) -> None:
    long = " ".join(["word"] * size)
    scored = Rouge("rougeL", package=package).score(pd.DataFrame({"output": [long], "reference": [long]}))
    assert scored["status"].tolist() == ["failed"] and f"{size} x {size} words" in scored["reason"][0]
    assert Rouge("rouge1", package=package).score_texts([long], [long])[0] == pytest.approx(1, abs=1e-7)


def test_processes_change_nothing(tmp_path: Path) -> None:
    outputs = [f"the cat number {i} sat on mat {i % 7}" for i in range(40)]
    references = [f"the cat {i} sat" for i in range(40)]
    one, two = (Rouge("rouge2", stemmer=True, cache=False, jobs=jobs) for jobs in (1, 2))
    two.chunk = 7
    assert two.score_texts(outputs, references).tolist() == one.score_texts(outputs, references).tolist()


def test_order_changes_nothing() -> None:
    forward = Rouge(cache=False).score_texts(OUTPUTS, REFERENCES)
    assert Rouge(cache=False).score_texts(OUTPUTS[::-1], REFERENCES[::-1]).tolist() == forward[::-1].tolist()


# -- ranges ------------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=4))
def test_values_lie_in_their_range_and_are_highest_for_a_copy(pairs: list[tuple[str, str]]) -> None:
    outputs, references = map(list, zip(*pairs, strict=True))
    metrics = [(Bleu(cache=False), 100), (Meteor(synonyms=False, cache=False), 1)]
    metrics += [
        (Rouge(t, package=p, cache=False), 1) for t in ("rouge1", "rouge2", "rougeL") for p in ("rouge", "rouge_score")
    ]
    for metric, top in metrics:
        values = metric.score_texts(outputs, references)
        known = values[~np.isnan(values)]
        assert ((known >= 0) & (known <= top * (1 + 1e-9))).all()
        copies = metric.score_texts(references, references)
        assert np.array_equal(np.isnan(copies), [bool(metric.blank(r)) for r in references])
        if metric.name != "meteor":  # METEOR's penalty for one chunk keeps a copy below 1
            assert (np.isnan(values) | np.isnan(copies) | (values <= copies + 1e-6)).all()


ANY = st.text(max_size=30)


@settings(max_examples=60, deadline=None)
@given(ANY, ANY)
def test_any_two_texts_get_a_number_or_a_reason(output: str, reference: str) -> None:
    frame = pd.DataFrame({"output": [output], "reference": [reference]})
    for metric in (
        Bleu(cache=False),
        Rouge(cache=False),
        Rouge(package="rouge", cache=False),
        Meteor(synonyms=False, cache=False),
    ):
        row = metric.score(frame).iloc[0]
        assert (row["status"] == "ok") == (not math.isnan(row["value"]))
        assert row["status"] == "ok" or row["reason"]


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [None, float("nan"), 3, b"bytes", ["list"]])
def test_outputs_that_are_no_text_name_the_row(bad: object) -> None:
    with pytest.raises(ValueError, match=r"row 1: output is .*a text is needed"):
        Bleu().score_texts(["a", bad], ["a", "b"])
    frame = pd.DataFrame({"output": ["a", bad], "reference": ["a", "b"]}, index=["i", "j"])
    with pytest.raises(ValueError, match=r"row 1 \(index 'j'\): output is"):
        Bleu().score(frame)


@pytest.mark.parametrize("bad", [None, float("nan"), 3, b"bytes", ["a", None], [float("nan")], {"a": 1}])
def test_references_that_are_no_text_name_the_row(bad: object) -> None:
    with pytest.raises(ValueError, match="row 1: reference"):
        Bleu(multi="max").score_texts(["a", "b"], ["a", bad])


def test_unequal_lengths_single_texts_and_missing_columns() -> None:
    with pytest.raises(ValueError, match="2 outputs and 1 references"):
        Bleu().score_texts(["a", "b"], ["a"])
    with pytest.raises(ValueError, match="output is one text"):
        Bleu().score_texts("a", ["a"])
    with pytest.raises(ValueError, match="reference is one text"):
        Bleu().score_texts(["a"], "a")
    with pytest.raises(ValueError, match="no column 'reference' or 'references'; its columns: output"):
        Bleu().score(pd.DataFrame({"output": ["a"]}))
    with pytest.raises(ValueError, match="data frame is needed, got list"):
        Bleu().score(["a"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bleu(smooth="expo"), "smooth is 'expo'; allowed: .*'exp'"),
        (lambda: Bleu(tokenize="14a"), "tokenize is '14a'"),
        (lambda: Bleu(empty="one"), "empty is 'one'; allowed: 'nan', 'zero'"),
        (lambda: Bleu(jobs=0), "jobs is 0"),
        (lambda: Rouge("rougeX"), "type is 'rougeX'"),
        (lambda: Rouge("rougeLsum", package="rouge"), "allowed: 'rouge1', 'rouge2', 'rougeL'"),
        (lambda: Rouge(package="rouge", stemmer=True), "has no stemmer"),
        (lambda: Rouge(value="g"), "value is 'g'; allowed: 'f', 'p', 'r'"),
        (lambda: Meteor(tokenize="punkt"), "tokenize is 'punkt'"),
    ],
)
def test_unknown_options_are_refused(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_nothing_to_score() -> None:
    assert Bleu().score_texts([], []).shape == (0,)
    assert len(Bleu().score(pd.DataFrame({"output": [], "reference": []}))) == 0


# -- by name -----------------------------------------------------------------------------------------------------------


def test_evaluators_by_name() -> None:
    assert evaluators.get("rouge") is Rouge
    assert {"bleu", "rouge", "meteor", "bertscore", "semscore"} <= set(evaluators.names())
    with pytest.raises(ValueError, match=r"no evaluator 'ruoge'; did you mean 'rouge'"):
        evaluators.get("ruoge")
    assert isinstance(Bleu(), evaluators.Evaluator)


def test_a_new_evaluator_is_one_class_and_a_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    from nlgeval_lib.evaluators import base
    from nlgeval_lib.records import Judgment

    monkeypatch.setattr(base, "_registry", dict(base._registry))

    @evaluators.register("length")
    class Length:
        name = "length"

        def signature(self) -> str:
            return evaluators.signature("length", unit="word")

        def score(self, frame: pd.DataFrame) -> pd.DataFrame:
            return evaluators.score_frame(frame.index, [Judgment(float(len(t.split()))) for t in frame["output"]])

    metric = evaluators.get("length")()
    assert isinstance(metric, evaluators.Evaluator) and metric.signature() == "length|unit:word"
    assert metric.score(pd.DataFrame({"output": ["a b"]}))["value"].tolist() == [2]
    with pytest.raises(ValueError, match=r"is .*Length already"):
        evaluators.register("length", Bleu)


def test_the_score_frame_holds_only_numbers_and_reasons() -> None:
    from nlgeval_lib.records import Judgment

    index = pd.Index(["a"])
    with pytest.raises(ValueError, match="row 'a': value inf"):
        evaluators.score_frame(index, [Judgment(math.inf)])
    with pytest.raises(ValueError, match="row 'a': status 'failed' without a reason"):
        evaluators.score_frame(index, [Judgment(math.nan, Status.FAILED)])
    with pytest.raises(ValueError, match="0 judgments for 1 rows"):
        evaluators.score_frame(index, [])


# -- published cells ---------------------------------------------------------------------------------------------------


def test_coascore_table_12_bleu_and_rouge(data) -> None:
    from scipy.stats import kendalltau, spearmanr

    from nlgeval_lib import datasets, papers

    items = datasets.items(data("summeval"))
    for metric, row in ((Bleu(), "BLEU"), (Rouge("rougeL"), "ROUGE")):
        value = metric.score(items)["value"]
        for aspect in ("consistency", "relevance"):
            for name, coefficient in (("spearman", spearmanr), ("kendall", kendalltau)):
                printed = papers.cell("coascore", "table_12", row, aspect, name)
                assert coefficient(value, items[f"human_{aspect}"])[0] == pytest.approx(printed, abs=5.1e-4)


def test_hdeval_table_1_rouge(data) -> None:
    from scipy.stats import pearsonr
    from sklearn.model_selection import train_test_split

    from nlgeval_lib import datasets, papers

    items = datasets.items(data("summeval"))
    half = items.iloc[train_test_split(np.arange(len(items)), test_size=0.5, random_state=42)[1]]
    for type_, row in (("rouge1", "ROUGE-1"), ("rouge2", "ROUGE-2")):
        value = Rouge(type_, package="rouge").score(half)["value"]
        for aspect in ("coherence", "consistency", "fluency", "relevance"):
            printed = papers.cell("hdeval", "table_01", row, aspect, "pearson")
            assert pearsonr(value, half[f"human_{aspect}"])[0] == pytest.approx(printed, abs=5.1e-4)
