"""What somebody's file of rows supports: which command, which statistic, what is
missing for more, how many labels would tell what, and the next command as it is typed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from judgecard import (
    file_contents,
    labelled_files,
    pair_judges,
    rated_files,
    rated_rows,
    verdict,
)
from judgecard.file_contents import Content, Proposal
from nlgeval_lib.names import counted_noun
from nlgeval_lib.scoring.cells import InputError
from nlgeval_lib.scoring.columns import OTHER, RATING, is_fact
from nlgeval_lib.scoring.rows import Rows
from nlgeval_lib.statistics.intervals import LEAST_SYSTEMS

# Two-sided at .05 with power .8: quantiles of the normal distribution.
_REACH = 1.959964 + 0.841621
_LEAST = 3  # rated rows below which no command measures anything
_MOST_LABELS = 7  # values of a rating up to which labels are worth a table
_PLANS = (50, 100, 200)  # numbers of labels that are spoken of
_TENTH = 10  # how narrow a mean's interval is to be: that part of the scale
# a server has to be named by a person; until then the command says what it would ask
_SERVER = "--engine openai --base-url http://127.0.0.1:8000/v1 -m NAME --dry-run"
# what a prompt shows before the output, and under which title
_PROMPT_TITLES = {
    "instruction": "Question",
    "source": "Source",
    "reference": "Good answer",
}
Reader = Callable[[Sequence[str], Sequence[str]], Rows]


@dataclass(frozen=True)
class Asked:
    """What the user said.

    path: of the file. scores, human: columns by their names; "" or none: not said.
    said: of the numbers.
    """

    path: str
    scores: Sequence[str]
    human: str
    said: rated_rows.Said


@dataclass
class Report:
    """What a file supports.

    rows: how many. columns: `column, holds, taken for`, a row a column.
    facts: what the file has: inputs, systems, raters, scale, suspects.
    can: statistic -> with which command, and on what. lacks: what is missing -> for
    what. tells: how many labels would tell what.
    command: the next one, word by word; none where a person must mend the file first.
    mapping, values: options that say how it is read, as far as nobody said them.
    """

    rows: int
    columns: pd.DataFrame
    facts: list[str] = field(default_factory=list)
    can: dict[str, str] = field(default_factory=dict)
    lacks: dict[str, str] = field(default_factory=dict)
    tells: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    mapping: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)


def report(read: Reader, request: Asked) -> Report:
    """What a file supports.

    Raises: InputError for a file that cannot be read.
    """
    rows = read([], [])
    contents = file_contents.of_columns(rows)
    proposal = _as_asked(file_contents.proposed(rows, contents), request, rows)
    if proposal.verdicts or file_contents.is_of_pairs(rows.columns):
        return _of_pairs(rows, contents, proposal, request)
    mapping = file_contents.mapping_said(proposal)
    if request.human:
        mapping.append(f"{RATING}={request.human}")
    columns_used = [*proposal.scores, *rows.plan.sources.get(RATING, ())]
    values = file_contents.values_said(proposal, contents, columns_used)
    chosen = read(mapping, values)
    table = _table(contents, _uses(chosen, proposal))
    report = Report(len(rows), table, mapping=mapping, values=values)
    _measure(report, chosen, proposal, request)
    return report


def _as_asked(proposal: Proposal, request: Asked, rows: Rows) -> Proposal:
    """The proposal, with what the user said before it."""
    taken = {*request.scores, request.human} - {""}
    for name in taken:
        if "*" not in name and name not in rows.columns:
            raise InputError(rows.lacks(name))
    free: dict[str, Any] = {}
    for part in ("scores", "raters", "criteria"):
        free[part] = [name for name in getattr(proposal, part) if name not in taken]
    if request.human:
        free["raters"] = free["criteria"] = []
    free["scores"] = request.scores or free["scores"]
    mapping = {
        ours: name for ours, name in proposal.mapping.items() if name not in taken
    }
    return replace(proposal, mapping=mapping, **free)


def _uses(rows: Rows, proposal: Proposal) -> dict[str, str]:
    """Column -> what it is taken for; proposals end in "?"."""
    uses = {}
    for ours, names in rows.plan.sources.items():
        is_said = rows.plan.why.get(ours) == "said"
        for name in names:
            is_renamed = ours not in (name, OTHER + name)
            is_usual = ours == name and not is_said and file_contents.known(ours)
            uses[name] = ours if is_renamed or is_usual else ""
    uses |= dict.fromkeys(proposal.scores, "a judge's score")
    people = (*proposal.mapping.values(), *proposal.raters, *proposal.criteria)
    for name in (*proposal.scores, *people):
        if name in proposal.why:
            uses[name] += "?"
    for name, reason in rows.plan.left_out.items():
        uses[name] = f"nothing: {reason[:60]}"
    return uses


def _table(contents: Sequence[Content], uses: Mapping[str, str]) -> pd.DataFrame:
    """`column, holds, taken for`, those that are taken for something first."""
    columns = [(one.name, one.words, uses.get(one.name, "")) for one in contents]
    table = pd.DataFrame(columns, columns=["column", "holds", "taken for"])
    order = table["taken for"].eq("").argsort(kind="stable")
    return table.iloc[order].reset_index(drop=True)


# -- what can be done with rows that are rated or scored


def _measure(report: Report, rows: Rows, proposal: Proposal, request: Asked) -> None:
    """Say of rows of outputs the facts, what can be done, and the next command."""
    scores = [rows.ours(name) for name in proposal.scores]
    humans = [RATING]
    if RATING not in rows.theirs:
        humans = [name for name in rows.theirs if name.startswith("rater_")]
    try:
        data, notes = rated_rows.prepared(rows, scores, humans, request.said)
    except InputError as error:
        report.lacks[str(error)] = "every statistic"
        report.command = trouble(error, request.path)
        return
    present = [name for name in humans if name in data.frame]
    ratings = labelled_files.mean_rating(data, present)
    counts = _counts(data, ratings, scores)
    report.facts += _facts(data, ratings, counts)
    report.facts += notes
    if proposal.why:
        report.facts.append(
            f"a proposal, by what the cells hold (?): {', '.join(proposal.why)}; the "
            "command below says it, change what is wrong"
        )
    _say_what_can_be_done(report, counts, bool(scores), "output" in data.frame)
    if proposal.criteria[1:]:
        further = ", ".join(proposal.criteria[1:])
        report.lacks[f"{further}: further criteria"] = "one call each, by --human"
    report.tells += _tells(data, ratings, scores, counts)
    report.command = _next(rows, proposal, request, counts, ratings)


class _Counts(NamedTuple):
    """rows: outputs. rated: with a rating. both: with a rating and the first score.
    inputs, systems: names; 0 where the file has none. raters: columns of raters.
    labels: how many different values the ratings have.
    """

    rows: int
    rated: int
    both: int
    inputs: int
    systems: int
    raters: int
    labels: int


def _counts(data: Rows, ratings: np.ndarray, scores: Sequence[str]) -> _Counts:
    """The counts of rows that are prepared."""
    rated = ~np.isnan(ratings)
    both = rated
    if scores:
        both = rated & ~np.isnan(data.numbers(scores[0]))
    raters = [name for name in map(str, data.frame) if name.startswith("rater_")]
    nobody = pd.Series(dtype=object)
    return _Counts(
        rows=len(data.frame),
        rated=int(rated.sum()),
        both=int(both.sum()),
        inputs=data.frame.get("input_id", nobody).nunique(),
        systems=data.frame.get("system_id", nobody).nunique(),
        raters=sum(not is_fact(name) for name in raters),
        labels=len(np.unique(ratings[rated])),
    )


def _facts(data: Rows, ratings: np.ndarray, counts: _Counts) -> Iterator[str]:
    """What the rows have, a line each."""
    raters = counted_noun(counts.raters, "single rater", "single raters")
    aspects = ""
    if "aspect" in data.frame:
        aspects = f", {data.frame['aspect'].nunique()} aspects"
    yield (
        f"{counts.rows:,} outputs: {counts.inputs or 'unnamed'} inputs, "
        f"{counts.systems or 'unnamed'} systems, {raters}{aspects}"
    )
    if counts.rated:
        yield (
            f"{counts.rated:,} of them rated, from {np.nanmin(ratings):g} to "
            f"{np.nanmax(ratings):g}, mean {np.nanmean(ratings):.3g} "
            "(--human-scale says another scale)"
        )


def _say_what_can_be_done(
    report: Report, counts: _Counts, has_score: bool, has_output: bool
) -> None:
    """Which command gives which statistic, and what is missing for the others."""
    can = report.can
    lacks = report.lacks
    if not counts.rated:
        lacks["ratings"] = "meta, card, estimate (nlgeval label makes a blind sheet)"
    if not has_score:
        lacks["a judge's scores"] = "meta, estimate (--score COLUMN names some)"
    if not has_output:
        lacks["outputs"] = "card of a judge that is asked (--map output=COLUMN)"
    elif counts.rated >= _LEAST:
        can["card"] = "of a judge that you ask about these outputs"
    if has_score and counts.both >= _LEAST:
        can["meta"] = ", ".join(_levels(counts, lacks))
        can["card --scores"] = f"of the scores, on {counts.both:,} rated rows"
        if counts.labels <= _MOST_LABELS:
            can["meta --labels"] = (
                f"kappa and accuracy, ratings have {counts.labels} values"
            )
        can["estimate"] = (
            f"mean rating of systems, {counts.rated:,} of {counts.rows:,} outputs rated"
        )
        can["plan-labels"] = "how many ratings for an interval that is as narrow"
    if counts.rated >= _LEAST and counts.raters < 2:
        lacks["a column a rater"] = "how well people agree, the ceiling"


def _levels(counts: _Counts, lacks: dict[str, str]) -> Iterator[str]:
    """The levels at which `meta` has a coefficient; what is missing goes to `lacks`."""
    yield "dataset level"
    if not counts.inputs or not counts.systems:
        counted = {"input_id": counts.inputs, "system_id": counts.systems}
        missing_ids = [name for name, number in counted.items() if not number]
        lacks[" and ".join(missing_ids)] = (
            "levels input and system, and intervals for other systems"
        )
        return
    if counts.systems > 1:
        yield "input level"
    if counts.systems >= _LEAST:
        yield "system level"
    if counts.systems < LEAST_SYSTEMS:
        missing = LEAST_SYSTEMS - counts.systems
        systems = counted_noun(missing, "more system", "more systems")
        lacks[systems] = f"an interval at system level ({LEAST_SYSTEMS} at least)"


# -- how many labels would tell what


def least_told(n: int) -> float:
    """The smallest true tau of a judge that n rated rows tell from chance, four times
    in five at .05, where rows are independent.
    """
    variance = 2 * (2 * n + 5) / (9 * n * (n - 1))
    return float(min(1.0, _REACH * np.sqrt(variance)))


def _tells(
    data: Rows, ratings: np.ndarray, scores: Sequence[str], counts: _Counts
) -> Iterator[str]:
    """How many labels would tell what, a line each; only two scores are looked at."""
    if counts.both < _LEAST or not scores:
        numbers = [counts.rated] if counts.rated >= _LEAST else []
        numbers += [number for number in _PLANS if number > counts.rated]
        words = [f"{n} a tau of {least_told(n):.2f}" for n in numbers[:3]]
        yield (
            f"rated rows tell a judge from chance: {', '.join(words)} "
            "(four times in five, rows independent)"
        )
        return
    rated = replace(data, checked=data.frame.assign(**{RATING: ratings}))
    for score in scores[:2]:
        yield from _tells_from_chance(rated, score)
    yield from _tells_means(rated, scores[0], ratings)


def _tells_from_chance(data: Rows, score: str) -> Iterator[str]:
    """Whether a score differs from chance, and about how many rows would tell."""
    settings = rated_files.Settings(
        coefs=("kendall-b",), compare=False, baselines=False
    )
    table = rated_files.correlate(data, [score], settings).correlations
    for row in table.head(3).to_dict("records"):
        name = score.removeprefix(OTHER)
        if row.get("group"):
            name = f"{row['group']}, {name}"
        value, low, high = row["value"], row["ci_low"], row["ci_high"]
        if np.isnan(low):
            yield f"{name}: no interval ({row.get('reason', '')})"
            continue
        words = f"{name}: tau-b {value:.2f} [{low:.2f}, {high:.2f}]"
        if low > 0 or high < 0:
            yield f"{words}, told from chance by these {row['n']:,} rows"
            continue
        needed = "no order at all"
        if value:
            # the end of the interval on the side of chance, seen from the value
            end = low if value > 0 else -high
            times = verdict.times_as_many(abs(value), end, 0)
            needed = f"about {math.ceil(row['n'] * times):,} rated rows would tell"
            if "system_id" in data.frame:
                needed += ", with as many times more systems and inputs"
        yield f"{words}, not told from chance by {row['n']:,} rows; {needed}"


def _tells_means(data: Rows, score: str, ratings: np.ndarray) -> Iterator[str]:
    """How many labels a system's mean needs, within a tenth of what ratings span."""
    width = (np.nanmax(ratings) - np.nanmin(ratings)) / _TENTH
    if not width > 0:
        return
    group = next(labelled_files.labelled(data, score, [RATING], topic=""))
    try:
        plan = group.estimates().labels_needed(width)
    except ValueError as error:
        yield f"means: {error}"
        return
    labels = plan.reason or f"{plan.labels:,.0f} rated inputs"
    title = f"{group.label}, " if group.label else ""
    yield (
        f"{title}a system's mean within {width / 2:.2g} either way: {labels} "
        f"({plan.alone:,.0f} without the judge)"
    )


