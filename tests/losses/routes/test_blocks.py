"""A rule evaluated block by block has the same values and gradients as in one block."""

from __future__ import annotations

import pytest
import torch

import residuum as rs
from residuum.relaxations import relaxation_names

GUARDED = "forall a, b in d where a != b: P(a) & Q(b) -> S((a + b) mod 4)"
NEIGHBOURS = "forall i in s, a in d: Tag(i, a) -> ~Tag(i + 1, (a + 1) mod 4)"


def guarded(relaxation, block, **options):
    return rs.compile(
        GUARDED, relaxation, domains={"d": 4}, block=block, reduction="none", **options
    )


def neighbours(relaxation, block, **options):
    return rs.compile(
        NEIGHBOURS,
        relaxation,
        domains={"s": "sequence", "d": 4},
        predicates={"Tag": ("s", "d")},
        block=block,
        reduction="none",
        **options,
    )


def outputs():
    """Return logits whose batches broadcast to (2, 3); some predictions violate the rule."""
    generator = torch.Generator().manual_seed(3)
    shapes = {"P": (2, 1, 4), "Q": (3, 4), "S": (2, 3, 4)}
    return {
        key: 3 * torch.randn(shape, generator=generator, dtype=torch.float64)
        for key, shape in shapes.items()
    }


def sentences():
    generator = torch.Generator().manual_seed(3)
    tags = 3 * torch.randn(5, 6, 4, generator=generator, dtype=torch.float64)
    return {"Tag": tags, "lengths": torch.tensor([6, 0, 1, 4, 2])}


def test_a_block_does_not_cut_an_inner_quantifier_over_the_same_dimension():
    text = "forall x in four: P(x) & (exists x in four: Q(x))"
    half = torch.full((1, 4), 0.5)
    for block in (1, 2, 64):
        rule = rs.compile(
            text, "s-godel", domains={"four": 4}, inputs="probs", block=block, reduction="none"
        )
        mixed = torch.tensor([[0.0, 0.0, 0.0, 1.0]])
        assert rule(P=half, Q=mixed) == 0.5


@pytest.mark.parametrize("relaxation", ["r-product", "s-product", "s-godel", "s-yager(2)"])
def test_second_derivatives_of_blocks_are_refused_even_in_a_sum_with_other_losses(relaxation):
    given = {name: logits.requires_grad_() for name, logits in outputs().items()}
    leaves = list(given.values())
    gradients = []
    for block in (None, 5):
        total = guarded(relaxation, block)(given).sum() + given["P"].pow(3).sum()
        gradients.append(torch.autograd.grad(total, leaves, create_graph=True))
    for whole, found in zip(*gradients, strict=True):
        torch.testing.assert_close(found, whole)
    with pytest.raises(rs.ResiduumError, match="fit one block"):
        torch.autograd.grad(gradients[1][0].square().sum(), given["P"])


@pytest.mark.parametrize("lengths", [None, [0, 0]])
@pytest.mark.parametrize("positions", [0, 1])
def test_sequences_too_short_for_any_grounding_cost_nothing_in_blocks(positions, lengths):
    rule = neighbours("r-product", 1)
    tags = torch.randn(2, positions, 4, requires_grad=True)
    given = {"Tag": tags, "lengths": lengths}
    rule(**given).sum().backward()
    assert rule(**given).tolist() == [0, 0]
    assert tags.grad.tolist() == torch.zeros(2, positions, 4).tolist()
    assert rule.truth(**given).tolist() == [1, 1]
    assert rule.satisfied(**given).tolist() == [True, True]
    assert rule.coverage(**given).tolist() == [0, 0]
    assert rule.violations(**given) == []


@pytest.mark.parametrize("block", [1, 5, 30])
@pytest.mark.parametrize("relaxation", [*relaxation_names(), "s-sugeno-weber(-1/2)"])
def test_truth_is_the_same_in_blocks(relaxation, block):
    for rule, given in ((guarded, outputs()), (neighbours, sentences())):
        whole = rule(relaxation, None).truth(**given)
        torch.testing.assert_close(rule(relaxation, block).truth(**given), whole)


@pytest.mark.parametrize("block", [1, 5, 30])
@pytest.mark.parametrize("relaxation", ["s-product", "r-product", "s-godel", "lukasiewicz"])
def test_gradients_of_truth_are_the_same_in_blocks(relaxation, block):
    found = []
    for size in (None, block):
        leaves = {key: given.requires_grad_() for key, given in outputs().items()}
        truth = guarded(relaxation, size).truth(leaves)
        weighted = (truth * torch.arange(1, 7).reshape(2, 3)).sum()
        gradients = torch.autograd.grad(weighted, list(leaves.values()), materialize_grads=True)
        found.append(gradients)
    torch.testing.assert_close(found[1], found[0])


@pytest.mark.parametrize("block", [1, 5, 30])
def test_satisfaction_and_coverage_are_the_same_in_blocks(block):
    for rule, given in ((guarded, outputs()), (neighbours, sentences())):
        whole, pieces = rule("r-product", None), rule("r-product", block)
        obeyed = whole.satisfied(**given)
        assert obeyed.any()
        assert not obeyed.all()
        assert pieces.satisfied(**given).equal(obeyed)
        assert pieces.coverage(**given).equal(whole.coverage(**given))


@pytest.mark.parametrize("top", [0, 1, 7, 1000])
@pytest.mark.parametrize("block", [1, 5, 30])
def test_the_worst_violations_are_the_same_in_blocks(block, top):
    for rule, given in ((guarded, outputs()), (neighbours, sentences())):
        independent = {name: "independent" for name in given if name != "lengths"}
        whole = rule("s-product", None, outputs=independent).violations(**given, top=top)
        pieces = rule("s-product", block, outputs=independent).violations(**given, top=top)
        assert len(whole) > 7 or top <= 7
        for one, other in zip(whole, pieces, strict=True):
            assert (one.example, one.grounding) == (other.example, other.grounding)
            assert one.degree == pytest.approx(other.degree, rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gradients_of_half_precision_are_rounded_once_and_not_in_each_block(dtype):
    p, q = torch.full((40, 300), 3.0, dtype=dtype), torch.linspace(-2, 1, 40).to(dtype)

    def gradient_of_q(dtype, **options):
        rule = rs.compile(
            "forall x in d: P(x) -> Q",
            "r-dombi(2)",
            domains={"d": 300},
            outputs={"P": "independent"},
            reduction="sum",
            **options,
        )
        leaf = q.to(dtype).requires_grad_()
        rule(P=p.to(dtype), Q=leaf).backward()
        return leaf.grad

    exact = gradient_of_q(torch.float64)
    assert exact.abs().min() > 0
    assert torch.equal(gradient_of_q(dtype, block=3), exact.to(dtype))
