"""Which column of a file is taken for what, and why: a `Plan`, made of names alone. The
user's words count first, then an earlier run's record, our own names, usual ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nlgeval_lib.names import counted_noun, meant, near, plain
from nlgeval_lib.scoring.cells import InputError
from nlgeval_lib.scoring.provenance import runs
from nlgeval_lib.scoring.settings import pairs, text_or_file

# our columns, by what their cells hold
TEXTS = ("instruction", "source", "context", "output", "rubric", "aspect")
REFERENCES = ("references", "reference")
IDS = ("input_id", "system_id")
RATER = "rater"  # who rated, where a row is one rating
RATING = "human"
RATINGS = ("human_", "rater_")  # how columns with further ratings begin
_SEVERAL = ("references", RATING)  # what may be made of several columns
KNOWN = (*TEXTS, *REFERENCES, *IDS, RATER, RATING)
_ALIAS = {"input": "source"}  # a further name of our own for a column
OTHER = "column "  # before the name of a column that another one stands for
# What files call our columns, the most telling name first: `answer` is the output only
# where no other column is. Ratings have to be named by the user; their names here only
# help to ask for them.
_OTHERS = {
    "output": (
        *("prediction", "hypothesis", "candidate", "response", "actual_output"),
        *("filtered_resps", "completion", "generation", "answer"),
    ),
    "reference": (
        *("target", "gold", "reference_answer", "gold_answer", "expected_output"),
        "ground_truth",
    ),
    "instruction": ("question", "prompt", "user_input"),
    "source": ("input", "document"),
    "aspect": ("criterion", "dimension"),
    "input_id": (
        *("doc_id", "question_id", "item_id", "sample_id", "task_id", "seg_id"),
        *("example_id", "id", "idx", "index"),
    ),
    "system_id": ("model", "system", "model_name", "model_id", "generator"),
    RATER: (
        *("annotator", "rater_id", "annotator_id", "worker_id", "worker"),
        *("completed_by", "labeler", "labeller", "reviewer", "annotator_name"),
        *("rater_name", "participant_id", "participant", "assessor", "coder"),
        *("user_id", "user", "prolific_id", "prolific_pid"),
    ),
    RATING: ("rating", "human_score", "score", "label"),
}
# what files in other languages call them: only for a message's suggestion
_ELSEWHERE = {
    "output": ("antwort", "ausgabe", "respuesta", "réponse"),
    "reference": ("referenz", "musterantwort", "referencia", "référence"),
    "instruction": ("frage", "aufgabe", "anweisung", "pregunta", "consigne"),
    "source": ("quelle", "eingabe", "entrada", "fuente", "entrée"),
}
_ALIKE = 0.7  # a name less like a usual one is not suggested
# What a column `rater_...` says of a rater, or of all raters' ratings: it is then none
# of the ratings' columns.
_FACT = re.compile(
    r"(.+_)?(ids?|uuid|index|number|count|name|email|initials|age|gender|sex|"
    r"country|nationality|languages?|native|education|degree|occupation|job|"
    r"experience|years?|group|batch|type|kind|role|times?|date|seconds|minutes|"
    r"duration|comments?|notes?|remarks?|confidence|trust|reliability|expertise|"
    r"seniority|income|salary|hours?|platform|region|city|"
    r"mean|avg|average|median|std|sd|stdev|stderr|var|variance|sum|total|min|max|n|"
    r"num|agreement|alpha|kappa|votes?)(_.*)?"
)
_A_FACT = "a fact about a rater, no rating"


@dataclass(frozen=True)
class Plan:
    """What is taken for what in a file, and why.

    sources: our column -> the columns it is made of; several become references or a
    mean rating. A column with a name of ours that is not taken for it stands under
    `OTHER` and its name.
    filled: our column -> one text for all rows.
    why: our column -> "said", "recorded", "usual name" or "own name".
    left_out: column -> why it is not taken for what its name says.
    """

    sources: Mapping[str, Sequence[str]] = field(default_factory=dict)
    filled: Mapping[str, str] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)

    def only(self, choose: Callable[[str], bool]) -> Plan:
        """The plan with those of our columns that `choose` chooses."""
        sources = {ours: self.sources[ours] for ours in self.sources if choose(ours)}
        filled = {ours: self.filled[ours] for ours in self.filled if choose(ours)}
        return replace(self, sources=sources, filled=filled)

    def without(self, ours: str, reason: str) -> Plan:
        """The plan with a column taken back; reason: for the line that says it."""
        sources = dict(self.sources)
        reasons = dict(self.why)
        names = sources.pop(ours)
        if reasons[ours] == "own name":
            sources[OTHER + ours] = names
            reasons[OTHER + ours] = "own name"
        left_out = {**self.left_out, " + ".join(names): reason}
        return replace(self, sources=sources, why=reasons, left_out=left_out)

    @property
    def guessed(self) -> dict[str, str]:
        """Our column -> the user's, where no word of the user says so."""
        names = {}
        for ours, columns in self.sources.items():
            if self.why.get(ours) in ("recorded", "usual name"):
                names[ours] = " + ".join(columns)
        return names

    def ours(self, column: str) -> str:
        """The name that a column of the user's has here."""
        if list(self.sources.get(column, ())) == [column]:
            return column
        for ours, names in self.sources.items():
            if list(names) == [column]:
                return ours
        return column

    def in_words(self) -> list[str]:
        """What was taken for what, and what follows, as clauses of one line."""
        names = []
        for ours in KNOWN:
            columns = self.sources.get(ours, ())
            if ours in self.filled or list(columns) == [ours]:
                names.append(ours)
            elif columns:
                names.append(f"{ours} = {' + '.join(columns)}")
        raters = [name for name in self.sources if name.startswith("rater_")]
        if raters:
            count = counted_noun(len(raters), "rater", "raters")
            names.append(f"{count} ({', '.join(raters[:6])})")
        advice = " (--map OURS=COLUMN for another)" if self.guessed else ""
        clauses = [f"{', '.join(names) or 'no usual column'}{advice}"]
        clauses += [f"{column}: {reason}" for column, reason in self.left_out.items()]
        keys = [name for name in IDS if name in self.sources or name in self.filled]
        if keys:
            clauses.append(f"rows are independent: no, by {' and '.join(keys)}")
        else:
            clauses.append("rows are independent: yes, none has input_id or system_id")
        return clauses

    def recorded(self) -> dict[str, Any]:
        """The plan as it is kept beside a result."""
        columns = {}
        for ours, names in self.sources.items():
            if known(ours):
                columns[ours] = " + ".join(names)
        columns |= {ours: f"--fill {ours}" for ours in self.filled if known(ours)}
        return {"columns": columns, "left_out": dict(self.left_out)}


