"""HD-Eval: criteria trees, hierarchy-aware prompts, scoring, Algorithm 1, saving,
ablations.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.engines.store import Store
from nlgeval_lib.evaluators import stages
from nlgeval_lib.evaluators.hdeval import (
    Aggregator,
    CriteriaTree,
    Growth,
    HDEval,
    values,
)
from nlgeval_lib.evaluators.hdeval.criteria import Criterion, finer
from nlgeval_lib.records import Completion

ASPECTS = {
    "coherence": "How well the sentences fit.",
    "fluency": "How well each sentence reads.",
}
METRIC = re.compile(r"on the following metric:\n(?P<name>.*?): ")
TEXT = re.compile(r"quality=(?P<quality>\d) read=(?P<read>\d)")


def outputs(n: int = 30, seed: int = 0) -> pd.DataFrame:
    """A long frame of n summaries that say how good they are: experts' coherence is
    `quality`, fluency `read`.
    """
    rng = np.random.default_rng(seed)
    quality = rng.integers(1, 6, n)
    read = rng.integers(1, 6, n)
    texts = [
        f"Summary {i}: quality={q} read={r}"
        for i, (q, r) in enumerate(zip(quality, read, strict=True))
    ]
    rows = [
        {
            "input_id": f"d{i // 3}",
            "system_id": f"s{i % 3}",
            "aspect": aspect,
            "human": float(human),
        }
        | {"source": f"article {i // 3}", "output": text}
        for i, text in enumerate(texts)
        for aspect, human in (("coherence", quality[i]), ("fluency", read[i]))
    ]
    return pd.DataFrame(rows)


def knowing(request, draw):
    """A judge that sees `quality` under criteria about order or coherence, `read`
    under fluency, noise elsewhere.
    """
    text = request.text()
    found = TEXT.search(text)
    if found is None:
        return "1. Order of things: whether facts follow.\n2. Weather: whether it rains.\n3. Colour: whether it is red."
    name = METRIC.search(text)["name"]
    if name in ("coherence", "Order of things", "Sentence ordering"):
        return f"{found['quality']}\n\nReasoning: because"
    if name in ("fluency", "Fluency"):
        return f"Score: {found['read']}"
    return str(1 + zlib.crc32(text.encode()) % 5)


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        ("summeval", [4, 12, 9]),
        ("topical_chat", [4, 15, 12]),
        ("data_to_text", [2, 6, 13]),
    ],
)
def test_published_criteria(name, layers):
    tree = CriteriaTree.published(name)
    assert [
        len(tree.nodes([layer])) for layer in (1, 2, 3)
    ] == layers and tree.depth == 3
    assert len(tree.nodes()) == sum(layers) and tree.nodes([0])[0].id == "overall"
    assert CriteriaTree.from_json(json.loads(json.dumps(asdict(tree)))) == tree
    assert tree.first_layer().depth == 1


def test_nodes_know_their_parents():
    tree = CriteriaTree.published("topical_chat")
    assert (
        tree.node("factsource").parent.id == "factacc"
        and tree.node("factacc").parent.id == "grd"
    )
    assert (
        tree.node("grd").parent.id == "overall" and tree.node("overall").parent is None
    )
    assert tree.of_target("naturalness") == "nat" and tree.of_target("grd") == "grd"
    assert tree.of_target("understandability") is None
    with pytest.raises(
        ValueError, match="no criterion 'factsorce'; nearest: factsource"
    ):
        tree.node("factsorce")
    assert (
        "    Factual accuracy (factacc)\n      Factual correctness (factcorr)"
        in tree.show()
    )


def test_trees_grow_and_keep_their_ids_apart():
    tree = CriteriaTree.from_criteria(["coherence"]).with_children(
        "coherence", [("Coherence", "d"), ("Flow!", ""), ("Flow", "e")]
    )
    assert [node.id for node in tree.nodes([2])] == ["coherence_2", "flow", "flow_2"]
    with pytest.raises(ValueError, match="two criteria have the id 'a'"):
        CriteriaTree(Criterion("a", "A", children=(Criterion("a", "B"),)))
    with pytest.raises(ValueError, match="published criteria is 'bagel'; allowed"):
        CriteriaTree.published("bagel")
    with pytest.raises(ValueError, match="no criteria"):
        CriteriaTree.from_criteria([])


def judge(aggregator="lr", script=knowing, criteria=ASPECTS, **settings) -> HDEval:
    return HDEval(
        "summary", criteria, aggregator, engine=ScriptedEngine(script), **settings
    )


def test_fitted_ratings_follow_the_experts():
    frame = outputs()
    train = frame[:40]
    test = frame[40:]
    fitted = judge().fit(train)
    scores = fitted.score(test)
    assert scores.index.equals(test.index)
    np.testing.assert_allclose(scores["value"], test["human"], atol=1e-6)
    details = scores["details"].iloc[0]
    assert (
        details["target"] == "coherence"
        and details["n_criteria"] == 2
        and details["n_missing_criteria"] == 0
    )
    assert set(details["criteria"]) == {"coherence", "fluency"}
    # an output is asked for once a criterion, though the frame has a row for each of
    # its aspects
    assert len(fitted.engine.asked) == 30 * 2
    assert "|task:summary|" in fitted.signature() and "|agg:lr|" in fitted.signature()


def test_ratings_are_matched_by_output_and_system_not_by_place():
    frame = outputs(12)
    frame.loc[frame["input_id"] == "d0", "output"] = (
        "Same: quality=3 read=3"  # one text of three systems
    )
    shuffled = frame.sample(frac=1, random_state=1)
    unrated = shuffled[
        (shuffled["aspect"] == "fluency") & (shuffled["input_id"] != "d0")
    ].index[:3]
    fitted = judge("ridge").fit(shuffled.drop(unrated))
    assert list(fitted.aggregator.notes.values()) == [{"rows": 9, "left_out": 3}]
    assert len(fitted.engine.asked) == 2 * 10  # equal texts are asked for once


def test_unreadable_criteria_are_missing_with_the_reason():
    def script(request, draw):
        lost = "quality=1" in request.text() and "fluency" in request.text()
        return "I cannot say" if lost else knowing(request, draw)

    frame = outputs()
    fitted = judge(script=script).fit(frame)
    scores = fitted.score(frame)
    lost = frame["output"].str.contains("quality=1")
    assert (
        lost.any()
        and scores.loc[lost, "value"].isna().all()
        and scores.loc[~lost, "value"].notna().all()
    )
    reason = scores.loc[lost, "reason"].iloc[0]
    assert reason.startswith("1 of 2 criteria without a score (fluency; impute drop): ")
    assert scores.attrs["details"]["n_ok"] == int((~lost).sum())
    filled = judge(script=script, impute="mean").fit(frame).score(frame)
    assert (
        filled["value"].notna().all()
        and filled.loc[lost, "details"].iloc[0]["n_missing_criteria"] == 1
    )
    assert values(fitted.features(frame))["fluency"].isna().sum() == lost.sum()


def test_what_cannot_be_scored_is_an_error():
    frame = outputs(6)
    with pytest.raises(
        ValueError,
        match=r"aggregator 'lr' is not fitted: fit it on rated rows \(--fit FILE",
    ):
        judge().score(frame)
    fitted = judge().fit(frame)
    with pytest.raises(
        ValueError, match="aspect 'humour' is none of the targets coherence, fluency"
    ):
        fitted.score(frame.assign(aspect="humour"))
    with pytest.raises(ValueError, match="no ratings to learn from"):
        judge().fit(frame.drop(columns="human"))
    with pytest.raises(ValueError, match="hdeval needs a column 'source'"):
        fitted.score(frame.drop(columns="source"))
    with pytest.raises(ValueError, match="Unable to parse string"):
        judge().fit(frame.assign(human="good"))
    with pytest.raises(ValueError, match="layers=0"):
        Growth(layers=0)
    with pytest.raises(ValueError, match="leave out layers"):
        judge("ridge", layers=(1,)).train(frame)


def test_training_grows_what_matters():
    """Of the finer criteria only "Order of things" follows the experts: it alone is
    decomposed further.
    """

    # layer 1 is noise but for fluency, so that what follows the experts' coherence is
    # found in layer 2
    def script(request, draw):
        text = request.text()
        if "on the following metric:\ncoherence" in text:
            return str(1 + zlib.crc32(text.encode()) % 5)
        return knowing(request, draw)

    frame = outputs(60)
    made = judge("ridge", script=script)
    trained = made.train(frame, growth=Growth(layers=3, children=3, keep=1))
    tree = trained.tree
    assert tree.depth == 3
    assert [node.criterion.name for node in tree.nodes([2])] == [
        "Order of things",
        "Weather",
        "Colour",
    ] * 2
    first, second, third = trained.history
    assert first.kept == ("coherence", "fluency") and third.kept == ()
    (kept,) = second.kept
    assert tree.node(kept).criterion.name == "Order of things"
    assert third.decomposed == {
        kept: tuple(child.id for child in tree.node(kept).criterion.children)
    }
    # the criterion itself is in its own list and left out
    assert len(third.criteria) == 2
    assert second.importance["coherence"].idxmax() in (
        "order_of_things",
        "order_of_things_2",
    )
    assert made.aggregator.criteria == tuple(node.id for node in tree.nodes())
    np.testing.assert_allclose(made.score(frame)["value"], frame["human"], atol=0.35)


def test_a_decomposition_that_cannot_be_read_leaves_the_criterion_as_it_is():
    def script(request, draw):
        text = request.text()
        if TEXT.search(text) is None:
            return (
                "I would rather not."
                if "its coherence" in text
                else "1. Ease: how easily it reads."
            )
        return knowing(request, draw)

    frame = outputs(12)
    made = judge("ridge", script=script)
    trained = made.train(frame, growth=Growth(layers=2))
    assert [node.id for node in trained.tree.nodes([2])] == ["ease"]
    assert (
        set(trained.history[1].failed) == {"coherence"}
        and trained.history[1].failed["coherence"]
    )
    silent = judge(
        "ridge",
        script=lambda r, d: "no" if TEXT.search(r.text()) is None else knowing(r, d),
    )
    ended = silent.train(frame, growth=Growth(layers=5))
    assert (
        ended.tree.depth
        == 1
        == judge("ridge").train(frame, growth=Growth(layers=1)).tree.depth
    )
    assert set(ended.history[-1].failed) == {"coherence", "fluency"}
    assert silent.score(frame)["value"].notna().all()


def test_training_can_be_planned_and_resumed(tmp_path):
    frame = outputs(8)
    store = Store(tmp_path)
    made = judge("ridge", store=store)
    growth = Growth(layers=3, keep=1, children=2)
    planned = stages.plan(
        made.growing(*made.training_data(frame), growth), made.engine, store
    )
    assert [(s.name, s.exact) for s in planned] == [
        ("layer 1", True),
        ("decompose into layer 2", False),
        ("layer 2", False),
        ("decompose into layer 3", False),
        ("layer 3", False),
    ]
    assert [s.completions for s in planned] == [
        16,
        2,
        32,
        1,
        16,
    ] and not made.engine.asked
    made.train(frame, growth=growth)
    asked = len(made.engine.asked)
    again = judge("ridge", store=store)
    again.train(frame, growth=growth)
    assert asked > 50 and again.engine.asked == [] and again.tree == made.tree
    again = judge("ridge", store=store)
    assert all(
        s.exact
        for s in stages.plan(
            again.growing(*again.training_data(frame), growth), again.engine, store
        )
    )


@given(st.text())
def test_reading_a_decomposition_never_raises(text):
    parent = Criterion("coh", "Coherence", "d")
    children, why = finer(Completion("k", text), parent, 4)
    assert bool(children) != bool(why) and len(children) <= 4
    assert all(name and definition for name, definition in children)


@pytest.mark.parametrize("kind", ["lr", "ridge", "dt", "rf", "mlp"])
def test_saved_and_loaded_scores_are_equal(tmp_path, kind):
    frame = outputs(20)
    options = {
        "rf": {"n_estimators": 5},
        "mlp": {"hidden_layer_sizes": [8, 4], "max_iter": 80},
    }.get(kind, {})
    made = judge(
        Aggregator(kind, seed=3, options=options, groups=[["fluency"], ["coherence"]])
    )
    made.train(frame, growth=Growth(layers=2, children=2))
    path = tmp_path / "hdeval.json"
    made.save(path)
    loaded = HDEval.load(path, engine=ScriptedEngine(knowing))
    assert loaded.signature() == made.signature() and loaded.tree == made.tree
    pd.testing.assert_frame_equal(
        loaded.score(frame), made.score(frame), check_exact=True
    )
    again = tmp_path / "again.json"
    loaded.save(again)
    assert again.read_bytes() == path.read_bytes()


def test_files_that_are_no_evaluator_are_refused(tmp_path):
    path = tmp_path / "x.json"
    for content, said in [
        ("{", "is no saved HD-Eval evaluator: JSONDecodeError"),
        ("[]", "is no saved HD-Eval evaluator: TypeError"),
        ("{}", "KeyError: 'format'"),
        ('{"format": "other"}', "needed is 'nlgeval hdeval 3'"),
    ]:
        path.write_text(content)
        with pytest.raises(ValueError, match=said):
            HDEval.load(path)
    frame = outputs(6)
    judge().fit(frame).save(path)
    data = json.loads(path.read_text())
    for change, said in [
        (
            {"tree": asdict(CriteriaTree.from_criteria(["other"]))},
            "no criterion 'coherence'",
        ),
        ({"aggregator": {**data["aggregator"], "kind": "svm"}}, "aggregator is 'svm'"),
        (
            {"aggregator": {**data["aggregator"], "predicted": [[9, 9]]}},
            "fitting lr again gives other predictions",
        ),
    ]:
        path.write_text(json.dumps({**data, **change}))
        with pytest.raises(ValueError, match=said):
            HDEval.load(path)
    path.write_text(json.dumps({k: v for k, v in data.items() if k != "aggregator"}))
    with pytest.raises(ValueError, match="KeyError: 'aggregator'"):
        HDEval.load(path)
