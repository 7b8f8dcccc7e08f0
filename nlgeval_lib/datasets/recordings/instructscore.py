"""InstructScore's raw outputs on WMT-22 zh-en and on WebNLG-2020."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pandas as pd

from nlgeval_lib.datasets import fetch, webnlg2020, wmt22_zhen
from nlgeval_lib.datasets.recordings import known

_SEPARATOR = "[SEP_WENDA]"
# the last words of the prompt, which each stored text repeats before the judge's own
_PROMPT_END = "meaning but will be noticed."
_BEFORE_OUTPUT = '". The model generated output is "'
_AFTER_OUTPUT = '". Please identify all errors within each model output'
_WMT_SYSTEMS = (*wmt22_zhen.SYSTEMS, wmt22_zhen.HUMAN_SYSTEM)


def _webnlg(system: str, ending: str) -> str:
    return f"webnlg2020/test_webnlg_{system.replace('(', '').replace(')', '')}_llama_ref_data{ending}"


def _wmt(system: str) -> str:
    return f"wmt22_zhen/test_wmt22_{system}_llama_ref_data_0_None.txt"


RECORDINGS = {
    "instructscore_wmt22": known("instructscore_wmt22", *map(_wmt, _WMT_SYSTEMS)),
    "instructscore_webnlg": known(
        "instructscore_webnlg",
        *(_webnlg(system, ending) for ending in ("_0_None.txt", ".json") for system in webnlg2020.SYSTEMS),
        webnlg2020.PREPARED,
    ),
}


def load(name: str) -> pd.DataFrame:
    """One row an output, one aspect: `mqm` for WMT, its 14 systems and refB, and `overall` for WebNLG.

    `text` is what follows the prompt; it is empty where the prompt filled the judge's window and was cut off. WebNLG
    has 177 of the 178 inputs (not 1124), matched by output and ratings.
    """
    return _stored(name, lambda text: text.partition(_PROMPT_END)[2], "text").assign(draw=0)


def prompts(name: str) -> pd.DataFrame:
    """The prompt of each output, as the judge's stored text repeats it."""
    return _stored(name, lambda text: "".join(text.partition(_PROMPT_END)[:2]), "prompt")


def _stored(name: str, part: Callable[[str], str], column: str) -> pd.DataFrame:
    """The keys of each output, and a part of the judge's stored text: prompt and answer in one."""
    dataset = RECORDINGS[name].dataset
    aspect, rows = ("mqm", _wmt_rows()) if dataset == "wmt22_zhen" else ("overall", _webnlg_rows())
    frame = pd.DataFrame(rows, columns=["system_id", "input_id", column])
    keys = {"dataset": dataset, "aspect": aspect, "judge": "InstructScore", "prompt_form": "reference"}
    return frame.assign(**{column: frame[column].map(part)}, **keys)


def _texts(relpath: str) -> list[str]:
    """The stored texts of a file, each without its leading number."""
    return [piece.partition("\t")[2] for piece in fetch.text(relpath).split(_SEPARATOR)[:-1]]


def _wmt_rows() -> Iterator[tuple[str, str, str]]:
    for system in _WMT_SYSTEMS:
        for number, text in enumerate(_texts(_wmt(system))):
            yield system, wmt22_zhen.input_id(number), text


def _webnlg_rows() -> Iterator[tuple[str, str, str]]:
    """The files have their own order and no ids: an output is found by system, text and its five ratings."""

    def key(system: str, output: str, scores: dict[str, float]) -> tuple:
        return system, output.strip(), *(scores.get(name) for name in webnlg2020.CRITERIA.values())

    known: dict[tuple, list[str]] = {}
    for entry in fetch.json_file(webnlg2020.PREPARED):
        for one in entry["candidates"]:
            known.setdefault(key(one["model"], one["text"], one["scores"]), []).append(str(entry["id"]))
    for system in webnlg2020.SYSTEMS:
        instances = fetch.json_file(_webnlg(system, ".json"))["instances"]
        for instance, text in zip(instances, _texts(_webnlg(system, "_0_None.txt")), strict=True):
            output = instance["input"].partition(_BEFORE_OUTPUT)[2].partition(_AFTER_OUTPUT)[0]
            [found] = known[key(system, output, instance["output"])]
            yield system, found, text