# -- the next command


def _next(
    rows: Rows,
    proposal: Proposal,
    request: Asked,
    counts: _Counts,
    ratings: np.ndarray,
) -> list[str]:
    """The next command, word by word; none where a person must act first."""
    if proposal.scores and counts.both >= _LEAST:
        words = ["nlgeval", "meta", request.path]
        # raters by their usual names are taken where they are said
        raters = [name for name in rows.theirs if name.startswith("rater_")]
        is_said = any(rows.plan.why.get(name) == "said" for name in raters)
        if RATING not in rows.theirs and not is_said:
            words += ["--human", "rater_*"]
        for name in proposal.scores:
            words += ["--score", name]
        if counts.inputs and counts.systems >= LEAST_SYSTEMS:
            words += ["--level", "dataset", "--level", "system"]
        return words
    if counts.rated >= _LEAST and "output" in rows.theirs:
        # Means of raters lie inside their scale, whose ends are whole numbers.
        reached = math.floor(np.nanmin(ratings)), math.ceil(np.nanmax(ratings))
        return _next_card(rows, request.path, request.said.human_scale or reached)
    if "--from mqm" in " ".join(rows.remarks):
        return ["nlgeval", "doctor", request.path, "--from", "mqm"]
    if "output" not in rows.theirs or counts.rated:
        return []
    number = min(_PLANS[1], counts.rows)
    words = ["nlgeval", "label", request.path, "-o", "labels.csv"]
    return [*words, "--n", str(number)]


