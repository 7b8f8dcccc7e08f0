"""The archive's RO-Crate: what each file is, and which run of a notebook made each
result of which data.

A crate is one JSON file, `NAME`, with a flat list of entities that refer to each other
by `@id`. `metadata` makes it: the crate's own description and authors, a `File` for
each member, a licence for each that occurs, a `CreateAction` for each run, and the
archive as a whole, which refers to all of them.

Source: RO-Crate 1.1 (https://w3id.org/ro/crate/1.1) and its profile Process Run Crate
    0.5 (https://w3id.org/ro/wfrun/process/0.5).
"""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from nlgeval_lib.datasets.registry import Entry
from tools.archive import contents
from tools.archive.contents import Commit

NAME = "ro-crate-metadata.json"
VERSION = "https://w3id.org/ro/crate/1.1"
PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
# the id of whoever made the archive; there is no name
AUTHORS = "#authors"
# media types by a name's ending, where Python's own list has none or another one
TYPES = {
    ".ipynb": "application/x-ipynb+json",
    ".md": "text/markdown",
    ".toml": "application/toml",
    ".jsonl": "application/jsonl",
    ".parquet": "application/x-parquet",
    ".cff": "text/yaml",
    ".yml": "text/yaml",
    ".pkl": "application/octet-stream",
}
# one node of the crate's graph, as JSON
Entity = dict[str, Any]


def metadata(
    project: Mapping[str, Any],
    commit: Commit,
    sizes: Mapping[str, int],
    inside: Iterable[Entry],
    records: Mapping[str, Mapping[str, Any]],
) -> Entity:
    """The crate's JSON-LD.

    project: the table `project` of pyproject.toml.
    sizes: bytes of every file of the archive by its name there.
    """
    public = {f"data/raw/{entry.path}": entry for entry in inside}
    notebooks = {record["notebook"] for record in records.values()}
    graph = [_descriptor(), *_context()]
    # The files; a notebook that made a result is software as well.
    for name, size in sizes.items():
        file = _file(name, size, public.get(name))
        if name in notebooks:
            file["@type"] = ["File", "SoftwareSourceCode"]
            file["version"] = project["version"]
        graph.append(file)
    # The licences, this repository's own among them.
    licences = {"MIT"}
    for entry in public.values():
        licences.add(contents.spdx(entry))
    for licence in sorted(licences):
        graph.append(_licence(licence))
    # The runs, and what they read that lies outside the archive, each file once.
    runs = []
    elsewhere: dict[str, Entity] = {}
    for name, record in records.items():
        run, remote = _run(name, record, sizes)
        runs.append(run)
        elsewhere |= remote
    graph += [*runs, *elsewhere.values()]
    graph.append(_root(project, commit, sizes, elsewhere, runs))
    return {"@context": f"{VERSION}/context", "@graph": graph}


def _ids(names: Iterable[str]) -> list[Entity] | Entity:
    """References to entities; a single one stands without a list, as RO-Crate asks."""
    references = [{"@id": name} for name in names]
    if len(references) == 1:
        return references[0]
    return references


def _descriptor() -> Entity:
    """The crate's own file: which version of RO-Crate it follows, and what it
    describes.
    """
    return {
        "@id": NAME,
        "@type": "CreativeWork",
        "conformsTo": {"@id": VERSION},
        "about": {"@id": "./"},
    }


def _context() -> list[Entity]:
    """Who made the archive and with what; the names are left to whoever publishes."""
    return [
        {
            "@id": PROFILE,
            "@type": "CreativeWork",
            "name": "Process Run Crate",
            "version": "0.5",
        },
        {
            "@id": AUTHORS,
            "@type": "Organization",
            "name": "The authors of the nlgeval reproduction",
            "url": contents.ADDRESS,
        },
    ]


