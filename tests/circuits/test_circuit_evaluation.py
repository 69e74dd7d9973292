"""Circuits on tensors: probabilities, gradients and states against sums over all states."""

import math
from collections import Counter

import numpy as np
import pytest
import torch
from ground_formulas import holds, models, random_case, stated
from scipy.stats import chisquare

from residuum.circuits import double_precision
from residuum.circuits.circuit import Circuit, Kind
from residuum.circuits.compiling import compile_circuit
from residuum.circuits.evaluation import Evaluator
from residuum.circuits.propositions import Propositions
from residuum.circuits.selection import Selector

CPU = torch.device("cpu")


def random_weights(sizes, examples, scale=2.0, dtype=torch.float64):
    parts = [torch.log_softmax(scale * torch.randn(examples, n, dtype=dtype), -1) for n in sizes]
    return torch.cat(parts, 1)


def probability(weights, state, sizes):
    """Return the probability of a state, by its definition."""
    offsets = [sum(sizes[:place]) for place in range(len(sizes))]
    places = [start + value for start, value in zip(offsets, state, strict=True)]
    return math.exp(sum(weights[place] for place in places))


def cases(seeds):
    """Yield seeds, sizes, formulas and evaluators of rules that are not constant."""
    for seed in seeds:
        sizes, formula = random_case(seed)
        of = Propositions(sizes)
        root = stated(formula, of)
        if root not in (of.TRUE, of.FALSE):
            evaluator = Evaluator(compile_circuit(of, root), CPU)
            if evaluator.constant is None:
                yield seed, sizes, formula, evaluator


def test_probabilities_and_gradients_are_those_of_all_states():
    for seed, sizes, formula, evaluator in cases(range(400)):
        torch.manual_seed(seed)
        weights = random_weights(sizes, 2).requires_grad_()
        obeying = models(formula, sizes)
        expected = [sum(probability(one, state, sizes) for state in obeying)
                    for one in weights.tolist()]  # fmt: skip
        by_logarithms = evaluator.log_probability(weights)
        torch.testing.assert_close(by_logarithms.exp().tolist(), expected, rtol=1e-9, atol=1e-12)
        [gradient] = torch.autograd.grad(by_logarithms.sum(), weights)
        value, known = evaluator.with_gradient(weights)
        torch.testing.assert_close(value, by_logarithms.detach())
        torch.testing.assert_close(known, gradient)


@pytest.mark.parametrize("examples", [0, 1, 2, 7, 8])
def test_examples_are_evaluated_alike_however_many_go_at_a_time(examples, monkeypatch):
    monkeypatch.setattr(double_precision, "FEWEST", 2)
    monkeypatch.setattr(double_precision, "AT_A_TIME", 1)
    of = Propositions([2, 3, 4])
    roots = [
        of.literal(1, 0b110),  # a sum of leaves
        of.literal(2, 0b100),  # one leaf: no layers
        of.any_of([of.literal(0, 0b10), of.all_of([of.literal(1, 0b11), of.literal(2, 0b1)])]),
    ]
    for root in roots:
        evaluator = Evaluator(compile_circuit(of, root), CPU)
        weights = random_weights(of.sizes, examples).requires_grad_()
        value, gradient = evaluator.with_gradient(weights)
        assert value.shape == (examples,)
        alone, nothing = evaluator.with_gradient(weights, wants_gradient=False)
        assert torch.equal(alone, value)
        assert nothing is None
        expected = evaluator.log_probability(weights)
        torch.testing.assert_close(value, expected.detach())
        torch.testing.assert_close(gradient, torch.autograd.grad(expected.sum(), weights)[0])
        assert not value.requires_grad
        assert not gradient.requires_grad


@pytest.mark.parametrize("classes", [2, 15, 16, 17, 18, 33])
def test_sums_of_few_and_of_many_products_are_those_of_all_states(classes):
    of = Propositions([classes] * 3)
    places = range(classes)
    root = of.any_of(
        of.all_of(
            [of.literal(0, 1 << a), of.literal(1, 1 << b), of.literal(2, 1 << (a + b) % classes)]
        )
        for a in places
        for b in places
    )
    evaluator = Evaluator(compile_circuit(of, root), CPU)
    weights = random_weights(of.sizes, 5).requires_grad_()
    left, right, total = weights.exp().reshape(5, 3, classes).unbind(1)
    pairs = left[:, :, None] * right[:, None, :]
    sums = torch.stack(
        [
            sum(pairs[:, a, b] for a in places for b in places if (a + b) % classes == c)
            for c in places
        ],
        -1,
    )
    expected = (sums * total).sum(-1).log()
    value, gradient = evaluator.with_gradient(weights)
    torch.testing.assert_close(value, expected.detach())
    torch.testing.assert_close(gradient, torch.autograd.grad(expected.sum(), weights)[0])


def test_rows_that_nothing_needs_have_no_effect():
    kinds = [Kind.LEAF, Kind.LEAF, Kind.LEAF, Kind.SUM, Kind.SUM, Kind.PRODUCT]
    circuit = Circuit(
        (3, 2),
        np.array(kinds, np.int8),
        np.array([0, 1, 3, -1, -1, -1]),
        np.array([0, 0, 0, 0, 2, 4, 6]),
        np.array([0, 1, 0, 1, 2, 4]),  # the first sum is not below the root
    )
    weights = random_weights((3, 2), 4).requires_grad_()
    value, gradient = Evaluator(circuit, CPU).with_gradient(weights)
    chances = weights.exp()
    expected = ((chances[:, 0] + chances[:, 1]) * chances[:, 3]).log()
    torch.testing.assert_close(value, expected.detach())
    torch.testing.assert_close(gradient, torch.autograd.grad(expected.sum(), weights)[0])


