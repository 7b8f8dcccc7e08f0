"""What the records are about: values made of pieces, attributes with the phrases that
say them, and what is held out.

A `Pool` has the values of one kind, an `Attribute` is what a record can say, `DOMAINS`
has the attributes of each domain. A value is a pair of pieces ("Blue" "Anchor", "17h"
"45"); about one pair in five is kept for evaluation. In a phrase `{}` is the value and
`[verb|wrong form]` the verb that can be broken; `phrases` says which wordings are held
out.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

HELD_OUT_SHARE = 5  # one pair of pieces, and one wording of a sentence, in so many
HELD_OUT_PHRASES = 2  # the last of each attribute


@dataclass(frozen=True, slots=True)
class Pool:
    """Values of one kind: every first piece goes with every second one.

    second: one empty text where a value is a single piece.
    joint: what stands between both pieces.
    """

    name: str
    first: tuple[str, ...]
    second: tuple[str, ...] = ("",)
    joint: str = " "

    @property
    def is_single(self) -> bool:
        """Whether a value has a first piece alone."""
        return self.second == ("",)

    def show(self, pair: tuple[str, str]) -> str:
        """A pair as it stands in a text.

        Example:
        >>> POOLS["venue"].show(("Blue", "Anchor")), POOLS["time"].show(("17h", "45"))
        ('Blue Anchor', '17h45')
        """
        return self.joint.join(piece for piece in pair if piece)

    def held_out(self, pair: tuple[str, str]) -> bool:
        """Whether a pair is kept for evaluation; single pieces never are.

        A checksum decides, so that it is the same in every run and on every machine.
        """
        if self.is_single:
            return False
        checksum = zlib.crc32("\x1f".join(pair).encode())
        return checksum % HELD_OUT_SHARE == 0


@dataclass(frozen=True, slots=True)
class Attribute:
    """What a record can say.

    key: its name in a record.
    pool: of its values.
    phrases: sentences that say it; the last `HELD_OUT_PHRASES` are in no training text.
    """

    key: str
    pool: Pool
    phrases: tuple[str, ...]


def _words(text: str) -> tuple[str, ...]:
    """The words of a text, as the pieces of a pool."""
    return tuple(text.split())


def _numbers(numbers: Iterable[int], template: str = "{}") -> tuple[str, ...]:
    """Numbers as the pieces of a pool, each put into the template."""
    return tuple(map(template.format, numbers))


def _days() -> tuple[str, ...]:
    """The days that every month has, as 1st, 2nd, 3rd, 4th."""
    endings = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd"}
    days = []
    for day in range(1, 29):
        ending = endings.get(day, "th")
        days.append(f"{day}{ending}")
    return tuple(days)


# the pools by their names
POOLS: Mapping[str, Pool] = MappingProxyType(
    {
        pool.name: pool
        for pool in (
            Pool(
                "venue",
                _words(
                    "Blue Golden Silver Crimson Quiet Hidden Lucky Royal "
                    "Rusty Velvet Wild Humble Jolly Noble Windy Sunny"
                ),
                _words(
                    "Anchor Lantern Fox Raven Oak Crown Kettle Harp "
                    "Barrel Bridge Compass Rose Falcon Mill Stag Wheel"
                ),
            ),
            Pool(
                "person",
                _words(
                    "Mira Jonas Petra Oskar Lena Tomas Ines Hugo "
                    "Alma Felix Nora Emil Vera Anton Greta Leo"
                ),
                _words(
                    "Holt Brandt Novak Keller Sorel Lund Marsh Vidal "
                    "Castor Weber Quinn Tanner Ostrow Pell Rossi Dahl"
                ),
            ),
            Pool(
                "area",
                _words("north south east west upper lower old new inner outer"),
                _words(
                    "harbor market station river garden castle quarter "
                    "valley hill square canal meadow bay park"
                ),
            ),
            Pool(
                "time",
                _numbers(range(6, 24), "{}h"),
                _numbers(range(0, 60, 5), "{:02d}"),
                "",
            ),
            Pool(
                "money",
                _numbers(range(30, 70)),
                _numbers(range(10), ".{}0"),
                "",
            ),
            Pool(
                "date",
                _days(),
                _words(
                    "January February March April May June July "
                    "August September October November December"
                ),
            ),
            Pool(
                "dish",
                _words(
                    "grilled baked smoked spicy creamy "
                    "pickled roasted steamed salted candied"
                ),
                _words(
                    "trout lamb beans mushrooms duck pumpkin noodles "
                    "cabbage salmon lentils peppers rabbit leeks shrimp"
                ),
            ),
            Pool(
                "thing",
                _words("red green yellow purple cyan white black brown grey pink"),
                _words(
                    "umbrella jacket bicycle suitcase lamp teapot scarf "
                    "guitar mirror basket carpet helmet kite chair"
                ),
            ),
            Pool("count", _numbers(range(2, 10))),
        )
    }
)


def _domain(**attributes: tuple[str, str]) -> tuple[Attribute, ...]:
    """Attributes by their keys: each a pool's name, and phrases, one a line."""
    domain = []
    for key, (pool, text) in attributes.items():
        lines = text.strip().splitlines()
        phrases = tuple(line.strip() for line in lines)
        domain.append(Attribute(key, POOLS[pool], phrases))
    return tuple(domain)


