"""gpt-3.5-turbo-0613 on Topical-Chat: four aspects, seven prompt forms, twenty samples
an output, raw.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from nlgeval_lib.datasets import fetch, topical_chat
from nlgeval_lib.datasets.registry import choose

# aspect -> how the files' names begin
ASPECTS = {
    "coherence": "coh",
    "engagingness": "eng",
    "groundedness": "gro",
    "naturalness": "nat",
}
PROMPT_FORMS = (
    "geval",
    "geval_no_auto_cot",
    "llm_eval_no_cot",
    "rate_explain",
    "rate_explain_auto_cot",
    "analyze_rate",
    "analyze_rate_auto_cot",
)
_PAIRS = tuple((aspect, form) for aspect in ASPECTS for form in PROMPT_FORMS)


def _closer_file(aspect: str, form: str) -> str:
    """The registry path of the responses to one aspect and prompt form."""
    return f"acloserlook/gpt3.5_{ASPECTS[aspect]}_{form}.json"


def template_file(aspect: str, form: str) -> str:
    """The registry path of the prompt template; the responses call the form without a
    scale `llm_eval_no_cot`.
    """
    name = form.replace("llm_eval_no_cot", "free_text_no_auto_cot")
    return f"acloserlook/prompts/{ASPECTS[aspect]}_{name}.txt"


def _closer_look(aspects=None, prompt_forms=None) -> pd.DataFrame:
    """One row a sampled text: 20 draws an output, with its `draw` 0 to 19.

    aspects: of ASPECTS, default all. prompt_forms: of PROMPT_FORMS, default all.

    A file has 353 to 360 of the 360 outputs: the publisher dropped what failed. 0 is a
    legal score of groundedness. The paper's row Rate-explain is the form analyze_rate.
    """
    outputs = _closer_prompts(aspects, prompt_forms)
    outputs = outputs.drop(columns="prompt")
    texts = outputs.rename(columns={"all_responses": "text"}).explode("text")
    # `explode` repeats the row's label: rows of one label are the draws of one output.
    texts["draw"] = texts.groupby(level=0).cumcount()
    return texts.reset_index(drop=True)


def _closer_prompts(aspects=None, prompt_forms=None) -> pd.DataFrame:
    """One row an output, aspect and form: its prompt and the list of its texts, under
    the Topical-Chat frame's ids.

    The files have no ids: an output is found by its source and context.
    """
    ids = topical_chat.input_ids(fetch.json_file(topical_chat.FILE))
    frames = []
    for aspect in choose(aspects, tuple(ASPECTS), "aspect"):
        for form in choose(prompt_forms, PROMPT_FORMS, "prompt form"):
            outputs = pd.DataFrame(fetch.json_file(_closer_file(aspect, form)))
            frames.append(outputs.assign(aspect=aspect, prompt_form=form))
    rows = pd.concat(frames, ignore_index=True)
    inputs = zip(rows["source"], rows["context"], strict=True)
    rows["input_id"] = [ids[key] for key in inputs]
    columns = [
        "input_id",
        "system_id",
        "aspect",
        "prompt_form",
        "prompt",
        "all_responses",
    ]
    return rows[columns].assign(dataset="topical_chat", judge="gpt-3.5-turbo-0613")


FILES: dict[str, tuple[str, ...]] = {
    "acloserlook": (
        *(_closer_file(*pair) for pair in _PAIRS),
        *(template_file(*pair) for pair in _PAIRS),
        topical_chat.FILE,
    ),
}
READERS: dict[str, Callable[..., pd.DataFrame]] = {"acloserlook": _closer_look}
PROMPTS: dict[str, Callable[..., pd.DataFrame]] = {"acloserlook": _closer_prompts}
