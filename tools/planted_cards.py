"""Do cards name what was planted, and accuse no honest judge?

python -m tools.planted_cards [--seeds 5]

Prints the findings of each judge of `tools.planted`, and how many honest ones are
accused; writes nothing.
"""

from __future__ import annotations

import argparse
from typing import Any

import judgecard as card
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.evaluators import Preference, PromptedJudge
from tools import planted

# standard deviations of the honest judges' noise, in points
NOISE = (0.25, 0.5, 1.0, 1.5)


def rules(
    script: planted.Script,
    data: Any,
    of_pairs: bool = False,
) -> dict[str, str]:
    """Rule -> its kind ("fails", "unproven" and so on), of those that the card's
    verdict has, but for praise.

    script: the judge.
    data: the set, or pairs.
    of_pairs: whether the judge chooses between two, not rates one.
    """
    engine = ScriptedEngine(script)
    if of_pairs:
        judge: Any = Preference(planted.PAIRS)
        judged = card.make_card(judge, [data], engine=engine)
    else:
        judge = PromptedJudge(planted.PROMPT)
        judged = card.make_card(judge, [data], engine=engine, repeat=2, probes=True)
    kinds = {}
    for finding in judged.numbers["verdict"]["findings"]:
        if finding["kind"] != "praises":
            kinds[finding["rule"]] = finding["kind"]
    return kinds


def show_faults() -> None:
    """Print what the card of each planted fault says."""
    drawn = planted.rated()
    faults = {
        "length": planted.length,
        "constant": planted.constant,
        "obedient": planted.obedient(drawn),
        "turned": planted.turned(drawn),
        "fickle": planted.fickle(drawn),
    }
    for name, script in faults.items():
        print(f"{name}: {rules(script, drawn)}")
    pairs = planted.pairs(drawn)
    print(f"first: {rules(planted.first, pairs, of_pairs=True)}")


def of_honest(sd: float, seed: int) -> list[str]:
    """Print what is said of an honest judge and of an honest choice between two; the
    kinds of what is said of both.

    sd: of their noise.
    seed: of their noise; the set is drawn with another one.
    """
    frame = planted.rated(seed + 10)
    graded = rules(planted.honest(frame, sd, seed), frame)
    script = planted.chooses(frame, sd, seed)
    paired = rules(script, planted.pairs(frame), of_pairs=True)
    print(f"honest, noise {sd}, seed {seed}: {graded} {paired}")
    return [*graded.values(), *paired.values()]


def main() -> None:
    """Print the findings of planted faults, then those of honest judges."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    show_faults()
    judges = 0
    accused = 0
    unproven = 0
    for sd in NOISE:
        for seed in range(options.seeds):
            kinds = of_honest(sd, seed)
            judges += 1
            accused += "fails" in kinds
            unproven += "unproven" in kinds
    print(f"{accused} of {judges} honest judges are accused")
    print(f"{unproven} of them cannot be told from chance or length")


if __name__ == "__main__":
    main()
