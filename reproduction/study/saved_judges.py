"""What open models said when they were asked here, once: `data/judged`.

A completion is made on one machine; its score is read from it once, and both travel:
the completions in `data/completions`, without prompts, and each row's score here, so
that a page needs neither weights nor texts. `write` makes the files from completions
(`tools/judged.py`), `scores` reads them as `questions.judge_scores` does with
`engine="saved"`.

A model has two files. NAME.parquet has a row a score: `judge` (its id in the catalogue),
`input_id, system_id, aspect, criterion, value, status, reason`, and of what a score was
made from `draws, listed, chain_mean`. NAME.json says who answered.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nlgeval_lib import datasets, files
from reproduction.study import question_rows
from reproduction.study.catalogue import JUDGED_BY, Question
from reproduction.study.scores import JudgeScores

PLACE = "data/judged"
KEYS = ["input_id", "system_id", "aspect"]  # what names a judged row
_ANSWER = ["value", "status", "reason"]
_COLUMNS = ["judge", *KEYS, "criterion", *_ANSWER, "draws", "listed", "chain_mean"]


@dataclass(frozen=True)
class Model:
    """Who answered, as a model's JSON file has it.

    name: of the model in the store. label: its name in tables.
    revision: in the store. weights: what its weights are called in signatures.
    engine: engine and version. day: when it was asked.
    judges: {judge's id: {"rows", "signature", "coverage", "criteria"}}; `rows` is the
    judge under which its rows are kept: judges that differ in the paper's model alone
    ask the same.
    """

    name: str
    label: str
    revision: str
    weights: str
    engine: str
    day: str
    judges: Mapping[str, Mapping[str, Any]]


def models() -> list[Model]:
    """The models whose scores are kept here, by name."""
    folder = files.located(PLACE)
    return [model(path.stem) for path in sorted(folder.glob("*.json"))]


@functools.lru_cache(maxsize=16)
def model(name: str) -> Model:
    """One of them. Raises: ValueError naming those that there are."""
    path = files.located(f"{PLACE}/{name}.json")
    if not path.is_file():
        known = sorted(other.stem for other in path.parent.glob("*.json"))
        listed = ", ".join(known) or "none"
        raise ValueError(f"no saved scores of {name!r}; there are those of {listed}")
    return Model(name, **json.loads(path.read_text(encoding="utf-8")))


def scores(
    question: Question,
    name: str,
    aspects: Sequence[str] = (),
    mode: str = "full",
    settings: Sequence[str] = (),
) -> JudgeScores:
    """What a model said when it was asked a question of the catalogue.

    name: of a model of `models`.
    settings: of the evaluator beside the catalogue's, such as another reader's.
    Returns: the scores; none, and the reason, where the model was not asked this.
    Raises: ValueError for an unknown model; DataUnavailable.
    """
    asked = model(name)
    judge = question.judge
    asked_for = key(judge.id, settings)
    if asked_for not in asked.judges:
        reason = f"{asked.label} was not asked for {asked_for}"
        return JudgeScores(False, reason)
    about = asked.judges[asked_for]
    rows = _rows(judge.data)
    rows = rows[question_rows.asked(rows, question)]
    rows = rows[question_rows.narrowed(rows, aspects, mode)]
    saved = _saved(name, about["rows"])
    criteria = tuple(about["criteria"])
    if criteria:
        answers = saved.pivot(index=KEYS, columns="criterion", values="value")
        answers = answers[list(criteria)]
    else:
        answers = saved.set_index(KEYS)[_ANSWER].assign(details=_details(saved))
    # Names of the answers' columns may stand in the data, too: the answers' are meant.
    asked_about = rows.drop(columns=answers.columns, errors="ignore")
    frame = asked_about.merge(answers, on=KEYS, validate="many_to_one")
    if frame.empty:
        return JudgeScores(False, f"{asked.label} was not asked about these rows")
    # The weights are named by their file, not by the folder they were unpacked to.
    asked_as = about["signature"].replace(asked.revision, asked.weights)
    return JudgeScores(
        True,
        frame=frame,
        signature=f"{asked_as}{JUDGED_BY}{name}@{asked.weights}",
        coverage=_coverage(frame[list(criteria or ["value"])]),
        model=name,
        revision=asked.weights,
        criteria=criteria,
    )


def _coverage(scores: pd.DataFrame) -> str:
    """How many of the scores are there, in words."""
    return f"{int(scores.notna().to_numpy().sum()):,} of {scores.size:,}"


def key(judge: str, settings: Sequence[str] = ()) -> str:
    """What a judge's scores are kept under.

    Example:
    >>> key("prometheus/vicuna_bench/prometheus-7b-v1.0", ["verbalizer=yes"])
    'prometheus/vicuna_bench/prometheus-7b-v1.0|verbalizer=yes'
    """
    return "|".join([judge, *settings])


@functools.lru_cache(maxsize=4)
def _rows(data: str) -> pd.DataFrame:
    """The rows of a data set, loaded once for several questions; their texts may be
    hashes.
    """
    return datasets.load(data)


@functools.lru_cache(maxsize=64)
def _saved(name: str, judge: str) -> pd.DataFrame:
    """The saved rows of one judge. name: the model's."""
    import pyarrow.parquet as parquet

    path = files.located(f"{PLACE}/{name}.parquet")
    table = parquet.read_table(path, filters=[("judge", "==", judge)])
    return table.to_pandas()


def _details(saved: pd.DataFrame) -> list[dict[str, Any]]:
    """What each score was made from, in the words that evaluators use: `values` of
    draws; `n_listed` and `chain_mean` of a chain of aspects.
    """
    rows = []
    for row in saved.itertuples():
        details: dict[str, Any] = {}
        if len(row.draws):
            details["values"] = tuple(row.draws)
        if row.listed:
            details["n_listed"] = row.listed
            details["chain_mean"] = row.chain_mean
        rows.append(details)
    return rows


# -- writing


def table(judged: Mapping[str, Iterable[JudgeScores]]) -> pd.DataFrame:
    """Scores, by the judge's id, as the parquet file has them, sorted."""
    parts = []
    for judge, several in judged.items():
        for answers in several:
            rows = _melted(answers) if answers.criteria else _plain(answers)
            parts.append(rows.assign(judge=judge))
    rows = pd.concat(parts, ignore_index=True)[_COLUMNS]
    key = ["judge", *KEYS, "criterion"]
    return rows.drop_duplicates(key).sort_values(key, ignore_index=True)


def _plain(answers: JudgeScores) -> pd.DataFrame:
    """The rows of a judge that gives one score a row."""
    rows = answers.frame[[*KEYS, *_ANSWER]].assign(criterion="")
    draws = []
    listed = []
    means = []
    for details in answers.frame["details"]:
        draws.append(list(details.get("values", ())))
        listed.append(details.get("n_listed", 0))
        given = list(details.get("aspect_scores", {}).values())
        means.append(float(np.mean(given)) if given else np.nan)
    return rows.assign(draws=draws, listed=listed, chain_mean=means)


def _melted(answers: JudgeScores) -> pd.DataFrame:
    """The rows of an HD-Eval that has to be fitted: a row a criterion."""
    rows = answers.frame.melt(
        KEYS, list(answers.criteria), var_name="criterion", value_name="value"
    )
    status = np.where(rows["value"].notna(), "ok", "unparsed")
    empty: list[list[float]] = [[] for _ in range(len(rows))]
    return rows.assign(
        status=status, reason="", draws=empty, listed=0, chain_mean=np.nan
    )


def write(
    name: str,
    about: Mapping[str, Any],
    judged: Mapping[str, Sequence[JudgeScores]],
    folder: Path,
) -> None:
    """Write a model's two files. about: the fields of `Model` but `judges`."""
    import pyarrow
    import pyarrow.parquet as parquet

    kept = _asked_apart(judged)
    rows = table({judge: judged[judge] for judge in set(kept.values())})
    with files.replacing(folder / f"{name}.parquet") as draft:
        schema = pyarrow.Table.from_pandas(rows, preserve_index=False)
        schema = schema.replace_schema_metadata(None)
        parquet.write_table(schema, draft, compression="zstd")
    judges = {}
    for judge, several in sorted(judged.items()):
        of_judge = rows[rows["judge"] == kept[judge]]
        n_scores = int(of_judge["value"].notna().sum())
        first = several[0]
        judges[judge] = {
            "rows": kept[judge],
            "signature": first.signature.partition(JUDGED_BY)[0],
            "coverage": f"{n_scores:,} of {len(of_judge):,}",
            "criteria": list(first.criteria),
        }
    text = json.dumps({**about, "judges": judges}, indent=1, ensure_ascii=False)
    files.write_text(folder / f"{name}.json", text + "\n")


def _asked_apart(judged: Mapping[str, Sequence[JudgeScores]]) -> dict[str, str]:
    """{judge's id: the first judge's that asked the same of the same model}."""
    first_of: dict[tuple[str, ...], str] = {}
    kept = {}
    for judge in sorted(judged):
        data = judge.split("/")[1]
        asked = (data, judged[judge][0].signature)
        kept[judge] = first_of.setdefault(asked, judge)
    return kept
