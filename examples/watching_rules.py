"""Rules that are watched in training: before it, in each epoch, and after it, by plain logging.

Digits have labels; their sums, and whether these are even, are learnt from rules alone. Before
training, `diagnose` says which share of the broken groundings has no gradient: as long as the
network is unsure, all those of the sum rule under Łukasiewicz, none under s-product, and under
r-product all, which is over once labels have made it sure. In training the weight of the rules
grows with the epoch, and `metrics` gives numbers for any logger: watch `satisfied` beside the
penalty, which is smallest at the start. Run it with `python examples/watching_rules.py`.
"""

import logging
import sys

import torch

import residuum as rs

KNOWLEDGE = rs.loads("""
    domain digit = 0..4
    domain total = 0..8
    predicate Left(digit)
    predicate Right(digit)
    predicate Sum(total)
    predicate Even
    rule sum: forall a, b in digit: Left(a) & Right(b) -> Sum(a + b)
    rule even: forall s in total where s mod 2 = 0: Sum(s) -> Even
    rule odd: forall s in total where s mod 2 = 1: Sum(s) -> ~Even
""")
LOGGED = ("sum/penalty", "sum/satisfied", "even/satisfied", "odd/satisfied")
log = logging.getLogger("rules")


def main(seed=0):
    """Train a network, and log what becomes of its rules."""
    torch.manual_seed(seed)
    digits = torch.randint(5, (2, 500))
    images = torch.cat([torch.eye(5)[one] for one in digits], 1)
    images = images + 0.1 * torch.randn(500, 10)
    network = torch.nn.Sequential(torch.nn.Linear(10, 64), torch.nn.ReLU(), torch.nn.Linear(64, 20))

    def outputs():
        left, right, total, even = network(images).split([5, 5, 9, 1], 1)
        return {"Left": left, "Right": right, "Sum": total, "Even": even.squeeze(1)}

    for relaxation in ("lukasiewicz", "r-product", "s-product"):
        found = rs.compile(KNOWLEDGE, relaxation).diagnose(outputs())
        dead = found["sum/without_gradient"]
        log.info(
            "untrained, %s: %.0f%% of the broken sums have no gradient", relaxation, 100 * dead
        )

    grows = rs.ramp(0.1, 1.0, epochs=20)
    rules = rs.compile(KNOWLEDGE, "r-product", weights=dict.fromkeys(KNOWLEDGE.rules, grows))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for epoch in range(101):
        rules.epoch = epoch
        given = outputs()
        loss = rs.facts(given["Left"], digits[0]) + rs.facts(given["Right"], digits[1])
        loss = loss + rules.total(given)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 20 == 0:
            found = rules.metrics(given)
            numbers = "  ".join(f"{name} {found[name]:.2f}" for name in LOGGED)
            log.info("epoch %3d  weight %.2f  %s", epoch, grows(epoch), numbers)
    right = (outputs()["Sum"].argmax(1) == digits.sum(0)).float().mean().item()
    log.info("right sums: %.0f%%", 100 * right)


if __name__ == "__main__":
    log.setLevel(logging.INFO)
    log.addHandler(logging.StreamHandler(sys.stdout))
    main()
