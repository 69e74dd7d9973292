"""Digits that nobody labelled, learnt from sums; and the same rule, written so that it fails.

Of two images only the sum of their digits is known. That some pair of digits has the sum teaches
what the digits are, under every relaxation tried here. `Left(a) & Right(b) -> Sum(a + b)` is as
true, but with a known sum it only says which pairs cannot be: under r-product each of them costs
the same, however likely it is, and the digits stay at chance. `explain` warns of it beforehand.
Run it with `python examples/digits_from_sums.py`.
"""

import torch

import residuum as rs

SOME_PAIR = "exists a, b in digit: Left(a) & Right(b) & Sum(a + b)"
EVERY_PAIR = "forall a, b in digit: Left(a) & Right(b) -> Sum(a + b)"


def compiled(rule, relaxation):
    """Compile a rule about ten digits and their nineteen sums."""
    return rs.compile(
        rule, relaxation, domains={"digit": 10, "sum": 19}, predicates={"Sum": ("sum",)}
    )


def trained(rule, seed=0):
    """Train on 600 pairs of made-up images; return the share of digits that are right."""
    torch.manual_seed(seed)
    digits = torch.randint(10, (2, 600))  # shown to nobody
    sums = digits.sum(0)
    images = torch.randn(10, 32)[digits] + 0.7 * torch.randn(2, 600, 32)
    network = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(70):
        left, right = network(images)
        loss = rule(Left=left, Right=right, observed={"Sum": sums})
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (network(images).argmax(-1) == digits).float().mean().item()


def main():
    """Print how many digits are right, for each way to write the rule."""
    for rule, relaxations in (
        (SOME_PAIR, ("exact", "s-product", "r-product")),
        (EVERY_PAIR, ("r-product",)),
    ):
        print(rule)
        for relaxation in relaxations:
            print(f"  {relaxation:<9} {trained(compiled(rule, relaxation)):.0%} of the digits")
    outputs = {"Left": torch.zeros(1, 10), "Right": torch.zeros(1, 10)}
    told = compiled(EVERY_PAIR, "r-product").explain(outputs, observed={"Sum": torch.tensor([7])})
    print(*(line for line in told.splitlines() if line.startswith("warning")), sep="\n")


if __name__ == "__main__":
    main()
