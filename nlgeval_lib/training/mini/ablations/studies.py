"""The studies and their arms: which examples each arm is fine-tuned on, and how many."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from nlgeval_lib.training.mini.ablations import parts
from nlgeval_lib.training.mini.ablations.base import IDLE, READING, RECIPE, digest
from nlgeval_lib.training.mini.domains import DOMAINS
from nlgeval_lib.training.mini.prompts import Example
from nlgeval_lib.training.mini.recipe import Recipe

# no heads beside the model: as in the papers, the loss is of the answers alone
TUNE = Recipe(tokens=1536, rate=1.5e-3, warm=0.05, cool=0.6, side=0.0, chunk=512, **IDLE)


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to fine-tune: how much of which part, in units of the study's size.

    domain: the only task that it is tested on; switches: Prometheus' reference, rubric and feedback.
    """

    study: str
    name: str
    shares: Mapping[str, float]
    domain: str = ""
    switches: tuple[bool, bool, bool] | None = None

    @property
    def slug(self) -> str:
        """The name as part of a file's name."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")

    def counts(self, size: int) -> dict[str, int]:
        """How many examples of each part."""
        return {part: round(share * size) for part, share in self.shares.items()}

    def examples(self, seed: int, size: int) -> list[Example]:
        """All examples of a seed in the order in which they are learnt. Arms that share a part share its examples."""
        made = [one for part, count in self.counts(size).items() for one in parts.draw(part, seed, count)]
        random.Random(f"order:{self.study}:{seed}").shuffle(made)
        return made


def _tasks() -> list[Arm]:
    single = [Arm("tasks", domain, {domain: 1.0}, domain) for domain in DOMAINS]
    return [*single, Arm("tasks", "all tasks", dict.fromkeys(DOMAINS, 1.0))]


# TIGERScore, Figure 3 (channels) and Table 8 (tasks); Prometheus, Table 6 (grading)
STUDIES: Mapping[str, tuple[Arm, ...]] = MappingProxyType(
    {
        "channels": (
            Arm("channels", "ReW", {"real": 1.0}),
            Arm("channels", "Syn", {"synthetic": 1.0}),
            Arm("channels", "Mix", {"real": 0.5, "synthetic": 0.5}),
        ),
        "tasks": tuple(_tasks()),
        "grading": tuple(Arm("grading", name, {name: 1.0}, switches=how) for name, how in parts.SWITCHES.items()),
    }
)


@dataclass(frozen=True)
class Scale:
    """How large everything is: recipes of the base's stages and of the fine-tuning, each study's size and seeds."""

    base: Recipe = RECIPE
    reading: Recipe = READING
    tune: Recipe = TUNE
    # The rule: as many as all 36 runs learn and judge in about an hour of one core, the same for all arms of a study.
    # Held beside it: one run of Mix, with a seed and records of no study, had tau .22, .28, .30 after 1024, 4096, 8192
    # examples. It still rises, but twice 4096 would bring no more than the records can tell apart.
    sizes: Mapping[str, int] = field(default_factory=lambda: {"channels": 4096, "tasks": 1024, "grading": 2560})
    seeds: Mapping[str, int] = field(default_factory=lambda: {"channels": 3, "tasks": 3, "grading": 3})

    def told(self, arm: Arm, seed: int) -> dict[str, Any]:
        """What determines a run, apart from the machine's rounding."""
        tune = {name: value for name, value in asdict(self.tune).items() if name not in ("examples", "seed")}
        counts = arm.counts(self.sizes[arm.study])
        return {
            "base": digest(self.base, self.reading),
            "tune": tune,
            "parts": counts,
            "arm": arm.name,
            "seed": seed,
        }

    def digest(self, arm: Arm, seed: int) -> str:
        """The same in twelve signs."""
        return hashlib.sha256(json.dumps(self.told(arm, seed), sort_keys=True).encode()).hexdigest()[:12]


def arm(study: str, name: str) -> Arm:
    """An arm by its name. Raises: ValueError naming those that there are."""
    if study not in STUDIES:
        raise ValueError(f"study {study!r}; there are {', '.join(STUDIES)}")
    found = [one for one in STUDIES[study] if one.name == name]
    if not found:
        raise ValueError(f"arm {name!r} of {study}; there are {', '.join(one.name for one in STUDIES[study])}")
    return found[0]
