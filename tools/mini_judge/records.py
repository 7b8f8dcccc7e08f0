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
        form = 2 if self.broken else 1
        sentence = _VERB.sub(lambda verb: verb[form], self.phrase)
        return sentence.replace("{}", self.value)

    @property
    def verb(self) -> tuple[str, str]:
        """The verb's right and wrong form."""
        match = _VERB.search(self.phrase)
        if match is None:
            raise ValueError(
                f"phrase {self.phrase!r} marks no verb: write it as [is|are]"
            )
        return match[1], match[2]


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
    for key, partner in (SUM_OF, SUM_OF[::-1]):
        keys = [attribute.key for attribute in chosen]
        if key in keys and partner not in keys:
            place = next(n for n, own_key in enumerate(keys) if own_key not in SUM_OF)
            chosen[place] = ATTRIBUTES[partner]
    if rng.random() < 0.5:
        chosen.sort(key=attributes.index)
    values: dict[str, Pair] = {}
    for attribute in chosen:
        excluded = _pieces(values)
        values[attribute.key] = draw(rng, attribute.pool, excluded, mix.held_out)
    return domain, values


def _pieces(values: Mapping[str, Pair]) -> set[str]:
    """The pieces of the values of a record."""
    return {piece for pair in values.values() for piece in pair}


def draw(rng: random.Random, pool: Pool, excluded: set[str], held_out: bool) -> Pair:
    """A value without pieces that are excluded, of the training's pairs or of those
    held out.
    """
    while True:
        pair = (rng.choice(pool.first), rng.choice(pool.second))
        if excluded & ({*pair} - {""}):
            continue
        if pool.second == ("",) or pool.held_out(pair) == held_out:
            return pair


def near(
    rng: random.Random, pool: Pool, pair: Pair, excluded: set[str], held_out: bool
) -> Pair:
    """Another value of the pool, half of the time one that differs in a single
    piece.
    """
    single = pool.second == ("",)
    for _ in range(40):
        candidate = draw(rng, pool, excluded - {""}, held_out)
        if not single and rng.random() < 0.7:
            if rng.random() < 0.5:
                candidate = (pair[0], candidate[1])
            else:
                candidate = (candidate[0], pair[1])
        if candidate == pair:
            continue
        if single or pool.held_out(candidate) == held_out:
            return candidate
    return draw(rng, pool, excluded, held_out)


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
        total = sum(int(values[key][0]) for key in SUM_OF)
        clauses.insert(last + 1, Clause("sum", phrase, str(total)))
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
    n_errors = 0
    omitted = set()
    for _ in range(20):
        if n_errors == wanted:
            break
        kind = rng.choices(list(mix.kinds), list(mix.kinds.values()))[0]
        if kind == "omission":
            key = _omit(rng, clauses)
            if key is not None:
                omitted.add(key)
                n_errors += 1
        else:
            n_errors += PUT[kind](rng, clauses, domain, values, mix)
    errors = [clause.error for clause in clauses if clause.error is not None]
    for key in values:
        if key in omitted:
            errors.append(Error("omission", key, key, shown(key, values[key])))
    return Item(domain, dict(values), tuple(clauses), reference, tuple(errors))


def _sound(clauses: Sequence[Clause], only_once: bool = True) -> list[int]:
    """The places of sentences without an error; only_once: whose attribute no other
    sentence says.
    """
    keys = [clause.key for clause in clauses]
    places = []
    for place, clause in enumerate(clauses):
        repeated = only_once and keys.count(clause.key) > 1
        if clause.error is None and not repeated:
            places.append(place)
    return places


def _omit(rng: random.Random, clauses: list[Clause]) -> str | None:
    """Take a sentence out: the attribute that it says, None where none may go."""
    keys = [clause.key for clause in clauses]
    needed = {"sum"}
    if "sum" in keys:
        needed.update(SUM_OF)
    places = [place for place in _sound(clauses) if keys[place] not in needed]
    if len(clauses) < 3 or not places:
        return None
    return clauses.pop(rng.choice(places)).key


