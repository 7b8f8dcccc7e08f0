"""The checkpoint's card: what it is, how it was made, how good it was measured to
be, what it must not be used for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import datasets, files
from nlgeval_lib.engines import models
from nlgeval_lib.training import mini
from nlgeval_lib.training.mini import by_kind
from tools.mini_judge import quality
from tools.mini_judge.criteria import KINDS
from tools.mini_judge.domains import (
    ATTRIBUTES,
    DOMAINS,
    HELD_OUT_PHRASES,
    HELD_OUT_SHARE,
    POOLS,
)
from tools.mini_judge.phrases import ENDINGS, OPENINGS
from tools.mini_judge.prompts import FORMS
from tools.mini_judge.recipe import Recipe

CARD = "README.md"
HASHED = ("model.safetensors", "tokenizer.json", "config.json")


def write(folder: Path) -> None:
    """Write the card of the checkpoint in `folder`, and its tables, from its files
    and what `measure.write` left.
    """
    files.write_text(folder / CARD, text(folder))


def sha256(path: Path) -> str:
    """The hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def text(folder: Path) -> str:
    """The card as Markdown."""
    told = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    judgments, analyses = mini.read(folder)
    frame = datasets.load("mini_judge")
    outputs = frame[frame["aspect"] == "overall"].reset_index(drop=True)
    table = quality.taus(judgments)
    head = quality.headline(judgments, table)
    beside = quality.against(judgments, outputs, quality.baselines(outputs))
    kinds = by_kind(frame, analyses)
    for name, one in (("forms", head), ("aspects", table), ("baselines", beside)):
        files.write_text(
            folder / "quality" / f"{name}.csv",
            one.to_csv(index=False, lineterminator="\n"),
        )
    parts = [
        _TOP,
        _recipe(told),
        "## Files\n\n"
        + _table(
            pd.DataFrame(
                {
                    "file": HASHED,
                    "sha256": [f"`{sha256(folder / name)}`" for name in HASHED],
                }
            )
        )
        + f"\n\nRevision under which completions are stored: `sha256:{models.folder_hash(folder)[:16]}`.",
        _data(),
        _measured(head, table, beside, kinds),
        _TELLS,
        _LIMITS,
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


_TOP = """
# The miniature judge

A Llama of a few million parameters, trained from nothing by this repository on texts that this repository writes, so
that every LLM evaluator can run for real on a machine without a model hub. It knows one small made-up world: records of
3 to 6 attributes and short texts about them. **Its numbers carry the route `mini` and are never set beside a paper's as
if they could be compared.** Its model id for any engine is the path of this folder. Licence: that of the repository.
"""

_TELLS = """
## What an ablation with it can tell

On these 300 texts a paired test over inputs sees how many aspects are in a mean of aspect scores (CoAScore's variant
`average`), whether a rubric names the aspect (asked of an aspect, not of the overall quality), and what joins criteria
scores (HD-Eval). It sees nothing of a reference, of a feedback, and of the chain before CoAScore's last score: every
error shows in record and text, and the judge has learnt to find it there in one step, so that all forms above are
alike.
With six systems a test over systems as well sees next to nothing. `EXTENDING.md` has the commands.
"""

_LIMITS = """
## What it must not be used for

- To judge any text but those of its own data program: of other words it knows the bytes and nothing else.
- As a stand-in for a paper's judge beside a paper's number, or as evidence for or against a paper's claim.
- As a yardstick for other judges. Its gold is a construction: penalties are a choice, errors are put in by rules, and a
  rule's error is easier to see than a model's.
- With prompts that are not those of its training: another wording of a template, aspect or rubric is unknown to it.
"""


_HOW = """\
The loss is on the answers only; beside it, two heads that are not part of the checkpoint learn to name the errors where
they stand in the output (kind of error at the end of each value and verb, number of each kind and omitted attributes
after the output). Muon for the matrices, AdamW for the rest, bfloat16 with full-precision weights, learning rate up,
level and down, short records first, varied wordings last. A run that was stopped goes on from its last save with the
same data and gives the same steps; bytes may differ between machines."""


def _recipe(told: Mapping[str, Any]) -> str:
    recipe = told["recipe"]
    default = Recipe()
    flags = [
        f"--{name} {value}"
        for name, value in recipe.items()
        if value != getattr(default, name)
    ]
    command = " ".join(["python -m tools.mini_judge", *flags])
    rows = [(name, value) for name, value in recipe.items()]
    machine = told.get("machine", {})
    run = "runs the same" if not flags else "runs its default"
    where = f"{machine.get('threads', '?')} thread(s) of {machine.get('device', '?')}"
    how = "".join(
        [
            ", compiled" if machine.get("compiled") else "",
            *(f"; {note}" for note in machine.get("notes", ())),
        ]
    )
    return (
        f"## Recipe\n\nMade by `{command}` (`make mini-judge` {run}): {told['parameters']:,} parameters, "
        f"{told['steps']:,} steps, {told['tokens']:,} tokens of {recipe['examples']:,} examples, each seen once; "
        f"{told['seconds'] / 60:.0f} minutes of wall time on {where}{how}.\n\n{_HOW}\n\n"
        + _table(pd.DataFrame(rows, columns=["setting", "value"]))
    )


def _data() -> str:
    n_outputs = datasets.spec("mini_judge").n_items
    n_openings = len(OPENINGS) - 1
    n_endings = len(ENDINGS) - 1
    n_phrases = sum(len(attribute.phrases) for attribute in ATTRIBUTES.values())
    forms = pd.DataFrame(
        [(name, f"{share:.3f}") for name, (share, _) in FORMS.items()],
        columns=["form", "share"],
    )
    kinds = pd.DataFrame(
        [(k.name, k.penalty, k.severity, k.aspect) for k in KINDS.values()]
    )
    kinds.columns = ["kind of error", "penalty", "severity", "TIGERScore's aspect"]
    names = ", ".join(DOMAINS)
    n_attributes = len(ATTRIBUTES)
    n_pools = len(POOLS)
    return f"""\
## Data

{len(DOMAINS)} domains ({names}) with {n_attributes} attributes and {n_phrases} phrases. A value is a pair of pieces out
of {n_pools} pools, such as `Blue` + `Anchor`. Every text is made by rule from a record, and so is every error in it, so
that analysis, severity, penalty and scores are known. The score on a criterion is 5 minus the penalties of the kinds of
error that belong to it, 1 at least.

{_table(kinds)}

Prompts are rendered by this repository's evaluators with the templates that the real checkpoints get:

{_table(forms)}

Held out for evaluation (`datasets.load("mini_judge")`, {n_outputs} outputs): one pair of pieces in {HELD_OUT_SHARE},
one wording in {HELD_OUT_SHARE} (a phrase between one of {n_openings} openings and {n_endings} endings), and all
records. The pieces, words and phrases are known from training, their combinations are not. The last {HELD_OUT_PHRASES}
phrases of each attribute are in no training text; the forms "new sentences" below are asked of texts made of these
alone. Criteria, rubrics and templates are the same in training and evaluation."""


def _measured(
    head: pd.DataFrame, table: pd.DataFrame, beside: pd.DataFrame, kinds: pd.DataFrame
) -> str:
    barred = head[head["bar"].notna()]
    met = int(barred["met"].astype(bool).sum())
    missed = barred.loc[~barred["met"].astype(bool), "form"].tolist()
    shown = pd.DataFrame(
        {
            "form": head["form"],
            "judgments": head["judgments"],
            "parsed": [f"{one:.1%}" for one in head["parsable"]],
            "gold": head["gold"],
            "tau-b": [_interval(r.tau, r.ci_low, r.ci_high) for r in head.itertuples()],
            "n": head["n"],
            "bar": ["" if one != one else f"{one:.2f}" for one in head["bar"]],
            "met": [
                "" if one is None else "yes" if one else "no" for one in head["met"]
            ],
        }
    )
    aspects = table[table["aspect"] != "overall"]
    aspects = (
        aspects.pivot(index="form", columns="aspect", values="value")
        .reindex(head["form"])
        .dropna(how="all")
    )
    aspects = aspects.map(
        lambda value: "" if value != value else f"{value:.2f}"
    ).reset_index()
    worst = beside.groupby("baseline", sort=False).agg(
        tau=("baseline_tau", "max"), closest=("difference", "min"), p=("p_holm", "max")
    )
    base = pd.DataFrame(
        [
            (name, f"{r.tau:.2f}", f"{r.closest:+.2f}", f"{r.p:.4f}")
            for name, r in worst.iterrows()
        ],
        columns=[
            "baseline",
            "its highest tau",
            "smallest difference of a form",
            "largest p (Holm)",
        ],
    )
    kinds = pd.DataFrame(
        {
            "kind": kinds["kind"],
            "put in": kinds["errors"],
            "found": [_share(one) for one in kinds["recall"]],
            "found with the very words": [
                _share(one) for one in kinds["located_share"]
            ],
            "told of and not there": kinds["false"],
        }
    )
    verdict = f"{met} of {len(barred)} forms meet their bar" + (
        f"; not met: {', '.join(missed)}" if missed else ""
    )
    return f"""\
## Measured quality

On the held-out set, greedy decoding. {verdict} (at least 99 % parsed; tau at least .80 for the error analysis, .75 for
the others). Kendall's tau-b with the constructed gold over all outputs, with the interval of a jackknife over records
and systems. The gold of `quality` is SemScore's scale from 1 to 4, turned round.

{_table(shown)}

By rated aspect:

{_table(aspects)}

Beside judges that cost nothing (paired jackknife over records and systems, one-sided, corrected over all forms and
baselines; for the constant, which has no tau, a permutation of the gold):

{_table(base)}

What the error analyses find, kind by kind:

{_table(kinds)}

Signature of the first line: `{head["signature"].iloc[0]}`."""


def _share(value: float) -> str:
    return "" if value != value else f"{value:.0%}"


def _interval(value: float, low: float, high: float) -> str:
    return "none" if value != value else f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _table(frame: pd.DataFrame) -> str:
    return files.markdown_table(frame.columns, frame.itertuples(index=False))
