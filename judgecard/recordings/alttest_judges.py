"""The judges that the alternative test's authors recorded on eight labelled sets:
45,290 labels, values only.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from nlgeval_lib.datasets import alttest

FILES: dict[str, tuple[str, ...]] = {
    "alttest_judges": (
        *map(alttest.human_file, alttest.LABELS),
        *map(alttest.judges_file, alttest.LABELS),
    ),
}
READERS: dict[str, Callable[..., pd.DataFrame]] = {"alttest_judges": alttest.judges}
