"""Make `mini.jsonl` and `README.md` from `sources.toml`: `python data/mini/build.py`.

Every source gets one clean output and outputs degraded in known steps. The gold score
is the construction: each error has a fixed penalty, and gold = 1 - min(5, sum of
penalties) / 5. The same seed gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Collection
from pathlib import Path

HERE = Path(__file__).resolve().parent
SEED = 20
KINDS = ("summary", "dialogue", "data-to-text", "question", "arithmetic")

# what one error of a type costs, on a scale where 5 is an output of no use; and how it
# is classed
PENALTY = {
    "repetition": (0.5, "minor"),
    "broken_grammar": (0.5, "minor"),
    "dropped_fact": (1.0, "major"),
    "invented_fact": (1.5, "major"),
    "wrong_value": (2.0, "major"),
    "off_topic": (5.0, "major"),
}
SYSTEMS = (
    "clean",
    "repetition",
    "broken_grammar",
    "dropped_fact",
    "invented_fact",
    "wrong_value",
    "several_errors",
    "off_topic",
)

SLOT = re.compile(r"\{(\w+)\}")
SPAN = re.compile(r"<([^<>]*)>")
SENTENCE = re.compile(r"(?<=[.!?])\s+")
# Each rule makes an English phrase ungrammatical whatever stands around it.
AGREEMENT = {
    "is": "are",
    "are": "is",
    "was": "were",
    "were": "was",
    "has": "have",
    "have": "has",
}
GRAMMAR = re.compile(
    r"\b(?:(?P<article>[Tt]he) (?P<noun>[a-z]+)|(?P<modal>can|will|must|should|would|may) (?P<infinitive>[a-z]+)"
    r"|(?P<verb>is|are|was|were|has|have) (?P<after>\w+))\b"
)


def error(kind: str, location: str, correction: str) -> dict:
    """One injected error. `location` is text of the output; for a dropped fact it is
    the text that is missing.
    """
    penalty, severity = PENALTY[kind]
    return {
        "type": kind,
        "location": location,
        "correction": correction,
        "severity": severity,
        "penalty": penalty,
    }


def fill(text: str, source: dict, wrong: Collection[str] = ()) -> str:
    """The text with every slot filled, the facts named in `wrong` by their wrong
    value.
    """
    return SLOT.sub(lambda slot: source["facts"][slot[1]][slot[1] in wrong], text)


def plain(text: str, dropped: Collection[int] = ()) -> str:
    """The text without the marks of its spans, and without the spans numbered in
    `dropped`.
    """
    numbers = iter(range(len(SPAN.findall(text))))
    kept = SPAN.sub(lambda span: "" if next(numbers) in dropped else span[1], text)
    return re.sub(r"  +", " ", kept).strip()


def drop(source: dict, rng: random.Random) -> tuple[str, list[dict]]:
    """The template without one span, or without two where there are two and the draw
    says so.
    """
    spans = SPAN.findall(source["clean"])
    chosen = sorted(rng.sample(range(len(spans)), rng.randint(1, min(2, len(spans)))))
    missing = [fill(spans[i], source).strip(" ,") for i in chosen]
    return plain(source["clean"], chosen), [
        error("dropped_fact", text, text) for text in missing
    ]


def falsify(
    template: str, source: dict, rng: random.Random, most: int
) -> tuple[str, list[dict]]:
    """The template filled with one wrong value, or with up to `most`."""
    names = list(dict.fromkeys(SLOT.findall(template)))
    count = rng.randint(1, min(most, len(names)))
    # a slip in arithmetic runs on to the answer; elsewhere the values stand by
    # themselves
    chosen = (
        names[-count:] if source["kind"] == "arithmetic" else rng.sample(names, count)
    )
    errors = [
        error("wrong_value", source["facts"][n][1], source["facts"][n][0])
        for n in names
        if n in chosen
    ]
    return fill(template, source, chosen), errors


def break_grammar(
    text: str, rng: random.Random, count: int, keep: Collection[str] = ()
) -> tuple[str, list[dict]]:
    """The text with `count` phrases made ungrammatical; phrases that overlap a text
    in `keep` are left alone.
    """
    places = [
        m
        for m in GRAMMAR.finditer(text)
        if not any(m[0] in k or k in m[0] for k in keep)
    ]
    chosen = sorted(
        rng.sample(places, min(count, len(places))), key=lambda m: m.start()
    )
    errors = []
    out = []
    end = 0
    for m in chosen:
        if m["article"]:
            broken = (
                f"{m['noun']} the"
                if m["article"] == "the"
                else f"{m['noun'].capitalize()} the"
            )
        elif m["modal"]:
            broken = f"{m['modal']} to {m['infinitive']}"
        else:
            broken = f"{AGREEMENT[m['verb']]} {m['after']}"
        out += [text[end : m.start()], broken]
        end = m.end()
        errors.append(error("broken_grammar", broken, m[0]))
    return "".join([*out, text[end:]]), errors


def repeat(text: str, rng: random.Random) -> tuple[str, list[dict]]:
    """The text with one sentence said two or three times."""
    sentences = SENTENCE.split(text)
    place = rng.randrange(len(sentences))
    times = rng.randint(1, 2)
    said = sentences[place]
    return " ".join(
        [*sentences[:place], *[said] * (times + 1), *sentences[place + 1 :]]
    ), [error("repetition", said, "") for _ in range(times)]


def invent(text: str, source: dict, rng: random.Random) -> tuple[str, list[dict]]:
    """The text with an unsupported sentence after one of its own."""
    sentences = SENTENCE.split(text)
    place = rng.randint(1, len(sentences))
    return " ".join([*sentences[:place], source["invented"], *sentences[place:]]), [
        error("invented_fact", source["invented"], "")
    ]


def several(source: dict, rng: random.Random) -> tuple[str, list[dict]]:
    """A dropped fact, a wrong value and a grammar error in one output."""
    span = rng.randrange(len(SPAN.findall(source["clean"])))
    missing = fill(SPAN.findall(source["clean"])[span], source).strip(" ,")
    text, wrong = falsify(plain(source["clean"], (span,)), source, rng, most=1)
    text, broken = break_grammar(text, rng, 1, keep=[e["location"] for e in wrong])
    return text, [error("dropped_fact", missing, missing), *wrong, *broken]


def outputs(
    source: dict, foreign: str, rng: random.Random
) -> dict[str, tuple[str, list[dict]]]:
    """Every system's output for one source, with the errors put into it."""
    template = plain(source["clean"])
    clean = fill(template, source)
    dropped, missing = drop(source, rng)
    return {
        "clean": (clean, []),
        "repetition": repeat(clean, rng),
        "broken_grammar": break_grammar(clean, rng, rng.randint(1, 3)),
        "dropped_fact": (fill(dropped, source), missing),
        "invented_fact": invent(clean, source, rng),
        "wrong_value": falsify(template, source, rng, most=2),
        "several_errors": several(source, rng),
        "off_topic": (foreign, [error("off_topic", foreign, clean)]),
    }


