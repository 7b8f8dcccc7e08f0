"""Records, the texts that say them, and errors put in on purpose, each known by
construction.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tools.mini_judge.criteria import CRITERIA, KINDS
from tools.mini_judge.domains import ATTRIBUTES, DOMAINS, SUM_OF, SUMS, Attribute, Pool
from tools.mini_judge.phrases import choose

_VERB = re.compile(r"\[([^|\]]+)\|([^\]]+)\]")
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Error:
    """An error of an output: its kind, the attribute it concerns, the words that are
    wrong, and what belongs there.
    """

    kind: str
    key: str
    location: str
    correction: str = ""

    @property
    def penalty(self) -> int:
        """By how much it lowers a score, 1 to 5."""
        return KINDS[self.kind].penalty


@dataclass(frozen=True, slots=True)
class Clause:
    """One sentence: the attribute that it says ("sum" for a sum), its phrase, its
    value, and what is wrong with it.
    """

    key: str
    phrase: str
    value: str
    error: Error | None = None
    broken: bool = False  # the verb is in the wrong form

    @property
    def text(self) -> str:
        """The sentence."""
        return _VERB.sub(
            lambda verb: verb[2 if self.broken else 1], self.phrase
        ).replace("{}", self.value)

    @property
    def verb(self) -> tuple[str, str]:
        """The verb's right and wrong form."""
        found = _VERB.search(self.phrase)
        if found is None:
            raise ValueError(
                f"phrase {self.phrase!r} marks no verb: write it as [is|are]"
            )
        return found[1], found[2]


