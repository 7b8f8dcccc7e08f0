"""vLLM in this process: the fastest way to run a judge over many prompts, on GPUs or, slowly, on the CPU."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nlgeval_lib.engines import models
from nlgeval_lib.engines.base import Ask, Engine, EngineError, Sampling, UnsupportedSetting, failed, likeliest
from nlgeval_lib.records import Completion

# What vLLM's CPU build needs for a small model in one process. A variable that is set already stays as it is.
CPU_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}


class VLLMEngine(Engine):
    """One model in vLLM. Any engine argument of vLLM's passes through `options` (`max_model_len`, `quantization`, ...).

    `model` is a hub id or a folder; `name` labels its completions in place of the id or the folder's name. On a machine
    without a GPU the settings that vLLM's CPU build needs are chosen, in float32, unless the environment or `options`
    say otherwise. Prompts are asked in the order of their texts, so that shared beginnings are computed once; a stream
    comes in order.

    Raises: EngineError where vLLM is not installed or cannot load the model.
    """

    name = "vllm"
    streams = True

    def __init__(
        self,
        model: str,
        *,
        revision: str | None = None,
        name: str | None = None,
        chat_template: str | None = None,
        **options: Any,
    ) -> None:
        self.model, found = models.identify(model, revision, name)
        self.chat_template = chat_template
        import torch

        if not torch.cuda.device_count():  # of CUDA or ROCm; this leaves the device untouched
            for variable, value in CPU_ENVIRONMENT.items():
                os.environ.setdefault(variable, value)
            # a prompt that is read in parts moves its seeded generator back, which vLLM 0.32 cannot do on a CPU
            options = {"dtype": "float32", "enforce_eager": True, "enable_chunked_prefill": False, **options}
            if not os.environ.get("VLLM_CPU_KVCACHE_SPACE") and "gpu_memory_utilization" not in options:
                options.setdefault("kv_cache_memory_bytes", 1 << 30)
        try:
            import vllm
            from vllm.triton_utils import dispatcher
        except ImportError as error:
            raise EngineError(
                f"vLLM cannot be imported ({error}): install the `gpu` group, or `cpu-serve` on a machine without a GPU"
            ) from error
        # vLLM 0.32 takes vars() of everything in every module, and stops at an object of llvmlite (numba, shap) whose
        # __dict__ is no mapping
        vars(dispatcher)["vars"] = lambda value: found if isinstance(found := vars(value), Mapping) else {}
        try:
            how = {"enable_prefix_caching": True, "seed": 0, **options}
            self._llm = vllm.LLM(model=model, revision=revision, **how)
        except (OSError, ValueError, RuntimeError, TypeError) as error:
            raise EngineError(f"vLLM cannot load {model}: {error}") from error
        self.revision = (found or models.hub_revision(model, revision)) + models.quantised(options)
        self._tokenizer = self._llm.get_tokenizer()
        self._refusals = (ValueError, vllm.exceptions.VLLMValidationError)
        scheduler = self._llm.llm_engine.vllm_config.scheduler_config
        self._open = 2 * scheduler.max_num_seqs  # enough to keep the batch full, few enough to start and stop at once
        self._count = itertools.count(1)

    def check(self, sampling: Sampling) -> None:
        """Everything is honoured, if vLLM takes the values. Raises: UnsupportedSetting as vLLM words it."""
        config = self._llm.llm_engine.vllm_config
        try:
            self._params(sampling, None).verify(
                config.model_config, config.speculative_config, config.structured_outputs_config, self._tokenizer
            )
        except self._refusals as error:
            raise UnsupportedSetting(f"vLLM refuses the settings: {' '.join(str(error).split())}") from error

    def generate(self, asks: Sequence[Ask], sampling: Sampling) -> Iterator[list[Completion]]:
        """Completions as their sequences finish."""
        engine = self._llm.llm_engine
        waiting = iter(sorted(asks, key=lambda ask: ask.request.text()) if isinstance(asks, Sequence) else asks)
        running: dict[str, Ask] = {}
        try:
            while True:
                if refused := self._fill(waiting, running, sampling):
                    yield refused
                if not running:
                    return
                try:
                    finished = [one for one in engine.step() if one.finished]
                except Exception as error:
                    raise EngineError(f"vLLM stopped with {len(running)} prompts open: {error}") from error
                if finished:
                    yield [self._completion(running.pop(one.request_id), one, sampling) for one in finished]
        finally:
            if running:
                with contextlib.suppress(Exception):  # Ctrl-C reaches vLLM's own process too, which may be gone
                    engine.abort_request(list(running))

    def close(self) -> None:
        """Free the model and its memory."""
        if hasattr(self, "_llm"):
            self._llm.llm_engine.engine_core.shutdown()
            del self._llm

    def _fill(self, waiting: Iterator[Ask], running: dict[str, Ask], sampling: Sampling) -> list[Completion]:
        """Hand asks to vLLM until enough are open; the ones that it refuses (too long, no tokens)."""
        refused = []
        while len(running) < self._open and (ask := next(waiting, None)) is not None:
            ids = models.token_ids(self._tokenizer, ask.request, self.chat_template, self.model)
            prompt: Any = {"type": "token", "prompt_token_ids": ids}
            name = f"nlgeval-{next(self._count)}"
            try:
                self._llm.llm_engine.add_request(name, prompt, self._params(sampling, ask.seed))
            except self._refusals as error:
                refused.append(failed(ask, f"vLLM refused the prompt of {len(ids)} tokens: {error}"))
            else:
                running[name] = ask
        return refused

    def _params(self, sampling: Sampling, seed: int | None) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        same = ("temperature", "top_p", "top_k", "max_tokens", "repetition_penalty", "logprobs")
        return SamplingParams(
            **{name: getattr(sampling, name) for name in same},
            seed=seed,
            stop=list(sampling.stop),
            structured_outputs=StructuredOutputsParams(**sampling.form) if sampling.form else None,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _completion(self, ask: Ask, output: Any, sampling: Sampling) -> Completion:
        [made] = output.outputs
        if made.finish_reason not in ("stop", "length"):
            return failed(ask, f"vLLM ended the completion with {made.finish_reason!r}", passing=True)
        table = None if sampling.logprobs is None else tuple(map(_step, made.token_ids, made.logprobs))
        counts = {"prompt_tokens": len(output.prompt_token_ids), "completion_tokens": len(made.token_ids)}
        return self._made(ask, made.text, finish_reason=made.finish_reason, logprobs=table, **counts)


def _step(token: int, position: Mapping[int, Any]) -> dict[str, float]:
    """The text and log-probability of a token that was written first, then the alternatives'."""
    entries = [position[token], *(entry for other, entry in position.items() if other != token)]
    return likeliest((entry.decoded_token or "", entry.logprob) for entry in entries)
