"""Raw texts of GPT-4, GPT-3.5 and Llama-2 on SummEval, in up to five prompt forms."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import _read, summeval
from nlgeval_lib.datasets.recordings._base import Recording, choose
from nlgeval_lib.datasets.specs import expect

# judge -> prompt forms that were recorded
JUDGES = {
    "gpt-4-0314": ("rts",),
    "gpt-3.5-turbo-0301": ("rts", "altrts", "mcq", "altmcq", "stareval"),
    "llama-2-7b-chat-hf": ("rts",),
    "llama-2-13b-chat-hf": ("rts",),
    "llama-2-70b-chat-hf": ("rts",),
}
PROMPT_FORMS = JUDGES["gpt-3.5-turbo-0301"]
# files where the publisher's run wrote some or all outputs twice
_REPEATED = {
    ("M10", "consistency", "mcq"): 200,
    ("M8", "consistency", "mcq"): 200,
    ("M9", "consistency", "mcq"): 200,
    ("M8", "relevance", "altmcq"): 110,
    ("M9", "relevance", "altmcq"): 102,
}


def _file(judge: str, system: str, aspect: str, form: str) -> str:
    return f"llm_summeval/{judge}/eval_{system}_generations/{aspect}_{form}.txt"


RECORDINGS = {
    "llm_summeval": Recording(
        name="llm_summeval",
        title="GPT-4, GPT-3.5 and Llama-2 on SummEval",
        dataset="summeval",
        files=tuple(
            _file(judge, system, aspect, form)
            for judge, forms in JUDGES.items()
            for form in forms
            for aspect in summeval.SPEC.aspects
            for system in summeval.CROWD
        ),
        n_rows=43_512,
        kept="text",
        licence="none stated",
        source="Shen et al. 2023, LLMs are Not Yet Human-Level Evaluators for Abstractive Summarization",
        notes=(
            "12 of the 16 systems x 100 articles x 4 aspects",
            "rts: reason, then score; mcq: letters A to E; stareval: stars; alt: the aspect defined in other words",
            "five files have repeats: draw 0 is the first text, draw 1 the second",
            "the prompts themselves are not in the files",
        ),
    )
}


def load(recording: Recording, judges=None, prompt_forms=None) -> pd.DataFrame:
    """One row a text; `prompt_tokens` and `total_tokens` are NaN for Llama-2."""
    columns: dict[str, list] = {
        name: []
        for name in (
            "input_id",
            "system_id",
            "aspect",
            "judge",
            "prompt_form",
            "draw",
            "text",
            "prompt_tokens",
            "total_tokens",
        )
    }
    forms = choose(prompt_forms, PROMPT_FORMS, "prompt form")
    for judge in choose(judges, tuple(JUDGES), "judge"):
        for form in (form for form in JUDGES[judge] if form in forms):
            for aspect in summeval.SPEC.aspects:
                for system in summeval.CROWD:
                    records = _read.json_lines(_file(judge, system, aspect, form))
                    expected = _REPEATED.get((system, aspect, form), 100)
                    expect(recording.name, f"texts of {judge}, {system}, {aspect}, {form}", len(records), expected)
                    seen: dict[str, int] = {}
                    for record in records:
                        draw = seen.get(record["id"], 0)
                        seen[record["id"]] = draw + 1
                        columns["input_id"].append(record["id"])
                        columns["draw"].append(draw)
                        columns["text"].append(record["resp"])
                        columns["prompt_tokens"].append(record.get("prompt_len", float("nan")))
                        columns["total_tokens"].append(record.get("total_len", float("nan")))
                    expect(recording.name, f"articles of {judge}, {system}, {aspect}, {form}", len(seen), 100)
                    for name, value in (
                        ("system_id", system),
                        ("aspect", aspect),
                        ("judge", judge),
                        ("prompt_form", form),
                    ):
                        columns[name] += [value] * len(records)
    frame = pd.DataFrame(columns)
    frame.insert(0, "dataset", "summeval")
    return frame
