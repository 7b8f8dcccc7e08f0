"""Records, the texts that say them, and errors put in on purpose, each known by
construction.

A record has a domain and a value, a `Pair` of pieces, for some of its attributes.
`realise` says it in `Clause`s, one a sentence; `make_output` puts `Error`s into a
`Draft` of them and gives an `Item`. A `Mix` says how many errors of which kinds.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mini_judge.criteria import CRITERIA, KINDS
from mini_judge.domains import ATTRIBUTES, DOMAINS, SUM_OF, SUMS, Attribute, Pool
from mini_judge.phrases import choose

# [right form|wrong form]
_VERB = re.compile(r"\[([^|\]]+)\|([^\]]+)\]")
# a value's first and second piece; the second is empty where it has a single one
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Error:
    """An error of an output.

    kind: a key of `KINDS`.
    key: the attribute that it concerns; "sum" for a sum, empty for a text off topic.
    location: the words that are wrong.
    correction: what belongs there; empty where nothing does.
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
    """One sentence.

    key: the attribute that it says; "sum" for a sum.
    phrase: the wording, with `{}` for the value and `[right|wrong]` for the verb.
    value: as it stands in the text.
    error: what is wrong with it.
    """

    key: str
    phrase: str
    value: str
    error: Error | None = None
    broken: bool = False  # the verb is in the wrong form

    @property
    def text(self) -> str:
        """The sentence.

        Example:
        >>> Clause("chef", "The chef [is|are] {}.", "Mira Holt").text
        'The chef is Mira Holt.'
        """
        form = 2 if self.broken else 1
        sentence = _VERB.sub(lambda verb: verb[form], self.phrase)
        return sentence.replace("{}", self.value)

    @property
    def verb(self) -> tuple[str, str]:
        """The verb's right and wrong form.

        Raises: ValueError where the phrase marks none.
        """
        match = _VERB.search(self.phrase)
        if match is None:
            raise ValueError(
                f"phrase {self.phrase!r} marks no verb: write it as [is|are]"
            )
        return match[1], match[2]


@dataclass(frozen=True, slots=True)
class Item:
    """A record, a text that says it without an error, an output, and the output's
    errors.

    domain: a key of `DOMAINS`.
    values: of the record, by attribute.
    clauses: the sentences of the output.
    reference: the text without an error.
    errors: in the order they stand; omissions, which stand nowhere, come last.
    """

    domain: str
    values: Mapping[str, Pair]
    clauses: tuple[Clause, ...]
    reference: str
    errors: tuple[Error, ...] = field(default=())

    @property
    def source(self) -> str:
        """The record, a line an attribute."""
        lines = []
        for key, pair in self.values.items():
            lines.append(f"{key}: {shown(key, pair)}")
        return "\n".join(lines)

    @property
    def output(self) -> str:
        """The text that is judged."""
        return _text(self.clauses)

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


def _text(clauses: Iterable[Clause]) -> str:
    """Sentences as a text."""
    return " ".join(clause.text for clause in clauses)


def shown(key: str, pair: Pair) -> str:
    """A value as it stands in a record or a text."""
    return ATTRIBUTES[key].pool.show(pair)


