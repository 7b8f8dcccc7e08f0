"""vLLM in this process: the fastest way to run a judge over many prompts."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nlgeval_lib.engines import models
from nlgeval_lib.engines.base import (
    Ask,
    Engine,
    EngineError,
    Sampling,
    UnsupportedSetting,
    failed,
    likeliest,
)
from nlgeval_lib.engines.reasoning import ReasoningReader
from nlgeval_lib.records import Completion

# What vLLM's CPU build needs for a small model in one process. A variable that is set
# already stays as it is.
CPU_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}

# a model could fill its room with the blanks that JSON allows between its parts
_COMPACT_JSON = {"backend": "xgrammar", "disable_any_whitespace": True}


class VLLMEngine(Engine):
    """One model in vLLM.

    Without a GPU the settings that vLLM's CPU build needs are chosen, in float32,
    unless the environment or `options` say otherwise. Prompts are asked in the order of
    their texts, so that shared beginnings are computed once; a stream comes in order.

    model: a hub id, a folder, or a name of weights that were fetched.
    revision: of the model; None: that of the hub's main branch, or a hash of the
    folder's files.
    name: labels its completions in place of the id or the folder's name.
    options: any engine argument of vLLM's (`max_model_len`, `quantization`, ...).
    """

    name = "vllm"
    streams = True

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        self.model, folder_revision = models.identify(model, revision, name)
        model = models.placed(model)
        import torch

        # of CUDA or ROCm; to count them leaves the device untouched
        if not torch.cuda.device_count():
            options = _prepare_cpu(options)
        vllm = _import_vllm()
        try:
            settings = {
                "enable_prefix_caching": True,
                "seed": 0,
                "structured_outputs_config": _COMPACT_JSON,
                **options,
            }
            self._llm = vllm.LLM(model=model, revision=revision, **settings)
        except (OSError, ValueError, RuntimeError, TypeError) as error:
            raise EngineError(f"vLLM cannot load {model}: {error}") from error
        base = folder_revision or models.hub_revision(model, revision)
        self.revision = base + models.quantised(options)
        self._tokenizer = self._llm.get_tokenizer()
        self._reasoning = ReasoningReader(self._tokenizer)
        self._refusals = (ValueError, vllm.exceptions.VLLMValidationError)
        scheduler = self._llm.llm_engine.vllm_config.scheduler_config
        # enough to keep the batch full, few enough to start and stop at once
        self._open = 2 * scheduler.max_num_seqs
        self._count = itertools.count(1)

    def check(self, sampling: Sampling) -> None:
        """Raises: UnsupportedSetting, as vLLM words it, for values it does not take."""
        config = self._llm.llm_engine.vllm_config
        try:
            self._params(sampling, None).verify(
                config.model_config,
                config.speculative_config,
                config.structured_outputs_config,
                self._tokenizer,
            )
        except self._refusals as error:
            reason = " ".join(str(error).split())
            raise UnsupportedSetting(f"vLLM refuses the settings: {reason}") from error

    def generate(
        self, asks: Sequence[Ask], sampling: Sampling
    ) -> Iterator[list[Completion]]:
        """Completions as their sequences finish; EngineError where vLLM stops."""
        engine = self._llm.llm_engine
        if isinstance(asks, Sequence):
            asks = sorted(asks, key=lambda ask: ask.request.text())
        waiting = iter(asks)
        running: dict[str, Ask] = {}
        try:
            while True:
                refused = self._fill(waiting, running, sampling)
                if refused:
                    yield refused
                if not running:
                    return
                try:
                    outputs = engine.step()
                except Exception as error:
                    raise EngineError(
                        f"vLLM stopped with {len(running)} prompts open: {error}"
                    ) from error
                completions = []
                for output in outputs:
                    if output.finished:
                        ask = running.pop(output.request_id)
                        completions.append(self._completion(ask, output, sampling))
                if completions:
                    yield completions
        finally:
            if running:
                # Ctrl-C reaches vLLM's own process too, which may have ended
                with contextlib.suppress(Exception):
                    engine.abort_request(list(running))

    def close(self) -> None:
        """Free the model and its memory."""
        if hasattr(self, "_llm"):
            self._llm.llm_engine.engine_core.shutdown()
            del self._llm

    def _fill(
        self, waiting: Iterator[Ask], running: dict[str, Ask], sampling: Sampling
    ) -> list[Completion]:
        """Hand asks to vLLM until enough are open."""
        refused = []
        while len(running) < self._open:
            ask = next(waiting, None)
            if ask is None:
                break
            ids = models.token_ids(self._tokenizer, ask.request, self.model)
            prompt: Any = {"type": "token", "prompt_token_ids": ids}
            params = self._params(sampling, ask.seed)
            name = f"nlgeval-{next(self._count)}"
            try:
                self._llm.llm_engine.add_request(name, prompt, params)
            except self._refusals as error:
                reason = f"vLLM refused the prompt of {len(ids)} tokens: {error}"
                refused.append(failed(ask, reason))
            else:
                running[name] = ask
        return refused

    def _params(self, sampling: Sampling, seed: int | None) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        form = StructuredOutputsParams(**sampling.form) if sampling.form else None
        return SamplingParams(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k,
            max_tokens=sampling.max_tokens,
            repetition_penalty=sampling.repetition_penalty,
            logprobs=sampling.logprobs,
            seed=seed,
            stop=list(sampling.stop),
            structured_outputs=form,
            skip_special_tokens=not self._reasoning.keeps_special,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _completion(self, ask: Ask, output: Any, sampling: Sampling) -> Completion:
        [sequence] = output.outputs
        if sequence.finish_reason not in ("stop", "length"):
            reason = f"vLLM ended the completion with {sequence.finish_reason!r}"
            return failed(ask, reason, passing=True)
        table = None
        if sampling.logprobs is not None:
            table = tuple(map(_step, sequence.token_ids, sequence.logprobs))
        return self._made(
            ask,
            **self._reasoning.parts(output.prompt_token_ids, sequence.text),
            finish_reason=sequence.finish_reason,
            logprobs=table,
            prompt_tokens=len(output.prompt_token_ids),
            completion_tokens=len(sequence.token_ids),
        )


def _prepare_cpu(options: dict[str, Any]) -> dict[str, Any]:
    """Set the environment that vLLM's CPU build needs; the options with its own."""
    for variable, value in CPU_ENVIRONMENT.items():
        os.environ.setdefault(variable, value)
    # A prompt that is read in parts moves its seeded generator back, which vLLM 0.32
    # cannot do on a CPU.
    options = {
        "dtype": "float32",
        "enforce_eager": True,
        "enable_chunked_prefill": False,
        **options,
    }
    space = os.environ.get("VLLM_CPU_KVCACHE_SPACE")
    if not space and "gpu_memory_utilization" not in options:
        options.setdefault("kv_cache_memory_bytes", 1 << 30)
    return options


def _import_vllm() -> Any:
    """The package, repaired where it stops beside others; or EngineError."""
    try:
        vllm = importlib.import_module("vllm")
    except ImportError as error:
        raise EngineError(
            f"vLLM cannot be imported ({error}): install the `gpu` group, or "
            "`cpu-serve` on a machine without a GPU"
        ) from error
    # The dispatcher takes vars() of everything in every module, and stops at an object
    # of llvmlite (numba, shap) whose __dict__ is no mapping. Older versions have none.
    with contextlib.suppress(ModuleNotFoundError):
        dispatcher = importlib.import_module("vllm.triton_utils.dispatcher")
        vars(dispatcher)["vars"] = _mapping_of
    return vllm


def _mapping_of(value: Any) -> Mapping[str, Any]:
    """`vars(value)`; empty where it is no mapping."""
    attributes = vars(value)
    return attributes if isinstance(attributes, Mapping) else {}


def _step(token: int, position: Mapping[int, Any]) -> dict[str, float]:
    """Texts and log-probabilities at one place of a completion."""
    entries = [position[token]]
    entries += [entry for number, entry in position.items() if number != token]
    return likeliest((entry.decoded_token or "", entry.logprob) for entry in entries)
