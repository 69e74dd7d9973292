"""Measures against the paper's appendix, literally: loops over pairs and triples."""

import random
import zlib
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from residuum.study.digits.data.sets import Sets
from residuum.study.digits.measures import measure

LABELS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 3, 8, 0, 1, 7]
"""Of 16 images, each of which is one pixel: its own number."""

RUNS = 3
OPERATIONS = {"Sum": lambda a, b: (a + b) % 10, "Product": lambda a, b: (a * b) % 10}


class Lookup:
    """Classifiers that look up what they say of an image, or a pair, by its numbers."""

    def __init__(self, tables):
        self.runs = len(tables)
        self.tables = tables

    def __call__(self, images):
        numbers = images.flatten(2).long().tolist()
        digits = [
            [table[tuple(one)] for one in row]
            for table, row in zip(self.tables, numbers, strict=True)
        ]
        return torch.nn.functional.one_hot(torch.tensor(digits), 10).double()

    def parameters(self):
        return [torch.zeros(self.runs, 1)]


def made(share_wrong, seed):
    """Tables of networks that err now and then, each run in other places."""
    chance = random.Random(seed)

    def digit(right):
        return chance.randrange(10) if chance.random() < share_wrong else right

    images = range(len(LABELS))
    tables = {"Digit": [{(i,): digit(LABELS[i]) for i in images} for _ in range(RUNS)]}
    for name, operation in OPERATIONS.items():
        tables[name] = [
            {(i, j): digit(operation(LABELS[i], LABELS[j])) for i in images for j in images}
            for _ in range(RUNS)
        ]
    return tables


def some_sets():
    chance = random.Random(5)
    nothing = np.zeros((0, 2), np.int64)

    def drawn(width):
        return np.array([chance.sample(range(len(LABELS)), width) for _ in range(40)])

    return Sets(
        train=nothing, dev=nothing, digit=nothing, pairs=nothing, pair_dev=nothing,
        pair_test=drawn(2), commutativity=drawn(2), associativity=drawn(3), distributivity=drawn(3),
    )  # fmt: skip


SETS = some_sets()
IMAGES = SimpleNamespace(
    test=torch.arange(len(LABELS)).double().reshape(-1, 1, 1),
    test_labels=torch.tensor(LABELS),
    device=torch.device("cpu"),
)


def measured(tables, votes="paper"):
    return measure({name: Lookup(runs) for name, runs in tables.items()}, IMAGES, SETS, votes)


def splitmix(state):
    mask = 2**64 - 1
    state = (state + 0x9E3779B97F4A7C15) & mask
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    return state ^ (state >> 31)


def drawn_image(digit, draw, turn, place):
    """A random image of TEST that shows this digit."""
    state = 0
    for counter in (20, zlib.crc32(draw.encode()), turn, place):
        state = splitmix((state + counter) % 2**64)
    shown = [image for image, label in enumerate(LABELS) if label == digit]
    return shown[int((state >> 11) * 2.0**-53 * len(shown))]


def most_frequent(votes):
    counts = Counter(votes)
    return min(digit for digit in counts if counts[digit] == max(counts.values()))


def has_tie(votes):
    counts = sorted(Counter(votes).values())
    return len(counts) > 1 and counts[-1] == counts[-2]


