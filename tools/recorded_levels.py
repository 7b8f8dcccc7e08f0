"""Do the default intervals and tests hold with judges that people recorded?

python -m tools.recorded_levels [--worlds 60] [--only SET ...] [--cores 1]

Systems and inputs of a rated set are drawn with the scores that a recorded judge gave
them; truth is the coefficient of the whole set. A test meets a true null: a second
judge, by its recorded scores, that is mixed with ratings or noise until it has the
first one's coefficient. Writes `data/simulated/recorded_worlds.csv`, cell by cell;
cells that are there are not made again. Needs the data, and takes about 20 minutes of
one core.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from judgecard import judged, recorded_judges
from nlgeval_lib import datasets, files, parsers, statistics

Scores = np.ndarray  # X[system, input]
INPUTS = 100  # drawn at most, with replacement
COEFS = ("pearson", "kendall-b")
TABLE = "recorded_worlds.csv"
SEED = 1
# reasons that say no more than that units are few
OF_NUMBER = ("wide by necessity", "little power", "far outnumber")
# what is said of data since these worlds were first drawn (`statistics.cautions`)
CAUTIONS = ("near-copies", "skewed ratings", "agree nearly perfectly")
# how systems are drawn
TWICE = "some twice"
ONCE = "each once"
FAMILIES = "families of three"
# of each near-copy's outputs, the share that stands for another input
REPLACED = 0.3
# how many systems, and how
DRAWS = ((6, TWICE), (12, TWICE), (8, ONCE), (12, FAMILIES))


class World(NamedTuple):
    """A rated set with two judges.

    aspect: that is rated.
    recording: "" where the judges are columns of the set.
    judge, rival: names of the judges in the recording; of a rival "aspect NAME" is
        what people say of another aspect.
    form: of the prompt.
    tuned: rules were changed after a look at this set.
    """

    dataset: str
    aspect: str
    recording: str
    judge: str
    rival: str
    form: str = ""
    tuned: bool = False


_ALTTEST = "alttest_summeval"
_GPT_35 = "gpt-3.5-turbo-0613"
_WEBNLG = "instructscore_webnlg"
WORLDS = (
    World("summeval", "coherence", _ALTTEST, "gpt-4o", "gemini_pro", tuned=True),
    World("summeval", "consistency", _ALTTEST, "gpt-4o", "gemini_pro", tuned=True),
    World("summeval", "relevance", _ALTTEST, "mistral-v03", "llama-31", tuned=True),
    World("wmt22_zhen", "mqm", "gemba_wmt22", "GPT4", "Turbo", "DA-refA", tuned=True),
    World(
        *("topical_chat", "naturalness", "acloserlook", _GPT_35),
        *("aspect engagingness", "rate_explain"),
        tuned=True,
    ),
    World("webnlg2020", "fluency", _WEBNLG, "InstructScore", "aspect correctness"),
    World("webnlg2020", "correctness", _WEBNLG, "InstructScore", "aspect fluency"),
    World("openmeva", "overall", "", "stored_chatgpt", "stored_bartscore"),
    World("openmeva", "overall", "", "stored_bartscore", "stored_chatgpt"),
)


def _values(world: World, judge: str) -> pd.DataFrame:
    """A judge's scores and the ratings: rows with system_id, input_id, value, human."""
    numbers = datasets.load_numbers(world.dataset)
    rows = numbers[numbers["aspect"] == world.aspect]
    keys = ["system_id", "input_id"]
    if judge.startswith("aspect "):
        other = numbers[numbers["aspect"] == judge.removeprefix("aspect ")]
        others = other[keys].assign(value=other["human"])
        return rows[[*keys, "human"]].merge(others, on=keys)
    if not world.recording:
        return rows.assign(value=rows[judge])
    if world.recording == _WEBNLG:
        items = datasets.items(numbers)
        read = parsers.instructscore
        scores = recorded_judges.of_one(items, world.recording, read=read)
        return rows.merge(items[keys].assign(value=scores), on=keys)
    frame = judged.recorded(world.dataset, world.recording, judge, world.form).frame
    return frame[frame["aspect"] == world.aspect]


def of_world(world: World) -> tuple[Scores, Scores, Scores]:
    """The scores of the judge and its rival, and the ratings, of the same outputs."""
    tables = []
    for judge in (world.judge, world.rival):
        rows = _values(world, judge)
        for column in ("value", "human"):
            tables.append(rows.pivot_table(column, "system_id", "input_id"))
    inputs = tables[0].columns
    for table in tables:
        inputs = inputs.intersection(table.columns)
    systems = tables[0].index
    first, ratings, second, _ = (
        table.reindex(index=systems, columns=inputs).to_numpy() for table in tables
    )
    common = np.isfinite(first) & np.isfinite(second) & np.isfinite(ratings)
    sides = [np.where(common, side, np.nan) for side in (first, second, ratings)]
    return sides[0], sides[1], sides[2]


