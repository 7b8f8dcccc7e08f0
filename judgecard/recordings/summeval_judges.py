"""Judges recorded on SummEval: the scores of six for the alternative test, whose
prompts are unpublished; raw texts of GPT-4, GPT-3.5 and Llama-2.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pandas as pd

from nlgeval_lib.datasets import fetch, safe_pickle, summeval
from nlgeval_lib.datasets.registry import choose

SCORES = "summeval/alttest_llm_annotations.json"
# prompt forms of the raw texts; `_llm_summeval` says what they ask
FORMS = ("rts", "altrts", "mcq", "altmcq", "stareval")
# judge -> prompt forms that were recorded
JUDGES = {"gpt-4-0314": FORMS[:1], "gpt-3.5-turbo-0301": FORMS}
JUDGES |= {f"llama-2-{size}-chat-hf": FORMS[:1] for size in ("7b", "13b", "70b")}


def _alttest() -> pd.DataFrame:
    """Six judges' integers 1 to 5: 1600 outputs x 4 aspects x 6 judges, complete, in
    SummEval's order.

    Source: Calderon et al. 2025, The Alternative Annotator Test for LLM-as-a-Judge.
    """
    by_judge = fetch.json_file(SCORES)
    documents = safe_pickle.load(fetch.path(summeval.PICKLE))
    keys: list[tuple[str, str, str]] = []
    for document, content in documents.items():
        outputs = itertools.product(content["sys_summs"], summeval.SPEC.scale)
        keys += [(document, system, aspect) for system, aspect in outputs]
    rows = []
    for judge in sorted(by_judge):
        scores = by_judge[judge]
        rows += [(*key, judge, scores["__".join(key)]) for key in keys]
    columns = ["input_id", "system_id", "aspect", "judge", "value"]
    frame = pd.DataFrame(rows, columns=columns).astype({"value": float})
    return frame.assign(dataset="summeval", prompt_form="unknown", draw=0)


def _llm_files(judges=None, prompt_forms=None) -> dict[str, dict[str, str]]:
    """The files of the raw texts."""
    forms = choose(prompt_forms, FORMS, "prompt form")
    about = {}
    for judge in choose(judges, tuple(JUDGES), "judge"):
        recorded = [form for form in JUDGES[judge] if form in forms]
        keys = itertools.product(recorded, summeval.SPEC.scale, summeval.CROWD)
        for form, aspect, system in keys:
            folder = f"llm_summeval/{judge}/eval_{system}_generations"
            about[f"{folder}/{aspect}_{form}.txt"] = {
                "system_id": system,
                "aspect": aspect,
                "judge": judge,
                "prompt_form": form,
            }
    return about


def _llm_summeval(judges=None, prompt_forms=None) -> pd.DataFrame:
    """Raw texts about 12 of the 16 systems, 43,512: a row a text.

    judges: of JUDGES, default all. prompt_forms: of FORMS, default all.

    rts: reason, then score; mcq: letters A to E; stareval: stars; alt: the aspect
    defined in other words. In five files the publisher's run wrote some or all outputs
    twice: draw 0 is the first text, draw 1 the second. The prompts themselves are not
    in the files. `prompt_tokens` and `total_tokens` are NaN for Llama-2.
    Source: Shen et al. 2023, LLMs are Not Yet Human-Level Evaluators for Abstractive
    Summarization.
    """
    rows = []
    for relpath, about in _llm_files(judges, prompt_forms).items():
        rows += [record | about for record in fetch.json_lines(relpath)]
    # name in the files -> name here
    new_names = {
        "id": "input_id",
        "resp": "text",
        "prompt_len": "prompt_tokens",
        "total_len": "total_tokens",
    }
    keys = ["system_id", "aspect", "judge", "prompt_form"]
    frame = pd.DataFrame(rows).rename(columns=new_names)
    frame = frame.reindex(columns=[*new_names.values(), *keys])
    frame = frame.assign(dataset="summeval")
    frame["draw"] = frame.groupby([*keys, "input_id"]).cumcount()
    return frame


FILES: dict[str, tuple[str, ...]] = {
    "alttest_summeval": (SCORES, summeval.EXPERTS, summeval.PICKLE),
    "llm_summeval": tuple(_llm_files()),
}
READERS: dict[str, Callable[..., pd.DataFrame]] = {
    "alttest_summeval": _alttest,
    "llm_summeval": _llm_summeval,
}
