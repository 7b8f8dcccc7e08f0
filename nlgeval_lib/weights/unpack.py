"""GGUF to the dense folder that vLLM and transformers load."""

from __future__ import annotations

from pathlib import Path

from nlgeval_lib import files, weights


def ready() -> None:
    """Pass where the packages that unpack a GGUF file are installed.

    Raises: ModuleNotFoundError of the first that is not.
    """
    import gguf  # noqa: F401
    import torch  # noqa: F401
    import transformers  # noqa: F401


def dense(file: Path, folder: Path, model: weights.Weights) -> None:
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
