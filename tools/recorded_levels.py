"""Do the default intervals and tests hold with judges that people recorded?

python -m tools.recorded_levels [--worlds 60] [--only SET ...] [--cores 1]

Systems and inputs of a rated set are drawn with the scores that a recorded judge gave
them; truth is the coefficient of the whole set. A test meets a true difference, two
recorded judges as they are, and a true null: ratings are mixed into the worse of them
until it is as good as the better one. Writes `data/simulated/recorded_worlds.csv`, cell
by cell, and the tables of `docs/statistics.md`; cells that are there are not made
again. Needs the data, and takes about 30 minutes of one core.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import functools
import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from judgecard import judged, recorded_judges
from nlgeval_lib import datasets, files, parsers, statistics

Scores = np.ndarray  # X[system, input]
Row = dict[str, Any]
INPUTS = 100  # drawn at most, with replacement
COEFS = ("pearson", "kendall-b")
TABLE = "recorded_worlds.csv"
SEED = 1
HALVINGS = 16  # of the share that makes two judges equally good
DRAWN = 30  # sets of inputs over which a judge's goodness is a mean
# reasons that say no more than that units are few
OF_NUMBER = ("wide by necessity", "little power", "far outnumber")
# what one or two systems do to the value, and what `statistics.cautions` says
CAUTIONS = (
    "outside the interval",
    "near-copies",
    "skewed ratings",
    "agree nearly perfectly",
)
# measured beside the default test at system level
OTHER_TEST = "exact-systems"
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
    form: str
    tuned: bool


_WEBNLG = "instructscore_webnlg"


def _worlds() -> list[World]:
    """The worlds of the table beside this file."""
    path = Path(__file__).with_name("recorded_worlds.csv")
    table = pd.read_csv(path, keep_default_na=False)
    table["tuned"] = table["tuned"] == "yes"
    return [World(*row) for row in table.itertuples(index=False)]


WORLDS = _worlds()
_KEYS = ["system_id", "input_id"]


# -- the scores of a world


def _values(world: World, judge: str) -> pd.DataFrame:
    """A judge's scores and the ratings: rows with system_id, input_id, value, human."""
    if judge.startswith("aspect "):
        return _of_people(world, judge.removeprefix("aspect "))
    if not world.recording:
        rows = _rated(world.dataset, world.aspect)
        return rows.assign(value=rows[judge])
    if world.recording == _WEBNLG:
        return _of_instructscore(world)
    recorded = judged.recorded(world.dataset, world.recording, judge, world.form)
    frame = recorded.frame
    return frame[frame["aspect"] == world.aspect]


def _rated(dataset: str, aspect: str) -> pd.DataFrame:
    """The rows of a set that rate one aspect."""
    numbers = datasets.load_numbers(dataset)
    return numbers[numbers["aspect"] == aspect]


def _of_people(world: World, aspect: str) -> pd.DataFrame:
    """What people say of another aspect, as a judge's scores."""
    rows = _rated(world.dataset, world.aspect)
    rival = _rated(world.dataset, aspect)
    scores = rival[_KEYS].assign(value=rival["human"])
    return rows[[*_KEYS, "human"]].merge(scores, on=_KEYS)


def _of_instructscore(world: World) -> pd.DataFrame:
    """The recorded scores of InstructScore, which rates no single aspect."""
    rows = _rated(world.dataset, world.aspect)
    items = datasets.items(datasets.load_numbers(world.dataset))
    scores = recorded_judges.of_one(items, world.recording, read=parsers.instructscore)
    return rows.merge(items[_KEYS].assign(value=scores), on=_KEYS)


def of_world(world: World) -> tuple[Scores, Scores, Scores]:
    """The scores of the judge and its rival, and the ratings, of the same outputs."""
    tables = []
    for name in (world.judge, world.rival):
        rows = _values(world, name)
        for column in ("value", "human"):
            table = rows.pivot_table(column, "system_id", "input_id")
            tables.append(table)
    systems = tables[0].index
    inputs = tables[0].columns
    for table in tables:
        inputs = inputs.intersection(table.columns)
    matrices = []
    for table in tables:
        aligned = table.reindex(index=systems, columns=inputs)
        matrices.append(aligned.to_numpy())
    judge, ratings, rival, _ = matrices
    is_common = np.isfinite(judge) & np.isfinite(rival) & np.isfinite(ratings)
    return (
        np.where(is_common, judge, np.nan),
        np.where(is_common, rival, np.nan),
        np.where(is_common, ratings, np.nan),
    )


