"""InstructScore's raw outputs on WMT-22 zh-en and on WebNLG-2020."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import _read, webnlg2020, wmt22_zhen
from nlgeval_lib.datasets.recordings._base import Recording
from nlgeval_lib.datasets.specs import expect

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


_SOURCE = "Xu et al. 2023, InstructScore"
_NOTE = "text is what follows the prompt; it is empty where the prompt filled the judge's window and was cut off"

RECORDINGS = {
    "instructscore_wmt22": Recording(
        name="instructscore_wmt22",
        title="InstructScore on WMT-22 zh-en",
        dataset="wmt22_zhen",
        files=tuple(_wmt(system) for system in _WMT_SYSTEMS),
        n_rows=28_125,
        kept="text",
        licence="none stated",
        source=_SOURCE,
        notes=(_NOTE, "14 systems and refB, which the frame has with systems='all'"),
    ),
    "instructscore_webnlg": Recording(
        name="instructscore_webnlg",
        title="InstructScore on WebNLG-2020",
        dataset="webnlg2020",
        files=(
            *(_webnlg(system, "_0_None.txt") for system in webnlg2020.SYSTEMS),
            *(_webnlg(system, ".json") for system in webnlg2020.SYSTEMS),
            webnlg2020.PREPARED,
        ),
        n_rows=2832,
        kept="text",
        licence="none stated",
        source=_SOURCE,
        notes=(_NOTE, "177 of the 178 inputs (not 1124), matched by output and ratings"),
    ),
}


def load(recording: Recording) -> pd.DataFrame:
    """One row an output, one aspect: `mqm` for WMT, `overall` for WebNLG."""
    keys, stored = _keys(recording)
    return keys.assign(draw=0, text=[text.partition(_PROMPT_END)[2] for text in stored])


def prompts(recording: Recording) -> pd.DataFrame:
    """The prompt of each output, as the judge's stored text repeats it."""
    keys, stored = _keys(recording)
    return keys.assign(prompt=["".join(text.partition(_PROMPT_END)[:2]) for text in stored])


def _keys(recording: Recording) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The key columns of each output, and the judge's stored text: prompt and answer in one."""
    wmt = recording.dataset == "wmt22_zhen"
    rows = _wmt_rows(recording) if wmt else _webnlg_rows(recording)
    systems, inputs, stored = zip(*rows, strict=True)
    keys = pd.DataFrame(
        {
            "dataset": recording.dataset,
            "input_id": inputs,
            "system_id": systems,
            "aspect": "mqm" if wmt else "overall",
            "judge": "InstructScore",
            "prompt_form": "reference",
        }
    )
    return keys, stored


def _stored(relpath: str, expected: int, name: str) -> list[str]:
    """The stored texts of a file, each without its leading number."""
    pieces = _read.text(relpath).split(_SEPARATOR)
    expect(name, f"text after the last separator of {relpath}", pieces.pop().strip(), "")
    expect(name, f"texts in {relpath}", len(pieces), expected)
    texts = []
    for number, piece in enumerate(pieces):
        head, _, text = piece.partition("\t")
        expect(name, f"number of a text in {relpath}", head.strip(), str(number))
        texts.append(text)
    return texts


def _wmt_rows(recording: Recording) -> list[tuple[str, str, str]]:
    return [
        (system, wmt22_zhen.input_id(number), text)
        for system in _WMT_SYSTEMS
        for number, text in enumerate(_stored(_wmt(system), wmt22_zhen.SEGMENTS, recording.name))
    ]


def _webnlg_rows(recording: Recording) -> list[tuple[str, str, str]]:
    """The files have their own order and no ids: an output is found by system, text and its five ratings."""
    known: dict[tuple, list[str]] = {}
    for entry in _read.json_file(webnlg2020.PREPARED):
        for candidate in entry["candidates"]:
            key = (candidate["model"], candidate["text"].strip(), _ratings(candidate["scores"]))
            known.setdefault(key, []).append(str(entry["id"]))
    rows = []
    for system in webnlg2020.SYSTEMS:
        instances = _read.json_file(_webnlg(system, ".json"))["instances"]
        texts = _stored(_webnlg(system, "_0_None.txt"), len(instances), recording.name)
        for number, (instance, text) in enumerate(zip(instances, texts, strict=True)):
            _, _, rest = instance["input"].partition(_BEFORE_OUTPUT)
            output, _, _ = rest.partition(_AFTER_OUTPUT)
            found = known.get((system, output.strip(), _ratings(instance["output"])), [])
            expect(recording.name, f"inputs that fit output {number} of {system}", len(found), 1)
            rows.append((system, found[0], text))
    return rows


def _ratings(scores: dict[str, float]) -> tuple[float | None, ...]:
    return tuple(scores.get(name) for name in webnlg2020.CRITERIA.values())
