"""Files that are published elsewhere: rows of the same form, made here, are read; those
of another form are refused.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import pickle
import re
from dataclasses import replace

import notebook_cells
import numpy as np
import pytest

from judgecard import recordings
from judgecard.recordings import published_scores
from nlgeval_lib import datasets, files
from nlgeval_lib.datasets import feedback_bench, fetch, registry, safe_pickle, summeval
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.scoring import ProgressBar
from reproduction import papers
from reproduction.papers import published
from reproduction.study import EngineOptions, catalogue, judges, published_rows

PROMPT = (
    "###Task Description:\nJudge it.\n\n"
    "###The instruction to evaluate:\n{instruction}\n\n"
    "###Response to evaluate:\n{output}\n\n"
    "###Reference Answer (Score 5):\nThe best.\n\n"
    "###Score Rubrics:\n[Is it clear?]\n"
    "Score 1: no\nScore 2: hardly\nScore 3: partly\nScore 4: mostly\nScore 5: yes\n\n"
    '###Feedback: ",'
)


def _prompt(instruction: str, output: str) -> str:
    return PROMPT.format(instruction=instruction, output=output)


@pytest.fixture
def put(tmp_path, monkeypatch):
    """`put(relpath, content)`: the file lies in a folder, and the registry's row fits."""
    known = dict(registry.entries())
    monkeypatch.setattr(registry, "entries", lambda: known)
    mirror = fetch.mirror()
    monkeypatch.setattr(fetch.files, "raw", lambda: tmp_path)
    monkeypatch.setattr(fetch, "mirror", lambda: mirror)

    def put_file(relpath, content):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (tmp_path / relpath).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / relpath).write_bytes(data)
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        fitting = {"sha256": "", "git_blob": blob, "bytes": len(data)}
        known[relpath] = replace(known[relpath], **fitting)

    return put_file


def feedback_rows(n: int = 1000) -> list[dict]:
    return [
        {
            "idx": number,
            "instruction": _prompt(
                f"Question {number}\n### a heading", f"Answer {number}"
            ),
            "gpt4_score": 1 + number % 5,
            "gpt4_feedback": "Fine.",
        }
        for number in range(n)
    ]


@pytest.mark.parametrize("name", ["feedback_bench_seen", "feedback_bench_unseen"])
@pytest.mark.parametrize("lines", [False, True])
def test_feedback_bench(put, name, lines):
    rows = feedback_rows()
    text = "\n".join(map(json.dumps, rows)).encode() if lines else rows
    put(feedback_bench.FILES[name], text)
    long = datasets.load(name)
    assert len(long) == long["input_id"].nunique() == 1000
    assert long["gpt4"].tolist() == [row["gpt4_score"] for row in rows]
    assert long["human"].isna().all() and set(long["reference"]) == {"The best."}
    assert long["output"].iloc[7] == "Answer 7" and long["aspect"].unique() == "overall"
    assert datasets.available(name) == (True, "here")


FAULTS = [
    ({"gpt4_score": "4"}, "record 3: '4' is no score of 1 to 5"),
    ({"gpt4_score": 6}, "record 3: 6 is no score of 1 to 5"),
    ({"gpt4_score": True}, "record 3: True is no score of 1 to 5"),
    (
        {"instruction": "Judge it."},
        "record 3: the prompt has not the expected headings",
    ),
    ({"gpt4_feedback": None}, "record 3 has no 'gpt4_feedback'"),
]


@pytest.mark.parametrize(("fault", "reason"), FAULTS)
def test_a_record_of_another_form_is_refused(put, fault, reason):
    rows = feedback_rows()
    rows[3] = {key: one for key, one in (rows[3] | fault).items() if one is not None}
    put(feedback_bench.FILES["feedback_bench_seen"], rows)
    with pytest.raises(ValueError, match=reason):
        datasets.load("feedback_bench_seen")


def test_too_few_records_are_refused(put):
    put(feedback_bench.FILES["feedback_bench_seen"], feedback_rows(999))
    with pytest.raises(ValueError, match="got \\(999, 999, 1\\)"):
        datasets.load("feedback_bench_seen")


