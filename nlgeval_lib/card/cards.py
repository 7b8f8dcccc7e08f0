"""A card as a whole: made of judged sets, written, read, and compared with another."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

import nlgeval_lib
from nlgeval_lib import datasets, figures, files
from nlgeval_lib.card import drawn, measure, page, paired, unknown, verdict
from nlgeval_lib.card import judged as sets
from nlgeval_lib.card.judged import KEYS, Judged
from nlgeval_lib.card.paired import Paired
from nlgeval_lib.engines import EngineError
from nlgeval_lib.report import explorer
from nlgeval_lib.scoring import provenance
from nlgeval_lib.scoring.cells import InputError
from nlgeval_lib.scoring.correlations import Grid

SCHEMA = "nlgeval-card/1"
SCORES = "scores.csv"
_HEIGHT = 760


@dataclass(frozen=True)
class Card:
    """A judge card. numbers: what `card.json` holds; judged: the rows behind it."""

    numbers: Mapping[str, Any]
    judged: Sequence[Any] = field(default=(), repr=False)
    resources: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def verdict(self) -> str:
        """The verdict in one sentence a set."""
        return str(self.numbers["verdict"]["sentence"])

    def scores(self) -> pd.DataFrame:
        """A row a judgment: `set, input_id, system_id, aspect, human, value`; of a pair
        two, its name as the system, the order of showing as the aspect.
        """
        parts = []
        for part in self.judged:
            rows = _rows_of(part)[[*KEYS, "human", "value"]]
            parts.append(rows.assign(set=part.name))
        return pd.concat(parts)[["set", *KEYS, "human", "value"]]

    def findings(self) -> pd.DataFrame:
        """The rules that hold: `set, aspect, kind, words, when`."""
        columns = ["set", "aspect", "kind", "words", "when"]
        return pd.DataFrame(self.numbers["verdict"]["findings"], columns=columns)

    def table(self) -> pd.DataFrame:
        """A row a number that has an interval: `path` as `nlgeval card gate` takes it,
        `value, low, high, n, signature`.
        """
        rows: list[dict[str, Any]] = []
        for name, numbers in self.numbers["sets"].items():
            _add_rows(name, numbers, rows)
        return pd.DataFrame(rows)

    def figures(self) -> dict[str, Any]:
        """Figure by name, for matplotlib."""
        return drawn.of(self.numbers)

    def pictures(self) -> dict[str, dict[str, bytes]]:
        """Figure by name: its SVG and PNG."""
        import matplotlib.pyplot as plt

        pictures = {}
        for name, figure in self.figures().items():
            pictures[name] = figures.render(figure)
            plt.close(figure)
        return pictures

    def write(self, folder: str | Path) -> list[Path]:
        """card.json, card.md, card.html, scores.csv and the figures; what was written.

        Raises: OSError.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        pictures = self.pictures()
        shots = {name: forms["png"] for name, forms in pictures.items()}
        texts = {
            "card.json": json.dumps(self.numbers, ensure_ascii=False, indent=1) + "\n",
            "card.md": page.markdown(self.numbers, pictures),
            "card.html": page.html(self.numbers, shots),
        }
        if self.judged:
            texts[SCORES] = self.scores().to_csv(index=False, lineterminator="\n")
        for part in self.judged:
            name = self.numbers["sets"][part.name].get("explorer")
            if name:
                texts[name] = self._worst(part)
        for name, text in texts.items():
            files.write_text(place / name, text)
        written = [place / name for name in texts]
        for name, forms in pictures.items():
            for form, content in forms.items():
                path = place / f"{name}.{form}"
                with files.replacing(path) as draft:
                    draft.write_bytes(content)
                written.append(path)
        return written

    def _worst(self, part: Judged) -> str:
        """The page of the worst disagreements, with prompts and answers where they are
        stored.
        """
        places = [row["row"] for row in self.numbers["sets"][part.name]["worst"]]
        rows = part.frame.iloc[places]
        title = f"The worst disagreements on {part.title}"
        if self.resources and self.resources[2] is not None:
            judge, engine, store = self.resources
            texts = rows.drop(columns=["value", "status", "reason", "details"])
            try:
                asked = explorer.of(judge, texts, engine=engine, store=store)
                return replace(asked, title=title).page()
            except (EngineError, ValueError, AttributeError):
                pass  # the scores alone are shown
        return explorer.of_scores(title, rows).page()

    def _repr_html_(self) -> str:
        """The card in a frame of its own, in which nothing runs."""
        shots = {name: forms["png"] for name, forms in self.pictures().items()}
        document = html.escape(page.html(self.numbers, shots), quote=True)
        style = f"width:100%;height:{_HEIGHT}px;border:1px solid #d0d0d0"
        title = html.escape(str(self.numbers["title"]))
        return (
            f'<iframe sandbox title="{title}" style="{style}" srcdoc="{document}">'
            "</iframe>"
        )

    def __repr__(self) -> str:
        return f"{self.numbers['title']}\n{self.verdict}"


