"""gpt-3.5-turbo-0613 on Topical-Chat: four aspects, seven prompt forms, twenty samples an output, raw."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nlgeval_lib.datasets import _read, topical_chat
from nlgeval_lib.datasets.recordings._base import Recording, choose
from nlgeval_lib.datasets.specs import expect

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
DRAWS = 20
JUDGE = "gpt-3.5-turbo-0613"


def _file(aspect: str, form: str) -> str:
    return f"acloserlook/gpt3.5_{ASPECTS[aspect]}_{form}.json"


def template_file(aspect: str, form: str) -> str:
    """The registry path of the prompt template; the responses call the form without a scale `llm_eval_no_cot`."""
    return f"acloserlook/prompts/{ASPECTS[aspect]}_{form.replace('llm_eval_no_cot', 'free_text_no_auto_cot')}.txt"


_PAIRS = tuple((aspect, form) for aspect in ASPECTS for form in PROMPT_FORMS)

RECORDINGS = {
    "acloserlook": Recording(
        name="acloserlook",
        title="gpt-3.5-turbo on Topical-Chat, 28 prompts",
        dataset="topical_chat",
        files=(
            *(_file(*pair) for pair in _PAIRS),
            *(template_file(*pair) for pair in _PAIRS),
            *topical_chat.SPEC.files,
        ),
        n_rows=200_000,
        kept="text",
        licence="none stated",
        source="Chiang and Lee 2023, A Closer Look into Automatic Evaluation Using Large Language Models",
        notes=(
            "353 to 360 of the 360 outputs a file: the publisher dropped what failed",
            "0 is a legal score of groundedness",
            "the paper's row Rate-explain is the form analyze_rate",
        ),
    )
}


def _records(aspect: str, form: str) -> tuple[list[dict], list[str]]:
    """One file's records, and for each its input id in the Topical-Chat frame."""
    given = _read.json_file(_file(aspect, form))
    if not 353 <= len(given) <= 360:
        raise ValueError(f"acloserlook: {aspect}, {form}: {len(given)} outputs, expected 353 to 360")
    known = topical_chat.input_ids(_read.json_file(topical_chat.FILE))
    missing = [r for r in given if (r["source"], r["context"]) not in known]
    expect("acloserlook", f"outputs of {aspect}, {form} that Topical-Chat does not have", len(missing), 0)
    return given, [known[r["source"], r["context"]] for r in given]


def load(recording: Recording, aspects=None, prompt_forms=None) -> pd.DataFrame:
    """One row a sampled text: 20 draws an output, for the aspects and prompt forms asked for (default: all)."""
    parts = []
    for aspect in choose(aspects, tuple(ASPECTS), "aspect"):
        for form in choose(prompt_forms, PROMPT_FORMS, "prompt form"):
            records, inputs = _records(aspect, form)
            texts = [text for record in records for text in record["all_responses"]]
            expect(recording.name, f"texts of {aspect}, {form}", len(texts), DRAWS * len(records))
            parts.append(
                {
                    "input_id": np.repeat(np.array(inputs, dtype=object), DRAWS),
                    "system_id": np.repeat(np.array([r["system_id"] for r in records], dtype=object), DRAWS),
                    "aspect": np.full(len(texts), aspect, dtype=object),
                    "prompt_form": np.full(len(texts), form, dtype=object),
                    "draw": np.tile(np.arange(DRAWS), len(records)),
                    "text": np.array(texts, dtype=object),
                }
            )
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    frame = pd.DataFrame({"dataset": "topical_chat", "judge": JUDGE, **columns})
    return frame[["dataset", "input_id", "system_id", "aspect", "judge", "prompt_form", "draw", "text"]]


def prompts(recording: Recording, aspects=None, prompt_forms=None) -> pd.DataFrame:
    """The rendered prompt of each output, aspect and form."""
    parts = []
    for aspect in choose(aspects, tuple(ASPECTS), "aspect"):
        for form in choose(prompt_forms, PROMPT_FORMS, "prompt form"):
            records, inputs = _records(aspect, form)
            parts.append(
                pd.DataFrame(
                    {
                        "dataset": "topical_chat",
                        "input_id": inputs,
                        "system_id": [record["system_id"] for record in records],
                        "aspect": aspect,
                        "judge": JUDGE,
                        "prompt_form": form,
                        "prompt": [record["prompt"] for record in records],
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)


def template(aspect: str, form: str) -> str:
    """The published prompt template of one aspect and form, with {{Document}}, {{Fact}} and {{Response}}."""
    (aspect,) = choose([aspect], tuple(ASPECTS), "aspect")
    (form,) = choose([form], PROMPT_FORMS, "prompt form")
    return _read.text(template_file(aspect, form))
