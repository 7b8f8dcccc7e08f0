"""Has a judge of the same name changed? Its answers on kept items, looked at again and
again.

`Watch` is a folder with what the judge answered at each look; `evidence` turns answers
into a number that may be read after every look: where the judge has not changed, it
ever reaches 1 / level with a chance of `level` at most.

An item's answers, one a look, are exchangeable while the judge stays as it is. Then the
place of the newest among those before is uniform and independent of all before
(ties are broken at random), and bets against that are a martingale.

Source: Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World (2005),
section 7.1 (conformal test martingales); Ville (1939) for the chance.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judgecard import fingerprint
from judgecard.judged import KEYS
from nlgeval_lib import files
from nlgeval_lib.scoring.cells import InputError

SCHEMA = "nlgeval-watch/1"
FILE = "watch.json"
REFERENCE = 3  # looks at the beginning that only say how the judge answers
# Shares of what is at hand that are put on an answer: that it is higher than before,
# lower, or farther out.
_STAKES = (0.3, 0.6, 0.9)
FAILED = "failed"  # in place of an answer that did not come


def evidence(answers: np.ndarray, reference: int, seed: int) -> np.ndarray:
    """How much speaks for a change, after each look that follows the reference.

    answers: `answers[look, item]`; -inf for an answer without a score, NaN for one that
        did not come, which is left out.
    Returns: a number a look; 1 says nothing, 20 is reported at level .05.
    """
    ties = np.random.default_rng(seed).random(answers.shape)
    at_hand = np.zeros(3 * len(_STAKES))  # logarithms, a bet each
    amounts = []
    for look in range(reference, len(answers)):
        places = _places(answers[:look], answers[look], ties[look])
        at_hand += np.log(_factors(places)).sum(axis=1)
        amounts.append(float(np.exp(at_hand).mean()))
    return np.array(amounts)


def _places(earlier: np.ndarray, newest: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """The place of each newest answer among those before, between 0 and 1."""
    # an item is left out where it has no answer now, or none before
    has_earlier = ~np.isnan(earlier).all(axis=0)
    usable = has_earlier & ~np.isnan(newest)
    earlier = earlier[:, usable]
    newest = newest[usable]
    # NaN is neither lower nor equal
    lower = (earlier < newest).sum(axis=0)
    equal = (earlier == newest).sum(axis=0)
    answered = (~np.isnan(earlier)).sum(axis=0)
    places = (lower + ties[usable] * (equal + 1)) / (answered + 1)
    return np.asarray(places)


def _factors(places: np.ndarray) -> np.ndarray:
    """What each bet makes of what is at hand, `[bet, item]`."""
    higher = 2 * places - 1
    farther = 2 * np.abs(higher) - 1
    rows = []
    for stake in _STAKES:
        rows.append(1 + stake * higher)
        rows.append(1 - stake * higher)
        rows.append(1 + stake * farther)
    return np.array(rows)


@dataclass
class Watch:
    """A judge that is watched, on kept items.

    fields: the fingerprint of the judge and the data.
    items: the keys of the rows.
    level: the chance at most that a change is reported where there is none, over all
        looks.
    seed: of how ties are broken.
    looks: a look each: `date`, and `answers` in the order of the items; None for an
        answer without a score, "failed" for one that did not come.
    """

    fields: Mapping[str, Any]
    items: list[list[str]]
    level: float
    seed: int
    looks: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def begun(
        cls, fields: Mapping[str, Any], frame: pd.DataFrame, level: float, seed: int
    ) -> Watch:
        """A watch on the rows of a frame, without a look.

        Raises: InputError for a level that is none.
        """
        if not 0 < level < 1:
            raise InputError(f"--level {level:g}: a number between 0 and 1 is needed")
        return cls(fields, _keys(frame), level, seed)

    @classmethod
    def read(cls, folder: str | Path) -> Watch:
        """The watch of a folder.

        Raises: InputError for a file that is none; OSError.
        """
        path = Path(folder, FILE)
        try:
            content = files.from_json(path.read_text(encoding="utf-8"))
            if content["schema"] != SCHEMA:
                raise ValueError
            watch = cls(
                fields=dict(content["fingerprint"]),
                items=[list(map(str, item)) for item in content["items"]],
                level=float(content["level"]),
                seed=int(content["seed"]),
                looks=list(content["looks"]),
            )
            watch.answers()
        except (ValueError, TypeError, KeyError):
            raise InputError(
                f"{path} is no watch of this version; begin another in a new folder"
            ) from None
        return watch

    def write(self, folder: str | Path) -> Path:
        """Write it into a folder; its file's path. Raises: OSError."""
        path = Path(folder, FILE)
        content = {
            "schema": SCHEMA,
            "fingerprint": dict(self.fields),
            "level": self.level,
            "seed": self.seed,
            "items": self.items,
            "looks": self.looks,
        }
        files.write_text(path, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
        return path

    def check_same(self, fields: Mapping[str, Any]) -> list[str]:
        """Pass where it is the judge that is watched: the same name of a model, prompt,
        rubric, settings and rows. What its server says of it may differ.

        Returns: what is to be known all the same.
        Raises: InputError naming what differs.
        """
        differing, _ = fingerprint.differences(
            {"fingerprint": dict(self.fields)},
            {"fingerprint": dict(fields)},
        )
        for name, words in differing.items():
            if name not in ("revision", "engine"):
                raise InputError(
                    f"another judge or other rows than are watched: {words}; "
                    "begin another watch in a new folder"
                )
        return list(differing.values())

    def add(self, frame: pd.DataFrame) -> None:
        """Take in a look.

        Raises: InputError where no answer came at all.
        """
        if (frame["status"] == FAILED).all():
            raise InputError("no answer came: this look does not count; look again")
        answers_by_key: dict[tuple[str, ...], Any] = {}
        cells = zip(_keys(frame), frame["value"], frame["status"], strict=True)
        for key, value, status in cells:
            answer: Any = None
            if status == FAILED:
                answer = FAILED
            elif not pd.isna(value):
                answer = float(value)
            answers_by_key[tuple(key)] = answer
        answers = []
        for item in self.items:
            answers.append(answers_by_key.get(tuple(item), FAILED))
        moment = datetime.now(UTC).isoformat(timespec="seconds")
        self.looks.append({"date": moment, "answers": answers})

    def answers(self) -> np.ndarray:
        """`answers[look, item]` as `evidence` takes them."""
        marks = {FAILED: np.nan, None: -np.inf}
        rows = np.empty((len(self.looks), len(self.items)))
        for number, look in enumerate(self.looks):
            values = []
            for answer in look["answers"]:
                values.append(float(marks.get(answer, answer)))
            rows[number] = values
        return rows

    def evidence(self) -> np.ndarray:
        """How much speaks for a change after each look, as `evidence` says."""
        return evidence(self.answers(), REFERENCE, self.seed)

    def date_of_change(self) -> str:
        """The date of the first look at which a change is reported; "" for none."""
        for look, amount in zip(self.looks[REFERENCE:], self.evidence(), strict=True):
            if amount >= 1 / self.level:
                return str(look["date"])
        return ""

    def table(self) -> pd.DataFrame:
        """A row a look after the reference: `date, answered, moved, shift, evidence`.

        Returns: `moved` is the share of items whose answer lies outside all of the
        reference's, `shift` the mean answer less that of the reference.
        """
        answers = self.answers()
        scored = np.where(np.isinf(answers), np.nan, answers)
        reference = answers[:REFERENCE]
        rows = []
        for number, amount in enumerate(self.evidence(), start=REFERENCE):
            newest = answers[number]
            shifts = pd.Series(scored[number] - _mean(scored[:REFERENCE]))
            rows.append(
                {
                    "date": self.looks[number]["date"],
                    "answered": int((~np.isnan(newest)).sum()),
                    "moved": _share_outside(reference, newest),
                    "shift": shifts.mean(),  # of those that have a score both times
                    "evidence": float(amount),
                }
            )
        columns = ["date", "answered", "moved", "shift", "evidence"]
        return pd.DataFrame(rows, columns=columns)


def _share_outside(reference: np.ndarray, newest: np.ndarray) -> float:
    """The share of items whose answer lies outside all of the reference's."""
    has_reference = ~np.isnan(reference).all(axis=0)
    usable = has_reference & ~np.isnan(newest)
    earlier = reference[:, usable]
    newest = newest[usable]
    is_above = newest > np.nanmax(earlier, axis=0)
    is_below = newest < np.nanmin(earlier, axis=0)
    return float((is_above | is_below).mean())


def _mean(rows: np.ndarray) -> np.ndarray:
    """The mean over looks of the scores that there are; NaN for none."""
    number = (~np.isnan(rows)).sum(axis=0)
    total = np.nansum(rows, axis=0)
    means = np.full(len(number), np.nan)
    return np.divide(total, number, out=means, where=number > 0)


def _keys(frame: pd.DataFrame) -> list[list[str]]:
    """The keys of the rows, as texts."""
    return frame[KEYS].astype(str).values.tolist()
