"""GEMBA's direct assessments of WMT-22 zh-en by GPT-4 and ChatGPT, scores only:
150,000.

Source: Kocmi and Federmann 2023, Large Language Models Are State-of-the-Art Evaluators
of Translation Quality.
"""

from __future__ import annotations

import csv
from collections.abc import Callable

import pandas as pd

from nlgeval_lib.datasets import fetch, wmt22_zhen

# (judge, prompt form) -> file
GEMBA = {
    (judge, form): f"wmt22_zhen/GEMBA-{judge}-{form}.seg.score"
    for judge in ("GPT4", "Turbo")
    for form in ("DA-refA", "DA-src")
}


def _gemba(rated: bool = False) -> pd.DataFrame:
    """One row a judge, prompt form, system and segment: 0 to 100, higher is better.

    rated: only the 14 systems of the data set's frame. Else there are 20, among them
    refA and refB and four without MQM.

    The prompt form DA-refA shows refA, DA-src shows no reference. `judge` is GPT4 or
    Turbo (ChatGPT).
    """
    frames = []
    for (judge, form), relpath in GEMBA.items():
        scores = pd.read_csv(
            fetch.path(relpath),
            sep="\t",
            names=["system_id", "value"],
            dtype={"system_id": str, "value": float},
            keep_default_na=False,
            quoting=csv.QUOTE_NONE,
        )
        # The lines of a system stand in the order of the segments.
        segments = scores.groupby("system_id").cumcount()
        ids = segments.map(wmt22_zhen.input_id)
        frames.append(scores.assign(judge=judge, prompt_form=form, input_id=ids))
    frame = pd.concat(frames, ignore_index=True)
    frame = frame.assign(dataset="wmt22_zhen", aspect="mqm", draw=0)
    if not rated:
        return frame
    return frame[frame["system_id"].isin(wmt22_zhen.SYSTEMS)].reset_index(drop=True)


FILES: dict[str, tuple[str, ...]] = {"gemba_wmt22": tuple(GEMBA.values())}
READERS: dict[str, Callable[..., pd.DataFrame]] = {"gemba_wmt22": _gemba}
