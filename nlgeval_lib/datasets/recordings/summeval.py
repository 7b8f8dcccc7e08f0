"""Judges on SummEval: raw texts of GPT-4, GPT-3.5 and Llama-2, and the scores of six for the alternative test."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import fetch, safe_pickle, summeval
from nlgeval_lib.datasets.recordings import choose, known

SCORES = "summeval/alttest_llm_annotations.json"
SCORERS = ("gemini_flash", "gemini_pro", "gpt-4o", "gpt-4o-mini", "llama-31", "mistral-v03")
# judge -> prompt forms that were recorded
JUDGES = {
    "gpt-4-0314": ("rts",),
    "gpt-3.5-turbo-0301": ("rts", "altrts", "mcq", "altmcq", "stareval"),
    "llama-2-7b-chat-hf": ("rts",),
    "llama-2-13b-chat-hf": ("rts",),
    "llama-2-70b-chat-hf": ("rts",),
}
PROMPT_FORMS = JUDGES["gpt-3.5-turbo-0301"]


def _file(judge: str, system: str, aspect: str, form: str) -> str:
    return f"llm_summeval/{judge}/eval_{system}_generations/{aspect}_{form}.txt"


_TEXTS = [
    _file(judge, system, aspect, form)
    for judge, forms in JUDGES.items()
    for form in forms
    for aspect in summeval.SPEC.scale
    for system in summeval.CROWD
]
RECORDINGS = {
    "alttest_summeval": known("alttest_summeval", SCORES, summeval.EXPERTS, summeval.PICKLE),
    "llm_summeval": known("llm_summeval", *_TEXTS),
}


def load(name: str, **options) -> pd.DataFrame:
    """One row a judge, output and aspect; the options are those of the two functions below."""
    return (_scores if name == "alttest_summeval" else _texts)(**options)


def _scores(judges=None) -> pd.DataFrame:
    """Integers 1 to 5, complete, in SummEval's order; the prompts are not published."""
    given = fetch.json_file(SCORES)
    keys = [
        (document, system, aspect)
        for document, content in safe_pickle.load(fetch.path(summeval.PICKLE)).items()
        for system in content["sys_summs"]
        for aspect in summeval.SPEC.scale
    ]
    rows = [(*key, judge, given[judge]["__".join(key)]) for judge in choose(judges, SCORERS, "judge") for key in keys]
    frame = pd.DataFrame(rows, columns=["input_id", "system_id", "aspect", "judge", "value"])
    return frame.assign(dataset="summeval", prompt_form="unknown", draw=0, value=frame["value"].astype(float))


def _texts(judges=None, prompt_forms=None) -> pd.DataFrame:
    """Texts about 12 of the 16 systems; `prompt_tokens` and `total_tokens` are NaN for Llama-2.

    rts: reason, then score; mcq: letters A to E; stareval: stars; alt: the aspect defined in other words. In five files
    the publisher's run wrote some or all outputs twice: draw 0 is the first text, draw 1 the second. The prompts
    themselves are not in the files.
    """
    forms = choose(prompt_forms, PROMPT_FORMS, "prompt form")
    rows = [
        {**record, "system_id": system, "aspect": aspect, "judge": judge, "prompt_form": form}
        for judge in choose(judges, tuple(JUDGES), "judge")
        for form in JUDGES[judge]
        if form in forms
        for aspect in summeval.SPEC.scale
        for system in summeval.CROWD
        for record in fetch.json_lines(_file(judge, system, aspect, form))
    ]
    here = {"id": "input_id", "resp": "text", "prompt_len": "prompt_tokens", "total_len": "total_tokens"}
    columns = [*here.values(), "system_id", "aspect", "judge", "prompt_form"]
    frame = pd.DataFrame(rows).rename(columns=here).reindex(columns=columns).assign(dataset="summeval")
    frame["draw"] = frame.groupby(["judge", "prompt_form", "aspect", "system_id", "input_id"]).cumcount()
    return frame
