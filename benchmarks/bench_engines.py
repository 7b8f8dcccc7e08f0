"""How much time do our engines take beside the bare backends, on the same prompts? They
take turns, and the model is a small random Llama built on the spot.

vllm: engine, store and parser against `LLM.generate`: wall seconds, A and B in turn.
openai: requests a second against a loopback server that waits 50 ms, as a share of what
    `concurrency` allows; 256 requests at a time beside plain httpx2, which sends the
    same bodies and reads the answers as JSON: requests a second where the server waits
    0, 50 and 200 ms, and processor time; memory while completions are handed over.

`measure()` returns both as one section of results/bench.json; run as a script to print
them. `bench_ray` uses the model and the server, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import multiprocessing
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nlgeval_lib import datasets, engines, parsers
from nlgeval_lib.engines import Sampling
from nlgeval_lib.engines.store import Store

# by title: a number, or why it was not measured
Results = dict[str, Any]
DELAY = 0.05  # seconds the loopback server takes to answer
LATENCIES = (0.0, 0.05, 0.2)  # the same beside a plain client
OPEN = 256  # requests at a time, there


def measure(
    prompts: int = 96,
    tokens: int = 64,
    rounds: int = 3,
    calls: int = 60,
) -> Results:
    """Ratios of our engines to the bare backends.

    tokens: that the model writes for each of these prompts.
    rounds: of A and B each; three times as many against bare vLLM, where the ratio is
        close to 1.
    """
    results: Results = {"openai": _openai(calls)}
    try:
        import vllm  # noqa: F401
    except ImportError as error:
        results["vllm"] = f"not measured: {error}"
        return results
    with tempfile.TemporaryDirectory() as folder:
        model = _model(Path(folder) / "small")
        with engines.make("vllm", model=str(model), max_model_len=2048) as engine:
            results["vllm"] = _against_bare(engine, prompts, tokens, 3 * rounds)
    return results


def _model(folder: Path) -> Path:
    """A random Llama of about 4 million parameters with a byte-level tokenizer, written
    to a folder; the folder.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    # Every byte is a token, and no two are joined: any text can be written.
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = ["<unk>", "<s>", "</s>", "<pad>", *alphabet]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    bytes_alone = models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>")
    tokenizer = Tokenizer(bytes_alone)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    names = {
        "unk_token": "<unk>",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
    }
    # The same weights every time, so that all engines load one model.
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
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
    fast.save_pretrained(folder)
    return folder


