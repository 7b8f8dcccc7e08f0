"""`nlgeval card`: may I trust this judge, for what, and how far?"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judgecard.cli._config import CardGroup, Config, Matrix, check_files, said
from judgecard.cli._rated import Rated, scale_of
from nlgeval_lib.cli._options import (
    SOME_MISSING,
    Planning,
    Settings,
    Several,
    app,
    command,
    echo,
    failures,
    note,
    option,
    prices,
    run_plugins,
    say,
)

if TYPE_CHECKING:
    from judgecard import Card
    from judgecard.asked import Asking, Design
    from judgecard.paired import Paired
    from nlgeval_lib.scoring.rows import Rows

group = typer.Typer(rich_markup_mode=None, cls=CardGroup)
app.add_typer(group, name="card")


class _Itself:
    """Where the options of `card` itself go, beside its subcommands."""

    @staticmethod
    def command(name: str, help: str) -> Any:
        """The decorator that makes a function what `card` without a subcommand runs."""

        def add(function: Any) -> None:
            def run(context: typer.Context, **values: Any) -> None:
                if context.invoked_subcommand is None:
                    function(**values)

            own = inspect.Parameter(
                "context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context
            )
            parameters = inspect.signature(function).parameters.values()
            run.__signature__ = inspect.Signature([own, *parameters])  # type: ignore[attr-defined]
            types = {**function.__annotations__, "context": typer.Context}
            run.__annotations__ = types
            group.callback(invoke_without_command=True, help=help)(run)

        return add


class AskedJudge(Rated, Planning):
    """A judge that is asked, and the rated rows that it is asked about."""

    config: Config = ""
    prompt: str = option(
        "", help="A prompt in a text file, with {output}, {source}, {aspect}, ..."
    )
    evaluator: str = option(
        "", "--evaluator", "-e", help="In its place: an evaluator by its name."
    )
    judge: str = option(
        "",
        help="Who is asked, run here: a judge of `nlgeval models`, by vLLM where it "
        "is installed, else by transformers; mini is the miniature one.",
    )
    data: Several = option(
        None, help="A data set by name (repeatable); see `nlgeval data`."
    )
    input: str = option(
        "", "--input", "-i", help="Rated rows of your own: CSV, JSONL, ..."
    )
    set: Settings = None
    rubric: str = option("", help="A rubric for all rows (prometheus).")
    plugin: Several = option(
        None, help="A Python file with evaluators; its code is run."
    )
    aspect: str = option("", help="Only this aspect of the sets.")
    seed: int = typer.Option(0, min=0, help="The seed of the sample.")


class Judging(AskedJudge):
    """The options of `card`."""

    scores: str = option(
        "", help="In its place: a file of scores that were made elsewhere."
    )
    matrix: Matrix = ""
    demo: bool = typer.Option(
        False, "--demo", help="Recorded GPT-4o on SummEval: no key, no network."
    )
    fresh: bool = typer.Option(
        False, "--fresh", help="With --demo: compute it, with all figures."
    )
    score: str = typer.Option("value", help="The column of --scores.")
    items: int | None = option(
        None, min=3, help="About so many outputs a set, whole inputs, by --seed."
    )
    repeat: int = typer.Option(1, min=1, help="How often each judgment is asked.")
    probes: bool = typer.Option(
        False, "--probes", help="Ask about changed outputs too (see the page)."
    )
    output: str = typer.Option("card", "--output", "-o", help="The folder of the card.")


@command("card", _Itself)  # type: ignore[arg-type]
def card(options: Judging) -> None:
    """Make the card of a judge: how it follows people, beside others, where it fails.

    The folder gets card.html (open it), card.md, card.json, scores.csv and figures. The
    verdict follows from rules that the page lists; card.toml makes the card again. What
    is asked is stored: the same command goes on where it was stopped, and asks nothing
    twice; --dry-run says what it would take.

    \b
    Examples:
      nlgeval card --demo
      nlgeval card --scores scores.csv --data summeval --scale 1-5
      nlgeval card --prompt mine.txt --scale 1-5 -i mine.csv --judge qwen2.5-coder-1.5b
      nlgeval card --prompt mine.txt --scale 1-5 --data summeval --items 300 \\
          --repeat 3 --probes --engine openai --base-url http://host:8000/v1 -m NAME
      nlgeval card --prompt mine.txt --scale 1-10 -i mine.csv --map output=answer \\
          --map 'rater_*=rating_*' --missing-values 99 --engine openai -m NAME
      nlgeval card --config card/card.toml
      nlgeval card --matrix plan.toml --dry-run
      nlgeval card compare before/card.json after/card.json
      nlgeval card beside card/card.json
      nlgeval card share card/card.json
      nlgeval card badge card/card.json
      nlgeval card watch kept --prompt mine.txt --scale 1-5 -i mine.csv --judge NAME
      nlgeval card gate card/card.json 'summeval.coherence.kendall.low >= .3'
    """
    import judgecard as cards
    from nlgeval_lib import files

    check_files(options.config, options.matrix)
    if Path(options.output).exists() and not Path(options.output).is_dir():
        raise ValueError(f"{options.output} is a file; name a folder for the card")
    if options.matrix:
        from judgecard.cli import _matrix

        _matrix.run(options, rated_sets, _judge_of)
        return
    _check_judge(options)
    if options.demo and not options.fresh:
        from judgecard import saved

        numbers = saved.demo()
        _say_card(numbers, saved.write(numbers, options.output), options.output)
        note(
            "by the numbers that are saved of it; --demo --fresh computes them, and "
            "adds scores.csv, the figures and the worst disagreements"
        )
        return
    if options.demo:
        result = cards.demo()
    elif options.scores:
        result = _of_scores(options)
    else:
        run = _judge_of(options, rated_sets(options))
        if options.dry_run:
            run.check()
            options.plan(f"{run.name}, ", run.planned(), run.engine, run.store)
            return
        files.check(Path(options.output, "card.json"))
        result = run.card(quiet=options.quiet)
        failures(run.outcome)
    _write(result, options)


def _write(result: Card, options: Judging) -> None:
    """Write a card with what made it, and say its verdict."""
    from judgecard import config_files

    _say_of_sets(result)
    if options.plans:
        result = replace(result, numbers={**result.numbers, "columns": options.plans})
    written = result.write(options.output)
    written.append(config_files.write(options.output, said(options)))
    _say_card(result.numbers, written, options.output)
    for numbers in result.numbers["sets"].values():
        counts = numbers["coverage"]["statuses"]
        if counts.get("failed") or not _scored(counts):
            raise typer.Exit(SOME_MISSING)


def _say_card(numbers: Any, written: Sequence[Path], folder: str) -> None:
    typer.echo(numbers["verdict"]["sentence"])
    typer.echo(f"written: {', '.join(path.name for path in written)}")
    typer.echo(f"open {Path(folder) / 'card.html'}")


def _say_of_sets(result: Card) -> None:
    """Say what is to be known of a card's sets before it is written."""
    for name, numbers in result.numbers["sets"].items():
        counts = numbers["coverage"]["statuses"]
        if counts.get("out_of_range"):
            note(
                f"{counts['out_of_range']} scores of {name} are off --scale and count "
                "as missing (out_of_range); with another --scale what is answered is "
                "read again, and not asked"
            )
        for aspect, measured in numbers.get("aspects", {}).items():
            kendall = measured.get("dataset", {}).get("kendall", {})
            value, high = kendall.get("value"), kendall.get("high")
            # a value of -1 has no interval
            if value is not None and value < 0 and (high is None or high < 0):
                note(
                    f"{name}, {aspect}: it orders outputs the other way round than "
                    "people do; where less is better, --reverse COLUMN"
                )
        if counts.get("failed") and _scored(counts) < 3:
            say(f"error: no card is made: of {name} {counts['failed']} requests failed")
            raise typer.Exit(SOME_MISSING)


