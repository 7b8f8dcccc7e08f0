"""Write the archive, `dist/nlgeval-VERSION.zip`: `make archive`.

The same commit and the same public files give the same bytes: members are sorted, and
all carry the time of the commit.
"""

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

# where the archive is written, and where `make sbom` leaves the bills of materials
FOLDER = "dist"
# the ending of a bill of materials in CycloneDX
SBOM = ".cdx.json"


def main(arguments: list[str] | None = None) -> int:
    """Write `dist/nlgeval-VERSION.zip` and say what is in it.

    arguments: of the command line; None for those of this process.
    Returns: the exit code: 2, with nothing written, where the checkout differs from its
        commit or is no git repository, else 0.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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
    """The table `project` of pyproject.toml: name, version, description and so on."""
    text = (files.root() / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]


def collected(
    project: Mapping[str, Any],
    commit: contents.Commit,
    inside: list[contents.Entry],
    outside: Mapping[str, str],
) -> dict[str, Path | str]:
    """Every file of the archive by its name there: a place on the disk, or a text.

    project: the table `project` of pyproject.toml.
    commit: the state that is archived; its date is that of the records.
    inside: the public files that are copied, below `data/raw` of the archive.
    outside: the registry path of each other public file, and why it is not copied.
    """
    # The repository, the public files, and what `make sbom` wrote of the locks.
    members: dict[str, Path | str] = {}
    for name in contents.committed():
        members[name] = files.root() / name
    for entry in inside:
        members[f"data/raw/{entry.path}"] = fetch.path(entry.path)
    for path in sorted((files.root() / FOLDER).glob(f"*{SBOM}")):
        members[f"sbom/{path.name}"] = path
    # Texts that exist in the archive alone: what is outside, whose files these are, the
    # data sets' records.
    records = contents.records()
    outputs_of = contents.used_by(records.values())
    members["OUTSIDE.csv"] = contents.outside_csv(outside, outputs_of)
    members["NOTICE.md"] = contents.notice(inside)
    date = datetime.fromtimestamp(commit.seconds, UTC).date()
    members |= croissant.texts(date.isoformat())
    # The crate comes last: it lists the size of every other file.
    sizes = {}
    for name in sorted(members):
        sizes[name] = _size(members[name])
    record = crate.metadata(project, commit, sizes, inside, records)
    members[crate.NAME] = json.dumps(record, indent=1) + "\n"
    return members


def _size(member: Path | str) -> int:
    """The bytes that a file of the disk or a text takes."""
    if isinstance(member, str):
        return len(member.encode())
    return member.stat().st_size


def write(target: Path, members: Mapping[str, Path | str], seconds: int) -> None:
    """Write a zip file that depends on nothing but its members: sorted by name, with
    one time stamp and one set of rights.

    target: the file; it is whole or not there.
    members: by the name in the archive, a place on the disk or a text.
    seconds: the time stamp of all members, since 1970, UTC.
    """
    stamp = time.gmtime(seconds)[:6]
    with (
        files.replacing(target) as draft,
        zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as bundle,
    ):
        for name in sorted(members):
            bundle.writestr(files.zip_member(name, stamp), _content(members[name]))


def _content(member: Path | str) -> bytes | str:
    """What a member holds: a text itself, or the bytes of a file of the disk."""
    if isinstance(member, str):
        return member
    return member.read_bytes()


if __name__ == "__main__":
    sys.exit(main())
