"""Many judges in one view: prompts by models, each with a card, on the same rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judgecard import figures, glance, verdict, web
from judgecard.cards import Card
from judgecard.compare import compared
from judgecard.written import DASH, agreements, cell, p_value, share
from judgecard.written import table as as_markdown
from nlgeval_lib import files, tables
from nlgeval_lib.engines.completion import Progress
from nlgeval_lib.records import Completion
from nlgeval_lib.scoring import ProgressBar
from nlgeval_lib.statistics import correct

ALPHA = 0.05
BEST = "best"
NOT_TOLD = "not told from the best"
WORSE = "worse than the best"
_PLACE = ["set", "aspect"]
# what a judge's card says of an aspect, in few words
_USE = {
    verdict.FAILS: "not to be used",
    verdict.UNPROVEN: "not proved to be of use",
    verdict.PRAISES: "follows people",
}
_TITLE = "Judges side by side"
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
            cost = prompt_tokens * price_in + new_tokens * price_out
            self.spent += cost / 1e6  # prices are of a million tokens
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
    """The folder of a judge's card, by its name."""
    return re.sub(r"\W+", "_", judge).strip("_")


def pairs(cards: Mapping[str, Card]) -> pd.DataFrame:
    """Each two judges, compared on the rows that both scored.

    Returns: `set, aspect, first, second, n, gain, low, high, p, p_adjusted, verdict`; a
    gain above 0 says that the second follows the ratings better. `verdict` is "better",
    "worse" or "no difference found" by the corrected p, or why there is none.
    """
    rows = []
    for first, second in combinations(cards, 2):
        comparison = compared(cards[first], cards[second])
        for row in comparison.to_dict("records"):
            row["first"] = first
            row["second"] = second
            rows.append(row)
    columns = [*_PLACE, "first", "second", "n", "gain", "low", "high", "p", "verdict"]
    judged = pd.DataFrame(rows).reindex(columns=columns)
    if judged.empty:
        return judged.assign(p_adjusted=[])
    p = list(judged["p"].astype(float).to_numpy())
    families = list(zip(judged["set"], judged["aspect"], strict=True))
    adjusted = correct(p, "holm", families).adjusted
    judged["p_adjusted"] = adjusted
    better = np.where(judged["gain"] > 0, "better", "worse")
    is_clear = judged["p_adjusted"] <= ALPHA
    verdicts = np.where(is_clear, better, "no difference found")
    without_test = judged["p_adjusted"].isna()
    judged["verdict"] = judged["verdict"].where(without_test, verdicts)
    return judged


def table(cards: Mapping[str, Card], tests: pd.DataFrame) -> pd.DataFrame:
    """A row a judge, set and aspect, the best first.

    Returns: `set, aspect, judge, agreement, low, high, n, scored`, what 1,000 judgments
    take (`seconds, money, tokens`; NaN where it is not known), the `use` that the card
    allows, `standing` (`BEST`,
    `NOT_TOLD`, `WORSE`, or "" where there is no number), and whether it is on the
    `front`.
    """
    rows: list[dict[str, Any]] = []
    for judge, card in cards.items():
        for name, numbers in card.numbers["sets"].items():
            of_set = verdict.of_set(card.numbers, name)
            for row in _rows(judge, name, numbers):
                aspect = "" if numbers["kind"] == "pairs" else row["aspect"]
                rows.append({**row, "use": _USE.get(glance.kind(of_set, aspect), "")})
    columns = [*_PLACE, "judge", "agreement", "low", "high", "n", "scored"]
    columns += ["seconds", "money", "tokens", "use"]
    judged = pd.DataFrame(rows, columns=columns)
    numeric = ["agreement", "low", "high", "seconds", "money", "tokens"]
    judged[numeric] = judged[numeric].astype(float)
    groups = []
    for _, group in judged.groupby(_PLACE, sort=False):
        ordered = group.sort_values("agreement", ascending=False, kind="stable")
        standings = _standings(ordered, tests)
        front = _on_front(ordered)
        groups.append(ordered.assign(standing=standings, front=front))
    return pd.concat(groups, ignore_index=True)


