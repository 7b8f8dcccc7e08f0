"""What somebody's file of rows supports: which command, which statistic, what is
missing for more, and how many labels would tell what.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from judgecard import file_contents, rated_columns, rated_rows, verdict
from judgecard.file_contents import Content, Proposal
from nlgeval_lib.names import counted_noun
from nlgeval_lib.scoring.cells import InputError
from nlgeval_lib.scoring.columns import OTHER, RATER, RATING
from nlgeval_lib.scoring.rows import Parts, Rows
from nlgeval_lib.statistics.intervals import LEAST_SYSTEMS

# Two-sided at .05 with power .8: quantiles of the normal distribution.
_REACH = 1.959964 + 0.841621
_LEAST = 3  # rated rows below which no command measures anything
_MOST_LABELS = 7  # values of a rating up to which labels are worth a table
_SHOWN = 14  # columns that a screen has room for
_PLANS = (50, 100, 200)  # numbers of labels that are spoken of
_TENTH = 10  # how narrow a mean's interval is to be: that part of the scale
# a server has to be named by a person; until then the command says what it would ask
SERVER = (
    "--engine",
    "openai",
    "--base-url",
    "http://127.0.0.1:8000/v1",
    "-m",
    "NAME",
    "--dry-run",
)
# what a prompt shows before the output, and under which title
_PROMPT_TITLES = {
    "instruction": "Question",
    "source": "Source",
    "reference": "Good answer",
}


@dataclass(frozen=True)
class Report:
    """What a file supports.

    rows: how many. columns: `column, holds, taken for`, a row a column.
    facts: what the file has: inputs, systems, raters, scale, suspects.
    can: statistic -> with which command, and on what.
    lacks: what is missing -> for what.
    tells: how many labels would tell what.
    command: the next one, word by word, without the options that say how it is read;
    none where a person must mend the file first.
    mapping, values: those options, as far as nobody said them.
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


Reader = Callable[[Sequence[str], Sequence[str]], Parts]


def report(read: Reader, request: Asked) -> Report:
    """What a file supports.

    read: gives the file's rows with further texts of `--map` and of `--values`.
    Raises: InputError for a file that cannot be read.
    """
    rows = read([], [])
    frame, contents = file_contents.of_columns(rows)
    proposal = file_contents.proposed(rows, frame, contents)
    proposal = _as_asked(proposal, request, rows)
    if proposal.verdicts or file_contents.is_of_pairs(rows.columns):
        return _of_pairs(rows, contents, proposal, request)
    mapping = file_contents.mapping_said(proposal)
    if request.human:
        mapping.append(f"{RATING}={request.human}")
    columns_used = [*proposal.scores, *rows.plan.sources.get(RATING, ())]
    values = file_contents.values_said(proposal, contents, columns_used)
    chosen = read(mapping, values)
    so_far = Report(
        rows=len(rows),
        columns=_table(chosen, contents, proposal),
        mapping=mapping,
        values=values,
    )
    return _measured(so_far, chosen, proposal, request)


def _as_asked(proposal: Proposal, request: Asked, rows: Parts) -> Proposal:
    """The proposal, with what the user said before it."""
    user_columns = {*request.scores, request.human} - {""}
    for name in user_columns:
        if "*" not in name and name not in rows.columns:
            raise InputError(rows.lacks(name))
    scores = list(request.scores)
    if not scores:
        scores = _without(proposal.scores, user_columns)
    raters: list[str] = []
    criteria: list[str] = []
    if not request.human:
        raters = _without(proposal.raters, user_columns)
        criteria = _without(proposal.criteria, user_columns)
    mapping = {}
    for ours, name in proposal.mapping.items():
        if name not in user_columns:
            mapping[ours] = name
    return replace(
        proposal,
        scores=scores,
        raters=raters,
        criteria=criteria,
        mapping=mapping,
    )


def _without(names: Sequence[str], excluded: Collection[str]) -> list[str]:
    """The names that are not among the excluded ones."""
    return [name for name in names if name not in excluded]


def _table(
    rows: Parts, contents: Sequence[Content], proposal: Proposal
) -> pd.DataFrame:
    """What each column holds and what it is taken for; proposals end in "?"."""
    uses = {}
    for ours, names in rows.plan.sources.items():
        is_said = rows.plan.why.get(ours) == "said"
        for name in names:
            is_renamed = ours not in (name, OTHER + name)
            is_usual = ours == name and not is_said and file_contents.known(ours)
            uses[name] = ""
            if is_renamed or is_usual:
                uses[name] = ours
    for score in proposal.scores:
        uses[score] = f"a judge's score{_mark(score, proposal)}"
    for name in (*proposal.mapping.values(), *proposal.raters, *proposal.criteria):
        uses[name] = f"{uses[name]}{_mark(name, proposal)}"
    for name, reason in rows.plan.left_out.items():
        uses[name] = f"nothing: {reason[:60]}"
    table = _table_of_uses(contents, uses)
    # of many columns those that are taken come first
    order = table["taken for"].eq("").argsort(kind="stable")
    return table.iloc[order].reset_index(drop=True)