def _scored(counts: Mapping[str, int]) -> int:
    """How many judgments have a score or a verdict, of those by status."""
    return counts.get("ok", 0) + counts.get("verdicts", 0)


def _check_judge(options: Judging) -> None:
    judges = {
        "--prompt": options.prompt,
        "--evaluator": options.evaluator,
        "--scores": options.scores,
        "--demo": options.demo,
    }
    chosen = [name for name, value in judges.items() if value]
    if len(chosen) != 1:
        raise ValueError(
            f"which judge? Give one of {', '.join(judges)}"
            + (f", not {' and '.join(chosen)}" if chosen else "")
        )
    if options.fresh and not options.demo:
        raise ValueError("--fresh computes the card of --demo; every other one is new")


def _of_scores(options: Judging) -> Card:
    """The card of a file of scores, beside a data set, a file or its own ratings."""
    import judgecard as cards
    from judgecard import judged

    names = options.data or []
    if len(names) + bool(options.input) > 1:
        raise ValueError("--scores are of one set of rows; give one --data, or -i")
    rows = options.read(
        options.scores, format=options.input_format, named=[options.score]
    )
    score = rows.ours(options.score)
    if score not in rows.theirs:
        raise ValueError(f"--score {rows.lacks(score)}")
    data = options.rated(rows, [score], ["human"], on_scale=False)
    scores = data.frame.reset_index(drop=True)
    rated: Any
    if names:
        rated = names[0]
    elif options.input:
        rated = judged.of_rows(_own_rows(options)).frame
    else:
        rated = scores = judged.of_rows(data).frame
    return cards.of_scores(
        scores,
        rated,
        column=score,
        called=options.score,
        scale=scale_of(options.scale),
        human_scale=scale_of(options.human_scale, "--human-scale"),
    )


