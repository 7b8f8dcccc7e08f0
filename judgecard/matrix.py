"""Many judges in one view: prompts by models, each with a card, on the same rows.

`table` sets their numbers side by side, and says which judge is best and from which
others these rows tell it; `pairs` has the paired tests behind that, corrected;
`write` makes the table, a figure and a page that leads to each judge's card.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judgecard import figures, web
from judgecard.cards import Card
from judgecard.compare import compared
from judgecard.written import esc
from judgecard.written import table as as_markdown
from nlgeval_lib import files
from nlgeval_lib.engines.completion import Progress
from nlgeval_lib.records import Completion
from nlgeval_lib.scoring import ProgressBar
from nlgeval_lib.statistics import correct

ALPHA = 0.05
BEST = "best"
NOT_TOLD = "not told from the best"
WORSE = "worse than the best"
_PLACE = ["set", "aspect"]
_HOW = (
    "Agreement is Kendall's tau-b over all outputs, of pairs the share of right "
    "verdicts, with 95 % intervals. Each two judges are compared on the rows that both "
    "scored, and p is corrected (Holm) for all pairs of judges of a set and aspect; a "
    "judge that is not told from the best may be as good. On the front is a judge that "
    "no other one beats at its price or below it, by the numbers as they are."
)


class OverBudget(Exception):
    """What was asked has cost all that may be spent."""


@dataclass
class Budget:
    """What may be spent, and what was.

    money: None for no bound. spent: by this and earlier runs of the plan.
    """

    money: float | None = None
    spent: float = 0.0
    price: tuple[float, float] | None = field(default=None, repr=False)

    def check(self) -> None:
        """Pass where something is left. Raises: OverBudget."""
        if self.money is not None and self.spent >= self.money:
            raise OverBudget(f"{self.spent:.4g} of {self.money:g} are spent")

    def take(self, prompt_tokens: int, new_tokens: int) -> None:
        """Count what was asked. Raises: OverBudget where nothing is left for more."""
        if self.price is not None:
            price_in, price_out = self.price
            self.spent += (prompt_tokens * price_in + new_tokens * price_out) / 1e6
        self.check()


class Meter(ProgressBar):
    """A bar that counts what is spent, and stops where nothing is left."""

    def __init__(self, name: str, quiet: bool, budget: Budget) -> None:
        super().__init__(name, quiet=quiet)
        self._budget = budget
        self._counted = Progress(total=0, stored=0)

    def report(self, progress: Progress, batch: Sequence[Completion] = ()) -> None:
        super().report(progress, batch)
        earlier = self._counted
        if progress.done < earlier.done:
            # a new stage begins
            earlier = Progress(total=0, stored=0)
        self._counted = progress
        self._budget.take(
            progress.prompt_tokens - earlier.prompt_tokens,
            progress.completion_tokens - earlier.completion_tokens,
        )


def folder_of(judge: str) -> str:
    """The folder of a judge's card, by its name.

    Example:
    >>> folder_of("short / org/model-7b")
    'short_org_model_7b'
    """
    return re.sub(r"\W+", "_", judge).strip("_")


def pairs(cards: Mapping[str, Card]) -> pd.DataFrame:
    """Each two judges, compared on the rows that both scored.

    cards: by the judge's name, with their scores.
    Returns: `set, aspect, first, second, n, gain, low, high, p, p_adjusted, verdict`; a
    gain above 0 says that the second follows the ratings better. `verdict` is "better",
    "worse" or "no difference found" by the corrected p, or why there is none.
    """
    rows = []
    for (first, card), (second, second_card) in combinations(cards.items(), 2):
        for row in compared(card, second_card).to_dict("records"):
            row |= {"first": first, "second": second}
            rows.append(row)
    columns = [*_PLACE, "first", "second", "n", "gain", "low", "high", "p", "verdict"]
    judged = pd.DataFrame(rows).reindex(columns=columns)
    if judged.empty:
        return judged.assign(p_adjusted=[])
    p = judged["p"].astype(float).to_numpy()
    families = list(zip(judged["set"], judged["aspect"], strict=True))
    judged["p_adjusted"] = correct(list(p), "holm", families).adjusted
    tested = judged["p_adjusted"].notna()
    better = np.where(judged["gain"] > 0, "better", "worse")
    clear = np.where(judged["p_adjusted"] <= ALPHA, better, "no difference found")
    judged["verdict"] = judged["verdict"].where(~tested, clear)
    return judged


def table(cards: Mapping[str, Card], tests: pd.DataFrame) -> pd.DataFrame:
    """A row a judge, set and aspect, the best first.

    cards: by the judge's name. tests: of `pairs`.
    Returns: `set, aspect, judge, agreement, low, high, n, scored`, what 1,000 judgments
    take (`seconds, money, tokens`; NaN where it is not known), `standing` (`BEST`,
    `NOT_TOLD`, `WORSE`, or "" where there is no number), and whether it is on the
    `front`.
    """
    rows = []
    for judge, card in cards.items():
        for name, numbers in card.numbers["sets"].items():
            cost = numbers.get("cost") or {}
            shared = {
                "set": name,
                "judge": judge,
                "scored": numbers["coverage"]["value"],
                "seconds": cost.get("seconds"),
                "money": cost.get("money"),
                "tokens": cost.get("prompt_tokens", np.nan)
                + cost.get("new_tokens", np.nan),
            }
            for aspect, cell in _agreements(numbers).items():
                rows.append(
                    {
                        **shared,
                        "aspect": aspect,
                        "agreement": cell.get("value"),
                        "low": cell.get("low"),
                        "high": cell.get("high"),
                        "n": cell.get("n"),
                    }
                )
    columns = [*_PLACE, "judge", "agreement", "low", "high", "n", "scored"]
    columns += ["seconds", "money", "tokens"]
    judged = pd.DataFrame(rows, columns=columns)
    numeric = ["agreement", "low", "high", "seconds", "money", "tokens"]
    judged[numeric] = judged[numeric].astype(float)
    parts = []
    for _, group in judged.groupby(_PLACE, sort=False):
        ordered = group.sort_values("agreement", ascending=False, kind="stable")
        front = _on_front(ordered)
        parts.append(ordered.assign(standing=_standings(ordered, tests), front=front))
    return pd.concat(parts, ignore_index=True)


def _agreements(numbers: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Aspect -> its number with an interval; of pairs "accuracy" alone."""
    if numbers["kind"] == "pairs":
        return {"accuracy": numbers["accuracy"]}
    cells = {}
    for aspect, measured in numbers["aspects"].items():
        cells[aspect] = measured.get("dataset", {}).get("kendall", {})
    return cells