def sources() -> list[dict]:
    """The sources in the file's order, each with an id of its kind and number."""
    read = tomllib.loads((HERE / "sources.toml").read_text(encoding="utf-8"))["source"]
    counts: Counter[str] = Counter()
    for source in read:
        counts[source["kind"]] += 1
        source["input_id"] = f"{source['kind']}-{counts[source['kind']]:02d}"
    return read


def records() -> list[dict]:
    """One record an output: sources in order, systems from best to worst within a
    source.
    """
    every = sources()
    by_kind = defaultdict(list)
    for source in every:
        by_kind[source["kind"]].append(source)
    rng = random.Random(SEED)
    donor = {}
    for group in (
        by_kind.values()
    ):  # off-topic: the clean output of another source of the kind, each used once
        order = rng.sample(group, len(group))
        for source, other in zip(order, order[1:] + order[:1], strict=True):
            donor[source["input_id"]] = fill(plain(other["clean"]), other)
    made = []
    for source in every:
        draw = random.Random(f"{SEED}:{source['input_id']}")
        for system, (output, errors) in outputs(
            source, donor[source["input_id"]], draw
        ).items():
            severity = min(5.0, sum(e["penalty"] for e in errors))
            made.append(
                {
                    "input_id": source["input_id"],
                    "kind": source["kind"],
                    "instruction": source["instruction"],
                    "source": source["source"],
                    "reference": source["reference"],
                    "output": output,
                    "system_id": system,
                    "degradation": system,
                    "severity": severity,
                    "gold": round(1 - severity / 5, 4),
                    "errors": errors,
                }
            )
    return made