# domain -> its attributes; a key belongs to one domain alone
DOMAINS: Mapping[str, tuple[Attribute, ...]] = MappingProxyType(
    {
        "restaurant": _domain(
            name=(
                "venue",
                """
                The place [is|are] called {}.
                This restaurant [goes|go] by the name {}.
                Here {} [is|are] the name of the place.
                Guests [know|knows] the restaurant as {}.
                The restaurant [is|are] called {}.
                Guests [know|knows] this place by the name {}.""",
            ),
            dish=(
                "dish",
                """
                Its kitchen [serves|serve] {}.
                The dish of the house [is|are] {}.
                The cooks [make|makes] {} for dinner.
                You can eat {} there, which [tastes|taste] good.
                The kitchen of the house [makes|make] {}.
                For dinner its cooks [serve|serves] {}.""",
            ),
            area=(
                "area",
                """
                It [lies|lie] near the {}.
                You [find|finds] it by the {}.
                The street [leads|lead] to the {}.
                From there it [is|are] a short walk to the {}.
                You [find|finds] the street near the {}.
                It [lies|lie] a short walk from the {}.""",
            ),
            price=(
                "money",
                """
                A meal [costs|cost] {} euros.
                Guests [pay|pays] {} euros for a meal.
                The price [is|are] {} euros.
                Eating there [costs|cost] you {} euros.
                You [pay|pays] {} euros for eating there.
                The price of a meal [is|are] {} euros.""",
            ),
            opens=(
                "time",
                """
                The doors of the kitchen [open|opens] at {}.
                It [opens|open] at {} every day.
                Opening time [is|are] {}.
                Every day the first guests [come|comes] in at {}.
                The first guests [come|comes] in when it opens at {}.
                Guests [come|comes] at opening time, {}.""",
            ),
            chef=(
                "person",
                """
                The chef [is|are] {}.
                Here {} [runs|run] the kitchen as chef.
                Here {} [cooks|cook] there as the chef.
                The team of the chef {} [works|work] there.
                The kitchen [has|have] {} as its chef.
                There the chef {} [runs|run] a team.""",
            ),
        ),
        "concert": _domain(
            band=(
                "venue",
                """
                The band [is|are] called {}.
                A band named {} [plays|play] that night.
                On stage you [hear|hears] the band {}.
                The concert [is|are] given by the band {}.
                That night you [hear|hears] a band called {}.
                The band {} [plays|play] the concert.""",
            ),
            singer=(
                "person",
                """
                The singer [is|are] {}.
                The voice you hear [belongs|belong] to {}.
                Here {} [sings|sing] all the songs.
                All songs [are|is] sung by {}.
                The voice of {} [sings|sing] the songs.
                Here {} [is|are] the singer of all songs.""",
            ),
            date=(
                "date",
                """
                It [takes|take] place on {}.
                The day of the concert [is|are] {}.
                The music [starts|start] on {}.
                Fans [meet|meets] there on {}.
                On {} the fans [meet|meets] for the concert.
                The day it [takes|take] place is {}.""",
            ),
            hall=(
                "area",
                """
                The hall [stands|stand] at the {}.
                The stage [is|are] set up at the {}.
                Fans [reach|reaches] the hall from the {}.
                The hall [is|are] the one beside the {}.
                The stage [stands|stand] beside the {}.
                From the {} fans [reach|reaches] the stage.""",
            ),
            ticket=(
                "money",
                """
                A ticket [costs|cost] {} euros.
                Tickets [are|is] sold for {} euros.
                To get in you [pay|pays] {} euros.
                One seat [goes|go] for {} euros.
                A seat [is|are] sold for {} euros.
                You [pay|pays] {} euros for one ticket.""",
            ),
            doors=(
                "time",
                """
                The doors [open|opens] at {}.
                Fans [get|gets] in from {} on.
                The show [begins|begin] at {}.
                At {} the lights [go|goes] down.
                From {} on the doors [are|is] open.
                The lights [go|goes] down and the show begins at {}.""",
            ),
        ),
        "sale": _domain(
            item=(
                "thing",
                """
                On sale [is|are] a {}.
                The offer [is|are] for a {}.
                Somebody [sells|sell] a {}.
                You can buy a {}, which [looks|look] fine.
                A {} [is|are] on offer.
                You can buy what [looks|look] like a {}.""",
            ),
            brand=(
                "venue",
                """
                The brand [is|are] {}.
                It [was|were] made by {}.
                The label [says|say] {}.
                The maker of it [is|are] {}.
                The label of the maker {} [is|are] on it.
                It [is|are] of the brand {}.""",
            ),
            seller=(
                "person",
                """
                The seller [is|are] {}.
                Here {} [wants|want] to sell it.
                You [buy|buys] it from {}.
                The owner {} [gives|give] it away.
                The owner who [wants|want] to sell it is {}.
                The seller {} [gives|give] it to you.""",
            ),
            place=(
                "area",
                """
                You can see it at the {}, where it [waits|wait] for you.
                Pick it up at the {}, if that [suits|suit] you.
                It [waits|wait] in a shop at the {}.
                The shop [is|are] at the {}.
                You can see the shop that [is|are] at the {}.
                Pick it up where it [waits|wait], at the {}.""",
            ),
            asking=(
                "money",
                """
                The asking price [is|are] {} euros.
                It [goes|go] for {} euros.
                The tag on it [reads|read] {} euros.
                It can be yours for {} euros, which [is|are] fair.
                The tag [asks|ask] for {} euros.
                It [is|are] yours for the price of {} euros.""",
            ),
            since=(
                "date",
                """
                It [was|were] put up on {}.
                The offer [dates|date] from {}.
                The sale [began|begun] on {}.
                Since {} it [has|have] been on sale.
                The sale [dates|date] from {}.
                It [has|have] been on offer since {}.""",
            ),
        ),
        "booking": _domain(
            guest=(
                "person",
                """
                The booking [is|are] for {}.
                Here {} [has|have] booked a room.
                A room [is|are] kept for {}.
                The guest [gave|given] the name {}.
                The booking [has|have] the name {}.
                Here {} [is|are] the guest of the room.""",
            ),
            hotel=(
                "venue",
                """
                The hotel [is|are] the {}.
                They [stay|stays] at the {}.
                The house where they sleep [is|are] the {}.
                Their hotel [bears|bear] the name {}.
                They [sleep|sleeps] in the hotel {}.
                The house where they stay [bears|bear] the name {}.""",
            ),
            arrival=(
                "date",
                """
                They [arrive|arrives] on {}.
                The stay [begins|begin] on {}.
                Their first night [is|are] that of {}.
                They [travel|travels] on {}.
                Their first day [is|are] {}.
                On {} the stay [begins|begin].""",
            ),
            hour=(
                "time",
                """
                The train [gets|get] in at {}.
                A driver [picks|pick] them up at {}.
                They [want|wants] the key at {}.
                The desk [expects|expect] them at {}.
                At {} a driver [gets|get] the key.
                They [come|comes] to the desk at {}.""",
            ),
            supper=(
                "dish",
                """
                For supper they [ordered|orders] {}.
                They [asked|asks] for {} at night.
                The kitchen [keeps|keep] {} for them.
                Their supper [is|are] {}.
                They [ordered|orders] {} for their supper.
                The kitchen [makes|make] them {} at night.""",
            ),
            adults=(
                "count",
                """
                The number of adults [is|are] {}.
                The room [needs|need] beds for {} adults.
                The adults [are|is] {} in number.
                Of grown guests there [are|is] {}.
                Beds [are|is] needed for {} adults.
                In number the adults [are|is] {}.""",
            ),
            children=(
                "count",
                """
                The number of children [is|are] {}.
                They [bring|brings] {} children.
                The children [are|is] {} in number.
                Small guests there [are|is] {}.
                They [come|comes] with {} children.
                In number the children [are|is] {}.""",
            ),
        ),
    }
)
# said beside a record's attributes where it has the first two: their sum
SUMS: tuple[str, ...] = (
    "Together they [are|is] {}.",
    "In all that [makes|make] {}.",
    "The whole party [counts|count] {}.",
    "The sum of both [is|are] {}.",
    "In all they [are|is] {}.",
    "Together that [makes|make] {}.",
)
SUM_OF = ("adults", "children")


def _by_key() -> dict[str, Attribute]:
    """The attributes of all domains by their keys."""
    by_key = {}
    for attributes in DOMAINS.values():
        for attribute in attributes:
            by_key[attribute.key] = attribute
    return by_key


ATTRIBUTES: Mapping[str, Attribute] = MappingProxyType(_by_key())
