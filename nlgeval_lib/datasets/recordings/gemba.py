"""GEMBA's direct assessments of WMT-22 zh-en by GPT-4 and ChatGPT: scores only."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import _read, wmt22_zhen
from nlgeval_lib.datasets.recordings._base import Recording
from nlgeval_lib.datasets.specs import expect

# (judge, prompt form) -> file
FILES = {
    (judge, form): f"wmt22_zhen/GEMBA-{judge}-{form}.seg.score"
    for judge in ("GPT4", "Turbo")
    for form in ("DA-refA", "DA-src")
}
SYSTEMS = 20

RECORDINGS = {
    "gemba_wmt22": Recording(
        name="gemba_wmt22",
        title="GEMBA-DA on WMT-22 zh-en",
        dataset="wmt22_zhen",
        files=tuple(FILES.values()),
        n_rows=len(FILES) * SYSTEMS * wmt22_zhen.SEGMENTS,
        kept="value",
        licence="CC BY-SA 4.0",
        source="Kocmi and Federmann 2023, Large Language Models Are State-of-the-Art Evaluators of Translation Quality",
        notes=(
            "0 to 100, higher is better; with refA or without a reference",
            "20 systems, among them refA and refB and four without MQM; rated=True keeps the 14 of the frame",
        ),
    )
}


def load(recording: Recording, rated: bool = False) -> pd.DataFrame:
    """One row a judge, prompt form, system and segment; `rated` keeps only the systems of the data set's frame."""
    parts = []
    for (judge, form), relpath in FILES.items():
        rows = [line.split("\t") for line in _read.text(relpath).removesuffix("\n").split("\n")]
        expect(recording.name, f"scores in {relpath}", len(rows), SYSTEMS * wmt22_zhen.SEGMENTS)
        part = pd.DataFrame(rows, columns=["system_id", "value"])
        part["segment"] = part.groupby("system_id").cumcount()
        part["judge"], part["prompt_form"] = judge, form
        sizes = part["system_id"].value_counts()
        expect(
            recording.name, f"systems with {wmt22_zhen.SEGMENTS} segments in {relpath}", int((sizes == 1875).sum()), 20
        )
        parts.append(part)
    frame = pd.concat(parts, ignore_index=True)
    if rated:
        frame = frame[frame["system_id"].isin(wmt22_zhen.SYSTEMS)].reset_index(drop=True)
    frame["value"] = frame["value"].astype(float)
    frame["dataset"], frame["aspect"], frame["draw"] = "wmt22_zhen", "mqm", 0
    frame["input_id"] = [wmt22_zhen.input_id(number) for number in frame["segment"]]
    return frame[["dataset", "input_id", "system_id", "aspect", "judge", "prompt_form", "draw", "value"]]
