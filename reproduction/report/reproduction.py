"""The reproduction report: scope, results table by table, what was easy and what was
hard, in the headings of the ML Reproducibility Challenge and of QRA++; and the numbers
that were computed here, in the form in which QRA++ exchanges them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

import pandas as pd

from nlgeval_lib import files
from reproduction import papers
from reproduction import printed_prompts as printed
from reproduction.papers import agreement, numbers
from reproduction.papers.counting import PLURALS, ROUTES, WORDS
from reproduction.report import filled, saving
from reproduction.report.claims_page import COUNTS as CLAIM_COLUMNS
from reproduction.report.comparisons import titled

LEAST = 5  # fewer numbers have no correlation worth the name


def markdown(
    cells: pd.DataFrame,
    claims: pd.DataFrame,
    titles: Mapping[str, str],
    found: str = "",
) -> str:
    """The report, Markdown; its paragraphs stand in `site/REPORT.md.jinja`.

    cells: of all outputs, as `scoreboard.cells` gives them.
    claims: a row a claim, as the output of the claims saves them; may be empty.
    found: what came of asking the claims of another judge; it stands first.
    """
    verdicts = printed.verdicts()
    choices = _choices()
    return filled(
        "REPORT.md.jinja",
        found=found,
        prompts=len(verdicts),
        same_prompts=list(verdicts.values()).count(printed.verdict(0)),
        choices=len(choices),
        untried=int((choices["tried"] == "not tried").sum()) if len(choices) else 0,
        fitted=after_fitting(),
        own_methods="\n".join(_own_methods(cells, titles)),
        all_numbers=_all_numbers(cells),
        results=table(cells, titles),
        evidence=_evidence(claims) if len(claims) else "",
        supported=md_table(_supported(claims, titles)) if len(claims) else "",
    )


def recomputed(cells: pd.DataFrame) -> pd.DataFrame:
    """The cells with a printed number and one that was computed here: one a printed
    number, runs before public data.

    cells: as `scoreboard.cells` gives them.
    Returns: their columns, with `printed` and `ours` as floats.
    """
    tested = cells[cells["route"].isin(ROUTES["recomputed"])]
    tested = tested[tested["verdict"].isin(papers.comparison.COMPARED)]
    tested = tested.assign(
        printed=tested["printed"].map(_value), ours=tested["ours"].map(_value)
    )
    tested = tested.dropna(subset=["printed", "ours"])
    # Of two routes the later in the alphabet stands first: run before public.
    runs_first = tested.sort_values("route", ascending=False)
    return runs_first.drop_duplicates(["paper", "table", *papers.KEY])


def _value(text: object) -> float:
    """A number as it is printed or saved; NaN where it is none."""
    try:
        return float(numbers.parse(str(text)))
    except ValueError:
        return math.nan


def table(cells: pd.DataFrame, titles: Mapping[str, str]) -> str:
    """A row a printed table and kind: how many numbers were computed here, how near they
    are, and their correlation; and a row a paper. Markdown.

    cells: as `scoreboard.cells` gives them. titles: each paper's name.
    Source: Belz (2022), the coefficient of variation for small samples (CV*).
    """
    rows = []
    for paper in papers.PAPERS:
        of_paper = cells[cells["paper"] == paper]
        in_paper = recomputed(of_paper)
        groups = in_paper.groupby(["table", "kind"], sort=True)
        for name, part in groups:
            table_id, kind = map(str, name)
            # Chance is of all cells of this sort, as the counts are.
            is_same = (of_paper["table"] == table_id) & (of_paper["kind"] == kind)
            chance = papers.counts(of_paper[is_same])["recomputed_shuffled"]
            label = f"{titles[paper]}, {titled(table_id)}"
            rows.append(_row(label, PLURALS[kind], part, chance))
        if groups.ngroups > 1:
            chance = papers.counts(of_paper)["recomputed_shuffled"]
            of_all = _row(titles[paper], "all of these", in_paper, chance)
            # Numbers of several tables and scales have no correlation worth the name.
            of_all["r"] = ""
            rows.append(of_all)
    return md_table(pd.DataFrame(rows))


def _row(label: str, kind: str, part: pd.DataFrame, chance: float) -> dict[str, str]:
    """The row of some numbers that were computed here."""
    near = agreement.nearness(part)
    equal = int((part["verdict"] == papers.comparison.EQUAL).sum())
    share = "" if math.isnan(near.near) else f"{near.near:.0%}"
    r = near.r if len(part) >= LEAST else math.nan
    return {
        "table": label,
        "numbers of": kind,
        WORDS["recomputed"]: str(len(part)),
        "equal": str(equal),
        "by chance": f"{chance:.1f}",
        "median CV\\*": _number(near.median, 2),
        "CV\\* under 5 %": share,
        "r": _number(r, 3),
    }


def _own_methods(cells: pd.DataFrame, titles: Mapping[str, str]) -> Iterator[str]:
    """A line a paper: was its own method tested, and what would test it?"""
    tested = recomputed(cells)
    cells_printed = papers.printed_cells()
    all_own = cells_printed[cells_printed["kind"] == papers.OWN]
    for paper in papers.PAPERS:
        own_cells = all_own[all_own["paper"] == paper]
        if own_cells.empty:
            continue
        name, _ = papers.own_method(paper)
        is_own = (tested["paper"] == paper) & (tested["kind"] == papers.OWN)
        printed_count = f"{len(own_cells)} printed numbers of {name} itself"
        line = (
            f"- {titles[paper]}: {is_own.sum()} of the {printed_count} computed here."
        )
        if not is_own.any():
            texts = [papers.own_method(paper, at)[1] for at in own_cells["table"]]
            counted = Counter(texts).most_common()
            needs = [f"{need} ({count} numbers)" for need, count in counted]
            if len(needs) == 1:
                needs = texts[:1]
            line += f" A test needs {'; '.join(needs)}."
        yield line


def _all_numbers(cells: pd.DataFrame) -> str:
    """What became of all numbers that the papers print, in one sentence."""
    total = len(papers.printed_cells())
    counts = papers.counts(cells)
    in_no_output = total - counts["printed"]
    missing = in_no_output + counts["missing"]
    return (
        f"Of {total:,} printed numbers {counts['recomputed']:,} were "
        f"{WORDS['recomputed']} ({counts['recomputed_equal']:,} equal). "
        f"{counts['consistent']:,} {WORDS['consistent']} "
        f"({counts['consistent_equal']:,} equal), which tests no method. Beside "
        f"{counts['orientation']:,} stands a number {WORDS['orientation']}, without a "
        f"verdict; {counts['construction']:,} are {WORDS['construction']}; for "
        f"{missing:,} there is {WORDS['missing']}. [The scoreboard](scoreboard.md) has "
        "them by table, and [a file for exchange](exchange.csv) those that were "
        f"{WORDS['recomputed']}, two rows a number."
    )


def after_fitting() -> str:
    """That counts of equal numbers are after fitting, with how many choices were fitted,
    in one sentence; empty where nothing was assumed.
    """
    choices = _choices()
    if choices.empty:
        return ""
    fitted = int((choices["fits"] == "yes").sum())
    return (
        f"Counts are after fitting: {fitted} of {len(choices)} choices where a paper "
        "is silent were taken because they give the most equal numbers, and chance "
        "counts each variant that was tried."
    )


def _choices() -> pd.DataFrame:
    """The choices where a paper is silent; no row without a file."""
    path = files.data() / "assumed.csv"
    if not path.is_file():
        return pd.DataFrame()
    return pd.read_csv(path, keep_default_na=False)


def _evidence(claims: pd.DataFrame) -> str:
    """What the claims that hold rest on."""
    supported = claims[claims["verdict"] == papers.claims.HOLDS]
    from_data = int((supported["kind"] == "public data").sum())
    from_runs = int((supported["kind"] == "run").sum())
    from_print = len(supported) - from_data - from_runs
    text = (
        f"of the {len(supported)} that are supported {from_print} rest on printed "
        f"numbers alone and {from_data} on public data"
    )
    if from_runs:
        text += f", {from_runs} on a run of the judge"
    return text


def _supported(claims: pd.DataFrame, titles: Mapping[str, str]) -> pd.DataFrame:
    """The claims of each paper by whether they are supported: a row a paper and one for
    all, a column a verdict and one for all.
    """
    counted = pd.crosstab(claims["paper"], claims["verdict"])
    counted = counted.reindex(
        index=papers.PAPERS, columns=list(CLAIM_COLUMNS), fill_value=0
    )
    counted = counted.rename(columns=CLAIM_COLUMNS)
    counted.loc["all"] = counted.sum()
    counted["all"] = counted.sum(axis=1)
    names = [titles.get(paper, paper) for paper in counted.index]
    counted.insert(0, "paper", names)
    return counted


def _number(value: float, digits: int) -> str:
    """A number with so many decimals; empty for NaN."""
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def md_table(frame: pd.DataFrame) -> str:
    """A frame as a table in Markdown; nothing where it has no row."""
    if frame.empty:
        return ""
    # A bar would end a cell, and a line end a row.
    escapes = {r"\|": r"\\|", "\n": " "}
    cells = frame.astype(str).replace(escapes, regex=True)
    rows = cells.itertuples(index=False, name=None)
    return files.markdown_table(frame.columns, rows)


EXCHANGE = "results/exchange.csv"


def exchange(cells: pd.DataFrame) -> str:
    """The text of EXCHANGE, the ReproNLP shared task's form: a row a number of a study.

    What follows from other printed numbers, or came from another judge, repeats no
    measurement and is not in it.

    cells: as `scoreboard.cells` gives them.
    """
    tested = recomputed(cells)
    experiment = tested["paper"] + " " + tested["table"]
    criterion = tested["column"] + ", " + tested["statistic"]
    rows = []
    for place, study in {"printed": "original", "ours": "reproduction"}.items():
        frame = {
            "Key": experiment + "/" + tested["row"] + "/" + criterion,
            "Study": study,
            "Experiment": experiment,
            "System": tested["row"],
            "Criterion": criterion,
            "Result": tested[place],
        }
        rows.append(pd.DataFrame(frame))
    both = pd.concat(rows).sort_values(["Key", "Study"], kind="stable")
    return saving.csv_text(both)
