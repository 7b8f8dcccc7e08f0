"""The miniature judge's data program: errors are what it says, what is held out
stays out, parsers agree.
"""

from __future__ import annotations

import math
import random
from collections import Counter

import pandas as pd
import pytest

from mini_judge import answers, batches, heldout, prompts, tokens
from mini_judge.criteria import CRITERIA, KINDS, relevant
from mini_judge.domains import ATTRIBUTES, POOLS, SUMS
from mini_judge.records import Mix, make_item
from nlgeval_lib import datasets
from nlgeval_lib.datasets import mini_judge
from nlgeval_lib.evaluators import (
    CoAScore,
    GEval,
    HDEval,
    LLMScore,
    Prometheus,
    TigerScore,
)
from nlgeval_lib.evaluators.hdeval.criteria import finer
from nlgeval_lib.records import Completion
from reproduction.training import mini
from reproduction.training.mini import RATED, by_kind

TRAINING = [make_item(random.Random(f"test:{n}"), Mix()) for n in range(1500)]
BARE = [make_item(random.Random(f"bare:{n}"), Mix(wording="bare")) for n in range(500)]
HELD = [item for _, _, item in heldout.items()]
ALL = [*TRAINING, *BARE, *HELD]


def completion(text: str) -> Completion:
    return Completion(key="k", text=text)


# -- errors are what they are said to be


def values(item) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in item.source.split("\n"))


@pytest.mark.parametrize(
    "items", [TRAINING, BARE, HELD], ids=["training", "bare", "held-out"]
)
def test_every_kind_of_error_occurs_and_none_without_being_told(items):
    told = Counter(kind for item in items for kind in item.kinds)
    assert set(told) == set(KINDS) and min(told.values()) >= 3
    for item in items:
        said = [clause.key for clause in item.clauses]
        wrong = {(e.kind, e.key) for e in item.errors}
        if "off_topic" in item.kinds:
            assert len(item.errors) == 1 and not set(values(item).values()) & {
                c.value for c in item.clauses
            }
            continue
        for key, value in values(item).items():
            clauses = [c for c in item.clauses if c.key == key]
            assert (("omission", key) in wrong) == (not clauses)
            assert (("wrong_value", key) in wrong) == any(
                c.value != value for c in clauses
            )
            assert (("repetition", key) in wrong) == (len(clauses) > 1)
        assert {key for kind, key in wrong if kind == "invention"} == {
            k for k in said if k not in values(item)
        } - {"sum"}
        assert {key for kind, key in wrong if kind == "grammar"} == {
            c.key for c in item.clauses if c.broken
        }
        for clause in item.clauses:
            right, broken = clause.verb
            assert (
                right != broken
                and f" {broken if clause.broken else right}" in clause.text
            )
            if clause.key == "sum":
                parts = sum(int(values(item)[key]) for key in ("adults", "children"))
                assert (("arithmetic", "sum") in wrong) == (int(clause.value) != parts)


def test_a_located_error_is_in_the_output_and_its_correction_in_the_record():
    for item in ALL:
        for error in item.errors:
            if error.kind not in ("omission", "off_topic"):
                assert error.location in item.output
            if error.kind in ("wrong_value", "omission"):
                assert f"{error.key}: {error.correction}" in item.source.split("\n")
        assert [e.penalty for e in item.errors] == [
            KINDS[kind].penalty for kind in item.kinds
        ]
        assert item.score("overall") == max(1, 5 - sum(e.penalty for e in item.errors))


# -- held out


def test_no_pair_of_pieces_is_in_training_and_held_out():
    def pairs(items):
        return {
            (ATTRIBUTES[key].pool.name, pair)
            for item in items
            for key, pair in item.values.items()
            if ATTRIBUTES[key].pool.second != ("",)
        }

    train = pairs([*TRAINING, *BARE])
    held = pairs(HELD)
    assert held and not train & held
    assert all(POOLS[name].held_out(pair) for name, pair in held)
    # wrong and invented values too
    shown = {POOLS[name].show(pair) for name, pair in train}
    assert not shown & {
        e.location
        for item in HELD
        for e in item.errors
        if e.kind in ("wrong_value", "invention")
    }


