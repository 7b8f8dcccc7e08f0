"""The recomputed numbers in the form in which reproductions are exchanged: a row a
number of a study.

`results/exchange.csv` has the columns of the ReproNLP shared task's assessment of
reproducibility (QRA++): Key, Study, Experiment, System, Criterion, Result. Only what was
computed here from public data or by running the judge is in it: what follows from other
printed numbers, or came from another judge, repeats no measurement.
"""

from __future__ import annotations

import pandas as pd

from reproduction.report import reproduction, saving

NAME = "results/exchange.csv"
# Column of a compared cell -> the study whose result it holds.
STUDIES = {"printed": "original", "ours": "reproduction"}


def text(cells: pd.DataFrame) -> str:
    """The file's text.

    cells: compared cells, as `scoreboard.cells` gives them.
    """
    numbers = reproduction.recomputed(cells)
    experiment = numbers["paper"] + " " + numbers["table"]
    criterion = numbers["column"] + ", " + numbers["statistic"]
    rows = []
    for place, study in STUDIES.items():
        frame = {
            "Key": experiment + "/" + numbers["row"] + "/" + criterion,
            "Study": study,
            "Experiment": experiment,
            "System": numbers["row"],
            "Criterion": criterion,
            "Result": numbers[place],
        }
        rows.append(pd.DataFrame(frame))
    both = pd.concat(rows).sort_values(["Key", "Study"], kind="stable")
    return saving.csv_text(both)
