"""The total of a knowledge: rules with weights, combined for each example, then reduced."""

from itertools import product

import pytest
import torch

import residuum as rs
from residuum.errors import GroundingError
from residuum.losses import CompiledRule
from residuum.relaxations import PAPER

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
CLAUSES = MIXED.replace("rule ends weight 2: Long -> exists i in position: Tag(i, O)", "") + (
    "rule inside: forall i in position: Tag(i, B) -> Tag(i + 1, I)\n"
)
REDUCTIONS = ("none", "mean", "sum", "conjunction")


def drawn(shape, seed=0):
    source = torch.Generator().manual_seed(seed)
    return (3 * torch.randn(shape, generator=source, dtype=torch.float64)).requires_grad_()


def together(penalties, relaxation, combine="conjunction"):
    """Return what several numbers cost together, as the definition of the logic says."""
    if combine == "conjunction" and "godel" in relaxation:
        return torch.stack(penalties).amax(0)
    total = sum(penalties)
    if combine == "conjunction" and relaxation == "lukasiewicz":
        return torch.minimum(total, torch.ones_like(total))
    return total


def reduced(penalties, relaxation, reduction):
    """Return the penalties of a batch, reduced as the definition says."""
    if reduction == "none":
        return penalties
    if reduction == "conjunction":
        return together(list(penalties.flatten()), relaxation)
    total = sum(penalties.flatten())
    return total / penalties.numel() if reduction == "mean" else total


def by_hand(text, relaxation, given, *, reduction="mean", combine="conjunction", lengths=None):
    """Return the total from rules that are compiled and evaluated one by one."""
    knowledge = rs.loads(text)
    weighted = []
    for rule in knowledge.rules.values():
        alone = rs.compile(
            rule.formula, relaxation, knowledge=knowledge, weight=1.0, reduction="none"
        )
        read = {key: given[key] for key in alone.forms}
        ends = lengths if "position" in str(rule.formula) else None
        weighted.append(rule.weight * alone(read, lengths=ends))
    return reduced(together(weighted, relaxation, combine), relaxation, reduction)


def assert_same(total, expected, leaf):
    assert total.shape == expected.shape
    torch.testing.assert_close(total, expected, rtol=1e-12, atol=1e-14)
    # Rules of one knowledge share a graph, which is needed again for the next of them.
    gradients = [
        torch.autograd.grad(one.sum(), leaf, retain_graph=True)[0] for one in (total, expected)
    ]
    torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("relaxation", ["s-godel", "r-godel"])
def test_under_godel_the_mean_is_over_examples_and_not_over_rules(relaxation):
    knowledge = rs.compile(
        rs.loads("predicate P\npredicate Q\nrule one: P\nrule two: Q"), relaxation, inputs="probs"
    )
    given = {"P": torch.tensor([0.1, 0.8]), "Q": torch.tensor([0.9, 0.2])}
    parts = knowledge(given)
    assert [float(part) for part in parts.values()] == pytest.approx([0.55, 0.45])
    # The worse rule costs 0.9 in the first example and 0.8 in the second.
    assert float(knowledge.total(given)) == pytest.approx(0.85)


def test_weights_count_in_the_total_and_not_in_the_penalty_of_a_rule():
    knowledge = rs.compile(
        rs.loads("predicate P\npredicate Q\nrule one weight 3: P\nrule two weight 0.5: Q"),
        "lukasiewicz-maxsat",
        inputs="probs",
    )
    given = {"P": torch.tensor([0.5, 1.0]), "Q": torch.tensor([0.0, 0.5])}
    parts = knowledge(given)
    assert [float(part) for part in parts.values()] == [0.25, 0.75]
    assert float(knowledge.total(given)) == 3 * 0.25 + 0.5 * 0.75
    assert knowledge.weights == {"one": 3.0, "two": 0.5}
    assert float(knowledge.rules["one"](P=given["P"])) == 0.25


@pytest.mark.parametrize(
    ("relaxation", "combine"),
    [*product([*PAPER, "lukasiewicz-maxsat"], ["conjunction", "sum"]), ("exact", "sum")],
)
@pytest.mark.parametrize(("text", "block"), [(GROUND, None), (WEIGHTED, None), (GROUND, 3)])
@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_a_total_is_that_of_its_rules_one_by_one(text, block, relaxation, combine, reduction):
    knowledge = rs.compile(rs.loads(text), relaxation, block=block, reduction=reduction)
    given = drawn((7, 6))
    total = knowledge.total(Has=given, combine=combine)
    expected = by_hand(text, relaxation, {"Has": given}, combine=combine, reduction=reduction)
    assert_same(total, expected, given)


@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_an_exact_total_is_the_probability_that_all_rules_hold_together(reduction):
    given = drawn((3, 6))
    total = rs.compile(rs.loads(GROUND), "exact", reduction=reduction).total(Has=given)
    chances = torch.sigmoid(given)
    together = 0.0
    for has in product([False, True], repeat=6):
        if all(not has[n] or has[(n + 1) % 6] or has[(n + 3) % 6] for n in range(6)):
            together = together + torch.where(torch.tensor(has), chances, 1 - chances).prod(-1)
    expected = reduced(-torch.log(together), "exact", reduction)
    assert_same(total, expected, given)


