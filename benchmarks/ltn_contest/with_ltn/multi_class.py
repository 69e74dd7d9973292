"""Three species of irises, of which each flower has one."""

import ltn
import torch


class Species(torch.nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, flowers, species):
        return torch.sum(self.network(flowers).softmax(1) * species, 1)


def train(network, batches):
    P = ltn.Predicate(Species(network))
    classes = [ltn.Constant(one_hot) for one_hot in torch.eye(3)]
    Forall = ltn.Quantifier(ltn.fuzzy_ops.AggregPMeanError(p=2), quantifier="f")
    SatAgg = ltn.fuzzy_ops.SatAgg()
    optimizer = torch.optim.Adam(P.parameters(), lr=0.001)
    for _, (flowers, species) in batches:
        groups = [ltn.Variable(f"x{k}", flowers[species == k]) for k in range(3)]
        loss = 1.0 - SatAgg(*(Forall(x, P(x, k)) for x, k in zip(groups, classes, strict=True)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