def test_marginals_follow_from_gradients():
    for seed, sizes, formula, evaluator in cases(range(400, 500)):
        torch.manual_seed(seed)
        weights = random_weights(sizes, 1)
        [numbers] = weights.tolist()
        obeying = {state: probability(numbers, state, sizes) for state in models(formula, sizes)}
        total = sum(obeying.values())
        _, gradient = evaluator.with_gradient(weights)
        offset = 0
        for variable, size in enumerate(sizes):
            own = gradient[0, offset : offset + size]
            prior = weights[0, offset : offset + size].exp()
            marginals = own + (1 - own.sum()) * prior
            expected = [
                sum(p for state, p in obeying.items() if state[variable] == value) / total
                for value in range(size)
            ]
            torch.testing.assert_close(marginals.tolist(), expected, rtol=1e-9, atol=1e-12)
            offset += size


def test_the_most_probable_state_is_the_best_of_all():
    for seed, sizes, formula, evaluator in cases(range(500, 800)):
        torch.manual_seed(seed)
        weights = random_weights(sizes, 2)
        chosen = Selector(evaluator).most_probable(weights).tolist()
        for one, state in zip(weights.tolist(), chosen, strict=True):
            assert holds(formula, state)
            best = max(probability(one, other, sizes) for other in models(formula, sizes))
            assert probability(one, state, sizes) == pytest.approx(best, rel=1e-12)


def test_excluded_values_are_never_chosen_and_contradictions_are_seen():
    for seed, sizes, formula, evaluator in cases(range(800, 900)):
        torch.manual_seed(seed)
        weights = random_weights(sizes, 1)
        excluded = torch.zeros_like(weights, dtype=torch.bool)
        offset, allowed = 0, []
        for size in sizes:
            kept = [v for v in range(size) if v == seed % size or torch.rand(()) < 0.5]
            allowed.append(kept)
            excluded[0, [offset + v for v in range(size) if v not in kept]] = True
            offset += size
        left = [state for state in models(formula, sizes)
                if all(v in kept for v, kept in zip(state, allowed, strict=True))]  # fmt: skip
        selector = Selector(evaluator)
        assert bool(selector.is_possible(excluded)[0]) == bool(left)
        if left:
            given = weights.masked_fill(excluded, -torch.inf)
            assert tuple(selector.most_probable(given)[0].tolist()) in left
            drawn = selector.sample(given, 5, torch.Generator().manual_seed(seed))
            assert {tuple(one) for one in drawn[:, 0].tolist()} <= set(left)


def test_samples_have_the_probabilities_given_the_rule():
    for seed, sizes, formula, evaluator in cases(range(900, 912)):
        torch.manual_seed(seed)
        weights = random_weights(sizes, 1, scale=0.7)
        drawn = Selector(evaluator).sample(weights, 4_000, torch.Generator().manual_seed(seed))
        obeying = models(formula, sizes)
        [numbers] = weights.tolist()
        chances = [probability(numbers, state, sizes) for state in obeying]
        found = Counter(map(tuple, drawn[:, 0].tolist()))
        assert set(found) <= set(obeying)
        expected = [4_000 * p / sum(chances) for p in chances]
        # States that are rarely drawn count as one, as the test wants several of each.
        often = [place for place, number in enumerate(expected) if number > 8]
        rare = 4_000 - sum(expected[place] for place in often)
        counts = [found[obeying[place]] for place in often]
        pairs = [(n, expected[place]) for n, place in zip(counts, often, strict=True)]
        if rare > 8:
            pairs.append((4_000 - sum(counts), rare))
        observed, wanted = (np.array(side) for side in zip(*pairs, strict=True))
        if len(pairs) > 1:
            assert chisquare(observed, wanted / wanted.sum() * observed.sum()).pvalue > 1e-4


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e29])
def test_saturated_weights_give_finite_values_and_gradients(scale):
    for seed, sizes, _, evaluator in cases(range(1000, 1040)):
        torch.manual_seed(seed)
        weights = random_weights(sizes, 3, scale, torch.float32).requires_grad_()
        value = evaluator.log_probability(weights)
        value.sum().backward()
        assert torch.isfinite(value).all()
        assert torch.isfinite(weights.grad).all()
        assert (weights.grad >= 0).all()


def test_what_double_precision_cannot_hold_is_refused():
    of = Propositions([2] * 3)
    root = of.all_of([of.literal(variable, 0b10) for variable in range(3)])
    evaluator = Evaluator(compile_circuit(of, root), CPU)
    weights = torch.tensor([[-1e-9, -20.0] * 3, [-1e-9, -300.0] * 3])
    value, _ = evaluator.with_gradient(weights[:1])
    assert value[0] == pytest.approx(-60)
    assert evaluator.with_gradient(weights) is None


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")  # by torch
def test_second_derivatives_and_transforms_agree_with_finite_differences():
    for _, sizes, _, evaluator in cases(range(1100, 1110)):
        weights = random_weights(sizes, 1).requires_grad_()
        assert torch.autograd.gradgradcheck(evaluator.log_probability, weights)
        jacobian = torch.func.jacrev(evaluator.log_probability)(weights.detach())
        forward = torch.func.jacfwd(evaluator.log_probability)(weights.detach())
        torch.testing.assert_close(jacobian, forward)
        each = torch.func.vmap(evaluator.log_probability)(weights.detach().expand(3, 1, -1))
        alone = evaluator.log_probability(weights.detach())
        torch.testing.assert_close(each[:, 0], alone.expand(3))
