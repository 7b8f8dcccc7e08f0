"""The checkpoint's card: what it is, how it was made, how good it was measured to be,
what it must not be used for.

The prose is in card.md beside this file; each private function of the first part gives
the values of some of its gaps, those of the second part the tables of the measured
quality.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from mini_judge import quality
from mini_judge.criteria import KINDS
from mini_judge.domains import (
    ATTRIBUTES,
    DOMAINS,
    HELD_OUT_PHRASES,
    HELD_OUT_SHARE,
    POOLS,
)
from mini_judge.phrases import ENDINGS, OPENINGS
from mini_judge.prompts import FORMS
from mini_judge.recipe import Recipe
from nlgeval_lib import datasets, files, weights
from nlgeval_lib.datasets import mini_judge as held_out
from reproduction.training.mini import by_kind

CARD = "README.md"
# the checkpoint's files whose hash the card gives
HASHED = ("model.safetensors", "tokenizer.json", "config.json")
TEMPLATE = Path(__file__).with_name("card.md")


def write(folder: Path) -> None:
    """Write the card of the checkpoint in `folder`, and its tables, from its files and
    what `measure.write` left.

    It writes README.md and quality/forms.csv, aspects.csv and baselines.csv.
    """
    files.write_text(folder / CARD, text(folder))


def text(folder: Path) -> str:
    """The card as Markdown: `card.md` with its gaps filled. It writes the tables of the
    quality, too.
    """
    training = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    template = TEMPLATE.read_text(encoding="utf-8")
    return template.format(
        **_recipe(training),
        **_files(folder),
        **_data(),
        **_measured(folder),
    )


def _recipe(training: Mapping[str, Any]) -> dict[str, Any]:
    """How the checkpoint was made: its recipe, the command that makes it again, sizes
    and time.
    """
    recipe = training["recipe"]
    default = asdict(Recipe())
    command = "python -m mini_judge"
    target = "runs the same"
    # The command names every setting that is not the default.
    for name, value in recipe.items():
        if value != default[name]:
            command += f" --{name} {value}"
            target = "runs its default"
    table = pd.DataFrame(recipe.items(), columns=["setting", "value"])
    return {
        "command": command,
        "target": target,
        "n_parameters": training["parameters"],
        "n_steps": training["steps"],
        "n_tokens": training["tokens"],
        "n_examples": recipe["examples"],
        "minutes": training["seconds"] / 60,
        "machine": _machine(training.get("machine", {})),
        "recipe": _table(table),
    }


def _machine(machine: Mapping[str, Any]) -> str:
    """Where the training ran, in words, with the remarks that were made on it."""
    threads = machine.get("threads", "?")
    device = machine.get("device", "?")
    words = f"{threads} thread(s) of {device}"
    if machine.get("compiled"):
        words += ", compiled"
    for note in machine.get("notes", ()):
        words += f"; {note}"
    return words


def _files(folder: Path) -> dict[str, str]:
    """The hashes of the files, and the revision that engines give the folder."""
    hashes = [f"`{files.sha256(folder / name)}`" for name in HASHED]
    table = pd.DataFrame({"file": HASHED, "sha256": hashes})
    revision = weights.folder_hash(folder)[:16]
    return {"files": _table(table), "revision": revision}


def _data() -> dict[str, Any]:
    """What the data program writes: counts of domains, phrases and so on, kinds of
    error, shares of forms.
    """
    kinds = pd.DataFrame([asdict(kind) for kind in KINDS.values()])
    kinds.columns = ["kind of error", "penalty", "severity", "TIGERScore's aspect"]
    shares = [(form, f"{share:.3f}") for form, (share, _) in FORMS.items()]
    n_phrases = 0
    for attribute in ATTRIBUTES.values():
        n_phrases += len(attribute.phrases)
    return {
        "n_domains": len(DOMAINS),
        "domains": ", ".join(DOMAINS),
        "n_attributes": len(ATTRIBUTES),
        "n_phrases": n_phrases,
        "n_pools": len(POOLS),
        "kinds": _table(kinds),
        "shares": _table(pd.DataFrame(shares, columns=["form", "share"])),
        "n_outputs": datasets.spec("mini_judge").n_items,
        "one_in": HELD_OUT_SHARE,
        # the first opening and the first ending are none
        "n_openings": len(OPENINGS) - 1,
        "n_endings": len(ENDINGS) - 1,
        "n_new_phrases": HELD_OUT_PHRASES,
    }


def _measured(folder: Path) -> dict[str, Any]:
    """The measured quality, by form, by aspect, beside baselines and by kind of
    error; its tables are written beside the card.
    """
    judgments, analyses = held_out.judgments(folder)
    frame = datasets.load("mini_judge")
    outputs = frame[frame["aspect"] == "overall"].reset_index(drop=True)
    aspects = quality.taus(judgments)
    forms = quality.headline(judgments, aspects)
    costless = quality.baselines(outputs)
    baselines = quality.against(judgments, outputs, costless)
    tables = {"forms": forms, "aspects": aspects, "baselines": baselines}
    for name, table in tables.items():
        content = table.to_csv(index=False, lineterminator="\n")
        files.write_text(folder / "quality" / f"{name}.csv", content)
    kinds = by_kind(frame, analyses)
    return {
        "verdict": _verdict(forms),
        "by_form": _table(_by_form(forms)),
        "by_aspect": _table(_by_aspect(aspects, forms["form"])),
        "by_baseline": _table(_by_baseline(baselines)),
        "by_kind_of_error": _table(_by_kind_of_error(kinds)),
        "signature": forms["signature"].iloc[0],
    }


def _verdict(forms: pd.DataFrame) -> str:
    """How many forms meet their bar, and which do not."""
    barred = forms[forms["bar"].notna()]
    met = barred["met"].astype(bool)
    verdict = f"{met.sum()} of {len(barred)} forms meet their bar"
    if not met.all():
        failing = barred.loc[~met, "form"]
        verdict += f"; not met: {', '.join(failing)}"
    return verdict


# -- the tables of the measured quality

# whether a bar is met, in words; a form without a bar has none
MET = {None: "", True: "yes", False: "no"}


def _by_form(forms: pd.DataFrame) -> pd.DataFrame:
    """How each form fared, formatted: tau with its interval beside its bar."""
    intervals = []
    for row in forms.itertuples():
        intervals.append(_interval(row.tau, row.ci_low, row.ci_high))
    return pd.DataFrame(
        {
            "form": forms["form"],
            "judgments": forms["judgments"],
            "parsed": forms["parsable"].map("{:.1%}".format),
            "gold": forms["gold"],
            "tau-b": intervals,
            "n": forms["n"],
            "bar": forms["bar"].map(_hundredths),
            "met": [MET[met] for met in forms["met"]],
        }
    )


def _by_aspect(aspects: pd.DataFrame, forms: pd.Series) -> pd.DataFrame:
    """Tau of each form and rated aspect, formatted; forms without aspects are left out."""
    table = aspects[aspects["aspect"] != "overall"]
    wide = table.pivot(index="form", columns="aspect", values="value")
    wide = wide.reindex(forms).dropna(how="all")
    return wide.map(_hundredths).reset_index()


def _by_baseline(baselines: pd.DataFrame) -> pd.DataFrame:
    """What each baseline comes to where it fares best."""
    by_baseline = baselines.groupby("baseline", sort=False)
    highest = by_baseline["baseline_tau"].max()
    smallest = by_baseline["difference"].min()
    largest_p = by_baseline["p_holm"].max()
    table = pd.DataFrame(
        {
            "its highest tau": highest.map("{:.2f}".format),
            "smallest difference of a form": smallest.map("{:+.2f}".format),
            "largest p (Holm)": largest_p.map("{:.4f}".format),
        }
    )
    return table.reset_index()


def _by_kind_of_error(kinds: pd.DataFrame) -> pd.DataFrame:
    """How many errors of each kind were found, formatted."""
    return pd.DataFrame(
        {
            "kind": kinds["kind"],
            "put in": kinds["errors"],
            "found": kinds["recall"].map(_share),
            "found with the very words": kinds["located_share"].map(_share),
            "told of and not there": kinds["false"],
        }
    )


def _hundredths(value: float) -> str:
    """Two decimals; empty for no number."""
    return "" if math.isnan(value) else f"{value:.2f}"


def _share(value: float) -> str:
    """Whole percent; empty for no number."""
    return "" if math.isnan(value) else f"{value:.0%}"


def _interval(value: float, low: float, high: float) -> str:
    """A value with its interval; "none" for no number."""
    if math.isnan(value):
        return "none"
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _table(frame: pd.DataFrame) -> str:
    """A frame as a table in Markdown."""
    return files.markdown_table(frame.columns, frame.itertuples(index=False))