def flask_rows() -> list[dict]:
    return [
        {
            "idx": number,
            "response_source": source,
            "instruction": _prompt(f"Question {number}", f"Answer of {source}"),
            "human_score": [1 + number % 5, 3],
            "gpt4_score": [1 + number % 5, 2, 5],
        }
        for number in range(12)
        for source in ("alpaca", "vicuna", "bard", "chatgpt")
    ]


def test_flask(put):
    put(feedback_bench.FILES["flask_eval"], flask_rows())
    long = datasets.load("flask_eval")
    assert (len(long), long["input_id"].nunique(), long["system_id"].nunique()) == (
        48,
        12,
        4,
    )
    assert long["human"].iloc[0] == 2 and long["gpt4"].iloc[0] == pytest.approx(8 / 3)
    assert [name for name in long if name.startswith("rater_gpt4_")] == [
        "rater_gpt4_0",
        "rater_gpt4_1",
        "rater_gpt4_2",
    ]


def test_flask_with_another_number_of_scores_is_refused(put):
    rows = flask_rows()
    rows[5]["gpt4_score"] = [3]
    put(feedback_bench.FILES["flask_eval"], rows)
    with pytest.raises(ValueError, match=r"GPT-4 has \[1, 3\] scores"):
        datasets.load("flask_eval")


def pair_rows() -> list[dict]:
    return [
        {
            "chosen_instruction": _prompt(f"Question {number}", "good"),
            "rejected_instruction": _prompt(f"Question {number}", "bad"),
            "tie": int(number % 3 == 0),
        }
        for number in range(9)
    ]


def test_mt_bench_pairs_and_ties(put):
    put(feedback_bench.FILES["mt_bench_human"], pair_rows())
    long = datasets.load("mt_bench_human")
    assert long["system_id"].tolist() == ["chosen", "rejected"] * 9
    assert long["human"].tolist()[:4] == [0.5, 0.5, 1, 0]
    assert long.loc[long["tie"] == 1, "human"].eq(0.5).all()
    rows = pair_rows()
    rows[1]["rejected_instruction"] = _prompt("Another question", "bad")
    put(feedback_bench.FILES["mt_bench_human"], rows)
    with pytest.raises(ValueError, match="record 1: the two answer other instructions"):
        datasets.load("mt_bench_human")


# --- scores of others


@pytest.fixture
def records(mirror):
    """SummEval as UniEval's file has it, a record an output."""
    documents = safe_pickle.load(mirror / "summeval" / "bartscore_data.pkl")
    return [
        {
            "doc_id": input_id,
            "system_id": system,
            "source": document["src"],
            "system_output": summary["sys_summ"],
            "scores": summary["scores"],
        }
        for input_id, document in documents.items()
        for system, summary in document["sys_summs"].items()
    ]


def test_unieval_on_summeval(put, records, data):
    for number, record in enumerate(records):
        record["predict_scores"] = {
            aspect: number + place / 4
            for place, aspect in enumerate(summeval.SPEC.scale)
        }
    put(published_scores.UNIEVAL, records)
    found = recordings.load("unieval_summeval")
    assert len(found) == recordings.spec("unieval_summeval").n_rows
    assert not found.duplicated(list(recordings.KEYS)).any()
    keys = ["input_id", "system_id", "aspect"]
    joined = data("summeval").merge(found, how="left", on=keys, validate="one_to_one")
    assert joined["value"].tolist() == [n / 4 for n in range(6400)]
    put(published_scores.UNIEVAL, records[:-1])
    with pytest.raises(ValueError, match="got 1599, expected 1600"):
        recordings.load("unieval_summeval")
    put(published_scores.UNIEVAL, [*records[:-1], records[-1] | {"system_output": "x"}])
    with pytest.raises(ValueError, match="SummEval has no such output"):
        recordings.load("unieval_summeval")


