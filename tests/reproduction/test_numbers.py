"""`data/numbers`: the same frames, scores and readings with the texts and without
them, and no text in it.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import public_data
import pyarrow
import pyarrow.parquet as parquet
import pytest
from pandas.testing import assert_frame_equal

from judgecard import recorded_judges, recordings
from nlgeval_lib import datasets, evaluators, files, parsers, statistics
from nlgeval_lib.datasets import numbers
from nlgeval_lib.datasets.numbers import HashedText, TextNotHere
from nlgeval_lib.evaluators import encoders, score_cache
from reproduction import saved_numbers as build
from reproduction.study import catalogue

VARIANTS = [
    *[(name, {}) for name in build.SETS],
    ("topical_chat", {"ground_truth": False}),
    ("wmt22_zhen", {"systems": "all"}),
    ("self_instruct", {"stand_ins": True}),
]
RECORDED = [
    *[(name, {}) for name in build.RECORDINGS],
    ("acloserlook", {"aspects": ["coherence"], "prompt_forms": ["geval"]}),
    ("llm_summeval", {"prompt_forms": ("rts",)}),
    ("gemba_wmt22", {"rated": True}),
]
MOST_MEGABYTES = 7.5


def hashed(frame: pd.DataFrame, by_place: bool) -> pd.DataFrame:
    """The frame with the hash of each text in its place, or which of the texts it is;
    an empty text stays.
    """
    columns: dict = {}
    for column, values in frame.items():
        if column == "references":
            columns[column] = [tuple(map(_hash, many)) for many in values]
        elif column in build.PROSE and by_place:
            columns[column] = pd.factorize(np.array([*map(_hash, values)], object))[0]
        elif column in build.PROSE:
            columns[column] = [*map(_hash, values)]
        else:
            columns[column] = values
    return pd.DataFrame(columns)


@functools.cache
def _hash(text: str | HashedText) -> bytes | str:
    return numbers.digest_of(text) if text else ""


def _same(with_texts: pd.DataFrame, without: pd.DataFrame, by_place: bool) -> None:
    pair = hashed(with_texts, by_place), hashed(without, by_place)
    assert_frame_equal(*pair, check_exact=True)
    assert with_texts.attrs == without.attrs


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_a_set_is_the_same_without_its_texts(name, options, data) -> None:
    """Rows, ids, ratings, order and what the frame is about; lengths of each text."""
    with_texts = data(name, **options)
    without = datasets.load_numbers(name, **options)
    _same(with_texts, without, by_place=False)
    # a set of ratings alone has none, a set of pairs two
    for column in with_texts.filter(like="output"):
        for unit in ("words", "characters"):
            lengths = [
                statistics.baselines.length(list(frame[column]), unit=unit)
                for frame in (with_texts, without)
            ]
            np.testing.assert_array_equal(*lengths)


@pytest.mark.parametrize(("name", "options"), RECORDED)
def test_a_recording_is_the_same_without_its_texts(name, options, needs) -> None:
    """Rows, judges, draws and values."""
    needs(name)
    with_texts = recordings.load(name, **options)
    _same(with_texts, recordings.load_numbers(name, **options), by_place=True)


METRICS = [
    ("vicuna_bench", "bleu", {}),
    ("vicuna_bench", "rouge", {}),
]


# The saved scores were made with Python 3.11; from 3.12 on `sum` rounds otherwise.
EXACTLY = {"check_exact": True}
if sys.version_info >= (3, 12):
    EXACTLY = {"rtol": 1e-12, "atol": 0}


@pytest.mark.parametrize(("name", "metric", "options"), METRICS)
def test_a_metric_gives_the_same_scores(name, metric, options, data) -> None:
    """To the last digit, by texts and by their hashes, without any cache."""
    frames = data(name), datasets.load_numbers(name)
    scored = [
        evaluators.get(metric)(cache=False, **options).score(datasets.items(frame))
        for frame in frames
    ]
    assert scored[1].attrs["signature"] == scored[0].attrs["signature"]
    for scores in scored:
        # what a scored row says of its text cannot be said without the text
        scores.loc[scores["status"] == "ok", "reason"] = ""
    assert_frame_equal(*scored, **EXACTLY)


def _some_pairs(data) -> pd.DataFrame:
    """Sixteen outputs of Self-Instruct with their targets, none of them empty."""
    items = datasets.items(data("self_instruct"))
    items = items[items["output"].str.len().between(20, 120)]
    return items.iloc[::25].head(16).reset_index(drop=True)


def _as_saved(items: pd.DataFrame) -> pd.Series:
    """What the bundle has of them by MiniLM, without their texts."""
    keys = ["input_id", "system_id"]
    without = datasets.items(datasets.load_numbers("self_instruct"))
    metric = evaluators.get("semscore")(model="all-MiniLM-L6-v2", cache=False)
    scored = without.assign(value=metric.score(without)["value"])
    return items[keys].merge(scored, on=keys, how="left")["value"]


def test_an_encoders_scores_are_read_by_hash_beside_their_texts(
    data, monkeypatch
) -> None:
    """With the texts here nothing is embedded, and no other cache is asked first."""
    semscore = evaluators.get("semscore")

    def no_embedding(self, texts):
        raise AssertionError(f"{len(texts)} texts embedded")

    monkeypatch.setattr(semscore, "embed", no_embedding)
    items = _some_pairs(data)
    metric = semscore(model="all-MiniLM-L6-v2", cache=False)
    scored = metric.score(items)
    assert (scored["status"] == "ok").all() and metric.details["computed"] == 0
    assert scored["value"].tolist() == _as_saved(items).tolist()
    # by the texts alone, whichever frame they come in
    listed = metric.score(list(items["output"]), list(items["reference"]))
    assert listed["value"].tolist() == scored["value"].tolist()


# What other code gave with the same weights: mean over 252 instructions, an empty
# output counting 0.
MEANS = {
    "text-davinci-003": 0.6837,
    "text-davinci-002": 0.6481,
    "text-davinci-001": 0.6288,
    "davinci-self-instruct": 0.6005,
    "davinci-self-instruct-and-superni-ft": 0.5700,
    "davinci-superni-ft": 0.5579,
    "davinci-t0-ft": 0.3989,
    "davinci": 0.3627,
}


def test_semscores_own_encoder_needs_neither_weights_nor_texts(
    monkeypatch, tmp_path
) -> None:
    """Eight systems as by other code, and so in the order of the printed ranks."""
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path))
    monkeypatch.setattr(encoders, "_locate", lambda model: f"{model} is not here")
    items = datasets.items(datasets.load_numbers("self_instruct"))
    metric = evaluators.get("semscore")(
        model="all-mpnet-base-v2", empty="zero", cache=False
    )
    values = metric.score(items)["value"]
    means = values.groupby(items["system_id"]).mean().sort_values(ascending=False)
    assert means.index.tolist() == list(MEANS)
    assert means.to_dict() == pytest.approx(MEANS, abs=6e-5)


# Table 6's pairs, and the scores that other code gave with the same weights in float32
FIVE = [
    ("user_oriented_task_7", "text-davinci-003", 0.721773),
    ("user_oriented_task_150", "text-davinci-002", 0.422410),
    ("user_oriented_task_12", "alpaca-7b (AlpacaEval)", 0.487396),
    ("user_oriented_task_244", "", 0.162470),  # its input, without the mark
    ("user_oriented_task_36", "davinci-superni-ft", 0.912838),
]


@pytest.mark.parametrize(("task", "system", "expected"), FIVE)
def test_the_five_examples_of_table_6_travel(data, task, system, expected) -> None:
    items = datasets.items(data("self_instruct", stand_ins=True))
    of_task = items[items["input_id"] == task]
    if system:
        output = of_task.loc[of_task["system_id"] == system, "output"].iloc[0]
    else:
        public_data.needs("self_instruct")
        output = of_task["source"].iloc[0].replace("_", "")
    pair = [output], [of_task["reference"].iloc[0]]
    for dtype, room in (("float32", 1e-5), ("float16", 5e-4)):
        metric = evaluators.get("semscore")(
            model="all-mpnet-base-v2", dtype=dtype, cache=False
        )
        value = metric.score(*pair)["value"][0]
        assert value == pytest.approx(expected, abs=room)
        assert metric.details == {"cached": 1, "computed": 0}


PATHS = {
    "ATEN_CPU_CAPABILITY": "default",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "MKL_CBWR": "COMPATIBLE",
    "OPENBLAS_CORETYPE": "Nehalem",
}


@pytest.mark.thorough
def test_another_processors_code_moves_an_encoder_by_less_than_is_allowed(
    data, tmp_path
) -> None:
    """The oldest instructions give the saved values within 1e-5; what is read is the
    same to the last bit.
    """
    pytest.importorskip("sentence_transformers")
    public_data.needs("self_instruct")
    items = _some_pairs(data)
    place = tmp_path / "pairs.json"
    items[["output", "reference"]].to_json(place)
    program = (
        "import pandas, torch; from nlgeval_lib.evaluators import SemScore; "
        f"pairs = pandas.read_json({str(place)!r}); "
        "metric = SemScore(model='all-MiniLM-L6-v2', cache=False); "
        "read = metric.score(pairs)['value'].tolist(); "
        "texts = list(zip(pairs['output'], pairs['reference'])); "
        "made = [value for value, in metric.compute(texts)]; "
        "print(repr((torch.backends.cpu.get_cpu_capability(), read, made)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **PATHS},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    capability, read, made = ast.literal_eval(done.stdout.splitlines()[-1])
    saved = _as_saved(items).tolist()
    assert capability in ("DEFAULT", "NO AVX")
    assert read == saved
    np.testing.assert_allclose(made, saved, rtol=0, atol=build.TOLERANCE)


ENCODED = "semscore|model:a@0|v:1#value"
COUNTED = "rouge|type:rougeL|v:1#f"
# rule, earlier value, new value -> what is written
JOINED = [
    (ENCODED, 0.5, 0.500009, 0.5),  # a processor's digits
    (ENCODED, 0.5, 0.500011, 0.500011),  # another value
    (COUNTED, 0.5, 0.500009, 0.500009),  # words are counted anew
    (ENCODED, 0.5, None, None),  # not asked for any more
    (ENCODED, None, 0.5, 0.5),
]


@pytest.mark.parametrize(("rule", "earlier", "new", "written"), JOINED)
def test_what_a_processor_moves_is_left_as_it_was(rule, earlier, new, written) -> None:
    item = (b"output", b"reference")

    def scores(value):
        return {} if value is None else {rule: {item: (value, "")}}

    joined = build.joined(scores(new), scores(earlier))
    assert joined.get(rule, {}).get(item, (None, ""))[0] == written


def test_the_bundle_names_the_weights_of_its_encoders() -> None:
    """Each rule with weights is of an encoder whose hash stands beside."""
    listed = numbers.about()["encoders"]
    rules = set()
    for path in numbers.folder().glob("*.scores.parquet"):
        table = parquet.read_table(path, columns=["rule"])
        rules |= set(table["rule"].unique().to_pylist())
    labels = set()
    for rule in rules:
        if "|model:" in rule:
            labels.add(rule.partition("|model:")[2].partition("|")[0])
    assert labels and labels <= set(listed)
    for label, weights in listed.items():
        assert weights["sha256"].startswith(label.rpartition("@")[2])


def test_what_parsers_read_is_the_same(needs) -> None:
    """Value and status of each recorded completion."""
    needs("acloserlook")
    options = {"aspects": ["naturalness"], "prompt_forms": ["analyze_rate"]}
    scale = {"naturalness": (1, 3)}
    with_texts = recordings.load("acloserlook", **options)
    without = recordings.load_numbers("acloserlook", **options)
    read = [recorded_judges.read_ratings(one, scale) for one in (with_texts, without)]
    columns = ["value", "status"]
    assert_frame_equal(read[0][columns], read[1][columns], check_exact=True)


def test_the_key_of_a_score_is_the_same_by_hash() -> None:
    """A cache that was filled with texts answers for their hashes."""
    texts = ("one text", "its reference")
    by_hash = [HashedText("x", 0, numbers.digest_of(text), 8, 2) for text in texts]
    assert score_cache.key("rule", *texts) == score_cache.key("rule", *by_hash)


def test_what_needs_a_text_names_the_way() -> None:
    """A new metric, a new parser's reading and a prompt: each says what is missing."""
    items = datasets.items(datasets.load_numbers("vicuna_bench"))
    one = items["output"].iloc[0]
    way = "vicuna_bench: this needs its texts.*make data"
    with pytest.raises(TextNotHere, match=way):
        evaluators.get("bleu")(lowercase=True, cache=False).score(items)
    with pytest.raises(TextNotHere, match=way):
        recorded_judges.readings([one], parsers.rating, 1, 77)
    with pytest.raises(TextNotHere, match=way):
        f"{one}"
    with pytest.raises(TextNotHere, match=way):
        one.lower()


