"""What stands beyond the end of a sequence reaches neither penalties nor gradients."""

import pytest
import torch

import residuum as rs

RULES = [
    "forall i in position: Tag(i, A) -> ~Tag(i + 1, B)",
    "forall i in position: exists j in position where j > i: Tag(i, A) -> Tag(j, B)",
]


@pytest.mark.parametrize("relaxation", [*rs.PAPER, "exact"])
@pytest.mark.parametrize("filling", [float("nan"), float("inf"), float("-inf"), 1e30])
@pytest.mark.parametrize("rule", RULES)
def test_padding_of_any_kind_is_never_seen(rule, filling, relaxation):
    compiled = rs.compile(
        rule,
        relaxation,
        domains={"position": "sequence", "tag": ["A", "B"]},
        predicates={"Tag": ("position", "tag")},
        check=True,
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
    (slopes,) = torch.autograd.grad(penalty.sum(), logits, allow_unused=True)
    wanted = torch.autograd.grad(expected.sum(), alone, allow_unused=True)
    if slopes is None:
        return
    torch.testing.assert_close(slopes[0], wanted[0])
    torch.testing.assert_close(slopes[1, :2], wanted[1])
    assert not slopes[1, 2:].any()


def test_lengths_work_under_torch_compile():
    rule = rs.compile(
        RULES[0],
        domains={"position": "sequence", "tag": ["A", "B"]},
        predicates={"Tag": ("position", "tag")},
    )
    logits, lengths = torch.randn(2, 4, 2), torch.tensor([4, 2])
    eager = rule(Tag=logits, lengths=lengths)
    traced = torch.compile(rule, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(traced(Tag=logits, lengths=lengths), eager)


def test_probabilities_are_checked_before_the_ends_of_sequences_and_not_beyond():
    rule = rs.compile(
        RULES[0],
        domains={"position": "sequence", "tag": ["A", "B"]},
        predicates={"Tag": ("position", "tag")},
        inputs="probs",
        check=True,
    )
    given, lengths = torch.full((2, 4, 2), 0.5), torch.tensor([4, 2])
    given[1, 2:] = torch.nan
    torch.testing.assert_close(rule(Tag=given, lengths=lengths)[1], rule(Tag=given[1, :2]))
    given[1, 1] = 0.9
    with pytest.raises(rs.ResiduumError, match=r"add up to 1, not to 1\.8"):
        rule(Tag=given, lengths=lengths)
