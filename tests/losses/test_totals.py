"""What the rules of a knowledge cost together."""

import pytest
import torch

import residuum as rs
from residuum.errors import GroundingError

GROUND = "domain feature = 0..5\npredicate Has(feature) independent\n" + "\n".join(
    f"rule r{n}: Has({n}) & ~Has({(n + 1) % 6}) -> Has({(n + 3) % 6})" for n in range(6)
)
WEIGHTED = GROUND.replace("rule r2:", "rule r2 weight 0.5:").replace(
    "rule r4:", "rule r4 weight 3:"
)
MIXED = """domain tag = B, I, O
domain position sequence
predicate Tag(position, tag)
predicate Long
rule begin: forall i in position: Tag(i, O) -> ~Tag(i + 1, I)
rule ends weight 2: Long -> exists i in position: Tag(i, O)
"""


def drawn(shape, seed=0):
    source = torch.Generator().manual_seed(seed)
    return (3 * torch.randn(shape, generator=source, dtype=torch.float64)).requires_grad_()


def by_hand(penalties, relaxation, combine):
    """Return the total as its definition says, rule by rule."""
    total = None
    for penalty in penalties.values():
        if total is None:
            total = penalty
        elif combine == "conjunction" and "godel" in relaxation:
            total = torch.maximum(total, penalty)
        else:
            total = total + penalty
    if combine == "conjunction" and relaxation == "lukasiewicz":
        total = torch.minimum(total, torch.ones_like(total))
    return total


@pytest.mark.parametrize("combine", ["conjunction", "sum"])
@pytest.mark.parametrize("relaxation", [*rs.PAPER, "lukasiewicz-maxsat", "exact"])
@pytest.mark.parametrize(("text", "block"), [(GROUND, None), (WEIGHTED, None), (GROUND, 3)])
def test_a_total_is_that_of_its_penalties(text, block, relaxation, combine):
    knowledge = rs.compile(rs.loads(text), relaxation, block=block)
    given = drawn((7, 6))
    total = knowledge.total(Has=given, combine=combine)
    expected = by_hand(knowledge(Has=given), relaxation, combine)
    torch.testing.assert_close(total, expected, rtol=1e-12, atol=1e-14)
    slopes = [torch.autograd.grad(one.sum(), given)[0] for one in (total, expected)]
    torch.testing.assert_close(*slopes, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum", "conjunction"])
@pytest.mark.parametrize("relaxation", rs.PAPER)
def test_rules_of_several_kinds_with_lengths_and_reductions(relaxation, reduction):
    knowledge = rs.compile(rs.loads(MIXED), relaxation, reduction=reduction)
    tensors = {"Tag": drawn((4, 5, 3)), "Long": drawn((4,), 1)}
    lengths = torch.tensor([5, 3, 1, 2])
    total = knowledge.total(tensors, lengths=lengths)
    expected = by_hand(knowledge(tensors, lengths=lengths), relaxation, "conjunction")
    torch.testing.assert_close(total, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("relaxation", [*rs.PAPER, "lukasiewicz-maxsat"])
def test_clauses_over_sequences_as_one(relaxation):
    text = MIXED.replace("rule ends weight 2: Long -> exists i in position: Tag(i, O)", "")
    text += "rule inside: forall i in position: Tag(i, B) -> Tag(i + 1, I)\n"
    knowledge = rs.compile(rs.loads(text), relaxation)
    given, lengths = drawn((4, 5, 3)), torch.tensor([5, 3, 0, 2])
    total = knowledge.total(Tag=given, lengths=lengths)
    expected = by_hand(knowledge(Tag=given, lengths=lengths), relaxation, "conjunction")
    torch.testing.assert_close(total, expected, rtol=1e-12, atol=1e-14)
    slopes = [torch.autograd.grad(one.sum(), given)[0] for one in (total, expected)]
    torch.testing.assert_close(*slopes, rtol=1e-9, atol=1e-12)


def test_rules_with_batches_of_their_own_are_broadcast():
    knowledge = rs.compile(
        rs.loads("predicate P\npredicate Q\nrule one: P\nrule two: P -> Q"), "s-product"
    )
    given = {"P": drawn((3,)), "Q": drawn((2, 3), 1)}
    expected = by_hand(knowledge(given), "s-product", "sum")
    assert expected.shape == (2, 3)
    torch.testing.assert_close(knowledge.total(given), expected)


def test_ties_share_the_slope_evenly():
    knowledge = rs.compile(rs.loads(GROUND), "s-godel")
    given = torch.zeros(1, 6, dtype=torch.float64, requires_grad=True)
    [slope] = torch.autograd.grad(knowledge.total(Has=given).sum(), given)
    # Every feature plays every part in one rule: all have the same slope, and that is not 0.
    assert torch.unique(slope).numel() == 1
    assert slope[0, 0] != 0


def test_mistakes_are_told_in_words():
    knowledge = rs.compile(rs.loads(GROUND))
    with pytest.raises(GroundingError, match="expected 'conjunction' or 'sum', got 'max'"):
        knowledge.total(Has=drawn((2, 6)), combine="max")
    with pytest.raises(GroundingError, match="nothing reads `Hat`"):
        knowledge.total(Hat=drawn((2, 6)))
    with pytest.raises(GroundingError, match="no rules"):
        rs.compile(rs.loads("predicate P")).total(P=drawn(()))