def known(name: str) -> bool:
    """Whether a column of this name has a meaning here."""
    return name in KNOWN or name.startswith(RATINGS)


def is_fact(name: str, prefix: str = "rater_") -> bool:
    """Whether a column that begins as a rater's says something of the rater."""
    said = name.removeprefix(prefix).lstrip("_")
    return name.startswith(prefix) and bool(_FACT.fullmatch(said))


def decided(
    name: str,
    columns: Sequence[str],
    earlier: Mapping[str, Any],
    mapping: Iterable[str] = (),
    fill: Iterable[str] = (),
    without: Iterable[str] = (),
    named: Collection[str] = (),
    usual: bool = True,
) -> Plan:
    """What is taken for what; `usual`: whether usual names are looked for. The others
    are as `rows.chosen_rows` has them.
    """
    excluded: set[str] = set()
    for pattern in without:
        excluded.update(matching := columns_like(pattern, columns))
        if not matching:
            raise InputError(f"--without {lacks(name, columns, pattern)}")
    left_out: dict[str, str] = {}
    sources = _mapped(name, columns, mapping, left_out)
    filled = _filled(sources, fill)
    reasons = dict.fromkeys((*sources, *filled), "said")
    mapped = {column for names in sources.values() for column in names}
    recorded = _as_recorded(columns, earlier, reasons)
    sources |= recorded
    reasons |= dict.fromkeys(recorded, "recorded")
    for column in columns:
        if column in mapped or column in excluded:
            continue
        ours = _ALIAS.get(column, column)
        if ours != column and (ours in columns or ours in reasons):
            ours = column
        has_other_use = column in named and known(ours) and ours != RATING
        is_left_out = is_fact(column) and column not in named
        if is_left_out:
            left_out[column] = _A_FACT
        if has_other_use or is_left_out or ours in sources or ours in filled:
            ours = OTHER + column
        sources[ours] = [column]
        reasons[ours] = "own name"
    if usual:
        by_usual_name = _usual(columns, {*reasons}, {*mapped, *excluded, *named})
        for ours, column in by_usual_name.items():
            sources[ours] = [column]
            left_out.pop(column, None)
        reasons |= dict.fromkeys(by_usual_name, "usual name")
    return Plan(sources, filled, reasons, left_out)


def _filled(mapped: Collection[str], fill: Iterable[str]) -> dict[str, str]:
    """Our column -> the one text that all rows have in it."""
    filled: dict[str, str] = {}
    for ours, text in pairs(fill, "fill", "column=text, such as aspect=coherence"):
        ours = _ALIAS.get(ours, ours)
        if ours in mapped or ours in filled:
            setting = f"{ours}={text}"[:60]
            raise InputError(f"fill {setting!r}: {ours} is mapped or filled already")
        filled[ours] = text_or_file(text)
    return filled


