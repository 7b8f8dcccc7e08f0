"""What the committed results of CoAScore, SemScore and HD-Eval Table 9 say, held against the printed tables."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import pandas as pd
import pytest

from nlgeval_lib import files


def committed(paper: str, name: str) -> pd.DataFrame:
    """A committed result file; skips where it is not in this checkout."""
    path = files.results() / paper / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"{path.name} is not in this checkout: nlgeval run {name}")
    return pd.read_csv(path, keep_default_na=False, na_values={"ours": "", "difference": ""})


def rounded_twice(value: float) -> str:
    return str(
        Decimal(repr(value)).quantize(Decimal("0.0001"), ROUND_HALF_UP).quantize(Decimal("0.001"), ROUND_HALF_UP)
    )


def test_coascore_rounds_twice_but_for_one_cell() -> None:
    """BLEU, ROUGE and METEOR in Tables 2, 12 and 13: 99 cells."""
    names = ("coascore_table_02", "coascore_tables_03_12", "coascore_tables_04_13")
    cells = pd.concat([committed("coascore", name) for name in names])
    cells = cells[
        cells["table"].isin(["table_02", "table_12", "table_13"])
        & cells["verdict"].isin(["equal", "differs"])
        & (cells["route"] == "public")
    ]
    assert len(cells) == 99
    odd = cells[[rounded_twice(value) for value in cells["ours"]] != cells["printed"]]
    assert odd[["table", "row", "column", "statistic"]].to_numpy().tolist() == [
        ["table_02", "ROUGE", "TopicalChat", "spearman"]
    ]
    assert odd["verdict"].tolist() == ["differs"]


@pytest.mark.parametrize(
    ("name", "table", "count"),
    [
        ("coascore_table_02", "table_02", 3),
        ("coascore_tables_03_12", "table_12", 12),
        ("coascore_tables_04_13", "table_13", 9),
    ],
)
def test_llmscore_is_recorded_chatgpt_and_says_so(name: str, table: str, count: int) -> None:
    cells = committed("coascore", name)
    rows = cells[(cells["table"] == table) & (cells["row"] == "LLMScore") & cells["ours"].notna()]
    assert len(rows) == count and set(rows["route"]) == {"recorded"}
    assert rows["reason"].str.startswith("recorded, not the paper's:").all()
    assert rows[["n", "ci_low", "ci_high", "signature"]].notna().all(axis=None)


def test_one_exchange_of_two_ranks_mends_the_tau_of_bleu() -> None:
    """Text-davinci-001 and 003, as SemScore's notebook of Table 2 proposes; and the outputs have the mended order."""
    exchanges = committed("semscore", "semscore_table_03__exchanges")
    assert "text-davinci-001 and text-davinci-003" in set(exchanges.loc[exchanges["metric"] == "BLEU", "exchanged"])
    means = committed("semscore", "semscore_table_02__means").set_index("model")
    for metric in ("BLEU (corpus)", "BLEU (mean)"):
        values = means[metric].astype(float)
        assert values["text-davinci-003"] > values["text-davinci-001"]


def test_experts_agree_within_the_printed_neighbourhood() -> None:
    """On all summaries no expert cell of HD-Eval Table 9 is farther than .037 from the printed one."""
    cells = committed("hdeval", "hdeval_table_09")
    experts = cells[cells["row"].str.startswith("Expert") & cells["ours"].notna()]
    assert len(experts) == 24 and experts["difference"].abs().max() < 0.037
