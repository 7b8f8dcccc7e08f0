"""The noise of a draw: made on the model's device for all rows at once, each row's by
its seed and step alone.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from nlgeval_lib.engines import Sampling

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from nlgeval_lib.engines import _sampler  # noqa: E402

VOCABULARY = 4099
SAMPLING = Sampling(temperature=0.8, top_p=0.9, top_k=50, n=2)
KEYS = [(0, 0), (1, -1), (-(2**31), 2**31 - 1), (123456789, -987654321)]


class Seen(TorchDispatchMode):
    """Every operation, and the devices of what has the vocabulary's size."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = 0
        self.devices: set[str] = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        self.operations += 1
        if isinstance(made, torch.Tensor) and made.numel() >= VOCABULARY:
            self.devices.add(made.device.type)
        return made


def step(seeds, device="cpu", steps=1):
    """The scores of the last of so many steps, from even logits; what was done for
    it.
    """
    sampler = _sampler.Sampler(SAMPLING, seeds, None)
    tokens = torch.zeros((len(seeds), 3), dtype=torch.long, device=device)
    logits = torch.zeros((len(seeds), VOCABULARY), device=device)
    for _ in range(steps):
        with Seen() as seen:
            scores = sampler(tokens, logits.clone())
    return scores, seen


def mixed(number: int) -> int:
    """MurmurHash3's finaliser, as its author writes it."""
    number ^= number >> 16
    number = number * 0x85EBCA6B % 2**32
    number ^= number >> 13
    number = number * 0xC2B2AE35 % 2**32
    return number ^ (number >> 16)


def test_the_numbers_are_those_of_the_hash():
    drawn = _sampler.uniform(KEYS, 300, "cpu").double().numpy()
    for row, (first, second) in enumerate(KEYS):
        for place in range(300):
            inner = mixed(place ^ first % 2**32)
            outer = mixed((inner + second) % 2**32)
            expected = (outer + 0.5) / 2**32
            assert drawn[row, place] == pytest.approx(expected, rel=2**-23, abs=2**-25)


def test_the_numbers_look_drawn():
    """Evenly spread, neighbours and rows alike unrelated, the least of a row too."""
    keys = [_sampler._step_key(seed, step) for seed in range(50) for step in range(4)]
    drawn = _sampler.uniform(keys, 5000, "cpu").double().numpy()
    assert drawn.min() > 0 and drawn.max() < 1
    assert stats.kstest(drawn.ravel(), "uniform").pvalue > 1e-4
    assert stats.kstest(drawn.min(1) * 5000, "expon").pvalue > 1e-4
    for one, other in ((drawn[:, 1:], drawn[:, :-1]), (drawn[1:], drawn[:-1])):
        cells = (one * 16).astype(int) * 16 + (other * 16).astype(int)
        assert stats.chisquare(np.bincount(cells.ravel(), minlength=256)).pvalue > 1e-4


def test_a_step_does_the_same_operations_for_any_number_of_rows():
    """No loop over rows: their number changes how much one operation does."""
    counts = {rows: step(list(range(rows)))[1].operations for rows in (1, 2, 64)}
    assert len(set(counts.values())) == 1 and counts[1] > 0


def test_all_that_is_of_the_vocabularys_size_is_made_on_the_models_device():
    _, seen = step([1, 2, 3], device="meta")
    assert seen.devices == {"meta"}


def test_a_rows_noise_hangs_on_its_seed_and_step_alone():
    together, _ = step([7, 8, 9], steps=2)
    for row, seed in enumerate((7, 8, 9)):
        alone, _ = step([seed], steps=2)
        assert torch.equal(alone[0], together[row])
    again, _ = step([9, 9], steps=2)
    assert torch.equal(again[0], together[2]) and torch.equal(again[0], again[1])
    first, _ = step([9], steps=1)
    assert first[0].argmax() != again[0].argmax()
    without, _ = step([None, None])
    assert not torch.equal(without[0], without[1])