def _seconds(call: Callable[[], Any]) -> float:
    """Wall seconds of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _against_bare(
    engine: Any,
    prompts: int,
    tokens: int,
    rounds: int,
) -> Results:
    """Wall seconds of both; and what each spends outside vLLM's own steps, which the
    machine's moods do not blur.
    """
    from vllm import SamplingParams

    params = SamplingParams(temperature=0.0, max_tokens=tokens)

    # Each side's prompts begin with a letter of their own: no prefix that one has
    # computed helps the other.
    def bare(texts: list[str]) -> None:
        marked = [f"a {text}" for text in texts]
        engine._llm.generate(marked, params, use_tqdm=False)

    def ours(texts: list[str]) -> None:
        marked = [f"b {text}" for text in texts]
        _stored_and_read(engine, marked, tokens)

    calls = {"bare": bare, "ours": ours}
    seconds: dict[str, list[float]] = {"bare": [], "ours": []}
    outside: dict[str, list[float]] = {"bare": [], "ours": []}
    pool = _pool()
    with _timed_steps(engine._llm.llm_engine) as within:
        for number in range(-1, rounds):  # the first of each warms up
            texts = _of_round(number, prompts, pool)
            order = ("bare", "ours") if number % 2 else ("ours", "bare")
            for name in order:
                within[0] = 0.0
                elapsed = _seconds(functools.partial(calls[name], texts))
                if number >= 0:
                    seconds[name].append(elapsed)
                    outside[name].append(elapsed - within[0])
    result: Results = {"prompts": prompts, "tokens each": tokens}
    return result | _compared(seconds, outside)


def _compared(
    seconds: dict[str, list[float]],
    outside: dict[str, list[float]],
) -> Results:
    """Medians of both sides over the rounds, and the ratio of ours to the bare one."""
    # A ratio of each round, whose two sides ran one right after the other.
    ratios = []
    for of_bare, of_ours in zip(seconds["bare"], seconds["ours"], strict=True):
        ratios.append(of_ours / of_bare)
    result: Results = {}
    for name, values in seconds.items():
        result[f"{name} seconds"] = _median(values)
    result["ours / bare"] = _median(ratios)
    result["ours / bare, all rounds"] = [round(ratio, 3) for ratio in ratios]
    for name, values in outside.items():
        result[f"{name} outside vLLM's steps, seconds"] = _median(values)
    return result


def _median(values: list[float]) -> float:
    """The median to three decimals."""
    return round(statistics.median(values), 3)


def _of_round(
    number: int,
    count: int,
    pool: list[str],
) -> list[str]:
    """The prompts of a round: others each time, so that no prefix cache helps either
    side.
    """
    texts = []
    for i in range(count):
        text = pool[(number * count + i) % len(pool)]
        texts.append(f"{number} {text}")
    return texts


def _pool() -> list[str]:
    """Prompts of the miniature data set."""
    items = datasets.items(datasets.load("mini"))
    prompts = []
    for text, output in zip(items["instruction"], items["output"], strict=True):
        prompts.append(f"Instruction: {text}\nOutput: {output}\nScore (1-5):")
    return prompts


@contextlib.contextmanager
def _timed_steps(llm_engine: Any) -> Iterator[list[float]]:
    """Seconds that vLLM's own steps take, added to the list's one entry while the
    context lasts.
    """
    step = llm_engine.step
    within = [0.0]

    def timed_step() -> Any:
        began = time.perf_counter()
        try:
            return step()
        finally:
            within[0] += time.perf_counter() - began

    llm_engine.step = timed_step
    try:
        yield within
    finally:
        llm_engine.step = step


def _stored_and_read(
    engine: Any,
    prompts: list[str],
    tokens: int,
) -> None:
    """Ask our engine, store what it answers, and read the ratings."""
    sampling = Sampling(max_tokens=tokens)
    with tempfile.TemporaryDirectory() as folder, Store(folder) as store:
        answers = engines.complete(engine, prompts, sampling, store)
        for draws in answers:
            parsers.rating(draws[0].text, 1, 5)


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float
) -> None:
    """Answer each request of a connection after `delay` seconds, with one fixed
    completion, until the client closes it.
    """
    choice = {
        "index": 0,
        "text": "Score: 4",
        "finish_reason": "stop",
        "logprobs": None,
    }
    completion = {
        "id": "x",
        "object": "text_completion",
        "created": 0,
        "model": "slow",
        "choices": [choice],
        "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8},
    }
    body = json.dumps(completion).encode()
    head = (
        "HTTP/1.1 200 OK\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    try:
        while True:
            # The body is read to its end and thrown away: the answer is the same for
            # all.
            header = await reader.readuntil(b"\r\n\r\n")
            length = 0
            if match := re.search(rb"(?i)\r\ncontent-length:(.*)\r", header):
                length = int(match[1])
            await reader.readexactly(length)
            await asyncio.sleep(delay)
            writer.write(head + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def _serve(pipe: Any, delay: float) -> None:
    """Serve on a free port, whose number goes to the pipe."""

    async def main() -> None:
        answer = functools.partial(_answer, delay=delay)
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        _, port = server.sockets[0].getsockname()
        pipe.send(port)
        async with server:
            await server.serve_forever()

    asyncio.run(main())


def _openai(calls: int) -> Results:
    """Requests a second of our engine, as a share of what `concurrency` allows; and
    what `_beside_plain` measures.
    """
    results: Results = {"delay, seconds": DELAY}
    with serving() as url:
        for concurrency in (4, 8, 16):
            share = _share_of_ideal(url, calls, concurrency)
            title = f"concurrency {concurrency}, share of ideal"
            results[title] = round(share, 3)
    for latency in LATENCIES:
        with serving(latency) as url:
            title = f"concurrency {OPEN}, {1000 * latency:g} ms"
            results[title] = _beside_plain(url, 100 * calls)
    return results


def _share_of_ideal(
    url: str,
    calls: int,
    concurrency: int,
) -> float:
    """How near our engine comes to one request a worker and delay: 1 at best, the
    median of three rounds.
    """
    engine = engines.make("openai", model="slow", base_url=url, concurrency=concurrency)
    sampling = Sampling(max_tokens=8)
    # The first requests open the connections.
    warming = [f"warm {i}" for i in range(concurrency)]
    engines.complete(engine, warming, sampling)
    seconds = []
    for number in range(3):
        prompts = [f"{number} {i}" for i in range(calls * concurrency)]
        elapsed = _seconds(
            functools.partial(engines.complete, engine, prompts, sampling)
        )
        seconds.append(elapsed)
    return calls * DELAY / statistics.median(seconds)


def _beside_plain(url: str, count: int) -> Results:
    """Our engine and plain httpx2 in turn, each in its own rounds: requests a second
    and processor time a request; and how much memory grows with the completions of the
    last round.
    """
    engine: Any = engines.make("openai", model="slow", base_url=url, concurrency=OPEN)
    sampling = Sampling(max_tokens=8)
    address = f"{url}/completions"
    ratios = []
    processor: dict[str, list[float]] = {"plain httpx2": [], "ours": []}
    growth = 0
    for number in range(4):  # the first warms up
        # Both send the same bodies, made before the clock starts; no round repeats a
        # prompt of another.
        asks = []
        for place in range(count):
            request = engines.Request(prompt=f"{number} {place}")
            (key,) = request.keys(engine, sampling)
            asks.append(engines.Ask.from_draw(request, 0, key, sampling))
        bodies = [engine.body(ask, sampling) for ask in asks]
        began = _clocks()
        asyncio.run(_plain(address, bodies, OPEN))
        between = _clocks()
        before = _resident()
        # Each batch is dropped at once, so that memory that grows is the engine's own.
        for batch in engine.generate(asks, sampling):
            del batch
        growth = _resident() - before
        ended = _clocks()
        if number:
            ratios.append((between[0] - began[0]) / (ended[0] - between[0]))
            processor["plain httpx2"].append(between[1] - began[1])
            processor["ours"].append(ended[1] - between[1])
    results: Results = {
        "ours / plain, requests a second": _median(ratios),
        "ours / plain, all rounds": [round(ratio, 3) for ratio in ratios],
    }
    for name, seconds in processor.items():
        each = 1e6 * statistics.median(seconds) / count
        results[f"{name}, microseconds of a processor a request"] = round(each)
    return results | {"bytes a completion that stay": round(growth / count)}


def _clocks() -> tuple[float, float]:
    """Seconds by the wall clock, and of processor time of this process."""
    return time.perf_counter(), time.process_time()


async def _plain(
    address: str,
    bodies: list[dict[str, Any]],
    concurrency: int,
) -> None:
    """Send all bodies, so many at a time, and read each answer as JSON."""
    import httpx2

    to_send = iter(bodies)
    limits = httpx2.Limits(
        max_connections=concurrency, max_keepalive_connections=concurrency
    )
    async with httpx2.AsyncClient(limits=limits, timeout=60) as client:

        async def worker() -> None:
            for body in to_send:
                answer = await client.post(address, json=body)
                json.loads(answer.content)

        workers = [worker() for _ in range(concurrency)]
        await asyncio.gather(*workers)


def _resident() -> int:
    """The bytes of memory that this process has (Linux; pages of 4 KiB)."""
    _, pages, *_ = Path("/proc/self/statm").read_text().split()
    return int(pages) * 4096


@contextlib.contextmanager
def serving(delay: float = DELAY) -> Iterator[str]:
    """The address of a loopback server that waits `delay` seconds before each answer;
    it ends with the context.
    """
    receiving, sending = multiprocessing.Pipe()
    context: Any = multiprocessing.get_context("spawn")
    server = context.Process(target=_serve, args=(sending, delay), daemon=True)
    server.start()
    try:
        yield f"http://127.0.0.1:{receiving.recv()}/v1"
    finally:
        server.terminate()


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
