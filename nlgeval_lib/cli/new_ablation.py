"""`nlgeval new-ablation` writes an ablation notebook from the template, and its entry in the catalogue."""

from __future__ import annotations

import ast
import json
from typing import Annotated, Any

import typer

from nlgeval_lib.cli._options import Settings, Several, app, option
from nlgeval_lib.names import pair

TEMPLATE = "template_ablation"


@app.command()
def new_ablation(
    name: Annotated[str, typer.Argument(help="The new output's id.", show_default=False)],
    sweep: Annotated[list[str], option("--sweep", help="A setting's values (repeatable).", metavar="NAME=A,B,...")],
    evaluator: Annotated[str, option("--evaluator", "-e", help="By name, as for `nlgeval score`.")] = "",
    data: Annotated[str, option("--data", help="A data set by name; mini: the embedded one.  [mini]")] = "mini",
    setting: Settings = None,
    aspect: Annotated[
        Several, option("--aspect", help="Whose ratings count (repeatable); none: the overall's.")
    ] = None,
    base: Annotated[
        Several, option("--base", metavar="NAME=VALUE", help="The variant to compare with; none: the first.")
    ] = None,
    engine: Annotated[
        str, option("--engine", help="openai, vllm, transformers or replay.  [transformers]")
    ] = "transformers",
    model: Annotated[str, option("--model", "-m", help="Who judges.  [mini, the miniature judge]")] = "mini",
) -> None:
    """Write the notebook of an ablation and its entry in the catalogue; `nlgeval run NAME` runs it.

    Every combination of the values is a variant. It is scored on the same items, and the notebook shows how well each
    follows the ratings, a paired test against the base with Holm's correction, and a figure. `evaluator` and `judge` (a
    model) can be swept as settings are.

    \b
    Examples:
      nlgeval new-ablation my_aspects -e coascore --sweep n=1,3,7 -s variant=average
      nlgeval new-ablation my_prompts -e prometheus --sweep rubric=yes,no --sweep reference=yes,no --aspect fluency
      nlgeval new-ablation my_judges -e llmscore --sweep judge=gpt-4o,gpt-4o-mini --engine openai --data summeval
    """
    from nlgeval_lib import files
    from nlgeval_lib.report.notebook import shown
    from nlgeval_lib.runner import trials
    from nlgeval_lib.study import ablations, catalogue

    swept = {key: [_value(text) for text in trials.values(texts)] for key, texts in map(pair, sweep)}
    fixed, first = ({key: _value(text) for key, text in map(pair, texts or ())} for texts in (setting, base))
    made = ablations.variants(evaluator, swept, fixed, model)
    inputs = [ablations.check(made, data)]
    if first and ablations.label(first) not in made:
        raise ValueError(f"--base {ablations.label(first)!r} is no variant; variants: {', '.join(made)}")
    if not name.replace("_", "").isalnum():
        raise ValueError(f"{name!r}: an id is lower-case letters and digits joined by single underscores")
    folder = files.notebooks()
    path, listed = folder / "ablations" / f"{name}.ipynb", files.committed(folder / "catalogue.toml")
    if path.exists() or name in {entry.id for entry in catalogue.load().outputs}:
        raise ValueError(
            f"there is an output {name!r} already; choose another name, or remove {shown(path)} and its entry"
        )
    title = f"Ablation: {evaluator or 'evaluators'}, " + "; ".join(
        f"{k} = {', '.join(map(str, v))}" for k, v in swept.items()
    )
    route = "mini" if inputs[0] in (ablations.MINI, ablations.OWN) else "run"
    entry = {"id": name, "paper": "meta", "notebook": f"ablations/{name}.ipynb", "route": route, "inputs": inputs}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in {**entry, "title": title}.items()]
    given = {"evaluator": evaluator, "sweep": swept, "data": data, "settings": fixed}
    given |= {"aspects": list(aspect or ()), "base": first, "engine": engine, "model": model}
    files.write_text(path, _notebook((folder / f"{TEMPLATE}.ipynb").read_text(encoding="utf-8"), name, title, given))
    before = listed.read_text(encoding="utf-8")
    files.write_text(listed, before.rstrip("\n") + "\n\n[[output]]\n" + "\n".join(lines) + "\n")
    try:
        catalogue.load()
    except ValueError:
        files.write_text(listed, before)
        path.unlink()
        raise
    typer.echo(
        f"written: {shown(path)}, {len(made)} variants, and its entry in {shown(listed)}\nnext: nlgeval run {name}"
    )


def _notebook(template: str, name: str, title: str, given: dict[str, Any]) -> str:
    document = json.loads(template)
    for cell in document["cells"]:
        source = "".join(cell["source"])
        if "parameters" in cell["metadata"].get("tags", ()):
            lines = []
            for line in source.splitlines():
                head, _, comment = line.partition("  # ")
                key = head.partition("=")[0].partition(":")[0].strip()
                lines.append(f"{head.partition(' = ')[0]} = {given[key]!r}  # {comment}" if key in given else line)
            source = "\n".join(lines)
        elif source.startswith("# Template"):
            source = f"# {title}\n\n**The question.** Which choice follows the ratings best, and by more than chance?"
        source = source.replace(f'"{TEMPLATE}"', f'"{name}"').replace(", scratch=True", "")
        cell["source"] = source.splitlines(keepends=True)
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