def _next_card(rows: Rows, path: str, scale: tuple[float, float]) -> list[str]:
    """The command of a card of a judge that is asked; none for a scale of one value."""
    lowest, highest = scale
    if not lowest < highest:
        return []
    low = f"{lowest:g}"
    high = f"{highest:g}"
    of_aspect = " by its {aspect}" if "aspect" in rows.theirs else ""
    parts = [f"Rate the answer{of_aspect} from {low} to {high}."]
    for ours, title in _PROMPT_TITLES.items():
        if ours in rows.theirs:
            parts.append(f"{title}: {{{ours}}}")
    parts += ["Answer: {output}", "Rating:"]
    words = ["nlgeval", "card", "-e", "prompted", "-s", f"prompt={'  '.join(parts)}"]
    if (low, high) != ("1", "5"):
        words += ["-s", f"low={low}", "-s", f"high={high}"]
    return [*words, "-i", path, *_SERVER.split()]


def _of_pairs(
    rows: Rows, contents: Sequence[Content], proposal: Proposal, request: Asked
) -> Report:
    """The report of rows that are pairs of outputs."""
    people = request.human
    if not people and len(proposal.verdicts) > len(proposal.scores):
        people = proposal.verdicts[0]
    elif not people and "preference" in rows.theirs:
        people = "preference"
    judges = [name for name in proposal.scores if name != people]
    uses = dict.fromkeys(judges, "a judge's verdict?")
    uses |= {name: f"{ours}?" for ours, name in proposal.mapping.items()}
    uses[people] = "what people prefer"
    table = _table(contents, uses)
    report = Report(len(rows), table, [f"{len(rows):,} pairs of outputs"])
    if not people:
        report.lacks["what people prefer (1, 2, 0 or A, B, tie)"] = "meta --pairs"
    if not judges:
        report.lacks["a judge's verdicts"] = "meta --pairs"
    if people and judges:
        report.can["meta --pairs"] = (
            "accuracy, consistency of both orders where both are there, position bias"
        )
        report.command = ["nlgeval", "meta", "--pairs", request.path]
        for name in judges:
            report.command += ["--score", name]
        report.command += ["--human", people]
    elif people and {*pair_judges.OUTPUTS} <= {*rows.theirs, *proposal.mapping}:
        report.can["card"] = "of a judge that you ask about these pairs"
        prompt = "Which is better, A or B?  A: {output_1}  B: {output_2}"
        if "instruction" in rows.theirs:
            prompt = f"Question: {{instruction}}  {prompt}"
        report.command = ["nlgeval", "card", "-e", "preference", "-s"]
        report.command += [f"prompt={prompt}", "-i", request.path, *_SERVER.split()]
        mapping = {"preference": people, **proposal.mapping}
        report.mapping = [f"{ours}={name}" for ours, name in mapping.items()]
    return report


def trouble(error: InputError, path: str) -> list[str]:
    """The next command where a file cannot be read; none where it must be mended."""
    words = ["nlgeval", "doctor", path]
    lists: dict[str, Any] = getattr(error, "lists", {})
    if lists:
        return [*words, "--from", max(lists, key=lambda name: lists[name])]
    if "--no-quotes reads" in str(error):
        return [*words, "--no-quotes"]
    _, option, column = str(error).partition("(--without ")
    if option:
        return [*words, "--without", column.strip(")'")]
    if str(error).endswith(("is empty", "no rows")):
        return ["nlgeval", "init", "my-evaluation"]
    return []
