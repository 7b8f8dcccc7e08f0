"""`nlgeval new-ablation` writes an ablation notebook from the template, and its
entry in the catalogue.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from nlgeval_lib.cli._options import Settings, Several, app, note, option, say
from nlgeval_lib.names import pair

TEMPLATE = "template_ablation"
_OF_MINIATURE = (
    "the miniature judge knows only the wordings that it was trained on. How many of "
    "its answers could be read stands first in the notebook, and a variant with under "
    "90 % is not tested. A judge that takes any prompt: --base-url URL -m NAME, with "
    "--data summeval for real ratings"
)


Name = Annotated[str, typer.Argument(help="The new output's id.", show_default=False)]
Sweeps = Annotated[
    list[str],
    option("--sweep", help="A setting's values (repeatable).", metavar="NAME=A,B,..."),
]
Evaluator = Annotated[
    str, option("--evaluator", "-e", help="By name, as for `nlgeval score`.")
]
Data = Annotated[
    str, option("--data", help="A data set by name; mini: the embedded one.  [mini]")
]
Aspects = Annotated[
    Several,
    option("--aspect", help="Whose ratings count (repeatable); none: the overall's."),
]
Base = Annotated[
    Several,
    option(
        "--base",
        metavar="NAME=VALUE",
        help="The variant to compare with; none: the first.",
    ),
]
Engine = Annotated[
    str,
    option("--engine", help="openai, vllm, transformers or replay.  [transformers]"),
]
Model = Annotated[
    str, option("--model", "-m", help="Who judges.  [mini, the miniature judge]")
]
BaseUrl = Annotated[
    str,
    option("--base-url", "--judge-url", help="The judge's server, to and with /v1."),
]
Plugin = Annotated[
    Several,
    option(help="A Python file with an evaluator or aggregator; it is run."),
]


@app.command()
def new_ablation(
    name: Name,
    sweep: Sweeps,
    evaluator: Evaluator = "",
    data: Data = "mini",
    setting: Settings = None,
    aspect: Aspects = None,
    base: Base = None,
    engine: Engine = "",
    model: Model = "mini",
    base_url: BaseUrl = "",
    plugin: Plugin = None,
) -> None:
    """Write an ablation's notebook and its catalogue entry; `nlgeval run` runs it.

    Every combination of the values is a variant. It is scored on the same items, and
    the notebook shows how well each follows the ratings, paired tests of all pairs with
    Holm's correction, and a figure. `evaluator`, `judge` (a model) and `prompt` can be
    swept as settings are: a prompt is a text file with {output} and more of {source},
    {reference}, {instruction}, {context}, {aspect}, {definition}; `original` is the
    evaluator's own.

    \b
    Examples:
      nlgeval new-ablation my_aspects -e coascore --sweep n=1,3,7 -s variant=average
      nlgeval new-ablation my_parts -e prometheus --sweep rubric=yes,no
      nlgeval new-ablation my_prompt -e llmscore --sweep prompt=original,mine.txt
      nlgeval new-ablation two_prompts --sweep prompt=a.txt,b.txt --data summeval \\
          --base-url http://localhost:8000/v1 -m NAME
      nlgeval new-ablation my_judges -e llmscore --sweep judge=gpt-4o,gpt-4o-mini \\
          --engine openai --data summeval
    """
    plugins = [_portable(path) for path in plugin or ()]
    for file in plugins:
        _run_plugin(file)
    if base_url and model == "mini":
        raise ValueError("--base-url needs the judge's name on that server: -m NAME")
    parameters = {
        "evaluator": evaluator,
        "sweep": _sweeps(sweep),
        "data": data,
        "settings": _settings(setting),
        "aspects": list(aspect or ()),
        "base": _settings(base),
        "engine": engine or ("openai" if base_url else "transformers"),
        "model": model,
        "base_url": base_url,
        "plugins": plugins,
    }
    _make(name, parameters)


def _make(name: str, parameters: dict[str, Any]) -> None:
    """Write the notebook with these parameters, where they can be so, and its entry.

    Raises: ValueError naming what cannot be.
    """
    from reproduction.study import ablations

    evaluator = parameters["evaluator"]
    swept = parameters["sweep"]
    model = parameters["model"]
    variants = ablations.variants(evaluator, swept, parameters["settings"], model)
    inputs = [ablations.check(variants, parameters["data"])]
    _check_base(parameters["base"], variants)
    path, catalogue_path = _free_paths(name)
    title = _title(evaluator, swept)
    entry = _entry(name, inputs, title)
    _write(path, _notebook(name, title, parameters), catalogue_path, entry)
    _print_written(path, len(variants), catalogue_path)
    if model == "mini" and ablations.PROMPT in swept:
        note(_OF_MINIATURE)


def _print_written(path: Path, variants: int, catalogue_path: Path) -> None:
    """Print what was written, and the command that runs it."""
    from reproduction.report.notebook import shown

    typer.echo(
        f"written: {shown(path)}, {variants} variants, and its entry in "
        f"{shown(catalogue_path)}\nnext: nlgeval run {path.stem}"
    )


def _run_plugin(path: str) -> None:
    """Run a plug-in's file, so that what it registers is known."""
    from nlgeval_lib.prompts import prompt_files
    from nlgeval_lib.scoring import named

    say(f"the code of {path} is run")
    named.plugin(str(prompt_files.located(path)))


