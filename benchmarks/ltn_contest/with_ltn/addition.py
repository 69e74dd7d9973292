"""Digits from sums: of two images only the sum of their digits is known."""

import ltn
import torch


def train(network, batches):
    # The network runs once on an image; LTN's tutorial runs it for each of the ten digits.
    Digit = ltn.Predicate(func=lambda chances, digit: torch.gather(chances, 1, digit))
    And = ltn.Connective(ltn.fuzzy_ops.AndProd())
    Exists = ltn.Quantifier(ltn.fuzzy_ops.AggregPMean(p=2), quantifier="e")
    Forall = ltn.Quantifier(ltn.fuzzy_ops.AggregPMeanError(p=2), quantifier="f")
    a, b = ltn.Variable("a", torch.arange(10)), ltn.Variable("b", torch.arange(10))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    for epoch, (left, right, total) in batches:
        x = ltn.Variable("x", network(left).softmax(1))
        y = ltn.Variable("y", network(right).softmax(1))
        z = ltn.Variable("z", total)
        satisfied = Forall(
            ltn.diag(x, y, z),
            Exists(
                [a, b],
                And(Digit(x, a), Digit(y, b)),
                cond_vars=[a, b, z],
                cond_fn=lambda a, b, z: torch.eq(a.value + b.value, z.value),
                p=(1, 1, 2, 2, 4, 4, 6, 6)[epoch],
            ),
        )
        loss = 1.0 - satisfied.value
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