def _add_rows(path: str, place: Mapping[str, Any], rows: list[dict[str, Any]]) -> None:
    """Add every number with an interval below a place of the card."""
    if place.get("value") is not None and "low" in place:
        numbers = {name: place.get(name) for name in ("value", "low", "high", "n")}
        rows.append({"path": path, **numbers, "signature": place.get("signature", "")})
    for name, inner in place.items():
        if isinstance(inner, Mapping):
            below = path if name == "aspects" else f"{path}.{name}"
            _add_rows(below, inner, rows)


def made(
    title: str,
    judge: Mapping[str, Any],
    judged: Sequence[Judged | Paired],
    effects: Mapping[str, Any] = MappingProxyType({}),
    resources: tuple[Any, ...] = (),
) -> Card:
    """The card of sets that are judged.

    judge: what is known of the judge, by name. effects: of the probes, by set.
    resources: evaluator, engine and store, for prompts and answers of what is opened.
    """
    names = [part.name for part in judged]
    if len({*names}) < len(names):
        raise InputError(f"a set is there twice: {', '.join(names)}")
    measured = {}
    for part in judged:
        if isinstance(part, Paired):
            measured[part.name] = paired.measured(part)
            measured[part.name]["cost"] = part.facts.get("cost", {})
            continue
        own = measure.graded(part)
        own["probes"] = effects.get(part.name, {})
        own["cost"] = part.facts.get("cost", {})
        own["explorer"] = f"judgments_{part.name}.html"
        measured[part.name] = own
    measured = files.plain(measured)
    listed = verdict.findings(measured)
    numbers: dict[str, Any] = {
        "schema": SCHEMA,
        "title": title,
        "verdict": {
            "sentence": verdict.sentence(measured, listed),
            "findings": listed,
        },
        "judge": judge,
        "made": {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "library": nlgeval_lib.__version__,
            "git": provenance.git(),
        },
        "sets": measured,
        "cannot_tell": [],
    }
    for name, part in measured.items():
        numbers["cannot_tell"] += unknown.lines(name, part)
    return Card(files.plain(numbers), tuple(judged), resources)


# -- of what is there


def demo(set: str = "summeval") -> Card:
    """The card of a recorded judge, without a key or a network: GPT-4o on SummEval, or
    GPT-4 on the pairs of LLMBar.
    """
    if set == "llmbar":
        return of_recorded(set, "llmbar_judges", "GPT-4", "Vanilla")
    return of_recorded(*sets.DEMO)


def of_recorded(dataset: str, recording: str, judge: str, form: str = "") -> Card:
    """The card of one judge of a recording; form: its prompt, where it has several.

    Raises: InputError; UnknownName; DataUnavailable.
    """
    if datasets.kind(dataset) == "pairs":
        part: Any = paired.recorded(dataset, recording, judge, form)
    else:
        part = sets.recorded(dataset, recording, judge, form)
    title = f"Judge card: recorded {judge} {form}".strip()
    return made(f"{title} on {dataset}", part.facts, [part])


def of_scores(
    scores: pd.DataFrame,
    data: str | pd.DataFrame,
    column: str = "value",
    title: str = "",
    scale: tuple[float, float] | None = None,
) -> Card:
    """The card of scores that were made elsewhere, joined with a set by its keys.

    scale: of the scores; without one they are not compared with the ratings' levels.
    Raises: InputError; UnknownName; DataUnavailable.
    """
    judged = sets.scored(sets.rated(data), scores, column)
    judged = replace(judged, scale=scale, beside=sets.known_judges(judged))
    title = title or f"Judge card: {column} on {judged.name}"
    return made(title, {"model": "scores made elsewhere", "column": column}, [judged])


