"""The padding of a sequence reaches neither penalties nor gradients."""

import pytest
import torch

import residuum as rs
from residuum.relaxations import PAPER

RULES = [
    "forall i in position: Tag(i, A) -> ~Tag(i + 1, B)",
    "forall i in position: exists j in position where j > i: Tag(i, A) -> Tag(j, B)",
]


@pytest.mark.parametrize("relaxation", [*PAPER, "exact"])
@pytest.mark.parametrize("filling", [float("nan"), float("inf"), float("-inf"), 1e30])
@pytest.mark.parametrize("rule", RULES)
def test_padding_with_any_value_changes_neither_penalties_nor_gradients(rule, filling, relaxation):
    compiled = rs.compile(
        rule,
        relaxation,
        domains={"position": "sequence", "tag": ["A", "B"]},
        predicates={"Tag": ("position", "tag")},
        check=True,
        reduction="none",
    )
    torch.manual_seed(0)
    logits = torch.randn(2, 4, 2, dtype=torch.float64)
    logits[1, 2:] = filling
    logits.requires_grad_()
    penalty = compiled(Tag=logits, lengths=torch.tensor([4, 2]))
    alone = [logits[0].detach().requires_grad_(), logits[1, :2].detach().requires_grad_()]
    expected = torch.stack([compiled(Tag=one) for one in alone])
    torch.testing.assert_close(penalty, expected)
    if not penalty.requires_grad:
        return
    (gradients,) = torch.autograd.grad(penalty.sum(), logits, allow_unused=True)
    wanted = torch.autograd.grad(expected.sum(), alone, allow_unused=True)
    if gradients is None:
        return
    torch.testing.assert_close(gradients[0], wanted[0])
    torch.testing.assert_close(gradients[1, :2], wanted[1])
    assert not gradients[1, 2:].any()


@pytest.mark.parametrize("relaxation", [*PAPER, "exact"])
@pytest.mark.parametrize("filling", [float("nan"), 0.0, 50.0])
def test_a_softmax_over_positions_ends_with_the_sequence(filling, relaxation):
    rule = rs.compile(
        "forall i in position: Head(i, i) -> Root(i)",
        relaxation,
        domains={"position": "sequence"},
        predicates={"Head": ("position", "position"), "Root": ("position",)},
        reduction="none",
    )
    generator = torch.Generator().manual_seed(0)
    head = torch.randn(3, 4, 4, dtype=torch.float64, generator=generator)
    root = torch.randn(3, 4, dtype=torch.float64, generator=generator)
    lengths = [4, 2, 1]
    alone = [
        {"Head": head[k, :length, :length].clone(), "Root": root[k, :length].clone()}
        for k, length in enumerate(lengths)
    ]
    for k, length in enumerate(lengths):
        head[k, length:], head[k, :, length:], root[k, length:] = filling, filling, filling
    given = {"Head": head.requires_grad_(), "Root": root.requires_grad_()}
    for ask in (rule, rule.truth, rule.satisfied, rule.coverage):
        expected = torch.stack([ask(one) for one in alone])
        torch.testing.assert_close(ask(given, lengths=lengths), expected)
    total = rule(given, lengths=lengths).sum()
    gradients = torch.autograd.grad(total, list(given.values()), materialize_grads=True)
    for k, (length, one) in enumerate(zip(lengths, alone, strict=True)):
        penalty = rule({name: tensor.requires_grad_() for name, tensor in one.items()})
        of_head, of_root = torch.autograd.grad(penalty, list(one.values()), materialize_grads=True)
        torch.testing.assert_close(gradients[0][k, :length, :length], of_head)
        torch.testing.assert_close(gradients[1][k, :length], of_root)
        assert not gradients[0][k, length:].any()
        assert not gradients[0][k, :, length:].any()
        assert not gradients[1][k, length:].any()


def test_a_rule_about_one_position_takes_the_length_of_one_sequence():
    rule = rs.compile(
        "Tag(0, A)",
        "lukasiewicz",
        domains={"position": "sequence", "tag": ["A", "B"]},
        predicates={"Tag": ("position", "tag")},
        inputs="probs",
    )
    assert rule(Tag=torch.tensor([[0.25, 0.75], [0.5, 0.5]]), lengths=1) == 0.75


def test_lengths_work_under_torch_compile():
    rule = rs.compile(
        RULES[0],
        domains={"position": "sequence", "tag": ["A", "B"]},
        predicates={"Tag": ("position", "tag")},
        reduction="none",
    )
    logits, lengths = torch.randn(2, 4, 2), torch.tensor([4, 2])
    traced = torch.compile(rule, fullgraph=True, backend="aot_eager")
    found = traced(Tag=logits, lengths=lengths)
    torch.testing.assert_close(found, rule(Tag=logits, lengths=lengths))


def test_probabilities_are_checked_inside_sequences_and_not_in_padding():
    rule = rs.compile(
        RULES[0],
        domains={"position": "sequence", "tag": ["A", "B"]},
        predicates={"Tag": ("position", "tag")},
        inputs="probs",
        check=True,
        reduction="none",
    )
    given, lengths = torch.full((2, 4, 2), 0.5), torch.tensor([4, 2])
    given[1, 2:] = torch.nan
    torch.testing.assert_close(rule(Tag=given, lengths=lengths)[1], rule(Tag=given[1, :2]))
    given[1, 1] = 0.9
    with pytest.raises(rs.ResiduumError, match=r"add up to 1, not to 1\.8"):
        rule(Tag=given, lengths=lengths)


@pytest.mark.parametrize("lengths", ["ab", [4, None]])
def test_lengths_that_are_no_numbers_are_refused(lengths):
    rule = rs.compile(
        RULES[0],
        domains={"position": "sequence", "tag": ["A", "B"]},
        predicates={"Tag": ("position", "tag")},
    )
    with pytest.raises(rs.ResiduumError, match="lengths: expected integers, got"):
        rule(Tag=torch.zeros(2, 4, 2), lengths=lengths)


def test_a_mask_in_the_place_of_lengths_is_refused_with_what_to_pass():
    rule = rs.compile(
        RULES[0],
        domains={"position": "sequence", "tag": ["A", "B"]},
        predicates={"Tag": ("position", "tag")},
    )
    mask = torch.tensor([[True, True, False, False], [True] * 4])
    with pytest.raises(rs.ResiduumError, match=r"if this is a mask, pass `mask.sum\(-1\)`"):
        rule(Tag=torch.zeros(2, 4, 2), lengths=mask)
    assert rule(Tag=torch.zeros(2, 4, 2), lengths=mask.sum(-1)).isfinite()