def lacks(name: str, columns: Sequence[str], column: str) -> str:
    """That a file has no such column, with the nearest name and all there are."""
    advice = meant(column, columns, ".")
    return f"{name} has no column {column!r}{advice} Its columns: {', '.join(columns)}"


def _mapped(
    name: str, columns: Sequence[str], mapping: Iterable[str], left_out: dict[str, str]
) -> dict[str, list[str]]:
    """Our column -> those that the user named for it."""
    sources: dict[str, list[str]] = {}
    for ours, column in pairs(mapping, "map", "ours=theirs, such as output=response"):
        ours = _ALIAS.get(ours, ours)
        text = f"map {f'{ours}={column}'!r}: "
        matching = columns_like(column, columns)
        start, star, end = column.partition("*")
        if not matching:
            raise InputError(f"{text}{lacks(name, columns, column)}")
        if ours in sources and ours != "references":
            raise InputError(f"{text}{ours} is mapped twice; only references may be")
        if "*" in ours and not star:
            raise InputError(
                f"{text}a pattern on the left needs one on the right, such as {ours}"
            )
        if star and ours.startswith((RATING, *RATINGS)):
            facts = [match for match in matching if is_fact(match, start)]
            if len(facts) < len(matching):
                matching = [match for match in matching if match not in facts]
                left_out |= dict.fromkeys(facts, _A_FACT)
        if "*" not in ours:
            if len(matching) > 1 and ours not in _SEVERAL:
                listed = ", ".join(matching)
                raise InputError(
                    f"{text}{ours} is one column, and these match: {listed}"
                )
            sources.setdefault(ours, []).extend(matching)
            continue
        # A pattern on both sides gives each matching column a name of its own: its part
        # that the star stands for, in the place of ours.
        for match in matching:
            own_part = match.removeprefix(start).removesuffix(end)
            name_here = ours.replace("*", own_part, 1)
            if name_here in sources or (name_here in columns and name_here != match):
                raise InputError(
                    f"{text}{match} would be {name_here}, which another column is "
                    "already"
                )
            sources[name_here] = [match]
    return sources


def columns_like(name: str, columns: Sequence[str]) -> list[str]:
    """The columns that a name, or a pattern such as `rating_*`, stands for."""
    if name in columns:
        return [name]
    if "*" not in name:
        return []
    pattern = re.compile(".*".join(map(re.escape, name.split("*"))), re.DOTALL)
    return [column for column in columns if pattern.fullmatch(column)]


def _as_recorded(
    columns: Sequence[str], earlier: Mapping[str, Any], present: Collection[str]
) -> dict[str, list[str]]:
    """Our column -> the file's, as the record beside a file of scores has it."""
    read_as = {}
    for run in runs(earlier):
        for ours, column in dict(run.get("columns") or {}).items():
            if ours in (*present, column) or not isinstance(column, str):
                continue
            names = column.split(" + ")
            if {*names} <= {*columns}:
                read_as[ours] = names
    return read_as


def _usual(
    columns: Sequence[str], present: set[str], claimed: set[str]
) -> dict[str, str]:
    """Our column, which is not present -> the unclaimed one that usually has its name."""
    # plain name -> column; of several alike the first one counts
    free = {}
    for name in reversed(columns):
        if name not in (*KNOWN, *_ALIAS, *claimed):
            free[plain(name)] = name
    usual = {}
    for ours in KNOWN:
        if ours in present:
            continue
        if ours in REFERENCES and present.intersection(REFERENCES):
            continue
        # A rating has to be named by the user.
        names = (ours,) if ours == RATING else (ours, *_OTHERS.get(ours, ()))
        for name in map(plain, names):
            if name in free:
                usual[ours] = free.pop(name)
                break
    return usual


def nearest(
    plan: Plan, columns: Sequence[str], need: str, suggested: Collection[str] = ()
) -> str:
    """The unused column whose name is most like a usual one for ours, for a message; ""
    where none is near. suggested: advised for another need already.
    """
    occupied = set(suggested)
    for ours, names in plan.sources.items():
        if ours in KNOWN:
            occupied.update(names)
    free = [name for name in columns if name not in occupied]
    for cutoff in (1.0, _ALIKE):  # the very name goes before one like it
        for ours in reversed(choices(need)):
            for usual in (ours, *_OTHERS.get(ours, ()), *_ELSEWHERE.get(ours, ())):
                for column in near(usual, free, 1, cutoff):
                    return column
    return ""


def choices(need: str) -> tuple[str, ...]:
    """The columns that serve a need: for references either of their two names."""
    return REFERENCES if need in REFERENCES else (need,)