@dataclass(frozen=True, slots=True)
class Mix:
    """How items are made.

    attributes: the fewest and the most of a record.
    kinds: of errors, each with how often it is drawn, as a weight.
    off_topic: the share of outputs that say another record.
    held_out: whether values are those kept for evaluation.
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
    # a style of `phrases`; by default varied, or held out as the values are
    wording: str = ""

    @property
    def style(self) -> str:
        """The wordings of the sentences."""
        if self.wording:
            return self.wording
        return "held out" if self.held_out else "varied"


def make_item(rng: random.Random, mix: Mix) -> Item:
    """One record with one output, drawn as the mix says."""
    domain, values = make_record(rng, mix)
    clean = realise(rng, domain, values, mix)
    return make_output(rng, mix, domain, values, clean)


# -- records


def make_record(rng: random.Random, mix: Mix) -> tuple[str, dict[str, Pair]]:
    """A domain and the values of some of its attributes; adults and children come
    together.

    No piece is in two values of a record.
    """
    domain = rng.choice(list(DOMAINS))
    attributes = list(DOMAINS[domain])
    size = min(rng.randint(*mix.attributes), len(attributes))
    chosen = rng.sample(attributes, size)
    adults, children = SUM_OF
    _complete(chosen, adults, children)
    _complete(chosen, children, adults)
    # half of the records have their attributes in the domain's order
    if rng.random() < 0.5:
        chosen.sort(key=attributes.index)
    values: dict[str, Pair] = {}
    for attribute in chosen:
        excluded = _pieces(values)
        pair = draw(rng, attribute.pool, excluded, mix.held_out)
        values[attribute.key] = pair
    return domain, values


def _complete(chosen: list[Attribute], key: str, partner: str) -> None:
    """Where an attribute is chosen without its partner, put the partner in place of the
    first attribute that is in no sum.
    """
    keys = [attribute.key for attribute in chosen]
    if key not in keys or partner in keys:
        return
    for place, chosen_key in enumerate(keys):
        if chosen_key not in SUM_OF:
            chosen[place] = ATTRIBUTES[partner]
            return


def _pieces(values: Mapping[str, Pair]) -> set[str]:
    """The pieces of the values of a record."""
    pieces: set[str] = set()
    for pair in values.values():
        pieces.update(pair)
    return pieces


def draw(rng: random.Random, pool: Pool, excluded: set[str], held_out: bool) -> Pair:
    """A value without pieces that are excluded.

    held_out: whether it is one of the pairs kept for evaluation, or of the training's;
        pools of single pieces have no such pairs.
    """
    while True:
        pair = (rng.choice(pool.first), rng.choice(pool.second))
        pieces = {*pair} - {""}
        if excluded & pieces:
            continue
        if pool.is_single or pool.held_out(pair) == held_out:
            return pair


def near(
    rng: random.Random, pool: Pool, pair: Pair, excluded: set[str], held_out: bool
) -> Pair:
    """Another value of the pool, mostly one that differs in a single piece.

    excluded: pieces that it must not have, but for those of the right value.
    held_out: as `draw` has it.
    """
    # not every pool has such a neighbour; after so many tries any other value will do
    for _ in range(40):
        first, second = draw(rng, pool, excluded - {""}, held_out)
        if not pool.is_single and rng.random() < 0.7:
            if rng.random() < 0.5:
                first = pair[0]
            else:
                second = pair[1]
        candidate = (first, second)
        if candidate == pair:
            continue
        if pool.is_single or pool.held_out(candidate) == held_out:
            return candidate
    return draw(rng, pool, excluded, held_out)


# -- sentences


def realise(
    rng: random.Random, domain: str, values: Mapping[str, Pair], mix: Mix
) -> list[Clause]:
    """The sentences of a text without an error: mostly in the record's order, a sum
    behind its parts now and then.
    """
    keys = list(values)
    if rng.random() < 0.3:
        rng.shuffle(keys)
    clauses = []
    for key in keys:
        value = shown(key, values[key])
        clauses.append(say(rng, ATTRIBUTES[key], value, mix))
    if values.keys() >= {*SUM_OF} and rng.random() < 0.75:
        place = 1 + max(keys.index(key) for key in SUM_OF)
        phrase = choose(rng, SUMS, mix.style)
        total = sum(map(int, _summands(values)))
        clauses.insert(place, Clause("sum", phrase, str(total)))
    return clauses


def _summands(values: Mapping[str, Pair]) -> tuple[str, str]:
    """The two numbers that a sum adds up, as the record has them."""
    adults, children = SUM_OF
    return values[adults][0], values[children][0]


def say(rng: random.Random, attribute: Attribute, value: str, mix: Mix) -> Clause:
    """A sentence that gives an attribute a value."""
    phrase = choose(rng, attribute.phrases, mix.style)
    return Clause(attribute.key, phrase, value)


# -- outputs


def make_output(
    rng: random.Random,
    mix: Mix,
    domain: str,
    values: Mapping[str, Pair],
    clean: Sequence[Clause],
) -> Item:
    """An output with some errors of the mix, and another clean text as the reference.

    clean: the sentences that errors are put into; they stay as they are.
    """
    reference = _text(realise(rng, domain, values, mix))
    if rng.random() < mix.off_topic:
        return _off_topic(rng, mix, domain, values, reference)
    draft = Draft(rng, mix, domain, values, list(clean))
    omitted = _put_errors(draft)
    errors = []
    for clause in draft.clauses:
        if clause.error is not None:
            errors.append(clause.error)
    for key in values:
        if key in omitted:
            errors.append(Error("omission", key, key, shown(key, values[key])))
    return Item(domain, dict(values), tuple(draft.clauses), reference, tuple(errors))


@dataclass(frozen=True, slots=True)
class Draft:
    """A text about a record while errors are put into its sentences, in place.

    rng: what is random is drawn from it.
    values: of the record.
    clauses: the sentences, changed by `PUT`.
    """

    rng: random.Random
    mix: Mix
    domain: str
    values: Mapping[str, Pair]
    clauses: list[Clause]

    @property
    def keys(self) -> list[str]:
        """The attribute that each sentence says."""
        return [clause.key for clause in self.clauses]

    def sound(self, only_once: bool = True) -> list[int]:
        """The places of sentences without an error.

        only_once: whether a sentence counts only where no other says its attribute.
        """
        keys = self.keys
        places = []
        for place, clause in enumerate(self.clauses):
            is_repeated = only_once and keys.count(clause.key) > 1
            if clause.error is None and not is_repeated:
                places.append(place)
        return places

    def used_pieces(self) -> set[str]:
        """The pieces that record and text have."""
        pieces = _pieces(self.values)
        for clause in self.clauses:
            pieces.update(clause.value.split())
        return pieces


def _put_errors(draft: Draft) -> set[str]:
    """Put as many errors as the mix has into a draft; the keys of the attributes left
    out.
    """
    rng = draft.rng
    mix = draft.mix
    [n_errors] = rng.choices(range(len(mix.counts)), mix.counts)
    kinds = list(mix.kinds)
    weights = list(mix.kinds.values())
    omitted: set[str] = set()
    n_put = 0
    for _ in range(20):  # not every kind can be put into every text
        if n_put == n_errors:
            break
        [kind] = rng.choices(kinds, weights)
        if kind != "omission":
            n_put += PUT[kind](draft)
            continue
        key = _omit(draft)
        if key is not None:
            omitted.add(key)
            n_put += 1
    return omitted


def _off_topic(
    rng: random.Random,
    mix: Mix,
    domain: str,
    values: Mapping[str, Pair],
    reference: str,
) -> Item:
    """The clean text of another record, with no piece of a value of this one."""
    pieces = _pieces(values) - {""}
    other_domain, other_values = make_record(rng, mix)
    while pieces & _pieces(other_values):
        other_domain, other_values = make_record(rng, mix)
    clauses = realise(rng, other_domain, other_values, mix)
    error = Error("off_topic", "", "all of it")
    clauses[0] = replace(clauses[0], error=error)
    return Item(domain, dict(values), tuple(clauses), reference, (error,))


# -- errors: each is put into a draft; False where it could not be


def _omit(draft: Draft) -> str | None:
    """Take a sentence out: the attribute that it says, None where none may go."""
    keys = draft.keys
    needed = {"sum"}
    if "sum" in keys:
        needed.update(SUM_OF)
    places = []
    for place in draft.sound():
        if keys[place] not in needed:
            places.append(place)
    if len(draft.clauses) < 3 or not places:
        return None
    place = draft.rng.choice(places)
    return draft.clauses.pop(place).key


def _wrong_value(draft: Draft) -> bool:
    """Give an attribute another value of its pool, of no piece that the text has."""
    keys = draft.keys
    places = []
    for place in draft.sound():
        if keys[place] in draft.values:  # a sum is in no record
            places.append(place)
    if not places:
        return False
    place = draft.rng.choice(places)
    clause = draft.clauses[place]
    pool = ATTRIBUTES[clause.key].pool
    true_pair = draft.values[clause.key]
    excluded = draft.used_pieces()
    false_pair = near(draft.rng, pool, true_pair, excluded, draft.mix.held_out)
    value = pool.show(false_pair)
    error = Error("wrong_value", clause.key, value, pool.show(true_pair))
    draft.clauses[place] = replace(clause, value=value, error=error)
    return True


def _arithmetic(draft: Draft) -> bool:
    """Say a wrong sum."""
    keys = draft.keys
    places = []
    for place in draft.sound(only_once=False):
        if keys[place] == "sum":
            places.append(place)
    if not places:
        return False
    place = places[0]
    clause = draft.clauses[place]
    total = int(clause.value)
    # the sums of two numbers from 2 to 9, no further than 4 from the right one
    near_sums = range(max(4, total - 4), min(19, total + 5))
    wrong = str(draft.rng.choice([number for number in near_sums if number != total]))
    first, second = _summands(draft.values)
    error = Error("arithmetic", "sum", wrong, f"{first} and {second} make {total}")
    draft.clauses[place] = replace(clause, value=wrong, error=error)
    _repeat_sum(draft.clauses, wrong)
    return True


def _repeat_sum(clauses: list[Clause], wrong: str) -> None:
    """Give a sentence that repeats the sum the same wrong number."""
    for place, clause in enumerate(clauses):
        error = clause.error
        if clause.key != "sum" or error is None:
            continue
        if error.kind == "repetition":
            error = replace(error, location=wrong)
            clauses[place] = replace(clause, value=wrong, error=error)


def _invention(draft: Draft) -> bool:
    """Say an attribute that the record does not have, now and then one that no record
    of the domain has.

    Adults and children are never invented.
    """
    rng = draft.rng
    unusable = {*draft.keys, *SUM_OF}
    absent = []
    for attribute in DOMAINS[draft.domain]:
        if attribute.key not in draft.values and attribute.key not in unusable:
            absent.append(attribute)
    if not absent or rng.random() < 0.25:
        absent += _foreign(draft.domain, draft.values, unusable)
    if not absent:
        return False
    attribute = rng.choice(absent)
    excluded = draft.used_pieces()
    pair = draw(rng, attribute.pool, excluded, draft.mix.held_out)
    clause = say(rng, attribute, attribute.pool.show(pair), draft.mix)
    error = Error("invention", attribute.key, clause.value)
    # never the first sentence
    place = rng.randint(1, len(draft.clauses))
    draft.clauses.insert(place, replace(clause, error=error))
    return True


def _foreign(
    domain: str, values: Mapping[str, Pair], unusable: set[str]
) -> list[Attribute]:
    """Attributes of the other domains, with values of other pools than the record's."""
    pools = set()
    for key in values:
        pools.add(ATTRIBUTES[key].pool.name)
    foreign = []
    for name, attributes in DOMAINS.items():
        if name == domain:
            continue
        for attribute in attributes:
            if attribute.key not in unusable and attribute.pool.name not in pools:
                foreign.append(attribute)
    return foreign


def _repetition(draft: Draft) -> bool:
    """Say a sentence once more, anywhere after the first time."""
    places = draft.sound()
    if not places:
        return False
    place = draft.rng.choice(places)
    clause = draft.clauses[place]
    error = Error("repetition", clause.key, clause.value)
    later = draft.rng.randint(place + 1, len(draft.clauses))
    draft.clauses.insert(later, replace(clause, error=error))
    return True


def _grammar(draft: Draft) -> bool:
    """Give a verb its wrong form."""
    places = draft.sound()
    if not places:
        return False
    place = draft.rng.choice(places)
    clause = draft.clauses[place]
    correct, wrong = clause.verb
    error = Error("grammar", clause.key, wrong, correct)
    draft.clauses[place] = replace(clause, error=error, broken=True)
    return True


# by kind of error, what puts one in; an omission is put in by `_omit`, an off-topic
# text made by `_off_topic`
PUT: Mapping[str, Callable[[Draft], bool]] = {
    "wrong_value": _wrong_value,
    "arithmetic": _arithmetic,
    "invention": _invention,
    "repetition": _repetition,
    "grammar": _grammar,
}
