"""A number for each patient, by the predicate that two numbers are about equal."""

import ltn
import torch


def train(network, batches):
    f = ltn.Function(network)
    Eq = ltn.Predicate(func=lambda u, v: torch.exp(-0.05 * torch.norm(u - v, dim=1)))
    Forall = ltn.Quantifier(ltn.fuzzy_ops.AggregPMeanError(p=2), quantifier="f")
    optimizer = torch.optim.Adam(f.parameters(), lr=0.0005)
    for _, (features, numbers) in batches:
        x, y = ltn.Variable("x", features), ltn.Variable("y", numbers[:, None])
        loss = 1.0 - Forall(ltn.diag(x, y), Eq(f(x), y)).value
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