def _own_rows(options: AskedJudge, rows: Rows | None = None) -> Rows:
    from judgecard import label_sheets

    needs = ["output", "human"]
    rows = options.proposed(options.input, needs, rows, format=options.input_format)
    data = options.rated(rows, [], ["human"])
    note(label_sheets.unequal(data.frame))
    if options.sheet:
        # who drew rows to be rated wants the judge to be asked about no other
        data = data.take(data.frame["human"].notna().to_numpy())
    return data


def _are_pairs(options: AskedJudge, rows: Rows) -> bool:
    """Whether the judge compares two outputs, or the rows of the file are pairs."""
    from judgecard.pair_judges import OUTPUTS
    from nlgeval_lib.prompts import prompt_files

    if options.evaluator == "preference":
        return True
    if options.prompt and prompt_files.read(options.prompt).of_pairs:
        return True
    return {*OUTPUTS} <= {*rows.theirs}


def _own_pairs(options: AskedJudge, rows: Rows) -> Paired:
    from judgecard import pair_judges, paired

    rows = options.proposed(
        options.input, pair_judges.NEEDED, rows, format=options.input_format
    )
    verdicts = rows.only(lambda name: name == "preference")
    note(pair_judges.code_of(verdicts, ["preference"]))
    return paired.of_rows(rows)


def _judge_of(options: Judging, data: Sequence[Any]) -> Asking:
    from judgecard.asked import Design

    design = Design(
        items=options.items,
        seed=options.seed,
        repeat=options.repeat,
        probes=options.probes,
        price=prices(options.price),
    )
    return asking(options, data, design)


def rated_sets(options: AskedJudge) -> list[Any]:
    """The sets that a judge is to be asked about; ValueError naming all that is
    lacking.
    """
    from judgecard import asked
    from judgecard.judged import of_aspect, of_rows, with_human_scale
    from nlgeval_lib.scoring.cells import InputError

    scale_of(options.scale)
    _take_local_judge(options)
    run_plugins(options.plugin)
    lacking = _lacking(options)
    data: list[Any] = [asked.load(name) for name in options.data or ()]
    if options.input:
        human_scale = scale_of(options.human_scale, "--human-scale")
        try:
            rows = options.chosen(options.input, format=options.input_format)
            if _are_pairs(options, rows):
                data.append(_own_pairs(options, rows))
            else:
                rated = of_rows(_own_rows(options, rows))
                data.append(with_human_scale(rated, human_scale))
        except InputError as error:
            lacking.append(str(error))
    if lacking:
        raise ValueError("; ".join(lacking))
    if options.aspect:
        data = [of_aspect(data_set, options.aspect) for data_set in data]
    return data


