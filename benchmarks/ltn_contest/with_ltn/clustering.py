"""Four clusters from rules alone: close points lie in one cluster, distant points do not."""

import ltn
import torch


class Cluster(torch.nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, points, clusters):
        return torch.sum(self.network(points).softmax(1) * clusters, 1)


def train(network, batches):
    C = ltn.Predicate(Cluster(network))
    And = ltn.Connective(ltn.fuzzy_ops.AndProd())
    Not = ltn.Connective(ltn.fuzzy_ops.NotStandard())
    Equiv = ltn.Connective(
        ltn.fuzzy_ops.Equiv(ltn.fuzzy_ops.AndProd(), ltn.fuzzy_ops.ImpliesReichenbach())
    )
    Exists = ltn.Quantifier(ltn.fuzzy_ops.AggregPMean(p=1), quantifier="e")
    Forall = ltn.Quantifier(ltn.fuzzy_ops.AggregPMeanError(p=4), quantifier="f")
    SatAgg = ltn.fuzzy_ops.SatAgg()
    c = ltn.Variable("c", torch.eye(4))
    optimizer = torch.optim.Adam(C.parameters(), lr=0.001)
    for epoch, (points, _) in batches:
        p = 1 if epoch <= 100 else 6
        x, y = ltn.Variable("x", points), ltn.Variable("y", points)
        loss = 1.0 - SatAgg(
            Forall(x, Exists(c, C(x, c), p=p)),
            Forall(c, Exists(x, C(x, c), p=p)),
            Forall(
                [c, x, y],
                Equiv(C(x, c), C(y, c)),
                cond_vars=[x, y],
                cond_fn=lambda x, y: torch.norm(x.value - y.value, dim=1) < 0.2,
            ),
            Forall(
                [c, x, y],
                Not(And(C(x, c), C(y, c))),
                cond_vars=[x, y],
                cond_fn=lambda x, y: torch.norm(x.value - y.value, dim=1) > 1.0,
            ),
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
