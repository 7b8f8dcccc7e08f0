"""Does a card name the faults of planted judges, and accuse no good one? The long run.

    python -m tools.fault_table [--draws 10] [--sets "6 systems" ...]

Planted judges of `tools.planted_faults` score draws of public sets: some of the inputs,
of `8 systems` some systems too. Writes a row a set and judge into
`data/simulated/planted_faults.csv`; takes some minutes. The test makes a few
draws of the same rows.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from judgecard import closeness, faults, judged, measure, paired, verdict
from judgecard.aspect import Aspect
from judgecard.cells import Numbers, value_or_reason
from nlgeval_lib import datasets, files
from tools import planted_faults
from tools.planted_faults import FAULTS, PAIR_FAULTS, Fault

PATH = files.data() / "simulated" / "planted_faults.csv"
GOOD = "good"
HALO = "halo over several aspects"
COPY = "a copy of one rater"
COLUMNS = ("input_id", "system_id", "aspect", "human", "output")
MOST_INPUTS = 60  # of a draw
MOST_PAIRS = 400
SHARE = 0.8  # of the inputs is drawn at most
# what is said of a judge with as much noise as the ratings vary is true of it
_TRUE = {"nearer than a constant"}
Random = np.random.Generator
_KINDS = (verdict.FAILS, "limits")  # of findings that name a fault
# the rules that name a fault, and those of them whose words are in the verdict
Rules = tuple[set[str], set[str]]


@dataclass(frozen=True)
class RatedSet:
    """A public set of rated outputs.

    aspects: with one scale; the first is the one of faults of one aspect.
    systems: so many are drawn; 0: all.
    raters: how the columns of its raters begin, "" for none.
    without: faults that a judge of it cannot have.
    """

    dataset: str
    aspects: tuple[str, ...]
    systems: int = 0
    raters: str = ""
    without: tuple[str, ...] = ()

    def draw(self, rng: Random, aspects: Sequence[str]) -> pd.DataFrame:
        """Some inputs of these aspects, of all or some systems."""
        frame = _loaded(self.dataset)
        is_asked = frame["aspect"].isin(aspects)
        is_rated = frame["human"].notna()
        frame = frame[is_asked & is_rated]
        frame = _some(frame, "input_id", MOST_INPUTS, rng, SHARE)
        if self.systems:
            frame = _some(frame, "system_id", self.systems, rng)
        columns = [*COLUMNS, *self._raters(frame)]
        drawn = frame[columns].reset_index(drop=True)
        scales = datasets.spec(self.dataset).scale
        scale = {aspect: scales[aspect] for aspect in aspects}
        drawn.attrs = {"name": "drawn", "scale": scale}
        return drawn

    def _raters(self, frame: pd.DataFrame) -> list[str]:
        """The columns of its raters."""
        if not self.raters:
            return []
        return [name for name in frame if str(name).startswith(self.raters)]


@functools.cache
def _loaded(dataset: str) -> pd.DataFrame:
    """A set's rows; nothing changes them."""
    return datasets.load(dataset)


def _some(
    frame: pd.DataFrame, column: str, most: int, rng: Random, share: float = 1.0
) -> pd.DataFrame:
    """The rows of some of a column's values, drawn without replacement."""
    values = frame[column].unique()
    share_of_all = round(share * len(values))
    number = min(most, share_of_all)
    drawn = rng.choice(values, number, replace=False)
    return frame[frame[column].isin(drawn)]


SETS: Mapping[str, RatedSet] = {
    "6 systems": RatedSet(
        dataset="topical_chat",
        aspects=("overall", "naturalness", "coherence", "engagingness"),
        without=(COPY,),
    ),
    "8 systems": RatedSet(
        dataset="summeval",
        aspects=("relevance", "coherence", "consistency", "fluency"),
        systems=8,
        raters="rater_expert",
    ),
    "16 systems": RatedSet(
        dataset="summeval",
        aspects=("coherence", "relevance", "consistency", "fluency"),
        raters="rater_expert",
    ),
    # no bar of a rule was chosen on these, but for that of `favours`
    "5 stories": RatedSet(
        dataset="openmeva", aspects=("overall",), without=(COPY, HALO)
    ),
    "16 texts of data": RatedSet(
        dataset="webnlg2020",
        aspects=("fluency", "text_structure", "correctness"),
        raters="rater_",
        # its mean rating is 83 of 100, which leaves no room for 30 more
        without=("+1.2 for all",),
    ),
}
PAIRS = {"pairs, LLMBar": "llmbar", "pairs, PandaLM": "pandalm"}


def _findings(numbers: Any) -> Rules:
    """The rules that name a fault, and those whose words are in the verdict."""
    sets = files.plain({"drawn": numbers})
    listed = verdict.findings(sets)
    sentence = verdict.sentence(sets, listed)
    holding = set()
    in_sentence = set()
    for finding in listed:
        if finding["kind"] not in _KINDS:
            continue
        holding.add(finding["rule"])
        if finding["words"] in sentence:
            in_sentence.add(finding["rule"])
    return holding, in_sentence


