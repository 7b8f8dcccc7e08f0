"""The archive: what is in it, what stays outside, and the records that describe it."""

from __future__ import annotations

import csv
import io
import json
import os
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from nlgeval_lib import datasets, files
from nlgeval_lib.datasets import fetch, registry
from nlgeval_lib.datasets.registry import DataUnavailable
from tools.archive import __main__ as archive
from tools.archive import contents, crate, croissant
from tools.archive.contents import Commit

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
COMMIT = Commit("0" * 40, 1_700_000_000)
DATE = "2023-11-14"

if not (ROOT / ".git").exists():
    pytest.skip("the archive is made from a git checkout", allow_module_level=True)


@pytest.fixture(scope="module")
def members() -> dict[str, Path | str]:
    """Every file of the archive without the data of others."""
    inside, outside = contents.public(with_data=False)
    return archive.collected(PROJECT["project"], COMMIT, inside, outside)


@pytest.fixture(scope="module")
def entities(members: dict[str, Path | str]) -> dict[str, dict]:
    """The entities of the crate by their ids."""
    graph = json.loads(str(members[crate.NAME]))["@graph"]
    by_id = {entity["@id"]: entity for entity in graph}
    assert len(by_id) == len(graph)
    return by_id


def test_the_same_members_make_the_same_bytes(tmp_path: Path) -> None:
    """Whatever their order, their time stamps and their rights on the disk."""
    file = tmp_path / "on_disk.csv"
    file.write_text("a,b\n")
    archive.write(tmp_path / "1.zip", {"b/c.csv": file, "a": "text"}, COMMIT.seconds)
    os.utime(file, (1, 1))
    file.chmod(0o600)
    archive.write(tmp_path / "2.zip", {"a": "text", "b/c.csv": file}, COMMIT.seconds)
    first = (tmp_path / "1.zip").read_bytes()
    assert first == (tmp_path / "2.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "1.zip") as bundle:
        assert bundle.namelist() == ["a", "b/c.csv"]
        assert bundle.read("b/c.csv") == b"a,b\n"
        stamps = {info.date_time for info in bundle.infolist()}
    assert stamps == {(2023, 11, 14, 22, 13, 20)}


def test_every_public_file_is_inside_or_named_outside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """None whose licence is not clear is inside, nor one that is out of reach."""
    asked = []

    def path(relpath: str) -> Path:
        asked.append(relpath)
        if relpath.startswith("llmbar/"):
            raise DataUnavailable(f"a folder of this machine: {relpath} is not here")
        return Path(relpath)

    monkeypatch.setattr(fetch, "path", path)
    inside, outside = contents.public()
    names = [entry.path for entry in inside]
    assert sorted([*names, *outside]) == sorted(registry.entries())
    assert {entry.licence for entry in inside} <= set(contents.CLEAR)
    for relpath in asked:
        entry = registry.entry(relpath)
        assert "none stated" not in entry.licence and entry.sha256
    missing = {outside[name] for name in outside if name.startswith("llmbar/")}
    assert missing == {"was out of reach when this archive was made"}
    repositories = {entry.repository for entry in inside}
    notice = contents.notice(inside)
    assert all(repository in notice for repository in repositories)


def test_what_is_outside_names_its_address_and_the_results_made_from_it(
    members: dict[str, Path | str],
) -> None:
    text = str(members["OUTSIDE.csv"])
    rows = {row["path"]: row for row in csv.DictReader(io.StringIO(text))}
    assert rows.keys() == registry.entries().keys()
    for path, row in rows.items():
        entry = registry.entry(path)
        assert (row["url"], row["sha256"]) == (entry.url, entry.checksum)
    for path in ROOT.glob("results/*/*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        for hashes in record.get("inputs", {}).values():
            for name in hashes:
                if name in rows:  # long lists are one hash
                    assert record["output"] in rows[name]["results"].split()
    used = rows["summeval/bartscore_data.pkl"]["results"].split()
    assert "coascore_tables_03_12" in used


def test_a_record_of_other_data_than_the_registrys_is_refused() -> None:
    record = {"output": "a_table", "inputs": {"pandalm": {"pandalm/a.json": "0" * 64}}}
    with pytest.raises(ValueError, match="a_table: pandalm is not the registry's"):
        contents.inputs(record)


def test_the_crate_describes_every_file_and_refers_to_nothing_else(
    members: dict[str, Path | str], entities: dict[str, dict]
) -> None:
    parts = {part["@id"] for part in entities["./"]["hasPart"]}
    assert set(members) - {crate.NAME} <= parts
    assert entities[crate.NAME]["about"] == {"@id": "./"}
    for entity in entities.values():
        for name, value in entity.items():
            references = value if isinstance(value, list) else [value]
            for reference in references:
                if isinstance(reference, dict) and name != "conformsTo":
                    assert reference["@id"] in entities, (entity["@id"], name)
    # nothing says where or by whom it was made
    text = str(members[crate.NAME])
    assert str(ROOT) not in text and str(Path.home()) + "/" not in text


def test_each_result_of_the_crate_has_the_run_that_made_it(
    members: dict[str, Path | str], entities: dict[str, dict]
) -> None:
    runs = entities["./"]["mentions"]
    records = contents.records()
    assert len(runs) == len(records) > 0
    for name, record in records.items():
        run = entities[f"#run-{record['output']}"]
        results = run["result"]
        if isinstance(results, dict):
            results = [results]
        names = {result["@id"] for result in results}
        assert names == {name, *record["files"]} & set(members)
        assert run["instrument"] == {"@id": record["notebook"]}
        assert run["endTime"] == record["date"]


@pytest.mark.parametrize("name", datasets.NAMES)
def test_a_data_sets_record_has_its_files_and_columns(name: str) -> None:
    spec = datasets.spec(name)
    record = croissant.metadata(spec, DATE)
    by_id = {entry["@id"]: entry for entry in record["distribution"]}
    for path in spec.files:
        entry = registry.entry(path)
        published = by_id.pop(path)
        assert published["contentUrl"] == entry.url
        assert published["sha256"] == entry.sha256
    for path, own in by_id.items():
        assert own["sha256"] == files.sha256(ROOT / path)
    table = ROOT / f"data/numbers/{name}.rows.parquet"
    assert ("recordSet" in record) == table.is_file()
    if table.is_file():
        import pandas as pd

        columns = [column for column in pd.read_parquet(table) if ":" not in column]
        [ratings] = record["recordSet"]
        written = [field["source"]["extract"]["column"] for field in ratings["field"]]
        assert written == columns


def test_every_record_for_citation_names_the_same_version_and_licence() -> None:
    codemeta = json.loads((ROOT / "codemeta.json").read_text(encoding="utf-8"))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = PROJECT["project"]
    assert codemeta["version"] == citation["version"] == project["version"]
    assert codemeta["license"].endswith(f"/{project['license']}")
    assert citation["license"] == project["license"]
    assert codemeta["identifier"] == project["name"]
    titles = [reference["title"] for reference in citation["references"]]
    assert codemeta["referencePublication"] == titles
