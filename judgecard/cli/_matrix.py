"""`nlgeval card --matrix`: every prompt of a plan with every model, side by side."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import pandas as pd
import typer

from nlgeval_lib.cli._options import SOME_MISSING, echo, failures, note, prices, say

if TYPE_CHECKING:
    from judgecard.asked import Asking
    from judgecard.cli.card import Judging
    from judgecard.config_files import Plan

_SPENT = "spent.json"


def run(options: Judging) -> None:
    """Ask every judge of a plan, write a card each, and set them side by side.

    Raises: ValueError where the plan does not say enough; Exit with 1 where the budget
    is spent, or completions failed.
    """
    from judgecard import config_files, matrix

    fields = list(get_type_hints(type(options)))
    _, plan = config_files.read_plan(options.matrix, fields)
    judges = dict(_judges(options, plan))
    folder = Path("matrix" if options.output == "card" else options.output)
    budget = matrix.Budget(plan.budget, _spent(folder))
    _say_plan(judges, budget, options)
    if options.dry_run:
        return
    made = {}
    has_failed = False
    try:
        for name, (asking, own) in judges.items():
            budget.price = prices(own.price)
            asking.bar = lambda title, quiet: matrix.Meter(title, quiet, budget)
            say(f"{name}:")
            made[name] = asking.card(quiet=options.quiet)
            failures(asking.outcome)
            has_failed = has_failed or bool(asking.outcome.failures)
            made[name].write(folder / matrix.folder_of(name))
    except matrix.OverBudget as stop:
        left = ", ".join(name for name in judges if name not in made)
        say(
            f"stopped, {stop}; without a card: {left}. What was asked is stored; a "
            "larger budget in the plan goes on"
        )
        has_failed = True
    finally:
        if budget.spent:
            _keep(folder, budget.spent)
    if not made:
        raise typer.Exit(SOME_MISSING)
    written = matrix.write(made, folder)
    found = matrix.table(made, matrix.pairs(made))
    shown = ["set", "aspect", "judge", "agreement", "low", "high", "standing", "front"]
    echo([found[shown], *matrix.best(found)])
    typer.echo(f"written: {', '.join(path.name for path in written)}")
    typer.echo(f"open {folder / 'matrix.html'}")
    if has_failed:
        raise typer.Exit(SOME_MISSING)


def _judges(
    options: Judging, plan: Plan
) -> Iterator[tuple[str, tuple[Asking, Judging]]]:
    """Each judge by its name, with its own options; all of the same rows."""
    from judgecard.cli.card import asking, design, rated_sets

    data: list[Any] = []
    for prompt in plan.prompts:
        for model in plan.models:
            own = copy.copy(options)
            own.prompt = prompt
            vars(own).update(model)
            if plan.budget is not None and not own.price:
                raise ValueError(
                    f"a budget needs what {own.model} costs: price = 'IN,OUT', of a "
                    "million prompt and new tokens"
                )
            # the rows are read, and their columns answered, once
            data = data or rated_sets(own)
            run = asking(own, data, design(own))
            yield f"{Path(prompt).stem} / {own.model}", (run, own)


def _say_plan(
    judges: Mapping[str, tuple[Asking, Judging]], budget: Any, options: Judging
) -> None:
    """Say what all judges would be asked and cost, before anything is asked.

    Raises: InputError where a set lacks what a judge needs.
    """
    from nlgeval_lib.scoring import planning

    rows = []
    for name, (asking, own) in judges.items():
        asking.check()
        planned = planning.plan(asking.planned(), asking.engine, asking.store)
        totals = planned[list(planning.COUNTS)].sum()
        row = {
            "judge": name,
            "to ask": int(totals["to_ask"]),
            "stored": int(totals["stored"]),
            "prompt tokens": totals["prompt_tokens"],
            "new tokens": totals["new_tokens"],
        }
        price = prices(own.price)
        if price is not None:
            prompt = totals["prompt_tokens"] * price[0]
            row["cost"] = (prompt + totals["new_tokens"] * price[1]) / 1e6
            row["at most"] = (prompt + totals["limit"] * price[1]) / 1e6
        rows.append(row)
    table = pd.DataFrame(rows)
    if options.dry_run:
        echo([table])
    line = f"{len(table)} judges, {table['to ask'].sum():,} completions to ask"
    if "cost" in table:
        line += f", {table['cost'].sum():.4g} expected, {table['at most'].sum():.4g} "
        line += "at most"
    if budget.money is not None:
        line += f"; budget {budget.money:g}, of which {budget.spent:.4g} are spent"
    (typer.echo if options.dry_run else note)(line)


def _spent(folder: Path) -> float:
    """What earlier runs of a plan have spent."""
    path = folder / _SPENT
    if not path.is_file():
        return 0.0
    return float(json.loads(path.read_text(encoding="utf-8"))["money"])


def _keep(folder: Path, money: float) -> None:
    """Keep what was spent, for the next run."""
    from nlgeval_lib import files

    files.write_text(folder / _SPENT, json.dumps({"money": money}) + "\n")
