"""The judges that others recorded on data sets here: how the files of each are read,
and what was sent where they say.

A reader gives `recordings.KEYS` and `text` or `value`. The scores of `alttest_summeval`
are of unpublished prompts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from nlgeval_lib.datasets import (
    alttest,
    fetch,
    llm_rubric,
    prometheus,
    safe_pickle,
    summeval,
    topical_chat,
    webnlg2020,
    wmt22_zhen,
)
from nlgeval_lib.datasets.recordings import (
    pair_verdicts,
    published_scores,
    tigerscore_outputs,
)
from nlgeval_lib.datasets.registry import choose

# -- SummEval: the scores of six judges for the alternative test; raw texts of GPT-4,
# GPT-3.5 and Llama-2

SCORES = "summeval/alttest_llm_annotations.json"
SCORERS = (
    "gemini_flash",
    "gemini_pro",
    "gpt-4o",
    "gpt-4o-mini",
    "llama-31",
    "mistral-v03",
)
FORMS = ("rts", "altrts", "mcq", "altmcq", "stareval")
# judge -> prompt forms that were recorded
JUDGES = {"gpt-4-0314": FORMS[:1], "gpt-3.5-turbo-0301": FORMS}
JUDGES |= {f"llama-2-{size}-chat-hf": FORMS[:1] for size in ("7b", "13b", "70b")}


def _alttest(judges=None) -> pd.DataFrame:
    """Integers 1 to 5, complete, in SummEval's order."""
    by_judge = fetch.json_file(SCORES)
    documents = safe_pickle.load(fetch.path(summeval.PICKLE))
    keys = [
        (document, system, aspect)
        for document, content in documents.items()
        for system in content["sys_summs"]
        for aspect in summeval.SPEC.scale
    ]
    rows = []
    for judge in choose(judges, SCORERS, "judge"):
        scores = by_judge[judge]
        rows += [(*key, judge, scores["__".join(key)]) for key in keys]
    columns = ["input_id", "system_id", "aspect", "judge", "value"]
    frame = pd.DataFrame(rows, columns=columns).astype({"value": float})
    return frame.assign(dataset="summeval", prompt_form="unknown", draw=0)


def _llm_files(judges=None, prompt_forms=None) -> dict[str, dict[str, str]]:
    """The file of each judge, prompt form, aspect and system."""
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
    """Texts about 12 of the 16 systems; `prompt_tokens` and `total_tokens` are NaN for
    Llama-2.

    rts: reason, then score; mcq: letters A to E; stareval: stars; alt: the aspect
    defined in other words. In five files the publisher's run wrote some or all outputs
    twice: draw 0 is the first text, draw 1 the second. The prompts themselves are not
    in the files.
    """
    rows = []
    for relpath, about in _llm_files(judges, prompt_forms).items():
        rows += [record | about for record in fetch.json_lines(relpath)]
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


# -- Topical-Chat: gpt-3.5-turbo-0613, four aspects, seven prompt forms, twenty samples
# an output, raw

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
    return f"acloserlook/gpt3.5_{ASPECTS[aspect]}_{form}.json"


def template_file(aspect: str, form: str) -> str:
    """The registry path of the prompt template; the responses call the form without
    a scale `llm_eval_no_cot`.
    """
    name = form.replace("llm_eval_no_cot", "free_text_no_auto_cot")
    return f"acloserlook/prompts/{ASPECTS[aspect]}_{name}.txt"


def _closer_look(aspects=None, prompt_forms=None) -> pd.DataFrame:
    """One row a sampled text: 20 draws an output, for the aspects and prompt forms
    asked for (default: all).

    353 to 360 of the 360 outputs a file: the publisher dropped what failed. 0 is a
    legal score of groundedness. The paper's row Rate-explain is the form analyze_rate.
    """
    outputs = _closer_prompts(aspects, prompt_forms)
    texts = outputs.rename(columns={"all_responses": "text"}).explode("text")
    texts["draw"] = texts.groupby(level=0).cumcount()
    return texts.drop(columns="prompt").reset_index(drop=True)