def _used_pieces(clauses: Sequence[Clause], values: Mapping[str, Pair]) -> set[str]:
    """The pieces that record and text have."""
    excluded = _pieces(values)
    for clause in clauses:
        excluded.update(clause.value.split())
    return excluded


def _wrong_value(rng, clauses, domain, values, mix) -> bool:
    places = [place for place in _sound(clauses) if clauses[place].key in values]
    if not places:
        return False
    place = rng.choice(places)
    clause = clauses[place]
    pool = ATTRIBUTES[clause.key].pool
    true_pair = values[clause.key]
    false_pair = near(rng, pool, true_pair, _used_pieces(clauses, values), mix.held_out)
    value = pool.show(false_pair)
    error = Error("wrong_value", clause.key, value, pool.show(true_pair))
    clauses[place] = replace(clause, value=value, error=error)
    return True


def _arithmetic(rng, clauses, domain, values, mix) -> bool:
    places = [n for n in _sound(clauses, only_once=False) if clauses[n].key == "sum"]
    if not places:
        return False
    place = places[0]
    total = int(clauses[place].value)
    lowest = max(4, total - 4)
    candidates = [n for n in range(lowest, min(19, total + 5)) if n != total]
    wrong = str(rng.choice(candidates))
    first, second = [values[key][0] for key in SUM_OF]
    error = Error("arithmetic", "sum", wrong, f"{first} and {second} make {total}")
    clauses[place] = replace(clauses[place], value=wrong, error=error)
    # A sentence that repeats the sum has the same number.
    for n, clause in enumerate(clauses):
        error = clause.error
        if clause.key == "sum" and error is not None and error.kind == "repetition":
            error = replace(error, location=wrong)
            clauses[n] = replace(clause, value=wrong, error=error)
    return True


def _invention(rng, clauses, domain, values, mix) -> bool:
    unusable = {clause.key for clause in clauses} | {*SUM_OF}
    absent = []
    for attribute in DOMAINS[domain]:
        if attribute.key not in values and attribute.key not in unusable:
            absent.append(attribute)
    if not absent or rng.random() < 0.25:
        absent += _foreign(domain, values, unusable)
    if not absent:
        return False
    attribute = rng.choice(absent)
    pair = draw(rng, attribute.pool, _used_pieces(clauses, values), mix.held_out)
    clause = say(rng, attribute, attribute.pool.show(pair), mix)
    error = Error("invention", attribute.key, clause.value)
    clauses.insert(rng.randint(1, len(clauses)), replace(clause, error=error))
    return True


def _foreign(
    domain: str, values: Mapping[str, Pair], unusable: set[str]
) -> list[Attribute]:
    """Attributes of the other domains, with values of other pools than the record's."""
    pools = {ATTRIBUTES[key].pool.name for key in values}
    foreign = []
    for name, attributes in DOMAINS.items():
        if name == domain:
            continue
        for attribute in attributes:
            if attribute.key not in unusable and attribute.pool.name not in pools:
                foreign.append(attribute)
    return foreign


def _repetition(rng, clauses, domain, values, mix) -> bool:
    places = _sound(clauses)
    if not places:
        return False
    place = rng.choice(places)
    clause = clauses[place]
    error = Error("repetition", clause.key, clause.value)
    clauses.insert(rng.randint(place + 1, len(clauses)), replace(clause, error=error))
    return True


def _grammar(rng, clauses, domain, values, mix) -> bool:
    places = _sound(clauses)
    if not places:
        return False
    place = rng.choice(places)
    correct, wrong = clauses[place].verb
    error = Error("grammar", clauses[place].key, wrong, correct)
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
    pieces = _pieces(values) - {""}
    other_domain, other_values = make_record(rng, mix)
    while pieces & _pieces(other_values):
        other_domain, other_values = make_record(rng, mix)
    clauses = realise(rng, other_domain, other_values, mix)
    error = Error("off_topic", "", "all of it")
    first = replace(clauses[0], error=error)
    return Item(domain, dict(values), (first, *clauses[1:]), reference, (error,))