def test_no_text_is_in_the_bundle(data) -> None:
    """No column of strings holds an original text, or anything as long as one."""
    texts: set[str] = set()
    for name, options in build.SETS.items():
        frame = data(name, **options)
        for column in {*build.PROSE} & {*frame.columns}:
            listed = frame[column].drop_duplicates()
            many = listed.explode().dropna() if column == "references" else listed
            texts |= {text for text in many if len(text.split()) > 2}
    found = []
    for path in sorted(numbers.folder().glob("*.parquet")):
        table = parquet.ParquetFile(path).read()
        for field in table.schema:
            if pyarrow.types.is_large_string(field.type) or pyarrow.types.is_string(
                field.type
            ):
                kept = set(table[field.name].unique().to_pylist()) - {None}
                long = [t for t in kept if t in texts or len(t) > 160]
                found += [f"{path.name}, {field.name}: {t[:40]}" for t in long]
    assert not found


def test_the_bundle_is_small() -> None:
    """At most 7.5 MB in all."""
    size = sum(path.stat().st_size for path in numbers.folder().iterdir())
    assert size < MOST_MEGABYTES * 1e6


def test_the_commit_that_the_bundle_names_is_in_this_history() -> None:
    command = ("git", "-C", str(files.root()), "rev-parse", "--is-shallow-repository")
    whole = subprocess.run(command, capture_output=True, text=True, check=False)
    if whole.stdout.strip() != "false":
        pytest.skip("no git checkout with its whole history")
    commit = numbers.about()["commit"]
    ancestor = ("merge-base", "--is-ancestor", commit, "HEAD")
    subprocess.run((*command[:3], *ancestor), capture_output=True, check=True)


