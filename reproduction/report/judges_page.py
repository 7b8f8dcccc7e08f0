"""The leaderboard of recorded judges: `results/judges.md` and `.csv`, made from what the
output `others_judges` saved of judges that rate outputs (`_wide`), of labels (`_labels`)
and of pairs (`_pairs`), and of judge cards.
"""

from __future__ import annotations

import pandas as pd

from judgecard import web
from nlgeval_lib import files, tables
from reproduction.report import filled, saving, sentences

OUTPUT = "others_judges"
BASE = f"results/meta/{OUTPUT}"
NAME = "results/judges.{}"  # with the ending csv or md
# What a row of the leaderboard is about.
_KEYS = ["set", "aspect", "judge"]
# The columns of judges.csv: three intervals of the value, for systems like these, these
# alone and systems of other families; other levels and coefficients; of pairs, whether
# the order in which they are shown counts.
_NAMES = """
set aspect judge measure value ci_low ci_high these_low these_high families_low
families_high within_input over_systems pearson spearman best_rank worst_rank n systems
families coverage tied consistency position_bias baseline origin signature
"""
COLUMNS = _NAMES.split()
# How a reader meets some of them.
_LEVELS = {
    "within_input": "within an input",
    "over_systems": "over systems",
    "pearson": "Pearson",
    "spearman": "Spearman",
}
_HABITS = {
    "coverage": "coverage",
    "tied": "tied",
    "consistency": "same in both orders",
    "position_bias": "bias to the first",
}
# How the saved tables call some of these columns.
_NEW_NAMES = {
    "best rank": "best_rank",
    "worst rank": "worst_rank",
    "tied scores": "tied",
    "bias": "position_bias",
}


def table() -> pd.DataFrame:
    """A row a judge, set and aspect (of pairs a subset), best first within each, with
    the columns `COLUMNS`; cards stand among them, but for those of judges whose
    recordings do. Nothing where no leaderboard is saved.
    """
    rated = _saved("rated")
    if rated.empty:
        return pd.DataFrame(columns=COLUMNS)
    cards = _saved("card_rows")
    if len(cards):
        known_cards = _saved("cards")
        on_the_board = {*rated["set"], *_saved("pairs")["set"]}
        is_recorded = known_cards["engine"].eq("recorded")
        is_twice = is_recorded & known_cards["set"].isin(on_the_board)
        twice = "card " + known_cards.loc[is_twice, "card"]
        cards = cards[~cards["origin"].isin(twice)]
    of_pairs = cards.get("coef", pd.Series(dtype=str)) == "accuracy"
    graded = pd.concat([rated, cards[~of_pairs]], ignore_index=True)
    parts = [_wide(graded), _labels(), _pairs(), cards[of_pairs]]
    parts = [part.rename(columns=_NEW_NAMES) for part in parts if len(part)]
    frame = pd.concat(parts, ignore_index=True).reindex(columns=COLUMNS)
    frame["measure"] = frame["measure"].fillna("accuracy")
    frame["baseline"] = frame["baseline"].eq(True)  # a gap is no baseline
    # Sets and aspects in the order in which they come, the best judge first in each.
    order = frame.groupby(["set", "aspect"], sort=False).ngroup()
    frame = frame.assign(order=order).sort_values(
        ["order", "value"], ascending=[True, False], kind="stable"
    )
    return frame.drop(columns="order").reset_index(drop=True)


def _saved(name: str) -> pd.DataFrame:
    """A table that the output saved; an empty one where it is not there."""
    path = files.located(f"{BASE}__{name}.csv")
    if not path.is_file():
        return pd.DataFrame()
    return pd.read_csv(path)


def _wide(rated: pd.DataFrame) -> pd.DataFrame:
    """A row a judge and aspect: tau-b over all outputs with what stands beside it, and
    the other levels and coefficients as columns.
    """
    is_main = (rated["level"] == "dataset") & (rated["coef"] == "kendall-b")
    main = rated[is_main].assign(measure="tau-b").set_index(_KEYS)
    columns = {
        "within_input": ("input", "kendall-b"),
        "over_systems": ("system", "kendall-b"),
        "pearson": ("dataset", "pearson"),
        "spearman": ("dataset", "spearman"),
    }
    for name, (level, coef) in columns.items():
        chosen = (rated["level"] == level) & (rated["coef"] == coef)
        main[name] = rated[chosen].set_index(_KEYS)["value"]
    return main.reset_index()