def _portable(path: str) -> str:
    """A file's path from the repository, where it is in it; else from the root."""
    from nlgeval_lib import files
    from nlgeval_lib.prompts import prompt_files

    place = prompt_files.located(path).resolve()
    root = files.root().resolve()
    return (
        place.relative_to(root).as_posix() if place.is_relative_to(root) else f"{place}"
    )


def _sweeps(texts: list[str]) -> dict[str, list[Any]]:
    """The values of `NAME=A,B,...` texts; prompts' files by their paths."""
    from reproduction.runner import trials
    from reproduction.study import ablations

    swept = {}
    for name, texts_of_values in map(pair, texts):
        if name in swept:
            raise ValueError(f"--sweep {name} is given twice; give all values in one")
        values = trials.values(texts_of_values)
        swept[name] = [_value(text) for text in values]
        if name == ablations.PROMPT:
            swept[name] = [
                text if text == ablations.ORIGINAL else _portable(text)
                for text in values
            ]
    return swept


def _check_base(base: dict[str, Any], variants: Iterable[str]) -> None:
    """Pass where the base is a variant, or none is named. Raises: ValueError."""
    from reproduction.study import ablations

    if base and ablations.label(base) not in variants:
        raise ValueError(
            f"--base {ablations.label(base)!r} is no variant; variants: "
            f"{', '.join(variants)}"
        )


def _settings(texts: Sequence[str] | None) -> dict[str, Any]:
    """The values of `NAME=VALUE` texts."""
    values: dict[str, Any] = {}
    for name, text in map(pair, texts or ()):
        if name in values:
            raise ValueError(f"{name} is given twice; give one of them")
        values[name] = _value(text)
    return values


def _free_paths(name: str) -> tuple[Path, Path]:
    """The paths of the new notebook and of the catalogue.

    Raises: ValueError where the name is no id, or is in use.
    """
    from nlgeval_lib import files
    from reproduction.report.notebook import shown
    from reproduction.study import catalogue

    if not name.replace("_", "").isalnum():
        raise ValueError(
            f"{name!r}: an id is lower-case letters and digits joined by single "
            "underscores"
        )
    folder = files.notebooks()
    path = folder / "ablations" / f"{name}.ipynb"
    catalogue_path = files.committed(folder / "catalogue.toml")
    if path.exists() or name in {entry.id for entry in catalogue.load().outputs}:
        raise ValueError(
            f"there is an output {name!r} already; choose another name, or remove "
            f"{shown(path)} and its entry"
        )
    return path, catalogue_path


def _title(evaluator: str, swept: dict[str, list[Any]]) -> str:
    """The title of the notebook; values that are not in it can change in a run."""
    names = " and ".join(name.replace("_", " ") for name in swept)
    return (
        f"Ablation: the {names} of {evaluator}" if evaluator else f"Ablation: {names}"
    )


def _entry(name: str, inputs: list[str], title: str) -> dict[str, Any]:
    """The entry of the catalogue."""
    from reproduction.study import ablations

    return {
        "id": name,
        "paper": "meta",
        "notebook": f"ablations/{name}.ipynb",
        "route": "mini" if inputs[0] in (ablations.MINI, ablations.OWN) else "run",
        "inputs": inputs,
        "title": title,
    }


def _write(
    path: Path, notebook: str, catalogue_path: Path, entry: dict[str, Any]
) -> None:
    """Write the notebook and its entry; neither, if the catalogue refuses the entry."""
    from nlgeval_lib import files
    from reproduction.study import catalogue

    files.write_text(path, notebook)
    text = catalogue_path.read_text(encoding="utf-8")
    lines = [text.rstrip("\n"), "", "[[output]]"]
    for name, value in entry.items():
        lines.append(f"{name} = {json.dumps(value, ensure_ascii=False)}")
    files.write_text(catalogue_path, "\n".join(lines) + "\n")
    try:
        catalogue.load()
    except ValueError:
        files.write_text(catalogue_path, text)
        path.unlink()
        raise


def _notebook(name: str, title: str, parameters: dict[str, Any]) -> str:
    """The template's notebook with another name, title and parameters."""
    from nlgeval_lib import files

    template = files.notebooks() / f"{TEMPLATE}.ipynb"
    document = json.loads(template.read_text(encoding="utf-8"))
    for cell in document["cells"]:
        source = "".join(cell["source"])
        if "parameters" in cell["metadata"].get("tags", ()):
            source = _with_values(source, parameters)
        elif source.startswith("# Template"):
            source = (
                f"# {title}\n\n**The question.** Which choice follows the ratings "
                "best, and by more than chance?"
            )
        source = source.replace(f'"{TEMPLATE}"', f'"{name}"')
        source = re.sub(r",\s*scratch=True", "", source)
        cell["source"] = source.splitlines(keepends=True)
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _with_values(source: str, parameters: dict[str, Any]) -> str:
    """The cell of the parameters, with these values in it."""
    lines = []
    for line in source.splitlines():
        code, _, comment = line.partition("  # ")
        name = code.partition("=")[0].partition(":")[0].strip()
        if name in parameters:
            target = code.partition(" = ")[0]
            line = f"{target} = {parameters[name]!r}  # {comment}"
        lines.append(line)
    return "\n".join(lines)


def _value(text: str) -> Any:
    """The Python literal of a text; the text itself where it is none."""
    from reproduction.report.notebook import NO_LITERAL

    try:
        return ast.literal_eval(text)
    except NO_LITERAL:
        return text