# -- two judges, equally good or not


class Pair(NamedTuple):
    """The better and the worse of two judges, as recorded, and the worse one as good.

    better, worse, equal: X[system, input].
    gap: by how much the coefficient of the better one is above that of the worse one.
    """

    better: Scores
    worse: Scores
    equal: Scores
    gap: float


def paired(
    judge: Scores, rival: Scores, ratings: Scores, coef: str, level: str
) -> Pair:
    """Two judges, and the worse one with ratings mixed in until both are equally good.

    How good is the mean over draws of as many inputs as a world has: with few inputs
    the noise of a score lowers a coefficient of systems' means.
    """
    rng = np.random.default_rng(0)
    at_chance = rng.random(judge.shape)
    all_inputs = judge.shape[1]
    chosen = rng.choice(all_inputs, (DRAWN, min(INPUTS, all_inputs)))

    def goodness(scores: Scores) -> float:
        values = []
        for inputs in chosen:
            drawn_scores = scores[:, inputs]
            drawn_ratings = ratings[:, inputs]
            result = statistics.correlate(drawn_scores, drawn_ratings, coef, level)
            values.append(result.value)
        return float(np.nanmean(values))

    better, worse = sorted((judge, rival), key=goodness, reverse=True)
    target = goodness(better)
    gap = target - goodness(worse)
    worse = _standard(worse)
    admixture = _standard(ratings)
    # Any part of it in every score would part all ties at once, and rank all outputs
    # for an input that have one score.
    in_every_score = coef == "pearson" and level != "input"
    low = 0.0
    high = 1.0
    for _ in range(HALVINGS):
        share = (low + high) / 2
        mixed = _mixed(worse, admixture, share, at_chance, in_every_score)
        if goodness(mixed) < target:
            low = share
        else:
            high = share
    equal = _mixed(worse, admixture, high, at_chance, in_every_score)
    return Pair(better, worse, equal, gap)


def _mixed(
    scores: Scores,
    admixture: Scores,
    share: float,
    at_chance: Scores,
    in_every_score: bool,
) -> Scores:
    """A share of the admixture in each score, or in place of that share of scores."""
    if in_every_score:
        return (1 - share) * scores + share * admixture
    # NaN where a score is
    replacement = admixture + 0 * scores
    return np.where(at_chance < share, replacement, scores)


def _standard(scores: Scores) -> Scores:
    """With mean 0 and standard deviation 1."""
    centred = scores - np.nanmean(scores)
    return centred / np.nanstd(scores)


# -- what is drawn


def drawn(
    shape: tuple[int, int], systems: int, scheme: str, worlds: int
) -> Iterator[tuple[Any, ...]]:
    """The places of the outputs of each world, to index scores with.

    shape: of the scores, (systems, inputs).
    scheme: how systems are drawn, of `DRAWS`.
    Yields: rows and columns, which broadcast to (systems, inputs drawn).
    """
    rng = np.random.default_rng(SEED)
    all_systems, all_inputs = shape
    number = min(INPUTS, all_inputs)
    for _ in range(worlds):
        if scheme == FAMILIES:
            yield _families(rng, shape, systems)
        else:
            may_repeat = scheme == TWICE
            rows = rng.choice(all_systems, systems, replace=may_repeat)
            columns = rng.choice(all_inputs, number)
            yield np.ix_(rows, columns)