def asking(options: AskedJudge, data: Sequence[Any], design: Design) -> Asking:
    """The judge that the options name, with its rows; nothing is asked yet."""
    from judgecard import asked

    _take_local_judge(options)
    return asked.named(
        options.evaluator,
        options.set or (),
        data,
        options.choice(),
        design,
        prompt=options.prompt,
        rubric=options.rubric,
        scale=scale_of(options.scale),
    )


def _take_local_judge(options: AskedJudge) -> None:
    """Take `--judge`, where it is given, as the engine and the model."""
    from nlgeval_lib.scoring.named import local_judge

    if not options.judge:
        return
    flags = {
        "--engine": options.engine,
        "--model": options.model,
        "--base-url": options.base_url,
    }
    stated = [name for name, value in flags.items() if value]
    if stated:
        raise ValueError(
            f"--judge says who is asked, and so does {stated[0]}; leave one out"
        )
    options.engine, options.model = local_judge(options.judge)
    options.judge = ""


def _lacking(options: AskedJudge) -> list[str]:
    """What a card that asks a judge needs and the options do not say."""
    lacking = []
    if not options.data and not options.input:
        lacking.append(
            "which rows? Give --data summeval, or a file of your own with ratings: -i"
        )
    if options.prompt and not options.engine:
        lacking.append("who is asked? Give --judge, or --engine and --model")
    elif options.engine and not options.model:
        lacking.append(f"engine {options.engine} needs a model: --model")
    if options.prompt and not options.scale and Path(options.prompt).is_file():
        from nlgeval_lib.prompts import prompt_files

        if not prompt_files.read(options.prompt).of_pairs:
            lacking.append(
                "a prompt that rates needs the lowest and the highest score: --scale 1-5"
            )
    return lacking


class Comparing(Rated):
    """The options of `card compare`."""

    first: Annotated[str, typer.Argument(help="The judge as it was: a card, or a log.")]
    second: Annotated[str, typer.Argument(help="The new one.")]
    score: str = typer.Option("value", help="Of logs, the column of scores.")


@command("compare", group)
def compare(options: Comparing) -> None:
    """Say whether the second judge follows the ratings better than the first.

    Paired on the rows that both scored, by the test of `nlgeval meta`, with the
    interval of the gain. Each is a card.json, its folder, or a file with scores and
    ratings.

    \b
    Examples:
      nlgeval card compare before/card.json after/card.json
      nlgeval card compare before.csv after.csv --score value --map human=rating
    """
    import judgecard as cards

    first, second = (_side(options, path) for path in (options.first, options.second))
    echo([cards.compared(first, second)])


def _side(options: Comparing, path: str) -> Card:
    """A card, or the rows of a log as one that has them alone."""
    import judgecard as cards
    from judgecard import judged

    if Path(path).is_dir() or Path(path).name == "card.json":
        return cards.read(path)
    rows = options.read(path, format=options.input_format, named=[options.score])
    score = rows.ours(options.score)
    data = options.rated(rows, [score], ["human"])
    scored = replace(judged.of_rows(data), name="log")
    frame = scored.frame.rename(columns={score: "value"})
    numbers = {"sets": {"log": {"kind": "graded"}}}
    return cards.Card(numbers, (replace(scored, frame=frame),))


@group.command("beside")
def beside(
    cards: Annotated[
        list[str],
        typer.Argument(help="A card.json, or a folder of cards (repeatable)."),
    ],
) -> None:
    """Show where cards stand among the recorded judges of the same sets.

    The recorded judges are those of results/judges.md: tau-b over all outputs, or the
    accuracy of pairs, best first.

    \b
    Example:
      nlgeval card beside card/card.json
    """
    from judgecard import standing

    read = standing.read_all(cards)
    if not read:
        raise ValueError(f"no card in {', '.join(cards)}; a card.json is needed")
    echo([standing.among_recorded(read)])