def as_good(
    first: Scores, second: Scores, ratings: Scores, coef: str, level: str
) -> Scores:
    """The second judge, with ratings or noise mixed in until its coefficient is that of
    the first.
    """

    def coefficient(scores: Scores) -> float:
        return statistics.correlate(scores, ratings, coef, level).value

    rng = np.random.default_rng(0)
    second, better = (_standard(side) for side in (second, ratings))
    wanted = coefficient(first)
    is_worse = coefficient(second) < wanted
    other = better if is_worse else rng.normal(size=second.shape)
    at_chance = rng.random(second.shape)
    low, high = 0.0, 1.0
    for _ in range(25):
        share = (low + high) / 2
        mixed = _mixed(second, other, share, at_chance, coef)
        if (coefficient(mixed) < wanted) == is_worse:
            low = share
        else:
            high = share
    # Few systems have few values of a rank coefficient: the first one reached is it.
    return _mixed(second, other, high if is_worse else low, at_chance, coef)


def _mixed(
    side: Scores, other: Scores, share: float, at_chance: Scores, coef: str
) -> Scores:
    """A share of the other in each score; for ranks, of the outputs: any part of the
    other would part all ties at once.
    """
    if coef == "pearson":
        return (1 - share) * side + share * other
    return np.where(at_chance < share, other + 0 * side, side)


def _standard(side: Scores) -> Scores:
    return (side - np.nanmean(side)) / np.nanstd(side)