def _of_scores(frame: pd.DataFrame, values: np.ndarray) -> Rules:
    """`_findings` of scores, one a row of a drawn set."""
    scores = np.asarray(values, dtype=float)
    rated = judged.rated(frame)
    scored = judged.with_values(rated, scores)
    scored = replace(scored, scale=frame.attrs["scale"])
    aspects = {}
    for aspect, rows in scored.frame.groupby("aspect", sort=False):
        name = str(aspect)
        aspects[name] = Aspect(scored, name, rows)
    is_scored = scored.frame["value"].notna()
    numbers = {
        "kind": "graded",
        "title": scored.title,
        "systems": int(frame["system_id"].nunique()),
        "inputs": int(frame["input_id"].nunique()),
        "coverage": {"value": float(is_scored.mean())},
        "halo": value_or_reason(faults.halo, aspects),
        "aspects": {name: _numbers(aspect) for name, aspect in aspects.items()},
    }
    return _findings(numbers)


def _numbers(aspect: Aspect) -> Numbers:
    """What rules on faults read of an aspect, as `measure.graded` has it; what only
    praise reads is left out, as it takes long.
    """
    kendall = value_or_reason(measure.coefficient, aspect, "kendall-b", "dataset")
    return {
        "n": int(aspect.present.sum()),
        "dataset": {"kendall": kendall},
        "input": {},
        "use": measure.use(aspect),
        "length": measure.length(aspect),
        "faults": faults.of_aspect(aspect),
        "closeness": value_or_reason(closeness.measure_closeness, aspect),
        "raters": {},
        "beside": {},
    }


def _of_verdicts(frame: pd.DataFrame, verdicts: np.ndarray) -> Rules:
    """`_findings` of verdicts on pairs, (order, pair)."""
    in_order, swapped = verdicts
    pairs = paired.load_paired(frame)
    answered = frame.assign(given=in_order, swapped=swapped)
    judge = replace(pairs, frame=answered)
    return _findings(paired.measured(judge))


def _pairs(name: str, rng: Random) -> pd.DataFrame:
    """Some pairs of a set, without those that people call equal."""
    frame = datasets.load_pairs(name)
    is_decided = frame["preference"].isin([1, 2])
    frame = frame[is_decided]
    frame = _some(frame, "input_id", MOST_PAIRS, rng, SHARE)
    return frame.reset_index(drop=True)


def one_draw(where: str, judge: str, seed: int) -> tuple[bool, bool]:
    """Is a planted fault found, and is it in the verdict's sentence? Of a good judge:
    is any fault found, or said?

    where: of `SETS` or `PAIRS`.
    judge: of `faults_of`, or `GOOD`.
    """
    rng = np.random.default_rng(seed)
    if where in PAIRS:
        frame, verdicts = _answered(PAIRS[where], judge, seed, rng)
        holding, in_sentence = _of_verdicts(frame, verdicts)
    else:
        frame, scores = _scored(SETS[where], judge, seed, rng)
        holding, in_sentence = _of_scores(frame, scores)
    if judge == GOOD:
        holding -= _TRUE
        in_sentence -= _TRUE
    else:
        fault = faults_of(where)[judge]
        holding &= set(fault.rules)
        in_sentence &= set(fault.rules)
    return bool(holding), bool(in_sentence)


def _answered(
    dataset: str, judge: str, seed: int, rng: Random
) -> tuple[pd.DataFrame, np.ndarray]:
    """A draw of a set's pairs and a planted judge's verdicts on it, (order, pair)."""
    frame = _pairs(dataset, rng)
    if judge == GOOD:
        noise = _noise(seed)
        return frame, planted_faults.good_of_pairs(frame, rng, noise)
    return frame, PAIR_FAULTS[judge].scores(frame, rng)


def _scored(
    rated: RatedSet, judge: str, seed: int, rng: Random
) -> tuple[pd.DataFrame, np.ndarray]:
    """A draw of a set and a planted judge's scores of it."""
    aspects = rated.aspects[:1]
    if judge == HALO:
        # the aspects that have one scale
        scales = datasets.spec(rated.dataset).scale
        last = scales[rated.aspects[-1]]
        aspects = tuple(name for name in rated.aspects if scales[name] == last)
    frame = rated.draw(rng, aspects)
    if judge == GOOD:
        noise = _noise(seed)
        return frame, planted_faults.good(frame, rng, noise)
    return frame, FAULTS[judge].scores(frame, rng)


def _noise(seed: int) -> float:
    """How noisy a good judge is in the draw of this seed."""
    levels = planted_faults.GOOD_NOISE
    return levels[seed % len(levels)]


def faults_of(where: str) -> dict[str, Fault]:
    """The faults that a judge of a set can have, by name."""
    if where in PAIRS:
        return dict(PAIR_FAULTS)
    without = SETS[where].without
    return {name: fault for name, fault in FAULTS.items() if name not in without}


def measured(where: str, judge: str, draws: int) -> dict[str, Any]:
    """A row of the table: in how many draws is the fault found, and said?"""
    times_found = 0
    times_said = 0
    for seed in range(draws):
        is_found, is_said = one_draw(where, judge, seed)
        times_found += is_found
        times_said += is_said
    return {
        "set": where,
        "judge": judge,
        "draws": draws,
        "found": times_found,
        "said": times_said,
    }


def rows(names: Sequence[str], draws: int) -> Iterator[dict[str, Any]]:
    """The rows of these sets, faults first."""
    for where in names:
        for judge in faults_of(where):
            yield measured(where, judge, draws)
        yield measured(where, GOOD, 2 * draws)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure all sets, or some, and write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [*SETS, *PAIRS]
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--sets", nargs="+", default=names, choices=names)
    options = parser.parse_args(argv)
    table = []
    for row in rows(options.sets, options.draws):
        print(row, flush=True)
        table.append(row)
    frame = pd.DataFrame(table)
    files.write_text(PATH, frame.to_csv(index=False))


if __name__ == "__main__":
    main()