def _root(
    project: Mapping[str, Any],
    commit: Commit,
    sizes: Mapping[str, int],
    elsewhere: Iterable[str],
    runs: Iterable[Entity],
) -> Entity:
    """The archive as a whole: what it is, whose, under which licence, and all its
    parts.
    """
    date = datetime.fromtimestamp(commit.seconds, UTC).isoformat()
    return {
        "@id": "./",
        "@type": "Dataset",
        "conformsTo": {"@id": PROFILE},
        "name": f"{project['description']}, version {project['version']}",
        "description": (
            f"Code, printed numbers, results and figures at commit {commit.id}; the "
            "public data whose licence is clear, and the addresses and checksums of "
            "all others (OUTSIDE.csv)."
        ),
        "datePublished": date,
        "version": project["version"],
        "author": {"@id": AUTHORS},
        "publisher": {"@id": AUTHORS},
        "license": {"@id": "https://spdx.org/licenses/MIT"},
        "hasPart": _ids([*sizes, *elsewhere]),
        "mentions": _ids(run["@id"] for run in runs),
    }


def media_type(name: str) -> str:
    """The media type of a file, by the ending of its name; text/plain where none is
    known.

    Example:
    >>> media_type("notebooks/meta/ties.ipynb")
    'application/x-ipynb+json'
    """
    dot = name.rfind(".")
    ending = name[dot:] if dot >= 0 else ""
    return TYPES.get(ending) or mimetypes.guess_type(name)[0] or "text/plain"


def _file(name: str, size: int, entry: Entry | None) -> Entity:
    """One file of the archive; `entry`: what the registry says of it, None for a file
    of this repository.
    """
    file: Entity = {
        "@id": name,
        "@type": "File",
        "name": name,
        "contentSize": str(size),
        "encodingFormat": media_type(name),
    }
    if entry is not None:
        file["license"] = {"@id": f"https://spdx.org/licenses/{contents.spdx(entry)}"}
        file["url"] = entry.url
        file["identifier"] = f"sha256:{entry.sha256}"
    return file


def _licence(name: str) -> Entity:
    """A licence that files of the archive have, by its SPDX name."""
    return {
        "@id": f"https://spdx.org/licenses/{name}",
        "@type": "CreativeWork",
        "name": name,
        "description": f"The licence that SPDX calls {name}",
    }


def _run(
    name: str, record: Mapping[str, Any], sizes: Mapping[str, int]
) -> tuple[Entity, dict[str, Entity]]:
    """The run that made an output, by its provenance; and the files that it read which
    are not in the archive, by their addresses.
    """
    # what it read: files inside by their names, the others by their addresses
    objects = []
    elsewhere: dict[str, Entity] = {}
    for path in contents.inputs(record):
        inside = f"data/raw/{path}"
        if inside in sizes:
            objects.append(inside)
            continue
        entry = contents.registry.entry(path)
        objects.append(entry.url)
        elsewhere[entry.url] = _remote(entry, record["date"])
    packages = []
    for package, version in record["packages"].items():
        packages.append(f"{package} {version}")
    commit = record["git"].get("commit", "unknown")
    output = record["output"]
    # of what it wrote, what is committed
    results = [file for file in (name, *record["files"]) if file in sizes]
    run: Entity = {
        "@id": f"#run-{output}",
        "@type": "CreateAction",
        "name": f"The run that made {output}",
        "description": (
            f"Route {record['route']}; Python {record['python']}; "
            f"{', '.join(packages)}; commit {commit}"
        ),
        "endTime": record["date"],
        "agent": {"@id": AUTHORS},
        "instrument": {"@id": record["notebook"]},
        "result": _ids(results),
    }
    if objects:
        run["object"] = _ids(objects)
    return run, elsewhere


def _remote(entry: Entry, date: str) -> Entity:
    """A public file that is not in the archive."""
    return {
        "@id": entry.url,
        "@type": "File",
        "name": entry.path,
        "description": f"Not in this archive. Licence: {entry.licence}.",
        "contentSize": str(entry.bytes),
        "encodingFormat": media_type(entry.path),
        "identifier": f"sha256:{entry.sha256}",
        "sdDatePublished": date,
    }