def drawn(
    shape: tuple[int, int], systems: int, how: str, worlds: int
) -> Iterator[tuple[Any, Any]]:
    """The places of the outputs of each world, to index a side with: systems, and
    inputs of each.

    how: systems are drawn; of a family, two are near-copies of the first.
    """
    rng = np.random.default_rng(SEED)
    number = min(INPUTS, shape[1])
    for _ in range(worlds):
        if how != FAMILIES:
            rows = rng.choice(shape[0], systems, replace=how == TWICE)
            yield np.ix_(rows, rng.choice(shape[1], number))
            continue
        rows = np.repeat(rng.choice(shape[0], systems // 3), 3)
        columns = np.tile(rng.choice(shape[1], number), (systems, 1))
        # Outputs of the same system: what is said of it stays true.
        is_replaced = rng.random(columns.shape) < REPLACED
        is_replaced[::3] = False
        columns[is_replaced] = rng.choice(shape[1], int(is_replaced.sum()))
        yield rows[:, None], columns


def is_told(result: Any, how: str, unsaid: tuple[str, ...] = ()) -> bool:
    """Does the one line of a result say more than that units are few?

    how: systems were drawn: of such as are drawn twice, that they are near-copies does
        not count.
    unsaid: words of reasons that do not count.
    """
    if result.influence is not None and result.influence.is_notable:
        return True
    idle = OF_NUMBER + unsaid
    if how == TWICE:
        idle += ("near-copies",)
    parts = [part for part in result.reason.split("; ") if part]
    return any(not any(words in part for words in idle) for part in parts)


class Cell(NamedTuple):
    """What is measured together: a world, a level, a coefficient, how many systems are
    drawn and how, and in how many worlds.
    """

    world: World
    level: str
    coef: str
    systems: int
    how: str
    worlds: int

    def key(self) -> dict[str, Any]:
        """The columns that name it."""
        key = {"set": self.world.dataset, "aspect": self.world.aspect}
        key |= {"judge": self.world.judge, "tuned": self.world.tuned}
        key |= {"level": self.level, "coef": self.coef, "systems": self.systems}
        return key | {"drawn": self.how, "worlds": self.worlds}


def cells(worlds: int, only: Iterable[str]) -> Iterator[Cell]:
    """Every cell of these sets, of all where none is named."""
    for world in WORLDS:
        if only and world.dataset not in only:
            continue
        systems = len(datasets.load_numbers(world.dataset)["system_id"].unique())
        for level, coef in itertools.product(statistics.LEVELS, COEFS):
            for number, how in DRAWS:
                if how == ONCE and number >= systems:
                    continue
                # A replaced output answers another input.
                if how == FAMILIES and level == "input":
                    continue
                yield Cell(world, level, coef, number, how, worlds)


@functools.cache
def _sides(world: World) -> tuple[Scores, Scores, Scores]:
    return of_world(world)


def measure(cell: Cell) -> dict[str, Any]:
    """Coverage, width, share of misses that are named, and how often the test rejects a
    true null at .05.
    """
    world, level, coef, systems, how, worlds = cell
    sides = _sides(world)
    first, _, ratings = sides
    truth = statistics.correlate(first, ratings, coef, level).value
    second = as_good(*sides, coef, level)
    # Fisher's z was the default of this one until it was measured here.
    was_fisher = (coef, level) == ("pearson", "system")
    names = {"auto": "now"} | ({"fisher": "before"} if was_fisher else {})
    intervals: dict[str, list[Any]] = {ci: [] for ci in names}
    found: dict[str, list[Any]] = {"auto": []}
    if level == "system":
        found["jack-systems"] = []
    for places in drawn(first.shape, systems, how, worlds):
        scores, rivals, human = first[places], second[places], ratings[places]
        for ci, made in intervals.items():
            made.append(statistics.correlate(scores, human, coef, level, ci=ci))
        for units, tests in found.items():
            sides_drawn = scores, rivals, human
            tests.append(statistics.compare(*sides_drawn, coef, level, units))
    number = min(INPUTS, first.shape[1])
    row = cell.key() | {"inputs": number, "truth": truth}
    before = intervals.get("fisher", intervals["auto"])
    row |= _held(before, truth, how, "before", CAUTIONS)
    row |= _held(intervals["auto"], truth, how, "now")
    return row | _rejecting(found, how)


def _rejecting(found: dict[str, list[Any]], how: str) -> dict[str, Any]:
    """The columns of the tests over all worlds, by the name of the test."""
    tests = found["auto"]
    rejected = [one for one in tests if one.p <= 0.05]
    told = [is_told(one, how) for one in rejected]
    by_jackknife = found.get("jack-systems", tests)
    return {
        "test": tests[0].test.partition("|")[0].partition("/")[0],
        "rejected": len(rejected) / len(tests),
        "told of rejected": np.mean(told) if rejected else np.nan,
        "rejected by jackknife": np.mean([one.p <= 0.05 for one in by_jackknife]),
    }


def _held(
    made: list[Any], truth: float, how: str, name: str, unsaid: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The columns of one interval over all worlds; where there is none, it says so."""
    misses = [one for one in made if not one.low <= truth <= one.high]
    told = [is_told(one, how, unsaid) for one in misses]
    return {
        f"interval {name}": made[-1].interval.name or "none",
        f"coverage {name}": 1 - len(misses) / len(made),
        f"width {name}": np.nanmedian([one.high - one.low for one in made]),
        f"told {name}": np.mean(told) if misses else np.nan,
        f"said {name}": np.mean([is_told(one, how, unsaid) for one in made]),
    }


def page_lines() -> list[str]:
    """The table of `docs/statistics.md`: a line a level, coefficient and way to draw
    systems, with medians over the judges of sets that rules were tuned on, and of those
    that were left out; the worst of them in brackets.
    """
    table = pd.read_csv(files.data() / "simulated" / TABLE)
    missed = 1 - table["coverage now"]
    silent = missed * (1 - table["told now"].fillna(0.0))
    table["held or told"] = 1 - silent
    table["silent"] = table["rejected"] * (1 - table["told of rejected"].fillna(0.0))
    lines = []
    for names, group in table.groupby(
        ["level", "coef", "systems", "drawn"], sort=False
    ):
        level, coef, systems, how = names
        width = group["width now"].median()
        cells = [level, coef, f"{systems}, {how}"]
        cells.append(f"{group['interval now'].iloc[0]} ({width:.2f})")
        cells.append(_median_and_worst(group["coverage before"], min))
        for _, part in sorted(group.groupby("tuned"), reverse=True):
            for column, worst in _SHOWN.items():
                cells.append(_median_and_worst(part[column], worst))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


# columns that the page shows of either kind of set, and which of them is the worst
_SHOWN = {"coverage now": min, "held or told": min, "rejected": max, "silent": max}


def _median_and_worst(values: Any, worst: Any) -> str:
    """Two rates: ".95 (.80)"."""
    rates = [
        f"{rate:.2f}".lstrip("0") or "0" for rate in (values.median(), worst(values))
    ]
    return f"{rates[0]} ({rates[1]})"


def main() -> None:
    """Measure the cells that are not there yet."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=60)
    parser.add_argument("--only", nargs="*", default=(), metavar="SET")
    parser.add_argument("--cores", type=int, default=1)
    options = parser.parse_args()
    path = files.data() / "simulated" / TABLE
    rows = []
    if path.exists():
        rows = pd.read_csv(path).to_dict("records")
    wanted = list(cells(options.worlds, options.only))
    there = [{name: row[name] for name in wanted[0].key()} for row in rows]
    missing = [cell for cell in wanted if cell.key() not in there]
    places = [cell.key() for cell in cells(options.worlds, ())]
    with concurrent.futures.ProcessPoolExecutor(options.cores) as pool:
        tasks = [pool.submit(measure, cell) for cell in missing]
        for task in concurrent.futures.as_completed(tasks):
            rows.append(task.result())
            print(*rows[-1].values(), flush=True)
            rows.sort(key=lambda row: _place(row, places))
            pd.DataFrame(rows).to_csv(path, index=False, float_format="%.4f")


def _place(row: dict[str, Any], keys: list[dict[str, Any]]) -> int:
    """Where a row stands in the table; one that is no longer asked for stands last."""
    key = {name: row[name] for name in keys[0]}
    return keys.index(key) if key in keys else len(keys)


if __name__ == "__main__":
    main()
