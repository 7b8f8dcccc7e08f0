"""A card: made of judged sets, written, and read again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

import nlgeval_lib
from judgecard import (
    drawn,
    explorer,
    figures,
    fingerprint,
    judged,
    measure,
    page,
    paired,
    shape,
    unknown,
    verdict,
    web,
)
from judgecard.judged import KEYS, Judged
from judgecard.paired import Paired
from nlgeval_lib import datasets, files
from nlgeval_lib.engines import EngineError
from nlgeval_lib.scoring import provenance
from nlgeval_lib.scoring.cells import InputError

Pictures = Mapping[str, Mapping[str, bytes]]  # figure -> form ("png") -> content
SCHEMA = "nlgeval-card/1"
SCORES = "scores.csv"


@dataclass(frozen=True)
class Card:
    """A judge card.

    numbers: what `card.json` holds: the verdict, who was judged, and for each set every
        number with its interval, or the reason why there is none.
    judged: the `Judged` and `Paired` sets behind it; none where a card was read without
        its scores.
    resources: evaluator, engine and store of a judge that was asked; else empty.
    """

    numbers: Mapping[str, Any]
    judged: Sequence[Any] = field(default=(), repr=False)
    resources: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def verdict(self) -> str:
        """The verdict in one sentence a set."""
        return str(self.numbers["verdict"]["sentence"])

    def scores(self) -> pd.DataFrame:
        """A row a judgment: `set, input_id, system_id, aspect, human, value`.

        A pair has two rows: its name is the system, the order of showing the aspect.

        Raises: ValueError for a card without scores.
        """
        columns = [*KEYS, "human", "value"]
        rows = {of_set.name: of_set.rows()[columns] for of_set in self.judged}
        return pd.concat(rows, names=["set"]).reset_index("set")

    def findings(self) -> pd.DataFrame:
        """The rules that hold: `set, aspect, kind, words, when`.

        Returns: a row a rule. `aspect` is "" for a rule about a whole set; `kind` is
        "fails", "unproven", "limits", "praises" or "these"; `when` is the condition.
        """
        columns = ["set", "aspect", "kind", "words", "when"]
        findings = self.numbers["verdict"]["findings"]
        return pd.DataFrame(findings, columns=columns)

    def table(self) -> pd.DataFrame:
        """A row a number that has an interval: `path` as `nlgeval card gate` takes it,
        `value, low, high, n, signature`.
        """
        rows: list[dict[str, Any]] = []
        for name, numbers in self.numbers["sets"].items():
            rows += _rows_with_intervals(name, numbers)
        return pd.DataFrame(rows)

    def figures(self) -> dict[str, Any]:
        """The figures by name, for matplotlib: `beside_SET` and `calibration_SET`,
        where the set has what they show.
        """
        return drawn.draw_figures(self.numbers)

    def pictures(self) -> dict[str, dict[str, bytes]]:
        """The figures by name, each by form: "svg" and "png" -> the file's content; none,
        with a warning, where matplotlib is not installed.
        """
        if not figures.can_draw():
            return {}
        import matplotlib.pyplot as plt

        pictures = {}
        for name, figure in self.figures().items():
            pictures[name] = figures.render(figure)
            plt.close(figure)
        return pictures

    def write(self, folder: str | Path) -> list[Path]:
        """Write card.json, card.md, card.html and the figures; of a card with scores
        also scores.csv and the pages of the worst disagreements. All or nothing.

        Returns: the paths.
        Raises: OSError.
        """
        contents: dict[Path, bytes] = {}
        pictures = self.pictures()
        for name, text in self._texts(pictures).items():
            contents[Path(folder, name)] = text.encode("utf-8", "backslashreplace")
        for name, forms in pictures.items():
            for form, content in forms.items():
                contents[Path(folder, f"{name}.{form}")] = content
        return files.write_all(contents)

    def _texts(self, pictures: Pictures) -> dict[str, str]:
        """Name -> the text of each file but the figures."""
        texts = page.texts(self.numbers, _pngs(pictures))
        if self.judged:
            scores = self.scores()
            texts[SCORES] = scores.to_csv(index=False, lineterminator="\n")
        for judged_set in self.judged:
            numbers_of_set = self.numbers["sets"][judged_set.name]
            if numbers_of_set.get("explorer"):
                texts[numbers_of_set["explorer"]] = self._worst(judged_set)
        return texts

    def _worst(self, judged_set: Judged) -> str:
        """The page of the worst disagreements, with prompts and answers where they are
        stored.
        """
        worst = self.numbers["sets"][judged_set.name]["worst"]
        rows = judged_set.frame.iloc[[row["row"] for row in worst]]
        title = f"The worst disagreements on {judged_set.title}"
        if self.resources and self.resources[2] is not None:
            judge, engine, store = self.resources
            texts = rows.drop(columns=["value", "status", "reason", "details"])
            try:
                answers = explorer.explore_judge(
                    judge, texts, engine=engine, store=store
                )
                return replace(answers, title=title).page()
            except (EngineError, ValueError, AttributeError):
                pass  # the scores alone are shown
        return explorer.explore_scores(title, rows).page()

    def _repr_html_(self) -> str:
        """The card in a frame of its own, in which nothing runs."""
        document = page.html(self.numbers, _pngs(self.pictures()))
        return web.framed(document, str(self.numbers["title"]))

    def __repr__(self) -> str:
        """Title and verdict."""
        return f"{self.numbers['title']}\n{self.verdict}"


def _pngs(pictures: Pictures) -> dict[str, bytes]:
    """Figure -> its PNG."""
    return {name: forms["png"] for name, forms in pictures.items()}


def _rows_with_intervals(
    path: str, numbers: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """A row for every number with an interval that is at a path or below it."""
    if numbers.get("value") is not None and "low" in numbers:
        yield {
            "path": path,
            "value": numbers["value"],
            "low": numbers["low"],
            "high": numbers.get("high"),
            "n": numbers.get("n"),
            "signature": numbers.get("signature", ""),
        }
    for name, inner in numbers.items():
        if isinstance(inner, Mapping):
            below = path if name == "aspects" else f"{path}.{name}"
            yield from _rows_with_intervals(below, inner)


# -- a card of judged sets


def of_sets(
    title: str,
    judge: Mapping[str, Any],
    judged_sets: Sequence[Judged | Paired],
    effects: Mapping[str, Any] = MappingProxyType({}),
    resources: tuple[Any, ...] = (),
) -> Card:
    """The card of sets that are judged.

    judge: what is known of the judge, by name.
    judged_sets: graded ones and pairs, in the order of the page.
    resources: evaluator, engine and store, for prompts and answers of what is opened.
    Raises: InputError where two sets have one name.
    """
    names = [judged_set.name for judged_set in judged_sets]
    if len(set(names)) < len(names):
        raise InputError(f"a set is there twice: {', '.join(names)}")
    measured = {}
    for judged_set in judged_sets:
        measured[judged_set.name] = _measured(judged_set, effects)
    measured = files.plain(measured)
    findings = verdict.findings(measured)
    cannot_tell: list[str] = []
    for name, numbers in measured.items():
        cannot_tell += unknown.lines(name, numbers)
    card = {
        "schema": SCHEMA,
        "title": title,
        "verdict": {
            "sentence": verdict.sentence(measured, findings),
            "findings": findings,
        },
        "judge": judge,
        "made": {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "library": nlgeval_lib.__version__,
            "git": provenance.git(),
        },
        "sets": measured,
        "cannot_tell": cannot_tell,
    }
    return Card(files.plain(card), tuple(judged_sets), resources)


def _measured(
    judged_set: Judged | Paired, effects: Mapping[str, Any]
) -> dict[str, Any]:
    """All numbers of a set."""
    cost = judged_set.facts.get("cost", {})
    if isinstance(judged_set, Paired):
        return paired.measured(judged_set) | {"cost": cost}
    return measure.graded(judged_set) | {
        "probes": effects.get(judged_set.name, {}),
        "cost": cost,
        "explorer": f"judgments_{judged_set.name}.html",
    }


def demo(set: str = "summeval") -> Card:
    """The card of a recorded judge, without a key or a network.

    set: "summeval", GPT-4o's ratings; or "llmbar", GPT-4's verdicts on pairs. Every
        other word is taken as "summeval".
    Raises: DataUnavailable.
    """
    if set == "llmbar":
        return of_recorded(set, "llmbar_judges", "GPT-4", "Vanilla")
    return of_recorded(*judged.DEMO)


def of_recorded(dataset: str, recording: str, judge: str, form: str = "") -> Card:
    """The card of one judge of a recording.

    dataset: the set that was judged; a name of `nlgeval data`.
    recording: that has the judge's scores or verdicts.
    form: its prompt, where the recording has several.
    Raises: InputError for a judge that it does not have; UnknownName; DataUnavailable.
    """
    judged_set: Judged | Paired
    if datasets.kind(dataset) == "pairs":
        judged_set = paired.recorded(dataset, recording, judge, form)
    else:
        judged_set = judged.recorded(dataset, recording, judge, form)
    title = f"Judge card: recorded {judge} {form}".strip()
    return of_sets(f"{title} on {dataset}", judged_set.facts, [judged_set])


def of_scores(
    scores: pd.DataFrame,
    data: str | pd.DataFrame,
    column: str = "value",
    title: str = "",
    scale: tuple[float, float] | None = None,
    human_scale: tuple[float, float] | None = None,
    called: str = "",
) -> Card:
    """The card of scores that were made elsewhere, joined with a set by its keys.

    scores: a frame with `input_id`, `system_id`, a column of scores, and `aspect` where
        the set has several.
    data: the set by name, or a frame with ratings.
    title: of the card; "": made of the names of column and set.
    scale: lowest and highest score; a score off it has no value ("out_of_range").
        Without it the scores are not compared with the ratings' levels.
    called: how the column of scores is called; "": by its name.
    Raises: InputError; UnknownName; DataUnavailable.
    """
    called = called or column
    rated = judged.with_human_scale(judged.rated(data), human_scale)
    scored = judged.scored(rated, scores, column, scale)
    known_judges = judged.known_judges(scored)
    scored = replace(scored, scale=scale, other_judges=known_judges)
    title = title or f"Judge card: {called} on {scored.name}"
    facts = {"model": "scores made elsewhere", "column": called}
    made = of_sets(title, facts, [scored])
    fields = {"model": None, "data": fingerprint.of_data([scored])}
    return replace(made, numbers={**made.numbers, "fingerprint": fields})


# -- a card that was written


def read(path: str | Path) -> Card:
    """A card that was written, with its scores where they are beside it.

    path: of a card.json, or of the folder that has it.
    Raises: InputError for what is no card, or one of another schema; OSError.
    """
    path = Path(path)
    if path.is_dir():
        path = path / "card.json"
    numbers = _numbers_in(path)
    judged_sets = []
    scores = path.with_name(SCORES)
    if scores.is_file():
        for name, rows in _scores_in(scores).groupby("set", sort=False):
            if name in numbers["sets"]:
                title = numbers["sets"][name]["title"]
                frame = rows.reset_index(drop=True)
                judged_sets.append(Judged(str(name), title, frame))
    return Card(numbers, tuple(judged_sets))


def _numbers_in(path: Path) -> Any:
    """What a card.json holds, its shape checked."""
    try:
        numbers = files.from_json(path.read_text(encoding="utf-8"))
        schema = numbers["schema"]
    except (ValueError, TypeError, KeyError):
        raise InputError(f"{path} is no card; a card.json is needed") from None
    if schema != SCHEMA:
        raise InputError(
            f"{path} has schema {schema!r:.80}; this version reads {SCHEMA}"
        )
    try:
        shape.check(numbers)
    except shape.WrongShape as error:
        problem = files.printable(str(error))
        raise InputError(
            f"{path} is no whole card: {problem}; make the card again"
        ) from None
    return numbers


def _scores_in(path: Path) -> pd.DataFrame:
    """The scores beside a card, a row a judgment."""
    keys = ["set", *KEYS]
    numeric = ["human", "value"]
    as_text: Any = {"dtype": str, "keep_default_na": False, "na_values": [""]}
    try:
        lines = pd.read_csv(path, header=None, **as_text)
    except ValueError as error:  # pandas' own errors are among them
        problem = str(error).strip()
        raise InputError(f"{path} cannot be read: {problem}") from None
    # read without a header, since pandas would rename a column that is there twice
    names = lines.iloc[0].tolist()
    if len(set(names)) < len(names):
        raise InputError(f"{path} has a column twice; write the card again")
    for name in (*keys, *numeric):
        if name not in names:
            raise InputError(f"{path} has no column {name!r}; write the card again")
    table = lines.iloc[1:].set_axis(names, axis=1)
    try:
        table = table.astype(dict.fromkeys(numeric, float))
    except ValueError as error:
        raise InputError(f"{path}: {error}; write the card again") from None
    if table.duplicated(keys).any():
        raise InputError(f"{path} has a row twice; write the card again")
    return table
