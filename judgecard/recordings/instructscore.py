"""InstructScore's raw outputs on WMT-22 zh-en (28,125) and WebNLG-2020 (2832)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pandas as pd

from nlgeval_lib.datasets import fetch, webnlg2020, wmt22_zhen

# of the prompt, which each stored text repeats before the judge's own: its last words,
# and what stands around the output
_PROMPT_END = "meaning but will be noticed."
_BEFORE_OUTPUT = '". The model generated output is "'
_AFTER_OUTPUT = '". Please identify all errors within each model output'
_WMT_SYSTEMS = (*wmt22_zhen.SYSTEMS, wmt22_zhen.HUMAN_SYSTEM)


def _webnlg_file(system: str, ending: str) -> str:
    """The registry path of a system's outputs (ending .txt) or inputs (ending .json)."""
    name = system.replace("(", "").replace(")", "")
    return f"webnlg2020/test_webnlg_{name}_llama_ref_data{ending}"


def _wmt_file(system: str) -> str:
    """The registry path of the judge's outputs on a translation system."""
    return f"wmt22_zhen/test_wmt22_{system}_llama_ref_data_0_None.txt"


def _instructscore(dataset: str) -> pd.DataFrame:
    """One row an output, one aspect: `mqm` for WMT, its 14 systems and refB, and
    `overall` for WebNLG.

    dataset: wmt22_zhen or webnlg2020.

    `text` is what follows the prompt; it is empty where the prompt filled the judge's
    window and was cut off (54 of WMT). WebNLG has 177 of the 178 inputs (not 1124),
    matched by output and ratings.
    """
    is_wmt = dataset == "wmt22_zhen"
    rows = _wmt_rows() if is_wmt else _webnlg_rows()
    frame = pd.DataFrame(rows, columns=["system_id", "input_id", "stored"])
    # each stored text repeats the prompt before the judge's own
    frame["text"] = frame.pop("stored").str.partition(_PROMPT_END)[2]
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
    """System, input and stored text of each output; the files are in segment order."""
    for system in _WMT_SYSTEMS:
        for number, text in enumerate(_stored_texts(_wmt_file(system))):
            yield system, wmt22_zhen.input_id(number), text


def _webnlg_rows() -> Iterator[tuple[str, str, str]]:
    """System, input and stored text of each output, system by system."""
    ids: dict[tuple, list[str]] = {}
    for record in fetch.json_file(webnlg2020.PREPARED):
        for candidate in record["candidates"]:
            key = _key(candidate["model"], candidate["text"], candidate["scores"])
            ids.setdefault(key, []).append(str(record["id"]))
    for system in webnlg2020.SYSTEMS:
        instances = fetch.json_file(_webnlg_file(system, ".json"))["instances"]
        texts = _stored_texts(_webnlg_file(system, "_0_None.txt"))
        for instance, text in zip(instances, texts, strict=True):
            ending = instance["input"].partition(_BEFORE_OUTPUT)[2]
            output = ending.partition(_AFTER_OUTPUT)[0]
            # A key that several inputs have would not name one: this would fail.
            [input_id] = ids[_key(system, output, instance["output"])]
            yield system, input_id, text


def _key(system: str, output: str, scores: dict[str, float]) -> tuple:
    """What names an output of WebNLG: system, text and ratings."""
    ratings = map(scores.get, webnlg2020.CRITERIA.values())
    return system, output.strip(), *ratings


FILES: dict[str, tuple[str, ...]] = {
    "instructscore_wmt22": tuple(map(_wmt_file, _WMT_SYSTEMS)),
    "instructscore_webnlg": (
        *(
            _webnlg_file(system, ending)
            for ending in ("_0_None.txt", ".json")
            for system in webnlg2020.SYSTEMS
        ),
        webnlg2020.PREPARED,
    ),
}
READERS: dict[str, Callable[..., pd.DataFrame]] = {
    "instructscore_wmt22": lambda: _instructscore("wmt22_zhen"),
    "instructscore_webnlg": lambda: _instructscore("webnlg2020"),
}