@pytest.mark.parametrize("name", ["summeval", "sfres", "sfhot", "bagel"])
def test_metrics_beside_the_ratings(put, mirror, data, name):
    """numpy's numbers are read as plain ones."""
    content = safe_pickle.load(mirror / name / "bartscore_data.pkl")
    summaries = (
        [one for document in content.values() for one in document["sys_summs"].values()]
        if name == "summeval"
        else list(content.values())
    )
    for number, summary in enumerate(summaries):
        summary["scores"]["prism_hypo_ref"] = np.float64(number)
        summary["scores"]["bert_score_f_hypo_ref"] = np.float32(number / 4)
    put(published_scores.PICKLES[name], pickle.dumps(content))
    found = recordings.load(f"bartscore_{name}")
    prism = found[found["judge"] == "prism_hypo_ref"]
    aspects = len(datasets.spec(name).scale)
    assert prism["value"].tolist() == np.repeat(range(len(summaries)), aspects).tolist()
    frame = data(name)
    assert prism["input_id"].tolist() == frame["input_id"].tolist()
    assert prism["system_id"].tolist() == frame["system_id"].tolist()
    summaries[3]["sys_summ"] += " more"
    put(published_scores.PICKLES[name], pickle.dumps(content))
    with pytest.raises(ValueError, match="an output: got"):
        recordings.load(f"bartscore_{name}")


def test_only_numbers_of_numpy_are_read(tmp_path):
    path = tmp_path / "values.pkl"
    numbers = [np.float64(0.1), np.float32(0.5), np.int64(-3)]
    path.write_bytes(pickle.dumps(numbers))
    read = safe_pickle.load(path, numbers=True)
    assert read == [0.1, 0.5, -3] and {type(one) for one in read} == {float, int}
    with pytest.raises(safe_pickle.UnsafePickle, match="nothing is imported"):
        safe_pickle.load(path)
    for other in (np.arange(3), np.float64, np.str_("x"), io.StringIO):
        path.write_bytes(pickle.dumps(other))
        with pytest.raises(ValueError):
            safe_pickle.load(path, numbers=True)


# --- the notebooks ask their judges as soon as the rows are here