@dataclass(frozen=True, slots=True)
class Item:
    """A record, a text that says it without an error, an output, and the output's
    errors in the order they stand.
    """

    domain: str
    values: Mapping[str, Pair]
    clauses: tuple[Clause, ...]
    reference: str
    errors: tuple[Error, ...] = field(default=())

    @property
    def source(self) -> str:
        """The record, a line an attribute."""
        return "\n".join(
            f"{key}: {shown(key, pair)}" for key, pair in self.values.items()
        )

    @property
    def output(self) -> str:
        """The text that is judged."""
        return " ".join(clause.text for clause in self.clauses)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its errors, one an error."""
        return tuple(error.kind for error in self.errors)

    @property
    def penalty(self) -> int:
        """The sum of the penalties."""
        return sum(error.penalty for error in self.errors)

    def score(self, criterion: str) -> int:
        """The score on a criterion by its key, 1 to 5."""
        return CRITERIA[criterion].score(self.kinds)


def shown(key: str, pair: Pair) -> str:
    """A value as it stands in a record or a text."""
    return ATTRIBUTES[key].pool.show(pair)


@dataclass(frozen=True, slots=True)
class Mix:
    """How items are made: how many attributes, how often how many errors, of which
    kinds, of which share of values.
    """

    attributes: tuple[int, int] = (3, 6)
    counts: tuple[float, ...] = (0.22, 0.32, 0.28, 0.18)  # of 0, 1, 2, 3 errors
    kinds: Mapping[str, float] = field(
        default_factory=lambda: {
            "wrong_value": 0.34,
            "omission": 0.18,
            "invention": 0.16,
            "repetition": 0.12,
            "grammar": 0.12,
            "arithmetic": 0.3,
        }
    )
    off_topic: float = 0.06
    lists: float = 1.0  # how many times as often as by their share lists are asked for
    long: bool = False  # whether chains of aspects are mostly long
    held_out: bool = False
    wording: str = (
        ""  # a style of `phrases`; by default varied, or held out as the values are
    )

    @property
    def style(self) -> str:
        """The wordings of the sentences."""
        return self.wording or ("held out" if self.held_out else "varied")


def make_item(rng: random.Random, mix: Mix) -> Item:
    """One record with one output."""
    domain, values = make_record(rng, mix)
    return make_output(rng, mix, domain, values, realise(rng, domain, values, mix))


def make_record(rng: random.Random, mix: Mix) -> tuple[str, dict[str, Pair]]:
    """A domain and the values of some of its attributes; adults and children come
    together.
    """
    domain = rng.choice(list(DOMAINS))
    attributes = list(DOMAINS[domain])
    chosen = rng.sample(attributes, min(rng.randint(*mix.attributes), len(attributes)))
    for key, other in (SUM_OF, SUM_OF[::-1]):
        keys = {attribute.key for attribute in chosen}
        if key in keys and other not in keys:
            chosen[
                next(place for place, one in enumerate(chosen) if one.key not in SUM_OF)
            ] = ATTRIBUTES[other]
    if rng.random() < 0.5:
        chosen.sort(key=attributes.index)
    values: dict[str, Pair] = {}
    for attribute in chosen:
        taken = {piece for pair in values.values() for piece in pair}
        values[attribute.key] = draw(rng, attribute.pool, taken, mix.held_out)
    return domain, values


def draw(rng: random.Random, pool: Pool, taken: set[str], held_out: bool) -> Pair:
    """A value without pieces that are taken, of the training's pairs or of those
    held out.
    """
    while True:
        pair = (rng.choice(pool.first), rng.choice(pool.second))
        if not taken & ({*pair} - {""}) and (
            pool.second == ("",) or pool.held_out(pair) == held_out
        ):
            return pair


def near(
    rng: random.Random, pool: Pool, pair: Pair, taken: set[str], held_out: bool
) -> Pair:
    """Another value of the pool, half of the time one that differs in a single
    piece.
    """
    for _ in range(40):
        other = draw(rng, pool, taken - {""}, held_out)
        if pool.second != ("",) and rng.random() < 0.7:
            other = (pair[0], other[1]) if rng.random() < 0.5 else (other[0], pair[1])
        if other != pair and (pool.second == ("",) or pool.held_out(other) == held_out):
            return other
    return draw(rng, pool, taken, held_out)


def realise(
    rng: random.Random, domain: str, values: Mapping[str, Pair], mix: Mix
) -> list[Clause]:
    """The sentences of a text without an error: mostly in the record's order, a sum
    after its parts now and then.
    """
    keys = list(values)
    if rng.random() < 0.3:
        rng.shuffle(keys)
    clauses = [say(rng, ATTRIBUTES[key], shown(key, values[key]), mix) for key in keys]
    if all(key in values for key in SUM_OF) and rng.random() < 0.75:
        last = max(keys.index(key) for key in SUM_OF)
        phrase = choose(rng, SUMS, mix.style)
        clauses.insert(
            last + 1,
            Clause("sum", phrase, str(sum(int(values[key][0]) for key in SUM_OF))),
        )
    return clauses


def say(rng: random.Random, attribute: Attribute, value: str, mix: Mix) -> Clause:
    """A sentence that gives an attribute a value."""
    return Clause(attribute.key, choose(rng, attribute.phrases, mix.style), value)


# -- errors


def make_output(
    rng: random.Random,
    mix: Mix,
    domain: str,
    values: Mapping[str, Pair],
    clean: Sequence[Clause],
) -> Item:
    """An output with some errors of the mix, and another clean text as the
    reference.
    """
    reference = " ".join(clause.text for clause in realise(rng, domain, values, mix))
    if rng.random() < mix.off_topic:
        return _off_topic(rng, mix, domain, values, reference)
    clauses = list(clean)
    wanted = rng.choices(range(len(mix.counts)), mix.counts)[0]
    made = 0
    omitted = []
    for _ in range(20):
        if made == wanted:
            break
        kind = rng.choices(list(mix.kinds), list(mix.kinds.values()))[0]
        if kind == "omission":
            gone = _omit(rng, clauses)
            if gone is not None:
                omitted.append(gone)
                made += 1
        else:
            made += PUT[kind](rng, clauses, domain, values, mix)
    errors = [clause.error for clause in clauses if clause.error is not None]
    errors += [
        Error("omission", key, key, shown(key, values[key]))
        for key in values
        if key in omitted
    ]
    return Item(domain, dict(values), tuple(clauses), reference, tuple(errors))


def _sound(
    clauses: Sequence[Clause], of: Mapping[str, Pair] | None = None
) -> list[int]:
    """The places of sentences without an error, of those that say an attribute of
    the record if that is given.
    """
    return [
        n
        for n, c in enumerate(clauses)
        if c.error is None and (of is None or c.key in of)
    ]


def _omit(rng: random.Random, clauses: list[Clause]) -> str | None:
    has_sum = any(clause.key == "sum" for clause in clauses)
    said = [clause.key for clause in clauses]
    places = [
        n
        for n in _sound(clauses)
        if clauses[n].key != "sum"
        and not (has_sum and clauses[n].key in SUM_OF)
        and said.count(clauses[n].key) == 1
    ]
    if len(clauses) < 3 or not places:
        return None
    return clauses.pop(rng.choice(places)).key


def _wrong_value(rng, clauses, domain, values, mix) -> bool:
    said = [clause.key for clause in clauses]
    places = [n for n in _sound(clauses, values) if said.count(clauses[n].key) == 1]
    if not places:
        return False
    place = rng.choice(places)
    clause = clauses[place]
    pool = ATTRIBUTES[clause.key].pool
    right = values[clause.key]
    taken = {piece for pair in values.values() for piece in pair} | {
        p for c in clauses for p in c.value.split()
    }
    value = pool.show(near(rng, pool, right, taken, mix.held_out))
    clauses[place] = replace(
        clause,
        value=value,
        error=Error("wrong_value", clause.key, value, pool.show(right)),
    )
    return True


def _arithmetic(rng, clauses, domain, values, mix) -> bool:
    place = next((n for n in _sound(clauses) if clauses[n].key == "sum"), None)
    if place is None:
        return False
    right = int(clauses[place].value)
    wrong = str(
        rng.choice([n for n in range(4, 19) if n != right and abs(n - right) <= 4])
    )
    error = Error(
        "arithmetic",
        "sum",
        wrong,
        f"{values[SUM_OF[0]][0]} and {values[SUM_OF[1]][0]} make {right}",
    )
    clauses[place] = replace(clauses[place], value=wrong, error=error)
    for n, clause in enumerate(
        clauses
    ):  # a sentence that repeats it has the same number
        if (
            clause.key == "sum"
            and clause.error is not None
            and clause.error.kind == "repetition"
        ):
            clauses[n] = replace(
                clause, value=wrong, error=replace(clause.error, location=wrong)
            )
    return True


def _invention(rng, clauses, domain, values, mix) -> bool:
    said = {clause.key for clause in clauses}
    absent = [
        a
        for a in DOMAINS[domain]
        if a.key not in values and a.key not in said and a.key not in SUM_OF
    ]
    if not absent or rng.random() < 0.25:
        pools = {ATTRIBUTES[key].pool.name for key in values}
        absent += [
            attribute
            for other, attributes in DOMAINS.items()
            if other != domain
            for attribute in attributes
            if attribute.key not in said
            and attribute.key not in SUM_OF
            and attribute.pool.name not in pools
        ]
    if not absent:
        return False
    attribute = rng.choice(absent)
    taken = {piece for pair in values.values() for piece in pair} | {
        p for c in clauses for p in c.value.split()
    }
    clause = say(
        rng,
        attribute,
        attribute.pool.show(draw(rng, attribute.pool, taken, mix.held_out)),
        mix,
    )
    error = Error("invention", attribute.key, clause.value)
    clauses.insert(rng.randint(1, len(clauses)), replace(clause, error=error))
    return True


def _repetition(rng, clauses, domain, values, mix) -> bool:
    said = [clause.key for clause in clauses]
    places = [n for n in _sound(clauses) if said.count(clauses[n].key) == 1]
    if not places:
        return False
    place = rng.choice(places)
    clause = clauses[place]
    error = Error("repetition", clause.key, clause.value)
    clauses.insert(rng.randint(place + 1, len(clauses)), replace(clause, error=error))
    return True


def _grammar(rng, clauses, domain, values, mix) -> bool:
    said = [clause.key for clause in clauses]
    places = [n for n in _sound(clauses) if said.count(clauses[n].key) == 1]
    if not places:
        return False
    place = rng.choice(places)
    right, wrong = clauses[place].verb
    error = Error("grammar", clauses[place].key, wrong, right)
    clauses[place] = replace(clauses[place], error=error, broken=True)
    return True


PUT = {
    "wrong_value": _wrong_value,
    "arithmetic": _arithmetic,
    "invention": _invention,
    "repetition": _repetition,
    "grammar": _grammar,
}


def _off_topic(
    rng: random.Random,
    mix: Mix,
    domain: str,
    values: Mapping[str, Pair],
    reference: str,
) -> Item:
    """The clean text of another record, with no value of this one."""
    pieces = {piece for pair in values.values() for piece in pair} - {""}
    while True:
        other, its = make_record(rng, mix)
        if not pieces & {piece for pair in its.values() for piece in pair}:
            break
    clauses = realise(rng, other, its, mix)
    error = Error("off_topic", "", "all of it")
    first = replace(clauses[0], error=error)
    return Item(domain, dict(values), (first, *clauses[1:]), reference, (error,))
