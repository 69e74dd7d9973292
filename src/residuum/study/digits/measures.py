"""Measures of trained networks on TEST: accuracy, coherence, and laws of arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import torch
from torch import Tensor

from residuum.study.digits.data.batches import ImageTensors
from residuum.study.digits.data.images import Images
from residuum.study.digits.data.sets import Sets
from residuum.study.digits.networks import CLASSES, Classifiers, predict_images, predict_pairs
from residuum.study.running import Measured
from residuum.training.randomness import purpose, uniform

Votes = Literal["paper", "original"]
ROUNDS: Final = 6
"""Draws of an image for a predicted digit; the most frequent result counts."""

DRAWING_SEED: Final = 20
"""The seed of the images that are drawn for predicted digits."""

OPERATORS: Final = ("Sum", "Product")


class StackedMeasures(NamedTuple):
    """Measures in percent, one number per run, and which examples were right: (runs, examples)."""

    measures: dict[str, Tensor]
    outcomes: dict[str, Tensor]

    def by_run(self, runs: int) -> list[Measured]:
        """Return the measures of each run as plain numbers and arrays."""
        outcomes = {name: rows.cpu().numpy() for name, rows in self.outcomes.items()}
        return [
            Measured(
                {name: float(row[run]) for name, row in self.measures.items()},
                {name: rows[run] for name, rows in outcomes.items()},
            )
            for run in range(runs)
        ]


def measure(
    networks: Mapping[str, Classifiers], images: ImageTensors, sets: Sets, votes: Votes = "paper"
) -> StackedMeasures:
    """Return all measures of each run.

    `digit_accuracy` is over the images of TEST. `digit_accuracy_in_pairs` is over both images of
    each pair of PairTEST, as in the paper's figures.
    """
    results, outcomes = _accuracy_and_coherence(networks, images, sets)
    laws = _Laws(networks, images, votes)
    results |= {
        "commutativity": laws.commutativity(_on(sets.commutativity, images)),
        "associativity": laws.associativity(_on(sets.associativity, images)),
        "distributivity": laws.distributivity(_on(sets.distributivity, images)),
    }
    return StackedMeasures(results, outcomes)


def constant_answers(images: Images, sets: Sets) -> dict[str, float]:
    """Return the accuracies, in percent, of always giving the most frequent answer."""
    left, right = torch.tensor(images.test_labels)[torch.tensor(sets.pair_test.T)]
    wanted = {"digit": torch.tensor(images.test_labels), **operations(left, right)}
    best = {
        name: 100 * float(torch.bincount(labels).max() / len(labels))
        for name, labels in wanted.items()
    }
    return {
        "digit_accuracy": best["digit"],
        "operator_accuracy": (best["Sum"] + best["Product"]) / 2,
    }


def operations(left: Tensor, right: Tensor) -> dict[str, Tensor]:
    """Return the sum and the product of two digits modulo 10, by the name of the network."""
    return {"Sum": (left + right) % 10, "Product": (left * right) % 10}


def percent(is_right: Tensor) -> Tensor:
    """Return the percentage of True along the last dimension."""
    return 100 * is_right.double().mean(-1)


def _on(indices: object, images: ImageTensors) -> Tensor:
    return torch.tensor(indices, device=images.device)


def _accuracy_and_coherence(
    networks: Mapping[str, Classifiers], images: ImageTensors, sets: Sets
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    pairs, labels = _on(sets.pair_test, images), images.test_labels
    everything = torch.arange(len(images.test), device=images.device)
    digits = predict_images(networks["Digit"], images.test, everything[None])
    is_right = digits == labels
    outcomes = {"digit": is_right}
    measures = {
        "digit_accuracy": percent(is_right),
        "digit_accuracy_in_pairs": percent(is_right[:, pairs.flatten()]),
    }
    gold = operations(labels[pairs[:, 0]], labels[pairs[:, 1]])
    expected = operations(digits[:, pairs[:, 0]], digits[:, pairs[:, 1]])
    for name in OPERATORS:
        found = predict_pairs(networks[name], images.test, pairs[None])
        outcomes[f"{name.lower()}_accuracy"] = found == gold[name]
        outcomes[f"{name.lower()}_coherence"] = found == expected[name]
    for what in ("accuracy", "coherence"):
        each = {
            f"{name}_{what}": percent(outcomes[f"{name}_{what}"]) for name in ("sum", "product")
        }
        measures |= each
        measures["operator_accuracy" if what == "accuracy" else what] = _mean(each.values())
    return measures, outcomes


class _Shown(NamedTuple):
    """Digits for which images are drawn; `draw` names the draw, on which its randomness depends."""

    digits: Tensor
    draw: str


class _Laws:
    """Laws of arithmetic, which no network was trained for.

    Where a law applies an operator to a result, an image of TEST that shows this digit is drawn.
    There are six draws, and the most frequent outcome counts; among equally frequent outcomes the
    smallest. With `votes="original"`, as in the authors' code, two drawn images have 26 votes:
    one pair of first draws, and all 25 pairs of the others.
    """

    def __init__(
        self, networks: Mapping[str, Classifiers], images: ImageTensors, votes: Votes
    ) -> None:
        self._networks = networks
        self._images = images.test
        self._votes = votes
        self._by_digit = images.test_labels.argsort(stable=True)
        self._counts = torch.bincount(images.test_labels, minlength=CLASSES)
        self._starts = self._counts.cumsum(0) - self._counts

    def commutativity(self, pairs: Tensor) -> Tensor:
        """Return how often x ∘ y and y ∘ x agree, in percent; the mean of both operators."""
        x, y = pairs.T[:, None]
        return _mean(
            percent(self._apply(name, x, y) == self._apply(name, y, x)) for name in OPERATORS
        )

    def associativity(self, triples: Tensor) -> Tensor:
        """Return how often (x ∘ y) ∘ z and x ∘ (y ∘ z) agree; the mean of both operators."""
        x, y, z = triples.T[:, None]
        shares = []
        for name in OPERATORS:
            first = _Shown(self._apply(name, x, y), f"associativity, {name}, first")
            last = _Shown(self._apply(name, y, z), f"associativity, {name}, last")
            shares.append(percent(self._result(name, first, z) == self._result(name, x, last)))
        return _mean(shares)

    def distributivity(self, triples: Tensor) -> Tensor:
        """Return how often a(b + c) = ab + ac and (b + c)a = ba + ca; the mean of both laws."""
        a, b, c = triples.T[:, None]
        total = _Shown(self._apply("Sum", b, c), "distributivity, sum")
        first = _Shown(self._apply("Product", a, b), "distributivity, a b")
        second = _Shown(self._apply("Product", a, c), "distributivity, a c")
        left = self._result("Product", a, total) == self._result("Sum", first, second)
        first = _Shown(self._apply("Product", b, a), "distributivity, b a")
        second = _Shown(self._apply("Product", c, a), "distributivity, c a")
        right = self._result("Product", total, a) == self._result("Sum", first, second)
        return _mean([percent(left), percent(right)])

    def _result(self, operator: str, left: Tensor | _Shown, right: Tensor | _Shown) -> Tensor:
        """Return the most frequent outcome over the draws."""
        turns = [(turn, turn) for turn in range(ROUNDS)]
        are_both_drawn = isinstance(left, _Shown) and isinstance(right, _Shown)
        if self._votes == "original" and are_both_drawn:
            turns = [(0, 0), *((a, b) for a in range(1, ROUNDS) for b in range(1, ROUNDS))]
        lefts, rights = self._draws(left), self._draws(right)
        votes = torch.stack([
            self._apply(operator, lefts[turn], rights[other]) for turn, other in turns
        ])  # fmt: skip
        counts = torch.stack([(votes == digit).sum(0) for digit in range(CLASSES)], -1)
        # A small bonus makes the smallest digit win among equal counts.
        favour = torch.arange(CLASSES, 0, -1, device=counts.device)
        return (counts * (CLASSES + 1) + favour).argmax(-1)

    def _apply(self, operator: str, left: Tensor, right: Tensor) -> Tensor:
        runs = max(len(left), len(right))
        pairs = torch.stack([left.expand(runs, -1), right.expand(runs, -1)], -1)
        return predict_pairs(self._networks[operator], self._images, pairs)

    def _draws(self, shown: Tensor | _Shown) -> Sequence[Tensor]:
        """Return images for each draw: given ones as they are; for digits, ones that show them."""
        if isinstance(shown, Tensor):
            return [shown] * ROUNDS
        counts, starts = self._counts[shown.digits], self._starts[shown.digits]
        places = torch.arange(shown.digits.shape[-1], device=shown.digits.device)
        of = purpose(shown.draw)
        return [
            self._by_digit[starts + (uniform(DRAWING_SEED, of, turn, places) * counts).long()]
            for turn in range(ROUNDS)
        ]


def _mean(shares: Iterable[Tensor]) -> Tensor:
    return torch.stack(list(shares)).mean(0)