def test_the_table_of_sets_names_sources_and_licences() -> None:
    """Each set of the bundle, and each that is left out, with why."""
    table = pd.read_csv(numbers.folder() / "sets.csv", keep_default_na=False)
    kept = set(table.loc[table["kept"] == "yes", "set"])
    assert kept == {*build.SETS, *build.RECORDINGS}
    assert (table[["licence", "repositories", "left out"]] != "").all().all()


def test_enough_outputs_do_without_texts() -> None:
    """At least 65 of the catalogue's outputs, the scoreboard included, need no
    download.
    """
    listed = catalogue.load()
    able = [
        entry.id
        for entry in listed.outputs
        if all(
            name in ("mini", "mini_judge") or (numbers.has(name) and not entry.texts)
            for name in entry.inputs
        )
    ]
    assert len(able) + 1 >= 65


def _saved_by(output: str, folder, mirror: str) -> dict[str, bytes]:
    places = {
        "NLGEVAL_RESULTS": str(folder / "results"),
        "NLGEVAL_FIGURES": str(folder / "figures"),
        "NLGEVAL_HOME": str(folder / "state"),
        "NLGEVAL_DATA_MIRROR": mirror,
    }
    command = [sys.executable, "-m", "nlgeval_lib", "run", output, "--force"]
    done = subprocess.run(
        command,
        env={**os.environ, "NLGEVAL_OFFLINE": "1", **places},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {
        path.name: path.read_bytes()
        for path in folder.rglob(f"{output}*")
        if path.suffix in (".csv", ".svg")
    }


ABLE = [
    entry.id
    for entry in catalogue.load().outputs
    if entry.inputs
    and not entry.texts
    and all(numbers.has(name) for name in entry.inputs)
]


@pytest.mark.slow
@pytest.mark.parametrize("output", ABLE)
def test_an_output_is_the_same_without_texts(output, mirror, tmp_path, needs) -> None:
    """Its tables byte by byte, by the texts and from the bundle."""
    if (files.raw() / "summeval").is_dir():
        pytest.skip("data/raw has the texts: there is no road without them here")
    needs(*catalogue.load()[output].inputs)
    both = []
    for name, place in (("with", str(mirror)), ("without", "")):
        folder = tmp_path / name
        folder.mkdir()
        made = _saved_by(output, folder, place)
        both.append({key: one for key, one in made.items() if key.endswith(".csv")})
    assert both[0] == both[1]
    record = next((tmp_path / "without").rglob(f"results/**/{output}.json"))
    said = json.loads(record.read_text(encoding="utf-8"))
    assert said["numbers"]["origin"].endswith("texts not here")
