"""`nlgeval card --matrix`: every prompt of a plan with every model, side by side."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import pandas as pd
import typer

from nlgeval_lib import files
from nlgeval_lib.cli._options import SOME_MISSING, echo, failures, note, prices, say

if TYPE_CHECKING:
    from judgecard.asked import Asking
    from judgecard.config_files import Plan

_SPENT = "spent.json"
_SHOWN = ["set", "aspect", "judge", "agreement", "low", "high", "standing", "front"]


def run(
    options: Any, rated_sets: Callable[[Any], Any], asking_of: Callable[..., Asking]
) -> None:
    """Ask every judge of a plan, write a card each, and set them side by side.

    Raises: ValueError where the plan does not say enough; Exit with 1 where the budget
    is spent, or completions failed.
    """
    from judgecard import config_files, matrix

    fields = list(get_type_hints(type(options)))
    _, plan = config_files.read_plan(options.matrix, fields)
    judges = dict(_judges(options, plan, rated_sets, asking_of))
    folder = Path(options.output)
    if options.output == "card":
        folder = Path("matrix")
    budget = matrix.Budget(plan.budget)
    if (folder / _SPENT).is_file():
        spent = json.loads((folder / _SPENT).read_text(encoding="utf-8"))
        budget.spent = float(spent["money"])
    _say_plan(judges, budget, options)
    if options.dry_run:
        return
    files.check(folder / "matrix.html")
    cards, has_failed = _asked(judges, budget, folder, options)
    if not cards:
        raise typer.Exit(SOME_MISSING)
    tests = matrix.pairs(cards)
    table = matrix.table(cards, tests)
    paths = matrix.write(table, tests, folder)
    echo([table[_SHOWN], *matrix.best(table)])
    typer.echo(f"written: {', '.join(path.name for path in paths)}")
    typer.echo(f"open {folder / 'matrix.html'}")
    if has_failed:
        raise typer.Exit(SOME_MISSING)


def _asked(
    judges: Mapping[str, tuple[Asking, Any]], budget: Any, folder: Path, options: Any
) -> tuple[dict[str, Any], bool]:
    """Ask the judges one by one, as far as the budget goes."""
    from judgecard import matrix

    cards: dict[str, Any] = {}
    has_failed = False
    try:
        for name, (asking, options_here) in judges.items():
            budget.price = prices(options_here.price)
            asking.bar = lambda title, quiet: matrix.Meter(title, quiet, budget)
            say(f"{name}:")
            cards[name] = asking.card(quiet=options.quiet)
            failures(asking.outcome)
            has_failed = has_failed or bool(asking.outcome.failures)
            cards[name].write(folder / matrix.folder_of(name))
    except matrix.OverBudget as stop:
        without_card = ", ".join(name for name in judges if name not in cards)
        say(
            f"stopped, {stop}; without a card: {without_card}. What was asked is stored; a "
            "larger budget in the plan goes on"
        )
        has_failed = True
    finally:
        if budget.spent:
            spent = json.dumps({"money": budget.spent})
            files.write_text(folder / _SPENT, f"{spent}\n")
    return cards, has_failed


def _judges(
    options: Any,
    plan: Plan,
    rated_sets: Callable[[Any], Any],
    asking_of: Callable[..., Asking],
) -> Iterator[tuple[str, tuple[Asking, Any]]]:
    """Each judge by its name, with its own options; all of the same rows."""
    data: list[Any] = []
    for prompt, model in product(plan.prompts, plan.models):
        options_here = copy.copy(options)
        options_here.prompt = prompt
        vars(options_here).update(model)
        if plan.budget is not None and not options_here.price:
            raise ValueError(
                f"a budget needs what {options_here.model} costs: price = 'IN,OUT', "
                "of a million prompt and new tokens"
            )
        # the rows are read, and their columns answered, once
        data = data or rated_sets(options_here)
        asking = asking_of(options_here, data)
        yield f"{Path(prompt).stem} / {options_here.model}", (asking, options_here)


def _say_plan(
    judges: Mapping[str, tuple[Asking, Any]], budget: Any, options: Any
) -> None:
    """Say what all judges would be asked and cost, before anything is asked."""
    from nlgeval_lib.scoring import planning

    rows = []
    for name, (asking, options_here) in judges.items():
        asking.check()
        planned = planning.plan(asking.planned(), asking.store)
        totals = planned[list(planning.COUNTS)].sum()
        row = {
            "judge": name,
            "to ask": int(totals["to_ask"]),
            "stored": int(totals["stored"]),
            "prompt tokens": totals["prompt_tokens"],
            "new tokens": totals["new_tokens"],
        }
        price = prices(options_here.price)
        if price is not None:
            price_in, price_out = price
            cost_in = totals["prompt_tokens"] * price_in
            cost_out = totals["new_tokens"] * price_out
            most_out = totals["limit"] * price_out
            row["cost"] = (cost_in + cost_out) / 1e6
            row["at most"] = (cost_in + most_out) / 1e6
        rows.append(row)
    table = pd.DataFrame(rows)
    line = f"{len(table)} judges, {table['to ask'].sum():,} completions to ask"
    if "cost" in table:
        line += f", {table['cost'].sum():.4g} expected"
        line += f", {table['at most'].sum():.4g} at most"
    if budget.money is not None:
        line += f"; budget {budget.money:g}, of which {budget.spent:.4g} are spent"
    if options.dry_run:
        echo([table, line])
    else:
        note(line)
