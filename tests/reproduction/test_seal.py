"""Every edit by hand is found by name: `tests/cases/tampering.jsonl`, on a copy.

A case has `what` is done to which `file` (`find`: a pattern whose group becomes `to`,
or whose digit goes up by one; or `does`), whether the editor also `renewed` the
manifest's line, which file is then `named`, and what the message `says`.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nlgeval_lib import files
from nlgeval_lib.cli import app
from reproduction.import_graph import HOUSES
from reproduction.report import seal, verify
from reproduction.study import catalogue

ROOT = Path(__file__).parents[2]
CASES = [
    json.loads(line)
    for line in (ROOT / "tests/cases/tampering.jsonl").read_text().splitlines()
]
COPIED = (
    "results",
    "figures",
    "notebooks",
    "data",
    "docs",
    *HOUSES,
    "requirements",
)
RENEWED = "results/hdeval/hdeval_table_01.csv"
PAGE = "semscore_table_02"  # the output whose page one case edits
PAGE_CHECKS = [check for check in verify.CHECKS if isinstance(check, functools.partial)]
APART = ("raw", "quick", "partial", "executed", "sweeps", "__pycache__")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of what is sealed, which is the checkout for this module."""
    root = tmp_path_factory.mktemp("checkout")
    for folder in COPIED:
        ignored = shutil.ignore_patterns(*APART)
        shutil.copytree(ROOT / folder, root / folder, ignore=ignored)
    for text in ROOT.glob("*.md"):
        shutil.copy(text, root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NLGEVAL_ROOT", str(root))
        patch.setenv("NLGEVAL_HOME", str(root / ".nlgeval"))
        for name in ("NLGEVAL_RESULTS", "NLGEVAL_FIGURES"):
            patch.delenv(name, raising=False)
        yield root


@pytest.fixture(scope="module")
def edited(checkout: Path) -> list[verify.Finding]:
    """What is found after all the edits; each of them changed its file. Of the pages
    those of one share are looked at, PAGE's.
    """
    renewed = []
    for case in CASES:
        tamper(checkout / case["file"], case)
        if case.get("renewed"):
            name = case.get("named", "")
            renewed.append(name if "#" in name else case["file"])
    lines = seal.read()
    for name in renewed:
        lines[name] = seal.line(name)
    seal._write(lines)
    ids = [entry.id for entry in catalogue.load().outputs]
    share = ids.index(PAGE) % verify.SHARES
    checks = [check for check in verify.CHECKS if check not in PAGE_CHECKS]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verify, "CHECKS", [*checks, PAGE_CHECKS[share]])
        return verify.findings()


def tamper(path: Path, case: dict[str, str]) -> None:
    """Do to a file what a case says."""
    match case.get("does", "edit"):
        case "delete":
            path.unlink()
        case "create":
            path.write_text("a,b\n1,2\n")
        case "flip a byte":
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(content)
        case _:
            text = path.read_text(encoding="utf-8")
            match = re.search(case["find"], text)
            assert match, f"{case['what']}: {case['find']} is not in {case['file']}"
            group = match.lastindex or 1
            to = case["to"]
            if to == "+1":
                to = str((int(match[group]) + 1) % 10)
            path.write_text(text[: match.start(group)] + to + text[match.end(group) :])


@pytest.fixture
def restored(edited: list[verify.Finding], checkout: Path) -> Iterator[None]:
    """What a test renews or deletes of the edited copy, other tests find again."""
    paths = [checkout / "results/MANIFEST.csv", checkout / RENEWED]
    before = {path: path.read_bytes() for path in paths}
    yield
    for path, content in before.items():
        path.write_bytes(content)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["what"])
def test_an_edit_is_found_by_name(
    case: dict[str, str], edited: list[verify.Finding]
) -> None:
    name = case.get("named", case["file"])
    messages = [one.message for one in edited if one.file == name]
    assert any(case["says"] in message for message in messages), messages


