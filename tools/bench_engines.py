"""Our engines beside the bare backends, in turn, on the same prompts, with a small
random Llama built on the spot.

vllm           engine + store + parser against `LLM.generate`: wall seconds, A and B
alternating openai         requests a second against a loopback server that waits 50 ms,
as a share of what `concurrency` allows
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nlgeval_lib import datasets, engines, parsers
from nlgeval_lib.engines import Sampling
from nlgeval_lib.engines.store import Store

DELAY = 0.05  # seconds the loopback server takes to answer


def measure(
    prompts: int = 96, tokens: int = 64, rounds: int = 3, calls: int = 60
) -> dict[str, Any]:
    """Ratios of our engines to the bare backends.

    prompts, tokens: size of one vLLM round. rounds: of A and B each, and three times as
    many against bare vLLM, where the ratio is close to 1. calls: requests of each
    worker to the loopback server.
    """
    out: dict[str, Any] = {"openai": _openai(calls)}
    try:
        import vllm  # noqa: F401
    except ImportError as error:
        return out | {"vllm": f"not measured: {error}"}
    with tempfile.TemporaryDirectory() as folder:
        model = _model(Path(folder) / "small")
        with engines.make("vllm", model=str(model), max_model_len=2048) as engine:
            out["vllm"] = _against_bare(engine, prompts, tokens, 3 * rounds)
    return out


def _model(folder: Path) -> Path:
    """A random Llama of about 4 million parameters with a byte-level tokenizer."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {
        token: i for i, token in enumerate(["<unk>", "<s>", "</s>", "<pad>", *alphabet])
    }
    tok = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    names = {
        "unk_token": "<unk>",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
    }
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=256,
        intermediate_size=704,
        num_hidden_layers=5,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=2048,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=3,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tok, **names).save_pretrained(folder)
    return folder


def _seconds(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _against_bare(
    engine: Any, prompts: int, tokens: int, rounds: int
) -> dict[str, Any]:
    """Wall seconds of both; and what each spends outside vLLM's own steps, which the
    machine's moods do not blur.
    """
    from vllm import SamplingParams

    items = datasets.items(datasets.load("mini"))
    pool = [
        f"Instruction: {i}\nOutput: {o}\nScore (1-5):"
        for i, o in zip(items["instruction"], items["output"], strict=True)
    ]
    params = SamplingParams(temperature=0.0, max_tokens=tokens)
    bare = []
    ours = []
    step = engine._llm.llm_engine.step
    within = [0.0]
    outside: tuple[list[float], list[float]] = ([], [])

    def timed_step() -> Any:
        began = time.perf_counter()
        try:
            return step()
        finally:
            within[0] += time.perf_counter() - began

    engine._llm.llm_engine.step = timed_step
    for number in range(-1, rounds):  # the first of each warms up
        # other prompts each round, so that no prefix cache helps either side
        chosen = [
            f"{number} {pool[(number * prompts + i) % len(pool)]}"
            for i in range(prompts)
        ]
        sides = [
            lambda chosen=chosen: engine._llm.generate(
                [f"a {p}" for p in chosen], params, use_tqdm=False
            ),
            lambda chosen=chosen: _stored_and_read(
                engine, [f"b {p}" for p in chosen], tokens
            ),
        ]
        order = (0, 1) if number % 2 else (1, 0)
        for side in order:
            within[0] = 0.0
            took = _seconds(sides[side])
            if number >= 0:
                (bare, ours)[side].append(took)
                outside[side].append(took - within[0])
    engine._llm.llm_engine.step = step
    ratios = [b / a for a, b in zip(bare, ours, strict=True)]
    return {
        "prompts": prompts,
        "tokens each": tokens,
        "bare seconds": round(statistics.median(bare), 3),
        "ours seconds": round(statistics.median(ours), 3),
        "ours / bare": round(statistics.median(ratios), 3),
        "ours / bare, all rounds": [round(one, 3) for one in ratios],
        "bare outside vLLM's steps, seconds": round(statistics.median(outside[0]), 3),
        "ours outside vLLM's steps, seconds": round(statistics.median(outside[1]), 3),
    }


def _stored_and_read(engine: Any, prompts: Sequence[str], tokens: int) -> None:
    with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
        answers = engines.complete(
            engine, list(prompts), Sampling(max_tokens=tokens), store
        )
        for draws in answers:
            parsers.rating(draws[0].text, 1, 5)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    body = json.dumps(
        {
            "id": "x",
            "object": "text_completion",
            "created": 0,
            "model": "slow",
            "choices": [
                {
                    "index": 0,
                    "text": "Score: 4",
                    "finish_reason": "stop",
                    "logprobs": None,
                }
            ],
            "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8},
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    try:
        while True:
            header = await reader.readuntil(b"\r\n\r\n")
            length = next(
                (
                    int(line.split(b":")[1])
                    for line in header.split(b"\r\n")
                    if line.lower().startswith(b"content-length")
                ),
                0,
            )
            await reader.readexactly(length)
            await asyncio.sleep(DELAY)
            writer.write(head + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _serve(pipe: Any) -> None:
    async def main() -> None:
        server = await asyncio.start_server(_answer, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        async with server:
            await server.serve_forever()

    asyncio.run(main())


def _openai(calls: int) -> dict[str, Any]:
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(there,), daemon=True
    )
    server.start()
    port = here.recv()
    out: dict[str, Any] = {"delay, seconds": DELAY}
    try:
        for concurrency in (4, 8, 16):
            engine = engines.make(
                "openai",
                model="slow",
                base_url=f"http://127.0.0.1:{port}/v1",
                concurrency=concurrency,
            )
            engines.complete(
                engine,
                [f"warm {i}" for i in range(concurrency)],
                Sampling(max_tokens=8),
            )
            n = calls * concurrency
            took = []
            for k in range(3):
                asked = [f"{k} {i}" for i in range(n)]
                took.append(
                    _seconds(
                        lambda e=engine, a=asked: engines.complete(
                            e, a, Sampling(max_tokens=8)
                        )
                    )
                )
            out[f"concurrency {concurrency}, share of ideal"] = round(
                calls * DELAY / statistics.median(took), 3
            )
    finally:
        server.terminate()
    return out


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
