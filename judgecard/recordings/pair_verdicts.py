"""The judges of pairs that others recorded: LLMBar's evaluators, in both orders, and
the two of PandaLM's test set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from nlgeval_lib.datasets import fetch, llmbar, pairs, pandalm
from nlgeval_lib.datasets.registry import choose

# how a judge saw the two outputs: as the data set's frame has them, or the second first
GIVEN = "given"
SWAPPED = "swapped"
ORDERS = (GIVEN, SWAPPED)

# -- LLMBar

# those of pairs come first, then those that rate each output
_LISTED = """
Vanilla Vanilla_NoRules CoT Metrics Reference Metrics_Reference Swap Swap_CoT
Vanilla_1shot Vanilla_2shot
Rating Rating_NoRules Rating_Metrics Rating_Reference Rating_Metrics_Reference
"""
FORMS = tuple(_LISTED.split())
_ALL_FORMS_OF_PAIRS = FORMS[:10]
# judge -> the prompt forms that it was asked
JUDGES: Mapping[str, tuple[str, ...]] = {
    "GPT-4": FORMS,
    "ChatGPT": FORMS[:12],
    "ChatGPT-0301": _ALL_FORMS_OF_PAIRS,
    "LLaMA2": _ALL_FORMS_OF_PAIRS,
    "PaLM2": FORMS[:8],
    "Falcon": _ALL_FORMS_OF_PAIRS,
}
# order -> the field of a record that has its answer
_ENTRIES = {GIVEN: "swap = False", SWAPPED: "swap = True"}


def result_file(subset: str, judge: str, form: str) -> str:
    """The registry path of one evaluator's results on a subset.

    subset: of `llmbar.SUBSETS`. judge: of JUDGES. form: one of that judge's prompt
    forms.
    """
    return f"{llmbar.SUBSETS[subset]}/evaluators/{judge}/{form}/result.json"


def load_llmbar(judges=None, prompt_forms=None) -> pd.DataFrame:
    """One row a judge, prompt form, pair and order: 65 evaluators (a judge with a form)
    x 419 pairs x 2 orders.

    judges: of JUDGES, default all. prompt_forms: of FORMS, default all; a judge has
    only those that it was asked.

    `text` is the judge's last answer, after what it wrote on the way (metrics, a
    reference, a first verdict). A form `Rating...` asks for a score of each output:
    `text` has that of output 1 and `text_2` that of output 2, the same in both orders,
    and where the two scores are equal the publisher's verdict differs by order.
    `subset` is the pair's. 134 values are NaN.
    Source: Zeng et al. 2024, Evaluating Large Language Models at Evaluating Instruction
    Following.
    """
    forms = choose(prompt_forms, FORMS, "prompt form")
    places = []
    for judge in choose(judges, tuple(JUDGES), "judge"):
        for form in JUDGES[judge]:
            if form in forms:
                places += [(subset, judge, form) for subset in llmbar.SUBSETS]
    fetch.together("llmbar_judges", [result_file(*place) for place in places])
    rows: list[dict[str, Any]] = []
    for place in places:
        rows += _results(*place)
    return _with_inputs(pd.DataFrame(rows), llmbar.load())


def _results(subset: str, judge: str, form: str) -> Iterator[dict[str, Any]]:
    """The rows of one file, two a pair: one an order."""
    records = fetch.json_file(result_file(subset, judge, form))
    for number, record in enumerate(records):
        last = record["results"][-1]
        for order, name in _ENTRIES.items():
            answer = last[name]
            scores = [last[key][0] for key in ("score_1", "score_2") if key in last]
            text, text_2 = scores or (answer["completion"][0], "")
            winner = answer["winner"]
            yield {
                "pair_id": llmbar.pair_id(subset, number),
                "judge": judge,
                "prompt_form": form,
                "order": order,
                "text": text,
                "text_2": text_2,
                "value": math.nan if winner is None else float(winner),
                "subset": subset,
            }


def _with_inputs(rows: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with what names the pair in the data set's frame."""
    inputs = frame.set_index("pair_id")["input_id"]
    rows = rows.assign(dataset=frame.attrs["name"], draw=0)
    return rows.assign(input_id=rows["pair_id"].map(inputs))


# -- PandaLM

# judge -> its file, and the field with its verdict
PANDALM = {
    "gpt-3.5-turbo": ("pandalm/gpt-3.5-turbo-testset-v1.json", "gpt_result"),
    "PandaLM-7B": ("pandalm/pandalm-7b-testset-v1.json", "pandalm_result"),
}
_VERDICTS = {"0": pairs.TIE, "Tie": pairs.TIE, "1": pairs.FIRST, "2": pairs.SECOND}
UNREADABLE = "garbage"  # the publisher's word


def load_pandalm() -> pd.DataFrame:
    """One row a judge and pair, in one order alone; the raw texts are not published,
    and 25 values of gpt-3.5-turbo are NaN.

    Raises: ValueError for a verdict that is not known.
    Source: Wang et al. 2024, PandaLM.
    """
    rows = []
    for judge, (relpath, field) in PANDALM.items():
        for record in fetch.json_file(relpath):
            verdict = str(record[field])
            value = _VERDICTS.get(verdict, math.nan)
            if verdict not in (*_VERDICTS, UNREADABLE):
                raise ValueError(f"{relpath}: unknown verdict {verdict!r}")
            rows.append(
                {
                    "pair_id": pandalm.pair_id(record["idx"]),
                    "judge": judge,
                    "prompt_form": "unknown",
                    "order": GIVEN,
                    "value": float(value),
                }
            )
    return _with_inputs(pd.DataFrame(rows), pandalm.load())


FILES: dict[str, tuple[str, ...]] = {
    "llmbar_judges": (
        *llmbar.FILES.values(),
        *(
            result_file(subset, judge, form)
            for judge, forms in JUDGES.items()
            for form in forms
            for subset in llmbar.SUBSETS
        ),
    ),
    "pandalm_judges": (*(path for path, _ in PANDALM.values()), pandalm.FILE),
}
READERS: dict[str, Callable[..., pd.DataFrame]] = {
    "llmbar_judges": load_llmbar,
    "pandalm_judges": load_pandalm,
}