class Appendix:
    """The measures of one run, as the paper's appendix describes them."""

    def __init__(self, tables, run, votes):
        self.digit, self.sum, self.product = (tables[name][run] for name in tables)
        self.votes = votes
        self.ties = 0

    def share(self, rows, holds):
        return 100 * sum(map(holds, *zip(*enumerate(rows), strict=True))) / len(rows)

    def decided(self, votes):
        self.ties += has_tie(votes)
        return most_frequent(votes)

    def measures(self):
        tests = SETS.pair_test.tolist()
        found = {
            "digit_accuracy": self.share(LABELS, lambda i, label: self.digit[i,] == label),
            "digit_accuracy_in_pairs": np.mean([
                self.share(tests, lambda _, pair, k=k: self.digit[pair[k],] == LABELS[pair[k]])
                for k in (0, 1)
            ]),
        }  # fmt: skip
        for name, table in (("sum", self.sum), ("product", self.product)):
            operation = OPERATIONS[name.title()]
            found[f"{name}_accuracy"] = self.share(
                tests, lambda _, p, t=table, o=operation: t[tuple(p)] == o(*(LABELS[i] for i in p))
            )
            found[f"{name}_coherence"] = self.share(
                tests,
                lambda _, p, t=table, o=operation: t[tuple(p)] == o(*(self.digit[i,] for i in p)),
            )
        found["operator_accuracy"] = (found["sum_accuracy"] + found["product_accuracy"]) / 2
        found["coherence"] = (found["sum_coherence"] + found["product_coherence"]) / 2
        found["commutativity"] = np.mean([
            self.share(SETS.commutativity.tolist(), lambda _, p, t=t: t[*p] == t[*p[::-1]])
            for t in (self.sum, self.product)
        ])  # fmt: skip
        found["associativity"] = np.mean([
            self.share(SETS.associativity.tolist(), self.associates(name, table))
            for name, table in (("Sum", self.sum), ("Product", self.product))
        ])  # fmt: skip
        found["distributivity"] = np.mean([
            self.share(SETS.distributivity.tolist(), holds)
            for holds in (self.distributes_left, self.distributes_right)
        ])  # fmt: skip
        return found

    def associates(self, name, table):
        def holds(place, triple):
            x, y, z = triple
            left, right = [], []
            for turn in range(6):
                image = drawn_image(table[x, y], f"associativity, {name}, first", turn, place)
                left.append(table[image, z])
                image = drawn_image(table[y, z], f"associativity, {name}, last", turn, place)
                right.append(table[x, image])
            return self.decided(left) == self.decided(right)

        return holds

    def summed(self, first, second, draws, place):
        """The sum of two products, each shown by images that are drawn."""
        images = [
            [drawn_image(digit, f"distributivity, {draw}", turn, place) for turn in range(6)]
            for digit, draw in zip((first, second), draws, strict=True)
        ]
        turns = [(turn, turn) for turn in range(6)]
        if self.votes == "original":
            turns = [(0, 0)] + [(i, j) for i in range(1, 6) for j in range(1, 6)]
            assert len(turns) == 26
        return self.decided([self.sum[images[0][i], images[1][j]] for i, j in turns])

    def distributes_left(self, place, triple):
        a, b, c = triple
        total = [
            drawn_image(self.sum[b, c], "distributivity, sum", turn, place) for turn in range(6)
        ]
        products = self.product[a, b], self.product[a, c]
        return self.decided([self.product[a, image] for image in total]) == self.summed(
            *products, ("a b", "a c"), place
        )

    def distributes_right(self, place, triple):
        a, b, c = triple
        total = [
            drawn_image(self.sum[b, c], "distributivity, sum", turn, place) for turn in range(6)
        ]
        products = self.product[b, a], self.product[c, a]
        return self.decided([self.product[image, a] for image in total]) == self.summed(
            *products, ("b a", "c a"), place
        )


@pytest.mark.parametrize("votes", ["paper", "original"])
@pytest.mark.parametrize("share_wrong", [0.2, 0.6])
def test_measures_are_those_of_the_appendix(share_wrong, votes):
    tables = made(share_wrong, seed=1)
    found = measured(tables, votes)
    ties = 0
    for run in range(RUNS):
        appendix = Appendix(tables, run, votes)
        expected = appendix.measures()
        ties += appendix.ties
        assert found.measures.keys() == expected.keys()
        for name, share in expected.items():
            assert float(found.measures[name][run]) == pytest.approx(share, abs=1e-9), name
    assert ties > 10  # so that it matters how they are broken


def test_votes_of_the_authors_differ():
    tables = made(0.6, seed=1)
    paper, original = measured(tables), measured(tables, "original")
    differing = {
        name for name in paper.measures
        if not torch.equal(paper.measures[name], original.measures[name])
    }  # fmt: skip
    assert differing == {"distributivity"}


def test_outcomes_say_which_examples_are_right():
    tables = made(0.4, seed=2)
    found = measured(tables)
    for run in range(RUNS):
        digit, product = tables["Digit"][run], tables["Product"][run]
        assert found.outcomes["digit"][run].tolist() == [
            digit[i,] == label for i, label in enumerate(LABELS)
        ]
        assert found.outcomes["product_coherence"][run].tolist() == [
            product[i, j] == digit[i,] * digit[j,] % 10 for i, j in SETS.pair_test.tolist()
        ]
    for name in ("sum_accuracy", "sum_coherence", "product_accuracy", "product_coherence"):
        shares = 100 * found.outcomes[name].double().mean(1)
        torch.testing.assert_close(shares, found.measures[name])


def test_coherence_is_with_what_digit_says_be_it_right_or_wrong():
    tables = made(0.0, seed=3)
    for run in range(RUNS):
        tables["Digit"][run] = {
            key: (digit + 1) % 10 for key, digit in tables["Digit"][run].items()
        }
        for name, operation in OPERATIONS.items():
            tables[name][run] = {
                (i, j): operation(LABELS[i] + 1, LABELS[j] + 1) for i, j in tables[name][run]
            }
    found = measured(tables).measures
    assert found["digit_accuracy"].tolist() == [0.0] * RUNS
    assert found["sum_accuracy"].tolist() == [0.0] * RUNS
    assert found["coherence"].tolist() == [100.0] * RUNS


@pytest.mark.parametrize("votes", ["paper", "original"])
def test_who_errs_nowhere_scores_100_everywhere(votes):
    for name, shares in measured(made(0.0, seed=4), votes).measures.items():
        assert shares.tolist() == [100.0] * RUNS, name
