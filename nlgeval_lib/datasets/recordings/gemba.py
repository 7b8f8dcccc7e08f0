"""GEMBA's direct assessments of WMT-22 zh-en by GPT-4 and ChatGPT: scores only."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import fetch, wmt22_zhen
from nlgeval_lib.datasets.recordings import known

# (judge, prompt form) -> file
FILES = {
    (judge, form): f"wmt22_zhen/GEMBA-{judge}-{form}.seg.score"
    for judge in ("GPT4", "Turbo")
    for form in ("DA-refA", "DA-src")
}

RECORDINGS = {"gemba_wmt22": known("gemba_wmt22", *FILES.values())}


def load(name: str, rated: bool = False) -> pd.DataFrame:
    """One row a judge, prompt form, system and segment: 0 to 100, higher is better; with refA or without a reference.

    20 systems, among them refA and refB and four without MQM; `rated` keeps only the 14 of the data set's frame.
    """
    parts = []
    for (judge, form), relpath in FILES.items():
        rows = [line.split("\t") for line in fetch.text(relpath).removesuffix("\n").split("\n")]
        part = pd.DataFrame(rows, columns=["system_id", "value"]).astype({"value": float})
        segments = part.groupby("system_id").cumcount()
        parts.append(part.assign(judge=judge, prompt_form=form, input_id=segments.map(wmt22_zhen.input_id)))
    frame = pd.concat(parts, ignore_index=True).assign(dataset="wmt22_zhen", aspect="mqm", draw=0)
    return frame[frame["system_id"].isin(wmt22_zhen.SYSTEMS)].reset_index(drop=True) if rated else frame
