"""Sums of products against plain loops over whole numbers."""

import random

import numpy as np

from residuum.analysis.products import gathered


def test_sums_are_those_of_a_plain_loop():
    draw = random.Random(3)
    every = [(t, i, j) for t in (7, 2, 9, 4) for i in range(5) for j in range(6)]
    triples = [*draw.sample(every, 40), (11, 0, 0)]  # few of some targets, many of others
    left = np.array([[draw.randrange(-9, 10) for _ in range(3)] for _ in range(5)], dtype=float)
    right = np.array([[draw.randrange(-9, 10) for _ in range(3)] for _ in range(6)], dtype=float)
    expected = {t: [0, 0, 0] for t, _, _ in triples}
    for t, i, j in triples:
        for column in range(3):
            expected[t][column] += int(left[i, column]) * int(right[j, column])
    products = gathered(triples)
    found = dict(zip(products.targets.tolist(), products.sums(left, right).tolist(), strict=True))
    assert found == expected
    assert len({len([1 for t, _, _ in triples if t == target]) for target in expected}) > 2
