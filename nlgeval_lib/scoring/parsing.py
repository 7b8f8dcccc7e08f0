"""A parser over many texts: what it reads, by which rule, and what it leaves.

`parser` gives a parser by its name; `texts` (of a file) and `stored` (of a store) give
the texts; `readings` is what is read of them, a row a text; `in_words` and `examples`
say it to people.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pandas as pd

from nlgeval_lib import parsers
from nlgeval_lib.names import meant
from nlgeval_lib.parsers.text import Parsed
from nlgeval_lib.scoring import named, rows, table_files
from nlgeval_lib.scoring.cells import InputError
from nlgeval_lib.scoring.rows import Rows
from nlgeval_lib.scoring.settings import parsed
from nlgeval_lib.scoring.table_files import STDIN

# The columns that a file's texts are looked for in, the first that is there.
COLUMNS = ("text", "completion", "output", "response", "answer")
# what every parser's result has
_SHARED = ("value", "status", "reason", "rule")
_PARSERS = (
    parsers.rating,
    parsers.feedback,
    parsers.error_analysis,
    parsers.instructscore,
    parsers.tigerscore_authors,
    parsers.aspects,
    parsers.aspect_scores,
    parsers.criteria,
    parsers.preference,
    parsers.yes_no,
    parsers.multiple_choice,
    parsers.naive.first_number,
    parsers.naive.last_number,
)
# the parsers by the names of their functions
PARSERS: dict[str, Callable[..., Parsed]] = {
    function.__name__: function for function in _PARSERS
}


def parser(name: str, settings: Iterable[str] = ()) -> functools.partial[Parsed]:
    """A parser by its name, with its settings as `name=value` texts: a function of one
    text.

    Raises: InputError naming the setting, or the parsers that there are.
    """
    if name not in PARSERS:
        raise InputError(
            f"no parser {name!r}{meant(name, PARSERS, '.')} There are "
            f"{', '.join(PARSERS)}"
        )
    function = PARSERS[name]
    arguments = parsed(function, settings, f"parser {name}", given={})
    # One text tells whether the settings fit, before many are read.
    try:
        function("4", **arguments)
    except (ValueError, TypeError) as error:
        raise InputError(f"parser {name}: {error}") from error
    return functools.partial(function, **arguments)


def texts(
    path: str, format: str = "", column: str = "", delimiter: str = ""
) -> tuple[Rows, str]:
    """The texts of a file as rows, and the column that they are in.

    path: of the file; "-" for standard input.
    format: one of `table_files.FORMATS`, "text" (the file is one text) or "lines" (a
    text a line). Without one, a file ending in .txt, and standard input, is one text;
    other files are tables, as their names say.
    column: of a table's texts; "" for the first of COLUMNS that is there.
    delimiter: between fields of CSV, where it is no comma.
    Raises: InputError.
    """
    plain = format in ("text", "lines")
    if not format:
        plain = path == STDIN or Path(path).suffix.lower() == ".txt"
    if plain:
        if column:
            raise InputError("--column is for tables; this is plain text")
        content = table_files.plain_text(path)
        lines = content.splitlines() if format == "lines" else [content]
        frame = pd.DataFrame({"text": lines})
        return rows.of_frame(frame, table_files.called(path)).whole(), "text"
    table = rows.read(path, format, delimiter)
    if column and column not in table.columns:
        raise InputError(f"--column {table.lacks(column)}")
    usual = [name for name in COLUMNS if name in table.columns]
    if not column and not usual:
        raise InputError(
            f"{table.name}: which column has the texts? Give --column; columns: "
            f"{', '.join(table.columns)}"
        )
    column = column or usual[0]
    for row, value in table.given[column].items():
        if value is not None and not isinstance(value, str):
            place = table.place(str(row), column)
            raise InputError(f"{place}: {type(value).__name__} where a text is needed")
    return table, column


def stored(folder: str, model: str = "") -> tuple[Rows, str]:
    """The texts of a store's folder as rows, in the order in which they were stored;
    and their column, "text". model: whose texts; "" for all models.

    Raises: InputError where there are none, naming the models that the store has.
    """
    store = named.store(folder)
    completions = []
    models = set()
    for completion in store.get_many(store).values():
        models.add(completion.model)
        if model in ("", completion.model):
            completions.append(completion)
    if not completions:
        of_model = f" of {model!r}" if model else ""
        present = ", ".join(sorted(models)) or "no completions"
        raise InputError(f"the store {folder} has nothing{of_model}; it has {present}")
    columns = {}
    for name in ("key", "model", "revision", "text"):
        columns[name] = [getattr(completion, name) for completion in completions]
    return rows.of_frame(pd.DataFrame(columns), folder).whole(), "text"


def readings(
    texts: Rows, column: str, parse: Callable[[str | None], Parsed]
) -> pd.DataFrame:
    """The rows without their texts, and what was read from each.

    texts, column: as `texts` and `stored` give them.
    parse: the parser; None stands for a missing text.
    Returns: a row a text, numbered from 0: the rows' other columns, then value, status,
    reason, rule, and the parser's own. A column of the rows that has such a name is
    called "NAME (before)".
    """
    results = [parse(text) for text in texts.given[column]]
    # the columns of the results: those of all parsers, then this one's own
    names = dict.fromkeys(_SHARED)
    for result in results:
        for field in dataclasses.fields(result):
            names[field.name] = None
    table = texts.given.drop(columns=column).reset_index(drop=True)
    table = table.rename(columns={name: f"{name} (before)" for name in names})
    for name in names:
        values = [getattr(result, name, None) for result in results]
        if name in _SHARED and name != "value":
            table[name] = list(map(str, values))
        else:
            table[name] = pd.Series(values, dtype=object)
    return table


def in_words(readings: pd.DataFrame) -> Iterator[str | pd.DataFrame]:
    """How many texts have which status, how many each rule read or left, which values,
    and the frequent reasons.

    readings: as `readings` gives them.
    Returns: lines and one table, in the order in which they are shown.
    """
    total = len(readings)
    statuses = []
    for status, count in readings["status"].value_counts().items():
        statuses.append(f"{count:,} {status} ({count / total:.1%})")
    yield f"{total:,} texts: {', '.join(statuses)}\n"
    counts = readings.groupby(["rule", "status"], sort=False).size()
    rules = []
    for (rule, status), count in counts.sort_values(ascending=False).items():
        share = f"{count / total:.1%}"
        rules.append((rule or "-", status, f"{count:,}", share))
    yield pd.DataFrame(rules, columns=["rule", "status", "texts", "share"])
    numbers = []
    for value in readings["value"]:
        # NaN alone differs from itself.
        if isinstance(value, (int, float)) and value == value:
            numbers.append(value)
    values = pd.Series(numbers)
    if 0 < values.nunique() <= 12:
        frequencies = values.value_counts().sort_index().items()
        texts = [f"{value:g}: {count:,}" for value, count in frequencies]
        yield "\nvalues: " + ", ".join(texts)
    elif len(values):
        low = values.min()
        high = values.max()
        yield f"\nvalues: mean {values.mean():.4g}, from {low:.4g} to {high:.4g}"
    unread = readings["status"] != "ok"
    reasons = readings.loc[unread, "reason"].value_counts().head(5)
    if len(reasons):
        yield "\nmost frequent reasons:"
    for reason, count in reasons.items():
        yield f"  {count:,}  {reason}"


def examples(
    texts: Rows, column: str, readings: pd.DataFrame, number: int
) -> Iterator[str]:
    """The first texts of each rule and status, in short: a line each.

    texts, column: those that were read. readings: what was read of them.
    number: how many texts of a rule and status; 0 for none.
    """
    if not number:
        return
    for (rule, status), group in readings.groupby(["rule", "status"], sort=False):
        yield f"--- {rule or '-'}, {status}: {len(group):,}"
        for position in group.index[:number]:
            whole_text = texts.given[column].iloc[position] or ""
            text = " ".join(whole_text.split())
            if len(text) > 200:
                text = f"{text[:100]} ... {text[-95:]}"
            result = group.loc[position, "value" if status == "ok" else "reason"]
            place = texts.place(texts.given.index[position])
            yield f"{place}: {result} <- {text!r}"