def test_no_wording_is_in_training_and_held_out():
    train = {clause.phrase for item in [*TRAINING, *BARE] for clause in item.clauses}
    held = {clause.phrase for item in HELD for clause in item.clauses}
    new = {
        clause.phrase
        for _, _, item in heldout.items(wording="new")
        for clause in item.clauses
    }
    assert not train & held and not train & new
    never = {p for a in ATTRIBUTES.values() for p in a.phrases[-2:]} | set(SUMS[-2:])
    assert new <= never and not any(
        part in phrase for phrase in train | held for part in never
    )


def test_the_committed_set_is_what_the_program_writes(tmp_path):
    heldout.write(tmp_path)
    for name in (mini_judge.FILE, mini_judge.RUBRICS):
        assert (tmp_path / name).read_bytes() == (
            mini_judge.folder() / name
        ).read_bytes()
    loaded = datasets.load("mini_judge")
    pd.testing.assert_frame_equal(heldout.frame(), loaded)
    # gold from the file's errors alone
    for row in loaded.itertuples():
        kinds = [error["kind"] for error in row.errors]
        assert row.human == max(
            1,
            5 - sum(KINDS[k].penalty for k in kinds if k in CRITERIA[row.aspect].kinds),
        )
    assert loaded.groupby("system_id")["human"].mean().nunique() == 6


# -- prompts and answers


@pytest.mark.parametrize("items", [TRAINING[:150], HELD], ids=["training", "held-out"])
def test_parsers_read_every_answer_to_its_gold(items):
    tiger = TigerScore(**mini.settings("tigerscore"))
    score = LLMScore(**mini.settings("llmscore"))
    geval = GEval(**mini.settings("geval"))
    coascore = CoAScore(**mini.settings("coascore"))
    graders = {wordy: Prometheus(feedback=wordy) for wordy in (True, False)}
    for item in items:
        read = tiger.read(completion(answers.analysis(item)))
        assert read.value == -item.penalty and read.details["agrees"]
        assert [
            (e.location, e.reduction, e.severity) for e in read.details["errors"]
        ] == [(e.location, e.penalty, KINDS[e.kind].severity) for e in item.errors]
        assert [answers.kind_of(e.explanation) for e in read.details["errors"]] == list(
            item.kinds
        )
        assert geval.read(completion(answers.quality(item))).value == 5 - answers.grade(
            item.score("overall")
        )
        for key in RATED:
            gold = item.score(key)
            criterion = CRITERIA[key]
            sample = prompts.sample(item, aspect=key)
            assert (
                graders[True]
                .read(completion(answers.feedback(item, criterion)), sample)
                .value
                == gold
            )
            assert (
                graders[False]
                .read(completion(answers.verdict(item, criterion)), sample)
                .value
                == gold
            )
            assert (
                score.read(completion(answers.score(item, criterion)), sample).value
                == gold
            )
        chosen = relevant("overall")[:7]
        found = coascore.read_scores(
            [completion(answers.aspect_scores(item, chosen))],
            [prompts._aspect(c) for c in chosen],
        )
        assert {n: j.value for n, j in found.items()} == {
            c.name: c.score(item.kinds) for c in chosen
        }


def test_the_hierarchy_is_decomposed_into_itself():
    tree = mini.tree()
    for node in tree.nodes((0, 1)):
        below = [CRITERIA[child.id] for child in node.criterion.children]
        children, _ = finer(completion(answers.listed(below)), node.criterion, 4)
        assert children == [(c.name, c.definition) for c in below]
    assert set(CRITERIA) == {node.id for node in tree.walk()}
    assert all(
        tree.of_target(aspect) == aspect for aspect in RATED if aspect != "overall"
    )


def asked(judge, frame) -> set[str]:
    """The text of every request that an evaluator plans."""
    return {request.text() for stage in judge.plan(frame) for request in stage.requests}