def test_every_share_of_the_pages_is_looked_at() -> None:
    shares = [(share, verify.SHARES) for share in range(verify.SHARES)]
    assert [check.args for check in PAGE_CHECKS] == shares


def test_a_file_that_nobody_edited_is_named_only_for_what_follows_from_edits(
    edited: list[verify.Finding],
) -> None:
    touched = {case.get("named", case["file"]) for case in CASES}
    for finding in edited:
        if finding.file not in touched:
            assert "was edited" not in finding.message


def test_the_command_names_the_file_and_the_way_out(
    edited: list[verify.Finding], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "CHECKS", (verify.manifest_faults,))
    result = CliRunner().invoke(app, ["verify"])
    assert result.exit_code == 1
    name = "results/hdeval/hdeval_table_01.csv"
    lines = [line for line in result.output.splitlines() if line.startswith(name)]
    assert len(lines) == 1
    assert f"git checkout -- {name}" in lines[0]
    assert "nlgeval run hdeval_table_01 --force" in lines[0]


def test_what_a_run_makes_is_not_taken_in_by_hand(restored: None) -> None:
    sealed = seal.read()
    for name in ("results/hdeval/hdeval_table_01.csv", "figures", "README.md#counts"):
        with pytest.raises(ValueError, match="is made by a run"):
            seal.adopt([name])
    with pytest.raises(ValueError, match="no file of the seal"):
        seal.adopt(["data/raw"])
    assert seal.read() == sealed
    assert seal.adopt(["data/registry.csv"]) == ["data/registry.csv"]
    assert seal.read()["data/registry.csv"].sha256 == seal.digest("data/registry.csv")


def test_what_people_changed_is_taken_in_at_once_and_nothing_else(
    restored: None,
) -> None:
    faults = [fault for fault in verify.manifest_faults() if not fault.way]
    changed = [fault.file for fault in faults if seal.by_hand(fault.file)]
    made = [fault.file for fault in faults if not seal.by_hand(fault.file)]
    assert seal.adopt(["docs/gpu.md"]) == ["docs/gpu.md#numbers"]
    assert seal.adopt(["README.md"]) == ["README.md#numbers"]
    assert seal.adopt(["data/further.csv", "data/further.csv"]) == ["data/further.csv"]
    adopted = seal.adopt([seal.ALL])
    assert {"judgecard/rules.csv", "notebooks/catalogue.toml"} <= {*adopted}
    assert {*changed} - {*adopted} == {
        "README.md#numbers",
        "data/further.csv",
        "docs/gpu.md#numbers",
    }
    assert seal.adopt([seal.ALL]) == []
    still = [fault.file for fault in verify.manifest_faults() if not fault.way]
    assert {*made} <= {*still}
    assert not [file for file in still if seal.by_hand(file)]


def test_a_run_renews_what_it_wrote_and_blesses_no_edit(
    restored: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name = RENEWED
    record = "results/hdeval/hdeval_table_01.json"
    sealed = seal.read()
    seal.renew([name, record], [record])
    assert seal.read() == sealed
    monkeypatch.setenv("NLGEVAL_RESULTS", str(tmp_path))
    seal.renew([name], [name])
    monkeypatch.delenv("NLGEVAL_RESULTS")
    assert seal.read() == sealed
    seal.renew([name, record], [name])
    fresh = seal.read()
    assert fresh.pop(name) != sealed.pop(name)
    assert fresh == sealed
    files.located(name).unlink()
    seal.renew([record], [])
    assert name not in seal.read()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"name\n", b'"'])
def test_a_manifest_that_is_none_is_named(
    content: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NLGEVAL_RESULTS", str(tmp_path))
    (tmp_path / "MANIFEST.csv").write_bytes(content)
    with pytest.raises(ValueError, match=r"results/MANIFEST.csv is damaged"):
        seal.read()