def _mark(name: str, proposal: Proposal) -> str:
    """The question mark of a column that is only proposed."""
    if name in proposal.why:
        return "?"
    return ""


def _table_of_uses(
    contents: Sequence[Content], uses: Mapping[str, str]
) -> pd.DataFrame:
    """`column, holds, taken for`, in the order of the file."""
    rows = []
    for column in contents:
        use = uses.get(column.name, "")
        rows.append((column.name, column.words, use))
    return pd.DataFrame(rows, columns=["column", "holds", "taken for"])


# -- what can be done with rows that are rated or scored


def _measured(
    so_far: Report, rows: Parts, proposal: Proposal, request: Asked
) -> Report:
    """The report of rows of outputs: facts, what can be done, and the next command."""
    scores = [rows.ours(name) for name in proposal.scores]
    humans = [RATING]
    if RATING not in rows.theirs:
        humans = [name for name in rows.theirs if name.startswith("rater_")]
    try:
        data, notes = rated_rows.prepared(rows.whole(), scores, humans, request.said)
    except InputError as error:
        lacks = {str(error): "every statistic"}
        return replace(so_far, lacks=lacks, command=trouble(error, request.path))
    ratings = _ratings(data, humans)
    counts = _Counts.of(data, ratings, scores)
    so_far.facts.extend(_facts(data, ratings, counts, notes))
    so_far.facts.extend(_guesses(so_far, proposal))
    _say_what_can_be_done(so_far, counts, bool(scores), "output" in data.frame)
    if proposal.criteria[1:]:
        further = ", ".join(proposal.criteria[1:])
        so_far.lacks[f"{further}: further criteria"] = "one call each, by --human"
    so_far.tells.extend(_tells(data, ratings, scores, counts))
    command = _next(rows, proposal, request, counts, ratings)
    return replace(so_far, command=command)


def _guesses(so_far: Report, proposal: Proposal) -> Iterator[str]:
    """Which proposals a person should look at twice, in one line."""
    if proposal.why:
        guessed = ", ".join(proposal.why)
        yield (
            f"a proposal, by what the cells hold (?): {guessed}; the command "
            "below says it, change what is wrong"
        )


def _ratings(data: Rows, humans: Sequence[str]) -> np.ndarray:
    """The mean rating of each row, NaN where there is none."""
    columns = {}
    for name in humans:
        if name in data.frame:
            columns[name] = data.numbers(name)
    if not columns:
        return np.full(len(data), np.nan)
    return pd.DataFrame(columns).mean(axis=1).to_numpy()


@dataclass(frozen=True)
class _Counts:
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

    @classmethod
    def of(cls, data: Rows, ratings: np.ndarray, scores: Sequence[str]) -> _Counts:
        """The counts of rows that are prepared."""
        rated = ~np.isnan(ratings)
        both = rated
        if scores:
            both = rated & ~np.isnan(data.numbers(scores[0]))
        columns = [str(name) for name in data.frame]
        kinds = rated_columns.rater_kinds(columns, "rater_")
        raters = set().union(*kinds.values()) - {RATER}
        labels = np.unique(ratings[rated])
        return cls(
            rows=len(data.frame),
            rated=int(rated.sum()),
            both=int(both.sum()),
            inputs=_number_of(data.frame, "input_id"),
            systems=_number_of(data.frame, "system_id"),
            raters=len(raters),
            labels=len(labels),
        )


def _number_of(frame: pd.DataFrame, key: str) -> int:
    """How many names a column has; 0 where there is no such column."""
    if key not in frame:
        return 0
    return int(frame[key].nunique())


def _facts(
    data: Rows, ratings: np.ndarray, counts: _Counts, notes: Sequence[str]
) -> Iterator[str]:
    """What the rows have, a line each."""
    inputs = f"{counts.inputs or 'unnamed'} inputs"
    systems = f"{counts.systems or 'unnamed'} systems"
    raters = counted_noun(counts.raters, "single rater", "single raters")
    aspects = ""
    if "aspect" in data.frame:
        aspects = f", {data.frame['aspect'].nunique()} aspects"
    yield f"{counts.rows:,} outputs: {inputs}, {systems}, {raters}{aspects}"
    if counts.rated:
        low = np.nanmin(ratings)
        high = np.nanmax(ratings)
        mean = np.nanmean(ratings)
        yield (
            f"{counts.rated:,} of them rated, from {low:g} to {high:g}, mean "
            f"{mean:.3g} (--human-scale says another scale)"
        )
    yield from notes


