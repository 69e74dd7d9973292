"""Binary classification: points inside of a disc and outside."""

import ltn
import torch


def train(network, batches):
    A = ltn.Predicate(torch.nn.Sequential(network, torch.nn.Sigmoid()))
    Not = ltn.Connective(ltn.fuzzy_ops.NotStandard())
    Forall = ltn.Quantifier(ltn.fuzzy_ops.AggregPMeanError(p=2), quantifier="f")
    SatAgg = ltn.fuzzy_ops.SatAgg()
    optimizer = torch.optim.Adam(A.parameters(), lr=0.001)
    for _, (points, labels) in batches:
        inside = ltn.Variable("inside", points[labels])
        outside = ltn.Variable("outside", points[~labels])
        loss = 1.0 - SatAgg(Forall(inside, A(inside)), Forall(outside, Not(A(outside))))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