@group.command("share")
def share(
    card: Annotated[str, typer.Argument(help="A card.json, or its folder.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="The page.")
    ] = "shared_card.html",
) -> None:
    """Write the card as one HTML file of less than a megabyte, to send.

    It has the numbers, the rules and the figures, fetches nothing and runs nothing; the
    outputs' texts are not in it.

    \b
    Example:
      nlgeval card share card/card.json -o judge.html
    """
    import judgecard as cards
    from judgecard import sharing
    from nlgeval_lib import files

    content = sharing.one_file(cards.read(card))
    files.write_all({Path(output): content})
    typer.echo(f"written: {output}, {len(content):,} bytes")


@group.command("badge")
def badge(
    card: Annotated[str, typer.Argument(help="A card.json, or its folder.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="The folder of the two files.")
    ] = ".",
) -> None:
    """Write a badge for a README: badge.svg, and badge.json for shields.io.

    It says for how many aspects the judge is proved to follow people, of how many, and
    for how many it must not be used.

    \b
    Example:
      nlgeval card badge card/card.json -o docs
    """
    import json

    import judgecard as cards
    from judgecard import sharing
    from nlgeval_lib import files

    numbers = cards.read(card).numbers
    folder = Path(output)
    for_shields = json.dumps(sharing.badge(numbers), indent=1) + "\n"
    picture = sharing.badge_svg(numbers)
    files.write_text(folder / "badge.svg", picture)
    files.write_text(folder / "badge.json", for_shields)
    typer.echo(sharing.markdown((folder / "badge.svg").as_posix(), numbers))


@group.command("gate")
def gate(
    card: Annotated[str, typer.Argument(help="A card.json.")],
    condition: Annotated[
        list[str] | None, typer.Argument(help="PATH OPERATOR NUMBER (repeatable).")
    ] = None,
    bar: Annotated[str, option(help="The card that set the bar.")] = "",
    allow: Annotated[
        list[str] | None,
        option(metavar="FIELD", help="What may differ from it (repeatable)."),
    ] = None,
) -> None:
    """Exit with 0 where all conditions hold on a card, else with 1; for CI.

    A path goes through card.json from the set's name on: set, aspect, level ("dataset"
    where none is named), coefficient, `value`, `low` or `high`. A number that is
    missing fulfils no condition; a path that leads nowhere is an error (2).

    With --bar another model, prompt, rubric, settings or data is an error (2) unless
    it is allowed, and a judge that follows the ratings worse than it did fails (1).

    \b
    Examples:
      nlgeval card gate card/card.json 'summeval.coherence.kendall.low >= .3'
      nlgeval card gate card/card.json 'summeval.coherence.system.kendall.low > 0' \\
          'summeval.coverage.value >= .99'
      nlgeval card gate after/card.json --bar before/card.json --allow prompt
    """
    import judgecard as cards
    from judgecard.told import tell

    if not condition and not bar:
        raise ValueError("what must hold? Give a condition, or --bar CARD")
    if allow and not bar:
        raise ValueError("--allow says what may differ from --bar CARD")
    result = cards.read(card)
    fails = False
    for text in condition or ():
        answer = tell(text, result.numbers)
        fails = fails or not answer.holds
        typer.echo(f"{'holds' if answer.holds else 'FAILS'}  {answer.words}")
    if bar and _is_worse(cards.read(bar), result, allow or (), bool(condition)):
        typer.echo("FAILS  it follows the ratings worse than the card that set the bar")
        fails = True
    if fails:
        raise typer.Exit(SOME_MISSING)


def _is_worse(
    bar: Card, current: Card, allowed: Sequence[str], has_conditions: bool
) -> bool:
    """Whether a card is worse than the one that set the bar, pair by pair; said."""
    import judgecard as cards
    from judgecard import fingerprint

    for line in fingerprint.check_same(bar.numbers, current.numbers, allowed):
        note(line)
    if not bar.judged or not current.judged:
        told = "a card without scores.csv beside it is not compared pair by pair"
        if not has_conditions:
            raise ValueError(f"{told}, and no condition is given: nothing is gated")
        note(told)
        return False
    table = cards.compared(bar, current)
    echo([table])
    return bool((table["verdict"] == "worse").any())