def _rows(
    judge: str, name: str, numbers: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """The rows of `table` of one judge and set, but for where the judge stands."""
    cost = numbers.get("cost") or {}
    tokens = cost.get("prompt_tokens", np.nan) + cost.get("new_tokens", np.nan)
    for aspect, agreement in agreements(numbers).items():
        yield {
            "set": name,
            "aspect": aspect,
            "judge": judge,
            "agreement": agreement.get("value"),
            "low": agreement.get("low"),
            "high": agreement.get("high"),
            "n": agreement.get("n"),
            "scored": numbers["coverage"]["value"],
            "seconds": cost.get("seconds"),
            "money": cost.get("money"),
            "tokens": tokens,
        }


def _standings(group: pd.DataFrame, tests: pd.DataFrame) -> pd.Series:
    """Where each judge of one set and aspect stands to the best, which comes first."""
    top = group.iloc[0]
    here = tests[(tests["set"] == top["set"]) & (tests["aspect"] == top["aspect"])]
    is_first = (here["first"] == top["judge"]) & (here["verdict"] == "worse")
    is_second = (here["second"] == top["judge"]) & (here["verdict"] == "better")
    worse = {*here.loc[is_first, "second"], *here.loc[is_second, "first"]}
    standings = group["judge"].isin(worse).map({True: WORSE, False: NOT_TOLD})
    standings[group["judge"] == top["judge"]] = BEST
    standings[group["agreement"].isna()] = ""
    return standings


def _on_front(group: pd.DataFrame) -> list[bool]:
    """Whether no judge costs as little or less and agrees better."""
    price = group["tokens"]
    for name in ("money", "seconds"):
        if group[name].notna().all():
            price = group[name]
            break
    agreement = group["agreement"]
    front = []
    for value, price_here in zip(agreement, price, strict=True):
        is_beaten = ((price <= price_here) & (agreement > value)).any()
        has_number = not np.isnan(value)
        front.append(bool(has_number and not is_beaten))
    return front


def write(judged: pd.DataFrame, tests: pd.DataFrame, folder: str | Path) -> list[Path]:
    """Write matrix.csv, pairs.csv, matrix.html and the figure.

    Returns: what was written; without the figure where matplotlib is not installed.
    Raises: OSError.
    """
    contents: dict[Path, bytes] = {}
    sentences = "<br>".join(map(tables.esc, best(judged)))
    body = [f'<h1>{_TITLE}</h1><div class="note"><strong>{sentences}</strong></div>']
    drawn = judged.dropna(subset=["agreement"])
    if len(drawn) and figures.can_draw():
        picture = _picture(drawn)
        body.append(web.picture(picture, "agreement", 700))
        contents[Path(folder, "matrix.png")] = picture
    body.append(web.scrolling(web.text_body(_markdown(judged, tests))))
    texts = {
        "matrix.csv": judged.to_csv(index=False, lineterminator="\n"),
        "pairs.csv": tests.to_csv(index=False, lineterminator="\n"),
        "matrix.html": web.page(_TITLE, "\n".join(body), scripts=()),
    }
    for name, text in texts.items():
        contents[Path(folder, name)] = text.encode("utf-8", "backslashreplace")
    return files.write_all(contents)


def _picture(judged: pd.DataFrame) -> bytes:
    """The agreement of each judge with its interval, as a PNG."""
    import matplotlib.pyplot as plt

    judged = judged.assign(where=judged["set"] + ", " + judged["aspect"])
    several = judged["where"].nunique() > 1
    figure = figures.bars_with_intervals(
        judged,
        label="judge",
        value="agreement",
        group="where" if several else None,
        xlabel="agreement with people, 95 % intervals",
    )
    picture = figures.render(figure)["png"]
    plt.close(figure)
    return picture


def _markdown(judged: pd.DataFrame, tests: pd.DataFrame) -> str:
    """What stands below the picture: all numbers, the cards, the tests."""
    rows = []
    for row in judged.to_dict("records"):
        rows.append(
            {
                "set, aspect": f"{row['set']}, {row['aspect']}",
                "judge": row["judge"],
                "agreement": _cell(row, "agreement"),
                "scored": share(row["scored"]),
                "money of 1,000": _number(row["money"], 3),
                "seconds of 1,000": _number(row["seconds"], 0),
                "tokens of 1,000": _number(row["tokens"], 0),
                "standing": row["standing"],
                "its card says": row["use"],
                "front": "yes" if row["front"] else "",
            }
        )
    paragraphs = ["## All numbers", as_markdown(rows), _HOW]
    names = map(folder_of, judged["judge"].unique())
    links = [f"- [{name}]({name}/card.html)" for name in names]
    paragraphs += ["## The card of each judge", "\n".join(links)]
    pairs_shown = []
    for row in tests.to_dict("records"):
        pairs_shown.append(
            {
                "set, aspect": f"{row['set']}, {row['aspect']}",
                "from": row["first"],
                "to": row["second"],
                "rows": row["n"],
                "gain": _cell(row, "gain"),
                "p": p_value(_known(row["p"])),
                "p, corrected": p_value(_known(row["p_adjusted"])),
                "the second is": row["verdict"],
            }
        )
    if pairs_shown:
        paragraphs += ["## Each two judges", as_markdown(pairs_shown)]
    return "\n\n".join(paragraphs)


def _known(value: Any) -> Any:
    """A number; None for NaN."""
    return None if pd.isna(value) else value


def _cell(row: Mapping[str, Any], name: str) -> str:
    """A number of a row with its interval."""
    ends = {"value": row[name], "low": row["low"], "high": row["high"]}
    return cell({end: _known(value) for end, value in ends.items()})


def _number(value: float, digits: int) -> str:
    """A number with so many digits after the point; a dash for NaN."""
    return DASH if pd.isna(value) else f"{value:,.{digits}f}"


def best(judged: pd.DataFrame) -> list[str]:
    """A sentence a set and aspect: which judge is best, which may be as good and what
    the cheapest of these costs, and which are worse.
    """
    sentences = []
    for (name, aspect), group in judged.groupby(_PLACE, sort=False):
        first = group.iloc[0]
        if first["standing"] != BEST:
            sentences.append(f"{name}, {aspect}: no judge has a number.")
            continue
        parts = [
            f"{name}, {aspect}: {first['judge']} is best ({first['agreement']:.3f})"
        ]
        if first["use"] != _USE[verdict.PRAISES]:
            parts.append(f"but its card says: {first['use'] or 'nothing for it'}")
        alike = group[group["standing"] == NOT_TOLD]
        if len(alike):
            parts.append(f"these rows do not tell from it: {', '.join(alike['judge'])}")
            cheapest = alike.sort_values("money", kind="stable").iloc[0]
            if cheapest["money"] < first["money"]:
                parts.append(
                    f"of them {cheapest['judge']} costs {cheapest['money']:.3g} for "
                    f"1,000 judgments instead of {first['money']:.3g}"
                )
        worse = group.loc[group["standing"] == WORSE, "judge"]
        if len(worse):
            parts.append(f"proved to be worse: {', '.join(worse)}")
        sentences.append(f"{'; '.join(parts)}.")
    return sentences