CARD = """# The embedded mini set

{n_sources} short sources ({kinds}),
written for this project, each with a reference and {n_systems} graded outputs: {n} outputs in all. It is for exercise,
teaching and tests on a machine that has no other data. **Its numbers are labelled `mini` and are never compared with a
paper.** Made by `python data/mini/build.py` from `sources.toml` (seed {seed}); a rebuild gives the same bytes. Same
licence as the code.

Nobody rated these texts. The gold score is the construction: every error was put in by a rule, has a fixed penalty, and

    gold = 1 - min(5, sum of penalties) / 5        (0 = of no use, 1 = nothing wrong)

| system_id | what was done to the clean output | penalty of one error | class | errors an output | mean gold |
|---|---|---|---|---|---|
{table}

The order of the penalties is a choice (form < omission < invention < contradiction < unrelated), not a finding.

Fields of a record: `input_id, kind, instruction, source, reference, output, system_id, degradation` (= `system_id`),
`severity` (sum of penalties, 0-5), `gold` (0-1), `errors`: a list of `type`, `location` (the text of the output; for a
dropped fact, the text that is missing), `correction` (what should stand there; empty: nothing), `severity` (minor or
major), `penalty`.

What it cannot show: the errors are artificial, the outputs short and English, and a rule's error is easier to spot than
a model's. A metric that does well here may do badly on real outputs.
"""
DONE = {
    "clean": "nothing: a good output that is not the reference",
    "repetition": "one sentence is said two or three times",
    "broken_grammar": "agreement, word order or a verb form is broken in up to three places",
    "dropped_fact": "one or two facts are left out, the rest reads well",
    "invented_fact": "a fluent sentence that the source does not support is put in",
    "wrong_value": "one or two values are replaced by others of their kind (arithmetic: the answer, or a step and it)",
    "several_errors": "a dropped fact, a wrong value and a grammar error together",
    "off_topic": "the clean output of another source of the same kind",
}


def card(made: list[dict]) -> str:
    """The README: what the set is, and its counts."""
    rows = []
    for system in SYSTEMS:
        mine = [r for r in made if r["system_id"] == system]
        counts = [len(r["errors"]) for r in mine]
        few = min(counts)
        many = max(counts)
        penalty, severity = PENALTY.get(system, ("", ""))
        span = f"{few}" if few == many else f"{few}-{many}"
        mean = sum(r["gold"] for r in mine) / len(mine)
        rows.append(
            f"| `{system}` | {DONE[system]} | {penalty} | {severity} | {span} | {mean:.2f} |"
        )
    kinds = Counter(r["kind"] for r in made)
    return CARD.format(
        n_sources=len({r["input_id"] for r in made}),
        kinds=", ".join(
            f"{count // len(SYSTEMS)} {kind}" for kind, count in kinds.items()
        ),
        n_systems=len(SYSTEMS),
        n=len(made),
        seed=SEED,
        table="\n".join(rows),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--to",
        type=Path,
        default=HERE,
        help="folder for mini.jsonl and README.md (default: beside this file)",
    )
    to = parser.parse_args().to
    made = records()
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in made)
    (to / "mini.jsonl").write_text(lines, encoding="utf-8", newline="\n")
    (to / "README.md").write_text(card(made), encoding="utf-8", newline="\n")
    print(
        f"{len(made)} outputs of {len(made) // len(SYSTEMS)} sources -> {to / 'mini.jsonl'}"
    )


if __name__ == "__main__":
    main()
