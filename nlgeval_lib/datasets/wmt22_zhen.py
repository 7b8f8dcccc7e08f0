"""WMT-22 Chinese to English: 14 translation systems, 1875 segments, MQM ratings."""

from __future__ import annotations

import pandas as pd

from nlgeval_lib.datasets import fetch, frame

SOURCE = "wmt22_zhen/generaltest2022.zh-en.src.zh"
REFERENCES = (
    "wmt22_zhen/generaltest2022.zh-en.ref.A.en",
    "wmt22_zhen/generaltest2022.zh-en.ref.B.en",
)
SYSTEMS = frame.systems("wmt22_zhen")
HUMAN_SYSTEM = "refB"  # the second reference, rated as if a system had written it
SEGMENTS = 1875
# The outputs are stored inside a prompt: what stands before, between and after.
_BEFORE = (
    "You are evaluating a model output based on a reference, "
    'which reflects text semantics. The correct translation is "'
)
_BETWEEN = '". The model generated translation is "'
_AFTER = '". Please identify all errors within each model output'


def prepared(system: str) -> str:
    """The registry path of the file with one system's outputs and MQM scores."""
    return f"wmt22_zhen/test_wmt22_zh-en_{system}_llama_ref_data.json"


SPEC = frame.known(
    "wmt22_zhen", SOURCE, *REFERENCES, *map(prepared, (*SYSTEMS, HUMAN_SYSTEM))
)


def input_id(number: int) -> str:
    """The id of the segment on line `number`, counted from 0."""
    return f"zhen-{number:04d}"


def load(systems: str = "mt") -> pd.DataFrame:
    """WMT-22 zh-en: 1875 segments x 14 systems with MQM, system by system in segment
    order.

    systems: "mt" for the 14 systems; "all" adds refB, the second reference, whose
    translator was rated too: 28,125 rows.

    One aspect, `mqm`, from 0 (no error) downwards, lowest here -80; `human` is the
    segment's score. An input is a segment, `segment` its number from 0. `reference` is
    refA; `references` has refA and refB.
    Raises: ValueError for another word for the systems, or another form of prompt.
    """
    if systems not in ("mt", "all"):
        raise ValueError(f"wmt22_zhen: systems is {systems!r}; allowed: mt, all")
    chosen = SYSTEMS if systems == "mt" else (*SYSTEMS, HUMAN_SYSTEM)
    source = _segments(SOURCE)
    references = list(zip(*map(_segments, REFERENCES), strict=True))
    system_ids = []
    ratings = []
    outputs = []
    # Outputs and ratings of all systems, one after the other.
    for system in chosen:
        instances = fetch.json_file(prepared(system))["instances"]
        for instance, (reference, _) in zip(instances, references, strict=True):
            system_ids.append(system)
            ratings.append({"mqm": instance["output"] + 0.0})  # -0.0 becomes 0.0
            outputs.append(_output(instance["input"], reference))
    number = len(chosen)
    columns: dict[str, list] = {
        "input_id": list(map(input_id, range(SEGMENTS))) * number,
        "system_id": system_ids,
        "human": ratings,
        "source": source * number,
        "references": references * number,
        "output": outputs,
        "segment": list(range(SEGMENTS)) * number,
    }
    return frame.build(SPEC, columns, (number * SEGMENTS, SEGMENTS, number))


def _segments(relpath: str) -> list[str]:
    """The lines of a file; only a line feed ends a segment."""
    return fetch.text(relpath).removesuffix("\n").split("\n")


def _output(prompt: str, reference: str) -> str:
    """The translation inside a stored prompt, behind the known reference. Raises:
    ValueError where the prompt is not of the known form.
    """
    start = _BEFORE + reference + _BETWEEN
    end = prompt.rfind(_AFTER)
    if not prompt.startswith(start) or end < len(start):
        raise ValueError(
            f"{SPEC.name}: a stored prompt is not of the known form with refA: "
            f"{reference[:40]}"
        )
    return prompt[len(start) : end]
