"""`nlgeval new-ablation` writes an ablation notebook of one's own from the template."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

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
    str,
    option(
        "--data",
        help="A data set by name, or a file of rated rows; mini: the embedded one.  "
        "[mini]",
    ),
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
Columns = Annotated[
    Several,
    option("--map", metavar="OURS=THEIRS", help="A file's column (repeatable)."),
]
Level = Annotated[
    Literal["dataset", "input", "system"],
    option("--level", help="Of the correlations.  [dataset]"),
]
Plugin = Annotated[
    Several, option(help="A Python file with an evaluator or aggregator; it is run.")
]


@app.command()
def new_ablation(
    name: Name,
    sweep: Sweeps,
    evaluator: Evaluator = "",
    data: Data = "mini",
    map: Columns = None,
    setting: Settings = None,
    aspect: Aspects = None,
    base: Base = None,
    level: Level = "dataset",
    engine: Engine = "",
    model: Model = "mini",
    base_url: BaseUrl = "",
    plugin: Plugin = None,
) -> None:
    """Write an ablation's notebook, notebooks/private/NAME.ipynb; `nlgeval run NAME`
    runs it. Git ignores it, its results and its page.

    Every combination of the values is a variant. It is scored on the same items, and
    the notebook shows how well each follows the ratings, paired tests of all pairs with
    Holm's correction, and a figure. `evaluator`, `judge` (a model) and `prompt` can be
    swept as settings are: a prompt is a text file with {output} and more of {source},
    {reference}, {instruction}, {context}, {aspect}, {definition}; `original` is the
    evaluator's own.

    \b
    Examples:
      nlgeval new-ablation my_aspects -e coascore --sweep n=1,3,7 -s variant=average
      nlgeval new-ablation my_prompt -e llmscore --sweep prompt=original,mine.txt
      nlgeval new-ablation my_list -e coascore --sweep aspects=none,@list.json
      nlgeval new-ablation my_rows -e rouge --sweep type=rouge1,rougeL --data rows.csv
      nlgeval new-ablation two_prompts --sweep prompt=a.txt,b.txt --data summeval \\
          --base-url http://localhost:8000/v1 -m NAME
    """
    parameters = {
        "evaluator": evaluator,
        "sweep": _sweeps(sweep),
        "data": _data(data, map or ()),
        "columns": list(map or ()),
        "settings": _settings(setting),
        "aspects": list(aspect or ()),
        "base": _settings(base),
        "level": level,
        "engine": engine or _engine(base_url, model),
        "model": model,
        "base_url": base_url,
        "plugins": _plugins(plugin or ()),
    }
    _make(name, parameters)


def _make(name: str, parameters: dict[str, Any]) -> None:
    """Write the notebook with these parameters, where they can be so."""
    from nlgeval_lib import datasets, files
    from reproduction.report.notebook import shown
    from reproduction.study import ablations

    evaluator = parameters["evaluator"]
    swept = parameters["sweep"]
    model = parameters["model"]
    variants = ablations.variants(evaluator, swept, parameters["settings"], model)
    data = ablations.check(variants, parameters["data"])
    base = parameters["base"]
    if base and ablations.label(base) not in variants:
        raise ValueError(
            f"--base {ablations.label(base)!r} is no variant; variants: "
            f"{', '.join(variants)}"
        )
    path = _free_path(name)
    title = "Ablation: " + " and ".join(name.replace("_", " ") for name in swept)
    if evaluator:
        title = f"{title.replace(': ', ': the ', 1)} of {evaluator}"
    entry = {
        "route": "mini" if data in (ablations.MINI, ablations.OWN) else "run",
        "inputs": [data] if datasets.has(data) else [],
        "title": title,
    }
    files.write_text(path, _notebook(name, entry, parameters))
    typer.echo(
        f"written: {shown(path)}, {len(variants)} variants\nnext: nlgeval run {name}"
    )
    if model == "mini" and ablations.PROMPT in swept:
        note(_OF_MINIATURE)


def _data(name: str, columns: Sequence[str]) -> str:
    """A data set's name as it is; a file of rows by its path, and a note of how it is
    read.
    """
    from nlgeval_lib import datasets
    from nlgeval_lib.scoring import chosen_rows
    from reproduction.study import ablations

    if datasets.has(name) or not Path(name).is_file():
        return name
    note(chosen_rows(name, mapping=columns).in_words())
    ablations.all_rows(name, columns)
    return _portable(name)


def _engine(base_url: str, model: str) -> str:
    """The engine where none is named. Raises: ValueError for a server's judge without a
    name.
    """
    if base_url and model == "mini":
        raise ValueError("--base-url needs the judge's name on that server: -m NAME")
    return "openai" if base_url else "transformers"


def _plugins(paths: Sequence[str]) -> list[str]:
    """The paths of plug-ins, whose files are run: what they register is known then."""
    from nlgeval_lib.prompts import prompt_files
    from nlgeval_lib.scoring import named

    plugins = [_portable(path) for path in paths]
    for path in plugins:
        say(f"the code of {path} is run")
        named.plugin(str(prompt_files.located(path)))
    return plugins


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
    """The values of `NAME=A,B,...` texts; files by their paths."""
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


def _settings(texts: Sequence[str] | None) -> dict[str, Any]:
    """The values of `NAME=VALUE` texts."""
    values: dict[str, Any] = {}
    for name, text in map(pair, texts or ()):
        if name in values:
            raise ValueError(f"{name} is given twice; give one of them")
        values[name] = _value(text)
    return values


def _free_path(name: str) -> Path:
    """The path of the new notebook. Raises: ValueError for a name that is no id, or is in
    use.
    """
    from nlgeval_lib import files
    from reproduction.report.notebook import shown
    from reproduction.study import catalogue

    if not catalogue.ID.fullmatch(name):
        raise ValueError(
            f"{name!r}: an id is lower-case letters and digits joined by single "
            "underscores"
        )
    path = files.notebooks() / catalogue.PRIVATE / f"{name}.ipynb"
    listed = catalogue.load()
    entries = {entry.id: entry for entry in (*listed.outputs, *listed.private)}
    if name in entries or path.exists():
        place = entries[name].path if name in entries else path
        raise ValueError(
            f"there is an output {name!r} already: choose another name, or remove "
            f"{shown(place)}"
        )
    return path


def _notebook(name: str, entry: dict[str, Any], parameters: dict[str, Any]) -> str:
    """The template's notebook with another name, title and parameters; its entry of the
    catalogue stands in its metadata.
    """
    from nlgeval_lib import files
    from reproduction.study import catalogue

    template = files.notebooks() / f"{TEMPLATE}.ipynb"
    document = json.loads(template.read_text(encoding="utf-8"))
    for cell in document["cells"]:
        source = "".join(cell["source"])
        if "parameters" in cell["metadata"].get("tags", ()):
            source = _with_values(source, parameters)
        elif source.startswith("# Template"):
            source = (
                f"# {entry['title']}\n\n**The question.** Which choice follows the "
                "ratings best, and by more than chance?"
            )
        source = source.replace(f'"{TEMPLATE}"', f'"{name}"')
        source = re.sub(r",\s*scratch=True", "", source)
        cell["source"] = source.splitlines(keepends=True)
    document["metadata"][catalogue.METADATA] = entry
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
    """The Python literal of a text; the text itself where it is none. Of `@FILE` the
    path holds from anywhere.
    """
    from reproduction.report.notebook import NO_LITERAL

    try:
        return ast.literal_eval(text)
    except NO_LITERAL:
        from reproduction.study import ablations

        return f"@{_portable(text[1:])}" if ablations.is_read_from(text) else text