@pytest.fixture
def asked(put, tmp_path, monkeypatch):
    """`asked(output, model, data)`: the store has what a scripted model of that name says
    to the output's questions about these data; the notebook's names after it ran.
    """
    state = tmp_path / "state"
    monkeypatch.setenv("NLGEVAL_HOME", str(state))
    monkeypatch.setenv("NLGEVAL_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("NLGEVAL_FIGURES", str(tmp_path / "figures"))
    monkeypatch.setattr(published, "_lies", lambda place: (tmp_path / place).is_file())

    def answer(request, draw):
        number = re.findall(r"(?:Question|Answer) (\d+)", request.text())[-1]
        score = 1 + (int(number) + (draw == 1)) % 5
        return f"Feedback: as it is. [RESULT] {score}"

    def run(output, model, data, notebook):
        listed = catalogue.load().questions_of(output)
        for question in listed:
            if (question.judge.model, question.judge.data) == (model, data):
                engine = ScriptedEngine(answer, model=model, revision="r1")
                options = EngineOptions("vllm", store=files.state("completions"))
                job = judges.job(question, options, engine)
                job.fill(ProgressBar(quiet=True))
                job.store.close()
        return notebook_cells.run(files.notebooks() / "prometheus" / notebook)

    return run


MODEL = "prometheus-eval/prometheus-7b-v1.0"
SEEN = "SEEN CUSTOMIZED RUBRICS"


def test_table_2_asks_its_judges(put, asked):
    put(feedback_bench.FILES["feedback_bench_seen"], feedback_rows())
    names = asked(
        "prometheus_table_02",
        MODEL,
        "feedback_bench_seen",
        "table_02_feedback_bench.ipynb",
    )
    cells = names["cells"].set_index(["row", "column", "statistic"])
    [scores] = names["judged"].tables
    assert set(scores["route"]) == {"run"}
    assert set(scores["draws"]) == {3} and (scores["own_sd"] > 0).all()
    for statistic in ("pearson", "spearman", "kendall"):
        cell = cells.loc[("PROMETHEUS 7B", SEEN, statistic)]
        assert cell["route"] == "run" and cell["n"] == 1000
        # two of three draws give GPT-4's score, the third the next one
        assert 0.5 < cell["ours"] < 1 and cell["ci_low"] < cell["ours"]
    lacking = cells.loc[("PROMETHEUS 13B", SEEN, "spearman"), "reason"]
    assert lacking.startswith("needs a run: the store has no completions")
    other = cells.loc[
        ("PROMETHEUS 7B", "UNSEEN CUSTOMIZED RUBRIC", "pearson"), "reason"
    ]
    assert other.startswith("published elsewhere: https://") and "needs a run" in other


def test_table_3_asks_its_judges_about_flask(put, asked, needs):
    needs("vicuna_bench", "mt_bench")
    put(feedback_bench.FILES["flask_eval"], flask_rows())
    names = asked(
        "prometheus_table_03",
        MODEL,
        "flask_eval",
        "table_03_gpt4_self_consistency.ipynb",
    )
    cells = names["cells"]
    flask = cells[(cells["column"] == "FLASK EVAL") & (cells["row"] == "PROMETHEUS 7B")]
    assert set(flask["route"]) == {"run"} and set(flask["n"]) == {48}


def test_table_4_asks_its_judges_about_pairs_with_ties(put, asked, needs):
    needs("hhh")
    put(feedback_bench.FILES["mt_bench_human"], pair_rows())
    names = asked(
        "prometheus_table_04", MODEL, "mt_bench_human", "table_04_preferences.ipynb"
    )
    [row] = names["human"]
    # both responses to a question get one score: right in the ties, three of nine
    assert row["row"] == "PROMETHEUS 7B" and row["value"] == pytest.approx(100 / 3)
    cells = names["cells"]
    ours = cells[(cells["column"] == names["MT"]) & (cells["row"] == "PROMETHEUS 7B")]
    assert ours["route"].tolist() == ["run"] and ours["n"].tolist() == [9]


# --- published scores fill the rows that are declared


def test_published_scores_stand_in_their_rows(put, records, data):
    """Halves of UniEval's and the pickle's own scores, by the ids of the data."""
    for number, record in enumerate(records):
        record["predict_scores"] = {
            aspect: number % 97 + place
            for place, aspect in enumerate(summeval.SPEC.scale)
        }
    put(published_scores.UNIEVAL, records)
    items = datasets.items(data("summeval"))
    half = items.iloc[1::2].reset_index(drop=True)
    columns = {aspect: aspect for aspect in summeval.SPEC.scale}
    human = {aspect: f"human_{aspect}" for aspect in columns}
    made, lacking = published_rows.table(
        "hdeval_table_01", "summeval", half, columns, human, ci=None
    )
    assert set(made["row"]) == {"UniEval"} and set(made["route"]) == {"public"}
    expected = np.corrcoef([n % 97 for n in range(1, 1600, 2)], half["human_coherence"])
    pearson = made[(made["column"] == "coherence") & (made["statistic"] == "pearson")]
    assert pearson["value"].iloc[0] == pytest.approx(expected[0, 1]) and not lacking


def test_a_metric_that_the_file_has_not_is_named(put, mirror, data):
    content = safe_pickle.load(mirror / "sfres" / "bartscore_data.pkl")
    for number, summary in enumerate(content.values()):
        summary["scores"]["bert_score_f"] = float(number)
    put(published_scores.PICKLES["sfres"], pickle.dumps(content))
    items = datasets.items(data("sfres")).iloc[::3].reset_index(drop=True)
    found, lacking = published_rows.scores("hdeval_table_03", "sfres", items)
    assert found["BertScore"]["naturalness"].tolist() == list(range(0, 1181, 3))
    assert (
        lacking["PRISM"] == "bartscore_sfres has no 'prism_ref_hypo', but: bert_score_f"
    )


def test_declared_rows_are_printed_and_recorded():
    with open(files.data() / "published_scores.csv", encoding="utf-8") as handle:
        declared = list(csv.DictReader(handle))
    for one in declared:
        assert one["recording"] in recordings.OPTIONAL
        entry = catalogue.load()[one["output"]]
        printed = papers.load(entry.paper, entry.covers[0])
        assert one["row"] in set(printed["row"])
