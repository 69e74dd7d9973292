"""What is worked out and kept in inference mode is good for training afterwards."""

import pytest
import torch

import residuum as rs
from residuum.relaxations import PAPER

HEAD = """domain tag = 0..2
domain position sequence
predicate Tag(position, tag)
"""
CLAUSES = """rule begin: forall i in position: Tag(i, 0) & ~Tag(i, 1) -> ~Tag(i + 1, 1)
rule never: forall i in position: ~(Tag(i, 2) & Tag(i + 1, 2) & Tag(i + 2, 2))
"""
LOOKED_UP = """rule sums: forall i in position, a in tag:
    (exists b in tag: Tag(i, (a * b + 1) mod 3) & Tag(i + 1, b)) -> Tag(i, (a * a) mod 3)
"""
LENGTHS = torch.tensor([5, 3, 0, 2])


def slopes(knowledge, given, lengths):
    """Return first slopes, and those of their squares: both use what is kept."""
    total = knowledge.total(Tag=given, lengths=lengths).sum()
    [first] = torch.autograd.grad(total, given, create_graph=True)
    return first.detach(), torch.autograd.grad((first**2).sum(), given)[0]


@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("rules", [CLAUSES, LOOKED_UP])
@pytest.mark.parametrize("relaxation", [*PAPER, "exact"])
def test_sequences_first_met_in_inference_mode_can_be_trained_with(relaxation, rules, lengths):
    source = torch.Generator().manual_seed(0)
    given = torch.randn(4, 5, 3, generator=source).requires_grad_()
    knowledge = rs.compile(rs.loads(HEAD + rules), relaxation, reduction="none")
    with torch.inference_mode():
        knowledge.total(Tag=given, lengths=lengths)
    expected = slopes(
        rs.compile(rs.loads(HEAD + rules), relaxation, reduction="none"), given, lengths
    )
    for mine, theirs in zip(slopes(knowledge, given, lengths), expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=0, atol=0)