def _labels() -> pd.DataFrame:
    """The judges of labels, each with its accuracy; an empty frame without them."""
    labels = _saved("labels")
    if labels.empty:
        return labels
    baseline = labels["judge"].str.contains("(baseline)", regex=False)
    return labels.assign(
        aspect="label",
        value=labels["accuracy"],
        baseline=baseline,
        origin="alttest_judges",
    )


def _pairs() -> pd.DataFrame:
    """The judges of pairs, each with its accuracy; an empty frame without them."""
    pairs = _saved("pairs")
    if pairs.empty:
        return pairs
    # What costs nothing and what raters reach is computed here, of no recording.
    is_free = pairs["judge"].str.contains("baseline|ceiling")
    recording = pairs["set"] + "_judges"
    return pairs.assign(
        aspect=pairs["subset"],
        value=pairs["accuracy"],
        baseline=is_free,
        origin=recording.where(~is_free, "computed here"),
    )


# -- pages


def texts() -> dict[str, bytes]:
    """The content of `results/judges.csv` and `.md` by name; nothing where no
    leaderboard is saved.
    """
    frame = table()
    if frame.empty:
        return {}
    return {
        NAME.format("csv"): saving.csv_text(frame).encode(),
        NAME.format("md"): markdown(frame).encode(),
    }


def markdown(frame: pd.DataFrame) -> str:
    """The page (`site/judges.md.jinja`): the answer, what a single number hides, a
    folded table a set and aspect, and the cards.

    frame: as `table` gives it, with at least one row that is no baseline in each group.
    """
    parts = []
    for (name, aspect), rows in frame.groupby(["set", "aspect"], sort=False):
        best = rows[~rows["baseline"]].iloc[0]
        title = f"{name}, {aspect}: {len(rows)} rows, first {best['judge']}"
        parts.append(web.folded(tables.for_markdown(title), _md(_brief(rows))))
    cards = _saved("cards")
    if len(cards):
        rows = cards[["judge", "set", "verdict", "card"]]
        cards = rows.rename(columns={"card": "file"})
    return filled(
        "judges.md.jinja",
        answer=sentences.sentence(OUTPUT, BASE),
        parts=parts,
        cards=_md(cards) if len(cards) else "",
    )


def _brief(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows for readers: an interval is one cell, columns without a value go."""
    records = rows.to_dict("records")
    measure = rows["measure"].iat[0]
    columns = {
        "judge": rows["judge"] + rows["baseline"].map({True: " *", False: ""}),
        measure: [_interval(row, "ci") for row in records],
    }
    # Intervals for other systems are of no use where there is one system.
    if rows["systems"].max() > 1:
        for kind, words in (("these", "these systems"), ("families", "other families")):
            cells = [_interval(row, kind) for row in records]
            columns[words] = pd.Series(cells, index=rows.index)
    for name, head in _LEVELS.items():
        columns[head] = rows[name].map(_number)
    ranks = []
    for row in records:
        has_ranks = not pd.isna(row["best_rank"])
        words = f"{row['best_rank']:.0f} to {row['worst_rank']:.0f}"
        ranks.append(words if has_ranks else "")
    columns["ranks"] = ranks
    for name, head in _HABITS.items():
        columns[head] = rows[name].map(_number)
    brief = pd.DataFrame(columns)
    return brief.loc[:, (brief != "").any()]


def _interval(row: dict[str, object], kind: str) -> str:
    """The value with its interval ("ci"), or that of another question alone."""
    ends = ""
    if not pd.isna(row[f"{kind}_low"]):
        ends = f"[{row[f'{kind}_low']:.3f}, {row[f'{kind}_high']:.3f}]"
    return f"{_number(row['value'])} {ends}".strip() if kind == "ci" else ends


def _number(value: object) -> str:
    """A number with three decimals; empty for a gap."""
    return "" if pd.isna(value) else f"{value:.3f}"


def _md(frame: pd.DataFrame) -> str:
    """A frame as a table in Markdown; its texts are escaped."""
    cells = frame.astype(str).map(tables.for_markdown)
    return files.markdown_table(frame.columns, cells.itertuples(index=False, name=None))