def _standings(group: pd.DataFrame, tests: pd.DataFrame) -> list[str]:
    """Where each judge of one set and aspect stands to the best.

    group: rows of `table`, the best judge first.
    tests: of `pairs`, of all sets.
    """
    judges = list(group["judge"])
    place = group.iloc[0]
    of_place = tests[
        (tests["set"] == place["set"]) & (tests["aspect"] == place["aspect"])
    ]
    is_worse_than = {}
    for row in of_place.to_dict("records"):
        is_worse_than[row["first"], row["second"]] = row["verdict"] == "worse"
        is_worse_than[row["second"], row["first"]] = row["verdict"] == "better"
    standings = []
    for judge, value in zip(judges, group["agreement"], strict=True):
        if np.isnan(value):
            standings.append("")
        elif judge == judges[0]:
            standings.append(BEST)
        else:
            standings.append(NOT_TOLD)
            if is_worse_than.get((judges[0], judge), False):
                standings[-1] = WORSE
    return standings


def _on_front(group: pd.DataFrame) -> list[bool]:
    """Whether no judge costs as little or less and agrees better; by money, where it is
    known of all, else by seconds, else by tokens.
    """
    price = group["tokens"]
    for name in ("money", "seconds"):
        if group[name].notna().all():
            price = group[name]
            break
    front = []
    for value, price_here in zip(group["agreement"], price, strict=True):
        beaten = (price <= price_here) & (group["agreement"] > value)
        front.append(bool(not np.isnan(value) and not beaten.any()))
    return front


