"""An entry that a rule reads twice, such as at i and i + 1, gets its gradient only once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import residuum as rs

Degrees = Callable[[int, int], Tensor]
"""The truth of a class at a position."""

UNLIKE = """
    forall i in position:
        (Tag(i, 0) & Tag(i + 1, 1) -> Tag(i + 2, 1)) & (Tag(i, 1) -> ~Tag(i + 2, 0))
"""

RULES: dict[str, tuple[str, list[tuple[int, Callable[[Degrees, int], list[Tensor]]]]]] = {
    "two positions": (
        "forall i in position, a, b in tag where a != b: ~(Tag(i, a) & Tag(i + 1, b))",
        [
            (1, lambda t, i, a=a, b=b: [t(i, a), t(i + 1, b)])
            for a in range(3)
            for b in range(3)
            if a != b
        ],
    ),
    "both sides": (
        "forall i in position: Tag(i, 0) -> Tag(i + 1, 0)",
        [(1, lambda t, i: [t(i, 0), 1 - t(i + 1, 0)])],
    ),
    "three positions, and clauses unlike in length": (
        UNLIKE,
        [
            (2, lambda t, i: [t(i, 0), t(i + 1, 1), 1 - t(i + 2, 1)]),
            (2, lambda t, i: [t(i, 1), t(i + 2, 0)]),
        ],
    ),
}


def worst(rule: str, truths: Tensor, length: int) -> Tensor:
    """Return the largest minimum of all groundings; equal ones share the gradient evenly."""
    groundings = [
        sides(lambda at, tag: truths[at, tag], position)
        for reach, sides in RULES[rule][1]
        for position in range(length - reach)
    ]
    if not groundings:
        return truths.sum() * 0
    least = [pairwise_least(sides) for sides in groundings]
    top = max(one.item() for one in least)
    ties = [one for one in least if one.item() == top]
    return sum(ties[1:], ties[0]) / len(ties)


def pairwise_least(sides: list[Tensor]) -> Tensor:
    least, *others = sides
    for side in others:
        gap = least.item() - side.item()
        least = (least + side) / 2 if gap == 0 else side if gap > 0 else least
    return least


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["softmax", "sigmoid"])
@pytest.mark.parametrize("values", ["all unlike", "few"])
@pytest.mark.parametrize("seed", range(4))
def test_gradients_equal_those_of_the_worst_groundings(rule, kind, values, seed):
    draw = torch.Generator().manual_seed(seed)
    shape = (40, 6, 3)
    drawn = {
        "all unlike": 2 * torch.randn(shape, generator=draw, dtype=torch.float64),
        "few": torch.randint(
            2, shape, generator=draw
        ).double(),  # ties: sigmoid(0) equals its falsity
    }
    logits = drawn[values].requires_grad_()
    lengths = torch.randint(0, 7, (40,), generator=draw)
    is_independent = kind == "sigmoid"
    compiled = rs.compile(
        RULES[rule][0],
        "s-godel",
        domains={"position": "sequence", "tag": 3},
        predicates={"Tag": ("position", "tag")},
        outputs={"Tag": "independent"} if is_independent else {},
        reduction="none",
    )
    penalties = compiled(Tag=logits, lengths=lengths)
    upstream = torch.rand(40, generator=draw, dtype=torch.float64)
    [gradients] = torch.autograd.grad((penalties * upstream).sum(), logits)
    degrees = torch.sigmoid(logits) if is_independent else torch.softmax(logits, -1)
    expected = torch.stack(
        [worst(rule, each, int(length)) for each, length in zip(degrees, lengths, strict=True)]
    )
    [due] = torch.autograd.grad((expected * upstream).sum(), logits)
    torch.testing.assert_close(penalties, expected)
    torch.testing.assert_close(gradients, due, rtol=1e-9, atol=1e-12)
