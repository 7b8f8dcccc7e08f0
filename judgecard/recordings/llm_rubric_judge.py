"""gpt-3.5-turbo-16k's answers to LLM-Rubric's questions: 223 dialogues x 9 questions,
values only.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from nlgeval_lib.datasets import llm_rubric

FILES: dict[str, tuple[str, ...]] = {
    "llm_rubric_judge": (llm_rubric.JUDGE, llm_rubric.DRAWN, llm_rubric.HUMAN),
}
READERS: dict[str, Callable[..., pd.DataFrame]] = {"llm_rubric_judge": llm_rubric.judge}
