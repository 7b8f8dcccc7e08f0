"""Do cards name what was planted, and accuse no honest judge?

python -m tools.planted_cards [--seeds 5]
"""

from __future__ import annotations

import argparse
from typing import Any

from nlgeval_lib import card
from nlgeval_lib.engines import ScriptedEngine
from nlgeval_lib.evaluators import Preference, PromptedJudge
from tools import planted

NOISE = (0.25, 0.5, 1.0, 1.5)


def rules(script: planted.Script, data: Any, of_pairs: bool = False) -> dict[str, str]:
    """Rule -> its kind, of those that hold, but for praise."""
    engine = ScriptedEngine(script)
    if of_pairs:
        made = card.of(Preference(planted.PAIRS), [data], engine=engine)
    else:
        judge = PromptedJudge(planted.PROMPT)
        made = card.of(judge, [data], engine=engine, repeat=2, probes=True)
    listed = made.numbers["verdict"]["findings"]
    return {row["rule"]: row["kind"] for row in listed if row["kind"] != "praises"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    drawn = planted.rated()
    faults = {
        "length": planted.length,
        "constant": planted.constant,
        "obedient": planted.obedient(drawn),
        "fickle": planted.fickle(drawn),
    }
    for name, script in faults.items():
        print(f"{name}: {rules(script, drawn)}")
    print(f"first: {rules(planted.first, planted.pairs(drawn), of_pairs=True)}")
    accused = 0
    unproven = 0
    for sd in NOISE:
        for seed in seeds:
            frame = planted.rated(seed + 10)
            graded = rules(planted.honest(frame, sd, seed), frame)
            script = planted.chooses(frame, sd, seed)
            pairs = rules(script, planted.pairs(frame), of_pairs=True)
            kinds = [*graded.values(), *pairs.values()]
            accused += "fails" in kinds
            unproven += "unproven" in kinds
            print(f"honest, noise {sd}, seed {seed}: {graded} {pairs}")
    print(f"{accused} of {len(NOISE) * len(seeds)} honest judges are accused")
    print(f"{unproven} of them cannot be told from chance or length")


if __name__ == "__main__":
    main()