def test_an_exact_total_has_no_place_for_weights():
    knowledge = rs.compile(rs.loads(WEIGHTED), "exact")
    with pytest.raises(GroundingError, match=r"`r2` has weight 0\.5"):
        knowledge.total(Has=drawn((2, 6)))
    assert torch.isfinite(knowledge.total(Has=drawn((2, 6)), combine="sum"))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("text", [MIXED, CLAUSES])
@pytest.mark.parametrize("relaxation", [*PAPER, "lukasiewicz-maxsat"])
def test_a_total_over_padded_sequences_is_that_of_its_rules_one_by_one(relaxation, text, reduction):
    knowledge = rs.compile(rs.loads(text), relaxation, reduction=reduction)
    tensors = {"Tag": drawn((4, 5, 3))} | ({"Long": drawn((4,), 1)} if text is MIXED else {})
    lengths = torch.tensor([5, 3, 0, 2])
    total = knowledge.total(tensors, lengths=lengths)
    expected = by_hand(text, relaxation, tensors, reduction=reduction, lengths=lengths)
    assert_same(total, expected, tensors["Tag"])


@pytest.mark.parametrize("relaxation", PAPER)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("text", [WEIGHTED, GROUND])
def test_the_penalty_of_each_rule_is_reduced_over_the_batch(text, relaxation, reduction):
    knowledge = rs.loads(text)
    given = drawn((7, 6))
    found = rs.compile(knowledge, relaxation, reduction=reduction)(Has=given)
    for name, rule in knowledge.rules.items():
        alone = rs.compile(rule.formula, relaxation, knowledge=knowledge, reduction="none")
        expected = reduced(alone(Has=given), relaxation, reduction)
        assert_same(found[name], expected, given)


def test_a_total_of_rules_that_are_alike_needs_no_evaluation_of_each(monkeypatch):
    knowledge = rs.compile(rs.loads(GROUND), "r-product")
    given = drawn((7, 6))
    expected = by_hand(GROUND, "r-product", {"Has": given})

    def refuse(*_):
        raise AssertionError("the rules are evaluated one by one")

    monkeypatch.setattr(CompiledRule, "of_each_rule", refuse)
    assert_same(knowledge.total(Has=given), expected, given)


@pytest.mark.parametrize("reduction", ["none", "mean"])
def test_rules_with_batches_of_their_own_are_broadcast(reduction):
    text = "predicate P\npredicate Q\nrule one: P\nrule two: P -> Q"
    knowledge = rs.compile(rs.loads(text), "s-product", reduction=reduction)
    given = {"P": drawn((3,)), "Q": drawn((2, 3), 1)}
    total = knowledge.total(given)
    assert total.shape == ((2, 3) if reduction == "none" else ())
    assert_same(total, by_hand(text, "s-product", given, reduction=reduction), given["P"])


@pytest.mark.parametrize("text", [GROUND, WEIGHTED])
@pytest.mark.parametrize("relaxation", PAPER)
def test_an_empty_batch_costs_0_with_gradients_of_0(relaxation, text):
    knowledge = rs.compile(rs.loads(text), relaxation)
    given = torch.zeros(0, 6, requires_grad=True)
    for penalty in (knowledge.total(Has=given), *knowledge(Has=given).values()):
        assert penalty.shape == ()
        assert penalty == 0
    knowledge.total(Has=given).backward()
    assert given.grad.shape == (0, 6)


def test_one_example_without_a_batch_costs_one_number_in_any_case():
    given = drawn((6,))
    for reduction in REDUCTIONS:
        knowledge = rs.compile(rs.loads(GROUND), "s-product", reduction=reduction)
        expected = by_hand(GROUND, "s-product", {"Has": given})
        assert_same(knowledge.total(Has=given), expected, given)
        assert all(part.shape == () for part in knowledge(Has=given).values())


def test_equal_penalties_share_the_gradient_evenly():
    knowledge = rs.compile(rs.loads(GROUND), "s-godel")
    given = torch.zeros(1, 6, dtype=torch.float64, requires_grad=True)
    [gradient] = torch.autograd.grad(knowledge.total(Has=given), given)
    # Every feature plays every part in one rule, so that all gradients are equal. None is 0.
    assert torch.unique(gradient).numel() == 1
    assert gradient[0, 0] != 0


def test_mistakes_are_told_in_words():
    knowledge = rs.compile(rs.loads(GROUND))
    with pytest.raises(GroundingError, match="expected 'conjunction' or 'sum', got 'max'"):
        knowledge.total(Has=drawn((2, 6)), combine="max")
    with pytest.raises(GroundingError, match="nothing reads `Hat`"):
        knowledge.total(Hat=drawn((2, 6)))
    with pytest.raises(GroundingError, match="at least one rule"):
        rs.compile(rs.loads("predicate P")).total(P=drawn(()))
