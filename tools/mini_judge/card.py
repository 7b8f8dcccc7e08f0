"""The checkpoint's card: what it is, how it was made, how good it was measured to
be, what it must not be used for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
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


def text(folder: Path) -> str:
    """The card as Markdown."""
    training = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    judgments, analyses = mini.read(folder)
    frame = datasets.load("mini_judge")
    outputs = frame[frame["aspect"] == "overall"].reset_index(drop=True)
    aspects = quality.taus(judgments)
    forms = quality.headline(judgments, aspects)
    baselines = quality.against(judgments, outputs, quality.baselines(outputs))
    kinds = by_kind(frame, analyses)
    tables = {"forms": forms, "aspects": aspects, "baselines": baselines}
    for name, table in tables.items():
        content = table.to_csv(index=False, lineterminator="\n")
        files.write_text(folder / "quality" / f"{name}.csv", content)
    sections = [
        _TOP,
        _recipe(training),
        _files(folder),
        _data(),
        _measured(forms, aspects, baselines, kinds),
        _TELLS,
        _LIMITS,
    ]
    return "\n\n".join(section.strip("\n") for section in sections) + "\n"


def _files(folder: Path) -> str:
    """The section with the hashes of the files."""
    hashes = [f"`{files.sha256(folder / name)}`" for name in HASHED]
    table = _table(pd.DataFrame({"file": HASHED, "sha256": hashes}))
    revision = models.folder_hash(folder)[:16]
    return (
        f"## Files\n\n{table}\n\n"
        f"Revision under which completions are stored: `sha256:{revision}`."
    )


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


def _recipe(training: Mapping[str, Any]) -> str:
    """The section on how the checkpoint was made."""
    recipe = training["recipe"]
    default = asdict(Recipe())
    command = "python -m tools.mini_judge"
    target = "runs the same"
    for name, value in recipe.items():
        if value != default[name]:
            command += f" --{name} {value}"
            target = "runs its default"
    machine = training.get("machine", {})
    where = f"{machine.get('threads', '?')} thread(s) of {machine.get('device', '?')}"
    if machine.get("compiled"):
        where += ", compiled"
    for note in machine.get("notes", ()):
        where += f"; {note}"
    table = _table(pd.DataFrame(recipe.items(), columns=["setting", "value"]))
    return (
        f"## Recipe\n\nMade by `{command}` (`make mini-judge` {target}): "
        f"{training['parameters']:,} parameters, {training['steps']:,} steps, "
        f"{training['tokens']:,} tokens of {recipe['examples']:,} examples, "
        f"each seen once; {training['seconds'] / 60:.0f} minutes of wall time on "
        f"{where}.\n\n{_HOW}\n\n{table}"
    )


def _data() -> str:
    """The section on the data program."""
    n_outputs = datasets.spec("mini_judge").n_items
    n_openings = len(OPENINGS) - 1
    n_endings = len(ENDINGS) - 1
    n_phrases = sum(len(attribute.phrases) for attribute in ATTRIBUTES.values())
    shares = [(name, f"{share:.3f}") for name, (share, _) in FORMS.items()]
    forms = pd.DataFrame(shares, columns=["form", "share"])
    kinds = pd.DataFrame([asdict(kind) for kind in KINDS.values()])
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
    """The section on the measured quality: tables of `quality`, by form, by aspect and
    beside baselines; what the analyses find by kind of error.
    """
    barred = head[head["bar"].notna()]
    met = barred["met"].astype(bool)
    verdict = f"{met.sum()} of {len(barred)} forms meet their bar"
    if not met.all():
        verdict += f"; not met: {', '.join(barred.loc[~met, 'form'])}"
    return f"""\
## Measured quality

On the held-out set, greedy decoding. {verdict} (at least 99 % parsed; tau at least .80 for the error analysis, .75 for
the others). Kendall's tau-b with the constructed gold over all outputs, with the interval of a jackknife over records
and systems. The gold of `quality` is SemScore's scale from 1 to 4, turned round.

{_table(_by_form(head))}

By rated aspect:

{_table(_by_aspect(table, head["form"]))}

Beside judges that cost nothing (paired jackknife over records and systems, one-sided, corrected over all forms and
baselines; for the constant, which has no tau, a permutation of the gold):

{_table(_by_baseline(beside))}

What the error analyses find, kind by kind:

{_table(_by_kind_of_error(kinds))}

Signature of the first line: `{head["signature"].iloc[0]}`."""


MET = {None: "", True: "yes", False: "no"}


def _by_form(head: pd.DataFrame) -> pd.DataFrame:
    intervals = [
        _interval(row.tau, row.ci_low, row.ci_high) for row in head.itertuples()
    ]
    return pd.DataFrame(
        {
            "form": head["form"],
            "judgments": head["judgments"],
            "parsed": [f"{share:.1%}" for share in head["parsable"]],
            "gold": head["gold"],
            "tau-b": intervals,
            "n": head["n"],
            "bar": head["bar"].map(_hundredths),
            "met": [MET[met] for met in head["met"]],
        }
    )


def _by_aspect(table: pd.DataFrame, forms: pd.Series) -> pd.DataFrame:
    aspects = table[table["aspect"] != "overall"]
    wide = aspects.pivot(index="form", columns="aspect", values="value")
    wide = wide.reindex(forms).dropna(how="all")
    return wide.map(_hundredths).reset_index()


def _by_baseline(beside: pd.DataFrame) -> pd.DataFrame:
    worst = beside.groupby("baseline", sort=False, as_index=False).agg(
        tau=("baseline_tau", "max"), closest=("difference", "min"), p=("p_holm", "max")
    )
    return pd.DataFrame(
        {
            "baseline": worst["baseline"],
            "its highest tau": worst["tau"].map("{:.2f}".format),
            "smallest difference of a form": worst["closest"].map("{:+.2f}".format),
            "largest p (Holm)": worst["p"].map("{:.4f}".format),
        }
    )


def _by_kind_of_error(kinds: pd.DataFrame) -> pd.DataFrame:
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
    return "" if value != value else f"{value:.2f}"


def _share(value: float) -> str:
    return "" if value != value else f"{value:.0%}"


def _interval(value: float, low: float, high: float) -> str:
    return "none" if value != value else f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _table(frame: pd.DataFrame) -> str:
    return files.markdown_table(frame.columns, frame.itertuples(index=False))
