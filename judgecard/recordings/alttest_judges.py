"""The judges that the alternative test's authors recorded on eight labelled sets:
45,290 labels, values only.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from nlgeval_lib.datasets import alttest, fetch, labelled


def _file(part: str) -> str:
    """The registry path of the judges' labels of a set: {judge: {item: label}}."""
    return f"alttest/{part}/llm_annotations.json"


def _load() -> pd.DataFrame:
    """What gpt-4o, gpt-4o-mini, gemini_flash and gemini_pro say of each item of the
    eight sets, llama-31 and mistral-v03 of all but `lesion`.

    `value` is a grade or the place of a category, as in the set's frame; none is
    missing.
    """
    frames = []
    for part, words in alttest.LABELS.items():
        labels = pd.DataFrame(fetch.json_file(_file(part)), dtype=object)
        coded = labelled.coded_table(labels, words)
        by_item = coded.rename(index=alttest.item_names(part))
        rows = by_item.melt(var_name="judge", ignore_index=False)
        rows = rows.reset_index(names="input_id")
        frames.append(rows.assign(dataset=f"{alttest.PREFIX}{part}"))
    rows = pd.concat(frames, ignore_index=True)
    return rows.assign(
        system_id="", aspect=alttest.ASPECT, prompt_form="unknown", draw=0
    )


FILES: dict[str, tuple[str, ...]] = {
    "alttest_judges": (
        *map(alttest.human_file, alttest.LABELS),
        *map(_file, alttest.LABELS),
    ),
}
READERS: dict[str, Callable[..., pd.DataFrame]] = {"alttest_judges": _load}
