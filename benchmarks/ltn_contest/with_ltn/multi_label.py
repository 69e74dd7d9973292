"""Crabs that are blue or orange, and male or female: four labels, and rules that exclude two."""

import ltn
import torch


def train(network, batches):
    # The network runs once on a batch; LTN's tutorial runs it for each atom.
    P = ltn.Predicate(func=lambda chances, label: torch.sum(chances * label, 1))
    blue, orange, male, female = (ltn.Constant(one_hot) for one_hot in torch.eye(4))
    Not = ltn.Connective(ltn.fuzzy_ops.NotStandard())
    And = ltn.Connective(ltn.fuzzy_ops.AndProd())
    Forall = ltn.Quantifier(ltn.fuzzy_ops.AggregPMeanError(p=2), quantifier="f")
    SatAgg = ltn.fuzzy_ops.SatAgg()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    for _, (crabs, labels) in batches:
        chances = network(crabs).sigmoid()
        x = ltn.Variable("x", chances)
        x_blue, x_orange, x_male, x_female = (
            ltn.Variable(name, chances[labels[:, k]])
            for k, name in enumerate(("x_blue", "x_orange", "x_male", "x_female"))
        )
        loss = 1.0 - SatAgg(
            Forall(x_blue, P(x_blue, blue)),
            Forall(x_orange, P(x_orange, orange)),
            Forall(x_male, P(x_male, male)),
            Forall(x_female, P(x_female, female)),
            Forall(x, Not(And(P(x, blue), P(x, orange)))),
            Forall(x, Not(And(P(x, male), P(x, female)))),
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