def draw(judged: pd.DataFrame) -> Any:
    """The figure: bars with intervals, a group a set and aspect."""
    drawn = judged.dropna(subset=["agreement"])
    where = drawn["set"] + ", " + drawn["aspect"]
    return figures.bars_with_intervals(
        drawn.assign(where=where),
        label="judge",
        value="agreement",
        group="where",
        xlabel="agreement with people, 95 % intervals",
    )


def write(cards: Mapping[str, Card], folder: str | Path) -> list[Path]:
    """Write matrix.csv, pairs.csv, matrix.md, matrix.html and the figure.

    cards: by the judge's name, each written into its `folder_of` below the folder.
    Returns: what was written. Raises: OSError.
    """
    import matplotlib.pyplot as plt

    tests = pairs(cards)
    judged = table(cards, tests)
    contents: dict[str, str] = {
        "matrix.csv": judged.to_csv(index=False, lineterminator="\n"),
        "pairs.csv": tests.to_csv(index=False, lineterminator="\n"),
    }
    picture = b""
    if judged["agreement"].notna().any():
        figure = draw(judged)
        forms = figures.render(figure)
        plt.close(figure)
        picture = forms["png"]
    text = _markdown(judged, tests, bool(picture))
    contents["matrix.md"] = text
    body = web.text_body(text.replace("![agreement](matrix.png)\n\n", ""))
    if picture:
        body += web.picture(picture, "agreement", 700)
    contents["matrix.html"] = web.page("Judges side by side", body, scripts=())
    paths = []
    for name, content in contents.items():
        files.write_text(Path(folder, name), content)
        paths.append(Path(folder, name))
    if picture:
        with files.replacing(Path(folder, "matrix.png")) as draft:
            draft.write_bytes(picture)
        paths.append(Path(folder, "matrix.png"))
    return paths


def _markdown(judged: pd.DataFrame, tests: pd.DataFrame, has_picture: bool) -> str:
    """The page: what is best, the table, the figure, the tests.

    judged: of `table`.
    tests: of `pairs`.
    """
    paragraphs = ["# Judges side by side", *map(esc, best(judged))]
    numbers = judged.assign(front=np.where(judged["front"], "yes", ""))
    paragraphs += ["## All numbers", _rounded(numbers)]
    links = []
    for judge in judged["judge"].unique():
        name = folder_of(judge)
        links.append(f"- [{name}]({name}/card.html)")
    paragraphs += ["## The card of each judge", "\n".join(links)]
    if has_picture:
        paragraphs.append("![agreement](matrix.png)")
    if len(tests):
        paragraphs += ["## Each two judges", _rounded(tests)]
    return "\n\n".join([*paragraphs, _HOW]) + "\n"


def _rounded(frame: pd.DataFrame) -> str:
    """A frame as a Markdown table, its numbers with three digits."""
    rows = []
    for record in frame.to_dict("records"):
        cells = {}
        for name, value in record.items():
            cells[name] = value
            if value is None or value != value:
                cells[name] = "–"
            elif isinstance(value, float):
                cells[name] = f"{value:.3f}".removesuffix(".000")
        rows.append(cells)
    return as_markdown(rows)


def best(judged: pd.DataFrame) -> list[str]:
    """A sentence a set and aspect: which judge is best, and which may be as good."""
    sentences = []
    for (name, aspect), group in judged.groupby(_PLACE, sort=False):
        first = group.iloc[0]
        if first["standing"] != BEST:
            sentences.append(f"{name}, {aspect}: no judge has a number.")
            continue
        sentence = (
            f"{name}, {aspect}: {first['judge']} is best ({first['agreement']:.3f})"
        )
        alike = list(group.loc[group["standing"] == NOT_TOLD, "judge"])
        worse = int((group["standing"] == WORSE).sum())
        if alike:
            sentence += f"; not told from it by these rows: {', '.join(alike)}"
        if worse:
            sentence += f"; told from it: {worse} of {len(group) - 1}"
        sentences.append(f"{sentence}.")
    return sentences