def _closer_prompts(aspects=None, prompt_forms=None) -> pd.DataFrame:
    """One row an output, aspect and form: its prompt and the list of its texts,
    under the Topical-Chat frame's ids.
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


# -- WMT-22 zh-en: GEMBA's direct assessments by GPT-4 and ChatGPT, scores only

# (judge, prompt form) -> file
GEMBA = {
    (judge, form): f"wmt22_zhen/GEMBA-{judge}-{form}.seg.score"
    for judge in ("GPT4", "Turbo")
    for form in ("DA-refA", "DA-src")
}


def _gemba(rated: bool = False) -> pd.DataFrame:
    """One row a judge, prompt form, system and segment: 0 to 100, higher is better;
    with refA or without a reference.

    20 systems, among them refA and refB and four without MQM; `rated` keeps only the 14
    of the data set's frame.
    """
    frames = []
    for (judge, form), relpath in GEMBA.items():
        lines = fetch.text(relpath).removesuffix("\n").split("\n")
        rows = [line.split("\t") for line in lines]
        scores = pd.DataFrame(rows, columns=["system_id", "value"])
        scores = scores.astype({"value": float})
        segments = scores.groupby("system_id").cumcount()
        ids = segments.map(wmt22_zhen.input_id)
        frames.append(scores.assign(judge=judge, prompt_form=form, input_id=ids))
    frame = pd.concat(frames, ignore_index=True)
    frame = frame.assign(dataset="wmt22_zhen", aspect="mqm", draw=0)
    if not rated:
        return frame
    return frame[frame["system_id"].isin(wmt22_zhen.SYSTEMS)].reset_index(drop=True)


# -- WMT-22 zh-en and WebNLG-2020: InstructScore's raw outputs

# of the prompt, which each stored text repeats before the judge's own
_PROMPT_END = "meaning but will be noticed."
_BEFORE_OUTPUT = '". The model generated output is "'
_AFTER_OUTPUT = '". Please identify all errors within each model output'
_WMT_SYSTEMS = (*wmt22_zhen.SYSTEMS, wmt22_zhen.HUMAN_SYSTEM)


def _webnlg_file(system: str, ending: str) -> str:
    name = system.replace("(", "").replace(")", "")
    return f"webnlg2020/test_webnlg_{name}_llama_ref_data{ending}"


def _wmt_file(system: str) -> str:
    return f"wmt22_zhen/test_wmt22_{system}_llama_ref_data_0_None.txt"


def _instructscore(dataset: str, sent: bool = False) -> pd.DataFrame:
    """One row an output, one aspect: `mqm` for WMT, its 14 systems and refB, and
    `overall` for WebNLG.

    `text` is what follows the prompt; it is empty where the prompt filled the judge's
    window and was cut off. WebNLG has 177 of the 178 inputs (not 1124), matched by
    output and ratings. sent: the prompts in place of the texts.
    """
    is_wmt = dataset == "wmt22_zhen"
    rows = _wmt_rows() if is_wmt else _webnlg_rows()
    frame = pd.DataFrame(rows, columns=["system_id", "input_id", "stored"])
    prompts = []
    texts = []
    for stored in frame.pop("stored"):
        begin, end, text = stored.partition(_PROMPT_END)
        prompts.append(begin + end)
        texts.append(text)
    if sent:
        frame["prompt"] = prompts
    else:
        frame["text"] = texts
    return frame.assign(
        dataset=dataset,
        aspect="mqm" if is_wmt else "overall",
        judge="InstructScore",
        prompt_form="reference",
        draw=0,
    )


def _stored_texts(relpath: str) -> list[str]:
    """The stored texts of a file, each without its leading number."""
    numbered = fetch.text(relpath).split("[SEP_WENDA]")[:-1]
    return [entry.partition("\t")[2] for entry in numbered]


def _wmt_rows() -> Iterator[tuple[str, str, str]]:
    for system in _WMT_SYSTEMS:
        for number, text in enumerate(_stored_texts(_wmt_file(system))):
            yield system, wmt22_zhen.input_id(number), text


def _webnlg_rows() -> Iterator[tuple[str, str, str]]:
    """The files have their own order and no ids: an output is found by system, text
    and its five ratings.
    """

    def key(system: str, output: str, scores: dict[str, float]) -> tuple:
        ratings = map(scores.get, webnlg2020.CRITERIA.values())
        return system, output.strip(), *ratings

    ids: dict[tuple, list[str]] = {}
    for record in fetch.json_file(webnlg2020.PREPARED):
        for candidate in record["candidates"]:
            place = key(candidate["model"], candidate["text"], candidate["scores"])
            ids.setdefault(place, []).append(str(record["id"]))
    for system in webnlg2020.SYSTEMS:
        instances = fetch.json_file(_webnlg_file(system, ".json"))["instances"]
        texts = _stored_texts(_webnlg_file(system, "_0_None.txt"))
        for instance, text in zip(instances, texts, strict=True):
            ending = instance["input"].partition(_BEFORE_OUTPUT)[2]
            output = ending.partition(_AFTER_OUTPUT)[0]
            [input_id] = ids[key(system, output, instance["output"])]
            yield system, input_id, text


# -- Vicuna Bench and MT Bench: GPT-4-0613's three scores and feedbacks, as Prometheus
# publishes them

BENCHES = ("vicuna_bench", "mt_bench")


def _prometheus_gpt4(benches=None) -> pd.DataFrame:
    """One row an output and draw: the feedback without its verdict (one kept it),
    and as `value` its score 1-5.
    """
    columns = ["dataset", "input_id", "system_id", "aspect", "judge", "prompt_form"]
    frames = []
    for _, outputs in _benches(benches).groupby("dataset", sort=False):
        for draw in range(prometheus.DRAWS):
            texts = outputs[f"feedback_gpt4_{draw}"]
            values = outputs[f"rater_gpt4_{draw}"]
            frames.append(outputs[columns].assign(draw=draw, text=texts, value=values))
    return pd.concat(frames, ignore_index=True)


def _benches(benches=None) -> pd.DataFrame:
    frames = [prometheus.load(name) for name in choose(benches, BENCHES, "bench")]
    rows = pd.concat(frames, ignore_index=True)
    return rows.assign(judge="gpt-4-0613", prompt_form="absolute")


# -- all of them

FILES: dict[str, tuple[str, ...]] = {
    "alttest_summeval": (SCORES, summeval.EXPERTS, summeval.PICKLE),
    "acloserlook": (
        *(_closer_file(*pair) for pair in _PAIRS),
        *(template_file(*pair) for pair in _PAIRS),
        topical_chat.FILE,
    ),
    "llm_summeval": tuple(_llm_files()),
    "tigerscore_outputs": (tigerscore_outputs.FILE, tigerscore_outputs.COUNTS),
    "instructscore_wmt22": tuple(map(_wmt_file, _WMT_SYSTEMS)),
    "instructscore_webnlg": (
        *(
            _webnlg_file(system, ending)
            for ending in ("_0_None.txt", ".json")
            for system in webnlg2020.SYSTEMS
        ),
        webnlg2020.PREPARED,
    ),
    "gemba_wmt22": tuple(GEMBA.values()),
    "prometheus_gpt4": tuple(
        path for name in BENCHES for path in prometheus.SPECS[name].files
    ),
    "alttest_judges": (
        *map(alttest.human_file, alttest.LABELS),
        *map(alttest.judges_file, alttest.LABELS),
    ),
    "llm_rubric_judge": (llm_rubric.JUDGE, llm_rubric.DRAWN, llm_rubric.HUMAN),
    **pair_verdicts.FILES,
    **published_scores.FILES,
}
READERS: dict[str, Callable[..., pd.DataFrame]] = {
    "alttest_summeval": _alttest,
    "acloserlook": _closer_look,
    "llm_summeval": _llm_summeval,
    "tigerscore_outputs": tigerscore_outputs.load,
    "instructscore_wmt22": lambda: _instructscore("wmt22_zhen"),
    "instructscore_webnlg": lambda: _instructscore("webnlg2020"),
    "gemba_wmt22": _gemba,
    "prometheus_gpt4": _prometheus_gpt4,
    "alttest_judges": alttest.judges,
    "llm_rubric_judge": llm_rubric.judge,
    **pair_verdicts.READERS,
    **published_scores.READERS,
}
PROMPTS: dict[str, Callable[..., Any]] = {
    "acloserlook": _closer_prompts,
    "instructscore_wmt22": lambda: _instructscore("wmt22_zhen", sent=True),
    "instructscore_webnlg": lambda: _instructscore("webnlg2020", sent=True),
    "prometheus_gpt4": _benches,
}
