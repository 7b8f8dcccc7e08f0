"""Every direct dependency has its line: who keeps it, why, under which licence."""

from __future__ import annotations

from pathlib import Path

from tools import dependencies

ROOT = Path(__file__).resolve().parents[2]


def test_every_dependency_is_explained_and_nothing_else() -> None:
    known = dependencies.about()
    assert known.keys() == dependencies.declared().keys()
    for name, row in known.items():
        assert row["kept by"].strip() and row["why"].strip(), name


def test_the_page_is_what_the_list_and_the_metadata_say() -> None:
    """A package that is not installed here keeps the line that the page has."""
    saved = dependencies.PAGE.read_text(encoding="utf-8").splitlines()
    fresh = dependencies.text().splitlines()
    assert len(saved) == len(fresh)
    for line, expected in zip(saved, fresh, strict=True):
        if expected.endswith("| not installed |"):
            expected = expected.removesuffix("not installed |")
            assert line.startswith(expected)
        else:
            assert line == expected
    assert "not installed" not in "\n".join(saved)


def test_no_licence_that_binds_the_library_is_needed_to_use_it() -> None:
    """GPL is for tests alone."""
    for name, extra in dependencies.declared().items():
        licence = dependencies.licence(name)
        assert "GPL" not in licence.replace("LGPL", "") or extra == "dev", name
