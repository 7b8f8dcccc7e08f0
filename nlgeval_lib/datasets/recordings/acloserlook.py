"""gpt-3.5-turbo-0613 on Topical-Chat: four aspects, seven prompt forms, twenty samples an output, raw."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import fetch, topical_chat
from nlgeval_lib.datasets.recordings import choose, known

ASPECTS = {"coherence": "coh", "engagingness": "eng", "groundedness": "gro", "naturalness": "nat"}
PROMPT_FORMS = (
    "geval",
    "geval_no_auto_cot",
    "llm_eval_no_cot",
    "rate_explain",
    "rate_explain_auto_cot",
    "analyze_rate",
    "analyze_rate_auto_cot",
)


def _file(aspect: str, form: str) -> str:
    return f"acloserlook/gpt3.5_{ASPECTS[aspect]}_{form}.json"


def template_file(aspect: str, form: str) -> str:
    """The registry path of the prompt template; the responses call the form without a scale `llm_eval_no_cot`."""
    return f"acloserlook/prompts/{ASPECTS[aspect]}_{form.replace('llm_eval_no_cot', 'free_text_no_auto_cot')}.txt"


_PAIRS = tuple((aspect, form) for aspect in ASPECTS for form in PROMPT_FORMS)

_FILES = (*(_file(*pair) for pair in _PAIRS), *(template_file(*pair) for pair in _PAIRS))
RECORDINGS = {"acloserlook": known("acloserlook", *_FILES, *topical_chat.SPEC.files)}


def load(name: str, aspects=None, prompt_forms=None) -> pd.DataFrame:
    """One row a sampled text: 20 draws an output, for the aspects and prompt forms asked for (default: all).

    353 to 360 of the 360 outputs a file: the publisher dropped what failed. 0 is a legal score of groundedness. The
    paper's row Rate-explain is the form analyze_rate.
    """
    sampled = _records(aspects, prompt_forms).rename(columns={"all_responses": "text"}).explode("text")
    sampled["draw"] = sampled.groupby(level=0).cumcount()
    return sampled.drop(columns="prompt").reset_index(drop=True)


def prompts(name: str, aspects=None, prompt_forms=None) -> pd.DataFrame:
    """The rendered prompt of each output, aspect and form."""
    return _records(aspects, prompt_forms)


def _records(aspects, prompt_forms) -> pd.DataFrame:
    """One row an output, aspect and form: its prompt and the list of its texts, under the Topical-Chat frame's ids."""
    numbers = topical_chat.input_ids(fetch.json_file(topical_chat.FILE))
    parts = [
        pd.DataFrame(fetch.json_file(_file(aspect, form))).assign(aspect=aspect, prompt_form=form)
        for aspect in choose(aspects, tuple(ASPECTS), "aspect")
        for form in choose(prompt_forms, PROMPT_FORMS, "prompt form")
    ]
    rows = pd.concat(parts, ignore_index=True)
    rows["input_id"] = [numbers[key] for key in zip(rows["source"], rows["context"], strict=True)]
    kept = ["input_id", "system_id", "aspect", "prompt_form", "prompt", "all_responses"]
    return rows[kept].assign(dataset="topical_chat", judge="gpt-3.5-turbo-0613")
