"""Random numbers are hashes of counters: uniform, independent, and the same everywhere."""

import numpy as np
import pytest
import torch
from scipy import stats

from residuum.training.randomness import hashed, kept, permutations, purpose, uniform


def splitmix(state: int) -> int:
    """The finaliser of splitmix64 on Python's whole numbers."""
    mask = 2**64 - 1
    state = (state + 0x9E3779B97F4A7C15) & mask
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    return state ^ (state >> 31)


def test_hashes_are_those_of_splitmix64():
    # The first outputs of splitmix64 seeded with 0: state k is k times the golden constant.
    golden = 0x9E3779B97F4A7C15
    states = [(k * golden) & (2**64 - 1) for k in range(3)]
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [splitmix(state) for state in states] == expected
    signed = torch.tensor([s - 2**64 if s >= 2**63 else s for s in states])
    assert [int(x) % 2**64 for x in hashed(signed)] == expected


def test_counters_are_hashed_one_after_the_other():
    expected = splitmix((splitmix(20) + 3) & (2**64 - 1))
    assert int(hashed(20, 3)) % 2**64 == expected
    assert int(hashed(3, 20)) % 2**64 != expected


def test_random_numbers_do_not_depend_on_other_runs():
    seeds, places = torch.tensor([0, 20, 50]), torch.arange(1000)
    together = uniform(seeds[:, None], purpose("noise"), places)
    for row, seed in zip(together, seeds, strict=True):
        assert torch.equal(row, uniform(seed, purpose("noise"), places))


@pytest.mark.parametrize("seed", [0, 1, 20])
def test_uniform_numbers_are_uniform_and_seeds_unrelated(seed):
    numbers = uniform(seed, torch.arange(100_000)).numpy()
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert stats.kstest(numbers, "uniform").pvalue > 1e-4
    other = uniform(seed + 1, torch.arange(100_000)).numpy()
    assert abs(np.corrcoef(numbers, other)[0, 1]) < 0.015
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 0.015


def test_permutations_hold_everything_once_and_differ():
    seeds, cycles = torch.tensor([[0], [20]]), torch.arange(3)
    found = permutations(100, seeds, cycles)
    assert found.shape == (2, 3, 100)
    assert torch.equal(found.sort(-1).values, torch.arange(100).expand(2, 3, 100))
    assert len({tuple(row.tolist()) for row in found.reshape(6, 100)}) == 6


def test_places_of_a_permutation_are_equally_likely():
    found = permutations(6, torch.arange(20_000))
    counts = torch.stack([(found == value).sum(0) for value in range(6)])
    chi = ((counts - 20_000 / 6) ** 2 / (20_000 / 6)).sum()
    assert stats.chi2.sf(float(chi), 25) > 1e-4


@pytest.mark.parametrize("probability", [0.0, 0.25, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("width", [1, 7, 128])
def test_dropout_keeps_the_expected_share(probability, width):
    keys = hashed(7, torch.arange(4000))
    share = kept(probability, keys, width).double().mean()
    assert kept(probability, keys, width).shape == (4000, width)
    deviation = (probability * (1 - probability) / (4000 * width)) ** 0.5
    assert abs(float(share) - probability) <= 5 * deviation + 1e-9