def _families(
    rng: np.random.Generator, shape: tuple[int, int], systems: int
) -> tuple[Any, Any]:
    """The places of one world of which two of three systems are near-copies."""
    all_systems, all_inputs = shape
    number = min(INPUTS, all_inputs)
    originals = rng.choice(all_systems, systems // 3)
    rows = np.repeat(originals, 3)
    inputs = rng.choice(all_inputs, number)
    columns = np.tile(inputs, (systems, 1))
    # Outputs of the same system: what is said of it stays true.
    is_replaced = rng.random(columns.shape) < REPLACED
    is_replaced[::3] = False
    replaced = int(is_replaced.sum())
    columns[is_replaced] = rng.choice(all_inputs, replaced)
    return rows[:, None], columns


class Cell(NamedTuple):
    """What is measured together.

    level, coef: of the coefficient.
    systems, scheme: how many systems are drawn, and how.
    worlds: how many are drawn.
    """

    world: World
    level: str
    coef: str
    systems: int
    scheme: str
    worlds: int

    def key(self) -> Row:
        """The columns that name it."""
        return {
            "set": self.world.dataset,
            "aspect": self.world.aspect,
            "judge": self.world.judge,
            "tuned": self.world.tuned,
            "level": self.level,
            "coef": self.coef,
            "systems": self.systems,
            "drawn": self.scheme,
            "worlds": self.worlds,
        }


def cells(worlds: int, only: Iterable[str]) -> Iterator[Cell]:
    """Every cell of these sets, of all where none is named."""
    for world in WORLDS:
        if only and world.dataset not in only:
            continue
        numbers = datasets.load_numbers(world.dataset)
        systems = numbers["system_id"].nunique(dropna=False)
        for level, coef in itertools.product(statistics.LEVELS, COEFS):
            for number, scheme in DRAWS:
                if scheme == ONCE and number >= systems:
                    continue
                # A replaced output answers another input.
                if scheme == FAMILIES and level == "input":
                    continue
                yield Cell(world, level, coef, number, scheme, worlds)


# -- what is measured


@functools.cache
def _scores(world: World) -> tuple[Scores, Scores, Scores]:
    """`of_world`, read once."""
    return of_world(world)


@functools.cache
def _pair(world: World, coef: str, level: str) -> Pair:
    """`paired`, made once."""
    return paired(*_scores(world), coef, level)


def measure(cell: Cell) -> Row:
    """Coverage, width, what is said of misses, and how often a test finds a difference
    at .05: one that is not there, and one that is.
    """
    judge, _, ratings = _scores(cell.world)
    coef = cell.coef
    level = cell.level
    pair = _pair(cell.world, coef, level)
    intervals = ["auto"]
    # Fisher's z was the default of this one until it was measured here.
    if (coef, level) == ("pearson", "system"):
        intervals.append("fisher")
    tests = ["auto"]
    if level == "system":
        tests.append(OTHER_TEST)
    correlations = defaultdict(list)
    nulls = defaultdict(list)
    differences = defaultdict(list)
    for places in drawn(judge.shape, cell.systems, cell.scheme, cell.worlds):
        human = ratings[places]
        for ci in intervals:
            correlation = statistics.correlate(judge[places], human, coef, level, ci=ci)
            correlations[ci].append(correlation)
        better = pair.better[places]
        arguments = (human, coef, level)
        for test in tests:
            equal = statistics.compare(better, pair.equal[places], *arguments, test)
            nulls[test].append(equal)
            worse = statistics.compare(better, pair.worse[places], *arguments, test)
            differences[test].append(worse)
    row = cell.key()
    row["inputs"] = min(INPUTS, judge.shape[1])
    row["truth"] = statistics.correlate(judge, ratings, coef, level).value
    previous = correlations.get("fisher", correlations["auto"])
    row["coverage before"] = 1 - np.mean(_misses(previous, row["truth"]))
    row |= _of_interval(correlations["auto"], row["truth"], cell.scheme)
    row["test"] = re.split("[|/]", nulls["auto"][0].test)[0]
    row["gap"] = pair.gap
    row |= _of_test(nulls["auto"], differences["auto"], cell.scheme)
    by_exchange: Row = {}
    if level == "system":
        by_exchange = _of_test(nulls[OTHER_TEST], differences[OTHER_TEST], cell.scheme)
    for name in ("rejected", "found"):
        row[f"{name} by {OTHER_TEST}"] = by_exchange.get(name, np.nan)
    return row


def _misses(correlations: list[Any], truth: float) -> list[bool]:
    """Which intervals do not hold the truth; where there is none, it does not."""
    misses = []
    for correlation in correlations:
        holds = correlation.low <= truth <= correlation.high
        misses.append(not holds)
    return misses


def _of_interval(correlations: list[Any], truth: float, scheme: str) -> Row:
    """The columns of the default interval over all worlds."""
    misses = np.array(_misses(correlations, truth))
    widths = [correlation.high - correlation.low for correlation in correlations]
    row = {
        "interval": correlations[-1].interval.name or "none",
        "coverage": 1 - misses.mean(),
        "width": np.nanmedian(widths),
    }
    warned = _warned(correlations, scheme)
    row["told"] = _share(warned[misses])
    row["said of hits"] = _share(warned[~misses])
    for caution in CAUTIONS:
        has_it = np.array([caution in each.reason for each in correlations])
        row[f"{caution}, of misses"] = _share(has_it[misses])
        row[f"{caution}, of hits"] = _share(has_it[~misses])
    return row


def _of_test(nulls: list[Any], differences: list[Any], scheme: str) -> Row:
    """The columns of a test over all worlds."""
    rejections = _rejections(nulls)
    findings = []
    for comparison in _rejections(differences):
        if comparison.difference > 0:
            findings.append(comparison)
    return {
        "rejected": len(rejections) / len(nulls),
        "told of rejected": _share(_warned(rejections, scheme)),
        "found": len(findings) / len(differences),
        "told of found": _share(_warned(findings, scheme)),
    }


def _rejections(comparisons: list[Any]) -> list[Any]:
    """Those that reject the null at .05."""
    return [comparison for comparison in comparisons if comparison.p <= 0.05]


def _share(flags: Any) -> float:
    """How many of them are true; NaN where there are none."""
    if len(flags) == 0:
        return np.nan
    return float(np.mean(flags))


def _warned(results: list[Any], scheme: str) -> np.ndarray:
    """`is_told` of each."""
    return np.array([is_told(result, scheme) for result in results], dtype=bool)


def is_told(result: Any, scheme: str) -> bool:
    """Does the one line of a result say more than that units are few?

    scheme: how systems were drawn: of such as are drawn twice, that they are
        near-copies does not count.
    """
    idle: tuple[str, ...] = OF_NUMBER
    if scheme == TWICE:
        idle += ("near-copies",)
    clauses = result.reason.split("; ")
    return any(_says_more(clause, idle) for clause in clauses)


def _says_more(clause: str, idle: tuple[str, ...]) -> bool:
    """Has a reason words other than the idle ones?"""
    if not clause:
        return False
    return not any(words in clause for words in idle)


# -- the tables of the page

# columns that the page shows of either kind of set, and which of them is the worst
_COLUMNS = {"coverage": min, "held or told": min, "rejected": max, "silent": max}


PAGE = Path(__file__).parents[1] / "docs" / "statistics.md"


def page_tables() -> dict[str, list[str]]:
    """The tables of `docs/statistics.md`: how the line of headings begins -> lines."""
    table = pd.read_csv(files.data() / "simulated" / TABLE)
    return {
        "| level | coefficient | systems, drawn |": list(_level_lines(table)),
        "| coefficient | systems, drawn | sets |": list(_power_lines(table)),
        "| caution | level |": list(_caution_lines(table)),
    }


def write_page() -> None:
    """Put the tables into the page."""
    lines = PAGE.read_text(encoding="utf-8").split("\n")
    for headings, rows in page_tables().items():
        # below the headings and the line of dashes
        start = 2
        start += next(i for i, line in enumerate(lines) if line.startswith(headings))
        end = lines.index("", start)
        lines[start:end] = rows
    files.write_text(PAGE, "\n".join(lines))


def _level_lines(table: pd.DataFrame) -> Iterator[str]:
    """A line a level, coefficient and way to draw systems, with medians over the judges
    of sets that rules were tuned on, and of those that were left out; the worst of them
    in brackets.
    """
    missed = 1 - table["coverage"]
    silent = missed * (1 - table["told"].fillna(0.0))
    untold = 1 - table["told of rejected"].fillna(0.0)
    table["held or told"] = 1 - silent
    table["silent"] = table["rejected"] * untold
    keys = ["level", "coef", "systems", "drawn"]
    for names, group in table.groupby(keys, sort=False):
        level, coef, systems, scheme = names
        yield _line([level, coef, f"{systems}, {scheme}", *_entries(group)])


def _power_lines(table: pd.DataFrame) -> Iterator[str]:
    """Of the tests at system level, a line a coefficient and way to draw systems: how
    often each finds a difference that is not there, and one that is.
    """
    at_system_level = table[table["level"] == "system"]
    keys = ["coef", "systems", "drawn", "tuned"]
    for names, group in at_system_level.groupby(keys, sort=False):
        coef, systems, scheme, tuned = names
        of_sets = "tuned" if tuned else "left out"
        entries = [coef, f"{systems}, {scheme}", of_sets, _rate(group["gap"].median())]
        for column in ("rejected", "found"):
            for suffix in ("", f" by {OTHER_TEST}"):
                entries.append(_median_and_worst(group[column + suffix], max))
        yield _line(entries)


def _caution_lines(table: pd.DataFrame) -> Iterator[str]:
    """A line a caution and level that has it: how often it is said of intervals that miss the truth
    and of those that hold it; with families that nobody named, and without.
    """
    misses = (1 - table["coverage"]) * table["worlds"]
    hits = table["coverage"] * table["worlds"]
    for caution in CAUTIONS:
        for level in statistics.LEVELS:
            entries = [caution, level]
            for has_families in (False, True):
                rows = (table["drawn"] == FAMILIES) == has_families
                # What is drawn twice is a near-copy of itself.
                if caution == "near-copies" and not has_families:
                    rows &= table["drawn"] != TWICE
                rows &= table["level"] == level
                for kind, number in (("misses", misses), ("hits", hits)):
                    counts = table[f"{caution}, of {kind}"] * number
                    total = number[rows].sum()
                    share = counts[rows].sum() / total if total else np.nan
                    entries.append(_rate(share))
            is_said = not set(entries[2:]) <= {_rate(0.0), _rate(np.nan)}
            if is_said:
                yield _line(entries)


def _line(entries: list[str]) -> str:
    """A line of a Markdown table."""
    return f"| {' | '.join(entries)} |"


def _entries(group: pd.DataFrame) -> list[str]:
    """What a line of the page says of judges that were measured alike, a row each."""
    interval = group["interval"].iloc[0]
    width = group["width"].median()
    entries = [f"{interval} ({width:.2f})"]
    entries.append(_median_and_worst(group["coverage before"], min))
    for _, rows in sorted(group.groupby("tuned"), reverse=True):
        for column, worst in _COLUMNS.items():
            entries.append(_median_and_worst(rows[column], worst))
    return entries


def _median_and_worst(values: Any, worst: Any) -> str:
    """Two rates: ".95 (.80)"."""
    median = _rate(values.median())
    extreme = _rate(worst(values))
    return f"{median} ({extreme})"


def _rate(value: float) -> str:
    """Without the zero before the point: ".95"; "-" for none."""
    if np.isnan(value):
        return "-"
    return f"{value:.2f}".lstrip("0") or "0"


# -- the run


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
    requested = list(cells(options.worlds, options.only))
    columns = list(requested[0].key())
    measured = [_key(row, columns) for row in rows]
    missing = [cell for cell in requested if cell.key() not in measured]
    places = [cell.key() for cell in cells(options.worlds, ())]
    with concurrent.futures.ProcessPoolExecutor(options.cores) as pool:
        tasks = [pool.submit(measure, cell) for cell in missing]
        for task in concurrent.futures.as_completed(tasks):
            row = task.result()
            print(*row.values(), flush=True)
            rows.append(row)
            rows.sort(key=lambda line: _place(line, places))
            table = pd.DataFrame(rows)
            table.to_csv(path, index=False, float_format="%.4f")
    write_page()


def _key(row: Row, columns: Iterable[str]) -> Row:
    """The columns of a row that name its cell."""
    return {name: row[name] for name in columns}


def _place(row: Row, keys: list[Row]) -> int:
    """Where a row stands in the table; one that is no longer asked for stands last."""
    key = _key(row, keys[0])
    if key in keys:
        return keys.index(key)
    return len(keys)


if __name__ == "__main__":
    main()