def _say_what_can_be_done(
    so_far: Report, counts: _Counts, has_score: bool, has_output: bool
) -> None:
    """Which command gives which statistic, and what is missing for the others."""
    can = so_far.can
    lacks = so_far.lacks
    has_enough = counts.both >= _LEAST
    if not counts.rated:
        lacks["ratings"] = "meta, card, estimate (nlgeval label makes a blind sheet)"
    if not has_score:
        lacks["a judge's scores"] = "meta, estimate (--score COLUMN names some)"
    if not has_output:
        lacks["outputs"] = "card of a judge that is asked (--map output=COLUMN)"
    elif counts.rated >= _LEAST:
        can["card"] = "of a judge that you ask about these outputs"
    if has_score and has_enough:
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
        lacks["input_id and system_id"] = (
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
    """How many labels would tell what, a line each."""
    if counts.both < _LEAST or not scores:
        yield _tells_any_judge(counts)
        return
    rated = replace(data, frame=data.frame.assign(**{RATING: ratings}))
    for score in scores[:2]:
        yield from _tells_from_chance(rated, score)
    yield from _tells_means(rated, scores[0], ratings)


def _tells_any_judge(counts: _Counts) -> str:
    """Which tau of a judge some numbers of rated rows would tell from chance."""
    numbers = []
    if counts.rated >= _LEAST:
        numbers.append(counts.rated)
    for number in _PLANS:
        if number > counts.rated:
            numbers.append(number)
    sentences = []
    for number in numbers[:3]:
        sentences.append(f"{number} a tau of {least_told(number):.2f}")
    return (
        f"rated rows tell a judge from chance: {', '.join(sentences)} "
        "(four times in five, rows independent)"
    )


def _tells_from_chance(data: Rows, score: str) -> Iterator[str]:
    """Whether a score differs from chance, and about how many rows would tell."""
    from judgecard import rated_files

    settings = rated_files.Settings(
        coefs=("kendall-b",),
        compare=False,
        baselines=False,
    )
    table = rated_files.correlate(data, [score], settings).correlations
    for row in table.head(3).to_dict("records"):
        name = score.removeprefix(OTHER)
        if row.get("group"):
            name = f"{row['group']}, {name}"
        low = row["ci_low"]
        high = row["ci_high"]
        if np.isnan(low):
            yield f"{name}: no interval ({row.get('reason', '')})"
            continue
        words = f"{name}: tau-b {row['value']:.2f} [{low:.2f}, {high:.2f}]"
        if low > 0 or high < 0:
            yield f"{words}, told from chance by these {row['n']:,} rows"
            continue
        needed = _rows_needed(row)
        if row["value"] and "system_id" in data.frame:
            needed = f"{needed}, with as many times more systems and inputs"
        yield f"{words}, not told from chance by {row['n']:,} rows; {needed}"


def _rows_needed(row: Mapping[str, Any]) -> str:
    """About how many rated rows would tell a score from chance."""
    value = row["value"]
    if not value:
        return "no order at all"
    # the end of the interval on the side of chance, seen from the value
    end = -row["ci_high"]
    if value > 0:
        end = row["ci_low"]
    times = verdict.times_as_many(abs(value), end, 0)
    needed = math.ceil(row["n"] * times)
    return f"about {needed:,} rated rows would tell"


def _tells_means(data: Rows, score: str, ratings: np.ndarray) -> Iterator[str]:
    """How many labels a system's mean needs."""
    from judgecard import labelled_files

    width = (np.nanmax(ratings) - np.nanmin(ratings)) / _TENTH
    if not width > 0:
        return
    for group in labelled_files.labelled(data, score, [RATING], topic=""):
        try:
            plan = group.estimates().labels_needed(width)
        except ValueError as error:
            yield f"means: {error}"
            return
        labels = plan.reason or f"{plan.labels:,.0f} rated inputs"
        title = ""
        if group.label:
            title = f"{group.label}, "
        yield (
            f"{title}a system's mean within {width / 2:.2g} either way: {labels} "
            f"({plan.alone:,.0f} without the judge)"
        )
        return


# -- the next command


def _next(
    rows: Parts,
    proposal: Proposal,
    request: Asked,
    counts: _Counts,
    ratings: np.ndarray,
) -> list[str]:
    """The next command, word by word; none where a person must act first."""
    if proposal.scores and counts.both >= _LEAST:
        words = ["nlgeval", "meta", request.path]
        for name in proposal.scores:
            words += ["--score", name]
        if counts.inputs and counts.systems >= LEAST_SYSTEMS:
            words += ["--level", "dataset", "--level", "system"]
        return words
    if counts.rated >= _LEAST and "output" in rows.theirs:
        scale = request.said.human_scale
        return _next_card(
            rows, request.path, scale or (np.nanmin(ratings), np.nanmax(ratings))
        )
    if "--from mqm" in " ".join(rows.remarks):
        return ["nlgeval", "doctor", request.path, "--from", "mqm"]
    if "output" not in rows.theirs:
        return []
    if not counts.rated:
        number = min(_PLANS[1], counts.rows)
        words = ["nlgeval", "label", request.path]
        words += ["-o", "labels.csv"]
        words += ["--n", str(number)]
        return words
    return []


def _next_card(rows: Parts, path: str, scale: tuple[float, float]) -> list[str]:
    """The command of a card of a judge that is asked; none for a scale of one value."""
    lowest, highest = scale
    if not lowest < highest:
        return []
    low = f"{lowest:g}"
    high = f"{highest:g}"
    words = ["nlgeval", "card", "-e", "prompted"]
    words += ["-s", f"prompt={_prompt(rows, low, high)}"]
    if (low, high) != ("1", "5"):
        words += ["-s", f"low={low}", "-s", f"high={high}"]
    words += ["-i", path]
    words += SERVER
    return words


def _prompt(rows: Parts, low: str, high: str) -> str:
    """A plain prompt with what the rows have."""
    of_aspect = ""
    if "aspect" in rows.theirs:
        of_aspect = " by its {aspect}"
    parts = [f"Rate the answer{of_aspect} from {low} to {high}."]
    for ours, title in _PROMPT_TITLES.items():
        if ours in rows.theirs:
            parts.append(f"{title}: {{{ours}}}")
    parts += ["Answer: {output}", "Rating:"]
    return "  ".join(parts)


# -- pairs


def _of_pairs(
    rows: Parts, contents: Sequence[Content], proposal: Proposal, request: Asked
) -> Report:
    """The report of rows that are pairs of outputs."""
    people = request.human or _verdicts_of_people(rows, proposal)
    judges = _without(proposal.scores, [people])
    uses = dict.fromkeys(judges, "a judge's verdict?")
    uses[people] = "what people prefer"
    table = _table_of_uses(contents, uses)
    so_far = Report(len(rows), table, [f"{len(rows):,} pairs of outputs"])
    if not people:
        so_far.lacks["what people prefer (1, 2, 0 or A, B, tie)"] = "meta --pairs"
    if not judges:
        so_far.lacks["a judge's verdicts"] = "meta --pairs"
    has_texts = "output_1" in rows.theirs and "output_2" in rows.theirs
    command = []
    if people and judges:
        so_far.can["meta --pairs"] = (
            "accuracy, consistency of both orders where both are there, position bias"
        )
        command = ["nlgeval", "meta", "--pairs", request.path]
        for name in judges:
            command += ["--score", name]
        command += ["--human", people]
    elif has_texts and people:
        so_far.can["score -e preference"] = "verdicts of a judge that you ask"
        prompt = "prompt=Which is better, A or B?  A: {output_1}  B: {output_2}"
        command = ["nlgeval", "score", "-e", "preference"]
        command += ["-s", prompt]
        command += ["-i", request.path]
        command += ["-o", "verdicts.csv"]
        command += SERVER
    return replace(so_far, command=command)


def _verdicts_of_people(rows: Parts, proposal: Proposal) -> str:
    """The column with what people prefer; "" for none."""
    if len(proposal.verdicts) > len(proposal.scores):
        return proposal.verdicts[0]
    if "preference" in rows.theirs:
        return "preference"
    return ""


def shown(table: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The columns that a screen has room for, and the names of the others."""
    further = ", ".join(table["column"].iloc[_SHOWN:])
    return table.head(_SHOWN), further


def trouble(error: InputError, path: str) -> list[str]:
    """The next command where a file cannot be read; none where it must be mended."""
    lists: dict[str, Any] = getattr(error, "lists", {})
    if lists:
        longest = max(lists, key=lambda name: lists[name])
        return ["nlgeval", "doctor", path, "--from", longest]
    if "--no-quotes reads" in str(error):
        return ["nlgeval", "doctor", path, "--no-quotes"]
    _, option, column = str(error).partition("(--without ")
    if option:
        return ["nlgeval", "doctor", path, "--without", column.strip(")'")]
    if str(error).endswith(("is empty", "no rows")):
        return ["nlgeval", "init", "my-evaluation"]
    return []