def test_training_prompts_are_what_the_evaluators_ask():
    """For the held-out items each evaluator's own requests, and the prompts that the
    training program would show.
    """
    frame = datasets.load("mini_judge").head(60)
    items = dict(zip([(i, s) for i, s, _ in heldout.items()], HELD, strict=True))
    some = [
        items[key]
        for key in dict.fromkeys(
            zip(frame["input_id"], frame["system_id"], strict=True)
        )
    ]
    rng = random.Random(0)
    shown: dict[str, set[str]] = {form: set() for form in prompts.FORMS}
    for item in some:
        for form in shown:
            shown[form] |= {
                prompts.make_example(rng, item, form).prompt
                for _ in range(160 if form == "criterion" else 60)
            }
    assert asked(TigerScore(**mini.settings("tigerscore")), frame) == shown["analysis"]
    assert asked(LLMScore(**mini.settings("llmscore")), frame) == shown["score"]
    assert asked(GEval(**mini.settings("geval")), frame) == shown["quality"]
    for form, (_, how) in prompts.GRADED.items():
        switches = dict(zip(("reference", "rubric", "feedback"), how, strict=True))
        judge = Prometheus(**switches, **mini.settings("prometheus"))
        assert (
            asked(
                judge,
                frame if switches["rubric"] else frame[frame["aspect"] == "overall"],
            )
            == shown[form]
        )
    judge = HDEval(**mini.settings("hdeval"), aggregator="average", layers=(0, 1, 2))
    wanted = {
        judge.task.scoring_prompt(n, judge.task.show(prompts.sample(i)))
        for n in judge.used()
        for i in some
    }
    assert shown["criterion"] == wanted
    judge = CoAScore(**mini.settings("coascore"))
    targets = {judge._list_prompt(judge.task.target(key)) for key in RATED}
    assert targets <= {
        prompts.make_example(rng, some[0], "aspect list").prompt for _ in range(1500)
    }


# -- tokens and batches


def test_labels_stand_where_the_errors_are():
    tokenizer = tokens.build()
    chunk = list(batches.chunk(tokenizer, 3, 7, 64, 2048, Mix()))
    assert sum(len(batch.ids) for batch in chunk) == 64
    for batch in chunk:
        assert batch.ids.size <= 2048 + batch.ids.shape[1]
        row, place = batch.answer[0]
        text = tokenizer.decode(
            [
                int(t)
                for (r, _), t in zip(batch.answer, batch.target, strict=True)
                if r == row
            ]
        )
        assert text.endswith("</s>") and place > 3
    for item in TRAINING[:200]:
        ends = list(batches.spans(item))
        assert all(0 < end <= len(item.output) for end, _ in ends)
        wrong = Counter(kind for _, kind in ends if kind not in ("none", "off_topic"))
        located = Counter(
            e.kind for e in item.errors if e.kind not in ("omission", "off_topic")
        )
        assert wrong == located


# -- measuring


def test_by_kind_counts_what_was_found():
    frame = datasets.load("mini_judge")
    outputs = frame[frame["aspect"] == "overall"]
    perfect = [
        {
            "input_id": r.input_id,
            "system_id": r.system_id,
            "errors": [dict(e) for e in r.errors],
        }
        for r in outputs.itertuples()
    ]
    table = by_kind(frame, perfect).set_index("kind")
    counts = Counter(kind for kinds in outputs["kinds"] for kind in kinds)
    assert (
        table["errors"].to_dict()
        == table["found"].to_dict()
        == table["located"].to_dict()
        == dict(counts)
    )
    assert (table["false"] == 0).all() and (table["recall"] == 1).all()
    blind = [
        {**one, "errors": [{"kind": "grammar", "location": "no", "penalty": 1}]}
        for one in perfect
    ]
    table = by_kind(frame, blind).set_index("kind")
    with_grammar = sum("grammar" in kinds for kinds in outputs["kinds"])
    counts = table.loc["grammar", ["found", "located", "false"]].tolist()
    assert counts == [with_grammar, 0, len(outputs) - with_grammar]
    assert table.loc["omission", "found"] == 0 and math.isnan(
        table.loc["omission", "precision"]
    )
