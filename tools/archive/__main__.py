"""Write the archive: `make archive`."""

from __future__ import annotations

import argparse
import json
import sys
import time
import tomllib
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nlgeval_lib import files
from nlgeval_lib.datasets import fetch
from tools.archive import contents, crate, croissant

FOLDER = "dist"
SBOM = ".cdx.json"


def main(arguments: list[str] | None = None) -> int:
    """Write `dist/nlgeval-VERSION.zip` and say what is in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-data", action="store_true")
    parser.add_argument("--out", default="", help="another file to write")
    options = parser.parse_args(arguments)
    project = _project()
    target = Path(options.out or f"{FOLDER}/nlgeval-{project['version']}.zip")
    try:
        commit = contents.commit()
    except ValueError as error:
        print(f"archive: {error}", file=sys.stderr)
        return 2
    inside, outside = contents.public(not options.without_data)
    members = collected(project, commit, inside, outside)
    write(target, members, commit.seconds)
    megabytes = target.stat().st_size / 1e6
    print(f"{target}: {len(members):,} files, {megabytes:.1f} MB")
    print(f"sha256 {files.sha256(target)}")
    print(f"public files: {len(inside)} inside, {len(outside)} in OUTSIDE.csv")
    return 0


def _project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    text = (files.root() / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]


def collected(
    project: Mapping[str, Any],
    commit: contents.Commit,
    inside: list[contents.Entry],
    outside: Mapping[str, str],
) -> dict[str, Path | str]:
    """Every file of the archive by its name there: a place on the disk, or a text."""
    members: dict[str, Path | str] = {}
    for name in contents.committed():
        members[name] = files.root() / name
    for entry in inside:
        members[f"data/raw/{entry.path}"] = fetch.path(entry.path)
    for path in sorted((files.root() / FOLDER).glob(f"*{SBOM}")):
        members[f"sbom/{path.name}"] = path
    records = contents.records()
    outputs_of = contents.used_by(records.values())
    members["OUTSIDE.csv"] = contents.outside_csv(outside, outputs_of)
    members["NOTICE.md"] = contents.notice(inside)
    date = datetime.fromtimestamp(commit.seconds, UTC).date()
    members |= croissant.texts(date.isoformat())
    sizes = {}
    for name in sorted(members):
        sizes[name] = _size(members[name])
    record = crate.metadata(project, commit, sizes, inside, records)
    members[crate.NAME] = json.dumps(record, indent=1) + "\n"
    return members


def _size(member: Path | str) -> int:
    """The bytes of a file or text."""
    if isinstance(member, str):
        return len(member.encode())
    return member.stat().st_size


def write(target: Path, members: Mapping[str, Path | str], seconds: int) -> None:
    """Write a zip file that depends on nothing but its members: sorted by name, with
    one time stamp (`seconds` since 1970) and one set of rights.
    """
    stamp = time.gmtime(seconds)[:6]
    with (
        files.replacing(target) as draft,
        zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as bundle,
    ):
        for name in sorted(members):
            member = members[name]
            content = member if isinstance(member, str) else member.read_bytes()
            bundle.writestr(files.zip_member(name, stamp), content)


if __name__ == "__main__":
    sys.exit(main())
