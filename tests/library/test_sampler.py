"""The noise of a draw: each row's by its seed and step alone."""

from __future__ import annotations

import numpy as np
from scipy import stats

from nlgeval_lib.engines import Sampling

VOCABULARY = 4099
SAMPLING = Sampling(temperature=0.8, top_p=0.9, top_k=50, n=2)


def step(seeds, steps=1):
    """The scores of the last of so many steps, from even logits."""
    import torch

    from nlgeval_lib.engines import _sampler

    sampler = _sampler.Sampler(SAMPLING, seeds, None)
    tokens = torch.zeros((len(seeds), 3), dtype=torch.long)
    logits = torch.zeros((len(seeds), VOCABULARY))
    for _ in range(steps):
        scores = sampler(tokens, logits.clone())
    return scores


def test_draws_follow_the_probabilities():
    import torch

    from nlgeval_lib.engines import _sampler

    shares = np.array([0.5, 0.3, 0.15, 0.05])
    rows = 4000
    sampler = _sampler.Sampler(Sampling(temperature=1.0), range(rows), None)
    tokens = torch.zeros((rows, 3), dtype=torch.long)
    logits = torch.tensor(np.log(shares), dtype=torch.float32).repeat(rows, 1)
    drawn = sampler(tokens, logits).argmax(-1).numpy()
    counts = np.bincount(drawn, minlength=4)
    assert stats.chisquare(counts, shares * rows).pvalue > 1e-4


def test_a_rows_noise_hangs_on_its_seed_and_step_alone():
    import torch

    together = step([7, 8, 9], steps=2)
    for row, seed in enumerate((7, 8, 9)):
        alone = step([seed], steps=2)
        assert torch.equal(alone[0], together[row])
    again = step([9, 9], steps=2)
    assert torch.equal(again[0], together[2]) and torch.equal(again[0], again[1])
    first = step([9], steps=1)
    assert first[0].argmax() != again[0].argmax()
    without = step([None, None])
    assert not torch.equal(without[0], without[1])
