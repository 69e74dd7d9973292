"""Batches see every example of a pass once, and cycles see all examples evenly."""

from collections import Counter

import torch

from residuum.study.digits.data.batches import cycled, one_pass, steps_per_epoch

SEEDS = torch.tensor([0, 20])


def test_a_pass_sees_every_example_once_and_fills_up_the_last_batch():
    order = one_pass(SEEDS, "PAIR", 3, 100, 16)
    assert order.shape == (2, 7 * 16)
    for row in order.tolist():
        assert sorted(row[:100]) == list(range(100))
        assert row[100:] == [-1] * 12
    assert order[0].tolist() != order[1].tolist()
    assert order.tolist() != one_pass(SEEDS, "PAIR", 4, 100, 16).tolist()
    assert steps_per_epoch(96, 16) == 6


def test_an_endless_sequence_is_whole_passes_whichever_way_it_is_cut():
    whole = cycled(SEEDS, "DIGIT", 0, 90, 30)
    for row in whole.tolist():
        for start in (0, 30, 60):
            assert sorted(row[start : start + 30]) == list(range(30))
        assert row[:30] != row[30:60]
    parts = [cycled(SEEDS, "DIGIT", start, 15, 30) for start in range(0, 90, 15)]
    assert torch.equal(torch.cat(parts, 1), whole)
    longer = cycled(SEEDS, "DIGIT", 7, 200, 30)
    assert torch.equal(longer[:, :83], whole[:, 7:])


def test_a_small_set_is_cycled_through_evenly():
    seen = Counter()
    for epoch in range(50):  # 10 of 500 examples in an epoch: all of them in 50
        seen.update(cycled(SEEDS[:1], "DIGIT", epoch * 10, 10, 500)[0].tolist())
    assert set(seen.values()) == {1}
    assert len(seen) == 500
