"""A Croissant record of each data set: its files by address and checksum, and the table
of its ratings that travels with the repository.

`texts` gives the records of all data sets as files of the archive; `metadata` makes the
one of a data set from what the library knows of it (`datasets.spec`).

Source: Croissant 1.0 (http://mlcommons.org/croissant/1.0).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nlgeval_lib import datasets, files
from nlgeval_lib.datasets import registry
from nlgeval_lib.datasets.frame import Spec
from nlgeval_lib.datasets.registry import Entry
from tools.archive import contents
from tools.archive.crate import media_type

VERSION = "http://mlcommons.org/croissant/1.0"
# the names that Croissant asks a record to begin with, as its specification lists them
_NAMES = """
citeAs column equivalentProperty extract field fileObject fileProperty fileSet format
includes isLiveDataset jsonPath key md5 parentField path recordSet references regex
repeated replace samplingRate separator source subField transform
"""
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    **{name: f"cr:{name}" for name in _NAMES.split()},
}
# a data set's licence as the library states it -> its address at SPDX
LICENCES = {
    "MIT": "https://spdx.org/licenses/MIT.html",
    "Apache-2.0": "https://spdx.org/licenses/Apache-2.0.html",
    "CC BY 4.0": "https://spdx.org/licenses/CC-BY-4.0.html",
    "the licence of this repository": "https://spdx.org/licenses/MIT.html",
}
# a column's type without its bits -> its type in a record; a text where it is none of
# these
DATA_TYPES = {"int": "sc:Integer", "float": "sc:Float", "bool": "sc:Boolean"}
# one node of a record, as JSON
Entity = dict[str, Any]


def name_of(dataset: str) -> str:
    """Where the record of a data set lies in the archive."""
    return f"croissant_{dataset}.json"


def texts(date: str) -> dict[str, str]:
    """The record of every data set that is fetched by default, by its file's name.

    date: when the archive's commit was made, as 2026-01-31.
    """
    by_name = {}
    for dataset in datasets.NAMES:
        record = metadata(datasets.spec(dataset), date)
        by_name[name_of(dataset)] = json.dumps(record, indent=1) + "\n"
    return by_name


def metadata(spec: Spec, date: str) -> Entity:
    """The record of one data set, as JSON-LD.

    date: when the archive's commit was made, as 2026-01-31.
    Returns: the record; without `recordSet` where the repository has no table of the
        ratings.
    """
    entries = [registry.entry(path) for path in spec.files]
    record: Entity = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": VERSION,
        "name": spec.name,
        "description": _description(spec),
        "license": LICENCES.get(spec.licence, spec.licence),
        "url": _address(entries),
        "creator": {"@type": "sc:Organization", "name": spec.source},
        "citeAs": spec.source,
        "datePublished": date,
        "version": "1.0.0",
        "distribution": [_published(entry) for entry in entries],
    }
    for relpath in spec.embedded:
        record["distribution"].append(_own(files.data() / relpath))
    table = files.data() / "numbers" / f"{spec.name}.rows.parquet"
    if table.is_file():
        record["distribution"].append(_own(table))
        record["recordSet"] = [_ratings(table)]
    return record


def _description(spec: Spec) -> str:
    """Counts and scales of a data set, in words: outputs, inputs, systems, and the
    lowest and highest rating of each aspect.
    """
    counts = f"{spec.n_items} outputs, {spec.n_inputs} inputs, {spec.n_systems} systems"
    scales = []
    for aspect, (low, high) in spec.scale.items():
        scales.append(f"{aspect} from {low:g} to {high:g}")
    rated = "; ".join(scales)
    return f"{spec.title}: {counts}. Rated by people: {rated}. {spec.source}."


def _address(entries: Iterable[Entry]) -> str:
    """The repository that a data set comes from; a set that is written here has that
    of this archive, which is not known yet.
    """
    for entry in entries:
        return f"https://github.com/{entry.repository}/tree/{entry.commit}"
    return contents.ADDRESS


def _published(entry: Entry) -> Entity:
    """A file of others: its address, size and checksum where it is published."""
    return {
        "@type": "cr:FileObject",
        "@id": entry.path,
        "name": entry.path,
        "description": f"Licence: {entry.licence}",
        "contentSize": f"{entry.bytes} B",
        "contentUrl": entry.url,
        "encodingFormat": media_type(entry.path),
        "sha256": entry.sha256,
    }


def _own(path: Path) -> Entity:
    """A file of this repository, by its place in the archive."""
    name = path.relative_to(files.root()).as_posix()
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "description": "Of this archive; it holds no text of others.",
        "contentSize": f"{path.stat().st_size} B",
        "contentUrl": name,
        "encodingFormat": media_type(name),
        "sha256": files.sha256(path),
    }


def _ratings(table: Path) -> Entity:
    """The columns of a table of ratings. Those of a text (with a colon in their name)
    hold its number in the table of texts' hashes, and are left out.
    """
    import pyarrow.parquet as parquet

    name = table.relative_to(files.root()).as_posix()
    fields = []
    for column in parquet.read_schema(table):
        if ":" in column.name:
            continue
        # int64 and int32 are one type, as are double and float
        kind = str(column.type).rstrip("0123456789")
        field = {
            "@type": "cr:Field",
            "@id": f"ratings/{column.name}",
            "name": f"ratings/{column.name}",
            "description": f"Column {column.name} of {name}",
            "dataType": DATA_TYPES.get(kind.replace("double", "float"), "sc:Text"),
            "source": {"fileObject": {"@id": name}, "extract": {"column": column.name}},
        }
        fields.append(field)
    return {
        "@type": "cr:RecordSet",
        "@id": "ratings",
        "name": "ratings",
        "description": "One row an output and aspect, as the loader gives it",
        "field": fields,
    }