def read(path: str | Path) -> Card:
    """A card that was written, with its scores where they are beside it.

    Raises: InputError for what is no card, or one of another schema; OSError.
    """
    place = Path(path)
    if place.is_dir():
        place = place / "card.json"
    try:
        numbers = files.from_json(place.read_text(encoding="utf-8"))
        schema = numbers["schema"]
    except (ValueError, TypeError, KeyError):
        raise InputError(f"{place} is no card; a card.json is needed") from None
    if schema != SCHEMA:
        raise InputError(f"{place} has schema {schema!r}; this version reads {SCHEMA}")
    try:
        titles = {name: part["title"] for name, part in numbers["sets"].items()}
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{place} is no whole card: its sets are missing") from None
    judged = []
    scores = place.with_name(SCORES)
    if scores.is_file():
        table = _scores(scores)
        for name, rows in table.groupby("set", sort=False):
            title = titles.get(str(name), str(name))
            judged.append(Judged(str(name), title, rows.reset_index(drop=True)))
    return Card(numbers, tuple(judged))


def _scores(path: Path) -> pd.DataFrame:
    """The scores beside a card, a row a judgment.

    Raises: InputError naming the file where it is no such table, or has a row twice.
    """
    keys = ["set", *KEYS]
    kinds: Any = dict.fromkeys(keys, str)
    try:
        names = pd.read_csv(path, header=None, nrows=1, dtype=str).iloc[0].tolist()
        table = pd.read_csv(path, dtype=kinds, keep_default_na=False, na_values=[""])
    except ValueError as error:  # pandas' own errors are among them
        raise InputError(f"{path} cannot be read: {error}") from None
    lacking = [name for name in (*keys, "value") if name not in names]
    if lacking or len(set(names)) < len(names):
        problem = f"no column {lacking[0]!r}" if lacking else "a column twice"
        raise InputError(f"{path} has {problem}; write the card again")
    if table.duplicated(keys).any():
        raise InputError(f"{path} has a row twice; write the card again")
    return table


def compared(first: Card, second: Card) -> pd.DataFrame:
    """Whether the second judge follows the ratings better: paired on the rows that both
    have, aspect by aspect, Kendall's tau-b over all outputs.

    Columns: set, aspect, n, first, second, gain, low, high, p, verdict.
    Raises: InputError where they share no set, or a card has no scores beside it.
    """
    rows = []
    seconds = {part.name: part for part in second.judged}
    for part in first.judged:
        if part.name not in seconds:
            continue
        both = _rows_of(part).merge(
            _rows_of(seconds[part.name])[[*KEYS, "value"]],
            on=KEYS,
            suffixes=("_first", "_second"),
        )
        if first.numbers["sets"][part.name]["kind"] == "pairs":
            rows.append(_compared_pairs(part.name, both))
        else:
            rows += _compared_aspects(part.name, both)
    if not rows:
        raise InputError(
            "the cards share no set with scores; both need scores.csv beside card.json"
        )
    return pd.DataFrame(rows)


def _rows_of(part: Judged | Paired) -> pd.DataFrame:
    return part.by_order() if isinstance(part, Paired) else part.frame


def _compared_pairs(name: str, both: pd.DataFrame) -> dict[str, Any]:
    """The gain in the share of right verdicts, over the verdicts that both have."""
    both = both.dropna(subset=["value_first", "value_second", "human"])
    right = {}
    for side in ("first", "second"):
        right[side] = (both[f"value_{side}"] == both["human"]).astype(float)
    gain = right["second"] - right["first"]
    cell = measure.mean_interval(gain.to_numpy(), both["input_id"].to_numpy())
    row = {"set": name, "aspect": "accuracy", "n": len(both)}
    row |= {side: float(values.mean()) for side, values in right.items()}
    ends = {"gain": cell.get("value"), "low": cell.get("low"), "high": cell.get("high")}
    return {**row, **ends, "verdict": _outcome(cell.get("low"), cell.get("high"))}


def _outcome(low: float | None, high: float | None) -> str:
    if low is not None and low > 0:
        return "better"
    if high is not None and high < 0:
        return "worse"
    return "no difference found"


def _compared_aspects(name: str, both: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for aspect, part in both.groupby("aspect", sort=False):
        flat = part["system_id"].nunique() < 2
        grid = Grid(part, flat=flat)
        row: dict[str, Any] = {"set": name, "aspect": aspect}
        try:
            result = grid.compare(
                part["value_second"],
                part["value_first"],
                part["human"],
                coef="kendall-b",
                ci=grid.interval("auto"),
            )
        except ValueError as error:
            rows.append(row | {"verdict": str(error)})
            continue
        rows.append(
            row
            | {
                "n": result.n,
                "first": result.second,
                "second": result.first,
                "gain": result.difference,
                "low": result.low,
                "high": result.high,
                "p": result.p,
                "verdict": _outcome(result.low, result.high),
            }
        )
    return rows
